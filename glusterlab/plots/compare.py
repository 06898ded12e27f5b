"""Releases against each other: bars with intervals, (F55), and all cells as a forest plot."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from glusterlab.analysis.compare.cells import BOUND, EQUIVALENT, FASTER, SLOWER, UNDECIDED, Rule
from glusterlab.analysis.compare.words import SHORT, change_text, interval_text, n_text
from glusterlab.analysis.select import split_values
from glusterlab.analysis.words import joined, worker_count
from glusterlab.plots import marks
from glusterlab.plots.marks import Mark
from glusterlab.plots.style import GREY, INK, PALE, Frame, n_words, scale_model
from glusterlab.stats import INSUFFICIENT, TWO_GROUPS
from glusterlab.units import format_size, short_number

if TYPE_CHECKING:
    from glusterlab.sections.comparison import Release

MARKS: Mapping[str, Mark] = {
    SLOWER: Mark("#8f1d3f", "v"),
    FASTER: Mark("#1f4e89", "^"),
    EQUIVALENT: Mark("#2a7f62", "o"),
    UNDECIDED: Mark("#6b6b6b", "s"),
    INSUFFICIENT: Mark("#6b6b6b", "d", filled=False),
    BOUND: Mark("#a3a3a3", "P", filled=False),
}  # how a verdict is drawn: colour and shape both tell it

RELEASES = (("#c9c9c9", ""), ("#6f5a8f", ""), ("#d3c6e6", "///"), ("#3b2c55", "..."))
"""Colour and hatching of the bars by their order, the reference first: none of them is a layout's."""

_BAR_IN, _GROUP_IN, _PANEL_IN = 0.2, 0.24, 0.62
MOST_RATIO = 8.0  # end of the axis at the widest, and its inverse: what lies beyond has an arrow


def release_footer(releases: Sequence[Release], rows: pd.DataFrame) -> str:
    """The footer of a comparison: every campaign, the reference first, and n and scale of what is drawn."""
    parts = []
    for each in releases:
        version = f"GlusterFS {each.called}" if each.called else ""
        parts.append(", ".join(filter(None, [each.name, version, each.digest and f"manifest {each.digest[:12]}"])))
    if len(rows):
        parts.append(n_words(n for name in ("n", "n_reference", "n_other") if name in rows for n in rows[name]))
        parts += scale_model(rows, releases[0].latency_s) if any(each.testbed for each in releases) else []
    return " · ".join(parts)


def change_ticks(least: float, most: float) -> list[float]:
    """Ratios for the ticks of an axis, seven at most: round changes in per cent on both sides of 1."""
    for step in (0.01, 0.02, 0.05, 0.1, 0.2, 0.25, 0.5, 1.0, 2.0):
        low, high = math.ceil((least - 1) / step - 1e-9), math.floor((most - 1) / step + 1e-9)
        if high - low + 1 <= 7 and most < 3:
            return [1 + step * number for number in range(low, high + 1) if 1 + step * number > 0]
    highest = math.floor(math.log2(most) + 1e-9)
    return [2.0**power for power in range(-highest, highest + 1)]


def _draw_ratios(axes: Axes, rows: pd.DataFrame, rule: Rule, limits: tuple[float, float]) -> None:
    """One line per cell: the ratio with its interval, over the band of the margin."""
    axes.axvspan(*rule.band, color=PALE, alpha=0.6, linewidth=0, zorder=0)
    axes.axvline(1.0, color=GREY, linewidth=0.7, zorder=1)
    names, texts = [], []
    for place, (_, row) in enumerate(rows.iterrows()):
        ratio, interval = float(row["ratio"]), (float(row["low"]), float(row["high"]))
        marks.ratio_in_row(axes, place, ratio, interval, MARKS[str(row["verdict"])], limits)
        size = format_size(int(row["nominal_file_size_bytes"]))
        names.append(f"{row['operation']} {size}, {row['series']}, {worker_count(row['workers'])}")
        texts.append(f"{TWO_GROUPS if math.isnan(ratio) else change_text(ratio)}, n = {n_text(row)}")
    marks.rows_axis(axes, names, top=-0.6, below=0.4, size=7)
    marks.right_names(axes, texts)


def draw_forest(frame: Frame, table: pd.DataFrame, rule: Rule) -> None:
    """All cells of a comparison (`compare_cells`), one panel per campaign that is held against the reference."""
    reference = str(table["reference"].iloc[0])
    groups = {str(other): rows for other, rows in table.groupby("other", sort=False, observed=True)}
    if len(groups) == 1:
        counts = {verdict: int((table["verdict"] == verdict).sum()) for verdict in (SLOWER, FASTER)}
        told = [f"{count} {verdict}" for verdict, count in counts.items() if count]
        frame.finding = f"of {len(table)} cells {joined(told) if told else 'none is slower or faster'}"
    few = ", where n is 5 or more" if table["low"].isna().any() else ""
    paired = table["rounds"] > 0
    how = "partly within" if paired.any() else "not in interleaved rounds"
    how = "within interleaved rounds" if paired.all() else how
    frame.subtitle += [
        f"Ratio (Hodges and Lehmann), {how}. Line: 95 % interval of the rank test{few}.",
        f"Pale band: margin of ± {100 * rule.margin:g} %. Faster, slower: corrected p below 0.05, a line beyond 0 %.",
    ]
    frame.key += marks.verdict_key(table["verdict"], MARKS, SHORT)
    limits = marks.ratio_ends(table, max(2 * math.log1p(rule.margin), 0.02), MOST_RATIO)
    height = len(table) * _BAR_IN + len(groups) * 0.32 + 0.45
    heights = [len(rows) + 0.6 for rows in groups.values()]
    grid = frame.panels(len(groups), height=height, height_ratios=heights, sharex=True)
    for axes, (other, rows) in zip(grid[:, 0], groups.items(), strict=True):
        _draw_ratios(axes, rows, rule, limits)
        axes.set_title(f"{other} against {reference}", fontsize=8.5)
    last = grid[-1, 0]
    marks.log_axis(last, limits, change_ticks(*limits))
    last.xaxis.set_major_formatter(lambda ratio, _: f"{round(100 * (ratio - 1), 1) or 0:+g} %".replace("+0 ", "0 "))
    last.set_xlabel(f"change against {reference} (logarithmic)")


def _bar_text(row: pd.Series, value: float) -> str:
    text = TWO_GROUPS if math.isnan(value) else short_number(value)
    if math.isnan(float(row["ratio"])):
        return text
    text += f"   {change_text(float(row['ratio']))}"
    if not math.isnan(float(row["ratio_low"])):
        text += f" ({interval_text(float(row['ratio_low']), float(row['ratio_high']))})"
    return f"{text}, {SHORT.get(str(row['verdict']), str(row['verdict']))}"


def draw_bars(axes: Axes, table: pd.DataFrame, factor: float) -> None:
    """Bars of the releases, a group per cell, with the samples and the median's interval."""
    place, ticks, names = 0.0, [], []
    beside: dict[str, Any] = {"ha": "left", "va": "center"}
    highest = max(value for values in table["values"] for value in split_values(values, factor))
    for _, rows in table.groupby("cell_id", sort=False, observed=True):
        first = rows.iloc[0]
        text = f"{first['operation']}, {first['series']}, {worker_count(first['workers'])}"
        marks.words(axes, text, (0, place), (2, 0), fontsize=7.5, **beside)
        place += _GROUP_IN
        for number, (_, row) in enumerate(rows.iterrows()):
            colour, hatch = RELEASES[min(number, len(RELEASES) - 1)]
            value = float(row["median"]) * factor
            axes.barh(place, value, height=0.8 * _BAR_IN, color=colour, hatch=hatch, edgecolor="white", lw=0, zorder=2)
            if not math.isnan(float(row["low"])):
                axes.hlines(place, row["low"] * factor, row["high"] * factor, color=INK, linewidth=1.1, zorder=4)
            values = [each * factor for each in split_values(row["values"])]
            axes.plot(values, [place] * len(values), "|", color=INK, markersize=4, markeredgewidth=0.6, zorder=3)
            end = np.nanmax([*values, value, float(row["high"]) * factor, 0.0]).item()
            marks.words(axes, _bar_text(row, value), (end, place), (4, 0), **beside)
            ticks.append(place)
            names.append(str(row["release"]))
            place += _BAR_IN
        place += 0.5 * _BAR_IN
    axes.set_yticks(ticks, names, fontsize=7.5)
    axes.set_ylim(place - 0.3 * _BAR_IN, -0.8 * _GROUP_IN)
    # room for the words beside the longest bar
    axes.set_xlim(0, highest * 1.85)
    axes.set_xticks([tick for tick in axes.get_xticks() if 0 <= tick <= 1.05 * highest])
    axes.spines["bottom"].set_bounds(0, max(highest, axes.get_xticks()[-1]))
    marks.bare_rows(axes)


def draw_releases(frame: Frame, table: pd.DataFrame, unit: str, factor: float = 1.0) -> None:
    """What each release reaches (`release_bars`), a panel per file size."""
    panels = {int(str(size)): rows for size, rows in table.groupby("nominal_file_size_bytes")}
    lacking = table["low"].isna()
    interval = "none, insufficient n" if lacking.all() else "95 % interval of the median"
    few = " where n is 6 or more" if lacking.any() and not lacking.all() else ""
    how = f"Medians at the reference's best worker count, measured values. Ticks: the samples. Line: {interval}{few}."
    frame.subtitle.insert(0, how)
    group = _GROUP_IN + 0.5 * _BAR_IN
    heights = [rows["cell_id"].nunique() * group + len(rows) * _BAR_IN + 0.1 for rows in panels.values()]
    grid = frame.panels(len(panels), height=sum(heights) + _PANEL_IN * len(panels), height_ratios=heights)
    for axes, (size, rows) in zip(grid[:, 0], panels.items(), strict=True):
        draw_bars(axes, rows, factor)
        axes.set(title=f"{format_size(size)} files", xlabel=unit)
