"""file-loop: shell loops that make or read files one by one until a time is over, as an administrator would test.

Each file is made by a dd of its own and flushed by ``sync``, and ``date`` says whether the time is over; or it is read
by ``cp``, and the client drops its caches. So the start of programs is part of every file. The clock has whole seconds,
so a worker may end within the last one. Reads take the files of all workers, each worker in an order of its own, round
and round.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from glusterlab.errors import ParseError
from glusterlab.shell import HostCommand, join, quote
from glusterlab.tools.base import Job, Measurement, Operation, Program, VolumeTool, held_against, uneven
from glusterlab.tools.document import read_text
from glusterlab.tools.records import Source, WorkerRecord, WorkloadRecord, incomplete, worker_of

if TYPE_CHECKING:
    from glusterlab.spec.cell import Cell

FILES, DIRECTORIES = 100, 100
NO_SYNC = "--no-sync"

_DONE = re.compile(
    r"worker (?P<worker>\d+) on (?P<host>\S+): (?P<files>\d+) files from (?P<start>[0-9.]+) to (?P<end>[0-9.]+), "
    r"(?P<failed>\d+) failed, (?P<wrong>\d+) wrong"
)

_COMPLAIN = '{ failed=$((failed + 1)); [ "$failed" -gt 1 ] || echo "$said"; }'
_BEGIN = """\
export LC_ALL=C
files=0 failed=0 wrong=0 begin=$EPOCHREALTIME stop=$((EPOCHSECONDS + {seconds}))
"""
_END = """\
end=$EPOCHREALTIME
{counted}
echo "worker {worker} on {host}: $files files from $begin to $end, $failed failed, $wrong wrong"
"""
_CREATE = """\
while :; do
    folder={folder}/$((files / {tree}))/$((files / {each} % {directories}))
    [ $((files % {each})) -ne 0 ] || mkdir -p "$folder" || break
    said=$(dd if=/dev/zero of="$folder/$((files % {each}))" bs={record} count={count} 2>&1) || {complain}
    {sync}
    files=$((files + 1))
    {until}
done
"""
_READ = """\
while :; do
    said=$(cp "${{list[files % ${{#list[@]}}]}}" /dev/null 2>&1) || {complain}
    echo 3 >/proc/sys/vm/drop_caches || wrong=$((wrong + 1))
    files=$((files + 1))
    {until}
done
"""


class FileLoop(VolumeTool):
    """A loop of a shell for each worker."""

    def startup_s(self, workers: int) -> float:
        return 1.0 + 0.05 * workers

    def not_runnable(self, cell: Cell, clients: int) -> str | None:
        if self.needs_files(cell.operation) and cell.runtime_s is None:
            return "file-loop reads files for a runtime, such as 10 min"
        return uneven(cell, clients)

    def prepare(self, job: Job) -> list[HostCommand]:
        """Before a read the files of all workers are listed, and put into an order for each worker."""
        lines = ["set -e", join(("chmod", "700", job.ssh_wrapper))]
        if not self.needs_files(job.cell.operation):
            lines += [job.emptied, join(("mkdir", "-p", *job.folders))]
        else:
            cell, listed = job.cell, quote(f"{job.tool_dir}/list")
            wanted = cell.workers * cell.files_per_worker
            lines += [
                f"find {quote(job.dataset_dir)} -type f -size {cell.file_size_bytes}c | sort >{listed}",
                f"found=$(wc -l <{listed})",
                f'[ "$found" = {wanted} ] || {{ echo "expected {wanted} whole files, found $found" >&2; exit 1; }}',
            ]
            for worker in range(1, cell.workers + 1):
                lines.append(f"shuf --random-source=<(yes {worker}) {listed} >{listed}-w{worker:02d}")
        return [HostCommand(job.driver.name, script="\n".join(lines), deadline_s=job.deadline_s)]

    def command(self, job: Job) -> HostCommand:
        cell, starts = job.cell, []
        reads = self.needs_files(cell.operation)
        until = f'[ "$files" -lt {cell.files_per_worker} ] || break'
        if cell.runtime_s is not None:
            until = '[ "$(date +%s)" -lt "$stop" ] || break'
        record = cell.record_size_bytes or cell.file_size_bytes
        for worker, (host, folder) in enumerate(job.places, start=1):
            place = quote(folder)
            loop = (
                _READ.format(until=until, complain=_COMPLAIN)
                if reads
                else _CREATE.format(
                    folder=place,
                    tree=FILES * DIRECTORIES,
                    each=FILES,
                    directories=DIRECTORIES,
                    record=record,
                    count=cell.file_size_bytes // record,
                    sync=":" if NO_SYNC in cell.options else "sync",
                    until=until,
                    complain=_COMPLAIN,
                )
            )
            counted = "" if reads else f"wrong=$(find {place} -type f ! -size {cell.file_size_bytes}c | wc -l)"
            script = ("mapfile -t list\n" if reads else "") + _BEGIN.format(seconds=round(cell.runtime_s or 0))
            script += loop + _END.format(worker=worker, host=host.name, counted=counted)
            words = quote(join(("bash", "-c", script)))
            source = quote(f"{job.tool_dir}/list-w{worker:02d}") if reads else "/dev/null"
            output = quote(f"{job.tool_dir}/loop-w{worker:02d}.txt")
            starts.append(f"{quote(job.ssh_wrapper)} {quote(host.name)} {words} >{output} 2>&1 <{source}")
        return job.at_once(starts)

    def outputs(self, job: Job) -> tuple[str, ...]:
        return tuple(f"{job.tool_dir}/loop-w{worker:02d}.txt" for worker in range(1, job.cell.workers + 1))

    def parse(self, folder: Path, cell: Cell) -> Measurement:
        """The files of all workers by the runtime, or by the longest worker where there is none."""
        paths = sorted(folder.glob("loop-w*.txt"))
        operation: Literal["create", "read"] = "read" if self.needs_files(cell.operation) else "create"
        if not paths:
            raise ParseError("expected the output of a worker, loop-w01.txt, found none", file=folder)
        base = WorkloadRecord(
            tool=self.name,
            tool_version=None,
            source=Source(str(paths[0]), 1),
            operation=operation,
            label=self.name,
            workers=len(paths),
            file_size_bytes=cell.file_size_bytes,
            record_size_bytes=cell.record_size_bytes,
        )
        workers = [_worker(base, number, path, cell) for number, path in enumerate(paths, start=1)]
        reasons = tuple(reason for worker in workers for reason in worker.reasons)
        files = sum(worker.files or 0 for worker in workers)
        times = [worker.elapsed_s or 0.0 for worker in workers]
        seconds = cell.runtime_s or max(times)
        whole = not reasons and seconds > 0
        record = replace(
            base,
            files=files,
            files_per_s=files / seconds if whole else None,
            throughput_bytes_per_s=files * cell.file_size_bytes / seconds if whole else None,
            latency_mean_s=sum(times) / files if whole else None,
            elapsed_s=max(times) if whole else None,
            valid=whole,
            reasons=reasons,
        )
        return held_against(cell, record, workers)


def _worker(base: WorkloadRecord, number: int, path: Path, cell: Cell) -> WorkerRecord:
    text = read_text(path)
    found = _DONE.search(text)
    if found is None or int(found["worker"]) != number:
        said = text.strip().splitlines()[-1:] or ["nothing"]
        raise ParseError(f"expected the last line of worker {number}, found {said[0][:200]!r}", file=path)
    files, seconds = int(found["files"]), float(found["end"]) - float(found["start"])
    failed, wrong = int(found["failed"]), int(found["wrong"])
    faults = {
        f"{failed} of {files} files failed: {text.splitlines()[0][:200]}": failed > 0,
        f"{wrong} files have another size" if cell.operation == "create" else f"{wrong} drops were refused": wrong > 0,
        "no file was done": files == 0 or seconds <= 0,
        f"expected {cell.runtime_s} s, found {seconds:.1f}": seconds < (cell.runtime_s or 0.0) - 1.0,
    }
    reasons = tuple(incomplete(f"worker {number}: {fault}") for fault, there in faults.items() if there)
    rate = files / seconds if files and seconds > 0 else None
    return worker_of(
        base,
        worker=number,
        host=found["host"],
        files=files,
        bytes=files * cell.file_size_bytes,
        elapsed_s=seconds if seconds > 0 else None,
        files_per_s=rate,
        throughput_bytes_per_s=rate and rate * cell.file_size_bytes,
        valid=not reasons,
        reasons=reasons,
        details={"start_s": float(found["start"])},
    )


FILE_LOOP = FileLoop(
    name="file-loop",
    operations=(
        Operation("create", "write", metric="files_per_s"),
        Operation("read", "read", needs_files=True, metric="files_per_s"),
    ),
    options={NO_SYNC: None},
    programs=(
        Program("dd", "coreutils", ("--version",), "9.1", frozenset({"client"}), required=False),
        Program("shuf", "coreutils", ("--version",), "9.1", frozenset({"client"}), required=False),
    ),
    takes_runtime=True,
    measured_part="busiest",
)
