"""The reader of smallfile: every form that its versions have had, and all the ways in which it fails with a smile."""

import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from glusterlab.errors import ParseError
from tests.tools import reading
from tests.tools.reading import messages, runs, workers
from tests.tools.reports import SMALLFILE as MIDDLE

workloads, damaged = (partial(each, tool="smallfile") for each in (reading.workloads, reading.damaged))
DATA = Path(__file__).parents[1] / "data" / "smallfile"
CREATE = (DATA / "create" / "stdout.txt").read_text()
SEVERAL = (DATA / "several" / "log.txt").read_text()

# after the formats of versions 1.9 to 3.1, from smallfile's history
OLD_HEAD = """\
smallfile version 2.1
                           hosts in test : ['c1', 'c2']
                   top test directory(s) : ['/mnt/gl']
                               operation : create
                            files/thread : 1000
                                 threads : 1
                        record size (KB) : 0
                          file size (KB) : 64
"""
OLD_ROWS = """\
host = c1, thread = 00, elapsed sec. = 2.000000, total files = 1000, total_records = 1000, status = ok
host = c2, thread = 00, elapsed sec. = 4.000000, total files = 1000, total_records = 1000, status = ok
total threads = 2
total files = 2000
total data =     0.122 GB
100.00% of requested files processed, minimum is  70.00
"""
OLD_RATES = "4.000000 sec elapsed time\n500.000000 files/sec\n500.000000 IOPS\n31.250000 MB/sec\n"


TRACEBACK = """\
ERROR: host c2 did not reach starting gate
Traceback (most recent call last):
  File "/opt/smallfile/smallfile_cli.py", line 290, in run_workload
    raise SMFRunException("hosts did not reach starting gate within %d seconds" % host_timeout)
smallfile.SMFRunException: hosts did not reach starting gate within 17 seconds
"""


# --- what it measured


def test_text_and_json_of_one_run_say_the_same() -> None:
    (text,) = runs(CREATE)
    (data,) = runs((DATA / "create" / "output.json").read_text())
    assert (text.valid, data.valid) == (True, True)
    assert (text.tool_version, text.operation, text.workers) == ("3.2", "create", 2)
    assert (text.file_size_bytes, text.record_size_bytes, text.files) == (32 << 10, None, 397)
    assert text.files_per_s == text.operations_per_s == pytest.approx(10788.298565)
    assert text.throughput_bytes_per_s == pytest.approx(337.134330 * 2**20)
    assert data.throughput_bytes_per_s == pytest.approx(text.throughput_bytes_per_s)
    assert data.files_per_s == pytest.approx(text.files_per_s)
    assert data.percent_done == text.percent_done == 99.25
    assert text.details["percent_done_min"] == 70
    assert text.details["hosts"] == ["gl-c01", "gl-c02"]
    assert text.source.line == 1 + CREATE.splitlines().index("                                 version : 3.2")


def test_threads_become_workers() -> None:
    found = workers(CREATE)
    rows = [(row.host, row.label, row.worker, row.files, row.bytes) for row in found]
    assert rows == [("gl-c01", "00", 1, 200, 200 << 15), ("gl-c02", "00", 2, 197, 197 << 15)]
    assert found[0].elapsed_s == 0.03485679626464844
    assert sum(row.throughput_bytes_per_s or 0 for row in found) == pytest.approx(337.134330 * 2**20)
    data = workers((DATA / "create" / "output.json").read_text())
    assert [row.throughput_bytes_per_s for row in data] == pytest.approx([row.throughput_bytes_per_s for row in found])


def test_several_runs_of_one_host_in_one_log() -> None:
    found = runs(SEVERAL)
    operations = enumerate(("create", "ls-l", "delete"), start=1)
    assert [(run.run, run.operation, run.workers) for run in found] == [(n, name, 2) for n, name in operations]
    assert all(run.valid for run in found)
    assert [run.throughput_bytes_per_s is None for run in found] == [False, True, True]
    assert [run.operations_per_s is None for run in found] == [False, True, True]
    assert {row.run for row in workers(SEVERAL)} == {1, 2, 3}
    # the JSON has no level of hosts
    text = (DATA / "several" / "ls-l.json").read_text()
    (run,) = runs(text)
    assert (run.valid, run.operation, run.throughput_bytes_per_s, run.operations_per_s) == (True, "ls-l", None, None)
    rows = [(row.host, row.label, row.throughput_bytes_per_s) for row in workers(text)]
    assert rows == [(None, "00", None), (None, "01", None)]


def test_json_after_its_text_is_the_same_run() -> None:
    created, listed = ((DATA / "several" / f"{name}.json").read_text() for name in ("create", "ls-l"))
    for text, operations in (
        (SEVERAL + created, ["create", "ls-l", "delete"]),
        (CREATE + created + listed, ["create", "create", "ls-l"]),
        (f"cat out.json\n{listed}\n$ logout\n[{created}]\n", ["ls-l", "create"]),
    ):
        assert [(run.run, run.operation) for run in runs(text)] == list(enumerate(operations, start=1))
    found, _ = damaged(created + "\n" + created[:500])
    assert [run.operation for run in found] == ["create"]


# --- versions


def test_version_2() -> None:
    rows = OLD_ROWS.replace("status = ok\ntotal", "status = ERR: Input/output error\ntotal")
    (run,) = runs(OLD_HEAD + rows + "exception: at least one thread encountered error, test may be incomplete\n")
    assert (run.valid, run.files_per_s) == (False, None)
    text = OLD_HEAD + OLD_ROWS + OLD_RATES
    (run,) = runs(text)
    assert (run.tool_version, run.valid, run.workers, run.files) == ("2.1", True, 2, 2000)
    assert run.throughput_bytes_per_s == 31.25 * 2**20
    assert (run.files_per_s, run.operations_per_s, run.elapsed_s) == (500, 500, 4)
    assert [row.files_per_s for row in workers(text)] == [500, 250]
    (run,) = runs(text.replace("'c1', 'c2'", "'c1',\n 'c2'"))
    assert (run.details["hosts"], run.valid) == (["c1", "c2"], True)
    # in 2013 time and rate stood in one line
    rates = "500.000000 files/sec\n500.000000 IOPS\n4.000000 sec elapsed time, 31.250000 MB/sec\n"
    (run,) = runs(OLD_HEAD + OLD_ROWS + rates)
    assert (run.valid, run.elapsed_s, run.throughput_bytes_per_s) == (True, 4, 31.25 * 2**20)


def test_version_1_prints_no_version_and_no_number_of_threads() -> None:
    text = OLD_HEAD.split("\n", 1)[1] + OLD_ROWS.replace("total threads = 2\n", "") + OLD_RATES
    found = [(run.run, run.tool_version, run.valid, run.workers) for run in runs(text * 2)]
    assert found == [(1, None, True, 2), (2, None, True, 2)]
    # in 3.1 "total IOPS" is a count, and the rate stands elsewhere
    (run,) = runs(MIDDLE)
    assert (run.valid, run.operations_per_s, run.details["total_iops_line"]) == (True, 8000, 200)


def old_json(style: str) -> dict[str, Any]:
    """Made by hand after smallfile's history: 2017 (per-thread), 2018 (hosts), 2019 (in-host)."""
    params = {"host-set": "c1", "version": "3.1", "operation": "read"}
    params |= {"files-per-thread": 10, "threads": 2, "file-size": 64}
    threads: dict[str, dict[str, Any]]
    if style == "2019":
        threads = {f"0{n}": {"elapsed": 2.0, "files": 10, "records": 10, "files-per-sec": 5.0} for n in range(2)}
        total: dict[str, Any] = {"elapsed": 2.0, "files": 20, "records": 20, "IOPS": 10.0, "MiBps": 0.625}
        total |= {
            "status": "Success",
            "in-host": {"c1": {"elapsed": 2.0, "files": 20, "in-thread": threads}},
            "start-time": 1.5e9,
        }
    else:
        thread = {"elapsed": [2.0], "filenum-final": 10, "records": 10, "status": "ok", "onhost": "c1"}
        threads = {"00": thread, "01": thread}
        total = {"total-files": 20, "total-io-requests": 20, "elapsed-time": 2.0}
        total |= {"total-IOPS": 10.0, "total-MiBps": 0.625}
        total |= {"per-thread": threads} if style == "2017" else {"hosts": {"c1": {"threads": threads}}}
    total |= {"total-threads": 2, "pct-files-done": 100.0, "files-per-sec": 10.0, "total-data-GB": 0.00122}
    return {"params": params, "results": total}


@pytest.mark.parametrize("style", ["2017", "2018", "2019"])
def test_older_names_in_the_json(style: str) -> None:
    text = json.dumps(old_json(style))
    (run,) = runs(text)
    assert (run.valid, run.workers, run.files, run.elapsed_s, run.percent_done) == (True, 2, 20, 2, 100)
    assert (run.files_per_s, run.operations_per_s, run.throughput_bytes_per_s) == (10, 10, 0.625 * 2**20)
    assert run.file_size_bytes == 64 << 10
    rows = [(row.host, row.label, row.files, row.elapsed_s) for row in workers(text)]
    assert rows == [("c1", "00", 10, 2), ("c1", "01", 10, 2)]
    data = old_json(style)
    data["results"] |= {"total-threads": 4, "total-files": 40}
    (lost,) = runs(json.dumps(data))
    assert (lost.valid, "2 of 4 threads" in messages(lost)) == (None, True)


@pytest.mark.parametrize(
    "operation", ["append", "delete-renamed", "await-create", "cleanup", "swift-put", "overwrite", "truncate-overwrite"]
)
def test_operations(operation: str) -> None:
    text = MIDDLE.replace("operation : create", f"operation : {operation}")
    moves = operation in ("append", "overwrite", "swift-put", "truncate-overwrite")
    (run,) = runs(text)
    assert (run.operation, run.label, run.valid) == (operation.removeprefix("truncate-"), operation, moves)
    lines = text.replace("records = 100", "records = 0").replace("total IOPS = 200", "total IOPS = 0").splitlines()
    (run,) = runs("\n".join(lines[:-2]).replace("total data =     0.012 GiB\n", "") + "\n")
    assert (run.valid, run.files_per_s, run.throughput_bytes_per_s) == (not moves, 8000, None)


# --- what people do to it


def test_hosts_in_front_of_mixed_lines() -> None:
    lines = zip(MIDDLE.splitlines(), MIDDLE.replace("pod-1", "pod-2").splitlines(), strict=True)
    found = runs("".join(f"n1: {one}\nn2: {two}\n" for one, two in lines))
    assert [(run.run, run.host, run.valid) for run in found] == [(1, "n1", True), (1, "n2", True)]


def test_an_operation_that_only_the_command_names() -> None:
    lines = MIDDLE.splitlines(keepends=True)
    (run,) = runs("$ ./smallfile_cli.py --top /x --operation read\n" + "".join(lines[3:]))
    assert (run.operation, run.tool_version, run.valid) == ("read", None, True)
    (run,) = runs("$ ./smallfile_cli.py --top /x --operation read\n" + "".join(lines[7:]))
    assert (run.operation, run.workers, run.valid) == ("read", 2, None)
    assert "not in the file: the parameters" in messages(run)
    with pytest.raises(ParseError, match="operation"):
        runs("".join(lines[3:]))


@pytest.mark.parametrize(
    "kept", [("operation", "files/sec"), ("operation", "total", "files/sec", "IOPS", "MiB", "elapsed time")]
)
def test_what_grep_left_cannot_be_judged(kept: tuple[str, ...]) -> None:
    lines = [line for line in MIDDLE.splitlines(keepends=True) if any(word in line for word in kept)]
    (run,) = runs("".join(line for line in lines if "host =" not in line))
    assert (run.valid, run.files_per_s) == (None, 8000)
    assert "cannot be judged" in messages(run)


# --- failures


@pytest.mark.parametrize("form", ["stdout.txt", "output.json"])
def test_too_few_files_in_spite_of_success(form: str) -> None:
    (run,) = runs((DATA / "few" / form).read_text())
    assert (run.valid, {reason.code for reason in run.reasons}) == (False, {"tool-incomplete"})
    assert "69.8 % of the files" in messages(run)
    assert run.files_per_s == pytest.approx(811.90972)


@pytest.mark.parametrize("name", ["full", "missing"])
@pytest.mark.parametrize("form", ["stdout.txt", "output.json"])
def test_failed_threads_are_no_result(name: str, form: str) -> None:
    text = (DATA / name / form).read_text()
    (run,) = runs(text)
    assert (run.valid, run.reasons[0].code) == (False, "tool-failed")
    assert (run.throughput_bytes_per_s, run.operations_per_s, run.files_per_s, run.elapsed_s) == (None,) * 4
    failed = [row for row in workers(text) if not row.valid]
    assert {row.elapsed_s for row in failed} == {row.files_per_s for row in failed} == {None}
    assert {row.host for row in failed} <= {reason.host for reason in run.reasons}


def test_a_threshold_that_was_lowered_is_the_tools_own() -> None:
    text = MIDDLE.replace("total files = 200", "total files = 120").replace("= 100,", "= 60,")
    text = text.replace("100.00% of", " 60.00% of").replace("minimum is  70.00", "minimum is  50.00")
    text = text.replace("= 8000.000000", "= 4800.000000").replace("= 500.000000", "= 300.000000")
    assert [run.valid for run in runs(text)] == [True]
    assert [run.valid for run in runs(text.replace("50.00", "70.00"))] == [False]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("thr = 01,elapsed = 0.025000,files = 100,records = 100,status = ok", "", None),
        ("total threads = 2", "total threads = 1", "expected results of threads: 2, found 1"),
        ("total threads = 2\n", "total threads = 1\n", "expected lines of threads: 1, found 2"),
        ("total files = 200", "total files = 190", "expected as many files as the threads did: 200, found 190"),
        ("100.00% of", " 95.00% of", "a percentage of files of 100.00"),
        ("100.00% of", "300.00% of", "at most 100 % of the files"),
        ("files/sec = 8000", "files/sec = 9300", "files/s of 9000.0"),
        ("IOPS = 8000.0", "IOPS = 800.0", "IOPS of"),
        ("MiB/sec = 500", "MiB/sec = 50", "expected MiB/s of 500.0, found 50.0"),
        ("elapsed time =     0.025", "elapsed time =     0.250", "longest thread's time"),
        ("status = ok\ntotal", "status = ERR: Input/output error\ntotal", "worker 2: ERR: Input/output error"),
        ("100.00% of", "WARNING: failed to get some responses from workload generators\n100.00% of", "failed to get"),
    ],
)  # fmt: skip
def test_reports_that_contradict_themselves(old: str, new: str, message: str | None) -> None:
    text = MIDDLE.replace(old, new)
    (run,) = runs(text)
    assert run.valid is not True
    if message is not None:
        assert run.valid is False
        assert message in messages(run)


def test_a_test_that_ended_too_quickly() -> None:
    text = MIDDLE.split("files/sec")[0] + "WARNING: test must run longer than a millisecond\n"
    (run,) = runs(text.replace("elapsed = 0.02", "elapsed = 0.0002").replace("=     0.025", "=     0.000"))
    assert (run.valid, run.files_per_s) == (False, None)
    assert "too quickly" in messages(run)


def test_no_host_at_the_starting_gate() -> None:
    head, message = CREATE.partition("starting all threads")[0], "hosts did not reach starting gate within 17 seconds"
    (run,) = runs(head + TRACEBACK)
    assert (run.valid, run.operation, run.files_per_s) == (False, "create", None)
    assert message in messages(run)
    with pytest.raises(ParseError, match=message):
        runs(TRACEBACK)
    # nor does a run that another one follows before its end count
    cut = CREATE[: CREATE.index("total files")]
    for early, said in ((head + TRACEBACK, message), (cut, "before the next run starts")):
        first, second = runs(early + CREATE)
        assert (first.valid, second.valid, said in messages(first)) == (False, True, True)


@pytest.mark.parametrize("value", ["nan", "-1.0", "1e999", "9" * 5000, "１０", "1_000"])
def test_what_is_no_number_is_no_value(value: str) -> None:
    found, _ = workloads(MIDDLE.replace("MiB/sec = 500.000000", f"MiB/sec = {value}"))
    assert all(record.valid is not True for record in found)
    data = (DATA / "several" / "create.json").read_text()
    rate = json.loads(data)["results"]["MiBps"]
    found, error = workloads(data.replace(f'"MiBps": {rate}', f'"MiBps": {value}', 1))
    assert error is not None or all(record.throughput_bytes_per_s is None for record in found)


# --- cuts


def test_a_cut_log_yields_what_is_whole() -> None:
    end = SEVERAL.index("total files", SEVERAL.index("operation : delete"))
    found, error = damaged(SEVERAL[:end])
    assert [record.operation for record in found] == ["create", "ls-l"]
    assert "expected 'files/sec'" in error.message
    assert error.line == SEVERAL[:end].count("\n")


@pytest.mark.parametrize(
    "text",
    [
        *("hello\n", "elapsed time = 3.2\n", '{"params": 3, "results": 4}\n', "version : 3.2\n", '{"results": 3}'),
        *('{"params": {}, "results": {}}', '{"params": {"operation": "read"}, "results": {}}'),
        MIDDLE.replace("operation : create", "operation : creaxe"),
    ],
)
def test_what_is_no_report(text: str) -> None:
    damaged(text)


# --- lines that were broken, and fragments


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("elapsed = 0.025000,files", "elapsed =\n0.025000,files"),
        ("host = pod-1,thr = 01,", "host = pod-1,thr = 01,\n"),
        ("files = 100,records = 100,status = ok", "files = 100,\nrecords = 100,\nstatus = ok"),
        ("status = ok", "status =\nok"),
        ("files/sec = ", "files/sec =\n"),
        ("total threads = 2", "total threads\n= 2"),
        ("minimum is  70.00", "minimum\nis  70.00"),
    ],
)
def test_lines_that_a_mail_client_has_wrapped(before: str, after: str) -> None:
    assert before in MIDDLE
    found = workloads(MIDDLE.replace(before, after))
    assert found == (runs(MIDDLE), None)


FRAGMENT = MIDDLE[MIDDLE.index("total threads") :]


@pytest.mark.parametrize(
    ("text", "found", "line", "message"),
    [
        (MIDDLE.replace("01,elapsed = 0.025000,", "01,"), [(200, 8000, None)], 9, "a whole line of smallfile"),
        # a second result never overwrites the first; lines that are equal may be of either
        (MIDDLE + FRAGMENT.replace("8000", "9000").replace("500.0", "562.5"), [(200, 8000, True)], 25, "operation"),
        (MIDDLE + FRAGMENT.replace("files = 200", "files = 190"), [(200, 8000, True)], 20, ""),
        # a fragment without its operation hides no other run
        (FRAGMENT + MIDDLE, [(200, 8000, True)], 1, "or the command line"),
    ],
)
def test_fragments_and_broken_rows_are_no_noise(
    text: str, found: list[tuple[int, float, bool | None]], line: int, message: str
) -> None:
    records, error = damaged(text)
    assert [(record.files, record.files_per_s, record.valid) for record in records] == found
    assert (error.line, message in error.message) == (line, True)


def test_a_wrapper_that_prints_the_same_again_says_nothing_new() -> None:
    assert runs(MIDDLE + "files/sec = 8000.000000\n")[0].valid is True
