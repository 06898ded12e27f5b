"""The Universal Scalability Law and its competitor, a hard limit, fitted to mean logarithms by least squares.

Every worker count weighs the same, however many samples it has: what all samples of a cell share does not average out,
and campaigns repeat most where the scatter is largest.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

_GRID = np.concatenate([[0.0], np.geomspace(1e-6, 1.0, 25)])
_STEPS = 60
_TINY = 1e-8
"""A step that is this share of the parameters is the last."""


def log_law(counts: NDArray[np.float64], parameters: NDArray[np.float64]) -> NDArray[np.float64]:
    """Logarithm of the law for many sets of parameters.

    Parameters
    ----------
    counts : numpy.ndarray
        Shape (c,): workers.
    parameters : numpy.ndarray
        Shape (m, 3): log lambda, sigma, kappa, as `fit_law` returns them.

    Returns
    -------
    numpy.ndarray
        Shape (m, c), in the logarithm of lambda's unit.
    """
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

    Parameters
    ----------
    counts : numpy.ndarray
        Shape (c,): worker counts.
    means : numpy.ndarray
        Shape (m, c): means of the logarithms.

    Returns
    -------
    numpy.ndarray
        Shape (m, 3): log lambda, sigma, kappa.
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

    Parameters
    ----------
    counts : numpy.ndarray
        Shape (c,): worker counts, ascending.
    means : numpy.ndarray
        Shape (c,): means of the logarithms.

    Returns
    -------
    tuple of float
        K, in workers, and the sum of squares.

    Examples
    --------
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
