"""The figures of a scale: every cell and number is there, and nothing leaves the page."""

from collections.abc import Callable

import pandas as pd
import pytest
from matplotlib.collections import PathCollection

from glusterlab.analysis.counting import counting_views
from glusterlab.analysis.testbed import machine_cpu, scale_pairs
from glusterlab.plots.scale_check import draw_counting, draw_machine_cpu, draw_scale_pairs
from glusterlab.plots.style import Frame
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


def test_cells_stand_where_they_last_and_differ(samples: pd.DataFrame) -> None:
    # the tool counts 3 % more than the whole time on one layout, and a quarter more on the other
    share = samples["type"].astype(str).map({"replicate": 1 / 1.03, "disperse": 1 / 1.25}).astype(float)
    lasts = samples["type"].astype(str).map({"replicate": 60.0, "disperse": 10.0}).astype(float)
    whole = samples["throughput_bytes_per_s"] * share
    writes = samples.assign(throughput_whole_bytes_per_s=whole, elapsed_s=lasts)
    views = counting_views(writes, pd.DataFrame(columns=["cell_id", "sample", "payload_bytes_per_s"]))
    models = writes[["cell_id", "scale", "operations_limited", "heads"]].drop_duplicates("cell_id")

    def draw(figure: Frame, table: pd.DataFrame) -> None:
        figure.rows = table.merge(models, on="cell_id")
        draw_counting(figure, table)

    figure = drawn(draw, views)
    assert_says(figure, "2 of 4 cells lie within 5 %", "write 4 GiB")
    clouds = [each for each in figure.axes[0].collections if isinstance(each, PathCollection)]
    points = sorted((round(x), round(float(y), 2)) for each in clouds for x, y in each.get_offsets())
    assert points == [(10, 1.25), (10, 1.25), (60, 1.03), (60, 1.03)]
