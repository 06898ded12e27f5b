"""One grid of time for hosts that write their records at moments of their own, and where the measured part lies."""

import math

import numpy as np
import pandas as pd
import pytest

from glusterlab.analysis import select
from glusterlab.analysis.saturation.timeline import timelines
from glusterlab.tables.parts import measured_parts
from tests.busy_pool import CLIENTS, DISK, LINK, SERVERS, START, Pool, during
from tests.conftest import build_samples


@pytest.fixture
def rows() -> pd.DataFrame:
    return build_samples({("disperse", "write", 12): [1.0]}, start_s=START, end_s=START + 60)


def parts(rows: pd.DataFrame, start: float, end: float) -> pd.DataFrame:
    times = {"part_start_s": START + start, "part_end_s": START + end}
    return rows[["cell_id", "sample"]].assign(**times)


def test_records_lie_in_steps_as_long_as_a_host_writes_them(rows: pd.DataFrame) -> None:
    pool = Pool().links("receive", lambda since: since, *SERVERS)
    table = pool.table(rows.iloc[0], {"server02": 0.7})
    ((cell, sample, timeline),) = timelines(table, rows, parts(rows, 10, 30))
    assert (cell, sample) == (rows["cell_id"].iloc[0], 1)
    assert timeline.step_s == pytest.approx(2.0)
    series, values = timeline.of("network", "receive_bytes_per_s", "server")
    assert series["host"].tolist() == list(SERVERS)
    assert np.nanmax(values, axis=1).tolist() == [60.0] * 6
    # a record counts where most of what it averages over lies inside
    assert (timeline.ends[timeline.inside] - START).tolist() == pytest.approx(np.arange(12, 32, 2))
    assert (timeline.steps(10), timeline.steps(0.1)) == (5, 1)


def test_without_two_records_there_is_no_timeline(rows: pd.DataFrame) -> None:
    table = Pool().table(rows.iloc[0])
    assert list(timelines(table[table["time_s"] == START + 2], rows, parts(rows, 0, 60))) == []
    assert list(timelines(table.iloc[:0], rows, parts(rows, 0, 60))) == []
    ((_, _, timeline),) = timelines(table, rows, parts(rows, 0, 60).iloc[:0])
    assert not timeline.inside.any()


def writes(elapsed: float, tool: str = "iozone") -> pd.DataFrame:
    """One sample whose command takes 60 s."""
    times = {"start_s": START, "end_s": START + 60, "elapsed_s": elapsed}
    return select(build_samples({("disperse", "write", 48): [1.0]}, **times), tool="iozone").assign(tool=tool)


def part(pool: Pool, elapsed: float, *, tool: str = "iozone") -> tuple[float, float]:
    """The measured part in seconds since the start of the command."""
    rows = writes(elapsed, tool)
    found = measured_parts(pool.table(rows.iloc[0]), rows).iloc[0]
    return float(found["part_start_s"]) - START, float(found["part_end_s"]) - START


def test_a_write_is_measured_from_its_first_bytes_and_not_in_its_tail() -> None:
    # links are full, then disks hold it, and after the first worker ended the others go on unmeasured
    pool = (
        Pool()
        .links("transmit", lambda since: np.where(since <= 14, 0.01, np.where(since <= 30, 0.5, 1.0)) * LINK, *CLIENTS)
        .links("receive", during(14, 60, LINK), *SERVERS)
        .disk("write_bytes_per_s", during(24, 60, DISK))
    )
    assert part(pool, 20.0) == pytest.approx((14.0, 34.0))


def test_hosts_whose_records_are_at_other_moments_have_one_onset() -> None:
    rows = writes(elapsed=20.0)
    for moments in ({}, {name: 0.16 * number for number, name in enumerate(CLIENTS)}):
        table = Pool().links("transmit", LINK, *CLIENTS).table(rows.iloc[0], moments)
        # the workers start at 15 s, within a record of every host
        share = ((table["time_s"] - START - 15) / 2).clip(0, 1)
        found = measured_parts(table.assign(value=table["value"] * share), rows).iloc[0]
        assert found["part_start_s"] - START == pytest.approx(15.0, abs=0.5)


def test_a_burst_before_the_workers_run_is_no_onset() -> None:
    burst = lambda since: np.where(since == 4, 2.0, np.where(since > 14, 0.6, 0.01)) * LINK  # noqa: E731
    assert part(Pool().links("receive", burst, *CLIENTS), 20.0) == pytest.approx((14.0, 34.0))


def test_without_a_clear_onset_the_most_bytes_tell() -> None:
    bursts = lambda since: np.where(since % 6 == 0, np.where(since > 30, LINK, 0.2 * LINK), 0.0)  # noqa: E731
    begin, end = part(Pool().links("transmit", bursts, *CLIENTS), 20.0)
    assert end - begin == pytest.approx(20.0)
    assert begin >= 30
    # a single worker that rested leaves the clients nearly idle; then it is a stretch, too, of whatever moved
    disks = Pool().disk("write_bytes_per_s", during(30, 40, DISK))
    assert part(disks, 10.0, tool="file-loop") == pytest.approx((30.0, 40.0))


def test_smallfile_ends_with_its_workers_and_its_directories_are_not_its_files() -> None:
    pool = Pool().links("transmit", lambda since: np.where(since <= 8, 1.0, 0.4) * LINK, *CLIENTS)
    assert part(pool, 40.0, tool="smallfile") == pytest.approx((18.8, 58.8))
    assert part(pool, 59.5, tool="smallfile") == pytest.approx((0.0, 59.5))


def test_a_record_weighs_as_much_as_the_time_that_it_covers() -> None:
    rows = writes(elapsed=10.0, tool="file-loop")
    first, second = during(10, 20, 0.9 * LINK), during(30, 40, LINK)
    table = Pool().links("transmit", lambda since: first(since) + second(since), *CLIENTS).table(rows.iloc[0])
    # the hosts stalled, and one record of theirs tells of 6 s
    found = measured_parts(table[~(table["time_s"] - START).isin([34, 36])], rows).iloc[0]
    assert found["part_start_s"] - START == pytest.approx(30.0)


def test_the_part_stays_in_the_window() -> None:
    early = Pool().links("transmit", during(0, 20, LINK), *CLIENTS)
    late = Pool().links("transmit", during(40, 60, LINK), *CLIENTS)
    for tool in ("iozone", "dd"):
        assert part(early, 50.0, tool=tool) == pytest.approx((0.0, 50.0))
        assert part(late, 50.0, tool=tool) == pytest.approx((10.0, 60.0))
        # without a time of the tool's own, or with one as long, it is the window
        for elapsed in (math.nan, 60.0, 90.0):
            assert part(late, elapsed, tool=tool) == (0.0, 60.0)
        assert part(Pool(), 50.0, tool=tool) == (0.0, 60.0)
