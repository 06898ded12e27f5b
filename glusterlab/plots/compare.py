"""Releases against each other: bars with intervals, as the guide's figure 55, and all cells as a forest plot."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from glusterlab.analysis.compare.cells import EQUIVALENT, FASTER, SLOWER, UNDECIDED, VERDICTS, Rule
from glusterlab.analysis.compare.words import SHORT, change_text, interval_text, n_text
from glusterlab.analysis.select import split_values
from glusterlab.plots.scorecard import Mark
from glusterlab.plots.style import GREY, INK, PALE, Frame, scale_words
from glusterlab.stats import INSUFFICIENT
from glusterlab.units import format_size, short_number

if TYPE_CHECKING:
    from glusterlab.sections.comparison import Release

MARKS: Mapping[str, Mark] = {
    FASTER: Mark("#1f4e89", "^"),
    SLOWER: Mark("#8f1d3f", "v"),
    EQUIVALENT: Mark("#2a7f62", "o"),
    UNDECIDED: Mark("#6b6b6b", "s"),
    INSUFFICIENT: Mark("#6b6b6b", "d", filled=False),
}
"""How a verdict is drawn: colour and shape both tell it."""

RELEASES = (("#c9c9c9", ""), ("#6f5a8f", ""), ("#d3c6e6", "///"), ("#3b2c55", "..."))
"""Colour and hatching of the bars by their order, the reference first: none of them is a layout's."""

ROW_IN = 0.2
BAR_IN = 0.2
GROUP_IN = 0.24
PANEL_IN = 0.62
MOST_RATIO = 8.0
"""End of the axis at the widest, and its inverse: what lies beyond has an arrow."""
_TICKS_AT_MOST = 7
_STEPS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.25, 0.5, 1.0, 2.0)


@dataclass(frozen=True, slots=True)
class Sources:
    """Where the numbers of a comparison come from, for its footer.

    Attributes
    ----------
    names, versions, digests : tuple of str
        Of each campaign, the reference first.
    testbed : bool
        Whether any of them is a scale model.
    """

    names: tuple[str, ...]
    versions: tuple[str, ...]
    digests: tuple[str, ...]
    testbed: bool

    @classmethod
    def of(cls, releases: Sequence[Release]) -> Sources:
        """Those of open campaigns."""
        return cls(
            tuple(release.name for release in releases),
            tuple(release.version for release in releases),
            tuple(release.digest for release in releases),
            any(release.testbed for release in releases),
        )

    def footer(self, rows: pd.DataFrame) -> str:
        """The footer line: every campaign, and n from ``n``, or ``n_reference`` and ``n_other``, of what is drawn.

        Examples
        --------
        >>> rows = pd.DataFrame({"scale": [20], "operations_limited": [True], "file_size_bytes": [32768]})
        >>> rows = rows.assign(nominal_file_size_bytes=32768, n=10)
        >>> Sources(("a", "b"), ("10.3", "11.1"), ("0" * 64, "1" * 64), True).footer(rows).split(" · ")[:3]
        ['a, GlusterFS 10.3, manifest 000000000000', 'b, GlusterFS 11.1, manifest 111111111111', 'n = 10']
        """
        parts = []
        for name, version, digest in zip(self.names, self.versions, self.digests, strict=True):
            release = [f"GlusterFS {version}"] if version else []
            parts.append(", ".join([name, *release, *([f"manifest {digest[:12]}"] if digest else [])]))
        if rows.empty:
            return " · ".join(parts)
        counts = [int(n) for name in ("n", "n_reference", "n_other") if name in rows for n in rows[name]]
        least, most = min(counts), max(counts)
        parts.append(f"n = {least}" if least == most else f"n = {least} to {most}")
        if self.testbed:
            sizes = sorted(set(zip(rows["nominal_file_size_bytes"], rows["file_size_bytes"], strict=True)))
            model = f"scale model {scale_words(rows['scale'])} on one machine"
            for number, (nominal, size) in enumerate(each for each in sizes if each[0] != each[1]):
                model += f", {format_size(int(size))} {'for' if number else 'stands for'} {format_size(int(nominal))}"
            parts.append(model)
            if rows["operations_limited"].astype(bool).any():
                parts.append("disk operations/s assumed")
        return " · ".join(parts)


def _style(mark: Mark) -> dict[str, object]:
    face = mark.colour if mark.filled else "white"
    return {"markerfacecolor": face, "markeredgecolor": mark.colour, "markeredgewidth": 1.0, "markersize": 5.5}


def _limits(table: pd.DataFrame, rule: Rule) -> tuple[float, float]:
    """Ends of the axis: all that is drawn and twice the margin, within `MOST_RATIO`, alike on both sides of 1."""
    ends = pd.concat([table[name] for name in ("ratio", "low", "high")]).dropna()
    furthest = max([abs(math.log(float(end))) for end in ends if end > 0], default=0.0)
    room = min(math.log(MOST_RATIO), max(1.12 * furthest, 2 * math.log1p(rule.margin), 0.02))
    return math.exp(-room), math.exp(room)


def change_ticks(least: float, most: float) -> list[float]:
    """Ratios for the ticks of an axis: round changes in per cent on both sides of 1.

    Examples
    --------
    >>> [round(tick, 2) for tick in change_ticks(0.88, 1.13)]
    [0.9, 0.95, 1.0, 1.05, 1.1]
    >>> change_ticks(0.125, 8.0)
    [0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0]
    """
    for step in _STEPS:
        low, high = math.ceil((least - 1) / step - 1e-9), math.floor((most - 1) / step + 1e-9)
        if high - low + 1 <= _TICKS_AT_MOST and most < 3:
            return [1 + step * number for number in range(low, high + 1) if 1 + step * number > 0]
    highest = math.floor(math.log2(most) + 1e-9)
    return [2.0**power for power in range(-highest, highest + 1)]


def draw_ratios(axes: Axes, rows: pd.DataFrame, rule: Rule, limits: tuple[float, float]) -> None:
    """One line per cell: the ratio with its interval, over the band of the margin."""
    least, most = limits
    axes.axvspan(*rule.band, color=PALE, alpha=0.6, linewidth=0, zorder=0)
    axes.axvline(1.0, color=GREY, linewidth=0.7, zorder=1)
    for place, (_, row) in enumerate(rows.iterrows()):
        mark, ratio = MARKS[str(row["verdict"])], float(row["ratio"])
        low, high = float(row["low"]), float(row["high"])
        if low < most and high > least:
            axes.hlines(place, max(low, least), min(high, most), color=mark.colour, linewidth=1.3, zorder=3)
        if least <= ratio <= most:
            axes.plot([ratio], [place], mark.marker, zorder=4, **_style(mark))  # type: ignore[arg-type]
        elif ratio > 0:
            shape, at = (">", most) if ratio > most else ("<", least)
            axes.plot([at], [place], shape, clip_on=False, zorder=4, **_style(mark))  # type: ignore[arg-type]
    axes.set_yticks(range(len(rows)), [_cell_name(row) for _, row in rows.iterrows()], fontsize=7)
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    right = axes.secondary_yaxis("right")
    right.set_yticks(range(len(rows)), [_right_text(row) for _, row in rows.iterrows()], fontsize=6.5)
    right.tick_params(length=0, pad=7)
    right.spines["right"].set_visible(False)
    axes.grid(axis="x")


def _cell_name(row: pd.Series) -> str:
    return f"{row['operation']} {format_size(int(row['nominal_file_size_bytes']))}, {row['series']}, {_workers(row)}"


def _workers(row: pd.Series) -> str:
    return "1 worker" if row["workers"] == 1 else f"{row['workers']:.0f} workers"


def _right_text(row: pd.Series) -> str:
    return f"{change_text(float(row['ratio']))}, n = {n_text(row)}"


def _key(table: pd.DataFrame) -> list[Line2D]:
    counts = table["verdict"].value_counts()
    return [
        Line2D(
            [],
            [],
            linestyle="none",
            marker=MARKS[verdict].marker,
            label=f"{SHORT.get(verdict, verdict)} ({counts[verdict]})",
            **_style(MARKS[verdict]),  # type: ignore[arg-type]
        )
        for verdict in VERDICTS
        if counts.get(verdict, 0)
    ]


def _how(table: pd.DataFrame) -> str:
    paired = table["rounds"] > 0
    if paired.all():
        return "Ratio within interleaved rounds (Hodges and Lehmann)"
    return (
        "Ratio (Hodges and Lehmann), not in interleaved rounds" if not paired.any() else "Ratio, partly within rounds"
    )


def draw_forest(frame: Frame, table: pd.DataFrame, rule: Rule) -> None:
    """All cells of a comparison (`compare_cells`), one panel per campaign that is held against the reference."""
    reference = str(table["reference"].iloc[0])
    groups = {str(other): rows for other, rows in table.groupby("other", sort=False, observed=True)}
    few = ", where n is 5 or more" if table["low"].isna().any() else ""
    frame.subtitle += [
        f"{_how(table)}. Line: 95 % interval of the rank test{few}.",
        f"Pale band: margin of ± {100 * rule.margin:g} %. Faster, slower: corrected p below 0.05, a line beyond 0 %.",
    ]
    frame.key += _key(table)
    limits = _limits(table, rule)
    grid = frame.panels(
        len(groups),
        height=len(table) * ROW_IN + len(groups) * 0.32 + 0.45,
        heights=[len(rows) + 0.6 for rows in groups.values()],
        share_x=True,
    )
    for axes, (other, rows) in zip(grid[:, 0], groups.items(), strict=True):
        draw_ratios(axes, rows, rule, limits)
        axes.set_title(f"{other} against {reference}", fontsize=8.5)
    last = grid[-1][0]
    last.set_xscale("log")
    last.set_xlim(*limits)
    last.xaxis.set_major_locator(FixedLocator(change_ticks(*limits)))
    last.xaxis.set_minor_locator(NullLocator())
    last.xaxis.set_major_formatter(FuncFormatter(lambda value, _: _tick_text(value)))
    last.set_xlabel(f"change against {reference} (logarithmic)")


def _tick_text(ratio: float) -> str:
    """A change without digits that are not needed.

    Examples
    --------
    >>> _tick_text(1.05), _tick_text(1.0), _tick_text(0.25), _tick_text(1.025)
    ('+5 %', '0 %', '-75 %', '+2.5 %')
    """
    change = round(100 * (ratio - 1), 1)
    return f"{change:+g} %" if change else "0 %"


def _bar_text(row: pd.Series, value: float) -> str:
    """What stands right of a bar: its value, and what changed."""
    text = short_number(value)
    if math.isnan(float(row["ratio"])):
        return text
    text += f"   {change_text(float(row['ratio']))}"
    if not math.isnan(float(row["ratio_low"])):
        text += f" ({interval_text(float(row['ratio_low']), float(row['ratio_high']))})"
    return f"{text}, {SHORT.get(str(row['verdict']), str(row['verdict']))}"


def draw_bars(axes: Axes, table: pd.DataFrame, factor: float) -> None:
    """Bars of the releases, a group per cell, with the samples and the median's interval."""
    place, ticks, names = 0.0, [], []
    highest = max(value for values in table["values"] for value in split_values(str(values))) * factor
    for _, rows in table.groupby("cell_id", sort=False, observed=True):
        first = rows.iloc[0]
        words = f"{first['operation']}, {first['series']}, {_workers(first)}"
        axes.annotate(words, (0, place), xytext=(2, 0), textcoords="offset points", va="center", fontsize=7.5)
        place += GROUP_IN
        for number, (_, row) in enumerate(rows.iterrows()):
            colour, hatch = RELEASES[min(number, len(RELEASES) - 1)]
            value = float(row["median"]) * factor
            axes.barh(place, value, height=0.8 * BAR_IN, color=colour, hatch=hatch, edgecolor="white", lw=0, zorder=2)
            if not math.isnan(float(row["low"])):
                axes.hlines(place, row["low"] * factor, row["high"] * factor, color=INK, linewidth=1.1, zorder=4)
            values = [each * factor for each in split_values(str(row["values"]))]
            axes.plot(values, [place] * len(values), "|", color=INK, markersize=4, markeredgewidth=0.6, zorder=3)
            end = max(value, *values, 0 if math.isnan(float(row["high"])) else float(row["high"]) * factor)
            text, place_of_text = _bar_text(row, value), (end, place)
            axes.annotate(text, place_of_text, xytext=(4, 0), textcoords="offset points", va="center", fontsize=7)
            ticks.append(place)
            names.append(str(row["release"]))
            place += BAR_IN
        place += 0.5 * BAR_IN
    axes.set_yticks(ticks, names, fontsize=7.5)
    axes.set_ylim(place - 0.3 * BAR_IN, -0.8 * GROUP_IN)
    # room for the words beside the longest bar
    axes.set_xlim(0, highest * 1.85)
    axes.set_xticks([tick for tick in axes.get_xticks() if 0 <= tick <= 1.05 * highest])
    axes.spines["bottom"].set_bounds(0, highest)
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    axes.tick_params(axis="x", color=GREY)


def draw_releases(frame: Frame, table: pd.DataFrame, unit: str, factor: float = 1.0) -> None:
    """What each release reaches (`release_bars`), a panel per file size; `factor` leads from quantity to unit."""
    panels = {int(str(size)): rows for size, rows in table.groupby("nominal_file_size_bytes")}
    lacking = table["low"].isna()
    interval = "none, insufficient n" if lacking.all() else "95 % interval of the median"
    few = " where n is 6 or more" if lacking.any() and not lacking.all() else ""
    frame.subtitle.insert(
        0, f"Medians at the reference's best worker count, measured values. Ticks: the samples. Line: {interval}{few}."
    )
    heights = [
        rows["cell_id"].nunique() * (GROUP_IN + 0.5 * BAR_IN) + len(rows) * BAR_IN + 0.1 for rows in panels.values()
    ]
    grid = frame.panels(len(panels), height=sum(heights) + PANEL_IN * len(panels), heights=heights)
    for axes, (size, rows) in zip(grid[:, 0], panels.items(), strict=True):
        draw_bars(axes, rows, factor)
        axes.set_title(f"{format_size(size)} files")
        axes.set_xlabel(unit)
