"""Comparisons with a known truth: samples whose ratio is 1, or an effect, and what `rank_test` states of many at once.

Logarithms of throughputs are drawn. What an interval covers follows from the form of the scatter, not from its size;
power follows from both. A campaign of another day is no case of these: the day is in its ratio (`shift`).
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

import numpy as np
from scipy import special

from glusterlab.analysis.compare.groups import rank_statistic
from glusterlab.stats import ALPHA, LEVEL, Correction, Test, can_be_significant, corrected, least_p, null_distribution

Kind = Literal["normal", "slow tail", "outliers", "unlike", "drift"]

KINDS: Mapping[Kind, str] = {
    "normal": "scatters normally, 10 %",
    "slow tail": "skewed: the slower a repeat, the longer the tail (lognormal, shape 0.75)",
    "outliers": "one repeat in ten is up to six times the scatter slower",
    "unlike": "one release scatters three times as much as the other",
    "drift": "both drift by up to four times the scatter over the rounds, and wander",
}


@dataclass(frozen=True)
class Design:
    """How a comparison was measured: repeats of each release, in rounds or apart, cells at once."""

    n: int
    paired: bool
    cells: int = 1
    correction: Correction = "holm"

    @property
    def test(self) -> Test:
        return "signed-rank" if self.paired else "rank-sum"

    @property
    def can_show(self) -> bool:
        return can_be_significant([least_p(self.test, self.n)] * self.cells, self.correction)[0]


def draw(kind: Kind, runs: int, n: int, generator: np.random.Generator) -> tuple[Any, Any]:
    """Logarithms of both releases' throughputs in rounds, shapes (runs, n); the true ratio is 1."""
    shape = (2, runs, n)
    values = generator.standard_normal(shape)
    if kind == "normal":
        values = 10 * np.log(np.maximum(1 + 0.1 * values, 0.01))
    elif kind == "slow tail":
        values = 1 - np.exp(0.75 * values)
    elif kind == "outliers":
        slow = np.where(generator.random(shape) < 0.1, 6 * generator.random(shape), 0.0)
        values = values - slow - _median_of_outliers()
    elif kind == "unlike":
        values[0] /= 3
    else:
        trend = generator.uniform(-4, 4, (runs, 1)) * np.linspace(0, 1, n)
        values = values + trend + np.cumsum(0.5 * generator.standard_normal((runs, n)), axis=1)
    return values[0], values[1]


@lru_cache(maxsize=1)
def _median_of_outliers() -> float:
    """Where the distribution function of normal values, one in ten of them made smaller by up to 6, is one half."""
    slow = (np.arange(6000) + 0.5) / 1000
    low, high = -1.0, 0.0
    for _ in range(50):
        middle = (low + high) / 2
        under = 0.9 * special.ndtr(middle) + 0.1 * special.ndtr(middle + slow).mean()
        low, high = (middle, high) if under < 0.5 else (low, middle)
    return low


def ends(reference: Any, other: Any, paired: bool, level: float = LEVEL) -> Any:
    """Ends of the interval of `rank_test`, row by row, as logarithms, shape (runs, 2); without end if none."""
    n = reference.shape[1]
    if paired:
        i, j = np.triu_indices(n)
        shifts = (other - reference)[:, i] / 2 + (other - reference)[:, j] / 2
        null = null_distribution("signed-rank", n, 0)
    else:
        shifts = (other[:, :, None] - reference[:, None, :]).reshape(len(reference), -1)
        null = null_distribution("rank-sum", n, n)
    k = int((null <= (1 - level) / 2).sum())
    if not k:
        return np.tile([-math.inf, math.inf], (len(reference), 1))
    shifts.sort(axis=1)
    return shifts[:, [k - 1, -k]]


def p_values(reference: Any, other: Any, paired: bool) -> Any:
    """The p of `rank_test` without ties, row by row, shape (runs,)."""
    found, null = rank_statistic(reference, other, paired)
    return np.minimum(1, 2 * null[np.minimum(found, len(null) - 1 - found)])


def coverage(kind: Kind, n: int, paired: bool, *, runs: int, seed: int, level: float = LEVEL) -> float:
    """Share of intervals that hold the true ratio."""
    found = ends(*draw(kind, runs, n, np.random.default_rng(seed)), paired, level)
    return float(((found[:, 0] <= 0) & (found[:, 1] >= 0)).mean())


def false_findings(kind: Kind, design: Design, *, runs: int, seed: int, shift: float = 0.0) -> float:
    """Share of comparisons of a release with itself in which some cell is called faster or slower.

    `shift`: by how many times the scatter the second campaign's day was faster, which is no finding about the release.
    """
    if not design.can_show:
        return 0.0
    reference, other = draw(kind, runs * design.cells, design.n, np.random.default_rng(seed))
    p, found = p_values(reference, other + shift, design.paired), ends(reference, other + shift, design.paired)
    beyond = (found[:, 0] > 0) | (found[:, 1] < 0)
    families = zip(p.reshape(runs, -1), beyond.reshape(runs, -1), strict=True)
    return float(
        np.mean([((np.array(corrected(list(each), design.correction)) < ALPHA) & out).any() for each, out in families])
    )


def power(effect: float, scatter: float, design: Design, *, runs: int, seed: int) -> float:
    """Share of comparisons that find a release faster which is; the other cells show nothing."""
    if not design.can_show:
        return 0.0
    reference, other = scatter * np.random.default_rng(seed).standard_normal((2, runs, design.n))
    other += math.log1p(effect)
    p, found = p_values(reference, other, design.paired), ends(reference, other, design.paired)
    return float(((p < ALPHA / design.cells) & (found[:, 0] > 0)).mean())
