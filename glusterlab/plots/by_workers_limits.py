"""Throughput by workers beside what links and disks allow: a row per family of layouts (F5).

Six layouts with a limit each are twelve lines for one panel. In small multiples a panel has the two sizes of server of
one family, and all panels of a row share their axis.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from glusterlab.analysis.intervals import MIN_SAMPLES
from glusterlab.analysis.series import BACKING_LABELS, operation_rank
from glusterlab.plots.by_workers import draw_line, draw_ring, spread
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

ROW_HEIGHT_IN = 1.75
_LINE_IN = 0.115
_MOST_LABELS = 6
_ROOM = 5.2
"""The worker axis goes on to this many times its right end: there the names of the lines stand."""


def family_label(row: pd.Series) -> str:
    """What the layouts of one panel have in common.

    Examples
    --------
    >>> family_label(pd.Series({"type": "disperse", "kind": "jbod"}))
    'disperse on JBOD'
    """
    return f"{row['type']} on {BACKING_LABELS.get(str(row['kind']), str(row['kind']))}"


def _short_name(row: pd.Series) -> str:
    """A series within its family: geometry, what else tells it apart, and the server."""
    common = f"{row['type']} {row['geometry']}, {BACKING_LABELS.get(str(row['kind']), str(row['kind']))}"
    rest = str(row["series"]).removeprefix(common).removeprefix(", ")
    return "\n".join(part for part in (str(row["geometry"]), str(row["server_model"]), rest) if part)


def draw_limit(axes: Axes, rows: pd.DataFrame, factor: float) -> Line2D | None:
    """The bound of one series over workers, as a light dashed line; None where none is known.

    Parameters
    ----------
    axes : matplotlib.axes.Axes
    rows : pandas.DataFrame
        Rows of one series and operation with the columns of `glusterlab.analysis.limits.with_limits`.
    factor : float
        From the SI unit of the rows to that of the axis.
    """
    known = rows[rows["limit"].notna()].sort_values("workers") if "limit" in rows else rows.iloc[:0]
    if known.empty:
        return None
    (line,) = axes.plot(
        known["workers"].astype(float),
        known["limit"].astype(float) * factor,
        color=row_style(known.iloc[0]).colour,
        linewidth=0.9,
        linestyle=(0, (4, 3)),
        marker="_" if len(known) == 1 else "",
        markersize=14,
        alpha=0.75,
        zorder=1.5,
        label=f"limit:\n{known['limit_part'].iloc[-1]}",
    )
    return line


def _draw_panel(axes: Axes, rows: pd.DataFrame, factor: float) -> list[tuple[Line2D, str]]:
    """Lines of one family and operation, each with the text that names it."""
    named = []
    for _, series in rows.groupby("series", sort=True, observed=True):
        limit = draw_limit(axes, series, factor)
        line = draw_line(axes, series, factor, hollow=bool(access_style(series.iloc[0])))
        draw_ring(axes, series, factor)
        named.append((line, _short_name(series.iloc[0])))
        if limit is not None:
            named.append((limit, str(limit.get_label())))
    return named


def _label(axes: Axes, named: list[tuple[Line2D, str]], top: float) -> None:
    """Names the lines to the right of their ends, as far apart as the names are high."""
    ordered = sorted(named, key=lambda each: float(np.asarray(each[0].get_ydata())[-1]))
    wanted = [float(np.asarray(line.get_ydata())[-1]) for line, _ in ordered]
    lines = max((text.count("\n") + 1 for _, text in ordered), default=1)
    step = top * _LINE_IN * lines / ROW_HEIGHT_IN * 1.12
    ends = [float(np.asarray(line.get_xdata())[-1]) for line, _ in ordered]
    for (line, text), height in zip(ordered, spread(wanted, step, step / 2, top - step / 3), strict=True):
        axes.text(max(ends) * 1.25, height, text, va="center", color=line.get_color(), fontsize=6.8, linespacing=1.0)


def workers_and_limits_figure(
    summary: pd.DataFrame, provenance: Provenance, *, title: str, unit: str, factor: float, note: str = ""
) -> Figure:
    """Aggregate throughput by workers with the limit of each layout: a row per family, a column per operation.

    Parameters
    ----------
    summary : pandas.DataFrame
        From `glusterlab.analysis.series.summarise`, with the columns of `glusterlab.analysis.limits.with_limits` where
        limits are to be drawn; at least one row.
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
    table = summary.assign(_family=[family_label(row) for _, row in summary.iterrows()])
    families = sorted(table["_family"].unique(), reverse=True)
    scales = summary["scale"].astype(float).unique().tolist()
    panels = table.groupby(["_family", "operation"], observed=True)["series"].nunique()
    labelled = int(panels.max()) * 2 <= _MOST_LABELS
    lacking = f", or n below {MIN_SAMPLES}" if (summary["n"] < MIN_SAMPLES).any() else ""
    subtitle = [
        f"Mean of n samples; line: {interval_words(summary)}; dots beside it: the samples.",
        f"Ring: the fewest workers that more do not beat by over 10 %, by the means; no ring: none seen{lacking}.",
        *_limit_words(summary),
        *([note] if note else []),
    ]
    with house_style():
        figure, grid = new_figure(
            title,
            subtitle,
            provenance.footer(summary),
            panels_height=ROW_HEIGHT_IN * len(families) + 0.55,
            rows=len(families),
            columns=len(operations),
            share_y="row",
            share_x="all",
            key=None if labelled else layout_key(summary),
        )
        for number, (line, name) in enumerate(zip(grid, families, strict=True)):
            rows = table[table["_family"] == name]
            top = top_of(rows, factor)
            if "limit" in rows and rows["limit"].notna().any():
                top = max(top, float(rows["limit"].max()) * factor * 1.1)
            line[0].set_ylim(0, top)
            for axes, operation in zip(line, operations, strict=True):
                named = _draw_panel(axes, rows[rows["operation"].astype(str) == operation], factor)
                axes.set_title(f"{operation}, {name}")
                axes.grid(axis="y")
                if labelled:
                    _label(axes, named, top)
            line[0].set_ylabel(unit)
            scale_axis(line[-1], scales, "y", unit)
            if number != len(families) // 2:
                for second in line[-1].child_axes:
                    second.set_ylabel("")
        for axes in grid[-1]:
            workers_axis(axes, summary["workers"])
            axes.set_xlabel("workers in total")
            if labelled:
                axes.set_xlim(right=axes.get_xlim()[1] * _ROOM)
        figure.align_ylabels(list(grid[:, 0]))
    return figure


def _limit_words(summary: pd.DataFrame) -> list[str]:
    if "limit" not in summary or summary["limit"].isna().all():
        return []
    sources = sorted({str(source) for source in summary["limit_source"]} - {""})
    of = f"measured by the baseline {', '.join(sources)}" if sources else "as the cluster file states them"
    return [f"Dashed: what links and disks allow with the traffic of copies, {of}, and which part of them binds."]
