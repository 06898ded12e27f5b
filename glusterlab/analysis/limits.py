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
- A file lies in one subvolume, and is read from the same bricks (``gfid-hash``, the default from release 5 on at the
  latest). Where ``disperse.read-policy`` is ``round-robin``, as it was by default before, or replicas are chosen by
  their load (``cluster.read-hash-mode`` 3 to 5), reads of one file reach all bricks of its subvolume.
- So few files reach few bricks, and few workers use few clients' links. A worker has one file at a time; only what it
  creates without a flush may wait for the disks while it goes on with the next.
- A server gives no more than the rate of its bricks that are reached, and no more than all of its bricks at once.

A bound is what no volume of this shape can pass on this hardware; nothing in it is fitted to results. It knows no
latency, no CPU, no seeks and no operations per second, so small files stay far below it. Caches may pass the bound of
the disks for as long as they take what the disks have not yet.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd

from glusterlab.analysis.efficiency import GROUP
from glusterlab.analysis.saturation import Limits
from glusterlab.analysis.series import DIRECTIONS

if TYPE_CHECKING:
    from glusterlab.spec.campaign import Campaign
    from glusterlab.spec.cell import Cell
    from glusterlab.spec.cluster import Cluster

Part = Literal["client links", "server links", "disks"]

CLIENT_SIDE = ("native", "gfapi")
"""Accesses whose client itself talks to all bricks: only their traffic is known here."""

POOL_LIMITS = ["cell_id", "part", "bound_bytes_per_s", "binds", "source"]
"""Columns that `pool_limits` adds to those that describe a cell."""

CURVE = [*GROUP, "scale", "workers", "limit", "limit_part", "limit_source"]
"""Columns of `limit_curves`."""

GFID_HASH_SINCE = 5
"""First release that surely reads a file of a dispersed volume from the same bricks, where no option says otherwise."""

MOST_COUNTS = 2000
"""A curve has every whole number of workers up to so many; beyond they are spread evenly on a logarithmic axis."""

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
    files_at_once: int = 1,
    all_bricks: bool = False,
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
        That share ``host.server_disks_write`` and ``host.server_disks_read``, where the rate of one brick is not known.
    workers : int, optional
        Over all clients; by default as many as it takes.
    files_at_once : int
        Files of one worker that may be on their way to or from disks at a time.
    all_bricks : bool
        Reads of one file reach all bricks of its subvolume, and not one replica or *k* bricks alone.

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
    from glusterlab.analysis.capacity import layout_of

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
    """The bounds of each cell, part by part.

    Parameters
    ----------
    cells : pandas.DataFrame
        Samples or a summary of them: ``cell_id`` and the columns that describe a cell.
    cluster : Cluster or None
        As it was measured.
    hosts : mapping of str to Limits
        By ``cell_id``, on the scale that was measured: `glusterlab.section.Section.limits`.
    campaign : Campaign, optional
        For the options of volumes and of tools. What it does not tell is taken so that the bound stays one.

    Returns
    -------
    pandas.DataFrame
        A row per cell and part: what describes the cell; ``part`` (client links, server links or disks);
        ``bound_bytes_per_s``, of all workers together on the scale that was measured; ``binds`` (bool, True for the
        least of a cell's bounds, and for any that equals it); ``source`` (str, the baseline that measured the hardware,
        empty where the cluster file states it). No rows of cells whose hardware, layout, access or operation is not
        known here, and of volumes that shard their files.
    """
    asked = _asked(campaign, cluster)
    records: list[dict[str, object]] = []
    for row in cells.drop_duplicates("cell_id").to_dict("records"):
        cell_id = str(row["cell_id"])
        bounds = _bounds(row, int(row["workers"]), cluster, hosts.get(cell_id), asked.get(cell_id))
        least = min(bounds.values(), default=math.nan) * (1 + 1e-9)
        records += [
            {name: row[name] for name in _CELL}
            | {
                "cell_id": cell_id,
                "part": part,
                "bound_bytes_per_s": bound,
                "binds": bound <= least,
                "source": hosts[cell_id].source,
            }
            for part, bound in bounds.items()
        ]
    return pd.DataFrame.from_records(records, columns=[*_CELL, *POOL_LIMITS])


def limit_curves(
    samples: pd.DataFrame, cluster: Cluster | None, hosts: Mapping[str, Limits], campaign: Campaign | None = None
) -> pd.DataFrame:
    """The bound of each curve at every number of workers between its ends, for a figure: it has steps and bends there.

    Parameters
    ----------
    samples : pandas.DataFrame
        Samples or a summary of them, with ``series``.
    cluster, hosts, campaign
        As `pool_limits` takes them.

    Returns
    -------
    pandas.DataFrame
        Columns `CURVE`: the binding limit in bytes per second of all workers together, on the scale that was measured.
        No rows of curves without one.
    """
    asked = _asked(campaign, cluster)
    records: list[dict[str, object]] = []
    for names, rows in samples.groupby(GROUP, observed=True, sort=False):
        # where cells of a curve differ in their files per worker, the most hold for all of it
        row = rows.sort_values("files_per_worker", ascending=False, kind="stable").iloc[0].to_dict()
        cell_id = str(row["cell_id"])
        for workers in _counts(int(rows["workers"].min()), int(rows["workers"].max())):
            bounds = _bounds(row, workers, cluster, hosts.get(cell_id), asked.get(cell_id))
            if bounds:
                least = min(bounds.values())
                parts = [str(part) for part, bound in bounds.items() if bound <= least * (1 + 1e-9)]
                found = (float(row["scale"]), workers, least, _together(parts), hosts[cell_id].source)
                records.append(dict(zip(CURVE, (*names, *found), strict=True)))
    return pd.DataFrame.from_records(records, columns=CURVE)


def _counts(least: int, most: int) -> list[int]:
    """Numbers of workers from `least` to `most`.

    Examples
    --------
    >>> _counts(1, 4), len(_counts(1, 10**6)) <= MOST_COUNTS, _counts(1, 10**6)[-1]
    ([1, 2, 3, 4], True, 1000000)
    """
    if most - least < MOST_COUNTS:
        return list(range(least, most + 1))
    return sorted({round(count) for count in np.geomspace(least, most, MOST_COUNTS)})


def _asked(campaign: Campaign | None, cluster: Cluster | None) -> dict[str, Cell]:
    """The cells of a campaign by their ids."""
    from glusterlab.spec.matrix import expand

    return {} if campaign is None else {cell.id: cell for cell, _, _ in expand(campaign, cluster)}


def _bounds(
    row: Mapping[Any, Any], workers: int, cluster: Cluster | None, host: Limits | None, asked: Cell | None
) -> dict[Part, float]:
    """The bounds of a cell at some number of workers; nothing where they are not known."""
    backing = None if cluster is None else cluster.backings.get(str(row["backing"]))
    operation = str(row["operation"])
    options = {} if asked is None else dict(asked.layout.options)
    known = str(row["access"]) in CLIENT_SIDE and operation in DIRECTIONS and row["type"] != "other"
    sharded = options.get("features.shard", "off").lower() in _ON
    if cluster is None or host is None or backing is None or sharded or not known:
        return {}
    one_at_a_time = DIRECTIONS[operation] == "read" or (asked is not None and flushes(asked.options))
    return volume_bounds(
        str(row["type"]),
        str(row["geometry"]),
        operation,
        host,
        servers=len(cluster.servers),
        clients=len(cluster.clients),
        bricks_per_server=len(backing.bricks),
        workers=workers,
        files_at_once=1 if one_at_a_time else int(row["files_per_worker"]),
        all_bricks=reads_all_bricks(str(row["type"]), options, str(row.get("gluster_version", ""))),
    )


_ON = ("on", "yes", "true", "enable", "1", "y", "t")


def flushes(options: Sequence[str]) -> bool:
    """Whether options of smallfile make it flush each file before it goes on to the next.

    Examples
    --------
    >>> flushes(("--fsync", "Y")), flushes(("--fsync=n",)), flushes(())
    (True, False, False)
    """
    words = " ".join(options).replace("=", " ").split()
    return any(name == "--fsync" and value.lower() in _ON for name, value in itertools.pairwise(words))


def reads_all_bricks(type_: str, options: Mapping[str, str], releases: str) -> bool:
    """Whether reads of one file reach all bricks of its subvolume.

    Parameters
    ----------
    type_ : str
    options : mapping of str to str
        Of the volume.
    releases : str
        GlusterFS of the servers, several separated by ``, ``; empty where it is not known.

    Examples
    --------
    >>> reads_all_bricks("disperse", {}, "10.3"), reads_all_bricks("disperse", {}, "3.8.4")
    (False, True)
    >>> reads_all_bricks("disperse", {"disperse.read-policy": "round-robin"}, "10.3")
    True
    """
    if type_ == "replicate":
        return options.get("cluster.read-hash-mode", "1") in ("3", "4", "5")
    if type_ != "disperse":
        return False
    majors = [int(found) for found in re.findall(r"(?:^|, )(\d+)", releases)]
    default = "gfid-hash" if majors and min(majors) >= GFID_HASH_SINCE else "round-robin"
    return options.get("disperse.read-policy", default) != "gfid-hash"


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
    for cell, found in bounds[bounds["binds"].astype(bool)].groupby("cell_id", sort=False):
        binding[str(cell)] = {
            "bound": float(found["bound_bytes_per_s"].iloc[0]),
            "part": _together([str(part) for part in found["part"]]),
            "source": str(found["source"].iloc[0]),
        }
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


def _together(parts: list[str]) -> str:
    """Parts that bind alike: the links of both sides are one thing.

    Examples
    --------
    >>> _together(["disks"]), _together(["client links", "server links"]), _together(["client links", "disks"])
    ('disks', 'links', 'client links and disks')
    """
    links = [part for part in parts if part.endswith("links")]
    rest = [part for part in parts if not part.endswith("links")]
    return " and ".join([*(["links"] if len(links) > 1 else links), *rest])
