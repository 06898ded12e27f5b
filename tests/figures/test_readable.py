"""The small tables under figures, and layouts beside the replicated one: what the samples support, and no more."""

from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from glusterlab.analysis import efficiency, layout_advantage, select
from glusterlab.figures.tables import readable
from glusterlab.spec import published

Make = Callable[..., pd.DataFrame]
NUMBERS = published.load(Path(__file__).parents[2] / "raw" / "published" / "supermicro-2017")


def efficiency_of(samples: pd.DataFrame, quantity: str = "throughput_bytes_per_s") -> pd.DataFrame:
    return efficiency(select(samples, tool=samples["tool"].iloc[0]), quantity, NUMBERS)


def test_layouts_are_compared_with_the_replicated_one(make_samples: Make) -> None:
    samples = make_samples(
        {("disperse", "write", 24): [19.0, 20.0, 21.0], ("replicate", "write", 12): [9.5, 10.0, 10.5]}
    )
    (row,) = layout_advantage(efficiency_of(samples)).to_dict("records")
    assert (row["series"], row["ratio_to"]) == ("disperse 12x(4+2), JBOD", "replicate 3x2, RAID 6")
    assert (row["workers"], row["ratio_to_workers"], row["ratio_n"]) == (24, 12, 3)
    assert (row["ratio"], row["ratio_low"], row["ratio_high"]) == pytest.approx((2.0, 1.79, 2.24), abs=0.01)


def test_too_few_samples_support_no_interval_of_a_ratio(make_samples: Make) -> None:
    samples = make_samples({("disperse", "write", 12): [9.0, 10.0], ("replicate", "write", 12): [5.0] * 3})
    table = layout_advantage(efficiency_of(samples))
    (cell,) = readable(table[["ratio", "ratio_low", "ratio_high", "ratio_n"]])["ratio"]
    assert cell.endswith("(insufficient n)")


@pytest.mark.parametrize("rows", [1, 0])
def test_one_layout_has_nothing_to_be_compared_with(make_samples: Make, rows: int) -> None:
    alone = efficiency_of(make_samples({("disperse", "write", 12): [9.0]})).head(rows)
    assert layout_advantage(alone).empty
    assert "ratio" in layout_advantage(alone)


def test_a_readable_table_has_units_in_its_head_and_intervals_in_its_cells(large_samples: pd.DataFrame) -> None:
    table = efficiency_of(large_samples[large_samples["type"].astype(str) == "disperse"])
    columns = ["operation", "nominal_file_size_bytes", "series", "scale", "mean", "low", "high", "published"]
    shown = readable(table[columns], "MB/s per disk", 1e-6)
    units = ["mean, MB/s per disk", "published, MB/s per disk"]
    assert list(shown) == ["operation", "file size", "layout", "scale", *units]
    first = shown.iloc[0]
    assert (first["file size"], first["scale"], first["published, MB/s per disk"]) == ("4 GiB", "1:200", "83.7")
    row = table.iloc[0]
    mean, low, high = (f"{row[name] * 1e-6:.3f}" for name in ("mean", "low", "high"))
    assert first["mean, MB/s per disk"] == f"{mean} ({low} to {high})"


def test_suffixes_and_shares_have_their_units() -> None:
    values = {"throughput_bytes_per_s": 1.234e7, "latency_p99_s": 0.0123, "workers": 48.0}
    values |= {"share": 0.574, "share_low": 0.551, "share_high": 0.6}
    rows = pd.DataFrame([values]).assign(ratio=float("nan"), ratio_low=float("nan"), ratio_high=float("nan"))
    wanted = {"throughput, MB/s": "12.3", "latency p99, s": "0.0123", "workers": "48", "ratio": ""}
    assert readable(rows).to_dict("records") == [{**wanted, "share, %": "57.4 (55.1 to 60)"}]
