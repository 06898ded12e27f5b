"""The reader of iperf3: both directions, both sides, UDP, streams of events, and documents that are no result."""

import json
from pathlib import Path
from typing import Any

import pytest

from glusterlab.tools import recognise
from tests.tools.reading import damaged, document, messages, runs, until_error, workers

DATA = Path(__file__).parents[1] / "data" / "iperf3"
TCP = (DATA / "tcp-two-streams.json").read_text()
SIDES = (("client", "server"), ("server", "client"))


def report(**changed: Any) -> dict[str, Any]:
    """Made by hand after the format of 3.0 and 3.1: seconds and bytes of 10 s at 8 Gbit/s."""
    counts = {"start": 0, "end": 10.0, "seconds": 10.0, "bytes": 10_000_000_000, "bits_per_second": 8e9}
    end = {
        "streams": [{"sender": {"socket": 4, **counts, "retransmits": 3}, "receiver": {"socket": 4, **counts}}],
        "sum_sent": {**counts, "retransmits": 3},
        "sum_received": dict(counts),
        "cpu_utilization_percent": {"host_total": 40.5, "remote_total": 20.25},
    }
    hosts = {"local_host": "10.0.0.1", "local_port": 1, "remote_host": "10.0.0.2", "remote_port": 2}
    start = {
        "connected": [{"socket": 4, **hosts}],
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


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("tcp-reverse", [("send", "server to client"), ("receive", "server to client")]),
        ("tcp-bidir", [(way, f"{side} to {other}") for side, other in SIDES for way in ("send", "receive")]),
        # a server does not know what was sent
        ("server", [("receive", "client to server")]),
    ],
)
def test_directions(name: str, expected: list[tuple[str, str]]) -> None:
    text = (DATA / f"{name}.json").read_text()
    found = runs(text)
    assert [(run.operation, run.details["direction"]) for run in found] == expected
    assert all(run.valid for run in found)
    assert {run.details["side"] for run in found} == {"server" if name == "server" else "client"}
    if name == "tcp-bidir":
        rows = workers(text)
        assert [row.label for row in rows] == ["5", "5", "7", "7"]
        assert [row.throughput_bytes_per_s for row in rows] == [run.throughput_bytes_per_s for run in found]


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


def test_version_3_0() -> None:
    sent, received = runs(json.dumps(report(title="c1 to s1", server_output_json=report())))
    assert (sent.tool_version, sent.throughput_bytes_per_s, received.throughput_bytes_per_s) == ("3.0.11", 1e9, 1e9)
    assert (sent.details["local_host"], sent.details["remote_host"]) == ("10.0.0.1", "server01")
    assert (sent.details["side"], sent.details["direction"]) == ("client", "client to server")
    assert [sent.job, received.job] == ["c1 to s1"] * 2


def test_several_documents_with_text_around() -> None:
    udp = (DATA / "udp.json").read_text()
    text = f"$ iperf3 -c s1 -J\n{TCP}\n$ iperf3 -u -J [again]\n{udp}{udp}done {{ok}}\n"
    found = runs(text)
    assert [(run.run, run.operation) for run in found] == [(n, way) for n in (1, 2, 3) for way in ("send", "receive")]
    assert found[0].source.line == 2
    assert len(runs(json.dumps([report(), report()]))) == 4
    kept, error = damaged(TCP + TCP[:900])
    assert (len(kept), "found its end" in error.message) == (2, True)


def stream(data: dict[str, Any]) -> str:
    events = [("start", data["start"]), ("interval", {"sum": {}}), ("end", data["end"])]
    return "".join(json.dumps({"event": name, "data": value}) + "\n" for name, value in events)


def test_a_stream_of_events() -> None:
    text = stream(report())
    assert [(run.run, run.throughput_bytes_per_s) for run in runs(text * 2)] == [(1, 1e9)] * 2 + [(2, 1e9)] * 2
    first, second, _ = text.splitlines(keepends=True)
    found, error = damaged(text + first + second)
    assert (len(found), "event 'end'" in error.message) == (2, True)
    (run,) = runs(first + json.dumps({"event": "error", "data": "interrupt - the client has terminated"}))
    assert run.valid is False


@pytest.mark.parametrize("name", ["refused", "interrupted"])
def test_errors(name: str) -> None:
    text = (DATA / f"{name}.json").read_text()
    (run,) = runs(text)
    assert (run.valid, run.reasons[0].code) == (False, "tool-failed")
    assert json.loads(text)["error"] in messages(run)
    assert (run.throughput_bytes_per_s is None) is (name == "refused")
    assert not any(row.valid for row in workers(text))


ASKED = report()["start"]["test_start"]


@pytest.mark.parametrize(
    ("sums", "test_start", "valid", "message"),
    [
        ({"end": 5.0, "seconds": 5.0, "bytes": 5_000_000_000}, ASKED, False, "expected 10 s, found 5 s"),
        ({"bytes": 0, "bits_per_second": 0}, ASKED, False, "nothing was transferred"),
        ({"bits_per_second": 9e9}, ASKED, False, "are not 9e+09 bit/s"),
        # a stream was lost, or nothing says how many there were
        ({}, {"num_streams": 2, "duration": 10}, False, ""),
        ({}, None, None, ""),
    ],
)
def test_sums_that_are_no_result(
    sums: dict[str, Any], test_start: dict[str, Any] | None, valid: bool | None, message: str
) -> None:
    data = report()
    data["start"]["test_start"] = test_start
    for name in ("sum_sent", "sum_received"):
        data["end"][name] |= sums
    for run in runs(json.dumps(data)):
        assert run.valid is valid
        assert message in messages(run)
        assert run.throughput_bytes_per_s != 0


def test_a_receiver_on_a_slow_link_needs_longer() -> None:
    """Its stream's `seconds` are the sender's then, as iperf3 3.12 has them; its rate is of its own time."""
    data = report()
    slow = {"end": 12.5, "bits_per_second": 6.4e9}
    data["end"]["sum_received"] |= slow | {"seconds": 12.5}
    data["end"]["streams"][0]["receiver"] |= slow
    _, received = runs(json.dumps(data))
    assert (received.valid, received.elapsed_s) == (True, 12.5)
    assert [row.elapsed_s for row in workers(json.dumps(data)) if row.valid] == [10.0, 12.5]


@pytest.mark.parametrize("value", ["nan", "-nan", "inf", "NaN", "-Infinity", "-1", "1e999", '"8e9"', "true"])
def test_what_is_no_number_is_no_value(value: str) -> None:
    text = json.dumps(report()).replace("8000000000.0", value)
    for run in runs(text):
        if value != '"8e9"':
            assert (run.valid, run.throughput_bytes_per_s) == (False, None)


@pytest.mark.parametrize(
    "text",
    [
        *("hello\n", "{}", '{"start": 3, "end": {}}', '{"start": {}, "end": {}}', "[" * 100_000, '{"event": 3}'),
        json.dumps(report()).replace("8000000000.0", "9" * 5000),
    ],
)
def test_what_is_no_result(text: str) -> None:
    damaged(text, "iperf3")


@pytest.mark.parametrize("place", ["start", "end", "intervals"])
@pytest.mark.parametrize(
    "value", [3, None, [], "x", {"streams": [3, {"sender": 4}], "sum_sent": {"bytes": "x"}, "connected": [1]}]
)
def test_hostile_shapes(place: str, value: object) -> None:
    assert until_error(json.dumps(report(**{place: value})))
