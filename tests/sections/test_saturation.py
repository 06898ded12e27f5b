"""Facts of hosts from a campaign's raw files: what is there is read, what is not is absent, damage is told."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from glusterlab.analysis import Limits
from glusterlab.analysis.saturation.resources import Capacity, Operations, PoolFacts, capacities, with_operations
from glusterlab.errors import RawStoreError
from glusterlab.sections.saturation import pool_facts
from glusterlab.spec.yaml import load_cluster

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
    facts = pool_facts(tmp_path, rows)
    assert sorted(facts.operations.values(), key=lambda each: each.read) == [Operations(5, 6), Operations(60, 29)]
    assert pool_facts(tmp_path, rows.assign(operations_limited=False)) == PoolFacts()


@pytest.mark.parametrize(
    "data",
    ["", "{", "[]", "null", {"disk": {}}, {"disk": {"riops": 0, "wiops": 5}}, {"disk": {"riops": "x", "wiops": 5}}],
)
def test_a_throttle_that_does_not_say_leaves_operations_unknown(tmp_path: Path, rows: pd.DataFrame, data: Any) -> None:
    throttle(tmp_path, rows.iloc[0], data)
    assert pool_facts(tmp_path, rows).operations == {}


def test_hosts_without_facts_are_absent(tmp_path: Path, rows: pd.DataFrame) -> None:
    hosts = {"s1": {"cpus": 8, "memory_bytes": 64}, "s2": {"cpus": "many"}, "s3": None, "s4": {"cpus": True}}
    text = json.dumps({"schema_version": 1, "hosts": hosts, "shared_counters": ["blocked processes"]})
    (tmp_path / "environment.json").write_text(text)
    facts = pool_facts(tmp_path, rows)
    assert (facts.cpus, facts.memory) == ({"s1": 8}, {"s1": 64})
    assert facts.shared == {"blocked processes"}
    (tmp_path / "environment.json").write_text(json.dumps({"schema_version": 1, "hosts": [], "shared_counters": 3}))
    assert pool_facts(tmp_path, rows) == PoolFacts()
    (tmp_path / "environment.json").write_text("{")
    with pytest.raises(RawStoreError, match="expected JSON"):
        pool_facts(tmp_path, rows)


def test_a_campaign_that_was_measured_has_its_facts(rows: pd.DataFrame) -> None:
    facts = pool_facts(FIRST_LIGHT, rows)
    assert len(facts.cpus) == 18
    assert "blocked processes" in facts.shared
    cluster = load_cluster(FIRST_LIGHT / "cluster.yaml")
    limits = {str(cell): Limits(100.0, 50.0, 24.0, 36.0, "night") for cell in rows["cell_id"]}
    of = capacities(rows, cluster, limits, facts)
    disperse = of[next(cell for cell in of if "disperse" in cell)]
    assert (disperse.server_link, disperse.client_link, disperse.disk_write, disperse.disk_read) == (100, 50, 2, 3)
    assert (disperse.serial, disperse.one_machine, disperse.source, disperse.operations) == (True, True, "night", None)
    replicate = of[next(cell for cell in of if "replicate" in cell)]
    assert (replicate.disk_write, replicate.server_write, replicate.serial) == (24, 24, False)
    alone = capacities(rows, cluster, {cell: Limits(1, 1, 1, 1, "", 7.0, 8.0) for cell in limits}, facts)
    assert {(each.disk_write, each.disk_read) for each in alone.values()} == {(7.0, 8.0)}
    assert list(capacities(rows, None, limits, PoolFacts()).values()) == [Capacity(), Capacity()]
    assert list(capacities(rows, cluster, {}, PoolFacts()).values()) == [Capacity(one_machine=True)] * 2


def test_operations_of_a_server_are_those_of_all_its_bricks(rows: pd.DataFrame) -> None:
    cluster = load_cluster(FIRST_LIGHT / "cluster.yaml")
    limits = {str(cell): Limits(100.0, 50.0, 24.0, 36.0) for cell in rows["cell_id"]}
    disperse = next(cell for cell in limits if "disperse" in cell)
    facts = PoolFacts(operations={disperse: Operations(3.0, 2.0), "elsewhere": Operations(1.0, 1.0)})
    found = with_operations(limits, rows, cluster, facts)
    assert (found[disperse].server_operations_read, found[disperse].server_operations_write) == (36.0, 24.0)
    assert {cell: limit for cell, limit in found.items() if cell != disperse} == {
        cell: limit for cell, limit in limits.items() if cell != disperse
    }
    assert with_operations(limits, rows, None, facts) == limits
