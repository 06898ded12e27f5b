"""Price lists: the shipped example fits the guide's bills of materials, money adds up, and what is wrong is named."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from glusterlab.errors import SpecError
from glusterlab.spec import published
from glusterlab.spec.prices import GROUPS, PriceList, load_prices
from tests.spec.conftest import Write

PROJECT = Path(__file__).parents[2]
SHIPPED = PROJECT / "runbooks" / "supermicro-2017" / "prices.yaml"

DENSE = load_prices(SHIPPED).cost("dense")

PRICES = """\
schema_version: 1
name: shop
currency: EUR
date: 2026-03-31
example: false
prices:
  - {part: BOX, price: 1000, source: offer 12}
  - {part: DISK, price: 200.50 EUR, source: offer 12}
servers:
  small:
    model: A box
    source: offer 12
    data_disks: {part: DISK, capacity: 8 TB}
    parts: {BOX: 1, DISK: 4}
per_server:
  - {name: support, category: support, price: 300, included: true, source: offer 13}
  - {name: upgrade, category: software, price: 77, included: false, source: offer 13}
"""


@pytest.fixture
def shop(write: Write) -> PriceList:
    return load_prices(write("prices.yaml", PRICES))


def test_cost_is_quantity_times_price_and_what_every_server_has(shop: PriceList) -> None:
    cost = shop.cost("small")
    assert cost.groups == {"disks": 802.0, "server": 1000.0, "software": 0.0, "network": 0.0, "support": 300.0}
    assert cost.total == 2102.0
    lines = [(line.part, line.quantity, line.amount) for line in shop.lines("small")]
    assert lines == [("BOX", 1, 1000.0), ("DISK", 4, 802.0), ("support", 1, 300.0)]
    assert shop.servers["small"].disks == 4
    assert shop.sentence == "Prices: shop, EUR of 2026-03-31."
    with pytest.raises(KeyError):
        shop.cost("large")


@settings(deadline=None)
@given(factor=st.floats(0.01, 100))
def test_money_scales_linearly(factor: float) -> None:
    cost = DENSE
    assert cost.with_factors(dict.fromkeys(GROUPS, factor)) == pytest.approx(factor * cost.total)
    one = cost.with_factors({"disks": factor})
    assert one - cost.total == pytest.approx((factor - 1) * cost.groups["disks"], abs=1e-6)


@pytest.mark.parametrize(("server", "table"), [("standard", 3), ("dense", 4)])
def test_the_shipped_list_has_the_guides_servers(server: str, table: int) -> None:
    prices = load_prices(SHIPPED)
    bill = published.load_table(PROJECT / "raw" / "published" / "supermicro-2017", table)
    assert prices.servers[server].parts == dict(zip(bill["part_number"], bill["quantity"].astype(int), strict=True))
    assert prices.servers[server].data_disks.capacity == 8 * 10**12
    assert "8TB" in bill.set_index("part_number").loc["HDD", "description"]
    assert str(bill["part_number"].iloc[0]) in prices.servers[server].model


def test_the_shipped_list_says_that_it_is_an_example() -> None:
    prices = load_prices(SHIPPED)
    assert prices.example
    assert "not quotes" in prices.sentence
    lines = [*prices.prices, *prices.per_server]
    assert all(line.assumed and "assumed" in line.source for line in lines)
    assert "NOT QUOTES" in SHIPPED.read_text(encoding="utf-8")
    assert {line.category for line in prices.per_server} == {"software", "network", "support"}
    # a line that is not included costs nothing
    assert prices.cost("standard").groups["support"] == 0
    assert prices.cost("standard").total == 16_670
    assert prices.cost("dense").total == 24_380


def test_a_measured_server_is_found_by_model_or_by_disks() -> None:
    prices = load_prices(SHIPPED)
    assert prices.server_name("dense", 12) == "dense"
    assert prices.server_name("other", 12) is None
    assert prices.server_name("", 12) == "standard"
    assert prices.server_name("", 24) == "dense"
    assert prices.server_name("", 36) is None


def test_two_servers_with_as_many_disks_are_not_told_apart(write: Write) -> None:
    twin = (
        "  twin:\n    model: Another\n    source: offer 14\n    data_disks: {part: DISK, capacity: 8 TB}\n"
        "    parts: {BOX: 2, DISK: 4}\nper_server:\n"
    )
    prices = load_prices(write("prices.yaml", PRICES, {"per_server:\n": twin}))
    assert prices.server_name("", 4) is None
    assert prices.cost("twin").groups["server"] == 2000


def test_a_server_that_costs_nothing_is_refused(write: Write) -> None:
    """Throughput for the money would divide by it."""
    free = {"price: 1000,": "price: 0,", "price: 200.50 EUR": "price: 0 EUR", "price: 300,": "price: 0,"}
    with pytest.raises(SpecError, match="expected a server that costs something, found a total of 0") as caught:
        load_prices(write("prices.yaml", PRICES, free))
    assert caught.value.key == "servers.small"
    # one price of 0 is a gift
    assert load_prices(write("prices.yaml", PRICES, {"price: 1000,": "price: 0,"})).cost("small").total == 1102


def test_the_notice_says_how_many_lines_are_assumed(shop: PriceList, write: Write) -> None:
    assert "assumed" not in shop.sentence
    some = load_prices(write("prices.yaml", PRICES, {"price: 1000,": "price: 1000, assumed: true,"}))
    # what is not included does not count
    assert some.sentence == "Prices: shop, EUR of 2026-03-31; 1 of 3 lines assumed."
    assert "; 17 of 17 lines assumed; example prices" in load_prices(SHIPPED).sentence


@pytest.mark.parametrize(
    ("old", "new", "key", "message"),
    [
        ("parts: {BOX: 1, DISK: 4}", "parts: {BOXX: 1, DISK: 4}", "servers.small.parts.BOXX", "did you mean 'BOX'?"),
        ("parts: {BOX: 1, DISK: 4}", "parts: {BOX: 1, FAN: 4, DISK: 1}", "servers.small.parts.FAN", "none for 'FAN'"),
        ("parts: {BOX: 1, DISK: 4}", "parts: {BOX: 1}", "servers.small.data_disks.part", "not among the server's"),
        ("parts: {BOX: 1, DISK: 4}", "parts: {}", "servers.small.parts", "expected at least 1"),
        ("parts: {BOX: 1, DISK: 4}", "parts: {BOX: 1, DISK: 99999}", "servers.small.parts.DISK", "at most 10,000"),
        ("price: 1000,", "price: -5,", "prices.0.price", "expected at least 0, found the number -5"),
        ("price: 1000,", "price: '1.000,50',", "prices.0.price", "expected a number, found '1.000,50'"),
        ("price: 1000,", "price: 1e300,", "prices.0.price", "at most 1,000,000,000"),
        ("price: 1000,", "price: .nan,", "prices.0.price", "expected a finite number"),
        ("price: 1000,", "price: 1000 USD,", "prices.0.price", "expected EUR, the currency of this list, found USD"),
        ("price: 300,", "price: 300, currency: usd,", "per_server.0.currency", "of the form"),
        ("date: 2026-03-31", "date: 2026-02-30", "date", "expected a date of the form 2017-03-31"),
        ("example: false\n", "", "example", "this key is required"),
        ("part: DISK, price", "part: BOX, price", "prices.1", "'BOX' twice"),
        (", source: offer 12}\n  - {part: DISK", "}\n  - {part: DISK", "prices.0.source", "this key is required"),
    ],
)
def test_what_is_wrong_is_named_with_its_line(write: Write, old: str, new: str, key: str, message: str) -> None:
    path = write("prices.yaml", PRICES, {old: new})
    with pytest.raises(SpecError) as caught:
        load_prices(path)
    error = caught.value
    assert error.key == key
    assert message in error.message
    line = PRICES[: PRICES.index(old)].count("\n") + 1
    if "required" not in message and "not among" not in message:
        assert line <= int(str(error.line)) <= line + new.count("\n")
    assert str(error).startswith(f"{path}:{error.line}: {key}: ")
