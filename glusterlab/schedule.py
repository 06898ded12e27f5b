"""Jobs on the processors of this machine, or on a Dask cluster: the same jobs, the same results.

A job is a small object that pickles; `Work` turns it into a result and, where the job turns out to be big, into further
jobs. Results come as they are ready, and few of them are under way at a time, so memory is bounded by what a job needs.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing import get_context
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

    Attributes
    ----------
    results : tuple
    more : tuple
        Jobs that are to be done besides.
    """

    results: tuple[ResultT, ...] = ()
    more: tuple[JobT, ...] = ()


Work = Callable[[JobT], Outcome[JobT, ResultT]]


def run(
    jobs: Iterable[JobT], work: Work[JobT, ResultT], *, scheduler: str | None = None, processes: int | None = None
) -> Iterator[ResultT]:
    """Do jobs and yield their results, in no order.

    Parameters
    ----------
    jobs : iterable
        They must pickle, unless there is one process.
    work : callable
        A module's function.
    scheduler : str, optional
        Address of a Dask scheduler, such as ``tcp://10.0.0.1:8786``.
    processes : int, optional
        On this machine; by default one per processor, 8 at most. 1 works in this process.

    Raises
    ------
    UsageError
        When the scheduler cannot be reached, or its workers have another glusterlab.
    GlusterlabError
        What a job raised; what is not begun is left undone.
    """
    waiting = deque(jobs)
    count = min(processes or os.cpu_count() or 1, MAX_PROCESSES)
    if scheduler is not None:
        yield from _on_dask(waiting, work, scheduler)
    elif count < 2:
        yield from _here(waiting, work)
    else:
        yield from _in_processes(waiting, work, count)


def _here(waiting: deque[JobT], work: Work[JobT, ResultT]) -> Iterator[ResultT]:
    while waiting:
        outcome = work(waiting.popleft())
        waiting.extend(outcome.more)
        yield from outcome.results


def _in_processes(waiting: deque[JobT], work: Work[JobT, ResultT], count: int) -> Iterator[ResultT]:
    # spawn: a notebook's kernel has threads, and a fork of those can hang
    pool = ProcessPoolExecutor(count, mp_context=get_context("spawn"))
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


def _on_dask(waiting: deque[JobT], work: Work[JobT, ResultT], address: str) -> Iterator[ResultT]:
    with connect(address) as client:
        from distributed import KilledWorker, as_completed

        # impure: a key made from the job's content would find the result of a file as it was before
        pending = as_completed([client.submit(work, job, pure=False) for job in waiting], loop=client.loop)
        for future in pending:
            try:
                outcome = future.result()
            except KilledWorker as error:
                raise GlusterlabError(
                    f"--scheduler {address}: a job killed every worker that took it: {error}"
                ) from error
            for job in outcome.more:
                pending.add(client.submit(work, job, pure=False))
            future.release()
            yield from outcome.results


@contextmanager
def connect(address: str) -> Iterator[Client]:
    """A client of a Dask scheduler whose workers have this very library.

    Raises
    ------
    UsageError
        When dask.distributed is not installed, nothing answers at that address, there is no worker, or a worker has
        another glusterlab.
    """
    try:
        from distributed import Client
    except ImportError as error:
        raise UsageError("--scheduler needs dask.distributed: pip install 'glusterlab[dask]'") from error
    try:
        client = Client(address, timeout=_CONNECT_S, set_as_default=False)
    except (OSError, TimeoutError, ValueError) as error:
        example = "expected an address such as tcp://10.0.0.1:8786 of a running `dask scheduler`"
        raise UsageError(f"--scheduler {address}: {example}; nothing answers there: {error}") from error
    try:
        _check_workers(client, address)
        yield client
    finally:
        with suppress(OSError, TimeoutError):
            client.close()


def _check_workers(client: Client, address: str) -> None:
    from glusterlab.fingerprint import library_digest

    found: dict[str, Any] = client.run(library_digest, on_error="return")
    if not found:
        raise UsageError(
            f"--scheduler {address}: expected workers, found none: start some with `dask worker {address}`"
        )
    mine = library_digest()
    for worker, digest in sorted(found.items()):
        if digest != mine:
            other = f"none ({digest})" if isinstance(digest, Exception) else "another one"
            raise UsageError(f"--scheduler {address}: expected this glusterlab on worker {worker}, found {other}")
