"""What an import would make of a folder: samples in cells, and what is left out or refused, with the reason."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from glusterlab.imports.assign import Assignment, Refusal, assign, is_results
from glusterlab.imports.attach import REFUSED_RESULTS, Attached, attach, contradicting_roles
from glusterlab.imports.mapping import Mapping
from glusterlab.imports.results import LeftOut, PlannedResult, about_layout, read_results
from glusterlab.imports.sources import list_sources, natural, shown
from glusterlab.imports.volumes import resolve_layouts
from glusterlab.spec import Cluster, load_cluster

MAX_REPEATS = 1000
"""Of one cell, as in a campaign of one's own."""

DRAWN = frozenset({"iozone", "smallfile"})
"""Tools whose results the notebooks draw; those of others are in the tables only."""


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
    cluster : Cluster or None
        As the mapping names it.
    samples : tuple of PlannedImport
        By cell and repeat.
    refused : tuple of Refusal
        Of mapped files, causes first; while there are any, nothing is imported unless that is asked for.
    left_out : tuple of LeftOut
        Results of mapped files that the mapping is not about.
    unmapped : tuple of (str, str)
        Files, and why they belong to nothing.
    notes : tuple of str
        What the person should know of the samples.
    """

    folder: Path
    mapping: Mapping
    cluster: Cluster | None
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
        When the folder cannot be read.
    SpecError
        When the mapping's cluster.yaml is wrong.
    """
    cluster = None if mapping.cluster is None else load_cluster(mapping.cluster)
    files, others = list_sources(folder, without=raw_root)
    assigned, unmapped, refused = assign(mapping, files)
    layouts, unreadable, unread = resolve_layouts(mapping, assigned)
    refused += unreadable
    by_file: dict[str, list[Assignment]] = {}
    for assignment in assigned:
        if is_results(assignment):
            by_file.setdefault(assignment.file.name, []).append(assignment)
    results: list[PlannedResult] = []
    left_out: list[LeftOut] = []
    lost: list[Assignment] = []
    for n, assignments in enumerate(by_file.values(), start=1):
        found = read_results(mapping, assignments, layouts)
        results += found.results
        left_out += found.left_out
        refused += found.refused
        if found.refused:
            lost += assignments
        if progress is not None:
            progress(n, len(by_file))
    results, strange = _one_release(results)
    for result in strange:
        lost += by_file[result.file.name]
    placed, clashes = _place(results)
    beside = [assignment for assignment in assigned if not is_results(assignment)]
    attached, alone = attach(mapping, [replace(result, repeat=repeat) for result, repeat in placed], beside, lost)
    refused += [*_of_other_releases(results, strange), *clashes, *contradicting_roles(mapping, beside), *alone]
    samples = tuple(
        PlannedImport(result, repeat, tuple(files)) for (result, repeat), files in zip(placed, attached, strict=True)
    )
    return ImportPlan(
        folder=folder,
        mapping=mapping,
        cluster=cluster,
        samples=samples,
        refused=_causes_first(refused, {REFUSED_RESULTS, *(about_layout(name) for name in unread)}),
        left_out=tuple(left_out),
        unmapped=tuple(sorted([*((shown(file.name), "fits no pattern") for file in unmapped), *others])),
        notes=tuple(_notes(samples)),
    )


def _one_release(results: Sequence[PlannedResult]) -> tuple[list[PlannedResult], list[PlannedResult]]:
    """The results of the release that most files are of, and the others."""
    files: dict[str | None, set[str]] = {}
    for result in results:
        files.setdefault(result.gluster_version, set()).add(result.file.name)
    most = max(files, key=lambda release: len(files[release]), default=None)
    kept = [result for result in results if result.gluster_version == most]
    return kept, [result for result in results if result.gluster_version != most]


def _of_other_releases(kept: Sequence[PlannedResult], others: Sequence[PlannedResult]) -> list[Refusal]:
    files = len({result.file.name for result in kept})
    return [
        Refusal(
            shown(result.file.name),
            f"expected results of one GlusterFS release, {kept[0].gluster_version or 'unknown'} as in"
            f" {files:,} {'file' if files == 1 else 'files'}, found {result.gluster_version or 'unknown'}. A campaign"
            " is of one release: import each by itself, with its release in place of {gluster_version} in the pattern",
        )
        for result in others
    ]


def _causes_first(refused: Sequence[Refusal], named: set[str]) -> tuple[Refusal, ...]:
    """Refusals in the order of their files, those last that only follow from another one.

    Parameters
    ----------
    refused : sequence of Refusal
    named : set of str
        Causes that another refusal tells. Of any other one the first refusal that follows from it tells it.
    """
    causes: list[Refusal] = []
    following: list[Refusal] = []
    told = set(named)
    for refusal in sorted(dict.fromkeys(refused), key=lambda refusal: natural(refusal.file)):
        if refusal.follows in told:
            following.append(refusal)
            continue
        if refusal.follows is not None:
            told.add(refusal.follows)
        causes.append(replace(refusal, follows=None))
    return (*causes, *following)


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
    tools = {sample.result.tool for sample in samples}
    notes += [f"no figure is drawn of {tool} yet; its numbers are in the tables" for tool in sorted(tools - DRAWN)]
    unjudged = sum(sample.result.status == "valid" and not sample.result.judged for sample in samples)
    if unjudged:
        told = f"{unjudged} of {len(samples)} samples"
        notes.append(f"{told}: valid by accept_unjudged, though their files do not hold what a judgement needs")
    return notes
