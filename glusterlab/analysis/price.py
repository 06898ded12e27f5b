"""Performance and capacity for the money: per cost, per usable byte, and how a ranking changes when a price moves.

Values are ratios to the first configuration, as the guide's are. A price is exact: intervals are of what was measured.
"""

import math
from collections.abc import Iterable, Mapping
from itertools import combinations
from typing import Any

import pandas as pd

from glusterlab.analysis.blocks import best_rows, blocks, guess_sentence, of_unknown_size
from glusterlab.analysis.select import by_operation, split_values
from glusterlab.spec.prices import GROUPS, Group, PriceList
from glusterlab.stats import Estimate, ratio_interval

TERABYTE = 10**12

PRICED = [
    *("servers", "server", "currency", "server_cost", "pool_cost"),
    *("raw_bytes", "usable_bytes", "cost_per_usable_tb"),
]
"""Columns that `priced` adds to a summary: ``server`` is that of the price list, bytes are those of the pool with its
disks, which need not be those that were measured, NaN where not known."""

RELATIVE = ["reference", *(f"{name}{end}" for name in ("relative", "per_usable") for end in ("", "_low", "_high"))]
RELATIVE += ["relative_n", "cost_per_usable_relative"]
"""Columns that `relative_per_cost` adds, ratios to ``reference``: ``relative`` is throughput per cost, ``per_usable``
that of a pool of equal capacity, ``cost_per_usable_relative`` what that costs: the first is the second over the third.
``relative_n`` is the smaller number of samples of the two."""

MOVES: Mapping[str, tuple[Group, ...]] = {
    "disks": ("disks",),
    "servers without disks": ("server",),
    "software, network, support": ("software", "network", "support"),
}

FACTOR_RANGE = (0.5, 2.0)  # how far a price is moved: half to double


def _order(row: Mapping[Any, Any]) -> tuple[bool, float, str, str]:
    """Configurations in the order of the guide: replicate before disperse, standard before dense."""
    return str(row["type"]) != "replicate", float(row["disks"]), str(row["kind"]), str(row["series"])


def price_factors() -> list[float]:
    """Factors of a price over `FACTOR_RANGE`, at equal steps of their logarithm, four on either side of 1."""
    return [FACTOR_RANGE[1] ** (step / 4) for step in range(-4, 5)]


def priced(samples: pd.DataFrame, quantity: str, prices: PriceList) -> pd.DataFrame:
    """What each layout does at its best worker count, with what its pool costs: columns of `best_rows` and `PRICED`."""
    best = best_rows(samples, quantity)
    found = blocks(best, prices)
    records = [
        row
        | {"server": block.server, "currency": prices.currency, "server_cost": block.server_cost}
        | {"pool_cost": block.servers * block.server_cost}
        | {"raw_bytes": block.raw(block.servers), "usable_bytes": block.usable(block.servers)}
        for row, block in zip(best.to_dict("records"), found, strict=True)
        if block.server_cost is not None
    ]
    table = pd.DataFrame.from_records(sorted(records, key=_order), columns=[*best.columns, *PRICED[1:-1]])
    table = table.assign(cost_per_usable_tb=table["pool_cost"] / (table["usable_bytes"] / TERABYTE))
    return by_operation(table, "nominal_file_size_bytes")


def pricing_notes(samples: pd.DataFrame, quantity: str, prices: PriceList) -> list[str]:
    """What must be said of some layouts' prices: none, of a server that was guessed, or no capacity; as sentences."""
    sentences = [f"{series}: not priced, its servers or disks are not known." for series in of_unknown_size(samples)]
    for block in blocks(best_rows(samples, quantity).drop_duplicates("series").sort_values("series"), prices):
        if block.cost_problem:
            sentences.append(f"{block.series}: not priced, {block.cost_problem}.")
            continue
        sentences += [guess_sentence(block)] * block.guessed
        sentences += [f"{block.series}: {block.capacity_problem}."] * bool(block.capacity_problem)
    return sentences


def _ratio(row: Mapping[Any, Any], first: Mapping[Any, Any], column: str = "") -> Estimate:
    """Of two rows at full size, each divided by an exact number of its own."""
    if row["cell_id"] == first["cell_id"]:
        return Estimate(1.0, 1.0, 1.0, int(row["n"]), "the reference")
    own, other = (split_values(each["values"], each["scale"] / each.get(column, 1.0)) for each in (row, first))
    return ratio_interval(own, other)


def relative_per_cost(table: pd.DataFrame) -> pd.DataFrame:
    """Throughput per cost, and per usable byte, as ratios to the first configuration, with 95 % intervals.

    Throughput, cost and capacity of a pool all grow with its servers, by the same assumption. So the throughput per
    cost of two pools of equal capacity is that of the pools as they were measured. Adds `RELATIVE` to a table of
    `priced`, of one file size and access; NaN where the first configuration was not measured with an operation.
    """
    records = table.to_dict("records")
    reference = min(records, key=_order)["series"] if records else ""
    firsts = {row["operation"]: row for row in records if row["series"] == reference}
    found: list[dict[str, Any]] = []
    for row in records:
        first = firsts.get(row["operation"])
        found.append({"reference": reference, "relative_n": min(row["n"], (first or row)["n"])})
        if first is None:
            continue
        for name, column in (("relative", "pool_cost"), ("per_usable", "usable_bytes")):
            ratio = _ratio(row, first, column)
            found[-1] |= {name: ratio.centre, f"{name}_low": ratio.low, f"{name}_high": ratio.high}
        found[-1]["cost_per_usable_relative"] = row["cost_per_usable_tb"] / first["cost_per_usable_tb"]
    return table.join(pd.DataFrame(found, index=table.index, columns=RELATIVE))


def cost_table(table: pd.DataFrame) -> pd.DataFrame:
    """What each pool costs and holds, once per layout: ``series``, ``type``, ``geometry``, ``kind`` and `PRICED`."""
    return table.drop_duplicates("series", ignore_index=True)[["series", "type", "geometry", "kind", *PRICED]]


def _moved_cost(row: Mapping[Any, Any], prices: PriceList, groups: Iterable[Group], factor: float) -> float:
    return int(row["servers"]) * prices.cost(row["server"]).with_factors(dict.fromkeys(groups, factor))


def _relative_cost(
    row: Mapping[Any, Any], first: Mapping[Any, Any], prices: PriceList, groups: Iterable[Group], factor: float
) -> float:
    """By which factor throughput per cost changes with a price, beside that of the first configuration."""
    own, others = (each["pool_cost"] / _moved_cost(each, prices, groups, factor) for each in (row, first))
    return float(own / others)


def sensitivity(table: pd.DataFrame, prices: PriceList, factors: Iterable[float]) -> pd.DataFrame:
    """Throughput per cost while one price moves, as a ratio to the first configuration at the same prices.

    ``rank`` 1 is the best of an operation at a factor. No rows where all are on one server: they cost the same.
    """
    layout, relative = ["operation", "series", "type", "geometry", "kind"], RELATIVE[1:4]
    known = table[table["relative"].notna()]
    rows = known.to_dict("records") if known["server"].nunique() > 1 else []
    first = next((row for row in rows if row["series"] == row["reference"]), {})
    records = []
    for move, groups in MOVES.items():
        for factor in factors:
            for row in rows:
                change = _relative_cost(row, first, prices, groups, factor)
                ratios = [row[name] * change for name in relative]
                records.append((move, *(row[name] for name in layout), float(factor), *ratios))
    moved = pd.DataFrame.from_records(records, columns=["move", *layout, "factor", *relative])
    curves = moved.groupby(["move", "operation", "factor"], observed=True)["relative"]
    return moved.assign(rank=curves.rank(ascending=False, method="min").astype(int))


def _crossing(one: tuple[float, float], other: tuple[float, float], ratio: float, centre: float) -> float:
    """The factor at which throughput per cost of the one is that of the other.

    A cost is fixed + moved x factor, so ratio x (a2 + b2 f) = a1 + b1 f. Where no factor above 0 solves it, the
    crossing has left at 0, or at infinity, on the way from the ratio `centre` to this one.
    """
    (a1, b1), (a2, b2) = one, other
    if math.isnan(ratio):
        return math.nan
    top, bottom = ratio * a2 - a1, b1 - ratio * b2
    if top * bottom > 0:
        return top / bottom
    return math.inf if top * (centre * a2 - a1) > 0 else 0.0


def crossings(table: pd.DataFrame, prices: PriceList) -> pd.DataFrame:
    """Where two configurations change places while one price moves within `FACTOR_RANGE`.

    ``better_below`` and ``better_above`` are series, ``factor_low`` and ``factor_high`` where the ends of the 95 %
    interval of the two's ratio cross, 0 to infinity (NaN: insufficient n), ``relative`` that of both there.
    """
    records = []
    rows = table[table["relative"].notna()].to_dict("records")
    first = next((row for row in rows if row["series"] == row["reference"]), {})
    for move, groups in MOVES.items():
        for one, other in combinations(rows, 2):
            if one["operation"] != other["operation"]:
                continue
            costs = (_parts(one, prices, groups), _parts(other, prices, groups))
            ratio = _ratio(one, other)
            factor, *ends = (_crossing(*costs, end, ratio.centre) for end in (ratio.centre, ratio.low, ratio.high))
            if not FACTOR_RANGE[0] <= factor <= FACTOR_RANGE[1]:
                continue
            # the one whose cost has the larger share that moves is better while that price is low
            shares = [moved / (stays + moved) for stays, moved in costs]
            below, above = (one, other) if shares[0] > shares[1] else (other, one)
            relative = one["relative"] * _relative_cost(one, first, prices, groups, factor)
            records.append((move, one["operation"], below["series"], above["series"], factor, *sorted(ends), relative))
    columns = ["move", "operation", "better_below", "better_above", "factor", "factor_low", "factor_high", "relative"]
    return pd.DataFrame.from_records(records, columns=columns)


def _parts(row: Mapping[Any, Any], prices: PriceList, groups: Iterable[Group]) -> tuple[float, float]:
    """A pool's cost as what stays and what moves."""
    fixed = _moved_cost(row, prices, groups, 0.0)
    return fixed, float(row["pool_cost"]) - fixed


def bill_table(bill: pd.DataFrame, prices: PriceList, server: str) -> pd.DataFrame:
    """A bill of materials (table 3 or 4) with a server's amounts, and what else it has; empty without it."""
    if server not in prices.servers:
        return pd.DataFrame()
    lines = {line.part: line for line in prices.lines(server)}
    rows = []
    for row in bill.to_dict("records"):
        line, quantity = lines.pop(str(row["part_number"]), None), int(row["quantity"])
        price: tuple[object, ...] = (math.nan, math.nan, "not on the price list")
        if line is not None:
            more = "" if line.quantity == quantity else f"; the price list has {line.quantity} of them"
            price = line.price, line.amount, line.source + more
        rows.append((row["category"], row["part_number"], row["description"], quantity, *price))
    for line in lines.values():
        part = line.part, line.description, line.quantity
        rows.append((f"price list: {line.group}", *part, line.price, line.amount, line.source))
    columns = ["category", "part number", "description", "quantity", "price", "amount", "price from"]
    return pd.DataFrame(rows, columns=columns)


def server_costs(prices: PriceList) -> pd.DataFrame:
    """What each server of a list costs, by group and in ``total``; parts that are no data disks are ``other parts``."""
    rows = []
    for name, server in prices.servers.items():
        cost = prices.cost(name)
        disks = f"{server.disks} x {server.data_disks.capacity / 1e12:g} TB"
        groups = {"other parts" if group == "server" else group: cost.groups[group] for group in GROUPS}
        rows.append({"server": name, "model": server.model, "data disks": disks, **groups, "total": cost.total})
    return pd.DataFrame(rows)


def fixed_order(table: pd.DataFrame) -> str:
    """Why no price can change an order of layouts, from `relative_per_cost`; empty where one can."""
    compared = table[table["relative"].notna()]
    if compared["series"].nunique() < 2:
        what = "Nothing" if table.empty else "Only one layout"
        return f"{what} is measured and priced: there is no order that a price could change."
    if compared["server"].nunique() < 2:
        return "All layouts are on one kind of server: they cost the same at any price, and their order hangs on none."
    return ""
