"""Whether a scale is right, as pictures: cells at two scales beside each other, and how busy the machine was."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator, PercentFormatter

from glusterlab.analysis.reading import percent
from glusterlab.analysis.scale_check import BUSY
from glusterlab.plots.scorecard import ratio_ticks
from glusterlab.plots.style import GREY, INK, PALE, Provenance, house_style, new_figure, row_style
from glusterlab.units import format_size

ROW_IN = 0.29
LEAST, MOST = 0.25, 4.0
"""Ends of the axis of ratios at the widest; what lies beyond has an arrow."""
AGREE, DIFFER = "#2a7f62", "#8f1d3f"


def _ratio_limits(table: pd.DataFrame) -> tuple[float, float]:
    ends = pd.concat([table[name] for name in ("ratio", "low", "high")]).dropna()
    room = max((abs(math.log(float(end))) for end in ends if end > 0), default=0.0) * 1.12
    room = min(max(room, math.log(1.3)), math.log(MOST))
    return math.exp(-room), math.exp(room)


def _draw_ratios(axes: Axes, table: pd.DataFrame) -> None:
    least, most = _ratio_limits(table)
    axes.axvline(1.0, color=GREY, linewidth=0.7, zorder=1)
    for place, row in enumerate(table.to_dict("records")):
        colour, marker = (AGREE, "o") if row["agree"] else (DIFFER, "s")
        if row["low"] < most and row["high"] > least:
            axes.hlines(place, max(row["low"], least), min(row["high"], most), color=colour, linewidth=1.3)
        inside = least <= row["ratio"] <= most
        shape = marker if inside else (">" if row["ratio"] > most else "<")
        axes.plot([min(max(row["ratio"], least), most)], [place], shape, color=colour, clip_on=inside, zorder=4)
    axes.set_xscale("log")
    axes.set_xlim(least, most)
    axes.xaxis.set_major_locator(FixedLocator(ratio_ticks(least, most, room=0.1)))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.set_xlabel("slower model / faster model,\nboth times their scale (logarithmic)")


def _share_axis(axes: Axes, values: Sequence[float], threshold: float) -> None:
    axes.axvline(threshold, color=INK, linewidth=0.9, linestyle=(0, (4, 2)))
    axes.set_xlim(0, max([1.0, *(1.03 * value for value in values if not math.isnan(value))]))
    axes.xaxis.set_major_formatter(PercentFormatter(1.0, decimals=0, symbol=" %"))
    axes.set_xlabel("CPU of all hosts together,\nshare of the machine")


def _rows(axes: Axes, labels: Sequence[str], *, size: float = 7) -> None:
    axes.set_yticks(range(len(labels)), list(labels), fontsize=size)
    axes.set_ylim(len(labels) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    axes.grid(axis="x")
    axes.hlines(np.arange(len(labels)), 0, 1, color=PALE, linewidth=0.4, zorder=0, transform=axes.get_yaxis_transform())


def scale_pairs_figure(table: pd.DataFrame, provenance: Provenance, *, title: str, threshold: float = BUSY) -> Figure:
    """Each cell at two scales: the ratio with its interval, and the machine's CPU under both.

    Parameters
    ----------
    table : pandas.DataFrame
        From `glusterlab.analysis.scale_check.scale_pairs`; at least one row.
    provenance : Provenance
    title : str
    threshold : float
        Share of the machine's CPUs at the dashed line.
    """
    drawn = pd.concat([table, table.assign(scale=table["slow_scale"])], ignore_index=True)
    key = [
        Line2D([], [], color=AGREE, marker="o", label="the interval holds 1"),
        Line2D([], [], color=DIFFER, marker="s", label="it does not"),
        Line2D([], [], linestyle="none", marker="o", color=INK, label="CPU, faster model"),
        Line2D([], [], linestyle="none", marker="o", markerfacecolor="white", color=INK, label="slower model"),
    ]
    subtitle = [
        "Left: ratio of the means with its 95 % interval; above 1 the faster model does less than its share.",
        f"Right: mean over the measured part, a lower bound. Dashed: {percent(threshold)} %.",
    ]
    with house_style():
        figure, grid = new_figure(
            title,
            subtitle,
            provenance.footer(drawn),
            panels_height=len(table) * ROW_IN + 0.75,
            columns=2,
            key=key,
            share_y=True,
        )
        left, right = grid[0]
        _draw_ratios(left, table)
        _rows(left, [_pair_label(row) for row in table.to_dict("records")], size=6.5)
        for name, face in (("fast", INK), ("slow", "white")):
            right.plot(
                table[f"{name}_cpu"], range(len(table)), "o", markerfacecolor=face, markeredgecolor=INK, markersize=4.5
            )
        _share_axis(right, [*table["fast_cpu"], *table["slow_cpu"]], threshold)
        right.tick_params(axis="y", length=0)
        right.spines["left"].set_visible(False)
        right.grid(axis="x")
    return figure


def _pair_label(row: Mapping[Any, Any]) -> str:
    return f"{row['label']}\n1:{row['slow_scale']:g} / 1:{row['fast_scale']:g}, n = {row['n']}"


def _group_label(row: pd.Series) -> str:
    return f"{row['operation']} {format_size(int(row['nominal_file_size_bytes']))}\nat 1:{row['scale']:g}"


def machine_cpu_figure(table: pd.DataFrame, provenance: Provenance, *, title: str, threshold: float = BUSY) -> Figure:
    """How busy the machine was: one mark per cell, by operation and file size.

    Parameters
    ----------
    table : pandas.DataFrame
        From `glusterlab.analysis.scale_check.machine_cpu`; at least one row.
    provenance : Provenance
    title : str
    threshold : float
        Share of the machine's CPUs at the dashed line.
    """
    ordered = table.sort_values(["nominal_file_size_bytes", "operation", "scale"], kind="stable")
    groups = list(ordered.groupby(["nominal_file_size_bytes", "operation", "scale"], sort=False))
    first = ordered.drop_duplicates("series")
    styles = {str(row["series"]): row_style(row) for _, row in first.iterrows()}
    key = [
        Line2D([], [], linestyle="none", marker=style.marker, color=style.colour, label=series)
        for series, style in sorted(styles.items())
    ]
    subtitle = [
        "A mark is a cell (the larger, the more workers): the mean over the measured part, a lower bound.",
        f"Dashed: {percent(threshold)} %. Right of it the machine's CPUs may have limited what was measured.",
        "A line from a mark ends at the cell's busiest sample, where that is right of the dashed line.",
    ]
    most = float(table["workers"].max())
    with house_style():
        figure, grid = new_figure(
            title, subtitle, provenance.footer(table), panels_height=len(groups) * 0.34 + 0.6, key=key
        )
        axes = grid[0, 0]
        for place, (_, rows) in enumerate(groups):
            # layouts side by side within the row, so that marks of the same share do not hide each other
            for series, cells in rows.groupby("series"):
                number = sorted(styles).index(str(series))
                at = place + (number - (len(styles) - 1) / 2) * 0.7 / max(len(styles), 1)
                style = styles[str(series)]
                axes.scatter(
                    cells["mean"],
                    [at] * len(cells),
                    s=6 + 26 * np.sqrt(cells["workers"].astype(float) / most),
                    marker=style.marker,
                    color=style.colour,
                    alpha=0.85,
                    linewidth=0,
                )
                beyond = cells[cells["busiest"] > threshold]
                axes.plot(
                    [beyond["mean"], beyond["busiest"]],
                    [at, at],
                    color=style.colour,
                    linewidth=1.0,
                    marker="|",
                    zorder=1,
                )
        _rows(axes, [_group_label(rows.iloc[0]) for _, rows in groups])
        _share_axis(axes, list(table["busiest"]), threshold)
    return figure
