"""From the results in a file to cells of the matrix: what path, mapping and file say together."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from glusterlab.errors import ParseError
from glusterlab.imports.assign import Assignment, Refusal
from glusterlab.imports.mapping import Mapping
from glusterlab.imports.sample import ResultKey, keyed, read_all, reasons_of
from glusterlab.imports.sources import SourceFile, shown
from glusterlab.reasons import Reason, Status, status_of
from glusterlab.spec.cell import Cell, Layout
from glusterlab.spec.cluster import REAL_HARDWARE
from glusterlab.units import format_size

if TYPE_CHECKING:
    from glusterlab.readers.document import Document
    from glusterlab.readers.records import WorkloadRecord

SAME_SIZE = 0.1
"""Relative difference up to which two file sizes are one: "4GB" may be 4 GB or 4 GiB. What the file says counts."""


_CHOOSING = ("run", "operation", "job", "host", "workers", "file_size", "record_size", "files_per_worker")
"""What is said of these chooses among the results of a file."""


@dataclass(frozen=True)
class PlannedResult:
    """One result that is to become a sample.

    Attributes
    ----------
    file : SourceFile
    cell : Cell
    layout : str
        The layout as paths and mapping name it.
    key : ResultKey
    label : str
        The operation as printed.
    line : int or None
    tool, tool_version : str, str or None
    said : dict
        What path and mapping said, as JSON.
    repeat : int or None
        As it was said.
    status : Status
        By the tool's own output.
    reasons : tuple of Reason
    judged : bool
        The file holds what a judgement needs.
    accept_unjudged : bool
    gluster_version : str or None
    disks : int
        0 where it is not known.
    """

    file: SourceFile
    cell: Cell
    layout: str
    key: ResultKey
    label: str
    line: int | None
    tool: str
    tool_version: str | None
    said: dict[str, Any]
    repeat: int | None
    status: Status
    reasons: tuple[Reason, ...]
    judged: bool
    accept_unjudged: bool
    gluster_version: str | None
    disks: int

    def facts(self) -> dict[str, Any]:
        """What telemetry and gluster's files can be matched with, by field."""
        cell = self.cell
        return {
            **{name: getattr(cell, name) for name in ("access", "operation", "workers", "files_per_worker")},
            "layout": self.layout,
            "tool": self.tool,
            "file_size": cell.file_size_bytes,
            "record_size": cell.record_size_bytes,
            "options": cell.options,
            "job": self.key.job,
            "run": self.key.run,
            "repeat": self.repeat,
            "gluster_version": self.gluster_version,
        }


@dataclass(frozen=True)
class LeftOut:
    """A result of a mapped file that is not imported, because the mapping is about others."""

    file: str
    result: str
    reason: str


@dataclass(frozen=True)
class FileResults:
    """What the results of one file come to."""

    results: tuple[PlannedResult, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    refused: tuple[Refusal, ...] = ()


class _RefusedError(Exception):
    """Something that the mapping and the file say does not go together."""

    def __init__(self, message: str, follows: str | None = None) -> None:
        super().__init__(message)
        self.follows = follows


def read_results(mapping: Mapping, assignments: Sequence[Assignment], layouts: dict[str, Layout | str]) -> FileResults:
    """The results of one file.

    Parameters
    ----------
    mapping : Mapping
    assignments : sequence of Assignment
        All of one file.
    layouts : dict of str to Layout or str
        By the names that the mapping uses; text says why there is no such layout.
    """
    from glusterlab.readers.document import Document

    file = assignments[0].file
    name = shown(file.name)
    try:
        document = Document.open(file.path)
        records, damage = read_all(document, _tool(document, assignments, mapping.defaults.tool))
    except ParseError as error:
        return FileResults(refused=(Refusal(name, error.message, error.line),))
    except _RefusedError as error:
        return FileResults(refused=(Refusal(name, str(error)),))
    refused = [] if damage is None else [Refusal(name, damage.message, damage.line)]
    found = keyed(records)
    if not found:
        if damage is None:
            kinds = sorted({f"{record.tool}'s {record.kind}" for record in records})
            refused.append(
                Refusal(
                    name, f"expected results of a workload, found {', '.join(kinds)}: map it under gluster or telemetry"
                )
            )
        return FileResults(refused=tuple(refused))
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
                refused.append(Refusal(name, f"{key}: {error}", record.source.line, error.follows))
            taken.add(key)
    return FileResults(
        tuple(results), tuple(entry for key, entry in left_out.items() if key not in taken), _merged(refused)
    )


def about_layout(name: str) -> str:
    """What refusals follow from that are so because a layout is lacking."""
    return f"layout {name!r}"


def _tool(document: Document, assignments: Sequence[Assignment], default: str | None) -> str:
    """Whose output a file is, by its content and by what is said of it.

    Raises
    ------
    ParseError
        When nobody knows.
    _RefusedError
        When the two contradict each other.
    """
    from glusterlab import readers

    wanted = {assignment.said["tool"]: assignment for assignment in assignments if "tool" in assignment.said}
    try:
        found = readers.recognise(document).TOOL
    except ParseError:
        # a file that somebody has cut to a few lines may have no mark of its tool
        known = next(iter(wanted), default)
        if known is None:
            raise
        return known
    for tool, assignment in wanted.items():
        if tool != found:
            raise _RefusedError(f"{assignment.who('tool')} says tool {tool}, the file is of {found}")
    return found


def _merged(refused: Iterable[Refusal]) -> tuple[Refusal, ...]:
    """Refusals of a file; where all of its results lack the same, once."""
    once: dict[str, Refusal] = {}
    for refusal in refused:
        message = refusal.message.split(": ", 1)[-1]
        once.setdefault(message, refusal)
    return tuple(once.values())


Keyed = Sequence[tuple[ResultKey, "WorkloadRecord"]]


def _select(assignment: Assignment, found: Keyed) -> tuple[Keyed, dict[ResultKey, str]]:
    """The results of a file that an entry is about, and why the others are not.

    What path and mapping say chooses among the results; a file without a result that fits contradicts them.

    Raises
    ------
    _RefusedError
        When there are none, or they are of several hosts and the mapping names none of them.
    """
    chosen = list(found)
    others: dict[ResultKey, str] = {}
    for field in _CHOOSING:
        if field not in assignment.said:
            continue
        wanted = assignment.said[field]
        values = {key: _value(field, key, record) for key, record in chosen}
        fitting = [(key, record) for key, record in chosen if _fits(field, wanted, values[key])]
        says = f"{assignment.who(field)} says {field} {_words(field, wanted)}"
        if not fitting:
            there = ", ".join(dict.fromkeys(_words(field, value) for value in values.values()))
            raise _RefusedError(f"{says}, the file has {there}")
        others |= {key: says for key, _ in chosen if not _fits(field, wanted, values[key])}
        chosen = fitting
    if "host" not in assignment.said:
        chosen, hosts = _all_hosts_together(chosen)
        others |= hosts
    return chosen, others


def _value(field: str, key: ResultKey, record: WorkloadRecord) -> Any:
    """What a file says of a field; None where it does not."""
    if field in ("run", "operation", "job", "host"):
        return getattr(key, field)
    if field == "files_per_worker":
        found = record.details.get("files_per_thread")
        return found if isinstance(found, int) and not isinstance(found, bool) else None
    if field == "workers":
        return record.workers
    return getattr(record, f"{field}_bytes") or None


def _fits(field: str, wanted: Any, found: Any) -> bool:
    if field not in ("run", "operation", "job", "host") and found is None:
        return True
    if field == "file_size":
        return bool(abs(found / wanted - 1) <= SAME_SIZE)
    return bool(found == wanted)


def _words(field: str, value: Any) -> str:
    if value is None:
        return "none"
    return format_size(value) if field.endswith("size") else str(value)


def _all_hosts_together(chosen: Keyed) -> tuple[list[tuple[ResultKey, WorkloadRecord]], dict[ResultKey, str]]:
    """Results over all hosts; a tool that tells of each host besides is read without these.

    Raises
    ------
    _RefusedError
        When results of several hosts stand side by side: their sum was measured by nobody.
    """
    groups: dict[tuple[object, ...], list[tuple[ResultKey, WorkloadRecord]]] = {}
    for key, record in chosen:
        # whatever the run: a reader may count each host's report as a run
        group = (key.operation, key.job, record.file_size_bytes, record.record_size_bytes)
        groups.setdefault(group, []).append((key, record))
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
    mapping: Mapping,
    assignment: Assignment,
    key: ResultKey,
    record: WorkloadRecord,
    layouts: dict[str, Layout | str],
) -> PlannedResult:
    said, defaults = assignment.said, mapping.defaults
    name = said.get("layout", defaults.layout)
    if name is None:
        raise _RefusedError(
            "which layout? Neither path nor mapping says it: write {layout} into the pattern, or say layout"
        )
    layout = layouts[name]
    if isinstance(layout, str):
        raise _RefusedError(layout, follows=about_layout(name))
    accept = bool(said.get("accept_unjudged", defaults.accept_unjudged))
    options = said.get("options", defaults.options) or ()
    # jobs of one file are different workloads, even where sizes and workers agree
    job = () if key.job is None else (f"--name={key.job}",)

    def known(field: str) -> int | None:
        # the file's own word, then that of path and mapping: where both speak they agree, or it would not be chosen
        found: int | None = _value(field, key, record)
        wanted: int | None = said.get(field, getattr(defaults, field))
        return wanted if found is None else found

    size, workers = known("file_size"), known("workers")
    if workers is None:
        raise _RefusedError(
            "how many workers? The file does not say it: write {workers} into the pattern, or say workers"
        )
    if size is None:
        raise _RefusedError(
            "which file size? The file does not say it: write {file_size} into the pattern, or say file_size"
        )
    try:
        cell = Cell(
            layout=layout,
            access=said.get("access", defaults.access) or "native",
            tool=record.tool,
            operation=record.operation,
            file_size_bytes=size,
            nominal_file_size_bytes=size,
            record_size_bytes=known("record_size"),
            files_per_worker=known("files_per_worker") or 1,
            workers=workers,
            model=REAL_HARDWARE,
            options=(*options, *job),
        )
    except ValidationError as error:
        details = error.errors(include_url=False)[0]
        raise _RefusedError(f"{details['loc'][0]}: {details['msg'][:1].lower()}{details['msg'][1:]}") from error
    reasons = reasons_of(record, accept_unjudged=accept)
    return PlannedResult(
        file=assignment.file,
        cell=cell,
        layout=name,
        key=key,
        label=record.label,
        line=record.source.line,
        tool=record.tool,
        tool_version=record.tool_version,
        said={field: list(value) if isinstance(value, tuple) else value for field, value in said.items()},
        repeat=said.get("repeat"),
        status=status_of(reasons),
        reasons=reasons,
        judged=record.valid is not None,
        accept_unjudged=accept,
        gluster_version=said.get("gluster_version", defaults.gluster_version),
        disks=mapping.layout_facts(name).disks or 0,
    )
