"""Which measured cells a claim compares, and the ratio of them with its 95 % interval.

Every value is per disk and times the scale: what a pool of full size would yield for each of its disks, as the studies
state it. A ratio of two cells of one scale is the same with and without that factor.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from glusterlab.analysis.efficiency import per_disk, with_full_size
from glusterlab.analysis.intervals import INSUFFICIENT, LEVEL, MIN_SAMPLES, Estimate, contrast_interval
from glusterlab.analysis.reading import worker_count
from glusterlab.analysis.series import same_size, split_values, summarise, valid_samples, with_series
from glusterlab.spec.claims import UNITS, Cells, Claim, ClaimLayout
from glusterlab.units import format_size

NATIVE = ("native",)
"""The access of cells where a claim names none: what the studies' sentences speak of unless they say otherwise."""

_AXES = ("layout", "access", "tool", "operation", "size", "workers")
_QUANTITIES = {"files": "files_per_s", "throughput": "throughput_bytes_per_s"}


@dataclass(frozen=True, slots=True)
class Side:
    """The cell that stands for one side of a comparison.

    Attributes
    ----------
    above : bool
        Whether it multiplies the ratio; else it divides it.
    cell_id, series : str
    workers : int
    contenders : int
        Worker counts that may be the best by their samples, this one among them: those with a sample that is no lower
        than the lowest of this one.
    scale : float
    unit : str
        Of `values`.
    values : tuple of float
        One per sample, per disk and times the scale.
    samples : str
        Their numbers in the cell, joined by ``;``.
    """

    above: bool
    cell_id: str
    series: str
    operation: str
    nominal_file_size_bytes: int
    access: str
    workers: int
    contenders: int
    scale: float
    unit: str
    values: tuple[float, ...]
    samples: str

    @property
    def label(self) -> str:
        """The cell in words."""
        size = format_size(self.nominal_file_size_bytes)
        return f"{self.series}, {self.operation} {size}, {worker_count(self.workers)}"


@dataclass(frozen=True, slots=True)
class Comparison:
    """Cells of a claim against each other, or against the published number.

    Attributes
    ----------
    case : int
        Number of the claim's case, from 0.
    label : str
        What is compared, in words.
    sides : tuple of Side
        Empty where one of them is missing.
    estimate : Estimate
        The ratio with its 95 % interval; of a value, measured / published.
    corrected : Estimate
        The same at 1 - 0.05 / k for a claim of k comparisons (Bonferroni).
    strict : Estimate
        The same at 1 - 0.05 / (k x m), where m worker counts may be the best ones of a side.
    missing : str
        Why there is no ratio, with the cells; empty where there is one.
    lacks : str
        The same in a few words.
    """

    case: int
    label: str
    sides: tuple[Side, ...]
    estimate: Estimate
    corrected: Estimate
    strict: Estimate
    missing: str = ""
    lacks: str = ""


class _Cells:
    """Rows that can be asked for those that selectors mean."""

    def __init__(self, rows: pd.DataFrame, layouts: Mapping[str, ClaimLayout]) -> None:
        self._rows, self._layouts = rows, layouts
        names = ("type", "geometry", "kind", "server_model", "access", "tool", "operation")
        # one take at the end: a frame for each selector costs ten times as much
        self._text = {name: rows[name].astype(str).to_numpy() for name in names}
        self._masks: dict[tuple[str, Hashable], np.ndarray[tuple[int], np.dtype[np.bool_]]] = {}

    def matching(self, cells: Cells) -> pd.DataFrame:
        """The rows of one value of each selector."""
        mask = self._mask("access", (cells.access or NATIVE)[0])
        for name in ("layout", "tool", "operation", "size", "workers"):
            if (values := getattr(cells, name)) is not None:
                mask = mask & self._mask(name, values[0])
        return self._rows[mask]

    def _mask(self, name: str, value: Hashable) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        if (name, value) not in self._masks:
            if name == "layout":
                mask = self._of_layout(self._layouts[str(value)])
            elif name == "size":
                mask = same_size(self._rows["nominal_file_size_bytes"], float(str(value))).to_numpy()
            elif name == "workers":
                mask = (self._rows["workers"] == value).to_numpy()
            else:
                mask = self._text[name] == value
            self._masks[name, value] = np.asarray(mask, dtype=np.bool_)
        return self._masks[name, value]

    def _of_layout(self, layout: ClaimLayout) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        mask = (self._text["type"] == layout.type) & (self._text["kind"] == layout.kind)
        if layout.geometry is not None:
            mask = mask & (self._text["geometry"] == layout.geometry)
        other = {"standard", "dense"} - {layout.server_model}
        if layout.server_model is not None:
            mask = mask & ~np.isin(self._text["server_model"], list(other))
        return np.asarray(mask, dtype=np.bool_)


class Campaign:
    """A campaign's samples, ready to be asked for the cells of claims.

    Parameters
    ----------
    samples : pandas.DataFrame
        The samples table.
    layouts : mapping of str to ClaimLayout
        The study's layouts by name.
    """

    def __init__(self, samples: pd.DataFrame, layouts: Mapping[str, ClaimLayout]) -> None:
        self._all = _Cells(samples[~samples["warmup"]], layouts)
        valid = valid_samples(samples)
        valid = with_series(valid[valid["disks"] > 0].reset_index(drop=True))
        self._points = {
            name: _Cells(with_full_size(per_disk(summarise(valid, column))), layouts)
            for name, column in _QUANTITIES.items()
        }

    def comparisons(self, claim: Claim) -> list[Comparison]:
        """All comparisons of a claim, of cases in the order of its lists."""
        shared = claim.cells or Cells()
        found: list[tuple[int, list[tuple[bool, Cells]]]] = []
        for case, one in enumerate(_each(shared)):
            if claim.of is None or claim.to is None:
                found.append((case, [(True, one)]))
                continue
            for of, to in itertools.product(_each(_over(one, claim.of)), _each(_over(one, claim.to))):
                terms = [(True, of), (False, to)]
                if claim.against is not None:
                    pair = claim.against
                    terms += [(False, _over(one, pair.of)), (True, _over(one, pair.to))]
                found.append((case, terms))
        return [self._compare(claim, case, terms, len(found)) for case, terms in found]

    def _compare(self, claim: Claim, case: int, terms: list[tuple[bool, Cells]], count: int) -> Comparison:
        quantity = claim.quantity or ("files" if "smallfile" in (terms[0][1].tool or ()) else "throughput")
        nothing = Estimate(math.nan, math.nan, math.nan, 0, INSUFFICIENT)
        label = " / ".join(_words(cells) for _, cells in terms)
        matched = []
        for _, cells in terms:
            rows = self._points[quantity].matching(cells)
            if rows.empty:
                return Comparison(case, label, (), nothing, nothing, nothing, *self._why_missing(cells))
            matched.append(rows)
        chosen = [_best(rows) for rows in _at_one_scale(matched)]
        unit = "files/s per disk" if quantity == "files" else "MB/s per disk"
        sides = tuple(_side(*row, above, unit) for (above, _), row in zip(terms, chosen, strict=True))
        contenders = max(math.prod(side.contenders for side in sides if side.above == above) for above in (True, False))
        levels = [1 - (1 - LEVEL) / by for by in (1, count, count * contenders)]
        if claim.kind == "value" and isinstance(claim.published.value, float):
            factor = UNITS[unit] / UNITS[claim.published.unit] / claim.published.value
            above, below = [tuple(value * factor for value in sides[0].values)], []
        else:
            above = [side.values for side in sides if side.above]
            below = [side.values for side in sides if not side.above]
        estimate, corrected, strict = (contrast_interval(above, below, level) for level in levels)
        return Comparison(case, " / ".join(side.label for side in sides), sides, estimate, corrected, strict)

    def _why_missing(self, cells: Cells) -> tuple[str, str]:
        rows = self._all.matching(cells)
        words = _words(cells)
        if rows.empty:
            return f"the campaign has no such cells: {words}", "the campaign has no such cells"
        if not (rows["status"].astype(str) == "valid").any():
            counts = rows["status"].astype(str).value_counts().sort_index()
            found = ", ".join(f"{count} {status}" for status, count in counts.items())
            return f"no sample of {words} is valid: {found}", "no sample is valid"
        return f"the samples of {words} have no number per disk", "the samples have no number per disk"


def _each(cells: Cells) -> Iterator[Cells]:
    """Selectors with one value each."""
    axes = {name: getattr(cells, name) for name in _AXES if getattr(cells, name) is not None}
    for values in itertools.product(*axes.values()):
        yield Cells.model_validate({name: (value,) for name, value in zip(axes, values, strict=True)})


def _over(shared: Cells, own: Cells) -> Cells:
    """The selectors of one side: its own, else the claim's."""
    return Cells.model_validate({name: getattr(own, name) or getattr(shared, name) for name in _AXES})


def _words(cells: Cells) -> str:
    parts = [*(cells.layout or ()), *(cells.tool or ()), *(cells.operation or ())]
    parts += [format_size(size) for size in cells.size or ()]
    parts += [access for access in cells.access or () if access != "native"]
    parts += [worker_count(count) for count in cells.workers or ()]
    return " ".join(parts)


def _at_one_scale(matched: list[pd.DataFrame]) -> list[pd.DataFrame]:
    """Only cells of one scale on all sides where there is such a scale: the one with the most samples."""
    scales = [set(rows["scale"].astype(float)) for rows in matched]
    common = set.intersection(*scales)
    if not common:
        return matched

    def weight(scale: float) -> tuple[int, float]:
        return min(int(rows[rows["scale"] == scale]["n"].max()) for rows in matched), -scale

    best = max(common, key=weight)
    return [rows[rows["scale"] == best] for rows in matched]


def _best(rows: pd.DataFrame) -> tuple[pd.Series, int]:
    """The row with the highest mean, and how many contend; rows with enough samples for an interval go first."""
    enough = rows[rows["n"] >= MIN_SAMPLES]
    candidates = rows if enough.empty else enough
    best = candidates.iloc[int(candidates["full_size_mean"].astype(float).to_numpy().argmax())]
    lowest = min(split_values(str(best["values"]))) * float(best["scale"])
    highest = [
        max(split_values(str(values))) * float(scale)
        for values, scale in zip(candidates["values"], candidates["scale"], strict=True)
    ]
    return best, sum(value >= lowest for value in highest)


def _side(row: pd.Series, contenders: int, above: bool, unit: str) -> Side:
    scale = float(row["scale"])
    return Side(
        above=above,
        cell_id=str(row["cell_id"]),
        series=str(row["series"]),
        operation=str(row["operation"]),
        nominal_file_size_bytes=int(row["nominal_file_size_bytes"]),
        access=str(row["access"]),
        workers=int(row["workers"]),
        contenders=contenders,
        scale=scale,
        unit=unit,
        values=tuple(value * scale / UNITS[unit] for value in split_values(str(row["values"]))),
        samples=str(row["samples"]),
    )
