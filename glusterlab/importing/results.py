"""From results in a file to cells of the matrix: what path, mapping, volume info and the file say together."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from glusterlab import tools
from glusterlab.errors import ParseError
from glusterlab.importing.mapping import GlusterFiles, Mapping, label
from glusterlab.importing.match import Assignment, Refusal, SourceFile, shown
from glusterlab.reasons import Reason, Status, status_of
from glusterlab.spec.cell import Cell, Layout, LayoutType
from glusterlab.spec.cluster import REAL_HARDWARE
from glusterlab.spec.yaml import first_problem
from glusterlab.store.imported import ResultKey, keyed, reasons_of
from glusterlab.tools.base import read_all
from glusterlab.tools.document import Document
from glusterlab.tools.records import VolumeRecord, WorkloadRecord
from glusterlab.units import format_size

Volume = tuple[LayoutType, str]  # type and geometry


def volume_layout(record: VolumeRecord) -> Volume:
    """Type and geometry of a volume as the suite writes them; `ValueError` when no layout is of that type."""
    kind = record.type.lower()
    if "disperse" in kind and record.data and record.redundancy:
        return "disperse", f"{record.subvolumes or 1}x({record.data}+{record.redundancy})"
    if "replicate" in kind and record.replica and not record.arbiter:
        return "replicate", f"{record.subvolumes or 1}x{record.replica}"
    if kind == "distribute" and (record.subvolumes or record.bricks):
        return "distribute", str(record.subvolumes or record.bricks)
    arbiter = " with an arbiter" if record.arbiter else ""
    raise ValueError(f"expected a distributed, replicated or dispersed volume, found {record.type}{arbiter}")


def resolve_layouts(
    mapping: Mapping, assignments: Sequence[Assignment]
) -> tuple[dict[str, Layout | str], list[Refusal]]:
    """Layouts by their names in the mapping, or why there is none; and what is refused of gluster's files."""
    volumes: dict[str, tuple[Volume, str]] = {}
    names: set[str] = set()
    refused: list[Refusal] = []
    for assignment in assignments:
        name = assignment.facts.get("layout", mapping.defaults.layout)
        names |= set() if name is None else {name}
        if not assignment.is_gluster:
            continue
        try:
            record = _read_volume(assignment, name)
            if name is not None and record is not None:
                volume = volume_layout(record)
                known, where = volumes.setdefault(name, (volume, shown(assignment.file.name)))
                if known != volume:
                    seen = f"{' '.join(volume)} here, and {' '.join(known)} in {where}"
                    raise ValueError(f"layout {name!r} is {seen}")
        except (ParseError, ValueError) as error:
            refused.append(assignment.refused(error))
    layouts: dict[str, Layout | str] = {}
    identities: dict[str, str] = {}
    for name in sorted(names):
        try:
            layout = mapping.layout_facts(name).resolve(name, volumes[name][0] if name in volumes else None)
        except ValueError as error:
            layouts[name] = str(error)
            continue
        layouts[name] = layout
        other = identities.setdefault(layout.model_copy(update={"name": "-"}).model_dump_json(), name)
        if other != name:
            layouts[name] = (
                f"layouts {other!r} and {name!r} are one and the same ({layout.type} {layout.geometry} on"
                f" {layout.backing}): say in which backing or volume options they differ, or give them one name"
            )
        if any(label(name) == label(known) for known in layouts if known != name):
            layouts[name] = f"layout {name!r}: another one has a name that differs in punctuation only: declare both"
    return layouts, refused


def _read_volume(assignment: Assignment, layout: str | None) -> VolumeRecord | None:
    """The volume of a layout that a file of gluster describes: the one that the mapping names, or its only one.

    Of several it is the one that is called as the layout. Raises `ParseError` when there is no such volume.
    """
    records = tools.read(Document.open(assignment.file.path), "gluster")
    known = {record.name: record for record in records if isinstance(record, VolumeRecord) and record.type}
    there = ", ".join(sorted(known)[:5]) + (", ..." if len(known) > 5 else "")
    wanted = assignment.entry.volume if isinstance(assignment.entry, GlusterFiles) else None
    if wanted is not None and known:
        if wanted not in known:
            raise ParseError(f"expected volume {wanted!r}, which the mapping names, found {there}")
        return known[wanted]
    if layout is not None and len(known) > 1 and layout not in known:
        raise ParseError(f"which volume is layout {layout!r}? The file has {there}: say volume in the entry")
    return known.get(layout or "", next(iter(known.values()), None))


SAME_SIZE = 0.1
"""Relative difference up to which two file sizes are one: "4GB" may be 4 GB or 4 GiB. What the file says counts."""

_NUMBERS = ("workers", "file_size", "record_size", "files_per_worker")
_CHOOSING = ("run", "operation", "job", "host", *_NUMBERS)  # what is said of these chooses among the results of a file


@dataclass(frozen=True)
class PlannedResult:
    """One result that is to become a sample; `stated` is what path and mapping say, `disks` is 0 if unknown."""

    file: SourceFile
    record: WorkloadRecord
    cell: Cell
    layout: str
    key: ResultKey
    stated: dict[str, Any]
    repeat: int | None
    status: Status
    reasons: tuple[Reason, ...]
    accept_unjudged: bool
    gluster_version: str | None
    disks: int

    @property
    def line(self) -> int | None:
        return self.record.source.line

    def facts(self) -> dict[str, Any]:
        """What telemetry and gluster's files can be matched with, by field."""
        cell = self.cell
        return {
            **{name: getattr(cell, name) for name in ("access", "tool", "operation", "workers", "files_per_worker")},
            **{name: getattr(self, name) for name in ("layout", "repeat", "gluster_version")},
            "file_size": cell.file_size_bytes,
            "record_size": cell.record_size_bytes,
            "options": cell.options,
            "job": self.key.job,
            "run": self.key.run,
        }


@dataclass(frozen=True)
class LeftOut:
    """A result of a mapped file that is not imported, because the mapping is about others."""

    file: str
    result: str
    reason: str


class _RefusedError(Exception):
    """Something that the mapping and the file say does not go together."""


def read_results(
    mapping: Mapping, assignments: Sequence[Assignment], layouts: dict[str, Layout | str]
) -> tuple[list[PlannedResult], list[LeftOut], list[Refusal]]:
    """The results of one file: those that become samples, those that the mapping is not about, and what is refused."""
    file = assignments[0].file
    name = shown(file.name)
    try:
        document = Document.open(file.path)
        tool = _tool(document, assignments, mapping.defaults.tool)
        records, damage = read_all(lambda: tools.read(document, tool))
    except (ParseError, _RefusedError) as error:
        return [], [], [assignments[0].refused(error)]
    refused = [] if damage is None else [assignments[0].refused(damage)]
    found = keyed(records)
    if not found and damage is None:
        kinds = ", ".join(sorted({f"{record.tool}'s {record.kind}" for record in records}))
        refused = [Refusal(name, f"expected results of a workload, found {kinds}: map it under gluster or telemetry")]
    if not found:
        return [], [], refused
    results: list[PlannedResult] = []
    left_out: dict[ResultKey, LeftOut] = {}
    taken: set[ResultKey] = set()
    for assignment in assignments:
        try:
            chosen, others = _select(assignment, found)
        except _RefusedError as error:
            refused.append(Refusal(name, str(error)))
            continue
        left_out |= {key: LeftOut(name, str(key), why) for key, why in others.items()}
        for key, record in chosen:
            try:
                if key in taken:
                    raise _RefusedError(f"two entries of the mapping are about its result of {key}")
                results.append(_plan(mapping, assignment, key, record, layouts))
            except _RefusedError as error:
                refused.append(Refusal(name, f"{key}: {error}", record.source.line))
            taken.add(key)
    once: dict[str, Refusal] = {}
    for refusal in refused:  # where all results of a file lack the same, that is said once
        once.setdefault(refusal.message.split(": ", 1)[-1], refusal)
    return results, [entry for key, entry in left_out.items() if key not in taken], list(once.values())


def _tool(document: Document, assignments: Sequence[Assignment], default: str | None) -> str:
    """Whose output a file is, by its content and by what is said of it."""
    wanted = {assignment.facts["tool"]: assignment for assignment in assignments if "tool" in assignment.facts}
    try:
        found = tools.recognise(document)
    except ParseError:
        # a file that somebody has cut to a few lines may have no mark of its tool
        if (known := next(iter(wanted), default)) is None:
            raise
        return known
    for tool, assignment in wanted.items():
        if tool != found:
            raise _RefusedError(f"{assignment.source_of('tool')} says tool {tool}, the file is of {found}")
    return found


Keyed = Sequence[tuple[ResultKey, "WorkloadRecord"]]


def _select(assignment: Assignment, found: Keyed) -> tuple[Keyed, dict[ResultKey, str]]:
    """The results of a file that fit what path and mapping say, and why the others do not; one at least has to."""
    chosen = list(found)
    others: dict[ResultKey, str] = {}
    for field in _CHOOSING:
        if (wanted := assignment.facts.get(field)) is None:
            continue
        values = {key: _value(field, key, record) for key, record in chosen}
        fitting = [(key, record) for key, record in chosen if _fits(field, wanted, values[key])]
        says = f"{assignment.source_of(field)} says {field} {_words(field, wanted)}"
        if not fitting:
            there = ", ".join(dict.fromkeys(_words(field, value) for value in values.values()))
            raise _RefusedError(f"{says}, the file has {there}")
        others |= {key: says for key, _ in chosen if not _fits(field, wanted, values[key])}
        chosen = fitting
    if "host" not in assignment.facts:
        chosen, hosts = _all_hosts_together(chosen)
        others |= hosts
    return chosen, others


def _value(field: str, key: ResultKey, record: WorkloadRecord) -> Any:
    """What a file says of a field; None where it does not."""
    if field not in _NUMBERS:
        return getattr(key, field)
    if field == "files_per_worker":
        found = record.details.get("files_per_thread")
        return found if isinstance(found, int) and not isinstance(found, bool) else None
    if field == "workers":
        return record.workers
    return getattr(record, f"{field}_bytes") or None


def _fits(field: str, wanted: Any, found: Any) -> bool:
    if field in _NUMBERS and found is None:
        return True
    if field == "file_size":
        return bool(abs(found / wanted - 1) <= SAME_SIZE)
    return bool(found == wanted)


def _words(field: str, value: Any) -> str:
    if value is None:
        return "none"
    return format_size(value) if field.endswith("size") else str(value)


def _all_hosts_together(chosen: Keyed) -> tuple[list[tuple[ResultKey, WorkloadRecord]], dict[ResultKey, str]]:
    """Results over all hosts; a tool that tells of each host besides is read without these."""
    groups: dict[tuple[object, ...], list[tuple[ResultKey, WorkloadRecord]]] = defaultdict(list)
    for key, record in chosen:
        # whatever the run: a reader may count each host's report as a run
        groups[key.operation, key.job, record.file_size_bytes, record.record_size_bytes].append((key, record))
    kept: list[tuple[ResultKey, WorkloadRecord]] = []
    others: dict[ResultKey, str] = {}
    for members in groups.values():
        hosts = list(dict.fromkeys(key.host for key, _ in members))
        if None in hosts:
            kept += [member for member in members if member[0].host is None]
            others |= {key: "of one host; that of all is imported" for key, _ in members if key.host is not None}
        elif len(hosts) == 1:
            kept += members
        else:
            raise _RefusedError(
                f"results of {len(hosts)} hosts stand side by side ({hosts[0]}, {hosts[1]}, ...), and their sum was"
                " measured by nobody: name one of them by host, or leave the file out"
            )
    return kept, others


def _plan(
    mapping: Mapping, assignment: Assignment, key: ResultKey, record: WorkloadRecord, layouts: dict[str, Layout | str]
) -> PlannedResult:
    facts = {**mapping.defaults.model_dump(exclude_none=True), **assignment.facts}
    if (name := facts.get("layout")) is None:
        message = "which layout? Neither path nor mapping says it: write {layout} into the pattern, or say layout"
        raise _RefusedError(message)
    layout = layouts[name]
    if isinstance(layout, str):
        raise _RefusedError(layout)
    # jobs of one file are different workloads, even where sizes and workers agree
    job = () if key.job is None else (f"--name={key.job}",)
    # the file's own word first: where path and mapping speak, too, they agree, or it would not be chosen
    known: dict[str, Any] = {field: _value(field, key, record) or facts.get(field) for field in _NUMBERS}
    for field, question in (("workers", "how many workers"), ("file_size", "which file size")):
        if known[field] is None:
            message = f"{question}? The file does not say it: write {{{field}}} into the pattern, or say {field}"
            raise _RefusedError(message)
    try:
        cell = Cell(
            layout=layout,
            access=facts.get("access", "native"),
            tool=record.tool,
            operation=record.operation,
            file_size_bytes=known["file_size"],
            nominal_file_size_bytes=known["file_size"],
            record_size_bytes=known["record_size"],
            files_per_worker=known["files_per_worker"] or 1,
            workers=known["workers"],
            model=REAL_HARDWARE,
            options=(*facts.get("options", ()), *job),
        )
    except ValidationError as error:
        raise _RefusedError(": ".join(first_problem(error, Cell))) from error
    accept = bool(facts.get("accept_unjudged"))
    reasons = reasons_of(record, accept_unjudged=accept)
    return PlannedResult(
        file=assignment.file,
        record=record,
        cell=cell,
        layout=name,
        key=key,
        stated={field: list(value) if isinstance(value, tuple) else value for field, value in assignment.facts.items()},
        repeat=assignment.facts.get("repeat"),
        status=status_of(reasons),
        reasons=reasons,
        accept_unjudged=accept,
        gluster_version=facts.get("gluster_version"),
        disks=mapping.layout_facts(name).disks or 0,
    )
