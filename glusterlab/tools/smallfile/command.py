"""smallfile over several hosts: small files, made, read, and what is done to their names.

What was learnt from its code and by running 3.2: it starts ``smallfile_remote.py`` from the same path on every host of
``--host-set`` with ``ssh -x -o StrictHostKeyChecking=no``, found by PATH, so an own ``ssh`` in front of PATH can keep
the check of host keys. It removes the synchronisation directory itself, and waits 2 s when it was there. The starting
gate's time-out grows with the number of directories over ``--min-dirs-per-sec``: 1 gives slow disks time, and changes
nothing that is measured. A create goes on until all files are there; its count stops when the first thread is done.
"""

import math
import re
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from glusterlab.errors import ParseError, WorkloadError
from glusterlab.shell import join, quote
from glusterlab.spec.cell import Cell
from glusterlab.spec.cluster import Cluster
from glusterlab.tools import base
from glusterlab.tools.document import Document, located, read_text
from glusterlab.tools.records import WorkerRecord
from glusterlab.tools.smallfile.records import read, recognise
from glusterlab.tools.smallfile.report import KB

FILES_PER_DIR, DIRS_PER_DIR = 100, 10  # smallfile's defaults
PREFIX = "glusterlab"
_SYNC = "smallfile-sync"
_MAKES_TREES = ("create", "mkdir")  # which look for their directories before what is measured: others do so in it
_SPENDING = ("chmod", "symlink", "rename", "delete")
_ERROR = re.compile(r"ERR|Exception|rror:|Error|starting gate within")

ADVICE = (
    "smallfile is not there: git clone https://github.com/distributed-system-analysis/smallfile, then name "
    "the checkout by smallfile.checkout in the cluster file or by GLUSTERLAB_SMALLFILE"
)


class Smallfile(base.VolumeTool):
    """smallfile's multi-host mode, also for a single worker."""

    def not_ready(self, cluster: Cluster) -> str | None:
        return None if self.checkout(cluster) is not None else ADVICE

    def checkout(self, cluster: Cluster) -> Path | None:
        return cluster.smallfile_checkout()

    def startup_s(self, workers: int) -> float:
        """Measured with 3.2: 7.5 s of synchronisation, and 0.1 s for each host, of which 12 are assumed at most."""
        return 7.5 + 0.1 * min(workers, 12)

    def not_runnable(self, cell: Cell, clients: int) -> str | None:
        """Why not: the workers do not spread evenly, or sizes that smallfile has no option for."""
        if clients < 1:
            return "the cluster has no client"
        if cell.workers > clients and cell.workers % clients:
            each = "smallfile starts the same number of threads on each host"
            return f"{each}: {cell.workers} workers cannot be spread over {clients} clients"
        if cell.files_per_worker < cell.mounts:
            return f"smallfile takes mounts in turn, file by file: {cell.mounts} need as many files per worker"
        if cell.file_size_bytes % KB or (cell.record_size_bytes or KB) % KB:
            return "smallfile takes sizes in whole KiB"
        return None

    def _spread(self, job: base.Job) -> tuple[list[str], int]:
        if reason := self.not_runnable(job.cell, len(job.clients)):
            raise WorkloadError(reason)
        hosts = [host.name for host in job.clients[: job.cell.workers]]
        return hosts, job.cell.workers // len(hosts)

    def prepare(self, job: base.Job) -> list[base.HostCommand]:
        """Before a create make directories, for which smallfile has little time; before a read count the files."""
        hosts, threads = self._spread(job)
        cell = job.cell
        folder, name = job.dataset_dir.rsplit("/", 1)
        left: tuple[str, ...] = ("gl_in_marked", folder, "gl_remove_entry", f"./{name}/{_SYNC}")
        if job.shared_dir is not None:
            left = ("gl_remove", job.shared_dir, _SYNC)
        script = [join(("chmod", "700", job.ssh_wrapper)), join(left)]
        if not self.needs_files(cell.operation):
            script += [job.emptied, join(("mkdir", "-p", job.dataset_dir))]
            script.append(_make_directories(job.dataset_dir, hosts, threads, cell.files_per_worker))
        else:
            # to look at them one by one would cost as much as the read; smallfile itself fails at a short file
            wanted = threads * cell.files_per_worker
            kind, what = ("d -name '*.d'", "directories") if cell.operation == "rmdir" else ("f", "files")
            for host in hosts:
                folder = f"{job.dataset_dir}/file_srcdir/{host}"
                script.append(
                    f"found=$(find {quote(folder)} -type {kind} | wc -l)\n"
                    f'[ "$found" = {wanted} ] || '
                    f'{{ echo {quote(folder)}": expected {wanted} {what}, found $found" >&2; exit 1; }}'
                )
            if self.by_operation[cell.operation].spends:
                mark = quote(f"{job.dataset_dir}/spent")
                script.append(f'[ ! -e {mark} ] || {{ echo {mark}": an earlier sample used them" >&2; exit 1; }}')
                script.append(f"touch {mark}")
        if job.shared_dir is not None:
            script.append(join(("mkdir", "-p", job.shared_dir)))
        return [base.HostCommand(job.driver.name, script="set -e\n" + "\n".join(script), deadline_s=job.deadline_s)]

    def command(self, job: base.Job) -> base.HostCommand:
        """The guide's flags (appendix A), ``--output-json``, and a patient starting gate."""
        hosts, threads = self._spread(job)
        cell, record = job.cell, job.cell.record_size_bytes
        # smallfile removes this directory itself, so it must hold nothing else
        sync_dir = f"{job.dataset_dir if job.shared_dir is None else job.shared_dir}/{_SYNC}"
        argv = (
            *("python3", f"{job.checkout_dir}/smallfile_cli.py", "--operation", cell.operation),
            # it takes the tops in turn, file by file
            *("--top", ",".join(job.datasets), "--network-sync-dir", sync_dir, "--host-set", ",".join(hosts)),
            *("--threads", str(threads), "--files", str(cell.files_per_worker)),
            *("--file-size", str(cell.file_size_bytes // KB)),
            *(() if record is None else ("--record-size", str(record // KB))),
            *("--prefix", PREFIX, "--stonewall", "Y", "--response-times", "N", "--min-dirs-per-sec", "1"),
            # the patience of its starting gate grows with the directories that it counts: it shall count one per worker
            *("--files-per-dir", str(_files_per_dir(cell.files_per_worker))),
            *("--output-json", *self.outputs(job), *cell.options),
        )
        # words of the script, not an environment variable: the PATH of the host must stay behind the wrapper's folder
        path = f"PATH={quote(job.ssh_wrapper.rpartition('/')[0])}:$PATH"
        looks = _looks(job, hosts) if cell.operation in _MAKES_TREES else ""
        script = f"cd {quote(job.tool_dir)} || exit 1\n{looks}{path} exec {join(argv)}"
        return base.HostCommand(job.driver.name, script=script, deadline_s=job.deadline_s)

    def outputs(self, job: base.Job) -> tuple[str, ...]:
        return (f"{job.tool_dir}/output.json",)

    def parse(self, folder: Path, cell: Cell) -> base.Measurement:
        """Read ``output.json``; where there is none, ``stdout.txt`` and ``stderr.txt`` say why."""
        path = folder / "output.json"
        if not path.exists():
            raise ParseError(f"smallfile wrote no result{_complaint(folder)}", file=path)
        with located(path):
            record, workers = base.of_operation(read(Document.open(path)), cell.operation)
        size, rate = record.file_size_bytes or 0, record.files_per_s
        if self.by_operation[cell.operation].direction != "none":
            workers = [_with_bytes(worker, size) for worker in workers]
            if record.throughput_bytes_per_s is None and rate is not None:
                record = replace(record, throughput_bytes_per_s=rate * size)
        found = base.held_against(cell, record, workers)
        if (threads_files := record.details.get("files_per_thread")) == cell.files_per_worker:
            return found
        problem = base.incomplete(f"expected files per thread {cell.files_per_worker}, found {threads_files}")
        return replace(found, problems=(*found.problems, problem))


def _with_bytes(worker: WorkerRecord, size: int) -> WorkerRecord:
    """Whole files of the known size are counted as their bytes: the JSON counts files and records only."""
    files, rate = worker.files or 0, worker.files_per_s
    throughput = None if rate is None else rate * size
    return replace(worker, bytes=files * size, files=files, throughput_bytes_per_s=throughput)


def _files_per_dir(files: int) -> int:
    # one directory for a worker with few files
    return min(files + 1, FILES_PER_DIR)


def _make_directories(dataset_dir: str, hosts: list[str], threads: int, files: int) -> str:
    # smallfile looks for one directory more than its files fill; from the eleventh of a thread on it makes them itself
    last = min(math.ceil(files / _files_per_dir(files)), DIRS_PER_DIR - 1)
    words = " ".join(quote(host) for host in hosts)
    trees = " ".join(f"{quote(dataset_dir)}/{tree}" for tree in ("file_srcdir", "file_dstdir"))
    return (
        f"for host in {words}; do for thread in $(seq -f %02g 0 {threads - 1}); do "
        f"for dir in $(seq -f %03g 0 {last}); do\n"
        f'printf "%s/$host/thrd_$thread/d_$dir\\n" {trees}\n'
        "done; done; done | xargs -d '\\n' -P 8 -n 8 mkdir -p"
    )


def _looks(job: base.Job, hosts: list[str]) -> str:
    # Two workers of few files have 5 s to begin, in which they look for their directories; on a disk of 620 ms a
    # request that takes longer. So each host looks for them before. One that does not answer is no failure yet.
    lines, ssh = [], quote(job.ssh_wrapper)
    for host in hosts:
        places = " ".join(f"{quote(folder)}/file_*dir/{quote(host)}/thrd_*/d_*" for folder in job.datasets)
        lines.append(f"{ssh} {quote(host)} {quote('stat -t ' + places)} </dev/null >/dev/null 2>&1 &")
    return "\n".join([*lines, "wait\n"])


def _complaint(folder: Path) -> str:
    for name in ("stdout.txt", "stderr.txt"):
        with suppress(ParseError):
            if errors := [line.strip() for line in read_text(folder / name).splitlines() if _ERROR.search(line)]:
                return f"; it said: {errors[-1][:200]}"
    return ""


SMALLFILE = Smallfile(
    name="smallfile",
    recognise=recognise,
    read=read,
    operations=(
        base.Operation("create", "write", metric="files_per_s"),
        base.Operation("read", "read", needs_files=True, metric="files_per_s"),
        base.Operation("append", "write", needs_files=True, metric="files_per_s", spends=True),
        *(base.Operation(name, "none", needs_files=True, metric="files_per_s") for name in ("stat", "ls-l", "readdir")),
        *(base.Operation(name, "none", needs_files=True, metric="files_per_s", spends=True) for name in _SPENDING),
        base.Operation("mkdir", "none", metric="files_per_s", spends=True),
        base.Operation("rmdir", "none", needs_files=True, metric="files_per_s", made_by="mkdir", spends=True),
    ),
    options={
        **dict.fromkeys(("--fsync", "--finish", "--incompressible", "--permute-host-dirs"), "[YyNn]"),
        **dict.fromkeys(("--auto-pause", "--record-ctime-size"), "[YyNn]"),
        **dict.fromkeys(("--pause", "--xattr-count", "--xattr-size"), "[0-9]+"),
        "--file-size-distribution": "exponential|fixed",
    },
    programs=(
        base.Program(
            *("python3", "python3", ("--version",), "3.11.2", frozenset({"client"})), required=False, runs_in="Python"
        ),
    ),
    processes={r"smallfile_(cli|remote)\.py": "python.*|smallfile.*"},
    # it waits so long before it reads its workers' results: by its own startTime 1.2 to 1.5 s in 232 samples; before
    # its gate opens its workers make directories, which looks like the workload
    measured_part="end",
    # at the gate, which a worker looks for every so often
    starts_together=True,
    tail_s=1.2,
)
