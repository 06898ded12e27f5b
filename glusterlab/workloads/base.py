"""What every workload is to the runner: commands to prepare and run it, and a parser of what it wrote.

A workload module builds command lines and reads output; it never talks to a host. The runner does that, with the
`HostCommand` objects that it gets from here.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Protocol

from glusterlab.errors import ParseError
from glusterlab.hosts.quoting import join, quote
from glusterlab.reasons import Reason

if TYPE_CHECKING:
    from glusterlab.spec.cell import Cell
    from glusterlab.spec.cluster import Host

MAX_TEXT_BYTES = 64 << 20
"""A tool's output may have so many bytes; raw files from elsewhere are hostile."""


def read_text(path: Path, limit: int = MAX_TEXT_BYTES) -> str:
    """The text of a raw file; bytes that are no UTF-8 are replaced.

    Raises
    ------
    ParseError
        When the file is absent, or bigger than `limit` bytes.
    """
    try:
        size = path.stat().st_size
        if size > limit:
            raise ParseError(f"expected at most {limit} bytes, found {size}", file=path)
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise ParseError(f"cannot be read: {error.strerror}", file=path) from error


@dataclass(frozen=True)
class HostCommand:
    """One command for one host: either a program with arguments, or a shell script.

    Parameters
    ----------
    host : str
        Name of the host, as in the cluster file.
    argv : tuple of str
        The program and its arguments, unquoted; empty when `script` is given.
    script : str
        A POSIX shell script whose values are quoted already; empty when `argv` is given.
    deadline_s : float
        Seconds after which the command is ended and counts as failed.
    env : mapping
        Environment variables for the command.
    """

    host: str
    argv: tuple[str, ...] = ()
    script: str = ""
    deadline_s: float = 60.0
    env: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if bool(self.argv) == bool(self.script):
            raise ValueError(f"expected either argv or a script for {self.host}, found both or neither")

    @property
    def shell(self) -> str:
        """The command as one line for a remote POSIX shell, quoted."""
        if self.argv:
            return join(self.argv, self.env)
        return join(("sh", "-c", self.script), self.env)

    @property
    def words(self) -> tuple[str, ...]:
        """The command as a list of words, as it is recorded."""
        return self.argv or ("sh", "-c", self.script)


# ssh takes its options before and after the host; the command begins with the first word after those.
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
        -* | @-*) set -- "$@" "$word" ;;
        @*)
            [ -z "$GLUSTERLAB_RUN" ] || set -- "$@" export "GLUSTERLAB_RUN=$GLUSTERLAB_RUN;"
            set -- "$@" "$word"
            while [ "$left" -gt 0 ]; do
                set -- "$@" "$1"
                shift
                left=$((left - 1))
            done
            ;;
        *)
            host=@
            set -- "$@" "$word"
            ;;
    esac
done
PATH=/usr/local/bin:/usr/bin:/bin exec ssh OPTIONS "$@"
"""


@dataclass(frozen=True)
class Job:
    """Where and with what one cell is run.

    Parameters
    ----------
    cell : Cell
    clients : tuple of Host
        All clients of the cluster, in its order. They must be able to resolve and reach each other by name.
    mount_point : str
        Where the volume is mounted on every client.
    dataset_dir : str
        Directory below `mount_point` for the files of this cell's dataset; the suite made it or will make it.
    work_dir : str
        The suite's own directory on every host.
    shared_dir : str or None
        A directory that all clients see, off the volume under test.
    smallfile_dir : str or None
        Where the smallfile checkout lies on every client.
    driver : Host
        The client that starts the tool.
    deadline_s : float
        Seconds that the workload's command may take.
    ssh_options : tuple of str
        Options with which one client reaches another by ssh, such as ``("-F", "/etc/glusterlab/ssh_config")``.
    """

    cell: Cell
    clients: tuple[Host, ...]
    mount_point: str
    dataset_dir: str
    work_dir: str
    driver: Host
    deadline_s: float
    shared_dir: str | None = None
    smallfile_dir: str | None = None
    ssh_options: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        mount, dataset = PurePosixPath(self.mount_point), PurePosixPath(self.dataset_dir)
        if mount not in dataset.parents or ".." in dataset.parts:
            raise ValueError(f"expected the dataset's directory below {self.mount_point}, found {self.dataset_dir}")

    @property
    def tool_dir(self) -> str:
        """The tool's own directory on the driver, for what is uploaded and what the tool writes besides stdout."""
        return f"{self.work_dir}/run-{self.cell.tool}"

    @property
    def ssh_wrapper(self) -> str:
        """An ``ssh`` with this job's options, for tools that call ssh themselves."""
        return f"{self.tool_dir}/bin/ssh"

    def ssh_wrapper_text(self) -> str:
        """The script that `ssh_wrapper` is.

        ssh keeps the first value that it is given for an option, so these options win over a tool's own (smallfile
        would turn the check of host keys off). Workers on one host share a connection that is open, see
        `over_open_connections`.

        What it starts on another host carries the mark of this run, so that a worker is known as the suite's also
        when it has not yet gone to its directory: the driver may be gone by then.
        """
        shared = ("-o", "ControlMaster=auto", "-o", f"ControlPath={self.tool_dir}/ssh-%C")
        options = " ".join(quote(option) for option in (*self.ssh_options, *shared))
        return _SSH_WRAPPER.replace("OPTIONS", options)

    def over_open_connections(self, command: str) -> str:
        """A script that runs a command while `ssh_wrapper` has a connection open to every client with several workers.

        IOzone starts its workers one after the other, and detaches them, so that a connection ends with the start of
        its worker, and each worker costs a key exchange: 0.24 s of 0.45 s, seen with 48 workers on 12 clients.

        Parameters
        ----------
        command : str
            Quoted; the script ends with its exit code.
        """
        hosts = [host.name for host in self.clients[: self.cell.workers]]
        if self.cell.workers <= len(hosts):
            return f"exec {command}"
        words, ssh = " ".join(quote(host) for host in hosts), quote(self.ssh_wrapper)
        # a connection that cannot be made is no failure yet: the command says it itself
        return (
            f'for host in {words}; do {ssh} -M -N -f "$host" </dev/null >/dev/null 2>&1 & done; wait\n'
            f"{command}\ncode=$?\n"
            f'for host in {words}; do {ssh} -O exit "$host" >/dev/null 2>&1; done\n'
            "exit $code"
        )


@dataclass(frozen=True)
class WorkerResult:
    """What one worker (a process or thread of the tool) did.

    Attributes
    ----------
    worker : int
        Counted from 1.
    host : str or None
        Where it ran, when the tool or the plan says so.
    throughput_bytes_per_s, files_per_s, elapsed_s : float or None
    bytes, files : int or None
        What it had done when the measurement ended.
    status : str
        The tool's word about it, ``ok`` when there was no complaint.
    """

    worker: int
    host: str | None = None
    throughput_bytes_per_s: float | None = None
    files_per_s: float | None = None
    bytes: int | None = None
    files: int | None = None
    elapsed_s: float | None = None
    status: str = "ok"


@dataclass(frozen=True)
class WorkloadResult:
    """What a tool measured, in SI base units, and what is wrong with it.

    Attributes
    ----------
    tool : str
    tool_version : str or None
    operation : str
        In the suite's words: write, read, create, ...
    workers : int
    throughput_bytes_per_s, files_per_s, operations_per_s : float or None
        Of all workers together; None where the tool does not tell.
    elapsed_s : float or None
        Of the measured part.
    measured_s : float or None
        The part of the command's time that was measurement, as far as the tool tells; the rest is start-up.
    worker_min_bytes_per_s, worker_max_bytes_per_s : float or None
        Of the slowest and the fastest worker, where the tool says so itself.
    worker_results : tuple of WorkerResult
    problems : tuple of Reason
        Empty when the result can be trusted.
    """

    tool: str
    tool_version: str | None
    operation: str
    workers: int
    throughput_bytes_per_s: float | None
    files_per_s: float | None
    elapsed_s: float | None
    worker_results: tuple[WorkerResult, ...] = ()
    problems: tuple[Reason, ...] = ()
    measured_s: float | None = None
    worker_min_bytes_per_s: float | None = None
    worker_max_bytes_per_s: float | None = None
    operations_per_s: float | None = None


class Tool(Protocol):
    """One tool: what it can do, and how its output is read."""

    @property
    def tool(self) -> str:
        """Its name in a campaign file."""

    @property
    def operations(self) -> tuple[str, ...]:
        """What it can do, in the suite's words."""

    def needs_files(self, operation: str) -> bool:
        """Whether the operation works on files that another operation of the tool made."""

    def parse(self, folder: Path, cell: Cell) -> WorkloadResult:
        """Read a sample's ``workload/`` folder.

        Raises
        ------
        ParseError
            When the output is no result of this tool.
        """


class Workload(Tool, Protocol):
    """A tool that is run against a volume."""

    def startup_s(self, workers: int) -> float:
        """Seconds per call that the tool, as far as known, spends outside what it measures."""

    def not_runnable(self, cell: Cell, clients: int) -> str | None:
        """Why the cell cannot be run with so many clients, or None when it can."""

    def uploads(self, job: Job) -> dict[str, str]:
        """Files for the driver: remote path and text. They are written first, their directories are made as needed."""

    def prepare(self, job: Job) -> list[HostCommand]:
        """Untimed, one after the other, after `uploads`, before caches are dropped.

        For an operation that makes files: their directories, and earlier files of the same dataset are removed. For
        one that needs files: a check that fails when a file is missing or short.
        """

    def command(self, job: Job) -> HostCommand:
        """The measured command."""

    def outputs(self, job: Job) -> tuple[str, ...]:
        """Files on the driver that belong into the sample's ``workload/`` folder."""


@dataclass(frozen=True)
class LocalJob:
    """Where one cell of a baseline is run: on the hosts themselves, without a volume.

    Parameters
    ----------
    cell : Cell
    servers, clients : tuple of Host
        All of the cluster, in its order.
    bricks : tuple of str
        Brick roots of the cell's backing, the same on every server; empty where the cell is of the network.
    work_dir : str
        The suite's own directory on every host.
    deadline_s : float
        Seconds that each command may take.
    """

    cell: Cell
    servers: tuple[Host, ...]
    clients: tuple[Host, ...]
    bricks: tuple[str, ...]
    work_dir: str
    deadline_s: float


COMMANDS = "commands.json"
"""File of a baseline's ``workload/`` folder: every command that was run, in order, and the file of its output."""


def outputs_in_order(folder: Path, pattern: str) -> list[Path]:
    """Output files of a baseline's sample in the order of its commands, whatever the hosts are called.

    Parameters
    ----------
    folder : pathlib.Path
        The sample's ``workload/``; what its `COMMANDS` do not name comes last, by name.
    pattern : str
        Which files are outputs.
    """
    found = {path.relative_to(folder).as_posix(): path for path in sorted(folder.glob(pattern))}
    try:
        commands = json.loads(read_text(folder / COMMANDS))
        named = [str(command["output"]) for command in commands if command["output"]]
    except (ParseError, ValueError, KeyError, TypeError):
        named = []
    ordered = dict.fromkeys(name for name in named if name in found)
    return [found[name] for name in [*ordered, *(name for name in found if name not in ordered)]]


@dataclass(frozen=True)
class LocalStep:
    """One command of a baseline.

    Parameters
    ----------
    command : HostCommand
    output : str
        File of ``workload/`` for its stdout; stderr, where there is any, lies beside it with ``.stderr`` at the end.
        Empty for a command that only helps another, whose exit code does not count.
    """

    command: HostCommand
    output: str = ""


class LocalTool(Tool, Protocol):
    """A tool that measures the hosts themselves: their disks, the links between them."""

    def prepare(self, job: LocalJob) -> list[HostCommand]:
        """Untimed, at most one per host, all at once, before caches are dropped.

        For an operation that needs files: a check that fails when a file is missing or short.
        """

    def rounds(self, job: LocalJob) -> list[list[LocalStep]]:
        """The measured commands: rounds follow each other; those of one run at once, at most one per host."""
