"""The samples of IOzone: what their expectation files name, found in the records."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from glusterlab.errors import ParseError
from glusterlab.tools import read
from glusterlab.tools.document import Document
from glusterlab.tools.records import Record, WorkerRecord, WorkloadRecord

KB = 1024
COLUMNS = {"backward read": "bkwd read"}
"""Columns whose header prints another word than the expectations use."""

VALUES = {
    "sum": ("throughput_bytes_per_s", "operations_per_s"),
    "parent": ("parent_throughput_bytes_per_s", "parent_operations_per_s"),
    "min": ("worker_min_bytes_per_s", "worker_min_operations_per_s"),
    "max": ("worker_max_bytes_per_s", "worker_max_operations_per_s"),
    "avg": ("worker_mean_bytes_per_s", "worker_mean_operations_per_s"),
    "min_xfer": ("min_transfer_bytes", "min_transfer_operations"),
}
"""Fields or details in bytes and in operations."""


@dataclass(frozen=True)
class Sample:
    """The records of a file."""

    workloads: list[WorkloadRecord]
    workers: list[WorkerRecord]
    error: ParseError | None

    @classmethod
    def of(cls, path: Path) -> Sample:
        records: list[Record] = []
        error = None
        try:
            records.extend(read(Document.open(path)))
        except ParseError as found:
            error = found
        workloads = [record for record in records if isinstance(record, WorkloadRecord)]
        return cls(workloads, [record for record in records if isinstance(record, WorkerRecord)], error)

    def run(self, number: int) -> Sample:
        return replace(self, workloads=[record for record in self.workloads if record.run == number])

    def only(self, **wanted: Any) -> WorkloadRecord:
        (found,) = (r for r in self.workloads if all(getattr(r, name) == value for name, value in wanted.items()))
        return found

    def labels(self) -> dict[str, WorkloadRecord]:
        found = {record.label: record for record in self.workloads}
        assert len(found) == len(self.workloads), "two results would have been merged"
        return found

    def rates(self) -> dict[str, float | None]:
        return {label: printed(record) for label, record in self.labels().items()}


def printed(record: WorkloadRecord | WorkerRecord, what: str = "sum") -> float | None:
    """A value as IOzone prints it, in kB or operations; it is one of the two only."""
    of_bytes, of_operations = (
        getattr(record, name, None) if hasattr(record, name) else record.details.get(name) for name in VALUES[what]
    )
    assert None in (of_bytes, of_operations)
    return of_operations if of_bytes is None else round(of_bytes / KB, 2)


def _cpu(record: WorkloadRecord) -> float:
    return round(record.details["cpu_utilisation_fraction"] * 100, 2)


Check = Callable[[Sample, Any], None]


def _of_tests(get: Callable[[WorkloadRecord], float | None]) -> Check:
    """A value for each test, or one number for the only test of the file; None for none of any."""

    def verify(sample: Sample, expected: Any) -> None:
        if expected is None:
            assert all(get(record) is None for record in sample.workloads)
            return
        wanted = expected if isinstance(expected, dict) else {sample.workloads[0].label: expected}
        labels = sample.labels()
        assert {label: get(labels[label]) for label in wanted} == wanted

    return verify


def _value(what: str) -> Check:
    return _of_tests(lambda record: printed(record, what))


def _each(get: Callable[[WorkloadRecord], Any]) -> Check:
    """A value that all results of the file have."""

    def verify(sample: Sample, expected: Any) -> None:
        assert {get(record) for record in sample.workloads} <= {expected}

    return verify


def _equal(get: Callable[[Sample], Any]) -> Check:
    def verify(sample: Sample, expected: Any) -> None:
        assert get(sample) == expected

    return verify


def _of_run(run: int, verify: Check) -> Check:
    return lambda sample, expected: verify(sample.run(run), expected)


def _check_child(sample: Sample, expected: dict[str, list[float]]) -> None:
    operations = {record.label: record.operation for record in sample.workloads}
    for test, rates in expected.items():
        assert [printed(worker) for worker in sample.workers if worker.operation == operations[test]] == rates


def _check_one_child(number: int) -> Check:
    def verify(sample: Sample, expected: float) -> None:
        (worker,) = (worker for worker in sample.workers if worker.label == f"Child[{number}]")
        assert (worker.worker, printed(worker)) == (number + 1, expected)

    return verify


def _check_unit(sample: Sample, expected: str) -> None:
    assert expected in {"kB/sec", "KB/sec", "ops/sec"}
    for record in sample.workloads:
        assert (record.operations_per_s is not None) == (expected == "ops/sec")
        assert (record.throughput_bytes_per_s is None) == (expected == "ops/sec")


def _check_tests(sample: Sample, expected: dict[str, float]) -> None:
    assert sample.rates() == expected
    assert expected or sample.error is not None


def _check_must(sample: Sample, expected: str) -> None:
    """What the expectations put in words; words that are not known here fail."""
    MUSTS[expected](sample)
    assert not any(0 in (r.throughput_bytes_per_s, r.operations_per_s) for r in sample.workloads)


def _no_result(sample: Sample) -> None:
    assert sample.error is not None
    assert sample.workloads == []


def _no_bytes(sample: Sample) -> None:
    """Operations are operations, nowhere bytes: neither as printed nor multiplied by the record size."""
    assert sample.workloads
    results: list[WorkloadRecord | WorkerRecord] = [*sample.workloads, *sample.workers]
    assert all(record.operations_per_s and record.throughput_bytes_per_s is None for record in results)
    for workload in sample.workloads:
        assert (workload.worker_min_bytes_per_s, workload.worker_max_bytes_per_s) == (None, None)
        assert workload.record_size_bytes == 4 * KB
        assert not [name for name in workload.details if "bytes_per_s" in name or name == "min_transfer_bytes"]


def _two_runs(sample: Sample) -> None:
    """Each run has each of its tests once, in its order in the file, with its own numbers."""
    assert sample.error is None
    first, second = (sample.run(number).workloads for number in (1, 2))
    assert len(first) + len(second) == len(sample.workloads)
    labels = ["initial writers", "rewriters", "readers", "re-readers"]
    assert [r.label for r in first] == [r.label for r in second] == labels
    lines = [r.source.line or 0 for r in (*first, *second)]
    assert lines == sorted(set(lines))
    for one, other in zip(first, second, strict=True):
        assert all(printed(one, what) not in (None, printed(other, what)) for what in VALUES)
        assert _cpu(one) != _cpu(other)


MUSTS: dict[str, Callable[[Sample], None]] = {
    "report incomplete / no result; never 0 kB/sec": _no_result,
    "not treated as kB/sec; kB/sec would be ops x 4": _no_bytes,
    "either parse two runs after unquoting, or reject clearly": _two_runs,
}


def _check_runs(sample: Sample, expected: list[dict[str, float]]) -> None:
    assert sorted({record.run for record in sample.workloads}) == list(range(1, len(expected) + 1))
    assert [sample.run(number).rates() for number in range(1, len(expected) + 1)] == expected


def _check_hosts(sample: Sample, expected: int) -> None:
    assert len({record.host for record in sample.workloads}) == len(sample.workloads) == expected


def _check_by_host(sample: Sample, expected: dict[str, float]) -> None:
    assert {host: printed(sample.only(host=host)) for host in expected} == expected


def _check_auto(sample: Sample, expected: dict[str, dict[str, float]]) -> None:
    for sizes, values in expected.items():
        file, record = (int(text) * KB for text in sizes.split(","))
        for label, value in values.items():
            found = sample.only(label=label, file_size_bytes=file, record_size_bytes=record)
            assert (printed(found), found.workers) == (value, 1)


def _check_row(record_kb: int) -> Check:
    def verify(sample: Sample, expected: dict[str, float]) -> None:
        for label, value in expected.items():
            assert printed(sample.only(label=label, record_size_bytes=record_kb * KB)) == value

    return verify


def _check_absent(sample: Sample, expected: list[str]) -> None:
    assert not {COLUMNS.get(label, label) for label in expected} & {record.label for record in sample.workloads}


CHECKS: dict[str, Check] = {
    "children": _equal(Sample.rates),
    **{name: _value(name) for name in ("parent", "min", "max", "avg", "min_xfer")},
    "min_xfer_kB": _value("min_xfer"),
    "min_xfer_ops": _each(lambda record: printed(record, "min_xfer")),
    "child": _check_child,
    "child_0": _check_one_child(0),
    "child_7": _check_one_child(7),
    **dict.fromkeys(("processes", "threads"), _each(lambda record: record.workers)),
    "file_size_kB": _each(lambda record: (record.file_size_bytes or 0) // KB),
    "record_kB": _each(lambda record: (record.record_size_bytes or 0) // KB),
    "cluster": _each(lambda record: record.details["cluster"]),
    **dict.fromkeys(("complete", "complete_line"), _each(lambda record: record.details["complete"])),
    "unit": _check_unit,
    "tests": _check_tests,
    "must": _check_must,
    "runs": _check_runs,
    "cpu_pct_run1": _of_run(1, _of_tests(_cpu)),
    "hosts": _check_hosts,
    "by_host": _check_by_host,
    "sum": lambda sample, expected: _equal(lambda one: sum(printed(record) or 0 for record in one.workloads))(
        sample, pytest.approx(expected, abs=0.005)
    ),
    "auto": _check_auto,
    "run2": _of_run(2, _equal(Sample.rates)),
    "run3": _of_run(3, _equal(Sample.rates)),
    "parent_run3": _of_run(3, _value("parent")),
    "rows": _equal(lambda sample: len({(r.file_size_bytes, r.record_size_bytes) for r in sample.workloads})),
    "row_4": _check_row(4),
    "row_16384": _check_row(16384),
    "absent": _check_absent,
}


def check(path: Path, expected: dict[str, Any]) -> None:
    """Compare every value that the expectation file names; a name that is not known here fails."""
    sample = Sample.of(path)
    for name, value in expected.items():
        CHECKS[name](sample, value)
    if expected.get("tests") != {}:
        assert sample.error is None
        assert not [record for record in sample.workloads if record.valid is False]
