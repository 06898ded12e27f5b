"""fio's logs: what their names and columns say, single I/Os and windows, and damage."""

import gzip
from pathlib import Path

import pytest

from glusterlab.errors import ParseError
from glusterlab.parse import parse
from glusterlab.tools import Document, recognise
from glusterlab.tools.fio import logs
from glusterlab.tools.records import WorkloadRecord
from tests.tools.reading import document

DATA = Path(__file__).parents[1] / "data" / "fio" / "logs"


def read(name: str, text: str | None = None) -> list[WorkloadRecord]:
    return list(logs.read(Document.open(DATA / name) if text is None else document(text, name)))


def test_single_ios_have_exact_percentiles_and_rates() -> None:
    reads, writes = read("mix_clat.1.log")
    lines = [line.split(", ") for line in (DATA / "mix_clat.1.log").read_text().splitlines()]
    times = sorted(int(line[1]) for line in lines if line[2] == "0")
    assert (reads.operation, writes.operation, reads.job, reads.workers) == ("read", "write", "mix_clat.1", 1)
    assert (reads.latency_p50_s, reads.latency_p99_s) == (times[15] / 1e9, times[-1] / 1e9)
    assert reads.latency_mean_s == pytest.approx(sum(times) / 32e9)
    assert (reads.record_size_bytes, reads.elapsed_s, reads.source.line) == (16384, 0.312, 2)
    assert reads.operations_per_s == pytest.approx(32 / 0.312)
    assert reads.throughput_bytes_per_s == pytest.approx(32 * 16384 / 0.312)
    # no log says how its run ended
    assert (reads.valid, len(reads.reasons)) == (None, 1)
    assert [record.operations_per_s for record in read("mix_iops.1.log")] == [reads.operations_per_s] * 2


@pytest.mark.parametrize(
    ("name", "details"),
    [
        ("win_bw.1.log", {"throughput_samples_mean_bytes_per_s": pytest.approx(200 * 16384, rel=0.01)}),
        ("win_iops.1.log", {"operations_samples_mean_per_s": pytest.approx(200, rel=0.01)}),
        ("win_clat.1.log", {"window_latency_max_s": pytest.approx(1.57e-3, rel=0.01)}),
        # the second value is the maximum
        ("both_clat.1.log", {"window_latency_mean_s": 0.89711375e-3, "window_latency_max_s": 9.855033e-3}),
        ("both_iops.1.log", {"operations_samples_max_per_s": 204}),
    ],
)  # fmt: skip
def test_windows_are_no_calls(name: str, details: dict[str, float]) -> None:
    (record,) = read(name)
    assert record.details | details == record.details
    assert record.details["windows"] is True
    assert {record.latency_mean_s, record.latency_p99_s, record.operations_per_s, record.throughput_bytes_per_s} == {
        None
    }


def test_further_columns_and_kinds() -> None:
    (prio,), (offset,), (two,), (slat,) = map(
        read, ("prio_clat.1.log", "off_lat.1.log", "two_clat.log", "aio_slat.1.log")
    )
    assert (prio.record_size_bytes, offset.record_size_bytes, two.workers) == (4096, 65536, None)
    # times of whole ms make no rate of a few of them
    assert (offset.operations_per_s, offset.latency_p50_s) == (None, 6.888e-06)
    assert (slat.latency_mean_s, "submission_latency_mean_s" in slat.details) == (None, True)
    (old,) = read("x_lat.log", "1, 500, 2, 4096\n2000, 700, 2, 4096\n")
    assert (old.operation, old.latency_mean_s, len(old.reasons)) == ("trim", 600e-9, 2)
    # mean and maximum of windows with one or two I/Os
    (slow,) = read("x_iops.1.log", "1000, 1, 2, 1, 4096, 0\n2000, 1, 1, 1, 4096, 0\n")
    assert (slow.operation, slow.record_size_bytes) == ("write", 4096)
    (epoch,) = read("x_iops.1.log", "1790000000000, 1, 0, 512, 0\n1790000002000, 1, 0, 512, 0\n")
    assert (epoch.elapsed_s, epoch.operations_per_s) == (2, 1)


def test_a_call_that_took_longer_than_the_run_is_not_valid() -> None:
    (record,) = read("x_clat.1.log", "5, 90000000000, 0, 4096, 0\n900, 80, 0, 4096, 0\n")
    assert record.valid is False


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("0, 1, 0, 4096, 0\n1, 2, 0, 4096\n", 2),
        ("0, 1, 0, 4096, 0\n1, 2, 7, 4096, 0\n", 2),
        ("0, 1, 0, 4096, 0\n\n1, 2, 0, 4096, 0\n", 2),
        ("0, 1, 0, 4096, 0\n1, -2, 0, 4096, 0\n", 2),
        ("0, 1, 0, 0x10, 0\n", 1),
        ("0, 1, 5, 4096, 0\n", 1),
        ("0, 1, 0, 4096, 0\n1, 2, 0, 4096, 0", 2),
        ("0, 1, 0, 4096, 0\n1, 9999999999999999999, 0, 4096, 0\n", 2),
    ],
)
def test_damage_is_told_with_its_line(text: str, line: int) -> None:
    with pytest.raises(ParseError, match="expected") as raised:
        read("x_clat.1.log", text)
    assert raised.value.line == line


def test_the_name_says_what_a_log_is_of(tmp_path: Path) -> None:
    text = (DATA / "mix_clat.1.log").read_text()
    assert recognise(document(text, "mix_clat.1.log")) == recognise(document(text, "-")) == "fio"
    for name in ("latencies.txt", "mix_clat_hist.1.log"):
        with pytest.raises(ParseError, match="expected a name that says what fio logged") as raised:
            read(name, text)
        assert raised.value.line == 1
    packed = tmp_path / "mix_lat.1.log.gz"
    packed.write_bytes(gzip.compress(text.encode()))
    assert [record.details["log"] for record in parse(packed) if isinstance(record, WorkloadRecord)] == ["lat", "lat"]
    assert logs.recognise(document("1, 2\n", "x_lat.1.log")) == 0
