"""What is wrong with a host by its answers, and with hosts taken together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from glusterlab.errors import some
from glusterlab.hosts import facts
from glusterlab.hosts.access import lacking
from glusterlab.hosts.check.finding import Code, Finding, Level
from glusterlab.hosts.health import MAX_CLOCK_OFFSET_S
from glusterlab.tools import runnable, volume_tools
from glusterlab.tools.document import number

if TYPE_CHECKING:
    from glusterlab.hosts.check.ask import HostReport, PoolReport
    from glusterlab.spec.cluster import Cluster, Host

MAX_LOAD_PER_CPU = 0.5
MIN_FREE_BYTES = 1 << 30
MIN_FREE_FRACTION = 0.1

Problem = tuple[Level, Code, str, str | None]
"""How bad it is, what was inspected, what was found, and what to do about it."""

_LINES: Mapping[str, Problem] = {
    "refused": ("error", "work-dir", "{line}", "name another work_dir in the cluster file, or mend it"),
    "readonly": ("error", "work-dir", "{line}, where it would lie, is read-only", "mount it read-write"),
    "hung": ("error", "leftover-mount", "the mount of {line} does not answer", "umount -l it, and end its glusterfs"),
    "disk_readonly": ("error", "disk-health", "{first} is read-only", "look at its kernel messages: is it failing?"),
    "disk_state": ("error", "disk-health", "{first} is {rest}", "look at the controller, the cable and the disk"),
    "degraded": ("error", "disk-health", "the array {first} lacks {rest} members", "replace the disk, let it rebuild"),
    "syncing": ("warning", "disk-health", "the array {first} is busy ({rest})", "wait: it takes the disks' time"),
    "smart": ("error", "disk-health", "SMART says of {first}: {rest}", "replace the disk"),
    "unreadable": ("error", "bricks", "{first} cannot be read: {rest}", "look at its kernel messages"),
    "unresolved": ("error", "names", "cannot resolve {some}", "add the hosts to its /etc/hosts or to DNS"),
    "mounted": ("warning", "leftover-mount", "an earlier run left mounted {some}", "nothing: the next run unmounts it"),
    "foreign": ("warning", "access", "{line} is not the suite's", "stop it while campaigns of NFS or SMB run"),
    "refused_existing": ("error", "access", "{line}", "mend it, or correct 'existing' in the cluster file"),
    "elsewhere": ("warning", "link-address", "its address is not that of its 'interface'", "correct one of them"),
}
"""What lines of check.sh mean, by their first word; `first` and `rest` are the words after it, `some` all the lines."""

TUNED_PROFILES = {
    "server": ("rhgs-sequential-io", "rhgs-random-io", "rhgs-throughput-performance", "throughput-performance"),
    "client": ("throughput-performance", "network-throughput"),
}
"""tuned profiles that published studies used, and the nearest of a community system; all are for throughput."""

_NEEDED = {"server": ("gluster", "sysstat"), "client": ("gluster", "sysstat", "ssh")}
_PACKAGES = {"gluster": "glusterfs", "ssh": "an OpenSSH client"}


def host_problems(cluster: Cluster, host: Host, report: HostReport, *, baseline: bool, left: bool) -> Iterator[Problem]:
    """What one host's answers say against it; `left`: a run that has ended did not give the host back."""
    for key, (level, code, text, advice) in _LINES.items():
        found = report.lists.get(key, [])
        for line in found[:1] if "{some}" in text else found:
            first, _, rest = line.partition(" ")
            words = {"line": line, "first": first, "rest": rest or "no answer within 5 s", "some": some(found, 4)}
            yield level, code, text.format(**words), advice
    role = cluster.role(host.name)
    yield from _tools(role, report, baseline=baseline, gluster=bool(cluster.backings))
    yield from _state(report, left=left)
    yield from _load(report)
    yield from _link(cluster, host, report)
    yield from _guards(cluster, role, report)
    yield from _devices(host, report, server=role == "server")
    if role == "server":
        yield from _bricks(report)
    elif not cluster.backings:
        return
    elif not report.facts.get("fuse"):
        yield "error", "fuse", "has no /dev/fuse", "modprobe fuse there"
    elif not report.lists.get("fuse_opens"):
        yield "error", "fuse", "/dev/fuse cannot be opened", "is it a container without that device?"


def _tools(role: str, report: HostReport, *, baseline: bool, gluster: bool) -> Iterator[Problem]:
    found = report.facts["tools"]
    needed = {tool: _PACKAGES.get(tool, tool) for tool in _NEEDED[role] if gluster or tool != "gluster"}
    for tool in runnable().values():
        for program in tool.programs:
            if role not in (program.roles | program.baseline_roles if baseline else program.roles):
                continue
            if program.required:
                needed[program.name] = program.package
            elif not found.get(program.name):
                purpose = f" for {program.serves}" if program.serves else ""
                message = f"has no {program.name}, which {tool.name} needs{purpose}"
                advice = f"install a {program.package} that has it" if program.probe else f"install {program.package}"
                yield "warning", "tools", message, f"{advice} there"
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
    if report.one("uid") != "0":
        hint = "; sudo needs no password there, but the suite does not use it" if report.lists.get("sudo") else ""
        advice = "let root in by key (PermitRootLogin prohibit-password), and set ssh.user to root in the cluster file"
        yield "error", "root", f"the login is not root's{hint}", advice
    if abs(report.clock_offset_s) > MAX_CLOCK_OFFSET_S:
        message = f"the clock is {report.clock_offset_s:+.1f} s off the controller's, expected {MAX_CLOCK_OFFSET_S:g} s"
        yield "error", "clock", message, "let chrony or another NTP client run on all hosts"
    if (ntp := report.one("ntp")) is not None and ntp != "yes":
        message = "no NTP client keeps the clock (timedatectl: NTPSynchronized=no)"
        yield "warning", "clock-sync", message, "start chrony or systemd-timesyncd there"
    if strays := report.lists.get("stray"):
        # without its number, which is another on each host
        command = strays[0].partition(" ")[2][:100]
        message = f"{len(strays)} leftover process{'es' if len(strays) > 1 else ''} of a workload, such as {command}"
        ended = "nothing: the run that started it has ended, the next run ends it"
        level: Level = "warning" if left else "error"
        yield level, "stray-process", message, ended if left else "wait for what started it, or end it"
    if report.dropped < 2:
        message = f"the kernel counted {report.dropped} dropped caches of 2"
        yield "error", "caches", message, "is /proc/sys/vm/drop_caches writable there?"
    free = number(report.one("work_free"))  # None for a dash of df
    advice = "make room, or name another work_dir in the cluster file"
    if free is None:
        message = "how much room the work directory's file system has is not known"
        yield "warning", "space", message, "look at what df says of it there"
    elif free < MIN_FREE_BYTES:
        yield "warning", "space", f"the work directory's file system has {free / 1e9:.1f} GB free", advice


def _load(report: HostReport) -> Iterator[Problem]:
    load, cpus = number(report.one("load")), report.facts.get("cpus") or 1
    if load is None:
        yield "warning", "load", "its load is not known", "look at /proc/loadavg there"
    elif load > MAX_LOAD_PER_CPU * cpus:
        busy = [line.split(" ", 2) for line in report.lists.get("busy", [])]
        who = ", ".join(f"{words[2]} ({words[0]} % of a CPU, process {words[1]})" for words in busy if len(words) == 3)
        what = f"busiest now: {who}" if who else "no process is busy now: it is of the last minute, or waits for disks"
        message = f"load {load:g} on {cpus} CPUs, with nothing measured; {what}"
        yield "warning", "load", message, "see what else runs there, or wait a minute"


def _link(cluster: Cluster, host: Host, report: HostReport) -> Iterator[Problem]:
    state, name = report.facts.get("interface_operstate"), host.interface
    if state is None:
        yield "error", "link", f"has no interface {name}", "correct 'interface' in the cluster file"
        return
    if state not in ("up", "unknown"):
        yield "error", "link", f"{name} is {state}", "bring the link up, or correct 'interface'"
    if report.one("duplex") == "half":
        yield "error", "link", f"{name} is half duplex", "look at the switch port and the cable"
    slaves = [line.split(" ") for line in report.lists.get("slave", [])]
    if down := [words[0] for words in slaves if words[-1] != "up"]:
        message = f"{len(down)} of the {len(slaves)} links of {name} are down: {', '.join(down)}"
        yield "warning", "link", message, "look at the switch ports and the cables"
    hardware = cluster.hardware
    stated = hardware.server_link if cluster.role(host.name) == "server" else hardware.client_link
    speed = report.facts.get("interface_speed_bytes_per_s")
    # A testbed's links are virtual, and slowed down by other means.
    if cluster.is_testbed:
        return
    if not speed:
        yield "not examined", "link", f"not examined: {name} does not say its speed", None
    elif abs(speed / stated - 1) > 0.01:
        message = f"{name} runs at {speed * 8e-9:g} Gbit/s, the cluster file says {stated * 8e-9:g}"
        yield "warning", "link", message, "correct 'hardware' in the cluster file, or the link"


def _guards(cluster: Cluster, role: str, report: HostReport) -> Iterator[Problem]:
    """What may stand in the way: a firewall, SELinux, a tuning that is not for throughput."""
    if closed := report.lists.get("closed"):
        addresses = {server.address: server.name for server in cluster.servers}
        message = f"cannot reach port 24007 (glusterd) of {some([addresses.get(each, each) for each in closed], 4)}"
        yield "error", "firewall", message, "start glusterd there; open ports 24007 and 49152-60999 in its firewall"
    elif (which := report.one("firewall")) is not None:
        advice = "let the hosts of the cluster reach each other on all ports: 24007, 49152-60999, 5201 for a baseline"
        yield "warning", "firewall", f"a firewall is active ({which})", advice
    if report.lists.get("selinux") and role == "server":
        advice = "label the bricks (semanage fcontext -t glusterd_brick_t, restorecon), or setenforce 0"
        yield "warning", "selinux", "SELinux is enforcing: brick processes may be kept from their bricks", advice
    profile, choices = report.facts.get("tuned_profile"), TUNED_PROFILES[role]
    # hosts of a testbed share one kernel, which no tuned profile of theirs can tune
    if not cluster.is_testbed and profile not in choices:
        found = f"tuned profile {profile}" if profile else "no tuned profile" if profile == "" else "no tuned"
        message = f"{found}, expected on {role}s {' or '.join(choices)} (tuned for throughput)"
        yield "warning", "tuned", message, f"tuned-adm profile {choices[0]}, or say why not"


def _devices(host: Host, report: HostReport, *, server: bool) -> Iterator[Problem]:
    absent = [device for device, disk in report.facts["disks"].items() if disk.get("missing")]
    below = [line.split() for line in report.lists.get("below", [])]
    unwatched = [words[0] for words in below if not set(words[1:]) & set(host.devices)]
    if server and len(absent) == len(host.devices) and not any(words[1:] for words in below):
        yield "not examined", "disk-health", "not examined: no disk of it is known", None
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
        yield "error", "bricks", f"not mounted: {some(unmounted, 4)}", advice
    devices = Counter(system["device"] for system in mounted.values())
    if shared := [device for device, n in devices.items() if n > 1]:
        yield "error", "bricks", f"several bricks lie on {', '.join(shared)}", "give each a file system of its own"
    if readonly := [root for root, system in mounted.items() if "ro" in system["options"].split(",")]:
        yield "error", "bricks", f"mounted read-only: {some(readonly, 4)}", "mount read-write; has the disk failed?"
    if others := sorted({system["type"] for system in mounted.values()} - {"xfs"}):
        yield "warning", "bricks", f"bricks on {', '.join(others)}, GlusterFS is made for XFS", "mkfs.xfs -i size=512"
    for root, system in mounted.items():
        free, size = system["free_bytes"], system["size_bytes"]
        if free is None or size is None:
            yield "warning", "space", f"how much room {root} has is not known", "look at what df says of it there"
        elif free < max(min(MIN_FREE_BYTES, size / 2), MIN_FREE_FRACTION * size):
            message = f"{root} has {free / 1e9:.1f} of {size / 1e9:.1f} GB free"
            yield "warning", "space", message, "make room, or plan smaller files"


def pool_problems(cluster: Cluster, reports: Mapping[str, HostReport], pool: PoolReport) -> Iterator[Finding]:
    """What is wrong, each with the host that it concerns, if it is one."""
    yield from _differences(cluster, reports)
    for name in pool.split:
        message = f"packets of the full MTU from {cluster.servers[0].name} do not arrive"
        advice = "set the MTU on every switch port between them; or ICMP is filtered, then look with iperf3"
        yield Finding(name, "warning", "mtu", message, advice)
    yield from pool.problems
    if "gluster" in pool.examined:
        yield from _peers(cluster, pool)
        yield from _volumes(pool)
    yield from _clients_together(cluster, pool)
    yield from _checkouts(cluster)
    known = {name: report.facts for name, report in reports.items()}
    for name, why in lacking(cluster, known).items() if len(reports) == len(cluster.hosts) else ():
        if name in cluster.access:
            advice = "install it there: until then cells of this access are left out"
            yield Finding(None, "warning", "access", why, advice)


def _differences(cluster: Cluster, reports: Mapping[str, HostReport]) -> Iterator[Finding]:
    """What is to be the same on all hosts that have it, or on all of one role."""
    everywhere = frozenset(("server", "client"))
    called = [program for tool in runnable().values() for program in tool.programs if not program.probe]
    programs: dict[str, frozenset[str]] = {}
    for program in called:  # two tools may call one
        programs[program.name] = programs.get(program.name, frozenset()) | program.roles | program.baseline_roles
    advice = "install the same release everywhere"
    for tool, roles in {"gluster": everywhere, "sysstat": everywhere, **programs}.items():
        having = {name: report.facts for name, report in reports.items() if cluster.role(name) in roles}
        if different := _odd({name: facts["tools"].get(tool) for name, facts in having.items()}):
            level: Level = "error" if tool == "gluster" else "warning"
            yield Finding(None, level, "versions", f"{tool} differs: {different}", advice)
    releases = {report.facts["tools"].get("gluster") for report in reports.values()}
    if len(releases) == 1 and None not in releases and len(reports) == len(cluster.hosts):
        yield Finding(None, "ok", "versions", f"GlusterFS {releases.pop()} on all hosts", None)
    kernels = {name: report.facts.get("kernel") for name, report in reports.items()}
    # hosts of a testbed share one kernel, and its guests have another on purpose
    if not cluster.is_testbed and (different := _odd(kernels)):
        yield Finding(None, "warning", "versions", f"kernel differs: {different}", advice)
    if different := _odd({name: report.facts.get("interface_mtu") for name, report in reports.items()}):
        advice = "set one MTU on all hosts and on the switch"
        yield Finding(None, "error", "mtu", f"the MTU differs: {different}", advice)
    for role in ("server", "client"):
        known = [report.facts for name, report in reports.items() if cluster.role(name) == role]
        builds = {digest for each in known if (digest := each.get("gluster_digest"))}
        if len(builds) > 1 and len({each["tools"].get("gluster") for each in known}) == 1:
            message = f"the {role}s' GlusterFS is of one release and {len(builds)} builds: its programs differ"
            yield Finding(None, "warning", "versions", message, "install the same packages everywhere")
        profiles = Counter(profile for each in known if (profile := each.get("tuned_profile")))
        if len(profiles) > 1:
            found = ", ".join(f"{profile} on {n}" for profile, n in profiles.most_common(4))
            message = f"the {role}s have different tuned profiles: {found}"
            yield Finding(None, "warning", "tuned", message, "one profile for all of them: tuned-adm profile ...")
        speeds = Counter(speed for each in known if (speed := each.get("interface_speed_bytes_per_s")))
        if len(speeds) > 1:
            found = ", ".join(f"{speed * 8e-9:g} Gbit/s on {n}" for speed, n in speeds.most_common(4))
            message = f"the links of the {role}s are not alike: {found}"
            yield Finding(None, "warning", "link", message, "look at the ports and the bonds that are slower")


def _odd(values: Mapping[str, object]) -> str:
    """Which hosts have another value than most; empty where all that have one have the same."""
    counts = Counter(value for value in values.values() if value is not None)
    if len(counts) < 2:
        return ""
    common = counts.most_common(1)[0][0]
    odd = [f"{name} {value}" for name, value in sorted(values.items()) if value not in (None, common)]
    return f"{common} on most, but {some(odd, 6)}"


def _peers(cluster: Cluster, pool: PoolReport) -> Iterator[Finding]:
    first = cluster.servers[0].name
    for server in cluster.servers:
        if pool.peers.get(server.name):
            continue
        state, advice = "is disconnected", "is glusterd running there?"
        if server.name not in pool.peers:
            state, advice = "is no peer of the pool", f"'gluster peer probe {server.name}' on {first}"
        yield Finding(server.name, "error", "peers", f"{state}, as {first} sees it", advice)


def _volumes(pool: PoolReport) -> Iterator[Finding]:
    started = {volume.name: volume.is_ours for volume in pool.volumes.values() if volume.started}
    if others := sorted(name for name, ours in started.items() if not ours):
        message = f"volumes that are not the suite's are started: {', '.join(others[:5])}"
        yield Finding(None, "warning", "volumes", message, "their clients and self-heal share the disks: stop them")
    if left := sorted(name for name, ours in started.items() if ours):
        message = f"an earlier run left started {', '.join(left[:5])}"
        yield Finding(None, "warning", "leftover-volume", message, "nothing: the next run stops what it does not need")
    for name, status in pool.status.items():
        for brick in (brick for brick in status.bricks if not brick.online):
            message = f"brick {brick.host}:{brick.path} of volume {name} is offline"
            advice = f"look at its log in /var/log/glusterfs/bricks, then 'gluster volume start {name} force'"
            yield Finding(None, "error", "brick-offline", message, advice)
    if rebalancing := sorted(name for name, status in pool.status.items() if status.rebalancing):
        message = f"a rebalance runs on {', '.join(rebalancing)}"
        yield Finding(None, "error", "rebalance", message, "wait for it, or 'gluster volume rebalance ... stop'")
    for name, entries in pool.pending.items():
        if entries:
            message = f"{entries} entries wait for self-heal on its bricks"
            yield Finding(name, "error", "heal", message, "wait for it; 'gluster volume heal VOLUME info' names them")


def _clients_together(cluster: Cluster, pool: PoolReport) -> Iterator[Finding]:
    driver = cluster.clients[0].name
    for name, answer in sorted(pool.unreached.items()):
        message, advice = f"{driver} cannot reach it by ssh: {answer or 'no answer'}", f"try 'ssh {name}' on {driver}"
        if "host key" in answer.lower():
            message = f"{driver} does not know its host key: {answer}"
            advice = f"put it into a known_hosts on {driver} (ssh-keyscan, and compare)"
        elif "permission denied" in answer.lower():
            message = f"{driver} cannot log in to it by ssh without a password: {answer}"
            advice = f"give {driver} a key, and put it into the host's authorized_keys"
        yield Finding(name, "error", "ssh-between-clients", message, advice)
    if cluster.shared_dir is None:
        message = "no shared_dir: smallfile's starting gate will lie on the volume under test"
        yield Finding(None, "warning", "shared-dir", message, "name a directory that all clients see (NFS, for one)")
    for name in pool.unshared:
        message = f"does not see in {cluster.shared_dir} what {driver} writes there"
        yield Finding(name, "error", "shared-dir", message, "mount the same directory on all clients")


def _checkouts(cluster: Cluster) -> Iterator[Finding]:
    for name, tool in volume_tools().items():
        lacks, checkout = tool.not_ready(cluster), tool.checkout(cluster)
        if lacks is not None:
            message = f"{name} is not ready: its cells will be listed as not runnable"
            yield Finding(None, "warning", "checkouts", message, lacks)
        elif checkout is not None:
            revision = facts.git_revision(checkout)
            if revision is None:
                message = f"{checkout} is no git checkout: its revision cannot be recorded"
                yield Finding(None, "warning", "checkouts", message, "clone it with git")
            elif revision.endswith("-dirty"):
                message = f"{checkout} was changed since revision {revision[:12]}"
                yield Finding(None, "warning", "checkouts", message, f"'git -C {checkout} checkout .'")
