"""Intervals and rank tests for the few repeats that a benchmark can afford.

The figures show the **mean with Student's t interval**: it keeps its stated coverage at n = 3 when repeats scatter
symmetrically; a bootstrap of three samples covers far less than it states. The interval of a rank test is the set of
ratios that the test does not reject, so that interval and p never contradict each other. Coverage is that of a number
of repeats fixed beforehand; `glusterlab.run.measured` says what a stopping rule costs.

Sources: Jain, The Art of Computer Systems Performance Analysis (1991), section 13.2; Conover, Practical Nonparametric
Statistics, 3rd ed. (1999), section 3.2; Welch, Biometrika 34 (1947) 28; Satterthwaite, Biometrics Bulletin 2 (1946)
110; Engelman and Hartigan, Journal of the American Statistical Association 64 (1969) 1647, on one cluster against two;
Hodges and Lehmann, Annals of Mathematical Statistics 34 (1963) 598, with the interval of Bauer, Journal of the American
Statistical Association 67 (1972) 687, as R's ``wilcox.test`` has it; Pratt, ibid. 54 (1959) 655, on differences of 0;
Tarone, Biometrics 46 (1990) 515, on tests that cannot be significant.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy import special

MIN_SAMPLES = 3  # fewest samples for which an interval is stated

LEVEL = 0.95  # confidence level of every interval of the project's figures

ALPHA = 0.05  # a corrected p below it is significant

POWER = 0.8  # chance with which a number of repeats is to find what there is

INSUFFICIENT = "insufficient n"  # what `Estimate.method` says where no interval is stated

TWO_GROUPS = "two groups of samples"  # what `Estimate.method` says where no mean stands for the samples

NOT_NEGATIVE, SHARE = (0.0, math.inf), (0.0, 1.0)  # ranges of rates, times and counts, and of shares of a whole

LEAST_APART = 1.25  # factor between two groups: nearer ones do not mislead, no claim is told more finely

LEAST_SPLIT = 4  # fewest samples that can be seen to lie in two groups

_SPLIT_RATIOS = (154, 57.1, 31.3, 20.9, 15.9, 12.9, 10.9, 9.64, 8.59, 7.92, 7.3, 6.83, 6.44, 6.08, 5.81, 5.55, 5.34)
"""Of 4 to 20 samples the ratio that one group exceeds in 1 %: the largest of a million simulated log-normal cells, and
of normal ones with 15 and 30 % scatter, and 2 % more (tests hold it)."""

Correction = Literal["holm", "fdr"]  # bounds the chance of any false finding, or the share of them among the findings

Test = Literal["rank-sum", "signed-rank"]  # of two groups that were measured apart, or of the ratios within rounds

_PERMUTED_SUM, _PERMUTED_SIGNS = 20, 16  # all choices of tied values, of samples up to these

_MOST_REPEATS = 200  # repeats beyond which nobody would measure


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number with its interval; NaN where there is none. Of a ratio, `n` is the smaller of the two groups'."""

    centre: float
    low: float
    high: float
    n: int
    method: str
    groups: tuple[float, float] | None = None
    """Centres of the two groups in which the samples lie, if they do."""

    @property
    def has_interval(self) -> bool:
        """Whether the samples support an interval."""
        return not math.isnan(self.low)


def _finite(values: Iterable[float]) -> NDArray[np.float64]:
    data = np.asarray(list(values), dtype=np.float64)
    return data[np.isfinite(data)]


def _estimate(centre: float, ends: tuple[float, float] | None, n: int, method: str) -> Estimate:
    low, high = ends or (math.nan, math.nan)
    return Estimate(centre, low, high, n, method if ends else INSUFFICIENT)


def two_groups(values: Iterable[float]) -> tuple[float, float] | None:
    """Geometric means of the two groups in which 4 positive samples or more lie, the lower first; None of one group.

    The split of the sorted logarithms with the largest ratio of squares between to within, against what one group has
    (Engelman and Hartigan, made for small n, where the dip test has no power). One sample alone is an outlier.
    With 8 % scatter and halves a factor of 1.5, 2, 3.5 apart it finds 10, 34, 84 % of cells of 5, 14, 54, 98 % of 6,
    and 36, 96, 100 % of 10.

    >>> two_groups([0.418, 0.116, 0.435, 0.123, 0.120]), two_groups([0.9, 1.0, 1.1, 1.2, 1.3])
    ((0.1196..., 0.4264...), None)
    """
    data = np.sort(_finite(values))
    n = data.size
    if n < LEAST_SPLIT or data[0] <= 0:
        return None
    logs = np.log(data)
    below = np.arange(2, n - 1)
    centre = logs.mean()
    sums = np.cumsum(logs - centre)[below - 1]
    between = sums**2 * n / (below * (n - below))
    best = int(between.argmax())
    low, high = float(logs[: below[best]].mean()), float(logs[below[best] :].mean())
    within = float(((logs - centre) ** 2).sum() - between[best])
    if high - low < math.log(LEAST_APART) or between[best] <= _SPLIT_RATIOS[min(n, 20) - LEAST_SPLIT] * within:
        return None
    return math.exp(low), math.exp(high)


def mean_interval(
    values: Iterable[float], level: float = LEVEL, within: tuple[float, float] = (-math.inf, math.inf)
) -> Estimate:
    """Mean with Student's t interval, in the unit of the values; NaN is left out, and of two groups there is no mean.

    The interval ends where the quantity's range ends: that takes no true value out, so it covers as much as before.

    >>> estimate = mean_interval([9.0, 10.0, 11.0])
    >>> estimate.centre, round(estimate.low, 2), round(estimate.high, 2), estimate.n
    (10.0, 7.52, 12.48, 3)
    >>> mean_interval([9.0, 11.0]).method, mean_interval([10.0, 21.0, 10.2, 20.5, 10.1]).method
    ('insufficient n', 'two groups of samples')
    """
    data = _finite(values)
    n, centre = data.size, float(data.mean()) if data.size else math.nan
    if groups := two_groups(data):
        return Estimate(math.nan, math.nan, math.nan, n, TWO_GROUPS, groups)
    if n < MIN_SAMPLES:
        return _estimate(centre, None, n, "")
    half = float(special.stdtrit(n - 1, (1 + level) / 2) * data.std(ddof=1) / math.sqrt(n))
    # shares of rounded numbers can lie a hair outside of their range
    low, high = max(centre - half, min(within[0], data.min())), min(centre + half, max(within[1], data.max()))
    return _estimate(centre, (float(low), float(high)), n, "mean, t")


def median_interval(values: Iterable[float]) -> Estimate:
    """Median with the conservative interval between two order statistics: no assumption, and none below n = 6."""
    data = np.sort(_finite(values))
    n = data.size
    rank = int((special.bdtr(np.arange(n), n, 0.5) < (1 - LEVEL) / 2).sum())
    ends = (float(data[rank - 1]), float(data[n - rank])) if n >= MIN_SAMPLES and rank else None
    return _estimate(float(np.median(data)) if n else math.nan, ends, n, "median, order statistics")


def contrast_interval(
    above: Sequence[Iterable[float]], below: Sequence[Iterable[float]], level: float = LEVEL
) -> Estimate:
    """Product of groups of positive samples over that of others: Welch's t on logarithms; none with two groups."""
    groups = [_finite(group) for group in (*above, *below)]
    n = min((group.size for group in groups), default=0)
    if n == 0 or any((group <= 0).any() for group in groups):
        return _estimate(math.nan, None, n, "")
    if any(map(two_groups, groups)):
        return Estimate(math.nan, math.nan, math.nan, n, TWO_GROUPS)
    logs = [np.log(group) for group in groups]
    signs = [1] * len(above) + [-1] * len(below)
    centre = sum(sign * float(group.mean()) for sign, group in zip(signs, logs, strict=True))
    if n < MIN_SAMPLES:
        return _estimate(math.exp(centre), None, n, "")
    errors = [float(group.var(ddof=1)) / group.size for group in logs]
    total, half = sum(errors), 0.0
    if total:
        # Satterthwaite's, for any number of groups
        freedom = total**2 / sum(error**2 / (group.size - 1) for error, group in zip(errors, logs, strict=True))
        half = float(special.stdtrit(freedom, (1 + level) / 2)) * math.sqrt(total)
    return _estimate(math.exp(centre), (math.exp(centre - half), math.exp(centre + half)), n, "ratio, log t")


def ratio_interval(numerator: Iterable[float], denominator: Iterable[float], level: float = LEVEL) -> Estimate:
    """Ratio of two groups of positive samples in one unit, with Welch's t interval on the logarithms.

    The centre is the ratio of the geometric means.

    >>> ratio = ratio_interval([19.0, 20.0, 21.0], [9.5, 10.0, 10.5])
    >>> round(ratio.centre, 2), round(ratio.low, 2), round(ratio.high, 2)
    (2.0, 1.79, 2.24)
    """
    return contrast_interval([numerator], [denominator], level)


def pooled_ratio(ratios: Sequence[tuple[Sequence[float], Sequence[float]]]) -> Estimate:
    """One ratio from several of groups above to groups below: the fixed-effect mean of their logarithms.

    Weighted by the inverse of their variances, with a normal interval; ``n`` counts the ratios. It takes all to be of
    one truth, and is a little narrow where groups have three samples. Ratios without scatter or samples are left out.

    >>> one = pooled_ratio([([1.05, 1.0, 1.1], [1.0, 1.02, 0.98]), ([2.1, 2.0, 2.2], [2.0, 2.04, 1.96])])
    >>> round(one.centre, 2), round(one.low, 2), round(one.high, 2), one.n
    (1.05, 1.01, 1.09, 2)
    """
    logs = [[np.log(_finite(group)) for group in pair] for pair in ratios]
    logs = [pair for pair in logs if min(map(len, pair)) >= MIN_SAMPLES and any(group.std() for group in pair)]
    if not logs:
        return _estimate(math.nan, None, 0, "")
    weights = np.array([1 / sum(group.var(ddof=1) / len(group) for group in pair) for pair in logs])
    centre = float(np.average([above.mean() - below.mean() for above, below in logs], weights=weights))
    half = float(special.ndtri((1 + LEVEL) / 2) / math.sqrt(weights.sum()))
    ends = math.exp(centre - half), math.exp(centre + half)
    return _estimate(math.exp(centre), ends, len(logs), "pooled ratio, inverse variance")


def deciding_n(groups: Sequence[Iterable[float]], distance: float, level: float = LEVEL) -> int | None:
    """Samples per group with which the interval of `contrast_interval` ends within a distance; None beyond 200.

    About four times in five, if the scatter stays as it is: half width and the quantile of that power together are no
    more than the distance, which is of logarithms. Each group has two samples or more.

    >>> deciding_n([[9.2, 10.0, 10.9], [9.3, 10.1, 10.8]], math.log(1.1))
    13
    """
    variances = np.array([np.log(_finite(group)).var(ddof=1) for group in groups])
    if not variances.any():
        return MIN_SAMPLES
    counts = np.arange(MIN_SAMPLES, _MOST_REPEATS + 1)
    freedom = (counts - 1) * variances.sum() ** 2 / (variances**2).sum()
    reach = special.stdtrit(freedom, (1 + level) / 2) + special.stdtrit(freedom, POWER)
    enough = counts[reach * np.sqrt(variances.sum() / counts) <= distance]
    return int(enough[0]) if len(enough) else None


@lru_cache(maxsize=256)
def null_distribution(test: Test, n: int, m: int) -> NDArray[np.float64]:
    """Distribution function of a rank statistic without ties, from 0 up: W+ of n rounds, or U of n against m."""
    if test == "signed-rank":
        ways = np.ones(1)
        for rank in range(1, n + 1):
            ways = np.convolve(ways, np.bincount([0, rank]))
    else:
        # the Gaussian binomial coefficient: product of (1 - q^(m + i)) / (1 - q^i)
        ways = np.zeros(n * m + 1)
        ways[0] = 1
        for i in range(1, n + 1):
            ways[m + i :] -= ways[: len(ways) - m - i].copy()
            for at in range(i, len(ways)):
                ways[at] += ways[at - i]
    return np.asarray(np.cumsum(ways) / ways.sum())


def rank_test(
    reference: Iterable[float], other: Iterable[float], *, paired: bool, level: float = LEVEL
) -> tuple[Estimate, float]:
    """Ratio of the other group to the reference by Hodges and Lehmann with its interval, and the two-sided p of 1.

    Of groups that were measured in interleaved rounds (`paired`, of one length and order) by Wilcoxon's signed-rank
    test of the ratios, else by the rank-sum test of Mann and Whitney. Raises `ValueError` for values not above 0.

    >>> ratio, p = rank_test([9.7, 9.9, 10.0, 10.2, 10.3], [19.0, 19.8, 20.0, 20.1, 21.0], paired=False)
    >>> round(ratio.centre, 2), round(ratio.low, 2), round(ratio.high, 2), round(p, 4)
    (2.0, 1.9, 2.1, 0.0079)
    """
    a, b = np.asarray(list(reference), dtype=np.float64), np.asarray(list(other), dtype=np.float64)
    if (a <= 0).any() or (b <= 0).any():
        raise ValueError("expected values above 0: a ratio is taken of them")
    a, b = np.log(a), np.log(b)
    n, m = a.size, b.size
    if not n or not m:
        return _estimate(math.nan, None, 0, ""), 1.0
    if paired:
        i, j = np.triu_indices(n)
        shifts, null = np.sort(((b - a)[i] + (b - a)[j]) / 2), null_distribution("signed-rank", n, 0)
    else:
        shifts, null = np.sort((b[:, None] - a).ravel()), null_distribution("rank-sum", n, m)
    k = int((null <= (1 - level) / 2).sum())
    ends = (math.exp(shifts[k - 1]), math.exp(shifts[-k])) if k else None
    p = signed_rank_p(b - a) if paired else rank_sum_p(a, b)
    return _estimate(math.exp(float(np.median(shifts))), ends, min(n, m), "Hodges-Lehmann"), p


def rank_sum_p(reference: NDArray[np.float64], other: NDArray[np.float64]) -> float:
    """Two-sided p of the rank test of Mann and Whitney; exact, with ties as they are."""
    from scipy import stats

    pooled = np.concatenate([reference, other])
    tied = len(np.unique(pooled)) < pooled.size
    if tied and pooled.size <= _PERMUTED_SUM and min(reference.size, other.size) > 1:
        # the exact null knows no ties; all choices of the pooled values do
        return _exact_p(stats.rankdata(pooled), np.arange(pooled.size) < reference.size, as_many=True)
    return float(stats.mannwhitneyu(reference, other, method="asymptotic" if tied else "exact").pvalue)


def signed_rank_p(differences: NDArray[np.float64]) -> float:
    """Two-sided p of Wilcoxon's signed-rank test with Pratt's ranks of 0; exact where they are few, 1 of zeros."""
    from scipy import stats

    sizes = np.abs(differences)
    tied = len(np.unique(sizes)) < sizes.size or not sizes.all()
    if not sizes.any() or (tied and sizes.size <= _PERMUTED_SIGNS):
        return _exact_p(stats.rankdata(sizes) * (sizes > 0), differences > 0, as_many=False)
    return float(stats.wilcoxon(differences, zero_method="pratt", method="auto").pvalue)


def _exact_p(ranks: NDArray[np.float64], chosen: NDArray[np.bool_], *, as_many: bool) -> float:
    """Two-sided p of the sum of the chosen ranks, among all choices, or those of as many."""
    twice = np.rint(2 * ranks).astype(np.int64)  # whole numbers, of ties too
    ways = np.zeros((twice.size + 1, twice.sum() + 1))  # of each count and sum
    ways[0, 0] = 1
    for rank in twice:
        ways[1:, rank:] += ways[:-1, : ways.shape[1] - rank].copy()
    null, found = ways[chosen.sum()] if as_many else ways.sum(axis=0), twice[chosen].sum()
    return min(1.0, 2 * float(min(null[: found + 1].sum(), null[found:].sum()) / null.sum()))


def least_p(test: Test, n: int, m: int | None = None) -> float:
    """The smallest p that a test of n against m samples, or of n rounds, can have."""
    return min(1.0, 2 ** (1 - n) if test == "signed-rank" else 2 / math.comb(n + (n if m is None else m), n))


def corrected(p: Sequence[float], correction: Correction) -> list[float]:
    """Corrected p values of many tests by Holm, or by Benjamini and Hochberg, to be held against `ALPHA` one by one.

    >>> [round(each, 3) for each in corrected([0.01, 0.04, 0.03], "holm")]
    [0.03, 0.06, 0.06]
    """
    if correction == "fdr":
        from scipy import stats

        return [float(each) for each in stats.false_discovery_control(p)] if len(p) else []
    order = np.argsort(p, kind="stable")
    found = np.empty(len(order))
    steps = np.minimum(np.asarray(p, dtype=np.float64)[order] * np.arange(len(order), 0, -1), 1)
    found[order] = np.maximum.accumulate(steps)
    return [float(each) for each in found]


def can_be_significant(least: Sequence[float], correction: Correction) -> list[bool]:
    """Which of many tests could be significant after the correction, given the smallest p of each (Tarone)."""
    for limit in sorted(set(least), reverse=True):
        if max(corrected([p for p in least if p <= limit], correction)) < ALPHA:
            return [p <= limit for p in least]
    return [False] * len(least)


def least_n(short: Sequence[Test], enough: Sequence[float], correction: Correction) -> int | None:
    """Samples per side with which each of the tests that have too few could be significant; None beyond 200.

    `enough` has the smallest p of the others.

    >>> least_n(["rank-sum"], [], "holm"), least_n(["signed-rank"] * 8, [], "holm")
    (4, 9)
    """
    for n in range(2, _MOST_REPEATS if short else 0):
        if all(can_be_significant([*(least_p(test, n) for test in short), *enough], correction)[: len(short)]):
            return n
    return None
