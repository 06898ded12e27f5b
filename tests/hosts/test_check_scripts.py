"""The shell functions of a check in a real bash: they look, they change nothing, and they take any value literally."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from glusterlab.hosts import script
from tests.hosts.shell import bash


def check(*calls: str, path: Path | None = None, **options: Any) -> list[str]:
    lines = [*([f"PATH={path}:$PATH"] if path else []), *calls]
    done = bash("\n".join(lines), "check/check.sh", **options)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def program(folder: Path, name: str, text: str) -> None:
    file = folder / name
    file.write_text(f"#!/bin/sh\n{text}\n")
    file.chmod(0o755)


def words(lines: list[str], name: str) -> list[str]:
    return [line.partition(" ")[2] for line in lines if line.partition(" ")[0] == name]


def test_a_work_directory_is_refused_as_a_run_would_refuse_it(tmp_path: Path) -> None:
    folder = tmp_path / "work"
    here = script.call("gl_check", str(folder), "")
    assert not words(check(here), "refused")
    assert not folder.exists()
    folder.mkdir()
    folder.chmod(0o755)
    assert not words(check(here), "refused")
    (folder / "mine").touch()
    [refused] = words(check(here), "refused")
    assert "was not made by glusterlab" in refused
    assert bash(script.call("gl_mark_dir", str(folder), "x")).stderr.strip() == refused
    (folder / ".glusterlab").touch()
    assert not words(check(here), "refused")
    folder.chmod(0o777)
    assert "others can write to it" in words(check(here), "refused")[0]
    link = tmp_path / "link"
    link.symlink_to(folder)
    assert "symbolic link" in words(check(script.call("gl_check", str(link), "")), "refused")[0]
    assert "no directory" in words(check(script.call("gl_check", str(folder / "mine"), "")), "refused")[0]


def test_room_is_that_of_the_place_where_the_directory_will_be(tmp_path: Path) -> None:
    [free] = words(check(script.call("gl_check", str(tmp_path / "not/yet"), "")), "work_free")
    assert int(free) > 0


def test_names_are_resolved_and_addresses_need_no_name(tmp_path: Path) -> None:
    lines = check(script.call("gl_check", str(tmp_path), "", "localhost", "192.0.2.1", "no-such-host.invalid"))
    assert words(lines, "unresolved") == ["no-such-host.invalid"]


def test_the_collector_of_sysstat_is_looked_for_where_it_is_installed(tmp_path: Path) -> None:
    assert check(script.call("gl_sadc", "/nowhere")) == ["missing sadc"]
    (tmp_path / "sadc").touch(mode=0o755)
    assert check(script.call("gl_sadc", "/nowhere", str(tmp_path / "sadc"))) == []


@pytest.mark.parametrize(
    ("tools", "found"),
    [
        ({"firewall-cmd": "exit 0"}, "firewalld"),
        (
            {"firewall-cmd": "exit 1", "nft": "echo 'type filter hook input priority filter; policy drop;'"},
            "nftables",
        ),
        (
            {"firewall-cmd": "exit 1", "nft": "exit 1", "iptables": "echo '-P INPUT DROP'"},
            "iptables",
        ),
        ({"firewall-cmd": "exit 1", "nft": "echo 'policy accept'", "iptables": "echo '-P INPUT ACCEPT'"}, None),
    ],
)
def test_firewalls_are_seen(tmp_path: Path, tools: dict[str, str], found: str | None) -> None:
    for name, text in tools.items():
        program(tmp_path, name, text)
    assert words(check("gl_guards", path=tmp_path), "firewall") == ([found] if found else [])


def test_smart_and_arrays_are_read(tmp_path: Path) -> None:
    """The functions read /sys; a tree of the same form stands for it."""
    for name, files in {
        "md0": {"md/degraded": "1", "md/sync_action": "recover"},
        "sdb": {"device/state": "offline", "ro": "1"},
        "sdc": {"device/state": "running", "ro": "0"},
    }.items():
        for file, value in files.items():
            (tmp_path / name / file).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name / file).write_text(f"{value}\n")
    (tmp_path / "md0/slaves").mkdir()
    for name in ("sdb", "sdc"):
        (tmp_path / "md0/slaves" / name).symlink_to(tmp_path / name)
    tools = tmp_path / "bin"
    tools.mkdir()
    program(tools, "smartctl", 'case $2 in /dev/sdc) echo "SMART Health Status: FAILURE PREDICTION";; *) exit 2;; esac')
    calls = ("gl_below md0", "gl_disks md0 sdb sdc --")
    assert check(*calls, path=tools, replaced={"/sys/class/block": tmp_path}) == [
        *("md0", "sdb", "sdc"),
        *("degraded md0 1", "syncing md0 recover", "disk_readonly sdb", "disk_state sdb offline"),
        "smart sdc FAILURE PREDICTION",
    ]


def test_a_busy_process_is_named() -> None:
    with subprocess.Popen(["bash", "-c", "while :; do :; done"]) as loop:
        try:
            lines = [line for _ in range(5) for line in check("gl_busy")]
        finally:
            loop.kill()
    assert any(line.split()[2:] == [str(loop.pid), "bash"] for line in lines)


def test_hostile_values_are_taken_literally(tmp_path: Path) -> None:
    canary = tmp_path / "canary"
    hostile = [f"$(touch {canary})", f"`touch {canary}`", f"; touch {canary}", "a b", "-rf", "'", '"', "*", "\n"]
    for value in hostile:
        check(
            script.call("gl_check", f"{tmp_path}/{value}", f"{tmp_path}/{value}", value),
            script.call("gl_interface", value, value),
            script.call("gl_disks", value, "--", f"{tmp_path}/{value}"),
            script.call("gl_pending", f"{tmp_path}/{value}"),
        )
        assert not canary.exists(), value
