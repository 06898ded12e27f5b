"""dd and the loop of files as tools that are run: their scripts, executed, and what their workers say."""

import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from glusterlab.errors import ParseError
from glusterlab.tools import volume_tools
from glusterlab.tools.base import Job, Measurement
from glusterlab.tools.dd import DD
from glusterlab.tools.fileloop import _FIRST_TICK, _LAST_TICK, _TICK, FILE_LOOP
from tests.hosts.shell import bash
from tests.tools.jobs import make_cell, make_job

DATA = Path(__file__).parents[1] / "data"
SSH = """#!/bin/bash
for word; do [ "$word" = -O ] || [ "$word" = -M ] && exit 0; done
shift
exec bash -c "$*"
"""
"""A stand-in for ssh that runs the command here; connections that are to stay open are none."""


@pytest.fixture
def place(tmp_path: Path) -> dict[str, Any]:
    (tmp_path / "mount").mkdir()
    (tmp_path / "mount" / ".glusterlab").touch()
    return {"mount_point": str(tmp_path / "mount"), "dataset_dir": str(tmp_path / "mount/d"), "clients": 2}


def executed(job: Job, folder: Path) -> Measurement:
    """What a job measures here, with the real programs."""
    tool = volume_tools()[job.cell.tool]
    wrapper = Path(job.ssh_wrapper)
    wrapper.parent.mkdir(parents=True, exist_ok=True)
    wrapper.write_text(SSH)
    for command in tool.prepare(job):
        done = bash(command.script)
        assert done.returncode == 0, done.stderr
    folder.mkdir(exist_ok=True)
    # the machine's caches are its own
    bash(tool.command(job).script.replace("/proc/sys/vm/drop_caches", str(folder / "drops")))
    for output in tool.outputs(job):
        shutil.copy(output, folder)
    return tool.parse(folder, job.cell)


def test_dd_reads_in_other_calls_what_it_wrote(tmp_path: Path, place: dict[str, Any]) -> None:
    size = {"workers": 3, "file_size_bytes": 1 << 20}
    write = make_cell("dd", "write", record_size_bytes=65536, options=("conv=fsync",), **size)
    read = make_cell("dd", "read", record_size_bytes=1024, **size)
    assert DD.dataset(write) == DD.dataset(read)
    for cell in (write, read):
        job = make_job(cell, work_dir=str(tmp_path / "work"), **place)
        result = executed(job, tmp_path / cell.operation)
        assert (result.problems, result.record.valid) == ((), True)
        assert [worker.host for worker in result.workers] == ["client01", "client02", "client01"]
        assert all(0 < worker.details["dd_s"] <= (worker.elapsed_s or 0) + 0.001 for worker in result.workers)
        assert (result.record.latency_mean_s or 0) > 0
        assert result.over_the_whole_time(together=False)["throughput_whole_bytes_per_s"]
    assert "conv=fsync" in (tmp_path / "write" / "dd-w01.txt").read_text()
    (Path(place["dataset_dir"]) / "w02" / "dd.data").write_bytes(b"short")
    assert "expected 1048576 bytes, found 5" in bash(DD.prepare(job)[0].script).stderr


def test_a_worker_that_copied_less_is_no_result(tmp_path: Path) -> None:
    shutil.copytree(DATA / "dd" / "workers", tmp_path, dirs_exist_ok=True)
    cell = make_cell("dd", "write", workers=3)
    file = tmp_path / "dd-w02.txt"
    text = file.read_text()
    for pattern, new, words in (
        (r"real .*\n", "", "worker 2: expected the shell's time"),
        (r"worker 2", "worker 3", "worker 2: expected a line that says when it starts"),
        (r"count=1024", "count=1025", "expected 1025 records, found 1024"),
    ):
        file.write_text(re.sub(pattern, new, text))
        assert words in str(DD.parse(tmp_path, cell).problems)
    file.unlink()
    assert "expected 3 workers, found 2" in str(DD.parse(tmp_path, cell).problems)
    with pytest.raises(ParseError, match=r"dd-w01\.txt, found none"):
        DD.parse(DATA / "fio", cell)


def test_files_are_made_by_time_or_number_and_read_by_all(tmp_path: Path, place: dict[str, Any]) -> None:
    size = {"workers": 3, "file_size_bytes": 8192, "record_size_bytes": 4096, "files_per_worker": 4}
    made = make_cell("file-loop", "create", runtime_s=None, options=("--no-sync",), **size)
    timed = made.model_copy(update={"runtime_s": 2.0})
    read = timed.model_copy(update={"operation": "read"})
    assert FILE_LOOP.dataset(made) == FILE_LOOP.dataset(read) != FILE_LOOP.dataset(timed)
    assert "for a runtime" in (FILE_LOOP.not_runnable(read.model_copy(update={"runtime_s": None}), 2) or "")
    jobs = [make_job(cell, work_dir=str(tmp_path / "work"), **place) for cell in (timed, made, read)]
    by_time, by_number, whole = (executed(job, tmp_path / str(n)) for n, job in enumerate(jobs))
    assert (by_time.problems, by_number.problems, whole.problems) == ((), (), ())
    assert (by_number.record.files, [worker.files for worker in by_number.workers]) == (12, [4, 4, 4])
    assert by_time.record.files_per_s == (by_time.record.files or 0) / 2.0
    assert (tmp_path / "2" / "drops").read_text() == "3\n"
    assert (whole.record.files or 0) >= 3
    lists = [(tmp_path / f"work/run-file-loop/list-w{n:02d}").read_text().splitlines() for n in (1, 2)]
    assert (sorted(lists[0]) == sorted(lists[1]), lists[0] == lists[1], len(lists[0])) == (True, False, 12)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("0 failed", "2 failed", "worker 2: 2 of"),
        ("0 wrong", "1 wrong", "worker 2: 1 files have another size"),
        ("318 files", "0 files", "worker 2: no file was done"),
        ("to 1795647836", "to 1795647834", "worker 2: expected 2.0 s, found"),
    ],
)
def test_a_loop_that_did_not_do_its_work_is_no_result(tmp_path: Path, old: str, new: str, words: str) -> None:
    shutil.copytree(DATA / "file-loop" / "create", tmp_path, dirs_exist_ok=True)
    file = tmp_path / "loop-w02.txt"
    assert old in file.read_text()
    file.write_text(file.read_text().replace(old, new))
    assert words in str(FILE_LOOP.parse(tmp_path, make_cell("file-loop", "create")).problems)
    file.write_text("bash: cut off\n")
    with pytest.raises(ParseError, match="worker 2, found 'bash: cut off'"):
        FILE_LOOP.parse(tmp_path, make_cell("file-loop", "create"))


def stress(operation: str = "mixed", **changed: Any) -> Any:
    size = {"workers": 5, "file_size_bytes": 8192, "record_size_bytes": 4096, "files_per_worker": 2, "runtime_s": 2.0}
    return make_cell(
        "file-loop", operation, **(size | {"options": ("--writers", "2", "--apart", "--no-sync")} | changed)
    )


def test_a_stress_test_has_writers_and_readers_at_once(tmp_path: Path, place: dict[str, Any]) -> None:
    cell = stress()
    made = make_job(cell.model_copy(update={"operation": "create", "runtime_s": None}), work_dir=str(tmp_path), **place)
    assert executed(made, tmp_path / "made").record.files == 10
    result = executed(make_job(cell, work_dir=str(tmp_path), **place), tmp_path / "mixed")
    assert (result.problems, result.record.valid, result.record.operation) == ((), True, "mixed")
    assert [worker.host for worker in result.workers] == ["client01"] * 2 + ["client02"] * 3
    assert [worker.details["role"] for worker in result.workers] == ["create"] * 2 + ["read"] * 3
    assert [worker.details["minutes"] for worker in result.workers] == [
        {"1": worker.files} for worker in result.workers
    ]
    together = make_job(stress(options=("--writers=2",)), work_dir=str(tmp_path), **place)
    assert FILE_LOOP.command(together).script.count("client01: ") == 3  # in turn, as without writers
    for changed, words in (
        ({"runtime_s": None}, "mixed goes on for a runtime"),
        ({"options": ()}, "expected --writers N below its 5 workers"),
        ({"options": ("--writers", "5")}, "expected --writers N below its 5 workers"),
        ({"operation": "create"}, "are of mixed, and this is create"),
        ({"operation": "delete"}, "file-loop's delete ends when its files are done"),
    ):
        assert words in (FILE_LOOP.not_runnable(stress(**changed), 2) or "")
    assert "readers on the others, and there is one" in (FILE_LOOP.not_runnable(cell, 1) or "")


def test_a_worker_that_stood_still_for_a_minute_has_not_passed(tmp_path: Path) -> None:
    for worker in range(1, 6):
        idle = "minute 1: 9 files\nminute 3: 5 files\nidle: 61\n" if worker == 3 else "minute 1: 9 files\nidle: 59\n"
        line = f"worker {worker} on client01: 14 files from 100.0 to 281.5, 0 failed, 0 wrong\n"
        (tmp_path / f"loop-w{worker:02d}.txt").write_text(idle + line)
    result = FILE_LOOP.parse(tmp_path, stress(runtime_s=180.0))
    assert [str(problem) for problem in result.problems] == ["tool-incomplete: worker 3: did no file for 61 s"]
    assert result.workers[2].details["minutes"] == {"1": 9, "3": 5}


def test_the_ticks_of_a_stress_test_tell_minutes_and_the_longest_wait(tmp_path: Path) -> None:
    # a clock of its own: files at 0, 1, 59, 61 and 200 s, the end at 230 s
    loop = "\n".join(f"EPOCHSECONDS={1000 + at}\n{_TICK}" for at in (0, 1, 59, 61, 200))
    script = f"unset EPOCHSECONDS; EPOCHSECONDS=1000 begin=1000.5\n{_FIRST_TICK}{loop}\nEPOCHSECONDS=1230\n{_LAST_TICK}"
    assert bash(script).stdout.splitlines() == [
        "minute 1: 3 files",
        "minute 2: 1 files",
        "minute 4: 1 files",
        "idle: 139",
    ]


def test_deletion_counts_its_passes_and_what_is_left(tmp_path: Path, place: dict[str, Any]) -> None:
    cell = stress("delete", workers=1, runtime_s=None, options=())
    made = make_job(cell.model_copy(update={"operation": "create"}), work_dir=str(tmp_path), **place)
    assert executed(made, tmp_path / "made").problems == ()
    gone = executed(make_job(cell, work_dir=str(tmp_path), **place), tmp_path / "gone")
    assert (gone.problems, gone.record.files, gone.workers[0].details["passes"]) == ((), 2, 1)
    assert gone.record.throughput_bytes_per_s is None
    assert gone.record.files_per_s
    text = (tmp_path / "gone" / "loop-w01.txt").read_text()
    for old, new, words in (
        ("passes: 1", "rm: cannot remove 'd': Directory not empty\npasses: 3", "worker 1: took 3 passes"),
        ("0 failed", "4 failed", "worker 1: rm failed 4 times: "),
        ("0 wrong", "1 wrong", "worker 1: 1 files are left"),
    ):
        assert old in text
        (tmp_path / "gone" / "loop-w01.txt").write_text(text.replace(old, new))
        assert words in str(FILE_LOOP.parse(tmp_path / "gone", cell).problems)


def test_an_archive_is_unpacked_and_gone(tmp_path: Path, place: dict[str, Any]) -> None:
    cell = stress("untar", workers=3, runtime_s=None, files_per_worker=203, options=())
    job = make_job(cell, work_dir=str(tmp_path / "work"), **place)
    result = executed(job, tmp_path / "unpacked")
    assert (result.problems, result.record.files, result.record.operation) == ((), 609, "untar")
    assert result.record.files_per_s
    assert len(list((tmp_path / "mount" / "d" / "w02").glob("*/*"))) == 203
    assert not list((tmp_path / "work").glob("archive-*"))
    # one that cannot be made leaves nothing
    assert bash(FILE_LOOP.prepare(job)[1].script.replace("head -c", "false")).returncode
    assert not list((tmp_path / "work").glob("archive-*"))
    # without the archive nothing comes out of it
    bash(FILE_LOOP.command(job).script)
    shutil.copy(FILE_LOOP.outputs(job)[1], tmp_path / "unpacked")
    assert "worker 2: tar failed: tar: " in str(FILE_LOOP.parse(tmp_path / "unpacked", cell).problems)
