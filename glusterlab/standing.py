"""Where a cell stands after one of its samples: for people who watch a run, or read its log."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from glusterlab.errors import RawStoreError
from glusterlab.measured import Measured, measured, measured_by
from glusterlab.rawsample import Sample
from glusterlab.stopping import relative_half_width

if TYPE_CHECKING:
    from glusterlab.spec.cell import Cell
    from glusterlab.workloads.base import WorkloadResult

_SAMPLES = "sample-[0-9]*/sample.json"


@dataclass(frozen=True)
class Standing:
    """What the last sample of a cell measured, and the interval of its valid repeats by then.

    Attributes
    ----------
    last : Measured or None
        None where the tool left no result.
    n : int
        Valid repeats with a result, the last one included.
    mean : Measured or None
    half_width : float or None
        Of the mean's 95 % interval, as the figures show it, as a share of the mean; None with too few repeats.
    """

    last: Measured | None = None
    n: int = 0
    mean: Measured | None = None
    half_width: float | None = None

    @property
    def interval(self) -> str:
        """The interval for a person; empty when there is nothing to tell.

        Examples
        --------
        >>> mean = Measured("files_per_s", 458.3)
        >>> Standing(mean, 3, mean, 0.021).interval
        'mean 458 files/s ± 2.1 %, n = 3'
        >>> Standing(mean, 2, mean).interval
        'n = 2'
        """
        if self.mean is None or self.half_width is None:
            return f"n = {self.n}" if self.n else ""
        return f"mean {self.mean} ± {100 * self.half_width:.1f} %, n = {self.n}"


def standing(sample: Sample, cell: Cell, result: WorkloadResult | None) -> Standing:
    """Where a cell stands after one of its samples.

    Parameters
    ----------
    sample : Sample
        In the raw store, beside the cell's earlier ones.
    cell : Cell
    result : WorkloadResult or None
        Of this sample.
    """
    last = measured(result)
    values = [value.value for value in _earlier(sample.path.parent, sample.sample, cell)]
    if last is not None and _counts(sample):
        values.append(last.value)
    if not values or last is None:
        return Standing(last, len(values))
    mean = Measured(last.quantity, math.fsum(values) / len(values))
    return Standing(last, len(values), mean, _half_width(values))


def _half_width(values: list[float]) -> float | None:
    if len(values) < 2:
        # what an interval is made with takes a second to import
        return None
    from glusterlab.analysis.intervals import mean_interval

    share = relative_half_width(mean_interval(values))
    return None if math.isnan(share) else share


def _counts(sample: Sample) -> bool:
    return sample.status == "valid" and not sample.warmup


def _earlier(folder: Path, number: int, cell: Cell) -> Iterator[Measured]:
    """What a cell's valid samples before one of them measured."""
    found = ((path.parent, int(path.parent.name.removeprefix("sample-"))) for path in folder.glob(_SAMPLES))
    for path, _ in sorted(entry for entry in found if entry[1] < number):
        value = stored_value(path, cell)
        if value is not None:
            yield value


@lru_cache(maxsize=10_000)
def stored_value(folder: Path, cell: Cell) -> Measured | None:
    """What a stored sample measured, read once: a stored sample does not change.

    Parameters
    ----------
    folder : pathlib.Path
        The sample's.
    cell : Cell

    Returns
    -------
    Measured or None
        None unless the sample is valid, no warm-up, and its tool's result can be read.
    """
    try:
        sample = Sample.read(folder)
    except RawStoreError:
        return None
    return measured_by(sample, cell) if _counts(sample) else None
