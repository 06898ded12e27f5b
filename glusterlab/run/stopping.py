"""When a cell has enough repeats: the stopping rule of a campaign with bounds and a target.

A cell ends after the first repeat by which it has the minimum of valid values, never fewer than `MIN_SAMPLES`, and the
half-width of the 95 % interval of their mean, the one that figures draw, is at most the target's share of the mean;
else at the maximum. It depends on the stored values alone: a run that was killed decides alike.

Stopping at a narrow interval prefers cells whose first repeats happen to lie close together. With a target of 5 %, 3 to
10 repeats and scatter of 1, 3, 5, 8, 12 % the interval at the end covers the mean in 95.0, 94.6, 92.2, 90.8, 92.3 % of
cells, and in 95.0, 94.5, 92.1, 81.5, 58.0 % of those that reach the target (tests simulate it): choose a target that
most cells reach, or a minimum of 5. Sources: Anscombe, Biometrika 36 (1949) 455; Jain (1991), section 13.9.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Literal

from glusterlab.stats import LEVEL, mean_interval

if TYPE_CHECKING:
    from glusterlab.spec.campaign import Repeats
    from glusterlab.stats import Estimate

Decision = Literal["reached", "at-maximum", "going-on"]
"""How a cell stands to its target: it has it, it ended without, or it may get more repeats."""


def relative_half_width(estimate: Estimate) -> float | None:
    """Half-width of an interval as a share of its centre; None without an interval, or with no centre above 0.

    >>> from glusterlab.stats import mean_interval
    >>> relative_half_width(mean_interval([9.0, 10.0, 11.0])), relative_half_width(mean_interval([1.0]))
    (0.24841..., None)
    """
    if not estimate.has_interval or estimate.centre <= 0:
        return None
    return (estimate.high - estimate.centre) / estimate.centre


def is_reached(values: Iterable[float], half_width: float) -> bool:
    """Whether values determine their mean as well as requested; never with fewer than `MIN_SAMPLES`.

    >>> is_reached([99.0, 100.0, 101.0], 0.05), is_reached([90.0, 100.0, 110.0], 0.05), is_reached([1.0, 1.0], 0.05)
    (True, False, False)
    """
    found = relative_half_width(mean_interval(values))
    return found is not None and found <= half_width


def ends_after(repeats: Repeats, values: Mapping[int, float]) -> int | None:
    """The repeat after which a cell ends because its target is reached; None when it is not.

    `values`: the valid values by repeat, in any unit.

    >>> from glusterlab.spec.campaign import Repeats
    >>> rule = Repeats(min=3, max=10, half_width=0.05)
    >>> ends_after(rule, {1: 90.0, 2: 100.0, 3: 101.0}), ends_after(rule, {1: 99.0, 2: 100.0, 4: 101.0, 5: 100.0})
    (None, 4)
    """
    order = [repeat for repeat in sorted(values) if repeat <= repeats.max]
    for count in range(repeats.least, len(order) + 1):
        if is_reached((values[repeat] for repeat in order[:count]), repeats.half_width):
            return order[count - 1]
    return None


def scatter_of(values: Sequence[float]) -> float | None:
    """Standard deviation of a repeat as a share of the mean; None with fewer than 2 values, or no mean above 0.

    >>> scatter_of([9.0, 10.0, 11.0]), scatter_of([1.0])
    (0.1, None)
    """
    if len(values) < 2 or (mean := statistics.fmean(values)) <= 0:
        return None
    return statistics.stdev(values) / mean


def likely_repeats(repeats: Repeats, scatter: float | None) -> int:
    """How many valid repeats a cell will likely have when it ends, for estimates of time; the minimum when unknown.

    `scatter`: from `scatter_of`, as far as the cell's values tell it.

    >>> from glusterlab.spec.campaign import Repeats
    >>> rule = Repeats(min=3, max=10, half_width=0.05)
    >>> likely_repeats(rule, 0.02), likely_repeats(rule, 0.05), likely_repeats(rule, 0.5), likely_repeats(rule, None)
    (3, 7, 10, 3)
    """
    if scatter is None:
        return repeats.least
    enough = (n for n in range(repeats.least, repeats.max) if scatter * _width(n) <= repeats.half_width)
    return next(enough, repeats.max)


@lru_cache(maxsize=1000)
def _width(n: int) -> float:
    """Half-width of the interval of n values whose standard deviation is 1."""
    from scipy import special

    return float(special.stdtrit(n - 1, (1 + LEVEL) / 2)) / math.sqrt(n)
