"""What each subsystem did while a workload ran: network, CPU, memory and disks of servers and of clients."""

import math

import numpy as np
import pandas as pd

from glusterlab.analysis.saturation.resources import IDLE, MIN_RECORDS, PEAK_S
from glusterlab.analysis.select import summarise
from glusterlab.tables.parts import measured_parts

_SUMS = {
    "network_receive_bytes_per_s": ("network", "receive_bytes_per_s"),  # of a host's fullest interface, as the next
    "network_transmit_bytes_per_s": ("network", "transmit_bytes_per_s"),
    "load_1min": ("load", "load_1min"),
    "blocked_processes": ("load", "blocked_processes"),
    "memory_used_bytes": ("memory", "used_bytes"),  # without caches
    "disk_bytes_per_s": ("disk", "read_bytes_per_s", "write_bytes_per_s"),
    "disk_operations_per_s": ("disk", "transfers_per_s"),
}  # by quantity: the telemetry's activity, and the metrics that are added up
ACTIVITIES = {quantity: activity for quantity, (activity, *_) in _SUMS.items()} | {
    "disk_await_s": "disk",  # of a request in the block layer, weighted by requests
    "cpu_busy_fraction": "cpu",  # neither idle, waiting for I/O nor stolen, share of all CPUs of the host
    "machine_cpu_busy_fraction": "cpu",  # of all hosts of a testbed together, with the role ``machine``
}  # quantities of `telemetry_by_sample`, and the telemetry's activity that each is made from
CPU_METRICS = ("idle_fraction", "iowait_fraction", "steal_fraction")  # shares of a CPU's time that are not busy
USED_METRICS = frozenset({*CPU_METRICS, "await_s"}.union(*(metrics for _, *metrics in _SUMS.values())))  # of these

_TRAFFIC = ("network_receive_bytes_per_s", "network_transmit_bytes_per_s")

_HOST = ["cell_id", "sample", "role", "host"]
_RECORD = [*_HOST, "time_s"]


def steady_part(telemetry: pd.DataFrame, samples: pd.DataFrame) -> pd.DataFrame:
    """The telemetry rows of `USED_METRICS` in the measured parts of samples, of hosts with `MIN_RECORDS` there."""
    parts = measured_parts(telemetry, samples)
    known = telemetry["metric"].isin(USED_METRICS) & (telemetry["activity"] != "io")
    wanted = telemetry[telemetry["cell_id"].isin(set(parts["cell_id"])) & known]
    places = wanted.groupby(["cell_id", "sample"], observed=True).indices
    times = wanted["time_s"].to_numpy()
    inside = np.zeros(len(wanted), dtype=bool)
    for cell, sample, start, end in parts.itertuples(index=False, name=None):
        at = places.get((cell, sample), [])
        inside[at] = (times[at] > start) & (times[at] <= end)
    kept = wanted[inside]
    records = kept.groupby(_HOST, observed=True)["time_s"].transform("nunique")
    return kept[records >= MIN_RECORDS].reset_index(drop=True)


def _machine_busy(busy: pd.DataFrame) -> pd.DataFrame:
    """CPU time of all hosts of a testbed together, by record: a lower bound, kernel threads are in no host's group.

    Hosts write their records at moments of their own, and leave some out where the machine is full. A record holds what
    was before it, so at each moment the next one of each host counts, and the last one after that.
    """
    sample = ["cell_id", "sample"]
    wide = busy.pivot(index=[*sample, "time_s"], columns="host", values="value")
    total = wide.groupby(level=sample).bfill().groupby(level=sample).ffill().sum(axis=1).rename("value").reset_index()
    apart = busy.sort_values("time_s").groupby([*sample, "host"])["time_s"].diff()
    # as far apart as the records of one host, so that a peak is as long as that of other quantities
    steps = apart.groupby([busy[name] for name in sample]).median().rename("step").reset_index()
    total = total.merge(steps, on=sample)
    moments = total.assign(time_s=np.floor(total["time_s"] / total["step"]) * total["step"])
    found = moments.groupby([*sample, "time_s"])["value"].mean().reset_index()
    return found.assign(role="machine", host="", quantity="machine_cpu_busy_fraction")


def _await(rows: pd.DataFrame) -> pd.DataFrame:
    disk = rows[(rows["activity"] == "disk") & rows["metric"].isin(("await_s", "transfers_per_s"))]
    wide = disk.pivot_table(index=[*_RECORD, "device"], columns="metric", values="value", observed=True)
    wide = wide.reindex(columns=["await_s", "transfers_per_s"]).dropna()
    wide["waited"] = wide["await_s"] * wide["transfers_per_s"]
    totals = wide.groupby(_HOST, observed=True)[["waited", "transfers_per_s"]].sum()
    totals = totals[totals["transfers_per_s"] > 0]
    value = totals["waited"] / totals["transfers_per_s"]
    return value.rename("value").reset_index().assign(quantity="disk_await_s")


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


def telemetry_by_host(telemetry: pd.DataFrame, samples: pd.DataFrame, *, testbed: bool = False) -> pd.DataFrame:
    """``value`` (the mean over the measured part) and ``peak`` of each ``host``, as of `telemetry_by_sample`."""
    rows = steady_part(telemetry, samples)
    found = []
    for quantity, (activity, *metrics) in _SUMS.items():
        chosen = rows[(rows["activity"] == activity) & rows["metric"].isin(metrics) & (rows["device"] != "lo")]
        values = chosen.groupby(_RECORD, observed=True)["value"]
        table = (values.max() if quantity in _TRAFFIC else values.sum(min_count=1)).reset_index()
        found.append(table.assign(quantity=quantity))
    cpu = rows[(rows["activity"] == "cpu") & rows["metric"].isin(CPU_METRICS) & (rows["device"] == "all")]
    busy = (1 - cpu.groupby(_RECORD, observed=True)[["value"]].sum()).reset_index()
    # text only now: of all rows it would take seconds
    text = dict.fromkeys(("cell_id", "role", "host"), str)
    busy = busy.assign(quantity="cpu_busy_fraction").astype(text)
    machine = [_machine_busy(busy)] if testbed else []
    by_host = _means_and_peaks(pd.concat([*(table.astype(text) for table in found), busy, *machine], ignore_index=True))
    by_host = pd.concat([by_host, _await(rows).astype(text).assign(peak=math.nan)], ignore_index=True)
    traffic = by_host[(by_host["role"] == "client") & by_host["quantity"].isin(_TRAFFIC)]
    moved = traffic.groupby(["cell_id", "sample", "host"])["value"].sum()
    most = moved.groupby(["cell_id", "sample"]).transform("max")
    idle = moved.index[(moved <= IDLE * most) & (most > 0)]
    return by_host[~pd.MultiIndex.from_frame(by_host[["cell_id", "sample", "host"]]).isin(idle)]


def telemetry_by_sample(telemetry: pd.DataFrame, samples: pd.DataFrame, *, testbed: bool = False) -> pd.DataFrame:
    """One value per sample, role and quantity: the mean over hosts of the mean over the measured part.

    Disks of a host are added up, except their waiting time, which is averaged over all requests. Of its interfaces the
    fullest counts, record by record: a bond is itself one of them. Clients without a worker are left out. Columns of
    `samples`, ``role`` (server, client or machine), ``quantity`` (of `ACTIVITIES`), ``value``, ``peak`` (mean over
    hosts of each host's busiest `PEAK_S` seconds, NaN for the waiting time), and ``hosts``.
    """
    worked = telemetry_by_host(telemetry, samples, testbed=testbed)
    roles = worked.groupby(["cell_id", "sample", "role", "quantity"])
    by_role = roles.agg(value=("value", "mean"), peak=("peak", "mean"), hosts=("value", "count"))
    described = samples.assign(cell_id=samples["cell_id"].astype(str))
    return described.merge(by_role.reset_index(), on=["cell_id", "sample"], how="inner")


def telemetry_by_cell(telemetry: pd.DataFrame, samples: pd.DataFrame, *, testbed: bool = False) -> pd.DataFrame:
    """`telemetry_by_sample` summarised by cell, ``role`` before and ``peak`` (mean over the samples) after the rest."""
    values = telemetry_by_sample(telemetry, samples, testbed=testbed)
    # an empty summary has the columns where there is nothing else
    parts = [summarise(values.iloc[:0], "value").assign(role="", peak=math.nan)]
    for (role, quantity), rows in values.groupby(["role", "quantity"], observed=True):
        summary = summarise(rows.rename(columns={"value": str(quantity)}), str(quantity))
        peaks = rows.groupby("cell_id", observed=True)["peak"].mean()
        parts.append(summary.assign(role=str(role), peak=summary["cell_id"].map(peaks).astype(float)))
    table = pd.concat(parts[1:] or parts, ignore_index=True)
    return table[["role", *table.columns.drop("role")]]
