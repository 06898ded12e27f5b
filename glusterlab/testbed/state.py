"""The testbed's state folder: what was made, where, and the files with which others reach the hosts."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import platformdirs

from glusterlab.errors import TestbedError
from glusterlab.testbed import guests
from glusterlab.testbed.disks import Disk, disk_sets, mount_points
from glusterlab.testbed.options import NVME_MODEL, RELEASES, TestbedOptions

SCHEMA_VERSION = 1
MARKER = ".glusterlab-testbed"
SHARED_FOLDER = "/srv/glusterlab-shared"


def state_home() -> Path:
    """Folder of all testbeds of this user; ``GLUSTERLAB_TESTBED_HOME`` names another."""
    chosen = os.environ.get("GLUSTERLAB_TESTBED_HOME")
    # resolved, because the kernel names the files behind loop devices so
    return (Path(chosen) if chosen else Path(platformdirs.user_state_dir("glusterlab")) / "testbed").resolve()


def state_folder(name: str) -> Path:
    """State folder of one testbed."""
    return state_home() / name


def running() -> list[str]:
    """Names of the testbeds whose start ended well."""
    home = state_home()
    return sorted(path.parent.name for path in home.glob("*/cluster.yaml")) if home.is_dir() else []


def default_cluster_file() -> Path | None:
    """cluster.yaml of the running testbed; None where there is none, or more than one to choose from."""
    names = running()
    return state_folder(names[0]) / "cluster.yaml" if len(names) == 1 else None


@dataclass
class State:
    """What `up` made; `gluster`: the GlusterFS of the hosts, as a tree of one's own says it, else of their release."""

    folder: Path
    options: TestbedOptions
    disks: list[Disk] = field(default_factory=list)
    gluster: str = ""

    def __post_init__(self) -> None:
        self.gluster = self.gluster or RELEASES[self.options.release]

    @property
    def runs(self) -> str:
        """What the hosts run, in words."""
        whole = f"Debian {self.options.release}" if self.options.tree is None else "a tree of one's own"
        return f"{whole} with GlusterFS {self.gluster}"

    def host_folder(self, host: str) -> Path:
        return self.folder / "hosts" / host

    def disks_of(self, host: str) -> list[Disk]:
        return [disk for disk in self.disks if disk.host == host]

    def save(self) -> None:
        content = {
            "schema_version": SCHEMA_VERSION,
            "options": asdict(self.options),
            "disks": [asdict(disk) for disk in self.disks],
            "gluster": self.gluster,
        }
        partial = self.folder / "state.json.partial"
        partial.write_text(json.dumps(content, indent=1, sort_keys=True) + "\n", encoding="utf-8")
        partial.rename(self.folder / "state.json")

    @classmethod
    def load(cls, folder: Path) -> State:
        path = folder / "state.json"
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
            version = content["schema_version"]
            if version > SCHEMA_VERSION:
                raise TestbedError(f"{path} is of a newer glusterlab (schema {version}): take it down with that")
            made = [Disk(**disk) for disk in content["disks"]]
            return cls(folder, TestbedOptions(**content["options"]), made, content.get("gluster", ""))
        except FileNotFoundError as error:
            raise TestbedError(
                f"no testbed is running at {folder}: start one with 'glusterlab testbed up'", exit_code=1
            ) from error
        except OSError as error:
            raise TestbedError(f"{path} cannot be read: {error.strerror}; is this the user who started it?") from error
        except (ValueError, KeyError, TypeError) as error:
            what = f"{path} is damaged, or of another glusterlab ({error})"
            raise TestbedError(f"{what}: 'glusterlab testbed down' removes what is left") from error


def _backings(options: TestbedOptions) -> dict[str, Any]:
    """A server with more disks than a standard one has two sets: the first disks stand for it, all for a dense one."""
    points, array_disks, array = mount_points(options), options.array_disks, options.array_kind
    disks, arrays, nvme = disk_sets(options)["jbod"], points["array"], points["nvme"]

    def backing(kind: str, bricks: list[str], disks_per_brick: int) -> dict[str, Any]:
        model = "standard" if len(bricks) * disks_per_brick <= array_disks else "dense"
        return {"kind": kind, "bricks": bricks, "disks_per_brick": disks_per_brick, "server_model": model}

    backings = {}
    if disks:
        backings["jbod"] = backing("jbod", disks[:array_disks], 1)
    if arrays:
        backings[array] = backing(array, arrays[:1], array_disks)
    if len(disks) > array_disks:
        backings["jbod-dense"] = backing("jbod", disks, 1)
    if len(arrays) > 1:
        backings[f"{array}-dense"] = backing(array, arrays, array_disks)
    backings |= {name: backing(name, points, 1) for name, points in disk_sets(options).items() if name != "jbod"}
    if nvme and not options.disk_caches:
        # of whichever server: what it is beside its data disks
        backings["nvme"] = {"kind": "nvme", "bricks": nvme, "disks_per_brick": 1}
    return backings


_AGEING = ("attribute-timeout", "entry-timeout")


def cluster_specification(state: State) -> dict[str, Any]:
    """The testbed as the content of a cluster.yaml."""
    options = state.options
    backings = _backings(options)
    kinds = {kind: device for kind, device in options.devices.items() if kind != "nvme" or options.nvme}
    drives = {"nvme": f"{options.nvme} x {NVME_MODEL}"} if options.nvme else {}
    hosts = [{"name": host, "address": options.address(host), "interface": "eth0"} for host in options.host_names]
    stated = ("disk_latency", "disk_operations") if options.latencies else ()
    own = f"; the first {options.kernel_clients} clients have a kernel of their own (User-Mode Linux)"
    servers_are = "; servers have a kernel of their own, too, for the caches of their disks (dm-cache)"
    devices = {host: [Path(disk.device).name for disk in state.disks_of(host)] for host in options.server_names}
    if options.disk_caches:
        devices = {host: list(guests.devices(state.disks_of(host)).values()) for host in devices}
    return {
        "schema_version": 1,
        "name": f"testbed-{options.name}",
        "description": f"GlusterFS on one machine, a scale model; hosts run {state.runs}"
        + (own if options.kernel_clients else "")
        + (servers_are if options.disk_caches else ""),
        "ssh": {"config": "ssh_config", "user": "root", "check_host_keys": True, "connect_timeout": "10 s"},
        "servers": [{**host, "devices": devices[host["name"]]} for host in hosts if host["name"] in devices],
        "clients": [host for host in hosts if host["name"] not in devices],
        "hardware": {
            "disks_per_server": options.disks or options.arrays * options.array_disks,
            **{f"{kind}_read": f"{device.read_bytes_per_s / 1e6:g} MB/s" for kind, device in kinds.items()},
            **{f"{kind}_write": f"{device.write_bytes_per_s / 1e6:g} MB/s" for kind, device in kinds.items()},
            **{f"{role}_link": f"{rate * 8 / 1e9:g} Gbit/s" for role, rate in options.links.items()},
            **{name: value for name, value in (options.hardware or {}).items() if name in stated},
        },
        "server_models": {
            name: {**options.server_models[name], **drives}
            for name in dict.fromkeys(b["server_model"] for b in backings.values() if "server_model" in b)
        },
        "backings": backings,
        "shared_dir": SHARED_FOLDER,
        "telemetry": {"interval": "2 s"},
        "scale_models": {
            name: {
                "scale": model.scale,
                "operations": model.operations,
                **({"heads": True} if model.heads else {}),
                # Files are this many times slower, and what a client has looked up ages in true time: with the
                # second for which it is good, each would cost a look at every directory above it, on every brick.
                **({"mount_options": [f"{each}={model.scale:g}" for each in _AGEING]} if model.stretched else {}),
            }
            for name, model in options.models.items()
        },
        "testbed": {"name": options.name, "state": str(state.folder)},
    }


def local_specification(state: State) -> dict[str, Any]:
    """The file system of the first server's first brick, measured there without GlusterFS, as a cluster.yaml."""
    whole = cluster_specification(state)
    first = state.disks[0]
    return whole | {
        "name": f"{whole['name']}-local",
        "description": f"the file system of {first.host}'s {first.mount_point} alone; {whole['description']}",
        "servers": [],
        "clients": whole["servers"][:1],
        "backings": {},
        "existing": {"path": first.mount_point},
    }
