"""An event of a cell, in a pool in memory: what a real rebalance says was not at hand, see `read_rebalance`."""

import json
import re
import threading
from pathlib import Path
from typing import Any

import pytest

from glusterlab.errors import ParseError
from glusterlab.hosts.health import health_reasons
from glusterlab.hosts.transport import Outcome
from glusterlab.reasons import Reason
from glusterlab.run import event
from glusterlab.run.contradictions import out_of_order
from glusterlab.run.event import event_columns, event_reasons, has_grown, read_heal, read_rebalance
from glusterlab.run.plan import build_plan
from glusterlab.run.validity import change_reasons
from glusterlab.spec import Campaign, Cell, Cluster
from glusterlab.store.evidence import unpacked
from glusterlab.store.records import BrickHealth, CommandRecord, Health, read_record
from glusterlab.store.sample import Sample, Window
from tests.run.test_runner import CAMPAIGN, CLUSTER, MIRROR, PLAIN, Bench, changed

WORKLOAD = CAMPAIGN["workloads"][0]
FIRST = {"do": "rebalance", "to": 4, "throttle": "lazy"}
HEAL = {"do": "reset-brick"}


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    found = Bench(tmp_path, monkeypatch)
    backings = {"jbod": {"bricks": ["/bricks/d1", "/bricks/d2"], "kind": "jbod"}}
    found.cluster = found.transport.cluster = Cluster.model_validate({**CLUSTER, "backings": backings})
    return found


def campaign_with(what: dict[str, Any], **keys: Any) -> dict[str, Any]:
    during = {**WORKLOAD, "operations": "read", "event": what}
    return changed(**{"layouts": [PLAIN], "workloads": [WORKLOAD, during], "attempts": 1, **keys})


def node(state: str, **counts: object) -> str:
    values = {"files": 3, "size": 100, "lookups": 9, "failures": 0, "skipped": 2, "runtime": "4.00", **counts}
    numbers = "".join(f"<{name}>{value}</{name}>" for name, value in values.items())
    return f"<node><nodeName>s</nodeName><id>7</id>{numbers}{state}</node>"


def output(*nodes: str) -> bytes:
    # the form that the source of GlusterFS 10 writes: cli_xml_output_vol_rebalance_status
    text = "".join(nodes)
    return f"<cliOutput><opRet>0</opRet><volRebalance><op>3</op>{text}</volRebalance></cliOutput>".encode()


def named(state: str) -> str:
    return f"<status>9</status><statusStr>{state}</statusStr>"


def test_states_of_servers_make_that_of_a_rebalance() -> None:
    done, runs = named("completed"), named("in progress")
    both = read_rebalance(output(node(done, runtime="9.50"), node(runs, failures=1)))
    assert both == ("in progress", 6, 200, 1, 9.5)
    states = {
        ("completed", "not started"): "completed",
        ("completed", "failed", "not started"): "failed",
        ("in progress", "failed"): "in progress",
        ("stopped", "completed"): "failed",
        ("not started",): "not started",
    }
    for each, state in states.items():
        assert read_rebalance(output(*(node(named(one)) for one in each))).state == state
    assert read_rebalance(output(node("<status>3</status>", runtime=""))) == ("completed", 3, 100, 0, None)
    assert read_rebalance(output(node(named("fix-layout in progress")))).state == "in progress"
    with pytest.raises(ParseError, match="found 'unknown'"):
        read_rebalance(output(node(named("unknown"))))
    with pytest.raises(ParseError, match="found none"):
        read_rebalance(output())


def test_a_heal_is_over_when_no_server_has_entries() -> None:
    for text, state in {"s1 heal 0\ns2 heal 0\n": "completed", "s1 heal 0\ns2 heal 3\n": "in progress"}.items():
        assert read_heal(text.encode()) == (state, None, None, 0, None)
    for text in ("", "s1 heal 0\nunreachable"):
        with pytest.raises(ParseError, match="expected the entries that wait on each server, found "):
            read_heal(text.encode())


def judged(folder: Path, cell: Cell) -> list[Reason]:
    """What is wrong with an event, and with the volume after it."""
    reasons = list(event_reasons(folder, cell, read_record(CommandRecord, folder / "workload/command.json")))
    if cell.event is not None:
        layout = cell.layout_after if has_grown(folder) else cell.layout
        health = read_record(Health, folder / "gluster/after/health.json")
        reasons += health_reasons(health, "after", sorted(health.peers), ["c1", "c2"], layout)
    return reasons


def at_work(bench: Bench, states: list[str]) -> None:
    """Let looks find a rebalance in progress, and these states from the moment on at which the workload runs."""
    bench.when("volume create", lambda _: setattr(bench.transport, "rebalance", ["in progress"]))

    def begin(_: str) -> None:
        if any(volume.rebalanced for volume in bench.transport.volumes.values()):
            bench.transport.rebalance = list(states)

    bench.when("-i 1", begin)


def test_a_rebalance_lasts_longer_than_the_workload_on_a_volume_of_its_own(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event, "LOOK_EVERY_S", 0.2)
    at_work(bench, [*["in progress"] * 8, "completed"])
    summary = bench.run(campaign_with(FIRST, repeats=2), judged)
    assert [sample.reasons for sample in bench.samples] == [()] * 6
    assert (summary.valid, summary.exit_code) == (6, 0)
    assert bench.ran[2] == bench.ran[5] != bench.ran[1]
    sample = next(sample for sample in bench.samples if "rebalance" in sample.cell_id)
    assert sample.cell_id.startswith("iozone-read-1mib-distribute-2-jbod-native-w2-rebalance-4-lazy-")
    with unpacked(sample.path) as folder:
        health = read_record(Health, folder / "gluster/after/health.json")
        assert (len(health.bricks), all(brick.online for brick in health.bricks)) == (4, True)
        commands = [json.loads(line)["command"] for line in (folder / event.COMMANDS).read_text().splitlines()]
        looks = (folder / event.STATUS).read_text().splitlines()
        columns = event_columns(folder)
    assert [command[1:3] for command in commands] == [["volume", "add-brick"], ["volume", "rebalance"]]
    assert len(looks) >= 3
    servers = len(bench.cluster.servers)
    assert (columns["event_files"], columns["event_bytes"]) == (4 * servers, 4096 * servers)
    assert columns["event_s"] == servers - 0.5
    # for each sample the volume is made anew, and it is gone after it
    assert not any("grows" in name for name in bench.transport.volumes)
    created = [text for text in bench.transport.scripts("s1", "volume create") if "-grows " in text]
    assert len(created) == 2
    assert len(bench.transport.scripts("s1", "cluster.rebal-throttle lazy")) == 2
    assert any("-grows" in text for text in bench.transport.scripts("s1", "gl_clear_dir"))
    assert bench.run(campaign_with(FIRST, repeats=2), judged).executed == 0


@pytest.mark.parametrize(
    ("what", "states", "refused", "code", "message"),
    [
        (FIRST, ["in progress", "completed"], "", "event-ended-early", "was over .* and the workload after"),
        (FIRST, ["completed"], "", "event-not-started", "was not seen in progress before the workload began"),
        (FIRST, ["in progress"], "add-brick", "event-not-started", "add-brick.*not now"),
        (FIRST, ["in progress"], "rebalance", "event-not-started", "rebalance.*not now"),
        ({**FIRST, "at": "100 s"}, ["in progress"], "", "event-not-started", "from 100 s on: it was not begun"),
        (FIRST, ["in progress", "in progress", "failed"], "", "event-failed", "found 'failed', with 0 failures"),
        (FIRST, ["in progress", "in progress", "paused"], "", "event-failed", "found 'paused'"),
    ],
)
def test_what_is_wrong_with_an_event(
    bench: Bench,
    monkeypatch: pytest.MonkeyPatch,
    what: dict[str, Any],
    states: list[str],
    refused: str,
    code: str,
    message: str,
) -> None:
    monkeypatch.setattr(event, "LOOK_EVERY_S", 0.02)
    bench.transport.rebalance = states
    if refused:
        bench.when(f"volume {refused}", lambda _: Outcome(b"", b"not now", 1), host="s1")
    bench.run(campaign_with(what), judged)
    (sample,) = (sample for sample in bench.samples if "rebalance" in sample.cell_id)
    found = {reason.code: reason.message for reason in sample.reasons}
    assert code in found
    assert found.keys() <= {code, "event-ended-early"}
    assert re.search(message, found[code])
    assert not any("grows" in name for name in bench.transport.volumes)


def test_an_event_that_comes_later_may_end_before_the_workload(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event, "LOOK_EVERY_S", 0.02)
    done = threading.Event()
    bench.transport.hooks.append(lambda _, text: done.set() if "rebalance" in text and " status " in text else None)

    def wait(_: str) -> None:
        # the volume that is to grow is the only one that is started then
        if any("grows" in name and volume.started for name, volume in bench.transport.volumes.items()):
            assert done.wait(60)

    bench.when("-i 1", wait)
    bench.run(campaign_with({**FIRST, "at": "10 ms"}), judged)
    assert [sample.reasons for sample in bench.samples] == [()] * 3


def test_its_commands_run_beside_the_workloads_and_have_no_place_in_their_order(tmp_path: Path) -> None:
    window, log = Window(start=0.0, end=60.0), tmp_path / "log.txt"
    log.write_text(json.dumps({"host": "s1", "start": 20.0, "end": 30.0}))
    assert event.command_times(tmp_path) == []
    assert list(out_of_order(log, window)) == ["a command on s1 is logged from 20 to 30, out of its order"]
    for name, (begin, end) in {event.COMMANDS: (19.9, 30.1), event.STATUS: (32.0, 33.0)}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(json.dumps({"time": begin, "end": end}))
    assert list(out_of_order(log, window, event.command_times(tmp_path))) == []
    assert list(out_of_order(log, window, event.command_times(tmp_path)[1:])) != []


def test_what_new_bricks_missed_is_healed_before_the_pool_is_judged(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event, "LOOK_EVERY_S", 0.2)
    at_work(bench, [*["in progress"] * 8, "completed"])
    bench.when("volume add-brick", lambda _: setattr(bench.transport, "heal_pending", 2))
    bench.when("volume heal", lambda _: setattr(bench.transport, "heal_pending", 0))
    bench.run(campaign_with(FIRST), judged)
    sample = next(sample for sample in bench.samples if "rebalance" in sample.cell_id)
    assert sample.reasons == ()
    with unpacked(sample.path) as folder:
        looks = [json.loads(line) for line in (folder / event.STATUS).read_text().splitlines()]
        assert event_columns(folder)["event_s"] == len(bench.cluster.servers) - 0.5
    entries = "".join(f"{server.name} heal 2\n" for server in bench.cluster.servers)
    assert [(look["command"][0], look["output"]) for look in looks[-2:]] == [("heal", entries), ("heal", "0")]


def reset(bench: Bench, entries: list[int]) -> None:
    """Let the pool know the command, and looks at it find so many entries, of which the last stays."""
    bench.when("volume reset-brick", lambda _: Outcome(b"done", b"", 0))

    def look(_: str) -> None:
        bench.transport.heal_pending = entries.pop(0) if len(entries) > 1 else entries[0]

    bench.when("gl_part heal gl_heal 0 ", look, host="s1")


def healed(bench: Bench, what: dict[str, Any]) -> Sample:
    bench.run(campaign_with(what, layouts=[MIRROR]), judged)
    (sample,) = (sample for sample in bench.samples if "reset-brick" in sample.cell_id)
    assert not any("grows" in name for name in bench.transport.volumes)
    return sample


def test_a_brick_is_emptied_and_healed_on_a_volume_of_its_own(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event, "LOOK_EVERY_S", 0.02)
    # the first looks come before the pool has found what it lacks; once it seems to be done
    reset(bench, [0, 0, 0, *[5] * 20, 0, *[5] * 20, 0])
    sample = healed(bench, HEAL)
    assert sample.reasons == ()
    assert sample.cell_id.startswith("iozone-read-1mib-replicate-1x2-jbod-native-w2-reset-brick-")
    with unpacked(sample.path) as folder:
        commands = [json.loads(line)["command"] for line in (folder / event.COMMANDS).read_text().splitlines()]
        looks = [json.loads(line) for line in (folder / event.STATUS).read_text().splitlines()]
        columns, renewed = event_columns(folder), event.renewed_brick(folder)
        health = read_record(Health, folder / "gluster/after/health.json")
    name, brick = commands[0][3:5]
    path = brick.partition(":")[2]
    assert (name.endswith("-grows"), renewed) == (True, ("s1", path))
    assert [command[1:] for command in commands] == [
        ["volume", "reset-brick", name, brick, "start"],
        ["s1", path],
        ["volume", "reset-brick", name, brick, brick, "commit", "force"],
    ]
    assert any(f"mkdir {path}" in text for text in bench.transport.scripts("s1", "gl_clear_dir"))
    assert (columns["event_files"], columns["event_bytes"]) == (None, None)
    # until the first of the two looks that agree
    assert columns["event_s"] == looks[-2]["end"] - columns["event_start_s"]
    # its process is another one afterwards; no other brick's may be
    old, new = (
        [BrickHealth(host=host, path=path, online=True, pid=pid + n) for n, host in enumerate(("s1", "s2"))]
        for pid in (10, 20)
    )
    before, first, other = (health.model_copy(update={"bricks": each}) for each in (old, [new[0], old[1]], new))
    assert change_reasons(before, first, 1.0, renewed=renewed) == []
    assert [reason.host for reason in change_reasons(before, other, 1.0, renewed=renewed)] == ["s2"]
    assert len(change_reasons(before, first, 1.0)) == 1


@pytest.mark.parametrize(
    ("what", "entries", "refused", "code", "message"),
    [
        (HEAL, [5], True, "event-not-started", "reset-brick.*not now"),
        (HEAL, [0], False, "event-not-started", "was not seen in progress before the workload began"),
        ({**HEAL, "at": "10 ms"}, [0], False, "event-not-started", "no brick was seen to have entries to heal"),
        (HEAL, [*[5] * 3, 0], False, "event-ended-early", "was over .* and the workload after"),
    ],
)
def test_what_is_wrong_with_a_heal(
    bench: Bench,
    monkeypatch: pytest.MonkeyPatch,
    what: dict[str, Any],
    entries: list[int],
    refused: bool,
    code: str,
    message: str,
) -> None:
    monkeypatch.setattr(event, "LOOK_EVERY_S", 0.02)
    monkeypatch.setattr(event, "_FOUND_WITHIN_S", 0.2)
    reset(bench, entries)
    if refused:
        bench.when("volume reset-brick", lambda _: Outcome(b"", b"not now", 1), host="s1")
    if what is not HEAL or code == "event-ended-early":
        # the workload waits until the event is over: of a heal, until two looks agree that it is
        over, left = threading.Event(), [None] * (len(entries) + 1 if what is HEAL else 1)

        def look(host: str, text: str) -> None:
            if host == "s1" and "gl_part heal gl_heal 0 " in text:
                del left[-1:]
            if not left:
                over.set()

        bench.transport.hooks.append(look)

        def wait(_: str) -> None:
            # not in the cell without an event
            if any("grows" in name for name in bench.transport.volumes):
                assert over.wait(60)

        bench.when("-i 1", wait)
    found = {reason.code: reason.message for reason in healed(bench, what).reasons}
    assert re.search(message, found.pop(code))
    assert found.keys() <= {"event-ended-early"}


def test_one_look_that_found_nothing_is_no_end(tmp_path: Path) -> None:
    (tmp_path / "event").mkdir()
    words = ["gluster", "volume", "reset-brick", "v", "h:/b", "start"]
    told = [{"command": each, "time": 1.0, "end": 2.0} for each in (words, ["empty", "s1", "/b"], [*words, "force"])]
    (tmp_path / event.COMMANDS).write_text("".join(f"{json.dumps(line)}\n" for line in told))
    looks = [
        {"time": 3.0, "end": 4.0, "output": "s1 heal 7\n"},
        {"time": 5.0, "end": 6.0, "output": "s1 heal 0\n"},
        {"time": 7.0, "end": 8.0, "error": "not reachable"},
    ]
    (tmp_path / event.STATUS).write_text("".join(f"{json.dumps(line)}\n" for line in looks))
    found = event.read_event(tmp_path)
    assert (found.start, found.problem, found.runs) == (2.0, "not reachable", ((3.0, 4.0),))
    assert found.last is not None
    assert found.last.state == "in progress"


@pytest.mark.parametrize(
    ("what", "message"),
    [
        ({"do": "rebalance"}, "expected the geometry that the volume grows to"),
        ({**HEAL, "to": "2x2"}, "only a rebalance has 'to', and this is a reset-brick"),
        ({**HEAL, "throttle": "lazy"}, "only a rebalance has 'throttle'"),
    ],
)
def test_a_rebalance_alone_has_a_geometry_and_a_throttle(what: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Campaign.model_validate(campaign_with(what))


def why_not(bench: Bench, **keys: Any) -> set[str]:
    plan = build_plan(Campaign.model_validate(campaign_with(**keys)), bench.cluster)
    return {reason for cell, reason in plan.not_runnable if cell.event is not None}


def test_what_no_event_can_happen_to_is_left_out_with_its_reason(bench: Bench) -> None:
    def refused(what: dict[str, Any], **keys: Any) -> str:
        (reason,) = why_not(bench, what=what, **keys)
        return reason

    assert why_not(bench, what=FIRST) == set()
    assert "more subvolumes of the same kind than 2 has, found to: 2" in refused({**FIRST, "to": 2})
    assert "expected a geometry such as '6' for distribute" in refused({**FIRST, "to": "2x2"})
    assert "needs 4000 bricks" in refused({**FIRST, "to": 4000})
    assert "same kind than 1x2 has, found to: 2x3" in refused({**FIRST, "to": "2x3"}, layouts=[MIRROR])
    assert "needs access native or gfapi" in refused(FIRST, access=["nfs4"])
    assert "a brick is healed from others" in refused(HEAL)
    assert why_not(bench, what=HEAL, layouts=[MIRROR]) == set()
    write = {**WORKLOAD, "operations": "write", "event": FIRST}
    assert "there are no files to move or to heal: state 'at'" in refused(FIRST, workloads=[write])
    assert why_not(bench, what=FIRST, workloads=[{**write, "event": {**FIRST, "at": "1 s"}}]) == set()


def test_cells_with_an_event_come_last_and_leave_the_others_as_they_were(bench: Bench) -> None:
    what = {**FIRST, "throttle": ["lazy", "aggressive"]}
    plain = build_plan(Campaign.model_validate(changed(repeats=2)), bench.cluster)
    both = [{**WORKLOAD, "operations": "read", "event": what}, WORKLOAD]
    plan = build_plan(Campaign.model_validate(changed(workloads=both, repeats=2)), bench.cluster)
    by_round = [[each.cell for each in plan.samples if each.round == number] for number in (1, 2)]
    before = [[each.cell for each in plain.samples if each.round == number] for number in (1, 2)]
    assert [[cell for cell in cells if cell.event is None] for cells in by_round] == before
    for cells in by_round:
        assert [cell.event.throttle for cell in cells[4:] if cell.event] in (
            ["lazy", "aggressive"],
            ["aggressive", "lazy"],
        )
    assert Cell.model_validate_json(by_round[0][-1].model_dump_json()) == by_round[0][-1]
    assert "event" not in before[0][0].model_dump()
