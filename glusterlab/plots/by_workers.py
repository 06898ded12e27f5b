"""Figures over the number of workers: where does a volume saturate (F5, F40)."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from glusterlab.analysis.efficiency import saturation_points
from glusterlab.analysis.intervals import MIN_SAMPLES
from glusterlab.analysis.series import operation_rank, split_values
from glusterlab.plots.style import (
    Provenance,
    access_style,
    house_style,
    interval_words,
    layout_key,
    new_figure,
    row_style,
    scale_axis,
    top_of,
    workers_axis,
)

PANEL_HEIGHT_IN = 2.9
LABEL_HEIGHT_IN = 0.46
DOT_SHIFT = 1.07
"""Samples stand this much to the right of their interval, so that neither hides the other."""


def draw_line(
    axes: Axes, rows: pd.DataFrame, factor: float = 1.0, *, hollow: bool = False, dots: bool = True
) -> Line2D:
    """One series over workers: mean, 95 % interval, and each sample as a small dot behind.

    Parameters
    ----------
    axes : matplotlib.axes.Axes
    rows : pandas.DataFrame
        Rows of a summary (`glusterlab.analysis.series.summarise`) of one series and operation.
    factor : float
        From the unit of the rows to that of the axis.
    hollow : bool
        Hollow marks and a dashed line, for the second of two lines of one layout.
    dots : bool
        Draw the samples.

    Returns
    -------
    matplotlib.lines.Line2D
    """
    rows = rows.sort_values("workers")
    style = row_style(rows.iloc[0])
    workers = rows["workers"].astype(float).to_numpy()
    mean = rows["mean"].astype(float).to_numpy() * factor
    low = rows["low"].astype(float).to_numpy() * factor
    high = rows["high"].astype(float).to_numpy() * factor
    if dots:
        for count, values in zip(workers, rows["values"], strict=True):
            points = [value * factor for value in split_values(str(values))]
            axes.plot(
                [count * DOT_SHIFT] * len(points),
                points,
                ".",
                color=style.colour,
                alpha=0.35,
                markersize=4,
                markeredgewidth=0,
            )
    axes.vlines(workers, low, high, color=style.colour, linewidth=1.0, alpha=0.8)
    (line,) = axes.plot(
        workers,
        mean,
        color=style.colour,
        marker=style.marker,
        linestyle="--" if hollow else "-",
        markerfacecolor="white" if hollow else style.colour,
        markeredgecolor=style.colour,
        label=str(rows["series"].iloc[0]),
    )
    return line


def _label_ends(axes: Axes, lines: list[Line2D], top: float) -> None:
    """Names the lines to the right of their ends, as far apart as the names are high."""
    step = top * LABEL_HEIGHT_IN / PANEL_HEIGHT_IN
    ends = sorted(lines, key=lambda line: float(np.asarray(line.get_ydata())[-1]))
    wanted = [float(np.asarray(line.get_ydata())[-1]) for line in ends]
    for line, height in zip(ends, spread(wanted, step, step / 2, top - step / 2), strict=True):
        name = str(line.get_label()).replace(", ", ",\n").replace(" ", "\n", 1)
        right = float(np.asarray(line.get_xdata())[-1]) * 1.16
        axes.text(right, height, name, va="center", color=line.get_color(), fontsize=7.5, linespacing=1.05)
    axes.set_xlim(right=axes.get_xlim()[1] * 2.6)


def spread(wanted: list[float], step: float, lowest: float, highest: float) -> list[float]:
    """Heights in ascending order, near to the wanted ones, `step` apart, between `lowest` and `highest`.

    Examples
    --------
    >>> spread([1.0, 1.2, 9.0], 2.0, 1.0, 10.0), spread([9.0, 9.0], 2.0, 1.0, 10.0)
    ([1.0, 3.0, 9.0], [8.0, 10.0])
    """
    heights: list[float] = []
    for height in wanted:
        heights.append(max(height, heights[-1] + step if heights else lowest))
    ceiling = highest
    for n in reversed(range(len(heights))):
        heights[n] = min(heights[n], ceiling)
        ceiling = heights[n] - step
    return heights


def draw_ring(axes: Axes, rows: pd.DataFrame, factor: float) -> None:
    """Marks the saturation point of one series, where one was seen."""
    point = float(saturation_points(rows)["saturation_workers"].iloc[0])
    if math.isnan(point):
        return
    row = rows[rows["workers"].astype(float) == point].iloc[0]
    axes.plot(
        [point],
        [float(row["mean"]) * factor],
        "o",
        markersize=12,
        markerfacecolor="none",
        markeredgecolor=row_style(row).colour,
        markeredgewidth=0.9,
    )


def draw_by_workers(axes: Axes, rows: pd.DataFrame, factor: float, *, rings: bool = True) -> list[Line2D]:
    """All series of one operation over workers, with their saturation points."""
    lines = []
    for _, series in rows.groupby("series", sort=True, observed=True):
        lines.append(draw_line(axes, series, factor, hollow=bool(access_style(series.iloc[0]))))
        if rings:
            draw_ring(axes, series, factor)
    workers_axis(axes, rows["workers"])
    axes.grid(axis="y")
    axes.set_xlabel("workers in total")
    return lines


def by_workers_figure(
    summary: pd.DataFrame, provenance: Provenance, *, title: str, unit: str, factor: float, note: str = ""
) -> Figure:
    """Aggregate throughput by workers, one panel per operation, one line per layout.

    Parameters
    ----------
    summary : pandas.DataFrame
        From `glusterlab.analysis.series.summarise`; at least one row.
    provenance : Provenance
    title : str
    unit : str
        Of the axis, such as ``MB/s``.
    factor : float
        From the summary's SI unit to it.
    note : str
        One more line below the subtitle.
    """
    operations = sorted(summary["operation"].astype(str).unique(), key=operation_rank)
    few = summary["series"].nunique() <= 3
    top = top_of(summary, factor)
    scales = summary["scale"].astype(float).unique()
    lacking = f", or n below {MIN_SAMPLES}" if (summary["n"] < MIN_SAMPLES).any() else ""
    subtitle = [
        f"Mean of n samples; line: {interval_words(summary)}; dots beside it: the samples.",
        f"Ring: the fewest workers that more do not beat by over 10 %, by the means; no ring: none seen{lacking}.",
        *([note] if note else []),
    ]
    with house_style():
        figure, grid = new_figure(
            title,
            subtitle,
            provenance.footer(summary),
            panels_height=PANEL_HEIGHT_IN,
            columns=len(operations),
            share_y=True,
            key=None if few else layout_key(summary),
        )
        for axes, operation in zip(grid[0], operations, strict=True):
            rows = summary[summary["operation"].astype(str) == operation]
            lines = draw_by_workers(axes, rows, factor)
            axes.set_title(operation)
            if few:
                _label_ends(axes, lines, top)
        grid[0][0].set_ylim(0, top)
        grid[0][0].set_ylabel(f"all workers together, {unit}")
        scale_axis(grid[0][-1], scales, "y", unit)
    return figure
