"""What ``glusterlab testbed status`` shows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from glusterlab.report.terminal import SCHEMA_VERSION, emit_json, show_table

if TYPE_CHECKING:
    from glusterlab.hosts.testbed import HostStatus


def show_testbed(name: str, hosts: Sequence[HostStatus], *, as_json: bool) -> None:
    """What ``glusterlab testbed status`` found."""
    if as_json:
        emit_json({"schema_version": SCHEMA_VERSION, "name": name, "hosts": [asdict(host) for host in hosts]})
        return
    rows = [(host.name, host.address, "up" if host.running else "down", host.processes) for host in hosts]
    show_table(("host", "address", "state", "processes"), rows, right=("processes",))
