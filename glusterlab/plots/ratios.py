"""Ratios with their intervals: standard against dense servers, reads against writes."""

import math
from typing import Any

import pandas as pd
from matplotlib.axes import Axes

from glusterlab.analysis.select import operations_of
from glusterlab.analysis.words import best_count
from glusterlab.plots import marks
from glusterlab.plots.by_file_size import SizeAxis
from glusterlab.plots.findings import advantage
from glusterlab.plots.per_disk import BAR_IN, PANEL_IN, bars_note, draw_bars, right_end
from glusterlab.plots.style import GREY, INK, Frame, access_style, comparable, interval_words, layout_key, row_style
from glusterlab.stats import INSUFFICIENT, MIN_SAMPLES, TWO_GROUPS

RATIO_IN = 0.30


def _names(rows: pd.DataFrame, *columns: str) -> list[str]:
    """Names of rows: these columns, then access and scale where there are several."""
    shown = rows.assign(scale=[f"1:{scale:g}" for scale in rows["scale"]])
    shown = shown[[*columns, *(name for name in ("access", "scale") if rows[name].nunique() > 1)]].astype(str)
    return [", ".join(row) for row in shown.itertuples(index=False)]


def _ratio_text(row: pd.Series) -> str:
    if math.isnan(row["ratio"]):
        return TWO_GROUPS
    if math.isnan(row["ratio_low"]):
        return f"{INSUFFICIENT} (n = {row['ratio_n']:.0f})"
    holds = ", holds 1" if row["ratio_low"] <= 1 <= row["ratio_high"] else ""
    return f"{row['ratio']:.2f} ({row['ratio_low']:.2f} to {row['ratio_high']:.2f}{holds})"


def draw_ratios(axes: Axes, rows: pd.DataFrame, names: list[str] | None = None, every: Any = None) -> None:
    """Rows with a ratio (`RATIO`): point, interval, the published number as a wide tick; the axis holds `every` row."""
    for place, (_, row) in enumerate(rows.iterrows()):
        if not math.isnan(row["ratio_low"]):
            axes.hlines(place, row["ratio_low"], row["ratio_high"], color=INK, linewidth=1.2)
            axes.plot([row["ratio"]], [place], "o", color=INK, markersize=5, zorder=3)
            axes.plot([row["ratio_whole"]], [place], **marks.WHOLE, color=INK, zorder=3.2)
        stated = float(row["published_ratio"])
        if not math.isnan(stated):
            marks.stated(axes, stated, place, along="x")
            marks.words(axes, f"{stated:.2f}", (stated, place), (0, 10))
        marks.words_at_right(axes, place, _ratio_text(row), zorder=4)
    axes.axvline(1, color=GREY, linewidth=0.8, zorder=1)
    columns = ["ratio_low", "ratio_high", "ratio_whole", "published_ratio", "stated_low", "stated_high"]
    ends = [*(rows if every is None else every).reindex(columns=columns).to_numpy(dtype=float).ravel(), 1.0]
    ends = [end for end in ends if 0 < end < math.inf]
    axes.set_xlim(min(0.75, *(end * 0.9 for end in ends)), 1 + (max(*ends, 1.2) - 1) * 1.9)
    marks.rows_axis(axes, names or _names(rows, "operation"), top=-0.85, below=0.4)


def draw_named_ratios(figure: Frame, table: pd.DataFrame, *, label: str) -> None:
    """Ratios (`RATIO`) by ``name`` in panels by ``panel``, over what is stated: ``stated_low`` to ``stated_high``."""
    words = interval_words(table.assign(low=table["ratio_low"], n=table["ratio_n"]), "of the ratio")
    cross = " Cross: over the whole time." if table["ratio_whole"].notna().any() else ""
    figure.subtitle = [f"Above 1 the first is faster. Line: {words}.{cross}"]
    if table["stated_low"].notna().any():
        number = "; wide tick: its number" if table["published_ratio"].notna().any() else ""
        figure.subtitle += [f"Pale: what the study's words allow{number}."]
    panels = list(table.groupby("panel", sort=False))
    heights = [len(rows) * (RATIO_IN + 0.04) + 0.46 for _, rows in panels]
    grid = figure.panels(len(panels), height=sum(heights) + 0.5, height_ratios=heights, sharex=True)
    for (axes,), (title, rows) in zip(grid, panels, strict=True):
        draw_ratios(axes, rows, list(rows["name"]), table)
        low, high = rows["stated_low"], rows["stated_high"].clip(upper=1e3)  # an order has no end: the axis cuts it
        axes.hlines(range(len(rows)), low, high, color=GREY, alpha=0.25, linewidth=7.5, zorder=0.5)
        axes.set_title(title)
    axes.set_xlabel(label)


def draw_server_advantage(figure: Frame, table: pd.DataFrame, *, unit: str, factor: float) -> None:
    """Per disk on standard and dense servers (`server_advantage`), and below the ratio of the two."""
    operations = operations_of(table)
    ratios = table[table["ratio_to"] != ""]
    shown = comparable(table)
    panels = [shown.table[shown.table["operation"].astype(str) == operation] for operation in operations]
    heights = [*(len(rows) * BAR_IN for rows in panels), len(ratios) * RATIO_IN + 0.16]
    figure.finding = advantage(ratios, lambda ratio, operation: f"{ratio} times ({operation})")
    figure.finding = figure.finding and f"a standard server's disk yields {figure.finding} as much as a dense one's"
    figure.subtitle = [
        *bars_note(table, second_axis=shown.two_axes),
        "Bottom: how many times as much a disk yields in a standard server; a ratio needs no scale.",
        *shown.note,
    ]
    of_any = table["published"].notna().any() or ratios["published_ratio"].notna().any()
    figure.signs = marks.signs(table, along="x", published=bool(of_any))
    height = sum(heights) + len(heights) * PANEL_IN + 0.95 + 0.45 * shown.two_axes
    *grid, bottom = figure.panels(len(heights), height=height, height_ratios=heights)[:, 0]
    for axes, operation, rows in zip(grid, operations, panels, strict=True):
        names = _names(table.loc[rows.index], "server_model", "geometry")
        draw_bars(axes, rows, factor, names, bars=marks.as_bars(table))
        axes.set(title=operation, xlim=(0, right_end(shown.table, factor)))
        axes.tick_params(axis="x", labelbottom=operation == operations[-1])
    grid[-1].set_xlabel(f"{unit} per disk, {shown.words}")
    shown.second_axis(grid[-1], "x", f"{unit} per disk")
    draw_ratios(bottom, ratios)
    bottom.set(title="standard / dense", xlabel="ratio, per disk")


def draw_gap(figure: Frame, table: pd.DataFrame, sizes: list[int]) -> None:
    """How many times as fast each layout reads as it writes (`read_write_gap`), over file sizes (nominal, bytes)."""
    shown = table.assign(low=table["ratio_low"], n=table["ratio_n"])
    figure.rows = table.assign(n=table["ratio_n"].astype(int))
    figure.key = layout_key(table)
    figure.subtitle = [
        f"Reads over writes, {best_count(table)}.",
        f"Above 1 reads are faster; the axis is logarithmic. Line: {interval_words(shown, 'of the ratio')}."
        + (f" Hollow mark: {INSUFFICIENT}." if (table["ratio_n"] < MIN_SAMPLES).any() else ""),
    ]
    if table["published_ratio"].notna().any():
        figure.subtitle.append("Tick: from two published numbers; a number for any layout is taken for each.")
    axes, sizes_axis = figure.panel(), SizeAxis(sizes, table)
    for name, rows in table.groupby("series", sort=True):
        rows = rows.sort_values("nominal_file_size_bytes")
        style, other = row_style(rows.iloc[0]), access_style(rows.iloc[0])
        places = sizes_axis.places(rows)
        for at, stated in zip(places, rows["published_ratio"].astype(float), strict=True):
            if not math.isnan(stated):
                marks.stated(axes, at, stated, colour=style.colour)
                beside: dict[str, Any] = {"ha": "right", "va": "center", "bbox": marks.behind(pad=0.3), "zorder": 3}
                marks.words(axes, f"{stated:.2f}", (at, stated), (-10, 0), color=style.colour, **beside)
        axes.vlines(places, rows["ratio_low"], rows["ratio_high"], color=style.colour, linewidth=1.1)
        axes.plot(*sizes_axis.line(rows, rows["ratio"]), color=style.colour, ls=other.get("linestyle", "-"), label=name)
        for at, value, low in zip(places, rows["ratio"], rows["ratio_low"], strict=True):
            if math.isnan(value):
                upright: dict[str, Any] = {"xycoords": ("data", "axes fraction"), "rotation": 90, "va": "bottom"}
                marks.words(axes, "two groups", (at, 0), (0, 3), color=style.colour, **upright)
            face = "white" if other or math.isnan(low) else style.colour
            axes.plot([at], [value], style.marker, color=style.colour, markerfacecolor=face)
    axes.axhline(1, color=GREY, linewidth=0.8, zorder=1)
    marks.words(axes, "as fast as writes", (0, 1), (3, 2), xycoords=("axes fraction", "data"), ha="left", color=GREY)
    drawn = [table[name].dropna() for name in ("ratio", "ratio_low", "ratio_high", "published_ratio")]
    ends = [*pd.concat(drawn), 0.8, 1.25]
    low, high = min(ends) / 1.15, max(ends) * 1.15
    axes.set_yscale("log")
    marks.number_ticks(axes, "y", marks.log_ticks(low, high))
    axes.set_ylim(low, high)
    sizes_axis.draw(axes)
    axes.set(xlabel="file size", ylabel="read / write")
