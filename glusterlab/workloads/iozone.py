"""IOzone in cluster mode: large files, sequential write and read.

What was learnt by running 3.489: the driver tells the workers its own ``hostname``, so every client must be able to
resolve it. Worker n (from 0) works on ``iozone.DUMMY.<n>`` in the directory of its line in the client file, so a read
with the same list finds the files of the write. Start-up is serial, and the tool can hang for ever: with a full disk
in cluster mode, without its input files, with a client that cannot be reached. Hence the check before a read, and the
deadline. Without cluster mode a full disk and a killed worker give a complete report and exit code 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from glusterlab.errors import ParseError
from glusterlab.hosts.quoting import join, quote
from glusterlab.readers.iozone_judge import adds_up, idle_workers
from glusterlab.readers.iozone_log import parse_text
from glusterlab.readers.iozone_runs import Run, Section
from glusterlab.reasons import Reason
from glusterlab.units import IOZONE_KB
from glusterlab.workloads.base import HostCommand, Job, WorkerResult, WorkloadResult, read_text

if TYPE_CHECKING:
    from glusterlab.spec.cell import Cell
    from glusterlab.spec.cluster import Host

TESTS = {"write": "initial writers", "read": "readers"}
"""The operation in the suite's words, and the label of IOzone's report."""

_NUMBERS = {"write": "0", "read": "1"}


class Iozone:
    """IOzone's cluster mode over all clients, also for a single worker."""

    tool = "iozone"
    operations = ("write", "read")

    def needs_files(self, operation: str) -> bool:
        """A read reads what a write of the same dataset left."""
        return operation == "read"

    def startup_s(self, workers: int) -> float:
        """Measured with 3.489 over open connections, 1 to 96 workers on 12 clients: workers are started in turn."""
        return 6.0 + 0.25 * workers

    def not_runnable(self, cell: Cell, clients: int) -> str | None:
        """Why not: sizes that IOzone cannot be told."""
        if clients < 1:
            return "the cluster has no client"
        record = cell.record_size_bytes
        if record is None:
            return "IOzone needs a record_size"
        if cell.file_size_bytes % IOZONE_KB or record % IOZONE_KB:
            return "IOzone takes sizes in whole KiB"
        if cell.file_size_bytes % record:
            return f"IOzone needs a file size that is a multiple of the record size of {record} bytes"
        return None

    def _places(self, job: Job) -> Iterator[tuple[Host, str]]:
        for worker in range(job.cell.workers):
            yield job.clients[worker % len(job.clients)], f"{job.dataset_dir}/w{worker + 1:02d}"

    def _files(self, job: Job) -> list[str]:
        return [f"{folder}/iozone.DUMMY.{n}" for n, (_, folder) in enumerate(self._places(job))]

    def _client_file(self, job: Job) -> str:
        return f"{job.tool_dir}/clients"

    def uploads(self, job: Job) -> dict[str, str]:
        """The client file, a line ``host directory program`` per worker, round robin, and the ssh that IOzone calls."""
        lines = [f"{host.name} {folder} iozone\n" for host, folder in self._places(job)]
        return {self._client_file(job): "".join(lines), job.ssh_wrapper: job.ssh_wrapper_text()}

    def prepare(self, job: Job) -> list[HostCommand]:
        """Before a write the dataset's directory is made afresh; before a read its files are checked."""
        allow = join(("chmod", "700", job.ssh_wrapper))
        if job.cell.operation == "write":
            folders = [folder for _, folder in self._places(job)]
            script = f"{allow} && {join(('rm', '-rf', job.dataset_dir))} && {join(('mkdir', '-p', *folders))}"
        else:
            script = f"{allow}\n{check_files(self._files(job), job.cell.file_size_bytes)}"
        return [HostCommand(job.driver.name, script=script, deadline_s=job.deadline_s)]

    def command(self, job: Job) -> HostCommand:
        """The guide's flags (appendix A) and ``-C``, which prints a line per worker.

        The guide also gives ``-+z``: it makes IOzone write a histogram into the volume under test at the end, so it is
        left to the campaign's ``options``.
        """
        cell = job.cell
        record = cell.record_size_bytes or 0
        argv = (
            *("iozone", "-+m", self._client_file(job), "-t", str(cell.workers)),
            *("-s", f"{cell.file_size_bytes // IOZONE_KB}k", "-r", f"{record // IOZONE_KB}k"),
            *("-c", "-e", "-w", "-+n", "-C", "-i", _NUMBERS[cell.operation], *cell.options),
        )
        # the driver's own working directory must not be on the volume under test
        script = f"cd {quote(job.tool_dir)} || exit 1\n" + job.over_open_connections(
            f"env {join(argv, {'RSH': job.ssh_wrapper})}"
        )
        return HostCommand(job.driver.name, script=script, deadline_s=job.deadline_s)

    def outputs(self, job: Job) -> tuple[str, ...]:
        """The client file says which worker ran where."""
        return (self._client_file(job),)

    def parse(self, folder: Path, cell: Cell) -> WorkloadResult:
        """Read ``stdout.txt`` and the client file.

        Raises
        ------
        ParseError
            When there is no complete report of the operation.
        """
        path = folder / "stdout.txt"
        try:
            run, section = the_report(parse_text(read_text(path)), cell.operation)
        except ParseError as error:
            raise ParseError(error.message, file=path, line=error.line) from error
        return result_of(run, section, cell, _worker_hosts(folder / "clients"))


def check_files(paths: Iterable[str], size: int) -> str:
    """A shell script that fails, naming the first file, unless all files are there with exactly that size."""
    listing = "\n".join(paths)
    return (
        f"printf '%s\\n' {quote(listing)} | while IFS= read -r file; do\n"
        f'  found=$(stat -c %s "$file" 2>/dev/null || echo none)\n'
        f'  if [ "$found" != {size} ]; then echo "$file: expected {size} bytes, found $found" >&2; exit 1; fi\n'
        "done"
    )


def the_report(runs: list[Run], operation: str) -> tuple[Run, Section]:
    """The one complete report of an operation.

    Raises
    ------
    ParseError
        When there is none.
    """
    if len(runs) != 1:
        raise ParseError(f"expected the output of one IOzone run, found {len(runs)}")
    run = runs[0]
    said = f"; it said: {run.complaints[0]}" if run.complaints else ""
    if run.version is None or run.command_line is None:
        raise ParseError(f"expected IOzone's banner with its version and command line, found none{said}")
    section = run.section(TESTS[operation])
    if section is None or section.children is None:
        raise ParseError(f"expected a report of {TESTS[operation]}, found none{said}")
    if not run.complete:
        raise ParseError(f"expected 'iozone test complete.' at the end, found none{said}")
    if section.unit == "ops/s":
        raise ParseError("expected rates in kB/sec, found ops/sec (the option -O)")
    return run, section


def _worker_hosts(path: Path) -> list[str]:
    try:
        return [line.split()[0] for line in path.read_text().splitlines() if line.strip()]
    except (OSError, UnicodeDecodeError):
        return []


def result_of(run: Run, section: Section, cell: Cell, hosts: list[str]) -> WorkloadResult:
    """What a report says, and what is wrong with it.

    Parameters
    ----------
    run : Run
    section : Section
    cell : Cell
    hosts : list of str
        Where each worker ran; shorter where it is not known.
    """
    workers = []
    for child in section.workers:
        rate, size = child.throughput * IOZONE_KB, round(child.xfer * IOZONE_KB)
        host = hosts[child.number] if child.number < len(hosts) else None
        elapsed = size / rate if rate else None
        status = "ok" if rate and size else "no data"
        workers.append(WorkerResult(child.number + 1, host, rate, None, size, 1, elapsed, status))
    elapsed_s = max((worker.elapsed_s for worker in workers if worker.elapsed_s), default=None)
    rate = (section.children or 0.0) * IOZONE_KB
    return WorkloadResult(
        tool=Iozone.tool,
        tool_version=run.version,
        operation=cell.operation,
        workers=section.count,
        throughput_bytes_per_s=rate,
        files_per_s=None,
        elapsed_s=elapsed_s,
        worker_results=tuple(workers),
        problems=tuple(_problems(run, section, cell)),
        measured_s=elapsed_s,
    )


def _problems(run: Run, section: Section, cell: Cell) -> Iterator[Reason]:
    def incomplete(message: str) -> Reason:
        return Reason(code="tool-incomplete", message=message)

    numbers = {child.number for child in section.workers}
    if section.count != cell.workers or numbers != set(range(cell.workers)) or len(section.workers) != cell.workers:
        found = f"a report of {section.count} with lines of {len(section.workers)}"
        yield incomplete(f"expected {cell.workers} workers, found {found}")
    idle = idle_workers(section)
    if section.children == 0:
        yield Reason(code="tool-failed", message="no worker transferred anything" + _said(run))
    elif idle or section.minimum == 0 or section.min_xfer == 0:
        names = ", ".join(f"Child[{number}]" for number in idle[:5]) or "the slowest worker"
        yield incomplete(f"{names} transferred nothing" + _said(run))
    if section.minimum is None or section.min_xfer is None:
        yield incomplete("the report lacks its minimum or Min xfer line")
    if not adds_up(section):
        yield incomplete("the lines of the workers do not add up to the reported sum")
    for name, told, wanted in (
        ("file size", run.file_size_kb, cell.file_size_bytes),
        ("record size", run.record_size_kb, cell.record_size_bytes),
    ):
        if told is not None and wanted is not None and told * IOZONE_KB != wanted:
            yield incomplete(f"expected a {name} of {wanted} bytes, found {told * IOZONE_KB}")


def _said(run: Run) -> str:
    return f"; IOzone said: {run.complaints[0]}" if run.complaints else ""
