"""The scorecard as a picture: each claim's measured ratio with its interval, beside what the study allows."""

import math

import pandas as pd
from matplotlib.axes import Axes

from glusterlab.plots import marks
from glusterlab.plots.marks import Mark
from glusterlab.plots.style import GREY, INK, PALE, Frame
from glusterlab.units import short_number

LEAST, MOST = 0.25, 8.0  # ends of the axis at the widest: what lies beyond has an arrow, and its number beside it

MARKS = {
    "reproduced": Mark("#1f4e89", "o"),
    "compatible": Mark("#1f4e89", "h", filled=False),
    "contradicted": Mark("#8f1d3f", "X"),
    "insufficient n": Mark("#6b6b6b", "s", filled=False),
    "depends on counting": Mark("#e07b39", "^"),
    "model cannot tell": Mark("#a3a3a3", "P", filled=False),
    "not measured": Mark("#a3a3a3", "d", filled=False),
}


def value_text(row: pd.Series) -> str:
    """What stands at the right of a claim of a scorecard: the measured number, of a value the published one, n."""
    text = short_number(float(row["measured"]))
    if str(row["kind"]) == "value":
        text += f" for {row['published']}"
    elif not math.isnan(float(row["low"])):
        text += f" ({short_number(float(row['low']))} to {short_number(float(row['high']))})"
    return f"{text}, n = {row['n']}"


def draw_claims(axes: Axes, rows: pd.DataFrame, limits: tuple[float, float]) -> None:
    """A line per claim: a bar for what is allowed, a diamond for the published ratio, a mark for the measured one."""
    least, most = limits
    for place, (_, row) in enumerate(rows.iterrows()):
        low, high = max(row["band_low"], least), min(row["band_high"], most)
        if low < high:
            axes.hlines(place, low, high, color=PALE, linewidth=7.5, zorder=1)
        if least <= row["ratio_published"] <= most:
            axes.plot([row["ratio_published"]], [place], "D", ms=5, mfc="white", mec=INK, mew=1.0, zorder=2)
        interval = row["ratio_low"], row["ratio_high"]
        marks.ratio_in_row(axes, place, row["ratio"], interval, MARKS[str(row["verdict"])], limits)
    axes.axvline(1.0, color=GREY, linewidth=0.7, zorder=0)
    marks.rows_axis(axes, [str(name) for name in rows["id"]], top=-0.6, below=0.4, size=7)
    marks.right_names(axes, [value_text(row) for _, row in rows.iterrows()])


def draw_scorecard(figure: Frame, table: pd.DataFrame, *, cells: pd.DataFrame) -> None:
    """Rows of a scorecard that have a ratio, one panel per chapter; `cells` are those behind them, for the footer."""
    figure.rows = cells
    figure.key = marks.verdict_key(table["verdict"], MARKS, {"not measured": "measured in part"})
    figure.subtitle = [
        "Ratio of what a claim compares; of a value, measured to published. Line: 95 % interval, where n is 3 or more.",
        "Pale bar: what the study's words allow. Hollow diamond: its number, where it states one. Right: the numbers.",
    ]
    chapters = list(table.groupby(table["chapter"].astype(str), sort=False))
    ends = table[["ratio", "ratio_low", "ratio_high", "ratio_published"]].astype(float).to_numpy()
    ends = ends[ends > 0]
    limits = max(LEAST, min(0.7, ends.min() / 1.1)), min(MOST, max(1.6, ends.max() * 1.1))
    height, heights = len(table) * 0.185 + len(chapters) * 0.30 + 0.5, [len(rows) + 0.5 for _, rows in chapters]
    grid = figure.panels(len(chapters), height=height, height_ratios=heights, sharex=True)[:, 0]
    for axes, (chapter, rows) in zip(grid, chapters, strict=True):
        draw_claims(axes, rows, limits)
        axes.set_title(chapter, fontsize=8.5)
    marks.log_axis(grid[-1], limits, marks.ratio_ticks(*limits))
    grid[-1].set_xlabel("ratio (logarithmic)")
