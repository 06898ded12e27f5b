"""Reader of IOzone's output, 3.1xx to 3.5xx: throughput and cluster mode, tables, Excel reports, several runs in a log.

IOzone's kB and KB are 1,024 bytes. A section of throughput mode and a value of a table are one result each; what an
Excel report repeats is not read again. What a result proves is told by `glusterlab.readers.iozone_judge`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from glusterlab.readers.document import Document
from glusterlab.readers.iozone_judge import (
    Verdict,
    idle_workers,
    is_cut,
    judge_section,
    judge_sum,
    judge_value,
    left_out,
    missing,
)
from glusterlab.readers.iozone_log import scan
from glusterlab.readers.iozone_options import SINGLE_KB
from glusterlab.readers.iozone_runs import LABELS, Child, Log, Run, Section
from glusterlab.readers.iozone_tables import COLUMNS, SUMS, Cell, Row, Sums
from glusterlab.readers.records import Details, Operation, Record, WorkerRecord, WorkloadRecord
from glusterlab.reasons import Reason
from glusterlab.units import IOZONE_KB

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

    Raises
    ------
    ParseError
        After what is whole: when a run was cut off or interrupted, or a report is damaged.
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
    for row in run.rows:
        for place, value in row.values.items():
            if value or not left_out(run, COLUMNS[place].again):
                yield _of_value(document, run, number, row, place, value)
    if not run.sections and not run.rows:
        for cell in run.excel.cells:
            yield _of_cell(document, run, number, cell)
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


def _table_unit(run: Run) -> str:
    return run.unit or (run.options.unit if run.options is not None else "kB/s")


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


def _of_value(document: Document, run: Run, number: int, row: Row, place: int, value: int) -> WorkloadRecord:
    unit, column = _table_unit(run), COLUMNS[place]
    return _single(
        document,
        run,
        number,
        line=row.line,
        operation=column.operation,
        label=column.label,
        value=float(value),
        unit=unit,
        verdict=judge_value(run, value, unit, row),
        workers=1,
        sizes_kb=(row.file_kb, row.record_kb),
    )


def _of_cell(document: Document, run: Run, number: int, cell: Cell) -> WorkloadRecord:
    unit = _table_unit(run)
    return _single(
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
