"""Whether a scale is right, as pictures: cells at two scales beside each other, and how busy the machine was."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import PercentFormatter

from glusterlab.analysis.counting import AGREE as WITHIN
from glusterlab.analysis.select import split_values
from glusterlab.analysis.testbed import BUSY, pooled_pairs
from glusterlab.analysis.words import percent
from glusterlab.plots import marks
from glusterlab.plots.style import GREY, INK, PALE, Frame, row_style, told_apart
from glusterlab.units import format_size

MOST = 4.0  # end of the axis of ratios at the widest, and one over its start; what lies beyond has an arrow
AGREE, DIFFER = marks.Mark("#2a7f62", "o"), marks.Mark("#8f1d3f", "s")


def _draw_ratios(axes: Axes, table: pd.DataFrame) -> None:
    limits = marks.ratio_ends(table, math.log(1.3), MOST)
    axes.axvline(1.0, color=GREY, linewidth=0.7, zorder=1)
    for place, row in enumerate(table.to_dict("records")):
        mark = AGREE if row["agree"] else DIFFER
        marks.ratio_in_row(axes, place, row["ratio"], (row["low"], row["high"]), mark, limits)
    marks.log_axis(axes, limits, marks.ratio_ticks(*limits, room=0.1))
    axes.set_xlabel("slower model / faster model,\nboth times their scale (logarithmic)")


def _share_axis(axes: Axes, values: Sequence[float], threshold: float) -> None:
    axes.axvline(threshold, color=INK, linewidth=0.9, linestyle=(0, (4, 2)))
    axes.set_xlim(0, max([1.0, *(1.03 * value for value in values if not math.isnan(value))]))
    axes.xaxis.set_major_formatter(PercentFormatter(1.0, decimals=0, symbol=" %"))
    axes.set_xlabel("CPU of all hosts together,\nshare of the machine")


def _rows(axes: Axes, labels: Sequence[str], *, size: float = 7) -> None:
    marks.rows_axis(axes, labels, top=-0.6, below=0.4, size=size)
    axes.hlines(np.arange(len(labels)), 0, 1, color=PALE, linewidth=0.4, zorder=0, transform=axes.get_yaxis_transform())


def draw_scale_pairs(figure: Frame, table: pd.DataFrame, *, threshold: float = BUSY) -> None:
    """Each cell at two scales (`scale_pairs`): the ratio with its interval, and the machine's CPU under both."""
    figure.rows = pd.concat([table, table.assign(scale=table["slow_scale"])], ignore_index=True)
    figure.key = [
        Line2D([], [], color=AGREE.colour, marker=AGREE.marker, label="the interval holds 1"),
        Line2D([], [], color=DIFFER.colour, marker=DIFFER.marker, label="it does not"),
        marks.key_mark("o", "CPU, faster model"),
        marks.key_mark("o", "slower model", markerfacecolor="white"),
    ]
    figure.subtitle = [
        "Left: ratio of the means with its 95 % interval; above 1 the faster model does less than its share.",
        f"Right: mean over the measured part, a lower bound. Dashed: {percent(threshold)} %.",
        *pooled_pairs(table)["words"],
    ]
    left, right = figure.panels(1, 2, height=len(table) * 0.29 + 0.75, sharey=True)[0]
    _draw_ratios(left, table)
    rows = table.to_dict("records")
    scales = [
        f"1:{row['slow_scale']:g} / 1:{row['fast_scale']:g}, n = {row['n']}" + ", two groups" * math.isnan(row["ratio"])
        for row in rows
    ]
    _rows(left, [f"{row['label']}\n{scale}" for row, scale in zip(rows, scales, strict=True)], size=6.5)
    for name, face in (("fast", INK), ("slow", "white")):
        right.plot(table[f"{name}_cpu"], range(len(table)), "o", mfc=face, mec=INK, ms=4.5)
    _share_axis(right, [*table["fast_cpu"], *table["slow_cpu"]], threshold)
    marks.bare_rows(right)
    right.grid(axis="x")


def draw_machine_cpu(figure: Frame, table: pd.DataFrame, *, threshold: float = BUSY) -> None:
    """How busy the machine was (`machine_cpu`): one mark per cell, by operation and file size."""
    by = ["nominal_file_size_bytes", "operation", "scale"]
    ordered = table.sort_values(by, kind="stable")
    groups = [rows for _, rows in ordered.groupby(by, sort=False)]
    named = ordered.drop_duplicates("series").sort_values("series")
    styles = told_apart({str(row["series"]): row_style(row) for _, row in named.iterrows()})
    names = list(styles)
    figure.key = [marks.key_mark(styles[name].marker, name, color=styles[name].colour) for name in names]
    figure.subtitle = [
        "A mark is a cell (the larger, the more workers): the mean over the measured part, a lower bound.",
        f"Dashed: {percent(threshold)} %. Right of it the machine's CPUs may have limited what was measured.",
    ]
    if (table["busiest"] > threshold).any():
        figure.signs = [
            Line2D([], [], color=GREY, linewidth=1.0, label="to the cell's busiest sample, where over that")
        ]
    most = float(table["workers"].max())
    axes = figure.panel(len(groups) * 0.34 + 0.6)
    for place, rows in enumerate(groups):
        # layouts side by side within the row, so that marks of the same share do not hide each other
        for series, cells in rows.groupby("series"):
            at = place + (names.index(str(series)) - (len(names) - 1) / 2) * 0.7 / len(names)
            style = styles[str(series)]
            areas = 6 + 26 * np.sqrt(cells["workers"].astype(float) / most)
            look: dict[str, Any] = {"marker": style.marker, "color": style.colour, "alpha": 0.85, "linewidth": 0}
            axes.scatter(cells["mean"], [at] * len(cells), s=areas, **look)
            for values in cells.loc[cells["mean"].isna(), "values"]:
                marks.sample_dots(axes, at, split_values(values), style.colour, alone=True, across=True)
            ends = cells.loc[cells["busiest"] > threshold, ["mean", "busiest"]].to_numpy().T
            axes.plot(ends, [at, at], color=style.colour, linewidth=1.0, marker="|", zorder=1)
    firsts = [rows.iloc[0] for rows in groups]
    sizes = [format_size(int(row["nominal_file_size_bytes"])) for row in firsts]
    labels = [f"{row['operation']} {size}\nat 1:{row['scale']:g}" for row, size in zip(firsts, sizes, strict=True)]
    _rows(axes, labels)
    _share_axis(axes, list(table["busiest"]), threshold)


def draw_counting(figure: Frame, table: pd.DataFrame) -> None:
    """How far the tool's rate lies above that over the whole time (`counting_views`), by how long it was measured."""
    import seaborn as sns  # a third of a second that only this figure needs

    inside = int((table["tool_over_whole"].sub(1).abs() <= WITHIN).sum())
    figure.subtitle = [
        "Tool's rate over the rate of all bytes over the whole time, with its 95 % interval; a mark is a cell.",
        f"{inside} of {len(table)} cells lie within {100 * WITHIN:.0f} %, the grey band.",
    ]
    cells = zip(table["operation"], table["nominal_file_size_bytes"], strict=True)
    table = table.assign(of=[f"{operation} {format_size(int(size))}" for operation, size in cells])
    axes = figure.panel(2.6)
    axes.axhspan(1 - WITHIN, 1 + WITHIN, color=PALE, linewidth=0, zorder=0)
    axes.axhline(1.0, color=GREY, linewidth=0.7, zorder=1)
    axes.vlines(
        table["elapsed_s"], table["tool_over_whole_low"], table["tool_over_whole_high"], color=GREY, linewidth=1
    )
    look: dict[str, Any] = {"hue": "of", "style": "of", "palette": "Dark2", "s": 45, "zorder": 3}
    sns.scatterplot(table, x="elapsed_s", y="tool_over_whole", ax=axes, **look)
    figure.signs = [line for line in axes.get_legend_handles_labels()[0] if isinstance(line, Line2D)]
    axes.legend().remove()
    least, most = table["elapsed_s"].min() / 1.2, table["elapsed_s"].max() * 1.2
    marks.log_axis(axes, (least, most), marks.log_ticks(least, most))
    axes.set(xlabel="mean time from the first start to the last end, s (logarithmic)", ylabel="tool / whole time")
