"""What saturates: subsystems by workers, verdicts, the use of every host and disk, one sample over time, slow disks."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle

from glusterlab.analysis.saturation.resources import PEAK_S, Limits, limits_source
from glusterlab.analysis.saturation.summary import NO_MAJORITY
from glusterlab.analysis.saturation.thresholds import USUAL, Thresholds
from glusterlab.analysis.saturation.verdict import THEN
from glusterlab.analysis.select import BACKING_LABELS, DIRECTIONS, operations_of
from glusterlab.plots import marks
from glusterlab.plots.by_workers import spread
from glusterlab.plots.style import GREY, INK, PALE, Frame, layout_key, row_style, top_of
from glusterlab.units import format_size

# no layout has them, and they differ in grey, too
COLOURS = {"network": "#3a3a3a", "disks": "#4fa8b8", "CPU": "#8a2f4f", "memory": "#6f6f26"}

_PALE = ("partly", "at times")  # of states whose colour is pale

_SHOWN = 0.05  # a subsystem that was never fuller than this is named and not drawn over time


@dataclass(frozen=True, slots=True)
class Panel:
    """One row of panels: one or two quantities of a role, the second dashed and hollow."""

    role: str
    quantities: tuple[str, ...]  # keys of `glusterlab.analysis.saturation.usage.ACTIVITIES`
    label: str
    factor: float  # from the SI unit to that of the label
    limit: str = ""  # the attribute of `Limits` that is drawn, without ``_read`` or ``_write``
    peaks: bool = False
    full: float = 0.0  # a limit of every cell without one


_NETWORK = ("network_receive_bytes_per_s", "network_transmit_bytes_per_s")
_HOSTS = ("server", "client")
NETWORK = tuple(
    Panel(role, _NETWORK, f"{role} network,\nMB/s per {role}", 1e-6, f"{role}_link", peaks=True) for role in _HOSTS
)
CPU_AND_LOAD = (
    *(Panel(role, ("cpu_busy_fraction",), f"{role} CPU\nbusy, %", 100, peaks=True) for role in _HOSTS),
    *(Panel(role, ("load_1min",), f"{role} load,\n1 min", 1) for role in _HOSTS),
)
MEMORY_AND_BLOCKED = (
    *(Panel(role, ("memory_used_bytes",), f"{role} memory\nused, MB", 1e-6) for role in _HOSTS),
    *(Panel(role, ("blocked_processes",), f"{role} blocked\nprocesses", 1) for role in _HOSTS),
)
_MACHINE = Panel("machine", ("machine_cpu_busy_fraction",), "CPU of all hosts\ntogether, %", 100, peaks=True, full=100)
_SHARED = Panel("server", ("blocked_processes",), "blocked processes,\nwhole machine", 1)
_OPERATIONS = "server disks,\noperations/s\nper server"
DISKS = (
    Panel("server", ("disk_bytes_per_s",), "server disks,\nMB/s per server", 1e-6, "server_disks", peaks=True),
    Panel("server", ("disk_operations_per_s",), _OPERATIONS, 1, "server_operations", peaks=True),
    Panel("server", ("disk_await_s",), "time in the block\nlayer, ms", 1e3),
)


def cpu_panels(*, testbed: bool) -> tuple[Panel, ...]:
    """The panels of CPU and load; the hosts of a testbed are added up, since each is a share of one machine."""
    return (_MACHINE, *CPU_AND_LOAD[2:]) if testbed else CPU_AND_LOAD


def memory_panels(*, testbed: bool) -> tuple[Panel, ...]:
    """The panels of memory and blocked processes, which the kernel of a testbed counts for the whole machine."""
    return (*MEMORY_AND_BLOCKED[:2], _SHARED) if testbed else MEMORY_AND_BLOCKED


def panel_rows(summary: pd.DataFrame, panels: tuple[Panel, ...]) -> pd.DataFrame:
    """The rows of a saturation summary that the panels draw: the CSV of the figure."""
    wanted = {(panel.role, quantity) for panel in panels for quantity in panel.quantities}
    keys = zip(summary["role"].astype(str), summary["quantity"].astype(str), strict=True)
    return summary[[key in wanted for key in keys]].reset_index(drop=True)


def _limit_of(limits: Limits | None, name: str, operation: str) -> float | None:
    if limits is None or not name:
        return None
    direction = "read" if DIRECTIONS.get(operation) == "read" else "write"
    found: float | None = getattr(limits, name if hasattr(limits, name) else f"{name}_{direction}")
    return found


def _draw_panel(axes: Axes, summary: pd.DataFrame, panel: Panel) -> None:
    """One quantity, or two, of one role and operation by workers; one colour per layout."""
    for number, quantity in enumerate(panel.quantities):
        rows = summary[(summary["role"] == panel.role) & (summary["quantity"] == quantity)]
        for _, series in rows.groupby("series", sort=True, observed=True):
            line = marks.line(axes, series, panel.factor, hollow=number > 0)
            if panel.peaks:
                peak = series["peak"].astype(float) * panel.factor
                axes.plot(series["workers"].astype(float), peak, "^", color=line.get_color(), markersize=4, alpha=0.55)
    axes.grid(axis="y")


def draw_usage(figure: Frame, summary: pd.DataFrame, panels: tuple[Panel, ...], limits: dict[str, Limits]) -> None:
    """Subsystems by workers (`telemetry_by_cell`, cut by `panel_rows`) with `limits` by cell, a row per panel."""
    operations = operations_of(summary)
    shown = tuple(panel for panel in panels if len(panel_rows(summary, (panel,))))
    source = limits_source(limits.values())
    notes = {
        "Mean over the hosts and the measured part of each sample.": True,
        "Clients: those with a worker.": any(panel.role == "client" for panel in shown),
        "CPU of all hosts: a lower bound, kernel threads and the runner are in no host's group.": _MACHINE in shown,
        source: bool(source) and any(panel.limit for panel in shown),
    }
    figure.subtitle += [note for note, matters in notes.items() if matters]
    figure.key, figure.signs = layout_key(summary), marks.signs(summary, published=False)
    if any(panel.peaks for panel in shown):
        figure.signs.append(marks.key_mark("^", f"busiest {PEAK_S:g} s", markersize=4, alpha=0.55))
    if any(len(panel.quantities) > 1 for panel in shown):
        figure.key += [
            Line2D([], [], color=GREY, marker="o", label="received"),
            Line2D([], [], color=GREY, marker="o", markerfacecolor="white", linestyle="--", label="sent"),
        ]
    grid = figure.panels_by_workers(len(shown), len(operations), summary["workers"], height=1.45 * len(shown) + 0.5)
    for line, panel in zip(grid, shown, strict=True):
        rows = panel_rows(summary, (panel,))
        parts = {operation: rows[rows["operation"].astype(str) == operation] for operation in operations}
        known = [_known_limits(part, panel, limits, operation) for operation, part in parts.items()]
        for axes, part in zip(line, parts.values(), strict=True):
            _draw_panel(axes, part, panel)
        peak = float(rows["peak"].max()) * panel.factor * 1.12 if panel.peaks else 0.0
        # room for the name of the highest one
        top = max([top_of(rows, panel.factor), peak, *(value * 1.22 for found in known for value in found)]) or 1.0
        line[0].set(ylim=(0, top), ylabel=panel.label)
        for axes, found in zip(line, known, strict=True):
            _draw_limits(axes, found, top)
    for axes, operation in zip(grid[0], operations, strict=True):
        axes.set_title(operation)


def _known_limits(
    rows: pd.DataFrame, panel: Panel, limits: dict[str, Limits], operation: str
) -> dict[float, tuple[str, str]]:
    """Limits of a panel's series in the unit of its axis, ascending, with the colour and the name of each."""
    if panel.full:
        return {panel.full: (INK, f"limit {panel.full:.3g}")}
    of: dict[float, list[pd.Series]] = {}
    for _, series in rows.groupby("series", sort=True, observed=True):
        for limit in {_limit_of(limits.get(str(cell)), panel.limit, operation) for cell in series["cell_id"]}:
            if limit is not None:
                of.setdefault(limit * panel.factor, []).append(series.iloc[0])
    kinds, scales = rows["kind"].nunique() > 1, rows["scale"].nunique() > 1
    named: dict[float, tuple[str, str]] = {}
    for value, owners in sorted(of.items(), key=lambda item: item[0]):
        whose = set()
        for row in owners if len(of) > 1 else []:
            kind = BACKING_LABELS.get(str(row["kind"]), str(row["kind"])) if kinds else ""
            whose.add(", ".join(filter(None, [kind, f"1:{row['scale']:g}" if scales else ""])))
        colour = row_style(owners[0]).colour if len(of) > 1 and len(owners) == 1 else INK
        named[value] = (colour, ", ".join([f"limit {value:.3g}", *sorted(whose - {""})]))
    return named


def _draw_limits(axes: Axes, known: dict[float, tuple[str, str]], top: float) -> None:
    """Dashed lines at limits, their names above them and clear of each other."""
    name_height = 0.11 * top
    heights = spread(sorted(known), name_height, 0.0, top - name_height)
    for (value, (colour, name)), height in zip(known.items(), heights, strict=True):
        axes.axhline(value, color=colour, linewidth=0.9, linestyle=(0, (4, 3)))
        place = {"xycoords": ("axes fraction", "data"), "ha": "left", "va": "bottom"}
        marks.words(axes, name, (0, height), (4, 2), color=colour, **place)


def _rows_of(table: pd.DataFrame) -> pd.Series:
    """Name of the row of a cell: its series, and its size where there are several."""
    sizes = table["nominal_file_size_bytes"].astype(float)
    names = table["series"].astype(str)
    return names if sizes.nunique() <= 1 else names + [f", {format_size(int(size))}" for size in sizes]


def _tile(axes: Axes, column: int, line: int, row: pd.Series) -> None:
    """One cell: the colour of what binds, side by side where several take turns, with its words."""
    state = str(row["state"])
    families = [name for name in str(row["binding"]).split(THEN) if name in COLOURS]
    shades = [COLOURS[name] for name in families] or ["#efefef" if state == "none" else "white"]
    pale, width = state in _PALE, 1 / len(shades)
    opacity = None if not families else 0.45 if pale else 1.0
    for n, shade in enumerate(shades):
        axes.add_patch(Rectangle((column + n * width, line), width, 1, facecolor=shade, alpha=opacity, linewidth=0))
    alone = int(row["n"]) == 1 or state == NO_MAJORITY
    share = "" if math.isnan(float(row["mean"])) or not families else f"{100 * float(row['mean']):.0f} %"
    numbers = ", ".join(filter(None, [share, "" if alone else f"{row['agree']} of {row['n']}"]))
    words = str(row["binds"]).replace(THEN, ", ").replace("part of the ", "part of ")
    light = len(families) == 1 and not pale and families[0] in ("network", "CPU", "memory")
    box = {"facecolor": "white", "alpha": 0.8, "linewidth": 0, "pad": 1.2} if len(families) > 1 else None
    look: dict[str, Any] = {"ha": "center", "va": "center", "linespacing": 1.15, "bbox": box}
    text, colour = f"{words}\n{numbers}".strip(), "white" if light else INK
    axes.text(column + 0.5, line + 0.5, text, fontsize=6.6, color=colour, **look)


def draw_verdicts(figure: Frame, table: pd.DataFrame, thresholds: Thresholds = USUAL) -> None:
    """What binds (`binding_by_cell`) by layout and workers, one panel per operation."""
    operations = operations_of(table)
    rows = table.assign(_row=_rows_of(table))
    lines = {name: sorted(rows[rows["operation"].astype(str) == name]["_row"].unique()) for name in operations}
    workers = sorted({int(count) for count in table["workers"]})
    others = {"disks": thresholds.disks, "CPU": thresholds.cpu, "memory": thresholds.memory}
    full = [f"over {100 * thresholds.network:.0f} %"]
    full += [f"{name} over {100 * level:.0f} %" for name, level in others.items() if level != thresholds.network]
    figure.subtitle += [
        "In a tile: what was full, the share of the measured part in which it was, and how many of the repeats agree.",
        f"Full: {', '.join(full)} of what it can do. Two colours: one after the other.",
        "None: nothing known was full for long. Unknown: too little telemetry to say that.",
    ]
    families = [name for name in COLOURS if table["binding"].astype(str).str.contains(name).any()]
    figure.key = [marks.key_mark("s", name, color=COLOURS[name]) for name in families]
    if table["state"].isin(_PALE).any():
        figure.key.append(marks.key_mark("s", "pale: part of it, or at times", alpha=0.45))
    heights = [len(names) for names in lines.values()]
    height = 0.44 * sum(heights) + 0.42 * len(operations) + 0.3
    grid = figure.panels(len(operations), height=height, height_ratios=heights, sharex="all")
    for axes, operation in zip(grid[:, 0], operations, strict=True):
        names = lines[operation]
        for _, row in rows[rows["operation"].astype(str) == operation].iterrows():
            _tile(axes, workers.index(int(row["workers"])), names.index(str(row["_row"])), row)
        axes.set_title(operation)
        _squares(axes, len(workers), names)
        axes.set_xticks([number + 0.5 for number in range(len(workers))], [str(count) for count in workers])
        axes.set_xticks(range(1, len(workers)), minor=True)
        axes.set_yticks(range(1, len(names)), minor=True)
        axes.grid(which="minor", color="white", linewidth=2.0)
        axes.set_axisbelow(False)
        axes.tick_params(which="both", length=0, labelcolor=INK)
    grid[-1, 0].set_xlabel("workers in total")


def _squares(axes: Axes, columns: int, names: Sequence[str]) -> None:
    """A panel of squares: a row per name, the first on top, no frame."""
    axes.set(xlim=(0, columns), ylim=(len(names), 0))
    axes.set_yticks([number + 0.5 for number in range(len(names))], list(names))
    for spine in axes.spines.values():
        spine.set_visible(False)


def draw_use(figure: Frame, table: pd.DataFrame) -> None:
    """Use of every host and disk (`use_by_resource`, of one number of workers), a panel per cell."""
    operations = operations_of(table)
    rows = table.assign(_row=_rows_of(table))
    names = sorted(rows["_row"].unique())
    subsystems = list(dict.fromkeys(rows["subsystem"].astype(str)))
    figure.subtitle += [
        "Dot: one host or disk, mean over the measured part of n samples. Dashed: from there on one is full.",
        "Right: share of the measured part in which that was so, each host or disk weighted by its use.",
    ]
    fullest = marks.key_mark("^", "fullest 10 s of the fullest, or all of shorter parts", markersize=4, mfc="white")
    spread_of = Line2D([], [], color=INK, linewidth=1.0, alpha=0.6, label="from the least to the most")
    figure.signs = [marks.key_mark("o", "mean", markersize=3.4, markeredgewidth=0), spread_of, fullest]
    height = (0.19 * len(subsystems) + 0.42) * len(names) + 0.35
    grid = figure.panels(len(names), len(operations), height=height, sharex="all", sharey="all")
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
    grid[0, 0].set(xlim=(0, right), ylim=(len(subsystems) - 0.4, -0.6))
    grid[0, 0].set_xticks([0, 0.5, 1.0], ["0", "50", "100"])
    for axes in grid[-1]:
        axes.set_xlabel("use, % of what it can do")


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


def draw_over_time(figure: Frame, table: pd.DataFrame, sample: pd.DataFrame | None = None) -> None:
    """One sample over time (`subsystems_over_time`), and by its row of the samples table what the pool did meanwhile.

    Drawn are the mean of each subsystem's hosts or disks, and the fullest.
    """
    fullest = table.groupby("subsystem", sort=False)["fullest"].max()
    subsystems = [str(name) for name, most in fullest.items() if most >= _SHOWN] or [str(fullest.idxmax())]
    idle = sorted(set(table["subsystem"].astype(str)) - set(subsystems))
    figure.subtitle += [
        "Line: mean of the hosts or disks that carried anything. Thin: the fullest of them at each moment.",
        "Dashed: from there on one counts as full. Shaded: the measured part; what lies outside does not count.",
        *([f"Never over {100 * _SHOWN:.0f} %: {'; '.join(idle)}."] if idle else []),
    ]
    inside = table[table["inside"]]
    # a step is named by its end
    step = float(np.diff(np.unique(table["seconds"])).min(initial=math.inf))
    part = float(inside["seconds"].min()) - step, float(inside["seconds"].max())
    # what did not end has no length
    samples = [] if sample is None else sample.to_dict("records")
    events = [row for row in samples if row.get("event") and math.isfinite(row["event_s"])]
    figure.subtitle += [f"Hatched: {event['event']}, until it is done." for event in events]
    grid = figure.panels(len(subsystems), height=0.78 * len(subsystems) + 0.4, sharex="all")
    for axes, subsystem in zip(grid[:, 0], subsystems, strict=True):
        rows = table[table["subsystem"].astype(str) == subsystem]
        colour = next((shade for name, shade in COLOURS.items() if name in subsystem), INK)
        axes.plot(rows["seconds"], rows["fullest"], color=colour, linewidth=0.6, alpha=0.6)
        axes.plot(rows["seconds"], rows["mean"], color=colour, linewidth=1.4)
        axes.axhline(float(rows["threshold"].min()), color=INK, linewidth=0.7, linestyle=(0, (3, 2)))
        if len(inside):
            axes.axvspan(*part, color=PALE, alpha=0.5, zorder=0)
        for event in events:
            begin = event["event_start_s"] - event["start_s"]
            axes.axvspan(begin, begin + event["event_s"], facecolor="none", edgecolor=GREY, hatch="////", linewidth=0.0)
        axes.set_ylim(0, max(1.1, float(rows["fullest"].max()) * 1.05))
        axes.set_yticks([0, 1], ["0", "100 %"])
        resources = int(rows["resources"].iloc[0])
        of = f" ({resources} {'disks' if 'disks' in subsystem else 'hosts'})" if resources > 1 else ""
        axes.set_title(f"{subsystem}{of}", fontsize=7.6)
    grid[-1, 0].set_xlabel("seconds since the start of the command")


def draw_disks(figure: Frame, table: pd.DataFrame) -> None:
    """How long each disk takes beside its peers (`disks_by_name`): a dot each, a row per server, slow ones named."""
    hosts = sorted(table["host"].astype(str).unique(), key=_natural)
    figure.subtitle += [
        "Dot: one disk's time at work, in multiples of what its peers take for as much (median where it was judged).",
        "A peer that did more counts whole, so most lie below 1. Not judged: never near full speed for long enough.",
    ]
    if (table["slow"].astype(bool) & table["time_ratio"].notna()).any():
        figure.signs = [marks.key_mark("o", "slow in a sample or more, named", markersize=7, markerfacecolor="none")]
    axes = figure.panel(0.34 * len(hosts) + 0.65)
    known = table["time_ratio"].astype(float).dropna()
    limits = marks.ratio_ends(pd.DataFrame({"ratio": known, "low": known, "high": known}), math.log(2), 8.0)
    for line, host in enumerate(hosts):
        own = table[table["host"].astype(str) == host].sort_values("device", key=lambda names: names.map(_natural))
        heights = line + np.linspace(-0.28, 0.28, len(own)) if len(own) > 1 else [line]
        for height, row in zip(heights, own.to_dict("records"), strict=True):
            ratio = float(row["time_ratio"])
            if not math.isnan(ratio):
                at = min(max(ratio, limits[0]), limits[1])
                axes.plot([at], [height], "o", color=INK, markersize=3.2, markeredgewidth=0, alpha=0.75, clip_on=False)
                if row["slow"]:
                    marks.ring(axes, at, height, size=8)
                    marks.words(axes, str(row["device"]), (at, height), (7, 0), ha="left", va="center", weight="bold")
        if unknown := int(own["time_ratio"].isna().sum()):
            marks.words_at_right(axes, line, f"{unknown} of {len(own)} not judged", color=GREY)
    axes.axvline(1, color=GREY, linewidth=0.8, zorder=1)
    marks.rows_axis(axes, hosts)
    marks.log_axis(axes, limits, marks.ratio_ticks(*limits))
    axes.set_xlabel("time of a disk / time of its peers (logarithmic)")


def _natural(name: str) -> tuple[str, int]:
    """Sort key of device names: loop9 before loop10."""
    stem = name.rstrip("0123456789")
    return stem, int(name[len(stem) :] or 0)
