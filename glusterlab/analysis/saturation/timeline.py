"""The telemetry of one sample in common steps of time, so that "full at the same time" means something."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from glusterlab.tables.parts import COVERED_STEPS, measured_parts

JUDGED_METRICS = frozenset(
    {
        *("receive_bytes_per_s", "transmit_bytes_per_s", "read_bytes_per_s", "write_bytes_per_s", "transfers_per_s"),
        *("utilisation_fraction", "queue_length", "await_s"),
        *("idle_fraction", "iowait_fraction", "steal_fraction", "system_fraction"),
        *("load_1min", "blocked_processes"),
        *("used_bytes", "available_bytes", "cached_bytes", "dirty_bytes"),
    }
)  # of the telemetry table; what a campaign did not record is not judged

NAMES = ["activity", "metric", "role", "host", "device"]  # what a series of the telemetry table is


class Series:
    """What the rows of a timeline's values are; samples of one pool share it. `hosts`: the rows by role and host."""

    def __init__(self, table: pd.DataFrame) -> None:
        self.table = table
        self.hosts: dict[Any, Any] = dict(table.groupby(["role", "host"]).indices)
        self._rows = {names: row for row, names in enumerate(table.itertuples(index=False, name=None))}
        self._places: dict[tuple[str, ...], Any] = {}

    def of(self, activity: str, metric: str, role: str) -> tuple[NDArray[np.intp], pd.DataFrame]:
        key = activity, metric, role
        if key not in self._places:
            rows = [row for name, row in self._rows.items() if name[:2] == key[:2] and role in ("", name[2])]
            self._places[key] = np.array(rows, dtype=np.intp), self.table.iloc[rows]
        places, table = self._places[key]
        return places, table

    def beside(self, activity: str, metric: str, other: str, role: str) -> NDArray[np.intp]:
        """For each row of a metric that of the `other` metric of the same device; -1 where there is none."""
        key = activity, metric, other, role
        if key not in self._places:
            devices = self.of(activity, metric, role)[1][NAMES[2:]].itertuples(index=False, name=None)
            rows = [self._rows.get((activity, other, *device), -1) for device in devices]
            self._places[key] = np.array(rows, dtype=np.intp)
        return np.asarray(self._places[key])


@dataclass(frozen=True)
class Timeline:
    """One sample on a grid of time."""

    ends: NDArray[np.floating[Any]]  # epoch seconds, shape (steps,)
    step_s: float
    inside: NDArray[np.bool_]  # the measured part, shape (steps,)
    series: Series  # what each row of `values` is
    values: NDArray[np.float64]  # shape (series, steps); NaN where a host has no record
    machine: int  # of a testbed that moved: which one measured it

    def of(self, activity: str, metric: str, role: str = "") -> tuple[pd.DataFrame, NDArray[np.float64]]:
        """The series of a metric, columns `NAMES`, and their values."""
        places, table = self.series.of(activity, metric, role)
        return table, self.values[places]

    def beside(self, activity: str, metric: str, other: str, role: str = "") -> NDArray[np.float64]:
        """Values of the `other` metric of the devices that have a metric; NaN where there are none."""
        places = self.series.beside(activity, metric, other, role)
        return np.where((places >= 0)[:, np.newaxis], self.values[places], np.nan)

    def steps(self, seconds: float) -> int:
        """How many steps come nearest to a time, at least one."""
        return max(1, round(seconds / self.step_s))


def timelines(
    telemetry: pd.DataFrame, samples: pd.DataFrame, parts: pd.DataFrame | None = None
) -> Iterator[tuple[str, int, Timeline]]:
    """Cell, sample number and timeline of each sample with telemetry, but that of the loopback: it fills no link."""
    parts = measured_parts(telemetry, samples) if parts is None else parts
    known = telemetry[telemetry["metric"].isin(JUDGED_METRICS) & (telemetry["device"] != "lo")]
    groups = known.groupby(["cell_id", "sample"], observed=True).indices
    names = [known[name].astype("category").cat for name in NAMES]
    shape = [len(name.categories) for name in names]
    codes = [name.codes.to_numpy(dtype=np.intp) for name in names]
    columns: list[NDArray[Any]] = [np.ravel_multi_index(codes, shape) if len(known) else codes[0], codes[3]]
    columns += [known[name].to_numpy(dtype=float) for name in ("time_s", "value")]
    found: dict[bytes, Series] = {}
    within = {(str(cell), sample): part for cell, sample, *part in parts.itertuples(index=False, name=None)}
    for cell, sample, machine in samples[["cell_id", "sample", "machine"]].itertuples(index=False, name=None):
        place = groups.get((cell, sample))
        laid = None if place is None else _lay_out(*(column[place] for column in columns))
        if laid is None:
            continue
        keys, ends, step, values = laid
        if (key := keys.tobytes()) not in found:
            texts = zip(NAMES, names, np.unravel_index(keys, shape), strict=True)
            table = {name: of.categories.astype(str).to_numpy(dtype=object)[at] for name, of, at in texts}
            found[key] = Series(pd.DataFrame(table, dtype=object))
        start, end = within.get((str(cell), sample), (math.nan, math.nan))
        # a record counts where most of what it averages over lies inside
        inside = (ends - step / 2 > start) & (ends - step / 2 <= end)
        yield str(cell), int(sample), Timeline(ends, step, inside, found[key], _covered(values), machine)


def _lay_out(
    codes: NDArray[Any], hosts: NDArray[Any], times: NDArray[np.float64], values: NDArray[np.float64]
) -> tuple[NDArray[Any], NDArray[np.floating[Any]], float, NDArray[np.float64]] | None:
    """Codes of the rows, ends and length of the steps, and values; None where no host has two records."""
    order = np.lexsort((times, hosts))
    apart = np.diff(times[order])[np.diff(hosts[order]) == 0]
    apart = apart[apart > 0]
    if not len(apart):
        return None
    step = float(np.median(apart))
    begin = float(times.min()) - step
    at = np.ceil((times - begin) / step - 1e-6).astype(int) - 1
    keys, rows = np.unique(codes, return_inverse=True)
    shape = (len(keys), int(at.max()) + 1)
    cells = rows * shape[1] + at
    sums, counts = (np.bincount(cells, weights, math.prod(shape)).reshape(shape) for weights in (values, None))
    with np.errstate(invalid="ignore"):
        laid = sums / np.where(counts > 0, counts, np.nan)
    return keys, begin + step * np.arange(1, shape[1] + 1), step, laid


def _covered(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Steps that a host left out, with the value of its next record: sar averages over the time since the last one.

    >>> _covered(np.array([[math.nan, 1.0, math.nan, 3.0, math.nan]])).tolist()
    [[nan, 1.0, 3.0, 3.0, nan]]
    >>> _covered(np.array([[1.0, math.nan, math.nan, math.nan, math.nan, 2.0]])).tolist()
    [[1.0, nan, 2.0, 2.0, 2.0, 2.0]]
    """
    started = np.maximum.accumulate(np.isfinite(values), axis=1)
    taken = pd.DataFrame(values.T).bfill(limit=COVERED_STEPS - 1).to_numpy().T
    return np.where(started, taken, np.nan)


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
