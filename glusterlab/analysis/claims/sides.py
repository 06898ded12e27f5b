"""Which of several measured cells stands for a side of a comparison, and whether two sides may be compared."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace

import pandas as pd

from glusterlab.analysis.efficiency import GROUP, saturation_points
from glusterlab.analysis.select import SIZE_TOLERANCE, split_values
from glusterlab.analysis.words import worker_count
from glusterlab.spec.claims import UNITS
from glusterlab.stats import MIN_SAMPLES, contrast_interval
from glusterlab.units import format_size

LENGTH_FACTOR = 2.0
"""Sides are compared where the lengths of their files differ by no more than this factor, within `SIZE_TOLERANCE`."""


@dataclass(frozen=True, slots=True)
class Side:
    """The cell that stands for one side of a comparison.

    With ``above`` it multiplies the ratio, else it divides it. ``contenders`` counts the worker counts that may be the
    best: those with a sample no lower than the lowest of this one. Where more workers were still faster at the end
    (``rising``), `values` is a lower bound. ``length``: by how much files are longer than the scale asks; 1 where the
    model keeps their size. ``values`` are per sample, per disk and times the scale, in ``unit``.
    """

    above: bool
    cell_id: str
    campaign: str
    series: str
    operation: str
    nominal_file_size_bytes: int
    access: str
    workers: int
    contenders: int
    rising: bool
    length: float
    files_per_worker: int
    scale: float
    unit: str
    values: tuple[float, ...]
    samples: str

    @property
    def label(self) -> str:
        """The cell in words."""
        size = format_size(self.nominal_file_size_bytes)
        return f"{self.series}, {self.operation} {size}, {worker_count(self.workers)}"

    @property
    def other_length(self) -> bool:
        """Whether files are longer or shorter than the scale asks."""
        return abs(self.length - 1) > SIZE_TOLERANCE


def lengths(rows: pd.DataFrame) -> pd.Series:
    """By how much files are longer or shorter than the scale asks; 1 where the model keeps their size."""
    written, nominal = rows["file_size_bytes"].astype(float), rows["nominal_file_size_bytes"].astype(float)
    return (written * rows["scale"].astype(float) / nominal).where(written != nominal, 1.0)


def aligned(pair: Sequence[pd.DataFrame], column: str) -> list[pd.DataFrame]:
    """Only cells with one value of a column on both sides of a ratio, where there is one: the one of most samples."""
    values = [set(rows[column]) for rows in pair]
    common = set.intersection(*values)
    if not common or all(len(each) == 1 for each in values):
        return list(pair)

    def samples(value: Hashable) -> int:
        return min(int(rows.loc[rows[column] == value, "n"].max()) for rows in pair)

    best = max(sorted(common), key=samples)
    return [rows[rows[column] == best] for rows in pair]


def at_common_workers(matched: Sequence[pd.DataFrame]) -> list[pd.DataFrame]:
    """Only rows of worker counts that all sides have, with samples enough for an interval where there are such."""
    for least in (MIN_SAMPLES, 1):
        kept = [rows[rows["n"] >= least] for rows in matched]
        if common := set.intersection(*(set(rows["workers"]) for rows in kept)):
            return [rows[rows["workers"].isin(common)] for rows in kept]
    return []


def joined(numbers: Sequence[int]) -> str:
    """Numbers in words.

    Examples
    --------
    >>> joined([1, 12, 24]), joined([48])
    ('1, 12 and 24', '48')
    """
    *first, last = (str(int(number)) for number in numbers)
    return f"{', '.join(first)} and {last}" if first else last


def length_text(length: float) -> str:
    """How long files are, measured by what the scale asks.

    Examples
    --------
    >>> length_text(0.0305), length_text(0.488), length_text(3.906)
    ('1/33 as long', '1/2 as long', '3.9 times as long')
    >>> length_text(1.0), length_text(0.97)
    ('as long', 'as long')
    """
    if abs(length - 1) <= SIZE_TOLERANCE:
        return "as long"
    return f"1/{1 / length:.2g} as long" if length < 1 else f"{length:.2g} times as long"


def other_lengths(sides: Sequence[Side]) -> str:
    """Why the files of the sides are too different to be compared; empty where they are not."""
    found = [side.length for side in sides]
    if max(found) <= LENGTH_FACTOR * (1 + SIZE_TOLERANCE) * min(found):
        return ""
    told = [f"{format_size(side.nominal_file_size_bytes)} files were {length_text(side.length)}" for side in sides]
    return f"{', '.join(dict.fromkeys(told))} as the scale asks, so they do not show what their sizes do"


def leading(sides: Sequence[Side]) -> tuple[Side, ...]:
    """Both ratios the way round in which they are 1 or more."""
    found: list[Side] = []
    for first in range(0, len(sides), 2):
        pair = sides[first : first + 2]
        turn = contrast_interval([pair[0].values], [pair[1].values]).centre < 1
        found += [replace(side, above=side.above != turn) for side in pair]
    return tuple(found)


def best_side(rows: pd.DataFrame, unit: str, *, above: bool) -> Side:
    """The cell with the highest mean of at least one; those with enough samples for an interval go first."""
    enough = rows[rows["n"] >= MIN_SAMPLES]
    candidates = rows if enough.empty else enough
    best = candidates.iloc[int(candidates["full_size_mean"].astype(float).to_numpy().argmax())]
    scale = float(best["scale"])
    lowest = min(split_values(str(best["values"]))) * scale
    highest = [
        max(split_values(str(values))) * float(by)
        for values, by in zip(candidates["values"], candidates["scale"], strict=True)
    ]
    return Side(
        above=above,
        cell_id=str(best["cell_id"]),
        campaign=str(best["campaign"]),
        series=str(best["series"]),
        operation=str(best["operation"]),
        nominal_file_size_bytes=int(best["nominal_file_size_bytes"]),
        access=str(best["access"]),
        workers=int(best["workers"]),
        contenders=sum(value >= lowest for value in highest),
        rising=_still_rising(candidates, best),
        length=float(best["length"]),
        files_per_worker=int(best["files_per_worker"]),
        scale=scale,
        unit=unit,
        values=tuple(value * scale / UNITS[unit] for value in split_values(str(best["values"]))),
        samples=str(best["samples"]),
    )


def _still_rising(candidates: pd.DataFrame, best: pd.Series) -> bool:
    curve = candidates
    for name in GROUP:
        curve = curve[curve[name] == best[name]]
    if len(curve) == 1 or best["workers"] != curve["workers"].max():
        return False
    return bool(saturation_points(curve)["still_rising"].iloc[0])
