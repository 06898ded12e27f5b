"""The rule by which the use of all subsystems over one sample becomes a verdict, and its words.

`glusterlab.analysis.subsystems` says what each state means. Nothing is concluded from silence: where telemetry covers
less than `COVERAGE` of the measured part, its silent steps count as not full for a positive verdict, and no negative
one is given.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from glusterlab.analysis.resources import FAMILIES, LINK_MOST, Capacity, Family, Track, levels, over
from glusterlab.analysis.saturation import IDLE, MIN_RECORDS, PEAK_S
from glusterlab.analysis.thresholds import Thresholds
from glusterlab.analysis.timeline import Timeline, rolling_known

if TYPE_CHECKING:
    from numpy.typing import NDArray

State = Literal["binds", "in turn", "partly", "at times", "none", "unknown"]

WHOLE: tuple[State, ...] = ("binds", "in turn")
"""States in which subsystems as a whole were full for most of the time."""

THEN = ", then "
"""Between the subsystems of a verdict on several."""

NONE = "none of them: look at the software"
"""What a verdict says where nothing known was full for long."""

COVERAGE = 0.80
"""Share of the measured part that telemetry must cover, host by host, for the statement that nothing was full."""

ALIKE = 0.5
"""Hosts or disks that were full stand out where the others were for less than this share of their time."""


_MOST_NAMES = 4

_ROLES = ("server", "client")

UNKNOWN: dict[str, Any] = {
    "state": "unknown",
    "binding": "unknown",
    "share": math.nan,
    "where": "",
    "hosts": "",
    "evidence": f"fewer than {MIN_RECORDS} telemetry records in the measured part",
    "signs": "",
    "not_judged": "",
}
"""The verdict of a sample without telemetry."""


@dataclass(frozen=True, slots=True)
class Looked:
    """A track over the measured part, with where it was over its threshold.

    Attributes
    ----------
    track : Track
    known, full : numpy.ndarray of bool
        Shape (resources, steps).
    mean, peak, most : numpy.ndarray
        Use over the steps that are known, over the fullest `PEAK_S` of them, and in the fullest; shape (resources,).
    level : numpy.ndarray
        From where on each resource counts as full.
    seconds, stretch_s : float
        Length of the measured part, and of the stretch over which each resource is looked at.
    """

    track: Track
    known: NDArray[np.bool_]
    full: NDArray[np.bool_]
    mean: NDArray[np.float64]
    peak: NDArray[np.float64]
    most: NDArray[np.float64]
    level: NDArray[np.float64]
    seconds: float
    stretch_s: float

    @property
    def weights(self) -> NDArray[np.float64]:
        """Share of the use that is each resource's."""
        total = self.mean.sum()
        return self.mean / total if total > 0 else np.full(len(self.mean), 1 / len(self.mean))

    @property
    def over_time(self) -> NDArray[np.float64]:
        """Share of the load that was on full resources, step by step; NaN where nothing is known."""
        return self._share_of(np.ones(len(self.mean), dtype=bool))

    @property
    def share(self) -> float:
        """Share of the load that was on full resources, over the time that is known."""
        return _mean(self.over_time)

    @property
    def over(self) -> NDArray[np.float64]:
        """Share of its known time in which each resource was full."""
        return np.asarray(self.full.sum(axis=1) / np.maximum(self.known.sum(axis=1), 1))

    @property
    def coverage(self) -> float:
        """Share of the measured part that is known, over all resources."""
        return float(self.known.mean())

    @property
    def carried(self) -> NDArray[np.bool_]:
        """Resources that carried something."""
        return np.asarray(self.mean > IDLE * self.mean.max(initial=0.0))

    def share_of(self, chosen: NDArray[np.bool_]) -> float:
        """Share of the time in which these resources were full, each weighted by its use."""
        return _mean(self._share_of(chosen))

    def _share_of(self, chosen: NDArray[np.bool_]) -> NDArray[np.float64]:
        known = self.weights[chosen] @ self.known[chosen]
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(known > 0, self.weights[chosen] @ self.full[chosen] / known, np.nan)

    def apart(self, thresholds: Thresholds) -> NDArray[np.bool_]:
        """Resources that were full for most of the time while their peers were for much less of it; else none."""
        long = (self.over >= thresholds.window) & self.carried
        others = self.carried & ~long
        if not long.any() or not others.any() or self.share_of(others) > ALIKE * self.share_of(long):
            return np.zeros_like(long)
        return np.asarray(long)


def _mean(shares: NDArray[np.float64]) -> float:
    known = shares[np.isfinite(shares)]
    return float(known.mean()) if len(known) else 0.0


def look(track: Track, timeline: Timeline, thresholds: Thresholds) -> Looked:
    """A track over the measured part of its sample; no stretch reaches out of it."""
    used = track.used[:, timeline.inside]
    known = np.isfinite(used)
    peaks = rolling_known(used, timeline.steps(PEAK_S))
    return Looked(
        track,
        known,
        over(replace(track, used=used), timeline, thresholds),
        np.nan_to_num(used).sum(axis=1) / np.maximum(known.sum(axis=1), 1),
        np.nan_to_num(peaks).max(axis=1),
        np.nan_to_num(used).max(axis=1),
        levels(track, thresholds),
        float(timeline.inside.sum()) * timeline.step_s,
        (timeline.steps(track.stretch_s) if track.stretch_s else 1) * timeline.step_s,
    )


def resource_name(track: Track, number: int) -> str:
    """Host and device."""
    return " ".join(part for part in (track.hosts[number], track.devices[number]) if part)


def verdict(
    seen: Sequence[Looked],
    rows: Sequence[Mapping[str, Any]],
    capacity: Capacity,
    thresholds: Thresholds,
    records: int,
    lacking: Silence,
) -> dict[str, Any]:
    """The verdict of one sample.

    Parameters
    ----------
    seen : sequence of Looked
        All tracks of the sample.
    rows : sequence of mapping
        The row of each in `glusterlab.analysis.subsystems.Judgement.subsystems`.
    capacity : Capacity
    thresholds : Thresholds
    records : int
        Steps of the measured part.
    lacking : Silence

    Returns
    -------
    dict of str to Any
        `glusterlab.analysis.subsystems.VERDICT_COLUMNS` but cell, sample and signs.
    """
    passed = [f"{row['subsystem']} ({_passed(row)})" for row in rows if float(row["mean"]) > thresholds.passed]
    not_judged = "; ".join([*_not_judged(seen, capacity), *passed, *lacking.words])
    believed = [n for n, row in enumerate(rows) if float(row["mean"]) <= thresholds.passed]
    seen, rows = [seen[n] for n in believed], [rows[n] for n in believed]
    if not seen:
        return UNKNOWN | {"evidence": "no limit is known of what telemetry shows", "not_judged": not_judged}
    families = {name: [n for n, each in enumerate(seen) if each.track.family == name] for name in FAMILIES}
    by_time = {name: _together([seen[n] for n in members]) for name, members in families.items() if members}
    order, together = _adding(by_time, thresholds.phase)
    apart = {n: each.apart(thresholds) for n, each in enumerate(seen)}
    fullest = max(range(len(seen)), key=lambda n: seen[n].share)
    enough = records >= thresholds.records
    state: State
    if enough and together >= thresholds.window and len(order) > 1:
        state, share = "in turn", together
    elif enough and together >= thresholds.window:
        state, share = "binds", together
    elif not enough or lacking.broken:
        state, order, share = "unknown", [], together
    elif seen[fullest].share >= thresholds.phase and apart[fullest].any():
        state, order, share = "partly", [seen[fullest].track.family], seen[fullest].share_of(apart[fullest])
    elif together >= thresholds.phase:
        state, share = "at times", together
    else:
        state, order, share = "none", [], together
    chosen = sorted(order, key=lambda name: _when(by_time[name]))
    members = [n for name in chosen for n in families[name]]
    if state in ("partly", "none"):
        members = [n for n in members or range(len(seen)) if apart[n].any()]
    shown = [n for n in members if rows[n]["full"] or seen[n].share >= thresholds.phase]
    nearest = sorted(range(len(rows)), key=lambda n: (-seen[n].share, -float(rows[n]["mean"])))[:2]
    # what was full for longer than what binds in part is told, too
    fuller = [n for n in nearest if n not in shown and seen[n].share >= thresholds.phase]
    evidence = [_evidence(rows[n], seen[n], capacity) for n in ([*shown, *fuller] if chosen else nearest)]
    if not enough:
        evidence.insert(0, f"{records} records in the measured part are too few for a verdict")
    elif state == "unknown":
        evidence.insert(0, "telemetry covers too little of the measured part to say that nothing was full")
    return {
        "state": state,
        "binding": THEN.join(chosen) or (NONE if state == "none" else "unknown"),
        "share": share,
        "where": "; ".join(str(rows[n]["subsystem"]) for n in shown),
        "hosts": "; ".join(dict.fromkeys(filter(None, (_hosts(seen[n], thresholds, state, capacity) for n in shown)))),
        "evidence": "; ".join(evidence),
        "not_judged": not_judged,
    }


def _together(members: Sequence[Looked]) -> NDArray[np.float64]:
    """Share of the load of a family that was on full resources, step by step, where it was fullest."""
    shares = [each.over_time if each.coverage >= COVERAGE else np.nan_to_num(each.over_time) for each in members]
    return np.asarray(np.fmax.reduce(shares))


def _adding(by_time: Mapping[Family, NDArray[np.float64]], least: float) -> tuple[list[Family], float]:
    """The fullest family, those that were full for so much of the time when none before was, and all their share."""
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


def _when(over_time: NDArray[np.float64]) -> float:
    """The mean time, in steps, at which a subsystem was full."""
    known = np.nan_to_num(over_time)
    return float((known * np.arange(len(known))).sum() / known.sum())


def _hosts(seen: Looked, thresholds: Thresholds, state: State, capacity: Capacity) -> str:
    """Hosts or disks that were full for long, by name where they are few; empty where none alone was."""
    track = seen.track
    by = _assumed(seen, capacity)
    if track.role == "machine":
        return "the machine of the testbed"
    least = thresholds.phase if state in ("in turn", "at times") else thresholds.window
    full = seen.over >= least
    carried = seen.carried
    number, of = int(full.sum()), int(carried.sum())
    hosts = list(dict.fromkeys(track.hosts[each] for each in np.flatnonzero(full)))
    what = "disks" if track.family == "disks" else f"{track.role}s"
    if number >= of:
        return f"all {of} {what}{by}" if of > 1 else f"{resource_name(track, int(full.argmax()))} alone{by}"
    if not number:
        return ""
    names = [resource_name(track, int(each)) for each in np.flatnonzero(full)]
    if len(names) > _MOST_NAMES:
        names = hosts if len(hosts) <= _MOST_NAMES else [f"on {len(hosts)} {track.role}s"]
    load = f" with {100 * float(seen.weights[full].sum()):.0f} % of the load" if state == "partly" else ""
    return f"{number} of {of} {what}{load}: {', '.join(names)}{by}"


def _assumed(seen: Looked, capacity: Capacity) -> str:
    """What is said of disks whose limit no baseline measured."""
    by = [seen.track.by[number] for number in np.flatnonzero(seen.carried)] if seen.track.by else []
    if capacity.operations is None or 2 * by.count("operations") <= len(by):
        return ""
    return " (by operations, whose limit the scale model assumes)"


def _evidence(row: Mapping[str, Any], seen: Looked, capacity: Capacity) -> str:
    threshold = f"{100 * float(seen.level.min()):.0f} %"
    by = f" by {row['by']}" if row["by"] and row["by"] != "bytes" else ""
    if row["by"] == "operations" and capacity.operations is not None:
        by += ", whose limit is assumed,"
    each = f", each looked at over {seen.stretch_s:.3g} s" if seen.track.stretch_s else ""
    peak = f", fullest {PEAK_S:g} s {100 * float(row['peak']):.0f} %" if seen.seconds > PEAK_S else ""
    return (
        f"{row['subsystem']} over {threshold}{by} for {100 * float(row['share']):.0f} % of the measured part "
        f"(mean {100 * float(row['mean']):.0f} %{peak}{each})"
    )


def _passed(row: Mapping[str, Any]) -> str:
    by = f" {row['by']}" if row["by"] else ""
    return f"{100 * float(row['mean']):.0f} % of the{by} that are known as its limit, so that is not what held it"


def _not_judged(seen: Sequence[Looked], capacity: Capacity) -> Iterator[str]:
    """Subsystems that a verdict does not know of."""
    known = {(each.track.family, each.track.role) for each in seen}
    why = "(no telemetry or no limit of it)"
    for family in FAMILIES:
        roles = [role for role in (("server",) if family == "disks" else _ROLES) if (family, role) not in known]
        if (family, "machine") in known or not roles:
            continue
        if family == "disks" or len(roles) == len(_ROLES):
            yield f"{family} {why}"
        else:
            yield f"{roles[0]} {family} {why}"
    serial = capacity.serial and not capacity.one_machine
    if ("disks", "server") in known and capacity.operations is None and not serial and not capacity.one_machine:
        yield "operations of disk arrays (their limit is not known, and %util does not show it)"


@dataclass(frozen=True, slots=True)
class Silence:
    """Of which hosts and subsystems telemetry lacks a part of the measured part.

    Attributes
    ----------
    words : tuple of str
        What lacks.
    broken : bool
        So much that nothing negative can be said.
    """

    words: tuple[str, ...] = ()
    broken: bool = False


def silence(timeline: Timeline, seen: Sequence[Looked], expected: Mapping[str, int]) -> Silence:
    """What telemetry lacks over the measured part of a sample.

    Parameters
    ----------
    timeline : Timeline
    seen : sequence of Looked
        All tracks of the sample.
    expected : mapping of str to int
        Number of hosts by role, as the samples table has them; 0 where it is not known.
    """
    words: list[str] = []
    broken = False
    silent: set[str] = set()
    for role in _ROLES:
        hosts, known = timeline.known(role)
        count = max(len(hosts), expected.get(role, 0))
        each = known.mean(axis=1) if known.size else np.zeros(len(hosts))
        if not count or float(each.sum()) / count < COVERAGE:
            broken = True
            silent.add(role)
        if not hosts:
            words.append(f"no telemetry of any {role}")
            continue
        if count > len(hosts):
            words.append(f"no telemetry of {count - len(hosts)} of {count} {role}s")
        short = np.flatnonzero(each < COVERAGE)
        if len(short):
            names = [hosts[number] for number in short]
            of = f"all {len(names)} {role}s" if len(names) == count > 1 else ", ".join(names)
            share = 100 * float(each[short].mean())
            words.append(f"{of}: telemetry of {share:.0f} % of the measured part only")
    for one in seen:
        if one.coverage < COVERAGE:
            broken = True
            if one.track.role not in silent:
                share = 100 * one.coverage
                words.append(f"{one.track.subsystem}: telemetry of {share:.0f} % of the measured part only")
        if one.track.family == "network":
            most = one.most
            beyond = [number for number in np.argsort(-most) if most[number] > LINK_MOST][:_MOST_NAMES]
            if beyond:
                links = ", ".join(f"{one.track.hosts[number]} {100 * float(most[number]):.0f} %" for number in beyond)
                words.append(f"{one.track.subsystem}: records of more than a link can carry ({links})")
    return Silence(tuple(words), broken)
