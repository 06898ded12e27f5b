"""The lock of a cluster: every host names the run that measures with it, so that two runs do not measure each other.

A run has the cluster when it has all of its hosts. Of runs that start at the same moment the earliest waits for the
others to give back what they took; they give up at once. What a run of this controller left behind is replaced; a run
of another controller is believed to be there until an operator says otherwise.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from glusterlab.errors import GlusterlabError, HostError, LockLostError, UsageError
from glusterlab.hosts import script
from glusterlab.shell import quote

if TYPE_CHECKING:
    from glusterlab.hosts.pool import Command, Pool
    from glusterlab.spec.cluster import Cluster

LOCK_DIR = "/var/lib/glusterlab"  # the same whatever the cluster file says; it outlives a restart of the host
_OWNER = f"{LOCK_DIR}/owner.json"
TIE_S = 10.0  # the earliest of runs that start at the same moment waits so long for the others
_DEADLINE_S = 60.0
_RELEASE_WITHIN_S = 6.0
_GUARD_WITHIN_S = 10.0


@dataclass(frozen=True)
class Owner:
    """The run that has a host: `mark` is carried by its processes on the hosts, `since` is UTC.

    `machine` tells the controller from others of the same name, `started` the process from later ones of its number.
    """

    campaign: str
    controller: str
    machine: str
    pid: int
    started: str
    mark: str
    since: str

    @classmethod
    def this_process(cls, campaign: str, mark: str) -> Owner:
        pid = os.getpid()
        since = datetime.now(UTC).isoformat(timespec="microseconds")
        return cls(campaign, platform.node(), _this_machine(), pid, _start_of(pid), mark, since)

    @classmethod
    def read(cls, text: str) -> Owner | None:
        """The owner that a lock names, or None when that cannot be read."""
        try:
            data = json.loads(text)
            names = ("campaign", "controller", "machine", "started", "mark", "since")
            return cls(pid=int(data["pid"]), **{name: str(data[name]) for name in names})
        except (ValueError, KeyError, TypeError):
            return None

    @property
    def text(self) -> str:
        return json.dumps(asdict(self), sort_keys=True)

    @property
    def is_of_this_machine(self) -> bool:
        return (self.controller, self.machine) == (platform.node(), _this_machine())

    @property
    def has_ended(self) -> bool:
        """Whether it is known to have ended; of another machine's processes that is never known."""
        return self.is_of_this_machine and self.started != _start_of(self.pid)

    def __str__(self) -> str:
        since = self.since[:16].replace("T", " ")
        return f"campaign '{self.campaign}', process {self.pid} on {self.controller}, since {since} UTC"


def process_start(pid: int) -> int | None:
    """When a process of this machine started, in ticks since its boot; None when there is none, or it is unknown."""
    with suppress(OSError, IndexError, ValueError):
        # the name before it may hold blanks and brackets
        return int(Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()[19])
    return None


def _start_of(pid: int) -> str:
    ticks = process_start(pid)
    with suppress(OSError):
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return "" if ticks is None else f"{boot}:{ticks}"
    return ""


@cache
def _this_machine() -> str:
    # a container does not see the processes of another
    facts = [platform.node()]
    for path in ("/etc/machine-id", "/var/lib/dbus/machine-id"):
        with suppress(OSError):
            facts.append(Path(path).read_text().strip())
            break
    with suppress(OSError):
        facts.append(str(Path("/proc/self/ns/pid").readlink()))
    return hashlib.sha256("\n".join(facts).encode()).hexdigest()[:16]


class Claim(NamedTuple):
    """A cluster that is taken, and the hosts on which processes of an earlier run were ended."""

    owner: Owner
    ended: tuple[str, ...]


def claim(pool: Pool, cluster: Cluster, campaign: str, *, take_over: bool = False) -> Claim:
    """Take a cluster for one run: lock every host, mark the work directories, end what an earlier run left running.

    `take_over` also takes hosts from a run of another controller. Raises `UsageError` when another run has a host,
    `HostError` when one cannot be locked, or its work directory is not the suite's; no host is kept then.
    """
    owner = Owner.this_process(campaign, pool.mark)
    try:
        return Claim(owner, _take(pool, cluster, owner, take_over=take_over))
    except BaseException:
        with pool.cleaning(), suppress(GlusterlabError):
            release(pool, owner)
        raise


def _take(pool: Pool, cluster: Cluster, own: Owner, *, take_over: bool) -> tuple[str, ...]:
    ended: list[str] = []
    mark = f"glusterlab work directory, campaign {own.campaign}"
    ours = (cluster.work_dir, mark, *cluster.work_places)
    replaced = dict.fromkeys(pool.hosts, "")
    end = time.monotonic() + TIE_S
    while True:
        lines = {name: script.call("gl_take", LOCK_DIR, own.text, text, *ours) for name, text in replaced.items()}
        commands = {name: _command([line]) for name, line in lines.items()}
        held: dict[str, str] = {}
        for name, result in pool.run(commands).or_raise().items():
            parts = script.read_parts(result)
            lock = script.need(parts, "lock", name)
            if lock.exit_code:
                held[name] = lock.text.strip()
            elif script.need(parts, "ended", name).data:
                ended.append(name)
        if not held:
            return tuple(sorted(ended))
        owners = {name: Owner.read(text) for name, text in held.items()}
        obstacles = {name: owner for name, owner in owners.items() if not _may_replace(owner, take_over=take_over)}
        # who came later may be giving back right now what it took
        mine = (own.since, own.text)
        waits = all(owner is not None and (owner.since, owner.text) > mine for owner in obstacles.values())
        if obstacles and (not waits or time.monotonic() > end):
            raise UsageError(_refusal(obstacles, len(pool.hosts)))
        replaced = {name: "" if name in obstacles else text for name, text in held.items()}
        if obstacles:
            pool.sleep(0.3)


def _may_replace(owner: Owner | None, *, take_over: bool) -> bool:
    if owner is not None and owner.has_ended:
        return True
    return take_over and (owner is None or not owner.is_of_this_machine)


def _refusal(owners: Mapping[str, Owner | None], hosts: int) -> str:
    first = min(owners)
    owner = owners[first]
    which = f"{first} is" if len(owners) == 1 else f"{len(owners)} of {hosts} hosts, {first} first, are"
    if owner is None:
        advice = f"look at {_OWNER} there; if no run is running, 'glusterlab run --take-over' replaces it"
        return f"{which} locked by something that cannot be read: {advice}"
    found = f"{which} in use by {owner}: wait for it, or end it"
    if owner.is_of_this_machine:
        return f"{found}, then run again"
    return f"{found} there; if it is dead for good, 'glusterlab run --take-over' takes its place"


def owned(pool: Pool) -> str:
    """The condition of a script that the host is still this run's; one file is read."""
    return script.call("gl_owned", _OWNER, pool.mark)


def guard(pool: Pool) -> str:
    """The line of a script that ends it, with a report for `refuse_lost`, unless the host is still this run's."""
    return script.call("gl_guard", _OWNER, pool.mark)


def refuse_lost(reports: Mapping[str, Mapping[str, script.Part]]) -> None:
    """Raise `LockLostError` when a script, of whose report these are the parts by host, ended at its `guard`."""
    if lost := sorted(name for name, parts in reports.items() if "lost" in parts):
        what = f"another run has taken over {', '.join(lost)}, or the lock there was removed"
        raise LockLostError(f"{what}: this one ends, and leaves the hosts alone")


def refuse_if_lost(pool: Pool, names: Iterable[str] | None = None) -> None:
    """Raise `LockLostError` when a host is not this run's any more; one that does not answer is passed over."""
    command = script.command([guard(pool)], deadline_s=_GUARD_WITHIN_S)
    reports: dict[str, Mapping[str, script.Part]] = {}
    commands = dict.fromkeys(pool.hosts if names is None else names, command)
    for name, result in pool.run(commands, within_s=_GUARD_WITHIN_S).succeeded.items():
        with suppress(HostError):
            reports[name] = script.read_parts(result)
    refuse_lost(reports)


def owners(pool: Pool) -> dict[str, tuple[Owner | None, bool]]:
    """Who has each locked host: the run, None where that cannot be read, and whether it is known to have ended."""
    results = pool.run_everywhere(_command([f"[ ! -e {quote(_OWNER)} ] || {script.part('owner', 'cat', _OWNER)}"]))
    found: dict[str, tuple[Owner | None, bool]] = {}
    for name, result in results.or_raise().items():
        parts = script.read_parts(result)
        if "owner" in parts:
            owner = Owner.read(parts["owner"].text)
            found[name] = (owner, owner is not None and owner.has_ended)
    return found


def release(pool: Pool, owner: Owner) -> None:
    """Give the cluster back; what fails is left to the next `claim`, and a host that another run has is left alone."""
    command = _command([script.call("gl_unlock", LOCK_DIR, owner.text)], deadline_s=_RELEASE_WITHIN_S)
    pool.run_everywhere(command, within_s=_RELEASE_WITHIN_S)


def leave(pool: Pool, cluster: Cluster, owner: Owner, *, within_s: float) -> Mapping[str, HostError]:
    """End everything of the suite on its own hosts and give them back; returns those that are not known to be clear."""
    lines = [f"{owned(pool)} || exit 0", script.call("gl_leave", LOCK_DIR, owner.text, *cluster.work_places)]
    return pool.run_everywhere(_command(lines, deadline_s=within_s), within_s=within_s).failed


def _command(lines: Iterable[str], deadline_s: float = _DEADLINE_S) -> Command:
    # without a mark: what another run that takes hosts at this moment ends there must not be this
    return script.command(lines, "lock.sh", deadline_s=deadline_s, marked=False)
