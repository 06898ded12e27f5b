"""Streams at a fixed rate: how many each layout holds, and what latency and throughput do as there are more of them."""

from collections.abc import Sequence

import pandas as pd

from glusterlab.analysis.select import split_values
from glusterlab.plots import marks
from glusterlab.plots.style import Frame

COURSE = {"latency_mean_s": ("mean latency, ms", 1e3), "throughput_bytes_per_s": ("MB/s", 1e-6)}
"""Columns of the samples table that are drawn by the number of streams: axis and factor."""

_BAR_IN = 0.42


def draw_totals(figure: Frame, table: pd.DataFrame, *, axis: str, beside: Sequence[str]) -> None:
    """A summary of what is as it is at any scale, such as a time: a row per cell, words right `beside` each mean."""
    figure.signs = marks.signs(table, along="x", published=False)
    axes = figure.panel(len(table) * _BAR_IN + 0.6)
    for place, (row, words) in enumerate(zip(table.to_dict("records"), beside, strict=True)):
        marks.mean_in_row(axes, place, row, 1.0, bars=marks.as_bars(table))
        marks.words_at_right(axes, place, f"{marks.mean_words(row | {'scale': 1}, 1.0)}{words}")
    marks.rows_axis(axes, list(table["series"]))
    most = max(value for values in table["values"] for value in split_values(values))
    axes.set(xlim=(0, 1.5 * max(most, table["high"].fillna(0).max(), 1)), xlabel=axis)


def draw_streams_held(figure: Frame, table: pd.DataFrame, *, stands_for: float) -> None:
    """A summary of ``streams_held``: a bar per layout; `stands_for`: streams that one of the model stands for."""
    model = "" if stands_for == 1 else f" One stream of the model stands for {stands_for:.3g}."
    figure.subtitle = [f"Streams of the largest load of which 95 % kept 95 % of their rate.{model}"]
    draw_totals(figure, table, axis="streams held", beside=[f", {disks} disks" for disks in table["disks"]])


def draw_by_streams(figure: Frame, table: pd.DataFrame) -> None:
    """Summaries of each of `COURSE`, one panel below the other, a line per layout; loads are in equal steps."""
    figure.signs = marks.signs(table, published=False)
    grid = figure.panels(len(COURSE), 1, height=4.2, sharex=True)[:, 0]
    marks.number_ticks(grid[-1], "x", sorted(table["workers"].unique()))
    grid[-1].set_xlim(0, 1.25 * table["workers"].max())
    for axes, (quantity, (label, factor)) in zip(grid, COURSE.items(), strict=True):
        here = table[table["quantity"] == quantity]
        for name in sorted(here["series"].astype(str).unique()):
            drawn = marks.line(axes, here[here["series"].astype(str) == name], factor, beside=1)
            text = name.replace(", ", ",\n", 1)
            marks.words(axes, text, marks.line_end(drawn), (11, 0), ha="left", va="center", color=drawn.get_color())
        axes.set(ylabel=label, ylim=(0, None))
        axes.grid(axis="y")
    grid[-1].set_xlabel("streams at once")
