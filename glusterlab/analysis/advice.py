"""Which pool for which purpose: a study's table of advice, derived again from measured results, cell by cell.

The purposes are data of the study; how one is decided is this project's rule, which the notebook on sizing states.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import pandas as pd

from glusterlab.analysis.blocks import Block, blocks, native_only
from glusterlab.analysis.capacity import dense_rule
from glusterlab.analysis.select import BACKING_LABELS, select
from glusterlab.analysis.sizing import Request, Sizing, size_block
from glusterlab.errors import DataError
from glusterlab.stats import MIN_SAMPLES, Estimate, contrast_interval

if TYPE_CHECKING:
    from glusterlab.spec.cluster import Cluster
    from glusterlab.spec.prices import PriceList

WRITE_FLOOR = 0.5
"""Share of the best writes per cost that an archive's layout must reach."""

VOLUME_WORDS = {"replicate": "replicated", "disperse": "dispersed"}

NO_POOL = "the published layout makes no legal pool of this size"


@dataclass(frozen=True, slots=True)
class Purpose:
    """A category of table 1, as the guide prints it, and what it is judged by.

    ``operations`` weigh alike; of an archive it is the one that has a floor. ``size``: nominal bytes of a file;
    ``by_cost``: the cost of the pool decides, and throughput is a floor.
    """

    category: str
    tool: str
    quantity: str
    operations: tuple[str, ...]
    size: int
    by_cost: bool = False


COLUMNS = ["category", "pool", "published", "derived", "verdict", "why", "layouts", "n", "read as"]
"""Columns of `advise`, all text but two: ``layouts``, how many took part, and ``n``, the smallest number of their
samples."""


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A layout that was measured with all operations of a purpose."""

    block: Block
    groups: tuple[tuple[float, ...], ...]

    @property
    def n(self) -> int:
        return min(len(group) for group in self.groups)

    @property
    def key(self) -> tuple[str, str, str]:
        return self.block.server, self.block.type_, self.block.kind

    @property
    def words(self) -> str:
        return layout_words(*self.key)


def layout_words(server: str, type_: str, kind: str) -> str:
    """A pool in the words of table 1.

    >>> layout_words("standard", "replicate", "raid6")
    'standard servers, replicated, RAID 6'
    """
    return f"{server} servers, {VOLUME_WORDS.get(type_, type_)}, {BACKING_LABELS.get(kind, kind)}"


def _candidates(
    samples: pd.DataFrame, purpose: Purpose, prices: PriceList, cluster: Cluster | None
) -> list[_Candidate]:
    """Layouts that were measured with every operation, by the native client, on servers that have a price."""
    native = native_only(samples)
    found: dict[str, list[tuple[Block, tuple[float, ...]]]] = {}
    for operation in purpose.operations:
        rows = select(native, tool=purpose.tool, nominal_file_size_bytes=purpose.size, operations=(operation,))
        for block in blocks(rows, purpose.quantity, prices=prices, cluster=cluster):
            if block.server_cost is not None:
                cost = block.servers * block.server_cost
                found.setdefault(block.series, []).append((block, tuple(value / cost for value in block.values)))
    return [
        _Candidate(measured[0][0], tuple(values for _, values in measured))
        for measured in found.values()
        if len(measured) == len(purpose.operations)
    ]


def _ratio(one: _Candidate, other: _Candidate) -> Estimate:
    """Geometric mean over the operations of one candidate over that of another, per cost."""
    product = contrast_interval(one.groups, other.groups)
    power = 1 / len(one.groups)
    return Estimate(product.centre**power, product.low**power, product.high**power, product.n, product.method)


def _pool(candidate: _Candidate, capacity: float) -> Sizing | None:
    """The candidate's pool of that usable capacity, by the rule on pools; None where it takes no part."""
    block = candidate.block
    if block.capacity_problem:
        return None
    sized = size_block(block, Request("", "", 0, "", capacity=capacity, fill_limit=1.0))
    dense = dense_rule(block.disks_per_server, block.raw_for(capacity))
    return sized if sized.possible and (dense is None or dense.ok) else None


def _best(candidates: Sequence[_Candidate]) -> _Candidate:

    def score(candidate: _Candidate) -> float:
        return math.fsum(math.fsum(map(math.log, group)) / len(group) for group in candidate.groups)

    return max(candidates, key=score)


def advise(
    samples: pd.DataFrame,
    published: pd.DataFrame,
    purposes: Sequence[Purpose],
    prices: PriceList,
    cluster: Cluster | None = None,
) -> pd.DataFrame:
    """Table 1 as the guide prints it beside what follows from measured results, cell by cell: columns `COLUMNS`.

    ``verdict`` is agree, differ, not told apart, insufficient n or not measured. Raises `DataError` when the table has
    a category that no rule speaks of.
    """
    known = {purpose.category: purpose for purpose in purposes}
    if unknown := sorted(set(published["category"]) - set(known)):
        raise DataError(
            f"expected the categories {', '.join(known)}; found {', '.join(unknown)}, for which there is no rule"
        )
    measured = {category: _candidates(samples, purpose, prices, cluster) for category, purpose in known.items()}
    rows = []
    for row in published.to_dict("records"):
        purpose = known[str(row["category"])]
        wanted = (str(row["servers"]), str(row["volumes"]), str(row["bricks"]))
        derived = _derive(purpose, measured[purpose.category], wanted, float(row["pool_size_bytes"]))
        tier = f", hot tier {row['tier']} (not compared)" if row["tier"] else ""
        stated = {"pool": row["pool"], "published": layout_words(*wanted) + tier, "read as": row["reading"]}
        rows.append({"category": purpose.category, **stated, **derived})
    return pd.DataFrame(rows, columns=COLUMNS)


def _derive(
    purpose: Purpose, measured: Sequence[_Candidate], wanted: tuple[str, str, str], capacity: float
) -> dict[str, Any]:
    pools = {one.block.series: pool for one in measured if (pool := _pool(one, capacity)) is not None}
    taking_part = [one for one in measured if one.block.series in pools]
    empty = {"derived": "", "verdict": "not measured", "layouts": len(taking_part), "n": 0}
    if not any(one.key == wanted for one in measured):
        return empty | {"why": "the published layout was not measured with these operations, or has no price"}
    if not taking_part:
        return empty | {"why": "no measured layout makes a legal pool of this size"}
    n = min(one.n for one in taking_part)
    if n < MIN_SAMPLES:
        few = "; ".join(f"{one.block.series} {one.n}" for one in taking_part if one.n < MIN_SAMPLES)
        return empty | {"verdict": "insufficient n", "n": n, "why": f"samples: {few}"}
    chosen = _cheapest if purpose.by_cost else _fastest
    return {"layouts": len(taking_part), "n": n} | chosen(taking_part, pools, wanted)


def _fastest(
    taking_part: Sequence[_Candidate], pools: Mapping[str, Sizing], wanted: tuple[str, str, str]
) -> dict[str, Any]:
    """The rule of small-file and of large-file performance."""
    best = _best(taking_part)
    pool = f"{pools[best.block.series].servers} servers"
    verdict = "agree" if best.key == wanted else "differ"
    # where the best is the published kind, every other kind must be worse; where it is not, the published one
    rivals = [one for one in taking_part if (one.key == wanted) != (best.key == wanted)]
    if not rivals:
        return _answer(best, verdict, f"{pool}; {'no other kind takes part' if verdict == 'agree' else NO_POOL}")
    rival = _best(rivals)
    like = [one for one in rivals if not _ratio(best, one).low > 1]
    others = [one.block.series for one in like if one is not rival]
    ratio = _ratio(best, rival)
    holds = "" if ratio.low > 1 else ", which holds 1"
    interval = f"(95 % interval {ratio.low:.2f} to {ratio.high:.2f}{holds})"
    why = f"{pool}; {ratio.centre:.2f} times {rival.block.series} per cost {interval}"
    why += f"; not apart from {', '.join(others)}" * bool(others)
    return _answer(best, "not told apart" if like else verdict, why)


def _cheapest(
    taking_part: Sequence[_Candidate], pools: Mapping[str, Sizing], wanted: tuple[str, str, str]
) -> dict[str, Any]:
    """The rule of an archive. A cost is exact; only the floor rests on samples."""
    writer = _best(taking_part)
    ratios = {one.block.series: _ratio(one, writer) for one in taking_part if one is not writer}

    def reaches(candidate: _Candidate, end: Literal["low", "centre", "high"]) -> bool:
        return candidate is writer or getattr(ratios[candidate.block.series], end) >= WRITE_FLOOR

    order = sorted(taking_part, key=lambda one: _price_of(pools[one.block.series]))
    enough = [one for one in order if reaches(one, "centre")]
    best, chosen = enough[0], pools[enough[0].block.series]
    # any layout that may reach the floor may be the answer, down to the first that surely does
    may = [one for one in order if reaches(one, "high")]
    surely = next(n for n, one in enumerate(may) if reaches(one, "low"))
    unsettled = len({one.key == wanted for one in may[: surely + 1]}) > 1
    verdict = "not told apart" if unsettled else "agree" if best.key == wanted else "differ"
    why = f"{chosen.servers} servers"
    next_best = [one for one in enough[1:] if best.key == wanted or one.key == wanted]
    if next_best:
        other = pools[next_best[0].block.series]
        costs = f"{_price_of(other)[0] / _price_of(chosen)[0]:.2f} times as much"
        holds = f"{other.usable / chosen.usable:.2f} times the usable capacity"
        why += f"; {next_best[0].block.series} costs {costs} and holds {holds}, {other.servers} servers"
    if not any(one.key == wanted for one in taking_part):
        why += f"; {NO_POOL}"
    left = [one.block.series for one in taking_part if one not in enough]
    if left:
        why += f"; below the floor of writes: {', '.join(left)}"
    unsure = [one.block.series for one in may if not reaches(one, "low")]
    if unsure:
        why += f"; the interval holds the floor: {', '.join(unsure)}"
    return _answer(best, verdict, why)


def _price_of(pool: Sizing) -> tuple[float, float]:
    """Sort key: the cheaper pool first, of equal cost the one that holds more."""
    return (math.inf if pool.cost is None else pool.cost), -pool.usable


def _answer(best: _Candidate, verdict: str, why: str) -> dict[str, Any]:
    return {"derived": best.words, "verdict": verdict, "why": why}
