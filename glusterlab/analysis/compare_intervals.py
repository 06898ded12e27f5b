"""Intervals of a ratio of two medians by the bootstrap, for the few repeats of a benchmark.

Which bootstrap? `glusterlab.analysis.compare_calibration` has simulated what each covers where 95 % are stated, with 5
to 10 samples a side, of logarithms that scatter normally, with a slow tail, with outliers, and unlike in both groups:

- **Two groups measured apart**: the percentile bootstrap of the difference of the logarithms' medians covers a little
  more than 95 % (up to 97 % at n = 10), the basic one far less (85 to 90 %), the studentised one, with the error of
  McKean and Schrader, too little at n = 10 (91 to 92 %). With Efron's correction of the bias (BC) it is 93 to 96 %;
  that is used.
- **Ratios within rounds**: of one median the percentile and BC bootstraps cover too little at n = 8 (91 to 93 %). The
  smoothed bootstrap, which draws from a kernel estimate of the density, covers 94 to 96 %; that is used.

Neither draws random numbers: how often each value is the median of a resample is known, so that the percentiles of all
resamples are computed, and the same samples give the same interval to the last digit on every machine.

Below `LEAST_SAMPLES` no bootstrap covers what it states, and there is no interval.

Sources: Efron and Tibshirani, An Introduction to the Bootstrap (1993), chapters 13, 14 and 16.5; Maritz and Jarrett,
Journal of the American Statistical Association 73 (1978) 194, on the distribution of a resample's median; Silverman,
Density Estimation (1986), section 3.4.2, on the kernel's width; McKean and Schrader, Communications in Statistics B 13
(1984) 751.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any

import numpy as np
from scipy import special

from glusterlab.analysis.intervals import INSUFFICIENT, LEVEL, Estimate

Rows = np.ndarray[tuple[int, int], np.dtype[np.float64]]

LEAST_SAMPLES = 5
"""Fewest samples of a side, or fewest rounds, for which a bootstrap interval is stated."""

UNPAIRED = "ratio of medians, BC bootstrap"
PAIRED = "median ratio of rounds, smoothed bootstrap"

_NEGLIGIBLE = 1e-7
"""Share of all resamples below which a value is left out."""
_MANY = 200
"""Samples from which on the two middle ones are as good as one between them."""
_NODES = 96
_HALVINGS = 38
_KERNELS = 9.0
"""Widths of the kernel beyond the outermost samples where nothing is left."""


@lru_cache(maxsize=64)
def median_shares(n: int) -> tuple[Any, Any, Any]:
    """How often a resample of n values has each median.

    Returns
    -------
    first, second : numpy.ndarray of int
        The median is the mean of these two order statistics, counted from 0.
    shares : numpy.ndarray of float
        Of all resamples; they add up to 1.

    Examples
    --------
    >>> first, second, shares = median_shares(3)
    >>> first.tolist(), [round(float(share), 4) for share in shares]
    ([0, 1, 2], [0.2593, 0.4815, 0.2593])
    """
    ends = np.arange(n + 1) / n
    if n % 2 or n > _MANY:
        half = (n + 1) / 2
        shares = np.diff(special.betainc(half, half, ends))
        first = second = np.arange(n)
    else:
        k = n // 2
        # k values at or below the one, of which one is there, and k at or above the other
        below = ends[1:] ** k - ends[:-1] ** k
        above = (1 - ends[:-1]) ** k - (1 - ends[1:]) ** k
        both = np.triu(np.outer(below, above), 1) * math.comb(n, k)
        both[np.diag_indices(n)] = np.diff(special.betainc(k, k + 1, ends)) - both.sum(axis=1)
        first, second = np.triu_indices(n)
        shares = both[first, second]
    kept = shares > _NEGLIGIBLE
    return first[kept], second[kept], shares[kept] / shares[kept].sum()


def _medians(values: Rows) -> tuple[Rows, Any]:
    ordered = np.sort(values, axis=1)
    first, second, shares = median_shares(values.shape[1])
    return (ordered[:, first] + ordered[:, second]) / 2, shares


def median_difference_ends(reference: Rows, other: Rows, level: float = LEVEL) -> Rows:
    """Ends of the BC bootstrap interval of the other group's median less the reference's, row by row.

    Parameters
    ----------
    reference, other : numpy.ndarray, shapes (rows, n) and (rows, m)
        Logarithms, where a ratio is meant.
    level : float

    Returns
    -------
    numpy.ndarray, shape (rows, 2)
    """
    (below, shares_below), (above, shares_above) = _medians(reference), _medians(other)
    found = (above[:, :, None] - below[:, None, :]).reshape(len(reference), -1)
    shares = np.outer(shares_above, shares_below).ravel()
    centre = (np.median(other, axis=1) - np.median(reference, axis=1))[:, None]
    noise = 1e-12 * (1 + np.abs(centre))
    under = ((found < centre - noise) * shares).sum(axis=1) + ((found <= centre + noise) * shares).sum(axis=1)
    bias = special.ndtri(np.clip(under / 2, 1e-9, 1 - 1e-9))
    order = np.argsort(found, axis=1, kind="stable")
    found = np.take_along_axis(found, order, axis=1)
    summed = np.cumsum(shares[order], axis=1)
    ends = []
    for tail in ((1 - level) / 2, (1 + level) / 2):
        wanted = special.ndtr(2 * bias + special.ndtri(tail))[:, None]
        place = np.minimum((summed < wanted - 1e-12).sum(axis=1), found.shape[1] - 1)
        ends.append(np.take_along_axis(found, place[:, None], axis=1)[:, 0])
    return np.stack(ends, axis=1)


def _widths(values: Rows) -> Any:
    """Silverman's width of the kernel for each row; 0 only where all of its values are one."""
    spread = values.std(axis=1, ddof=1)
    quarters = np.subtract(*np.percentile(values, [75, 25], axis=1)) / 1.34
    least = np.where(quarters > 0, np.minimum(spread, quarters), spread)
    return 0.9 * least * values.shape[1] ** -0.2


def _solve(rising: Callable[[Any], Any], wanted: Any, low: Any, high: Any) -> Any:
    """Where rising functions, one per row, have the wanted values: by halving, which cannot fail."""
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        under = rising(middle) < wanted
        low, high = np.where(under, middle, low), np.where(under, high, middle)
    return (low + high) / 2


def median_ends(values: Rows, level: float = LEVEL) -> Rows:
    """Ends of the smoothed bootstrap's percentile interval of a median, row by row.

    A resample is n independent values from the kernel estimate of the density. Of an odd number the middle one has a
    beta distribution on the estimate's quantiles; of an even number the mean of the two middle ones is integrated.

    Parameters
    ----------
    values : numpy.ndarray, shape (rows, n)
        Logarithms of ratios, where ratios are meant.
    level : float

    Returns
    -------
    numpy.ndarray, shape (rows, 2)
    """
    n, widths = values.shape[1], _widths(values)
    flat = widths <= 1e-12 * (1 + np.abs(values).max(axis=1))
    kernel = np.where(flat, 1.0, widths)[:, None]
    low = values.min(axis=1, keepdims=True) - _KERNELS * kernel
    high = values.max(axis=1, keepdims=True) + _KERNELS * kernel

    def below(points: Any) -> Any:
        return special.ndtr((points[:, :, None] - values[:, None, :]) / kernel[:, :, None]).mean(axis=2)

    rising: Callable[[Any], Any] = below
    if n % 2 or n > _MANY:
        half = (n + 1) / 2
        tails = [float(special.betaincinv(half, half, tail)) for tail in ((1 - level) / 2, (1 + level) / 2)]
    else:
        rising = _mean_of_middle(n, below, low, high)
        tails = [(1 - level) / 2, (1 + level) / 2]
    ends = np.concatenate([_solve(rising, tail, low, high) for tail in tails], axis=1)
    return np.where(flat[:, None], np.median(values, axis=1)[:, None], ends)


def _mean_of_middle(n: int, below: Callable[[Any], Any], low: Any, high: Any) -> Callable[[Any], Any]:
    """Distribution function of the mean of the two middle ones of an even number n of values.

    Integrated over the lower one, at the quantiles that matter: given that, the upper one is the least of n / 2 values
    beyond it.
    """
    k = n // 2
    from_, to = (float(special.betaincinv(k, k + 1, tail)) for tail in (1e-10, 1 - 1e-10))
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    shares = (from_ + (to - from_) * (nodes + 1) / 2)[None, :]
    weights = weights * (to - from_) / 2
    constant = math.exp(math.lgamma(n + 1) - math.lgamma(k) - math.lgamma(k + 1))
    lower = _solve(below, shares, low, high)

    def rising(points: Any) -> Any:
        beyond = 1 - below(np.maximum(2 * points - lower, lower))
        inner = shares ** (k - 1) * np.maximum((1 - shares) ** k - beyond**k, 0)
        return constant * (inner * weights).sum(axis=1, keepdims=True)

    return rising


def _logarithms(values: Iterable[float]) -> Any:
    data = np.asarray(list(values), dtype=np.float64)
    data = data[np.isfinite(data)]
    return np.log(data) if (data > 0).all() else None


def _estimate(centre: float, ends: Rows, n: int, method: str) -> Estimate:
    low, high = (math.exp(float(end)) for end in ends[0])
    return Estimate(centre, low, high, n, method)


def median_ratio(reference: Iterable[float], other: Iterable[float], level: float = LEVEL) -> Estimate:
    """Ratio of the other group's median to the reference's, of groups that were measured apart.

    An interval that holds 1 does not show that the two are equal. One that leaves 1 out says that the difference is
    larger than the scatter within the groups: if one group was measured on another day, the day is in it.

    Parameters
    ----------
    reference, other : iterable of float
        One positive value per sample, shapes (n,) and (m,), in the same unit; NaN is left out.
    level : float
        Confidence level.

    Returns
    -------
    Estimate
        Its n is that of the smaller group; below `LEAST_SAMPLES` there is no interval.

    Examples
    --------
    >>> ratio = median_ratio([9.7, 9.9, 10.0, 10.2, 10.3], [19.0, 19.8, 20.0, 20.1, 21.0])
    >>> round(ratio.centre, 2), round(ratio.low, 2), round(ratio.high, 2), ratio.n
    (2.0, 1.9, 2.12, 5)
    """
    below, above = _logarithms(reference), _logarithms(other)
    if below is None or above is None or not below.size or not above.size:
        return Estimate(math.nan, math.nan, math.nan, 0, INSUFFICIENT)
    n = min(below.size, above.size)
    centre = float(np.median(np.exp(above)) / np.median(np.exp(below)))
    if n < LEAST_SAMPLES:
        return Estimate(centre, math.nan, math.nan, n, INSUFFICIENT)
    return _estimate(centre, median_difference_ends(below[None, :], above[None, :], level), n, UNPAIRED)


def round_ratio(ratios: Iterable[float], level: float = LEVEL) -> Estimate:
    """Median of the ratios within rounds: what drifts from round to round, and hits both sides alike, is not in it.

    Parameters
    ----------
    ratios : iterable of float
        One positive ratio per round, shape (n,); NaN is left out.
    level : float
        Confidence level.

    Returns
    -------
    Estimate
        Below `LEAST_SAMPLES` rounds there is no interval.

    Examples
    --------
    >>> ratio = round_ratio([1.17, 1.18, 1.20, 1.16, 1.21])
    >>> round(ratio.centre, 2), round(ratio.low, 2), round(ratio.high, 2), ratio.n
    (1.18, 1.16, 1.21, 5)
    """
    logarithms = _logarithms(ratios)
    if logarithms is None or not logarithms.size:
        return Estimate(math.nan, math.nan, math.nan, 0, INSUFFICIENT)
    n, centre = logarithms.size, math.exp(float(np.median(logarithms)))
    if n < LEAST_SAMPLES:
        return Estimate(centre, math.nan, math.nan, n, INSUFFICIENT)
    return _estimate(centre, median_ends(logarithms[None, :], level), n, PAIRED)
