"""What is wrong with hosts taken together: releases, links, peers, volumes, clients among themselves, checkouts."""

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


def pool_problems(cluster: Cluster, reports: Mapping[str, HostReport], pool: PoolReport) -> Iterator[Finding]:
    """What is wrong, each with the host that it concerns, if it is one."""
    yield from _differences(cluster, reports)
    for name in pool.split:
        message = f"packets of the full MTU from {cluster.servers[0].name} do not arrive"
        advice = "set the MTU on every switch port between them; or ICMP is filtered, then look with iperf3"
        yield Finding(name, "warning", "mtu", message, advice)
    yield from pool.problems
    if not any(finding.code == "gluster" for finding in pool.problems):
        yield from _peers(cluster, pool)
        yield from _volumes(pool)
    yield from _clients_together(cluster, pool)
    yield from _checkouts(cluster)


def _differences(cluster: Cluster, reports: Mapping[str, HostReport]) -> Iterator[Finding]:
    """What is to be the same on all hosts that have it, or on all of one role."""
    everywhere = frozenset(("server", "client"))
    called = [program for tool in runnable().values() for program in tool.programs]
    programs = {program.name: program.roles | program.baseline_roles for program in called}
    advice = "install the same release everywhere"
    for tool, roles in {"gluster": everywhere, "sysstat": everywhere, **programs}.items():
        values = {
            name: report.facts["tools"].get(tool) for name, report in reports.items() if cluster.role(name) in roles
        }
        if different := _odd(values):
            level: Level = "error" if tool == "gluster" else "warning"
            yield Finding(None, level, "versions", f"{tool} differs: {different}", advice)
    if different := _odd({name: report.facts.get("kernel") for name, report in reports.items()}):
        yield Finding(None, "warning", "versions", f"kernel differs: {different}", advice)
    if different := _odd({name: report.facts.get("interface_mtu") for name, report in reports.items()}):
        advice = "set one MTU on all hosts and on the switch"
        yield Finding(None, "error", "mtu", f"the MTU differs: {different}", advice)
    for hosts, what in ((cluster.servers, "servers"), (cluster.clients, "clients")):
        known = [reports[host.name].facts for host in hosts if host.name in reports]
        profiles = Counter(profile for each in known if (profile := each.get("tuned_profile")))
        if len(profiles) > 1:
            found = ", ".join(f"{profile} on {n}" for profile, n in profiles.most_common(4))
            message = f"the {what} have different tuned profiles: {found}"
            yield Finding(None, "warning", "tuned", message, "one profile for all of them: tuned-adm profile ...")
        speeds = Counter(speed for each in known if (speed := each.get("interface_speed_bytes_per_s")))
        if len(speeds) > 1:
            found = ", ".join(f"{speed * 8e-9:g} Gbit/s on {n}" for speed, n in speeds.most_common(4))
            message = f"the links of the {what} are not alike: {found}"
            yield Finding(None, "warning", "link", message, "look at the ports and the bonds that are slower")


def _odd(values: Mapping[str, object], shown: int = 6) -> str:
    """Which hosts have another value than most; empty where all that have one have the same."""
    counts = Counter(value for value in values.values() if value is not None)
    if len(counts) < 2:
        return ""
    common = counts.most_common(1)[0][0]
    odd = [f"{name} {value}" for name, value in sorted(values.items()) if value not in (None, common)]
    more = f" and {len(odd) - shown} more" if len(odd) > shown else ""
    return f"{common} on most, but {', '.join(odd[:shown])}{more}"


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
        if "host key" in answer.lower():
            message = f"{driver} does not know its host key: {answer}"
            advice = f"put it into a known_hosts on {driver} (ssh-keyscan, and compare)"
        elif "permission denied" in answer.lower():
            message = f"{driver} cannot log in to it by ssh without a password: {answer}"
            advice = f"give {driver} a key, and put it into the host's authorized_keys"
        else:
            message = f"{driver} cannot reach it by ssh: {answer or 'no answer'}"
            advice = f"try 'ssh {name}' on {driver}"
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
