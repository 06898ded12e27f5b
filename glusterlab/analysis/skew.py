"""Hosts that carry more than their peers, and disks that are slower than theirs.

**A slow disk** is not one that did less: where files are placed by hash, disks get more or less to do. It is one that
takes longer for the same. Two measures tell, and either names it:

- *rate and time*: the most that it moved over `PEAK_S` is well below that of its peers, and yet, at that rate, it
  worked for much longer than they. A disk with little to do has a low rate for a short time. This works wherever
  bytes are counted, also on a testbed, where the limit of a disk acts before the block layer counts a request, so
  that ``await``, ``aqu-sz`` and ``%util`` do not show it.
- *seconds per byte*: the time that it was busy (``%util``) over what it moved is a multiple of its peers', while it was
  busy for a good part of the window. On real disks this is the sharper one: the other disks of a slow disk's subvolume
  wait for it and are as slow by rate, but idle.

Both look at the whole window of the command and not at the measured part: a slow disk shows when the others are done.

A disk is named with the samples that name it. One sample can be an accident of placement; the same disk in several,
with files placed anew in each, hardly.

**Skew** between hosts says who carries more, without a judgement: placement does that, too. A host is an outlier of a
sample by the median and MAD of its role (Iglewicz and Hoaglin) when it also carries half as much again as its peers,
or as much less. It is named when it does so in most samples: placement by hash favours one host in one sample and
another in the next.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from glusterlab.analysis.saturation import MIN_RECORDS, PEAK_S, measured_parts
from glusterlab.analysis.thresholds import Thresholds
from glusterlab.analysis.timeline import Timeline, rolling, timelines

if TYPE_CHECKING:
    from numpy.typing import NDArray

LEAST_PEERS = 4
"""Fewest disks or hosts that can be compared: the median of two others says little."""

BUSY = 0.3
"""A disk that was busy for less of the window than this held nobody up, by its seconds per byte."""

_IDLE = 0.02
_WORKED = 0.25
"""Peers moved at least so much of what the disk in the middle moved."""

DISK_COLUMNS = [
    "cell_id",
    "sample",
    "host",
    "device",
    "bytes",
    "rate_bytes_per_s",
    "rate_ratio",
    "time_s",
    "time_ratio",
    "busy",
    "busy_ratio",
    "slow",
    "by",
]
"""Columns of `disk_pace`: what each disk moved; the most over `PEAK_S`, and as a share of its peers' median; how long
it takes for all its bytes at that rate, and in multiples of theirs; share of the window in which it was busy (NaN
where ``%util`` is not recorded), and its busy seconds per byte in multiples of theirs; whether it is ``slow``, and
``by`` which measure."""

SUMMED_COLUMNS = ["host", "device", "samples", "slow", "rate_ratio", "time_ratio", "busy_ratio"]
"""Columns of `pace_by_disk`: in how many ``samples`` a disk carried something and in how many it was ``slow``, and
medians over them."""

SLOW_COLUMNS = ["host", "device", "samples", "of", "rate_ratio", "time_ratio", "busy_ratio", "by", "evidence"]
"""Columns of `slow_disks`: in how many ``samples`` of those in which it carried something a disk is slow, and their
medians."""

SKEW_COLUMNS = ["cell_id", "sample", "role", "quantity", "host", "value", "median", "ratio", "z", "outlier"]
"""Columns of `host_skew`: means over the measured part, in the unit of the quantity."""

_PACE = ("read_bytes_per_s", "write_bytes_per_s", "utilisation_fraction")

_MAIN = 0.1
"""Of two directions the one with less than this share of the other's load is no load."""

_HOST_QUANTITIES = {
    "network": {"received, bytes/s": "receive_bytes_per_s", "sent, bytes/s": "transmit_bytes_per_s"},
    "disk": {"written to disks, bytes/s": "write_bytes_per_s", "read from disks, bytes/s": "read_bytes_per_s"},
}


def disk_pace(telemetry: pd.DataFrame, samples: pd.DataFrame, thresholds: Thresholds | None = None) -> pd.DataFrame:
    """How fast each disk of the servers worked in each sample, beside its peers.

    Parameters
    ----------
    telemetry : pandas.DataFrame
        The telemetry table, with the metrics ``read_bytes_per_s``, ``write_bytes_per_s`` and, where it was recorded,
        ``utilisation_fraction`` of disks.
    samples : pandas.DataFrame
        Rows of the samples table.
    thresholds : Thresholds, optional

    Returns
    -------
    pandas.DataFrame
        Columns `DISK_COLUMNS`, a row per disk that moved anything to speak of. Nothing is slow in a sample with fewer
        than `LEAST_PEERS` such disks.
    """
    chosen = thresholds or Thresholds()
    whole = _windows(samples)
    disks = telemetry[(telemetry["activity"] == "disk") & telemetry["metric"].isin(_PACE)]
    records: list[dict[str, Any]] = []
    for cell, sample, timeline in timelines(disks, samples, whole):
        point = {"cell_id": cell, "sample": sample}
        records += [point | row for row in _paces(timeline, chosen)]
    table = pd.DataFrame.from_records(records, columns=DISK_COLUMNS)
    return table.astype({"slow": bool})


def _windows(samples: pd.DataFrame) -> pd.DataFrame:
    """Windows of the commands, as parts."""
    columns = {"start_s": "part_start_s", "end_s": "part_end_s"}
    return samples[["cell_id", "sample", "start_s", "end_s"]].rename(columns=columns)


def _paces(timeline: Timeline, thresholds: Thresholds) -> Iterator[dict[str, Any]]:
    series, written = timeline.of("disk", "write_bytes_per_s", "server")
    if series.empty or int(timeline.inside.sum()) < MIN_RECORDS:
        return
    disks = list(zip(series["host"].astype(str), series["device"].astype(str), strict=True))
    moved = np.nan_to_num(written) + _same(timeline, "read_bytes_per_s", disks, 0.0)
    moved = moved[:, timeline.inside]
    util = _same(timeline, "utilisation_fraction", disks, math.nan)[:, timeline.inside]
    total = moved.sum(axis=1) * timeline.step_s
    rate = rolling(moved, timeline.steps(PEAK_S)).max(axis=1)
    known = np.isfinite(util)
    busy = np.where(known.any(axis=1), np.where(known, util, 0.0).mean(axis=1), math.nan)
    carried = total > _IDLE * total.max(initial=0.0)
    if not carried.any():
        return
    peers = carried & (total >= _WORKED * np.median(total[carried]))
    with np.errstate(divide="ignore", invalid="ignore"):
        time = total / rate
        cost = busy / total
        rates, times, costs = rate / np.median(rate[peers]), time / np.median(time[peers]), cost / _middle(cost[peers])
    comparable = peers & (int(peers.sum()) >= LEAST_PEERS)
    by_rate = (
        comparable
        & (rates <= thresholds.slow_rate)
        & (times >= thresholds.slow_time)
        & (time >= thresholds.slow_seconds)
    )
    by_busy = comparable & (busy >= BUSY) & (costs >= thresholds.slow_time) & np.isfinite(costs)
    for number in np.flatnonzero(carried):
        measures = [name for name, says in (("rate and time", by_rate), ("seconds per byte", by_busy)) if says[number]]
        yield {
            "host": disks[number][0],
            "device": disks[number][1],
            "bytes": float(total[number]),
            "rate_bytes_per_s": float(rate[number]),
            "rate_ratio": float(rates[number]),
            "time_s": float(time[number]),
            "time_ratio": float(times[number]),
            "busy": float(busy[number]),
            "busy_ratio": float(costs[number]),
            "slow": bool(measures),
            "by": " and ".join(measures),
        }


def _middle(values: NDArray[np.float64]) -> float:
    known = values[np.isfinite(values)]
    return float(np.median(known)) if len(known) else math.nan


def _same(timeline: Timeline, metric: str, disks: list[tuple[str, str]], absent: float) -> NDArray[np.float64]:
    """A metric of these disks, in their order."""
    series, values = timeline.of("disk", metric, "server")
    rows = {pair: row for row, pair in enumerate(zip(series["host"], series["device"], strict=True))}
    found = np.full((len(disks), timeline.values.shape[1]), absent)
    for number, disk in enumerate(disks):
        if disk in rows:
            found[number] = values[rows[disk]] if math.isnan(absent) else np.nan_to_num(values[rows[disk]])
    return found


def pace_by_disk(pace: pd.DataFrame) -> pd.DataFrame:
    """Each disk over all samples that it carried something in: what a figure of disks draws.

    Parameters
    ----------
    pace : pandas.DataFrame
        From `disk_pace`, of samples that use the same disks.

    Returns
    -------
    pandas.DataFrame
        Columns `SUMMED_COLUMNS`.
    """
    disks = pace.groupby(["host", "device"], sort=False)
    table = disks[["rate_ratio", "time_ratio", "busy_ratio"]].median()
    table = table.assign(samples=disks.size(), slow=disks["slow"].sum().astype(int))
    return table.reset_index()[SUMMED_COLUMNS]


def slow_disks(telemetry: pd.DataFrame, samples: pd.DataFrame, thresholds: Thresholds | None = None) -> pd.DataFrame:
    """Disks that were slower than their peers, by name: the slowest first.

    It needs no limits and no baseline.

    Parameters
    ----------
    telemetry, samples, thresholds
        As `disk_pace` takes them.

    Returns
    -------
    pandas.DataFrame
        Columns `SLOW_COLUMNS`; empty where none was slow.

    Notes
    -----
    Where several disks are named, the others may be those that waited for the first: the disks of its subvolume. By
    seconds per byte they are told apart.
    """
    return named_disks(disk_pace(telemetry, samples, thresholds))


def named_disks(pace: pd.DataFrame) -> pd.DataFrame:
    """The slow disks of `disk_pace`, over all its samples."""
    records = []
    for (host, device), rows in pace.groupby(["host", "device"], sort=True):
        slow = rows[rows["slow"]]
        if slow.empty:
            continue
        middle = slow[["rate_ratio", "time_ratio", "busy_ratio", "rate_bytes_per_s", "time_s"]].median()
        by = " and ".join(name for name in ("rate and time", "seconds per byte") if slow["by"].str.contains(name).any())
        records.append(
            {
                "host": host,
                "device": device,
                "samples": len(slow),
                "of": len(rows),
                "rate_ratio": float(middle["rate_ratio"]),
                "time_ratio": float(middle["time_ratio"]),
                "busy_ratio": float(middle["busy_ratio"]),
                "by": by,
                "evidence": _slow_words(str(host), str(device), by, middle, len(slow), len(rows)),
            }
        )
    table = pd.DataFrame.from_records(records, columns=SLOW_COLUMNS)
    worst = table["time_ratio"].where(table["by"].str.startswith("rate"), table["busy_ratio"])
    return table.assign(_worst=worst * table["samples"]).sort_values(
        "_worst", ascending=False, kind="stable", ignore_index=True
    )[SLOW_COLUMNS]


def _slow_words(host: str, device: str, by: str, middle: pd.Series, samples: int, of: int) -> str:
    words = []
    if "rate" in by:
        words.append(
            f"no more than {middle['rate_bytes_per_s'] / 1e6:.3g} MB/s, {100 * middle['rate_ratio']:.0f} % of its "
            f"peers' median, for {middle['time_s']:.0f} s, {middle['time_ratio']:.1f} times as long as they"
        )
    if "seconds" in by:
        words.append(f"{middle['busy_ratio']:.1f} times as many busy seconds per byte as its peers")
    return f"{host} {device}: {'; '.join(words)} ({samples} of {of} samples)"


def host_skew(telemetry: pd.DataFrame, samples: pd.DataFrame, thresholds: Thresholds | None = None) -> pd.DataFrame:
    """What each host carried over the measured part, beside the other hosts of its role.

    Parameters
    ----------
    telemetry, samples, thresholds
        As `disk_pace` takes them, with the rates of networks.

    Returns
    -------
    pandas.DataFrame
        Columns `SKEW_COLUMNS`; hosts that carried nothing to speak of are left out: clients without a worker.
    """
    chosen = thresholds or Thresholds()
    records: list[dict[str, Any]] = []
    rates = {metric for directions in _HOST_QUANTITIES.values() for metric in directions.values()}
    moved = telemetry[telemetry["activity"].isin(_HOST_QUANTITIES) & telemetry["metric"].isin(rates)]
    for cell, sample, timeline in timelines(moved, samples, measured_parts(moved, samples)):
        if not timeline.inside.any():
            continue
        for activity, directions in _HOST_QUANTITIES.items():
            loads = {quantity: _loads(timeline, activity, metric) for quantity, metric in directions.items()}
            for role in ("server", "client"):
                of = {quantity: load.get(role, {}) for quantity, load in loads.items()}
                most = max(sum(hosts.values()) for hosts in of.values())
                for quantity, hosts in of.items():
                    # acknowledgements and metadata are no load
                    if hosts and sum(hosts.values()) >= _MAIN * most:
                        point = {"cell_id": cell, "sample": sample, "role": role, "quantity": quantity}
                        records += [point | row for row in _outliers(hosts, chosen)]
    return pd.DataFrame.from_records(records, columns=SKEW_COLUMNS).astype({"outlier": bool})


def _loads(timeline: Timeline, activity: str, metric: str) -> dict[str, dict[str, float]]:
    """Means over the measured part by role and host, hosts by name."""
    series, values = timeline.of(activity, metric)
    means = np.nan_to_num(values[:, timeline.inside]).mean(axis=1)
    found: dict[str, dict[str, float]] = {}
    for role, host, device, mean in sorted(
        zip(series["role"], series["host"], series["device"], means.tolist(), strict=True)
    ):
        if device == "lo":
            continue
        hosts = found.setdefault(role, {})
        before = hosts.get(host, 0.0)
        # bonds carry what their members do
        hosts[host] = max(before, mean) if activity == "network" else before + mean
    return found


def skewed_hosts(skew: pd.DataFrame, thresholds: Thresholds | None = None) -> pd.DataFrame:
    """Hosts that carried more than their peers, or less, in most samples.

    Parameters
    ----------
    skew : pandas.DataFrame
        From `host_skew`.
    thresholds : Thresholds, optional

    Returns
    -------
    pandas.DataFrame
        ``role``, ``host``, ``quantity``, ``ratio`` (median over the samples in which it carried something), ``samples``
        (in which it was an outlier) and ``of``; those with a ratio beyond the threshold, the furthest first.
    """
    least = (thresholds or Thresholds()).skew
    groups = skew.groupby(["role", "host", "quantity"], sort=True)
    table = groups.agg(ratio=("ratio", "median"), samples=("outlier", "sum"), of=("outlier", "size")).reset_index()
    table = table.assign(_apart=np.maximum(table["ratio"], 1 / table["ratio"]))
    named = table[(table["_apart"] >= least) & (table["samples"] * 2 > table["of"])]
    return named.sort_values("_apart", ascending=False, kind="stable", ignore_index=True).drop(columns="_apart")


def skew_sentences(hosts: pd.DataFrame) -> list[str]:
    """Hosts that carried more or less than their peers in most samples, a sentence each.

    Parameters
    ----------
    hosts : pandas.DataFrame
        From `skewed_hosts`.
    """
    return [
        f"{row['role']} {row['host']}: {row['ratio']:.2f} times the median of its peers, "
        f"{row['quantity'].split(',')[0]} ({row['samples']} of {row['of']} samples)."
        for row in hosts.to_dict("records")
    ]


def _outliers(loads: Mapping[str, float], thresholds: Thresholds) -> Iterator[dict[str, Any]]:
    values = np.array(list(loads.values()), dtype=float)
    carried = values > _IDLE * values.max(initial=0.0)
    if not carried.any():
        return
    hosts = np.array(list(loads), dtype=object)[carried]
    values = values[carried]
    scores = modified_z(values)
    for number, (host, value) in enumerate(zip(hosts, values, strict=True)):
        median = float(np.median(np.delete(values, number))) if len(values) > 1 else math.nan
        ratio = float(value) / median if median > 0 else math.nan
        apart = max(ratio, 1 / ratio) if ratio > 0 else 0.0
        yield {
            "host": str(host),
            "value": float(value),
            "median": median,
            "ratio": ratio,
            "z": float(scores[number]),
            "outlier": bool(
                len(values) >= LEAST_PEERS
                and abs(float(scores[number])) >= thresholds.outlier
                and apart >= thresholds.skew
            ),
        }


def modified_z(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Distance of each value from the median of all in units of their MAD: Iglewicz and Hoaglin's modified z-score.

    Examples
    --------
    >>> modified_z(np.array([9.0, 10.0, 11.0, 10.0, 30.0])).round(1).tolist()
    [-0.7, 0.0, 0.7, 0.0, 13.5]

    Where more than half are equal, any other is infinitely far:

    >>> modified_z(np.array([1.0, 1.0, 1.0, 2.0])).tolist()
    [0.0, 0.0, 0.0, inf]
    """
    distance = values - np.median(values)
    spread = float(np.median(np.abs(distance)))
    if spread == 0:
        return np.select([distance > 0, distance < 0], [math.inf, -math.inf], 0.0)
    return np.asarray(0.6745 * distance / spread)
