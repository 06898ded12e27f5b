"""Rates of a baseline as tables and sentences, from rates that are known."""

from __future__ import annotations

import math

import pandas as pd
import pytest

from glusterlab.analysis.baselines import PLACE_COLUMNS, Rates, place_rates, rates_by_kind, rates_table
from glusterlab.spec import Cluster, published
from tests.baseline.bench import make_cluster

MB = 1e6
GUIDE = pd.DataFrame(
    [
        ("x", "disk", 1, "measured", "write", 205e6, "MB/s", ""),
        ("x", "disk", 1, "data sheet", "write", 226e6, "MB/s", ""),
        ("x", "array", 12, "measured", "write", 1224e6, "MB/s", ""),
    ],
    columns=published.BASELINE_COLUMNS,
)


def rates(what: str, of: str, operation: str, values: dict[str, float], scale: float = 200.0) -> Rates:
    return Rates("large-file", scale, False, what, of, operation, 3, values)  # type: ignore[arg-type]


def results() -> list[Rates]:
    return [
        rates("link", "client", "send", {"s1 to c1": 6 * MB, "c1 to s1": 5 * MB}),
        rates("brick", "raid6", "write", {"s1:/b/a1": 6 * MB}),
        rates("server", "raid6", "write", {"s1": 6 * MB}),
        rates("server", "jbod", "write", {"s1": 1.8 * MB, "s2": 2 * MB}),
        rates("brick", "jbod", "write", {"s1:/b/d1": 1.02 * MB, "s2:/b/d1": 1 * MB}),
    ]


def places(cluster: Cluster | None = None) -> pd.DataFrame:
    return place_rates(results(), cluster or make_cluster(), "pool-baseline", GUIDE)


def test_places_have_the_rate_of_one_disk_array_or_link() -> None:
    table = places()
    assert list(table.columns) == PLACE_COLUMNS
    found = [(row["label"], row["place"], row["rate_bytes_per_s"] / MB) for row in table.to_dict("records")]
    # the server of one array repeats what the array alone has said
    assert found == [
        ("one disk, jbod", "s1:/b/d1", 1.02),
        ("one disk, jbod", "s2:/b/d1", 1.0),
        ("one array, raid6", "s1:/b/a1", 6.0),
        ("each of 2 disks at once, jbod", "s1", 0.9),
        ("each of 2 disks at once, jbod", "s2", 1.0),
        ("link of a client", "s1 to c1", 6.0),
        ("link of a client", "c1 to s1", 5.0),
    ]
    assert list(table["what"]) == ["disk", "disk", "array", "disk", "disk", "link", "link"]
    assert set(table["baseline"]) == {"pool-baseline"}


def test_stated_rates_are_on_the_scale_of_the_measurement_and_published_ones_of_the_full_size() -> None:
    table = places().set_index("label")
    both = table.loc["each of 2 disks at once, jbod"].iloc[0]
    assert both["stated_bytes_per_s"] == pytest.approx(205e6 / 200)
    assert (both["published_bytes_per_s"], both["data_sheet_bytes_per_s"]) == (205e6, 226e6)
    array = table.loc["one array, raid6"]
    assert array["stated_bytes_per_s"] == pytest.approx(1224e6 / 200)
    assert array["published_bytes_per_s"] == 1224e6
    assert math.isnan(array["data_sheet_bytes_per_s"])
    assert table.loc["link of a client"].iloc[0]["stated_bytes_per_s"] == pytest.approx(1.25e9 / 200)
    assert table.loc["link of a client", "published_bytes_per_s"].isna().all()


def test_an_array_of_other_disks_has_no_published_rate() -> None:
    array = {"bricks": ["/b/a1"], "kind": "raid6", "disks_per_brick": 10}
    other = make_cluster(backings={"jbod": {"bricks": ["/b/d1", "/b/d2"], "kind": "jbod"}, "raid6": array})
    assert places(other).set_index("label").loc["one array, raid6", ["published_bytes_per_s"]].isna().all()


def test_kinds_have_median_ends_and_shares() -> None:
    kinds = rates_by_kind(places()).set_index("label")
    both = kinds.loc["each of 2 disks at once, jbod"]
    assert (both["places"], both["samples"], both["at_once"]) == (2, 3, 2)
    assert (both["median"], both["lowest"], both["highest"]) == pytest.approx((0.95 * MB, 0.9 * MB, 1.0 * MB))
    assert both["slowest_place"] == "s1"
    assert both["full_size_median"] == pytest.approx(190 * MB)
    assert both["share_of_stated"] == pytest.approx(190 / 205)
    assert both["share_of_published"] == pytest.approx(190 / 205)
    assert kinds.loc["link of a client", "share_of_stated"] == pytest.approx(5.5 / 6.25)
    assert math.isnan(kinds.loc["link of a client", "share_of_published"])


def test_the_table_is_text_with_units_and_has_scales_only_where_there_are_some() -> None:
    table = rates_table(rates_by_kind(places()))
    row = table.iloc[2]
    assert (row["scale model"], row["what"], row["stated"], row["share"]) == (
        "large-file, 1:200",
        "each of 2 disks at once, jbod",
        "1.02",
        "92.7 %",
    )
    assert (row["median × scale"], row["guide"], row["data sheet"]) == ("190", "205", "226")
    assert table.iloc[3]["guide"] == ""
    real = [rates("brick", "jbod", "write", {"s1:/b/d1": 200 * MB}, scale=1.0)]
    columns = rates_table(rates_by_kind(place_rates(real, make_cluster(), "b", GUIDE))).columns
    assert not {"scale model", "median × scale"} & set(columns)


def test_without_a_baseline_or_a_cluster_there_are_no_rows() -> None:
    for table in (place_rates((), make_cluster(), "", GUIDE), place_rates(results(), None, "", GUIDE)):
        assert table.empty
        assert list(table.columns) == PLACE_COLUMNS
        assert rates_by_kind(table).empty
        assert rates_table(rates_by_kind(table)).empty
