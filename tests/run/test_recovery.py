"""What a run waits for after trouble, what it mends itself, and when it gives up."""

import json
from collections import Counter
from pathlib import Path

import pytest

from glusterlab.errors import CommandError, HostError
from glusterlab.hosts.pool import Pool
from glusterlab.hosts.transport import Outcome
from glusterlab.reasons import Reason
from glusterlab.run import recovery
from glusterlab.run.plan import PlannedSample
from glusterlab.spec import Cell
from tests.packed import read_raw
from tests.run.test_runner import ONE, Bench, invalid


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    bench = Bench(tmp_path, monkeypatch)
    monkeypatch.setattr(recovery, "HEALTHY_WITHIN_S", 60.0)
    return bench


def test_one_access_in_trouble_leaves_the_others_of_its_layout_their_turn(bench: Bench) -> None:
    bench.run(ONE)
    lost = bench.samples[0].model_copy(update={"reasons": (Reason(code="access-lost", message="no mount"),)})
    breaker, cell = recovery.Breaker(), bench.store.cells()[lost.cell_id]
    nfs = cell.model_copy(update={"access": "nfs3"})
    assert [breaker.add(lost, recovery.block_of(nfs)) for _ in range(3)] == [False, False, True]
    assert breaker.left_out == {(cell.layout, "nfs3")}
    left = [PlannedSample(each, repeat=2, round=2, order=n, warmup=False) for n, each in enumerate((nfs, cell))]
    assert not breaker.open_everywhere(left, 1, [nfs, cell])
    assert breaker.open_everywhere(left[:1], 1, [nfs, cell])


def first_is_invalid(folder: Path, cell: Cell) -> list[Reason]:
    return invalid() if folder.name == ".sample-01.partial" and cell.operation == "write" else []


def test_a_host_that_only_seems_to_be_connected_is_waited_for(bench: Bench) -> None:
    asked: list[str] = []

    def silent(host: str) -> Outcome | None:
        asked.append(host)
        return Outcome(b"", b"", None) if len(asked) < 3 else None

    bench.when("true", silent, host="s2")
    notes: list[str] = []
    recovery.wait_for_hosts(Pool(bench.cluster.hosts, bench.transport), notes.append)
    assert len(asked) == 3
    assert notes[0] == "waiting for s2 to come back"
    assert notes[1].startswith("all hosts answer again, after ")


@pytest.mark.parametrize(
    ("words", "answer", "wrong"),
    [
        ("gl_part clock", None, "clock-skew on c2"),
        # its bricks say that there is room, and yet gluster refuses files for some seconds
        ("gl_takes_files", Outcome(b"", b"try: No space left on device", 1), "disk-full on c1: mirror"),
    ],
)
def test_no_sample_is_begun_until_the_pool_is_in_order(
    bench: Bench, words: str, answer: Outcome | None, wrong: str
) -> None:
    looks: Counter[str] = Counter()

    def mend(host: str, text: str) -> Outcome | None:
        if words not in text or "gl_drop_caches" in text or not bench.ran:
            return None
        looks[host] += 1
        if answer is None:
            bench.transport.clock_offset_s = {"c2": 7.0} if 1 < looks["s1"] < 4 else {}
        return answer if looks[host] < 4 else None

    bench.transport.hooks.append(mend)
    bench.verdict = first_is_invalid
    summary = bench.run(ONE)
    assert (summary.valid, summary.executed, summary.exit_code) == (2, 3, 0)
    assert max(looks.values()) >= 4
    assert f"waiting until the pool is in order: {wrong}" in bench.log
    assert "the pool is in order again, after " in bench.log
    assert "made anew" not in bench.log


def test_what_stays_wrong_is_a_reason_and_ends_the_run(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recovery, "HEALTHY_WITHIN_S", 0.0)

    def hang(folder: Path, cell: Cell) -> list[Reason]:
        bench.transport.answers["c1", "gl_mount_state"] = "mount hung\n"
        return first_is_invalid(folder, cell)

    bench.verdict = hang
    with pytest.raises(HostError, match=r"3 samples in a row .* last pool-unhealthy: not in order after .*mount-hung"):
        bench.run({**ONE, "attempts": 3})
    failed = [sample for sample in bench.samples if sample.status == "failed"]
    assert {tuple(reason.code for reason in sample.reasons) for sample in failed} == {("pool-unhealthy", "mount-hung")}
    assert all(sample.window is None for sample in failed)
    stored = json.loads(read_raw(failed[0].path / "failure.json"))
    assert [reason["code"] for reason in stored["reasons"]] == ["pool-unhealthy", "mount-hung"]


def test_why_a_layout_could_not_be_set_up() -> None:
    full = CommandError("'mkdir' ended with code 1: No space left on device")
    for error, code in ((HostError("not reachable", host="s1"), "host-unreachable"), (full, "disk-full")):
        assert [reason.code for reason in recovery.reasons_of(error)] == [code]
