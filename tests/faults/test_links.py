"""Faults of links and of what clients run, one after the other in one campaign that goes on all the while."""

import random
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.conftest import LONG, TIMES
from tests.faults.inject import Act, Injector
from tests.faults.machine import Room
from tests.faults.night import Night

pytestmark = [pytest.mark.testbed, pytest.mark.faults]

REPEATS = 2 + 3 * TIMES


@pytest.fixture(scope="module")
def night(room: Room, project: Path) -> Iterator[Night]:
    night = Night(project, room, "night-of-links", repeats=REPEATS)
    night.start()
    yield night
    night.stop()


def cable(room: Room, host: str) -> tuple[Act, Act]:
    """A host's link goes down, and up again."""
    return lambda: room.link(host, up=False), lambda: room.link(host, up=True)


def test_link_of_a_client_down_and_up(inject: Injector, room: Room, turn: int) -> None:
    inject("link of a client down and up", {"link-lost"}, *cable(room, "client02"), lasts_s=2.0)


def test_link_of_a_server_down_and_up(inject: Injector, room: Room, chance: random.Random, turn: int) -> None:
    inject("link of a server down and up", {"link-lost"}, *cable(room, chance.choice(room.servers)), lasts_s=2.0)


def test_ssh_connection_dropped(inject: Injector, room: Room, turn: int) -> None:
    inject("SSH connection dropped", {"host-unreachable"}, lambda: room.drop_ssh("client01"))


@pytest.mark.skipif(not LONG, reason="takes minutes: silence is waited for; the short form drops links and connections")
def test_host_unreachable(inject: Injector, room: Room, chance: random.Random, turn: int) -> None:
    inject("host unreachable", {"host-unreachable", "link-lost"}, *cable(room, chance.choice(room.hosts)))


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


def test_the_rest_finishes_and_is_intact(night: Night, room: Room) -> None:
    assert night.end() == 0, night.said[-3000:]
    night.finish(REPEATS)
    assert room.at_work() == {}
