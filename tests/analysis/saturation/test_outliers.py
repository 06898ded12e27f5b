"""One slow disk of seventy-two is found by name, a disk that has less to do is none, and silence is not judged."""

import numpy as np
import pandas as pd
import pytest

from glusterlab.analysis.saturation.outliers import (
    DISK_COLUMNS,
    disk_times,
    disks_by_name,
    host_skew,
    judge_disks,
    named_disks,
    skewed_hosts,
)
from glusterlab.analysis.saturation.thresholds import USUAL, Thresholds
from tests.busy_pool import DISK, DISKS, LINK, SERVERS, Pool
from tests.conftest import build_samples

SLOW = ("server04", "sdg")
STEP = 2.0


def queue(bytes_: float, rate: float, request: float, steps: int, step: float) -> np.ndarray:
    """Bytes per second of a disk that works off N bytes, a request at a time: its throttle makes it pulse."""
    rates = np.zeros(steps)
    credit, left = 0.0, bytes_
    for number in range(3, steps):
        credit += rate * step
        while left > 0 and credit >= min(request, left):
            done = min(request, left)
            rates[number] += done / step
            credit, left = credit - done, left - done
        if left <= 0:
            break
    return rates


def written(seed: int, slow: float | None, workers: int = 48, rate: float = DISK) -> Pool:
    """A write of files on 12 subvolumes of a brick on each server, placed by hash; page caches take all at once."""
    rng = np.random.default_rng(seed)
    files = np.bincount(rng.integers(0, len(DISKS), workers), minlength=len(DISKS))
    pool = Pool(120.0)
    for device, count in zip(DISKS, files, strict=True):
        for server in SERVERS:
            own = rate * slow if slow is not None and (server, device) == SLOW else rate
            values = queue(count * 5e6, own, rng.uniform(0.6, 1.3) * 1e6, len(pool.since), pool.step)
            pool.disk("write_bytes_per_s", values * rng.uniform(0.97, 1.03), [server], [device])
    return pool


def samples_of(pools: list[Pool]) -> tuple[pd.DataFrame, pd.DataFrame]:
    rows = build_samples({("disperse", "write", 48): [1.0] * len(pools)}, elapsed_s=30.0)
    rows = rows.assign(end_s=rows["start_s"] + 120)
    tables = [pool.table(row) for pool, (_, row) in zip(pools, rows.iterrows(), strict=True)]
    return pd.concat(tables, ignore_index=True), rows


@pytest.mark.parametrize("slow", [0.25, 0.4, 0.8])
def test_one_slow_disk_of_seventy_two_is_named(slow: float) -> None:
    times = disk_times(*samples_of([written(seed, slow) for seed in range(5)]))
    found = named_disks(times)
    if slow > USUAL.slow_rate:
        assert found.empty
        return
    assert found[["host", "device"]].values.tolist() == [list(SLOW)]
    first = found.iloc[0]
    # where its subvolume got next to no files nothing can be said of it
    assert 3 <= first["slow"] <= first["judged"] <= first["samples"]
    assert first["time_ratio"] == pytest.approx(1 / slow, rel=0.35)
    # each disk has a row over all samples
    table = disks_by_name(times)
    assert len(table) == 72
    whole = table[(table["host"] == SLOW[0]) & (table["device"] == SLOW[1])].iloc[0]
    own = times[(times["host"] == SLOW[0]) & (times["device"] == SLOW[1])]
    assert (whole["samples"], whole["slow"], whole["judged"]) == (len(own), first["slow"], own["judged"].sum())
    assert whole["time_ratio"] == own.loc[own["judged"], "time_ratio"].median()
    assert disks_by_name(times.iloc[:0]).empty


def test_placement_alone_makes_no_disk_slow() -> None:
    pools = [written(seed, None, workers) for seed in range(6) for workers in (12, 48)]
    times = disk_times(*samples_of(pools))
    assert list(times) == DISK_COLUMNS
    assert named_disks(times).empty
    # they differ widely in what they had to do, and not in how long they took for as much
    assert times["bytes"].max() > 3 * times["bytes"].median()
    assert times["time_ratio"].max() < 1.3


def test_a_disk_is_named_from_several_samples_or_from_all_that_judge_it() -> None:
    times = disk_times(*samples_of([written(1, 0.25), written(2, None), written(3, None)]))
    assert named_disks(times).empty
    lax = named_disks(times, Thresholds(slow_samples=1))
    assert lax[["host", "device", "slow"]].values.tolist() == [[*SLOW, 1]]
    alone = named_disks(times[times["sample"] == 1])
    assert alone[["host", "device", "judged"]].values.tolist() == [[*SLOW, 1]]


def test_of_a_subvolume_that_waits_the_slow_disk_is_the_busiest() -> None:
    # reads of one subvolume go at the pace of its slowest disk; the others idle
    pool = Pool(120.0).disk("read_bytes_per_s", lambda since: DISK * (since <= 40)).disk("utilisation_fraction", 0.9)
    siblings = [SLOW[1]]
    pool.disk("read_bytes_per_s", lambda since: 0.4 * DISK * (since <= 100), SERVERS, siblings)
    pool.disk("utilisation_fraction", 0.36, SERVERS, siblings).disk("utilisation_fraction", 1.0, [SLOW[0]], siblings)
    found = named_disks(disk_times(*samples_of([pool])))
    assert set(found["device"]) == set(siblings)
    assert found.loc[found["busy"].idxmax(), "host"] == SLOW[0]


def test_too_few_disks_cannot_be_compared() -> None:
    pool = Pool(120.0, disks=("sdb",))
    for number, server in enumerate(SERVERS[:3]):
        pool.disk("write_bytes_per_s", queue(30e6, DISK * (0.2 if number else 1.0), 1e6, 60, 2.0), [server])
    times = disk_times(*samples_of([pool]))
    assert (len(times), times["time_ratio"].notna().sum(), times["judged"].sum()) == (3, 0, 0)
    assert named_disks(times).empty


def test_short_work_and_work_below_full_speed_are_not_judged() -> None:
    # twelve small files take less than a record; a disk that does half of what it can could be half as slow
    pools = [written(1, None), written(1, None, 12, rate=20 * DISK)]
    pools.append(Pool(120.0).disk("write_bytes_per_s", lambda since: 0.4 * DISK * (since <= 60)))
    times = disk_times(*samples_of(pools))
    judged = times.groupby("sample")["judged"].mean()
    assert judged[1] > 0.8
    assert judged[2] == judged[3] == 0
    table = disks_by_name(times[times["sample"] != 1])
    assert table["judged"].eq(0).all()
    assert table["time_ratio"].isna().all()
    assert disk_times(*samples_of([Pool(120.0)])).empty


def worked(seconds: float, rate: float = 1e6) -> np.ndarray:
    """Rates of a disk that works at its rate for N seconds."""
    rates = np.zeros(30)
    rates[2 : 2 + round(seconds / STEP)] = rate
    return rates


def healthy(seconds: float, disks: int = 24) -> np.ndarray:
    """Disks that do much the same, give or take a tenth."""
    rng = np.random.default_rng(1)
    return np.stack([worked(seconds, 1e6 * rng.uniform(0.9, 1.1)) for _ in range(disks)])


def test_a_disk_with_more_to_do_is_not_slow_and_one_that_takes_longer_for_the_same_is() -> None:
    moved = healthy(10)
    moved[3] = worked(18)
    moved[7] = queue(10e6, 0.25e6, 1e6, 30, STEP)
    found = judge_disks(moved, STEP, USUAL)
    assert np.flatnonzero(found["slow"]).tolist() == [7]
    assert found["time_ratio"][3] == pytest.approx(1.0, abs=0.15)
    assert found["time_ratio"][7] > 3
    assert found["after_s"][7] > 20
    assert found["judged"].all()
    for strict in (Thresholds(slow_seconds=60), Thresholds(slow_rate=0.1)):
        assert not judge_disks(moved, STEP, strict)["slow"].any()


def test_a_disk_that_trickles_while_all_are_at_work_is_not_slow() -> None:
    # half the rate, for no longer than half of all: its workers were slow
    moved = healthy(20)
    moved[5] = worked(20, 0.5e6)
    assert not judge_disks(moved, STEP, USUAL)["slow"].any()


def test_disks_that_carried_only_metadata_or_an_unlike_load_are_not_compared() -> None:
    moved = np.vstack([healthy(10, disks=6), healthy(10, disks=18) / 50])
    moved[0] = worked(50)
    found = judge_disks(moved, STEP, USUAL)
    assert np.flatnonzero(found["time_ratio"].notna()).tolist() == [1, 2, 3, 4, 5]
    nothing = judge_disks(np.zeros((4, 10)), STEP, USUAL)
    assert nothing["time_ratio"].isna().all()
    assert not nothing[["judged", "slow"]].any(axis=None)


def test_a_server_that_always_carries_more_is_named_and_placement_is_not() -> None:
    pools = []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        pool = Pool(120.0)
        for server in SERVERS:
            pool.links("transmit", rng.uniform(0.9, 1.1) * (0.8 if server == "server02" else 0.3) * LINK, server)
            # acknowledgements are no load, however uneven
            pool.links("receive", rng.uniform(0.001, 0.02) * LINK, server)
        # one disk server of six, another each time
        pool.disk("write_bytes_per_s", 0.2 * DISK).disk("write_bytes_per_s", 0.5 * DISK, [SERVERS[seed]])
        pools.append(pool)
    telemetry, rows = samples_of(pools)
    skew = host_skew(telemetry, rows)
    found = skewed_hosts(skew)
    assert found[["role", "host", "quantity"]].values.tolist() == [["server", "server02", "sent, bytes/s"]]
    assert found["ratio"].iloc[0] == pytest.approx(0.8 / 0.3, rel=0.15)
    assert found["samples"].iloc[0] == found["of"].iloc[0] == 5
    assert "received, bytes/s" not in set(skew["quantity"])
    disks = skew[skew["quantity"] == "written to disks, bytes/s"]
    assert disks[disks["outlier"]]["host"].tolist() == list(SERVERS[:5])
    even = skewed_hosts(skew[skew["quantity"] != "sent, bytes/s"])
    assert (len(even), list(even)) == (0, list(found))
    assert skewed_hosts(skew.iloc[:0]).empty
