"""One imported sample: what its import.json says, which result of its file it is, and whether that counts."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

from glusterlab import tools
from glusterlab.errors import ParseError
from glusterlab.reasons import Reason
from glusterlab.spec.cell import Cell
from glusterlab.store.records import Stored, read_record
from glusterlab.tools.base import Measurement, read_all
from glusterlab.tools.document import Document, read_bytes
from glusterlab.tools.records import Record, WorkerRecord, WorkloadRecord

IMPORT_FILE = "import.json"
_REMEMBERED_BYTES = 4 << 20  # a file of up to so many bytes is read once for all of its samples that follow each other


class ResultKey(Stored):
    """Which result of a file: `occurrence` counts, from 1, those that agree in all else."""

    run: int
    operation: str
    host: str | None = None
    job: str | None = None
    occurrence: int = 1

    def __str__(self) -> str:
        job, host = f"job {self.job}" if self.job else "", f"host {self.host}" if self.host else ""
        occurrence = f"no. {self.occurrence}" if self.occurrence > 1 else ""
        return ", ".join(filter(None, [self.operation, job, host, f"run {self.run}", occurrence]))


class AttachedFile(Stored):
    """A file beside the result: `file` below the sample's folder, `source` below the imported one."""

    file: str
    source: str
    host: str | None = None
    role: Literal["server", "client"] | None = None
    timezone: str | None = None


class ImportRecord(Stored):
    """``import.json``: where a sample comes from; `source` and `file` as in `AttachedFile`.

    `said`: what path and mapping said of it. `accept_unjudged`: count it without what a judgement needs.
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
    """What a sample's import.json says; ParseError when it is none, or names a file outside the sample's folder."""
    record = read_record(ImportRecord, folder / IMPORT_FILE)
    if Path(record.file).is_absolute() or ".." in Path(record.file).parts:
        raise ParseError(f"expected a file of the sample, found {record.file!r}", file=folder / IMPORT_FILE)
    return record


def keyed(records: Sequence[Record]) -> list[tuple[ResultKey, WorkloadRecord]]:
    """The workload results among records, each with its key."""
    counts: dict[ResultKey, int] = {}
    found = []
    for record in records:
        if isinstance(record, WorkloadRecord):
            first = ResultKey(run=record.run, operation=record.operation, host=record.host, job=record.job)
            counts[first] = counts.get(first, 0) + 1
            found.append((first.model_copy(update={"occurrence": counts[first]}), record))
    return found


Content = tuple[dict[ResultKey, WorkloadRecord], list[WorkerRecord], ParseError | None]
"""Results of a file by key, rows of all workers, and what ended the reading."""


def _content(document: Document, tool: str) -> Content:
    records, damage = read_all(lambda: tools.read(document, tool))
    return dict(keyed(records)), [record for record in records if isinstance(record, WorkerRecord)], damage


_content_again = lru_cache(maxsize=2)(_content)


def _workers_of(key: ResultKey, results: Iterable[ResultKey], workers: list[WorkerRecord]) -> list[WorkerRecord]:
    """Rows of the workers of one result; none where the file has several results that they could belong to."""
    place = (key.run, key.operation, key.job)
    rivals = [other for other in results if (other.run, other.operation, other.job) == place]
    own = [worker for worker in workers if (worker.run, worker.operation, worker.job) == place]
    if len(rivals) == 1:
        return own
    if key.host is None or sum(other.host == key.host for other in rivals) > 1:
        return []
    return [worker for worker in own if worker.host == key.host]


def read_result(folder: Path) -> tuple[ImportRecord, WorkloadRecord, list[WorkerRecord]]:
    """The result that an imported sample is; ParseError when its file cannot be read, or has no such result."""
    imported = read_import(folder)
    path = folder / imported.file
    # named without its folder, so that the same file of the next sample is the same document
    document = Document(Path(imported.file), read_bytes(path)).checked()
    read = _content_again if len(document.data) <= _REMEMBERED_BYTES else _content
    results, workers, damage = read(document, imported.tool)
    if (record := results.get(imported.result)) is not None:
        return imported, record, _workers_of(imported.result, results, workers)
    if damage is not None:
        raise ParseError(damage.message, file=path, line=damage.line)
    raise ParseError(f"expected a result of {imported.result}, found none", file=path)


def reasons_of(record: WorkloadRecord, *, accept_unjudged: bool) -> tuple[Reason, ...]:
    """Why a result does not count; nothing when it does."""
    if record.valid:
        return ()
    numbers = {record.throughput_bytes_per_s, record.operations_per_s, record.files_per_s}
    if record.valid is None and accept_unjudged and numbers != {None}:
        return ()
    if record.reasons:
        return record.reasons
    if record.valid is None:
        message = "the file does not hold what a judgement needs; accept_unjudged in the mapping counts it all the same"
        return (Reason(code="tool-incomplete", message=message),)
    return (Reason(code="tool-failed", message="the file shows a failure"),)


def read_sample(folder: Path, cell: Cell) -> Measurement:
    """What an imported sample's tool measured, as the tool's own ``parse`` says it of a measured one."""
    imported, record, workers = read_result(folder)
    problems = reasons_of(record, accept_unjudged=imported.accept_unjudged)
    return Measurement(replace(record, workers=record.workers or cell.workers), tuple(workers), problems)
