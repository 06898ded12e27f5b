"""How many servers of which layout a workload needs, from what was measured, and which limit decides.

The assumption behind every number: throughput, capacity and cost grow in proportion to the servers, and clients with
them. It was measured on one number of servers only, so a pool of another size is an extrapolation.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from glusterlab.analysis.blocks import Block, physical_bound, rule_of_thumb
from glusterlab.analysis.capacity import (
    LARGEST_POOL,
    MAX_FAULT_DOMAIN,
    RECOMMENDED_POOL,
    SUPPORTED_POOL,
    dense_rule,
    fault_domain,
)
from glusterlab.analysis.words import interval_text
from glusterlab.stats import MIN_SAMPLES
from glusterlab.units import short_number

if TYPE_CHECKING:
    from glusterlab.spec.cluster import Hardware

FILL_LIMIT = 0.8
"""How full a pool may get: an assumption of this project. The guide states no limit; a pool that is full can neither
rebalance nor place new files evenly."""

By = Literal["lower", "mean"]

_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Request:
    """What a pool has to do.

    ``rate`` is of all clients together, in the unit of ``quantity`` (``throughput_bytes_per_s`` or ``files_per_s``),
    ``capacity`` bytes today, which grow by the share ``growth`` a year; ``fill_limit`` of the usable capacity may be
    filled, and one server stays below the share ``max_fault_domain`` of the pool. ``by``: whether a server's throughput
    is the lower end of its 95 % interval, or the mean.
    """

    tool: str
    operation: str
    nominal_file_size_bytes: int
    quantity: str
    rate: float | None = None
    capacity: float | None = None
    growth: float = 0.0
    years: float = 0.0
    fill_limit: float = FILL_LIMIT
    max_fault_domain: float = MAX_FAULT_DOMAIN
    by: By = "lower"

    @property
    def final_capacity(self) -> float | None:
        """Bytes at the end: capacity x (1 + growth) ** years.

        Examples
        --------
        >>> wanted = Request("iozone", "write", 4 << 30, "throughput_bytes_per_s", capacity=500e12, growth=0.2, years=3)
        >>> round(wanted.final_capacity / 1e12)
        864
        """
        return None if self.capacity is None else self.capacity * (1 + self.growth) ** self.years


@dataclass(frozen=True, slots=True)
class Sizing:
    """A layout on the number of servers that a request needs, or why there is no such number.

    ``needs``: servers that each limit asks for, before the geometry rounds them up; ``binding``: those that ask for the
    most, and "geometry" where whole subvolumes need more. Rates are of the pool, by growth in proportion to the
    servers, NaN without an interval; ``usable`` and ``fillable`` (within the fill limit) are bytes, NaN where not
    known. ``advice`` is what the guide advises against though the request allows it. ``thumb_rate`` (of one server) and
    ``thumb_servers`` are by the summit's rules of thumb; ``bound_rate`` is what link and disks of one server allow.
    With a ``problem``, ``servers`` is 0.
    """

    block: Block
    servers: int
    needs: dict[str, int]
    binding: tuple[str, ...]
    rate_low: float
    rate_mean: float
    rate_high: float
    usable: float
    fillable: float
    cost: float | None
    fault_domain: float
    advice: tuple[str, ...]
    thumb_rate: float | None
    thumb_servers: int | None
    bound_rate: float | None
    problem: str = ""

    @property
    def possible(self) -> bool:
        """Whether the request can be met."""
        return not self.problem

    @property
    def per_disk(self) -> tuple[float, float, float]:
        """Rate of one disk, of all disks whatever the protection, as measured: mean, and the ends of its interval."""
        return self.block.mean / self.block.disks, self.block.low / self.block.disks, self.block.high / self.block.disks


def _servers_for(amount: float, per_server: float) -> int:
    return max(1, math.ceil(amount / per_server * (1 - _ROUNDING)))


def _problem(block: Block, request: Request, per_server: float) -> str:
    """Why a layout cannot be sized at all."""
    if request.capacity is not None and block.capacity_problem:
        return block.capacity_problem
    if request.rate is None:
        return ""
    if request.by == "lower" and block.n < MIN_SAMPLES:
        return f"insufficient n: {block.n} valid of the {MIN_SAMPLES} samples that the lower end of an interval needs"
    if not per_server > 0:
        return "its samples scatter so widely that the lower end of the interval is not above 0: measure more repeats"
    return ""


def _needs(block: Block, request: Request) -> dict[str, int]:
    """Servers by every limit but throughput."""
    needs = {
        "fault domain": math.floor(1 / request.max_fault_domain) + 1,
        "minimum pool": RECOMMENDED_POOL.get(block.type_, SUPPORTED_POOL),
    }
    if request.final_capacity is not None and not block.capacity_problem:
        needs["capacity"] = _servers_for(request.final_capacity, block.usable(1) * request.fill_limit)
    return needs


def _pool_size(block: Block, needs: Mapping[str, int]) -> int:
    """The fewest servers that all limits and the geometry allow; those of the limits where no pool is so large."""
    most = max(needs.values())
    return block.next_size(most) if most <= LARGEST_POOL else most


def size_block(block: Block, request: Request, hardware: Hardware | None = None) -> Sizing:
    """The fewest servers of one layout that meet a request; ``hardware`` is for the rules of thumb."""
    per_server = (block.low if request.by == "lower" else block.mean) / block.servers
    problem = _problem(block, request, per_server)
    needs = _needs(block, request)
    large = request.operation if request.quantity == "throughput_bytes_per_s" else ""
    thumb = rule_of_thumb(block, hardware, large)
    by_thumb = None
    if thumb is not None and request.rate is not None:
        by_thumb = _pool_size(block, {**needs, "throughput": _servers_for(request.rate, thumb)})
    if request.rate is not None and not problem:
        needs = {"throughput": _servers_for(request.rate, per_server), **needs}
    most = max(needs.values())
    servers = _pool_size(block, needs)
    binding = tuple(name for name, count in needs.items() if count == most)
    binding += ("geometry",) if servers > most else ()
    if not problem and servers > LARGEST_POOL:
        problem = f"{' and '.join(binding)}: {servers:,} servers, and one pool has at most {LARGEST_POOL}"
    if problem:
        servers = 0
    share = servers / block.servers if servers else math.nan
    usable = block.usable(servers) if servers else math.nan
    return Sizing(
        block=block,
        servers=servers,
        needs=needs,
        binding=binding,
        rate_low=block.low * share,
        rate_mean=block.mean * share,
        rate_high=block.high * share,
        usable=usable,
        fillable=usable * request.fill_limit,
        cost=None if block.server_cost is None or not servers else servers * block.server_cost,
        fault_domain=fault_domain(servers) if servers else math.nan,
        advice=_advice(block, servers, request),
        thumb_rate=thumb,
        thumb_servers=by_thumb,
        bound_rate=physical_bound(block, hardware, large),
        problem=problem,
    )


def _advice(block: Block, servers: int, request: Request) -> tuple[str, ...]:
    """By the raw capacity that is asked for; where only throughput is, by that of the pool."""
    if not servers or block.capacity_problem:
        return ()
    wanted = request.final_capacity
    raw = block.raw(servers) if wanted is None else block.raw_for(wanted / request.fill_limit)
    finding = dense_rule(block.disks_per_server, raw)
    return () if finding is None or finding.ok else (finding.sentence,)


def size(found: Iterable[Block], request: Request, hardware: Hardware | None = None) -> list[Sizing]:
    """Every layout on the servers that a request needs: those that meet it first, the cheapest before the others."""
    sized = [size_block(block, request, hardware) for block in found]
    return sorted(
        sized,
        key=lambda one: (
            not one.possible,
            math.inf if one.cost is None else one.cost,
            one.servers,
            one.block.series,
        ),
    )


def rate_unit(quantity: str, rate: float) -> tuple[float, str]:
    """The factor and unit in which a rate (in SI units) and the ends of its interval are shown: one for all three.

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
    """The interval of a rate, in the unit of its mean; below 0 the samples do not determine the mean.

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
