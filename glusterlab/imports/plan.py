"""What an import would make of a folder: samples in cells, and what is left out or refused, with the reason."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from glusterlab.errors import UsageError
from glusterlab.imports.assign import Assignment, Refusal, assign, is_results
from glusterlab.imports.attach import Attached, attach, contradicting_roles
from glusterlab.imports.mapping import Mapping
from glusterlab.imports.results import LeftOut, PlannedResult, read_results
from glusterlab.imports.sources import list_sources, natural, shown
from glusterlab.imports.volumes import resolve_layouts

MAX_REPEATS = 1000
"""Of one cell, as in a campaign of one's own."""


@dataclass(frozen=True)
class PlannedImport:
    """One sample: a result, its place among the repeats of its cell, and the files beside it."""

    result: PlannedResult
    repeat: int
    attached: tuple[Attached, ...] = ()


@dataclass(frozen=True)
class ImportPlan:
    """What an import would make of a folder.

    Attributes
    ----------
    folder : pathlib.Path
    mapping : Mapping
    samples : tuple of PlannedImport
        By cell and repeat.
    refused : tuple of Refusal
        Of mapped files; while there are any, nothing is imported unless that is asked for.
    left_out : tuple of LeftOut
        Results of mapped files that the mapping is not about.
    unmapped : tuple of (str, str)
        Files, and why they belong to nothing.
    notes : tuple of str
        What the person should know of the samples.
    """

    folder: Path
    mapping: Mapping
    samples: tuple[PlannedImport, ...]
    refused: tuple[Refusal, ...]
    left_out: tuple[LeftOut, ...]
    unmapped: tuple[tuple[str, str], ...]
    notes: tuple[str, ...]

    @property
    def cells(self) -> int:
        """Number of cells."""
        return len({sample.result.cell.id for sample in self.samples})


def plan_import(
    folder: Path,
    mapping: Mapping,
    progress: Callable[[int, int], None] | None = None,
    *,
    raw_root: Path | None = None,
) -> ImportPlan:
    """Look at every file of a folder and read those that are mapped; nothing is written.

    Parameters
    ----------
    folder : pathlib.Path
    mapping : Mapping
    progress : callable, optional
        Called with the number of files read, and of all.
    raw_root : pathlib.Path, optional
        Where campaigns are kept: nothing below it is imported.

    Raises
    ------
    UsageError
        When the folder cannot be read, or its results are of several GlusterFS releases.
    """
    files, others = list_sources(folder, without=raw_root)
    assigned, unmapped, refused = assign(mapping, files)
    layouts, unread = resolve_layouts(mapping, assigned)
    refused += unread
    by_file: dict[str, list[Assignment]] = {}
    for assignment in assigned:
        if is_results(assignment):
            by_file.setdefault(assignment.file.name, []).append(assignment)
    results: list[PlannedResult] = []
    left_out: list[LeftOut] = []
    for n, assignments in enumerate(by_file.values(), start=1):
        found = read_results(mapping, assignments, layouts)
        results += found.results
        left_out += found.left_out
        refused += found.refused
        if progress is not None:
            progress(n, len(by_file))
    _one_release(results)
    placed, clashes = _place(results)
    beside = [assignment for assignment in assigned if not is_results(assignment)]
    attached, lost = attach(mapping, [replace(result, repeat=repeat) for result, repeat in placed], beside)
    refused += [*clashes, *contradicting_roles(mapping, beside), *lost]
    samples = tuple(
        PlannedImport(result, repeat, tuple(files)) for (result, repeat), files in zip(placed, attached, strict=True)
    )
    return ImportPlan(
        folder=folder,
        mapping=mapping,
        samples=samples,
        refused=tuple(sorted(dict.fromkeys(refused), key=lambda refusal: natural(refusal.file))),
        left_out=tuple(left_out),
        unmapped=tuple(sorted([*((shown(file.name), "fits no pattern") for file in unmapped), *others])),
        notes=tuple(_notes(samples)),
    )


def _one_release(results: Sequence[PlannedResult]) -> None:
    releases: dict[str | None, PlannedResult] = {}
    for result in results:
        releases.setdefault(result.gluster_version, result)
    if len(releases) > 1:
        found = "; ".join(
            f"{release or 'unknown'} of {shown(result.file.name)}" for release, result in list(releases.items())[:3]
        )
        raise UsageError(
            f"expected results of one GlusterFS release, found {found}. A campaign is of one release: import each by"
            " itself, with its release in place of {gluster_version} in the pattern"
        )


def _place(results: Sequence[PlannedResult]) -> tuple[list[tuple[PlannedResult, int]], list[Refusal]]:
    """Repeats of each cell: those that are said, and for the others the free numbers in the order of the paths."""
    cells: dict[str, list[PlannedResult]] = {}
    for result in results:
        cells.setdefault(result.cell.id, []).append(result)
    placed: list[tuple[PlannedResult, int]] = []
    refused: list[Refusal] = []
    for cell_id in sorted(cells):
        taken: dict[int, PlannedResult] = {}
        for result in cells[cell_id]:
            if result.repeat is None:
                continue
            other = taken.setdefault(result.repeat, result)
            if other is not result:
                where = f"{shown(other.file.name)} ({other.key})"
                message = f"{result.key}: is repeat {result.repeat} of {cell_id}, and so is {where}"
                refused.append(Refusal(shown(result.file.name), message, result.line))
        free = (number for number in range(1, MAX_REPEATS + len(cells[cell_id]) + 1) if number not in taken)
        for result in cells[cell_id]:
            if result.repeat is None:
                taken[next(free)] = result
        if max(taken) > MAX_REPEATS:
            last = taken[max(taken)]
            message = (
                f"expected at most {MAX_REPEATS:,} repeats of {cell_id}, found more: what tells these results apart?"
            )
            refused.append(Refusal(shown(last.file.name), message))
        placed += [(taken[repeat], repeat) for repeat in sorted(taken)]
    return placed, refused


def _notes(samples: Sequence[PlannedImport]) -> list[str]:
    notes = [
        f"layout {name}: how many disks lie under it is not known, so no figure is per disk"
        for name in sorted({sample.result.layout for sample in samples if not sample.result.disks})
    ]
    unjudged = sum(sample.result.status == "valid" and not sample.result.judged for sample in samples)
    if unjudged:
        told = f"{unjudged} of {len(samples)} samples"
        notes.append(f"{told}: valid by accept_unjudged, though their files do not hold what a judgement needs")
    return notes
