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

The law describes a curve. It does not prove that a lock is there: a disk with a hard limit has sigma as well. And a
hard limit bends sharper than the law can, so that it is refused where it lies far from what was measured.

Fitted are the logarithms, by least squares with sigma and kappa at least 0: repeats of a benchmark scatter in
proportion to their mean. The intervals are percentiles of a bootstrap of residuals over samples (Davison and Hinkley,
Bootstrap Methods (1997), section 7.3), with the residuals as much wider as three parameters took of their scatter and
as Student's t is wider than the normal distribution. A simulation in the tests holds them against known parameters.
Between the worker counts nothing was measured, and beyond the largest the law is an extrapolation: a peak out there
is not stated.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from scipy import special

from glusterlab.analysis.efficiency import GROUP
from glusterlab.analysis.intervals import INSUFFICIENT, LEVEL, MIN_SAMPLES, Estimate

if TYPE_CHECKING:
    from numpy.typing import NDArray

LEAST_COUNTS = 4
"""Fewest distinct worker counts: three would be met exactly by three parameters, whatever they are."""

MISFIT = 0.15
"""Largest root mean square distance of the means from the curve, as a share of it, with which a fit is stated: more
than repeats of a cell scatter, so that what is left is the curve's shape."""

SURE = 0.975
"""Share of the bootstrap samples whose peak must lie within the data for one to be stated."""

STRAIGHT = 0.95
"""A curve that still reaches this share of lambda N at its right end has no bend to fit."""

REPLICATES = 2000
"""Bootstrap samples."""

_GRID = np.concatenate([[0.0], np.geomspace(1e-6, 1.0, 25)])
_STEPS = 60
_ESTIMATES = ("contention", "coherency", "one_worker", "peak_workers", "peak", "knee")


@dataclass(frozen=True, slots=True)
class Scaling:
    """A fit of the law to one curve, or why there is none.

    Attributes
    ----------
    refusal : str
        Why nothing is stated; empty where there is a fit.
    contention, coherency : Estimate
        sigma and kappa, without unit.
    one_worker : Estimate
        lambda, in the unit of the throughput.
    peak_workers : Estimate
        N*; NaN where `peak_note` says why.
    peak : Estimate
        Throughput there; NaN as above.
    knee : Estimate
        Workers; NaN where it lies beyond what was measured.
    peak_note : str
        Why no peak is stated; empty where one is.
    misfit : float
        Root mean square distance of the means from the curve, as a share of it.
    counts : tuple of int
        Worker counts that were measured, ascending.
    n : int
        Samples of the count with the fewest.
    draws : numpy.ndarray
        Shape (replicates, 3): log lambda, sigma and kappa of every bootstrap sample; none where n is too small.
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
        best = np.array([[math.log(self.one_worker.centre), self.contention.centre, self.coherency.centre]])
        fitted = np.exp(_log_law(counts, best))[0]
        low = high = np.full_like(fitted, math.nan)
        if len(self.draws):
            low, high = np.quantile(np.exp(_log_law(counts, self.draws)), _tails(LEVEL), axis=0)
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
    '3 worker counts; the law has three parameters and needs 4 counts'
    """
    count, value = np.asarray(list(workers), dtype=np.float64), np.asarray(list(throughput), dtype=np.float64)
    usable = np.isfinite(count) & np.isfinite(value) & (value > 0) & (count >= 1)
    count, value = count[usable], value[usable]
    distinct, place, sizes = np.unique(count, return_inverse=True, return_counts=True)
    n = int(sizes.min()) if len(sizes) else 0
    counts = tuple(int(each) for each in distinct)
    if len(distinct) < LEAST_COUNTS:
        some = f"{len(distinct)} worker count{'' if len(distinct) == 1 else 's'}"
        return _refused(f"{some}; the law has three parameters and needs {LEAST_COUNTS} counts", counts, n)
    logs = np.log(value)
    means = np.bincount(place, logs) / sizes
    best = _fit(distinct, means[np.newaxis], sizes)
    fitted = _log_law(distinct, best)[0]
    misfit = float(np.sqrt(np.mean(np.expm1(means - fitted) ** 2)))
    if misfit > MISFIT:
        far = f"the law lies {100 * misfit:.0f} % from the means, more than {100 * MISFIT:.0f} %"
        return _refused(f"{far}: the curve has another shape", counts, n, misfit)
    most = float(distinct[-1])
    end = math.exp(float(fitted[-1])) / (math.exp(float(best[0, 0])) * most)
    if end > STRAIGHT:
        straight = f"no bend up to {counts[-1]} workers: {100 * end:.0f} % of what they would do without each other"
        return _refused(straight, counts, n, misfit)
    draws = np.empty((0, 3))
    if n >= MIN_SAMPLES:
        draws = _bootstrap(distinct, place, sizes, logs - fitted[place], fitted, replicates, seed)
    return _stated(best, draws, counts, n, misfit, rising=bool(means.argmax() == len(means) - 1))


def _refused(why: str, counts: tuple[int, ...], n: int, misfit: float = math.nan) -> Scaling:
    nothing = Estimate(math.nan, math.nan, math.nan, n, INSUFFICIENT)
    return _scaling(dict.fromkeys(_ESTIMATES, nothing), why, why, misfit, counts, np.empty((0, 3)))


def _scaling(
    estimates: Mapping[str, Estimate],
    refusal: str,
    peak_note: str,
    misfit: float,
    counts: tuple[int, ...],
    draws: NDArray[np.float64],
) -> Scaling:
    return Scaling(
        refusal=refusal,
        contention=estimates["contention"],
        coherency=estimates["coherency"],
        one_worker=estimates["one_worker"],
        peak_workers=estimates["peak_workers"],
        peak=estimates["peak"],
        knee=estimates["knee"],
        peak_note=peak_note,
        misfit=misfit,
        counts=counts,
        n=estimates["contention"].n,
        draws=draws,
    )


def _stated(
    best: NDArray[np.float64],
    draws: NDArray[np.float64],
    counts: tuple[int, ...],
    n: int,
    misfit: float,
    *,
    rising: bool,
) -> Scaling:
    most = counts[-1]
    centres, samples = _derived(best)[0], _derived(draws)
    estimates = {
        name: _estimate(float(centre), samples[:, column], n)
        for column, (name, centre) in enumerate(zip(_ESTIMATES, centres, strict=True))
    }
    within = float((samples[:, _ESTIMATES.index("peak_workers")] <= most).mean()) if len(samples) else 1.0
    peak_note = ""
    if estimates["peak_workers"].centre > most:
        peak_note = f"peak beyond the data, which end at {most} workers"
    elif rising:
        # a hard limit bends the law until it falls, though the data do not
        peak_note = f"no peak in the data: the highest mean is that of {most} workers, the most that were measured"
    elif within < SURE:
        beyond = 100 * (1 - within)
        peak_note = (
            f"peak not determined: beyond the data, which end at {most} workers, in {beyond:.0f} % of bootstrap samples"
        )
    nothing = Estimate(math.nan, math.nan, math.nan, n, INSUFFICIENT)
    if peak_note:
        estimates |= {"peak_workers": nothing, "peak": nothing}
    if not counts[0] <= estimates["knee"].centre <= most:
        estimates["knee"] = nothing
    return _scaling(estimates, "", peak_note, misfit, counts, draws)


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
    return Estimate(centre, float(low), float(high), n, "bootstrap of residuals, percentile")


def _tails(level: float) -> tuple[float, float]:
    return (1 - level) / 2, (1 + level) / 2


def _log_law(counts: NDArray[np.float64], parameters: NDArray[np.float64]) -> NDArray[np.float64]:
    """Logarithm of the law, shape (m, counts)."""
    one, contention, coherency = (parameters[:, [column]] for column in range(3))
    rest = counts - 1
    return np.asarray(one + np.log(counts) - np.log1p(contention * rest + coherency * counts * rest))


def _profile(
    counts: NDArray[np.float64], means: NDArray[np.float64], weights: NDArray[np.float64], bent: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """With lambda chosen for the best: log lambda and sum of squares. The last axis is that of the counts."""
    rest = means - np.log(counts) + np.log(bent)
    one = (rest * weights).sum(axis=-1) / weights.sum()
    return one, (weights * (rest - one[..., np.newaxis]) ** 2).sum(axis=-1)


def _fit(counts: NDArray[np.float64], means: NDArray[np.float64], sizes: NDArray[np.intp]) -> NDArray[np.float64]:
    """Least squares of logarithms for many sets of means at once.

    Of a residual sum of squares over samples only that of the means depends on the parameters. lambda follows from
    the others. Over sigma and kappa it starts at the best point of a grid and goes on by damped Gauss-Newton steps
    within the bounds.

    Parameters
    ----------
    counts, sizes : numpy.ndarray
        Shape (c,): worker counts, samples of each.
    means : numpy.ndarray
        Shape (m, c): means of the logarithms.

    Returns
    -------
    numpy.ndarray
        Shape (m, 3): log lambda, sigma, kappa.
    """
    weights = sizes.astype(np.float64)
    rest, pairs = counts - 1, counts * (counts - 1)
    found = np.empty((len(means), 2))
    least = np.full(len(means), math.inf)
    for contention in _GRID:
        bent = 1 + contention * rest + _GRID[:, np.newaxis] * pairs
        _, squares = _profile(counts, means[:, np.newaxis], weights, bent[np.newaxis])
        column = squares.argmin(axis=1)
        value = squares[np.arange(len(means)), column]
        better = value < least
        found[better] = np.column_stack([np.full(len(means), contention), _GRID[column]])[better]
        least = np.where(better, value, least)
    damping = np.full(len(means), 1e-3)
    for _ in range(_STEPS):
        bent = 1 + found[:, [0]] * rest + found[:, [1]] * pairs
        one, squares = _profile(counts, means, weights, bent)
        residual = means - np.log(counts) + np.log(bent) - one[:, np.newaxis]
        slopes = np.stack([rest / bent, pairs / bent], axis=2)
        slopes = slopes - (slopes * weights[:, np.newaxis]).sum(axis=1, keepdims=True) / weights.sum()
        gradient = np.einsum("mcp,mc->mp", slopes, residual * weights)
        curvature = np.einsum("mcp,mcq->mpq", slopes, slopes * weights[:, np.newaxis])
        step = _step(gradient, curvature, damping, found)
        moved = np.maximum(found + step, 0.0)
        _, after = _profile(counts, means, weights, 1 + moved[:, [0]] * rest + moved[:, [1]] * pairs)
        better = after <= squares
        found = np.where(better[:, np.newaxis], moved, found)
        damping = np.clip(np.where(better, damping * 0.3, damping * 8), 1e-12, 1e12)
    one, _ = _profile(counts, means, weights, 1 + found[:, [0]] * rest + found[:, [1]] * pairs)
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


def _bootstrap(
    counts: NDArray[np.float64],
    place: NDArray[np.intp],
    sizes: NDArray[np.intp],
    residuals: NDArray[np.float64],
    fitted: NDArray[np.float64],
    replicates: int,
    seed: int,
) -> NDArray[np.float64]:
    """Parameters of bootstrap samples: the fitted curve with residuals drawn anew."""
    n = len(residuals)
    # percentiles of a bootstrap know nothing of how uncertain a spread of few residuals is: Student's t does
    wider = float(special.stdtrit(n - 3, (1 + LEVEL) / 2) / special.ndtri((1 + LEVEL) / 2))
    spread = (residuals - residuals.mean()) * math.sqrt(n / (n - 3)) * wider
    drawn = np.random.default_rng(seed).choice(spread, size=(replicates, n))
    totals = np.zeros((replicates, len(counts)))
    for column in range(len(counts)):
        totals[:, column] = drawn[:, place == column].sum(axis=1)
    return _fit(counts, fitted + totals / sizes, sizes)


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
