"""The disks of each server: which took longer than their peers, and of which that could not be told."""

from __future__ import annotations

import math
from collections.abc import Hashable
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle

from glusterlab.analysis.slowdisks import TOLD
from glusterlab.plots.style import GREY, INK, PALE, Provenance, house_style, new_figure

_SLOW = LinearSegmentedColormap.from_list("slow", ["#2a6f97", "#f4f4f4", "#b3402a"])
_UNTOLD = "#c4c4c4"
"""A disk of which no sample tells: no shade of the scale, and hatched, so that it differs in grey, too."""

_LETTERED = 16
"""Rows of more disks than this name only those that are slow."""


def disks_figure(table: pd.DataFrame, provenance: Provenance, *, title: str, note: str = "") -> Figure:
    """How long each disk takes beside peers that moved as much; slow ones by name, those that cannot be told hatched.

    Parameters
    ----------
    table : pandas.DataFrame
        From `glusterlab.analysis.slowdisks.pace_by_disk`; at least one row.
    provenance : Provenance
    title : str
    note : str
        More lines below the subtitle.
    """
    disks = table.to_dict("records")
    hosts = sorted({str(disk["host"]) for disk in disks})
    subtitle = [
        "Colour: time at work, in multiples of what its peers take for as much (median over the samples that tell).",
        f"Hatched: could not be told, for in no sample would a disk {TOLD:g} times slower have shown in this place.",
        "Framed: slow in a sample or more.",
        *note.splitlines(),
    ]
    most = max(sum(1 for disk in disks if disk["host"] == name) for name in hosts)
    with house_style():
        figure, grid = new_figure(
            title,
            subtitle,
            provenance.place(model=provenance.testbed),
            panels_height=0.36 * len(hosts) + 0.5,
            key=[
                _mark(_SLOW(0.0), "a quarter of the time or less"),
                _mark(_SLOW(0.5), "as long as its peers"),
                _mark(_SLOW(1.0), "four times as long or more"),
                _mark(_UNTOLD, "could not be told (hatched)"),
            ],
        )
        axes = grid[0, 0]
        for line, host in enumerate(hosts):
            own = [disk for disk in disks if disk["host"] == host]
            for column, row in enumerate(sorted(own, key=lambda disk: _natural(str(disk["device"])))):
                _disk(axes, column, line, row)
                if row["slow"] or most <= _LETTERED:
                    _name(axes, column, line, row, 5.6 if most > 12 else 6.4)
        axes.set_xlim(0, most)
        axes.set_ylim(len(hosts), 0)
        axes.set_yticks([number + 0.5 for number in range(len(hosts))], hosts)
        axes.set_xticks([])
        axes.tick_params(length=0, labelcolor=INK)
        for spine in axes.spines.values():
            spine.set_visible(False)
        axes.set_xlabel("disks of each server")
    return figure


def _disk(axes: Axes, column: int, line: int, row: dict[Hashable, Any]) -> None:
    """One disk, as a square."""
    untold = math.isnan(float(row["time_ratio"]))
    place = 0.5 if untold else 0.5 + math.log2(max(float(row["time_ratio"]), 1e-3)) / 4
    axes.add_patch(
        Rectangle(
            (column + 0.06, line + 0.06),
            0.88,
            0.88,
            facecolor=_UNTOLD if untold else _SLOW(min(max(place, 0.0), 1.0)),
            edgecolor=INK if row["slow"] else "white" if untold else PALE,
            linewidth=1.8 if row["slow"] else 0.4,
            hatch="//////" if untold else "",
        )
    )


def _name(axes: Axes, column: int, line: int, row: dict[Hashable, Any], size: float) -> None:
    axes.text(
        column + 0.5,
        line + 0.5,
        str(row["device"]),
        ha="center",
        va="center",
        fontsize=size,
        fontweight="bold" if row["slow"] else "normal",
    )


def _mark(colour: Any, label: str) -> Line2D:
    """A mark of the key: a colour, and what it says."""
    return Line2D([], [], marker="s", linestyle="none", markersize=7, color=colour, markeredgecolor=GREY, label=label)


def _natural(name: str) -> tuple[str, int]:
    """Sort key of device names: loop9 before loop10.

    Examples
    --------
    >>> sorted(["loop10", "loop9", "sda"], key=_natural)
    ['loop9', 'loop10', 'sda']
    """
    stem = name.rstrip("0123456789")
    return stem, int(name[len(stem) :] or 0)
