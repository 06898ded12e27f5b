"""Reader of smallfile's output: printed reports of versions 1.9 to 3.2, and the JSON of ``--output-json``."""

from __future__ import annotations

import re
from collections.abc import Iterator

from glusterlab.errors import ParseError
from glusterlab.reasons import Reason
from glusterlab.tools.document import Document
from glusterlab.tools.records import Details, Record, WorkerRecord, WorkloadRecord
from glusterlab.tools.smallfile.report import (
    KB,
    OPERATIONS,
    THREAD,
    Report,
    Thread,
    contradictions,
    documents,
    faults,
    gaps,
    reports,
)
from glusterlab.units import MIB

TOOL = "smallfile"

_SURE = (
    THREAD,
    re.compile(r"% of requested files processed"),
    re.compile(r"files/thread : \d"),
    re.compile(r'"(?:pctFilesDone|pct-files-done)"'),
)
_LIKELY = re.compile(r"smallfile_cli\.py|smallfile version \d|SMFR(?:un|esult)Exception|\bfiles/sec = [0-9]")


def recognise(document: Document) -> float:
    """0.95 for a line that only smallfile prints, 0.5 for its name or a rate of files."""
    text = re.sub("[ \t]+", " ", document.head)
    if any(mark.search(text) for mark in _SURE):
        return 0.95
    return 0.5 if _LIKELY.search(text) else 0.0


def read(document: Document) -> Iterator[Record]:
    """Each run's operation, followed by its threads; what JSON repeats of a printed run is left out.

    `ParseError` when a run is cut off or none is there, after those that are whole.
    """
    found: list[Report] = []
    errors: list[ParseError] = []
    printed: set[tuple[object, ...]] = set()
    for source in (reports, documents):
        try:
            found.extend(report for report in source(document) if _identity(report) not in printed)
        except ParseError as error:
            errors.append(error)
        printed = {_identity(report) for report in found}
    runs: dict[str | None, int] = {}
    for report in sorted(found, key=lambda report: report.line or 0):
        runs[report.prefix] = runs.get(report.prefix, 0) + 1
        try:
            yield from _records(document, report, runs[report.prefix])
        except ParseError as error:
            errors.append(error)
    if errors:
        raise errors[0]
    if not found:
        raise document.error("expected a report of smallfile, found none", 1)


def _identity(report: Report) -> tuple[object, ...]:
    """What tells a run from others, in as many digits as are printed: JSON has more."""
    rate = None if report.too_quick or report.files_per_s is None else f"{report.files_per_s:.6f}"
    elapsed = None if report.elapsed_s is None else f"{report.elapsed_s:.3f}"
    return report.operation, report.files, report.threads, rate, elapsed


def judge(report: Report) -> tuple[bool | None, tuple[Reason, ...]]:
    """Whether a report is valid, with the reasons why not or why it cannot be said."""
    reasons = (*faults(report), *contradictions(report))
    if reasons:
        return False, reasons
    unknown = tuple(gaps(report))
    return (None, unknown) if unknown else (True, ())


def _records(document: Document, report: Report, run: int) -> Iterator[Record]:
    source = document.source(report.line)
    if report.operation is None:
        message = "expected smallfile's line 'operation : ...', found a report without it: add it, or the command line"
        raise document.error(message, report.line)
    operation = OPERATIONS.get(report.operation)
    if operation is None:
        raise document.error(
            f"expected an operation of smallfile, found {report.operation[:80]!r}: is the file damaged?", report.line
        )
    valid, reasons = judge(report)
    usable = not report.never_ended
    yield WorkloadRecord(
        tool=TOOL,
        tool_version=report.version,
        source=source,
        run=run,
        host=report.prefix,
        operation=operation,
        label=report.operation,
        workers=report.workers,
        file_size_bytes=None if report.file_size_kb is None else report.file_size_kb * KB,
        record_size_bytes=report.record_size_kb * KB if report.record_size_kb else None,
        throughput_bytes_per_s=report.mib_per_s * MIB if report.mib_per_s and usable else None,
        operations_per_s=(report.iops or None) if usable else None,
        files_per_s=(report.files_per_s or None) if usable else None,
        elapsed_s=(report.elapsed_s or None) if usable else None,
        files=report.files,
        percent_done=report.percent_done,
        valid=valid,
        reasons=reasons,
        details=_details(report),
    )
    for number, row in enumerate(report.rows, start=1):
        completed = row.completed and row.elapsed_s is not None
        seconds = row.elapsed_s if completed else None
        said = None if row.status == "ok" and completed else row.status
        yield WorkerRecord(
            tool=TOOL,
            tool_version=report.version,
            source=source,
            run=run,
            host=row.host if row.host is not None else report.prefix,
            operation=operation,
            label=row.name,
            worker=number,
            throughput_bytes_per_s=_throughput(report, row) if completed else None,
            operations_per_s=_rate(row.records or None, seconds),
            files_per_s=_rate(row.files, seconds),
            elapsed_s=seconds,
            bytes=_bytes(report, row),
            files=row.files,
            valid=said is None,
            reasons=() if said is None else (Reason(code="tool-failed", message=said, host=row.host),),
            details={} if row.records is None else {"records": row.records},
        )


def _rate(count: int | None, seconds: float | None) -> float | None:
    return None if count is None or seconds is None else count / seconds


def _bytes(report: Report, row: Thread) -> int | None:
    """Records of the known size; JSON has no record size, there whole files of the known size."""
    if not row.records:
        return None
    if report.record_kb is not None:
        return row.records * report.record_kb * KB
    if row.files is None or report.file_size_kb is None or report.distribution == "random exponential":
        return None
    return row.files * report.file_size_kb * KB


def _throughput(report: Report, row: Thread) -> float | None:
    if row.mib_per_s is not None:
        return row.mib_per_s * MIB or None
    done = _bytes(report, row)
    return None if done is None else _rate(done, row.elapsed_s)


def _details(report: Report) -> Details:
    found: Details = {
        "hosts": list(report.hosts) or None,
        "threads_per_host": report.threads_per_host,
        "files_per_thread": report.files_per_thread,
        "file_size_distribution": report.distribution,
        "percent_done_min": report.percent_min,
        "total_iops_line": report.iops_line,
        "records": report.records,
        "data_bytes": report.data_gib * 2**30 if report.data_gib else None,
        "start_time_epoch_s": report.start_time,
        "status": report.status,
        "threads_failed": sum(row.status != "ok" or not row.completed for row in report.rows) or None,
    }
    return {name: value for name, value in found.items() if value is not None}
