"""Whether two campaigns were measured in interleaved rounds, and which samples of a cell make a round.

A machine drifts: disks fill, a neighbour starts to work, the day gets warm. Two campaigns one after the other cannot
tell that drift from the release. In interleaved rounds it hits both alike, and the ratio within a round is free of it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd

MOST_APART = 0.2
"""Share of a cell's rounds that may lie apart in time, such as repeats that were tried again at the end."""

LEAST_ROUNDS = 2


@dataclass(frozen=True, slots=True)
class Rounds:
    """The samples of a cell, a pair for each round.

    Attributes
    ----------
    reference, other : tuple of int
        Positions of the rows that make the pairs, in the order of the rounds.
    reference_first : int
        Rounds in which the reference was measured before the other.
    """

    reference: tuple[int, ...]
    other: tuple[int, ...]
    reference_first: int

    @property
    def one_sided(self) -> bool:
        """Whether one of both always went first: what drifts within a round then counts as the release's."""
        return self.reference_first in (0, len(self.reference)) and len(self.reference) > LEAST_ROUNDS


def find_rounds(reference: pd.DataFrame, other: pd.DataFrame) -> Rounds | None:
    """Pairs of samples of one cell by their repeat, where the pairs follow one another in time.

    The window of a pair reaches from the start of its first sample to that of its second. Where windows of two pairs
    overlap, one of the samples was measured nearer to another round. With up to `MOST_APART` of the rounds left out
    none may overlap: of campaigns that were measured one after the other all do.

    Parameters
    ----------
    reference, other : pandas.DataFrame
        Valid samples of one cell, with ``repeat`` and ``start_s``.

    Returns
    -------
    Rounds or None
        None where they were not measured in rounds, or nothing is known of the time.

    Examples
    --------
    >>> one = pd.DataFrame({"repeat": [1, 2, 3], "start_s": [0.0, 100.0, 200.0]})
    >>> found = find_rounds(one, one.assign(start_s=one["start_s"] + 50))
    >>> found.reference, found.other, found.reference_first
    ((0, 1, 2), (0, 1, 2), 3)
    >>> find_rounds(one, one.assign(start_s=one["start_s"] + 1000)) is None
    True
    """
    both = (reference, other)
    places = [{int(repeat): place for place, repeat in enumerate(rows["repeat"])} for rows in both]
    starts = [
        {repeat: float(rows["start_s"].iloc[place]) for repeat, place in of_rows.items()}
        for rows, of_rows in zip(both, places, strict=True)
    ]
    common = sorted(
        repeat for repeat in starts[0].keys() & starts[1].keys() if not any(math.isnan(one[repeat]) for one in starts)
    )
    windows = {repeat: (min(one[repeat] for one in starts), max(one[repeat] for one in starts)) for repeat in common}
    kept = _apart(windows, math.ceil((1 - MOST_APART) * min(len(one) for one in starts)))
    if len(kept) < LEAST_ROUNDS:
        return None
    return Rounds(
        tuple(places[0][repeat] for repeat in kept),
        tuple(places[1][repeat] for repeat in kept),
        sum(starts[0][repeat] < starts[1][repeat] for repeat in kept),
    )


def _apart(windows: dict[int, tuple[float, float]], least: int) -> list[int]:
    """Of windows those that do not overlap, without the ones that overlap most; none where fewer would be left."""
    names = sorted(windows)
    starts, ends = (np.array([windows[name][side] for name in names]) for side in (0, 1))
    overlap = (starts[:, None] <= ends[None, :]) & (starts[None, :] <= ends[:, None])
    left = np.ones(len(names), dtype=bool)
    # of itself, too
    counts = overlap.sum(axis=1) - 1
    while left.sum() >= max(least, 1):
        if not counts[left].any():
            return [name for name, kept in zip(names, left, strict=True) if kept]
        worst = max(np.flatnonzero(left), key=lambda place: (counts[place], ends[place] - starts[place]))
        left[worst] = False
        counts -= overlap[worst]
    return []
