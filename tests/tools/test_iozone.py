"""IOzone's reports: every mode, what hides a failure in them, and what people and programs do to a log."""

from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

import pytest

from glusterlab.errors import ParseError
from glusterlab.tools import recognise
from glusterlab.tools.iozone.runs import Options
from glusterlab.tools.iozone.tables import COLUMNS, Header
from glusterlab.tools.records import WorkloadRecord
from tests.hang import no_hang
from tests.tools import reading
from tests.tools.reading import document
from tests.tools.reports import IOZONE as WRITERS
from tests.tools.reports import IOZONE_TABLE as TABLE
from tests.tools.reports import SECTION

DATA = Path(__file__).parents[1] / "data" / "iozone"
whole, damaged, results, everything, workers = (
    partial(each, tool="iozone")
    for each in (reading.runs, reading.damaged, reading.workloads, reading.until_error, reading.workers)
)
KB = 1024
READERS = SECTION.format(test="readers", sum="  400.00")
BOTH = WRITERS + READERS


def data(name: str) -> str:
    return (DATA / name).read_text()


def kb(records: Iterable[WorkloadRecord]) -> dict[str, float]:
    return {r.label: round((r.throughput_bytes_per_s or 0) / KB, 2) for r in records}


# --- real reports of 3.489


def test_cluster_mode() -> None:
    (workload,), (first, *others) = whole(data("cluster-write.txt")), workers(data("cluster-write.txt"))
    assert (workload.operation, workload.label, workload.workers) == ("write", "initial writers", 6)
    assert workload.throughput_bytes_per_s == 743084.20 * KB
    assert (workload.worker_min_bytes_per_s, workload.worker_max_bytes_per_s) == (95335.88 * KB, 168755.02 * KB)
    assert (workload.file_size_bytes, workload.record_size_bytes) == (2 << 20, 512 << 10)
    assert (workload.valid, workload.tool_version, workload.run, workload.source.line) == (True, "3.489", 1, 35)
    assert workload.elapsed_s == pytest.approx(2048 / 95335.88)
    assert workload.details == {
        "complete": True,
        "cluster": True,
        "command_line": "iozone -+m t/cl -t 6 -s 2m -r 512k -c -e -w -+n -C -i 0",
        "began": "Fri Nov 20 10:32:43 2026",
        "worker_mean_bytes_per_s": 123847.37 * KB,
        "min_transfer_bytes": 2048.0 * KB,
        "worker_kind": "process",
    }
    assert (len(others), first.worker, first.label, first.bytes, first.valid) == (5, 1, "Child[0]", 2 << 20, True)
    assert (first.throughput_bytes_per_s, first.source.line) == (157270.64 * KB, 40)


def test_several_numbers_of_workers_with_their_cpu_and_an_excel_repeat() -> None:
    found = whole(data("low-high.txt"))
    assert [(r.run, r.label, r.workers) for r in found] == [(1, "initial writers", 2), (1, "initial writers", 3)]
    assert found[0].details["wall_s"] > 0
    assert 0 < found[0].details["cpu_utilisation_fraction"] < 2
    assert workers(data("low-high.txt"))[0].details["cpu_s"] > 0
    assert [(r.run, r.workers) for r in whole(data("two-counts.txt"))] == [(1, 1), (1, 2)]


def test_operations_are_no_bytes() -> None:
    found, (worker, *_) = whole(data("ops.txt")), workers(data("ops.txt"))
    assert all(r.throughput_bytes_per_s is None and r.worker_min_bytes_per_s is None for r in found)
    assert found[0].operations_per_s == found[0].details["worker_mean_operations_per_s"] * 2
    assert found[0].details["min_transfer_operations"] > 0
    assert (worker.throughput_bytes_per_s, worker.bytes) == (None, None)
    assert worker.operations_per_s is not None
    assert worker.details["operations"] > 0


def test_all_tests_of_throughput_mode_and_a_worker_that_did_nothing_and_that_the_minimum_hides() -> None:
    """IOzone's minimum forgets a 0 that a later worker follows; its own sums tell it."""
    found = whole(data("all-tests.txt"))
    assert [r.operation for r in found] == [
        *("write", "rewrite", "read", "reread", "reverse-read", "stride-read", "random-read", "mixed", "random-write"),
        *("pwrite", "pread", "fwrite", "fread"),
    ]
    assert {r.details["worker_kind"] for r in found} == {"thread"}
    false = {r.label: str(r.reasons[0]) for r in found if r.valid is False}
    assert set(false) == {"stride readers", "mixed workload"}
    assert "less than the slowest worker allows" in false["stride readers"]
    text = "\n".join(line for line in data("two-tests.txt").splitlines() if "Child[" not in line).replace(" -C", "")
    assert [r.valid for r in whole(text)] == [False, True]


@pytest.mark.parametrize(
    ("name", "code", "message"),
    [
        ("full-disk.txt", "tool-failed", "no worker transferred anything; IOzone said: Error writing block 2"),
        ("killed-child.txt", "tool-incomplete", "Child[2] transferred nothing"),
        ("cluster-read-idle.txt", "tool-incomplete", "Child[0], Child[1], Child[2], Child[4] transferred nothing"),
    ],
)
def test_failures_that_end_with_exit_code_0(name: str, code: str, message: str) -> None:
    (workload,) = whole(data(name))
    assert workload.valid is False
    assert workload.reasons[0].code == code
    assert message in workload.reasons[0].message
    assert workload.throughput_bytes_per_s != 0
    for worker in workers(data(name)):
        assert not worker.valid
        assert worker.throughput_bytes_per_s != 0
        assert worker.bytes != 0


@pytest.mark.parametrize(
    ("name", "count", "message"),
    [
        ("cluster-no-input.txt", 0, "expected a report after IOzone's banner, found none"),
        ("auto-no-input.txt", 0, "a value for read in the row of 1024 and 64 kB.*Can not open temporary file"),
        ("auto-full-disk.txt", 16, "found one that was interrupted; IOzone said: Error writing block 9"),
        ("interrupted.txt", 1, "found one that was interrupted"),
    ],
)
def test_runs_that_did_not_end(name: str, count: int, message: str) -> None:
    found, error = damaged(data(name))
    assert len(found) == count
    with pytest.raises(ParseError, match=message):
        raise error
    assert {r.valid for r in found} <= ({False} if name == "interrupted.txt" else {True, None})


# --- tables


def test_a_table_of_some_tests() -> None:
    found = whole(data("auto-some.txt"))
    assert len(found) == 9 * 4
    last = [r for r in found if (r.file_size_bytes, r.record_size_bytes) == (256 * KB, 64 * KB)]
    assert kb(last) == {"write": 3316006, "rewrite": 14164395, "random read": 16072608, "random write": 14353744}
    assert {r.workers for r in found} == {1}
    assert [r.source.line for r in last] == [39] * 4
    assert all(r.valid for r in found)


def test_the_columns_of_the_extended_tests_and_of_mapped_files() -> None:
    # an Excel repeat of a table is not counted twice
    for name, count in (("auto-excel.txt", 13), ("auto-extended.txt", 17), ("auto-mmap.txt", 9)):
        found = [(r.label, r.operation) for r in whole(data(name))]
        assert found == [(column.label, column.operation) for column in COLUMNS[:count]]
    assert kb(whole(data("auto-excel.txt")))["bkwd read"] == 14628067
    text = data("auto-mmap.txt")
    row = next(line for line in text.splitlines() if line.split()[:1] == ["256"])
    broken = text.replace(row, "\n".join(row.rstrip().rsplit(None, 1)))
    assert kb(whole(broken)) == kb(whole(text))


def test_operations_and_microseconds_in_a_table() -> None:
    found = whole(data("auto-ops.txt"))
    assert {r.label: r.operations_per_s for r in found}["reread"] == 473894
    assert {r.throughput_bytes_per_s for r in found} == {None}
    found = whole(data("auto-usec.txt"))
    assert [r.latency_mean_s for r in found] == [2e-6, None, None, None]
    assert [r.valid for r in found] == [True, None, None, None]
    assert "below IOzone's resolution" in found[1].reasons[0].message
    assert {(r.throughput_bytes_per_s, r.operations_per_s) for r in found} == {(None, None)}


def test_a_second_pass_that_was_not_asked_for_is_no_failure() -> None:
    assert [r.label for r in whole(data("auto-no-retest.txt"))] == ["write", "read"]
    (write, rewrite, *_) = whole(data("auto-no-retest.txt").replace("-+n ", ""))
    assert write.valid
    assert (rewrite.label, rewrite.valid, rewrite.throughput_bytes_per_s) == ("rewrite", False, None)


@pytest.mark.parametrize(
    "text",
    [
        TABLE,
        TABLE.replace("\n", "\n  > "),
        "\n".join(line.strip() for line in TABLE.splitlines()) + "\n",
        TABLE.replace("\n", "<br>\r\n"),
        # a board's name stands in the first line of the header
        TABLE.replace("                      random  random", "NanoPi M4 SD (A1)     random  random"),
    ],
)
def test_an_old_table_with_holes_and_without_its_trailing_blanks(text: str) -> None:
    wanted = {"write": 31782, "rewrite": 22524, "random read": 816017, "random write": 10411, "stride read": 3779260}
    assert kb(whole(text)) == wanted
    assert {(r.file_size_bytes, r.record_size_bytes) for r in whole(text)} == {(409600 * KB, 64 * KB)}


def test_columns_that_cannot_be_told_apart_are_refused() -> None:
    squeezed = "\n".join(" ".join(line.split()) for line in TABLE.splitlines()) + "\n"
    found, error = damaged(squeezed)
    assert found == []
    assert (error.line, "found 5 of 13 values" in error.message) == (4, True)
    told = "Command line used: iozone -i0 -i2 -i5 -r 64k -s 400m\n" + squeezed
    assert kb(whole(told)) == kb(whole(TABLE))
    full = "Output is in kBytes/sec\nkB reclen write rewrite read reread\n64 4 1 2 3 4\n"
    assert kb(whole(full)) == {"write": 1, "rewrite": 2, "read": 3, "reread": 4}


def test_a_header_that_a_person_has_shortened() -> None:
    text = """\
Output is in kBytes/sec
                                                          random    random
          kB  reclen    write  rewrite    read    reread    read     write
      102400       4     1864     1901     6688     6710     5331     2962
"""
    names = [column.label for column in COLUMNS[:6]]
    assert kb(whole(text)) == dict(zip(names, [1864, 1901, 6688, 6710, 5331, 2962], strict=True))
    with pytest.raises(ParseError, match="expected the columns"):
        Header("kB  reclen    rewrite  write")


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("           64       4  123456789012345   2", "at most 10 digits"),
        ("           64       4     nan      2", "found nan 2"),
        ("           64       4      -1      2", "found -1 2"),
        ("           64       4 1       2", "under the names of their columns"),
    ],
)
def test_damaged_rows(row: str, message: str) -> None:
    header = next(line for line in data("auto-mmap.txt").splitlines() if "reclen" in line)
    found, error = damaged(f"Output is in kBytes/sec\n{header}\n{row}\n")
    assert found == []
    assert (error.line, message in error.message) == (3, True)


def test_a_table_without_any_word_of_its_unit_is_not_judged() -> None:
    bare = TABLE.split("\n", 1)[1]
    found = whole(bare)
    assert [r.valid for r in found] == [None] * 5
    assert "no line says the unit" in found[0].reasons[0].message
    typed = whole("[root@c1 ~]# iozone -O -i0 -i2 -i5 -r 64k -s 400m\n" + bare)
    assert (typed[0].operations_per_s, typed[0].valid) == (31782, True)


def test_words_of_iozone_that_its_numbers_are_not_good() -> None:
    unit = " kBytes/sec\n"
    text = data("auto-some.txt").replace(unit, unit + "\tPerformance measurements are invalid in this mode.\n")
    assert {r.valid for r in whole(text)} == {False}
    poor = "Timer resolution is poor. Some small transfers may have \n"
    poor += "reported inaccurate results. Sizes 32 kBytes and below.\n"
    found = whole(data("auto-some.txt") + poor)
    assert {(r.record_size_bytes or 0) // KB for r in found if r.valid is None} == {16, 32}
    assert {(r.record_size_bytes or 0) // KB for r in found if r.valid} == {64}
    quick = (
        "\nThe test completed too quickly to give a good result\n\tiozone 5120 \t(i.e., file size = 5120 kilobytes)\n"
    )
    assert {r.valid for r in whole(TABLE + quick)} == {None}


# --- Excel reports alone


def test_matrices_of_automatic_mode_alone() -> None:
    text = """\
./iozone -i 0 -w -c -O -I -r 4k -s 1g -f /mnt/x -Rb ./write.xls
iozone test complete.
Excel output is below:

"Writer report"
        "4"  "64"
"512"   2102  2200
"1048576"   0  2300

"Re-writer report"
        "4"  "64"
"512"   2178
"Writer CPU utilization report (Zero values should be ignored)"
        "4"  "64"
"512"    29.90  30.10
"""
    found = whole(text)
    assert [(r.operation, r.file_size_bytes, r.record_size_bytes, r.operations_per_s) for r in found] == [
        ("write", 512 * KB, 4 * KB, 2102),
        ("write", 512 * KB, 64 * KB, 2200),
        ("write", 1 << 30, 64 * KB, 2300),
        ("rewrite", 512 * KB, 4 * KB, 2178),
    ]
    assert {(r.workers, r.valid, r.run) for r in found} == {(1, True, 1)}
    assert [r.source.line for r in found] == [7, 7, 8, 12]
    alone = whole(text.split("\n", 2)[2])
    assert (alone[0].throughput_bytes_per_s, alone[0].valid) == (2102 * KB, None)
    again = text[text.index('"Writer report"') : text.index('"Writer CPU')]
    assert [r.run for r in whole(again + again)] == [1] * 4 + [2] * 4
    found, error = damaged(text.replace('"4"  "64"', '"4"'))
    assert "a value for each of 1 record sizes, found 2" in error.message


def test_the_report_of_throughput_mode_alone() -> None:
    report = data("two-counts.txt")
    report = report[report.index('"Throughput report') :]
    found = whole(report)
    assert [(r.operation, r.label, r.workers, r.record_size_bytes, r.valid) for r in found] == [
        *[("write", "Initial write", None, 256 * KB, None)] * 2,
        *[("rewrite", "Rewrite", None, 256 * KB, False)] * 2,
    ]
    assert "a dead worker cannot be ruled out" in found[0].reasons[0].message
    assert [r.throughput_bytes_per_s for r in found[2:]] == [None, None]
    found = whole("$ ./iozone -t 1 -t 2 -s 64m -r 256k -i 0 -+n -R\n" + report)
    assert [(r.label, r.workers, r.file_size_bytes) for r in found] == [("Initial write", n, 64 << 20) for n in (1, 2)]
    ops = whole(report.replace("kBytes/sec", "ops/sec"))
    assert ops[0].operations_per_s is not None


# --- what people and programs do to a log


def test_two_runs_pasted_together() -> None:
    found = whole(WRITERS + READERS + "and with the patch\n" + WRITERS)
    assert [(r.run, r.operation) for r in found] == [(1, "write"), (1, "read"), (2, "write")]
    found = whole(data("cluster-write.txt") * 2)
    assert [r.run for r in found] == [1, 2]
    one, two = "Command line used: iozone -i 0\n" + TABLE, "Command line used: iozone -i 0 -O\n" + TABLE
    found, _ = results(one + two)
    assert sorted({r.run for r in found}) == [1, 2]


def test_hosts_whose_lines_are_mixed() -> None:
    lines = data("cluster-write.txt").splitlines()
    mixed = "".join(f"n{n}: {line}\n" for line in lines for n in (1, 2))
    found = whole(mixed.replace("n2: \tMin xfer", "n2:\tMin xfer"))
    assert [(r.host, r.run, r.valid) for r in found] == [("n1", 1, True), ("n2", 2, True)]
    assert {r.details["command_line"] for r in found} == {"iozone -+m t/cl -t 6 -s 2m -r 512k -c -e -w -+n -C -i 0"}
    assert {r.details["began"] for r in found} == {"Fri Nov 20 10:32:43 2026"}
    grepped = "".join(f"c{n}:\tChildren see throughput for  1 readers = {n}00.00 kB/sec\n" for n in (1, 2, 3))
    assert {r.host: r.throughput_bytes_per_s for r in whole(grepped)} == {f"c{n}": n * 100.0 * KB for n in (1, 2, 3)}
    found = whole("".join(f"out/{n}.txt:12:{line}\n" for n in (1, 2) for line in WRITERS.splitlines()))
    assert [(r.host, r.details["prefix"], r.valid) for r in found] == [(None, f"out/{n}.txt", True) for n in (1, 2)]


def test_filtered_by_grep() -> None:
    found = whole("".join(line for line in BOTH.splitlines(keepends=True) if "Children" in line))
    assert [(r.valid, r.throughput_bytes_per_s) for r in found] == [(None, 400.0 * KB)] * 2
    assert "a dead worker cannot be ruled out" in found[0].reasons[0].message
    (record,) = whole(WRITERS.splitlines(keepends=True)[1])
    assert (record.valid, record.throughput_bytes_per_s) == (None, None)
    assert record.details["parent_throughput_bytes_per_s"] == 390.0 * KB


@pytest.mark.parametrize(
    ("old", "new", "valid", "message"),
    [
        ("   90.00", "    0.00", False, "slowest worker transferred nothing"),
        ("   64.00", "    0.00", False, "slowest worker transferred nothing"),
        ("  400.00", "    0.00", False, "no worker transferred anything"),
        ("  400.00", "  300.00", False, "the mean over the workers does not fit"),
        ("  110.00", "   99.00", False, "more than the fastest worker allows"),
        ("   90.00", "  105.00", False, "less than the slowest worker allows"),
        ("	Avg", "write: No space left on device\n	Avg", True, ""),
        ("	Children", "\nwrite: No space left on device\n	Children", None, "write: No space left on device"),
        ("Max throughput", "Most throughput", None, "cannot be ruled out"),
    ],
)
def test_what_a_report_says_against_itself(old: str, new: str, valid: bool | None, message: str) -> None:
    text = WRITERS.replace(old, new)
    assert text != WRITERS
    record, following = whole(text + "\nError reading block 3, fd= 5\n" + READERS)
    # an error belongs to the report that follows it
    assert (following.valid, following.reasons[0].code) == (False, "tool-failed")
    assert record.valid is valid
    assert message in " ".join(map(str, record.reasons))
    assert record.throughput_bytes_per_s != 0


@pytest.mark.parametrize("number", ["nan", "-1.00", "1e400", "9" * 5000, "0x10", "١٢"])
def test_what_is_no_number_becomes_none(number: str) -> None:
    for old in ("  400.00", "   90.00", "   64.00"):
        found, _ = damaged(WRITERS + READERS.replace(old, f" {number}"))
        assert [r.label for r in found if r.valid] == ["initial writers"]
    assert damaged(data("cluster-write.txt").replace("157270.64", number))[0] == []


@pytest.mark.parametrize(
    ("text", "labels", "line", "message"),
    [
        ("iozone test complete.\n", [], 1, "expected a report of IOzone, found none"),
        ("we ran iozone and it was quick\n", [], 1, "expected a report of IOzone, found none"),
        # cut off without a banner
        (BOTH.rpartition("\tMin xfer")[0], ["initial writers"], 7, "whole report of readers"),
        ("".join(BOTH.splitlines(keepends=True)[3:]), ["readers"], 1, "'Children see throughput for' before"),
        (WRITERS + "Avg throughput per process\nnothing of it\n", [], 7, "a number and its unit"),
        # damage does not hide the runs after it
        (WRITERS.replace("   90.00", "nan") + READERS, ["readers"], 3, "expected a number of at least 0, found nan"),
    ],
)
def test_cut_and_damaged_reports(text: str, labels: list[str], line: int, message: str) -> None:
    found, error = damaged(text)
    assert [(r.label, r.valid) for r in found] == [(label, True) for label in labels]
    assert (error.line, message in error.message) == (line, True)


def test_what_is_said_of_iozone_is_no_report() -> None:
    with pytest.raises(ParseError, match="expected the output of"):
        recognise(document("we ran iozone and it was quick\n"))


# --- cut off


def test_trimmed_after_the_last_test_that_was_asked_for() -> None:
    text = data("cluster-write.txt").replace("iozone test complete.", "")
    (record,) = whole(text)
    assert (record.valid, record.details["complete"]) == (True, False)
    found, error = damaged(text.replace("-i 0", "-i 0 -i 1"))
    assert [r.valid for r in found] == [True]
    assert "expected a report of 6 readers, which the command line asks for" in error.message


# --- the command line


@pytest.mark.parametrize(
    ("command", "last"),
    [
        ("iozone -a", (512 << 10, 16 << 10)),
        ("iozone -a -s 4m", (4 << 10, 4 << 10)),
        ("iozone -Raz -n 16m -g 3g -q 1m", (2 << 20, 1 << 10)),
        ("iozone -a -n 64k -g 128k -y 16", (128, 128)),
        ("iozone -s 1m -s 4m -r 64", (4 << 10, 64)),
        ("iozone -a -s 1m -r 4k -r 16m", (1 << 10, 4)),
        ("iozone", (512, 4)),
    ],
)
def test_the_last_row_that_a_command_line_asks_for(command: str, last: tuple[int, int]) -> None:
    assert Options(command).last_row_kb() == last


def test_odd_command_lines() -> None:
    options = Options("./iozone -i x -i 99999 -t many -s huge -i")
    assert (options.tests, options.counts, options.sizes_kb("s"), options.unit) == (None, (), [], "kB/s")
    options = Options("./iozone -AceINT -i2 -+n -s1g -r 64k -l 2 -u 4 -F /mnt/-i")
    assert options.flags == {"+n", "A", "I", "N", "T", "c", "e"}
    assert (options.tests, options.counts, options.unit) == ({0, 1, 2}, (2, 3, 4), "us/op")
    assert (options.sizes_kb("s"), Options("iozone -u 3").counts) == ([1 << 20], (1, 2, 3))


# --- lines that were broken into several

MAILED = """\
$ iozone -a -M -B -s 1G -y 4k -+u -R -b iozone.xls
                                                     random  random
bkwd  record  stride
              KB  reclen   write rewrite    read    reread    read
write    read  rewrite     read
         1048576       4   73070   36713    75187    74916    1292
674   26724    45514     8491
         1048576       8   73071   36714    75188    74917    1293
675   26725    45515     8492
"""
MAILED_VALUES = [73070, 36713, 75187, 74916, 1292, 674, 26724, 45514, 8491]


@pytest.mark.parametrize("change", [lambda text: text, lambda text: text.replace("\n", "\n> "), lambda text: text[:-1]])
def test_a_table_that_a_mail_client_has_wrapped(change: Callable[[str], str]) -> None:
    """Hand-made after a table in a mail."""
    text = change(MAILED)
    found, error = results(text)
    assert list(kb(found[:9]).values()) == MAILED_VALUES
    assert [r.label for r in found[:9]] == [column.label for column in COLUMNS[:9]]
    assert (found[0].source.line, found[9].source.line) == (6, 8)
    lines = MAILED.splitlines()[3:7]
    behind = f"a.txt:{lines[0]}\n{lines[1]}\na.txt:{lines[2]}\n{lines[3]}\n"
    assert list(kb(whole(behind)).values()) == MAILED_VALUES
    if text[-1].isspace():
        assert (error, len(found)) == (None, 18)
    else:
        # the last digits may be missing
        assert (error is not None, len(found)) == (True, 17)


def test_endless_numbers_below_a_table_take_no_endless_time() -> None:
    lines = MAILED.splitlines(keepends=True)
    with no_hang():
        for count, line in ((len(lines), "1\n"), (6, "1\n"), (4, "read\n")):
            assert results("".join(lines[:count]) + line * 50_000)[1] is not None


@pytest.mark.parametrize(
    ("before", "after", "line"),
    [
        ("674   26724    45514     8491\n", "674   26724    45514\n", 6),
        ("674   26724    45514     8491\n", "674   26724    45514     8491    12\n", 6),
        ("674   26724    45514     8491\n", "674   26724    45514     8491\n17\n", 8),
        ("674   26724    45514     8491\n", "674   26724    45514     8491\nread\n", 8),
        ("write    read  rewrite     read\n", "read    write  rewrite     read\n", 5),
        ("         1048576       4 ", "17\n         1048576       4 ", 6),
    ],
)
def test_numbers_and_names_in_a_table_are_never_noise(before: str, after: str, line: int) -> None:
    found, error = damaged(MAILED.replace(before, after, 1))
    assert error.line == line
    assert {r.record_size_bytes for r in found} <= {4 * KB, 8 * KB}
    assert list(kb(found[:9]).values()) in ([], MAILED_VALUES, [value + 1 for value in MAILED_VALUES])


@pytest.mark.parametrize(
    ("text", "before", "after"),
    [
        (BOTH, "throughput for  4 readers \t= ", "throughput for  4 readers\n\t= "),
        (BOTH, "Children see throughput for  4", "Children see throughput for\n 4"),
        (BOTH, "  400.00 kB/sec\n\tParent", "  400.00\n kB/sec\n\tParent"),
        (BOTH, "Min xfer \t\t\t\t\t=", "Min xfer\n="),
        (BOTH, "Avg throughput per process \t\t\t=  ", "Avg throughput per\nprocess \t\t\t=\n  "),
        (data("low-high.txt"), " kB, Throughput", " kB,\nThroughput"),
        (data("low-high.txt"), "kB/sec, wall=", "kB/sec,\n wall="),
        (data("low-high.txt"), " -s ", "\n-s "),
        (data("low-high.txt"), " -s ", " -s\n"),
    ],
)
def test_lines_that_were_wrapped(text: str, before: str, after: str) -> None:
    assert before in text
    first, second = everything(text), everything(text.replace(before, after))
    assert (first[1], second[1]) == (None, None)
    assert [r.as_dict() | {"source": None} for r in second[0]] == [r.as_dict() | {"source": None} for r in first[0]]


def test_record_sizes_that_lost_the_blank_between_them() -> None:
    """Hand-made after the Excel report of automatic mode; joined they were one size, or one that Python refuses."""
    head = '"Writer report"\n        "4""64"\n"512"   2102  2200\n'
    assert [(r.record_size_bytes, r.operations_per_s or r.throughput_bytes_per_s) for r in whole(head)] == [
        (4 * KB, 2102 * KB),
        (64 * KB, 2200 * KB),
    ]
    assert results('"Writer report"\n' + '"4096"' * 2048 + '\n"512"   2102\n')[1] is None


@pytest.mark.parametrize("cut", ['"64"  100  200\n', '"64"  100  200\n300\n', '"64"\n'])
def test_excel_reports_that_were_wrapped_are_refused(cut: str) -> None:
    """Hand-made after the Excel report of automatic mode."""
    report = '"Writer report"\n        "4"  "8"  "16"\n' + cut
    found, error = results(report)
    assert (error is None) == (cut == '"64"  100  200\n')
    assert all(r.valid is None for r in found)
    title = '"Throughput report Y-axis is type of test X-axis is number of processes"\n'
    assert results(title + '"  Initial write "\n   100.00\n')[1] is not None
