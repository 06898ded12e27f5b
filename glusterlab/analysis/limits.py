"""Physical bounds of a volume: what links and disks allow, with the traffic of replicas and redundancy.

As the performance brief of Red Hat Gluster Storage 3.1 derives its 800, 600 and 400 MB/s per server from a link of
1,200 MB/s (section 3.1.2.1.1): a byte of a file crosses the network as often as its layout stores it.

- A native client makes the copies and fragments itself. A write on *r* replicas leaves it *r* times, on *k* + *m*
  bricks (*k* + *m*) / *k* times; the servers take in as much. Servers send nothing to each other, and a client is no
  server, so nothing stays local.
- A read fetches each byte once: from one replica, or as *k* fragments from *k* bricks. The brief counts the
  redundancy in reads, too (800 MB/s). GlusterFS does not fetch it (``disperse.read-policy``: reads "happen only on
  'k' number of bricks"). The telemetry of raw/first-light says the same: per byte of a file 1.02 bytes on the wire in
  reads of 4+2 and 1.53 in writes, 1.00 and 2.01 of two replicas.
- A file lies in one subvolume, and is read from the same bricks (``gfid-hash``, the default since release 5; the round
  robin of older ones reaches more disks with few files). So few files reach few bricks, and few workers use few
  clients' links.

A bound is what no volume of this shape can pass on this hardware; nothing in it is fitted to results. It knows no
latency, no CPU, no seeks and no operations per second, so small files stay far below it. Caches may pass the bound of
the disks for as long as they take what the disks have not yet.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, cast

import pandas as pd

from glusterlab.analysis.saturation import Limits
from glusterlab.analysis.series import DIRECTIONS

if TYPE_CHECKING:
    from glusterlab.spec.cell import Layout, LayoutType
    from glusterlab.spec.cluster import Cluster

Part = Literal["client links", "server links", "disks"]

CLIENT_SIDE = ("native", "gfapi")
"""Accesses whose client itself talks to all bricks: only their traffic is known here."""

POOL_LIMITS = ["cell_id", "part", "bound_bytes_per_s", "full_size_bound_bytes_per_s", "binds", "source"]
"""Columns that `pool_limits` adds to those that describe a cell."""

_CELL = ["type", "geometry", "backing", "access", "operation", "workers", "files_per_worker", "scale"]

LIMIT = ["limit", "limit_part", "limit_source", "share", "share_low", "share_high"]
"""Columns that `with_limits` adds."""


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
    files_per_worker: int = 1,
) -> dict[Part, float]:
    """What each part of a pool allows one volume, bytes of files per second, all workers together.

    Parameters
    ----------
    type_, geometry : str
        Of the layout, such as ``disperse`` and ``12x(4+2)``.
    operation : str
        A key of `DIRECTIONS`.
    host : Limits
        Of one server and one client, bytes/s; the unit of the result is its unit.
    servers, clients : int
        Of the pool.
    bricks_per_server : int
        That share ``host.server_disks_write`` and ``host.server_disks_read``.
    workers : int, optional
        Over all clients; by default as many as it takes.
    files_per_worker : int

    Returns
    -------
    dict of str to float
        The least of them is the bound. Few files reach the bricks of few subvolumes; where they lie is not known, so
        they are taken to lie as well as they can.

    Raises
    ------
    ValueError
        When the geometry is none, or the operation moves no files.

    Examples
    --------
    Six servers and six clients with links of 1,200 MB/s and disks that are fast enough, per server:

    >>> fast = Limits(1200.0, 1200.0, 1e6, 1e6)
    >>> pool = {"servers": 6, "clients": 6, "bricks_per_server": 12}
    >>> for type_, geometry in (("disperse", "6x(8+4)"), ("replicate", "36x2"), ("replicate", "24x3")):
    ...     bounds = volume_bounds(type_, geometry, "write", fast, **pool)
    ...     print(geometry, bounds["server links"] / 6)
    6x(8+4) 800.0
    36x2 600.0
    24x3 400.0
    """
    layout = _layout(type_, geometry)
    direction = DIRECTIONS.get(operation)
    if direction is None:
        raise ValueError(f"expected an operation among {', '.join(DIRECTIONS)}, found {operation!r}")
    files = layout.bricks if workers is None else workers * files_per_worker
    used_clients = clients if workers is None else min(workers, clients)
    if direction == "write":
        copies = layout.stored_per_byte
        bricks = min(files, layout.subvolumes) * layout.subvolume_size
        brick = host.server_disks_write / bricks_per_server
    else:
        copies = 1.0
        bricks = min(files * layout.data, layout.bricks)
        brick = host.server_disks_read / bricks_per_server
    return {
        "client links": used_clients * host.client_link / copies,
        "server links": min(servers, bricks) * host.server_link / copies,
        "disks": bricks * brick / copies,
    }


def _layout(type_: str, geometry: str) -> Layout:
    from glusterlab.spec.cell import Layout, parse_geometry

    kind = cast("LayoutType", type_)
    return Layout(name="volume", type=kind, backing="any", **cast("Any", parse_geometry(kind, geometry)))


def pool_limits(cells: pd.DataFrame, cluster: Cluster | None, hosts: Mapping[str, Limits]) -> pd.DataFrame:
    """The bounds of each cell, part by part.

    Parameters
    ----------
    cells : pandas.DataFrame
        Samples or a summary of them: ``cell_id`` and the columns that describe a cell.
    cluster : Cluster or None
        As it was measured.
    hosts : mapping of str to Limits
        By ``cell_id``, on the scale that was measured: `glusterlab.section.Section.limits`.

    Returns
    -------
    pandas.DataFrame
        A row per cell and part: what describes the cell; ``part`` (client links, server links or disks);
        ``bound_bytes_per_s``, of all workers together on the scale that was measured, and
        ``full_size_bound_bytes_per_s``, that times the scale; ``binds`` (bool, True for the least of a cell's bounds,
        and for any that equals it); ``source`` (str, the baseline that measured the hardware, empty where the cluster
        file states it). No rows of cells whose hardware, layout, access or operation is not known here.
    """
    records: list[dict[str, object]] = []
    for row in cells.drop_duplicates("cell_id").to_dict("records"):
        host = hosts.get(str(row["cell_id"]))
        backing = None if cluster is None else cluster.backings.get(str(row["backing"]))
        known = str(row["access"]) in CLIENT_SIDE and str(row["operation"]) in DIRECTIONS and row["type"] != "other"
        if cluster is None or host is None or backing is None or not known:
            continue
        bounds = volume_bounds(
            str(row["type"]),
            str(row["geometry"]),
            str(row["operation"]),
            host,
            servers=len(cluster.servers),
            clients=len(cluster.clients),
            bricks_per_server=len(backing.bricks),
            workers=int(row["workers"]),
            files_per_worker=int(row["files_per_worker"]),
        )
        least = min(bounds.values()) * (1 + 1e-9)
        records += [
            {name: row[name] for name in _CELL}
            | {
                "cell_id": str(row["cell_id"]),
                "part": part,
                "bound_bytes_per_s": bound,
                "full_size_bound_bytes_per_s": bound * float(row["scale"]),
                "binds": bound <= least,
                "source": host.source,
            }
            for part, bound in bounds.items()
        ]
    return pd.DataFrame.from_records(records, columns=[*_CELL, *POOL_LIMITS])


def with_limits(summary: pd.DataFrame, bounds: pd.DataFrame) -> pd.DataFrame:
    """A summary with the bound of each cell, the part that binds, and the measured share of it.

    Parameters
    ----------
    summary : pandas.DataFrame
        From `summarise`, `per_disk` or `efficiency`, of throughput or of files per second.
    bounds : pandas.DataFrame
        From `pool_limits`.

    Returns
    -------
    pandas.DataFrame
        With the columns `LIMIT`: ``limit`` in the unit of the summary's ``mean``, ``limit_part``, ``limit_source``
        (str, empty where there is no bound), and the mean and the ends of its interval as shares of the limit
        (1 = at the bound). NaN where no bound is known.
    """
    binding: dict[str, dict[str, Any]] = {}
    for row in bounds[bounds["binds"].astype(bool)].to_dict("records"):
        cell, part = str(row["cell_id"]), str(row["part"])
        if cell in binding:
            part = _both(binding[cell]["part"], part)
        binding[cell] = {"bound": float(row["bound_bytes_per_s"]), "part": part, "source": str(row["source"])}
    rows = [binding.get(str(cell), {}) for cell in summary["cell_id"]]
    limit = pd.Series([row.get("bound", math.nan) for row in rows], summary.index, dtype=float)
    quantity = summary["quantity"].astype(str)
    limit = limit.where(~quantity.str.startswith("files_per_s"), limit / summary["file_size_bytes"].astype(float))
    limit = limit.where(~quantity.str.endswith("_per_disk"), limit / summary["disks"].astype(float))
    return summary.assign(
        limit=limit,
        limit_part=[row.get("part", "") for row in rows],
        limit_source=[row.get("source", "") for row in rows],
        share=summary["mean"].astype(float) / limit,
        share_low=summary["low"].astype(float) / limit,
        share_high=summary["high"].astype(float) / limit,
    )


def _both(one: str, other: str) -> str:
    """Two parts that bind alike: the links of both sides are one thing."""
    return "links" if one.endswith("links") and other.endswith("links") else f"{one} and {other}"
