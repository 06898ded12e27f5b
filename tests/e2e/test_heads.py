"""Disks with heads under a small real pool: one cell is measured on them, they say what they did, and none is left."""

import json
import os
from pathlib import Path

import pytest

from glusterlab.store import evidence
from glusterlab.tables import build
from glusterlab.testbed import headserver, state
from tests.e2e.suite import glusterlab, require_testbed, ssh, started_testbed

pytestmark = pytest.mark.testbed

NAME = "e2e-heads"
CAMPAIGN = """\
schema_version: 1
name: heads
study: supermicro-2017
seed: 7
repeats: 1
layouts: [{name: mirror, type: replicate, geometry: 1x2, backing: jbod}]
workers: 2
deadline: 3 min
workloads:
  - {tool: fio, operations: write, file_size: 1 MiB, record_size: 64 KiB, model: small-file}
"""


FAR_AWAY = """\
schema_version: 1
name: far-away
seed: 7
repeats: 1
layouts: [{name: native, type: other, geometry: 1, backing: native}]
access: existing
workers: [1, 8]
deadline: 3 min
workloads:
  - {tool: fio, operations: random-read, file_size: 4 MiB, record_size: 4 KiB, runtime: 5 s, model: full-speed,
     options: [--direct=1]}
"""


def test_disks_far_away_serve_each_request_after_their_latency(tmp_path: Path) -> None:
    require_testbed(headserver.problems())
    (tmp_path / "campaign.yaml").write_text(FAR_AWAY, encoding="utf-8")
    hardware = Path("runbooks/azure/cluster.yaml").resolve()
    sizes = ("--servers", "1", "--clients", "1", "--disks", "0", "--hardware", str(hardware))
    model = ("--model", "full-speed=1", "--heads", "full-speed")
    with started_testbed(NAME, "10.216.0.0/24", *sizes, *model, cwd=tmp_path) as cluster:
        glusterlab("run", "campaign.yaml", "--cluster", cluster.with_name("local.yaml"), cwd=tmp_path)
    samples = build.load(tmp_path / "raw/far-away", tmp_path / "tables").samples.set_index("workers")
    assert samples["status"].tolist() == ["valid", "valid"]
    operations = samples["operations_per_s"]
    # 31 ms each, whatever this machine does meanwhile; how far below that is its own
    assert operations[1] <= 1 / 0.031
    assert 4 * operations[1] < operations[8] <= 8 / 0.031
    assert samples["disk_latency_s"].tolist() == [0.031, 0.031]
    sample = next((tmp_path / "raw/far-away").glob("cells/*/sample-*"))
    with evidence.opened(sample / "workload/throttle.json") as file:
        effect = json.loads(file.read_text())
    assert (effect["array"]["latency_s"], effect["enforced_by"][0]) == (0.031, "latency of disks (FUSE)")


def test_a_cell_is_measured_on_disks_with_heads(tmp_path: Path) -> None:
    require_testbed(headserver.problems())
    (tmp_path / "campaign.yaml").write_text(CAMPAIGN, encoding="utf-8")
    sizes = ("--servers", "2", "--clients", "1", "--disks", "1", "--arrays", "0")
    with started_testbed(NAME, "10.216.0.0/24", *sizes, "--heads", "small-file", cwd=tmp_path) as cluster:
        disks = state.state_folder(NAME) / "disks"
        # a file system is as large as was asked for, and the drive goes on behind it
        brick = "/bricks/jbod/d01"
        size = f"df -B1 --output=size {brick} | tail -1; blockdev --getsize64 $(findmnt -no SOURCE {brick})"
        file_system, drive = map(int, ssh(cluster, "server01", size).split())
        assert 0.9 < file_system / (1 << 30) <= 1
        assert drive > 6e12
        glusterlab("run", "campaign.yaml", "--cluster", cluster, cwd=tmp_path)
    assert not headserver.processes(lambda words: os.fsencode(disks) in words)
    glusterlab("verify", "raw/heads", cwd=tmp_path)
    [sample] = sorted((tmp_path / "raw/heads").glob("cells/*/sample-*"))
    found = {}
    for name in ("heads", "throttle"):
        with evidence.opened(sample / f"workload/{name}.json") as file:
            found[name] = json.loads(file.read_text())
    served = found["heads"]["disks"]
    assert (found["heads"]["scale"], sorted(served)) == (20, ["server01/d01.img", "server02/d01.img"])
    assert all(disk["writes"] > 0 and disk["busy_s"] > 0 for disk in served.values())
    assert found["throttle"]["enforced_by"][0] == "heads of disks (FUSE)"
    samples = build.load(tmp_path / "raw/heads", tmp_path / "tables").samples
    assert (samples["status"].tolist(), samples["heads"].tolist()) == (["valid"], [True])
