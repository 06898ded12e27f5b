"""Samples of smallfile: the words of their expectation files, as they are found in records."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from glusterlab.tools import Document, read
from glusterlab.tools.records import WorkerRecord, WorkloadRecord

_FIELDS = {
    "operation": ("operation", 1),
    "threads": ("workers", 1),
    "files": ("files", 1),
    "pct": ("percent_done", 1),
    "elapsed": ("elapsed_s", 1),
    "files_per_sec": ("files_per_s", 1),
    "iops": ("operations_per_s", 1),
    "MiB_per_sec": ("throughput_bytes_per_s", 1 << 20),
    "record_kB": ("record_size_bytes", 1024),
    "file_kB": ("file_size_bytes", 1024),
}
_DETAILS = {
    "pct_min": ("percent_done_min", 1),
    "total_iops_line": ("total_iops_line", 1),
    "data_GiB": ("data_bytes", 1 << 30),
}


def check(path: Path, expected: dict[str, Any]) -> None:
    """Every value of an expectation file, of one run or of several."""
    records = list(read(Document.open(path)))
    runs = {f"run{record.run}": record for record in records if isinstance(record, WorkloadRecord)}
    wanted = expected if "run1" in expected else {"run1": expected}
    assert runs.keys() == wanted.keys()
    for name, run in runs.items():
        _check_run(run, [r for r in records if isinstance(r, WorkerRecord) and r.run == run.run], wanted[name])


def _check_run(run: WorkloadRecord, workers: list[WorkerRecord], expected: dict[str, Any]) -> None:
    assert run.tool == "smallfile"
    assert run.valid is True
    assert len(workers) == run.workers
    for key, value in expected.items():
        if key in _FIELDS:
            name, factor = _FIELDS[key]
            _compare(key, getattr(run, name), value, factor)
        elif key in _DETAILS:
            name, factor = _DETAILS[key]
            _compare(key, run.details.get(name), value, factor)
        elif key == "records":
            assert {worker.details["records"] for worker in workers} == {value}, key
        elif key.startswith("thread_"):
            (worker,) = (worker for worker in workers if worker.label == key.removeprefix("thread_"))
            assert set(value) == {"elapsed", "files"}
            assert (worker.elapsed_s, worker.files) == (value["elapsed"], value["files"]), key
        else:
            pytest.fail(f"unknown expectation {key}")


def _compare(key: str, found: object, value: Any, factor: int) -> None:
    wanted = value if value is None or isinstance(value, str) else value * factor
    assert found == (wanted if wanted is None or factor == 1 else pytest.approx(wanted)), key
