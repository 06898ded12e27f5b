"""Which pool for which purpose: a study's table of advice, derived from results by this project's rule."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import pandas as pd

from glusterlab.analysis.blocks import Block, best_rows, blocks, native_only
from glusterlab.analysis.capacity import dense_rule
from glusterlab.analysis.select import BACKING_LABELS, select
from glusterlab.analysis.sizing import Request, Sizing, size_block
from glusterlab.errors import DataError
from glusterlab.spec.cluster import Cluster
from glusterlab.spec.prices import PriceList
from glusterlab.stats import MIN_SAMPLES, TWO_GROUPS, Estimate, contrast_interval, two_groups

WRITE_FLOOR = 0.5  # share of the best writes per cost that an archive's layout must reach

NO_POOL = "the published layout makes no legal pool of this size"


@dataclass(frozen=True, slots=True)
class Purpose:
    """A category of table 1, as the guide prints it, and what it is judged by."""

    category: str
    tool: str
    quantity: str
    operations: tuple[str, ...]  # weigh alike; of an archive it is the one that has a floor
    size: int  # nominal bytes of a file
    by_cost: bool = False  # the cost of the pool decides, and throughput is a floor


COLUMNS = ["category", "pool", "published", "derived", "verdict", "why", "layouts", "n", "read as"]
"""``layouts``: how many took part; ``n``: the smallest number of their samples."""


class _Candidate(NamedTuple):
    """A layout with its throughput per cost in all operations of a purpose, and its pool of the size asked for."""

    block: Block
    groups: tuple[tuple[float, ...], ...]
    pool: Sizing | None = None

    @property
    def n(self) -> int:
        return min(map(len, self.groups))

    @property
    def kind(self) -> tuple[str, str, str]:
        return self.block.server, self.block.type, self.block.kind

    @property
    def score(self) -> float:
        return math.fsum(math.fsum(map(math.log, group)) / len(group) for group in self.groups)

    def over(self, other: "_Candidate") -> Estimate:
        product, power = contrast_interval(self.groups, other.groups), 1 / len(self.groups)
        return Estimate(product.centre**power, product.low**power, product.high**power, product.n, product.method)


def layout_words(server: str, type_: str, kind: str) -> str:
    """A pool in the words of table 1: ``standard servers, replicated, RAID 6``."""
    volume = {"replicate": "replicated", "disperse": "dispersed"}.get(type_, type_)
    return f"{server} servers, {volume}, {BACKING_LABELS.get(kind, kind)}"


def _candidates(
    samples: pd.DataFrame, purpose: Purpose, prices: PriceList, cluster: Cluster | None
) -> list[_Candidate]:
    """Layouts that were measured with every operation, by the native client, on servers that have a price."""
    native = native_only(samples)
    found: dict[str, list[tuple[Block, tuple[float, ...]]]] = {}
    for operation in purpose.operations:
        rows = select(native, tool=purpose.tool, nominal_file_size_bytes=purpose.size, operations=(operation,))
        for block in blocks(best_rows(rows, purpose.quantity), prices, cluster):
            if block.server_cost is not None:
                cost = block.servers * block.server_cost
                found.setdefault(block.series, []).append((block, tuple(value / cost for value in block.values)))
    return [
        _Candidate(measured[0][0], tuple(values for _, values in measured))
        for measured in found.values()
        if len(measured) == len(purpose.operations)
    ]


def _pool(block: Block, capacity: float) -> Sizing | None:
    """The pool of that usable capacity, by the rule on pools; None where the layout takes no part."""
    sized = size_block(block, Request(capacity=capacity, fill_limit=1.0))
    dense = dense_rule(block.disks_per_server, block.raw_for(capacity)) if sized.possible else None
    return sized if sized.possible and (dense is None or dense.ok) else None


def advise(
    samples: pd.DataFrame,
    published: pd.DataFrame,
    purposes: Sequence[Purpose],
    prices: PriceList,
    cluster: Cluster | None = None,
) -> pd.DataFrame:
    """Table 1 as printed beside what results say: `COLUMNS`; `DataError` for a category without a rule."""
    known = {purpose.category: purpose for purpose in purposes}
    if unknown := sorted(set(published["category"]) - set(known)):
        expected, found = ", ".join(known), ", ".join(unknown)
        raise DataError(f"expected the categories {expected}; found {found}, for which there is no rule")
    measured = {category: _candidates(samples, purpose, prices, cluster) for category, purpose in known.items()}
    rows = []
    for row in published.to_dict("records"):
        category, wanted = str(row["category"]), (str(row["servers"]), str(row["volumes"]), str(row["bricks"]))
        pools = [one._replace(pool=_pool(one.block, float(row["pool_size_bytes"]))) for one in measured[category]]
        tier = f", hot tier {row['tier']} (not compared)" if row["tier"] else ""
        stated = {"pool": row["pool"], "published": layout_words(*wanted) + tier, "read as": row["reading"]}
        rows.append({"category": category, **stated, **_derive(pools, wanted, by_cost=known[category].by_cost)})
    return pd.DataFrame(rows, columns=COLUMNS)


def _derive(measured: Sequence[_Candidate], wanted: tuple[str, str, str], *, by_cost: bool) -> dict[str, Any]:
    taking_part = [one for one in measured if one.pool is not None]
    n = min((one.n for one in taking_part), default=0)
    row = {"derived": "", "verdict": "not measured", "layouts": len(taking_part), "n": 0}
    if not any(one.kind == wanted for one in measured):
        return row | {"why": "the published layout was not measured with these operations, or has no price"}
    if not taking_part:
        return row | {"why": "no measured layout makes a legal pool of this size"}
    if apart := [one for one in taking_part if any(map(two_groups, one.groups))]:
        return row | {"verdict": "insufficient n", "n": n, "why": f"{TWO_GROUPS}: {_names(apart)}"}
    if n < MIN_SAMPLES:
        few = "; ".join(f"{one.block.series} {one.n}" for one in taking_part if one.n < MIN_SAMPLES)
        return row | {"verdict": "insufficient n", "n": n, "why": f"samples: {few}"}
    best, verdict, why = (_cheapest if by_cost else _fastest)(taking_part, wanted)
    why = [f"{best.pool.servers if best.pool else 0} servers", *why]
    return row | {"n": n, "derived": layout_words(*best.kind), "verdict": verdict, "why": "; ".join(why)}


def _names(candidates: Sequence[_Candidate]) -> str:
    return ", ".join(one.block.series for one in candidates)


def _fastest(taking_part: Sequence[_Candidate], wanted: tuple[str, str, str]) -> tuple[_Candidate, str, list[str]]:
    """The rule of small-file and of large-file performance: the best, the verdict, and why."""
    best = max(taking_part, key=lambda one: one.score)
    agrees = best.kind == wanted
    verdict = "agree" if agrees else "differ"
    # where the best is the published kind, every other kind must be worse; where it is not, the published one
    rivals = [one for one in taking_part if (one.kind == wanted) != agrees]
    if not rivals:
        return best, verdict, ["no other kind takes part" if agrees else NO_POOL]
    rival = max(rivals, key=lambda one: one.score)
    like = [one for one in rivals if not best.over(one).low > 1]
    others = _names([one for one in like if one is not rival])
    ratio = best.over(rival)
    interval = f"95 % interval {ratio.low:.2f} to {ratio.high:.2f}{'' if ratio.low > 1 else ', which holds 1'}"
    why = [f"{ratio.centre:.2f} times {rival.block.series} per cost ({interval})"]
    return best, "not distinguished" if like else verdict, why + [f"not apart from {others}"] * bool(others)


def _price_and_size(one: _Candidate) -> tuple[float, float]:
    """Sort key: the cheaper pool first, of equal cost the one that holds more."""
    if one.pool is None or one.pool.cost is None:
        return math.inf, 0.0
    return one.pool.cost, -one.pool.usable


def _cheapest(taking_part: Sequence[_Candidate], wanted: tuple[str, str, str]) -> tuple[_Candidate, str, list[str]]:
    """The rule of an archive. A cost is exact; only the floor rests on samples."""
    writer = max(taking_part, key=lambda one: one.score)
    order = sorted(taking_part, key=_price_and_size)
    exact = Estimate(1.0, 1.0, 1.0, writer.n, "")
    writes = {one.block.series: exact if one is writer else one.over(writer) for one in order}
    enough, may, surely = (
        [one for one in order if getattr(writes[one.block.series], end) >= WRITE_FLOOR]
        for end in ("centre", "high", "low")
    )
    best = enough[0]
    # any layout that may reach the floor may be the answer, down to the first that surely does
    unsettled = {one.kind == wanted for one in may[: may.index(surely[0]) + 1]}
    verdict = "not distinguished" if len(unsettled) > 1 else "agree" if best.kind == wanted else "differ"
    why = []
    for other in [one for one in enough[1:] if wanted in (best.kind, one.kind)][:1]:
        (cost, size), (least, held) = _price_and_size(other), _price_and_size(best)
        costs = f"{other.block.series} costs {cost / least:.2f} times as much"
        servers = other.pool.servers if other.pool else 0
        why = [f"{costs} and holds {size / held:.2f} times the usable capacity, {servers} servers"]
    why += [NO_POOL] * (not any(one.kind == wanted for one in taking_part))
    if left := _names([one for one in taking_part if one not in enough]):
        why.append(f"below the floor of writes: {left}")
    if unsure := _names([one for one in may if one not in surely]):
        why.append(f"the interval holds the floor: {unsure}")
    return best, verdict, why
