"""Verdicts: what a synthetic pool was full of is what is named, and nothing else."""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from glusterlab.analysis import select
from glusterlab.analysis.saturation.resources import Capacity, Operations
from glusterlab.analysis.saturation.summary import (
    NO_MAJORITY,
    binding_by_cell,
    subsystems_over_time,
    use_by_resource,
    use_over_time,
)
from glusterlab.analysis.saturation.thresholds import USUAL, Thresholds
from glusterlab.analysis.saturation.verdict import NONE, VERDICT_COLUMNS, Judgement, judge
from tests.busy_pool import CLIENTS, DISK, DISKS, KNOWN, LINK, SERVERS, START, Pool, during
from tests.conftest import build_samples


@pytest.fixture
def sample() -> pd.DataFrame:
    """One write of 48 workers: its command takes 60 s, the tool measured all of it."""
    times = {"start_s": START, "end_s": START + 60, "elapsed_s": 60.0}
    return select(build_samples({("disperse", "write", 48): [1.0]}, **times), tool="iozone")


def verdict(pool: Pool, sample: pd.DataFrame, *given: Any, **moments: float) -> pd.Series:
    return judged(pool, sample, *given, **moments).verdicts.iloc[0]


def judged(
    pool: Pool, sample: pd.DataFrame, capacity: Capacity = KNOWN, thresholds: Thresholds = USUAL, **moments: float
) -> Judgement:
    row = sample.iloc[0]
    return judge(pool.table(row, moments), sample, {str(row["cell_id"]): capacity}, thresholds)


def test_full_disks_bind_on_all_servers(sample: pd.DataFrame) -> None:
    found = judged(Pool().disk("write_bytes_per_s", DISK).links("receive", 0.5 * LINK, *SERVERS), sample)
    columns = ["state", "binding", "hosts", "share", "reason", "not_judged"]
    expected = ["binds", "disks", "all 72 disks", pytest.approx(1.0), "", "operations of disk arrays"]
    assert found.verdicts[columns].iloc[0].tolist() == expected
    disks = found.subsystems.set_index("subsystem").loc["server disks"]
    assert disks[["share", "mean", "peak", "threshold", "stretch_s"]].tolist() == pytest.approx([1, 1, 1, 0.9, 10])


TESTBED = replace(KNOWN, one_machine=True)
MACHINE = "the machine of the testbed"
BOTH_WAYS = Pool().disk("write_bytes_per_s", 0.5 * DISK).disk("read_bytes_per_s", 0.5 * DISK)
TURNS = (
    Pool()
    .links("receive", during(0, 24, 0.97 * LINK), *SERVERS)
    .links("transmit", during(0, 24, 0.97 * LINK), *CLIENTS)
    .disk("write_bytes_per_s", during(24, 60, DISK))
)
OVERLAP = Pool().links("receive", during(0, 50, LINK), *SERVERS).disk("write_bytes_per_s", during(0, 44, DISK))
# a record more at one of them does not make it the one that held the others
HALF = Pool().links("transmit", during(0, 28, LINK), *CLIENTS).links("transmit", during(0, 32, LINK), "client01")
BRIEF = Pool().links("transmit", during(0, 6, LINK), *CLIENTS)
ONE_DISK = Pool().disk("write_bytes_per_s", 0.4 * DISK).disk("write_bytes_per_s", DISK, ["server05"], ["sdc"])
IDLE = Pool().disk("write_bytes_per_s", 0.4 * DISK).links("receive", 0.6 * LINK, *SERVERS)
ONE_WORKER = Pool().links("transmit", 0.97 * LINK, "client07").links("receive", 0.16 * LINK, *SERVERS)
CORE = Pool().cpu(0.2).cpu(0.99, CLIENTS, device="3").cpu(0.1, CLIENTS, device="0")
GONE = Pool().other("memory", "available_bytes", 64e9 * 0.02, CLIENTS)
# each of 18 hosts has taken 5.4 % of the machine: 97 % of it are gone
SHARED = Pool().other("memory", "available_bytes", 64e9 * 0.946, (*SERVERS, *CLIENTS))
# guests that have used 8 % of their own memory each, which is 1.5 % of the machine's
GUESTS = replace(TESTBED, memory={key: of | dict.fromkeys(CLIENTS, 1e9) for key, of in KNOWN.memory.items()})
TAKEN = Pool().other("memory", "available_bytes", 1e9 * 0.92, CLIENTS)
TAKEN = TAKEN.other("memory", "available_bytes", 64e9, SERVERS)
UNLIMITED = replace(KNOWN, disk_write=0.0, server_link=0.0, client_link=0.0)


@pytest.mark.parametrize(
    ("pool", "capacity", "thresholds", "state", "binding", "hosts"),
    [
        (TURNS, KNOWN, {}, "binds", "network, then disks", "all 6 servers; all 12 clients; all 72 disks"),
        (OVERLAP, KNOWN, {}, "binds", "network", "all 6 servers"),
        (HALF, KNOWN, {}, "at times", "network", "all 12 clients"),
        (BRIEF, KNOWN, {}, "none", NONE, ""),
        (ONE_DISK, KNOWN, {}, "none", NONE, "1 of 72 disks: server05 sdc"),
        (IDLE, KNOWN, {}, "none", NONE, ""),
        (ONE_WORKER, KNOWN, {}, "binds", "network", "client07 alone"),
        (BOTH_WAYS, KNOWN, {}, "binds", "disks", "all 72 disks"),
        (BOTH_WAYS, TESTBED, {}, "none", NONE, ""),
        (Pool().cpu(0.054), TESTBED, {}, "binds", "CPU", MACHINE),
        (Pool().cpu(0.054), KNOWN, {}, "none", NONE, ""),
        (CORE, KNOWN, {}, "binds", "CPU", "all 12 clients"),
        (GONE, KNOWN, {}, "binds", "memory", "all 12 clients"),
        (SHARED, TESTBED, {}, "binds", "memory", MACHINE),
        (SHARED, KNOWN, {}, "none", NONE, ""),
        (TAKEN, GUESTS, {}, "none", NONE, ""),
        (IDLE, KNOWN, {"network": 0.5}, "binds", "network", "all 6 servers"),
        (HALF, KNOWN, {"window": 0.4}, "binds", "network", "all 12 clients"),
        (Pool().disk("write_bytes_per_s", DISK), UNLIMITED, {}, "none", NONE, ""),
    ],
)
def test_a_verdict_names_what_was_full_and_where(
    sample: pd.DataFrame, pool: Pool, capacity: Capacity, thresholds: Any, state: str, binding: str, hosts: str
) -> None:
    found = verdict(pool, sample, capacity, Thresholds(**thresholds))
    assert (found["state"], found["binding"], found["hosts"]) == (state, binding, hosts)
    assert ("network; disks" in found["not_judged"]) == (capacity is UNLIMITED)


@pytest.mark.parametrize(
    ("pool", "capacity", "where"),
    [
        (TURNS, KNOWN, "server network, received; client network, sent; server disks"),
        (CORE, KNOWN, "client CPU, busiest core"),
        (Pool().cpu(0.054), TESTBED, "machine CPU (at least)"),
    ],
)
def test_a_verdict_names_its_subsystems(sample: pd.DataFrame, pool: Pool, capacity: Capacity, where: str) -> None:
    assert verdict(pool, sample, capacity)["where"] == where


def test_what_binds_in_part_names_its_hosts(sample: pd.DataFrame) -> None:
    pool = Pool().links("transmit", 0.3 * LINK, *SERVERS).links("transmit", 0.96 * LINK, "server03")
    found = judged(pool, sample)
    hosts = "1 of 6 servers with 39 % of the load: server03"
    # its own share; the subsystem's is that of the load
    expected = ["partly", "network", hosts, pytest.approx(1.0)]
    assert found.verdicts[["state", "binding", "hosts", "share"]].iloc[0].tolist() == expected
    sent = found.subsystems.set_index("subsystem").loc["server network, sent"]
    assert sent["share"] == pytest.approx(0.39, abs=0.005)


def test_warm_up_and_ramp_down_do_not_count(sample: pd.DataFrame) -> None:
    # full while files are laid out and after the tool's clock stopped; the measured 20 s move more over links
    pool = (
        Pool()
        .disk("write_bytes_per_s", lambda since: np.where((since <= 20) | (since > 40), DISK, 0.5 * DISK))
        .links("receive", during(20, 40, 0.8 * LINK), *SERVERS)
        .links("transmit", during(20, 40, 0.8 * LINK), *CLIENTS)
    )
    assert verdict(pool, sample.assign(elapsed_s=20.0))["state"] == "none"
    assert verdict(pool, sample)["state"] == "binds"


def test_few_records_say_nothing(sample: pd.DataFrame) -> None:
    short = sample.assign(end_s=START + 6, elapsed_s=6.0)
    for share, state in ((0.4, "none"), (1.0, "binds")):
        pool = Pool(6).disk("write_bytes_per_s", share * DISK)
        expected = ["unknown", "unknown", "3 records in the measured part, fewer than 5"]
        assert verdict(pool, short)[["state", "binding", "reason"]].tolist() == expected
        assert verdict(pool, short, KNOWN, Thresholds(records=3))["state"] == state
    none = verdict(Pool(2), sample.assign(end_s=START + 2, elapsed_s=2.0))
    assert none["state"] == "unknown"
    assert math.isnan(none["share"])


Kept = Callable[[pd.DataFrame, pd.Series], pd.Series]


def told_of(sample: pd.DataFrame, pool: Pool, kept: Kept) -> pd.Series:
    """The verdict where telemetry has only what is kept, by its rows and the seconds since the start."""
    row = sample.iloc[0]
    table = pool.table(row)
    table = table[kept(table, table["time_s"] - START)]
    return judge(table, sample, {str(row["cell_id"]): KNOWN}).verdicts.iloc[0]


FULL = Pool().disk("write_bytes_per_s", DISK)
# a record after a long silence does not tell of it
LATE = Pool().disk("write_bytes_per_s", lambda since: np.where(since > 56, DISK, 0.2 * DISK))


@pytest.mark.parametrize(
    ("pool", "kept", "state", "not_judged"),
    [
        (FULL, lambda rows, since: (rows["role"] == "client") | (since <= 24), "unknown", "all 6 servers"),
        (FULL, lambda rows, since: (rows["activity"] != "disk") | (since <= 24), "unknown", "server disks"),
        # what was full for most of the part whatever the rest was is told
        (FULL, lambda rows, since: (rows["role"] == "client") | (since <= 40), "binds", ""),
        (FULL, lambda rows, _: rows["role"] == "client", "unknown", "any server"),
        (LATE, lambda rows, since: (rows["role"] == "client") | (since <= 10) | (since > 56), "unknown", ""),
        (Pool(), lambda rows, _: rows["host"] != "client03", "none", "1 of 12 clients"),
        (Pool(), lambda rows, _: ~rows["host"].isin(SERVERS[:3]), "unknown", "3 of 6 servers"),
    ],
)
def test_silent_hosts_are_not_idle(sample: pd.DataFrame, pool: Pool, kept: Kept, state: str, not_judged: str) -> None:
    found = told_of(sample.assign(servers=6, clients=12), pool, kept)
    binding = {"binds": "disks", "none": NONE}.get(state, state)
    assert (found["state"], found["binding"]) == (state, binding)
    assert found["not_judged"].endswith(not_judged)
    if state == "binds":
        assert found["share"] == pytest.approx(0.67, abs=0.005)
    elif state == "unknown" and pool is FULL:
        assert found["reason"].startswith("telemetry covers too little of the measured part")


def test_of_servers_without_telemetry_nothing_is_judged(sample: pd.DataFrame) -> None:
    nobody = told_of(sample, FULL, lambda rows, _: rows["role"] == "client")
    for words in ("server network", "disks", "server CPU", "server memory", "any server"):
        assert words in nobody["not_judged"]


def test_without_telemetry_or_limits_the_verdict_is_unknown(sample: pd.DataFrame) -> None:
    empty = Pool().table(sample.iloc[0]).iloc[:0]
    found = judge(empty, sample, {})
    assert found.verdicts[["state", "binding"]].values.tolist() == [["unknown", "unknown"]]
    assert list(found.verdicts) == VERDICT_COLUMNS
    # CPUs need no limit, links and disks do
    unknown = verdict(Pool().links("receive", LINK, *SERVERS), sample, Capacity())
    assert unknown["state"] == "none"
    assert unknown["not_judged"] == "network; disks; memory"
    nothing = Pool()
    nothing.series = {key: value for key, value in nothing.series.items() if key[2] == "network"}
    assert verdict(nothing, sample, Capacity())["reason"] == "no limit is known of what telemetry shows"


SERIAL = replace(KNOWN, serial=True)
OPERATIONS = replace(TESTBED, operations=Operations(60.0, 60.0))
# 60 operations a second of small files: a hundredth of what the disk moves in large ones
READS = Pool().disk("read_bytes_per_s", 0.01 * DISK).disk("transfers_per_s", 59.0)
MIXED = (
    Pool().disk("read_bytes_per_s", 0.005 * DISK).disk("write_bytes_per_s", 0.005 * DISK).disk("transfers_per_s", 59.0)
)
BUSY = Pool().disk("write_bytes_per_s", 0.1 * DISK).disk("utilisation_fraction", 0.99)
SOME = Pool().disk("write_bytes_per_s", 0.6 * DISK)
# 3.6 MB in one second of four, as a disk of 1 MB/s was seen to do
BURSTS = Pool(step=1.0).disk("write_bytes_per_s", lambda since: np.where(since % 4 == 0, 4 * 0.95 * DISK, 0.0))


@pytest.mark.parametrize(
    ("pool", "capacity", "thresholds", "state", "by"),
    [
        (READS, OPERATIONS, {}, "binds", "operations"),
        # mixed, a disk may do as many of both: it is not sure that it was full
        (MIXED, OPERATIONS, {}, "none", "operations"),
        (READS, TESTBED, {}, "none", "bytes"),
        (BUSY, SERIAL, {}, "binds", "busy time"),
        (BUSY, SERIAL, {"disk_busy": 1.0}, "none", "busy time"),
        (BUSY, KNOWN, {}, "none", "bytes"),
        (SOME, KNOWN, {}, "none", "bytes"),
        (SOME, replace(KNOWN, server_write=12 * 0.62 * DISK), {}, "binds", "all disks of the server"),
        (BURSTS, KNOWN, {}, "binds", "bytes"),
    ],
)
def test_disks_are_full_by_what_fills_them_most(
    sample: pd.DataFrame, pool: Pool, capacity: Capacity, thresholds: Any, state: str, by: str
) -> None:
    found = judged(pool, sample, capacity, Thresholds(**thresholds))
    assert set(found.use.loc[found.use["subsystem"] == "server disks", "by"]) == {by}
    verdict = found.verdicts.iloc[0]
    assert (verdict["state"], verdict["binding"]) == (state, "disks" if state == "binds" else NONE)
    told = capacity.operations is not None or capacity.serial or capacity.one_machine
    assert ("operations of disk arrays" in verdict["not_judged"]) != told


def test_on_fast_disks_idle_records_are_idle(sample: pd.DataFrame) -> None:
    fast = replace(KNOWN, disk_write=200e6, disk_read=200e6, server_read=2.4e9, server_write=2.4e9)
    half = lambda since: np.where(since % 4 < 2, 200e6, 0.0)  # noqa: E731
    found = judged(Pool(step=1.0).disk("write_bytes_per_s", half), sample, fast)
    disks = found.subsystems.set_index("subsystem").loc["server disks"]
    assert disks["share"] == pytest.approx(0.5)


def test_a_bond_is_not_counted_with_its_members(sample: pd.DataFrame) -> None:
    pool = Pool().links("receive", 0.45 * LINK, *SERVERS).links("receive", 0.9 * LINK, *SERVERS, device="bond0")
    loop = pool.links("receive", 5 * LINK, *SERVERS, device="lo")
    use = judged(loop, sample).use.set_index(["subsystem", "host"])["mean"]
    assert use["server network, received", "server01"] == pytest.approx(0.9)


def test_hosts_that_write_records_at_other_moments_or_leave_some_out_are_judged_alike(sample: pd.DataFrame) -> None:
    pool = (
        Pool()
        .links("receive", during(0, 30, 0.97 * LINK), *SERVERS)
        .links("transmit", during(0, 30, 0.97 * LINK), *CLIENTS)
        .disk("write_bytes_per_s", during(30, 60, DISK))
    )
    late = dict.fromkeys((*SERVERS[:3], *CLIENTS[:6]), 0.9)
    found = verdict(pool, sample, **late)
    assert (found["state"], found["binding"]) == ("binds", "network, then disks")
    row = sample.iloc[0]
    table = pool.table(row)
    missing = (table["host"] == "server02") & ((table["time_s"] - START) % 10 == 4)
    gaps = judge(table[~missing], sample, {str(row["cell_id"]): KNOWN}).verdicts.iloc[0]
    assert gaps["share"] == pytest.approx(verdict(pool, sample)["share"])


def test_a_limit_that_is_passed_by_far_is_not_what_held_the_sample(sample: pd.DataFrame) -> None:
    pool = Pool().disk("write_bytes_per_s", 2.3 * DISK).links("receive", 0.95 * LINK, *SERVERS)
    found = verdict(pool, sample)
    assert (found["state"], found["binding"]) == ("binds", "network")
    assert found["not_judged"].endswith("server disks, bytes")
    # a burst of a tenth of the time is none
    burst = Pool().disk("write_bytes_per_s", lambda since: np.where(since <= 6, 2.3 * DISK, DISK))
    assert verdict(burst, sample)["binding"] == "disks"
    assert "server disks" not in verdict(pool, sample, KNOWN, Thresholds(passed=3))["not_judged"]


def several(pools: list[Pool], workers: int = 48) -> tuple[pd.DataFrame, Judgement]:
    rows = build_samples({("disperse", "write", workers): [1.0] * len(pools)}, elapsed_s=60.0)
    rows = select(rows.assign(end_s=rows["start_s"] + 60), tool="iozone")
    tables = [pool.table(row) for pool, (_, row) in zip(pools, rows.iterrows(), strict=True)]
    cell = str(rows["cell_id"].iloc[0])
    return rows, judge(pd.concat(tables, ignore_index=True), rows, {cell: KNOWN})


def test_use_is_shown_by_resource_and_over_time() -> None:
    pool = Pool().disk("write_bytes_per_s", during(0, 30, DISK), SERVERS[:1]).links("receive", LINK, *SERVERS)
    rows, found = several([pool, pool])
    table = use_by_resource(found.use, rows)
    disks = table[table["subsystem"] == "server disks"]
    assert set(zip(disks["host"], disks["n"], strict=True)) == {("server01", 2)}
    assert disks["mean"].tolist() == pytest.approx([0.5] * len(DISKS))
    first = rows.iloc[[0]]
    capacity = {str(first["cell_id"].iloc[0]): KNOWN}
    table = pool.table(first.iloc[0])
    over = use_over_time(table, first, capacity)
    one = over[(over["subsystem"] == "server disks") & (over["host"] == "server01") & (over["device"] == "sdb")]
    assert one["seconds"].tolist() == pytest.approx(np.arange(2, 62, 2))
    assert one["used"].to_numpy() == pytest.approx([1.0] * 15 + [0.0] * 15)
    # a stretch of 10 s that is full for nine tenths of it counts
    assert one["full"].tolist() == [True] * 15 + [False] * 15
    assert one["inside"].all()
    assert use_over_time(table.iloc[:0], first, {}).empty
    # a server that fell silent is not drawn as idle
    early = table[(table["role"] == "client") | (table["time_s"] - float(first["start_s"].iloc[0]) <= 20)]
    gone = subsystems_over_time(use_over_time(early, first, capacity))
    links = gone[gone["subsystem"] == "server network, received"].set_index("seconds")["mean"]
    assert (links[20.0], math.isnan(links[22.0])) == (pytest.approx(1.0), True)


@pytest.mark.parametrize(
    ("pools", "state", "binding", "agree"),
    [
        ("full idle full", "binds", "disks", 2),
        ("full idle", NO_MAJORITY, NO_MAJORITY, 1),
        ("full turn part", NO_MAJORITY, NO_MAJORITY, 1),
        # turns in another order are the same verdict
        ("turn network back turn", "binds", "network, then disks", 3),
        ("part part part", "partly", "network", 3),
        ("times times times", "at times", "network", 3),
        ("idle idle idle", "none", NONE, 3),
        ("short short short", "unknown", "unknown", 3),
    ],
)
def test_a_cell_has_the_verdict_of_most_of_its_repeats(pools: str, state: str, binding: str, agree: int) -> None:
    turn, back = (Pool().links("receive", during(*part, LINK), *SERVERS) for part in ((0, 30), (30, 60)))
    kinds = {
        "full": Pool().disk("write_bytes_per_s", DISK),
        "turn": turn.disk("write_bytes_per_s", during(30, 60, DISK)),
        "back": back.disk("write_bytes_per_s", during(0, 30, DISK)),
        "network": Pool().links("receive", LINK, *SERVERS),
        "part": Pool().links("transmit", 0.3 * LINK, *SERVERS).links("transmit", 0.96 * LINK, "server03"),
        "times": Pool().links("receive", during(0, 24, LINK), *SERVERS),
        "idle": Pool().disk("write_bytes_per_s", 0.3 * DISK),
        "short": Pool(seconds=6.0).disk("write_bytes_per_s", 0.2 * DISK),
    }
    rows, found = several([kinds[name] for name in pools.split()])
    cell = binding_by_cell(found.verdicts, rows).iloc[0]
    assert (cell["state"], cell["binding"], cell["agree"], cell["n"]) == (state, binding, agree, len(rows))
    assert bool(cell["reason"]) == (state in (NO_MAJORITY, "unknown"))
    if pools == "full idle full":
        assert (cell["hosts"], cell["typical"], cell["mean"]) == ("all 72 disks", 1, pytest.approx(1.0))
        assert math.isnan(cell["low"])
    elif pools == "full idle":
        assert (cell["reason"], math.isnan(cell["mean"])) == ("1 of 2: disks; 1 of 2: none", True)
    assert binding_by_cell(found.verdicts.iloc[:0], rows).empty


def test_subsystems_over_time_are_the_mean_and_the_fullest_of_what_carried_anything() -> None:
    pool = Pool().links("receive", during(0, 30, LINK), "server01")
    pool.links("receive", during(0, 30, 0.5 * LINK), "server02")
    rows, _ = several([pool])
    each = use_over_time(pool.table(rows.iloc[0]), rows, {str(rows["cell_id"].iloc[0]): KNOWN})
    table = subsystems_over_time(each)
    network = table[table["subsystem"] == "server network, received"]
    assert network["resources"].tolist() == [2] * 30
    assert network["mean"].tolist() == pytest.approx([0.75] * 15 + [0.0] * 15)
    assert network["fullest"].tolist() == pytest.approx([1.0] * 15 + [0.0] * 15)
    # what never did anything is there with all its members
    assert table[table["subsystem"] == "server disks"]["resources"].unique().tolist() == [72]
    assert subsystems_over_time(each.iloc[:0]).empty


def test_a_record_that_a_stalled_host_read_late_is_no_full_link(sample: pd.DataFrame) -> None:
    late = lambda since: np.where(since == 32, 2.8, np.where((since > 32) & (since <= 38), 0.1, 0.6)) * LINK  # noqa: E731
    pool = Pool().links("transmit", 0.6 * LINK, *CLIENTS).links("transmit", late, "client04")
    found = judged(pool, sample)
    use = found.use.set_index(["subsystem", "host"]).loc["client network, sent", "client04"]
    assert (use["over"], use["peak"] < 0.9) == (0.0, True)
    assert use["mean"] == pytest.approx((26 * 0.6 + 2.8 + 0.3) / 30)
    (row,) = found.verdicts["not_judged"]
    assert "client04" not in row
    # what is far over all along is not late
    beyond = verdict(pool.links("transmit", 1.2 * LINK, "client04"), sample)
    assert beyond["not_judged"].endswith("client network, sent, client04")
