"""A check and a baseline on a small real pool: disorder is found, and what was measured is what the model allows."""

import json
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from glusterlab.analysis.baselines import stated
from glusterlab.sections.baseline import Baseline, read_results
from glusterlab.spec import load_cluster
from glusterlab.store.baselines import search_baseline
from tests.e2e.suite import command, complete, digests, glusterlab, ssh, start, started_testbed, wait_until

pytestmark = pytest.mark.testbed

NAME = "check"
SUBNET = "10.213.1.0/24"
SLACK = 1.4
"""The kernel's first slice of a limit is free, and a link's queue is filled at once: short measurements gain by it."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("check")


@pytest.fixture(scope="module")
def cluster(folder: Path) -> Iterator[Path]:
    """A cluster.yaml of two servers and two clients, with one scale model."""
    sizes = ("--servers", "2", "--clients", "2", "--disks", "2", "--arrays", "1")
    with started_testbed(NAME, SUBNET, *sizes, cwd=folder) as file:
        text = file.read_text()
        before, after = text.index("  medium-file:"), text.index("testbed:\n")
        file.write_text(text[:before] + text[after:])
        yield file


def findings(cluster: Path, folder: Path, code: int) -> set[tuple[str | None, str, str]]:
    found = json.loads(glusterlab("check", cluster, "--json", cwd=folder, code=code).stdout)
    assert found["fit"] == (code == 0)
    return {(each["host"], each["level"], each["code"]) for each in found["findings"] if each["level"] != "ok"}


def test_a_pool_in_order_is_fit(cluster: Path, folder: Path) -> None:
    found = findings(cluster, folder, 0)
    # what else this machine does may show as load
    assert {code for _, _, code in found} <= {"checkouts", "load"}


DISORDER = {
    "server01": ["mkdir -p /bricks/jbod/d01/glusterlab-gone/brick"],
    "server02": [
        "umount /bricks/raid6/a01",
        "mount -o remount,ro /bricks/jbod/d01",
        "fallocate -l 890M /bricks/jbod/d02/fill",
    ],
    "client01": [
        "cp ~/.ssh/known_hosts ~/.ssh/known_hosts.old",
        "sed -i /client02/d ~/.ssh/known_hosts",
        "mkdir -p /var/tmp/glusterlab",
        "touch /var/tmp/glusterlab/mine",
        "ip link set eth0 mtu 1400",
        "mv /usr/bin/iozone /usr/bin/iozone.away",
    ],
    "client02": [
        "sed -i /client01/d /etc/hosts",
        "umount -l /srv/glusterlab-shared",
        "mv /usr/sbin/mount.glusterfs /usr/sbin/mount.glusterfs.away",
        "env GLUSTERLAB_RUN=old setsid sleep 600 >/dev/null 2>&1 </dev/null &",
    ],
}
MENDED = {
    "server01": ["rm -r /bricks/jbod/d01/glusterlab-gone"],
    "server02": [
        "mount $(awk '/a01/ { print $1, $2 }' /etc/glusterlab-bricks)",
        "mount -o remount,rw /bricks/jbod/d01",
        "rm /bricks/jbod/d02/fill",
    ],
    "client01": [
        "mv ~/.ssh/known_hosts.old ~/.ssh/known_hosts",
        "rm -r /var/tmp/glusterlab",
        "ip link set eth0 mtu 1500",
        "mv /usr/bin/iozone.away /usr/bin/iozone",
    ],
    "client02": [
        "echo '10.213.1.111 client01' >>/etc/hosts",
        "mv /usr/sbin/mount.glusterfs.away /usr/sbin/mount.glusterfs",
        "pkill -x sleep",
    ],
}
"""What a baseline needs is in order again; the shared directory is not."""


def test_disorder_is_found(cluster: Path, folder: Path) -> None:
    for host, commands in DISORDER.items():
        ssh(cluster, host, "set -e\n" + "\n".join(commands))
    found = findings(cluster, folder, 1)
    for host, commands in MENDED.items():
        ssh(cluster, host, "set -e\n" + "\n".join(commands))
    expected = {
        ("server01", "warning", "leftover-brick"),
        ("server02", "error", "bricks"),
        ("server02", "warning", "space"),
        ("client01", "error", "work-dir"),
        ("client01", "error", "tools"),
        ("client02", "error", "tools"),
        ("client02", "error", "names"),
        ("client02", "error", "ssh-between-clients"),
        ("client02", "error", "shared-dir"),
        ("client02", "error", "stray-process"),
        ("client01", "warning", "mtu"),
        (None, "error", "mtu"),
    }
    assert expected <= found
    assert {code for _, _, code in found} <= {code for _, _, code in expected} | {"checkouts", "load"}


def test_a_baseline_that_is_killed_goes_on_and_is_what_the_model_allows(cluster: Path, folder: Path) -> None:
    arguments = ("check", cluster, "--baseline", "--seconds", "2", "--repeats", "1", "--raw", "raw")
    raw, log = folder / f"raw/testbed-{NAME}-baseline", folder / "baseline.log"
    running = start(*arguments, cwd=folder, log=log)

    def two_are_complete() -> bool:
        assert running.poll() is None, log.read_text()
        return len(complete(raw)) >= 2

    wait_until(two_are_complete, 300, log.read_text)
    running.send_signal(signal.SIGKILL)
    running.wait(30)
    done = digests(raw)
    # what it left at work is ended; fit or not is said of the pool, whose clients were put in disorder
    words = command(*arguments, "--json")
    again = subprocess.run(words, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=900)
    assert "Traceback" not in again.stderr
    summary = json.loads(again.stdout)["baseline"]
    assert (summary["valid"], summary["total"], summary["left"]) == (8, 8, 0), again.stderr
    assert done.items() <= digests(raw).items()
    glusterlab("verify", raw, cwd=folder)
    specification = load_cluster(cluster)
    results = read_results(raw)
    assert {(each.what, each.of) for each in results} == {
        *(("brick", "jbod"), ("server", "jbod"), ("brick", "raid6"), ("server", "raid6")),
        *(("link", "server"), ("link", "client")),
    }
    for each in results:
        bound = stated(each, specification)
        assert bound is not None
        assert 0 < max(each.rates.values()) < SLACK * bound, each
    found = search_baseline(folder / "raw/any", specification).path
    assert found is not None
    assert Baseline(found, specification.hardware).limits("jbod", 200.0, operations_limited=False) is not None
    for server in ("server01", "server02"):
        ssh(cluster, server, "[ ! -e /bricks/jbod/d01/glusterlab-baseline ] && ! pgrep -x iozone && ! pgrep -x iperf3")
