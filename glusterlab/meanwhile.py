"""What two looks at the pool show of the time between them: what was away, and came back before anyone looked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from glusterlab.evidence import BrickConnection, BrickHealth, Health
from glusterlab.reasons import Reason

MAX_CLOCK_CHANGE_S = 0.1
"""A host's clock may move by so many seconds against the controller's: a client times its part of a result by it."""

MAX_CLOCK_CHANGE_SHARE = 0.01
"""Or by such a share of the measurement."""


def change_reasons(before: Health, after: Health, measured_s: float) -> list[Reason]:
    """What is wrong with the time between two looks at the pool.

    Parameters
    ----------
    before, after : Health
    measured_s : float
        Seconds that the measured command took; 0 where that is not known.

    Returns
    -------
    list of Reason
        Empty when nothing is seen. Of a connection that was silent for a while, and did not end, nothing is seen; nor
        of anything that an old sample did not keep.
    """
    return [
        *_restarted_bricks(before, after),
        *_lost_links(before, after),
        *_lost_connections(before, after),
        *_moved_clocks(before, after, max(MAX_CLOCK_CHANGE_S, MAX_CLOCK_CHANGE_SHARE * measured_s)),
    ]


def _restarted_bricks(before: Health, after: Health) -> Iterator[Reason]:
    pids = {(brick.host, brick.path): brick.pid for brick in before.bricks}
    for brick in after.bricks:
        if _restarted(brick, pids.get((brick.host, brick.path))):
            message = f"{brick.path} was restarted during the workload"
            yield Reason(code="brick-offline", message=message, host=brick.host)


def _restarted(brick: BrickHealth, pid: int | None) -> bool:
    return None not in (brick.pid, pid) and brick.pid != pid


def _lost_links(before: Health, after: Health) -> Iterator[Reason]:
    for host, changes in sorted(after.link_changes.items()):
        if host in before.link_changes and changes != before.link_changes[host]:
            # a host that started again counts anew
            found = f"from {before.link_changes[host]} to {changes}"
            message = f"the link went down during the workload: its carrier's changes went {found}"
            yield Reason(code="link-lost", message=message, host=host)


def _lost_connections(before: Health, after: Health) -> Iterator[Reason]:
    """Clients that lost a brick which was at work all the time: the network between them was not.

    A connection that was made again counts as lost, too: the client went without that brick for a while. Bricks that
    stopped, and clients whose mount is not well, have reasons of their own.
    """
    pids = {(brick.host, brick.path): brick.pid for brick in before.bricks}
    well = {
        (brick.host, brick.port): brick.path
        for brick in after.bricks
        if brick.online and brick.port is not None and not _restarted(brick, pids.get((brick.host, brick.path)))
    }
    for client, earlier in sorted(before.connections.items()):
        if client not in after.connections or after.mounts.get(client, "ok") != "ok":
            continue
        kept = {connection.socket for connection in after.connections[client]}
        lost = [connection for connection in earlier if connection.socket not in kept]
        bricks = sorted({name for each in lost for name in _bricks_of(each, well)})
        if bricks:
            more = f" and {len(bricks) - 3} more" if len(bricks) > 3 else ""
            message = f"the connection to {', '.join(bricks[:3])}{more} was lost during the workload"
            yield Reason(code="link-lost", message=message, host=client)


def _bricks_of(connection: BrickConnection, bricks: Mapping[tuple[str, int], str]) -> Iterator[str]:
    """The brick of a connection; where its server is not known, all that it can be."""
    for (host, port), path in bricks.items():
        if port == connection.port and connection.host in (None, host):
            yield f"{host}:{path}"


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
