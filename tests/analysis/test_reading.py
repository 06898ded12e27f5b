"""Sentences under figures: they state what the samples support, and no more."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from glusterlab import published
from glusterlab.analysis import (
    efficiency,
    family,
    read_write_gap,
    select,
    server_advantage,
    summarise,
)
from glusterlab.analysis.reading import (
    advantage_sentences,
    bound_sentences,
    gap_sentences,
    layout_sentences,
    published_sentences,
    rounded_table,
    saturation_sentences,
    workers_table,
)

from ..guide_pools import pools

Make = Callable[..., pd.DataFrame]
NUMBERS = published.load(Path(__file__).parents[2] / "raw" / "published", "supermicro-2017")


def efficiency_of(samples: pd.DataFrame, quantity: str = "throughput_bytes_per_s") -> pd.DataFrame:
    return efficiency(select(samples, tool=samples["tool"].iloc[0]), quantity, NUMBERS)


def test_layouts_are_compared_with_the_replicated_one(make_samples: Make) -> None:
    samples = make_samples(
        {("disperse", "write", 24): [19.0, 20.0, 21.0], ("replicate", "write", 12): [9.5, 10.0, 10.5]}
    )
    (sentence,) = layout_sentences(efficiency_of(samples))
    assert sentence == (
        "write, 4 GiB: disperse 12x(4+2), JBOD has 2.00 times the throughput per disk of replicate 3x2, RAID 6 "
        "(95 % interval 1.79 to 2.24; n = 3 and 3, at 24 and 12 workers)."
    )


def test_what_is_not_told_apart_is_called_so(make_samples: Make) -> None:
    samples = make_samples(
        {("disperse", "write", 12): [9.0, 10.0, 12.0], ("replicate", "write", 12): [9.5, 10.0, 10.5]}
    )
    assert "which holds 1: not told apart" in layout_sentences(efficiency_of(samples))[0]


def test_too_few_samples_support_no_ratio(make_samples: Make) -> None:
    samples = make_samples({("disperse", "write", 12): [9.0, 10.0], ("replicate", "write", 12): [5.0] * 3})
    table = efficiency_of(samples)
    (sentence,) = layout_sentences(table)
    assert sentence == (
        "write, 4 GiB: disperse 12x(4+2), JBOD against replicate 3x2, RAID 6: insufficient n "
        "(n = 2 and 3, at 12 and 12 workers)."
    )
    (sentence,) = published_sentences(table, "MB/s", 1e-6)
    assert sentence.endswith("the guide 83.7: insufficient n for a ratio (n = 2).")
    assert "insufficient n" in rounded_table(table, "MB/s", 1e-6)["95 % interval"].tolist()


def test_one_layout_has_nothing_to_be_compared_with(make_samples: Make) -> None:
    sentences = layout_sentences(efficiency_of(make_samples({("disperse", "write", 12): [9.0]})))
    assert sentences == ["write, 4 GiB: only disperse 12x(4+2), JBOD is measured, there is nothing to compare it with."]


def test_small_files_are_told_in_files(make_samples: Make) -> None:
    samples = make_samples(
        {("disperse", "create", 12): [9.0] * 3, ("replicate", "create", 12): [18.0] * 3},
        tool="smallfile",
        nominal=32768,
        scale=20,
    )
    table = efficiency_of(samples, "files_per_s")
    assert "0.50 times the files per second and disk of" in layout_sentences(table)[0]
    assert published_sentences(table, "files/s per disk", 1.0) == ["The guide states no number for these cells."]


def test_curves_that_still_rise_and_single_points_are_named(make_samples: Make) -> None:
    samples = make_samples({("disperse", "write", 1): [1.0] * 3, ("disperse", "write", 6): [5.0] * 3})
    samples = pd.concat([samples, make_samples({("replicate", "write", 6): [5.0] * 3})])
    sentences = saturation_sentences(summarise(select(samples, tool="iozone"), "throughput_bytes_per_s"))
    assert sentences == [
        "write, 4 GiB, disperse 12x(4+2), JBOD: by the means, still rising at 6 workers, the most that were measured.",
        "write, 4 GiB, replicate 3x2, RAID 6: measured at 6 workers only, so there is no curve.",
    ]


def test_a_curve_says_by_what_and_with_how_many_files_per_worker(make_samples: Make) -> None:
    parts = [
        make_samples({("disperse", "create", workers): [value] * 3}, tool="smallfile", scale=20, files_per_worker=files)
        for workers, files, value in ((1, 160, 1.0), (6, 80, 5.0), (12, 80, 6.0), (24, 24, 6.1))
    ]
    summary = summarise(select(pd.concat(parts), tool="smallfile"), "files_per_s")
    (sentence,) = saturation_sentences(summary)
    assert sentence == (
        "create, 4 GiB, disperse 12x(4+2), JBOD: by the means, saturated at 12 workers; the highest mean is at 24 "
        "(files per worker differ along this curve: 160, 80, 24)."
    )
    one = summary.assign(n=[3, 3, 1, 3])
    assert "insufficient n for a saturation point, n = 1 at its weakest point (files" in saturation_sentences(one)[0]


def test_a_value_where_the_curve_still_rises_is_a_lower_bound(make_samples: Make) -> None:
    samples = make_samples({("disperse", "write", 6): [5e6] * 3, ("disperse", "write", 12): [28e6] * 3})
    (sentence,) = published_sentences(efficiency_of(samples), "MB/s per disk", 1e-6)
    assert sentence.endswith("; still rising at 12 workers: a lower bound.")


def test_published_numbers_stand_beside_measured_times_scale(large_samples: pd.DataFrame) -> None:
    table = efficiency_of(large_samples)
    assert published_sentences(table, "MB/s per disk", 1e-6)[0] == (
        "write, 4 GiB, disperse 12x(4+2), JBOD: measured times 200 77.8 MB/s per disk, the guide 83.7: ratio 0.93 "
        "(95 % interval 0.88 to 0.98)."
    )
    rounded = rounded_table(table, "MB/s per disk", 1e-6)
    assert rounded.iloc[0]["× scale"] == "× 200: 77.8"
    assert rounded.iloc[0]["guide"] == "83.7"


def test_real_hardware_has_no_scale_column(make_samples: Make) -> None:
    samples = make_samples({("replicate", "write", 12): [9.0] * 3}, scale=1)
    assert not {"× scale", "guide"} & set(rounded_table(efficiency_of(samples), "MB/s", 1e-6))


@pytest.mark.parametrize("function", [layout_sentences, saturation_sentences])
def test_nothing_measured_gives_no_sentence(
    function: Callable[[pd.DataFrame], list[str]], large_samples: pd.DataFrame
) -> None:
    assert function(efficiency_of(large_samples).iloc[:0]) == []


def test_limits_stand_in_the_tables_with_the_share_of_them(make_samples: Make) -> None:
    samples = make_samples({("replicate", "write", 12): [9.0] * 3, ("replicate", "write", 24): [9.9, 10.1]}, scale=1)
    summary = summarise(select(samples, tool="iozone"), "throughput_bytes_per_s")
    limited = summary.assign(limit=20.0, limit_part="disks", share=summary["mean"] / 20)
    limited = limited.assign(share_low=limited["low"] / 20, share_high=limited["high"] / 20)
    rounded = rounded_table(limited, "MB/s", 1.0)
    assert rounded["limit, MB/s"].tolist() == ["20.0 (disks)"] * 2
    assert rounded["share of it"].tolist() == ["45 % (45 to 45)", "50 % (insufficient n)"]
    wide = workers_table(limited, 1.0)
    assert wide.loc[("write", "4 GiB", "replicate 3x2, RAID 6")].to_dict() == {
        12: "9.00, 45 %",
        24: "10.0, 50 % (n = 2)",
    }
    assert workers_table(summary, 1.0).iloc[0].tolist() == ["9.00", "10.0 (n = 2)"]
    assert bound_sentences(limited) == [
        "write, 4 GiB, replicate 3x2, RAID 6, 12 workers: 45 % (45 to 45) of what its disks allow."
    ]
    assert bound_sentences(limited.assign(n=1)) == ["write, 4 GiB, replicate 3x2, RAID 6: insufficient n for a share."]
    assert bound_sentences(limited.assign(limit=float("nan"))) == []


def test_the_nearest_point_to_the_bound_is_told_where_it_is_not_the_last(make_samples: Make) -> None:
    samples = make_samples({("replicate", "write", 12): [9.0] * 3, ("replicate", "write", 24): [8.0] * 3}, scale=1)
    summary = summarise(select(samples, tool="iozone"), "throughput_bytes_per_s")
    limited = summary.assign(limit=[10.0, 20.0], limit_part=["client links", "disks"])
    limited = limited.assign(**dict.fromkeys(("share", "share_low", "share_high"), limited["mean"] / limited["limit"]))
    (sentence,) = bound_sentences(limited)
    assert sentence == (
        "write, 4 GiB, replicate 3x2, RAID 6, 24 workers: 40 % (40 to 40) of what its disks allow; the most, "
        "90 % (90 to 90) of its client links, at 12 workers."
    )


def test_curves_of_several_scales_say_which(make_samples: Make) -> None:
    samples = pd.concat(
        [
            make_samples({("disperse", "create", 12): [9.0] * 3}, tool="smallfile", nominal=size, scale=scale)
            for size, scale in ((32768, 34), (4 << 20, 120))
        ]
    )
    wide = workers_table(summarise(select(samples, tool="smallfile"), "files_per_s"), 1.0)
    assert wide.index.get_level_values("scale").tolist() == ["1:34", "1:120"]
    one = samples[samples["scale"] == 34]
    assert workers_table(summarise(select(one, tool="smallfile"), "files_per_s"), 1.0).index.names == [
        "operation",
        "file size",
        "layout",
    ]


def test_workers_that_one_curve_lacks_are_empty(make_samples: Make) -> None:
    samples = make_samples({("replicate", "write", 12): [9.0] * 3, ("disperse", "read", 24): [8.0] * 3})
    wide = workers_table(summarise(select(samples, tool="iozone"), "throughput_bytes_per_s"), 1.0)
    assert wide.to_numpy().tolist() == [["9.00", ""], ["", "8.00"]]
    assert wide.index.get_level_values("operation").tolist() == ["write", "read"]
    assert workers_table(summarise(select(samples.iloc[:0], tool="iozone"), "throughput_bytes_per_s"), 1.0).empty


def test_servers_are_told_with_their_ratio_and_the_guides() -> None:
    stated = pd.DataFrame(
        {"type": "disperse", "kind": "jbod", "operation": ["write"], "nominal_file_size_bytes": 4 << 30, "ratio": 1.82}
    )
    table = server_advantage(family(efficiency_of(pools()), "disperse", "jbod"), stated)
    write, read = advantage_sentences(table)
    assert write.startswith(
        "write, 4 GiB, a disk of disperse 12x(4+2), JBOD against one of disperse 24x(4+2), JBOD: 1.82 times the "
        "throughput (95 % interval 1.7"
    )
    assert write.endswith("; n = 3, at 48 and 48 workers); the guide: 1.82.")
    assert read.endswith("workers).")
    few = server_advantage(family(efficiency_of(pools(spread=(1.0,))), "disperse", "jbod"), stated)
    assert advantage_sentences(few)[0].endswith(": insufficient n (n = 1, at 48 and 48 workers); the guide: 1.82.")
    assert advantage_sentences(table.iloc[:0]) == []


def test_the_gap_is_told_size_by_size() -> None:
    (sentence,) = gap_sentences(
        read_write_gap(efficiency_of(pools({"write": {"replicate": 10e6}, "read": {"replicate": 20e6}})))
    )
    assert sentence == "replicate 3x2, RAID 6, read / write with its 95 % interval: 4 GiB 2.00 (1.91 to 2.09)."
    (sentence,) = gap_sentences(
        read_write_gap(
            efficiency_of(pools({"write": {"replicate": 1e6}, "read": {"replicate": 1e6}}, spread=(1.0, 1.0)))
        )
    )
    assert sentence.endswith("4 GiB insufficient n (n = 2).")


def test_the_gap_of_the_guides_numbers_stands_beside_the_measured_one() -> None:
    (sentence,) = gap_sentences(
        read_write_gap(efficiency_of(pools({"write": {"disperse": 80e6}, "read": {"disperse": 100e6}})))
    )
    assert sentence.endswith("4 GiB 1.25 (1.19 to 1.31), by the guide's numbers 1.29.")


def test_dense_servers_are_held_against_their_own_number_alone() -> None:
    values = {"create": {"replicate": 5.0, "replicate-dense": 2.0, "disperse-dense": 2.0}}
    samples = pools(values, tool="smallfile", nominal=4 << 20, scale=120)
    sentences = published_sentences(efficiency_of(samples, "files_per_s"), "files/s per disk", 1.0)
    assert len(sentences) == 2
    assert (
        "replicate 3x2, RAID 6: measured times 120 5.00 files/s per disk, the guide, for any layout, 5.44"
        in sentences[0]
    )
    assert "replicate 6x2, RAID 6: measured times 120 2.00 files/s per disk, the guide 1.53" in sentences[1]


def test_a_number_for_any_layout_is_told_so(make_samples: Make) -> None:
    samples = make_samples({("disperse", "create", 12): [3.0, 3.2, 3.4]}, tool="smallfile", nominal=4 << 20, scale=120)
    (sentence,) = published_sentences(efficiency_of(samples, "files_per_s"), "files/s per disk", 1.0)
    assert ", the guide, for any layout, 5.44: ratio 0.98 (" in sentence
