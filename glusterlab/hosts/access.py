"""How clients reach files otherwise than by the native client: NFS, SMB, and a directory that the operator mounted.

The servers of NFS and SMB are the suite's own processes on the pool's servers, of one access at a time; clients mount
from them in turn. What others started, or mounted, is left alone.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from glusterlab.errors import HostError, VolumeError, some
from glusterlab.hosts import gluster, script
from glusterlab.hosts.gluster import Note, Volume
from glusterlab.hosts.pool import Pool
from glusterlab.reasons import Reason
from glusterlab.spec.cluster import SERVED, AccessSettings
from glusterlab.store.records import Health, Mounted

if TYPE_CHECKING:
    from glusterlab.spec.cell import Access, Cell
    from glusterlab.spec.cluster import Cluster, Host

AVAILABLE_ACCESS: tuple[Access, ...] = ("native", "gfapi", *SERVED, "existing")

SHELL = "access.sh"

Options = Iterable[tuple[str, str]]

_DEADLINE_S = 150.0
_REMOVE_WITHIN_S = 3600.0


class _Kind(NamedTuple):
    """A way to serve and to mount: programs on servers, the first that all have; type and options of the mount."""

    servers: tuple[str, ...]
    client: str
    type: str
    options: tuple[str, ...]


_KINDS: Mapping[str, _Kind] = {
    "nfs3": _Kind(("gnfs", "ganesha.nfsd"), "nfs", "nfs", ("vers=3", "nolock", "proto=tcp", "mountproto=tcp")),
    "nfs4": _Kind(("ganesha.nfsd",), "nfs", "nfs4", ("vers=4.1", "proto=tcp")),
    "smb": _Kind(("smbd",), "cifs", "cifs", ("vers=3.1.1", "sec=none")),
}
_LACKS = {
    "nfs3": "no NFS server: NFS-Ganesha with FSAL GLUSTER (nfs-ganesha-gluster), or a GlusterFS with gNFS, and rpcbind",
    "nfs4": "no NFS-Ganesha with FSAL GLUSTER (nfs-ganesha-gluster), and rpcbind",
    "smb": "no samba with its module for GlusterFS (samba-vfs-modules or samba-vfs-glusterfs)",
    "nfs": "no NFS client: a kernel with nfs, and nfs-common (nfs-utils)",
    "cifs": "no SMB client: a kernel with cifs, and cifs-utils",
}


def line_of_facts() -> str:
    """The line of a script that reports what a host can serve and mount; it needs `SHELL`."""
    return script.part("access", "gl_access_facts")


def lines_of_check(host: Host, cluster: Cluster) -> list[str]:
    """The lines of a check's script, which need `SHELL`, on what the cluster file says of accesses."""
    if host in cluster.servers:
        return [script.call("gl_foreign", _dir(cluster))] if cluster.access else []
    if cluster.existing is None:
        return []
    return [script.call("gl_check_existing", cluster.existing.path, cluster.existing.work)]


def _ask_facts(pool: Pool, names: Sequence[str]) -> dict[str, Mapping[str, str]]:
    answers = _run(pool, dict.fromkeys(names, line_of_facts()))
    return {
        name: dict(line.split(" ", 1) for line in parts["access"].text.splitlines() if " " in line)
        for name, parts in answers.items()
    }


def lacking(cluster: Cluster, facts: Mapping[str, Mapping[str, Any]], options: Options = ()) -> dict[str, str]:
    """Why hosts cannot do an access of a volume with these options, by access; `facts` by host, of environment.json."""
    found: dict[str, str] = {}
    for access, kind in _KINDS.items():
        names = _servers(access, options)
        lacks, role = _LACKS[access if names == kind.servers else "nfs4"], "server"
        if server_of(access, cluster, facts, options) is not None:
            lacks, role, names = _LACKS[kind.client], "client", (kind.client,)
        hosts = cluster.servers if role == "server" else cluster.clients
        without = [each.name for each in hosts if not _can(facts, each, role, *names)]
        if without:
            found[access] = f"access {access!r}: {some(without)} {'has' if len(without) == 1 else 'have'} {lacks}"
        elif role == "server":
            found[access] = f"access {access!r}: expected one of {' and '.join(names)} on all servers"
    return found


def _can(facts: Mapping[str, Mapping[str, Any]], host: Host, role: str, *names: str) -> bool:
    return not set(names).isdisjoint(str(facts.get(host.name, {}).get(f"access_{role}", "")).split())


def server_of(
    access: str, cluster: Cluster, facts: Mapping[str, Mapping[str, Any]], options: Options = ()
) -> str | None:
    """The program by which all servers can serve a volume with these options."""
    names = _servers(access, options)
    return next((name for name in names if all(_can(facts, each, "server", name) for each in cluster.servers)), None)


def _servers(access: str, options: Options) -> tuple[str, ...]:
    off = dict(options).get("nfs.disable", "").lower() in ("on", "yes", "true", "enable", "1")  # as gluster reads it
    return tuple(name for name in _KINDS[access].servers if not off or name != "gnfs")


def served_by(health: Health, access: str) -> str:
    """The program that served, by a look at the servers; empty where it is not known."""
    found = {name for services in health.services.values() for name in services} & set(_KINDS[access].servers)
    return found.pop() if len(found) == 1 else ""


def volume_of(cell: Cell, cluster: Cluster) -> Volume:
    """What a cell is measured on; for ``existing`` it has no bricks, and lies where the operator mounted something."""
    if cell.access == "existing":
        assert cluster.existing is not None, "the plan leaves it out"
        return Volume("existing", cell.layout, (), cluster.existing.work, access="existing")
    volume = Volume.of(cell.layout, cluster, cell.model.name, cell.mounts)
    volume = volume if cell.event is None else volume.to_grow(cell.layout_after, cluster)
    if cell.access not in SERVED:
        return replace(volume, access=cell.access)
    point, options = f"{cluster.mount_root}/{volume.name}-{cell.access}", _options(cluster, cell.access)
    return replace(volume, mount_point=point, mount_options=options, access=cell.access)


def _settings(cluster: Cluster, access: Access) -> AccessSettings:
    return next((settings for name, settings in cluster.access.items() if name == access), AccessSettings())


def _options(cluster: Cluster, access: Access) -> tuple[str, ...]:
    """The suite's own options of a mount, those of the cluster file in their place or behind them."""
    own = {option.partition("=")[0]: option for option in _KINDS[access].options}
    return tuple((own | {option.partition("=")[0]: option for option in _settings(cluster, access).options}).values())


def source_of(cluster: Cluster, volume: Volume, client: str) -> str:
    """What a client mounts: of servers in turn, as the guide spread its clients."""
    number = [each.name for each in cluster.clients].index(client)
    server = cluster.servers[number % len(cluster.servers)]
    address = _settings(cluster, volume.access).addresses.get(server.name, server.address)
    return f"//{address}/{volume.name}" if volume.access == "smb" else f"{address}:/{volume.name}"


def set_up(pool: Pool, cluster: Cluster, volume: Volume, *, mark: str, note: Note, fresh: bool = False) -> None:
    """Make a volume the only one of the suite that clients reach, by its access alone; else as `gluster.set_up`."""
    take_down(pool, cluster)
    if volume.access == "existing":
        if cluster.backings:
            gluster.stop_all(pool, cluster, note=note)
        _take_existing(pool, cluster, volume, mark, fresh=fresh)
        return
    gluster.set_up(pool, cluster, volume, mark=mark, note=note, fresh=fresh)
    if volume.access in SERVED:
        name = _serve(pool, cluster, volume, mark)
        note(f"started {name} on {len(cluster.servers)} servers for volume {volume.name}")
        lines = {}
        for client in cluster.clients:
            words = (_KINDS[volume.access].type, source_of(cluster, volume, client.name), volume.mount_point)
            options = ",".join((*volume.mount_options, *(["retry=0"] if volume.access != "smb" else [])))
            lines[client.name] = script.call("gl_mount_served", _dir(cluster), mark, *words, options)
        _run(pool, lines)
        _verify(pool, cluster, volume)
        driver = cluster.clients[0].name
        _run(pool, {driver: script.call("gl_mark_dir", volume.dataset_root, mark)})


def take_down(pool: Pool, cluster: Cluster, *, deadline_s: float = _DEADLINE_S) -> None:
    """Take the suite's mounts of NFS and SMB away, then end its servers of both; what was not started is no error."""
    unmount, unserve = (script.call(name, _dir(cluster)) for name in ("gl_unmount_served", "gl_unserve"))
    _run(pool, dict.fromkeys((client.name for client in cluster.clients), unmount), deadline_s=deadline_s)
    if cluster.backings:
        _run(pool, dict.fromkeys((server.name for server in cluster.servers), unserve), deadline_s=deadline_s)


def stop_all(pool: Pool, cluster: Cluster, *, note: Note) -> None:
    """Take all accesses away, stop all volumes of the suite, and remove what it has in the operator's directory."""
    take_down(pool, cluster)
    if cluster.backings:
        gluster.stop_all(pool, cluster, note=note)
    if cluster.existing is not None:
        path, work = cluster.existing.path, cluster.existing.work
        line = f"{script.call('gl_existing', path)} && {script.call('gl_remove_dir', work)}"
        try:
            _run(pool, {cluster.clients[0].name: line}, deadline_s=_REMOVE_WITHIN_S)
        except HostError as error:
            note(f"files may be left in {work}: {error.message}")


def _dir(cluster: Cluster) -> str:
    return f"{cluster.work_dir}/access"


def _run(
    pool: Pool, lines: Mapping[str, str], *, deadline_s: float = _DEADLINE_S
) -> dict[str, Mapping[str, script.Part]]:
    """One call by host, in which nothing else fails; returns the parts of their reports."""
    commands = {name: script.command([line], SHELL, deadline_s=deadline_s) for name, line in lines.items()}
    return {name: script.read_parts(result) for name, result in pool.run(commands).or_raise().items()}


def _serve(pool: Pool, cluster: Cluster, volume: Volume, mark: str) -> str:
    """Start the servers, and wait until they serve; returns their name."""
    servers = [server.name for server in cluster.servers]
    facts = _ask_facts(pool, servers)
    program = server_of(volume.access, cluster, facts, volume.layout.options)
    if program is None:
        raise VolumeError(f"not all servers can serve {volume.access}: there is {_LACKS[volume.access]}")
    clients = [client.address for client in cluster.clients]
    words = (_dir(cluster), mark, program, volume.name, *clients)
    _run(pool, {name: script.call("gl_serve", *words) for name in servers})
    if program == "gnfs":
        first = servers[0]
        allowed = ("nfs.rpc-auth-allow", ",".join(clients))
        gluster.ask(pool, first, "volume", "set", volume.name, "nfs.disable", "off", *allowed)
        _run(pool, {name: script.call("gl_note_gnfs", _dir(cluster)) for name in servers})
    return program


def _verify(pool: Pool, cluster: Cluster, volume: Volume) -> None:
    line = script.part("mounted", "gl_mounted_below", volume.mount_point)
    for name, parts in _run(pool, dict.fromkeys((client.name for client in cluster.clients), line)).items():
        found = read_mounted(parts["mounted"], name)
        if (problem := mount_problem(cluster, volume, name, found)) is not None:
            raise VolumeError(problem, host=name)


def _take_existing(pool: Pool, cluster: Cluster, volume: Volume, mark: str, *, fresh: bool) -> None:
    assert cluster.existing is not None
    clients = [client.name for client in cluster.clients]
    _run(pool, dict.fromkeys(clients, script.call("gl_existing", cluster.existing.path)))
    text = f"{mark} {uuid.uuid4().hex}"
    lines = [script.call("gl_mark_dir", volume.mount_point, text)]
    if fresh:
        lines.append(script.call("gl_clear_dir", volume.mount_point))
    lines.append(script.call("gl_mark_dir", volume.dataset_root, mark))
    _run(pool, {clients[0]: " && ".join(lines)}, deadline_s=_REMOVE_WITHIN_S)
    _run(pool, dict.fromkeys(clients[1:], script.call("gl_sees_mark", volume.mount_point, text)))


def lines_of_health(host: Host, cluster: Cluster, volume: Volume) -> list[str]:
    """The lines of a look at a host that say what serves, and what is mounted; they need `SHELL`."""
    if host in cluster.servers:
        return [script.part("services", "gl_services", _dir(cluster))] if volume.access in SERVED else []
    if volume.access not in (*SERVED, "existing"):
        return []
    return [script.part("mounted", "gl_mounted_below", volume.mount_point)]


def read_report(
    report: Mapping[str, script.Part], state: Mapping[str, dict[str, Any]], cluster: Cluster, volume: Volume, host: str
) -> list[Reason]:
    """Take what a host reported into `services` and `mounted` of a `Health`; returns what is not as asked for."""
    if "services" in report:
        state["services"][host] = read_services(report["services"], host)
    if "mounted" in report:
        mounted = state["mounted"][host] = read_mounted(report["mounted"], host)
        if (problem := mount_problem(cluster, volume, host, mounted)) is not None:
            return [Reason(code="mount-changed", message=problem, host=host)]
    return []


def read_services(part: script.Part, host: str) -> dict[str, list[int]]:
    """Processes of each service that the suite started: the service's own first, then those that it made."""
    found = {}
    for line in part.text.splitlines():
        first, name, *pids = line.split() or [""]
        if first != "service" or not all(pid.isdecimal() for pid in pids):
            raise HostError(f"expected 'service NAME PID ...', found {line[:80]!r}", host=host)
        found[name] = [int(pid) for pid in pids]
    return found


def read_mounted(part: script.Part, host: str) -> Mounted:
    """What a path lies on."""
    words = part.text.split()
    if len(words) != 5 or words[0] != "mounted":
        raise HostError(f"expected 'mounted DEVICE TYPE SOURCE OPTIONS', found {part.text[:80]!r}", host=host)
    return Mounted(device=words[1], type=words[2], source=words[3], options=words[4])


def mount_problem(cluster: Cluster, volume: Volume, client: str, found: Mounted) -> str | None:
    """In what a client's mount of NFS or SMB is not what was asked for; None where it is."""
    if volume.access not in SERVED:
        return None
    asked = (_KINDS[volume.access].type, source_of(cluster, volume, client))
    if (found.type, found.source) != asked:
        return f"expected {asked[1]} as {asked[0]} at {volume.mount_point}, found {found.source} as {found.type}"
    shown = dict(option.partition("=")[::2] for option in found.options.split(","))
    for option in volume.mount_options:
        key, _, value = option.partition("=")
        # what the kernel does not show cannot be compared
        if value and shown.get(key, value) != value:
            return f"expected {asked[1]} mounted with {option}, found {key}={shown[key]}"
    return None


def access_reasons(health: Health, moment: str, access: Access, servers: Sequence[str]) -> Iterator[Reason]:
    """What is wrong with how clients reach the files at one moment, as far as that is kept."""
    if access not in SERVED:
        return
    for server in servers:
        services = health.services.get(server, {})
        if services.keys().isdisjoint(_KINDS[access].servers):
            message = f"none of {', '.join(_KINDS[access].servers)} was found {moment} the workload"
            yield Reason(code="access-lost", message=message, host=server)
        for name in sorted(name for name, pids in services.items() if not pids):
            yield Reason(code="access-lost", message=f"{name} did not run {moment} the workload", host=server)
    for client, mounted in sorted(health.mounted.items()):
        if mounted.type != _KINDS[access].type:
            message = f"expected a mount of type {_KINDS[access].type} {moment} the workload, found {mounted.type}"
            yield Reason(code="mount-changed", message=message, host=client)


def access_changes(before: Health, after: Health) -> Iterator[Reason]:
    """What changed between two looks in how clients reach the files."""
    for host, services in sorted(before.services.items()):
        for name, pids in sorted(services.items()):
            now = after.services.get(host, {}).get(name, [])
            if pids and now and pids[0] != now[0]:
                message = f"{name} was started again during the workload"
            elif pids and now and set(pids) - set(now):
                message = f"a process of {name} that served a client ended during the workload"
            else:
                # one that does not run any more is told by `access_reasons`
                continue
            yield Reason(code="access-lost", message=message, host=host)
    for host, mounted in sorted(before.mounted.items()):
        later = after.mounted.get(host)
        if later is not None and later != mounted:
            key, was = next(pair for pair in mounted if pair[1] != getattr(later, pair[0]))
            message = f"the mount changed during the workload: its {key} was {was}, and is {getattr(later, key)}"
            yield Reason(code="mount-changed", message=message, host=host)
