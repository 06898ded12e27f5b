"""A real Dask scheduler with workers on loopback, as processes of their own."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from distributed import Client

WITHIN_S = 60


@dataclass
class DaskCluster:
    """Its address, and its processes."""

    address: str
    scheduler: subprocess.Popen[bytes]
    workers: list[subprocess.Popen[bytes]] = field(default_factory=list)


@contextmanager
def cluster(folder: Path, workers: int = 2) -> Iterator[DaskCluster]:
    """Start it, and end it whatever happens."""
    file = folder / "scheduler.json"
    # a dead worker is noticed at once by its closed connection
    environment = {**os.environ, "DASK_DISTRIBUTED__WORKER__DAEMON": "False"}
    command = [sys.executable, "-m", "dask"]
    common = ["--scheduler-file", str(file), "--host", "127.0.0.1", "--no-dashboard"]
    processes = []
    with (folder / "dask.log").open("wb") as log:

        def start(*words: str) -> subprocess.Popen[bytes]:
            process = subprocess.Popen([*command, *words], stdout=log, stderr=log, cwd=folder, env=environment)
            processes.append(process)
            return process

        try:
            scheduler = start("scheduler", *common, "--port", "0")
            end = time.monotonic() + WITHIN_S
            while not file.exists():
                assert time.monotonic() < end, (folder / "dask.log").read_text()
                time.sleep(0.1)
            started = [start("worker", *common, "--nthreads", "1", "--no-nanny") for _ in range(workers)]
            with Client(scheduler_file=str(file), timeout=WITHIN_S) as client:
                if workers:
                    client.wait_for_workers(workers, timeout=WITHIN_S)
                address = client.scheduler.address
            yield DaskCluster(address, scheduler, started)
        finally:
            for process in reversed(processes):
                process.terminate()
            for process in processes:
                try:
                    process.wait(10)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()
