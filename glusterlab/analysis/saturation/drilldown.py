"""Telemetry of single samples over time, per host and disk, packed for the page of their cell.

A value is one byte, exact to 0.4 % of the largest of its measure in its sample; records of a long sample are averaged.
"""

import base64
import math
import zlib
from collections import defaultdict
from collections.abc import Iterator, Mapping
from itertools import count
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from glusterlab.analysis.saturation.resources import Capacity, busy_cpus, levels, tracks
from glusterlab.analysis.saturation.summary import short_verdict
from glusterlab.analysis.saturation.thresholds import USUAL
from glusterlab.analysis.saturation.timeline import Timeline, evened, timelines
from glusterlab.analysis.select import operation_rank, valid_samples, with_series
from glusterlab.errors import UsageError

MOST_STEPS = 240  # steps of a sample

LEVELS = 250  # steps of a packed value; `NOTHING` stands for no record

NOTHING = 255

SHARE, RECORDED = "share of what it can do", "as recorded"  # the two kinds of measures

_RECORDED = {
    ("network", "receive_bytes_per_s"): ("network, received", "MB/s", 1e-6),
    ("network", "transmit_bytes_per_s"): ("network, sent", "MB/s", 1e-6),
    ("disk", "read_bytes_per_s"): ("disks, read", "MB/s", 1e-6),
    ("disk", "write_bytes_per_s"): ("disks, written", "MB/s", 1e-6),
    ("disk", "transfers_per_s"): ("disks, operations", "/s", 1.0),
    ("disk", "utilisation_fraction"): ("disks, %util", "%", 100.0),
    ("disk", "queue_length"): ("disks, queue", "", 1.0),
    ("disk", "await_s"): ("disks, time of a request", "ms", 1e3),
    ("cpu", "iowait_fraction"): ("CPU, waiting for I/O", "%", 100.0),
    ("cpu", "system_fraction"): ("CPU, kernel", "%", 100.0),
    ("load", "load_1min"): ("load, 1 min", "", 1.0),
    ("load", "blocked_processes"): ("blocked processes", "", 1.0),
    ("memory", "used_bytes"): ("memory, used", "MB", 1e-6),
    ("memory", "cached_bytes"): ("memory, page cache", "MB", 1e-6),
    ("memory", "dirty_bytes"): ("memory, dirty", "MB", 1e-6),
}
_SAMPLE = ["cell_id", "sample"]

_Layer = tuple[tuple[str, str, str, float], list[tuple[str, str, str]], "NDArray[np.float64]", float]
"""A measure (kind, name, unit, factor), its resources (role, host, device), values and threshold."""


def find_sample(samples: pd.DataFrame, text: str) -> pd.DataFrame:
    """The sample that a notebook's parameter names, one row; none where there are no valid `samples` and none is named.

    `text` is ``<cell id>/<number>``: an id cut short if it names one cell, without a number its first sample. Empty: of
    the most workers the first write, else another operation.
    """
    if samples.empty and not text.strip():
        return samples
    ordered = samples.assign(cell_id=samples["cell_id"].astype(str)).sort_values(["cell_id", "sample"])
    if not text.strip():
        ranked = ordered.assign(_rank=ordered["operation"].map(operation_rank))
        ranked = ranked.sort_values(["workers", "_rank"], ascending=[False, True], kind="stable")
        return ranked.iloc[[0]].drop(columns="_rank")
    wanted, _, number = text.strip().partition("/")
    cells = sorted({cell for cell in ordered["cell_id"] if cell.startswith(wanted)})
    if wanted in cells:
        cells = [wanted]
    if len(cells) != 1:
        found = "none" if not cells else f"{len(cells)}, such as {cells[0]} and {cells[1]}"
        raise UsageError(f"sample {text!r}: expected the id of one cell with valid samples, found {found}")
    rows: pd.DataFrame = ordered[ordered["cell_id"] == cells[0]]
    if not number.strip():
        return rows.iloc[[0]]
    digits = number.strip().removeprefix("sample-")
    chosen: pd.DataFrame = rows[rows["sample"] == int(digits)] if digits.isdecimal() else rows.iloc[:0]
    if chosen.empty:
        numbers = ", ".join(str(each) for each in rows["sample"])
        raise UsageError(f"sample {text!r}: expected one of the valid samples {numbers} of {cells[0]}")
    return chosen.iloc[[0]]


def inspect_sample(samples: pd.DataFrame, rows: pd.DataFrame, text: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    """`rows` and the sample named by `text`, else one of their first series and tool; and that one."""
    if rows.empty and not text.strip():
        return rows, rows
    if text.strip():
        one = find_sample(with_series(valid_samples(samples)), text)
    else:
        of = rows[["series", "tool"]].astype(str)
        one = find_sample(rows[(of == of.iloc[0]).all(axis=1)], "")
    every = pd.concat([rows.assign(cell_id=rows["cell_id"].astype(str)), one], ignore_index=True)
    return every.drop_duplicates(_SAMPLE, ignore_index=True), one


def drill_down(
    telemetry: pd.DataFrame, samples: pd.DataFrame, capacity: Mapping[str, Capacity], verdicts: pd.DataFrame
) -> dict[str, Any]:
    """Samples (with ``series``) of a cell over time, packed as values for JSON.

    ``measures``: kind, name, unit, factor. ``resources``: role, host, device. ``groups``: lists of resources.
    ``samples``: number, ``end`` (seconds from the start of the command to the end of the first step), ``step``,
    ``steps``, ``part`` (begin and end of the measured part), ``verdict``, ``layers`` (number of the measure, number of
    the group, the largest value in the SI unit, threshold or None) and ``data`` (base64 of the zlib format: layer by
    layer a byte per resource and step).
    """
    ordered = samples.sort_values("sample", kind="stable", ignore_index=True)
    words = {int(row["sample"]): _words(row) for row in verdicts.to_dict("records")}
    starts = {int(row["sample"]): float(row["start_s"]) for row in ordered.to_dict("records")}
    # each number is given when its key is first asked for
    measures, resources, groups = (defaultdict[Any, int](count().__next__) for _ in range(3))
    found = []
    for cell, number, timeline in timelines(telemetry, ordered):
        joined = -(-len(timeline.ends) // MOST_STEPS)
        layers: list[list[float | None]] = []
        parts = []
        for measure, names, values, full in _layers(timeline, capacity.get(cell, Capacity())):
            if names and np.nan_to_num(values).any():
                data, most = pack(averaged(values, joined))
                group = groups[tuple(resources[name] for name in names)]
                layers.append([measures[measure], group, most, None if math.isnan(full) else full])
                parts.append(data)
        sample = {"number": number} | _times(timeline, joined, starts[number])
        sample |= {"layers": layers, "verdict": words.get(number, "")}
        found.append(sample | {"data": base64.b64encode(zlib.compress(b"".join(parts), 9)).decode("ascii")})
    return {
        "measures": [list(each) for each in measures],
        "resources": [list(each) for each in resources],
        "groups": [list(each) for each in groups],
        "samples": found,
    }


def _words(row: Mapping[Any, Any]) -> str:
    """The verdict of a sample, on which hosts, and why it is unknown."""
    share = "" if row["state"] in ("none", "unknown") else f"{100 * float(row['share']):.0f} % of the measured part"
    parts = [short_verdict(str(row["state"]), str(row["binding"])), share, str(row["hosts"]), str(row["reason"])]
    return "; ".join(part for part in parts if part)


def _times(timeline: Timeline, joined: int, start: float) -> dict[str, Any]:
    """Times of a sample of which N records each are joined, in seconds since the start of its command."""
    step = timeline.step_s * joined
    part = None
    if timeline.inside.any():
        ends = timeline.ends[timeline.inside] - start
        part = [_rounded(float(ends[0]) - timeline.step_s), _rounded(float(ends[-1]))]
    return {
        "end": _rounded(float(timeline.ends[0]) - start + step - timeline.step_s),
        "step": _rounded(step),
        "steps": -(-len(timeline.ends) // joined),
        "part": part,
    }


def _rounded(value: float) -> float:
    return float(f"{value:.6g}")


def _layers(timeline: Timeline, capacity: Capacity) -> Iterator[_Layer]:
    for track in tracks(timeline, capacity):
        names = [(track.role, host, device) for host, device in zip(track.hosts, track.devices, strict=True)]
        full = float(levels(track, USUAL).min())
        yield (SHARE, track.subsystem, "%", 100.0), names, evened(track.used, track.steps(timeline)), full
    for (activity, metric), measure in [*_RECORDED.items(), (("cpu", ""), ("CPU, busy", "%", 100.0))]:
        series, values = timeline.of(activity, metric) if metric else busy_cpus(timeline)
        device = series["device"].to_numpy()
        whole = device == "all"
        shown = whole if activity == "cpu" else np.ones_like(whole)
        names = list(zip(series["role"][shown], series["host"][shown], np.where(whole, "", device)[shown], strict=True))
        yield (RECORDED, *measure), names, values[shown], math.nan


def averaged(values: NDArray[np.float64], joined: int) -> NDArray[np.float64]:
    """Means of N neighbouring steps each; fewer at the end, and of what was recorded.

    >>> averaged(np.array([[1.0, 3.0, math.nan, 5.0, 7.0]]), 2).tolist()
    [[2.0, 5.0, 7.0]]
    """
    lacking = -values.shape[1] % joined
    padded = np.pad(values, ((0, 0), (0, lacking)), constant_values=math.nan)
    parts = padded.reshape(len(values), -1, joined)
    known = np.isfinite(parts)
    counts = known.sum(axis=2)
    return np.where(counts > 0, np.where(known, parts, 0.0).sum(axis=2) / np.maximum(counts, 1), math.nan)


def pack(values: NDArray[np.float64]) -> tuple[bytes, float]:
    """Values >= 0, shape (resources, steps), as bytes: 0 to `LEVELS` of the largest, or `NOTHING`; and the largest.

    >>> data, most = pack(np.array([[0.0, 4.0, math.nan]]))
    >>> list(data), most
    ([0, 250, 255], 4.0)
    """
    most = _rounded(float(np.nan_to_num(values).max(initial=0.0)))
    share = np.clip(np.nan_to_num(values) / (most or 1.0), 0.0, 1.0)
    levels_of = np.where(np.isfinite(values), np.rint(share * LEVELS), NOTHING).astype(np.uint8)
    return levels_of.tobytes(), most
