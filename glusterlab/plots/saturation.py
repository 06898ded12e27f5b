"""Network, CPU, memory and disks by workers, servers and clients apart (F41-F44, F46-F49, F51-F54)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from glusterlab.analysis.saturation import PEAK_S, Limits, limits_source
from glusterlab.analysis.series import BACKING_LABELS, DIRECTIONS, operation_rank
from glusterlab.plots.by_workers import draw_line, spread
from glusterlab.plots.style import (
    GREY,
    INK,
    Provenance,
    house_style,
    interval_words,
    layout_key,
    new_figure,
    row_style,
    top_of,
    workers_axis,
)

ROW_HEIGHT_IN = 1.45
_LABEL = 0.11
"""Height of a limit's name as a share of the axis."""


@dataclass(frozen=True, slots=True)
class Panel:
    """One row of panels: what of which role, in which unit.

    Attributes
    ----------
    role : str
        server or client.
    quantities : tuple of str
        One or two keys of `glusterlab.analysis.saturation.METRICS`; the second is drawn dashed and hollow.
    label : str
        Of the y axis.
    factor : float
        From the SI unit to that of the label.
    limit : str
        Name of the attribute of `Limits` that is drawn as a line, without ``_read`` or ``_write`` where it has one for
        each; empty for none.
    peaks : bool
        Draw the peak over time as well.
    full : float
        Limit of every cell in the unit of the label, where `limit` names none; 0 for none.
    """

    role: str
    quantities: tuple[str, ...]
    label: str
    factor: float
    limit: str = ""
    peaks: bool = False
    full: float = 0.0


_NETWORK = ("network_receive_bytes_per_s", "network_transmit_bytes_per_s")
NETWORK = (
    Panel("server", _NETWORK, "server network,\nMB/s per server", 1e-6, "server_link", peaks=True),
    Panel("client", _NETWORK, "client network,\nMB/s per client", 1e-6, "client_link", peaks=True),
)
CPU_AND_LOAD = (
    Panel("server", ("cpu_busy_fraction",), "server CPU\nbusy, %", 100, peaks=True),
    Panel("client", ("cpu_busy_fraction",), "client CPU\nbusy, %", 100, peaks=True),
    Panel("server", ("load_1min",), "server load,\n1 min", 1),
    Panel("client", ("load_1min",), "client load,\n1 min", 1),
)
MEMORY_AND_BLOCKED = (
    Panel("server", ("memory_used_bytes",), "server memory\nused, MB", 1e-6),
    Panel("client", ("memory_used_bytes",), "client memory\nused, MB", 1e-6),
    Panel("server", ("blocked_processes",), "server blocked\nprocesses", 1),
    Panel("client", ("blocked_processes",), "client blocked\nprocesses", 1),
)
_MACHINE = Panel("machine", ("machine_cpu_busy_fraction",), "CPU of all hosts\ntogether, %", 100, peaks=True, full=100)
_SHARED = Panel("server", ("blocked_processes",), "blocked processes,\nwhole machine", 1)
DISKS = (
    Panel("server", ("disk_bytes_per_s",), "server disks,\nMB/s per server", 1e-6, "server_disks", peaks=True),
    Panel(
        "server",
        ("disk_operations_per_s",),
        "server disks,\noperations/s\nper server",
        1,
        "server_operations",
        peaks=True,
    ),
    Panel("server", ("disk_await_s",), "time in the block\nlayer, ms", 1e3),
)


def cpu_panels(*, testbed: bool) -> tuple[Panel, ...]:
    """The panels of CPU and load.

    Each host of a testbed sees its own use as a share of all CPUs of the machine, so no host alone comes near to 100 %
    when the machine is full: the use of all hosts is added up and drawn once.
    """
    return (_MACHINE, *CPU_AND_LOAD[2:]) if testbed else CPU_AND_LOAD


def memory_panels(*, testbed: bool) -> tuple[Panel, ...]:
    """The panels of memory and blocked processes.

    On a testbed the kernel counts blocked processes for the machine, not for each of the hosts on it: they are drawn
    once, and labelled so.
    """
    return (*MEMORY_AND_BLOCKED[:2], _SHARED) if testbed else MEMORY_AND_BLOCKED


def panel_rows(summary: pd.DataFrame, panels: tuple[Panel, ...]) -> pd.DataFrame:
    """The rows of a saturation summary that the panels draw: the CSV of the figure."""
    wanted = {(panel.role, quantity) for panel in panels for quantity in panel.quantities}
    keys = zip(summary["role"].astype(str), summary["quantity"].astype(str), strict=True)
    return summary[[key in wanted for key in keys]].reset_index(drop=True)


def _limit_of(limits: Limits | None, name: str, operation: str) -> float | None:
    if limits is None or not name:
        return None
    if not hasattr(limits, name):
        name += "_read" if DIRECTIONS.get(operation) == "read" else "_write"
    value = getattr(limits, name)
    return None if value is None else float(value)


def draw_panel(axes: Axes, summary: pd.DataFrame, panel: Panel) -> None:
    """One quantity, or two, of one role and operation by workers; one colour per layout."""
    for number, quantity in enumerate(panel.quantities):
        rows = summary[(summary["role"] == panel.role) & (summary["quantity"] == quantity)]
        for _, series in rows.groupby("series", sort=True, observed=True):
            line = draw_line(axes, series, panel.factor, hollow=number > 0, dots=False)
            if panel.peaks:
                peak = series["peak"].astype(float) * panel.factor
                axes.plot(series["workers"].astype(float), peak, "^", color=line.get_color(), markersize=4, alpha=0.55)
    axes.grid(axis="y")


def saturation_figure(
    summary: pd.DataFrame,
    provenance: Provenance,
    panels: tuple[Panel, ...],
    limits: dict[str, Limits],
    *,
    title: str,
    note: str = "",
) -> Figure:
    """Subsystems by workers: a row per panel, a column per operation, servers and clients in rows of their own.

    Parameters
    ----------
    summary : pandas.DataFrame
        From `glusterlab.analysis.saturation.saturation`, cut by `panel_rows`; at least one row.
    provenance : Provenance
    panels : tuple of Panel
    limits : dict of str to Limits
        By cell id; each that a panel's cells have is a dashed line, in ink where it holds for several layouts.
    title : str
    note : str
        More lines below the subtitle.
    """
    operations = sorted(summary["operation"].astype(str).unique(), key=operation_rank)
    shown = tuple(panel for panel in panels if len(panel_rows(summary, (panel,))))
    two = any(len(panel.quantities) > 1 for panel in shown)
    subtitle = [
        f"Mean over hosts, the measured part of each sample, and n samples; bar: {interval_words(summary)}.",
        *(["Clients: those with a worker."] if any(panel.role == "client" for panel in shown) else []),
    ]
    if any(panel.peaks for panel in shown):
        subtitle.append(f"Small triangle: the busiest {PEAK_S:g} s.")
    if _MACHINE in shown:
        subtitle.append("CPU of all hosts: a lower bound, kernel threads and the runner are in no host's group.")
    if any(panel.limit for panel in shown) and (source := limits_source(limits.values())):
        subtitle.append(source)
    subtitle += note.splitlines()
    key = layout_key(summary)
    if two:
        key += [
            Line2D([], [], color=GREY, marker="o", label="received"),
            Line2D([], [], color=GREY, marker="o", markerfacecolor="white", linestyle="--", label="sent"),
        ]
    with house_style():
        figure, grid = new_figure(
            title,
            subtitle,
            provenance.footer(summary),
            panels_height=ROW_HEIGHT_IN * len(shown) + 0.5,
            rows=len(shown),
            columns=len(operations),
            share_y="row",
            share_x="all",
            key=key,
        )
        for line, panel in zip(grid, shown, strict=True):
            rows = panel_rows(summary, (panel,))
            top = top_of(rows, panel.factor)
            if panel.peaks:
                top = max(top, float(rows["peak"].max()) * panel.factor * 1.12)
            known: list[dict[float, tuple[str, str]]] = []
            for axes, operation in zip(line, operations, strict=True):
                part = rows[rows["operation"].astype(str) == operation]
                draw_panel(axes, part, panel)
                known.append(_known_limits(part, panel, limits, operation))
            # room for the name of the highest one
            top = max([top, *(value * 1.22 for found in known for value in found)]) or 1.0
            line[0].set_ylim(0, top)
            line[0].set_ylabel(panel.label)
            for axes, found in zip(line, known, strict=True):
                _draw_limits(axes, found, top)
        for axes, operation in zip(grid[0], operations, strict=True):
            axes.set_title(operation)
        for axes in grid[-1]:
            workers_axis(axes, summary["workers"])
            axes.set_xlabel("workers in total")
        figure.align_ylabels(list(grid[:, 0]))
    return figure


def _known_limits(
    rows: pd.DataFrame, panel: Panel, limits: dict[str, Limits], operation: str
) -> dict[float, tuple[str, str]]:
    """Limits of a panel's series in the unit of its axis, ascending, with the colour and the name of each."""
    if panel.full:
        return {panel.full: (INK, _limit_name(panel.full))}
    of: dict[float, list[pd.Series]] = {}
    for _, series in rows.groupby("series", sort=True, observed=True):
        found = {_limit_of(limits.get(str(cell)), panel.limit, operation) for cell in series["cell_id"]}
        for limit in found - {None}:
            of.setdefault(float(str(limit)) * panel.factor, []).append(series.iloc[0])
    kinds, scales = rows["kind"].nunique() > 1, rows["scale"].nunique() > 1
    named: dict[float, tuple[str, str]] = {}
    for value in sorted(of):
        apart = {
            ", ".join(
                [
                    *([BACKING_LABELS.get(str(row["kind"]), str(row["kind"]))] if kinds else []),
                    *([f"1:{row['scale']:g}"] if scales else []),
                ]
            )
            for row in of[value]
        }
        colour = row_style(of[value][0]).colour if len(of) > 1 and len(of[value]) == 1 else INK
        named[value] = (colour, _limit_name(value, sorted(apart) if len(of) > 1 else []))
    return named


def _limit_name(value: float, apart: Sequence[str] = ()) -> str:
    """What stands beside the line of a limit: its value, and whose it is where there are several.

    Examples
    --------
    >>> _limit_name(12.24, ["RAID 6"]), _limit_name(100.0)
    ('limit 12.2, RAID 6', 'limit 100')
    """
    return ", ".join([f"limit {value:.3g}", *(word for word in apart if word)])


def _draw_limits(axes: Axes, known: dict[float, tuple[str, str]], top: float) -> None:
    """Dashed lines at limits, their names above them and clear of each other."""
    heights = spread(sorted(known), top * _LABEL, 0.0, top * (1 - _LABEL))
    for (value, (colour, name)), height in zip(known.items(), heights, strict=True):
        axes.axhline(value, color=colour, linewidth=0.9, linestyle=(0, (4, 3)))
        axes.annotate(
            name,
            (0, height),
            xycoords=("axes fraction", "data"),
            xytext=(4, 2),
            textcoords="offset points",
            va="bottom",
            fontsize=7,
            color=colour,
        )
