"""dd on all clients: one file per worker, in calls of the record size, timed by the shell as a person would.

The shell's time has what dd's own leaves out: its start, its end and, in a write, the close. Without ``conv=fsync`` a
write ends when the last call does, with what the client still holds.
"""

import re
from dataclasses import replace
from pathlib import Path

from glusterlab.errors import ParseError
from glusterlab.shell import HostCommand, join, quote
from glusterlab.spec.cell import Cell
from glusterlab.tools.base import Job, Measurement, Operation, Program, VolumeTool, held_against, of_operation, uneven
from glusterlab.tools.dd.report import read, recognise
from glusterlab.tools.document import Document, located
from glusterlab.tools.records import WorkerRecord, WorkloadRecord, incomplete, worker_of

_FILE = re.compile(r"dd-w(\d{2,})\.txt")
_START = re.compile(r"^worker (\d+) on (\S+) starts at ([0-9.]+)$", re.MULTILINE)
_TIMED = 'export LC_ALL=C TIMEFORMAT="real %R"; echo {head}$EPOCHREALTIME; echo {words}; time {command}'


class Dd(VolumeTool):
    """dd, started for every worker at once."""

    def not_runnable(self, cell: Cell, clients: int) -> str | None:
        if cell.files_per_worker != 1:
            return "dd works on one file per worker: leave files_per_worker out"
        return uneven(cell, clients)

    def files(self, job: Job) -> list[str]:
        return [f"{folder}/dd.data" for folder in job.folders]

    def _operands(self, cell: Cell, file: str) -> tuple[str, ...]:
        record = cell.record_size_bytes or 1
        ends = (f"if={file}", "of=/dev/null") if self.needs_files(cell.operation) else ("if=/dev/zero", f"of={file}")
        return ("dd", *ends, f"bs={record}", f"count={cell.file_size_bytes // record}", *cell.options)

    def command(self, job: Job) -> HostCommand:
        starts = []
        for worker, (host, folder) in enumerate(job.places, start=1):
            command = join(self._operands(job.cell, f"{folder}/dd.data"))
            head = quote(f"worker {worker} on {host.name} starts at ")
            timed = join(("bash", "-c", _TIMED.format(head=head, words=quote(command), command=command)))
            output = quote(f"{job.tool_dir}/dd-w{worker:02d}.txt")
            starts.append(f"{quote(job.ssh_wrapper)} {quote(host.name)} {quote(timed)} >{output} 2>&1 </dev/null")
        return job.at_once(starts)

    def outputs(self, job: Job) -> tuple[str, ...]:
        return tuple(f"{job.tool_dir}/dd-w{worker:02d}.txt" for worker in range(1, job.cell.workers + 1))

    def parse(self, folder: Path, cell: Cell) -> Measurement:
        """All workers' outputs; `elapsed_s` is what the shell's ``time`` says, dd's own is among the details."""
        found = [(int(match[1]), path) for path in sorted(folder.glob("dd-w*")) if (match := _FILE.match(path.name))]
        workers = [_worker(number, path, cell) for number, path in found]
        if not workers:
            raise ParseError("expected the output of a worker, dd-w01.txt, found none", file=folder)
        times = [worker.elapsed_s or 0.0 for worker in workers]
        calls = cell.file_size_bytes // (cell.record_size_bytes or 1)
        reasons = tuple(reason for worker in workers for reason in worker.reasons)
        whole = not reasons and all(times)
        record = WorkloadRecord(
            tool="dd",
            source=Document.open(found[0][1]).source(1),
            operation=workers[0].operation,
            label="dd",
            workers=len(workers),
            file_size_bytes=cell.file_size_bytes,
            record_size_bytes=cell.record_size_bytes,
            throughput_bytes_per_s=sum(worker.throughput_bytes_per_s or 0.0 for worker in workers) if whole else None,
            operations_per_s=sum(calls / time for time in times) if whole else None,
            latency_mean_s=sum(times) / len(times) / calls if whole else None,
            elapsed_s=max(times) if whole else None,
            files=len(workers),
            valid=whole,
            reasons=reasons,
        )
        return held_against(cell, record, workers)


def _worker(number: int, path: Path, cell: Cell) -> WorkerRecord:
    document = Document.open(path)
    with located(path):
        record, _ = of_operation(read(document), cell.operation)
    start, real, done = _START.search(document.text), record.details.get("real_s"), record.details.get("bytes")
    reasons = list(record.reasons)
    if start is None or int(start[1]) != number:
        reasons.append(incomplete(f"worker {number}: expected a line that says when it starts, found none"))
    if not real:
        reasons.append(incomplete(f"worker {number}: expected the shell's time, found none"))
    if done != cell.file_size_bytes:
        reasons.append(incomplete(f"worker {number}: expected {cell.file_size_bytes} bytes, found {done}"))
    return worker_of(
        replace(record, reasons=tuple(reasons), valid=not reasons),
        worker=number,
        host=None if start is None else start[2],
        elapsed_s=real,
        throughput_bytes_per_s=done / real if done and real else None,
        bytes=done,
        files=1,
        details={"start_s": float(start[3]), "dd_s": record.elapsed_s} if start is not None else {},
    )


DD = Dd(
    name="dd",
    recognise=recognise,
    read=read,
    operations=(Operation("write", "write"), Operation("read", "read", needs_files=True)),
    options=dict.fromkeys(("conv=fsync", "conv=fdatasync", "oflag=direct", "iflag=direct")),
    programs=(Program("dd", "coreutils", ("--version",), "9.1", frozenset({"client"}), required=False),),
    # files are the same whatever the size of the calls that wrote them
    keyed_by=(),
    measured_part="onset",
)
