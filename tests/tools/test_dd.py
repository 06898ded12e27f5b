"""The reader of dd: every dialect and language, what the command line adds, and what is no result."""

from pathlib import Path

import pytest

from glusterlab.errors import ParseError
from glusterlab.tools import recognise
from glusterlab.tools.dd.report import commands
from tests.tools.reading import document, messages, runs, workloads
from tests.tools.reports import DD as GNU

DATA = Path(__file__).parents[1] / "data" / "dd"


RATE = 1073741824 / 9.5

# after the formats of the versions and languages named
COUNTS = "1024+0 records in\n1024+0 records out\n"
DIALECTS = {
    "GNU 4": f"{COUNTS}1073741824 bytes transferred in 9.5 seconds (113025455 bytes/sec)\n",
    "GNU 5": f"{COUNTS}1073741824 bytes (1.1 GB) copied, 9.5 seconds, 113 MB/s\n",
    "GNU 9": GNU,
    "decimal comma": GNU.replace("1.1", "1,1").replace("1.0 G", "1,0 G").replace("9.5", "9,5"),
    "BSD": f"{COUNTS}1073741824 bytes transferred in 9.500000 secs (113025455 bytes/sec)\n",
    "busybox": f"{COUNTS}1073741824 bytes (1.0GB) copied, 9.500000 seconds, 107.8MB/s\n",
    "toybox": f"{COUNTS}1073741824 bytes (1.0 G) copied, 9.500 s, 107 M/s\n",
    "German": "1024+0 Datensätze ein\n1024+0 Datensätze aus\n"
    "1073741824 Bytes (1,1 GB, 1,0 GiB) kopiert, 9,5 s, 113 MB/s\n",
    "French": "1024+0 enregistrements lus\n1024+0 enregistrements écrits\n"
    "1073741824 octets (1,1 GB, 1,0 GiB) copiés, 9,5 s, 113 MB/s\n",
    "Russian": "1024+0 записей получено\n1024+0 записей отправлено\n"
    "1073741824 байт (1,1 GB, 1,0 GiB) скопирован, 9,5 s, 113 MB/s\n",
    "Chinese": "记录了1024+0 的读入\n记录了1024+0 的写出\n1073741824字节（1.1 GB，1.0 GiB）已复制，9.5 s，113 MB/s\n",
    "Japanese": "1024+0 レコード入力\n1024+0 レコード出力\n"
    "1073741824 バイト (1.1 GB, 1.0 GiB) コピーされました、 9.5 秒、 113 MB/秒\n",
}


@pytest.mark.parametrize("text", DIALECTS.values(), ids=DIALECTS)
def test_dialects(text: str) -> None:
    (run,) = runs(text)
    assert recognise(document(text)) == "dd"
    assert (run.valid, run.throughput_bytes_per_s, run.elapsed_s) == (True, RATE, 9.5)
    assert (run.record_size_bytes, run.workers, run.operation) == (1 << 20, 1, "copy")
    assert run.details["bytes"] == 1 << 30
    assert (run.details["records_in_full"], run.details["records_out_partial"]) == (1024, 0)
    assert run.details["printed_rate"][:3] in ("113", "107")


@pytest.mark.parametrize("text", DIALECTS.values(), ids=DIALECTS)
def test_a_cut_at_any_place_is_no_valid_result(text: str) -> None:
    data = text.encode()
    for size in range(1, len(data)):
        found, error = workloads(data[:size], "dd")
        # without its last line feed it is whole; without its last line it is one of a version that prints no time
        wanted = True if size == len(data) - 1 else None
        assert error is not None or [(run.valid, run.throughput_bytes_per_s) for run in found] == [
            (wanted, RATE if wanted else None)
        ], data[:size]


def test_real_outputs() -> None:
    found = [runs((DATA / f"{name}.txt").read_bytes())[0] for name in ("gnu-write", "gnu-read", "busybox")]
    assert [(run.valid, run.throughput_bytes_per_s, run.elapsed_s, run.record_size_bytes) for run in found] == [
        (True, 16777216 / 0.00477008, 0.00477008, 1 << 20),
        (True, 16777216 / 0.00209691, 0.00209691, 65536),
        # its version printed no line of bytes
        (None, None, None, None),
    ]


def test_progress_is_not_the_result() -> None:
    data = (DATA / "gnu-progress.txt").read_bytes()
    assert b"\r" in data
    (run,) = runs(data)
    assert (run.valid, run.elapsed_s) == (True, 1.45143)
    with pytest.raises(ParseError, match="after its progress"):
        runs(data[: data.index(b"60000+0")] + b"$ \n")


@pytest.mark.parametrize(
    ("text", "valid", "size", "seconds"),
    [
        ("1+0 records in\n1+0 records out\n1 byte copied, 9.4e-05 s, 10.6 kB/s\n", True, 1, 9.4e-05),
        # partial records have no size
        ("0+2 records in\n0+2 records out\n9 bytes copied, 0.200501 s, 0.0 kB/s\n", True, None, 0.200501),
        (GNU.replace("9.5 s, 113 MB/s", "0 s, Infinity B/s"), None, 1 << 20, None),
        (GNU.replace("9.5 s, ", "9.5 s,\n"), True, 1 << 20, 9.5),
        (GNU + "1048576 bytes received in 0.5 secs (2.1 MB/s)\n", True, 1 << 20, 9.5),  # of another program
    ],
)
def test_one_result(text: str, valid: bool | None, size: int | None, seconds: float | None) -> None:
    (run,) = runs(text)
    assert (run.valid, run.record_size_bytes, run.elapsed_s) == (valid, size, seconds)


@pytest.mark.parametrize(
    ("operands", "operation", "file_size"),
    [
        ("if=/dev/zero of=/mnt/f bs=1M count=1024", "write", 1 << 30),
        ("if=/mnt/f of=/dev/null bs=1M", "read", 1 << 30),
        ("if=/mnt/f of=/dev/null bs=1M count=1024", "read", None),
        ("if=/dev/zero of=/dev/null bs=1M count=1024", "copy", None),
        ("if=/mnt/a of=/mnt/b bs=1M", "copy", None),
        ("if=/dev/zero of=/mnt/f bs=1M count=1024 seek=7", "write", None),
        ('if=/dev/zero of="/mnt/a b" bs=1048576 count=$N', "write", None),
    ],
)
def test_operation_and_sizes(operands: str, operation: str, file_size: int | None) -> None:
    (run,) = runs(f"[root@c1 ~]# time dd {operands}\n{GNU}\nreal\t0m9.813s\nuser\t0m0.1s\n")
    assert (run.operation, run.valid, run.record_size_bytes) == (operation, True, 1 << 20)
    if "$" not in operands:
        assert run.file_size_bytes == file_size
    assert run.label == f"dd {operands}"
    assert run.details["real_s"] == 9.813


def test_several_commands_and_results() -> None:
    write, back = "dd if=/dev/zero of=/mnt/f bs=1M count=1024 conv=fsync", "dd if=/mnt/f of=/dev/null bs=1M"
    found = runs(f"$ {write}\n{GNU}$ echo 3 > /proc/sys/vm/drop_caches\n$ {back}\n{GNU}")
    assert [(run.run, run.operation, run.source.line) for run in found] == [(1, "write", 2), (2, "read", 7)]
    assert found[0].details["flags"] == ["conv=fsync"]
    for typed, operations in (
        (f"$ {write} && {back}", ["write", "read"]),
        (f"$ cat t.sh\n{write}\n{back}\n$ sh t.sh", ["write", "read"]),
        (f"$ for i in 1 2; do {write}; done", ["write", "write"]),
        # a pipe does not say which result is whose
        ("$ dd if=/dev/sda bs=1M | dd of=/dev/null bs=1M", ["copy", "copy"]),
    ):
        found = runs(f"{typed}\n{GNU}{GNU}")
        assert [(run.operation, run.valid) for run in found] == [(operation, True) for operation in operations]


def test_statistics_on_a_signal_are_not_the_result() -> None:
    early = "512+0 records in\n512+0 records out\n536870912 bytes (537 MB, 512 MiB) copied, 4.7 s, 114 MB/s\n"
    (run,) = runs(f"$ dd if=/dev/zero of=/mnt/f bs=1M count=1024\n{early}{GNU}")
    assert (run.valid, run.details["bytes"]) == (True, 1 << 30)
    assert len(runs(early + GNU)) == 2


def test_command_lines() -> None:
    assert commands("dd if=/dev/zero of=x bs=1M 2>/dev/null") == []
    assert commands("dd if=/dev/zero of=x bs=1M status=none") == []
    assert commands("dd: failed to open 'x'") == []
    assert commands("add if=3") == []
    (found,) = commands("+ /bin/dd ibs=4k obs=2x1M if=a of=b")
    assert (found.input_size, found.output_size, found.converts) == (4096, 2 << 20, True)


def test_hosts_in_front_of_mixed_lines() -> None:
    pairs = zip(GNU.splitlines(), DIALECTS["BSD"].splitlines(), strict=True)
    found = runs("".join(f"node1: {one}\nnode2: {two}\n" for one, two in pairs))
    assert [(run.run, run.host) for run in found] == [(1, "node1"), (1, "node2")]
    assert [run.throughput_bytes_per_s for run in found] == [RATE, RATE]


@pytest.mark.parametrize(
    ("text", "valid"),
    [
        (f"{GNU}dd: writing `/mnt/f': No space left on device\n{GNU}", [True, False]),
        (f"{GNU}/bin/dd: Schreiben von '/mnt/f': Kein Platz\n{GNU}", [True, False]),
        (f"{GNU}dd: closing output file '/mnt/f': Input/output error\n", [False]),
        (f"dd: fsync failed for '/mnt/f': Input/output error\n{GNU}", [False]),
        ((DATA / "gnu-full.txt").read_text(), [False]),
    ],
)
def test_complaints_stand_before_the_records_but_for_those_of_the_end(text: str, valid: list[bool]) -> None:
    found = runs(text)
    assert [run.valid for run in found] == valid
    assert (found[-1].reasons[0].code, "dd said: " in messages(found[-1])) == ("tool-failed", True)


def test_a_file_that_cannot_be_opened_has_no_statistics() -> None:
    first, second = runs(f"$ dd if=/nope of=/dev/null bs=1M\ndd: failed to open '/nope': No such file\n$ ls\n{GNU}")
    assert (first.valid, first.operation, first.throughput_bytes_per_s) == (False, "read", None)
    assert second.valid is True


UNEQUAL = GNU.replace("1024+0 records in", "4096+0 records in")


@pytest.mark.parametrize(
    ("text", "valid", "message"),
    [
        ("^C" + GNU, False, "interrupted"),
        ("^C\n" + GNU, False, "interrupted"),
        ("0+0 records in\n0+0 records out\n0 bytes copied, 3.6e-05 s, 0.0 kB/s\n", False, "nothing was copied"),
        (GNU.replace("1073741824", "1073741825"), False, "are not 1024 records of one size"),
        (GNU.replace("9.5 s", "95 s"), False, "are not 113 MB/s"),
        ("$ dd if=/dev/zero of=/mnt/f bs=1M count=2048\n" + GNU, False, "expected 2048 records, found 1024"),
        ("$ dd if=/dev/zero of=/mnt/f bs=4k count=1024\n" + GNU, None, "other sizes"),
        ("$ dd if=/mnt/a of=/mnt/f bs=1M\n" + UNEQUAL, False, "4096 records were read, 1024 written"),
        # more may be read than written where the command says so
        (UNEQUAL, None, ""),
        ("$ dd ibs=256k obs=1M if=/mnt/a of=/mnt/b\n" + UNEQUAL, True, ""),
        ("dd: warning: partial read (4 bytes); suggest iflag=fullblock\n" + GNU, True, ""),
    ],
)
def test_judgement(text: str, valid: bool | None, message: str) -> None:
    (run,) = runs(text)
    assert run.valid is valid
    assert message in messages(run)
    assert ("warnings" in run.details) is ("warning" in text)
    if valid is None:
        assert run.operation == "copy"


@pytest.mark.parametrize("value", ["nan", "-9.5", "9" * 5000, "１"])
@pytest.mark.parametrize("number", ["9.5", "1073741824"])
def test_what_is_no_number_is_no_value(value: str, number: str) -> None:
    found, error = workloads(GNU.replace(number, value))
    assert error is not None or [run.valid for run in found] in ([None], [False])


@pytest.mark.parametrize("text", ["hello\n", "1+1 is 2\n2+2 is 4\n", "real 0m1.0s\n", "dd if=/dev/zero of=x bs=1M\n"])
def test_what_is_no_result(text: str) -> None:
    for tool, message in ((None, "found none"), ("dd", "expected dd's lines")):
        with pytest.raises(ParseError, match=message):
            runs(text, tool)


LONE = {
    "Korean": "1048576000 바이트 (1.0 GB, 1000 MiB) 복사함, 0.5 초, 2.1 GB/초\n",
    "Chinese": "1048576000字节（1.0 GB，1000 MiB）已复制，0.5 s，2.1 GB/s\n",
    "Japanese": "1048576000 バイト (1.0 GB, 1000 MiB) コピーされました、 0.5 秒、 2.1 GB/秒\n",
    "English": "1048576000 bytes (1.0 GB, 1000 MiB) copied, 0.5 s, 2.1 GB/s\n",
    "wrapped": "1048576000 bytes (1.0 GB, 1000 MiB) copied, 0.5 s,\n2.1 GB/s\n",
}


@pytest.mark.parametrize("line", LONE.values(), ids=LONE)
def test_a_lone_line_of_bytes_is_a_run_of_its_own(line: str) -> None:
    for text, place in (
        (line, 1),
        (GNU + line, 4),
        # as grep leaves them
        (line + LONE["English"], 1),
        ("$ \n" + line + GNU.replace("1024+0", "10+0").replace("1073741824 ", "10485760 "), 2),
    ):
        assert recognise(document(text)) == "dd"
        (run,) = (found for found in runs(text) if found.source.line == place)
        assert (run.throughput_bytes_per_s, run.elapsed_s) == (1048576000 / 0.5, 0.5)
        assert (run.valid, run.details["bytes"]) == (None, 1048576000)
        assert "the lines of records are not in the file" in messages(run)


def test_a_lone_line_without_its_rate_is_no_noise() -> None:
    with pytest.raises(ParseError, match="expected bytes, seconds and a rate") as caught:
        runs(GNU + "1048576000 octets (1,0 GB, 1000 MiB) copiés\n\n")
    assert caught.value.line == 4
