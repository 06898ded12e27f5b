"""The reports of smallfile in a file, as text or as JSON, of versions 1.9 to 3.2."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from glusterlab.errors import ParseError
from glusterlab.tools.document import Document, by_host, json_objects, located, mended, number, unwrapped, whole, word

NEVER_S = 1e8  # what smallfile prints as the elapsed time of a thread that never completed
KB = 1024
MAX_RECORD_KB = 1024  # a record size of 0 is the file's size within this bound
# how operating systems name the error number 0
SUCCESS = frozenset({"Success", "Undefined error: 0", "No error", "ok"})


class Thread:
    """One thread; `elapsed_s` is None where it never completed, `status` is ``ok`` without a complaint."""

    def __init__(self, host: str | None, name: str, status: str, *counts: object) -> None:
        """With elapsed time, files, records and rate as they are written."""
        elapsed, files, records, rate = counts
        seconds = number(elapsed)
        self.host, self.name, self.status = host, name, status
        self.elapsed_s = None if not seconds or seconds >= NEVER_S else seconds
        self.files, self.records, self.mib_per_s = whole(files), whole(records), number(rate)

    @property
    def complaint(self) -> str | None:
        if self.status != "ok":
            return self.status
        return f"thread {self.name} never completed" if self.elapsed_s is None else None


@dataclass
class Report:
    """One run; what is not printed is None, never 0."""

    line: int | None = None
    prefix: str | None = None  # the host that a tool such as pdsh has written in front of the lines
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
    iops_line: int | None = None  # after ``total IOPS``: a count of records until 2019, since then a rate
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
    parameters: set[str] = field(default_factory=set)  # the names of those that were printed
    command_operation: str | None = None

    @property
    def never_ended(self) -> bool:
        """Whether a thread never completed: then no rate is one of all threads."""
        lost = any(row.status != "ok" and row.elapsed_s is None for row in self.rows)
        return lost or (self.elapsed_s or 0) >= NEVER_S

    @property
    def has_result(self) -> bool:
        names = ("threads", "files", "percent_done", "elapsed_s", "files_per_s", "iops", "mib_per_s")
        return bool(self.rows) or any(getattr(self, name) is not None for name in names)

    @property
    def has_header(self) -> bool:
        """Whether parameters are there that no wrapper prints in the same words."""
        return not _HEADER.isdisjoint(self.parameters)

    @property
    def moved_records(self) -> bool:
        return any(row.records for row in self.rows) or any((self.records, self.iops_line, self.iops, self.data_gib))

    @property
    def record_kb(self) -> int | None:
        """The size of its records in KB, with which it computes its rates."""
        size = self.record_size_kb or self.file_size_kb
        return None if size is None or self.record_size_kb is None else min(size, MAX_RECORD_KB)

    @property
    def expected_threads(self) -> int | None:
        return None if self.threads_per_host is None else self.threads_per_host * max(len(self.hosts), 1)

    @property
    def workers(self) -> int | None:
        return self.threads if self.threads is not None else (len(self.rows) or self.expected_threads)

    @property
    def missing_end(self) -> str | None:
        """What the last line of a whole report would have been, when it is not there."""
        if self.files_per_s is None and not self.too_quick:
            return "'files/sec'"
        return "'MiB/sec'" if self.moved_records and self.mib_per_s is None and not self.too_quick else None


_DISTRIBUTIONS = {"-1": "fixed", "fixed": "fixed", "0": "random exponential", "exponential": "random exponential"}


def json_reports(document: Document) -> Iterator[Report]:
    """The reports as JSON, alone or among text; `ParseError` after what is whole for a cut, damage and what lacks."""
    if '"params"' not in document.text:
        return
    for line, value in json_objects(document.text):
        params, results = value.get("params"), value.get("results")
        if isinstance(params, dict) and isinstance(results, dict) and "operation" in params:
            with located(document.path, line):
                report = _report(_plain(params), _plain(results))
            report.line = line
            yield report


def _report(params: dict[str, Any], results: dict[str, Any]) -> Report:
    distribution, hosts = params.get("filesizedistr"), params.get("hostset")
    report = Report(
        version=word(params.get("version")),
        operation=word(params.get("operation")),
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
        status=word(results.get("status")),
        rows=list(_json_threads(results)),
    )
    needed = {"elapsed": report.elapsed_s, "files": report.files, "pctFilesDone": report.percent_done}
    lost = [name for name, found in needed.items() if found is None]
    if lost or report.operation is None:
        raise ParseError(f"expected smallfile's JSON with {' and '.join(lost) or 'operation'}, found it without")
    report.too_quick = (report.elapsed_s or 0) < 0.001
    return report


def _plain(stats: dict[str, Any]) -> dict[str, Any]:
    """Versions differ in the case, hyphens and underscores of their keys."""
    return {str(name).replace("-", "").replace("_", "").casefold(): value for name, value in stats.items()}


def _first(stats: dict[str, Any], *names: str) -> Any:
    return next((stats[name] for name in names if name in stats), None)


def _json_threads(results: dict[str, Any]) -> Iterator[Thread]:
    hosts = _first(results, "host", "hosts", "inhost")
    for host, stats in hosts.items() if isinstance(hosts, dict) else [(None, results)]:
        plain = _plain(stats) if isinstance(stats, dict) else {}
        threads = _first(plain, "thread", "threads", "inthread", "perthread")
        for name, thread in threads.items() if isinstance(threads, dict) else ():
            if not isinstance(thread, dict):
                continue
            found = _plain(thread)
            elapsed = found.get("elapsed")
            if isinstance(elapsed, list) and len(elapsed) == 1:  # a slip of 2017 to 2019
                elapsed = elapsed[0]
            status, files = word(found.get("status")) or "ok", _first(found, "files", "filenumfinal")
            status, on = "ok" if status in SUCCESS else status, host or word(found.get("onhost"))
            yield Thread(on, str(name), status, elapsed, files, found.get("records"), found.get("mibps"))


THREAD = re.compile(  # with one blank where there were several: host, name, elapsed, files, records, status
    r"host ?= ?([^\s,]+) ?, ?thr(?:ead)? ?= ?([^\s,]+) ?, ?elapsed(?: sec\.| time)? ?= ?([^\s,]+) ?"
    r", ?(?:total )?files ?= ?([^\s,]+) ?, ?(?:total_)?records ?= ?([^\s,]+) ?, ?status ?= ?(.*)"
)
_COUNTS = frozenset({"threads", "files", "records", "iops_line"})


def _named(name: re.Match[str]) -> str:
    return f"(?P{name[0]}{'[0-9]+' if name[1] in _COUNTS else '[0-9][0-9.]*(?:[eE][-+]?[0-9]+)?'})"


_TOTALS = tuple(
    re.compile(re.sub("<([a-z_]+)>", _named, text).replace(" = ", " ?= ?"))
    for text in (
        "<percent_done> ?% of requested files processed, (?:warning threshold|minimum) is ?<percent_min>.*",
        "<elapsed_s> sec elapsed time(?:, <mib_per_s> MB/sec)?",
        "elapsed time = <elapsed_s>, total files = <files>, total_records = <records>",
        "total threads = <threads>",
        "total files = <files>",
        "total IOPS = <iops_line>",
        "total data = <data_gib> Gi?B",
        "elapsed time = <elapsed_s>",
        "files/sec = <files_per_s>",
        "IOPS = <iops>",
        "Mi?B/sec = <mib_per_s>",
        "<files_per_s> files/sec",
        "<iops> IOPS",
        "<mib_per_s> MB/sec",
    )
)
_VERSION = re.compile(r"smallfile version (\d\S*)")
_COMMAND = re.compile(r"smallfile_cli(?:\.py)? +-")
_OPERATION = re.compile(r"--operation[ =]([a-z-]+)")
_COMPLAINT = re.compile(
    r"ERROR: |exception: |saw exception|saw SIGINT|control-C signal|Traceback \(most|no host reached starting gate"
    r"|WARNING: (?!test must run longer|thread \S+ on host)|[A-Za-z_.]{0,60}(?:Error|Exception): "
    r"|.{0,80}\b(?:SMF[A-Za-z]*Exception|MFRdWrExc|has died$|pickle file .{0,99} not found|error writing starting)"
)
_TOO_QUICK = "test must run longer than a millisecond"

_PARAMETERS: dict[str, tuple[str, Callable[[str], object]]] = {
    "version": ("version", word),
    "hostsintest": ("hosts", lambda value: tuple(re.findall("'([^']*)'", value))),
    "operation": ("operation", word),
    "files/thread": ("files_per_thread", whole),
    "threads": ("threads_per_host", whole),
    "recordsize(kb,0=maximum)": ("record_size_kb", whole),
    "recordsize(kb)": ("record_size_kb", whole),
    "filesize(kb)": ("file_size_kb", whole),
    "filesizedistribution": ("distribution", word),
}
_HEADER = frozenset({"version", "hosts", "operation", "files_per_thread"})
_BROKEN = re.compile(
    r"host ?= ?\S{1,253} ?, ?thr(?:ead)?\b"
    r"|(?:total (?:threads|files|IOPS|data)|elapsed time|files/sec|IOPS|Mi?B/sec) ?=?$|[0-9.]+ ?% of requested files\b"
    r"|hosts in test ?: ?\["
)
_MARK = re.compile(r"host ?= .*status ?=|total (?:threads|files) ?=|files/thread : |.*% of requested files processed")
_ALL_DIGITS = re.compile(r"\.\d{6}(?: |$)")


def text_reports(document: Document) -> Iterator[Report]:
    """The runs in a text, in the order of their starts; `ParseError` when a host's last is cut, after the others."""
    found: list[Report] = []
    errors: list[ParseError] = []
    for host, lines in by_host(document.lines, _MARK).items():
        found.extend(_runs(document, host, lines, errors))
    yield from sorted(found, key=lambda report: report.line or 0)
    if errors:
        raise min(errors, key=lambda error: error.line or 0)


def _runs(
    document: Document, host: str | None, lines: list[tuple[int, str]], errors: list[ParseError]
) -> Iterator[Report]:
    report, ends = Report(prefix=host), document.ends_in_a_line or lines[-1][0] < len(document.lines)
    plain = ((place, line) for place, raw in lines if (line := unwrapped(raw)) and line[0] != '"')
    for place, line in mended(plain, _begins_broken, _goes_on, _is_whole):
        if ends and _begins_broken(line):
            errors.append(document.error(f"expected a whole line of smallfile, found {line[:100]!r}", place))
        if _starts_another(report, line):
            if _is_run(report) and (report.operation is not None or report.rows or report.files_per_s is not None):
                if report.missing_end and not report.complaints:
                    report.complaints = [f"nothing of {report.missing_end} before the next run starts in line {place}"]
                yield report
            report = Report(prefix=host)
        if _take(report, line) and report.line is None:
            report.line = place
    (last, raw), missing = lines[-1], report.missing_end
    if missing is None and not ends and _totals(text := unwrapped(raw)) and _ALL_DIGITS.search(text) is None:
        missing = "all digits of the last line"
    if not _is_run(report):
        if report.complaints:
            message = f"expected a result of smallfile, found: {report.complaints[-1][:200]}"
            errors.append(document.error(message, report.line))
    elif missing is not None and not report.complaints:
        message = f"expected {missing} at the end of smallfile's report, found the end of the file"
        errors.append(document.error(message, last))
    else:
        yield report


def _is_run(report: Report) -> bool:
    report.operation = report.operation or report.command_operation
    return report.has_result or report.has_header or (bool(report.complaints) and report.operation is not None)


def _goes_on(_: str, line: str) -> bool:
    return not (_begins_broken(line) or THREAD.search(line) or _parameter(line) or _totals(line))


def _begins_broken(line: str) -> bool:
    return _BROKEN.match(line) is not None and not _is_whole(line)


def _is_whole(line: str) -> bool:
    if (match := THREAD.search(line)) is not None:
        return bool(match[6].strip())
    return line.endswith("]") if line.startswith("hosts in test") else bool(_totals(line))


def _starts_another(report: Report, line: str) -> bool:
    if _COMMAND.search(line) is not None:
        return report.has_header or report.has_result or bool(report.complaints)
    if (parameter := _parameter(line)) is not None:
        name, failed = parameter[0], report.has_header and bool(report.complaints)
        return name in _HEADER and (report.has_result or name in report.parameters or failed)
    if report.files_per_s is None:
        return False
    # after its rate, a report has no thread, and no other value of what it has
    again = (value is not None and getattr(report, name) not in (None, value) for name, value in _totals(line).items())
    return THREAD.search(line) is not None or any(again)


def _parameter(line: str) -> tuple[str, object] | None:
    if (match := _VERSION.match(line)) is not None:
        return "version", match[1]
    left, colon, right = line.partition(":")
    name, convert = _PARAMETERS.get(left.replace(" ", "").casefold() if colon else "", (None, word))
    return None if name is None else (name, convert(right.strip()))


def _totals(line: str) -> dict[str, float | int | None]:
    """The attributes of a report that a line of totals states; empty for another line."""
    match = next((match for pattern in _TOTALS if (match := pattern.fullmatch(line))), None)
    texts = {} if match is None else match.groupdict()
    return {name: (whole if name in _COUNTS else number)(text) for name, text in texts.items() if text is not None}


def _take(report: Report, line: str) -> bool:
    if (parameter := _parameter(line)) is not None:
        report.parameters.add(parameter[0])
        setattr(report, *parameter)
    elif _COMMAND.search(line) is not None:
        report.command_operation = operation[1] if (operation := _OPERATION.search(line)) else None
    elif (match := THREAD.search(line)) is not None:
        host, name, elapsed, files, records, status = match.groups()
        report.rows.append(Thread(host, name, status.strip() or "cut off", elapsed, files, records, None))
    elif totals := _totals(line):
        for name, value in totals.items():
            setattr(report, name, value)
    elif _TOO_QUICK in line:
        report.too_quick = True
    elif _COMPLAINT.match(line) is not None and not line.startswith("raise "):
        report.complaints.append(line)
    else:
        return False
    return True
