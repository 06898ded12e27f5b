"""Small jobs that pickle, on the processors of this machine or on the workers of a Dask cluster: the same results."""

from __future__ import annotations

import os
import re
import signal
import socket
import ssl
import sys
import tempfile
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, CancelledError, Executor, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from multiprocessing import parent_process
from multiprocessing.process import BaseProcess
from threading import Lock, Thread, current_thread, main_thread
from types import FrameType, ModuleType
from typing import TYPE_CHECKING, Any, TypeVar

from glusterlab.errors import GlusterlabError, UsageError

if sys.platform == "linux":
    from multiprocessing import forkserver
    from multiprocessing.context import ForkServerContext as _BaseContext
    from multiprocessing.context import ForkServerProcess as _BaseProcess
else:
    from multiprocessing.context import SpawnContext as _BaseContext
    from multiprocessing.context import SpawnProcess as _BaseProcess

if TYPE_CHECKING:
    from distributed import Client

JobT = TypeVar("JobT")
ResultT = TypeVar("ResultT")

MAX_PROCESSES = 8
WORTH_FROM = 24  # so many samples are worth the start of several processes

FORKED = sys.platform == "linux"
"""Whether processes are forked, from one that has imported and done nothing: a fork of a process with threads of its
own, as a notebook's kernel is, can hang, and elsewhere no fork is safe."""

# who asked for processes ends them: what they are forked from is not to be gone before
_ENDING = {signal.SIGINT, signal.SIGTERM, *([signal.SIGHUP] if sys.platform != "win32" else [])}

_CONNECT_S = 15
_STARTING = Lock()
_served: set[int] = set()  # processes that have asked for theirs to be forked


def run(
    jobs: Iterable[JobT],
    work: Callable[[JobT], tuple[ResultT, Sequence[JobT]]],
    *,
    scheduler: str | None = None,
    processes: int | None = None,
    library: Callable[[], str] = str,
) -> Iterator[tuple[ResultT, Sequence[JobT]]]:
    """Do jobs and yield what `work` makes of each, in no order: a result, and further jobs, which are done as well.

    `work`: a module's function. `library`: gives a digest of the library where it is called. `processes`: by default
    one per processor; 1 works in this process. Raises UsageError when the Dask scheduler cannot be reached, or a worker
    of it has another library, and the GlusterlabError of a job.
    """
    waiting = deque(jobs)
    count = min(processes or os.cpu_count() or 1, MAX_PROCESSES)
    if scheduler is None and count < 2:
        while waiting:
            result, more = work(waiting.popleft())
            waiting.extend(more)
            yield result, more
        return
    if scheduler is None:
        preload(work.__module__)
    under_way: set[Future[tuple[ResultT, Sequence[JobT]]]] = set()
    with _processes(count) if scheduler is None else _dask(scheduler, library) as (executor, workers):
        while waiting or under_way:
            # one that runs and one that waits for each worker: results are kept in memory until they are taken
            while waiting and len(under_way) < 2 * workers:
                under_way.add(executor.submit(work, waiting.popleft()))
            done, under_way = wait(under_way, return_when=FIRST_COMPLETED)
            for future in done:
                result, more = future.result()
                waiting.extend(more)
                yield result, more


class _Process(_BaseProcess):
    """A process that does not read the script which started it, and so cannot begin that anew: jobs need none of it."""

    @staticmethod
    def _Popen(process: BaseProcess) -> Any:  # noqa: N802
        with _STARTING:
            script = sys.modules["__main__"]
            # other threads find all that the script has
            sys.modules["__main__"] = stand_in = ModuleType("__main__")
            vars(stand_in).update(vars(script), __file__=None, __spec__=None)
            try:
                return _BaseProcess._Popen(process)
            finally:
                sys.modules["__main__"] = script


class Processes(_BaseContext):
    """What starts processes of this library."""

    Process = _Process


def preload(module: str) -> None:
    """Have the processes that this one starts begin with a module imported, as it is now; only the first call counts.

    To be called before there are threads: the environment is another one meanwhile.
    """
    if not FORKED or os.getpid() in _served:
        return
    _served.add(os.getpid())
    # what is sorted and drawn is by nobody's settings, and no folder's own modules are imported
    own = {"PYTHONSAFEPATH": "1", "PYTHONHASHSEED": "0", "PYDEVD_DISABLE_FILE_VALIDATION": "1"}
    kept = dict(os.environ)
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, _ENDING)
    try:
        _replace_environment({name: kept[name] for name in kept.keys() - {"MPLBACKEND", "MATPLOTLIBRC"}} | own)
        forkserver.set_forkserver_preload([module])
        with suppress(OSError):  # who starts a process meets it again
            forkserver.ensure_running()
    finally:
        _replace_environment(kept)
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)


def adopt(environment: Mapping[str, str]) -> None:
    """In a process that was forked: have the environment of the one that asked for it, and end by signals again."""
    _replace_environment(environment)
    tempfile.tempdir = None
    if FORKED:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _ENDING)


def _replace_environment(variables: Mapping[str, str]) -> None:
    os.environ.clear()
    os.environ.update(variables)


@contextmanager
def on_signals(handler: Callable[[int, FrameType | None], object], numbers: Iterable[signal.Signals]) -> Iterator[None]:
    """Have signals handled; only the main thread can, in another one they stay as they are."""
    if current_thread() is not main_thread():
        yield
        return
    earlier = {number: signal.signal(number, handler) for number in numbers}
    try:
        yield
    finally:
        for number, before in earlier.items():
            signal.signal(number, before)


@contextmanager
def _processes(count: int) -> Iterator[tuple[Executor, int]]:
    pool = ProcessPoolExecutor(count, mp_context=Processes(), initializer=_begin, initargs=(dict(os.environ),))
    try:
        yield pool, count
    except BrokenProcessPool as error:
        message = "a process was killed from outside, which a machine short of memory does; what was done is kept"
        raise GlusterlabError(f"{message}: run the same command again") from error
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _begin(environment: Mapping[str, str]) -> None:
    """Take the environment of the process that started this one, and end when that has ended, however it happened."""
    adopt(environment)
    parent = parent_process()

    def watch() -> None:
        if parent is not None:
            parent.join()
            os._exit(1)

    Thread(target=watch, daemon=True).start()


@contextmanager
def _dask(address: str, library: Callable[[], str]) -> Iterator[tuple[Executor, int]]:
    try:
        from distributed import Client, KilledWorker
        from distributed.comm.core import CommClosedError
    except ImportError as error:
        raise UsageError("--scheduler needs dask.distributed: pip install 'glusterlab[dask]'") from error
    # a client of Dask that never got through complains when it is removed, so ask first whether anything listens
    found = re.fullmatch(r"(?:[a-z]+://)?(\[[0-9A-Fa-f:.]+\]|[^:/\s]+):(\d{1,5})/?", address)
    if found is None:
        raise UsageError(f"--scheduler {address!r}: expected an address such as tcp://10.0.0.1:8786")
    try:
        socket.create_connection((found[1].strip("[]"), int(found[2])), timeout=_CONNECT_S).close()
        client = Client(address, timeout=_CONNECT_S, set_as_default=False)
    except (FileNotFoundError, RuntimeError, TypeError, ssl.SSLError) as error:
        message = f"--scheduler {address}: its TLS does not fit Dask's configuration here ({error})"
        raise UsageError(f"{message}; see distributed.comm.tls: ca-file, client.cert, client.key") from error
    except (OSError, OverflowError, ValueError) as error:
        advice = "start one with `dask scheduler`"
        raise UsageError(f"--scheduler {address}: no Dask scheduler answers there ({error}); {advice}") from error
    try:
        _check_workers(client, address, library)
        # impure: a key made from the job's content would find the result of a file as it was before
        yield client.get_executor(pure=False), max(1, sum(client.nthreads().values()))
    # a lost connection shows in several ways
    except (KilledWorker, CancelledError, CommClosedError) as error:
        why = "every worker that took one of the jobs died" if isinstance(error, KilledWorker) else "it went away"
        advice = "what was done is kept: run the same command again"
        raise GlusterlabError(f"--scheduler {address}: {why}; {advice}") from error
    finally:
        with suppress(OSError, CommClosedError):
            client.close()


def _check_workers(client: Client, address: str, library: Callable[[], str]) -> None:
    answers: dict[str, Any] = client.run(library, on_error="return")
    # one that has just died is none that could do anything wrong
    digests = {worker: digest for worker, digest in answers.items() if not isinstance(digest, OSError)}
    if not digests:
        raise UsageError(f"--scheduler {address}: expected workers, found none; start some: `dask worker {address}`")
    mine = library()
    for worker, digest in sorted(digests.items()):
        if digest != mine:
            other = f"none ({digest})" if isinstance(digest, Exception) else "another one"
            expected = f"expected this glusterlab on worker {worker}, found {other}"
            raise UsageError(f"--scheduler {address}: {expected}; install the same there")
