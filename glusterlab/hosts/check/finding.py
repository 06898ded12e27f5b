"""What a check finds: every code, and what it stands for."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Level = Literal["ok", "not examined", "warning", "error"]

Code = str
"""A key of `CODES`: what was inspected."""

CODES: Mapping[Code, str] = {
    "reachable": "every host answers on its SSH port",
    "host-key": "every host's key is the one in known_hosts, and it is checked",
    "login": "every host lets the user in by key",
    "answers": "every host runs the check's script, and reports what it should",
    "in-use": "no run has a host",
    "stale-owner": "no run that has ended left its lock on a host",
    "root": "the login is root's: caches, mounts and devices need it",
    "tools": "what a measurement calls is installed",
    "versions": "GlusterFS, IOzone, sysstat and the kernel are of one release everywhere",
    "work-dir": "the suite's own directory on every host can be made, or is the suite's already",
    "names": "hosts resolve each other's names",
    "clock": "clocks are within 1 s of the controller's",
    "clock-sync": "an NTP client keeps the clock",
    "stray-process": "nothing of an earlier run is still running",
    "load": "nothing else keeps the CPUs busy",
    "caches": "the kernel drops its caches when it is told to",
    "space": "file systems have room",
    "leftover-mount": "no volume of an earlier run is mounted, and none hangs",
    "leftover-volume": "no volume of an earlier run is started",
    "leftover-brick": "no brick of the suite is left without its volume",
    "link": "the interface is there, up, full duplex, and as fast as the cluster file says",
    "link-address": "the host's address is one of the interface that is watched",
    "mtu": "the MTU is the same everywhere, and whole packets get through",
    "firewall": "glusterd's port on every server can be reached from every host",
    "selinux": "SELinux does not stand between GlusterFS and its bricks",
    "tuned": "a tuned profile for throughput is active, the same on all servers and on all clients",
    "disks": "the devices that the cluster file names are there, and are those below the bricks",
    "disk-health": "disks are writable and online, RAID arrays whole and at rest, SMART passes",
    "bricks": "brick file systems are mounted, XFS, writable, readable, each on a device of its own",
    "access": "hosts can do what the cluster file states of NFS, SMB and a directory that the operator mounted",
    "fuse": "clients can open /dev/fuse",
    "gluster": "glusterd answers on the first server",
    "peers": "all servers are in one pool, and connected",
    "volumes": "no volume that is not the suite's is started",
    "brick-offline": "every brick of a started volume is online",
    "heal": "nothing waits for self-heal",
    "rebalance": "no rebalance runs",
    "ssh-between-clients": "the first client reaches the others by ssh without a password, their keys known to it",
    "shared-dir": "all clients see the shared directory",
    "checkouts": "tools that are run from a checkout have one, of a revision that can be recorded",
}
"""Every code, in the order in which it is shown, and what is so where it is ``ok``."""


@dataclass(frozen=True)
class Finding:
    """One thing that was inspected on a host, or with None on the cluster as a whole; an error makes it unfit."""

    host: str | None
    level: Level
    code: Code
    message: str
    advice: str | None = None


# what is reported as fine, where it was inspected and nothing was found
OF_HOSTS: tuple[Code, ...] = (
    *("reachable", "host-key", "login", "root", "tools", "work-dir", "names", "clock", "stray-process", "load"),
    *("caches", "space", "link", "link-address", "firewall", "tuned", "disks", "disk-health"),
)
OF_SERVERS: tuple[Code, ...] = ("bricks", "leftover-brick")
OF_CLIENTS: tuple[Code, ...] = ("fuse",)
OF_GLUSTER: tuple[Code, ...] = (
    *("gluster", "peers", "volumes", "leftover-volume", "leftover-brick", "brick-offline", "heal", "rebalance"),
)
OF_POOL: tuple[Code, ...] = ("versions", "mtu", "access", *OF_GLUSTER, "ssh-between-clients", "shared-dir", "checkouts")

POOL_CODES = frozenset({*OF_GLUSTER, *OF_CLIENTS, *OF_POOL, "firewall", "selinux", "leftover-mount"} - {"mtu"})
"""Codes of what only a volume needs: a baseline can be measured all the same."""
