"""The judgement of a sample: every rule of measurement, by the evidence in its folder."""

import json
import lzma
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from glusterlab.reasons import Reason
from glusterlab.run.validity import Judgement, change_reasons, judge, judge_again
from glusterlab.spec.cell import Bricks
from glusterlab.store.files import dump_json
from glusterlab.store.records import Failure
from glusterlab.tables.build import _moved_files
from tests.store.conftest import CLIENTS, DATA, END, SERVERS, START, edit_json, make_cell, make_health, sadf_text


@pytest.fixture
def folder(campaign: Path) -> Path:
    return campaign / "cells" / make_cell().id / "sample-01"


def _codes(folder: Path) -> tuple[str, list[tuple[str, str | None]]]:
    verdict = judge(folder, make_cell(), SERVERS, CLIENTS)
    return verdict.status, [(reason.code, reason.host) for reason in verdict.reasons]


def _health(folder: Path, moment: str) -> Path:
    return folder / "gluster" / moment / "health.json"


def test_a_good_sample_is_valid(folder: Path) -> None:
    verdict = judge(folder, make_cell(), SERVERS, CLIENTS)
    assert (verdict.status, verdict.reasons) == ("valid", ())
    assert verdict.result is not None
    assert [worker.host for worker in verdict.result.workers] == [*CLIENTS, *CLIENTS]


@pytest.mark.parametrize("moment", ["before", "after"])
@pytest.mark.parametrize(
    ("changed", "status", "code"),
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
def test_pool_health(folder: Path, moment: str, changed: dict[str, Any], status: str, code: tuple[str, str]) -> None:
    edit_json(_health(folder, moment), **changed)
    assert _codes(folder) == (status, [code])


def test_caches_are_dropped_unless_the_cell_has_hot_ones(folder: Path) -> None:
    edit_json(_health(folder, "before"), drop_caches={})
    assert {code for code, _ in _codes(folder)[1]} == {"cache-not-dropped"}
    hot = make_cell().model_copy(update={"caches": "hot"})
    assert judge(folder, hot, SERVERS, CLIENTS).reasons == ()


def test_a_tier_daemon_that_stopped_or_began_anew(folder: Path) -> None:
    cell = make_cell()
    hot = Bricks(type="distribute", subvolumes=1, backing="nvme")
    cell = cell.model_copy(update={"layout": cell.layout.model_copy(update={"hot": hot})})

    def reasons(before: dict[str, Any], after: dict[str, Any]) -> list[tuple[str, str | None]]:
        for moment, changed in (("before", before), ("after", after)):
            health = json.loads(_health(folder, moment).read_text())
            bricks = [brick for brick in health["bricks"] if brick["path"] != "/bricks/n1"]
            own = {"status": "in progress", "promoted": 3, "demoted": 1}
            tier = {server: {**own, **changed} for server in SERVERS[:1]} | dict.fromkeys(SERVERS[1:], own)
            edit_json(_health(folder, moment), tier=tier, bricks=[*bricks, {**bricks[0], "path": "/bricks/n1"}])
        return [(reason.code, reason.host) for reason in judge(folder, cell, SERVERS, CLIENTS).reasons]

    assert reasons({}, {"promoted": 30}) == []
    assert _moved_files(folder) == {"promoted_files": 27, "demoted_files": 0}
    assert reasons({}, {"status": "failed"}) == reasons({"status": "unknown"}, {}) == [("tier-stopped", "server01")]
    assert reasons({}, {"promoted": 0, "demoted": 9}) == [("tier-stopped", "server01")]
    edit_json(_health(folder, "after"), tier={})
    assert {reason.host for reason in judge(folder, cell, SERVERS, CLIENTS).reasons} == {*SERVERS}


def test_a_feature_that_is_off_or_whose_daemon_began_anew(folder: Path) -> None:
    cell = make_cell()
    cell = cell.model_copy(update={"layout": cell.layout.model_copy(update={"features": ("bitrot",)})})

    def reasons(before: dict[str, Any], after: dict[str, Any]) -> list[tuple[str, str | None]]:
        for moment, features in (("before", before), ("after", after)):
            edit_json(_health(folder, moment), features=features)
        return [(reason.code, reason.host) for reason in judge(folder, cell, SERVERS, CLIENTS).reasons]

    both = {"bitrot": {"server01": [7, 8]}}
    assert reasons(both, both) == []
    assert reasons({}, both) == [("feature-off", None)]
    assert reasons(both, {"bitrot": {"server01": [7]}}) == [("feature-off", "server01")]
    assert reasons(both, {"bitrot": {"server01": [7, 9]}}) == [("feature-off", "server01")]


@pytest.mark.parametrize("moment", ["before", "after"])
@pytest.mark.parametrize(
    ("host", "free", "status"),
    [
        ("client01", 1000, "failed"),
        ("client01", 9 << 30, "valid"),
        # a brick is full earlier, at one hundredth of its size: Gluster keeps that for itself
        ("server01", 9 << 30, "failed"),
        ("server01", 11 << 30, "valid"),
    ],
)
def test_a_full_file_system(folder: Path, moment: str, host: str, free: int, status: str) -> None:
    path = "/bricks" if host == "server01" else "/var/tmp/glusterlab"
    edit_json(_health(folder, moment), space={host: {path: {"free_bytes": free, "size_bytes": 1 << 40}}})
    assert _codes(folder) == (status, [("disk-full", host)] if status == "failed" else [])


@pytest.mark.parametrize("name", ["stdout.txt", "stderr.txt"])
def test_a_tool_that_met_a_full_disk_has_failed_whatever_it_reports(folder: Path, name: str) -> None:
    path = folder / "workload" / name
    path.write_text("write: No space left on device\n" + path.read_text())
    status, codes = _codes(folder)
    assert (status, codes[0]) == ("failed", ("disk-full", "client01"))


ONE, OTHER = ({"host": f"server0{n}", "path": "/bricks/b1", "online": True, "pid": n} for n in (1, 2))
HOSTS = (*SERVERS, *CLIENTS)


def _drops(*without: str, **after: int) -> dict[str, dict[str, int]]:
    counts = {**dict.fromkeys(HOSTS, 6), **after}
    return {host: {"before": 4, "after": count} for host, count in counts.items() if host not in without}


@pytest.mark.parametrize(
    ("before", "after", "skewed"),
    [
        ((None, None), (0.01, None), True),
        ((-1.05, None), (-0.99, None), True),
        # a clock that was set in the window: nothing but the offset was kept
        ((-0.95, None), (0.95, None), True),
        ((0.0, None), (0.05, None), False),
        # a clock that is off all the time, and readings of which one was slow
        ((0.7, (0.7, 0.72)), (0.0, (-0.2, 0.75)), False),
        # what is nearest to zero says less than the bounds
        ((-0.1, (-0.3, -0.1)), (-0.55, (-0.6, -0.55)), True),
    ],
)
def test_a_clock_that_is_off_or_was_set(folder: Path, before: Any, after: Any, skewed: bool) -> None:
    for moment, (offset, bounds) in (("before", before), ("after", after)):
        offsets = dict.fromkeys(HOSTS, 0.01) | {"client02": offset}
        known = {host: seconds for host, seconds in offsets.items() if seconds is not None}
        edit_json(_health(folder, moment), clock_offset_s=known, clock_bounds_s={"client02": bounds} if bounds else {})
    assert _codes(folder) == (("invalid", [("clock-skew", "client02")]) if skewed else ("valid", []))


@pytest.mark.parametrize(
    ("before", "after", "reasons"),
    [
        ({"link_changes": {"client02": 3}}, {"link_changes": {"client02": 5}}, [("link-lost", "client02")]),
        ({"link_changes": {"client02": 5}}, {"link_changes": {"client02": 5}}, []),
        ({}, {"bricks": [{**ONE, "online": False}, OTHER]}, [("brick-offline", "server01")]),
        ({}, {"bricks": [ONE]}, [("brick-offline", None)]),
        ({"bricks": [ONE, OTHER]}, {"bricks": [ONE, {**OTHER, "pid": 9}]}, [("brick-offline", "server02")]),
        # old samples have no process numbers
        ({"bricks": [{**ONE, "pid": None}, {**OTHER, "pid": None}]}, {"bricks": [ONE, OTHER]}, []),
        ({"drop_caches": _drops("server02")}, {}, [("cache-not-dropped", "server02")]),
        # writing 1 instead of 3 drops the page cache only
        ({"drop_caches": _drops(client01=5)}, {}, [("cache-not-dropped", "client01")]),
    ],
)
def test_health_that_changed(folder: Path, before: dict[str, Any], after: dict[str, Any], reasons: list[Any]) -> None:
    edit_json(_health(folder, "before"), **before)
    edit_json(_health(folder, "after"), **after)
    assert _codes(folder) == ("invalid" if reasons else "valid", reasons)


def test_a_long_measurement_bears_more_of_a_clock() -> None:
    before, after = make_health(), make_health("after").model_copy(update={"clock_offset_s": {"client01": 0.5}})
    assert [reason.host for reason in change_reasons(before, after, 20.0)] == ["client01"]
    assert change_reasons(before, after, 60.0) == []


def _connect(folder: Path, moment: str, *connections: tuple[str | None, int, int], **bricks: int | bool) -> None:
    path = _health(folder, moment)
    known = json.loads(path.read_text())["bricks"]
    edit_json(
        path,
        bricks=[{**brick, "pid": 7, "port": 49152, **bricks} for brick in known],
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
    # as it was judged before there were connections
    _connect(folder, "before", S1)
    edit_json(_health(folder, "after"), connections={})
    assert _codes(folder) == ("valid", [])


def test_a_connection_that_ends_with_its_brick_or_its_mount_is_no_second_reason(folder: Path) -> None:
    _connect(folder, "before", S1, S2)
    for ended in ({"online": False}, {"online": True, "pid": 8}):
        _connect(folder, "after", **ended)
        assert {code for code, _ in _codes(folder)[1]} == {"brick-offline"}
    _connect(folder, "after")
    edit_json(_health(folder, "after"), mounts={"client01": "dead"})
    assert _codes(folder) == ("failed", [("pool-unhealthy", "client01")])


def test_a_sample_that_cannot_be_judged_is_judged_by_its_failure(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("glusterlab.run.validity._workload_reasons", lambda *_: {}["a bug"])
    with pytest.raises(KeyError):
        judge_again(folder, make_cell(), SERVERS, CLIENTS)
    reason = Reason(code="controller-error", message="KeyError: 'a bug'")
    (folder / "failure.json").write_text(dump_json(Failure(reasons=[reason]).model_dump(mode="json")))
    assert judge_again(folder, make_cell(), SERVERS, CLIENTS) == Judgement("failed", (reason,), None)


def test_telemetry_missing_damaged_or_short(folder: Path) -> None:
    telemetry = folder / "telemetry"
    (telemetry / "server01.csv.xz").unlink()
    (telemetry / "server02.csv.xz").write_bytes(b"no xz")
    for host, span in (("client01", (START, END - 8)), ("client02", (START + 10, END))):
        (telemetry / f"{host}.csv.xz").write_bytes(lzma.compress(sadf_text(host, *span).encode()))
    missing = [("telemetry-missing", server) for server in SERVERS]
    short = [("telemetry-short", client) for client in CLIENTS[:2]]
    assert _codes(folder) == ("invalid", [*missing, *short])


def test_a_sample_from_before_is_judged_by_the_sum_of_intervals(folder: Path) -> None:
    """So that what is stored stays as it was judged."""
    lines = sadf_text("client01", START, START + 2 * (END - START) // 2.5).splitlines()
    later = [line.split(";", 3) for line in lines]
    drifted = [
        ";".join([host, "2", f"{START + int(1.25 * (float(time) - START)):.0f}", rest]) if time != "timestamp" else ""
        for host, _, time, rest in later
    ]
    text = "\n".join(new or old for new, old in zip(drifted, lines, strict=True)) + "\n"
    (folder / "telemetry" / "client01.csv.xz").write_bytes(lzma.compress(text.encode()))
    assert _codes(folder) == ("invalid", [("telemetry-short", "client01")])
    edit_json(folder / "workload/command.json", gaps="steps")
    assert _codes(folder) == ("valid", [])


def test_telemetry_that_cannot_be_is_none(folder: Path) -> None:
    text = sadf_text("server01").replace("84.00", "-900", 1)
    (folder / "telemetry" / "server01.csv.xz").write_bytes(lzma.compress(text.encode()))
    assert _codes(folder) == ("invalid", [("telemetry-missing", "server01")])


def test_a_result_that_took_longer_than_its_command(folder: Path) -> None:
    path = folder / "workload" / "stdout.txt"
    path.write_text(re.sub(r"([0-9.]+) kB/sec", lambda rate: f"{float(rate[1]) / 1e4:.2f} kB/sec", path.read_text()))
    assert _codes(folder) == ("invalid", [("tool-incomplete", None)])


@pytest.mark.parametrize(
    ("name", "key", "code"),
    [
        ("workload/command.json", "end", "tool-failed"),
        ("gluster/after/health.json", "heal_pending", "controller-error"),
    ],
)
def test_a_record_that_says_two_things(folder: Path, name: str, key: str, code: str) -> None:
    path = folder / name
    path.write_text(path.read_text().replace(f'"{key}":', f'"{key}": 9,\n "{key}":', 1))
    assert [found for found, _ in _codes(folder)[1]] == [code]


@pytest.mark.parametrize(("code", "reason"), [(1, "tool-failed"), (None, "tool-timeout")])
def test_the_deadline_and_the_exit_code(folder: Path, code: int | None, reason: str) -> None:
    edit_json(folder / "workload" / "command.json", exit_code=code)
    assert _codes(folder) == ("failed", [(reason, "client01")])


@pytest.mark.parametrize(
    ("name", "status", "reason"),
    [("killed-child.txt", "invalid", "tool-incomplete"), ("cluster-no-input.txt", "failed", "tool-failed")],
)
def test_output_that_is_no_result_in_spite_of_exit_code_0(folder: Path, name: str, status: str, reason: str) -> None:
    shutil.copy(DATA / "iozone" / name, folder / "workload" / "stdout.txt")
    found, reasons = _codes(folder)
    assert found == status
    assert reason in {code for code, _ in reasons}


def test_what_the_runner_ran_into(folder: Path) -> None:
    reason = Reason(code="host-unreachable", message="no answer for 10 s", host="server01")
    (folder / "failure.json").write_text(dump_json(Failure(reasons=[reason]).model_dump(mode="json")))
    shutil.rmtree(folder / "telemetry")
    shutil.rmtree(folder / "gluster" / "after")
    assert _codes(folder) == ("failed", [("host-unreachable", "server01")])
    (folder / "failure.json").write_text("{}")
    assert _codes(folder) == ("failed", [("controller-error", None)])


def test_health_that_is_not_known_and_an_empty_folder_are_judged_too(folder: Path, tmp_path: Path) -> None:
    _health(folder, "before").write_text('{"peers": {}}')
    status, reasons = _codes(folder)
    assert (status, [code for code, _ in reasons]) == ("failed", ["controller-error"])
    verdict = judge(tmp_path, make_cell(), SERVERS, CLIENTS)
    assert (verdict.status, verdict.result) == ("failed", None)
