"""What a check asks: every host about itself, then the first server about the pool and the first client about ssh."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from glusterlab.errors import HostError, ParseError
from glusterlab.hosts import access, facts, script
from glusterlab.hosts.check.finding import OF_GLUSTER, Code, Finding
from glusterlab.hosts.gluster import read_info, read_peers, read_status
from glusterlab.hosts.health import DROP, clock_bounds, nearest_to_zero, read_drop
from glusterlab.hosts.transport import ssh_options
from glusterlab.shell import quote
from glusterlab.telemetry.collect import SADC_PLACES

if TYPE_CHECKING:
    from glusterlab.hosts.gluster import VolumeInfo, VolumeStatus
    from glusterlab.hosts.pool import Command, Pool
    from glusterlab.spec.cluster import Cluster, Host


@dataclass
class HostReport:
    """What one host answered: `facts` as in environment.json, `lists` what check.sh prints, by first word."""

    facts: dict[str, Any]
    lists: dict[str, list[str]] = field(default_factory=dict)
    clock_offset_s: float = 0.0
    dropped: int = 0

    def one(self, name: str) -> str | None:
        return next(iter(self.lists.get(name, ())), None)


@dataclass
class PoolReport:
    """What the hosts answered about each other.

    `pending`: entries that wait for self-heal, by server. `unreached`: clients that the driver cannot reach by ssh, and
    why. `unshared`: clients that do not see its shared files. `split`: hosts that whole packets do not reach.
    `examined`: codes of which all that they concern was read.
    """

    peers: dict[str, bool] = field(default_factory=dict)
    volumes: dict[str, VolumeInfo] = field(default_factory=dict)
    status: dict[str, VolumeStatus] = field(default_factory=dict)
    pending: dict[str, int] = field(default_factory=dict)
    unreached: dict[str, str] = field(default_factory=dict)
    unshared: list[str] = field(default_factory=list)
    split: list[str] = field(default_factory=list)
    problems: list[Finding] = field(default_factory=list)
    examined: set[Code] = field(default_factory=set)


def _command(lines: Iterable[str], deadline_s: float) -> Command:
    return script.command(lines, access.SHELL, "check/check.sh", deadline_s=deadline_s)


def ask_hosts(pool: Pool, cluster: Cluster) -> tuple[dict[str, HostReport], list[Finding]]:
    """Reports of all hosts of a pool by name; and findings on those that did not answer as expected."""
    answering = [host for host in cluster.hosts if host.name in pool.hosts]
    results = pool.run({host.name: _command(_questions(host, cluster), 150.0) for host in answering})
    reports: dict[str, HostReport] = {}
    problems = [
        Finding(name, "error", "answers", error.message, "run the check again, then look at that host by hand")
        for name, error in sorted(results.failed.items())
    ]
    for name, result in sorted(results.succeeded.items()):
        try:
            parts = script.read_parts(result)
            reports[name] = _read_report(parts, name)
            reports[name].clock_offset_s = nearest_to_zero(*clock_bounds(parts, result))
        except HostError as error:
            problems.append(Finding(name, "error", "answers", error.message, "look at that host by hand"))
            reports.pop(name, None)
    return reports, problems


def _questions(host: Host, cluster: Cluster) -> list[str]:
    client = cluster.role(host.name) == "client"
    mounts = cluster.mount_root if client and cluster.backings else ""
    servers = [server.address for server in cluster.servers]
    resolved = [*servers, *(each.name for each in cluster.clients)] if client else servers
    roots = () if client else [root for backing in cluster.backings.values() for root in backing.bricks]
    return [
        script.part("clock", "gl_clock"),
        # the CPUs first: what follows keeps them busy itself
        script.part("busy", "gl_busy"),
        script.part("strays", "gl_strays"),
        script.part("check", "gl_check", cluster.work_dir, mounts, *resolved),
        script.part("link", "gl_interface", host.interface, host.address),
        script.part("disks", "gl_disks", *host.devices, "--", *roots),
        "gl_accesses() { " + "; ".join([*access.lines_of_check(host, cluster), "true"]) + "; }",
        script.part("accesses", "gl_accesses"),
        script.part("sadc", "gl_sadc", *SADC_PLACES),
        script.part("ports", "gl_ports", 24007, *servers),
        *facts.lines(host, cluster),
        DROP,
        script.part("end", "gl_clock"),
    ]


def _read_report(parts: Mapping[str, script.Part], name: str) -> HostReport:
    text = "\n".join(parts[part].text for part in ("facts", "access", "filesystems") if part in parts)
    report = HostReport(facts.read_facts(text))
    for part in ("check", "link", "disks", "accesses", "sadc", "ports", "busy"):
        for line in script.need(parts, part, name).text.splitlines():
            key, _, value = line.partition(" ")
            report.lists.setdefault(key, []).append(value)
    strays = script.need(parts, "strays", name).text.splitlines()
    report.lists["stray"] = [line.partition(" ")[2] for line in strays]
    drop = read_drop(script.need(parts, "drop", name), name)
    report.dropped = drop.after - drop.before
    return report


def ask_pool(pool: Pool, cluster: Cluster, mtu: int | None) -> PoolReport:
    """Ask the first server about the pool, and the first client about the others; packets are sent with an `mtu`."""
    report = PoolReport()
    driver = cluster.clients[0].name
    if driver in pool.hosts:
        _ask_driver(pool, cluster, driver, report)
    if cluster.backings and (server := cluster.servers[0].name) in pool.hosts:
        try:
            _ask_server(pool, cluster, mtu, report)
        except (HostError, ParseError) as error:
            place = getattr(error, "host", None) or server
            report.problems.append(Finding(place, "error", "gluster", error.message, "is glusterd running there?"))
    return report


def _ask_driver(pool: Pool, cluster: Cluster, driver: str, report: PoolReport) -> None:
    quiet = () if cluster.ssh.check_host_keys else ("-o", "LogLevel=ERROR")
    options = (*ssh_options(cluster.ssh, 5.0), *quiet)
    names = [client.name for client in cluster.clients if client.name in pool.hosts]
    token = f"{cluster.shared_dir}/.glusterlab-check-{uuid.uuid4().hex[:12]}"
    lines = [script.part("ssh", "gl_ssh_reach", *options, "--", *names)]
    if cluster.shared_dir is not None:
        lines.append(f"[ ! -d {quote(cluster.shared_dir)} ] || : >{quote(token)}")
    try:
        result = pool.run_on(driver, _command(lines, 60.0))
        for line in script.need(script.read_parts(result), "ssh", driver).text.splitlines():
            name, _, answer = line.partition(" ")[2].partition(" ")
            report.unreached[name] = answer.strip()
        if cluster.shared_dir is not None:
            look = script.command([f"[ -e {quote(token)} ]"], deadline_s=30.0)
            report.unshared = sorted(pool.run(dict.fromkeys(names, look)).failed)
            pool.run({driver: script.command([f"rm -f -- {quote(token)}"], deadline_s=30.0)})
        if len(names) == len(cluster.clients):
            report.examined |= {"ssh-between-clients", "shared-dir"}
    except HostError as error:
        report.problems.append(Finding(driver, "error", "answers", error.message, "look at that host by hand"))


def _ask_server(pool: Pool, cluster: Cluster, mtu: int | None, report: PoolReport) -> None:
    server = cluster.servers[0].name
    others = [host.address for host in cluster.hosts if host.name in pool.hosts and host.name != server]
    lines = [script.part("packets", "gl_packets", mtu, *others)] if mtu else []
    lines += [
        script.part("peers", "gl_gluster", "peer", "status", "--xml"),
        script.part("info", "gl_gluster", "volume", "info", "--xml"),
        "true",
    ]
    parts = script.read_parts(pool.run_on(server, _command(lines, 180.0)))
    if "packets" in parts:
        lost = {line.partition(" ")[2] for line in parts["packets"].text.splitlines()}
        report.split = sorted(host.name for host in cluster.hosts if host.address in lost)
        if parts["packets"].exit_code == 0:
            report.examined.add("mtu")
    report.peers = read_peers(script.need(parts, "peers", server).data, cluster, server)
    report.volumes = read_info(script.need(parts, "info", server).data)
    started = sorted(volume.name for volume in report.volumes.values() if volume.started)
    whole = not started or _ask_volumes(pool, cluster, started, report)
    report.examined |= {*OF_GLUSTER} - ({"heal"} if not whole else set())


def _ask_volumes(pool: Pool, cluster: Cluster, started: list[str], report: PoolReport) -> bool:
    """Returns whether every brick's list of what waits for self-heal was read."""
    first = cluster.servers[0].name
    commands = {}
    for server in cluster.servers:
        bricks = [
            path
            for name in started
            for address, _, path in (brick.partition(":") for brick in report.volumes[name].bricks)
            if address in (server.name, server.address)
        ]
        lines = [script.part("pending", "gl_pending", *bricks)]
        if server.name == first:
            lines += [
                script.part(f"status-{n}", "gl_gluster", "volume", "status", name, "--xml")
                for n, name in enumerate(started)
            ]
        if server.name in pool.hosts:
            commands[server.name] = _command([*lines, "true"], 60.0 + 20.0 * len(started))
    whole = len(commands) == len(cluster.servers)
    for name, result in pool.run(commands).or_raise().items():
        parts = script.read_parts(result)
        found = [line.split(" ", 2) for line in script.need(parts, "pending", name).text.splitlines()]
        report.pending[name] = sum(int(words[1]) for words in found if words[0] == "heal")
        whole = whole and all(words[0] == "heal" for words in found)
        if name == first:
            for n, volume in enumerate(started):
                report.status[volume] = read_status(script.need(parts, f"status-{n}", name).data)
    return whole
