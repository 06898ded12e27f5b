"""Clients with a kernel of their own: guests of User-Mode Linux, each in the network namespace of a host.

A guest's tap and its host's link are one network, so that its link is limited as those of other hosts. Its files
are an overlay as theirs, and its memory is a file in a tmpfs: nothing is left when processes and namespaces are gone.
"""

import ipaddress
import platform
import socket
from importlib import resources
from pathlib import Path

from glusterlab.errors import TestbedError
from glusterlab.testbed.local import run
from glusterlab.testbed.network import TAP
from glusterlab.testbed.options import TestbedOptions
from glusterlab.testbed.tree import KERNEL, KERNEL_RELEASE, PACKAGES, SERVING, tree_path

MEMORY_BYTES = 512 << 20
"""Memory of one guest; it has one CPU."""
_SSH_DEADLINE_S = 2.0


def trees(options: TestbedOptions) -> list[tuple[str, tuple[str, ...]]]:
    """Release and packages of the trees that are made for a testbed: the hosts', then that of the guests' kernel."""
    packages = SERVING[options.release] if options.kernel_clients else PACKAGES
    hosts = [] if options.tree is not None else [(options.release, packages)]
    return [*hosts, *([(KERNEL_RELEASE, KERNEL)] if options.kernel_clients else [])]


def problems(options: TestbedOptions) -> list[str]:
    """What keeps guests from running here, one sentence each."""
    if platform.machine() != "x86_64":
        return [f"--kernel-clients needs an x86-64 machine, for User-Mode Linux; this is {platform.machine()}"]
    found = []
    if not Path("/dev/net/tun").exists():
        found.append("there is no /dev/net/tun, which connects the guests of --kernel-clients: 'modprobe tun'")
    if _needs_shim():
        try:
            _compile("-fsyntax-only")
        except TestbedError as error:
            why = "this CPU has AMX, for which --kernel-clients compiles a library of some lines"
            found.append(f"{error} ({why}): 'apt install gcc libc6-dev'")
    needed, free = options.kernel_clients * MEMORY_BYTES, _free_memory_bytes()
    if free < needed:
        advice = "give fewer --kernel-clients"
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


def arguments(options: TestbedOptions, host: str) -> list[str]:
    """Where the guest's kernel is, and what it is told."""
    address = options.address(host)
    hardware = ":".join(["02:00", *(f"{byte:02x}" for byte in ipaddress.ip_address(address).packed)])
    return [
        f"mem={MEMORY_BYTES >> 20}M",
        *("root=/dev/root", "rootfstype=hostfs", "rootflags=/mnt", "rw", "init=/usr/local/sbin/guest-init"),
        # without gro reads stall
        f"vec0:transport=tap,ifname={TAP},depth=128,gro=1,mac={hardware}",
        *("con=null", "con0=null,fd:1", "ssl=null", "quiet"),
        *("--", f"{address}/{options.subnet.split('/')[1]}"),
    ]


def kernel_tree() -> Path:
    """The tree that has the guests' kernel."""
    return tree_path(KERNEL_RELEASE, KERNEL)


def services(address: str) -> set[str]:
    """``sshd`` where a guest's answers: processes of a guest are not seen from outside."""
    try:
        with socket.create_connection((address, 22), _SSH_DEADLINE_S) as connection:
            return {"sshd"} if connection.recv(4) == b"SSH-" else set()
    except OSError:
        return set()
