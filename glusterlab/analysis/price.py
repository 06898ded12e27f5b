"""Performance and capacity for the money: per cost, per usable byte, and how a ranking changes when a price moves.

The guide (Evaluating for performance, efficiency, and price-performance) states no prices and shows relative values; so
every value is a ratio to the first configuration, and doubling all prices changes none. A price is an exact number: the
95 % intervals are those of the measured values, carried through.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from itertools import combinations
from typing import TYPE_CHECKING, Any

import pandas as pd

from glusterlab.analysis.blocks import best_rows, block_of, guess_sentence, of_unknown_size
from glusterlab.analysis.select import operation_rank, split_values
from glusterlab.spec.prices import GROUPS
from glusterlab.stats import Estimate, ratio_interval

if TYPE_CHECKING:
    from glusterlab.spec.prices import Group, PriceList

TERABYTE = 10**12

PRICED = [
    *("servers", "server", "currency", "server_cost", "pool_cost"),
    *("raw_bytes", "usable_bytes", "cost_per_usable_tb"),
]
"""Columns that `priced` adds to a summary.

``server`` is the server of the price list; ``server_cost`` and ``pool_cost`` are in ``currency``; ``raw_bytes`` and
``usable_bytes`` are those of the pool with the disks of the price list, which need not be those that were measured;
``usable_bytes`` and ``cost_per_usable_tb`` are NaN where what a layout holds is not known.
"""

RELATIVE = ["reference", *(f"{name}{end}" for name in ("relative", "per_usable") for end in ("", "_low", "_high"))]
"""Columns that `relative_per_cost` adds, beside ``relative_n`` and ``cost_per_usable_relative``; all of them are ratios
to ``reference``.

``relative_n`` is the smaller number of samples of the two that a ratio is of. ``relative`` is throughput per cost,
``per_usable`` throughput per usable byte (what a pool of equal capacity does), and ``cost_per_usable_relative`` what
that capacity costs: the first is the second over the third.
"""

MOVES: Mapping[str, tuple[Group, ...]] = {
    "disks": ("disks",),
    "servers without disks": ("server",),
    "software, network, support": ("software", "network", "support"),
}
"""Prices that `sensitivity` moves, and the groups of a server's cost that each is made of."""

FACTOR_RANGE = (0.5, 2.0)
"""How far a price is moved: half to double."""


def _order(row: Mapping[Any, Any]) -> tuple[bool, float, str, str]:
    """Configurations in the order of the guide: replicate before disperse, standard before dense."""
    return str(row["type"]) != "replicate", float(row["disks"]), str(row["kind"]), str(row["series"])


def price_factors(steps: int = 4) -> list[float]:
    """Factors of a price over `FACTOR_RANGE`, at equal steps of their logarithm, so many on either side of 1.

    >>> price_factors(1)
    [0.5, 1.0, 2.0]
    """
    return [FACTOR_RANGE[1] ** (step / steps) for step in range(-steps, steps + 1)]


def priced(samples: pd.DataFrame, quantity: str, prices: PriceList) -> pd.DataFrame:
    """What each layout does at its best worker count, with what its pool costs and holds.

    Columns of `glusterlab.analysis.blocks.best_rows` and `PRICED`, in the order of the guide within each operation.
    Layouts on servers that the list does not have are left out; `pricing_notes` names them.
    """
    best = best_rows(samples, quantity)
    records = []
    for row in best.to_dict("records"):
        block = block_of(row, prices=prices)
        if block.server_cost is None:
            continue
        servers, pool = block.servers, block.servers * block.server_cost
        raw, usable = block.raw(servers), block.usable(servers)
        per_tb = pool / (usable / TERABYTE)
        costs = (servers, block.server, prices.currency, block.server_cost, pool, raw, usable, per_tb)
        records.append(row | dict(zip(PRICED, costs, strict=True)))
    records.sort(key=lambda row: (operation_rank(row["operation"]), row["nominal_file_size_bytes"], _order(row)))
    columns = [*best.columns, *(name for name in PRICED if name not in best)]
    return pd.DataFrame.from_records(records, columns=columns)


def pricing_notes(samples: pd.DataFrame, quantity: str, prices: PriceList) -> list[str]:
    """What must be said of some layouts' prices: none, of a server that was guessed, or no capacity; as sentences."""
    sentences = [f"{series}: not priced, its servers or disks are not known." for series in of_unknown_size(samples)]
    rows = best_rows(samples, quantity).drop_duplicates("series").sort_values("series")
    for block in (block_of(row, prices=prices) for row in rows.to_dict("records")):
        if block.cost_problem:
            sentences.append(f"{block.series}: not priced, {block.cost_problem}.")
            continue
        if block.guessed:
            sentences.append(guess_sentence(block))
        if block.capacity_problem:
            sentences.append(f"{block.series}: {block.capacity_problem}.")
    return sentences


def _scaled(row: Mapping[Any, Any], divisor: float) -> list[float]:
    """The samples of a row, times its scale, by an exact number."""
    return split_values(row["values"], float(row["scale"]) / divisor)


def _ratio(row: Mapping[Any, Any], first: Mapping[Any, Any], column: str) -> Estimate:
    if row["cell_id"] == first["cell_id"]:
        return Estimate(1.0, 1.0, 1.0, int(row["n"]), "the reference")
    return ratio_interval(_scaled(row, float(row[column])), _scaled(first, float(first[column])))


def relative_per_cost(table: pd.DataFrame) -> pd.DataFrame:
    """Throughput per cost, and per usable byte, as ratios to the first configuration, with 95 % intervals.

    Throughput, cost and capacity of a pool all grow with its servers, by the same assumption. So the throughput per
    cost of two pools of equal capacity is that of the pools as they were measured.

    Adds `RELATIVE`, ``relative_n`` and ``cost_per_usable_relative`` to a table of `priced`, of one file size and
    access; NaN where the first configuration was not measured with an operation.
    """
    if table.empty:
        columns = [*RELATIVE, "relative_n", "cost_per_usable_relative"]
        return table.assign(**{name: pd.Series(dtype="float64") for name in columns})
    records = table.to_dict("records")
    reference = str(min(records, key=_order)["series"])
    firsts = {row["operation"]: row for row in records if row["series"] == reference}
    found = []
    for row in records:
        first = firsts.get(row["operation"])
        new: dict[Any, Any] = dict.fromkeys(RELATIVE, math.nan) | {"reference": reference, "relative_n": int(row["n"])}
        new["cost_per_usable_relative"] = math.nan
        if first is not None:
            new["relative_n"] = min(int(row["n"]), int(first["n"]))
            for name, column in (("relative", "pool_cost"), ("per_usable", "usable_bytes")):
                ratio = _ratio(row, first, column)
                new |= {name: ratio.centre, f"{name}_low": ratio.low, f"{name}_high": ratio.high}
            new["cost_per_usable_relative"] = row["cost_per_usable_tb"] / first["cost_per_usable_tb"]
        found.append(row | new)
    return pd.DataFrame.from_records(found)


def cost_table(table: pd.DataFrame) -> pd.DataFrame:
    """What each pool costs and holds, once per layout: ``series``, ``type``, ``geometry``, ``kind`` and `PRICED`."""
    rows = table.drop_duplicates("series")[["series", "type", "geometry", "kind", *PRICED]]
    return rows.reset_index(drop=True)


def _moved_cost(row: Mapping[Any, Any], prices: PriceList, groups: Iterable[Group], factor: float) -> float:
    cost = prices.cost(str(row["server"])).with_factors(dict.fromkeys(groups, factor))
    return int(row["servers"]) * cost


def sensitivity(table: pd.DataFrame, prices: PriceList, factors: Iterable[float]) -> pd.DataFrame:
    """Throughput per cost while one price moves, as a ratio to the first configuration at the same prices.

    A row per move, factor and row of `relative_per_cost` with a ratio; ``rank`` 1 is the best of an operation at that
    factor. No rows where all layouts are on one server: they cost the same, whatever prices do.
    """
    layout, relative = (
        ["operation", "series", "type", "geometry", "kind"],
        ["relative", "relative_low", "relative_high"],
    )
    known = table[table["relative"].notna()]
    rows = known.to_dict("records") if known["server"].nunique() > 1 else []
    records = []
    for move, groups in MOVES.items():
        for factor in factors:
            for row in rows:
                own, first = (
                    each["pool_cost"] / _moved_cost(each, prices, groups, factor)
                    for each in (row, _first_of(rows, row))
                )
                change = own / first
                shape, ratios = [row[name] for name in layout], [row[name] * change for name in relative]
                records.append((move, *shape, float(factor), *ratios))
    moved = pd.DataFrame.from_records(records, columns=["move", *layout, "factor", *relative])
    groups_of = moved.groupby(["move", "operation", "factor"], observed=True)["relative"]
    return moved.assign(rank=groups_of.rank(ascending=False, method="min").astype(int))


def _first_of(rows: list[dict[Any, Any]], row: Mapping[Any, Any]) -> dict[Any, Any]:
    return next(
        other for other in rows if other["series"] == row["reference"] and other["operation"] == row["operation"]
    )


def _crossing(one: tuple[float, float], other: tuple[float, float], ratio: float, centre: float) -> float:
    """The factor at which throughput per cost of the one is that of the other.

    A cost is fixed + moved x factor, so ratio x (a2 + b2 f) = a1 + b1 f. Where no factor above 0 solves it, the
    crossing has left at 0, or at infinity, on the way from the ratio `centre` to this one.

    >>> [_crossing((100.0, 100.0), (100.0, 50.0), ratio, 1.5) for ratio in (1.5, 0.9, 2.5)]
    [2.0, 0.0, inf]
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

    ``move``, ``operation``, ``better_below`` and ``better_above`` (series), ``factor``, ``factor_low`` and
    ``factor_high`` (where the ends of the 95 % interval of the two's ratio cross, 0 to infinity; NaN: insufficient n),
    ``relative`` (of both, to the first configuration).
    """
    records = []
    rows = table[table["relative"].notna()].to_dict("records")
    for move, groups in MOVES.items():
        for one, other in combinations(rows, 2):
            if one["operation"] != other["operation"]:
                continue
            costs = (_parts(one, prices, groups), _parts(other, prices, groups))
            ratio = ratio_interval(_scaled(one, 1.0), _scaled(other, 1.0))
            factor = _crossing(*costs, ratio.centre, ratio.centre)
            if not FACTOR_RANGE[0] <= factor <= FACTOR_RANGE[1]:
                continue
            first = _first_of(rows, one)
            change = _moved_cost(first, prices, groups, factor) / float(first["pool_cost"])
            change *= float(one["pool_cost"]) / _moved_cost(one, prices, groups, factor)
            # the one whose cost has the larger share that moves is better while that price is low
            shares = [moved / (fixed + moved) for fixed, moved in costs]
            below, above = (one, other) if shares[0] > shares[1] else (other, one)
            ends = sorted(_crossing(*costs, end, ratio.centre) for end in (ratio.low, ratio.high))
            places = below["series"], above["series"], factor, *ends
            records.append((move, one["operation"], *places, one["relative"] * change))
    columns = ["move", "operation", "better_below", "better_above", "factor", "factor_low", "factor_high", "relative"]
    return pd.DataFrame.from_records(records, columns=columns)


def _parts(row: Mapping[Any, Any], prices: PriceList, groups: Iterable[Group]) -> tuple[float, float]:
    """A pool's cost as what stays and what moves."""
    fixed = _moved_cost(row, prices, groups, 0.0)
    return fixed, float(row["pool_cost"]) - fixed


def bill_table(bill: pd.DataFrame, prices: PriceList, server: str) -> pd.DataFrame:
    """A bill of materials (table 3 or 4 of the guide) as printed, with the price list's amounts.

    A part that this server does not have gets no amount, and what it has besides comes after the guide's lines. Nothing
    where the list has no such server.
    """
    if server not in prices.servers:
        return pd.DataFrame()
    lines = {line.part: line for line in prices.lines(server)}
    rows = []
    for row in bill.to_dict("records"):
        line = lines.pop(str(row["part_number"]), None)
        quantity = int(row["quantity"])
        price: tuple[float, float, str] = (math.nan, math.nan, "not on the price list")
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
        rows.append(
            {"server": name, "model": server.model, "data disks": disks}
            | {"other parts" if group == "server" else group: cost.groups[group] for group in GROUPS}
            | {"total": cost.total}
        )
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
