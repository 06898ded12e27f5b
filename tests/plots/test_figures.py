"""Figures: what is drawn is what the table says, with units, footer and nothing outside the page."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.text import Text

from glusterlab import published
from glusterlab.analysis import Limits, efficiency, saturation, select, summarise
from glusterlab.plots import (
    DISKS,
    NETWORK,
    Provenance,
    by_file_size_figure,
    cpu_panels,
    memory_panels,
    panel_rows,
    per_disk_figure,
    saturation_figure,
    workers_and_limits_figure,
)
from glusterlab.plots.saturation import Panel
from glusterlab.plots.style import INK, layout_style

Make = Callable[..., pd.DataFrame]
TESTBED = Provenance("synthetic", "10.3", "0123456789abcdef", testbed=True)
MB = {"unit": "MB/s", "factor": 1e-6}
NUMBERS = published.load(Path(__file__).parents[2] / "raw" / "published", "supermicro-2017")


def texts(figure: Figure) -> list[Text]:
    return [text for text in figure.findobj(Text) if text.get_visible() and text.get_text().strip()]


def words(figure: Figure) -> str:
    return "\n".join(text.get_text() for text in texts(figure))


def assert_inside_page(figure: Figure) -> None:
    """No text of the figure is cut off by its edge."""
    figure.canvas.draw()
    page = figure.bbox
    shown = [text for axes in figure.axes for text in (axes.xaxis.label, axes.yaxis.label, axes.title, *axes.texts)]
    for text in (text for text in (*shown, *figure.texts) if text.get_text()):
        box = text.get_window_extent()
        assert box.x0 >= page.x0 - 1, text.get_text()
        assert box.x1 <= page.x1 + 1, text.get_text()
        assert box.y0 >= page.y0 - 1, text.get_text()
        assert box.y1 <= page.y1 + 1, text.get_text()


def lines_of(axes: Axes, label: str) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    for line in axes.get_lines():
        if line.get_label() == label:
            yield np.asarray(line.get_xdata()), np.asarray(line.get_ydata())


@pytest.fixture
def per_disk(large_samples: pd.DataFrame) -> pd.DataFrame:
    return efficiency(select(large_samples, tool="iozone"), "throughput_bytes_per_s", NUMBERS)


def test_per_disk_draws_bars_and_the_guide_on_the_scaled_axis(per_disk: pd.DataFrame) -> None:
    figure = per_disk_figure(per_disk, TESTBED, title="F12", **MB)
    write = figure.axes[0]
    assert [bar.get_width() for bar in write.patches] == pytest.approx([28 / 72, 18 / 72])
    diamonds = [line for line in write.get_lines() if line.get_marker() == "D"]
    assert np.asarray(diamonds[0].get_xdata())[0] * 200 == pytest.approx(83.68)
    assert diamonds[0].get_markerfacecolor() == "white"
    assert "guide" in words(figure)
    assert "(× 200: 77.8), 48 workers" in words(figure)
    assert_inside_page(figure)


def test_per_disk_on_real_hardware_has_one_axis(make_samples: Make) -> None:
    samples = make_samples({("disperse", "write", 48): [6e9, 6.1e9, 6.2e9]}, scale=1)
    table = efficiency(select(samples, tool="iozone"), "throughput_bytes_per_s", NUMBERS)
    figure = per_disk_figure(table, Provenance("night", "11.1", "f" * 64, testbed=False), title="F12", **MB)
    assert "×" not in words(figure)
    assert "scale model" not in words(figure)
    assert "guide" in words(figure)


def test_one_sample_has_a_bar_without_interval(make_samples: Make) -> None:
    samples = make_samples({("disperse", "write", 48): [28e6]})
    table = efficiency(select(samples, tool="iozone"), "throughput_bytes_per_s", NUMBERS)
    for figure in (
        per_disk_figure(table, TESTBED, title="F12", **MB),
        by_file_size_figure(table, TESTBED, [4 << 30], title="F14", **MB),
        workers_and_limits_figure(
            summarise(select(samples, tool="iozone"), "throughput_bytes_per_s"), TESTBED, title="F5", **MB
        ),
    ):
        assert "n = 1" in words(figure)
        assert_inside_page(figure)


def test_by_file_size_marks_what_was_not_measured(per_disk: pd.DataFrame) -> None:
    sizes = [128 << 20, 4 << 30, 128 << 30]
    figure = by_file_size_figure(per_disk[per_disk["operation"] == "write"], TESTBED, sizes, title="F14", **MB)
    assert words(figure).count("not measured") == 2
    assert [tick.get_text() for tick in figure.axes[0].get_xticklabels()] == ["128 MiB", "4 GiB", "128 GiB"]
    assert_inside_page(figure)


def test_by_file_size_has_its_samples_beside_the_means(per_disk: pd.DataFrame) -> None:
    figure = by_file_size_figure(per_disk[per_disk["operation"] == "write"], TESTBED, [4 << 30], title="F14", **MB)
    lines = figure.axes[0].get_lines()
    dots = [line for line in lines if line.get_marker() == "."]
    means = [line for line in lines if "JBOD" in str(line.get_label()) or "RAID" in str(line.get_label())]
    assert len(dots) == len(means) == 2
    for dot, mean in zip(dots, means, strict=True):
        assert len(np.asarray(dot.get_xdata())) == 3
        assert float(np.asarray(dot.get_xdata())[0]) - float(np.asarray(mean.get_xdata())[0]) > 0.01
    assert "dots beside it: the samples" in words(figure)


def test_by_file_size_adds_sizes_that_the_study_does_not_have(per_disk: pd.DataFrame) -> None:
    figure = by_file_size_figure(per_disk[per_disk["operation"] == "read"], TESTBED, [128 << 20], title="F15", **MB)
    assert [tick.get_text() for tick in figure.axes[0].get_xticklabels()] == ["128 MiB", "4 GiB"]


@pytest.mark.parametrize("panels", [NETWORK, cpu_panels(testbed=False), memory_panels(testbed=False), DISKS])
def test_saturation_draws_servers_and_clients_apart(
    panels: tuple[Panel, ...], large_samples: pd.DataFrame, make_telemetry: Make
) -> None:
    rows = select(large_samples, tool="iozone")
    summary = panel_rows(saturation(make_telemetry(rows), rows), panels)
    limits = {cell: Limits(300e6, 200e6, 100e6, 120e6) for cell in rows["cell_id"]}
    figure = saturation_figure(summary, TESTBED, panels, limits, title="F41", note="A note.")
    assert len(figure.axes) == 2 * len(panels)
    assert set(summary["role"]) == {panel.role for panel in panels}
    if panels in (NETWORK, DISKS):
        assert "limit 300" in words(figure) or "limit 100" in words(figure)
    assert_inside_page(figure)


def test_blocked_processes_of_a_testbed_are_the_machines(large_samples: pd.DataFrame, make_telemetry: Make) -> None:
    rows = select(large_samples, tool="iozone")
    panels = memory_panels(testbed=True)
    figure = saturation_figure(
        panel_rows(saturation(make_telemetry(rows), rows), panels), TESTBED, panels, {}, title="F43"
    )
    assert len(figure.axes) == 6
    assert "whole machine" in words(figure)
    assert "client blocked" not in words(figure)


def test_the_cpus_of_a_testbed_are_drawn_once(large_samples: pd.DataFrame, make_telemetry: Make) -> None:
    rows = select(large_samples, tool="iozone")
    panels = cpu_panels(testbed=True)
    summary = panel_rows(saturation(make_telemetry(rows), rows, testbed=True), panels)
    figure = saturation_figure(summary, TESTBED, panels, {}, title="F42")
    assert len(figure.axes) == 6
    assert "CPU of all hosts\ntogether, %" in words(figure)
    assert "a lower bound" in words(figure)
    assert words(figure).count("limit 100") == 2
    assert "server CPU" not in words(figure)
    assert_inside_page(figure)


def test_panels_without_data_are_left_out(large_samples: pd.DataFrame, make_telemetry: Make) -> None:
    rows = select(large_samples, tool="iozone")
    summary = saturation(make_telemetry(rows), rows)
    panels = cpu_panels(testbed=False)
    summary = panel_rows(summary[summary["quantity"] != "load_1min"], panels)
    figure = saturation_figure(summary, TESTBED, panels, {}, title="F42")
    assert len(figure.axes) == 4


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
    large_samples: pd.DataFrame, make_telemetry: Make
) -> None:
    rows = select(large_samples, tool="iozone")
    table = saturation(make_telemetry(rows), rows)
    limits = limits_of(rows, jbod=24.6e6, raid6=12.24e6)
    figure = saturation_figure(panel_rows(table, DISKS), TESTBED, DISKS, limits, title="F44")
    names = limit_names(figure.axes[0])
    assert set(names) == {"limit 12.2, RAID 6", "limit 24.6, JBOD"}
    assert names["limit 24.6, JBOD"].get_color() == layout_style("disperse", "12x(4+2)", "jbod").colour
    assert names["limit 12.2, RAID 6"].get_color() == layout_style("replicate", "3x2", "raid6").colour
    figure = saturation_figure(panel_rows(table, NETWORK), TESTBED, NETWORK, limits, title="F41")
    (name,) = limit_names(figure.axes[0]).values()
    assert (name.get_text(), name.get_color()) == ("limit 12.5", INK)
    assert_inside_page(figure)


def test_names_of_limits_that_are_near_each_other_are_apart(large_samples: pd.DataFrame, make_telemetry: Make) -> None:
    rows = select(large_samples, tool="iozone")
    table = panel_rows(saturation(make_telemetry(rows), rows), DISKS)
    figure = saturation_figure(table, TESTBED, DISKS, limits_of(rows, 12.3e6, 12.24e6), title="F44", note="One.\nTwo.")
    figure.canvas.draw()
    lower, upper = sorted(
        (text.get_window_extent() for text in limit_names(figure.axes[0]).values()), key=lambda b: b.y0
    )
    assert lower.y1 <= upper.y0 + 1
    assert {"One.", "Two."} <= set(words(figure).splitlines())
    assert_inside_page(figure)
