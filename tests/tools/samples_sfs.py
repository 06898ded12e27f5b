"""What the expectation files of the samples of SPEC SFS say, in the words of records."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from glusterlab.tools import Document, read
from glusterlab.tools.records import WorkloadRecord


def check(path: Path, expected: dict[str, Any]) -> None:
    """Every value of an expectation file; an unknown one fails."""
    records = [record for record in read(Document.open(path)) if isinstance(record, WorkloadRecord)]
    assert set(expected) == {"points"}
    assert len(records) == len(expected["points"])
    for record, point in zip(records, expected["points"], strict=True):
        _check_point(record, point)


def _check_point(record: WorkloadRecord, expected: dict[str, Any]) -> None:
    details = record.details
    found = {
        "achieved_op_rate": record.operations_per_s,
        "avg_file_KB": (record.file_size_bytes or 0) / 1024,
        "avg_latency_ms": (record.latency_mean_s or 0) * 1000,
        "business_metric": details["business_metric"],
        "client_data_set_MiB": details["client_data_set_bytes"] / 2**20,
        "clients": details["clients"],
        "init_file_set_MiB": details["initial_file_set_bytes"] / 2**20,
        "max_file_space_MiB": details["maximum_file_space_bytes"] / 2**20,
        "proc_per_client": details["processes_per_client"],
        "read_KBps": details["read_throughput_bytes_per_s"] / 1024,
        "requested_op_rate": details["requested_operations_per_s"],
        "run_sec": record.elapsed_s,
        "start_data_set_MiB": details["start_data_set_bytes"] / 2**20,
        "total_KBps": (record.throughput_bytes_per_s or 0) / 1024,
        "write_KBps": details["write_throughput_bytes_per_s"] / 1024,
    }
    for key, value in expected.items():
        if key == "valid":
            assert record.valid is value
        elif key == "workload":
            assert (record.job, record.label) == (value, value)
        else:
            assert found[key] == pytest.approx(value, rel=1e-9), key
    assert record.workers == expected["clients"] * expected["proc_per_client"]
