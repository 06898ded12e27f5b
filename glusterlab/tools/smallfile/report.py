"""One report of smallfile, whatever form and version it has, and what the report itself says against its result.

What was learnt from its history: until 2019 rates are totals over the longest thread's time, since then they are sums
over the threads; what it calls MB is 2**20 bytes in every version; a file's rate comes from records of the asked size,
of 1,024 KB at most. It ends with exit code 0 and, in JSON, the status ``Success`` when too few files were done.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from glusterlab.errors import ParseError
from glusterlab.reasons import Reason
from glusterlab.tools.document import Document, by_host, json_values, number, unwrapped, whole
from glusterlab.tools.records import Operation

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

    `prefix` is the host that a tool such as pdsh has written in front of the lines, `hosts` are those of the test,
    empty where it has no set of them. `distribution` is ``fixed`` or ``random exponential``. `iops_line` stands
    after ``total IOPS``: a count of records until 2019, since then a rate. `complaints` are its own, of failures.
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
    for place, row in enumerate(report.rows, start=1):
        if row.status != "ok" or not row.completed:
            status = row.status if row.status != "ok" else f"thread {row.name} never completed"
            yield Reason(code="tool-failed", message=f"worker {place}: {status}", host=row.host)
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


_HOSTS = ("host", "hosts", "inhost")
_THREADS = ("thread", "threads", "inthread", "perthread")
_LEAST_S = 0.001
_DISTRIBUTIONS = {"-1": "fixed", "fixed": "fixed", "0": "random exponential", "exponential": "random exponential"}


def documents(document: Document) -> Iterator[Report]:
    """The reports in a file that holds JSON, alone, several, in a list, or with text around.

    `ParseError` when one is cut off, damaged, or lacks what a report has, after those before it.
    """
    if '"params"' not in document.text:
        return
    for line, value in json_values(document.text):
        for inner in value if isinstance(value, list) else [value]:
            if is_report(inner):
                try:
                    yield report_of(inner, line)
                except ParseError as error:
                    raise document.error(error.message, line) from error


def is_report(value: object) -> bool:
    """Whether JSON data is a report of smallfile."""
    if not isinstance(value, dict):
        return False
    params, results = value.get("params"), value.get("results")
    return isinstance(params, dict) and isinstance(results, dict) and "operation" in params


def report_of(value: Any, line: int | None = None) -> Report:
    """The report in JSON data.

    `ParseError` when it is none, or lacks the operation, the elapsed time, or the count or percentage of files.
    """
    if not is_report(value):
        raise ParseError("expected smallfile's JSON: an object of params and results")
    params, results = _plain(value["params"]), _plain(value["results"])
    distribution = params.get("filesizedistr")
    hosts = params.get("hostset")
    report = Report(
        line=line,
        version=_word(params.get("version")),
        operation=_word(params.get("operation")),
        hosts=tuple(hosts.split(",")) if isinstance(hosts, str) and hosts != "localhost" else (),
        threads_per_host=whole(params.get("threads")),
        files_per_thread=whole(params.get("filesperthread")),
        file_size_kb=whole(params.get("filesize")),
        distribution=None if isinstance(distribution, bool) else _DISTRIBUTIONS.get(str(distribution)),
        threads=whole(_first(results, "totalthreads", "totalhreads")),
        files=whole(_first(results, "totalfiles", "files")),
        records=whole(_first(results, "totaliorequests", "records")),
        percent_done=number(results.get("pctfilesdone")),
        elapsed_s=number(_first(results, "elapsedtime", "elapsed")),
        files_per_s=number(results.get("filespersec")),
        iops=number(_first(results, "totaliops", "iops")),
        mib_per_s=number(_first(results, "totalmibps", "mibps")),
        data_gib=number(results.get("totaldatagb")),
        start_time=number(results.get("starttime")),
        status=_word(results.get("status")),
    )
    needed = {"elapsed": report.elapsed_s, "files": report.files, "pctFilesDone": report.percent_done}
    lost = [name for name, found in needed.items() if found is None]
    if lost or report.operation is None:
        raise ParseError(f"expected smallfile's JSON with {' and '.join(lost) or 'operation'}, found it without")
    report.too_quick = (report.elapsed_s or 0) < _LEAST_S
    report.rows = list(_threads(results))
    return report


def _plain(stats: dict[str, Any]) -> dict[str, Any]:
    return {str(name).replace("-", "").replace("_", "").casefold(): value for name, value in stats.items()}


def _first(stats: dict[str, Any], *names: str) -> Any:
    return next((stats[name] for name in names if name in stats), None)


def _word(value: object) -> str | None:
    return value[:200] if isinstance(value, str) and value else None


def _threads(results: dict[str, Any]) -> Iterator[Thread]:
    hosts = _first(results, *_HOSTS)
    levels = hosts.items() if isinstance(hosts, dict) else [(None, results)]
    for host, stats in levels:
        inner = _first(_plain(stats), *_THREADS) if isinstance(stats, dict) else None
        for name, thread in inner.items() if isinstance(inner, dict) else ():
            if isinstance(thread, dict):
                yield _thread(host, str(name), _plain(thread))


def _thread(host: str | None, name: str, stats: dict[str, Any]) -> Thread:
    elapsed = stats.get("elapsed")
    if isinstance(elapsed, list) and len(elapsed) == 1:  # a slip of 2017 to 2019
        elapsed = elapsed[0]
    seconds = number(elapsed)
    status = _word(stats.get("status")) or "ok"
    return Thread(
        host=host if host is not None else _word(stats.get("onhost")),
        name=name,
        elapsed_s=None if seconds is None or seconds >= NEVER_S else seconds,
        files=whole(_first(stats, "files", "filenumfinal")),
        records=whole(stats.get("records")),
        status="ok" if status in SUCCESS else status,
        mib_per_s=number(stats.get("mibps")),
    )


THREAD = re.compile(
    r"host ?= ?(?P<host>[^\s,]+) ?, ?thr(?:ead)? ?= ?(?P<name>[^\s,]+) ?"
    r", ?elapsed(?: sec\.| time)? ?= ?(?P<elapsed>[^\s,]+) ?, ?(?:total )?files ?= ?(?P<files>[^\s,]+) ?"
    r", ?(?:total_)?records ?= ?(?P<records>[^\s,]+) ?, ?status ?= ?(?P<status>.*)"
)
"""A thread's line, with one blank where there were several."""

_NUMBER = r"([0-9][0-9.]*(?:[eE][-+]?[0-9]+)?)"
_TOTALS: tuple[tuple[str, Callable[[object], float | int | None], re.Pattern[str]], ...] = (
    ("threads", whole, re.compile(r"total threads ?= ?(\d+)")),
    ("files", whole, re.compile(r"total files ?= ?(\d+)")),
    ("iops_line", whole, re.compile(r"total IOPS ?= ?(\d+)")),
    ("data_gib", number, re.compile(rf"total data ?= ?{_NUMBER} Gi?B")),
    ("elapsed_s", number, re.compile(rf"elapsed time ?= ?{_NUMBER}")),
    ("files_per_s", number, re.compile(rf"files/sec ?= ?{_NUMBER}")),
    ("iops", number, re.compile(rf"IOPS ?= ?{_NUMBER}")),
    ("mib_per_s", number, re.compile(rf"Mi?B/sec ?= ?{_NUMBER}")),
    ("files_per_s", number, re.compile(rf"{_NUMBER} files/sec")),
    ("iops", number, re.compile(rf"{_NUMBER} IOPS")),
    ("mib_per_s", number, re.compile(rf"{_NUMBER} MB/sec")),
)
_PERCENT = re.compile(rf"{_NUMBER} ?% of requested files processed, (?:warning threshold|minimum) is ?{_NUMBER}")
_OLD_TIME = re.compile(rf"{_NUMBER} sec elapsed time(?:, {_NUMBER} MB/sec)?$")
_OLD_TOTAL = re.compile(rf"elapsed time ?= ?{_NUMBER}, total files ?= ?(\d+), total_records ?= ?(\d+)$")
_VERSION = re.compile(r"smallfile version (\d\S*)")
_COMMAND = re.compile(r"smallfile_cli(?:\.py)? +-")
_OPERATION = re.compile(r"--operation[ =]([a-z-]+)")
_COMPLAINT = re.compile(
    r"ERROR: |exception: |saw exception|saw SIGINT|control-C signal|Traceback \(most|no host reached starting gate"
    r"|WARNING: (?!test must run longer|thread \S+ on host)|[A-Za-z_.]{0,60}(?:Error|Exception): "
    r"|.{0,80}\b(?:SMF[A-Za-z]*Exception|MFRdWrExc|has died$|pickle file .{0,99} not found|error writing starting)"
)
_TOO_QUICK = "test must run longer than a millisecond"
_PARAMETERS = {
    "version": "version",
    "hostsintest": "hosts",
    "operation": "operation",
    "files/thread": "files_per_thread",
    "threads": "threads_per_host",
    "recordsize(kb,0=maximum)": "record_size_kb",
    "recordsize(kb)": "record_size_kb",
    "filesize(kb)": "file_size_kb",
    "filesizedistribution": "distribution",
}
_BROKEN = re.compile(
    r"host ?= ?\S{1,253} ?, ?thr(?:ead)?\b"
    r"|(?:total (?:threads|files|IOPS|data)|elapsed time|files/sec|IOPS|Mi?B/sec) ?=?$|[0-9.]+ ?% of requested files\b"
    r"|hosts in test ?: ?\["
)
_MAX_LINES = 3
_HEAD = frozenset({"version", "hosts", "operation", "files_per_thread"})
_WORDS = ("version", "operation", "distribution")
_QUOTED = re.compile(r"'([^']*)'")
_FULL = re.compile(r"\.\d{6}(?: |$)")


@dataclass
class _Open:
    """A run that is being read."""

    report: Report
    commanded: str | None = None
    seen: set[str] = field(default_factory=set)

    @property
    def headed(self) -> bool:
        """Whether it has printed parameters that no wrapper prints in the same words."""
        return not _HEAD.isdisjoint(self.seen)


def reports(document: Document) -> Iterator[Report]:
    """The runs in a text, in the order of their starts; `ParseError` when a host's last is cut, after the others."""
    found: list[Report] = []
    errors: list[ParseError] = []
    for host, lines in by_host(document.lines, _MARK).items():
        ends = document.ends_in_a_line or not lines or lines[-1][0] < len(document.lines)
        found.extend(_runs(document, host, lines, ends, errors))
    yield from sorted(found, key=lambda report: report.line or 0)
    if errors:
        raise min(errors, key=lambda error: error.line or 0)


_MARK = re.compile(r"host ?= .*status ?=|total (?:threads|files) ?=|files/thread : |.*% of requested files processed")


def _runs(
    document: Document, host: str | None, lines: list[tuple[int, str]], ends: bool, errors: list[ParseError]
) -> Iterator[Report]:
    run = _Open(Report(prefix=host))
    for place, line in _mended(lines):
        if _BROKEN.match(line) is not None and not _is_whole(line) and ends:
            errors.append(document.error(f"expected a whole line of smallfile, found {line[:100]!r}", place))
        if _starts(run, line):
            yield from _closed(run, place)
            run = _Open(Report(prefix=host))
        if _read(run, line) and run.report.line is None:
            run.report.line = place
    try:
        whole_run = _finished(document, run, lines, ends)
    except ParseError as error:
        errors.append(error)
        return
    if whole_run:
        yield run.report


def _mended(lines: list[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    """The lines that are not empty; those of a report that a mail client has broken are one again."""
    held: list[tuple[int, str]] = []
    for place, raw in lines:
        line = unwrapped(raw)
        if not line or line[0] == '"':
            continue
        begins = _BROKEN.match(line) is not None and not _is_whole(line)
        if held and not begins and not _is_known(line):
            held.append((place, line))
            text = " ".join(part for _, part in held)
            if _is_whole(text):
                held = [(held[0][0], text)]
            elif len(held) < _MAX_LINES:
                continue
        elif held:
            yield from held
            held = [(place, line)]
            if begins:
                continue
        else:
            held = [(place, line)]
            if begins:
                continue
        yield from held
        held = []
    yield from held


def _is_whole(line: str) -> bool:
    """Whether a line of a report is there to its end."""
    if (match := THREAD.search(line)) is not None:
        return bool(match["status"].strip())
    if line.startswith("hosts in test"):
        return line.endswith("]")
    return _total(Report(), line)


def _is_known(line: str) -> bool:
    return THREAD.search(line) is not None or _parameter(line)[0] is not None or _total(Report(), line)


def _starts(run: _Open, line: str) -> bool:
    """Whether a line is the first of another run."""
    report = run.report
    if _COMMAND.search(line) is not None:
        return run.headed or report.has_result or bool(report.complaints)
    name = "version" if _VERSION.match(line) is not None else _parameter(line)[0]
    if name is None and report.files_per_s is not None and _is_again(report, line):
        return True
    return name in _HEAD and (report.has_result or name in run.seen or (run.headed and bool(report.complaints)))


def _is_again(report: Report, line: str) -> bool:
    """Whether a line has what a report that has its rate has already, and another value of it."""
    if THREAD.search(line) is not None:
        return True
    found = Report()
    if not _total(found, line):
        return False
    pairs = (
        (getattr(report, name), getattr(found, name)) for name in ("percent_done", *(name for name, *_ in _TOTALS))
    )
    return any(new is not None and old is not None and new != old for old, new in pairs)


def _parameter(line: str) -> tuple[str | None, str]:
    left, colon, right = line.partition(":")
    if not colon or len(left) > 60:
        return None, ""
    return _PARAMETERS.get(left.replace(" ", "").casefold()), right.strip()


def _read(run: _Open, line: str) -> bool:
    """Take what a line says; False when it is none of smallfile's."""
    report = run.report
    name, value = _parameter(line)
    if name is not None:
        run.seen.add(name)
        _set(report, name, value)
        return True
    if (match := _VERSION.match(line)) is not None:
        run.seen.add("version")
        report.version = match[1]
        return True
    if _COMMAND.search(line) is not None:
        operation = _OPERATION.search(line)
        run.commanded = None if operation is None else operation[1]
        return True
    if (match := THREAD.search(line)) is not None:
        report.rows.append(_thread_text(match))
        return True
    return _total(report, line) or _complaint(report, line)


def _set(report: Report, name: str, value: str) -> None:
    if name in _WORDS:
        setattr(report, name, value or None)
    elif name == "hosts":
        report.hosts = tuple(_QUOTED.findall(value))
    else:
        setattr(report, name, whole(value))


def _thread_text(match: re.Match[str]) -> Thread:
    elapsed = number(match["elapsed"])
    status = match["status"].strip()
    return Thread(
        host=match["host"],
        name=match["name"],
        elapsed_s=None if elapsed is None or elapsed >= NEVER_S else elapsed,
        files=whole(match["files"]),
        records=whole(match["records"]),
        status=status or "cut off",
    )


def _total(report: Report, line: str) -> bool:
    if (match := _PERCENT.match(line)) is not None:
        report.percent_done, report.percent_min = number(match[1]), number(match[2])
        return True
    if (match := _OLD_TIME.match(line)) is not None:
        report.elapsed_s = number(match[1])
        report.mib_per_s = report.mib_per_s if match[2] is None else number(match[2])
        return True
    if (match := _OLD_TOTAL.match(line)) is not None:
        report.elapsed_s, report.files, report.records = number(match[1]), whole(match[2]), whole(match[3])
        return True
    for name, kind, pattern in _TOTALS:
        if (match := pattern.fullmatch(line)) is not None:
            setattr(report, name, kind(match[1]))
            return True
    return False


def _complaint(report: Report, line: str) -> bool:
    if _TOO_QUICK in line:
        report.too_quick = True
        return True
    if _COMPLAINT.match(line) is None or line.startswith("raise "):
        return False
    report.complaints.append(line)
    return True


def _closed(run: _Open, place: int) -> Iterator[Report]:
    """The run before another one starts; one without an end says so."""
    report = run.report
    if not _is_run(run) or (report.operation is None and not report.rows and report.files_per_s is None):
        return
    missing = _missing(run.report)
    if missing is not None and not run.report.complaints:
        run.report.complaints.append(f"nothing of {missing} before the next run starts in line {place}")
    yield run.report


def _is_run(run: _Open) -> bool:
    report = run.report
    report.operation = report.operation or run.commanded
    return report.has_result or run.headed or (bool(report.complaints) and report.operation is not None)


def _missing(report: Report) -> str | None:
    """What the last line of a whole report would have been, when it is not there."""
    if report.too_quick:
        return None
    if report.files_per_s is None:
        return "'files/sec'"
    if report.moved_records and report.mib_per_s is None:
        return "'MiB/sec'"
    return None


def _finished(document: Document, run: _Open, lines: list[tuple[int, str]], ends: bool) -> bool:
    report = run.report
    if not _is_run(run):
        if report.complaints:
            raise document.error(f"expected a result of smallfile, found: {report.complaints[-1][:200]}", report.line)
        return False
    missing = _missing(report)
    last, text = lines[-1]
    if missing is None and not ends and _total(Report(), unwrapped(text)) and _FULL.search(unwrapped(text)) is None:
        missing = "all digits of the last line"
    if missing is not None and not report.complaints:
        raise document.error(f"expected {missing} at the end of smallfile's report, found the end of the file", last)
    return True
