"""The testbed's disks: sparse files behind loop devices, which the hosts format with XFS and mount."""

import json
import os
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from filelock import FileLock

from glusterlab.errors import TestbedError
from glusterlab.testbed import headserver
from glusterlab.testbed.drives import ST6000NM0034
from glusterlab.testbed.local import run, write_value
from glusterlab.testbed.options import ARRAY_DISKS, TestbedOptions

DISK_BYTES = int(ST6000NM0034.capacity_bytes)
ARRAY_BYTES = 12 << 40  # a fifth of its drives; a file of ext4 has 16 TiB at most
Kind = Literal["disk", "array", "nvme"]
BRICK_OPTIONS = "noatime,inode64"  # as host-init.sh mounts them
_BLOCK = Path("/sys/block")
CHUNK = 64 << 10
"""Bytes of a block of a cache, as lvmcache takes them."""


@dataclass(frozen=True)
class Disk:
    """A brick device of a server, such as ``/dev/loop7``; `number`: the kernel's ``major:minor``.

    An array is a RAID 6 modelled as one device of the array's speed.
    """

    host: str
    kind: Kind
    device: str
    number: str
    mount_point: str

    @property
    def spins(self) -> bool:
        """Whether it can lie behind heads."""
        return self.kind != "nvme"


def disk_sets(options: TestbedOptions) -> dict[str, list[str]]:
    """Where the single disks of every server are mounted, by the name of their backing: without a cache, and with."""
    names = ["jbod", *(f"jbod-{mode}" for mode in options.disk_caches)]
    first = {name: n * options.disks + 1 for n, name in enumerate(names)}
    return {
        name: [f"/bricks/{name}/d{n:02d}" for n in range(start, start + options.disks)] for name, start in first.items()
    }


def cache_meta_bytes(cache_bytes: int) -> int:
    """Room for what dm-cache knows of the blocks of one cache: 4 MiB and 16 bytes for each, with as much to spare."""
    return (8 << 20) + cache_bytes // CHUNK // 1024 * CHUNK


def mount_points(options: TestbedOptions) -> dict[Kind, list[str]]:
    """Where the bricks of every server are mounted, by kind."""
    return {
        "disk": [point for points in disk_sets(options).values() for point in points],
        "array": [f"/bricks/raid6/a{n:02d}" for n in range(1, options.arrays + 1)],
        "nvme": [f"/bricks/nvme/n{n:02d}" for n in range(1, options.nvme + 1)],
    }


def file_system_bytes(options: TestbedOptions) -> dict[Kind, int]:
    """Size of a brick's file system by kind of disk; behind one with a head lies the rest of the drive."""
    size = options.disk_size_bytes
    caches = (options.all_disks - options.disks) * (cache_meta_bytes(options.cache_bytes) + options.cache_bytes)
    return {"disk": size, "array": size * ARRAY_DISKS, "nvme": caches or size}


def make(options: TestbedOptions, folder: Path) -> list[Disk]:
    """Make the sparse backing files, in a folder, and loop devices of all servers."""
    sizes = file_system_bytes(options)
    if options.heads:
        sizes |= {"disk": DISK_BYTES, "array": ARRAY_BYTES}
    kinds = mount_points(options).items()
    places = [(host, kind, point) for host in options.server_names for kind, points in kinds for point in points]
    images = {image_of(host, point): kind for host, kind, point in places}
    for image, kind in images.items():
        (folder / image).parent.mkdir(parents=True, exist_ok=True)
        with (folder / image).open("wb") as stream:
            stream.truncate(sizes[kind])
    if options.heads:
        latencies = options.latencies
        spinning = {image: latencies.get(kind, kind) for image, kind in images.items() if kind != "nvme"}
        headserver.begin(folder, spinning)
    made = []
    for host, kind, point in places:
        with _loops(folder):
            device = _attach(folder / image_of(host, point), direct=not options.memory_backed)
        made.append(Disk(host, kind, device, device_number(device), point))
    return made


def _attach(file: Path, device: str | None = None, *, direct: bool, cached: bool = False) -> str:
    # without direct I/O the file behind a loop device is cached a second time, on the machine
    place: list[str | Path] = [device, file] if device else ["--find", "--show", file]
    found = run(["losetup", *(["--direct-io=on"] if direct else []), *place])
    device = device or found.strip()
    # A flush is done at once, as by a controller whose cache outlives a power cut: else each would flush
    # this machine's own disk, which all devices share, at the speed of that and not of the model.
    # The cache of a bare disk with a head does not outlive one, and its model says what a flush takes.
    set_queue(device, "write_cache", "write back" if cached else "write through")
    return device


def move(disks: list[Disk], folder: Path, inits: Mapping[str, int], *, heads: bool, direct: bool) -> None:
    """Put disks that nobody uses behind their heads, or back on their files; `inits`: a process of each host.

    What has heads goes through a Python process, byte by byte: at the rates of large files that would be the limit.
    """

    def one(host: str) -> None:
        mine = [disk for disk in disks if disk.host == host]
        inside = ["nsenter", f"--mount=/proc/{inits[host]}/ns/mnt"]
        # what cannot be unmounted cannot be attached anew, which fails below
        run([*inside, "umount", *(disk.mount_point for disk in mine)], check=False)
        for disk in mine:
            file = folder / (headserver.MOUNT if heads else "") / image_of(host, disk.mount_point)
            with _loops(folder):
                behind = _backing_file(disk)
                if behind is not None and folder not in behind.parents:
                    raise TestbedError(
                        f"{disk.device} of {host} was taken for {behind}: 'glusterlab testbed down', 'up'"
                    )
                run(["losetup", "--detach", disk.device], check=False)
                _attach(file, disk.device, direct=heads or direct, cached=heads and disk.kind == "disk")
        mounts = [f"mount -t xfs -o {BRICK_OPTIONS} {disk.device} {disk.mount_point}\n" for disk in mine]
        run([*inside, "sh", "-e"], stdin="".join(mounts))

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(one, {disk.host for disk in disks}))


def _loops(folder: Path) -> FileLock:
    # a device that is detached to be attached anew must not become another testbed's meanwhile
    return FileLock(folder.parent.parent / "loops.lock", timeout=120)


def _backing_file(disk: Disk) -> Path | None:
    try:
        return Path((_BLOCK / Path(disk.device).name / "loop/backing_file").read_text(encoding="utf-8").strip())
    except OSError:
        return None


def has_head(disk: Disk) -> bool | None:
    """Whether a disk lies behind its head now; None where it lies on nothing."""
    behind = _backing_file(disk)
    return None if behind is None else behind.parts[-3] == headserver.MOUNT


def image_of(host: str, mount_point: str) -> str:
    """Name of a disk's file below the folder of all disks."""
    return f"{host}/{Path(mount_point).name}.img"


def set_queue(device: str, what: str, value: str) -> None:
    """Set a parameter of a block device's queue."""
    write_value(_BLOCK / Path(device).name / "queue" / what, value)


def device_number(device: str) -> str:
    """The kernel's ``major:minor`` of a block device."""
    status = Path(device).stat()
    return f"{os.major(status.st_rdev)}:{os.minor(status.st_rdev)}"


def backing_files() -> dict[str, str]:
    """The file behind each loop device of this machine, deleted ones included."""
    listing = run(["losetup", "--list", "--json", "--output", "NAME,BACK-FILE"])
    devices = json.loads(listing)["loopdevices"] if listing.strip() else []
    return {entry["name"]: str(entry["back-file"]) for entry in devices}


def attached(folder: Path) -> list[str]:
    """Loop devices whose backing file lies below a folder."""
    return [device for device, file in backing_files().items() if file.startswith(f"{folder}/")]


def remove(folder: Path) -> None:
    """Detach all loop devices below a folder, and wait until the kernel has let them go."""
    deadline = time.monotonic() + 60.0
    while left := attached(folder):
        for device in left:
            # who gets the loop device next counts on its flushes; a kernel that refuses must not keep it attached
            with suppress(TestbedError):
                set_queue(device, "write_cache", "write back")
            run(["losetup", "--detach", device], check=False)
        if not attached(folder):
            return
        if time.monotonic() > deadline:
            raise TestbedError(f"the loop devices {', '.join(left[:4])} stay in use; run 'down' again in a minute")
        time.sleep(0.2)
