from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from glusterlab.errors import HostError
from glusterlab.journal import Journal, Level
from glusterlab.progress import (
    Counts,
    Durations,
    Ending,
    Lines,
    Progress,
    RunSummary,
    Silent,
    Together,
    for_console,
)
from glusterlab.raw import Sample
from glusterlab.reasons import MEANINGS, Reason
from glusterlab.runlog import RunLog
from glusterlab.spec import Cell, PlannedSample
from glusterlab.view import Live
from glusterlab.workloads.base import WorkloadResult


def cell(workers: int, operation: str = "write", kind: str = "replicate") -> Cell:
    shape = {"subvolumes": 3, "replica": 2} if kind == "replicate" else {"subvolumes": 1, "data": 4, "redundancy": 2}
    return Cell.model_validate(
        {
            "layout": {"name": "x", "type": kind, "backing": "jbod", **shape},
            "access": "native",
            "tool": "iozone",
            "operation": operation,
            "file_size_bytes": 1 << 20,
            "nominal_file_size_bytes": 1 << 20,
            "workers": workers,
            "model": {"name": "real"},
        }
    )


def test_durations_come_from_the_same_cell_then_from_like_ones_then_from_all() -> None:
    one, two, read = cell(1), cell(2), cell(1, "read")
    other = cell(1, kind="disperse")
    durations = Durations({c.id: seconds for c, seconds in ((one, 10.0), (two, 30.0), (read, 20.0), (other, 8.0))})
    assert durations.total([one, two]) == 40.0
    durations.add(one, 20.0)
    durations.add(one, 24.0)
    assert durations.expect(one) == 22.0
    assert durations.expect(two) == 30.0 * 2.2
    assert durations.expect(other) == 8.0 * 2.2
    durations.add(other, 8.0)
    assert durations.expect(other) == 8.0
    assert Durations({}).total([one]) is None


def finished(
    status: str, *reasons: Reason, folder: Path = Path("x"), warmup: bool = False
) -> tuple[Sample, PlannedSample]:
    planned = PlannedSample(cell(4), repeat=2, round=2, order=7, warmup=warmup)
    sample = Sample.model_validate(
        {
            "path": folder / "sample-02",
            "campaign": "night",
            "cell_id": planned.cell.id,
            "sample": 2,
            "repeat": 2,
            "round": 2,
            "order": 7,
            "attempt": 2,
            "warmup": warmup,
            "status": status,
            "reasons": reasons,
            "phases": {"workload": 60.0, "after": 15.0},
            "disks": 6,
            "servers": (),
            "clients": (),
        }
    )
    return sample, planned


def result(throughput: float) -> WorkloadResult:
    return WorkloadResult("iozone", "3.489", "write", 4, throughput, None, 10.0)


def summary(**changed: Any) -> RunSummary:
    facts: dict[str, Any] = {"total": 10, "valid": 9, "invalid": 1, "failed": 0, "left": 0, "executed": 6}
    return RunSummary("night", Path("raw/night"), seconds=250.0, **{**facts, **changed})


def drive(progress: Progress) -> None:
    """A short night: a sample that is not valid, one that is, and the end."""
    counts = Counts(total=10, valid=4, left=6, rounds=3)
    progress.phase("connecting to all hosts")
    progress.begin(counts, 7200.0)
    sample, planned = finished("invalid", Reason(code="heal-pending", message="[3] entries"))
    progress.sample_begins(planned, 2)
    progress.phase("before")
    counts.left, counts.invalid = 5, 1
    progress.sample_ends(sample, planned, None, None)
    progress.note("waiting for [bold] s2 to come back", "warning")
    counts.left, counts.valid = 4, 5
    progress.sample_ends(*finished("valid"), 3600.0, result(78.04e6))
    progress.end(Ending.of(summary()))


def test_plain_lines_say_what_a_morning_wants_to_know() -> None:
    out = io.StringIO()
    drive(Lines(Console(file=out, width=60)))
    lines = [line[26:] for line in out.getvalue().splitlines()]
    assert lines[0].startswith("INFO    10 samples, 4 done, 6 to run, about 2 h 00 min (")
    slug = "iozone-write-1mib-replicate-3x2-jbod-native-w4 repeat 2, attempt 2"
    assert lines[1] == f"WARNING {slug}: invalid in 75 s: heal-pending: [3] entries; 5 left"
    assert lines[2] == "WARNING waiting for [bold] s2 to come back"
    assert lines[3].startswith(f"INFO    {slug}: valid in 75 s: 78.0 MB/s (n = 1); 4 left, about 1 h 00 min (")
    assert len(lines) == 4


def test_a_terminal_has_a_live_view_and_others_plain_lines() -> None:
    assert isinstance(for_console(Console(file=io.StringIO(), force_terminal=True), "night"), Live)
    assert isinstance(for_console(Console(file=io.StringIO()), "night"), Lines)
    dumb = Console(file=io.StringIO(), force_terminal=True, _environ={"TERM": "dumb"})
    assert isinstance(for_console(dumb, "night"), Lines)


def test_the_log_has_values_reasons_advice_and_a_summary(tmp_path: Path) -> None:
    log = RunLog(Journal(tmp_path))
    drive(Together(Silent(), log))
    log.sample_ends(*finished("failed", Reason(code="heal-pending", message="4")), None, None)
    log.end(Ending.of_error(HostError("does not answer", host="s1")))
    lines = [line[26:] for line in (tmp_path / "log.txt").read_text().splitlines()]
    assert any(line.startswith("INFO    the run begins: 10 samples, 4 done, 6 to run") for line in lines)
    meaning = MEANINGS["heal-pending"]
    assert f"WARNING heal-pending: {meaning.sentence} {meaning.advice}" in lines
    assert f"ERROR   heal-pending: {meaning.advice}" in lines
    assert any(": valid in 75 s: 78.0 MB/s (n = 1); 4 left" in line for line in lines)
    assert "WARNING the run ends after 4 min: 9 of 10 samples valid, 0 left to run; 6 executed" in lines
    assert "WARNING samples of this run that were not valid, by reason: heal-pending 1" in lines
    assert lines[-2:] == [
        "ERROR   the run ends: s1: does not answer",
        "WARNING samples of this run that were not valid, by reason: heal-pending 2",
    ]
    events = [json.loads(line) for line in (tmp_path / "events.jsonl").read_text().splitlines()]
    (valid,) = [event for event in events if event.get("status") == "valid"]
    assert (valid["quantity"], valid["value"], valid["sample"]) == ("throughput_bytes_per_s", 78.04e6, 2)


def test_a_log_that_cannot_be_written_ends_no_run(tmp_path: Path) -> None:
    drive(RunLog(Journal(tmp_path / "none")))


@pytest.mark.parametrize(
    ("changed", "outcome", "code"),
    [
        ({"valid": 10, "invalid": 0}, "complete", 0),
        ({}, "incomplete", 1),
        ({"interrupted": True}, "stopped", 130),
    ],
)
def test_how_a_run_came_out(changed: dict[str, Any], outcome: str, code: int) -> None:
    found = summary(**changed)
    assert (found.outcome, found.exit_code) == (outcome, code)
    assert Ending.of(found).outcome == outcome


def test_an_error_of_the_suite_is_called_so() -> None:
    assert Ending.of_error(ZeroDivisionError("a bug")).message == (
        "the run ends by an error of the suite: ZeroDivisionError: a bug"
    )


def test_a_second_signal_stops_a_run_and_is_no_error() -> None:
    ending = Ending.of_error(KeyboardInterrupt())
    assert ending.outcome == "stopped"
    assert "run the same command again" in ending.message


def test_a_display_that_is_gone_ends_no_run() -> None:
    class Gone(Silent):
        calls = 0

        def note(self, message: str, level: Level = "info") -> None:
            self.calls += 1
            raise BrokenPipeError

    out = io.StringIO()
    gone = Gone()
    both = Together(gone, Lines(Console(file=out, width=60)))
    both.note("one")
    both.note("two")
    assert gone.calls == 1
    assert [line[34:] for line in out.getvalue().splitlines()] == ["one", "two"]


def test_what_reads_the_lines_may_go_without_ending_the_run() -> None:
    ends, out = os.pipe(), io.StringIO()
    os.close(ends[0])
    with os.fdopen(ends[1], "w") as closed:
        both = Together(Lines(Console(file=closed, width=60)), Lines(Console(file=out, width=60)))
        both.note("one")
        both.note("two")
        with suppress(BrokenPipeError):
            closed.close()
    assert [line[34:] for line in out.getvalue().splitlines()] == ["one", "two"]


def test_the_data_of_a_run_comes_also_when_nobody_reads_its_lines() -> None:
    code = """
import os, sys
ends = os.pipe()
os.close(ends[0])
os.dup2(ends[1], 2)
from glusterlab.progress import Lines, Together
from glusterlab.report.terminal import person
Together(Lines(person())).note("one")
print("data", flush=True)
os._exit(0)
"""
    done = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (0, b"data\n")
