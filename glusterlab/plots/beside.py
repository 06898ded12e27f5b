"""What a study states of several systems beside what was measured of some: a row per system, a panel per case."""

import pandas as pd

from glusterlab.analysis.select import split_values
from glusterlab.plots import marks
from glusterlab.plots.per_disk import PANEL_IN
from glusterlab.plots.style import GREY, INK, Frame, comparable
from glusterlab.units import short_number


def draw_beside(figure: Frame, table: pd.DataFrame, *, unit: str, factor: float) -> None:
    """Rows of a summary, ``n`` 0 where nothing was measured, with ``panel``, ``system``, ``stated`` (at full size)."""
    figure.rows = rows = table[table["n"] > 0]
    shown, bars = comparable(rows), marks.as_bars(rows)
    figure.subtitle = [*shown.note, *(["Published numbers: on the lower axis."] if shown.two_axes else [])]
    figure.signs = marks.signs(rows, along="x", published=True)
    panels = list(table.groupby("panel", sort=False, observed=True))
    counts = [len(of) for _, of in panels]
    height = 0.33 * sum(counts) + PANEL_IN * len(counts) + 0.6 + 0.5 * shown.two_axes
    grid = figure.panels(len(counts), height=height, height_ratios=counts, sharex=True)[:, 0]
    for axes, (name, of) in zip(grid, panels, strict=True):
        for place, row in enumerate(of.itertuples()):
            stated = split_values(row.stated, factor)
            for value in stated:
                marks.stated(axes, value / shown.scale, place, along="x")
            words = "not measured"
            if row.n:
                found = shown.table.loc[[row.Index]]
                (measured,) = found.to_dict("records")
                marks.mean_in_row(axes, place, measured, factor, bars=bars)
                marks.whole_time(axes, [place], found, factor, along="x")
                words = marks.mean_words(measured, factor)
            words += f"; published {', '.join(map(short_number, stated))}" * bool(stated)
            marks.words_at_right(axes, place, words, color=INK if row.n else GREY)
        names = [
            f"{row.system}\n{row.series}" if row.n and row.type != "other" else f"{row.system}"
            for row in of.itertuples()
        ]
        marks.rows_axis(axes, names, size=7.5)
        axes.set_title(name)
    grid[-1].set(xlim=(0, 1.8 * max(axes.dataLim.x1 for axes in grid)), xlabel=f"{unit}, {shown.words}")
    shown.second_axis(grid[-1], "x", unit)
