"""Tables of what a cluster is made of and what a campaign writes on it, from their specifications alone."""

import math
from collections.abc import Iterable
from itertools import product

import pandas as pd

from glusterlab.analysis.select import same_size
from glusterlab.spec.campaign import Campaign
from glusterlab.spec.cluster import Backing, Cluster, ServerModel
from glusterlab.units import format_size

HOST_COLUMNS = ["role", "host", "model", "parts", "disks", "bricks", "link_bytes_per_s"]
"""Columns of `hosts_table`: on a testbed model, parts and link are what the host stands for; bricks, by backing."""

_MODEL_TEXTS = ("cpu_model", "memory", "network", "raid_controller", "nvme")
MODEL_COLUMNS = ["name", "model", "disks", "disk_model", "disk_capacity_bytes", "raw_capacity_bytes", *_MODEL_TEXTS]
"""Columns of `server_models_table`: a row per kind of server; empty or NaN where something is not known."""


def hosts_table(cluster: Cluster | None, server_model: str = "") -> pd.DataFrame:
    """The hosts of a cluster, servers first, as an entry of ``server_models``; no rows where not known."""
    kind = None if cluster is None else cluster.server_models.get(server_model)
    if cluster is None or (server_model and kind is None):
        return pd.DataFrame(columns=HOST_COLUMNS)
    hardware = cluster.hardware
    model, disks = hardware.server_model or "", hardware.disks_per_server
    parts = _parts(disks, hardware.disk_model, hardware.cpu_model, hardware.memory_per_server, hardware.raid_controller)
    if kind is not None:
        model, disks = kind.model, kind.disks
        parts = _parts(disks, kind.disk_model, kind.cpu_model, kind.memory, kind.raid_controller, kind.network)
    bricks = "; ".join(
        f"{name}: {_bricks_words(backing)}"
        for name, backing in cluster.backings.items()
        if not server_model or backing.server_model == server_model
    )
    server = (model, parts, disks, bricks, float(hardware.server_link))
    client = (hardware.client_model or "", hardware.memory_per_client or "", 0, "", float(hardware.client_link))
    rows = [("server", host.name, *server) for host in cluster.servers]
    rows += [("client", host.name, *client) for host in cluster.clients]
    return pd.DataFrame(rows, columns=HOST_COLUMNS)


def _bricks_words(backing: Backing) -> str:
    count, disks = len(backing.bricks), backing.disks_per_brick
    return f"{count} brick{'s' * (count > 1)} of {disks} disk{'s' * (disks > 1)}"


def _parts(disks: int, model: str | None, cpu: str | None, memory: str | None, *others: str | None) -> str:
    return "; ".join(part for part in (cpu, memory, f"{disks} x {model}" if model else "", *others) if part)


def server_models_table(cluster: Cluster | None) -> pd.DataFrame:
    """The kinds of server of a cluster, else one row from its ``hardware``: columns `MODEL_COLUMNS`."""
    if cluster is None:
        return pd.DataFrame(columns=MODEL_COLUMNS)
    hardware, shared = cluster.hardware, ("disk_model", "cpu_model", "raid_controller")
    # a cluster of one kind of server that has no name
    plain = ServerModel.model_construct(
        model=hardware.server_model or "",
        disks=hardware.disks_per_server,
        memory=hardware.memory_per_server,
        network=link_words(float(hardware.server_link)),
        **{name: getattr(hardware, name) for name in shared},
    )
    rows = [
        {"name": name, "model": kind.model, "disks": kind.disks, "disk_model": kind.disk_model or ""}
        | {"disk_capacity_bytes": float(kind.disk_capacity or "nan")}
        | {"raw_capacity_bytes": kind.disks * float(kind.disk_capacity or "nan")}
        | {text: getattr(kind, text) or "" for text in _MODEL_TEXTS}
        for name, kind in (cluster.server_models or {"server": plain}).items()
    ]
    return pd.DataFrame(rows, columns=MODEL_COLUMNS)


def link_words(rate: float) -> str:
    """A link's rate (bytes per second) as networks count it: ``20 Gbit/s``."""
    bits = rate * 8
    return f"{bits / 1e9:.4g} Gbit/s" if bits >= 1e9 else f"{bits / 1e6:.4g} Mbit/s"


WRITTEN = ["tool", "nominal_file_size_bytes", "file_size_bytes", "record_size_bytes", "scale", "length"]
"""What tells two ways to write a file size apart."""

FILE_SIZES_TABLE = [
    *("nominal_file_size_bytes", "label", "use_case", "on_line"),
    *("tool", "file_size_bytes", "record_size_bytes", "scale", "length", "workers", "files_per_worker"),
]


def _range(values: Iterable[int]) -> str:
    """Whole numbers in words: ``1 to 48``."""
    found = sorted(set(values))
    return "" if not found else str(found[0]) if len(found) == 1 else f"{found[0]} to {found[-1]}"


def written_sizes(campaign: Campaign, cluster: Cluster | None) -> pd.DataFrame:
    """What a campaign's workloads write: `WRITTEN`, and workers and files per worker in words (``1 to 96``).

    Records are NaN where left to the tool; ``length`` is by how much files are longer than the scale asks.
    """
    scales = {} if cluster is None else {name: model.scale for name, model in cluster.scale_models.items()}
    workers: dict[tuple[object, ...], set[int]] = {}
    files: dict[tuple[object, ...], set[int]] = {}
    for spec in campaign.workloads:
        sizes = zip(spec.file_size, spec.stands_for or spec.file_size, strict=True)
        for tool, (size, nominal), record, model in product(
            spec.tool, sizes, spec.record_size or (None,), spec.model or (None,)
        ):
            scale = 1.0 if model is None else float(scales.get(model, math.nan))
            key = (tool, nominal, size, record, scale, spec.length if size != nominal else 1.0)
            workers.setdefault(key, set()).update(spec.workers or campaign.workers)
            files.setdefault(key, set()).update(spec.files_per_worker or (1,))
    rows = [
        dict(zip(WRITTEN, key, strict=True)) | {"workers": _range(workers[key]), "files_per_worker": _range(files[key])}
        for key in workers
    ]
    table = pd.DataFrame.from_records(rows, columns=[*WRITTEN, "workers", "files_per_worker"])
    return table.astype({"record_size_bytes": float, "scale": float, "length": float})


def file_sizes_table(published: pd.DataFrame, written: pd.DataFrame) -> pd.DataFrame:
    """The file sizes of a study beside what a campaign writes for them, a row for each way, or for none."""
    rows: list[dict[str, object]] = []
    known = pd.Series(data=False, index=written.index)
    for size in published.to_dict("records"):
        named = {name: size[name] for name in ("nominal_file_size_bytes", "label", "use_case", "on_line")}
        same = same_size(written["nominal_file_size_bytes"], float(size["nominal_file_size_bytes"]))
        known |= same
        rows += [
            named | {name: row[name] for name in FILE_SIZES_TABLE[4:]} for row in written[same].to_dict("records")
        ] or [named | {"tool": "", "workers": "", "files_per_worker": ""}]
    for row in written[~known].sort_values("nominal_file_size_bytes").to_dict("records"):
        label = format_size(int(row["nominal_file_size_bytes"]))
        rows.append({str(name): row[name] for name in row} | {"label": label, "use_case": "", "on_line": False})
    return pd.DataFrame.from_records(rows, columns=FILE_SIZES_TABLE)
