"""One grid of time for hosts that write their records at moments of their own."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from glusterlab.analysis.saturation.timeline import rolling, timelines
from tests.busy_pool import SERVERS, START, Pool

Make = Callable[..., pd.DataFrame]


@pytest.fixture
def rows(make_samples: Make) -> pd.DataFrame:
    return make_samples({("disperse", "write", 12): [1.0]}, start_s=START, end_s=START + 60)


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


def test_a_record_that_was_left_out_is_covered_by_the_next(rows: pd.DataFrame) -> None:
    table = Pool().links("receive", lambda since: since, *SERVERS).table(rows.iloc[0])
    left_out = (table["host"] == "server01") & table["time_s"].sub(START).isin([20, 22])
    ((_, _, timeline),) = timelines(table[~left_out], rows, parts(rows, 0, 60))
    _, values = timeline.of("network", "receive_bytes_per_s", "server")
    assert values[0, 8:12].tolist() == [18.0, 24.0, 24.0, 24.0]
    assert values[1, 8:12].tolist() == [18.0, 20.0, 22.0, 24.0]


def test_without_two_records_there_is_no_timeline(rows: pd.DataFrame) -> None:
    table = Pool().table(rows.iloc[0])
    assert list(timelines(table[table["time_s"] == START + 2], rows, parts(rows, 0, 60))) == []
    assert list(timelines(table.iloc[:0], rows, parts(rows, 0, 60))) == []
    ((_, _, timeline),) = timelines(table, rows, parts(rows, 0, 60).iloc[:0])
    assert not timeline.inside.any()


@given(arrays(float, st.tuples(st.integers(1, 3), st.integers(1, 12)), elements=st.floats(0, 1e9)), st.integers(1, 20))
def test_means_of_stretches_are_means(values: np.ndarray, steps: int) -> None:
    found = rolling(values, steps)
    width = min(steps, values.shape[1])
    for start in range(values.shape[1] - width + 1):
        assert found[:, start] == pytest.approx(values[:, start : start + width].mean(axis=1), abs=1e-3)
