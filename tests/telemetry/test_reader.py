"""Reading telemetry: real output of several versions and locales, against each other and against obvious references."""

import bz2
import gzip
import json
import lzma
import random
from collections.abc import Iterable
from contextlib import suppress
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from glusterlab.errors import ParseError
from glusterlab.telemetry import records as telemetry_records
from glusterlab.telemetry import sar as sar_text
from glusterlab.telemetry.arrow import arrow_batches, write_parquet
from glusterlab.telemetry.blocks import Block
from glusterlab.telemetry.metrics import METRICS, metric_of
from glusterlab.telemetry.reader import chunks, read, read_chunk, recognise
from glusterlab.telemetry.records import json_lines, records
from tests.fuzz import mutations
from tests.telemetry.rows import rows_of, write

DATA = Path(__file__).parents[1] / "data" / "sar"
REPORTS = sorted(DATA.glob("*.txt"))


@pytest.mark.parametrize("path", REPORTS, ids=lambda path: path.stem)
def test_all_ways_to_read_a_report_agree(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sar_text, "SMALL_BYTES", 1 << 40)
    by_lines, averages = rows_of(read(path)), rows_of(read(path, averages=True))
    numbered = list(records(path, averages=True))
    assert by_lines
    for small in (2048, 1):
        monkeypatch.setattr(sar_text, "SMALL_BYTES", small)
        assert rows_of(read(path)) == by_lines
        assert rows_of(read(path, averages=True)) == averages
        assert list(records(path, averages=True)) == numbered
    (whole,) = chunks(path)
    assert rows_of(block for batch in read_chunk(whole, window_bytes=2000) for block in batch) == by_lines
    divided = chunks(path, chunk_bytes=3000)
    assert rows_of(block for chunk in divided for batch in read_chunk(chunk) for block in batch) == by_lines
    assert [row for row in averages if row[3] != -1] == by_lines
    assert len(averages) > len(by_lines)


def test_what_sar_and_sadf_say_of_the_same_records() -> None:
    def values(name: str) -> dict[tuple[str, str | None, float, str], float]:
        found = {row[1:5]: row[5] for row in rows_of(read(DATA / name))}
        assert {row[0] for row in rows_of(read(DATA / name))} == {"host01"}
        return found

    report, rows, objects = (values(name) for name in ("all.txt", "all.csv", "all.json"))
    extra = {"rd_sec/s", "wr_sec/s", "dc_sec/s", "avgrq-sz", "avgqu-sz"}
    assert {place: value for place, value in objects.items() if place[3] not in extra} == {
        place: value for place, value in rows.items() if place[:2] != ("interrupts", None)
    } | {place: value for place, value in objects.items() if place not in rows and place[3] not in extra}
    for place, value in rows.items():
        assert objects.get(place, value) == value
        assert report.get(place, value) == value
    assert len(set(rows) & set(report)) > 0.95 * len(report)
    assert len(set(rows) & set(objects)) > 0.95 * len(rows)


def test_every_locale_says_the_same() -> None:
    expected = rows_of(read(DATA / "locale-C.txt", averages=True))
    others = sorted(set(DATA.glob("locale-*.txt")) - {DATA / "locale-C.txt"})
    assert len(others) > 10
    for path in others:
        assert rows_of(read(path, averages=True)) == expected, path.name


@pytest.mark.parametrize("path", [*REPORTS, *DATA.glob("all*.*"), *DATA.glob("sadf-*")], ids=lambda path: path.name)
def test_every_column_has_a_documented_metric(path: Path) -> None:
    for block in read(path):
        assert block.activity != "other"
        for column in block.metrics:
            name, _ = metric_of(block.activity, column)
            assert column in METRICS[block.activity] or name.endswith("_interrupts_per_s")


CPU = "CPU     %user     %nice   %system   %iowait    %steal     %idle\n"
BANNER = "Linux 6.1.0 (h) \t{date} \t_x86_64_\t(2 CPU)\n\n"


def _report(times: Iterable[str], date: str = "2026-03-04", head: str | None = None) -> str:
    times = list(times)
    rows = "".join(f"{time}        all      1.00      0.00      1.00      0.00      0.00     98.00\n" for time in times)
    return BANNER.format(date=date) + f"{head or times[0]}        {CPU}{rows}"


def _times(path: Path) -> list[str | None]:
    return [record.time for record in records(path) if record.metric == "%idle"]


def test_summer_time_that_ends_is_no_new_day(tmp_path: Path) -> None:
    times = _times(write(tmp_path, _report(["02:50:00", "02:10:00", "03:00:00"], date="2026-10-25")))
    assert times == ["2026-10-25T02:50:00", "2026-10-25T02:10:00", "2026-10-25T03:00:00"]


def test_restarts_and_comments_give_no_values(tmp_path: Path) -> None:
    text = _report(["10:00:01"]) + (
        "10:00:02     COM a note\nAverage:        all      1.00      0.00      1.00      0.00      0.00     98.00\n"
        "\n09:00:00     LINUX RESTART\t(4 CPU)\n\n"
        f"09:00:05        {CPU}09:00:06        all      2.00      0.00      1.00      0.00      0.00     97.00\n"
    )
    blocks = list(read(write(tmp_path, text), averages=True))
    assert [block.average for block in blocks] == [False, True, False]
    assert [record.time for record in records(tmp_path / "sar.txt") if record.metric == "%user"] == [
        "2026-03-04T10:00:01",
        "2026-03-05T09:00:06",
    ]


@pytest.mark.parametrize(
    ("date", "clock", "expected"),
    [
        ("04/05/26", "10:00:01", "2026-04-05"),
        ("04/05/2026", "10:00:01 AM", "2026-04-05"),
        ("04/05/26", "10:00:01 AM IST", "2026-05-04"),
        ("25/05/2026", "10:00:01", "2026-05-25"),
        ("04.05.2026", "10:00:01", "2026-05-04"),
        ("2017年01月12日", "10时00分01秒", "2017-01-12"),
        ("Thursday 04 September 2014", "10:00:01  IST", "2014-09-04"),
        ("04-May-2026", "10:00:01", "2026-05-04"),
        # a decimal comma means that the day stands first
        ("10/07/2008 with commas", "10:00:01", "2008-07-10"),
    ],
)
def test_dates_of_banners(tmp_path: Path, date: str, clock: str, expected: str) -> None:
    text = _report([clock], date=date.removesuffix(" with commas"))
    text = text.replace(".00", ",00") if date.endswith("commas") else text
    assert _times(write(tmp_path, text)) == [f"{expected}T10:00:01"]


def test_text_that_hands_and_terminals_have_changed(tmp_path: Path) -> None:
    plain = _report(["10:00:01", "10:00:02"])
    expected = [record.value for record in records(write(tmp_path, plain))]
    changed = {
        "indented": "".join(f"    {line}\n" for line in plain.splitlines()),
        "quoted": "".join(f"> {line}\n" for line in plain.splitlines()),
        "prompts": f"[root@h ~]# sar 1 2\n{plain}[root@h ~]#",
        "crlf": plain.replace("\n", "\r\n"),
        "tabs": plain.replace("        ", "\t"),
        "double": plain.replace("\n", "\n\n"),
        "dense": plain.replace("\n\n", "\n"),
        "no end": plain.rstrip("\n"),
    }
    for name, text in changed.items():
        assert [record.value for record in records(write(tmp_path, text))] == expected, name
    for data in (plain.encode("utf-16"), gzip.compress(plain.encode()), bz2.compress(plain.encode())):
        (tmp_path / "packed").write_bytes(data)
        assert [record.value for record in records(tmp_path / "packed")] == expected
    (tmp_path / "packed").write_bytes(lzma.compress(plain.encode()))
    assert [record.value for record in records(tmp_path / "packed")] == expected
    assert [record.source.file for record in records(BytesIO(plain.encode()))] == ["-"] * len(expected)


@pytest.mark.parametrize("name", ["locale-C.txt", "plain.csv", "all.json"])
def test_every_cut_gives_what_is_whole(tmp_path: Path, name: str) -> None:
    data = (DATA / name).read_bytes()
    whole = set(rows_of(read(DATA / name)))
    path = tmp_path / "cut"
    for end in range(0, len(data), max(1, len(data) // 150)):
        path.write_bytes(data[:end])
        found: list[Block] = []
        with suppress(ParseError):
            found.extend(read(path))
        more = set(rows_of(found)) - whole
        # nothing tells that a count at the end of a file without its last line end is cut
        assert not more or (len(more) == 1 and max(more)[-1].is_integer() and not data[:end].endswith(b"\n")), end


def test_a_damaged_row_is_named_and_the_others_are_read(tmp_path: Path) -> None:
    text = _report([f"10:00:{second:02d}" for second in range(1, 60)])
    path = write(tmp_path, text.replace("10:00:30        all      1.00", "10:00:30        all      x"))
    found: list[Block] = []
    with pytest.raises(ParseError, match="expected a number in %user, found 'x'") as caught:
        found.extend(read(path))
    assert caught.value.line == 33
    assert sum(map(len, found)) == 58


def test_recognition(tmp_path: Path) -> None:
    kinds = {"all.txt": "sar", "all.csv": "sadf", "all.json": "sadf"}
    assert {name: recognise((DATA / name).read_bytes()) for name in kinds} == kinds
    assert recognise(b"iozone test complete.\n") is None
    (tmp_path / "binary").write_bytes(b"\xd5\x96\x75\x21")
    with pytest.raises(ParseError, match="sadf -d -U FILE"):
        list(read(tmp_path / "binary"))
    # without a banner there is no date
    (record, *_) = records(write(tmp_path, _report(["10:00:01"]).partition("\n\n")[2]))
    assert (record.time, record.host) == ("10:00:01", None)


@settings(deadline=None, max_examples=60)
@given(st.data())
def test_nothing_but_parse_errors_column_by_column(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    """tests/fuzz has small files, which are read line by line."""
    name = data.draw(st.sampled_from(["locale-C.txt", "locale-ko_KR.txt", "plain.csv", "all.csv", "all.json"]))
    text = (DATA / name).read_bytes()[:8000]
    for mutation in data.draw(st.lists(st.sampled_from(mutations.ALL), min_size=1, max_size=3)):
        text = mutation(text, data.draw)[:100_000]
    path = tmp_path_factory.mktemp("fuzz") / "file"
    path.write_bytes(text)
    with pytest.MonkeyPatch.context() as patch, suppress(ParseError):
        patch.setattr(sar_text, "SMALL_BYTES", 1)
        for block in read(path, averages=True):
            assert all(len(values) == len(block) for values in (*block.metrics.values(), block.lines))


def test_rows_before_damage_in_a_packed_file_are_given_once(tmp_path: Path) -> None:
    text = _report([f"{n // 3600:02d}:{n // 60 % 60:02d}:{n % 60:02d}" for n in range(1, 40_000)])
    (tmp_path / "packed").write_bytes(gzip.compress(text.encode())[:-2000])
    blocks: list[Block] = []
    with pytest.raises(ParseError, match="found damage"):
        blocks.extend(read(tmp_path / "packed"))
    lines = [line for block in blocks for line in block.lines.tolist()]
    assert len(lines) == len(set(lines)) > 20_000


@pytest.mark.parametrize("row", [0, 30])
@pytest.mark.parametrize("change", ["1.00 1.00      98.00", "98.00 7", ""])
def test_rows_with_more_or_fewer_columns_are_never_taken(
    tmp_path: Path, row: int, change: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sar_text, "SMALL_BYTES", 1)
    lines = _report([f"10:00:{second:02d}" for second in range(60)]).split("\n")
    for at in range(3, 63) if row == 0 else [33]:
        lines[at] = lines[at].replace("98.00", change)
    found: list[Block] = []
    with pytest.raises(ParseError, match="expected 7 columns"):
        found.extend(read(write(tmp_path, "\n".join(lines))))
    assert sum(map(len, found)) == (0 if row == 0 else 59)


def test_numbers_are_exact(tmp_path: Path) -> None:
    chance = random.Random(7)
    numbers = [f"{chance.uniform(0, 10 ** chance.randrange(1, 12)):.2f}" for _ in range(20_000)]
    rows = "".join(f"10:00:01 {value} {value}\n" for value in numbers)
    path = write(tmp_path, f"10:00:00 proc/s cswch/s\n{rows}")
    (block,) = read(path)
    assert block.metrics["proc/s"].tolist() == [float(value) for value in numbers]


def test_arrow_tables(tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    constants: dict[str, str | int | float] = {"campaign": "c", "cell_id": "x", "sample": 3, "role": "server"}
    table = next(arrow_batches(DATA / "all.txt", constants, zone="Etc/GMT-1"))
    frame = table.to_pandas()
    assert list(frame.columns) == [
        "campaign", "cell_id", "sample", "host", "role", "time_s", "activity", "device", "metric", "value",
    ]  # fmt: skip
    assert {name for name in frame if str(frame[name].dtype) == "category"} == {
        "campaign", "cell_id", "host", "role", "activity", "device", "metric",
    }  # fmt: skip
    expected = sorted(
        (host or "", {"queue": "load"}.get(activity, activity), device or "", time - 3600, name, value * factor)
        for host, activity, device, time, column, value in rows_of(read(DATA / "all.txt"))
        for name, factor in [metric_of(activity, column)]
    )
    names = ["host", "activity", "device", "time_s", "metric", "value"]
    assert sorted(frame[names].astype({"host": str}).itertuples(index=False, name=None)) == expected
    assert write_parquet([], tmp_path / "t.parquet") == 0
    assert not (tmp_path / "t.parquet").exists()
    small = [table.slice(start, 1000) for start in range(0, len(table), 1000)]
    assert write_parquet(small, tmp_path / "t.parquet") == len(expected)
    kept = pq.read_table(tmp_path / "t.parquet").to_pandas()
    np.testing.assert_array_equal(np.sort(kept["value"]), np.sort(frame["value"]))


def test_local_time_follows_its_zone_over_a_change_of_the_clock(tmp_path: Path) -> None:
    banner = "Linux 6.1 (h) \t2026-03-29 \t_x86_64_\t(2 CPU)\n\n"
    text = f"{banner}00:59:00 proc/s cswch/s\n01:00:00 1.00 2.00\n03:00:00 1.00 2.00\n"
    (table,) = arrow_batches(write(tmp_path, text), {}, zone="Europe/Rome")
    hours = sorted(set(table["time_s"].to_pylist()))
    assert hours[1] - hours[0] == 3600
    assert hours[0] == 1774742400.0


@pytest.mark.parametrize("path", sorted(DATA.iterdir()), ids=lambda path: path.name)
def test_lines_of_json_are_those_of_the_records(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(telemetry_records, "SLICE_ROWS", 7)
    expected: list[str] = []
    found: list[str] = []
    with suppress(ParseError):
        expected.extend(record.to_json() for record in records(path, averages=True))
    with suppress(ParseError):
        found.extend(line for text in json_lines(path, averages=True) for line in text.split("\n"))
    assert found == expected


def test_lines_of_json_of_what_is_no_number_and_of_odd_names(tmp_path: Path) -> None:
    text = _report(["10:00:01", "10:00:02"]).replace("(h)", '(h"\\ä)').replace("00:01        all", '00:01        %ä"')
    path = write(tmp_path, text.replace("98.00\n", "nan\n", 1))
    found = [json.loads(line) for text in json_lines(path) for line in text.split("\n")]
    assert found == [json.loads(record.to_json()) for record in records(path)]
    assert found[5]["value"] is None
    assert (found[0]["host"], found[0]["device"], found[0]["source"]["line"]) == ('h"\\ä', '%ä"', 4)
