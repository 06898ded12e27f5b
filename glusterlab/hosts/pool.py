"""A pool of connections to all hosts of a cluster: one script on many hosts at once, each with a deadline.

A script is sent over stdin to ``bash`` under ``timeout``, so it ends at its deadline even when the controller is gone.
"""

from __future__ import annotations

import itertools
import queue
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from glusterlab.errors import CommandError, HostError, StoppedError, in_words
from glusterlab.hosts.transport import FabricTransport, Outcome, Stop, Transport
from glusterlab.parallel import on_signals
from glusterlab.shell import join

if TYPE_CHECKING:
    from glusterlab.spec.cluster import Cluster, Host

MARKER = "GLUSTERLAB_RUN"
"""Environment variable that every process of the suite on a host carries, and by which its leftovers are found."""

_KILL_AFTER_S = 5
_GRACE_S = 10.0
_STOP_WAIT_S = 2.0
_TIMEOUT_CODES = (124, 137)


@dataclass(frozen=True)
class Command:
    """One bash script; `library`: functions that it uses, not logged; `marked`: its processes carry `MARKER`."""

    script: str
    deadline_s: float = 60.0
    library: str = ""
    marked: bool = True


@dataclass(frozen=True)
class CommandResult:
    """What a script did on a host, at epoch seconds of the controller; no exit code when it was cut off."""

    host: str
    script: str
    stdout: bytes
    stderr: bytes
    exit_code: int | None
    start: float
    end: float

    @property
    def text(self) -> str:
        return self.stdout.decode("utf-8", "replace")


@dataclass(frozen=True)
class Results:
    """What a script did, by host name; `failed`: `CommandError` with its ``result`` where it ran, else why not."""

    succeeded: Mapping[str, CommandResult]
    failed: Mapping[str, HostError]

    def or_raise(self) -> Mapping[str, CommandResult]:
        """The results of all hosts, or the error of the first that failed, naming how many others did."""
        if not self.failed:
            return self.succeeded
        name, *others = sorted(self.failed)
        first = self.failed[name]
        if not others:
            raise first
        raise type(first)(f"{first.message} (so did {len(others)} more: {', '.join(others)})", **first.details)


_Answer = CommandResult | HostError | None
_Call = Callable[[], _Answer]


class Pool:
    """Connections to all hosts, opened in parallel and reused.

    `mark`: what the value of `MARKER` begins with in the processes that this pool starts. `sink`, which may be set at
    any time, receives every command that ran, from the thread that ran it.
    """

    def __init__(self, hosts: Iterable[Host], transport: Transport, *, mark: str = "1") -> None:
        self.hosts: dict[str, Host] = {host.name: host for host in hosts}
        self.sink: Callable[[CommandResult], None] | None = None
        self.transport = transport
        self.mark = mark
        self._stop = Stop()
        self._cleaning = False
        self._insisted = False
        self._calls = itertools.count(1)

    @classmethod
    def of(cls, cluster: Cluster, *, mark: str = "1") -> Pool:
        return cls(cluster.hosts, FabricTransport(cluster.ssh), mark=mark)

    def connect(self) -> dict[str, HostError]:
        """Connect to every host at once; returns the errors of those that could not be."""
        answers = self._each({name: partial(self.transport.open, host) for name, host in self.hosts.items()}, 120.0)
        self._refuse_when_stopped()
        return {name: answer for name, answer in answers.items() if isinstance(answer, HostError)}

    def connect_or_raise(self) -> None:
        """`connect`; `HostError` names the hosts that could not be reached."""
        if failed := self.connect():
            raise HostError(in_words(failed), hosts=sorted(failed))

    def run(self, commands: Mapping[str, Command], *, within_s: float | None = None) -> Results:
        """Run one script per host, all at once; `StoppedError` after `stop`.

        Hosts that have not answered after `within_s` are not waited for; by default as long as their deadlines ask.
        """
        bound = within_s or max((command.deadline_s for command in commands.values()), default=0.0) + 120.0
        return self._results({name: self._runner(name, command) for name, command in commands.items()}, bound)

    def run_everywhere(self, command: Command, *, within_s: float | None = None) -> Results:
        """Run the same script on every host, all at once; the parameters are those of `run`."""
        return self.run(dict.fromkeys(self.hosts, command), within_s=within_s)

    def run_on(self, host: str, command: Command) -> CommandResult:
        """Run a script on one host."""
        return self.run({host: command}).or_raise()[host]

    def send(self, archives: Mapping[str, tuple[str, bytes]], deadline_s: float = 120.0) -> Results:
        """Run a plain shell command per host with bytes on its standard input, all at once."""
        calls = {
            name: self._caller(name, command, ("sh", "-c", command), data, deadline_s)
            for name, (command, data) in archives.items()
        }
        return self._results(calls, deadline_s + 120.0)

    def stop(self) -> None:
        """Cut off all running commands and refuse new ones; a clean-up is left alone."""
        if not self._cleaning:
            self._stop.requested = True

    def signalled(self, *_: object) -> None:
        """What a signal's handler does: stop the work, then interrupt it; a clean-up lets the first pass."""
        if self._insisted if self._cleaning else self._stop.requested:
            raise KeyboardInterrupt
        self._insisted = self._cleaning
        self.stop()

    @contextmanager
    def cleaning(self) -> Iterator[None]:
        """Allow commands also after `stop`, and keep signals from cutting them off, for a clean-up that is bounded."""
        self._cleaning, self._insisted = True, False
        stopped = self._stop.requested
        self._stop.requested = False
        try:
            yield
        finally:
            if stopped:
                self._stop.requested = True
            self._cleaning = False

    def sleep(self, seconds: float) -> None:
        """Wait, unless the run is stopped."""
        end = time.monotonic() + seconds
        while not self._stop.requested and (left := end - time.monotonic()) > 0:
            time.sleep(min(left, 0.2))
        self._refuse_when_stopped()

    def close(self, *, within_s: float = 5.0) -> None:
        """Close all connections, in parallel and within a bounded time."""
        self._each({name: partial(self.transport.close, host) for name, host in self.hosts.items()}, within_s)

    def _refuse_when_stopped(self) -> None:
        if self._stop.requested:
            raise StoppedError("the run was stopped")

    def _results(self, calls: Mapping[str, _Call], bound_s: float) -> Results:
        self._refuse_when_stopped()
        answers = self._each(calls, bound_s)
        self._refuse_when_stopped()
        return Results(
            {name: answer for name, answer in answers.items() if isinstance(answer, CommandResult)},
            {name: answer for name, answer in answers.items() if isinstance(answer, HostError)},
        )

    def _runner(self, name: str, command: Command) -> _Call:
        # The script is read to its end before it starts, so nothing in it can eat the rest of it.
        words = ["bash", "-c", 'eval "$(cat)" </dev/null']
        if command.marked:
            # Each call has a mark of its own, so that a script can tell its own processes from leftovers.
            words = ["env", f"{MARKER}={self.mark}.{next(self._calls)}", *words]
        text = (command.library + "\n" + command.script).encode()
        return self._caller(name, command.script, words, text, command.deadline_s)

    def _caller(self, name: str, script: str, words: Iterable[str], stdin: bytes, deadline_s: float) -> _Call:
        line = join(("timeout", "-k", _KILL_AFTER_S, f"{deadline_s:.3f}", *words))
        bound = deadline_s + _KILL_AFTER_S + _GRACE_S

        def call() -> _Answer:
            start, began = time.time(), time.monotonic()
            outcome = self.transport.execute(self.hosts[name], line, stdin, bound, self._stop)
            late = time.monotonic() - began >= deadline_s
            cut = outcome.exit_code is None or (late and outcome.exit_code in _TIMEOUT_CODES)
            code = None if cut else outcome.exit_code
            result = CommandResult(name, script, outcome.stdout, outcome.stderr, code, start, time.time())
            if self.sink is not None:
                self.sink(result)
            return result if result.exit_code == 0 else _failure(result, outcome, deadline_s, late)

        return call

    def _each(self, calls: Mapping[str, _Call], bound_s: float) -> dict[str, _Answer]:
        """Make every call in a thread of its own; a thread that does not come back in time is left behind."""
        done: queue.SimpleQueue[tuple[str, _Answer]] = queue.SimpleQueue()

        def work(name: str, call: _Call) -> None:
            try:
                done.put((name, call()))
            except HostError as error:
                done.put((name, error))
            except Exception as error:  # noqa: BLE001 - a thread must answer, whatever a library raises
                done.put((name, HostError(f"unexpected {type(error).__name__}: {error}", host=name)))

        for name, call in calls.items():
            threading.Thread(target=work, args=(name, call), name=f"glusterlab-{name}", daemon=True).start()
        answers: dict[str, _Answer] = {}
        end = time.monotonic() + bound_s
        while len(answers) < len(calls) and (left := end - time.monotonic()) > 0:
            try:
                # A short wait lets a signal handler of the main thread run.
                name, answer = done.get(timeout=min(left, 0.5))
            except queue.Empty:
                if self._stop.requested:
                    end = min(end, time.monotonic() + _STOP_WAIT_S)
                continue
            answers[name] = answer
        for name in calls:
            answers.setdefault(name, HostError(f"gave no answer within {bound_s:.0f} s", host=name))
        return answers


def stop_on_signals(pool: Pool) -> AbstractContextManager[None]:
    """A first SIGINT, SIGTERM or SIGHUP (unless ignored, as under nohup) stops the work, a second interrupts."""
    hangup = [] if signal.getsignal(signal.SIGHUP) == signal.SIG_IGN else [signal.SIGHUP]
    return on_signals(pool.signalled, [signal.SIGINT, signal.SIGTERM, *hangup])


def _failure(result: CommandResult, outcome: Outcome, deadline_s: float, late: bool) -> HostError:
    lines = [line for line in result.stderr.decode("utf-8", "replace").splitlines() if line.strip()]
    tail = " / ".join(lines[-3:])
    first = next((line for line in result.script.splitlines() if line.strip()), "")
    short = first if len(first) <= 120 else first[:117] + "..."
    if outcome.lost:
        return HostError(f"the connection was lost while '{short}' ran", host=result.host)
    if result.exit_code is None:
        why = f"did not end within {deadline_s:.0f} s" if late else "was cut off"
    else:
        why = f"ended with code {result.exit_code}"
    return CommandError(
        f"'{short}' {why}" + (f": {tail}" if tail else ""),
        host=result.host,
        command=result.script,
        returncode=result.exit_code,
        stderr=tail,
        result=result,
    )
