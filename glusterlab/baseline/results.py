"""What a baseline measured, by place: each disk, each server's disks together, each pair of hosts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Literal

from glusterlab.raw import RawStore
from glusterlab.spec.load import load_cluster
from glusterlab.workloads import TOOLS
from glusterlab.workloads.iozone_local import place_of
from glusterlab.workloads.iperf3 import ends_of

if TYPE_CHECKING:
    from pathlib import Path

    from glusterlab.spec.cell import Cell
    from glusterlab.spec.cluster import Cluster
    from glusterlab.workloads.base import WorkloadResult

What = Literal["brick", "server", "link"]
"""brick: one of each server at work at once. server: all bricks of a server at once. link: a pair of hosts."""


@dataclass(frozen=True)
class Rates:
    """Rates of alike places, on the scale that was measured.

    Attributes
    ----------
    model : str
        Name of the scale model.
    scale : float
    operations_limited : bool
        Operations of the disks are scaled as well.
    what : {"brick", "server", "link"}
    of : str
        The backing; of links ``server`` between servers, ``client`` where a client is one of the two.
    operation : str
        write, read; of links ``send``: what a sender's receiver counted, either way.
    samples : int
    rates : mapping of str to float
        Bytes per second by place, the median over the samples: ``server01:/bricks/jbod/d01``, ``server01``,
        ``server01 to client02``.
    """

    model: str
    scale: float
    operations_limited: bool
    what: What
    of: str
    operation: str
    samples: int
    rates: Mapping[str, float]

    @property
    def median(self) -> float:
        """Over the places."""
        return median(self.rates.values())


def read_results(path: Path) -> tuple[Rates, ...]:
    """The rates of a baseline's valid samples.

    Raises
    ------
    RawStoreError, SpecError
        When the folder is no campaign, or damaged.
    ParseError
        When the output of a valid sample cannot be read.
    """
    store = RawStore.open(path)
    cluster = load_cluster(path / "cluster.yaml")
    cells = store.cells()
    found: dict[tuple[Cell, What, str, str], dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for sample in store.samples():
        cell = cells.get(sample.cell_id)
        if cell is None or sample.status != "valid" or cell.access != "none":
            continue
        result = TOOLS[cell.tool].parse(sample.path / "workload", cell)
        for (what, of, operation), rates in _by_place(cell, result, cluster).items():
            # both directions are two cells of the same links
            key = (cell.model_copy(update={"operation": operation}), what, of, operation)
            for place, rate in rates.items():
                found[key][place].append(rate)
    return tuple(
        Rates(
            model=cell.model.name,
            scale=cell.model.scale,
            operations_limited=cell.model.operations,
            what=what,
            of=of,
            operation=operation,
            samples=max(len(values) for values in places.values()),
            rates={place: median(values) for place, values in sorted(places.items())},
        )
        for (cell, what, of, operation), places in found.items()
    )


def _by_place(cell: Cell, result: WorkloadResult, cluster: Cluster) -> dict[tuple[What, str, str], dict[str, float]]:
    found: dict[tuple[What, str, str], dict[str, float]] = defaultdict(dict)
    for worker in result.worker_results:
        rate = worker.throughput_bytes_per_s
        if not rate:
            continue
        if cell.tool == "iperf3":
            sender, receiver = ends_of(worker)
            between = {cluster.role(sender), cluster.role(receiver)}
            kind = "server" if between == {"server"} else "client"
            found["link", kind, "send"][f"{sender} to {receiver}"] = rate
            continue
        host, root = place_of(worker)
        backing = cluster.backing(cell.layout.backing)
        alone = cell.workers == len(cluster.servers)
        if alone:
            found["brick", cell.layout.backing, cell.operation][f"{host}:{root}"] = rate
        # a backing of one brick per server is alone and whole at the same time
        if not alone or len(backing.bricks) == 1:
            whole = found["server", cell.layout.backing, cell.operation]
            whole[host] = whole.get(host, 0.0) + rate
    return found
