"""Samples of sar and sadf against their expectation files."""

from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from glusterlab.telemetry.records import records
from glusterlab.tools.records import TelemetryRecord

CPU = {name: f"%{name}" for name in ("user", "nice", "system", "iowait", "steal", "idle")}
NAMES = {**CPU, "wr_sec": "wr_sec/s", "rd_sec": "rd_sec/s", "util": "%util", "memused_pct": "%memused"}
PLACES = {"first": 0, "row2": 1, "last": -1, "average": -1}
ACTIVITIES = {"cpu": "cpu", "mem": "memory", "queue": "queue", "disk": "disk"}
Row = dict[str, Any]


def rows_of(found: list[TelemetryRecord], device: str | None) -> list[Row]:
    """Values by metric of every row of a device, in the order of the file."""
    rows: dict[tuple[int | None, str | None], Row] = {}
    for record in found:
        if record.device == device:
            rows.setdefault((record.source.line, record.time), {"time": record.time})[record.metric] = record.value
    return list(rows.values())


def has(row: Row, wanted: dict[str, Any]) -> None:
    for name, value in wanted.items():
        if name == "time":
            assert str(row["time"]).endswith(f"T{value}")
        elif name == "epoch":
            assert datetime.fromisoformat(str(row["time"])).timestamp() == value
        else:
            assert row[NAMES.get(name, name)] == pytest.approx(value), name


def parts(every: list[TelemetryRecord]) -> list[list[TelemetryRecord]]:
    """Records up to each average, which ends what sar printed between restarts."""
    found: list[list[TelemetryRecord]] = [[]]
    for before, record in zip([None, *every], every, strict=False):
        if before is not None and before.time == "average" != record.time:
            found.append([])
        found[-1].append(record)
    return found


def check(path: Path, expected: dict[str, Any]) -> None:
    """Hold every value of an expectation file against the records of a file."""
    every = list(records(path, averages=True))
    averages, plain = ([r for r in every if (r.time == "average") is average] for average in (True, False))
    assert list(records(path)) == plain
    device = "all" if any(record.device == "all" for record in every) else None
    assert expected
    for name, wanted in expected.items():
        if name in ("samples", "rows_all"):
            assert len({record.time for record in plain if record.device == device}) == wanted
        elif name in PLACES:
            has(rows_of(averages if name == "average" else plain, device)[PLACES[name]], wanted)
        elif name == "segments":
            for part, segment in zip(parts(every), wanted, strict=True):
                *rows, average = rows_of(part, device)
                assert segment.keys() == {"samples", "average"}
                assert (average["time"], len(rows)) == ("average", segment["samples"])
                has(average, segment["average"])
        elif name == "restarts":
            # they give no records, and stand between those of two parts
            times = [str(record.time)[-8:] for record in plain]
            assert all(restart not in times and min(times) < restart < max(times) for restart in wanted)
        else:
            activity = ACTIVITIES[name.removesuffix("_average")]
            of_devices = wanted if activity == "disk" else {"all" if activity == "cpu" else None: wanted}
            for each, values in of_devices.items():
                (row,) = rows_of([record for record in averages if record.activity == activity], each)
                has(row, values)
