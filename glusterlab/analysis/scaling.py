"""The Universal Scalability Law: throughput by workers as contention and coherency, with intervals, peak and knee.

With N workers X(N) = lambda N / (1 + sigma (N - 1) + kappa N (N - 1)). lambda is what one worker does alone; sigma, the
*contention*, the share of the work that is done in turn; kappa, the *coherency*, what each worker costs every other.
With kappa throughput peaks at N* = sqrt((1 - sigma) / kappa) (Gunther, Guerrilla Capacity Planning (2007), equation
4.33); its ceiling meets lambda N at the *knee*, X(N*) / lambda workers (Denning and Buzen, ACM Computing Surveys 10
(1978) 225).

A hard limit bends more sharply than the law can, and makes it fall where nothing falls: the fit is refused where a hard
limit describes the means clearly better. Peak and knee are stated only where the means fall.

Logarithms are fitted by least squares, every worker count with the same weight, with sigma and kappa at least 0.
Intervals are percentiles of a bootstrap of the means: normal errors of the spread that `spread_of` gives, drawn anew as
chi-squared with its degrees of freedom (Davison and Hinkley, Bootstrap Methods (1997), sections 2.2 and 7.3). By
simulation in the tests they cover 93 to 97 %, peak and knee 90 to 94 %. 2,000 fits at once take 5 ms.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from scipy import special

from glusterlab.analysis.efficiency import GROUP
from glusterlab.stats import INSUFFICIENT, LEVEL, MIN_SAMPLES, Estimate

if TYPE_CHECKING:
    from numpy.typing import NDArray

PARAMETERS = 3
"""Of the law."""


@dataclass(frozen=True, slots=True)
class Means:
    """Mean logarithms by worker count, ascending: `logs` and `sizes` (samples) have the shape of `counts`, (c,).

    `squares` is the sum over samples of the squared distance from the mean of their count.
    """

    counts: NDArray[np.float64]
    logs: NDArray[np.float64]
    sizes: NDArray[np.intp]
    squares: float


@dataclass(frozen=True, slots=True)
class Spread:
    """Standard deviation of a mean about its true value, as a logarithm, and the degrees of freedom behind it."""

    deviation: float
    freedom: int


def means_of(workers: NDArray[np.float64], throughput: NDArray[np.float64]) -> Means:
    """Means of samples, one pair each, shapes (n,); the throughput above 0."""
    counts, place, sizes = np.unique(workers, return_inverse=True, return_counts=True)
    values = np.log(throughput)
    logs = np.bincount(place, values, minlength=len(counts)) / np.maximum(sizes, 1)
    return Means(counts, logs, sizes, float(((values - logs[place]) ** 2).sum()))


def spread_of(means: Means, fitted: NDArray[np.float64]) -> Spread:
    """How far a mean lies from the truth, by its distance from the law and by the scatter of its samples.

    The two are pooled where they agree: where the means lie no further from the law than their samples' scatter
    explains. Otherwise only the distance counts, with its few degrees of freedom. Intervals of Student's t with that
    spread cover 93 to 97 % for five and six counts, whatever the samples of a cell share. To pool until a test at 5 %
    forbids it covers 84 to 88 % where what they share is as large as the scatter of one sample: that test has little
    power.

    >>> four = Means(np.array([1.0, 2, 4, 8]), np.array([0.0, 1, 2, 3]), np.array([3, 3, 3, 3]), 0.24)
    >>> spread_of(four, np.array([0.0, 1, 2, 3.5])).freedom
    1
    >>> spread_of(four, np.array([0.0, 1, 2, 3.05])).freedom
    9
    """
    free = len(means.counts) - PARAMETERS
    within = int(means.sizes.sum()) - len(means.counts)
    lack = float(((means.logs - fitted) ** 2).sum()) / free
    scatter = means.squares / within * float((1 / means.sizes).mean()) if within else 0.0
    if lack > scatter or not within:
        return Spread(math.sqrt(lack), free)
    return Spread(math.sqrt((free * lack + within * scatter) / (free + within)), free + within)


def fall_of(means: Means) -> float:
    """Of the last mean below the highest, as a share of that; 0 where the last is the highest."""
    return -math.expm1(float(means.logs[-1] - means.logs.max()))


def least_fall(spread: Spread, sure: float) -> float:
    """The least fall from one mean to another, as a share, that is more than both err with the probability `sure`.

    A smaller one does not mean that the throughput stays: few counts that lie far from the law show little.
    """
    return -math.expm1(-math.sqrt(2) * spread.deviation * float(special.stdtrit(spread.freedom, sure)))


_GRID = np.concatenate([[0.0], np.geomspace(1e-6, 1.0, 25)])
_STEPS = 60
_TINY = 1e-8
"""A step that is this share of the parameters is the last."""


def log_law(counts: NDArray[np.float64], parameters: NDArray[np.float64]) -> NDArray[np.float64]:
    """Logarithm of the law for many sets of parameters."""
    one, contention, coherency = (parameters[:, [column]] for column in range(3))
    rest = counts - 1
    return np.asarray(one + np.log(counts) - np.log1p(contention * rest + coherency * counts * rest))


def _profile(
    counts: NDArray[np.float64], means: NDArray[np.float64], bent: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """With lambda chosen for the best: log lambda and sum of squares, shapes (m,)."""
    rest = means - np.log(counts) + np.log(bent)
    one = rest.mean(axis=1)
    return one, ((rest - one[:, np.newaxis]) ** 2).sum(axis=1)


def fit_law(counts: NDArray[np.float64], means: NDArray[np.float64]) -> NDArray[np.float64]:
    """Least squares of logarithms for many sets of means at once.

    lambda follows from sigma and kappa. Over these it starts at the best point of a grid and goes on by damped
    Gauss-Newton steps within the bounds: both are at least 0.
    """
    rest, pairs = counts - 1, counts * (counts - 1)
    starts = np.stack(np.meshgrid(_GRID, _GRID, indexing="ij"), axis=-1).reshape(-1, 2)
    bends = np.log1p(starts[:, [0]] * rest + starts[:, [1]] * pairs)
    bends -= bends.mean(axis=1, keepdims=True)
    straight = means - np.log(counts)
    straight -= straight.mean(axis=1, keepdims=True)
    # the sum of squares without the part that all starts share
    found = starts[(2 * straight @ bends.T + (bends**2).sum(axis=1)).argmin(axis=1)]
    damping = np.full(len(means), 1e-3)
    for _ in range(_STEPS):
        bent = 1 + found[:, [0]] * rest + found[:, [1]] * pairs
        one, squares = _profile(counts, means, bent)
        residual = means - np.log(counts) + np.log(bent) - one[:, np.newaxis]
        slopes = np.stack([rest / bent, pairs / bent], axis=2)
        slopes = slopes - slopes.mean(axis=1, keepdims=True)
        gradient = np.einsum("mcp,mc->mp", slopes, residual)
        curvature = np.einsum("mcp,mcq->mpq", slopes, slopes)
        moved = np.maximum(found + _step(gradient, curvature, damping, found), 0.0)
        _, after = _profile(counts, means, 1 + moved[:, [0]] * rest + moved[:, [1]] * pairs)
        better = after <= squares
        last = bool((np.abs(moved - found) <= _TINY * (found + _TINY)).all())
        found = np.where(better[:, np.newaxis], moved, found)
        damping = np.clip(np.where(better, damping * 0.3, damping * 8), 1e-12, 1e12)
        if last:
            break
    one, _ = _profile(counts, means, 1 + found[:, [0]] * rest + found[:, [1]] * pairs)
    return np.column_stack([one, found])


def _step(
    gradient: NDArray[np.float64],
    curvature: NDArray[np.float64],
    damping: NDArray[np.float64],
    found: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Damped Gauss-Newton steps of two parameters; one at its bound that would leave it stays."""
    held = (found <= 0) & (gradient >= 0)
    a = curvature[:, 0, 0] * (1 + damping) + 1e-300
    d = curvature[:, 1, 1] * (1 + damping) + 1e-300
    b = np.where(held.any(axis=1), 0.0, curvature[:, 0, 1])
    determinant = np.maximum(a * d - b * b, 1e-300)
    first = -(d * gradient[:, 0] - b * gradient[:, 1]) / determinant
    second = -(a * gradient[:, 1] - b * gradient[:, 0]) / determinant
    return np.where(held, 0.0, np.column_stack([first, second]))


def fit_hard_limit(counts: NDArray[np.float64], means: NDArray[np.float64]) -> tuple[float, float]:
    """The best growth in proportion to the workers up to a level: lambda min(N, K).

    Between two counts the sum of squares has one minimum, with the mean of what grows and the mean of the level; the
    best of all stretches and of K at each count is the least.

    >>> counts = np.array([1.0, 6, 12, 24, 48, 96])
    >>> corner, squares = fit_hard_limit(counts, np.log(np.minimum(2 * counts, 25)))
    >>> round(corner, 2), squares < 1e-12
    (12.5, True)
    """
    logs = np.log(counts)
    corners = list(logs)
    for place in range(1, len(counts)):
        corner = float(means[place:].mean() - (means - logs)[:place].mean())
        if logs[place - 1] < corner < logs[place]:
            corners.append(corner)
    rest = means - np.minimum(logs, np.asarray(corners)[:, np.newaxis])
    squares = ((rest - rest.mean(axis=1, keepdims=True)) ** 2).sum(axis=1)
    best = int(squares.argmin())
    return math.exp(corners[best]), float(squares[best])


LEAST_COUNTS = 5
"""Fewest distinct worker counts: three would be met exactly by three parameters, whatever they are, and a fourth alone
does not tell how far the law lies from the truth."""

MISFIT = 0.15
"""Largest root mean square distance of the means from the curve, as a share of it, with which a fit is stated: more
than repeats of a cell scatter, so that what is left is the curve's shape."""

HARD = 0.5
"""A hard limit that leaves less than this share of the law's sum of squares is what the means show: with a parameter
less it describes them clearly better."""

SURE = 0.975
"""Share of the bootstrap samples whose peak must lie within the data for one to be stated."""

FALL = 0.95
"""Probability with which the means must fall after a peak, besides. With more, peaks are stated of few curves only, of
those whose spread came out small, and their intervals cover less than they say."""

UNKNOWN = "not determined"
"""What `Estimate.method` says of a coherency that the means do not show."""

STRAIGHT = 0.95
"""A curve that still reaches this share of lambda N at its right end has no bend to fit."""

REPLICATES = 2000
"""Bootstrap samples."""

_NO_DRAWS = np.empty((0, PARAMETERS))
_ESTIMATES = ("contention", "coherency", "one_worker", "peak_workers", "peak", "knee")


@dataclass(frozen=True, slots=True)
class Scaling:
    """A fit of the law to one curve, or the `refusal` that says why there is none.

    `contention` and `coherency` are sigma and kappa; where only a fall that is not shown tells kappa from 0, its centre
    is NaN, its method `UNKNOWN`, and its interval goes from 0 to the most that it may be. `one_worker` (lambda) and
    `peak` are in the unit of the throughput. `peak_workers`, `peak` and `knee` are NaN where `peak_note` says why, the
    knee below what was measured, too. `misfit` is the root mean square distance of the means from the curve, as a share
    of it; `counts` are the worker counts, ascending; `n` is that of the count with the fewest samples. `best` has log
    lambda, sigma and kappa of the curve, NaN where it is refused, and `draws` those of every bootstrap sample, shape
    (replicates, 3), none where n is too small.
    """

    refusal: str
    contention: Estimate
    coherency: Estimate
    one_worker: Estimate
    peak_workers: Estimate
    peak: Estimate
    knee: Estimate
    peak_note: str
    misfit: float
    counts: tuple[int, ...]
    n: int
    best: tuple[float, float, float]
    draws: NDArray[np.float64]

    def curve(self, workers: Iterable[float]) -> pd.DataFrame:
        """The fitted throughput with its interval."""
        counts = np.asarray(list(workers), dtype=np.float64)
        columns = ["workers", "fitted", "fitted_low", "fitted_high"]
        if self.refusal:
            return pd.DataFrame(columns=columns, dtype=float)
        fitted = np.exp(log_law(counts, np.asarray([self.best])))[0]
        low = high = np.full_like(fitted, math.nan)
        if len(self.draws):
            low, high = np.quantile(np.exp(log_law(counts, self.draws)), _tails(LEVEL), axis=0)
        return pd.DataFrame(dict(zip(columns, (counts, fitted, low, high), strict=True)))


def usl(workers: float, one_worker: float, contention: float, coherency: float) -> float:
    """The law itself.

    >>> round(usl(1, 100.0, 0.05, 0.001)), round(usl(20, 100.0, 0.05, 0.001))
    (100, 858)
    """
    bent = 1 + contention * (workers - 1) + coherency * workers * (workers - 1)
    return one_worker * workers / bent


def fit_scaling(
    workers: Iterable[float], throughput: Iterable[float], *, replicates: int = REPLICATES, seed: int = 0
) -> Scaling:
    """Fit the law to samples.

    >>> counts = [1, 4, 8, 16, 32, 64] * 3
    >>> fit = fit_scaling(counts, [usl(count, 100.0, 0.05, 0.001) for count in counts])
    >>> round(fit.contention.centre, 3), round(fit.coherency.centre, 4), round(fit.peak_workers.centre, 1)
    (0.05, 0.001, 30.8)
    >>> fit_scaling([1, 12, 48], [1.0, 8.0, 20.0]).refusal
    '3 worker counts; the law has three parameters and needs 5 counts'
    """
    count, value = np.asarray(list(workers), dtype=np.float64), np.asarray(list(throughput), dtype=np.float64)
    usable = np.isfinite(count) & np.isfinite(value) & (value > 0) & (count >= 1)
    count, value = count[usable], value[usable]
    means = means_of(count, value)
    n = int(means.sizes.min()) if len(means.sizes) else 0
    counts = tuple(int(each) for each in means.counts)
    if len(counts) < LEAST_COUNTS:
        some = f"{len(counts)} worker count{'' if len(counts) == 1 else 's'}"
        return _refused(f"{some}; the law has three parameters and needs {LEAST_COUNTS} counts", counts, n)
    best = fit_law(means.counts, means.logs[np.newaxis])
    fitted = log_law(means.counts, best)[0]
    misfit = float(np.sqrt(np.mean(np.expm1(means.logs - fitted) ** 2)))
    why = _reason(means, best[0], fitted, misfit)
    if why:
        return _refused(why, counts, n, misfit)
    spread = spread_of(means, fitted)
    draws = _bootstrap(means, fitted, spread, replicates, seed) if n >= MIN_SAMPLES else _NO_DRAWS
    return _stated(best, draws, means, spread, n, misfit)


def _reason(means: Means, best: NDArray[np.float64], fitted: NDArray[np.float64], misfit: float) -> str:
    """Why a fit is refused; empty where it is not."""
    most = int(means.counts[-1])
    end = math.exp(float(fitted[-1] - best[0])) / most
    if misfit <= MISFIT and end > STRAIGHT:
        return f"no bend up to {most} workers: {100 * end:.0f} % of what they would do without each other"
    corner, squares = fit_hard_limit(means.counts, means.logs)
    left = float(((means.logs - fitted) ** 2).sum())
    if squares < HARD * left and math.sqrt(squares / len(fitted)) <= MISFIT:
        workers = f"{corner:.0f} worker{'' if round(corner) == 1 else 's'}"
        return f"a hard limit from about {workers} on describes the means better: the law cannot bend so sharply"
    if misfit > MISFIT:
        far = f"the law lies {100 * misfit:.0f} % from the means, more than {100 * MISFIT:.0f} %"
        return f"{far}: the curve has another shape"
    return ""


def _refused(why: str, counts: tuple[int, ...], n: int, misfit: float = math.nan) -> Scaling:
    nothing, nowhere = dict.fromkeys(_ESTIMATES, _nothing(n)), (math.nan, math.nan, math.nan)
    return Scaling(why, **nothing, peak_note=why, misfit=misfit, counts=counts, n=n, best=nowhere, draws=_NO_DRAWS)


def _nothing(n: int) -> Estimate:
    return Estimate(math.nan, math.nan, math.nan, n, INSUFFICIENT)


def _stated(
    best: NDArray[np.float64], draws: NDArray[np.float64], means: Means, spread: Spread, n: int, misfit: float
) -> Scaling:
    counts = tuple(int(each) for each in means.counts)
    centres, samples = _derived(best)[0], _derived(draws)
    estimates = {
        name: _estimate(float(centre), samples[:, column], n)
        for column, (name, centre) in enumerate(zip(_ESTIMATES, centres, strict=True))
    }
    inside = estimates["peak_workers"].centre <= counts[-1]
    within = float((samples[:, _ESTIMATES.index("peak_workers")] <= counts[-1]).mean()) if len(samples) else 1.0
    least = least_fall(spread, FALL)
    peak_note = _no_peak(means, inside=inside, least=least, within=within)
    coherency = estimates["coherency"]
    if inside and fall_of(means) <= least and not coherency.low <= 0:
        # without its upper end, what is stated of many curves would be chosen by their errors, and cover less than 95 %
        low = 0.0 if coherency.has_interval else math.nan
        estimates["coherency"] = Estimate(math.nan, low, coherency.high, n, UNKNOWN)
    if peak_note:
        estimates |= dict.fromkeys(("peak_workers", "peak", "knee"), _nothing(n))
    elif estimates["knee"].centre < counts[0]:
        estimates["knee"] = _nothing(n)
    found = (float(best[0, 0]), float(best[0, 1]), float(best[0, 2]))
    return Scaling("", **estimates, peak_note=peak_note, misfit=misfit, counts=counts, n=n, best=found, draws=draws)


def _no_peak(means: Means, *, inside: bool, least: float, within: float) -> str:
    """Why no peak is stated; empty where one is."""
    most = int(means.counts[-1])
    if not inside:
        return f"peak beyond the data, which end at {most} workers"
    top = int(means.counts[means.logs.argmax()])
    if top == most:
        # a hard limit bends the law until it falls, though the data do not
        return f"no peak in the data: the highest mean is that of {most} workers, the most that were measured"
    if fall_of(means) <= least:
        fall = f"from {top} to {most} workers the means fall by {100 * fall_of(means):.2g} %"
        return f"no peak shown: {fall}, and they may err by {100 * least:.2g} %"
    if within < SURE:
        beyond = f"in {100 * (1 - within):.0f} % of bootstrap samples"
        return f"peak not determined: beyond the data, which end at {most} workers, {beyond}"
    return ""


def _derived(parameters: NDArray[np.float64]) -> NDArray[np.float64]:
    """What is stated, of parameter sets (m, 3): columns `_ESTIMATES`; infinite where a curve has no peak."""
    one, contention, coherency = np.exp(parameters[:, 0]), parameters[:, 1], parameters[:, 2]
    with np.errstate(divide="ignore", invalid="ignore"):
        peak_workers = np.sqrt(np.maximum(1 - contention, 0.0) / coherency)
        peak_workers = np.where(coherency > 0, np.maximum(peak_workers, 1.0), math.inf)
        finite = np.where(np.isfinite(peak_workers), peak_workers, 1.0)
        at_peak = one * finite / (1 + contention * (finite - 1) + coherency * finite * (finite - 1))
        # without coherency the ceiling is that of Amdahl's law
        peak = np.where(np.isfinite(peak_workers), at_peak, one / contention)
    return np.column_stack([contention, coherency, one, peak_workers, peak, peak / one])


def _estimate(centre: float, samples: NDArray[np.float64], n: int) -> Estimate:
    if not len(samples):
        return Estimate(centre, math.nan, math.nan, n, INSUFFICIENT)
    # between two replicates without a peak there is nothing to interpolate
    low, high = np.quantile(samples, _tails(LEVEL), method="nearest")
    return Estimate(centre, float(low), float(high), n, "bootstrap of the means, percentile")


def _tails(level: float) -> tuple[float, float]:
    return (1 - level) / 2, (1 + level) / 2


def _bootstrap(
    means: Means, fitted: NDArray[np.float64], spread: Spread, replicates: int, seed: int
) -> NDArray[np.float64]:
    random = np.random.default_rng(seed)
    errors = random.normal(0, spread.deviation, (replicates, len(fitted)))
    # a spread of few degrees of freedom may be far too small: drawn anew, the percentiles are those of Student's t
    errors *= np.sqrt(spread.freedom / random.chisquare(spread.freedom, (replicates, 1)))
    return fit_law(means.counts, fitted + errors)


def scaling_fits(samples: pd.DataFrame, quantity: str) -> dict[tuple[str, ...], Scaling]:
    """A fit for each curve over workers."""
    known = samples[samples[quantity].notna()]
    return {
        tuple(str(name) for name in names): fit_scaling(rows["workers"], rows[quantity])
        for names, rows in known.groupby(GROUP, observed=True, sort=False)
    }
