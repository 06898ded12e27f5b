"""Where the measured part of each sample lies in the window of its command.

To start 48 workers over SSH can take half of that window. The tool says how long it measured, not when: its telemetry
has to tell.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

if TYPE_CHECKING:
    from numpy.typing import NDArray

STONEWALLED = frozenset({"iozone"})
"""Tools whose workers start together and stop being measured together: those that are left go on for a while."""

AFTER_S = {"smallfile": 1.2}
"""Tools that end with their last worker: seconds from there to the end of the command. smallfile waits so long before
it reads its workers' results; by its own ``startTime`` it was 1.2 to 1.5 s in 232 samples. Before its gate opens its
workers make directories, which looks like the workload."""

MOVED_METRICS = ("receive_bytes_per_s", "transmit_bytes_per_s", "read_bytes_per_s", "write_bytes_per_s")
"""Metrics that show where the measured part of a sample lies."""

MOVED = (
    ("network", "client"),
    ("network", "server"),
    ("disk", "server"),
)
"""Activity and role whose bytes show it: the first that a sample has. Workers are on clients; disks go on writing what
servers hold."""

ONSET = 0.20
"""From this share of the most traffic on the workers run: their start over SSH and the gate stay far below."""

SUSTAINED_S = 6.0
"""The traffic must stay there for so many seconds, or half of the measured time where that is shorter: a burst of
packets, or the creation of directories, does not."""

COVERED_STEPS = 4
"""A record is believed for at most so many steps, its own among them: a host that stalled writes one late, of one
that was away nothing is known."""


def measured_parts(telemetry: pd.DataFrame, samples: pd.DataFrame) -> pd.DataFrame:
    """Where the measured part of each sample lies.

    It is ``elapsed_s`` long. Of a tool that is `STONEWALLED` it begins where the clients' traffic does, for good; of
    one of `AFTER_S` it ends with the command. Of others, and where no such moment is clear, it is the stretch in which
    the clients moved the most bytes. It never reaches out of the window of the command. Without ``elapsed_s`` it is
    the window.

    Parameters
    ----------
    telemetry : pandas.DataFrame
        The telemetry table. A record holds averages over the interval before its time.
    samples : pandas.DataFrame
        Rows of the samples table.

    Returns
    -------
    pandas.DataFrame
        ``cell_id``, ``sample``, ``part_start_s``, ``part_end_s`` (epoch seconds); a row per sample.
    """
    moves = telemetry["activity"].isin(("network", "disk")) & telemetry["metric"].isin(MOVED_METRICS)
    moved = telemetry[moves & (telemetry["device"] != "lo")]
    places = moved.groupby(["cell_id", "sample"], observed=True).indices
    records = []
    for row in samples.to_dict("records"):
        start, end, length = (float(row[name]) for name in ("start_s", "end_s", "elapsed_s"))
        place = places.get((str(row["cell_id"]), row["sample"]))
        if place is not None and length < end - start:
            begin = _begin(moved.iloc[place], start, end, length, str(row["tool"]))
            if begin is not None:
                start = min(max(begin, start), end - length)
                end = start + length
        records.append((str(row["cell_id"]), row["sample"], start, end))
    return pd.DataFrame.from_records(records, columns=["cell_id", "sample", "part_start_s", "part_end_s"])


def _begin(rows: pd.DataFrame, start: float, end: float, length: float, tool: str) -> float | None:
    """Where the measured part begins; None where nothing moved."""
    if tool in AFTER_S:
        return end - AFTER_S[tool] - length
    for activity, role in MOVED:
        known = rows[(rows["activity"] == activity) & (rows["role"] == role)]
        moments, moved = _moved(known, start, end)
        if len(moments) and moved[-1] > 0:
            found = _onset(moments, moved, length) if tool in STONEWALLED else None
            return _fullest(moments, moved, length) if found is None else found
    return None


def _moved(rows: pd.DataFrame, start: float, end: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Bytes that all hosts moved from the start on, at moments as far apart as records are.

    A host that stalled writes a record late, over a longer time: each counts with its own interval.
    """
    by_host = [host.groupby("time_s")["value"].sum() for _, host in rows.groupby("host", observed=True)]
    hosts = [(one.index.to_numpy(dtype=float), one.to_numpy(dtype=float)) for one in by_host]
    apart = np.concatenate([np.diff(times) for times, _ in hosts]) if hosts else np.empty(0)
    if not len(apart):
        return np.empty(0), np.empty(0)
    step = float(np.median(apart))
    moments = np.append(np.arange(start, end - step / 2, step), end)
    total = np.zeros(len(moments))
    for times, rates in hosts:
        since = np.minimum(np.diff(times, prepend=times[0] - step), COVERED_STEPS * step)
        # nothing is known of a host between its last record and what the next one is believed for
        knots = np.column_stack([times - since, times]).ravel()
        bytes_at = np.cumsum(np.column_stack([np.zeros(len(times)), np.nan_to_num(rates) * since]).ravel())
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


def _fullest(moments: NDArray[np.float64], moved: NDArray[np.float64], length: float) -> float:
    """Where the stretch of that length begins in which the most bytes moved."""
    # the most is where either end is a moment: between them the sum rises or falls all along
    begins = np.concatenate([moments, moments - length])
    begins = np.sort(begins[(begins >= moments[0]) & (begins + length <= moments[-1])])
    sums = np.interp(begins + length, moments, moved) - np.interp(begins, moments, moved)
    return float(begins[int(np.argmax(sums))])
