"""The number that a sample stands for: the one that figures draw, stopping rules look at, and people read in a log."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from glusterlab.errors import ParseError
from glusterlab.units import MEGABYTE, short_number

if TYPE_CHECKING:
    from glusterlab.rawsample import Sample
    from glusterlab.spec.cell import Cell
    from glusterlab.workloads.base import WorkloadResult

Quantity = Literal["throughput_bytes_per_s", "files_per_s"]
"""Columns of the samples table that figures draw: files per second where the tool counts files, else throughput."""

UNITS: dict[Quantity, tuple[str, float]] = {
    "throughput_bytes_per_s": ("MB/s", 1 / MEGABYTE),
    "files_per_s": ("files/s", 1.0),
}
"""How people read a quantity: its unit, and the factor from SI."""


@dataclass(frozen=True, slots=True)
class Measured:
    """What one sample measured.

    Attributes
    ----------
    quantity : {"throughput_bytes_per_s", "files_per_s"}
    value : float
        Of all workers together, in SI base units.
    """

    quantity: Quantity
    value: float

    def __str__(self) -> str:
        return in_units(self.quantity, self.value)


def in_units(quantity: Quantity, value: float) -> str:
    """A value for a person.

    Examples
    --------
    >>> in_units("throughput_bytes_per_s", 78.04e6), in_units("files_per_s", 458.3)
    ('78.0 MB/s', '458 files/s')
    """
    unit, factor = UNITS[quantity]
    return f"{short_number(value * factor)} {unit}"


def measured(result: WorkloadResult | None) -> Measured | None:
    """The number of a tool's result; None where it has none."""
    if result is None:
        return None
    quantity: Quantity = "throughput_bytes_per_s" if result.files_per_s is None else "files_per_s"
    value = getattr(result, quantity)
    return None if value is None or not math.isfinite(value) else Measured(quantity, float(value))


def read_result(sample: Sample, cell: Cell, folder: Path) -> WorkloadResult:
    """The tool's result in a sample's folder, whoever measured it.

    Parameters
    ----------
    folder : pathlib.Path
        Where the sample's files lie now: of a remote campaign another place than ``sample.path``.

    Raises
    ------
    ParseError
        When there is none that can be read.
    """
    if sample.origin == "imported":
        from glusterlab.imports.sample import read_sample

        return read_sample(folder, cell)
    from glusterlab.workloads import TOOLS

    return TOOLS[cell.tool].parse(folder / "workload", cell)


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
