"""IOzone on the brick file systems themselves: what disks and arrays can do, without GlusterFS.

Every server runs one IOzone with a worker per brick root, all servers at the same time. The files lie in a directory
that the suite makes and marks in each brick root.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from glusterlab.errors import ParseError
from glusterlab.hosts import script
from glusterlab.hosts.quoting import join, quote
from glusterlab.readers.iozone_log import parse_text
from glusterlab.reasons import Reason
from glusterlab.units import IOZONE_KB
from glusterlab.workloads.base import (
    HostCommand,
    LocalJob,
    LocalStep,
    WorkerResult,
    WorkloadResult,
    outputs_in_order,
    read_text,
)
from glusterlab.workloads.iozone import check_files, result_of, the_report

if TYPE_CHECKING:
    from glusterlab.spec.cell import Cell

FOLDER = "glusterlab-baseline"
"""Name of the suite's directory in every brick root."""

_OPERATIONS = {"write": "0", "read": "1"}
_SUFFIX = ".txt"


class IozoneLocal:
    """IOzone's throughput mode on every server by itself."""

    tool = "iozone-local"
    operations = ("write", "read")

    def needs_files(self, operation: str) -> bool:
        """A read reads what a write left."""
        return operation == "read"

    def _roots(self, job: LocalJob) -> tuple[str, ...]:
        return job.bricks[: job.cell.workers // len(job.servers)]

    def _files(self, job: LocalJob) -> list[str]:
        return [f"{root}/{FOLDER}/iozone.DUMMY" for root in self._roots(job)]

    def prepare(self, job: LocalJob) -> list[HostCommand]:
        """Before a write the directories are made and emptied; before a read the files are checked."""
        lines = [join(("mkdir", "-p", self._work_dir(job)))]
        if job.cell.operation == "write":
            for root in self._roots(job):
                folder = f"{root}/{FOLDER}"
                missing = (
                    f"{{ echo {quote(f'{root} is not mounted: mount the file system there first')} >&2; exit 1; }}"
                )
                lines += [
                    f"{join(('mountpoint', '-q', root))} || {missing}",
                    f"{script.call('gl_mark_dir', folder, 'glusterlab: files of a baseline')} || exit 1",
                    f"{script.call('gl_clear_dir', folder)} || exit 1",
                ]
        else:
            lines.append(check_files(self._files(job), job.cell.file_size_bytes))
        text = "\n".join(lines)
        return [HostCommand(server.name, script=text, deadline_s=job.deadline_s) for server in job.servers]

    def _work_dir(self, job: LocalJob) -> str:
        return f"{job.work_dir}/run-{self.tool}"

    def rounds(self, job: LocalJob) -> list[list[LocalStep]]:
        """One round, the guide's flags, and ``-C``, which prints a line per worker.

        ``-x`` turns stonewalling off: the first worker whose file is in the page cache would stop the others before
        they have begun, and each disk is to be measured by itself.
        """
        cell, files = job.cell, self._files(job)
        argv = (
            *("iozone", "-t", str(len(files))),
            *("-s", f"{cell.file_size_bytes // IOZONE_KB}k", "-r", f"{(cell.record_size_bytes or 0) // IOZONE_KB}k"),
            *("-c", "-e", "-w", "-+n", "-C", "-x", "-i", _OPERATIONS[cell.operation], *cell.options, "-F", *files),
        )
        text = f"cd {quote(self._work_dir(job))} && exec {join(argv)}"
        return [
            [
                LocalStep(HostCommand(server.name, script=text, deadline_s=job.deadline_s), f"{server.name}{_SUFFIX}")
                for server in job.servers
            ]
        ]

    def parse(self, folder: Path, cell: Cell) -> WorkloadResult:
        """Read the servers' reports; a worker's place is ``host:brick root``.

        Raises
        ------
        ParseError
            When a server's report is not complete, or none is there.
        """
        parts = [self._one(path, cell) for path in outputs_in_order(folder, f"*{_SUFFIX}")]
        if not parts:
            raise ParseError("expected a report of IOzone per server, found none", file=folder)
        workers = [worker for part in parts for worker in part.worker_results]
        problems = [problem for part in parts for problem in part.problems]
        if len(workers) != cell.workers:
            message = f"expected {cell.workers} workers on all servers, found {len(workers)}"
            problems.append(Reason(code="tool-incomplete", message=message))
        short = [worker for worker in workers if worker.bytes != cell.file_size_bytes]
        if short:
            message = f"expected {cell.file_size_bytes} bytes of each file, found {short[0].bytes} of {short[0].host}"
            problems.append(Reason(code="tool-incomplete", message=message))
        elapsed = max((part.elapsed_s for part in parts if part.elapsed_s), default=None)
        return WorkloadResult(
            tool=self.tool,
            tool_version=parts[0].tool_version,
            operation=cell.operation,
            workers=len(workers),
            throughput_bytes_per_s=sum(part.throughput_bytes_per_s or 0.0 for part in parts),
            files_per_s=None,
            elapsed_s=elapsed,
            measured_s=elapsed,
            worker_results=tuple(replace(worker, worker=n) for n, worker in enumerate(workers, start=1)),
            problems=tuple(problems),
        )

    def _one(self, path: Path, cell: Cell) -> WorkloadResult:
        host = path.name.removesuffix(_SUFFIX)
        try:
            run, section = the_report(parse_text(read_text(path)), cell.operation)
        except ParseError as error:
            raise ParseError(error.message, file=path, line=error.line) from error
        own = cell.model_copy(update={"workers": section.count})
        words = (run.command_line or "").split()
        files = words[words.index("-F") + 1 :] if "-F" in words else []
        places = [f"{host}:{file.rpartition(f'/{FOLDER}/')[0]}" for file in files]
        found = result_of(run, section, own, places or [host] * section.count)
        problems = [problem.model_copy(update={"host": host}) for problem in found.problems]
        if said := _no_space(path):
            problems.insert(0, Reason(code="disk-full", message=f"IOzone said: {said}", host=host))
        return replace(found, problems=tuple(problems))


def _no_space(path: Path) -> str | None:
    """What IOzone said of a full file system: it reports success all the same."""
    for file in (path, path.with_name(f"{path.name}.stderr")):
        if file.exists():
            for line in read_text(file).splitlines():
                if "no space left" in line.lower():
                    return line.strip()[:200]
    return None


def place_of(worker: WorkerResult) -> tuple[str, str]:
    """Host and brick root of a worker.

    Examples
    --------
    >>> place_of(WorkerResult(1, "server01:/bricks/jbod/d01"))
    ('server01', '/bricks/jbod/d01')
    """
    host, _, root = (worker.host or "").partition(":")
    return host, root
