"""Drawings of a cluster from cluster.yaml: its pool, its test bed, its kinds of server."""

import math
from collections.abc import Iterable
from functools import cache, partial
from typing import Any, NamedTuple

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.font_manager import FontProperties
from matplotlib.patches import FancyBboxPatch, Rectangle
from matplotlib.textpath import text_to_path

from glusterlab.analysis.describe import link_words
from glusterlab.plots.style import GREY, INK, PALE, WIDTH_IN, Frame, scale_words, wrapped
from glusterlab.units import short_number

_SERVER, _CLIENT, _BAND, _DISK = "#cfdcec", "#ececec", "#1f4e89", "#6f8fb5"
_MARGIN, _LEFT, _DISK_IN, _LINE_IN = 0.09, 1.05, 0.11, 0.15
_MIDDLE = (_LEFT + WIDTH_IN - _MARGIN) / 2
_PAGE_IN = WIDTH_IN - 2 * _MARGIN - 0.06
_SMALL = 7  # points of the text in drawings


def _short_name(name: str, width: float) -> str:
    """A host's name without its domain, and of a long one the end, which tells hosts apart; `width` is in inches."""
    short = name.partition(".")[0]
    candidates = (short if start == 0 else f"…{short[start:]}" for start in range(len(short)))
    return next((shown for shown in candidates if text_width(shown) <= width), "…")


@cache
def text_width(text: str, size: float = _SMALL) -> float:
    """Inches that a text takes in the font of figures, at a size in points."""
    return text_to_path.get_text_width_height_descent(text, FontProperties(size=size), ismath=False)[0] / 72


def draw_pool(figure: Frame, hosts: pd.DataFrame, *, mount: str, testbed: bool, scales: Iterable[float] = ()) -> None:
    """Clients, the volumes that they mount, servers with their disks: `hosts_table` with one of each role or more."""
    figure.subtitle = [
        "Servers bring disks as bricks, volumes join bricks of many servers, and every client sees all of a volume.",
        *_scale_model(testbed, scales, "real rates"),
    ]
    axes, band, places = _hosts_and_band(figure, hosts, [], gap=0.34, thick=0.42, colour=_BAND, name="volumes")
    _text(axes, _MIDDLE, band + 0.28, "one namespace: GlusterFS volumes", color="white", fontsize=9, bold=True)
    _text(axes, _MIDDLE, band + 0.12, f"mounted below {mount} on every client", color="white", fontsize=7)
    for middles, low in zip(places, (band + 0.42, band - 0.34), strict=True):
        for x in middles:
            axes.plot([x, x], [low, low + 0.34], color=GREY, linewidth=0.8)


def draw_bed(figure: Frame, hosts: pd.DataFrame, *, switch: str, testbed: bool, scales: Iterable[float] = ()) -> None:
    """Clients and servers on their switch (empty: not known), with the rates of their links."""
    servers, clients = _roles(hosts)
    figure.subtitle = [
        "A line is the link of one host, wider where it is faster; its rate holds each way. Squares: data disks.",
        *_scale_model(testbed, scales, "the rates shown"),
    ]
    notes = []
    for role, rows in (("server", servers), ("client", clients)):
        parts = [part for part in map(str, rows[["model", "parts"]].iloc[0]) if part not in ("", "not stated")]
        if known := "; ".join(parts):
            notes += wrapped(f"A {role} {'stands for' if testbed else 'is'} {known}.", _PAGE_IN, text_width)
    fabric = switch or "switch"
    if testbed:
        fabric = "a bridge on this machine" + (f", stands for {switch}" if switch else ", in place of a switch")
    client_rate, server_rate = (float(rows["link_bytes_per_s"].iloc[0]) for rows in (clients, servers))
    axes, bar, places = _hosts_and_band(figure, hosts, notes, gap=0.44, thick=0.28, colour=INK, name="switch")
    _text(axes, _MIDDLE, bar + 0.14, fabric, color="white", fontsize=8, bold=True)
    for middles, low, rate in zip(places, (bar + 0.28, bar - 0.44), (client_rate, server_rate), strict=True):
        width = max(0.7, 3.2 * rate / max(client_rate, server_rate))
        for x in middles:
            axes.plot([x, x], [low, low + 0.44], color=GREY, linewidth=width, solid_capstyle="butt")
        _text(axes, _MARGIN, low + 0.22, f"{link_words(rate)} each", left=True, color=GREY)


def _hosts_and_band(
    figure: Frame, hosts: pd.DataFrame, notes: list[str], *, gap: float, thick: float, colour: str, name: str
) -> tuple[Axes, float, tuple[list[float], list[float]]]:
    """Clients above a band, servers below it, notes at the bottom; returns where the band and the hosts are."""
    servers, clients = _roles(hosts)
    if bricks := str(servers["bricks"].iloc[0]):
        notes = notes + wrapped(f"Bricks of a server, by backing: {bricks}.", _PAGE_IN, text_width)
    tall = _Slots.of(servers).height
    height = 0.30 + gap + thick + gap + tall + _LINE_IN * len(notes) + 0.30
    axes = _canvas(figure, height)
    tops = _row(axes, clients, height - 0.35, "client")
    band = height - 0.35 - gap - thick
    _box(axes, _LEFT, band, WIDTH_IN - _MARGIN - _LEFT, thick, colour)
    _text(axes, _MARGIN, band + thick / 2, name, left=True, bold=True)
    bottoms = _row(axes, servers, band - gap - tall, "server")
    for n, line in enumerate(reversed(notes)):
        _text(axes, _MARGIN, 0.08 + _LINE_IN * n, line, left=True)
    return axes, band, (tops, bottoms)


_MODEL_ROWS = {"model": "Server", "disks": "Data disks", "disk_model": "Disk", "capacity": "Raw capacity"}
_MODEL_ROWS |= {"cpu_model": "Processors", "memory": "Memory", "network": "Network"}
_MODEL_ROWS |= {"raid_controller": "RAID controller", "nvme": "NVMe drives"}


def draw_server_models(figure: Frame, models: pd.DataFrame, *, testbed: bool) -> None:
    """The kinds of server side by side, as a table; `models` is from `server_models_table`, at least one row."""
    columns = []
    for model in models.to_dict("records"):
        one, raw = float(model["disk_capacity_bytes"]), float(model["raw_capacity_bytes"])
        known = "" if math.isnan(raw) else f"{_terabytes(raw)} ({int(model['disks'])} x {_terabytes(one)})"
        texts = {key: str(model.get(key, "")) for key in ("name", *_MODEL_ROWS)}
        columns.append(texts | {"capacity": known})
    rows = [(key, words) for key, words in _MODEL_ROWS.items() if any(column[key] for column in columns)]
    label_in, wide = 1.35, partial(text_width, size=8)
    width = (_PAGE_IN - label_in) / len(columns)
    cells = [[wrapped(column[key] or "not stated", width - 0.15, wide) for column in columns] for key, _ in rows]
    heights = [0.12 + _LINE_IN * max(len(lines) for lines in row) for row in cells]
    height = 0.34 + sum(heights) + 0.1
    stands = "What the servers of this scale model stand for: all of them are namespaces on one machine."
    figure.subtitle = [stands if testbed else "As cluster.yaml describes them."]
    axes = _canvas(figure, height)
    y = height - 0.34
    starts = [_MARGIN + label_in + n * width for n in range(len(columns))]
    for x, column in zip(starts, columns, strict=True):
        _text(axes, x, y + 0.16, f"{column['name']} server".removeprefix("server "), fontsize=9, bold=True, left=True)
    for (_, words), row, tall in zip(rows, cells, heights, strict=True):
        axes.plot([_MARGIN, WIDTH_IN - _MARGIN], [y, y], color=PALE, linewidth=0.6, solid_capstyle="butt")
        _text(axes, _MARGIN, y - 0.13, words, color=GREY, left=True, fontsize=8)
        for x, lines in zip(starts, row, strict=True):
            for line, part in enumerate(lines):
                colour = GREY if part == "not stated" else INK
                _text(axes, x, y - 0.13 - _LINE_IN * line, part, left=True, fontsize=8, color=colour)
        y -= tall


def _terabytes(size: float) -> str:
    return f"{short_number(size / 1e12).removesuffix('.00').removesuffix('.0')} TB"


def _roles(hosts: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    return hosts[hosts["role"] == "server"], hosts[hosts["role"] == "client"]


def _scale_model(testbed: bool, scales: Iterable[float], rates: str) -> list[str]:
    if not testbed:
        return []
    ratios = scale_words(scales, "1/{:g}", "or")
    slowed = f"; disks and links run at {ratios} of {rates}" if ratios else ""
    return [f"Scale model: hosts are network namespaces on one machine{slowed}."]


def _canvas(figure: Frame, height: float) -> Axes:
    """One panel that is measured in inches from its lower left corner."""
    axes = figure.panel(height)
    axes.set_axis_off()
    axes.set(xlim=(0, WIDTH_IN), ylim=(0, height))
    return axes


class _Slots(NamedTuple):
    """Where the boxes of a row of hosts are, in inches: `slot` apart, with `columns` of disks `pitch` apart."""

    shown: list[str | None]
    slot: float
    width: float
    height: float
    columns: int
    pitch: float

    @classmethod
    def of(cls, hosts: pd.DataFrame) -> "_Slots":
        names: list[str | None] = [str(name) for name in hosts["host"]]
        # of many the first few and the last
        shown = names if len(names) <= 12 else [*names[:6], None, names[-1]]
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
        _text(axes, _MARGIN, middle - _LINE_IN, f"{each} disk{'s' * (each > 1)} each", left=True, color=GREY)
    middles = []
    for n, name in enumerate(slots.shown):
        x = _LEFT + (n + 0.5) * slots.slot
        if name is None:
            _text(axes, x, bottom + slots.height / 2, f"… {count - len(slots.shown) + 1} more", color=GREY)
            continue
        middles.append(x)
        _box(axes, x - slots.width / 2, bottom, slots.width, slots.height, _SERVER if each else _CLIENT)
        top = bottom + slots.height
        _text(axes, x, top - (0.13 if each else slots.height / 2), _short_name(name, slots.width - 0.03))
        side = 0.8 * slots.pitch
        for disk in range(each):
            row, column = divmod(disk, slots.columns)
            left = x + (column + 0.1 - slots.columns / 2) * slots.pitch
            low = top - 0.26 - (row + 0.9) * slots.pitch
            axes.add_patch(Rectangle((left, low), side, side, facecolor=_DISK, edgecolor="none"))
    return middles


def _box(axes: Axes, x: float, y: float, width: float, height: float, colour: str) -> None:
    rounded = "round,pad=0,rounding_size=0.04"
    axes.add_patch(FancyBboxPatch((x, y), width, height, boxstyle=rounded, facecolor=colour, edgecolor="none"))


def _text(axes: Axes, x: float, y: float, text: str, *, bold: bool = False, left: bool = False, **style: Any) -> None:
    style = {"fontsize": _SMALL, "color": INK, "fontweight": "bold" if bold else "normal", **style}
    axes.text(x, y, text, ha="left" if left else "center", va="center", in_layout=False, **style)
