"""What a comparison of releases can and cannot tell, by simulation with a known truth.

The intervals, the tests and the rule are those that `glusterlab.analysis.compare` uses. Logarithms of throughputs are
drawn; what an interval covers does not hang on how widely they scatter, only on the form of the scatter, so that one
number stands for all scatters. Power does hang on it.

A campaign that was measured on another day than the other is no case of these: the day is in its ratio, and no
statistic can take it out again. `false_findings` with ``shift`` shows how soon it is taken for the release.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

import numpy as np
from scipy import special

from glusterlab.analysis.compare_intervals import LEAST_SAMPLES, median_difference_ends, median_ends
from glusterlab.analysis.compare_tests import (
    ALPHA,
    Correction,
    Test,
    can_be_significant,
    corrected,
    least_p,
    rank_sum_p,
    signed_rank_p,
    sums_of_choices,
    sums_of_signs,
)
from glusterlab.analysis.intervals import LEVEL

Kind = Literal["normal", "slow tail", "outliers", "unlike", "drift"]

KINDS: Mapping[Kind, str] = {
    "normal": "scatters normally, 10 %",
    "slow tail": "skewed: the slower a repeat, the longer the tail (lognormal, shape 0.75)",
    "outliers": "one repeat in ten is up to six times the scatter slower",
    "unlike": "one release scatters three times as much as the other",
    "drift": "both drift by up to four times the scatter over the rounds, and wander",
}
"""How samples scatter, in words."""

_CHUNK = 400
_ENOUGH = 0.8
"""The power that is asked for when nothing else is said."""
_MOST = 60
"""Repeats beyond which nobody is told to go."""
_RUNS = 4000


@dataclass(frozen=True, slots=True)
class Design:
    """How a comparison was measured.

    Attributes
    ----------
    n : int
        Repeats of each release.
    paired : bool
        In interleaved rounds, or each release for itself.
    cells : int
        That are compared at once.
    correction : {"holm", "fdr"}
    """

    n: int
    paired: bool
    cells: int = 1
    correction: Correction = "holm"

    @property
    def test(self) -> Test:
        """The rank test that it gets."""
        return "signed-rank" if self.paired else "rank-sum"


def draw(kind: Kind, runs: int, n: int, generator: np.random.Generator) -> tuple[Any, Any]:
    """Logarithms of both releases' throughputs in rounds, whose medians are the same: the true ratio is 1.

    Parameters
    ----------
    kind : str
        One of `KINDS`.
    runs, n : int
    generator : numpy.random.Generator

    Returns
    -------
    reference, other : numpy.ndarray, shapes (runs, n)
    """
    shape = (2, runs, n)
    values = generator.standard_normal(shape)
    if kind == "normal":
        values = 10 * np.log(np.maximum(1 + 0.1 * values, 0.01))
    elif kind == "slow tail":
        values = 1 - np.exp(0.75 * values)
    elif kind == "outliers":
        slow = np.where(generator.random(shape) < 0.1, 6 * generator.random(shape), 0.0)
        values = values - slow - _median_of_outliers()
    elif kind == "unlike":
        values[0] /= 3
    else:
        trend = generator.uniform(-4, 4, (runs, 1)) * np.linspace(0, 1, n)
        values = values + trend + np.cumsum(0.5 * generator.standard_normal((runs, n)), axis=1)
    return values[0], values[1]


@lru_cache(maxsize=1)
def _median_of_outliers() -> float:
    """Where the distribution function of normal values, one in ten of them made smaller by up to 6, is one half."""
    slow = (np.arange(6000) + 0.5) / 1000
    low, high = -1.0, 0.0
    for _ in range(50):
        middle = (low + high) / 2
        under = 0.9 * special.ndtr(middle) + 0.1 * special.ndtr(middle + slow).mean()
        low, high = (middle, high) if under < 0.5 else (low, middle)
    return low


def ends(reference: Any, other: Any, paired: bool, level: float = LEVEL) -> Any:
    """Ends of the interval that `compare` would state, row by row, shape (runs, 2)."""
    found = [
        median_ends((other - reference)[start : start + _CHUNK], level)
        if paired
        else median_difference_ends(reference[start : start + _CHUNK], other[start : start + _CHUNK], level)
        for start in range(0, len(reference), _CHUNK)
    ]
    return np.concatenate(found)


def p_values(reference: Any, other: Any, paired: bool) -> Any:
    """The p of the rank test that `compare` would make, row by row, shape (runs,)."""
    if paired:
        return np.array([signed_rank_p(row) for row in other - reference])
    return np.array([rank_sum_p(*rows) for rows in zip(reference, other, strict=True)])


def coverage(kind: Kind, n: int, paired: bool, *, runs: int, seed: int, level: float = LEVEL) -> float:
    """Share of intervals that hold the true ratio.

    Parameters
    ----------
    kind : str
        One of `KINDS`.
    n : int
        Repeats of each release.
    paired : bool
        Measured in rounds.
    runs, seed : int
    level : float
        That the intervals state.
    """
    reference, other = draw(kind, runs, n, np.random.default_rng(seed))
    found = ends(reference, other, paired, level)
    return float(((found[:, 0] <= 0) & (found[:, 1] >= 0)).mean())


def false_findings(kind: Kind, design: Design, *, runs: int, seed: int, shift: float = 0.0) -> float:
    """Share of comparisons of a release with itself in which some cell is called faster or slower.

    Parameters
    ----------
    kind : str
        One of `KINDS`.
    design : Design
    runs, seed : int
    shift : float
        By how many times the scatter the second campaign's day was faster, which is no finding about the release.
    """
    reference, other = draw(kind, runs * design.cells, design.n, np.random.default_rng(seed))
    p = p_values(reference, other + shift, design.paired)
    beyond = np.zeros(p.size, dtype=bool)
    # an interval is asked for only where the test may lead to a verdict
    asked = p < ALPHA
    if asked.any():
        found = ends(reference[asked], other[asked] + shift, design.paired)
        beyond[asked] = (found[:, 0] > 0) | (found[:, 1] < 0)
    if not can_be_significant([least_p(design.test, design.n)] * design.cells, design.correction)[0]:
        return 0.0
    families = zip(p.reshape(runs, -1), beyond.reshape(runs, -1), strict=True)
    return float(
        np.mean([((np.array(corrected(list(each), design.correction)) < ALPHA) & out).any() for each, out in families])
    )


def power(effect: float, scatter: float, design: Design, *, runs: int, seed: int) -> float:
    """Share of comparisons that find a release faster which is.

    The other cells show nothing, so that the correction is as hard as it can be.

    Parameters
    ----------
    effect : float
        0.18 where it is 18 % faster.
    scatter : float
        Standard deviation of a repeat within its round, as a share of the throughput.
    design : Design
    runs, seed : int
    """
    if not can_be_significant([least_p(design.test, design.n)] * design.cells, design.correction)[0]:
        return 0.0
    reference, other = scatter * np.random.default_rng(seed).standard_normal((2, runs, design.n))
    other += math.log1p(effect)
    asked = (p_values(reference, other, design.paired) < ALPHA / design.cells) & (
        np.median(other, axis=1) > np.median(reference, axis=1)
    )
    if not asked.any():
        return 0.0
    found = ends(reference[asked], other[asked], design.paired)
    return float((found[:, 0] > 0).sum() / runs)


def needed_n(
    effect: float, scatter: float, *, paired: bool, cells: int = 1, correction: Correction = "holm"
) -> int | None:
    """Repeats of each release with which a comparison finds an effect four times in five.

    By simulation of the rank test with a fixed seed, at the level that the correction asks of the clearest of so many
    cells. The verdict also asks for an interval beyond 1; with several cells that costs a percentage point of power.

    Parameters
    ----------
    effect : float
        0.18 where a release is 18 % faster.
    scatter : float
        Standard deviation of a repeat within its round, as a share of the throughput; above 0.
    paired : bool
        Measured in rounds.
    cells : int
        That are compared at once.
    correction : {"holm", "fdr"}

    Returns
    -------
    int or None
        None where it is more than 60.

    Examples
    --------
    >>> needed_n(0.18, 0.02, paired=False), needed_n(0.18, 0.02, paired=True)
    (5, 6)
    """
    for n in range(LEAST_SAMPLES, _MOST + 1):
        design = Design(n, paired, cells, correction)
        if can_be_significant([least_p(design.test, n)] * cells, correction)[0]:
            break
    else:
        return None
    if _rank_power(effect, scatter, design) >= _ENOUGH:
        return n
    low, high = n, _MOST
    if _rank_power(effect, scatter, Design(high, paired, cells)) < _ENOUGH:
        return None
    while high - low > 1:
        middle = (low + high) // 2
        enough = _rank_power(effect, scatter, Design(middle, paired, cells)) >= _ENOUGH
        low, high = (low, middle) if enough else (middle, high)
    return high


def _rank_power(effect: float, scatter: float, design: Design) -> float:
    """Power of the rank test alone, at the level of the clearest of the cells."""
    n = design.n
    reference, other = scatter * np.random.default_rng(n).standard_normal((2, _RUNS, n))
    other += math.log1p(effect)
    if design.paired:
        difference = other - reference
        ranks = np.argsort(np.argsort(np.abs(difference), axis=1), axis=1) + 1
        found, highest = (ranks * (difference > 0)).sum(axis=1), n * (n + 1) // 2
    else:
        ranks = np.argsort(np.argsort(np.concatenate([reference, other], axis=1), axis=1), axis=1) + 1
        found, highest = ranks[:, n:].sum(axis=1) - n * (n + 1) // 2, n * n
    return float((highest - found <= _critical(n, design.paired, ALPHA / design.cells)).mean())


@lru_cache(maxsize=256)
def _critical(n: int, paired: bool, alpha: float) -> int:
    """How far below its largest value the sum may be, so that the two-sided p is below alpha; -1 where it never is."""
    if paired:
        shares = sums_of_signs(tuple(range(1, n + 1)))
    else:
        shares = sums_of_choices(tuple(range(1, 2 * n + 1)), n)[n * (n + 1) // 2 :]
    return int((2 * np.cumsum(shares) < alpha).sum()) - 1
