"""What a host's answers say of its disks and brick file systems."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING

from glusterlab.hosts.check.finding import Finding
from glusterlab.hosts.check.hosts import MIN_FREE_BYTES
from glusterlab.units import format_size

if TYPE_CHECKING:
    from glusterlab.hosts.check.ask import HostReport
    from glusterlab.spec.cluster import Cluster, Host

MIN_FREE_FRACTION = 0.1

_HEALTH = {
    "disk_readonly": ("error", "{0} is read-only", "look at its kernel messages: a disk that fails is made so"),
    "disk_state": ("error", "{0} is {1}", "look at the controller, the cable and the disk"),
    "degraded": ("error", "the array {0} has lost {1} members", "replace the disk, and let it rebuild"),
    "syncing": ("warning", "the array {0} is at work on itself ({1})", "wait for it to end: it takes the disks' time"),
    "smart": ("error", "SMART says of {0}: {1}", "replace the disk"),
}
"""Lines of check.sh: how bad it is, what it says, and what to do."""


def disk_findings(cluster: Cluster, host: Host, report: HostReport) -> Iterator[Finding]:
    """What one host's answers say of its devices and, on a server, of its bricks' file systems."""
    yield from _devices(cluster, host, report)
    if cluster.role(host.name) == "server":
        yield from _bricks(host, report)


def _devices(cluster: Cluster, host: Host, report: HostReport) -> Iterator[Finding]:
    name = host.name
    absent = [device for device, disk in report.facts["disks"].items() if disk.get("missing")]
    below = [line.split() for line in report.lists.get("below", [])]
    unwatched = [words[0] for words in below if not set(words[1:]) & set(host.devices)]
    if absent:
        message = f"has no block device {', '.join(absent)}, which the cluster file names"
        yield Finding(name, "error", "disks", message, "correct 'devices' in the cluster file")
    elif cluster.role(name) == "server" and not host.devices:
        message = "the cluster file names no 'devices': sar will not tell its disks apart"
        yield Finding(name, "warning", "disks", message, "name the bricks' block devices")
    elif unwatched:
        message = f"below {', '.join(unwatched[:4])} lies none of the 'devices': sar would watch other disks"
        yield Finding(name, "warning", "disks", message, "name the bricks' block devices in the cluster file")
    elif host.devices:
        yield Finding(name, "ok", "disks", f"{len(host.devices)} there")
    sick = False
    for key, (level, text, advice) in _HEALTH.items():
        for line in report.lists.get(key, []):
            sick = True
            device, _, rest = line.partition(" ")
            found = Finding(name, "error", "disk-health", text.format(device, rest), advice)
            yield found if level == "error" else Finding(name, "warning", "disk-health", found.message, advice)
    if not sick and (host.devices or below):
        yield Finding(name, "ok", "disk-health", "nothing is said against them")


def _bricks(host: Host, report: HostReport) -> Iterator[Finding]:
    systems = report.facts["filesystems"]
    problems = []
    unmounted = [root for root, system in systems.items() if not system["mounted"]]
    if unmounted:
        message = f"{', '.join(unmounted[:4])} {'is' if len(unmounted) == 1 else 'are'} not mounted"
        advice = "mount the bricks' file systems, 'glusterlab prepare' makes them; see the runbook"
        problems.append(Finding(host.name, "error", "bricks", message, advice))
    mounted = {root: system for root, system in systems.items() if system["mounted"]}
    shared = [device for device, n in Counter(system["device"] for system in mounted.values()).items() if n > 1]
    if shared:
        message = f"several bricks lie on {', '.join(shared)}"
        problems.append(Finding(host.name, "error", "bricks", message, "give each brick a file system of its own"))
    readonly = [root for root, system in mounted.items() if "ro" in system["options"].split(",")]
    if readonly:
        message = f"{', '.join(readonly[:4])} {'is' if len(readonly) == 1 else 'are'} mounted read-only"
        problems.append(Finding(host.name, "error", "bricks", message, "mount read-write; has the disk failed?"))
    for line in report.lists.get("unreadable", []):
        root, _, why = line.partition(" ")
        message = f"{root} cannot be read: {why or 'no answer within 5 s'}"
        problems.append(Finding(host.name, "error", "bricks", message, "look at its kernel messages"))
    others = sorted({system["type"] for system in mounted.values()} - {"xfs"})
    if others:
        message = f"bricks on {', '.join(others)}, GlusterFS is made for XFS"
        problems.append(Finding(host.name, "warning", "bricks", message, "mkfs.xfs -i size=512"))
    yield from problems
    for root, system in mounted.items():
        free, size = system["free_bytes"], system["size_bytes"]
        if free is None or size is None:
            message = f"how much room {root} has cannot be told"
            yield Finding(host.name, "warning", "space", message, "look at what df says of it there")
        elif free < max(min(MIN_FREE_BYTES, size / 2), MIN_FREE_FRACTION * size):
            message = f"{root} has {free / 1e9:.1f} of {size / 1e9:.1f} GB free"
            yield Finding(host.name, "warning", "space", message, "make room, or plan smaller files")
    if mounted and not problems:
        total = format_size(sum(system["size_bytes"] or 0 for system in mounted.values()) >> 30 << 30)
        yield Finding(host.name, "ok", "bricks", f"{len(mounted)} brick file systems mounted, {total}")


def leftover_bricks(host: Host, report: HostReport, known: Collection[str]) -> Iterator[Finding]:
    """Directories of the suite's bricks on one server whose volume is none of the pool's any more.

    Parameters
    ----------
    host : Host
    report : HostReport
    known : collection of str
        Names of the pool's volumes.
    """
    left = [path for path in report.lists.get("brick_dir", []) if path.rpartition("/glusterlab-")[2] not in known]
    if left:
        more = f" and {len(left) - 1} more" if len(left) > 1 else ""
        message = f"{left[0]}{more}: of a volume that is gone, or of a baseline"
        advice = "remove them when you need the room: a run empties those of its own volumes, a baseline its own"
        yield Finding(host.name, "warning", "leftover-brick", message, advice)
    else:
        yield Finding(host.name, "ok", "leftover-brick", "none")
