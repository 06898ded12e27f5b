"""Samples of sar and sadf against their expectation files."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from glusterlab.telemetry.records import records
from glusterlab.tools.records import TelemetryRecord

CPU = {name: f"%{name}" for name in ("user", "nice", "system", "iowait", "steal", "idle")}
NAMES = {"wr_sec": "wr_sec/s", "rd_sec": "rd_sec/s", "util": "%util", "memused_pct": "%memused"}


def _names(wanted: Mapping[str, float]) -> dict[str, float]:
    return {CPU.get(name, NAMES.get(name, name)): value for name, value in wanted.items()}


def _rows(found: list[TelemetryRecord], device: str | None) -> list[dict[str, float | None]]:
    """Values by metric of every row of a device, in the order of the file."""
    rows: dict[tuple[int | None, str | None], dict[str, float | None]] = {}
    for record in found:
        if record.device == device:
            rows.setdefault((record.source.line, record.time), {})[record.metric] = record.value
    return list(rows.values())


def _has(row: Mapping[str, float | None], wanted: Mapping[str, float]) -> None:
    names = _names(wanted)
    assert {name: row[name] for name in names} == {name: pytest.approx(value) for name, value in names.items()}


def check(path: Path, expected: dict[str, Any]) -> None:
    """Hold every value of an expectation file against the records of a file."""
    every = list(records(path, averages=True))
    averages = [record for record in every if record.time == "average"]
    rows = [record for record in every if record.time != "average"]
    assert list(records(path)) == rows
    device = "all" if any(record.device == "all" for record in every) else None
    assert expected
    for name, wanted in expected.items():
        if name == "samples" or name == "rows_all":
            assert len({record.time for record in rows if record.device == device}) == wanted
        elif name in {"first", "last", "row2"}:
            place = {"first": 0, "row2": 1, "last": -1}[name]
            _row(rows, device, place, dict(wanted))
        elif name == "average":
            (row,) = _rows(averages, device)
            _has(row, wanted)
        elif name == "restarts":
            _restarts(every, expected)
        elif name == "segments":
            _segments(every, wanted)
        elif name == "cpu_average":
            (row,) = _rows([record for record in averages if record.activity == "cpu"], "all")
            _has(row, wanted)
        elif name == "disk_average":
            assert set(wanted) <= {record.device for record in averages if record.activity == "disk"}
            for disk, values in wanted.items():
                (row,) = _rows([record for record in averages if record.activity == "disk"], disk)
                _has(row, values)
        elif name in {"mem_average", "queue_average"}:
            kind = {"mem_average": "memory", "queue_average": "queue"}[name]
            (row,) = _rows([record for record in averages if record.activity == kind], None)
            _has(row, wanted)
        else:
            pytest.fail(f"an expectation that is not known: {name}")


def _row(rows: list[TelemetryRecord], device: str | None, place: int, wanted: dict[str, Any]) -> None:
    times = list(dict.fromkeys(record.time for record in rows if record.device == device))
    if (time := wanted.pop("time", None)) is not None:
        assert str(times[place]).endswith(f"T{time}")
    if (epoch := wanted.pop("epoch", None)) is not None:
        from datetime import datetime

        assert datetime.fromisoformat(str(times[place])).timestamp() == epoch
    _has(_rows(rows, device)[place], wanted)


def _parts(every: list[TelemetryRecord]) -> list[list[TelemetryRecord]]:
    """Records up to each average, which ends what sar printed between restarts."""
    parts: list[list[TelemetryRecord]] = [[]]
    averaged = False
    for record in every:
        if averaged and record.time != "average":
            parts.append([])
        averaged = record.time == "average"
        parts[-1].append(record)
    return parts


def _segments(every: list[TelemetryRecord], wanted: list[dict[str, Any]]) -> None:
    parts = _parts(every)
    assert len(parts) == len(wanted)
    for part, segment in zip(parts, wanted, strict=True):
        assert set(segment) == {"samples", "average"}
        assert len({record.time for record in part} - {"average"}) == segment["samples"]
        (average,) = _rows([record for record in part if record.time == "average"], "all")
        _has(average, segment["average"])


def _restarts(every: list[TelemetryRecord], expected: dict[str, Any]) -> None:
    """Restarts give no records; they stand between those of two parts."""
    times = [str(record.time)[-8:] for record in every if record.time != "average"]
    for restart in expected["restarts"]:
        assert restart not in times
        assert min(times) < restart < max(times)
