"""fio on a small real pool: with and without a mount, by time, on a volume with features, and on one that grows."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from glusterlab.analysis.select import valid_samples
from glusterlab.tables import build
from glusterlab.testbed import network, state
from tests.e2e.suite import glusterlab, started_testbed

pytestmark = pytest.mark.testbed

NAME = "e2e-fio"
CAMPAIGN = """\
schema_version: 1
name: small-fio
study: supermicro-2017
seed: 7
repeats: 1
layouts: [{name: mirror, type: replicate, geometry: 1x2, backing: jbod}]
access: [native, gfapi]
workers: 4
deadline: 3 min
workloads:
  - {tool: fio, operations: write, file_size: 2 MiB, record_size: 64 KiB, model: large-file}
  - tool: fio
    operations: [random-read, mixed]
    file_size: 2 MiB
    record_size: 4 KiB
    runtime: 8 s
    mounts: 2
    model: large-file
"""

# a volume at a time with what no `volume set` turns on, and one whose files are spread anew meanwhile
FEATURES = """\
schema_version: 1
name: features
study: rhgs-3.1
seed: 7
repeats: 1
layouts:
  - {name: plain, type: replicate, geometry: 1x2, backing: jbod}
  - {name: signed, type: replicate, geometry: 1x2, backing: jbod, features: [bitrot, quota]}
workers: 4
deadline: 3 min
workloads:
  - {tool: fio, operations: read, file_size: 2 MiB, record_size: 64 KiB, runtime: 5 s, model: large-file}
  - tool: fio
    operations: read
    file_size: 2 MiB
    record_size: 64 KiB
    runtime: 40 s  # gluster takes ten to start a rebalance, and longer on a busy machine
    model: large-file
    event: {do: rebalance, to: 2x2, throttle: aggressive, at: 1 s}
  - tool: fio
    operations: read
    file_size: 2 MiB
    record_size: 64 KiB
    runtime: 60 s  # three commands to gluster come before the heal
    model: large-file
    event: {do: reset-brick, at: 1 s}
exclude: [{where: {layout: signed, event: [rebalance, reset-brick]}, reason: one of the two at a time}]
"""


@pytest.fixture(scope="module")
def pool(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A project with a small pool: 2 servers with two disks each, 2 clients, at 1:512."""
    project = tmp_path_factory.mktemp("project")
    (project / "campaign.yaml").write_text(CAMPAIGN, encoding="utf-8")
    (project / "features.yaml").write_text(FEATURES, encoding="utf-8")
    sizes = ("--servers", "2", "--clients", "2", "--disks", "2", "--arrays", "0", "--scale", "512")
    with started_testbed(NAME, "10.213.0.0/24", *sizes, cwd=project):
        yield project
    assert not network.namespaces(NAME)
    assert not state.state_folder(NAME).exists()


def test_fio_cells_are_measured(pool: Path) -> None:
    cluster = state.state_folder(NAME) / "cluster.yaml"
    glusterlab("run", "campaign.yaml", "--cluster", cluster, cwd=pool)
    glusterlab("verify", "raw/small-fio", cwd=pool)
    tables = build.load(pool / "raw/small-fio", pool / "tables")
    samples = valid_samples(tables.samples)  # on a busy machine telemetry may have a gap, and the sample is run again
    cells = {(*row,) for row in samples[["operation", "access", "mounts"]].astype(object).to_numpy()}
    assert cells == {
        ("write", "native", 1),
        ("write", "gfapi", 1),
        ("random-read", "native", 2),
        ("mixed", "native", 2),
    }
    assert (samples["throughput_bytes_per_s"] > 0).all()
    timed = samples[samples["operation"] != "write"]
    assert (timed["elapsed_s"] > 7).all()
    assert (timed["latency_p50_s"] <= timed["latency_p99_s"]).all()
    # random and sequential work by another record size is done on the files that the write left
    assert set(tables.workers["host"]) == {"client01", "client02"}


def test_features_are_on_and_a_volume_grows_meanwhile(pool: Path) -> None:
    cluster = state.state_folder(NAME) / "cluster.yaml"
    glusterlab("run", "features.yaml", "--cluster", cluster, cwd=pool)
    glusterlab("verify", "raw/features", cwd=pool)
    samples = valid_samples(build.load(pool / "raw/features", pool / "tables").samples)
    assert len(samples) == 4
    (signed,) = samples[samples["features"] != ""].to_dict("records")
    (grown,) = samples[samples["event"] == "rebalance"].to_dict("records")
    (healed,) = samples[samples["event"] == "reset-brick"].to_dict("records")
    assert (signed["layout"], signed["features"], signed["event"]) == ("signed", "bitrot; quota", "")
    assert (grown["layout"], grown["event"], grown["event_throttle"]) == ("plain", "rebalance", "aggressive")
    assert grown["part_start_s"] < grown["event_start_s"] < grown["part_end_s"]
    assert grown["event_s"] >= 0
    # 8 MiB in the brick, of which a disk writes 0.4 MB in a second
    assert (healed["layout"], healed["event_throttle"], healed["event_s"] > 5) == ("plain", "", True)
