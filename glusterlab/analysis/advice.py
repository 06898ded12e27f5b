"""Which pool for which purpose: table 1 of the guide, derived from measured results by rules that are stated here.

The guide names its categories and pool sizes, not how it chose. These rules are this project's:

1. A pool size is usable capacity. A layout takes part where a legal pool holds it: the fewest servers that the
   capacity, the geometry, the guide's fault domain (one server below 17 %) and its recommended minimum (4 servers for
   replicated, 6 for dispersed volumes) ask for, and no more than 128. Dense servers take part where the capacity needs
   more than 1 PB of raw disks, as the guide says.
2. *Small-file Performance*: the most files of 32 KB per second and cost, creates and reads weighing alike (their
   geometric mean), each at its best number of workers.
3. *Large-file Performance*: the same for writes and reads of 4 GB files, in bytes per second and cost.
4. *Large-file Archive (write mostly)*: the lowest cost of the whole pool, and of equal ones the most usable capacity,
   among the layouts whose writes of 4 GB files per cost reach at least half of the best's: an archive is bought for its
   capacity, and must still take its writes.

A cell *agrees* where the best layout is the published one, and *differs* where another is better and the 95 % interval
of their ratio leaves 1 out. Where it holds 1 the two are *not told apart*. Fewer than three samples of any layout that
takes part are *insufficient n*. Hot tiers are not compared: they were not measured, and GlusterFS has none since
release 6.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pandas as pd

from glusterlab.analysis.blocks import Block, blocks
from glusterlab.analysis.capacity import DENSE_DISKS, DENSE_RAW_BYTES
from glusterlab.analysis.intervals import MIN_SAMPLES, Estimate, contrast_interval
from glusterlab.analysis.price import priced
from glusterlab.analysis.series import BACKING_LABELS, select, split_values
from glusterlab.analysis.sizing import Request, Sizing, size_block
from glusterlab.errors import DataError

if TYPE_CHECKING:
    from glusterlab.spec.cluster import Cluster
    from glusterlab.spec.prices import PriceList

WRITE_FLOOR = 0.5
"""Share of the best writes per cost that an archive's layout must reach."""

VOLUME_WORDS = {"replicate": "replicated", "disperse": "dispersed"}


@dataclass(frozen=True, slots=True)
class Purpose:
    """A category of table 1, and what it is judged by.

    Attributes
    ----------
    category : str
        As the guide prints it.
    tool, quantity : str
    operations : tuple of str
        That weigh alike; of an archive the one that has a floor.
    size : int
        Nominal bytes of a file.
    by_cost : bool
        Whether the cost of the pool decides, and throughput is a floor.
    """

    category: str
    tool: str
    quantity: str
    operations: tuple[str, ...]
    size: int
    by_cost: bool = False


PURPOSES = (
    Purpose("Small-file Performance", "smallfile", "files_per_s", ("create", "read"), 32 << 10),
    Purpose("Large-file Performance", "iozone", "throughput_bytes_per_s", ("write", "read"), 4 << 30),
    Purpose("Large-file Archive (write mostly)", "iozone", "throughput_bytes_per_s", ("write",), 4 << 30, by_cost=True),
)

COLUMNS = ["category", "pool", "published", "derived", "verdict", "why", "layouts", "n", "read as"]
"""Columns of `advise`, all text but two: ``layouts``, how many took part, and ``n``, the smallest number of their
samples."""


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A layout that was measured with all operations of a purpose."""

    block: Block
    groups: tuple[tuple[float, ...], ...]
    n: int

    @property
    def key(self) -> tuple[str, str, str]:
        return self.block.server, self.block.type_, self.block.kind

    @property
    def words(self) -> str:
        return layout_words(*self.key)


def layout_words(server: str, type_: str, kind: str) -> str:
    """A pool in the words of table 1.

    Examples
    --------
    >>> layout_words("standard", "replicate", "raid6")
    'standard servers, replicated, RAID 6'
    """
    return f"{server} servers, {VOLUME_WORDS.get(type_, type_)}, {BACKING_LABELS.get(kind, kind)}"


def _candidates(
    samples: pd.DataFrame, purpose: Purpose, prices: PriceList, cluster: Cluster | None
) -> list[_Candidate]:
    """Layouts that were measured with every operation, natively, on servers that have a price."""
    native = samples[samples["access"].astype(str) == "native"]
    rows = {
        operation: select(native, tool=purpose.tool, nominal_file_size_bytes=purpose.size, operations=(operation,))
        for operation in purpose.operations
    }
    tables = [_by_series(priced(found, purpose.quantity, prices)) for found in rows.values()]
    first = purpose.operations[0]
    found = []
    for block in blocks(rows[first], purpose.quantity, prices=prices, cluster=cluster):
        if any(block.series not in table for table in tables):
            continue
        each = [table[block.series] for table in tables]
        groups = tuple(_per_cost(row) for row in each)
        found.append(_Candidate(block, groups, min(int(row["n"]) for row in each)))
    return found


def _by_series(table: pd.DataFrame) -> dict[str, dict[Any, Any]]:
    return {str(row["series"]): row for row in table.to_dict("records")}


def _per_cost(row: Mapping[Any, Any]) -> tuple[float, ...]:
    factor = float(row["scale"]) / float(row["pool_cost"])
    return tuple(value * factor for value in split_values(str(row["values"])))


def _ratio(one: _Candidate, other: _Candidate) -> Estimate:
    """Geometric mean over the operations of one candidate over that of another, per cost."""
    product = contrast_interval(one.groups, other.groups)
    power = 1 / len(one.groups)
    return Estimate(product.centre**power, product.low**power, product.high**power, product.n, product.method)


def _pool(candidate: _Candidate, capacity: float) -> Sizing | None:
    """The candidate's pool of that usable capacity, by rule 1; None where it takes no part."""
    block = candidate.block
    if block.disk_bytes is None:
        return None
    request = Request("", "", 0, "", capacity=capacity, fill_limit=1.0)
    sized = size_block(block, request)
    needed = capacity * block.raw(1) / block.usable(1)
    dense = block.disks_per_server >= DENSE_DISKS and needed <= DENSE_RAW_BYTES
    return None if dense or not sized.possible else sized


def _best(candidates: Sequence[_Candidate]) -> _Candidate:
    """The one with the highest geometric mean of its operations per cost."""

    def score(candidate: _Candidate) -> float:
        logs = [math.fsum(map(math.log, group)) / len(group) for group in candidate.groups]
        return math.fsum(logs)

    return max(candidates, key=score)


def advise(
    samples: pd.DataFrame, published: pd.DataFrame, prices: PriceList, cluster: Cluster | None = None
) -> pd.DataFrame:
    """Table 1 as the guide prints it beside what follows from measured results, cell by cell.

    Parameters
    ----------
    samples : pandas.DataFrame
        The samples table of a campaign.
    published : pandas.DataFrame
        Table 1, from `glusterlab.published.load_table`.
    prices : PriceList
    cluster : Cluster, optional

    Returns
    -------
    pandas.DataFrame
        Columns `COLUMNS`; ``verdict`` is agree, differ, not told apart, insufficient n or not measured.

    Raises
    ------
    DataError
        When the table has a category that no rule speaks of.
    """
    purposes = {purpose.category: purpose for purpose in PURPOSES}
    unknown = sorted(set(published["category"]) - set(purposes))
    if unknown:
        raise DataError(
            f"expected the categories {', '.join(purposes)}; found {', '.join(unknown)}, for which there is no rule"
        )
    measured = {category: _candidates(samples, purpose, prices, cluster) for category, purpose in purposes.items()}
    rows = []
    for row in published.to_dict("records"):
        purpose = purposes[str(row["category"])]
        wanted = (str(row["servers"]), str(row["volumes"]), str(row["bricks"]))
        derived = _derive(purpose, measured[purpose.category], wanted, float(row["pool_size_bytes"]))
        tier = f", hot tier {row['tier']} (not compared)" if row["tier"] else ""
        rows.append(
            {
                "category": purpose.category,
                "pool": str(row["pool"]),
                "published": layout_words(*wanted) + tier,
                "read as": str(row["reading"]),
                **derived,
            }
        )
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
    """Rules 2 and 3."""
    best = _best(taking_part)
    others = [one for one in taking_part if one is not best]
    servers = pools[best.block.series].servers
    pool = f"{servers} servers"
    if best.key == wanted:
        if not others:
            return _told(best, "agree", f"{pool}; no other layout takes part")
        second = _best(others)
        return _told(best, "agree", f"{pool}; {_times(_ratio(best, second), second)}")
    rivals = [one for one in taking_part if one.key == wanted]
    if not rivals:
        return _told(best, "differ", f"{pool}; the published layout makes no legal pool of this size")
    rival = _best(rivals)
    ratio = _ratio(best, rival)
    verdict = "differ" if ratio.low > 1 else "not told apart"
    return _told(best, verdict, f"{pool}; {_times(ratio, rival)}")


def _times(ratio: Estimate, other: _Candidate) -> str:
    apart = "" if ratio.low > 1 else ", which holds 1"
    return (
        f"{ratio.centre:.2f} times {other.block.series} per cost (95 % interval {ratio.low:.2f} to {ratio.high:.2f}"
        f"{apart})"
    )


def _cheapest(
    taking_part: Sequence[_Candidate], pools: Mapping[str, Sizing], wanted: tuple[str, str, str]
) -> dict[str, Any]:
    """Rule 4. A cost is exact; only the floor rests on samples."""
    writer = _best(taking_part)
    enough = [one for one in taking_part if one is writer or _ratio(one, writer).centre >= WRITE_FLOOR]
    order = sorted(enough, key=lambda one: _price_of(pools[one.block.series]))
    best, chosen = order[0], pools[order[0].block.series]
    verdict = "agree" if best.key == wanted else "differ"
    why = f"{chosen.servers} servers"
    rest = [one for one in order[1:] if one.key == wanted] if verdict == "differ" else order[1:]
    if rest:
        other = pools[rest[0].block.series]
        costs = f"{_price_of(other)[0] / _price_of(chosen)[0]:.2f} times as much"
        holds = f"{other.usable / chosen.usable:.2f} times the usable capacity"
        why += f"; {rest[0].block.series} costs {costs} and holds {holds}, {other.servers} servers"
    left = [one.block.series for one in taking_part if one not in enough]
    if left:
        why += f"; below the floor of writes: {', '.join(left)}"
    return _told(best, verdict, why)


def _price_of(pool: Sizing) -> tuple[float, float]:
    """Sort key: the cheaper pool first, of equal cost the one that holds more."""
    return (math.inf if pool.cost is None else pool.cost), -pool.usable


def _told(best: _Candidate, verdict: str, why: str) -> dict[str, Any]:
    return {"derived": best.words, "verdict": verdict, "why": why}
