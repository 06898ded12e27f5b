"""Volumes of the suite: created from a layout, started, mounted on the clients and taken out of the way again.

A volume whose bricks all lie in ``<brick root>/glusterlab-<volume>/brick`` is the suite's; no other is ever touched.
"""

from __future__ import annotations

import hashlib
import re
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from glusterlab import shell
from glusterlab.errors import CommandError, ParseError, RefusedError, VolumeError, some
from glusterlab.hosts import script
from glusterlab.spec.cell import place_bricks, release_problem
from glusterlab.spec.cluster import REAL_HARDWARE, SERVED
from glusterlab.store.records import BrickHealth, TierHealth
from glusterlab.tools.document import whole
from glusterlab.tools.gluster import xml as gluster_xml

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

    from glusterlab.hosts.pool import Pool
    from glusterlab.spec.cell import Access, Bricks, Feature, Layout
    from glusterlab.spec.cluster import Cluster, Host

R = TypeVar("R")

_GLUSTER_DEADLINE_S = 300.0
_ONLINE_WITHIN_S = 90.0
_REMOVE_WITHIN_S = 1800.0
_DAEMONS_COME_S = 10.0  # by themselves, after their feature was turned on
# what glusterd says of an option itself, and not of a peer or of the moment
_OF_THE_MOMENT = "(?!option ?:).*(?:ailed on |transaction|ocking|uorum|timed out)"
_REFUSED = re.compile(rf"volume set: failed: (?!{_OF_THE_MOMENT})(?P<why>.*)")
_MOVES = ("cluster.tier-demote-frequency", "cluster.tier-promote-frequency")
_SOON_S = 60
_FEATURES: Mapping[Feature, tuple[tuple[str, ...], ...]] = {
    "bitrot": (("volume bitrot", "enable"), ("volume bitrot", "scrub-throttle", "lazy")),
    # a limit that nothing reaches, without which nothing is held against any; df goes on to say what disks have left
    "quota": (
        ("volume quota", "enable"),
        ("volume set", "features.quota-deem-statfs", "off"),
        ("volume quota", "limit-usage", "/", "1PB"),
    ),
}
"""What turns a feature on: the first command once, the others in every run: one may have been stopped between."""

DAEMONS: Mapping[Feature, tuple[str, ...]] = {
    "bitrot": ("Bitrot Daemon", "Scrubber Daemon"),
    "quota": ("Quota Daemon",),
}
"""The daemons of a feature, as `gluster volume status` calls them."""

_GROWS = "-grows"  # at the end of names of volumes that are deleted after their sample
_TYPES = {"distribute": "Distribute", "replicate": "Replicate", "disperse": "Disperse"}

Note = Callable[[str], None]
"""Receives one sentence about each change that is made to the pool."""

MAX_XML_BYTES = 32 << 20  # that of a large volume's status is some hundred kilobytes


@dataclass(frozen=True)
class VolumeInfo:
    """One volume of `gluster volume info`: its type in gluster's words, bricks ``address:path``, options set.

    Of a tiered volume `type` and the first bricks are those of the cold tier; the hot tier's stand last.
    """

    name: str
    type: str
    started: bool
    bricks: tuple[str, ...]
    options: Mapping[str, str]
    hot_type: str = ""

    @property
    def is_ours(self) -> bool:
        """Whether every brick lies in a directory that the suite makes for a volume of this name."""
        return bool(self.bricks) and all(
            PurePosixPath(brick.partition(":")[2]).parts[-2:] == (f"glusterlab-{self.name}", "brick")
            for brick in self.bricks
        )


class VolumeStatus(NamedTuple):
    """`gluster volume status` of one volume: its bricks as far as their servers answered, and its tasks.

    A hot tier's daemon is a task that is always in progress, and no rebalance. `daemons`: process numbers of those that
    run, by gluster's name of the daemon and of the server, which calls itself localhost.
    """

    bricks: tuple[BrickHealth, ...]
    rebalancing: bool
    daemons: Mapping[tuple[str, str], int]


@dataclass(frozen=True)
class Volume:
    """A layout on a cluster; `places`: server and brick root of every brick, in the order of creation.

    Mounted with the options of a scale model it has another mount point: so a mount says with which it was made. The
    first of several `mounts` on each client is at `mount_point`.

    The name has a hash of all that it is made of: another layout, or the same on other bricks, is another volume.
    `grown`: what it becomes by bricks that are added, where that is to happen.
    """

    name: str
    layout: Layout
    places: tuple[tuple[Host, str], ...]
    mount_point: str
    mount_options: tuple[str, ...] = ()
    mounts: int = 1
    access: Access = "native"
    grown: Volume | None = None

    @classmethod
    def of(cls, layout: Layout, cluster: Cluster, model: str = REAL_HARDWARE.name, mounts: int = 1) -> Volume:
        places = place_bricks(layout, cluster)
        facts = layout.model_dump_json(exclude={"name"}) + repr([(host.address, root) for host, root in places])
        label = re.sub(r"[^A-Za-z0-9_-]+", "-", layout.name).strip("-")
        name = f"{label}-{hashlib.sha256(facts.encode()).hexdigest()[:6]}"
        options = cluster.mount_options_of(model)
        point = name if options == cluster.mount_options else f"{name}-{model}"
        return cls(name, layout, tuple(places), f"{cluster.mount_root}/{point}", options, mounts)

    def to_grow(self, after: Layout, cluster: Cluster) -> Volume:
        """A volume of its own with the same bricks, which an event makes one of the layout `after`."""
        root, _, point = self.mount_point.rpartition("/")
        name = f"{self.name}{_GROWS}"
        own = replace(self, name=name, mount_point=f"{root}/{name}{point.removeprefix(self.name)}")
        # the bricks that it has are the first of those that it gets
        return replace(own, grown=replace(own, layout=after, places=tuple(place_bricks(after, cluster))))

    @property
    def mount_points(self) -> tuple[str, ...]:
        """Where each client has it mounted; a dot is in no name of a volume or a model."""
        return (self.mount_point, *(f"{self.mount_point}.{number}" for number in range(2, self.mounts + 1)))

    @property
    def dataset_root(self) -> str:
        return f"{self.mount_point}/datasets"

    @property
    def bricks(self) -> list[tuple[Host, str]]:
        """Server and directory of every brick, in the order of creation."""
        return [(host, f"{root}/glusterlab-{self.name}/brick") for host, root in self.places]

    @property
    def brick_names(self) -> tuple[str, ...]:
        return tuple(f"{host.address}:{path}" for host, path in self.bricks)

    @property
    def settles_s(self) -> float:
        """Seconds without a move after which files lie still, where the layout's options let them move soon; else 0."""
        stated = [int(value) for name, value in self.layout.options if name in _MOVES and value.isdecimal()]
        soon = [seconds for seconds in stated if seconds <= _SOON_S]
        return 2.0 * max(soon) + 5.0 if self.layout.hot is not None and soon else 0.0

    def create_words(self) -> tuple[str, ...]:
        """The command that creates it, without its hot tier and ``gluster`` itself."""
        layout = self.layout
        shape = {
            "replicate": ("replica", str(layout.replica)),
            "disperse": ("disperse-data", str(layout.data), "redundancy", str(layout.redundancy)),
        }.get(layout.type, ())
        # without force gluster refuses two bricks of a subvolume on one server; it would let bricks lie on a root file
        # system, too, which gl_make_brick refuses
        force = ("force",) if layout.bricks_per_server > 1 else ()
        return ("volume", "create", self.name, *shape, "transport", "tcp", *self.brick_names[: layout.bricks], *force)

    def attach_words(self) -> tuple[str, ...]:
        """The command that attaches its hot tier, once it is started; none without one."""
        if (hot := self.layout.hot) is None:
            return ()
        replica = ("replica", str(hot.replica)) if hot.type == "replicate" else ()
        return ("volume", "tier", self.name, "attach", *replica, *self.brick_names[self.layout.bricks :])

    def add_words(self) -> tuple[str, ...]:
        """The command that adds the bricks by which it grows; none where it does not."""
        if self.grown is None:
            return ()
        force = ("force",) if self.layout.bricks_per_server > 1 else ()
        return ("volume", "add-brick", self.name, *self.grown.brick_names[self.layout.bricks :], *force)

    def differences(self, info: VolumeInfo) -> list[str]:
        """What a volume of that name in the pool has that this one should not have, or lacks."""
        expected = " + hot ".join(map(_type_of, self.layout.tiers))
        found = []
        if (is_there := f"{info.type} + hot {info.hot_type}" if info.hot_type else info.type) != expected:
            found.append(f"expected type {expected}, found {is_there}")
        if info.bricks != self.brick_names:
            found.append(f"expected bricks {some(self.brick_names)}, found {some(info.bricks)}")
        for name, value in self.layout.options:
            if info.options.get(name) != value:
                found.append(f"expected option {name} = {value}, found {info.options.get(name, 'the default')}")
        return found


def _type_of(bricks: Bricks) -> str:
    distributed = bricks.subvolumes > 1 and bricks.type != "distribute"
    return f"Distributed-{_TYPES[bricks.type]}" if distributed else _TYPES[bricks.type]


def ask(pool: Pool, server: str, *words: str) -> bytes:
    """One gluster command on a server; raises `HostError` with what gluster said when it fails."""
    command = script.command([script.call("gl_gluster", *words)], deadline_s=_GLUSTER_DEADLINE_S)
    return pool.run_on(server, command).stdout


def release(pool: Pool, server: str) -> str:
    """The GlusterFS of a server as it says it, such as ``3.8.4``."""
    words = ask(pool, server, "--version").decode("utf-8", "replace").split()
    return words[1] if words[:1] == ["glusterfs"] and len(words) > 1 else "of unknown release"


def unknown_options(pool: Pool, server: str, options: Iterable[str]) -> list[str]:
    """Which options the pool's release does not have; without any volume to ask it by, none is named."""
    known = next(iter(volumes(pool, server)), None)
    found = []
    for option in () if known is None else options:
        try:
            ask(pool, server, "volume", "get", known or "", option)
        except CommandError as error:
            if re.search("volume get option: failed: .*(Did you mean|does not exist)", error.stderr):
                found.append(option)
    return found


def volumes(pool: Pool, server: str) -> dict[str, VolumeInfo]:
    """All volumes of the pool, by name; raises `HostError` when gluster does not answer, or not in its XML."""
    return _ask_xml(read_info, pool, server, "volume", "info", "--xml")


def _ask_xml(read: Callable[[bytes], R], pool: Pool, server: str, *words: str) -> R:
    try:
        return read(ask(pool, server, *words))
    except ParseError as error:
        raise VolumeError(str(error), host=server) from error


def set_up(pool: Pool, cluster: Cluster, volume: Volume, *, mark: str, note: Note, fresh: bool = False) -> None:
    """Make a volume the only one of the suite that is started and mounted; `mark` goes into directories that are made.

    One that clients reach by NFS or SMB is not mounted here: see `glusterlab.hosts.access`.

    A volume that is there must be what was requested; `fresh` deletes and creates it again, which takes seconds, where
    deleting the files through a client can take longer than the samples that made them.
    """
    server = cluster.servers[0].name
    known = volumes(pool, server)
    # one that was deleted may still be mounted
    unmount(pool, cluster, {volume.name} - set(known) | _ours(known), keep=None if fresh else volume)
    _stop(pool, server, known, note, None if fresh else volume.name)
    if fresh and volume.name in known and known[volume.name].is_ours:
        ask(pool, server, "volume", "delete", volume.name)
        note(f"deleted volume {volume.name}, to begin with an empty one")
        del known[volume.name]
    if volume.name not in known:
        _create(pool, server, volume, mark)
        hot = "" if volume.layout.hot is None else f" with hot tier {volume.layout.hot.geometry}"
        note(f"created volume {volume.name}: {volume.layout.type} {volume.layout.geometry}{hot}")
        known = volumes(pool, server)
        if volume.name not in known:
            raise VolumeError(f"gluster created volume {volume.name}, but does not list it", host=server)
    found = volume.differences(known[volume.name])
    if found:
        advice = f"remove it with 'gluster volume delete {volume.name}' if it is in the way"
        raise VolumeError(f"volume {volume.name} is not what was requested: {'; '.join(found)}; {advice}", host=server)
    _leave_gnfs_off(pool, server, volume, known[volume.name])
    if not known[volume.name].started:
        ask(pool, server, "volume", "start", volume.name)
        note(f"started volume {volume.name}")
    if volume.layout.features:
        # a limit is set through a mount of gluster's own
        _wait_until_online(pool, server, volume, note, features=False)
        _turn_on(pool, server, volume, known[volume.name], note)
    _wait_until_online(pool, server, volume, note)
    if volume.access not in SERVED:
        _mount(pool, cluster, volume, mark)


def _create(pool: Pool, server: str, volume: Volume, mark: str) -> None:
    asks = volume.layout.hot is not None or volume.layout.features
    if asks and (problem := release_problem(volume.layout, release(pool, server))):
        raise RefusedError(problem, host=server)
    # those that are added later, too
    _on_bricks(pool, volume.grown or volume, lambda path: script.call("gl_make_brick", path, mark))
    ask(pool, server, *volume.create_words())
    if attach := volume.attach_words():
        ask(pool, server, "volume", "set", volume.name, "nfs.disable", "on")
        # to a volume that is not started gluster attaches a tier, and says that it failed; a tier's options need it
        ask(pool, server, "volume", "start", volume.name)
        ask(pool, server, *attach)
    for name, value in volume.layout.options:
        try:
            ask(pool, server, "volume", "set", volume.name, name, value)
        except CommandError as error:
            if (refused := _REFUSED.search(error.stderr)) is None:
                raise
            # without it, it is not the volume that was asked for
            if attach:
                ask(pool, server, "volume", "stop", volume.name)
            ask(pool, server, "volume", "delete", volume.name)
            what = f"GlusterFS {release(pool, server)} refuses the option {name} = {value}: {refused['why']}"
            raise RefusedError(what, host=server) from error


def empty_brick(pool: Pool, host: str, path: str) -> None:
    """Delete a brick's directory, whose process has ended, and make an empty one."""
    lines = ["set -e", script.call("gl_clear_dir", path.rpartition("/")[0]), shell.join(("mkdir", path))]
    pool.run_on(host, script.command(lines, deadline_s=_REMOVE_WITHIN_S))


def heal_entries(pool: Pool, volume: Volume) -> bytes:
    """Entries that wait for self-heal, counted on the bricks: a line ``SERVER heal N`` for each server."""
    return "".join(f"{name} {text}" for name, text in sorted(_entries(pool, volume, 0).items())).encode()


def _entries(pool: Pool, volume: Volume, settle_s: int) -> dict[str, str]:
    """What ``gl_heal`` says on each server, which waits up to `settle_s` for the entries to go."""
    roots: dict[str, list[str]] = defaultdict(list)
    for host, root in volume.places:
        roots[host.name].append(root)
    looks = {
        name: script.command([script.part("heal", "gl_heal", settle_s, volume.name, *each)])
        for name, each in roots.items()
    }
    results = pool.run(looks).or_raise()
    return {name: script.need(script.read_parts(each), "heal", name).text for name, each in results.items()}


def _on_bricks(pool: Pool, volume: Volume, line: Callable[[str], str]) -> None:
    lines: dict[str, list[str]] = defaultdict(lambda: ["set -e"])
    for host, path in volume.bricks:
        lines[host.name].append(line(path))
    pool.run({name: script.command(text, deadline_s=_REMOVE_WITHIN_S) for name, text in lines.items()}).or_raise()


def remove(pool: Pool, cluster: Cluster, volume: Volume, *, note: Note) -> None:
    """Delete a volume of the suite and its files."""
    server = cluster.servers[0].name
    unmount(pool, cluster, [volume.name])
    info = volumes(pool, server).get(volume.name)
    if info is None or not info.is_ours:
        return
    if info.started:
        _stop_one(pool, server, volume.name)
    ask(pool, server, "volume", "delete", volume.name)
    note(f"deleted volume {volume.name}")
    _on_bricks(pool, volume.grown or volume, lambda path: script.call("gl_clear_dir", path.rpartition("/")[0]))


def _stop_one(pool: Pool, server: str, name: str) -> None:
    if name.endswith(_GROWS):
        # gluster stops no volume that is being rebalanced; where it is not, it says so
        with suppress(CommandError):
            ask(pool, server, "volume", "rebalance", name, "stop")
    ask(pool, server, "volume", "stop", name)


def _leave_gnfs_off(pool: Pool, server: str, volume: Volume, info: VolumeInfo) -> None:
    # of releases before 6: from 3.8 on it is off, and listed so; 3.7 starts it with every volume, unless told otherwise
    stated = "on" if info.options.get("nfs.disable") == "on" else dict(volume.layout.options).get("nfs.disable")
    if stated is None and re.match(r"[0-5]\b", release(pool, server)):
        ask(pool, server, "volume", "set", volume.name, "nfs.disable", "on")


def _turn_on(pool: Pool, server: str, volume: Volume, info: VolumeInfo, note: Note) -> None:
    """Turn on the layout's features, which gluster does on a started volume alone."""
    for feature in volume.layout.features:
        is_on = info.options.get(f"features.{feature}") == "on"
        for command, *words in _FEATURES[feature][is_on:]:
            ask(pool, server, *command.split(), volume.name, *words)
        if not is_on:
            note(f"turned on {feature} of volume {volume.name}")


def _wait_until_online(pool: Pool, server: str, volume: Volume, note: Note, *, features: bool = True) -> None:
    """Wait for all bricks, the daemons of a hot tier and of features; what died is started once."""
    start = time.monotonic()
    end = start + _ONLINE_WITHIN_S
    forced = False
    while True:
        status = _ask_xml(read_status, pool, server, "volume", "status", volume.name, "--xml")
        offline = [f"{brick.host}:{brick.path}" for brick in status.bricks if not brick.online]
        complete = not offline and len(status.bricks) == len(volume.bricks)
        daemons = _tier(pool, server, volume) if complete else {}
        away = [name for name, daemon in daemons.items() if not daemon.running]
        running = running_daemons(volume, status, server) if features else {}
        each = ((name, host, len(pids)) for name, pids_of in running.items() for host, pids in pids_of.items())
        stopped = [f"{name} on {host}" for name, host, count in each if count < len(DAEMONS[name])]
        if complete and not away and not stopped:
            return
        if time.monotonic() > end:
            if away:
                what = f"the tier daemon of volume {volume.name} does not run on {', '.join(away)}"
                raise VolumeError(f"{what}: read its log below /var/log/glusterfs there", host=server)
            if complete and stopped:
                what = f"daemons of volume {volume.name} do not run: {', '.join(stopped)}"
                raise VolumeError(f"{what}; read their logs below /var/log/glusterfs there", host=server)
            missing = len(volume.bricks) - len(status.bricks) + len(offline)
            names = f": {some(offline)}" if offline else ": their servers do not answer glusterd"
            raise VolumeError(f"{missing} bricks of volume {volume.name} are offline{names}", host=server)
        if offline and not forced:
            ask(pool, server, "volume", "start", volume.name, "force")
            note(f"started {len(offline)} bricks of volume {volume.name} that were offline")
            forced = True
        elif away and not forced:
            ask(pool, server, "volume", "tier", volume.name, "start", "force")
            note(f"started the tier daemon of volume {volume.name} on {', '.join(away)}")
            forced = True
        elif stopped and complete and not forced and time.monotonic() > start + _DAEMONS_COME_S:
            ask(pool, server, "volume", "start", volume.name, "force")
            note(f"started daemons of volume {volume.name} that did not run: {', '.join(stopped)}")
            forced = True
        pool.sleep(0.5)


def running_daemons(volume: Volume, status: VolumeStatus, asked: str) -> dict[Feature, dict[str, list[int]]]:
    """Process numbers of each feature's daemons on each server with bricks, as the server `asked` says."""
    found: dict[Feature, dict[str, list[int]]] = {}
    for feature in volume.layout.features:
        found[feature] = {}
        for host in dict.fromkeys(host for host, _ in volume.places):
            names = {host.name, host.address, *(("localhost",) if host.name == asked else ())}
            pids = [pid for (name, on), pid in status.daemons.items() if on in names and name in DAEMONS[feature]]
            found[feature][host.name] = sorted(pids)
    return found


def _tier(pool: Pool, server: str, volume: Volume) -> dict[str, TierHealth]:
    """The daemons of a volume's hot tier, by server with bricks; none without one."""
    if volume.layout.hot is None:
        return {}
    read = partial(read_tier, volume=volume, asked=server)
    return _ask_xml(read, pool, server, "volume", "tier", volume.name, "status", "--xml")


def wait_for_files(pool: Pool, volume: Volume, *, within_s: float) -> None:
    """Wait until no file has moved between the tiers for `Volume.settles_s`; `VolumeError` where they still do."""
    server = volume.places[0][0].name
    counted, since, end = -1, 0.0, time.monotonic() + within_s
    while True:
        count = sum(each.promoted + each.demoted for each in _tier(pool, server, volume).values())
        now = time.monotonic()
        if count != counted:
            counted, since = count, now
        if now - since >= volume.settles_s:
            return
        if now > end:
            raise VolumeError(f"files of volume {volume.name} still move between its tiers after {within_s:.0f} s")
        pool.sleep(1.0)


def wait_for_heal(pool: Pool, volume: Volume, *, within_s: float) -> int:
    """Let self-heal begin now, not at its next hour; returns how many entries of a volume still wait at the end."""
    end = time.monotonic() + within_s
    while True:
        # one look takes some seconds itself while there is something to heal
        pending = sum(int(text.split()[-1]) for text in _entries(pool, volume, 5).values())
        if pending == 0 or time.monotonic() > end:
            return pending
        # it refuses while a brick is away; then there is nothing to do but to look again
        with suppress(CommandError):
            ask(pool, volume.places[0][0].name, "volume", "heal", volume.name)


def _mount(pool: Pool, cluster: Cluster, volume: Volume, mark: str) -> None:
    first, *others = cluster.servers
    backups = [f"backup-volfile-servers={':'.join(server.address for server in others)}"] if others else []
    options = ",".join([*backups, *volume.mount_options])
    for point in volume.mount_points:
        _on_clients(pool, cluster, script.call("gl_mount", first.address, volume.name, point, options))
    driver = cluster.clients[0].name
    pool.run_on(driver, script.command([script.call("gl_mark_dir", volume.dataset_root, mark)]))


def _on_clients(pool: Pool, cluster: Cluster, line: str) -> None:
    command = script.command([line], deadline_s=90.0)
    pool.run({client.name: command for client in cluster.clients}).or_raise()


def _ours(known: Mapping[str, VolumeInfo]) -> set[str]:
    return {name for name, volume in known.items() if volume.is_ours}


def unmount(pool: Pool, cluster: Cluster, names: Iterable[str], *, keep: Volume | None = None) -> None:
    """Unmount named volumes of the suite from all clients, but `keep`; what else is mounted below mount_root stays."""
    kept = "" if keep is None else "\t".join(keep.mount_points)
    _on_clients(pool, cluster, script.call("gl_umount_others", cluster.mount_root, kept, *sorted(names)))


def _stop(pool: Pool, server: str, known: Mapping[str, VolumeInfo], note: Note, but: str | None) -> None:
    for volume in known.values():
        if volume.is_ours and volume.started and volume.name != but:
            _stop_one(pool, server, volume.name)
            note(f"stopped volume {volume.name}")


def stop_all(pool: Pool, cluster: Cluster, *, note: Note) -> None:
    """Unmount and stop all volumes of the suite; their files stay."""
    server = cluster.servers[0].name
    known = volumes(pool, server)
    unmount(pool, cluster, _ours(known))
    _stop(pool, server, known, note, None)


def read_xml(text: bytes) -> Element:
    """The document of one `gluster --xml` command; raises `ParseError`, also when it says that the command failed."""
    if len(text) > MAX_XML_BYTES:
        raise ParseError(f"expected at most {MAX_XML_BYTES} bytes of gluster's XML, found {len(text)}")
    return gluster_xml.read_output(text)


def read_peers(text: bytes, cluster: Cluster, server_name: str) -> dict[str, bool]:
    """Whether servers of `gluster peer status --xml` are connected; the one that ran it does not list itself."""
    peers = {server_name: True}
    for peer in read_xml(text).iter("peer"):
        connected = peer.findtext("connected") == "1"
        known = {peer.findtext("hostname") or "", *(name.text or "" for name in peer.iter("hostname"))}
        for server in cluster.servers:
            if server.name != server_name and {server.name, server.address} & known:
                peers[server.name] = connected
    return peers


def read_info(text: bytes) -> dict[str, VolumeInfo]:
    """Volumes of `gluster volume info --xml`, by name."""
    volumes = {}
    for volume in read_xml(text).iter("volume"):
        name = volume.findtext("name")
        if name is None:
            continue
        cold, hot = volume.find("bricks/coldBricks"), volume.find("bricks/hotBricks")
        lists = volume.iterfind("bricks") if cold is None else [cold]
        # gluster puts each brick that it attaches before the others
        attached = () if hot is None else tuple(gluster_xml.brick_names(hot))[::-1]
        volumes[name] = VolumeInfo(
            name,
            (volume if cold is None else cold).findtext("typeStr" if cold is None else "coldBrickType") or "",
            volume.findtext("status") == "1",
            (*(brick for bricks in lists for brick in gluster_xml.brick_names(bricks)), *attached),
            gluster_xml.options(volume),
            "" if hot is None else hot.findtext("hotBrickType") or "",
        )
    return volumes


def read_status(text: bytes) -> VolumeStatus:
    """Bricks and tasks of `gluster volume status VOLUME --xml`."""
    root = read_xml(text)
    bricks = tuple(
        BrickHealth(
            host=node.findtext("hostname") or "",
            path=node.findtext("path") or "",
            online=node.findtext("status") == "1",
            pid=gluster_xml.pid(node),
            port=gluster_xml.tcp_port(node),
        )
        for node in gluster_xml.brick_nodes(root)
    )
    tasks = (task for task in root.iter("task") if task.findtext("type") != "Tier migration")
    rebalancing = any("in progress" in (task.findtext("statusStr") or "") for task in tasks)
    daemons = {
        (node.findtext("hostname") or "", node.findtext("path") or ""): pid
        for node in root.iter("node")
        if node.findtext("status") == "1"
        and not (node.findtext("path") or "").startswith("/")
        and (pid := gluster_xml.pid(node))
    }
    return VolumeStatus(bricks, rebalancing, daemons)


def read_tier(text: bytes, volume: Volume, asked: str) -> dict[str, TierHealth]:
    """The daemon of each server with bricks, of `gluster volume tier VOLUME status --xml` on the server `asked`.

    One that gluster does not list is unknown.
    """
    known = {
        node.findtext("nodeName"): TierHealth(
            status=node.findtext("statusStr") or "unknown",
            promoted=whole(node.findtext("promotedFiles") or "") or 0,
            demoted=whole(node.findtext("demotedFiles") or "") or 0,
        )
        for node in read_xml(text).iter("node")
    }
    found = {}
    for host in dict.fromkeys(host for host, _ in volume.places):
        names = (host.name, host.address, *(("localhost",) if host.name == asked else ()))
        none = TierHealth(status="unknown", promoted=0, demoted=0)
        found[host.name] = next((known[name] for name in names if name in known), none)
    return found


def server_name(cluster: Cluster, address: str) -> str:
    """The cluster's name for what gluster calls a server; the address itself where it is none of ours."""
    return next((server.name for server in cluster.servers if address in (server.name, server.address)), address)
