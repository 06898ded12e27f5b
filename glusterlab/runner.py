"""The loop over a campaign's samples: what is complete is left alone, what is not is run, and the rest goes on.

A run is one process that holds the campaign's folder and has the cluster to itself. It can be stopped or killed at any
moment; the same command then goes on.
"""

from __future__ import annotations

import time
import traceback
import uuid
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from glusterlab import recovery
from glusterlab.agenda import Agenda
from glusterlab.cleanup import clean_up
from glusterlab.errors import (
    HostError,
    LockLostError,
    RawStoreError,
    StoppedError,
    UsageError,
    in_words,
)
from glusterlab.hosts import facts, gluster, lock, workdir
from glusterlab.hosts.connection import CommandResult, Pool, stop_on_signals
from glusterlab.journal import Journal, Level
from glusterlab.measured import measured, stored_values
from glusterlab.now import NowFile
from glusterlab.progress import Durations, Ending, Progress, RunSummary, Silent, Together, describe_sample, place_of
from glusterlab.raw import RawStore, Sample
from glusterlab.reasons import Reason
from glusterlab.resume import agree_on_environment, agree_on_specifications, take_up
from glusterlab.runlog import RunLog
from glusterlab.sample import SampleRun, Site, Throttle, store_failure
from glusterlab.secrets import loggable
from glusterlab.spec import Campaign, Cell, Cluster, Plan, PlannedSample, build_plan, dump_yaml, estimate
from glusterlab.trouble import Trouble
from glusterlab.workloads import WORKLOADS

if TYPE_CHECKING:
    from glusterlab.hosts.gluster import Volume
    from glusterlab.rawsample import SampleWriter
    from glusterlab.spec import Layout
    from glusterlab.stopping import Decision
    from glusterlab.workloads.base import WorkloadResult


def run(
    campaign: Campaign,
    cluster: Cluster,
    raw_root: Path,
    *,
    retry: bool = False,
    take_over: bool = False,
    rounds: int | None = None,
    progress: Progress | None = None,
    pool: Pool | None = None,
    throttle: Throttle | None = None,
) -> RunSummary:
    """Run a campaign on a cluster, or go on where an earlier run of it stopped.

    Parameters
    ----------
    campaign : Campaign
    cluster : Cluster
    raw_root : pathlib.Path
        The campaign's folder is made in it.
    retry : bool
        Give samples that are not valid, and have had all their attempts, as many again.
    take_over : bool
        Take the hosts also from a run of another controller, which is known to be gone.
    rounds : int, optional
        End after so many rounds that have something left to run; by default none is left.
    progress : Progress, optional
    pool : Pool, optional
        Connections to use instead of SSH as the cluster says.
    throttle : callable, optional
        Instead of the testbed's.

    Returns
    -------
    RunSummary
        Also when samples failed, and when the run was stopped by SIGINT or SIGTERM.

    Raises
    ------
    SpecError
        When a specification was changed in a way that does not fit the samples that are there.
    UsageError
        When nothing can be run, or another run has the cluster.
    HostError
        When a host cannot be reached, at the start or for five minutes later.
    RawStoreError
        When the raw store is locked, damaged, or cannot be written.
    """
    plan = build_plan(campaign, cluster, smallfile=cluster.smallfile_checkout() is not None)
    if not plan.samples:
        why = "; ".join(sorted({reason for _, reason in (*plan.not_runnable, *plan.excluded)})[:3])
        raise UsageError(f"campaign '{campaign.name}' has no cell that can be run here: {why}")
    path = raw_root / campaign.name
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RawStoreError(f"{path}: cannot be made: {error.strerror}", path=path) from error
    connections = pool or Pool.of(cluster, mark=f"{campaign.name}.{uuid.uuid4().hex[:8]}")
    if throttle is None and cluster.testbed is not None:
        throttle = _throttle_of(cluster.testbed.state)
    with RawStore(path).lock(), stop_on_signals(connections):
        shown = Together(progress or Silent(), NowFile(path), RunLog(Journal(path)))
        site = Site(campaign, cluster, connections, shown, throttle)
        return _Run(site, plan, path, retry=retry, take_over=take_over, rounds=rounds).execute()


def _throttle_of(state: Path) -> Throttle:
    from glusterlab.hosts.testbed import throttle

    return lambda model: throttle.apply(state, model)


class _Run:
    """One run of a campaign, with the folder locked."""

    def __init__(self, site: Site, plan: Plan, path: Path, *, retry: bool, take_over: bool, rounds: int | None) -> None:
        self.site = site
        self.plan = plan
        self.path = path
        self.retry = retry
        self.take_over = take_over
        self.most_rounds = rounds
        self.claim: lock.Claim | None = None
        self.agenda = Agenda(plan, site.campaign.attempts)
        self.executed = 0
        self.trouble = Trouble()
        self.volume: Volume | None = None
        self.doubtful = False
        costs = estimate(plan, site.cluster).cells
        self.durations = Durations({cell: cost.seconds for cell, cost in costs.items()})
        self.started = time.monotonic()
        self.store: RawStore | None = None
        self.edits: list[str] = []
        self.journal = Journal(path)

    def execute(self) -> RunSummary:
        """Run what is to be run; leave the hosts clean, and say how it ended, whatever happens."""
        try:
            interrupted = self._execute()
            summary = self._summary(interrupted=interrupted)
        except BaseException as error:
            self.site.progress.end(Ending.of_error(error))
            raise
        self.site.progress.end(Ending.of(summary))
        return summary

    def _execute(self) -> bool:
        """Run what is to be run, and leave the hosts clean. Returns whether the run was asked to stop."""
        interrupted = False
        try:
            if (self.path / "campaign.yaml").exists():
                self.store = self._open_store()
            self._connect()
            self._take_cluster()
            self.store = self._ready_store()
            self._queue_up(self.store)
            self._send_tools()
            self.site.progress.begin(self.agenda.counts, self._eta())
            for reason in self._left_out():
                self._say(f"not runnable here, and left out: {reason}")
            for number in self.agenda.now:
                self._round(self.store, number)
            lock.refuse_if_lost(self.site.pool)
            self._put_away()
        except StoppedError:
            interrupted = True
            self._warn("stopped as asked; the sample that was at work is dropped")
        except LockLostError:
            self.claim = None
            raise
        finally:
            self.site.progress.phase("leaving the hosts clean")
            clean_up(self.site, None if self.claim is None else self.claim.owner, self._warn)
        return interrupted

    def _open_store(self) -> RawStore:
        """What an earlier run left, in order, and agreed with what is to be run now."""
        store = RawStore.open(self.path)
        dropped = store.recover()
        if dropped:
            self._say(f"dropped what an earlier run left of {dropped[0].parent.name}")
        self.edits = agree_on_specifications(store, self.site.campaign, self.site.cluster)
        return store

    def _connect(self) -> None:
        self.site.progress.phase("connecting to all hosts")
        failed = self.site.pool.connect()
        if failed:
            raise HostError(in_words(failed), hosts=sorted(failed))

    def _take_cluster(self) -> None:
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
        environment = facts.environment(site.pool, site.cluster, site.cluster.smallfile_checkout())
        self._record(glusterlab_revision=environment["controller"]["glusterlab_revision"])
        if self.store is not None:
            agree_on_environment(self.store.environment(), environment)
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
        """Count what is there: a repeat is complete when it has a valid sample, or had all its attempts."""
        samples = store.samples()
        cells = {cell.id: cell for cell in self.plan.cells}
        values = stored_values(samples, cells) if self.plan.repeats is not None else {}
        self.agenda = Agenda(self.plan, self.site.campaign.attempts, samples, retry=self.retry, values=values)
        if self.most_rounds is not None:
            self.agenda.choose_rounds(self.most_rounds)
        for sample in samples:
            if sample.status == "valid" and sample.cell_id in cells:
                self.durations.add(cells[sample.cell_id], sum(sample.phases.values()))

    def _send_tools(self) -> None:
        checkout = self.site.cluster.smallfile_checkout()
        if checkout is not None and any(cell.tool == "smallfile" for cell in self.plan.cells):
            self.site.progress.phase("copying smallfile to the clients")
            workdir.send_smallfile(self.site.pool, self.site.cluster, checkout)

    def _round(self, store: RawStore, number: int) -> None:
        """Run a round: each sample once, then those that are not valid again, while they have attempts left.

        A layout that is in trouble sits out the rest of the round, and gets one sample to show itself in the next.
        """
        self.trouble.begin_round()
        while pending := [planned for planned in self.agenda.pending(number) if self._has_its_turn(planned)]:
            for planned in pending:
                if self._has_its_turn(planned):
                    self._sample(store, planned)
        layouts = [cell.layout for cell in self.plan.cells]
        if self.trouble.is_everywhere(self.agenda.pending(), number, layouts):
            raise HostError(
                f"{self.trouble.why}; mend that, then run the same command again: it goes on where it stopped"
            )

    def _has_its_turn(self, planned: PlannedSample) -> bool:
        return self.agenda.is_pending(planned) and self.trouble.has_turn(planned.cell.layout)

    def _sample(self, store: RawStore, planned: PlannedSample) -> None:
        attempt = self.agenda.attempt(planned)
        self.site.progress.sample_begins(planned, attempt)
        place = {"repeat": planned.repeat, "round": planned.round, "order": planned.order, "attempt": attempt}
        began = ready = time.monotonic()
        result: WorkloadResult | None = None
        with store.begin_sample(planned.cell, **place, warmup=planned.warmup) as writer:
            try:
                execution = self._execution(planned.cell, writer)
                ready = time.monotonic()
                sample = execution.execute()
                result = execution.result
            except (StoppedError, RawStoreError, LockLostError):
                raise
            except HostError as error:
                sample = store_failure(self.site, planned.cell, writer, recovery.reasons_of(error))
            except Exception as error:  # noqa: BLE001 - one sample must not end the night, whatever went wrong in it
                self._record(error=str(error), traceback=traceback.format_exc())
                reason = Reason(code="controller-error", message=f"{type(error).__name__}: {error}")
                sample = store_failure(self.site, planned.cell, writer, [reason])
        self.executed += 1
        ended = self.agenda.add(sample, measured(result))
        wall = time.monotonic() - ready
        if sample.status == "valid":
            self.durations.add(planned.cell, wall)
        self.site.progress.sample_ends(sample, planned, self._eta(), result)
        if ended is not None:
            self._say(self._end_of(planned.cell, ended))
        if sample.status != "valid":
            self._warn(self._consequence(planned))
        self._record(sample=sample.sample, wall_s=round(wall, 3), layout_s=round(ready - began, 3))
        self._after(sample, planned.cell.layout)

    def _end_of(self, cell: Cell, ended: Decision) -> str:
        """How a cell came to its end, by the target of the campaign."""
        count = len(self.agenda.values(cell.id))
        how = "has reached its target" if ended == "reached" else "ends at the maximum without reaching its target"
        return f"{cell.slug} {how}, with {count} valid repeats"

    def _consequence(self, planned: PlannedSample) -> str:
        """What becomes of a sample that did not come out valid."""
        what = f"{planned.cell.slug} {place_of(planned.repeat, 1, warmup=planned.warmup)}"
        if self.agenda.is_pending(planned):
            end = "the warm-up" if planned.warmup else f"round {planned.round}"
            return f"{what}: attempt {self.agenda.attempt(planned)} follows at the end of {end}"
        if not self.agenda.is_needed(planned):
            return f"{what}: its cell needs it no longer"
        return f"{what}: no attempt is left; 'glusterlab run --retry' gives it new ones"

    def _execution(self, cell: Cell, writer: SampleWriter) -> SampleRun:
        """What executes a cell: on its volume, which is set up first, or on the hosts themselves."""
        if cell.access == "none":
            from glusterlab.baseline.sample import LocalRun

            lock.refuse_if_lost(self.site.pool)
            return LocalRun(self.site, cell, None, writer)
        return SampleRun(self.site, cell, self._set_up(cell), writer)

    def _set_up(self, cell: Cell) -> Volume:
        """The volume of a cell's layout, started and mounted; looked at again after a sample that was not valid.

        A block of samples on one layout begins with an empty volume, unless its first cell needs files that are there.
        """
        site = self.site
        wanted = gluster.Volume.of(cell.layout, site.cluster)
        if self.volume == wanted and not self.doubtful:
            # all hosts are looked at before the measurement; until then only the driver is changed
            lock.refuse_if_lost(site.pool, [site.cluster.clients[0].name])
            return wanted
        lock.refuse_if_lost(site.pool)
        fresh = self.volume != wanted and not WORKLOADS[cell.tool].needs_files(cell.operation)
        if self.volume != wanted:
            self.volume = None
        site.progress.phase(f"layout {cell.layout.name}")
        site.pool.sink = self._log_command
        try:
            mark = f"campaign {site.campaign.name}"
            if self.doubtful:
                recovery.bring_in_order(site, wanted, mark=mark, note=self._warn, fresh=fresh)
            else:
                gluster.set_up(site.pool, site.cluster, wanted, mark=mark, note=self._say, fresh=fresh)
                recovery.heal(site, wanted, mark=mark, note=self._say)
        finally:
            site.pool.sink = None
        self.volume, self.doubtful = wanted, False
        return wanted

    def _after(self, sample: Sample, layout: Layout) -> None:
        """After a sample that is not valid the hosts are cleared and the layout is looked at again.

        A host that is gone is waited for first. What is left at work on a host would make every later sample invalid.
        """
        left_out = self.trouble.add(sample, layout)
        if sample.status == "valid":
            return
        self.doubtful = True
        if "host-unreachable" in {reason.code for reason in sample.reasons}:
            recovery.wait_for_hosts(self.site.pool, self._warn)
        self.site.progress.phase("ending what the sample left at work")
        recovery.clear_hosts(self.site)
        if left_out:
            self._warn(f"layout {layout.name} is left out for the rest of this round: {self.trouble.why}")

    def _put_away(self) -> None:
        self.site.pool.sink = self._log_command
        if self.site.campaign.origin == "baseline":
            from glusterlab.baseline.sample import remove_files

            self.site.progress.phase("removing the files of the baseline")
            remove_files(self.site.pool, self.site.cluster)
            return
        self.site.progress.phase("unmounting and stopping the volume")
        gluster.stop_all(self.site.pool, self.site.cluster, note=self._say)

    def _left_out(self) -> tuple[str, ...]:
        reasons = Counter(reason for _, reason in self.plan.not_runnable)
        return tuple(f"{number} {'cell' if number == 1 else 'cells'}: {why}" for why, number in sorted(reasons.items()))

    def _eta(self) -> float | None:
        return self.durations.total([planned.cell for planned in self.agenda.likely()])

    def _say(self, message: str, level: Level = "info") -> None:
        self.site.progress.note(message, level)

    def _warn(self, message: str) -> None:
        """Say what a person should know in the morning; what is waited for is what the run does now."""
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
        counts = self.agenda.counts
        problems = [describe_sample(sample, planned) for planned, sample in self.agenda.problems()]
        paused = counts.left > 0 and counts.left == counts.later and not interrupted
        advice = ""
        if interrupted:
            advice = "run the same command again: it goes on where it stopped"
        elif problems:
            advice = "mend the cause, then run the same command with --retry: it runs only what is not valid"
        elif paused:
            advice = "run the same command again for the next rounds"
        return RunSummary(
            campaign=self.site.campaign.name,
            path=self.path,
            total=counts.total,
            valid=counts.valid,
            invalid=counts.invalid,
            failed=counts.failed,
            left=counts.left,
            executed=self.executed,
            seconds=time.monotonic() - self.started,
            interrupted=interrupted,
            paused=paused,
            problems=tuple(problems),
            advice=advice,
            not_runnable=len(self.plan.not_runnable),
            not_runnable_reasons=self._left_out(),
        )
