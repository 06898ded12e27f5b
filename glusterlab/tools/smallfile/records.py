"""What smallfile's reports prove, and their records.

Until 2019 rates are totals over the longest thread's time, since then they are sums over the threads; its MB is 2**20
bytes. It ends with exit code 0 and, in JSON, the status ``Success`` when too few files were done.
"""

import re
from collections import Counter
from collections.abc import Iterator
from math import fsum, isclose

from glusterlab.errors import ParseError
from glusterlab.reasons import Reason
from glusterlab.tools import records
from glusterlab.tools.document import Document, by_marks
from glusterlab.tools.smallfile.report import KB, SUCCESS, THREAD, Report, Thread, json_reports, text_reports
from glusterlab.units import MIB

_NAMES: tuple[records.Operation, ...] = (
    *("create", "append", "overwrite", "read", "rename", "delete", "delete-renamed", "cleanup", "symlink", "mkdir"),
    *("rmdir", "stat", "chmod", "setxattr", "getxattr", "swift-get", "swift-put", "readdir", "ls-l", "await-create"),
)
OPERATIONS: dict[str, records.Operation] = {**{name: name for name in _NAMES}, "truncate-overwrite": "overwrite"}
# those that read or write records
DATA_OPERATIONS = frozenset({"create", "append", "overwrite", "truncate-overwrite", "read", "swift-get", "swift-put"})
MIN_PERCENT_DONE = 70.0  # smallfile's own threshold: below it, too few files were done before the first thread finished

_TOLERANCE = 1e-4
_SURE = rf'{THREAD.pattern}|% of requested files processed|files/thread : \d|"pct(?:FilesDone|-files-done)"'
_LIKELY = r"smallfile_cli\.py|smallfile version \d|SMFR(?:un|esult)Exception|\bfiles/sec = [0-9]"
recognise = by_marks({_SURE: 0.95, _LIKELY: 0.5}, lambda head: re.sub("[ \t]+", " ", head))


def read(document: Document) -> Iterator[records.Record]:
    """Each run's operation, then its threads, but what JSON repeats; `ParseError` after them for a cut, or no run."""
    found: list[Report] = []
    errors: list[ParseError] = []
    printed: set[tuple[object, ...]] = set()
    for reports in (text_reports, json_reports):
        try:
            found.extend(report for report in reports(document) if _identity(report) not in printed)
        except ParseError as error:
            errors.append(error)
        printed = {_identity(report) for report in found}
    runs: Counter[str | None] = Counter()
    for report in sorted(found, key=lambda report: report.line or 0):
        runs[report.prefix] += 1
        try:
            yield from _records(document, report, runs[report.prefix])
        except ParseError as error:
            errors.append(error)
    if errors:
        raise errors[0]
    if not found:
        raise document.error("expected a report of smallfile, found none", 1)


def _identity(report: Report) -> tuple[object, ...]:
    """What distinguishes a run from others, in as many digits as are printed: JSON has more."""
    rate = None if report.too_quick or report.files_per_s is None else f"{report.files_per_s:.6f}"
    elapsed = None if report.elapsed_s is None else f"{report.elapsed_s:.3f}"
    return report.operation, report.files, report.threads, rate, elapsed


def _records(document: Document, report: Report, run: int) -> Iterator[records.Record]:
    if (label := report.operation) is None or (operation := OPERATIONS.get(label)) is None:
        found = "none: add its line 'operation : ...', or the command line" if label is None else repr(label[:80])
        raise document.error(f"expected an operation of smallfile, found {found}", report.line)
    usable = not report.never_ended
    details = {
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
        "threads_failed": sum(row.complaint is not None for row in report.rows) or None,
    }
    record = records.WorkloadRecord(
        tool="smallfile",
        tool_version=report.version,
        source=document.source(report.line),
        run=run,
        host=report.prefix,
        operation=operation,
        label=label,
        workers=report.workers,
        file_size_bytes=None if report.file_size_kb is None else report.file_size_kb * KB,
        record_size_bytes=report.record_size_kb * KB if report.record_size_kb else None,
        throughput_bytes_per_s=report.mib_per_s * MIB if report.mib_per_s and usable else None,
        operations_per_s=(report.iops or None) if usable else None,
        files_per_s=(report.files_per_s or None) if usable else None,
        elapsed_s=(report.elapsed_s or None) if usable else None,
        files=report.files,
        percent_done=report.percent_done,
        **records.verdict([*_faults(report), *_contradictions(report)], _gaps(report)),
        details=records.without_none(details),
    )
    yield record
    for number, row in enumerate(report.rows, start=1):
        done, seconds = _bytes(report, row), row.elapsed_s
        rate = row.mib_per_s * MIB if row.mib_per_s is not None else done and seconds and done / seconds
        yield records.worker_of(
            record,
            host=row.host if row.host is not None else report.prefix,
            label=row.name,
            worker=number,
            throughput_bytes_per_s=(rate or None) if seconds else None,
            operations_per_s=row.records / seconds if row.records and seconds else None,
            files_per_s=row.files / seconds if row.files is not None and seconds else None,
            elapsed_s=seconds,
            bytes=done,
            files=row.files,
            **records.verdict([] if row.complaint is None else [records.failed(row.complaint, row.host)]),
            details=records.without_none({"records": row.records}),
        )


def _bytes(report: Report, row: Thread) -> int | None:
    """Records of the known size; JSON has no record size, there whole files of the known size."""
    if not row.records:
        return None
    if report.record_kb is not None:
        return row.records * report.record_kb * KB
    if row.files is None or report.file_size_kb is None or report.distribution == "random exponential":
        return None
    return row.files * report.file_size_kb * KB


def _faults(report: Report) -> Iterator[Reason]:
    if report.has_result and (report.never_ended or report.files_per_s == 0):
        yield records.failed(f"no result: {report.files} files done, status {report.status!r}")
    elif report.status is not None and report.status not in SUCCESS:
        yield records.failed(f"smallfile's status is {report.status!r}")
    for place, row in enumerate(report.rows, start=1):
        if row.complaint is not None:
            yield records.failed(f"worker {place}: {row.complaint}", row.host)
    for complaint in dict.fromkeys(report.complaints):
        reason = records.incomplete if complaint.startswith("WARNING") else records.failed
        yield reason(f"smallfile said: {complaint[:200]}")
    least = MIN_PERCENT_DONE if report.percent_min is None else report.percent_min
    if report.percent_done is not None and report.percent_done < least:
        message = f"{report.percent_done:.1f} % of the files were done when the first thread finished"
        yield records.incomplete(f"{message}, expected {least:g} % at least")
    if report.too_quick:
        yield records.incomplete("the test ended too quickly for smallfile to compute rates")


def _contradictions(report: Report) -> Iterator[Reason]:
    """Where numbers of the report do not fit each other: lines are lost, doubled, or belong to another run."""
    rows, threads = report.rows, report.threads
    if threads is not None and report.expected_threads is not None and threads < report.expected_threads:
        yield _wrong("results of threads:", report.expected_threads, threads)
    if threads is not None and len(rows) > threads:
        yield _wrong("lines of threads:", threads, len(rows))
    if report.percent_done is not None and report.percent_done > 100.005:
        yield _wrong("at most", "100 % of the files", f"{report.percent_done:g} %")
    if report.files_per_thread == 0:
        yield _wrong("files per thread:", "1 at least", 0)
    if not rows or len(rows) != report.workers:
        return
    files = sum(row.files or 0 for row in rows)
    if report.files_per_thread is not None and (most := max(row.files or 0 for row in rows)) > report.files_per_thread:
        yield _wrong("files of a thread: at most", report.files_per_thread, most)
    if report.files is not None and files != report.files:
        yield _wrong("as many files as the threads did:", files, report.files)
    if report.files_per_thread and report.percent_done is not None:
        percent = 100.0 * files / (report.files_per_thread * len(rows))
        if abs(percent - report.percent_done) > 0.0101:
            yield _wrong("a percentage of files of", f"{percent:.2f}", f"{report.percent_done:.2f}")
    if all(row.records is not None for row in rows):
        yield from _wrong_records(report)
    if all(row.elapsed_s is not None for row in rows):
        yield from _wrong_rates(report)


def _wrong(what: str, expected: object, found: object) -> Reason:
    return records.incomplete(f"expected {what} {expected}, found {found}")


def _wrong_records(report: Report) -> Iterator[Reason]:
    """Where the operation and its records, or records and rates, are of different runs."""
    done, moves = sum(row.records or 0 for row in report.rows), report.operation in DATA_OPERATIONS
    if done and not moves:
        yield _wrong(f"no records of {report.operation}:", 0, done)
    if not done and any((report.iops, report.mib_per_s, report.data_gib)):
        yield _wrong("a rate of", "0 records", "one")
    size, of_record = report.file_size_kb, report.record_kb
    if not moves or not size or report.distribution == "random exponential":
        return
    if done and of_record:
        each = -(-size // of_record)
        for row in report.rows:
            # when threads stop, a file may be begun and not counted
            if not each * (row.files or 0) <= (row.records or 0) <= each * ((row.files or 0) + 1):
                yield _wrong(f"records of {row.files} files of {size} KB:", each * (row.files or 0), row.records)
                break
    if not done and report.files:
        yield _wrong("records in", report.operation, "none")


def _wrong_rates(report: Report) -> Iterator[Reason]:
    rows, times = report.rows, [row.elapsed_s or 0.0 for row in report.rows]
    longest = max(times)
    if report.elapsed_s is not None and abs(longest - report.elapsed_s) > 0.0011:
        yield _wrong("the longest thread's time of", f"{longest:.3f} s", f"{report.elapsed_s:.3f} s")
    # older versions print threads' times in microseconds
    slack = _TOLERANCE + 1e-6 / min(times)
    pairs = [("files/s", report.files_per_s, [row.files or 0 for row in rows])]
    if all(row.records is not None for row in rows):
        pairs.append(("IOPS", report.iops, [row.records or 0 for row in rows]))
    for what, printed, counts in pairs:
        sums = (sum(counts) / longest, fsum(count / time for count, time in zip(counts, times, strict=True)))
        if printed is not None and not any(isclose(printed, one, rel_tol=slack) for one in sums):
            yield _wrong(f"{what} of", f"{sums[1]:.1f}", f"{printed:.1f}")
    if report.mib_per_s is None:
        return
    rates = [row.mib_per_s for row in rows if row.mib_per_s is not None]
    if len(rates) == len(rows) and not isclose(report.mib_per_s, fsum(rates), rel_tol=_TOLERANCE):
        yield _wrong("MiB/s of", f"{fsum(rates):.1f}", f"{report.mib_per_s:.1f}")
    if report.iops is not None and report.record_kb is not None:
        # of records of the size that it bounds, or in some versions of the size that was requested
        sizes = (report.record_kb, report.record_size_kb or report.file_size_kb or 0)
        if not any(isclose(report.mib_per_s, report.iops * size / KB, rel_tol=_TOLERANCE) for size in sizes):
            yield _wrong("MiB/s of", f"{report.iops * report.record_kb / KB:.1f}", f"{report.mib_per_s:.1f}")


def _gaps(report: Report) -> list[Reason]:
    rows = len(report.rows)
    threads = report.threads if report.threads is not None else report.expected_threads
    lost = f"{threads - rows} of {threads} threads" if threads is not None else "the number of threads"
    absent = {
        "the parameters of the test": report.files_per_thread is None,
        "the percentage of files": report.percent_done is None,
        "the elapsed time": report.elapsed_s is None,
        "the rate of files": report.files_per_s is None and not report.too_quick,
        "the rate of data": report.mib_per_s is None and report.moved_records and not report.too_quick,
        "the threads": not rows,
        lost: rows > 0 and threads != rows,
    }
    missing = ", ".join(what for what, is_absent in absent.items() if is_absent)
    return [records.unjudged(f"not in the file: {missing}")] if missing else []
