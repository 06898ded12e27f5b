"""fio on a small real pool: a write with and without a mount, random reads and a mix by time through two mounts."""

from collections.abc import Iterator
from pathlib import Path

import pytest

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


@pytest.fixture(scope="module")
def pool(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A project with a small pool: 2 servers with a disk each, 2 clients, at 1:512."""
    project = tmp_path_factory.mktemp("project")
    (project / "campaign.yaml").write_text(CAMPAIGN, encoding="utf-8")
    sizes = ("--servers", "2", "--clients", "2", "--disks", "1", "--arrays", "0", "--scale", "512")
    with started_testbed(NAME, "10.213.0.0/24", *sizes, cwd=project):
        yield project
    assert not network.namespaces(NAME)
    assert not state.state_folder(NAME).exists()


def test_fio_cells_are_measured(pool: Path) -> None:
    cluster = state.state_folder(NAME) / "cluster.yaml"
    glusterlab("run", "campaign.yaml", "--cluster", cluster, cwd=pool)
    glusterlab("verify", "raw/small-fio", cwd=pool)
    tables = build.load(pool / "raw/small-fio", pool / "tables")
    samples = tables.samples
    cells = {(*row,) for row in samples[["operation", "access", "mounts", "status"]].astype(object).to_numpy()}
    assert cells == {
        ("write", "native", 1, "valid"),
        ("write", "gfapi", 1, "valid"),
        ("random-read", "native", 2, "valid"),
        ("mixed", "native", 2, "valid"),
    }
    assert (samples["throughput_bytes_per_s"] > 0).all()
    timed = samples[samples["operation"] != "write"]
    assert (timed["elapsed_s"] > 7).all()
    assert (timed["latency_p50_s"] <= timed["latency_p99_s"]).all()
    # random and sequential work by another record size is done on the files that the write left
    assert set(tables.workers["host"]) == {"client01", "client02"}
