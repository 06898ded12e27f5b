"""What layouts do for the money, and how that changes when a price moves."""

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from glusterlab.analysis.blocks import counts_words, worker_counts
from glusterlab.analysis.select import operations_of
from glusterlab.analysis.words import worker_count
from glusterlab.plots import marks
from glusterlab.plots.findings import by_operation, leads
from glusterlab.plots.per_disk import RISING
from glusterlab.plots.style import GREY, INK, Frame, interval_words, layout_key, row_style
from glusterlab.stats import TWO_GROUPS
from glusterlab.units import short_number

RISES = f"{RISING}: it still rose at the most workers that were measured, so that this layout may do more."
LABELLED_RINGS = 2  # rings of a panel that have their factor: those nearest to 1


def _factors(row: pd.Series, *, equal_capacity: bool) -> str:
    """The ratio, and the two ratios that it is made of."""
    if row["series"] == row["reference"]:
        text = "1, first configuration"
    else:
        cost = float(row["cost_per_usable_relative"] if equal_capacity else row["pool_cost"] / row["reference_cost"])
        relative = float(row["relative"])
        text = short_number(relative)
        factors = f" = {short_number(relative * cost)} / {short_number(cost)}"
        text += ", capacity not known" if np.isnan(cost) else factors
    return f"{text}, {worker_count(int(row['workers']))}" + f" {RISING}" * bool(row["still_rising"])


def draw_bars(axes: Axes, rows: pd.DataFrame, *, equal_capacity: bool) -> None:
    """Ratios of one operation to the first configuration; the words beside a point tell its two factors."""
    for place, (_, row) in enumerate(rows.iterrows()):
        style = row_style(row)
        axes.hlines(place, 1, row["relative"], color=style.colour, linewidth=1.0, alpha=0.45, zorder=1.2)
        if row["relative_low"] < row["relative_high"]:
            axes.hlines(place, row["relative_low"], row["relative_high"], color=style.colour, linewidth=1.6, zorder=2)
        axes.plot([row["relative"]], [place], style.marker, color=style.colour, markersize=6, zorder=3)
        marks.words_at_right(axes, place, _factors(row, equal_capacity=equal_capacity))
    axes.axvline(1, color=INK, linewidth=0.8, linestyle=(0, (3, 2)), zorder=1.5)
    marks.rows_axis(axes, [f"{row['series']} ({row['server']})" for _, row in rows.iterrows()])


def draw_per_cost(figure: Frame, table: pd.DataFrame, *, what: str, notice: str, equal_capacity: bool = False) -> None:
    """What layouts do per cost (`relative_per_cost`); `what` is divided by the cost: ``throughput``."""
    drawn = table[table["relative"].notna()].copy()
    costs = drawn.drop_duplicates("series").set_index("series")["pool_cost"]
    drawn["reference_cost"] = [float(costs[name]) for name in drawn["reference"]]
    operations = operations_of(drawn)
    panels = [drawn[drawn["operation"].astype(str) == operation] for operation in operations]
    others = drawn[drawn["series"] != drawn["reference"]].rename(columns={"low": "_", "relative_low": "low"})
    apart = [f"{row['operation']}, {row['series']}" for row in table.query("groups == 2").to_dict("records")]
    intervals = interval_words(others, "of the ratio") if len(others) else "none, nothing to compare"
    pools = "of equal usable capacity" if equal_capacity else "as measured"
    figure.rows = drawn
    ratios = {"mean": drawn["relative"], "low": drawn["relative_low"], "high": drawn["relative_high"]}
    if "whole_mean" in drawn:
        ratios["whole_mean"] = drawn["whole_mean"] * drawn["relative"] / drawn["mean"]
    # the first configuration is exactly 1
    ratios |= {name: ratios[name].fillna(drawn["relative"]) for name in ("low", "high")}
    figure.finding = leads(by_operation(drawn.assign(**ratios))).replace(" leads ", " does most for the money ")
    figure.subtitle = [
        f"Ratio to {drawn['reference'].iloc[0]}. Line: {intervals}; a price is exact and adds none.",
        notice,
        f"Beside a point: ratio = {what} / cost of pools {pools}, both relative; and the number of workers.",
        f"At {counts_words(map(worker_counts, drawn['measured_workers']))}.",
        *([f"No ratio, {TWO_GROUPS}: {'; '.join(apart)}."] if apart else []),
        *([RISES] if drawn["still_rising"].astype(bool).any() else []),
    ]
    bars = [len(rows) for rows in panels]
    height = sum(bars) * 0.36 + len(bars) * 0.30 + 0.5
    grid = figure.panels(len(bars), height=height, height_ratios=bars, sharex=True)[:, 0]
    for axes, operation, rows in zip(grid, operations, panels, strict=True):
        draw_bars(axes, rows, equal_capacity=equal_capacity)
        axes.set_title(operation)
    grid[-1].set_xlim(
        min(0.5, 0.8 * float(drawn["relative"].min())),
        float(np.nanmax(drawn[["relative", "relative_high"]].to_numpy(dtype=float))) * 1.62,
    )
    grid[-1].set_xlabel(f"{what} per cost, relative")


def draw_lines(axes: Axes, rows: pd.DataFrame, crossings: pd.DataFrame) -> None:
    """One line per layout over the factor of a price, the interval at factor 1, and rings where two lines cross."""
    series = sorted(rows["series"].unique())
    for n, name in enumerate(series):
        line = rows[rows["series"] == name].sort_values("factor")
        style = row_style(line.iloc[0])
        look: dict[str, Any] = {"color": style.colour, "marker": style.marker}
        axes.plot(line["factor"], line["relative"], markevery=[0, len(line) - 1], markersize=4.5, clip_on=False, **look)
        now = line[(line["factor"] == 1.0) & line["relative_low"].notna()]
        # beside each other, so that intervals of lines that meet can be told apart
        at = 2 ** ((n - (len(series) - 1) / 2) * 0.045)
        axes.vlines([at] * len(now), now["relative_low"], now["relative_high"], color=style.colour, linewidth=1.1)
        axes.plot([at] * len(now), now["relative"], style.marker, color=style.colour, markersize=4)
    nearest = crossings.sort_values("factor", key=lambda factors: np.abs(np.log(factors.astype(float))))
    for place, (_, crossing) in enumerate(nearest.iterrows()):
        x, y = float(crossing["factor"]), float(crossing["relative"])
        marks.ring(axes, x, y, size=8, width=1.0, zorder=4)
        if place < LABELLED_RINGS:
            # the nearest above its ring and the next below, so that they do not meet
            side = {"ha": "left" if x < 0.57 else "right" if x > 1.8 else "center", "va": "top" if place else "bottom"}
            away = (0, -6 if place else 6)
            marks.words(axes, f"× {x:.2f}", (x, y), away, zorder=5, bbox=marks.behind(), **side)
    axes.set_xscale("log", base=2)
    marks.number_ticks(axes, "x", (0.5, 0.7, 1.0, 1.4, 2.0))
    axes.set_xlim(float(rows["factor"].min()) / 1.04, float(rows["factor"].max()) * 1.04)
    axes.axvline(1, color=GREY, linewidth=0.6)
    axes.grid(axis="y")


def draw_sensitivity(
    figure: Frame, moved: pd.DataFrame, *, measured: pd.DataFrame, crossings: pd.DataFrame, notice: str
) -> None:
    """How `sensitivity` moves ratios, and where `crossings` are; `measured` is what both were made from."""
    operations = operations_of(moved)
    columns = list(dict.fromkeys(moved["move"]))
    rings = f"Ring: two layouts change places; the {LABELLED_RINGS} nearest to 1 of a panel have their factor."
    figure.rows, figure.key = measured, layout_key(moved)
    figure.subtitle = [
        f"Ratio to {measured['reference'].iloc[0]} at the same prices. Bars at 1: {interval_words(measured, 'of it')}.",
        notice,
        rings if len(crossings) else "None change places.",
    ]
    height = 2.45 * len(operations) + 0.2
    both = moved, crossings
    grid = figure.panels(len(operations), len(columns), height=height, sharex=True, sharey="row")
    for line, operation in zip(grid, operations, strict=True):
        for axes, move in zip(line, columns, strict=True):
            of = [rows[(rows["operation"].astype(str) == operation) & (rows["move"] == move)] for rows in both]
            draw_lines(axes, *of)
            axes.set_title(f"{operation}, price of\n{move}")
        line[0].set_ylabel("throughput per cost, relative")
    for axes in grid[-1]:
        axes.set_xlabel("× the list's price")
