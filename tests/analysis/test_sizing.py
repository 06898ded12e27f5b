"""Sizing: known answers, and that every answer keeps its own constraints."""

import math
from typing import Any

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from glusterlab.analysis.blocks import Block, best_rows, blocks, guess_sentence, server_rates
from glusterlab.analysis.capacity import LARGEST_POOL, RECOMMENDED_POOL
from glusterlab.analysis.sizing import Request, rate_interval, rate_text, size, size_block
from glusterlab.spec import Layout
from glusterlab.spec.cell import place_bricks
from glusterlab.spec.cluster import Cluster, Hardware, ServerModel
from glusterlab.spec.prices import PriceList
from tests.guide_pools import LAYOUTS, SERIES, SPREAD, chosen, pools

RATE = "throughput_bytes_per_s"
TB = 10**12
HARDWARE = Hardware(
    disks_per_server=24,
    disk_write=205e6,
    disk_read=212e6,
    array_write=1224e6,
    array_read=1107e6,
    server_link=2.5e9,
    client_link=1.25e9,
)


def block(name: str = "disperse", *, mean: float = 6e9, width: float = 0.1, n: int = 3, **changed: object) -> Block:
    _, type_, geometry, _, kind, server, disks = LAYOUTS[name]
    facts: dict[str, object] = {
        "series": SERIES[name],
        "type": type_,
        "geometry": geometry,
        "kind": kind,
        "server": server,
        "guessed": False,
        "servers": 6,
        "disks": disks,
        "mean": mean,
        "low": mean * (1 - width) if n > 2 else math.nan,
        "high": mean * (1 + width) if n > 2 else math.nan,
        "values": (mean,) * n,
        "workers": 48,
        "measured_workers": (1, 12, 48),
        "still_rising": False,
        "scale": 200.0,
        "operations_limited": False,
        "disk_bytes": 8.0 * TB,
        "server_cost": 10_000.0 if server == "standard" else 15_000.0,
        "cost_problem": "",
    }
    return Block(**(facts | changed))  # type: ignore[arg-type]


def wanted(**changed: object) -> Request:
    facts = {"operation": "write", "quantity": RATE}
    return Request(**(facts | changed))  # type: ignore[arg-type]


def test_throughput_is_sized_by_the_lower_end() -> None:
    # 6 GB/s on six servers, 0.9 at the lower end: 9 GB/s need 10 servers, or 9 by the mean
    one = size_block(block(), wanted(rate=9e9))
    assert (one.servers, one.binding, one.cost) == (10, ("throughput",), 100_000)
    assert (one.rate_low, one.rate_mean, one.fault_domain) == pytest.approx((9e9, 10e9, 0.1))
    assert size_block(block(), wanted(rate=9e9, by="mean")).servers == 9
    assert one.needs == {"throughput": 10, "fault domain": 6, "minimum pool": 6}
    assert one.per_disk == pytest.approx((6e9 / 72, 5.4e9 / 72, 6.6e9 / 72))


def test_capacity_grows_and_is_filled_to_its_limit() -> None:
    # 500 TB x 1.2^3 = 864 TB; 12 x 8 TB x 4/6 x 0.8 = 51.2 TB a server
    request = wanted(capacity=500e12, growth=0.2, years=3)
    one = size_block(block(), request)
    assert (one.servers, one.binding) == (17, ("capacity",))
    assert one.usable == pytest.approx(17 * 64e12)
    assert one.fillable >= float(request.final_capacity or 0)
    # RAID 6 and two copies: 12 x 8 x 10/12 / 2 x 0.8 = 32 TB a server, 27 of them, in pairs
    other = size_block(block("replicate"), request)
    assert (other.servers, other.binding) == (28, ("capacity", "geometry"))
    assert size_block(block(), wanted(capacity=512e12, fill_limit=1.0)).servers == 8


@pytest.mark.parametrize(
    ("name", "share", "servers", "binding"),
    [
        ("disperse", 0.17, 6, ("fault domain", "minimum pool")),
        ("replicate", 1.0, 4, ("minimum pool",)),
        ("replicate", 0.25, 6, ("fault domain", "geometry")),
        ("disperse", 0.05, 21, ("fault domain",)),
        ("disperse-raid6", 0.1, 12, ("fault domain", "geometry")),
        ("disperse-raid6-dense", 0.12, 9, ("fault domain",)),
    ],
)
def test_rules_on_pools_decide_small_demands(name: str, share: float, servers: int, binding: tuple[str, ...]) -> None:
    one = size_block(block(name), wanted(rate=1.0, max_fault_domain=share))
    assert (one.servers, one.binding) == (servers, binding)


def test_what_no_pool_can_do_is_said() -> None:
    one = size_block(block(), wanted(rate=1e12))
    assert (one.possible, one.servers, one.cost) == (False, 0, None)
    assert one.problem == "throughput: 1,112 servers, and one pool has at most 128"
    # 128 is none of the steps of six
    assert "132 servers" in size_block(block("disperse-raid6"), wanted(rate=0.9e9 * 127.5)).problem
    assert size_block(block(), wanted(rate=0.9e9 * 128)).servers == 128


def test_too_few_samples_are_no_basis_for_a_lower_end() -> None:
    assert "insufficient n: 2 valid" in size_block(block(n=2), wanted(rate=1e9)).problem
    assert size_block(block(n=2), wanted(rate=1e9, by="mean")).possible
    assert size_block(block(n=2), wanted(capacity=1e14)).possible
    assert "not above 0" in size_block(block(width=1.5), wanted(rate=1e9)).problem


def test_dense_servers_are_judged_by_the_capacity_that_is_needed() -> None:
    """Six of them, which the rules ask for, are 1.152 PB raw: bought, and not needed for 110 TB."""
    dense = block("disperse-dense")
    one = size_block(dense, wanted(capacity=110e12))
    assert (one.servers, dense.raw(one.servers)) == (6, 1.152e15)
    # 110 TB / 0.8 x 6/4
    assert one.advice == ("expected a need of more than 1 PB of raw capacity for servers of 24 disks, found 0.206 PB",)
    assert dense.raw_for(110e12 / 0.8) == pytest.approx(206.25e12)
    assert size_block(block("disperse-dense", disk_bytes=6.0 * TB), wanted(rate=1.0)).advice
    # 1 PB raw are 533 TB of files at 80 %
    assert size_block(dense, wanted(capacity=533e12)).advice
    assert size_block(dense, wanted(capacity=534e12)).advice == ()
    assert size_block(block("disperse"), wanted(capacity=1e12)).advice == ()


def test_what_a_layout_of_unknown_backing_holds_is_not_known() -> None:
    strange = block(kind="raid5")
    assert math.isnan(strange.usable(6))
    one = size_block(strange, wanted(capacity=1e14))
    assert not one.possible
    assert one.problem.startswith("its capacity is not known: expected a backing of the kind jbod, raid6, ")
    assert math.isnan(size_block(strange, wanted(rate=1e9)).usable)


def test_rules_of_thumb_and_bounds_of_a_server() -> None:
    """1,200 MB/s: 1,200 / 2 x 0.7 = 420 for writes and 1,200 x 0.6 = 720 for reads, as the summit counts.

    The brief of 3.1 derives bounds of 800 and 600 MB/s a server from 1,200 MB/s, where disks are fast enough.
    """
    slow = HARDWARE.model_copy(update={"server_link": 1.2e9})
    assert server_rates(block("replicate"), slow, "write") == pytest.approx((420e6, 600e6))
    assert server_rates(block("disperse"), slow, "read") == pytest.approx((720e6, 1200e6))
    assert server_rates(block("disperse"), slow, "write")[1] == pytest.approx(800e6)
    # 12 disks of 205 MB/s are slower than 20 Gbit/s; (4+2)/4 stands for the replicas
    assert server_rates(block("disperse"), HARDWARE, "write") == pytest.approx(
        (12 * 205e6 / 1.5 * 0.7, 12 * 205e6 / 1.5)
    )
    # one array under a replicated volume is slower than the link
    assert server_rates(block("replicate"), HARDWARE, "read") == pytest.approx((1107e6 * 0.6, 1107e6))
    assert server_rates(block("replicate-dense"), HARDWARE, "read")[0] == pytest.approx(2 * 1107e6 * 0.6)
    unknown = HARDWARE.model_copy(update={"array_write": None})
    assert server_rates(block("replicate"), unknown, "write")[0] == pytest.approx(12 * 205e6 / 2 * 0.7)
    assert server_rates(block("replicate", geometry="4x2"), HARDWARE, "write")[1] is None
    assert server_rates(block(), None, "write") == server_rates(block(), HARDWARE, "create") == (None, None)


def test_the_rule_of_thumb_sizes_the_same_request() -> None:
    # 12 x 205 / 1.5 x 0.7 = 1,148 MB/s a server: 9 for 9.2 GB/s, where the measured ones need 11
    one = size_block(block(), wanted(rate=9.2e9), HARDWARE)
    assert (one.servers, one.thumb_servers) == (11, 9)
    assert size_block(block(), wanted(capacity=1e14), HARDWARE).thumb_servers is None
    # also where the measured samples are too few
    assert size_block(block(n=1), wanted(rate=9.2e9), HARDWARE).thumb_servers == 9


def test_the_cheapest_comes_first_and_the_impossible_last() -> None:
    found = size([block("disperse-dense"), block(n=1), block("replicate")], wanted(rate=1e9))
    assert [one.block.series for one in found] == [SERIES[name] for name in ("replicate", "disperse-dense", "disperse")]


def made(samples: pd.DataFrame, *known: object) -> dict[str, Block]:
    return {one.series: one for one in blocks(best_rows(chosen(samples), RATE), *known)}  # type: ignore[arg-type]


@pytest.fixture
def samples() -> pd.DataFrame:
    return pools({"write": {"disperse": 80e6, "replicate-dense": 30e6}})


def test_blocks_come_from_samples_prices_and_cluster(prices: PriceList, samples: pd.DataFrame) -> None:
    cluster = a_cluster(server_models={"standard": ServerModel(model="box", disks=12, disk_capacity=6 * TB)})
    found = made(samples, prices, cluster)
    one = found[SERIES["disperse"]]
    assert one.mean == pytest.approx(80e6 * 72)
    assert one.low < one.mean < one.high
    assert (one.servers, one.layout.bricks, one.server, one.n, one.scale) == (6, 72, "standard", 3, 200.0)
    assert (one.server_cost, one.disk_bytes) == (16_670, 8 * TB)
    assert found[SERIES["replicate-dense"]].layout.bricks == 12
    # without prices the cluster's disks count, and what is named goes before both
    plain = made(samples, None, cluster)
    assert (plain[SERIES["disperse"]].disk_bytes, plain[SERIES["disperse"]].server_cost) == (6 * TB, None)
    assert plain[SERIES["replicate-dense"]].disk_bytes is None
    named = made(samples, prices, cluster, 4.0 * TB)
    assert {one.disk_bytes for one in named.values()} == {4 * TB}


def test_a_server_that_the_list_lacks_has_no_price(prices: PriceList, samples: pd.DataFrame) -> None:
    for one in made(samples, prices, None, 16.0 * TB).values():
        assert (one.server_cost, one.disk_bytes, one.guessed) == (None, 16 * TB, False)
        assert f"the list has {one.server!r} with disks of 8 TB, not of 16 TB" in one.cost_problem
    assert all(one.server_cost and not one.cost_problem for one in made(samples, prices, None, 8.0 * TB).values())
    missing = made(samples.assign(server_model="ultra"), prices)
    assert {one.cost_problem for one in missing.values()} == {"the list has no server 'ultra' (standard, dense)"}
    assert {one.cost_problem for one in made(samples, None, None, 16.0 * TB).values()} == {""}
    # without a model it is guessed by its disks, and says so; without prices it is not
    unnamed = samples.assign(server_model="")
    for guessed in made(unnamed, prices).values():
        assert guessed.server_cost == made(samples, prices)[guessed.series].server_cost
        assert "matched by number of disks" in guess_sentence(guessed)
        assert guessed.guessed
    assert not any(one.guessed for one in made(unnamed).values())


def test_blocks_name_the_workers_that_were_measured_and_what_was_assumed() -> None:
    some = [pools({"write": {"disperse": value}}, workers=count) for count, value in ((1, 5e6), (12, 50e6), (48, 80e6))]
    found = made(pd.concat([*some, pools({"write": {"replicate": 40e6}})], ignore_index=True))
    one = found[SERIES["disperse"]]
    assert (one.measured_workers, one.workers, one.still_rising) == ((1, 12, 48), 48, True)
    assert found[SERIES["replicate"]].measured_workers == (48,)
    assert one.values == pytest.approx([80e6 * 72 * part for part in SPREAD])
    assert not one.operations_limited
    small = chosen(pools({"create": {"disperse": 5.0}}, tool="smallfile", nominal=32 << 10, scale=20), "smallfile")
    assert blocks(best_rows(small, "files_per_s"))[0].operations_limited


def a_cluster(servers: int = 6, bricks: int = 1, **changed: object) -> Cluster:
    return Cluster.model_validate(
        {
            "schema_version": 1,
            "name": "pool",
            "servers": [{"name": f"s{n}"} for n in range(1, servers + 1)],
            "clients": [{"name": "c1"}],
            "hardware": HARDWARE,
            "backings": {"b": {"bricks": [f"/bricks/d{n}" for n in range(1, bricks + 1)], "kind": "jbod"}},
            **changed,
        }
    )


DEMANDS = st.fixed_dictionaries(
    {
        "rate": st.none() | st.floats(1e3, 1e13),
        "capacity": st.none() | st.floats(1e9, 1e17),
        "growth": st.floats(0, 2),
        "years": st.floats(0, 10),
        "fill_limit": st.floats(0.01, 1),
        "max_fault_domain": st.floats(0.001, 1),
        "by": st.sampled_from(["lower", "mean"]),
    }
)


@settings(deadline=None)
@given(st.sampled_from(sorted(LAYOUTS)), st.floats(1e6, 1e12), st.floats(0, 0.99), DEMANDS)
def test_an_answer_keeps_its_own_constraints(name: str, mean: float, width: float, demand: dict[str, Any]) -> None:
    request = wanted(**demand)
    layout = block(name, mean=mean, width=width)
    one = size_block(layout, request)
    if not one.possible:
        assert one.servers == 0
        assert layout.next_size(min(max(one.needs.values()), 1000)) > LARGEST_POOL
        return
    reached = one.rate_low if request.by == "lower" else one.rate_mean
    assert reached >= (request.rate or 0) * (1 - 1e-6)
    assert one.fillable >= float(request.final_capacity or 0) * (1 - 1e-6)
    assert 1 / one.servers < request.max_fault_domain
    assert RECOMMENDED_POOL[layout.type] <= one.servers <= LARGEST_POOL
    assert layout.fits(one.servers)
    assert one.servers >= max(one.needs.values())
    # and none smaller would do
    assert not any(layout.fits(count) for count in range(max(one.needs.values()), one.servers))
    assert one.cost == pytest.approx(one.servers * float(layout.server_cost or 0))


@settings(deadline=None)
@given(name=st.sampled_from(sorted(LAYOUTS)), servers=st.integers(1, 64))
def test_sizes_that_fit_can_be_placed(name: str, servers: int) -> None:
    """The bricks of every subvolume lie on distinct servers, as the suite itself would place them."""
    one = block(name)
    if not one.fits(servers):
        return
    per_server = one.layout.bricks // one.servers
    cluster = a_cluster(servers, per_server)
    size = one.layout.subvolume_size
    count = servers * per_server // size
    shape: dict[str, int] = {"replica": 2} if one.type == "replicate" else {"data": 4, "redundancy": 2}
    layout = Layout(name="x", type=one.type, subvolumes=count, backing="b", **shape)  # type: ignore[arg-type]
    places = [host.name for host, _ in place_bricks(layout, cluster)]
    assert len(places) == servers * per_server
    for start in range(0, len(places), size):
        assert len(set(places[start : start + size])) == size


@pytest.mark.parametrize(
    ("quantity", "mean", "low", "high", "text", "interval"),
    [
        (RATE, 1.05e9, 0.98e9, 1.12e9, "1.05 GB/s", "0.980 to 1.12"),
        (RATE, 3.2e9, -0.5e9, 7e9, "3.20 GB/s", "below 0 to 7.00, too scattered to tell"),
        (RATE, 3.2e9, math.nan, math.nan, "3.20 GB/s", "insufficient n"),
        ("files_per_s", 6400.0, 900.0, 11_900.0, "6,400 files/s", "900 to 11,900"),
    ],
)
def test_the_ends_of_an_interval_have_the_unit_of_the_mean(
    quantity: str, mean: float, low: float, high: float, text: str, interval: str
) -> None:
    assert (rate_text(quantity, mean), rate_interval(quantity, mean, low, high)) == (text, interval)
