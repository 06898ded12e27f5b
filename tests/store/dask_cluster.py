"""A real Dask scheduler with workers on loopback, as processes of their own."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from distributed import Client

WITHIN_S = 60


@dataclass
class DaskCluster:
    """Its address, and its processes."""

    address: str
    scheduler: subprocess.Popen[bytes]
    workers: list[subprocess.Popen[bytes]]


@contextmanager
def cluster(folder: Path, workers: int = 2, *tls: str) -> Iterator[DaskCluster]:
    """Start it in a new folder, and end it whatever happens; `tls`: options of scheduler and workers."""
    folder.mkdir(exist_ok=True)
    file = folder / "scheduler.json"
    # a dead worker is noticed at once by its closed connection
    environment = {**os.environ, "DASK_DISTRIBUTED__WORKER__DAEMON": "False"}
    common = ["--scheduler-file", str(file), "--host", "127.0.0.1", "--no-dashboard", *tls]
    with ExitStack() as stack, (folder / "dask.log").open("wb") as log:

        def start(kind: str, *words: str) -> subprocess.Popen[bytes]:
            command = [sys.executable, "-m", "dask", kind, *common, *words]
            process = subprocess.Popen(command, stdout=log, stderr=log, cwd=folder, env=environment)
            stack.callback(end, process)
            return process

        scheduler = start("scheduler", "--port", "0")
        until = time.monotonic() + WITHIN_S
        while not file.exists():
            assert time.monotonic() < until, (folder / "dask.log").read_text()
            time.sleep(0.1)
        started = [start("worker", "--nthreads", "1", "--no-nanny") for _ in range(workers)]
        with Client(scheduler_file=str(file), timeout=WITHIN_S) as client:
            if workers:
                client.wait_for_workers(workers, timeout=WITHIN_S)
            address = client.scheduler.address
        yield DaskCluster(address, scheduler, started)


def end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
