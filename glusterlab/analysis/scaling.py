"""The Universal Scalability Law: throughput by workers as contention and coherency, with intervals, peak and knee.

With N workers X(N) = lambda N / (1 + sigma (N - 1) + kappa N (N - 1)). lambda is what one worker does alone; sigma, the
*contention*, the share of the work that is done in turn; kappa, the *coherency*, what each worker costs every other.
With kappa throughput peaks at N* = sqrt((1 - sigma) / kappa) (Gunther, Guerrilla Capacity Planning (2007), equation
4.33); its ceiling meets lambda N at the *knee*, X(N*) / lambda workers (Denning and Buzen, ACM Computing Surveys 10
(1978) 225). A hard limit bends more sharply than the law can, and makes it fall where nothing falls: so the fit is
refused where a hard limit describes the means clearly better, and peak and knee are stated only where the means fall.

Intervals are percentiles of a bootstrap of the means: normal errors of the spread that `_spread` gives, drawn anew as
chi-squared with its degrees of freedom (Davison and Hinkley, Bootstrap Methods (1997), sections 2.2 and 7.3).
"""

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import special

from glusterlab.analysis.efficiency import GROUP
from glusterlab.stats import LEVEL, MIN_SAMPLES, TWO_GROUPS, two_groups

PARAMETERS = 3  # of the law

LEAST_COUNTS = 5  # worker counts: three meet three parameters exactly, and a fourth alone tells little

MISFIT = 0.15  # largest root mean square distance of the means from the curve, as a share of it, of a fit

HARD = 0.5  # a hard limit that leaves less than this share of the law's sum of squares is what the means show

SURE = 0.975  # share of the bootstrap samples whose peak must lie within the data for one to be stated

FALL = 0.95  # probability that means fall after a peak; with more, only curves of small spread had peaks

STRAIGHT = 0.95  # a curve that still reaches this share of lambda N at its right end has no bend to fit

UNKNOWN = "not determined"  # a coherency that only a fall tells from 0 which the means do not show

FARTHEST = 5.0  # largest error of a bootstrap's mean, as a logarithm: equations of larger ones cannot be solved

REPLICATES, SEED, POINTS = 2000, 0, 120  # bootstrap samples with their seed, points of a curve

ESTIMATES = ["contention", "coherency", "one_worker", "peak_workers", "peak", "knee"]
CURVE = ["workers", "fitted", "fitted_low", "fitted_high"]
_ENDS = ("", "_low", "_high")
FIT = [*CURVE, *(f"{name}{end}" for name in ESTIMATES for end in _ENDS)]
FIT += ["n", "misfit", "refusal", "peak_note"]
"""Columns of a fit, a row per number of workers (of measured counts alone with a ``refusal``): the curve there, and
the same parameters in all rows. A coherency that is `UNKNOWN` is NaN, with an interval from 0 to the most it may be;
``one_worker`` (lambda) and ``peak`` are in the unit of the throughput; ``peak_note`` says why peak and knee are NaN,
which a knee below what was measured is, too; ``n`` is that of the count with the fewest samples."""


def usl(workers: Any, one_worker: Any, contention: Any, coherency: Any) -> Any:
    """The law itself, of numbers or arrays.

    >>> round(usl(1, 100.0, 0.05, 0.001)), round(usl(20, 100.0, 0.05, 0.001))
    (100, 858)
    """
    return one_worker * workers / (1 + contention * (workers - 1) + coherency * workers * (workers - 1))


def _least_squares(counts: NDArray[np.float64], means: NDArray[np.float64]) -> NDArray[np.float64]:
    """lambda, sigma and kappa (m, 3) of many sets of means (m, c): least squares of logarithms, and none below 0.

    N / X is linear in 1 / lambda, sigma / lambda and kappa / lambda; its distance over the geometric mean of N / X as
    measured and as fitted before is that of the logarithms. The least is that of one choice of parameters above 0.
    """
    terms = np.column_stack([np.ones_like(counts), counts - 1, counts * (counts - 1)])
    measured = fitted = counts / means
    for _ in range(2):
        weights = 1 / np.sqrt(measured * fitted)
        found, least = np.zeros((len(means), PARAMETERS)), np.full(len(means), math.inf)
        for free in ([0], [0, 1], [0, 2], [0, 1, 2]):
            some = terms[:, free] * weights[..., np.newaxis]
            turned, wanted = some.swapaxes(1, 2), (measured * weights)[..., np.newaxis]
            solved = np.linalg.solve(turned @ some, turned @ wanted)
            squares = ((some @ solved - wanted) ** 2).sum(axis=(1, 2))
            better = (solved[..., 0] >= 0).all(axis=1) & (squares < least)
            found[better] = 0.0
            found[np.ix_(better, free)] = solved[better, :, 0]
            least = np.where(better, squares, least)
        fitted = np.maximum(found @ terms.T, 1e-3 * measured)
    alone = np.maximum(found[:, [0]], 1e-9 * measured.min(axis=1, keepdims=True))
    return np.hstack([1 / alone, found[:, 1:] / alone])


def fit_scaling(workers: Iterable[float], throughput: Iterable[float]) -> pd.DataFrame:
    """Fit the law to the samples of one curve: columns `FIT`.

    >>> counts = [1, 4, 8, 16, 32, 64] * 3
    >>> fit = fit_scaling(counts, [usl(count, 100.0, 0.05, 0.001) for count in counts]).iloc[0]
    >>> fit[["contention", "coherency", "peak_workers"]].astype(float).round(4).tolist()
    [0.05, 0.001, 30.8221]
    >>> fit_scaling([1, 12, 48], [1.0, 8.0, 20.0])["refusal"].iloc[0]
    '3 worker counts; the law has three parameters and needs 5 counts'
    """
    samples = pd.DataFrame({"workers": list(workers), "throughput": list(throughput)}, dtype=float).dropna()
    samples = samples[(samples["throughput"] > 0) & (samples["workers"] >= 1)]
    logs = np.log(samples["throughput"]).groupby(samples["workers"])
    points = logs.agg(["mean", "size", "var"]).fillna(0.0)
    counts, means, n = points.index.to_numpy(dtype=float), points["mean"].to_numpy(), points["size"].min()
    table = pd.DataFrame({"workers": counts}).reindex(columns=FIT).assign(n=n)
    if len(counts) < LEAST_COUNTS:
        some = f"{len(counts)} worker count{'' if len(counts) == 1 else 's'}"
        why = f"{some}; the law has three parameters and needs {LEAST_COUNTS} counts"
        return table.assign(refusal=why, peak_note=why)
    if apart := [f"{count:g}" for count, values in samples.groupby("workers")["throughput"] if two_groups(values)]:
        why = f"{TWO_GROUPS} at {', '.join(apart)} workers"
        return table.assign(refusal=why, peak_note=why)
    best = _least_squares(counts, np.exp(means)[np.newaxis])[0]
    fitted = np.log(usl(counts, *best))
    misfit = float(np.sqrt(np.mean(np.expm1(means - fitted) ** 2)))
    why = _refusal(counts, means, fitted, float(best[0]), misfit)
    if why:
        return table.assign(misfit=misfit, refusal=why, peak_note=why)
    deviation, freedom = _spread(points, fitted)
    draws = np.empty((0, PARAMETERS))
    if n >= MIN_SAMPLES:
        random = np.random.default_rng(SEED)
        errors = random.normal(0, deviation, (REPLICATES, len(counts)))
        # a spread of few degrees of freedom may be far too small: drawn anew, the percentiles are those of Student's t
        errors *= np.sqrt(freedom / random.chisquare(freedom, (REPLICATES, 1)))
        draws = _least_squares(counts, np.exp(fitted + errors.clip(-FARTHEST, FARTHEST)))
    tails = [(1 - LEVEL) / 2, (1 + LEVEL) / 2]
    resampled = _estimates(draws)
    # between two replicates without a peak there is nothing to interpolate
    stated = [_estimates(best[np.newaxis]), resampled.quantile(tails, interpolation="nearest")]
    rows = zip(_ENDS, pd.concat(stated).to_numpy(dtype=float), strict=True)
    numbers = {f"{name}{end}": float(value) for end, row in rows for name, value in zip(ESTIMATES, row, strict=True)}
    # the least fall that is more than both of its means err; a smaller one does not show that the throughput stays
    least = -math.expm1(-math.sqrt(2) * deviation * float(special.stdtrit(freedom, FALL)))
    inside = numbers["peak_workers"] <= counts[-1]
    within = float((resampled["peak_workers"] <= counts[-1]).mean()) if len(draws) else 1.0
    if inside and -math.expm1(means[-1] - means.max()) <= least and not numbers["coherency_low"] <= 0:
        # without its upper end, what is stated of many curves would be chosen by their errors, and cover less than 95 %
        numbers |= {"coherency": math.nan, "coherency_low": 0.0 if len(draws) else math.nan}
    note = _no_peak(counts, means, inside=inside, least=least, within=within)
    absent = ("peak_workers", "peak", "knee") if note else ("knee",) if numbers["knee"] < counts[0] else ()
    numbers |= {f"{name}{end}": math.nan for name in absent for end in _ENDS}
    grid = np.union1d(counts, np.geomspace(counts[0], counts[-1], POINTS))
    curve = {"workers": grid, "fitted": usl(grid, *best), "fitted_low": math.nan, "fitted_high": math.nan}
    if len(draws):
        curve["fitted_low"], curve["fitted_high"] = np.quantile(usl(grid, *draws.T[..., np.newaxis]), tails, axis=0)
    return pd.DataFrame(curve | numbers).assign(n=n, misfit=misfit, refusal="", peak_note=note)[FIT]


def _refusal(
    counts: NDArray[np.float64], means: NDArray[np.float64], fitted: NDArray[np.float64], one: float, misfit: float
) -> str:
    """Why a fit is refused; empty where it is not. Means and fitted are logarithms."""
    end = math.exp(float(fitted[-1])) / one / counts[-1]
    if misfit <= MISFIT and end > STRAIGHT:
        return f"no bend up to {counts[-1]:.0f} workers: {100 * end:.0f} % of what they would do without each other"
    corner, squares = hard_limit(counts, means)
    if squares < HARD * ((means - fitted) ** 2).sum() and math.sqrt(squares / len(counts)) <= MISFIT:
        workers = f"{corner:.0f} worker{'' if round(corner) == 1 else 's'}"
        return f"a hard limit from about {workers} on describes the means better: the law cannot bend so sharply"
    if misfit > MISFIT:
        far = f"the law lies {100 * misfit:.0f} % from the means, more than {100 * MISFIT:.0f} %"
        return f"{far}: the curve has another shape"
    return ""


def hard_limit(counts: NDArray[np.float64], means: NDArray[np.float64]) -> tuple[float, float]:
    """The best growth in proportion to the workers up to a level, of logarithms: where it bends, and its squares."""
    corners = np.union1d(counts, np.geomspace(counts[0], counts[-1], 1000))
    squares = (means - np.log(np.minimum(counts, corners[:, np.newaxis]))).var(axis=1) * len(counts)
    return float(corners[squares.argmin()]), float(squares.min())


def _spread(points: pd.DataFrame, fitted: NDArray[np.float64]) -> tuple[float, int]:
    """Standard deviation of a mean about its true value, as a logarithm, and its degrees of freedom.

    The distance from the law and the scatter of samples are pooled where the means lie no further from the law than the
    scatter explains; otherwise only the distance counts. To pool until a test at 5 % forbids it makes intervals cover
    84 to 88 % where what samples of a cell share is as large as their scatter: that test has little power.
    """
    free, within = len(points) - PARAMETERS, int(points["size"].sum()) - len(points)
    lack = float(((points["mean"] - fitted) ** 2).sum()) / free
    scatter = float((points["var"] * (points["size"] - 1)).sum() / max(within, 1) * (1 / points["size"]).mean())
    if lack > scatter or not within:
        return math.sqrt(lack), free
    return math.sqrt((free * lack + within * scatter) / (free + within)), free + within


def _estimates(parameters: NDArray[np.float64]) -> pd.DataFrame:
    """The `ESTIMATES` of parameter sets, shape (m, 3); infinite where a curve has no peak."""
    one, contention, coherency = parameters.T
    with np.errstate(divide="ignore", invalid="ignore"):
        peak_workers = np.maximum(np.sqrt(np.maximum(1 - contention, 0.0) / coherency), 1.0)
        # without coherency the ceiling is that of Amdahl's law
        peak = np.where(coherency > 0, usl(peak_workers, one, contention, coherency), one / contention)
    peak_workers = np.where(coherency > 0, peak_workers, math.inf)
    columns = (contention, coherency, one, peak_workers, peak, peak / one)
    return pd.DataFrame(dict(zip(ESTIMATES, columns, strict=True)))


def _no_peak(
    counts: NDArray[np.float64], means: NDArray[np.float64], *, inside: bool, least: float, within: float
) -> str:
    """Why no peak is stated; empty where one is."""
    top, most = counts[means.argmax()], counts[-1]
    fall = -math.expm1(float(means[-1] - means.max()))
    if not inside:
        return f"peak beyond the data, which end at {most:.0f} workers"
    if top == most:
        # a hard limit bends the law until it falls, though the data do not
        return f"no peak in the data: the highest mean is that of {most:.0f} workers, the most that were measured"
    if fall <= least:
        means_fall = f"from {top:.0f} to {most:.0f} workers the means fall by {100 * fall:.2g} %"
        return f"no peak shown: {means_fall}, and they may err by {100 * least:.2g} %"
    if within < SURE:
        beyond = f"in {100 * (1 - within):.0f} % of bootstrap samples"
        return f"peak not determined: beyond the data, which end at {most:.0f} workers, {beyond}"
    return ""


def scaling_fits(samples: pd.DataFrame, quantity: str) -> pd.DataFrame:
    """The law fitted to each curve over workers: columns `GROUP` and `FIT`."""
    known = samples[samples[quantity].notna()]
    parts = [
        rows.iloc[:1][GROUP].merge(fit_scaling(rows["workers"], rows[quantity]), how="cross")
        for _, rows in known.groupby(GROUP, observed=True, sort=False)
    ]
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=[*GROUP, *FIT])
