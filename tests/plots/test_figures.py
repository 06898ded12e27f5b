"""Figures: what is drawn is what the table says, with units, footer and nothing outside the page."""

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle
from matplotlib.text import Text

from glusterlab.analysis import efficiency, select, summarise
from glusterlab.analysis.saturation.resources import Limits
from glusterlab.analysis.saturation.usage import telemetry_by_cell
from glusterlab.plots import draw_by_file_size, draw_per_disk
from glusterlab.plots.saturation import DISKS, NETWORK, Panel, cpu_panels, draw_usage, memory_panels, panel_rows
from glusterlab.plots.style import INK, ink, layout_style
from tests.plots.drawing import MB, NUMBERS, assert_says, assert_stacked, draw_by_workers, drawn, marked, words

Make = Callable[..., pd.DataFrame]


@pytest.fixture
def rows(large_samples: pd.DataFrame) -> pd.DataFrame:
    return select(large_samples, tool="iozone")


@pytest.fixture
def per_disk(rows: pd.DataFrame) -> pd.DataFrame:
    return efficiency(rows, "throughput_bytes_per_s", NUMBERS)


def test_per_disk_draws_dots_below_six_samples_and_the_guide_on_the_scaled_axis(per_disk: pd.DataFrame) -> None:
    figure = drawn(draw_per_disk, per_disk, **MB)
    write = figure.axes[0]
    assert [x for x, _ in marked(write, "|", 15)] == pytest.approx([28 / 72, 18 / 72])
    assert not write.patches
    ((stated, _),) = marked(write, "|", 19)
    assert stated * 200 == pytest.approx(83.68)
    assert_says(figure, "published", "(× 200: 77.8), 48 workers", "Disperse 12x(4+2), JBOD leads in write")
    # what is published lies under the samples
    lines = {line.get_markersize(): line.get_zorder() for line in write.get_lines() if line.get_marker() in "|."}
    assert lines[19] < lines[15] < lines[6]


def test_six_samples_have_bars(per_disk: pd.DataFrame) -> None:
    figure = drawn(draw_per_disk, per_disk.assign(n=6), **MB)
    bars = [patch.get_width() for patch in figure.axes[0].patches if isinstance(patch, Rectangle)]
    assert bars == pytest.approx([28 / 72, 18 / 72])
    assert_says(figure, "mean, a bar")


def test_one_sample_has_a_bar_without_interval(make_samples: Make) -> None:
    samples = make_samples({("disperse", "write", 48): [28e6]})
    table = efficiency(select(samples, tool="iozone"), "throughput_bytes_per_s", NUMBERS)
    for figure in (
        drawn(draw_per_disk, table, **MB),
        drawn(draw_by_file_size, table, [4 << 30], **MB),
        drawn(draw_by_workers, summarise(select(samples, tool="iozone"), "throughput_bytes_per_s"), **MB),
    ):
        assert "n = 1" in words(figure)


def test_two_groups_are_dots_without_bar_line_or_mean(make_samples: Make) -> None:
    apart = [30.1e6, 8.4e6, 31.3e6, 8.8e6, 8.6e6]
    samples = make_samples({("disperse", "write", 12): [20e6, 20.1e6, 19.9e6], ("disperse", "write", 48): apart})
    rows = select(samples, tool="iozone")
    table = efficiency(rows, "throughput_bytes_per_s", NUMBERS)
    bars = drawn(draw_per_disk, table, **MB)
    assert not bars.axes[0].patches
    assert_says(bars, "two groups, 0.119 and 0.426", "two groups of samples in 1 of 1 values: no mean")
    line = drawn(draw_by_workers, summarise(rows, "throughput_bytes_per_s"), **MB)
    for figure in (bars, drawn(draw_by_file_size, table, [4 << 30], **MB), line):
        dots = [
            of for axes in figure.axes for of in axes.get_lines() if of.get_marker() == "." and of.get_alpha() == 0.9
        ]
        assert [len(of.get_xdata()) for of in dots] == [5]
    (means,) = (of for of in line.axes[0].get_lines() if str(of.get_label()).startswith("disperse"))
    assert np.isnan(means.get_ydata()).tolist() == [False, True]


def test_by_file_size_marks_what_was_not_measured_and_has_its_samples_beside_the_means(per_disk: pd.DataFrame) -> None:
    sizes = [128 << 20, 4 << 30, 128 << 30]
    figure = drawn(draw_by_file_size, per_disk[per_disk["operation"] == "write"], sizes, **MB)
    assert words(figure).count("not measured") == 2
    assert [tick.get_text() for tick in figure.axes[0].get_xticklabels()] == ["128 MiB", "4 GiB", "128 GiB"]
    lines = figure.axes[0].get_lines()
    dots = [np.asarray(line.get_xdata()) for line in lines if line.get_marker() == "."]
    assert_says(figure, "sample", "mean")
    means = [np.asarray(line.get_xdata()) for line in lines if "JBOD" in line.get_label() or "RAID" in line.get_label()]
    assert [(len(dot), dot[0] - mean[0] > 0.01) for dot, mean in zip(dots, means, strict=True)] == [(3, True)] * 2


@pytest.mark.parametrize("panels", [NETWORK, cpu_panels(testbed=False), memory_panels(testbed=False), DISKS])
def test_saturation_draws_servers_and_clients_apart(
    panels: tuple[Panel, ...], rows: pd.DataFrame, make_telemetry: Make
) -> None:
    summary = panel_rows(telemetry_by_cell(make_telemetry(rows), rows), panels)
    limits = {cell: Limits(300e6, 200e6, 100e6, 120e6) for cell in rows["cell_id"]}
    figure = drawn(draw_usage, summary, panels, limits)
    assert len(figure.axes) == 2 * len(panels)
    assert set(summary["role"]) == {panel.role for panel in panels}
    if panels in (NETWORK, DISKS):
        assert "limit 300" in words(figure) or "limit 100" in words(figure)


def test_what_the_hosts_of_a_testbed_share_is_drawn_once(rows: pd.DataFrame, make_telemetry: Make) -> None:
    panels = cpu_panels(testbed=True)
    summary = panel_rows(telemetry_by_cell(make_telemetry(rows), rows, testbed=True), panels)
    figure = drawn(draw_usage, summary, panels, {})
    assert len(figure.axes) == 6
    assert_says(figure, "CPU of all hosts\ntogether, %", "a lower bound")
    assert words(figure).count("limit 100") == 2
    panels = memory_panels(testbed=True)
    shared = drawn(draw_usage, panel_rows(telemetry_by_cell(make_telemetry(rows), rows), panels), panels, {})
    assert len(shared.axes) == 6
    assert_says(shared, "whole machine", never=["client blocked"])
    assert "server CPU" not in words(figure)


def limits_of(rows: pd.DataFrame, jbod: float, raid6: float) -> dict[str, Limits]:
    """One link for all, and disks by backing, bytes/s."""
    disks = {"jbod": jbod, "raid6": raid6}
    return {
        str(row["cell_id"]): Limits(12.5e6, 6.25e6, disks[row["kind"]], disks[row["kind"]])
        for row in rows.to_dict("records")
    }


def limit_names(axes: Axes) -> dict[str, Text]:
    return {text.get_text(): text for text in axes.texts if text.get_text().startswith("limit")}


def test_limits_that_differ_name_their_backing_and_a_shared_one_has_no_layouts_colour(
    rows: pd.DataFrame, make_telemetry: Make
) -> None:
    table = telemetry_by_cell(make_telemetry(rows), rows)
    limits = limits_of(rows, jbod=24.6e6, raid6=12.24e6)
    figure = drawn(draw_usage, panel_rows(table, DISKS), DISKS, limits)
    names = limit_names(figure.axes[0])
    assert set(names) == {"limit 12.2, RAID 6", "limit 24.6, JBOD"}
    assert names["limit 24.6, JBOD"].get_color() == ink(layout_style("disperse", "12x(4+2)", "jbod").colour)
    assert names["limit 12.2, RAID 6"].get_color() == layout_style("replicate", "3x2", "raid6").colour
    figure = drawn(draw_usage, panel_rows(table, NETWORK), NETWORK, limits)
    (name,) = limit_names(figure.axes[0]).values()
    assert (name.get_text(), name.get_color()) == ("limit 12.5", INK)


def test_names_of_limits_that_are_near_each_other_are_apart(rows: pd.DataFrame, make_telemetry: Make) -> None:
    table = panel_rows(telemetry_by_cell(make_telemetry(rows), rows), DISKS)
    figure = drawn(draw_usage, table, DISKS, limits_of(rows, 12.3e6, 12.24e6))
    assert_stacked(figure.axes[0], 2)
