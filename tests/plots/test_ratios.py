"""Ratios in figures: bars of both kinds of server, the ratio of the two, and reads over writes by file size."""

import re
from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest
from matplotlib.collections import LineCollection

from glusterlab.analysis import all_sizes, efficiency, family, read_write_gap, server_advantage
from glusterlab.plots import draw_by_file_size, draw_gap, draw_per_disk, draw_server_advantage
from tests.guide_pools import LARGE, SERVERS, chosen, pools
from tests.plots.drawing import MB, NUMBERS, REAL, assert_says, drawn, marked, words

Make = Callable[..., pd.DataFrame]
STATED = pd.DataFrame({"type": "disperse", "kind": "jbod", "operation": ["write", "read"], "ratio": [1.82, 1.67]})
STATED["nominal_file_size_bytes"] = 4 << 30
ANY = {"create": {"replicate": 5.0, "disperse": 4.0}, "read": {"replicate": 12.0, "disperse": 7.0}}
SIZES = [32 << 10, 4 << 20, 128 << 20, 4 << 30, 128 << 30]


def advantage(**shape: object) -> pd.DataFrame:
    table = efficiency(chosen(pools(**shape)), "throughput_bytes_per_s", NUMBERS)  # type: ignore[arg-type]
    return server_advantage(family(table, "disperse", "jbod"), SERVERS, STATED)


def small(create: float = 2.0, read: float = 8.0, spread: tuple[float, ...] = (0.98, 1.0, 1.02)) -> pd.DataFrame:
    values = {"create": {"replicate": create}, "read": {"replicate": read}}
    return pools(values, tool="smallfile", nominal=32 << 10, scale=20, spread=spread)


def test_both_servers_have_bars_and_their_ratio_has_its_interval_and_the_guides() -> None:
    table = advantage()
    figure = drawn(draw_server_advantage, table, **MB)
    write, read, ratio = figure.axes[:3]
    assert [x for x, _ in marked(write, "|", 15)] == pytest.approx([83.68 / 200, 46 / 200])
    assert [x for x, _ in marked(read, "|", 15)] == pytest.approx([108 / 200, 64.7 / 200])
    assert [tick.get_text() for tick in write.get_yticklabels()] == ["standard, 12x(4+2)", "dense, 24x(4+2)"]
    assert [x for x, _ in marked(ratio, "o", 5)] == pytest.approx([83.68 / 46, 108 / 64.7])
    assert [x for x, _ in marked(ratio, "|")] == [1.82, 1.67]
    assert_says(figure, "published", "1.82 (1.7", "× 200: as the full-size pool would show")
    said = "A standard server's disk yields 1.82 times (write) and 1.67 times (read) as much as a dense one's"
    assert said in words(figure).replace("\n", " ")
    assert write.get_xlim() == read.get_xlim()


def test_too_few_samples_have_no_point_but_the_guides_ratio() -> None:
    figure = drawn(draw_server_advantage, advantage(spread=(1.0, 1.02)), **MB)
    ratio = figure.axes[2]
    assert not marked(ratio, "o")
    assert words(figure).count("insufficient n (n = 2)") == 2
    assert_says(figure, "published", "1.67", never=["as much as a dense one's"])


def test_a_ratio_that_depends_on_counting_is_no_finding() -> None:
    table = advantage().assign(ratio_whole=[0.9, float("nan"), 1.1, float("nan")])
    assert_says(drawn(draw_server_advantage, table, **MB), "yields 1.67 times (read)", never=["1.82 times"])


def test_without_a_stated_ratio_no_tick_is_promised() -> None:
    table = advantage().assign(published_ratio=float("nan"), published=float("nan"))
    figure = drawn(draw_server_advantage, table, provenance=REAL, **MB)
    assert "published" not in words(figure)
    assert not [tick for axes in figure.axes for tick in marked(axes, "|", 19)]


def test_a_ratio_that_holds_1_says_so() -> None:
    values = {"write": {"disperse": 50e6, "disperse-dense": 50e6}}
    figure = drawn(draw_server_advantage, advantage(per_disk=values), **MB)
    assert re.search(r"1\.00 \(0\.9.*, holds 1\)", words(figure))


def test_the_gap_is_drawn_as_a_ratio_on_a_logarithmic_axis() -> None:
    gap = read_write_gap(all_sizes(pd.concat([pools(), small()]), NUMBERS))
    figure = drawn(draw_gap, gap, SIZES)
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
    assert_says(figure, "as fast as writes", never=["Hollow mark"])


def test_a_gap_of_too_few_samples_is_hollow() -> None:
    gap = read_write_gap(all_sizes(small(spread=(1.0, 1.0)), NUMBERS))
    figure = drawn(draw_gap, gap, SIZES)
    (mark,) = [line for line in figure.axes[0].get_lines() if line.get_linestyle() == "None"]
    assert mark.get_markerfacecolor() == "white"
    assert "Hollow mark: insufficient n." in words(figure)


def test_sizes_of_several_models_are_drawn_times_their_scale() -> None:
    table = all_sizes(pd.concat([pools(), small()]), NUMBERS)
    figure = drawn(draw_by_file_size, table[table["operation"] == "write"], SIZES, **MB)
    axes = figure.axes[0]
    # 66 kB/s to 84 MB/s
    assert (axes.get_ylabel(), axes.get_yscale()) == ("MB/s per disk, × scale, logarithmic", "log")
    assert len(axes.child_axes) == 0
    (line,) = [line for line in axes.get_lines() if line.get_label() == "replicate 3x2, RAID 6"]
    # 4 MB and 128 MB were not measured: no line leads over them
    nan = float("nan")
    assert np.asarray(line.get_ydata()) == pytest.approx([2.0 * 32768e-6, nan, nan, 44.0], nan_ok=True)
    assert 83.68 in [round(y, 2) for _, y in marked(axes, "_", 16)]
    assert_says(figure, "From scale models of 1:20 and 1:200: each value is times its own scale")


def test_one_scale_keeps_the_measured_values_and_the_second_axis() -> None:
    table = all_sizes(pools(), NUMBERS)
    figure = drawn(draw_by_file_size, table[table["operation"] == "read"], SIZES, **MB)
    assert figure.axes[0].get_ylabel() == "MB/s per disk, measured"
    assert len(figure.axes[0].child_axes) == 1


def test_a_number_for_any_layout_is_a_line_over_all_bars() -> None:
    samples = pools(ANY, tool="smallfile", nominal=4 << 20, scale=120)
    table = efficiency(chosen(samples, "smallfile"), "files_per_s", NUMBERS)
    figure = drawn(draw_per_disk, table, unit="files/s", factor=1.0)
    create, read = figure.axes[:2]
    (lines,) = [lines for lines in create.collections if dashed(lines)]
    ((top, bottom),) = lines.get_segments()
    assert (top[0] * 120, bottom[0] * 120) == pytest.approx((5.44, 5.44))
    assert top[1] < 0
    assert bottom[1] > 1
    assert not [lines for lines in read.collections if dashed(lines)]
    assert words(figure).count("published, for any layout") == 1


def test_a_curve_that_still_rises_has_an_arrow(make_samples: Make) -> None:
    rising = make_samples({("disperse", "write", 12): [1e6] * 3, ("disperse", "write", 48): [9e6] * 3})
    table = efficiency(chosen(rising), "throughput_bytes_per_s", NUMBERS)
    figure = drawn(draw_per_disk, table, **MB)
    assert_says(figure, "48 workers ↑", "a lower bound")
    flat = make_samples({("disperse", "write", 12): [9e6] * 3, ("disperse", "write", 48): [9e6] * 3})
    figure = drawn(draw_per_disk, efficiency(chosen(flat), "throughput_bytes_per_s", NUMBERS), **MB)
    assert "↑" not in words(figure)


def test_a_number_for_any_layout_is_a_line_over_all_series_of_its_size() -> None:
    files = pools(ANY, tool="smallfile", nominal=4 << 20, scale=120)
    table = all_sizes(pd.concat([pools(), files]), NUMBERS)
    figure = drawn(draw_by_file_size, table[table["operation"] == "write"], SIZES, **MB)
    axes = figure.axes[0]
    (segments,) = [lines.get_segments() for lines in axes.collections if dashed(lines)]
    ((start, end),) = segments
    assert (start[1], end[1]) == pytest.approx((5.44 * (4 << 20) / 1e6,) * 2)
    assert start[0] < 1 < end[0]
    assert words(figure).count("published,\nfor any layout") == 1
    read = drawn(draw_by_file_size, table[table["operation"] == "read"], SIZES, **MB)
    assert "for any layout" not in words(read)


def dashed(lines: LineCollection) -> bool:
    return any(pattern is not None for _, pattern in lines.get_linestyle())


def test_the_gap_of_the_guides_numbers_is_marked_as_derived() -> None:
    gap = read_write_gap(all_sizes(pools(), NUMBERS))
    figure = drawn(draw_gap, gap, SIZES)
    ((_, stated),) = marked(figure.axes[0], "_", 16)
    assert stated == pytest.approx(108.07 / 83.68)
    assert_says(figure, "1.29", "from two published numbers", "95 % interval of the ratio")
    low, high = figure.axes[0].get_ylim()
    assert low < 1.29 < high
    none = drawn(draw_gap, gap.assign(published_ratio=float("nan")), SIZES)
    assert "published" not in words(none)


def test_two_scales_of_one_size_stand_on_one_axis_at_full_size() -> None:
    parts = {scale: pools(scale=scale) for scale in (200, 400)}
    samples = pd.concat([rows.assign(cell_id=rows["cell_id"] + f"-{scale}") for scale, rows in parts.items()])
    table = efficiency(chosen(samples), "throughput_bytes_per_s", NUMBERS)
    figure = drawn(draw_per_disk, table[table["series"].str.startswith("disperse 12x")], **MB)
    write, read = figure.axes[:2]
    assert [x for x, _ in marked(write, "|", 15)] == pytest.approx([83.68, 83.68])
    ticks = [tick.get_text() for tick in write.get_yticklabels()]
    assert ticks == ["disperse 12x(4+2), JBOD, 1:200", "disperse 12x(4+2), JBOD, 1:400"]
    assert [x for x, _ in marked(write, "|", 19)] == pytest.approx([83.68, 83.68])
    assert read.get_xlabel() == "MB/s per disk, × scale"
    assert not any(axes.child_axes for axes in figure.axes)
    assert_says(figure, "From scale models of 1:200 and 1:400", never=["lower axis"])
