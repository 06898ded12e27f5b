"""What a pool is built of that is sized or priced: one layout as it was measured, and what rules say it would do."""

import itertools
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from glusterlab.analysis.capacity import disks_per_brick, pool_capacity, unknown_capacity
from glusterlab.analysis.efficiency import GROUP, best_of_curves, with_full_size
from glusterlab.analysis.select import split_values, summarise
from glusterlab.spec.cell import Layout, LayoutType, layout_of
from glusterlab.spec.cluster import Cluster, Hardware
from glusterlab.spec.prices import PriceList

ACCESS = "native"  # the client whose results are priced, sized and advised on, as the guide's price figures are

SHARES = {"write": 0.7, "read": 0.6}
"""The summit's rules of thumb for large files: writes = slowest of NIC and disk / replicas x 0.7, reads = slowest of
NIC and disk x 0.6 (summit-2017, Scoping for large file workloads)."""

RULE_OF_THUMB = (
    f"writes = slowest of network and disks / replicas x {SHARES['write']:g}, reads = slowest x {SHARES['read']:g} "
    "(Red Hat Summit 2017). The summit counts one network card of 1,200 MB and says not of what. This project reads it "
    "as one server: its whole link, both ports of a bond, and the sum of its disks or arrays; and for dispersed "
    "volumes (k+m)/k stands for the replicas"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """One layout as it was measured, on a number of equal servers.

    ``mean``, ``low`` and ``high`` (95 % interval, NaN below `MIN_SAMPLES`; of two groups the mean, too) and ``values``
    are of the measured pool at full size, ``scale`` times what was measured, at the best number of ``workers``.
    """

    series: str
    type: LayoutType
    geometry: str
    kind: str
    servers: int
    disks: int
    workers: int
    still_rising: bool
    scale: float
    operations_limited: bool
    mean: float
    low: float
    high: float
    values: tuple[float, ...]
    measured_workers: tuple[int, ...]
    server: str  # its name in the price list, else its model in the cluster, or empty
    guessed: bool  # found on the list by its number of disks alone
    disk_bytes: float | None  # of the disks that would be bought
    server_cost: float | None
    cost_problem: str  # why a price list has no cost

    @property
    def n(self) -> int:
        return len(self.values)

    @property
    def layout(self) -> Layout:
        return layout_of(self.type, self.geometry)

    @property
    def disks_per_server(self) -> float:
        return self.disks / self.servers

    @property
    def _disks_per_brick(self) -> int:
        return disks_per_brick(self.type, self.geometry, self.disks)

    @property
    def capacity_problem(self) -> str:
        """Why what its servers hold is not known; empty where it is."""
        if self.disk_bytes is None:
            return "the size of its disks is not known: name it by --disk-size, a price list or server_models"
        reason = unknown_capacity(self.type, self.kind, self._disks_per_brick)
        return f"its capacity is not known: {reason}" if reason else ""

    def raw(self, servers: int) -> float:
        """Bytes of all data disks of so many servers; NaN where that is not known."""
        return math.nan if self.disk_bytes is None else servers * self.disks_per_server * self.disk_bytes

    def usable(self, servers: int) -> float:
        """Bytes that files can fill on so many servers; NaN where that is not known."""
        if self.capacity_problem:
            return math.nan
        shape = {"type_": self.type, "geometry": self.geometry, "kind": self.kind}
        return pool_capacity(self.raw(servers), **shape, disks_per_brick=self._disks_per_brick).usable

    def raw_for(self, usable: float) -> float:
        """Bytes of data disks that so many usable bytes need, before servers are counted."""
        return usable * self.raw(1) / self.usable(1)

    def fits(self, servers: int) -> bool:
        """Whether so many servers hold whole subvolumes, as `place_bricks` places them, and whole sets of replicas."""
        subvolume, measured = self.layout.subvolume_size, self.layout.bricks
        if measured % self.servers:
            return servers % self.servers == 0
        whole = servers >= subvolume and servers * measured // self.servers % subvolume == 0
        return whole and (self.type != "replicate" or servers % subvolume == 0)

    def next_size(self, servers: int) -> int:
        """The fewest servers, at least so many, that the geometry allows."""
        return next(count for count in itertools.count(max(1, servers)) if self.fits(count))


def native_only(samples: pd.DataFrame) -> pd.DataFrame:
    """The samples that prices, advice and sizing speak of: those of the native client."""
    return samples[samples["access"].astype(str) == ACCESS]


def of_unknown_size(samples: pd.DataFrame) -> list[str]:
    """The series of some samples whose disks or servers an import does not know: nothing can be built of them."""
    unknown = samples[(samples["disks"] <= 0) | (samples["servers"] <= 0)]
    return sorted({str(name) for name in unknown["series"]})


def best_rows(samples: pd.DataFrame, quantity: str) -> pd.DataFrame:
    """Each layout of known size at its best worker count, at full size; ``measured_workers`` are joined by ``;``."""
    known = samples[(samples["disks"] > 0) & (samples["servers"] > 0)]
    summary = summarise(known, quantity)
    best = with_full_size(best_of_curves(summary)).drop(columns="points")
    servers = known.drop_duplicates("cell_id").set_index("cell_id")["servers"]
    curves = {curve: sorted(counts) for curve, counts in summary.groupby(GROUP, observed=True)["workers"]}
    measured = [curves[curve] for curve in best[GROUP].itertuples(index=False, name=None)]
    return best.assign(
        servers=[int(servers[cell]) for cell in best["cell_id"]],
        measured_workers=[";".join(f"{count:d}" for count in counts) for counts in measured],
    )


_MEASURED = ("series", "type", "geometry", "kind", "servers", "disks", "workers", "still_rising", "scale")


def blocks(
    rows: pd.DataFrame, prices: PriceList | None = None, cluster: Cluster | None = None, disk_bytes: float | None = None
) -> list[Block]:
    """The layouts of `best_rows`, on disks of ``disk_bytes``, else of the price list, else of the cluster's models."""
    return [_block(row, prices, cluster, disk_bytes) for row in rows.to_dict("records")]


def _block(
    row: Mapping[Any, Any], prices: PriceList | None, cluster: Cluster | None, disk_bytes: float | None
) -> Block:
    model, disks = str(row["server_model"]), row["disks"] / row["servers"]
    priced = None if prices is None else prices.server_name(model, disks)
    stated = None if cluster is None else cluster.server_models.get(model)
    cost, problem = None, ""
    if prices is not None and priced is None:
        wanted = f"server {model!r}" if model else f"single server with {disks:g} disks"
        problem = f"the list has no {wanted} ({', '.join(prices.servers)})"
    elif prices is not None and priced is not None:
        listed = float(prices.servers[priced].data_disks.capacity)
        disk_bytes = listed if disk_bytes is None else disk_bytes
        if disk_bytes == listed:
            cost = prices.cost(priced).total
        else:
            disks_of = f"disks of {listed / 1e12:.4g} TB, not of {disk_bytes / 1e12:.4g} TB"
            problem = f"the list has {priced!r} with {disks_of}; put such a server into a list of your own"
    if disk_bytes is None and stated is not None and stated.disk_capacity is not None:
        disk_bytes = float(stated.disk_capacity)
    return Block(
        **{name: row[name] for name in _MEASURED},
        mean=row["full_size_mean"],
        low=row["full_size_low"],
        high=row["full_size_high"],
        operations_limited=bool(row["operations_limited"]),
        values=tuple(split_values(row["values"], row["scale"])),
        measured_workers=worker_counts(row["measured_workers"]),
        server=priced or model,
        guessed=priced is not None and not model,
        disk_bytes=disk_bytes,
        server_cost=cost,
        cost_problem=problem,
    )


def guess_sentence(block: Block) -> str:
    """What must be said of a block whose server was guessed."""
    only = f"{block.server!r} is the only server of the price list with {block.disks_per_server:g} disks"
    return f"{block.series}: matched by number of disks: the cluster names no server model, and {only}."


def worker_counts(joined: str) -> tuple[int, ...]:
    """The numbers of a ``measured_workers`` cell of `best_rows`."""
    return tuple(int(count) for count in joined.split(";"))


def counts_words(measured: Iterable[tuple[int, ...]]) -> str:
    """At how many workers the values of some layouts are, and which numbers were tried for each curve.

    >>> counts_words([(1, 12), (48,)])
    "each layout's best number of workers of 1, 12 (of some: 48 only)"
    """
    curves = sorted(set(measured), key=lambda counts: (-len(counts), counts))
    most, *others = [", ".join(map(str, counts)) + " only" * (len(counts) == 1) for counts in curves]
    if len(curves[0]) == 1 and not others:
        return f"one number of workers only, {curves[0][0]}"
    return f"each layout's best number of workers of {most}" + (f" (of some: {'; '.join(others)})" if others else "")


def server_rates(block: Block, hardware: Hardware | None, operation: str) -> tuple[float | None, float | None]:
    """Bytes/s of one server by the summit's rules, and what link and disks allow at most; None: not known."""
    if hardware is None or operation not in SHARES:
        return None, None
    writing = operation == "write"
    array = hardware.array_write if writing else hardware.array_read
    disks = (hardware.disk_write if writing else hardware.disk_read) * block.disks_per_server
    if block.kind == "raid6" and array:
        disks = array * block.layout.bricks / block.servers
    bound = min(hardware.server_link, disks) / (block.layout.stored_per_byte if writing else 1.0)
    return bound * SHARES[operation], None if block.layout.bricks % block.servers else bound
