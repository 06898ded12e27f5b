"""iperf3 between all hosts: what every link carries, and what the network carries when all hosts talk at once.

The pairs are those of a round-robin tournament: in every round each host has one partner, all pairs of a round run at
once, and after all rounds each host has met each other host. One of a pair is iperf3's server; the operation ``send``
measures from its client to it, ``receive`` the other way.

What was learnt by running 3.12: with ``-J`` it exits with 0 also when it could not connect; its JSON has the error.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from glusterlab.errors import ParseError
from glusterlab.hosts.quoting import join
from glusterlab.readers import iperf3
from glusterlab.readers.document import Document
from glusterlab.readers.records import WorkloadRecord
from glusterlab.reasons import Reason
from glusterlab.workloads.base import HostCommand, LocalJob, LocalStep, WorkerResult, WorkloadResult, outputs_in_order

if TYPE_CHECKING:
    from glusterlab.spec.cell import Cell
    from glusterlab.spec.cluster import Host

PORT = 5201
"""iperf3's own port; the hosts' firewalls must let it through."""

BUFFER_BYTES = 128 << 10
"""What iperf3 sends over and over: its default for TCP."""

_CONNECT_S = 10
_SHOWN = 5

T = TypeVar("T")


def tournament(players: Sequence[T]) -> list[list[tuple[T, T]]]:
    """Rounds in which every player meets every other once, nobody twice in a round.

    Parameters
    ----------
    players : sequence
        With an odd number of them, one rests in each round.

    Examples
    --------
    >>> tournament("abcd")
    [[('a', 'd'), ('b', 'c')], [('c', 'a'), ('d', 'b')], [('a', 'b'), ('c', 'd')]]
    >>> [len(pairs) for pairs in tournament("abc")]
    [1, 1, 1]
    """
    ring: list[T | None] = [*players, *([None] if len(players) % 2 else [])]
    half = len(ring) // 2
    rounds = []
    for number in range(len(ring) - 1):
        pairs = list(zip(ring[:half], reversed(ring[half:]), strict=True))
        # the one that never moves is first and second in turn
        pairs[0] = pairs[0] if number % 2 == 0 else (pairs[0][1], pairs[0][0])
        rounds.append([(one, other) for one, other in pairs if one is not None and other is not None])
        ring = [ring[0], ring[-1], *ring[1:-1]]
    return rounds


class Iperf3:
    """One TCP stream in each of all pairs of hosts."""

    tool = "iperf3"
    operations = ("send", "receive")

    def needs_files(self, operation: str) -> bool:
        """None does."""
        del operation
        return False

    def prepare(self, job: LocalJob) -> list[HostCommand]:
        """Nothing."""
        del job
        return []

    def rounds(self, job: LocalJob) -> list[list[LocalStep]]:
        """A round of the tournament each: iperf3's server and client of every pair."""
        found = tournament((*job.servers, *job.clients))
        width = len(str(len(found)))
        return [
            [step for one, other in pairs for step in self._pair(job, one, other, f"round-{number:0{width}d}")]
            for number, pairs in enumerate(found, start=1)
        ]

    def _pair(self, job: LocalJob, one: Host, other: Host, folder: str) -> list[LocalStep]:
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
            LocalStep(HostCommand(other.name, argv=server, deadline_s=job.deadline_s)),
            LocalStep(
                HostCommand(one.name, argv=("bash", "-c", text), deadline_s=job.deadline_s),
                f"{folder}/{one.name}_{other.name}.json",
            ),
        ]

    def parse(self, folder: Path, cell: Cell) -> WorkloadResult:
        """Read the clients' documents: what the receivers counted. A worker's place is ``sender to receiver``.

        Raises
        ------
        ParseError
            When there is none.
        """
        workers: list[WorkerResult] = []
        bad: list[str] = []
        by_round: dict[str, list[WorkerResult]] = {}
        version = None
        for path in outputs_in_order(folder, "round-*/*.json"):
            one, _, other = path.stem.partition("_")
            sender, receiver = (one, other) if cell.operation == "send" else (other, one)
            place = f"{sender} to {receiver}"
            try:
                record = _received(path)
            except ParseError as error:
                bad.append(f"{place}: {error.message}")
                continue
            version = version or record.tool_version
            if record.valid is not True or not record.throughput_bytes_per_s:
                why = record.reasons[0].message if record.reasons else "no rate"
                bad.append(f"{place}: {why}")
            rate, elapsed = record.throughput_bytes_per_s, record.elapsed_s
            status = "ok" if record.valid else "no data"
            done = record.details.get("bytes")
            worker = WorkerResult(len(workers) + 1, place, rate, bytes=done, elapsed_s=elapsed, status=status)
            workers.append(worker)
            by_round.setdefault(path.parent.name, []).append(worker)
        if not workers:
            said = f"; the first said: {bad[0]}" if bad else ""
            raise ParseError(f"expected iperf3's JSON of every pair of hosts, found none{said}", file=folder)
        sums = [sum(worker.throughput_bytes_per_s or 0.0 for worker in pairs) for pairs in by_round.values()]
        longest = [max(worker.elapsed_s or 0.0 for worker in pairs) for pairs in by_round.values()]
        return WorkloadResult(
            tool=self.tool,
            tool_version=version,
            operation=cell.operation,
            workers=len(workers),
            # of all pairs at once, which are those of a round
            throughput_bytes_per_s=sum(sums) / len(sums),
            files_per_s=None,
            elapsed_s=sum(longest),
            measured_s=sum(longest),
            worker_results=tuple(workers),
            problems=tuple(_problems(bad, len(workers), cell.workers)),
        )


def _problems(bad: Sequence[str], found: int, wanted: int) -> list[Reason]:
    reasons = [Reason(code="tool-incomplete", message=message) for message in bad[:_SHOWN]]
    if len(bad) > _SHOWN:
        reasons.append(Reason(code="tool-incomplete", message=f"and {len(bad) - _SHOWN} more pairs without a result"))
    if found != wanted:
        reasons.append(Reason(code="tool-incomplete", message=f"expected {wanted} pairs of hosts, found {found}"))
    return reasons


def _received(path: Path) -> WorkloadRecord:
    """What the receiver counted, or the report that says why there is nothing."""
    records = [record for record in iperf3.read(Document.open(path)) if isinstance(record, WorkloadRecord)]
    received = [record for record in records if record.operation == "receive"]
    if len(received) == 1:
        return received[0]
    if len(records) == 1:
        return records[0]
    raise ParseError(f"expected one report of a receiver, found {len(received)}", file=path)


def ends_of(worker: WorkerResult) -> tuple[str, str]:
    """Sender and receiver of a worker.

    Examples
    --------
    >>> ends_of(WorkerResult(1, "server01 to client02"))
    ('server01', 'client02')
    """
    sender, _, receiver = (worker.host or "").partition(" to ")
    return sender, receiver
