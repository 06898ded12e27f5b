"""Throughput per disk over file sizes, by layout (F14, F15)."""

from __future__ import annotations

from collections.abc import Iterable

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, NullLocator

from glusterlab.analysis.series import SIZE_TOLERANCE, split_values
from glusterlab.plots.style import (
    GREY,
    INK,
    Provenance,
    house_style,
    interval_words,
    layout_key,
    new_figure,
    row_style,
    scale_axis,
    top_of,
)
from glusterlab.units import format_size

PANEL_HEIGHT_IN = 2.9
_SPREAD = 0.24
_GUIDE_SHIFT = 0.05


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
        shift = (number - (len(series) - 1) / 2) * _SPREAD
        places = [_place(size, sizes) for size in part["nominal_file_size_bytes"]]
        measured.update(places)
        x = [place + shift for place in places]
        for at, values in zip(x, part["values"], strict=True):
            points = [value * factor for value in split_values(str(values))]
            axes.plot([at] * len(points), points, ".", color=style.colour, alpha=0.35, markersize=4, markeredgewidth=0)
        axes.vlines(x, part["low"] * factor, part["high"] * factor, color=style.colour, linewidth=1.1)
        axes.plot(x, part["mean"] * factor, color=style.colour, marker=style.marker, label=name)
        guide = part["published"].astype(float) * factor / part["scale"].astype(float)
        axes.plot(
            [at - _GUIDE_SHIFT for at in x],
            guide,
            "D",
            markersize=7,
            markerfacecolor="white",
            markeredgecolor=style.colour,
            markeredgewidth=1.1,
        )
        for at, value in zip(x, guide, strict=True):
            if value == value:
                axes.annotate(
                    "guide",
                    (at - _GUIDE_SHIFT, value),
                    xytext=(-6, 0),
                    textcoords="offset points",
                    ha="right",
                    va="center",
                    fontsize=7,
                )
    for place in sorted(set(range(len(sizes))) - measured):
        axes.annotate(
            "not measured", (place, 0), xytext=(0, 6), textcoords="offset points", ha="center", fontsize=8, color=GREY
        )
    axes.xaxis.set_major_locator(FixedLocator([float(place) for place in range(len(sizes))]))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xticklabels([format_size(size) for size in sizes])
    axes.set_xlim(-0.6, len(sizes) - 0.4)
    axes.grid(axis="y")


def _place(size: float, sizes: list[int]) -> int:
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
    """
    wanted = list(sizes)
    for size in summary["nominal_file_size_bytes"].astype(int):
        if not any(abs(size / known - 1) <= SIZE_TOLERANCE for known in wanted):
            wanted.append(int(size))
    wanted.sort()
    scales = summary["scale"].astype(float).unique().tolist()
    subtitle = [
        f"Over all disks, at each layout's best worker count. Mean and samples; line: {interval_words(summary)}."
    ]
    if summary["published"].notna().any():
        side = ", on the right axis" if scales != [1.0] else ""
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
        draw_by_file_size(axes, summary, wanted, factor)
        guide = (summary["published"].astype(float) / summary["scale"].astype(float)).max()
        axes.set_ylim(0, max(top_of(summary, factor), 0 if guide != guide else guide * factor * 1.1))
        axes.set_xlabel("file size")
        axes.set_ylabel(f"{unit} per disk, measured", color=INK)
        scale_axis(axes, scales, "y", f"{unit} per disk")
    return figure
