"""Reader of IOzone's output, 3.1xx to 3.5xx: throughput and cluster mode, tables, Excel reports, several runs in a log.

IOzone's kB and KB are 1,024 bytes. A section of throughput mode and a value of a table are one result each; what an
Excel report repeats is not read again. What a result proves is told by `glusterlab.tools.iozone.records`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from glusterlab.reasons import Reason
from glusterlab.tools.document import Document
from glusterlab.tools.iozone.report import scan
from glusterlab.tools.iozone.runs import LABELS, SINGLE_KB, Child, Log, Options, Run, Section
from glusterlab.tools.iozone.tables import COLUMNS, SUMS, Row, Sums
from glusterlab.tools.records import Details, Operation, Record, WorkerRecord, WorkloadRecord
from glusterlab.units import IOZONE_KB

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


TOOL = "iozone"

_SURE = re.compile(
    r"Iozone: Performance Test of File I/O|(?:Children|Parent) sees? throughput for[ \t]+[0-9]"
    r"|\b[kK][bB][ \t]+reclen[ \t]+write\b|Throughput report Y-axis is type of test"
)
_LIKELY = re.compile(
    r"\biozone test complete\b|Command line used:[^\n]{0,200}iozone|\bChild\[[0-9]+\] xfer count"
    r'|^[ \t>"]*(?:Re-)?(?:[Ww]riter|[Rr]eader|[Ff]write|[Ff]read) report"?[ \t]*$'
    r"|Throughput test with [0-9]+ (?:proc|thr)",
    re.MULTILINE,
)


def recognise(document: Document) -> float:
    """How sure it is that a document is IOzone's: by the words of its banner and its reports."""
    if _SURE.search(document.head):
        return 0.95
    return 0.7 if _LIKELY.search(document.head) else 0.0


def read(document: Document) -> Iterator[Record]:
    """The results of all runs, in their order, a `WorkerRecord` for each line of ``-C`` after its `WorkloadRecord`.

    `ParseError` after what is whole: when a run was cut off or interrupted, or a report is damaged.
    """
    log = scan(document.lines)
    log.runs = [run for run in log.runs if run.has_results or run.banner or run.command_line is not None]
    damage = list(log.damage)
    if not document.ends_in_a_line:
        _drop_cut_value(log, len(document.lines), damage)
    any_result = False
    for number, run in enumerate(log.runs, start=1):
        last = run.sections[-1] if is_cut(log, run) else None
        if last is not None:
            damage.append((last.line, f"expected the whole report of {last.test}, found its beginning: it was cut off"))
        elif (message := missing(run)) is not None:
            damage.append((len(document.lines) if run is log.runs[-1] else run.line, message))
        for record in _records(document, run, number, last):
            any_result = True
            yield record
    if damage:
        line, message = min(damage)
        raise document.error(message, line)
    if not any_result:
        raise document.error("expected a report of IOzone, found none", 1)


def _drop_cut_value(log: Log, last_line: int, damage: list[tuple[int, str]]) -> None:
    """A number at the very end of a file may lack digits: it is taken away unless its place shows that it is whole."""
    for run in log.runs[-1:]:
        if run.rows and run.rows[-1].last_line == last_line and not run.rows[-1].exact:
            row = run.rows.pop()
            values = dict(list(row.values.items())[:-1])
            run.rows.append(replace(row, values=values))
        elif run.excel.cells and run.excel.cells[-1].line == last_line:
            run.excel.cells.pop()
        elif run.excel.sums and run.excel.sums[-1].line == last_line:
            run.excel.sums.pop()
        else:
            return
        damage.append((last_line, "expected the end of the line after its last number, found the end of the file"))


def _records(document: Document, run: Run, number: int, cut: Section | None) -> Iterator[Record]:
    for section in run.sections:
        if section is not cut:
            yield from _of_section(document, run, number, section)
    unit = run.unit or (run.options.unit if run.options is not None else "kB/s")
    for row in run.rows:
        for place, value in row.values.items():
            if value or not left_out(run, COLUMNS[place].again):
                yield _single(
                    document,
                    run,
                    number,
                    line=row.line,
                    operation=COLUMNS[place].operation,
                    label=COLUMNS[place].label,
                    value=float(value),
                    unit=unit,
                    verdict=judge_value(run, value, unit, row),
                    workers=1,
                    sizes_kb=(row.file_kb, row.record_kb),
                )
    if not run.sections and not run.rows:
        for cell in run.excel.cells:
            yield _single(
                document,
                run,
                number,
                line=cell.line,
                operation=COLUMNS[cell.column].operation,
                label=cell.title,
                value=float(cell.value),
                unit=unit,
                verdict=judge_value(run, cell.value, unit, None),
                workers=1,
                sizes_kb=(cell.file_kb, cell.record_kb),
            )
        for sums in run.excel.sums:
            yield from _of_sums(document, run, number, sums)


def _details(run: Run) -> Details:
    """What a run says of itself."""
    found: Details = {"complete": run.complete}
    told = {
        "command_line": run.command_line or run.typed,
        "began": run.began,
        "prefix": run.prefix if run.host is None else None,
        "errors": run.complaints or None,
        "warning": run.warning,
        "timer_poor_for_records_to_bytes": run.poor_below_kb and run.poor_below_kb * IOZONE_KB,
    }
    return found | {name: value for name, value in told.items() if value is not None}


# --- throughput mode


def _scaled(value: float | None, unit: str) -> float | None:
    """A rate or transfer in SI units; a 0 is no value, as nothing was done."""
    return None if not value else value * (1 if unit == "ops/s" else IOZONE_KB)


def _sizes(run: Run) -> tuple[int | None, int | None]:
    """File and record size in bytes, from the banner, else from the command as it was typed."""
    file, record = run.file_size_kb, run.record_size_kb
    if run.options is not None:
        files, records = run.options.sizes_kb("s"), run.options.sizes_kb("r")
        file = file if file is not None or not files else files[-1]
        if record is None:
            record = records[-1] if records else SINGLE_KB[1]
    return _bytes(file), _bytes(record)


def _bytes(size_kb: int | None) -> int | None:
    return None if not size_kb else size_kb * IOZONE_KB


def _of_section(document: Document, run: Run, number: int, section: Section) -> Iterator[Record]:
    valid, reasons = judge_section(run, section)
    ops = section.unit == "ops/s"
    sum_ = _scaled(section.children, section.unit)
    extremes = {name: _scaled(getattr(section, name), section.unit) for name in ("minimum", "maximum")}
    elapsed = [child.xfer / child.throughput for child in section.workers if child.throughput]
    whole = len(elapsed) == section.count
    file, record = _sizes(run)
    operation = LABELS[section.test]
    yield WorkloadRecord(
        tool=TOOL,
        tool_version=run.version,
        source=document.source(section.line),
        run=number,
        host=run.host,
        operation=operation,
        label=section.test,
        workers=section.count,
        file_size_bytes=file,
        record_size_bytes=record,
        throughput_bytes_per_s=None if ops else sum_,
        operations_per_s=sum_ if ops else None,
        worker_min_bytes_per_s=None if ops else extremes["minimum"],
        worker_max_bytes_per_s=None if ops else extremes["maximum"],
        elapsed_s=max(elapsed) if whole and elapsed else None,
        valid=valid,
        reasons=reasons,
        details=_details(run) | {"cluster": run.cluster} | _of_workers(section),
    )
    for child in section.workers:
        yield _of_child(document, run, number, section, child, (valid, reasons))


def _of_workers(section: Section) -> Details:
    """What a section says besides its sum."""
    ops = section.unit == "ops/s"
    rate, amount = ("operations_per_s", "operations") if ops else ("bytes_per_s", "bytes")
    wall, cpu, percent = section.cpu or (None, None, None)
    told = {
        f"parent_throughput_{rate}" if not ops else f"parent_{rate}": _scaled(section.parent, section.unit),
        f"worker_mean_{rate}": _scaled(section.average, section.unit),
        "worker_min_operations_per_s": section.minimum if ops else None,
        "worker_max_operations_per_s": section.maximum if ops else None,
        f"min_transfer_{amount}": _scaled(section.min_xfer, section.unit),
        "worker_kind": section.worker,
        "wall_s": wall,
        "cpu_s": cpu,
        "cpu_utilisation_fraction": None if percent is None else percent / 100,
    }
    return {name: value for name, value in told.items() if value is not None and value != 0}


def _of_child(
    document: Document, run: Run, number: int, section: Section, child: Child, verdict: Verdict
) -> WorkerRecord:
    valid, reasons = verdict
    if child.number in idle_workers(section):
        valid, reasons = False, (Reason(code="tool-incomplete", message="the worker transferred nothing"),)
    elif valid is False:
        # what it did itself may be whole; the operation that it was part of failed
        valid = None
    ops = section.unit == "ops/s"
    rate, amount = _scaled(child.throughput, section.unit), _scaled(child.xfer, section.unit)
    told = {"operations": amount if ops else None, "wall_s": child.wall_s, "cpu_s": child.cpu_s}
    return WorkerRecord(
        tool=TOOL,
        tool_version=run.version,
        source=document.source(child.line),
        run=number,
        host=run.host,
        operation=LABELS[section.test],
        label=f"Child[{child.number}]",
        worker=child.number + 1,
        throughput_bytes_per_s=None if ops else rate,
        operations_per_s=rate if ops else None,
        elapsed_s=child.xfer / child.throughput if rate and amount else None,
        bytes=None if ops or amount is None else round(amount),
        valid=valid,
        reasons=reasons,
        details={name: value for name, value in told.items() if value is not None},
    )


# --- tables and Excel reports


def _single(
    document: Document,
    run: Run,
    number: int,
    *,
    line: int,
    operation: Operation,
    label: str,
    value: float,
    unit: str,
    verdict: Verdict,
    workers: int | None,
    sizes_kb: tuple[int | None, int | None],
) -> WorkloadRecord:
    valid, reasons = verdict
    return WorkloadRecord(
        tool=TOOL,
        tool_version=run.version,
        source=document.source(line),
        run=number,
        host=run.host,
        operation=operation,
        label=label,
        workers=workers,
        file_size_bytes=_bytes(sizes_kb[0]),
        record_size_bytes=_bytes(sizes_kb[1]),
        throughput_bytes_per_s=value * IOZONE_KB if value and unit == "kB/s" else None,
        operations_per_s=value if value and unit == "ops/s" else None,
        latency_mean_s=value / 1e6 if value and unit == "us/op" else None,
        valid=valid,
        reasons=reasons,
        details=_details(run),
    )


def _of_sums(document: Document, run: Run, number: int, sums: Sums) -> Iterator[WorkloadRecord]:
    counts = run.options.counts if run.options is not None else ()
    operation, file = SUMS[sums.label.lower()], _sizes(run)[0]
    for place, value in enumerate(sums.values):
        if value or not left_out(run, operation in {"rewrite", "reread"}):
            yield _single(
                document,
                run,
                number,
                line=sums.line,
                operation=operation,
                label=sums.label,
                value=value,
                unit=sums.unit or "kB/s",
                verdict=judge_sum(run, value),
                workers=counts[place] if len(counts) == len(sums.values) else None,
                sizes_kb=(file and file // IOZONE_KB, sums.record_kb),
            )
