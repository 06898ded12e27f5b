"""Faults of the controller: killed at random moments, stopped, its campaign edited, its disk full."""

import os
import random
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.suite import wait_until
from tests.faults.conftest import LONG
from tests.faults.machine import Room
from tests.faults.night import Fault, Night, began

pytestmark = [pytest.mark.testbed, pytest.mark.faults]

KILLS = 52 if LONG else 6
STOP_WITHIN_S = 10.0


@pytest.fixture(scope="module")
def day(room: Room, project: Path) -> Iterator[Night]:
    day = Night(project, room, "day", repeats=2)
    yield day
    day.stop()


def _resumed(day: Night) -> None:
    """Start it again, with more to do when all is done."""
    day.stop()
    done = [sample for sample in day.samples() if sample["status"] == "valid"]
    if len(done) >= 2 * day.repeats - 1:
        day.edit(repeats=day.repeats + 2)
    day.start()


def test_killed_at_random_moments(day: Night, room: Room, chance: random.Random) -> None:
    """At any moment: between its first import and its last sample, when a sample is stored, while a disk is frozen."""
    kills: list[tuple[Fault, float]] = []
    room.ssh(room.servers[0], f"fsfreeze --freeze {room.state.disks_of(room.servers[0])[0].mount_point}")
    _resumed(day)
    try:
        number = 0
        while len(kills) < KILLS:
            number += 1
            fault = Fault("controller killed")
            before = day.digests()
            known = day.stored
            if number % 4 == 0:
                # in the moment in which a sample comes to be, and the manifest is not yet written
                wait_until(lambda known=known: day.stored > known or not day.running, 300, day.scene)
            else:
                time.sleep(chance.uniform(0.3, 22.0 if LONG else 14.0))
            if not day.running:
                _resumed(day)
                continue
            day.send(signal.SIGKILL)
            kills.append((fault, time.time()))
            day.account(fault, before, None)
            _resumed(day)
        day.wait_for_valid(since=kills[-1][1])
    finally:
        valid = sorted(began(sample) for sample in day.samples() if sample["status"] == "valid")
        for fault, moment in kills:
            following = next((start for start in valid if start > moment), None)
            next_kill = min((other for _, other in kills if other > moment), default=float("inf"))
            if following is not None and following < next_kill:
                fault.recovery_s = round(following - moment, 1)
            fault.record()


def _at_work(day: Night) -> None:
    if not day.running:
        _resumed(day)
    day.wait_for_workload()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM] * (3 if LONG else 1), ids=lambda number: number.name)
def test_stopped_cleanly(day: Night, room: Room, number: signal.Signals, chance: random.Random) -> None:
    with Fault(f"{number.name} to the controller") as fault:
        _at_work(day)
        before = day.digests()
        time.sleep(chance.uniform(0.0, 2.0))
        asked = time.time()
        code = day.send(number)
        ended = time.time()
        left = room.at_work()
        assert code == 130, day.said[-3000:]
        assert ended - asked <= STOP_WITHIN_S, f"the stop took {ended - asked:.1f} s"
        assert left == {}
        assert not list(day.raw.glob("cells/*/.sample-*"))
        day.account(fault, before, None)
        day.verify()
        _resumed(day)
        fault.recovery_s = round(began(day.wait_for_valid(since=asked)) - ended, 1)
        day.account(fault, before, None)


def test_campaign_edited_between_stop_and_resume(day: Night) -> None:
    with Fault("campaign edited between stop and resume") as fault:
        _at_work(day)
        assert day.send(signal.SIGTERM) == 130
        before = day.digests()
        both = day.keys["workloads"]
        day.edit(workloads=[{**both[0], "operations": ["write"]}], repeats=day.repeats + 1)
        day.start()
        day.wait_for_workload("write")
        assert day.send(signal.SIGTERM) == 130, day.said[-3000:]
        log = (day.raw / "log.txt").read_text()
        assert re.search("the campaign was changed: .*workloads.0.operations", log)
        assert "1 cell is no longer in the campaign, such as iozone-read" in log
        assert {sample["cell_id"].split("-")[1] for sample in day.samples()} == {"write"}
        assert len(list((day.raw / "aside").iterdir())) == 1
        day.account(fault, before, None)
        day.verify()
        stopped = time.time()
        day.edit(workloads=both)
        day.start()
        fault.recovery_s = round(began(day.wait_for_valid(since=stopped)) - stopped, 1)
        assert day.end() == 0, day.said[-3000:]
        assert not list((day.raw / "aside").iterdir())
        day.account(fault, before, None)
        day.finish(day.repeats)


def test_disk_full_on_the_controller(room: Room, project: Path, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    root = tmp_path / "small"
    root.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16m", "tmpfs", root], check=True)
    request.addfinalizer(lambda: subprocess.run(["umount", "--lazy", root], check=False))
    night = Night(project, room, "full", raw=root)
    request.addfinalizer(night.stop)
    with Fault("disk full on the controller") as fault:
        night.start()
        night.wait_for_sample(night.wait_for_workload())
        night.wait_for_workload()
        before = night.digests()
        filler = root / "filler"
        with filler.open("wb") as file:
            free = os.statvfs(root)
            file.write(b"\0" * (free.f_bavail * free.f_frsize))
        full = time.time()
        code = night.end()
        assert code == 3, night.said[-3000:]
        assert "No space left on device; make room there, then run the same command again" in night.said
        assert "Traceback" not in night.said
        assert room.at_work() == {}
        night.account(fault, before, None)
        filler.unlink()
        room_made = time.time()
        night.start()
        fault.recovery_s = round(began(night.wait_for_valid(since=full)) - room_made, 1)
        assert night.end() == 0, night.said[-3000:]
        night.account(fault, before, None)
        night.finish(1)
