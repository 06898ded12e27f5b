"""Tables and sentences on advice and sizing that a notebook shows."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pandas as pd

from glusterlab.analysis.blocks import blocks
from glusterlab.analysis.capacity import Finding
from glusterlab.analysis.series import select
from glusterlab.analysis.sizing import Request, Sizing, size
from glusterlab.errors import DataError
from glusterlab.sizerequest import Wishes, build_request, parse_wishes
from glusterlab.units import short_number

if TYPE_CHECKING:
    from glusterlab.spec.cluster import Cluster
    from glusterlab.spec.prices import PriceList

VERDICTS = ("agree", "differ", "not told apart", "insufficient n", "not measured")


def verdict_sentences(advice: pd.DataFrame) -> list[str]:
    """How many cells of table 1 have which verdict, and each one that differs.

    Parameters
    ----------
    advice : pandas.DataFrame
        From `glusterlab.analysis.advice.advise`.
    """
    counts = advice["verdict"].value_counts()
    told = [f"{counts[verdict]} {verdict}" for verdict in VERDICTS if verdict in counts]
    sentences = [f"Of {len(advice)} cells: {', '.join(told)}."]
    sentences.extend(
        f"{row['category']}, {row['pool']}: the guide has {row['published']}, the rules have {row['derived']} "
        f"({row['why']})."
        for row in advice[advice["verdict"] == "differ"].to_dict("records")
    )
    return sentences


def findings_table(pools: Mapping[str, Sequence[Finding]]) -> pd.DataFrame:
    """Rules on pools, for people.

    Parameters
    ----------
    pools : mapping of str to sequence of Finding
        From `glusterlab.analysis.capacity.check_pool`, by the pool in words.

    Returns
    -------
    pandas.DataFrame
        ``pool``, ``rule``, ``kept``, ``expected and found``.
    """
    return pd.DataFrame(
        [
            {
                "pool": pool,
                "rule": finding.rule,
                "kept": "yes" if finding.ok else "no",
                "expected and found": finding.sentence,
            }
            for pool, findings in pools.items()
            for finding in findings
        ]
    )


@dataclass(frozen=True, slots=True)
class Example:
    """A request and what it comes to.

    Attributes
    ----------
    name : str
    request : Request or None
        None where the campaign has not measured its workload.
    sized : tuple of Sizing
    missing : str
        Why there is no request.
    """

    name: str
    request: Request | None
    sized: tuple[Sizing, ...] = ()
    missing: str = ""


def size_examples(
    wishes: Mapping[str, Wishes], samples: pd.DataFrame, prices: PriceList, cluster: Cluster | None
) -> list[Example]:
    """What some requests come to on one campaign, natively.

    Parameters
    ----------
    wishes : mapping of str to Wishes
        By name.
    samples : pandas.DataFrame
        The samples table.
    prices : PriceList
    cluster : Cluster or None

    Raises
    ------
    UsageError
        When a request makes no sense.
    """
    native = samples[samples["access"].astype(str) == "native"]
    found = []
    for name, wish in wishes.items():
        demand = parse_wishes(wish)
        try:
            request = build_request(demand, native)
        except DataError as error:
            found.append(Example(name, None, missing=str(error)))
            continue
        rows = select(
            native,
            tool=request.tool,
            nominal_file_size_bytes=request.nominal_file_size_bytes,
            operations=(request.operation,),
        )
        measured = blocks(rows, request.quantity, prices=prices, cluster=cluster, disk_bytes=demand.disk_bytes)
        sized = size(measured, request, None if cluster is None else cluster.hardware)
        found.append(Example(name, request, tuple(sized)))
    return found


def examples_table(examples: Sequence[Example], currency: str) -> pd.DataFrame:
    """Requests and the pools that meet them, for people; one row per layout.

    Parameters
    ----------
    examples : sequence of Example
    currency : str
        Of the costs.

    Returns
    -------
    pandas.DataFrame
        All text. Nothing where no request was measured.
    """
    rows = []
    for example in examples:
        if example.request is None:
            rows.append(_blank(currency) | {"request": example.name, "layout": "not measured"})
            continue
        request = example.request
        rows.extend(_blank(currency) | _example_row(example.name, request, one, currency) for one in example.sized)
    return pd.DataFrame(rows) if any(example.request is not None for example in examples) else pd.DataFrame()


def _blank(currency: str) -> dict[str, str]:
    columns = ("request", "layout", "servers", "decided by", "throughput", "95 % interval", "usable TB")
    return dict.fromkeys([*columns, "one server is", f"cost, {currency}", "by rule of thumb"], "")


def _example_row(name: str, request: Request, one: Sizing, currency: str) -> dict[str, str]:
    layout = f"{one.block.series} ({one.block.server or 'unnamed'})"
    if not one.possible:
        return {"request": name, "layout": layout, "decided by": f"not possible: {one.problem}"}
    files = request.quantity == "files_per_s"
    factor, unit = (1.0, "files/s") if files else (1e-9, "GB/s")
    low, high = one.rate_low, one.rate_high
    interval = f"{short_number(low * factor)} to {short_number(high * factor)}" if low == low else "insufficient n"
    return {
        "request": name,
        "layout": layout,
        "servers": str(one.servers),
        "decided by": ", ".join(one.binding),
        "throughput": f"{short_number(one.rate_mean * factor)} {unit}",
        "95 % interval": interval,
        "usable TB": "" if math.isnan(one.usable) else f"{one.usable / 1e12:,.0f}",
        "one server is": f"{100 * one.fault_domain:.3g} %",
        f"cost, {currency}": "" if one.cost is None else f"{one.cost:,.0f}",
        "by rule of thumb": "" if one.thumb_servers is None else f"{one.thumb_servers} servers",
    }
