"""Series: only valid samples, and never two cells in one point."""

import pandas as pd
import pytest

from glusterlab.analysis import saturation_points, select, summarise
from glusterlab.analysis.efficiency import best_workers, per_disk
from glusterlab.analysis.select import SUMMARY, WHOLE_TIME, select_nearest, size_note, split_values, with_series
from glusterlab.errors import DataError
from tests.conftest import build_samples

GIB = 2**30


def test_only_valid_samples_are_selected() -> None:
    samples = build_samples({("disperse", "write", 12): [1.0, 2.0, 3.0]})
    samples.loc[1, "status"] = "invalid"
    row = summarise(select(samples, tool="iozone"), "throughput_bytes_per_s").iloc[0]
    assert (row["n"], row["samples"], row["interval"]) == (2, "01;03", "insufficient n")
    assert split_values(row["values"]) == [1.0, 3.0]


def test_a_summary_holds_mean_interval_and_the_way_back() -> None:
    samples = build_samples({("disperse", "write", 12): [9.0, 10.0, 11.0]})
    summary = summarise(select(samples, tool="iozone"), "throughput_bytes_per_s")
    assert list(summary.columns) == [*SUMMARY, *WHOLE_TIME]
    row = summary.iloc[0]
    assert (row["mean"], row["median"], row["n"]) == (10.0, 10.0, 3)
    assert (row["low"], row["high"]) == pytest.approx((7.516, 12.484), abs=1e-3)
    assert row["cell_id"] == samples["cell_id"].iloc[0]
    assert row["series"] == "disperse 12x(4+2), JBOD"


def test_a_hot_tier_is_a_series_of_its_own() -> None:
    plain = build_samples({("disperse", "write", 12): [9.0]}).assign(hot="", hot_kind="")
    tiered = plain.assign(hot="3x2", hot_kind="nvme", cell_id="tiered")
    series = with_series(pd.concat([plain, tiered]))["series"]
    assert series.tolist() == ["disperse 12x(4+2), JBOD", "disperse 12x(4+2), JBOD + hot 3x2, NVMe"]


def test_two_groups_have_centres_and_no_mean_and_are_not_passed_over_as_best() -> None:
    apart = [30.1e6, 8.4e6, 31.3e6, 8.8e6, 8.6e6]
    samples = build_samples({("disperse", "write", 12): [20e6] * 4, ("disperse", "write", 48): apart})
    summary = summarise(select(samples, tool="iozone"), "throughput_bytes_per_s")
    assert summary["groups"].tolist() == [1, 2]
    row = per_disk(summary).iloc[1]
    assert (row["n"], row["interval"]) == (5, "two groups of samples")
    assert row[["mean", "low", "high"]].isna().all()
    assert (row["group_low"] * 72, row["group_high"] * 72) == pytest.approx((8.6e6, 30.7e6), rel=0.01)
    assert best_workers(summary)["workers"].tolist() == [48]
    points = saturation_points(summary).iloc[0]
    assert (points["saturation_workers"] != points["saturation_workers"], points["still_rising"]) == (True, False)
    few = summarise(select(samples.iloc[:3], tool="iozone"), "throughput_bytes_per_s")
    assert few["groups"].tolist() == [0]


@pytest.mark.parametrize(
    ("column", "other", "words"),
    [
        ("access", "nfs", ("native", "nfs")),
        ("record_size_bytes", 1048576.0, ("512 KiB records", "1 MiB records")),
        ("layout", "disperse-tuned", ("disperse-12x4+2-jbod", "disperse-tuned")),
        ("cell_id", "other", ("w12", "other")),
    ],
)
def test_cells_that_differ_are_apart(column: str, other: object, words: tuple[str, str]) -> None:
    first = build_samples({("disperse", "write", 12): [1.0, 2.0, 3.0]})
    second = first.assign(**({"cell_id": "other"} | {column: other}))
    both = pd.concat([first, second], ignore_index=True)
    summary = summarise(select(both, tool="iozone"), "throughput_bytes_per_s")
    assert summary["n"].tolist() == [3, 3]
    assert summary["series"].nunique() == 2
    assert all(any(word in series for series in summary["series"]) for word in words)


def test_two_scales_of_one_size_are_named_by_their_scale() -> None:
    # the record follows from the scale: 256 KiB at 1:200, 128 KiB at 1:400
    cell = {("disperse", "write", 48): [1.0]}
    samples = pd.concat(
        build_samples(cell, scale=scale, record_size_bytes=200 * 262144.0 / scale, cell_id=f"1-{scale}")
        for scale in (200, 400)
    )
    assert set(select(samples, tool="iozone")["series"]) == {f"disperse 12x(4+2), JBOD, 1:{n}" for n in (200, 400)}


def test_nearest_of_chosen_layouts() -> None:
    counts = (1, 12, 48)
    samples = build_samples({(kind, "write", n): [1.0] for kind in ("disperse", "replicate") for n in counts})
    # sizes within a tenth are one size
    assert len(select(samples, tool="iozone", nominal_file_size_bytes=4e9)) == 6
    wanted = {"tool": "iozone", "nominal_file_size_bytes": 128 * GIB}
    assert select(samples, **wanted).empty
    assert len(select_nearest(samples, **wanted)) == 6
    assert set(select_nearest(samples, **wanted, layouts=["replicate-3x2-raid6"])["type"]) == {"replicate"}
    # fewer worker counts are no curve, so that only the size itself would do
    few = samples[samples["workers"] < 48]
    assert select_nearest(few, **wanted).empty
    assert len(select_nearest(few, **(wanted | {"nominal_file_size_bytes": 4 * GIB}))) == 4
    with pytest.raises(DataError, match=r"expected layouts among disperse.*found other"):
        select_nearest(samples, **wanted, layouts=["other"])


def curve(size: int, workers: tuple[int, ...]) -> pd.DataFrame:
    return build_samples({("replicate", "write", count): [1.0] for count in workers}, nominal=size)


def test_the_nearest_size_has_a_curve() -> None:
    wanted = {"tool": "iozone", "nominal_file_size_bytes": 128 * GIB}
    # the guide's 128 GB at one worker count, 4 GB at six, 128 MB at three
    samples = pd.concat(
        [curve(128 * GIB, (48,)), curve(4 * GIB, (1, 6, 12, 24, 48, 96)), curve(128 << 20, (1, 12, 24))]
    )
    drawn = select_nearest(samples, **wanted)
    assert set(drawn["nominal_file_size_bytes"]) == {4 * GIB}
    assert size_note(samples, drawn, 128 * GIB) == (
        "Drawn here: files of 4 GiB, the nearest to 128 GiB that has a curve: 128 GiB was measured at 48 workers only."
    )
    more = pd.concat([samples, curve(128 * GIB, (1, 12))])
    drawn = select_nearest(more, **wanted)
    assert set(drawn["nominal_file_size_bytes"]) == {128 * GIB}
    assert size_note(more, drawn, 128 * GIB) == "Drawn here: files of 128 GiB."
