"""Whole campaigns with a target and with a warm-up, on a pool in memory: what is run, kept, drawn and shown."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from glusterlab.analysis import select, summarise
from glusterlab.errors import ParseError, SpecError
from glusterlab.hosts.transport import Outcome
from glusterlab.reasons import Reason, status_of
from glusterlab.run.status import campaign_status
from glusterlab.run.validity import Judgement
from glusterlab.spec import Cell
from glusterlab.store.manifest import MANIFEST, Manifest
from glusterlab.tables import build as tables
from glusterlab.tools import volume_tools
from glusterlab.tools.base import Measurement
from tests.baseline.bench import iozone_output
from tests.packed import make_plain
from tests.run.test_runner import ONE, Bench

TARGET = {"min": 3, "max": 6, "half_width": "5%"}
CAMPAIGN = {**ONE, "repeats": TARGET}
Rate = Callable[[str, int], float]
"""What a worker transfers, in kB per second, by operation and by how often that ran."""


class Measuring(Bench):
    """A pool whose tool reports what a test wants, and a judge that reads it."""

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        super().__init__(root, monkeypatch)
        self.rate: Rate = lambda *_: 1000.0
        self.times: Counter[str] = Counter()

    def workload(self, host: str, text: str) -> Outcome | None:
        answer = super().workload(host, text)
        if answer is None:
            return None
        operation = self.ran[-1].rpartition(" ")[2]
        self.times[operation] += 1
        rate = self.rate(operation, self.times[operation])
        option = 0 if operation == "write" else 1
        report = iozone_output(
            f"iozone -+m t/cl -t 2 -s 1024k -r 64k -c -e -w -+n -C -i {option} -F 1 2", lambda _: rate
        )
        return Outcome(report.encode(), b"", 0)

    def judge(self, folder: Path, cell: Cell, servers: list[str], clients: list[str]) -> Judgement:
        reasons = self.reasons(folder, cell)
        result: Measurement | None = None
        try:
            result = volume_tools()[cell.tool].parse(folder / "workload", cell)
            reasons += result.problems
        except ParseError as error:
            reasons.append(Reason(code="tool-failed", message=str(error)))
        return Judgement(status_of(reasons), tuple(reasons), result)

    def executions(self) -> dict[str, list[int]]:
        """Repeats that were executed, by operation, in the order of their samples."""
        found: dict[str, list[int]] = {}
        for sample in sorted(self.store.samples(), key=lambda each: each.sample):
            found.setdefault(self.store.cell(sample.cell_id).operation, []).append(sample.repeat)
        return found


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Measuring:
    return Measuring(tmp_path, monkeypatch)


def steady_writes(operation: str, time: int) -> float:
    """Writes agree within 1 %; reads scatter by a third."""
    if operation == "write":
        return 1000.0 + 5 * time
    return 1000.0 * (0.7 if time % 2 else 1.3)


def test_a_cell_ends_at_its_target_and_another_goes_on_to_the_maximum(bench: Measuring) -> None:
    bench.rate = steady_writes
    summary = bench.run(CAMPAIGN)
    assert bench.executions() == {"write": [1, 2, 3], "read": [1, 2, 3, 4, 5, 6]}
    assert (summary.valid, summary.total, summary.left, summary.exit_code) == (9, 9, 0, 0)
    status = campaign_status(bench.store.path)
    assert {cell.cell.operation: cell.decision for cell in status.cells} == {"write": "reached", "read": "at-maximum"}
    assert status.complete
    assert bench.log.count(" has reached its target, with 3 valid repeats") == 1
    assert bench.log.count(" ends at the maximum without reaching its target, with 6 valid repeats") == 1
    again = bench.run(CAMPAIGN)
    assert (again.executed, again.exit_code) == (0, 0)


def test_a_narrower_target_goes_on_where_a_wider_one_ended(bench: Measuring) -> None:
    bench.rate = lambda _, time: 1000.0 + 5 * (time % 3)
    bench.run(CAMPAIGN)
    assert bench.executions() == {"write": [1, 2, 3], "read": [1, 2, 3]}
    bench.run({**ONE, "repeats": {**TARGET, "half_width": "0.3%"}})
    assert {len(repeats) for repeats in bench.executions().values()} == {6}
    with pytest.raises(SpecError, match="repeats: 6 before, 5 now"):
        bench.run({**ONE, "repeats": {**TARGET, "max": 5}})


def test_warmup_samples_come_first_are_marked_and_never_drawn(bench: Measuring) -> None:
    bench.rate = lambda _, time: 10.0 if time == 1 else 1000.0 + time
    summary = bench.run({**CAMPAIGN, "warmup": 1})
    assert [words.rpartition(" ")[2] for words in bench.ran] == ["write", "read"] * 4
    assert (summary.valid, summary.total, summary.executed) == (6, 6, 8)
    warm = [sample for sample in bench.store.samples() if sample.warmup]
    assert sorted((sample.sample, sample.repeat, sample.round) for sample in warm) == [(1, 1, 0), (1, 1, 0)]
    # the slow warm-up is in no interval
    for cell in campaign_status(bench.store.path).cells:
        assert (cell.decision, cell.valid, cell.wanted, cell.warmup) == ("reached", 3, 3, 1)
        assert cell.interval.estimate.low > 1000 * 2 * 1024
    # the pool in memory has no sar
    path = bench.store.path
    make_plain(path)
    for file in path.glob("cells/*/sample-*/telemetry/*"):
        file.unlink()
    listed = {name: word for name, word in Manifest.read(path).digests.items() if "/telemetry/" not in name}
    (path / MANIFEST).write_text(Manifest(listed).text)
    samples = tables.load(path, cache=False).samples
    assert samples["warmup"].sum() == 2
    drawn = summarise(select(samples, tool="iozone"), "throughput_bytes_per_s")
    assert list(drawn["samples"]) == ["02;03;04"] * 2
    assert bench.run({**CAMPAIGN, "warmup": 1}).executed == 0
