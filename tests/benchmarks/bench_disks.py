"""Disks with a head alone: fio on one disk and one array, the model by itself, the data sheet, the guide's appendix A.

As root, on a quiet machine, with fio and mkfs.xfs in the path. Rates are the hardware's: measured times the scale.
"""

from __future__ import annotations

import argparse
import csv
import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from glusterlab.errors import TestbedError
from glusterlab.testbed import headserver, options
from glusterlab.testbed.disks import device_number
from glusterlab.testbed.drives import RAID6, ST6000NM0034
from glusterlab.testbed.heads import Head, Raid6
from glusterlab.testbed.local import run, write_value

sys.path.insert(0, str(Path(__file__).parents[2]))
from tests.testbed.spindle import closed_loop, in_order, randomly

KINDS = {"alone/d01.img": "disk", "alone/a01.img": "array"}
SIZES = {"disk": int(ST6000NM0034.capacity_bytes) >> 20 << 20, "array": 12 << 40}  # a file of ext4 has 16 TiB at most
SMALL = 4 << 30
"""Bytes of a disk of the testbed: all of it lies within a thousandth of the stroke."""


@dataclass(frozen=True)
class Row:
    device: str
    operation: str  # of fio
    size: int
    depth: int
    span: int
    expected: str = ""
    source: str = ""
    value: float = 0.0  # what is expected, bytes per second for sequential ones, else requests per second

    @property
    def sequential(self) -> bool:
        return not self.operation.startswith("rand")


def one_at_a_time(kind: str, commands: int) -> float:
    """Random requests per second by the data sheet: a seek, half a turn, and what each command takes."""
    drive = ST6000NM0034
    return 1 / (getattr(drive, f"{kind}_seek_average_s") + 0.5 / drive.rotations_per_s + commands * drive.command_s)


def rows() -> Iterator[Row]:
    whole, disk, array = SIZES["disk"], options.HARDWARE["disk"], options.HARDWARE["array"]
    yield Row("disk", "read", 1 << 17, 1, whole, "outer zone", "data sheet", ST6000NM0034.outer_bytes_per_s)
    yield Row("disk", "read", 1 << 20, 4, whole, "one file, LVM and XFS", "appendix A", disk.read_bytes_per_s)
    yield Row("disk", "write", 1 << 20, 4, whole, "one file, LVM and XFS", "appendix A", disk.write_bytes_per_s)
    for depth in (1, 2, 4, 8, 16, 32):
        known = ("seek, half a turn", "data sheet", one_at_a_time("read", 1)) if depth == 1 else ()
        yield Row("disk", "randread", 4096, depth, whole, *known)
    yield Row("disk", "randwrite", 4096, 1, whole, "the same, flushed", "data sheet", one_at_a_time("write", 2))
    for depth in (1, 4, 32):
        yield Row("disk", "randread", 4096, depth, SMALL)
    yield Row("array", "read", 1 << 20, 4, SIZES["array"], "12 disks", "appendix A", array.read_bytes_per_s)
    yield Row("array", "write", 1 << 20, 4, SIZES["array"], "12 disks", "appendix A", array.write_bytes_per_s)
    for depth in (1, 4, 32):
        yield Row("array", "randread", 4096, depth, SIZES["array"])


def by_the_model(row: Row, count: int = 2000) -> float:
    """Requests per second of the model in its own time; writes after its cache has been filled once."""
    device = Head(ST6000NM0034) if row.device == "disk" else Raid6(RAID6, ST6000NM0034)
    operation = row.operation.removeprefix("rand")
    requests = in_order(operation, row.size) if row.sequential else randomly(operation, row.size, row.span)
    if operation == "write":
        closed_loop(device, requests, int(ST6000NM0034.cache_bytes * 2 / row.size), row.depth)
    return count / closed_loop(device, requests, count, row.depth)[0]


def by_fio(fio: str, device: str, row: Row, seconds: float, scale: float) -> tuple[float, float]:
    """Requests per second and mean latency, in the hardware's time."""
    if not row.sequential:
        seconds *= max(1.0, row.depth / 8)  # else what is under way at the end is much of the whole
    words = [f"--filename={device}", f"--rw={row.operation}", f"--bs={row.size}", f"--iodepth={row.depth}"]
    words += [f"--size={row.span}", "--direct=1", "--ioengine=libaio", "--time_based", f"--runtime={seconds:g}s"]
    words += ["--name=alone", "--randrepeat=1", "--norandommap", "--output-format=json"]
    if row.operation == "write":  # at the rate of the medium, not of the cache
        words.append(f"--ramp_time={math.ceil(scale * ST6000NM0034.cache_bytes / 200e6)}s")
    if row.operation == "randwrite":
        words.append("--fsync=1")
    job = json.loads(run([fio, *words], deadline_s=seconds * 4 + 300))["jobs"][0]
    found = job["write" if "write" in row.operation else "read"]
    return found["iops"] * scale, found["clat_ns"]["mean"] / 1e9 / scale


def by_a_file(
    fio: str, device: str, mount: Path, size: int, scale: float, control: Callable[[float | None], None]
) -> Iterator[tuple[str, float]]:
    """Bytes per second of one file on XFS, written to the medium and read again cold, as appendix A has it."""
    control(None)
    run(["mkfs.xfs", "-q", "-f", "-K", "-l", "size=64m", device])
    mount.mkdir(exist_ok=True)
    for operation in ("write", "read"):
        run(["mount", device, mount])
        try:
            control(scale)
            words = [f"--filename={mount}/file", f"--rw={operation}", f"--size={size}", "--bs=1M", "--end_fsync=1"]
            job = json.loads(run([fio, "--name=file", *words, "--output-format=json"], deadline_s=600))["jobs"][0]
            yield operation, size / (job["job_runtime"] / 1e3) * scale
        finally:
            control(None)
            run(["umount", mount])


@contextmanager
def attached(images: dict[Path, str]) -> Iterator[dict[str, str]]:
    devices = {}
    try:
        for image, kind in images.items():
            devices[kind] = run(["losetup", "--find", "--show", "--direct-io=on", image]).strip()
        yield devices
    finally:
        for device in devices.values():
            run(["losetup", "--detach", device], check=False)


def used_s(process: int) -> float:
    """CPU seconds of a process."""
    words = Path(f"/proc/{process}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


def machine_s() -> float:
    """CPU seconds of the machine that were not idle."""
    words = [int(word) for word in Path("/proc/stat").read_text(encoding="ascii").splitlines()[0].split()[1:]]
    return (sum(words[:3]) + sum(words[5:8])) / os.sysconf("SC_CLK_TCK")


def cost(what: str, fio: str, device: str, row: Row, seconds: float, scale: float, server: int | None = None) -> None:
    """A line of the table of CPU: what a job takes of the server of heads, and of the machine."""
    used, busy = used_s(server) if server else 0.0, machine_s()
    begin = time.monotonic()
    rate, _ = by_fio(fio, device, row, seconds, 1.0)
    took, busy = time.monotonic() - begin, machine_s() - busy
    used = used_s(server) - used if server else 0.0
    requests = rate * took
    numbers = f"{rate * row.size / 1e6:.1f} | {used / requests * 1e3:.2f} | {busy / requests * 1e3:.2f}"
    print(f"| {what}, {row.size >> 10} KiB, {row.depth} at a time, 1:{scale:g} | {rate:.0f} | {numbers} |", flush=True)


def costs(fio: str, folder: Path, device: str, server: int, seconds: float, scale: float) -> None:
    """CPU of heads, of what passes through their server, and of blkio, for one disk."""
    read, random = Row("disk", "read", 1 << 17, 1, SMALL), Row("disk", "randread", 4096, 32, SMALL)
    print("\n| what | requests/s | MB/s | CPU of the server, ms per request | of the machine |")
    print("|---|---|---|---|---|")
    for row in (read, random):
        headserver.control(folder, scale, {})
        cost("heads", fio, device, row, seconds, scale, server)
    headserver.control(folder, None, {})
    image, limit = folder / "plain.img", Path("/sys/fs/cgroup/blkio/blkio.throttle.read_bps_device")
    with image.open("wb") as stream:
        stream.truncate(SMALL)
    with attached({image: "disk"}) as plain:
        for what, one in (("blkio on the server of heads", device), ("blkio", plain["disk"])):
            number = device_number(one)
            if not limit.exists():
                continue
            write_value(limit, f"{number} {options.HARDWARE['disk'].read_bytes_per_s / scale:.0f}")
            try:
                cost(what, fio, one, read, seconds, scale, server if one == device else None)
            finally:
                write_value(limit, f"{number} 0")
    print(f"\nload {os.getloadavg()[0]:.1f}: what else ran is in the machine's CPU")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", type=float, default=20.0)
    parser.add_argument("--seconds", type=float, default=15.0)
    parser.add_argument("--cpu", action="store_true", help="only the table of CPU: two minutes with --seconds 30")
    parser.add_argument("--fio", default=shutil.which("fio") or "fio")
    arguments = parser.parse_args()
    scale, seconds, fio = arguments.scale, arguments.seconds, arguments.fio
    folder = Path(tempfile.mkdtemp(prefix="bench-disks-")).resolve()
    writer = csv.writer(sys.stdout)
    if not arguments.cpu:
        writer.writerow(
            ["device", "operation", "bytes", "depth", "span GiB", "unit", "fio", "model", "known", "of", "ms"]
        )
    try:
        for name, kind in KINDS.items():
            (folder / name).parent.mkdir(exist_ok=True)
            with (folder / name).open("wb") as stream:
                stream.truncate(SIZES[kind])
        mount = headserver.begin(folder, KINDS)
        (server,) = headserver.processes(lambda words: os.fsencode(folder) in words)
        with attached({mount / name: kind for name, kind in KINDS.items()}) as devices:
            for row in [] if arguments.cpu else rows():
                headserver.control(folder, scale, {})
                rate, latency = by_fio(fio, devices[row.device], row, seconds, scale)
                times, unit = (row.size / 1e6, "MB/s") if row.sequential else (1.0, "1/s")
                model = by_the_model(row) * times if row.operation != "randwrite" else float("nan")
                known = row.value / (1e6 if row.sequential else 1)
                words = [f"{rate * times:.1f}", f"{model:.1f}", f"{known:.1f}" if known else ""]
                of = f"{row.source}: {row.expected}" if row.source else ""
                first = [row.device, row.operation, row.size, row.depth, f"{row.span / 2**30:.0f}"]
                writer.writerow([*first, unit, *words, of, f"{latency * 1e3:.2f}"])
                sys.stdout.flush()
            for kind, device in [] if arguments.cpu else devices.items():
                size = int(options.HARDWARE[kind].read_bytes_per_s / scale * 2 * seconds) >> 20 << 20
                files = by_a_file(
                    fio, device, folder / kind, size, scale, lambda one: headserver.control(folder, one, {})
                )
                for operation, rate in files:
                    known = getattr(options.HARDWARE[kind], f"{operation}_bytes_per_s") / 1e6
                    of = "appendix A: IOzone, one file" if kind == "disk" else "appendix A: RAID 6, 12 disks"
                    writer.writerow(
                        [
                            f"{kind}, XFS",
                            operation,
                            1 << 20,
                            "",
                            "",
                            "MB/s",
                            f"{rate / 1e6:.1f}",
                            "",
                            f"{known:.1f}",
                            of,
                            "",
                        ]
                    )
            costs(fio, folder, devices["disk"], server, seconds, scale)
    finally:
        headserver.end(folder)
        with suppress(TestbedError, subprocess.SubprocessError):
            run(["umount", "--lazy", folder / headserver.MOUNT], check=False)
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
