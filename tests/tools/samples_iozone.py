"""The samples of IOzone: what their expectation files name, found in the records."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from glusterlab.errors import ParseError
from glusterlab.tools import read
from glusterlab.tools.document import Document
from glusterlab.tools.records import Record, WorkerRecord, WorkloadRecord

KB = 1024
VALUES = {
    "sum": ("throughput_bytes_per_s", "operations_per_s"),
    "parent": ("parent_throughput_bytes_per_s", "parent_operations_per_s"),
    "min": ("worker_min_bytes_per_s", "worker_min_operations_per_s"),
    "max": ("worker_max_bytes_per_s", "worker_max_operations_per_s"),
    "avg": ("worker_mean_bytes_per_s", "worker_mean_operations_per_s"),
    "min_xfer": ("min_transfer_bytes", "min_transfer_operations"),
}
"""Fields or details in bytes and in operations."""


def printed(record: WorkloadRecord | WorkerRecord, what: str = "sum") -> float | None:
    """A value as IOzone prints it, in kB or operations; it is one of the two only."""
    of_bytes, of_operations = (
        getattr(record, name, None) if hasattr(record, name) else record.details.get(name) for name in VALUES[what]
    )
    assert None in (of_bytes, of_operations)
    return of_operations if of_bytes is None else round(of_bytes / KB, 2)


def _cpu(record: WorkloadRecord) -> float:
    return round(record.details["cpu_utilisation_fraction"] * 100, 2)


@dataclass(frozen=True)
class Sample:
    """The records of a file."""

    workloads: list[WorkloadRecord]
    workers: list[WorkerRecord]
    error: ParseError | None

    def run(self, number: int) -> Sample:
        return replace(self, workloads=[record for record in self.workloads if record.run == number])

    def labels(self) -> dict[str, WorkloadRecord]:
        found = {record.label: record for record in self.workloads}
        assert len(found) == len(self.workloads), "two results would have been merged"
        return found

    def rates(self) -> dict[str, float | None]:
        return {label: printed(record) for label, record in self.labels().items()}


Find = Callable[[Sample, Any], object]
"""What a sample has in the place of an expected value."""


def _of_tests(get: Callable[[WorkloadRecord], float | None]) -> Find:
    """A value for each test that is expected, or one that all of the file have."""
    return lambda sample, expected: (
        {label: get(sample.labels()[label]) for label in expected}
        if isinstance(expected, dict)
        else _one((get(record) for record in sample.workloads), expected)
    )


def _one(values: Iterable[Hashable], expected: object) -> object:
    """The value that all results have; without results none contradicts the expected one."""
    found = set(values) or {expected}
    return found.pop() if len(found) == 1 else found


def _each(get: Callable[[WorkloadRecord], Hashable]) -> Find:
    return lambda sample, expected: _one((get(record) for record in sample.workloads), expected)


def _value(what: str) -> Find:
    return _of_tests(partial(printed, what=what))


def _children(sample: Sample, expected: dict[str, list[float]]) -> object:
    of_test = {test: sample.labels()[test].operation for test in expected}
    return {test: [printed(one) for one in sample.workers if one.operation == name] for test, name in of_test.items()}


def _child(number: int) -> Find:
    return lambda sample, _: [printed(one) for one in sample.workers if one.label == f"Child[{number}]"].pop()


def _by_sizes(sample: Sample, expected: dict[str, dict[str, float]]) -> object:
    return {
        sizes: {
            record.label: printed(record)
            for record in sample.workloads
            if f"{(record.file_size_bytes or 0) // KB},{(record.record_size_bytes or 0) // KB}" == sizes
            and record.label in values
        }
        for sizes, values in expected.items()
    }


def _row(record_kb: int) -> Find:
    return lambda sample, expected: {
        record.label: printed(record)
        for record in sample.workloads
        if record.record_size_bytes == record_kb * KB and record.label in expected
    }


def _no_result(sample: Sample) -> None:
    assert sample.error is not None
    assert sample.workloads == []


def _no_bytes(sample: Sample) -> None:
    """Operations are operations, nowhere bytes: neither as printed nor multiplied by the record size."""
    for record in (*sample.workloads, *sample.workers):
        assert record.operations_per_s
        assert record.throughput_bytes_per_s is None
    for workload in sample.workloads:
        assert (workload.worker_min_bytes_per_s, workload.worker_max_bytes_per_s) == (None, None)
        assert workload.record_size_bytes == 4 * KB
        assert not [name for name in workload.details if "bytes_per_s" in name or name == "min_transfer_bytes"]


def _two_runs(sample: Sample) -> None:
    """Each run has each of its tests once, in its order in the file, with its own numbers."""
    first, second = (sample.run(number).workloads for number in (1, 2))
    assert [*first, *second] == sorted(sample.workloads, key=lambda record: record.source.line or 0)
    labels = ["initial writers", "rewriters", "readers", "re-readers"]
    assert [r.label for r in first] == [r.label for r in second] == labels
    for one, other in zip(first, second, strict=True):
        assert all(printed(one, what) not in (None, printed(other, what)) for what in VALUES)
        assert _cpu(one) != _cpu(other)


MUSTS: dict[str, Callable[[Sample], None]] = {
    "report incomplete / no result; never 0 kB/sec": _no_result,
    "not treated as kB/sec; kB/sec would be ops x 4": _no_bytes,
    "either parse two runs after unquoting, or reject clearly": _two_runs,
}
"""What the expectations put in words."""

FIND: dict[str, Find] = {
    **dict.fromkeys(("children", "tests"), lambda sample, _: sample.rates()),
    **{name: _value(name) for name in ("parent", "min", "max", "avg", "min_xfer")},
    "min_xfer_kB": _value("min_xfer"),
    "min_xfer_ops": _each(partial(printed, what="min_xfer")),
    "child": _children,
    "child_0": _child(0),
    "child_7": _child(7),
    **dict.fromkeys(("processes", "threads"), _each(lambda record: record.workers)),
    "file_size_kB": _each(lambda record: (record.file_size_bytes or 0) // KB),
    "record_kB": _each(lambda record: (record.record_size_bytes or 0) // KB),
    "cluster": _each(lambda record: record.details["cluster"]),
    **dict.fromkeys(("complete", "complete_line"), _each(lambda record: record.details["complete"])),
    "unit": lambda sample, unit: _one(
        (unit if (record.operations_per_s is None) == (unit != "ops/sec") else None for record in sample.workloads),
        unit,
    ),
    "runs": lambda sample, _: [sample.run(n).rates() for n in sorted({record.run for record in sample.workloads})],
    "cpu_pct_run1": lambda sample, expected: _of_tests(_cpu)(sample.run(1), expected),
    "hosts": lambda sample, _: len({record.host for record in sample.workloads}),
    "by_host": lambda sample, expected: {r.host: printed(r) for r in sample.workloads if r.host in expected},
    "sum": lambda sample, _: pytest.approx(sum(printed(record) or 0 for record in sample.workloads), abs=0.005),
    "auto": _by_sizes,
    "run2": lambda sample, _: sample.run(2).rates(),
    "run3": lambda sample, _: sample.run(3).rates(),
    "parent_run3": lambda sample, expected: _value("parent")(sample.run(3), expected),
    "rows": lambda sample, _: len({(r.file_size_bytes, r.record_size_bytes) for r in sample.workloads}),
    "row_4": _row(4),
    "row_16384": _row(16384),
    # a header prints another word than the expectations use
    "absent": lambda sample, labels: sorted(
        set(labels) - {r.label.replace("bkwd", "backward") for r in sample.workloads}, key=labels.index
    ),
}


def check(path: Path, expected: dict[str, Any]) -> None:
    """Compare every value that the expectation file names; a name that is not known here fails."""
    records: list[Record] = []
    error = None
    try:
        records.extend(read(Document.open(path)))
    except ParseError as found:
        error = found
    workloads = [record for record in records if isinstance(record, WorkloadRecord)]
    sample = Sample(workloads, [record for record in records if isinstance(record, WorkerRecord)], error)
    for name, value in expected.items():
        if name == "must":
            MUSTS[value](sample)
        else:
            assert FIND[name](sample, value) == value, name
    assert not any(0 in (record.throughput_bytes_per_s, record.operations_per_s) for record in workloads)
    if expected.get("tests") != {}:
        assert sample.error is None
        assert not [record for record in workloads if record.valid is False]
