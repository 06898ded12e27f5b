"""The testbed's disks: sparse files behind loop devices, which the hosts format with XFS and mount."""

from __future__ import annotations

import json
import os
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from glusterlab.errors import TestbedError
from glusterlab.testbed import headserver
from glusterlab.testbed.drives import ST6000NM0034
from glusterlab.testbed.local import run, write_value
from glusterlab.testbed.options import ARRAY_DISKS, TestbedOptions

DISK_BYTES = int(ST6000NM0034.capacity_bytes)
ARRAY_BYTES = 12 << 40  # a fifth of its drives; a file of ext4 has 16 TiB at most
Kind = Literal["disk", "array"]
_BLOCK = Path("/sys/block")
JOURNAL_BYTES = 65 << 20
"""What an empty XFS takes of its sparse file: seen with 4 and 48 GiB, 64 MiB are its journal."""


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


def mount_points(options: TestbedOptions) -> dict[Kind, list[str]]:
    """Where the bricks of every server are mounted, by kind."""
    return {
        "disk": [f"/bricks/jbod/d{n:02d}" for n in range(1, options.disks + 1)],
        "array": [f"/bricks/raid6/a{n:02d}" for n in range(1, options.arrays + 1)],
    }


def file_system_bytes(options: TestbedOptions) -> dict[Kind, int]:
    """Size of a brick's file system by kind of disk; behind one with a head lies the rest of the drive."""
    return {"disk": options.disk_size_bytes, "array": options.disk_size_bytes * ARRAY_DISKS}


def make(options: TestbedOptions, folder: Path) -> list[Disk]:
    """Make the sparse backing files, in a folder, and loop devices of all servers."""
    sizes = {"disk": DISK_BYTES, "array": ARRAY_BYTES} if options.heads else file_system_bytes(options)
    kinds = mount_points(options).items()
    places = [(host, kind, point) for host in options.server_names for kind, points in kinds for point in points]
    images = {image_of(host, point): kind for host, kind, point in places}
    for image, kind in images.items():
        (folder / image).parent.mkdir(parents=True, exist_ok=True)
        with (folder / image).open("wb") as stream:
            stream.truncate(sizes[kind])
    behind = headserver.begin(folder, images) if options.heads else folder
    made = []
    for host, kind, point in places:
        # without direct I/O the file behind a loop device is cached a second time, on the machine
        direct = [] if options.memory_backed and not options.heads else ["--direct-io=on"]
        device = run(["losetup", "--find", "--show", *direct, behind / image_of(host, point)]).strip()
        # A flush is done at once, as by a controller whose cache outlives a power cut: else each would flush
        # this machine's own disk, which all devices share, at the speed of that and not of the model.
        # The cache of a bare disk with a head does not outlive one, and its model says what a flush takes.
        set_queue(device, "write_cache", "write back" if options.heads and kind == "disk" else "write through")
        made.append(Disk(host, kind, device, device_number(device), point))
    return made


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
