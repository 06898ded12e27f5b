"""Bars of throughput per disk by layout, the guide's efficiency figures (F11-F13, F24, F25)."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from glusterlab.analysis.reading import best_count, worker_count
from glusterlab.analysis.series import operation_rank, split_values
from glusterlab.plots.scales import comparable, scale_axis
from glusterlab.plots.style import GREY, INK, Provenance, house_style, interval_words, new_figure, row_style
from glusterlab.units import short_number

BAR_IN = 0.38
PANEL_IN = 0.30
RISING = "\N{UPWARDS ARROW}"
"""Stands behind the worker count where the curve still rises."""


def _value_text(row: pd.Series, factor: float) -> str:
    scale = float(row["scale"])
    text = short_number(float(row["mean"]) * factor)
    if scale != 1:
        text += f"  (× {scale:g}: {short_number(float(row['full_size_mean']) * factor)})"
    rising = f" {RISING}" if bool(row["still_rising"]) else ""
    return f"{text}, {worker_count(int(row['workers']))}{rising}"


def _draw_guide(axes: Axes, value: float, position: float) -> None:
    axes.plot(
        [value],
        [position],
        "D",
        markersize=7,
        markerfacecolor="white",
        markeredgecolor=INK,
        markeredgewidth=1.1,
        zorder=4,
    )
    axes.annotate(
        "guide",
        (value, position),
        xytext=(0, 7),
        textcoords="offset points",
        ha="center",
        va="bottom",
        fontsize=7,
        color=INK,
        bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.75, "pad": 0.4},
        zorder=5,
    )


def draw_per_disk(axes: Axes, rows: pd.DataFrame, factor: float, names: list[str] | None = None) -> None:
    """One bar per series of one operation: mean, 95 % interval, samples as dots, published value as a hollow diamond.

    Parameters
    ----------
    axes : matplotlib.axes.Axes
    rows : pandas.DataFrame
        Rows of `glusterlab.analysis.efficiency.efficiency` of one operation.
    factor : float
        From the SI unit of the rows to that of the axis.
    names : list of str, optional
        Of the bars, in the order of the rows; by default they are sorted by series and named by it.
    """
    ordered = (
        rows.sort_values("series", kind="stable").reset_index(drop=True)
        if names is None
        else rows.reset_index(drop=True)
    )
    for place, row in ordered.iterrows():
        style = row_style(row)
        position = float(str(place))
        mean, low, high = (float(row[name]) * factor for name in ("mean", "low", "high"))
        axes.barh(position, mean, height=0.62, color=style.colour, hatch=style.hatch, edgecolor="white", linewidth=0)
        points = [value * factor for value in split_values(str(row["values"]))]
        axes.plot(
            points,
            [position] * len(points),
            "o",
            markersize=2.6,
            markerfacecolor="white",
            markeredgecolor=INK,
            markeredgewidth=0.5,
            zorder=3,
        )
        axes.hlines(position, low, high, color="white", linewidth=3.2, zorder=2)
        axes.hlines(position, low, high, color=INK, linewidth=1.2, zorder=2)
        guide = float(row["published"]) * factor / float(row["scale"])
        if guide == guide:
            _draw_guide(axes, guide, position)
        axes.annotate(
            _value_text(row, factor),
            (1, position),
            xycoords=("axes fraction", "data"),
            ha="right",
            va="center",
            fontsize=7.5,
            color=INK,
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 1.5},
        )
    axes.set_yticks(range(len(ordered)), list(ordered["series"]) if names is None else names)
    axes.set_ylim(len(ordered) - 0.45, -0.62)
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    axes.grid(axis="x")


def right_end(summary: pd.DataFrame, factor: float) -> float:
    """End of the axis of bars: beyond all that is drawn, with room for the numbers."""
    samples = [value for values in summary["values"] for value in split_values(str(values))]
    scale = summary["scale"].astype(float)
    guide = [*(summary["published"].astype(float) / scale), *(summary["published_any"].astype(float) / scale)]
    ends = np.array([*samples, *summary["high"].astype(float), *guide], dtype=float)
    return float(np.nanmax(ends)) * factor * 1.75


ANY_LAYOUT = "guide, for any layout"


def draw_guide_line(axes: Axes, rows: pd.DataFrame, factor: float) -> None:
    """A number that the guide states for no layout of its list: a line over the bars of all that it may be of.

    Parameters
    ----------
    axes : matplotlib.axes.Axes
    rows : pandas.DataFrame
        Those that were drawn, in their order from the top.
    factor : float
        From the SI unit of the rows to that of the axis.
    """
    values = (rows["published_any"].astype(float) / rows["scale"].astype(float)).to_numpy() * factor
    for value in sorted(set(values[~np.isnan(values)])):
        places = np.flatnonzero(values == value)
        top = -0.62 if places[0] == 0 else places[0] - 0.45
        axes.vlines(value, top, places[-1] + 0.45, color=INK, linewidth=0.9, linestyle=(0, (4, 3)), zorder=2.5)
        axes.annotate(
            ANY_LAYOUT,
            (value, top),
            xytext=(3, 0),
            textcoords="offset points",
            ha="left",
            va="bottom",
            fontsize=7,
            color=INK,
            annotation_clip=False,
        )


def per_disk_figure(summary: pd.DataFrame, provenance: Provenance, *, title: str, unit: str, factor: float) -> Figure:
    """Throughput per disk by layout, one panel per operation.

    Parameters
    ----------
    summary : pandas.DataFrame
        From `glusterlab.analysis.efficiency.efficiency`; at least one row.
    provenance : Provenance
    title : str
    unit : str
        Of the axis, without "per disk".
    factor : float
        From the summary's SI unit to it.
    """
    operations = sorted(summary["operation"].astype(str).unique(), key=operation_rank)
    shown = comparable(summary)
    table = shown.table.sort_values("series", kind="stable")
    subtitle = [
        *bars_note(summary),
        f"Line: {interval_words(summary)}." + guide_note(summary, lower=shown.two_axes),
        *rising_note(summary),
        *shown.note,
    ]
    bars = [int((summary["operation"].astype(str) == operation).sum()) for operation in operations]
    height = sum(bars) * BAR_IN + len(operations) * PANEL_IN + 0.6 + 0.5 * shown.two_axes
    with house_style():
        figure, grid = new_figure(
            title,
            subtitle,
            provenance.footer(summary),
            panels_height=height,
            rows=len(operations),
            share_x=True,
            heights=bars,
        )
        for axes, operation in zip(grid[:, 0], operations, strict=True):
            rows = table[table["operation"].astype(str) == operation]
            draw_per_disk(axes, rows, factor)
            draw_guide_line(axes, rows, factor)
            axes.set_title(operation)
        grid[-1][0].set_xlim(0, right_end(table, factor))
        grid[-1][0].set_xlabel(f"{unit} per disk, {shown.words}")
        scale_axis(grid[-1][0], shown.scales, "x", f"{unit} per disk")
        for axes in grid[:, 0]:
            axes.tick_params(axis="x", color=GREY)
    return figure


def bars_note(summary: pd.DataFrame) -> list[str]:
    """What bars and circles are; in two lines where one is too long."""
    first, second = f"Over all disks of the pool, {best_count(summary)}.", "Bar: mean; small circles: the n samples."
    return [f"{first} {second}"] if len(first) + len(second) < 110 else [first, second]


def rising_note(summary: pd.DataFrame) -> list[str]:
    """What the arrow says, where there is one."""
    if not summary["still_rising"].astype(bool).any():
        return []
    return [f"{RISING}: throughput still rose at the most workers that were measured, so it is a lower bound."]


def guide_note(summary: pd.DataFrame, *, lower: bool) -> str:
    """What the diamond is, where there is one.

    Parameters
    ----------
    summary : pandas.DataFrame
    lower : bool
        It is read from the second axis below.
    """
    if summary["published"].isna().all():
        return ""
    return " Hollow diamond: the guide's number" + (", on the lower axis." if lower else ".")
