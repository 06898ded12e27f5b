"""Disks that are slower than their peers, and hosts that carry more than theirs.

A slow disk takes longer for the same bytes than disks that moved half to twice as much, over the whole window of the
command. (On a testbed ``await`` and ``%util`` do not show it: the limit acts before the block layer counts a request.)
In reads of a dispersed volume, and in writes on a busy machine, others of its subvolume wait, and are named behind it.
"""

import math
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from glusterlab.analysis.saturation.resources import IDLE, MIN_RECORDS
from glusterlab.analysis.saturation.thresholds import USUAL, Thresholds
from glusterlab.analysis.saturation.timeline import Timeline, rolling, timelines

LEAST_PEERS = 4  # fewest disks or hosts that can be compared: the median of two others says little

RESOLVED = 2  # records that time at work is resolved to: in some a slow disk of a model finishes nothing

ALIKE = 2.0  # peers moved up to N times as much, or as many times less

DONE = 0.95  # share of its bytes after which a disk has done: what trickles in later is metadata

WORKED = 0.1  # a disk that moved less than this share of what the average byte's disk moved has nothing to be judged by

MAIN = 0.1  # the lesser direction is no load below this share: acknowledgements, metadata

DISK_COLUMNS = [
    *("cell_id", "sample", "host", "device", "bytes", "time_s", "time_ratio", "z", "longer_s", "after_s", "busy"),
    *("judged", "slow"),
]
"""Columns of `disk_times`: bytes and time at work, also in multiples of what its peers take for as much, with that
ratio's modified z-score; seconds that it is longer, and went on after half of all had done; share of its time at work
in which ``%util`` was busy. NaN where it moved too little or has too few peers."""

SKEW_COLUMNS = ["cell_id", "sample", "role", "quantity", "host", "value", "median", "ratio", "z", "outlier"]
"""Columns of `host_skew`: means over the measured part, in the unit of the quantity; the median is the others'."""

_QUANTITIES = {
    "receive_bytes_per_s": "received, bytes/s", "transmit_bytes_per_s": "sent, bytes/s",
    "write_bytes_per_s": "written to disks, bytes/s", "read_bytes_per_s": "read from disks, bytes/s",
}  # fmt: skip
_POINT = ["cell_id", "sample"]
_MAD = 0.6744897501960817  # that of a normal distribution, in standard deviations


def modified_z(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Distance of each value from the median of all in units of their MAD: Iglewicz and Hoaglin's modified z-score.

    Where more than half are equal, any other is infinitely far. NaN stays NaN and does not count.

    >>> modified_z(np.array([9.0, 10.0, 11.0, 10.0, 30.0])).round(1).tolist()
    [-0.7, 0.0, 0.7, 0.0, 13.5]
    >>> modified_z(np.array([1.0, 1.0, 1.0, 2.0])).tolist()
    [0.0, 0.0, 0.0, inf]
    """
    known = values[np.isfinite(values)]
    if not len(known):
        return np.full(values.shape, math.nan)
    distance = values - np.median(known)
    with np.errstate(divide="ignore", invalid="ignore"):
        scores = distance / (np.median(np.abs(distance[np.isfinite(values)])) / _MAD)
    return np.where(distance == 0, 0.0, scores)


def working_time(moved: NDArray[np.float64], step_s: float) -> NDArray[np.float64]:
    """Seconds that each disk was at work, weighted by bytes: idle time does not count, and a trickle hardly does.

    As the equivalent width of a pulse: the square of the sum of the rates over the sum of their squares; rates are
    means of `RESOLVED` records. `moved` is in bytes/s, shape (disks, records); the result NaN where nothing moved.

    A disk at a steady rate for ten records of 2 s, one that paused among them, and one that did all in one record:

    >>> steady, paused, short = [1.0] * 10, [1.0] * 5 + [0.0] * 10 + [1.0] * 5, [10.0]
    >>> [float(working_time(np.array([rates]), 2.0)[0].round(1)) for rates in (steady, paused, short)]
    [21.1, 22.2, 4.0]
    """
    edge = RESOLVED - 1
    smooth = rolling(np.pad(moved, ((0, 0), (edge, edge))), RESOLVED)
    squares = (smooth**2).sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(squares > 0, smooth.sum(axis=1) ** 2 / squares * step_s, math.nan)


def judge_disks(moved: NDArray[np.float64], step_s: float, thresholds: Thresholds) -> pd.DataFrame:
    """Which disks of one sample are slow among their peers; a row per disk, columns of `DISK_COLUMNS`.

    Slow: at a fraction of its peers' rate, beyond the scatter of all, for longer than time is resolved to.
    """
    total = moved.sum(axis=1) * step_s
    time_s = working_time(moved, step_s)
    # with few workers most disks carry nothing but metadata, and would be the median
    worked = total >= WORKED * (total**2).sum() / max(total.sum(), 1.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        more = total[:, np.newaxis] / total
    peers = worked & worked[:, np.newaxis] & (more <= ALIKE) & (more >= 1 / ALIKE)
    np.fill_diagonal(peers, val=False)
    enough = peers.sum(axis=1) >= LEAST_PEERS - 1
    # less was done in less time at the same rate; more is not scaled, for a short time is resolved no further
    for_as_much = np.where(peers, time_s * np.maximum(more, 1.0), math.nan)
    expected = np.full(len(moved), math.nan)
    if enough.any():
        expected[enough] = np.nanmedian(for_as_much[enough], axis=1)
    ratio = time_s / expected
    scores = modified_z(np.log(ratio))
    so_far = np.pad(np.cumsum(moved, axis=1), ((0, 0), (1, 0))) * step_s
    ends = np.arange(so_far.shape[1]) * step_s
    done_s = np.array([np.interp(DONE * row[-1], row, ends) for row in so_far])
    after_s = done_s - np.median(done_s[worked]) if worked.any() else done_s
    longer_s = time_s - expected
    least = max(thresholds.slow_seconds, RESOLVED * step_s)
    # with less a disk that is just slow would not be longer by enough
    judged_from_s = least * thresholds.slow_rate / (1 - thresholds.slow_rate)
    # NaN is never above anything
    slow = (ratio >= 1 / thresholds.slow_rate) & (scores >= thresholds.outlier)
    slow &= (longer_s >= least) & (after_s >= least)
    return pd.DataFrame(
        {
            "bytes": total,
            "time_s": time_s,
            "time_ratio": ratio,
            "z": scores,
            "longer_s": longer_s,
            "after_s": np.where(enough, after_s, math.nan),
            "judged": np.minimum(expected, time_s) >= judged_from_s,
            "slow": slow,
        }
    )


def disk_times(telemetry: pd.DataFrame, samples: pd.DataFrame, thresholds: Thresholds = USUAL) -> pd.DataFrame:
    """How long each disk of the servers took for its work in each sample, beside its peers; columns `DISK_COLUMNS`.

    Not judged is a disk that kept up with less than `Thresholds.slow_rate` of the full speed: it could be that slow and
    not show it. Full is the median of the sample whose disks of a backing and scale, by direction, were fastest.
    """
    whole = {"start_s": "part_start_s", "end_s": "part_end_s"}
    parts = samples[[*_POINT, *whole]].rename(columns=whole)
    found = []
    for cell, sample, timeline in timelines(telemetry[telemetry["activity"] == "disk"], samples, parts):
        disks, moved = disks_moved(timeline)
        if len(disks) and timeline.inside.sum() >= MIN_RECORDS:
            table = pd.concat([disks, judge_disks(moved, timeline.step_s, thresholds)], axis=1)
            busy = np.minimum(table["busy_s"] / table["time_s"], 1.0)
            found.append(table.assign(cell_id=cell, sample=sample, busy=busy))
    if not found:
        return pd.DataFrame(columns=DISK_COLUMNS).astype({"judged": bool, "slow": bool})
    table = pd.concat(found, ignore_index=True)
    alike = samples[[*_POINT, "backing", "scale"]].astype({"cell_id": str})
    table = table.merge(alike, on=_POINT)
    kind = ["backing", "scale", "reading"]
    rate = table["bytes"] / table["time_s"]
    seen = table.assign(rate=rate.where(table["judged"]))
    seen["rate"] = seen.groupby([*_POINT, *kind])["rate"].transform("median")
    full = seen.groupby(kind)["rate"].transform("max")
    near = table["judged"] & (rate >= thresholds.slow_rate * full)
    return table.assign(judged=near | table["slow"])[DISK_COLUMNS]


def disks_moved(timeline: Timeline) -> tuple[pd.DataFrame, NDArray[np.float64]]:
    """Disks that moved anything to speak of (``reading``: more than they wrote), bytes/s (disks, records)."""
    disks, written = timeline.of("disk", "write_bytes_per_s", "server")
    others = ("read_bytes_per_s", "utilisation_fraction")
    read, util = (timeline.beside("disk", "write_bytes_per_s", other, "server")[:, timeline.inside] for other in others)
    moved = np.nan_to_num(written[:, timeline.inside]) + np.nan_to_num(read)
    total = moved.sum(axis=1)
    chosen = total > IDLE * total.max(initial=0.0)
    known = np.isfinite(util).any(axis=1)
    busy_s = np.where(known, np.nansum(util, axis=1), math.nan) * timeline.step_s
    reading = bool(2 * np.nansum(read) > total.sum())
    table = disks.loc[chosen, ["host", "device"]].reset_index(drop=True)
    return table.assign(busy_s=busy_s[chosen], reading=reading), moved[chosen]


def disks_by_name(times: pd.DataFrame) -> pd.DataFrame:
    """Each disk of `disk_times`: samples in which it moved, was judged, was slow; medians of those that judge it."""
    rows = times.assign(**{name: times[name].where(times["judged"]) for name in ("time_ratio", "busy")})
    disks = rows.groupby(["host", "device"], sort=False)
    medians: dict[str, Any] = {name: (name, "median") for name in ("time_ratio", "busy")}
    counts = {"samples": ("sample", "size"), "judged": ("judged", "sum"), "slow": ("slow", "sum")}
    table: pd.DataFrame = disks.agg(**counts, **medians)
    return table.reset_index()


def named_disks(times: pd.DataFrame, thresholds: Thresholds = USUAL) -> pd.DataFrame:
    """Disks that were slower than their peers in several samples, the slowest first; columns as of `disks_by_name`.

    That the table is empty says nothing of disks that were not judged. ``time_ratio`` is of samples it is slow in.
    """
    table = disks_by_name(times)
    least = np.minimum(table["judged"], thresholds.slow_samples)
    named = table[(table["slow"] > 0) & (table["slow"] >= least)]
    ratio = times[times["slow"]].groupby(["host", "device"])["time_ratio"].median().rename("time_ratio")
    named = named.drop(columns="time_ratio").merge(ratio.reset_index(), on=["host", "device"])
    return named.sort_values(["slow", "time_ratio"], ascending=False, kind="stable", ignore_index=True)[list(table)]


def host_skew(telemetry: pd.DataFrame, samples: pd.DataFrame, thresholds: Thresholds = USUAL) -> pd.DataFrame:
    """What each host that carried anything to speak of carried over the measured part; columns `SKEW_COLUMNS`."""
    moved = telemetry[telemetry["activity"].isin(("network", "disk")) & telemetry["metric"].isin(_QUANTITIES)]
    parts = []
    for cell, sample, timeline in timelines(moved, samples):
        if timeline.inside.any():
            means = np.nan_to_num(timeline.values[:, timeline.inside]).mean(axis=1)
            parts.append(timeline.series.table.assign(cell_id=cell, sample=sample, value=means))
    if not parts:
        return pd.DataFrame(columns=SKEW_COLUMNS).astype({"outlier": bool})
    rows = pd.concat(parts, ignore_index=True)
    peers = [*_POINT, "activity", "role", "metric"]
    hosts = rows.groupby([*peers, "host"])["value"].agg(["sum", "max"]).reset_index()
    # bonds carry what their members do
    hosts["value"] = hosts["max"].where(hosts["activity"] == "network", hosts["sum"])
    loads = hosts.groupby(peers)["value"]
    total = loads.transform("sum")
    main = total >= MAIN * total.groupby([hosts[name] for name in peers[:-1]]).transform("max")
    hosts = hosts[main & (hosts["value"] > IDLE * loads.transform("max"))]
    loads = hosts.groupby(peers)["value"]
    table = hosts.assign(
        quantity=hosts["metric"].map(_QUANTITIES),
        median=loads.transform(lambda values: [values.drop(index).median() for index in values.index]),
        z=loads.transform(lambda values: modified_z(values.to_numpy(dtype=float))),
        outlier=loads.transform("size") >= LEAST_PEERS,
    )
    table["ratio"] = table["value"] / table["median"]
    table["outlier"] &= table["z"].abs() >= thresholds.outlier
    table["outlier"] &= np.maximum(table["ratio"], 1 / table["ratio"]) >= thresholds.skew
    return table[SKEW_COLUMNS].reset_index(drop=True)


def skewed_hosts(skew: pd.DataFrame, thresholds: Thresholds = USUAL) -> pd.DataFrame:
    """Hosts of `host_skew` with more than their peers, or less, in most samples ``of`` which they carried something."""
    groups = skew.groupby(["role", "host", "quantity"], sort=True)
    table = groups.agg(ratio=("ratio", "median"), samples=("outlier", "sum"), of=("outlier", "size")).reset_index()
    apart = np.maximum(table["ratio"], 1 / table["ratio"])
    named = table.assign(_apart=apart)[(apart >= thresholds.skew) & (table["samples"] * 2 > table["of"])]
    return named.sort_values("_apart", ascending=False, kind="stable", ignore_index=True).drop(columns="_apart")
