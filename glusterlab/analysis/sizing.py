"""How many servers of which layout a workload needs, from what was measured, and which limit decides.

The assumption behind every number: throughput, capacity and cost grow in proportion to the servers, and clients with
them. It was measured on one number of servers only, so a pool of another size is an extrapolation.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import pandas as pd

from glusterlab.analysis.capacity import (
    LARGEST_POOL,
    MAX_FAULT_DOMAIN,
    RECOMMENDED_POOL,
    SUPPORTED_POOL,
    broken,
    check_pool,
    fault_domain,
    pool_capacity,
)
from glusterlab.analysis.efficiency import GROUP, best_workers, saturation_points, with_full_size
from glusterlab.analysis.intervals import MIN_SAMPLES
from glusterlab.analysis.price import disks_per_brick
from glusterlab.analysis.series import summarise
from glusterlab.spec.cell import LayoutType, parse_geometry

if TYPE_CHECKING:
    from glusterlab.spec.cluster import Cluster, Hardware
    from glusterlab.spec.prices import PriceList

FILL_LIMIT = 0.8
"""How full a pool may get: an assumption of this project. The guide states no limit; a pool that is full can neither
rebalance nor place new files evenly."""

WRITE_SHARE, READ_SHARE = 0.7, 0.6
"""The summit's rules of thumb for large files: writes = slowest of NIC and disk / replicas x 0.7, reads = slowest of
NIC and disk x 0.6 (summit-2017, Scoping for large file workloads)."""

By = Literal["lower", "mean"]

_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Request:
    """What a pool has to do.

    Attributes
    ----------
    tool, operation : str
    nominal_file_size_bytes : int
    quantity : str
        ``throughput_bytes_per_s`` or ``files_per_s``.
    rate : float or None
        Of all clients together, in the quantity's unit; None where only capacity is asked for.
    capacity : float or None
        Bytes today; None where only throughput is asked for.
    growth : float
        Share by which the capacity grows a year.
    years : float
    fill_limit : float
        Share of the usable capacity that may be filled.
    max_fault_domain : float
        The share of the pool that one server stays below.
    by : {"lower", "mean"}
        Whether the throughput of a server is taken at the lower end of its 95 % interval, or at the mean.
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
class Block:
    """One layout as it was measured, on a number of equal servers.

    Attributes
    ----------
    series : str
        As figures name it.
    type_, geometry, kind : str
    server : str
        The server's name in the price list, or its model in the cluster; empty where neither is known.
    servers, disks, bricks : int
        Of the measured pool.
    mean, low, high : float
        Of the pool at full size, with the 95 % interval; NaN below `MIN_SAMPLES` samples.
    n, workers : int
        Samples, and the number of workers that did best.
    still_rising : bool
        More workers might do more.
    scale : float
        The measured values were multiplied by this.
    disk_bytes : float or None
        Of the disks that would be bought.
    server_cost : float or None
    """

    series: str
    type_: LayoutType
    geometry: str
    kind: str
    server: str
    servers: int
    disks: int
    bricks: int
    mean: float
    low: float
    high: float
    n: int
    workers: int
    still_rising: bool
    scale: float
    disk_bytes: float | None
    server_cost: float | None

    @property
    def disks_per_server(self) -> float:
        """Data disks of one server."""
        return self.disks / self.servers

    @property
    def subvolume(self) -> int:
        """Bricks of one subvolume, each on a server of its own."""
        numbers = parse_geometry(self.type_, self.geometry)
        return numbers["replica"] * (numbers["data"] + numbers["redundancy"])

    @property
    def stored_per_byte(self) -> float:
        """Bytes on bricks for each byte of a file."""
        return self.subvolume / parse_geometry(self.type_, self.geometry)["data"]

    def raw(self, servers: int) -> float:
        """Bytes of all data disks of so many servers."""
        return math.nan if self.disk_bytes is None else servers * self.disks_per_server * self.disk_bytes

    def usable(self, servers: int) -> float:
        """Bytes that files can fill on so many servers; NaN where the size of the disks is not known."""
        if self.disk_bytes is None:
            return math.nan
        per_brick = disks_per_brick(self.type_, self.geometry, self.disks)
        shape = {"type_": self.type_, "geometry": self.geometry, "kind": self.kind}
        return pool_capacity(self.raw(servers), **shape, disks_per_brick=per_brick).usable  # type: ignore[arg-type]

    def fits(self, servers: int) -> bool:
        """Whether so many servers hold whole subvolumes, each brick of a subvolume on a server of its own.

        Bricks go round the servers disk by disk, as the guide's layouts and `glusterlab.spec.place_bricks` place them:
        with at least as many servers as a subvolume has bricks, bricks that follow each other lie on distinct servers.
        Replicated servers come in whole sets, so that a set can be added or taken away.
        """
        if self.bricks % self.servers:
            return servers % self.servers == 0
        bricks = servers * self.bricks // self.servers
        if servers < self.subvolume or bricks % self.subvolume:
            return False
        return self.type_ != "replicate" or servers % self.subvolume == 0

    def next_size(self, servers: int) -> int:
        """The fewest servers, at least so many, that the geometry allows."""
        count = max(1, servers)
        while not self.fits(count):
            count += 1
        return count


def blocks(
    samples: pd.DataFrame,
    quantity: str,
    *,
    prices: PriceList | None = None,
    cluster: Cluster | None = None,
    disk_bytes: float | None = None,
) -> list[Block]:
    """The layouts of some samples at their best worker count.

    Parameters
    ----------
    samples : pandas.DataFrame
        From `glusterlab.analysis.series.select`, of one operation and file size. Those whose disks or servers an import
        does not know are left out.
    quantity : str
    prices : PriceList, optional
        For costs, and for the disks that would be bought.
    cluster : Cluster, optional
        Whose server models say how large the measured disks are.
    disk_bytes : float, optional
        Of the disks that would be bought; goes before the price list's, and that before the cluster's.
    """
    known = samples[(samples["disks"] > 0) & (samples["servers"] > 0)]
    summary = summarise(known, quantity)
    rising = saturation_points(summary)[[*GROUP, "still_rising"]]
    best = with_full_size(best_workers(summary).merge(rising, on=GROUP, how="left", validate="one_to_one"))
    servers = known.drop_duplicates("cell_id").set_index("cell_id")["servers"]
    return [_block(row, int(servers[row["cell_id"]]), prices, cluster, disk_bytes) for row in best.to_dict("records")]


def _block(
    row: Mapping[Any, Any], servers: int, prices: PriceList | None, cluster: Cluster | None, disk_bytes: float | None
) -> Block:
    model = str(row["server_model"])
    priced = None if prices is None else prices.server_name(model, float(row["disks"]) / servers)
    stated = None if cluster is None or model not in cluster.server_models else cluster.server_models[model]
    if disk_bytes is None and prices is not None and priced is not None:
        disk_bytes = float(prices.servers[priced].data_disks.capacity)
    if disk_bytes is None and stated is not None and stated.disk_capacity is not None:
        disk_bytes = float(stated.disk_capacity)
    numbers = parse_geometry(row["type"], str(row["geometry"]))
    return Block(
        series=str(row["series"]),
        type_=row["type"],
        geometry=str(row["geometry"]),
        kind=str(row["kind"]),
        server=priced or model,
        servers=servers,
        disks=int(row["disks"]),
        bricks=numbers["subvolumes"] * numbers["replica"] * (numbers["data"] + numbers["redundancy"]),
        mean=float(row["full_size_mean"]),
        low=float(row["full_size_low"]),
        high=float(row["full_size_high"]),
        n=int(row["n"]),
        workers=int(row["workers"]),
        still_rising=bool(row["still_rising"]),
        scale=float(row["scale"]),
        disk_bytes=disk_bytes,
        server_cost=None if prices is None or priced is None else prices.cost(priced).total,
    )


@dataclass(frozen=True, slots=True)
class Sizing:
    """A layout on the number of servers that a request needs, or why there is no such number.

    Attributes
    ----------
    block : Block
    servers : int
        0 where the request cannot be met.
    needs : dict of str to int
        Servers that each limit asks for, before the geometry rounds them up.
    binding : tuple of str
        The limits that ask for the most; "geometry" besides where whole subvolumes need more than these.
    rate_low, rate_mean, rate_high : float
        Of the pool, by growth in proportion to the servers; NaN without an interval.
    usable, fillable : float
        Bytes; the second is the part that the fill limit leaves. NaN where the size of the disks is not known.
    cost : float or None
    fault_domain : float
    advice : tuple of str
        Rules of the guide that the pool does not keep though they are no limit of the request.
    thumb_rate : float or None
        Of one server by the summit's rules of thumb; None where these do not speak of the workload.
    thumb_servers : int or None
        What they would size the same request to.
    problem : str
        Why the request cannot be met; empty where it can.
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
    problem: str = ""

    @property
    def possible(self) -> bool:
        """Whether the request can be met."""
        return not self.problem


def rule_of_thumb(block: Block, hardware: Hardware | None, request: Request) -> float | None:
    """Throughput of one server by the summit's rules: the slowest of network and disks, with its share, bytes/s.

    Writes are divided by the replicas. For a dispersed volume, of which the rule does not speak, the bytes stored for
    each byte of a file stand in their place, which is the same for replicas: (k + m) / k.

    Parameters
    ----------
    block : Block
    hardware : Hardware or None
        Rates of the cluster; a RAID 6 backing counts its arrays where their rate is known.
    request : Request

    Returns
    -------
    float or None
        None without hardware, and where files are counted: the rules are for large files.
    """
    if hardware is None or request.quantity != "throughput_bytes_per_s":
        return None
    arrays = block.bricks / block.servers
    writing = request.operation == "write"
    array = hardware.array_write if writing else hardware.array_read
    disks = (hardware.disk_write if writing else hardware.disk_read) * block.disks_per_server
    slowest = min(hardware.server_link, array * arrays if block.kind == "raid6" and array else disks)
    return slowest / block.stored_per_byte * WRITE_SHARE if writing else slowest * READ_SHARE


def _servers_for(amount: float, per_server: float) -> int:
    return max(1, math.ceil(amount / per_server * (1 - _ROUNDING)))


def _problem(block: Block, request: Request, per_server: float) -> str:
    """Why a layout cannot be sized at all."""
    if request.capacity is not None and block.disk_bytes is None:
        return "the size of its disks is not known: name it by --disk-size, a price list or server_models"
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
    if request.final_capacity is not None and block.disk_bytes is not None:
        needs["capacity"] = _servers_for(request.final_capacity, block.usable(1) * request.fill_limit)
    return needs


def _pool_size(block: Block, needs: Mapping[str, int]) -> int:
    """The fewest servers that all limits and the geometry allow; those of the limits where no pool is so large."""
    most = max(needs.values())
    return block.next_size(most) if most <= LARGEST_POOL else most


def size_block(block: Block, request: Request, hardware: Hardware | None = None) -> Sizing:
    """The fewest servers of one layout that meet a request.

    Parameters
    ----------
    block : Block
    request : Request
    hardware : Hardware, optional
        For the rules of thumb.
    """
    per_server = (block.low if request.by == "lower" else block.mean) / block.servers
    problem = _problem(block, request, per_server)
    needs = _needs(block, request)
    thumb = rule_of_thumb(block, hardware, request)
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
        problem=problem,
    )


def _advice(block: Block, servers: int, request: Request) -> tuple[str, ...]:
    if not servers or block.disk_bytes is None:
        return ()
    findings = check_pool(
        block.type_,
        servers,
        disks_per_server=round(block.disks_per_server),
        raw=block.raw(servers),
        max_fault_domain=request.max_fault_domain,
    )
    return tuple(finding.sentence for finding in broken(findings) if finding.rule == "dense-servers")


def size(found: Iterable[Block], request: Request, hardware: Hardware | None = None) -> list[Sizing]:
    """Every layout on the servers that a request needs: those that meet it first, the cheapest before the others.

    Parameters
    ----------
    found : iterable of Block
    request : Request
    hardware : Hardware, optional
        For the rules of thumb.
    """
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
