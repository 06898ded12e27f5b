"""After a failure: hosts answer again, nothing of the suite runs on them, the volume is whole, healed and answers."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import TYPE_CHECKING

from glusterlab.errors import GlusterlabError, HostError, RefusedError, VolumeError, in_words
from glusterlab.hosts import access, gluster, lock, script
from glusterlab.hosts import files as workdir
from glusterlab.hosts import health as probe
from glusterlab.hosts.pool import Command
from glusterlab.reasons import FAILED_CODES, Reason, ReasonCode, code_of

if TYPE_CHECKING:
    from glusterlab.hosts.gluster import Volume
    from glusterlab.hosts.pool import Pool
    from glusterlab.run.plan import PlannedSample
    from glusterlab.run.sample import Site
    from glusterlab.spec import Cell, Layout
    from glusterlab.spec.cell import Access
    from glusterlab.store.campaign import Sample

RECONNECT_WITHIN_S = 300.0

HEALTHY_WITHIN_S = 300.0

SET_UP_WITHIN_S = 60.0
"""Shorter: the cause of a step that fails, such as a start of the volume, seldom goes by itself."""

HEAL_WITHIN_S = 30.0
"""Then the volume is made anew: what a workload was cut off in may never heal."""

EMPTIED_AFTER_S = 12.0
"""Before a full volume is made anew: gluster sees room that was made after seconds."""

_ANSWERS_WITHIN_S = 10.0
_WRITTEN_WITHIN_S = 30.0
_MOST_TRIES = 32
_PAUSE_S = 2.0

MAX_FAILURES_IN_A_ROW = 3
"""So many samples of a layout in a row that the hosts made fail end its turn in the round."""

_HOST_CODES: frozenset[ReasonCode] = FAILED_CODES - {"tool-failed", "tool-timeout"} | {
    "mount-hung",
    "mount-changed",
    "access-lost",
}

RUN_AGAIN = "run the same command again: it goes on where it stopped"

Note = Callable[[str], None]


def wait_for_hosts(pool: Pool, note: Note) -> None:
    """Wait until every host answers a command; a connection that only seems to be open is no answer."""
    began = time.monotonic()
    noted = False
    while failed := pool.connect() or pool.run_everywhere(Command("true", deadline_s=_ANSWERS_WITHIN_S)).failed:
        if time.monotonic() - began > RECONNECT_WITHIN_S:
            raise HostError(f"{in_words(failed)}; when it is back, {RUN_AGAIN}")
        if not noted:
            note(f"waiting for {', '.join(sorted(failed))} to come back")
            noted = True
        pool.sleep(_PAUSE_S)
    if noted:
        note(f"all hosts answer again, after {time.monotonic() - began:.0f} s")


def bring_in_order(site: Site, volume: Volume, *, mark: str, note: Note, fresh: bool = False) -> None:
    """Start and mount a volume, and wait until every check before a sample passes; else `VolumeError` with reasons."""
    began = time.monotonic()
    noted = ""
    emptied = fresh
    while True:
        try:
            access.set_up(site.pool, site.cluster, volume, mark=mark, note=note, fresh=fresh)
            fresh = False
            heal(site, volume, mark=mark, note=note)
            site.progress.phase("looking at the pool")
            reasons, within_s = _look(site, volume), HEALTHY_WITHIN_S
        except RefusedError:
            raise
        except HostError as error:
            reasons = [_set_up_reason(error)]
            within_s = HEALTHY_WITHIN_S if reasons[0].code == "host-unreachable" else SET_UP_WITHIN_S
        waited = time.monotonic() - began
        if not reasons:
            break
        first = str(reasons[0])
        if waited >= within_s:
            raise VolumeError(f"not in order after {waited:.0f} s: {first}", reasons=tuple(reasons))
        if first != noted:
            note(f"waiting until the pool is in order: {first}")
            noted = first
        if not emptied and waited > EMPTIED_AFTER_S and any(reason.code == "disk-full" for reason in reasons):
            note(f"volume {volume.name} is made anew: its own files may be what fills the disk")
            fresh = emptied = True
        site.pool.sleep(_PAUSE_S)
        lock.refuse_if_lost(site.pool)
        clear_hosts(site)
    if noted:
        note(f"the pool is in order again, after {waited:.0f} s")


def heal(site: Site, volume: Volume, *, mark: str, note: Note) -> None:
    """Wait for self-heal, or begin with an empty volume: its files are the suite's own, and can be made again."""
    site.progress.phase("waiting for self-heal")
    left = gluster.wait_for_heal(site.pool, volume, within_s=HEAL_WITHIN_S)
    if left:
        note(f"{left} entries of volume {volume.name} do not heal: it is made anew, and so are files that are needed")
        access.set_up(site.pool, site.cluster, volume, mark=mark, note=note, fresh=True)


def _look(site: Site, volume: Volume) -> list[Reason]:
    found = probe.look(site.pool, site.cluster, volume)
    servers, clients = ([host.name for host in hosts] for hosts in (site.cluster.servers, site.cluster.clients))
    layout = None if volume.access == "existing" else volume.layout
    reasons = probe.health_reasons(found.health, "before", servers, clients, layout)
    reasons += access.access_reasons(found.health, "before", volume.access, servers)
    wrong = [*found.problems, *(reason for reason in reasons if reason.code != "cache-not-dropped")]
    return wrong or _refusals(site, volume)


def _refusals(site: Site, volume: Volume) -> list[Reason]:
    """Why a volume takes no new files, on as many of its subvolumes as some files come to."""
    driver = site.cluster.clients[0].name
    tries = min(2 * volume.layout.subvolumes, _MOST_TRIES)
    line = script.call("gl_takes_files", volume.dataset_root, tries)
    answers = site.pool.run({driver: script.command([line], deadline_s=_WRITTEN_WITHIN_S)})
    return [
        Reason(code=code_of(error), message=f"{volume.name} takes no new file: {error.message}", host=driver)
        for error in answers.failed.values()
    ]


def reasons_of(error: HostError) -> list[Reason]:
    """Why a sample whose layout could not be set up has failed: the pool's state, and what is wrong with it."""
    found = error.reasons if isinstance(error, VolumeError) else ()
    return list(dict.fromkeys([_set_up_reason(error), *found]))


def _set_up_reason(error: HostError) -> Reason:
    code = code_of(error)
    # the host answered, but a step on the pool failed
    return Reason(code="pool-unhealthy" if code == "controller-error" else code, message=error.message, host=error.host)


def clear_hosts(site: Site) -> None:
    """End what a sample left running, where that can be done; the next health check finds the rest."""
    with suppress(GlusterlabError):
        workdir.end_processes(site.pool, site.cluster)


Block = tuple["Layout", "Access"]


def block_of(cell: Cell) -> Block:
    """What fails together: samples on one layout by one access."""
    return cell.layout, cell.access


class Breaker:
    """Which layouts, by which access, sit out the rest of a round; each gets one sample in the next."""

    def __init__(self) -> None:
        self.why = ""
        self.left_out: set[Block] = set()
        self._in_a_row: Counter[Block] = Counter()

    def add(self, sample: Sample, block: Block) -> bool:
        codes = {reason.code for reason in sample.reasons}
        troubled = bool(codes & _HOST_CODES) and "tool-timeout" not in codes
        row = self._in_a_row[block] = self._in_a_row[block] + 1 if troubled else 0
        if row < MAX_FAILURES_IN_A_ROW:
            return False
        self.left_out.add(block)
        self.why = f"{row} samples in a row failed for reasons outside the workload, last {sample.reasons[0]}"
        return True

    def open_everywhere(self, pending: Iterable[PlannedSample], number: int, cells: Iterable[Cell]) -> bool:
        """Whether to go on after round `number` would only fill the night: nothing that is left works."""
        left = list(pending)
        if not left or not self.left_out.issuperset(block_of(planned.cell) for planned in left):
            return False
        return any(planned.round > number for planned in left) or self.left_out.issuperset(map(block_of, cells))
