"""Throughput per disk over file sizes, by layout (F14, F15)."""

from __future__ import annotations

from collections.abc import Iterable

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, NullLocator

from glusterlab.analysis.reading import best_count
from glusterlab.analysis.series import SIZE_TOLERANCE, split_values
from glusterlab.plots.per_disk import ANY_LAYOUT
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
    top_of,
)
from glusterlab.units import format_size

PANEL_HEIGHT_IN = 2.9
_SPREAD = 0.24
_GROUP = 0.8
"""Share of the step between two sizes that all series of a size may take."""
_GUIDE_SHIFT, _DOT_SHIFT = 0.016, 0.015
"""Shares of the axis by which the guide's number stands to the left of a mean and the samples to the right of it, so
that its mark does not hide them."""
_SMALL = 0.04
"""Share of the axis below which a mean has its number beside it."""


def draw_by_file_size(axes: Axes, rows: pd.DataFrame, sizes: list[int], factor: float) -> None:
    """One line per series over file sizes at equal steps; sizes without a value are marked "not measured".

    Parameters
    ----------
    axes : matplotlib.axes.Axes
    rows : pandas.DataFrame
        Rows of `glusterlab.analysis.efficiency.efficiency` of one operation.
    sizes : list of int
        Nominal file sizes of the axis, bytes, ascending.
    factor : float
        From the SI unit of the rows to that of the axis.
    """
    series = sorted(rows["series"].unique())
    measured: set[int] = set()
    for number, name in enumerate(series):
        part = rows[rows["series"] == name].sort_values("nominal_file_size_bytes")
        style = row_style(part.iloc[0])
        shift = shift_of_series(number, len(series))
        places = [place_of_size(size, sizes) for size in part["nominal_file_size_bytes"]]
        measured.update(places)
        x = [place + shift for place in places]
        for at, values in zip(x, part["values"], strict=True):
            points = [value * factor for value in split_values(str(values))]
            beside = [at + _DOT_SHIFT * axis_length(sizes)] * len(points)
            axes.plot(beside, points, ".", color=style.colour, alpha=0.6, markersize=4.5, markeredgewidth=0)
        axes.vlines(x, part["low"] * factor, part["high"] * factor, color=style.colour, linewidth=1.1)
        line = access_style(part.iloc[0])
        drawn = with_gaps(places, part["mean"] * factor)
        axes.plot(drawn.index + shift, drawn, color=style.colour, marker=style.marker, label=name, **line)
        guide = part["published"].astype(float) * factor / part["scale"].astype(float)
        left = [at - _GUIDE_SHIFT * axis_length(sizes) for at in x]
        axes.plot(
            left,
            guide,
            "D",
            markersize=7,
            markerfacecolor="white",
            markeredgecolor=style.colour,
            markeredgewidth=1.1,
        )
        for at, value in zip(left, guide, strict=True):
            if value == value:
                name_guide(axes, "guide", (at, value))
    _draw_guide_lines(axes, rows, sizes, factor)
    size_axis(axes, sizes, measured)


def _draw_guide_lines(axes: Axes, rows: pd.DataFrame, sizes: list[int], factor: float) -> None:
    """Numbers that the guide states for no layout of its list: a line over all series of that size."""
    values = rows["published_any"].astype(float) * factor / rows["scale"].astype(float)
    found = zip(rows["nominal_file_size_bytes"], values, strict=True)
    for size, value in sorted({(float(size), value) for size, value in found if value == value}):
        place = place_of_size(size, sizes)
        axes.hlines(value, place - _GROUP / 2, place + _GROUP / 2, color=INK, linewidth=0.9, linestyle=(0, (4, 3)))
        axes.annotate(
            ANY_LAYOUT.replace(", ", ",\n"),
            (place + _GROUP / 2, value),
            xytext=(2, 0),
            textcoords="offset points",
            va="center",
            fontsize=7,
            linespacing=1.0,
            color=INK,
        )


def name_guide(axes: Axes, text: str, at: tuple[float, float], colour: str = INK) -> None:
    """Words to the left of a diamond, readable where a line runs through them.

    Parameters
    ----------
    axes : matplotlib.axes.Axes
    text : str
    at : tuple of float
        Where the diamond is.
    colour : str
    """
    axes.annotate(
        text,
        at,
        xytext=(-6, 0),
        textcoords="offset points",
        ha="right",
        va="center",
        fontsize=7,
        linespacing=1.0,
        color=colour,
        bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.75, "pad": 0.3},
        zorder=3,
    )


def _label_small(axes: Axes, factor: float, rows: pd.DataFrame, sizes: list[int]) -> None:
    """Numbers over means that are too near to 0 to be read from the axis."""
    series = sorted(rows["series"].unique())
    top = axes.get_ylim()[1]
    for row in rows.to_dict("records"):
        if float(row["mean"]) * factor < _SMALL * top:
            at = place_of_size(row["nominal_file_size_bytes"], sizes) + shift_of_series(
                series.index(row["series"]), len(series)
            )
            axes.annotate(
                f"{float(row['mean']) * factor:.2g}",
                (at, max(float(row["mean"]), float(row["high"]) if row["high"] == row["high"] else 0.0) * factor),
                xytext=(0, 6),
                textcoords="offset points",
                ha="center",
                fontsize=6.5,
                color=row_style(pd.Series(row)).colour,
                bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 0.4},
            )


def axis_length(sizes: list[int]) -> float:
    """Length of an axis of sizes, in steps between two of them."""
    return len(sizes) + 0.2


def shift_of_series(number: int, count: int) -> float:
    """How far a series stands beside the place of a size, so that none hides another."""
    return (number - (count - 1) / 2) * min(_SPREAD, _GROUP / count)


def size_axis(axes: Axes, sizes: list[int], measured: set[int]) -> None:
    """File sizes at equal steps; those whose place is not in `measured` are marked so."""
    for place in sorted(set(range(len(sizes))) - measured):
        axes.annotate(
            "not measured",
            (place, 0),
            xycoords=("data", "axes fraction"),
            xytext=(0, 6),
            textcoords="offset points",
            ha="center",
            fontsize=8,
            color=GREY,
        )
    axes.xaxis.set_major_locator(FixedLocator([float(place) for place in range(len(sizes))]))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xticklabels([format_size(size) for size in sizes])
    axes.set_xlim(-0.6, len(sizes) - 0.4)
    axes.grid(axis="y")


def with_gaps(places: list[int], values: Iterable[float]) -> pd.Series:
    """Values by place, NaN between them where there is none: no line leads over a size that was not measured.

    Examples
    --------
    >>> with_gaps([0, 1, 3], [5.0, 6.0, 7.0]).tolist()
    [5.0, 6.0, nan, 7.0]
    """
    known = pd.Series(list(values), index=places, dtype=float)
    # sizes that differ by less than the tolerance share a place
    return known if known.index.has_duplicates else known.reindex(range(min(places), max(places) + 1))


def place_of_size(size: float, sizes: list[int]) -> int:
    """Where a size stands among `sizes`.

    Examples
    --------
    >>> place_of_size(4e9, [128 << 20, 4 << 30])
    1
    """
    return next(n for n, known in enumerate(sizes) if abs(size / known - 1) <= SIZE_TOLERANCE)


def by_file_size_figure(
    summary: pd.DataFrame, provenance: Provenance, sizes: Iterable[int], *, title: str, unit: str, factor: float
) -> Figure:
    """Throughput per disk over the study's file sizes, for one operation.

    Parameters
    ----------
    summary : pandas.DataFrame
        From `glusterlab.analysis.efficiency.efficiency`, for one operation; at least one row.
    provenance : Provenance
    sizes : iterable of int
        Nominal file sizes that the study has, bytes; sizes of the summary that are not among them are added.
    title, unit : str
    factor : float
        From the summary's SI unit to `unit`.

    Notes
    -----
    Where sizes were measured on models of several scales, measured values do not compare. Then all are drawn times
    their own scale, and the axis says so.
    """
    wanted = list(sizes)
    for size in summary["nominal_file_size_bytes"].astype(int):
        if not any(abs(size / known - 1) <= SIZE_TOLERANCE for known in wanted):
            wanted.append(int(size))
    wanted.sort()
    shown = comparable(summary)
    drawn = shown.table
    subtitle = [
        f"Over all disks of the pool, {best_count(summary)}.",
        f"Mark: mean; line: {interval_words(summary)}; dots beside it: the samples.",
        *shown.note,
    ]
    if summary["published"].notna().any():
        side = ", on the right axis" if shown.two_axes else ""
        subtitle.append(f"Hollow diamond: the guide's number for that layout{side}.")
    with house_style():
        figure, grid = new_figure(
            title,
            subtitle,
            provenance.footer(summary),
            panels_height=PANEL_HEIGHT_IN,
            key=layout_key(summary),
        )
        axes = grid[0][0]
        draw_by_file_size(axes, drawn, wanted, factor)
        stated = drawn[["published", "published_any"]].astype(float).max(axis=1)
        guide = (stated / drawn["scale"].astype(float)).max()
        axes.set_ylim(0, max(top_of(drawn, factor), 0 if guide != guide else guide * factor * 1.1))
        _label_small(axes, factor, drawn, wanted)
        axes.set_xlabel("file size")
        axes.set_ylabel(f"{unit} per disk, {shown.words}", color=INK)
        scale_axis(axes, shown.scales, "y", f"{unit} per disk")
    return figure
