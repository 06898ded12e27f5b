"""What an import would make of a folder: samples in cells, what lies beside them, what is refused, with reasons."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from collections.abc import Mapping as ReadOnly
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Any

from glusterlab.errors import ParseError
from glusterlab.importing.mapping import Mapping
from glusterlab.importing.match import (
    Assignment,
    Refusal,
    SourceFile,
    assign,
    list_sources,
    natural,
    shown,
)
from glusterlab.importing.results import (
    LeftOut,
    PlannedResult,
    about_layout,
    read_results,
    read_volumes,
    resolve_layouts,
)
from glusterlab.spec import Cluster, load_cluster
from glusterlab.spec.fields import describe
from glusterlab.store.imported import AttachedFile
from glusterlab.tools import volume_tools

Attached = tuple[SourceFile, AttachedFile]

REFUSED_RESULTS = "results that are refused"
"""What follows from these."""

_ABOUT_THE_FILE = frozenset({"host", "role", "timezone"})


def _attach(
    mapping: Mapping,
    results: Sequence[tuple[PlannedResult, int]],
    assignments: Sequence[Assignment],
    refused_results: Sequence[Assignment] = (),
) -> tuple[list[list[Attached]], list[Refusal]]:
    """For each result, with its repeat, the files that are kept beside it; and files that cannot be, with the reason.

    `assignments`: of telemetry and of gluster's output. `refused_results`: of results that are not among `results`:
    what belongs to these alone follows from that.
    """
    found: list[list[Attached]] = [[] for _ in results]
    known = [result.facts() | {"repeat": repeat} for result, repeat in results]
    refused: list[Refusal] = []
    for assignment in assignments:
        name = shown(assignment.file.name)
        wanted = {field: value for field, value in assignment.facts.items() if field not in _ABOUT_THE_FILE}
        fitting = [n for n, facts in enumerate(known) if _fits(wanted, facts)]
        try:
            _check(mapping, assignment)
        except ParseError as error:
            refused.append(Refusal(name, error.message, error.line))
            continue
        if not fitting:
            described = ", ".join(f"{field} {value}" for field, value in wanted.items()) or "anything"
            follows = any(_fits(wanted, other.facts) for other in refused_results)
            message = f"expected a sample of {described}, which this file belongs to, found none"
            refused.append(Refusal(name, message, follows=REFUSED_RESULTS if follows else None))
        for n in fitting:
            if assignment.is_gluster and any(source.name == assignment.file.name for source, _ in found[n]):
                continue  # two entries may be about two volumes of one file
            found[n].append(_placed(mapping, assignment, {each.file for _, each in found[n]}))
    return found, refused


def _fits(wanted: ReadOnly[str, Any], known: ReadOnly[str, Any]) -> bool:
    return all(known.get(field) == value for field, value in wanted.items() if field in known)


def _check(mapping: Mapping, assignment: Assignment) -> None:
    """Read a whole file, so that what is imported can be made into tables."""
    if assignment.is_gluster:
        read_volumes(assignment, assignment.facts.get("layout", mapping.defaults.layout))
        return
    from glusterlab.telemetry.reader import read

    for _ in read(assignment.file.path):
        pass


def _placed(mapping: Mapping, assignment: Assignment, taken: Collection[str]) -> Attached:
    """Where a file goes: telemetry by its host, gluster's output by its name, each numbered where that is taken."""
    source, facts = assignment.file, assignment.facts
    original = PurePosixPath(source.name).name
    if assignment.is_gluster:
        names = itertools.chain([f"gluster/{original}"], (f"gluster/{n}-{original}" for n in itertools.count(2)))
        return source, AttachedFile(file=next(name for name in names if name not in taken), source=source.name)
    host, end = facts["host"], _suffixes(original)
    names = itertools.chain([f"telemetry/{host}{end}"], (f"telemetry/{host}.{n}{end}" for n in itertools.count(2)))
    return source, AttachedFile(
        file=next(name for name in names if name not in taken),
        source=source.name,
        host=host,
        role=facts.get("role") or ("client" if host in mapping.clients else "server"),
        timezone=facts.get("timezone", mapping.timezone),
    )


def _suffixes(name: str) -> str:
    """The last suffix, and the one before a packer's: ``.sar``, ``.csv.xz``.

    Examples
    --------
    >>> _suffixes("s1.example.csv.xz"), _suffixes("s1.sar"), _suffixes("sar-s1")
    ('.csv.xz', '.sar', '.txt')
    """
    path = PurePosixPath(name)
    if path.suffix in (".xz", ".gz", ".bz2"):
        return "".join(path.suffixes[-2:])
    return path.suffix or ".txt"


def _contradicting_roles(mapping: Mapping, assignments: Sequence[Assignment]) -> list[Refusal]:
    """Telemetry of a host that stands under another role elsewhere."""
    known = {**dict.fromkeys(mapping.servers, "server"), **dict.fromkeys(mapping.clients, "client")}
    refused = []
    for assignment in assignments:
        role, host = assignment.facts.get("role"), assignment.facts.get("host")
        if role is not None and host is not None and known.setdefault(host, role) != role:
            message = f"host {describe(host)} is a {role} here, and a {known[host]} elsewhere"
            refused.append(Refusal(shown(assignment.file.name), message))
    return refused


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

    `samples`: by cell and repeat. `refused`: of mapped files, causes first; while there are any, nothing is imported
    unless that is asked for. `left_out`: results of mapped files that the mapping is not about. `unmapped`: files, and
    why they belong to nothing. `notes`: what the person should know of the samples.
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
    folder: Path, mapping: Mapping, progress: Callable[[int, int], None], *, raw_root: Path | None = None
) -> ImportPlan:
    """Look at every file of a folder and read those that are mapped; nothing is written.

    `progress`: called with the number of files read, and of all. `raw_root`: where campaigns are kept: nothing below it
    is imported.

    Raises `UsageError` when the folder cannot be read. Raises `SpecError` when the mapping's cluster.yaml is wrong.
    """
    cluster = None if mapping.cluster is None else load_cluster(mapping.cluster)
    files, others = list_sources(folder, without=raw_root)
    assigned, unmapped, refused = assign(mapping, files)
    layouts, unreadable, unread = resolve_layouts(mapping, assigned)
    refused += unreadable
    by_file: dict[str, list[Assignment]] = {}
    for assignment in assigned:
        if assignment.is_results:
            by_file.setdefault(assignment.file.name, []).append(assignment)
    results: list[PlannedResult] = []
    left_out: list[LeftOut] = []
    lost: list[Assignment] = []
    for n, assignments in enumerate(by_file.values(), start=1):
        found, not_meant, wrong = read_results(mapping, assignments, layouts)
        results += found
        left_out += not_meant
        refused += wrong
        lost += assignments if wrong else []
        progress(n, len(by_file))
    results, strange = _one_release(results)
    for result in strange:
        lost += by_file[result.file.name]
    placed, clashes = _place(results)
    beside = [assignment for assignment in assigned if not assignment.is_results]
    attached, alone = _attach(mapping, placed, beside, lost)
    refused += [*_of_other_releases(results, strange), *clashes, *_contradicting_roles(mapping, beside), *alone]
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
    files = Counter(release for release, _ in {(result.gluster_version, result.file.name): 1 for result in results})
    most = max(files, key=lambda release: files[release], default=None)
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

    `named`: causes that another refusal tells. Of any other one the first refusal that follows from it tells it.
    """
    causes: list[Refusal] = []
    following: list[Refusal] = []
    known: set[str | None] = set(named)
    for refusal in sorted(dict.fromkeys(refused), key=lambda refusal: natural(refusal.file)):
        if refusal.follows in known:
            following.append(refusal)
        else:
            if refusal.follows is not None:
                known.add(refusal.follows)
            causes.append(replace(refusal, follows=None))
    return (*causes, *following)


def _place(results: Sequence[PlannedResult]) -> tuple[list[tuple[PlannedResult, int]], list[Refusal]]:
    """Repeats of each cell: those that are stated, and for the others the free numbers in the order of the paths."""
    cells: dict[str, list[PlannedResult]] = {}
    for result in results:
        cells.setdefault(result.cell.id, []).append(result)
    placed: list[tuple[PlannedResult, int]] = []
    refused: list[Refusal] = []
    for cell_id in sorted(cells):
        taken: dict[int, PlannedResult] = {}
        for result in cells[cell_id]:
            if result.repeat is not None and (other := taken.setdefault(result.repeat, result)) is not result:
                where = f"{shown(other.file.name)} ({other.key})"
                message = f"{result.key}: is repeat {result.repeat} of {cell_id}, and so is {where}"
                refused.append(Refusal(shown(result.file.name), message, result.line))
        free = (number for number in itertools.count(1) if number not in taken)
        for result in cells[cell_id]:
            if result.repeat is None:
                taken[next(free)] = result
        last = max(taken)
        if last > MAX_REPEATS:
            refused.append(
                Refusal(
                    shown(taken[last].file.name),
                    f"expected at most {MAX_REPEATS:,} repeats of {cell_id}, found more: what tells these results"
                    " apart?",
                )
            )
        placed += [(taken[repeat], repeat) for repeat in sorted(taken)]
    return placed, refused


def _notes(samples: Sequence[PlannedImport]) -> list[str]:
    notes = [
        f"layout {name}: how many disks lie under it is not known, so no figure is per disk"
        for name in sorted({sample.result.layout for sample in samples if not sample.result.disks})
    ]
    undrawn = {sample.result.record.tool for sample in samples} - {*volume_tools()}
    notes += [f"no figure is drawn of {tool} yet; its numbers are in the tables" for tool in sorted(undrawn)]
    unjudged = sum(sample.result.status == "valid" and sample.result.record.valid is None for sample in samples)
    if unjudged:
        accepted = f"{unjudged} of {len(samples)} samples: valid by accept_unjudged"
        notes.append(f"{accepted}, though their files do not hold what a judgement needs")
    return notes
