"""The samples of IOzone: what their expectation files name, found in the records."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from glusterlab.tools.records import WorkerRecord, WorkloadRecord
from tests.tools.reading import until_error

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
NAMES = {"children": "sum", "run2": "sum", "run3": "sum", "min_xfer_kB": "min_xfer", "min_xfer_ops": "min_xfer"}


def printed(record: WorkloadRecord | WorkerRecord, what: str = "sum") -> float | None:
    """A value as IOzone prints it, in kB or operations; it is one of the two only."""
    if what == "cpu_pct":
        return round(record.details["cpu_utilisation_fraction"] * 100, 2)
    of_bytes, of_operations = (
        getattr(record, name, None) if hasattr(record, name) else record.details.get(name) for name in VALUES[what]
    )
    assert None in (of_bytes, of_operations)
    return of_operations if of_bytes is None else round(of_bytes / KB, 2)


def rates(records: list[WorkloadRecord], what: str = "sum") -> dict[str, float | None]:
    found = {record.label: printed(record, what) for record in records}
    assert len(found) == len(records), "two results would have been merged"
    return found


def sizes(record: WorkloadRecord) -> tuple[int, int]:
    return (record.file_size_bytes or 0) // KB, (record.record_size_bytes or 0) // KB


EACH: dict[str, Callable[[WorkloadRecord], object]] = {
    "processes": lambda record: record.workers,
    "threads": lambda record: record.workers,
    "file_size_kB": lambda record: sizes(record)[0],
    "record_kB": lambda record: sizes(record)[1],
    "cluster": lambda record: record.details["cluster"],
    "complete": lambda record: record.details["complete"],
    "complete_line": lambda record: record.details["complete"],
}
"""What all results of a file have."""


OF_ALL: dict[str, Callable[[list[WorkloadRecord], Any], object]] = {
    "runs": lambda records, _: [
        rates([r for r in records if r.run == run]) for run in sorted({record.run for record in records})
    ],
    "hosts": lambda records, _: len({record.host for record in records}),
    "rows": lambda records, _: len({sizes(record) for record in records}),
    "by_host": lambda records, expected: {r.host: printed(r) for r in records if r.host in expected},
    "sum": lambda records, _: pytest.approx(sum(printed(record) or 0 for record in records), abs=0.005),
    # a header prints another word than the expectations use
    "absent": lambda records, expected: [
        label for label in expected if label.replace("backward", "bkwd") not in {r.label for r in records}
    ],
}
"""What the results of a file have together."""


def find(name: str, expected: Any, records: list[WorkloadRecord], workers: list[WorkerRecord]) -> object:
    """What a sample has in the place of an expected value."""
    if name in EACH:
        found = {EACH[name](record) for record in records} or {expected}
        return found.pop() if len(found) == 1 else found
    if name == "unit":
        operations = {record.operations_per_s is not None for record in records}
        return expected if operations in (set(), {expected == "ops/sec"}) else operations
    if name in OF_ALL:
        return OF_ALL[name](records, expected)
    if name == "child":
        of_test = {test: {r.operation for r in records if r.label == test} for test in expected}
        return {test: [printed(one) for one in workers if one.operation in of_test[test]] for test in expected}
    if name.startswith("child_"):
        return [printed(one) for one in workers if one.label == f"Child[{name[6:]}]"].pop()
    if name == "auto":
        return {key: find(f"row_{key}", row, records, workers) for key, row in expected.items()}
    if name.startswith("row_"):
        chosen = [r for r in records if name[4:] in ("{},{}".format(*sizes(r)), str(sizes(r)[1]))]
        return {label: rate for label, rate in rates(chosen).items() if label in expected}
    stem, _, run = name.partition("_run") if "_run" in name else (name, "", name.removeprefix("run"))
    chosen = [record for record in records if str(record.run) == run] if run.isdecimal() else records
    what = NAMES.get(stem, stem)
    if isinstance(expected, dict):
        return {test: rate for test, rate in rates(chosen, what).items() if test in expected or what == "sum"}
    (value,) = {printed(record, what) for record in chosen}
    return value


def _no_bytes(records: list[WorkloadRecord], workers: list[WorkerRecord]) -> None:
    """Operations are operations, nowhere bytes: neither as printed nor multiplied by the record size."""
    for record in (*records, *workers):
        assert record.operations_per_s
        assert record.throughput_bytes_per_s is None
    for workload in records:
        assert (workload.worker_min_bytes_per_s, workload.worker_max_bytes_per_s) == (None, None)
        assert workload.record_size_bytes == 4 * KB
        assert not [name for name in workload.details if "bytes_per_s" in name or name == "min_transfer_bytes"]


def _two_runs(records: list[WorkloadRecord], _: list[WorkerRecord]) -> None:
    """Each run has each of its tests once, in its order in the file, with its own numbers."""
    first, second = ([record for record in records if record.run == run] for run in (1, 2))
    assert [*first, *second] == sorted(records, key=lambda record: record.source.line or 0)
    labels = ["initial writers", "rewriters", "readers", "re-readers"]
    assert [r.label for r in first] == [r.label for r in second] == labels
    for one, other in zip(first, second, strict=True):
        assert all(printed(one, what) not in (None, printed(other, what)) for what in (*VALUES, "cpu_pct"))


def _no_result(records: list[WorkloadRecord], _: list[WorkerRecord]) -> None:
    assert records == []


MUSTS = {
    "report incomplete / no result; never 0 kB/sec": _no_result,
    "not treated as kB/sec; kB/sec would be ops x 4": _no_bytes,
    "either parse two runs after unquoting, or reject clearly": _two_runs,
}
"""What the expectations put in words."""


def check(path: Path, expected: dict[str, Any]) -> None:
    """Compare every value that the expectation file names; a name that is not known here fails."""
    records, error = until_error(path.read_bytes())
    workloads = [record for record in records if isinstance(record, WorkloadRecord)]
    workers = [record for record in records if isinstance(record, WorkerRecord)]
    for name, value in expected.items():
        if name == "must":
            MUSTS[value](workloads, workers)
        elif name != "tests":
            assert find(name, value, workloads, workers) == value, name
    assert not any(0 in (record.throughput_bytes_per_s, record.operations_per_s) for record in workloads)
    assert (error is None) is (expected.get("tests") != {})
    assert not [record for record in workloads if record.valid is False]
