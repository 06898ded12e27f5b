"""Estimates with their 95 % interval, for the few repeats that a benchmark can afford.

Which interval for n from 3 to 10? The figures show the **mean with Student's t interval**: it keeps its stated
coverage at n = 3 when the repeats of a cell scatter symmetrically, and is wide where it must be (t = 4.30 at n = 3).
The distribution-free interval of the median needs no such assumption but cannot reach 95 % with few samples: the
range of n samples covers the median with probability 1 - 2 / 2**n, which is 75 % at n = 3 and passes 95 % only at
n = 6. The bootstrap is no way out: with n = 3 it draws from 10 different resamples, and its percentile interval
covers far less than it states. So the median is reported beside the mean, and gets an interval from n = 6 on.

Below `MIN_SAMPLES` there is no interval at all: "insufficient n".

The coverage is that of a number of repeats fixed beforehand. Where a campaign ends a cell at a target the intervals
cover a little less; `glusterlab.stopping` says how much.

Sources: Student, Biometrika 6 (1908) 1; Conover, Practical Nonparametric Statistics, 3rd ed. (1999), section 3.2;
Hesterberg, The American Statistician 69 (2015) 371, section 4.1 on the bootstrap's narrowness at small n; Jain, The Art
of Computer Systems Performance Analysis (1991), section 13.2.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy import special

MIN_SAMPLES = 3
"""Fewest samples for which an interval is stated."""

LEVEL = 0.95
"""Confidence level of every interval of the project's figures."""

INSUFFICIENT = "insufficient n"
"""What `Estimate.method` says where no interval is stated."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number with its interval.

    Attributes
    ----------
    centre : float
        NaN when there are no samples.
    low, high : float
        Ends of the interval; NaN where `method` is ``"insufficient n"``.
    n : int
        Samples behind it; of a ratio, the smaller of the two.
    method : str
        How the interval was made.
    """

    centre: float
    low: float
    high: float
    n: int
    method: str

    @property
    def has_interval(self) -> bool:
        """Whether the samples support an interval."""
        return not math.isnan(self.low)


def _clean(values: Iterable[float]) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    data = np.asarray(list(values), dtype=np.float64)
    return data[np.isfinite(data)]


def mean_interval(values: Iterable[float], level: float = LEVEL) -> Estimate:
    """Mean with Student's t interval.

    A campaign places its files anew in each round, so the interval holds what placement does, too. Campaigns of before
    (raw/first-light) repeat each cell on one placement: there another one may shift a point by more than the interval
    says, most of all with few workers.

    Parameters
    ----------
    values : iterable of float
        One value per sample, shape (n,), in any one unit; NaN is left out.
    level : float
        Confidence level.

    Returns
    -------
    Estimate
        In the unit of `values`. The low end can be below 0 when the samples scatter widely: that says that the
        samples do not determine the mean, not that a rate can be negative.

    Examples
    --------
    >>> estimate = mean_interval([9.0, 10.0, 11.0])
    >>> estimate.centre, round(estimate.low, 2), round(estimate.high, 2), estimate.n
    (10.0, 7.52, 12.48, 3)
    >>> mean_interval([9.0, 11.0]).method
    'insufficient n'
    """
    data = _clean(values)
    n = data.size
    centre = float(data.mean()) if n else math.nan
    if n < MIN_SAMPLES:
        return Estimate(centre, math.nan, math.nan, n, INSUFFICIENT)
    half = float(special.stdtrit(n - 1, (1 + level) / 2) * data.std(ddof=1) / math.sqrt(n))
    return Estimate(centre, centre - half, centre + half, n, "mean, t")


def median_interval(values: Iterable[float], level: float = LEVEL) -> Estimate:
    """Median with the distribution-free interval between two order statistics.

    The interval runs from the k-th smallest to the k-th largest sample, with the largest k that still covers the
    median with probability `level`. It is conservative: its true coverage is at least `level`. Below n = 6 no k
    reaches 95 %, and no interval is stated.

    Parameters
    ----------
    values : iterable of float
        One value per sample, shape (n,); NaN is left out.
    level : float
        Confidence level.

    Examples
    --------
    >>> median_interval([1.0, 2.0, 3.0]).method
    'insufficient n'
    >>> estimate = median_interval([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    >>> estimate.centre, estimate.low, estimate.high
    (3.5, 1.0, 6.0)
    """
    data = np.sort(_clean(values))
    n = data.size
    centre = float(np.median(data)) if n else math.nan
    rank = _order(n, (1 - level) / 2)
    if n < MIN_SAMPLES or rank < 1:
        return Estimate(centre, math.nan, math.nan, n, INSUFFICIENT)
    return Estimate(centre, float(data[rank - 1]), float(data[n - rank]), n, "median, order statistics")


@lru_cache(maxsize=1024)
def _order(n: int, tail: float) -> int:
    """The quantile `tail` of the binomial distribution of n tosses of a coin; scipy.stats takes a second to import."""
    ways = 0
    for heads in range(n + 1):
        ways += math.comb(n, heads)
        if ways / 2**n >= tail:
            return heads
    return n


def contrast_interval(
    above: Sequence[Iterable[float]], below: Sequence[Iterable[float]], level: float = LEVEL
) -> Estimate:
    """Product of some groups of samples over the product of others, with Welch's t interval on the logarithms.

    The degrees of freedom are those of Welch and Satterthwaite (Satterthwaite, Biometrics Bulletin 2 (1946) 110), for
    any number of groups. With one group on either side it is `ratio_interval`.

    Parameters
    ----------
    above, below : sequence of iterable of float
        One positive value per sample; NaN is left out.
    level : float
        Confidence level.

    Returns
    -------
    Estimate
        Its n is that of the smallest group.

    Examples
    --------
    >>> ratio = contrast_interval([[19.0, 20.0, 21.0], [10.0, 10.0, 10.0]], [[9.5, 10.0, 10.5], [10.0, 10.0, 10.0]])
    >>> round(ratio.centre, 2), round(ratio.low, 2), round(ratio.high, 2)
    (2.0, 1.79, 2.24)
    """
    groups = [_clean(group) for group in (*above, *below)]
    n = min((group.size for group in groups), default=0)
    if n == 0 or any((group <= 0).any() for group in groups):
        return Estimate(math.nan, math.nan, math.nan, n, INSUFFICIENT)
    logs = [np.log(group) for group in groups]
    signs = [1] * len(above) + [-1] * len(below)
    centre = sum(sign * float(group.mean()) for sign, group in zip(signs, logs, strict=True))
    if n < MIN_SAMPLES:
        return Estimate(math.exp(centre), math.nan, math.nan, n, INSUFFICIENT)
    errors = [float(group.var(ddof=1)) / group.size for group in logs]
    total = sum(errors)
    if total == 0:
        return Estimate(math.exp(centre), math.exp(centre), math.exp(centre), n, "ratio, log t")
    freedom = total**2 / sum(error**2 / (group.size - 1) for error, group in zip(errors, logs, strict=True))
    half = float(special.stdtrit(freedom, (1 + level) / 2)) * math.sqrt(total)
    return Estimate(math.exp(centre), math.exp(centre - half), math.exp(centre + half), n, "ratio, log t")


def ratio_interval(numerator: Iterable[float], denominator: Iterable[float], level: float = LEVEL) -> Estimate:
    """Ratio of two groups of samples, with Welch's t interval on the logarithms.

    The scatter of a throughput grows with it, and a ratio must stay positive: both hold for logarithms. The centre is
    the ratio of the geometric means; for the few per cent of scatter of a repeated benchmark it differs from the
    ratio of the means by much less than the interval. The groups may scatter differently (Welch, Biometrika 34
    (1947) 28).

    An interval that holds 1 does not show that the two are equal, only that these samples cannot tell them apart. One
    that leaves 1 out says that the difference is larger than the scatter of the repeats, not that it has a given cause.

    Parameters
    ----------
    numerator, denominator : iterable of float
        One positive value per sample, shapes (n,) and (m,), in the same unit; NaN is left out.
    level : float
        Confidence level.

    Examples
    --------
    >>> ratio = ratio_interval([19.0, 20.0, 21.0], [9.5, 10.0, 10.5])
    >>> round(ratio.centre, 2), round(ratio.low, 2), round(ratio.high, 2)
    (2.0, 1.79, 2.24)
    """
    return contrast_interval([numerator], [denominator], level)
