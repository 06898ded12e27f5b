"""Marks that figures share."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patheffects import withStroke
from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator, NullLocator

from glusterlab.analysis.select import VIEWS, split_values
from glusterlab.plots.style import GREY, INK, ink, interval_words, row_style
from glusterlab.units import short_number

DOTS_BELOW = 6  # samples; with fewer the dots are the figure, and a bar would promise more than it knows
DASHED = (0, (4, 3))
_BEHIND = 1.4  # what is published lies under the samples
STATED_LINE: dict[str, Any] = {"color": INK, "linewidth": 0.9, "linestyle": DASHED}  # what is published of any layout
_BACKGROUND = {"facecolor": "white", "edgecolor": "none"}


def sample_dots(
    axes: Axes,
    at: float,
    values: Sequence[float],
    colour: str,
    *,
    alone: bool = False,
    across: bool = False,
    **look: Any,
) -> None:
    """Samples of a point, on top: pale beside its mean, full where they are two groups (`alone`); `across`: at y."""
    places = [at] * len(values)
    shape: dict[str, Any] = {
        "marker": ".", "color": colour, "markeredgewidth": 0, "alpha": 0.5, "markersize": 4, "zorder": 3.5, **look,
    }  # fmt: skip
    if alone:
        shape |= {"alpha": 0.9, "markersize": 7}
        if not across:
            beside = {"ha": "right", "va": "bottom", "rotation": 90, "fontsize": 6.5, "color": colour}
            words(axes, "two groups", (at, min(values)), (-4, 0), **beside)
    axes.plot(*((values, places) if across else (places, values)), linestyle="none", **shape)


def as_bars(rows: pd.DataFrame) -> bool:
    """Whether means of a summary have bars: with fewer samples these themselves are the figure."""
    return bool((rows["n"] >= DOTS_BELOW).all())


def mean_in_row(axes: Axes, place: float, row: Mapping[Any, Any], factor: float, *, bars: bool) -> None:
    """A row of a summary, horizontal: its mean as a bar, else as a thick tick; 95 % interval, samples on top."""
    style, values, mean = row_style(row), split_values(row["values"], factor), row["mean"] * factor
    alone = math.isnan(mean)
    look: dict[str, Any] = {"markersize": 6}
    if bars:
        look = {"marker": "o", "markersize": 2.6, "markerfacecolor": "white", "markeredgewidth": 0.5}
    if not alone and bars:
        axes.barh(place, mean, height=0.62, color=style.colour, hatch=style.hatch, edgecolor="white", linewidth=0)
        # dark with a white edge, so that it can be seen on any colour
        axes.hlines(place, row["low"] * factor, row["high"] * factor, color="white", linewidth=3.2, zorder=2)
        axes.hlines(place, row["low"] * factor, row["high"] * factor, color=INK, linewidth=1.2, zorder=2)
    elif not alone:
        axes.hlines(place, 0, mean, color=style.colour, linewidth=1.0, alpha=0.45, zorder=1.2)
        axes.plot([mean], [place], "|", ms=15, mew=3, color=style.colour, zorder=1.8)
        axes.hlines(place, row["low"] * factor, row["high"] * factor, color=INK, linewidth=1.1, zorder=2)
    colour = INK if bars and not alone else style.colour
    sample_dots(axes, place, values, colour, alone=alone, across=True, alpha=1, **({} if alone else look))


def stated(axes: Axes, x: float, y: float, *, colour: str = INK, along: str = "y") -> None:
    """A number that the study states: a wide tick under the samples; the values are `along` that axis."""
    sign, size = ("_", 16) if along == "y" else ("|", 19)
    axes.plot([x], [y], sign, ms=size, mew=2.2, color=colour, alpha=0.8, zorder=_BEHIND)


def mean_words(row: Mapping[Any, Any], factor: float) -> str:
    """A row's mean, and times its scale; of two groups their centres."""
    if math.isnan(row["mean"]):
        return f"two groups, {' and '.join(short_number(row[f'group_{end}'] * factor) for end in ('low', 'high'))}"
    full = "" if row["scale"] == 1 else f"  (× {row['scale']:g}: {short_number(row['mean'] * row['scale'] * factor)})"
    return short_number(row["mean"] * factor) + full


def whole_time(axes: Axes, places: Sequence[float], rows: pd.DataFrame, factor: float, *, along: str = "y") -> None:
    """A cross at each mean of a rate over the whole time, where it is known; values `along` an axis."""
    if "whole_mean" in rows:
        values = rows["whole_mean"].astype(float) * factor
        colour = row_style(rows.iloc[0]).colour if along == "y" else INK
        at = (places, values) if along == "y" else (values, places)
        # under the mean of a curve, which it is where both agree
        axes.plot(*at, **WHOLE, color=colour, zorder=2.6 - (along == "y"))


# like no sample, mean or ring, and white around it, so that it can be seen on a bar and on a mean
WHOLE: dict[str, Any] = {
    "marker": "x", "linestyle": "none", "ms": 4.5, "mew": 1.1,
    "path_effects": [withStroke(linewidth=2.6, foreground="white")],
}  # fmt: skip


def signs(summary: pd.DataFrame, *, along: str = "y", published: bool | None = None) -> list[Line2D]:
    """What the marks of a summary are, for `Frame.signs`: sample, mean, interval, the other view, what is published."""
    if published is None:
        published = "published" in summary and bool(summary["published"].notna().any())
    flat = along == "y"
    bars = not flat and as_bars(summary)
    mean: dict[str, Any] = (
        {"marker": "s"} if flat or bars else {"marker": "|", "markersize": 10, "markeredgewidth": 2.5}
    )
    found = [
        key_mark(label="sample", marker=".", color=GREY, markersize=6, markeredgewidth=0),
        key_mark(label="mean, a bar" if bars else "mean", **{"markersize": 5} | mean),
        Line2D([], [], color=INK, linewidth=1.2, label=interval_words(summary)),
    ]
    if "whole_mean" in summary and summary["whole_mean"].notna().any():
        found.append(key_mark(label=VIEWS[1], **WHOLE))
    if not flat and "still_rising" in summary and summary["still_rising"].astype(bool).any():
        found.append(key_mark(r"$\uparrow$", "rose to the end: a lower bound", markeredgewidth=0, markersize=6))
    if published:
        found.append(key_mark("_" if flat else "|", "published", markersize=12, markeredgewidth=2.2, alpha=0.8))
    return found


def line(axes: Axes, rows: pd.DataFrame, factor: float = 1.0, *, hollow: bool = False, beside: float = 1.13) -> Line2D:
    """One series over workers: mean, 95 % interval, samples as dots `beside` it; a gap where they lie in two groups."""
    rows = rows.sort_values("workers")
    style = row_style(rows.iloc[0])
    workers = rows["workers"].astype(float).to_numpy()
    mean, low, high = (rows[name].astype(float).to_numpy() * factor for name in ("mean", "low", "high"))
    for count, values, of in zip(workers, rows["values"], mean, strict=True):
        alone = math.isnan(of)
        at = float(count if alone else count * beside)
        sample_dots(axes, at, split_values(values, factor), style.colour, alone=alone)
    axes.vlines(workers, low, high, color=style.colour, linewidth=1.0, alpha=0.8)
    whole_time(axes, list(workers), rows, factor)
    name, dashes, face = str(rows["series"].iloc[0]), "--" if hollow else "-", "white" if hollow else style.colour
    (drawn,) = axes.plot(workers, mean, color=style.colour, marker=style.marker, ls=dashes, mfc=face, label=name)
    return drawn


def line_end(drawn: Line2D) -> tuple[float, float]:
    """Where a line ends, to the right of its gaps; NaN where it has no point."""
    x, y = np.asarray(drawn.get_xdata(), dtype=float), np.asarray(drawn.get_ydata(), dtype=float)
    known = np.flatnonzero(np.isfinite(y))
    return (float(x[known[-1]]), float(y[known[-1]])) if known.size else (math.nan, math.nan)


def ring(
    axes: Axes, x: float, y: float, *, size: float = 12, width: float = 0.9, colour: str = INK, zorder: float = 2
) -> None:
    """A ring around a point that stands out."""
    axes.plot([x], [y], "o", ms=size, mfc="none", mec=colour, mew=width, zorder=zorder)


def above_limit(axes: Axes, x: float, y: float) -> None:
    """A rate that is above its limit by more than its interval."""
    axes.plot([x], [y], "^", mfc=INK, mec="white", mew=0.6, ms=7, zorder=4)


def words(axes: Axes, text: str, at: tuple[float, float], away: tuple[float, float], **style: Any) -> None:
    """Small words near a point, `away` points from it, centred unless `style` says otherwise."""
    style["color"] = ink(style.get("color", INK))
    axes.annotate(text, at, xytext=away, textcoords="offset points", **{"ha": "center", "fontsize": 7, **style})


def behind(alpha: float = 0.75, pad: float = 0.4) -> dict[str, Any]:
    """White behind words, so that they can be read where a line runs through them."""
    return {**_BACKGROUND, "alpha": alpha, "pad": pad}


def words_at_right(axes: Axes, place: float, text: str, **style: Any) -> None:
    """The numbers of a row, at the right end of its panel."""
    box = {**_BACKGROUND, "pad": 1.5}
    at_right: Any = {"xycoords": ("axes fraction", "data"), "ha": "right", "va": "center", "fontsize": 7.5}
    axes.annotate(text, (1, place), bbox=box, **at_right, **style)


def rows_axis(axes: Axes, names: Sequence[str], *, top: float = -0.62, below: float = 0.45, size: float = 8) -> None:
    """A vertical axis of named rows, the first on top, without ticks or spine."""
    axes.set_yticks(range(len(names)), list(names), fontsize=size)
    axes.set_ylim(len(names) - below, top)
    bare_rows(axes)
    axes.grid(visible=True, axis="x")


def bare_rows(axes: Axes) -> None:
    """A vertical axis without ticks and spine: its labels name rows."""
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)


def right_names(axes: Axes, texts: Sequence[str]) -> None:
    """Words at the right of each row, outside the panel."""
    right = axes.secondary_yaxis("right")
    right.set_yticks(range(len(texts)), list(texts), fontsize=6.5)
    right.tick_params(length=0, pad=7)
    right.spines["right"].set_visible(False)


def number_ticks(axes: Axes, which: Literal["x", "y"], ticks: Iterable[float]) -> None:
    """Ticks at these values only, plain numbers also on a logarithmic axis."""
    axis = axes.xaxis if which == "x" else axes.yaxis
    axis.set_major_locator(FixedLocator(list(ticks)))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))


@dataclass(frozen=True, slots=True)
class Mark:
    """How a verdict is drawn: colour and shape both tell it."""

    colour: str
    marker: str
    filled: bool = True

    @property
    def style(self) -> dict[str, Any]:
        face = self.colour if self.filled else "white"
        return {"markerfacecolor": face, "markeredgecolor": self.colour, "markeredgewidth": 1.0, "markersize": 5.5}


def ratio_in_row(
    axes: Axes, place: float, ratio: float, interval: tuple[float, float], mark: Mark, limits: tuple[float, float]
) -> None:
    """A ratio with its interval; what lies beyond the ends of the axis has an arrow. Nothing for NaN."""
    if math.isnan(ratio):
        return
    least, most = limits
    low, high = interval
    if low < most and high > least:
        axes.hlines(place, max(low, least), min(high, most), color=mark.colour, linewidth=1.3, zorder=3)
    inside = least <= ratio <= most
    shape = mark.marker if inside else ">" if ratio > most else "<"
    axes.plot([min(max(ratio, least), most)], [place], shape, clip_on=inside, zorder=4, **mark.style)


def ratio_ends(table: pd.DataFrame, least_room: float, most: float) -> tuple[float, float]:
    """Ends of a logarithmic axis, alike on both sides of 1: all of ``ratio``, ``low`` and ``high``, within `most`."""
    ends = table[["ratio", "low", "high"]].astype(float).to_numpy().ravel()
    furthest = max((abs(math.log(end)) for end in ends if end > 0), default=0.0)
    room = min(math.log(most), max(1.12 * furthest, least_room))
    return math.exp(-room), math.exp(room)


def log_axis(axes: Axes, limits: tuple[float, float], ticks: Iterable[float]) -> None:
    """A logarithmic horizontal axis of ratios."""
    axes.set(xscale="log", xlim=limits)
    number_ticks(axes, "x", ticks)


def log_ticks(least: float, most: float) -> list[float]:
    """Three to eight round values on a logarithmic axis, as far as its ends allow.

    >>> log_ticks(0.9, 40), log_ticks(2, 6), log_ticks(31, 36), log_ticks(1, 1e6)[:3]
    ([1.0, 2.0, 5.0, 10.0, 20.0], [2.0, 3.0, 5.0], [32.0, 34.0, 36.0], [1.0, 10.0, 100.0])
    """
    decades = range(math.floor(math.log10(least)), math.ceil(math.log10(most)) + 1)
    for steps in ((1, 2, 5), (1, 3), (1,), (1, 1.5, 2, 3, 5, 7)):
        found = [step * 10.0**decade for decade in decades for step in steps if least <= step * 10.0**decade <= most]
        if 3 <= len(found) <= 8:
            return found
    return [
        float(tick) for tick in MaxNLocator(4, steps=(1, 2, 5, 10)).tick_values(least, most) if least <= tick <= most
    ]


def ratio_ticks(least: float, most: float, room: float = 0.055) -> list[float]:
    """Round ratios on a logarithmic axis, as many as have room; `room` is what a label takes, a share of the axis."""
    width = math.log(most / least)
    found: list[float] = []
    for tick in (1.0, 2.0, 0.5, 4.0, 0.25, 8.0, 1.5, 0.8, 1.25, 3.0, 6.0):
        near = any(abs(math.log(tick / other)) < room * width for other in found)
        if least <= tick <= most and not near:
            found.append(tick)
    return sorted(found)


def key_mark(marker: str, label: str, **style: Any) -> Line2D:
    """A mark without a line, for `Frame.key` and `Frame.signs`."""
    return Line2D([], [], marker=marker, label=label, **{"color": INK, "linestyle": "none", **style})


def verdict_key(verdicts: pd.Series, shapes: Mapping[str, Mark], names: Mapping[str, str]) -> list[Line2D]:
    """A mark for each verdict that there is, with how often it is."""
    counts = verdicts.value_counts()
    return [
        key_mark(mark.marker, f"{names.get(verdict, verdict)} ({counts[verdict]})", **mark.style)
        for verdict, mark in shapes.items()
        if counts.get(verdict, 0)
    ]
