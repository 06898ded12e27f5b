"""What disks, arrays and links did alone: every place a dot, beside what is stated for it (appendix A)."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from glusterlab.analysis.describe import link_words
from glusterlab.plots import marks
from glusterlab.plots.style import GREY, INK, PALE, Frame, Provenance, n_words
from glusterlab.units import MEGABYTE, short_number

_ROW_IN, _DOT, _DASHES = 0.34, "#4a7fb8", (0, (3, 1.5))
_HOLLOW: dict[str, Any] = {"markersize": 6, "markerfacecolor": "white", "markeredgecolor": INK}
_ROW = ["model", "scale", "label"]  # what tells rows apart


def draw_rates(figure: Frame, places: pd.DataFrame) -> None:
    """Rates of disks or arrays (`place_rates`), a panel per operation, a row per kind and scale model."""
    rows = places[_ROW].drop_duplicates().reset_index(drop=True)
    shown = [name for name in ("write", "read") if (places["operation"] == name).any()]
    scaled = bool((places["scale"] != 1).any())
    thing = str(places["what"].iloc[0])
    figure.key = _key(places)
    figure.subtitle = [
        f"A dot is one {thing}, or one server's mean where several worked at once: the median of n samples.",
        *(["Everything is times the scale of its model: what the full size would show."] if scaled else []),
    ]
    height = (len(rows) + 1) * _ROW_IN + 0.75
    grid = figure.panels(1, len(shown), height=height, sharey=True, sharex=True)[0]
    start, end = _ends(places)
    for axes, operation in zip(grid, shown, strict=True):
        of = places[places["operation"] == operation]
        scale = of["scale"].astype(float)
        _draw_rows(axes, of, rows, scale / MEGABYTE, below=0.30, above=0.30)
        for y, row in rows.iterrows():
            here = of[_same(of, row)]
            if len(here):
                median = float((here["rate_bytes_per_s"] * scale[here.index]).median()) / MEGABYTE
                _row_words(axes, float(str(y)), short_number(median), INK)
        _draw_published(axes, of)
        axes.set(title=operation, xlim=(start, end))
        axes.set_xlabel(f"MB/s per {thing}" + ", × scale" * scaled + f" (from {start:g})" * bool(start))
    _name_rows(grid[0], rows)
    grid[0].set_ylim(len(rows) - 0.5, -1.2)


def draw_links(figure: Frame, places: pd.DataFrame) -> None:
    """Rates of links as shares of what is stated for them, a row per kind and scale model; `places` as above."""
    rows = places[_ROW].drop_duplicates().reset_index(drop=True)
    share = 100 * places["rate_bytes_per_s"].astype(float) / places["stated_bytes_per_s"].astype(float)
    low, high = float(share.min()), max(100.0, float(share.max()))
    start = 0.0 if low < 60 else 5 * math.floor((low - 2) / 5)
    figure.key = _key(places)
    figure.subtitle = [
        "A dot is one direction between two hosts while all hosts talk in pairs: the median of n samples.",
        "Payload of one TCP stream: headers take some per cent of a link's rate.",
    ]
    axes = figure.panel(len(rows) * (_ROW_IN + 0.18) + 0.6)
    _draw_rows(axes, places, rows, 100 / places["stated_bytes_per_s"].astype(float), below=0.40, above=0.08)
    axes.set_xlim(start, high + 0.02 * (high - start))
    axes.set_xlabel("share of the stated rate of the link, %" + f" (from {start:g})" * bool(start))
    for y, row in rows.iterrows():
        of = places[_same(places, row)]
        shares = share[of.index]
        slowest = of["place"].iloc[int(shares.to_numpy().argmin())]
        link = link_words(float(of["stated_bytes_per_s"].iloc[0]))
        text = f"{len(of)} links of {link}: median {shares.median():.1f} %"
        _row_words(axes, float(str(y)) - 0.30, f"{text}, lowest {shares.min():.1f} % ({slowest})", GREY)
    _name_rows(axes, rows)
    axes.set_ylim(len(rows) - 0.5, -0.55)


_COLOURS = {"read": _DOT, "write": "#c2703d"}
_SIDE = {"read": 0.94, "write": 1.06}


def draw_requests(figure: Frame, requests: pd.DataFrame) -> None:
    """Requests to one disk and one array with heads (`request_rates`): streams and random, by number at a time."""
    kinds = list(dict.fromkeys(requests["what"].astype(str)))
    figure.subtitle = [
        "A dot is a sample of a server, times the scale of its model; the line joins medians.",
        "Left: streams of 1 MiB; right: 4 KiB anywhere, logarithmic. Per cent: of the diamond, else of the triangle.",
        "What is written waits for the medium, but on an array.",
    ]
    figure.key = [
        *(marks.key_mark("o", name, color=colour, markersize=3.5) for name, colour in _COLOURS.items()),
        marks.key_mark("D", "published, measured", **_HOLLOW),
        marks.key_mark("v", "data sheet", **_HOLLOW),
    ]
    grid = figure.panels(len(kinds), 2, height=2.3 * len(kinds) + 0.4)
    for line, what in zip(grid, kinds, strict=True):
        for axes, random in zip(line, (False, True), strict=True):
            rows = requests[(requests["what"] == what) & (requests["operation"].str.startswith("random") == random)]
            _draw_depths(axes, rows, 1.0 if random else MEGABYTE)
            axes.set_title(f"one {what}, {'random' if random else 'streams'}")
            axes.set_ylabel("requests/s, × scale" if random else "MB/s, × scale")
            if random:
                axes.set_yscale("log")
                low, high = axes.get_ylim()
                axes.set_ylim(low / 1.5, high * 1.3)
                marks.number_ticks(axes, "y", marks.log_ticks(low / 1.5, high * 1.3))
            else:
                axes.set_ylim(0, 1.12 * axes.get_ylim()[1])
    for axes in grid[-1]:
        axes.set_xlabel("requests at a time")


def _draw_depths(axes: Axes, rows: pd.DataFrame, unit: float) -> None:
    axes.set_xscale("log", base=2)
    depths = sorted(set(rows["depth"])) or [1]
    axes.set_xlim(depths[0] / 1.8, depths[-1] * 2.2)
    marks.number_ticks(axes, "x", depths)
    axes.grid(axis="y")
    for operation, of in rows.groupby("operation"):
        way = str(operation).removeprefix("random-")
        at, colour = of["depth"] * _SIDE[way], _COLOURS[way]
        axes.plot(at, of["full_size"] / unit, "o", color=colour, markersize=2.6, markeredgewidth=0, alpha=0.8, zorder=3)
        medians = of.groupby("depth")["full_size"].median() / unit
        axes.plot(medians.index * _SIDE[way], medians, color=colour, linewidth=0.9, zorder=2)
        for row in of.drop_duplicates("depth").to_dict("records"):
            depth, median = float(row["depth"]) * _SIDE[way], float(medians[row["depth"]])
            known = {"published": "D", "data_sheet": "v"}
            stated = {name: float(row[name]) / unit for name in known if row[name] == row[name]}
            for name, value in stated.items():
                aside = depth * (0.74 if way == "read" else 0.85)
                axes.plot([aside], [value], known[name], color=colour, markersize=5, markerfacecolor="white", zorder=4)
            if stated:
                away, side = ((0, 9), "center") if way == "read" else ((4, -10), "left")
                share = f"{100 * median / next(iter(stated.values())):.0f} %"
                marks.words(axes, share, (depth, median), away, ha=side, fontsize=7, color=colour)


def baseline_footer(places: pd.DataFrame, provenance: Provenance, digest: str) -> str:
    """The footer of the baseline instead of the campaign: `digest` is that of its manifest."""
    if places.empty:
        return ""
    counts = places["samples"] if "samples" in places else places.groupby(["what", "operation", "depth"]).size()
    campaign = f"{places['baseline'].iloc[0]} · {n_words(counts)}"
    own = replace(provenance, campaign=campaign, digest=digest)
    return own.place(places["scale"].astype(float), model=True)


def _row_words(axes: Axes, y: float, text: str, colour: str) -> None:
    place = {"xycoords": ("axes fraction", "data"), "ha": "left", "va": "center"}
    marks.words(axes, text, (0.0, y), (3, 0), fontsize=7.5, color=colour, **place)


def _draw_published(axes: Axes, of: pd.DataFrame) -> None:
    """What the study states for all rows, above them."""
    for column, marker in (("published_bytes_per_s", "D"), ("data_sheet_bytes_per_s", "v")):
        for value in sorted(set(of[column].dropna().astype(float) / MEGABYTE)):
            dashes = "-" if marker == "D" else ":"
            axes.axvline(value, ymax=0.94, color=GREY, linewidth=0.7, linestyle=dashes, zorder=0.5)
            axes.plot([value], [-0.85], marker, markersize=6, markerfacecolor="white", markeredgecolor=INK, zorder=4)


def _same(places: pd.DataFrame, row: pd.Series) -> pd.Series:
    return (places[_ROW] == row[_ROW]).all(axis=1)


def _draw_rows(
    axes: Axes, places: pd.DataFrame, rows: pd.DataFrame, factor: pd.Series, *, below: float, above: float
) -> None:
    """Dots of every row in order of rate, the lowest below, their median, and what cluster.yaml states."""
    for y, row in rows.iterrows():
        of = places[_same(places, row)]
        if of.empty:
            continue
        middle = float(str(y))
        by = factor[of.index]
        values = np.sort((of["rate_bytes_per_s"].astype(float) * by).to_numpy())
        heights = middle + np.linspace(below, -above, len(values)) if len(values) > 1 else [middle]
        axes.plot(values, heights, "o", color=_DOT, markersize=2.6, markeredgewidth=0, alpha=0.8, zorder=2)
        ends = middle - above - 0.05, middle + below + 0.05
        axes.vlines(float(np.median(values)), *ends, color=INK, linewidth=1.6, zorder=3)
        stated = float((of["stated_bytes_per_s"].astype(float) * by).iloc[0])
        if stated == stated:
            axes.vlines(stated, middle - 0.45, middle + 0.45, color=INK, linewidth=0.9, linestyle=_DASHES, zorder=1)
    for edge in range(1, len(rows)):
        axes.axhline(edge - 0.5, color=PALE, linewidth=0.5, zorder=0)
    axes.grid(visible=True, axis="x")
    marks.bare_rows(axes)
    axes.xaxis.set_major_formatter("{x:,g}")


def _name_rows(axes: Axes, rows: pd.DataFrame) -> None:
    labels = [f"{row.label}" + (f", 1:{row.scale:g}" if row.scale != 1 else "") for row in rows.itertuples()]
    marks.rows_axis(axes, labels, top=-0.5, below=0.5)


def _key(places: pd.DataFrame) -> list[Line2D]:
    known = {
        "rate": marks.key_mark("o", "one place", color=_DOT, markersize=3.5),
        "median": marks.key_mark("|", "median", markersize=9, markeredgewidth=1.6),
        "stated": Line2D([], [], color=INK, linewidth=0.9, linestyle=_DASHES, label="cluster.yaml"),
        "published": marks.key_mark("D", "published", **_HOLLOW),
        "data_sheet": marks.key_mark("v", "data sheet", **_HOLLOW),
    }
    return [mark for name, mark in known.items() if name == "median" or places[f"{name}_bytes_per_s"].notna().any()]


def _ends(places: pd.DataFrame) -> tuple[float, float]:
    """Ends of the axis of rates in MB/s: from 0 only where the rates come near it, for their spread is the message."""
    full = places[["rate_bytes_per_s", "stated_bytes_per_s"]].astype(float).mul(places["scale"].astype(float), axis=0)
    published = places[["published_bytes_per_s", "data_sheet_bytes_per_s"]].astype(float)
    values = np.hstack([full, published]) / MEGABYTE
    low, high = float(np.nanmin(values)), float(np.nanmax(values))
    # room for the words at the left
    start = low - 0.6 * (high - low) - 0.05 * high
    step = 10 ** math.floor(math.log10(high)) / 10
    start = step * math.floor(start / step)
    return (start if start > 0.3 * high else 0.0), high + 0.03 * (high - max(start, 0.0))
