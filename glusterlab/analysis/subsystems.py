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
    no subsystem as a whole, but hosts or disks that carry a good part of the load: `glusterlab.analysis.skew` says
    whether these were slow or had more to do;
``none``
    nothing known was full for long: look at the software, as the guide concludes for 32 KB files, or at latency;
``unknown``
    there are too few records, or no limit is known.

Both ends of a link are one subsystem: where clients send what servers receive, either may be full first.

A full subsystem is a candidate and no proof of a cause. The proof is an experiment: make it faster, and see.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd

from glusterlab.analysis.resources import FAMILIES, Capacity, Family, Track, levels, over, tracks
from glusterlab.analysis.saturation import MIN_RECORDS, PEAK_S, measured_parts
from glusterlab.analysis.signs import SIGN_COLUMNS, sample_signs, sign_sentences
from glusterlab.analysis.thresholds import Thresholds
from glusterlab.analysis.timeline import Timeline, rolling, timelines

if TYPE_CHECKING:
    from numpy.typing import NDArray

State = Literal["binds", "in turn", "partly", "none", "unknown"]

NONE = "none of them: look at the software"
"""What a verdict says where nothing known was full for long."""

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
"""Columns of `Judgement.use`: one row per resource; ``mean``, ``peak`` (the fullest 10 s) and ``threshold`` are
shares of what it can do, ``over`` is the share of the measured part in which it was over the threshold."""

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

_IDLE = 0.02
"""A resource with less than this share of the use of the fullest one of its subsystem carried nothing."""

_MOST_NAMES = 4


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


@dataclass(frozen=True, slots=True)
class _Looked:
    """A track with where it was over its threshold, both over the measured part."""

    track: Track
    used: NDArray[np.float64]
    full: NDArray[np.bool_]
    mean: NDArray[np.float64]
    peak: NDArray[np.float64]
    level: NDArray[np.float64]

    @property
    def weights(self) -> NDArray[np.float64]:
        total = self.mean.sum()
        return self.mean / total if total > 0 else np.full(len(self.mean), 1 / len(self.mean))

    @property
    def over_time(self) -> NDArray[np.float64]:
        """Share of the load that was on full resources, step by step."""
        return np.asarray(self.weights @ self.full)

    @property
    def share(self) -> float:
        return float(self.over_time.mean())


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
    use: list[dict[str, Any]] = []
    subsystems: list[dict[str, Any]] = []
    signs: list[tuple[Any, ...]] = []
    verdicts: dict[tuple[str, int], dict[str, Any]] = {}
    for cell, sample, timeline in timelines(telemetry, samples, parts):
        known = capacity.get(cell, Capacity())
        point = {"cell_id": cell, "sample": sample}
        if int(timeline.inside.sum()) < MIN_RECORDS:
            continue
        seen = [_look(track, timeline, chosen) for track in tracks(timeline, known)]
        use += [point | row for each in seen for row in _use_rows(each)]
        summed = [point | _subsystem_row(each, chosen) for each in seen]
        subsystems += summed
        found = list(sample_signs(timeline, known))
        signs += [(cell, sample, *row) for row in found]
        table = pd.DataFrame.from_records([(cell, sample, *row) for row in found], columns=SIGN_COLUMNS)
        words = "; ".join(sign_sentences(table, chosen))
        steps = int(timeline.inside.sum())
        verdicts[cell, sample] = point | _verdict(seen, summed, known, chosen, steps) | {"signs": words}
    rows = [
        verdicts.get((str(cell), int(sample)), {"cell_id": str(cell), "sample": int(sample)} | _UNKNOWN)
        for cell, sample in samples[["cell_id", "sample"]].itertuples(index=False, name=None)
    ]
    return Judgement(
        pd.DataFrame.from_records(use, columns=USE_COLUMNS),
        pd.DataFrame.from_records(subsystems, columns=SUBSYSTEM_COLUMNS),
        pd.DataFrame.from_records(signs, columns=SIGN_COLUMNS),
        pd.DataFrame.from_records(rows, columns=VERDICT_COLUMNS),
    )


_UNKNOWN: dict[str, Any] = {
    "state": "unknown",
    "binding": "unknown",
    "share": math.nan,
    "where": "",
    "hosts": "",
    "evidence": f"fewer than {MIN_RECORDS} telemetry records in the measured part",
    "signs": "",
    "not_judged": "",
}


def _look(track: Track, timeline: Timeline, thresholds: Thresholds) -> _Looked:
    used = np.nan_to_num(track.used[:, timeline.inside])
    return _Looked(
        track,
        used,
        over(track, timeline, thresholds)[:, timeline.inside],
        used.mean(axis=1),
        rolling(used, timeline.steps(PEAK_S)).max(axis=1),
        levels(track, thresholds),
    )


def _use_rows(seen: _Looked) -> list[dict[str, Any]]:
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
            "over": float(seen.full[number].mean()),
        }
        for number in range(len(track.hosts))
    ]


def _carried(seen: _Looked) -> NDArray[np.bool_]:
    """Resources that carried something."""
    return np.asarray(seen.mean > _IDLE * seen.mean.max(initial=0.0))


def _subsystem_row(seen: _Looked, thresholds: Thresholds) -> dict[str, Any]:
    track = seen.track
    most = int(seen.mean.argmax())
    return {
        "family": track.family,
        "subsystem": track.subsystem,
        "share": seen.share,
        "mean": float(seen.weights @ seen.mean),
        "peak": float(seen.peak.max()),
        "resources": int(_carried(seen).sum()),
        "full": int((seen.full.mean(axis=1) >= thresholds.window).sum()),
        "fullest": _resource(track, most),
        "by": track.by[most] if track.by else "",
    }


def _resource(track: Track, number: int) -> str:
    return " ".join(part for part in (track.hosts[number], track.devices[number]) if part)


def _verdict(
    seen: Sequence[_Looked],
    rows: Sequence[Mapping[str, Any]],
    capacity: Capacity,
    thresholds: Thresholds,
    records: int,
) -> dict[str, Any]:
    passed = [f"{row['subsystem']} ({_passed(row)})" for row in rows if float(row["mean"]) > thresholds.passed]
    believed = [n for n, row in enumerate(rows) if float(row["mean"]) <= thresholds.passed]
    seen, rows = [seen[n] for n in believed], [rows[n] for n in believed]
    if not seen:
        unknown = "no limit is known of what telemetry shows"
        return _UNKNOWN | {"evidence": unknown, "not_judged": _not_judged((), capacity, passed)}
    families = {name: [n for n, each in enumerate(seen) if each.track.family == name] for name in FAMILIES}
    by_time = {
        name: np.max([seen[n].over_time for n in members], axis=0) for name, members in families.items() if members
    }
    shares = {name: float(times.mean()) for name, times in by_time.items()}
    order, together = _adding(by_time, thresholds.phase)
    some = [n for n, row in enumerate(rows) if row["full"]]
    state: State
    if together >= thresholds.window and len(order) > 1:
        state, share = "in turn", together
        chosen = sorted(order, key=lambda name: _when(by_time[name]))
    elif shares[order[0]] >= thresholds.window:
        state, chosen, share = "binds", order[:1], shares[order[0]]
    elif some and max(float(rows[n]["share"]) for n in some) >= thresholds.phase:
        family = rows[max(some, key=lambda n: float(rows[n]["share"]))]["family"]
        state, chosen, share = "partly", [family], shares[family]
    else:
        state, chosen, share = "none" if records >= thresholds.records else "unknown", [], shares[order[0]]
    members = [n for name in chosen for n in families[name]] if chosen else some
    shown = [n for n in members if rows[n]["full"] or float(rows[n]["share"]) >= thresholds.phase]
    nearest = sorted(range(len(rows)), key=lambda n: (-float(rows[n]["share"]), -float(rows[n]["mean"])))[:2]
    # what was full for longer than what binds in part is told, too
    fuller = [n for n in nearest if n not in shown and float(rows[n]["share"]) >= thresholds.phase]
    evidence = [_evidence(rows[n], seen[n]) for n in ([*shown, *fuller] if chosen else nearest)]
    if state == "unknown":
        evidence.insert(0, f"{records} records in the measured part are too few to say that nothing was full")
    return {
        "state": state,
        "binding": ", then ".join(chosen) or (NONE if state == "none" else "unknown"),
        "share": share,
        "where": "; ".join(str(rows[n]["subsystem"]) for n in shown),
        "hosts": "; ".join(dict.fromkeys(_hosts(seen[n], thresholds, state) for n in shown)),
        "evidence": "; ".join(evidence),
        "not_judged": _not_judged(tuple(name for name in FAMILIES if families[name]), capacity, passed),
    }


def _adding(by_time: Mapping[Family, NDArray[np.float64]], least: float) -> tuple[list[Family], float]:
    """The fullest family, those that were full for so much of the time when none before was, and all their share."""
    left = dict(by_time)
    first = max(left, key=lambda name: float(left[name].mean()))
    chosen, covered = [first], left.pop(first)
    while left:
        added = {name: np.maximum(covered, times) for name, times in left.items()}
        name = max(added, key=lambda each: float(added[each].mean()))
        if float(added[name].mean()) - float(covered.mean()) < least:
            break
        chosen.append(name)
        covered = added[name]
        del left[name]
    return chosen, float(covered.mean())


def _when(over_time: NDArray[np.float64]) -> float:
    """The mean time, in steps, at which a subsystem was full."""
    return float((over_time * np.arange(len(over_time))).sum() / over_time.sum())


def _hosts(seen: _Looked, thresholds: Thresholds, state: State) -> str:
    """Hosts or disks that were full for long, by name where they are few."""
    track = seen.track
    if track.role == "machine":
        return "the machine of the testbed"
    least = thresholds.window if state != "in turn" else thresholds.phase
    full = seen.full.mean(axis=1) >= least
    carried = _carried(seen)
    number, of = int(full.sum()), int(carried.sum())
    hosts = list(dict.fromkeys(track.hosts[each] for each in np.flatnonzero(full)))
    what = "disks" if track.family == "disks" else f"{track.role}s"
    if number >= of:
        return f"all {of} {what}" if of > 1 else f"{_resource(track, int(full.argmax()))} alone"
    if not number:
        return f"none of {of} {what} for long"
    names = [_resource(track, int(each)) for each in np.flatnonzero(full)]
    if len(names) > _MOST_NAMES:
        names = hosts if len(hosts) <= _MOST_NAMES else [f"on {len(hosts)} {track.role}s"]
    return f"{number} of {of} {what}: {', '.join(names)}"


def _evidence(row: Mapping[str, Any], seen: _Looked) -> str:
    threshold = f"{100 * float(seen.level.min()):.0f} %"
    by = f" by {row['by']}" if row["by"] and row["by"] != "bytes" else ""
    return (
        f"{row['subsystem']} over {threshold}{by} for {100 * float(row['share']):.0f} % of the measured part "
        f"(mean {100 * float(row['mean']):.0f} %, fullest {PEAK_S:g} s {100 * float(row['peak']):.0f} %)"
    )


def _passed(row: Mapping[str, Any]) -> str:
    by = f" {row['by']}" if row["by"] else ""
    return f"{100 * float(row['mean']):.0f} % of the{by} that are known as its limit, so that is not what held it"


def _not_judged(known: Sequence[Family], capacity: Capacity, passed: Sequence[str]) -> str:
    """What a verdict does not know of."""
    families = [name for name in FAMILIES if name not in known and not any(name in words for words in passed)]
    missing = [f"{name} (no telemetry or no limit of it)" for name in families]
    if "disks" in known and capacity.operations is None and not capacity.serial and not capacity.one_machine:
        missing.append("operations of disk arrays (their limit is not known, and %util does not show it)")
    return "; ".join([*missing, *passed])
