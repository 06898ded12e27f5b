"""How long disks worked for what they moved, which of them is slow among its peers, and which slowdown would show.

Time at work is resolved to two telemetry records, for a disk's work may take only some seconds, and one record is too
short: a request counts when all of it is done, and a slow disk of a scale model finishes none in some of its records.

It is compared with disks that moved about as much, half to double: where files are placed by hash, disks have more or
less to do. A disk is slow where all of this holds:

- it moved its bytes at a fraction of its peers' rate;
- its time stands out from their scatter, by the median and MAD of all disks;
- it worked for longer than they did, by more than the resolution, and was still at it when half of all disks had done.

No disk is told by what it shows in one record, so none is named for a burst, or for the lack of one.

**What would have shown** is tried and not assumed: each disk's own bytes are put through a queue that is slower than
the disks at their full speed, and judged in its place. In reads of a dispersed volume those that wait for it are slowed
as well: the disks of its subvolume, for which those with the most similar load stand.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from glusterlab.analysis.skew import LEAST_PEERS, modified_z
from glusterlab.analysis.thresholds import Thresholds
from glusterlab.analysis.timeline import rolling

if TYPE_CHECKING:
    from numpy.typing import NDArray

RESOLVED = 2
"""Records that time at work is resolved to."""

ALIKE = 2.0
"""Peers moved up to so many times as much, or as many times less."""

SLOWDOWNS = (3.0, 4.0, 6.0, 10.0)
"""How much slower than its peers a disk is made to see whether it would be named."""

REQUEST_BYTES = 1e6
"""A request that counts when all of it is done: Linux's are up to about so large, and so were those of the testbed."""

FULL_SPEED_S = 10.0
"""Length of the stretch in which a disk shows its full speed, in seconds: long enough to even out bursts."""

_WORKED = 0.1
"""A disk that moved less than this share of what the average byte's disk moved has nothing to be judged by."""

_DONE = 0.95
"""Share of its bytes after which a disk has done: what trickles in later is metadata."""


@dataclass(frozen=True)
class Work:
    """What disks did in one sample, arrays of one value per disk.

    Attributes
    ----------
    total : numpy.ndarray
        Bytes.
    time_s : numpy.ndarray
        Time at work in seconds, see `working_time`; NaN of a disk that moved nothing.
    done_s : numpy.ndarray
        When 95 % of its bytes were moved, in seconds since the first record.
    """

    total: NDArray[np.float64]
    time_s: NDArray[np.float64]
    done_s: NDArray[np.float64]

    @classmethod
    def of(cls, moved: NDArray[np.float64], step_s: float) -> Work:
        """From rates in bytes/s, shape (disks, records), of records of `step_s` seconds."""
        return cls(moved.sum(axis=1) * step_s, working_time(moved, step_s), _done(moved, step_s))


@dataclass(frozen=True)
class Signs:
    """How each disk stands among its peers, arrays of one value per disk; NaN where it has too few.

    Attributes
    ----------
    ratio : numpy.ndarray
        Time at work, in multiples of the median of what its peers would take for as much.
    longer_s : numpy.ndarray
        By how many seconds it is longer.
    after_s : numpy.ndarray
        Seconds from when half of all disks had done until this one had.
    score : numpy.ndarray
        Modified z-score of the logarithm of `ratio` among all disks.
    """

    ratio: NDArray[np.float64]
    longer_s: NDArray[np.float64]
    after_s: NDArray[np.float64]
    score: NDArray[np.float64]

    def slow(self, step_s: float, thresholds: Thresholds) -> NDArray[np.bool_]:
        """The disks that are slow."""
        least = max(thresholds.slow_seconds, RESOLVED * step_s)
        # NaN is never above anything
        return np.asarray(
            (self.ratio >= 1 / thresholds.slow_rate)
            & (self.score >= thresholds.outlier)
            & (self.longer_s >= least)
            & (self.after_s >= least)
        )


def working_time(moved: NDArray[np.float64], step_s: float) -> NDArray[np.float64]:
    """How long each disk was at work, weighted by bytes: idle time does not count, and a trickle hardly does.

    It is the square of the sum of the rates over the sum of their squares, times the length of a record: the duration
    of a rectangle of the same bytes and the same energy, as the equivalent width of a pulse. Rates are means of
    `RESOLVED` records; less than that is not told apart.

    Parameters
    ----------
    moved : numpy.ndarray
        Bytes/s, shape (disks, records).
    step_s : float
        Length of a record.

    Returns
    -------
    numpy.ndarray
        Seconds, shape (disks,); NaN of disks that moved nothing.

    Examples
    --------
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


def _done(moved: NDArray[np.float64], step_s: float) -> NDArray[np.float64]:
    """Seconds until `_DONE` of the bytes were moved, evenly within a record."""
    so_far = np.cumsum(moved, axis=1)
    wanted = _DONE * so_far[:, -1]
    disks = np.arange(len(moved))
    record = np.argmax(so_far >= wanted[:, np.newaxis], axis=1)
    within = moved[disks, record]
    before = so_far[disks, record] - within
    part = np.divide(wanted - before, within, out=np.zeros(len(moved)), where=within > 0)
    return np.asarray((record + part) * step_s)


def comparable(total: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Disks that moved enough to be judged.

    The yardstick is the mean of what their disks moved, weighted by bytes: with few workers most disks carry nothing
    but metadata, and would be the median.
    """
    if total.sum() <= 0:
        return np.zeros(len(total), dtype=bool)
    return np.asarray(total >= _WORKED * (total**2).sum() / total.sum())


def signs(work: Work) -> Signs:
    """How each disk stands among its peers.

    Parameters
    ----------
    work : Work
        Of disks that are `comparable`; at least one.
    """
    expected = _expected(work, np.arange(len(work.total)))
    ratio = work.time_s / expected
    return Signs(ratio, work.time_s - expected, work.done_s - np.median(work.done_s), _scores(ratio))


def _expected(work: Work, disks: NDArray[np.intp]) -> NDArray[np.float64]:
    """Median time that the peers of some disks would take for what these moved; NaN where they are too few."""
    # less was done in less time at the same rate; more is not scaled, for a short time is resolved no further
    more = work.total[disks, np.newaxis] / work.total
    times = work.time_s * np.maximum(more, 1.0)
    peers = (more <= ALIKE) & (more >= 1 / ALIKE)
    peers[np.arange(len(disks)), disks] = False
    counts = peers.sum(axis=1)
    ordered = np.sort(np.where(peers, times, math.inf), axis=1)
    rows = np.arange(len(disks))
    last = len(work.total) - 1
    low, high = (ordered[rows, np.clip(place, 0, last)] for place in ((counts - 1) // 2, counts // 2))
    return np.where(counts >= LEAST_PEERS - 1, (low + high) / 2, math.nan)


def _scores(ratio: NDArray[np.float64]) -> NDArray[np.float64]:
    """Modified z-scores of logarithms, among those that are known."""
    scores = np.full(len(ratio), math.nan)
    known = np.isfinite(ratio)
    if known.any():
        scores[known] = modified_z(np.log(ratio[known]))
    return scores


def visible(
    moved: NDArray[np.float64], step_s: float, speed: float, thresholds: Thresholds, *, waiting: int = 0
) -> NDArray[np.float64]:
    """The least of `SLOWDOWNS` that would have shown in each disk.

    Each disk's own bytes go through a first-in, first-out queue that is so many times slower than full speed, a request
    at a time. The command is taken to wait until all is done, as reads do, and writes that end with a flush.

    Parameters
    ----------
    moved : numpy.ndarray
        Bytes/s of disks that are `comparable`, shape (disks, records).
    step_s : float
        Length of a record.
    speed : float
        Full speed of the disks in bytes/s, see `full_speed`; NaN where it is not known.
    thresholds : Thresholds
    waiting : int
        How many disks wait for a slow one: the others of a dispersed subvolume in reads.

    Returns
    -------
    numpy.ndarray
        Shape (disks,); infinite where none of them would have shown, or the speed is not known.

    Notes
    -----
    It says nothing of the other measure, busy seconds per byte: with that, on real disks, more may show.
    """
    found = np.full(len(moved), math.inf)
    if math.isnan(speed):
        return found
    work = Work.of(moved, step_s)
    own = signs(work)
    groups = list(_groups(work.total, waiting))
    for slowdown in SLOWDOWNS:
        throttled = Work.of(queued(moved, step_s, speed / slowdown), step_s)
        for disk in np.flatnonzero(np.isinf(found)):
            if _shows(work, own, throttled, groups[disk]).slow(step_s, thresholds)[0]:
                found[disk] = slowdown
    return found


def _shows(work: Work, own: Signs, throttled: Work, group: NDArray[np.intp]) -> Signs:
    """Signs of the first disk of a group that is throttled; what the others lose as its peers is left out."""
    time_s, done_s = work.time_s.copy(), work.done_s.copy()
    time_s[group], done_s[group] = throttled.time_s[group], throttled.done_s[group]
    expected = _expected(Work(work.total, time_s, done_s), group)
    ratio = own.ratio.copy()
    ratio[group] = time_s[group] / expected
    first = group[:1]
    return Signs(
        ratio[first], (time_s[group] - expected)[:1], (done_s - np.median(done_s))[first], _scores(ratio)[first]
    )


def _groups(total: NDArray[np.float64], waiting: int) -> Iterator[NDArray[np.intp]]:
    """Each disk, and so many others with the most similar load."""
    with np.errstate(divide="ignore"):
        size = np.log(total)
    for disk in range(len(total)):
        distance = np.abs(size - size[disk])
        distance[disk] = -1.0
        yield np.argsort(distance, kind="stable")[: 1 + waiting]


def full_speed(moved: NDArray[np.float64], step_s: float) -> float:
    """The most that any disk moved over `FULL_SPEED_S`, or twice the resolution where that is longer, in bytes/s.

    Parameters
    ----------
    moved : numpy.ndarray
        Bytes/s, shape (disks, records).
    step_s : float
        Length of a record.

    Returns
    -------
    float
        NaN where none was at work for so long: what took less than some records may have taken next to no time.
    """
    # of records of many seconds a burst is no longer than that
    length = max(FULL_SPEED_S, 2 * RESOLVED * step_s)
    long = moved[working_time(moved, step_s) >= length]
    return float(rolling(long, round(length / step_s)).max()) if len(long) else math.nan


def queued(moved: NDArray[np.float64], step_s: float, speed: float) -> NDArray[np.float64]:
    """What disks of a speed make of arriving bytes: first in, first out, requests of `REQUEST_BYTES` when all is done.

    Parameters
    ----------
    moved : numpy.ndarray
        Bytes/s that arrive, shape (disks, records).
    step_s : float
        Length of a record.
    speed : float
        Bytes/s of each disk.

    Returns
    -------
    numpy.ndarray
        Bytes/s that are done, shape (disks, records or more): as many as all take.

    Examples
    --------
    >>> queued(np.array([[1e6, 0.0]]), 2.0, 0.25e6).tolist()
    [[0.0, 500000.0, 0.0, 500000.0, 0.0, 0.0, 0.0]]
    """
    longest = float(moved.sum(axis=1).max()) * step_s / speed
    steps = moved.shape[1] + math.ceil(longest / step_s) + 1
    done = np.zeros((len(moved), steps))
    waiting, credit = np.zeros(len(moved)), np.zeros(len(moved))
    for step in range(steps):
        if step < moved.shape[1]:
            waiting += moved[:, step] * step_s
        credit += speed * step_s
        whole = np.floor(np.minimum(waiting, credit) / REQUEST_BYTES) * REQUEST_BYTES
        now = np.where(credit >= waiting, waiting, whole)
        done[:, step] = now / step_s
        waiting -= now
        # an idle disk saves nothing for later
        credit = np.where(waiting > 0, credit - now, 0.0)
    return done
