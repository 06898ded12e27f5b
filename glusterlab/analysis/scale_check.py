"""Is a scale model's scale right? The same cells at two scales, and how busy the machine was under all its hosts.

A scale model slows disks and links and leaves the CPUs as they are. Where these are out of it, a cell shows the same at
two scales once each is multiplied by its scale. Where they are not, the faster model, which asks more of them, shows
less than its share.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pandas as pd

from glusterlab.analysis.intervals import ratio_interval
from glusterlab.analysis.measured_part import MOVED_METRICS
from glusterlab.analysis.reading import percent
from glusterlab.analysis.saturation import CPU_METRICS, saturation
from glusterlab.analysis.series import layout_label, operation_rank, split_values, summarise, valid_samples, with_series
from glusterlab.units import format_size, short_number

if TYPE_CHECKING:
    from collections.abc import Iterator

BUSY = 0.7
"""Share of all CPUs of a testbed's machine above which its scale is doubted: kernel threads of disks and links, and the
runner, are in no host's group and come on top."""

NEEDED = (*CPU_METRICS, *MOVED_METRICS)
"""Metrics of the telemetry table that `machine_cpu` is made from."""

_QUANTITIES = ("files_per_s", "throughput_bytes_per_s")
"""A smallfile sample has bytes/s, too: a cell is told by the first that it has."""

_SAME = [
    "tool",
    "operation",
    "nominal_file_size_bytes",
    "type",
    "geometry",
    "kind",
    "backing",
    "server_model",
    "access",
    "workers",
]
"""What two cells have in common that differ in their scale model alone."""

PAIRED = [
    *_SAME,
    "disks",
    "label",
    "quantity",
    "fast_scale",
    "slow_scale",
    "fast_mean",
    "slow_mean",
    "ratio",
    "low",
    "high",
    "n",
    "agree",
    "fast_cpu",
    "slow_cpu",
    "fast_cell",
    "slow_cell",
    "fast_samples",
    "slow_samples",
    # of the faster model, for a figure's footer
    "scale",
    "operations_limited",
    "file_size_bytes",
]
"""Columns of `scale_pairs`.

``fast_...`` is the model whose scale is smaller: it is slowed less, and asks more of the machine. ``..._mean`` is as it
was measured, bytes/s or files/s. ``ratio`` is the slower model's value times its scale over the faster one's, with its
95 % interval ``low`` to ``high``; ``agree`` is true where that holds 1. ``..._cpu`` is the share of all CPUs of the
machine that its hosts used in the measured part, NaN where it is not known."""


def machine_cpu(telemetry: pd.DataFrame, samples: pd.DataFrame) -> pd.DataFrame:
    """How busy the machine of a testbed was in the measured part, by cell.

    Parameters
    ----------
    telemetry : pandas.DataFrame
        The telemetry table; needs `NEEDED` alone.
    samples : pandas.DataFrame
        Rows of the samples table.

    Returns
    -------
    pandas.DataFrame
        The columns of `glusterlab.analysis.series.summarise`, ``peak``, ``label`` and ``busiest``, the share in the
        sample that has most; shares of all CPUs of the machine, a lower bound. The busiest cell first.
    """
    rows = with_series(valid_samples(samples).reset_index(drop=True))
    found = saturation(telemetry, rows, testbed=True)
    busy = found[found["role"] == "machine"].drop(columns="role")
    busy = busy.assign(
        label=[cell_label(row) for row in busy.to_dict("records")],
        busiest=[max(split_values(str(values))) for values in busy["values"]],
    )
    return busy.sort_values(["mean", "cell_id"], ascending=[False, True], kind="stable").reset_index(drop=True)


def cell_label(row: Mapping[Any, Any]) -> str:
    """A cell in words: what runs on which layout.

    Examples
    --------
    >>> cell_label(
    ...     {"operation": "write", "nominal_file_size_bytes": 4 << 30, "type": "replicate", "geometry": "3x2"}
    ...     | {"kind": "raid6", "workers": 48}
    ... )
    'write 4 GiB, replicate 3x2, RAID 6, 48 workers'
    """
    layout = layout_label(str(row["type"]), str(row["geometry"]), str(row["kind"]))
    count, size = int(row["workers"]), format_size(int(row["nominal_file_size_bytes"]))
    return f"{row['operation']} {size}, {layout}, {count} worker{'s' if count > 1 else ''}"


def scale_pairs(samples: pd.DataFrame, busy: pd.DataFrame) -> pd.DataFrame:
    """Cells that differ in their scale model alone, held against each other at full size.

    Parameters
    ----------
    samples : pandas.DataFrame
        Rows of the samples table.
    busy : pandas.DataFrame
        From `machine_cpu`.

    Returns
    -------
    pandas.DataFrame
        Columns `PAIRED`, writes first, then by file size and layout; of more than two scales each with the next.
    """
    known = with_series(valid_samples(samples).reset_index(drop=True))
    shares = dict(zip(busy["cell_id"].astype(str), busy["mean"].astype(float), strict=True))
    records: list[dict[str, object]] = []
    for quantity in _QUANTITIES:
        cells = summarise(known, quantity)
        known = known[~known["cell_id"].isin(set(cells["cell_id"]))]
        records += _pairs_of(cells, shares)
    table = pd.DataFrame.from_records(records, columns=PAIRED)
    order = table["operation"].map(operation_rank)
    return (
        table.assign(_order=order)
        .sort_values(["_order", "nominal_file_size_bytes", "label"], kind="stable")
        .drop(columns="_order")
        .reset_index(drop=True)
    )


def _pairs_of(cells: pd.DataFrame, shares: dict[str, float]) -> Iterator[dict[str, object]]:
    for _, rows in cells.groupby(_SAME, observed=True, sort=True, dropna=False):
        ordered = rows.drop_duplicates("scale").sort_values("scale", kind="stable").to_dict("records")
        for fast, slow in pairwise(ordered):
            above = [value * float(slow["scale"]) for value in split_values(str(slow["values"]))]
            below = [value * float(fast["scale"]) for value in split_values(str(fast["values"]))]
            ratio = ratio_interval(above, below)
            yield (
                {name: fast[name] for name in [*_SAME, "disks", "quantity", "scale", "operations_limited"]}
                | {"label": cell_label(fast), "n": ratio.n}
                | {"ratio": ratio.centre, "low": ratio.low, "high": ratio.high}
                | {"agree": ratio.low <= 1 <= ratio.high, "file_size_bytes": fast["file_size_bytes"]}
                | _side("fast", fast, shares)
                | _side("slow", slow, shares)
            )


def _side(name: str, row: Mapping[Any, Any], shares: dict[str, float]) -> dict[str, object]:
    return {
        f"{name}_scale": row["scale"],
        f"{name}_mean": row["mean"],
        f"{name}_cpu": shares.get(str(row["cell_id"]), math.nan),
        f"{name}_cell": row["cell_id"],
        f"{name}_samples": row["samples"],
    }


def scale_sentences(pairs: pd.DataFrame) -> list[str]:
    """What cells at two scales show.

    Parameters
    ----------
    pairs : pandas.DataFrame
        From `scale_pairs`.
    """
    if pairs.empty:
        return []
    agree = pairs[pairs["agree"].astype(bool)]
    told = [f"{len(agree)} of {len(pairs)} cells agree at both scales within their 95 % interval."]
    for row in pairs[~pairs["agree"].astype(bool)].to_dict("records"):
        if math.isnan(row["low"]):
            told.append(f"{row['label']}: n = {row['n']}, too few for an interval.")
            continue
        side = "more" if row["ratio"] > 1 else "less"
        told.append(
            f"{row['label']}: at 1:{row['slow_scale']:g} {percent(abs(row['ratio'] - 1))} % {side} than at "
            f"1:{row['fast_scale']:g}, {short_number(row['low'])} to {short_number(row['high'])} times as much."
        )
    return told


def busy_sentences(busy: pd.DataFrame, threshold: float = BUSY) -> list[str]:
    """Cells whose numbers the machine's CPUs may have limited.

    Parameters
    ----------
    busy : pandas.DataFrame
        From `machine_cpu`.
    threshold : float
        Share of all CPUs.
    """
    if busy.empty:
        return []
    above = busy[busy["mean"] > threshold]
    share = f"more than {percent(threshold)} % of the machine's CPUs"
    told = [f"{len(above)} of {len(busy)} cells used {share}; the median is {percent(busy['mean'].median())} %."]
    told += [f"{row['label']}: {percent(row['mean'])} %" for row in above.to_dict("records")]
    for row in busy[(busy["mean"] <= threshold) & (busy["busiest"] > threshold)].to_dict("records"):
        shares = [share for share in split_values(str(row["values"])) if share > threshold]
        listed = ", ".join(percent(share) for share in sorted(shares))
        told.append(f"{row['label']}: {percent(row['mean'])} %, in {len(shares)} of {row['n']} samples {listed} %")
    return told
