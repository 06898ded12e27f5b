"""Cells at two scales, and how busy the machine was: with numbers that are known."""

import math

import numpy as np
import pandas as pd
import pytest

from glusterlab.analysis.testbed import machine_cpu, pooled_pairs, scale_pairs
from tests.conftest import GIB, build_samples, build_telemetry

CELL = ("replicate", "write", 48)


def at(scale: int, values: tuple[float, ...], **changed: object) -> pd.DataFrame:
    """One cell on one scale model."""
    return build_samples({CELL: values}, scale=scale, cell_id=f"w-{scale}", **changed)


@pytest.fixture
def two() -> pd.DataFrame:
    """At 1:200 and at 1:400: 4 GB/s both, once multiplied."""
    return pd.concat([at(200, (19e6, 20e6, 21e6)), at(400, (9.6e6, 10e6, 10.4e6))], ignore_index=True)


def test_what_agrees_at_both_scales_is_told(two: pd.DataFrame) -> None:
    (row,) = scale_pairs(two, machine_cpu(build_telemetry(two), two)).to_dict("records")
    assert (row["fast_scale"], row["slow_scale"]) == (200, 400)
    assert (row["fast_mean"], row["slow_mean"]) == (pytest.approx(20e6), pytest.approx(10e6))
    assert (row["ratio"], row["agree"]) == (pytest.approx(1.0, abs=0.002), True)
    assert row["low"] < 1 < row["high"]
    # each of the three hosts says 20 % of all CPUs
    assert (row["fast_cpu"], row["slow_cpu"]) == (pytest.approx(0.6), pytest.approx(0.6))
    assert (row["fast_cell"], row["slow_cell"], row["fast_samples"]) == ("w-200", "w-400", "01;02;03")
    assert row["label"] == "write 4 GiB, replicate 3x2, RAID 6, 48 workers"


def test_a_faster_model_that_does_less_than_its_share_is_named(two: pd.DataFrame) -> None:
    samples = pd.concat([at(200, (10e6, 10.1e6, 10.2e6)), at(400, (9.9e6, 10e6, 10.1e6))], ignore_index=True)
    (row,) = scale_pairs(samples, _nothing()).to_dict("records")
    assert row["ratio"] == pytest.approx(1.98, abs=0.01)
    assert not row["agree"]
    assert math.isnan(row["fast_cpu"])
    # too few repeats have no interval, and agree with nothing
    assert scale_pairs(two[two["sample"] < 2], _nothing())["agree"].tolist() == [False]


def _nothing() -> pd.DataFrame:
    return pd.DataFrame({"cell_id": pd.Series(dtype=str), "mean": pd.Series(dtype=float)})


def test_three_scales_are_held_against_the_next() -> None:
    samples = pd.concat([at(scale, (4e9 / scale,) * 3) for scale in (400, 100, 200)], ignore_index=True)
    pairs = scale_pairs(samples, _nothing())
    assert [(row["fast_scale"], row["slow_scale"]) for row in pairs.to_dict("records")] == [(100, 200), (200, 400)]
    assert pairs["agree"].tolist() == [True, True]


@pytest.mark.parametrize(
    ("name", "value"),
    [("workers", 24), ("access", "nfs"), ("nominal_file_size_bytes", GIB), ("geometry", "6x2"), ("scale", 200)],
)
def test_cells_that_differ_in_more_than_the_scale_are_no_pair(two: pd.DataFrame, name: str, value: object) -> None:
    two.loc[two["scale"] == 400, name] = value
    assert scale_pairs(two, _nothing()).empty


def test_small_files_are_held_together_by_files_per_second() -> None:
    cells = [
        build_samples({CELL: (60.0 / scale,) * 3}, tool="smallfile", nominal=32768, scale=scale, cell_id=f"s-{scale}")
        for scale in (17, 34)
    ]
    pairs = scale_pairs(pd.concat(cells, ignore_index=True), _nothing())
    assert pairs["quantity"].tolist() == ["files_per_s"]
    assert pairs["ratio"].tolist() == [pytest.approx(1.0)]


@pytest.mark.parametrize(("sample", "mean"), [(None, 0.84), (2, 0.68)])
def test_the_busiest_cell_comes_first_by_its_mean(two: pd.DataFrame, sample: int | None, mean: float) -> None:
    telemetry = build_telemetry(two)
    idle = (telemetry["cell_id"] == "w-400") & (telemetry["metric"] == "idle_fraction")
    telemetry.loc[idle & ((telemetry["sample"] == sample) | (sample is None)), "value"] = 0.52
    busy = machine_cpu(telemetry, two)
    assert busy["cell_id"].tolist() == ["w-400", "w-200"]
    assert busy["mean"].tolist() == [pytest.approx(mean), pytest.approx(0.6)]
    assert busy["busiest"].tolist() == [pytest.approx(0.84), pytest.approx(0.6)]


def test_cells_that_hold_1_one_by_one_may_not_do_so_together() -> None:
    steps = np.array([-1.0, 0.0, 1.0])
    parts = []
    for workers in (12, 24, 48, 96):
        for scale, of in ((200, 1.0), (400, 1.04)):
            values = 20e6 * of / scale * np.exp(0.02 * steps)
            cell = {("disperse", "write", workers): values}
            parts.append(build_samples(cell, scale=scale, cell_id=f"{workers}-{scale}"))
    pairs = scale_pairs(pd.concat(parts, ignore_index=True), _nothing())
    assert pairs["agree"].all()
    (row,) = pooled_pairs(pairs).to_dict("records")
    # by hand: each ratio has the variance 2 x 0.02^2 / 3, and four of them a quarter of that
    half = 1.96 * math.sqrt(2 * 0.02**2 / 3 / 4)
    assert (row["cells"], row["agree"]) == (4, False)
    assert (row["ratio"], row["low"]) == pytest.approx((1.04, 1.04 * math.exp(-half)), rel=1e-4)
    assert row["words"] == "4 cells of 4 GiB at 1:400 and 1:200 pooled: 1.040 (1.023 to 1.057), which does not hold 1."
    assert pooled_pairs(pairs.head(1)).empty
