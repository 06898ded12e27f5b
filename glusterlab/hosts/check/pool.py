"""What the answers of all hosts mean together: releases, links, peers, volumes, clients among themselves, smallfile."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from glusterlab.hosts import facts
from glusterlab.hosts.check.finding import Finding, Level
from glusterlab.tools import runnable, volume_tools

if TYPE_CHECKING:
    from glusterlab.hosts.check.ask import HostReport, PoolReport
    from glusterlab.spec.cluster import Cluster


def pool_findings(cluster: Cluster, reports: Mapping[str, HostReport], pool: PoolReport) -> Iterator[Finding]:
    """All that concerns several hosts."""
    yield from _same_everywhere(cluster, reports)
    yield from _links_together(cluster, reports, pool)
    yield from _peers(cluster, pool)
    yield from _volumes(pool)
    yield from _clients_together(cluster, pool)
    yield from _checkouts(cluster)


def _same_everywhere(cluster: Cluster, reports: Mapping[str, HostReport]) -> Iterator[Finding]:
    everywhere = frozenset(("server", "client"))
    called = [program for tool in runnable().values() for program in tool.programs]
    programs = {program.name: program.roles | program.baseline_roles for program in called}
    for tool, roles in {"gluster": everywhere, "sysstat": everywhere, **programs}.items():
        versions = {
            name: report.facts["tools"].get(tool) for name, report in reports.items() if cluster.role(name) in roles
        }
        yield from _agreement(tool, versions)
    yield from _agreement("kernel", {name: report.facts.get("kernel") for name, report in reports.items()})
    for hosts, what in ((cluster.servers, "servers"), (cluster.clients, "clients")):
        values = {host.name: reports[host.name].facts.get("tuned_profile") for host in hosts if host.name in reports}
        if len({value for value in values.values() if value}) > 1:
            found = ", ".join(f"{value} on {n}" for value, n in Counter(values.values()).most_common(4))
            message = f"the {what} have different tuned profiles: {found}"
            yield Finding(None, "warning", "tuned", message, "one profile for all of them: tuned-adm profile ...")


def _agreement(what: str, values: Mapping[str, str | None]) -> Iterator[Finding]:
    """Whether all hosts that have something have the same of it."""
    counts = Counter(value for value in values.values() if value is not None)
    if len(counts) == 1:
        yield Finding(None, "ok", "versions", f"{what} {next(iter(counts))} everywhere")
    elif counts:
        common = counts.most_common(1)[0][0]
        odd = [f"{name} {value}" for name, value in sorted(values.items()) if value not in (None, common)]
        level: Level = "error" if what == "gluster" else "warning"
        more = f" and {len(odd) - 6} more" if len(odd) > 6 else ""
        message = f"{what} differs: {common} on most, but {', '.join(odd[:6])}{more}"
        yield Finding(None, level, "versions", message, "install the same release everywhere")


def _links_together(cluster: Cluster, reports: Mapping[str, HostReport], pool: PoolReport) -> Iterator[Finding]:
    for hosts, what in ((cluster.servers, "servers"), (cluster.clients, "clients")):
        speeds = Counter(
            speed
            for host in hosts
            if host.name in reports and (speed := reports[host.name].facts.get("interface_speed_bytes_per_s"))
        )
        if len(speeds) > 1:
            found = ", ".join(f"{speed * 8e-9:g} Gbit/s on {n}" for speed, n in speeds.most_common(4))
            message = f"the links of the {what} are not alike: {found}"
            yield Finding(None, "warning", "link", message, "look at the ports and the bonds that are slower")
    sizes = {name: report.facts.get("interface_mtu") for name, report in reports.items()}
    counts = Counter(size for size in sizes.values() if size is not None)
    if len(counts) > 1:
        common = counts.most_common(1)[0][0]
        odd = [f"{name} {size}" for name, size in sorted(sizes.items()) if size not in (None, common)]
        message = f"the MTU differs: {common} on most, but {', '.join(odd[:6])}"
        yield Finding(None, "error", "mtu", message, "set one MTU on all hosts and on the switch")
    for name in pool.split:
        message = f"packets of the full MTU from {cluster.servers[0].name} do not arrive"
        advice = "set the MTU on every switch port between them; or ICMP is filtered, then look with iperf3"
        yield Finding(name, "warning", "mtu", message, advice)
    if len(counts) == 1 and not pool.split:
        yield Finding(None, "ok", "mtu", f"{next(iter(counts))} everywhere")


def _peers(cluster: Cluster, pool: PoolReport) -> Iterator[Finding]:
    yield from pool.problems
    if any(finding.code == "gluster" for finding in pool.problems):
        return
    yield Finding(None, "ok", "gluster", "glusterd answers")
    bad = {
        server.name: "is disconnected" if server.name in pool.peers else "is no peer of the pool"
        for server in cluster.servers
        if not pool.peers.get(server.name)
    }
    first = cluster.servers[0].name
    for name, state in bad.items():
        advice = f"'gluster peer probe {name}' on {first}" if "no peer" in state else "is glusterd running there?"
        yield Finding(name, "error", "peers", f"{state}, as {first} sees it", advice)
    if not bad:
        yield Finding(None, "ok", "peers", f"{len(cluster.servers)} servers in one pool, all connected")


def _volumes(pool: PoolReport) -> Iterator[Finding]:
    if any(finding.code == "gluster" for finding in pool.problems):
        return
    started = [volume for volume in pool.volumes.values() if volume.started]
    others = sorted(volume.name for volume in started if not volume.is_ours)
    ours = sorted(volume.name for volume in started if volume.is_ours)
    if others:
        message = f"volumes that are not the suite's are started: {', '.join(others[:5])}"
        yield Finding(None, "warning", "volumes", message, "their clients and self-heal share the disks: stop them")
    else:
        yield Finding(None, "ok", "volumes", "none of others is started")
    if ours:
        message = f"an earlier run left started {', '.join(ours[:5])}"
        yield Finding(None, "warning", "leftover-volume", message, "nothing: the next run stops what it does not need")
    else:
        yield Finding(None, "ok", "leftover-volume", "none")
    offline = [(name, brick) for name, status in pool.status.items() for brick in status.bricks if not brick.online]
    for name, brick in offline:
        message = f"brick {brick.host}:{brick.path} of volume {name} is offline"
        advice = f"look at its log in /var/log/glusterfs/bricks, then 'gluster volume start {name} force'"
        yield Finding(None, "error", "brick-offline", message, advice)
    if not offline:
        yield Finding(None, "ok", "brick-offline", "none")
    rebalancing = sorted(name for name, status in pool.status.items() if status.rebalancing)
    if rebalancing:
        message = f"a rebalance runs on {', '.join(rebalancing)}"
        yield Finding(None, "error", "rebalance", message, "wait for it, or 'gluster volume rebalance ... stop'")
    else:
        yield Finding(None, "ok", "rebalance", "none")
    waiting = {name: n for name, n in pool.pending.items() if n}
    for name, n in waiting.items():
        message = f"{n} entries wait for self-heal on its bricks"
        yield Finding(name, "error", "heal", message, "wait for it; 'gluster volume heal VOLUME info' names them")
    if not waiting:
        yield Finding(None, "ok", "heal", "nothing waits")


def _clients_together(cluster: Cluster, pool: PoolReport) -> Iterator[Finding]:
    driver = cluster.clients[0].name
    for name, said in sorted(pool.unreached.items()):
        if "host key" in said.lower():
            message = f"{driver} does not know its host key: {said}"
            advice = (
                f"put it into /etc/ssh/ssh_known_hosts or ~/.ssh/known_hosts on {driver} (ssh-keyscan, and compare)"
            )
        elif "permission denied" in said.lower():
            message = f"{driver} cannot log in to it by ssh without a password: {said}"
            advice = f"give {driver} a key, and put it into the host's authorized_keys"
        else:
            message = f"{driver} cannot reach it by ssh: {said or 'no answer'}"
            advice = f"try 'ssh {name}' on {driver}"
        yield Finding(name, "error", "ssh-between-clients", message, advice)
    if not pool.unreached:
        yield Finding(None, "ok", "ssh-between-clients", f"{driver} reaches all clients")
    if cluster.shared_dir is None:
        message = "no shared_dir: smallfile's starting gate will lie on the volume under test"
        yield Finding(None, "warning", "shared-dir", message, "name a directory that all clients see (NFS, for one)")
    for name in pool.unshared:
        message = f"does not see in {cluster.shared_dir} what {driver} writes there"
        yield Finding(name, "error", "shared-dir", message, "mount the same directory on all clients")
    if cluster.shared_dir is not None and not pool.unshared:
        yield Finding(None, "ok", "shared-dir", "all clients see it")


def _checkouts(cluster: Cluster) -> Iterator[Finding]:
    for name, tool in volume_tools().items():
        lacks, checkout = tool.not_ready(cluster), tool.checkout(cluster)
        if lacks is not None:
            message = f"{name} is not ready: its cells will be listed as not runnable"
            yield Finding(None, "warning", "checkouts", message, lacks)
            continue
        if checkout is None:
            continue
        revision = facts.git_revision(checkout)
        if revision is None:
            message = f"{checkout} is no git checkout: its revision cannot be recorded"
            yield Finding(None, "warning", "checkouts", message, "clone it with git")
        elif revision.endswith("-dirty"):
            message = f"{checkout} was changed since revision {revision[:12]}"
            yield Finding(None, "warning", "checkouts", message, f"'git -C {checkout} checkout .'")
        else:
            yield Finding(None, "ok", "checkouts", f"{name}, revision {revision[:12]}")
