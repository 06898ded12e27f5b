"""The cells that a claim compares, per disk and times the scale, and their ratio with its 95 % interval."""

import itertools
import math
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from glusterlab.analysis.efficiency import GROUP, divided, saturation_point
from glusterlab.analysis.select import (
    SIZE_TOLERANCE,
    levels,
    same_size,
    split_values,
    summarise,
    valid_samples,
    with_series,
)
from glusterlab.analysis.words import joined, worker_count
from glusterlab.errors import UsageError
from glusterlab.spec.cell import work_differences
from glusterlab.spec.claims import QUANTITIES, SUFFIXES, UNITS, Cells, Claim, Measure, Per, Quantity
from glusterlab.spec.models import MODEL, Form, model_limits
from glusterlab.spec.studies import StudyLayout
from glusterlab.stats import INSUFFICIENT, LEVEL, MIN_SAMPLES, Estimate, contrast_interval
from glusterlab.tools import counts_files
from glusterlab.units import format_size

_AXES = tuple(Cells.model_fields)
_OTHER_NAMES = {"record_size": "record_size_bytes", "runtime": "runtime_s", "release": "gluster_version"}
_COLUMNS = {name: _OTHER_NAMES.get(name, name) for name in _AXES if name not in ("layout", "size")}
_UNLESS_SAID: dict[str, tuple[Any, ...]] = {
    "access": ("native",), "hot": ("",), "features": ("",), "event": ("",), "mounts": (1,), "caches": ("cold",),
}  # fmt: skip
_TEXT = ("type", "geometry", "kind", "server_model", "access", "tool", "operation", "status")

LENGTH_FACTOR = 2.0  # by which lengths of files may differ, within `SIZE_TOLERANCE`, for sides to be compared


@dataclass(frozen=True, slots=True)
class Side:
    """The cell that stands for one side of a comparison."""

    above: bool  # it multiplies the ratio, else it divides it
    cell_id: str
    campaign: str
    label: str
    nominal_file_size_bytes: int
    workers: int
    contenders: int  # worker counts with a sample no lower than the lowest of this one
    rising: bool  # more workers were still faster: ``values`` are a lower bound
    length: float  # by how much files are longer than the scale asks; 1 where the model keeps their size
    files_per_worker: int
    scale: float  # what is measured stands for so many times as much; 1 of what is not scaled
    unit: str
    values: tuple[float, ...]  # per sample, per disk, times the scale, in ``unit``
    samples: str
    cell: Mapping[str, Any]  # what the samples table says of it


_NOTHING = Estimate(math.nan, math.nan, math.nan, 0, INSUFFICIENT)


@dataclass(frozen=True, slots=True)
class Comparison:
    """Cells of a claim against each other or the published number: one of k comparisons, at m worker counts."""

    case: int  # number of the claim's case, from 0
    label: str
    sides: tuple[Side, ...] = ()
    estimate: Estimate = _NOTHING  # the ratio with its 95 % interval; of a value, measured / published
    corrected: Estimate = _NOTHING  # at 1 - 0.05 / k (Bonferroni)
    selected: Estimate = _NOTHING  # at 1 - 0.05 / m
    strict: Estimate = _NOTHING  # at 1 - 0.05 / (k x m)
    missing: str = ""  # why no ratio counts
    lacks: str = ""  # the same in a few words
    limit: str = ""  # why the cells' scale model cannot tell what the claim states
    notes: tuple[str, ...] = ()

    @property
    def cells(self) -> str:
        """The measured ratio: ids of the cells that multiply it, and of those that divide it, whichever way round."""
        sides = (";".join(sorted(one.cell_id for one in self.sides if one.above == above)) for above in (True, False))
        return "/".join(sorted(filter(None, sides)))


def _pairs(terms: Sequence[Any]) -> list[tuple[Any, ...]]:
    """The two terms of each ratio; of a value one alone."""
    return [tuple(terms[first : first + 2]) for first in range(0, len(terms), 2)]


class _NotThereError(Exception):
    """Nothing to compare: why, and the same in a few words."""


def join_campaigns(tables: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Samples of several campaigns as of one, ``cell_id`` as ``campaign/cell_id``; `UsageError` for two of one name."""
    if len(tables) == 1:
        return tables[0]
    names = [name for table in tables for name in sorted(set(table["campaign"].astype(str)))]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise UsageError(f"expected campaigns of different names, found {', '.join(twice)} twice")
    whole = pd.concat(tables, ignore_index=True)
    return whole.assign(cell_id=whole["campaign"].astype(str) + "/" + whole["cell_id"].astype(str))


def _plain(table: pd.DataFrame) -> pd.DataFrame:
    """A table with texts as Python's, in one block by type: claims take rows of it a thousand times."""
    return table.astype(dict.fromkeys(table.select_dtypes("str"), object)).copy()


class Campaign:
    """A campaign's samples, to be asked for the cells of a study's claims; ``columns`` has another view of rates."""

    def __init__(
        self,
        samples: pd.DataFrame,
        layouts: Mapping[str, StudyLayout],
        servers: Sequence[str] = (),
        columns: Mapping[Quantity, str] | None = None,
    ) -> None:
        samples = _plain(samples.astype(dict.fromkeys(_TEXT, str)))
        self._all, self._valid = samples[~samples["warmup"]], valid_samples(samples)
        self._layouts, self._servers = layouts, {*servers, *(each.server_model for each in layouts.values())} - {None}
        self._columns = {name: of.column for name, of in QUANTITIES.items()} | {**(columns or {})}
        self._found: dict[tuple[Quantity, Per], pd.DataFrame] = {}
        self._matched: dict[tuple[int, Cells], tuple[pd.DataFrame, pd.DataFrame]] = {}

    def _matching(self, rows: pd.DataFrame, cells: Cells) -> pd.DataFrame:
        """The rows of one value of each selector; those that a claim does not say have a plain value."""
        # many claims ask for the same; the table is kept beside, so that no other one gets its id
        if (key := (id(rows), cells)) in self._matched:
            return self._matched[key][1]
        mask = np.ones(len(rows), dtype=bool)
        for name, column in _COLUMNS.items():
            if values := getattr(cells, name) or _UNLESS_SAID.get(name):
                if column not in rows:
                    mask &= values == _UNLESS_SAID.get(name)
                    continue
                found = rows[column].to_numpy()
                # a study that says NFS means version 3, and so do results that do not say
                mask &= (found == "nfs3") | (found == "nfs") if values[0] == "nfs" else found == values[0]
        if cells.size is not None:
            mask &= same_size(rows["nominal_file_size_bytes"], cells.size[0]).to_numpy()
        if cells.layout is not None:
            layout = self._layouts[cells.layout[0]]
            for name in ("type", "kind", "geometry"):
                if (value := getattr(layout, name)) is not None:
                    mask &= rows[name].to_numpy() == value
            if layout.server_model is not None:
                mask &= ~rows["server_model"].isin(self._servers - {layout.server_model}).to_numpy()
        return self._matched.setdefault(key, (rows, rows[mask]))[1]

    def _points(self, quantity: Quantity, per: Per) -> pd.DataFrame:
        """The cells with their values, rates per disk, per server or of the volume and times the scale (`factor`)."""
        if (quantity, per) not in self._found:
            by = {"disk": "disks", "server": "servers"}.get(per)
            rows = self._valid if by is None else self._valid[self._valid[by] > 0]
            rows = with_series(rows.reset_index(drop=True))
            cells = rows.drop_duplicates("cell_id").set_index("cell_id")
            cells.index = cells.index.astype(str)
            points = summarise(rows, self._columns[quantity])
            ids = points["cell_id"].astype(str)
            wanted = ("campaign", "servers", "heads", "disk_latency_s", *_COLUMNS.values())
            columns = [of for of in wanted if of in {*cells} - {*points}]
            points = points.assign(**{name: ids.map(cells[name]) for name in columns}).astype({"campaign": str})
            if by is not None:
                points = divided(points, points[by], f"_per_{per}")
            written, nominal = (points[f"{name}file_size_bytes"].astype(float) for name in ("", "nominal_"))
            length = (written * points["scale"].astype(float) / nominal).where(written != nominal, 1.0)
            factor = points["scale"].astype(float) if QUANTITIES[quantity].scaled else 1.0
            self._found[quantity, per] = _plain(points.assign(length=length, factor=factor))
        return self._found[quantity, per]

    def comparisons(self, claim: Claim) -> list[Comparison]:
        found: list[tuple[int, list[tuple[bool, Cells]]]] = []
        for case, one in enumerate(_each(claim.cells or Cells())):
            if claim.of is None or claim.to is None:
                found.append((case, [(True, one)]))
                continue
            for of, to in itertools.product(_each(_over(one, claim.of)), _each(_over(one, claim.to))):
                terms = [(True, of), (False, to)]
                if claim.against is not None:
                    terms += [(False, _over(one, claim.against.of)), (True, _over(one, claim.against.to))]
                found.append((case, terms))
        return [self._compare(claim, case, terms, len(found)) for case, terms in found]

    def _compare(self, claim: Claim, case: int, terms: list[tuple[bool, Cells]], count: int) -> Comparison:
        try:
            sides, notes = self._sides(claim, terms)
        except _NotThereError as missing:
            why, lacks = missing.args
            return Comparison(case, _label(terms), missing=why, lacks=lacks)
        contenders = max(math.prod(side.contenders for side in sides if side.above == above) for above in (True, False))
        above, below = ([side.values for side in sides if side.above == up] for up in (True, False))
        if claim.kind == "value" and isinstance(claim.published.value, float):
            units = QUANTITIES[UNITS[claim.published.unit]].units
            factor = units[sides[0].unit] / units[claim.published.unit] / claim.published.value
            above = [tuple(value * factor for value in sides[0].values)]
        levels = [1 - (1 - LEVEL) / by for by in (1, count, contenders, count * contenders)]
        by_level = {level: contrast_interval(above, below, level) for level in set(levels)}
        label = " / ".join(side.label for side in sides)
        limit = model_limit([side.cell for side in sides], self._quantity(claim, [cells for _, cells in terms]))
        estimate, corrected, selected, strict = (by_level[level] for level in levels)
        unequal = "" if limit else _unequal(sides, [cells for _, cells in terms])
        found = Comparison(case, label, sides, estimate, corrected, selected, strict, limit=limit, notes=notes)
        words = "the sides did unequal work"
        return replace(found, missing=f"{words}: {unequal}", lacks=words) if unequal else found

    @staticmethod
    def _quantity(claim: Claim, selectors: Sequence[Cells]) -> Quantity:
        by_tool: Quantity = "files" if any(map(counts_files, selectors[0].tool or ())) else "throughput"
        return claim.quantity or UNITS.get(claim.unit, by_tool)

    def _sides(self, claim: Claim, terms: list[tuple[bool, Cells]]) -> tuple[tuple[Side, ...], tuple[str, ...]]:
        """The cells that stand for the terms, and what is to be known of them."""
        selectors = [cells for _, cells in terms]
        quantity = self._quantity(claim, selectors)
        measure = QUANTITIES[quantity]
        unit = measure.unit + SUFFIXES[claim.divisor]
        points = self._points(quantity, claim.divisor)
        matched = [self._matching(points, cells) for cells in selectors]
        for cells, rows in zip(selectors, matched, strict=True):
            if rows.empty:
                raise _NotThereError(*self._why_missing(cells, unit))
        for column in ("tool", "scale", "heads", "campaign"):
            matched = [rows for pair in _pairs(matched) for rows in aligned(pair, column)]
        notes = []
        # what is of one size and tool was measured with the same worker counts
        others = any(len({getattr(cells, name) for cells in selectors}) > 1 for name in ("size", "operation", "tool"))
        if others and not any(cells.workers for cells in selectors):
            before = [set(rows["workers"]) for rows in matched]
            matched = at_common_workers(matched)
            if not matched:
                lacks = "the sides have no worker count in common"
                had = "; ".join(joined(map(int, sorted(counts))) for counts in before)
                raise _NotThereError(f"{lacks}: {had} ({_label(terms)})", lacks)
            common = set(matched[0]["workers"])
            if any(counts != common for counts in before):
                notes.append(f"compared at {joined(map(int, sorted(common)))} workers only, which all sides have")
        pairs = zip(terms, matched, strict=True)
        sides = tuple(best_side(rows, measure, unit, above=above) for (above, _), rows in pairs)
        lengths = [side.length for side in sides]
        if max(lengths) > LENGTH_FACTOR * (1 + SIZE_TOLERANCE) * min(lengths):
            words = [f"{format_size(of.nominal_file_size_bytes)} files were {length_text(of.length)}" for of in sides]
            why = f"{', '.join(dict.fromkeys(words))} as the scale asks, so they do not show what their sizes do"
            raise _NotThereError(why, "files were shortened or lengthened by different factors")
        if claim.against is not None and claim.against.either_way:
            # both ratios the way round in which they are 1 or more
            turns = [contrast_interval([of.values], [to.values]).centre < 1 for of, to in _pairs(sides) for _ in (0, 1)]
            sides = tuple(replace(side, above=side.above != turn) for side, turn in zip(sides, turns, strict=True))
        return sides, (*notes, *_notes(sides))

    def _why_missing(self, cells: Cells, unit: str) -> tuple[str, str]:
        rows, words = self._matching(self._all, cells), _words(cells)
        if rows.empty:
            return f"the campaign has no such cells: {words}", "the campaign has no such cells"
        if not (rows["status"] == "valid").any():
            counts = rows["status"].value_counts().sort_index()
            found = ", ".join(f"{count} {status}" for status, count in counts.items())
            return f"no sample of {words} is valid: {found}", "no sample is valid"
        return f"the samples of {words} have no number ({unit})", f"the samples have no number ({unit})"


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
    parts += [f"by {name}" for name in cells.served_by or ()]
    parts += [f"with {names}" for names in cells.features or () if names]
    parts += [f"during {event}" for event in cells.event or () if event] + [*(cells.event_throttle or ())]
    parts += [worker_count(count) for count in cells.workers or ()]
    return " ".join(parts)


def _label(terms: Sequence[tuple[bool, Cells]]) -> str:
    return " / ".join(_words(cells) for _, cells in terms)


def _notes(sides: Sequence[Side]) -> Iterator[str]:
    for pair in _pairs(sides):
        if len({side.campaign for side in pair}) > 1:
            yield f"across the campaigns {' and '.join(side.campaign for side in pair)}"
        if len({side.scale for side in pair}) > 1:
            yield f"at the scales {' and '.join(f'1:{side.scale:g}' for side in pair)}, each value times its own"
    if rising := [side.label for side in sides if side.rising]:
        yield f"a lower bound, still rising at the most workers: {' / '.join(rising)}"


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


def length_text(length: float) -> str:
    """How long files are, measured by what the scale asks.

    >>> length_text(0.0305), length_text(0.488), length_text(3.906), length_text(0.97)
    ('1/33 as long', '1/2 as long', '3.9 times as long', 'as long')
    """
    if abs(length - 1) <= SIZE_TOLERANCE:
        return "as long"
    return f"1/{1 / length:.2g} as long" if length < 1 else f"{length:.2g} times as long"


def best_side(rows: pd.DataFrame, measure: Measure, unit: str, *, above: bool) -> Side:
    """The cell with the best mean, the highest rate or lowest time; those with samples enough go first."""
    enough = rows[rows["n"] >= MIN_SAMPLES]
    candidates = rows if enough.empty else enough
    sign = 1 if measure.rate else -1
    means = sign * levels(candidates, lowest=sign < 0) * candidates["factor"]
    best = candidates.iloc[int(means.to_numpy().argmax())]
    pairs = zip(candidates["values"], candidates["factor"], strict=True)
    values = [split_values(str(of), sign * factor) for of, factor in pairs]
    own = split_values(str(best["values"]), float(best["factor"]))
    curve = candidates[np.logical_and.reduce([candidates[name].to_numpy() == best[name] for name in GROUP])]
    workers, heights = curve["workers"].to_numpy(dtype=float), levels(curve).to_numpy()
    last = measure.rate and len(curve) > 1 and best["workers"] == workers.max() and curve["n"].min() >= MIN_SAMPLES
    size = int(best["nominal_file_size_bytes"])
    return Side(
        above=above,
        cell_id=str(best["cell_id"]),
        campaign=str(best["campaign"]),
        label=f"{best['series']}, {best['operation']} {format_size(size)}, {worker_count(best['workers'])}",
        nominal_file_size_bytes=size,
        workers=int(best["workers"]),
        contenders=sum(max(each) >= min(sign * value for value in own) for each in values),
        rising=bool(last) and saturation_point(workers, heights) == workers.max(),
        length=float(best["length"]),
        files_per_worker=int(best["files_per_worker"]),
        scale=float(best["factor"]),
        unit=unit,
        values=tuple(value / measure.units[unit] for value in own),
        samples=str(best["samples"]),
        cell={str(name): value for name, value in best.items()},
    )


def _unequal(sides: Sequence[Side], selectors: Sequence[Cells]) -> str:
    """In what layouts did unequal work at one tool, operation, size and number of workers; empty where they did not."""
    # what a claim itself compares is no unequal work
    compared = {"record_size": "records", "files_per_worker": "files_per_worker", "runtime": "runtime"}
    stated = {name for key, name in compared.items() if len({getattr(each, key) for each in selectors}) > 1}
    same = ("tool", "operation", "nominal_file_size_bytes", "workers")
    for pair in _pairs(sides):
        if len({tuple(side.cell[name] for name in same) for side in pair}) == 1 < len(pair):
            first, second = (side.cell for side in pair)
            found = work_differences(first, second)
            if unequal := [words for name, words in found.items() if name not in stated]:
                return "; ".join(unequal)
    return ""


def model_limit(cells: Sequence[Mapping[str, Any]], quantity: str) -> str:
    """Why a scale model cannot tell what cells are compared for, or a single one is a number of; empty where it can."""
    forms: set[Form] = {"absolute"} if len(cells) == 1 else set()
    differ: tuple[tuple[Form, tuple[str, ...]], ...] = (
        ("models", MODEL),
        ("layouts", ("type", "geometry", "kind", "server_model")),
        ("sizes", ("nominal_file_size_bytes",)),
        ("operations", ("operation",)),
        ("workers", ("workers", "clients")),
        ("releases", ("gluster_version",)),
        ("features", ("features", "event", "event_throttle", "hot", "options")),
        ("access", ("access", "served_by")),
    )
    for form, columns in differ:
        if len({tuple(str(cell.get(name, False)) for name in columns) for cell in cells}) > 1:
            forms.add(form)
    return next((of.why for of in model_limits() if any(of.holds(each, forms, quantity) for each in cells)), "")
