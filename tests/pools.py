"""Pools that do not exist, described as a cluster file describes them."""

from collections.abc import Mapping
from typing import Any

HARDWARE: dict[str, Any] = {
    "disks_per_server": 1,
    "disk_write": "205 MB/s",
    "disk_read": "212 MB/s",
    "server_link": "20 Gbit/s",
    "client_link": "10 Gbit/s",
}


def pool_data(n_servers: int = 2, n_clients: int = 1, **changed: Any) -> dict[str, Any]:
    """Servers s1, s2, ... at 10.0.0.1, ... and clients c1, ... at 10.0.1.1, ..."""
    return {
        "schema_version": 1,
        "name": "pool",
        "servers": [{"name": f"s{n}", "address": f"10.0.0.{n}", "devices": ["sdb"]} for n in range(1, n_servers + 1)],
        "clients": [{"name": f"c{n}", "address": f"10.0.1.{n}"} for n in range(1, n_clients + 1)],
        "hardware": HARDWARE,
        "backings": {"jbod": {"bricks": ["/bricks/d1"], "kind": "jbod"}},
        **changed,
    }


def campaign_data(workload: Mapping[str, Any] | None = None, **changed: Any) -> dict[str, Any]:
    """A write and a read of a file by two workers; `workload` changes keys of it."""
    iozone = {"tool": "iozone", "operations": ["write", "read"], "file_size": "1 MiB", "record_size": "64 KiB"}
    return {
        "schema_version": 1,
        "name": "night",
        "study": "supermicro-2017",
        "seed": 7,
        "repeats": 1,
        "attempts": 2,
        "layouts": [{"name": "plain", "type": "distribute", "geometry": "1", "backing": "jbod"}],
        "workloads": [iozone | dict(workload or {})],
        "workers": [2],
        "deadline": "1 min",
        **changed,
    }
