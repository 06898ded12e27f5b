"""What a pool's raw capacity is spent on, by layout (F3)."""

from __future__ import annotations

from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from glusterlab.plots.style import INK, PALE, Provenance, house_style, new_figure, row_style

BAR_IN = 0.55
_ROOM_IN = 0.75
_NARROW = 0.09
"""Share of the axis below which a part has no room for its name."""

PARTS = ("usable", "replica", "parity")
"""Parts of a bar, from the left; the columns are ``<part>_bytes``."""


def draw_capacity(axes: Axes, table: pd.DataFrame, factor: float, unit: str, stated: float | None = None) -> None:
    """One bar per layout: usable, then further copies, then parity; the gain over the first layout beside it.

    Parameters
    ----------
    axes : matplotlib.axes.Axes
    table : pandas.DataFrame
        From `glusterlab.analysis.capacity.capacity_table`.
    factor : float
        From bytes to `unit`.
    unit : str
    stated : float, optional
        The gain that the study states, bytes: it stands beside the second bar's.
    """
    end = float(table["raw_bytes"].max()) * factor
    first = table.iloc[0]
    for place, row in table.reset_index(drop=True).iterrows():
        position = float(str(place))
        style = row_style(row)
        left = 0.0
        fills: dict[str, dict[str, Any]] = {
            "usable": {"color": style.colour},
            "replica": {"color": style.colour, "alpha": 0.28},
            "parity": {"color": PALE, "edgecolor": "white", "hatch": "////"},
        }
        for part in PARTS:
            size = float(row[f"{part}_bytes"]) * factor
            if size <= 0:
                continue
            axes.barh(position, size, left=left, height=0.56, **fills[part])
            text = f"{part}\n{size:,.0f} {unit}" if size > _NARROW * end else f"{size:,.0f}"
            axes.text(
                left + size / 2,
                position,
                text,
                ha="center",
                va="center",
                fontsize=8,
                color="white" if part == "usable" else INK,
                bbox={"facecolor": "white", "edgecolor": "none", "pad": 1.5} if part == "parity" else None,
            )
            left += size
        gain = (float(row["usable_bytes"]) - float(first["usable_bytes"])) * factor
        if gain and int(row["disks"]) == int(first["disks"]):
            start = float(first["usable_bytes"]) * factor
            axes.plot([start, start], [position - 0.72, position + 0.28], color=INK, linewidth=1, linestyle=(0, (3, 2)))
            told = f"{gain:+,.0f} {unit} usable"
            if stated is not None and position == 1:
                told += f" (guide: {stated * factor:+,.0f} {unit})"
            axes.annotate(
                told,
                (start, position - 0.36),
                xytext=(-4 if gain < 0 else 4, 0),
                textcoords="offset points",
                ha="right" if gain < 0 else "left",
                va="center",
                fontsize=8,
                fontweight="bold",
            )
    axes.set_yticks(range(len(table)), [f"{row['series']}" for _, row in table.iterrows()])
    axes.set_ylim(len(table) - 0.5, -0.5)
    axes.set_xlim(0, end)
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    axes.grid(axis="x", color=PALE)
    axes.set_xlabel(f"{unit} (10$^{{12}}$ bytes)" if unit == "TB" else unit)


def capacity_figure(
    table: pd.DataFrame, provenance: Provenance, *, title: str, disk: str, stated: float | None = None
) -> Figure:
    """Usable, replica and parity capacity by layout: computed, nothing of it is measured.

    Parameters
    ----------
    table : pandas.DataFrame
        From `glusterlab.analysis.capacity.capacity_table`; at least one row.
    provenance : Provenance
    title : str
    disk : str
        The disks in words: ``6 TB``.
    stated : float, optional
        The gain of the second layout over the first that the study states, bytes.
    """
    shapes = sorted({(int(row["servers"]), int(row["disks"]) // int(row["servers"])) for _, row in table.iterrows()})
    pools = " and ".join(f"{servers} servers × {disks} disks" for servers, disks in shapes)
    subtitle = [
        f"{pools} of {disk}. Computed from the layouts, not measured.",
        "RAID 6 gives 2 disks of each array to parity; replicate r stores r copies; disperse k+m adds m bricks to k.",
    ]
    with house_style():
        figure, grid = new_figure(title, subtitle, provenance.place(), panels_height=len(table) * BAR_IN + _ROOM_IN)
        draw_capacity(grid[0][0], table, 1e-12, "TB", stated)
    return figure
