"""Limits of the hardware for the analysis of saturation, from a baseline of the same cluster."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from statistics import median
from typing import Self

import pandas as pd

from glusterlab.analysis.baselines import Rates, What, request_rates
from glusterlab.analysis.saturation.resources import Limits
from glusterlab.spec.cell import Cell
from glusterlab.spec.cluster import Cluster, Hardware
from glusterlab.spec.yaml import load_cluster
from glusterlab.store.baselines import search_baseline
from glusterlab.store.campaign import RawStore
from glusterlab.store.evidence import with_outputs
from glusterlab.store.files import file_digest
from glusterlab.store.manifest import MANIFEST
from glusterlab.tools import host_tools
from glusterlab.tools.base import Measurement
from glusterlab.tools.iozone.command import place_of
from glusterlab.tools.iperf3 import ends_of


@dataclass(frozen=True)
class Baseline:
    """A baseline in the raw root."""

    path: Path
    hardware: Hardware | None = None  # as the cluster file of the campaign states it that it is for
    models: Mapping[tuple[float, bool], str] = field(default_factory=dict)  # by scale, limited operations; none: any
    differs: tuple[str, ...] = ()  # in what the baseline is of another cluster

    @classmethod
    def of(cls, raw: Path, cluster: Cluster) -> Self | None:
        found = search_baseline(raw, cluster)
        if found.path is None:
            return None
        models = {(each.scale, each.operations): name for name, each in cluster.scale_models.items()}
        return cls(found.path, cluster.hardware, models if cluster.is_testbed else {}, found.differs)

    @property
    def name(self) -> str:
        return self.path.name

    @property
    def digest(self) -> str:
        """Of its manifest: changes when any of its files does."""
        return file_digest(self.path / MANIFEST)

    @cached_property
    def results(self) -> tuple[Rates, ...]:
        """What it measured under scale models of the campaign; raises `GlusterlabError` when it is damaged."""
        return tuple(
            replace(each, model=self.models.get((each.scale, each.operations_limited), each.model))
            for each in read_results(self.path)
            if not self.models or (each.scale, each.operations_limited) in self.models
        )

    def limits(self, backing: str, scale: float, *, operations_limited: bool) -> Limits | None:
        """Limits of one host: medians over servers, bricks and links; None where not all of them were measured."""
        rates = {
            (each.what, each.of, each.operation): each.median
            for each in self.results
            if (each.scale, each.operations_limited) == (scale, operations_limited)
        }
        write, read = (rates.get(("server", backing, operation)) for operation in ("write", "read"))
        client = rates.get(("link", "client", "send"))
        server = rates.get(("link", "server", "send"), client)
        if write is None or read is None or client is None or server is None:
            return None
        # one TCP stream carries its payload alone, and over a bond of two links it takes one of them
        if self.hardware is not None:
            server = max(server, self.hardware.server_link / scale)
            client = max(client, self.hardware.client_link / scale)
        return Limits(
            server_link=server,
            client_link=client,
            server_disks_write=write,
            server_disks_read=read,
            source=self.name,
            brick_write=rates.get(("brick", backing, "write")),
            brick_read=rates.get(("brick", backing, "read")),
        )


def read_requests(path: Path | None, published: pd.DataFrame) -> pd.DataFrame:
    """The requests of a baseline's valid samples to disks with heads, beside what is published: columns `REQUESTS`."""
    rows = [
        (cell, number, worker.host or "", worker.throughput_bytes_per_s)
        for cell, number, result in (() if path is None else _results(path, of_requests=True))
        for worker in result.workers
        if worker.throughput_bytes_per_s
    ]
    cluster = None if path is None else load_cluster(path / "cluster.yaml")
    return request_rates(rows, cluster, "" if path is None else path.name, published)


def _results(path: Path, *, of_requests: bool) -> Iterator[tuple[Cell, int, Measurement]]:
    store = RawStore.open(path)
    cells = store.cells()
    for sample in store.samples():
        cell = cells.get(sample.cell_id)
        if cell is None or sample.status != "valid" or cell.access != "none":
            continue
        if host_tools()[cell.tool].of_requests == of_requests:
            with with_outputs(sample.path) as folder:
                yield cell, sample.sample, host_tools()[cell.tool].parse(folder / "workload", cell)


def read_results(path: Path) -> tuple[Rates, ...]:
    """The rates of a baseline's valid samples, but for requests to disks with heads."""
    cluster = load_cluster(path / "cluster.yaml")
    found: dict[tuple[Cell, What, str, str], dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for cell, _, result in _results(path, of_requests=False):
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


def _by_place(cell: Cell, result: Measurement, cluster: Cluster) -> dict[tuple[What, str, str], dict[str, float]]:
    found: dict[tuple[What, str, str], dict[str, float]] = defaultdict(dict)
    for worker in result.workers:
        rate = worker.throughput_bytes_per_s
        if not rate:
            continue
        if host_tools()[cell.tool].of_links:
            sender, receiver = ends_of(worker)
            between = {cluster.role(sender), cluster.role(receiver)}
            kind = "server" if between == {"server"} else "client"
            found["link", kind, "send"][f"{sender} to {receiver}"] = rate
            continue
        host, root = place_of(worker)
        backing = cluster.backings[cell.layout.backing]
        alone = cell.workers == len(cluster.servers)
        if alone:
            found["brick", cell.layout.backing, cell.operation][f"{host}:{root}"] = rate
        # a backing of one brick per server is alone and whole at the same time
        if not alone or len(backing.bricks) == 1:
            whole = found["server", cell.layout.backing, cell.operation]
            whole[host] = whole.get(host, 0.0) + rate
    return found
