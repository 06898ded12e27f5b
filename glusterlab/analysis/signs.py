"""Signs that work waited or failed, host by host: what the USE method calls saturation and errors.

They stand beside a verdict and make none. On Linux the load counts threads that wait for disks, blocked processes wait
for any disk, and a long queue may be a deep one that a device works off at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from glusterlab.analysis.resources import Capacity, busy_cpus
from glusterlab.analysis.thresholds import Thresholds
from glusterlab.analysis.timeline import ERRORS, SWAPPING, Timeline

if TYPE_CHECKING:
    from numpy.typing import NDArray

SIGNS: Mapping[str, str] = MappingProxyType(
    {
        "cpu_busy_fraction": "CPU time neither idle, waiting for I/O nor stolen",
        "cpu_system_fraction": "CPU time in the kernel",
        "cpu_iowait_fraction": "CPU time idle while a disk request was outstanding",
        "cpu_steal_fraction": "CPU time that a hypervisor gave to others",
        "load_per_cpu": "load average over one minute for each CPU",
        "blocked_processes": "processes that wait for I/O",
        "memory_used_bytes": "memory in use without caches",
        "memory_cached_bytes": "page cache",
        "memory_dirty_bytes": "memory that waits to be written",
        "disk_queue_length": "mean queue (aqu-sz) of the disk with the longest",
        "disk_await_s": "time of a request in the block layer, weighted by requests",
        "network_errors_per_s": "errors, drops and overruns of interfaces",
        "retransmitted_segments_per_s": "TCP segments sent again",
        "swapped_pages_per_s": "pages to and from swap",
        "scanned_pages_per_s": "pages that the kernel looked at for reclaim",
    }
)
"""By name, whose ending is the unit: means over the measured part."""

SIGN_COLUMNS = ["cell_id", "sample", "role", "host", "sign", "value"]
"""Columns of the table of signs; the role ``machine`` has what all hosts of a testbed share."""

BLOCKED = "blocked processes"
"""What environment.json calls the counter where hosts share it."""

_PLAIN = {
    "cpu_system_fraction": ("cpu", "system_fraction"),
    "cpu_iowait_fraction": ("cpu", "iowait_fraction"),
    "cpu_steal_fraction": ("cpu", "steal_fraction"),
    "blocked_processes": ("load", "blocked_processes"),
    "memory_used_bytes": ("memory", "used_bytes"),
    "memory_cached_bytes": ("memory", "cached_bytes"),
    "memory_dirty_bytes": ("memory", "dirty_bytes"),
    "retransmitted_segments_per_s": ("tcp-errors", "retransmitted_segments_per_s"),
}
_SUMMED = {
    "network_errors_per_s": ("network-errors", ERRORS),
    "swapped_pages_per_s": ("swapping", SWAPPING),
    "scanned_pages_per_s": ("paging", ("kswapd_scanned_pages_per_s", "scanned_pages_per_s")),
}

_Row = tuple[str, str, str, float]


def sample_signs(timeline: Timeline, capacity: Capacity) -> Iterator[_Row]:
    """Role, host, name and mean of each sign over the measured part; signs that were not recorded are absent."""
    for sign, (activity, metric) in _PLAIN.items():
        series, values = timeline.of(activity, metric)
        whole = series["device"].isin(("", "all")).to_numpy()
        means = _means(timeline, values[whole])
        rows = list(zip(series["role"][whole], series["host"][whole], means, strict=True))
        if sign == "blocked_processes" and BLOCKED in capacity.shared:
            known = [mean for _, _, mean in rows if np.isfinite(mean)]
            if known:
                yield "machine", "", sign, float(np.mean(known))
            continue
        yield from ((str(role), str(host), sign, float(mean)) for role, host, mean in rows if np.isfinite(mean))
    for sign, (activity, metrics) in _SUMMED.items():
        totals: dict[tuple[str, str], float] = {}
        for metric in metrics:
            series, values = timeline.of(activity, metric)
            for role, host, mean in zip(series["role"], series["host"], _means(timeline, values), strict=True):
                if np.isfinite(mean):
                    totals[str(role), str(host)] = totals.get((str(role), str(host)), 0.0) + float(mean)
        yield from ((role, host, sign, total) for (role, host), total in totals.items())
    yield from _cpus(timeline, capacity)
    yield from _disks(timeline)


def _means(timeline: Timeline, values: NDArray[np.float64]) -> NDArray[np.float64]:
    inside = values[:, timeline.inside]
    known = np.isfinite(inside)
    counts = known.sum(axis=1)
    sums = np.where(known, inside, 0.0).sum(axis=1)
    return np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)


def _cpus(timeline: Timeline, capacity: Capacity) -> Iterator[_Row]:
    series, busy = busy_cpus(timeline)
    whole = (series["device"] == "all").to_numpy()
    for role, host, mean in zip(
        series["role"][whole], series["host"][whole], _means(timeline, busy[whole]), strict=True
    ):
        if np.isfinite(mean):
            yield str(role), str(host), "cpu_busy_fraction", float(mean)
    # the threads of a host of a testbed share its CPUs with those of all others
    series, load = timeline.of("load", "load_1min", "none" if capacity.one_machine else "")
    for role, host, mean in zip(series["role"], series["host"], _means(timeline, load), strict=True):
        if np.isfinite(mean) and (cpus := capacity.cpus.get(str(host))):
            yield str(role), str(host), "load_per_cpu", float(mean) / cpus


def _disks(timeline: Timeline) -> Iterator[_Row]:
    series, queue = timeline.of("disk", "queue_length")
    longest: dict[tuple[str, str], float] = {}
    for role, host, mean in zip(series["role"], series["host"], _means(timeline, queue), strict=True):
        if np.isfinite(mean):
            longest[str(role), str(host)] = max(longest.get((str(role), str(host)), 0.0), float(mean))
    yield from ((role, host, "disk_queue_length", value) for (role, host), value in longest.items())
    series, wait = timeline.of("disk", "await_s")
    done_series, done = timeline.of("disk", "transfers_per_s")
    rates = dict(zip(zip(done_series["host"], done_series["device"], strict=True), done, strict=True))
    waited: dict[tuple[str, str], tuple[float, float]] = {}
    for (role, host, device), row in zip(
        series[["role", "host", "device"]].itertuples(index=False, name=None), wait, strict=True
    ):
        if (requests := rates.get((host, device))) is None:
            continue
        known = timeline.inside & np.isfinite(row) & np.isfinite(requests)
        before = waited.get((str(role), str(host)), (0.0, 0.0))
        waited[str(role), str(host)] = (
            before[0] + float((row[known] * requests[known]).sum()),
            before[1] + float(requests[known].sum()),
        )
    for (role, host), (seconds, requests_done) in waited.items():
        if requests_done > 0:
            yield role, host, "disk_await_s", seconds / requests_done


def _above(threshold: float) -> Callable[[float], bool]:
    return lambda value: value > threshold


def sign_sentences(signs: pd.DataFrame, thresholds: Thresholds) -> list[str]:
    """What of one sample's signs says that work waited or failed: the host with the most of each.

    Parameters
    ----------
    signs : pandas.DataFrame
        Columns `SIGN_COLUMNS`, rows of one sample.
    thresholds : Thresholds

    Examples
    --------
    >>> rows = [["c", 1, "server", "s1", "disk_queue_length", 3.0], ["c", 1, "server", "s2", "disk_queue_length", 0.2]]
    >>> sign_sentences(pd.DataFrame(rows, columns=SIGN_COLUMNS), Thresholds())
    ['disk queue up to 3.0 (s1)']
    """
    wanted = (
        ("disk_queue_length", "disk queue", _above(thresholds.queue)),
        ("load_per_cpu", "load per CPU", _above(thresholds.load)),
        ("network_errors_per_s", "network errors/s", _above(0.0)),
        ("swapped_pages_per_s", "swapped pages/s", _above(0.0)),
        ("scanned_pages_per_s", "scanned pages/s", _above(0.0)),
    )
    found = []
    for sign, name, counts in wanted:
        rows = signs[signs["sign"].astype(str) == sign]
        if rows.empty:
            continue
        most = max(rows.to_dict("records"), key=lambda row: float(row["value"]))
        if counts(float(most["value"])):
            found.append(f"{name} up to {float(most['value']):.1f} ({most['host']})")
    return found
