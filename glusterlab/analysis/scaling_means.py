"""The means that a scaling law is fitted to, how far each may lie from the truth, and whether they fall.

A mean errs by what its samples scatter and by what they share: the placement of files, the hour, or that the law is not
quite the truth. Only the second is seen in how far the means lie from the law (Draper and Smith, Applied Regression
Analysis, 3rd ed. (1998), section 2.1, lack of fit and pure error). Samples of one cell know nothing of it, and to
average more of them does not make it smaller.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy import special

if TYPE_CHECKING:
    from numpy.typing import NDArray

PARAMETERS = 3
"""Of the law."""


@dataclass(frozen=True, slots=True)
class Means:
    """Mean logarithms by worker count.

    Attributes
    ----------
    counts : numpy.ndarray
        Shape (c,): distinct worker counts, ascending.
    logs : numpy.ndarray
        Shape (c,): means of the logarithm of the throughput.
    sizes : numpy.ndarray
        Shape (c,): samples of each.
    squares : float
        Sum over samples of the squared distance from the mean of their count.
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

    Parameters
    ----------
    means : Means
        Of more counts than the law has parameters.
    fitted : numpy.ndarray
        Shape (c,): logarithms of the law at the counts.

    Examples
    --------
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
