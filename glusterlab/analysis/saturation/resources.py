"""How full each resource of a pool was over one sample: links, disks, CPUs and memory of every host.

Use is a share: 1 is what the resource can do. A disk is as full as the fullest of: its bytes, its operations (a lower
bound), its ``%util`` where it serves one request at a time, and the bytes of all disks of its server against what these
do together. On a testbed reads and writes have a limit each, all hosts share the CPUs and the memory of one machine
(their use is added up, a lower bound), and ``%util`` stays small on a disk that is full: its limit acts before that.
"""

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from glusterlab.analysis.saturation.thresholds import Thresholds
from glusterlab.analysis.saturation.timeline import Timeline, carried, rolling, rolling_known
from glusterlab.spec.cluster import CACHED_KINDS, Backing, Cluster

Family = Literal["network", "disks", "CPU", "memory"]
By = Literal["bytes", "operations", "busy time", "all disks of the server", ""]

FAMILIES: tuple[Family, ...] = ("network", "disks", "CPU", "memory")

MIN_RECORDS = 2  # fewest telemetry records per host and sample in the measured part; with fewer the sample says nothing

PEAK_S = 10.0  # seconds of the busiest stretch, the peak, which evens out bursts of a disk's counters

IDLE = 0.02  # what carried less than this share of the fullest of its kind carried nothing to speak of

BURST_BYTES = 10e6
"""A disk is judged over as long as it needs for N bytes, at most `PEAK_S`: a request counts when all of it is done, and
a throttled disk does several at once (3.6 MB in a second of a disk of 1 MB/s) and then nothing."""

BURST_OPERATIONS = 10.0  # or for N operations

LINK_MOST = 1.05  # a record in which a link carried more than that was not taken at its time

ONE_WAY = 0.98  # from this share of its bytes on a disk moves them one way

STATED_LINKS = "links at least as cluster.yaml states them"  # one TCP stream does not fill every link

_DIRECTIONS = {"received": "receive_bytes_per_s", "sent": "transmit_bytes_per_s"}


@dataclass(frozen=True, slots=True)
class Limits:
    """What the hardware can do per host, in bytes/s, on the scale that was measured (a scale model's own limits)."""

    server_link: float  # in each direction
    client_link: float
    server_disks_write: float  # all disks of a server together
    server_disks_read: float
    source: str = ""  # the baseline that measured them, if any
    brick_write: float | None = None  # one brick alone
    brick_read: float | None = None
    server_operations_write: float | None = None  # per second, what a scale model leaves all disks of a server
    server_operations_read: float | None = None


def limits_source(limits: Iterable[Limits]) -> str:
    """Where limits come from, as a sentence, where a baseline measured them; else nothing.

    >>> limits_source([Limits(1.0, 1.0, 1.0, 1.0, "pool-baseline"), Limits(1.0, 1.0, 1.0, 1.0)])
    'Limits as measured by the baseline pool-baseline, links at least as cluster.yaml states them.'
    """
    names = sorted({limit.source for limit in limits} - {""})
    return f"Limits as measured by the baseline {', '.join(names)}, {STATED_LINKS}." if names else ""


@dataclass(frozen=True, slots=True)
class Operations:
    """What one brick can do, operations per second."""

    read: float
    write: float


@dataclass(frozen=True, slots=True)
class Capacity:
    """What the resources under one cell can do on its scale, rates in bytes/s; None, and 0 or less, is not known."""

    server_link: float | None = None  # in each direction
    client_link: float | None = None
    disk_read: float | None = None  # one brick alone
    disk_write: float | None = None
    server_read: float | None = None  # all bricks of a server
    server_write: float | None = None
    operations: Operations | None = None  # of one brick
    serial: bool = False  # a brick is one disk that serves one request at a time
    one_machine: bool = False  # a testbed
    memory: Mapping[int, Mapping[str, float]] = field(default_factory=dict)  # bytes by machine and host

    def __post_init__(self) -> None:
        for name in ("server_link", "client_link", "disk_read", "disk_write", "server_read", "server_write"):
            if (rate := getattr(self, name)) is not None and not rate > 0:
                object.__setattr__(self, name, None)


def _backings(
    samples: pd.DataFrame, limits: Mapping[str, Limits], cluster: Cluster | None
) -> Iterator[tuple[str, Limits | None, Backing | None, str]]:
    """Each cell, its limits, its backing and the kind of that; of tiers and caches the devices are of two kinds."""
    for row in samples.drop_duplicates("cell_id").to_dict("records"):
        two_kinds = row.get("hot") or row.get("kind") in CACHED_KINDS
        backing = None if cluster is None or two_kinds else cluster.backings.get(str(row["backing"]))
        yield str(row["cell_id"]), limits.get(str(row["cell_id"])), backing, str(row["kind"])


def capacities(
    samples: pd.DataFrame,
    cluster: Cluster | None,
    limits: Mapping[str, Limits],
    memory: Mapping[int, Mapping[str, float]],
    operations: Mapping[str, Operations],
) -> dict[str, Capacity]:
    """What the resources under every cell can do, by ``cell_id``, as `operations` of a brick; `memory` by machine."""
    found: dict[str, Capacity] = {}
    common = Capacity(one_machine=cluster is not None and cluster.is_testbed, memory=memory)
    for cell, limit, backing, kind in _backings(samples, limits, cluster):
        if limit is None or backing is None:
            found[cell] = common
            continue
        bricks = len(backing.bricks)
        found[cell] = replace(
            common,
            server_link=limit.server_link,
            client_link=limit.client_link,
            disk_read=limit.server_disks_read / bricks if limit.brick_read is None else limit.brick_read,
            disk_write=limit.server_disks_write / bricks if limit.brick_write is None else limit.brick_write,
            server_read=limit.server_disks_read,
            server_write=limit.server_disks_write,
            operations=operations.get(cell),
            serial=kind == "jbod" and backing.disks_per_brick == 1,
        )
    return found


def with_operations(
    limits: Mapping[str, Limits], samples: pd.DataFrame, cluster: Cluster | None, operations: Mapping[str, Operations]
) -> dict[str, Limits]:
    """Limits with the operations per second of all disks of a server, where those of one brick are known."""
    found = dict(limits)
    for cell, limit, backing, _ in _backings(samples, limits, cluster):
        brick = operations.get(cell)
        if limit is not None and brick is not None and backing is not None:
            write, read = (len(backing.bricks) * rate for rate in (brick.write, brick.read))
            found[cell] = replace(limit, server_operations_write=write, server_operations_read=read)
    return found


@dataclass(frozen=True, slots=True)
class Track:
    """How full the resources of one subsystem, such as ``server network, received``, were over time."""

    subsystem: str
    family: Family
    role: str
    threshold: str  # the field of `Thresholds` that it is held against
    hosts: tuple[str, ...]
    used: NDArray[np.float64]  # shape (resources, steps), 1 = full, NaN where nothing is known
    devices: tuple[str, ...] = ()
    by: tuple[By, ...] = ()  # what each disk is fullest by
    stretch_s: float = 0.0  # a step is full in such a stretch whose mean is over the threshold; 0: by itself

    def __post_init__(self) -> None:
        for name in ("devices", "by"):
            object.__setattr__(self, name, getattr(self, name) or ("",) * len(self.hosts))

    def steps(self, timeline: Timeline) -> int:
        return timeline.steps(self.stretch_s) if self.stretch_s else 1


def levels(track: Track, thresholds: Thresholds) -> NDArray[np.float64]:
    """From where on each resource of a track counts as full, shape (resources,)."""
    busy = [by == "busy time" for by in track.by]
    return np.where(busy, thresholds.disk_busy, float(getattr(thresholds, track.threshold)))


def over(track: Track, timeline: Timeline, thresholds: Thresholds) -> NDArray[np.bool_]:
    """Where each resource of a track was full, shape (resources, steps); nowhere where nothing is known of it."""
    level = levels(track, thresholds)[:, np.newaxis]
    steps = min(track.steps(timeline), track.used.shape[1])
    full = rolling_known(track.used, steps) >= level
    marked = np.zeros(track.used.shape, dtype=bool)
    for offset in range(steps):
        marked[:, offset : offset + full.shape[1]] |= full
    return np.asarray(marked & np.isfinite(track.used))


def tracks(timeline: Timeline, capacity: Capacity) -> list[Track]:
    """How full every resource was whose limit is known."""
    found = (track for of in (_networks, _disks, _cpus, _memories) for track in of(timeline, capacity))
    return [track for track in found if len(track.hosts) and np.isfinite(track.used).any()]


def _by_host(
    series: pd.DataFrame, values: NDArray[np.float64], how: Literal["sum", "max"]
) -> tuple[tuple[str, ...], NDArray[np.float64]]:
    """Devices of a host together; series of one metric and role are in the order of their hosts."""
    hosts = series["host"].to_numpy()
    starts = np.flatnonzero(np.append(True, hosts[1:] != hosts[:-1]))
    if how == "max":
        joined = np.fmax.reduceat(values, starts, axis=0)
    else:
        places = np.repeat(starts, np.diff(starts, append=len(hosts)))
        joined = pd.DataFrame(values).groupby(places).sum(min_count=1).to_numpy()
    return tuple(map(str, hosts[starts])), joined


def _networks(timeline: Timeline, capacity: Capacity) -> Iterator[Track]:
    for role, rate in (("server", capacity.server_link), ("client", capacity.client_link)):
        for direction, metric in _DIRECTIONS.items():
            series, values = timeline.of("network", metric, role)
            if rate is not None and len(series):
                hosts, fullest = _by_host(series, values, "max")
                name = f"{role} network, {direction}"
                used = carried(fullest / rate, LINK_MOST)
                yield Track(name, "network", role, "network", hosts, used)


def _disks(timeline: Timeline, capacity: Capacity) -> Iterator[Track]:
    series, written = timeline.of("disk", "write_bytes_per_s", "server")
    # a report of old columns has one rate for both directions, which no limit is for
    if series.empty or capacity.disk_read is None or capacity.disk_write is None:
        return
    beside = partial(timeline.beside, "disk", "write_bytes_per_s", role="server")
    read = beside("read_bytes_per_s")
    together = np.maximum if capacity.one_machine else np.add
    moving = together(written / capacity.disk_write, np.nan_to_num(read) / capacity.disk_read)
    parts: dict[By, NDArray[np.float64]] = {"bytes": moving}
    # what is fullest for a while in the measured part is what the disk is judged by, all along
    inside = timeline.inside if timeline.inside.any() else np.ones_like(timeline.inside)
    seconds = BURST_BYTES / min(capacity.disk_read, capacity.disk_write)
    if (limit := capacity.operations) is not None:
        seconds = max(seconds, BURST_OPERATIONS / min(limit.read, limit.write))
        moved = [np.nan_to_num(values[:, inside]).sum(axis=1) for values in (written, read)]
        share = np.divide(moved[0], sum(moved), out=np.full(len(series), 0.5), where=sum(moved) > 0)
        # what each disk can do at most, so that the share of it that was used is a lower bound
        ways, rates = [share >= ONE_WAY, share <= 1 - ONE_WAY], [limit.write, limit.read]
        most = np.select(ways, rates, limit.read + limit.write)
        parts["operations"] = beside("transfers_per_s") / most[:, np.newaxis]
    if capacity.serial and not capacity.one_machine:
        parts["busy time"] = beside("utilisation_fraction")
    if capacity.server_read is not None and capacity.server_write is not None:
        of, all_written = _by_host(series, written, "sum")
        _, all_read = _by_host(series, read, "sum")
        whole = together(all_written / capacity.server_write, np.nan_to_num(all_read) / capacity.server_read)
        spread = whole[[of.index(host) for host in series["host"]]]
        # a disk that does nothing is not full because others of its server are
        busiest = np.nan_to_num(written + np.nan_to_num(read)).sum(axis=1)
        parts["all disks of the server"] = np.where(busiest[:, np.newaxis] <= IDLE * busiest.max(), 0.0, spread)
    names = list(parts)
    filled = np.stack([np.nan_to_num(part) for part in parts.values()])
    stretch = min(seconds, PEAK_S, timeline.step_s * float(inside.sum()))
    peaks = np.stack([rolling(part[:, inside], timeline.steps(stretch)).max(axis=1) for part in filled])
    chosen = peaks.argmax(axis=0)
    used = np.where(np.isfinite(written), filled[chosen, np.arange(len(series))], np.nan)
    by = tuple(names[number] for number in chosen)
    hosts, devices = tuple(series["host"]), tuple(series["device"])
    yield Track("server disks", "disks", "server", "disks", hosts, used, devices, by, stretch)


def busy_cpus(timeline: Timeline, role: str = "") -> tuple[pd.DataFrame, NDArray[np.float64]]:
    """CPU time that was neither idle, waiting for I/O nor stolen: its series (also of single CPUs) and values."""
    series, idle = timeline.of("cpu", "idle_fraction", role)
    busy = 1 - idle
    for metric in ("iowait_fraction", "steal_fraction"):
        busy -= np.nan_to_num(timeline.beside("cpu", "idle_fraction", metric, role))
    return series, busy


def _cpus(timeline: Timeline, capacity: Capacity) -> Iterator[Track]:
    if capacity.one_machine:
        series, busy = busy_cpus(timeline)
        used = _added_up(busy[series["device"].to_numpy() == "all"])
        yield Track("machine CPU (at least)", "CPU", "machine", "cpu", ("",), used)
        return
    for role in ("server", "client"):
        series, busy = busy_cpus(timeline, role)
        whole = series["device"].to_numpy() == "all"
        hosts = tuple(str(host) for host in series["host"][whole])
        yield Track(f"{role} CPU", "CPU", role, "cpu", hosts, busy[whole])
        single = series["device"].str.isdecimal().to_numpy(dtype=bool)
        if single.any():
            hosts, fullest = _by_host(series[single], busy[single], "max")
            yield Track(f"{role} CPU, busiest core", "CPU", role, "core", hosts, fullest)


def _added_up(shares: NDArray[np.float64]) -> NDArray[np.float64]:
    """Shares of one machine that its hosts use, together; where up to half have no record, these as the mean."""
    known = np.isfinite(shares).sum(axis=0)
    enough = (known > 0) & (known * 2 >= len(shares))
    total = np.nansum(shares, axis=0) / np.maximum(known, 1) * len(shares)
    return np.where(enough, total, np.nan)[np.newaxis]


def _memories(timeline: Timeline, capacity: Capacity) -> Iterator[Track]:
    for role in ("",) if capacity.one_machine else ("server", "client"):
        series, available = timeline.of("memory", "available_bytes", role)
        hosts = tuple(str(host) for host in series["host"])
        memory = capacity.memory.get(timeline.machine, {})
        total = np.array([memory.get(host, math.nan) for host in hosts])
        if not len(hosts) or not np.isfinite(total).any():
            continue
        # a guest of a testbed has a part of the machine's memory, the other hosts say the whole of it
        of = np.full_like(total, np.nanmax(total)) if capacity.one_machine else total
        used = (total[:, np.newaxis] - available) / of[:, np.newaxis]
        if capacity.one_machine:
            yield Track("machine memory (at least)", "memory", "machine", "memory", ("",), _added_up(used))
        else:
            yield Track(f"{role} memory", "memory", role, "memory", hosts, used)
