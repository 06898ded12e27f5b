"""Percentiles of latency by the number of workers: half of the calls, and the slow ones that somebody waits for."""

from typing import Literal

import pandas as pd
from matplotlib.lines import Line2D

from glusterlab.analysis.select import operation_rank
from glusterlab.plots import marks
from glusterlab.plots.style import GREY, INK, Frame
from glusterlab.units import format_size

PERCENTILES: dict[str, tuple[str, Literal["-", "--", ":"]]] = {
    "latency_p50_s": ("p50", "-"),
    "latency_p95_s": ("p95", "--"),
    "latency_p99_s": ("p99", ":"),
}  # columns of the samples table, their names and lines


def draw_latency(figure: Frame, table: pd.DataFrame) -> None:
    """Summaries of each of `PERCENTILES`, one below the other: a row per layout, a column per operation and size."""
    keys = ["operation", "nominal_file_size_bytes", "record_size_bytes"]
    cells = table[keys].astype({"operation": str}).drop_duplicates()
    columns = sorted(cells.itertuples(index=False, name=None), key=lambda cell: (operation_rank(cell[0]), cell[1:]))
    series = sorted(table["series"].astype(str).unique())
    figure.subtitle = ["Of each sample's requests: half of them took at most the p50, 95 % the p95. Logarithmic."]
    lines = {
        label: dashes for quantity, (label, dashes) in PERCENTILES.items() if (table["quantity"] == quantity).any()
    }
    figure.key = [Line2D([], [], color=INK, linestyle=dashes, label=label) for label, dashes in lines.items()]
    figure.signs = marks.signs(table, published=False)
    height = 1.7 * len(series) + 0.5
    grid = figure.panels_by_workers(len(series), len(columns), table["workers"], height=height)
    for line, name in zip(grid, series, strict=True):
        for axes, (operation, size, record) in zip(line, columns, strict=True):
            records = "" if record != record else f", records of {format_size(int(record))}"
            axes.set_title(f"{operation} {format_size(int(size))}{records}", fontsize=8)
            axes.grid(axis="y")
            here = table[(table["series"].astype(str) == name) & (table["operation"].astype(str) == operation)]
            here = here[(here[keys[1]] == size) & (here[keys[2]].fillna(-1) == (record if record == record else -1))]
            if here.empty:
                axes.text(0.5, 0.5, "not measured", transform=axes.transAxes, ha="center", color=GREY)
            for quantity, (_, dashes) in PERCENTILES.items():
                rows = here[here["quantity"] == quantity].sort_values("workers")
                if len(rows):
                    marks.line(axes, rows, 1e3).set_linestyle(dashes)
        wrapped = name.replace(", ", ",\n", 1)
        line[0].set(yscale="log", ylabel=f"{wrapped}\nms" if len(series) > 1 else "ms")
    # one axis for all, so that rows can be compared
    ends = [end for line in grid for end in line[0].get_ylim()]
    low, high = min(ends), max(ends)
    for line in grid:
        line[0].set_ylim(low, high)
        marks.number_ticks(line[0], "y", marks.log_ticks(low, high))
    if len(series) == 1:
        figure.subtitle.insert(0, f"{series[0]}.")
