"""Processes for notebooks, forked by a server that has imported what all of them need: `glusterlab.warmserver`.

The server is a way to be faster, never needed: where it cannot be had, `Warm.start` returns None and the caller starts
a process as usual.
"""

from __future__ import annotations

import json
import logging
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Protocol, Self

from glusterlab.notebook import kernel_environment

_READY_S = 120
"""How long the server may take to import everything: on a machine with other work that is far more than seconds."""

_END_S = 15
"""How long it has to end what it has forked."""

PROVISIONER = "glusterlab-forked"
"""What a kernel's specification names to get the kernel that `glusterlab.forkedkernel` has forked."""

_ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "JE_ARROW_MALLOC_CONF": "background_thread:false"}
"""Libraries that start threads when they are imported, which a process that forks must not have."""

_INLINE = {"MPLBACKEND": "module://matplotlib_inline.backend_inline"}
"""What a kernel sets before a notebook imports matplotlib; here it is imported before there is a kernel."""

_SERVE = "import sys; sys.path[0] or sys.path.pop(0); from glusterlab.warmserver import main; main()"
"""What lies in the folder of the command is not imported for all notebooks. ``-m`` would do that, and ``-P`` would
also keep each notebook from importing from its own folder."""

_log = logging.getLogger(__name__)


class Process(Protocol):
    """What is asked of a notebook's process; `subprocess.Popen` has it."""

    @property
    def returncode(self) -> int | None:
        """Its exit code, None before it was waited for."""

    def poll(self) -> int | None:
        """Its exit code, None while it runs."""

    def wait(self, timeout: float | None = None) -> int:
        """Its exit code after its end; raises `subprocess.TimeoutExpired` when that does not come."""

    def terminate(self) -> None:
        """Ask it to end."""

    def kill(self) -> None:
        """End it."""


class Forked:
    """A process that the server has forked.

    Parameters
    ----------
    answers : socket.socket
    pid : int
    said : bytes
        What has been read from `answers` after the number of the process.

    Attributes
    ----------
    pid : int
    returncode : int or None
        1 also when it is lost.
    is_lost : bool
        The server is gone, with which its processes end.
    """

    def __init__(self, answers: socket.socket, pid: int, said: bytes = b"") -> None:
        self.pid = pid
        self.returncode: int | None = None
        self.is_lost = False
        self._answers = answers
        self._said = said
        self._lock = threading.Lock()

    def poll(self) -> int | None:
        """Its exit code, None while it runs."""
        return self._take(0)

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end.

        Raises
        ------
        subprocess.TimeoutExpired
            When it does not come in time.
        """
        end = None if timeout is None else time.monotonic() + timeout
        # in short waits: another thread may wait for the same process, and take its answer
        while (code := self._take(0.5 if end is None else min(0.5, max(0.0, end - time.monotonic())))) is None:
            if end is not None and time.monotonic() >= end:
                raise subprocess.TimeoutExpired("notebook", timeout or 0.0)
        return code

    def _take(self, seconds: float) -> int | None:
        answered = self.returncode is None and self._is_readable(seconds)
        # the lock is never held while waiting: whoever wants to end the process must not wait for that
        with self._lock:
            if answered and self.returncode is None:
                with suppress(OSError):
                    self._said = self._said or self._answers.recv(64)
                self.is_lost = not self._said
                self.returncode = int(self._said or 1)
                self._answers.close()
            return self.returncode

    def _is_readable(self, seconds: float) -> bool:
        if self._said:
            return True
        found = select.poll()
        try:
            found.register(self._answers, select.POLLIN)
        except ValueError:
            # another thread has taken the answer and closed
            return False
        return bool(found.poll(seconds * 1000))

    def _send(self, number: int) -> None:
        # a closed socket is that of a process that has ended
        with suppress(OSError):
            self._answers.sendall(f"{number}\n".encode())

    def terminate(self) -> None:
        """Ask it to end."""
        self._send(signal.SIGTERM)

    def kill(self) -> None:
        """End it."""
        self._send(signal.SIGKILL)


class Warm:
    """The server, for as long as the context lasts; it imports while others work.

    Parameters
    ----------
    folder : pathlib.Path
        For kernel specifications and the server's log; an empty one.
    """

    def __init__(self, folder: Path) -> None:
        self._lock = threading.Lock()
        self._ready: bool | None = None
        self._asked = False
        ours, theirs = socket.socketpair()
        environment = {**kernel_environment(folder, PROVISIONER), **_ONE_THREAD, **_INLINE}
        command = [sys.executable, "-c", _SERVE]
        with (folder / "log.txt").open("wb") as log, theirs:
            try:
                self._server = subprocess.Popen(command, stdin=theirs.fileno(), stdout=log, stderr=log, env=environment)
            except OSError:
                ours.close()
                raise
        self._control = ours

    @classmethod
    def begin(cls, folder: Path) -> Self | None:
        """Start a server where it is known to work, and there is room for it."""
        if sys.platform != "linux":
            return None
        try:
            return cls(folder)
        except OSError as error:
            _log.info("no server: %s", error)
            return None

    def start(self, job: Path, log: Path, environment: Mapping[str, str]) -> Forked | None:
        """Fork a process that does a notebook's job.

        Parameters
        ----------
        job : pathlib.Path
            As `notebook.Job.write` wrote it.
        log : pathlib.Path
            For the process' output.
        environment : mapping of str to str
            What is to be other than in the server's.

        Returns
        -------
        Forked or None
            None when there is no server.
        """
        request = {"job": str(job), "log": str(log), "environment": json.dumps(dict(environment))}
        ours, theirs = socket.socketpair()
        with self._lock, theirs:
            # one request is under way at a time: the process' id is its answer
            try:
                if not self._is_ready():
                    raise OSError("the server did not come up")
                self._asked = True
                socket.send_fds(self._control, [json.dumps(request).encode()], [theirs.fileno()])
                theirs.close()
                ours.settimeout(_READY_S)
                pid, rest = _first_line(ours)
                ours.settimeout(None)
                return Forked(ours, int(pid), rest)
            except (OSError, ValueError) as error:
                _log.info("no process is forked: %s", error)
                self._ready = False
                ours.close()
                return None

    def _is_ready(self) -> bool:
        if self._ready is None:
            self._control.settimeout(_READY_S)
            self._ready = self._control.recv(64) == b"ready\n"
            self._control.settimeout(None)
        return self._ready

    def close(self) -> None:
        """End the server and what it has forked; whoever waits for it in `start` is told that there is none."""
        # a thread may wait for an answer, which closing alone would not wake
        with suppress(OSError):
            self._control.shutdown(socket.SHUT_RDWR)
        self._control.close()
        if not self._asked:
            # it has nothing to end, and does not listen while it imports
            self._server.kill()
        try:
            self._server.wait(_END_S)
        except subprocess.TimeoutExpired:
            self._server.kill()
            self._server.wait()


def _first_line(answers: socket.socket) -> tuple[bytes, bytes]:
    """The first line that a socket gives, and what came with it: a process may end before its number is read."""
    said = b""
    while b"\n" not in said:
        found = answers.recv(64)
        if not found:
            raise OSError("the server has forked none")
        said += found
    line, _, rest = said.partition(b"\n")
    return line, rest
