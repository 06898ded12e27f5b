"""Faults of servers of NFS and SMB, and of clients with their own kernel, in a campaign that goes on all the while."""

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from glusterlab.testbed import state
from tests.e2e.suite import require_guests, started_testbed
from tests.faults.conftest import TIMES
from tests.faults.inject import Injector
from tests.faults.machine import Room
from tests.faults.night import Night

pytestmark = [pytest.mark.testbed, pytest.mark.faults]

REPEATS = 2 + 4 * TIMES


@pytest.fixture(scope="module")
def served() -> Iterator[Room]:
    """Two servers with a disk each, and two guests as their clients."""
    require_guests()
    sizes = (
        "--servers",
        "2",
        "--clients",
        "2",
        "--disks",
        "1",
        "--arrays",
        "0",
        "--scale",
        "256",
        "--kernel-clients",
        "2",
    )
    with started_testbed("faults-served", "10.216.2.0/24", *sizes, cwd=Path.cwd()) as cluster:
        yield Room(state.State.load(cluster.parent))


@pytest.fixture(scope="module")
def night(served: Room, project: Path) -> Iterator[Night]:
    layout = {"name": "plain", "type": "distribute", "geometry": "2", "backing": "jbod"}
    workload = {
        "tool": "iozone",
        "operations": ["write"],
        "file_size": "4 MiB",
        "stands_for": "1 GiB",
        "model": "large-file",
    }
    more = {"layouts": [layout], "access": ["nfs4", "smb"], "workloads": [workload | {"record_size": "64 KiB"}]}
    night = Night(project, served, "night-of-servers", repeats=REPEATS, **more)
    night.start()
    yield night
    night.stop()


def test_ganesha_killed(inject: Injector, served: Room, turn: int) -> None:
    inject(
        "NFS-Ganesha killed",
        {"access-lost", "tool-timeout"},
        lambda: served.send("server02", "ganesha.nfsd", signal.SIGKILL),
        operation="nfs4",
    )


def test_nfs_mount_hangs(inject: Injector, served: Room, turn: int) -> None:
    inject(
        "NFS mount hangs",
        {"tool-timeout", "mount-hung"},
        lambda: served.send("server02", "ganesha.nfsd", signal.SIGSTOP),
        operation="nfs4",
    )


def test_smbd_killed(inject: Injector, served: Room, turn: int) -> None:
    inject("smbd killed", {"access-lost"}, lambda: served.send("server02", "smbd", signal.SIGKILL), operation="smb")


def test_guest_killed(inject: Injector, served: Room, turn: int) -> None:
    inject(
        "client with its own kernel killed",
        {"host-unreachable", "tool-failed", "tool-timeout"},
        lambda: served.kill("client02"),
        end=lambda: served.boot("client02"),
    )


def test_the_rest_finishes_and_is_intact(night: Night, served: Room) -> None:
    assert night.end() == 0, night.said[-3000:]
    night.finish(REPEATS)
    assert not [client for client in served.clients if served.runs(client, "iozone") or served.runs(client, "sadc")]
    left = "pidof ganesha.nfsd smbd rpcbind; ls -d /var/tmp/glusterlab/access 2>/dev/null; true"
    assert [served.ssh(server, left) for server in served.servers] == [""] * 2
