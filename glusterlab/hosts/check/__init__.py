"""Is a cluster fit to measure? Every host is inspected, and each finding says what to do about it."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING

from glusterlab.errors import HostError, some
from glusterlab.hosts import lock
from glusterlab.hosts.check.ask import HostReport, PoolReport, ask_hosts, ask_pool
from glusterlab.hosts.check.finding import CODES, OF_CLIENTS, OF_GLUSTER, OF_HOSTS, OF_POOL, OF_SERVERS, Code, Finding
from glusterlab.hosts.check.problems import host_problems, pool_problems
from glusterlab.hosts.pool import Pool

if TYPE_CHECKING:
    from glusterlab.spec.cluster import Cluster

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
        if unread := connections.transport.unread:
            message = f"of known_hosts cannot be read: {some(unread, 3)}"
            found.append(Finding(None, "warning", "host-key", message, "mend or remove these lines"))
        for name, error in sorted(failed.items()):
            known = {"the host key of": "host-key", "refused the login": "login"}
            code = next((code for words, code in known.items() if words in error.message), "reachable")
            found.append(Finding(name, "error", code, error.message, _NOT_INSPECTED))
        # hosts that are away get no further commands
        connections.hosts = {name: host for name, host in hosts.items() if name not in failed}
        try:
            owners = lock.owners(connections)
        except HostError as error:
            found.append(Finding(error.host, "error", "answers", error.message, _NOT_INSPECTED))
            return [*found, *_rest(cluster, found)]
        in_use = {name: owner or "something unreadable" for name, (owner, ended) in owners.items() if not ended}
        if in_use:
            advice = "wait for it, or end it; nothing else was inspected"
            found += [Finding(name, "error", "in-use", f"in use by {who}", advice) for name, who in in_use.items()]
            return [*found, *_rest(cluster, found)]
        for name, (owner, _) in owners.items():
            message = f"a run that has ended did not give it back: {owner}"
            found.append(Finding(name, "warning", "stale-owner", message, "nothing: the next run takes it"))
        reports, problems = ask_hosts(connections, cluster)
        first = reports.get(cluster.servers[0].name) if cluster.servers else None
        pool_report = ask_pool(connections, cluster, None if first is None else first.facts.get("interface_mtu"))
    finally:
        connections.hosts = hosts
        connections.close()
    found += [*problems, *_problems(cluster, reports, pool_report, baseline=baseline, left=owners.keys())]
    found += _rest(cluster, found, reports, pool_report.examined)
    order = list(CODES)
    return sorted(found, key=lambda finding: order.index(finding.code))


def _problems(
    cluster: Cluster, reports: Mapping[str, HostReport], pool: PoolReport, *, baseline: bool, left: Collection[str]
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
        if bricks and "leftover-brick" in pool.examined:
            message = f"{some(bricks, 1)}: of a volume that was deleted, or of a baseline"
            advice = "remove them when you need the room: a run empties those of its own volumes, a baseline its own"
            found.append(Finding(name, "warning", "leftover-brick", message, advice))
        for code, _, why in (line.partition(" ") for line in report.lists.get("unexamined", [])):
            found.append(Finding(name, "not examined", code, f"not examined: {why}"))
    return found


def _rest(
    cluster: Cluster,
    found: Sequence[Finding],
    reports: Mapping[str, HostReport] = MappingProxyType({}),
    examined: Collection[Code] = (),
) -> list[Finding]:
    """Of what is not among the findings: what was examined, and so is fine, and what was not."""
    known, wrong = {(finding.host, finding.code) for finding in found}, {finding.code for finding in found}
    complete = {*examined, "checkouts"} if reports else set()
    complete = complete | {"versions", "access"} if len(reports) == len(cluster.hosts) else complete - {"mtu"}
    fine: dict[tuple[str | None, Code], bool] = {
        (None, code): code in complete
        for code in OF_POOL
        if code != "leftover-brick" and code not in wrong and (cluster.backings or code not in OF_GLUSTER)
    }
    for host in cluster.hosts:
        for code in (*OF_HOSTS, *(OF_SERVERS if cluster.role(host.name) == "server" else OF_CLIENTS)):
            if {(host.name, code), (None, code)}.isdisjoint(known) and not (code == "tuned" and cluster.is_testbed):
                if code in OF_CLIENTS and not cluster.backings:
                    continue
                needed = code != "leftover-brick" or code in examined
                fine[host.name, code] = host.name in reports and needed
    return [
        Finding(host, "ok", code, CODES[code]) if is_fine else Finding(host, "not examined", code, "not examined")
        for (host, code), is_fine in fine.items()
    ]
