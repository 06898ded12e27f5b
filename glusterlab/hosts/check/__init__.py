"""Is a cluster fit to measure? Every host is inspected, and each finding says what to do about it.

What the hosts are asked (`ask`) stands apart from what the answers mean (`hosts`, `pool`): `findings_of` is pure.
"""

from __future__ import annotations

import uuid
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

from glusterlab.errors import HostError
from glusterlab.hosts import lock
from glusterlab.hosts.check.ask import HostReport, PoolReport, ask_hosts, ask_pool
from glusterlab.hosts.check.finding import CODES, POOL_CODES, Code, Finding, Level
from glusterlab.hosts.check.hosts import disk_findings, host_findings, leftover_bricks
from glusterlab.hosts.check.pool import pool_findings
from glusterlab.hosts.pool import Pool

if TYPE_CHECKING:
    from glusterlab.spec.cluster import Cluster

__all__ = ["CODES", "POOL_CODES", "Code", "Finding", "HostReport", "Level", "PoolReport", "check", "findings_of"]

_NOT_INSPECTED = "mend it and check again: nothing else of it was inspected"


def check(cluster: Cluster, *, pool: Pool | None = None, baseline: bool = False) -> list[Finding]:
    """Look at every host of a cluster; never empty, in the order of `CODES`.

    Hosts that cannot be reached are findings, not errors; the others are inspected all the same. When a run has one of
    the hosts nothing else is done: to drop caches, above all, would disturb what is being measured. A `baseline` needs
    more tools. The connections of `pool`, by default SSH as the cluster says, are closed at the end.
    """
    connections = pool or Pool.of(cluster, mark=f"check.{uuid.uuid4().hex[:8]}")
    hosts = connections.hosts
    try:
        failed = connections.connect()
        found = [_unconnected(name, error) for name, error in sorted(failed.items())]
        # hosts that are away get no further commands
        connections.hosts = {name: host for name, host in hosts.items() if name not in failed}
        try:
            owners = lock.owners(connections)
        except HostError as error:
            return [*found, Finding(error.host, "error", "answers", error.message, _NOT_INSPECTED)]
        in_use = [name for name, (_, ended) in owners.items() if not ended]
        if in_use:
            return [*found, *(_in_use(name, owners[name][0]) for name in in_use)]
        found += [_stale(name, owner) for name, (owner, _) in owners.items()]
        reports, problems = ask_hosts(connections, cluster)
        first = reports.get(cluster.servers[0].name)
        pool_report = ask_pool(connections, cluster, None if first is None else first.facts.get("interface_mtu"))
    finally:
        connections.hosts = hosts
        connections.close()
    found += [*problems, *findings_of(cluster, reports, pool_report, baseline=baseline, left=owners.keys())]
    order = list(CODES)
    return sorted(found, key=lambda finding: order.index(finding.code))


def findings_of(
    cluster: Cluster,
    reports: Mapping[str, HostReport],
    pool: PoolReport,
    *,
    baseline: bool = False,
    left: Collection[str] = (),
) -> list[Finding]:
    """What the answers mean; `left` are hosts that a run which has ended did not give back."""
    found: list[Finding] = []
    if not cluster.ssh.check_host_keys:
        message = "host keys are not checked (ssh.check_host_keys is false): any machine could answer for a host"
        found.append(Finding(None, "warning", "host-key", message, "set it to true, and put the keys into known_hosts"))
    for host in cluster.hosts:
        if host.name in reports:
            report = reports[host.name]
            found += host_findings(cluster, host, report, baseline=baseline, left=host.name in left)
            found += disk_findings(cluster, host, report)
            if host in cluster.servers and not pool.problems:
                found += leftover_bricks(host, report, pool.volumes.keys())
            elif host in cluster.clients:
                found.append(_fuse(host.name, report))
    return [*found, *pool_findings(cluster, reports, pool)]


def _fuse(name: str, report: HostReport) -> Finding:
    if not report.facts.get("fuse"):
        return Finding(name, "error", "fuse", "has no /dev/fuse", "modprobe fuse there")
    if not report.lists.get("fuse_opens"):
        return Finding(name, "error", "fuse", "/dev/fuse cannot be opened", "is it a container without that device?")
    return Finding(name, "ok", "fuse", "can be opened")


def _unconnected(name: str, error: HostError) -> Finding:
    code: Code = "reachable"
    if "the host key of" in error.message:
        code = "host-key"
    elif "refused the login" in error.message:
        code = "login"
    return Finding(name, "error", code, error.message, _NOT_INSPECTED)


def _in_use(name: str, owner: lock.Owner | None) -> Finding:
    who = "something that cannot be read" if owner is None else str(owner)
    advice = "wait for it, or end it; nothing else was inspected"
    return Finding(name, "error", "in-use", f"in use by {who}", advice)


def _stale(name: str, owner: lock.Owner | None) -> Finding:
    message = f"a run that has ended did not give it back: {owner}"
    return Finding(name, "warning", "stale-owner", message, "nothing: the next run takes it")
