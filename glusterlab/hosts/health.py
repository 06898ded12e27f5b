"""One script per host before a workload and one after it, and how their reports become a `Health`."""

from __future__ import annotations

import io
import re
import tarfile
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, Literal

from glusterlab.errors import HostError, ParseError
from glusterlab.hosts import access, script
from glusterlab.hosts.gluster import (
    DAEMONS,
    read_info,
    read_peers,
    read_status,
    read_tier,
    running_daemons,
    server_name,
)
from glusterlab.reasons import Reason, ReasonCode, code_of
from glusterlab.secrets import redact
from glusterlab.store.records import BrickConnection, BrickHealth, DropCaches, Health, Space, TierHealth

if TYPE_CHECKING:
    from glusterlab.hosts.gluster import Volume
    from glusterlab.hosts.pool import CommandResult, Pool, Results
    from glusterlab.spec.cell import Caches, Layout
    from glusterlab.spec.cluster import Cluster, Host

SETTLE_S = 6  # that entries of writes which have just ended are given to leave the index of pending heals
MOUNT_ANSWERS_S = 10  # a mounted volume that does not answer for longer hangs
MAX_OUTPUT_BYTES = 256 << 20  # of all files that a tool left
MAX_CLOCK_OFFSET_S = 1.0
MIN_FREE_BYTES = 1 << 20  # a file system with less room is full: sar could not write its records any more
MIN_FREE_SHARE = 0.01  # a brick with less room is full: Gluster refuses writes then (storage.reserve)

Moment = Literal["before", "after"]

DROP = script.part("drop", "gl_drop_caches")
"""The line of a script that writes out and drops the caches, and reports the drops that the kernel counted in
/proc/vmstat, so that a drop that did not happen cannot pass for one."""

_CONNECTION = re.compile(r"tcp (?P<address>[0-9A-F]{8}|[0-9A-F]{32}):(?P<port>[0-9A-F]{4}) (?P<socket>\d+)")

Extras = Mapping[str, tuple[Sequence[str], Sequence[str]]]
"""What else the scripts of a look do, by host: lines before the host's state is read, and at the end."""


@dataclass
class Probe:
    """What the scripts of one moment reported: `parts` by host, gluster's XML by file name, what could not be read."""

    health: Health
    parts: dict[str, Mapping[str, script.Part]]
    files: dict[str, bytes]
    problems: list[Reason]


def look(
    pool: Pool,
    cluster: Cluster,
    volume: Volume | None,
    *,
    drop: bool = False,
    extras: Extras | None = None,
    deadline_s: float = 60.0,
) -> Probe:
    """Read the state of all hosts; without a volume, for a baseline, GlusterFS is not inspected."""
    commands = {}
    more = () if volume is None or volume.access == "native" else (access.SHELL,)
    for host in cluster.hosts:
        before, after = (extras or {}).get(host.name, ((), ()))
        state = _lines(host, cluster, volume)
        lines = [script.part("clock", "gl_clock"), *before, *state, *([DROP] if drop else []), *after]
        commands[host.name] = script.command([*lines, script.part("end", "gl_clock")], *more, deadline_s=deadline_s)
    return _read(pool.run(commands), cluster, volume)


def _lines(host: Host, cluster: Cluster, volume: Volume | None) -> list[str]:
    text = [script.part("strays", "gl_strays")]
    roots = [] if volume is None else [root for server, root in volume.places if server.name == host.name]
    if volume is not None and roots:
        text.append(script.part("heal", "gl_heal", SETTLE_S, volume.name, *roots))
    if volume is not None and volume.places and host == cluster.servers[0]:
        text += [
            script.part("peers", "gl_gluster", "peer", "status", "--xml"),
            script.part("info", "gl_gluster", "volume", "info", volume.name, "--xml"),
            script.part("status", "gl_gluster", "volume", "status", volume.name, "--xml"),
        ]
        if volume.layout.hot is not None:
            text.append(script.part("tier", "gl_gluster", "volume", "tier", volume.name, "status", "--xml"))
    if volume is not None and host in cluster.clients:
        look = "gl_answers" if volume.access == "existing" else "gl_mount_state"
        for number, point in enumerate(volume.mount_points, start=1):
            text.append(script.part(f"mount-{number}", look, point, MOUNT_ANSWERS_S))
        text.append(script.part("connections", "gl_connections"))
    if volume is not None:
        text += access.lines_of_health(host, cluster, volume)
    text.append(script.part("link", "gl_link", host.interface))
    return [*text, script.part("space", "gl_space", cluster.work_dir, *roots)]


def _read(results: Results, cluster: Cluster, volume: Volume | None) -> Probe:
    """Make a `Health` of the reports of all hosts; what is missing is a problem, never a guess."""
    problems = [
        Reason(code=code_of(error), message=error.message, host=name) for name, error in sorted(results.failed.items())
    ]
    parts: dict[str, Mapping[str, script.Part]] = {}
    # by field of `Health`, then by host
    state: dict[str, dict[str, Any]] = defaultdict(dict)
    connections: dict[str, list[BrickConnection]] = {}
    heal = 0
    for name, result in results.succeeded.items():
        try:
            report = parts[name] = script.read_parts(result)
            bounds = state["clock_bounds_s"][name] = clock_bounds(report, result)
            state["clock_offset_s"][name] = nearest_to_zero(*bounds)
            if found := script.need(report, "strays", name).text.splitlines():
                state["stray"][name] = [redact(line.partition(" ")[2])[:300] for line in found][:20]
            if "heal" in report:
                heal += int(_words(report["heal"], "heal", 2, name)[1])
            if "drop" in report:
                state["drop_caches"][name] = read_drop(report["drop"], name)
            if mounts := [_words(report[key], "mount", 2, name)[1] for key in report if key.startswith("mount-")]:
                # of several the first that is not well stands for all
                state["mounts"][name] = next((mount for mount in mounts if mount != "ok"), "ok")
            if "connections" in report:
                connections[name] = read_connections(report["connections"], cluster, name)
            if volume is not None:
                problems += access.read_report(report, state, cluster, volume, name)
            link = script.need(report, "link", name)
            if not link.text.strip():
                interface = cluster.host(name).interface
                message = f"expected a link '{interface}' below /sys/class/net that counts its carrier's changes"
                raise HostError(f"{message}, found none: give 'interface' in the cluster file", host=name)
            state["link_changes"][name] = int(_words(link, "link", 2, name)[1])
            state["space"][name] = _space(script.need(report, "space", name), name)
        except HostError as error:
            problems.append(Reason(code="controller-error", message=error.message, host=name))
    files: dict[str, bytes] = {}
    peers: dict[str, bool] = {}
    bricks: list[BrickHealth] = []
    rebalance = False
    if volume is not None and volume.places:
        files, peers, bricks, rebalance, state["features"] = _pool_state(parts, cluster, volume, problems)
        state["tier"] = _tier_state(parts, cluster, volume, problems)
    ports = {brick.port for brick in bricks}
    state["connections"] = {name: [each for each in found if each.port in ports] for name, found in connections.items()}
    offsets = state.pop("clock_offset_s", {})
    health = Health(peers=peers, bricks=bricks, heal_pending=heal, rebalance=rebalance, clock_offset_s=offsets, **state)
    return Probe(health, parts, files, problems)


def read_drop(report: script.Part, host: str) -> DropCaches:
    """What the kernel counted around a drop; raises `HostError` when the report is no such count."""
    _, before, after = _words(report, "drop", 3, host)
    return DropCaches(before=int(before), after=int(after))


def clock_bounds(report: Mapping[str, script.Part], result: CommandResult) -> tuple[float, float]:
    """The host's clock minus the controller's, in seconds: the least and the largest that the readings allow.

    The host read its clock at both ends of a script: after the controller had sent it, and before it had its end.
    """
    try:
        first, second = (float(script.need(report, name, result.host).text.split()[1]) for name in ("clock", "end"))
    except (IndexError, ValueError) as error:
        raise HostError("the clock could not be read", host=result.host) from error
    low, high = sorted((second - result.end, first - result.start))
    return round(low, 4), round(high, 4)


def nearest_to_zero(low: float, high: float) -> float:
    """The smallest difference between two bounds, with its sign."""
    return min(max(0.0, low), high)


def read_connections(part: script.Part, cluster: Cluster, host: str) -> list[BrickConnection]:
    """The connections that a client made, to whichever ports; servers by the cluster's names."""
    names = {server.address: server.name for server in cluster.servers}
    found = []
    for line in part.text.splitlines():
        match = _CONNECTION.fullmatch(line)
        if match is None:
            raise HostError(f"expected 'tcp ADDRESS:PORT SOCKET', found {line[:80]!r}", host=host)
        # words of 32 bits, the bytes of each in the order of x86 and ARM
        words = re.findall("." * 8, match["address"])
        address = ip_address(b"".join(bytes.fromhex(word)[::-1] for word in words))
        server = names.get(str(getattr(address, "ipv4_mapped", None) or address))
        found.append(BrickConnection(host=server, port=int(match["port"], 16), socket=int(match["socket"])))
    if part.exit_code != 0:
        raise HostError("the client's connections could not be read in /proc/net/tcp", host=host)
    return found


def _words(part: script.Part, first: str, count: int, host: str) -> list[str]:
    """The words of a report of one line, which begins with a certain word; but for `mount` numbers follow."""
    words = part.text.split()
    if len(words) != count or words[0] != first or not (first == "mount" or "".join(words[1:]).isdecimal()):
        raise HostError(f"expected a line '{first} ...', found {part.text[:80]!r}", host=host)
    return words


def _space(part: script.Part, host: str) -> dict[str, Space]:
    found = {}
    for line in part.text.splitlines():
        words = line.split(" ", 4)
        if len(words) != 5 or words[0] != "space" or not all(word.isdecimal() for word in words[1:4]):
            raise HostError(f"expected 'space FREE BLOCKS BYTES PATH', found {line[:80]!r}", host=host)
        free, blocks, size = map(int, words[1:4])
        found[words[4]] = Space(free_bytes=free * size, size_bytes=blocks * size)
    return found


def _pool_state(
    parts: Mapping[str, Mapping[str, script.Part]], cluster: Cluster, volume: Volume, problems: list[Reason]
) -> tuple[dict[str, bytes], dict[str, bool], list[BrickHealth], bool, dict[str, dict[str, list[int]]]]:
    """What the first server says of the pool: its XML, peers, bricks, whether a rebalance runs, and features."""
    server = cluster.servers[0].name
    report = parts.get(server, {})
    files = {f"{name}.xml": report[name].data for name in ("peers", "info", "status", "tier") if name in report}
    try:
        peers = read_peers(script.need(report, "peers", server).data, cluster, server)
        status = read_status(script.need(report, "status", server).data)
        features: dict[str, dict[str, list[int]]] = {}
        if volume.layout.features:
            info = read_info(script.need(report, "info", server).data).get(volume.name)
            settings = {} if info is None else info.options
            for feature, daemons in running_daemons(volume, status, server).items():
                features |= {feature: daemons} if settings.get(f"features.{feature}") == "on" else {}
    except (HostError, ParseError) as error:
        if server in parts:
            problems.append(Reason(code="controller-error", message=error.message, host=server))
        return files, {}, [], False, {}
    named = (brick.model_copy(update={"host": server_name(cluster, brick.host)}) for brick in status.bricks)
    found = {(brick.host, brick.path): brick for brick in named}
    # A server whose glusterd does not answer is left out of the status: its bricks count as offline.
    expected = {(host.name, path): BrickHealth(host=host.name, path=path, online=False) for host, path in volume.bricks}
    bricks = list((expected | found).values())
    return files, peers, bricks, status.rebalancing, features


def _tier_state(
    parts: Mapping[str, Mapping[str, script.Part]], cluster: Cluster, volume: Volume, problems: list[Reason]
) -> dict[str, TierHealth]:
    server = cluster.servers[0].name
    if volume.layout.hot is None or server not in parts:
        return {}
    try:
        return read_tier(script.need(parts[server], "tier", server).data, volume, server)
    except (HostError, ParseError) as error:
        problems.append(Reason(code="controller-error", message=error.message, host=server))
        return {}


def read_outputs(part: script.Part, host: str) -> dict[str, bytes]:
    """Files of a reported tar by their base names; directories are entered."""
    found: dict[str, bytes] = {}
    total = 0
    try:
        with tarfile.open(fileobj=io.BytesIO(part.data), mode="r:") as archive:
            for member in archive:
                if not member.isreg():
                    continue
                total += member.size
                name = PurePosixPath(member.name).name
                if total > MAX_OUTPUT_BYTES:
                    raise HostError(f"the tool left more than {MAX_OUTPUT_BYTES} bytes of output", host=host)
                if name in found or name.startswith("."):
                    raise HostError(f"expected output files with names of their own, found '{name}' again", host=host)
                file = archive.extractfile(member)
                found[name] = b"" if file is None else file.read()
    except tarfile.TarError as error:
        raise HostError(f"the tool's output files did not arrive whole: {error}", host=host) from error
    return found


def health_reasons(
    health: Health,
    moment: Moment,
    servers: Sequence[str],
    clients: Sequence[str],
    layout: Layout | None,
    *,
    caches: Caches = "cold",
) -> list[Reason]:
    """What is wrong with the pool at one moment; a `layout` of None is that of a baseline, which needs no pool."""
    hosts = (*servers, *clients)
    found = (*_unhealthy_pool(health, servers, layout), *_unhealthy_hosts(health, hosts), *_full(health))
    reasons = [Reason(code=code, message=f"{what} {moment} the workload", host=host) for code, what, host in found]
    for host in hosts if moment == "before" and caches == "cold" else ():
        # caches are judged before only; writing 3 raises drop_pagecache and drop_slab by one each
        drop = health.drop_caches.get(host)
        if drop is None or drop.after - drop.before < 2:
            counts = "not read" if drop is None else f"{drop.before} before, {drop.after} after"
            message = f"expected drop_pagecache + drop_slab of /proc/vmstat to rise by 2, found {counts}"
            reasons.append(Reason(code="cache-not-dropped", message=message, host=host))
    return reasons


_Found = tuple[ReasonCode, str, str | None]


def _unhealthy_pool(health: Health, servers: Sequence[str], layout: Layout | None) -> Iterator[_Found]:
    bricks = None if layout is None else layout.all_bricks
    for server in () if bricks is None else servers:
        if not health.peers.get(server, False):
            yield "peer-disconnected", "disconnected" if server in health.peers else "no peer of the pool", server
    for brick in health.bricks:
        if not brick.online:
            yield "brick-offline", f"{brick.path} is offline", brick.host
    if bricks is not None and len(health.bricks) != bricks:
        yield "brick-offline", f"expected {bricks} bricks, found {len(health.bricks)}", None
    if health.heal_pending:
        yield "heal-pending", f"{health.heal_pending} entries to heal", None
    if health.rebalance:
        yield "rebalance-running", "a rebalance runs", None
    if layout is not None and layout.hot is not None:
        for host in dict.fromkeys(brick.host for brick in health.bricks):
            daemon = health.tier.get(host)
            if daemon is None or not daemon.running:
                state = "not known" if daemon is None else daemon.status
                yield "tier-stopped", f"expected a tier daemon in progress, found '{state}',", host
    yield from () if layout is None else _features_off(health, layout)


def _features_off(health: Health, layout: Layout) -> Iterator[_Found]:
    for feature in layout.features:
        if feature not in health.features:
            yield "feature-off", f"expected {feature} on in the volume's settings, found it off", None
            continue
        for host, pids in sorted(health.features[feature].items()):
            if len(pids) < (count := len(DAEMONS[feature])):
                which = " and ".join(DAEMONS[feature])
                yield "feature-off", f"expected {which} of {feature}, found {len(pids)} of {count} running", host


def _unhealthy_hosts(health: Health, hosts: Sequence[str]) -> Iterator[_Found]:
    for host in hosts:
        offset = health.clock_offset_s.get(host)
        if offset is None:
            yield "clock-skew", "the clock was not compared", host
        elif abs(offset) > MAX_CLOCK_OFFSET_S:
            yield "clock-skew", f"the clock is {offset:+.2f} s off the controller's", host
    for host, commands in sorted(health.stray.items()):
        if commands:
            yield "stray-process", f"{len(commands)} leftover processes, such as {commands[0][:120]!r},", host
    for host, state in sorted(health.mounts.items()):
        if state == "hung":
            yield "mount-hung", "the mounted volume does not answer", host
        elif state != "ok":
            what = "is not mounted" if state == "none" else "is mounted, but its client has ended,"
            yield "pool-unhealthy", f"the volume {what}", host


def _full(health: Health) -> Iterator[_Found]:
    bricks = {(brick.host, brick.path) for brick in health.bricks}
    for host, places in sorted(health.space.items()):
        for path, space in sorted(places.items()):
            least = max(MIN_FREE_BYTES, MIN_FREE_SHARE * space.size_bytes)
            if space.free_bytes >= least:
                # next to all places of a thousand bricks are not looked for among them
                continue
            if not any(name == host and Path(brick).is_relative_to(path) for name, brick in bricks):
                least = MIN_FREE_BYTES
            if space.free_bytes < least:
                yield "disk-full", f"{path} is full: expected {least:.0f} bytes free, found {space.free_bytes},", host
