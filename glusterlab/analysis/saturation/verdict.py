"""Which subsystem held a sample back: network, disks, CPU, memory, or none of them.

A subsystem's *share* is the part of the time in which its resources (one direction of a host's link, one disk, the CPUs
of a host) were over a threshold, each weighted by its mean use.

- ``binds``: one subsystem was full for most of the measured part, or several one after the other;
- ``partly``: only hosts or disks that carry a good part of the load, and whose peers were full for much less of the
  time; the share is theirs;
- ``at times``: for more than a moment and for less than most of the measured part;
- ``none``: nothing known was full for long: look at the software, or at latency;
- ``unknown``: too few records, too little telemetry, or no known limit. Where telemetry covers less than `COVERAGE` of
  the measured part, its silent steps count as not full, and no negative verdict is given.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from glusterlab.analysis.saturation import resources
from glusterlab.analysis.saturation.thresholds import USUAL, Thresholds
from glusterlab.analysis.saturation.timeline import Timeline, rolling_known, timelines

State = Literal["binds", "partly", "at times", "none", "unknown"]

THEN = ", then "  # between the subsystems of a verdict on several

NONE = "none of them: look at the software"  # what a verdict says where nothing known was full for long

COVERAGE = 0.80  # share of the measured part that telemetry must cover, host by host, to say "nothing was full"

ALIKE = 0.5  # hosts or disks that were full stand out where the others were for less than this share of their time

USE_COLUMNS = [
    *("cell_id", "sample", "family", "subsystem", "role", "host", "device", "by", "threshold", "mean", "peak", "over")
]
"""Columns of `Judgement.use`: ``mean``, ``peak`` (the fullest `PEAK_S`) and ``threshold`` are shares of what the
resource can do, ``over`` is the share of the measured part in which it was over the threshold."""

SUBSYSTEM_COLUMNS = [
    *("cell_id", "sample", "family", "subsystem", "share", "mean", "peak", "resources", "full", "fullest", "by"),
    *("threshold", "stretch_s"),
]
"""Columns of `Judgement.subsystems`: ``share`` of the measured part over its ``threshold``, ``mean`` use (both weighted
by use), ``peak`` of its fullest resource; how many ``resources`` carried anything, how many were ``full`` for most of
the time; each is judged over ``stretch_s`` seconds."""

VERDICT_COLUMNS = ["cell_id", "sample", "state", "binding", "share", "where", "hosts", "reason", "not_judged"]
"""Columns of `Judgement.verdicts`: ``binding`` has the families in the order in which they were full, or what to do
instead, ``share`` that of the measured part, ``where`` the subsystems, ``reason`` why it is unknown."""

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
    capacity: Mapping[str, resources.Capacity],
    thresholds: Thresholds = USUAL,
) -> Judgement:
    """Judge every subsystem over the measured part of each sample; `capacity` is by ``cell_id``."""
    expected = {
        (str(row["cell_id"]), int(row["sample"])): {role: int(row.get(f"{role}s", 0)) for role in _ROLES}
        for row in samples.to_dict("records")
    }
    missing = {**_UNKNOWN, "reason": f"fewer than {resources.MIN_RECORDS} telemetry records in the measured part"}
    verdicts = {key: {"cell_id": key[0], "sample": key[1]} | missing for key in expected}
    use: list[dict[str, Any]] = []
    subsystems: list[dict[str, Any]] = []
    for cell, sample, timeline in timelines(telemetry, samples):
        records = int(timeline.inside.sum())
        if records < resources.MIN_RECORDS:
            continue
        known = capacity.get(cell, resources.Capacity())
        point = {"cell_id": cell, "sample": sample}
        found = [_Use(track, timeline, thresholds) for track in resources.tracks(timeline, known)]
        use += [point | row for each in found for row in each.rows()]
        subsystems += [point | each.row() for each in found]
        gaps, broken = _coverage_gaps(timeline, found, expected[cell, sample])
        beyond = [each for each in found if each.mean_use > thresholds.passed]
        not_judged = [*_without_limit(found, known)]
        not_judged += [", ".join(filter(None, (each.track.subsystem, each.by))) for each in beyond]
        verdict = _verdict([each for each in found if each not in beyond], known, thresholds, records, broken=broken)
        verdicts[cell, sample] = point | verdict | {"not_judged": "; ".join(dict.fromkeys([*not_judged, *gaps]))}
    return Judgement(
        pd.DataFrame.from_records(use, columns=USE_COLUMNS),
        pd.DataFrame.from_records(subsystems, columns=SUBSYSTEM_COLUMNS),
        pd.DataFrame.from_records(list(verdicts.values()), columns=VERDICT_COLUMNS),
    )


class _Use:
    """A track over the measured part of its sample, of which no stretch reaches out: shares of what is known."""

    def __init__(self, track: resources.Track, timeline: Timeline, thresholds: Thresholds) -> None:
        used = track.used[:, timeline.inside]
        self.track = track
        self.known = np.isfinite(used)  # shape (resources, steps), as `full`
        self.full = resources.over(replace(track, used=used), timeline, thresholds)
        counts = np.maximum(self.known.sum(axis=1), 1)
        self.mean = np.nan_to_num(used).sum(axis=1) / counts
        self.peak = np.nan_to_num(rolling_known(used, timeline.steps(resources.PEAK_S))).max(axis=1)
        self.most = np.nan_to_num(used).max(axis=1)  # the fullest step
        self.over = self.full.sum(axis=1) / counts
        self.level = resources.levels(track, thresholds)
        total = self.mean.sum()
        self.weights = self.mean / total if total > 0 else np.full(len(counts), 1 / len(counts))
        self.carried = self.mean > resources.IDLE * self.mean.max(initial=0.0)
        self.long = self.over >= thresholds.window
        self.stretch_s = track.steps(timeline) * timeline.step_s
        self.over_time = self.share_of(np.ones(len(counts), dtype=bool))
        self.share = _mean(self.over_time)
        self.mean_use = float(self.weights @ self.mean)
        self.coverage = float(self.known.mean())
        self.fullest = int(self.mean.argmax())
        self.by = track.by[self.fullest]

    def share_of(self, chosen: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Share of the load of these resources that was on full ones, step by step; NaN where nothing is known."""
        known = self.weights[chosen] @ self.known[chosen]
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(known > 0, self.weights[chosen] @ self.full[chosen] / known, np.nan)

    @property
    def apart(self) -> NDArray[np.bool_]:
        """Resources that were full for most of the time while their peers were for much less of it; else none."""
        long, others = self.long & self.carried, self.carried & ~self.long
        if not long.any() or not others.any() or _mean(self.share_of(others)) > ALIKE * _mean(self.share_of(long)):
            return np.zeros_like(long)
        return np.asarray(long)

    def name(self, number: int) -> str:
        return " ".join(part for part in (self.track.hosts[number], self.track.devices[number]) if part)

    def rows(self) -> Iterator[dict[str, Any]]:
        track = self.track
        shared = {"family": track.family, "subsystem": track.subsystem, "role": track.role}
        numbers = (self.level, self.mean, self.peak, self.over)
        columns = (track.hosts, track.devices, track.by, *(each.tolist() for each in numbers))
        for values in zip(*columns, strict=True):
            yield shared | dict(zip(USE_COLUMNS[5:], values, strict=True))

    def row(self) -> dict[str, Any]:
        return {
            "family": self.track.family,
            "subsystem": self.track.subsystem,
            "share": self.share,
            "mean": self.mean_use,
            "peak": float(self.peak.max()),
            "resources": int(self.carried.sum()),
            "full": int(self.long.sum()),
            "fullest": self.name(self.fullest),
            "by": self.by,
            "threshold": float(self.level.min()),
            "stretch_s": self.stretch_s,
        }


def _mean(shares: NDArray[np.float64]) -> float:
    known = shares[np.isfinite(shares)]
    return float(known.mean()) if len(known) else 0.0


def _verdict(
    found: Sequence[_Use], capacity: resources.Capacity, thresholds: Thresholds, records: int, *, broken: bool
) -> dict[str, Any]:
    """The verdict of one sample: `VERDICT_COLUMNS` but cell, sample and what is not judged."""
    if not found:
        return {**_UNKNOWN, "reason": "no limit is known of what telemetry shows"}
    members = {name: [each for each in found if each.track.family == name] for name in resources.FAMILIES}
    by_time = {name: _together(each) for name, each in members.items() if each}
    families, share = _one_after_the_other(by_time, thresholds.phase)
    fullest = max(found, key=lambda each: each.share)
    enough = records >= thresholds.records
    state: State
    if enough and share >= thresholds.window:
        state = "binds"
    elif not enough or broken:
        few = f"{records} records in the measured part, fewer than {thresholds.records:g}"
        silent = "telemetry covers too little of the measured part to say that nothing was full"
        return {**_UNKNOWN, "share": share, "reason": silent if enough else few}
    elif fullest.share >= thresholds.phase and (apart := fullest.apart).any():
        state, families, share = "partly", [fullest.track.family], _mean(fullest.share_of(apart))
    elif share >= thresholds.phase:
        state = "at times"
    else:
        state, families = "none", []

    def mean_step(name: resources.Family) -> float:
        """When a subsystem was full."""
        full = np.nan_to_num(by_time[name])
        return float((full * np.arange(len(full))).sum() / full.sum())

    families = sorted(families, key=mean_step)
    shown = [each for name in families for each in members[name]]
    if state in ("partly", "none"):
        shown = [each for each in shown or found if each.apart.any()]
    shown = [each for each in shown if each.long.any() or each.share >= thresholds.phase]
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


def _together(members: Sequence[_Use]) -> NDArray[np.float64]:
    """Share of the load of a family that was on full resources, step by step, where it was fullest."""
    shares = [each.over_time if each.coverage >= COVERAGE else np.nan_to_num(each.over_time) for each in members]
    return np.asarray(np.fmax.reduce(shares))


def _one_after_the_other(
    by_time: Mapping[resources.Family, NDArray[np.float64]], least: float
) -> tuple[list[resources.Family], float]:
    """The fullest family, those that were full for `least` of the time when none before was, and all their share."""
    left = dict(by_time)
    chosen: list[resources.Family] = []
    covered = np.full(len(next(iter(left.values()))), np.nan)
    while left:
        added = {name: np.fmax(covered, times) for name, times in left.items()}
        name = max(added, key=lambda each: _mean(added[each]))
        if chosen and _mean(added[name]) - _mean(covered) < least:
            break
        chosen.append(name)
        covered = added[name]
        del left[name]
    return chosen, _mean(covered)


def _hosts(one: _Use, least: float, state: State, capacity: resources.Capacity) -> str:
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


def _without_limit(found: Sequence[_Use], capacity: resources.Capacity) -> Iterator[str]:
    """Subsystems of which there is no telemetry or no limit."""
    known = {(each.track.family, each.track.role) for each in found}
    for family in resources.FAMILIES:
        roles = [role for role in (("server",) if family == "disks" else _ROLES) if (family, role) not in known]
        if (family, "machine") in known or not roles:
            continue
        alone = family == "disks" or len(roles) == len(_ROLES)
        yield family if alone else f"{roles[0]} {family}"
    # %util does not show the limit of an array
    if ("disks", "server") in known and capacity.operations is None and not (capacity.serial or capacity.one_machine):
        yield "operations of disk arrays"


def _coverage_gaps(timeline: Timeline, found: Sequence[_Use], expected: Mapping[str, int]) -> tuple[list[str], bool]:
    """What telemetry lacks of the hosts that are expected, and whether that is too much for a negative statement."""
    gaps: list[str] = []
    silent: set[str] = set()
    recorded = np.isfinite(timeline.values[:, timeline.inside])
    by_host = {key: float(recorded[rows].any(axis=0).mean()) for key, rows in timeline.series.hosts.items()}
    for role in _ROLES:
        known = {host: share for (of, host), share in by_host.items() if of == role}
        count = max(len(known), expected.get(role, 0))
        if not count or math.fsum(known.values()) / count < COVERAGE:
            silent.add(role)
        if not known:
            gaps.append(f"any {role}")
        elif count > len(known):
            gaps.append(f"{count - len(known)} of {count} {role}s")
        if names := [host for host, share in known.items() if share < COVERAGE]:
            gaps.append(f"all {len(names)} {role}s" if len(names) == count > 1 else ", ".join(names))
    short = [each.track for each in found if each.coverage < COVERAGE]
    gaps += [track.subsystem for track in short if track.role not in silent]
    # records of more than a link can carry
    links = [each for each in found if each.track.family == "network" and each.most.max() > resources.LINK_MOST]
    gaps += [f"{each.track.subsystem}, {each.track.hosts[int(each.most.argmax())]}" for each in links]
    return gaps, bool(silent or short)
