"""Tables and sentences on money that a notebook prints under a figure: all numbers come from samples and price list."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pandas as pd

from glusterlab.analysis.intervals import INSUFFICIENT
from glusterlab.analysis.price import FACTOR_RANGE
from glusterlab.analysis.reading import interval_text
from glusterlab.spec.prices import GROUPS
from glusterlab.units import format_size, short_number

if TYPE_CHECKING:
    from glusterlab.spec.prices import PriceList

ADVANTAGES = {
    ("replicate", "write"): 1.60,
    ("replicate", "read"): 1.21,
    ("disperse", "write"): 1.82,
    ("disperse", "read"): 1.67,
}
"""Throughput per disk of standard over dense servers as the guide states it (supermicro-2017, Designing for throughput,
figures 8 and 9)."""

DISKS_OF_DENSE = 2
"""A dense server has so many times the disks of a standard one."""


def bill_table(bill: pd.DataFrame, prices: PriceList, server: str) -> pd.DataFrame:
    """A bill of materials as the guide prints it, with the price list's amounts.

    Parameters
    ----------
    bill : pandas.DataFrame
        Table 3 or 4, from `glusterlab.published.load_table`.
    prices : PriceList
    server : str
        Of the price list. A part that this server does not have gets no amount, and what it has besides (other parts,
        and what every server has) comes after the guide's lines.

    Returns
    -------
    pandas.DataFrame
        ``category``, ``part number``, ``description``, ``quantity`` as printed, and ``price``, ``amount`` in the list's
        currency, ``price from``. Nothing where the list has no such server: `missing_server` says so.
    """
    if server not in prices.servers:
        return pd.DataFrame()
    lines = {line.part: line for line in prices.lines(server)}
    rows = []
    for row in bill.to_dict("records"):
        line = lines.pop(str(row["part_number"]), None)
        quantity = int(row["quantity"])
        same = line is not None and line.quantity == quantity
        rows.append(
            {
                "category": row["category"],
                "part number": row["part_number"],
                "description": row["description"],
                "quantity": quantity,
                "price": math.nan if line is None else line.price,
                "amount": math.nan if line is None else line.amount,
                "price from": "not on the price list"
                if line is None
                else line.source
                if same
                else f"{line.source}; the price list has {line.quantity} of them",
            }
        )
    rows.extend(
        {
            "category": f"price list: {line.group}",
            "part number": line.part,
            "description": line.description,
            "quantity": line.quantity,
            "price": line.price,
            "amount": line.amount,
            "price from": line.source,
        }
        for line in lines.values()
    )
    return pd.DataFrame(rows)


def missing_server(prices: PriceList, server: str) -> str:
    """Why the bill of a server has no amounts."""
    return f"The price list {prices.name} has no server {server!r}; it has {', '.join(prices.servers)}."


def server_costs(prices: PriceList) -> pd.DataFrame:
    """What each server of a list costs, by group.

    Returns
    -------
    pandas.DataFrame
        ``server``, ``model``, ``data disks``, one column per group of costs (of parts that are no data disks: ``other
        parts``), ``total``.
    """
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


def readable_costs(costs: pd.DataFrame) -> pd.DataFrame:
    """What each pool costs and holds, for people.

    Parameters
    ----------
    costs : pandas.DataFrame
        From `glusterlab.analysis.price.cost_table`.

    Returns
    -------
    pandas.DataFrame
        ``layout``, ``server``, ``servers``, ``pool cost``, ``raw TB``, ``usable TB``, ``cost per usable TB``; costs
        with their currency.
    """
    currency = "".join(f", {name}" for name in costs["currency"].unique()[:1])
    return pd.DataFrame(
        {
            "layout": costs["series"],
            "server": costs["server"],
            "servers": costs["servers"],
            f"pool cost{currency}": costs["pool_cost"],
            "raw TB": (costs["raw_bytes"].astype(float) / 1e12).round(1),
            "usable TB": (costs["usable_bytes"].astype(float) / 1e12).round(1),
            f"cost per usable TB{currency}": costs["cost_per_usable_tb"].astype(float).round(1),
        }
    )


def relative_table(table: pd.DataFrame) -> pd.DataFrame:
    """Ratios for people: text, rounded, so that a check of it has no rounding noise.

    Parameters
    ----------
    table : pandas.DataFrame
        From `glusterlab.analysis.price.relative_per_cost`.

    Returns
    -------
    pandas.DataFrame
        Indexed by operation, file size and layout. ``n`` is the smaller number of samples of the two that a ratio is
        of.
    """
    shown = pd.DataFrame(
        {
            "operation": table["operation"].astype(str),
            "file size": [format_size(int(size)) for size in table["nominal_file_size_bytes"]],
            "layout": table["series"].astype(str),
            "server": table["server"].astype(str),
            "workers": table["workers"].astype(int).astype(str),
            "n": table["relative_n"].astype(int).astype(str),
            "per cost": [short_number(value) for value in table["relative"]],
            "95 % interval": _intervals(table, "relative"),
            "per usable TB": [short_number(value) for value in table["per_usable"]],
            "cost per usable TB, ratio": [short_number(value) for value in table["cost_per_usable_relative"]],
        }
    )
    return shown.set_index(["operation", "file size", "layout"])


def _intervals(table: pd.DataFrame, name: str) -> list[str]:
    first = table["series"] == table["reference"]
    return [
        "first configuration" if one else interval_text(low, high)
        for one, low, high in zip(first, table[f"{name}_low"], table[f"{name}_high"], strict=True)
    ]


def price_sentences(table: pd.DataFrame) -> list[str]:
    """Every layout against the first configuration, per cost, operation by operation.

    Parameters
    ----------
    table : pandas.DataFrame
        From `relative_per_cost`.
    """
    sentences = []
    for row in table[table["series"] != table["reference"]].to_dict("records"):
        what = f"{row['operation']}, {format_size(int(row['nominal_file_size_bytes']))}"
        pair = f"{row['series']} ({row['server']})"
        if math.isnan(row["relative"]):
            sentences.append(f"{what}: {pair}: the first configuration, {row['reference']}, was not measured.")
        elif math.isnan(row["relative_low"]):
            sentences.append(f"{what}: {pair} against {row['reference']}: {INSUFFICIENT} (n = {row['relative_n']:g}).")
        else:
            low, high = row["relative_low"], row["relative_high"]
            apart = ", which holds 1: not told apart" if low <= 1 <= high else ""
            sentences.append(
                f"{what}: {pair} does {short_number(row['relative'])} times as much for the money as "
                f"{row['reference']} (95 % interval {interval_text(low, high)}{apart})."
            )
    alone = ["Only the first configuration is measured and priced: there is nothing to compare."]
    return sentences or (alone if len(table) else ["Nothing is measured and priced."])


def fixed_order(table: pd.DataFrame) -> str:
    """Why no price can change an order of layouts; empty where one can.

    Parameters
    ----------
    table : pandas.DataFrame
        From `glusterlab.analysis.price.relative_per_cost`.
    """
    if table.empty:
        return "Nothing is measured and priced: there is no order that a price could change."
    compared = table[table["relative"].notna()]
    if compared["series"].nunique() < 2:
        return "Only one layout is measured and priced: there is no order that a price could change."
    if compared["server"].nunique() < 2:
        return "All layouts are on one kind of server: they cost the same at any price, and their order hangs on none."
    return ""


def crossing_sentences(crossings: pd.DataFrame, table: pd.DataFrame) -> list[str]:
    """Where two layouts change places while a price moves, with the interval of that factor.

    Parameters
    ----------
    crossings : pandas.DataFrame
        From `glusterlab.analysis.price.crossings`.
    table : pandas.DataFrame
        From `glusterlab.analysis.price.relative_per_cost`: what they are of.
    """
    low, high = FACTOR_RANGE
    if fixed := fixed_order(table):
        return [fixed]
    if crossings.empty:
        return [f"No two layouts change places while one price moves between × {low:g} and × {high:g}."]
    sentences = []
    for row in crossings.to_dict("records"):
        interval = INSUFFICIENT
        if not math.isnan(row["factor_low"]):
            ends = [_end(row["factor_low"]), _end(row["factor_high"])]
            interval = f"95 % interval {ends[0]} to {ends[1]}"
        sentences.append(
            f"{row['operation']}, price of {row['move']}: below × {row['factor']:.2f} {row['better_below']} does more "
            f"for the money than {row['better_above']}, above it less ({interval})."
        )
    return sentences


def _end(factor: float) -> str:
    return "any higher price" if math.isinf(factor) else "any lower price" if factor == 0 else f"× {factor:.2f}"


def implied_by_guide(prices: PriceList, standard: str = "standard", dense: str = "dense") -> pd.DataFrame:
    """At which ratio of server costs the guide's own advantages per disk would cancel out.

    A dense server has twice the disks. Where a disk of a standard server does *a* times as much, a dense server does
    2 / a times as much as a standard one, and is the better buy as long as it costs less than that.

    Parameters
    ----------
    prices : PriceList
    standard, dense : str
        Servers of the list.

    Returns
    -------
    pandas.DataFrame
        ``volume``, ``operation``, ``advantage per disk`` (stated by the guide), ``equal where dense costs`` (times a
        standard server), ``in this list``, ``better per cost`` (standard or dense); empty where the list lacks one of
        the servers.
    """
    if standard not in prices.servers or dense not in prices.servers:
        return pd.DataFrame()
    here = prices.cost(dense).total / prices.cost(standard).total
    return pd.DataFrame(
        [
            {
                "volume": volume,
                "operation": operation,
                "advantage per disk": f"{advantage:.2f}",
                "equal where dense costs": f"{DISKS_OF_DENSE / advantage:.2f}",
                "in this list": f"{here:.2f}",
                "better per cost": dense if here < DISKS_OF_DENSE / advantage else standard,
            }
            for (volume, operation), advantage in ADVANTAGES.items()
        ]
    )
