"""Curves by workers beside their limits: what is drawn is what the table says, and every line has its name."""

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from glusterlab.analysis import summarise, with_published_totals
from glusterlab.analysis.scaling import scaling_fits, usl
from glusterlab.analysis.scaling_table import scaling_curves
from glusterlab.analysis.select import VIEWS
from glusterlab.plots import draw_shares
from glusterlab.plots.by_workers import above_words
from glusterlab.plots.style import INK
from tests.guide_pools import LAYOUTS, SERIES, chosen, pools
from tests.plots.drawing import (
    MB,
    NUMBERS,
    REAL,
    assert_says,
    assert_stacked,
    draw_by_workers,
    drawn,
    lines_of,
    marked,
    titled,
    words,
)

Make = Callable[..., pd.DataFrame]
GEOMETRIES = [str(shape[2]) for shape in LAYOUTS.values()]


def curves(spread: tuple[float, ...] = (0.98, 1.0, 1.02), scale: int = 200):
    """Six layouts over workers with a limit that is twice the mean at the most workers."""
    level = {1: 0.1, 12: 0.95, 48: 1.0}
    samples = []
    for count, share in level.items():
        rows = pools(workers=count, spread=spread, scale=scale)
        samples.append(rows.assign(throughput_bytes_per_s=rows["throughput_bytes_per_s"] * share))
    summary = summarise(chosen(pd.concat(samples, ignore_index=True)), "throughput_bytes_per_s")
    return with_limit(summary, summary.groupby(["series", "operation"])["mean"].transform("max") * 2)


def with_limit(summary: pd.DataFrame, limit: pd.Series, source: str = "", above: str = "") -> pd.DataFrame:
    columns = {"share": "mean", "share_low": "low", "share_high": "high"}
    shares = {name: summary[column] / limit for name, column in columns.items()}
    return summary.assign(limit=limit, limit_part="disks", limit_source=source, above_limit=above, **shares)


def limits_in(axes: Axes) -> list[Line2D]:
    return [line for line in axes.get_lines() if str(line.get_label()).startswith("limit")]


def test_a_rate_above_its_limit_is_marked_and_the_other_view_ticked() -> None:
    summary = curves()
    whole = summary.assign(whole_mean=summary["mean"] / 1.5)
    flagged = with_limit(whole, whole["mean"] * 0.9, above=VIEWS[0])
    figure = drawn(draw_by_workers, flagged, **MB)
    (sentence,) = above_words(flagged)
    assert sentence in words(figure).replace("\n", " ")
    assert f"{len(flagged)} by the view '{VIEWS[0]}', of {len(flagged)}" in sentence
    drawn_above = [line for axes in titled(figure).values() for line in axes.get_lines() if line.get_mfc() == INK]
    assert (len(drawn_above), {line.get_marker() for line in drawn_above}) == (len(flagged), {"^"})
    assert_says(figure, "sample", "mean", "95 % interval", VIEWS[1])
    # old tables do not have the other view, and a summary of something else is no rate
    footers = [REAL.footer(table) for table in (summary, summary.drop(columns="whole_mean"))]
    assert [VIEWS[0] in footer for footer in footers] == [True, False]
    lines = titled(figure)["write, disperse on JBOD"].get_lines()
    ticks = [line for line in lines if line.get_marker() == "x"]
    heights = [float(y) for line in ticks if len(line.get_xdata()) == 3 for y in line.get_ydata()]
    assert all(any(height == pytest.approx(level * 72 / 300) for height in heights) for level in (8.368, 79.496, 83.68))


def test_each_family_has_its_panels_with_curves_and_limits() -> None:
    summary = curves()
    figure = drawn(draw_by_workers, summary, note="A note.", **MB)
    assert set(titled(figure)) == {
        f"{operation}, {family}"
        for operation in ("write", "read")
        for family in ("replicate on RAID 6", "disperse on RAID 6", "disperse on JBOD")
    }
    axes = titled(figure)["write, disperse on JBOD"]
    ((x, y),) = lines_of(axes, "disperse 12x(4+2), JBOD")
    assert x.tolist() == [1, 12, 48]
    assert y * 200 / 72 == pytest.approx([8.368, 79.496, 83.68])
    limits = limits_in(axes)
    tops = sorted(float(np.asarray(line.get_ydata())[-1]) for line in limits)
    assert tops == pytest.approx(sorted([2 * 83.68 * 72 / 200, 2 * 46 * 144 / 200]))
    # between the measured counts the bound is not known here: a dash for each
    assert all((line.get_linestyle(), line.get_marker()) == ("None", "_") for line in limits)
    assert axes.get_ylim()[1] > max(tops)
    shown = words(figure)
    for geometry in GEOMETRIES:
        assert shown.count(f"limit {geometry}:\ndisks") == 2
    assert_says(figure, "A note.", "as the cluster file states them", "× 200: as the full-size")
    for axes in titled(figure).values():
        assert_stacked(axes, 4)
    # as other figures by workers mark saturation
    assert [x for x, _ in marked(titled(figure)["read, disperse on JBOD"], "o", 12)] == [12.0, 12.0]


def test_limits_are_drawn_at_every_worker_count_where_they_are_known() -> None:
    summary = curves()
    one = summary[(summary["series"] == SERIES["disperse"]) & (summary["operation"] == "write")]
    counts = range(1, 49)
    bounds = pd.DataFrame({"series": SERIES["disperse"], "operation": "write", "scale": 200.0, "workers": counts})
    bounds = bounds.assign(limit=bounds["workers"].clip(upper=6) * 1e6)
    figure = drawn(draw_by_workers, one, curves=bounds, **MB)
    (line,) = limits_in(figure.axes[0])
    assert np.asarray(line.get_xdata()).tolist() == list(counts)
    assert np.asarray(line.get_ydata()).tolist() == [min(count, 6) for count in counts]
    assert (line.get_linestyle(), line.get_marker()) == ("--", "")


def test_what_the_guide_states_per_disk_is_a_level_of_its_layout() -> None:
    figure = drawn(draw_by_workers, with_published_totals(curves(), NUMBERS), **MB)
    for operation, total in (("write", 83.68 * 72), ("read", 108.07 * 72)):
        axes = titled(figure)[f"{operation}, disperse on JBOD"]
        (level,) = [line for line in axes.get_lines() if str(line.get_label()).startswith("published")]
        assert np.asarray(level.get_ydata()) * 200 == pytest.approx([total, total])
        assert level.get_label() == f"published\n12x(4+2): {total:,.0f}"
        assert axes.get_ylim()[1] * 200 > total
    assert words(figure).count("published\n12x(4+2)") == 2
    assert "the number per disk times the disks, on the right axis" in words(figure)
    bare = drawn(draw_by_workers, curves(), **MB)
    assert "published" not in words(bare)


def test_two_scales_of_one_size_are_drawn_at_full_size() -> None:
    parts = {scale: pools(scale=scale) for scale in (200, 400)}
    samples = pd.concat([rows.assign(cell_id=rows["cell_id"] + f"-{scale}") for scale, rows in parts.items()])
    summary = summarise(chosen(samples), "throughput_bytes_per_s")
    summary = with_published_totals(with_limit(summary, summary["mean"] * 2), NUMBERS)
    figure = drawn(draw_by_workers, summary, **MB)
    axes = titled(figure)["write, disperse on JBOD"]
    # a key could not tell two scales apart: every line has its name, and the guide's level is drawn once
    assert not [text for legend in figure.legends for text in legend.get_texts() if "JBOD" in text.get_text()]
    assert_stacked(axes, 9)
    (level,) = [line for line in axes.get_lines() if str(line.get_label()).startswith("published")]
    assert np.asarray(level.get_ydata()) == pytest.approx([83.68 * 72] * 2)
    for scale in (200, 400):
        ((_, y),) = lines_of(axes, f"disperse 12x(4+2), JBOD, 1:{scale}")
        assert y == pytest.approx([83.68 * 72])
    assert axes.get_ylabel() == "MB/s, × scale"
    assert not any(axes.child_axes for axes in figure.axes)
    assert "From scale models of 1:200 and 1:400" in words(figure)


def test_without_limits_only_the_curves_are_drawn_and_real_hardware_has_one_axis() -> None:
    summary = curves(scale=1)
    for bare in (summary.drop(columns="limit"), summary.assign(limit=float("nan"), limit_part="")):
        shown = words(drawn(draw_by_workers, bare, provenance=REAL, **MB))
        assert not [part for part in ("limit", "Dashed", "×", "scale model") if part in shown]


def test_few_samples_have_no_interval_and_no_ring_and_a_baseline_is_named() -> None:
    summary = curves(spread=(1.0,))
    figure = drawn(draw_by_workers, with_limit(summary, summary["limit"], "bare"), **MB)
    assert_says(figure, "insufficient n", "no ring: none seen, or n below 3.")
    assert_says(figure, "as the baseline bare measured them, links at least as cluster.yaml states them")
    assert not [ring for axes in figure.axes for ring in marked(axes, "o", 12)]


def test_other_accesses_are_hollow_and_many_series_get_a_key() -> None:
    cells = [(access, count) for access in ("native", "nfs") for count in (1, 12)]
    samples = pd.concat([pools(workers=n).assign(access=access, cell_id=f"{access}-{n}-") for access, n in cells])
    samples["cell_id"] += samples["layout"] + samples["operation"]
    summary = summarise(chosen(samples), "throughput_bytes_per_s")
    figure = drawn(draw_by_workers, summary, **MB)
    axes = titled(figure)["write, disperse on JBOD"]
    lines = [line for line in axes.get_lines() if "JBOD" in str(line.get_label())]
    hollow = {str(line.get_label()).rpartition(", ")[2]: line.get_markerfacecolor() == "white" for line in lines}
    assert (len(lines), hollow) == (4, {"native": False, "nfs": True})
    assert len(figure.legends[0].get_texts()) == 12


def test_shares_are_dots_with_their_interval_before_the_bound() -> None:
    summary = curves()
    figure = drawn(draw_shares, summary)
    write, read = figure.axes[:2]
    assert (write.get_title(loc="left"), read.get_title(loc="left")) == ("write", "read")
    assert [tick.get_text() for tick in write.get_yticklabels()] == sorted(SERIES.values())
    counts = [tick.get_text() for tick in write.get_yticklabels(minor=True)]
    assert counts == ["1", "12", "48"] * len(SERIES)
    dots = {float(line.get_ydata()[0]): float(line.get_xdata()[0]) for line in shares(write)}
    assert [dots[place] for place in sorted(dots)][:3] == pytest.approx([0.05, 0.476, 0.5], rel=0.01)
    rows = summary[summary["operation"] == "write"]
    assert sorted(dots.values()) == pytest.approx(sorted(rows["share"]))
    ends = sorted(part.get_segments()[0][:, 0].tolist() for part in write.collections)
    expected = sorted(rows[["share_low", "share_high"]].to_numpy().tolist())
    assert np.ravel(ends) == pytest.approx(np.ravel(expected))
    bound = [line for axes in (write, read) for line in axes.get_lines() if list(line.get_xdata()) == [1, 1]]
    assert len(bound) == 2


def shares(axes: Axes) -> list[Line2D]:
    return [line for line in axes.get_lines() if len(line.get_xdata()) == 1 and line.get_markersize() == 4.5]


def test_layouts_that_were_not_measured_have_no_dot_and_few_samples_are_told() -> None:
    summary = curves(spread=(1.0, 1.0))
    summary = summary[~((summary["type"] == "replicate") & (summary["workers"] == 12))]
    figure = drawn(draw_shares, summary, provenance=REAL)
    dots = shares(figure.axes[0])
    assert len(dots) == 16
    assert {line.get_markerfacecolor() for line in dots} == {"white"}
    assert "insufficient n" in words(figure)
    apart = summary.assign(share=float("nan"))
    assert [text.get_text() for text in drawn(draw_shares, apart, provenance=REAL).axes[0].texts] == ["two groups"] * 16


def scaled_samples(scales: tuple[int, ...] = (200,)) -> pd.DataFrame:
    """Two layouts that follow the law exactly, at six worker counts."""
    rows = []
    for count in (1, 6, 12, 24, 48, 96):
        for scale in scales:
            each = pools(workers=count, spread=(1.0, 1.0, 1.0), scale=scale)
            each = each[each["layout"].isin(["disperse-12x6-jbod", "replicate-3x2-raid6"])]
            value = usl(count, 2e6, 0.05, 0.001) * 200 / scale
            rows.append(each.assign(throughput_bytes_per_s=value, cell_id=each["cell_id"] + f"-{scale}"))
    return chosen(pd.concat(rows, ignore_index=True))


@pytest.mark.parametrize("scales", [(200,), (200, 100)])
def test_the_fitted_law_is_a_thin_line_over_the_measured_counts(scales: tuple[int, ...]) -> None:
    samples = scaled_samples(scales)
    fits = scaling_curves(scaling_fits(samples, "throughput_bytes_per_s"))
    summary = summarise(samples, "throughput_bytes_per_s")
    figure = drawn(draw_by_workers, summary, fits=fits, **MB)
    lines = list(lines_of(titled(figure)["write, disperse on JBOD"], "fitted"))
    assert len(lines) == len(scales)
    # several scales stand times their own on one axis
    times = 200 if len(scales) > 1 else 1
    for x, y in lines:
        assert (x[0], x[-1]) == (pytest.approx(1), pytest.approx(96))
        assert y == pytest.approx([usl(count, 2.0 * times, 0.05, 0.001) for count in x], rel=1e-3)
    assert "Dash-dotted, thin: the Universal Scalability Law" in words(figure)
    bare = drawn(draw_by_workers, summary, fits=fits.iloc[:0], **MB)
    assert not [axes for axes in bare.axes if list(lines_of(axes, "fitted"))]
    assert "Scalability" not in words(bare)


def test_a_limit_far_beyond_what_was_measured_is_told_and_not_drawn() -> None:
    summary = curves()
    disperse = summary["type"] == "disperse"
    limit = summary["limit"].where(~disperse, summary["limit"] * 10)
    figure = drawn(draw_by_workers, with_limit(summary, limit), **MB)
    axes = titled(figure)["write, disperse on JBOD"]
    assert not limits_in(axes)
    (told,) = [text.get_text() for text in axes.texts if text.get_text().startswith("limit")]
    rows = summary[disperse & (summary["operation"] == "write") & (summary["kind"] == "jbod")]
    most = limit[rows.index][rows["workers"] == 48].min() * 1e-6
    assert told == f"limit {most:,.0f} and more (disks), beyond this axis"
    assert axes.get_ylim()[1] < 3 * rows["mean"].max() * 1e-6
    assert limits_in(titled(figure)["write, replicate on RAID 6"])
    assert "Dashed: what links and disks allow" in words(figure)
    everywhere = drawn(draw_by_workers, with_limit(summary, summary["limit"] * 10), **MB)
    assert "Dashed" not in words(everywhere)
