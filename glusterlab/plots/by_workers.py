"""Curves over the number of workers, beside what links and disks allow: a row of panels per family."""

import math
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from glusterlab.analysis.efficiency import GROUP, saturation_points
from glusterlab.analysis.saturation.resources import STATED_LINKS
from glusterlab.analysis.select import BACKING_LABELS, VIEWS, layout_label, operations_of
from glusterlab.plots import marks
from glusterlab.plots.findings import saturates
from glusterlab.plots.scaling import draw_fit
from glusterlab.plots.style import (
    GREY,
    NARROW_IN,
    WIDTH_IN,
    Frame,
    access_style,
    comparable,
    ink,
    layout_key,
    row_style,
    top_of,
)
from glusterlab.stats import MIN_SAMPLES

ABOVE = "\N{BLACK UP-POINTING TRIANGLE}"  # marks a rate that is above its limit by more than its interval
_ROW_IN = 1.75
_FAR = 4.0  # a limit that is so many times what was measured is named and not drawn: the curves would lie on the axis
_LINE_IN, _SPACING, _LETTER_IN = 0.115, 1.12, 0.053
_BESIDE = 1.25  # a name begins at so many times the most workers
_MOST_LABELS = 6


def above_words(table: pd.DataFrame) -> list[str]:
    """What the mark of a rate above its limit says, where one is: for a subtitle, and for a section's notes."""
    found = table.loc[table["above_limit"].astype(bool), "above_limit"]
    views = sorted({view for each in found for view in str(each).split("; ")}, key=VIEWS.index)
    by = " and ".join(f"{sum(view in str(each) for each in found)} by the view '{view}'" for view in views)
    return [f"{ABOVE}: above its limit by more than its interval: {by}, of {len(table)}."] if len(found) else []


def _short_name(row: pd.Series) -> str:
    """A series within its family: geometry, and what else tells it apart."""
    common = layout_label(str(row["type"]), str(row["geometry"]), str(row["kind"]))
    return str(row["kind" if row["type"] == "other" else "geometry"]) + str(row["series"]).removeprefix(common)


def _draw_limit(axes: Axes, rows: pd.DataFrame, factor: float, curve: pd.DataFrame) -> Line2D | None:
    """The bound of one series over workers, a dashed line, or a dash where it is known at one point; None without."""
    known = rows[rows["limit"].notna()].sort_values("workers")
    if known.empty:
        return None
    joined = len(curve) > 1
    drawn = curve.sort_values("workers") if joined else known
    workers, bound = drawn["workers"].astype(float), drawn["limit"].astype(float) * factor
    dashes, marker = (marks.DASHED, "") if joined else ("none", "_")
    label = f"limit {_short_name(known.iloc[0])}:\n{known['limit_part'].iloc[-1]}"
    look: dict[str, Any] = {"color": row_style(known.iloc[0]).colour, "linestyle": dashes, "marker": marker}
    (line,) = axes.plot(workers, bound, lw=0.9, ms=14, alpha=0.75, zorder=1.5, label=label, **look)
    return line


def _draw_published(axes: Axes, rows: pd.DataFrame, factor: float) -> Line2D | None:
    """The level that the study states for one layout, as a dotted line; None without one."""
    stated = rows["published"].dropna()
    if stated.empty:
        return None
    full = float(stated.iloc[0]) * factor
    ends = [float(rows["workers"].min()) / 1.2, float(rows["workers"].max()) * 1.2]
    colour, dots = row_style(rows.iloc[0]).colour, (0, (1, 1.8))
    label = f"published\n{rows['geometry'].iloc[0]}: {full:,.0f}"
    level = [full / float(rows["scale"].iloc[0])] * 2
    (line,) = axes.plot(ends, level, color=colour, lw=1.3, ls=dots, zorder=1.4, label=label)
    return line


def _draw_panel(
    axes: Axes, rows: pd.DataFrame, factor: float, curves: pd.DataFrame, fits: pd.DataFrame, *, far: bool
) -> list[tuple[Line2D, str]]:
    """Lines of one family and operation, each with the text that names it; limits that are `far` in words alone."""
    named: list[tuple[Line2D, str]] = []
    extras: list[Line2D | None] = []
    for name, series in rows.groupby("series", sort=True, observed=True):
        first = series.iloc[0]
        limit = None if far else _draw_limit(axes, series, factor, curves[curves["series"].astype(str) == str(name)])
        line = marks.line(axes, series, factor, hollow=bool(access_style(first)))
        point = float(saturation_points(series)["saturation_workers"].iloc[0])
        for row in series[series["above_limit"].astype(bool)].to_dict("records"):
            marks.above_limit(axes, row["workers"], row["mean"] * factor)
        if not math.isnan(point):
            mean = float(series[series["workers"].astype(float) == point]["mean"].iloc[0])
            marks.ring(axes, point, mean * factor, colour=row_style(first).colour)
        same = (fits[GROUP].astype(str) == first[GROUP].astype(str)).all(axis=1)
        draw_fit(axes, fits[same], row_style(first).colour, factor, thin=True)
        named.append((line, "\n".join(part for part in (_short_name(first), str(first["server_model"])) if part)))
        extras += [limit]
    if far and rows["limit"].notna().any():
        known = rows[rows["limit"].notna()]
        ends = known[known["workers"] == known["workers"].max()]
        least = ends.loc[ends["limit"].astype(float).idxmin()]
        more = " and more" if known["series"].nunique() > 1 else ""
        text = f"limit {float(least['limit']) * factor:,.0f}{more} ({least['limit_part']}), beyond this axis"
        axes.text(0.02, 0.98, text, transform=axes.transAxes, va="top", fontsize=6.8, color=GREY)
    # one for all series of a layout: a study knows neither scales nor options
    for _, layout in rows.groupby("geometry", sort=True, observed=True):
        extras += [_draw_published(axes, layout, factor)]
    return [*named, *((line, str(line.get_label())) for line in extras if line is not None)]


def spread(wanted: list[float], step: float, lowest: float, highest: float) -> list[float]:
    """Heights in ascending order, near to the wanted ones, `step` apart, between `lowest` and `highest`."""
    heights: list[float] = []
    for height in wanted:
        heights.append(max(height, heights[-1] + step if heights else lowest))
    ceiling = highest
    for n in reversed(range(len(heights))):
        heights[n] = min(heights[n], ceiling)
        ceiling = heights[n] - step
    return heights


def _name_lines(axes: Axes, named: list[tuple[Line2D, str]], top: float, height_in: float) -> None:
    """Names of the lines to the right of their ends, as far apart as they are high; darker, to be read on white."""
    heights = [marks.line_end(line)[1] for line, _ in named]
    # a series without a mean has its name at the middle of the axis
    heights = [top / 2 if math.isnan(height) else height for height in heights]
    ordered = [named[n] for n in np.argsort(heights, kind="stable")]
    wanted = sorted(heights)
    lines = max((text.count("\n") + 1 for _, text in ordered), default=1)
    step = top * _LINE_IN * lines / height_in * _SPACING
    ends = [float(np.asarray(line.get_xdata())[-1]) for line, _ in ordered]
    for (line, text), height in zip(ordered, spread(wanted, step, step / 2, top - step / 3), strict=True):
        # a bound is no curve
        slant: dict[str, Any] = {"fontstyle": "italic" if text.startswith("limit ") else "normal", "linespacing": 1.0}
        axes.text(max(ends) * _BESIDE, height, text, va="center", color=ink(line.get_color()), fontsize=6.8, **slant)


def draw_workers_and_limits(
    figure: Frame,
    table: pd.DataFrame,
    *,
    unit: str,
    factor: float,
    curves: pd.DataFrame,
    fits: pd.DataFrame,
    note: str = "",
) -> None:
    """Throughput by workers (`with_limits`, `with_published_totals`), a row per family, a column per operation."""
    operations = operations_of(table)
    shown = comparable(table)
    if not shown.two_axes:
        curves = curves.assign(limit=curves["limit"] * curves["scale"])
        names = ["series", "operation"]
        scales = table.drop_duplicates(names)[[*names, "scale"]].astype(dict.fromkeys(names, str))
        scale = fits[names].astype(str).merge(scales, how="left", on=names)["scale"].astype(float).fillna(1.0)
        fits = fits.assign(fitted=fits["fitted"] * scale.to_numpy())
    family = table["type"].astype(str) + " on " + table["kind"].astype(str).replace(BACKING_LABELS)
    drawn = shown.table.assign(_family=family.str.removeprefix("other on "))
    families = sorted(drawn["_family"].unique(), reverse=True)
    stated = drawn["published"].astype(float)
    far = {name for name, of in drawn.groupby("_family") if of["limit"].max() * factor > _FAR * top_of(of, factor)}
    # names in the fullest panel: of each series, of its limit, and of what is published
    drawn["_stated"] = drawn["geometry"].where(stated.notna())
    counts = drawn.groupby(["_family", "operation"], observed=True)[["series", "_stated"]].nunique()
    labels = int((2 * counts["series"] + counts["_stated"]).max())
    series = drawn.drop_duplicates(["operation", "series"])
    # a key cannot tell series apart that are drawn alike, such as two scales of a layout
    alike = series.duplicated(["operation", "type", "geometry", "kind", "access"]).any()
    labelled = bool(labels <= _MOST_LABELS or alike)
    height = max(_ROW_IN, labels * 2 * _LINE_IN * _SPACING + 0.15) if labelled else _ROW_IN
    level = "Dotted: the most that is published for that layout: the number per disk times the disks"
    lacking = f", or n below {MIN_SAMPLES}" if (table["n"] < MIN_SAMPLES).any() else ""
    figure.subtitle = [
        f"Ring: the fewest workers that more do not beat by over 10 %, by the means; no ring: none seen{lacking}.",
        *_limit_words(table, drawn=far != set(families)),
        *above_words(table),
        *([f"{level}{', on the right axis' * shown.two_axes}."] if stated.notna().any() else []),
        *(["Dash-dotted, thin: the Universal Scalability Law, where the samples support a fit."] if len(fits) else []),
        *shown.note,
        *note.splitlines(),
    ]
    figure.key, figure.signs = [] if labelled else layout_key(table), marks.signs(table, published=False)
    if table["above_limit"].astype(bool).any():
        figure.signs.append(marks.key_mark("^", "above its limit", markersize=6))
    figure.finding = saturates(table)
    height_in = height * len(families) + 0.55
    grid = figure.panels_by_workers(len(families), len(operations), table["workers"], height=height_in)
    letters = 0
    for number, (line, name) in enumerate(zip(grid, families, strict=True)):
        rows = drawn[drawn["_family"] == name]
        top = _top(rows, factor, stated, far=name in far)
        line[0].set_ylim(0, top)
        for axes, operation in zip(line, operations, strict=True):
            of = curves[curves["operation"].astype(str) == operation]
            panel = rows[rows["operation"].astype(str) == operation]
            named = _draw_panel(axes, panel, factor, of, fits, far=name in far)
            axes.set_title(f"{operation}, {name}")
            axes.grid(axis="y")
            if labelled:
                _name_lines(axes, named, top, height)
                letters = max([letters, *(len(part) for _, text in named for part in text.split("\n"))])
        line[0].set_ylabel(unit if shown.words == "measured" else f"{unit}, {shown.words}")
        shown.second_axis(line[-1], "y", unit)
        if number != len(families) // 2:
            for second in line[-1].child_axes:
                second.set_ylabel("")
    if letters:
        start, end = grid[0][0].get_xlim()[0], float(table["workers"].max()) * _BESIDE
        # a panel is as wide as in the narrow figure, where that has the narrower ones; names have a half at most
        panel = min((WIDTH_IN - 1.2) / len(operations), NARROW_IN - 1.2)
        share = min(0.5, letters * _LETTER_IN / panel)
        grid[0][0].set_xlim(right=end * (end / start) ** (share / (1 - share)))


def _top(rows: pd.DataFrame, factor: float, stated: pd.Series, *, far: bool) -> float:
    top = top_of(rows, factor)
    if rows["limit"].notna().any():
        # room for the words on a limit that is not drawn
        top = top * 1.2 if far else max(top, float(rows["limit"].max()) * factor * 1.1)
    if stated.notna().any():
        levels = (stated[rows.index] / rows["scale"].astype(float)).fillna(0.0)
        top = max(top, float(levels.max()) * factor * 1.1)
    return top


def _limit_words(table: pd.DataFrame, *, drawn: bool) -> list[str]:
    if table["limit"].isna().all():
        return []
    sources = sorted({str(source) for source in table["limit_source"]} - {""})
    hardware = "Links and disks are as the cluster file states them."
    if sources:
        hardware = f"Disks are as the baseline {', '.join(sources)} measured them, {STATED_LINKS}."
    # lines of other clients than the native one are dashed, too, and what bounds these is not known
    of = ", thin, of the native client" if (table["access"].astype(str) != "native").any() else ""
    dashed = f"Dashed{of}: what links and disks allow with the traffic of copies; at its end which of them binds."
    return [dashed, hardware] if drawn else [hardware]
