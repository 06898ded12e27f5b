"""The telemetry of one sample on one grid of time, and where in it the tool measured.

Records of all hosts lie in common steps, so that "full at the same time" means something. To start 48 workers over SSH
can take half of a command's time, and a tool reports how long it measured, not when: that is found in the telemetry.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from glusterlab.tools import runnable

if TYPE_CHECKING:
    from numpy.typing import NDArray

MOVED_METRICS = ("receive_bytes_per_s", "transmit_bytes_per_s", "read_bytes_per_s", "write_bytes_per_s")
MOVED = (("network", "client"), ("network", "server"), ("disk", "server"))
"""Activity and role whose bytes show the measured part: the first that a sample has."""

ONSET = 0.20
"""From this share of the most traffic on the workers run: their start over SSH and the gate stay far below."""

SUSTAINED_S = 6.0
"""The traffic must stay there for N seconds, or half of the measured time where that is shorter: a burst does not."""

COVERED_STEPS = 4
"""A record is believed for at most N steps: a host that stalled writes one late."""

JUDGED_METRICS = frozenset(
    {
        *("receive_bytes_per_s", "transmit_bytes_per_s", "read_bytes_per_s", "write_bytes_per_s", "transfers_per_s"),
        *("utilisation_fraction", "queue_length", "await_s"),
        *("idle_fraction", "iowait_fraction", "steal_fraction", "system_fraction"),
        *("load_1min", "blocked_processes"),
        *("used_bytes", "available_bytes", "cached_bytes", "dirty_bytes"),
    }
)
"""Metrics of the telemetry table that subsystems are judged by; what a campaign did not record is not judged."""

NAMES = ["activity", "metric", "role", "host", "device"]
"""What a series of the telemetry table is."""


@dataclass(frozen=True)
class Timeline:
    """One sample on a grid of time.

    `ends` (epoch seconds) and `inside` (the measured part) have the shape (steps,). `series`, columns `NAMES`, says
    what each row of `values` is, shape (series, steps); NaN where a host has no record.
    """

    ends: NDArray[np.float64]
    step_s: float
    inside: NDArray[np.bool_]
    series: pd.DataFrame
    values: NDArray[np.float64]

    def of(self, activity: str, metric: str, role: str = "") -> tuple[pd.DataFrame, NDArray[np.float64]]:
        """The series of a metric, and their values."""
        places = self._places.get((activity, metric), np.empty(0, dtype=np.intp))
        if role:
            places = places[self.series["role"].to_numpy()[places] == role]
        return self.series.iloc[places], self.values[places]

    @cached_property
    def _places(self) -> dict[Any, Any]:
        """Rows by activity and metric: text of all rows is slow to compare."""
        return dict(self.series.groupby(NAMES[:2]).indices)

    def steps(self, seconds: float) -> int:
        """How many steps come nearest to a time, at least one."""
        return max(1, round(seconds / self.step_s))


def timelines(
    telemetry: pd.DataFrame, samples: pd.DataFrame, parts: pd.DataFrame | None = None
) -> Iterator[tuple[str, int, Timeline]]:
    """Cell, sample number and timeline of each sample that has telemetry; `parts`: by default `measured_parts`."""
    parts = measured_parts(telemetry, samples) if parts is None else parts
    known = telemetry[telemetry["metric"].isin(JUDGED_METRICS)]
    groups = known.groupby(["cell_id", "sample"], observed=True).indices
    within = parts.astype({"cell_id": str}).set_index(["cell_id", "sample"])
    for cell, sample in samples[["cell_id", "sample"]].itertuples(index=False, name=None):
        place = groups.get((cell, sample))
        if place is None:
            continue
        start, end = within.loc[(str(cell), sample)] if (str(cell), sample) in within.index else (math.nan, math.nan)
        if (timeline := _lay_out(known.iloc[place], start, end)) is not None:
            yield str(cell), int(sample), timeline


def _lay_out(rows: pd.DataFrame, start: float, end: float) -> Timeline | None:
    """Records in steps; None where no host has two."""
    times = rows["time_s"].to_numpy(dtype=float)
    by_host = rows[["host", "time_s"]].drop_duplicates().sort_values(["host", "time_s"])
    apart = by_host.groupby("host", observed=True)["time_s"].diff().dropna()
    if apart.empty:
        return None
    step = float(apart.median())
    begin = float(times.min()) - step
    at = np.ceil((times - begin) / step - 1e-6).astype(int) - 1
    codes = rows.groupby(NAMES, observed=True).ngroup().to_numpy()
    _, first = np.unique(codes, return_index=True)
    series = rows[NAMES].iloc[first].astype(str).astype(object).reset_index(drop=True)
    shape = (len(series), int(at.max()) + 1)
    sums, counts = np.zeros(shape), np.zeros(shape)
    np.add.at(sums, (codes, at), rows["value"].to_numpy(dtype=float))
    np.add.at(counts, (codes, at), 1.0)
    with np.errstate(invalid="ignore"):
        values = sums / np.where(counts > 0, counts, np.nan)
    ends = np.asarray(begin + step * np.arange(1, shape[1] + 1), dtype=np.float64)
    # a record counts where most of what it averages over lies inside
    inside = (ends - step / 2 > start) & (ends - step / 2 <= end)
    return Timeline(ends, step, inside, series, _covered(values))


def _covered(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Steps that a host left out, with the value of its next record: sar averages over the time since the last one.

    >>> _covered(np.array([[math.nan, 1.0, math.nan, 3.0, math.nan]])).tolist()
    [[nan, 1.0, 3.0, 3.0, nan]]
    >>> _covered(np.array([[1.0, math.nan, math.nan, math.nan, math.nan, 2.0]])).tolist()
    [[1.0, nan, 2.0, 2.0, 2.0, 2.0]]
    """
    found = np.isfinite(values)
    steps = np.arange(values.shape[1])
    following = np.where(found, steps, values.shape[1])
    following = np.minimum.accumulate(following[:, ::-1], axis=1)[:, ::-1]
    started = np.maximum.accumulate(found, axis=1)
    taken = np.take_along_axis(values, np.minimum(following, values.shape[1] - 1), axis=1)
    near = (following < values.shape[1]) & (following - steps < COVERED_STEPS)
    return np.where(started & near, taken, np.nan)


def rolling(values: NDArray[np.float64], steps: int) -> NDArray[np.float64]:
    """Means of all stretches of N steps, NaN as 0, shape (resources, n - steps + 1); of fewer steps, the mean of all.

    >>> rolling(np.array([[0.0, 2.0, 4.0, 0.0]]), 2).tolist()
    [[1.0, 3.0, 2.0]]
    """
    known = np.nan_to_num(values)
    steps = min(steps, known.shape[1])
    sums = np.cumsum(np.pad(known, ((0, 0), (1, 0))), axis=1)
    return np.asarray((sums[:, steps:] - sums[:, :-steps]) / steps)


def rolling_known(values: NDArray[np.float64], steps: int) -> NDArray[np.float64]:
    """As `rolling`, but means of what is known; NaN where that is less than half of a stretch.

    >>> rolling_known(np.array([[1.0, math.nan, math.nan, 3.0]]), 2).tolist()
    [[1.0, nan, 3.0]]
    """
    known = rolling(np.isfinite(values).astype(float), steps)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(known >= 0.5, rolling(values, steps) / known, np.nan)


def carried(used: NDArray[np.float64], most: float) -> NDArray[np.float64]:
    """Use of links, shape (links, steps), whose impossible records are evened out with their neighbours.

    A host that stalls takes the time of its record first and reads its counters late: that record holds bytes of the
    next ones. One above `most` is evened out with as few steps after it as suffice, at most twice `COVERED_STEPS` (its
    own record and the late one), and then before it; what they do not even out stays.

    >>> carried(np.array([[0.5, 2.5, 0.1, 0.1, 0.5]]), 1.05).round(2).tolist()
    [[0.5, 0.9, 0.9, 0.9, 0.5]]
    >>> carried(np.array([[2.0, 2.0, 2.0]]), 1.05).tolist()
    [[2.0, 2.0, 2.0]]
    """
    found = used.copy()
    spans = [(0, after) for after in range(1, 2 * COVERED_STEPS)]
    spans += [(before, 2 * COVERED_STEPS - 1) for before in range(1, COVERED_STEPS)]
    for row, at in np.argwhere(np.nan_to_num(used) > most):
        last = min(used.shape[1], at + 2 * COVERED_STEPS)
        for before, after in spans:
            begin, end = max(0, at - before), at + after + 1
            # the last record is evened out as a whole, over all steps that it covers
            while end < last and found[row, end] == found[row, end - 1]:
                end += 1
            mean = float(found[row, begin:end].mean())
            # NaN is not below either: nothing is known of those bytes
            if found[row, at] > most and mean <= 1.0:
                found[row, begin:end] = mean
    return found


def evened(values: NDArray[np.float64], steps: int) -> NDArray[np.float64]:
    """Means of what is known over N steps around each; of fewer at either end. NaN where nothing is known.

    >>> evened(np.array([[0.0, 3.0, 0.0, 3.0]]), 3).tolist()
    [[1.5, 1.0, 2.0, 1.5]]
    >>> evened(np.array([[1.0, math.nan, 3.0]]), 1).tolist()
    [[1.0, nan, 3.0]]
    """
    known = np.isfinite(values)
    kernel = np.ones(min(steps, values.shape[1]))
    sums = np.array([np.convolve(row, kernel, mode="same") for row in np.nan_to_num(values)])
    counts = np.array([np.convolve(row, kernel, mode="same") for row in known.astype(float)])
    return np.where(known, sums / np.maximum(counts, 1.0), math.nan)


def measured_parts(telemetry: pd.DataFrame, samples: pd.DataFrame) -> pd.DataFrame:
    """Where the measured part of each sample lies: ``cell_id``, ``sample``, ``part_start_s``, ``part_end_s`` (epoch).

    It is ``elapsed_s`` long, without that the window of the command. The tool says how it is found
    (`glusterlab.tools.base.MeasuredPart`); where no onset is clear, it is where the clients moved the most bytes.
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
    runs = runnable().get(tool)
    how = "busiest" if runs is None else runs.measured_part
    if runs is not None and how == "end":
        return end - runs.tail_s - length
    for activity, role in MOVED:
        known = rows[(rows["activity"] == activity) & (rows["role"] == role)]
        moments, moved = _moved(known, start, end)
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


def _moved(rows: pd.DataFrame, start: float, end: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Bytes that all hosts moved from the start on, at moments as far apart as records are."""
    by_host = [host.groupby("time_s")["value"].sum() for _, host in rows.groupby("host", observed=True)]
    hosts = [(one.index.to_numpy(dtype=float), one.to_numpy(dtype=float)) for one in by_host]
    apart = np.concatenate([np.diff(times) for times, _ in hosts]) if hosts else np.empty(0)
    if not len(apart):
        return np.empty(0), np.empty(0)
    step = float(np.median(apart))
    moments = np.append(np.arange(start, end - step / 2, step), end)
    total = np.zeros(len(moments))
    for times, rates in hosts:
        # a host that stalled writes a record late, over a longer time
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
