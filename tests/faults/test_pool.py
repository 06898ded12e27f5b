"""Faults of the pool in the middle of a sample, one after the other in one campaign that goes on all the while."""

import os
import random
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from glusterlab.reasons import ReasonCode
from tests.e2e.suite import command
from tests.faults.conftest import LONG
from tests.faults.machine import Room
from tests.faults.night import Fault, Night, began

pytestmark = [pytest.mark.testbed, pytest.mark.faults]

WORK_DIR = "/var/tmp/glusterlab"
BRICK = "/bricks/jbod/d01"
TIMES = 3 if LONG else 1
"""How often each fault is injected."""

REPEATS = 2 + 6 * TIMES
Act = Callable[[], None]


@pytest.fixture(scope="module")
def night(room: Room, project: Path) -> Iterator[Night]:
    # the work directory of one server is small enough to be filled
    room.ssh("server03", f"mkdir -p {WORK_DIR} && mount -t tmpfs -o size=6m,mode=755 tmpfs {WORK_DIR}")
    night = Night(project, room, "night", repeats=REPEATS)
    night.start()
    yield night
    night.stop()


@pytest.fixture(params=range(TIMES))
def turn(request: pytest.FixtureRequest) -> int:
    return int(request.param)


def nothing() -> None:
    """The fault does not end by a hand of ours."""


class Injector:
    """Injects a fault into the campaign at work, and holds it to what must be so after each."""

    def __init__(self, night: Night, chance: random.Random) -> None:
        self.night = night
        self.chance = chance

    def __call__(
        self,
        name: str,
        codes: set[ReasonCode],
        start: Act,
        end: Act = nothing,
        *,
        lasts_s: float | None = None,
        operation: str = "",
    ) -> None:
        """Begin a fault in the middle of a sample, and end it after a time, or else when the sample is stored."""
        night = self.night
        with Fault(name) as fault:
            before = night.digests()
            sample = night.wait_for_workload(operation)
            time.sleep(self.chance.uniform(0.0, 1.0))
            begins = ends = time.time()
            try:
                start()
                if lasts_s is not None:
                    time.sleep(lasts_s)
                else:
                    night.wait_for_sample(sample)
            finally:
                end()
                if end is not nothing:
                    ends = time.time()
            faulty = night.wait_for_sample(sample)
            valid = night.wait_for_valid(since=ends)
            fault.recovery_s = round(began(valid) - ends, 1)
            found = {reason["code"] for reason in faulty["reasons"]}
            assert found & codes, f"expected one of {codes}, found {faulty['reasons']}"
            assert faulty["status"] != "valid"
            night.account(fault, before, (begins, ends))


@pytest.fixture
def inject(night: Night, chance: random.Random) -> Injector:
    return Injector(night, chance)


def cable(room: Room, host: str) -> tuple[Act, Act]:
    """A host's link goes down, and up again."""
    return lambda: room.link(host, up=False), lambda: room.link(host, up=True)


def test_brick_process_killed(inject: Injector, room: Room, chance: random.Random, turn: int) -> None:
    host = chance.choice(room.servers)
    inject("brick process killed", {"brick-offline"}, lambda: room.send(host, "glusterfsd", signal.SIGKILL))


def test_link_of_a_client_down_and_up(inject: Injector, room: Room, turn: int) -> None:
    inject("link of a client down and up", {"link-lost"}, *cable(room, "client02"), lasts_s=2.0)


def test_link_of_a_server_down_and_up(inject: Injector, room: Room, chance: random.Random, turn: int) -> None:
    inject("link of a server down and up", {"link-lost"}, *cable(room, chance.choice(room.servers)), lasts_s=2.0)


def test_ssh_connection_dropped(inject: Injector, room: Room, turn: int) -> None:
    inject("SSH connection dropped", {"host-unreachable"}, lambda: room.drop_ssh("client01"))


@pytest.mark.skipif(not LONG, reason="takes minutes: silence is waited for; the short form drops links and connections")
def test_host_unreachable(inject: Injector, room: Room, chance: random.Random, turn: int) -> None:
    inject("host unreachable", {"host-unreachable", "link-lost"}, *cable(room, chance.choice(room.hosts)))


def test_server_killed(inject: Injector, room: Room, chance: random.Random, turn: int) -> None:
    host = chance.choice(room.servers) if LONG else "server02"

    def boot() -> None:
        room.boot(host)
        if host == "server03":
            room.ssh(host, f"mount -t tmpfs -o size=6m,mode=755 tmpfs {WORK_DIR} && touch {WORK_DIR}/.glusterlab")

    inject(
        "server killed", {"host-unreachable", "peer-disconnected", "brick-offline"}, lambda: room.kill(host), end=boot
    )


def test_mount_of_a_client_hangs(inject: Injector, room: Room, turn: int) -> None:
    inject(
        "mount of a client hangs",
        {"mount-hung"},
        lambda: room.send("client02", "glusterfs", signal.SIGSTOP, "/mnt/glusterlab"),
    )
    assert not [pid for pid in room.pids("client02", "glusterfs") if _state(pid) == "T"]


def _state(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def test_tool_hangs(inject: Injector, room: Room, turn: int) -> None:
    stopped: list[int] = []

    def hang() -> None:
        stopped.extend(room.pids("client02", "iozone"))
        room.send("client02", "iozone", signal.SIGSTOP)

    inject("tool hangs", {"tool-timeout"}, hang)
    assert not [pid for pid in stopped if Path(f"/proc/{pid}").exists()]


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
    words = (f"process {night.process.pid}", os.uname().nodename, "night")
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
