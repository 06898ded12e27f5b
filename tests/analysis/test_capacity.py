"""Capacity of layouts, and the guide's rules on pools: known answers, and what holds for every layout."""

from typing import Any

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from glusterlab.analysis.capacity import (
    MAX_FAULT_DOMAIN,
    capacity_table,
    check_pool,
    fault_domain,
    layouts_of,
    pool_capacity,
    unknown_capacity,
)
from glusterlab.errors import DataError
from tests.guide_pools import pools

TB = 10**12
FIGURE_3 = pd.DataFrame(
    [("replicate", "3x2", "raid6", 12, 12), ("disperse", "12x(4+2)", "jbod", 1, 12)],
    columns=["type", "geometry", "kind", "disks_per_brick", "disks_per_server"],
)


def test_figure_3_has_108_tb_more() -> None:
    table = capacity_table(FIGURE_3, servers=6, disk_bytes=6 * TB).set_index("type")
    parts = table[["raw_bytes", "usable_bytes", "parity_bytes", "replica_bytes"]] / TB
    assert parts.to_numpy().tolist() == [[432, 180, 72, 180], [432, 288, 144, 0]]
    assert table["disks"].tolist() == [72, 72]


@pytest.mark.parametrize(
    ("type_", "geometry", "kind", "disks", "usable", "parity", "replica"),
    [
        ("distribute", "6", "jbod", 1, 1.0, 0.0, 0.0),
        ("distribute", "6", "raid10", 4, 0.5, 0.0, 0.5),
        ("replicate", "3x2", "raid10", 4, 0.25, 0.0, 0.75),
        ("replicate", "2x3", "jbod", 1, 1 / 3, 0.0, 2 / 3),
        ("replicate", "6x2", "raid6", 12, 5 / 12, 2 / 12, 5 / 12),
        ("disperse", "2x(4+2)", "raid6", 12, 5 / 9, 2 / 12 + 10 / 36, 0.0),
        ("disperse", "24x(4+2)", "raid0", 1, 2 / 3, 1 / 3, 0.0),
        ("disperse", "1x(8+3)", "nvme", 1, 8 / 11, 3 / 11, 0.0),
    ],
)
def test_shares_of_known_layouts(
    type_: str, geometry: str, kind: str, disks: int, usable: float, parity: float, replica: float
) -> None:
    found = pool_capacity(1.0, type_=type_, geometry=geometry, kind=kind, disks_per_brick=disks)
    assert (found.usable, found.parity, found.replica) == pytest.approx((usable, parity, replica))


@settings(deadline=None)
@given(
    raw=st.floats(1e3, 1e18),
    subvolumes=st.integers(1, 50),
    code=st.tuples(st.integers(2, 16), st.integers(1, 4)).filter(lambda code: code[0] > code[1]),
    replica=st.integers(2, 5),
    kind=st.sampled_from(["jbod", "raid6", "raid0", "raid10", "nvme"]),
    disks=st.integers(4, 24),
)
def test_parts_add_up(raw: float, subvolumes: int, code: tuple[int, int], replica: int, kind: str, disks: int) -> None:
    geometries = {
        "replicate": f"{subvolumes}x{replica}",
        "distribute": str(subvolumes),
        "disperse": f"{subvolumes}x({code[0]}+{code[1]})",
    }
    for type_, geometry in geometries.items():
        shape = {"type_": type_, "geometry": geometry, "kind": kind, "disks_per_brick": disks}
        found = pool_capacity(raw, **shape)
        assert 0 < found.usable <= raw
        assert found.parity >= 0
        assert found.replica >= -1e-9 * raw
        assert found.usable + found.parity + found.replica == pytest.approx(raw)
        assert pool_capacity(2 * raw, **shape).usable == pytest.approx(2 * found.usable)


@pytest.mark.parametrize(
    ("raw", "geometry", "message"),
    [(float("nan"), "3x2", "raw bytes above 0"), (1.0, "12x(4+2)", "expected a geometry such as '3x2'")],
)
def test_what_is_no_layout_is_refused(raw: float, geometry: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        pool_capacity(raw, type_="replicate", geometry=geometry, kind="jbod")


@pytest.mark.parametrize(
    ("type_", "geometry", "kind", "disks", "reason"),
    [
        ("replicate", "3x2", "raid6", 3, "expected RAID 6 arrays of at least 4 disks, found 3"),
        ("replicate", "3x2", "raid5", 12, "found 'raid5'"),
        ("other", "1", "gpfs", 1, "expected a GlusterFS volume"),
    ],
)
def test_unknown_capacity_is_not_all(type_: str, geometry: str, kind: str, disks: int, reason: str) -> None:
    assert reason in unknown_capacity(type_, kind, disks)
    with pytest.raises(DataError, match=f"is not known: .*{reason}"):
        pool_capacity(1.0, type_=type_, geometry=geometry, kind=kind, disks_per_brick=disks)


def test_layouts_of_unknown_capacity_are_left_out_of_the_table() -> None:
    some = pools({"write": {"replicate": 44e6, "disperse": 80e6}})
    assert layouts_of(some)["type"].tolist() == ["replicate", "disperse"]
    strange = some.assign(kind=[kind.replace("raid6", "raid5") for kind in some["kind"]])
    assert layouts_of(strange)["type"].tolist() == ["disperse"]


@pytest.mark.parametrize(
    ("type_", "servers", "changed", "expected"),
    [
        ("disperse", 6, {}, []),
        ("replicate", 6, {}, []),
        ("disperse", 5, {}, ["fault-domain", "recommended-pool"]),
        ("replicate", 5, {}, ["fault-domain"]),
        ("replicate", 1, {}, ["fault-domain", "supported-pool", "recommended-pool"]),
        ("distribute", 6, {}, []),
        ("disperse", 129, {}, ["largest-pool"]),
        # the limit is one that a server stays below
        ("disperse", 10, {"max_fault_domain": 0.1}, ["fault-domain"]),
        ("disperse", 11, {"max_fault_domain": 0.1}, []),
        # the pool that the guide tested, and the same with the disks of its bill of materials: above a petabyte
        ("disperse", 6, {"disks_per_server": 24, "raw": 6 * 24 * 6 * TB}, ["dense-servers"]),
        ("disperse", 6, {"disks_per_server": 24, "raw": 6 * 24 * 8 * TB}, []),
    ],
)
def test_rules_of_pools(type_: str, servers: int, changed: dict[str, Any], expected: list[str]) -> None:
    facts = {"disks_per_server": 12, "raw": 4e14, "max_fault_domain": MAX_FAULT_DOMAIN} | changed
    assert [finding.rule for finding in check_pool(type_, servers, **facts) if not finding.ok] == expected


def test_the_limit_is_one_that_a_server_stays_below() -> None:
    assert fault_domain(6) < MAX_FAULT_DOMAIN < fault_domain(5)
    sentence = check_pool("disperse", 5, disks_per_server=12, raw=4e14)[0].sentence
    assert sentence == "expected one server to hold less than 17 % of the pool, found 1/5 = 20 %"
