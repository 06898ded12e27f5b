"""Physical bounds of a volume: what links and disks allow, with the traffic of replicas and redundancy.

A byte of a file crosses the network as often as its layout stores it (performance brief of Red Hat Gluster Storage 3.1,
3.1.2.1.1), and a read fetches each byte once, from one replica or *k* bricks (``disperse.read-policy``). A file lies in
one subvolume and is read from the same bricks, unless options say otherwise (`reads_all_bricks`); so few files reach
few bricks, and few workers use few clients' links. Nothing is fitted to results; latency, CPU, seeks and operations per
second are left out, so small files stay far below a bound. Caches may pass that of the disks.
"""

import itertools
import math
import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Literal

import numpy as np
import pandas as pd

from glusterlab.analysis.efficiency import GROUP
from glusterlab.analysis.saturation.resources import Limits
from glusterlab.analysis.select import DIRECTIONS, VIEWS
from glusterlab.spec.campaign import Campaign, expand
from glusterlab.spec.cell import Cell, layout_of
from glusterlab.spec.cluster import CACHED_KINDS, Cluster

Part = Literal["client links", "server links", "disks"]

CLIENT_SIDE = ("native", "gfapi")  # accesses whose client itself talks to all bricks: only their traffic is known here

POOL_LIMITS = ["cell_id", "part", "bound_bytes_per_s", "binds", "source"]
"""Columns that `pool_limits` adds to those that describe a cell."""

CURVE = [*GROUP, "scale", "workers", "limit", "limit_part", "limit_source"]

GFID_HASH_SINCE = 5  # first release that surely reads a dispersed file from the same bricks, by default

MOST_COUNTS = 2000  # whole numbers of workers on a curve; beyond they are spread evenly on a logarithmic axis

_CELL = ["type", "geometry", "backing", "access", "operation", "workers", "files_per_worker", "scale"]


def volume_bounds(
    type_: str,
    geometry: str,
    operation: str,
    host: Limits,
    *,
    servers: int,
    clients: int,
    bricks_per_server: int,
    workers: int | None = None,
    files_at_once: int = 1,
    all_bricks: bool = False,
) -> dict[Part, float]:
    """What each part of a pool allows one volume, bytes of files per second, all workers together; the least binds.

    ``host`` is of one server and one client, and its unit (bytes/s) that of the result. ``workers`` are over all
    clients, by default as many as it takes, each with ``files_at_once`` on their way to or from disks; with
    ``all_bricks`` reads of one file reach all bricks of its subvolume. Where few files lie is not known, so they are
    taken to lie as well as they can. Raises `ValueError` when the geometry is none, or the operation moves no files.
    """
    layout = layout_of(type_, geometry)
    direction = DIRECTIONS.get(operation)
    if direction is None:
        raise ValueError(f"expected an operation among {', '.join(DIRECTIONS)}, found {operation!r}")
    files = layout.bricks if workers is None else workers * files_at_once
    used_clients = clients if workers is None else min(workers, clients)
    if direction == "write":
        copies, whole, brick = layout.stored_per_byte, host.server_disks_write, host.brick_write
    else:
        copies, whole, brick = 1.0, host.server_disks_read, host.brick_read
    if direction == "write" or all_bricks:
        bricks = min(files, layout.subvolumes) * layout.subvolume_size
    else:
        bricks = min(files * layout.data, layout.bricks)
    if brick is None:
        brick = whole / bricks_per_server
    used_servers = min(servers, bricks)
    return {
        "client links": used_clients * host.client_link / copies,
        "server links": used_servers * host.server_link / copies,
        "disks": min(bricks * brick, used_servers * whole) / copies,
    }


def pool_limits(
    cells: pd.DataFrame, cluster: Cluster | None, hosts: Mapping[str, Limits], campaign: Campaign | None = None
) -> pd.DataFrame:
    """The bounds of each cell, part by part; what no campaign tells is taken so that the bound stays one.

    ``hosts`` is by ``cell_id``, on the scale that was measured. Columns of the cell and `POOL_LIMITS`: the bound of all
    workers together on that scale; ``binds``, the least of a cell; ``source``, the baseline that measured the hardware,
    if any. No rows of cells whose hardware, layout, access or operation is not known, of shards, and of tiers.
    """
    specified = _cells(campaign, cluster)
    records: list[tuple[object, ...]] = []
    for row in cells.drop_duplicates("cell_id").to_dict("records"):
        cell_id = str(row["cell_id"])
        bounds = _bounds(row, int(row["workers"]), cluster, hosts.get(cell_id), specified.get(cell_id))
        least = min(bounds.values(), default=math.nan) * (1 + 1e-9)
        records += [
            (*(row[name] for name in _CELL), cell_id, part, bound, bound <= least, hosts[cell_id].source)
            for part, bound in bounds.items()
        ]
    return pd.DataFrame.from_records(records, columns=[*_CELL, *POOL_LIMITS])


def throttle_limits(
    samples: pd.DataFrame, cluster: Cluster, hosts: Mapping[str, Limits], campaign: Campaign | None = None
) -> dict[str, float]:
    """What the throttle of a scale model lets each cell do, bytes of files per second, by ``cell_id``: its least bound.

    Where each file is flushed before the next, a worker waits for link and disk in turn. None of disks with heads.
    """
    specified, found = _cells(campaign, cluster), {}
    for row in samples.drop_duplicates("cell_id").to_dict("records"):
        cell, workers = specified.get(str(row["cell_id"])), int(row["workers"])
        known = (cluster, hosts.get(str(row["cell_id"])), cell)
        if row["scale"] == 1 or row.get("heads", False) or not (bounds := _bounds(row, workers, *known)):
            continue
        limit = min(bounds.values())
        if cell is not None and flushes(cell.options) and DIRECTIONS[str(row["operation"])] == "write":
            alone = _bounds(row, 1, *known)
            links = min(alone["client links"], alone["server links"])
            limit = min(limit, workers / (1 / links + 1 / alone["disks"]))
        found[str(row["cell_id"])] = limit
    return found


def limit_curves(
    samples: pd.DataFrame, cluster: Cluster | None, hosts: Mapping[str, Limits], campaign: Campaign | None = None
) -> pd.DataFrame:
    """The bound of each curve at every number of workers between its ends, where there is one: columns `CURVE`."""
    specified = _cells(campaign, cluster)
    records: list[tuple[object, ...]] = []
    for names, rows in samples.groupby(GROUP, observed=True, sort=False):
        # where cells of a curve differ in their files per worker, the most hold for all of it
        row = rows.sort_values("files_per_worker", ascending=False, kind="stable").iloc[0].to_dict()
        cell_id = str(row["cell_id"])
        least, most = int(rows["workers"].min()), int(rows["workers"].max())
        points = np.linspace(least, most, most - least + 1)
        if most - least >= MOST_COUNTS:
            points = np.geomspace(least, most, MOST_COUNTS)
        for workers in sorted({round(count) for count in points}):
            bounds = _bounds(row, workers, cluster, hosts.get(cell_id), specified.get(cell_id))
            if bounds:
                lowest = min(bounds.values())
                parts = _together([str(part) for part, bound in bounds.items() if bound <= lowest * (1 + 1e-9)])
                records.append((*names, float(row["scale"]), workers, lowest, parts, hosts[cell_id].source))
    return pd.DataFrame.from_records(records, columns=CURVE)


def _cells(campaign: Campaign | None, cluster: Cluster | None) -> dict[str, Cell]:
    return {} if campaign is None else {cell.id: cell for cell, *_ in expand(campaign, cluster)}


def _bounds(
    row: Mapping[Any, Any], workers: int, cluster: Cluster | None, host: Limits | None, cell: Cell | None
) -> dict[Part, float]:
    """The bounds of a cell at some number of workers; nothing where they are not known."""
    backing = None if cluster is None else cluster.backings.get(str(row["backing"]))
    operation = str(row["operation"])
    options = {} if cell is None else dict(cell.layout.options)
    known = str(row["access"]) in CLIENT_SIDE and operation in DIRECTIONS and row["type"] != "other"
    # of a tiered volume it is not known which bricks files lie on, and of a cached disk what its cache takes
    elsewhere = options.get("features.shard", "off").lower() in _ON or row.get("hot") or row.get("kind") in CACHED_KINDS
    if cluster is None or host is None or backing is None or elsewhere or not known:
        return {}
    one_at_a_time = DIRECTIONS[operation] == "read" or (cell is not None and flushes(cell.options))
    return volume_bounds(
        str(row["type"]),
        str(row["geometry"]),
        operation,
        host,
        servers=len(cluster.servers),
        clients=(cell.clients if cell is not None else None) or len(cluster.clients),
        bricks_per_server=len(backing.bricks),
        workers=workers,
        files_at_once=1 if one_at_a_time else int(row["files_per_worker"]),
        all_bricks=reads_all_bricks(str(row["type"]), options, str(row.get("gluster_version", ""))),
    )


_ON = ("on", "yes", "true", "enable", "1", "y", "t")


def flushes(options: Sequence[str]) -> bool:
    """Whether options of smallfile make it flush each file before it goes on to the next."""
    words = " ".join(options).replace("=", " ").split()
    return any(name == "--fsync" and value.lower() in _ON for name, value in itertools.pairwise(words))


def reads_all_bricks(type_: str, options: Mapping[str, str], releases: str) -> bool:
    """Whether reads of one file reach all bricks of its subvolume, by a volume's options and the servers' GlusterFS."""
    if type_ == "replicate":
        return options.get("cluster.read-hash-mode", "1") in ("3", "4", "5")
    if type_ != "disperse":
        return False
    majors = [int(found) for found in re.findall(r"(?:^|, )(\d+)", releases)]
    default = "gfid-hash" if majors and min(majors) >= GFID_HASH_SINCE else "round-robin"
    return options.get("disperse.read-policy", default) != "gfid-hash"


def with_limits(summary: pd.DataFrame, bounds: pd.DataFrame) -> pd.DataFrame:
    """A summary of throughput or files per second with the bound of each cell, from `pool_limits`.

    ``limit`` is in the unit of ``mean``; shares are of it. NaN and empty where no bound is known. ``above_limit`` names
    the views (`glusterlab.analysis.select.VIEWS`) in which a rate is above it by more than its interval: no hardware
    did that, so that view counts too much, caches took what disks did not, or the bound is too low.
    """
    binding = bounds[bounds["binds"].astype(bool)].groupby("cell_id", sort=False)
    least = binding.agg({"bound_bytes_per_s": "first", "part": _together, "source": "first"})
    found = least.reindex(summary["cell_id"].astype(str)).set_axis(summary.index)
    limit = found["bound_bytes_per_s"].astype(float)
    quantity = summary["quantity"].astype(str)
    limit = limit.where(~quantity.str.startswith("files_per_s"), limit / summary["file_size_bytes"].astype(float))
    limit = limit.where(~quantity.str.endswith("_per_disk"), limit / summary["disks"].astype(float))
    above = np.array([""] * len(summary), dtype=object)
    for view, name in zip(VIEWS, ("", "whole_"), strict=True):
        if f"{name}mean" in summary:
            # of too few samples for an interval the mean itself
            lowest = summary[f"{name}low"].astype(float).fillna(summary[f"{name}mean"].astype(float))
            above[(lowest > limit).to_numpy()] += f"; {view}"
    return summary.assign(
        limit=limit,
        limit_part=found["part"].astype(object).fillna(""),
        limit_source=found["source"].astype(object).fillna(""),
        share=summary["mean"].astype(float) / limit,
        share_low=summary["low"].astype(float) / limit,
        share_high=summary["high"].astype(float) / limit,
        above_limit=[views.removeprefix("; ") for views in above],
    )


def _together(parts: Collection[str]) -> str:
    """Parts that bind alike; the links of both sides are one thing."""
    links = [part for part in parts if part.endswith("links")]
    rest = [part for part in parts if not part.endswith("links")]
    return " and ".join([*(["links"] if len(links) > 1 else links), *rest])
