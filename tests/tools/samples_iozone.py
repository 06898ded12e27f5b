"""The samples of IOzone: what their expectation files name, found in the records."""

from __future__ import annotations

from collections.abc import Callable, Iterable
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


class Sample:
    """The records of a file, in the words and units of IOzone."""

    def __init__(self, path: Path) -> None:
        self.error: ParseError | None = None
        records: list[Record] = []
        try:
            records.extend(read(Document.open(path)))
        except ParseError as error:
            self.error = error
        self.workloads = [record for record in records if isinstance(record, WorkloadRecord)]
        self.workers = [record for record in records if isinstance(record, WorkerRecord)]

    def only(self, **wanted: Any) -> WorkloadRecord:
        (found,) = (r for r in self.workloads if all(getattr(r, name) == value for name, value in wanted.items()))
        return found

    def labels(self, run: int | None = None) -> dict[str, WorkloadRecord]:
        chosen = [record for record in self.workloads if run in {None, record.run}]
        found = {record.label: record for record in chosen}
        assert len(found) == len(chosen), "two results would have been merged"
        return found

    def whole(self, run: int | None = None) -> dict[str, float]:
        return {label: rate(record) for label, record in self.labels(run).items()}


def rate(record: WorkloadRecord | WorkerRecord) -> float:
    """A rate as IOzone prints it; one of the two only may be there."""
    if record.throughput_bytes_per_s is None:
        assert record.operations_per_s is not None
        return record.operations_per_s
    assert record.operations_per_s is None
    return near(record.throughput_bytes_per_s / KB)


def near(value: float) -> float:
    return round(value, 2)


def detail(record: WorkloadRecord, rates: str, operations: str) -> float | None:
    if record.operations_per_s is not None:
        return record.details.get(operations)
    value = record.details.get(rates)
    return None if value is None else near(value / KB)


def _minimum(record: WorkloadRecord) -> float:
    if record.operations_per_s is not None:
        return record.details["worker_min_operations_per_s"]
    assert record.worker_min_bytes_per_s is not None
    return near(record.worker_min_bytes_per_s / KB)


def _maximum(record: WorkloadRecord) -> float:
    if record.operations_per_s is not None:
        return record.details["worker_max_operations_per_s"]
    assert record.worker_max_bytes_per_s is not None
    return near(record.worker_max_bytes_per_s / KB)


def _average(record: WorkloadRecord) -> float | None:
    return detail(record, "worker_mean_bytes_per_s", "worker_mean_operations_per_s")


def _parent(record: WorkloadRecord) -> float | None:
    return detail(record, "parent_throughput_bytes_per_s", "parent_operations_per_s")


def _transfer(record: WorkloadRecord) -> float | None:
    return detail(record, "min_transfer_bytes", "min_transfer_operations")


def _of_tests(get: Callable[[WorkloadRecord], float | None]) -> Callable[[Sample, Any], None]:
    """A value for each test, or one number for the only test of the file."""

    def verify(sample: Sample, expected: Any) -> None:
        wanted = expected if isinstance(expected, dict) else {sample.workloads[0].label: expected}
        labels = sample.labels()
        assert {label: get(labels[label]) for label in wanted} == wanted

    return verify


def _check_children(sample: Sample, expected: dict[str, float]) -> None:
    assert sample.whole() == expected


def _check_parent(sample: Sample, expected: dict[str, float] | None) -> None:
    if expected is None:
        assert all(_parent(record) is None for record in sample.workloads)
    else:
        _of_tests(_parent)(sample, expected)


def _check_child(sample: Sample, expected: dict[str, list[float]]) -> None:
    operations = {record.label: record.operation for record in sample.workloads}
    for test, rates in expected.items():
        assert [rate(worker) for worker in sample.workers if worker.operation == operations[test]] == rates


def _check_one_child(number: int) -> Callable[[Sample, float], None]:
    def verify(sample: Sample, expected: float) -> None:
        (worker,) = (worker for worker in sample.workers if worker.label == f"Child[{number}]")
        assert (worker.worker, rate(worker)) == (number + 1, expected)

    return verify


def _each(get: Callable[[WorkloadRecord], Any]) -> Callable[[Sample, Any], None]:
    """A value that all results of the file have."""

    def verify(sample: Sample, expected: Any) -> None:
        assert {get(record) for record in sample.workloads} <= {expected}

    return verify


def _check_unit(sample: Sample, expected: str) -> None:
    assert expected in {"kB/sec", "KB/sec", "ops/sec"}
    assert {record.operations_per_s is not None for record in sample.workloads} == {expected == "ops/sec"}
    for record in sample.workloads:
        assert (record.throughput_bytes_per_s is None) == (expected == "ops/sec")


def _check_threads(sample: Sample, expected: int) -> None:
    assert all(record.workers == expected for record in sample.workloads)


def _check_tests(sample: Sample, expected: dict[str, float]) -> None:
    assert sample.whole() == expected
    if not expected:
        assert sample.error is not None


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
    for record in results:
        assert record.operations_per_s
        assert record.throughput_bytes_per_s is None
    for workload in sample.workloads:
        assert (workload.worker_min_bytes_per_s, workload.worker_max_bytes_per_s) == (None, None)
        assert workload.record_size_bytes == 4 * KB
        assert not [name for name in workload.details if "bytes_per_s" in name or name == "min_transfer_bytes"]


def _two_runs(sample: Sample) -> None:
    """Each run has each of its tests once, in its order in the file, with its own numbers."""
    assert sample.error is None
    first, second = ([r for r in sample.workloads if r.run == run] for run in (1, 2))
    assert len(first) + len(second) == len(sample.workloads)
    labels = ["initial writers", "rewriters", "readers", "re-readers"]
    assert [r.label for r in first] == [r.label for r in second] == labels
    lines = [r.source.line or 0 for r in (*first, *second)]
    assert lines == sorted(set(lines))
    for one, other in zip(first, second, strict=True):
        for numbers in (rate, _minimum, _maximum, _average, _parent, _transfer, _cpu):
            assert numbers(one) is not None
            assert numbers(one) != numbers(other)


MUSTS: dict[str, Callable[[Sample], None]] = {
    "report incomplete / no result; never 0 kB/sec": _no_result,
    "not treated as kB/sec; kB/sec would be ops x 4": _no_bytes,
    "either parse two runs after unquoting, or reject clearly": _two_runs,
}


def _check_runs(sample: Sample, expected: list[dict[str, float]]) -> None:
    assert sorted({record.run for record in sample.workloads}) == list(range(1, len(expected) + 1))
    assert [sample.whole(run) for run in range(1, len(expected) + 1)] == expected


def _check_hosts(sample: Sample, expected: int) -> None:
    assert len({record.host for record in sample.workloads}) == len(sample.workloads) == expected


def _check_by_host(sample: Sample, expected: dict[str, float]) -> None:
    assert {host: rate(sample.only(host=host)) for host in expected} == expected


def _check_sum(sample: Sample, expected: float) -> None:
    assert sum(map(rate, sample.workloads)) == pytest.approx(expected, abs=0.005)


def _of_run(run: int, verify: Callable[[Sample, Any], None]) -> Callable[[Sample, Any], None]:
    def of_run(sample: Sample, expected: Any) -> None:
        part = object.__new__(Sample)
        part.error, part.workers = sample.error, sample.workers
        part.workloads = [record for record in sample.workloads if record.run == run]
        verify(part, expected)

    return of_run


def _check_auto(sample: Sample, expected: dict[str, dict[str, float]]) -> None:
    for sizes, values in expected.items():
        file, record = (int(text) * KB for text in sizes.split(","))
        for label, value in values.items():
            found = sample.only(label=label, file_size_bytes=file, record_size_bytes=record)
            assert (rate(found), found.workers) == (value, 1)


def _check_rows(sample: Sample, expected: int) -> None:
    assert len({(r.file_size_bytes, r.record_size_bytes) for r in sample.workloads}) == expected


def _check_row(record_kb: int) -> Callable[[Sample, Any], None]:
    def verify(sample: Sample, expected: dict[str, float]) -> None:
        for label, value in expected.items():
            assert rate(sample.only(label=label, record_size_bytes=record_kb * KB)) == value

    return verify


def _check_absent(sample: Sample, expected: Iterable[str]) -> None:
    assert not {COLUMNS.get(label, label) for label in expected} & {record.label for record in sample.workloads}


def _cpu(record: WorkloadRecord) -> float:
    return near(record.details["cpu_utilisation_fraction"] * 100)


CHECKS: dict[str, Callable[[Sample, Any], None]] = {
    "children": _check_children,
    "parent": _check_parent,
    "min": _of_tests(_minimum),
    "max": _of_tests(_maximum),
    "avg": _of_tests(_average),
    "min_xfer": _of_tests(_transfer),
    "min_xfer_kB": _of_tests(_transfer),
    "min_xfer_ops": _each(_transfer),
    "child": _check_child,
    "child_0": _check_one_child(0),
    "child_7": _check_one_child(7),
    "processes": _each(lambda record: record.workers),
    "threads": _check_threads,
    "file_size_kB": _each(lambda record: (record.file_size_bytes or 0) // KB),
    "record_kB": _each(lambda record: (record.record_size_bytes or 0) // KB),
    "cluster": _each(lambda record: record.details["cluster"]),
    "complete": _each(lambda record: record.details["complete"]),
    "complete_line": _each(lambda record: record.details["complete"]),
    "unit": _check_unit,
    "tests": _check_tests,
    "must": _check_must,
    "runs": _check_runs,
    "cpu_pct_run1": _of_run(1, _of_tests(_cpu)),
    "hosts": _check_hosts,
    "by_host": _check_by_host,
    "sum": _check_sum,
    "auto": _check_auto,
    "run2": _of_run(2, _check_children),
    "run3": _of_run(3, _check_children),
    "parent_run3": _of_run(3, _check_parent),
    "rows": _check_rows,
    "row_4": _check_row(4),
    "row_16384": _check_row(16384),
    "absent": _check_absent,
}


def check(path: Path, expected: dict[str, Any]) -> None:
    """Compare every value that the expectation file names; a name that is not known here fails."""
    sample = Sample(path)
    for name, value in expected.items():
        CHECKS[name](sample, value)
    if expected.get("tests") != {}:
        assert sample.error is None
        assert not [record for record in sample.workloads if record.valid is False]
