"""Whether a finished sample counts: a pure judgement of the files in its folder, which `verify` makes again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from glusterlab.errors import ParseError, some
from glusterlab.hosts.access import access_changes, access_reasons
from glusterlab.hosts.health import Moment, health_reasons
from glusterlab.rawfile import MAX_JSON_BYTES, open_raw
from glusterlab.reasons import NO_SPACE, Reason, Status, status_of
from glusterlab.run.event import event_reasons, has_grown, renewed_brick
from glusterlab.store import imported
from glusterlab.store.records import BrickHealth, CommandRecord, Failure, Health, read_record
from glusterlab.telemetry.collect import coverage
from glusterlab.tools import runnable

if TYPE_CHECKING:
    from glusterlab.spec.cell import Cell, Layout
    from glusterlab.tools.base import Measurement


MAX_CLOCK_CHANGE_S = 0.1
"""Or `MAX_CLOCK_CHANGE_SHARE` of the measurement: a client times its part of a result by its clock."""

MAX_CLOCK_CHANGE_SHARE = 0.01

MAX_REPORT_CHANGE_S = 1.0
"""Tools print whole seconds, and may count from before their workers began."""


@dataclass(frozen=True)
class Judgement:
    """Whether a sample counts; `reasons` are empty exactly when `status` is ``valid``."""

    status: Status
    reasons: tuple[Reason, ...]
    result: Measurement | None


def volume_of(cell: Cell) -> Layout | None:
    """The layout whose bricks must be online; None where the suite made no volume."""
    return None if cell.access in ("none", "existing") else cell.layout


def judge(folder: Path, cell: Cell, servers: Sequence[str], clients: Sequence[str]) -> Judgement:
    """Judge a sample by the files of its folder, finished or still ``.partial``; what cannot be read is a reason."""
    reasons: list[Reason] = []
    result: Measurement | None = None
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
        reasons.extend(event_reasons(folder, cell, command))
    healths = []
    moments: tuple[Moment, Moment] = ("before", "after")
    for moment in moments:
        file = folder / "gluster" / moment / "health.json"
        try:
            healths.append(read_record(Health, file))
            # an event may have added bricks
            grown = moment == "after" and cell.event is not None and has_grown(folder)
            layout = cell.layout_after if grown else volume_of(cell)
            reasons += health_reasons(healths[-1], moment, servers, clients, layout, caches=cell.caches)
            reasons += access_reasons(healths[-1], moment, cell.access, servers)
        except ParseError as error:
            # what the runner could not read any more, after it had failed, is not one more thing that went wrong
            if not failure.exists() or file.exists():
                message = f"the pool's health {moment} the workload is not known: {error.message}"
                reasons.append(Reason(code="controller-error", message=message))
    if len(healths) == len(moments):
        seconds = 0.0 if command is None else command.end - command.start
        grown = cell.event is not None and cell.event.to is not None
        reasons += change_reasons(healths[0], healths[1], seconds, grown=grown, renewed=renewed_brick(folder))
    if command is not None and not failure.exists():
        reasons.extend(_telemetry_reasons(folder, (*servers, *clients), command))
    unique = tuple(dict.fromkeys(reasons))
    return Judgement(status_of(unique), unique, result)


def judge_again(folder: Path, cell: Cell, servers: Sequence[str], clients: Sequence[str]) -> Judgement:
    """As `judge`, but a sample that `judge` itself cannot deal with is judged by its failure.json alone."""
    try:
        return judge(folder, cell, servers, clients)
    except Exception:
        if not (failure := folder / "failure.json").exists():
            raise
        reasons = tuple(dict.fromkeys(_recorded_failure(failure)))
        return Judgement(status_of(reasons), reasons, None)


def judge_imported(folder: Path, cell: Cell) -> Judgement:
    """Judge an imported sample by its tool's own output; what cannot be read is a reason."""
    try:
        result = imported.read_sample(folder, cell)
    except ParseError as error:
        reasons = (Reason(code="tool-failed", message=error.message),)
        return Judgement(status_of(reasons), reasons, None)
    return Judgement(status_of(result.problems), result.problems, result)


def _recorded_failure(path: Path) -> list[Reason]:
    try:
        reasons = read_record(Failure, path).reasons
    except ParseError as error:
        return [Reason(code="controller-error", message=f"failure.json: {error.message}")]
    return reasons or [Reason(code="controller-error", message="failure.json names no reason")]


def _workload_reasons(folder: Path, cell: Cell, command: CommandRecord) -> tuple[list[Reason], Measurement | None]:
    full = list(_no_space(folder / "workload", command.host))
    if command.exit_code is None:
        message = f"{cell.tool} was ended at its deadline of {command.deadline_s:g} s"
        return [*full, Reason(code="tool-timeout", message=message, host=command.host)], None
    try:
        result = runnable()[cell.tool].parse(folder / "workload", cell)
    except ParseError as error:
        place = "" if error.file is None else f"{Path(error.file).name}: "
        message = f"exit code {command.exit_code}; {place}{error.message}"
        return [*full, Reason(code="tool-failed", message=message, host=command.host)], None
    reasons = [*full, *result.problems]
    ran, longest = command.end - command.start, max(each.elapsed_s or 0.0 for each in (result.record, *result.workers))
    if longest > (1 + MAX_CLOCK_CHANGE_SHARE) * ran + MAX_REPORT_CHANGE_S:
        message = f"expected a result of at most the {ran:.1f} s of the command, found one of {longest:.1f} s"
        reasons.append(Reason(code="tool-incomplete", message=message))
    if command.exit_code != 0:
        message = f"{cell.tool} ended with exit code {command.exit_code}"
        reasons.insert(0, Reason(code="tool-failed", message=message, host=command.host))
    return reasons, result


def _no_space(folder: Path, host: str) -> Iterator[Reason]:
    """Whether the tool met a full file system; it may report success all the same."""
    for name in ("stdout.txt", "stderr.txt"):
        try:
            with open_raw(folder / name) as file:
                text = file.read(MAX_JSON_BYTES).decode("utf-8", errors="replace")
        except OSError:
            continue
        found = next((line.strip() for line in text.splitlines() if NO_SPACE in line.lower()), None)
        if found is not None:
            yield Reason(code="disk-full", message=f"the tool said in {name}: {found[:200]}", host=host)
            return


def _telemetry_reasons(folder: Path, hosts: Sequence[str], command: CommandRecord) -> list[Reason]:
    def reason(host: str) -> Reason | None:
        path = folder / "telemetry" / f"{host}.csv.xz"
        if not path.exists():
            return Reason(code="telemetry-missing", message=f"no {path.name}", host=host)
        try:
            gap = coverage(path).gap(command.start, command.end, by=command.gaps)
        except ParseError as error:
            return Reason(code="telemetry-missing", message=f"{path.name}: {error.message}", host=host)
        return None if gap is None else Reason(code="telemetry-short", message=gap, host=host)

    return [found for host in hosts if (found := reason(host)) is not None]


def change_reasons(
    before: Health, after: Health, measured_s: float, *, grown: bool = False, renewed: tuple[str, str] | None = None
) -> list[Reason]:
    """What is wrong with the time between two health readings; what an old sample did not keep is not judged.

    `grown`: bricks were added in that time, for which clients connect anew. `renewed`: server and path of a brick that
    an event made begin anew. For both daemons of features begin anew.
    """
    pids = {(brick.host, brick.path): brick.pid for brick in before.bricks}
    restarted = [
        brick
        for brick in after.bricks
        if brick.pid != (pid := pids.get((brick.host, brick.path))) and brick.pid and pid
    ]
    return [
        *(
            Reason(code="brick-offline", message=f"{brick.path} was restarted during the workload", host=brick.host)
            for brick in restarted
            if (brick.host, brick.path) != renewed
        ),
        *_restarted_tiers(before, after),
        *(() if grown or renewed else _restarted_features(before, after)),
        *_lost_links(before, after),
        *(() if grown else _lost_connections(before, after, restarted)),
        *access_changes(before, after),
        *_moved_clocks(before, after, max(MAX_CLOCK_CHANGE_S, MAX_CLOCK_CHANGE_SHARE * measured_s)),
    ]


def _restarted_tiers(before: Health, after: Health) -> Iterator[Reason]:
    for host, daemon in after.tier.items():
        known = before.tier.get(host)
        if known is not None and (daemon.promoted < known.promoted or daemon.demoted < known.demoted):
            message = "the tier daemon was restarted during the workload: it counts files anew"
            yield Reason(code="tier-stopped", message=message, host=host)


def _restarted_features(before: Health, after: Health) -> Iterator[Reason]:
    for feature, daemons in sorted(after.features.items()):
        for host, pids in sorted(daemons.items()):
            known = before.features.get(feature, {}).get(host, pids)
            if pids != known and len(pids) == len(known):
                message = f"a daemon of {feature} was restarted during the workload"
                yield Reason(code="feature-off", message=message, host=host)


def _lost_links(before: Health, after: Health) -> Iterator[Reason]:
    for host, changes in sorted(after.link_changes.items()):
        if host in before.link_changes and changes != before.link_changes[host]:
            # a host that started again counts anew
            found = f"from {before.link_changes[host]} to {changes}"
            message = f"the link went down during the workload: its carrier's changes went {found}"
            yield Reason(code="link-lost", message=message, host=host)


def _lost_connections(before: Health, after: Health, restarted: Sequence[BrickHealth]) -> Iterator[Reason]:
    """Clients that lost a brick which was running all the time: the network between them was not."""
    well = {
        (brick.host, brick.port): brick.path
        for brick in after.bricks
        if brick.online and brick.port is not None and brick not in restarted
    }
    for client, earlier in sorted(before.connections.items()):
        if client not in after.connections or after.mounts.get(client, "ok") != "ok":
            continue
        kept = {connection.socket for connection in after.connections[client]}
        lost = [connection for connection in earlier if connection.socket not in kept]
        # where a brick's server is not known, all that it can be
        bricks = sorted(
            f"{host}:{path}"
            for (host, port), path in well.items()
            if any(each.port == port and each.host in (None, host) for each in lost)
        )
        if bricks:
            message = f"the connection to {some(bricks)} was lost during the workload"
            yield Reason(code="link-lost", message=message, host=client)


def _moved_clocks(before: Health, after: Health, allowed_s: float) -> Iterator[Reason]:
    """Hosts whose clock was set, or slewed, by more than a result can bear; only what the readings prove."""
    for host in sorted(before.clock_offset_s.keys() & after.clock_offset_s.keys()):
        (low, high), (later_low, later_high) = (_bounds(health, host) for health in (before, after))
        change = max(later_low - high, low - later_high)
        if change > allowed_s:
            message = (
                f"the clock moved by {change:.2f} s or more during the workload: expected {allowed_s:.2f} s at most"
            )
            yield Reason(code="clock-skew", message=message, host=host)


def _bounds(health: Health, host: str) -> tuple[float, float]:
    offset = health.clock_offset_s[host]
    return health.clock_bounds_s.get(host, (offset, offset))
