"""smallfile: the command lines, and a JSON that says Success too often."""

import shutil
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from glusterlab.errors import ParseError, WorkloadError
from glusterlab.spec.cell import Cell
from glusterlab.tools.smallfile.command import SMALLFILE
from tests.hosts.shell import bash
from tests.tools import jobs

DATA = Path(__file__).parents[1] / "data" / "smallfile"
make_cell = partial(jobs.make_cell, "smallfile")
make_job = partial(jobs.make_job, clients=12, shared_dir="/srv/shared")


def _parse(tmp_path: Path, name: str, cell: Cell) -> Any:
    shutil.copytree(DATA / name, tmp_path, dirs_exist_ok=True)
    return SMALLFILE.parse(tmp_path, cell)


# --- command lines


@pytest.mark.parametrize(("workers", "hosts", "threads"), [(1, 1, 1), (6, 6, 1), (12, 12, 1), (24, 12, 2), (48, 12, 4)])
def test_workers_are_spread_evenly(workers: int, hosts: int, threads: int) -> None:
    script = SMALLFILE.command(make_job(make_cell("create", workers=workers))).script
    names = ",".join(f"client{n:02d}" for n in range(1, hosts + 1))
    alone = make_job(make_cell("create", workers=workers), shared_dir=None)
    assert "--network-sync-dir /mnt/gl/vol/d/smallfile-sync " in SMALLFILE.command(alone).script
    # nothing is deleted but in directories that carry the suite's mark
    assert "gl_remove /mnt/gl/vol d\nmkdir -p /mnt/gl/vol/d" in SMALLFILE.prepare(alone)[0].script
    assert "gl_in_marked /mnt/gl/vol gl_remove_entry ./d/smallfile-sync\n" in SMALLFILE.prepare(alone)[0].script
    assert "gl_remove /srv/shared smallfile-sync\n" in SMALLFILE.prepare(make_job(make_cell("read")))[0].script
    assert f"--host-set {names} --threads {threads} --files 200 --file-size 32 " in script
    assert "--network-sync-dir /srv/shared/smallfile-sync " in script
    assert "--stonewall Y --response-times N" in script
    assert "\nPATH=/var/tmp/gl/run-smallfile/bin:$PATH exec python3 /var/tmp/gl/smallfile/smallfile_cli.py" in script


@pytest.mark.parametrize(
    ("files", "per_dir", "last"), [(1, 2, 1), (5, 6, 1), (99, 100, 1), (100, 100, 1), (101, 100, 2), (5000, 100, 9)]
)
def test_directories_that_smallfile_looks_for_are_there_and_a_worker_of_few_files_fills_one(
    files: int, per_dir: int, last: int
) -> None:
    job = make_job(make_cell("create", files_per_worker=files))
    assert f" --files-per-dir {per_dir} " in SMALLFILE.command(job).script
    assert f"$(seq -f %03g 0 {last})" in SMALLFILE.prepare(job)[0].script


def test_each_host_finds_its_directories_before_smallfile_begins(tmp_path: Path) -> None:
    places = {"dataset_dir": "it's d", "work_dir": "work", "mount_point": "."}
    where = {name: str(tmp_path / place) for name, place in places.items()}
    job = make_job(make_cell("create", workers=4), clients=2, **where)
    wrapper = Path(job.ssh_wrapper)
    wrapper.parent.mkdir(parents=True)
    wrapper.write_text(f'#!/bin/sh\nsh -c "$2" >"{tmp_path}/$1"\n')
    wrapper.chmod(0o700)
    trees = [Path(job.dataset_dir) / f"file_{kind}dir" for kind in ("dst", "src")]
    for each in ("client01/thrd_00", "client01/thrd_01", "client02/thrd_00", "client03/thrd_00"):
        for tree in trees:
            (tree / each / "d_000").mkdir(parents=True)
    looks = SMALLFILE.command(job).script.partition("\nPATH=")[0]
    assert bash(looks).returncode == 0
    for host, threads in (("client01", 2), ("client02", 1)):
        expected = [f"{tree}/{host}/thrd_{n:02d}/d_000" for tree in trees for n in range(threads)]
        # a name, and fifteen numbers
        assert [line.rsplit(" ", 15)[0] for line in (tmp_path / host).read_text().splitlines()] == expected
    assert not (tmp_path / "client03").exists()
    # a host that cannot say is no failure yet, and what looks for files within what is measured finds cold ones
    wrapper.write_text("#!/bin/sh\nexit 255\n")
    assert bash(looks).returncode == 0
    assert "stat" not in SMALLFILE.command(make_job(make_cell("read", workers=4), clients=2, **where)).script


def test_workers_that_cannot_be_spread() -> None:
    cell = make_cell("create", workers=14)
    assert "14 workers cannot be spread over 12 clients" in (SMALLFILE.not_runnable(cell, 12) or "")
    with pytest.raises(WorkloadError, match="cannot be spread"):
        SMALLFILE.command(make_job(cell))
    assert "whole KiB" in (SMALLFILE.not_runnable(make_cell("create", file_size_bytes=1000), 12) or "")


def test_prepare_counts_files_before_a_read(tmp_path: Path) -> None:
    places = {"dataset_dir": "it's d", "work_dir": "work", "shared_dir": "shared", "mount_point": "."}
    cell = make_cell("read", files_per_worker=2)
    job = make_job(cell, **{name: str(tmp_path / place) for name, place in places.items()})
    wrapper = Path(job.ssh_wrapper)
    wrapper.parent.mkdir(parents=True)
    wrapper.touch()
    folders = [Path(job.dataset_dir) / "file_srcdir" / host for host in ("client01", "client02")]
    (command,) = SMALLFILE.prepare(job)
    theirs = tmp_path / "shared" / "smallfile-sync" / "theirs"
    theirs.parent.mkdir(parents=True)
    theirs.touch()
    refused = bash(command.script)
    assert (refused.returncode, "not marked as glusterlab's: nothing deleted" in refused.stderr) == (1, True)
    assert theirs.exists()
    (tmp_path / "shared" / ".glusterlab").touch()
    for file, code, said in (("a", 1, f"{folders[0]}: expected 2 files, found 1\n"), ("b", 0, "")):
        for folder in folders:
            folder.mkdir(parents=True, exist_ok=True)
            (folder / file).touch()
        done = bash(command.script)
        assert (done.returncode, done.stderr) == (code, said)
    assert not theirs.parent.exists()
    assert wrapper.stat().st_mode & 0o111


def test_files_that_an_operation_spent_are_not_used_again(tmp_path: Path) -> None:
    places = {"dataset_dir": "d", "work_dir": "work", "shared_dir": "shared", "mount_point": "."}
    where = {name: str(tmp_path / place) for name, place in places.items()}
    for operation, name in (("rename", "f"), ("rmdir", "f.d")):
        job = make_job(make_cell(operation, workers=1, files_per_worker=1), clients=1, **where)
        Path(job.ssh_wrapper).parent.mkdir(parents=True, exist_ok=True)
        Path(job.ssh_wrapper).touch()
        (tmp_path / "shared").mkdir(exist_ok=True)
        (tmp_path / "shared" / ".glusterlab").touch()
        entry = Path(job.dataset_dir) / "file_srcdir" / "client01" / "thrd_00" / "d_000" / name
        (command,) = SMALLFILE.prepare(job)
        assert "found 0\n" in bash(command.script).stderr
        entry.mkdir(parents=True) if operation == "rmdir" else (entry.parent.mkdir(parents=True), entry.touch())
        assert bash(command.script).returncode == 0
        again = bash(command.script)
        assert (again.returncode, "/d/spent: an earlier sample used them\n" in again.stderr) == (1, True)
        shutil.rmtree(job.dataset_dir)


def test_what_spends_files_has_its_own_and_names_what_makes_them() -> None:
    own = {name: SMALLFILE.dataset(make_cell(name)) for name in SMALLFILE.by_operation}
    assert own["create"] == own["read"] == own["stat"] == own["ls-l"]
    spending = [name for name, operation in SMALLFILE.by_operation.items() if operation.spends]
    assert len({own["create"], *(own[name] for name in spending)}) == len(spending) + 1
    assert (SMALLFILE.maker_of("rename"), SMALLFILE.maker_of("rmdir")) == ("create", "mkdir")


# --- its own measured output


def test_another_run_than_asked_for(tmp_path: Path) -> None:
    with pytest.raises(ParseError, match="expected one report of read, found 0"):
        _parse(tmp_path, "create", make_cell("read"))
    cell = make_cell("create", workers=4, files_per_worker=100, file_size_bytes=64 << 10)
    messages = " ".join(reason.message for reason in _parse(tmp_path, "create", cell).problems)
    assert "expected 4 workers, found 2" in messages
    assert "expected files per thread 100, found 200" in messages
    assert "expected a file size of 65536 bytes, found 32768" in messages


GATE = "hosts did not reach starting gate within 17 seconds"


@pytest.mark.parametrize(
    ("file", "text", "message"),
    [
        ("output.json", "", "found an empty file"),
        ("output.json", "[]", "found none"),
        ("output.json", '{"params": ' + "[" * 100_000, "levels"),
        # no JSON says what the text said
        ("stderr.txt", f"Traceback\nsmallfile.SMFRunException: {GATE}\n", GATE),
    ],
)
def test_damaged_or_missing_json(tmp_path: Path, file: str, text: str, message: str) -> None:
    (tmp_path / file).write_text(text)
    with pytest.raises(ParseError, match=message):
        SMALLFILE.parse(tmp_path, make_cell("create"))
