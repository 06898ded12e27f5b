"""What is wrong with a host, by its answers: login, tools, state, what an earlier run left, link, tuning, disks."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from glusterlab.hosts.check.finding import Code, Level
from glusterlab.hosts.health import MAX_CLOCK_OFFSET_S
from glusterlab.tools import runnable

if TYPE_CHECKING:
    from glusterlab.hosts.check.ask import HostReport
    from glusterlab.spec.cluster import Cluster, Host

MAX_LOAD_PER_CPU = 0.5
MIN_FREE_BYTES = 1 << 30
MIN_FREE_FRACTION = 0.1

Problem = tuple[Level, Code, str, str]
"""How bad it is, what was inspected, what was found, and what to do."""

_LINES: Mapping[str, Problem] = {
    "refused": ("error", "work-dir", "{line}", "name another work_dir in the cluster file, or mend it"),
    "readonly": (
        "error",
        "work-dir",
        "{line}, where it would lie, is read-only",
        "mount it read-write, or name another",
    ),
    "hung": ("error", "leftover-mount", "the mount of {line} does not answer", "umount -l it, and end its glusterfs"),
    "disk_readonly": ("error", "disk-health", "{first} is read-only", "look at its kernel messages: is it failing?"),
    "disk_state": ("error", "disk-health", "{first} is {rest}", "look at the controller, the cable and the disk"),
    "degraded": ("error", "disk-health", "the array {first} lacks {rest} members", "replace the disk, let it rebuild"),
    "syncing": ("warning", "disk-health", "the array {first} is busy ({rest})", "wait: it takes the disks' time"),
    "smart": ("error", "disk-health", "SMART says of {first}: {rest}", "replace the disk"),
    "unreadable": ("error", "bricks", "{first} cannot be read: {rest}", "look at its kernel messages"),
}
"""What a line of check.sh means, by its first word; `first` and `rest` are the words after that."""

GUIDE_PROFILES = {
    "server": ("rhgs-sequential-io", "rhgs-random-io", "rhgs-throughput-performance", "throughput-performance"),
    "client": ("throughput-performance", "network-throughput"),
}
"""tuned profiles that the guide and its neighbours used, and the nearest of a community system."""

_NEEDED = {"server": ("gluster", "sysstat"), "client": ("gluster", "sysstat", "ssh")}
_PACKAGES = {"gluster": "glusterfs", "ssh": "an OpenSSH client"}


def host_problems(cluster: Cluster, host: Host, report: HostReport, *, baseline: bool, left: bool) -> Iterator[Problem]:
    """What one host's answers say against it.

    A `baseline` needs more tools; `left`: a run that has ended did not give the host back.
    """
    for key, (level, code, text, advice) in _LINES.items():
        for line in report.lists.get(key, []):
            first, _, rest = line.partition(" ")
            yield level, code, text.format(line=line, first=first, rest=rest or "no answer within 5 s"), advice
    yield from _access(report)
    yield from _tools(cluster.role(host.name), report, baseline=baseline)
    yield from _state(report, left=left)
    yield from _link(cluster, host, report)
    yield from _guards(cluster, host, report)
    server = cluster.role(host.name) == "server"
    yield from _devices(host, report, server=server)
    if server:
        yield from _bricks(report)
    elif not report.facts.get("fuse"):
        yield "error", "fuse", "has no /dev/fuse", "modprobe fuse there"
    elif not report.lists.get("fuse_opens"):
        yield "error", "fuse", "/dev/fuse cannot be opened", "is it a container without that device?"


def _access(report: HostReport) -> Iterator[Problem]:
    if report.one("uid") != "0" and report.lists.get("sudo"):
        message = "the login is not root's; sudo needs no password there, but the suite does not use it"
        advice = "let root in by key (PermitRootLogin prohibit-password), and set ssh.user to root in the cluster file"
        yield "error", "root", message, advice
    elif report.one("uid") != "0":
        yield "error", "root", "the login is not root's", "set ssh.user to root in the cluster file"
    if unresolved := report.lists.get("unresolved"):
        yield "error", "names", f"cannot resolve {_some(unresolved)}", "add the hosts to its /etc/hosts or to DNS"


def _tools(role: str, report: HostReport, *, baseline: bool) -> Iterator[Problem]:
    found = report.facts["tools"]
    needed = {tool: _PACKAGES.get(tool, tool) for tool in _NEEDED[role]}
    for tool in runnable().values():
        for program in tool.programs:
            if role not in (program.roles | program.baseline_roles if baseline else program.roles):
                continue
            if program.required:
                needed[program.name] = program.package
            elif program.name not in found:
                message = f"has no {program.name}, which {tool.name} needs"
                yield "warning", "tools", message, f"install {program.package} there"
    for each, package in needed.items():
        if each not in found:
            yield "error", "tools", f"has no {each}", f"install {package} there"
    missing = sorted(report.lists.get("missing", []))
    if "sadc" in missing and "sysstat" not in found:
        missing.remove("sadc")
    if missing:
        yield "error", "tools", f"lacks {', '.join(missing)}", "install them there"
    if "xz" not in found and "python3" not in found:
        yield "error", "tools", "has neither xz nor python3 to pack telemetry", "install xz there"


def _state(report: HostReport, *, left: bool) -> Iterator[Problem]:
    offset = report.clock_offset_s
    if abs(offset) > MAX_CLOCK_OFFSET_S:
        message = f"the clock is {offset:+.1f} s off the controller's, expected within {MAX_CLOCK_OFFSET_S:g} s"
        yield "error", "clock", message, "let chrony or another NTP client run on all hosts"
    if (ntp := report.one("ntp")) is not None and ntp != "yes":
        message = "no NTP client keeps the clock (timedatectl: NTPSynchronized=no)"
        yield "warning", "clock-sync", message, "start chrony or systemd-timesyncd there"
    if strays := report.lists.get("stray"):
        # without its number, which is another on each host
        command = strays[0].partition(" ")[2][:100]
        message = f"{len(strays)} leftover process{'es' if len(strays) > 1 else ''} of a workload, such as {command}"
        if left:
            advice = "nothing: the run that started it has ended, the next run ends it"
            yield "warning", "stray-process", message, advice
        else:
            yield "error", "stray-process", message, "wait for what started it, or end it"
    load, cpus = _number(report.one("load")), report.facts.get("cpus") or 1
    if load is None:
        yield "warning", "load", "its load is not known", "look at /proc/loadavg there"
    elif load > MAX_LOAD_PER_CPU * cpus:
        busy = [line.split(" ", 2) for line in report.lists.get("busy", [])]
        who = ", ".join(f"{words[2]} ({words[0]} % of a CPU, process {words[1]})" for words in busy if len(words) == 3)
        what = f"busiest now: {who}" if who else "no process is busy now: it is of the last minute, or waits for disks"
        message = f"load {load:g} on {cpus} CPUs, with nothing measured; {what}"
        yield "warning", "load", message, "see what else runs there, or wait a minute"
    if report.dropped < 2:
        message = f"the kernel counted {report.dropped} dropped caches of 2"
        yield "error", "caches", message, "is /proc/sys/vm/drop_caches writable there?"
    free = _number(report.one("work_free"))
    if free is None:
        message = "how much room the work directory's file system has is not known"
        yield "warning", "space", message, "look at what df says of it there"
    elif free < MIN_FREE_BYTES:
        message = f"the work directory's file system has {free / 1e9:.1f} GB free"
        yield "warning", "space", message, "make room, or name another work_dir in the cluster file"
    if mounted := report.lists.get("mounted"):
        message = f"an earlier run left mounted {_some(mounted)}"
        yield "warning", "leftover-mount", message, "nothing: the next run unmounts what it does not need"


def _link(cluster: Cluster, host: Host, report: HostReport) -> Iterator[Problem]:
    state = report.facts.get("interface_operstate")
    if state is None:
        message = f"has no interface {host.interface}, which the cluster file names"
        yield "error", "link", message, "correct 'interface' in the cluster file"
        return
    if state not in ("up", "unknown"):
        yield "error", "link", f"{host.interface} is {state}", "bring the link up, or correct 'interface'"
    if report.one("duplex") == "half":
        yield "error", "link", f"{host.interface} is half duplex", "look at the switch port and the cable"
    slaves = [line.split(" ") for line in report.lists.get("slave", [])]
    down = [words[0] for words in slaves if words[-1] != "up"]
    if down:
        message = f"{len(down)} of the {len(slaves)} links of {host.interface} are down: {', '.join(down)}"
        yield "warning", "link", message, "look at the switch ports and the cables"
    hardware = cluster.hardware
    stated = hardware.server_link if cluster.role(host.name) == "server" else hardware.client_link
    speed = report.facts.get("interface_speed_bytes_per_s")
    # A testbed's links are virtual, and slowed down by other means.
    if speed and not cluster.is_testbed and abs(speed / stated - 1) > 0.01:
        message = f"{host.interface} runs at {speed * 8e-9:g} Gbit/s, the cluster file says {stated * 8e-9:g}"
        yield "warning", "link", message, "correct 'hardware' in the cluster file, or the link"
    if report.lists.get("elsewhere"):
        message = f"its address is none of {host.interface}: sar would watch another link than the volume uses"
        yield "warning", "link-address", message, "correct 'interface' or 'address' in the cluster file"


def _guards(cluster: Cluster, host: Host, report: HostReport) -> Iterator[Problem]:
    """What may stand in the way: a firewall, SELinux, a tuning that is not the guide's."""
    role = cluster.role(host.name)
    if closed := report.lists.get("closed"):
        addresses = {server.address: server.name for server in cluster.servers}
        message = f"cannot reach port 24007 (glusterd) of {_some([addresses.get(each, each) for each in closed])}"
        yield "error", "firewall", message, "start glusterd there; open ports 24007 and 49152-60999 in its firewall"
    elif (which := report.one("firewall")) is not None:
        advice = "let the hosts of the cluster reach each other on all ports: 24007, 49152-60999, 5201 for a baseline"
        yield "warning", "firewall", f"a firewall is active ({which})", advice
    if report.lists.get("selinux") and role == "server":
        message = "SELinux is enforcing: brick processes may be kept from their bricks"
        label = "label the bricks (semanage fcontext -t glusterd_brick_t, restorecon)"
        yield "warning", "selinux", message, f"{label}, or setenforce 0 for the campaign"
    profile, choices = report.facts.get("tuned_profile"), GUIDE_PROFILES[role]
    # hosts of a testbed share one kernel, which no tuned profile of theirs can tune
    if cluster.is_testbed or profile in choices:
        return
    if profile:
        message = f"tuned profile {profile}, the guide's {role}s have {' or '.join(choices)}"
        yield "warning", "tuned", message, f"tuned-adm profile {choices[0]}, or say why not"
    else:
        message = "no tuned profile is active" if profile == "" else "tuned is not there"
        yield "warning", "tuned", message, f"tuned-adm profile {choices[0]}; the guide's runbook has more"


def _devices(host: Host, report: HostReport, *, server: bool) -> Iterator[Problem]:
    absent = [device for device, disk in report.facts["disks"].items() if disk.get("missing")]
    below = [line.split() for line in report.lists.get("below", [])]
    unwatched = [words[0] for words in below if not set(words[1:]) & set(host.devices)]
    if absent:
        message = f"has no block device {', '.join(absent)}, which the cluster file names"
        yield "error", "disks", message, "correct 'devices' in the cluster file"
    elif server and not host.devices:
        message = "the cluster file names no 'devices': sar will not tell its disks apart"
        yield "warning", "disks", message, "name the bricks' block devices"
    elif unwatched:
        message = f"below {', '.join(unwatched[:4])} lies none of the 'devices': sar would watch other disks"
        yield "warning", "disks", message, "name the bricks' block devices in the cluster file"


def _bricks(report: HostReport) -> Iterator[Problem]:
    systems = report.facts["filesystems"]
    mounted = {root: system for root, system in systems.items() if system["mounted"]}
    if unmounted := sorted(systems.keys() - mounted.keys()):
        advice = "mount the bricks' file systems, 'glusterlab prepare' makes them; see the runbook"
        yield "error", "bricks", f"not mounted: {_some(unmounted)}", advice
    shared = [device for device, n in Counter(system["device"] for system in mounted.values()).items() if n > 1]
    if shared:
        yield (
            "error",
            "bricks",
            f"several bricks lie on {', '.join(shared)}",
            "give each brick a file system of its own",
        )
    if readonly := [root for root, system in mounted.items() if "ro" in system["options"].split(",")]:
        yield "error", "bricks", f"mounted read-only: {_some(readonly)}", "mount read-write; has the disk failed?"
    if others := sorted({system["type"] for system in mounted.values()} - {"xfs"}):
        yield "warning", "bricks", f"bricks on {', '.join(others)}, GlusterFS is made for XFS", "mkfs.xfs -i size=512"
    for root, system in mounted.items():
        free, size = system["free_bytes"], system["size_bytes"]
        if free is None or size is None:
            yield "warning", "space", f"how much room {root} has is not known", "look at what df says of it there"
        elif free < max(min(MIN_FREE_BYTES, size / 2), MIN_FREE_FRACTION * size):
            message = f"{root} has {free / 1e9:.1f} of {size / 1e9:.1f} GB free"
            yield "warning", "space", message, "make room, or plan smaller files"


def _number(text: str | None) -> float | None:
    """A number that a host printed; None where it printed something else, as df does with a dash."""
    try:
        number = float(text or "")
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _some(names: list[str], shown: int = 4) -> str:
    return ", ".join(names[:shown]) + (f" and {len(names) - shown} more" if len(names) > shown else "")
