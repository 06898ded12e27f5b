"""Throughput per disk over file sizes, by layout."""

from collections.abc import Iterable

import pandas as pd
from matplotlib.axes import Axes

from glusterlab.analysis.select import SIZE_TOLERANCE, split_values
from glusterlab.analysis.words import best_count
from glusterlab.plots import marks
from glusterlab.plots.findings import leads
from glusterlab.plots.per_disk import ANY_LAYOUT
from glusterlab.plots.style import GREY, Frame, access_style, comparable, layout_key, row_style, top_of
from glusterlab.units import format_size

_GROUP = 0.8  # share of the step between two sizes that all series of a size may take
_DOT_SHIFT = 0.015  # share of the axis, samples to the right
_DECADES = 20.0  # means that span more have a logarithmic axis


class SizeAxis:
    """File sizes (nominal, bytes, and those of the table) at equal steps, the series of a size beside each other."""

    def __init__(self, sizes: Iterable[int], table: pd.DataFrame) -> None:
        self.sizes = list(sizes)
        for size in table["nominal_file_size_bytes"].astype(int):
            if not any(abs(size / known - 1) <= SIZE_TOLERANCE for known in self.sizes):
                self.sizes.append(int(size))
        self.sizes.sort()
        self.series = sorted(table["series"].unique())
        self.measured = {self.place(size) for size in table["nominal_file_size_bytes"]}
        self.length = len(self.sizes) + 0.2

    def place(self, size: float) -> int:
        return next(n for n, known in enumerate(self.sizes) if abs(size / known - 1) <= SIZE_TOLERANCE)

    def _shift(self, series: str) -> float:
        count = len(self.series)
        return (self.series.index(series) - (count - 1) / 2) * min(0.24, _GROUP / count)

    def places(self, rows: pd.DataFrame) -> list[float]:
        shift = self._shift(rows["series"].iloc[0])
        return [self.place(size) + shift for size in rows["nominal_file_size_bytes"]]

    def line(self, rows: pd.DataFrame, values: pd.Series) -> tuple[pd.Index, pd.Series]:
        """A line through values of one series, with gaps: none leads over a size that was not measured."""
        places = [self.place(size) for size in rows["nominal_file_size_bytes"]]
        known = pd.Series(values.to_numpy(dtype=float), index=places)
        # sizes that differ by less than the tolerance share a place
        drawn = known if known.index.has_duplicates else known.reindex(range(min(places), max(places) + 1))
        return drawn.index + self._shift(rows["series"].iloc[0]), drawn

    def draw(self, axes: Axes) -> None:
        """Ticks with the sizes; those without a value are marked "not measured"."""
        for place in sorted(set(range(len(self.sizes))) - self.measured):
            above = {"xycoords": ("data", "axes fraction"), "fontsize": 8, "color": GREY}
            marks.words(axes, "not measured", (place, 0), (0, 6), **above)
        marks.number_ticks(axes, "x", range(len(self.sizes)))
        axes.set(xticklabels=[format_size(size) for size in self.sizes], xlim=(-0.6, len(self.sizes) - 0.4))
        axes.grid(axis="y")


def draw_sizes(axes: Axes, table: pd.DataFrame, sizes: SizeAxis, factor: float) -> None:
    """Rows of `efficiency` of one operation: mean, 95 % interval, samples, the published number as a wide tick."""
    for name, rows in table.groupby("series", sort=True):
        rows = rows.sort_values("nominal_file_size_bytes")
        style = row_style(rows.iloc[0])
        places = sizes.places(rows)
        for at, values, mean in zip(places, rows["values"], rows["mean"], strict=True):
            alone = mean != mean
            beside = at if alone else at + _DOT_SHIFT * sizes.length
            look = {"alone": alone, "alpha": 0.6, "markersize": 4.5}
            marks.sample_dots(axes, beside, split_values(values, factor), style.colour, **look)
        axes.vlines(places, rows["low"] * factor, rows["high"] * factor, color=style.colour, linewidth=1.1)
        marks.whole_time(axes, places, rows, factor)
        line = sizes.line(rows, rows["mean"] * factor)
        axes.plot(*line, color=style.colour, marker=style.marker, label=name, **access_style(rows.iloc[0]))
        for at, value in zip(places, rows["published"].astype(float) * factor / rows["scale"], strict=True):
            if value == value:
                marks.stated(axes, at, value, colour=style.colour)
    # of no one layout: a line over all series of that size
    values = table["published_any"].astype(float) * factor / table["scale"].astype(float)
    found = zip(table["nominal_file_size_bytes"], values, strict=True)
    for size, value in sorted({(float(size), value) for size, value in found if value == value}):
        end = sizes.place(size) + _GROUP / 2
        axes.hlines(value, end - _GROUP, end, **marks.STATED_LINE)
        text = ANY_LAYOUT.replace(", ", ",\n")
        marks.words(axes, text, (end, value), (2, 0), ha="left", va="center", linespacing=1.0)
    sizes.draw(axes)


def draw_by_file_size(figure: Frame, table: pd.DataFrame, sizes: Iterable[int], *, unit: str, factor: float) -> None:
    """Throughput per disk or server (`efficiency`) of one operation over the study's file sizes (nominal, bytes)."""
    shown, of = comparable(table), table["quantity"].iloc[0].rpartition("_per_")[2]
    figure.key, figure.signs = layout_key(table), marks.signs(table)
    side = " Published numbers: on the right axis." if shown.two_axes and table["published"].notna().any() else ""
    figure.subtitle = [f"Over all {of}s of the pool, {best_count(table)}.{side}", *shown.note]
    axes, sizes_axis = figure.panel(), SizeAxis(sizes, table)
    at = table["nominal_file_size_bytes"].map(sizes_axis.place)
    figure.finding = leads((f"at {format_size(sizes_axis.sizes[n])}", table[at == n]) for n in sorted(set(at)))
    draw_sizes(axes, shown.table, sizes_axis, factor)
    stated = shown.table[["published", "published_any"]].astype(float).max(axis=1)
    most = (stated / shown.table["scale"].astype(float)).fillna(0).max() * factor * 1.1
    top, scaled = max(top_of(shown.table, factor), most), ""
    drawn = pd.Series([each for joined in shown.table["values"] for each in split_values(joined, factor)])
    if drawn.max() > _DECADES * drawn[drawn > 0].min():
        axes.set(yscale="log", ylim=(drawn[drawn > 0].min() / 1.5, top * 1.2))
        axes.yaxis.set_major_formatter("{x:,g}")
        scaled = ", logarithmic"
    else:
        axes.set_ylim(0, top)
    axes.set(xlabel="file size", ylabel=f"{unit} per {of}, {shown.words}{scaled}")
    shown.second_axis(axes, "y", f"{unit} per {of}")
