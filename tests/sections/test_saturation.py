"""Facts of hosts from a campaign's raw files: what is there is read, what is not is absent, damage is told."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from glusterlab.analysis.saturation.resources import Capacity, Limits, Operations, capacities, with_operations
from glusterlab.analysis.saturation.verdict import judge
from glusterlab.errors import RawStoreError
from glusterlab.sections.saturation import memory_by_host, operations_by_cell
from glusterlab.spec.yaml import load_cluster
from tests.busy_pool import HOSTS, START, Pool
from tests.conftest import build_samples

Make = Callable[..., pd.DataFrame]
FIRST_LIGHT = Path(__file__).parents[2] / "raw" / "first-light"


def throttle(raw: Path, row: pd.Series, data: Any) -> None:
    folder = raw / "cells" / str(row["cell_id"]) / f"sample-{int(row['sample']):02d}" / "workload"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "throttle.json").write_text(data if isinstance(data, str) else json.dumps(data))


@pytest.fixture
def rows(make_samples: Make) -> pd.DataFrame:
    return make_samples({("disperse", "read", 12): [1.0, 2.0], ("replicate", "read", 12): [1.0]}, tool="smallfile")


def test_operations_are_those_of_the_kind_of_brick(tmp_path: Path, rows: pd.DataFrame) -> None:
    for _, row in rows.iterrows():
        throttle(tmp_path, row, {"disk": {"riops": 5, "wiops": 6}, "array": {"riops": 60, "wiops": 29}})
    found = operations_by_cell(tmp_path, rows)
    assert sorted(found.values(), key=lambda each: each.read) == [Operations(5, 6), Operations(60, 29)]
    assert operations_by_cell(tmp_path, rows.assign(operations_limited=False)) == {}


@pytest.mark.parametrize(
    "data",
    ["", "{", "[]", "null", {"disk": {}}, {"disk": {"riops": 0, "wiops": 5}}, {"disk": {"riops": "x", "wiops": 5}}],
)
def test_a_throttle_that_does_not_say_leaves_operations_unknown(tmp_path: Path, rows: pd.DataFrame, data: Any) -> None:
    throttle(tmp_path, rows.iloc[0], data)
    assert operations_by_cell(tmp_path, rows) == {}


def test_hosts_without_facts_are_absent(tmp_path: Path) -> None:
    environment = tmp_path / "environment.json"
    hosts = {"s1": {"memory_bytes": 64}, "s2": {"memory_bytes": "much"}, "s3": None, "s4": {"memory_bytes": True}}
    for known, found in ((hosts, {"s1": 64}), ([], {})):
        environment.write_text(json.dumps({"schema_version": 1, "hosts": known}))
        assert memory_by_host(tmp_path) == {1: found}
    environment.write_text("{")
    with pytest.raises(RawStoreError, match="expected JSON"):
        memory_by_host(tmp_path)


def test_memory_is_that_of_the_machine_that_measured_the_sample(tmp_path: Path) -> None:
    # it went on on a machine with half the memory
    for name, memory in (("environment.json", 64e9), ("environment-2.json", 32e9)):
        hosts = {host: {"memory_bytes": memory} for host in HOSTS}
        (tmp_path / name).write_text(json.dumps({"schema_version": 1, "hosts": hosts}))
    known = memory_by_host(tmp_path)
    assert {machine: hosts[HOSTS[0]] for machine, hosts in known.items()} == {1: 64e9, 2: 32e9}
    times = {"start_s": START, "end_s": START + 60, "elapsed_s": 60.0}
    samples = build_samples({("disperse", "write", 12): [1.0, 1.0, 1.0]}, **times).assign(machine=[1, 2, 3])
    pool = Pool().other("memory", "available_bytes", 16e9, HOSTS)
    telemetry = pd.concat([pool.table(row) for _, row in samples.iterrows()])
    found = judge(telemetry, samples, {str(samples["cell_id"].iloc[0]): Capacity(memory=known)})
    used = found.use[found.use["subsystem"] == "server memory"].groupby("sample")["mean"].mean()
    assert used.to_dict() == pytest.approx({1: 0.75, 2: 0.5})
    # of a machine without facts nothing is said
    assert "memory" in found.verdicts.set_index("sample")["not_judged"][3]


def test_a_campaign_that_was_measured_has_its_facts(rows: pd.DataFrame) -> None:
    memory = memory_by_host(FIRST_LIGHT)
    assert [(machine, len(hosts)) for machine, hosts in memory.items()] == [(1, 18)]
    cluster = load_cluster(FIRST_LIGHT / "cluster.yaml")
    limits = {str(cell): Limits(100.0, 50.0, 24.0, 36.0, "night") for cell in rows["cell_id"]}
    of = capacities(rows, cluster, limits, memory, {})
    disperse = of[next(cell for cell in of if "disperse" in cell)]
    assert (disperse.server_link, disperse.client_link, disperse.disk_write, disperse.disk_read) == (100, 50, 2, 3)
    assert (disperse.serial, disperse.one_machine, disperse.operations, disperse.memory) == (True, True, None, memory)
    replicate = of[next(cell for cell in of if "replicate" in cell)]
    assert (replicate.disk_write, replicate.server_write, replicate.serial) == (24, 24, False)
    alone = capacities(rows, cluster, {cell: Limits(1, 1, 1, 1, "", 7.0, 8.0) for cell in limits}, memory, {})
    assert {(each.disk_write, each.disk_read) for each in alone.values()} == {(7.0, 8.0)}
    assert list(capacities(rows, None, limits, {}, {}).values()) == [Capacity(), Capacity()]
    assert list(capacities(rows, cluster, {}, {}, {}).values()) == [Capacity(one_machine=True)] * 2


def test_operations_of_a_server_are_those_of_all_its_bricks(rows: pd.DataFrame) -> None:
    cluster = load_cluster(FIRST_LIGHT / "cluster.yaml")
    limits = {str(cell): Limits(100.0, 50.0, 24.0, 36.0) for cell in rows["cell_id"]}
    disperse = next(cell for cell in limits if "disperse" in cell)
    operations = {disperse: Operations(3.0, 2.0), "elsewhere": Operations(1.0, 1.0)}
    found = with_operations(limits, rows, cluster, operations)
    assert (found[disperse].server_operations_read, found[disperse].server_operations_write) == (36.0, 24.0)
    assert found | {disperse: limits[disperse]} == limits
    assert with_operations(limits, rows, None, operations) == limits
