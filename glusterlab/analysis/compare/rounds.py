"""Whether two campaigns were measured in interleaved rounds, which a drift of the machine does not mislead."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np
import pandas as pd

MOST_APART = 0.2  # share of rounds that may lie apart in time, such as repeats tried again at the end

ONE_SIDED = 0.8  # share of the rounds in which one campaign goes first, from which on it counts as always first

LEAST_ROUNDS = 2


@dataclass(frozen=True, slots=True)
class Rounds:
    """The samples of a cell, a pair for each round: positions of their rows; in how many the reference went first."""

    reference: tuple[int, ...]
    other: tuple[int, ...]
    reference_first: int
    by: Literal["repeat", "time"]

    @property
    def one_sided(self) -> bool:
        """Whether one of both went first nearly always: what drifts within a round then counts as the release's."""
        count = len(self.reference)
        return max(self.reference_first, count - self.reference_first) >= ONE_SIDED * count and count > LEAST_ROUNDS


def find_rounds(reference: pd.DataFrame, other: pd.DataFrame) -> Rounds | None:
    """Pairs of samples of one cell that were measured next to each other.

    First by their repeats: the files of one repeat have the same paths in both campaigns, and so much the same bricks.
    The window of a pair reaches from the start of its first sample to that of its second; with up to `MOST_APART` of
    the rounds left out none may overlap: of campaigns that were measured one after the other all do. Else, after an
    interruption, the pairs are neighbours in time; again up to `MOST_APART` may be left without one.

    >>> one = pd.DataFrame({"repeat": [1, 2, 3], "start_s": [0.0, 100.0, 200.0]})
    >>> found = find_rounds(one, one.assign(start_s=one["start_s"] + 50))
    >>> found.reference, found.other, found.reference_first, found.by
    ((0, 1, 2), (0, 1, 2), 3, 'repeat')
    >>> find_rounds(one, one.assign(start_s=one["start_s"] + 1000)) is None
    True
    """
    starts = [[float(start) for start in rows["start_s"]] for rows in (reference, other)]
    least = max(math.ceil((1 - MOST_APART) * min(map(len, starts))), LEAST_ROUNDS)
    by: Literal["repeat", "time"] = "repeat"
    pairs = _by_repeat(reference, other, starts, least)
    if len(pairs) < least:
        by, pairs = "time", _neighbours(*starts)
    if len(pairs) < least:
        return None
    mine, theirs = zip(*pairs, strict=True)
    return Rounds(mine, theirs, sum(starts[0][one] < starts[1][two] for one, two in pairs), by)


def _by_repeat(
    reference: pd.DataFrame, other: pd.DataFrame, starts: Sequence[Sequence[float]], least: int
) -> list[tuple[int, int]]:
    """Pairs of one repeat whose windows do not overlap; none where they are fewer than asked for."""
    places = [
        {int(repeat): place for place, repeat in enumerate(rows["repeat"]) if not math.isnan(times[place])}
        for rows, times in zip((reference, other), starts, strict=True)
    ]
    pairs = [(places[0][repeat], places[1][repeat]) for repeat in sorted(places[0].keys() & places[1].keys())]
    windows = np.sort([(starts[0][one], starts[1][two]) for one, two in pairs]).reshape(-1, 2)
    return [pairs[place] for place in _apart(windows, least)]


def _neighbours(reference: Sequence[float], other: Sequence[float]) -> list[tuple[int, int]]:
    """As many pairs of neighbours in time as there can be, each sample in one; of equally many the closest."""
    known = sorted(
        (start, side, place)
        for side, starts in enumerate((reference, other))
        for place, start in enumerate(starts)
        if not math.isnan(start)
    )
    # the best of the first so many: how many pairs, how close they are together, and which
    best: list[tuple[int, float, list[tuple[int, int]]]] = [(0, 0.0, []), (0, 0.0, [])]
    for (before, one, place), (after, two, next_place) in pairwise(known):
        count, close, pairs = best[-2]
        pair = (place, next_place) if one < two else (next_place, place)
        joined = (count + 1, close - (after - before), [*pairs, pair])
        best.append(max(best[-1], joined, key=lambda each: each[:2]) if one != two else best[-1])
    return best[-1][2]


def _apart(windows: np.ndarray[tuple[int, ...], np.dtype[np.float64]], least: int) -> list[int]:
    """Of windows (n, 2) those that do not overlap, without the ones that overlap most; none where fewer are left."""
    starts, ends = windows.T
    overlap = (starts[:, None] <= ends[None, :]) & (starts[None, :] <= ends[:, None])
    left = np.ones(len(windows), dtype=bool)
    # of itself, too
    counts = overlap.sum(axis=1) - 1
    while left.sum() >= max(least, 1):
        if not counts[left].any():
            return [int(place) for place in np.flatnonzero(left)]
        worst = max(np.flatnonzero(left), key=lambda place: (counts[place], ends[place] - starts[place]))
        left[worst] = False
        counts -= overlap[worst]
    return []
