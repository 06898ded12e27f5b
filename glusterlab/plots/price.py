"""What layouts do for the money (F10, F22, F23), and how that changes when a price moves."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from glusterlab.analysis.blocks import counts_words, worker_counts
from glusterlab.analysis.reading import worker_count
from glusterlab.analysis.series import operation_rank
from glusterlab.plots.per_disk import RISING
from glusterlab.plots.style import (
    GREY,
    INK,
    Provenance,
    house_style,
    interval_words,
    layout_key,
    new_figure,
    row_style,
)
from glusterlab.units import short_number

BAR_IN, PANEL_IN = 0.36, 0.30
PANEL_HEIGHT_IN = 2.45
TICKS = (0.5, 0.7, 1.0, 1.4, 2.0)
LABELLED_RINGS = 2
"""So many rings of a panel tell their factor: those nearest to 1. `crossing_sentences` tells of all."""


def _named(row: pd.Series) -> str:
    return f"{row['series']} ({row['server']})"


def _factors(row: pd.Series, *, equal_capacity: bool) -> str:
    """The ratio, and the two ratios that it is made of."""
    if row["series"] == row["reference"]:
        told = "1, first configuration"
    else:
        cost = float(row["cost_per_usable_relative"] if equal_capacity else row["pool_cost"] / row["reference_cost"])
        relative = float(row["relative"])
        told = short_number(relative)
        factors = f" = {short_number(relative * cost)} / {short_number(cost)}"
        told += ", capacity not known" if np.isnan(cost) else factors
    return f"{told}, {worker_count(int(row['workers']))}" + f" {RISING}" * bool(row["still_rising"])


def draw_per_cost(axes: Axes, rows: pd.DataFrame, *, equal_capacity: bool) -> None:
    """One bar per layout of one operation: the ratio to the first configuration, and its 95 % interval.

    Parameters
    ----------
    axes : matplotlib.axes.Axes
    rows : pandas.DataFrame
        Rows of `glusterlab.analysis.price.relative_per_cost` of one operation.
    equal_capacity : bool
        Whether the words beside a bar tell its factors at equal usable capacity.
    """
    for place, row in rows.reset_index(drop=True).iterrows():
        position = float(str(place))
        style = row_style(row)
        relative, low, high = (float(row[name]) for name in ("relative", "relative_low", "relative_high"))
        axes.barh(
            position, relative, height=0.62, color=style.colour, hatch=style.hatch, edgecolor="white", linewidth=0
        )
        if low < high:
            axes.hlines(position, low, high, color="white", linewidth=3.2, zorder=2)
            axes.hlines(position, low, high, color=INK, linewidth=1.2, zorder=2)
        axes.annotate(
            _factors(row, equal_capacity=equal_capacity),
            (1, position),
            xycoords=("axes fraction", "data"),
            ha="right",
            va="center",
            fontsize=7.5,
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 1.5},
        )
    axes.axvline(1, color=INK, linewidth=0.8, linestyle=(0, (3, 2)), zorder=1.5)
    axes.set_yticks(range(len(rows)), [_named(row) for _, row in rows.iterrows()])
    axes.set_ylim(len(rows) - 0.45, -0.62)
    axes.tick_params(axis="y", length=0)
    axes.tick_params(axis="x", color=GREY)
    axes.spines["left"].set_visible(False)
    axes.grid(axis="x")


def per_cost_figure(
    table: pd.DataFrame, provenance: Provenance, *, title: str, what: str, notice: str, equal_capacity: bool = False
) -> Figure:
    """Throughput or files per second per cost by layout, as ratios to the first configuration; a panel per operation.

    Parameters
    ----------
    table : pandas.DataFrame
        From `glusterlab.analysis.price.relative_per_cost`; at least one row.
    provenance : Provenance
    title : str
    what : str
        What is divided by the cost: ``throughput``.
    notice : str
        Of the price list, as a sentence.
    equal_capacity : bool
        Whether both factors are told for pools of equal usable capacity.
    """
    drawn = table[table["relative"].notna()].copy()
    costs = drawn.drop_duplicates("series").set_index("series")["pool_cost"]
    drawn["reference_cost"] = [float(costs[name]) for name in drawn["reference"]]
    operations = sorted(drawn["operation"].astype(str).unique(), key=operation_rank)
    bars = [int((drawn["operation"].astype(str) == operation).sum()) for operation in operations]
    others = drawn[drawn["series"] != drawn["reference"]].rename(columns={"low": "_", "relative_low": "low"})
    intervals = interval_words(others, "of the ratio") if len(others) else "none, nothing to compare"
    pools = "of equal usable capacity" if equal_capacity else "as measured"
    subtitle = [
        f"Ratio to {drawn['reference'].iloc[0]}. Line: {intervals}; a price is exact and adds none.",
        f"Beside a bar: ratio = {what} / cost of pools {pools}, both relative; and the number of workers.",
        f"At {counts_words(map(worker_counts, drawn['measured_workers']))}.",
        *rising_words(drawn),
        notice,
    ]
    ends = drawn[["relative", "relative_high"]].to_numpy(dtype=float)
    with house_style():
        figure, grid = new_figure(
            title,
            subtitle,
            provenance.footer(drawn),
            panels_height=sum(bars) * BAR_IN + len(operations) * PANEL_IN + 0.5,
            rows=len(operations),
            share_x=True,
            heights=bars,
        )
        for axes, operation in zip(grid[:, 0], operations, strict=True):
            draw_per_cost(axes, drawn[drawn["operation"].astype(str) == operation], equal_capacity=equal_capacity)
            axes.set_title(operation)
        grid[-1][0].set_xlim(0, float(np.nanmax(ends)) * 1.62)
        grid[-1][0].set_xlabel(f"{what} per cost, relative")
    return figure


def rising_words(table: pd.DataFrame) -> list[str]:
    """What the arrow behind a number of workers says, where there is one."""
    if not table["still_rising"].astype(bool).any():
        return []
    return [f"{RISING}: it still rose at the most workers that were measured, so that this layout may do more."]


def draw_sensitivity(axes: Axes, rows: pd.DataFrame, crossings: pd.DataFrame) -> None:
    """One line per layout over the factor of a price, the interval at factor 1, and rings where two lines cross.

    Its mark stands at both ends of a line, too, so that lines can be told apart without colour.

    Parameters
    ----------
    axes : matplotlib.axes.Axes
    rows : pandas.DataFrame
        From `glusterlab.analysis.price.sensitivity`, of one price and operation.
    crossings : pandas.DataFrame
        From `glusterlab.analysis.price.crossings`, of the same.
    """
    series = sorted(rows["series"].unique())
    for n, name in enumerate(series):
        line = rows[rows["series"] == name].sort_values("factor")
        style = row_style(line.iloc[0])
        axes.plot(
            line["factor"],
            line["relative"],
            color=style.colour,
            marker=style.marker,
            markevery=[0, len(line) - 1],
            markersize=4.5,
            clip_on=False,
        )
        now = line[(line["factor"] == 1.0) & line["relative_low"].notna()]
        # beside each other, so that intervals of lines that meet can be told apart
        at = 2 ** ((n - (len(series) - 1) / 2) * 0.045)
        axes.vlines([at] * len(now), now["relative_low"], now["relative_high"], color=style.colour, linewidth=1.1)
        axes.plot([at] * len(now), now["relative"], style.marker, color=style.colour, markersize=4)
    nearest = crossings.assign(_far=np.abs(np.log(crossings["factor"].astype(float)))).sort_values("_far")
    for place, (_, crossing) in enumerate(nearest.iterrows()):
        axes.plot(
            [crossing["factor"]],
            [crossing["relative"]],
            "o",
            markersize=8,
            markerfacecolor="none",
            markeredgecolor=INK,
            markeredgewidth=1.0,
            zorder=4,
        )
        if place < LABELLED_RINGS:
            end = float(crossing["factor"])
            axes.annotate(
                f"× {crossing['factor']:.2f}",
                (crossing["factor"], crossing["relative"]),
                # the nearest above its ring and the next below, so that they do not meet
                xytext=(0, -6 if place else 6),
                textcoords="offset points",
                ha="left" if end < 0.57 else "right" if end > 1.8 else "center",
                va="top" if place else "bottom",
                fontsize=7,
                zorder=5,
                bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.75, "pad": 0.4},
            )
    axes.set_xscale("log", base=2)
    axes.xaxis.set_major_locator(FixedLocator(list(TICKS)))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.set_xlim(float(rows["factor"].min()) / 1.04, float(rows["factor"].max()) * 1.04)
    axes.axvline(1, color=GREY, linewidth=0.6)
    axes.grid(axis="y")


def sensitivity_figure(
    moved: pd.DataFrame,
    provenance: Provenance,
    *,
    title: str,
    measured: pd.DataFrame,
    crossings: pd.DataFrame,
    notice: str,
    moves: Sequence[str] = (),
) -> Figure:
    """How throughput per cost, relative to the first configuration, changes while one price moves.

    Parameters
    ----------
    moved : pandas.DataFrame
        From `glusterlab.analysis.price.sensitivity`; at least one row.
    provenance : Provenance
    title : str
    measured : pandas.DataFrame
        From `glusterlab.analysis.price.relative_per_cost`: what `moved` was made from, for the footer.
    crossings : pandas.DataFrame
        From `glusterlab.analysis.price.crossings`.
    notice : str
        Of the price list, as a sentence.
    moves : sequence of str
        Prices in the order of the columns; default: as they come.
    """
    operations = sorted(moved["operation"].astype(str).unique(), key=operation_rank)
    columns = list(moves) or list(dict.fromkeys(moved["move"]))
    first = measured["reference"].iloc[0]
    rings = f"Ring: two layouts change places; the {LABELLED_RINGS} nearest to 1 of a panel have their factor."
    subtitle = [
        f"Ratio to {first} at the same prices. Bars at 1: {interval_words(measured, 'of it')}.",
        rings if len(crossings) else "None change places.",
        notice,
    ]
    with house_style():
        figure, grid = new_figure(
            title,
            subtitle,
            provenance.footer(measured),
            panels_height=PANEL_HEIGHT_IN * len(operations) + 0.2,
            rows=len(operations),
            columns=len(columns),
            share_x=True,
            share_y="row",
            key=layout_key(moved),
        )
        for line, operation in zip(grid, operations, strict=True):
            for axes, move in zip(line, columns, strict=True):
                wanted = (moved["operation"].astype(str) == operation) & (moved["move"] == move)
                found = (crossings["operation"].astype(str) == operation) & (crossings["move"] == move)
                draw_sensitivity(axes, moved[wanted], crossings[found])
                axes.set_title(f"{operation}, price of\n{move}")
            line[0].set_ylabel("throughput per cost, relative")
        for axes in grid[-1]:
            axes.set_xlabel("× the list's price")
    return figure
