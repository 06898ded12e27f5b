"""file-loop: shell loops that make or read files one by one until a time is over, as an administrator would test.

Each file is made by a dd of its own and flushed by ``sync``, and ``date`` says whether the time is over; or it is read
by ``cp``, and the client drops its caches. So the start of programs is part of every file. The clock has whole seconds,
so a worker may end within the last one. Reads take the files of all workers, each worker in an order of its own, round
and round. `mixed` is a stress test, writers and readers at once: it has passed when each file of each worker was done,
and no worker stood still for a minute. `delete` takes ``rm -rf`` up to five times, until nothing is left. `untar` has
tar unpack an archive of such files, which lies on the client's own disk, and flushes nothing.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal, cast

from glusterlab.errors import ParseError
from glusterlab.shell import HostCommand, join, quote
from glusterlab.tools.base import Job, Measurement, Operation, Program, VolumeTool, held_against, uneven
from glusterlab.tools.document import read_text
from glusterlab.tools.records import Source, WorkerRecord, WorkloadRecord, incomplete, worker_of

if TYPE_CHECKING:
    from glusterlab.spec.cell import Cell
    from glusterlab.spec.cluster import Host

FILES, DIRECTORIES = 100, 100
NO_SYNC, WRITERS, APART = "--no-sync", "--writers", "--apart"
PASSES = 5  # of rm, at the most

IDLE_S = 60  # without a file, after which a worker of a stress test stands still
_COUNTED = re.compile(r"^(?P<what>idle|passes|minute \d+): (?P<count>\d+)(?: files)?$", re.MULTILINE)
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
    {tick}
    {until}
done
"""
_READ = """\
while :; do
    said=$(cp "${{list[files % ${{#list[@]}}]}}" /dev/null 2>&1) || {complain}
    echo 3 >/proc/sys/vm/drop_caches || wrong=$((wrong + 1))
    files=$((files + 1))
    {tick}
    {until}
done
"""
_TICK = """\
now=$EPOCHSECONDS at=$(((EPOCHSECONDS - ${begin%.*}) / 60))
    [ "$at" -eq "$minute" ] || { echo "minute $((minute + 1)): $in files"; minute=$at in=0; }
    [ $((now - last)) -le "$idle" ] || idle=$((now - last))
    in=$((in + 1)) last=$now"""
_FIRST_TICK = "minute=0 in=0 idle=0 last=$EPOCHSECONDS\n"
_LAST_TICK = """
[ $((EPOCHSECONDS - last)) -le "$idle" ] || idle=$((EPOCHSECONDS - last))
echo "minute $((minute + 1)): $in files"
echo "idle: $idle"
"""
_ARCHIVE = """\
set -eo pipefail
tree=$(mktemp -d {archive}.XXXXXX)
trap 'rm -rf "$tree"' EXIT
for ((n = 0; n < {files}; n += {each})); do
    mkdir "$tree/$n"
    left=$(({files} - n))
    bytes=$(((left < {each} ? left : {each}) * {size}))
    head -c "$bytes" /dev/zero | split -b {size} -a 4 -d - "$tree/$n/"
done
tar -cf {archive} -C "$tree" .
"""
_UNTAR = "said=$(tar -xf {archive} -C {folder} 2>&1) || {complain}\n"
_UNPACKED = """\
files=$(find {folder} -type f -size {size}c | wc -l) wrong=$(({files} - files))
rm -f {archive}
"""
_DELETE = """\
passes=0
while [ -e {folder} ] && [ "$passes" -lt {passes} ]; do
    passes=$((passes + 1))
    said=$(rm -rf {folder} 2>&1) || {{ failed=$((failed + $(echo "$said" | wc -l))); echo "$said" | head -n 1; }}
done
"""
_DELETED = """\
wrong=$(find {folder} -type f 2>/dev/null | wc -l) files=$(({files} - wrong))
echo "passes: $passes"
"""


class FileLoop(VolumeTool):
    """A loop of a shell for each worker."""

    def not_runnable(self, cell: Cell, clients: int) -> str | None:
        operation, writers = cell.operation, _writers(cell)
        if operation in ("read", "mixed") and cell.runtime_s is None:
            return f"file-loop's {operation} goes on for a runtime, such as 10 min"
        if operation in ("delete", "untar") and cell.runtime_s is not None:
            return f"file-loop's {operation} ends when its files are done: leave 'runtime' out"
        if operation != "mixed" and (writers or APART in cell.options):
            return f"{WRITERS} and {APART} are of mixed, and this is {operation}: give them to a workload of its own"
        if operation == "mixed" and not 0 < writers < cell.workers:
            return f"mixed has writers and readers: expected {WRITERS} N below its {cell.workers} workers"
        if operation == "mixed" and APART in cell.options and clients < 2:
            return f"{APART} has writers on one client and readers on the others, and there is one"
        return uneven(cell, clients)

    def prepare(self, job: Job) -> list[HostCommand]:
        """Archives are made; before a read the files of all workers are listed, in an order for each worker."""
        archives: list[HostCommand] = []
        lines = ["set -e", join(("chmod", "700", job.ssh_wrapper))]
        if not self.needs_files(job.cell.operation):
            lines += [job.emptied, join(("mkdir", "-p", *job.folders))]
        if job.cell.operation == "untar":
            facts = {"files": job.cell.files_per_worker, "each": FILES, "size": job.cell.file_size_bytes}
            for worker, (host, _) in enumerate(job.places, start=1):
                script = _ARCHIVE.format(archive=_archive(job, worker), **facts)
                archives.append(HostCommand(host.name, script=script, deadline_s=job.deadline_s))
        elif self.needs_files(job.cell.operation):
            cell, listed = job.cell, quote(f"{job.tool_dir}/list")
            wanted = cell.workers * cell.files_per_worker
            lines += [
                f"find {quote(job.dataset_dir)} -type f -size {cell.file_size_bytes}c | sort >{listed}",
                f"found=$(wc -l <{listed})",
                f'[ "$found" = {wanted} ] || {{ echo "expected {wanted} whole files, found $found" >&2; exit 1; }}',
            ]
            for worker in range(1, cell.workers + 1):
                lines.append(f"shuf --random-source=<(yes {worker}) {listed} >{listed}-w{worker:02d}")
        return [HostCommand(job.driver.name, script="\n".join(lines), deadline_s=job.deadline_s), *archives]

    def command(self, job: Job) -> HostCommand:
        cell, starts = job.cell, []
        until = f'[ "$files" -lt {cell.files_per_worker} ] || break'
        if cell.runtime_s is not None:
            until = '[ "$(date +%s)" -lt "$stop" ] || break'
        shared = {"until": until, "complain": _COMPLAIN, "tick": _TICK if cell.operation == "mixed" else ""}
        record = cell.record_size_bytes or cell.file_size_bytes
        for worker, (host, folder) in enumerate(_places(job), start=1):
            role, listed, counted = _role(cell, worker), "/dev/null", ""
            place = quote(f"{folder}/made" if cell.operation == "mixed" else folder)
            if role == "delete":
                loop = _DELETE.format(folder=place, passes=PASSES)
                counted = _DELETED.format(folder=place, files=cell.files_per_worker)
            elif role == "untar":
                facts = {"folder": place, "archive": _archive(job, worker)}
                loop = _UNTAR.format(complain=_COMPLAIN, **facts)
                counted = _UNPACKED.format(size=cell.file_size_bytes, files=cell.files_per_worker, **facts)
            elif role == "read":
                loop = _READ.format(**shared)
                listed = quote(f"{job.tool_dir}/list-w{worker:02d}")
            else:
                loop = _CREATE.format(
                    folder=place,
                    tree=FILES * DIRECTORIES,
                    each=FILES,
                    directories=DIRECTORIES,
                    record=record,
                    count=cell.file_size_bytes // record,
                    sync=":" if NO_SYNC in cell.options else "sync",
                    **shared,
                )
                counted = f"wrong=$(find {place} -type f ! -size {cell.file_size_bytes}c | wc -l)"
            script = ("mapfile -t list\n" if role == "read" else "") + _BEGIN.format(seconds=round(cell.runtime_s or 0))
            if cell.operation == "mixed":
                script, counted = script + _FIRST_TICK, _LAST_TICK + counted
            script += loop + _END.format(worker=worker, host=host.name, counted=counted)
            words = quote(join(("bash", "-c", script)))
            output = quote(f"{job.tool_dir}/loop-w{worker:02d}.txt")
            starts.append(f"{quote(job.ssh_wrapper)} {quote(host.name)} {words} >{output} 2>&1 <{listed}")
        return job.at_once(starts)

    def outputs(self, job: Job) -> tuple[str, ...]:
        return tuple(f"{job.tool_dir}/loop-w{worker:02d}.txt" for worker in range(1, job.cell.workers + 1))

    def parse(self, folder: Path, cell: Cell) -> Measurement:
        """The files of all workers by the runtime, or by the longest worker where there is none."""
        paths = sorted(folder.glob("loop-w*.txt"))
        operation = cast("Literal['create', 'read', 'mixed', 'delete', 'untar']", cell.operation)
        if not paths:
            raise ParseError("expected the output of a worker, loop-w01.txt, found none", file=folder)
        base = WorkloadRecord(
            tool=self.name,
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
            throughput_bytes_per_s=files * cell.file_size_bytes / seconds if whole and operation != "delete" else None,
            latency_mean_s=sum(times) / files if whole else None,
            elapsed_s=max(times) if whole else None,
            valid=whole,
            reasons=reasons,
        )
        return held_against(cell, record, workers)


def _writers(cell: Cell) -> int:
    """How many workers of a stress test write: the first ones."""
    words = " ".join(cell.options).replace("=", " ").split()
    return int(words[words.index(WRITERS) + 1]) if WRITERS in words else 0


def _archive(job: Job, worker: int) -> str:
    """Where a worker's archive lies on its client, quoted."""
    return quote(f"{job.work_dir}/archive-w{worker:02d}.tar")


def _role(cell: Cell, worker: int) -> str:
    if cell.operation != "mixed":
        return cell.operation
    return "create" if worker <= _writers(cell) else "read"


def _places(job: Job) -> list[tuple[Host, str]]:
    """Client and folder of each worker; with `APART` writers are on the first client, and readers on the others."""
    if job.cell.operation != "mixed" or APART not in job.cell.options:
        return job.places
    writers, (first, *others) = _writers(job.cell), job.clients
    hosts = [others[n % len(others)] if n >= 0 else first for n in range(-writers, job.cell.workers - writers)]
    return [(host, folder) for host, (_, folder) in zip(hosts, job.places, strict=True)]


def _worker(base: WorkloadRecord, number: int, path: Path, cell: Cell) -> WorkerRecord:
    text, role = read_text(path), _role(cell, number)
    found = _DONE.search(text)
    if found is None or int(found["worker"]) != number:
        said = text.strip().splitlines()[-1:] or ["nothing"]
        raise ParseError(f"expected the last line of worker {number}, found {said[0][:200]!r}", file=path)
    files, seconds = int(found["files"]), float(found["end"]) - float(found["start"])
    failed, wrong = int(found["failed"]), int(found["wrong"])
    counted = {each["what"]: int(each["count"]) for each in _COUNTED.finditer(text)}
    idle, passes = counted.pop("idle", 0), counted.pop("passes", 1)
    minutes = {what.removeprefix("minute "): count for what, count in counted.items()}
    first = text.splitlines()[0][:200]
    kinds = {"create": "files have another size", "read": "drops were refused", "delete": "files are left"}
    what = (kinds | {"untar": "files are not there, or have another size"})[role]
    several = {"delete": f"rm failed {failed} times", "untar": "tar failed"}
    of = several.get(role, f"{failed} of {files} files failed")
    faults = {
        f"{of}: {first}": failed,
        f"{wrong} {what}": wrong,
        f"took {passes} passes": passes != 1,
        f"did no file for {idle} s": idle >= IDLE_S,
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
        throughput_bytes_per_s=rate and (None if role == "delete" else rate * cell.file_size_bytes),
        valid=not reasons,
        reasons=reasons,
        details={"start_s": float(found["start"]), "role": role, "idle_s": idle, "passes": passes, "minutes": minutes},
    )


FILE_LOOP = FileLoop(
    name="file-loop",
    operations=(
        Operation("create", "write", metric="files_per_s"),
        Operation("read", "read", needs_files=True, metric="files_per_s"),
        Operation("mixed", "mixed", needs_files=True, metric="files_per_s", spends=True),
        Operation("delete", "none", needs_files=True, metric="files_per_s", spends=True),
        Operation("untar", "write", metric="files_per_s", spends=True),
    ),
    options={NO_SYNC: None, WRITERS: "[1-9][0-9]{0,4}", APART: None},
    programs=(
        Program("dd", "coreutils", ("--version",), "9.1", frozenset({"client"}), required=False),
        Program("shuf", "coreutils", ("--version",), "9.1", frozenset({"client"}), required=False),
    ),
    takes_runtime=True,
)
