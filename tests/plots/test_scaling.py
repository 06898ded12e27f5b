"""The scaling law's figure: points are measured, the curve is fitted, a refusal is told where a curve would be."""

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from glusterlab.analysis import select, summarise
from glusterlab.analysis.scaling import scaling_fits, usl
from glusterlab.analysis.scaling_table import scaling_curves, with_scaling
from glusterlab.plots.scaling import draw_scaling
from tests.plots.drawing import drawn, marked, titled, words

Make = Callable[..., pd.DataFrame]
COUNTS = (1, 6, 12, 24, 48)


@pytest.fixture
def samples(make_samples: Make) -> pd.DataFrame:
    noise = np.random.default_rng(1)
    values = {
        ("disperse", "write", count): [usl(count, 2e6, 0.03, 0.002) * np.exp(noise.normal(0, 0.03)) for _ in range(3)]
        for count in COUNTS
    }
    values |= {("replicate", "read", count): [2e6 * count] * 3 for count in COUNTS}
    return select(make_samples(values), tool="iozone")


def law(samples: pd.DataFrame) -> Figure:
    fits = scaling_fits(samples, "throughput_bytes_per_s")
    summary = with_scaling(summarise(samples, "throughput_bytes_per_s"), fits)
    return drawn(draw_scaling, summary, scaling_curves(fits), "MB/s", 1e-6)


def panel(figure: Figure, part: str) -> Axes:
    return next(axes for title, axes in titled(figure).items() if part in title)


def test_a_fit_is_a_dashed_line_with_its_band_its_knee_and_its_peak(samples: pd.DataFrame) -> None:
    figure = law(samples)
    axes = panel(figure, "contention")
    (line,) = [line for line in axes.get_lines() if line.get_label() == "fitted"]
    x, y = np.asarray(line.get_xdata(), dtype=float), np.asarray(line.get_ydata(), dtype=float)
    assert (x[0], x[-1]) == (pytest.approx(1), pytest.approx(48))
    assert y == pytest.approx([usl(count, 2.0, 0.03, 0.002) for count in x], rel=0.06)
    assert len(axes.collections) >= 2
    ((ring, _),) = marked(axes, "o", 11)
    assert ring == pytest.approx(22, rel=0.15)
    title = axes.get_title(loc="left")
    assert title.startswith("write: contention 0.0")
    assert "knee at " in title
    assert "peak at 2" in title
    # the means are points, with no line that would stand for what was not measured
    points = [
        line
        for line in axes.get_lines()
        if line.get_marker() == "o" and line.get_mfc() != "white" and len(np.asarray(line.get_xdata())) == 5
    ]
    assert [line.get_linestyle() for line in points] == ["None"]
    assert "shaded: its 95 % interval" in words(figure)


def test_a_refusal_stands_where_the_curve_would_be(samples: pd.DataFrame) -> None:
    figure = law(samples)
    axes = panel(figure, "no fit")
    assert "no bend up to 48 workers" in axes.get_title(loc="left").replace("\n", " ")
    assert [line for line in axes.get_lines() if line.get_label() == "fitted"] == []
    assert {"read\nnot measured", "write\nnot measured"} <= titled(figure).keys()


def test_a_level_has_no_mark_and_its_coherency_is_not_told(make_samples: Make) -> None:
    values = {
        ("disperse", "write", count): [1e6 * share * -25 * np.expm1(-2 * count / 25) for share in (0.99, 1.0, 1.01)]
        for count in (*COUNTS, 96)
    }
    figure = law(select(make_samples(values), tool="iozone"))
    axes = panel(figure, "contention")
    assert "coherency not determined, at most 0.000" in axes.get_title(loc="left")
    assert axes.get_title(loc="left").endswith("no peak in the data")
    assert marked(axes, "o", 11) == []


def test_few_samples_have_a_curve_without_a_band(samples: pd.DataFrame) -> None:
    figure = law(samples[samples["sample"] == 1])
    axes = panel(figure, "contention")
    assert "insufficient n" in axes.get_title(loc="left")
    assert "shaded" not in words(figure)
