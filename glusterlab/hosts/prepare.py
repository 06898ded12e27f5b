"""Making the file systems of bricks: what is on each device is inspected, judged and shown before anything is done.

A device is wiped only where the cluster file says ``wipe: true``; when one is refused nothing is done on any.
"""

from __future__ import annotations

import hashlib
import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, NamedTuple

from glusterlab.errors import UsageError
from glusterlab.hosts import lock, script

if TYPE_CHECKING:
    from glusterlab.hosts.pool import CommandResult, Pool
    from glusterlab.spec.cluster import Backing, Cluster

MKFS_OPTIONS = ("-i", "size=512", "-n", "size=8192")  # as the guide made its bricks
MOUNT_OPTIONS = "rw,inode64,noatime"
# all devices of a server at once: a disk needs some 10 s for the samples, more where all share one controller
_DEADLINE_S = 600.0
_MAKE_DEVICE_S = 120.0  # more for each device that is made: one after the other, each is inspected again before

Action = Literal["ready", "mount", "make", "wipe", "refused"]

_BY_HAND = {
    "linux_raid_member": "mdadm",
    "LVM2_member": "LVM",
    "zfs_member": "ZFS",
    "crypto_LUKS": "LUKS",
    "ceph_bluestore": "Ceph",
    "drbd": "DRBD",
    "bcache": "bcache",
    "isw_raid_member": "a RAID controller",
    "ddf_raid_member": "a RAID controller",
    "btrfs": "Btrfs, perhaps with other devices",
    "bcachefs": "bcachefs, perhaps with other devices",
    "oracleasm": "Oracle ASM",
    "stratis": "Stratis",
    "vdo": "VDO",
    "gfs2": "GFS2, perhaps with other hosts",
    "ocfs": "OCFS, perhaps with other hosts",
    "ocfs2": "OCFS2, perhaps with other hosts",
    "jbd": "an ext file system elsewhere, as its journal",
    "xfs_external_log": "an XFS file system elsewhere, as its log",
}
"""Signatures of what may be a part of something larger: never wiped from here, and no ``..._member`` is."""

_TABLES = {"gpt", "PMBR", "dos", "mac", "bsd", "sun", "sgi", "atari", "ultrix", "unixware", "solaris_x86"}


@dataclass(frozen=True)
class Device:
    """One block device of one server, meant for one brick, with what was found (its SHA-256: `digest`) and is to do."""

    host: str
    backing: str
    path: str
    brick: str
    facts: Mapping[str, tuple[str, ...]]
    digest: str
    action: Action = "refused"
    why: str = ""

    @property
    def size_bytes(self) -> int | None:
        size = self.facts.get("size", ("",))[0]
        return int(size) if size.isdecimal() else None

    @property
    def model(self) -> str:
        return " ".join(word.strip() for key in ("vendor", "model") for word in self.facts.get(key, ()))

    @property
    def serial(self) -> str:
        """Serial numbers, or else WWNs, of the disks that it is or lies on."""
        found = [dict(re.findall(r'(\w+)="([^"]*)"', line)) for line in self.facts.get("identity", ())]
        return " ".join(dict.fromkeys(name for each in found if (name := each.get("SERIAL") or each.get("WWN"))))

    @property
    def children(self) -> Mapping[str, set[str]]:
        """The forms of what each of its partitions holds."""
        found: dict[str, set[str]] = defaultdict(set)
        for line in self.facts.get("child", ()):
            name, _, _, forms = line.split()
            found[name] |= {*forms.split(",")} - {"-"}
        return found

    @property
    def contents(self) -> str:
        facts, found = self.facts, []
        if "missing" in facts:
            return "no such block device"
        kinds = list(dict.fromkeys((*facts.get("type", ()), *facts.get("pttype", ()), *_signatures(facts))))
        if kinds:
            label = f" '{facts['label'][0]}'" if facts.get("label", ("",))[0] else ""
            found.append(f"{', '.join(kinds)}{label}")
        if "last_written" in facts:
            found.append(f"written {facts['last_written'][0]}")
        parts = [f"{name} {', '.join(sorted(forms)) or 'of no known form'}" for name, forms in self.children.items()]
        if parts:
            found.append(f"partitions: {', '.join(parts)}")
        in_use = (("mounted", "mounted at"), ("swap", "swap on"), ("holder", "part of"))
        found += [f"{words} {', '.join(dict.fromkeys(facts[key]))}" for key, words in in_use if key in facts]
        if not kinds and "data" in facts:
            found.append("data of no known form")
        samples = int(facts.get("samples", ("0",))[0])
        return "; ".join(found) or f"nothing found in {samples:,} samples"

    @property
    def is_blank(self) -> bool:
        """Whether nothing was found on it, nor at its ends and in the samples."""
        found = ("type", "pttype", "signature", "child", "unread", "data", "missing", "mounted", "swap", "holder")
        return "samples" in self.facts and not any(key in self.facts for key in found)


def _signatures(facts: Mapping[str, tuple[str, ...]]) -> list[str]:
    return [line.split()[0] for line in facts.get("signature", ()) if line.split()]


def label_of(backing: str, brick: str) -> str:
    """The label of a brick's file system, by which it is known again: at most 12 characters."""
    return f"gl-{hashlib.sha256(f'{backing} {brick}'.encode()).hexdigest()[:8]}"


def named(cluster: Cluster) -> list[tuple[str, str, str, str]]:
    """Host, backing, device and brick of every device that a cluster names."""
    found = [
        (server.name, name, device, brick)
        for name, backing in cluster.backings.items()
        for server in cluster.servers
        for device, brick in zip(backing.devices_of(server.name), backing.bricks, strict=False)
    ]
    if not found:
        advice = "give backings.<name>.devices one block device per brick, or make and mount the file systems by hand"
        raise UsageError(f"the cluster file names no devices: {advice}")
    return found


def look(pool: Pool, cluster: Cluster) -> list[Device]:
    """Look at every device that a cluster names; nothing is changed."""
    wanted = named(cluster)
    lines: dict[str, list[str]] = defaultdict(list)
    for number, (host, _, device, brick) in enumerate(wanted):
        # all begin to look at theirs before the first is waited for
        lines[host].append(f"exec {{gl_seen{number}}}< <({script.call('gl_device', device, brick)})")
    for number, (host, *_) in enumerate(wanted):
        lines[host].append(f"{script.part(f'device{number}', 'cat')} <&$gl_seen{number}")
    reports = {host: script.read_parts(result) for host, result in _run(pool, lines).items()}
    found = []
    for number, (host, backing, device, brick) in enumerate(wanted):
        part = script.need(reports[host], f"device{number}", host)
        digest = hashlib.sha256(part.data).hexdigest()
        found.append(Device(host, backing, device, brick, read_facts(part.text), digest))
    return judge(found, cluster.backings)


def read_facts(text: str) -> dict[str, tuple[str, ...]]:
    """What ``gl_device`` printed, by key, of which some are printed several times."""
    facts: dict[str, tuple[str, ...]] = {}
    for line in text.splitlines():
        key, _, value = line.partition(" ")
        facts[key] = (*facts.get(key, ()), value.strip())
    return facts


def judge(devices: Sequence[Device], backings: Mapping[str, Backing]) -> list[Device]:
    """Say of each device what is to be done with it, and why."""
    real = [(device.host, device.facts.get("real", ("",))[0]) for device in devices]
    judged = []
    for device, place in zip(devices, real, strict=True):
        action, why = _judge(device, wipe=bool(backings[device.backing].wipe))
        if place[1] and real.count(place) > 1:
            action, why = "refused", f"is {place[1]}, which has another name here, too"
        judged.append(replace(device, action=action, why=why))
    return judged


def _judge(device: Device, *, wipe: bool) -> tuple[Action, str]:
    facts = device.facts
    if "missing" in facts or device.size_bytes is None:
        return "refused", "no such block device"
    if "point_has" in facts:
        return _judge_mounted(device)
    obstacles = (
        ("mounted", "is mounted at {}: unmount it if nobody needs it there"),
        ("swap", "is used as swap: {}: swapoff, if it is not needed"),
        ("holder", "is part of {}: take it out of that first"),
        ("point_is", device.brick + " is {}"),
        ("read_only", "is read-only: {}"),
        ("unread", "could not be examined: {}"),
    )
    for key, words in obstacles:
        if key in facts:
            return "refused", words.replace("{}", facts[key][0])
    if facts.get("type") == ("xfs",) and facts.get("label") == (label_of(device.backing, device.brick),):
        return "mount", "was made by glusterlab for this brick"
    if kept := _kept(device):
        return "refused", kept
    if device.is_blank:
        return "make", "looks blank"
    if wipe:
        return "wipe", "is not blank, and the cluster file says wipe: true"
    return "refused", f"is not blank: set backings.{device.backing}.wipe to true if nobody needs what is on it"


def _kept(device: Device) -> str:
    """Why what is on a device, or in a partition of it, is never wiped from here; empty where it may be."""
    facts = device.facts
    whole = {*facts.get("type", ()), *facts.get("pttype", ()), *_signatures(facts)}
    if whole & _TABLES and "no_table" in facts:
        return f"has a partition table that could not be read: look with 'partx -s {device.path}'"
    for part, found in {"": whole, **device.children}.items():
        path, which = (f"/dev/{part}", f"its partition {part} ") if part else (device.path, "")
        if larger := sorted(kind for kind in found if kind in _BY_HAND or kind.endswith("_member")):
            whose = _BY_HAND.get(larger[0], f"something larger ({larger[0]})")
            return f"{which}belongs to {whose}: if it does no longer, wipe it by hand (wipefs -a {path})"
        if "?" in found:
            return f"{which}could not be examined: look with 'blkid -p {path}'"
        if part and found and found <= _TABLES:
            return f"{which}has a partition table of its own, in which nothing was examined"
    return ""


def _judge_mounted(device: Device) -> tuple[Action, str]:
    source, kind, options = (*device.facts["point_has"][0].split(), "", "", "")[:3]
    if device.facts.get("point_number") != device.facts.get("number"):
        return "refused", f"{source} is mounted at {device.brick}, not this device"
    others = [point for point in device.facts.get("mounted", ()) if point != device.brick]
    if others:
        return "refused", f"is mounted at {others[0]}, too"
    if kind != "xfs":
        return "refused", f"is mounted at {device.brick} as {kind}: expected xfs"
    missing = [word for word in ("rw", "noatime") if word not in options.split(",")]
    return "ready", f"is mounted, but without {' and '.join(missing)}" if missing else "is mounted where it should be"


class Prepared(NamedTuple):
    """Devices that were made or mounted, and the lines of fstab that mount all, by server."""

    made: tuple[Device, ...]
    fstab: Mapping[str, tuple[str, ...]]


def prepare(
    pool: Pool, cluster: Cluster, devices: Sequence[Device], *, write_fstab: bool = False, note: Callable[[str], None]
) -> Prepared:
    """Do what was judged to be done, on all servers at once; a device that changed since `look` is not touched.

    Raises `UsageError` when a device is refused, or a run has the cluster, `HostError` when a step fails on a server;
    the others have done theirs, and a second call goes on.
    """
    refused = [device for device in devices if device.action == "refused"]
    if refused:
        raise UsageError(f"{refused[0].host}: {refused[0].path} {refused[0].why}; nothing was done on any device")
    to_do = [device for device in devices if device.action != "ready"]
    claim = lock.claim(pool, cluster, "prepare")
    try:
        if to_do:
            lines: dict[str, list[str]] = defaultdict(lambda: ["set -e"])
            for device in to_do:
                lines[device.host].append(_line(device, cluster.backings[device.backing]))
            note(f"making and mounting {len(to_do)} file systems on {len(lines)} servers")
            _run(pool, lines, _MAKE_DEVICE_S)
        lines = defaultdict(lambda: ["set -e"])
        for device in devices:
            lines[device.host].append(script.call("gl_fstab_line", device.path, device.brick, MOUNT_OPTIONS))
        fstab = {host: tuple(answer.text.splitlines()) for host, answer in _run(pool, lines).items()}
        if write_fstab:
            note("writing /etc/fstab")
            texts = {host: "\n".join(found) for host, found in fstab.items()}
            _run(pool, {host: [script.call("gl_fstab", "/etc/fstab", text)] for host, text in texts.items()})
    finally:
        lock.release(pool, claim.owner)
    return Prepared(tuple(to_do), fstab)


def _line(device: Device, backing: Backing) -> str:
    disk = "\n".join(f"identity {line}" for line in device.facts.get("identity", ()))
    if device.action == "mount":
        same = script.call("gl_same_disk", device.path, disk)
        return f"{same}\n{script.call('gl_mount_fs', device.path, device.brick, MOUNT_OPTIONS)}"
    stripe: tuple[str, ...] = ()
    if backing.stripe_unit is not None:
        stripe = ("-d", f"su={backing.stripe_unit},sw={backing.stripe_width}")
    wipe = "wipe" if device.action == "wipe" else ""
    label = label_of(device.backing, device.brick)
    words = (device.path, device.brick, disk, device.digest, wipe, label, MOUNT_OPTIONS, *MKFS_OPTIONS, *stripe)
    return script.call("gl_make_fs", *words)


def _run(pool: Pool, lines: Mapping[str, list[str]], line_s: float = 0.0) -> Mapping[str, CommandResult]:
    deadlines = {host: _DEADLINE_S + line_s * len(text) for host, text in lines.items()}
    commands = {host: script.command(text, "prepare.sh", deadline_s=deadlines[host]) for host, text in lines.items()}
    return pool.run(commands).or_raise()
