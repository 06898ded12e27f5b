"""Whether this machine can run a testbed: each thing that is missing gets a sentence that says what to do."""

from __future__ import annotations

import os
import platform
import shutil
from pathlib import Path

from glusterlab.errors import TestbedError

_COMMANDS = {
    "ip": "iproute2",
    "tc": "iproute2",
    "losetup": "mount",
    "unshare": "util-linux",
    "nsenter": "util-linux",
    "ssh-keygen": "openssh-client",
    "lxcfs": "lxcfs",
}


def problems() -> list[str]:
    """What keeps a testbed from running here, one sentence each; empty where nothing does."""
    if platform.system() != "Linux":
        return [f"a testbed needs Linux (network namespaces, loop devices, FUSE); this is {platform.system()}"]
    if os.geteuid() != 0:
        return ["a testbed needs root (it makes namespaces, loop devices and mounts): run it with sudo"]
    found = []
    for command, package in _COMMANDS.items():
        if shutil.which(command) is None:
            found.append(f"the command '{command}' is missing: 'apt install {package}'")
    if not Path("/dev/fuse").exists():
        found.append("there is no /dev/fuse, which the GlusterFS client mounts through: 'modprobe fuse'")
    if not Path("/dev/loop-control").exists():
        found.append("there is no /dev/loop-control, which disks are made from: 'modprobe loop'")
    known = Path("/proc/filesystems").read_text(encoding="ascii").split()
    missing = (name for name in ("xfs", "overlay") if name not in known and not _module_exists(name))
    return found + [f"this kernel has no {name}: 'modprobe {name}', or another kernel" for name in missing]


def require() -> None:
    """Raise `TestbedError` with all that is missing, where anything is."""
    found = problems()
    if found:
        raise TestbedError("; ".join(found))


def _module_exists(name: str) -> bool:
    modules = Path("/lib/modules") / platform.release()
    return any(modules.rglob(f"{name}.ko*")) if modules.is_dir() else False
