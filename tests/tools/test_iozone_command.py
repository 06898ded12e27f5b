"""IOzone: the command lines, and the judgement of a sample by its report."""

import shutil
import subprocess
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from glusterlab.errors import ParseError
from glusterlab.spec.cell import Cell
from glusterlab.tools.base import check_files
from glusterlab.tools.iozone.command import IOZONE
from tests.tools import jobs
from tests.tools.jobs import make_job

DATA = Path(__file__).parents[1] / "data" / "iozone"
WRITE = (DATA / "cluster-write.txt").read_text()
make_cell = partial(jobs.make_cell, "iozone")


def _parse(tmp_path: Path, name: str, cell: Cell) -> Any:
    shutil.copy(DATA / name, tmp_path / "stdout.txt")
    return IOZONE.parse(tmp_path, cell)


# --- command lines


def test_the_guides_flags_and_a_directory_for_each_worker() -> None:
    job = make_job(make_cell("write", workers=4))
    command = IOZONE.command(job)
    assert command.host == "client01"
    assert "-t 4 -s 2048k -r 512k -c -e -w -+n -C -i 0" in command.script
    assert "RSH=/var/tmp/gl/run-iozone/bin/ssh iozone -+m /var/tmp/gl/run-iozone/clients" in command.script
    lines = IOZONE.uploads(job)["/var/tmp/gl/run-iozone/clients"].splitlines()
    assert [line.split() for line in lines] == [
        [f"client{n:02d}", f"{job.dataset_dir}/w{worker:02d}", "iozone"]
        for worker, n in enumerate((1, 2, 3, 1), start=1)
    ]


def test_a_write_starts_from_an_empty_dataset_and_a_read_finds_its_files() -> None:
    write, read = make_job(make_cell("write")), make_job(make_cell("read"))
    name = "/var/tmp/gl/run-iozone/clients"
    assert IOZONE.uploads(write)[name] == IOZONE.uploads(read)[name]
    assert "-i 1" in IOZONE.command(read).script
    (emptied,), (kept,) = IOZONE.prepare(write), IOZONE.prepare(read)
    assert "gl_remove /mnt/gl/vol d &&" in emptied.script
    assert "gl_remove" not in kept.script


def test_the_check_before_a_read(tmp_path: Path) -> None:
    paths = [tmp_path / "a b", tmp_path / "it's"]
    script = check_files([str(path) for path in paths], 3)
    paths[0].write_text("abc")
    for found, text in (("none", "ab"), ("2", "abc")):
        done = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (1, f"{paths[1]}: expected 3 bytes, found {found}\n")
        paths[1].write_text(text)
    assert subprocess.run(["sh", "-c", script], check=False).returncode == 0


def test_hostile_names_stay_words(tmp_path: Path) -> None:
    mount = str(tmp_path / "it's; touch pwned $(touch pwned)")
    cell = make_cell("write", workers=2, options=("$(touch pwned)",))
    job = make_job(cell, mount_point=mount, dataset_dir=f"{mount}/{IOZONE.dataset(cell)}")
    tool_dir = tmp_path / "tool"
    tool_dir.mkdir()
    script = IOZONE.command(job).script.replace("/var/tmp/gl/run-iozone", str(tool_dir)).replace(" iozone ", " echo ")
    done = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert done.stdout.endswith("-i 0 $(touch pwned)\n")
    assert not list(tmp_path.rglob("pwned"))


def test_connections_stay_open_while_workers_share_clients(tmp_path: Path) -> None:
    job = make_job(make_cell("write", workers=7))
    wrapper = tmp_path / "ssh"
    wrapper.write_text(f'#!/bin/sh\necho "$@" >>{tmp_path}/log\n')
    wrapper.chmod(0o755)
    script = job.over_open_connections(f"echo work >>{tmp_path}/log; (exit 3)").replace(job.ssh_wrapper, str(wrapper))
    assert subprocess.run(["sh", "-c", script], check=False).returncode == 3
    said = (tmp_path / "log").read_text().splitlines()
    assert sorted(said[:3]) == [f"-M -N -f client0{n}" for n in (1, 2, 3)]
    assert said[3:] == ["work", *(f"-O exit client0{n}" for n in (1, 2, 3))]


@pytest.mark.parametrize("workers", [1, 3])
def test_a_worker_alone_on_its_client_needs_no_open_connection(workers: int) -> None:
    assert make_job(make_cell("write", workers=workers)).over_open_connections("work") == "exec work"


@pytest.mark.parametrize(
    "passed",
    [
        ["client02", "-n", "MARK", "iozone", "-+s", "-+c", "a b"],
        ["-x", "-o", "A=no", "-p22", "hosted", "MARK", "cd /x; ls"],
        ["-l", "root", "c1", "-p", "22", "MARK", "true", "-o", "x"],
        ["c1"],
    ],
)
@pytest.mark.parametrize("mark", ["night.12ab.7", ""])
def test_what_a_tool_starts_on_another_host_carries_the_mark_of_the_run(
    tmp_path: Path, passed: list[str], mark: str
) -> None:
    (tmp_path / "ssh").write_text('#!/bin/sh\nfor word; do printf "<%s>\\n" "$word"; done\n')
    (tmp_path / "ssh").chmod(0o755)
    options = ("-F", "/etc/a b", "-o", "StrictHostKeyChecking=yes")
    job = make_job(make_cell("write"), ssh_options=options)
    wrapper = IOZONE.uploads(job)[job.ssh_wrapper].replace("PATH=/usr/local/bin", f"PATH={tmp_path}")
    words = [word for word in passed if word != "MARK"]
    done = subprocess.run(
        ["sh", "-c", wrapper, "ssh", *words], env={"GLUSTERLAB_RUN": mark}, capture_output=True, text=True, check=True
    )
    words = [line[1:-1] for line in done.stdout.splitlines()]
    marked = ["export", f"GLUSTERLAB_RUN={mark};"] if mark else []
    assert words[:6] == [*options, "-o", "ControlMaster=auto"]
    assert words[8:] == [new for word in passed for new in (marked if word == "MARK" else [word])]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"record_size_bytes": None}, "needs a record_size"),
        ({"file_size_bytes": 2**20 + 1}, "whole KiB"),
        ({"record_size_bytes": 1536 << 10}, "multiple of the record size"),
    ],
)
def test_cells_that_iozone_cannot_run(changed: dict[str, Any], message: str) -> None:
    assert message in (IOZONE.not_runnable(make_cell("write", **changed), 3) or "")
    assert IOZONE.not_runnable(make_cell("write"), 3) is None
    assert IOZONE.not_runnable(make_cell("write"), 0) == "the cluster has no client"


# --- its own measured output


@pytest.mark.parametrize("operation", ["write", "read"])
def test_a_cluster_run(tmp_path: Path, operation: str) -> None:
    cell = make_cell(operation)
    (tmp_path / "clients").write_text("".join(f"client{n % 3 + 1:02d} /d/w iozone\n" for n in range(6)))
    result = _parse(tmp_path, f"cluster-{operation}.txt", cell)
    assert result.problems == ()
    assert (result.record.tool_version, result.record.workers, result.record.operation) == ("3.489", 6, operation)
    assert [worker.host for worker in result.workers][:4] == ["client01", "client02", "client03", "client01"]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"workers": 5}, "expected 5 workers, found 6"),
        ({"record_size_bytes": 1 << 20}, "expected a record size of 1048576 bytes, found 524288"),
    ],
)
def test_another_run_than_asked_for(tmp_path: Path, changed: dict[str, Any], message: str) -> None:
    result = _parse(tmp_path, "cluster-write.txt", make_cell("write", **changed))
    assert message in " ".join(str(reason) for reason in result.problems)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("iozone test complete.\n", "iozone test complete.\n" + WRITE, "expected one report of write, found 2"),
        ("iozone test complete.", "", "expected 'iozone test complete.'"),
        ("Command line used", "Command", "expected IOzone's banner"),
        ("Version $Revision", "Version", "expected IOzone's banner"),
        ("initial writers", "rewriters", "expected one report of write, found 0"),
        ("kB", "ops", "expected rates in kB/sec"),
    ],
)
def test_a_report_without_its_parts_is_no_result(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert old in WRITE
    (tmp_path / "stdout.txt").write_text(WRITE.replace(old, new))
    with pytest.raises(ParseError, match=message) as caught:
        IOZONE.parse(tmp_path, make_cell("write"))
    assert caught.value.file == tmp_path / "stdout.txt"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("Child[5]", "Kind[5]", "expected a line for each of 6 workers, found 5"),
        ("Child[5]", "Child[4]", "expected a line for each of 6 workers, found 6"),
        ("for  6 initial writers \t=  ", "for  6 initial writers \t=  9", "do not add up"),
    ],
)
def test_a_report_that_does_not_agree_with_itself(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert old in WRITE
    (tmp_path / "stdout.txt").write_text(WRITE.replace(old, new))
    result = IOZONE.parse(tmp_path, make_cell("write"))
    assert message in " ".join(str(reason) for reason in result.problems)
