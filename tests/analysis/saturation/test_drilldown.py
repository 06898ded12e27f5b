"""Samples over time, packed: what comes out is what went in, to a step, and the size is bounded."""

import base64
import json
import math
import zlib
from typing import Any

import numpy as np
import pandas as pd
import pytest

from glusterlab.analysis import select
from glusterlab.analysis.saturation.drilldown import (
    LEVELS,
    MOST_STEPS,
    NOTHING,
    RECORDED,
    SHARE,
    drill_down,
    find_sample,
    inspect_sample,
)
from glusterlab.analysis.saturation.verdict import VERDICT_COLUMNS, judge
from glusterlab.errors import UsageError
from tests.busy_pool import CLIENTS, DISK, KNOWN, LINK, SERVERS, Pool, during
from tests.conftest import build_samples

NO_VERDICTS = pd.DataFrame(columns=VERDICT_COLUMNS)
COUNTS = (12, 48)


@pytest.fixture
def rows() -> pd.DataFrame:
    table = build_samples({("disperse", "write", workers): [1.0, 2.0] for workers in COUNTS}, elapsed_s=60.0)
    return select(table.assign(end_s=table["start_s"] + 60), tool="iozone")


def pool() -> Pool:
    disks = Pool().disk("write_bytes_per_s", 0.5 * DISK).disk("write_bytes_per_s", DISK, ["server02"], ["sde"])
    return disks.links("transmit", during(10, 40, 0.95 * LINK), *CLIENTS).other("load", "load_1min", 7.0, SERVERS)


def recorded(rows: pd.DataFrame, each: Pool | None = None) -> pd.DataFrame:
    return pd.concat([(each or pool()).table(row) for _, row in rows.iterrows()], ignore_index=True)


def first_cell(rows: pd.DataFrame) -> pd.DataFrame:
    return rows[rows["cell_id"] == rows["cell_id"].iloc[0]]


def packed(rows: pd.DataFrame, each: Pool | None = None) -> dict[str, Any]:
    rows = first_cell(rows)
    return drill_down(recorded(rows, each), rows, {str(cell): KNOWN for cell in rows["cell_id"]}, NO_VERDICTS)


def unpacked(data: dict[str, Any], sample: dict[str, Any]) -> dict[tuple[str, str], dict[tuple[str, str], np.ndarray]]:
    """Values by kind and name of the measure, then by host and device, as the page unpacks them."""
    codes = np.frombuffer(zlib.decompress(base64.b64decode(sample["data"])), dtype=np.uint8)
    found, at = {}, 0
    for measure, group, most, _ in sample["layers"]:
        kind, name, _, factor = data["measures"][measure]
        resources = [data["resources"][place] for place in data["groups"][group]]
        size = len(resources) * sample["steps"]
        values = codes[at : at + size].reshape(len(resources), -1)
        at += size
        scaled = np.where(values == NOTHING, math.nan, values * most * factor / LEVELS)
        found[kind, name] = {(host, device): line for (_, host, device), line in zip(resources, scaled, strict=True)}
    assert at == len(codes)
    return found


def test_what_is_unpacked_is_what_was_recorded(rows: pd.DataFrame) -> None:
    data = packed(rows)
    sample = data["samples"][0]
    assert (sample["steps"], sample["step"], sample["end"]) == (30, 2.0, 2.0)
    found = unpacked(data, sample)
    written = found[RECORDED, "disks, written"]
    assert len(written) == 72
    assert written["server02", "sde"] == pytest.approx(1.0)
    assert written["server01", "sdb"] == pytest.approx(0.5, abs=0.5 / LEVELS)
    sent = found[RECORDED, "network, sent"]["client07", "eth0"]
    assert sent == pytest.approx([0.0] * 5 + [9.5] * 15 + [0.0] * 10)
    assert found[RECORDED, "load, 1 min"]["server03", ""] == pytest.approx(7.0)
    share = found[SHARE, "client network, sent"]["client07", ""]
    assert share == pytest.approx([0.0] * 5 + [95.0] * 15 + [0.0] * 10)
    # what never was above 0 is left out
    assert (RECORDED, "disks, read") not in found
    assert json.loads(json.dumps(data, allow_nan=False)) == data
    # a share has the threshold that it counts by
    full = {tuple(data["measures"][layer[0]][:2]): layer[3] for layer in sample["layers"]}
    assert (full[SHARE, "server disks"], full[RECORDED, "disks, written"]) == (0.9, None)


def test_a_record_that_is_missing_is_told_apart_from_nothing_done(rows: pd.DataFrame) -> None:
    table = recorded(rows.iloc[:1])
    late = table["host"].eq("server01") & (table["time_s"] - float(rows["start_s"].iloc[0]) <= 10)
    data = drill_down(table[~late], rows.iloc[:1], {str(rows["cell_id"].iloc[0]): KNOWN}, NO_VERDICTS)
    line = unpacked(data, data["samples"][0])[RECORDED, "disks, written"]["server01", "sdb"]
    assert np.isnan(line[:4]).all()
    assert line[5:] == pytest.approx(0.5, abs=0.5 / LEVELS)


def test_verdicts_stand_beside_their_samples(rows: pd.DataFrame) -> None:
    rows = first_cell(rows)
    table = recorded(rows)
    capacity = {str(cell): KNOWN for cell in rows["cell_id"]}
    data = drill_down(table, rows, capacity, judge(table, rows, capacity).verdicts)
    words = data["samples"][0]["verdict"]
    assert words.startswith("part of the disks; ") or "all 12 clients" in words
    assert [sample["number"] for sample in data["samples"]] == [1, 2]
    for nothing in (drill_down(table.iloc[:0], rows, {}, NO_VERDICTS), drill_down(table, rows[:0], {}, NO_VERDICTS)):
        assert nothing["samples"] == []


def test_a_long_sample_is_averaged() -> None:
    seconds = 2.0 * (MOST_STEPS * 2 - 1)
    table = build_samples({("disperse", "write", 12): [1.0]}, elapsed_s=seconds)
    rows = select(table.assign(end_s=table["start_s"] + seconds), tool="iozone")
    steps = Pool(seconds).disk("write_bytes_per_s", lambda since: np.where(since % 4 == 0, DISK, 0.0))
    data = packed(rows, steps)
    (sample,) = data["samples"]
    assert (sample["steps"], sample["step"], sample["end"]) == (MOST_STEPS, 4.0, 4.0)
    line = unpacked(data, sample)[RECORDED, "disks, written"]["server01", "sdb"]
    assert line[:-1] == pytest.approx(0.5, abs=1 / LEVELS)


@pytest.mark.parametrize(
    ("text", "workers", "number"),
    [("{few}", 12, 1), ("{few}/2", 12, 2), (" {many}/sample-02 ", 48, 2), ("{many:.56}", 48, 1), ("", 48, 1)],
)
def test_a_parameter_names_a_sample(rows: pd.DataFrame, text: str, workers: int, number: int) -> None:
    few, many = sorted(rows["cell_id"].unique())
    found = find_sample(rows, text.format(few=few, many=many)).iloc[0]
    assert (found["workers"], found["sample"]) == (workers, number)
    assert find_sample(rows.iloc[:0], "").empty


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("iozone", "expected the id of one cell with valid samples, found 2, such as iozone-write-"),
        ("tape/1", "found none"),
        ("{few}/9", r"expected one of the valid samples 1, 2 of iozone-write"),
        ("{few}/first", "expected one of the valid samples"),
    ],
)
def test_a_sample_that_is_not_there_is_refused(rows: pd.DataFrame, text: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        find_sample(rows, text.format(few=min(rows["cell_id"])))


def test_any_valid_sample_can_be_inspected(rows: pd.DataFrame) -> None:
    other = build_samples({("replicate", "read", 6): [1.0]})
    samples = pd.concat([rows.drop(columns="series"), other], ignore_index=True)
    every, one = inspect_sample(samples, rows, str(other["cell_id"].iloc[0]))
    assert one["series"].tolist() == ["replicate 3x2, RAID 6"]
    assert len(every) == len(rows) + 1
    every, one = inspect_sample(samples, rows, "")
    assert (len(every), int(one["workers"].iloc[0])) == (len(rows), 48)
    assert [table.empty for table in inspect_sample(samples, rows.iloc[:0], "")] == [True, True]
    invalid = samples.assign(status="invalid")
    with pytest.raises(UsageError, match="found none"):
        inspect_sample(invalid, rows, str(other["cell_id"].iloc[0]))
