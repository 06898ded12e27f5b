"""Ratios in figures: bars of both kinds of server, the ratio of the two, and reads over writes by file size."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from glusterlab import published
from glusterlab.analysis import all_sizes, efficiency, family, read_write_gap, server_advantage
from glusterlab.plots import by_file_size_figure, gap_figure, per_disk_figure, server_advantage_figure
from glusterlab.plots.style import Provenance

from ..guide_pools import LARGE, chosen, pools
from .test_figures import assert_inside_page, words

Make = Callable[..., pd.DataFrame]
TESTBED = Provenance("synthetic", "10.3", "0123456789abcdef", testbed=True)
REAL = Provenance("night", "11.1", "f" * 64, testbed=False)
MB = {"unit": "MB/s", "factor": 1e-6}
NUMBERS = published.load(Path(__file__).parents[2] / "raw" / "published", "supermicro-2017")
STATED = pd.DataFrame(
    {
        "type": "disperse",
        "kind": "jbod",
        "operation": ["write", "read"],
        "nominal_file_size_bytes": 4 << 30,
        "ratio": [1.82, 1.67],
    }
)
SIZES = [32 << 10, 4 << 20, 128 << 20, 4 << 30, 128 << 30]


def advantage(**shape: object) -> pd.DataFrame:
    table = efficiency(chosen(pools(**shape)), "throughput_bytes_per_s", NUMBERS)  # type: ignore[arg-type]
    return server_advantage(family(table, "disperse", "jbod"), STATED)


def small(create: float = 2.0, read: float = 8.0, spread: tuple[float, ...] = (0.98, 1.0, 1.02)) -> pd.DataFrame:
    values = {"create": {"replicate": create}, "read": {"replicate": read}}
    return pools(values, tool="smallfile", nominal=32 << 10, scale=20, spread=spread)


def test_both_servers_have_bars_and_their_ratio_has_its_interval_and_the_guides() -> None:
    table = advantage()
    figure = server_advantage_figure(table, TESTBED, title="F8", **MB)
    write, read, ratio = figure.axes[:3]
    assert [bar.get_width() for bar in write.patches] == pytest.approx([83.68 / 200, 46 / 200])
    assert [bar.get_width() for bar in read.patches] == pytest.approx([108 / 200, 64.7 / 200])
    assert [tick.get_text() for tick in write.get_yticklabels()] == ["standard, 12x(4+2)", "dense, 24x(4+2)"]
    points = [float(np.asarray(line.get_xdata())[0]) for line in ratio.get_lines() if line.get_marker() == "o"]
    assert points == pytest.approx([83.68 / 46, 108 / 64.7])
    diamonds = [float(np.asarray(line.get_xdata())[0]) for line in ratio.get_lines() if line.get_marker() == "D"]
    assert diamonds == [1.82, 1.67]
    shown = words(figure)
    assert "guide 1.82" in shown
    assert "1.82 (1.7" in shown
    assert "× 200: as the full-size pool would show" in shown
    assert write.get_xlim() == read.get_xlim()
    assert_inside_page(figure)


def test_too_few_samples_have_no_point_but_the_guides_ratio() -> None:
    figure = server_advantage_figure(advantage(spread=(1.0, 1.02)), TESTBED, title="F8", **MB)
    ratio = figure.axes[2]
    assert not [line for line in ratio.get_lines() if line.get_marker() == "o"]
    assert words(figure).count("insufficient n (n = 2)") == 2
    assert "guide 1.67" in words(figure)
    assert_inside_page(figure)


def test_without_a_stated_ratio_no_diamond_is_promised() -> None:
    table = advantage().assign(published_ratio=float("nan"), published=float("nan"))
    figure = server_advantage_figure(table, REAL, title="F18", **MB)
    assert "guide" not in words(figure)
    assert not [line for axes in figure.axes for line in axes.get_lines() if line.get_marker() == "D"]


def test_a_ratio_that_holds_1_says_so() -> None:
    values = {"write": {"disperse": 50e6, "disperse-dense": 50e6}}
    figure = server_advantage_figure(advantage(per_disk=values), TESTBED, title="F8", **MB)
    assert "1.00 (0.9" in words(figure)
    assert ", holds 1)" in words(figure)
    assert_inside_page(figure)


def test_real_hardware_has_one_axis() -> None:
    figure = server_advantage_figure(advantage(scale=1), REAL, title="F8", **MB)
    assert "×" not in words(figure)
    assert_inside_page(figure)


def test_the_gap_is_drawn_as_a_ratio_on_a_logarithmic_axis() -> None:
    gap = read_write_gap(all_sizes(pd.concat([pools(), small()]), NUMBERS))
    figure = gap_figure(gap, TESTBED, SIZES, title="F21")
    axes = figure.axes[0]
    assert axes.get_yscale() == "log"
    points = {
        (round(float(np.asarray(line.get_xdata())[0])), round(float(np.asarray(line.get_ydata())[0]), 2))
        for line in axes.get_lines()
        if line.get_linestyle() == "None"
    }
    assert (0, 4.0) in points
    assert (3, round(LARGE["read"]["disperse"] / LARGE["write"]["disperse"], 2)) in points
    assert words(figure).count("not measured") == 3
    assert "as fast as writes" in words(figure)
    assert "Hollow" not in words(figure)
    assert_inside_page(figure)


def test_a_gap_of_too_few_samples_is_hollow() -> None:
    gap = read_write_gap(all_sizes(small(spread=(1.0, 1.0)), NUMBERS))
    figure = gap_figure(gap, TESTBED, SIZES, title="F21")
    (mark,) = [line for line in figure.axes[0].get_lines() if line.get_linestyle() == "None"]
    assert mark.get_markerfacecolor() == "white"
    assert "Hollow mark: insufficient n." in words(figure)


def test_sizes_of_several_models_are_drawn_times_their_scale() -> None:
    table = all_sizes(pd.concat([pools(), small()]), NUMBERS)
    figure = by_file_size_figure(table[table["operation"] == "write"], TESTBED, SIZES, title="F27", **MB)
    axes = figure.axes[0]
    assert axes.get_ylabel() == "MB/s per disk, × scale"
    assert len(axes.child_axes) == 0
    (line,) = [line for line in axes.get_lines() if line.get_label() == "replicate 3x2, RAID 6"]
    # 4 MB and 128 MB were not measured: no line leads over them
    nan = float("nan")
    assert np.asarray(line.get_ydata()) == pytest.approx([2.0 * 32768e-6, nan, nan, 44.0], nan_ok=True)
    guide = [np.asarray(line.get_ydata()) for line in axes.get_lines() if line.get_marker() == "D"]
    assert 83.68 in np.round(np.concatenate(guide), 2)
    assert "0.066" in words(figure)
    assert "Each size has its own scale model, 1:20 and 1:200" in words(figure)
    assert_inside_page(figure)


def test_one_scale_keeps_the_measured_values_and_the_second_axis() -> None:
    table = all_sizes(pools(), NUMBERS)
    figure = by_file_size_figure(table[table["operation"] == "read"], TESTBED, SIZES, title="F26", **MB)
    assert figure.axes[0].get_ylabel() == "MB/s per disk, measured"
    assert len(figure.axes[0].child_axes) == 1


def test_a_number_for_any_layout_is_a_line_over_all_bars() -> None:
    values = {"create": {"replicate": 5.0, "disperse": 4.0}, "read": {"replicate": 12.0, "disperse": 7.0}}
    samples = pools(values, tool="smallfile", nominal=4 << 20, scale=120)
    table = efficiency(chosen(samples, "smallfile"), "files_per_s", NUMBERS)
    figure = per_disk_figure(table, TESTBED, title="F24", unit="files/s", factor=1.0)
    create, read = figure.axes[:2]
    lines = [line for line in create.get_lines() if line.get_linestyle() == "--"]
    assert [np.asarray(line.get_xdata())[0] * 120 for line in lines] == pytest.approx([5.44])
    assert not [line for line in read.get_lines() if line.get_linestyle() == "--"]
    assert words(figure).count("guide, for any layout") == 1
    assert_inside_page(figure)


def test_a_curve_that_still_rises_has_an_arrow(make_samples: Make) -> None:
    rising = make_samples({("disperse", "write", 12): [1e6] * 3, ("disperse", "write", 48): [9e6] * 3})
    table = efficiency(chosen(rising), "throughput_bytes_per_s", NUMBERS)
    figure = per_disk_figure(table, TESTBED, title="F12", **MB)
    assert "48 workers ↑" in words(figure)
    assert "so it is a lower bound" in words(figure)
    flat = make_samples({("disperse", "write", 12): [9e6] * 3, ("disperse", "write", 48): [9e6] * 3})
    figure = per_disk_figure(efficiency(chosen(flat), "throughput_bytes_per_s", NUMBERS), TESTBED, title="F12", **MB)
    assert "↑" not in words(figure)
