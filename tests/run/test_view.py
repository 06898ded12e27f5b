"""The live view of a run: never wider than the terminal, in colours and characters that it has."""

import io
import re
import time
from typing import Any

import pytest
from rich.console import Console

from glusterlab.reasons import Status
from glusterlab.run.state import Execution, Result, RunState
from glusterlab.run.view import View, describe_state, moment

NOW = time.time()


def execution(repeat: int) -> Execution:
    return Execution(
        slug="iozone-write-4gib-disperse-12x4+2-jbod-native-w48",
        operation="write 4 GiB",
        layout="disperse 12x(4+2) jbod",
        workers=48,
        repeat=repeat,
        round=repeat,
        attempt=2 if repeat == 3 else 1,
        began=NOW - 94,
    )


def outcome(status: Status, problem: str = "", **facts: object) -> Result:
    codes = (problem.partition(" ")[0], "brick-offline") if problem else ()
    fields = {"execution": execution(1), "ended": NOW - 60, "status": status, "codes": codes, "problem": problem}
    return Result.model_validate({**fields, **facts})


@pytest.fixture
def state() -> RunState:
    good = {"value": "78.0 MB/s", "mean": "77.1 MB/s", "half_width": 0.0213, "n": 3}
    return RunState.begun("night").model_copy(
        update={
            "began": NOW - 4350,
            "total": 120,
            "valid": 60,
            "invalid": 1,
            "failed": 1,
            "left": 58,
            "rounds": 3,
            "ends_about": NOW + 4210,
            "now": execution(3),
            "phase": "workload",
            "phase_began": NOW - 72,
            "recent": [outcome("valid", **good) for _ in range(20)],
        }
    )


def draw(state: RunState, width: int = 80, *, encoding: str = "utf-8", watched: bool = False) -> str:
    out = io.TextIOWrapper(io.BytesIO(), encoding=encoding, errors="strict")
    console = Console(file=out, width=width, height=24, force_terminal=True, _environ={})
    view = View(state, watched=watched, now=lambda: NOW)
    lines = console.render_lines(view, console.options.update(height=24), pad=False)
    return "\n".join("".join(segment.text for segment in line) for line in lines)


DONE = [
    r"glusterlab night +since .*, 1:12:30",
    r"write 4 GiB, disperse 12x\(4\+2\) jbod, 48 workers",
    r"repeat 3, attempt 2, round 3 of 3   0:01:34",
    r"measuring   0:01:12",
    r"━+ +62 of 120",
    r"60 valid, 1 invalid, 1 failed, 58 left; about 1 h 10 min to go, until \d\d:\d\d",
    r"\d\d:\d\d +write 4 GiB +disperse 12x\(4\+2\) jbod +48 +78.0 MB/s +77.1 ±2.1% n 3",
    r"Ctrl-C stops the run; the same command goes on with it",
]
WARM = {
    "now": execution(3).model_copy(update={"warmup": True}),
    "warmup_left": 4,
    "recent": [outcome("valid", value="78.0 MB/s", execution=execution(1).model_copy(update={"warmup": True}))],
}
# names are no markup
MARKED = execution(1).model_copy(update={"layout": "[bold]mirror[/bold]"})
LOST = {"recent": [outcome("failed", "host-unreachable on c1: lost", execution=MARKED)]}
WAITING = {"now": None, "phase": "waiting for s2 to come back", "phase_began": NOW - 35}
WATCHED = r"process 4711 on controller, last update 0:01:12 ago; Ctrl-C only leaves the view"


@pytest.mark.parametrize(
    ("change", "expected", "options"),
    [
        ({}, DONE, {}),
        ({}, [r"77.1 \+-2.1% n 3"], {"encoding": "ascii"}),
        ({"process": 4711, "host": "controller", "updated": NOW - 72}, [WATCHED], {"watched": True}),
        (LOST, [r"write 4 GiB +\[bold\]mirror\[/bold\] +48 +failed +host-unreachable"], {}),
        (WAITING, [r"waiting for s2 to come back   0:00:35"], {}),
        (WARM, ["warm-up 3, attempt 2   ", "58 left, 4 to warm up", "78.0 MB/s +warm-up"], {}),
        ({"later": 40}, ["18 left, 40 in later runs"], {}),
    ],
    ids=["at work", "ascii", "watched", "failed", "waiting", "warm-up", "later"],
)
def test_it_shows(state: RunState, change: dict[str, Any], expected: list[str], options: dict[str, Any]) -> None:
    text = draw(state.model_copy(update=change), 120, **options)
    assert [each for each in expected if not re.search(each, text)] == []
    assert text.isascii() == ("encoding" in options)


@pytest.mark.parametrize("width", [200, 80, 40, 10])
def test_it_fits_every_width(state: RunState, width: int) -> None:
    lines = draw(state, width).splitlines()
    assert len(lines) <= 24
    assert max(len(line) for line in lines) <= width


def test_a_run_that_begins_says_its_step_and_no_empty_numbers() -> None:
    begun = RunState.begun("night").model_copy(update={"phase": "connecting to all hosts", "phase_began": NOW - 3})
    text = draw(begun)
    assert "connecting to all hosts   0:00:03" in text
    assert "valid" not in text
    assert "of 0" not in text


def test_moments_far_off_have_their_day() -> None:
    assert re.fullmatch(r"\d\d:\d\d", moment(NOW, NOW + 3600))
    assert re.fullmatch(r"\w{3} \d\d:\d\d", moment(NOW, NOW + 50_000))


def test_describe_state_in_a_sentence(state: RunState) -> None:
    sentence = describe_state(state, NOW)
    assert re.fullmatch(r"running since \d\d:\d\d as process \d+: iozone-write-\S+, measuring", sentence)
    elsewhere = state.model_copy(update={"host": "another-controller", "updated": NOW - 5})
    assert "on another-controller since" in describe_state(elsewhere, NOW)
    assert re.search(r"5\.0 s ago: iozone-write-\S+, measuring$", describe_state(elsewhere, NOW))
    gone = state.model_copy(update={"process_start": 1, "updated": NOW - 3600})
    assert "has vanished" in describe_state(gone, NOW)
    over = state.model_copy(update={"ended": NOW, "updated": NOW - 7200, "message": "the run ends after 8 h"})
    assert describe_state(over, NOW).endswith("2 h 00 min ago: the run ends after 8 h")
