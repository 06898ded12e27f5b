"""Rates of a baseline as tables and sentences, from rates that are known."""

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
    table = places().drop_duplicates("label").set_index("label")
    rates = ["stated_bytes_per_s", "published_bytes_per_s", "data_sheet_bytes_per_s"]
    expected = {
        "each of 2 disks at once, jbod": [205e6 / 200, 205e6, 226e6],
        "one array, raid6": [1224e6 / 200, 1224e6, math.nan],
        "link of a client": [1.25e9 / 200, math.nan, math.nan],
    }
    for label, values in expected.items():
        assert table.loc[label, rates].tolist() == pytest.approx(values, nan_ok=True)
    # an array of other disks has no published rate
    array = {"bricks": ["/b/a1"], "kind": "raid6", "disks_per_brick": 10}
    other = make_cluster(backings={"jbod": {"bricks": ["/b/d1", "/b/d2"], "kind": "jbod"}, "raid6": array})
    assert places(other).set_index("label").loc["one array, raid6", ["published_bytes_per_s"]].isna().all()


def test_kinds_have_median_ends_and_shares() -> None:
    kinds = rates_by_kind(places()).set_index("label")
    expected = {
        "places": 2,
        "samples": 3,
        "at_once": 2,
        "median": 0.95 * MB,
        "lowest": 0.9 * MB,
        "highest": 1.0 * MB,
        "full_size_median": 190 * MB,
        "share_of_stated": 190 / 205,
        "share_of_published": 190 / 205,
    }
    both, link = kinds.loc["each of 2 disks at once, jbod"], kinds.loc["link of a client"]
    assert both[list(expected)].to_dict() == pytest.approx(expected)
    assert both["slowest_place"] == "s1"
    shares = link[["share_of_stated", "share_of_published"]].tolist()
    assert shares == pytest.approx([5.5 / 6.25, math.nan], nan_ok=True)


def test_the_table_is_text_with_units_and_has_scales_only_where_there_are_some() -> None:
    table = rates_table(rates_by_kind(places()))
    columns = ["scale model", "what", "stated", "share", "median × scale", "published", "data sheet"]
    expected = ["large-file, 1:200", "each of 2 disks at once, jbod", "1.02", "92.7 %", "190", "205", "226"]
    assert table[columns].iloc[2].tolist() == expected
    assert table.iloc[3]["published"] == ""
    real = [rates("brick", "jbod", "write", {"s1:/b/d1": 200 * MB}, scale=1.0)]
    columns = rates_table(rates_by_kind(place_rates(real, make_cluster(), "b", GUIDE))).columns
    assert not {"scale model", "median × scale"} & set(columns)


def test_without_a_baseline_or_a_cluster_there_are_no_rows() -> None:
    for table in (place_rates((), make_cluster(), "", GUIDE), place_rates(results(), None, "", GUIDE)):
        assert table.empty
        assert list(table.columns) == PLACE_COLUMNS
        assert rates_by_kind(table).empty
        assert rates_table(rates_by_kind(table)).empty
