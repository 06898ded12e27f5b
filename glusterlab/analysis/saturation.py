"""What each subsystem did while a workload ran: network, CPU, memory and disks of servers and of clients.

Telemetry is averaged in the order time, host, sample: first over the steady part of a sample on one host, then over
the hosts of a role, and the interval is over the samples of a cell. The steady part is the window of the workload's
command without its first `RAMP_S` seconds, in which the tool starts its workers over SSH, and no longer than the time
that the tool itself measured: after that it only collects its workers, and idle seconds would dilute the means.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import pandas as pd

from glusterlab.analysis.series import summarise

RAMP_S = 2.0
"""Seconds at the start of a sample's window that are left out."""

MIN_RECORDS = 2
"""Fewest telemetry records per host and sample in the steady part; with fewer the sample says nothing."""

METRICS = {
    "network_receive_bytes_per_s": "received per host, bytes/s",
    "network_transmit_bytes_per_s": "sent per host, bytes/s",
    "cpu_busy_fraction": "CPU time that was neither idle, waiting for I/O nor stolen, share of all CPUs of the host",
    "load_1min": "load average over one minute",
    "blocked_processes": "processes that wait for I/O",
    "memory_used_bytes": "memory in use without caches, bytes per host",
    "disk_bytes_per_s": "read and written together, bytes/s per host",
    "disk_await_s": "time of a request in the block layer, weighted by requests, seconds",
}
"""Quantities of `telemetry_by_sample`, and what each is."""

_SUMS = {
    ("network", "receive_bytes_per_s"): "network_receive_bytes_per_s",
    ("network", "transmit_bytes_per_s"): "network_transmit_bytes_per_s",
    ("load", "load_1min"): "load_1min",
    ("load", "blocked_processes"): "blocked_processes",
    ("memory", "used_bytes"): "memory_used_bytes",
    ("disk", "read_bytes_per_s"): "disk_bytes_per_s",
    ("disk", "write_bytes_per_s"): "disk_bytes_per_s",
}
_NOT_BUSY = ("idle_fraction", "iowait_fraction", "steal_fraction")
_METRICS = {metric for _, metric in _SUMS} | {*_NOT_BUSY, "await_s", "transfers_per_s"}
_HOST = ["cell_id", "sample", "role", "host"]
_RECORD = [*_HOST, "time_s"]


@dataclass(frozen=True, slots=True)
class Limits:
    """What the hardware can do per host, in bytes/s, on the scale that was measured (a scale model's own limits).

    Attributes
    ----------
    server_link, client_link : float
        Each direction.
    server_disks_write, server_disks_read : float
        All disks of a server together, as its backing uses them.
    """

    server_link: float
    client_link: float
    server_disks_write: float
    server_disks_read: float


def steady_part(telemetry: pd.DataFrame, samples: pd.DataFrame, ramp_s: float = RAMP_S) -> pd.DataFrame:
    """The telemetry rows of the steady part of each of the samples.

    It is ``[start_s + ramp_s, end_s]``, and where the tool states its own time, no longer than ``elapsed_s``.

    Parameters
    ----------
    telemetry : pandas.DataFrame
        The telemetry table. A record holds averages over the interval before its time.
    samples : pandas.DataFrame
        Rows of the samples table; rows of other samples are left out.
    ramp_s : float
        Seconds; at least the telemetry's interval, or the first record also covers time before the start.

    Returns
    -------
    pandas.DataFrame
        Columns of the telemetry table, rows of the metrics that `METRICS` are made from. Hosts with fewer than
        `MIN_RECORDS` records in the window are left out.
    """
    cells = set(samples["cell_id"].astype(str))
    wanted = telemetry[telemetry["cell_id"].isin(cells) & telemetry["metric"].isin(_METRICS)]
    wanted = wanted.astype(dict.fromkeys(("cell_id", "role", "host", "activity", "metric"), str))
    windows = samples[["cell_id", "sample", "start_s", "end_s", "elapsed_s"]].astype({"cell_id": str})
    rows = wanted.merge(windows, on=["cell_id", "sample"], how="inner")
    start = rows["start_s"] + ramp_s
    end = (start + rows["elapsed_s"]).fillna(rows["end_s"]).clip(upper=rows["end_s"])
    rows = rows[(rows["time_s"] >= start) & (rows["time_s"] <= end)]
    records = rows.groupby(_HOST)["time_s"].transform("nunique")
    return rows[records >= MIN_RECORDS].drop(columns=["start_s", "end_s", "elapsed_s"])


def _busy(rows: pd.DataFrame) -> pd.DataFrame:
    cpu = rows[(rows["activity"] == "cpu") & rows["metric"].isin(_NOT_BUSY) & (rows["device"] == "all")]
    busy = 1 - cpu.groupby(_RECORD)["value"].sum()
    return busy.rename("value").reset_index().assign(quantity="cpu_busy_fraction")


def _await(rows: pd.DataFrame) -> pd.DataFrame:
    disk = rows[(rows["activity"] == "disk") & rows["metric"].isin(("await_s", "transfers_per_s"))]
    wide = disk.pivot_table(index=[*_RECORD, "device"], columns="metric", values="value", observed=True)
    wide = wide.reindex(columns=["await_s", "transfers_per_s"]).dropna()
    wide["waited"] = wide["await_s"] * wide["transfers_per_s"]
    totals = wide.groupby(_HOST)[["waited", "transfers_per_s"]].sum()
    totals = totals[totals["transfers_per_s"] > 0]
    value = totals["waited"] / totals["transfers_per_s"]
    return value.rename("value").reset_index().assign(quantity="disk_await_s")


def telemetry_by_sample(telemetry: pd.DataFrame, samples: pd.DataFrame, ramp_s: float = RAMP_S) -> pd.DataFrame:
    """One value per sample, role and quantity: the mean over hosts of the mean over the steady part.

    Devices of a host are added up (disks, interfaces), except the waiting time of disks, which is averaged over all
    requests of the steady part.

    Parameters
    ----------
    telemetry, samples : pandas.DataFrame
        The telemetry table, and the rows of the samples table to look at (with `series`, from ``select``).
    ramp_s : float
        Seconds left out at the start.

    Returns
    -------
    pandas.DataFrame
        The columns of `samples`, and ``role`` (server or client), ``quantity`` (a key of `METRICS`), ``value``
        (SI units), ``hosts`` (int). A quantity without data is absent.
    """
    rows = steady_part(telemetry, samples, ramp_s)
    keys = pd.MultiIndex.from_frame(rows[["activity", "metric"]])
    summed = rows.assign(quantity=keys.map(_SUMS)).dropna(subset=["quantity"])
    totals = summed.groupby([*_RECORD, "quantity"])["value"].sum(min_count=1).reset_index()
    by_record = pd.concat([totals, _busy(rows)], ignore_index=True)
    by_host = by_record.groupby([*_HOST, "quantity"])["value"].mean().reset_index()
    by_host = pd.concat([by_host, _await(rows)], ignore_index=True)
    by_role = by_host.groupby(["cell_id", "sample", "role", "quantity"])["value"].agg(value="mean", hosts="count")
    described = samples.assign(cell_id=samples["cell_id"].astype(str))
    return described.merge(by_role.reset_index(), on=["cell_id", "sample"], how="inner")


def saturation(telemetry: pd.DataFrame, samples: pd.DataFrame, ramp_s: float = RAMP_S) -> pd.DataFrame:
    """Telemetry by cell: what figures 40 to 44 of the guide draw.

    Returns
    -------
    pandas.DataFrame
        The columns of `glusterlab.analysis.series.summarise`, with ``role`` first; ``quantity`` is a key of `METRICS`.
    """
    values = telemetry_by_sample(telemetry, samples, ramp_s)
    parts = [
        summarise(rows.rename(columns={"value": str(quantity)}), str(quantity)).assign(role=str(role))
        for (role, quantity), rows in values.groupby(["role", "quantity"], observed=True)
    ]
    empty = summarise(samples.iloc[:0].assign(value=pd.Series(dtype=float)), "value").assign(role="")
    table = pd.concat(parts, ignore_index=True) if parts else empty
    return table[["role", *(name for name in table.columns if name != "role")]]


def use_of_limits(summary: pd.DataFrame, limits: dict[str, Limits]) -> pd.DataFrame:
    """How much of each known limit was used, per cell: the candidates for what saturates first.

    Parameters
    ----------
    summary : pandas.DataFrame
        From `saturation`.
    limits : dict of str to Limits
        By ``cell_id``; cells that are not in it have no limits.

    Returns
    -------
    pandas.DataFrame
        ``cell_id``, ``series``, ``operation``, ``workers``, ``subsystem`` (str), ``share`` (1 = at the limit).
        A share well below 1 everywhere means that something else holds the volume back: latency, the protocol, or the
        software.
    """
    records: list[dict[str, object]] = []
    for (cell, series, operation, workers), rows in summary.groupby(
        ["cell_id", "series", "operation", "workers"], observed=True, sort=False
    ):
        means = {(str(row["role"]), str(row["quantity"])): float(row["mean"]) for row in rows.to_dict("records")}
        limit = limits.get(str(cell))
        disks, links = math.nan, {"server": math.nan, "client": math.nan}
        if limit is not None:
            reads = str(operation) == "read"
            disks = limit.server_disks_read if reads else limit.server_disks_write
            links = {"server": limit.server_link, "client": limit.client_link}
        shares = {"server disks": means.get(("server", "disk_bytes_per_s"), math.nan) / disks}
        for role, link in links.items():
            traffic = [means.get((role, f"network_{way}_bytes_per_s"), math.nan) for way in ("receive", "transmit")]
            shares[f"{role} network"] = max(traffic) / link
            shares[f"{role} CPU"] = means.get((role, "cpu_busy_fraction"), math.nan)
        records.extend(
            {
                "cell_id": cell,
                "series": series,
                "operation": operation,
                "workers": workers,
                "subsystem": name,
                "share": share,
            }
            for name, share in shares.items()
            if not math.isnan(share)
        )
    return pd.DataFrame.from_records(
        records, columns=["cell_id", "series", "operation", "workers", "subsystem", "share"]
    )
