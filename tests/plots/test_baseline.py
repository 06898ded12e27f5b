"""Figures of a baseline: every place is drawn where its rate is, beside what is stated for it."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from glusterlab.analysis.baselines import PLACE_COLUMNS, REQUESTS
from glusterlab.plots.baseline import baseline_footer, draw_links, draw_rates, draw_requests
from glusterlab.plots.style import Provenance
from tests.plots.drawing import REAL, assert_apart, assert_says, drawn, marked, texts, words

MODEL = Provenance("night", "10.3", "0" * 64, testbed=True)


def places(label: str, rates: list[float], **changed: Any) -> pd.DataFrame:
    """Places of one kind by their rates in MB/s on a scale model 1:200."""
    here = {"baseline": "pool-baseline", "model": "large-file", "scale": 200.0, "operations_limited": False}
    here |= {"what": "disk", "label": label, "operation": "write", "at_once": 1, "samples": 3}
    here |= {"stated_bytes_per_s": 1.025e6, "published_bytes_per_s": 205e6, "data_sheet_bytes_per_s": 226e6, **changed}
    rows = [{**here, "place": f"s{n}", "rate_bytes_per_s": rate * 1e6} for n, rate in enumerate(rates, start=1)]
    return pd.DataFrame(rows, columns=PLACE_COLUMNS)


def disks() -> pd.DataFrame:
    read = {"operation": "read", "stated_bytes_per_s": 1.06e6, "published_bytes_per_s": 212e6}
    writes = [places("one disk, jbod", [1.0, 0.9, 0.95]), places("each of 12 disks at once, jbod", [0.8, 0.7])]
    return pd.concat([*writes, places("one disk, jbod", [1.1], **read)], ignore_index=True)


def links(rates: list[float], **changed: Any) -> pd.DataFrame:
    own = {"what": "link", "operation": "send", "stated_bytes_per_s": 6.25e6}
    own |= {"published_bytes_per_s": float("nan"), "data_sheet_bytes_per_s": float("nan")}
    return places("link of a client", rates, **own, **changed)


def on(draw: Callable[..., None], table: pd.DataFrame, where: Provenance = MODEL) -> Figure:
    """Places of a baseline, with its own footer."""
    return drawn(draw, table, footer=baseline_footer(table, where, "fedcba9876543210"))


def dots(axes: Axes) -> dict[int, list[float]]:
    """Positions of the places by row."""
    found: dict[int, list[float]] = {}
    for line in axes.get_lines():
        if line.get_marker() == "o":
            xs, ys = np.asarray(line.get_xdata(), dtype=float), np.asarray(line.get_ydata(), dtype=float)
            found[round(float(ys.mean()))] = xs.tolist()
    return found


def assert_tidy(figure: Figure) -> None:
    figure.canvas.draw()
    panels = figure.axes
    shown = [text for axes in panels for text in (*axes.texts, *axes.get_yticklabels(), axes.xaxis.label, axes.title)]
    assert_apart(figure, shown, repeated=True)


def test_disks_are_drawn_times_the_scale_in_order_of_rate() -> None:
    figure = on(draw_rates, disks())
    write, read = figure.axes
    assert (write.get_title(loc="left"), read.get_title(loc="left")) == ("write", "read")
    assert dots(write)[0] == pytest.approx([180, 190, 200])
    assert dots(write)[1] == pytest.approx([140, 160])
    assert dots(read) == {0: pytest.approx([220])}
    assert write.get_xlabel().startswith("MB/s per disk, × scale")
    assert [text.get_text() for text in write.texts] == ["190", "150"]
    assert_tidy(figure)


def test_the_guide_the_data_sheet_and_the_cluster_file_are_marked() -> None:
    figure = on(draw_rates, disks())
    assert [(marked(axes, "D")[0][0], marked(axes, "v")[0][0]) for axes in figure.axes] == [(205, 226), (212, 226)]
    assert {"published", "data sheet", "cluster.yaml"} <= {text.get_text() for text in texts(figure)}
    plain = disks().assign(published_bytes_per_s=float("nan"), data_sheet_bytes_per_s=float("nan"))
    assert not {"published", "data sheet"} & {text.get_text() for text in texts(on(draw_rates, plain))}


def test_the_footer_is_of_the_baseline_and_not_of_the_campaign() -> None:
    figure = on(draw_rates, disks())
    footers = [text.get_text() for text in figure.texts if "manifest" in text.get_text()]
    assert footers == ["pool-baseline · n = 3 · manifest fedcba987654 · scale model 1:200 on one machine"]
    real = disks().assign(scale=1.0, samples=[1, 3, 3, 3, 3, 3])
    figure = on(draw_rates, real, REAL)
    assert_says(figure, "pool-baseline · n = 1 to 3 · manifest fedcba987654", never=["scale"])


def test_an_axis_that_does_not_start_at_zero_says_so() -> None:
    near = on(draw_rates, disks().iloc[:3]).axes[0]
    low = near.get_xlim()[0]
    assert 0 < low < 180
    assert f"(from {low:g})" in near.get_xlabel()
    far = on(draw_rates, places("one disk", [1.0, 0.01])).axes[0]
    assert far.get_xlim()[0] == 0
    assert "from" not in far.get_xlabel()


def test_links_are_drawn_as_shares_of_what_is_stated() -> None:
    figure = on(draw_links, links([6.0, 5.9375, 5.875]))
    [axes] = figure.axes
    assert dots(axes)[0] == pytest.approx([94, 95, 96])
    assert axes.get_xlim()[0] == 90
    assert "(from 90)" in axes.get_xlabel()
    assert "3 links of 50 Mbit/s: median 95.0 %, lowest 94.0 % (s3)" in words(figure)
    assert_tidy(figure)
    slow = on(draw_links, links([6.0, 0.5])).axes[0]
    assert slow.get_xlim()[0] == 0


def test_many_rows_do_not_lie_over_each_other() -> None:
    rates = [5.9 + n / 1000 for n in range(200)]
    many = [links(rates, scale=float(scale), model=f"model {scale}") for scale in (20, 60, 200)]
    assert_tidy(on(draw_links, pd.concat(many, ignore_index=True)))
    rows = [disks().assign(scale=float(scale), model=str(scale)) for scale in (200, 190, 180)]
    assert_tidy(on(draw_rates, pd.concat(rows, ignore_index=True)))


def test_requests_to_disks_with_heads_stand_beside_what_is_published() -> None:
    cells = [("read", "bytes/s", 1, 226e6, 212e6, 226e6), ("write", "bytes/s", 1, 205e6, 205e6, 226e6)]
    cells += [("random-read", "1/s", n, 80.0 * n, math.nan, 84.3 if n == 1 else math.nan) for n in (1, 4)]
    keys = ("operation", "unit", "depth", "full_size", "published", "data_sheet")
    same = {"baseline": "pool-baseline", "model": "small-file", "scale": 20.0, "sample": 1, "place": "s1"}
    rows = [same | {"what": what} | dict(zip(keys, cell, strict=True)) for what in ("disk", "array") for cell in cells]
    figure = on(draw_requests, pd.DataFrame(rows, columns=REQUESTS))
    assert [axes.get_title(loc="left") for axes in figure.axes] == [
        f"one {what}, {how}" for what in ("disk", "array") for how in ("streams", "random")
    ]
    streams, random, *_ = figure.axes
    assert [text.get_text() for text in streams.texts] == ["107 %", "100 %"]
    assert [text.get_text() for text in random.texts] == ["95 %"]
    assert (len(marked(streams, "D")), len(marked(streams, "v")), len(marked(random, "v"))) == (2, 2, 1)
    assert_says(figure, "pool-baseline · n = 1")
