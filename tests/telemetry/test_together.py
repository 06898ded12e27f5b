"""Files of several hosts read together give what each gives alone; what is not regular is read alone."""

import lzma
from collections.abc import Sequence
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from glusterlab.errors import ParseError
from glusterlab.telemetry import arrow as together
from glusterlab.telemetry.arrow import arrow_batches, batches, read_together, regular_text
from glusterlab.telemetry.columns import NotRegular

CPU = "CPU;%user;%nice;%system;%iowait;%steal;%idle"
DISK = "DEV;tps;rkB/s;wkB/s;dkB/s;areq-sz;aqu-sz;await;%util"
MEMORY = "kbmemfree;kbmemused;%memused;kbbuffers;kbcached;kbcommit;%commit"
LOAD = "runq-sz;plist-sz;ldavg-1;ldavg-5;ldavg-15;blocked"
CONSTANTS: dict[str, str | int] = {"campaign": "night", "cell_id": "cell", "sample": 3}
KEY = ["host", "role", "activity", "device", "metric"]


def table(columns: str, rows: Sequence[str], host: str = "s1", start: int = 1_795_170_000) -> str:
    """One table of sadf: two records of every row."""
    lines = [f"# hostname;interval;timestamp;{columns}"]
    lines += [f"{host};2;{time};{row}" for time in (start, start + 2) for row in rows]
    return "\n".join(lines) + "\n"


def report(host: str, number: float = 1.0) -> str:
    """Tables of a host whose numbers grow with `number`."""
    disks = [f"loop{n};{number * n:.2f};{number:.2f};0.00;0.00;8.00;0.01;{n}.5;3.00" for n in range(3)]
    return (
        table(CPU, [f"-1;{number};0.00;5.00;1.00;0.00;84.00"], host)
        + table(LOAD, [f"2;99;1.50;{number};0.50;3"], host)
        + table(MEMORY, [f"100;{300 + number};75.00;10;20;5;1.00"], host)
        + table(DISK, disks, host)
    )


def frame(found: pa.Table) -> pd.DataFrame:
    """Rows by what they are of, in the order of the file within that."""
    rows = found.to_pandas()
    for column in ("campaign", "cell_id", *KEY):
        rows[column] = rows[column].astype(str)
    return rows.sort_values(KEY, kind="stable").reset_index(drop=True)


def one_by_one(folder: Path, texts: Sequence[str], hosts: Sequence[str], roles: Sequence[str]) -> pd.DataFrame:
    """What is read of the same texts file by file."""
    found = []
    for number, (text, host, role) in enumerate(zip(texts, hosts, roles, strict=True)):
        path = folder / f"{number}.csv"
        path.write_text(text)
        found += list(arrow_batches(path, {**CONSTANTS, "host": host, "role": role}))
    return frame(pa.concat_tables([each.cast(found[0].schema) for each in found]).unify_dictionaries())


def both(folder: Path, texts: Sequence[str]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The same texts read together, and one by one."""
    hosts = [f"h{n}" for n in range(len(texts))]
    roles = ["server" if n % 2 else "client" for n in range(len(texts))]
    found = read_together([text.encode() for text in texts], hosts, roles, CONSTANTS)
    return frame(found), one_by_one(folder, texts, hosts, roles)


@pytest.mark.parametrize(
    "texts",
    [
        [report("a", 1.5), report("b", 20.0), report("c", 0.0)],
        # an old sysstat counts caches as used memory
        [table(MEMORY, [f"200000;{used};100000;300000;5;1.00"]) for used in ("800000;80.00", "400000;40.00")],
        [
            table(DISK, ["sda;1;2;3;4;5;6;7;8"], "a"),
            table(DISK, ["sda;9;2;3;4;5;6;7;8", "sdb;1;2;3;4;5;6;7;8"], "b", start=1_795_170_050)
            + table(LOAD, ["1;2;3;4;5;6"], "b"),
            table(CPU, ["-1;1;2;3;4;5;85", "0;1;2;3;4;5;85"], "c"),
        ],
        # a header that comes again continues its table
        [
            table(LOAD, ["1;2;3;4;5;6"]) + table(CPU, ["-1;1;2;3;4;5;85"])
            + table(LOAD, ["7;2;3;4;5;6"], start=1_795_170_100)
        ] * 2,
    ],
    ids=["many", "memory", "others", "again"],
)  # fmt: skip
def test_hosts_read_together_have_the_rows_that_each_has_alone(tmp_path: Path, texts: list[str]) -> None:
    pd.testing.assert_frame_equal(*both(tmp_path, texts))


@settings(deadline=None)
@given(
    st.lists(
        st.lists(st.floats(0, 1e9, allow_nan=False).map(lambda value: f"{value:.2f}"), min_size=1, max_size=4),
        min_size=1,
        max_size=4,
    )
)
def test_any_numbers(tmp_path_factory: pytest.TempPathFactory, hosts: list[list[str]]) -> None:
    texts = [
        table(LOAD, [f"{value};2;{value};4;5;6" for value in values])
        + table(DISK, [f"d{n};{value};2;3;4;5;6;7;8" for n, value in enumerate(values)])
        for values in hosts
    ]
    found, expected = both(tmp_path_factory.mktemp("any"), texts)
    pd.testing.assert_frame_equal(found, expected)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "# hostname;interval;timestamp;" + LOAD,
        table(LOAD, ["1;2;3;4;5;6"])[:-1],
        table(LOAD, ["1;2;3;4;5;6"]).replace("\n", "\r\n"),
        "\ufeff" + table(LOAD, ["1;2;3;4;5;6"]),
        "\n" + table(LOAD, ["1;2;3;4;5;6"]),
        table(LOAD, ["1;2;3;4;5;6"]) + "s1;-1;1795170004;LINUX-RESTART\t(8 CPU)\n",
        table(LOAD, ["1;2;3;4;5;6"]) + "s1;-1;1795170004;COM a comment\n",
        table(LOAD, ["1;2;3;4;5;6"]) + "\x00\n",
        table(LOAD, ["1;2;3;4;5;6"]) + "\n" + table(CPU, ["-1;1;2;3;4;5;6"]),
        table("CPU;%user;[...];%idle", ["-1;1;2"]),
        '{"sysstat": {}}\n',
        "Linux 6.1 (vm) 11/20/26\n12:00:00 CPU %user %idle\n12:00:01 all 1.00 99.00\n",
        table(LOAD, ["1;2;3;4;5;6"] * 20_000),
    ],
    ids=lambda text: text[:20] if isinstance(text, str) else "",
)
def test_what_needs_care_or_is_big_is_no_regular_text(tmp_path: Path, text: str) -> None:
    path = tmp_path / "s1.csv"
    path.write_bytes(text.encode())
    assert regular_text(path) is None


@pytest.mark.parametrize(
    "data", [b"\xfd7zXZ\x00damaged", lzma.compress(table(LOAD, ["1;2;3;4;5;6"]).encode())[:-9], b"\xff" * 99]
)
def test_a_damaged_file_is_left_to_those_who_say_what_is_wrong(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "s1.csv.xz"
    path.write_bytes(data)
    assert list(batches([path])) == [path]
    with pytest.raises(ParseError):
        list(arrow_batches(path, CONSTANTS))


@pytest.mark.parametrize(
    "text",
    [
        table(LOAD, ["1;2;3;4;5"]) + table(CPU, ["-1;1;2;3;4;5;6"]),
        table(LOAD, ["1;2;3;4;5;6", "1;2;3"]),
        table(LOAD, ["1;2;nan;4;5;6"]),
        table(LOAD, ["1;2;inf;4;5;6"]),
        table(LOAD, ["1;2;1_0;4;5;6"]),
        table(LOAD, ["1;2;1,5;4;5;6"]),
        table(LOAD, ["1;2;;4;5;6"]),
        table(LOAD, ["1;2;1 1;4;5;6"]),
        table(LOAD, ["1;2;3;4;5;6"]).replace("1795170002", "later"),
        table(LOAD, ["1;2;3;4;5;6"]).replace("1795170000", "2026-11-20 12:00:00"),
        table(LOAD, ["1;2;3;4;5;6"]) + table(LOAD, ["1;2;3;4;5;6"], "another"),
        table("what;is;this", ["1;2;3"]),
        table("%us\u00e9r;b", ["1;2"]),
        table(MEMORY, ["1;2;3;4;5;6;7"]) + table(MEMORY + ";kbdirty", ["1;2;3;4;5;6;7;8"]),
        table("manufact;product;BUS;idvendor;idprod;maxpower", ["1;46d;c52b;98;Logitech;Receiver"]),
    ],
)
def test_a_table_that_is_not_regular_is_refused_as_a_whole(text: str) -> None:
    good = report("s2").encode()
    with pytest.raises(NotRegular):
        read_together([good, text.encode()], ["s2", "s1"], ["server", "server"], CONSTANTS)


def test_texts_that_have_headers_only_are_refused() -> None:
    header = f"# hostname;interval;timestamp;{LOAD}\n"
    for texts in ([header.encode()], [header.encode(), (header + header).encode()]):
        with pytest.raises(NotRegular):
            read_together(texts, ["s1", "s2"][: len(texts)], ["server"] * len(texts), CONSTANTS)


def test_batches_keep_the_order_and_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    regular = report("s1").encode()
    monkeypatch.setattr(together, "BATCH_BYTES", 2 * len(regular))
    paths = []
    for number, data in enumerate([regular, regular, regular, b"no telemetry\n", regular, b"", regular]):
        paths.append(tmp_path / f"{number}.csv")
        paths[-1].write_bytes(data)
    found = [sorted(path.name for path in each) if isinstance(each, dict) else each.name for each in batches(paths)]
    assert found == [["0.csv", "1.csv"], ["2.csv"], "3.csv", ["4.csv"], "5.csv", ["6.csv"]]
    assert list(batches([])) == []
