"""Latency by workers: every percentile of every cell is drawn in milliseconds, and what is not measured says so."""

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest

from glusterlab.analysis import select, summarise
from glusterlab.plots.latency import PERCENTILES, draw_latency
from tests.plots.drawing import drawn, words

Make = Callable[..., pd.DataFrame]


@pytest.fixture
def latency(make_samples: Make) -> pd.DataFrame:
    """Two layouts, reads and writes at three worker counts; writes of the second were not measured."""
    cells = {("replicate", "randread", workers): [1e6] * 3 for workers in (1, 12, 48)}
    cells |= {("replicate", "randwrite", workers): [1e6] * 3 for workers in (1, 12, 48)}
    cells |= {("disperse", "randread", workers): [1e6] * 3 for workers in (1, 12, 48)}
    samples = make_samples(cells, tool="fio")
    workers = samples["workers"].astype(float)
    noise = 1 + 0.01 * (samples["sample"].astype(int) - 2)
    for times, name in zip((1, 3, 10), PERCENTILES, strict=True):
        samples[name] = 0.001 * times * workers * noise
    rows = select(samples, tool="fio")
    return pd.concat([summarise(rows, name) for name in PERCENTILES], ignore_index=True)


def test_percentiles_are_lines_over_workers_in_milliseconds(latency: pd.DataFrame) -> None:
    figure = drawn(draw_latency, latency)
    axes = figure.axes[0]
    lines = [line for line in axes.get_lines() if len(np.asarray(line.get_xdata())) == 3 and line.get_marker() != "."]
    assert [np.asarray(line.get_xdata()).tolist() for line in lines] == [[1, 12, 48]] * 3
    assert [np.asarray(line.get_ydata())[0] for line in lines] == pytest.approx([1, 3, 10])
    assert [line.get_linestyle() for line in lines] == ["-", "--", ":"]
    assert axes.get_yscale() == "log"
    shown = words(figure)
    assert [text.get_text() for text in figure.legends[0].get_texts()] == [label for label, _ in PERCENTILES.values()]
    # all rows have one axis, with numbers
    assert len({axes.get_ylim() for axes in figure.axes}) == 1
    assert len([tick for tick in axes.get_yticks() if axes.get_ylim()[0] <= tick <= axes.get_ylim()[1]]) >= 3
    assert shown.count("not measured") == 1
    assert "n = 3" in shown


def test_one_sample_has_no_interval(latency: pd.DataFrame) -> None:
    one = latency.assign(n=1, low=float("nan"), high=float("nan"))
    assert "insufficient n" in words(drawn(draw_latency, one))
