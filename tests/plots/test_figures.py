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
    by_workers_figure,
    cpu_panels,
    memory_panels,
    panel_rows,
    per_disk_figure,
    saturation_figure,
)
from glusterlab.plots.saturation import Panel

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


def test_by_workers_draws_means_in_the_units_of_the_axis(large_samples: pd.DataFrame) -> None:
    summary = summarise(select(large_samples, tool="iozone"), "throughput_bytes_per_s")
    figure = by_workers_figure(summary, TESTBED, title="F5", note="A note.", **MB)
    write = figure.axes[0]
    assert [axes.get_title(loc="left") for axes in figure.axes[:2]] == ["write", "read"]
    ((x, y),) = lines_of(write, "disperse 12x(4+2), JBOD")
    assert x.tolist() == [1, 12, 48]
    assert y == pytest.approx([2.8, 26.6, 28.0])
    assert [tick.get_text() for tick in write.get_xticklabels()] == ["1", "12", "48"]
    assert "MB/s" in write.get_ylabel()
    assert "A note." in words(figure)
    assert TESTBED.footer(summary) in words(figure)
    assert "× 200: as the full-size" in words(figure)
    assert_inside_page(figure)


def test_by_workers_rings_the_saturation_point(large_samples: pd.DataFrame) -> None:
    summary = summarise(select(large_samples, tool="iozone"), "throughput_bytes_per_s")
    figure = by_workers_figure(summary, TESTBED, title="F5", **MB)
    rings = [line for line in figure.axes[0].get_lines() if line.get_markersize() == 12]
    assert [np.asarray(ring.get_xdata()).tolist() for ring in rings] == [[12.0], [12.0]]


def test_by_workers_rings_nothing_below_three_samples(large_samples: pd.DataFrame) -> None:
    rows = select(large_samples[large_samples["sample"] < 3], tool="iozone")
    figure = by_workers_figure(summarise(rows, "throughput_bytes_per_s"), TESTBED, title="F5", **MB)
    assert not [line for line in figure.axes[0].get_lines() if line.get_markersize() == 12]
    assert "no ring: none seen, or n below 3." in words(figure)
    assert_inside_page(figure)


def test_by_workers_names_many_series_in_a_key(make_samples: Make) -> None:
    parts = [
        make_samples({("disperse", "write", 12): [value]}, geometry=geometry, layout=geometry, cell_id=geometry)
        for geometry, value in (("1x(4+2)", 1e6), ("2x(4+2)", 2e6), ("12x(4+2)", 3e6), ("24x(4+2)", 4e6))
    ]
    summary = summarise(select(pd.concat(parts), tool="iozone"), "throughput_bytes_per_s")
    figure = by_workers_figure(summary, TESTBED, title="F5", **MB)
    assert len(figure.legends[0].get_texts()) == 4
    assert_inside_page(figure)


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
        by_workers_figure(
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
