"""Processes of this machine: results, errors, and none of them left when the one that started them is gone."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.spawn import get_preparation_data
from pathlib import Path

import pytest

from glusterlab import parallel
from glusterlab.errors import GlusterlabError
from tests.hosts.shell import ends

SLEEPERS = """
import sys, time
sys.path.insert(0, {folder!r})
import sleepers
from glusterlab import parallel
if __name__ == "__main__":
    for pid, _ in parallel.run(range(4), sleepers.work, processes=2):
        print(pid, flush=True)
"""


def double(job: int) -> tuple[int, Sequence[int]]:
    """A job below 10 asks for another one."""
    return 2 * job, [job + 10] if job < 10 else []


def tell(job: int) -> tuple[str, Sequence[int]]:
    del job
    return os.environ["GLUSTERLAB_TEST"], []


def die(job: int) -> tuple[int, Sequence[int]]:
    os.kill(os.getpid(), signal.SIGKILL)
    return job, []


@pytest.mark.parametrize("processes", [1, 2])
def test_jobs_may_ask_for_more(processes: int) -> None:
    found = sorted(result for result, _ in parallel.run(range(5), double, processes=processes))
    assert found == [0, 2, 4, 6, 8, 20, 22, 24, 26, 28]


def test_processes_have_the_environment_of_the_one_that_starts_them(monkeypatch: pytest.MonkeyPatch) -> None:
    for value in ("first", "second"):
        monkeypatch.setenv("GLUSTERLAB_TEST", value)
        assert [*parallel.run(range(2), tell, processes=2)] == [(value, [])] * 2


def test_a_process_that_is_killed_is_told_in_a_sentence() -> None:
    with pytest.raises(GlusterlabError, match="run the same command again"):
        list(parallel.run(range(3), die, processes=2))


def test_threads_that_start_processes_leave_the_script_to_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    script = sys.modules["__main__"]
    monkeypatch.setattr(script, "of_the_script", 1, raising=False)
    found = []

    def start(_: object) -> None:
        handed_on = {name for name in get_preparation_data("x") if name.startswith("init_main")}
        found.append((sys.modules["__main__"].of_the_script, handed_on))
        time.sleep(0.2)

    monkeypatch.setattr(parallel._BaseProcess, "_Popen", staticmethod(start))
    with ThreadPoolExecutor() as pool:
        first = pool.submit(parallel._Process._Popen, None)
        time.sleep(0.1)
        for each in (pool.submit(parallel._Process._Popen, None), first):
            each.result()
    assert found == [(1, set())] * 2
    assert sys.modules["__main__"] is script


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_no_process_outlives_the_one_that_started_it(tmp_path: Path, how: signal.Signals) -> None:
    (tmp_path / "sleepers.py").write_text(
        "import os, time\ndef work(job):\n    time.sleep(0 if job < 2 else 60)\n    return os.getpid(), ()\n"
    )
    script = tmp_path / "main.py"
    script.write_text(SLEEPERS.format(folder=str(tmp_path)))
    with subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        workers = {int(process.stdout.readline()) for _ in range(2)}
        process.send_signal(how)
    assert all(ends(worker) for worker in workers)
