"""Bars of throughput per disk by layout."""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from glusterlab.analysis.select import operations_of, split_values
from glusterlab.analysis.words import best_count, worker_count
from glusterlab.plots import marks
from glusterlab.plots.findings import by_operation, leads
from glusterlab.plots.style import Frame, comparable

BAR_IN, PANEL_IN = 0.38, 0.30
RISING = "\N{UPWARDS ARROW}"  # stands behind the worker count where the curve still rises
ANY_LAYOUT = "published, for any layout"


def draw_bars(
    axes: Axes, rows: pd.DataFrame, factor: float, names: list[str] | None = None, line: str = "", *, bars: bool
) -> None:
    """A row per row of `efficiency`: mean (as `bars` or ticks), 95 % interval, samples, the published number."""
    for place, row in enumerate(rows.to_dict("records")):
        marks.mean_in_row(axes, place, row, factor, bars=bars)
        stated = row["published"] * factor / row["scale"]
        if stated == stated:
            marks.stated(axes, stated, place, along="x")
        text = f"{marks.mean_words(row, factor)}, {worker_count(row['workers'])}{f' {RISING}' * row['still_rising']}"
        marks.words_at_right(axes, place, text)
    if len(rows):
        marks.whole_time(axes, range(len(rows)), rows, factor, along="x")
    # of no one layout: over the bars of all that it may be of
    of_any = (rows["published_any"].astype(float) / rows["scale"].astype(float)).to_numpy() * factor
    for value in sorted(set(of_any[~np.isnan(of_any)])):
        places = np.flatnonzero(of_any == value)
        top = -0.62 if places[0] == 0 else places[0] - 0.45
        axes.vlines(value, top, places[-1] + 0.45, zorder=2.5, **marks.STATED_LINE)
        marks.words(axes, line or ANY_LAYOUT, (value, top), (3, 0), ha="left", va="bottom", annotation_clip=False)
    marks.rows_axis(axes, list(rows["series"]) if names is None else names)


def right_end(summary: pd.DataFrame, factor: float) -> float:
    """End of the axis of bars: beyond all that is drawn, with room for the numbers."""
    samples = [value for values in summary["values"] for value in split_values(values)]
    stated = summary[["published", "published_any"]].astype(float).max(axis=1) / summary["scale"].astype(float)
    return float(np.nanmax([*samples, *summary["high"].astype(float), *stated])) * factor * 1.75


def draw_per_disk(figure: Frame, table: pd.DataFrame, *, unit: str, factor: float, line: str = "") -> None:
    """Rates per disk or server (`efficiency`) or of all, a panel per operation; `line`: what ``published_any`` is."""
    shown = comparable(table)
    operations = operations_of(table)
    panels = [shown.table[shown.table["operation"].astype(str) == operation] for operation in operations]
    figure.finding = leads(by_operation(table))
    figure.subtitle = [*bars_note(table, second_axis=shown.two_axes), *shown.note]
    figure.signs = marks.signs(table, along="x")
    bars = [len(rows) for rows in panels]
    height = sum(bars) * BAR_IN + len(bars) * PANEL_IN + 0.6 + 0.5 * shown.two_axes
    grid = figure.panels(len(bars), height=height, height_ratios=bars, sharex=True)[:, 0]
    for axes, operation, rows in zip(grid, operations, panels, strict=True):
        draw_bars(axes, rows, factor, line=line, bars=marks.as_bars(table))
        axes.set_title(operation)
    grid[-1].set_xlim(0, right_end(shown.table, factor))
    unit += f" per {_part(table)}" if _part(table) else ""
    grid[-1].set_xlabel(f"{unit}, {shown.words}")
    shown.second_axis(grid[-1], "x", unit)


def _part(table: pd.DataFrame) -> str:
    """What a value is of, a disk or a server; empty of all."""
    part = str(table["quantity"].iloc[0].rpartition("_per_")[2])
    return part if part in ("disk", "server") else ""


def bars_note(table: pd.DataFrame, *, second_axis: bool) -> list[str]:
    """How to read the rows."""
    of = f"Over all {_part(table)}s of the pool" if _part(table) else "Of all workers together"
    lines = [f"{of}, {best_count(table)}."]
    if second_axis and table["published"].notna().any():
        lines[0] += " Published numbers: on the lower axis."
    return lines
