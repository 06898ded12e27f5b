"""Values that no host can have had: named with their line by every reader, and no reason to lose the other rows."""

import lzma
from pathlib import Path

import pytest

from glusterlab.errors import ParseError
from glusterlab.telemetry.arrow import arrow_batches, read_together
from glusterlab.telemetry.blocks import Block
from glusterlab.telemetry.collect import coverage
from glusterlab.telemetry.columns import NotRegular
from glusterlab.telemetry.reader import read
from tests.telemetry.rows import write

CPU = "CPU;%user;%nice;%system;%iowait;%steal;%idle"
MEMORY = "kbmemfree;kbmemused;%memused;kbbuffers;kbcached;kbcommit;%commit"
LOAD = "runq-sz;plist-sz;ldavg-1;ldavg-5;ldavg-15;blocked"
DISK = "DEV;tps;rkB/s;wkB/s;areq-sz;aqu-sz;await;%util"
TABLES = {
    CPU: "-1;1.50;0.00;5.00;1.00;0.00;92.50",
    MEMORY: "100000;300000;75.00;1000;2000;5;160.00",
    LOAD: "2;99;1.50;1.20;0.50;3",
    DISK: "sda;10.00;20.00;0.00;8.00;0.01;0.50;454.00",
}


def sadf(*changes: tuple[str, str]) -> str:
    """Four seconds of a host; each change is made to the row of the third, which is in every table."""
    text = ""
    for columns, row in TABLES.items():
        rows = [f"h;1;{time};{row}" for time in range(1_795_170_001, 1_795_170_005)]
        for old, new in changes:
            rows[2] = rows[2].replace(old, new)
        text += "\n".join([f"# hostname;interval;timestamp;{columns}", *rows]) + "\n"
    return text


WHOLE = sadf()
CPU_ROW = f"h;1;1795170003;{TABLES[CPU]}\n"
VALUES = {
    "%idle below zero": (";92.50", ";-900"),
    "a CPU of 300 %": (";92.50", ";292.50"),
    "%idle of 101 %": (";92.50", ";101.9"),
    "shares of 100 % each": ("1.50;0.00;5.00;1.00;0.00;92.50", "100;100;100;0;0;0"),
    "shares of nearly nothing": ("1.50;0.00;5.00;1.00;0.00;92.50", "0.1;0;0;0;0;0.1"),
    "memory below zero": ("100000;300000", "-100000;300000"),
    "more memory than there is in the world": ("100000;300000", "18446744073709548580;300000"),
    "more of the memory than all": (";75.00;", ";175.00;"),
    "a load below zero": (";1.50;1.20", ";-1.50;1.20"),
    "a disk that read less than nothing": ("10.00;20.00", "10.00;-20.00"),
    "a counter that wrapped": ("10.00;20.00", "10.00;184467440737095516.16"),
    "a wait below zero": (";0.01;0.50;", ";0.01;-0.50;"),
    "a wait of a month": (";0.01;0.50;", ";0.01;2678400000;"),
}
ROWS = {
    "a row twice": CPU_ROW + CPU_ROW,
    "a row that runs back": CPU_ROW + CPU_ROW.replace("003;", "001;"),
    "a row again, changed": CPU_ROW + CPU_ROW.replace("1.50;", "2.50;").replace("92.50", "91.50"),
}


@pytest.mark.parametrize("change", VALUES.values(), ids=VALUES)
def test_a_value_that_cannot_be_is_named_by_every_reader(tmp_path: Path, change: tuple[str, str]) -> None:
    path = tmp_path / "h.csv"
    path.write_text(text := sadf(change))
    line = next(
        at for at, (old, new) in enumerate(zip(WHOLE.split("\n"), text.split("\n"), strict=True), 1) if old != new
    )
    with pytest.raises(ParseError, match=r"expected .* found") as caught:
        coverage(path)
    assert (caught.value.file, caught.value.line) == (path, line)
    with pytest.raises(ParseError, match=r"expected .* found"):
        list(read(path))
    with pytest.raises(ParseError, match=r"expected .* found"):
        list(arrow_batches(path, {}))
    with pytest.raises(NotRegular):
        read_together([text.encode()], ["h"], ["server"], {})


def test_rows_around_one_that_cannot_be_are_read(tmp_path: Path) -> None:
    path = write(tmp_path, sadf(VALUES["%idle below zero"]))
    found: list[Block] = []
    with pytest.raises(ParseError, match="expected 0 to 101 in %idle, found -900"):
        found.extend(read(path))
    assert {block.activity: len(block) for block in found} == {"cpu": 3, "memory": 4, "queue": 4, "disk": 4}
    assert [time - 1_795_170_000 for time in found[0].time.tolist()] == [1, 2, 4]


@pytest.mark.parametrize("rows", ROWS.values(), ids=ROWS)
def test_rows_that_stand_twice_or_run_back_are_no_telemetry(tmp_path: Path, rows: str) -> None:
    path = tmp_path / "h.csv.xz"
    path.write_bytes(lzma.compress(WHOLE.replace(CPU_ROW, rows).encode()))
    with pytest.raises(ParseError, match=r"expected (one row|rows in the order)"):
        coverage(path)
    path.write_bytes(lzma.compress(WHOLE.replace("h;1;", "h;100;").encode()))
    with pytest.raises(ParseError, match="expected intervals of one length that last 3 s, found 100 and 300 s"):
        coverage(path)
    # every table, as if sadc had been there twice
    twice = "".join(f"{line}\n" * (2 if ";1795170003;" in line else 1) for line in WHOLE.splitlines())
    path.write_bytes(lzma.compress(twice.encode()))
    with pytest.raises(ParseError, match="expected one row of cpu for each device and time, found two at 1795170003"):
        coverage(path)


def test_two_records_of_one_second_after_a_stall_are_two(tmp_path: Path) -> None:
    """As raw/first-light has them: seconds 159, 161, 161, 162."""
    path = tmp_path / "h.csv"
    path.write_text(WHOLE.replace(";1795170002;", ";1795170003;").replace("03;-1;1.50", "03;-1;2.50", 1))
    found = coverage(path)
    assert (found.begin_s, found.end_s) == (1_795_170_000, 1_795_170_004)


@pytest.mark.parametrize("shares", ["0.00 0.00 0.00 0.00 0.00 0.00", "10.00 0.00 5.00 1.00 0.00 78.00"])
def test_a_cpu_that_is_off_and_sums_that_old_versions_print(tmp_path: Path, shares: str) -> None:
    text = f"Linux 2.6.32 (h) 01/30/2012\n\n10:00:01 {CPU.replace(';', ' ')}\n10:00:02 0 {shares}\n"
    (block,) = read(write(tmp_path, text))
    assert block.time.size == 1
