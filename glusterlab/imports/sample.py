"""One imported sample: what its import.json says, which result of its file it is, and whether that counts.

The folder of an imported sample holds ``workload/<file>``, the original as it was, and import.json, which says what of
it is this sample. The tool's own output is the only evidence: the pool's health, caches and clocks were not recorded.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, ConfigDict

from glusterlab.errors import ParseError
from glusterlab.evidence import read_record
from glusterlab.judge import Judgement
from glusterlab.reasons import Reason, status_of

if TYPE_CHECKING:
    from glusterlab.readers import Record
    from glusterlab.readers.document import Document
    from glusterlab.readers.records import WorkerRecord, WorkloadRecord
    from glusterlab.spec.cell import Cell
    from glusterlab.workloads.base import WorkloadResult

IMPORT_FILE = "import.json"
_REMEMBERED_BYTES = 4 << 20
"""A file of up to so many bytes is read once for all of its samples that follow each other."""


class _Stored(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class ResultKey(_Stored):
    """Which result of a file: the n-th of one run, operation, host and job.

    Attributes
    ----------
    run : int
    operation : str
    host, job : str or None
    occurrence : int
        From 1, among those that agree in all of these.
    """

    run: int
    operation: str
    host: str | None = None
    job: str | None = None
    occurrence: int = 1

    @classmethod
    def of(cls, record: WorkloadRecord, occurrence: int = 1) -> ResultKey:
        """The key of a record."""
        return cls(run=record.run, operation=record.operation, host=record.host, job=record.job, occurrence=occurrence)

    def __str__(self) -> str:
        parts = [self.operation]
        if self.job:
            parts.append(f"job {self.job}")
        if self.host:
            parts.append(f"host {self.host}")
        parts.append(f"run {self.run}")
        if self.occurrence > 1:
            parts.append(f"no. {self.occurrence}")
        return ", ".join(parts)


class AttachedFile(_Stored):
    """A file that was put beside the result.

    Attributes
    ----------
    file : str
        Below the sample's folder.
    source : str
        Below the imported folder.
    host, role, timezone : str or None
        Of telemetry.
    """

    file: str
    source: str
    host: str | None = None
    role: Literal["server", "client"] | None = None
    timezone: str | None = None


class ImportRecord(_Stored):
    """``import.json``: where a sample comes from.

    Attributes
    ----------
    source : str
        The original's path below the imported folder.
    file : str
        Where it lies below the sample's folder.
    tool : str
        Whose output it is.
    result : ResultKey
    label : str
        The operation as the tool printed it.
    line : int or None
        On which the result's report starts.
    said : dict
        What path and mapping said of it.
    accept_unjudged : bool
        Count it as valid when its file does not hold what a judgement needs.
    telemetry, gluster : tuple of AttachedFile
    """

    schema_version: Literal[1] = 1
    source: str
    file: str
    tool: str
    result: ResultKey
    label: str
    line: int | None
    said: dict[str, Any]
    accept_unjudged: bool
    telemetry: tuple[AttachedFile, ...] = ()
    gluster: tuple[AttachedFile, ...] = ()


def read_import(folder: Path) -> ImportRecord:
    """What a sample's import.json says.

    Raises
    ------
    ParseError
        When it is absent or damaged, or names a file outside the sample's folder.
    """
    record = read_record(ImportRecord, folder / IMPORT_FILE)
    if Path(record.file).is_absolute() or ".." in Path(record.file).parts:
        raise ParseError(f"expected a file of the sample, found {record.file!r}", file=folder / IMPORT_FILE)
    return record


def read_all(document: Document, tool: str | None = None) -> tuple[tuple[Record, ...], ParseError | None]:
    """All records of a document, and what ended the reading where it is not whole."""
    from glusterlab import readers

    found: list[Record] = []
    try:
        found.extend(readers.read(document, tool))
    except ParseError as error:
        return tuple(found), error
    return tuple(found), None


def keyed(records: Sequence[Record]) -> list[tuple[ResultKey, WorkloadRecord]]:
    """The workload results among records, each with its key."""
    from glusterlab.readers.records import WorkloadRecord

    counts: dict[ResultKey, int] = {}
    found = []
    for record in records:
        if isinstance(record, WorkloadRecord):
            first = ResultKey.of(record)
            counts[first] = counts.get(first, 0) + 1
            found.append((first.model_copy(update={"occurrence": counts[first]}), record))
    return found


Place = tuple[int, str, str | None]
"""Run, operation and job."""


@dataclass(frozen=True)
class _Content:
    """What a file holds: each result by its key, and by run, operation and job the results and their workers."""

    results: dict[ResultKey, WorkloadRecord]
    keys: dict[Place, list[ResultKey]]
    workers: dict[Place, list[WorkerRecord]]
    damage: ParseError | None

    @classmethod
    def of(cls, document: Document, tool: str) -> _Content:
        from glusterlab.readers.records import WorkerRecord

        records, damage = read_all(document, tool)
        found = cls(dict(keyed(records)), {}, {}, damage)
        for key in found.results:
            found.keys.setdefault((key.run, key.operation, key.job), []).append(key)
        for record in records:
            if isinstance(record, WorkerRecord):
                found.workers.setdefault((record.run, record.operation, record.job), []).append(record)
        return found

    def workers_of(self, key: ResultKey) -> list[WorkerRecord]:
        """Rows of the workers of one result; none where the file has several results that they could belong to."""
        place = (key.run, key.operation, key.job)
        workers = self.workers.get(place, [])
        if len(self.keys[place]) == 1:
            return workers
        rivals = [other for other in self.keys[place] if other.host == key.host]
        if key.host is None or len(rivals) > 1:
            return []
        return [worker for worker in workers if worker.host == key.host]


_content_again = lru_cache(maxsize=2)(_Content.of)


def read_result(folder: Path) -> tuple[ImportRecord, WorkloadRecord, list[WorkerRecord]]:
    """The result that an imported sample is, as its file says it.

    Parameters
    ----------
    folder : pathlib.Path
        The sample's folder.

    Raises
    ------
    ParseError
        When the file cannot be read, or has no such result.
    """
    from glusterlab.readers.document import Document, read_bytes

    imported = read_import(folder)
    path = folder / imported.file
    # named without its folder, so that the same file of the next sample is the same document
    document = Document(Path(imported.file), read_bytes(path)).checked()
    read = _content_again if len(document.data) <= _REMEMBERED_BYTES else _Content.of
    content = read(document, imported.tool)
    record = content.results.get(imported.result)
    if record is not None:
        return imported, record, content.workers_of(imported.result)
    if content.damage is not None:
        raise ParseError(content.damage.message, file=path, line=content.damage.line)
    raise ParseError(f"expected a result of {imported.result}, found none", file=path)


def reasons_of(record: WorkloadRecord, *, accept_unjudged: bool) -> tuple[Reason, ...]:
    """Why a result does not count; nothing when it does.

    Parameters
    ----------
    record : WorkloadRecord
    accept_unjudged : bool
        Whether a result counts whose file does not hold what a judgement needs.
    """
    if record.valid:
        return ()
    numbers = (record.throughput_bytes_per_s, record.operations_per_s, record.files_per_s)
    if record.valid is None and accept_unjudged and any(number is not None for number in numbers):
        return ()
    if record.reasons:
        return record.reasons
    if record.valid is None:
        message = "the file does not hold what a judgement needs; accept_unjudged in the mapping counts it all the same"
        return (Reason(code="tool-incomplete", message=message),)
    return (Reason(code="tool-failed", message="the file shows a failure"),)


def judge(folder: Path, cell: Cell) -> Judgement:
    """Judge an imported sample by its tool's own output.

    Parameters
    ----------
    folder : pathlib.Path
        The sample's folder, finished or still ``.partial``.
    cell : Cell

    Returns
    -------
    Judgement
        Never raises for what is in the folder: what cannot be read is a reason.
    """
    try:
        result = read_sample(folder, cell)
    except ParseError as error:
        reasons = (Reason(code="tool-failed", message=error.message),)
        return Judgement(status_of(reasons), reasons, None)
    return Judgement(status_of(result.problems), result.problems, result)


def read_sample(folder: Path, cell: Cell) -> WorkloadResult:
    """What an imported sample's tool measured, as a workload's own ``parse`` says it of a measured one.

    Parameters
    ----------
    folder : pathlib.Path
        The sample's folder.
    cell : Cell

    Raises
    ------
    ParseError
        When the file cannot be read, or has no such result.
    """
    from glusterlab.workloads.base import WorkerResult, WorkloadResult

    imported, record, workers = read_result(folder)
    return WorkloadResult(
        tool=record.tool,
        tool_version=record.tool_version,
        operation=record.operation,
        workers=record.workers or cell.workers,
        throughput_bytes_per_s=record.throughput_bytes_per_s,
        files_per_s=record.files_per_s,
        operations_per_s=record.operations_per_s,
        elapsed_s=record.elapsed_s,
        worker_min_bytes_per_s=record.worker_min_bytes_per_s,
        worker_max_bytes_per_s=record.worker_max_bytes_per_s,
        worker_results=tuple(
            WorkerResult(
                worker=worker.worker,
                host=worker.host,
                throughput_bytes_per_s=worker.throughput_bytes_per_s,
                files_per_s=worker.files_per_s,
                bytes=worker.bytes,
                files=worker.files,
                elapsed_s=worker.elapsed_s,
                status="; ".join(reason.message for reason in worker.reasons) or "ok",
            )
            for worker in workers
        ),
        problems=reasons_of(record, accept_unjudged=imported.accept_unjudged),
    )
