"""A cluster and a campaign as their writers write them, and how tests change single lines of them."""

from collections.abc import Callable
from pathlib import Path

import pytest

from glusterlab.spec import Campaign, Cluster, load_campaign, load_cluster

SERVERS = "".join(f"  - {{name: s{n}, address: 10.77.0.1{n}, devices: [loop{n}]}}\n" for n in range(1, 7))
BRICKS = ", ".join(f"/bricks/jbod/d{n:02d}" for n in range(1, 13))

CLUSTER = f"""\
schema_version: 1
name: pool
ssh: {{config: ssh_config, connect_timeout: 10 s}}
servers:
{SERVERS}clients:
  - {{name: c1, address: 10.77.0.31}}
  - {{name: c2}}
hardware:
  disks_per_server: 12
  disk_write: 205 MB/s
  disk_read: 212 MB/s
  array_write: 1224 MB/s
  array_read: 1107 MB/s
  server_link: 20 Gbit/s
  client_link: 10 Gbit/s
backings:
  jbod: {{bricks: [{BRICKS}], kind: jbod}}
  raid6: {{bricks: [/bricks/raid6/a01], disks_per_brick: 12, kind: raid6}}
scale_models:
  large-file: {{scale: 200}}
  small-file: {{scale: 20, operations: true}}
testbed: {{name: default, state: state}}
"""

CAMPAIGN = """\
schema_version: 1
name: first-light
study: supermicro-2017
seed: 2017
repeats: 3
layouts:
  - {name: mirror, type: replicate, geometry: 3x2, backing: raid6, options: {cluster.lookup-optimize: on}}
  - {name: ec, type: disperse, geometry: 12x(4+2), backing: jbod}
workloads:
  - tool: iozone
    operations: [write, read]
    file_size: 20 MiB
    stands_for: 4 GiB
    record_size: 512 KiB
    model: large-file
  - {tool: smallfile, operations: [create, read], file_size: 32 KiB, files_per_worker: 100, model: small-file}
workers: [2, 4]
deadline: 20 min
exclude:
  - {where: {layout: ec, tool: smallfile, workers: 4}, reason: too slow}
"""

Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Write a specification; ``replace={old: new}`` changes it first, and each ``old`` must stand in it once."""

    def write(name: str, text: str, replace: dict[str, str] | None = None) -> Path:
        for old, new in (replace or {}).items():
            assert text.count(old) == 1, old
            text = text.replace(old, new)
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return write


@pytest.fixture
def cluster(write: Write) -> Cluster:
    return load_cluster(write("cluster.yaml", CLUSTER))


@pytest.fixture
def campaign(write: Write) -> Campaign:
    return load_campaign(write("campaign.yaml", CAMPAIGN))
