"""What a tool is: it builds commands and reads output, and never talks to a host, which the runner does."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import fsum, isnan, nan
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Literal, NamedTuple

from glusterlab.errors import ParseError
from glusterlab.reasons import Reason
from glusterlab.shell import HostCommand as HostCommand
from glusterlab.shell import join, quote
from glusterlab.tools.document import Document, read_json, read_text
from glusterlab.tools.records import WHOLE, Record, WorkerRecord, WorkloadRecord, contradictions
from glusterlab.tools.records import incomplete as incomplete

if TYPE_CHECKING:
    from glusterlab.spec.cell import Cell
    from glusterlab.spec.cluster import Cluster, Host

Direction = Literal["write", "read", "mixed", "none"]  # which way bytes of files move

MeasuredPart = Literal["onset", "end", "busiest"]
"""The measured part of a command begins where the traffic does, ends with the command, or has the most traffic."""

# ssh takes its options before and after the host (@); the command (=) begins with the first word after those. What is
# started so has the mark of this run, and is known as the suite's even when the driver has ended.
_SSH_WRAPPER = """\
#!/bin/sh
left=$# host=
while [ "$left" -gt 0 ]; do
    word=$1 left=$((left - 1))
    shift
    case $host$word in
        -[bcDEeFIiJLlmOopQRSWw] | @-[bcDEeFIiJLlmOopQRSWw])
            set -- "$@" "$word" "$1"
            shift
            left=$((left - 1))
            ;;
        =* | -* | @-*) set -- "$@" "$word" ;;
        @*)
            [ -z "$GLUSTERLAB_RUN" ] || set -- "$@" export "GLUSTERLAB_RUN=$GLUSTERLAB_RUN;"
            host== && set -- "$@" "$word"
            ;;
        *) host=@ && set -- "$@" "$word" ;;
    esac
done
PATH=/usr/local/bin:/usr/bin:/bin exec ssh OPTIONS "$@"
"""


@dataclass(frozen=True)
class Job:
    """Where and with what one cell is run."""

    cell: Cell
    clients: tuple[Host, ...]  # all of the cluster; they reach each other by name with `ssh_options`
    mount_point: str
    dataset_dir: str
    work_dir: str  # the suite's own on every host
    driver: Host  # the client that starts the tool
    deadline_s: float
    shared_dir: str | None = None  # one that all clients see, off the volume
    ssh_options: tuple[str, ...] = ()
    further_mounts: tuple[str, ...] = ()  # where clients have the volume mounted besides
    volume: str = ""  # at `server`: for what needs no mount
    server: str = ""

    def __post_init__(self) -> None:
        mount, dataset = PurePosixPath(self.mount_point), PurePosixPath(self.dataset_dir)
        if mount not in dataset.parents or ".." in dataset.parts:
            raise ValueError(f"expected the dataset's directory below {self.mount_point}, found {self.dataset_dir}")

    @property
    def tool_dir(self) -> str:
        """The tool's own directory on the driver, for what is uploaded and what the tool writes besides stdout."""
        return f"{self.work_dir}/run-{self.cell.tool}"

    @property
    def checkout_dir(self) -> str:
        """Where the clients have the copy of `VolumeTool.checkout`."""
        return f"{self.work_dir}/{self.cell.tool}"

    @property
    def folders(self) -> list[str]:
        """Each worker's own directory in the dataset, through the first mount: what is prepared is seen by all."""
        return [f"{self.dataset_dir}/w{n + 1:02d}" for n in range(self.cell.workers)]

    @property
    def datasets(self) -> list[str]:
        """The dataset's directory through each mount of a client."""
        inside = self.dataset_dir.removeprefix(self.mount_point)
        return [f"{point}{inside}" for point in (self.mount_point, *self.further_mounts)]

    @property
    def places(self) -> list[tuple[Host, str]]:
        """The client of each worker, round robin, and its own directory, through the client's mounts in turn."""
        numbers, hosts, datasets = range(self.cell.workers), self.clients, self.datasets
        return [(hosts[n % len(hosts)], f"{datasets[n // len(hosts) % len(datasets)]}/w{n + 1:02d}") for n in numbers]

    @property
    def emptied(self) -> str:
        """The line of a script that deletes the dataset, in the marked directory in which it lies and in no other."""
        return join(("gl_remove", *self.dataset_dir.rsplit("/", 1)))

    def made_or_checked(self, files: Sequence[str], needs_files: bool) -> list[HostCommand]:
        """The `VolumeTool.prepare` of a tool that uses `ssh_wrapper`, and that has a file for each worker."""
        script = join(("chmod", "700", self.ssh_wrapper))
        if needs_files:
            script += "\n" + check_files(files, self.cell.file_size_bytes)
        else:
            folders = [file.rpartition("/")[0] for file in files]
            script += f" && {self.emptied} && {join(('mkdir', '-p', *folders))}"
        return [HostCommand(self.driver.name, script=script, deadline_s=self.deadline_s)]

    @property
    def ssh_wrapper(self) -> str:
        """An ``ssh`` with this job's options, for tools that call ssh themselves."""
        return f"{self.tool_dir}/bin/ssh"

    def at_once(self, commands: Sequence[str]) -> HostCommand:
        """Start scripts on the driver together, and wait for all; it fails with one of those that failed."""
        starts = [f'{command} & pids="$pids $!"' for command in commands]
        body = "\n".join(["pids=", *starts, 'failed=0; for pid in $pids; do wait "$pid" || failed=$?; done'])
        measured = f"sh -c {quote(body + chr(10) + 'exit $failed')}"
        script = f"cd {quote(self.tool_dir)} || exit 1\n" + self.over_open_connections(measured, always=True)
        return HostCommand(self.driver.name, script=script, deadline_s=self.deadline_s)

    def over_open_connections(self, command: str, *, always: bool = False) -> str:
        """A script that runs a quoted command while `ssh_wrapper` has a connection open to every client."""
        # without it each of IOzone's workers costs a key exchange: 0.24 s of 0.45 s, seen with 48 on 12 clients
        hosts = [host.name for host in self.clients[: self.cell.workers]]
        if self.cell.workers <= len(hosts) and not always:
            return f"exec {command}"
        words, ssh = " ".join(quote(host) for host in hosts), quote(self.ssh_wrapper)
        # a connection that cannot be made is no failure yet: the command says it itself
        return (
            f'for host in {words}; do {ssh} -M -N -f "$host" </dev/null >/dev/null 2>&1 & done; wait\n'
            f"{command}\ncode=$?\n"
            f'for host in {words}; do {ssh} -O exit "$host" >/dev/null 2>&1; done\n'
            "exit $code"
        )


def uneven(cell: Cell, clients: int) -> str | None:
    """Why no tool that writes each worker's file in records can run a cell; None when it can."""
    if clients < 1:
        return "the cluster has no client"
    if (record := cell.record_size_bytes) is None:
        return f"{cell.tool} needs a record_size"
    if cell.file_size_bytes % record:
        return f"{cell.tool} needs a file size that is a multiple of the record size of {record} bytes"
    return None


@dataclass(frozen=True)
class Measurement:
    """What one sample measured; `problems` say why it does not count, held against the cell as well."""

    record: WorkloadRecord
    workers: tuple[WorkerRecord, ...] = ()
    problems: tuple[Reason, ...] = ()
    probe: str | None = None  # of several in ``workload/`` the folder of the one that it is of

    def over_the_whole_time(self, *, together: bool) -> dict[str, float | None]:
        """Rates from the first start to the last end of the workers (the makespan), by the columns `WHOLE` names.

        A tool adds rates up of which each is over its worker's own time: the more, the farther apart these end. None
        where not every worker's amount and time are known, nor that they start `together`, nor when.
        """
        times = [worker.elapsed_s for worker in self.workers if worker.elapsed_s]
        number = len({worker.worker for worker in self.workers})
        shared = together or number == 1
        starts = [0.0 if shared else float(worker.details.get("start_s", nan)) for worker in self.workers]
        if not times or len(times) != len(starts) or number != self.record.workers or any(map(isnan, starts)):
            return dict.fromkeys(WHOLE.values())
        span = max(start + time for start, time in zip(starts, times, strict=True)) - min(starts)
        found: dict[str, float | None] = {}
        for metric, column in WHOLE.items():
            rates = [getattr(worker, metric) for worker in self.workers]
            amounts = [rate * time for rate, time in zip(rates, times, strict=True) if rate is not None]
            found[column] = fsum(amounts) / span if len(amounts) == len(rates) else None
        return found


def check_files(paths: Iterable[str], size: int) -> str:
    """A shell script that fails, naming the first file, unless all files are there with exactly that size."""
    listing = "\n".join(paths)
    return (
        f"printf '%s\\n' {quote(listing)} | while IFS= read -r file; do\n"
        f'  found=$(stat -c %s "$file" 2>/dev/null || echo none)\n'
        f'  if [ "$found" != {size} ]; then echo "$file: expected {size} bytes, found $found" >&2; exit 1; fi\n'
        "done"
    )


def read_all(read: Callable[[], Iterable[Record]]) -> tuple[list[Record], ParseError | None]:
    """All records that are read, and what ended the reading where they are not whole."""
    found: list[Record] = []
    try:
        found.extend(read())
    except ParseError as error:
        return found, error
    return found, None


def of_operation(records: Iterable[Record], operation: str) -> tuple[WorkloadRecord, list[WorkerRecord]]:
    """The one result of an operation among records, and its workers; `ParseError` when there are none or several."""
    found = [record for record in records if getattr(record, "operation", None) == operation]
    results = [record for record in found if isinstance(record, WorkloadRecord)]
    if len(results) != 1:
        raise ParseError(f"expected one report of {operation}, found {len(results)}")
    return results[0], [record for record in found if isinstance(record, WorkerRecord)]


def held_against(cell: Cell, record: WorkloadRecord, workers: Sequence[WorkerRecord]) -> Measurement:
    """A result as the measurement of a cell, with what does not fit it among its problems."""
    problems = [] if record.valid else list(record.reasons or [incomplete("the report does not prove a result")])
    problems += [reason for reason in contradictions(record) if reason not in problems]
    reported, lines = record.workers, len(workers)
    if reported not in (None, cell.workers) or (lines != cell.workers and not problems):
        there = f"{lines}" if reported in (None, lines) else f"a report of {reported} with lines of {lines}"
        problems.append(incomplete(f"expected {cell.workers} workers, found {there}"))
    for name, wanted, found in (
        ("file size", cell.file_size_bytes, record.file_size_bytes),
        ("record size", cell.record_size_bytes, record.record_size_bytes),
    ):
        if None not in (wanted, found) and wanted != found:
            problems.append(incomplete(f"expected a {name} of {wanted} bytes, found {found}"))
    return Measurement(record, tuple(workers), tuple(problems))


@dataclass(frozen=True)
class LocalJob:
    """Where one cell of a baseline is run; `bricks` are the brick roots of each server, none for the network."""

    cell: Cell
    servers: tuple[Host, ...]
    clients: tuple[Host, ...]
    bricks: tuple[str, ...]
    work_dir: str
    deadline_s: float


COMMANDS = "commands.json"
"""File of a baseline's ``workload/`` folder: every command that was run, in order, and the file of its output."""


def outputs_in_order(folder: Path, pattern: str) -> list[Path]:
    """Output files of a baseline in the order of its `COMMANDS`; the others follow, by name."""
    found = {path.relative_to(folder).as_posix(): path for path in sorted(folder.glob(pattern))}
    try:
        commands = read_json(read_text(folder / COMMANDS))
        named = [str(command["output"]) for command in commands if command["output"]]
    except (ParseError, ValueError, KeyError, TypeError):
        named = []
    return [found[name] for name in dict.fromkeys([*named, *found]) if name in found]


@dataclass(frozen=True)
class LocalStep:
    """One command of a baseline, and the file of ``workload/`` for its stdout."""

    command: HostCommand
    output: str = ""  # for a command that only helps another, whose exit code does not count


@dataclass(frozen=True)
class Operation:
    """One thing that a tool can do; `needs_files` that `made_by` makes, or else its first operation that needs none."""

    name: str
    direction: Direction
    random: bool = False
    needs_files: bool = False
    metric: str = "throughput_bytes_per_s"  # the one of `METRICS` that figures draw and stopping rules look at
    made_by: str = ""
    spends: bool = False  # its files serve no other operation, and no second sample


@dataclass(frozen=True)
class Program:
    """What a tool calls on hosts of `roles`, or for a baseline alone on those of `baseline_roles`."""

    name: str
    package: str
    version_arguments: tuple[str, ...]
    example_version: str
    roles: frozenset[str] = frozenset()
    baseline_roles: frozenset[str] = frozenset()
    required: bool = True  # without it a host is unfit; without another it cannot run this tool alone
    runs_in: str = ""  # what people call it where it is not the tool, but an interpreter that the hosts' system brings
    serves: str = ""  # what the tool needs it for, where it is not for all
    probe: tuple[str, ...] = ()  # prints its version where it is there, if it is a part of another program


_RANDOM_BYTES = 4096  # of a call whose size is left to the tool

VALUE = r"[A-Za-z0-9][A-Za-z0-9.,:%_-]*"  # of options: what names no file


@dataclass(frozen=True, kw_only=True)
class Tool:
    """A tool whose files are read."""

    name: str
    recognise: Callable[[Document], float] | None = None  # how sure it is that a document is its own, from 0 to 1
    # what is whole, and `ParseError` where a document is damaged, cut off or no result
    read: Callable[[Document], Iterator[Record]] | None = None
    measures: bool = True  # False: what it prints is no measurement, so no sample can be of it
    other_operations: tuple[Operation, ...] = ()  # they move whole files, too, but the suite does not run them


@dataclass(frozen=True, kw_only=True)
class RunnableTool(Tool):
    """A tool that the suite runs.

    `options` are all that a campaign may give, with a pattern of their value, or None for a flag: tools run as root, so
    none may name a file or undo what the suite says itself. `processes` match its leftovers: regular expressions of a
    program's name in a command line, and in the kernel.
    """

    operations: tuple[Operation, ...]
    options: Mapping[str, str | None]
    programs: tuple[Program, ...] = ()
    processes: Mapping[str, str] = field(default_factory=dict)
    measured_part: MeasuredPart = "busiest"
    tail_s: float = 0.0  # what the command takes after what it measures
    starts_together: bool = False  # workers wait for each other before they measure
    keyed_by: tuple[str, ...] = ("record_size_bytes", "options")  # keys of a cell by which its files differ, with sizes

    @property
    def by_operation(self) -> Mapping[str, Operation]:
        return {operation.name: operation for operation in self.operations}

    def needs_files(self, operation: str) -> bool:
        return self.by_operation[operation].needs_files

    @property
    def maker(self) -> str | None:
        """The operation that makes the files for those that need some; None where only another tool makes them."""
        return next((operation.name for operation in self.operations if not operation.needs_files), None)

    def maker_of(self, operation: str) -> str | None:
        """The operation that makes the files of one that needs some; None where only another tool makes them."""
        return self.by_operation[operation].made_by or self.maker

    def dataset(self, cell: Cell) -> str:
        """Key of the files that a cell works on, fit for a directory's name; what spends files has its own."""
        operation = self.by_operation[cell.operation]
        made_by_time = cell.runtime_s is not None and not operation.needs_files
        own = {"runtime_s": made_by_time, "operation": operation.spends}
        return cell.dataset((*self.keyed_by, *(key for key, has_own in own.items() if has_own)))

    def refused(self, options: Sequence[str]) -> tuple[int, str] | None:
        """The first argument of a campaign that is not declared, by its index, and why; None when all are."""
        # arguments are whole words: short options are neither clustered nor glued to their value, long ones are not cut
        # short, so that no tool can read more out of them than is declared
        awaited: str | None = None
        for n, word in enumerate(options):
            name, has_value, value = (awaited, "=", word) if awaited is not None else word.partition("=")
            if awaited is None and not name.startswith("--"):
                name, has_value, value = word, "", ""
            if name not in self.options:
                there = ", ".join(sorted(self.options)) or "none"
                return n, f"expected an option that {self.name} may be given ({there}), found {word!r}"
            pattern, awaited = self.options[name], None
            if has_value and (pattern is None or not re.fullmatch(pattern, value)):
                return n, f"expected a value of {name} that names no file, found {word!r}"
            if not has_value and pattern is not None:
                awaited = name
        return None if awaited is None else (len(options) - 1, f"expected a value after {awaited}, found none")

    def most_probes(self, cell: Cell) -> int:  # noqa: ARG002
        """How often a sample runs the measured command at most."""
        return 1

    def parse(self, folder: Path, cell: Cell) -> Measurement:
        """Read a sample's ``workload/`` folder; `ParseError` when there is no result of this tool."""
        raise NotImplementedError


class PoolRates(NamedTuple):
    """What a pool is taken to do for one cell: bytes of files, files, and random requests."""

    bytes_per_s: float
    files_per_s: float
    calls_per_s: float


@dataclass(frozen=True, kw_only=True)
class VolumeTool(RunnableTool):
    """A tool that is run against a volume."""

    takes_runtime: bool = False
    takes_gfapi: bool = False  # it can reach a volume without a mount
    takes_rate: bool = False
    startup: tuple[float, float] = (1.0, 0.05)  # seconds of a call outside what it measures, and more for each worker

    def not_ready(self, cluster: Cluster) -> str | None:  # noqa: ARG002
        """What the controller lacks to run it on a cluster, and what to do; None where it lacks nothing."""
        return None

    def checkout(self, cluster: Cluster) -> Path | None:  # noqa: ARG002
        """A folder of the controller that is copied to all clients as `Job.checkout_dir`."""
        return None

    def startup_s(self, workers: int) -> float:
        """Seconds per call that the tool spends outside what it measures."""
        return self.startup[0] + self.startup[1] * workers

    def work_s(self, cell: Cell, pool: PoolRates) -> float:
        """Seconds of what it measures, roughly, on a pool of these rates."""
        if cell.runtime_s is not None:
            return cell.runtime_s
        operation = self.by_operation[cell.operation]
        if operation.random:
            return cell.bytes_written / (cell.record_size_bytes or _RANDOM_BYTES) / pool.calls_per_s
        moved_s = 0.0 if operation.direction == "none" else cell.bytes_written / pool.bytes_per_s
        return moved_s + cell.workers * cell.files_per_worker / pool.files_per_s

    def not_runnable(self, cell: Cell, clients: int) -> str | None:
        """Why the cell cannot be run with so many clients, or None when it can."""
        raise NotImplementedError

    def uploads(self, job: Job) -> dict[str, str]:
        """Files for the driver: remote path and text. They are written first, their directories are made as needed."""
        # ssh keeps the first value of an option: smallfile would turn the check of host keys off
        shared = ("-o", "ControlMaster=auto", "-o", f"ControlPath={job.tool_dir}/ssh-%C")
        options = " ".join(quote(option) for option in (*job.ssh_options, *shared))
        return {job.ssh_wrapper: _SSH_WRAPPER.replace("OPTIONS", options)}

    def prepare(self, job: Job) -> list[HostCommand]:
        """Untimed, one after the other, after `uploads`, before caches are dropped.

        Makes the directories and removes earlier files of the dataset, or fails when a file is missing or short.
        """
        return job.made_or_checked(self.files(job), self.needs_files(job.cell.operation))

    def files(self, job: Job) -> list[str]:
        """The file of each worker."""
        raise NotImplementedError

    def command(self, job: Job) -> HostCommand:
        raise NotImplementedError

    def probes(self, cell: Cell, folder: Path) -> Iterator[tuple[str, Cell]]:  # noqa: ARG002
        """The cells of which a sample is made where it takes several commands; none where it is `command` alone.

        Each goes with the name of the folder in which its files are, below ``workload/``, when the next is asked for.
        """
        return iter(())

    def outputs(self, job: Job) -> tuple[str, ...]:  # noqa: ARG002
        """Files on the driver that belong into the sample's ``workload/`` folder, or into that of the probe."""
        return ()


@dataclass(frozen=True, kw_only=True)
class HostTool(RunnableTool):
    """A tool that measures the hosts themselves, their disks or the links between them: for a baseline."""

    of_links: bool = False
    of_requests: bool = False  # it measures requests to a device, and no file

    def work_s(self, cell: Cell, hosts: int, brick_rate: float) -> float:  # noqa: ARG002
        """Seconds of what it measures, roughly; a `brick_rate` (bytes/s) of 0 is that of no brick."""
        return cell.file_size_bytes / brick_rate

    def prepare(self, job: LocalJob) -> list[HostCommand]:  # noqa: ARG002
        """Untimed, at most one per host, all at once; as `VolumeTool.prepare`."""
        return []

    def rounds(self, job: LocalJob) -> list[list[LocalStep]]:
        """The measured commands: rounds follow each other; those of one run at once, at most one per host."""
        raise NotImplementedError
