"""One control group per host, and lxcfs, which shows each host its own share of the machine's counters.

lxcfs answers for the control group of the reader's own init process, so sar in a host counts that host's CPU
time, memory and load. What it cannot tell apart stays the machine's own: `SHARED_COUNTERS`.
"""

import os
import signal
import time
from pathlib import Path

from glusterlab.errors import TestbedError
from glusterlab.testbed.local import end_all, processes, start_until, unmount_below, write_value

ROOT = Path("/sys/fs/cgroup")
CONTROLLERS = ("cpu", "cpuacct", "memory", "cpuset", "pids")  # not blkio: see throttle.py
SHARED_COUNTERS = (
    "blocked processes",
    "paging and io (vmstat)",
    "disks of all hosts (diskstats)",
    "dirty memory limits",
)
"""What a host's counters show of the whole machine. Telemetry keeps a host's own devices only, and each loop device
belongs to one host, so that disks stay apart all the same."""


def is_v2() -> bool:
    """Whether this machine has the unified hierarchy only."""
    return (ROOT / "cgroup.controllers").exists()


def folders(testbed: str, host: str = "") -> list[Path]:
    """The control groups of a testbed, or of one of its hosts: one for v2, one per controller for v1."""
    name = Path(f"glusterlab-{testbed}") / host
    return [ROOT / name] if is_v2() else [ROOT / controller / name for controller in CONTROLLERS]


def missing() -> list[Path]:
    """Directories in which control groups of a testbed would be made, and that this kernel does not have."""
    return [folder.parent for folder in folders("any") if not folder.parent.is_dir()]


def make(testbed: str, hosts: list[str]) -> None:
    """Make the control groups of all hosts."""
    for folder in (folder for host in ("", *hosts) for folder in folders(testbed, host)):
        folder.mkdir(exist_ok=True)
        if is_v2():
            write_value(folder.parent / "cgroup.subtree_control", "+cpu +memory +io +pids")
            continue
        for name in ("cpuset.cpus", "cpuset.mems"):  # a v1 cpuset starts empty, and takes no process until it is filled
            if (folder / name).exists():
                write_value(folder / name, (folder.parent / name).read_text(encoding="ascii"))


def remove(testbed: str) -> None:
    """Remove the control groups of a testbed, whatever of them exists."""
    for parent in folders(testbed):
        if parent.is_dir():
            for child in [path for path in parent.iterdir() if path.is_dir()]:
                _remove_one(child)
            _remove_one(parent)


def _remove_one(folder: Path) -> None:
    for _attempt in range(50):
        try:
            folder.rmdir()
            return
        except FileNotFoundError:
            return
        except OSError:
            time.sleep(0.1)  # processes that were just killed leave a group a moment later
    raise TestbedError(f"the control group {folder} stays in use; run 'down' again in a minute")


def start_lxcfs(folder: Path) -> None:
    """Start lxcfs at a folder of the testbed's own, beside any that the machine runs."""
    mount = folder / "mount"
    mount.mkdir(parents=True)
    argv = ["lxcfs", "--enable-loadavg", "--pidfile", str(folder / "pid"), str(mount)]
    start_until((mount / "proc" / "stat").exists, argv, folder / "log.txt", "lxcfs", deadline_s=10.0)


def stop_lxcfs(folder: Path) -> None:
    """Stop the testbed's lxcfs and unmount it, whatever of them exists."""
    mount = folder / "mount"

    def left() -> list[int]:
        found = processes(lambda words: words[0].endswith(b"lxcfs") and os.fsencode(mount) in words)
        unmount_below(mount)
        return found

    end_all(left, f"the lxcfs at {mount}", how=signal.SIGTERM)
