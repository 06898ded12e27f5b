"""Jobs on the processors of this machine, or on a Dask cluster: the same jobs, the same results.

A job is a small object that pickles; `Work` turns it into a result and, where the job turns out to be big, into further
jobs. Results come as they are ready, and few of them are under way at a time, so memory is bounded by what a job needs.
"""

from __future__ import annotations

import os
import re
import socket
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing import current_process, get_context, parent_process
from threading import Thread
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from glusterlab.errors import GlusterlabError, UsageError

if TYPE_CHECKING:
    from distributed import Client

JobT = TypeVar("JobT")
ResultT = TypeVar("ResultT")

MAX_PROCESSES = 8
"""More processes on one machine wait for its disks."""

_CONNECT_S = 15
_UNDER_WAY = 2
"""Jobs handed out per process: one that runs, and one that waits."""


@dataclass(frozen=True)
class Outcome(Generic[JobT, ResultT]):
    """What became of a job.

    `more`: jobs that are to be done besides.
    """

    results: tuple[ResultT, ...] = ()
    more: tuple[JobT, ...] = ()


Work = Callable[[JobT], Outcome[JobT, ResultT]]


def run(
    jobs: Iterable[JobT],
    work: Work[JobT, ResultT],
    *,
    scheduler: str | None = None,
    processes: int | None = None,
    library: Callable[[], str] = str,
) -> Iterator[ResultT]:
    """Do jobs and yield their results, in no order.

    `jobs`: they must pickle, unless there is one process. `work`: a module's function. `scheduler`: address of a Dask
    scheduler, such as ``tcp://10.0.0.1:8786``. `library`: digest of the library where it is called, which must be the
    same on every worker of the scheduler. `processes`: on this machine; by default one per processor, 8 at most. 1
    works in this process. Raises UsageError when the scheduler cannot be reached, or its workers have another
    glusterlab. Raises the GlusterlabError of a job; what is not begun is left undone.
    """
    waiting = deque(jobs)
    count = min(processes or os.cpu_count() or 1, MAX_PROCESSES)
    if scheduler is not None:
        yield from _on_dask(waiting, work, scheduler, library)
    elif count < 2:
        yield from _here(waiting, work)
    else:
        yield from _in_processes(waiting, work, count)


def refuse_second_start() -> None:
    """Refuse work in a process that is only just started by `run`, and runs the script that called it once more.

    Without a guard in that script both would wait for each other for ever.

    Raises UsageError with what the script lacks.
    """
    # what multiprocessing itself asks in such a case
    if getattr(current_process(), "_inheriting", False):
        raise UsageError(
            "the tables are made by several processes, each of which reads the script that started them: put what it "
            "does below `if __name__ == '__main__':`"
        )


def _here(waiting: deque[JobT], work: Work[JobT, ResultT]) -> Iterator[ResultT]:
    while waiting:
        outcome = work(waiting.popleft())
        waiting.extend(outcome.more)
        yield from outcome.results


def _in_processes(waiting: deque[JobT], work: Work[JobT, ResultT], count: int) -> Iterator[ResultT]:
    # spawn: a notebook's kernel has threads, and a fork of those can hang
    pool = ProcessPoolExecutor(count, mp_context=get_context("spawn"), initializer=_end_with_parent)
    under_way: set[Future[Outcome[JobT, ResultT]]] = set()
    try:
        while waiting or under_way:
            while waiting and len(under_way) < _UNDER_WAY * count:
                under_way.add(pool.submit(work, waiting.popleft()))
            done, under_way = wait(under_way, return_when=FIRST_COMPLETED)
            for future in done:
                outcome = future.result()
                waiting.extend(outcome.more)
                yield from outcome.results
    except BrokenProcessPool as error:
        message = "a process was killed from outside, which a machine short of memory does; what was done is kept"
        raise GlusterlabError(f"{message}: run the same command again") from error
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _end_with_parent() -> None:
    """End this process when the one that started it has ended, however that happened."""
    parent = parent_process()

    def watch() -> None:
        if parent is not None:
            parent.join()
            os._exit(1)

    Thread(target=watch, daemon=True).start()


def _on_dask(
    waiting: deque[JobT], work: Work[JobT, ResultT], address: str, library: Callable[[], str]
) -> Iterator[ResultT]:
    with connect(address, library) as client:
        from distributed import as_completed

        pending = as_completed(loop=client.loop)
        under_way, most = 0, _UNDER_WAY * max(1, sum(client.nthreads().values()))
        while waiting or under_way:
            # few at a time: results wait in the workers' memory until they are fetched
            while waiting and under_way < most:
                # impure: a key made from the job's content would find the result of a file as it was before
                pending.add(client.submit(work, waiting.popleft(), pure=False))
                under_way += 1
            future = next(pending)
            outcome = future.result()
            under_way -= 1
            future.release()
            waiting.extend(outcome.more)
            yield from outcome.results


@contextmanager
def connect(address: str, library: Callable[[], str]) -> Iterator[Client]:
    """A client of a Dask scheduler whose workers have this very library.

    Raises UsageError when dask.distributed is not installed, nothing answers at that address, there is no worker, or a
    worker has another glusterlab.
    """
    try:
        from distributed import Client, KilledWorker
        from distributed.comm.core import CommClosedError
    except ImportError as error:
        raise UsageError("--scheduler needs dask.distributed: pip install 'glusterlab[dask]'") from error
    _require_listener(address)
    try:
        client = Client(address, timeout=_CONNECT_S, set_as_default=False)
    except (OSError, TimeoutError, ValueError) as error:
        raise UsageError(f"--scheduler {address}: no Dask scheduler answers there: {error}") from error
    try:
        _check_workers(client, address, library)
        yield client
    # a lost connection shows in several ways
    except (KilledWorker, CancelledError, CommClosedError) as error:
        why = "every worker that took one of the jobs died" if isinstance(error, KilledWorker) else "it went away"
        advice = "what was done is kept: run the same command again"
        raise GlusterlabError(f"--scheduler {address}: {why}; {advice}") from error
    finally:
        with suppress(OSError, TimeoutError, CommClosedError):
            client.close()


def _require_listener(address: str) -> None:
    """Refuse an address where nothing listens: a client of Dask that never got through complains when it is removed."""
    found = re.fullmatch(r"(?:[a-z]+://)?(\[[0-9A-Fa-f:.]+\]|[^:/\s]+):(\d{1,5})/?", address)
    if found is None:
        raise UsageError(f"--scheduler {address!r}: expected an address such as tcp://10.0.0.1:8786")
    try:
        socket.create_connection((found[1].strip("[]"), int(found[2])), timeout=_CONNECT_S).close()
    except (OSError, OverflowError) as error:
        advice = "start one with `dask scheduler`"
        raise UsageError(f"--scheduler {address}: nothing answers there ({error}); {advice}") from error


def _check_workers(client: Client, address: str, library: Callable[[], str]) -> None:
    found: dict[str, Any] = client.run(library, on_error="return")
    # one that has just died is none that could do anything wrong
    found = {worker: digest for worker, digest in found.items() if not isinstance(digest, OSError)}
    if not found:
        raise UsageError(f"--scheduler {address}: expected workers, found none; start some: `dask worker {address}`")
    mine = library()
    for worker, digest in sorted(found.items()):
        if digest != mine:
            other = f"none ({digest})" if isinstance(digest, Exception) else "another one"
            expected = f"expected this glusterlab on worker {worker}, found {other}"
            raise UsageError(f"--scheduler {address}: {expected}; install the same there")
