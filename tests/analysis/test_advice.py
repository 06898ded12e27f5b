"""Advice: synthetic campaigns whose answer to table 1 is known, cell by cell."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from glusterlab.analysis.advice import COLUMNS, Purpose, advise
from glusterlab.errors import DataError
from glusterlab.spec import published
from glusterlab.spec.prices import PriceList, load_prices
from tests.guide_pools import LARGE, LAYOUTS, SERIES, SPREAD, STUDY, pools

PROJECT = Path(__file__).parents[2]
PURPOSES = [Purpose(**purpose) for purpose in STUDY.parts["purposes"]]
SMALL = {
    "create": dict(zip(LAYOUTS, (90.0, 30.0, 40.0, 25.0, 60.0, 30.0), strict=True)),
    "read": dict(zip(LAYOUTS, (200.0, 110.0, 60.0, 35.0, 80.0, 50.0), strict=True)),
}


@pytest.fixture(scope="module")
def prices() -> PriceList:
    return load_prices(PROJECT / "runbooks" / "supermicro-2017" / "prices.yaml")


@pytest.fixture(scope="module")
def table1() -> pd.DataFrame:
    return published.load_table(PROJECT / "raw" / "published" / "supermicro-2017", 1)


def campaign(
    large: dict[str, dict[str, float]] = LARGE,
    small: dict[str, dict[str, float]] = SMALL,
    spread: tuple[float, ...] = SPREAD,
) -> pd.DataFrame:
    return pd.concat(
        [
            pools(large, spread=spread),
            pools(small, tool="smallfile", nominal=32 << 10, scale=20, spread=spread),
        ],
        ignore_index=True,
    )


def cells(table: pd.DataFrame) -> dict[tuple[str, str], dict[str, object]]:
    return {
        (str(row["category"]).split()[0] + " " + str(row["category"]).split()[1], str(row["pool"]).split()[0]): row
        for row in table.to_dict("records")
    }


def test_known_results_give_a_known_table(prices: PriceList, table1: pd.DataFrame) -> None:
    table = advise(campaign(), table1, PURPOSES, prices)
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


def test_the_reason_has_the_ratio_and_the_servers(prices: PriceList, table1: pd.DataFrame) -> None:
    found = cells(advise(campaign(), table1, PURPOSES, prices))
    # sqrt(83.68 / 44 x 108 / 100) on the same servers; 250 TB / 64 TB are 4 servers, 6 by the rules
    assert str(found["Large-file Performance", "SMALL"]["why"]).startswith(
        "6 servers; 1.43 times replicate 3x2, RAID 6 per cost (95 % interval 1.40 to 1.47"
    )
    # 8 dense servers for 195,040, against 16 for 266,720
    assert "costs 1.37 times as much and holds 1.00 times" in str(found["Large-file Archive", "MEDIUM"]["why"])
    assert "below the floor of writes: replicate 6x2, RAID 6" in str(found["Large-file Archive", "MEDIUM"]["why"])


def test_of_equal_cost_the_pool_that_holds_more_is_taken(prices: PriceList, table1: pd.DataFrame) -> None:
    small = cells(advise(campaign(), table1, PURPOSES, prices))["Large-file Archive", "SMALL"]
    assert small["derived"] == "standard servers, dispersed, JBOD"
    assert "costs 1.00 times as much and holds 0.83 times" in str(small["why"])


def test_layouts_that_are_alike_are_not_told_apart(prices: PriceList, table1: pd.DataFrame) -> None:
    near = {"write": {"replicate": 80e6, "disperse": 81e6}, "read": {"replicate": 100e6, "disperse": 101e6}}
    found = cells(advise(campaign(near), table1, PURPOSES, prices))["Large-file Performance", "SMALL"]
    assert found["verdict"] == "not told apart"
    assert found["derived"] == "standard servers, dispersed, JBOD"
    assert "which holds 1" in str(found["why"])


def test_a_published_layout_that_is_best_by_less_than_the_scatter_is_not_told_apart(
    prices: PriceList, table1: pd.DataFrame
) -> None:
    """Neither side is favoured: the published replicated pool is 1 % ahead, and the interval holds 1."""
    near = {"write": {"replicate": 81e6, "disperse": 80e6}, "read": {"replicate": 101e6, "disperse": 100e6}}
    found = cells(advise(campaign(near), table1, PURPOSES, prices))["Large-file Performance", "SMALL"]
    assert found["derived"] == "standard servers, replicated, RAID 6"
    assert found["verdict"] == "not told apart"
    assert "which holds 1" in str(found["why"])
    clear = {"write": {"replicate": 95e6, "disperse": 80e6}, "read": {"replicate": 115e6, "disperse": 100e6}}
    assert (
        cells(advise(campaign(clear), table1, PURPOSES, prices))["Large-file Performance", "SMALL"]["verdict"]
        == "agree"
    )


def test_every_rival_must_be_worse_for_a_cell_to_agree(prices: PriceList, table1: pd.DataFrame) -> None:
    """The nearest rival is clearly worse; one behind it scatters so widely that it may be as good."""
    steady = {"write": {"replicate": 80e6, "disperse": 72e6}, "read": {"replicate": 100e6, "disperse": 90e6}}
    wild = {operation: {"disperse-raid6": values["replicate"]} for operation, values in steady.items()}
    large = pd.concat([pools(steady), pools(wild, spread=(0.4, 0.8, 1.2))], ignore_index=True)
    found = cells(advise(large, table1, PURPOSES, prices))["Large-file Performance", "SMALL"]
    assert found["derived"] == "standard servers, replicated, RAID 6"
    assert found["verdict"] == "not told apart"
    assert str(found["why"]).endswith(f"; not apart from {SERIES['disperse-raid6']}")


def unsteady(spread: tuple[float, ...]) -> pd.DataFrame:
    """Writes: the cheapest archive (standard, dispersed) does just above half of the best, and scatters."""
    fast = pools({"write": {"replicate": 80e6, "disperse-raid6": 80e6}})
    return pd.concat([fast, pools({"write": {"disperse": 43e6}}, spread=spread)], ignore_index=True)


def test_an_archive_whose_floor_is_not_settled_is_not_told_apart(prices: PriceList, table1: pd.DataFrame) -> None:
    found = cells(advise(unsteady((0.8, 1.0, 1.2)), table1, PURPOSES, prices))["Large-file Archive", "SMALL"]
    assert found["derived"] == "standard servers, dispersed, JBOD"
    assert found["verdict"] == "not told apart"
    assert str(found["why"]).endswith(f"the interval holds the floor: {SERIES['disperse']}")
    steady = cells(advise(unsteady((0.995, 1.0, 1.005)), table1, PURPOSES, prices))["Large-file Archive", "SMALL"]
    assert steady["verdict"] == "agree"
    assert "holds the floor" not in str(steady["why"])


def test_a_floor_that_is_not_settled_matters_only_where_it_changes_the_answer(
    prices: PriceList, table1: pd.DataFrame
) -> None:
    """The unsteady layout is dearer than the published one, which surely takes its writes."""
    samples = pd.concat(
        [pools({"write": {"disperse": 80e6}}), pools({"write": {"replicate": 43e6}}, spread=(0.8, 1.0, 1.2))],
        ignore_index=True,
    )
    found = cells(advise(samples, table1, PURPOSES, prices))["Large-file Archive", "SMALL"]
    assert found["verdict"] == "agree"
    assert "the interval holds the floor" in str(found["why"])


def test_a_published_archive_without_a_legal_pool_says_so(prices: PriceList, table1: pd.DataFrame) -> None:
    small = table1[table1["category"].str.contains("Archive")].assign(servers="dense")
    found = advise(campaign(), small, PURPOSES, prices).to_dict("records")[0]
    # 250 TB need less than 1 PB of raw disks
    assert found["verdict"] == "differ"
    assert "the published layout makes no legal pool of this size" in str(found["why"])


def test_a_slow_writer_is_no_archive(prices: PriceList, table1: pd.DataFrame) -> None:
    slow = {"write": LARGE["write"] | {"disperse-dense": 10e6, "disperse-raid6-dense": 10e6}, "read": LARGE["read"]}
    found = cells(advise(campaign(slow), table1, PURPOSES, prices))["Large-file Archive", "MEDIUM"]
    assert found["verdict"] == "differ"
    assert found["derived"] == "standard servers, dispersed, JBOD"
    assert "disperse 24x(4+2), JBOD" in str(found["why"]).split("below the floor")[1]


@pytest.mark.parametrize(("spread", "n"), [((1.0,), 1), ((0.9, 1.1), 2)])
def test_too_few_samples_support_no_cell(
    prices: PriceList, table1: pd.DataFrame, spread: tuple[float, ...], n: int
) -> None:
    table = advise(campaign(spread=spread), table1, PURPOSES, prices)
    assert set(table["verdict"]) == {"insufficient n"}
    assert set(table["n"]) == {n}
    assert set(table["derived"]) == {""}


def test_what_was_not_measured_is_not_judged(prices: PriceList, table1: pd.DataFrame) -> None:
    table = advise(pools({"write": LARGE["write"]}), table1, PURPOSES, prices)
    # writes alone are enough for the archive
    assert table["verdict"].tolist() == ["not measured"] * 4 + ["agree", "agree"]
    nothing = advise(pools(LARGE).iloc[:0], table1, PURPOSES, prices)
    assert set(nothing["verdict"]) == {"not measured"}
    nfs = advise(pools(LARGE).assign(access="nfs"), table1, PURPOSES, prices)
    assert set(nfs["verdict"]) == {"not measured"}
    unpriced = advise(pools(LARGE).assign(server_model="ultra"), table1, PURPOSES, prices)
    assert set(unpriced["verdict"]) == {"not measured"}


def test_every_category_of_the_guide_has_a_rule(prices: PriceList, table1: pd.DataFrame) -> None:
    assert list(dict.fromkeys(table1["category"])) == [purpose.category for purpose in PURPOSES]
    with pytest.raises(DataError, match="for which there is no rule"):
        advise(campaign(), table1.assign(category="Databases"), PURPOSES, prices)
