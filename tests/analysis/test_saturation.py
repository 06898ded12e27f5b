"""Saturation: means over the steady part, over hosts of a role, over samples."""

from __future__ import annotations

import math
from collections.abc import Callable

import pandas as pd
import pytest

from glusterlab.analysis import Limits, saturation, select, telemetry_by_sample, use_of_limits
from glusterlab.analysis.saturation import METRICS, steady_part

Make = Callable[..., pd.DataFrame]


@pytest.fixture
def samples(make_samples: Make) -> pd.DataFrame:
    return select(make_samples({("disperse", "write", 12): [1.0, 2.0, 3.0]}), tool="iozone")


@pytest.fixture
def telemetry(make_telemetry: Make, samples: pd.DataFrame) -> pd.DataFrame:
    return make_telemetry(samples)


def test_steady_part_is_inside_the_window_after_the_ramp(telemetry: pd.DataFrame, samples: pd.DataFrame) -> None:
    rows = steady_part(telemetry, samples, ramp_s=4.0)
    since = rows.merge(samples[["sample", "start_s"]], on="sample")
    assert sorted((since["time_s"] - since["start_s"]).unique()) == [4.0 + 2 * n for n in range(9)]


def test_steady_part_is_no_longer_than_the_tools_own_time(telemetry: pd.DataFrame, samples: pd.DataFrame) -> None:
    rows = steady_part(telemetry, samples.assign(elapsed_s=[5.0, math.nan, 50.0]), ramp_s=2.0)
    since = rows.merge(samples[["sample", "start_s"]], on="sample")
    last = (since["time_s"] - since["start_s"]).groupby(since["sample"]).max()
    assert last.tolist() == [6.0, 20.0, 20.0]


def test_values_per_role(telemetry: pd.DataFrame, samples: pd.DataFrame) -> None:
    table = telemetry_by_sample(telemetry, samples)
    first = table[table["sample"] == 1].set_index(["role", "quantity"])["value"]
    assert set(table["quantity"]) == set(METRICS)
    assert first["server", "network_receive_bytes_per_s"] == pytest.approx(150.0)
    assert first["client", "network_transmit_bytes_per_s"] == pytest.approx(10.0)
    assert first["server", "cpu_busy_fraction"] == pytest.approx(0.2)
    assert first["server", "disk_bytes_per_s"] == pytest.approx(100.0)
    assert first["server", "disk_await_s"] == pytest.approx((0.001 * 30 + 0.005 * 10) / 40)
    assert ("client", "disk_bytes_per_s") not in first.index
    assert table[table["role"] == "server"]["hosts"].eq(2).all()


def test_a_window_with_too_few_records_says_nothing(telemetry: pd.DataFrame, samples: pd.DataFrame) -> None:
    short = samples.assign(end_s=samples["start_s"] + 3.0)
    assert telemetry_by_sample(telemetry, short).empty
    assert saturation(telemetry, short).empty
    assert saturation(telemetry.iloc[:0], samples).empty
    assert saturation(telemetry, samples.iloc[:0]).empty


def test_summary_has_an_interval_over_samples(telemetry: pd.DataFrame, samples: pd.DataFrame) -> None:
    table = saturation(telemetry, samples)
    assert table.columns[0] == "role"
    assert table["n"].eq(3).all()
    load = table[(table["quantity"] == "load_1min") & (table["role"] == "client")].iloc[0]
    assert (load["mean"], load["low"], load["high"]) == pytest.approx((3.0, 3.0, 3.0))


def test_use_of_limits_takes_the_fuller_direction(telemetry: pd.DataFrame, samples: pd.DataFrame) -> None:
    table = saturation(telemetry, samples)
    limits = {samples["cell_id"].iloc[0]: Limits(300.0, 200.0, 125.0, 1.0)}
    share = use_of_limits(table, limits).set_index("subsystem")["share"]
    assert share["server network"] == pytest.approx(0.5)
    assert share["client network"] == pytest.approx(0.5)
    assert share["server disks"] == pytest.approx(0.8)
    assert share["server CPU"] == pytest.approx(0.2)
    assert set(use_of_limits(table, {})["subsystem"]) == {"server CPU", "client CPU"}
