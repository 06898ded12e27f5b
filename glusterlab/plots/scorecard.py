"""The scorecard as a picture: each claim's measured ratio with its interval, beside what the study allows."""

from __future__ import annotations

import math
from dataclasses import dataclass

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from glusterlab.analysis.verdicts import VERDICTS
from glusterlab.plots.style import GREY, INK, PALE, Provenance, house_style, new_figure
from glusterlab.units import short_number

ROW_IN = 0.185
PANEL_IN = 0.30
LEAST, MOST = 0.25, 8.0
"""Ends of the axis at the widest: what lies beyond has an arrow, and its number beside it."""
_TICKS = (1.0, 2.0, 0.5, 4.0, 0.25, 8.0, 1.5, 0.8, 1.25, 3.0, 6.0)
"""Ticks in the order in which they find room."""
_TICK_ROOM = 0.055
"""Least distance of two ticks, as a share of the axis."""


@dataclass(frozen=True, slots=True)
class Mark:
    """How a verdict is drawn: colour and shape both tell it."""

    colour: str
    marker: str
    filled: bool = True


MARKS = {
    "reproduced": Mark("#1f4e89", "o"),
    "same direction, different size": Mark("#e07b39", "^"),
    "contradicted": Mark("#8f1d3f", "X"),
    "insufficient n": Mark("#6b6b6b", "s", filled=False),
    "not measured": Mark("#a3a3a3", "d", filled=False),
}


def _mark(row: pd.Series) -> Mark:
    return MARKS[str(row["verdict"])]


def _style(mark: Mark) -> dict[str, object]:
    face = mark.colour if mark.filled else "white"
    return {"markerfacecolor": face, "markeredgecolor": mark.colour, "markeredgewidth": 1.0, "markersize": 5.5}


def value_text(row: pd.Series) -> str:
    """What stands at the right of a claim: the measured number, of a value the published one, n.

    Parameters
    ----------
    row : pandas.Series
        Of a scorecard.
    """
    text = short_number(float(row["measured"]))
    if str(row["kind"]) == "value":
        text += f" for {row['published']}"
    elif not math.isnan(float(row["low"])):
        text += f" ({short_number(float(row['low']))} to {short_number(float(row['high']))})"
    return f"{text}, n = {row['n']}"


def draw_claims(axes: Axes, rows: pd.DataFrame, limits: tuple[float, float]) -> None:
    """One line per claim: a bar for what is allowed, a diamond for the published ratio, a mark for the measured one.

    Parameters
    ----------
    axes : matplotlib.axes.Axes
    rows : pandas.DataFrame
        Of a scorecard, with a ``ratio``.
    limits : tuple of float
        Ends of the axis.
    """
    least, most = limits
    for place, (_, row) in enumerate(rows.iterrows()):
        low, high = max(float(row["band_low"]), least), min(float(row["band_high"]), most)
        if low < high:
            axes.hlines(place, low, high, color=PALE, linewidth=7.5, zorder=1)
        published = float(row["ratio_published"])
        if least <= published <= most:
            axes.plot([published], [place], "D", markersize=5, markerfacecolor="white", markeredgecolor=INK, zorder=2)
        _draw_measured(axes, row, place, limits)
    axes.axvline(1.0, color=GREY, linewidth=0.7, zorder=0)
    axes.set_yticks(range(len(rows)), [str(name) for name in rows["id"]], fontsize=7)
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    right = axes.secondary_yaxis("right")
    right.set_yticks(range(len(rows)), [value_text(row) for _, row in rows.iterrows()], fontsize=6.5)
    right.tick_params(length=0, pad=7)
    right.spines["right"].set_visible(False)


def _draw_measured(axes: Axes, row: pd.Series, place: int, limits: tuple[float, float]) -> None:
    least, most = limits
    mark, ratio = _mark(row), float(row["ratio"])
    low, high = float(row["ratio_low"]), float(row["ratio_high"])
    if low < most and high > least:
        axes.hlines(place, max(low, least), min(high, most), color=mark.colour, linewidth=1.3, zorder=3)
    if ratio > most or ratio < least:
        shape, at = (">", most) if ratio > most else ("<", least)
        axes.plot([at], [place], shape, clip_on=False, zorder=4, **_style(mark))  # type: ignore[arg-type]
    else:
        axes.plot([ratio], [place], mark.marker, zorder=4, **_style(mark))  # type: ignore[arg-type]


def _limits(table: pd.DataFrame) -> tuple[float, float]:
    """Ends of the axis: all that is drawn, within `LEAST` and `MOST`, and 1 with some room around it."""
    ends = pd.concat([table[name] for name in ("ratio", "ratio_low", "ratio_high", "ratio_published")]).dropna()
    ends = ends[ends > 0]
    return max(LEAST, min(0.7, float(ends.min()) / 1.1)), min(MOST, max(1.6, float(ends.max()) * 1.1))


def ratio_ticks(least: float, most: float, room: float = _TICK_ROOM) -> list[float]:
    """Round ratios on a logarithmic axis, as many as have room; ``room`` is what a label takes, a share of the axis.

    Examples
    --------
    >>> ratio_ticks(0.7, 1.6), ratio_ticks(0.25, 8.0)
    ([0.8, 1.0, 1.25, 1.5], [0.25, 0.5, 0.8, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0])
    """
    width = math.log(most / least)
    found: list[float] = []
    for tick in _TICKS:
        near = any(abs(math.log(tick / other)) < room * width for other in found)
        if least <= tick <= most and not near:
            found.append(tick)
    return sorted(found)


def _key(table: pd.DataFrame) -> list[Line2D]:
    counts = table["verdict"].value_counts()
    names = {"not measured": "measured in part"}
    found = []
    for verdict in VERDICTS:
        if counts.get(verdict, 0):
            mark = MARKS[verdict]
            label = f"{names.get(verdict, verdict)} ({counts[verdict]})"
            line = Line2D([], [], linestyle="none", marker=mark.marker, label=label, **_style(mark))  # type: ignore[arg-type]
            found.append(line)
    return found


def scorecard_figure(table: pd.DataFrame, provenance: Provenance, *, title: str, cells: pd.DataFrame) -> Figure:
    """Published against measured, claim by claim, one panel per chapter of the study.

    Parameters
    ----------
    table : pandas.DataFrame
        Rows of a scorecard that have a ``ratio``; at least one.
    provenance : Provenance
    title : str
    cells : pandas.DataFrame
        The cells behind them, from `glusterlab.analysis.scorecard.cells_behind`, for the footer.
    """
    chapters = list(dict.fromkeys(table["chapter"].astype(str)))
    groups = [table[table["chapter"].astype(str) == chapter] for chapter in chapters]
    subtitle = [
        "Ratio of what a claim compares; of a value, measured to published. Line: 95 % interval, where n is 3 or more.",
        "Pale bar: what the study's words allow. Hollow diamond: its number, where it states one. Right: the numbers.",
    ]
    height = sum(len(rows) for rows in groups) * ROW_IN + len(groups) * PANEL_IN + 0.5
    limits = _limits(table)
    with house_style():
        figure, grid = new_figure(
            title,
            subtitle,
            provenance.footer(cells),
            panels_height=height,
            rows=len(groups),
            share_x=True,
            key=_key(table),
            heights=[len(rows) + 0.5 for rows in groups],
        )
        for axes, chapter, rows in zip(grid[:, 0], chapters, groups, strict=True):
            draw_claims(axes, rows, limits)
            axes.set_title(chapter, fontsize=8.5)
            axes.grid(axis="x")
        last = grid[-1][0]
        last.set_xscale("log")
        last.set_xlim(*limits)
        last.xaxis.set_major_locator(FixedLocator(ratio_ticks(*limits)))
        last.xaxis.set_minor_locator(NullLocator())
        last.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        last.set_xlabel("ratio (logarithmic)")
    return figure
