"""Mounts, links and room of a host, as host.sh sees them: run by a real bash on what a test lays before it."""

import os
import shutil
import socket
import subprocess
import time
from pathlib import Path

import pytest

from tests.hosts.shell import bash, call

pytestmark = pytest.mark.security

POINT = "/mnt/gl/volume-1"


def mounted(stat: str) -> str:
    """One volume is mounted until it is unmounted, and its file system answers as told."""
    return f"""
there=1
gl_mounted() {{ [ "$there" ] && echo "s1:/volume-1 fuse.glusterfs"; }}
stat() {{ {stat}; }}
umount() {{ echo "umount $*"; there=; }}
mkdir() {{ echo "mkdir $*"; }}
mount() {{ echo "mount"; there=1; stat() {{ echo ok; }}; }}
env() {{ shift 2; "$@"; }}
kill() {{ echo "kill $*"; }}
gl_fuse_clients() {{ echo 4711; }}
"""


@pytest.mark.parametrize(("stat", "state"), [("echo ok", "ok"), ("return 1", "dead"), ("sleep 20; echo ok", "hung")])
def test_a_mount_that_does_not_answer_keeps_nobody_waiting(stat: str, state: str) -> None:
    began = time.monotonic()
    done = bash(mounted(stat) + f"gl_part mount gl_mount_state {POINT} 1")
    assert f"mount {state}" in done.stdout
    assert time.monotonic() - began < 15


def test_no_mount_is_said_and_one_that_is_well_is_left_alone(tmp_path: Path) -> None:
    assert call("gl_mount_state", tmp_path, 1).stdout == "mount none\n"
    done = bash(mounted("echo ok") + f"gl_mount s1 volume-1 {POINT} ''")
    assert (done.returncode, done.stdout) == (0, "")


@pytest.mark.parametrize(
    "there", ["s1:/volume-2 fuse.glusterfs", "s9:/volume-1 fuse.glusterfs", "s1:/volume-1 nfs4", "/dev/sdb1 xfs"]
)
def test_what_else_is_mounted_at_the_mount_point_is_refused_and_left_alone(there: str) -> None:
    text = mounted("echo ok").replace("s1:/volume-1 fuse.glusterfs", there)
    done = bash(f"{text}gl_mount s1 volume-1 {POINT} ''")
    assert (done.returncode, done.stdout) == (1, "")
    assert f"expected s1:/volume-1 at {POINT}, found '{there}'" in done.stderr


def test_a_volume_that_is_mounted_and_does_not_answer_is_no_mount() -> None:
    dead = mounted("return 1") + "there=; mount() { there=1; }\n"
    done = bash(f"{dead}gl_mount s1 volume-1 {POINT} ''")
    assert (done.returncode, "is mounted at /mnt/gl/volume-1, but does not answer" in done.stderr) == (1, True)


def test_a_mount_that_does_not_answer_is_taken_away_by_ending_its_client_and_mounted_again() -> None:
    # nothing is called that would touch the mount, such as mkdir
    done = bash(mounted("return 1") + f"gl_mount s1 volume-1 {POINT} ''")
    assert done.stdout.splitlines() == ["kill -s KILL 4711", f"umount -l {POINT}", "mount"]
    assert done.returncode == 0


def test_the_client_of_a_mount_is_known_by_its_last_argument(tmp_path: Path) -> None:
    program = tmp_path / "glusterfs"
    shutil.copy("/bin/sleep", program)
    # sleep takes several numbers: the last one stands for the mount point
    with subprocess.Popen([program, "30"]) as other, subprocess.Popen([program, "30", "31"]) as client:
        try:
            end = time.monotonic() + 20
            while call("gl_fuse_clients", 31).stdout.split() != [str(client.pid)] and time.monotonic() < end:
                time.sleep(0.1)
            assert call("gl_fuse_clients", 31).stdout.split() == [str(client.pid)]
            assert call("gl_fuse_clients", 3).stdout == ""
        finally:
            other.kill()
            client.kill()


def test_changes_of_a_links_carrier_are_added_up_with_those_of_its_own_links(tmp_path: Path) -> None:
    for name, changes in (("bond0", 1), ("bond0/lower_eth0", 4), ("bond0/lower_eth1", 2), ("eth9", 8)):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "carrier_changes").write_text(f"{changes}\n")
    done = bash("gl_link bond0; gl_link none; echo end", replaced={"/sys/class/net/": f"{tmp_path}/"})
    assert done.stdout.splitlines() == ["link 7", "end"]


def table(path: Path, *rows: str) -> None:
    """A table as /proc/net/tcp: this end, the other one, state and socket."""
    lines = ["  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode"]
    for n, row in enumerate(rows):
        ends, number = row.rsplit(" ", 1)
        lines.append(f"{n:4}: {ends} 00000000:00000000 02:000A5FC2 00000000     0        0 {number} 2 0000")
    path.write_text("\n".join(lines) + "\n")


def test_connections_that_a_host_made_itself_are_told_with_their_sockets(tmp_path: Path) -> None:
    table(
        tmp_path / "tcp",
        "00000000:0016 00000000:0000 0A 5",
        "6F00D90A:0016 0100D90A:DAB2 01 17",
        "6F00D90A:BFFF 0B00D90A:C001 01 21",
        "6F00D90A:BFFE 0C00D90A:C001 06 0",
        "6F00D90A:BFFD 0C00D90A:C001 02 22",
    )
    table(tmp_path / "tcp6", "000080FE000000000000000001000000:BFFC 000080FE000000000000000002000000:C002 01 23")
    expected = ["tcp 0B00D90A:C001 21", "tcp 000080FE000000000000000002000000:C002 23"]
    replaced = {"/proc/net/": f"{tmp_path}/"}
    assert bash("gl_connections", replaced=replaced).stdout.splitlines() == expected
    (tmp_path / "tcp6").unlink()
    assert bash("gl_connections", replaced=replaced).stdout.splitlines() == expected[:1]


def test_a_real_connection_is_told_by_the_end_that_made_it() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as client:
        accepted, _ = server.accept()
        with accepted:
            number = os.fstat(client.fileno()).st_ino
            told = bash("gl_connections").stdout.splitlines()
            assert f"tcp 0100007F:{server.getsockname()[1]:04X} {number}" in told
            assert not [line for line in told if line.endswith(f" {os.fstat(accepted.fileno()).st_ino}")]


def test_room_is_told_by_path(tmp_path: Path) -> None:
    folder = tmp_path / "with blank"
    folder.mkdir()
    (line,) = call("gl_space", folder, tmp_path / "none").stdout.splitlines()
    word, _, blocks, size, path = line.split(" ", 4)
    found = os.statvfs(folder)
    assert (word, path) == ("space", str(folder))
    assert int(blocks) * int(size) == pytest.approx(found.f_blocks * found.f_frsize)
