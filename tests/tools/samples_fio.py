"""What the expectation files of fio's samples say, in the words of records."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from glusterlab.tools import Document, read
from glusterlab.tools.records import WorkloadRecord

_SIDES = ("read", "write", "trim", "mixed")


def check(path: Path, expected: dict[str, Any]) -> None:
    """Every value of an expectation file; an unknown one fails."""
    records = [record for record in read(Document.open(path)) if isinstance(record, WorkloadRecord)]
    by_label = {record.label: record for record in records}
    assert len(by_label) == len(records)
    assert set(by_label) == set(expected) & set(_SIDES)
    for key, value in expected.items():
        if key in _SIDES:
            _check_side(by_label[key], value)
        elif key == "asked":
            assert {record.details["options"]["runtime"] for record in records} == {value}
        elif key == "interrupted":
            assert {record.details.get("interrupted", False) for record in records} == {value}
            assert {record.valid for record in records} == {not value}
        elif key == "runtime_ms":
            assert max(record.elapsed_s or 0 for record in records) == pytest.approx(value / 1000)
        elif key == "host":
            assert {record.host for record in records} == {value}
        else:
            pytest.fail(f"unknown expectation {key!r}")


def _check_side(record: WorkloadRecord, expected: dict[str, Any]) -> None:
    # fio's bw is bw_bytes in whole KiB
    throughput = record.throughput_bytes_per_s or 0
    found = {
        "bw": throughput // 1024,
        "bw_bytes": throughput,
        "iops": record.operations_per_s,
        "runtime_ms": (record.elapsed_s or 0) * 1000,
        "total_ios": record.details["total_ios"],
        "clat_mean_ns": (record.latency_mean_s or 0) * 1e9,
        "lat_mean_us": (record.details["total_latency_mean_s"]) * 1e6,
        "p99_ns": (record.latency_p99_s or 0) * 1e9,
    }
    assert expected == {key: pytest.approx(found[key], rel=1e-9) for key in expected}
