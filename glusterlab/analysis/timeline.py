"""The telemetry of one sample on one grid of time.

Hosts write their records at moments of their own. Here they lie in common steps, as long as the records of one host
are apart, so that "full at the same time" means something. A few records that a host left out are covered by its next
one, for sar averages over the time since the last that it wrote. Of a host that was away for longer nothing is known.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from glusterlab.analysis.measured_part import COVERED_STEPS

if TYPE_CHECKING:
    from numpy.typing import NDArray

ERRORS = (
    "receive_errors_per_s",
    "transmit_errors_per_s",
    "receive_drops_per_s",
    "transmit_drops_per_s",
    "receive_fifo_errors_per_s",
    "transmit_fifo_errors_per_s",
    "carrier_errors_per_s",
    "frame_errors_per_s",
)
"""Metrics of the activity ``network-errors`` that count as errors and drops."""

SWAPPING = ("swapped_in_pages_per_s", "swapped_out_pages_per_s")

JUDGED_METRICS = frozenset(
    {
        *("receive_bytes_per_s", "transmit_bytes_per_s", "read_bytes_per_s", "write_bytes_per_s", "transfers_per_s"),
        *("utilisation_fraction", "queue_length", "await_s"),
        *("idle_fraction", "iowait_fraction", "steal_fraction", "system_fraction"),
        *("load_1min", "blocked_processes", "runnable"),
        *("used_bytes", "used_fraction", "available_bytes", "cached_bytes", "dirty_bytes"),
        *("retransmitted_segments_per_s", "kswapd_scanned_pages_per_s", "scanned_pages_per_s"),
        *ERRORS,
        *SWAPPING,
    }
)
"""Metrics of the telemetry table that subsystems are judged by; what a campaign did not record is not judged."""

NAMES = ["activity", "metric", "role", "host", "device"]
"""What a series of the telemetry table is."""


@dataclass(frozen=True)
class Timeline:
    """One sample on a grid of time.

    Attributes
    ----------
    ends : numpy.ndarray
        Epoch seconds at which each step ends, shape (steps,).
    step_s : float
        Length of a step.
    inside : numpy.ndarray of bool
        The steps of the measured part.
    series : pandas.DataFrame
        Columns `NAMES`: what each row of `values` is.
    values : numpy.ndarray
        Shape (series, steps), in the unit of the metric; NaN where a host has no record.
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

    def known(self, role: str) -> tuple[list[str], NDArray[np.bool_]]:
        """Hosts of a role, and where in the measured part there is anything of each; shape (hosts, steps inside)."""
        hosts = self.series["host"].to_numpy()
        of_role = (self.series["role"] == role).to_numpy()
        names = sorted({str(host) for host in hosts[of_role]})
        recorded = np.isfinite(self.values[:, self.inside])
        found = [recorded[of_role & (hosts == name)].any(axis=0) for name in names]
        return names, np.array(found, dtype=bool).reshape(len(names), int(self.inside.sum()))

    @cached_property
    def _places(self) -> dict[tuple[str, str], NDArray[np.intp]]:
        """Rows by activity and metric: dozens are asked for, and text of all rows is slow to compare."""
        found: dict[tuple[str, str], list[int]] = {}
        for place, names in enumerate(zip(self.series["activity"], self.series["metric"], strict=True)):
            found.setdefault(names, []).append(place)
        return {names: np.array(places, dtype=np.intp) for names, places in found.items()}

    def steps(self, seconds: float) -> int:
        """How many steps come nearest to a time, at least one."""
        return max(1, round(seconds / self.step_s))


def timelines(
    telemetry: pd.DataFrame, samples: pd.DataFrame, parts: pd.DataFrame
) -> Iterator[tuple[str, int, Timeline]]:
    """Each sample's telemetry on a grid of its own.

    Parameters
    ----------
    telemetry : pandas.DataFrame
        The telemetry table, of `JUDGED_METRICS` or more.
    samples : pandas.DataFrame
        Rows of the samples table.
    parts : pandas.DataFrame
        From `glusterlab.analysis.measured_part.measured_parts`.

    Yields
    ------
    tuple of str, int and Timeline
        Cell, sample and its timeline. Samples without telemetry are left out.
    """
    known = telemetry[telemetry["metric"].isin(JUDGED_METRICS)]
    groups = known.groupby(["cell_id", "sample"], observed=True).indices
    within = {
        (str(cell), int(sample)): (float(start), float(end))
        for cell, sample, start, end in parts.itertuples(index=False, name=None)
    }
    for cell, sample in samples[["cell_id", "sample"]].itertuples(index=False, name=None):
        place = groups.get((cell, sample))
        if place is None:
            continue
        rows = known.iloc[place]
        if (laid := _lay_out(rows)) is not None:
            start, end = within.get((str(cell), int(sample)), (math.nan, math.nan))
            ends, step, series, values = laid
            # a record counts where most of what it averages over lies inside
            inside = (ends - step / 2 > start) & (ends - step / 2 <= end)
            yield str(cell), int(sample), Timeline(ends, step, inside, series, values)


def _lay_out(
    rows: pd.DataFrame,
) -> tuple[NDArray[np.float64], float, pd.DataFrame, NDArray[np.float64]] | None:
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
    return ends, step, series, _covered(values)


def _covered(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Up to `COVERED_STEPS` - 1 steps that a host left out, with the value of its next record; none before its first.

    Examples
    --------
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
    """Means of all whole stretches of so many steps; of fewer steps than that, the mean of all.

    Parameters
    ----------
    values : numpy.ndarray
        Shape (resources, n); NaN counts as 0: nothing was done.
    steps : int

    Returns
    -------
    numpy.ndarray
        Shape (resources, n - steps + 1).

    Examples
    --------
    >>> rolling(np.array([[0.0, 2.0, 4.0, 0.0]]), 2).tolist()
    [[1.0, 3.0, 2.0]]
    """
    known = np.nan_to_num(values)
    steps = min(steps, known.shape[1])
    sums = np.cumsum(np.pad(known, ((0, 0), (1, 0))), axis=1)
    return np.asarray((sums[:, steps:] - sums[:, :-steps]) / steps)


def rolling_known(values: NDArray[np.float64], steps: int) -> NDArray[np.float64]:
    """As `rolling`, but means of what is known; NaN where that is less than half of a stretch.

    Examples
    --------
    >>> rolling_known(np.array([[1.0, math.nan, math.nan, 3.0]]), 2).tolist()
    [[1.0, nan, 3.0]]
    """
    known = rolling(np.isfinite(values).astype(float), steps)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(known >= 0.5, rolling(values, steps) / known, np.nan)


def carried(used: NDArray[np.float64], most: float) -> NDArray[np.float64]:
    """Use of links whose impossible records are evened out with their neighbours; the bytes stay.

    A host that stalls takes the time of its record first and reads its counters late: that record holds bytes of the
    next ones, which are short of them.

    Parameters
    ----------
    used : numpy.ndarray
        Shape (links, steps), 1 = full.
    most : float
        From there on a record is not believed. It is evened out with as few steps after it as suffice, at most twice
        `COVERED_STEPS` (its own record and the late one), and then before it; what they do not even out stays.

    Examples
    --------
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
