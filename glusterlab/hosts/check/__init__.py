"""Is a cluster fit to measure? Every host is inspected, and each finding says what to do about it."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

from glusterlab.errors import HostError
from glusterlab.hosts import lock
from glusterlab.hosts.check.ask import HostReport, PoolReport, ask_hosts, ask_pool
from glusterlab.hosts.check.finding import (
    CODES,
    OF_CLIENTS,
    OF_GLUSTER,
    OF_HOSTS,
    OF_POOL,
    OF_SERVERS,
    POOL_CODES,
    Code,
    Finding,
    Level,
)
from glusterlab.hosts.check.problems import host_problems, pool_problems, some
from glusterlab.hosts.pool import Pool

if TYPE_CHECKING:
    from glusterlab.spec.cluster import Cluster

__all__ = ["CODES", "POOL_CODES", "Code", "Finding", "HostReport", "Level", "PoolReport", "check", "findings_of"]

_NOT_INSPECTED = "mend it and check again: nothing else of it was inspected"


def check(cluster: Cluster, *, pool: Pool | None = None, baseline: bool = False) -> list[Finding]:
    """Look at every host of a cluster; never empty, in the order of `CODES`. A `baseline` needs more tools.

    Hosts that cannot be reached are findings, not errors. When a run has one of the hosts nothing else is done: to
    drop caches, above all, would disturb what is being measured. The connections of `pool` are closed at the end.
    """
    connections = pool or Pool.of(cluster, mark=f"check.{uuid.uuid4().hex[:8]}")
    hosts = connections.hosts
    try:
        failed = connections.connect()
        found = []
        for name, error in sorted(failed.items()):
            known = {"the host key of": "host-key", "refused the login": "login"}
            code = next((code for words, code in known.items() if words in error.message), "reachable")
            found.append(Finding(name, "error", code, error.message, _NOT_INSPECTED))
        # hosts that are away get no further commands
        connections.hosts = {name: host for name, host in hosts.items() if name not in failed}
        try:
            owners = lock.owners(connections)
        except HostError as error:
            return [*found, Finding(error.host, "error", "answers", error.message, _NOT_INSPECTED)]
        in_use = {name: owner or "something unreadable" for name, (owner, ended) in owners.items() if not ended}
        if in_use:
            advice = "wait for it, or end it; nothing else was inspected"
            in_the_way = (Finding(name, "error", "in-use", f"in use by {who}", advice) for name, who in in_use.items())
            return [*found, *in_the_way]
        for name, (owner, _) in owners.items():
            message = f"a run that has ended did not give it back: {owner}"
            found.append(Finding(name, "warning", "stale-owner", message, "nothing: the next run takes it"))
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
    found = list(pool_problems(cluster, reports, pool))
    if not cluster.ssh.check_host_keys:
        message = "host keys are not checked (ssh.check_host_keys is false): any machine could answer for a host"
        found.append(Finding(None, "warning", "host-key", message, "set it to true, and put the keys into known_hosts"))
    for name, report in reports.items():
        problems = host_problems(cluster, cluster.host(name), report, baseline=baseline, left=name in left)
        found += [Finding(name, *problem) for problem in problems]
        known = pool.volumes.keys()
        bricks = [path for path in report.lists.get("brick_dir", []) if path.rpartition("/glusterlab-")[2] not in known]
        if bricks and not pool.problems:
            message = f"{some(bricks, 1)}: of a volume that was deleted, or of a baseline"
            advice = "remove them when you need the room: a run empties those of its own volumes, a baseline its own"
            found.append(Finding(name, "warning", "leftover-brick", message, advice))
    wrong = {(finding.host, finding.code) for finding in found}
    fine: list[tuple[str | None, Code]] = [(None, code) for code in OF_POOL if code != "leftover-brick"]
    for name in reports:
        of_role = OF_SERVERS if cluster.role(name) == "server" else OF_CLIENTS
        fine += [(name, code) for code in (*OF_HOSTS, *of_role) if code != "tuned" or not cluster.is_testbed]
    if any(code == "gluster" for _, code in wrong):
        fine = [(host, code) for host, code in fine if code not in OF_GLUSTER]
    ok = (Finding(host, "ok", code, CODES[code]) for host, code in fine if not {(host, code), (None, code)} & wrong)
    return [*found, *ok]
