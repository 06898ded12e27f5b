"""One script per host before a workload and one after it: health, caches, telemetry, results in one round trip.

Here is what a sample's scripts say and how their reports become a `Health`; when they run is the runner's business.
"""

from __future__ import annotations

import io
import re
import tarfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from glusterlab.errors import HostError, ParseError
from glusterlab.evidence import BrickConnection, BrickHealth, DropCaches, Health, Space
from glusterlab.hosts import caches, script
from glusterlab.hosts.volumes import read_peers, read_status, server_name
from glusterlab.reasons import Reason, code_of
from glusterlab.secrets import redact

if TYPE_CHECKING:
    from glusterlab.hosts.connection import CommandResult, Results
    from glusterlab.hosts.gluster import Volume
    from glusterlab.spec.cluster import Cluster, Host

SETTLE_S = 6
"""Seconds that entries of writes which have just ended are given to leave the index of pending heals."""

MOUNT_ANSWERS_S = 10
"""A mounted volume that does not answer within so many seconds hangs."""

MAX_OUTPUT_BYTES = 256 << 20
"""All files that a tool left may have so many bytes together."""

_CONNECTION = re.compile(r"tcp (?P<address>[0-9A-F]{8}|[0-9A-F]{32}):(?P<port>[0-9A-F]{4}) (?P<socket>\d+)")

GLUSTER_FILES = {"peers": "peers.xml", "info": "info.xml", "status": "status.xml"}


@dataclass(frozen=True)
class Extra:
    """What else a script of the probe does on one host, in its place.

    Attributes
    ----------
    before, after : sequence of str
        Lines before the host's state is read, and at the end.
    """

    before: Sequence[str] = ()
    after: Sequence[str] = ()


def lines(host: Host, cluster: Cluster, volume: Volume | None, *, drop: bool, extra: Extra) -> list[str]:
    """The script that reads the state of one host, drops its caches when asked, and does what else is to be done.

    Without a volume, for a baseline, GlusterFS is not looked at: there may be none yet.
    """
    text = [script.part("clock", "gl_clock"), *extra.before, script.part("strays", "gl_strays")]
    roots = [] if volume is None else [root for server, root in volume.places if server.name == host.name]
    if volume is not None and roots:
        text.append(script.part("heal", "gl_heal", SETTLE_S, volume.name, *roots))
    if volume is not None and host == cluster.servers[0]:
        text += [
            script.part("peers", "gl_gluster", "peer", "status", "--xml"),
            script.part("info", "gl_gluster", "volume", "info", volume.name, "--xml"),
            script.part("status", "gl_gluster", "volume", "status", volume.name, "--xml"),
        ]
    if volume is not None and host in cluster.clients:
        text.append(script.part("mount", "gl_mount_state", volume.mount_point, MOUNT_ANSWERS_S))
        text.append(script.part("connections", "gl_connections"))
    text.append(script.part("link", "gl_link", host.interface))
    text.append(script.part("space", "gl_space", cluster.work_dir, *roots))
    if drop:
        text.append(caches.DROP)
    return [*text, *extra.after, script.part("end", "gl_clock")]


@dataclass
class Probe:
    """What the scripts of one moment reported.

    Attributes
    ----------
    health : Health
    parts : dict of str to mapping
        Reports by host and name, for what the caller added.
    files : dict of str to bytes
        gluster's own XML by file name.
    problems : list of Reason
        What kept a host's state from being read.
    """

    health: Health
    parts: dict[str, Mapping[str, script.Part]] = field(default_factory=dict)
    files: dict[str, bytes] = field(default_factory=dict)
    problems: list[Reason] = field(default_factory=list)


def read(results: Results, cluster: Cluster, volume: Volume | None) -> Probe:
    """Make a `Health` of the reports of all hosts; what is missing is a problem, never a guess."""
    problems = [
        Reason(code=code_of(error), message=error.message, host=name) for name, error in sorted(results.failed.items())
    ]
    parts: dict[str, Mapping[str, script.Part]] = {}
    offsets: dict[str, float] = {}
    bounds: dict[str, tuple[float, float]] = {}
    drops: dict[str, DropCaches] = {}
    strays: dict[str, list[str]] = {}
    links: dict[str, int] = {}
    mounts: dict[str, str] = {}
    connections: dict[str, list[BrickConnection]] = {}
    space: dict[str, dict[str, Space]] = {}
    heal = 0
    for name, result in results.succeeded.items():
        try:
            report = parts[name] = script.read_parts(result)
            bounds[name] = clock_bounds(report, result)
            offsets[name] = nearest_to_zero(*bounds[name])
            found = script.need(report, "strays", name).text
            if found:
                strays[name] = [redact(line.partition(" ")[2])[:300] for line in found.splitlines()][:20]
            if "heal" in report:
                heal += int(_words(report["heal"], "heal", 2, name)[1])
            if "drop" in report:
                drops[name] = caches.read_drop(report["drop"], name)
            if "mount" in report:
                mounts[name] = _words(report["mount"], "mount", 2, name)[1]
            if "connections" in report:
                connections[name] = read_connections(report["connections"], cluster, name)
            links[name] = _link(script.need(report, "link", name), cluster, name)
            space[name] = _space(script.need(report, "space", name), name)
        except HostError as error:
            problems.append(Reason(code="controller-error", message=error.message, host=name))
    files: dict[str, bytes] = {}
    peers: dict[str, bool] = {}
    bricks: list[BrickHealth] = []
    rebalance = False
    if volume is not None:
        files, peers, bricks, rebalance = _pool_state(parts, cluster, volume, problems)
    ports = {brick.port for brick in bricks}
    health = Health(
        peers=peers,
        bricks=bricks,
        heal_pending=heal,
        rebalance=rebalance,
        clock_offset_s=offsets,
        clock_bounds_s=bounds,
        stray=strays,
        drop_caches=drops,
        link_changes=links,
        mounts=mounts,
        connections={name: [each for each in found if each.port in ports] for name, found in connections.items()},
        space=space,
    )
    return Probe(health, parts, files, problems)


def clock_bounds(report: Mapping[str, script.Part], result: CommandResult) -> tuple[float, float]:
    """The host's clock minus the controller's, in seconds: the least and the largest that the readings allow.

    The host read its clock at both ends of a script. The first reading was made after the controller had sent the
    script, the second before the controller had its end, so the offset lies between ``second - end`` and
    ``first - start``.

    Raises
    ------
    HostError
        When the report has no readings.
    """
    try:
        first, second = (float(script.need(report, name, result.host).text.split()[1]) for name in ("clock", "end"))
    except (IndexError, ValueError) as error:
        raise HostError("the clock could not be read", host=result.host) from error
    low, high = sorted((second - result.end, first - result.start))
    return round(low, 4), round(high, 4)


def nearest_to_zero(low: float, high: float) -> float:
    """The smallest difference between two bounds, with its sign.

    Examples
    --------
    >>> nearest_to_zero(-0.1, 0.2), nearest_to_zero(4.4, 4.5), nearest_to_zero(-5.0, -4.9)
    (0.0, 4.4, -4.9)
    """
    return min(max(0.0, low), high)


def _link(part: script.Part, cluster: Cluster, host: str) -> int:
    """How often a link's carrier came or went; a host without that link cannot be watched."""
    if not part.text.strip():
        interface = next(each.interface for each in cluster.hosts if each.name == host)
        message = f"expected a link '{interface}' below /sys/class/net that counts its carrier's changes, found none"
        raise HostError(f"{message}: give the host's interface in the cluster file", host=host)
    return int(_words(part, "link", 2, host)[1])


def read_connections(part: script.Part, cluster: Cluster, host: str) -> list[BrickConnection]:
    """The connections that a client made, to whichever ports; servers by the cluster's names.

    Raises
    ------
    HostError
        When they could not be read.
    """
    names = {server.address: server.name for server in cluster.servers}
    found = []
    for line in part.text.splitlines():
        match = _CONNECTION.fullmatch(line)
        if match is None:
            raise HostError(f"expected 'tcp ADDRESS:PORT SOCKET', found {line[:80]!r}", host=host)
        server = names.get(_address(match["address"]))
        found.append(BrickConnection(host=server, port=int(match["port"], 16), socket=int(match["socket"])))
    if part.exit_code != 0:
        raise HostError("the client's connections could not be read in /proc/net/tcp", host=host)
    return found


def _address(words: str) -> str:
    """An address as /proc/net/tcp has it: words of 32 bits, the bytes of each in the order of x86 and ARM."""
    packed = b"".join(bytes.fromhex(words[n : n + 8])[::-1] for n in range(0, len(words), 8))
    address = ip_address(packed)
    mapped = getattr(address, "ipv4_mapped", None)
    return str(mapped or address)


def _words(part: script.Part, first: str, count: int, host: str) -> list[str]:
    """The words of a report of one line, which begins with a certain word; numbers are decimal."""
    words = part.text.split()
    if len(words) != count or words[0] != first or not (first == "mount" or words[1].isdecimal()):
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
) -> tuple[dict[str, bytes], dict[str, bool], list[BrickHealth], bool]:
    """What the first server says of the pool: its XML, peers, bricks and whether a rebalance runs."""
    server = cluster.servers[0].name
    report = parts.get(server, {})
    files = {file: report[name].data for name, file in GLUSTER_FILES.items() if name in report}
    try:
        peers = read_peers(script.need(report, "peers", server).data, cluster, server)
        status = read_status(script.need(report, "status", server).data)
    except (HostError, ParseError) as error:
        if server in parts:
            problems.append(Reason(code="controller-error", message=error.message, host=server))
        return files, {}, [], False
    found = {
        (server_name(cluster, brick.host), brick.path): (brick.online, brick.pid, brick.port) for brick in status.bricks
    }
    # A server whose glusterd does not answer is left out of the status: its bricks count as offline.
    states = {
        (host.name, path): found.pop((host.name, path), (False, None, None)) for host, path in volume.bricks
    } | found
    bricks = [
        BrickHealth(host=host, path=path, online=online, pid=pid, port=port)
        for (host, path), (online, pid, port) in states.items()
    ]
    return files, peers, bricks, status.rebalancing


def collect_line(paths: Sequence[str]) -> str:
    """The line of a script that reports files, those of them that are there, as a tar."""
    return script.part("outputs", "gl_collect", *paths)


def read_outputs(part: script.Part, host: str) -> dict[str, bytes]:
    """Files of a reported tar by their base names; directories are entered.

    Raises
    ------
    HostError
        When it is no tar, or too big, or two files have the same name.
    """
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
