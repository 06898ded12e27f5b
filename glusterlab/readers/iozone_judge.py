"""What an IOzone report proves: which results stand, which fail, which cannot be judged, and what was cut off.

IOzone sums over the workers that are left, prints 0.00 for a full disk, and exits with 0. Its minimum hides a worker
that did nothing when a later one did something, so the sums are held against minimum, mean and maximum as well.
"""

from __future__ import annotations

from collections.abc import Iterator

from glusterlab.readers.iozone_options import Options
from glusterlab.readers.iozone_runs import Log, Run, Section
from glusterlab.readers.iozone_tables import COLUMNS, Row
from glusterlab.reasons import Reason

Verdict = tuple[bool | None, tuple[Reason, ...]]
"""True, False or None (cannot be judged), and why it is not True."""

_BY_TEST: dict[int, tuple[str, ...]] = {
    0: ("initial writers", "rewriters"),
    1: ("readers", "re-readers"),
    2: ("random readers", "random writers"),
    3: ("reverse readers",),
    5: ("stride readers",),
    6: ("fwriters",),
    7: ("freaders",),
    8: ("mixed workload",),
    9: ("pwrite writers",),
    10: ("pread readers",),
}
_AGAIN = frozenset({"rewriters", "re-readers"})
_STREAMS_SINCE = 400
"""Releases before 3.400 have no fwriters and freaders in throughput mode."""


def tolerance(section: Section) -> float:
    """How far sums of printed rates may differ from a printed sum, in the section's unit."""
    return max(1.0, 1e-4 * (section.children or 0.0))


def idle_workers(section: Section) -> list[int]:
    """The numbers of the workers whose lines say that they did nothing."""
    return sorted(child.number for child in section.workers if not child.throughput or not child.xfer)


def adds_up(section: Section) -> bool:
    """Whether the lines of the workers add up to the sum; without such lines there is nothing to add."""
    total = sum(child.throughput for child in section.workers)
    return not section.workers or abs(total - (section.children or 0.0)) <= tolerance(section)


def _failed(section: Section) -> Iterator[Reason]:
    said = f"; IOzone said: {section.errors[0]}" if section.errors else ""
    if section.children == 0:
        yield Reason(code="tool-failed", message="no worker transferred anything" + said)
    elif idle := idle_workers(section):
        names = ", ".join(f"Child[{number}]" for number in idle[:5])
        yield Reason(code="tool-incomplete", message=f"{names} transferred nothing{said}")
    elif 0 in (section.minimum, section.maximum, section.min_xfer):
        yield Reason(code="tool-incomplete", message="the slowest worker transferred nothing" + said)
    elif section.errors:
        yield Reason(code="tool-failed", message=f"IOzone said: {section.errors[0]}")
    numbers = [child.number for child in section.workers]
    if numbers and sorted(numbers) != list(range(section.count)):
        message = f"expected a line for each of {section.count} workers, found {len(numbers)}"
        yield Reason(code="tool-incomplete", message=message)
    if section.children and (contradiction := _contradiction(section)):
        yield Reason(code="tool-incomplete", message=contradiction)


def _contradiction(section: Section) -> str | None:
    """What in a report cannot be so when every worker did something."""
    total, count, slack = section.children or 0.0, section.count, tolerance(section)
    if not adds_up(section):
        return "the lines of the workers do not add up to the reported sum"
    if section.average is not None and abs(section.average * count - total) > slack:
        return "the mean over the workers does not fit the reported sum"
    if section.minimum is None or section.maximum is None:
        return None
    if total > count * section.maximum + slack or section.minimum > section.maximum:
        return "the reported sum is more than the fastest worker allows"
    if total < section.maximum + (count - 1) * section.minimum - slack:
        return "the reported sum is less than the slowest worker allows: a worker did nothing"
    return None


def _unknown(message: str) -> Reason:
    return Reason(code="tool-incomplete", message=f"cannot be judged: {message}")


def _of_run(run: Run) -> tuple[list[Reason], list[Reason]]:
    """What speaks against all results of a run, and what leaves them in doubt."""
    failed: list[Reason] = []
    doubts: list[Reason] = []
    if run.warning is not None:
        reason = Reason(code="tool-failed", message=f"IOzone said: {run.warning}")
        (failed if " are " in run.warning else doubts).append(reason)
    if run.early_errors:
        doubts.append(_unknown(f"before the run stood: {run.early_errors[0]}"))
    if run.late_errors and run.complete:
        doubts.append(_unknown(f"after the last report stood: {run.late_errors[0]}"))
    return failed, doubts


def _verdict(failed: list[Reason], doubts: list[Reason]) -> Verdict:
    if failed:
        return False, tuple(failed)
    return (None, tuple(doubts)) if doubts else (True, ())


def judge_section(run: Run, section: Section) -> Verdict:
    """Whether the report of a test in throughput mode is a result."""
    failed, doubts = _of_run(run)
    failed += _failed(section)
    if section.children is None:
        doubts.append(_unknown("the line 'Children see throughput' is not there"))
    if None in (section.minimum, section.maximum, section.min_xfer):
        doubts.append(_unknown("without its minimum, maximum and Min xfer a dead worker cannot be ruled out"))
    elif run.options is not None and "C" in run.options.flags and not section.workers:
        doubts.append(_unknown("the lines of the workers, which -C asks for, are not there"))
    return _verdict(failed, doubts)


def judge_value(run: Run, value: float, unit: str, row: Row | None) -> Verdict:
    """Whether a value of a table, or of the Excel report of one, is a result."""
    failed, doubts = _of_run(run)
    if value == 0 and unit == "us/op":
        doubts.append(_unknown("a latency of 0 is below IOzone's resolution of 1 microsecond"))
    elif value == 0:
        failed.append(Reason(code="tool-failed", message="nothing was transferred: a rate of 0"))
    if run.unit is None and run.options is None:
        doubts.append(_unknown("no line says the unit; IOzone's default kB/s was taken"))
    if row is not None and row.line in run.quick:
        doubts.append(_unknown("IOzone said: The test completed too quickly to give a good result"))
    if row is not None and run.poor_below_kb is not None and row.record_kb <= run.poor_below_kb:
        doubts.append(_unknown(f"IOzone said: timer resolution is poor, sizes {run.poor_below_kb} kBytes and below"))
    return _verdict(failed, doubts)


def judge_sum(run: Run, value: float) -> Verdict:
    """Whether a sum in the Excel report of throughput mode is a result."""
    failed, doubts = _of_run(run)
    if value == 0:
        failed.append(Reason(code="tool-failed", message="nothing was transferred: a sum of 0"))
    doubts.append(_unknown("the Excel report has sums only, a dead worker cannot be ruled out"))
    return _verdict(failed, doubts)


def left_out(run: Run, again: bool) -> bool:
    """Whether a 0 stands for a second pass that ``-+n`` left out."""
    return again and run.options is not None and "+n" in run.options.flags


def is_cut(log: Log, run: Run) -> bool:
    """Whether the last report of throughput mode in a run stops before its end."""
    if run.complete or not run.sections:
        return False
    last = run.sections[-1]
    if last.min_xfer is None:
        return log.has_transfers or (run.banner and len(run.sections) == 1)
    asked = run.options is not None and "C" in run.options.flags and run.banner
    expected = asked or bool(last.workers) or any(section.workers for section in run.sections)
    return expected and len(last.workers) < last.count


def missing(run: Run) -> str | None:
    """What a run should hold after its last report, and does not; None when nothing is known to be missing."""
    said = [*run.late_errors, *run.complaints]
    tail = f"; IOzone said: {said[0]}" if said else ""
    if not run.has_results:
        return f"expected a report after IOzone's banner, found none{tail}; let the run end"
    if run.interrupted:
        return f"expected a run that ended, found one that was interrupted{tail}"
    if run.complete or run.options is None or run.command_line is None:
        return f"expected a report after an error{tail}" if run.late_errors and not run.complete else None
    wanted = _missing_section(run, run.options) if run.sections else _missing_row(run, run.options)
    return None if wanted is None else f"expected {wanted}, which the command line asks for, found the end{tail}"


def _missing_section(run: Run, options: Options) -> str | None:
    if run.excel:
        return None
    there = {(section.test, section.count) for section in run.sections}
    counts = options.counts or (run.sections[0].count,)
    for count in counts:
        for test in _expected(run, options):
            if (test, count) not in there:
                return f"a report of {count} {test}"
    return None


def _expected(run: Run, options: Options) -> list[str]:
    minor = (run.version or "").partition(".")[2].partition(".")[0]
    streams = minor.isdigit() and int(minor[:6]) >= _STREAMS_SINCE
    tests = options.tests if options.tests is not None else frozenset(_BY_TEST)
    labels = [label for test in sorted(tests) if test not in {6, 7} or streams for label in _BY_TEST.get(test, ())]
    return [label for label in labels if not (label in _AGAIN and "+n" in options.flags)]


def _missing_row(run: Run, options: Options) -> str | None:
    if not run.rows:
        return None
    last = run.rows[-1]
    columns = asked_columns(options, run.header.width if run.header is not None else 0)
    lacking = [COLUMNS[place].label for place in columns if place not in last.values]
    if lacking:
        return f"a value for {lacking[0]} in the row of {last.file_kb} and {last.record_kb} kB"
    sizes = options.last_row_kb()
    if sizes not in {(row.file_kb, row.record_kb) for row in run.rows}:
        return f"a row of {sizes[0]} and {sizes[1]} kB"
    return None


def asked_columns(options: Options, width: int) -> list[int]:
    """The columns of a table that a command line asks for."""
    places = range(min(width, len(COLUMNS)))
    return [place for place in places if options.tests is None or COLUMNS[place].test in options.tests]
