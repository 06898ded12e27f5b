"""The cluster: its hosts, their roles, disks and links, and where bricks may lie (``cluster.yaml``)."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

from pydantic import (
    BeforeValidator,
    Discriminator,
    Field,
    PlainSerializer,
    Tag,
    ValidationInfo,
    field_validator,
    model_validator,
)

from glusterlab.spec.fields import (
    Count,
    Duration,
    HostPath,
    Label,
    LaterFields,
    Rate,
    Size,
    SpecModel,
    Text,
    describe,
    kind_of,
    problem,
)

Role = Literal["server", "client"]

HOST_FORM = r"^[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?$"
HostName = Annotated[str, Field(pattern=HOST_FORM, max_length=253)]
Address = Annotated[str, Field(pattern=r"^[A-Za-z0-9:]([A-Za-z0-9.:%_-]*[A-Za-z0-9])?$", max_length=253)]
Device = Annotated[
    str,
    Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.!-]*$", max_length=60),
    BeforeValidator(lambda name: name.removeprefix("/dev/") if isinstance(name, str) else name),
]
BlockDevice = Annotated[HostPath, Field(pattern=r"^/dev/[A-Za-z0-9][A-Za-z0-9/_.:+@=-]*$", max_length=250)]
Interface = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.:-]*$", max_length=15)]

Scale = Annotated[
    float,
    Field(strict=True, ge=1, le=100_000),
    PlainSerializer(lambda scale: int(scale) if scale == int(scale) else scale, when_used="json"),
]


def _local_path(value: object, info: ValidationInfo) -> Path:
    if not isinstance(value, (str, Path)) or not str(value) or "\0" in str(value):
        raise ValueError(f"expected a path, found {describe(value)}")
    path = Path(value).expanduser()
    folder = (info.context or {}).get("folder")
    return path if folder is None else Path(os.path.normpath(folder / path))


LocalPath = Annotated[Path, BeforeValidator(_local_path), PlainSerializer(str, return_type=str, when_used="json")]
"""A path on the controller; in a file it is relative to that file."""


class ScaleModel(LaterFields):
    """By how much the hardware under a cell is slowed down; its name is no part of a cell's identity."""

    later = frozenset({"heads"})

    name: Label
    scale: Scale = 1.0
    operations: Annotated[bool, Field(strict=True)] = False
    heads: Annotated[bool, Field(strict=True)] = False


REAL_HARDWARE = ScaleModel(name="real")
"""The model of a cluster that is what it is."""


MountOption = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_-]*(=[A-Za-z0-9._:/-]+)?$", max_length=200)]


class ScaleParameters(SpecModel):
    """One entry of ``scale_models``."""

    scale: Scale = Field(description="the hardware is this many times slower")
    operations: Annotated[bool, Field(strict=True, description="scale operations per second of disks, too")] = False
    heads: Annotated[bool, Field(strict=True, description="disks have heads, which seek, or disk_latency")] = False
    mount_options: tuple[MountOption, ...] = Field(
        default=(), description="of the native client under this model, for what expires in true time"
    )


class Host(SpecModel):
    """One machine of the cluster."""

    name: HostName
    address: Address = Field(
        default="", validate_default=False, description="what SSH and Gluster connect to; default: the name"
    )
    devices: tuple[Device, ...] = Field(default=(), description="block devices of the bricks, for sar, without /dev/")
    interface: Interface = Field(default="eth0", description="the interface that the volume's traffic uses")

    @model_validator(mode="before")
    @classmethod
    def _address_is_name(cls, data: Any) -> Any:
        if not isinstance(data, dict) or data.get("address"):
            return data
        name = data.get("name")
        # a name that is none has an error of its own, and needs no second one
        fit = isinstance(name, str) and re.fullmatch(HOST_FORM, name)
        return {**data, "address": name if fit else "unknown"}


class Ssh(SpecModel):
    """How the controller reaches the hosts."""

    config: LocalPath | None = Field(
        default=None, description="an ssh_config, relative to this file; default: the user's own"
    )
    user: Annotated[str, Field(pattern=r"^[a-z_][a-z0-9_.-]*$")] = "root"
    check_host_keys: Annotated[bool, Field(strict=True)] = True
    connect_timeout: Duration = 10.0


BackingKind = Literal["jbod", "raid6", "raid0", "raid10", "nvme", "jbod-write-through", "jbod-write-back"]
"""What bricks lie on; of the last two each is a single disk behind a block cache on NVMe (dm-cache)."""
CACHED_KINDS = ("jbod-write-through", "jbod-write-back")


class Hardware(SpecModel):
    """What the cluster is made of: of the real hardware, unscaled, also where a testbed stands for it."""

    disks_per_server: Count
    disk_write: Rate = Field(description="sequential write rate of one disk, from a baseline or data sheet")
    disk_read: Rate = Field(description="sequential read rate of one disk")
    array_write: Rate | None = Field(default=None, description="sequential write rate of one RAID array")
    array_read: Rate | None = Field(default=None, description="sequential read rate of one RAID array")
    array_kind: BackingKind | None = Field(default=None, description="of the arrays that a testbed stands for: raid6")
    nvme_write: Rate | None = Field(default=None, description="sequential write rate of one NVMe drive")
    nvme_read: Rate | None = Field(default=None, description="sequential read rate of one NVMe drive")
    disk_operations: float | None = Field(default=None, gt=0, description="random operations per second of one disk")
    disk_latency: Duration | None = Field(
        default=None,
        gt=0,
        description="of a disk, such as a cloud's, whose requests each take so long, any number of them at once",
    )
    server_link: Rate = Field(description="network rate of one server, each way")
    client_link: Rate = Field(description="network rate of one client, each way")
    disk_model: Text | None = None
    server_model: Text | None = None
    client_model: Text | None = None
    cpu_model: Text | None = None
    raid_controller: Text | None = None
    memory_per_server: Text | None = None
    memory_per_client: Text | None = None
    switch: Text | None = None
    notes: Text | None = None

    def brick_rate(self, backing: Backing, operation: str) -> float:
        """Bytes per second of one brick in sequential writes or reads, at full size."""
        disk, array, nvme = (
            (self.disk_write, self.array_write, self.nvme_write)
            if operation == "write"
            else (self.disk_read, self.array_read, self.nvme_read)
        )
        if backing.kind.startswith("raid") and backing.disks_per_brick > 1 and array is not None:
            return array
        return (nvme if backing.kind == "nvme" and nvme is not None else disk) * backing.disks_per_brick


RAID6_DISKS = 4
"""Fewest disks of a RAID 6 array: two of them are parity."""


class ServerModel(SpecModel):
    """A kind of server as it is bought: what a server with a backing's disks is, or stands for."""

    model: Text
    disks: Count = Field(description="data disks in its bays")
    disk_model: Text | None = None
    disk_capacity: Size | None = Field(default=None, description="of one data disk, such as 6 TB")
    cpu_model: Text | None = None
    memory: Text | None = None
    network: Text | None = None
    raid_controller: Text | None = None
    nvme: Text | None = None


class Backing(SpecModel):
    """Where bricks may lie, the same on every server: in directories below mounted file systems, made and marked here.

    File systems are made by ``glusterlab prepare`` alone, and only where devices are named.
    """

    bricks: tuple[HostPath, ...] = Field(min_length=1)
    disks_per_brick: Count = 1
    kind: BackingKind
    devices: (
        Annotated[
            Annotated[tuple[BlockDevice, ...], Tag("<plain>")]
            | Annotated[dict[HostName, tuple[BlockDevice, ...]], Tag("<mapping>")],
            Discriminator(kind_of),
        ]
        | None
    ) = Field(
        default=None, description="one block device per brick, for 'glusterlab prepare': of all servers, or by server"
    )
    wipe: Annotated[bool, Field(strict=True)] | None = Field(
        default=None, description="whether 'glusterlab prepare' may wipe devices that are not blank"
    )
    stripe_unit: Size | None = Field(default=None, description="chunk of the RAID array, for mkfs.xfs (su)")
    stripe_width: Count | None = Field(default=None, description="data disks of the RAID array, for mkfs.xfs (sw)")
    server_model: Label | None = Field(
        default=None, description="the entry of server_models that a server with these disks is, or stands for"
    )

    @model_validator(mode="after")
    def _devices_fit(self) -> Backing:
        if self.kind == "raid6" and self.disks_per_brick < RAID6_DISKS:
            message = f"expected at least {RAID6_DISKS} disks in a RAID 6 array, found {self.disks_per_brick}"
            raise problem(message, "disks_per_brick")
        by_server = self.devices if isinstance(self.devices, dict) else {"": self.devices or ()}
        for server, devices in by_server.items():
            at = ("devices", server) if server else ("devices",)
            if self.devices is not None and len(devices) != len(self.bricks):
                raise problem(f"expected {len(self.bricks)} devices, one per brick, found {len(devices)}", *at)
            if len(set(devices)) < len(devices):
                raise problem("expected each device once, found one twice", *at)
        if (self.stripe_unit is None) != (self.stripe_width is None):
            raise problem("expected stripe_unit and stripe_width together, found one of them")
        return self

    def devices_of(self, server: str) -> tuple[str, ...]:
        """The devices of one server's bricks, in their order; none where none are named."""
        if isinstance(self.devices, dict):
            return self.devices.get(server, ())
        return self.devices or ()


class SmallfileSource(SpecModel):
    """Where the controller keeps its checkout of smallfile."""

    checkout: LocalPath


class Telemetry(SpecModel):
    """How sar samples the hosts."""

    interval: Duration = 2.0

    @field_validator("interval")
    @classmethod
    def _whole_seconds(cls, value: float) -> float:
        if value != int(value):
            raise ValueError(f"expected whole seconds of at least 1 s, as sar counts, found {value:g} s")
        return value


Served = Literal["nfs3", "nfs4", "smb"]
"""Accesses by a server of their own on each server, and a client in the kernel."""

SERVED: tuple[Served, ...] = get_args(Served)


class AccessSettings(SpecModel):
    """How clients mount volumes by NFS or SMB."""

    options: tuple[MountOption, ...] = Field(default=(), description="of the mount, beside the suite's own or instead")
    addresses: dict[HostName, Address] = Field(
        default={}, description="by server, what clients mount from, such as a VIP; default: the server's address"
    )


class Existing(SpecModel):
    """A directory that the operator mounted on all clients, of any file system: what access ``existing`` measures."""

    path: HostPath = Field(description="the suite works in PATH/glusterlab, which it makes, marks and removes")

    @property
    def work(self) -> str:
        """The suite's own directory in it."""
        return f"{self.path}/glusterlab"


class TestbedMark(SpecModel):
    """Present when the cluster is a scale model on one machine."""

    __test__ = False

    name: Label
    state: LocalPath


class Cluster(SpecModel):
    """A GlusterFS pool with its clients, as ``cluster.yaml`` describes it."""

    schema_version: Literal[1]
    name: Label
    description: Text | None = None
    ssh: Ssh = Ssh()
    servers: tuple[Host, ...] = Field(description="none where only 'existing' is measured, and its servers are closed")
    clients: tuple[Host, ...] = Field(min_length=1)
    hardware: Hardware
    server_models: dict[Label, ServerModel] = Field(default={})
    backings: dict[Label, Backing] = Field(description="none where only 'existing' is measured: no volume is made then")
    work_dir: HostPath = Field(default="/var/tmp/glusterlab", description="on every host; the suite makes and marks it")
    mount_root: HostPath = Field(default="/mnt/glusterlab", description="on clients; a volume is mounted below it")
    mount_options: tuple[MountOption, ...] = Field(
        default=(), description="of the native client, such as entry-timeout=10; the suite adds the other servers"
    )
    access: dict[Served, AccessSettings] = Field(default={}, description="of NFS and SMB, where it is not as usual")
    existing: Existing | None = None
    shared_dir: HostPath | None = Field(default=None, description="seen by all clients, off the volume under test")
    smallfile: SmallfileSource | None = None
    telemetry: Telemetry = Telemetry()
    scale_models: dict[Label, ScaleParameters] = Field(default={})
    testbed: TestbedMark | None = None

    @model_validator(mode="after")
    def _consistent(self) -> Cluster:
        self._check_hosts()
        self._check_backings()
        self._check_devices()
        if self.scale_models and self.testbed is None:
            raise problem("scale models belong to a testbed, and this cluster has no 'testbed' key", "scale_models")
        return self

    def _check_hosts(self) -> None:
        for key in ("servers", "backings"):
            if not getattr(self, key) and (self.existing is None or self.backings):
                raise problem("expected at least one, found none: only 'existing' needs none", key)
        names: dict[str, str] = {}
        addresses: dict[str, str] = {}
        for group, hosts in (("servers", self.servers), ("clients", self.clients)):
            for n, host in enumerate(hosts):
                if where := names.get(host.name):
                    raise problem(f"expected each host once, found {host.name!r} also in {where}", group, n, "name")
                if other := addresses.get(host.address):
                    raise problem(f"expected an address of its own, found that of {other!r}", group, n, "address")
                names[host.name], addresses[host.address] = group, host.name

        for access, settings in self.access.items():
            for name in settings.addresses.keys() - {server.name for server in self.servers}:
                raise problem(f"expected a server of the cluster, found {name!r}", "access", access, "addresses")

    def _check_devices(self) -> None:
        servers = {server.name for server in self.servers}
        used: dict[tuple[str, str], str] = {}
        for name, backing in self.backings.items():
            if isinstance(backing.devices, dict) and (wrong := servers ^ set(backing.devices)):
                message = f"expected the devices of every server and of no other, found a difference at {min(wrong)}"
                raise problem(message, "backings", name, "devices")
            for server in sorted(servers):
                for device in backing.devices_of(server):
                    other = used.setdefault((server, device), name)
                    if other != name:
                        message = f"expected a device for one brick, found {device} of {server} also in {other}"
                        raise problem(message, "backings", name, "devices")

    def _check_backings(self) -> None:
        places: dict[str, str] = {}
        named = {key: getattr(self, key) for key in ("work_dir", "mount_root", "shared_dir")}
        if self.existing is not None:
            named["existing"] = self.existing.path
        for key, path in named.items():
            if path is not None:
                _apart(path, places, "a directory apart from {}", key)
                places[key] = path
        for name, backing in self.backings.items():
            if backing.server_model is not None and backing.server_model not in self.server_models:
                known = ", ".join(self.server_models) or "none"
                message = f"expected one of server_models ({known}), found {backing.server_model!r}"
                raise problem(message, "backings", name, "server_model")
            # a small testbed may model an array of more disks than it has
            if self.testbed is None and len(backing.bricks) * backing.disks_per_brick > self.hardware.disks_per_server:
                found = f"{len(backing.bricks)} bricks of {backing.disks_per_brick}"
                most = self.hardware.disks_per_server
                raise problem(f"expected at most the {most} disks of a server, found {found}", "backings", name)
            for n, root in enumerate(backing.bricks):
                at = ("backings", name, "bricks", n)
                _apart(root, dict(enumerate(backing.bricks[:n])), "file systems apart", *at)
                _apart(root, places, "bricks apart from {}", *at)

    @property
    def hosts(self) -> tuple[Host, ...]:
        """Servers, then clients."""
        return self.servers + self.clients

    @property
    def work_places(self) -> tuple[str, ...]:
        """Directories that nothing but the suite's processes works in; where volumes are mounted comes first."""
        return (self.mount_root, self.work_dir, *([] if self.existing is None else [self.existing.work]))

    @property
    def is_testbed(self) -> bool:
        """Whether this is a scale model on one machine."""
        return self.testbed is not None

    def host(self, name: str) -> Host:
        """The host of that name."""
        return {host.name: host for host in self.hosts}[name]

    def role(self, name: str) -> Role:
        """What a host is for."""
        return "server" if self.host(name) in self.servers else "client"

    def scale_model(self, name: str) -> ScaleModel:
        """The scale model of that name."""
        return ScaleModel(name=name, **self.scale_models[name].model_dump(exclude={"mount_options"}))

    def mount_options_of(self, model: str) -> tuple[str, ...]:
        """How volumes are mounted under a scale model; where it has no options of its own, as everywhere."""
        parameters = self.scale_models.get(model)
        return self.mount_options + (() if parameters is None else parameters.mount_options)

    def smallfile_checkout(self, environ: Mapping[str, str] = os.environ) -> Path | None:
        """The controller's smallfile: ``smallfile.checkout``, else ``GLUSTERLAB_SMALLFILE``; None where at neither."""
        named = self.smallfile.checkout if self.smallfile else None
        if named is None and environ.get("GLUSTERLAB_SMALLFILE"):
            named = Path(environ["GLUSTERLAB_SMALLFILE"]).expanduser().absolute()
        return named if named is not None and (named / "smallfile_cli.py").is_file() else None


def _apart(path: str, others: Mapping[Any, str], expected: str, *at: str | int) -> None:
    """Refuse a directory that lies in one of `others`, or one of them in it; `expected` may name which one."""
    for key, other in others.items():
        if path == other or path.startswith(other + "/") or other.startswith(path + "/"):
            raise problem(f"expected {expected.format(key)}, found {path} and {other}", *at)
