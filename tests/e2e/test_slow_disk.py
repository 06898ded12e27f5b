"""One slow disk among seventy-two, on a real pool: it is found, by its name, before any that waited for it."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from glusterlab.analysis.saturation.outliers import disk_times, named_disks
from glusterlab.analysis.select import valid_samples
from glusterlab.store import evidence
from glusterlab.tables import build as tables
from glusterlab.testbed import state
from tests.e2e.suite import glusterlab, started_testbed

pytestmark = pytest.mark.testbed

NAME = "slow-disk"
SUBNET = "10.214.0.0/24"
HOST, DISK = "server04", "d07"
TIMES = 8
# eight files on each of the twelve subvolumes on average, so that each sample judges a disk of any of them; and a disk
# so slow that it shows where a busy machine makes its peers slow, too
CAMPAIGN = """\
schema_version: 1
name: slow
study: supermicro-2017
seed: 72
repeats: 2
layouts: [{name: disperse-12x6-jbod, type: disperse, geometry: 12x(4+2), backing: jbod}]
workers: [96]
deadline: 10 min
workloads:
  - tool: iozone
    operations: [write]
    file_size: 5 MiB
    stands_for: 4 GiB
    length: 0.25
    record_size: 256 KiB
    model: large-file
"""


@pytest.fixture
def pool(tmp_path: Path) -> Iterator[Path]:
    """cluster.yaml of the guide's standard pool, with one disk at an eighth of what its like can do."""
    options = ("--slow-disk", f"{HOST}:{DISK}={TIMES}", "--arrays", "0")
    with started_testbed(NAME, SUBNET, *options, cwd=tmp_path) as cluster:
        yield cluster


def test_one_slow_disk_of_seventy_two_is_named(pool: Path, tmp_path: Path) -> None:
    (tmp_path / "campaign.yaml").write_text(CAMPAIGN, encoding="utf-8")
    glusterlab("run", "campaign.yaml", "--cluster", pool, cwd=tmp_path)
    slow = next(disk for disk in state.State.load(pool.parent).disks_of(HOST) if disk.mount_point.endswith(DISK))

    # the sample says what it was measured under
    (first, _) = sorted((tmp_path / "raw/slow").glob("cells/*/sample-*"))
    with evidence.opened(first / "workload/throttle.json") as throttled:
        limits = json.loads(throttled.read_text())
    slower = {name: round(limit / TIMES) for name, limit in limits["disk"].items()}
    assert limits["slow_disks"] == {f"{HOST}:{slow.mount_point}": slower}

    glusterlab("tables", tmp_path / "raw/slow", cwd=tmp_path)
    found = tables.load(tmp_path / "raw/slow")
    samples = valid_samples(found.samples)
    assert len(samples) == 2
    named = named_disks(disk_times(found.telemetry, samples))
    first_named, *others = [(row.host, row.device) for row in named.itertuples()]
    assert first_named == (HOST, Path(slow.device).name)
    # on a busy machine disks of its subvolume, which wait for it, may be named behind it; no other may
    hosts = state.State.load(pool.parent)
    subvolume = {
        (server, Path(disk.device).name)
        for server in hosts.options.server_names
        for disk in hosts.disks_of(server)
        if disk.mount_point.endswith(DISK)
    }
    assert set(others) <= subvolume
