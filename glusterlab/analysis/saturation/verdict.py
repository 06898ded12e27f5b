"""Which subsystem held a sample back: network, disks, CPU, memory, or none of them.

A subsystem's *share* is the part of the time in which its resources (one direction of a host's link, one disk, the CPUs
of a host) were over a threshold, each weighted by its mean use. Both ends of a link are one subsystem.

- ``binds``: one subsystem was full for most of the measured part, or several one after the other;
- ``partly``: only hosts or disks that carry a good part of the load, and whose peers were full for much less of the
  time; the share is theirs;
- ``at times``: for more than a moment and for less than most of the measured part;
- ``none``: nothing known was full for long: look at the software, or at latency;
- ``unknown``: too few records, too little telemetry, or no known limit. Where telemetry covers less than `COVERAGE` of
  the measured part, its silent steps count as not full, and no negative verdict is given.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd

from glusterlab.analysis.saturation.resources import (
    FAMILIES,
    IDLE,
    LINK_MOST,
    MIN_RECORDS,
    PEAK_S,
    Capacity,
    Family,
    Track,
    levels,
    over,
    tracks,
)
from glusterlab.analysis.saturation.thresholds import Thresholds
from glusterlab.analysis.saturation.timeline import Timeline, measured_parts, rolling_known, timelines

if TYPE_CHECKING:
    from numpy.typing import NDArray

State = Literal["binds", "partly", "at times", "none", "unknown"]

THEN = ", then "
"""Between the subsystems of a verdict on several."""

NONE = "none of them: look at the software"
"""What a verdict says where nothing known was full for long."""

COVERAGE = 0.80
"""Share of the measured part that telemetry must cover, host by host, for the statement that nothing was full."""

ALIKE = 0.5
"""Hosts or disks that were full stand out where the others were for less than this share of their time."""

USE_COLUMNS = [
    *("cell_id", "sample", "family", "subsystem", "role", "host", "device", "by", "threshold", "mean", "peak", "over")
]
"""Columns of `Judgement.use`: ``mean``, ``peak`` (the fullest `PEAK_S`, or all of a shorter measured part) and
``threshold`` are shares of what the resource can do, ``over`` is the share of the measured part in which it was over
the threshold. What telemetry lacks counts for none of them."""

SUBSYSTEM_COLUMNS = [
    *("cell_id", "sample", "family", "subsystem", "share", "mean", "peak", "resources", "full", "fullest", "by"),
    *("threshold", "stretch_s"),
]
"""Columns of `Judgement.subsystems`: ``share`` of the measured part in which it was over its ``threshold``, ``mean``
use (both weighted by use) and ``peak`` of its fullest resource; how many ``resources`` carried anything, how many of
them were ``full`` for most of the time, and the name of the ``fullest``; each is judged over ``stretch_s`` seconds."""

VERDICT_COLUMNS = ["cell_id", "sample", "state", "binding", "share", "where", "hosts", "reason", "not_judged"]
"""Columns of `Judgement.verdicts`: ``state`` (`State`), ``binding`` (families in the order in which they were full, or
what to do instead), ``share`` of the measured part in which it was full, ``where`` (subsystems), ``hosts``, the
``reason`` where it is unknown, and what is ``not_judged``."""

_ROLES = ("server", "client")
_MOST_NAMES = 4
_UNKNOWN = {"state": "unknown", "binding": "unknown", "share": math.nan, "where": "", "hosts": "", "not_judged": ""}


@dataclass(frozen=True, slots=True)
class Judgement:
    """A row per resource (`USE_COLUMNS`), per subsystem (`SUBSYSTEM_COLUMNS`), per sample (`VERDICT_COLUMNS`)."""

    use: pd.DataFrame
    subsystems: pd.DataFrame
    verdicts: pd.DataFrame


def judge(
    telemetry: pd.DataFrame,
    samples: pd.DataFrame,
    capacity: Mapping[str, Capacity],
    thresholds: Thresholds | None = None,
) -> Judgement:
    """Judge every subsystem over the measured part of each sample: warm-up and ramp-down do not count.

    The telemetry holds `glusterlab.analysis.saturation.timeline.JUDGED_METRICS`, also of other samples; `capacity` is
    by ``cell_id``.
    """
    chosen = thresholds or Thresholds()
    expected = {
        (str(row["cell_id"]), int(row["sample"])): {role: int(row.get(f"{role}s", 0)) for role in _ROLES}
        for row in samples.to_dict("records")
    }
    missing = {**_UNKNOWN, "reason": f"fewer than {MIN_RECORDS} telemetry records in the measured part"}
    verdicts = {key: {"cell_id": key[0], "sample": key[1]} | missing for key in expected}
    use: list[dict[str, Any]] = []
    subsystems: list[dict[str, Any]] = []
    for cell, sample, timeline in timelines(telemetry, samples, measured_parts(telemetry, samples)):
        records = int(timeline.inside.sum())
        if records < MIN_RECORDS:
            continue
        known = capacity.get(cell, Capacity())
        point = {"cell_id": cell, "sample": sample}
        found = [measured_use(track, timeline, chosen) for track in tracks(timeline, known)]
        use += [point | row for each in found for row in each.rows()]
        subsystems += [point | each.row(chosen) for each in found]
        gaps, broken = coverage_gaps(timeline, found, expected[cell, sample])
        not_judged = [*_without_limit(found, known), *_beyond(found, chosen), *gaps]
        verdict = _verdict(found, known, chosen, records, broken=broken)
        verdicts[cell, sample] = point | verdict | {"not_judged": "; ".join(dict.fromkeys(not_judged))}
    return Judgement(
        pd.DataFrame.from_records(use, columns=USE_COLUMNS),
        pd.DataFrame.from_records(subsystems, columns=SUBSYSTEM_COLUMNS),
        pd.DataFrame.from_records(list(verdicts.values()), columns=VERDICT_COLUMNS),
    )


@dataclass(frozen=True, slots=True)
class MeasuredUse:
    """A track over the measured part, and where it was over its threshold.

    `known` and `full` have the shape (resources, steps). Of shape (resources,) are the shares of the steps that are
    known: `mean`, `peak` (the fullest `PEAK_S`), `most` (the fullest step), `over` (the threshold), and besides the
    `level` from where on one counts as full, the `weights` by use, and which `carried` anything.
    """

    track: Track
    known: NDArray[np.bool_]
    full: NDArray[np.bool_]
    mean: NDArray[np.float64]
    peak: NDArray[np.float64]
    most: NDArray[np.float64]
    over: NDArray[np.float64]
    level: NDArray[np.float64]
    weights: NDArray[np.float64]
    carried: NDArray[np.bool_]
    stretch_s: float

    @property
    def over_time(self) -> NDArray[np.float64]:
        """`share_of` all resources."""
        return self.share_of(np.ones(len(self.mean), dtype=bool))

    @property
    def share(self) -> float:
        """The same over all the time that is known."""
        return _mean(self.over_time)

    @property
    def mean_use(self) -> float:
        """Mean use of all resources, weighted by use."""
        return float(self.weights @ self.mean)

    @property
    def coverage(self) -> float:
        """Share of the measured part that is known."""
        return float(self.known.mean())

    @property
    def by(self) -> str:
        """What the fullest resource is full by."""
        return self.track.by[int(self.mean.argmax())]

    def share_of(self, chosen: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Share of the load of these resources that was on full ones, step by step; NaN where nothing is known."""
        known = self.weights[chosen] @ self.known[chosen]
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(known > 0, self.weights[chosen] @ self.full[chosen] / known, np.nan)

    def apart(self, thresholds: Thresholds) -> NDArray[np.bool_]:
        """Resources that were full for most of the time while their peers were for much less of it; else none."""
        long = (self.over >= thresholds.window) & self.carried
        others = self.carried & ~long
        if not long.any() or not others.any() or _mean(self.share_of(others)) > ALIKE * _mean(self.share_of(long)):
            return np.zeros_like(long)
        return np.asarray(long)

    def name(self, number: int) -> str:
        """Host and device of a resource."""
        return " ".join(part for part in (self.track.hosts[number], self.track.devices[number]) if part)

    def rows(self) -> Iterator[dict[str, Any]]:
        """Rows of `USE_COLUMNS` but cell and sample."""
        track = self.track
        shared = {"family": track.family, "subsystem": track.subsystem, "role": track.role}
        numbers = {"threshold": self.level, "mean": self.mean, "peak": self.peak, "over": self.over}
        for place, names in enumerate(zip(track.hosts, track.devices, track.by, strict=True)):
            own = dict(zip(("host", "device", "by"), names, strict=True))
            yield shared | own | {name: float(values[place]) for name, values in numbers.items()}

    def row(self, thresholds: Thresholds) -> dict[str, Any]:
        """A row of `SUBSYSTEM_COLUMNS` but cell and sample."""
        track = self.track
        return {
            "family": track.family,
            "subsystem": track.subsystem,
            "share": self.share,
            "mean": self.mean_use,
            "peak": float(self.peak.max()),
            "resources": int(self.carried.sum()),
            "full": int((self.over >= thresholds.window).sum()),
            "fullest": self.name(int(self.mean.argmax())),
            "by": self.by,
            "threshold": float(self.level.min()),
            "stretch_s": self.stretch_s,
        }


def _mean(shares: NDArray[np.float64]) -> float:
    known = shares[np.isfinite(shares)]
    return float(known.mean()) if len(known) else 0.0


def measured_use(track: Track, timeline: Timeline, thresholds: Thresholds) -> MeasuredUse:
    """A track over the measured part of its sample; no stretch reaches out of it."""
    used = track.used[:, timeline.inside]
    known = np.isfinite(used)
    full = over(replace(track, used=used), timeline, thresholds)
    counts = np.maximum(known.sum(axis=1), 1)
    mean = np.nan_to_num(used).sum(axis=1) / counts
    return MeasuredUse(
        track=track,
        known=known,
        full=full,
        mean=mean,
        peak=np.nan_to_num(rolling_known(used, timeline.steps(PEAK_S))).max(axis=1),
        most=np.nan_to_num(used).max(axis=1),
        over=full.sum(axis=1) / counts,
        level=levels(track, thresholds),
        weights=mean / mean.sum() if mean.sum() > 0 else np.full(len(mean), 1 / len(mean)),
        carried=mean > IDLE * mean.max(initial=0.0),
        stretch_s=track.steps(timeline) * timeline.step_s,
    )


def _verdict(
    found: Sequence[MeasuredUse], capacity: Capacity, thresholds: Thresholds, records: int, *, broken: bool
) -> dict[str, Any]:
    """The verdict of one sample: `VERDICT_COLUMNS` but cell, sample and what is not judged."""
    found = [each for each in found if each.mean_use <= thresholds.passed]
    if not found:
        return {**_UNKNOWN, "reason": "no limit is known of what telemetry shows"}
    members = {name: [each for each in found if each.track.family == name] for name in FAMILIES}
    by_time = {name: _together(each) for name, each in members.items() if each}
    families, share = _one_after_the_other(by_time, thresholds.phase)
    fullest = max(found, key=lambda each: each.share)
    apart = fullest.apart(thresholds)
    enough = records >= thresholds.records
    state: State
    if enough and share >= thresholds.window:
        state = "binds"
    elif not enough:
        reason = f"{records} records in the measured part, fewer than {thresholds.records:g}"
        return {**_UNKNOWN, "share": share, "reason": reason}
    elif broken:
        reason = "telemetry covers too little of the measured part to say that nothing was full"
        return {**_UNKNOWN, "share": share, "reason": reason}
    elif fullest.share >= thresholds.phase and apart.any():
        state, families, share = "partly", [fullest.track.family], _mean(fullest.share_of(apart))
    elif share >= thresholds.phase:
        state = "at times"
    else:
        state, families = "none", []
    families = sorted(families, key=lambda name: _mean_time(by_time[name]))
    shown = [each for name in families for each in members[name]]
    if state in ("partly", "none"):
        shown = [each for each in shown or found if each.apart(thresholds).any()]
    shown = [each for each in shown if (each.over >= thresholds.window).any() or each.share >= thresholds.phase]
    several = state == "at times" or len(families) > 1
    hosts = [_hosts(each, thresholds.phase if several else thresholds.window, state, capacity) for each in shown]
    return {
        "state": state,
        "binding": THEN.join(families) or NONE,
        "share": share,
        "where": "; ".join(each.track.subsystem for each in shown),
        "hosts": "; ".join(dict.fromkeys(filter(None, hosts))),
        "reason": "",
    }


def _together(members: Sequence[MeasuredUse]) -> NDArray[np.float64]:
    """Share of the load of a family that was on full resources, step by step, where it was fullest."""
    shares = [each.over_time if each.coverage >= COVERAGE else np.nan_to_num(each.over_time) for each in members]
    return np.asarray(np.fmax.reduce(shares))


def _one_after_the_other(by_time: Mapping[Family, NDArray[np.float64]], least: float) -> tuple[list[Family], float]:
    """The fullest family, those that were full for `least` of the time when none before was, and all their share."""
    left = dict(by_time)
    first = max(left, key=lambda name: _mean(left[name]))
    chosen, covered = [first], left.pop(first)
    while left:
        added = {name: np.fmax(covered, times) for name, times in left.items()}
        name = max(added, key=lambda each: _mean(added[each]))
        if _mean(added[name]) - _mean(covered) < least:
            break
        chosen.append(name)
        covered = added[name]
        del left[name]
    return chosen, _mean(covered)


def _mean_time(over_time: NDArray[np.float64]) -> float:
    """The mean time, in steps, at which a subsystem was full."""
    known = np.nan_to_num(over_time)
    return float((known * np.arange(len(known))).sum() / known.sum())


def _hosts(one: MeasuredUse, least: float, state: State, capacity: Capacity) -> str:
    """Hosts or disks that were full for `least` of the time, by name where they are few; empty where none alone was."""
    track = one.track
    if track.role == "machine":
        return "the machine of the testbed"
    full = np.flatnonzero(one.over >= least)
    of = int(one.carried.sum())
    what = "disks" if track.family == "disks" else f"{track.role}s"
    by = [track.by[number] for number in np.flatnonzero(one.carried)]
    assumed = capacity.operations is not None and 2 * by.count("operations") > len(by)
    by_words = " (by operations, whose limit the scale model assumes)" if assumed else ""
    if len(full) >= of:
        return f"all {of} {what}{by_words}" if of > 1 else f"{one.name(int(full[0]))} alone{by_words}"
    if not len(full):
        return ""
    names = [one.name(int(number)) for number in full]
    if len(names) > _MOST_NAMES:
        hosts = list(dict.fromkeys(track.hosts[number] for number in full))
        names = hosts if len(hosts) <= _MOST_NAMES else [f"on {len(hosts)} {track.role}s"]
    load = f" with {100 * float(one.weights[full].sum()):.0f} % of the load" if state == "partly" else ""
    return f"{len(full)} of {of} {what}{load}: {', '.join(names)}{by_words}"


def _without_limit(found: Sequence[MeasuredUse], capacity: Capacity) -> Iterator[str]:
    """Subsystems of which there is no telemetry or no limit."""
    known = {(each.track.family, each.track.role) for each in found}
    for family in FAMILIES:
        roles = [role for role in (("server",) if family == "disks" else _ROLES) if (family, role) not in known]
        if (family, "machine") in known or not roles:
            continue
        alone = family == "disks" or len(roles) == len(_ROLES)
        yield family if alone else f"{roles[0]} {family}"
    # %util does not show the limit of an array
    if ("disks", "server") in known and capacity.operations is None and not (capacity.serial or capacity.one_machine):
        yield "operations of disk arrays"


def _beyond(found: Sequence[MeasuredUse], thresholds: Thresholds) -> Iterator[str]:
    """Subsystems whose limit is not believed, for they did more than it all along."""
    for each in found:
        if each.mean_use > thresholds.passed:
            yield f"{each.track.subsystem}, {each.by}" if each.by else each.track.subsystem


def coverage_gaps(
    timeline: Timeline, found: Sequence[MeasuredUse], expected: Mapping[str, int]
) -> tuple[list[str], bool]:
    """What telemetry lacks over the measured part, and whether that is so much that nothing negative can be said.

    `expected` is the number of hosts by role, as the samples table has them; 0 where it is not known.
    """
    gaps: list[str] = []
    silent: set[str] = set()
    for role in _ROLES:
        hosts, known = timeline.known(role)
        count = max(len(hosts), expected.get(role, 0))
        each = known.mean(axis=1) if known.size else np.zeros(len(hosts))
        if not count or float(each.sum()) / count < COVERAGE:
            silent.add(role)
        if not hosts:
            gaps.append(f"any {role}")
        elif count > len(hosts):
            gaps.append(f"{count - len(hosts)} of {count} {role}s")
        if names := [hosts[number] for number in np.flatnonzero(each < COVERAGE)]:
            gaps.append(f"all {len(names)} {role}s" if len(names) == count > 1 else ", ".join(names))
    short = [each.track for each in found if each.coverage < COVERAGE]
    gaps += [track.subsystem for track in short if track.role not in silent]
    # records of more than a link can carry
    links = [each for each in found if each.track.family == "network" and each.most.max() > LINK_MOST]
    gaps += [f"{each.track.subsystem}, {each.track.hosts[int(each.most.argmax())]}" for each in links]
    return gaps, bool(silent or short)
