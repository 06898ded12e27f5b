"""What ``glusterlab testbed status`` shows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from glusterlab.report.terminal import SCHEMA_VERSION, emit_json, show_table, talk

if TYPE_CHECKING:
    from glusterlab.hosts.testbed import HostStatus


def show_testbed(name: str, folder: Path, hosts: Sequence[HostStatus], *, as_json: bool) -> None:
    """What ``glusterlab testbed status`` found, and where the testbed's files are."""
    cluster = folder / "cluster.yaml"
    if as_json:
        emit_json(
            {
                "schema_version": SCHEMA_VERSION,
                "name": name,
                "state": str(folder),
                "cluster": str(cluster),
                "hosts": [asdict(host) for host in hosts],
            }
        )
        return
    rows = [(host.name, host.address, "up" if host.running else "down", host.processes) for host in hosts]
    show_table(("host", "address", "state", "processes"), rows, right=("processes",))
    talk(f"cluster file: {cluster}")
