"""Is a cluster fit to measure? Every host is looked at, and what is found is said with what to do about it.

What is asked of the hosts stands apart from what is thought of the answers: `findings_of` is a pure function.
"""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from glusterlab.errors import GlusterlabError, HostError, ParseError, UsageError
from glusterlab.hosts import caches, facts, script, workdir
from glusterlab.hosts.probe import clock_offset
from glusterlab.hosts.quoting import quote
from glusterlab.hosts.volumes import read_info, read_peers
from glusterlab.judge import MAX_CLOCK_OFFSET_S
from glusterlab.units import format_size

if TYPE_CHECKING:
    from glusterlab.hosts.connection import Pool
    from glusterlab.hosts.volumes import VolumeInfo
    from glusterlab.spec.cluster import Cluster, Host

Level = Literal["ok", "warning", "error"]

MAX_LOAD_PER_CPU = 0.5
MIN_FREE_BYTES = 1 << 30
MIN_FREE_FRACTION = 0.1

_NEEDED = {"server": ("gluster", "sysstat"), "client": ("gluster", "iozone", "sysstat", "ssh")}
_PACKAGES = {"gluster": "glusterfs", "iozone": "iozone3", "ssh": "an OpenSSH client"}


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at.

    Attributes
    ----------
    host : str or None
        None for the cluster as a whole.
    level : {"ok", "warning", "error"}
        A cluster with an error is not fit to measure; a warning says what will be weaker.
    code : str
        What was looked at.
    message : str
        What was found, and what was expected where it is not so.
    advice : str or None
        What to do.
    """

    host: str | None
    level: Level
    code: str
    message: str
    advice: str | None = None


@dataclass
class HostReport:
    """What one host answered.

    Attributes
    ----------
    facts : dict
        As in environment.json.
    values : dict of str to str
        Of ``gl_check``: uid and load.
    lists : dict of str to list of str
        Of ``gl_check``: missing, unresolved, foreign; and ``stray`` processes.
    clock_offset_s : float
    dropped : int
        By how much the kernel's count of dropped caches rose.
    """

    facts: dict[str, Any]
    values: dict[str, str] = field(default_factory=dict)
    lists: dict[str, list[str]] = field(default_factory=dict)
    clock_offset_s: float = 0.0
    dropped: int = 0


@dataclass
class PoolReport:
    """What the first server and the first client answered about the others.

    Attributes
    ----------
    peers : dict of str to bool
    volumes : dict of str to VolumeInfo
    unreached : list of str
        Clients that the driver cannot reach by ssh.
    unshared : list of str
        Clients that do not see a file which the driver made in the shared directory.
    problems : list of Finding
    """

    peers: dict[str, bool] = field(default_factory=dict)
    volumes: dict[str, VolumeInfo] = field(default_factory=dict)
    unreached: list[str] = field(default_factory=list)
    unshared: list[str] = field(default_factory=list)
    problems: list[Finding] = field(default_factory=list)


def check(cluster: Cluster, *, pool: Pool | None = None) -> list[Finding]:
    """Look at a cluster.

    Parameters
    ----------
    cluster : Cluster
    pool : Pool, optional
        Connections to use instead of SSH as the cluster says.

    Returns
    -------
    list of Finding
        Never empty. Hosts that cannot be reached are findings, not errors; so is a run that has the cluster, and then
        nothing else is looked at.
    """
    from glusterlab.hosts.connection import Pool

    connections = pool or Pool.of(cluster, mark=f"check.{uuid.uuid4().hex[:8]}")
    try:
        failed = connections.connect()
        if failed:
            return [
                Finding(
                    name, "error", "reachable", error.message, "mend it and check again: nothing else was looked at"
                )
                for name, error in sorted(failed.items())
            ]
        try:
            workdir.refuse_if_owned(connections, cluster)
        except UsageError as error:
            # everything else, the drop of caches above all, would disturb what is being measured
            return [Finding(None, "error", "in-use", error.message, "nothing else was looked at")]
        except HostError as error:
            return [Finding(error.host, "error", "answers", error.message, "look at that host by hand")]
        reports, problems = _ask_hosts(connections, cluster)
        pool_report = _ask_pool(connections, cluster)
    finally:
        connections.close()
    return [*problems, *findings_of(cluster, reports, pool_report)]


def _ask_hosts(pool: Pool, cluster: Cluster) -> tuple[dict[str, HostReport], list[Finding]]:
    names = [client.name for client in cluster.clients]
    commands = {}
    for host in cluster.hosts:
        resolved = names if host in cluster.clients else [server.address for server in cluster.servers]
        lines = [
            script.part("clock", "gl_clock"),
            script.part("check", "gl_check", cluster.work_dir, *resolved),
            script.part("strays", "gl_strays"),
            *facts.lines(host, cluster),
            caches.DROP,
            script.part("end", "gl_clock"),
        ]
        commands[host.name] = script.command(lines, deadline_s=120.0)
    results = pool.run(commands)
    reports: dict[str, HostReport] = {}
    problems = [
        Finding(name, "error", "answers", error.message, "run the check again, then look at that host by hand")
        for name, error in sorted(results.failed.items())
    ]
    for name, result in sorted(results.succeeded.items()):
        try:
            reports[name] = _read_report(script.read_parts(result), name)
            reports[name].clock_offset_s = clock_offset(script.read_parts(result), result)
        except HostError as error:
            problems.append(Finding(name, "error", "answers", error.message))
    return reports, problems


def _read_report(parts: Mapping[str, script.Part], name: str) -> HostReport:
    text = "\n".join(parts[part].text for part in ("facts", "filesystems") if part in parts)
    report = HostReport(facts.read_facts(text))
    for line in script.need(parts, "check", name).text.splitlines():
        key, _, value = line.partition(" ")
        if key in ("uid", "load"):
            report.values[key] = value
        else:
            report.lists.setdefault(key, []).append(value)
    strays = script.need(parts, "strays", name).text.splitlines()
    report.lists["stray"] = [line.partition(" ")[2] for line in strays]
    drop = caches.read_drop(script.need(parts, "drop", name), name)
    report.dropped = drop.after - drop.before
    return report


def _ask_pool(pool: Pool, cluster: Cluster) -> PoolReport:
    """Peers and volumes as the first server sees them; the other clients as the driver reaches them."""
    server, driver = cluster.servers[0], cluster.clients[0]
    options = ["-o", "BatchMode=yes", "-o", "ConnectTimeout=5"]
    if not cluster.ssh.check_host_keys:
        options += ["-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null", "-o", "LogLevel=ERROR"]
    names = [client.name for client in cluster.clients]
    token = f"{cluster.shared_dir}/.glusterlab-check-{uuid.uuid4().hex[:12]}"
    lines = [script.part("ssh", "gl_ssh_reach", *options, "--", *names)]
    if cluster.shared_dir is not None:
        lines.append(f"[ -d {quote(cluster.shared_dir)} ] && : >{quote(token)}")
    asked = [
        script.part("peers", "gl_gluster", "peer", "status", "--xml"),
        script.part("info", "gl_gluster", "volume", "info", "--xml"),
    ]
    report = PoolReport()
    try:
        answers = pool.run(
            {
                driver.name: script.command([*lines, "true"], deadline_s=60.0),
                server.name: script.command([*asked, "true"], deadline_s=150.0),
            }
        ).or_raise()
        parts = script.read_parts(answers[server.name])
        report.peers = read_peers(script.need(parts, "peers", server.name).data, cluster, server.name)
        report.volumes = read_info(script.need(parts, "info", server.name).data)
        text = script.need(script.read_parts(answers[driver.name]), "ssh", driver.name).text
        report.unreached = [line.partition(" ")[2] for line in text.splitlines()]
        if cluster.shared_dir is not None:
            look = script.command([f"[ -e {quote(token)} ]"], deadline_s=30.0)
            report.unshared = sorted(pool.run(dict.fromkeys(names, look)).failed)
            pool.run({driver.name: script.command([f"rm -f {quote(token)}"], deadline_s=30.0)})
    except (HostError, ParseError) as error:
        host = error.host if isinstance(error, HostError) else server.name
        report.problems.append(Finding(host, "error", "gluster", error.message, "is glusterd running there?"))
    return report


def findings_of(cluster: Cluster, reports: Mapping[str, HostReport], pool: PoolReport) -> list[Finding]:
    """What the answers mean.

    Parameters
    ----------
    cluster : Cluster
    reports : mapping of host name to HostReport
        Hosts that did not answer are absent.
    pool : PoolReport
    """
    found: list[Finding] = list(pool.problems)
    for host in cluster.hosts:
        if host.name in reports:
            report = reports[host.name]
            found += [*_access(host, report), *_state(host, report), *_hardware(cluster, host, report)]
            found += list(_bricks(host, report) if host in cluster.servers else _client(host, report))
    found += [*_same_everywhere(reports), *_peers(cluster, pool), *_clients_together(cluster, pool)]
    found += list(_smallfile(cluster))
    return found


def _access(host: Host, report: HostReport) -> Iterator[Finding]:
    name = host.name
    yield Finding(name, "ok", "reachable", "answers, its key is known")
    if report.values.get("uid") != "0":
        yield Finding(name, "error", "root", "the login is not root's", "set ssh.user to root in the cluster file")
    missing = sorted(report.lists.get("missing", []))
    if missing:
        yield Finding(name, "error", "tools", f"lacks {', '.join(missing)}", "install them there")
    if report.lists.get("foreign"):
        message = f"{report.lists['foreign'][0]} is there and was not made by glusterlab"
        yield Finding(name, "error", "work-dir", message, "name another work_dir in the cluster file")
    if report.lists.get("unresolved"):
        message = f"cannot resolve {', '.join(report.lists['unresolved'])}"
        yield Finding(name, "error", "names", message, "add the hosts to its /etc/hosts or to DNS")


def _state(host: Host, report: HostReport) -> Iterator[Finding]:
    name, offset = host.name, report.clock_offset_s
    if abs(offset) > MAX_CLOCK_OFFSET_S:
        message = f"the clock is {offset:+.1f} s off the controller's, expected within {MAX_CLOCK_OFFSET_S:g} s"
        yield Finding(name, "error", "clock", message, "let chrony or another NTP client run on all hosts")
    else:
        yield Finding(name, "ok", "clock", f"within {MAX_CLOCK_OFFSET_S:g} s of the controller's")
    strays = report.lists.get("stray", [])
    if strays:
        message = f"{len(strays)} leftover processes of a workload, such as {strays[0][:100]}"
        yield Finding(name, "error", "stray-process", message, "wait for the run that they belong to, or end them")
    load, cpus = float(report.values.get("load", "nan")), report.facts.get("cpus") or 1
    if load > MAX_LOAD_PER_CPU * cpus:
        message = f"load {load:g} on {cpus} CPUs, with nothing measured"
        yield Finding(name, "warning", "load", message, "see what else runs there")
    if report.dropped < 2:
        message = f"the kernel counted {report.dropped} dropped caches of 2"
        yield Finding(name, "error", "caches", message, "is /proc/sys/vm/drop_caches writable there?")
    else:
        yield Finding(name, "ok", "caches", "can be dropped")
    free = report.facts.get("work_dir_free_bytes")
    if free is not None and free < MIN_FREE_BYTES:
        message = f"the work directory's file system has {free / 1e9:.1f} GB free"
        yield Finding(name, "warning", "space", message, "make room, or name another work_dir in the cluster file")


def _hardware(cluster: Cluster, host: Host, report: HostReport) -> Iterator[Finding]:
    name, role = host.name, cluster.role(host.name)
    missing = [tool for tool in _NEEDED[role] if tool not in report.facts["tools"]]
    for tool in missing:
        yield Finding(name, "error", "tools", f"has no {tool}", f"install {_PACKAGES.get(tool, tool)} there")
    if "xz" not in report.facts["tools"] and "python3" not in report.facts["tools"]:
        yield Finding(name, "error", "tools", "has neither xz nor python3 to pack telemetry", "install xz there")
    absent = [device for device, disk in report.facts["disks"].items() if disk.get("missing")]
    if absent:
        message = f"has no block device {', '.join(absent)}, which the cluster file names"
        yield Finding(name, "error", "disks", message, "correct 'devices' in the cluster file")
    elif role == "server" and not host.devices:
        message = "the cluster file names no 'devices': sar will not tell its disks apart"
        yield Finding(name, "warning", "disks", message, "name the bricks' block devices")
    if report.facts.get("interface_operstate") is None:
        message = f"has no interface {host.interface}, which the cluster file names"
        yield Finding(name, "error", "link", message, "correct 'interface' in the cluster file")
    stated = cluster.hardware.server_link if role == "server" else cluster.hardware.client_link
    speed = report.facts.get("interface_speed_bytes_per_s")
    # A testbed's links are virtual, and slowed down by other means.
    if speed and not cluster.is_testbed and abs(speed / stated - 1) > 0.01:
        message = f"{host.interface} runs at {speed * 8e-9:g} Gbit/s, the cluster file says {stated * 8e-9:g}"
        yield Finding(name, "warning", "link", message, "correct 'hardware' in the cluster file, or the link")


def _bricks(host: Host, report: HostReport) -> Iterator[Finding]:
    systems = report.facts["filesystems"]
    unmounted = [root for root, system in systems.items() if not system["mounted"]]
    if unmounted:
        message = f"{', '.join(unmounted[:4])} {'is' if len(unmounted) == 1 else 'are'} not mounted"
        yield Finding(host.name, "error", "bricks", message, "mount the bricks' file systems; see the runbook")
    mounted = {root: system for root, system in systems.items() if system["mounted"]}
    shared = [device for device, n in Counter(system["device"] for system in mounted.values()).items() if n > 1]
    if shared:
        message = f"several bricks lie on {', '.join(shared)}"
        yield Finding(host.name, "error", "bricks", message, "give each brick a file system of its own")
    others = sorted({system["type"] for system in mounted.values()} - {"xfs"})
    if others:
        message = f"bricks on {', '.join(others)}, GlusterFS is made for XFS"
        yield Finding(host.name, "warning", "bricks", message, "mkfs.xfs -i size=512")
    for root, system in mounted.items():
        free, size = system["free_bytes"], system["size_bytes"]
        if free < max(MIN_FREE_BYTES, MIN_FREE_FRACTION * size):
            message = f"{root} has {free / 1e9:.1f} of {size / 1e9:.1f} GB free"
            yield Finding(host.name, "warning", "space", message, "make room, or plan smaller files")
    if mounted and not unmounted and not shared:
        total = format_size(sum(system["size_bytes"] for system in mounted.values()) >> 30 << 30)
        yield Finding(host.name, "ok", "bricks", f"{len(mounted)} brick file systems mounted, {total}")


def _client(host: Host, report: HostReport) -> Iterator[Finding]:
    if not report.facts.get("fuse"):
        yield Finding(host.name, "error", "fuse", "has no /dev/fuse", "modprobe fuse there")
    if "python3" not in report.facts["tools"]:
        yield Finding(host.name, "warning", "tools", "has no python3, which smallfile needs", "install it there")


def _same_everywhere(reports: Mapping[str, HostReport]) -> Iterator[Finding]:
    for tool in ("gluster", "iozone", "sysstat"):
        yield from _agreement(tool, {name: report.facts["tools"].get(tool) for name, report in reports.items()})
    yield from _agreement("kernel", {name: report.facts.get("kernel") for name, report in reports.items()})


def _agreement(what: str, values: Mapping[str, str | None]) -> Iterator[Finding]:
    """Whether all hosts that have something have the same of it."""
    counts = Counter(value for value in values.values() if value is not None)
    if len(counts) == 1:
        yield Finding(None, "ok", "versions", f"{what} {next(iter(counts))} everywhere")
    elif counts:
        common = counts.most_common(1)[0][0]
        odd = [f"{name} {value}" for name, value in sorted(values.items()) if value not in (None, common)]
        level: Level = "error" if what == "gluster" else "warning"
        message = f"{what} differs: {common} on most, but {', '.join(odd[:6])}"
        yield Finding(None, level, "versions", message, "install the same release everywhere")


def _peers(cluster: Cluster, pool: PoolReport) -> Iterator[Finding]:
    if pool.problems:
        return
    bad = {
        server.name: "is disconnected" if server.name in pool.peers else "is no peer of the pool"
        for server in cluster.servers
        if not pool.peers.get(server.name)
    }
    first = cluster.servers[0].name
    for name, state in bad.items():
        yield Finding(name, "error", "peers", f"{state}, as {first} sees it", f"'gluster peer probe {name}' on {first}")
    if not bad:
        yield Finding(None, "ok", "peers", f"{len(cluster.servers)} servers in one pool, all connected")
    others = sorted(volume.name for volume in pool.volumes.values() if volume.started and not volume.is_ours)
    if others:
        message = f"volumes that are not the suite's are started: {', '.join(others[:5])}"
        yield Finding(None, "warning", "volumes", message, "their clients and self-heal share the disks: stop them")


def _clients_together(cluster: Cluster, pool: PoolReport) -> Iterator[Finding]:
    driver = cluster.clients[0].name
    for name in sorted(pool.unreached):
        message = f"{driver} cannot log in to it by ssh without a password"
        yield Finding(name, "error", "ssh-between-clients", message, f"give {driver} a key, and known_hosts the host's")
    if cluster.shared_dir is None:
        message = "no shared_dir: smallfile's starting gate will lie on the volume under test"
        yield Finding(None, "warning", "shared-dir", message, "name a directory that all clients see (NFS, for one)")
    for name in pool.unshared:
        message = f"does not see in {cluster.shared_dir} what {driver} writes there"
        yield Finding(name, "error", "shared-dir", message, "mount the same directory on all clients")


def _smallfile(cluster: Cluster) -> Iterator[Finding]:
    checkout = cluster.smallfile_checkout()
    if checkout is None:
        message = "no checkout of smallfile: its cells will be listed as not runnable"
        advice = "clone github.com/distributed-system-analysis/smallfile, name it by smallfile.checkout"
        yield Finding(None, "warning", "smallfile", message, advice)
        return
    try:
        revision = facts.git_revision(checkout)
    except GlusterlabError:
        revision = None
    if revision is None:
        message = f"{checkout} is no git checkout: its revision cannot be recorded"
        yield Finding(None, "warning", "smallfile", message, "clone it with git")
    elif revision.endswith("-dirty"):
        message = f"{checkout} was changed since revision {revision[:12]}"
        yield Finding(None, "warning", "smallfile", message, "'git -C ... checkout .' there")
    else:
        yield Finding(None, "ok", "smallfile", f"revision {revision[:12]}")
