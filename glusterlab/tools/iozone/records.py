"""Reader of IOzone's output, 3.1xx to 3.5xx: throughput and cluster mode, tables, Excel reports, several runs in a log.

A section of throughput mode and a value of a table are one result each; what an Excel report repeats is left out.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from glusterlab.reasons import Reason
from glusterlab.tools import records
from glusterlab.tools.document import Document, by_marks
from glusterlab.tools.iozone.report import Damage, scan
from glusterlab.tools.iozone.runs import LABELS, SINGLE_KB, Child, Run, Section
from glusterlab.tools.iozone.tables import COLUMNS, Row, Value
from glusterlab.units import IOZONE_KB

_SURE = (
    r"Iozone: Performance Test of File I/O|(?:Children|Parent) sees? throughput for[ \t]+[0-9]"
    r"|\b[kK][bB][ \t]+reclen[ \t]+write\b|Throughput report Y-axis is type of test"
)
_LIKELY = (
    r"(?m)\biozone test complete\b|Command line used:[^\n]{0,200}iozone|\bChild\[[0-9]+\] xfer count"
    r'|^[ \t>"]*(?:Re-)?(?:[Ww]riter|[Rr]eader|[Ff]write|[Ff]read) report"?[ \t]*$'
    r"|Throughput test with [0-9]+ (?:proc|thr)"
)
recognise = by_marks({_SURE: 0.95, _LIKELY: 0.7})


def read(document: Document) -> Iterator[records.Record]:
    """The results of all runs, each before its workers; `ParseError` after them for a cut, an interrupt or damage."""
    runs, damage = scan(document.lines)
    runs = [run for run in runs if run.has_results or run.banner or run.command_line is not None]
    if runs and not document.ends_in_a_line:
        _drop_cut_value(runs[-1], len(document.lines), damage)
    any_transfers = any(section.min_xfer is not None for run in runs for section in run.sections)
    found: list[records.Record] = []
    for number, run in enumerate(runs, start=1):
        run.number = number
        if _is_cut(run, any_transfers):
            cut = run.sections.pop()
            damage.append((cut.line, f"expected the whole report of {cut.test}, found its beginning: it was cut off"))
            run.excel.values = []
        elif (message := _missing(run)) is not None:
            damage.append((len(document.lines) if run is runs[-1] else run.line, message))
        found += _records(document, run)
    yield from found
    if damage:
        line, message = min(damage)
        raise document.error(message, line)
    if not found:
        raise document.error("expected a report of IOzone, found none", 1)


def _drop_cut_value(run: Run, last_line: int, damage: Damage) -> None:
    """A number at the very end of a file may lack digits: it is taken away unless its place shows that it is whole."""
    if run.rows and run.rows[-1].last_line == last_line and not run.rows[-1].exact:
        run.rows[-1].values = dict(list(run.rows[-1].values.items())[:-1])
    elif (values := run.excel.values) and values[-1].line == last_line:
        del values[-max(values[-1].places, 1) :]
    else:
        return
    damage.append((last_line, "expected the end of the line after its last number, found the end of the file"))


_SECOND_PASSES = frozenset({"rewriters", "re-readers"})
_STREAMS_SINCE = 400  # releases before 3.400 have no fwriters and freaders in throughput mode


def _is_cut(run: Run, any_transfers: bool) -> bool:
    """Whether a run's last report stops before its end; `any_transfers`: one of the file has the line that ends it."""
    if run.complete or not run.sections:
        return False
    last = run.sections[-1]
    if last.min_xfer is None:
        return any_transfers or (run.banner and len(run.sections) == 1)
    requested = run.banner and run.has_flag("C")
    return (requested or any(section.workers for section in run.sections)) and len(last.workers) < last.count


def _missing(run: Run) -> str | None:
    """What a run should hold after its last report, and does not; None when nothing is known to be missing."""
    errors = [*run.late_errors, *run.complaints]
    tail = f"; IOzone said: {errors[0]}" if errors else ""
    if not run.has_results:
        return f"expected a report after IOzone's banner, found none{tail}; let the run end"
    if run.interrupted:
        return f"expected a run that ended, found one that was interrupted{tail}"
    if run.complete or run.command_line is None:
        return f"expected a report after an error{tail}" if run.late_errors and not run.complete else None
    wanted = _missing_section(run) if run.sections else _missing_row(run)
    return None if wanted is None else f"expected {wanted}, which the command line asks for, found the end{tail}"


def _missing_section(run: Run) -> str | None:
    if run.excel.values:
        return None
    options = run.options
    minor = (run.version or "").partition(".")[2].partition(".")[0]
    streams = minor.isdigit() and int(minor[:6]) >= _STREAMS_SINCE
    tests = {test for test in options.tests or range(11) if streams or test not in {6, 7}}
    labels = [label for label, (_, test) in LABELS.items() if test in tests]
    there = {(section.test, section.count) for section in run.sections}
    for count in options.counts or (run.sections[0].count,):
        for label in labels:
            if (label, count) not in there and not (label in _SECOND_PASSES and "+n" in options.flags):
                return f"a report of {count} {label}"
    return None


def _missing_row(run: Run) -> str | None:
    if not run.rows:
        return None
    options = run.options
    last, width = run.rows[-1], run.header.width if run.header is not None else 0
    for place in options.columns or range(len(COLUMNS)):
        if place < width and place not in last.values:
            return f"a value for {COLUMNS[place].label} in the row of {last.file_kb} and {last.record_kb} kB"
    sizes = options.last_row_kb()
    if sizes not in {(row.file_kb, row.record_kb) for row in run.rows}:
        return f"a row of {sizes[0]} and {sizes[1]} kB"
    return None


def _judge(run: Run, faults: Iterable[Reason], doubts: Iterable[Reason]) -> dict[str, Any]:
    warned = [] if run.warning is None else [records.failed(f"IOzone said: {run.warning}")]
    sure = run.warning is not None and " are " in run.warning
    around = [records.unjudged(f"before the run stood: {line}") for line in run.early_errors[:1]]
    if run.complete:
        around += [records.unjudged(f"after the last report stood: {line}") for line in run.late_errors[:1]]
    return records.verdict([*(warned if sure else ()), *faults], [*(() if sure else warned), *around, *doubts])


def _section_faults(run: Run, section: Section) -> Iterator[Reason]:
    error = f"; IOzone said: {section.errors[0]}" if section.errors else ""
    idle = sorted(child.number for child in section.workers if child.is_idle)
    if section.children == 0:
        yield records.failed("no worker transferred anything" + error)
    elif idle:
        yield records.incomplete(f"{', '.join(f'Child[{number}]' for number in idle[:5])} transferred nothing{error}")
    elif 0 in (section.minimum, section.maximum, section.min_xfer):
        yield records.incomplete("the slowest worker transferred nothing" + error)
    elif section.errors:
        yield records.failed(f"IOzone said: {section.errors[0]}")
    numbers = sorted(child.number for child in section.workers)
    if numbers and numbers != list(range(section.count)):
        yield records.incomplete(f"expected a line for each of {section.count} workers, found {len(numbers)}")
    if section.children and (contradiction := _contradiction(section, section.children)):
        yield records.incomplete(contradiction)
    file, record = _sizes_kb(run)
    whole = file if section.unit != "ops/s" else file and record and file // record
    done = [child.xfer for child in section.workers] or [section.min_xfer or 0.0]
    if whole and max(done) > whole + 1:
        yield records.incomplete(f"a worker transferred {max(done):g} of the {whole} {section.unit[:-2]} of its file")
    elif whole and len(done) == section.count == len(section.workers) and max(done) < whole - (record or 0) - 1:
        yield records.incomplete(f"no worker transferred all of its file: {max(done):g} of {whole} {section.unit[:-2]}")


def _contradiction(section: Section, total: float) -> str | None:
    """What in a report cannot be so when every worker did something."""
    count, low, high = section.count, section.minimum, section.maximum
    # sums of printed rates differ from a printed sum
    slack = max(1.0, 1e-4 * total)
    if section.workers and abs(sum(child.throughput for child in section.workers) - total) > slack:
        return "the lines of the workers do not add up to the reported sum"
    if section.average is not None and abs(section.average * count - total) > slack:
        return "the mean over the workers does not fit the reported sum"
    for name, value, of_workers in (
        ("minimum", low, [child.throughput for child in section.workers]),
        ("Min xfer", section.min_xfer, [child.xfer for child in section.workers]),
    ):
        if of_workers and value is not None and abs(min(of_workers) - value) > slack:
            return f"the reported {name} of {value:g} is not that of the workers' lines"
    if section.workers and high is not None and abs(max(child.throughput for child in section.workers) - high) > slack:
        return f"the reported maximum of {high:g} is not that of the workers' lines"
    if low is None or high is None:
        return None
    if total > count * high + slack or low > high:
        return "the reported sum is more than the fastest worker allows"
    if total < high + (count - 1) * low - slack:
        return "the reported sum is less than the slowest worker allows: a worker did nothing"
    return None


def _section_doubts(run: Run, section: Section) -> Iterator[Reason]:
    if section.children is None:
        yield records.unjudged("the line 'Children see throughput' is not there")
    if None in (section.minimum, section.maximum, section.min_xfer):
        yield records.unjudged("without its minimum, maximum and Min xfer a dead worker cannot be ruled out")
    elif run.has_flag("C") and not section.workers:
        yield records.unjudged("the lines of the workers, which -C asks for, are not there")


def _value_doubts(run: Run, row: Row | None) -> Iterator[Reason]:
    """What leaves a value of a table, or of the Excel report of one, in doubt."""
    if run.unit is None and run.command is None:
        yield records.unjudged("no line says the unit; IOzone's default kB/s was taken")
    if row is not None and row.line in run.quick:
        yield records.unjudged("IOzone said: The test completed too quickly to give a good result")
    if row is not None and run.poor_below_kb is not None and row.record_kb <= run.poor_below_kb:
        yield records.unjudged(f"IOzone said: timer resolution is poor, sizes {run.poor_below_kb} kBytes and below")


_FIELDS = {  # a record's field for each unit, and how many units are one of the field's
    "kB/s": ("throughput_bytes_per_s", 1 / IOZONE_KB),
    "ops/s": ("operations_per_s", 1),
    "us/op": ("latency_mean_s", 1e6),
}


def _bytes(size_kb: int | None) -> int | None:
    return size_kb * IOZONE_KB if size_kb else None


def _scaled(value: float | None, unit: str) -> float | None:
    """A rate or transfer in SI units; a 0 is no value, as nothing was done."""
    return value * (1 if unit == "ops/s" else IOZONE_KB) if value else None


def _sizes_kb(run: Run) -> tuple[int | None, int | None]:
    file, record = run.file_size_kb, run.record_size_kb
    if run.command is not None:
        file = [None, *run.options.sizes_kb("s")][-1] if file is None else file
        record = [SINGLE_KB[1], *run.options.sizes_kb("r")][-1] if record is None else record
    return file, record


def _records(document: Document, run: Run) -> Iterator[records.Record]:
    for section in run.sections:
        yield from _of_section(document, run, section)
    unit = run.unit or run.options.unit
    for row in run.rows:
        doubts = list(_value_doubts(run, row))
        for place, value in row.values.items():
            column = COLUMNS[place]
            if value or not (column.again and run.has_flag("+n")):
                one = Value(row.line, column.label, column.operation, value, row.file_kb, row.record_kb)
                yield _of_value(document, run, one, unit, doubts)
    if run.sections or run.rows:
        return
    counts, sized_kb = run.options.counts, _sizes_kb(run)[0]
    for one in run.excel.values:
        if not one.value and one.operation in {"rewrite", "reread"} and run.has_flag("+n"):
            continue
        if not one.places:
            yield _of_value(document, run, one, unit, list(_value_doubts(run, None)))
            continue
        doubts = [records.unjudged("the Excel report has sums only, a dead worker cannot be ruled out")]
        workers = counts[one.place] if len(counts) == one.places else None
        yield _of_value(document, run, one._replace(file_kb=sized_kb), one.unit or "kB/s", doubts, workers)


def _record(
    document: Document, run: Run, one: Value, workers: int | None, details: records.Details, **values: Any
) -> records.WorkloadRecord:
    details = {
        "complete": run.complete,
        "command_line": run.command_line or run.typed,
        "began": run.began,
        "prefix": run.prefix if run.host is None else None,
        "errors": run.complaints or None,
        "warning": run.warning,
        "timer_poor_for_records_to_bytes": _bytes(run.poor_below_kb),
        **details,
    }
    return records.WorkloadRecord(
        tool="iozone",
        tool_version=run.version,
        source=document.source(one.line),
        run=run.number,
        host=run.host,
        operation=one.operation,
        label=one.label,
        workers=workers,
        file_size_bytes=_bytes(one.file_kb),
        record_size_bytes=_bytes(one.record_kb),
        details=records.without_none(details),
        **values,
    )


def _of_value(
    document: Document, run: Run, one: Value, unit: str, doubts: list[Reason], workers: int | None = 1
) -> records.WorkloadRecord:
    name, per_unit = _FIELDS[unit]
    faults = []
    if one.value == 0 and unit == "us/op":
        doubts = [*doubts, records.unjudged("a latency of 0 is below IOzone's resolution of 1 microsecond")]
    elif one.value == 0:
        faults = [records.failed("nothing was transferred: a rate of 0")]
    value = {name: one.value / per_unit if one.value else None}
    return _record(document, run, one, workers, {}, **value, **_judge(run, faults, doubts))


def _of_section(document: Document, run: Run, section: Section) -> Iterator[records.Record]:
    unit, ops = section.unit, section.unit == "ops/s"
    elapsed = [child.xfer / child.throughput for child in section.workers if child.throughput]
    total = Value(section.line, section.test, LABELS[section.test][0], section.children or 0.0, *_sizes_kb(run))
    rate, amount = ("operations_per_s", "operations") if ops else ("bytes_per_s", "bytes")
    wall, cpu, percent = section.cpu or (None, None, None)
    details: records.Details = {
        "cluster": run.cluster,
        f"parent_{rate}" if ops else f"parent_throughput_{rate}": _scaled(section.parent, unit),
        f"worker_mean_{rate}": _scaled(section.average, unit),
        "worker_min_operations_per_s": section.minimum or None if ops else None,
        "worker_max_operations_per_s": section.maximum or None if ops else None,
        f"min_transfer_{amount}": _scaled(section.min_xfer, unit),
        "worker_kind": section.worker,
        "wall_s": wall or None,
        "cpu_s": cpu or None,
        "cpu_utilisation_fraction": percent / 100 if percent else None,
    }
    record = _record(
        document,
        run,
        total,
        section.count,
        details,
        **{_FIELDS[unit][0]: _scaled(section.children, unit)},
        worker_min_bytes_per_s=None if ops else _scaled(section.minimum, unit),
        worker_max_bytes_per_s=None if ops else _scaled(section.maximum, unit),
        elapsed_s=max(elapsed) if elapsed and len(elapsed) == section.count else None,
        **_judge(run, _section_faults(run, section), _section_doubts(run, section)),
    )
    yield record
    for child in section.workers:
        yield _worker(document, record, section, child)


def _worker(document: Document, record: records.WorkloadRecord, section: Section, child: Child) -> records.WorkerRecord:
    # what it did itself may be whole where the operation that it was part of failed
    valid: bool | None = record.valid or None
    reasons = record.reasons
    if child.is_idle:
        valid, reasons = False, (records.incomplete("the worker transferred nothing"),)
    ops = section.unit == "ops/s"
    rate, amount = (_scaled(value, section.unit) for value in (child.throughput, child.xfer))
    times = {"wall_s": child.wall_s, "cpu_s": child.cpu_s}
    # the rate of the whole operation is not the worker's
    rates = {"throughput_bytes_per_s": None, "operations_per_s": None, _FIELDS[section.unit][0]: rate}
    return records.worker_of(
        record,
        source=document.source(child.line),
        label=f"Child[{child.number}]",
        worker=child.number + 1,
        **rates,
        elapsed_s=child.xfer / child.throughput if rate and amount else None,
        bytes=None if ops or amount is None else round(amount),
        valid=valid,
        reasons=reasons,
        details=records.without_none({"operations": amount if ops else None, **times}),
    )
