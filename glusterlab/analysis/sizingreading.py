"""Tables and sentences on advice and sizing that a notebook shows."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pandas as pd

from glusterlab.analysis.blocks import counts_words
from glusterlab.analysis.capacity import Finding
from glusterlab.analysis.reading import interval_text
from glusterlab.analysis.sizing import Request, Sizing
from glusterlab.errors import DataError
from glusterlab.sizerequest import Answer, Wishes, answer_demand, parse_wishes
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


def rate_unit(quantity: str, rate: float) -> tuple[float, str]:
    """The unit in which a rate and the ends of its interval are told: one for all three.

    Parameters
    ----------
    quantity : str
        ``throughput_bytes_per_s`` or ``files_per_s``.
    rate : float
        In its SI unit.

    Returns
    -------
    factor : float
        From the SI unit to the unit.
    unit : str

    Examples
    --------
    >>> rate_unit("throughput_bytes_per_s", 1.05e9), rate_unit("files_per_s", 1.05e9)
    ((1e-09, 'GB/s'), (1.0, 'files/s'))
    """
    if quantity == "files_per_s":
        return 1.0, "files/s"
    return (1e-9, "GB/s") if abs(rate) >= 1e9 else (1e-6, "MB/s")


def rate_text(quantity: str, rate: float) -> str:
    """A rate with its unit.

    Examples
    --------
    >>> rate_text("throughput_bytes_per_s", 980e6)
    '980 MB/s'
    """
    factor, unit = rate_unit(quantity, rate)
    return f"{short_number(rate * factor)} {unit}"


def rate_interval(quantity: str, mean: float, low: float, high: float) -> str:
    """The interval of a rate, in the unit of its mean.

    A lower end below 0 says that the samples do not determine the mean, and so does the text.

    Examples
    --------
    >>> rate_interval("throughput_bytes_per_s", 1.05e9, 0.98e9, 1.12e9)
    '0.980 to 1.12'
    >>> rate_interval("throughput_bytes_per_s", 3.2e9, -0.5e9, 7.0e9)
    'below 0 to 7.00, too scattered to tell'
    """
    factor, _ = rate_unit(quantity, mean)
    if low < 0:
        return f"below 0 to {short_number(high * factor)}, too scattered to tell"
    return interval_text(low * factor, high * factor)


def scale_caveats(scales: Iterable[float], *, operations_limited: bool) -> list[str]:
    """What a scale model cannot say, as sentences; none of real hardware.

    Parameters
    ----------
    scales : iterable of float
        That the measured values were multiplied by.
    operations_limited : bool
        Whether any of them limited the disks' operations per second.

    Examples
    --------
    >>> scale_caveats([1.0], operations_limited=False)
    []
    """
    ratios = ", ".join(f"{scale:g}" for scale in sorted({float(scale) for scale in scales if scale != 1}))
    if not ratios:
        return []
    model = f"A scale model: what was measured is multiplied by its scale ({ratios})."
    found = [f"{model} It compares layouts; it cannot say how fast your pool will be."]
    if operations_limited:
        found.append("The disks' operations per second are assumed in it: the guide states none.")
    return found


@dataclass(frozen=True, slots=True)
class Example:
    """A request and what it comes to.

    Attributes
    ----------
    name : str
    answer : Answer or None
        None where the campaign has not measured its workload.
    missing : str
        Why there is none.
    """

    name: str
    answer: Answer | None
    missing: str = ""


def size_examples(
    wishes: Mapping[str, Wishes], samples: pd.DataFrame, prices: PriceList, cluster: Cluster | None
) -> list[Example]:
    """What some requests come to on one campaign.

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
    found = []
    for name, wish in wishes.items():
        demand = parse_wishes(wish)
        try:
            found.append(Example(name, answer_demand(demand, samples, prices=prices, cluster=cluster)))
        except DataError as error:
            found.append(Example(name, None, missing=str(error)))
    return found


def examples_notes(examples: Sequence[Example]) -> list[str]:
    """What must be known to read the table of some examples, as sentences: the workers measured, and the scale."""
    blocks = {
        example.name: [one.block for one in example.answer.sized] for example in examples if example.answer is not None
    }
    counts = [
        f"{name}: {counts_words(block.measured_workers for block in found)}" for name, found in blocks.items() if found
    ]
    every = [block for found in blocks.values() for block in found]
    limited = any(block.operations_limited for block in every)
    told = [f"Throughput is at a number of workers ({'; '.join(counts)})."] if counts else []
    return told + scale_caveats((block.scale for block in every), operations_limited=limited)


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
        if example.answer is None:
            rows.append(_blank(currency) | {"request": example.name, "layout": "not measured"})
            continue
        request = example.answer.request
        rows.extend(
            _blank(currency) | _example_row(example.name, request, one, currency) for one in example.answer.sized
        )
    return pd.DataFrame(rows) if any(example.answer is not None for example in examples) else pd.DataFrame()


def _blank(currency: str) -> dict[str, str]:
    columns = ("request", "layout", "servers", "decided by", "throughput", "95 % interval", "usable TB")
    return dict.fromkeys([*columns, "one server is", f"cost, {currency}", "by rule of thumb"], "")


def _example_row(name: str, request: Request, one: Sizing, currency: str) -> dict[str, str]:
    layout = f"{one.block.series} ({one.block.server or 'unnamed'})"
    if not one.possible:
        return {"request": name, "layout": layout, "decided by": f"not possible: {one.problem}"}
    return {
        "request": name,
        "layout": layout,
        "servers": str(one.servers),
        "decided by": ", ".join(one.binding),
        "throughput": rate_text(request.quantity, one.rate_mean),
        "95 % interval": rate_interval(request.quantity, one.rate_mean, one.rate_low, one.rate_high),
        "usable TB": "" if math.isnan(one.usable) else f"{one.usable / 1e12:,.0f}",
        "one server is": f"{100 * one.fault_domain:.3g} %",
        f"cost, {currency}": "" if one.cost is None else f"{one.cost:,.0f}",
        "by rule of thumb": "" if one.thumb_servers is None else f"{one.thumb_servers} servers",
    }
