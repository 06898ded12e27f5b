"""The number that a sample stands for, and the rule by which a cell has enough of them.

A cell ends after the first repeat by which it has the minimum of valid values, never fewer than `MIN_SAMPLES`, and the
half-width of the 95 % interval of their mean is at most the target's share of it; else at the maximum.

That prefers cells whose first repeats happen to lie close together. With a target of 5 %, 3 to 10 repeats and scatter
of 2, 4, 6, 8, 12 % the intervals of cells that reach the target cover the mean in 95.0, 93.5, 89.8, 81.5, 58.0 % (tests
simulate it): choose a target that most cells reach, or a minimum of 5. Sources: Anscombe, Biometrika 36 (1949) 455;
Jain (1991), section 13.9.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from scipy import special

from glusterlab.errors import ParseError
from glusterlab.stats import LEVEL, NOT_NEGATIVE, Estimate, mean_interval
from glusterlab.store.evidence import with_outputs
from glusterlab.store.imported import read_sample
from glusterlab.tools import runnable
from glusterlab.tools.records import METRICS
from glusterlab.units import short_number

if TYPE_CHECKING:
    from glusterlab.spec.campaign import Repeats
    from glusterlab.spec.cell import Cell
    from glusterlab.store.sample import Sample
    from glusterlab.tools.base import Measurement

Decision = Literal["reached", "at-maximum", "going-on"]


@dataclass(frozen=True, slots=True)
class Measured:
    """What one sample measured, of all workers together, in SI base units.

    >>> str(Measured("throughput_bytes_per_s", 78.04e6)), str(Measured("files_per_s", 458.3))
    ('78.0 MB/s', '458 files/s')
    """

    quantity: str
    value: float

    def __str__(self) -> str:
        metric = METRICS[self.quantity]
        return f"{short_number(self.value * metric.factor)} {metric.unit}"


@dataclass(frozen=True)
class Interval:
    """What the valid repeats of a cell come to: their mean with its 95 % interval, as figures draw it."""

    quantity: str
    estimate: Estimate

    @classmethod
    def of(cls, values: Sequence[Measured]) -> Interval | None:
        if not values:
            return None
        quantity = values[-1].quantity
        numbers = (each.value for each in values if each.quantity == quantity)
        return cls(quantity, mean_interval(numbers, within=NOT_NEGATIVE))

    @property
    def mean(self) -> str:
        """In words; of two groups of samples both centres."""
        return " and ".join(
            str(Measured(self.quantity, each)) for each in self.estimate.groups or (self.estimate.centre,)
        )

    @property
    def half_width(self) -> float | None:
        """As a share of the mean; None without an interval, with no mean above 0, or in two groups, which have none."""
        if not self.estimate.has_interval or self.estimate.centre <= 0:
            return None
        return (self.estimate.high - self.estimate.centre) / self.estimate.centre


def measured(result: Measurement | None) -> Measured | None:
    """The number of a tool's result; None where it has none."""
    if result is None:
        return None
    tool = runnable().get(result.record.tool)
    operation = None if tool is None else tool.by_operation.get(result.record.operation)
    if operation is not None:
        quantity = operation.metric
    else:
        quantity = "throughput_bytes_per_s" if result.record.files_per_s is None else "files_per_s"
    value = getattr(result.record, quantity)
    return None if value is None or not math.isfinite(value) else Measured(quantity, float(value))


def read_result(sample: Sample, cell: Cell, folder: Path) -> Measurement:
    """The tool's result in a sample's folder, which may lie elsewhere than ``sample.path``; else `ParseError`."""
    if sample.origin == "imported":
        return read_sample(folder, cell)
    with with_outputs(folder) as plain:
        return runnable()[cell.tool].parse(plain / "workload", cell)


def stored_values(samples: Iterable[Sample], cells: Mapping[str, Cell]) -> dict[tuple[str, int], Measured]:
    """The numbers of all valid samples of some cells that can be read, by cell id and number; no warm-up."""
    found = {}
    for sample in samples:
        if sample.status == "valid" and not sample.warmup and (cell := cells.get(sample.cell_id)) is not None:
            with suppress(ParseError):
                value = measured(read_result(sample, cell, sample.path))
                if value is not None:
                    found[sample.cell_id, sample.sample] = value
    return found


def ends_after(repeats: Repeats, values: Mapping[int, Measured]) -> int | None:
    """The repeat after which a cell ends because its target is reached; `values`: the valid ones, by repeat."""
    order = [repeat for repeat in sorted(values) if repeat <= repeats.max]
    for count in range(repeats.least, len(order) + 1):
        interval = Interval.of([values[repeat] for repeat in order[:count]])
        if interval and interval.half_width is not None and interval.half_width <= repeats.half_width:
            return order[count - 1]
    return None


def scatter_of(values: Sequence[Measured]) -> float | None:
    """Standard deviation of a repeat as a share of the mean; None with fewer than 2 values, or no mean above 0."""
    numbers = [measured.value for measured in values]
    if len(numbers) < 2 or (mean := statistics.fmean(numbers)) <= 0:
        return None
    return statistics.stdev(numbers) / mean


def likely_repeats(repeats: Repeats, scatter: float | None) -> int:
    """How many valid repeats a cell will likely have when it ends; the minimum while its scatter is not known.

    >>> from glusterlab.spec.campaign import Repeats
    >>> rule = Repeats(min=3, max=10, half_width=0.05)
    >>> likely_repeats(rule, 0.02), likely_repeats(rule, 0.05), likely_repeats(rule, 0.5), likely_repeats(rule, None)
    (3, 7, 10, 3)
    """
    if scatter is None:
        return repeats.least
    quantile = (1 + LEVEL) / 2
    for n in range(repeats.least, repeats.max):
        if scatter * float(special.stdtrit(n - 1, quantile)) / math.sqrt(n) <= repeats.half_width:
            return n
    return repeats.max
