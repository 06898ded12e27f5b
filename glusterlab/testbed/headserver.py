"""Disks with a model: one process serves a file per disk by FUSE and delays each request as the model says.

Loop devices lie on its files, and its own file `control` takes a scale and says what was served. It ends when its mount
is gone, and so outlives the command that started it. Without a scale nothing is delayed.
"""

import errno
import json
import os
import stat
import sys
import threading
import time
from collections.abc import Callable, Mapping
from ctypes.util import find_library
from dataclasses import dataclass
from importlib.util import find_spec
from mmap import mmap
from pathlib import Path
from typing import Any

from glusterlab.errors import TestbedError
from glusterlab.testbed.drives import RAID6, ST6000NM0034
from glusterlab.testbed.heads import Done, Head, Latency, Raid6, Timeline
from glusterlab.testbed.local import end_all, mounts_below, processes, run, start_until, unmount_below

MOUNT, CONTROL, DEVICES = "heads", "control", "heads.json"
_THREADS = 1024  # a request that waits holds one
_WRITE_BYTES = 1 << 20  # FUSE's most in one request
Kind = str | dict[str, float]
"""What a file stands for: a ``disk`` or an ``array`` of the guide's, or what `Latency` takes."""
_IN_FLIGHT = 65535  # the kernel's most; its default of 12 would be a queue of its own before the disks'


@dataclass
class _Disk:
    file: int
    direct: int
    kind: Kind
    pace: float = 1.0
    model: Head | Raid6 | Latency | None = None

    def made(self, timeline: Timeline) -> Head | Raid6 | Latency:
        if isinstance(self.kind, dict):
            return Latency(**self.kind, timeline=timeline)
        return Head(ST6000NM0034, timeline) if self.kind == "disk" else Raid6(RAID6, ST6000NM0034, timeline)


class Server:
    """The FUSE operations; `scale` and `slow` come by the control file."""

    use_ns = True

    def __init__(self, images: Path, kinds: Mapping[str, Kind]) -> None:
        self._disks = {
            f"/{name}": _Disk(os.open(images / name, os.O_RDONLY), _open_direct(images / name), kind)
            for name, kind in kinds.items()
        }
        self._buffers: list[mmap] = []
        self._folders = {"/", *(str(Path(name).parent) for name in self._disks)}
        self._changed = threading.Condition()
        self._timelines: dict[float, Timeline] = {}
        self._waiting: set[threading.Event] = set()
        self._scale: float | None = None
        self._said: dict[int, bytes] = {}
        self._handles = 0
        self._began, self._nearest = 0.0, float("inf")
        threading.Thread(target=self._keep_time, daemon=True).start()

    def set(self, scale: float | None, slow: dict[str, float]) -> None:
        """Begin anew at a scale, with cold caches and heads at the first byte; None delays nothing."""
        with self._changed:
            for event in self._waiting:
                event.set()
            self._waiting.clear()
            self._scale, self._began, self._timelines = scale, time.monotonic(), {}
            for name, disk in self._disks.items():
                disk.pace = (scale or 1.0) * slow.get(name[1:], 1.0)
                timeline = self._timelines.setdefault(disk.pace, Timeline())
                disk.model = None if scale is None else disk.made(timeline)
            self._changed.notify()

    def _wait(self, disk: _Disk, ask: Callable[[Head | Raid6 | Latency, Done], None]) -> None:
        event = threading.Event()

        def done() -> None:
            self._waiting.discard(event)
            event.set()

        with self._changed:
            if disk.model is None:
                return
            self._waiting.add(event)
            timeline = disk.model.timeline
            timeline.advance((time.monotonic() - self._began) / disk.pace)
            ask(disk.model, done)
            if self._began + timeline.next * disk.pace < self._nearest:
                self._changed.notify()
        event.wait()

    def _keep_time(self) -> None:
        with self._changed:
            while True:
                for pace, timeline in self._timelines.items():
                    timeline.advance((time.monotonic() - self._began) / pace)
                ends = (self._began + timeline.next * pace for pace, timeline in self._timelines.items())
                self._nearest = min(ends, default=float("inf"))
                left = self._nearest - time.monotonic()
                if left > 0:
                    self._changed.wait(None if left == float("inf") else left)

    def init_with_config(self, connection: Any, _config: Any) -> None:
        connection.max_background = connection.congestion_threshold = _IN_FLIGHT

    def getattr(self, path: str, _handle: int | None = None) -> dict[str, int]:
        if path in self._folders:
            return {"st_mode": stat.S_IFDIR | 0o700, "st_nlink": 2}
        if path == f"/{CONTROL}":
            return {"st_mode": stat.S_IFREG | 0o600, "st_nlink": 1, "st_size": 0}
        return {"st_mode": stat.S_IFREG | 0o600, "st_nlink": 1, "st_size": os.fstat(self._disk(path).file).st_size}

    def readdir(self, path: str, _handle: int) -> list[str]:
        names = {*self._disks, *self._folders, f"/{CONTROL}"} - {"/"}
        return [".", "..", *sorted(Path(name).name for name in names if str(Path(name).parent) == path)]

    def open(self, path: str, _flags: int) -> int:
        if path != f"/{CONTROL}":
            self._disk(path)
            return 0
        with self._changed:
            self._handles += 1
            self._said[self._handles] = json.dumps(self.status()).encode()  # one answer for all reads of a handle
            return self._handles

    def release(self, _path: str, handle: int) -> int:
        self._said.pop(handle, None)
        return 0

    def truncate(self, _path: str, _length: int, _handle: int | None = None) -> int:
        return 0

    def read(self, path: str, size: int, offset: int, handle: int) -> bytes:
        if path == f"/{CONTROL}":
            return self._said[handle][offset : offset + size]
        disk = self._disk(path)
        data = os.pread(disk.file, size, offset)
        self._wait(disk, lambda model, done: model.read(offset, size, done))
        return data

    def write(self, path: str, data: bytes, offset: int, _handle: int) -> int:
        if path == f"/{CONTROL}":
            self.set(**json.loads(data))
            return len(data)
        disk = self._disk(path)
        for at in range(0, len(data), _WRITE_BYTES):
            self._put(disk, data[at : at + _WRITE_BYTES], offset + at)
        self._wait(disk, lambda model, done: model.write(offset, len(data), done))
        return len(data)

    def _put(self, disk: _Disk, data: bytes, offset: int) -> None:
        # In the page cache it would wait until the machine has fewer unwritten data, which wait for this process.
        try:
            buffer = self._buffers.pop()
        except IndexError:
            buffer = mmap(-1, _WRITE_BYTES)  # direct I/O is from whole pages
        buffer[: len(data)] = data
        with memoryview(buffer) as view, view[: len(data)] as part:
            written = os.pwritev(disk.direct, [part], offset)
        self._buffers.append(buffer)
        if written != len(data):
            raise OSError(errno.EIO, f"{written} of {len(data)} bytes written")

    def fsync(self, path: str, _data_only: int, _handle: int) -> int:
        # the model's flush, not one of this machine's disk, which all share
        if path != f"/{CONTROL}":
            self._wait(self._disk(path), lambda model, done: model.flush(done))
        return 0

    def _disk(self, path: str) -> _Disk:
        if path not in self._disks:
            raise FileNotFoundError(2, "no such disk", path)
        return self._disks[path]

    def status(self) -> dict[str, Any]:
        """What is in effect, and what each disk did since: in the hardware's time."""
        with self._changed:
            seconds = (time.monotonic() - self._began) / (self._scale or 1.0)
            served = {}
            for name, disk in self._disks.items():
                if disk.model is not None:
                    heads = disk.model.heads if isinstance(disk.model, Raid6) else [disk.model]
                    seeks = sum(head.counts["seeks"] for head in heads)
                    busy = disk.model.busy_s / len(heads)
                    served[name[1:]] = {**disk.model.counts, "seeks": seeks, "busy_s": round(busy, 6)}
            return {"scale": self._scale, "hardware_s": seconds, "waiting": len(self._waiting), "disks": served}


def _open_direct(image: Path) -> int:
    try:
        return os.open(image, os.O_RDWR | os.O_DIRECT)
    except OSError:  # a file system in memory may not know it, nor does it have unwritten data
        return os.open(image, os.O_RDWR)


def problems() -> list[str]:
    """What keeps disks with heads from running here, one sentence each."""
    found = []
    if find_spec("mfusepy") is None:
        found.append("the Python package mfusepy is missing, which --heads needs: 'pip install glusterlab[heads]'")
    if find_library("fuse3") is None:
        found.append("libfuse 3 is missing, which --heads needs: 'apt install libfuse3-3'")
    return found


def begin(folder: Path, kinds: Mapping[str, Kind]) -> Path:
    """Start the server for the files of a folder; its mount, where the same files are disks with heads."""
    mount = folder / MOUNT
    mount.mkdir()
    (folder / DEVICES).write_text(json.dumps(dict(kinds)), encoding="utf-8")
    argv = [sys.executable, "-m", __name__, str(folder)]

    def up() -> bool:
        return str(mount) in mounts_below(mount) and (mount / CONTROL).exists()

    start_until(up, argv, folder / "heads.log", "the server of disks with heads", deadline_s=30.0)
    return mount


def control(folder: Path, scale: float | None, slow: dict[str, float]) -> None:
    """Put disks with heads under a scale, or let them pass everything with None."""
    # by commands, because they have a deadline: a server that hangs must not hang what takes it down
    run(["tee", folder / MOUNT / CONTROL], stdin=json.dumps({"scale": scale, "slow": slow}), deadline_s=30)


def served(folder: Path) -> dict[str, Any]:
    """What disks with heads say of themselves."""
    found: dict[str, Any] = json.loads(run(["cat", folder / MOUNT / CONTROL], deadline_s=30))
    return found


def lift(folder: Path) -> None:
    """Let disks with heads pass everything; a server that does not take that ends, and with it what waits for it."""
    if mounts_below(folder / MOUNT):
        try:
            control(folder, None, {})
        except TestbedError:
            end(folder)


def end(folder: Path) -> None:
    """End the server, whatever state it is in, and unmount: what still waits for it is given an error."""
    argv = [b"-m", os.fsencode(__name__), os.fsencode(folder)]
    end_all(lambda: processes(lambda words: words[1:4] == argv), f"the server of the disks in {folder}")
    unmount_below(folder / MOUNT)


def main(folder: Path) -> None:
    """Serve until the mount is gone."""
    import mfusepy

    server = Server(folder, json.loads((folder / DEVICES).read_text(encoding="utf-8")))
    mount = str(folder / MOUNT)
    mfusepy.FUSE(server, mount, foreground=True, direct_io=True, max_threads=_THREADS, fsname="glusterlab-heads")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
