"""Tables and sentences on money, advice and sizing: they say what the numbers say, and when they say nothing."""

from __future__ import annotations

import math
from pathlib import Path

import pandas as pd
import pytest

from glusterlab import published
from glusterlab.analysis.advice import advise
from glusterlab.analysis.capacity import capacity_table, check_pool, guide_layouts, layouts_of, readable_capacity
from glusterlab.analysis.price import cost_table, crossings, price_factors, priced, relative_per_cost
from glusterlab.analysis.pricereading import (
    bill_table,
    crossing_sentences,
    fixed_order,
    implied_by_guide,
    missing_server,
    price_sentences,
    readable_costs,
    relative_table,
    server_costs,
)
from glusterlab.analysis.sizingreading import (
    examples_notes,
    examples_table,
    findings_table,
    rate_interval,
    rate_text,
    scale_caveats,
    size_examples,
    verdict_sentences,
)
from glusterlab.errors import UsageError
from glusterlab.sizerequest import Wishes
from glusterlab.spec.prices import PriceList, load_prices

from ..guide_pools import LARGE, LAYOUTS, SERIES, chosen, pools

PROJECT = Path(__file__).parents[2]
STUDY = PROJECT / "raw" / "published" / "supermicro-2017"
RATE = "throughput_bytes_per_s"


@pytest.fixture(scope="module")
def prices() -> PriceList:
    return load_prices(PROJECT / "runbooks" / "supermicro-2017" / "prices.yaml")


@pytest.fixture(scope="module")
def table(prices: PriceList) -> pd.DataFrame:
    return relative_per_cost(priced(chosen(pools()), RATE, prices))


@pytest.mark.parametrize(("number", "server", "total"), [(3, "standard", 16_670), (4, "dense", 24_380)])
def test_a_bill_has_the_guides_lines_and_what_every_server_costs(
    prices: PriceList, number: int, server: str, total: float
) -> None:
    bill = published.load_table(STUDY, number)
    shown = bill_table(bill, prices, server)
    assert shown["part number"].tolist()[: len(bill)] == bill["part_number"].tolist()
    assert shown["part number"].tolist()[len(bill) :] == ["storage-subscription", "network-share"]
    assert (shown["quantity"] * shown["price"]).tolist() == shown["amount"].tolist()
    assert shown["amount"].sum() == total


def test_a_bill_of_another_list_names_what_differs(prices: PriceList) -> None:
    server = prices.servers["standard"]
    parts = {name: count for name, count in server.parts.items() if name != "SFT-OOB-LIC"} | {"HDD": 10}
    other = prices.model_copy(update={"servers": {"standard": server.model_copy(update={"parts": parts})}})
    shown = bill_table(published.load_table(STUDY, 3), other, "standard").set_index("part number")
    assert shown.loc["SFT-OOB-LIC", "price from"] == "not on the price list"
    assert math.isnan(shown.loc["SFT-OOB-LIC", "amount"])
    assert shown.loc["HDD", "price from"].endswith("the price list has 10 of them")
    assert shown.loc["HDD", "quantity"] == 12
    assert shown.loc["HDD", "amount"] == 3000


def test_a_list_without_the_guides_servers_has_no_bill_and_all_the_rest(prices: PriceList) -> None:
    mine = prices.model_copy(update={"name": "shop", "servers": {"box": prices.servers["standard"]}})
    for number, server in ((3, "standard"), (4, "dense")):
        assert bill_table(published.load_table(STUDY, number), mine, server).empty
        assert missing_server(mine, server) == f"The price list shop has no server {server!r}; it has box."
    samples = chosen(pools()).assign(server_model="")
    found = relative_per_cost(priced(samples[samples["disks"] == 72], RATE, mine))
    assert set(found["server"]) == {"box"}
    assert found["relative"].notna().all()
    assert server_costs(mine)["total"].tolist() == [16_670]
    assert implied_by_guide(mine).empty
    assert crossing_sentences(crossings(found, mine), found)[0].startswith("All layouts are on one kind of server")


def test_costs_and_ratios_have_names_of_their_own(table: pd.DataFrame) -> None:
    assert {"pool cost, USD", "cost per usable TB, USD"} <= set(readable_costs(cost_table(table)))
    assert "cost per usable TB, ratio" in relative_table(table)


def test_costs_of_servers_add_up(prices: PriceList) -> None:
    costs = server_costs(prices).set_index("server")
    assert costs.loc["standard", "total"] == 16_670
    groups = ["disks", "other parts", "software", "network", "support"]
    assert costs[groups].sum(axis=1).tolist() == costs["total"].tolist()
    assert costs["data disks"].tolist() == ["12 x 8 TB", "24 x 8 TB"]


def test_ratios_are_told_with_their_intervals(table: pd.DataFrame) -> None:
    shown = relative_table(table)
    assert shown.index.names == ["operation", "file size", "layout"]
    row = shown.loc[("write", "4 GiB", SERIES["disperse"])]
    assert row["per cost"] == "1.90"
    assert row["95 % interval"] == "1.82 to 1.99"
    assert shown.loc[("read", "4 GiB", SERIES["replicate"]), "95 % interval"] == "first configuration"
    sentences = price_sentences(table)
    assert len(sentences) == 10
    assert (
        f"write, 4 GiB: {SERIES['disperse']} (standard) does 1.90 times as much for the money as "
        f"{SERIES['replicate']} (95 % interval 1.82 to 1.99)." in sentences
    )


def test_sentences_state_nothing_where_samples_are_too_few(prices: PriceList) -> None:
    few = relative_per_cost(priced(chosen(pools(spread=(1.0, 1.1))), RATE, prices))
    assert all("insufficient n (n = 2)" in sentence for sentence in price_sentences(few))
    assert "times" not in " ".join(price_sentences(few))
    nothing = few.iloc[:0]
    assert price_sentences(nothing) == ["Nothing is measured and priced."]
    assert relative_table(nothing).empty
    assert readable_costs(cost_table(nothing)).empty
    alone = few[few["series"] == few["reference"]]
    assert price_sentences(alone) == [
        "Only the first configuration is measured and priced: there is nothing to compare."
    ]


def test_an_interval_that_holds_1_is_not_told_apart(prices: PriceList) -> None:
    near = pools({"write": {"replicate": 80e6, "disperse": 80.5e6}})
    found = relative_per_cost(priced(chosen(near), RATE, prices))
    assert price_sentences(found)[0].endswith("which holds 1: not told apart).")
    lost = pools({"write": {"replicate": 80e6}, "read": {"disperse": 80e6}})
    found = relative_per_cost(priced(chosen(lost), RATE, prices))
    assert price_sentences(found)[0].endswith("was not measured.")


def test_crossings_in_words(table: pd.DataFrame, prices: PriceList) -> None:
    sentences = crossing_sentences(crossings(table, prices), table)
    assert any(
        sentence.startswith(
            f"write, price of disks: below × 1.70 {SERIES['disperse-dense']} does more for the money than "
            f"{SERIES['disperse-raid6']}, above it less (95 % interval × 1.02 to × 2.66)"
        )
        for sentence in sentences
    )
    none = crossings(table, prices, between=(0.999, 1.001))
    assert crossing_sentences(none, table) == [
        "No two layouts change places while one price moves between × 0.5 and × 2."
    ]
    few = relative_per_cost(priced(chosen(pools(spread=(1.0,))), RATE, prices))
    assert all("(insufficient n)" in sentence for sentence in crossing_sentences(crossings(few, prices), few))
    assert price_factors()[4] == 1.0


def test_why_no_price_changes_an_order(table: pd.DataFrame, prices: PriceList) -> None:
    assert fixed_order(table) == ""
    standard = table[table["server"] == "standard"]
    assert "one kind of server" in fixed_order(standard)
    for few, reason in ((table.iloc[:0], "Nothing is measured"), (table.iloc[:1], "Only one layout is measured")):
        assert fixed_order(few).startswith(reason)
        assert crossing_sentences(crossings(few, prices), few) == [fixed_order(few)]


def test_a_small_ratio_keeps_its_digits(prices: PriceList) -> None:
    far = pools({"write": {"replicate": 800e6, "disperse": 73.2e6}})
    found = relative_per_cost(priced(chosen(far), RATE, prices))
    assert "does 0.0915 times as much" in price_sentences(found)[0]


def test_insufficient_n_is_that_of_the_ratio(prices: PriceList) -> None:
    both = pd.concat([pools({"write": {"replicate": 44e6}}, spread=(1.0,)), pools({"write": {"disperse": 80e6}})])
    found = relative_per_cost(priced(chosen(both.reset_index(drop=True)), RATE, prices))
    assert price_sentences(found)[0].endswith("insufficient n (n = 1).")
    row = relative_table(found).loc[("write", "4 GiB", SERIES["disperse"])]
    assert (row["n"], row["95 % interval"]) == ("1", "insufficient n")


def test_the_guides_own_advantages_bound_the_price_of_a_dense_server(prices: PriceList) -> None:
    implied = implied_by_guide(prices).set_index(["volume", "operation"])
    assert implied["equal where dense costs"].tolist() == ["1.25", "1.65", "1.10", "1.20"]
    assert set(implied["in this list"]) == {"1.46"}
    # a slight advantage of standard in writes and of dense in reads, as the guide says of figure 10
    assert implied["better per cost"].tolist() == ["standard", "dense", "standard", "standard"]
    alone = prices.model_copy(update={"servers": {"standard": prices.servers["standard"]}})
    assert implied_by_guide(alone).empty


def test_capacity_for_people() -> None:
    layouts = layouts_of(pools())
    assert len(layouts) == len(LAYOUTS)
    assert layouts["disks_per_server"].tolist() == [12, 12, 12, 24, 24, 24]
    shown = readable_capacity(capacity_table(guide_layouts(), servers=6, disk_bytes=6e12))
    assert shown["usable TB"].tolist() == [180.0, 288.0]
    assert shown["usable share, %"].tolist() == [41.7, 66.7]
    assert layouts_of(pools().assign(disks=0)).empty


def test_findings_and_verdicts_in_words(prices: PriceList) -> None:
    shown = findings_table({"five": check_pool("disperse", 5, disks_per_server=12, raw=4e14)})
    assert shown[shown["kept"] == "no"]["rule"].tolist() == ["fault-domain", "recommended-pool"]
    advice = advise(pools(), published.load_table(STUDY, 1), prices)
    sentences = verdict_sentences(advice)
    assert sentences[0] == "Of 6 cells: 3 agree, 1 differ, 2 not measured."
    assert sentences[1].startswith(
        "Large-file Performance, SMALL POOLS (250TB): the guide has standard servers, replica"
    )
    assert len(sentences) == 2


def test_examples_are_sized_and_what_was_not_measured_is_said(prices: PriceList) -> None:
    wishes = {
        "archive": Wishes(workload="large-write", throughput="5 GB/s", capacity="500 TB", growth="20%/y", years=3),
        "too much": Wishes(workload="large-read", throughput="900 GB/s"),
        "images": Wishes(workload="32kb-read", throughput="100 files/s"),
    }
    shown = examples_table(size_examples(wishes, pools(LARGE), prices, None), "USD")
    archive = shown[(shown["request"] == "archive") & (shown["layout"] == f"{SERIES['disperse']} (standard)")].iloc[0]
    assert (archive["servers"], archive["decided by"], archive["cost, USD"]) == ("17", "capacity", "283,390")
    assert archive["by rule of thumb"] == ""
    assert shown[shown["request"] == "too much"]["decided by"].str.contains("not possible").all()
    assert shown[shown["request"] == "images"]["layout"].tolist() == ["not measured"]
    only = size_examples({"images": wishes["images"]}, pools(LARGE), prices, None)
    assert examples_table(only, "USD").empty
    with pytest.raises(UsageError):
        size_examples({"x": Wishes(workload="large-write")}, pools(LARGE), prices, None)


def test_examples_count_the_native_client_alone(prices: PriceList) -> None:
    wishes = {"archive": Wishes(workload="large-write", capacity="500 TB")}
    nfs = pools({"write": {"disperse": 200e6}}, workers=96).assign(access="nfs")
    both = pd.concat([pools({"write": {"disperse": 80e6}}), nfs], ignore_index=True)
    (example,) = size_examples(wishes, both, prices, None)
    assert example.answer is not None
    assert [one.block.workers for one in example.answer.sized] == [48]
    (missing,) = size_examples(wishes, nfs, prices, None)
    assert missing.answer is None
    assert "by the native client" in missing.missing


def test_examples_say_their_workers_and_what_a_scale_model_cannot_say(prices: PriceList) -> None:
    wishes = {"archive": Wishes(workload="large-write", capacity="500 TB")}
    workers, model = examples_notes(size_examples(wishes, pools(LARGE), prices, None))
    assert workers == "Throughput is at a number of workers (archive: one number of workers only, 48)."
    assert "it cannot say how fast your pool will be" in model
    assert examples_notes(size_examples(wishes, pools(LARGE).iloc[:0], prices, None)) == []
    assert examples_notes(size_examples(wishes, pools(LARGE, scale=1), prices, None)) == [workers]
    caveats = scale_caveats([200, 34.0], operations_limited=True)
    assert "(34, 200)" in caveats[0]
    assert "operations per second are assumed" in caveats[1]


@pytest.mark.parametrize(
    ("quantity", "mean", "low", "high", "told", "interval"),
    [
        (RATE, 1.05e9, 0.98e9, 1.12e9, "1.05 GB/s", "0.980 to 1.12"),
        (RATE, 0.98e9, 0.9e9, 1.06e9, "980 MB/s", "900 to 1,060"),
        (RATE, 3.2e9, -0.5e9, 7e9, "3.20 GB/s", "below 0 to 7.00, too scattered to tell"),
        (RATE, 3.2e9, math.nan, math.nan, "3.20 GB/s", "insufficient n"),
        ("files_per_s", 6400.0, 900.0, 11_900.0, "6,400 files/s", "900 to 11,900"),
    ],
)
def test_the_ends_of_an_interval_have_the_unit_of_the_mean(
    quantity: str, mean: float, low: float, high: float, told: str, interval: str
) -> None:
    assert (rate_text(quantity, mean), rate_interval(quantity, mean, low, high)) == (told, interval)
