"""IOzone in cluster mode: large files, sequential write and read.

What was learnt by running 3.489: the driver tells the workers its own ``hostname``, so every client must be able to
resolve it. Worker n (from 0) works on ``iozone.DUMMY.<n>`` in the directory of its line in the client file, so a read
with the same list finds the files of the write. Start-up is serial, and the tool can hang for ever: with a full disk
in cluster mode, without its input files, with a client that cannot be reached. Hence the check before a read, and the
deadline. Without cluster mode a full disk and a killed worker give a complete report and exit code 0.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from glusterlab.errors import ParseError
from glusterlab.reasons import Reason
from glusterlab.shell import join, quote
from glusterlab.spec.cell import Cell
from glusterlab.tools import base
from glusterlab.tools.document import Document, read_text
from glusterlab.tools.iozone.records import read, recognise
from glusterlab.tools.records import WorkerRecord, WorkloadRecord
from glusterlab.units import IOZONE_KB

_NUMBERS = {"write": "0", "read": "1"}
OPERATIONS = (base.Operation("write", "write"), base.Operation("read", "read", needs_files=True))
OPTIONS = {
    **dict.fromkeys(("-B", "-D", "-G", "-I", "-K", "-o", "-p", "-x", "-+D", "-+k", "-+l", "-+L", "-+r", "-+z")),
    **dict.fromkeys(("-H", "-j", "-J", "-k", "-+C", "-+p", "-+S", "-+w", "-+y"), "[0-9]+"),
}
PROGRAMS = (base.Program("iozone", "iozone3", ("-v",), "3.489", frozenset({"client"}), frozenset({"server"})),)


def _sizes(cell: Cell) -> tuple[str, ...]:
    return "-s", f"{cell.file_size_bytes // IOZONE_KB}k", "-r", f"{(cell.record_size_bytes or 0) // IOZONE_KB}k"


class Iozone(base.VolumeTool):
    """IOzone's cluster mode over all clients, also for a single worker."""

    def not_runnable(self, cell: Cell, clients: int) -> str | None:
        if cell.file_size_bytes % IOZONE_KB or (cell.record_size_bytes or 0) % IOZONE_KB:
            return "IOzone takes sizes in whole KiB"
        return base.uneven(cell, clients)

    def files(self, job: base.Job) -> list[str]:
        return [f"{folder}/iozone.DUMMY.{n}" for n, folder in enumerate(job.folders)]

    def _client_file(self, job: base.Job) -> str:
        return f"{job.tool_dir}/clients"

    def uploads(self, job: base.Job) -> dict[str, str]:
        """The client file, a line ``host directory program`` per worker, and the ssh that IOzone calls."""
        lines = [f"{host.name} {folder} iozone\n" for host, folder in job.places]
        return {self._client_file(job): "".join(lines), **super().uploads(job)}

    def command(self, job: base.Job) -> base.HostCommand:
        """The guide's flags (appendix A) and ``-C``, which prints a line per worker."""
        cell = job.cell
        argv = (
            *("iozone", "-+m", self._client_file(job), "-t", str(cell.workers), *_sizes(cell)),
            # but for -+z, which makes IOzone write a histogram into the volume under test at the end
            *("-c", "-e", "-w", "-+n", "-C", "-i", _NUMBERS[cell.operation], *cell.options),
        )
        # the driver's own working directory must not be on the volume under test
        measured = job.over_open_connections(f"env {join(argv, {'RSH': job.ssh_wrapper})}")
        script = f"cd {quote(job.tool_dir)} || exit 1\n{measured}"
        return base.HostCommand(job.driver.name, script=script, deadline_s=job.deadline_s)

    def outputs(self, job: base.Job) -> tuple[str, ...]:
        """The client file says which worker ran where."""
        return (self._client_file(job),)

    def parse(self, folder: Path, cell: Cell) -> base.Measurement:
        record, workers = result_of(folder / "stdout.txt", cell)
        try:
            hosts = [line.split()[0] for line in read_text(folder / "clients").splitlines() if line.strip()]
        except ParseError:
            hosts = []
        return base.held_against(cell, record, placed(workers, hosts))


def result_of(path: Path, cell: Cell) -> tuple[WorkloadRecord, list[WorkerRecord]]:
    """The complete report of a cell's operation in a file of one run, and its workers; `ParseError` without one."""
    records, damage = base.read_all(lambda: read(Document.open(path)))
    try:
        record, workers = base.of_operation(records, cell.operation)
    except ParseError as error:
        error = damage or error
        raise ParseError(error.message, file=path, line=error.line) from None
    errors = [damage.message] if damage is not None else record.details.get("errors") or []
    error_text = f"; it said: {errors[0]}" if errors else ""
    for what, is_there in (
        ("IOzone's banner with its version and command line", record.tool_version and "command_line" in record.details),
        ("'iozone test complete.' at the end", damage is None and record.details["complete"]),
        ("rates in kB/sec, and no -O", record.operations_per_s is None),
    ):
        if not is_there:
            raise ParseError(f"expected {what}, found none{error_text}", file=path)
    return record, workers


def placed(workers: Sequence[WorkerRecord], hosts: Sequence[str]) -> list[WorkerRecord]:
    """Workers, each of which has a file, with the places where they ran, as far as these are known."""
    places = dict(enumerate(hosts, start=1))
    return [replace(worker, host=places.get(worker.worker), files=1) for worker in workers]


IOZONE = Iozone(
    name="iozone",
    recognise=recognise,
    read=read,
    operations=OPERATIONS,
    other_operations=(base.Operation("rewrite", "write"), base.Operation("reread", "read", needs_files=True)),
    options=OPTIONS,
    # measured with 3.489 over open connections, 1 to 96 workers on 12 clients: workers are started in turn
    startup=(6.0, 0.25),
    programs=PROGRAMS,
    processes={"iozone": "iozone"},
    measured_part="onset",
    # the driver lets all children begin when the last is ready; each counts from then on
    starts_together=True,
)


FOLDER = "glusterlab-baseline"  # name of the suite's directory in every brick root
_SUFFIX = ".txt"


class IozoneLocal(base.HostTool):
    """IOzone's throughput mode on every server by itself."""

    def _roots(self, job: base.LocalJob) -> tuple[str, ...]:
        return job.bricks[: job.cell.workers // len(job.servers)]

    def _files(self, job: base.LocalJob) -> list[str]:
        return [f"{root}/{FOLDER}/iozone.DUMMY" for root in self._roots(job)]

    def prepare(self, job: base.LocalJob) -> list[base.HostCommand]:
        lines = [join(("mkdir", "-p", self._work_dir(job)))]
        if job.cell.operation == "write":
            for root in self._roots(job):
                folder = f"{root}/{FOLDER}"
                missing = quote(f"{root} is not mounted: mount the file system there first")
                lines += [
                    f"{join(('mountpoint', '-q', root))} || {{ echo {missing} >&2; exit 1; }}",
                    f"{join(('gl_mark_dir', folder, 'glusterlab: files of a baseline'))} || exit 1",
                    f"{join(('gl_clear_dir', folder))} || exit 1",
                ]
        else:
            lines.append(base.check_files(self._files(job), job.cell.file_size_bytes))
        text = "\n".join(lines)
        return [base.HostCommand(server.name, script=text, deadline_s=job.deadline_s) for server in job.servers]

    def _work_dir(self, job: base.LocalJob) -> str:
        return f"{job.work_dir}/run-{self.name}"

    def rounds(self, job: base.LocalJob) -> list[list[base.LocalStep]]:
        """One round, the guide's flags, and ``-C``, which prints a line per worker."""
        cell, files = job.cell, self._files(job)
        argv = (
            *("iozone", "-t", str(len(files)), *_sizes(cell)),
            # -x: each disk by itself; the first worker with its file in the page cache would else stop the others
            *("-c", "-e", "-w", "-+n", "-C", "-x", "-i", _NUMBERS[cell.operation], *cell.options, "-F", *files),
        )
        text = f"cd {quote(self._work_dir(job))} && exec {join(argv)}"
        commands = [base.HostCommand(server.name, script=text, deadline_s=job.deadline_s) for server in job.servers]
        return [[base.LocalStep(command, f"{command.host}{_SUFFIX}") for command in commands]]

    def parse(self, folder: Path, cell: Cell) -> base.Measurement:
        """Read the servers' reports; a worker's place is ``host:brick root``."""
        parts = [_of_server(path, cell) for path in base.outputs_in_order(folder, f"*{_SUFFIX}")]
        if not parts:
            raise ParseError("expected a report of IOzone per server, found none", file=folder)
        workers = [worker for part in parts for worker in part.workers]
        problems = [problem for part in parts for problem in part.problems]
        if len(workers) != cell.workers:
            problems.append(base.incomplete(f"expected {cell.workers} workers on all servers, found {len(workers)}"))
        if short := [worker for worker in workers if worker.bytes != cell.file_size_bytes]:
            message = f"expected {cell.file_size_bytes} bytes of each file, found {short[0].bytes} of {short[0].host}"
            problems.append(base.incomplete(message))
        record = replace(
            parts[0].record,
            tool=self.name,
            workers=len(workers),
            throughput_bytes_per_s=sum(part.record.throughput_bytes_per_s or 0.0 for part in parts),
            worker_min_bytes_per_s=None,
            worker_max_bytes_per_s=None,
            elapsed_s=max((part.record.elapsed_s for part in parts if part.record.elapsed_s), default=None),
        )
        numbered = tuple(replace(worker, worker=n) for n, worker in enumerate(workers, start=1))
        return base.Measurement(record, numbered, tuple(problems))


def _of_server(path: Path, cell: Cell) -> base.Measurement:
    host = path.name.removesuffix(_SUFFIX)
    record, workers = result_of(path, cell)
    words = str(record.details["command_line"]).split()
    files = words[words.index("-F") + 1 :] if "-F" in words else []
    places = [f"{host}:{file.rpartition(f'/{FOLDER}/')[0]}" for file in files] or [host] * len(workers)
    found = base.held_against(cell.model_copy(update={"workers": record.workers}), record, placed(workers, places))
    problems = [problem.model_copy(update={"host": host}) for problem in found.problems]
    # it reports success on a full file system, too
    texts = [read_text(file) for file in (path, path.with_name(f"{path.name}.stderr")) if file.exists()]
    if full := [line.strip() for line in "\n".join(texts).splitlines() if "no space left" in line.lower()]:
        problems.insert(0, Reason(code="disk-full", message=f"IOzone said: {full[0][:200]}", host=host))
    return replace(found, problems=tuple(problems))


def place_of(worker: WorkerRecord) -> tuple[str, str]:
    """Host and brick root of a worker."""
    host, _, root = (worker.host or "").partition(":")
    return host, root


IOZONE_LOCAL = IozoneLocal(name="iozone-local", operations=OPERATIONS, options=OPTIONS, programs=PROGRAMS)
