"""What an import would make of a folder: samples in cells, what lies beside them, what is refused, with reasons."""

import itertools
from collections import deque
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from glusterlab.errors import ParseError, UsageError
from glusterlab.importing.mapping import Mapping, Results
from glusterlab.importing.match import Assignment, Refusal, SourceFile, assign, list_sources, shown
from glusterlab.importing.results import LeftOut, PlannedResult, read_results, resolve_layouts
from glusterlab.spec import Cluster, load_cluster
from glusterlab.store.imported import AttachedFile
from glusterlab.telemetry.reader import read
from glusterlab.tools import volume_tools

Attached = tuple[SourceFile, AttachedFile]

MAX_REPEATS = 1000  # of one cell, as in a campaign of one's own


def _attach(
    mapping: Mapping, results: Sequence[tuple[PlannedResult, int]], assignments: Sequence[Assignment]
) -> tuple[list[list[Attached]], list[Refusal]]:
    """For each result, with its repeat, the files that are kept beside it; and those that cannot be."""
    found: list[list[Attached]] = [[] for _ in results]
    known = [result.facts() | {"repeat": repeat} for result, repeat in results]
    roles = {**dict.fromkeys(mapping.servers, "server"), **dict.fromkeys(mapping.clients, "client")}
    refused: list[Refusal] = []
    for assignment in assignments:
        wanted = {name: each for name, each in assignment.facts.items() if name not in ("host", "role", "timezone")}
        fitting = [
            n for n, facts in enumerate(known) if all(facts.get(name, each) == each for name, each in wanted.items())
        ]
        try:
            # the whole file, so that what is imported can be made into tables
            deque(() if assignment.is_gluster else read(assignment.file.path), maxlen=0)
        except ParseError as error:
            refused.append(assignment.refused(error))
            continue
        role, host = assignment.facts.get("role"), assignment.facts.get("host", "")
        if role is not None and roles.setdefault(host, role) != role:
            refused.append(assignment.refused(f"host {host!r} is a {role} here, and a {roles[host]} elsewhere"))
        if not fitting:
            described = ", ".join(f"{field} {value}" for field, value in wanted.items()) or "anything"
            message = f"expected a sample of {described}, which this file belongs to, found none"
            refused.append(assignment.refused(message))
        for n in fitting:
            if assignment.is_gluster and any(source.name == assignment.file.name for source, _ in found[n]):
                continue  # two entries may be about two volumes of one file
            found[n].append(_placed(mapping, assignment, {each.file for _, each in found[n]}))
    return found, refused


def _placed(mapping: Mapping, assignment: Assignment, taken: Collection[str]) -> Attached:
    """Where a file goes: telemetry by its host, gluster's output by its name, each numbered where that is taken."""
    source, facts = assignment.file, assignment.facts
    original = PurePosixPath(source.name).name
    if assignment.is_gluster:
        names = itertools.chain([f"gluster/{original}"], (f"gluster/{n}-{original}" for n in itertools.count(2)))
        return source, AttachedFile(file=next(name for name in names if name not in taken), source=source.name)
    suffixes = PurePosixPath(original).suffixes or [".txt"]
    host, end = facts["host"], "".join(suffixes[-2 if suffixes[-1] in (".xz", ".gz", ".bz2") else -1 :])
    names = itertools.chain([f"telemetry/{host}{end}"], (f"telemetry/{host}.{n}{end}" for n in itertools.count(2)))
    return source, AttachedFile(
        file=next(name for name in names if name not in taken),
        source=source.name,
        host=host,
        role=facts.get("role") or ("client" if host in mapping.clients else "server"),
        timezone=facts.get("timezone", mapping.timezone),
    )


@dataclass(frozen=True)
class PlannedImport:
    """One sample: a result, its place among the repeats of its cell, and the files beside it."""

    result: PlannedResult
    repeat: int
    attached: tuple[Attached, ...] = ()


@dataclass(frozen=True)
class ImportPlan:
    """What an import would make of a folder: `left_out` are results that the mapping is not about, `unmapped` files."""

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
        return len({sample.result.cell.id for sample in self.samples})


def plan_import(
    folder: Path, mapping: Mapping, progress: Callable[[int, int], None], *, raw_root: Path | None = None
) -> ImportPlan:
    """Look at every file of a folder and read those that are mapped; nothing is written.

    `progress` is called with the number of files read, and of all; what lies below `raw_root` is not imported.
    Raises `UsageError` when the folder cannot be read, or has results of several GlusterFS releases.
    """
    cluster = None if mapping.cluster is None else load_cluster(mapping.cluster)
    files, others = list_sources(folder, without=raw_root)
    assigned, unmapped, refused = assign(mapping, files)
    layouts, unreadable = resolve_layouts(mapping, assigned)
    refused += unreadable
    by_file: dict[str, list[Assignment]] = {}
    for assignment in assigned:
        if isinstance(assignment.entry, Results):
            by_file.setdefault(assignment.file.name, []).append(assignment)
    results: list[PlannedResult] = []
    left_out: list[LeftOut] = []
    for n, assignments in enumerate(by_file.values(), start=1):
        found, not_meant, wrong = read_results(mapping, assignments, layouts)
        results += found
        left_out += not_meant
        refused += wrong
        progress(n, len(by_file))
    releases = sorted({result.gluster_version or "unknown" for result in results})
    if len(releases) > 1:
        raise UsageError(
            f"expected results of one GlusterFS release, found {', '.join(releases)}: import each by itself, with its"
            " release in place of {gluster_version} in the pattern"
        )
    placed, clashes = _place(results)
    gone = {refusal.file for refusal in unreadable}
    beside = [
        assignment
        for assignment in assigned
        if not isinstance(assignment.entry, Results) and shown(assignment.file.name) not in gone
    ]
    attached, alone = _attach(mapping, placed, beside)
    samples = tuple(
        PlannedImport(result, repeat, tuple(files)) for (result, repeat), files in zip(placed, attached, strict=True)
    )
    return ImportPlan(
        folder=folder,
        mapping=mapping,
        cluster=cluster,
        samples=samples,
        refused=tuple(dict.fromkeys([*refused, *clashes, *alone])),
        left_out=tuple(left_out),
        unmapped=tuple(sorted([*((shown(file.name), "fits no pattern") for file in unmapped), *others])),
        notes=tuple(_notes(samples)),
    )


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
            message = f"expected at most {MAX_REPEATS:,} repeats of {cell_id}, found more: what tells them apart?"
            refused.append(Refusal(shown(taken[last].file.name), message))
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
