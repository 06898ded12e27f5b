"""One sample: prepared, measured, collected, judged and stored, every phase timed.

What goes wrong on a host becomes a reason; only a stop of the run and an unwritable raw store leave as errors.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from glusterlab.errors import ENDS_A_RUN, CommandError, GlusterlabError, HostError, ParseError
from glusterlab.hosts import files as workdir
from glusterlab.hosts import gluster, lock, script
from glusterlab.hosts import health as probe
from glusterlab.hosts.access import access_reasons
from glusterlab.hosts.health import Moment, health_reasons
from glusterlab.hosts.pool import Command, CommandResult, Results
from glusterlab.hosts.transport import ssh_options
from glusterlab.reasons import Reason, code_of
from glusterlab.run.event import EventRun, has_grown
from glusterlab.run.validity import Judgement, judge, judge_again, volume_of
from glusterlab.secrets import loggable, redact_words
from glusterlab.shell import HostCommand, join, quote
from glusterlab.store.campaign import Window
from glusterlab.store.files import dump_json
from glusterlab.store.records import CommandRecord, Failure
from glusterlab.telemetry import collect as sar
from glusterlab.tools import host_tools, runnable, volume_tools
from glusterlab.tools.base import COMMANDS, Job, LocalJob, LocalStep, Measurement, VolumeTool
from glusterlab.tools.iozone.command import FOLDER

if TYPE_CHECKING:
    from glusterlab.hosts.gluster import Volume
    from glusterlab.hosts.pool import Pool
    from glusterlab.run.progress import Progress
    from glusterlab.spec.campaign import Campaign
    from glusterlab.spec.cell import Cell
    from glusterlab.spec.cluster import Cluster
    from glusterlab.store.campaign import Sample, SampleWriter
    from glusterlab.store.records import Mounted

_PROBE_DEADLINE_S = 300.0
_REMOVE_DEADLINE_S = 300.0
_TELEMETRY_MARGIN_S = 120.0
_MOVED_WITHIN_S = 300.0
_ROOM = 3

Throttle = Callable[[str | None], Mapping[str, Any]]
"""Puts a testbed under a scale model, or lifts it with None; returns what is in effect."""

UseHeads = Callable[[bool], None]
"""Puts a testbed's disks behind their heads, or takes them out, while no brick is in use."""


@dataclass(frozen=True)
class Site:
    """What all samples of a run share; `throttle` is None on real hardware, `use_heads` where disks have none."""

    campaign: Campaign
    cluster: Cluster
    pool: Pool
    progress: Progress
    throttle: Throttle | None = None
    use_heads: UseHeads | None = None
    shared_counters: tuple[str, ...] = ()
    existing: dict[str, Mounted] = field(default_factory=dict)
    """What the operator had mounted on each client at a run's first sample."""


@dataclass
class SampleRun:
    """One execution of one cell on a volume that is mounted; `result`: the tool's parsed output.

    `probed`: it took several commands, whose outputs are collected.
    """

    site: Site
    cell: Cell
    volume: Volume | None
    writer: SampleWriter
    phases: dict[str, float] = field(default_factory=dict)
    reasons: list[Reason] = field(default_factory=list)
    record: CommandRecord | None = None
    result: Measurement | None = None
    probed: bool = False

    def execute(self) -> Sample:
        self.site.pool.sink = self._log
        try:
            if self._attempt("prepare", self._prepare) and self._attempt("before", self._before):
                try:
                    if self._attempt("throttle", lambda: self._throttle(self.cell.model.name)):
                        self._attempt("workload", self._measure_beside_event)
                finally:
                    self._attempt("lift", lambda: self._throttle(None))
            self._attempt("after", self._after)
        finally:
            self.site.pool.sink = None
        return self._store()

    def _attempt(self, phase: str, action: Callable[[], None]) -> bool:
        """Time a phase; returns whether nothing has gone wrong so far."""
        try:
            with self._phase(phase):
                action()
        except ENDS_A_RUN:
            raise
        except HostError as error:
            self.reasons.append(Reason(code=code_of(error), message=f"{phase}: {error.message}", host=error.host))
        except GlusterlabError as error:
            self.reasons.append(Reason(code="controller-error", message=f"{phase}: {error}"))
        return not self.reasons

    @contextmanager
    def _phase(self, name: str) -> Iterator[None]:
        self.site.progress.phase(name)
        start = time.monotonic()
        try:
            yield
        finally:
            self.phases[name] = self.phases.get(name, 0.0) + time.monotonic() - start

    @property
    def _workload(self) -> VolumeTool:
        return volume_tools()[self.cell.tool]

    def _job(self, cell: Cell) -> Job:
        assert self.volume is not None, "a workload needs a volume"
        cluster = self.site.cluster
        return Job(
            cell=cell,
            clients=cluster.clients[: cell.clients],
            mount_point=self.volume.mount_point,
            # a directory for each round: files are placed by path, and one placement tells nothing of the spread
            dataset_dir=f"{self.volume.dataset_root}/{self._workload.dataset(self.cell)}-r{self.writer.round}",
            work_dir=cluster.work_dir,
            driver=cluster.clients[0],
            deadline_s=self.site.campaign.deadline,
            shared_dir=None if cluster.shared_dir is None else f"{cluster.shared_dir}/glusterlab",
            ssh_options=ssh_options(cluster.ssh, cluster.ssh.connect_timeout),
            further_mounts=self.volume.mount_points[1:],
            volume=self.volume.name,
            server=next((server.address for server in cluster.servers), ""),
        )

    def _outputs(self) -> Mapping[str, Sequence[str]]:
        job = self._job(self.cell)
        return {job.driver.name: self._workload.outputs(job)}

    @property
    def _sar_file(self) -> str:
        return f"{self.site.cluster.work_dir}/telemetry/sar"

    def _prepare(self) -> None:
        self._have_files()
        volume, tool = self.volume, runnable()[self.cell.tool]
        if volume is not None and volume.settles_s and tool.needs_files(self.cell.operation):
            self.site.progress.phase("prepare: files move between the tiers")
            gluster.wait_for_files(self.site.pool, volume, within_s=_MOVED_WITHIN_S)
        if self.cell.caches == "hot":
            self.site.progress.phase("prepare: a first pass fills the caches")
            self._run_steps([self._workload.command(self._job(self.cell))])
            self._make_ready(self.cell)

    def _have_files(self) -> None:
        try:
            self._make_ready(self.cell)
        except CommandError as missing:
            # an earlier run made the files that the operation needs: they are written again, untimed
            tool = runnable()[self.cell.tool]
            if not tool.needs_files(self.cell.operation):
                raise
            if (maker := tool.maker_of(self.cell.operation)) is None:
                message = f"{tool.name} makes no files: another tool has to, before it ({missing.message})"
                raise CommandError(message, host=missing.host) from missing
            self.site.progress.phase(f"prepare: {maker} the files again")
            cell = self.cell.model_copy(update={"operation": maker, "runtime_s": None})
            try:
                self._make_files(cell)
                self._make_ready(self.cell)
            except CommandError as error:
                message = f"the files that it needs cannot be made: {error.message} (before that: {missing.message})"
                raise CommandError(message, host=error.host) from error

    def _make_ready(self, cell: Cell) -> None:
        self._run_steps(self._preparation(cell))

    def _make_files(self, cell: Cell) -> None:
        self._run_steps([*self._preparation(cell), self._workload.command(self._job(cell))])

    def _preparation(self, cell: Cell) -> list[HostCommand]:
        job = self._job(cell)
        work_dir, _, name = job.tool_dir.rpartition("/")
        lines = ["set -e", script.call("gl_remove", work_dir, name), join(("mkdir", "-p", job.tool_dir))]
        if job.shared_dir is not None:
            lines.append(script.call("gl_mark_dir", job.shared_dir, "glusterlab: where clients wait for each other"))
        for path, text in self._workload.uploads(job).items():
            lines += [join(("mkdir", "-p", path.rpartition("/")[0])), f"printf %s {quote(text)} >{quote(path)}"]
        needed = _ROOM * self.cell.bytes_written // 1024
        lines.append(script.call("gl_make_room", *job.dataset_dir.rsplit("/", 1), needed))
        first = HostCommand(job.driver.name, script="\n".join(lines), deadline_s=job.deadline_s)
        return [first, *self._workload.prepare(job)]

    def _run_steps(self, steps: list[HostCommand]) -> None:
        """Run commands in order, those in a row on one host in one round trip."""
        merged: list[HostCommand] = []
        for step in steps:
            # the exit code is read on a line of its own: on the left of || the shell would ignore a set -e
            text = step.script if step.script and not step.env else step.shell
            text = f"( {text}\n)\ncode=$?; [ $code -eq 0 ] || exit $code"
            if merged and merged[-1].host == step.host:
                last = merged[-1]
                text = f"{last.script}\n{text}"
                merged[-1] = replace(last, script=text, deadline_s=last.deadline_s + step.deadline_s)
            else:
                merged.append(replace(step, argv=(), script=text, env={}))
        for step in merged:
            command = Command(step.script, deadline_s=step.deadline_s, library=script.library())
            self.site.pool.run_on(step.host, command)

    def _before(self) -> None:
        cluster, caches = self.site.cluster, self.cell.caches
        commands = runnable()[self.cell.tool].most_probes(self.cell) + (self.cell.event is not None)
        seconds = commands * self.site.campaign.deadline + _TELEMETRY_MARGIN_S
        interval = int(cluster.telemetry.interval)
        count = math.ceil(seconds / interval)
        guard = lock.guard(self.site.pool)
        extras = {
            host.name: ([guard], [sar.start_command(host, interval, count, self._sar_file).shell])
            for host in cluster.hosts
        }
        found = self._probe("before", extras, drop=caches == "cold")
        reasons = health_reasons(found.health, "before", *_names(cluster), volume_of(self.cell), caches=caches)
        reasons += access_reasons(found.health, "before", self.cell.access, _names(cluster)[0])
        if self.cell.access == "existing":
            reasons += _remounted(self.site.existing, found.health.mounted)
        self.reasons += [*found.problems, *reasons]

    def _throttle(self, model: str | None) -> None:
        if self.site.throttle is not None:
            effect = self.site.throttle(model)
            if model is not None:
                self.writer.write("workload/throttle.json", dump_json(effect))
            elif effect.get("served"):
                self.writer.write("workload/heads.json", dump_json(effect["served"]))

    def _measure_beside_event(self) -> None:
        if (event := self.cell.event) is None:
            self._measure()
            return
        assert self.volume is not None, "what happens to a pool happens to a volume"
        server, deadline_s = self.site.cluster.servers[0].name, self.site.campaign.deadline
        beside = EventRun(self.site.pool, server, self.volume, event, deadline_s)
        self.site.progress.phase(f"workload: {event.do} begins")
        beside.begin()
        try:
            self._measure()
        finally:
            self.site.progress.phase(f"workload: waiting for the end of {event.do}")
            beside.end()
            for name, text in beside.files.items():
                self.writer.write(name, text)

    def _measure(self) -> None:
        folder = self.writer.folder / "workload"
        done: dict[str, tuple[HostCommand, CommandResult]] = {}
        for name, cell in self._workload.probes(self.cell, folder):
            self.site.progress.phase(f"workload: {name}")
            command, result = done[name] = self._run(cell, f"workload/{name}")
            self._write_record(command, result, f"workload/{name}")
            if result.exit_code is not None:
                self._collect_probe(self._job(cell), name)
            if result.exit_code != 0:
                break
        self.probed = bool(done)
        if not done:
            command, result = self._run(self.cell, "workload")
        elif result.exit_code == 0:
            # the sample is of one probe, and so is the record of its command
            with suppress(ParseError):
                command, result = done[self._workload.parse(folder, self.cell).probe or name]
        self.record = self._write_record(command, result, "workload")

    def _run(self, cell: Cell, folder: str) -> tuple[HostCommand, CommandResult]:
        command = self._workload.command(self._job(cell))
        result = result_of(self.site.pool.run({command.host: _remote(command)}), command.host)
        self.writer.write(f"{folder}/stdout.txt", result.stdout)
        self.writer.write(f"{folder}/stderr.txt", result.stderr)
        return command, result

    def _collect_probe(self, job: Job, name: str) -> None:
        host = job.driver.name
        collect = script.part("outputs", "gl_collect", *self._workload.outputs(job))
        answer = self.site.pool.run_on(host, script.command([collect], deadline_s=_PROBE_DEADLINE_S))
        part = script.need(script.read_parts(answer), "outputs", host)
        for file, data in probe.read_outputs(part, host).items():
            self.writer.write(f"workload/{name}/{file}", data)

    def _write_record(self, command: HostCommand, result: CommandResult, folder: str) -> CommandRecord:
        record = CommandRecord(
            argv=redact_words(command.words),
            host=command.host,
            start=result.start,
            end=result.end,
            exit_code=result.exit_code,
            deadline_s=command.deadline_s,
            gaps="steps",
        )
        self.writer.write(f"{folder}/command.json", dump_json(record.model_dump(mode="json")))
        return record

    def _after(self) -> None:
        cluster = self.site.cluster
        if self.record is None or self.record.exit_code != 0:
            workdir.end_processes(self.site.pool, cluster, spare_sar=True)
        outputs = {} if self.record is None or self.probed else self._outputs()
        extras: dict[str, tuple[list[str], list[str]]] = {}
        for host in cluster.hosts:
            after: list[str] = []
            if self.record is not None:
                after.append(script.part("sar", "sh", "-c", sar.convert_command(host, self._sar_file).script))
            if outputs.get(host.name):
                after.append(script.part("outputs", "gl_collect", *outputs[host.name]))
            extras[host.name] = [lock.guard(self.site.pool), sar.stop_command(host, self._sar_file).shell], after
        found = self._probe("after", extras, drop=False)
        self.reasons += found.problems
        for name, report in sorted(found.parts.items()):
            if (telemetry := report.get("sar")) is not None and telemetry.exit_code == 0 and telemetry.data:
                self.writer.write(f"telemetry/{name}.csv.xz", telemetry.data)
            try:
                files = probe.read_outputs(report["outputs"], name) if "outputs" in report else {}
            except HostError as error:
                self.reasons.append(Reason(code="controller-error", message=error.message, host=name))
                continue
            for file, data in files.items():
                self.writer.write(f"workload/{file}", data)

    def _probe(self, moment: Moment, extras: probe.Extras, *, drop: bool) -> probe.Probe:
        site, volume = self.site, self.volume
        if volume is not None and has_grown(self.writer.folder):
            volume = volume.grown
        found = probe.look(site.pool, site.cluster, volume, drop=drop, extras=extras, deadline_s=_PROBE_DEADLINE_S)
        lock.refuse_lost(found.parts)
        for name, data in found.files.items():
            self.writer.write(f"gluster/{moment}/{name}", data)
        self.writer.write(f"gluster/{moment}/health.json", dump_json(found.health.model_dump(mode="json")))
        return found

    def _store(self) -> Sample:
        with self._phase("judge"):
            self._write_failure()
            verdict = judge(self.writer.folder, self.cell, *_names(self.site.cluster))
            self.result = verdict.result
        return self._finish(verdict)

    def store_failure(self) -> Sample:
        """Store a sample that came to nothing before, or in spite of, `execute`; its judgement may fail again."""
        self._write_failure()
        return self._finish(judge_again(self.writer.folder, self.cell, *_names(self.site.cluster)))

    def _write_failure(self) -> None:
        if self.reasons and not (self.writer.folder / "failure.json").exists():
            failure = Failure(reasons=list(dict.fromkeys(self.reasons)))
            self.writer.write("failure.json", dump_json(failure.model_dump(mode="json")))

    def _finish(self, verdict: Judgement) -> Sample:
        servers, clients = _names(self.site.cluster)
        # of what the operator mounted the disks are not known, whatever its layout's label
        backings = {} if self.cell.access == "existing" else self.site.cluster.backings
        record, backing = self.record, backings.get(self.cell.layout.backing)
        bricks = self.cell.workers if self.cell.access == "none" else self.cell.layout.bricks
        return self.writer.finish(
            verdict.reasons,
            phases=self.phases,
            window=None if record is None else Window(start=record.start, end=record.end),
            exit_code=None if record is None else record.exit_code,
            # below the volume's bricks, or below the workers of a baseline; none for links
            disks=0 if backing is None else bricks * backing.disks_per_brick,
            servers=servers,
            clients=clients,
        )

    def _log(self, result: CommandResult) -> None:
        self.writer.log(result.host, loggable(result.script), result.start, result.end, result.exit_code)


def _remounted(first: dict[str, Mounted], now: Mapping[str, Mounted]) -> list[Reason]:
    """Where a client has another mount than at the first sample, which becomes known by this."""
    found = []
    for host, mounted in sorted(now.items()):
        before = first.setdefault(host, mounted)
        if (before.type, before.source) != (mounted.type, mounted.source):
            was, there = (f"{each.source} as {each.type}" for each in (before, mounted))
            found.append(Reason(code="mount-changed", message=f"expected {was}, as before, found {there}", host=host))
    return found


def _remote(command: HostCommand) -> Command:
    return Command(command.shell, deadline_s=command.deadline_s)


def _names(cluster: Cluster) -> tuple[list[str], list[str]]:
    return [host.name for host in cluster.servers], [host.name for host in cluster.clients]


def result_of(answer: Results, host: str) -> CommandResult:
    """What the measured command did, also when it failed or passed its deadline."""
    if host in answer.succeeded:
        return answer.succeeded[host]
    error = answer.failed[host]
    result = getattr(error, "result", None)
    if isinstance(result, CommandResult):
        return result
    raise error


class LocalRun(SampleRun):
    """One execution of one cell of a baseline: on the hosts themselves instead of on a volume."""

    def _local_job(self, cell: Cell) -> LocalJob:
        cluster = self.site.cluster
        backing = cluster.backings.get(cell.layout.backing)
        return LocalJob(
            cell=cell,
            servers=cluster.servers,
            clients=cluster.clients,
            bricks=() if backing is None else backing.bricks,
            work_dir=cluster.work_dir,
            deadline_s=self.site.campaign.deadline,
        )

    def _make_ready(self, cell: Cell) -> None:
        steps = host_tools()[cell.tool].prepare(self._local_job(cell))
        commands = {step.host: script.command([step.script], deadline_s=step.deadline_s) for step in steps}
        self.site.pool.run(commands).or_raise()

    def _make_files(self, cell: Cell) -> None:
        self._make_ready(cell)
        for steps in host_tools()[cell.tool].rounds(self._local_job(cell)):
            self.site.pool.run({step.command.host: _remote(step.command) for step in steps}).or_raise()

    def _measure(self) -> None:
        done: list[tuple[LocalStep, CommandResult]] = []
        for steps in host_tools()[self.cell.tool].rounds(self._local_job(self.cell)):
            answers = self.site.pool.run({step.command.host: _remote(step.command) for step in steps})
            done += [(step, result_of(answers, step.command.host)) for step in steps]
        measured = [(step, result) for step, result in done if step.output]
        # the first that passed its deadline stands for all, else the first that failed
        step, result = min(measured, key=lambda each: (each[1].exit_code is not None, each[1].exit_code == 0))
        start, end = min(result.start for _, result in measured), max(result.end for _, result in measured)
        self.record = self._write_record(step.command, replace(result, start=start, end=end), "workload")
        commands = [
            {
                "argv": list(step.command.words),
                "host": step.command.host,
                "start": result.start,
                "end": result.end,
                "exit_code": result.exit_code,
                "output": step.output or None,
            }
            for step, result in done
        ]
        self.writer.write(f"workload/{COMMANDS}", dump_json(commands))
        for step, result in measured:
            self.writer.write(f"workload/{step.output}", result.stdout)
            if result.stderr:
                self.writer.write(f"workload/{step.output}.stderr", result.stderr)

    def _outputs(self) -> Mapping[str, Sequence[str]]:
        return {}


def remove_files(pool: Pool, cluster: Cluster) -> None:
    """Remove the files of a baseline from all brick roots, and the directories that the suite made for them."""
    folders = [f"{root}/{FOLDER}" for backing in cluster.backings.values() for root in backing.bricks]
    lines = ["code=0"]
    for folder in folders:
        clear = script.call("gl_clear_dir", folder)
        remove = join(("rm", "-f", "--", f"{folder}/.glusterlab"))
        lines.append(
            f"[ ! -d {join((folder,))} ] || {{ {clear} && {remove} && {join(('rmdir', '--', folder))}; }} || code=1"
        )
    command = script.command([*lines, "exit $code"], deadline_s=_REMOVE_DEADLINE_S)
    pool.run({server.name: command for server in cluster.servers}).or_raise()
