"""Advice: synthetic campaigns whose answer to table 1 is known, cell by cell."""

import pandas as pd
import pytest

from glusterlab.analysis.advice import COLUMNS, Purpose, advise
from glusterlab.errors import DataError
from glusterlab.spec import published
from glusterlab.spec.prices import PriceList
from tests.guide_pools import GUIDE, LARGE, LAYOUTS, SERIES, SPREAD, STUDY, pools

PURPOSES = [Purpose(**purpose) for purpose in STUDY.parts["purposes"]]
TABLE_1 = published.load_table(GUIDE, 1)
SMALL = {
    "create": dict(zip(LAYOUTS, (90.0, 30.0, 40.0, 25.0, 60.0, 30.0), strict=True)),
    "read": dict(zip(LAYOUTS, (200.0, 110.0, 60.0, 35.0, 80.0, 50.0), strict=True)),
}


def campaign(large: dict[str, dict[str, float]] = LARGE, spread: tuple[float, ...] = SPREAD) -> pd.DataFrame:
    small = pools(SMALL, tool="smallfile", nominal=32 << 10, scale=20, spread=spread)
    return pd.concat([pools(large, spread=spread), small], ignore_index=True)


def one_cell(samples: pd.DataFrame, prices: PriceList, category: str) -> dict[str, object]:
    return cells(advise(samples, TABLE_1, PURPOSES, prices))[f"Large-file {category}", "SMALL"]


def cells(table: pd.DataFrame) -> dict[tuple[str, str], dict[str, object]]:
    return {
        (" ".join(str(row["category"]).split()[:2]), str(row["pool"]).split()[0]): row
        for row in table.to_dict("records")
    }


def test_known_results_give_a_known_table(prices: PriceList) -> None:
    table = advise(campaign(), TABLE_1, PURPOSES, prices)
    assert list(table.columns) == COLUMNS
    assert table["verdict"].tolist() == ["agree", "agree", "differ", "agree", "agree", "agree"]
    assert table["derived"].tolist() == [
        "standard servers, replicated, RAID 6",
        "standard servers, replicated, RAID 6",
        "standard servers, dispersed, JBOD",
        "standard servers, dispersed, JBOD",
        "standard servers, dispersed, JBOD",
        "dense servers, dispersed, JBOD",
    ]
    assert set(table["n"]) == {3}
    # 250 TB need less than 1 PB of raw disks: dense servers take no part
    assert table["layouts"].tolist() == [3, 6, 3, 6, 3, 6]
    assert table["published"].str.contains("hot tier 1 x NVMe").tolist() == [True, True, True, False, False, False]
    assert [bool(text) for text in table["read as"]] == [False, True, False, False, False, False]


def test_the_reason_has_the_ratio_and_the_servers(prices: PriceList) -> None:
    found = cells(advise(campaign(), TABLE_1, PURPOSES, prices))
    performance, small, medium = (
        str(found[f"Large-file {category}", pool]["why"])
        for category, pool in (("Performance", "SMALL"), ("Archive", "SMALL"), ("Archive", "MEDIUM"))
    )
    # sqrt(83.68 / 44 x 108 / 100) on the same servers; 250 TB / 64 TB are 4 servers, 6 by the rules
    assert performance.startswith("6 servers; 1.43 times replicate 3x2, RAID 6 per cost (95 % interval 1.40 to 1.47")
    # of equal cost the pool that holds more is taken
    assert "costs 1.00 times as much and holds 0.83 times" in small
    # 8 dense servers for 195,040, against 16 for 266,720
    assert "costs 1.37 times as much and holds 1.00 times" in medium
    assert "below the floor of writes: replicate 6x2, RAID 6" in medium


@pytest.mark.parametrize(
    ("replicate", "disperse", "derived", "verdict"),
    [
        ((80e6, 100e6), (81e6, 101e6), "standard servers, dispersed, JBOD", "not distinguished"),
        # neither side is favoured: the published replicated pool is 1 % ahead
        ((81e6, 101e6), (80e6, 100e6), "standard servers, replicated, RAID 6", "not distinguished"),
        ((95e6, 115e6), (80e6, 100e6), "standard servers, replicated, RAID 6", "agree"),
    ],
)
def test_layouts_that_are_alike_are_not_told_apart(
    prices: PriceList, replicate: tuple[float, float], disperse: tuple[float, float], derived: str, verdict: str
) -> None:
    both = zip(LARGE, replicate, disperse, strict=True)
    large = {name: {"replicate": one, "disperse": other} for name, one, other in both}
    found = one_cell(campaign(large), prices, "Performance")
    assert (found["derived"], found["verdict"]) == (derived, verdict)
    assert ("which holds 1" in str(found["why"])) == (verdict == "not distinguished")


def test_every_rival_must_be_worse_for_a_cell_to_agree(prices: PriceList) -> None:
    """The nearest rival is clearly worse; one behind it scatters so widely that it may be as good."""
    steady = {"write": {"replicate": 80e6, "disperse": 72e6}, "read": {"replicate": 100e6, "disperse": 90e6}}
    wild = {operation: {"disperse-raid6": values["replicate"]} for operation, values in steady.items()}
    large = pd.concat([pools(steady), pools(wild, spread=(0.4, 0.8, 1.2))], ignore_index=True)
    found = one_cell(large, prices, "Performance")
    assert found["derived"] == "standard servers, replicated, RAID 6"
    assert found["verdict"] == "not distinguished"
    assert str(found["why"]).endswith(f"; not apart from {SERIES['disperse-raid6']}")


def unsteady(spread: tuple[float, ...]) -> pd.DataFrame:
    """Writes: the cheapest archive (standard, dispersed) does just above half of the best, and scatters."""
    fast = pools({"write": {"replicate": 80e6, "disperse-raid6": 80e6}})
    return pd.concat([fast, pools({"write": {"disperse": 43e6}}, spread=spread)], ignore_index=True)


def test_an_archive_whose_floor_is_not_settled_is_not_told_apart(prices: PriceList) -> None:
    found = one_cell(unsteady((0.8, 1.0, 1.2)), prices, "Archive")
    assert (found["derived"], found["verdict"]) == ("standard servers, dispersed, JBOD", "not distinguished")
    assert str(found["why"]).endswith(f"the interval holds the floor: {SERIES['disperse']}")
    steady = one_cell(unsteady((0.995, 1.0, 1.005)), prices, "Archive")
    assert steady["verdict"] == "agree"
    assert "holds the floor" not in str(steady["why"])
    # it matters only where it changes the answer: here the unsteady layout is dearer than the published one
    dear = pools({"write": {"replicate": 43e6}}, spread=(0.8, 1.0, 1.2))
    found = one_cell(pd.concat([pools({"write": {"disperse": 80e6}}), dear]), prices, "Archive")
    assert found["verdict"] == "agree"
    assert "the interval holds the floor" in str(found["why"])


def test_a_published_archive_without_a_legal_pool_says_so(prices: PriceList) -> None:
    small = TABLE_1[TABLE_1["category"].str.contains("Archive")].assign(servers="dense")
    found = advise(campaign(), small, PURPOSES, prices).iloc[0]
    # 250 TB need less than 1 PB of raw disks
    assert found["verdict"] == "differ"
    assert "the published layout makes no legal pool of this size" in found["why"]


def test_too_few_samples_support_no_cell(prices: PriceList) -> None:
    table = advise(campaign(spread=(0.9, 1.1)), TABLE_1, PURPOSES, prices)
    assert set(table["verdict"]) == {"insufficient n"}
    assert set(table["n"]) == {2}
    assert set(table["derived"]) == {""}


def test_what_was_not_measured_is_not_judged(prices: PriceList) -> None:
    table = advise(pools({"write": LARGE["write"]}), TABLE_1, PURPOSES, prices)
    # writes alone are enough for the archive
    assert table["verdict"].tolist() == ["not measured"] * 4 + ["agree", "agree"]
    rows = pools(LARGE)
    for nothing in (rows.iloc[:0], rows.assign(access="nfs"), rows.assign(server_model="ultra")):
        assert set(advise(nothing, TABLE_1, PURPOSES, prices)["verdict"]) == {"not measured"}


def test_every_category_of_the_guide_has_a_rule(prices: PriceList) -> None:
    assert list(dict.fromkeys(TABLE_1["category"])) == [purpose.category for purpose in PURPOSES]
    with pytest.raises(DataError, match="for which there is no rule"):
        advise(campaign(), TABLE_1.assign(category="Databases"), PURPOSES, prices)
