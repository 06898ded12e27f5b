"""fio on every client, through mounts or without: sequential and random read, write and mixed, by size or by time.

The driver starts one fio per client by ssh, over connections that are open, with a job of its own file for each worker.
fio's own client mode would need a server on every client that lets anybody run jobs as root. What was learnt by running
3.33: it takes a job's name for a file when a directory of that name is in its working directory, so each job names its
file; its JSON tells errors and short I/O, its exit code not all of them. Percentiles of several workers are those of
their merged histograms (``json+``).

With the access ``gfapi`` each worker is a GlusterFS client in its own process, by fio's engine of that name, from the
first server's volume file on; directories are made, and files looked at, through the mount of the driver. No page cache
of a client has any part in it, and what libgfapi itself keeps ends with the process, so each sample begins without;
caches of servers, and those of clients for other's sake, are dropped as for every access. Learnt by running 3.33: the
engine waits 2 s before it begins, outside of what is measured, and logs to /tmp/fio_gfapi.log of the client.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from itertools import accumulate
from math import fsum
from pathlib import Path
from typing import Any
from zlib import crc32

from glusterlab.errors import ParseError
from glusterlab.shell import join, quote
from glusterlab.spec.cell import Cell
from glusterlab.tools import base
from glusterlab.tools.document import Document, located, read_text
from glusterlab.tools.fio.options import measured
from glusterlab.tools.fio.records import read, read_jobs, recognise
from glusterlab.tools.fio.reports import error_line
from glusterlab.tools.records import WorkerRecord, WorkloadRecord, failed, worker_of

MODES = {
    "write": "write", "read": "read", "mixed": "rw", "random-write": "randwrite", "random-read": "randread",
    "random-mixed": "randrw",
}  # fmt: skip
ENGINE = "gfapi"
_PERCENTILES = {"latency_p50_s": 0.50, "latency_p95_s": 0.95, "latency_p99_s": 0.99}
_MAX_BUCKETS = 100_000
_SHOWN = 5


class Fio(base.VolumeTool):
    """fio on all clients, also for a single worker."""

    def not_runnable(self, cell: Cell, clients: int) -> str | None:
        if cell.files_per_worker != 1:
            return "fio works on one file per worker: leave files_per_worker out"
        if cell.access == "gfapi" and any(option.startswith("--ioengine") for option in cell.options):
            return "access 'gfapi' is an engine of fio itself: leave --ioengine out"
        return base.uneven(cell, clients)

    def _by_client(self, job: base.Job) -> dict[str, list[tuple[int, str]]]:
        """Number and file of each worker by client."""
        found: dict[str, list[tuple[int, str]]] = {}
        for worker, (host, folder) in enumerate(job.places, start=1):
            # the engine's paths begin at the root of the volume
            place = folder.removeprefix(job.mount_point) if job.cell.access == "gfapi" else folder
            found.setdefault(host.name, []).append((worker, f"{place}/fio.data"))
        return found

    def files(self, job: base.Job) -> list[str]:
        return [f"{folder}/fio.data" for folder in job.folders]

    def _arguments(self, job: base.Job, workers: list[tuple[int, str]]) -> tuple[str, ...]:
        cell = job.cell
        until = () if cell.runtime_s is None else ("--time_based=1", f"--runtime={round(cell.runtime_s * 1000)}ms")
        made = ("--allow_file_create=0",) if self.needs_files(cell.operation) else ("--end_fsync=1",)
        mixed = ("--unified_rw_reporting=1",) if "mixed" in cell.operation else ()
        engine = (f"--ioengine={ENGINE}", f"--volume={job.volume}", f"--brick={job.server}")
        jobs = [word for n, file in workers for word in (f"--name=w{n:02d}", "--filename=" + file.replace(":", "\\:"))]
        return (
            *("fio", "--output-format=json+", "--eta=never", "--name=global", f"--rw={MODES[cell.operation]}"),
            *(f"--size={cell.file_size_bytes}", f"--bs={cell.record_size_bytes}", "--fallocate=none"),
            *(*until, *made, *mixed, *cell.options, *(engine if cell.access == "gfapi" else ()), *jobs),
        )

    def command(self, job: base.Job) -> base.HostCommand:
        ssh, starts = quote(job.ssh_wrapper), []
        for host, workers in self._by_client(job).items():
            remote = quote(join(self._arguments(job, workers)))
            report = quote(f"{job.tool_dir}/fio-{host}.json")
            starts.append(f"{ssh} {quote(host)} {remote} >{report} </dev/null")
        return job.at_once(starts)

    def outputs(self, job: base.Job) -> tuple[str, ...]:
        return tuple(f"{job.tool_dir}/fio-{host}.json" for host in self._by_client(job))

    def parse(self, folder: Path, cell: Cell) -> base.Measurement:
        return measurement_of(folder, cell)


def measurement_of(folder: Path, cell: Cell) -> base.Measurement:
    """What the reports of all hosts in a ``workload/`` folder say together."""
    results: list[tuple[WorkerRecord, WorkloadRecord]] = []
    buckets: Counter[float] = Counter()
    for path in sorted(folder.glob("fio-*.json")):
        host = path.stem.removeprefix("fio-")
        with located(path), _what_fio_said(folder):
            for job, found in read_jobs(Document.open(path)):
                buckets.update(_latencies(job.data))
                name = job.name or ""
                number = int(name[1:]) if name[:1] == "w" and name[1:].isdecimal() else 0
                # of the host's own clock, before the ramp; early releases do not say it
                began, ramp = measured(job.data.get("job_start")), job.options.ramp_s or 0.0
                own: dict[str, Any] = {"run": 1, "host": host, "label": name, "worker": number, "files": 1}
                own |= {"files_per_s": None, "details": {} if began is None else {"start_s": began / 1000 + ramp}}
                results += [(worker_of(one, bytes=one.details.get("io_bytes"), **own), one) for one in found]
    if not results:
        raise ParseError("expected fio's report of each client, found none", file=folder)
    results.sort(key=lambda result: result[0].worker)
    workers = [worker for worker, _ in results]
    records = [record for _, record in results]
    bad = [reason.model_copy(update={"host": one.host}) for one in workers if not one.valid for reason in one.reasons]
    for name in ("stdout.txt", "stderr.txt") if not bad else ():
        with suppress(ParseError):
            if (said := error_line(read_text(folder / name))) is not None:
                bad.append(failed(f"fio said in {name}: {said}"))
    # each worker's mean latency weighs as much as it made calls
    calls = [(mean, one.details.get("total_ios") or 0) for one in records if (mean := one.latency_mean_s) is not None]
    total = sum(count for _, count in calls)
    record = replace(
        records[0],
        host=None,
        job=None,
        operation=cell.operation,  # type: ignore[arg-type]
        label=MODES[cell.operation],
        workers=len({worker.worker for worker in workers}),
        throughput_bytes_per_s=_sum(record.throughput_bytes_per_s for record in records),
        operations_per_s=_sum(record.operations_per_s for record in records),
        latency_mean_s=fsum(mean * count for mean, count in calls) / total if total else None,
        **_percentiles(buckets),
        elapsed_s=max((record.elapsed_s for record in records if record.elapsed_s), default=None),
        valid=not bad and all(worker.valid for worker in workers),
        reasons=tuple(dict.fromkeys(bad))[:_SHOWN],
    )
    return base.held_against(cell, record, workers)


@contextmanager
def _what_fio_said(folder: Path) -> Iterator[None]:
    """Say in a `ParseError` of the block what fio, or a shell that did not find it, complained of."""
    try:
        yield
    except ParseError as error:
        said = ""
        with suppress(ParseError):
            said = next((line for line in read_text(folder / "stderr.txt").splitlines() if "fio: " in line), "")
        if not said:
            raise
        raise ParseError(f"{error.message}; it said: {said.strip()[:200]}", **error.details) from error


def _sum(values: Iterator[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return fsum(known) if known else None


def _latencies(entry: dict[str, Any]) -> Counter[float]:
    """Calls by seconds of completion, of the buckets of the histograms of ``json+``."""
    found: Counter[float] = Counter()
    for direction in ("read", "write", "mixed"):
        values = entry.get(direction)
        latency = values.get("clat_ns") if isinstance(values, dict) else None
        bins = latency.get("bins") if isinstance(latency, dict) else None
        if isinstance(bins, dict) and len(bins) <= _MAX_BUCKETS:
            for nanoseconds, count in bins.items():
                if nanoseconds.isdecimal() and isinstance(count, int) and count > 0:
                    found[int(nanoseconds) / 1e9] += count
    return found


def _percentiles(buckets: Mapping[float, int]) -> dict[str, Any]:
    """The least bucket by which a share of all calls was done, as fio itself takes it."""
    ordered = sorted(buckets)
    done = list(accumulate(buckets[seconds] for seconds in ordered))
    least = {name: bisect_left(done, share * sum(buckets.values())) for name, share in _PERCENTILES.items()}
    return {name: ordered[place] if done else None for name, place in least.items()}


FIO = Fio(
    name="fio",
    startup=(3.0, 0.05),
    recognise=recognise,
    read=read,
    operations=(
        base.Operation("write", "write"),
        base.Operation("read", "read", needs_files=True),
        base.Operation("mixed", "mixed", needs_files=True),
        base.Operation("random-write", "write", random=True, needs_files=True, metric="operations_per_s"),
        base.Operation("random-read", "read", random=True, needs_files=True, metric="operations_per_s"),
        base.Operation("random-mixed", "mixed", random=True, needs_files=True, metric="operations_per_s"),
    ),
    options={
        "--ioengine": "sync|psync|vsync|pvsync|pvsync2|libaio|io_uring|posixaio|mmap",
        **dict.fromkeys(("--iodepth", "--fsync", "--fdatasync", "--rwmixread", "--thinktime", "--rate_iops"), "[0-9]+"),
        **dict.fromkeys(("--direct", "--norandommap", "--randrepeat", "--refill_buffers", "--invalidate"), "[01]"),
        **dict.fromkeys(("--buffer_compress_percentage", "--dedupe_percentage", "--randseed"), "[0-9]+"),
        **dict.fromkeys(("--rate", "--random_distribution"), base.VALUE),
        "--thread": None,
    },
    programs=(
        base.Program("fio", "fio", ("--version",), "fio-3.33", roles=frozenset({"client"}), required=False),
        base.Program(
            *(f"fio-{ENGINE}", "fio", (), "fio-3.33"),
            roles=frozenset({"client"}),
            required=False,
            serves="access gfapi",
            probe=("sh", "-c", f"fio --enghelp={ENGINE} && fio --version"),
        ),
    ),
    processes={"fio": "fio"},
    measured_part="onset",
    # reading with another record size, depth or engine than the write had is what it is for
    keyed_by=(),
    takes_runtime=True,
    takes_gfapi=True,
)


_RAMP = 0.25  # of the time, before it: until caches that writes end in are full, and a queue is


class FioLocal(base.HostTool):
    """fio on the first brick's device of as many servers as there are workers, beyond their file systems."""

    def work_s(self, cell: Cell, hosts: int, brick_rate: float) -> float:  # noqa: ARG002
        return (1 + _RAMP) * (cell.runtime_s or 0.0)

    def rounds(self, job: base.LocalJob) -> list[list[base.LocalStep]]:
        """One round: a command per server, each with places of its own."""
        commands = [
            base.HostCommand(server.name, script=self._script(job, server.name, number), deadline_s=job.deadline_s)
            for number, server in enumerate(job.servers[: job.cell.workers], start=1)
        ]
        return [[base.LocalStep(command, f"fio-{command.host}.json") for command in commands]]

    def _script(self, job: base.LocalJob, server: str, number: int) -> str:
        cell, root = job.cell, quote(job.bricks[0])
        writes = self.by_operation[cell.operation].direction == "write"
        runtime = cell.runtime_s or 0.0
        argv = (
            *("fio", "--output-format=json+", "--eta=never", f"--name=w{number:02d}", f"--rw={MODES[cell.operation]}"),
            *(f"--bs={cell.record_size_bytes}", "--direct=1", "--ioengine=libaio", "--norandommap=1"),
            # small seeds in a row make sequences that resemble each other
            *(f"--randseed={crc32(server.encode())}", "--time_based=1", f"--runtime={round(runtime * 1000)}ms"),
            *(f"--ramp_time={round(_RAMP * runtime * 1000)}ms", *(("--allow_mounted_write=1",) if writes else ())),
            *cell.options,
        )
        return (
            f"device=$(findmnt --noheadings --output SOURCE --mountpoint {root}) || "
            f"{{ echo {root} is not mounted >&2; exit 1; }}\n"
            # only disks of a testbed that have heads have room there; the log of XFS is not among its blocks
            f"begin=$((2 * $(stat -f -c '%b * %S' {root})))\n"
            '[ "$(blockdev --getsize64 "$device")" -gt $((2 * begin)) ] || '
            '{ echo "$device has no room beyond its file system" >&2; exit 1; }\n'
            f'exec {join(argv)} "--filename=$device" "--offset=$begin"'
        )

    def parse(self, folder: Path, cell: Cell) -> base.Measurement:
        return measurement_of(folder, cell)


FIO_LOCAL = FioLocal(
    name="fio-local",
    of_requests=True,
    operations=(
        base.Operation("write", "write"),
        base.Operation("read", "read"),
        base.Operation("random-write", "write", random=True, metric="operations_per_s"),
        base.Operation("random-read", "read", random=True, metric="operations_per_s"),
    ),
    options={"--iodepth": "[0-9]+", "--sync": "dsync"},
    # of servers it is not asked for: those of a testbed, which alone have such disks, bring it
    programs=(base.Program("fio", "fio", ("--version",), "fio-3.33", required=False),),
    processes={"fio": "fio"},
)
