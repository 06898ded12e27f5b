"""The campaign's log: lines for people, events for scripts."""

import json
import re
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest
from typer.testing import CliRunner

from glusterlab.cli import app
from glusterlab.cli.store import selected, show_events, since_when
from glusterlab.errors import RawStoreError, UsageError
from glusterlab.store.journal import Event, EventReader, Journal

NOW = datetime(2026, 11, 21, 7, 30, tzinfo=timezone(timedelta(hours=1)))


def read_events(folder: Path) -> list[Event]:
    return list(EventReader(folder).new())


def messages(folder: Path) -> list[str]:
    return [event.message for event in read_events(folder)]


def test_people_get_lines_and_scripts_get_events(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    journal.say("started volume x", sample=3)
    journal.record(host="s1", command="sync", exit_code=0)
    journal.say("s2 is gone\nfor good", "error")
    lines = (tmp_path / "log.txt").read_text().splitlines()
    assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d [+-]\d{4} INFO    started volume x", lines[0])
    assert [line[26:] for line in lines[1:]] == ["ERROR   s2 is gone", "        for good"]
    events = [json.loads(line) for line in (tmp_path / "events.jsonl").read_text().splitlines()]
    assert [event.get("message") for event in events] == ["started volume x", None, "s2 is gone\nfor good"]
    assert (events[0]["sample"], events[1]["host"], events[2]["level"]) == (3, "s1", "error")
    read = read_events(tmp_path)
    assert [bool(event.message) for event in read] == [True, False, True]
    assert "\n".join(event.line for event in read if event.message) == "\n".join(lines)


def test_a_folder_without_a_log_is_said(tmp_path: Path) -> None:
    with pytest.raises(RawStoreError, match="cannot be written"):
        Journal(tmp_path / "none").say("x")
    with pytest.raises(RawStoreError, match=r"expected a campaign's events\.jsonl"):
        read_events(tmp_path)


@pytest.mark.parametrize(
    "damage", ['{"time": 1, "mess', "[1, 2]", '{"time": "x"}', "\x00\xff", '{"time": 1e30}', "{" * 5000, ""]
)
def test_what_is_damaged_is_passed_over(tmp_path: Path, damage: str) -> None:
    (tmp_path / "events.jsonl").write_text(f'{{"time": 1, "message": "one"}}\n{damage}\n')
    Journal(tmp_path).say("two")
    reader = EventReader(tmp_path)
    assert [event.message for event in reader.new()] == ["one", "two"]
    assert reader.damage == (f"{tmp_path}/events.jsonl: 1 line is damaged and passed over" if damage else "")


def test_a_line_that_a_full_disk_cut_spoils_no_later_one(tmp_path: Path) -> None:
    for name in ("log.txt", "events.jsonl"):
        (tmp_path / name).write_text('{"time": 1, "message": "cut of')
    Journal(tmp_path).say("there is room again")
    assert messages(tmp_path) == ["there is room again"]


def test_the_command_says_what_it_could_not_read_and_that_there_is_nothing_to_show(tmp_path: Path) -> None:
    Journal(tmp_path).say("all well")
    with (tmp_path / "events.jsonl").open("ab") as file:
        file.write(b"\xff\n")
    damage = f"{tmp_path}/events.jsonl: 1 line is damaged and passed over\n"
    for words, out, err in (((), "INFO    all well\n", damage), (("--problems",), "", damage + "no problems\n")):
        shown = CliRunner().invoke(app, ["log", str(tmp_path), *words])
        assert (shown.exit_code, shown.stdout[26:], shown.stderr) == (0, out, err)


def test_a_reader_finds_what_is_added(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    journal.say("one")
    reader = EventReader(tmp_path)
    assert [event.message for event in reader.new()] == ["one"]
    assert list(reader.new()) == []
    journal.say("two")
    with (tmp_path / "events.jsonl").open("a") as file:
        file.write('{"time": 1, "message": "half')
        file.flush()
        assert [event.message for event in reader.new()] == ["two"]
        file.write('"}\n')
    assert [event.message for event in reader.new()] == ["half"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("90 min", "2026-11-21T06:00+01:00"),
        ("2 d", "2026-11-19T07:30+01:00"),
        ("22:00", "2026-11-20T22:00+01:00"),
        ("7:30", "2026-11-21T07:30+01:00"),
        ("2026-11-20", "2026-11-20T00:00+01:00"),
        ("2026-11-20 22:00", "2026-11-20T22:00+01:00"),
        ("2026-11-20T22:00+00:00", "2026-11-20T22:00+00:00"),
    ],
)
def test_since_takes_what_people_write(text: str, expected: str) -> None:
    assert since_when(text, NOW) == datetime.fromisoformat(expected).timestamp()


@pytest.mark.parametrize("text", ["yesterday", "25:00", "", "5", "-3 h", "99999999 d", "9" * 400 + " h", "\u0668 h"])
def test_since_refuses_what_is_no_moment(text: str) -> None:
    with pytest.raises(UsageError, match=r"--since .*: expected a duration"):
        since_when(text, NOW)


def test_problems_and_commands_are_chosen_and_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    journal = Journal(tmp_path)
    journal.say("all well")
    journal.record(host="s1", command="sync")
    journal.say("s2 is gone", "warning")
    events = read_events(tmp_path)

    def shown(problems: bool, everything: bool, as_json: bool, since: float | None = None) -> list[str]:
        show_events(selected(events, since, problems=problems, everything=everything), as_json=as_json)
        return capsys.readouterr().out.splitlines()

    assert [line[34:] for line in shown(False, False, False)] == ["all well", "s2 is gone"]
    assert [json.loads(line)["message"] for line in shown(True, True, True)] == ["s2 is gone"]
    assert len(shown(False, True, True)) == 3
    assert shown(False, True, True, events[-1].time + 1) == []
