"""House style of every figure: colours of layouts, which differ in grey, too, title, footer; see `house.mplstyle`."""

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

import matplotlib.style
import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.gridspec import GridSpec
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, NullLocator

from glusterlab.analysis.select import VIEWS, WHOLE_TIME, split_values
from glusterlab.errors import DataError
from glusterlab.stats import MIN_SAMPLES, TWO_GROUPS
from glusterlab.units import format_size

Grid = np.ndarray[tuple[int, int], np.dtype[np.object_]]

WIDTH_IN, PNG_DPI = 7.2, 130
NARROW_IN = 4.8  # on a phone a word is as high as in the wide picture on a desk
_STYLE = Path(__file__).with_name("house.mplstyle")
INK, GREY, PALE = "#222222", "#6b6b6b", "#d9d9d9"
LEGIBLE = 4.5  # contrast of words, by WCAG 2

KEY_LINES = 2  # below a title; more is read in the caption

_TITLE_IN, _LINE_IN, _FOOTER_IN = 0.34, 0.18, 0.30
_FOOTER_LINE_IN = 0.11  # of each line from the third on: two fit into the footer's height
_LEFT, _TITLE_LINE_IN = 0.012, 0.20
_ROW_WORDS = 22  # characters that a narrow panel has room for beside a bar
_CHARACTER_IN, _MARK_IN = 0.058, 0.45  # widths in a key: of a letter on average, and of a mark with the room around it


@dataclass(frozen=True, slots=True)
class LayoutStyle:
    """How one layout is drawn everywhere."""

    colour: str
    marker: str
    hatch: str


_KNOWN = {
    ("replicate", "3x2", "raid6"): LayoutStyle("#1f4e89", "s", ""),
    ("replicate", "6x2", "raid6"): LayoutStyle("#356aa3", "D", "///"),
    ("disperse", "12x(4+2)", "jbod"): LayoutStyle("#e07b39", "o", "///"),
    ("disperse", "24x(4+2)", "jbod"): LayoutStyle("#cc583d", "h", "..."),
    ("disperse", "1x(4+2)", "raid6"): LayoutStyle("#e3b23c", "^", "xxx"),
    ("disperse", "2x(4+2)", "raid6"): LayoutStyle("#c2aa61", "v", "|||"),
    ("disperse", "24x(4+2)", "raid0"): LayoutStyle("#cf82ae", "p", "---"),
}  # the layouts of the studies

_FAMILIES = {
    "replicate": ("#1f4e89", "#356aa3", "#86afd6", "#0f2f57"),
    "disperse": ("#e07b39", "#cc583d", "#e3b23c", "#c2aa61"),
    "distribute": ("#2a7f62", "#66a98f", "#145240", "#9ccbb7"),
}
_OTHERS = ("#6f5a8f", "#a190bd", "#4b3a68", "#9a4f86")
_MARKERS = ("s", "o", "^", "D", "v", "p", "h", "P")
_HATCHES = ("", "///", "...", "xxx", "\\\\\\", "|||", "---")


def layout_style(type_: str, geometry: str, kind: str) -> LayoutStyle:
    """Colour, marker and hatching of a layout; of one that no study has by a digest, within the hues of its type."""
    if known := _KNOWN.get((type_, geometry, kind)):
        return known
    hue, marker, hatch, *_ = hashlib.sha256("\0".join((type_, geometry, kind)).encode()).digest()
    hues = _FAMILIES.get(type_, _OTHERS)
    return LayoutStyle(hues[hue % len(hues)], _MARKERS[marker % len(_MARKERS)], _HATCHES[hatch % len(_HATCHES)])


def contrast(colour: Any) -> float:
    """Contrast of a colour to white, 1 to 21, as WCAG 2 defines it."""
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in to_rgb(colour)]
    return float(1.05 / (np.dot((0.2126, 0.7152, 0.0722), linear) + 0.05))


def ink(colour: Any) -> Any:
    """A colour for words on white: as it is, or darker, so that its contrast is at least 4.5."""
    share = 1.0
    while contrast(tuple(share * part for part in to_rgb(colour))) < LEGIBLE:
        share *= 0.95
    return colour if share == 1 else tuple(share * part for part in to_rgb(colour))


def row_style(row: Mapping[Any, Any] | pd.Series) -> LayoutStyle:
    """`layout_style` of a row that has the columns ``type``, ``geometry`` and ``kind``."""
    return layout_style(str(row["type"]), str(row["geometry"]), str(row["kind"]))


def told_apart(styles: Mapping[str, LayoutStyle]) -> dict[str, LayoutStyle]:
    """Styles by series, with other markers where several are of one colour and marker, as far as there are markers."""
    found: dict[str, LayoutStyle] = {}
    own = {(style.colour, style.marker) for style in styles.values()}
    taken: set[tuple[str, str]] = set()
    for name, style in styles.items():
        free = [marker for marker in _MARKERS if (style.colour, marker) not in own | taken]
        first = (style.colour, style.marker) not in taken or not free
        found[name] = style if first else replace(style, marker=free[0])
        taken.add((style.colour, found[name].marker))
    return found


IMPORTED = "imported, conditions not recorded"  # what figures say of a campaign that others measured


UNCHECKED = "access existing: its bricks, heal and servers not checked"
"""What figures say of a campaign that measured what the operator mounted."""


MODEL = ("scale", "operations_limited", "heads", "file_size_bytes", "nominal_file_size_bytes")
"""Columns by which a footer says what stands for what on a scale model."""


DIGEST_LENGTH = 12  # characters of a digest that footers and CSV files show


@dataclass(frozen=True, slots=True)
class Provenance:
    """Where a figure's numbers come from, for its footer."""

    campaign: str
    release: str  # empty where an import does not know it
    digest: str  # SHA-256 of the raw files, hexadecimal
    testbed: bool
    imported: bool = False
    half_width: float | None = None  # share of the mean at which repeats ended: intervals then cover a little less
    existing: bool = False  # some cells were measured in a directory that the operator mounted
    latency_s: float = 0.0  # of each request to disks of the scale model that have it in the place of heads

    def footer(self, summary: pd.DataFrame) -> str:
        """The footer line of a table with ``n``, and on a testbed the columns `MODEL`; DataError when it lacks any."""
        needed = ("n", *(MODEL if self.testbed else ()))
        if lacking := [name for name in needed if name not in summary]:
            columns, found = ", ".join(lacking), ", ".join(map(str, summary.columns)) or "none"
            advice = "add them, set `rows` of the frame to the rows behind the figure, or give it a `footer`"
            raise DataError(f"the footer of a figure: expected also the columns {columns}, found {found}; {advice}")
        n = n_words(summary["n"])
        if "groups" in summary and (apart := int((summary["groups"] == 2).sum())):
            n += f", {TWO_GROUPS} in {apart} of {len(summary)} values: no mean"
        if self.half_width is not None:
            n += f", repeated until ± {100 * self.half_width:g} %"
        release = [f"GlusterFS {self.release}"] if self.release else []
        # which view of a rate is drawn; what is no rate has none
        view = [VIEWS[0]] if "whole_mean" in summary else []
        return self._line([*release, n, *view], scale_model(summary, self.latency_s) if self.testbed else [])

    def place(self, scales: Iterable[float] = (), *, model: bool = False) -> str:
        """The footer of a figure without samples: the campaign, and the scale models (or with `model`, just that)."""
        words = scale_words(scales)
        shown = self.testbed and (words or model)
        return self._line([], [f"scale model {words} on one machine".replace("  ", " ")] if shown else [])

    def _line(self, measured: list[str], model: list[str]) -> str:
        manifest = f"manifest {self.digest[:DIGEST_LENGTH]}"
        parts = [self.campaign, *measured, manifest, *([IMPORTED] if self.imported else [])]
        return " · ".join([*parts, *model])


def n_words(counts: Iterable[int]) -> str:
    """Numbers of samples for a footer: ``n = 3``, or ``n = 3 to 6``."""
    least, *others = sorted({int(count) for count in counts})
    return f"n = {least}" + (f" to {others[-1]}" if others else "")


def scale_model(rows: pd.DataFrame, latency_s: float = 0.0) -> list[str]:
    """Parts of a footer: what stands for what on a scale model, whose disks answer after `latency_s` or have heads."""
    model = f"scale model {scale_words(rows['scale'])} on one machine"
    sizes = sorted(set(zip(rows["nominal_file_size_bytes"], rows["file_size_bytes"], strict=True)))
    for number, (nominal, size) in enumerate(each for each in sizes if each[0] != each[1]):
        model += f", {format_size(int(size))} {'for' if number else 'stands for'} {format_size(int(nominal))}"
    parts = [model, *(["disk operations/s assumed"] if rows["operations_limited"].astype(bool).any() else [])]
    if (heads := rows["heads"].astype(bool)).any():
        what = f"that answer after {1e3 * latency_s:g} ms" if latency_s else "with heads"
        parts.append(f"disks {what} ({scale_words(rows.loc[heads, 'scale'])})")
    return parts


def scale_words(scales: Iterable[float], form: str = "1:{:g}", last: str = "and") -> str:
    """Scales in words: ``1:20, 1:60 and 1:200``; none of none."""
    ratios = [form.format(float(scale)) for scale in sorted(set(scales))]
    return f" {last} ".join(part for part in (", ".join(ratios[:-1]), *ratios[-1:]) if part)


def house_style() -> AbstractContextManager[None]:
    """Matplotlib's settings for the time of drawing or saving one figure; the user's own are left alone."""
    return matplotlib.style.context(_STYLE, after_reset=True)


class Frame:
    """A figure of house style while it is drawn, without pyplot: nothing stays open or is shown by itself."""

    def __init__(self, title: str, label: str = "") -> None:
        self.title, self.label = title, label
        self.finding = ""  # what the data support: then the title's place is below it
        self.subtitle: list[str] = []  # how to read it: `KEY_LINES` of it are drawn, the rest is left in `notes`
        self.notes: list[str] = []
        self.key: list[Line2D] = []  # series
        self.signs: list[Line2D] = []  # what each mark is, whatever the series
        self.rows: pd.DataFrame | None = None  # behind the footer, where they are not the table that is saved
        self.saved: object = None  # what became of it
        # words are measured as the PNG has them: hinting makes them wider on some grids of pixels
        self.figure = Figure(figsize=(WIDTH_IN, WIDTH_IN), dpi=PNG_DPI)
        FigureCanvasAgg(self.figure)
        self._height = 0.0
        self._panels: Grid = np.empty((0, 0), dtype=np.object_)
        self._around: list[Artist] = []  # words and keys around the panels

    @property
    def sentence(self) -> str:
        """The finding as a sentence begins; ways of access, such as nfs3, are written as they are."""
        kept = self.finding.startswith(("nfs", "smb", "gfapi"))
        return self.finding if kept else self.finding[:1].upper() + self.finding[1:]

    def panels(self, rows: int = 1, columns: int = 1, *, height: float, **options: Any) -> Grid:
        """Axes, an array of shape (rows, columns), `height` inches all together; `options` as of `Figure.subplots`."""
        self._height = height
        self._panels = self.figure.subplots(rows, columns, squeeze=False, **options)
        return self._panels

    def panel(self, height: float = 2.9) -> Axes:
        axes: Axes = self.panels(height=height)[0][0]
        return axes

    def panels_by_workers(self, rows: int, columns: int, workers: Iterable[int], *, height: float) -> Grid:
        """Panels over one axis with ticks at the measured worker counts only."""
        grid = self.panels(rows, columns, height=height, sharey="row", sharex="all")
        counts = sorted({int(count) for count in workers})
        for axes in grid[-1]:
            axes.set_xscale("log", base=2)
            axes.set_xlim(counts[0] / 1.35, counts[-1] * 1.35)
            axes.xaxis.set_major_locator(FixedLocator(counts))
            axes.xaxis.set_minor_locator(NullLocator())
            axes.xaxis.set_major_formatter("{x:.0f}")
            axes.set_xlabel("workers in total")
        self.figure.align_ylabels(list(grid[:, 0]))
        return grid

    def narrow(self, footer: str) -> Figure:
        """The finished figure once more, for a phone: `NARROW_IN` wide, its panels below one another."""
        for artist in self._around:
            artist.remove()
        self._around = []
        rows, columns = self._panels.shape
        for axes in self.figure.axes:
            axes.set_in_layout(True)  # a place that was set took it out
            for words in axes.texts:
                long = len(words.get_text()) > _ROW_WORDS
                if long and words.get_horizontalalignment() == "right":  # numbers of a row, beside its bar
                    text = words.get_text()
                    words.set_text(text.replace("; ", ";\n") if "; " in text else ",\n".join(text.rsplit(", ", 1)))
        if columns > 1:
            places = GridSpec(rows * columns, 1, figure=self.figure)
            for row, line in enumerate(self._panels):
                for column, axes in enumerate(line):
                    axes.set_subplotspec(places[row * columns + column])
                    axes.tick_params(labelleft=True)
                    axes.set_ylabel(line[0].get_ylabel())
                    axes.set_title(axes.get_title("left") or self._panels[0][column].get_title("left"))
            self._height *= columns
        return self.finish(footer, NARROW_IN)

    def finish(self, footer: str, width: float = WIDTH_IN) -> Figure:
        figure, put = self.figure, self._around.append
        figure.set_size_inches(width, WIDTH_IN)
        keys = [(handles, _columns(handles, width)) for handles in (self.key, self.signs) if handles]
        rows_of_keys = [-(-len(handles) // columns) for handles, columns in keys]
        headline = self.sentence or self.title
        title = self._lines("  ".join(filter(None, [self.label, headline])), fontsize=11, fontweight="bold")
        subtitle = self._lines(f"{self.title}.", fontsize=8) if self.finding else []
        room = len(subtitle) + KEY_LINES
        for number, line in enumerate(self.subtitle):
            parts = self._lines(line, fontsize=8)
            if len(subtitle) + len(parts) > room:
                self.notes = self.subtitle[number:]
                break
            subtitle += parts
        top = _TITLE_IN + _TITLE_LINE_IN * (len(title) - 1)
        head = top + _LINE_IN * len(subtitle) + (_LINE_IN * sum(rows_of_keys) + 0.08) * bool(keys)
        small = _wrapped(footer, partial(self._share, font={"fontsize": 6.5}))
        foot = _FOOTER_IN + _FOOTER_LINE_IN * max(0, small.count("\n") - 1)
        height = head + self._height + foot
        figure.set_size_inches(width, height)
        figure.set_layout_engine(ConstrainedLayoutEngine(rect=(0.0, foot / height, 1.0, self._height / height)))
        for n, line in enumerate(title):
            y = 1 - (0.10 + _TITLE_LINE_IN * n) / height
            put(figure.text(_LEFT, y, line, fontsize=11, fontweight="bold", va="top"))
        for n, line in enumerate(subtitle):
            put(figure.text(_LEFT, 1 - (top + _LINE_IN * n) / height, line, fontsize=8, color=GREY, va="top"))
        put(figure.text(_LEFT, 0.09 / height, small, fontsize=6.5, color=GREY, va="bottom", linespacing=1.15))
        down = head - _LINE_IN * sum(rows_of_keys) - 0.06
        for (handles, columns), rows in zip(keys, rows_of_keys, strict=True):
            corner = (_LEFT, 1 - down / height)
            spaces: dict[str, Any] = {"borderaxespad": 0, "columnspacing": 1.6, "handletextpad": 0.6, "borderpad": 0.0}
            put(figure.legend(handles=handles, loc="upper left", bbox_to_anchor=corner, ncols=columns, **spaces))
            down += _LINE_IN * rows
        return figure

    def _lines(self, text: str, **font: Any) -> list[str]:
        share = partial(self._share, font=font)
        return [text] if share(text) <= 1 - 2 * _LEFT else wrapped(text, 1 - 2 * _LEFT, share)

    def _share(self, line: str, font: Mapping[str, Any]) -> float:
        """Width of a line, which is more with hinting than that of its outlines, as a share of the figure's."""
        shown = self.figure.text(0, 0, line, **font)
        width = shown.get_window_extent().width / self.figure.bbox.width
        shown.remove()
        return float(width)


def _columns(handles: Sequence[Line2D], width: float) -> int:
    """Columns of a key whose names stay within the figure: one row of them where they fit."""
    widths = [len(str(line.get_label())) * _CHARACTER_IN + _MARK_IN for line in handles]
    return len(handles) if sum(widths) <= width else max(1, int(width / max(widths)))


def wrapped(text: str, width: float, measure: Callable[[str], float]) -> list[str]:
    """A text in lines of at most a width, as `measure` finds it; a word that is longer is broken."""
    lines: list[str] = []
    for number, word in enumerate(text.replace("\n", " ").split(" ")):
        if number and measure(f"{lines[-1]} {word}") <= width:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
        while (wide := measure(lines[-1])) > width and len(lines[-1]) > 1:
            end = max(1, int(0.95 * len(lines[-1]) * width / wide))
            lines[-1:] = [lines[-1][:end], lines[-1][end:]]
    return lines


def _wrapped(footer: str, share: Callable[[str], float]) -> str:
    """A footer in lines that are no longer than a figure is wide, broken between its parts where they fit."""
    lines: list[str] = []
    for part in footer.split(" · "):
        joined = f"{lines[-1]} · {part}" if lines else part
        if lines and len(joined) <= 146 and share(joined) <= 1 - _LEFT:
            lines[-1] = joined
        else:
            lines += [part] if share(part) <= 1 - _LEFT else wrapped(part, 1 - _LEFT, share)
    return "\n".join(lines)


def layout_key(summary: pd.DataFrame) -> list[Line2D]:
    """One mark per series of a summary, with its name, for the key of a figure."""
    rows = summary.drop_duplicates("series").sort_values("series").to_dict("records")
    styles = [(row_style(row), {"label": str(row["series"]), **access_style(row)}) for row in rows]
    return [Line2D([], [], color=style.colour, marker=style.marker, **rest) for style, rest in styles]


def access_style(row: Mapping[Any, Any] | pd.Series) -> dict[str, Any]:
    """How a line shows that clients do not use the native protocol: dashed, with hollow marks."""
    native = str(row.get("access", "native")) == "native"
    return {} if native else {"linestyle": "--", "markerfacecolor": "white"}


def interval_words(summary: pd.DataFrame, of: str = "(t)") -> str:
    """What the lines at the means of a summary (with ``low``) are."""
    lacking = summary["low"].isna()
    few = lacking & (summary["n"] < MIN_SAMPLES)
    if lacking.all():
        return "no interval, insufficient n" if few.any() else f"no interval, {TWO_GROUPS}"
    return f"95 % interval {of}{f' where n is {MIN_SAMPLES} or more' if few.any() else ''}"


def top_of(summary: pd.DataFrame, factor: float) -> float:
    """Upper end of an axis: above all samples and intervals, with room for a label."""
    samples = [value for values in summary["values"] for value in split_values(values)]
    return factor * max([*samples, float(summary["high"].fillna(0).max())]) * 1.12


@dataclass(frozen=True, slots=True)
class Comparable:
    """A table for one axis, and the scale of a second one with published numbers, 1 for none; `words`: after a unit."""

    table: pd.DataFrame
    scale: float
    words: str
    note: list[str]

    @property
    def two_axes(self) -> bool:
        return self.scale != 1

    def second_axis(self, axes: Axes, which: Literal["x", "y"], unit: str) -> None:
        """A second axis with the values times the scale, labelled as what a full-size pool would show; none for 1."""
        scale = self.scale
        if scale == 1:
            return
        functions = (lambda value: value * scale, lambda value: value / scale)
        if which == "y":
            second = axes.secondary_yaxis("right", functions=functions)
            second.set_ylabel(f"× {scale:g}: as the full-size\npool would show, {unit}")
            second.spines["right"].set_visible(True)
            second.yaxis.set_major_formatter("{x:,g}")
        else:
            second = axes.secondary_xaxis("bottom", functions=functions)
            second.spines["bottom"].set_position(("outward", 38))
            second.set_xlabel(f"{unit}, × {scale:g}: as the full-size pool would show")
            second.xaxis.set_major_formatter("{x:,g}")


def comparable(table: pd.DataFrame) -> Comparable:
    """Values with a ``scale`` for one axis: measured ones of one scale as they are, of several times their scales."""
    scales = sorted({float(scale) for scale in table["scale"]})
    if len(scales) < 2:
        return Comparable(table, scales[0] if scales else 1.0, "measured", [])
    note = f"From scale models of {scale_words(scales)}: each value is times its own scale, as a full-size pool."
    scale = table["scale"].astype(float)
    names = [name for name in ("mean", "low", "high", "limit", *WHOLE_TIME) if name in table]
    full = {name: table[name].astype(float) * scale for name in names}
    samples = [split_values(joined, by) for joined, by in zip(table["values"], scale, strict=True)]
    values = [";".join(f"{value:.9g}" for value in each) for each in samples]
    return Comparable(table.assign(**full, values=values, scale=1.0), 1.0, "× scale", [note])
