"""Tested file sizes on a logarithmic axis with what they stand for, and what the campaign writes for them (F4)."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from glusterlab.plots.style import GREY, INK, PALE, Provenance, house_style, new_figure, scale_words
from glusterlab.units import format_size

ROW_IN = 0.47
_HERE = "#1f4e89"


def written_words(row: pd.Series) -> str:
    """What the campaign writes for a size, in two lines.

    Examples
    --------
    >>> here = {"tool": "iozone", "file_size_bytes": 10 << 20, "nominal_file_size_bytes": 4 << 30, "scale": 200.0}
    >>> here |= {"record_size_bytes": 262144.0, "length": 0.5, "workers": "1 to 96", "files_per_worker": "1"}
    >>> print(written_words(pd.Series(here)))
    iozone: 10 MiB, records of 256 KiB
    1:200, 1/2 of that length, 1 to 96 workers
    """
    if not row["tool"]:
        return "not in this campaign"
    size = f"{row['tool']}: {format_size(int(row['file_size_bytes']))}"
    if not math.isnan(float(row["record_size_bytes"])):
        size += f", records of {format_size(int(row['record_size_bytes']))}"
    elif row["files_per_worker"] != "1":
        size += f", {row['files_per_worker']} files per worker"
    model = []
    if row["scale"] != 1:
        scaled = row["file_size_bytes"] != row["nominal_file_size_bytes"]
        model.append(scale_words([row["scale"]]) if scaled else f"size kept, hardware {scale_words([row['scale']])}")
    if row["length"] != 1:
        times = f"{_share(row['length'])} of" if row["length"] < 1 else f"{row['length']:g} times"
        model.append(f"{times} that length")
    workers = f"{row['workers']} worker{'' if row['workers'] == '1' else 's'}"
    return f"{size}\n{', '.join([*model, workers])}"


def draw_file_sizes(axes: Axes, table: pd.DataFrame) -> None:
    """A row per size, from the smallest at the bottom: the study's as a dot, the file written here as a hollow square.

    Parameters
    ----------
    axes : matplotlib.axes.Axes
    table : pandas.DataFrame
        From `glusterlab.analysis.file_sizes.file_sizes_table`.
    """
    names = list(dict.fromkeys(table["label"].astype(str)))
    for name, rows in table.groupby("label", sort=False):
        place = names.index(str(name))
        nominal = float(rows["nominal_file_size_bytes"].iloc[0])
        studied = bool(rows["use_case"].iloc[0])
        for size in rows["file_size_bytes"].dropna().astype(float):
            axes.plot([size, nominal], [place, place], color=_HERE, linewidth=0.9, linestyle=":", zorder=1)
            axes.plot([size], [place], "s", markersize=8, markerfacecolor="none", markeredgecolor=_HERE, zorder=2)
        if studied:
            axes.plot([nominal], [place], "o", color=INK, markersize=5, zorder=3)
        axes.annotate(
            "\n".join(written_words(row) for _, row in rows.iterrows()),
            (1.02, place),
            xycoords=("axes fraction", "data"),
            va="center",
            fontsize=7,
            color=_HERE if rows["tool"].iloc[0] else GREY,
            annotation_clip=False,
        )
    _draw_line(axes, table, names)
    axes.set_yticks(range(len(names)), [_row_name(table[table["label"] == name].iloc[0]) for name in names])
    axes.set_ylim(-0.6, len(names) - 0.4)
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    axes.grid(axis="y", color=PALE)


def _share(length: float) -> str:
    """A share as a fraction where it is one.

    Examples
    --------
    >>> _share(0.03125), _share(0.4)
    ('1/32', '0.4')
    """
    parts = round(1 / length)
    return f"1/{parts}" if abs(length * parts - 1) < 1e-9 else f"{length:g}"


def _row_name(row: pd.Series) -> str:
    return "\n".join(part for part in (str(row["label"]), str(row["use_case"])) if part)


def _draw_line(axes: Axes, table: pd.DataFrame, names: list[str]) -> None:
    """The logarithmic line through the sizes that lie on it, as far as the smallest size of the study."""
    studied = table[table["use_case"] != ""].drop_duplicates("label")
    line = studied[studied["on_line"].astype(bool)]
    if len(line) < 2:
        return
    places = np.array([names.index(str(name)) for name in line["label"]], dtype=float)
    slope, start = np.polyfit(places, np.log2(line["nominal_file_size_bytes"].astype(float)), 1)
    ends = np.array([0.0, places.max()])
    axes.plot(2 ** (start + slope * ends), ends, color=GREY, linewidth=0.9, zorder=0.5)


def _size_axis(axes: Axes, sizes: pd.Series) -> None:
    """A binary logarithmic axis from below the smallest to above the largest size, with ticks at steps of 32."""
    low, high = float(sizes.min()) / 4, float(sizes.max()) * 4
    axes.set_xscale("log", base=2)
    axes.set_xlim(low, high)
    ticks = [2.0**power for power in range(10, 60, 5) if low <= 2.0**power <= high]
    axes.xaxis.set_major_locator(FixedLocator(ticks))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: format_size(round(value))))
    axes.tick_params(axis="x", labelsize=7)


def file_sizes_figure(table: pd.DataFrame, provenance: Provenance, *, title: str) -> Figure:
    """The study's file sizes with their use cases, and what the campaign writes for them.

    Parameters
    ----------
    table : pandas.DataFrame
        From `glusterlab.analysis.file_sizes.file_sizes_table`; at least one row.
    provenance : Provenance
    title : str
    """
    heights = [max(1, len(rows)) for _, rows in table.groupby("label", sort=False)]
    sizes = pd.concat([table["nominal_file_size_bytes"], table["file_size_bytes"].dropna()]).astype(float)
    scales = {float(scale) for scale in table["scale"].dropna()} - {1.0}
    key = [
        Line2D([], [], color=INK, marker="o", linestyle="none", label="the guide's size"),
        Line2D([], [], color=GREY, label="logarithmic line"),
        Line2D(
            *([], []),
            color=_HERE,
            marker="s",
            markersize=7,
            markerfacecolor="none",
            linestyle="none",
            label="written in this campaign",
        ),
    ]
    with house_style():
        figure, grid = new_figure(
            title,
            ["As campaign.yaml asks for them; a dotted line joins what is written to what it stands for."],
            provenance.place(sorted(scales), model=True),
            panels_height=ROW_IN * sum(heights) + 0.55,
            key=key,
        )
        axes = grid[0][0]
        draw_file_sizes(axes, table)
        _size_axis(axes, sizes)
        axes.set_xlabel("file size, logarithmic")
    return figure
