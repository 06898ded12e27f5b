"""The number that a sample stands for: the one that figures draw, stopping rules use, and people read in a log."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from glusterlab.errors import ParseError
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
    """

    quantity: str
    value: float

    def __str__(self) -> str:
        return in_units(self.quantity, self.value)


def in_units(quantity: str, value: float) -> str:
    """A value for a person.

    Examples
    --------
    >>> in_units("throughput_bytes_per_s", 78.04e6), in_units("files_per_s", 458.3)
    ('78.0 MB/s', '458 files/s')
    """
    metric = METRICS[quantity]
    return f"{short_number(value * metric.factor)} {metric.unit}"


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


def measured_by(sample: Sample, cell: Cell) -> Measured | None:
    """The number of a stored sample; None when it has none that can be read, of which `glusterlab verify` says why."""
    try:
        return measured(read_result(sample, cell, sample.path))
    except ParseError:
        return None


def stored_values(samples: Iterable[Sample], cells: Mapping[str, Cell]) -> dict[tuple[str, int], Measured]:
    """The numbers of all valid samples of some cells, by cell id and number of the sample; warm-up left out."""
    found = {}
    for sample in samples:
        if sample.status == "valid" and not sample.warmup and sample.cell_id in cells:
            value = measured_by(sample, cells[sample.cell_id])
            if value is not None:
                found[sample.cell_id, sample.sample] = value
    return found
