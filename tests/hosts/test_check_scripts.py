"""The shell functions of a check in a real bash: they look, they change nothing, and they take any value literally."""

import subprocess
from pathlib import Path
from typing import Any

import pytest

from glusterlab.hosts import script
from tests.hosts.shell import bash, call


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
    def refused(place: Path) -> str:
        return " ".join(words(check(script.call("gl_check", str(place), "")), "refused"))

    folder, link = tmp_path / "work", tmp_path / "link"
    assert refused(folder) == ""
    assert not folder.exists()
    folder.mkdir(mode=0o755)
    assert refused(folder) == ""
    (folder / "mine").touch()
    assert "was not made by glusterlab" in refused(folder)
    assert call("gl_mark_dir", folder, "x").stderr.strip() == refused(folder)
    (folder / ".glusterlab").touch()
    assert refused(folder) == ""
    folder.chmod(0o777)
    assert "others can write to it" in refused(folder)
    link.symlink_to(folder)
    assert "symbolic link" in refused(link)
    assert "no directory" in refused(folder / "mine")


def test_names_are_resolved_and_room_is_that_of_the_place_where_the_directory_will_be(tmp_path: Path) -> None:
    hosts = ("localhost", "192.0.2.1", "no-such-host.invalid")
    lines = check(script.call("gl_check", str(tmp_path / "not/yet"), "", *hosts))
    assert words(lines, "unresolved") == ["no-such-host.invalid"]
    [free] = words(lines, "work_free")
    assert int(free) > 0


def test_the_collector_of_sysstat_is_looked_for_where_it_is_installed(tmp_path: Path) -> None:
    assert check(script.call("gl_sadc", "/nowhere")) == ["missing sadc"]
    (tmp_path / "sadc").touch(mode=0o755)
    assert check(script.call("gl_sadc", "/nowhere", str(tmp_path / "sadc"))) == []


@pytest.mark.parametrize(
    ("firewalld", "nft", "iptables", "found"),
    [
        ("exit 0", "exit 1", "exit 1", ["firewalld"]),
        ("exit 1", "echo 'type filter hook input priority filter; policy drop;'", "exit 1", ["nftables"]),
        ("exit 1", "exit 1", "echo '-P INPUT DROP'", ["iptables"]),
        ("exit 1", "echo 'policy accept'", "echo '-P INPUT ACCEPT'", []),
    ],
)
def test_firewalls_are_seen(tmp_path: Path, firewalld: str, nft: str, iptables: str, found: list[str]) -> None:
    for name, text in {"firewall-cmd": firewalld, "nft": nft, "iptables": iptables}.items():
        program(tmp_path, name, text)
    assert words(check("gl_guards", path=tmp_path), "firewall") == found


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
        "unexamined disk-health smartctl gives no verdict on sdb",
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


def test_without_gluster_it_is_said_what_is_needed(tmp_path: Path) -> None:
    for name, text in (("glusterfs", "echo glusterfs 2.0git built on a day"), ("head", "read line; echo $line")):
        program(tmp_path, name, text)
    done = bash(f"PATH={tmp_path}; gl_gluster volume info")
    assert (done.returncode, done.stdout) == (127, "")
    assert "(glusterfs 2.0git built on a day): install a release with glusterd" in done.stderr


def test_the_digest_of_gluster_is_that_of_its_programs(tmp_path: Path) -> None:
    program(tmp_path, "glusterd", "")
    first = check("gl_gluster_digest", path=tmp_path)
    assert check("gl_gluster_digest", path=tmp_path) == first
    program(tmp_path, "glusterd", "true")
    assert [len(line) for line in first] == [len("gluster_digest ") + 16]
    assert check("gl_gluster_digest", path=tmp_path) != first
