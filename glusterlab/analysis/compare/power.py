"""How many repeats a comparison needs to find an effect, by simulation of the rank test with a fixed seed.

What intervals cover, and how often a release differs from itself, is calibrated in the tests (``make calibrate``).
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from glusterlab.analysis.compare.cells import LEAST_SAMPLES
from glusterlab.stats import ALPHA, Correction, Test, can_be_significant, least_p, null_distribution

_ENOUGH = 0.8
"""The power that is wanted."""
_MOST = 60
"""Repeats beyond which nobody is advised to go."""
_RUNS = 4000


def needed_n(
    effect: float, scatter: float, *, paired: bool, cells: int = 1, correction: Correction = "holm"
) -> int | None:
    """Repeats of each release with which a comparison finds an effect four times in five; None beyond 60.

    `effect` is 0.18 where a release is 18 % faster; `scatter` is the standard deviation of a repeat (within its round,
    where they are paired) as a share of the throughput, above 0. The level is that which the correction sets for the
    clearest of so many cells. The verdict also needs an interval beyond 1; with several cells that costs a percentage
    point of power.

    >>> needed_n(0.18, 0.02, paired=False), needed_n(0.18, 0.02, paired=True)
    (5, 6)
    """
    test: Test = "signed-rank" if paired else "rank-sum"
    counts = range(LEAST_SAMPLES, _MOST + 1)
    low = next((n for n in counts if all(can_be_significant([least_p(test, n)] * cells, correction))), None)
    if low is None:
        return None
    if _power(effect, scatter, low, paired, cells) >= _ENOUGH:
        return low
    high = _MOST
    if _power(effect, scatter, high, paired, cells) < _ENOUGH:
        return None
    while high - low > 1:
        middle = (low + high) // 2
        enough = _power(effect, scatter, middle, paired, cells) >= _ENOUGH
        low, high = (low, middle) if enough else (middle, high)
    return high


def _power(effect: float, scatter: float, n: int, paired: bool, cells: int) -> float:
    """Power of the rank test, at the level of the clearest of the cells."""
    reference, other = scatter * np.random.default_rng(n).standard_normal((2, _RUNS, n))
    other += math.log1p(effect)
    if paired:
        difference = other - reference
        ranks = np.argsort(np.argsort(np.abs(difference), axis=1), axis=1) + 1
        found, highest = (ranks * (difference > 0)).sum(axis=1), n * (n + 1) // 2
    else:
        ranks = np.argsort(np.argsort(np.concatenate([reference, other], axis=1), axis=1), axis=1) + 1
        found, highest = ranks[:, n:].sum(axis=1) - n * (n + 1) // 2, n * n
    return float((highest - found <= _critical(n, paired, ALPHA / cells)).mean())


@lru_cache(maxsize=256)
def _critical(n: int, paired: bool, alpha: float) -> int:
    """How far below its largest value the statistic may be, so that the two-sided p is below alpha; -1 where never."""
    null = null_distribution("signed-rank", n, 0) if paired else null_distribution("rank-sum", n, n)
    return int((2 * null < alpha).sum()) - 1
