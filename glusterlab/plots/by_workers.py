"""Curves over the number of workers, for the figures that draw them (F5, F40 to F44)."""

from __future__ import annotations

import math

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from glusterlab.analysis.efficiency import saturation_points
from glusterlab.analysis.series import split_values
from glusterlab.plots.style import row_style

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
