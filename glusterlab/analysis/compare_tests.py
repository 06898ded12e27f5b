"""Rank tests with their exact null, the correction for many cells, and the least n that a test needs.

Both tests take ties as they are: the null is that of the ranks which were found, every assignment to the two sides, or
every choice of signs, being as likely as any other. With the few repeats of a benchmark the exact null is coarse: three
against three can never be significant, and five rounds cannot either. `least_n` says what a comparison needs before
anything could be shown, and cells that have less are left out of the correction (they cannot be rejected, so that the
others need not pay for them; which they are follows from n alone).

Sources: Mann and Whitney, Annals of Mathematical Statistics 18 (1947) 50; Wilcoxon, Biometrics Bulletin 1 (1945) 80;
Pratt, Journal of the American Statistical Association 54 (1959) 655, on differences of 0; Holm, Scandinavian Journal of
Statistics 6 (1979) 65; Benjamini and Hochberg, Journal of the Royal Statistical Society B 57 (1995) 289; Tarone,
Biometrics 46 (1990) 515, on tests that cannot be significant.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Literal

import numpy as np
from scipy import special

Floats = np.ndarray[tuple[int], np.dtype[np.float64]]
Ints = np.ndarray[tuple[int], np.dtype[np.int64]]

ALPHA = 0.05
"""A corrected p below it is significant."""

Correction = Literal["holm", "fdr"]
"""Holm's bounds the chance of any false finding, Benjamini and Hochberg's the share of them among the findings."""

Test = Literal["rank-sum", "signed-rank"]
"""Of two groups that were measured apart, or of the ratios within rounds."""

MOST_EXACT = 120
"""Samples of a test up to which the null is counted; beyond, the normal distribution is as good."""

_FAR = 200
"""Repeats beyond which nobody is told to go."""


def _doubled_ranks(values: Floats) -> Ints:
    """Twice the ranks, counted from 1; what is tied shares the mean, which is a whole number so."""
    _, places, counts = np.unique(values, return_inverse=True, return_counts=True)
    before = np.concatenate([[0], np.cumsum(counts)[:-1]])
    doubled: Ints = (2 * before + counts + 1)[places].astype(np.int64)
    return doubled


@lru_cache(maxsize=256)
def sums_of_choices(ranks: tuple[int, ...], size: int) -> Floats:
    """Of all choices of so many ranks the share that has each sum."""
    top = sum(sorted(ranks)[len(ranks) - size :])
    ways = np.zeros((size + 1, top + 1))
    ways[0, 0] = 1.0
    for rank in ranks:
        ways[1:, rank:] += ways[:-1, : top + 1 - rank].copy()
    shares: Floats = ways[size] / ways[size].sum()
    return shares


@lru_cache(maxsize=256)
def sums_of_signs(ranks: tuple[int, ...]) -> Floats:
    """Of all choices of signs the share that has each sum of the positive ranks."""
    shares = np.zeros(sum(ranks) + 1)
    shares[0] = 1.0
    for rank in ranks:
        moved = np.zeros_like(shares)
        moved[rank:] = shares[: shares.size - rank]
        shares = (shares + moved) / 2
    return shares


def _two_sided(shares: Floats, found: int) -> float:
    return min(1.0, 2 * min(float(shares[: found + 1].sum()), float(shares[found:].sum())))


def _normal(distance: float, variance: float, step: float) -> float:
    """Two-sided p of a sum so far from its mean, less half a step of the sum."""
    if variance <= 0:
        return 1.0
    return min(1.0, 2 * float(special.ndtr(-max(0.0, abs(distance) - step) / math.sqrt(variance))))


def rank_sum_p(reference: Iterable[float], other: Iterable[float]) -> float:
    """Two-sided p of the rank test of Mann, Whitney and Wilcoxon for two groups.

    A small p says that values of one group tend to be larger than those of the other; of groups whose distributions
    have one shape, that their medians differ. It does not say by how much, nor why.

    Parameters
    ----------
    reference, other : iterable of float
        Shapes (n,) and (m,), in one unit.

    Returns
    -------
    float
        1 where a group is empty.

    Examples
    --------
    >>> rank_sum_p([1.0, 2.0, 3.0], [4.0, 5.0, 6.0])
    0.1
    >>> rank_sum_p([1.0, 1.0], [1.0, 1.0])
    1.0
    """
    groups = sorted([np.asarray(list(group), dtype=np.float64) for group in (reference, other)], key=lambda g: g.size)
    n, m = (group.size for group in groups)
    if n == 0:
        return 1.0
    ranks = _doubled_ranks(np.concatenate(groups))
    found = int(ranks[:n].sum())
    if n + m <= MOST_EXACT:
        return _two_sided(sums_of_choices(tuple(sorted(ranks.tolist())), n), found)
    spread = n * m / (n + m) * float(ranks.astype(np.float64).var(ddof=1))
    return _normal(found - n * float(ranks.mean()), spread, 1.0)


def signed_rank_p(differences: Iterable[float]) -> float:
    """Two-sided p of Wilcoxon's signed-rank test, with Pratt's way of ranking differences of 0.

    A small p says that the differences are not symmetric about 0. Of the differences of two groups whose distributions
    have one shape, that the groups differ.

    Parameters
    ----------
    differences : iterable of float
        One per round, shape (n,); of logarithms, where ratios are meant.

    Returns
    -------
    float
        1 where there is none, or all are 0.

    Examples
    --------
    >>> signed_rank_p([0.1, 0.2, 0.3, 0.4, 0.5, 0.6])
    0.03125
    >>> signed_rank_p([0.0, 0.0])
    1.0
    """
    values = np.asarray(list(differences), dtype=np.float64)
    if values.size == 0:
        return 1.0
    ranks, moved = _doubled_ranks(np.abs(values)), values != 0
    found = int(ranks[values > 0].sum())
    counted = ranks[moved]
    if counted.size <= MOST_EXACT:
        return _two_sided(sums_of_signs(tuple(sorted(counted.tolist()))), found)
    return _normal(found - float(counted.sum()) / 2, float((counted.astype(np.float64) ** 2).sum()) / 4, 1.0)


def least_p(test: Test, n: int, m: int | None = None) -> float:
    """The smallest p that a test can have with so many samples, none of them tied.

    Parameters
    ----------
    test : {"rank-sum", "signed-rank"}
    n, m : int
        Samples of both sides; rounds, where there is one number.

    Examples
    --------
    >>> round(least_p("rank-sum", 5), 4), least_p("signed-rank", 5), least_p("rank-sum", 3, 4)
    (0.0079, 0.0625, 0.05714285714285714)
    """
    if test == "signed-rank":
        return min(1.0, 2.0 ** (1 - n))
    return min(1.0, 2 / math.comb(n + (n if m is None else m), n))


def corrected(p: Sequence[float], correction: Correction) -> list[float]:
    """The p values of many cells, corrected so that they may be held against `ALPHA` one by one.

    Parameters
    ----------
    p : sequence of float
        Of all tests that were made together.
    correction : {"holm", "fdr"}

    Examples
    --------
    >>> [round(each, 3) for each in corrected([0.01, 0.04, 0.03], "holm")]
    [0.03, 0.06, 0.06]
    >>> [round(each, 3) for each in corrected([0.01, 0.04, 0.03], "fdr")]
    [0.03, 0.04, 0.04]
    """
    count = len(p)
    order = np.argsort(np.asarray(p, dtype=np.float64), kind="stable")
    found = np.asarray(p, dtype=np.float64)[order]
    if correction == "holm":
        found = np.maximum.accumulate(found * np.arange(count, 0, -1))
    else:
        found = np.minimum.accumulate((found * count / np.arange(1, count + 1))[::-1])[::-1]
    back = np.empty(count)
    back[order] = np.minimum(found, 1.0)
    return [float(each) for each in back]


def can_be_significant(least: Sequence[float], correction: Correction, alpha: float = ALPHA) -> list[bool]:
    """Which of many tests could be significant after the correction, whatever their samples say.

    Those that could not even if all came out as clearly as they can are left out, and need not be corrected for.

    Parameters
    ----------
    least : sequence of float
        The smallest p that each test can have.
    correction : {"holm", "fdr"}
    alpha : float

    Examples
    --------
    >>> can_be_significant([2 / 252] * 6, "holm"), can_be_significant([2 / 252] * 7, "holm")
    ([True, True, True, True, True, True], [False, False, False, False, False, False, False])
    >>> can_be_significant([0.0001, 0.1], "holm")
    [True, False]
    """
    for limit in sorted(set(least), reverse=True):
        if max(corrected([p for p in least if p <= limit], correction)) < alpha:
            return [p <= limit for p in least]
    return [False] * len(least)


def least_n(short: Sequence[Test], enough: Sequence[float], correction: Correction) -> int | None:
    """Samples that cells need on each side, so that each of them could be significant.

    Parameters
    ----------
    short : sequence of str
        The tests of the cells that have too few; each of them is to get so many.
    enough : sequence of float
        The smallest p that the tests of the other cells can have.
    correction : {"holm", "fdr"}

    Returns
    -------
    int or None
        None where there is no such cell, or nobody would measure so many.

    Examples
    --------
    >>> least_n(["rank-sum"], [], "holm"), least_n(["signed-rank"], [], "holm")
    (4, 6)
    >>> least_n(["signed-rank"] * 8, [], "holm"), least_n(["signed-rank"] * 8, [], "fdr")
    (9, 6)
    """
    for n in range(2, _FAR if short else 0):
        least = [least_p(test, n) for test in short]
        if all(can_be_significant([*least, *enough], correction)[: len(short)]):
            return n
    return None
