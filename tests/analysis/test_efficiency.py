"""Efficiency: per disk, times the scale, beside published values; and where curves stop rising."""

import math
from typing import Any

import pandas as pd
import pytest

from glusterlab.analysis import all_sizes, efficiency, saturation_points, select, summarise, with_published_totals
from glusterlab.analysis.efficiency import best_workers, per_disk, with_published
from glusterlab.spec import published
from tests.conftest import build_samples
from tests.guide_pools import GUIDE

NUMBERS = published.load(GUIDE)


def curve(points: dict[Any, list[float]]) -> pd.DataFrame:
    """The summary of writes by workers, or by (layout type, operation, workers)."""
    cells = {key if isinstance(key, tuple) else ("disperse", "write", key): values for key, values in points.items()}
    return summarise(select(build_samples(cells), tool="iozone"), "throughput_bytes_per_s")


def test_efficiency_is_at_the_best_workers_with_scale_and_guide(large_rows: pd.DataFrame) -> None:
    table = efficiency(large_rows, "throughput_bytes_per_s", NUMBERS)
    assert table["workers"].tolist() == [48] * 4
    write = table[(table["operation"] == "write") & (table["type"] == "disperse")].iloc[0]
    values = write[["mean", "full_size_mean", "published"]].tolist()
    assert values == pytest.approx([28e6 / 72, 28e6 / 72 * 200, 83.68e6])
    assert "83.68 MB/s/drive" in write["published_source"]
    assert table[table["type"] == "replicate"]["published"].isna().all()


def test_published_values_need_the_same_layout_and_access(large_rows: pd.DataFrame) -> None:
    rows = per_disk(summarise(large_rows, "throughput_bytes_per_s"))
    for column, other in (("geometry", "24x(4+2)"), ("access", "nfs"), ("kind", "raid6")):
        changed = rows[rows["type"] == "disperse"].assign(**{column: other})
        assert with_published(changed, NUMBERS)["published"].isna().all()


@pytest.mark.parametrize(
    ("points", "saturated", "best"),
    [
        ({1: 1.0, 6: 5.0, 12: 9.5, 24: 10.0, 48: 10.2}, 12, 48),
        ({1: 1.0, 6: 5.0, 12: 10.0}, math.nan, 12),
        ({1: 9.5, 6: 9.0, 12: 12.0, 24: 12.1}, 12, 24),
        ({12: 3.0}, math.nan, 12),
    ],
)
def test_saturation_point(points: dict[int, float], saturated: float, best: int) -> None:
    values = {workers: [value] * 3 for workers, value in points.items()}
    row = saturation_points(curve(values)).iloc[0]
    assert (row["best_workers"], row["most_workers"]) == (best, max(points))
    assert row["still_rising"] == (math.isnan(saturated) and len(points) > 1)
    assert row["saturation_workers"] == pytest.approx(saturated, nan_ok=True)


def test_a_curve_with_too_few_samples_has_no_saturation_point() -> None:
    row = saturation_points(curve({1: [1.01] * 3, 12: [1.12] * 2, 48: [1.48] * 3})).iloc[0]
    assert (row["n"], row["still_rising"], math.isnan(row["saturation_workers"])) == (2, False, True)


def test_the_best_worker_count_has_enough_samples_where_any_has() -> None:
    enough = {12: [5.0] * 3, 24: [4.0] * 3, 48: [9.0]}
    few = {("replicate", "write", 12): [5.0], ("replicate", "write", 24): [6.0] * 2}
    best = best_workers(curve(enough | few))
    assert best.set_index("type")["workers"].to_dict() == {"disperse": 12, "replicate": 24}


def test_a_number_for_any_layout_is_not_of_dense_servers() -> None:
    cells = {("replicate", operation, 48): [40.0] * 3 for operation in ("create", "read")}
    rows = build_samples(cells, tool="smallfile", nominal=4 << 20, scale=120)
    standard = efficiency(select(rows, tool="smallfile"), "files_per_s", NUMBERS).set_index("operation")
    assert standard["published"].dropna().to_dict() == {"read": 13.54}
    assert standard["published_any"].dropna().to_dict() == {"create": 5.44}
    dense = rows.assign(server_model="dense", geometry="6x2", disks=144)
    table = efficiency(select(dense, tool="smallfile"), "files_per_s", NUMBERS).set_index("operation")
    assert table.loc["create", "published"] == 1.53
    assert table["published_any"].isna().all()


def test_numbers_per_disk_are_levels_of_all_disks_together(large_rows: pd.DataFrame) -> None:
    summary = summarise(large_rows, "throughput_bytes_per_s")
    table = with_published_totals(summary, NUMBERS)
    assert table["quantity"].tolist() == summary["quantity"].tolist()
    stated = table[table["type"] == "disperse"].groupby("operation")["published"].agg(["min", "max"])
    assert stated.loc["write"].tolist() == pytest.approx([83.68e6 * 72] * 2)
    assert stated.loc["read"].tolist() == pytest.approx([108.07e6 * 72] * 2)
    assert table[table["type"] == "replicate"]["published"].isna().all()
    # how many disks an import had may not be known
    assert len(with_published_totals(summary.assign(disks=0), NUMBERS)) == len(summary)


@pytest.mark.parametrize(("end", "by"), [("_per_server", 12), ("", 72)])
def test_numbers_per_server_and_of_the_volume_are_stated(large_rows: pd.DataFrame, end: str, by: int) -> None:
    rows = large_rows.assign(servers=6)
    others = NUMBERS.assign(quantity=NUMBERS["quantity"].str.removesuffix("_per_disk") + end)
    table = efficiency(rows, "throughput_bytes_per_s", others)
    stated = table[table["type"] == "disperse"].set_index("operation")["published"]
    assert stated.to_dict() == pytest.approx({"write": 83.68e6 / by, "read": 108.07e6 / by})
    total = with_published_totals(summarise(rows, "throughput_bytes_per_s"), others, rows)
    assert total["published"].max() == pytest.approx(108.07e6 * 72 / by)


def test_small_files_are_bytes_among_all_sizes(large_samples: pd.DataFrame) -> None:
    cells = {("replicate", operation, 12): [72.0] * 3 for operation in ("create", "read")}
    small = build_samples(cells, tool="smallfile", nominal=4 << 20, scale=120)
    # a tool that says nothing of bytes is normalised all the same
    samples = pd.concat([large_samples, small.assign(throughput_bytes_per_s=math.nan)], ignore_index=True)
    table = all_sizes(samples, NUMBERS)
    assert set(table["operation"]) == {"write", "read"}
    assert table["operation"].tolist() == sorted(table["operation"], reverse=True)
    row = table[(table["tool"] == "smallfile") & (table["operation"] == "read")].iloc[0]
    values = row[["mean", "full_size_mean", "published"]].tolist()
    assert values == pytest.approx([(4 << 20) * factor for factor in (1, 120, 13.54)])
    large = table[(table["tool"] == "iozone") & (table["operation"] == "write") & (table["type"] == "disperse")]
    assert large["published"].tolist() == [83.68e6]
    assert len(all_sizes(large_samples, NUMBERS)) == 4
    assert all_sizes(samples.iloc[:0], NUMBERS).empty
