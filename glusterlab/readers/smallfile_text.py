"""smallfile's printed reports, of versions 1.9 to 3.2: parameters, a line for each thread, totals, complaints."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from glusterlab.errors import ParseError
from glusterlab.readers.document import Document
from glusterlab.readers.smallfile_report import NEVER_S, Report, Thread
from glusterlab.readers.wrapping import by_host, number, unwrapped, whole

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
    """The runs in a text, in the order in which they start; a host's own run by run.

    Raises
    ------
    ParseError
        When the last run of a host is cut off, after the others.
    """
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
        report.rows.append(_thread(match))
        return True
    return _total(report, line) or _complaint(report, line)


def _set(report: Report, name: str, value: str) -> None:
    if name in _WORDS:
        setattr(report, name, value or None)
    elif name == "hosts":
        report.hosts = tuple(_QUOTED.findall(value))
    else:
        setattr(report, name, whole(value))


def _thread(match: re.Match[str]) -> Thread:
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
