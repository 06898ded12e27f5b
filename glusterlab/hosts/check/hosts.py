"""What a host's answers mean: its login and tools, its state, what an earlier run left, its link and its tuning."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from glusterlab.hosts.check.finding import Finding
from glusterlab.judge import MAX_CLOCK_OFFSET_S

if TYPE_CHECKING:
    from glusterlab.hosts.check.ask import HostReport
    from glusterlab.spec.cluster import Cluster, Host

MAX_LOAD_PER_CPU = 0.5
MIN_FREE_BYTES = 1 << 30

GUIDE_PROFILES = {
    "server": ("rhgs-sequential-io", "rhgs-random-io", "rhgs-throughput-performance", "throughput-performance"),
    "client": ("throughput-performance", "network-throughput"),
}
"""tuned profiles that the guide and its neighbours used, and the nearest of a community system."""

_NEEDED = {"server": ("gluster", "sysstat"), "client": ("gluster", "iozone", "sysstat", "ssh")}
_NEEDED_FOR_BASELINE = {"server": ("iozone", "iperf3"), "client": ("iperf3",)}
_PACKAGES = {"gluster": "glusterfs", "iozone": "iozone3", "ssh": "an OpenSSH client"}


def host_findings(
    cluster: Cluster, host: Host, report: HostReport, *, baseline: bool = False, left: bool = False
) -> Iterator[Finding]:
    """All that one host's answers say of the host itself, its disks apart.

    Parameters
    ----------
    cluster : Cluster
    host : Host
    report : HostReport
    baseline : bool
        Whether a baseline is to be measured, which needs more tools.
    left : bool
        Whether a run that is gone still has the host.
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
    needed = [*_NEEDED[role], *(_NEEDED_FOR_BASELINE[role] if baseline else ())]
    absent = [tool for tool in dict.fromkeys(needed) if tool not in found]
    for tool in absent:
        yield Finding(name, "error", "tools", f"has no {tool}", f"install {_PACKAGES.get(tool, tool)} there")
    missing = sorted(report.lists.get("missing", []))
    if "sadc" in missing and "sysstat" not in found:
        missing.remove("sadc")
    if missing:
        yield Finding(name, "error", "tools", f"lacks {', '.join(missing)}", "install them there")
    packs = "xz" in found or "python3" in found
    if not packs:
        yield Finding(name, "error", "tools", "has neither xz nor python3 to pack telemetry", "install xz there")
    if role == "client" and "python3" not in found:
        yield Finding(name, "warning", "tools", "has no python3, which smallfile needs", "install it there")
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
            advice = "nothing: the run that started it is gone, the next run ends it"
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
        message = "how much room the work directory's file system has cannot be told"
        yield Finding(name, "warning", "space", message, "look at what df says of it there")
    elif free < MIN_FREE_BYTES:
        message = f"the work directory's file system has {free / 1e9:.1f} GB free"
        yield Finding(name, "warning", "space", message, "make room, or name another work_dir in the cluster file")
    else:
        yield Finding(name, "ok", "space", "the work directory has room")


def _load(host: Host, report: HostReport) -> Iterator[Finding]:
    load, cpus = _number(report.one("load")), report.facts.get("cpus") or 1
    if load is None:
        message = "its load cannot be told"
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
        message = f"a firewall is at work ({which})"
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


def _number(text: str | None) -> float | None:
    """A number that a host printed; None where it printed something else, as df does with a dash."""
    try:
        number = float(text or "")
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _some(names: list[str], shown: int = 4) -> str:
    return ", ".join(names[:shown]) + (f" and {len(names) - shown} more" if len(names) > shown else "")
