"""The reader of iperf3: both directions, both sides, UDP, streams of events, and documents that are no result."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from glusterlab.errors import ParseError
from glusterlab.tools import Document, Record, read, recognise
from glusterlab.tools.records import WorkerRecord, WorkloadRecord

DATA = Path(__file__).parents[1] / "data" / "iperf3"
TCP = (DATA / "tcp-two-streams.json").read_text()


def document(text: str | bytes) -> Document:
    return Document(Path("net.json"), text if isinstance(text, bytes) else text.encode()).checked()


def runs(text: str | bytes) -> list[WorkloadRecord]:
    return [record for record in read(document(text)) if isinstance(record, WorkloadRecord)]


def workers(text: str | bytes) -> list[WorkerRecord]:
    return [record for record in read(document(text)) if isinstance(record, WorkerRecord)]


def messages(record: WorkloadRecord) -> str:
    return " | ".join(str(reason) for reason in record.reasons)


def until_error(text: str | bytes) -> tuple[list[Record], str]:
    found: list[Record] = []
    with pytest.raises(ParseError) as caught:
        found.extend(read(document(text), "iperf3"))
    return found, caught.value.message


def report(**changed: Any) -> dict[str, Any]:
    """Made by hand after the format of 3.0 and 3.1: seconds and bytes of 10 s at 8 Gbit/s."""
    counts = {"start": 0, "end": 10.0, "seconds": 10.0, "bytes": 10_000_000_000, "bits_per_second": 8e9}
    end = {
        "streams": [{"sender": {"socket": 4, **counts, "retransmits": 3}, "receiver": {"socket": 4, **counts}}],
        "sum_sent": {**counts, "retransmits": 3},
        "sum_received": dict(counts),
        "cpu_utilization_percent": {"host_total": 40.5, "remote_total": 20.25},
    }
    start = {
        "connected": [
            {"socket": 4, "local_host": "10.0.0.1", "local_port": 1, "remote_host": "10.0.0.2", "remote_port": 2}
        ],
        "version": "iperf 3.0.11",
        "connecting_to": {"host": "server01", "port": 5201},
        "test_start": {"protocol": "TCP", "num_streams": 1, "blksize": 131072, "omit": 0, "duration": 10, "reverse": 0},
    }
    return {"start": start, "intervals": [], "end": end, **changed}


def test_tcp_of_two_streams() -> None:
    sent, received = runs(TCP)
    data = json.loads(TCP)["end"]
    assert recognise(document(TCP)) == "iperf3"
    assert (sent.operation, sent.label, sent.workers, sent.tool_version) == ("send", "sum_sent", 2, "3.12")
    assert sent.throughput_bytes_per_s == data["sum_sent"]["bits_per_second"] / 8
    assert received.throughput_bytes_per_s == data["sum_received"]["bits_per_second"] / 8
    assert (sent.valid, received.valid, sent.run, received.run) == (True, True, 1, 1)
    assert (sent.details["retransmits"], "retransmits" in received.details) == (15, False)
    assert sent.details["cpu_host_total_percent"] == data["cpu_utilization_percent"]["host_total"]
    assert sent.record_size_bytes == 131072
    rows = workers(TCP)
    expected = [(operation, *worker) for operation in ("send", "receive") for worker in ((1, "5"), (2, "7"))]
    assert [(row.operation, row.worker, row.label) for row in rows] == expected
    assert sum(row.bytes or 0 for row in rows[:2]) == sent.details["bytes"]


def test_version_3_0() -> None:
    sent, received = runs(json.dumps(report()))
    assert (sent.tool_version, sent.throughput_bytes_per_s, received.throughput_bytes_per_s) == ("3.0.11", 1e9, 1e9)
    assert (sent.details["local_host"], sent.details["remote_host"]) == ("10.0.0.1", "server01")
    assert (sent.details["side"], sent.details["direction"]) == ("client", "client to server")


def test_directions() -> None:
    sent, received = runs((DATA / "tcp-reverse.json").read_text())
    assert {sent.details["direction"], received.details["direction"]} == {"server to client"}
    found = runs((DATA / "tcp-bidir.json").read_text())
    ways = ("client to server", "server to client")
    expected = [(operation, way) for way in ways for operation in ("send", "receive")]
    assert [(run.operation, run.details["direction"]) for run in found] == expected
    assert all(run.valid for run in found)
    rows = workers((DATA / "tcp-bidir.json").read_text())
    assert [row.label for row in rows] == ["5", "5", "7", "7"]
    rates = [row.throughput_bytes_per_s for row in rows[::2]]
    assert rates == [run.throughput_bytes_per_s for run in found[::2]]


def test_a_server_does_not_know_what_was_sent() -> None:
    (received,) = runs((DATA / "server.json").read_text())
    assert (received.operation, received.valid, received.details["side"]) == ("receive", True, "server")


def test_udp() -> None:
    text = (DATA / "udp.json").read_text()
    sent, received = runs(text)
    assert (sent.valid, received.valid) == (True, True)
    assert received.details["jitter_s"] == pytest.approx(1.72e-5, rel=0.01)
    assert (received.details["packets"], received.details["lost_percent"]) == (191, 0)
    assert sent.details["target_bits_per_s"] == 50_000_000
    assert [(row.operation, row.label) for row in workers(text)] == [("send", "5")]


@pytest.mark.parametrize(("reverse", "operation"), [(0, "send"), (1, "receive")])
def test_udp_of_old_versions_has_one_sum(reverse: int, operation: str) -> None:
    data = report()
    counts = {"seconds": 10.0, "bytes": 10_000_000_000, "bits_per_second": 8e9, "jitter_ms": 0.5, "lost_percent": 1.5}
    data["end"] = {"streams": [{"udp": {"socket": 4, **counts}}], "sum": counts}
    data["start"]["test_start"] |= {"protocol": "UDP", "reverse": reverse}
    (run,) = runs(json.dumps(data))
    assert (run.operation, run.valid, run.throughput_bytes_per_s) == (operation, True, 1e9)
    assert (run.details["jitter_s"], run.details["lost_percent"]) == (0.0005, 1.5)
    assert len(workers(json.dumps(data))) == 1


def test_a_title_is_the_job() -> None:
    assert [run.job for run in runs(json.dumps(report(title="c1 to s1")))] == ["c1 to s1"] * 2


def test_several_documents_with_text_around() -> None:
    udp = (DATA / "udp.json").read_text()
    text = f"$ iperf3 -c s1 -J\n{TCP}\n$ iperf3 -u -J [again]\n{udp}{udp}done {{ok}}\n"
    found = runs(text)
    assert [(run.run, run.operation) for run in found] == [(n, way) for n in (1, 2, 3) for way in ("send", "receive")]
    assert found[0].source.line == 2
    assert len(runs(json.dumps([report(), report()]))) == 4


def stream(data: dict[str, Any]) -> str:
    events = [("start", data["start"]), ("interval", {"sum": {}}), ("end", data["end"])]
    return "".join(json.dumps({"event": name, "data": value}) + "\n" for name, value in events)


def test_a_stream_of_events() -> None:
    text = stream(report())
    assert [run.throughput_bytes_per_s for run in runs(text * 2)] == [1e9] * 4
    assert [run.run for run in runs(text * 2)] == [1, 1, 2, 2]
    first, second, _ = text.splitlines(keepends=True)
    found, error = until_error(text + first + second)
    assert len([record for record in found if record.kind == "workload"]) == 2
    assert "event 'end'" in error
    (run,) = runs(first + json.dumps({"event": "error", "data": "interrupt - the client has terminated"}))
    assert run.valid is False


def test_what_the_server_said_is_not_counted_twice() -> None:
    assert len(runs(json.dumps(report(server_output_json=report())))) == 2


@pytest.mark.parametrize("name", ["refused", "interrupted"])
def test_errors(name: str) -> None:
    text = (DATA / f"{name}.json").read_text()
    (run,) = runs(text)
    assert (run.valid, run.reasons[0].code) == (False, "tool-failed")
    assert json.loads(text)["error"] in messages(run)
    assert (run.throughput_bytes_per_s is None) is (name == "refused")
    assert not any(row.valid for row in workers(text))


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"seconds": 5.0, "bytes": 5_000_000_000}, "expected 10 s, found 5 s"),
        ({"bytes": 0, "bits_per_second": 0}, "nothing was transferred"),
        ({"bits_per_second": 9e9}, "are not 9e+09 bit/s"),
    ],
)
def test_sums_that_are_no_result(changed: dict[str, Any], message: str) -> None:
    data = report()
    for name in ("sum_sent", "sum_received"):
        data["end"][name] |= changed
    for run in runs(json.dumps(data)):
        assert run.valid is False
        assert message in messages(run)
        assert run.throughput_bytes_per_s != 0


@pytest.mark.parametrize(("test_start", "valid"), [({"num_streams": 2, "duration": 10}, False), (None, None)])
def test_a_lost_stream_is_no_result_and_without_parameters_it_cannot_be_judged(
    test_start: dict[str, Any] | None, valid: bool | None
) -> None:
    data = report()
    data["start"]["test_start"] = test_start
    assert {run.valid for run in runs(json.dumps(data))} == {valid}


@pytest.mark.parametrize("value", ["nan", "-nan", "inf", "NaN", "-Infinity", "-1", "1e999", '"8e9"', "true"])
def test_what_is_no_number_is_no_value(value: str) -> None:
    text = json.dumps(report()).replace("8000000000.0", value)
    for run in runs(text):
        if value != '"8e9"':
            assert (run.valid, run.throughput_bytes_per_s) == (False, None)


@pytest.mark.parametrize("path", sorted(DATA.glob("*.json")), ids=lambda path: path.stem)
def test_a_cut_document_is_an_error(path: Path) -> None:
    data = path.read_bytes().rstrip()
    for size in range(1, len(data), 5):
        assert until_error(data[:size])[0] == []


def test_a_cut_document_leaves_those_before_it() -> None:
    found, error = until_error(TCP + TCP[:900])
    assert len([record for record in found if record.kind == "workload"]) == 2
    assert "found its end" in error


@pytest.mark.parametrize(
    "text",
    [
        *("hello\n", "{}", '{"start": 3, "end": {}}', '{"start": {}, "end": {}}', "[" * 100_000, '{"event": 3}'),
        json.dumps(report()).replace("8000000000.0", "9" * 5000),
    ],
)
def test_what_is_no_result(text: str) -> None:
    until_error(text)


@pytest.mark.parametrize("place", ["start", "end", "intervals"])
@pytest.mark.parametrize(
    "value", [3, None, [], "x", {"streams": [3, {"sender": 4}], "sum_sent": {"bytes": "x"}, "connected": [1]}]
)
def test_hostile_shapes(place: str, value: object) -> None:
    with suppress(ParseError):
        assert runs(json.dumps(report(**{place: value})))
