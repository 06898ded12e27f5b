"""What each subsystem did while a workload ran: network, CPU, memory and disks of servers and of clients.

Telemetry is averaged over the measured part of a sample on one host, then over the hosts of a role; intervals are over
the samples of a cell. Signs that work waited or failed (saturation and errors in the USE method) make no verdict: on
Linux the load counts threads that wait for disks, and a device may work off a deep queue at once.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from glusterlab.analysis.saturation.resources import IDLE, MIN_RECORDS, PEAK_S, Capacity, busy_cpus
from glusterlab.analysis.saturation.thresholds import Thresholds
from glusterlab.analysis.saturation.timeline import ERRORS, SWAPPING, Timeline, measured_parts
from glusterlab.analysis.select import summarise

if TYPE_CHECKING:
    from numpy.typing import NDArray

METRICS = {
    "network_receive_bytes_per_s": "received per host on its fullest interface, bytes/s",
    "network_transmit_bytes_per_s": "sent per host on its fullest interface, bytes/s",
    "cpu_busy_fraction": "CPU time that was neither idle, waiting for I/O nor stolen, share of all CPUs of the host",
    "load_1min": "load average over one minute",
    "blocked_processes": "processes that wait for I/O",
    "memory_used_bytes": "memory in use without caches, bytes per host",
    "disk_bytes_per_s": "read and written together, bytes/s per host",
    "disk_operations_per_s": "requests of all disks that were done, per host",
    "disk_await_s": "time of a request in the block layer, weighted by requests, seconds",
    "machine_cpu_busy_fraction": "CPU time of all hosts of a testbed together, share of all CPUs of its machine",
}
"""Quantities of `telemetry_by_sample`, and what each is; the last only on a testbed, with the role ``machine``."""

_SUMS = {
    ("network", "receive_bytes_per_s"): "network_receive_bytes_per_s",
    ("network", "transmit_bytes_per_s"): "network_transmit_bytes_per_s",
    ("load", "load_1min"): "load_1min",
    ("load", "blocked_processes"): "blocked_processes",
    ("memory", "used_bytes"): "memory_used_bytes",
    ("disk", "read_bytes_per_s"): "disk_bytes_per_s",
    ("disk", "write_bytes_per_s"): "disk_bytes_per_s",
    ("disk", "transfers_per_s"): "disk_operations_per_s",
}
CPU_METRICS = ("idle_fraction", "iowait_fraction", "steal_fraction")
"""Shares of a CPU's time that are not busy."""
USED_METRICS = frozenset({metric for _, metric in _SUMS} | {*CPU_METRICS, "await_s"})
"""Metrics of the telemetry table that `METRICS` are made from."""

_TRAFFIC = ("network_receive_bytes_per_s", "network_transmit_bytes_per_s")

_HOST = ["cell_id", "sample", "role", "host"]
_RECORD = [*_HOST, "time_s"]


def steady_part(telemetry: pd.DataFrame, samples: pd.DataFrame) -> pd.DataFrame:
    """The telemetry rows of the metrics of `METRICS` in the measured part of each of the samples.

    Hosts with fewer than `MIN_RECORDS` records there are left out.
    """
    cells = set(samples["cell_id"].astype(str))
    known = telemetry["metric"].isin(USED_METRICS) & (telemetry["activity"] != "io")
    wanted = telemetry[telemetry["cell_id"].isin(cells) & known]
    parts: dict[Any, tuple[float, float]] = {
        (cell, sample): (start, end)
        for cell, sample, start, end in measured_parts(wanted, samples).itertuples(index=False, name=None)
    }
    inside = [wanted.iloc[:0]]
    for key, rows in wanted.groupby(["cell_id", "sample"], observed=True):
        start, end = parts.get(key, (math.nan, math.nan))
        inside.append(rows[(rows["time_s"] > start) & (rows["time_s"] <= end)])
    # text only now: of all records it would take seconds
    kept = pd.concat(inside).astype(dict.fromkeys(("cell_id", "role", "host", "activity", "device", "metric"), str))
    records = kept.groupby(_HOST)["time_s"].transform("nunique")
    return kept[records >= MIN_RECORDS].reset_index(drop=True)


def _with_quantity(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows that are added up to a quantity, with its name; looked up once for each pair of names that there is."""
    activity, activities = pd.factorize(rows["activity"])
    metric, metrics = pd.factorize(rows["metric"])
    names = sorted(set(_SUMS.values()))
    table = np.full((len(activities), len(metrics)), -1)
    for row, column in np.ndindex(table.shape):
        if (name := _SUMS.get((str(activities[row]), str(metrics[column])))) is not None:
            table[row, column] = names.index(name)
    found = table[activity, metric]
    return rows[found >= 0].assign(quantity=np.array(names, dtype=object)[found[found >= 0]])


def _busy(rows: pd.DataFrame) -> pd.DataFrame:
    cpu = rows[(rows["activity"] == "cpu") & rows["metric"].isin(CPU_METRICS) & (rows["device"] == "all")]
    busy = 1 - cpu.groupby(_RECORD)["value"].sum()
    return busy.rename("value").reset_index().assign(quantity="cpu_busy_fraction")


def _machine_busy(busy: pd.DataFrame) -> pd.DataFrame:
    """CPU time of all hosts of a testbed together, by record.

    Each host of a testbed sees all CPUs of the machine, so its share is one of the machine, and the shares add up. The
    sum is a lower bound of what was in use: kernel threads and the runner are in no host's group.

    Hosts write their records at moments of their own, and leave some out where the machine is full. A record holds what
    was before it, so at each moment the next one of each host counts, and the last one after that.
    """
    parts = []
    for (cell, sample), rows in busy.groupby(["cell_id", "sample"]):
        total = rows.pivot_table(index="time_s", columns="host", values="value").bfill().ffill().sum(axis=1)
        # as far apart as the records of one host, so that a peak is as long as that of other quantities
        step = float(rows.sort_values("time_s").groupby("host")["time_s"].diff().median())
        moments = np.floor(total.index.to_numpy(dtype=float) / step) * step
        shares = total.groupby(moments).mean()
        parts.append(
            pd.DataFrame({"cell_id": cell, "sample": sample, "time_s": shares.index, "value": shares.to_numpy()})
        )
    found = pd.concat(parts, ignore_index=True) if parts else busy[["cell_id", "sample", "time_s", "value"]]
    return found.assign(role="machine", host="", quantity="machine_cpu_busy_fraction")


def _await(rows: pd.DataFrame) -> pd.DataFrame:
    disk = rows[(rows["activity"] == "disk") & rows["metric"].isin(("await_s", "transfers_per_s"))]
    wide = disk.pivot_table(index=[*_RECORD, "device"], columns="metric", values="value", observed=True)
    wide = wide.reindex(columns=["await_s", "transfers_per_s"]).dropna()
    wide["waited"] = wide["await_s"] * wide["transfers_per_s"]
    totals = wide.groupby(_HOST)[["waited", "transfers_per_s"]].sum()
    totals = totals[totals["transfers_per_s"] > 0]
    value = totals["waited"] / totals["transfers_per_s"]
    return value.rename("value").reset_index().assign(quantity="disk_await_s")


def _with_worker(by_host: pd.DataFrame) -> pd.DataFrame:
    """The rows of servers, and of clients that had a worker as far as their traffic tells."""
    traffic = by_host[(by_host["role"] == "client") & by_host["quantity"].isin(_TRAFFIC)]
    moved = traffic.groupby(["cell_id", "sample", "host"])["value"].sum()
    most = moved.groupby(["cell_id", "sample"]).transform("max")
    idle = set(moved.index[(moved <= IDLE * most) & (most > 0)])
    keys = zip(by_host["cell_id"], by_host["sample"], by_host["host"], strict=True)
    return by_host[np.fromiter((key not in idle for key in keys), dtype=bool, count=len(by_host))]


def _means_and_peaks(by_record: pd.DataFrame) -> pd.DataFrame:
    """Mean over the measured part, and mean of its busiest `PEAK_S` seconds, by host and quantity."""
    series = [*_HOST, "quantity"]
    ordered = by_record.sort_values([*series, "time_s"], kind="stable")
    intervals = ordered.groupby(series)["time_s"].diff()
    records = max(1, round(PEAK_S / intervals.median())) if intervals.notna().any() else 1
    values = ordered.groupby(series)["value"]
    stretches = values.rolling(records).mean().groupby(level=list(range(len(series)))).max()
    means = values.mean()
    return pd.DataFrame({"value": means, "peak": stretches.fillna(means)}).reset_index()


def telemetry_by_sample(telemetry: pd.DataFrame, samples: pd.DataFrame, *, testbed: bool = False) -> pd.DataFrame:
    """One value per sample, role and quantity: the mean over hosts of the mean over the measured part.

    Disks of a host are added up, except their waiting time, which is averaged over all requests. Of its interfaces the
    fullest counts, record by record: a bond is itself one of them. Clients are those with a worker: that moved more
    than `IDLE` of what the client with the most traffic did. On a testbed ``machine_cpu_busy_fraction`` of the role
    ``machine`` is added, a lower bound.

    Columns of `samples`, with ``role`` (server, client or machine), ``quantity`` (a key of `METRICS`), ``value`` and
    ``peak`` (SI units; the mean over hosts of each host's busiest `PEAK_S` seconds, NaN for the waiting time), and
    ``hosts``. A quantity without data is absent.
    """
    rows = steady_part(telemetry, samples)
    summed = _with_quantity(rows)
    linked = summed["activity"] == "network"
    links = summed[linked & (summed["device"] != "lo")].groupby([*_RECORD, "quantity"])["value"].max().reset_index()
    others = summed[~linked].groupby([*_RECORD, "quantity"])["value"].sum(min_count=1).reset_index()
    busy = _busy(rows)
    machine = [_machine_busy(busy)] if testbed else []
    by_host = _means_and_peaks(pd.concat([links, others, busy, *machine], ignore_index=True))
    by_host = pd.concat([by_host, _await(rows).assign(peak=math.nan)], ignore_index=True)
    roles = _with_worker(by_host).groupby(["cell_id", "sample", "role", "quantity"])
    by_role = roles.agg(value=("value", "mean"), peak=("peak", "mean"), hosts=("value", "count"))
    described = samples.assign(cell_id=samples["cell_id"].astype(str))
    return described.merge(by_role.reset_index(), on=["cell_id", "sample"], how="inner")


def telemetry_by_cell(telemetry: pd.DataFrame, samples: pd.DataFrame, *, testbed: bool = False) -> pd.DataFrame:
    """Telemetry by cell, what curves over workers draw, from what `telemetry_by_sample` takes.

    Columns of `glusterlab.analysis.select.summarise`, ``role`` before and ``peak`` (mean over the samples) after them.
    """
    values = telemetry_by_sample(telemetry, samples, testbed=testbed)
    parts = [
        _by_cell(rows, str(quantity)).assign(role=str(role))
        for (role, quantity), rows in values.groupby(["role", "quantity"], observed=True)
    ]
    empty = samples.iloc[:0].assign(value=pd.Series(dtype=float), peak=pd.Series(dtype=float))
    table = pd.concat(parts, ignore_index=True) if parts else _by_cell(empty, "value").assign(role="")
    return table[["role", *(name for name in table.columns if name != "role")]]


def _by_cell(rows: pd.DataFrame, quantity: str) -> pd.DataFrame:
    summary = summarise(rows.rename(columns={"value": quantity}), quantity)
    peaks = rows.groupby("cell_id", observed=True)["peak"].mean()
    return summary.assign(peak=summary["cell_id"].map(peaks).astype(float))


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
_ADDED_UP = {
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
    for sign, (activity, metrics) in _ADDED_UP.items():
        found = [timeline.of(activity, metric) for metric in metrics]
        table = pd.concat([series.assign(value=_means(timeline, values)) for series, values in found])
        yield from _by_host(sign, table.dropna(subset="value").groupby(["role", "host"])["value"].sum())
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


def _by_host(sign: str, values: pd.Series) -> Iterator[_Row]:
    """Rows of values by role and host."""
    for role, host, value in values.reset_index().itertuples(index=False, name=None):
        yield str(role), str(host), sign, float(value)


def _disks(timeline: Timeline) -> Iterator[_Row]:
    """The longest mean queue of a host's disks, and the time of a request over all of its disks."""
    series, queue = timeline.of("disk", "queue_length")
    longest = series.assign(value=_means(timeline, queue)).groupby(["role", "host"])["value"].max().dropna()
    yield from _by_host("disk_queue_length", longest)
    tables = []
    for metric in ("await_s", "transfers_per_s"):
        series, values = timeline.of("disk", metric)
        index = pd.MultiIndex.from_frame(series[["role", "host", "device"]])
        tables.append(pd.DataFrame(values[:, timeline.inside], index=index))
    wait, done = tables[0], tables[1].reindex(tables[0].index)
    waited = (wait * done).sum(axis=1).groupby(level=["role", "host"]).sum()
    requests = done.where(wait.notna()).sum(axis=1).groupby(level=["role", "host"]).sum()
    yield from _by_host("disk_await_s", waited[requests > 0] / requests[requests > 0])


def signs_above(signs: pd.DataFrame, thresholds: Thresholds) -> pd.DataFrame:
    """Of each sample the signs that work waited or failed, by the host with the most of each; columns `SIGN_COLUMNS`.

    Examples
    --------
    >>> rows = [["c", 1, "server", "s1", "disk_queue_length", 3.0], ["c", 1, "server", "s2", "disk_queue_length", 0.2]]
    >>> signs_above(pd.DataFrame(rows, columns=SIGN_COLUMNS), Thresholds())["host"].tolist()
    ['s1']
    """
    least = {"disk_queue_length": thresholds.queue, "load_per_cpu": thresholds.load}
    least |= dict.fromkeys(("network_errors_per_s", "swapped_pages_per_s", "scanned_pages_per_s"), 0.0)
    above = signs[signs["value"] > signs["sign"].map(least).fillna(math.inf)]
    return above.loc[above.groupby(["cell_id", "sample", "sign"])["value"].idxmax()].reset_index(drop=True)
