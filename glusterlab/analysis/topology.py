"""Tables of what a cluster is made of, from cluster.yaml: its hosts with disks and links, and its kinds of server."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

if TYPE_CHECKING:
    from glusterlab.spec.cluster import Backing, Cluster, ServerModel

HOST_COLUMNS = ["role", "host", "model", "parts", "disks", "bricks", "link_bytes_per_s"]
"""Columns of `hosts_table`.

``role`` is server or client; ``model`` and ``parts`` say what the host is, or on a testbed stands for, and are empty
where cluster.yaml does not say; ``disks`` counts data disks of a server, 0 of a client; ``bricks`` says for each
backing how many bricks of how many disks one server has; ``link_bytes_per_s`` is the rate of its link each way, of the
real hardware, also on a testbed.
"""

MODEL_COLUMNS = [
    "name",
    "model",
    "disks",
    "disk_model",
    "disk_capacity_bytes",
    "raw_capacity_bytes",
    "cpu_model",
    "memory",
    "network",
    "raid_controller",
    "nvme",
]
"""Columns of `server_models_table`: a row per kind of server; empty or NaN where something is not known."""


def hosts_table(cluster: Cluster | None, server_model: str = "") -> pd.DataFrame:
    """The hosts of a cluster: servers, then clients.

    Parameters
    ----------
    cluster : Cluster or None
        None where an import does not know it.
    server_model : str
        Entry of ``server_models``: servers as this kind, with the bricks of its backings only. Empty: as
        ``hardware`` has them, with the bricks of all backings.

    Returns
    -------
    pandas.DataFrame
        Columns `HOST_COLUMNS`; no rows when the cluster has no such entry, or is not known.
    """
    kind = None if cluster is None else cluster.server_models.get(server_model)
    if cluster is None or (server_model and kind is None):
        return pd.DataFrame(columns=HOST_COLUMNS)
    hardware = cluster.hardware
    model, parts, disks = hardware.server_model or "", _hardware_parts(cluster), hardware.disks_per_server
    if kind is not None:
        model, parts, disks = kind.model, _model_parts(kind), kind.disks
    backings = {
        name: backing
        for name, backing in cluster.backings.items()
        if not server_model or backing.server_model == server_model
    }
    bricks = "; ".join(f"{name}: {bricks_words(backing)}" for name, backing in backings.items())
    servers = [
        ("server", host.name, model, parts, disks, bricks, float(hardware.server_link)) for host in cluster.servers
    ]
    what = hardware.client_model or ""
    memory = hardware.memory_per_client or ""
    clients = [("client", host.name, what, memory, 0, "", float(hardware.client_link)) for host in cluster.clients]
    return pd.DataFrame(servers + clients, columns=HOST_COLUMNS)


def bricks_words(backing: Backing) -> str:
    """Bricks of one server.

    Examples
    --------
    >>> from glusterlab.spec.cluster import Backing
    >>> bricks_words(Backing(bricks=("/b/1", "/b/2"), kind="jbod"))
    '2 bricks of 1 disk'
    >>> bricks_words(Backing(bricks=("/b/a",), kind="raid6", disks_per_brick=12))
    '1 brick of 12 disks'
    """
    count, disks = len(backing.bricks), backing.disks_per_brick
    return f"{count} brick{'s' * (count > 1)} of {disks} disk{'s' * (disks > 1)}"


def _model_parts(kind: ServerModel) -> str:
    disks = f"{kind.disks} x {kind.disk_model}" if kind.disk_model else ""
    return "; ".join(part for part in (kind.cpu_model, kind.memory, disks, kind.raid_controller, kind.network) if part)


def _hardware_parts(cluster: Cluster) -> str:
    hardware = cluster.hardware
    disks = f"{hardware.disks_per_server} x {hardware.disk_model}" if hardware.disk_model else ""
    parts = (hardware.cpu_model, hardware.memory_per_server, disks, hardware.raid_controller)
    return "; ".join(part for part in parts if part)


def server_models_table(cluster: Cluster | None) -> pd.DataFrame:
    """The kinds of server of a cluster, as ``server_models`` has them, else one row from ``hardware``.

    Returns
    -------
    pandas.DataFrame
        Columns `MODEL_COLUMNS`; no rows when the cluster is not known.
    """
    if cluster is None:
        return pd.DataFrame(columns=MODEL_COLUMNS)
    hardware = cluster.hardware
    rows = [
        {
            "name": name,
            "model": kind.model,
            "disks": kind.disks,
            "disk_model": kind.disk_model or "",
            "disk_capacity_bytes": float(kind.disk_capacity or "nan"),
            "raw_capacity_bytes": kind.disks * float(kind.disk_capacity or "nan"),
            "cpu_model": kind.cpu_model or "",
            "memory": kind.memory or "",
            "network": kind.network or "",
            "raid_controller": kind.raid_controller or "",
            "nvme": kind.nvme or "",
        }
        for name, kind in cluster.server_models.items()
    ]
    if not rows:
        rows = [
            {
                "name": "server",
                "model": hardware.server_model or "",
                "disks": hardware.disks_per_server,
                "disk_model": hardware.disk_model or "",
                "disk_capacity_bytes": float("nan"),
                "raw_capacity_bytes": float("nan"),
                "cpu_model": hardware.cpu_model or "",
                "memory": hardware.memory_per_server or "",
                "network": link_words(float(hardware.server_link)),
                "raid_controller": hardware.raid_controller or "",
                "nvme": "",
            }
        ]
    return pd.DataFrame(rows, columns=MODEL_COLUMNS)


def link_words(rate: float) -> str:
    """A link's rate as networks count it.

    Parameters
    ----------
    rate : float
        Bytes per second.

    Examples
    --------
    >>> link_words(2.5e9), link_words(2.5e9 / 60), link_words(12_500)
    ('20 Gbit/s', '333.3 Mbit/s', '0.1 Mbit/s')
    """
    bits = rate * 8
    return f"{bits / 1e9:.4g} Gbit/s" if bits >= 1e9 else f"{bits / 1e6:.4g} Mbit/s"
