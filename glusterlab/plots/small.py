"""Small figures: what raw capacity is spent on, tested file sizes, shares of what the hardware allows."""

import math
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from glusterlab.analysis.select import operations_of
from glusterlab.plots import marks
from glusterlab.plots.by_workers import above_words
from glusterlab.plots.style import GREY, INK, LEGIBLE, PALE, Frame, contrast, interval_words, row_style, scale_words
from glusterlab.units import format_size

PARTS = ("usable", "replica", "parity")  # parts of a bar of capacity, from the left; the columns are ``<part>_bytes``
_HERE = "#1f4e89"
_ROW_IN, _GAP = 0.125, 1.0  # a row of a worker count, and between two layouts that many


def draw_capacity(figure: Frame, table: pd.DataFrame, *, disk: str, stated: float | None = None) -> None:
    """A bar per layout of `capacity_table`, and its gain over the first; `stated` is the gain that a study states."""
    shapes = sorted({(int(row["servers"]), int(row["disks"]) // int(row["servers"])) for _, row in table.iterrows()})
    pools = " and ".join(f"{servers} servers × {disks} disks" for servers, disks in shapes)
    figure.subtitle = [
        f"{pools} of {disk}. Computed from the layouts, not measured.",
        "RAID 6 gives 2 disks of each array to parity; replicate r stores r copies; disperse k+m adds m bricks to k.",
    ]
    axes = figure.panel(len(table) * 0.55 + 0.75)
    terabytes = table[[f"{name}_bytes" for name in ("raw", *PARTS)]].astype(float) / 1e12
    end, first = float(terabytes["raw_bytes"].max()), table.iloc[0]
    start = float(terabytes["usable_bytes"].iloc[0])
    for place, (_, row) in enumerate(table.iterrows()):
        sizes = terabytes.iloc[place]
        _stack(axes, place, {part: float(sizes[f"{part}_bytes"]) for part in PARTS}, row_style(row).colour, end)
        gain = float(sizes["usable_bytes"]) - start
        if gain and int(row["disks"]) == int(first["disks"]):
            axes.plot([start, start], [place - 0.72, place + 0.28], color=INK, linewidth=1, linestyle=(0, (3, 2)))
            text = f"{gain:+,.0f} TB usable"
            if stated is not None and place == 1:
                text += f" (published: {stated / 1e12:+,.0f} TB)"
            side = {"ha": "right" if gain < 0 else "left", "va": "center", "fontsize": 8, "fontweight": "bold"}
            marks.words(axes, text, (start, place - 0.36), (-4 if gain < 0 else 4, 0), **side)
    marks.rows_axis(axes, [str(name) for name in table["series"]], top=-0.5, below=0.5)
    axes.set(xlim=(0, end), xlabel="TB (10$^{12}$ bytes)")


def _stack(axes: Axes, place: int, sizes: dict[str, float], colour: str, end: float) -> None:
    fills: dict[str, dict[str, Any]] = {
        "usable": {"color": colour},
        "replica": {"color": colour, "alpha": 0.28},
        "parity": {"color": PALE, "edgecolor": "white", "hatch": "////"},
    }
    left = 0.0
    for part, size in ((part, size) for part, size in sizes.items() if size > 0):
        axes.barh(place, size, left=left, height=0.56, **fills[part])
        # a narrow part has no room for its name
        text = f"{part}\n{size:,.0f} TB" if size > 0.09 * end else f"{size:,.0f}"
        box = marks.behind(1, 1.5) if part == "parity" else None
        shade = "white" if part == "usable" and contrast(colour) >= LEGIBLE else INK
        axes.text(left + size / 2, place, text, ha="center", va="center", fontsize=8, color=shade, bbox=box)
        left += size


def _written_words(row: pd.Series) -> str:
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
        length = float(row["length"])
        parts = f"1/{1 / length:.0f}" if abs(length * round(1 / length) - 1) < 1e-9 else f"{length:g}"
        times = f"{parts} of" if length < 1 else f"{length:g} times"
        model.append(f"{times} that length")
    workers = f"{row['workers']} worker{'' if row['workers'] == '1' else 's'}"
    return f"{size}\n{', '.join([*model, workers])}"


def draw_file_sizes(figure: Frame, table: pd.DataFrame) -> None:
    """The rows of `file_sizes_table` on a logarithmic axis, with uses and what the campaign writes for them."""
    heights = [max(1, len(rows)) for _, rows in table.groupby("label", sort=False)]
    figure.subtitle = ["As campaign.yaml asks for them; a dotted line joins what is written to what it stands for."]
    figure.key = [
        marks.key_mark("o", "published size"),
        Line2D([], [], color=GREY, label="logarithmic line"),
        marks.key_mark("s", "written in this campaign", color=_HERE, markersize=7, markerfacecolor="none"),
    ]
    axes = figure.panel(0.47 * sum(heights) + 0.55)
    names = list(dict.fromkeys(table["label"].astype(str)))
    for place, (_, rows) in enumerate(table.groupby("label", sort=False)):
        nominal = float(rows["nominal_file_size_bytes"].iloc[0])
        for size in rows["file_size_bytes"].dropna().astype(float):
            axes.plot([size, nominal], [place, place], color=_HERE, linewidth=0.9, linestyle=":", zorder=1)
            axes.plot([size], [place], "s", markersize=8, markerfacecolor="none", markeredgecolor=_HERE, zorder=2)
        if rows["use_case"].iloc[0]:
            axes.plot([nominal], [place], "o", color=INK, markersize=5, zorder=3)
        text = "\n".join(_written_words(row) for _, row in rows.iterrows())
        beside: dict[str, Any] = {"xycoords": ("axes fraction", "data"), "annotation_clip": False, "va": "center"}
        axes.annotate(text, (1.02, place), fontsize=7, color=_HERE if rows["tool"].iloc[0] else GREY, **beside)
    # the line through the sizes of the study that lie on it
    studied = table[table["use_case"] != ""].drop_duplicates("label")
    line = studied[studied["on_line"].astype(bool)]
    if len(line) >= 2:
        places = np.array([names.index(str(name)) for name in line["label"]], dtype=float)
        slope, start = np.polyfit(places, np.log2(line["nominal_file_size_bytes"].astype(float)), 1)
        ends = np.array([0.0, places.max()])
        axes.plot(2 ** (start + slope * ends), ends, color=GREY, linewidth=0.9, zorder=0.5)
    uses = table.drop_duplicates("label")[["label", "use_case"]].astype(str)
    axes.set_yticks(range(len(names)), ["\n".join(filter(None, row)) for row in uses.itertuples(index=False)])
    axes.set_ylim(-0.6, len(names) - 0.4)
    marks.bare_rows(axes)
    axes.grid(axis="y", color=PALE)
    sizes = pd.concat([table["nominal_file_size_bytes"], table["file_size_bytes"].dropna()]).astype(float)
    low, high = float(sizes.min()) / 4, float(sizes.max()) * 4
    ticks = [2.0**power for power in range(10, 60, 5) if low <= 2.0**power <= high]
    axes.set_xscale("log", base=2)
    axes.set_xlim(low, high)
    marks.number_ticks(axes, "x", ticks)
    axes.set_xticks(ticks, [format_size(round(tick)) for tick in ticks])
    axes.tick_params(axis="x", labelsize=7)
    axes.set_xlabel("file size, logarithmic")


def draw_shares(figure: Frame, table: pd.DataFrame) -> None:
    """Shares of the bound (`with_limits`, one row or more with a limit), a dot per layout and workers."""
    known = table[table["limit"].notna()]
    known = known.assign(series=known["series"].astype(str))
    figure.rows = known
    native = " of the native client" * bool((table["access"].astype(str) != "native").any())
    figure.subtitle = [
        f"By layout and workers{native}. The line at 100 % is what links and disks allow with the traffic of copies.",
        *above_words(known),
    ]
    interval = interval_words(known[["n", "share_low"]].set_axis(["n", "low"], axis=1))
    figure.signs = [marks.key_mark("o", "mean"), Line2D([], [], color=INK, label=interval)]
    places: dict[tuple[str, int], float] = {}
    middles: dict[str, float] = {}
    for name, rows in known.groupby("series"):
        counts, start = sorted({int(count) for count in rows["workers"]}), len(places) + _GAP * len(middles)
        places |= {(str(name), count): start + n for n, count in enumerate(counts)}
        middles[str(name)] = start + (len(counts) - 1) / 2
    operations, last = operations_of(known), max(places.values())
    grid = figure.panels(1, len(operations), height=_ROW_IN * last + 0.85, sharey=True, sharex=True)[0]
    for axes, operation in zip(grid, operations, strict=True):
        axes.axvline(1, color=INK, linewidth=0.9, zorder=1)
        for row in known[known["operation"].astype(str) == operation].to_dict("records"):
            place, share = places[row["series"], int(row["workers"])], float(row["share"])
            style = row_style(row)
            colour = style.colour
            if math.isnan(share):
                marks.words(axes, "two groups", (0, place), (3, 0), ha="left", va="center", fontsize=6, color=colour)
                continue
            axes.hlines(place, row["share_low"], row["share_high"], color=colour, linewidth=1.2)
            face = "white" if math.isnan(row["share_low"]) else colour
            axes.plot([share], [place], style.marker, color=colour, markerfacecolor=face, markersize=4.5)
            if row["above_limit"]:
                marks.above_limit(axes, share, place)
        axes.set(title=operation, xlabel="share of the bound, %")
        axes.xaxis.set_major_formatter(lambda share, _: f"{100 * share:g}")
        axes.grid(axis="x")
        axes.tick_params(axis="y", which="both", length=0)
        marks.bare_rows(axes)
    first = grid[0]
    first.yaxis.remove_overlapping_locs = False  # the count in the middle of a layout, too
    first.set_yticks(list(middles.values()), list(middles), fontsize=7.5)
    first.set_yticks(list(places.values()), [str(count) for _, count in places], minor=True, fontsize=6)
    first.tick_params(axis="y", which="major", pad=20)
    first.set(xlim=(0, None), ylim=(last + 0.7, -0.7))
