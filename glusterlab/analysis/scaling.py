"""The Universal Scalability Law: throughput by workers as contention and coherency, with intervals, peak and knee.

With N workers

    X(N) = lambda N / (1 + sigma (N - 1) + kappa N (N - 1))

lambda is what one worker does alone. sigma, the *contention*, is the share of the work that is done in turn: for a
shared disk, a lock, a link. kappa, the *coherency*, is what each worker costs every other: it makes throughput fall
again beyond

    N* = sqrt((1 - sigma) / kappa)

(Gunther, Guerrilla Capacity Planning (2007), chapters 4 to 6, equation 4.33 for N*). Its ceiling meets the line of
lambda N at the *knee*, X(N*) / lambda workers: with fewer, the workers are what is scarce, with more they wait. That
is the corner of the asymptotic bounds of operational analysis (Denning and Buzen, ACM Computing Surveys 10 (1978)
225).

The law describes a curve. It does not prove that a lock is there: a disk with a hard limit has sigma as well. A hard
limit bends more sharply than the law can, and makes it fall where nothing falls. So the fit is refused where a hard
limit describes the means clearly better. A peak, and the knee that follows from it, are stated only where the means
fall after it; coherency that rests on a fall which the means do not show is not told.

Fitted are the logarithms, by least squares with sigma and kappa at least 0: repeats of a benchmark scatter in
proportion to their mean. The intervals are percentiles of a bootstrap of the means: normal errors about the fitted
curve, of the spread that `glusterlab.analysis.scaling_means.spread_of` gives. That is drawn anew each time, as
chi-squared with its degrees of freedom has it: for a straight line this would be the interval of Student's t (Davison
and Hinkley, Bootstrap Methods (1997), section 2.2 on parametric bootstraps, 7.3 on nonlinear fits). A simulation in the
tests holds them against known parameters, with samples that scatter alone and with errors that a cell's samples share:
they cover 93 to 97 %. Peak and knee cover less, 90 to 94 %, where the samples show a peak in some of such curves only
(five counts that share errors of 6 %): those whose spread came out small.
Between the worker counts nothing was measured, and beyond the largest the law is an extrapolation: a peak out there
is not stated.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from glusterlab.analysis.efficiency import GROUP
from glusterlab.analysis.intervals import INSUFFICIENT, LEVEL, MIN_SAMPLES, Estimate
from glusterlab.analysis.scaling_law import fit_hard_limit, fit_law, log_law
from glusterlab.analysis.scaling_means import PARAMETERS, Means, Spread, fall_of, least_fall, means_of, spread_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

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

NOT_TOLD = "not told"
"""What `Estimate.method` says of a coherency that the means do not show."""

STRAIGHT = 0.95
"""A curve that still reaches this share of lambda N at its right end has no bend to fit."""

REPLICATES = 2000
"""Bootstrap samples."""

_ESTIMATES = ("contention", "coherency", "one_worker", "peak_workers", "peak", "knee")


@dataclass(frozen=True, slots=True)
class Scaling:
    """A fit of the law to one curve, or why there is none.

    Attributes
    ----------
    refusal : str
        Why nothing is stated; empty where there is a fit.
    contention, coherency : Estimate
        sigma and kappa, without unit. Where only a fall that is not shown tells kappa from 0, it is NaN and `NOT_TOLD`,
        and its interval goes from 0 to the most that it may be.
    one_worker : Estimate
        lambda, in the unit of the throughput.
    peak_workers : Estimate
        N*; NaN where `peak_note` says why.
    peak : Estimate
        Throughput there; NaN as above.
    knee : Estimate
        Workers; NaN where there is no peak, or where it lies below what was measured.
    peak_note : str
        Why no peak and no knee is stated; empty where a peak is.
    misfit : float
        Root mean square distance of the means from the curve, as a share of it.
    counts : tuple of int
        Worker counts that were measured, ascending.
    n : int
        Samples of the count with the fewest.
    best : tuple of float
        log lambda, sigma and kappa of the curve, told or not; NaN where it is refused.
    draws : numpy.ndarray
        Shape (replicates, 3): the same of every bootstrap sample; none where n is too small.
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
        """The fitted throughput with its interval.

        Parameters
        ----------
        workers : iterable of float

        Returns
        -------
        pandas.DataFrame
            ``workers``, ``fitted``, ``fitted_low`` and ``fitted_high`` in the unit of the throughput; the ends are NaN
            without an interval. Nothing of a refused fit.
        """
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

    Examples
    --------
    >>> round(usl(1, 100.0, 0.05, 0.001)), round(usl(20, 100.0, 0.05, 0.001))
    (100, 858)
    """
    bent = 1 + contention * (workers - 1) + coherency * workers * (workers - 1)
    return one_worker * workers / bent


def fit_scaling(
    workers: Iterable[float], throughput: Iterable[float], *, replicates: int = REPLICATES, seed: int = 0
) -> Scaling:
    """Fit the law to samples.

    Parameters
    ----------
    workers, throughput : iterable of float
        One pair per sample, shapes (n,); the throughput above 0, in any one unit.
    replicates : int
        Bootstrap samples.
    seed : int
        Of the bootstrap: the same samples give the same intervals.

    Returns
    -------
    Scaling

    Examples
    --------
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
    draws = _bootstrap(means, fitted, spread, replicates, seed) if n >= MIN_SAMPLES else np.empty((0, PARAMETERS))
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
    estimates = dict.fromkeys(_ESTIMATES, _nothing(n))
    return Scaling(
        refusal=why,
        **estimates,
        peak_note=why,
        misfit=misfit,
        counts=counts,
        n=n,
        best=(math.nan, math.nan, math.nan),
        draws=np.empty((0, PARAMETERS)),
    )


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
    told = estimates["coherency"]
    if inside and fall_of(means) <= least and not told.low <= 0:
        # without its upper end, what is told of many curves would be chosen by their errors, and cover less than 95 %
        estimates["coherency"] = Estimate(math.nan, 0.0 if told.has_interval else math.nan, told.high, n, NOT_TOLD)
    if peak_note:
        estimates |= dict.fromkeys(("peak_workers", "peak", "knee"), _nothing(n))
    elif estimates["knee"].centre < counts[0]:
        estimates["knee"] = _nothing(n)
    return Scaling(
        refusal="",
        **estimates,
        peak_note=peak_note,
        misfit=misfit,
        counts=counts,
        n=n,
        best=(float(best[0, 0]), float(best[0, 1]), float(best[0, 2])),
        draws=draws,
    )


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
    """Parameters of bootstrap samples: the fitted curve with errors of the means."""
    random = np.random.default_rng(seed)
    errors = random.normal(0, spread.deviation, (replicates, len(fitted)))
    # a spread of few degrees of freedom may be far too small: drawn anew, the percentiles are those of Student's t
    errors *= np.sqrt(spread.freedom / random.chisquare(spread.freedom, (replicates, 1)))
    return fit_law(means.counts, fitted + errors)


def scaling_fits(samples: pd.DataFrame, quantity: str) -> dict[tuple[str, ...], Scaling]:
    """A fit for each curve over workers.

    Parameters
    ----------
    samples : pandas.DataFrame
        Rows of the samples table with ``series``, as `glusterlab.analysis.series.select` returns them.
    quantity : str
        ``throughput_bytes_per_s`` or ``files_per_s``.

    Returns
    -------
    dict of tuple to Scaling
        By the values of `GROUP`, as text.
    """
    known = samples[samples[quantity].notna()]
    return {
        tuple(str(name) for name in names): fit_scaling(rows["workers"], rows[quantity])
        for names, rows in known.groupby(GROUP, observed=True, sort=False)
    }
