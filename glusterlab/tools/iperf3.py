"""iperf3 between all hosts: what every link carries, and what the network carries when all hosts talk at once.

All pairs of a round of a tournament run at once. One of a pair is iperf3's server; ``send`` measures from its client to
it, ``receive`` the other way. With ``-J`` iperf3 exits with 0 also when it could not connect; its JSON has the error.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from glusterlab.errors import ParseError
from glusterlab.reasons import Reason
from glusterlab.shell import join
from glusterlab.spec.cell import Cell
from glusterlab.spec.cluster import Host
from glusterlab.tools import base, records
from glusterlab.tools.document import Document, by_marks, json_objects, number, whole, word

_MARKS = {r'"version"\s*:\s*"iperf 3': 0.95, r'"(?:sum_sent|sum_received)"\s*:\s*\{': 0.8}
_SUMS: tuple[tuple[str, records.Operation, bool], ...] = (
    ("sum_sent", "send", False),
    ("sum_received", "receive", False),
    ("sum_sent_bidir_reverse", "send", True),
    ("sum_received_bidir_reverse", "receive", True),
)
_SLACK = 0.05
_LEAST_TIME = 0.9


def read(document: Document) -> Iterator[records.Record]:
    """Each direction of each run, as sent and as received, then its streams; `ParseError` after what is whole."""
    run = 0
    for run, (line, report) in enumerate(_reports(document), start=1):
        yield from _records(document, _Run(report, line, run))
    if run == 0:
        raise document.error("expected a JSON document of iperf3 (iperf3 -J), found none", 1)


def _reports(document: Document) -> Iterator[tuple[int, dict[str, Any]]]:
    """The documents, and those that a stream of events makes."""
    stream: dict[str, Any] = {}
    since = 1
    damage: ParseError | None = None
    try:
        for line, value in json_objects(document.text):
            if (event := value.get("event")) == "start":
                if stream:
                    yield since, stream
                stream, since = {}, line
            if isinstance(event, str):
                stream[event] = value.get("data")
            elif isinstance(value.get("start"), dict) and not {"end", "intervals", "error"}.isdisjoint(value):
                yield line, value
    except ParseError as error:
        damage = document.error(error.message, error.line)
    if "start" in stream and not {"end", "error"}.isdisjoint(stream):
        yield since, stream
    elif stream and damage is None:
        damage = document.error("expected iperf3's event 'end', found the end of the file", since)
    if damage is not None:
        raise damage


class _Run:
    def __init__(self, report: dict[str, Any], line: int, number: int) -> None:
        self.report, self.line, self.number = report, line, number
        test, streams, error = self.part("start", "test_start"), self.part("end").get("streams"), report.get("error")
        self.reverse = bool(test.get("reverse"))
        self.workers = whole(test.get("num_streams")) or None
        self.error = None if error in (None, "") else str(error)[:200]
        self.streams = [one for one in streams if isinstance(one, dict)] if isinstance(streams, list) else []
        self.sums = self._sums()
        self.both_ways = any(back for _, _, back in self.sums.values())

    def part(self, *names: str) -> dict[str, Any]:
        """An object in the document; empty where it is not there."""
        found: Any = self.report
        for name in names:
            found = found.get(name) if isinstance(found, dict) else None
        return found if isinstance(found, dict) else {}

    def _sums(self) -> dict[str, tuple[dict[str, Any], records.Operation, bool]]:
        """The sums that say something, by their name: with what they are of, and whether of bidir's other way."""
        end = self.part("end")
        found = {name: (end[name], op, back) for name, op, back in _SUMS if isinstance(end.get(name), dict)}
        for back in (False, True):
            way = [name for name, one in found.items() if one[2] is back]
            heard = [name for name in way if whole(found[name][0].get("bytes"))]
            for name in way:
                if heard and name not in heard:
                    del found[name]
            # UDP of old versions has one sum of both
            name = "sum_bidir_reverse" if back else "sum"
            if not way and isinstance(end.get(name), dict):
                receives = end[name].get("sender") is False if "sender" in end[name] else self.reverse
                found[name] = (end[name], "receive" if receives else "send", back)
        return found

    def of(self, operation: records.Operation, back: bool, kind: str | None = None) -> list[dict[str, Any]]:
        """The counts of the streams of one direction as one side has them, or those of `kind` of both sides."""
        side = kind or ("sender" if operation == "send" else "receiver")
        counts = [stream[side] for stream in self.streams if isinstance(stream.get(side), dict)]
        return [one for one in counts if not self.both_ways or (one.get("sender") is False) is back]


def _records(document: Document, run: _Run) -> Iterator[records.Record]:
    if not (sums := run.sums):
        if run.error is None:
            raise document.error("expected iperf3's sums at its end, found none: was it ended early?", run.line)
        sums = {"": ({}, "receive" if run.reverse else "send", False)}
    udp_taken: set[bool] = set()
    for name, (counts, operation, back) in sums.items():
        record = _workload(document, run, name, counts, operation, back)
        yield record
        # streams of UDP have one count for both sides
        streams = run.of(operation, back) or ([] if back in udp_taken else run.of(operation, back, "udp"))
        udp_taken.add(back)
        for worker, stream in enumerate(streams, start=1):
            yield _stream(run, record, worker, stream)


def _workload(
    document: Document, run: _Run, name: str, counts: dict[str, Any], operation: records.Operation, back: bool
) -> records.WorkloadRecord:
    start, test, end = run.part("start"), run.part("start", "test_start"), run.part("end")
    title, version = run.report.get("title") or start.get("title"), start.get("version")
    doubts = () if test else (records.unjudged("no parameters of the test"),)
    connected = start.get("connected")
    first = connected[0] if isinstance(connected, list) and connected and isinstance(connected[0], dict) else {}
    server = "accepted_connection" in start
    remote = run.part("start", "accepted_connection" if server else "connecting_to").get("host")
    cpu = run.part("end", "cpu_utilization_percent")
    details: records.Details = {
        "side": "server" if server else "client",
        "direction": "client to server" if run.reverse is back else "server to client",
        "protocol": word(test.get("protocol")),
        "local_host": word(first.get("local_host")),
        "remote_host": word(remote) or word(first.get("remote_host")),
        "bytes": whole(counts.get("bytes")),
        **_traffic(counts),
        "duration_s": number(test.get("duration")),
        "omit_s": number(test.get("omit")) or None,
        "target_bits_per_s": number(test.get("target_bitrate", start.get("target_bitrate"))) or None,
        "tcp_mss_bytes": whole(start.get("tcp_mss") or start.get("tcp_mss_default")),
        "start_time_epoch_s": whole(run.part("start", "timestamp").get("timesecs")),
        "sender_congestion": word(end.get("sender_tcp_congestion")),
        "receiver_congestion": word(end.get("receiver_tcp_congestion")),
        **{f"cpu_{name}_percent": number(cpu[name]) for name in cpu if re.fullmatch("[a-z_]{1,40}", str(name))},
    }
    return records.WorkloadRecord(
        tool="iperf3",
        tool_version=version.removeprefix("iperf").strip()[:40] or None if isinstance(version, str) else None,
        source=document.source(run.line),
        run=run.number,
        job=title[:200] if isinstance(title, str) else None,
        operation=operation,
        label=name or operation,
        workers=run.workers,
        record_size_bytes=whole(test.get("blksize")) or None,
        throughput_bytes_per_s=_rate(counts),
        elapsed_s=_seconds(counts) or None,
        **records.verdict(_faults(run, counts, operation, back), doubts),
        details=records.without_none(details),
    )


def _rate(counts: dict[str, Any]) -> float | None:
    bits = number(counts.get("bits_per_second"))
    return bits / 8 if bits else None


def _seconds(counts: dict[str, Any]) -> float | None:
    """How long bytes were counted; a receiver's ``seconds`` are those of the side that wrote the report."""
    start, end, said = (number(counts.get(name)) for name in ("start", "end", "seconds"))
    return said if said is None or start is None or end is None or end < start else end - start


def _wrong_rate(counts: dict[str, Any]) -> str | None:
    """How bytes and time contradict the rate, of a sum or of a stream."""
    bits, done, seconds = number(counts.get("bits_per_second")), number(counts.get("bytes")), _seconds(counts)
    if bits and done and seconds and abs(done * 8 / seconds - bits) > _SLACK * bits:
        return f"{done:.0f} bytes in {seconds:g} s are not {bits:g} bit/s"
    return None


def _faults(run: _Run, counts: dict[str, Any], operation: records.Operation, back: bool) -> Iterator[Reason]:
    if run.error is not None:
        yield records.failed(f"iperf3 said: {run.error}")
    bits, done, seconds = number(counts.get("bits_per_second")), number(counts.get("bytes")), _seconds(counts)
    if not bits or not done or not seconds:
        yield records.incomplete("nothing was transferred, or not all of it was counted")
    elif wrong := next(filter(None, map(_wrong_rate, (counts, *run.of(operation, back)))), None):
        yield records.incomplete(wrong)
    packets, lost = (whole(counts.get(name)) for name in ("packets", "lost_packets"))
    if packets is not None and lost is not None and lost > packets:
        yield records.incomplete(f"{lost} of {packets} packets were lost")
    test = run.part("start", "test_start")
    wanted = number(test.get("duration"))
    limited = number(test.get("bytes")) or number(test.get("blocks"))
    if wanted and seconds and not limited and seconds < _LEAST_TIME * wanted:
        yield records.incomplete(f"expected {wanted:g} s, found {seconds:g} s")
    ways = 2 if run.both_ways else 1
    if run.workers is not None and run.streams and len(run.streams) != ways * run.workers:
        yield records.incomplete(f"expected {ways * run.workers} streams, found {len(run.streams)}")
    in_streams = sum(whole(stream.get("bytes")) or 0 for stream in run.of(operation, back))
    total = whole(counts.get("bytes"))
    if run.of(operation, back) and total and in_streams != total:
        yield records.incomplete(f"expected {in_streams} bytes as in the streams, found {total}")


def _traffic(counts: dict[str, Any]) -> records.Details:
    jitter = number(counts.get("jitter_ms"))
    found: records.Details = {name: whole(counts.get(name)) for name in ("retransmits", "packets", "lost_packets")}
    found |= {"jitter_s": None if jitter is None else jitter / 1000, "lost_percent": number(counts.get("lost_percent"))}
    return records.without_none(found)


def _stream(run: _Run, record: records.WorkloadRecord, worker: int, counts: dict[str, Any]) -> records.WorkerRecord:
    done, rate, wrong = whole(counts.get("bytes")), _rate(counts), _wrong_rate(counts)
    good = bool(done) and run.error is None and wrong is None
    why = run.error or wrong or ("the stream's rate cannot be read" if done else "nothing was transferred")
    reasons = [records.incomplete(why)]
    return records.worker_of(
        record,
        job=None,
        label=str(counts.get("socket", worker))[:20],
        worker=worker,
        throughput_bytes_per_s=rate,
        elapsed_s=_seconds(counts) or None,
        bytes=done,
        **records.verdict([] if good else reasons, reasons if rate is None else []),
        details=_traffic(counts),
    )


PORT = 5201  # iperf3's own port; the hosts' firewalls must let it through
BUFFER_BYTES = 128 << 10  # iperf3's default for TCP

_CONNECT_S = 10
_SHOWN = 5

T = TypeVar("T")


def tournament(players: Sequence[T]) -> list[list[tuple[T, T]]]:
    """Rounds in which every player meets every other once; of an odd number of players one rests in each round.

    >>> tournament("abcd")
    [[('a', 'd'), ('b', 'c')], [('c', 'a'), ('d', 'b')], [('a', 'b'), ('c', 'd')]]
    """
    ring: list[T | None] = [*players, *([None] if len(players) % 2 else [])]
    half = len(ring) // 2
    rounds = []
    for turn in range(len(ring) - 1):
        pairs = list(zip(ring[:half], reversed(ring[half:]), strict=True))
        # the one that never moves is first and second in turn
        pairs[0] = pairs[0] if turn % 2 == 0 else (pairs[0][1], pairs[0][0])
        rounds.append([(one, other) for one, other in pairs if one is not None and other is not None])
        ring = [ring[0], ring[-1], *ring[1:-1]]
    return rounds


class Iperf3(base.HostTool):
    """One TCP stream in each of all pairs of hosts."""

    def work_s(self, cell: Cell, hosts: int, brick_rate: float) -> float:  # noqa: ARG002
        return len(tournament(range(hosts))) * (float(cell.options[1]) + 1.0)

    def rounds(self, job: base.LocalJob) -> list[list[base.LocalStep]]:
        found = tournament((*job.servers, *job.clients))
        width = len(str(len(found)))
        return [
            [step for one, other in pairs for step in self._pair(job, one, other, f"round-{number:0{width}d}")]
            for number, pairs in enumerate(found, start=1)
        ]

    def _pair(self, job: base.LocalJob, one: Host, other: Host, folder: str) -> list[base.LocalStep]:
        reverse = ("-R",) if job.cell.operation == "receive" else ()
        options = ("-i", "0", "-J", "-T", f"{one.name} to {other.name}", *reverse, *job.cell.options)
        client = join(("iperf3", "-c", other.address, "-p", PORT, *options))
        # the server may be a moment later than the client
        text = (
            f"end=$((SECONDS + {_CONNECT_S}))\n"
            f"while out=$({client}); code=$?; [ $SECONDS -lt $end ]; do\n"
            '  case $out in *"unable to connect"*) sleep 0.2 ;; *) break ;; esac\n'
            "done\n"
            "printf '%s\\n' \"$out\"; exit $code"
        )
        server = ("iperf3", "-s", "-1", "-p", str(PORT))
        return [
            base.LocalStep(base.HostCommand(other.name, argv=server, deadline_s=job.deadline_s)),
            base.LocalStep(
                base.HostCommand(one.name, argv=("bash", "-c", text), deadline_s=job.deadline_s),
                f"{folder}/{one.name}_{other.name}.json",
            ),
        ]

    def parse(self, folder: Path, cell: Cell) -> base.Measurement:
        """Read the clients' documents: what the receivers counted. A worker's place is ``sender to receiver``."""
        workers: list[records.WorkerRecord] = []
        bad: list[str] = []
        by_round: dict[str, list[records.WorkerRecord]] = {}
        for path in base.outputs_in_order(folder, "round-*/*.json"):
            one, _, other = path.stem.partition("_")
            sender, receiver = (one, other) if cell.operation == "send" else (other, one)
            place = f"{sender} to {receiver}"
            try:
                record = _received(path)
            except ParseError as error:
                bad.append(f"{place}: {error.message}")
                continue
            if record.valid is not True or not record.throughput_bytes_per_s:
                bad.append(f"{place}: {record.reasons[0].message if record.reasons else 'no rate'}")
            changed = {"run": 1, "host": place, "job": None, "label": place, "bytes": record.details.get("bytes")}
            worker = records.worker_of(record, worker=len(workers) + 1, **changed)
            workers.append(worker)
            by_round.setdefault(path.parent.name, []).append(worker)
        if not workers:
            first = f"; the first: {bad[0]}" if bad else ""
            raise ParseError(f"expected iperf3's JSON of every pair of hosts, found none{first}", file=folder)
        # of all pairs at once, which are those of a round
        rates = [sum(worker.throughput_bytes_per_s or 0.0 for worker in pairs) for pairs in by_round.values()]
        longest = [max(worker.elapsed_s or 0.0 for worker in pairs) for pairs in by_round.values()]
        total = replace(
            record, workers=len(workers), throughput_bytes_per_s=sum(rates) / len(rates), elapsed_s=sum(longest)
        )
        problems = [records.incomplete(message) for message in bad[:_SHOWN]]
        if len(bad) > _SHOWN:
            problems.append(records.incomplete(f"and {len(bad) - _SHOWN} more pairs without a result"))
        if len(workers) != cell.workers:
            problems.append(records.incomplete(f"expected {cell.workers} pairs of hosts, found {len(workers)}"))
        return base.Measurement(total, tuple(workers), tuple(problems))


def _received(path: Path) -> records.WorkloadRecord:
    found = [record for record in read(Document.open(path)) if isinstance(record, records.WorkloadRecord)]
    received = [record for record in found if record.operation == "receive"] or found
    if len(received) != 1:
        raise ParseError(f"expected one report of a receiver, found {len(received)}", file=path)
    return received[0]


def ends_of(worker: records.WorkerRecord) -> tuple[str, str]:
    """Sender and receiver of a worker."""
    sender, _, receiver = (worker.host or "").partition(" to ")
    return sender, receiver


IPERF3 = Iperf3(
    name="iperf3",
    recognise=by_marks(_MARKS),
    read=read,
    operations=(base.Operation("send", "write"), base.Operation("receive", "read")),
    of_links=True,
    options=dict.fromkeys(("-t", "-O", "-P", "-w", "-l", "-M"), base.VALUE),
    programs=(
        base.Program("iperf3", "iperf3", ("--version",), "3.12", baseline_roles=frozenset({"server", "client"})),
    ),
)
