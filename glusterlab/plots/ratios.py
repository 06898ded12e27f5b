"""Ratios with their intervals: standard against dense servers (F8, F9, F18-F20), reads against writes (F21)."""

from __future__ import annotations

import math

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from glusterlab.analysis.intervals import INSUFFICIENT, MIN_SAMPLES
from glusterlab.analysis.reading import best_count
from glusterlab.analysis.series import operation_rank
from glusterlab.plots.by_file_size import (
    axis_length,
    name_guide,
    place_of_size,
    shift_of_series,
    size_axis,
    with_gaps,
)
from glusterlab.plots.per_disk import (
    BAR_IN,
    PANEL_IN,
    bars_note,
    draw_guide_line,
    draw_per_disk,
    guide_note,
    right_end,
    rising_note,
)
from glusterlab.plots.scales import comparable, scale_axis
from glusterlab.plots.style import (
    GREY,
    INK,
    Provenance,
    access_style,
    house_style,
    interval_words,
    layout_key,
    new_figure,
    row_style,
)

RATIO_IN = 0.30
_GUIDE_SHIFT = 0.012
GAP_HEIGHT_IN = 2.9


def _apart(rows: pd.DataFrame) -> list[list[str]]:
    """What tells rows of one operation and kind of server apart: access and scale, where there are several."""
    access, scale = rows["access"].nunique() > 1, rows["scale"].nunique() > 1
    return [
        [*([str(row["access"])] if access else []), *([f"1:{row['scale']:g}"] if scale else [])]
        for row in rows.to_dict("records")
    ]


def _server_names(rows: pd.DataFrame) -> list[str]:
    """Names of bars: the server, the geometry, and what tells them apart."""
    return [
        ", ".join([str(row["server_model"]), str(row["geometry"]), *more])
        for row, more in zip(rows.to_dict("records"), _apart(rows), strict=True)
    ]


def _ratio_text(row: pd.Series) -> str:
    if math.isnan(float(row["ratio_low"])):
        return f"{INSUFFICIENT} (n = {row['ratio_n']:.0f})"
    holds = ", holds 1" if row["ratio_low"] <= 1 <= row["ratio_high"] else ""
    return f"{row['ratio']:.2f} ({row['ratio_low']:.2f} to {row['ratio_high']:.2f}{holds})"


def draw_advantage(axes: Axes, rows: pd.DataFrame) -> None:
    """Ratios of standard to dense servers, a line each: point and interval, the guide's as a hollow diamond.

    Parameters
    ----------
    axes : matplotlib.axes.Axes
    rows : pandas.DataFrame
        Rows of `glusterlab.analysis.ratios.server_advantage` that have a ratio.
    """
    names = [", ".join([str(name), *more]) for name, more in zip(rows["operation"], _apart(rows), strict=True)]
    for position, (_, row) in enumerate(rows.iterrows()):
        if not math.isnan(float(row["ratio_low"])):
            axes.hlines(position, row["ratio_low"], row["ratio_high"], color=INK, linewidth=1.2)
            axes.plot([row["ratio"]], [position], "o", color=INK, markersize=5, zorder=3)
        if not math.isnan(float(row["published_ratio"])):
            value = float(row["published_ratio"])
            axes.plot([value], [position], "D", markersize=7, markerfacecolor="white", markeredgecolor=INK, zorder=2.5)
            axes.annotate(
                f"guide {value:.2f}",
                (value, position),
                xytext=(0, 6),
                textcoords="offset points",
                ha="center",
                va="bottom",
                fontsize=7,
            )
        axes.annotate(
            _ratio_text(row),
            (1, position),
            xycoords=("axes fraction", "data"),
            ha="right",
            va="center",
            fontsize=7.5,
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 1.5},
            zorder=4,
        )
    axes.axvline(1, color=GREY, linewidth=0.8, zorder=1)
    ends = [*rows["ratio_low"].dropna(), *rows["ratio_high"].dropna(), *rows["published_ratio"].dropna(), 1.0]
    axes.set_xlim(min(0.75, *(end * 0.9 for end in ends)), 1 + (max(*ends, 1.2) - 1) * 1.9)
    axes.set_yticks(range(len(rows)), names)
    axes.set_ylim(len(rows) - 0.4, -0.85)
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    axes.grid(axis="x")


def server_advantage_figure(
    table: pd.DataFrame, provenance: Provenance, *, title: str, unit: str, factor: float
) -> Figure:
    """Per disk on standard and dense servers, one panel per operation, and below them the ratio of the two.

    Parameters
    ----------
    table : pandas.DataFrame
        From `glusterlab.analysis.ratios.server_advantage`; at least one row.
    provenance : Provenance
    title : str
    unit : str
        Of the axis, without "per disk".
    factor : float
        From the table's SI unit to it.
    """
    operations = sorted(table["operation"].astype(str).unique(), key=operation_rank)
    ratios = table[table["ratio"].notna()]
    shown = comparable(table)
    bars = [int((table["operation"].astype(str) == operation).sum()) for operation in operations]
    heights = [*(count * BAR_IN for count in bars), len(ratios) * RATIO_IN + 0.16]
    subtitle = [
        *bars_note(table),
        f"Line: {interval_words(table)}." + guide_note(table, lower=shown.two_axes),
        *rising_note(table),
        *shown.note,
        "Bottom: how many times as much a disk yields in a standard server; a ratio needs no scale."
        + (" Hollow diamond: the guide's." if ratios["published_ratio"].notna().any() else ""),
    ]
    with house_style():
        figure, grid = new_figure(
            title,
            subtitle,
            provenance.footer(table),
            panels_height=sum(heights) + (len(bars) + 1) * PANEL_IN + 0.95 + 0.45 * shown.two_axes,
            rows=len(operations) + 1,
            heights=heights,
        )
        for axes, operation in zip(grid[:, 0], operations, strict=False):
            rows = shown.table[table["operation"].astype(str) == operation]
            draw_per_disk(axes, rows, factor, _server_names(table.loc[rows.index]))
            draw_guide_line(axes, rows, factor)
            axes.set_title(operation)
            axes.set_xlim(0, right_end(shown.table, factor))
            axes.tick_params(axis="x", color=GREY, labelbottom=operation == operations[-1])
        last = grid[len(operations) - 1][0]
        last.set_xlabel(f"{unit} per disk, {shown.words}")
        scale_axis(last, shown.scales, "x", f"{unit} per disk")
        draw_advantage(grid[-1][0], ratios)
        grid[-1][0].set_title("standard / dense")
        grid[-1][0].set_xlabel("ratio, per disk")
        grid[-1][0].tick_params(axis="x", color=GREY)
    return figure


def draw_gap(axes: Axes, rows: pd.DataFrame, sizes: list[int]) -> None:
    """Ratio of reads to writes over file sizes, one line per series, on a logarithmic axis.

    Parameters
    ----------
    axes : matplotlib.axes.Axes
    rows : pandas.DataFrame
        From `glusterlab.analysis.ratios.read_write_gap`.
    sizes : list of int
        Nominal file sizes of the axis, bytes, ascending.
    """
    series = sorted(rows["series"].unique())
    for number, name in enumerate(series):
        part = rows[rows["series"] == name].sort_values("nominal_file_size_bytes")
        style = row_style(part.iloc[0])
        shift = shift_of_series(number, len(series))
        places = [place_of_size(size, sizes) for size in part["nominal_file_size_bytes"]]
        x = [place + shift for place in places]
        joined = with_gaps(places, part["ratio"])
        other = access_style(part.iloc[0])
        for at, stated in zip(x, part["published_ratio"].astype(float), strict=True):
            if not math.isnan(stated):
                _draw_guide(axes, at - _GUIDE_SHIFT * axis_length(sizes), stated, style.colour)
        axes.vlines(x, part["ratio_low"], part["ratio_high"], color=style.colour, linewidth=1.1)
        axes.plot(joined.index + shift, joined, color=style.colour, linestyle=other.get("linestyle", "-"), label=name)
        for at, value, low in zip(x, part["ratio"], part["ratio_low"], strict=True):
            face = "white" if other or math.isnan(low) else style.colour
            axes.plot([at], [value], style.marker, color=style.colour, markerfacecolor=face)
    axes.axhline(1, color=GREY, linewidth=0.8, zorder=1)
    axes.annotate(
        "as fast as writes",
        (0, 1),
        xycoords=("axes fraction", "data"),
        xytext=(3, 2),
        textcoords="offset points",
        fontsize=7,
        color=GREY,
    )
    _ratio_axis(axes, rows)
    size_axis(axes, sizes, {place_of_size(size, sizes) for size in rows["nominal_file_size_bytes"]})


def _draw_guide(axes: Axes, at: float, value: float, colour: str) -> None:
    axes.plot([at], [value], "D", markersize=6.5, markerfacecolor="white", markeredgecolor=colour, markeredgewidth=1.1)
    name_guide(axes, f"guide\n{value:.2f}", (at, value), colour)


def _ratio_axis(axes: Axes, rows: pd.DataFrame) -> None:
    """A logarithmic axis with ticks at 1, 1.5, 2, 3, 5 and 7 of each decade."""
    drawn = [rows[name].dropna() for name in ("ratio", "ratio_low", "ratio_high", "published_ratio")]
    ends = [*pd.concat(drawn), 0.8, 1.25]
    low, high = min(ends) / 1.15, max(ends) * 1.15
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    axes.set_yscale("log")
    axes.yaxis.set_major_locator(
        FixedLocator([step * 10.0**decade for decade in decades for step in (1, 1.5, 2, 3, 5, 7)])
    )
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.set_ylim(low, high)


def gap_figure(table: pd.DataFrame, provenance: Provenance, sizes: list[int], *, title: str) -> Figure:
    """How many times as fast each layout reads as it writes, by file size.

    Parameters
    ----------
    table : pandas.DataFrame
        From `glusterlab.analysis.ratios.read_write_gap`; at least one row.
    provenance : Provenance
    sizes : list of int
        Nominal file sizes that the study has, bytes, ascending.
    title : str
    """
    few = (table["ratio_n"] < MIN_SAMPLES).any()
    shown = table.assign(low=table["ratio_low"])
    subtitle = [
        f"Reads over writes, {best_count(table)}.",
        f"Above 1 reads are faster; the axis is logarithmic. Line: {interval_words(shown, 'of the ratio')}."
        + (f" Hollow mark: {INSUFFICIENT}." if few else ""),
    ]
    if table["published_ratio"].notna().any():
        subtitle.append(
            "Hollow diamond: from two numbers that the guide states; of 4 MB writes it states one for any layout."
        )
    with house_style():
        figure, grid = new_figure(
            title,
            subtitle,
            provenance.footer(table.assign(n=table["ratio_n"].astype(int))),
            panels_height=GAP_HEIGHT_IN,
            key=layout_key(table),
        )
        axes = grid[0][0]
        draw_gap(axes, table, sizes)
        axes.set_xlabel("file size")
        axes.set_ylabel("read / write")
    return figure
