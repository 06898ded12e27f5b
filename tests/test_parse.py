"""`glusterlab parse`: any raw file in, JSON lines out, and one line for what is none."""

import gzip
import json
import lzma
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from glusterlab.cli import app
from glusterlab.parse import tools
from tests.packed import hungry

DATA = Path(__file__).parent / "data"
IOZONE = DATA / "iozone" / "cluster-write.txt"


def call(*words: str | Path, stdin: bytes | None = None) -> Result:
    return CliRunner().invoke(app, ["parse", *map(str, words)], input=stdin)


def records(result: Result) -> list[dict[str, Any]]:
    return [json.loads(line) for line in result.stdout.splitlines()]


def test_every_object_says_kind_tool_version_and_source() -> None:
    result = call(IOZONE)
    assert result.exit_code == 0, result.stderr
    found = records(result)
    assert {record["kind"] for record in found} == {"workload", "worker"}
    for record in found:
        assert next(iter(record)) == "kind"
        assert record["tool"] == "iozone"
        assert record["tool_version"] == "3.489"
        assert record["source"]["file"] == str(IOZONE)
        line = IOZONE.read_text().splitlines()[record["source"]["line"] - 1]
        assert "Children see" in line if record["kind"] == "workload" else "Child[" in line
    workload = found[0]
    assert set(workload) >= {
        *("run", "host", "job", "operation", "label", "workers", "file_size_bytes", "record_size_bytes"),
        *("throughput_bytes_per_s", "operations_per_s", "files_per_s", "worker_min_bytes_per_s"),
        *("worker_max_bytes_per_s", "latency_mean_s", "latency_p50_s", "latency_p99_s", "elapsed_s", "files"),
        *("percent_done", "valid", "reasons", "details"),
    }
    assert (workload["operation"], workload["label"], workload["valid"]) == ("write", "initial writers", True)


@pytest.mark.parametrize(
    ("file", "tool"),
    [
        ("iozone/cluster-read.txt", "iozone"),
        ("smallfile/create/stdout.txt", "smallfile"),
        ("smallfile/create/output.json", "smallfile"),
        ("sar/plain.csv", "sadf"),
        ("sar/all.txt", "sar"),
    ],
)
def test_the_tool_is_recognised_by_content(file: str, tool: str, tmp_path: Path) -> None:
    other = tmp_path / "no-name-that-tells"
    other.write_bytes((DATA / file).read_bytes())
    result = call(other)
    assert result.exit_code == 0, result.stderr
    assert {record["tool"] for record in records(result)} == {tool}


def test_bad_files_do_not_stop_the_good_ones(tmp_path: Path) -> None:
    contents = {
        "empty.txt": b"",
        "binary.bin": b"abc\n\x00\x01\x02",
        "prose.txt": b"Dear colleague,\nthe disks are slow today.\n",
        "sa01": b"\x96\xd5\x75\x21" + bytes(200),
        "cut.txt": IOZONE.read_bytes()[:900],
        "broken.gz": gzip.compress(IOZONE.read_bytes())[:300],
    }
    for name, data in contents.items():
        (tmp_path / name).write_bytes(data)
    bad = [tmp_path / name for name in contents]
    result = call(bad[0], IOZONE, *bad[1:], tmp_path / "absent.txt", tmp_path)
    assert result.exit_code == 2
    assert records(result) == records(call(IOZONE))
    lines = result.stderr.splitlines()
    assert len(lines) == len(bad) + 2
    for line, path in zip(lines, [*bad, tmp_path / "absent.txt", tmp_path], strict=True):
        assert line.startswith(f"error: {path}")
        assert "expected" in line or "cannot be read: No such file" in line
    said = dict(zip(contents, lines, strict=False))
    assert "binary.bin:2: expected text, found binary data" in said["binary.bin"]
    assert "LC_ALL=C sadf -d -U FILE -- -A" in said["sa01"]


@pytest.mark.parametrize("pack", [gzip.compress, lzma.compress], ids=["gzip", "xz"])
def test_packed_files_are_unpacked(pack: Any, tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(pack(IOZONE.read_bytes()))
    found = records(call(path))
    for record in found:
        record["source"]["file"] = str(IOZONE)
    assert found == records(call(IOZONE))


@pytest.mark.security
def test_a_packed_file_that_asks_for_gigabytes_of_memory_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "log.xz"
    path.write_bytes(hungry(IOZONE.read_bytes()))
    result = call(path)
    assert (result.exit_code, result.stdout) == (1, "")
    assert "Memory usage limit" in result.stderr


def test_standard_input_needs_a_tool() -> None:
    assert call("-", stdin=b"x").exit_code == 2
    result = call("--tool", "iozone", "-", stdin=IOZONE.read_bytes())
    assert result.exit_code == 0, result.stderr
    assert {record["source"]["file"] for record in records(result)} == {"-"}
    result = call("--tool", "sadf", "-", stdin=(DATA / "sar" / "plain.csv").read_bytes())
    assert {record["source"]["file"] for record in records(result)} == {"-"}
    assert call("--tool", "iozone", "-", stdin=b"").exit_code == 1


def test_a_tool_that_there_is_not_is_refused() -> None:
    result = call("--tool", "bonnie", IOZONE)
    assert result.exit_code == 2
    assert all(tool in result.stderr for tool in tools())


def test_only_the_kinds_that_are_asked_for() -> None:
    assert {record["kind"] for record in records(call("--kind", "worker", IOZONE))} == {"worker"}


def test_printed_averages_are_given_when_asked_for() -> None:
    plain, more = (records(call(*options, DATA / "sar" / "all.txt")) for options in ((), ("--averages",)))
    assert all(record["time"] != "average" for record in plain)
    assert [record for record in more if record["time"] != "average"] == plain
    assert any(record["time"] == "average" for record in more)


def test_a_reader_that_goes_away_is_no_error() -> None:
    command = f"{sys.executable} -m glusterlab.cli parse {DATA / 'sar' / 'all.txt'} | head -n 1"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, env=os.environ, check=True)
    assert json.loads(done.stdout)["kind"] == "telemetry"
    assert done.stderr == ""
