"""One sample of a baseline: like any other, but on the hosts themselves instead of on a volume."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from glusterlab.errors import CommandError
from glusterlab.evidence import CommandRecord
from glusterlab.hosts import script
from glusterlab.hosts.connection import Command
from glusterlab.hosts.quoting import join
from glusterlab.raw import dump_json
from glusterlab.sample import SampleRun, result_of
from glusterlab.workloads import LOCAL_TOOLS, LocalJob, LocalStep, LocalTool
from glusterlab.workloads.base import COMMANDS
from glusterlab.workloads.iozone_local import FOLDER

if TYPE_CHECKING:
    from glusterlab.hosts.connection import CommandResult, Pool
    from glusterlab.spec.cell import Cell
    from glusterlab.spec.cluster import Cluster

_REMOVE_DEADLINE_S = 300.0


class LocalRun(SampleRun):
    """One execution of one cell of a baseline."""

    @property
    def _tool(self) -> LocalTool:
        return LOCAL_TOOLS[self.cell.tool]

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

    def _prepare(self) -> bool:
        try:
            self._prepare_cell(self.cell)
        except CommandError as missing:
            if not self._tool.needs_files(self.cell.operation):
                raise
            self._make_local_files(missing)
        return True

    def _prepare_cell(self, cell: Cell) -> None:
        commands = {
            step.host: script.command([step.script], deadline_s=step.deadline_s)
            for step in self._tool.prepare(self._local_job(cell))
        }
        self.site.pool.run(commands).or_raise()

    def _make_local_files(self, missing: CommandError) -> None:
        """Write, untimed, the files that the operation needs: an earlier run made them, and they are gone."""
        maker = next(name for name in self._tool.operations if not self._tool.needs_files(name))
        self.site.progress.phase(f"prepare: {maker} the files again")
        try:
            cell = self.cell.model_copy(update={"operation": maker})
            self._prepare_cell(cell)
            for steps in self._tool.rounds(self._local_job(cell)):
                self.site.pool.run({step.command.host: _command(step) for step in steps}).or_raise()
            self._prepare_cell(self.cell)
        except CommandError as error:
            message = f"the files that it needs cannot be made: {error.message} (before that: {missing.message})"
            raise CommandError(message, host=error.host) from error

    def _measure(self) -> bool:
        """All rounds; every command and its output is kept, and one record stands for all of them."""
        done: list[tuple[LocalStep, CommandResult]] = []
        for steps in self._tool.rounds(self._local_job(self.cell)):
            answers = self.site.pool.run({step.command.host: _command(step) for step in steps})
            done += [(step, result_of(answers, step.command.host)) for step in steps]
        measured = [(step, result) for step, result in done if step.output]
        codes = [result.exit_code for _, result in measured]
        failed = next((n for n, code in enumerate(codes) if code is None), None)
        if failed is None:
            failed = next((n for n, code in enumerate(codes) if code), 0)
        step, result = measured[failed]
        self.record = CommandRecord(
            argv=list(step.command.words),
            host=step.command.host,
            start=min(result.start for _, result in measured),
            end=max(result.end for _, result in measured),
            exit_code=result.exit_code,
            deadline_s=step.command.deadline_s,
        )
        self.writer.write("workload/command.json", dump_json(self.record.model_dump(mode="json")))
        self.writer.write(f"workload/{COMMANDS}", dump_json([_as_json(step, result) for step, result in done]))
        for step, result in measured:
            self.writer.write(f"workload/{step.output}", result.stdout)
            if result.stderr:
                self.writer.write(f"workload/{step.output}.stderr", result.stderr)
        return True

    def _outputs(self) -> Mapping[str, Sequence[str]]:
        return {}


def _command(step: LocalStep) -> Command:
    return Command(step.command.shell, deadline_s=step.command.deadline_s)


def _as_json(step: LocalStep, result: CommandResult) -> dict[str, object]:
    return {
        "argv": list(step.command.words),
        "host": step.command.host,
        "start": result.start,
        "end": result.end,
        "exit_code": result.exit_code,
        "output": step.output or None,
    }


def remove_files(pool: Pool, cluster: Cluster) -> None:
    """Remove the files of a baseline from all brick roots, and the directories that the suite made for them.

    Raises
    ------
    HostError
        When a server does not answer, or a file cannot be removed.
    """
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
