"""Is a scale model's scale right? The same cells at two scales, and how busy the machine was under all its hosts.

Where CPUs, which a scale model does not slow, are out of it, a cell shows the same at two scales once each is
multiplied by its scale. Where they are not, the faster model shows less than its share.
"""

import math
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import pandas as pd

from glusterlab.analysis.saturation.usage import CPU_METRICS, telemetry_by_cell
from glusterlab.analysis.select import by_operation, layout_label, split_values, summarise, valid_samples, with_series
from glusterlab.stats import pooled_ratio, ratio_interval
from glusterlab.tables.parts import MOVED_METRICS
from glusterlab.units import format_size

BUSY = 0.7  # share of a machine's CPUs over which its scale is doubted: kernel threads and the runner come on top

NEEDED = (*CPU_METRICS, *MOVED_METRICS)  # metrics of the telemetry table that `machine_cpu` is made from

_QUANTITIES = ("files_per_s", "throughput_bytes_per_s")  # a smallfile sample has bytes/s, too: the first counts

_SAME = [
    *("tool", "operation", "nominal_file_size_bytes", "type", "geometry", "kind"),
    *("backing", "server_model", "access", "workers"),
]  # what two cells have in common that differ in their scale model alone

_SIDE = ("scale", "mean", "cpu", "cell", "samples", "values")

PAIRED = [
    *(*_SAME, "disks", "label", "quantity", "fast_scale", "slow_scale", "fast_mean", "slow_mean"),
    *("ratio", "low", "high", "n", "agree", "fast_cpu", "slow_cpu"),
    *("fast_cell", "slow_cell", "fast_samples", "slow_samples", "fast_values", "slow_values"),
    # of the faster model, for a figure's footer
    *("scale", "operations_limited", "heads", "file_size_bytes"),
]
"""Columns of `scale_pairs`: ``fast_...`` is the model whose scale is smaller, ``..._mean`` as it was measured,
``..._cpu`` the share of the machine's CPUs in the measured part. ``ratio`` is the slower model's value times its scale
over the faster one's, with its 95 % interval; ``agree`` where that holds 1."""


def machine_cpu(telemetry: pd.DataFrame, samples: pd.DataFrame) -> pd.DataFrame:
    """How busy a testbed's machine was by cell, the busiest first: shares of all its CPUs, which are lower bounds."""
    rows = with_series(valid_samples(samples))
    found = telemetry_by_cell(telemetry, rows, testbed=True)
    busy = found[found["role"] == "machine"].drop(columns="role")
    busy = busy.assign(
        label=[cell_label(row) for row in busy.to_dict("records")],
        busiest=[max(split_values(str(values))) for values in busy["values"]],
    )
    return busy.sort_values(["mean", "cell_id"], ascending=[False, True], kind="stable").reset_index(drop=True)


def cell_label(row: Mapping[Any, Any]) -> str:
    """A cell in words: ``write 4 GiB, replicate 3x2, RAID 6, 48 workers``."""
    layout = layout_label(str(row["type"]), str(row["geometry"]), str(row["kind"]))
    count, size = int(row["workers"]), format_size(int(row["nominal_file_size_bytes"]))
    return f"{row['operation']} {size}, {layout}, {count} worker{'s' if count > 1 else ''}"


def scale_pairs(samples: pd.DataFrame, busy: pd.DataFrame) -> pd.DataFrame:
    """Cells that differ in their scale model alone, held against each other at full size: columns `PAIRED`."""
    known = with_series(valid_samples(samples))
    shares = dict(zip(busy["cell_id"].astype(str), busy["mean"].astype(float), strict=True))
    records: list[dict[Any, Any]] = []
    for quantity in _QUANTITIES:
        cells = summarise(known, quantity)
        known = known[~known["cell_id"].isin(set(cells["cell_id"]))]
        cells = cells.assign(cell=cells["cell_id"], cpu=[shares.get(str(cell), math.nan) for cell in cells["cell_id"]])
        for _, rows in cells.groupby(_SAME, observed=True, sort=True, dropna=False):
            ordered = rows.drop_duplicates("scale").sort_values("scale", kind="stable").to_dict("records")
            for fast, slow in pairwise(ordered):
                above, below = (split_values(each["values"], float(each["scale"])) for each in (slow, fast))
                ratio = ratio_interval(above, below)
                records.append(
                    fast
                    | {f"{name}_{of}": row[of] for name, row in (("fast", fast), ("slow", slow)) for of in _SIDE}
                    | {"label": cell_label(fast), "n": ratio.n, "ratio": ratio.centre}
                    | {"low": ratio.low, "high": ratio.high, "agree": ratio.low <= 1 <= ratio.high}
                )
    return by_operation(pd.DataFrame.from_records(records, columns=PAIRED), "nominal_file_size_bytes", "label")


def pooled_pairs(pairs: pd.DataFrame) -> pd.DataFrame:
    """What `scale_pairs`, which may hold 1 one by one, come to together by file size and scales; also in ``words``."""
    columns = ["nominal_file_size_bytes", "slow_scale", "fast_scale"]
    records = []
    for size, slow, fast in pairs[columns].drop_duplicates().sort_values(columns).astype(float).to_numpy():
        rows = pairs[(pairs[columns].astype(float) == [size, slow, fast]).all(axis=1)]
        sides = rows[["slow_values", "fast_values"]].itertuples(index=False, name=None)
        found = pooled_ratio([(split_values(above, slow), split_values(below, fast)) for above, below in sides])
        if found.n < 2:
            continue
        agree = found.low <= 1 <= found.high
        numbers = f"{found.centre:.3f} ({found.low:.3f} to {found.high:.3f})"
        words = f"{found.n} cells of {format_size(int(size))} at 1:{slow:g} and 1:{fast:g} pooled: {numbers}"
        words += ", which holds 1." if agree else ", which does not hold 1."
        records.append((size, slow, fast, found.n, found.centre, found.low, found.high, agree, words))
    return pd.DataFrame.from_records(records, columns=[*columns, "cells", "ratio", "low", "high", "agree", "words"])
