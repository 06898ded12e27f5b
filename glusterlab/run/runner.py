"""The loop over a campaign's samples; it can be stopped or killed at any moment, and the same command goes on."""

from __future__ import annotations

import time
import traceback
import uuid
from collections import Counter
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from glusterlab.errors import (
    ENDS_A_RUN,
    GlusterlabError,
    HostError,
    LockLostError,
    RawStoreError,
    RefusedError,
    StoppedError,
    UsageError,
)
from glusterlab.hosts import access, facts, gluster, lock
from glusterlab.hosts import files as workdir
from glusterlab.hosts.pool import CommandResult, Pool, stop_on_signals
from glusterlab.reasons import Reason
from glusterlab.run import recovery
from glusterlab.run.measured import measured, stored_values
from glusterlab.run.plan import Plan, PlannedSample, build_plan, estimate, without
from glusterlab.run.progress import Durations, Ending, NowFile, Output, Progress, RunLog, RunSummary
from glusterlab.run.queue import Queue
from glusterlab.run.resume import agree_on_specifications, machine_of, take_up
from glusterlab.run.sample import LocalRun, SampleRun, Site, Throttle, UseHeads, remove_files
from glusterlab.run.state import result_of
from glusterlab.secrets import loggable
from glusterlab.spec import Campaign, Cell, Cluster, dump_yaml
from glusterlab.spec.cluster import SERVED
from glusterlab.store.campaign import RawStore, Sample
from glusterlab.store.digests import damage_sentence
from glusterlab.store.journal import Journal, Level
from glusterlab.tools import volume_tools

if TYPE_CHECKING:
    from glusterlab.hosts.gluster import Volume
    from glusterlab.spec import Layout
    from glusterlab.tools.base import Measurement

LEAVE_WITHIN_S = 5.0
"""A host that does not answer is left to the next run; with the rest a stop takes below 10 s."""

CLOSE_WITHIN_S = 2.0


def run(
    campaign: Campaign,
    cluster: Cluster,
    raw_root: Path,
    *,
    retry: bool = False,
    take_over: bool = False,
    moved: bool = False,
    rounds: int | None = None,
    output: Output | None = None,
    pool: Pool | None = None,
    throttle: Throttle | None = None,
    use_heads: UseHeads | None = None,
    shared_counters: Sequence[str] = (),
) -> RunSummary:
    """Run a campaign on a cluster, or go on where an earlier run of it stopped.

    `retry`: samples that are not valid get as many attempts again. `take_over`: take the hosts from a run of another
    controller that is known to be dead. `moved`: a testbed's campaign goes on on another machine. `shared_counters`:
    what the hosts' counters show of the whole machine.

    The summary comes also when samples failed, and when a signal stopped the run. Raises `SpecError` when a changed
    specification does not fit the samples, `UsageError` when nothing can be run or another run has the cluster,
    `HostError` when a host cannot be reached, `RawStoreError` when the raw store is locked, damaged, or unwritable.
    """
    plan = build_plan(campaign, cluster)
    if not plan.samples:
        why = "; ".join(sorted({reason for _, reason in (*plan.not_runnable, *plan.excluded)})[:3])
        raise UsageError(f"campaign '{campaign.name}' has no cell that can be run here: {why}")
    if cluster.testbed is not None and throttle is None:
        raise UsageError(
            f"{cluster.name} is a testbed: a run needs its throttle, see glusterlab.testbed.throttle.run_options"
        )
    path = raw_root / campaign.name
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RawStoreError(f"{path}: cannot be made: {error.strerror}", path=path) from error
    connections = pool or Pool.of(cluster, mark=f"{campaign.name}.{uuid.uuid4().hex[:8]}")
    with RawStore(path).lock(), stop_on_signals(connections):
        progress = Progress(campaign.name, output or Output(), NowFile(path), RunLog(Journal(path)))
        site = Site(campaign, cluster, connections, progress, throttle, use_heads, tuple(shared_counters))
        return _Run(site, plan, path, retry=retry, take_over=take_over, moved=moved, rounds=rounds).execute()


class _Run:
    def __init__(
        self, site: Site, plan: Plan, path: Path, *, retry: bool, take_over: bool, moved: bool, rounds: int | None
    ) -> None:
        self.site = site
        self.plan = plan
        self.path = path
        self.retry = retry
        self.take_over = take_over
        self.moved = moved
        self.machine = 1
        self.most_rounds = rounds
        self.claim: lock.Claim | None = None
        self.queue = Queue(plan, site.campaign.attempts)
        self.executed = 0
        self.breaker = recovery.Breaker()
        self.volume: Volume | None = None
        self.heads: bool | None = None
        self.doubtful = False
        costs = estimate(plan, site.cluster).cells
        self.durations = Durations({cell: cost.seconds for cell, cost in costs.items()})
        self.started = time.monotonic()
        self.store: RawStore | None = None
        self.edits: list[str] = []
        self.journal = Journal(path)

    def execute(self) -> RunSummary:
        try:
            summary = self._summary(interrupted=self._execute())
        except BaseException as error:
            self.site.progress.end(Ending.of_error(self.site.campaign.name, self.path, error, self._seconds()))
            raise
        self.site.progress.end(Ending.of(summary))
        return summary

    def _execute(self) -> bool:
        interrupted = False
        try:
            self.site.progress.phase("opening the campaign")
            if goes_on := (self.path / "campaign.yaml").exists():
                self.store = RawStore.open(self.path, examined=False)
                if dropped := self.store.recover():
                    self._say(f"dropped what an earlier run left of {dropped[0].parent.name}")
                self.edits = agree_on_specifications(self.store, self.site.campaign, self.site.cluster)
            self._take_cluster()
            self.store = self._ready_store()
            if goes_on:
                self.store.examine(damaged=True)
                if self.store.wrong:
                    damage = damage_sentence(self.path, self.store.wrong)
                    self._warn(f"{damage}; such samples do not count, and are measured again")
            self._queue_up(self.store)
            for name in sorted({cell.tool for cell in self.plan.cells} & {*volume_tools()}):
                if (checkout := volume_tools()[name].checkout(self.site.cluster)) is not None:
                    self.site.progress.phase(f"copying {name} to the clients")
                    workdir.send_checkout(self.site.pool, self.site.cluster, name, checkout)
            self.site.progress.begin(self.queue.counts, self._eta())
            for reason in self._left_out():
                self._say(f"not runnable here, and left out: {reason}")
            for number in self.queue.now:
                self._round(self.store, number)
            lock.refuse_if_lost(self.site.pool)
            self.site.pool.sink = self._log_command
            if self.site.campaign.origin == "baseline":
                self.site.progress.phase("removing the files of the baseline")
                remove_files(self.site.pool, self.site.cluster)
            else:
                self.site.progress.phase("unmounting and stopping the volume")
                access.stop_all(self.site.pool, self.site.cluster, note=self._say)
        except StoppedError:
            interrupted = True
            self._warn("stopped by request; the sample that was running is dropped")
        except LockLostError:
            self.claim = None
            raise
        finally:
            self.site.progress.phase("leaving the hosts clean")
            self._clean_up()
        return interrupted

    def _clean_up(self) -> None:
        pool, site = self.site.pool, self.site
        pool.sink = None
        with pool.cleaning():
            left: Collection[str] = () if self.claim is None else pool.hosts
            try:
                if self.claim is not None:
                    if site.throttle is not None:
                        with suppress(GlusterlabError):
                            site.throttle(None)
                    if any(cell.access in SERVED for cell in self.plan.cells):
                        with suppress(GlusterlabError):
                            workdir.end_processes(pool, site.cluster)
                            access.take_down(pool, site.cluster, deadline_s=LEAVE_WITHIN_S)
                    left = lock.leave(pool, site.cluster, self.claim.owner, within_s=LEAVE_WITHIN_S)
            finally:
                pool.close(within_s=CLOSE_WITHIN_S)
                if left:
                    self._warn(
                        f"not known to be clear: {', '.join(sorted(left))}; what still runs there ends at its deadline,"
                        " or is ended by the next run"
                    )

    def _seconds(self) -> float:
        return time.monotonic() - self.started

    def _take_cluster(self) -> None:
        self.site.progress.phase("connecting to all hosts")
        self.site.pool.connect_or_raise()
        self.site.progress.phase("clearing what an earlier run left")
        name = self.site.campaign.name
        self.claim = lock.claim(self.site.pool, self.site.cluster, name, take_over=self.take_over)
        if self.site.throttle is not None:
            self.site.throttle(None)
        if self.claim.ended:
            self._warn(f"ended processes that an earlier run left on {', '.join(self.claim.ended)}")

    def _ready_store(self) -> RawStore:
        site = self.site
        site.progress.phase("reading the facts of all hosts")
        environment = facts.environment(site.pool, site.cluster, site.shared_counters)
        self.plan = without(self.plan, site.cluster, environment["hosts"])
        if not self.plan.samples:
            raise UsageError(f"the hosts can run no cell of campaign '{site.campaign.name}': {self._left_out()[0]}")
        self._record(glusterlab_revision=environment["controller"]["glusterlab_revision"])
        if self.store is not None:
            self.machine = machine_of(self.store, environment, self.plan.cells, site.cluster, moved=self.moved)
            for sentence in take_up(self.store, site.campaign, site.cluster, self.edits):
                self._say(sentence)
            return self.store
        return RawStore.create(
            self.path,
            campaign_yaml=dump_yaml(site.campaign),
            cluster_yaml=dump_yaml(site.cluster),
            environment=environment,
        )

    def _queue_up(self, store: RawStore) -> None:
        samples = store.samples()
        cells = {cell.id: cell for cell in self.plan.cells}
        values = stored_values(samples, cells)
        self.queue = Queue(self.plan, self.site.campaign.attempts, samples, retry=self.retry, values=values)
        if self.most_rounds is not None:
            self.queue.choose_rounds(self.most_rounds)
        for sample in samples:
            if sample.status == "valid" and sample.cell_id in cells:
                self.durations.add(cells[sample.cell_id], sum(sample.phases.values()))

    def _round(self, store: RawStore, number: int) -> None:
        """Run each sample once, then those that are not valid again; a layout in trouble sits out the rest."""
        self.breaker.left_out.clear()
        while pending := [planned for planned in self.queue.pending(number) if self._has_its_turn(planned)]:
            for planned in filter(self._has_its_turn, pending):
                try:
                    self._sample(store, planned)
                except RefusedError as error:
                    self._leave_out(planned.cell.layout, error)
        if self.breaker.open_everywhere(self.queue.pending(), number, self.plan.cells):
            raise HostError(f"{self.breaker.why}; mend that, then {recovery.RUN_AGAIN}")

    def _leave_out(self, layout: Layout, error: RefusedError) -> None:
        """Go on without the cells of a layout that GlusterFS refuses; the error itself where no cell is left."""
        cells = [cell for cell in self.plan.cells if cell.layout == layout]
        self.queue.drop({cell.id for cell in cells})
        left_out = ((cell, f"layout {layout.name}: {error.message}") for cell in cells)
        self.plan = replace(self.plan, not_runnable=(*self.plan.not_runnable, *left_out))
        if not self.queue.counts.total:
            raise error
        self._warn(f"not runnable here, and left out: {len(cells)} cells of layout {layout.name}: {error.message}")

    def _has_its_turn(self, planned: PlannedSample) -> bool:
        return self.queue.is_pending(planned) and recovery.block_of(planned.cell) not in self.breaker.left_out

    def _sample(self, store: RawStore, planned: PlannedSample) -> None:
        attempt = self.queue.attempt(planned)
        self.site.progress.sample_begins(planned, attempt)
        place = {"repeat": planned.repeat, "round": planned.round, "order": planned.order, "attempt": attempt}
        place["machine"] = self.machine
        began = ready = time.monotonic()
        result: Measurement | None = None
        with store.begin_sample(planned.cell, **place, warmup=planned.warmup) as writer:
            try:
                self._use_heads(planned.cell)
                if planned.cell.access == "none":
                    lock.refuse_if_lost(self.site.pool)
                    execution: SampleRun = LocalRun(self.site, planned.cell, None, writer)
                else:
                    execution = SampleRun(self.site, planned.cell, self._set_up(planned.cell), writer)
                ready = time.monotonic()
                sample = execution.execute()
                result = execution.result
            except (*ENDS_A_RUN, RefusedError):
                raise
            except Exception as error:  # noqa: BLE001 - one sample must not end the night, whatever went wrong in it
                if isinstance(error, HostError):
                    reasons = recovery.reasons_of(error)
                else:
                    self._record(error=str(error), traceback=traceback.format_exc())
                    reasons = [Reason(code="controller-error", message=f"{type(error).__name__}: {error}")]
                sample = SampleRun(self.site, planned.cell, None, writer, reasons=reasons).store_failure()
        self.executed += 1
        value = measured(result) if sample.status == "valid" else None
        ended = self.queue.add(sample, value)
        wall = time.monotonic() - ready
        if sample.status == "valid":
            self.durations.add(planned.cell, wall)
        repeats = self.queue.values(planned.cell.id)
        self.site.progress.sample_ends(sample, planned, self._eta(), value, () if planned.warmup else repeats)
        if ended is not None:
            how = "has reached its target" if ended == "reached" else "ends at the maximum without reaching its target"
            self._say(f"{planned.cell.slug} {how}, with {len(repeats)} valid repeats")
        if sample.status != "valid":
            self._warn(self._consequence(planned))
        self._record(sample=sample.sample, wall_s=round(wall, 3), layout_s=round(ready - began, 3))
        self._after(sample, planned.cell)

    def _use_heads(self, cell: Cell) -> None:
        site = self.site
        if site.use_heads is not None and self.heads != cell.model.heads:
            lock.refuse_if_lost(site.pool)
            site.progress.phase(f"disks {'with' if cell.model.heads else 'without'} heads")
            access.stop_all(site.pool, site.cluster, note=self._say)
            self.volume = self.heads = None
            site.use_heads(cell.model.heads)
            self.heads = cell.model.heads

    def _consequence(self, planned: PlannedSample) -> str:
        what = f"{planned.cell.slug} {'warm-up' if planned.warmup else 'repeat'} {planned.repeat}"
        if self.queue.is_pending(planned):
            end = "the warm-up" if planned.warmup else f"round {planned.round}"
            return f"{what}: attempt {self.queue.attempt(planned)} follows at the end of {end}"
        if not self.queue.is_needed(planned):
            return f"{what}: its cell needs it no longer"
        return f"{what}: no attempt is left; 'glusterlab run --retry' gives it new ones"

    def _set_up(self, cell: Cell) -> Volume:
        """A block of samples on a layout begins empty, if its first cell needs no files, or with a hot tier."""
        site = self.site
        wanted = access.volume_of(cell, site.cluster)
        # servers of NFS and SMB keep what they read themselves, which no dropped cache of a kernel empties
        needs_files = volume_tools()[cell.tool].needs_files(cell.operation)
        # what a tier moved is four to six times slower to read a second time: runbooks/testbed/README.md
        once = cell.event is not None or wanted.settles_s > 0
        if self.volume == wanted and not (self.doubtful or once or (cell.access in SERVED and needs_files)):
            # all hosts are checked before the measurement; until then only the driver is changed
            lock.refuse_if_lost(site.pool, [site.cluster.clients[0].name])
            return wanted
        lock.refuse_if_lost(site.pool)
        # mounted with another model's options it is the same volume, and keeps its files
        other = self.volume is None or self.volume.name != wanted.name
        # gluster counts moved files wrongly where a tier's volume was started again
        fresh = once or (other and (cell.layout.hot is not None or not needs_files))
        if self.volume != wanted:
            self.volume = None
        site.progress.phase(f"layout {cell.layout.name}")
        site.pool.sink = self._log_command
        try:
            mark = f"campaign {site.campaign.name}"
            if self.doubtful:
                recovery.bring_in_order(site, wanted, mark=mark, note=self._warn, fresh=fresh)
            else:
                access.set_up(site.pool, site.cluster, wanted, mark=mark, note=self._say, fresh=fresh)
                recovery.heal(site, wanted, mark=mark, note=self._say)
        finally:
            site.pool.sink = None
        self.volume, self.doubtful = wanted, False
        return wanted

    def _after(self, sample: Sample, cell: Cell) -> None:
        left_out = self.breaker.add(sample, recovery.block_of(cell))
        if sample.status == "valid":
            self._remove_grown(cell)
            return
        self.doubtful = True
        if "host-unreachable" in {reason.code for reason in sample.reasons}:
            recovery.wait_for_hosts(self.site.pool, self._warn)
        self.site.progress.phase("ending what the sample left running")
        recovery.clear_hosts(self.site)
        self._remove_grown(cell)
        if left_out:
            what = f"layout {cell.layout.name}" + (f" by {cell.access}" if cell.access in SERVED else "")
            self._warn(f"{what} is left out for the rest of this round: {self.breaker.why}")

    def _remove_grown(self, cell: Cell) -> None:
        """Delete the volume of an event: its bricks are not those that the next sample begins with."""
        if cell.event is None:
            return
        self.site.progress.phase("deleting the volume")
        try:
            gluster.remove(self.site.pool, self.site.cluster, access.volume_of(cell, self.site.cluster), note=self._say)
        except HostError as error:
            self._warn(f"the volume of {cell.slug} is not deleted yet: {error.message}")
            self.doubtful = True
        self.volume = None

    def _left_out(self) -> tuple[str, ...]:
        reasons = Counter(reason for _, reason in self.plan.not_runnable)
        return tuple(f"{number} {'cell' if number == 1 else 'cells'}: {why}" for why, number in sorted(reasons.items()))

    def _eta(self) -> float | None:
        return self.durations.total([planned.cell for planned in self.queue.likely()])

    def _say(self, message: str, level: Level = "info") -> None:
        self.site.progress.note(message, level)

    def _warn(self, message: str) -> None:
        if message.startswith("waiting"):
            self.site.progress.phase(message)
        self._say(message, "warning")

    def _record(self, **details: object) -> None:
        # what cannot be logged ends no run: the samples' own files are what counts
        with suppress(RawStoreError):
            self.journal.record(**details)

    def _log_command(self, result: CommandResult) -> None:
        self._record(
            host=result.host,
            command=loggable(result.script),
            start=round(result.start, 3),
            end=round(result.end, 3),
            exit_code=result.exit_code,
        )

    def _summary(self, *, interrupted: bool) -> RunSummary:
        counts = self.queue.counts
        problems = [result_of(sample, planned.cell).line for planned, sample in self.queue.problems()]
        paused = counts.left > 0 and counts.left == counts.later and not interrupted
        advice = ""
        if interrupted:
            advice = recovery.RUN_AGAIN
        elif problems:
            advice = "mend the cause, then run the same command with --retry: it runs only what is not valid"
        elif paused:
            advice = "run the same command again for the next rounds"
        return RunSummary(
            campaign=self.site.campaign.name,
            path=self.path,
            **counts.model_dump(include={"total", "valid", "invalid", "failed", "left"}),
            executed=self.executed,
            seconds=self._seconds(),
            interrupted=interrupted,
            paused=paused,
            problems=tuple(problems),
            advice=advice,
            not_runnable=len(self.plan.not_runnable),
            not_runnable_reasons=self._left_out(),
        )
