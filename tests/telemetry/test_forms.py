"""Forms of sar's report that no plain one has: days after restarts, broken lines, units, hosts in front of lines.

Unless a test says otherwise its text was made by hand after the documented format.
"""

from collections.abc import Iterable
from contextlib import suppress
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from glusterlab.errors import ParseError
from glusterlab.telemetry import sar as sar_text
from glusterlab.telemetry.blocks import Block
from glusterlab.telemetry.reader import chunks, read, read_chunk, recognise
from glusterlab.telemetry.records import records
from tests.telemetry.rows import Row, rows_of, write

DATA = Path(__file__).parents[1] / "data" / "sar"


def _times(path: Path, metric: str) -> list[str]:
    return [str(record.time) for record in records(path) if record.metric == metric]


@pytest.fixture(params=[1, 2048, 1 << 40])
def small(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sar_text, "SMALL_BYTES", request.param)


def _by_lines(path: Path) -> list[Row]:
    """The rows, each read by itself."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sar_text, "SMALL_BYTES", 1 << 40)
        return rows_of(read(path))


def _same_in_every_way(path: Path) -> list[Row]:
    """The rows, read line by line, column by column, and in small windows."""
    by_lines = _by_lines(path)
    assert rows_of(read(path)) == by_lines
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sar_text, "SMALL_BYTES", 1)
        assert rows_of(read(path)) == by_lines
    (whole,) = chunks(path)
    assert rows_of(block for batch in read_chunk(whole, window_bytes=300) for block in batch) == by_lines
    return by_lines


BANNER = "Linux 2.6.32 (h) \t01/30/2012 \t_x86_64_\t(2 CPU)\n"


def _table(columns: str, times: Iterable[str]) -> str:
    values = " ".join(["1.00"] * len(columns.split()))
    head, *rows = times
    return f"\n{head} {columns}\n" + "".join(f"{time} {values}\n" for time in rows)


@pytest.mark.usefixtures("small")
def test_a_table_that_is_printed_anew_begins_with_its_segment(tmp_path: Path) -> None:
    """Interrupts are several tables with one mark, and each of them passes midnight."""
    text = BANNER
    for first in (0, 2, 4):
        text += _table(f"CPU i00{first}/s i00{first + 1}/s", ["22:00:01", "23:00:01", "00:10:01", "00:20:01"])
    path = write(tmp_path, text)
    for first in (0, 2, 4):
        assert _times(path, f"i00{first}/s") == ["2012-01-30T23:00:01", "2012-01-31T00:10:01", "2012-01-31T00:20:01"]
    _same_in_every_way(path)


_STEPS = st.integers(60, 3000)


@st.composite
def _segments(draw: st.DrawFn) -> list[list[int]]:
    """Times of each segment in seconds since the banner's midnight: its restart, its first header, and its rows."""
    now = draw(st.integers(0, 86_399))
    found = []
    for _ in range(draw(st.integers(1, 4))):
        times = []
        for _ in range(draw(st.integers(3, 40))):
            now += draw(_STEPS)
            times.append(now)
        found.append(times)
    return found


@settings(deadline=None, max_examples=40)
@given(segments=_segments(), by_turns=st.booleans())
def test_days_of_any_report(
    tmp_path_factory: pytest.TempPathFactory, segments: list[list[int]], by_turns: bool
) -> None:
    def clock(seconds: int) -> str:
        return f"{seconds // 3600 % 24:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"

    tables = ("%user %idle", "proc/s cswch/s", "tps rtps bread/s")
    text, expected = BANNER, []
    first_day = segments[0][1] // 86_400 * 86_400
    for number, (restart, *times) in enumerate(segments):
        if number:
            text += f"\n{clock(restart)}       LINUX RESTART\n"
        if by_turns:
            for before, now in pairwise(times):
                text += "".join(_table(columns, [clock(before), clock(now)]) for columns in tables)
        else:
            text += "".join(_table(columns, map(clock, times)) for columns in tables)
        expected += [time - first_day for time in times[1:]]
    path = write(tmp_path_factory.mktemp("days"), text)
    banner = 1327881600.0
    rows = _same_in_every_way(path)
    for metric in ("%idle", "proc/s", "bread/s"):
        found = sorted(row[3] - banner for row in rows if row[4] == metric)
        # a header of the first segment may stand before midnight, and the clock knows that
        assert found == sorted(expected)


@pytest.mark.parametrize("half", ["", " AM"])
def test_reports_of_rhel_4_and_5_begin_with_tables_of_one_column(tmp_path: Path, half: str) -> None:
    """An average of one column above the next header is no host in front of it; the head line has no architecture."""
    text = "Linux 2.6.18-128.el5 (host) \t03/24/11\n"
    tables = (
        "proc/s",
        "cswch/s",
        "CPU %user %idle",
        "INTR intr/s",
        "pswpin/s pswpout/s",
        "kbmemfree kbmemused %memused",
    )
    for columns in tables:
        values = " ".join(["1.00"] * len(columns.split()))
        text += _table(columns, [f"{time}{half}" for time in ("08:00:01", "08:10:01", "08:20:01")])
        text += f"Average: {values}\n"
    path = write(tmp_path, text)
    rows = _same_in_every_way(path)
    assert {row[0] for row in rows} == {"host"}
    assert _times(path, "proc/s") == _times(path, "cswch/s") == ["2011-03-24T08:10:01", "2011-03-24T08:20:01"]
    assert {row[4] for row in rows} >= {"proc/s", "cswch/s", "%user", "intr/s", "pswpin/s", "kbmemfree"}


def test_reports_are_divided_at_their_banners(tmp_path: Path) -> None:
    times = [f"{hour:02d}:{minute:02d}:01" for hour in range(24) for minute in range(0, 60, 10)]
    report = BANNER + "".join(_table(columns, times) for columns in ("%user %idle", "proc/s cswch/s"))
    report += "\n00:05:01 LINUX RESTART\n" + _table("%user %idle", ["00:10:01", "00:20:01"])
    text = "\nLinux is a kernel\n\n".join(report.replace("(h)", f"(h{n})") + "\n" for n in range(6))
    path = write(tmp_path, text)
    divided = chunks(path, chunk_bytes=len(report) * 3 // 2)
    assert [chunk.line for chunk in divided] == [text[: chunk.start].count("\n") + 1 for chunk in divided]
    assert len(divided) == 3
    batches = [batch for chunk in divided for batch in read_chunk(chunk)]
    assert rows_of(block for batch in batches for block in batch) == rows_of(read(path))
    assert len(chunks(write(tmp_path, text.replace("\n", "\r\n")), chunk_bytes=len(report))) == 1


@pytest.mark.usefixtures("small")
def test_twelve_hours_without_a_mark_of_the_half_day(tmp_path: Path) -> None:
    for zone, clock, expected in (
        ("IST", "12:40 12:50 01:00 11:50 12:00 01:00", "30T12:50 30T13:00 30T23:50 31T00:00 31T01:00"),
        ("CET", "22:00 23:00 01:00 12:50 01:00", "30T23:00 31T01:00 31T12:50 32T01:00"),
        ("PM IST", "12:40 12:50 01:00", "30T12:50 30T13:00"),
    ):
        times = [f"{time}:01 {zone}" for time in clock.split()]
        path = write(
            tmp_path, BANNER + "".join(_table(columns, times) for columns in ("%user %idle", "proc/s cswch/s"))
        )
        found = [f"2012-01-{day}:01".replace("01-32", "02-01") for day in expected.split()]
        assert _times(path, "%idle") == _times(path, "proc/s") == found
        _same_in_every_way(path)


WRAPPED = """\
Linux 2.4.21 (h) 	01/30/2012

12:00:00 AM kbmemfree kbmemused %memused kbmemshrd kbbuffers kbcached
kbswpfree kbswpused %swpused
12:04:00 AM 7020 2062752 99.66 0 124600 1765060
1946212 102036 4.98
12:08:00 AM 7016 2062756 99.66 0 124596 1765064
1946213 102035 4.97
Average: 7018 2062754 99.66 0 124598 1765062
1946212 102036 4.98
"""


@pytest.mark.usefixtures("small")
def test_lines_that_were_broken_in_two_are_joined(tmp_path: Path) -> None:
    path = write(tmp_path, WRAPPED)
    found = {(record.time, record.metric): record.value for record in records(path, averages=True)}
    assert found["2012-01-30T00:04:00", "kbswpfree"] == 1946212
    assert found["2012-01-30T00:08:00", "%swpused"] == 4.97
    assert found["average", "kbswpused"] == 102036
    assert found["2012-01-30T00:08:00", "kbcached"] == 1765064
    assert len(found) == 27
    assert len(rows_of(read(path))) == 18
    assert rows_of(read(path)) == _by_lines(path)


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize(
    ("old", "new", "message", "line", "rows"),
    [
        ("kbswpfree kbswpused %swpused\n", "", "expected a time before numbers, found '1946212 102036 4.98'", 5, 2),
        ("1946212 102036 4.98\n12", "12", "expected 9 columns .* found 6", 5, 1),
        ("1946212 102036 4.98\n12", "1946212 102036 4.98 7\n12", "expected 9 columns .* found 10", 5, 1),
        ("4.98\n12", "4.98\nkbswpfree kbswpused %swpused\n12", None, None, 2),
        ("4.98\n12", "4.98\n7 7 7\n12", "expected a time before numbers, found '7 7 7'", 7, 2),
    ],
)
def test_rests_of_lines_are_never_lost_in_silence(
    tmp_path: Path, old: str, new: str, message: str | None, line: int | None, rows: int
) -> None:
    path = write(tmp_path, WRAPPED.replace(old, new, 1).partition("Average")[0])
    found: list[Block] = []
    if message is None:
        found.extend(read(path))
    else:
        with pytest.raises(ParseError, match=message) as caught:
            found.extend(read(path))
        assert caught.value.line == line
    assert sum(map(len, found)) == rows


def test_prose_and_numbers_after_it_are_nobodys(tmp_path: Path) -> None:
    text = BANNER + _table("%user %idle", ["10:00:01", "10:00:02"]) + "\n$ vmstat\n r b swpd\n 1 0 77\n$ echo $?\n0\n"
    assert len(rows_of(read(write(tmp_path, text)))) == 2


@pytest.mark.parametrize("half", ["午後", "下午", "오후"])
@pytest.mark.parametrize("form", ["02時20分{}秒", "02:20:{}"])
@pytest.mark.usefixtures("small")
def test_a_half_day_without_a_blank(tmp_path: Path, half: str, form: str) -> None:
    times = [half + form.format(second) for second in ("01", "02", "03")]
    text = BANNER.replace("01/30/2012", "2012年01月30日") + _table("%user %idle", times)
    morning = text.replace(half, {"午後": "午前", "下午": "上午", "오후": "오전"}[half])
    for part, hours in ((text, 14), (morning, 2)):
        path = write(tmp_path, part)
        assert recognise(path.read_bytes()) == "sar"
        assert _times(path, "%idle") == [f"2012-01-30T{hours:02d}:20:02", f"2012-01-30T{hours:02d}:20:03"]
        assert rows_of(read(path)) == _by_lines(path)


@pytest.mark.parametrize("mark", ["p. m.", "p.\u00a0m.", "p.\u202fm.", "p.m.", "P. M."])
@pytest.mark.usefixtures("small")
def test_half_days_of_spanish(tmp_path: Path, mark: str) -> None:
    text = BANNER + _table("CPU %user %idle", [f"02:30:01 {mark}", f"02:40:01 {mark}", f"12:00:01 {mark}"])
    path = write(tmp_path, text)
    assert _times(path, "%idle") == ["2012-01-30T14:40:01", "2012-01-31T12:00:01"]
    assert rows_of(read(path)) == _by_lines(path)


def test_units_of_human_reports(tmp_path: Path) -> None:
    """Both files are real: sar of sysstat 12.6 printed the same records with and without --human."""
    plain = {row[:5]: row[5] for row in rows_of(read(DATA / "human-plain.txt"))}
    human = {row[:5]: row[5] for row in rows_of(read(DATA / "human.txt"))}
    assert set(human) == set(plain)
    assert any("kbmemfree" in row for row in human)
    for place, value in human.items():
        # one decimal of the unit that was chosen
        assert value == pytest.approx(plain[place], rel=0.06, abs=0.051), place


def test_a_unit_that_is_not_clear_refuses_the_whole_file(tmp_path: Path) -> None:
    text = BANNER + _table("proc/s cswch/s", ["10:00:01", "10:00:02", "10:00:03"]).replace("03 1.00", "03 1.0k")
    found: list[Block] = []
    with pytest.raises(ParseError, match=r"without a unit in proc/s, .*; print the report without --human"):
        found.extend(read(write(tmp_path, text)))
    assert not found


def _behind(host: str, text: str) -> list[str]:
    return [f"{host}: {line}" for line in text.splitlines()]


def test_hosts_in_front_of_lines(tmp_path: Path) -> None:
    text = "Linux 3.10.0 ({host}) \t2019-05-12 \t_x86_64_\t(2 CPU)\n" + _table(
        "CPU %user %idle", ["02:20:01 PM", "02:30:01 PM", "02:40:01 PM"]
    )
    one, other = (_behind(host, text.format(host=host)) for host in ("web1", "web2"))
    mixed = [line for pair in zip(one, other, strict=True) for line in pair]
    for every in (one + other, mixed, ["$ pdsh -w web[1-2] sar", *mixed]):
        path = write(tmp_path, "\n".join(every) + "\n")
        assert recognise(path.read_bytes()) == "sar"
        rows = rows_of(read(path))
        assert {row[0] for row in rows} == {"web1", "web2"}
        assert len(rows) == 8
        assert rows[0][3] == 1557671401.0
    last = [record for record in records(path) if record.host == "web2"][-1]
    assert (last.source.line, last.time) == (len(every), "2019-05-12T14:40:01")
    bad = [*mixed[:6], mixed[6].replace("1.00 1.00 1.00", "all x 1.00"), *mixed[7:]]
    with pytest.raises(ParseError, match=r"expected a number in %user, found 'x'") as caught:
        list(read(write(tmp_path, "\n".join(bad) + "\n")))
    assert caught.value.line == 7


def test_banners_without_a_host(tmp_path: Path) -> None:
    old = "Linux 2.4.18-18.7.xbigmem \t05/29/2003\n" + _table("%user %idle", ["10:00:01", "10:00:02"])
    path = write(tmp_path, old)
    assert _times(path, "%idle") == ["2003-05-29T10:00:02"]
    path.write_text(BANNER + _table("%user %idle", ["10:00:01", "10:00:02"]) + "\n" + old + "\nLinux 2.4 is old\n")
    for rows in (_by_lines(path), rows_of(read(path))):
        assert {(row[0], row[3]) for row in rows} == {("h", 1327917602.0), (None, 1054202402.0)}


def test_what_sysstat_has_no_number_for(tmp_path: Path) -> None:
    text = BANNER + "\n10:00:01 TTY rcvin/s xmtin/s\n10:00:02 0 1.00 2.00\n10:00:02 1 N/A N/A\n"
    values = [record.value for record in records(write(tmp_path, text))]
    assert values == [1.0, 2.0, None, None]


@pytest.mark.parametrize(
    ("text", "tool", "message"),
    [
        (BANNER + "\n10:00:01       LINUX RESTART\t(2 CPU)\n", "sar", "the report has no rows"),
        (BANNER + "\n10:00:01  COM a note\n", "sar", "the report has no rows"),
        ('<?xml version="1.0"?>\n<!DOCTYPE sysstat PUBLIC "x">\n<sysstat\nxmlns="x">\n', "sadf", "XML of sadf"),
        ('<?xml?>\n<svg width="1">\n<text x="0">Linux 6.1 (vm) 11/20/26</text>\n', "sadf", "SVG of sadf"),
        ("14:46:53 UTC; CPU; -1; %user; 844422; 844422; %nice; 5; 5;\n", "sadf", "raw counters of sadf -r"),
        ("# hostname;interval;timestamp;CPU;%user;[...]\nh;1;100;-1;1.00;2.00\n", "sadf", "columns of sysstat"),
        ("14:46:53 UTC; kbmemfree; 20578784; kbavail; 22633908;\n", "sadf", "use sadf -d or sadf -j"),
        ("Linux 6.1 (vm) 11/20/26\n", None, "found neither"),
        ("", None, "found neither"),
        ("12:00:00 UID PID %usr %system Command\n12:00:01 0 1 1.0 1.0 init\n", None, "found neither"),
        (BANNER + "\n12:00:00 CPU %user %idle\n", "sar", "found none"),
        ("12:00:00 CPU %user %idle\n12:00:01 all 1.00 9\x009\n", "sar", "binary"),
        ("12:00:00 CPU %user %idle\n12:00:01 all " + "1" * 5000 + " 2\n", "sar", "expected a number"),
    ],
)
def test_what_holds_no_rows_is_named(tmp_path: Path, text: str, tool: str | None, message: str) -> None:
    path = write(tmp_path, text)
    assert recognise(path.read_bytes()) == tool
    with pytest.raises(ParseError, match=message):
        list(read(path))


@pytest.mark.parametrize("end", range(0, len(WRAPPED), 7))
def test_cut_broken_lines_give_no_wrong_value(tmp_path: Path, end: int) -> None:
    whole = set(rows_of(read(write(tmp_path, WRAPPED))))
    found: list[Block] = []
    with suppress(ParseError):
        found.extend(read(write(tmp_path, WRAPPED[:end])))
    assert len(set(rows_of(found)) - whole) <= 1
