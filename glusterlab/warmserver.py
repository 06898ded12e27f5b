"""A process that imports once what all notebooks need, and forks one process for each notebook.

`glusterlab.warm` starts it, with a socket as its standard input. A request is a line of JSON with a socket of its own:
through that the server tells the process' id and in the end its exit code, and takes signals for it. It has one thread,
so that a fork leaves nothing half-done, and refuses to work with more. When whoever started it is gone, it ends what it
has forked.
"""

from __future__ import annotations

import gc
import json
import os
import pkgutil
import selectors
import signal
import socket
import sys
import tempfile
import threading
import time
from contextlib import suppress
from importlib import import_module
from pathlib import Path

READY = b"ready\n"

_MODULES = (
    "papermill",
    "ipykernel.kernelapp",
    "ipykernel.ipkernel",
    "pyarrow.dataset",
    "pyarrow.parquet",
    "scipy.special",
    "matplotlib.figure",
    "matplotlib.backends.backend_agg",
    "matplotlib.backends.backend_svg",
    "glusterlab.forkedkernel",
    "glusterlab.notebook",
    "glusterlab.section",
    "glusterlab.openraw",
    "glusterlab.tables",
)
_PACKAGES = ("glusterlab.analysis", "glusterlab.baseline", "glusterlab.plots", "glusterlab.spec")
"""Of these every module is imported."""

_END_S = 10
"""How long processes have to end before they are killed."""


def preload() -> None:
    """Import what notebooks and their pages need; what cannot be imported is left to whoever asks for it."""
    from glusterlab.notebook import warm_up

    # the first, for it spares what all later imports would do
    with suppress(Exception):
        warm_up()
    names = list(_MODULES)
    for name in _PACKAGES:
        with suppress(ImportError):
            package = import_module(name)
            names += [f"{name}.{module.name}" for module in pkgutil.iter_modules(package.__path__)]
    for name in names:
        # a module that fails does so again in the notebook that needs it, where it can be told
        with suppress(Exception):
            import_module(name)


def threads() -> int:
    """How many threads this process has, those of libraries included."""
    with suppress(OSError):
        return len(os.listdir("/proc/self/task"))  # noqa: PTH208
    return threading.active_count()


class Server:
    """Forks a process for each request.

    Parameters
    ----------
    control : socket.socket
        Requests come from here; its end is the server's.
    """

    def __init__(self, control: socket.socket) -> None:
        self.control = control
        self._children: dict[int, socket.socket] = {}
        self._selector = selectors.DefaultSelector()
        self._woken, self._wake = socket.socketpair()

    def serve(self) -> str | None:
        """Fork until nobody asks any more.

        Returns
        -------
        str or None
            In a forked process the job that it is to do; None in the server, at its end.
        """
        self._wake.setblocking(False)
        signal.set_wakeup_fd(self._wake.fileno(), warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        # an interrupt is for whoever started this; it says what is to end
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        for found in (self.control, self._woken):
            self._selector.register(found, selectors.EVENT_READ)
        while True:
            for key, _ in self._selector.select():
                if key.fileobj is self._woken:
                    self._woken.recv(4096)
                    self._reap()
                elif key.fileobj is self.control:
                    text, descriptors, _, _ = socket.recv_fds(self.control, 1 << 16, 1)
                    if not text:
                        self._end_all()
                        return None
                    if (job := self._fork(json.loads(text), socket.socket(fileno=descriptors[0]))) is not None:
                        return job
                elif self._children.get(key.data) is key.fileobj:
                    # else it was reaped after this was asked, in this very round
                    self._signal(key.data)

    def _fork(self, request: dict[str, str], answers: socket.socket) -> str | None:
        try:
            pid = os.fork()
        except OSError:
            # no room for it: whoever asked starts a process as usual, and those that are there go on
            answers.close()
            return None
        if pid == 0:
            self._leave(answers)
            _prepare(request)
            return request["job"]
        self._children[pid] = answers
        self._selector.register(answers, selectors.EVENT_READ, pid)
        with suppress(OSError):
            answers.sendall(f"{pid}\n".encode())
        return None

    def _leave(self, answers: socket.socket) -> None:
        """Drop in a forked process what is the server's."""
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        self._selector.close()
        for other in (self.control, self._woken, self._wake, answers, *self._children.values()):
            other.close()

    def _signal(self, pid: int) -> None:
        answers = self._children[pid]
        try:
            words = answers.recv(4096).split()
        except OSError:
            words = []
        if not words:
            # nobody waits for it any more
            self._selector.unregister(answers)
        for number in [int(word) for word in words] or [signal.SIGTERM]:
            # it is a child that was not waited for, so the id is still its own
            os.kill(pid, number)

    def _reap(self) -> None:
        for pid in list(self._children):
            found, status = os.waitpid(pid, os.WNOHANG)
            if found:
                answers = self._children.pop(pid)
                with suppress(KeyError):
                    self._selector.unregister(answers)
                with suppress(OSError):
                    answers.sendall(f"{os.waitstatus_to_exitcode(status)}\n".encode())
                answers.close()

    def _end_all(self) -> None:
        end = time.monotonic() + _END_S
        for pid in self._children:
            os.kill(pid, signal.SIGTERM)
        while self._children and time.monotonic() < end:
            self._reap()
            time.sleep(0.05)
        for pid in self._children:
            os.kill(pid, signal.SIGKILL)


def _prepare(request: dict[str, str]) -> None:
    """Give a forked process its own output and environment."""
    os.environ.update(json.loads(request["environment"]))
    # it is remembered once it was asked for
    tempfile.tempdir = None
    nothing = os.open(os.devnull, os.O_RDONLY)
    log = os.open(request["log"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    for source, target in ((nothing, 0), (log, 1), (log, 2)):
        os.dup2(source, target)
    os.close(nothing)
    os.close(log)


def _end_with(parent: int) -> None:
    """End this process when the one that forked it is gone: nobody could tell it to."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def main() -> None:
    """Serve; in a forked process, do its job."""
    control = socket.socket(fileno=os.dup(sys.stdin.fileno()))
    server = os.getpid()
    preload()
    if threads() != 1:
        return
    # what is there now is never collected, so that forked processes do not write to its pages
    gc.collect()
    gc.freeze()
    control.sendall(READY)
    job = Server(control).serve()
    if job is None:
        return
    from glusterlab import notebook
    from glusterlab.forkedkernel import ForkedProvisioner, WaitingKernel

    # before there are threads
    ForkedProvisioner.register(WaitingKernel.fork())
    _end_with(server)
    notebook.main(str(Path(job)))
