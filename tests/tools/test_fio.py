"""fio's JSON: units by release, clients and their sum, doubled keys, runs that were interrupted, and damage."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from glusterlab.errors import ParseError
from glusterlab.tools.document import Document
from glusterlab.tools.fio import records as fio
from glusterlab.tools.records import WorkloadRecord
from tests.hang import no_hang

DATA = Path(__file__).parents[1] / "data" / "fio"
WHOLE = ["clients.txt", "group-jsonplus.json", "normal-json.txt", "unified-both.json", "sigint.txt", "full-disk.txt"]

Found = tuple[list[WorkloadRecord], ParseError | None]


def read(text: str | bytes) -> Found:
    """The records of a text, and the error after them."""
    data = text if isinstance(text, bytes) else text.encode()
    records: list[WorkloadRecord] = []
    try:
        records.extend(fio.read(Document(Path("fio.json"), data).checked()))
    except ParseError as error:
        return records, error
    return records, None


def damaged(text: str | bytes) -> tuple[list[WorkloadRecord], ParseError]:
    records, error = read(text)
    assert error is not None
    return records, error


def whole(text: str | bytes) -> list[WorkloadRecord]:
    records, error = read(text)
    assert error is None
    return records


def read_data(name: str) -> list[WorkloadRecord]:
    return whole((DATA / name).read_bytes())


def side(*, new: bool = True, **changed: Any) -> dict[str, Any]:
    """A direction that did 1 GiB in 10 s, hand-made after what fio 3 (`new`) or fio 2 writes."""
    unit, scale = ("_ns", 1000) if new else ("", 1)
    found: dict[str, Any] = {
        "io_bytes": 1 << 30 if new else 1 << 20,
        "bw": 104857,
        "iops": 102.4,
        "runtime": 10_000,
        "total_ios": 1024,
        f"slat{unit}": {"min": 1 * scale, "max": 9 * scale, "mean": 2.0 * scale, "stddev": 1.0},
        f"clat{unit}": {
            "min": 10 * scale, "max": 90 * scale, "mean": 20.0 * scale, "stddev": 1.0,
            "percentile": {"50.000000": 18 * scale, "99.000000": 80 * scale},
        },
        f"lat{unit}": {"min": 11 * scale, "max": 99 * scale, "mean": 22.0 * scale, "stddev": 1.0},
    }  # fmt: skip
    if new:
        found |= {"io_kbytes": 1 << 20, "bw_bytes": 107374182}
    return found | changed


def idle(*, new: bool = True) -> dict[str, Any]:
    unit = "_ns" if new else ""
    found: dict[str, Any] = dict.fromkeys(("io_bytes", "io_kbytes", "bw_bytes", "bw", "runtime", "total_ios"), 0)
    return (
        found | {"iops": 0.0} | {f"{kind}{unit}": {"min": 0, "max": 0, "mean": 0.0} for kind in ("slat", "clat", "lat")}
    )


def entry(options: dict[str, str] | None = None, **changed: Any) -> dict[str, Any]:
    found: dict[str, Any] = {"jobname": "j", "groupid": 0, "error": 0}
    if options is not None:
        found["job options"] = options
    return found | {"read": idle(), "write": idle(), "trim": idle()} | changed


def report(*jobs: dict[str, Any], version: str = "fio-3.33", **changed: Any) -> str:
    return json.dumps(
        {"fio version": version, "global options": {}, "jobs": list(jobs), "disk_util": []} | changed, indent=2
    )


def one(text: str) -> WorkloadRecord:
    (record,) = whole(text)
    return record


@pytest.mark.parametrize("text", ['{"jobs": [1, 2]}', '{"jobs": [{"name": "deploy"}]}', '{"fio": 1}', "a fio of text"])
def test_other_json_is_not_fio(text: str) -> None:
    assert fio.recognise(Document(Path("x"), text.encode())) == 0


def test_a_report_without_the_version_is_recognised_by_its_latencies() -> None:
    text = json.dumps({"jobs": [entry(read=side(new=False))]})
    assert 0 < fio.recognise(Document(Path("x"), text.encode())) < 0.9
    assert one(text).tool_version is None


def test_release_3_writes_bytes_and_nanoseconds() -> None:
    record = one(report(entry({"rw": "randread", "bs": "1m", "size": "1g"}, read=side())))
    assert (record.tool_version, record.job, record.operation, record.label) == ("3.33", "j", "random-read", "read")
    assert record.throughput_bytes_per_s == 107374182
    assert record.operations_per_s == 102.4
    assert record.elapsed_s == 10
    assert record.latency_mean_s == pytest.approx(20e-6)
    assert record.latency_p50_s == pytest.approx(18e-6)
    assert record.latency_p99_s == pytest.approx(80e-6)
    assert (record.file_size_bytes, record.record_size_bytes, record.workers) == (1 << 30, 1 << 20, 1)
    assert record.details["io_bytes"] == 1 << 30
    assert record.details["total_latency_mean_s"] == pytest.approx(22e-6)
    assert record.details["submission_latency_mean_s"] == pytest.approx(2e-6)
    assert (record.valid, record.reasons, record.percent_done) == (True, (), None)


def test_release_2_writes_kib_and_microseconds_whatever_kb_base_says() -> None:
    options = {"kb_base": "1000", "bs": "4ki", "size": "1g", "rw": "read"}
    record = one(report(entry(options, read=side(new=False)), version="fio-2.2.10"))
    assert record.throughput_bytes_per_s == 104857 * 1024
    assert (record.record_size_bytes, record.file_size_bytes) == (4096, 10**9)
    assert record.details["io_bytes"] == 1 << 30
    assert (record.latency_mean_s, record.latency_p99_s) == (pytest.approx(20e-6), pytest.approx(80e-6))
    assert (record.operation, record.valid) == ("read", True)


def test_rates_below_one_kib_and_latencies_without_completion() -> None:
    slow = side(new=False, io_bytes=5, bw=0, iops=0.5, total_ios=5, runtime=10_000)
    assert one(report(entry(write=slow))).throughput_bytes_per_s == 512
    values = side()
    del values["clat_ns"]
    values["lat_ns"]["percentile"] = {"99.000000": 5000}
    record = one(report(entry(read=values)))
    assert record.latency_mean_s == pytest.approx(22e-6)
    assert (record.latency_p50_s, record.latency_p99_s) == (None, pytest.approx(5e-6))


def test_job_options_go_before_global_ones() -> None:
    given = {"rw": "randrw", "bs": "4k,8k", "iodepth": "4", "ioengine": "libaio"}
    text = report(entry({"iodepth": "32"}, read=side(), write=side()), **{"global options": given})
    reads, writes = read(text)[0]
    assert (reads.operation, writes.operation) == ("random-read", "random-write")
    assert (reads.record_size_bytes, writes.record_size_bytes) == (4096, 8192)
    assert (reads.details["iodepth"], reads.details["ioengine"]) == (32, "libaio")


@pytest.mark.parametrize(
    ("options", "file_size", "record_size"),
    [
        ({"size": "4m", "nrfiles": "4", "bs": "4k"}, 1 << 20, 4096),
        ({"size": "4m", "filename": "a:b", "bsrange": "4k-64k"}, 2 << 20, None),
        ({"size": "4m", "filename": r"/dev/disk\:0", "bs": "4k", "bssplit": "4k/50:8k/50"}, 4 << 20, None),
        ({"size": "4m", "filesize": "64k"}, 64 << 10, None),
        ({"size": "50%"}, None, None),
        ({}, None, None),
    ],
)
def test_sizes(options: dict[str, str], file_size: int | None, record_size: int | None) -> None:
    record = one(report(entry(options | {"rw": "read", "time_based": "1"}, read=side())))
    assert (record.file_size_bytes, record.record_size_bytes) == (file_size, record_size)


def test_a_direction_that_was_asked_for_and_did_nothing_is_not_valid() -> None:
    mostly = {"rw": "rw", "rwmixread": "100"}
    assert one(report(entry(mostly, read=side()))).label == "read"
    reads, writes = read(report(entry({"rw": "rw"}, read=side())))[0]
    assert (reads.valid, writes.valid) == (True, False)
    assert (writes.label, writes.throughput_bytes_per_s, writes.operations_per_s) == ("write", None, None)
    assert [reason.code for reason in writes.reasons] == ["tool-failed"]


def test_an_error_is_never_valid_and_a_failure_never_0() -> None:
    record = one(report(entry({"rw": "write"}, error=5)))
    assert (record.valid, record.throughput_bytes_per_s) == (False, None)
    assert "Input/output error" in record.reasons[0].message
    unknown = one(report(entry(error=5)))
    assert (unknown.valid, unknown.throughput_bytes_per_s) == (False, None)


def test_a_full_disk_and_a_job_that_did_nothing() -> None:
    (record,) = read_data("full-disk.txt")
    assert (record.valid, record.reasons[0].code, record.source.line) == (False, "disk-full", 3)
    (record,) = read_data("create-only.json")
    assert (record.operation, record.valid, record.throughput_bytes_per_s) == ("random-read", False, None)


def test_an_interrupted_run() -> None:
    reads, writes = read_data("sigint.txt")
    assert (reads.valid, writes.valid) == (False, False)
    assert reads.details["interrupted"] is True
    assert "signal 2" in reads.reasons[0].message
    assert reads.source.line == 3


@pytest.mark.parametrize(
    ("options", "valid"),
    [
        ({"time_based": "1", "runtime": "5m"}, False),
        ({"time_based": "1", "runtime": "10"}, True),
        ({"time_based": "1", "runtime": "10", "size": "1t"}, True),
        ({"runtime": "60", "size": "1g"}, True),
        ({"runtime": "60", "size": "10g", "bs": "1m"}, False),
        ({"size": "10g", "bs": "1m"}, False),
        ({"size": "10g", "bs": "1m", "number_ios": "1024"}, True),
        ({"size": "10g", "bssplit": "4k/50:8k/50"}, None),
        ({"runtime": "60", "size": "100m"}, False),  # more than its size: it was to fill its time
        ({"runtime": "60", "size": "100m", "loops": "20"}, True),
        ({"runtime": "60"}, None),
        ({"runtime": "10s"}, True),
    ],
)
def test_runs_that_ended_early(options: dict[str, str], valid: bool | None) -> None:
    record = one(report(entry(options | {"rw": "read"}, read=side())))
    assert record.valid is valid
    assert record.details.get("interrupted", False) is (valid is False)


def test_the_notice_of_a_signal_belongs_to_the_report_after_it() -> None:
    text = report(entry(read=side()))
    first, second, third = read(f"{text}\nfio: terminating on signal 15\n{text}\n{text}\n")[0]
    assert [record.valid for record in (first, second, third)] == [True, False, True]
    assert [record.run for record in (first, second, third)] == [1, 2, 3]
    assert read(f"{text}\nfio: terminating on signal 2\n")[0][0].valid is None


def test_interim_reports_of_a_run_do_not_count() -> None:
    records = read_data("status-interval.txt")
    assert [record.valid for record in records] == [False, False, True]
    assert [record.run for record in records] == [1, 1, 1]
    assert [record.details.get("interim") for record in records] == [True, True, None]
    # two hosts that began together are two runs
    reports = [report(entry(elapsed=10, read=side(total_ios=n)), timestamp=1_600_000_000) for n in (1024, 1025)]
    assert [record.valid for record in whole("\n".join(reports))] == [True, True]


def test_clients_and_their_sum() -> None:
    first, second, summed = read_data("clients.txt")
    assert [(record.host, record.workers, record.valid) for record in (first, second, summed)] == [
        *[("127.0.0.1", 1, True)] * 2,
        ("127.0.0.1", 2, True),
    ]
    assert (summed.job, summed.details["sum_of"], summed.operation) == ("All clients", "clients", "random-read")
    assert "sum_of" not in first.details
    assert summed.throughput_bytes_per_s == 91180521


def client(host: str, name: str = "j") -> dict[str, Any]:
    return entry(jobname=name, hostname=host, port=8765, read=side())


def test_the_sum_of_several_hosts_is_of_none_of_them() -> None:
    text = report(client("a"), client("b"), client("b", "All clients")).replace('"jobs"', '"client_stats"')
    assert [record.host for record in read(text)[0]] == ["a", "b", None]


def clients(**second: Any) -> list[WorkloadRecord]:
    """Two clients, the second one changed, and their sum, which shows nothing of it."""
    summed = client("b", "All clients") | {"read": side(io_bytes=2 << 30, io_kbytes=2 << 20, total_ios=2048)}
    summed["read"] |= {"bw": 209714, "bw_bytes": 214748364, "iops": 204.8}
    text = report(client("a"), client("b") | second, summed).replace('"jobs"', '"client_stats"')
    return whole(text)


def test_a_sum_of_clients_is_at_most_as_valid_as_its_parts() -> None:
    """fio prints the error number 0 in the sum, whatever a client's is."""
    assert [record.valid for record in clients()] == [True, True, True]
    first, second, summed = clients(error=5)
    assert (first.valid, second.valid, summed.valid) == (True, False, False)
    (reason,) = summed.reasons
    assert (reason.code, reason.host) == ("tool-failed", "b")
    assert reason.message.startswith("client b, job j: fio ended the job with error 5")
    cut = {"rw": "read", "runtime": "60", "time_based": "1"}
    summed = clients(**{"job options": cut})[-1]
    assert (summed.valid, summed.reasons[0].host) == (False, "b")
    assert "expected 60 s, found 10 s" in summed.reasons[0].message
    summed = clients(**{"job options": {"rw": "read", "size": "8g", "bs": "1m"}})[-1]
    assert (summed.valid, summed.reasons[0].message.startswith("client b, job j: the run was inter")) == (False, True)


def test_a_sum_of_clients_of_which_one_cannot_be_judged() -> None:
    assert clients(error="unknown")[-1].valid is None
    summed = clients(read={})[-1]
    assert (summed.valid, "it did nothing" in summed.reasons[0].message) == (None, True)
    (alone,), _ = read(report(client("b", "All clients")).replace('"jobs"', '"client_stats"'))
    assert (alone.valid, "are not in the file" in alone.reasons[0].message) == (None, True)
    # the sum may stand first
    text = report(client("b", "All clients"), client("a") | {"error": 5}).replace('"jobs"', '"client_stats"')
    assert [(r.job, r.valid) for r in read(text)[0]] == [("j", False), ("All clients", False)]


def test_a_failed_direction_of_a_client_is_not_the_other_direction_of_the_sum() -> None:
    options = {"job options": {"rw": "rw", "size": "1g", "rwmixread": "99"}}
    found = clients(**options)
    assert [(record.job, record.label, record.valid) for record in found][-1] == ("All clients", "read", True)
    assert ("j", "write", False) in [(record.job, record.label, record.valid) for record in found]


def test_each_client_has_its_own_global_options() -> None:
    given = [{"hostname": "a", "port": 8765, "bs": "4k"}, {"hostname": "b", "port": 8765, "bs": "8k"}]
    text = report(client("a"), client("b"), **{"global options": given}).replace('"jobs"', '"client_stats"')
    assert [record.record_size_bytes for record in read(text)[0]] == [4096, 8192]


def test_global_options_of_clients_that_differ_belong_to_no_one() -> None:
    text = report(client("a"), client("b")).replace('"jobs"', '"client_stats"')
    text = text.replace(
        '"global options": {}', '"global options": {"bs": "4k", "size": "1g", "bs": "8k", "size": "1g"}'
    )
    for record in read(text)[0]:
        assert (record.record_size_bytes, record.file_size_bytes) == (None, 1 << 30)


def test_group_reporting_sums_the_jobs_of_a_section() -> None:
    # its command line said --group_reporting without a value, and fio then does not write it down
    assert [record.workers for record in read_data("group-jsonplus.json")] == [3, 3]
    assert [record.workers for record in read_data("normal-json.txt")] == [1, 1]
    options = {"rw": "read", "numjobs": "4", "group_reporting": "1"}
    assert one(report(entry(options, read=side()))).workers == 4
    assert one(report(entry(options, read=side(), job_runtime=160_000))).workers is None


def test_unified_reporting() -> None:
    (mixed,) = read_data("unified-mixed.json")
    assert (mixed.operation, mixed.label, mixed.valid) == ("mixed", "mixed", True)
    assert "sum_of" not in mixed.details
    reads, writes, both = read_data("unified-both.json")
    assert [record.label for record in (reads, writes, both)] == ["read", "write", "mixed"]
    assert both.details["sum_of"] == "directions"


def test_engines_that_work_on_files() -> None:
    (record,) = read_data("filecreate.json")
    assert (record.operation, record.files_per_s, record.throughput_bytes_per_s) == ("create", 20000, None)


def test_the_padding_of_percentiles_is_no_value() -> None:
    text = report(entry(read=side())).replace('"50.000000"', '"0.00": 0, "0.00": 0, "50.000000"')
    record = one(text)
    assert (record.valid, record.latency_p50_s) == (True, pytest.approx(18e-6))
    assert set(record.details["latency_percentiles_s"]) == {"50", "99"}


def test_a_direction_that_stands_twice_is_kept_apart() -> None:
    text = report(entry(read=side(), write=side(iops=102.5))).replace('"write"', '"read"')
    records = whole(text)
    assert [record.operations_per_s for record in records] == [102.4, 102.5]
    assert [record.valid for record in records] == [None, None]
    assert "several times" in records[0].reasons[0].message


@pytest.mark.parametrize(
    ("once", "twice", "valid", "rate"),
    [
        ('"iops": 102.4', '"iops": 102.4, "iops": 102.5', None, None),
        ('"iops": 102.4', '"iops": 102.4, "iops": 102.4', True, 102.4),
        ('"error": 0', '"error": 0, "error": 5', False, 102.4),
        ('"error": 0', '"no error": 0', None, 102.4),
        # up to 2.1 the second key should have been first_error
        ('"error": 0', '"error": 0, "total_err": 7, "total_err": 5', False, 102.4),
        ('"error": 0', '"error": 0, "total_err": 0, "total_err": 0', True, 102.4),
    ],
)
def test_a_value_that_stands_twice(once: str, twice: str, valid: bool | None, rate: float | None) -> None:
    record = one(report(entry({"rw": "read"}, read=side())).replace(once, twice))
    assert (record.valid, record.operations_per_s) == (valid, rate)


def test_options_that_stand_twice_are_kept() -> None:
    options = '{"filename": "a", "filename": "b", "size": "2g", "rw": "read", "rw": "randread"}'
    text = report(entry({"x": "y"}, read=side(io_bytes=2 << 30, bw_bytes=2 * 107374182, bw=209715)))
    record = one(text.replace(json.dumps({"x": "y"}, indent=2).replace("\n", "\n      "), options))
    assert record.details["options"]["filename"] == ["a", "b"]
    assert (record.file_size_bytes, record.operation) == (1 << 30, "random-read")


def test_strings_that_old_releases_did_not_escape() -> None:
    text = report(entry({"filename": "NAME", "rw": "read"}, read=side())).replace("NAME", "C\\:\\x\ty")
    assert one(text).details["options"]["filename"] == "C\\:\\x y"


@pytest.mark.parametrize("word", ["-nan", "NaN", "Infinity", "-1.#IND00", "-nan(ind)"])
def test_no_number_becomes_no_value(word: str) -> None:
    record = one(report(entry(read=side())).replace("102.4", word).replace('"stddev": 1.0', f'"stddev": {word}'))
    assert (record.operations_per_s, record.valid) == (None, None)
    assert "latency_stddev_s" not in record.details


@pytest.mark.parametrize(
    "value", ["-1", "1e999", "18446744073709551615", '"many"', "null", "[]", "true", '"10000"', "9" * 10_000]
)
def test_what_fio_cannot_have_measured_is_no_value(value: str) -> None:
    records, error = read(report(entry(read=side())).replace('"runtime": 10000', f'"runtime": {value}'))
    assert (error is None) == (len(value) < 1000)
    wanted = (10, True) if value == '"10000"' else (None, None)
    assert [(record.elapsed_s, record.valid) for record in records] == ([] if error else [wanted])


def test_numbers_of_thousands_of_digits_are_damage() -> None:
    records, _ = damaged(report(entry(read=side())).replace('"iops": 102.4', '"iops": ' + "9" * 10_000))
    assert records == []


def test_what_does_not_fit_together_is_not_judged() -> None:
    record = one(report(entry(read=side(bw_bytes=1_000_000, bw=976))))
    assert record.valid is None
    assert "107374182 bytes/s" in record.reasons[0].message


def test_text_around_and_between_reports() -> None:
    text = report(entry(read=side()))
    wrapped = f'$ fio x.fio {{\nnote: "half a quote\nfio: a warning {{\n```\n{text}\n```\n{text} trailing }} ]\n'
    records = whole(wrapped)
    assert [(record.run, record.source.line) for record in records] == [(1, 5), (2, 5 + text.count("\n") + 2)]


def test_reports_within_other_json() -> None:
    inner = json.loads(report(entry(read=side())))
    for outer in ([inner, inner], {"jobs": [{"out": inner}, {"out": inner}], "fio": {}}):
        assert [record.run for record in read(json.dumps(outer))[0]] == [1, 2]


@pytest.mark.parametrize(
    "change",
    [
        lambda text: "\n".join(f">> {line}" for line in text.split("\n")),
        lambda text: "\n".join(f"    {line}" for line in text.split("\n")),
        lambda text: text.replace("  ", "\t"),
        lambda text: text.replace("\n", "\r\n"),
        lambda text: text.encode("utf-16"),
        lambda text: json.dumps(json.loads(text), sort_keys=True),
    ],
)
def test_quotes_encodings_and_the_order_of_keys_change_nothing(change: Callable[[str], str | bytes]) -> None:
    records = whole(change(report(entry(read=side()))))
    assert [(record.valid, record.tool_version) for record in records] == [(True, "3.33")]


def test_hosts_in_front_of_lines() -> None:
    lines = report(entry(read=side())).split("\n")
    mixed = [f"{host}: {line}" for line in ["fio: terminating on signal 2", *lines] for host in ("n1", "n2")]
    records = whole("\n".join(mixed[1:]))
    assert [(record.host, record.run, record.valid) for record in records] == [("n2", 1, False), ("n1", 1, True)]
    assert [record.source.line for record in records] == [3, 2]


def test_the_disks_stand_with_the_first_job_only() -> None:
    text = report(entry(read=side()), entry(read=side()), disk_util=[{"name": "sda", "util": 99.5}])
    assert [record.details.get("disk_util") for record in read(text)[0]] == [[{"name": "sda", "util": 99.5}], None]


def test_the_whole_jobs_of_a_report_that_was_cut_off_are_kept() -> None:
    text = report(entry(jobname="a", read=side()), entry(jobname="b", read=side()))
    records, error = damaged(text[: text.index('"b"') + 200])
    assert [record.job for record in records] == ["a"]
    assert error.line is not None
    assert "end" in error.message


def test_damage_in_the_middle_keeps_what_stands_before_and_after() -> None:
    text = report(entry(jobname="a", read=side()), entry(jobname="b", read=side(iops="HERE")))
    records, error = damaged(text.replace('"HERE"', "10 20") + "\n" + report(entry(jobname="c", read=side())))
    assert [record.job for record in records] == ["a", "c"]
    assert error.line == text[: text.index("HERE")].count("\n") + 1


def test_the_number_of_workers_is_open_when_entries_may_be_missing() -> None:
    jobs = [entry({"rw": "read", "numjobs": "2"}, read=side()) for _ in range(2)]
    text = report(*jobs)
    assert [record.workers for record in read(text)[0]] == [1, 1]
    assert [record.workers for record in read(text[: len(text) * 3 // 4])[0]] == [None]


@pytest.mark.parametrize("name", WHOLE)
def test_no_cut_is_taken_for_a_whole_report(name: str) -> None:
    text = (DATA / name).read_text()
    whole = [(r.job, r.label, r.throughput_bytes_per_s, r.valid) for r in read(text)[0]]
    end = text.rindex("}\n") if name != "normal-json.txt" else text.index("\n}\n") + 1
    for place in range(0, end, 97):
        if not text[:place].strip():
            continue
        records, error = read(text[:place])
        assert error is not None
        assert [(r.job, r.label, r.throughput_bytes_per_s, r.valid) for r in records] == whole[: len(records)]


@pytest.mark.parametrize(
    ("text", "line", "advice"),
    [
        ((DATA / "normal.txt").read_text(), 3, "--output-format=json"),
        ((DATA / "terse.txt").read_text(), 1, "--output-format=json"),
        ("nothing of fio", 1, "--output-format=json"),
        (report(), 1, "did I/O"),
        (report(entry({"ioengine": "cpuio"})), 1, "did I/O"),
    ],
)
def test_no_result_is_refused(text: str, line: int, advice: str) -> None:
    records, error = damaged(text)
    assert records == []
    assert error.line == line
    assert advice in error.message


@pytest.mark.parametrize(
    "text",
    [
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
    ids=range(10),
)
def test_hostile_text_is_refused_in_time(text: str) -> None:
    with no_hang():
        records, _ = damaged(text)
    assert not any(record.valid for record in records)
