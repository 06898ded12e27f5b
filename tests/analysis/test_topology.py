"""Tables of a cluster: what cluster.yaml says of its hosts and servers, and nothing else."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from glusterlab.analysis.topology import HOST_COLUMNS, MODEL_COLUMNS, hosts_table, server_models_table
from glusterlab.spec import Cluster, load_cluster

SUPERMICRO = Path(__file__).parents[2] / "runbooks" / "supermicro-2017"


def cluster(**changed: Any) -> Cluster:
    return Cluster.model_validate(
        {
            "schema_version": 1,
            "name": "pool",
            "servers": [{"name": "s1"}, {"name": "s2"}, {"name": "s3"}],
            "clients": [{"name": "c1"}],
            "hardware": {
                "disks_per_server": 24,
                "disk_write": "205 MB/s",
                "disk_read": "212 MB/s",
                "server_link": "20 Gbit/s",
                "client_link": "10 Gbit/s",
            },
            "server_models": {
                "small": {"model": "Two bays", "disks": 2, "disk_capacity": "6 TB", "memory": "8 GB"},
                "large": {"model": "A shelf", "disks": 24},
            },
            "backings": {
                "jbod": {"bricks": ["/b/1", "/b/2"], "kind": "jbod", "server_model": "small"},
                "raid6": {"bricks": ["/b/a"], "kind": "raid6", "disks_per_brick": 24, "server_model": "large"},
            },
            **changed,
        }
    )


def test_hosts_are_servers_then_clients_with_what_hardware_says() -> None:
    table = hosts_table(cluster())
    assert list(table.columns) == HOST_COLUMNS
    assert list(zip(table["role"], table["host"], table["disks"], strict=True)) == [
        ("server", "s1", 24),
        ("server", "s2", 24),
        ("server", "s3", 24),
        ("client", "c1", 0),
    ]
    assert list(table["link_bytes_per_s"]) == [2.5e9] * 3 + [1.25e9]
    assert table["bricks"].iloc[0] == "jbod: 2 bricks of 1 disk; raid6: 1 brick of 24 disks"
    assert list(table["model"]) == [""] * 4


def test_servers_as_one_kind_have_its_disks_and_its_bricks_only() -> None:
    small = hosts_table(cluster(), "small")
    assert list(small["disks"]) == [2, 2, 2, 0]
    assert small["bricks"].iloc[0] == "jbod: 2 bricks of 1 disk"
    assert (small["model"].iloc[0], small["parts"].iloc[0]) == ("Two bays", "8 GB")
    assert hosts_table(cluster(), "large")["bricks"].iloc[0] == "raid6: 1 brick of 24 disks"


def test_a_kind_that_the_cluster_lacks_has_no_rows() -> None:
    assert hosts_table(cluster(), "dense").empty
    assert list(hosts_table(cluster(), "dense").columns) == HOST_COLUMNS


def test_of_a_cluster_that_is_not_known_there_is_nothing() -> None:
    assert hosts_table(None).empty
    assert server_models_table(None).empty


def test_kinds_of_server_have_what_is_known() -> None:
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
    assert not hosts_table(plain).empty


@pytest.mark.parametrize(("file", "name", "tb"), [("cluster", "standard", 72), ("cluster-dense", "dense", 144)])
def test_the_guide_s_servers_have_the_capacity_that_it_states(file: str, name: str, tb: int) -> None:
    [row] = server_models_table(load_cluster(SUPERMICRO / f"{file}.yaml")).to_dict("records")
    assert (row["name"], row["raw_capacity_bytes"]) == (name, tb * 1e12)
