"""Hosts with a kernel of their own: guests of User-Mode Linux, each in the network namespace of a host.

A guest's tap and its host's link are one network, so that its link is limited as those of other hosts. Its files
are an overlay as theirs, and its memory is a file in a tmpfs: nothing is left when processes and namespaces are gone.

Clients are guests for the sake of file systems, servers for that of block caches (dm-cache), which few machines' own
kernels have. A server's disks are the loop devices of other servers, handed on by vhost-user: User-Mode Linux's own
block device serves all disks of a guest one after the other, so that a cache would wait for its disk.
"""

import ipaddress
import platform
import shutil
import socket
import string
from collections.abc import Mapping
from contextlib import suppress
from importlib import resources
from pathlib import Path
from typing import Any

from glusterlab.errors import TestbedError
from glusterlab.testbed import local
from glusterlab.testbed.disks import CHUNK, Disk, cache_meta_bytes
from glusterlab.testbed.local import run
from glusterlab.testbed.network import TAP
from glusterlab.testbed.options import TestbedOptions
from glusterlab.testbed.tree import KERNEL, KERNEL_RELEASE, PACKAGES, SERVING

MEMORY_BYTES = 512 << 20
"""Memory of one guest; it has one CPU."""
_SSH_DEADLINE_S = 2.0
_GLUSTERD_PORT = 24007
_WHAT = "--kernel-clients or --disk-cache"
YIELDING = ("chrt", "--batch", "0")  # what wakes preempts nobody; control groups may refuse a real-time class
_DISK_SERVER = "qemu-storage-daemon"
_SECTOR = 512
_DRAIN_DEADLINE_S = 120.0


def trees(options: TestbedOptions) -> list[tuple[str, tuple[str, ...]]]:
    """Release and packages of the trees that are made for a testbed: the hosts', then that of the guests' kernel."""
    packages = SERVING[options.release] if options.guest_names else PACKAGES
    hosts = [] if options.tree is not None else [(options.release, packages)]
    return [*hosts, *([(KERNEL_RELEASE, KERNEL)] if options.guest_names else [])]


def problems(options: TestbedOptions) -> list[str]:
    """What keeps guests from running here, one sentence each."""
    if platform.machine() != "x86_64":
        return [f"{_WHAT} needs an x86-64 machine, for User-Mode Linux; this is {platform.machine()}"]
    found = []
    if options.disk_caches and shutil.which(_DISK_SERVER) is None:
        found.append(f"the command '{_DISK_SERVER}' of --disk-cache is missing: 'apt install qemu-system-common'")
    if not Path("/dev/net/tun").exists():
        found.append(f"there is no /dev/net/tun, which connects the guests of {_WHAT}: 'modprobe tun'")
    if _needs_shim():
        try:
            _compile("-fsyntax-only")
        except TestbedError as error:
            why = f"this CPU has AMX, for which {_WHAT} compiles a library of some lines"
            found.append(f"{error} ({why}): 'apt install gcc libc6-dev'")
    needed, free = len(options.guest_names) * MEMORY_BYTES, _free_memory_bytes()
    if free < needed:
        advice = "give fewer --kernel-clients, or --servers with --disk-cache"
        found.append(f"{needed >> 20} MB of memory are needed for the guests, and {free >> 20} MB are free: {advice}")
    return found


def _needs_shim(proc: Path = Path("/proc")) -> bool:
    return " amx_tile" in (proc / "cpuinfo").read_text(encoding="utf-8")


def _free_memory_bytes(proc: Path = Path("/proc")) -> int:
    lines = (proc / "meminfo").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith("MemAvailable:"))


def _compile(*words: str | Path) -> None:
    with resources.as_file(resources.files(__package__).joinpath("xsave.c")) as source:
        run(["cc", *words, source])


def make_shim(library: Path) -> None:
    """Compile the library that User-Mode Linux needs on this machine's CPU, if it needs one."""
    if _needs_shim():
        _compile("-shared", "-fPIC", "-O2", "-o", library)


def devices(disks: list[Disk]) -> dict[str, str]:
    """What a guest's disks are called in it, by mount point, such as ``vda``: in the order in which it gets them."""
    return {disk.mount_point: f"vd{letter}" for disk, letter in zip(disks, string.ascii_lowercase, strict=False)}


def bricks(disks: list[Disk]) -> dict[str, str]:
    """The device of each file system of a server that is a guest, by mount point: of a cached disk the cache's."""
    names = devices(disks)
    return {
        disk.mount_point: f"mapper/{Path(disk.mount_point).name}" if _mode(disk) else names[disk.mount_point]
        for disk in disks
        if disk.kind != "nvme"
    }


def caches(disks: list[Disk], cache_bytes: int) -> list[str]:
    """Lines for guest-init: a cache's name, its disk, the drive with it, where, its parts' sectors, its mode."""
    names = devices(disks)
    drive = next((names[disk.mount_point] for disk in disks if disk.kind == "nvme"), "")
    meta, data = cache_meta_bytes(cache_bytes) // _SECTOR, cache_bytes // CHUNK * CHUNK // _SECTOR
    lines = []
    for number, disk in enumerate(disk for disk in disks if _mode(disk)):
        parts = f"{drive} {number * (meta + data)} {meta} {data}"
        lines.append(f"{Path(disk.mount_point).name} {names[disk.mount_point]} {parts} {_mode(disk)}")
    return lines


def _mode(disk: Disk) -> str:
    """How dm-cache calls the mode of a disk's cache; empty without one."""
    backing = Path(disk.mount_point).parent.name
    return backing.removeprefix("jbod-").replace("-", "") if backing.startswith("jbod-") else ""


def serve_disks(space: str, folder: Path, disks: list[Disk], **options: Any) -> None:
    """Hand a guest its disks, by sockets in a folder; each has a thread of its own, so that none waits for another.

    What serves them is a process of the host's namespace, and ends as those do. It says that a request is done in two
    writes, and it seems that a guest that woke between them left the second unread: its disk hung. So both are on one
    CPU, where the guest is `YIELDING` and this process goes first.
    """
    shutil.rmtree(folder, ignore_errors=True)  # of a host that was up before
    folder.mkdir()
    names = devices(disks)
    argv = ["nsenter", f"--net=/run/netns/{space}", f"--wd={folder}", "nice", "-n", "-20", _DISK_SERVER]
    for disk in disks:
        name = names[disk.mount_point]
        file = f"driver=host_device,node-name={name},filename={disk.device},cache.direct=on,discard=unmap"
        export = f"type=vhost-user-blk,id={name},node-name={name},addr.type=unix,addr.path={name},writable=on"
        argv += ["--object", f"iothread,id=io-{name}", "--blockdev", file, "--export", f"{export},iothread=io-{name}"]
    log, sockets = folder.with_suffix(".log"), [folder / name for name in names.values()]
    local.start_until(lambda: all(map(Path.exists, sockets)), argv, log, _DISK_SERVER, deadline_s=10, **options)


def settle(config: Path, host: str, read_ahead_bytes: int, timers: Mapping[str, int]) -> None:
    """What `throttle.apply` does to other hosts' disks and timers, and until caches have nothing left to write."""
    script = resources.files(__package__).joinpath("guest-settle.sh").read_text(encoding="ascii")
    words = ["timeout", f"{_DRAIN_DEADLINE_S:g}", "bash", "-s", str(read_ahead_bytes >> 10)]
    words += [f"{name}={value}" for name, value in timers.items()]
    command: list[str | Path] = ["ssh", "-F", config, host, *words]
    run(command, stdin=script, deadline_s=_DRAIN_DEADLINE_S + 10)


def arguments(options: TestbedOptions, host: str, disks: list[Disk]) -> list[str]:
    """Where the guest's kernel is, and what it is told; `disks`: those that it is handed."""
    address = options.address(host)
    hardware = ":".join(["02:00", *(f"{byte:02x}" for byte in ipaddress.ip_address(address).packed)])
    return [
        f"mem={MEMORY_BYTES >> 20}M",
        *("root=/dev/root", "rootfstype=hostfs", "rootflags=/mnt", "rw", "init=/usr/local/sbin/guest-init"),
        # without gro reads stall
        f"vec0:transport=tap,ifname={TAP},depth=128,gro=1,mac={hardware}",
        *("con=null", "con0=null,fd:1", "ssl=null", "quiet"),
        *(f"virtio_uml.device=/tmp/disks/{name}:2" for name in devices(disks).values()),  # 2: a block device
        *("--", f"{address}/{options.subnet.split('/')[1]}", "server" if host in options.server_names else "client"),
    ]


def services(address: str) -> set[str]:
    """``sshd`` and ``glusterd`` where a guest's answer: processes of a guest are not seen from outside."""
    found = set()
    with suppress(OSError), socket.create_connection((address, 22), _SSH_DEADLINE_S) as connection:
        found |= {"sshd"} if connection.recv(4) == b"SSH-" else set()
    with suppress(OSError), socket.create_connection((address, _GLUSTERD_PORT), _SSH_DEADLINE_S):
        found.add("glusterd")
    return found
