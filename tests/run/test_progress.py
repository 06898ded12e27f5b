import io
import json
import re
import subprocess
import sys
from pathlib import Path

from rich.console import Console

from glusterlab.errors import HostError
from glusterlab.reasons import MEANINGS, Reason, Status
from glusterlab.run.measured import Measured
from glusterlab.run.plan import PlannedSample
from glusterlab.run.progress import Durations, Ending, Lines, NowFile, Output, Progress, RunLog, RunSummary
from glusterlab.run.state import Counts
from glusterlab.run.view import Live, output_for
from glusterlab.spec import Cell, Layout
from glusterlab.store.campaign import Sample
from glusterlab.store.journal import Journal, Level
from tests.run.test_status import CELL
from tests.run.test_status import sample as stored

DISPERSE = Layout(name="x", type="disperse", subvolumes=1, data=4, redundancy=2, backing="jbod")


def cell(workers: int, operation: str = "write", layout: Layout = CELL.layout) -> Cell:
    return CELL.model_copy(update={"workers": workers, "operation": operation, "layout": layout})


def test_durations_come_from_the_same_cell_then_from_like_ones_then_from_all() -> None:
    one, two, read = cell(1), cell(2), cell(1, "read")
    other = cell(1, layout=DISPERSE)
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
    status: Status, *reasons: Reason, folder: Path = Path("x"), warmup: bool = False
) -> tuple[Sample, PlannedSample]:
    planned = PlannedSample(cell(4), repeat=2, round=2, order=7, warmup=warmup)
    facts = {"path": folder / "sample-02", "campaign": "night", "sample": 2, "order": 7, "warmup": warmup}
    facts |= {"reasons": reasons, "phases": {"workload": 60.0, "after": 15.0}}
    sample = stored(2, 2, status, planned.cell.id).model_copy(update=facts)
    return sample, planned


def rate(value: float) -> Measured:
    return Measured("throughput_bytes_per_s", value)


SUMMARY = RunSummary("night", Path("raw/night"), 10, 9, 1, 0, 0, 6, 250.0)


def drive(*outputs: Output) -> Progress:
    """A short night: a sample that is not valid, one that is, and the end."""
    progress = Progress("night", *outputs)
    counts = Counts(total=10, valid=4, left=6, rounds=3)
    progress.phase("connecting to all hosts")
    progress.begin(counts, 7200.0)
    sample, planned = finished("invalid", Reason(code="heal-pending", message="[3] entries"))
    progress.sample_begins(planned, 2)
    progress.phase("before")
    counts.left, counts.invalid = 5, 1
    progress.sample_ends(sample, planned, None)
    progress.note("waiting for [bold] s2 to come back", "warning")
    counts.left, counts.valid = 4, 5
    progress.sample_ends(*finished("valid"), 3600.0, rate(78.04e6), [rate(78.04e6)])
    progress.end(Ending.of(SUMMARY))
    return progress


def test_plain_lines_say_what_a_morning_wants_to_know() -> None:
    out = io.StringIO()
    drive(Lines(Console(file=out, width=60)))
    lines = [line[26:] for line in out.getvalue().splitlines()]
    assert lines[0].startswith("INFO    the run begins: 10 samples, 4 done, 6 left, about 2 h 00 min (")
    slug = "iozone-write-1mib-replicate-3x2-jbod-native-w4 repeat 2, attempt 2"
    assert lines[1] == f"WARNING {slug}: invalid in 75 s: heal-pending: [3] entries; 5 left"
    assert lines[2].startswith("WARNING heal-pending: ")
    assert lines[3] == "WARNING waiting for [bold] s2 to come back"
    assert lines[4].startswith(f"INFO    {slug}: valid in 75 s: 78.0 MB/s (n = 1); 4 left, about 1 h 00 min (")
    assert len(lines) == 5


def test_a_terminal_has_a_live_view_and_others_plain_lines() -> None:
    assert isinstance(output_for(Console(file=io.StringIO(), force_terminal=True)), Live)
    assert isinstance(output_for(Console(file=io.StringIO())), Lines)
    dumb = Console(file=io.StringIO(), force_terminal=True, _environ={"TERM": "dumb"})
    assert isinstance(output_for(dumb), Lines)


def test_the_log_has_values_reasons_advice_and_a_summary(tmp_path: Path) -> None:
    progress = drive(Output(), RunLog(Journal(tmp_path)))
    progress.sample_ends(*finished("failed", Reason(code="heal-pending", message="4")), None)
    progress.end(Ending.of_error("night", tmp_path, HostError("does not answer", host="s1"), 61.0))
    lines = [line[26:] for line in (tmp_path / "log.txt").read_text().splitlines()]
    meaning = MEANINGS["heal-pending"]
    assert {
        f"WARNING heal-pending: {meaning.sentence} {meaning.advice}",
        f"ERROR   heal-pending: {meaning.advice}",
        "WARNING campaign night has ended, incomplete: 9 of 10 samples valid, 0 left; 6 executed in 4 min",
        "WARNING samples of this run that were not valid, by reason: heal-pending 1",
    } <= {*lines}
    assert re.match("ERROR .*s1: does not answer$", lines[-2])
    assert lines[-1].endswith("by reason: heal-pending 2")
    events = [json.loads(line) for line in (tmp_path / "events.jsonl").read_text().splitlines()]
    (valid,) = [event for event in events if event.get("status") == "valid"]
    assert (valid["quantity"], valid["value"], valid["sample"]) == ("throughput_bytes_per_s", 78.04e6, 2)


def test_what_cannot_be_written_ends_no_run(tmp_path: Path) -> None:
    drive(RunLog(Journal(tmp_path / "none")), NowFile(tmp_path / "none"))


def test_an_error_of_the_suite_is_called_so_and_a_second_signal_is_a_stop() -> None:
    bug = Ending.of_error("night", Path("raw/night"), ZeroDivisionError("a bug"), 1.0)
    assert (bug.outcome, bug.exit_code) == ("failed", 3)
    assert bug.message.endswith("an error of the suite: ZeroDivisionError: a bug")
    stopped = Ending.of_error("night", Path("raw/night"), KeyboardInterrupt(), 1.0)
    assert (stopped.outcome, stopped.exit_code) == ("stopped", 130)
    assert "run the same command again" in stopped.message


def test_an_output_that_fails_ends_no_run() -> None:
    class Failing(Output):
        calls = 0

        def say(self, message: str, level: Level = "info", **details: object) -> None:
            self.calls += 1
            raise BrokenPipeError

    out = io.StringIO()
    failing = Failing()
    progress = Progress("night", failing, Lines(Console(file=out, width=60)))
    progress.note("one")
    progress.note("two")
    assert failing.calls == 1
    assert [line[34:] for line in out.getvalue().splitlines()] == ["one", "two"]


def test_the_data_of_a_run_comes_also_when_nobody_reads_its_lines() -> None:
    code = """
import os, sys
ends = os.pipe()
os.close(ends[0])
os.dup2(ends[1], 2)
from glusterlab.run.progress import Lines, Progress
from glusterlab.cli.console import person
progress = Progress("night", Lines(person()))
progress.note("one")
progress.note("two")
print("data", flush=True)
os._exit(0)
"""
    done = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (0, b"data\n")
