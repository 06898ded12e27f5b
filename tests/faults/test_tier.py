"""A fault of a hot tier's daemon in the middle of a sample, where a tree with a GlusterFS that has tiers is named."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from glusterlab.testbed import state
from tests.e2e.suite import started_testbed
from tests.faults.conftest import TIMES
from tests.faults.inject import Injector
from tests.faults.machine import Room
from tests.faults.night import Night

pytestmark = [
    pytest.mark.testbed,
    pytest.mark.faults,
    pytest.mark.skipif("GLUSTERLAB_TIER_TREE" not in os.environ, reason="GLUSTERLAB_TIER_TREE names no tree"),
]

REPEATS = 2 + TIMES


@pytest.fixture(scope="module")
def tiered() -> Iterator[Room]:
    """Two servers, each with a disk and an NVMe drive, from a tree such as one of GlusterFS 3.8.4."""
    sizes = ("--servers", "2", "--clients", "2", "--disks", "1", "--arrays", "0", "--nvme", "1", "--scale", "256")
    tree = ("--tree", os.environ["GLUSTERLAB_TIER_TREE"])
    with started_testbed("faults-tier", "10.216.1.0/24", *sizes, *tree, cwd=Path.cwd()) as cluster:
        yield Room(state.State.load(cluster.parent))


@pytest.fixture(scope="module")
def night(tiered: Room, project: Path) -> Iterator[Night]:
    layout = {"name": "tiered", "type": "replicate", "geometry": "1x2", "backing": "jbod"}
    hot = {"geometry": "1x2", "backing": "nvme"}
    night = Night(project, tiered, "night-of-tiers", repeats=REPEATS, layouts=[layout | {"hot": hot}])
    night.start()
    yield night
    night.stop()


def test_tier_daemon_killed(inject: Injector, tiered: Room, turn: int) -> None:
    inject(
        "tier daemon killed",
        {"tier-stopped"},
        lambda: tiered.send("server02", "glusterfs", signal.SIGKILL, "rebalance/"),
    )


def test_the_rest_finishes_and_is_intact(night: Night, tiered: Room) -> None:
    assert night.end() == 0, night.said[-3000:]
    night.finish(REPEATS)
    assert tiered.at_work() == {}
