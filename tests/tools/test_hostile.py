"""Reports whose numbers cannot be: each is a whole report with one thing changed, and none of them is told as valid."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from glusterlab.tools.records import BrickRecord, WorkloadRecord
from tests.tools.reading import until_error
from tests.tools.reports import DD, REPORTS, SMALLFILE, SPECSFS_HEADER, specsfs_row

DATA = Path(__file__).parents[1] / "data"
IOZONE = (DATA / "iozone" / "cluster-write.txt").read_text()
SMALLFILE_JSON = (DATA / "smallfile" / "create" / "output.json").read_text()
FIO = REPORTS["fio"]
IPERF3 = REPORTS["iperf3"]
IPERF3_UDP = (DATA / "iperf3" / "udp.json").read_text()
STATUS, DETAIL = REPORTS["gluster status.txt"], REPORTS["gluster detail.txt"]
STATUS_XML = (DATA / "gluster" / "status.xml").read_text()
INFO_XML = REPORTS["gluster info.xml"]
SPECSFS = SPECSFS_HEADER + specsfs_row(1, 450, 450.5)


DAY_NS = 86_400 * 10**9
IO_ERROR = "fio: io_u error on file /mnt/w01/f: Input/output error: write offset=0, buflen=4096\n"
PID_ERROR = "fio: pid=1234, err=5/file:io_u.c:1787, func=io_u error, error=Input/output error\n"


def _with(text: str, *changes: tuple[str, str]) -> str:
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return text


def _percentiles(side: dict[str, Any]) -> dict[str, int]:
    found: dict[str, int] = side["clat_ns"]["percentile"]
    return found


def _offline_too(text: str) -> str:
    """The first brick of a status a second time, as offline."""
    row = next(line for line in text.splitlines() if line.startswith("Brick "))
    return text.replace(f"{row}\n", f"{row}\n{' N '.join(row.rsplit(' Y ', 1))}\n")


def _fio(change: Callable[[dict[str, Any]], object]) -> str:
    data = json.loads(FIO)
    for job in data["jobs"]:
        for side in (job[name] for name in ("read", "write") if job[name]["total_ios"]):
            change(side)
    return json.dumps(data, indent=1)


def _iperf3(text: str, key: str, value: float) -> str:
    """A report with another value of the streams, or of the sums where they have it alone."""
    data = json.loads(text)
    sums = [data["end"][name] for name in data["end"] if name.startswith("sum")]
    streams = [side for stream in data["end"]["streams"] for side in stream.values()]
    for counts in streams if key == "bits_per_second" else sums:
        counts[key] = value
    return json.dumps(data, indent=1)


def _smallfile(change: Callable[[dict[str, Any]], object]) -> str:
    data = json.loads(SMALLFILE_JSON)
    change(data)
    return json.dumps(data, indent=1)


def _first_thread(data: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = data["results"]["host"]["gl-c01"]["thread"]["00"]
    return found


FAMILIES: dict[str, dict[str, str]] = {
    "dd": {
        "bytes that do not fit the rate": DD.replace("1073741824 bytes", "10737418240 bytes"),
        "records that are not the bytes": DD.replace("1024+0", "1023+0"),
        "no time at all": DD.replace("9.5 s", "0 s"),
        "a time below zero": DD.replace(", 9.5 s", ", -9.5 s"),
        "more read than written": DD.replace("1024+0 records in", "2048+0 records in"),
    },
    "fio": {
        "a median of a day in a short run": _fio(lambda side: _percentiles(side).update({"50.000000": DAY_NS})),
        "all percentiles of a day": _fio(
            lambda side: _percentiles(side).update(dict.fromkeys(_percentiles(side), DAY_NS))
        ),
        "percentiles that fall": _fio(lambda side: _percentiles(side).update({"99.000000": 1})),
        "a mean above the maximum": _fio(lambda side: side["clat_ns"].update(mean=10 * side["clat_ns"]["max"])),
        "a mean of a day": _fio(lambda side: side["clat_ns"].update(mean=1e14, max=10**14)),
        "short I/O": _fio(lambda side: side.update(short_ios=side["total_ios"] // 2)),
        "dropped I/O": _fio(lambda side: side.update(drop_ios=side["total_ios"] - 1)),
        "more bytes than its rate": _fio(lambda side: side.update(io_bytes=100 * side["io_bytes"])),
        "more calls than its rate": _fio(lambda side: side.update(total_ios=100 * side["total_ios"])),
        "bytes that are not its calls'": _fio(
            lambda side: side.update({key: 10 * side[key] for key in ("io_bytes", "io_kbytes", "bw_bytes", "bw")})
        ),
        "a time below zero": _fio(lambda side: side.update(runtime=-22)),
        "an error's line before": PID_ERROR + FIO,
        "an I/O's error before": IO_ERROR + FIO,
        "an I/O's error behind": f"{FIO}\n{IO_ERROR}",
        "an error in its text": f"w01: (groupid=0, jobs=1): err= 5 (file:io_u.c:1787, func=io_u error): pid=9\n{FIO}",
        "two rates": FIO.replace('"total_ios"', '"total_ios": 1,\n"total_ios"'),
    },
    "gluster": {
        "a brick that is on- and offline": STATUS_XML.replace("<status>1", "<status>0</status><status>1", 1),
        "a brick of two processes": STATUS_XML.replace("</pid>", "</pid><pid>1</pid>", 1),
        "a brick in two rows": _offline_too(STATUS),
        "a brick with two states": DETAIL.replace("Online               : Y", "Online : Y\nOnline : N", 1),
        "a volume of two types": INFO_XML.replace("<brickCount>", "<brickCount>99</brickCount><brickCount>", 1),
    },
    "iozone": {
        "too small a file": _with(IOZONE, ("2048 kB\n", "64 kB\n"), ("a 2048 k", "a 64 k"), ("2m", "64k")),
        "too big a file": _with(IOZONE, ("2048 kB\n", "9999 kB\n"), ("a 2048 k", "a 9999 k"), ("2m", "9999k")),
        "a worker that wrote too much": _with(IOZONE, ("[3] xfer count =    2048.00", "[3] xfer count =   20480.00")),
        "another least transfer": _with(IOZONE, ("Min xfer \t\t\t\t\t=    2048.00", "Min xfer \t\t\t\t\t=    1024.00")),
        "another slowest worker": _with(IOZONE, ("=   95335.88", "=   15335.88")),
        "another fastest worker": _with(IOZONE, ("process \t\t\t=  168755.02", "process \t\t\t=  268755.02")),
        "another sum": _with(IOZONE, ("743084.20", "843084.20")),
    },
    "iperf3": {
        "a key that stands twice": IPERF3.replace('"bits_per_second"', '"bits_per_second": 1,\n"bits_per_second"', 1),
        "a time below zero": IPERF3.replace("\"seconds\":", "\"seconds\": -1, \"was\":"),
        "streams of another rate": _iperf3(IPERF3, "bits_per_second", 1e15),
        "more packets lost than sent": _iperf3(IPERF3_UDP, "lost_packets", 10**9),
    },
    "smallfile": {
        "a key that stands twice": SMALLFILE_JSON.replace('"files": 200', '"files": 100,\n"files": 200', 1),
        "no files per thread": _smallfile(lambda data: data["params"].update(files_per_thread=0)),
        "no files per thread in text": SMALLFILE.replace("files/thread : 100", "files/thread : 0"),
        "a thread's time below zero": _smallfile(lambda data: _first_thread(data).update(elapsed=-1.5)),
        "a time below zero": _smallfile(lambda data: data["results"].update(elapsed=-1.5)),
        "a thread's time below zero in text": SMALLFILE.replace("elapsed = 0.020000", "elapsed = -0.020000"),
        "a time below zero in text": SMALLFILE.replace("elapsed time =     0.025", "elapsed time =    -0.025"),
        "more files than were asked for": SMALLFILE.replace("files = 100,records = 100", "files = 150,records = 150"),
        "more records than in its files": _with(
            SMALLFILE, ("records = 100", "records = 900"), ("\nIOPS = 8000", "\nIOPS = 72000"), ("= 500.", "= 4500.")
        ),
        "other files than the threads'": SMALLFILE.replace("total files = 200", "total files = 100"),
        "another rate": SMALLFILE.replace("files/sec = 8000", "files/sec = 80000"),
    },
    "specsfs": {
        "a hundredth of the load": SPECSFS_HEADER + specsfs_row(1, 45000, 450.029),
        "a throughput of neither": SPECSFS.replace("460360.5", "960360.5"),
    },
}  # fmt: skip
WHOLE = {
    "dd": DD, "fio": FIO, "gluster": STATUS_XML, "iozone": IOZONE, "iperf3": IPERF3, "iperf3 of UDP": IPERF3_UDP,
    "smallfile": SMALLFILE_JSON, "smallfile text": SMALLFILE, "specsfs": SPECSFS,
}  # fmt: skip


def _told_as_valid(text: str) -> bool:
    records, error = until_error(text)
    bricks = any(isinstance(record, BrickRecord) or record.kind == "volume" for record in records)
    runs = [record for record in records if isinstance(record, WorkloadRecord)]
    return (bricks and error is None) or any(run.valid for run in runs)


@pytest.mark.parametrize("tool", WHOLE)
def test_the_report_that_is_changed_is_valid(tool: str) -> None:
    assert _told_as_valid(WHOLE[tool])


@pytest.mark.parametrize(("tool", "family"), [(tool, name) for tool, each in FAMILIES.items() for name in each])
def test_what_cannot_be_is_not_told_as_valid(tool: str, family: str) -> None:
    text = FAMILIES[tool][family]
    assert text not in (WHOLE[tool], SMALLFILE, INFO_XML), "nothing was changed"
    assert not _told_as_valid(text)
