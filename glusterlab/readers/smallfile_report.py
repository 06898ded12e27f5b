"""One report of smallfile, whatever form and version it has, and what the report itself says against its result.

What was learnt from its history: until 2019 rates are totals over the longest thread's time, since then they are sums
over the threads; what it calls MB is 2**20 bytes in every version; a file's rate comes from records of the asked size,
of 1,024 KB at most. It ends with exit code 0 and, in JSON, the status ``Success`` when too few files were done.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field

from glusterlab.readers.records import Operation
from glusterlab.reasons import Reason

MIN_PERCENT_DONE = 70.0
"""smallfile's own threshold: below it, too few files were done before the first thread finished."""

NEVER_S = 1e8
"""What smallfile prints as the elapsed time of a thread that never completed."""

KB = 1024
"""Bytes in smallfile's KB."""

MAX_RECORD_KB = 1024
"""A record has so many KB at most; a record size of 0 is the file's size within this bound."""

SUCCESS = frozenset({"Success", "Undefined error: 0", "No error", "ok"})
"""How operating systems name the error number 0."""

OPERATIONS: dict[str, Operation] = {
    "create": "create",
    "append": "append",
    "overwrite": "overwrite",
    "truncate-overwrite": "overwrite",
    "read": "read",
    "rename": "rename",
    "delete": "delete",
    "delete-renamed": "delete-renamed",
    "cleanup": "cleanup",
    "symlink": "symlink",
    "mkdir": "mkdir",
    "rmdir": "rmdir",
    "stat": "stat",
    "chmod": "chmod",
    "setxattr": "setxattr",
    "getxattr": "getxattr",
    "swift-get": "swift-get",
    "swift-put": "swift-put",
    "readdir": "readdir",
    "ls-l": "ls-l",
    "await-create": "await-create",
}
"""smallfile's names of operations, and the suite's."""

DATA_OPERATIONS = frozenset({"create", "append", "overwrite", "truncate-overwrite", "read", "swift-get", "swift-put"})
"""Those that read or write records."""

_TOLERANCE = 1e-4


@dataclass
class Thread:
    """One thread: `elapsed_s` is None where it never completed; `status` is ``ok`` where there was no complaint."""

    host: str | None
    name: str
    elapsed_s: float | None
    files: int | None
    records: int | None
    status: str = "ok"
    mib_per_s: float | None = None

    @property
    def completed(self) -> bool:
        """Whether it came to its end."""
        return self.elapsed_s is not None and 0 < self.elapsed_s < NEVER_S


@dataclass
class Report:
    """One run. What is not printed is None, never 0.

    Attributes
    ----------
    line : int or None
        Where it starts.
    prefix : str or None
        The host that a tool such as pdsh has written in front of the lines.
    version, operation : str or None
        As printed.
    hosts : tuple of str
        Those of the test; empty where it was run without a set of hosts.
    threads_per_host, files_per_thread, file_size_kb, record_size_kb : int or None
    distribution : str or None
        Of file sizes: ``fixed`` or ``random exponential``.
    threads, files, records : int or None
        Totals.
    iops_line : int or None
        After ``total IOPS``: a count of records until 2019, since then a rate.
    percent_done, percent_min, elapsed_s, files_per_s, iops, mib_per_s, data_gib, start_time : float or None
    status : str or None
        JSON's.
    rows : list of Thread
    complaints : list of str
        What it said besides, where that was a failure.
    too_quick : bool
        It ended too quickly for rates.
    """

    line: int | None = None
    prefix: str | None = None
    version: str | None = None
    operation: str | None = None
    hosts: tuple[str, ...] = ()
    threads_per_host: int | None = None
    files_per_thread: int | None = None
    file_size_kb: int | None = None
    record_size_kb: int | None = None
    distribution: str | None = None
    threads: int | None = None
    files: int | None = None
    records: int | None = None
    iops_line: int | None = None
    percent_done: float | None = None
    percent_min: float | None = None
    elapsed_s: float | None = None
    files_per_s: float | None = None
    iops: float | None = None
    mib_per_s: float | None = None
    data_gib: float | None = None
    start_time: float | None = None
    status: str | None = None
    rows: list[Thread] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)
    too_quick: bool = False

    @property
    def never_ended(self) -> bool:
        """Whether a thread never completed: then no rate is one of all threads."""
        return (self.elapsed_s or 0) >= NEVER_S or any(row.status != "ok" and not row.completed for row in self.rows)

    @property
    def has_result(self) -> bool:
        """Whether any line of results is there."""
        known = (
            self.threads,
            self.files,
            self.percent_done,
            self.elapsed_s,
            self.files_per_s,
            self.iops,
            self.mib_per_s,
        )
        return bool(self.rows) or any(value is not None for value in known)

    @property
    def moved_records(self) -> bool:
        """Whether records were read or written, so that rates of them belong to the report."""
        counts = [row.records or 0 for row in self.rows]
        return sum(counts) > 0 or any((self.records, self.iops_line, self.iops, self.data_gib))

    @property
    def record_kb(self) -> int | None:
        """The size of its records in KB, with which it computes its rates."""
        size = self.record_size_kb or self.file_size_kb
        return None if size is None or self.record_size_kb is None else min(size, MAX_RECORD_KB)

    @property
    def expected_threads(self) -> int | None:
        """As many threads as were asked for."""
        return None if self.threads_per_host is None else self.threads_per_host * max(len(self.hosts), 1)

    @property
    def workers(self) -> int | None:
        """Threads over all hosts."""
        return self.threads if self.threads is not None else (len(self.rows) or self.expected_threads)


def faults(report: Report) -> Iterator[Reason]:
    """What the report says against its result; each makes it not valid."""
    if report.has_result and (report.never_ended or report.files_per_s == 0):
        message = f"no result: {report.files} files done, status {report.status!r}"
        yield Reason(code="tool-failed", message=message)
    elif report.status is not None and report.status not in SUCCESS:
        yield Reason(code="tool-failed", message=f"smallfile's status is {report.status!r}")
    for number, row in enumerate(report.rows, start=1):
        if row.status != "ok" or not row.completed:
            status = row.status if row.status != "ok" else f"thread {row.name} never completed"
            yield Reason(code="tool-failed", message=f"worker {number}: {status}", host=row.host)
    for complaint in dict.fromkeys(report.complaints):
        warned = complaint.startswith("WARNING")
        yield Reason(code="tool-incomplete" if warned else "tool-failed", message=f"smallfile said: {complaint[:200]}")
    least = MIN_PERCENT_DONE if report.percent_min is None else report.percent_min
    if report.percent_done is not None and report.percent_done < least:
        message = f"{report.percent_done:.1f} % of the files were done when the first thread finished"
        yield Reason(code="tool-incomplete", message=f"{message}, expected {least:g} % at least")
    if report.too_quick:
        yield Reason(code="tool-incomplete", message="the test ended too quickly for smallfile to compute rates")


def contradictions(report: Report) -> Iterator[Reason]:
    """Where numbers of the report do not fit each other: lines are lost, doubled, or belong to another run."""
    rows, threads = report.rows, report.threads
    if threads is not None and report.expected_threads is not None and threads < report.expected_threads:
        yield _wrong("results of threads:", report.expected_threads, threads)
    if threads is not None and len(rows) > threads:
        yield _wrong("lines of threads:", threads, len(rows))
    if report.percent_done is not None and report.percent_done > 100.005:
        yield _wrong("at most", "100 % of the files", f"{report.percent_done:g} %")
    if not rows or len(rows) != report.workers:
        return
    files = sum(row.files or 0 for row in rows)
    if report.files is not None and files != report.files:
        yield _wrong("as many files as the threads did:", files, report.files)
    if report.files_per_thread and report.percent_done is not None:
        percent = 100.0 * files / (report.files_per_thread * len(rows))
        if abs(percent - report.percent_done) > 0.0101:
            yield _wrong("a percentage of files of", f"{percent:.2f}", f"{report.percent_done:.2f}")
    yield from _wrong_records(report)
    if all(row.completed for row in rows):
        yield from _wrong_rates(report)


def _wrong(what: str, wanted: object, found: object) -> Reason:
    return Reason(code="tool-incomplete", message=f"expected {what} {wanted}, found {found}")


def _wrong_records(report: Report) -> Iterator[Reason]:
    """Where the operation and its records, or records and rates, are of different runs."""
    if any(row.records is None for row in report.rows):
        return
    records = sum(row.records or 0 for row in report.rows)
    moves = report.operation in DATA_OPERATIONS
    if records and not moves:
        yield _wrong(f"no records of {report.operation}:", 0, records)
    if not records and any((report.iops, report.mib_per_s, report.data_gib)):
        yield _wrong("a rate of", "0 records", "one")
    if not records and moves and report.files and report.file_size_kb and report.distribution != "random exponential":
        yield _wrong("records in", report.operation, "none")


def _wrong_rates(report: Report) -> Iterator[Reason]:
    rows = report.rows
    longest = max(row.elapsed_s or 0 for row in rows)
    if report.elapsed_s is not None and abs(longest - report.elapsed_s) > 0.0011:
        yield _wrong("the longest thread's time of", f"{longest:.3f} s", f"{report.elapsed_s:.3f} s")
    # older versions print threads' times in microseconds
    slack = _TOLERANCE + 1e-6 / min(row.elapsed_s or longest for row in rows)
    pairs = [("files/s", report.files_per_s, [row.files or 0 for row in rows])]
    if all(row.records is not None for row in rows):
        pairs.append(("IOPS", report.iops, [row.records or 0 for row in rows]))
    for what, printed, counts in pairs:
        total = sum(counts) / longest
        summed = math.fsum(count / (row.elapsed_s or longest) for count, row in zip(counts, rows, strict=True))
        if printed is not None and not any(math.isclose(printed, one, rel_tol=slack) for one in (total, summed)):
            yield _wrong(f"{what} of", f"{summed:.1f}", f"{printed:.1f}")
    rates = [row.mib_per_s for row in rows if row.mib_per_s is not None]
    fits = report.mib_per_s is None or math.isclose(report.mib_per_s, math.fsum(rates), rel_tol=_TOLERANCE)
    if len(rates) == len(rows) and not fits:
        yield _wrong("MiB/s of", f"{math.fsum(rates):.1f}", f"{report.mib_per_s:.1f}")
    if report.mib_per_s is not None and report.iops is not None and report.record_kb is not None:
        rate = report.iops * report.record_kb / 1024
        unbound = report.iops * (report.record_size_kb or report.file_size_kb or 0) / 1024
        if not any(math.isclose(report.mib_per_s, one, rel_tol=_TOLERANCE) for one in (rate, unbound)):
            yield _wrong("MiB/s of", f"{rate:.1f}", f"{report.mib_per_s:.1f}")


def gaps(report: Report) -> Iterator[Reason]:
    """What a judgement needs and the report does not hold."""
    missing = []
    if report.files_per_thread is None:
        missing.append("the parameters of the test")
    if report.percent_done is None:
        missing.append("the percentage of files")
    if report.files_per_s is None and not report.too_quick:
        missing.append("the rate of files")
    if report.mib_per_s is None and report.moved_records and not report.too_quick:
        missing.append("the rate of data")
    if not report.rows:
        missing.append("the threads")
    elif report.threads is not None and len(report.rows) < report.threads:
        missing.append(f"{report.threads - len(report.rows)} of {report.threads} threads")
    elif report.threads is None and report.expected_threads is None:
        missing.append("the number of threads")
    elif report.threads is None and len(report.rows) != report.expected_threads:
        missing.append(f"{report.expected_threads} threads: there are {len(report.rows)}")
    if missing:
        yield Reason(code="tool-incomplete", message=f"cannot be judged: not in the file: {', '.join(missing)}")
