"""Money: known ratios, what prices cannot change, and where two lines cross."""

import math

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from glusterlab.analysis import price
from glusterlab.analysis.price import (
    MOVES,
    PRICED,
    bill_table,
    cost_table,
    crossings,
    fixed_order,
    priced,
    pricing_notes,
    relative_per_cost,
    sensitivity,
    server_costs,
)
from glusterlab.spec import published
from glusterlab.spec.prices import PriceList
from tests.guide_pools import GUIDE, LARGE, SERIES, chosen, pools

RATE = "throughput_bytes_per_s"


@pytest.fixture(scope="module")
def table(prices: PriceList) -> pd.DataFrame:
    return relative_per_cost(priced(chosen(pools()), RATE, prices))


def repriced(prices: PriceList, factor: float) -> PriceList:
    lines = {
        name: tuple(line.model_copy(update={"price": line.price * factor}) for line in getattr(prices, name))
        for name in ("prices", "per_server")
    }
    return prices.model_copy(update=lines)


def of_pools(prices: PriceList, **writes: float) -> pd.DataFrame:
    """Ratios of writes of some layouts."""
    return relative_per_cost(priced(chosen(pools({"write": writes})), RATE, prices))


def of(table: pd.DataFrame, name: str, operation: str) -> pd.Series:
    return table.set_index(["series", "operation"]).loc[SERIES[name], operation]


def test_cost_and_capacity_of_pools_are_known(prices: PriceList) -> None:
    costs = cost_table(priced(chosen(pools()), RATE, prices)).set_index("series")
    known = [6, "standard", "USD", 16_670.0, 6 * 16_670.0, 576e12]
    computed = [pytest.approx(240e12), pytest.approx(6 * 16_670 / 240)]
    assert costs.loc[SERIES["replicate"], PRICED].tolist() == [*known, *computed]
    usable = costs["usable_bytes"] / 1e12
    for name, held in {"disperse": 384, "disperse-dense": 768, "replicate-dense": 480, "disperse-raid6": 320}.items():
        assert usable[SERIES[name]] == pytest.approx(held)
    assert costs["cost_per_usable_tb"][SERIES["disperse-dense"]] == pytest.approx(6 * 24_380 / 768)


def test_the_first_configuration_is_one_and_others_are_ratios_to_it(table: pd.DataFrame) -> None:
    assert set(table["reference"]) == {SERIES["replicate"]}
    assert table["series"].iloc[:2].tolist() == [SERIES["replicate"], SERIES["replicate-dense"]]
    for operation, values in LARGE.items():
        first = of(table, "replicate", operation)
        assert first[["relative", "relative_low", "relative_high", "per_usable"]].tolist() == [1.0] * 4
        dense = of(table, "replicate-dense", operation)
        expected = (2 * values["replicate-dense"] / values["replicate"]) / (24_380 / 16_670)
        assert dense["relative"] == pytest.approx(expected, rel=1e-6)
        # twice the capacity: as much per usable byte as per disk
        assert dense["per_usable"] == pytest.approx(values["replicate-dense"] / values["replicate"], rel=1e-6)
        assert dense["cost_per_usable_relative"] == pytest.approx(24_380 / 16_670 / 2)


@settings(max_examples=8, deadline=None)
@given(factor=st.floats(1e-3, 1e3))
def test_a_factor_on_all_prices_leaves_relative_values_alone(prices: PriceList, factor: float) -> None:
    samples = {"replicate": 44e6, "disperse-dense": 46e6}
    before, after = (of_pools(list_, **samples) for list_ in (prices, repriced(prices, factor)))
    same = ["relative", "relative_low", "relative_high", "per_usable", "cost_per_usable_relative"]
    assert after[same].to_numpy() == pytest.approx(before[same].to_numpy(), nan_ok=True)
    costs = ["pool_cost", "cost_per_usable_tb"]
    assert after[costs].to_numpy() == pytest.approx(factor * before[costs].to_numpy())


def test_scale_models_of_two_scales_are_compared_at_full_size(prices: PriceList) -> None:
    both = pd.concat([pools({"write": {"replicate": 40e6}}), pools({"write": {"disperse": 80e6}}, scale=100)])
    found = relative_per_cost(priced(chosen(both), RATE, prices))
    assert found["relative"].tolist() == [1.0, pytest.approx(2.0)]


def test_an_operation_without_the_first_configuration_has_no_ratio(prices: PriceList) -> None:
    part = pools({"write": LARGE["write"], "read": {"disperse": 108e6}})
    found = relative_per_cost(priced(chosen(part), RATE, prices))
    row = of(found, "disperse", "read")
    assert math.isnan(row["relative"])
    assert row["reference"] == SERIES["replicate"]
    assert sensitivity(found, prices, [1.0])["operation"].unique().tolist() == ["write"]


def test_servers_that_the_list_lacks_are_named(prices: PriceList) -> None:
    samples = chosen(pools({"write": {"replicate": 44e6, "disperse-dense": 46e6}}))
    other = samples.assign(server_model=["ultra" if disks == 144 else "" for disks in samples["disks"]])
    assert priced(other, RATE, prices)["server"].tolist() == ["standard"]
    missing, guessed = pricing_notes(other, RATE, prices)
    assert missing == f"{SERIES['disperse-dense']}: not priced, the list has no server 'ultra' (standard, dense)."
    # the cluster names no model: the price is that of the list's only server with as many disks
    assert guessed.startswith(f"{SERIES['replicate']}: matched by number of disks")
    assert pricing_notes(samples, RATE, prices) == []
    unknown = samples.assign(servers=0)
    assert priced(unknown, RATE, prices).empty
    assert ["not known" in sentence for sentence in pricing_notes(unknown, RATE, prices)] == [True, True]


def test_a_layout_of_unknown_capacity_has_a_cost_and_no_cost_per_tb(prices: PriceList) -> None:
    samples = chosen(pools({"write": {"replicate": 44e6, "disperse": 46e6}}).assign(kind="raid5"))
    found = relative_per_cost(priced(samples, RATE, prices))
    assert found["pool_cost"].tolist() == [6 * 16_670.0] * 2
    assert found[["usable_bytes", "cost_per_usable_tb", "cost_per_usable_relative"]].isna().all(axis=None)
    assert math.isnan(found["per_usable"].iloc[1])
    assert found["relative"].tolist() == [1.0, pytest.approx(46 / 44)]
    assert ["its capacity is not known" in note for note in pricing_notes(samples, RATE, prices)] == [True, True]


def test_a_ratio_has_the_smaller_number_of_samples(prices: PriceList) -> None:
    few = pools({"write": {"replicate": 44e6}}, spread=(0.9, 1.1))
    both = pd.concat([few, pools({"write": {"disperse": 80e6}})], ignore_index=True)
    found = relative_per_cost(priced(chosen(both), RATE, prices)).set_index("series")
    assert found["relative"].notna().all()
    expected = {SERIES["replicate"]: [2, 2], SERIES["disperse"]: [3, 2]}
    assert found[["n", "relative_n"]].T.to_dict("list") == expected
    assert math.isnan(found["relative_low"][SERIES["disperse"]])


def test_sensitivity_at_factor_one_is_the_ratio_itself(table: pd.DataFrame, prices: PriceList) -> None:
    moved = sensitivity(table, prices, [0.5, 1.0, 2.0])
    still = moved[moved["factor"] == 1.0]
    for move in MOVES:
        rows = still[still["move"] == move].set_index(["operation", "series"])["relative"]
        expected = table.set_index(["operation", "series"])["relative"]
        assert rows.to_dict() == pytest.approx(expected.to_dict())
    assert (moved[moved["series"] == SERIES["replicate"]]["relative"] == 1).all()
    best = moved[moved["rank"] == 1]
    assert len(best) == len(MOVES) * 3 * 2


def test_both_are_equal_at_a_crossing(table: pd.DataFrame, prices: PriceList, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(price, "FACTOR_RANGE", (0.01, 100))
    found = crossings(table, prices)
    assert not found.empty
    for row in found.to_dict("records"):
        moved = sensitivity(table, prices, [row["factor"] * 0.99, row["factor"], row["factor"] * 1.01])
        rows = moved[(moved["move"] == row["move"]) & (moved["operation"] == row["operation"])]
        values = rows.set_index(["series", "factor"])["relative"]
        below, above = values[row["better_below"]], values[row["better_above"]]
        assert below.iloc[1] == pytest.approx(above.iloc[1])
        assert row["relative"] == pytest.approx(below.iloc[1])
        assert below.iloc[0] > above.iloc[0]
        assert below.iloc[2] < above.iloc[2]
        assert row["factor_low"] <= row["factor"] <= row["factor_high"]
    monkeypatch.setattr(price, "FACTOR_RANGE", (0.9999, 1.0001))
    assert crossings(table, prices).empty


def test_the_known_crossing_of_two_pools(prices: PriceList, monkeypatch: pytest.MonkeyPatch) -> None:
    """Writes 2 x 27.5 against 44 per cost: equal where the dense server costs 1.25 times the standard one."""
    table = of_pools(prices, **{"replicate": 44e6, "replicate-dense": 27.5e6})
    monkeypatch.setattr(price, "FACTOR_RANGE", (0.01, 100))
    # 17,180 + 7,200 f = 1.25 x (13,070 + 3,600 f) has no solution above 0, and 13,700 + 10,680 f = 1.25 x (10,100 +
    # 6,570 f) neither; 17,880 + 6,500 f = 1.25 x (10,170 + 6,500 f) has
    (row,) = crossings(table, prices).to_dict("records")
    assert row["move"] == "software, network, support"
    assert row["factor"] == pytest.approx((17_880 - 1.25 * 10_170) / (0.25 * 6_500))
    assert (row["better_below"], row["better_above"]) == (SERIES["replicate"], SERIES["replicate-dense"])
    assert row["factor_low"] < row["factor"] < row["factor_high"]


@pytest.mark.parametrize(("number", "server", "total"), [(3, "standard", 16_670), (4, "dense", 24_380)])
def test_a_bill_has_the_guides_lines(prices: PriceList, number: int, server: str, total: float) -> None:
    bill = published.load_table(GUIDE, number)
    shown = bill_table(bill, prices, server)
    assert shown["part number"].tolist()[: len(bill)] == bill["part_number"].tolist()
    assert shown["part number"].tolist()[len(bill) :] == ["storage-subscription", "network-share"]
    assert (shown["quantity"] * shown["price"]).tolist() == shown["amount"].tolist()
    assert shown["amount"].sum() == total


def test_a_bill_of_another_list_names_what_differs(prices: PriceList) -> None:
    server = prices.servers["standard"]
    parts = {name: count for name, count in server.parts.items() if name != "SFT-OOB-LIC"} | {"HDD": 10}
    other = prices.model_copy(update={"servers": {"standard": server.model_copy(update={"parts": parts})}})
    shown = bill_table(published.load_table(GUIDE, 3), other, "standard").set_index("part number")
    lacking, disks = shown.loc["SFT-OOB-LIC"], shown.loc["HDD"]
    assert (lacking["price from"], math.isnan(lacking["amount"])) == ("not on the price list", True)
    assert disks["price from"].endswith("the price list has 10 of them")
    assert (disks["quantity"], disks["amount"]) == (12, 3000)


def test_a_list_without_the_guides_servers_has_no_bill_and_all_the_rest(prices: PriceList) -> None:
    mine = prices.model_copy(update={"name": "shop", "servers": {"box": prices.servers["standard"]}})
    assert bill_table(published.load_table(GUIDE, 4), mine, "dense").empty
    samples = chosen(pools()).assign(server_model="")
    found = relative_per_cost(priced(samples[samples["disks"] == 72], RATE, mine))
    assert set(found["server"]) == {"box"}
    assert found["relative"].notna().all()
    assert server_costs(mine)["total"].tolist() == [16_670]
    assert fixed_order(found).startswith("All layouts are on one kind of server")


def test_why_no_price_changes_an_order(table: pd.DataFrame, prices: PriceList) -> None:
    assert fixed_order(table) == ""
    for few, reason in ((table.iloc[:0], "Nothing is measured"), (table.iloc[:1], "Only one layout is measured")):
        assert fixed_order(few).startswith(reason)
        assert crossings(few, prices).empty
    nothing = relative_per_cost(priced(chosen(pools()).iloc[:0], RATE, prices))
    assert "relative" in nothing
    assert cost_table(nothing).empty
    assert sensitivity(nothing, prices, [1.0]).empty
