"""fio's JSON: units by release, clients and their sum, doubled keys, runs that were interrupted, and damage."""

import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from glusterlab.tools.fio import records as fio
from glusterlab.tools.records import WorkloadRecord
from tests.tools import reading
from tests.tools.reading import document

DATA = Path(__file__).parents[1] / "data" / "fio"
whole, damaged, read = (partial(each, tool="fio") for each in (reading.runs, reading.damaged, reading.workloads))


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


def test_recognition() -> None:
    for text in ('{"jobs": [1, 2]}', '{"jobs": [{"name": "deploy"}]}', '{"fio": 1}', "a fio of text"):
        assert fio.recognise(document(text)) == 0
    text = json.dumps({"jobs": [entry(read=side(new=False))]})
    assert 0 < fio.recognise(document(text)) < 0.9
    assert one(text).tool_version is None


@pytest.mark.parametrize("new", [True, False])
def test_release_3_writes_bytes_and_nanoseconds_and_2_kib_and_microseconds(new: bool) -> None:
    # whatever kb_base says
    options = {"rw": "randread", "bs": "1m" if new else "1mi", "size": "1g", "kb_base": "1024" if new else "1000"}
    record = one(report(entry(options, read=side(new=new)), version="fio-3.33" if new else "fio-2.2.10"))
    assert (record.job, record.operation, record.label, record.workers) == ("j", "random-read", "read", 1)
    assert (record.tool_version, record.throughput_bytes_per_s, record.file_size_bytes) == (
        ("3.33", 107374182, 1 << 30) if new else ("2.2.10", 104857 * 1024, 10**9)
    )
    assert (record.operations_per_s, record.elapsed_s, record.record_size_bytes) == (102.4, 10, 1 << 20)
    assert (record.latency_mean_s, record.latency_p50_s, record.latency_p99_s) == pytest.approx((20e-6, 18e-6, 80e-6))
    assert record.details["io_bytes"] == 1 << 30
    means = [record.details[f"{name}_latency_mean_s"] for name in ("total", "submission")]
    assert means == pytest.approx([22e-6, 2e-6])
    assert (record.valid, record.reasons, record.percent_done) == (True, (), None)


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
    reads, writes = whole(report(entry({"rw": "rw"}, read=side())))
    assert [(r.label, r.valid) for r in (reads, writes)] == [("read", True), ("write", False)]
    assert (writes.throughput_bytes_per_s, writes.operations_per_s) == (None, None)
    assert [reason.code for reason in writes.reasons] == ["tool-failed"]


def test_an_error_is_never_valid_and_a_failure_never_0() -> None:
    for entries in (entry({"rw": "write"}, error=5), entry(error=5)):
        record = one(report(entries))
        assert (record.valid, record.throughput_bytes_per_s) == (False, None)
        assert "Input/output error" in record.reasons[0].message
    (record,) = read_data("create-only.json")
    assert (record.operation, record.valid, record.throughput_bytes_per_s) == ("random-read", False, None)
    (record,) = read_data("full-disk.txt")
    assert (record.valid, record.reasons[0].code, record.source.line) == (False, "disk-full", 3)
    for record in read_data("sigint.txt"):
        assert (record.valid, record.details["interrupted"], record.source.line) == (False, True, 3)
        assert "signal 2" in record.reasons[0].message


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
    found = [(record.host, record.workers, record.valid) for record in (first, second, summed)]
    assert found == [("127.0.0.1", workers, True) for workers in (1, 1, 2)]
    assert (summed.job, summed.details["sum_of"], summed.operation) == ("All clients", "clients", "random-read")
    assert "sum_of" not in first.details
    assert summed.throughput_bytes_per_s == 91180521


def client(host: str, name: str = "j") -> dict[str, Any]:
    return entry(jobname=name, hostname=host, port=8765, read=side())


@pytest.mark.parametrize(
    ("options", "sizes"),
    [
        # each client has its own, and those that differ and are of no client are nobody's
        ([{"hostname": host, "port": 8765, "bs": bs} for host, bs in (("a", "4k"), ("b", "8k"))], [4096, 8192, 8192]),
        ({"bs": "4k", "bs ": "8k"}, [None, None, None]),
    ],
)
def test_hosts_and_global_options_of_clients(options: Any, sizes: list[int | None]) -> None:
    text = report(client("a"), client("b"), client("b", "All clients"), **{"global options": options})
    found = whole(text.replace('"jobs"', '"client_stats"').replace('"bs "', '"bs"'))
    assert [record.host for record in found] == ["a", "b", None]
    assert [record.record_size_bytes for record in found] == sizes


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


def test_group_reporting_sums_the_jobs_of_a_section() -> None:
    # its command line said --group_reporting without a value, and fio then does not write it down
    assert [record.workers for record in read_data("group-jsonplus.json")] == [3, 3]
    assert [record.workers for record in read_data("normal-json.txt")] == [1, 1]
    options = {"rw": "read", "numjobs": "4", "group_reporting": "1"}
    assert one(report(entry(options, read=side()))).workers == 4
    assert one(report(entry(options, read=side(), job_runtime=160_000))).workers is None


def test_unified_reporting_and_engines_that_work_on_files() -> None:
    (mixed,) = read_data("unified-mixed.json")
    assert (mixed.operation, mixed.label, mixed.valid) == ("mixed", "mixed", True)
    assert "sum_of" not in mixed.details
    *_, both = found = read_data("unified-both.json")
    assert [record.label for record in found] == ["read", "write", "mixed"]
    assert both.details["sum_of"] == "directions"
    (files,) = read_data("filecreate.json")
    assert (files.operation, files.files_per_s, files.throughput_bytes_per_s) == ("create", 20000, None)


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
        ('"50.000000"', '"0.00": 0, "0.00": 0, "50.000000"', True, 102.4),  # padding of percentiles
        ('"bw_bytes": 107374182', '"bw_bytes": 1000000', None, 102.4),  # does not fit the bytes and the time
    ],
)
def test_a_value_that_stands_twice(once: str, twice: str, valid: bool | None, rate: float | None) -> None:
    record = one(report(entry({"rw": "read"}, read=side())).replace(once, twice))
    assert (record.valid, record.operations_per_s) == (valid, rate)
    assert set(record.details["latency_percentiles_s"]) == {"50", "99"}


def test_options_that_stand_twice_are_kept() -> None:
    # and old releases did not escape strings
    options = '{"filename": "a", "filename": "C\\:\\x\ty", "size": "2g", "rw": "read", "rw": "randread"}'
    text = report(entry({"x": "y"}, read=side(io_bytes=2 << 30, bw_bytes=2 * 107374182, bw=209715)))
    record = one(text.replace(json.dumps({"x": "y"}, indent=2).replace("\n", "\n      "), options))
    assert record.details["options"]["filename"] == ["a", "C\\:\\x y"]
    assert (record.file_size_bytes, record.operation) == (1 << 30, "random-read")


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


def test_reports_within_text_and_other_json() -> None:
    text = report(entry(read=side()))
    wrapped = f'$ fio x.fio {{\nnote: "half a quote\nfio: a warning {{\n```\n{text}\n```\n{text} trailing }} ]\n'
    lines = [(record.run, record.source.line) for record in whole(wrapped)]
    assert lines == [(1, 5), (2, 5 + text.count("\n") + 2)]
    inner = json.loads(text)
    for outer in ([inner, inner], {"jobs": [{"out": inner}, {"out": inner}], "fio": {}}):
        assert [record.run for record in whole(json.dumps(outer))] == [1, 2]


def test_hosts_in_front_of_lines() -> None:
    lines = report(entry(read=side())).split("\n")
    mixed = [f"{host}: {line}" for line in ["fio: terminating on signal 2", *lines] for host in ("n1", "n2")]
    records = whole("\n".join(mixed[1:]))
    assert [(record.host, record.run, record.valid) for record in records] == [("n2", 1, False), ("n1", 1, True)]
    assert [record.source.line for record in records] == [3, 2]


def test_the_disks_stand_with_the_first_job_only() -> None:
    text = report(entry(read=side()), entry(read=side()), disk_util=[{"name": "sda", "util": 99.5}])
    assert [record.details.get("disk_util") for record in read(text)[0]] == [[{"name": "sda", "util": 99.5}], None]


def test_the_whole_jobs_of_a_report_that_was_cut_off_or_damaged_are_kept() -> None:
    text = report(entry(jobname="a", read=side()), entry(jobname="b", read=side(iops="HERE")))
    records, error = damaged(text[: text.index('"b"') + 200])
    assert ([record.job for record in records], "end" in error.message) == (["a"], True)
    assert error.line is not None
    records, error = damaged(text.replace('"HERE"', "10 20") + "\n" + report(entry(jobname="c", read=side())))
    assert [record.job for record in records] == ["a", "c"]
    assert error.line == text[: text.index("HERE")].count("\n") + 1
    # the number of workers is open when entries may be missing
    text = report(*[entry({"rw": "read", "numjobs": "2"}, read=side())] * 2)
    assert [record.workers for record in whole(text)] == [1, 1]
    assert [record.workers for record in damaged(text[: len(text) * 3 // 4])[0]] == [None]


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
