"""What a testbed is made of: how many hosts and disks, which release, at which scale, on which addresses.

Rates are those of the guide's servers (its appendix A). Operations per second are not in the guide: `DISK_OPERATIONS`
is what a 7,200 rpm disk does with a queue. A small random write costs RAID 6 six operations, so an array of 12 does 340
a second; a small file costs its brick three writes, of which a controller's cache gathers the two sequential ones, so
that three requests cost one random write: `ARRAY_WRITE_OPERATIONS`. runbooks/testbed says how sure that is.
"""

import ipaddress
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from glusterlab.errors import UsageError
from glusterlab.spec.cluster import Hardware

RELEASES = {"bullseye": "9.2", "bookworm": "10.3", "trixie": "11.1"}
"""Debian releases that hosts can be made from, with the GlusterFS that each brings."""

MAX_HOSTS_PER_ROLE = 99
DISK_OPERATIONS = 170.0
ARRAY_DISKS = 12
CACHE_MODES = ("write-through", "write-back")
JOURNAL_BYTES = 65 << 20
"""What an empty XFS takes of its sparse file: seen with 4 and 48 GiB, 64 MiB are its journal."""
MAX_GUEST_DISKS = 26  # of a guest: /dev/vda to /dev/vdz
ARRAY_WRITE_OPERATIONS = 1000.0  # 3 x 340, to a round number


SERVER_MODELS: dict[str, dict[str, str | int]] = {
    "standard": {
        "model": "SSG-6028R-E1CR12H",
        "disks": 12,
        "disk_model": "Seagate ST6000NM0034, 7,200 rpm SAS",
        "disk_capacity": "6 TB",
        "cpu_model": "2 x Intel Xeon E5-2630 v4, 2.2 GHz, 10 cores",
        "memory": "64 GB",
        "network": "2 x 10 GbE (Intel X540), bonded",
        "raid_controller": "LSI SAS3 3108",
        "nvme": "up to 4",
    },
    "dense": {
        "model": "SSG-6028R-E1CR24N",
        "disks": 24,
        "disk_model": "Seagate ST6000NM0034, 7,200 rpm SAS",
        "disk_capacity": "6 TB",
        "cpu_model": "2 x Intel Xeon E5-2650 v4, 2.2 GHz, 12 cores",
        "memory": "128 GB",
        "network": "2 x 10 GbE (Intel X550T), bonded",
        "raid_controller": "LSI SAS3 3108",
        "nvme": "up to 4",
    },
}
"""The guide's two servers (Tested architectures), as entries of ``server_models``: what a testbed's stand for."""


@dataclass(frozen=True)
class Device:
    """Speed of one kind of brick device of the real hardware: bytes per second and operations per second."""

    read_bytes_per_s: float
    write_bytes_per_s: float
    read_operations_per_s: float
    write_operations_per_s: float


NVME_BYTES = 800e9
NVME_MODEL = "Intel SSD DC P3700 800 GB"
"""The drive of the guide's bills of materials (tables 3 and 4: SSDPEDMD800G4)."""

HARDWARE = {
    "disk": Device(212e6, 205e6, DISK_OPERATIONS, DISK_OPERATIONS),
    "array": Device(1107e6, 1224e6, ARRAY_DISKS * DISK_OPERATIONS, ARRAY_WRITE_OPERATIONS),
    # Intel SSD DC P3700 Series Product Specification 330566-010US, first page: reads up to 2,800 MB/s and 460,000
    # requests of 4 KB a second, writes up to 2,000 MB/s and 175,000. Of 800 GB 1,900 and 90,000 are stated as known of
    # its table by capacity, which was not to be had here; 1,900 may bind creates of 4 MB.
    "nvme": Device(2800e6, 1900e6, 460_000, 90_000),
}
LINKS_BYTES_PER_S = {"server": 20e9 / 8, "client": 10e9 / 8}
"""What testbeds are scale models of, at full size."""

SERVER_MEMORY_BYTES = 64 << 30
DIRTY_SHARE = 0.20
"""Of the memory of the guide's standard server what may wait to be written: vm.dirty_ratio of rhgs-sequential-io, Red
Hat's profile for large files. Half of it is written back at once, as by that profile's vm.dirty_background_ratio."""


@dataclass(frozen=True)
class Model:
    """A scale model: everything is `scale` times slower; `operations` says whether disk operations are, too.

    With `heads` they follow from the heads of the disks, and none are assumed. `stretched`: files keep their size and
    time is `scale` times longer; else files are that many times smaller, and time is the hardware's.
    """

    scale: float
    operations: bool
    heads: bool = False
    stretched: bool = False


def parse_model(text: str) -> tuple[str, float, bool]:
    """A scale model as ``--model`` states it: its name, its scale, and whether operations are slowed, too."""
    match = re.fullmatch(r"([^=]+)=([0-9]+(?:\.[0-9]+)?)(,operations)?", text)
    if match is None:
        raise UsageError(f"--model {text}: expected NAME=SCALE or NAME=SCALE,operations, such as large-slow=400")
    return match[1], float(match[2]), match[3] is not None


def parse_slow_disk(text: str) -> tuple[str, str, float]:
    """A disk that is slower than its like, as ``--slow-disk`` states it: its server, its name and how many times."""
    match = re.fullmatch(r"([a-z0-9-]+):([a-z0-9]+)=([0-9]+(?:\.[0-9]+)?)", text)
    if match is None:
        raise UsageError(f"--slow-disk {text}: expected SERVER:DISK=TIMES, such as server04:d07=6")
    return match[1], match[2], float(match[3])


# the models that every testbed has, and what states their scale
_OPTION_OF = {"large-file": "--scale", "medium-file": "--medium-file-scale", "small-file": "--small-file-scale"}


@dataclass(frozen=True)
class TestbedOptions:
    """Options of ``glusterlab testbed up``; the defaults are the guide's standard cluster.

    `tree`: a host's file system that the user made, in the place of that of a Debian release. `hardware`: that of a
    cluster file, as JSON, in the place of the guide's; its disks are as many as an array has. `disk_caches`: modes of
    block caches; for each a server has as many disks again, behind one.
    """

    __test__ = False

    name: str = "default"
    servers: int = 6
    clients: int = 12
    disks: int = 12
    arrays: int = 1
    nvme: int = 0
    scale: float = 200.0
    small_file_scale: float = 20.0
    medium_file_scale: float = 240.0
    more_models: tuple[tuple[str, float, bool], ...] = ()
    slow_disks: tuple[tuple[str, str, float], ...] = ()
    heads: tuple[str, ...] = ()
    kernel_clients: int = 0
    disk_caches: tuple[str, ...] = ()
    release: str = "bookworm"
    tree: str | None = None
    subnet: str = "10.77.0.0/24"
    disk_size_bytes: int = 4 << 30
    memory_backed: bool = False
    mirror: str | None = None
    hardware: dict[str, Any] | None = None

    def __post_init__(self) -> None:
        # a state file has lists where the options have tuples
        object.__setattr__(self, "more_models", tuple(map(tuple, self.more_models)))
        object.__setattr__(self, "slow_disks", tuple(map(tuple, self.slow_disks)))
        object.__setattr__(self, "heads", tuple(self.heads))
        object.__setattr__(self, "disk_caches", tuple(self.disk_caches))
        if not re.fullmatch(r"[a-z][a-z0-9-]{0,19}", self.name):
            raise UsageError(f"--name {self.name}: expected 1 to 20 of a-z, 0-9 and '-', starting with a letter")
        for what, count in (("servers", self.servers), ("clients", self.clients)):
            if not 1 <= count <= MAX_HOSTS_PER_ROLE:
                raise UsageError(f"--{what} {count}: expected 1 to {MAX_HOSTS_PER_ROLE}")
        if not 0 <= self.kernel_clients <= self.clients:
            raise UsageError(f"--kernel-clients {self.kernel_clients}: expected 0 to {self.clients}, all --clients")
        if not 0 <= self.disks <= 36 or not 0 <= self.arrays <= 4 or self.disks + self.arrays < 1:
            raise UsageError("expected 0 to 36 --disks and 0 to 4 --arrays, and at least one of them, on each server")
        if not 0 <= self.nvme <= 4:
            raise UsageError(f"--nvme {self.nvme}: expected 0 to 4 on each server, as the guide's have room for")
        if self.release not in RELEASES:
            raise UsageError(f"--release {self.release}: expected one of {', '.join(RELEASES)}")
        if self.tree is not None and (not self.tree.startswith("/") or {*self.tree} & {*":,\\"}):
            # these part the options of an overlay mount
            raise UsageError(f"--tree {self.tree}: expected an absolute path without ':', ',' and '\\'")
        self._check_scales()
        self._check_disk_caches()
        self._check_slow_disks()
        self._check_hardware()
        if self.disk_size_bytes < 512 << 20:
            raise UsageError("--disk-size: XFS with GlusterFS needs at least 512 MiB")
        try:
            network = ipaddress.ip_network(self.subnet)
        except ValueError as error:
            raise UsageError(f"--subnet {self.subnet}: {error}") from error
        if network.version != 4 or not network.is_private or network.prefixlen > 24 or network.prefixlen < 8:
            raise UsageError(f"--subnet {self.subnet}: expected a private IPv4 network between /8 and /24")

    def _check_scales(self) -> None:
        names = [name for name, *_ in self.more_models]
        for name in names:
            if not re.fullmatch(r"[a-z][a-z0-9-]{0,39}", name) or name in _OPTION_OF:
                raise UsageError(f"--model {name}: expected a name of its own of a-z, 0-9 and '-'")
        if len(set(names)) < len(names):
            raise UsageError("--model: expected each name once")
        for name in self.heads:
            if name not in self.models:
                raise UsageError(f"--heads {name}: expected one of the models {', '.join(self.models)}")
        for name, model in self.models.items():
            if not 1 <= model.scale <= 10000:
                option = f"--model {name}=" if name in names else _OPTION_OF[name]
                raise UsageError(f"{option} {model.scale:g}: expected 1 (full speed) to 10000")

    def _check_disk_caches(self) -> None:
        if not self.disk_caches:
            return
        if len(set(self.disk_caches)) < len(self.disk_caches) or not {*self.disk_caches} <= {*CACHE_MODES}:
            raise UsageError(f"--disk-cache {self.disk_caches[-1]}: expected each of {', '.join(CACHE_MODES)} once")
        if self.nvme != 1 or not self.disks or self.heads or self.hardware is not None:
            raise UsageError("--disk-cache: expected --disks, --nvme 1 for their caches, no --heads and no --hardware")
        if (count := self.all_disks + self.arrays + self.nvme) > MAX_GUEST_DISKS:
            raise UsageError(
                f"--disk-cache: {count} disks on each server, expected up to {MAX_GUEST_DISKS}: fewer --disks"
            )

    def _check_slow_disks(self) -> None:
        kinds = (("d", self.all_disks), ("a", self.arrays), ("n", self.nvme))
        disks = [f"{letter}{n:02d}" for letter, count in kinds for n in range(1, count + 1)]
        servers = self.server_names
        for host, disk, times in self.slow_disks:
            if host not in servers or disk not in disks:
                known = f"{servers[0]} to {servers[-1]} and of its {disks[0]} to {disks[-1]}"
                raise UsageError(f"--slow-disk {host}:{disk}: expected one of {known}")
            if not 1 <= times <= 1000:
                raise UsageError(f"--slow-disk {host}:{disk}={times:g}: expected 1 to 1000 times slower than its like")

    def _check_hardware(self) -> None:
        if self.hardware is None:
            return
        if self.heads and not self.latencies:
            raise UsageError("--hardware and --heads: it states no disk_latency, and heads are of the guide's drive")
        if self.latencies and self.hardware.get("disk_operations") is None:
            raise UsageError("--hardware: it states disk_latency, and no disk_operations that disks do at the most")
        for option, kind, count in (("--arrays", "array", self.arrays), ("--nvme", "nvme", self.nvme)):
            if count and kind not in self.devices:
                raise UsageError(f"{option} {count}: the hardware states no {kind}_read and {kind}_write: expected 0")

    @property
    def _stated(self) -> Hardware | None:
        return None if self.hardware is None else Hardware.model_validate(self.hardware)

    @property
    def devices(self) -> Mapping[str, Device]:
        """What brick devices do at full size, by kind; of an array with parity a write costs three requests of six."""
        if (stated := self._stated) is None:
            return HARDWARE | ({"nvme": self._shared_nvme} if self.disk_caches else {})
        each = stated.disk_operations or DISK_OPERATIONS
        found = {"disk": Device(stated.disk_read, stated.disk_write, each, each)}
        if stated.array_read and stated.array_write:
            all_disks = each * stated.disks_per_server
            parity = 2 if self.array_kind == "raid6" else 1
            found["array"] = Device(stated.array_read, stated.array_write, all_disks, all_disks / parity)
        if stated.nvme_read and stated.nvme_write:
            rates = {"read_bytes_per_s": stated.nvme_read, "write_bytes_per_s": stated.nvme_write}
            found["nvme"] = replace(HARDWARE["nvme"], **rates)
        return found

    @property
    def _shared_nvme(self) -> Device:
        """Of an NVMe drive what falls to so many disks: a standard server's has the caches of all of its."""
        share = self.disks / self.array_disks
        return Device(**{name: rate * share for name, rate in asdict(HARDWARE["nvme"]).items()})

    @property
    def latencies(self) -> Mapping[str, dict[str, float]]:
        """What `heads.Latency` takes, of disks and arrays, where the hardware states a latency of its disks."""
        if (stated := self._stated) is None or stated.disk_latency is None:
            return {}
        kinds = {kind: device for kind, device in self.devices.items() if kind != "nvme"}
        return {kind: {"latency_s": stated.disk_latency, **asdict(device)} for kind, device in kinds.items()}

    @property
    def links(self) -> Mapping[str, float]:
        """Rates of hosts' links at full size, by role, in bytes per second."""
        if (stated := self._stated) is None:
            return LINKS_BYTES_PER_S
        return {"server": stated.server_link, "client": stated.client_link}

    @property
    def array_disks(self) -> int:
        """The disks of an array, and of a standard server."""
        return ARRAY_DISKS if (stated := self._stated) is None else stated.disks_per_server

    @property
    def array_kind(self) -> str:
        """What an array is: the kind and the name of its backing."""
        stated = self._stated
        return "raid6" if stated is None or stated.array_kind is None else stated.array_kind

    @property
    def server_models(self) -> Mapping[str, Mapping[str, Any]]:
        """What its servers stand for, as ``server_models`` has it; of stated hardware with its disks and twice them."""
        if (stated := self._stated) is None:
            return SERVER_MODELS
        known = stated.model_dump(exclude_none=True, include={"disk_model", "cpu_model", "raid_controller"})
        known["model"] = stated.server_model or "not stated"
        return {name: {**known, "disks": n * self.array_disks} for n, name in enumerate(SERVER_MODELS, start=1)}

    @property
    def models(self) -> dict[str, Model]:
        stated = {
            "large-file": Model(self.scale, operations=False),
            "medium-file": Model(self.medium_file_scale, operations=False, stretched=True),
            "small-file": Model(self.small_file_scale, operations=True, stretched=True),
            **{name: Model(scale, operations=limit, stretched=limit) for name, scale, limit in self.more_models},
        }
        # of the models that keep sizes, and of one's own when it has heads, time is stretched
        headed = {
            name: replace(stated[name], operations=False, heads=True, stretched=name != "large-file")
            for name in self.heads
            if name in stated
        }
        return stated | headed

    @property
    def server_names(self) -> list[str]:
        return [f"server{n:02d}" for n in range(1, self.servers + 1)]

    @property
    def client_names(self) -> list[str]:
        return [f"client{n:02d}" for n in range(1, self.clients + 1)]

    @property
    def all_disks(self) -> int:
        """Single disks of each server: as many of each mode of cache as of those without."""
        return self.disks * (1 + len(self.disk_caches))

    @property
    def cache_bytes(self) -> int:
        """The cache of one disk: its part of a standard server's drive, over the scale, and XFS's journal, without."""
        return round(NVME_BYTES / self.array_disks / self.scale) + JOURNAL_BYTES

    @property
    def guest_names(self) -> list[str]:
        """Hosts with a kernel of their own: some clients, and all servers where disks have caches."""
        return self.client_names[: self.kernel_clients] + (self.server_names if self.disk_caches else [])

    @property
    def host_names(self) -> list[str]:
        return self.server_names + self.client_names

    def address(self, name: str) -> str:
        """Address of a host: servers at .11 and on, clients at .111 and on, the machine itself at .1."""
        network = ipaddress.ip_network(self.subnet)
        base = {"server": 10, "client": 110}[name[:6]]
        return str(network.network_address + base + int(name[6:]))

    @property
    def gateway(self) -> str:
        return str(ipaddress.ip_network(self.subnet).network_address + 1)
