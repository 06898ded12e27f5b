"""Tables of a cluster's hosts and servers, and of file sizes: what their specifications say, and nothing else."""

import math
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from glusterlab.analysis.describe import (
    HOST_COLUMNS,
    MODEL_COLUMNS,
    file_sizes_table,
    hosts_table,
    server_models_table,
    written_sizes,
)
from glusterlab.errors import DataError
from glusterlab.spec import Cluster, load_cluster
from glusterlab.spec.campaign import Campaign
from glusterlab.spec.published import FILE_SIZES, load_file_sizes
from tests.guide_pools import GUIDE, RUNBOOK
from tests.pools import HARDWARE, pool_data

GIB = 2**30

SCALES = {"large-file": {"scale": 200}, "small-file": {"scale": 34, "operations": True}}
CAMPAIGN = {
    "schema_version": 1,
    "name": "night",
    "study": "supermicro-2017",
    "seed": 1,
    "repeats": 3,
    "layouts": [{"name": "mirror", "type": "replicate", "geometry": "1x2", "backing": "raid6"}],
    "workers": [1, 96, 6],
    "workloads": [
        {"tool": "iozone", "operations": ["write", "read"], "file_size": "10 MiB", "model": "large-file"}
        | {"stands_for": "4 GiB", "length": 0.5, "record_size": "256 KiB"},
        {"tool": "smallfile", "operations": "create", "file_size": "32 KiB", "model": "small-file"}
        | {"workers": 1, "files_per_worker": 40},
        {"tool": "smallfile", "operations": "read", "file_size": "32 KiB", "model": "small-file"}
        | {"workers": 48, "files_per_worker": 5},
        {"tool": "iozone", "operations": "read", "file_size": "1 GiB"},
    ],
}


def cluster(**changed: Any) -> Cluster:
    keys = {
        "hardware": HARDWARE | {"disks_per_server": 24},
        "server_models": {
            "small": {"model": "Two bays", "disks": 2, "disk_capacity": "6 TB", "memory": "8 GB"},
            "large": {"model": "A shelf", "disks": 24},
        },
        "backings": {
            "jbod": {"bricks": ["/b/1", "/b/2"], "kind": "jbod", "server_model": "small"},
            "raid6": {"bricks": ["/b/a"], "kind": "raid6", "disks_per_brick": 24, "server_model": "large"},
        },
    }
    return Cluster.model_validate(pool_data(3, **keys | changed))


def test_hosts_are_servers_then_clients_with_what_hardware_says() -> None:
    table = hosts_table(cluster())
    assert list(table.columns) == HOST_COLUMNS
    assert table[["role", "host", "disks", "link_bytes_per_s"]].values.tolist() == [
        *(["server", name, 24, 2.5e9] for name in ("s1", "s2", "s3")),
        ["client", "c1", 0, 1.25e9],
    ]
    assert table["bricks"].iloc[0] == "jbod: 2 bricks of 1 disk; raid6: 1 brick of 24 disks"
    small = hosts_table(cluster(), "small")
    assert list(small["disks"]) == [2, 2, 2, 0]
    assert small[["bricks", "model", "parts"]].iloc[0].tolist() == ["jbod: 2 bricks of 1 disk", "Two bays", "8 GB"]
    # a kind that the cluster lacks, and an unknown cluster
    for empty in (hosts_table(cluster(), "dense"), hosts_table(None)):
        assert (empty.empty, list(empty.columns)) == (True, HOST_COLUMNS)


def test_kinds_of_server_have_what_is_known() -> None:
    assert server_models_table(None).empty
    table = server_models_table(cluster())
    assert list(table.columns) == MODEL_COLUMNS
    small, large = table.to_dict("records")
    assert (small["name"], small["disks"], small["memory"]) == ("small", 2, "8 GB")
    assert (small["disk_capacity_bytes"], small["raw_capacity_bytes"]) == (6e12, 12e12)
    assert math.isnan(large["raw_capacity_bytes"])
    assert large["cpu_model"] == ""


def test_without_kinds_the_hardware_is_the_kind() -> None:
    plain = cluster(server_models={}, backings={"jbod": {"bricks": ["/b/1"], "kind": "jbod"}})
    [row] = server_models_table(plain).to_dict("records")
    assert (row["name"], row["disks"], row["network"]) == ("server", 24, "20 Gbit/s")
    [guide] = server_models_table(load_cluster(RUNBOOK / "cluster-dense.yaml")).to_dict("records")
    assert (guide["name"], guide["raw_capacity_bytes"]) == ("dense", 144e12)


@pytest.fixture
def written() -> pd.DataFrame:
    testbed = {"name": "default", "state": "/var/lib/testbed"}
    return written_sizes(Campaign.model_validate(CAMPAIGN), cluster(scale_models=SCALES, testbed=testbed))


def test_what_is_written_is_what_the_campaign_asks_for(written: pd.DataFrame) -> None:
    columns = ["file_size_bytes", "record_size_bytes", "scale", "length", "workers", "files_per_worker"]
    rows = written.set_index("nominal_file_size_bytes")[columns].T.to_dict("list")
    assert len(written) == 3
    assert rows[4 * GIB][:5] == [10 << 20, 256 << 10, 200, 0.5, "1 to 96"]
    small = written[written["tool"] == "smallfile"].iloc[0]
    assert math.isnan(small["record_size_bytes"])
    assert small[columns].drop("record_size_bytes").tolist() == [32 << 10, 34, 1, "1 to 48", "5 to 40"]
    assert rows[GIB][2:4] == [1, 1]


def test_a_study_without_sizes_leaves_those_of_the_campaign(tmp_path: Path, written: pd.DataFrame) -> None:
    empty = load_file_sizes(tmp_path)
    assert list(empty.columns) == FILE_SIZES
    alone = file_sizes_table(empty, written)[["label", "on_line"]].values.tolist()
    assert sorted(alone) == [["1 GiB", False], ["32 KiB", False], ["4 GiB", False]]
    assert file_sizes_table(empty, written.iloc[:0]).empty


@pytest.mark.parametrize("line", ["4 MB,x,x,x,x,yes,x", "4,x,x,x,x,maybe,x"])
def test_a_damaged_file_is_refused_with_its_place(line: str, tmp_path: Path) -> None:
    (tmp_path / "file-sizes.csv").write_text(
        f"nominal_file_size_bytes,label,use_case,tool,metric,on_line,source\n{line}\n"
    )
    with pytest.raises(DataError, match=":2: "):
        load_file_sizes(tmp_path)


def test_each_size_is_quoted_in_its_source() -> None:
    for row in load_file_sizes(GUIDE).to_dict("records"):
        assert row["label"].replace(" ", "") in row["source"]
        assert row["use_case"].lower() in row["source"].lower()
