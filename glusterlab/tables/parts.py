"""Where in a sample's telemetry the tool measured.

To start 48 workers over SSH can take half of a command's time, and a tool reports how long it measured, not when.
"""

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from glusterlab.tools import runnable

MOVED_METRICS = ("receive_bytes_per_s", "transmit_bytes_per_s", "read_bytes_per_s", "write_bytes_per_s")
MOVED = (("network", "client"), ("network", "server"), ("disk", "server"))
"""Activity and role whose bytes show the measured part: the first that a sample has."""

ONSET = 0.20  # from this share of the most traffic on the workers run: their start over SSH and the gate stay far below

SUSTAINED_S = 6.0
"""The traffic must stay there for N seconds, or half of the measured time where that is shorter: a burst does not."""

COVERED_STEPS = 4  # a record is believed for at most N steps: a host that stalled writes one late


def measured_parts(telemetry: pd.DataFrame, samples: pd.DataFrame) -> pd.DataFrame:
    """Where the measured part of each sample lies: ``cell_id``, ``sample``, ``part_start_s``, ``part_end_s`` (epoch).

    It is ``elapsed_s`` long, without that the window of the command. The tool says how it is found
    (`glusterlab.tools.base.MeasuredPart`); where no onset is clear, it is where the clients moved the most bytes.
    """
    moves = telemetry["activity"].isin(("network", "disk")) & telemetry["metric"].isin(MOVED_METRICS)
    moved = telemetry[moves & (telemetry["device"] != "lo")]
    places = moved.groupby(["cell_id", "sample"], observed=True).indices
    kinds = [((moved["activity"] == activity) & (moved["role"] == role)).to_numpy() for activity, role in MOVED]
    hosts = moved["host"].astype("category").cat.codes.to_numpy()
    times, values = (moved[name].to_numpy(dtype=float) for name in ("time_s", "value"))
    records = []
    for row in samples.to_dict("records"):
        start, end, length = (float(row[name]) for name in ("start_s", "end_s", "elapsed_s"))
        place = places.get((str(row["cell_id"]), row["sample"]))
        if place is not None and length < end - start:
            chosen = (place[kind[place]] for kind in kinds)
            totals = (_moved(hosts[at], times[at], values[at], start, end) for at in chosen)
            begin = _begin(totals, end, length, str(row["tool"]))
            if begin is not None:
                start = min(max(begin, start), end - length)
                end = start + length
        records.append((str(row["cell_id"]), row["sample"], start, end))
    return pd.DataFrame.from_records(records, columns=["cell_id", "sample", "part_start_s", "part_end_s"])


def brick_shares(
    telemetry: pd.DataFrame, start_s: float, end_s: float, bricks: Sequence[str], hot: Sequence[str]
) -> dict[str, float | None]:
    """What disks, ``host/device``, below bricks did in a part of a sample (epoch): a hot tier's share, or the busiest.

    By whole records, also the one in which the part ends: it may be shorter than one. Nothing where telemetry lacks a
    disk, as it does where its name is that of a logical volume.
    """
    disk = telemetry[telemetry["activity"] == "disk"]
    if len(bricks) + len(hot) < 2 or disk.empty:
        return {}
    apart = np.concatenate([np.diff(np.unique(times)) for _, times in disk.groupby("host", observed=True)["time_s"]])
    step = float(np.median(apart)) if len(apart) else math.inf
    inside = (disk["time_s"] > start_s) & (disk["time_s"] < end_s + step)
    keys = [disk[name] for name in ("metric", "host", "device")]
    sums = disk["value"].where(inside, 0.0).groupby(keys, observed=True).sum().unstack([1, 2], fill_value=0)
    sums.columns = sums.columns.map("/".join)
    if not {*bricks, *hot} <= {*sums}:
        return {}
    metrics = ["read_bytes_per_s", "write_bytes_per_s", "transfers_per_s"]
    sums = sums.reindex(index=metrics, columns=[*bricks, *hot], fill_value=0)
    if not hot:
        moved = sums.iloc[:2].sum()
        return {"busiest_brick_ratio": float(moved.max() / moved.mean()) if moved.any() else None}
    shares = sums[list(hot)].sum(axis=1) / sums.sum(axis=1).replace(0.0, math.nan)
    found = {"hot_written_fraction": shares.iloc[1], "hot_requests_fraction": shares.iloc[2]}
    return {name: None if math.isnan(value) else float(value) for name, value in found.items()}


def _begin(totals: Iterator[tuple[NDArray[Any], NDArray[Any]]], end: float, length: float, tool: str) -> float | None:
    """Where the measured part begins, by the first of what was moved by kind (`MOVED`); None where nothing moved."""
    runs = runnable().get(tool)
    how = "busiest" if runs is None else runs.measured_part
    if runs is not None and how == "end":
        return end - runs.tail_s - length
    for moments, moved in totals:
        if not len(moments) or moved[-1] <= 0:
            continue
        if how == "onset" and (found := _onset(moments, moved, length)) is not None:
            return found
        # the most is where either end is a moment: between them the sum rises or falls all along
        begins = np.concatenate([moments, moments - length])
        begins = np.sort(begins[(begins >= moments[0]) & (begins + length <= moments[-1])])
        sums = np.interp(begins + length, moments, moved) - np.interp(begins, moments, moved)
        return float(begins[int(np.argmax(sums))])
    return None


def _moved(
    hosts: NDArray[Any], times: NDArray[np.float64], values: NDArray[np.float64], start: float, end: float
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Moments from the start on as far apart as records are, and the bytes that all hosts had moved by then."""
    by_host = []
    for host in np.unique(hosts):
        at, place = np.unique(times[hosts == host], return_inverse=True)
        by_host.append((at, np.bincount(place, np.nan_to_num(values[hosts == host]))))
    apart = np.concatenate([np.diff(at) for at, _ in by_host]) if by_host else np.empty(0)
    if not len(apart):
        return np.empty(0), np.empty(0)
    step = float(np.median(apart))
    moments = np.append(np.arange(start, end - step / 2, step), end)
    total = np.zeros(len(moments))
    for at, rates in by_host:
        # a host that stalled writes a record late, over a longer time
        since = np.minimum(np.diff(at, prepend=at[0] - step), COVERED_STEPS * step)
        # nothing is known of a host between its last record and what the next one is believed for
        knots = np.column_stack([at - since, at]).ravel()
        bytes_at = np.cumsum(np.column_stack([np.zeros(len(at)), rates * since]).ravel())
        total += np.interp(moments, knots, bytes_at)
    return moments, total - total[0]


def _onset(moments: NDArray[np.float64], moved: NDArray[np.float64], length: float) -> float | None:
    """Where the traffic begins for good; None where no such moment is clear."""
    rates = np.diff(moved) / np.diff(moments)
    step = float(moments[1] - moments[0])
    steps = max(1, math.ceil(min(SUSTAINED_S, length / 2) / step))
    if len(rates) < steps:
        return None
    stretches = np.lib.stride_tricks.sliding_window_view(rates, steps)
    # a burst that is shorter than a stretch makes no level of its own
    level = ONSET * float(stretches.mean(axis=1).max())
    lasting = np.flatnonzero(stretches.min(axis=1) >= level)
    if not len(lasting):
        return None
    first = int(lasting[0])
    # the first step has as much less as the workers started within it
    following = max(float(rates[first]), float(rates[min(first + 1, len(rates) - 1)]))
    return float(moments[first + 1] - (moments[first + 1] - moments[first]) * rates[first] / following)
