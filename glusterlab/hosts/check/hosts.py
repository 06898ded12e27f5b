"""What a host's answers mean: login, tools, state, what an earlier run left, link, tuning, disks and bricks."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING

from glusterlab.hosts.check.finding import Finding
from glusterlab.hosts.health import MAX_CLOCK_OFFSET_S
from glusterlab.tools import runnable
from glusterlab.units import format_size

if TYPE_CHECKING:
    from glusterlab.hosts.check.ask import HostReport
    from glusterlab.spec.cluster import Cluster, Host

MAX_LOAD_PER_CPU = 0.5
MIN_FREE_BYTES = 1 << 30

MIN_FREE_FRACTION = 0.1

_HEALTH = {
    "disk_readonly": ("error", "{0} is read-only", "look at its kernel messages: a disk that fails is made so"),
    "disk_state": ("error", "{0} is {1}", "look at the controller, the cable and the disk"),
    "degraded": ("error", "the array {0} has lost {1} members", "replace the disk, and let it rebuild"),
    "syncing": (
        "warning",
        "the array {0} is busy with itself ({1})",
        "wait for it to end: it takes the disks' time",
    ),
    "smart": ("error", "SMART says of {0}: {1}", "replace the disk"),
}
"""Lines of check.sh: how bad it is, what it says, and what to do."""

GUIDE_PROFILES = {
    "server": ("rhgs-sequential-io", "rhgs-random-io", "rhgs-throughput-performance", "throughput-performance"),
    "client": ("throughput-performance", "network-throughput"),
}
"""tuned profiles that the guide and its neighbours used, and the nearest of a community system."""

_NEEDED = {"server": ("gluster", "sysstat"), "client": ("gluster", "sysstat", "ssh")}
_PACKAGES = {"gluster": "glusterfs", "ssh": "an OpenSSH client"}


def host_findings(
    cluster: Cluster, host: Host, report: HostReport, *, baseline: bool = False, left: bool = False
) -> Iterator[Finding]:
    """All that one host's answers say of the host itself, its disks apart.

    A `baseline` needs more tools; `left`: a run that has ended did not give the host back.
    """
    yield from _access(cluster, host, report)
    yield from _tools(cluster, host, report, baseline=baseline)
    yield from _state(host, report, left=left)
    yield from _leftovers(host, report)
    yield from _link(cluster, host, report)
    yield from _guards(cluster, host, report)


def _access(cluster: Cluster, host: Host, report: HostReport) -> Iterator[Finding]:
    name = host.name
    yield Finding(name, "ok", "reachable", "answers")
    yield Finding(name, "ok", "login", "lets us in")
    if cluster.ssh.check_host_keys:
        yield Finding(name, "ok", "host-key", "its key is known")
    if report.one("uid") == "0":
        yield Finding(name, "ok", "root", "the login is root's")
    elif report.lists.get("sudo"):
        message = "the login is not root's; sudo needs no password there, but the suite does not use it"
        advice = "let root in by key (PermitRootLogin prohibit-password), and set ssh.user to root in the cluster file"
        yield Finding(name, "error", "root", message, advice)
    else:
        yield Finding(name, "error", "root", "the login is not root's", "set ssh.user to root in the cluster file")
    if refused := report.one("refused"):
        yield Finding(name, "error", "work-dir", refused, "name another work_dir in the cluster file, or mend it")
    elif place := report.one("readonly"):
        message = f"{place}, where the work directory lies, cannot be written"
        yield Finding(name, "error", "work-dir", message, "mount it read-write, or name another work_dir")
    else:
        yield Finding(name, "ok", "work-dir", "can be the suite's")
    if unresolved := report.lists.get("unresolved"):
        message = f"cannot resolve {_some(unresolved)}"
        yield Finding(name, "error", "names", message, "add the hosts to its /etc/hosts or to DNS")
    else:
        yield Finding(name, "ok", "names", "resolves the others")


def _tools(cluster: Cluster, host: Host, report: HostReport, *, baseline: bool) -> Iterator[Finding]:
    name, role = host.name, cluster.role(host.name)
    found = report.facts["tools"]
    needed = {tool: _PACKAGES.get(tool, tool) for tool in _NEEDED[role]}
    useful: dict[str, tuple[str, str]] = {}
    for tool in runnable().values():
        for program in tool.programs:
            if role in (program.roles | program.baseline_roles if baseline else program.roles):
                if program.required:
                    needed[program.name] = program.package
                else:
                    useful[program.name] = program.package, tool.name
    absent = [each for each in needed if each not in found]
    for each in absent:
        yield Finding(name, "error", "tools", f"has no {each}", f"install {needed[each]} there")
    missing = sorted(report.lists.get("missing", []))
    if "sadc" in missing and "sysstat" not in found:
        missing.remove("sadc")
    if missing:
        yield Finding(name, "error", "tools", f"lacks {', '.join(missing)}", "install them there")
    packs = "xz" in found or "python3" in found
    if not packs:
        yield Finding(name, "error", "tools", "has neither xz nor python3 to pack telemetry", "install xz there")
    for each, (package, user) in useful.items():
        if each not in found:
            yield Finding(name, "warning", "tools", f"has no {each}, which {user} needs", f"install {package} there")
    if packs and not missing and not absent:
        yield Finding(name, "ok", "tools", "are there")


def _state(host: Host, report: HostReport, *, left: bool) -> Iterator[Finding]:
    name, offset = host.name, report.clock_offset_s
    if abs(offset) > MAX_CLOCK_OFFSET_S:
        message = f"the clock is {offset:+.1f} s off the controller's, expected within {MAX_CLOCK_OFFSET_S:g} s"
        yield Finding(name, "error", "clock", message, "let chrony or another NTP client run on all hosts")
    else:
        yield Finding(name, "ok", "clock", f"within {MAX_CLOCK_OFFSET_S:g} s of the controller's")
    if (ntp := report.one("ntp")) is not None and ntp != "yes":
        message = "no NTP client keeps the clock (timedatectl: NTPSynchronized=no)"
        yield Finding(name, "warning", "clock-sync", message, "start chrony or systemd-timesyncd there")
    if strays := report.lists.get("stray"):
        # without its number, which is another on each host
        command = strays[0].partition(" ")[2][:100]
        message = f"{len(strays)} leftover process{'es' if len(strays) > 1 else ''} of a workload, such as {command}"
        if left:
            advice = "nothing: the run that started it has ended, the next run ends it"
            yield Finding(name, "warning", "stray-process", message, advice)
        else:
            advice = "wait for what started it, or end it"
            yield Finding(name, "error", "stray-process", message, advice)
    else:
        yield Finding(name, "ok", "stray-process", "none")
    yield from _load(host, report)
    if report.dropped < 2:
        message = f"the kernel counted {report.dropped} dropped caches of 2"
        yield Finding(name, "error", "caches", message, "is /proc/sys/vm/drop_caches writable there?")
    else:
        yield Finding(name, "ok", "caches", "can be dropped")
    free = _number(report.one("work_free"))
    if free is None:
        message = "how much room the work directory's file system has is not known"
        yield Finding(name, "warning", "space", message, "look at what df says of it there")
    elif free < MIN_FREE_BYTES:
        message = f"the work directory's file system has {free / 1e9:.1f} GB free"
        yield Finding(name, "warning", "space", message, "make room, or name another work_dir in the cluster file")
    else:
        yield Finding(name, "ok", "space", "the work directory has room")


def _load(host: Host, report: HostReport) -> Iterator[Finding]:
    load, cpus = _number(report.one("load")), report.facts.get("cpus") or 1
    if load is None:
        message = "its load is not known"
        yield Finding(host.name, "warning", "load", message, "look at /proc/loadavg there")
        return
    if load <= MAX_LOAD_PER_CPU * cpus:
        yield Finding(host.name, "ok", "load", "low")
        return
    busy = [line.split(" ", 2) for line in report.lists.get("busy", [])]
    who = ", ".join(f"{words[2]} ({words[0]} % of a CPU, process {words[1]})" for words in busy if len(words) == 3)
    what = f"busiest now: {who}" if who else "no process is busy now: it is of the last minute, or waits for disks"
    message = f"load {load:g} on {cpus} CPUs, with nothing measured; {what}"
    yield Finding(host.name, "warning", "load", message, "see what else runs there, or wait a minute")


def _leftovers(host: Host, report: HostReport) -> Iterator[Finding]:
    for mount in report.lists.get("hung", []):
        message = f"the mount of {mount} does not answer within 5 s"
        yield Finding(
            host.name, "error", "leftover-mount", message, "umount -l it there, and end its glusterfs process"
        )
    if mounted := report.lists.get("mounted"):
        message = f"an earlier run left mounted {_some(mounted)}"
        advice = "nothing: the next run unmounts what it does not need"
        yield Finding(host.name, "warning", "leftover-mount", message, advice)


def _link(cluster: Cluster, host: Host, report: HostReport) -> Iterator[Finding]:
    name, role = host.name, cluster.role(host.name)
    state = report.facts.get("interface_operstate")
    if state is None:
        message = f"has no interface {host.interface}, which the cluster file names"
        yield Finding(name, "error", "link", message, "correct 'interface' in the cluster file")
        return
    problems = []
    if state not in ("up", "unknown"):
        message = f"{host.interface} is {state}"
        problems.append(Finding(name, "error", "link", message, "bring the link up, or correct 'interface'"))
    if report.one("duplex") == "half":
        message = f"{host.interface} is half duplex"
        problems.append(Finding(name, "error", "link", message, "look at the switch port and the cable"))
    slaves = [line.split(" ") for line in report.lists.get("slave", [])]
    down = [words[0] for words in slaves if words[-1] != "up"]
    if down:
        message = f"{len(down)} of the {len(slaves)} links of {host.interface} are down: {', '.join(down)}"
        problems.append(Finding(name, "warning", "link", message, "look at the switch ports and the cables"))
    stated = cluster.hardware.server_link if role == "server" else cluster.hardware.client_link
    speed = report.facts.get("interface_speed_bytes_per_s")
    # A testbed's links are virtual, and slowed down by other means.
    if speed and not cluster.is_testbed and abs(speed / stated - 1) > 0.01:
        message = f"{host.interface} runs at {speed * 8e-9:g} Gbit/s, the cluster file says {stated * 8e-9:g}"
        problems.append(
            Finding(name, "warning", "link", message, "correct 'hardware' in the cluster file, or the link")
        )
    yield from problems or [Finding(name, "ok", "link", "up")]
    if report.lists.get("elsewhere"):
        message = f"its address is none of {host.interface}: sar would watch another link than the volume uses"
        yield Finding(name, "warning", "link-address", message, "correct 'interface' or 'address' in the cluster file")
    else:
        yield Finding(name, "ok", "link-address", f"on {host.interface}")


def _guards(cluster: Cluster, host: Host, report: HostReport) -> Iterator[Finding]:
    """What may stand in the way: a firewall, SELinux, a tuning that is not the guide's."""
    name, role = host.name, cluster.role(host.name)
    which = report.one("firewall")
    if closed := report.lists.get("closed"):
        addresses = {server.address: server.name for server in cluster.servers}
        message = f"cannot reach port 24007 (glusterd) of {_some([addresses.get(each, each) for each in closed])}"
        advice = "start glusterd there; open ports 24007 and 49152-60999 in its firewall"
        yield Finding(name, "error", "firewall", message, advice)
    elif which is not None:
        message = f"a firewall is active ({which})"
        advice = "let the hosts of the cluster reach each other on all ports: 24007, 49152-60999, 5201 for a baseline"
        yield Finding(name, "warning", "firewall", message, advice)
    else:
        yield Finding(name, "ok", "firewall", "reaches glusterd on all servers")
    if report.lists.get("selinux") and role == "server":
        message = "SELinux is enforcing: brick processes may be kept from their bricks"
        advice = (
            "label the bricks (semanage fcontext -t glusterd_brick_t, restorecon), or setenforce 0 for the campaign"
        )
        yield Finding(name, "warning", "selinux", message, advice)
    if cluster.is_testbed:
        return  # its hosts share one kernel, which no tuned profile of theirs can tune
    profile = report.facts.get("tuned_profile")
    choices = GUIDE_PROFILES[role]
    if not profile:
        message = "no tuned profile is active" if profile == "" else "tuned is not there"
        yield Finding(
            name, "warning", "tuned", message, f"tuned-adm profile {choices[0]}; the guide's runbook has more"
        )
    elif profile not in choices:
        message = f"tuned profile {profile}, the guide's {role}s have {' or '.join(choices)}"
        yield Finding(name, "warning", "tuned", message, f"tuned-adm profile {choices[0]}, or say why not")
    else:
        yield Finding(name, "ok", "tuned", profile)


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
            message = f"how much room {root} has is not known"
            yield Finding(host.name, "warning", "space", message, "look at what df says of it there")
        elif free < max(min(MIN_FREE_BYTES, size / 2), MIN_FREE_FRACTION * size):
            message = f"{root} has {free / 1e9:.1f} of {size / 1e9:.1f} GB free"
            yield Finding(host.name, "warning", "space", message, "make room, or plan smaller files")
    if mounted and not problems:
        total = format_size(sum(system["size_bytes"] or 0 for system in mounted.values()) >> 30 << 30)
        yield Finding(host.name, "ok", "bricks", f"{len(mounted)} brick file systems mounted, {total}")


def leftover_bricks(host: Host, report: HostReport, known: Collection[str]) -> Iterator[Finding]:
    """Directories of the suite's bricks on one server whose volume is none of the pool's any more.

    `known`: names of the pool's volumes.
    """
    left = [path for path in report.lists.get("brick_dir", []) if path.rpartition("/glusterlab-")[2] not in known]
    if left:
        more = f" and {len(left) - 1} more" if len(left) > 1 else ""
        message = f"{left[0]}{more}: of a volume that was deleted, or of a baseline"
        advice = "remove them when you need the room: a run empties those of its own volumes, a baseline its own"
        yield Finding(host.name, "warning", "leftover-brick", message, advice)
    else:
        yield Finding(host.name, "ok", "leftover-brick", "none")


def _number(text: str | None) -> float | None:
    """A number that a host printed; None where it printed something else, as df does with a dash."""
    try:
        number = float(text or "")
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _some(names: list[str], shown: int = 4) -> str:
    return ", ".join(names[:shown]) + (f" and {len(names) - shown} more" if len(names) > shown else "")
