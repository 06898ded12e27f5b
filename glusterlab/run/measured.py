"""The number that a sample stands for: the one that figures draw, stopping rules use, and people read in a log."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from glusterlab.errors import ParseError
from glusterlab.run.stopping import relative_half_width
from glusterlab.stats import Estimate, mean_interval
from glusterlab.store.evidence import with_outputs
from glusterlab.store.imported import read_sample
from glusterlab.tools import runnable
from glusterlab.tools.records import METRICS
from glusterlab.units import short_number

if TYPE_CHECKING:
    from glusterlab.spec.cell import Cell
    from glusterlab.store.sample import Sample
    from glusterlab.tools.base import Measurement


@dataclass(frozen=True, slots=True)
class Measured:
    """What one sample measured.

    `value`: of all workers together, in SI base units.

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
        return cls(quantity, mean_interval(each.value for each in values if each.quantity == quantity))

    @property
    def mean(self) -> str:
        return str(Measured(self.quantity, self.estimate.centre))

    @property
    def half_width(self) -> float | None:
        """As a share of the mean; None where the values are too few for an interval."""
        return relative_half_width(self.estimate)


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
    """The tool's result in a sample's folder, whoever measured it.

    `folder`: where the sample's files lie now: of a remote campaign another place than ``sample.path``. Raises
    `ParseError` when there is none that can be read.
    """
    if sample.origin == "imported":
        return read_sample(folder, cell)
    with with_outputs(folder) as plain:
        return runnable()[cell.tool].parse(plain / "workload", cell)


def stored_values(samples: Iterable[Sample], cells: Mapping[str, Cell]) -> dict[tuple[str, int], Measured]:
    """The numbers of all valid samples of some cells, by cell id and number of the sample; warm-up left out.

    Where a result cannot be read there is none, and `glusterlab verify` says why.
    """
    found = {}
    for sample in samples:
        if sample.status == "valid" and not sample.warmup and (cell := cells.get(sample.cell_id)) is not None:
            with suppress(ParseError):
                value = measured(read_result(sample, cell, sample.path))
                if value is not None:
                    found[sample.cell_id, sample.sample] = value
    return found
