"""Saturation: means over the measured part, over hosts of a role, over samples."""

import numpy as np
import pandas as pd
import pytest

from glusterlab.analysis import select
from glusterlab.analysis.saturation.timeline import JUDGED_METRICS
from glusterlab.analysis.saturation.usage import (
    ACTIVITIES,
    USED_METRICS,
    steady_part,
    telemetry_by_cell,
    telemetry_by_sample,
)
from tests.conftest import build_samples, build_telemetry


@pytest.fixture
def samples() -> pd.DataFrame:
    return select(build_samples({("disperse", "write", 12): [1.0, 2.0, 3.0]}), tool="iozone")


@pytest.fixture
def telemetry(samples: pd.DataFrame) -> pd.DataFrame:
    return build_telemetry(samples)


def test_records_of_the_measured_part_count(telemetry: pd.DataFrame, samples: pd.DataFrame) -> None:
    since = telemetry["time_s"] - telemetry.merge(samples, on="sample")["start_s"]
    busy = (since > 10.0) & (since <= 16.0) & (telemetry["activity"] == "network")
    telemetry = telemetry.assign(value=telemetry["value"].where(~busy, 1e7))
    rows = steady_part(telemetry, samples.assign(elapsed_s=6.0)).merge(samples[["sample", "start_s"]], on="sample")
    assert sorted((rows["time_s"] - rows["start_s"]).unique()) == [12.0, 14.0, 16.0]


def test_values_per_role(telemetry: pd.DataFrame, samples: pd.DataFrame) -> None:
    table = telemetry_by_sample(telemetry, samples)
    assert set(table["quantity"]) == set(ACTIVITIES) - {"machine_cpu_busy_fraction"}
    first = table[table["sample"] == 1].set_index(["role", "quantity"])["value"]
    expected = {
        ("server", "network_receive_bytes_per_s"): 150.0,
        ("client", "network_transmit_bytes_per_s"): 10.0,
        ("server", "cpu_busy_fraction"): 0.2,
        ("server", "disk_bytes_per_s"): 100.0,
        ("server", "disk_operations_per_s"): 40.0,
        ("server", "disk_await_s"): (0.001 * 30 + 0.005 * 10) / 40,
    }
    assert {key: first[key] for key in expected} == pytest.approx(expected)
    assert ("client", "disk_bytes_per_s") not in first.index
    assert table[table["role"] == "server"]["hosts"].eq(2).all()


def test_a_window_with_too_few_records_says_nothing(telemetry: pd.DataFrame, samples: pd.DataFrame) -> None:
    short = samples.assign(end_s=samples["start_s"] + 3.0)
    assert telemetry_by_sample(telemetry, short).empty
    assert telemetry_by_cell(telemetry, short).empty
    assert telemetry_by_cell(telemetry.iloc[:0], samples).empty
    assert telemetry_by_cell(telemetry, samples.iloc[:0]).empty


def test_the_hosts_of_a_testbed_fill_one_machine(telemetry: pd.DataFrame, samples: pd.DataFrame) -> None:
    rank = telemetry.groupby("sample")["time_s"].rank(method="dense")
    late = (rank > 7) & (telemetry["metric"] == "idle_fraction")
    telemetry = telemetry.assign(value=telemetry["value"].where(~late, 0.5))
    skipped = (telemetry["host"] == "c1") & (rank == 4)
    table = telemetry_by_sample(telemetry[~skipped], samples, testbed=True)
    assert set(table["quantity"]) == set(ACTIVITIES)
    machine = table[table["role"] == "machine"]
    assert machine["quantity"].unique().tolist() == ["machine_cpu_busy_fraction"]
    # 10 records in the window of 20 s: 6 of three hosts at 0.2 and 4 at 0.3; a skipped record changes neither
    assert machine["value"].tolist() == pytest.approx([(6 * 0.6 + 4 * 0.9) / 10] * 3)
    assert machine["peak"].tolist() == pytest.approx([(0.6 + 4 * 0.9) / 5] * 3)
    summary = telemetry_by_cell(telemetry, samples, testbed=True)
    assert summary[summary["role"] == "machine"]["mean"].tolist() == pytest.approx([0.72])


def test_hosts_that_write_at_other_moments_add_up(telemetry: pd.DataFrame, samples: pd.DataFrame) -> None:
    # both servers at even seconds, 5 % each; the client at odd ones, 80 %
    client, idle = telemetry["host"] == "c1", telemetry["metric"] == "idle_fraction"
    telemetry = telemetry.assign(
        time_s=telemetry["time_s"].where(~client, telemetry["time_s"] + 1.0),
        value=telemetry["value"].where(~idle, 0.75).where(~(idle & client), 0.0),
    )
    table = telemetry_by_sample(telemetry, samples, testbed=True)
    machine = table.loc[table["role"] == "machine", ["value", "peak"]]
    assert machine.to_numpy() == pytest.approx(np.full((3, 2), 0.9))


def test_a_phase_shows_in_the_peak(telemetry: pd.DataFrame, samples: pd.DataFrame) -> None:
    late = telemetry.groupby("sample")["time_s"].rank(method="dense") > 6
    full = late & (telemetry["metric"] == "write_bytes_per_s")
    table = telemetry_by_cell(telemetry.assign(value=telemetry["value"].where(~full, 1000.0)), samples)
    disks = table[table["quantity"] == "disk_bytes_per_s"].iloc[0]
    assert disks["peak"] == pytest.approx(2000.0)
    assert disks["mean"] < 1400


def test_a_client_without_a_worker_is_not_averaged(telemetry: pd.DataFrame, samples: pd.DataFrame) -> None:
    client = telemetry[telemetry["host"] == "c1"]
    idle = client.assign(host="c2", value=client["value"].where(client["activity"] != "network", 0.5))
    table = telemetry_by_sample(pd.concat([telemetry, idle], ignore_index=True), samples)
    sent = table[(table["role"] == "client") & (table["quantity"] == "network_transmit_bytes_per_s")]
    assert sent[["hosts", "value"]].to_numpy() == pytest.approx(np.array([[1, 10.0]] * 3))


def test_a_bond_is_not_counted_with_its_members(telemetry: pd.DataFrame, samples: pd.DataFrame) -> None:
    links = telemetry[telemetry["activity"] == "network"]
    more = [links.assign(device=name, value=factor * links["value"]) for name, factor in (("bond0", 2.0), ("lo", 9.0))]
    table = telemetry_by_sample(pd.concat([telemetry, *more], ignore_index=True), samples)
    received = table[(table["role"] == "server") & (table["quantity"] == "network_receive_bytes_per_s")]
    assert received["value"].tolist() == pytest.approx([300.0] * 3)


def test_what_a_section_reads_for_verdicts_is_enough_for_means() -> None:
    assert USED_METRICS <= JUDGED_METRICS
