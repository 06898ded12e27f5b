"""The check itself: connect, see that nobody measures, ask, and say what the answers mean."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

from glusterlab.errors import HostError
from glusterlab.hosts import lock
from glusterlab.hosts.check.ask import HostReport, PoolReport, ask_hosts, ask_pool
from glusterlab.hosts.check.disks import disk_findings, leftover_bricks
from glusterlab.hosts.check.finding import CODES, Code, Finding
from glusterlab.hosts.check.hosts import host_findings
from glusterlab.hosts.check.pool import pool_findings

if TYPE_CHECKING:
    from glusterlab.hosts.connection import Pool
    from glusterlab.spec.cluster import Cluster

_NOT_LOOKED = "mend it and check again: nothing else of it was looked at"


def check(cluster: Cluster, *, pool: Pool | None = None, baseline: bool = False) -> list[Finding]:
    """Look at a cluster.

    Parameters
    ----------
    cluster : Cluster
    pool : Pool, optional
        Connections to use instead of SSH as the cluster says; they are closed at the end.
    baseline : bool
        Whether a baseline is to be measured, which needs more tools.

    Returns
    -------
    list of Finding
        Never empty, in the order of `CODES`. Hosts that cannot be reached are findings, not errors; the others are
        looked at all the same. When a run has one of the hosts nothing else is looked at: to drop caches, above all,
        would disturb what is being measured.
    """
    from glusterlab.hosts.connection import Pool

    connections = pool or Pool.of(cluster, mark=f"check.{uuid.uuid4().hex[:8]}")
    hosts = connections.hosts
    try:
        failed = connections.connect()
        found = [_unconnected(name, error) for name, error in sorted(failed.items())]
        # what is away is asked nothing more
        connections.hosts = {name: host for name, host in hosts.items() if name not in failed}
        try:
            owners = lock.owners(connections)
        except HostError as error:
            return [*found, Finding(error.host, "error", "answers", error.message, _NOT_LOOKED)]
        in_use = [name for name, (_, gone) in owners.items() if not gone]
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
    """What the answers mean.

    Parameters
    ----------
    cluster : Cluster
    reports : mapping of host name to HostReport
        Hosts that did not answer are absent.
    pool : PoolReport
    baseline : bool
        Whether a baseline is to be measured, which needs more tools.
    left : collection of str
        Hosts that a run which is gone still has.
    """
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
    return Finding(name, "error", code, error.message, _NOT_LOOKED)


def _in_use(name: str, owner: lock.Owner | None) -> Finding:
    who = "something that cannot be read" if owner is None else str(owner)
    advice = "wait for it, or end it; nothing else was looked at"
    return Finding(name, "error", "in-use", f"in use by {who}", advice)


def _stale(name: str, owner: lock.Owner | None) -> Finding:
    message = f"a run that is gone did not give it back: {owner}"
    return Finding(name, "warning", "stale-owner", message, "nothing: the next run takes it")
