"""Whether a finished sample counts: a pure judgement of what lies in its folder.

The runner calls `judge` before it writes sample.json, and `verify` calls it again on the stored files, so a
judgement can always be recomputed. Evidence is read from these files, whose records are
in `glusterlab.evidence`, and from nothing else:

``workload/``
    command.json (a `CommandRecord`), stdout.txt, stderr.txt and the tool's own files.
``telemetry/<host>.csv.xz``
    One per host, as the host's own sadf wrote it.
``gluster/before/health.json``, ``gluster/after/health.json``
    A `Health` each; the raw XML lies beside it for people.
``failure.json``
    Only where the runner itself failed: a `Failure` (host unreachable, disk full, an error of the controller, ...).

The rules are those of design.md, "Rules of measurement".
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from glusterlab.errors import ParseError
from glusterlab.evidence import MAX_JSON_BYTES, CommandRecord, Failure, Health, read_record
from glusterlab.meanwhile import change_reasons
from glusterlab.reasons import NO_SPACE, Reason, Status, status_of

if TYPE_CHECKING:
    from glusterlab.spec.cell import Cell
    from glusterlab.workloads.base import WorkloadResult

MAX_CLOCK_OFFSET_S = 1.0
"""Clocks of the hosts may differ from the controller's by so many seconds."""

MIN_FREE_BYTES = 1 << 20
"""A file system with less room is full: sar could not write its records any more."""

MIN_FREE_SHARE = 0.01
"""A brick with a smaller share of its room free is full: Gluster refuses writes then (storage.reserve)."""

Moment = Literal["before", "after"]


@dataclass(frozen=True)
class Judgement:
    """What `judge` found.

    Attributes
    ----------
    status : Status
    reasons : tuple of Reason
        Empty exactly when `status` is ``valid``.
    result : WorkloadResult or None
        The parsed output, where there is any.
    """

    status: Status
    reasons: tuple[Reason, ...]
    result: WorkloadResult | None


def bricks_of(cell: Cell) -> int | None:
    """How many bricks must be online; None for a cell of a baseline, which is measured without a volume."""
    return None if cell.access == "none" else cell.layout.bricks


def health_reasons(
    health: Health, moment: Moment, servers: Sequence[str], clients: Sequence[str], bricks: int | None
) -> list[Reason]:
    """What is wrong with the pool at one moment.

    Parameters
    ----------
    health : Health
    moment : {"before", "after"}
        Caches are looked at before only.
    servers, clients : sequence of str
        Names of the hosts that take part.
    bricks : int or None
        How many bricks the layout has; None for a baseline, which needs no pool: `bricks_of`.

    Returns
    -------
    list of Reason
        Empty when all conditions of design.md's rule 1 hold.
    """
    reasons: list[Reason] = []
    add = reasons.append
    for server in () if bricks is None else servers:
        if not health.peers.get(server, False):
            known = "disconnected" if server in health.peers else "no peer of the pool"
            add(Reason(code="peer-disconnected", message=f"{known} {moment} the workload", host=server))
    for brick in health.bricks:
        if not brick.online:
            add(Reason(code="brick-offline", message=f"{brick.path} is offline {moment} the workload", host=brick.host))
    if bricks is not None and len(health.bricks) != bricks:
        message = f"expected {bricks} bricks {moment} the workload, found {len(health.bricks)}"
        add(Reason(code="brick-offline", message=message))
    if health.heal_pending:
        add(Reason(code="heal-pending", message=f"{health.heal_pending} entries to heal {moment} the workload"))
    if health.rebalance:
        add(Reason(code="rebalance-running", message=f"a rebalance runs {moment} the workload"))
    reasons.extend(_clock_reasons(health, moment, (*servers, *clients)))
    for host, commands in sorted(health.stray.items()):
        if commands:
            message = f"{len(commands)} leftover processes {moment} the workload, such as {commands[0][:120]!r}"
            add(Reason(code="stray-process", message=message, host=host))
    reasons.extend(_mount_reasons(health, moment))
    reasons.extend(_space_reasons(health, moment))
    if moment == "before":
        reasons.extend(_cache_reasons(health, (*servers, *clients)))
    return reasons


def _mount_reasons(health: Health, moment: Moment) -> Iterator[Reason]:
    for host, state in sorted(health.mounts.items()):
        if state == "hung":
            message = f"the mounted volume does not answer {moment} the workload"
            yield Reason(code="mount-hung", message=message, host=host)
        elif state != "ok":
            found = "is not mounted" if state == "none" else "is mounted, but its client has ended,"
            yield Reason(code="pool-unhealthy", message=f"the volume {found} {moment} the workload", host=host)


def _space_reasons(health: Health, moment: Moment) -> Iterator[Reason]:
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
                message = (
                    f"{path} is full {moment} the workload: expected {least:.0f} bytes free, found {space.free_bytes}"
                )
                yield Reason(code="disk-full", message=message, host=host)


def _clock_reasons(health: Health, moment: Moment, hosts: Sequence[str]) -> list[Reason]:
    reasons = []
    for host in hosts:
        offset = health.clock_offset_s.get(host)
        if offset is None:
            message = f"the clock was not compared {moment} the workload"
        elif abs(offset) > MAX_CLOCK_OFFSET_S:
            message = f"the clock is {offset:+.2f} s off the controller's {moment} the workload"
        else:
            continue
        reasons.append(Reason(code="clock-skew", message=message, host=host))
    return reasons


def _cache_reasons(health: Health, hosts: Sequence[str]) -> list[Reason]:
    reasons = []
    for host in hosts:
        drop = health.drop_caches.get(host)
        # writing 3 raises drop_pagecache and drop_slab by one each
        if drop is None or drop.after - drop.before < 2:
            found = "not read" if drop is None else f"{drop.before} before, {drop.after} after"
            message = f"expected drop_pagecache + drop_slab of /proc/vmstat to rise by 2, found {found}"
            reasons.append(Reason(code="cache-not-dropped", message=message, host=host))
    return reasons


def judge(folder: Path, cell: Cell, servers: Sequence[str], clients: Sequence[str]) -> Judgement:
    """Judge a sample by the files in its folder.

    Parameters
    ----------
    folder : pathlib.Path
        The sample's folder, finished or still ``.partial``; sample.json is not read.
    cell : Cell
    servers, clients : sequence of str
        Names of the hosts whose state and telemetry must be there.

    Returns
    -------
    Judgement
        Never raises for what is in the folder: what cannot be read is a reason.
    """
    reasons: list[Reason] = []
    result: WorkloadResult | None = None
    command: CommandRecord | None = None
    failure = folder / "failure.json"
    if failure.exists():
        reasons.extend(_recorded_failure(failure))
    try:
        command = read_record(CommandRecord, folder / "workload" / "command.json")
    except ParseError as error:
        if not reasons:
            reasons.append(Reason(code="tool-failed", message=f"no record of the command: {error.message}"))
    if command is not None:
        found, result = _workload_reasons(folder, cell, command)
        reasons.extend(found)
    moments: tuple[Moment, Moment] = ("before", "after")
    for moment in moments:
        # what the runner could not read any more, after it had failed, is not one more thing that went wrong
        if not failure.exists() or (folder / "gluster" / moment / "health.json").exists():
            reasons.extend(_moment_reasons(folder, moment, servers, clients, bricks_of(cell)))
    reasons.extend(_meanwhile_reasons(folder, command))
    if command is not None and not failure.exists():
        reasons.extend(_telemetry_reasons(folder, (*servers, *clients), command))
    unique = tuple(dict.fromkeys(reasons))
    return Judgement(status_of(unique), unique, result)


def judge_again(folder: Path, cell: Cell, servers: Sequence[str], clients: Sequence[str]) -> Judgement:
    """As `judge`, for a sample that is stored: one that `judge` could not deal with then is judged as it was then."""
    try:
        return judge(folder, cell, servers, clients)
    except Exception:
        if not (folder / "failure.json").exists():
            raise
        return judge_failure(folder)


def judge_failure(folder: Path) -> Judgement:
    """Judge a sample that failed by its failure.json alone: for one that `judge` itself cannot deal with.

    Parameters
    ----------
    folder : pathlib.Path
        The sample's folder.
    """
    reasons = tuple(dict.fromkeys(_recorded_failure(folder / "failure.json")))
    return Judgement(status_of(reasons), reasons, None)


def _recorded_failure(path: Path) -> list[Reason]:
    try:
        reasons = read_record(Failure, path).reasons
    except ParseError as error:
        return [Reason(code="controller-error", message=f"failure.json: {error.message}")]
    return reasons or [Reason(code="controller-error", message="failure.json names no reason")]


def _workload_reasons(folder: Path, cell: Cell, command: CommandRecord) -> tuple[list[Reason], WorkloadResult | None]:
    from glusterlab.workloads import TOOLS

    full = list(_no_space(folder / "workload", command.host))
    if command.exit_code is None:
        message = f"{cell.tool} was ended at its deadline of {command.deadline_s:g} s"
        return [*full, Reason(code="tool-timeout", message=message, host=command.host)], None
    try:
        result = TOOLS[cell.tool].parse(folder / "workload", cell)
    except ParseError as error:
        place = "" if error.file is None else f"{Path(error.file).name}: "
        message = f"exit code {command.exit_code}; {place}{error.message}"
        return [*full, Reason(code="tool-failed", message=message, host=command.host)], None
    reasons = [*full, *result.problems]
    if command.exit_code != 0:
        message = f"{cell.tool} ended with exit code {command.exit_code}"
        reasons.insert(0, Reason(code="tool-failed", message=message, host=command.host))
    return reasons, result


def _no_space(folder: Path, host: str) -> Iterator[Reason]:
    """Whether the tool met a full file system; it may report success all the same."""
    for name in ("stdout.txt", "stderr.txt"):
        try:
            with (folder / name).open(encoding="utf-8", errors="replace") as file:
                text = file.read(MAX_JSON_BYTES)
        except OSError:
            continue
        found = next((line.strip() for line in text.splitlines() if NO_SPACE in line.lower()), None)
        if found is not None:
            yield Reason(code="disk-full", message=f"the tool said in {name}: {found[:200]}", host=host)
            return


def _moment_reasons(
    folder: Path, moment: Moment, servers: Sequence[str], clients: Sequence[str], bricks: int | None
) -> list[Reason]:
    try:
        health = read_record(Health, folder / "gluster" / moment / "health.json")
    except ParseError as error:
        message = f"the pool's health {moment} the workload is not known: {error.message}"
        return [Reason(code="controller-error", message=message)]
    return health_reasons(health, moment, servers, clients, bricks)


def _meanwhile_reasons(folder: Path, command: CommandRecord | None) -> list[Reason]:
    try:
        before, after = (
            read_record(Health, folder / "gluster" / moment / "health.json") for moment in ("before", "after")
        )
    except ParseError:
        return []  # said where the pool's health is looked at
    return change_reasons(before, after, 0.0 if command is None else command.end - command.start)


def _telemetry_reasons(folder: Path, hosts: Sequence[str], command: CommandRecord) -> list[Reason]:
    # in threads, because unpacking, most of it, does not hold up the others
    with ThreadPoolExecutor(max_workers=4) as pool:
        found = pool.map(lambda host: _telemetry_reason(folder, host, command), hosts)
        return [reason for reason in found if reason is not None]


def _telemetry_reason(folder: Path, host: str, command: CommandRecord) -> Reason | None:
    from glusterlab.telemetry.sar import coverage

    path = folder / "telemetry" / f"{host}.csv.xz"
    if not path.exists():
        return Reason(code="telemetry-missing", message=f"no {path.name}", host=host)
    try:
        gap = coverage(path).gap(command.start, command.end)
    except ParseError as error:
        return Reason(code="telemetry-missing", message=f"{path.name}: {error.message}", host=host)
    return None if gap is None else Reason(code="telemetry-short", message=gap, host=host)
