"""smallfile over several hosts: small files, create and read.

What was learnt from its code and by running 3.2: it starts ``smallfile_remote.py`` from the same path on every host of
``--host-set`` with ``ssh -x -o StrictHostKeyChecking=no``, found by PATH, so an own ``ssh`` in front of PATH can keep
the check of host keys. It removes the synchronisation directory itself, and waits 2 s when it was there. The starting
gate's time-out grows with the number of directories over ``--min-dirs-per-sec``: 1 gives slow disks time, and changes
nothing that is measured. A create goes on until all files are there; its count stops when the first thread is done.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from glusterlab.errors import ParseError, WorkloadError
from glusterlab.hosts.quoting import join, quote
from glusterlab.reasons import Reason
from glusterlab.units import MIB
from glusterlab.workloads.base import HostCommand, Job, WorkerResult, WorkloadResult, read_text

if TYPE_CHECKING:
    from glusterlab.spec.cell import Cell

MIN_PERCENT_DONE = 70.0
"""smallfile's own threshold: below it, too few files were done before the first thread finished."""

NEVER_S = 1e8
"""What smallfile prints as the elapsed time of a thread that never completed."""

FILE_KB = 1024
"""Bytes in smallfile's KB."""

FILES_PER_DIR = 100
"""smallfile's default."""

DIRS_PER_DIR = 10
"""smallfile's default."""

PREFIX = "glusterlab"


class _Loose(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class Stats(_Loose):
    """Counters as smallfile's JSON has them, of a thread, a host, or all: `elapsed` in s, `mib_per_s` in MiB/s."""

    elapsed: float
    files: int
    records: int = 0
    files_per_s: float = Field(default=0.0, validation_alias="filesPerSec")
    mib_per_s: float | None = Field(default=None, validation_alias="MiBps")
    status: str | None = None


class HostStats(Stats):
    """Counters of one host, and of its threads by number."""

    thread: dict[str, Stats]


class Results(Stats):
    """The ``results`` of smallfile's JSON."""

    host: dict[str, HostStats] = {}
    thread: dict[str, Stats] = {}
    percent_done: float = Field(validation_alias="pctFilesDone")
    start_time: float | None = Field(default=None, validation_alias="startTime")


class Params(_Loose):
    """The ``params`` of smallfile's JSON; `file_size` in KB of 1,024 bytes."""

    version: str
    operation: str
    files_per_thread: int
    threads: int
    file_size: int


class Report(_Loose):
    """The file that ``--output-json`` names."""

    params: Params
    results: Results


def parse_json(text: str) -> Report:
    """Read what smallfile wrote for ``--output-json``, of any version that we have seen.

    Raises
    ------
    ParseError
        When it is no JSON or lacks what a result needs.
    """
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ParseError(f"expected smallfile's JSON, found damage: {error}") from error
    results = data.get("results") if isinstance(data, dict) else None
    if isinstance(results, dict):
        _rename(results)
    try:
        return Report.model_validate(data)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        key = ".".join(str(part) for part in first["loc"])
        raise ParseError(f"expected smallfile's JSON: {key}: {first['msg']}") from error


def _rename(stats: dict[str, object]) -> None:
    # files-per-sec in older versions, filesPerSec in newer ones
    if "files-per-sec" in stats:
        stats.setdefault("filesPerSec", stats["files-per-sec"])
    for name in ("host", "thread"):
        inner = stats.get(name)
        for entry in inner.values() if isinstance(inner, dict) else ():
            if isinstance(entry, dict):
                _rename(entry)


@dataclass(frozen=True)
class ThreadLine:
    """One thread's line of the text output: `elapsed` in s, None where the thread never completed."""

    host: str
    thread: str
    elapsed: float | None
    files: int | None
    records: int | None
    status: str


@dataclass
class TextRun:
    """One run as smallfile prints it. What was not printed is None, never 0.

    Attributes
    ----------
    version, operation : str or None
    file_size_kb, record_size_kb, threads, files, iops_line : int or None
        `threads` and `files` are totals; `iops_line` is a count in version 3.1 and a rate in 3.2.
    percent_done, elapsed_s, files_per_s, iops, mib_per_s, data_gib : float or None
    lines : list of ThreadLine
    """

    version: str | None = None
    operation: str | None = None
    file_size_kb: int | None = None
    record_size_kb: int | None = None
    threads: int | None = None
    files: int | None = None
    iops_line: int | None = None
    percent_done: float | None = None
    percent_min: float | None = None
    elapsed_s: float | None = None
    files_per_s: float | None = None
    iops: float | None = None
    mib_per_s: float | None = None
    data_gib: float | None = None
    lines: list[ThreadLine] = field(default_factory=list)


_THREAD = re.compile(
    r"host = (?P<host>\S+),thr = (?P<thread>\w+),elapsed = (?P<elapsed>[0-9.e+-]+|None),"
    r"files = (?P<files>\d+|None),records = (?P<records>\d+|None),status = (?P<status>.*\S)"
)
_TEXT_FIELDS: tuple[tuple[str, type, re.Pattern[str]], ...] = (
    ("version", str, re.compile(r"\s*version : (\S+)")),
    ("operation", str, re.compile(r"\s*operation : (\S+)")),
    ("file_size_kb", int, re.compile(r"\s*file size \(KB\) : (\d+)")),
    ("record_size_kb", int, re.compile(r"\s*record size \(KB, 0 = maximum\) : (\d+)")),
    ("threads", int, re.compile(r"total threads = (\d+)")),
    ("files", int, re.compile(r"total files = (\d+)")),
    ("iops_line", int, re.compile(r"total IOPS = (\d+)")),
    ("data_gib", float, re.compile(r"total data =\s*([0-9.]+) GiB")),
    ("percent_done", float, re.compile(r"\s*([0-9.]+)% of requested files processed")),
    (
        "percent_min",
        float,
        re.compile(r".*% of requested files processed, (?:warning threshold|minimum) is\s+([0-9.]+)"),
    ),
    ("elapsed_s", float, re.compile(r"elapsed time =\s*([0-9.]+)")),
    ("files_per_s", float, re.compile(r"files/sec = ([0-9.]+)")),
    ("iops", float, re.compile(r"IOPS = ([0-9.]+)")),
    ("mib_per_s", float, re.compile(r"MiB/sec = ([0-9.]+)")),
)


def parse_text(text: str) -> list[TextRun]:
    """Read smallfile's text output; a new run starts at its line ``version :``.

    Returns
    -------
    list of TextRun
        Empty when the text holds no run.
    """
    runs: list[TextRun] = []
    for line in text.splitlines():
        if _TEXT_FIELDS[0][2].match(line):
            runs.append(TextRun())
        if not runs:
            continue
        run = runs[-1]
        if thread := _THREAD.match(line):
            run.lines.append(_thread_line(thread))
            continue
        for name, kind, pattern in _TEXT_FIELDS:
            if match := pattern.match(line):
                setattr(run, name, kind(match[1]))
    return runs


def _thread_line(match: re.Match[str]) -> ThreadLine:
    def maybe(name: str) -> int | None:
        return None if match[name] == "None" else int(match[name])

    elapsed = None if match["elapsed"] == "None" else float(match["elapsed"])
    return ThreadLine(match["host"], match["thread"], elapsed, maybe("files"), maybe("records"), match["status"])


class Smallfile:
    """smallfile's multi-host mode, also for a single worker."""

    tool = "smallfile"
    operations = ("create", "read")

    def needs_files(self, operation: str) -> bool:
        """A read reads what a create of the same dataset left."""
        return operation == "read"

    def startup_s(self, workers: int) -> float:
        """Measured with 3.2: 7.5 s of synchronisation, and 0.1 s for each host, of which 12 are assumed at most."""
        return 7.5 + 0.1 * min(workers, 12)

    def not_runnable(self, cell: Cell, clients: int) -> str | None:
        """Why not: the workers do not spread evenly, or sizes that smallfile cannot be told."""
        if clients < 1:
            return "the cluster has no client"
        if cell.workers > clients and cell.workers % clients:
            each = "smallfile starts the same number of threads on each host"
            return f"{each}: {cell.workers} workers cannot be spread over {clients} clients"
        if cell.file_size_bytes % FILE_KB or (cell.record_size_bytes or FILE_KB) % FILE_KB:
            return "smallfile takes sizes in whole KiB"
        return None

    def _spread(self, job: Job) -> tuple[list[str], int]:
        reason = self.not_runnable(job.cell, len(job.clients))
        if reason is not None:
            raise WorkloadError(reason)
        hosts = [host.name for host in job.clients[: job.cell.workers]]
        return hosts, job.cell.workers // len(hosts)

    def _sync_dir(self, job: Job) -> str:
        # smallfile removes this directory itself, so it must hold nothing else
        parent = job.shared_dir if job.shared_dir is not None else job.dataset_dir
        return f"{parent}/smallfile-sync"

    def _json(self, job: Job) -> str:
        return f"{job.tool_dir}/output.json"

    def uploads(self, job: Job) -> dict[str, str]:
        """The ssh that smallfile finds first."""
        return {job.ssh_wrapper: job.ssh_wrapper_text()}

    def prepare(self, job: Job) -> list[HostCommand]:
        """Before a create the dataset's directories are made afresh; before a read its files are counted.

        smallfile makes missing directories outside its measured time, but gives itself little time for it: a directory
        of a large dispersed volume is one on each of its bricks.

        Counted, not looked at one by one: that would cost as much as the read. smallfile itself fails at a short file.
        """
        hosts, threads = self._spread(job)
        cell = job.cell
        script = [
            join(("chmod", "700", job.ssh_wrapper)),
            join(("rm", "-rf", self._json(job), self._sync_dir(job))),
        ]
        if cell.operation == "create":
            script += [join(("rm", "-rf", job.dataset_dir)), join(("mkdir", "-p", job.dataset_dir))]
            script.append(_make_directories(job.dataset_dir, hosts, threads, cell.files_per_worker))
        else:
            wanted = threads * cell.files_per_worker
            for host in hosts:
                folder = f"{job.dataset_dir}/file_srcdir/{host}"
                script.append(
                    f"found=$(find {quote(folder)} -type f | wc -l)\n"
                    f'[ "$found" = {wanted} ] || '
                    f'{{ echo {quote(folder)}": expected {wanted} files, found $found" >&2; exit 1; }}'
                )
        if job.shared_dir is not None:
            script.append(join(("mkdir", "-p", job.shared_dir)))
        return [HostCommand(job.driver.name, script="set -e\n" + "\n".join(script), deadline_s=job.deadline_s)]

    def command(self, job: Job) -> HostCommand:
        """The guide's flags (appendix A), ``--output-json``, and a patient starting gate."""
        if job.smallfile_dir is None:
            raise WorkloadError("expected a smallfile checkout on the clients, found none")
        hosts, threads = self._spread(job)
        cell = job.cell
        record = cell.record_size_bytes
        argv = (
            *("python3", f"{job.smallfile_dir}/smallfile_cli.py", "--operation", cell.operation),
            *("--top", job.dataset_dir, "--network-sync-dir", self._sync_dir(job), "--host-set", ",".join(hosts)),
            *("--threads", str(threads), "--files", str(cell.files_per_worker)),
            *("--file-size", str(cell.file_size_bytes // FILE_KB)),
            *(() if record is None else ("--record-size", str(record // FILE_KB))),
            *("--prefix", PREFIX, "--stonewall", "Y", "--response-times", "N", "--min-dirs-per-sec", "1"),
            *("--output-json", self._json(job), *cell.options),
        )
        # words of the script, not an environment variable: the PATH of the host must stay behind the wrapper's folder
        path = f"PATH={quote(job.ssh_wrapper.rpartition('/')[0])}:$PATH"
        script = f"cd {quote(job.tool_dir)} && {path} exec {join(argv)}"
        return HostCommand(job.driver.name, script=script, deadline_s=job.deadline_s)

    def outputs(self, job: Job) -> tuple[str, ...]:
        """The JSON report."""
        return (self._json(job),)

    def parse(self, folder: Path, cell: Cell) -> WorkloadResult:
        """Read ``output.json``; where there is none, ``stdout.txt`` and ``stderr.txt`` say why.

        Raises
        ------
        ParseError
            When there is no result.
        """
        path = folder / "output.json"
        if not path.exists():
            raise ParseError(f"smallfile wrote no result{_complaint(folder)}", file=path)
        try:
            report = parse_json(read_text(path))
        except ParseError as error:
            raise ParseError(error.message, file=path) from error
        return _result(report, cell)


def _make_directories(dataset_dir: str, hosts: list[str], threads: int, files: int) -> str:
    # smallfile nests directories from the eleventh of a thread on; those it makes itself
    last = min(math.ceil(files / FILES_PER_DIR), DIRS_PER_DIR - 1)
    words = " ".join(quote(host) for host in hosts)
    trees = " ".join(f"{quote(dataset_dir)}/{tree}" for tree in ("file_srcdir", "file_dstdir"))
    return (
        f"for host in {words}; do for thread in $(seq -f %02g 0 {threads - 1}); do "
        f"for dir in $(seq -f %03g 0 {last}); do\n"
        f'printf "%s/$host/thrd_$thread/d_$dir\\n" {trees}\n'
        "done; done; done | xargs -d '\\n' -P 8 -n 8 mkdir -p"
    )


def _complaint(folder: Path) -> str:
    for name in ("stdout.txt", "stderr.txt"):
        try:
            lines = read_text(folder / name).splitlines()
        except ParseError:
            continue
        said = [line.strip() for line in lines if re.search(r"ERR|Error|Exception|rror:|starting gate within", line)]
        if said:
            return f"; it said: {said[-1][:200]}"
    return ""


def _result(report: Report, cell: Cell) -> WorkloadResult:
    results = report.results
    size = report.params.file_size * FILE_KB
    # without --host-set there is no level of hosts
    threads = {host: stats.thread for host, stats in results.host.items()} or {"": results.thread}
    workers: list[WorkerResult] = []
    for host, by_name in threads.items():
        for name, thread in by_name.items():
            completed = 0 < thread.elapsed < NEVER_S
            rate = thread.files / thread.elapsed if completed else None
            workers.append(
                WorkerResult(
                    worker=len(workers) + 1,
                    host=host or None,
                    throughput_bytes_per_s=None if rate is None else rate * size,
                    files_per_s=rate,
                    bytes=thread.files * size,
                    files=thread.files,
                    elapsed_s=thread.elapsed if completed else None,
                    status=thread.status or ("ok" if completed else f"thread {name} never completed"),
                )
            )
    elapsed = results.elapsed if 0 < results.elapsed < NEVER_S else None
    rate = results.files_per_s if elapsed is not None and results.files_per_s > 0 else None
    throughput = None
    if rate is not None:
        throughput = results.mib_per_s * MIB if results.mib_per_s is not None else rate * size
    return WorkloadResult(
        tool=Smallfile.tool,
        tool_version=report.params.version,
        operation=report.params.operation,
        workers=len(workers),
        throughput_bytes_per_s=throughput,
        files_per_s=rate,
        elapsed_s=elapsed,
        worker_results=tuple(workers),
        problems=tuple(_problems(report, tuple(workers), cell)),
        measured_s=elapsed,
    )


def _problems(report: Report, workers: tuple[WorkerResult, ...], cell: Cell) -> Iterator[Reason]:
    params, results = report.params, report.results
    if results.elapsed >= NEVER_S or results.files_per_s <= 0:
        yield Reason(code="tool-failed", message=f"no result: {results.files} files done, status {results.status!r}")
    elif results.status not in (None, "Success"):
        yield Reason(code="tool-failed", message=f"smallfile's status is {results.status!r}")
    for worker in workers:
        if worker.status != "ok":
            yield Reason(code="tool-failed", message=f"worker {worker.worker}: {worker.status}", host=worker.host)
    if len(workers) != cell.workers:
        yield Reason(code="tool-incomplete", message=f"expected {cell.workers} workers, found {len(workers)}")
    if results.percent_done < MIN_PERCENT_DONE:
        message = f"{results.percent_done:.1f} % of the files were done when the first thread finished"
        yield Reason(code="tool-incomplete", message=f"{message}, expected {MIN_PERCENT_DONE:g} % at least")
    for name, wanted, found in (
        ("operation", cell.operation, params.operation),
        ("files per thread", cell.files_per_worker, params.files_per_thread),
        ("file size in KiB", cell.file_size_bytes // FILE_KB, params.file_size),
    ):
        if wanted != found:
            yield Reason(code="tool-incomplete", message=f"expected {name} {wanted}, found {found}")
