"""Disks that are slower than their peers, by name, and in which samples one could have been told.

A slow disk is not one that did less: where files are placed by hash, disks get more or less to do. It is one that
takes longer for the same. Two measures tell, and either names it:

- *time at work*: it took much longer than disks that moved as much, and went on when they had done, see
  `glusterlab.analysis.diskwork`. This works wherever bytes are counted, also on a testbed, where the limit of a disk
  acts before the block layer counts a request, so that ``await``, ``aqu-sz`` and ``%util`` do not show it.
- *seconds per byte*: the time that it was busy (``%util``) over what it moved is a multiple of its peers', while it was
  busy for a good part of its time at work. On real disks this is the sharper one: the other disks of a slow disk's
  subvolume wait for it in reads and are as slow by their time, but idle.

Both look at the whole window of the command and not at the measured part: a slow disk shows when the others are done.

A disk is named with the samples that name it. One sample can be an accident of placement; the same disk in several,
with files placed anew in each, hardly. **That none is named says nothing by itself**: each sample also says which
slowdown would have shown in it. Work of a few seconds hides any.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from glusterlab.analysis.capacity import layout_of
from glusterlab.analysis.diskwork import RESOLVED, Work, comparable, full_speed, signs, visible
from glusterlab.analysis.saturation import IDLE, MIN_RECORDS
from glusterlab.analysis.skew import LEAST_PEERS, modified_z
from glusterlab.analysis.thresholds import Thresholds
from glusterlab.analysis.timeline import Timeline, timelines
from glusterlab.units import format_size

if TYPE_CHECKING:
    from numpy.typing import NDArray

BUSY = 0.3
"""A disk that was busy for less of its time at work than this held nobody up, by its seconds per byte."""

TOLD = 4.0
"""A sample tells of slow disks where one so many times slower than full speed would have shown."""

MEASURES = ("time at work", "seconds per byte")
"""What names a disk."""

DISK_COLUMNS = [
    "cell_id",
    "sample",
    "host",
    "device",
    "bytes",
    "time_s",
    "time_ratio",
    "longer_s",
    "after_s",
    "busy",
    "busy_ratio",
    "visible",
    "slow",
    "by",
]
"""Columns of `disk_pace`: what each disk moved; its time at work, in multiples of what its peers take for as much, and
by how many seconds it is longer; how long it went on after half of all had done; share of its time at work in which it
was busy (NaN where ``%util`` is not recorded), and its busy seconds per byte in multiples of theirs; how many times
slower it would have to be to be named by its time, infinite where it would not at all; whether it is ``slow``, and
``by`` which measure. NaN where it moved too little, or has too few peers."""

SUMMED_COLUMNS = ["host", "device", "samples", "told", "slow", "time_ratio", "busy_ratio"]
"""Columns of `pace_by_disk`: in how many ``samples`` a disk carried something, in how many of them it would have been
named had it been `TOLD` times slower, and in how many it was ``slow``; medians over those that tell, or name it."""

SLOW_COLUMNS = ["host", "device", "samples", "of", "time_ratio", "busy_ratio", "by", "evidence"]
"""Columns of `slow_disks`: in how many ``samples`` a disk is slow, of those that tell of it, and their medians."""

SIGHT_COLUMNS = ["cell_id", "sample", "disks", "visible", "told"]
"""Columns of `sight`: how many ``disks`` were compared; how many times slower one would have to be to show in at least
half of their places, infinite where it would not at all; whether that is `TOLD` or less."""

_PACE = ("read_bytes_per_s", "write_bytes_per_s", "utilisation_fraction")


def disk_pace(telemetry: pd.DataFrame, samples: pd.DataFrame, thresholds: Thresholds | None = None) -> pd.DataFrame:
    """How long each disk of the servers took for its work in each sample, beside its peers.

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
        than `glusterlab.analysis.skew.LEAST_PEERS` disks to compare.

    Notes
    -----
    What a slowdown is measured against, the full speed of the disks, is learned from all of the samples, reads and
    writes apart. Where none is long enough to show it, ``visible`` is infinite.
    """
    chosen = thresholds or Thresholds()
    whole = samples.rename(columns={"start_s": "part_start_s", "end_s": "part_end_s"})
    parts = whole[["cell_id", "sample", "part_start_s", "part_end_s"]]
    widths = {
        str(row["cell_id"]): _width(str(row["type"]), str(row["geometry"]))
        for row in samples.drop_duplicates("cell_id").to_dict("records")
    }
    disks = telemetry[(telemetry["activity"] == "disk") & telemetry["metric"].isin(_PACE)]
    loads = {
        (cell, sample): load
        for cell, sample, timeline in timelines(disks, samples, parts)
        if (load := _Load.of(timeline)) is not None
    }
    speeds = {
        reading: _speed([load for load in loads.values() if load.reading is reading]) for reading in (True, False)
    }
    records: list[dict[str, Any]] = []
    for (cell, sample), load in loads.items():
        point = {"cell_id": cell, "sample": sample}
        waiting = widths[cell] - 1 if load.reading else 0
        records += [point | row for row in _rows(load, speeds[load.reading], waiting, chosen)]
    table = pd.DataFrame.from_records(records, columns=DISK_COLUMNS)
    return table.astype({"visible": float, "slow": bool})


@dataclass(frozen=True)
class _Load:
    """Disks of one sample that moved anything: (host, device) pairs, and arrays with a row for each.

    Attributes
    ----------
    moved : numpy.ndarray
        Bytes/s, read and written, shape (disks, records).
    busy_s : numpy.ndarray
        Seconds of ``%util``; NaN where it is not recorded.
    reading : bool
        More was read than written.
    """

    disks: list[tuple[str, str]]
    moved: NDArray[np.float64]
    busy_s: NDArray[np.float64]
    step_s: float
    reading: bool

    @classmethod
    def of(cls, timeline: Timeline) -> _Load | None:
        series, written = timeline.of("disk", "write_bytes_per_s", "server")
        if series.empty or int(timeline.inside.sum()) < MIN_RECORDS:
            return None
        disks = list(zip(series["host"].astype(str), series["device"].astype(str), strict=True))
        wrote = np.nan_to_num(written)[:, timeline.inside]
        read = _same(timeline, "read_bytes_per_s", disks, 0.0)[:, timeline.inside]
        util = _same(timeline, "utilisation_fraction", disks, math.nan)[:, timeline.inside]
        busy = np.where(np.isfinite(util).any(axis=1), np.nan_to_num(util).sum(axis=1) * timeline.step_s, math.nan)
        total = (read + wrote).sum(axis=1)
        carried = np.flatnonzero(total > IDLE * total.max())
        chosen = [disks[number] for number in carried]
        reading = bool(read.sum() > wrote.sum())
        return cls(chosen, (read + wrote)[carried], busy[carried], timeline.step_s, reading)


def _speed(loads: list[_Load]) -> float:
    """Full speed of the disks: the upper quartile over the samples, for in many of them something else is full."""
    known = [speed for load in loads if math.isfinite(speed := full_speed(load.moved, load.step_s))]
    return float(np.quantile(known, 0.75)) if known else math.nan


def _width(type_: str, geometry: str) -> int:
    """Disks of a subvolume of which a read waits for the slowest; 1 where it reads from one."""
    return layout_of(type_, geometry).subvolume_size if type_ == "disperse" else 1


def _rows(load: _Load, speed: float, waiting: int, thresholds: Thresholds) -> Iterator[dict[str, Any]]:
    """What is said of each disk of a sample."""
    work = Work.of(load.moved, load.step_s)
    places = np.flatnonzero(comparable(work.total))
    judged: dict[int, dict[str, Any]] = {}
    if len(places):
        verdicts = _judged(load.moved[places], load.busy_s[places], load.step_s, thresholds)
        shown = visible(load.moved[places], load.step_s, speed, thresholds, waiting=waiting)
        judged = {
            place: verdict | {"visible": least}
            for place, verdict, least in zip(places.tolist(), verdicts, shown.tolist(), strict=True)
        }
    for number, (host, device) in enumerate(load.disks):
        row = {
            "host": host,
            "device": device,
            "bytes": float(work.total[number]),
            "time_s": float(work.time_s[number]),
            "busy": float(min(load.busy_s[number] / work.time_s[number], 1.0)),
        }
        yield row | judged.get(number, {"slow": False, "by": ""})


def _judged(
    moved: NDArray[np.float64], busy_s: NDArray[np.float64], step_s: float, thresholds: Thresholds
) -> list[dict[str, Any]]:
    """What is said of disks that moved enough to be judged, in their order."""
    work = Work.of(moved, step_s)
    found = signs(work)
    cost = busy_s / work.total
    known = np.isfinite(cost) & (cost > 0)
    middle = float(np.median(cost[known])) if int(known.sum()) >= LEAST_PEERS else math.nan
    scores = np.full(len(cost), math.nan)
    scores[known] = modified_z(np.log(cost[known])) if known.any() else math.nan
    dear = (
        (cost >= thresholds.slow_time * middle)
        & (scores >= thresholds.outlier)
        & (busy_s >= BUSY * work.time_s)
        & (busy_s - middle * work.total >= max(thresholds.slow_seconds, RESOLVED * step_s))
    )
    named = np.column_stack([found.slow(step_s, thresholds), dear])
    names = [" and ".join(name for name, says in zip(MEASURES, row, strict=True) if says) for row in named]
    columns = {
        "time_ratio": found.ratio.tolist(),
        "longer_s": found.longer_s.tolist(),
        "after_s": found.after_s.tolist(),
        "busy_ratio": (cost / middle).tolist(),
        "slow": [bool(each) for each in names],
        "by": names,
    }
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


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
    rows = pace.assign(told=pace["visible"] <= TOLD)
    speaks = rows["told"] | rows["slow"]
    rows = rows.assign(**{name: rows[name].where(speaks) for name in ("time_ratio", "busy_ratio")})
    disks = rows.groupby(["host", "device"], sort=False)
    table = disks[["time_ratio", "busy_ratio"]].median()
    table = table.assign(
        samples=disks.size(), told=disks["told"].sum().astype(int), slow=disks["slow"].sum().astype(int)
    )
    return table.reset_index()[SUMMED_COLUMNS]


def slow_disks(telemetry: pd.DataFrame, samples: pd.DataFrame, thresholds: Thresholds | None = None) -> pd.DataFrame:
    """Disks that were slower than their peers, by name: the slowest first.

    It needs no limits and no baseline. That it is empty means no more than `sight` says of these samples.

    Parameters
    ----------
    telemetry, samples, thresholds
        As `disk_pace` takes them.

    Returns
    -------
    pandas.DataFrame
        Columns `SLOW_COLUMNS`; empty where none was named.

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
        middle = slow[["time_s", "time_ratio", "after_s", "busy_ratio"]].median()
        by = [name for name in MEASURES if slow["by"].str.contains(name).any()]
        of = int((rows["slow"] | (rows["visible"] <= TOLD)).sum())
        records.append(
            {
                "host": host,
                "device": device,
                "samples": len(slow),
                "of": of,
                "time_ratio": float(middle["time_ratio"]),
                "busy_ratio": float(middle["busy_ratio"]),
                "by": " and ".join(by),
                "evidence": f"{host} {device}: {_slow_words(by, middle)} ({len(slow)} of {of} samples that tell)",
            }
        )
    table = pd.DataFrame.from_records(records, columns=SLOW_COLUMNS)
    worst = table["time_ratio"].where(table["by"].str.startswith(MEASURES[0]), table["busy_ratio"])
    return table.assign(_worst=worst * table["samples"]).sort_values(
        "_worst", ascending=False, kind="stable", ignore_index=True
    )[SLOW_COLUMNS]


def _slow_words(by: list[str], middle: pd.Series) -> str:
    words = []
    if MEASURES[0] in by:
        words.append(
            f"{middle['time_s']:.0f} s at work, {middle['time_ratio']:.1f} times as long as its peers for as much, "
            f"{middle['after_s']:.0f} s longer than half of all disks"
        )
    if MEASURES[1] in by:
        words.append(f"{middle['busy_ratio']:.1f} times as many busy seconds per byte as its peers")
    return "; ".join(words)


def sight(pace: pd.DataFrame, samples: pd.DataFrame) -> pd.DataFrame:
    """Which slowdown of a disk would have shown in each sample.

    Parameters
    ----------
    pace : pandas.DataFrame
        From `disk_pace`, of these samples.
    samples : pandas.DataFrame
        Rows of the samples table.

    Returns
    -------
    pandas.DataFrame
        Columns `SIGHT_COLUMNS`, a row per sample; one without telemetry of disks tells nothing.
    """
    groups = pace[pace["visible"].notna()].groupby(["cell_id", "sample"])["visible"]
    found = pd.DataFrame({"disks": groups.size(), "visible": groups.quantile(0.5, interpolation="higher")})
    table = samples[["cell_id", "sample"]].astype({"cell_id": str}).merge(found, "left", ["cell_id", "sample"])
    table = table.fillna({"disks": 0, "visible": math.inf}).astype({"disks": int})
    return table.assign(told=table["visible"] <= TOLD)[SIGHT_COLUMNS]


def sight_table(seen: pd.DataFrame, samples: pd.DataFrame) -> pd.DataFrame:
    """Which slowdown would have shown in the samples of each cell, for people.

    Parameters
    ----------
    seen : pandas.DataFrame
        From `sight`.
    samples : pandas.DataFrame
        Its samples, with their ``series``.
    """
    point = ["operation", "nominal_file_size_bytes", "series", "workers"]
    rows = samples[["cell_id", "sample", *point]].astype({"cell_id": str}).merge(seen, on=["cell_id", "sample"])
    records = []
    for _, of in rows.groupby(point, observed=True):
        cell = of.iloc[0]
        records.append(
            {
                "operation": str(cell["operation"]),
                "files": format_size(int(cell["nominal_file_size_bytes"])),
                "layout": str(cell["series"]),
                "workers": int(cell["workers"]),
                "samples": len(of),
                "samples that tell": int(of["told"].sum()),
                "disks compared": int(of["disks"].median()),
                "times slower that would have shown": ", ".join(_times(value) for value in of["visible"]),
            }
        )
    return pd.DataFrame.from_records(records)


def _times(slowdown: float) -> str:
    return "none" if math.isinf(slowdown) else f"{slowdown:g}"


def slow_sentences(pace: pd.DataFrame, seen: pd.DataFrame, name: str) -> list[str]:
    """The slow disks, or in how many samples none was named and in how many none could have been.

    Parameters
    ----------
    pace : pandas.DataFrame
        From `disk_pace`.
    seen : pandas.DataFrame
        From `sight`, of the same samples.
    name : str
        Of the disks.
    """
    evidence = [str(words) for words in named_disks(pace)["evidence"]]
    told, samples = int(seen["told"].sum()), len(seen)
    shown = f"one {TOLD:g} times slower than the others would have shown in at least half of the places"
    untold = f"in {samples - told} of {samples} a slow disk could not be told"
    if evidence:
        return [*evidence, *([f"Samples on {name}: {untold}."] if told < samples else [])]
    if not told:
        return [f"Whether a disk of {name} was slow could not be told in any of {samples} samples."]
    if told == samples:
        return [f"No disk of {name} was named, and in each of {samples} samples {shown}."]
    return [f"No disk of {name} was named. In {told} of {samples} samples {shown}; {untold}."]
