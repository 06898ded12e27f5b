"""The suite's own directory on every host: claimed by one run at a time, cleared of what an earlier run left behind."""

from __future__ import annotations

import io
import json
import os
import socket
import tarfile
from dataclasses import asdict, dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from glusterlab.errors import UsageError, WorkloadError
from glusterlab.hosts import script
from glusterlab.hosts.quoting import join, quote

if TYPE_CHECKING:
    from glusterlab.hosts.connection import Pool
    from glusterlab.spec.cluster import Cluster

_OWNER = "owner.json"
_MAX_CHECKOUT_BYTES = 64 << 20
_SKIPPED = frozenset({".git", "__pycache__", ".github"})


@dataclass(frozen=True)
class Owner:
    """The run that has a cluster to itself: written to the first server, removed when the run ends.

    Attributes
    ----------
    campaign : str
    controller : str
        Host name of the machine that runs it.
    pid : int
    started : str
        When the process started, in ticks since that machine's boot, with the boot's id: tells the process from a
        later one of the same number.
    """

    campaign: str
    controller: str
    pid: int
    started: str

    @classmethod
    def this_process(cls, campaign: str) -> Owner:
        """The process that calls this."""
        return cls(campaign, socket.gethostname(), os.getpid(), _start_of(os.getpid()))

    @property
    def is_running(self) -> bool:
        """Whether that process is alive; only this machine's processes can be looked at."""
        return self.started == _start_of(self.pid)


def _start_of(pid: int) -> str:
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{boot}:{Path(f'/proc/{pid}/stat').read_text().rpartition(')')[2].split()[19]}"
    except (OSError, IndexError):
        return ""


def claim(pool: Pool, cluster: Cluster, campaign: str) -> list[str]:
    """Take a cluster for one run: mark the work directories, and end what an earlier run left running.

    Returns
    -------
    list of str
        Hosts on which leftover processes were ended.

    Raises
    ------
    UsageError
        When another run has the cluster.
    HostError
        When a work directory cannot be made, or is there and not the suite's.
    """
    own = Owner.this_process(campaign)
    refuse_if_owned(pool, cluster, own)
    server = cluster.servers[0].name
    path = f"{cluster.work_dir}/{_OWNER}"
    marks = [
        "set -e",
        script.call("gl_mark_dir", cluster.work_dir, f"glusterlab work directory, campaign {campaign}"),
        script.part("ended", "gl_kill", "", cluster.mount_root, cluster.work_dir),
    ]
    text = json.dumps(asdict(own), sort_keys=True)
    owned = [*marks, f"printf '%s\\n' {quote(text)} >{quote(path)}"]
    commands = {name: script.command(owned if name == server else marks) for name in pool.hosts}
    answers = pool.run(commands).or_raise()
    return sorted(name for name, answer in answers.items() if script.read_parts(answer)["ended"].data)


def refuse_if_owned(pool: Pool, cluster: Cluster, own: Owner | None = None) -> None:
    """Refuse to go on when another run has the cluster; the hosts are only looked at.

    Parameters
    ----------
    pool : Pool
    cluster : Cluster
    own : Owner, optional
        The run that asks; None when none does.

    Raises
    ------
    UsageError
        When another run has the cluster.
    HostError
        When a host does not answer.
    """
    server = cluster.servers[0].name
    path = f"{cluster.work_dir}/{_OWNER}"
    looks = [f"[ ! -f {quote(path)} ] || {script.part('owner', 'cat', path)}", script.part("strays", "gl_strays")]
    results = pool.run_everywhere(script.command(looks)).or_raise()
    reports = {name: script.read_parts(result) for name, result in results.items()}
    busy = sorted(name for name, parts in reports.items() if script.need(parts, "strays", name).data)
    if "owner" in reports[server]:
        _refuse_if_running(_read_owner(reports[server]["owner"].text), own, busy, f"{server}:{path}")


def _read_owner(text: str) -> Owner | None:
    try:
        data = json.loads(text)
        return Owner(str(data["campaign"]), str(data["controller"]), int(data["pid"]), str(data["started"]))
    except (ValueError, KeyError, TypeError):
        return None


def _refuse_if_running(owner: Owner | None, own: Owner | None, busy: list[str], where: str) -> None:
    if owner is None or owner == own:
        return
    who = f"campaign '{owner.campaign}', process {owner.pid} on {owner.controller}"
    if owner.controller == socket.gethostname():
        if owner.is_running:
            raise UsageError(f"the cluster is in use by {who}: wait for it, or end it, then run again")
    elif busy:
        raise UsageError(
            f"the cluster seems to be in use by {who} ({busy[0]} runs processes of it): end it there; if it is gone,"
            f" remove {where} and run again"
        )


def release(pool: Pool, cluster: Cluster) -> None:
    """Give the cluster back; what fails is left to the next `claim`."""
    server = cluster.servers[0].name
    pool.run({server: script.command([join(("rm", "-f", f"{cluster.work_dir}/{_OWNER}"))], deadline_s=10.0)})


def end_processes(pool: Pool, cluster: Cluster, *, spare_sar: bool = False, deadline_s: float = 8.0) -> list[str]:
    """End every process of the suite on all hosts: workload tools, scripts, and sar unless it is spared.

    Returns
    -------
    list of str
        Hosts that could not be cleared.
    """
    line = script.call("gl_kill", "sadc" if spare_sar else "", cluster.mount_root, cluster.work_dir)
    return sorted(pool.run_everywhere(script.command([line], deadline_s=deadline_s)).failed)


def smallfile_dir(cluster: Cluster) -> str:
    """Where the copy of the smallfile checkout lies on the clients."""
    return f"{cluster.work_dir}/smallfile"


def send_smallfile(pool: Pool, cluster: Cluster, checkout: Path) -> None:
    """Copy the controller's smallfile checkout to all clients.

    Raises
    ------
    WorkloadError
        When the checkout is too big to be one.
    HostError
        When a client cannot take it.
    """
    target = smallfile_dir(cluster)
    data = _pack(checkout)
    line = f"rm -rf {quote(target)} && mkdir -p {quote(target)} && tar -xzf - -C {quote(target)}"
    pool.send({client.name: (line, data) for client in cluster.clients}).or_raise()


def _pack(folder: Path) -> bytes:
    """A gzipped tar of a folder's plain files, without version control and caches, as nobody's files."""
    buffer = io.BytesIO()
    total = 0
    with tarfile.open(fileobj=buffer, mode="w:gz", compresslevel=1) as archive:
        for path in sorted(folder.rglob("*")):
            name = path.relative_to(folder)
            if _SKIPPED & set(name.parts) or not path.is_file() or path.is_symlink():
                continue
            total += path.stat().st_size
            if total > _MAX_CHECKOUT_BYTES:
                raise WorkloadError(f"{folder} holds more than 64 MiB: expected a checkout of smallfile")
            info = tarfile.TarInfo(str(PurePosixPath(name)))
            info.size = path.stat().st_size
            info.mode = 0o755 if os.access(path, os.X_OK) else 0o644
            with path.open("rb") as file:
                archive.addfile(info, file)
    return buffer.getvalue()
