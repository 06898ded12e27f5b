"""What the suite has on the hosts beside volumes: its processes, which are ended, and the copies of tools."""

from __future__ import annotations

import io
import os
import tarfile
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from glusterlab.errors import WorkloadError
from glusterlab.hosts import lock, script
from glusterlab.shell import quote

if TYPE_CHECKING:
    from glusterlab.hosts.pool import Pool
    from glusterlab.spec.cluster import Cluster

_MAX_CHECKOUT_BYTES = 64 << 20
_SKIPPED = frozenset({".git", "__pycache__", ".github"})


def end_processes(pool: Pool, cluster: Cluster, *, spare_sar: bool = False, deadline_s: float = 8.0) -> list[str]:
    """End every process of the suite on all hosts; returns those that are not clear, or another run's."""
    owned = f"{lock.owned(pool)} || exit 1"
    line = script.call("gl_kill", "sadc" if spare_sar else "", *cluster.work_places)
    return sorted(pool.run_everywhere(script.command([owned, line], deadline_s=deadline_s)).failed)


def send_checkout(pool: Pool, cluster: Cluster, tool: str, checkout: Path) -> None:
    """Copy the controller's checkout of a tool to all clients."""
    target = f"{cluster.work_dir}/{tool}"
    data = _pack(checkout)
    remove = script.call("gl_remove", cluster.work_dir, PurePosixPath(target).name)
    pool.run({client.name: script.command([remove]) for client in cluster.clients}).or_raise()
    line = f"mkdir -- {quote(target)} && tar -xzf - -C {quote(target)}"
    pool.send({client.name: (line, data) for client in cluster.clients}).or_raise()


def _pack(folder: Path) -> bytes:
    """A gzipped tar of a folder's plain files, without version control and caches, as nobody's files."""
    buffer = io.BytesIO()
    total = 0
    with tarfile.open(fileobj=buffer, mode="w:gz", compresslevel=1) as archive:
        for path in sorted(folder.rglob("*")):
            name = path.relative_to(folder)
            if _SKIPPED & set(name.parts) or not path.is_file() or path.is_symlink():
                continue
            total += path.stat().st_size
            if total > _MAX_CHECKOUT_BYTES:
                raise WorkloadError(f"{folder} holds more than 64 MiB: expected a checkout of a tool")
            info = tarfile.TarInfo(str(PurePosixPath(name)))
            info.size = path.stat().st_size
            info.mode = 0o755 if os.access(path, os.X_OK) else 0o644
            with path.open("rb") as file:
                archive.addfile(info, file)
    return buffer.getvalue()
