"""One slow disk of seventy-two is found by name, a disk that has less to do is none, and what could be told is said."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest

from glusterlab.analysis.series import with_series
from glusterlab.analysis.slowdisks import (
    DISK_COLUMNS,
    SIGHT_COLUMNS,
    SLOW_COLUMNS,
    TOLD,
    disk_pace,
    named_disks,
    pace_by_disk,
    sight,
    sight_table,
    slow_disks,
    slow_sentences,
)
from glusterlab.analysis.thresholds import Thresholds

from ..busy_pool import DISK, DISKS, SERVERS, Pool

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
    assert first["time_ratio"] == pytest.approx(1 / slow, rel=0.35)
    assert first["by"] == "time at work"
    assert first["evidence"].startswith("server04 sdg: ")
    assert first["evidence"].endswith(f" ({first['samples']} of {first['of']} samples that tell)")


def test_placement_alone_makes_no_disk_slow(make_samples: Make) -> None:
    telemetry, rows = samples_of(
        make_samples, [written(seed, None, workers) for seed in range(6) for workers in (12, 48)]
    )
    found = slow_disks(telemetry, rows)
    assert found.empty
    assert list(found) == SLOW_COLUMNS
    pace = disk_pace(telemetry, rows)
    assert list(pace) == DISK_COLUMNS
    # they differ widely in what they had to do, and not in how long they took for as much
    assert pace["bytes"].max() > 3 * pace["bytes"].median()
    assert pace["time_ratio"].max() < 1.3


def test_each_disk_has_a_row_over_all_samples(make_samples: Make) -> None:
    pace = disk_pace(*samples_of(make_samples, [written(seed, 0.25) for seed in range(3)]))
    table = pace_by_disk(pace)
    assert len(table) == pace[["host", "device"]].drop_duplicates().shape[0]
    slow = table[(table["host"] == SLOW[0]) & (table["device"] == SLOW[1])].iloc[0]
    own = pace[(pace["host"] == SLOW[0]) & (pace["device"] == SLOW[1])]
    assert (slow["samples"], slow["slow"]) == (len(own), own["slow"].sum())
    assert slow["slow"] > 0
    assert slow["told"] == (own["visible"] <= TOLD).sum()
    assert slow["time_ratio"] == own.loc[own["slow"] | (own["visible"] <= TOLD), "time_ratio"].median()
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
    pace = disk_pace(telemetry, rows)
    assert len(pace) == 3
    assert pace["time_ratio"].isna().all()
    assert named_disks(pace).empty
    assert slow_sentences(pace, sight(pace, rows), "jbod") == [
        "Whether a disk of jbod was slow could not be told in any of 1 samples."
    ]


def test_thresholds_are_parameters_and_nothing_comes_of_nothing(make_samples: Make) -> None:
    telemetry, rows = samples_of(make_samples, [written(1, 0.25)])
    assert slow_disks(telemetry, rows, Thresholds(slow_rate=0.02)).empty
    assert slow_disks(telemetry.iloc[:0], rows).empty
    assert disk_pace(telemetry, rows.iloc[:0]).empty
    idle, rows = samples_of(make_samples, [Pool(120.0)])
    assert named_disks(disk_pace(idle, rows)).empty


def short(seed: int) -> Pool:
    """Twelve small files: work of less than a record on each of their disks."""
    return written(seed, None, 12, rate=20 * DISK)


def test_a_sample_says_which_slowdown_it_would_have_shown(make_samples: Make) -> None:
    telemetry, rows = samples_of(make_samples, [written(1, None), written(2, 0.1), Pool(120.0)])
    pace = disk_pace(telemetry, rows)
    seen = sight(pace, rows)
    assert list(seen) == SIGHT_COLUMNS
    assert seen["told"].tolist() == [True, True, False]
    assert seen["disks"].tolist()[2] == 0
    assert np.isinf(seen["visible"].iloc[2])
    # what it would have shown is what it shows
    assert pace.loc[(pace["sample"] == 1), "visible"].le(TOLD).mean() > 0.5
    table = sight_table(seen, with_series(rows))
    (cell,) = table.to_dict("records")
    assert cell["layout"] == "disperse 12x(4+2), JBOD"
    assert (cell["files"], cell["workers"], cell["samples"], cell["samples that tell"]) == ("4 GiB", 48, 3, 2)
    assert cell["times slower that would have shown"].endswith(", none")
    # without any telemetry, too
    nothing = sight(disk_pace(telemetry.iloc[:0], rows), rows)
    assert nothing["told"].tolist() == [False] * 3


def test_no_name_is_no_all_clear(make_samples: Make) -> None:
    telemetry, rows = samples_of(make_samples, [written(1, None), Pool(120.0), written(3, None)])
    pace = disk_pace(telemetry, rows)
    (sentence,) = slow_sentences(pace, sight(pace, rows), "jbod")
    assert sentence == (
        "No disk of jbod was named. In 2 of 3 samples one 4 times slower than the others would have shown in at least "
        "half of the places; in 1 of 3 a slow disk could not be told."
    )
    whole, rows = samples_of(make_samples, [written(1, None), written(3, None)])
    pace = disk_pace(whole, rows)
    (sentence,) = slow_sentences(pace, sight(pace, rows), "jbod")
    assert sentence.startswith("No disk of jbod was named, and in each of 2 samples one 4 times slower ")
    telemetry, rows = samples_of(make_samples, [written(1, 0.1), Pool(120.0)])
    pace = disk_pace(telemetry, rows)
    named, blind = slow_sentences(pace, sight(pace, rows), "jbod")
    assert named.startswith("server04 sdg: ")
    assert blind == "Samples on jbod: in 1 of 2 a slow disk could not be told."


def test_a_disk_of_which_no_sample_tells_has_no_time(make_samples: Make) -> None:
    pace = disk_pace(*samples_of(make_samples, [short(1)]))
    assert not pace.empty
    table = pace_by_disk(pace)
    assert table["told"].eq(0).all()
    assert table["time_ratio"].isna().all()


def test_reads_of_one_subvolume_hide_a_slow_disk_and_writes_do_not(make_samples: Make) -> None:
    found = {}
    for operation, metric in (("read", "read_bytes_per_s"), ("write", "write_bytes_per_s")):
        pool = Pool(120.0, disks=("sdb",))
        for server in SERVERS:
            pool.disk(metric, queue(30e6, DISK, 1e6, len(pool.since), pool.step), [server])
        telemetry, rows = samples_of(make_samples, [pool])
        found[operation] = sight(disk_pace(telemetry, rows.assign(geometry="1x(4+2)")), rows)["told"].item()
    assert found == {"read": False, "write": True}
