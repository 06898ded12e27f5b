import json
import os
import re
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from itertools import groupby
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from glusterlab.errors import CommandError, HostError, LockLostError, RawStoreError, RefusedError, SpecError, UsageError
from glusterlab.hosts.gluster import Volume
from glusterlab.hosts.health import health_reasons
from glusterlab.hosts.lock import Owner
from glusterlab.hosts.pool import Pool
from glusterlab.hosts.transport import Outcome, Stop
from glusterlab.reasons import Reason, ReasonCode, status_of
from glusterlab.run import recovery, runner
from glusterlab.run.plan import build_plan
from glusterlab.run.progress import Progress, RunSummary
from glusterlab.run.refusals import refusals
from glusterlab.run.sample import SampleRun, Site
from glusterlab.run.state import RunState, life, read_now
from glusterlab.run.status import campaign_status
from glusterlab.run.validity import Judgement
from glusterlab.run.verify import verify
from glusterlab.shell import HostCommand
from glusterlab.spec import Campaign, Cell, Cluster
from glusterlab.spec.cluster import Host
from glusterlab.store.campaign import RawStore, Sample, SampleWriter, Window
from glusterlab.store.files import file_digest
from glusterlab.store.journal import EventReader
from glusterlab.store.manifest import MANIFEST, Manifest
from glusterlab.store.records import Health, read_record
from glusterlab.tools import volume_tools
from glusterlab.tools.base import Measurement
from glusterlab.tools.iozone import IOZONE
from glusterlab.tools.records import Source, WorkloadRecord
from tests.fake_pool import OWNER, FakeTransport, FakeVolume, Hook
from tests.packed import digests_of, read_raw
from tests.pools import campaign_data, pool_data

CLUSTER = pool_data(
    n_clients=2, scale_models={"large-file": {"scale": 200}}, testbed={"name": "default", "state": "/nowhere"}
)
MIRROR = {"name": "mirror", "type": "replicate", "geometry": "1x2", "backing": "jbod", "options": {"a.b": "on"}}
PLAIN = {"name": "plain", "type": "distribute", "geometry": "2", "backing": "jbod"}
CAMPAIGN = campaign_data(layouts=[MIRROR, PLAIN], workload={"model": "large-file"})
ONE, OTHER = ({**CAMPAIGN, "layouts": [layout]} for layout in (MIRROR, PLAIN))

Verdict = Callable[[Path, Cell], list[Reason]]


class Kill(BaseException):
    """What kill -9 is to the code that it strikes: nothing is cleaned up after it."""


class Bench:
    """A campaign, a pool in memory, and a judge that says what the test wants."""

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.root = root
        self.cluster = Cluster.model_validate(CLUSTER)
        self.transport = FakeTransport(self.cluster)
        self.transport.hooks.append(self.workload)
        self.throttled: list[str | None] = []
        self.verdict: Verdict = good
        self.ran: list[str] = []
        for place in ("sample", "validity"):
            monkeypatch.setattr(f"glusterlab.run.{place}.judge", self.judge)
        for limit in ("HEALTHY_WITHIN_S", "HEAL_WITHIN_S", "SET_UP_WITHIN_S", "_PAUSE_S"):
            monkeypatch.setattr(recovery, limit, 0.0)

    def workload(self, host: str, text: str) -> Outcome | None:
        if not starts(text, "-i "):
            return None
        operation = "write" if "-i 0" in text else "read"
        volume = next(name for name, volume in self.transport.volumes.items() if volume.started)
        self.ran.append(f"{volume.rpartition('-')[0]} {operation}")
        return Outcome(b"iozone test complete.", b"", 0)

    def judge(self, folder: Path, cell: Cell, servers: list[str], clients: list[str]) -> Judgement:
        reasons = self.reasons(folder, cell)
        return Judgement(status_of(reasons), tuple(reasons), None)

    def reasons(self, folder: Path, cell: Cell) -> list[Reason]:
        file = folder / "failure.json"
        failure = json.loads(file.read_text())["reasons"] if file.exists() else []
        return [*map(Reason.model_validate, failure), *self.verdict(folder, cell)]

    def throttle(self, model: str | None) -> dict[str, object]:
        self.throttled.append(model)
        return {"model": model}

    def run(self, campaign: dict[str, Any] | None = None, verdict: Verdict | None = None, **options: Any) -> RunSummary:
        """Run it, with a verdict that stays."""
        self.verdict = verdict or self.verdict
        settings = {"throttle": self.throttle, "pool": Pool(self.cluster.hosts, self.transport), **options}
        return runner.run(Campaign.model_validate(campaign or CAMPAIGN), self.cluster, self.root, **settings)

    def outcome(self, *arguments: Any, **options: Any) -> tuple[int, int, int]:
        """Run it; valid samples, executed ones, exit code."""
        summary = self.run(*arguments, **options)
        return summary.valid, summary.executed, summary.exit_code

    def when(
        self, words: str, act: Callable[[str], Outcome | None], *, host: str | None = None, once: bool = False
    ) -> Hook:
        """Let scripts with these words, or the start of IOzone with such an option, come out as `act` of a host says.

        `once`: the first one only. None leaves the answer to the pool.
        """
        struck: list[str] = []

        def hook(name: str, text: str) -> Outcome | None:
            found = starts(text, words) if words.startswith("-i") else words in text
            if not found or host not in (None, name) or (once and struck):
                return None
            struck.append(name)
            return act(name)

        self.transport.hooks.append(hook)
        return hook

    @property
    def log(self) -> str:
        return (self.root / "night" / "log.txt").read_text()

    @property
    def now(self) -> RunState | None:
        return read_now(self.root / "night")

    @property
    def store(self) -> RawStore:
        return RawStore.open(self.root / "night")

    @property
    def samples(self) -> list[Sample]:
        return sorted(self.store.samples(), key=lambda sample: (sample.order, sample.attempt))


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    return Bench(tmp_path, monkeypatch)


def changed(**keys: Any) -> dict[str, Any]:
    return {**CAMPAIGN, **keys}


def invalid(code: ReasonCode = "heal-pending", message: str = "3 entries") -> list[Reason]:
    return [Reason(code=code, message=message)]


def health_after(folder: Path) -> dict[str, Any]:
    file = folder / "gluster/after/health.json"
    return dict(json.loads(file.read_text())) if file.exists() else {}


def starts(text: str, option: str) -> bool:
    """Whether a script starts IOzone with an option to measure, not to prepare."""
    return option in text and "exec" in text and "gl_" not in text


def files_of(path: Path) -> dict[str, bytes]:
    return {file.relative_to(path).as_posix(): file.read_bytes() for file in path.rglob("*") if file.is_file()}


def digests_are_right(path: Path) -> bool:
    return Manifest.read(path).digests == digests_of(path)


def good(folder: Path, cell: Cell) -> list[Reason]:
    return []


def bad_reads(folder: Path, cell: Cell) -> list[Reason]:
    return invalid() if cell.operation == "read" else []


def in_trouble(folder: Path, cell: Cell) -> list[Reason]:
    return invalid("controller-error", "glusterd does not answer")


def killed_reads(folder: Path, cell: Cell) -> list[Reason]:
    if cell.operation == "read":
        raise Kill
    return []


def test_every_sample_is_run_stored_and_listed(bench: Bench) -> None:
    summary = bench.run()
    assert (summary.valid, summary.total, summary.executed, summary.exit_code) == (4, 4, 4, 0)
    assert summary.problems == ()
    assert len(bench.samples) == 4
    sample = bench.samples[0]
    assert set(sample.phases) == {"prepare", "before", "throttle", "workload", "lift", "after", "judge"}
    assert sample.disks == 2
    assert sample.window is not None
    folder = sample.path.relative_to(bench.store.path).as_posix()
    files = ["command.json", "stdout.txt", "throttle.json"]
    names = {"log.txt", *(f"workload/{name}" for name in files), "telemetry/s1.csv.xz", "telemetry/c2.csv.xz"}
    names |= {f"gluster/{name}" for name in ("before/health.json", "before/peers.xml", "after/status.xml")}
    assert {f"{folder}/{name}" for name in names} <= digests_of(bench.store.path).keys()
    health = json.loads(read_raw(sample.path / "gluster/after/health.json"))
    stored = {file.name for file in sample.path.rglob("*.*")}
    assert stored == {"sample.json", "evidence.tar.xz", "stdout.txt", "stderr.txt"}
    assert [brick["pid"] for brick in health["bricks"]] == [1000, 1001]
    assert digests_are_right(bench.store.path)
    before = files_of(bench.store.path / "cells")
    again = bench.run()
    assert (again.executed, again.exit_code) == (0, 0)
    assert files_of(bench.store.path / "cells") == before


def test_a_layout_is_made_once_and_the_files_before_they_are_read(bench: Bench) -> None:
    bench.run()
    blocks = [words.split() for words in bench.ran]
    assert [operation for _, operation in blocks] == ["write", "read", "write", "read"]
    assert blocks[0][0] == blocks[1][0] != blocks[2][0] == blocks[3][0]
    creations = bench.transport.scripts("s1", "volume create")
    assert len(creations) == 2
    assert not any(" force" in text for text in creations)
    mirror = next(name for name in bench.transport.volumes if name.startswith("mirror"))
    assert bench.transport.volumes[mirror].options == {"a.b": "on"}
    assert not any(volume.started for volume in bench.transport.volumes.values())
    assert bench.transport.mounted == {}


@pytest.mark.parametrize(("code", "ran"), [(0, 3), (1, 2), (None, 2)])
def test_a_sample_of_several_commands_keeps_each_and_stands_for_one(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, code: int | None, ran: int
) -> None:
    """The second comes out with a code: what did not end well is the last."""

    def probes(_: object, cell: Cell, folder: Path) -> Iterator[tuple[str, Cell]]:
        for workers in (1, 2, 3):
            yield f"probe-{workers}", cell.model_copy(update={"workers": workers})
            assert (folder / f"probe-{workers}" / "command.json").exists()

    monkeypatch.setattr(type(IOZONE), "probes", probes)
    monkeypatch.setattr(type(IOZONE), "parse", lambda *_: Measurement(record, probe="probe-1"))
    record = WorkloadRecord(tool="iozone", tool_version=None, source=Source("", None), operation="write", label="write")
    bench.when("-t 2", lambda _: Outcome(b"", b"", code))
    bench.run(changed(layouts=[PLAIN], workloads=[{**CAMPAIGN["workloads"][0], "operations": "write"}], attempts=1))
    (sample,) = bench.samples
    commands = [json.loads(read_raw(sample.path / f"workload/probe-{n}/command.json")) for n in range(1, ran + 1)]
    assert [command["exit_code"] for command in commands] == [0, code, 0][:ran]
    chosen = commands[0] if code == 0 else commands[-1]
    assert json.loads(read_raw(sample.path / "workload/command.json")) == chosen
    assert sample.window == Window(start=chosen["start"], end=chosen["end"])


def test_each_block_of_samples_begins_with_an_empty_volume(bench: Bench) -> None:
    bench.run(changed(repeats=2))
    order = [words.partition(" ")[0] for words in bench.ran]
    blocks = [name for n, name in enumerate(order) if n == 0 or order[n - 1] != name]
    assert len(bench.transport.scripts("s1", "volume create")) == len(blocks)
    assert len(bench.transport.scripts("s1", "volume delete")) == len(blocks) - 2


def test_the_scale_model_is_in_effect_around_the_measured_command_only(bench: Bench) -> None:
    seen: list[tuple[str, str | None]] = []
    for words in ("gl_drop_caches", "-i ", "gl_collect"):
        bench.when(words, lambda _, words=words: seen.append((words, bench.throttled[-1])), host="c1")
    bench.run()
    assert seen == [("gl_drop_caches", None), ("-i ", "large-file"), ("gl_collect", None)] * 4
    assert bench.throttled[-1] is None


def test_disks_go_behind_their_heads_and_back_while_nothing_uses_them(bench: Bench) -> None:
    bench.cluster = Cluster.model_validate(
        {**CLUSTER, "scale_models": {"large-file": {"scale": 200}, "seeking": {"scale": 20, "heads": True}}}
    )
    moved: list[bool] = []
    measured: list[tuple[str | None, bool]] = []

    def use_heads(heads: bool) -> None:
        assert bench.transport.mounted == {}
        assert not any(volume.started for volume in bench.transport.volumes.values())
        moved.append(heads)

    bench.when("-i ", lambda _: measured.append((bench.throttled[-1], moved[-1])))
    (large,) = campaign_data(workload={"model": "large-file"})["workloads"]
    two_kinds = [large, {**large, "file_size": "2 MiB", "model": "seeking"}]
    assert bench.outcome(changed(layouts=[MIRROR], workloads=two_kinds, repeats=2), use_heads=use_heads) == (8, 8, 0)
    assert moved == [False, True, False, True]
    assert Counter(measured) == {("large-file", False): 4, ("seeking", True): 4}


def test_rounds_are_run_in_parts_each_with_one_repeat_of_every_cell(bench: Bench) -> None:
    campaign = changed(repeats=3, warmup=1)
    first = bench.run(campaign, rounds=1)
    assert (first.executed, first.valid, first.left, first.outcome, first.exit_code) == (8, 4, 8, "incomplete", 0)
    assert first.paused
    assert "next rounds" in first.advice
    assert Counter((sample.repeat, sample.warmup) for sample in bench.samples) == {(1, False): 4, (1, True): 4}
    second = bench.run(campaign, rounds=2)
    # the cells' warm-up is done
    assert (second.executed, second.valid, second.left, second.outcome, second.exit_code) == (8, 12, 0, "complete", 0)
    assert not second.paused
    assert bench.run(campaign, rounds=2).executed == 0


def test_a_run_of_some_rounds_is_held_to_these(bench: Bench) -> None:
    summary = bench.run(changed(repeats=2), rounds=1, verdict=bad_reads)
    assert (summary.executed, summary.valid, summary.invalid, summary.left, summary.exit_code) == (6, 2, 2, 4, 1)
    assert "--retry" in summary.advice
    bench.verdict = lambda folder, cell: in_trouble(folder, cell) if cell.layout.name == "mirror" else []
    summary = bench.run(changed(repeats=3), rounds=1)
    # a layout in trouble sat the round out before all its attempts were used up
    assert summary.left > 4
    assert (summary.paused, summary.exit_code) == (False, 1)


def test_a_failing_sample_is_tried_again_at_the_end_of_its_round(bench: Bench) -> None:
    bench.verdict = lambda *_: invalid() if len(bench.ran) == 2 else []
    assert bench.outcome() == (4, 5, 0)
    assert bench.ran[-1] == bench.ran[1]
    tried = Counter((sample.attempt, sample.status) for sample in bench.samples)
    assert tried == {(1, "valid"): 3, (1, "invalid"): 1, (2, "valid"): 1}


def test_attempts_end_and_retry_gives_as_many_again(bench: Bench) -> None:
    summary = bench.run(verdict=bad_reads)
    assert (summary.valid, summary.invalid, summary.executed, summary.exit_code) == (2, 2, 6, 1)
    assert len(summary.problems) == 2
    assert "heal-pending: 3 entries" in summary.problems[0]
    assert "--retry" in summary.advice
    assert bench.run().executed == 0
    assert bench.outcome(retry=True, verdict=good) == (4, 2, 0)


def test_after_a_kill_the_same_command_goes_on_with_the_files_that_are_there(bench: Bench) -> None:
    with patch.object(SampleWriter, "abandon"), pytest.raises(Kill):
        bench.run(verdict=killed_reads)
    assert len(list(bench.store.path.glob("cells/*/.sample-*.partial"))) == 1
    assert bench.outcome(verdict=good) == (4, 3, 0)
    assert list(bench.store.path.glob("cells/*/.sample-*.partial")) == []
    assert len(bench.transport.scripts("s1", "volume create")) == 2
    assert bench.transport.scripts("s1", "volume delete") == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_stops_the_run_cleanly(bench: Bench, number: signal.Signals, request: pytest.FixtureRequest) -> None:
    # under nohup SIGHUP is ignored, and the run leaves it so
    before = signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)
    request.addfinalizer(lambda: signal.signal(number, before))

    def slow(host: str) -> Outcome:
        os.kill(os.getpid(), number)
        time.sleep(1.0)
        return Outcome(b"", b"", None)

    struck = bench.when("-i 1", slow)
    began = time.monotonic()
    summary = bench.run()
    assert time.monotonic() - began < 10
    assert (summary.interrupted, summary.exit_code) == (True, 130)
    assert "goes on where it stopped" in summary.advice
    assert bench.throttled[-1] is None
    assert not {"leftover-partial", "unlisted-sample"} & {finding.code for finding in verify(bench.store.path)}
    for host in bench.cluster.hosts:
        assert "\ngl_leave " in bench.transport.scripts(host.name, "gl_")[-1]
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
    bench.transport.hooks.remove(struck)
    assert bench.run().exit_code == 0


@pytest.mark.parametrize("comes_back", [True, False])
def test_a_host_that_is_lost_is_waited_for(bench: Bench, monkeypatch: pytest.MonkeyPatch, comes_back: bool) -> None:
    def lose(host: str) -> Outcome:
        bench.transport.down = {"s2"}
        raise HostError("the connection was lost", host="s2")

    bench.when("gl_drop_caches", lose, host="s2", once=True)
    if comes_back:
        monkeypatch.setattr(Pool, "sleep", lambda *_: bench.transport.down.clear())
        assert bench.outcome() == (4, 5, 0)
        assert [sample.status for sample in bench.samples if sample.attempt == 1].count("failed") == 1
        return
    monkeypatch.setattr(recovery, "RECONNECT_WITHIN_S", 0.0)
    with pytest.raises(HostError, match=r"s2: not reachable.*goes on where it stopped"):
        bench.run()
    # what this process could not take back there is known to be gone once the process has ended
    bench.transport.files.clear()
    bench.transport.down = set()
    assert bench.run().exit_code == 0


def test_a_layout_in_trouble_leaves_the_others_their_turn(bench: Bench) -> None:
    refuse = bench.when("volume create mirror", lambda _: Outcome(b"", b"volume create: mirror: failed", 1))
    summary = bench.run(changed(repeats=3, attempts=3))
    assert (summary.valid, summary.exit_code) == (6, 1)
    failed = [sample for sample in bench.samples if sample.status != "valid"]
    assert {sample.reasons[0].code for sample in failed} == {"pool-unhealthy"}
    assert [len([sample for sample in failed if sample.round == number]) for number in (1, 2, 3)] == [3, 1, 1]
    assert "layout mirror is left out for the rest of this round" in bench.log
    bench.transport.hooks.remove(refuse)
    assert bench.run(changed(repeats=3, attempts=3)).exit_code == 0


def test_a_volume_that_is_not_what_it_should_be_is_no_lost_host(bench: Bench) -> None:
    bench.when("volume create mirror", lambda _: Outcome(b"", b"", 0))
    bench.run(changed(attempts=1, layouts=[{**MIRROR, "options": {}}]))
    reasons = [sample.reasons[0] for sample in bench.samples]
    assert {reason.code for reason in reasons} == {"pool-unhealthy"}
    assert "does not list it" in reasons[0].message


@pytest.mark.parametrize("always", [False, True])
def test_a_bug_in_one_sample_does_not_stop_the_others(bench: Bench, always: bool) -> None:
    """Also when it strikes again as the sample is judged anew, now as one that failed."""
    judged: Counter[Path] = Counter()

    def broken(folder: Path, cell: Cell) -> list[Reason]:
        judged[folder] += 1
        if len(judged) == 1 and (always or judged[folder] == 1):
            raise ZeroDivisionError("a bug")
        return []

    assert bench.outcome(verdict=broken) == (4, 5, 0)
    assert max(judged.values()) > 1
    (failed,) = [sample for sample in bench.samples if sample.status == "failed"]
    assert [reason.code for reason in failed.reasons] == ["controller-error"]
    assert "ZeroDivisionError" in failed.reasons[0].message
    assert "Traceback" in (bench.store.path / "events.jsonl").read_text()


def test_a_full_disk_ends_the_run_and_leaves_the_hosts_clean(bench: Bench) -> None:
    full = RawStoreError("no space left on device; make room, then run the same command again")
    with patch.object(SampleWriter, "write", side_effect=full), pytest.raises(RawStoreError, match="make room"):
        bench.run()
    assert bench.throttled[-1] is None
    assert bench.samples == []
    assert bench.transport.files == {}
    assert bench.run().exit_code == 0


def test_bad_health_before_makes_the_sample_invalid_without_a_number(bench: Bench) -> None:
    bench.transport.disconnected = {"s2"}
    assert bench.run(changed(attempts=1)).exit_code == 1
    assert bench.ran == []
    assert all("peer-disconnected" in {reason.code for reason in sample.reasons} for sample in bench.samples)
    # seen by its own probe, the first sample is invalid; no other is begun on a pool that is not in order
    assert [sample.status for sample in bench.samples] == ["invalid", "failed", "failed", "failed"]
    assert all(sample.window is None for sample in bench.samples)


def test_a_brick_that_died_is_started_again_for_the_next_attempt(bench: Bench) -> None:
    def die(host: str) -> None:
        bench.transport.offline = {next(iter(bench.transport.volumes.values())).bricks[0]}

    def verdict(folder: Path, cell: Cell) -> list[Reason]:
        dead = not all(brick["online"] for brick in health_after(folder)["bricks"])
        return invalid("brick-offline") if dead else []

    bench.verdict = verdict
    bench.when("-i 0", die, once=True)
    assert bench.outcome() == (4, 5, 0)
    assert len([text for text in bench.transport.scripts("s1", "volume start") if "force" in text]) == 1


def test_a_volume_that_does_not_heal_is_made_anew(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    bench.run(ONE, verdict=bad_reads)
    bench.verdict = good
    bench.transport.heal_pending = 3
    bench.when("volume delete", lambda _: setattr(bench.transport, "heal_pending", 0))
    monkeypatch.setattr(recovery, "HEAL_WITHIN_S", 0.05)
    # a read: it would rather have the files that are there
    assert bench.outcome(ONE, retry=True) == (2, 1, 0)
    assert bench.transport.scripts("s1", "volume heal")
    assert re.search("6 entries of volume mirror-.* do not heal: it is made anew", bench.log)


def test_a_volume_whose_own_files_fill_the_disk_is_made_anew(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    full = {("s2", "gl_space"): "space 0 1000 1048576 /var/tmp/glusterlab\n"}

    def verdict(folder: Path, cell: Cell) -> list[Reason]:
        free = [found["free_bytes"] for found in health_after(folder)["space"]["s2"].values()]
        return [] if all(free) else invalid("disk-full")

    monkeypatch.setattr(recovery, "HEALTHY_WITHIN_S", 60.0)
    monkeypatch.setattr(recovery, "EMPTIED_AFTER_S", 0.0)
    bench.verdict = verdict
    bench.when("-i 0", lambda _: bench.transport.answers.update(full), once=True)
    bench.when("volume delete", lambda _: bench.transport.answers.clear())
    assert bench.outcome(ONE) == (2, 3, 0)
    assert "its own files may be what fills the disk" in bench.log
    assert "the pool is in order again" in bench.log


GONE = Outcome(b"", b"w01/iozone.DUMMY.0: expected 1048576 bytes, found none", 1)


def test_files_that_are_gone_are_made_again_untimed(bench: Bench) -> None:
    bench.when("stat -c %s", lambda _: GONE, once=True)
    assert bench.run().exit_code == 0
    made = [text for text in bench.transport.scripts("c1", "exec") if "-i 0" in text and "gl_make_room" in text]
    assert len(made) == 1
    assert len(bench.ran) == 4


def test_a_tool_that_makes_no_files_says_so_where_they_are_gone(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    reader = replace(IOZONE, operations=IOZONE.operations[1:])
    for module in ("run.plan", "run.sample", "run.runner"):
        monkeypatch.setattr(f"glusterlab.{module}.volume_tools", lambda: {"iozone": reader})
        monkeypatch.setattr(f"glusterlab.{module}.runnable", lambda: {"iozone": reader}, raising=False)
    bench.when("stat -c %s", lambda _: GONE)
    assert bench.run(changed(attempts=1)).exit_code == 1
    assert "iozone makes no files: another tool has to, before it (" in bench.log
    assert bench.ran == []


def test_a_tool_past_its_deadline_is_ended_on_all_hosts(bench: Bench) -> None:
    bench.when("-i 0", lambda _: Outcome(b"half", b"", None))
    bench.run(changed(attempts=1))
    writes = [sample for sample in bench.samples if sample.cell_id.startswith("iozone-write")]
    assert {sample.exit_code for sample in writes} == {None}
    assert (writes[0].path / "workload/stdout.txt").read_bytes() == b"half"
    for host in bench.cluster.hosts:
        assert any("gl_kill sadc" in text for text in bench.transport.scripts(host.name, "gl_kill"))


@pytest.mark.parametrize("lost", [True, False])
def test_what_a_workload_leaves_behind_is_ended_before_the_next_sample(bench: Bench, lost: bool) -> None:
    def leave(host: str) -> Outcome:
        bench.transport.strays = {"c2": ["iozone -i 0"], "s1": ["sadc 2 90"]}
        return Outcome(b"", b"the connection broke", None, lost=True) if lost else Outcome(b"done", b"", 0)

    bench.verdict = lambda folder, _: invalid("stray-process") if health_after(folder).get("stray") else []
    bench.when("-i 0", leave, once=True)
    assert bench.outcome() == (4, 5, 0)
    first = next(sample for sample in bench.samples if sample.status != "valid")
    assert first.reasons[0].code == ("host-unreachable" if lost else "stray-process")
    for host in bench.cluster.hosts:
        assert "gl_kill '' /mnt/glusterlab /var/tmp/glusterlab" in bench.transport.scripts(host.name, "gl_kill")[-1]


def test_a_step_of_the_preparation_fails_as_a_whole_under_a_real_bash(bench: Bench) -> None:
    said: list[str] = []

    def bash(host: str, text: str) -> Outcome:
        words = ["bash", "-c", 'eval "$(cat)" </dev/null']
        done = subprocess.run(words, input=text.encode(), capture_output=True, check=False)
        said.append(done.stdout.decode())
        return Outcome(done.stdout, done.stderr, done.returncode)

    bench.transport.hooks.append(bash)
    campaign = Campaign.model_validate(CAMPAIGN)
    cell = build_plan(campaign, bench.cluster).cells[0]
    site = Site(campaign, bench.cluster, Pool(bench.cluster.hosts, bench.transport), Progress("night"))
    with RawStore.create(bench.root / "steps", campaign_yaml="", cluster_yaml="", environment={}).begin_sample(
        cell, repeat=1, round=1, order=1, attempt=1
    ) as writer:
        run = SampleRun(site, cell, Volume.of(cell.layout, bench.cluster), writer)
        run._run_steps([HostCommand("c1", script=script) for script in ("set -e\necho one", "(echo two)")])
        with pytest.raises(CommandError) as failed:
            run._run_steps([HostCommand("c1", script=script) for script in ("set -e\n(exit 5)\necho late", "echo l")])
    assert failed.value.returncode == 5
    assert said == ["one\ntwo\n", ""]


def test_each_round_has_files_of_its_own_and_a_read_those_of_its_write(bench: Bench) -> None:
    bench.run(changed(repeats=2))
    assert {sample.round for sample in bench.samples} == {1, 2}
    for sample in bench.samples:
        log = bench.store.path / "cells" / sample.cell_id / f"sample-{sample.sample:02d}" / "log.txt"
        dataset = volume_tools()["iozone"].dataset(bench.store.cells()[sample.cell_id])
        assert f"/{dataset}-r{sample.round}" in read_raw(log)
        assert f"/{dataset}-r{3 - sample.round}" not in read_raw(log)


def test_a_changed_seed_is_refused_by_name_and_an_extended_campaign_goes_on(bench: Bench) -> None:
    bench.run()
    with pytest.raises(SpecError, match="seed: 7 before, 8 now"):
        bench.run(changed(seed=8))
    summary = bench.run(changed(workers=[1, 2], repeats=2, title="more of it", notebooks=["60-nfs"]))
    assert (summary.total, summary.executed, summary.exit_code) == (16, 12, 0)
    assert Manifest.read(bench.store.path).digests["campaign.yaml"] == file_digest(bench.store.path / "campaign.yaml")
    assert "more of it" in (bench.store.path / "campaign.yaml").read_text()
    with pytest.raises(SpecError, match="repeats: 2 before, 1 now"):
        bench.run(changed(workers=[1, 2], repeats=1))


def test_cells_that_the_campaign_lost_are_set_aside_and_come_back(bench: Bench) -> None:
    bench.run()
    path = bench.store.path
    whole = files_of(path / "cells")
    summary = bench.run(OTHER)
    assert (summary.total, summary.valid, summary.executed) == (2, 2, 0)
    assert {sample.cell_id for sample in bench.samples} == {name.partition("/")[0] for name in files_of(path / "cells")}
    assert files_of(path / "cells") | files_of(path / "aside") == whole
    assert len(list((path / "aside").iterdir())) == 2
    assert digests_are_right(path)
    assert "the campaign was changed: layouts: " in bench.log
    assert "2 cells are no longer in the campaign, such as iozone-" in bench.log
    summary = bench.run()
    assert (summary.total, summary.valid, summary.executed) == (4, 4, 0)
    assert files_of(path / "cells") == whole
    assert digests_are_right(path)
    assert "2 cells are in the campaign again" in bench.log


@pytest.mark.parametrize("moves", [1, 2])
def test_a_kill_while_cells_are_set_aside_loses_nothing(bench: Bench, moves: int) -> None:
    bench.run()
    path = bench.store.path
    whole = files_of(path / "cells")
    rename = Path.rename
    moved: list[Path] = []

    def strike(source: Path, target: Path) -> Path:
        done = rename(source, target)
        if target.parent.name == "aside":
            moved.append(target)
            if len(moved) == moves:
                raise Kill
        return done

    with patch.object(Path, "rename", strike), pytest.raises(Kill):
        bench.run(OTHER)
    codes = Counter(finding.code for finding in verify(path))
    assert codes["moved-cell"] == moves
    assert not codes.keys() & {"missing-file", "unlisted-file", "changed-file"}
    assert bench.run().executed == 0
    assert files_of(path / "cells") == whole
    assert digests_are_right(path)


def test_a_cell_that_lies_in_both_places_is_not_overwritten(bench: Bench) -> None:
    bench.run()
    cell = bench.samples[0].cell_id
    (bench.store.path / "aside" / cell).mkdir(parents=True)
    with pytest.raises(RawStoreError, match=f"{cell}: is there already"):
        bench.run()


def test_scale_models_that_were_changed_are_stored_with_the_cells_that_they_make(bench: Bench) -> None:
    bench.run()
    path = bench.store.path
    stored = (path / "cluster.yaml").read_text()
    rescaled = {"description": "another", "scale_models": {"large-file": {"scale": 100}}}
    bench.cluster = Cluster.model_validate(CLUSTER | rescaled)
    assert bench.outcome() == (4, 4, 0)
    status = campaign_status(path)
    assert (status.total("valid"), status.total("wanted"), status.complete) == (4, 4, True)
    assert (path / "cluster.yaml").read_text() == stored.replace("scale: 200", "scale: 100")
    assert digests_are_right(path)
    assert "the cluster's scale models were changed: scale_models.large-file.scale: 200 before, 100 now" in bench.log
    # killed before the digest was stored
    (path / MANIFEST).write_text(Manifest({**Manifest.read(path).digests, "cluster.yaml": "0" * 64}).text)
    bench.run()
    assert digests_are_right(path)
    bench.cluster = Cluster.model_validate(CLUSTER)
    assert bench.run().executed == 0
    assert (path / "cluster.yaml").read_text() == stored
    assert campaign_status(path).complete


# a testbed that was started again has new loop devices
LOOPS = [{**server, "devices": ["loop42"]} for server in CLUSTER["servers"]]


@pytest.mark.parametrize(
    ("cluster", "before", "now", "message"),
    [
        ({"work_dir": "/srv/elsewhere"}, {}, {}, "work_dir: /var/tmp/glusterlab before, /srv/elsewhere now"),
        (
            {"scale_models": {"large-file": {"scale": 200, "mount_options": ["acl"]}}},
            *({}, {}, "scale_models.large-file.mount_options: [] before, ['acl'] now"),
        ),
        ({"servers": [{**LOOPS[0], "interface": "eth9"}, LOOPS[1]]}, {}, {}, "interface"),
        ({"servers": LOOPS}, {}, {}, None),
        ({}, {}, {"tool gluster": "glusterfs 11.1"}, "c1: gluster 10.3 before, 11.1 now"),
        ({}, {"gluster_digest": "1f"}, {"gluster_digest": "2e"}, "c1: gluster_digest 1f before, 2e now"),
        ({}, {}, {"gluster_digest": "2e"}, None),
        ({}, {"existing": "xfs /dev/sda1 rw"}, {"existing": "ext4 /dev/sdb1 rw"}, "c1: existing xfs /dev/sda1 rw be"),
        ({}, {"memory_bytes": "64000000000"}, {"memory_bytes": "48000000000"}, "c1: memory_bytes 64000000000 before"),
        ({}, {"sysctl vm.swappiness": "60"}, {"sysctl vm.swappiness": "1"}, "c1: vm.swappiness 60 before, 1 now"),
        ({}, {"interface_speed": "10000"}, {"interface_speed": "1000"}, "c1: interface_speed_bytes_per_s 1250000000.0"),
        ({}, {}, {"memory_bytes": "63990000000", "work_dir_free_bytes": "5000000000"}, None),
    ],
)
def test_hosts_that_were_changed_are_refused_unless_it_cannot_matter(
    bench: Bench, cluster: dict[str, Any], before: dict[str, str], now: dict[str, str], message: str | None
) -> None:
    bench.transport.facts = {"c1": before}
    bench.run()
    bench.transport.facts = {"c1": now}
    bench.cluster = Cluster.model_validate({**CLUSTER, **cluster})
    if message is None:
        assert bench.run().executed == 0
    else:
        with pytest.raises(SpecError, match=re.escape(message)):
            bench.run()


def test_a_testbeds_campaign_goes_on_on_another_machine_when_it_is_told(bench: Bench) -> None:
    one = {"cpu_model": "one", "gluster_digest": "1f"}
    first = bench.transport.facts = {host.name: one for host in bench.cluster.hosts}
    bench.run()
    bench.transport.facts = dict.fromkeys(first, one | {"kernel": "6.2.0", "gluster_digest": "2e"})
    with pytest.raises(SpecError, match=r"kernel 6\.1\.0 before, 6\.2\.0 now.*go on with --moved"):
        bench.run(changed(repeats=2))
    assert bench.run(changed(repeats=2), moved=True).executed == 4
    assert Counter(sample.machine for sample in bench.samples) == {1: 4, 2: 4}
    assert {host["kernel"] for host in bench.store.environments()[2]["hosts"].values()} == {"6.2.0"}
    assert digests_are_right(bench.store.path)
    bench.transport.facts = {name: {"cpu_model": "other"} for name in first}  # another processor, another machine
    with pytest.raises(SpecError, match=r"cpu_model one before, other now"):
        bench.run(changed(repeats=3))
    # both are known now, and a third one is not
    bench.transport.facts = first
    assert bench.run(changed(repeats=3)).executed == 4
    assert Counter(sample.machine for sample in bench.samples) == {1: 8, 2: 4}
    bench.transport.facts = first | {"c1": {"cpu_model": "one", "kernel": "6.2.0", "tool gluster": "glusterfs 11.1"}}
    with pytest.raises(SpecError, match=r"c1: gluster 10\.3 before, 11\.1 now; give the campaign another name$"):
        bench.run(changed(repeats=3), moved=True)


def test_real_hosts_do_not_move(bench: Bench) -> None:
    bench.cluster, campaign = Cluster.model_validate(pool_data(n_clients=2)), campaign_data(layouts=[PLAIN])
    bench.run(campaign)
    bench.transport.facts = {"c1": {"kernel": "6.2.0"}}
    with pytest.raises(SpecError, match=r"kernel 6\.1\.0 before"):
        bench.run(campaign, moved=True)


def _blocks_and_volumes(bench: Bench, options: dict[str, str], *others: dict[str, Any]) -> tuple[int, Counter[str]]:
    backings = {"jbod": {"bricks": ["/bricks/d1"], "kind": "jbod"}, "nvme": {"bricks": ["/n/n01"], "kind": "nvme"}}
    bench.cluster = bench.transport.cluster = Cluster.model_validate(CLUSTER | {"backings": backings})
    bench.transport.release = "3.8.4"
    tiered = PLAIN | {"name": "tiered", "hot": {"geometry": "2", "backing": "nvme"}, "options": options}
    reads = [each | {"operations": "read"} for each in CAMPAIGN["workloads"]]
    count = 4 * (1 + len(others))
    assert bench.outcome(changed(layouts=[tiered, *others], workloads=reads, repeats=4)) == (count, count, 0)
    blocks = [name for name, _ in groupby(bench.ran)]
    return blocks.count("tiered read"), Counter(re.findall(r"created volume (\w+)-", bench.log))


def test_a_volume_with_a_hot_tier_begins_every_block_empty(bench: Bench) -> None:
    blocks, made = _blocks_and_volumes(bench, {}, PLAIN)
    assert made == {"plain": 1, "tiered": blocks}
    assert blocks > 1


def test_files_that_a_tier_is_to_move_are_made_for_every_sample(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("glusterlab.run.sample.gluster.wait_for_files", lambda *_, **__: None)
    assert _blocks_and_volumes(bench, {"cluster.tier-demote-frequency": "5"}) == (1, {"tiered": 4})


def test_hot_caches_are_filled_by_a_pass_that_is_not_measured(bench: Bench) -> None:
    hot = [{**each, "caches": ["cold", "hot"]} for each in CAMPAIGN["workloads"]]
    campaign = changed(layouts=[PLAIN], workloads=hot)
    summary = bench.run(campaign)
    # a write has no files that could be read before
    assert (summary.valid, summary.not_runnable) == (3, 1)
    assert Counter(bench.ran) == {"plain write": 1, "plain read": 3}
    assert {bench.store.cells()[sample.cell_id].caches for sample in bench.samples} == {"cold", "hot"}
    drops = Counter(name for name, text in bench.transport.calls if "gl_drop_caches" in text)
    assert drops == {host.name: 2 for host in bench.cluster.hosts}


def test_features_are_on_before_a_sample_and_in_the_cell(bench: Bench) -> None:
    servers = [server.name for server in bench.cluster.servers]

    def as_health_says(folder: Path, cell: Cell) -> list[Reason]:
        health = read_record(Health, folder / "gluster" / "before" / "health.json")
        return health_reasons(health, "before", servers, ["c1", "c2"], cell.layout)

    bench.run(changed(layouts=[PLAIN, {**PLAIN, "name": "signed", "features": ["bitrot"]}]), as_health_says)
    assert [sample.reasons for sample in bench.samples] == [()] * 4
    (signed,) = (volume for name, volume in bench.transport.volumes.items() if name.startswith("signed-"))
    (plain,) = (volume for name, volume in bench.transport.volumes.items() if name.startswith("plain-"))
    assert (signed.options["features.bitrot"], signed.bricks != plain.bricks) == ("on", True)
    assert "features.bitrot" not in plain.options
    assert sorted(cell.layout.features for cell in bench.store.cells().values()) == [(), (), ("bitrot",), ("bitrot",)]


def test_workers_run_on_the_clients_that_the_cell_names(bench: Bench) -> None:
    some = [{**each, "clients": 1} for each in CAMPAIGN["workloads"]]
    bench.run(changed(layouts=[PLAIN], workers=[2], workloads=some))
    placed = [text for _, text in bench.transport.calls if "run-iozone/clients" in text and "printf %s" in text]
    assert placed
    assert all("c1 /" in text and "c2 /" not in text for text in placed)
    assert {sample.clients for sample in bench.samples} == {("c1", "c2")}


def test_cells_that_cannot_be_run_here_are_counted_and_named(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GLUSTERLAB_SMALLFILE", raising=False)
    small = {"tool": "smallfile", "operations": ["create", "read"], "file_size": "32 KiB", "files_per_worker": 10}
    workloads = [*CAMPAIGN["workloads"], {**small, "model": "large-file"}]
    summary = bench.run(changed(workloads=workloads))
    assert (summary.exit_code, summary.total, summary.not_runnable) == (0, 4, 4)
    (why,) = summary.not_runnable_reasons
    assert re.match("4 cells: .*smallfile", why)
    assert f"not runnable here, and left out: {why}" in bench.log


def test_cells_whose_tool_a_client_lacks_are_left_out_until_it_is_there(bench: Bench) -> None:
    fio = {"tool": "fio", "operations": ["write"], "file_size": "1 MiB", "record_size": "64 KiB"}
    campaign = changed(workloads=[*CAMPAIGN["workloads"], {**fio, "model": "large-file"}], access=["native", "gfapi"])
    without = {"tool fio": "", "tool fio-gfapi": " "}
    bench.transport.facts = {"c2": without}
    summary = bench.run(campaign)
    assert (summary.exit_code, summary.total) == (0, 4)
    assert "4 cells: tool 'fio': c2 has no fio (package fio)" in summary.not_runnable_reasons
    # it came without what gfapi needs, and the facts of the hosts are kept once more
    bench.transport.facts = {"c2": {"tool fio-gfapi": " "}}
    summary = bench.run(campaign)
    assert summary.executed == 2
    assert "2 cells: tool 'fio': c2 has no fio-gfapi (package fio)" in summary.not_runnable_reasons
    assert Counter(sample.machine for sample in bench.samples) == {1: 4, 2: 2}
    assert bench.store.environments()[2]["hosts"]["c2"]["tools"]["fio"] == "3.33"
    assert digests_are_right(bench.store.path)
    assert bench.run(campaign).executed == 0
    bench.transport.facts = {"c2": {"tool fio": "fio-3.39", "tool fio-gfapi": " "}}
    with pytest.raises(SpecError, match=r"c2: fio 3\.33 before, 3\.39 now"):
        bench.run(campaign)


def test_a_layout_that_gluster_refuses_is_left_out_and_the_rest_goes_on(bench: Bench) -> None:
    bench.transport.refused = {"a.b"}
    summary = bench.run()
    assert (summary.exit_code, summary.total, summary.valid, summary.not_runnable) == (0, 2, 2, 2)
    assert {ran.split()[0] for ran in bench.ran} == {"plain"}
    why = "2 cells: layout mirror: GlusterFS 10.3 refuses the option a.b = on"
    assert why in summary.not_runnable_reasons[0]
    assert list(bench.store.path.glob("cells/*mirror*/sample-*")) == []
    # another release may have it: the same command tries again
    bench.transport.refused = set()
    assert bench.outcome() == (4, 2, 0)
    bench.transport.refused = {"a.b"}
    bench.root /= "other"
    with pytest.raises(RefusedError, match=r"refuses the option a\.b = on"):
        bench.run(ONE)


def test_what_a_pool_refuses_is_known_before_a_run(bench: Bench) -> None:
    campaign, pool = Campaign.model_validate(CAMPAIGN), Pool(bench.cluster.hosts, bench.transport)
    found = build_plan(campaign, bench.cluster)
    bench.transport.refused = {"a.b"}
    bench.transport.volumes["theirs"] = FakeVolume("Distribute", ["10.0.0.1:/data/brick"])
    refused, unasked = refusals(found, bench.cluster, pool=pool)
    left_out = build_plan(campaign, bench.cluster, refused=refused)
    reasons = {why for _, why in left_out.not_runnable}
    assert (reasons, unasked) == ({"layout mirror: GlusterFS 10.3 has no option a.b"}, None)
    assert len(left_out.cells) == len(found.cells) - 2
    tiered = found.cells[0].layout.model_copy(update={"options": (), "hot": found.cells[-1].layout.model_copy()})
    cells = tuple(cell.model_copy(update={"layout": tiered}) for cell in found.cells)
    asked = refusals(replace(found, cells=cells), bench.cluster, pool=pool)
    assert asked == ({tiered: "layout mirror: GlusterFS 10.3 has no hot tiers: 3.7 to 5 have"}, None)
    bench.transport.down = {"s1"}
    assert refusals(found, bench.cluster, pool=pool)[1] == (
        "options and tiers of volumes were not asked about: s1: not reachable at 10.0.0.1 port 22: no route to host"
    )
    # a campaign without options asks nobody
    assert refusals(build_plan(Campaign.model_validate(OTHER), bench.cluster), bench.cluster, pool=pool) == ({}, None)


def test_a_campaign_that_cannot_run_here_says_why(bench: Bench) -> None:
    with pytest.raises(UsageError, match=r"no cell that can be run here: .*3 distinct servers"):
        bench.run(changed(layouts=[{"name": "big", "type": "replicate", "geometry": "1x3", "backing": "jbod"}]))


def test_the_morning_log_tells_what_happened(bench: Bench) -> None:
    bench.run(changed(attempts=1), verdict=bad_reads)
    assert "no attempt is left; 'glusterlab run --retry' gives it new ones" in bench.log
    assert "run the same command with --retry" in bench.log.splitlines()[-1]
    details = [event.details for event in EventReader(bench.store.path).new() if not event.message]
    assert any("glusterlab_revision" in each for each in details)
    assert any("volume create" in each.get("command", "") and each["exit_code"] == 0 for each in details)


def test_what_a_run_does_now_is_told_from_its_first_step_to_its_end(bench: Bench) -> None:
    seen: list[RunState] = []
    bench.when("", lambda _: seen.append(bench.now))
    bench.run(changed(attempts=1), verdict=bad_reads)
    assert {life(state) for state in seen} == {"running"}
    phases = [state.phase for state in seen]
    assert {"clearing what an earlier run left", "reading the facts of all hosts", "before", "workload"} <= set(phases)
    measuring = next(state for state in seen if state.phase == "workload")
    assert (measuring.now.operation, measuring.now.workers, measuring.now.attempt) == ("write 1 MiB", 2, 1)
    last = bench.now
    assert (life(last), last.outcome, last.valid, last.invalid) == ("ended", "incomplete", 2, 2)
    assert last.codes == {"heal-pending": 2}
    assert last.recent[-1].problem == "heal-pending: 3 entries"


def test_an_unreachable_host_ends_the_run_before_anything_is_made(bench: Bench) -> None:
    bench.transport.down = {"s2"}
    with pytest.raises(HostError, match=r"s2: not reachable at 10\.0\.0\.2"):
        bench.run()
    assert not (bench.root / "night" / "campaign.yaml").exists()
    assert (bench.now.outcome, "s2: not reachable" in bench.now.message) == ("failed", True)
    bench.transport.down = set()
    assert bench.run().exit_code == 0
    # the log of the run that failed is kept
    assert "s: s2: not reachable" in bench.log


def test_a_stop_does_not_wait_for_a_host_that_is_silent(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    began: list[float] = []
    execute = bench.transport.execute

    def lose(host: Host, command: str, stdin: bytes, deadline_s: float, stop: Stop) -> Outcome:
        if host.name != "s2" or not began:
            return execute(host, command, stdin, deadline_s, stop)
        end = time.monotonic() + deadline_s
        while not stop.requested and time.monotonic() < end:
            time.sleep(0.05)
        return Outcome(b"", b"", None)

    def stop_run(host: str) -> None:
        bench.transport.strays = {"c2": ["iozone -i 0"]}
        began.append(time.monotonic())
        pool.stop()

    monkeypatch.setattr(bench.transport, "execute", lose)
    bench.when("-i 0", stop_run)
    pool = Pool(bench.cluster.hosts, bench.transport)
    assert bench.run(pool=pool).interrupted
    assert time.monotonic() - began[0] < 10
    assert bench.transport.strays == {}
    assert {host for host, _ in bench.transport.files} == {"s2"}
    assert "WARNING not known to be clear: s2; what still runs there ends" in bench.log


@pytest.mark.parametrize("signals", [1, 2])
def test_a_signal_during_the_clean_up_does_not_cut_it_off(bench: Bench, signals: int) -> None:
    def interrupt(times: int) -> None:
        for _ in range(times):
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.5)

    def stop_run(host: str) -> None:
        interrupt(1)
        bench.transport.strays = {"c1": ["iozone -i 0"]}

    bench.when("-i 0", stop_run)
    bench.when("gl_leave", lambda _: interrupt(signals), host="c1")
    if signals == 1:
        assert bench.run().interrupted
        assert bench.transport.strays == {}
        assert bench.transport.files == {}
        assert "not known to be clear" not in bench.log
    else:
        with pytest.raises(KeyboardInterrupt):
            bench.run()
        assert "not known to be clear: c1, c2, s1, s2; what still runs there ends" in bench.log
        assert (life(bench.now), bench.now.outcome) == ("ended", "stopped")


def test_only_layouts_with_something_left_to_run_keep_a_run_going(bench: Bench) -> None:
    """A layout that is complete does not: the other's trouble would only use up its attempts, all night."""
    bench.run({**OTHER, "repeats": 6})
    with pytest.raises(HostError, match=r"3 samples in a row .*glusterd does not answer"):
        bench.run(changed(repeats=6), verdict=in_trouble)
    failed = [sample for sample in bench.samples if sample.status != "valid"]
    assert Counter((sample.round, sample.attempt) for sample in failed) == {(1, 1): 2, (1, 2): 1}


def test_trouble_in_the_last_round_leaves_a_run_incomplete_and_is_no_error(bench: Bench) -> None:
    bench.run(OTHER)
    assert bench.run(changed(attempts=3), verdict=in_trouble).outcome == "incomplete"


@pytest.mark.parametrize("why", ["unreachable", "in use", "changed"])
def test_a_campaign_that_was_edited_is_stored_only_when_the_run_has_its_hosts(bench: Bench, why: str) -> None:
    bench.run()
    before = digests_of(bench.store.path)
    edited = {**OTHER, "title": "another"}
    theirs = json.dumps({**asdict(Owner.this_process("other", "other.1")), "controller": "elsewhere"})
    if why == "unreachable":
        bench.transport.down = {"s2"}
    elif why == "in use":
        bench.transport.files["s2", OWNER] = theirs
    else:
        bench.transport.facts = {"s2": {"kernel": "6.12"}}
    with pytest.raises((HostError, UsageError, SpecError)):
        bench.run(edited)
    assert digests_of(bench.store.path) == before
    bench.transport.down, bench.transport.facts = set(), {}
    bench.transport.files.clear()
    bench.run(edited)
    assert "another" in (bench.store.path / "campaign.yaml").read_text()


MORE_THAN_A_LOOK = ("gl_kill", "gl_leave", "gl_drop_caches", "gl_gluster", "gl_mount ", "gl_remove", "sadc")


@pytest.mark.parametrize("when", ["workload", "between samples"])
@pytest.mark.parametrize("ended", [False, True])
def test_a_run_that_is_taken_over_ends_and_leaves_the_hosts_alone(bench: Bench, when: str, ended: bool) -> None:
    """Also when the other run has ended by then, and nobody has the host."""

    def take_over(host: str = "c1") -> None:
        owner = bench.transport.files.pop((host, OWNER))
        if not ended:
            bench.transport.files[host, OWNER] = owner.replace('"mark": "', '"mark": "theirs.')
        bench.transport.calls.clear()

    def verdict(folder: Path, cell: Cell) -> list[Reason]:
        # the next sample would look at the pool first, and mend it
        if when == "between samples":
            take_over()
        return invalid()

    bench.verdict = verdict
    if when == "workload":
        bench.when("-i 0", take_over)
    with pytest.raises(LockLostError, match="another run has taken over c1"):
        bench.run(changed(attempts=1))
    assert len(bench.samples) == (when != "workload")
    calls = bench.transport.calls
    done = [line for host, text in calls if host == "c1" for line in text.splitlines()]
    guarded = [n for n, line in enumerate(done) if line.startswith(("gl_guard", "gl_owned"))]
    assert guarded
    assert not [line for line in done[: guarded[0]] if any(word in line for word in MORE_THAN_A_LOOK)]
    assert not [text for _, text in calls if "gl_gluster volume" in text and "gl_guard" not in text]
    assert not bench.transport.scripts("c1", "gl_leave")
