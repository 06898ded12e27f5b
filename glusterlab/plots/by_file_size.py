"""Throughput per disk over file sizes, by layout."""

from collections.abc import Iterable

import pandas as pd
from matplotlib.axes import Axes

from glusterlab.analysis.select import SIZE_TOLERANCE, split_values
from glusterlab.analysis.words import best_count
from glusterlab.plots import marks
from glusterlab.plots.per_disk import ANY_LAYOUT
from glusterlab.plots.style import GREY, Frame, access_style, comparable, interval_words, layout_key, row_style, top_of
from glusterlab.units import format_size

_GROUP = 0.8  # share of the step between two sizes that all series of a size may take
_STATED_SHIFT, _DOT_SHIFT = 0.016, 0.015  # shares of the axis, published numbers to the left, samples to the right
_SMALL = 0.04  # share of the axis below which a mean has its number beside it


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
        axes.set_xticklabels([format_size(size) for size in self.sizes])
        axes.set_xlim(-0.6, len(self.sizes) - 0.4)
        axes.grid(axis="y")


def draw_sizes(axes: Axes, table: pd.DataFrame, sizes: SizeAxis, factor: float) -> None:
    """Rows of `efficiency` of one operation: mean, 95 % interval, samples, the published number as a hollow diamond."""
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
                marks.diamond(axes, at - _STATED_SHIFT * sizes.length, value, colour=style.colour)
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
    """Throughput per disk (`efficiency`) of one operation over the study's file sizes (nominal, bytes)."""
    shown = comparable(table)
    figure.key = layout_key(table)
    figure.subtitle = [
        f"Over all disks of the pool, {best_count(table)}.",
        f"Mark: mean; line: {interval_words(table)}; dots beside it: the samples.",
        *shown.note,
    ]
    if table["published"].notna().any():
        side = ", on the right axis" if shown.two_axes else ""
        figure.subtitle.append(f"Hollow diamond: the published number for that layout{side}.")
    axes, sizes_axis = figure.panel(), SizeAxis(sizes, table)
    draw_sizes(axes, shown.table, sizes_axis, factor)
    stated = shown.table[["published", "published_any"]].astype(float).max(axis=1)
    most = (stated / shown.table["scale"].astype(float)).fillna(0).max() * factor * 1.1
    axes.set_ylim(0, max(top_of(shown.table, factor), most))
    # means that are too near to 0 to be read from the axis have their number
    small = shown.table[shown.table["mean"] * factor < _SMALL * axes.get_ylim()[1]]
    for number, row in small.iterrows():
        (at,) = sizes_axis.places(small.loc[[number]])
        top = max(row["mean"], row["high"] if row["high"] == row["high"] else 0.0) * factor
        style = {"fontsize": 6.5, "color": row_style(row).colour, "bbox": marks.behind(0.8)}
        marks.words(axes, f"{row['mean'] * factor:.2g}", (at, top), (0, 6), **style)
    axes.set_xlabel("file size")
    axes.set_ylabel(f"{unit} per disk, {shown.words}")
    shown.second_axis(axes, "y", f"{unit} per disk")
