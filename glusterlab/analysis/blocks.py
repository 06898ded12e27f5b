"""What a sized pool is built of: one layout as it was measured, per server, and what rules say that it would do."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pandas as pd

from glusterlab.analysis.capacity import brick_count, disks_per_brick, pool_capacity
from glusterlab.analysis.efficiency import GROUP, best_workers, saturation_points, with_full_size
from glusterlab.analysis.limits import volume_bounds
from glusterlab.analysis.saturation import Limits
from glusterlab.analysis.series import summarise
from glusterlab.spec.cell import LayoutType, parse_geometry

if TYPE_CHECKING:
    from glusterlab.spec.cluster import Cluster, Hardware
    from glusterlab.spec.prices import PriceList

WRITE_SHARE, READ_SHARE = 0.7, 0.6
"""The summit's rules of thumb for large files: writes = slowest of NIC and disk / replicas x 0.7, reads = slowest of
NIC and disk x 0.6 (summit-2017, Scoping for large file workloads)."""


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
    return Block(
        series=str(row["series"]),
        type_=row["type"],
        geometry=str(row["geometry"]),
        kind=str(row["kind"]),
        server=priced or model,
        servers=servers,
        disks=int(row["disks"]),
        bricks=brick_count(row["type"], str(row["geometry"])),
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


def _disk_rate(block: Block, hardware: Hardware, *, writing: bool) -> float:
    """Bytes per second of all disks of one server; of its arrays, where a RAID 6 backing's rate is known."""
    array = hardware.array_write if writing else hardware.array_read
    if block.kind == "raid6" and array:
        return array * block.bricks / block.servers
    return (hardware.disk_write if writing else hardware.disk_read) * block.disks_per_server


def rule_of_thumb(block: Block, hardware: Hardware | None, operation: str) -> float | None:
    """Throughput of one server by the summit's rules: the slowest of network and disks, with its share, bytes/s.

    Writes are divided by the replicas. For a dispersed volume, of which the rule does not speak, the bytes stored for
    each byte of a file stand in their place, which is the same for replicas: (k + m) / k.

    Parameters
    ----------
    block : Block
    hardware : Hardware or None
        Rates of the cluster; a RAID 6 backing counts its arrays where their rate is known.
    operation : str
        Of large files: ``write`` or ``read``.

    Returns
    -------
    float or None
        None without hardware, and for another operation: the rules are for large files.
    """
    if hardware is None or operation not in ("write", "read"):
        return None
    writing = operation == "write"
    slowest = min(hardware.server_link, _disk_rate(block, hardware, writing=writing))
    return slowest / block.stored_per_byte * WRITE_SHARE if writing else slowest * READ_SHARE


def physical_bound(block: Block, hardware: Hardware | None, operation: str) -> float | None:
    """What the link and the disks of one server allow this layout, bytes/s, whatever the clients.

    Parameters
    ----------
    block : Block
    hardware : Hardware or None
    operation : str
        Of large files: ``write`` or ``read``.

    Returns
    -------
    float or None
        From `glusterlab.analysis.limits.volume_bounds`; None where that does not know the operation, without hardware,
        and where bricks are not spread evenly.
    """
    if hardware is None or operation not in ("write", "read") or block.bricks % block.servers:
        return None
    host = Limits(
        server_link=hardware.server_link,
        client_link=hardware.client_link,
        server_disks_write=_disk_rate(block, hardware, writing=True),
        server_disks_read=_disk_rate(block, hardware, writing=False),
    )
    bounds = volume_bounds(
        block.type_,
        block.geometry,
        operation,
        host,
        servers=block.servers,
        clients=1,
        bricks_per_server=block.bricks // block.servers,
    )
    return min(bounds["server links"], bounds["disks"]) / block.servers
