"""Which subsystem binds by layout and workers, the use of every resource, and one sample over time."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle

from glusterlab.analysis.binding import NO_MAJORITY, short_verdict
from glusterlab.analysis.series import operation_rank
from glusterlab.analysis.thresholds import Thresholds
from glusterlab.analysis.verdict_rule import THEN
from glusterlab.plots.style import GREY, INK, PALE, Provenance, house_style, new_figure
from glusterlab.units import format_size

TILE_HEIGHT_IN = 0.44
COLOURS = {"network": "#1f4e89", "disks": "#e07b39", "CPU": "#6f5a8f", "memory": "#2a7f62"}
"""Of a subsystem; in grey they differ, too, and every tile has its name."""

_NONE = "#efefef"
_PART = 0.45
"""Opacity of a subsystem that binds in part or at times."""

_PALE = ("partly", "at times")

_SHOWN = 0.05
"""A subsystem that was never fuller than this is named and not drawn over time."""

_LIGHT_TEXT = {"network", "CPU", "memory"}


def _rows_of(table: pd.DataFrame) -> pd.Series:
    """Name of the row that a cell stands in: its series, and its size where there are several."""
    sizes = table["nominal_file_size_bytes"].astype(float)
    names = table["series"].astype(str)
    return names if sizes.nunique() <= 1 else names + [f", {format_size(int(size))}" for size in sizes]


def _tile(axes: Axes, column: int, line: int, row: pd.Series) -> None:
    """One cell: the colour of what binds, side by side where several take turns, with its words."""
    state, binding = str(row["state"]), str(row["binding"])
    families = [name for name in binding.split(THEN) if name in COLOURS]
    if not families:
        axes.add_patch(Rectangle((column, line), 1, 1, facecolor=_NONE if state == "none" else "white", linewidth=0))
    for number, name in enumerate(families):
        width = 1 / len(families)
        alpha = _PART if state in _PALE else 1.0
        axes.add_patch(
            Rectangle((column + number * width, line), width, 1, facecolor=COLOURS[name], alpha=alpha, linewidth=0)
        )
    alone = int(row["n"]) == 1 or state == NO_MAJORITY
    agree = "" if alone else f", {row['agree']} of {row['n']}"
    share = "" if math.isnan(float(row["mean"])) or not families else f"{100 * float(row['mean']):.0f} %"
    words = short_verdict(state, binding).replace(THEN, ", ").replace("part of the ", "part of ")
    inside = f"{words}\n{share}{agree}" if share else f"{words}{agree and chr(10) + agree.removeprefix(', ')}"
    mixed = len(families) > 1
    light = bool(families) and not mixed and state not in _PALE and families[0] in _LIGHT_TEXT
    axes.text(
        column + 0.5,
        line + 0.5,
        inside,
        ha="center",
        va="center",
        fontsize=6.6,
        linespacing=1.15,
        color="white" if light else INK,
        bbox={"facecolor": "white", "alpha": 0.8, "linewidth": 0, "pad": 1.2} if mixed else None,
    )


def _full_words(thresholds: Thresholds) -> str:
    """From where on subsystems count as full.

    Examples
    --------
    >>> _full_words(Thresholds()), _full_words(Thresholds(disks=0.8, memory=0.9))
    ('over 90 %, memory over 95 %', 'over 90 %, disks over 80 %')
    """
    usual = thresholds.network
    others = {"disks": thresholds.disks, "CPU": thresholds.cpu, "memory": thresholds.memory}
    apart = [f"{name} over {100 * level:.0f} %" for name, level in others.items() if level != usual]
    return ", ".join([f"over {100 * usual:.0f} %", *apart])


def verdicts_figure(
    table: pd.DataFrame, provenance: Provenance, *, title: str, thresholds: Thresholds | None = None, note: str = ""
) -> Figure:
    """What binds by layout and workers, one panel per operation.

    Parameters
    ----------
    table : pandas.DataFrame
        From `glusterlab.analysis.binding.binding_by_cell`; at least one row.
    provenance : Provenance
    title : str
    thresholds : Thresholds, optional
        Those that the table was made with; by default `Thresholds()`.
    note : str
        More lines below the subtitle.
    """
    operations = sorted(table["operation"].astype(str).unique(), key=operation_rank)
    rows = table.assign(_row=_rows_of(table))
    lines = {name: sorted(rows[rows["operation"].astype(str) == name]["_row"].unique()) for name in operations}
    workers = sorted({int(count) for count in table["workers"]})
    subtitle = [
        "In a tile: what was full, the share of the measured part in which it was, and how many of the repeats say so.",
        f"Full: {_full_words(thresholds or Thresholds())} of what it can do. Two colours: one after the other.",
        "Pale: a part of it, with that part's share, or at times, for less than most of the time.",
        "None: nothing known was full for long. Unknown: too little telemetry to say that.",
        *note.splitlines(),
    ]
    families = [name for name in COLOURS if table["binding"].astype(str).str.contains(name).any()]
    key = [Line2D([], [], color=COLOURS[name], marker="s", linestyle="none", label=name) for name in families]
    heights = [len(names) for names in lines.values()]
    with house_style():
        figure, grid = new_figure(
            title,
            subtitle,
            provenance.footer(table),
            panels_height=TILE_HEIGHT_IN * sum(heights) + 0.42 * len(operations) + 0.3,
            rows=len(operations),
            share_x="all",
            key=key,
            heights=heights,
        )
        for axes, operation in zip(grid[:, 0], operations, strict=True):
            names = lines[operation]
            for _, row in rows[rows["operation"].astype(str) == operation].iterrows():
                _tile(axes, workers.index(int(row["workers"])), names.index(str(row["_row"])), row)
            axes.set_title(operation)
            axes.set_xlim(0, len(workers))
            axes.set_ylim(len(names), 0)
            axes.set_yticks([number + 0.5 for number in range(len(names))], names)
            axes.set_xticks([number + 0.5 for number in range(len(workers))], [str(count) for count in workers])
            axes.set_xticks(range(1, len(workers)), minor=True)
            axes.set_yticks(range(1, len(names)), minor=True)
            axes.grid(which="minor", color="white", linewidth=2.0)
            axes.set_axisbelow(False)
            axes.tick_params(which="both", length=0, labelcolor=INK)
            for spine in axes.spines.values():
                spine.set_visible(False)
        grid[-1, 0].set_xlabel("workers in total")
    return figure


def use_figure(table: pd.DataFrame, provenance: Provenance, *, title: str, note: str = "") -> Figure:
    """Use of every resource, a dot for each host or disk: a panel per cell.

    Parameters
    ----------
    table : pandas.DataFrame
        From `glusterlab.analysis.use_tables.use_by_resource`, of a few cells: one number of workers per series and
        operation; at least one row.
    provenance : Provenance
    title : str
    note : str
        More lines below the subtitle.
    """
    operations = sorted(table["operation"].astype(str).unique(), key=operation_rank)
    rows = table.assign(_row=_rows_of(table))
    names = sorted(rows["_row"].unique())
    subsystems = list(dict.fromkeys(rows["subsystem"].astype(str)))
    subtitle = [
        "Dot: one host or disk, mean over the measured part of n samples. Line: from the least to the most of them.",
        "Triangle: fullest 10 s of the fullest, of shorter measured parts all. Dashed: from there on one is full.",
        "Right: share of the measured part in which that was so, each host or disk weighted by its use.",
        *note.splitlines(),
    ]
    with house_style():
        figure, grid = new_figure(
            title,
            subtitle,
            provenance.footer(table),
            panels_height=(0.19 * len(subsystems) + 0.42) * len(names) + 0.35,
            rows=len(names),
            columns=len(operations),
            share_x="all",
            share_y="all",
        )
        right = max(1.18, float(rows["peak"].max()) * 1.05) + 0.22
        for line, name in zip(grid, names, strict=True):
            for axes, operation in zip(line, operations, strict=True):
                of = rows[(rows["_row"] == name) & (rows["operation"].astype(str) == operation)]
                _use_panel(axes, of, subsystems, right)
                count = f", {int(of['workers'].iloc[0])} workers" if len(of) else ", not measured"
                axes.set_title(f"{operation}, {name}{count}", fontsize=7.6)
        for axes in grid[:, 0]:
            axes.set_yticks(range(len(subsystems)), subsystems)
            axes.tick_params(axis="y", labelsize=7)
        grid[0, 0].set_ylim(len(subsystems) - 0.4, -0.6)
        grid[0, 0].set_xlim(0, right)
        grid[0, 0].set_xticks([0, 0.5, 1.0], ["0", "50", "100"])
        for axes in grid[-1]:
            axes.set_xlabel("use, % of what it can do")
    return figure


def _use_panel(axes: Axes, of: pd.DataFrame, subsystems: list[str], right: float) -> None:
    axes.grid(axis="x")
    axes.tick_params(axis="y", length=0)
    for height, subsystem in enumerate(subsystems):
        resources = of[of["subsystem"].astype(str) == subsystem]
        if resources.empty:
            continue
        colour = COLOURS[str(resources["family"].iloc[0])]
        means = resources["mean"].astype(float)
        threshold = float(resources["threshold"].min())
        axes.plot([means.min(), means.max()], [height, height], color=colour, linewidth=1.0, alpha=0.6)
        axes.plot(means, [height] * len(means), "o", color=colour, markersize=3.4, alpha=0.55, markeredgewidth=0)
        axes.plot([float(resources["peak"].max())], [height], "^", color=colour, markersize=4, markerfacecolor="white")
        axes.plot([threshold] * 2, [height - 0.42, height + 0.42], color=INK, linewidth=0.8, linestyle=(0, (3, 2)))
        share = float((resources["over"] * means).sum() / means.sum()) if means.sum() > 0 else 0.0
        axes.text(right * 0.995, height, f"{100 * share:.0f} %", ha="right", va="center", fontsize=6.4, color=GREY)


def over_time_figure(table: pd.DataFrame, provenance: Provenance, *, title: str, note: str = "") -> Figure:
    """One sample over time: use of each subsystem, the mean of its hosts or disks, and the fullest of them.

    Parameters
    ----------
    table : pandas.DataFrame
        From `glusterlab.analysis.use_tables.subsystems_over_time`, of one sample; at least one row.
    provenance : Provenance
    title : str
    note : str
        More lines below the subtitle.
    """
    fullest = table.groupby("subsystem", sort=False)["fullest"].max()
    subsystems = [str(name) for name, most in fullest.items() if most >= _SHOWN] or [str(fullest.idxmax())]
    idle = sorted(set(table["subsystem"].astype(str)) - set(subsystems))
    subtitle = [
        "Line: mean of the hosts or disks that carried anything. Thin: the fullest of them at each moment.",
        "Dashed: from there on one counts as full. Shaded: the measured part; what lies outside does not count.",
        *([f"Never over {100 * _SHOWN:.0f} %: {'; '.join(idle)}."] if idle else []),
        *note.splitlines(),
    ]
    inside = table[table["inside"]]
    # a step is named by its end
    step = float(np.diff(np.unique(table["seconds"])).min(initial=math.inf))
    part = float(inside["seconds"].min()) - step, float(inside["seconds"].max())
    with house_style():
        figure, grid = new_figure(
            title,
            subtitle,
            provenance.place(model=provenance.testbed),
            panels_height=0.78 * len(subsystems) + 0.4,
            rows=len(subsystems),
            share_x="all",
        )
        for axes, subsystem in zip(grid[:, 0], subsystems, strict=True):
            rows = table[table["subsystem"].astype(str) == subsystem]
            colour = next((shade for name, shade in COLOURS.items() if name in subsystem), INK)
            axes.plot(rows["seconds"], rows["fullest"], color=colour, linewidth=0.6, alpha=0.6)
            axes.plot(rows["seconds"], rows["mean"], color=colour, linewidth=1.4)
            axes.axhline(float(rows["threshold"].min()), color=INK, linewidth=0.7, linestyle=(0, (3, 2)))
            if len(inside):
                axes.axvspan(*part, color=PALE, alpha=0.5, zorder=0)
            axes.set_ylim(0, max(1.1, float(rows["fullest"].max()) * 1.05))
            axes.set_yticks([0, 1], ["0", "100 %"])
            what = "disks" if "disks" in subsystem else "hosts"
            resources = int(rows["resources"].iloc[0])
            of = f" ({resources} {what})" if resources > 1 else ""
            axes.set_title(f"{subsystem}{of}", fontsize=7.6)
        grid[-1, 0].set_xlabel("seconds since the start of the command")
    return figure
