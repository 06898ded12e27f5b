"""Synthetic telemetry of a pool whose bottleneck is known: full where a test says so, idle elsewhere."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pandas as pd

from glusterlab.analysis.saturation.resources import Capacity

START = 1_000_000.0
SERVERS = tuple(f"server{number:02d}" for number in range(1, 7))
CLIENTS = tuple(f"client{number:02d}" for number in range(1, 13))
HOSTS = (*SERVERS, *CLIENTS)
DISKS = tuple(f"sd{letter}" for letter in "bcdefghijklm")
LINK, DISK = 10e6, 1e6
"""Rates of links and disks, bytes/s; a server's link and a client's are alike, its twelve disks do 12 MB/s."""

KNOWN = Capacity(
    server_link=LINK,
    client_link=LINK,
    disk_read=DISK,
    disk_write=DISK,
    server_read=12 * DISK,
    server_write=12 * DISK,
    memory={1: dict.fromkeys(HOSTS, 64e9)},
)

Values = float | Iterable[float] | Callable[[np.ndarray], np.ndarray]


class Pool:
    """Telemetry of one sample: six servers of twelve disks and twelve clients, a record every `step` seconds."""

    def __init__(self, seconds: float = 60.0, step: float = 2.0, disks: tuple[str, ...] = DISKS) -> None:
        self.step, self.disks = step, disks
        self.since = np.arange(1, round(seconds / step) + 1) * step
        self.series: dict[tuple[str, str, str, str, str], np.ndarray] = {}
        self.links("receive", 0.0, *HOSTS).links("transmit", 0.0, *HOSTS).cpu(0.0)
        self._put(HOSTS, "cpu", ["all"], "iowait_fraction", 0.0)._put(HOSTS, "cpu", ["all"], "steal_fraction", 0.0)
        self.other("memory", "available_bytes", 63e9, HOSTS)
        for metric in ("read_bytes_per_s", "write_bytes_per_s", "transfers_per_s"):
            self.disk(metric, 0.0)

    def _put(self, hosts: Iterable[str], activity: str, devices: Iterable[str], metric: str, values: Values) -> Pool:
        found = values(self.since) if callable(values) else values
        data = np.asarray(list(found) if isinstance(found, Iterable) else [found] * len(self.since), dtype=float)
        for host, device in itertools.product(hosts, devices):
            role = "server" if host in SERVERS else "client"
            self.series[role, host, activity, device, metric] = np.broadcast_to(data, self.since.shape)
        return self

    def links(self, direction: str, values: Values, *hosts: str, device: str = "eth0") -> Pool:
        """Bytes per second that hosts receive or transmit."""
        return self._put(hosts, "network", [device], f"{direction}_bytes_per_s", values)

    def disk(self, metric: str, values: Values, hosts: Iterable[str] = SERVERS, devices: Iterable[str] = ()) -> Pool:
        """A metric of disks."""
        return self._put(hosts, "disk", devices or self.disks, metric, values)

    def cpu(self, busy: float, hosts: Iterable[str] = HOSTS, device: str = "all") -> Pool:
        """Share of the time that CPUs are busy."""
        return self._put(hosts, "cpu", [device], "idle_fraction", 1 - busy)

    def other(self, activity: str, metric: str, values: Values, hosts: Iterable[str] = SERVERS) -> Pool:
        """A metric of whole hosts."""
        return self._put(hosts, activity, [""], metric, values)

    def table(self, sample: pd.Series | dict[str, Any], moments: dict[str, float] | None = None) -> pd.DataFrame:
        """The telemetry table; `moments` are seconds by which a host writes its records later than others."""
        roles, hosts, activities, devices, metrics = (np.array(names) for names in zip(*self.series, strict=True))
        steps = len(self.since)
        late = np.array([(moments or {}).get(str(host), 0.0) for host in hosts])
        named = {"host": hosts, "role": roles, "activity": activities, "device": devices, "metric": metrics}
        return pd.DataFrame(
            {name: sample[name] for name in ("campaign", "cell_id", "sample")}
            | {name: np.repeat(values, steps) for name, values in named.items()}
            | {"time_s": (float(sample["start_s"]) + self.since + late[:, np.newaxis]).ravel()}
            | {"value": np.stack(list(self.series.values())).ravel()}
        )


def during(start: float, end: float, value: float) -> Callable[[np.ndarray], np.ndarray]:
    """A value between two times, 0 before and after."""
    return lambda since: np.where((since > start) & (since <= end), value, 0.0)
