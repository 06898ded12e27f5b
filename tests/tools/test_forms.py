"""Reports of every tool: in other forms they say the same, and no text makes a reader hang."""

from pathlib import Path
from typing import Any

import pytest

from glusterlab.tools import tools
from glusterlab.tools.records import WorkloadRecord
from tests.hang import no_hang
from tests.tools.reading import document, until_error, workloads
from tests.tools.reports import (
    DATA,
    DD,
    IOZONE,
    IOZONE_TABLE,
    OF_ALL,
    OF_ONE,
    REPORTS,
    SPECSFS_HEADER,
    Change,
)  # fmt: skip

MEASURED = ("kind", "label", "operation", "valid", "throughput_bytes_per_s", "worker_min_bytes_per_s")
UNREAD = {("iperf3", "quoted"), ("iperf3", "host")}


def said(text: str | bytes) -> list[dict[str, Any]]:
    """What records say but for their places and hosts; of IOzone, whose banner may suffer, what was measured."""
    records, error = until_error(text)
    assert error is None
    found = [record.as_dict() for record in records]
    return [
        {
            name: value
            for name, value in each.items()
            if (each["tool"] != "iozone" and name not in ("source", "host")) or name in MEASURED
        }
        for each in found
    ]


@pytest.mark.parametrize(
    ("name", "change"),
    [
        *(
            pytest.param(name, change, id=f"{name}-{form}")
            for name in REPORTS
            for form, change in OF_ALL.items()
            if (name, form) not in UNREAD
        ),
        *OF_ONE,
    ],
)
def test_other_forms_say_the_same(name: str, change: Change) -> None:
    assert said(change(REPORTS[name])) == said(REPORTS[name])


CUT = [path for tool in ("fio", "iozone", "iperf3", "smallfile") for path in sorted((DATA / tool).rglob("*.*"))]
PLACES = 400


def measured_by(record: WorkloadRecord) -> tuple[Any, ...]:
    # how many workers a group of fio's has is open where entries may be missing
    found = [record.workers] if record.tool != "fio" else []
    found += [record.run, record.job, record.label, record.file_size_bytes, record.record_size_bytes]
    rates = (record.throughput_bytes_per_s, record.operations_per_s, record.files_per_s, record.latency_mean_s)
    return (*found, *rates)


@pytest.mark.parametrize("path", CUT, ids=lambda path: path.relative_to(DATA).as_posix())
def test_a_report_cut_anywhere_is_never_wrong(path: Path) -> None:
    data, tool = path.read_bytes(), path.relative_to(DATA).parts[0]
    truth = {measured_by(record): record.valid for record in workloads(data, tool)[0]}
    ends = [place for place, byte in enumerate(data, start=1) if byte == ord("\n")]
    places = sorted(end - back for end in ends[:-1] for back in (0, 1, 2, 9) if end > back)
    for place in places[:: len(places) // PLACES + 1]:
        found, error = workloads(data[:place], tool)
        for record in found:
            # the last report of a run is judged with all that followed it, so a doubt may be missing, not a failure
            assert measured_by(record) in truth
            assert not (record.valid and truth[measured_by(record)] is False)
        # a log of several reports may end after any of them
        if error is None and path.name not in ("log.txt", "status-interval.txt"):
            assert {measured_by(record) for record in found} == set(truth), f"cut after {place} bytes"


HOSTILE = {
    "dd": ["1" * 500_000 + "\n" + "dd if=a" * 100_000 + "\n" + "1+0 x\n" * 50_000 + DD],
    "fio": [
        "{" * 300_000 + '"fio version": "fio-3.1"',
        '{"fio version": "fio-3.1", "jobs": ' + "[" * 300_000,
        '{"fio version": "fio-3.1", "jobs": [' + '{"a":' * 200_000,
        '{"fio version" ' + '"\\"' * 300_000,
        '{"fio version": "fio-3.1", "jobs": []}\n' * 20_000,
        '{"jobs": [{"jobname": ' * 50_000,
        '{"fio version": "fio-3.1", "jobs": [{' + '"read": 1, "read": 2,' * 100_000 + '"x": 1}]}',
        '{"fio version": "fio-3.1", "jobs": [' + '{"jobname": "a", "read": nan},' * 20_000 + "{}]}",
        '{"fio version": "x", "global options": {' + ",".join(f'"o{n}": 1' for n in range(20_000)) + '}, "jobs": [{}]}',
        'h: "fio version" :\n' * 50_000,
    ],
    "gluster": [
        "Volume Name: v\n" * 60_000,
        "Brick " + "a:/" * 300_000,
        "Volume Name: " + " " * 900_000,
        "Brick: s1:/b\nCumulative Stats:\n" + "0.00 0.00 us " * 60_000,
        "Status of volume: v\n" + "Brick s:/b\n" * 60_000,
        "Gluster process" + " " * 900_000,
        "Volume Name: v\nType: Distribute\nNumber of Bricks: 1" + " x 1" * 100_000,
    ],
    "iozone": [
        *(IOZONE + IOZONE_TABLE + block * 10_000 for block in (IOZONE, IOZONE_TABLE, "Min xfer = 3 kB\n")),
        ("Each process writes a 4 kByte file in 4 kByte records\n" + IOZONE) * 10_000,
        *(
            f"{IOZONE}{IOZONE_TABLE}{line}\n"
            for line in (
                "Children see throughput for 1 " + "initial " * 60_000,
                "Children see throughput for " + " " * 500_000 + "=",
                "iozone " * 70_000,
                '"Writer report"\n' + '"4" ' * 100_000 + "x",
                *(" 1" * 200_000, ">" * 500_000, "<br" * 200_000, "&" * 500_000, "a:" * 250_000 + "Min xfer"),
            )
        ),
    ],
    "smallfile": [
        ("host = a,thr = " * 3 + "1,elapsed = " + "9" * 200 + "\n") * 2000 + "[" * 50_000 + '{"params"' * 20_000,
    ],
    "specsfs": [
        SPECSFS_HEADER + "1 " * 400_000,
        SPECSFS_HEADER + "1 2 3\n" * 50_000,
        SPECSFS_HEADER * 10_000,
        SPECSFS_HEADER + "> " * 400_000,
        "<summary><business_metric>" + "<run >" * 100_000,
        "<summary><business_metric>" + "<!--" * 200_000,
        "<summary>" + "<run ><business_metric>1</run>" * 20_000,
        "1.1 " * 250_000,
        "a: " * 250_000 + SPECSFS_HEADER,
    ],
}  # fmt: skip


@pytest.mark.parametrize(
    ("tool", "text"),
    [pytest.param(tool, text, id=f"{tool}-{n}") for tool, texts in HOSTILE.items() for n, text in enumerate(texts)],
)
def test_hostile_text_ends_in_time_and_is_refused(tool: str, text: str) -> None:
    with no_hang():
        recognise = tools()[tool].recognise
        assert recognise is not None
        recognise(document(text))
        records, error = until_error(text, tool)
    # what is whole before or after it counts
    if tool not in ("dd", "iozone"):
        assert error is not None
        assert not any(record.as_dict().get("valid") for record in records)
