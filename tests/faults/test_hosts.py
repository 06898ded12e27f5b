"""Faults of hosts in the middle of a sample, one after the other in one campaign that goes on all the while."""

import os
import random
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.e2e.suite import command
from tests.faults.conftest import LONG, TIMES
from tests.faults.inject import Act, Injector
from tests.faults.machine import Room
from tests.faults.night import Fault, Night

pytestmark = [pytest.mark.testbed, pytest.mark.faults]

WORK_DIR = "/var/tmp/glusterlab"
BRICK = "/bricks/jbod/d01"
REPEATS = 2 + 3 * TIMES


@pytest.fixture(scope="module")
def night(room: Room, project: Path) -> Iterator[Night]:
    # the work directory of one server is small enough to be filled
    room.ssh("server03", f"mkdir -p {WORK_DIR} && mount -t tmpfs -o size=6m,mode=755 tmpfs {WORK_DIR}")
    night = Night(project, room, "night-of-hosts", repeats=REPEATS)
    try:
        night.start()
        yield night
    finally:
        night.stop()
        room.ssh("server03", f"umount -l {WORK_DIR} || true")


def test_brick_process_killed(inject: Injector, room: Room, chance: random.Random, turn: int) -> None:
    host = chance.choice(room.servers)
    inject("brick process killed", {"brick-offline"}, lambda: room.send(host, "glusterfsd", signal.SIGKILL))


def test_server_killed(inject: Injector, room: Room, chance: random.Random, turn: int) -> None:
    host = chance.choice(room.servers) if LONG else "server02"

    def boot() -> None:
        room.boot(host)
        if host == "server03":
            room.ssh(host, f"mount -t tmpfs -o size=6m,mode=755 tmpfs {WORK_DIR} && touch {WORK_DIR}/.glusterlab")

    inject(
        "server killed", {"host-unreachable", "peer-disconnected", "brick-offline"}, lambda: room.kill(host), end=boot
    )


def test_disk_full_on_a_host(inject: Injector, room: Room, turn: int) -> None:
    inject(
        "disk full on a host",
        {"disk-full"},
        lambda: room.fill("server03", WORK_DIR),
        end=lambda: room.make_room("server03", WORK_DIR),
    )


def test_disk_full_on_the_volume(inject: Injector, room: Room, turn: int) -> None:
    def each(act: Callable[[str, str], None]) -> Act:
        return lambda: [act(host, BRICK) for host in room.servers].clear()

    inject("disk full on the volume", {"disk-full"}, each(room.fill), end=each(room.make_room))


def test_wrong_clock(inject: Injector, room: Room, chance: random.Random, turn: int) -> None:
    host, seconds = chance.choice(room.hosts), chance.choice([-30, -5, 5, 30])
    inject("wrong clock", {"clock-skew"}, lambda: room.set_clock(host, seconds), end=lambda: room.set_clock(host, 0))


def test_second_runner_and_second_campaign_are_refused(night: Night, room: Room, project: Path) -> None:
    assert night.process is not None
    night.wait_for_workload()
    before = night.digests()
    words = (f"process {night.process.pid}", os.uname().nodename, night.raw.name)
    other = Night(project, room, "other")
    runs = {"second runner on the same campaign": night, "second campaign on the same cluster": other}
    for name, run in runs.items():
        with Fault(name) as fault:
            argv = command(*run.words)
            done = subprocess.run(argv, cwd=project, capture_output=True, text=True, timeout=120, check=False)
            assert done.returncode in (2, 3), done.stderr
            assert all(word in done.stderr for word in words), done.stderr
            assert "Traceback" not in done.stderr
            night.account(fault, before, None)
            assert night.running


def test_the_rest_finishes_and_is_intact(night: Night, room: Room) -> None:
    assert night.end() == 0, night.said[-3000:]
    night.finish(REPEATS)
    assert room.at_work() == {}
