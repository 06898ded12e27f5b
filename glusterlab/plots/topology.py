"""Drawings of a cluster from cluster.yaml: its pool, its test bed, its kinds of server (F1, F2, F6, F7)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch, Rectangle
from matplotlib.textpath import TextPath

from glusterlab.analysis.topology import link_words
from glusterlab.plots.style import GREY, INK, PALE, WIDTH_IN, Provenance, house_style, new_figure, scale_words
from glusterlab.units import short_number

MOST_SHOWN = 12
"""Hosts of a role that are drawn one by one; of more, the first few and the last."""

_FEW = 6
_SERVER, _CLIENT, _BAND, _DISK = "#cfdcec", "#ececec", "#1f4e89", "#6f8fb5"
_MARGIN, _LEFT, _DISK_IN, _LINE_IN = 0.09, 1.05, 0.11, 0.15
_PAGE_IN = WIDTH_IN - 2 * _MARGIN - 0.06
_SMALL = 7
"""Points of the text in drawings."""


def shown_hosts(names: Sequence[str]) -> list[str | None]:
    """The hosts that are drawn, None where some are left out.

    Examples
    --------
    >>> shown_hosts(["a", "b"])
    ['a', 'b']
    >>> shown_hosts([f"n{number:03d}" for number in range(1, 129)])
    ['n001', 'n002', 'n003', 'n004', 'n005', 'n006', None, 'n128']
    """
    if len(names) <= MOST_SHOWN:
        return list(names)
    return [*names[:_FEW], None, names[-1]]


def short_name(name: str, width: float) -> str:
    """A host's name without its domain, and of a long one the end, which tells hosts apart.

    Parameters
    ----------
    name : str
    width : float
        Inches that there are for it.

    Examples
    --------
    >>> short_name("server01.example.com", 0.6), short_name("storage-node-017", 0.6)
    ('server01', '…-node-017')
    """
    short = name.partition(".")[0]
    for start in range(len(short)):
        shown = short if start == 0 else "…" + short[start:]
        if text_width(shown) <= width:
            return shown
    return "…"


@cache
def text_width(text: str, size: float = _SMALL) -> float:
    """Inches that a text takes in the font of figures.

    Parameters
    ----------
    text : str
    size : float
        Points.
    """
    return float(TextPath((0, 0), text, size=size).get_extents().width) / 72 if text.strip() else 0.0


def wrapped(text: str, width: float, size: float = _SMALL) -> list[str]:
    """A text in lines of at most this many inches; a word that is longer has a line of its own."""
    lines: list[str] = []
    for word in text.split():
        if lines and text_width(f"{lines[-1]} {word}", size) <= width:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return lines


def pool_figure(
    hosts: pd.DataFrame, provenance: Provenance, *, title: str, mount: str, scales: Iterable[float] = ()
) -> Figure:
    """A pool of servers under one namespace: clients, the volumes that they mount, servers with their disks.

    Parameters
    ----------
    hosts : pandas.DataFrame
        From `glusterlab.analysis.topology.hosts_table`; at least one server and one client.
    provenance : Provenance
    title : str
    mount : str
        Where clients mount volumes.
    scales : iterable of float
        Of the scale models.
    """
    servers, clients = _roles(hosts)
    scales = list(scales)
    subtitle = [
        "Servers bring disks as bricks, volumes join bricks of many servers, and every client sees all of a volume.",
        *_scale_model(provenance, scales, "real rates"),
    ]
    notes = wrapped(_bricks(servers), _PAGE_IN)
    tall = _Slots.of(servers).height
    height = 0.30 + 0.34 + 0.42 + 0.34 + tall + _LINE_IN * len(notes) + 0.30
    with house_style():
        figure, axes = _canvas(title, subtitle, provenance.place(scales, model=True), height)
        y = height - 0.05 - 0.30
        tops = _row(axes, clients, y, "client")
        band = y - 0.34 - 0.42
        _box(axes, _LEFT, band, WIDTH_IN - _MARGIN - _LEFT, 0.42, _BAND)
        middle = (_LEFT + WIDTH_IN - _MARGIN) / 2
        _text(axes, middle, band + 0.28, "one namespace: GlusterFS volumes", colour="white", size=9, bold=True)
        _text(axes, middle, band + 0.12, f"mounted below {mount} on every client", colour="white", size=7)
        _text(axes, _MARGIN, band + 0.21, "volumes", left=True, bold=True)
        bottoms = _row(axes, servers, band - 0.34 - tall, "server")
        for x in tops:
            axes.plot([x, x], [band + 0.42, y], color=GREY, linewidth=0.8)
        for x in bottoms:
            axes.plot([x, x], [band - 0.34, band], color=GREY, linewidth=0.8)
        _notes(axes, notes)
    return figure


def bed_figure(
    hosts: pd.DataFrame, provenance: Provenance, *, title: str, switch: str, scales: Iterable[float] = ()
) -> Figure:
    """A test bed: clients and servers on their switch, with the rates of their links.

    Parameters
    ----------
    hosts : pandas.DataFrame
        From `glusterlab.analysis.topology.hosts_table`; at least one server and one client.
    provenance : Provenance
    title : str
    switch : str
        What joins them; empty where it is not known.
    scales : iterable of float
        Of the scale models.
    """
    servers, clients = _roles(hosts)
    scales = list(scales)
    subtitle = [
        "A line is the link of one host, wider where it is faster; its rate holds each way. Squares: data disks.",
        *_scale_model(provenance, scales, "the rates shown"),
    ]
    notes = []
    for role, rows in (("server", servers), ("client", clients)):
        known = "; ".join(str(rows[key].iloc[0]) for key in ("model", "parts") if rows[key].iloc[0])
        if known:
            verb = "stands for" if provenance.testbed else "is"
            notes += wrapped(f"A {role} {verb} {known}.", _PAGE_IN)
    notes += wrapped(_bricks(servers), _PAGE_IN)
    fabric = switch or "switch"
    if provenance.testbed:
        fabric = "a bridge on this machine" + (f", stands for {switch}" if switch else ", in place of a switch")
    client_rate, server_rate = (float(rows["link_bytes_per_s"].iloc[0]) for rows in (clients, servers))
    fastest = max(client_rate, server_rate)
    tall = _Slots.of(servers).height
    height = 0.30 + 0.44 + 0.28 + 0.44 + tall + _LINE_IN * len(notes) + 0.30
    with house_style():
        figure, axes = _canvas(title, subtitle, provenance.place(scales, model=True), height)
        y = height - 0.05 - 0.30
        tops = _row(axes, clients, y, "client")
        bar = y - 0.44 - 0.28
        _box(axes, _LEFT, bar, WIDTH_IN - _MARGIN - _LEFT, 0.28, INK)
        _text(axes, (_LEFT + WIDTH_IN - _MARGIN) / 2, bar + 0.14, fabric, colour="white", size=8, bold=True)
        _text(axes, _MARGIN, bar + 0.14, "switch", left=True, bold=True)
        bottoms = _row(axes, servers, bar - 0.44 - tall, "server")
        for middles, low, rate in ((tops, bar + 0.28, client_rate), (bottoms, bar - 0.44, server_rate)):
            width = max(0.7, 3.2 * rate / fastest)
            for x in middles:
                axes.plot([x, x], [low, low + 0.44], color=GREY, linewidth=width, solid_capstyle="butt")
            _text(axes, _MARGIN, low + 0.22, f"{link_words(rate)} each", left=True, colour=GREY)
        _notes(axes, notes)
    return figure


_MODEL_ROWS = (
    ("model", "Server"),
    ("disks", "Data disks"),
    ("disk_model", "Disk"),
    ("capacity", "Raw capacity"),
    ("cpu_model", "Processors"),
    ("memory", "Memory"),
    ("network", "Network"),
    ("raid_controller", "RAID controller"),
    ("nvme", "NVMe drives"),
)


def server_models_figure(models: pd.DataFrame, provenance: Provenance, *, title: str) -> Figure:
    """The kinds of server side by side, as a table.

    Parameters
    ----------
    models : pandas.DataFrame
        From `glusterlab.analysis.topology.server_models_table`; at least one row.
    provenance : Provenance
    title : str
    """
    columns = [_model_cells(row) for row in models.to_dict("records")]
    rows = [(key, words) for key, words in _MODEL_ROWS if any(column[key] for column in columns)]
    label_in = 1.35
    width = (_PAGE_IN - label_in) / len(columns)
    cells = [[wrapped(column[key] or "not stated", width - 0.15, 8) for column in columns] for key, _ in rows]
    heights = [0.12 + _LINE_IN * max(len(lines) for lines in row) for row in cells]
    height = 0.34 + sum(heights) + 0.1
    subtitle = (
        ["What the servers of this scale model stand for: all of them are namespaces on one machine."]
        if provenance.testbed
        else ["As cluster.yaml describes them."]
    )
    with house_style():
        figure, axes = _canvas(title, subtitle, provenance.place(model=True), height)
        y = height - 0.05
        for n, column in enumerate(columns):
            x = _MARGIN + label_in + n * width
            _text(axes, x, y - 0.13, f"{column['name']} server".removeprefix("server "), size=9, bold=True, left=True)
        y -= 0.29
        for (_, words), row, tall in zip(rows, cells, heights, strict=True):
            axes.plot([_MARGIN, WIDTH_IN - _MARGIN], [y, y], color=PALE, linewidth=0.6, solid_capstyle="butt")
            _text(axes, _MARGIN, y - 0.13, words, colour=GREY, left=True, size=8)
            for n, lines in enumerate(row):
                x = _MARGIN + label_in + n * width
                for line, part in enumerate(lines):
                    colour = GREY if part == "not stated" else INK
                    _text(axes, x, y - 0.13 - _LINE_IN * line, part, left=True, size=8, colour=colour)
            y -= tall
    return figure


def _model_cells(row: dict[Any, Any]) -> dict[str, str]:
    one, raw = float(row["disk_capacity_bytes"]), float(row["raw_capacity_bytes"])
    known = "" if math.isnan(raw) else f"{_terabytes(raw)} ({int(row['disks'])} x {_terabytes(one)})"
    text = {key: str(row[key]) for key, _ in _MODEL_ROWS if key not in ("disks", "capacity")}
    return {**text, "name": str(row["name"]), "disks": str(row["disks"]), "capacity": known}


def _terabytes(size: float) -> str:
    return f"{short_number(size / 1e12).removesuffix('.00').removesuffix('.0')} TB"


def _roles(hosts: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    return hosts[hosts["role"] == "server"], hosts[hosts["role"] == "client"]


def _scale_model(provenance: Provenance, scales: Iterable[float], rates: str) -> list[str]:
    if not provenance.testbed:
        return []
    ratios = scale_words(scales, "1/{:g}", "or")
    slowed = f"; disks and links run at {ratios} of {rates}" if ratios else ""
    return [f"Scale model: hosts are network namespaces on one machine{slowed}."]


def _canvas(title: str, subtitle: Sequence[str], footer: str, height: float) -> tuple[Figure, Axes]:
    """A figure whose one panel is measured in inches from its lower left corner."""
    figure, grid = new_figure(title, subtitle, footer, panels_height=height)
    axes: Axes = grid[0][0]
    axes.set_axis_off()
    axes.set_xlim(0, WIDTH_IN)
    axes.set_ylim(0, height)
    return figure, axes


def _notes(axes: Axes, lines: Sequence[str]) -> None:
    for n, line in enumerate(reversed(lines)):
        _text(axes, _MARGIN, 0.08 + _LINE_IN * n, line, left=True)


def _bricks(servers: pd.DataFrame) -> str:
    words = str(servers["bricks"].iloc[0])
    return f"Bricks of a server, by backing: {words}." if words else ""


@dataclass(frozen=True)
class _Slots:
    """Where the boxes of a row of hosts stand, in inches, and how disks fill a box.

    Attributes
    ----------
    shown : list of str or None
        As `shown_hosts` returns them.
    slot, width, height : float
        Of a box with the room around it, of a box.
    columns : int
        Of disks; 0 where there are none.
    pitch : float
        From disk to disk.
    """

    shown: list[str | None]
    slot: float
    width: float
    height: float
    columns: int
    pitch: float

    @classmethod
    def of(cls, hosts: pd.DataFrame) -> _Slots:
        shown = shown_hosts([str(name) for name in hosts["host"]])
        slot = (WIDTH_IN - _MARGIN - _LEFT) / len(shown)
        width = min(0.92 * slot, 1.1)
        disks = int(hosts["disks"].max())
        if not disks:
            return cls(shown, slot, width, 0.30, 0, 0.0)
        # six in a row as servers have them, more where many disks would make a tower
        columns = min(disks, max(6, min(-(-disks // 6), int((width - 0.06) / 0.08))))
        pitch = min(_DISK_IN, (width - 0.06) / columns)
        return cls(shown, slot, width, 0.26 + -(-disks // columns) * pitch + 0.06, columns, pitch)


def _row(axes: Axes, hosts: pd.DataFrame, bottom: float, noun: str) -> list[float]:
    """Boxes with the names of hosts, their disks below; returns the middles of the boxes."""
    slots = _Slots.of(hosts)
    count, each = len(hosts), int(hosts["disks"].max())
    middle = bottom + slots.height / 2 + 0.07 * bool(each)
    _text(axes, _MARGIN, middle, f"{count} {noun}{'s' * (count != 1)}", left=True, bold=True)
    if each:
        _text(axes, _MARGIN, middle - _LINE_IN, f"{each} disk{'s' * (each > 1)} each", left=True, colour=GREY)
    middles = []
    for n, name in enumerate(slots.shown):
        x = _LEFT + (n + 0.5) * slots.slot
        if name is None:
            _text(axes, x, bottom + slots.height / 2, f"… {count - len(slots.shown) + 1} more", colour=GREY)
            continue
        middles.append(x)
        _box(axes, x - slots.width / 2, bottom, slots.width, slots.height, _SERVER if each else _CLIENT)
        top = bottom + slots.height
        _text(axes, x, top - (0.13 if each else slots.height / 2), short_name(name, slots.width - 0.03))
        _draw_disks(axes, x, top - 0.26, slots, each)
    return middles


def _draw_disks(axes: Axes, middle: float, top: float, slots: _Slots, disks: int) -> None:
    left = middle - slots.columns * slots.pitch / 2
    side = 0.8 * slots.pitch
    for n in range(disks):
        row, column = divmod(n, slots.columns)
        x, y = left + (column + 0.1) * slots.pitch, top - (row + 0.9) * slots.pitch
        axes.add_patch(Rectangle((x, y), side, side, facecolor=_DISK, edgecolor="none"))


def _box(axes: Axes, x: float, y: float, width: float, height: float, colour: str) -> None:
    axes.add_patch(
        FancyBboxPatch(
            (x, y), width, height, boxstyle="round,pad=0,rounding_size=0.04", facecolor=colour, edgecolor="none"
        )
    )


def _text(
    axes: Axes,
    x: float,
    y: float,
    text: str,
    *,
    size: float = _SMALL,
    colour: str = INK,
    bold: bool = False,
    left: bool = False,
) -> None:
    axes.text(
        x,
        y,
        text,
        fontsize=size,
        color=colour,
        fontweight="bold" if bold else "normal",
        ha="left" if left else "center",
        va="center",
        in_layout=False,
    )
