"""Hosts that carry more than their peers.

Skew says who carries more, without a judgement: placement does that, too. A host is an outlier of a sample by the
median and MAD of its role (Iglewicz and Hoaglin) when it also carries half as much again as its peers, or as much less.
It is named when it does so in most samples: placement by hash favours one host in one sample and another in the next.
Disks that are slower than their peers are those of `glusterlab.analysis.slowdisks`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from glusterlab.analysis.measured_part import measured_parts
from glusterlab.analysis.saturation import IDLE
from glusterlab.analysis.thresholds import Thresholds
from glusterlab.analysis.timeline import Timeline, timelines

if TYPE_CHECKING:
    from numpy.typing import NDArray

LEAST_PEERS = 4
"""Fewest disks or hosts that can be compared: the median of two others says little."""

SKEW_COLUMNS = ["cell_id", "sample", "role", "quantity", "host", "value", "median", "ratio", "z", "outlier"]
"""Columns of `host_skew`: means over the measured part, in the unit of the quantity."""

_MAIN = 0.1
"""Of two directions the one with less than this share of the other's load is no load."""

_HOST_QUANTITIES = {
    "network": {"received, bytes/s": "receive_bytes_per_s", "sent, bytes/s": "transmit_bytes_per_s"},
    "disk": {"written to disks, bytes/s": "write_bytes_per_s", "read from disks, bytes/s": "read_bytes_per_s"},
}


def host_skew(telemetry: pd.DataFrame, samples: pd.DataFrame, thresholds: Thresholds | None = None) -> pd.DataFrame:
    """What each host carried over the measured part, beside the other hosts of its role.

    Parameters
    ----------
    telemetry, samples, thresholds
        As `glusterlab.analysis.slowdisks.disk_pace` takes them, with the rates of networks.

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
    carried = values > IDLE * values.max(initial=0.0)
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
