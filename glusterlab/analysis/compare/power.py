"""How many repeats a comparison needs to find an effect, by simulation of the rank test with a fixed seed."""

import math
from bisect import bisect_left

import numpy as np
from numpy.typing import NDArray

from glusterlab.analysis.compare.cells import LEAST_SAMPLES
from glusterlab.stats import ALPHA, POWER, Correction, Test, can_be_significant, least_p, null_distribution

_MOST = 60  # repeats beyond which nobody is advised to go
_RUNS = 4000


def needed_n(
    effect: float, scatter: float, *, paired: bool, cells: int = 1, correction: Correction = "holm"
) -> int | None:
    """Repeats of each release with which a comparison finds an effect four times in five; None beyond 60.

    `effect` is 0.18 where a release is 18 % faster; `scatter` is the standard deviation of a repeat (within its round,
    where they are paired) as a share of the throughput, above 0. The level is that which the correction sets for the
    clearest of so many cells.

    >>> needed_n(0.18, 0.02, paired=False), needed_n(0.18, 0.02, paired=True)
    (5, 6)
    """
    test: Test = "signed-rank" if paired else "rank-sum"

    def enough(n: int) -> bool:
        if not all(can_be_significant([least_p(test, n)] * cells, correction)):
            return False
        return _power(effect, scatter, n, paired, ALPHA / cells) >= POWER

    counts = range(LEAST_SAMPLES, _MOST + 1)
    found = bisect_left(counts, True, key=enough)
    return counts[found] if found < len(counts) else None


def _power(effect: float, scatter: float, n: int, paired: bool, alpha: float) -> float:
    """Power of the rank test, whose two-sided p is to be below alpha."""
    reference, other = scatter * np.random.default_rng(n).standard_normal((2, _RUNS, n))
    found, null = rank_statistic(reference, other + math.log1p(effect), paired)
    return float((len(null) - 1 - found < (2 * null < alpha).sum()).mean())


def rank_statistic(
    reference: NDArray[np.float64], other: NDArray[np.float64], paired: bool
) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """W+ or U of logarithms without ties, shape (runs, n), row by row, and its distribution function."""
    n = reference.shape[1]
    if paired:
        difference = other - reference
        ranks = np.argsort(np.argsort(np.abs(difference), axis=1), axis=1) + 1
        return (ranks * (difference > 0)).sum(axis=1), null_distribution("signed-rank", n, 0)
    ranks = np.argsort(np.argsort(np.concatenate([reference, other], axis=1), axis=1), axis=1) + 1
    return ranks[:, n:].sum(axis=1) - n * (n + 1) // 2, null_distribution("rank-sum", n, n)
