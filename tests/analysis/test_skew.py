"""Skew: one slow disk of seventy-two is found by name, and a disk that has less to do is none."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest

from glusterlab.analysis.skew import (
    DISK_COLUMNS,
    SLOW_COLUMNS,
    disk_pace,
    host_skew,
    modified_z,
    named_disks,
    pace_by_disk,
    skew_sentences,
    skewed_hosts,
    slow_disks,
)
from glusterlab.analysis.thresholds import Thresholds

from ..busy_pool import DISK, DISKS, LINK, SERVERS, Pool

Make = Callable[..., pd.DataFrame]
SLOW = ("server04", "sdg")


def queue(bytes_: float, rate: float, request: float, steps: int, step: float) -> np.ndarray:
    """Bytes per second of a disk that works off what it was given, a request at a time: its throttle makes it pulse."""
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


def samples_of(make_samples: Make, pools: list[Pool]) -> tuple[pd.DataFrame, pd.DataFrame]:
    rows = make_samples({("disperse", "write", 48): [1.0] * len(pools)}, elapsed_s=30.0)
    rows = rows.assign(end_s=rows["start_s"] + 120)
    tables = [pool.table(row) for pool, (_, row) in zip(pools, rows.iterrows(), strict=True)]
    return pd.concat(tables, ignore_index=True), rows


@pytest.mark.parametrize("slow", [0.25, 0.4])
def test_one_slow_disk_of_seventy_two_is_named(make_samples: Make, slow: float) -> None:
    found = slow_disks(*samples_of(make_samples, [written(seed, slow) for seed in range(5)]))
    assert found[["host", "device"]].values.tolist() == [list(SLOW)]
    first = found.iloc[0]
    # where its subvolume got next to no files nothing can be said of it
    assert first["samples"] >= 3
    assert first["rate_ratio"] == pytest.approx(slow, rel=0.35)
    assert first["time_ratio"] > 2
    assert first["by"] == "rate and time"
    assert first["evidence"].startswith("server04 sdg: no more than ")
    assert f"({first['samples']} of {first['of']} samples)" in first["evidence"]


def test_placement_alone_makes_no_disk_slow(make_samples: Make) -> None:
    telemetry, rows = samples_of(
        make_samples, [written(seed, None, workers) for seed in range(6) for workers in (12, 48)]
    )
    found = slow_disks(telemetry, rows)
    assert found.empty
    assert list(found) == SLOW_COLUMNS
    pace = disk_pace(telemetry, rows)
    assert list(pace) == DISK_COLUMNS
    # they differ widely in what they had to do
    assert pace["time_ratio"].max() > 1.5
    assert pace["time_ratio"].min() < 0.7


def test_each_disk_has_a_row_over_all_samples(make_samples: Make) -> None:
    pace = disk_pace(*samples_of(make_samples, [written(seed, 0.25) for seed in range(3)]))
    table = pace_by_disk(pace)
    assert len(table) == pace[["host", "device"]].drop_duplicates().shape[0]
    slow = table[(table["host"] == SLOW[0]) & (table["device"] == SLOW[1])].iloc[0]
    own = pace[(pace["host"] == SLOW[0]) & (pace["device"] == SLOW[1])]
    assert (slow["samples"], slow["slow"]) == (len(own), own["slow"].sum())
    assert slow["slow"] > 0
    assert slow["time_ratio"] == own["time_ratio"].median()
    assert table["slow"].sum() == pace["slow"].sum()
    assert pace_by_disk(pace.iloc[:0]).empty


def test_a_disk_that_is_a_little_slower_is_not_named(make_samples: Make) -> None:
    assert slow_disks(*samples_of(make_samples, [written(seed, 0.8) for seed in range(3)])).empty


def test_seconds_per_byte_tell_the_slow_disk_from_those_that_wait_for_it(make_samples: Make) -> None:
    # reads of one subvolume go at the pace of its slowest disk, which is busy all the time; the others idle
    pool = Pool(120.0).disk("read_bytes_per_s", DISK).disk("utilisation_fraction", 0.9)
    siblings = [SLOW[1]]
    pool.disk("read_bytes_per_s", 0.4 * DISK, SERVERS, siblings).disk("utilisation_fraction", 0.36, SERVERS, siblings)
    pool.disk("utilisation_fraction", 1.0, [SLOW[0]], siblings)
    found = slow_disks(*samples_of(make_samples, [pool]))
    assert found[["host", "device", "by"]].values.tolist() == [[*SLOW, "seconds per byte"]]
    assert found["busy_ratio"].iloc[0] == pytest.approx((1.0 / 0.4) / 0.9 * 0.9, rel=0.15)


def test_a_disk_that_is_hardly_busy_holds_nobody_up(make_samples: Make) -> None:
    pool = Pool(120.0).disk("read_bytes_per_s", 0.1 * DISK).disk("utilisation_fraction", 0.05)
    pool.disk("utilisation_fraction", 0.2, [SLOW[0]], [SLOW[1]])
    assert slow_disks(*samples_of(make_samples, [pool])).empty


def test_too_few_disks_cannot_be_compared(make_samples: Make) -> None:
    pool = Pool(120.0, disks=("sdb",))
    for number, server in enumerate(SERVERS[:3]):
        pool.disk("write_bytes_per_s", queue(30e6, DISK * (0.2 if number else 1.0), 1e6, 60, 2.0), [server])
    telemetry, rows = samples_of(make_samples, [pool])
    assert len(disk_pace(telemetry, rows)) == 3
    assert slow_disks(telemetry, rows).empty


def test_thresholds_are_parameters_and_nothing_comes_of_nothing(make_samples: Make) -> None:
    telemetry, rows = samples_of(make_samples, [written(1, 0.25)])
    assert slow_disks(telemetry, rows, Thresholds(slow_time=40)).empty
    assert slow_disks(telemetry.iloc[:0], rows).empty
    assert disk_pace(telemetry, rows.iloc[:0]).empty
    idle, rows = samples_of(make_samples, [Pool(120.0)])
    assert named_disks(disk_pace(idle, rows)).empty


def test_a_server_that_always_carries_more_is_named_and_placement_is_not(make_samples: Make) -> None:
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
    telemetry, rows = samples_of(make_samples, pools)
    skew = host_skew(telemetry, rows)
    found = skewed_hosts(skew)
    assert found[["role", "host", "quantity"]].values.tolist() == [["server", "server02", "sent, bytes/s"]]
    assert found["ratio"].iloc[0] == pytest.approx(0.8 / 0.3, rel=0.15)
    assert found["samples"].iloc[0] == found["of"].iloc[0] == 5
    (sentence,) = skew_sentences(found)
    assert sentence.startswith("server server02: 2.")
    assert sentence.endswith(" times the median of its peers, sent (5 of 5 samples).")
    assert "received, bytes/s" not in set(skew["quantity"])
    disks = skew[skew["quantity"] == "written to disks, bytes/s"]
    assert disks[disks["outlier"]]["host"].tolist() == list(SERVERS[:5])
    even = skewed_hosts(skew[skew["quantity"] != "sent, bytes/s"])
    assert (len(even), list(even)) == (0, list(found))
    assert skewed_hosts(skew.iloc[:0]).empty


def test_the_modified_z_score_knows_equal_values() -> None:
    assert modified_z(np.array([2.0, 2.0, 2.0, 1.0])).tolist() == [0.0, 0.0, 0.0, -math.inf]
    assert modified_z(np.array([5.0])).tolist() == [0.0]
