"""Which subsystem held a sample back: network, disks, CPU, memory, or none of them.

For every resource (one direction of a host's link, one disk, the CPUs of a host) its use over the measured part is held
against a threshold (`glusterlab.analysis.thresholds`). A subsystem's *share* is the part of the time in which its
resources were over it, each weighted by its mean use: what carries the load decides, and hosts without a worker do not
dilute it. Then

``binds``
    one subsystem was full for most of the measured part;
``in turn``
    several together were, and none alone accounts for it: a write first fills the links and the page caches, and then
    waits for disks;
``partly``
    no subsystem as a whole, but hosts or disks that carry a good part of the load, and whose peers were full for much
    less of the time: `glusterlab.analysis.slowdisks` says whether these were slow or had more to do. The
    share is theirs;
``at times``
    a subsystem, or several, was full for more than a moment and for less than most of the measured part;
``none``
    nothing known was full for long: look at the software, as the guide concludes for 32 KB files, or at latency;
``unknown``
    there are too few records, telemetry lacks too much of the measured part, or no limit is known.

Both ends of a link are one subsystem: where clients send what servers receive, either may be full first.

A full subsystem is a candidate and no proof of a cause. The proof is an experiment: make it faster, and see.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from glusterlab.analysis.measured_part import measured_parts
from glusterlab.analysis.resources import Capacity, tracks
from glusterlab.analysis.saturation import MIN_RECORDS
from glusterlab.analysis.signs import SIGN_COLUMNS, sample_signs, sign_sentences
from glusterlab.analysis.thresholds import Thresholds
from glusterlab.analysis.timeline import timelines
from glusterlab.analysis.verdict_rule import UNKNOWN, Looked, look, resource_name, silence, verdict

USE_COLUMNS = [
    "cell_id",
    "sample",
    "family",
    "subsystem",
    "role",
    "host",
    "device",
    "by",
    "threshold",
    "mean",
    "peak",
    "over",
]
"""Columns of `Judgement.use`: one row per resource; ``mean``, ``peak`` (the fullest 10 s, or all of a
shorter measured part) and ``threshold`` are shares of what it can do, ``over`` is the share of the measured part in
which it was over the threshold. What telemetry lacks counts for none of them."""

SUBSYSTEM_COLUMNS = [
    "cell_id",
    "sample",
    "family",
    "subsystem",
    "share",
    "mean",
    "peak",
    "resources",
    "full",
    "fullest",
    "by",
]
"""Columns of `Judgement.subsystems`: ``share`` of the measured part in which it was full, ``mean`` use (both weighted
by use) and ``peak`` of its fullest resource; how many ``resources`` carried anything, how many of them were ``full``
for most of the time, and the name of the ``fullest``."""

VERDICT_COLUMNS = [
    "cell_id",
    "sample",
    "state",
    "binding",
    "share",
    "where",
    "hosts",
    "evidence",
    "signs",
    "not_judged",
]
"""Columns of `Judgement.verdicts`: ``state`` (`State`), ``binding`` (families, or what to do instead), ``share`` of the
measured part in which it was full, ``where`` (subsystems), ``hosts``, and sentences."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """What `judge` found, as tables.

    Attributes
    ----------
    use : pandas.DataFrame
        Columns `USE_COLUMNS`: every resource.
    subsystems : pandas.DataFrame
        Columns `SUBSYSTEM_COLUMNS`.
    signs : pandas.DataFrame
        Columns `glusterlab.analysis.signs.SIGN_COLUMNS`.
    verdicts : pandas.DataFrame
        Columns `VERDICT_COLUMNS`: one row per sample, of every sample that was asked for.
    """

    use: pd.DataFrame
    subsystems: pd.DataFrame
    signs: pd.DataFrame
    verdicts: pd.DataFrame


def judge(
    telemetry: pd.DataFrame,
    samples: pd.DataFrame,
    capacity: Mapping[str, Capacity],
    thresholds: Thresholds | None = None,
) -> Judgement:
    """Judge every subsystem over the measured part of each sample: warm-up and ramp-down do not count.

    Parameters
    ----------
    telemetry : pandas.DataFrame
        The telemetry table, of `glusterlab.analysis.timeline.JUDGED_METRICS`; other samples' rows may be among it.
    samples : pandas.DataFrame
        Rows of the samples table to judge.
    capacity : mapping of str to Capacity
        By ``cell_id``: `glusterlab.analysis.resources.capacities`.
    thresholds : Thresholds, optional
        `Thresholds()` by default.

    Returns
    -------
    Judgement
    """
    chosen = thresholds or Thresholds()
    parts = measured_parts(telemetry, samples)
    expected = {
        (str(row["cell_id"]), int(row["sample"])): {role: int(row.get(f"{role}s", 0)) for role in ("server", "client")}
        for row in samples.to_dict("records")
    }
    use: list[dict[str, Any]] = []
    subsystems: list[dict[str, Any]] = []
    signs: list[tuple[Any, ...]] = []
    verdicts: dict[tuple[str, int], dict[str, Any]] = {}
    for cell, sample, timeline in timelines(telemetry, samples, parts):
        known = capacity.get(cell, Capacity())
        point = {"cell_id": cell, "sample": sample}
        if int(timeline.inside.sum()) < MIN_RECORDS:
            continue
        seen = [look(track, timeline, chosen) for track in tracks(timeline, known)]
        use += [point | row for each in seen for row in _use_rows(each)]
        summed = [point | _subsystem_row(each, chosen) for each in seen]
        subsystems += summed
        found = list(sample_signs(timeline, known))
        signs += [(cell, sample, *row) for row in found]
        table = pd.DataFrame.from_records([(cell, sample, *row) for row in found], columns=SIGN_COLUMNS)
        words = "; ".join(sign_sentences(table, chosen))
        steps = int(timeline.inside.sum())
        lacking = silence(timeline, seen, expected.get((cell, sample), {}))
        verdicts[cell, sample] = point | verdict(seen, summed, known, chosen, steps, lacking) | {"signs": words}
    rows = [
        verdicts.get((str(cell), int(sample)), {"cell_id": str(cell), "sample": int(sample)} | UNKNOWN)
        for cell, sample in samples[["cell_id", "sample"]].itertuples(index=False, name=None)
    ]
    return Judgement(
        pd.DataFrame.from_records(use, columns=USE_COLUMNS),
        pd.DataFrame.from_records(subsystems, columns=SUBSYSTEM_COLUMNS),
        pd.DataFrame.from_records(signs, columns=SIGN_COLUMNS),
        pd.DataFrame.from_records(rows, columns=VERDICT_COLUMNS),
    )


def _use_rows(seen: Looked) -> list[dict[str, Any]]:
    track = seen.track
    return [
        {
            "family": track.family,
            "subsystem": track.subsystem,
            "role": track.role,
            "host": track.hosts[number],
            "device": track.devices[number],
            "by": track.by[number] if track.by else "",
            "threshold": float(seen.level[number]),
            "mean": float(seen.mean[number]),
            "peak": float(seen.peak[number]),
            "over": float(seen.over[number]),
        }
        for number in range(len(track.hosts))
    ]


def _subsystem_row(seen: Looked, thresholds: Thresholds) -> dict[str, Any]:
    track = seen.track
    most = int(seen.mean.argmax())
    return {
        "family": track.family,
        "subsystem": track.subsystem,
        "share": seen.share,
        "mean": float(seen.weights @ seen.mean),
        "peak": float(seen.peak.max()),
        "resources": int(seen.carried.sum()),
        "full": int((seen.over >= thresholds.window).sum()),
        "fullest": resource_name(track, most),
        "by": track.by[most] if track.by else "",
    }
