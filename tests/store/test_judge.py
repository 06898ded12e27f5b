"""The judgement of a sample: every rule of measurement, by the evidence in its folder."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from glusterlab.reasons import Reason
from glusterlab.run.validity import Judgement, change_reasons, judge, judge_again
from glusterlab.store.files import dump_json
from glusterlab.store.records import Failure
from tests.store.conftest import CLIENTS, DATA, END, SERVERS, START, make_cell, make_health, sadf_text


@pytest.fixture
def folder(campaign: Path) -> Path:
    return campaign / "cells" / make_cell().id / "sample-01"


def _codes(folder: Path) -> tuple[str, list[tuple[str, str | None]]]:
    verdict = judge(folder, make_cell(), SERVERS, CLIENTS)
    return verdict.status, [(reason.code, reason.host) for reason in verdict.reasons]


def _edit(path: Path, **changed: Any) -> None:
    path.write_text(dump_json({**json.loads(path.read_text()), **changed}))


def test_a_good_sample_is_valid(folder: Path) -> None:
    verdict = judge(folder, make_cell(), SERVERS, CLIENTS)
    assert (verdict.status, verdict.reasons) == ("valid", ())
    assert verdict.result is not None
    assert [worker.host for worker in verdict.result.workers] == [*CLIENTS, *CLIENTS]


@pytest.mark.parametrize("moment", ["before", "after"])
@pytest.mark.parametrize(
    ("changed", "status", "expected"),
    [
        ({"peers": {"server01": True, "server02": False}}, "invalid", ("peer-disconnected", "server02")),
        ({"peers": {"server01": True}}, "invalid", ("peer-disconnected", "server02")),
        ({"heal_pending": 1}, "invalid", ("heal-pending", None)),
        ({"rebalance": True}, "invalid", ("rebalance-running", None)),
        ({"stray": {"client02": ["iozone -t 1"]}}, "invalid", ("stray-process", "client02")),
        ({"mounts": {"client01": "ok", "client02": "hung"}}, "invalid", ("mount-hung", "client02")),
        ({"mounts": {"client02": "dead"}}, "failed", ("pool-unhealthy", "client02")),
        ({"mounts": {"client02": "none"}}, "failed", ("pool-unhealthy", "client02")),
    ],
)
def test_the_pools_health(
    folder: Path, moment: str, changed: dict[str, Any], status: str, expected: tuple[str, str]
) -> None:
    _edit(folder / "gluster" / moment / "health.json", **changed)
    assert _codes(folder) == (status, [expected])


@pytest.mark.parametrize("moment", ["before", "after"])
@pytest.mark.parametrize(
    ("host", "path", "free", "status"),
    [
        ("client01", "/var/tmp/glusterlab", 1000, "failed"),
        ("client01", "/var/tmp/glusterlab", 9 << 30, "valid"),
        # a brick is full earlier, at one hundredth of its size: Gluster keeps that for itself
        ("server01", "/bricks", 9 << 30, "failed"),
        ("server01", "/bricks", 11 << 30, "valid"),
    ],
)
def test_a_full_file_system(folder: Path, moment: str, host: str, path: str, free: int, status: str) -> None:
    space = {host: {path: {"free_bytes": free, "size_bytes": 1 << 40}}}
    _edit(folder / "gluster" / moment / "health.json", space=space)
    assert _codes(folder) == (status, [("disk-full", host)] if status == "failed" else [])


def test_a_link_that_went_down_in_the_window(folder: Path) -> None:
    for moment, changes in (("before", {"client01": 1, "client02": 3}), ("after", {"client01": 1, "client02": 5})):
        _edit(folder / "gluster" / moment / "health.json", link_changes=changes)
    assert _codes(folder) == ("invalid", [("link-lost", "client02")])


@pytest.mark.parametrize("name", ["stdout.txt", "stderr.txt"])
def test_a_tool_that_met_a_full_disk_has_failed_whatever_it_reports(folder: Path, name: str) -> None:
    path = folder / "workload" / name
    path.write_text("write: No space left on device\n" + path.read_text())
    status, codes = _codes(folder)
    assert (status, codes[0]) == ("failed", ("disk-full", "client01"))


def test_a_brick_that_died_in_the_window(folder: Path) -> None:
    path = folder / "gluster" / "after" / "health.json"
    bricks = json.loads(path.read_text())["bricks"]
    _edit(path, bricks=[{**bricks[0], "online": False}, bricks[1]])
    assert _codes(folder) == ("invalid", [("brick-offline", "server01")])
    _edit(path, bricks=bricks[:1])
    assert _codes(folder) == ("invalid", [("brick-offline", None)])


def test_a_brick_that_was_restarted_in_the_window(folder: Path) -> None:
    for moment, pids in (("before", [11, 12]), ("after", [11, 99])):
        path = folder / "gluster" / moment / "health.json"
        bricks = json.loads(path.read_text())["bricks"]
        _edit(path, bricks=[{**brick, "pid": pid} for brick, pid in zip(bricks, pids, strict=True)])
    assert _codes(folder) == ("invalid", [("brick-offline", "server02")])
    message = judge(folder, make_cell(), SERVERS, CLIENTS).reasons[0].message
    assert message == "/bricks/b1 was restarted during the workload"


@pytest.mark.parametrize("pid", [None, "absent"])
def test_a_sample_without_process_numbers_is_judged_as_before(folder: Path, pid: str | None) -> None:
    path = folder / "gluster" / "before" / "health.json"
    bricks = [{key: value for key, value in brick.items() if key != "pid"} for brick in _bricks(path)]
    _edit(path, bricks=bricks if pid == "absent" else [{**brick, "pid": None} for brick in bricks])
    after = folder / "gluster" / "after" / "health.json"
    _edit(after, bricks=[{**brick, "pid": 7} for brick in _bricks(after)])
    assert _codes(folder) == ("valid", [])


def _bricks(path: Path) -> list[dict[str, Any]]:
    return list(json.loads(path.read_text())["bricks"])


def test_clocks(folder: Path) -> None:
    path = folder / "gluster" / "before" / "health.json"
    offsets = json.loads(path.read_text())["clock_offset_s"]
    del offsets["client01"]
    offsets |= {"server01": -1.2, "client02": 0.99}
    _edit(path, clock_offset_s=offsets)
    _edit(
        folder / "gluster" / "after" / "health.json",
        clock_offset_s={**offsets, "client01": 0.0, "server01": -0.99, "client02": 0.95},
        clock_bounds_s={"server01": [-1.3, -0.99]},
    )
    assert _codes(folder) == ("invalid", [("clock-skew", "server01"), ("clock-skew", "client01")])


@pytest.mark.parametrize(
    ("before", "after", "moved"),
    [
        # nothing but the offset was kept
        ((-0.95, None), (0.95, None), True),
        ((0.0, None), (0.05, None), False),
        # a clock that is off all the time, and readings of which one was slow
        ((0.7, (0.7, 0.72)), (0.0, (-0.2, 0.75)), False),
        # what is nearest to zero says less than the bounds
        ((-0.1, (-0.3, -0.1)), (-0.55, (-0.6, -0.55)), True),
        ((0.3, (0.3, 0.31)), (0.0, (-0.01, 0.01)), True),
    ],
)
def test_a_clock_that_was_set_in_the_window(folder: Path, before: Any, after: Any, moved: bool) -> None:
    for moment, (offset, bounds) in (("before", before), ("after", after)):
        path = folder / "gluster" / moment / "health.json"
        offsets = json.loads(path.read_text())["clock_offset_s"]
        _edit(
            path,
            clock_offset_s={**offsets, "client02": offset},
            clock_bounds_s={} if bounds is None else {"client02": bounds},
        )
    assert _codes(folder) == (("invalid", [("clock-skew", "client02")]) if moved else ("valid", []))


def test_a_long_measurement_bears_more_of_a_clock() -> None:
    before, after = make_health(), make_health("after").model_copy(update={"clock_offset_s": {"client01": 0.5}})
    assert [reason.host for reason in change_reasons(before, after, 20.0)] == ["client01"]
    assert change_reasons(before, after, 60.0) == []


def _connect(folder: Path, moment: str, *connections: tuple[str | None, int, int], **bricks: int | bool) -> None:
    path = folder / "gluster" / moment / "health.json"
    _edit(
        path,
        bricks=[{**brick, "pid": 7, "port": 49152, **bricks} for brick in _bricks(path)],
        connections={"client01": [dict(zip(("host", "port", "socket"), each, strict=True)) for each in connections]},
    )


S1, S2 = ("server01", 49152, 11), ("server02", 49152, 12)


@pytest.mark.parametrize(
    ("after", "lost"),
    [
        ([S1, S2], ""),
        ([S2, S1, ("server01", 49152, 13)], ""),
        ([S1], "server02:/bricks/b1 "),
        ([S1, ("server02", 49152, 99)], "server02:/bricks/b1 "),
        ([], "server01:/bricks/b1, server02:/bricks/b1 "),
    ],
)
def test_a_brick_that_a_client_lost_in_the_window(folder: Path, after: list[Any], lost: str) -> None:
    _connect(folder, "before", S1, S2)
    _connect(folder, "after", *after)
    assert _codes(folder) == (("invalid", [("link-lost", "client01")]) if lost else ("valid", []))
    if lost:
        message = judge(folder, make_cell(), SERVERS, CLIENTS).reasons[0].message
        assert message == f"the connection to {lost}was lost during the workload"


def test_a_brick_is_known_by_its_port_where_its_server_is_not(folder: Path) -> None:
    _connect(folder, "before", (None, 49152, 1), ("server01", 2049, 2))
    _connect(folder, "after")
    assert _codes(folder) == ("invalid", [("link-lost", "client01")])
    _connect(folder, "before", ("server01", 2049, 2))
    assert _codes(folder) == ("valid", [])


def test_a_connection_that_ends_with_its_brick_or_its_mount_is_no_second_reason(folder: Path) -> None:
    _connect(folder, "before", S1, S2)
    _connect(folder, "after", online=False)
    assert {code for code, _ in _codes(folder)[1]} == {"brick-offline"}
    _connect(folder, "after", online=True, pid=8)
    assert {code for code, _ in _codes(folder)[1]} == {"brick-offline"}
    _connect(folder, "after")
    _edit(folder / "gluster" / "after" / "health.json", mounts={"client01": "dead"})
    assert _codes(folder) == ("failed", [("pool-unhealthy", "client01")])


def test_a_sample_without_connections_is_judged_as_before(folder: Path) -> None:
    _connect(folder, "before", S1)
    _connect(folder, "after")
    _edit(folder / "gluster" / "after" / "health.json", connections={})
    assert _codes(folder) == ("valid", [])


def test_a_sample_that_cannot_be_judged_is_judged_by_its_failure(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("glusterlab.run.validity._workload_reasons", lambda *_: {}["a bug"])
    with pytest.raises(KeyError):
        judge_again(folder, make_cell(), SERVERS, CLIENTS)
    reason = Reason(code="controller-error", message="KeyError: 'a bug'")
    (folder / "failure.json").write_text(dump_json(Failure(reasons=[reason]).model_dump(mode="json")))
    assert judge_again(folder, make_cell(), SERVERS, CLIENTS) == Judgement("failed", (reason,), None)


def test_caches_that_were_not_dropped(folder: Path) -> None:
    path = folder / "gluster" / "before" / "health.json"
    drops = json.loads(path.read_text())["drop_caches"]
    del drops["server02"]
    # writing 1 instead of 3 drops the page cache only
    _edit(path, drop_caches={**drops, "client01": {"before": 4, "after": 5}})
    assert _codes(folder) == ("invalid", [("cache-not-dropped", "server02"), ("cache-not-dropped", "client01")])


def test_telemetry_missing_damaged_or_short(folder: Path) -> None:
    telemetry = folder / "telemetry"
    (telemetry / "server01.csv.xz").unlink()
    (telemetry / "server02.csv.xz").write_bytes(b"no xz")
    for host, span in (("client01", (START, END - 8)), ("client02", (START + 10, END))):
        import lzma

        (telemetry / f"{host}.csv.xz").write_bytes(lzma.compress(sadf_text(host, *span).encode()))
    assert _codes(folder) == (
        "invalid",
        [
            ("telemetry-missing", "server01"),
            ("telemetry-missing", "server02"),
            ("telemetry-short", "client01"),
            ("telemetry-short", "client02"),
        ],
    )


def test_the_deadline_and_the_exit_code(folder: Path) -> None:
    command = folder / "workload" / "command.json"
    _edit(command, exit_code=1)
    assert _codes(folder) == ("failed", [("tool-failed", "client01")])
    _edit(command, exit_code=None)
    assert _codes(folder) == ("failed", [("tool-timeout", "client01")])


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("full-disk.txt", ("failed", "tool-failed")),
        ("killed-child.txt", ("invalid", "tool-incomplete")),
        ("cluster-no-input.txt", ("failed", "tool-failed")),
        ("cluster-read.txt", ("failed", "tool-failed")),
    ],
)
def test_output_that_is_no_result_in_spite_of_exit_code_0(folder: Path, name: str, expected: tuple[str, str]) -> None:
    shutil.copy(DATA / "iozone" / name, folder / "workload" / "stdout.txt")
    status, reasons = _codes(folder)
    assert status == expected[0]
    assert expected[1] in {code for code, _ in reasons}


def test_what_the_runner_ran_into(folder: Path) -> None:
    reason = Reason(code="host-unreachable", message="no answer for 10 s", host="server01")
    (folder / "failure.json").write_text(dump_json(Failure(reasons=[reason]).model_dump(mode="json")))
    shutil.rmtree(folder / "telemetry")
    shutil.rmtree(folder / "gluster" / "after")
    assert _codes(folder) == ("failed", [("host-unreachable", "server01")])
    (folder / "failure.json").write_text("{}")
    assert _codes(folder) == ("failed", [("controller-error", None)])


def test_health_that_is_not_known(folder: Path) -> None:
    (folder / "gluster" / "before" / "health.json").write_text('{"peers": {}}')
    status, reasons = _codes(folder)
    assert (status, [code for code, _ in reasons]) == ("failed", ["controller-error"])


def test_an_empty_folder_is_judged_too(tmp_path: Path) -> None:
    verdict = judge(tmp_path, make_cell(), SERVERS, CLIENTS)
    assert (verdict.status, verdict.result) == ("failed", None)
