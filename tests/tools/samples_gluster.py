"""How the words of the expectation files of shared/samples/gluster are found in records."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from glusterlab.tools import Document, read
from glusterlab.tools.records import BrickRecord, ProfileRecord, VolumeRecord

_FIELDS = {"name", "type", "subvolumes", "bricks", "replica", "arbiter", "data", "redundancy", "options"}


def check(path: Path, expected: dict[str, Any]) -> None:
    """Compare every value of an expectation with the records of a sample."""
    records = list(read(Document.open(path)))
    if isinstance(expected.get("bricks"), dict):
        profile = [record for record in records if isinstance(record, ProfileRecord)]
        assert expected.keys() == {"bricks"}
        assert {(record.brick or "").partition(":")[0] for record in profile} == expected["bricks"].keys()
        for host, values in expected["bricks"].items():
            _check_brick([record for record in profile if (record.brick or "").startswith(f"{host}:")], values)
        return
    volumes = [record for record in records if isinstance(record, VolumeRecord)]
    assert len(volumes) == 1
    bricks = [record for record in records if isinstance(record, BrickRecord)]
    assert len(bricks) == volumes[0].bricks
    for name, value in expected.items():
        found = getattr(volumes[0], name) if name in _FIELDS else volumes[0].details[name]
        assert found == (pytest.approx(value, abs=5e-5) if isinstance(value, float) else value), name


def _check_brick(records: list[ProfileRecord], expected: dict[str, Any]) -> None:
    whole = next(record for record in records if record.fop is None)
    for name, value in expected.items():
        if isinstance(value, dict):
            _check_fop(next(record for record in records if record.fop == name), value)
        elif name.startswith("writes_"):
            assert name == "writes_1MiB+"
            sizes = [block for block in whole.details["block_sizes"] if block["size_bytes"] == 2**20]
            assert [block["writes"] for block in sizes] == [value]
        else:
            field = {"duration": "duration_s", "read": "read_bytes", "written": "written_bytes"}[name]
            assert whole.details[field] == value, name


def _check_fop(record: ProfileRecord, expected: dict[str, Any]) -> None:
    found = {
        "calls": record.calls,
        "avg_us": record.latency_mean_s,
        "min": record.latency_min_s,
        "max": record.latency_max_s,
        "pct": record.details.get("latency_percent"),
    }
    for name, value in expected.items():
        scale = 1 if name in {"calls", "pct"} else 1e-6
        assert found[name] == pytest.approx(value * scale), name
