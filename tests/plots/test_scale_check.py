"""The figures of a scale: every cell and number is there, and nothing leaves the page."""

from collections.abc import Callable

import pandas as pd
import pytest
from matplotlib.collections import PathCollection

from glusterlab.analysis.testbed import machine_cpu, scale_pairs
from glusterlab.plots.scale_check import draw_machine_cpu, draw_scale_pairs
from tests.conftest import build_samples
from tests.plots.drawing import assert_says, drawn, marked

Make = Callable[..., pd.DataFrame]
LAYOUTS = ("replicate", "disperse")


@pytest.fixture
def samples() -> pd.DataFrame:
    parts = []
    for scale in (200, 400):
        for layout in LAYOUTS:
            shares = (0.2, 0.21, 0.19) if (scale, layout) == (200, "disperse") else (1.0, 1.02, 0.98)
            values = {(layout, "write", 48): [4e9 / scale * share for share in shares]}
            parts.append(build_samples(values, scale=scale, cell_id=f"{layout}-{scale}"))
    return pd.concat(parts, ignore_index=True)


def test_pairs_have_a_row_each_with_ratio_and_cpu(samples: pd.DataFrame, make_telemetry: Make) -> None:
    pairs = scale_pairs(samples, machine_cpu(make_telemetry(samples), samples))
    figure = drawn(draw_scale_pairs, pairs)
    assert_says(
        figure,
        "write 4 GiB, disperse 12x(4+2), JBOD, 48 workers\n1:400 / 1:200, n = 3",
        "Dashed: 70 %",
        "scale model 1:200 and 1:400 on one machine",
    )
    left, right = figure.axes[:2]
    # five times as much lies beyond the axis: an arrow at its end
    assert [x for x, _ in marked(left, ">")] == [pytest.approx(left.get_xlim()[1])]
    shown = [list(line.get_xdata()) for line in right.lines if line.get_marker() == "o"]
    assert shown == [pytest.approx([0.6, 0.6])] * 2


def test_every_cell_is_a_mark(samples: pd.DataFrame, make_telemetry: Make) -> None:
    busy = machine_cpu(make_telemetry(samples), samples).assign(busiest=[0.6, 0.9, 0.6, 0.6])
    figure = drawn(draw_machine_cpu, busy, threshold=0.7)
    (axes,) = figure.axes
    lines = [[round(float(x), 3) for x in line.get_xdata()] for line in axes.lines if line.get_marker() == "|"]
    assert lines == [[0.6, 0.9]]
    clouds = [each for each in axes.collections if isinstance(each, PathCollection)]
    marks = [dot for each in clouds for dot in each.get_offsets()]
    assert len(marks) == len(busy) == 4
    assert {round(float(x), 3) for x, _ in marks} == {0.6}
    assert_says(figure, "write 4 GiB\nat 1:200", "Dashed: 70 %")
