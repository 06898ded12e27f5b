"""Bars of throughput per disk by layout."""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from glusterlab.analysis.select import operations_of, split_values
from glusterlab.analysis.words import best_count, worker_count
from glusterlab.plots import marks
from glusterlab.plots.style import INK, Frame, comparable, interval_words, row_style
from glusterlab.units import short_number

BAR_IN, PANEL_IN = 0.38, 0.30
RISING = "\N{UPWARDS ARROW}"  # stands behind the worker count where the curve still rises
ANY_LAYOUT = "published, for any layout"


def draw_bars(axes: Axes, rows: pd.DataFrame, factor: float, names: list[str] | None = None) -> None:
    """A bar per row of `efficiency`: mean, 95 % interval, samples as circles, the published number."""
    for place, row in enumerate(rows.to_dict("records")):
        style, values, alone = row_style(row), split_values(row["values"], factor), row["mean"] != row["mean"]
        if not alone:
            marks.bar(axes, place, row["mean"] * factor, style)
        look = {} if alone else {"marker": "o", "markersize": 2.6, "markerfacecolor": "white", "markeredgewidth": 0.5}
        colour = style.colour if alone else INK
        marks.sample_dots(axes, place, values, colour, alone=alone, across=True, alpha=1, zorder=3, **look)
        marks.interval_on_bar(axes, place, row["low"] * factor, row["high"] * factor)
        stated = row["published"] * factor / row["scale"]
        if stated == stated:
            marks.diamond(axes, stated, place, zorder=4)
            marks.words(axes, "published", (stated, place), (-4, 8), ha="left", bbox=marks.behind(), zorder=5)
        text = short_number(row["mean"] * factor)
        if alone:
            centres = row["group_low"], row["group_high"]
            text = f"two groups, {' and '.join(short_number(centre * factor) for centre in centres)}"
        elif row["scale"] != 1:
            text += f"  (× {row['scale']:g}: {short_number(row['full_size_mean'] * factor)})"
        text += f", {worker_count(row['workers'])}" + f" {RISING}" * row["still_rising"]
        marks.words_at_right(axes, place, text)
    if len(rows):
        marks.whole_time(axes, range(len(rows)), rows, factor, along="x")
    # of no one layout: over the bars of all that it may be of
    of_any = (rows["published_any"].astype(float) / rows["scale"].astype(float)).to_numpy() * factor
    for value in sorted(set(of_any[~np.isnan(of_any)])):
        places = np.flatnonzero(of_any == value)
        top = -0.62 if places[0] == 0 else places[0] - 0.45
        axes.vlines(value, top, places[-1] + 0.45, zorder=2.5, **marks.STATED_LINE)
        marks.words(axes, ANY_LAYOUT, (value, top), (3, 0), ha="left", va="bottom", annotation_clip=False)
    marks.rows_axis(axes, list(rows["series"]) if names is None else names)


def right_end(summary: pd.DataFrame, factor: float) -> float:
    """End of the axis of bars: beyond all that is drawn, with room for the numbers."""
    samples = [value for values in summary["values"] for value in split_values(values)]
    stated = summary[["published", "published_any"]].astype(float).max(axis=1) / summary["scale"].astype(float)
    return float(np.nanmax([*samples, *summary["high"].astype(float), *stated])) * factor * 1.75


def draw_per_disk(figure: Frame, table: pd.DataFrame, *, unit: str, factor: float) -> None:
    """Throughput per disk by layout (`efficiency`), a panel per operation; `unit` has no "per disk"."""
    shown = comparable(table)
    operations = operations_of(table)
    panels = [shown.table[shown.table["operation"].astype(str) == operation] for operation in operations]
    figure.subtitle = [*bars_note(table, second_axis=shown.two_axes), *shown.note]
    bars = [len(rows) for rows in panels]
    height = sum(bars) * BAR_IN + len(bars) * PANEL_IN + 0.6 + 0.5 * shown.two_axes
    grid = figure.panels(len(bars), height=height, height_ratios=bars, sharex=True)[:, 0]
    for axes, operation, rows in zip(grid, operations, panels, strict=True):
        draw_bars(axes, rows, factor)
        axes.set_title(operation)
    grid[-1].set_xlim(0, right_end(shown.table, factor))
    grid[-1].set_xlabel(f"{unit} per disk, {shown.words}")
    shown.second_axis(grid[-1], "x", f"{unit} per disk")


def bars_note(table: pd.DataFrame, *, second_axis: bool) -> list[str]:
    """How to read the bars, the arrow and the diamond, where they are."""
    first, second = f"Over all disks of the pool, {best_count(table)}.", "Bar: mean; small circles: the n samples."
    lines = [f"{first} {second}"] if len(first) + len(second) < 110 else [first, second]
    diamond = f" Hollow diamond: the published number{', on the lower axis' * second_axis}."
    lines.append(f"Line: {interval_words(table)}.{diamond * bool(table['published'].notna().any())}")
    if table["still_rising"].astype(bool).any():
        lines.append(f"{RISING}: throughput still rose at the most workers that were measured, so it is a lower bound.")
    return lines
