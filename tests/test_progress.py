from __future__ import annotations

import io
from pathlib import Path

from rich.console import Console

from glusterlab.progress import Counts, Durations, Lines, Live, for_console
from glusterlab.raw import Sample
from glusterlab.reasons import Reason
from glusterlab.spec import Cell, PlannedSample


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


def finished(status: str, *reasons: Reason) -> tuple[Sample, PlannedSample]:
    planned = PlannedSample(cell(4), repeat=2, round=2, order=7)
    sample = Sample.model_validate(
        {
            "path": Path("x"),
            "campaign": "night",
            "cell_id": planned.cell.id,
            "sample": 2,
            "repeat": 2,
            "round": 2,
            "order": 7,
            "attempt": 2,
            "status": status,
            "reasons": reasons,
            "phases": {"workload": 60.0, "after": 15.0},
            "disks": 6,
            "servers": (),
            "clients": (),
        }
    )
    return sample, planned


def drive(progress: Lines | Live) -> None:
    counts = Counts(total=10, valid=4, left=6)
    progress.begin(counts, 7200.0)
    sample, planned = finished("invalid", Reason(code="heal-pending", message="[3] entries"))
    progress.sample_begins(planned, 2)
    progress.phase("before")
    counts.left, counts.invalid = 5, 1
    progress.sample_ends(sample, planned, None, None)
    progress.note("started [bold] volume x")
    progress.end()


def test_plain_lines_say_what_a_morning_wants_to_know() -> None:
    out = io.StringIO()
    drive(Lines(Console(file=out, width=60)))
    lines = out.getvalue().splitlines()
    assert "10 samples, 4 done, 6 to run, about 2 h 00 min (" in lines[0]
    assert lines[1][9:].startswith(
        "iozone-write-1mib-replicate-3x2-jbod-native-w4 repeat 2, attempt 2: invalid in 75 s"
    )
    assert "heal-pending: [3] entries; 5 left" in lines[1]
    assert lines[2][9:] == "started [bold] volume x"


def test_a_terminal_has_a_live_view_and_the_same_lines() -> None:
    out = io.StringIO()
    console = Console(file=out, force_terminal=True, width=200)
    progress = for_console(console)
    assert isinstance(progress, Live)
    drive(progress)
    assert "heal-pending: [3] entries; 5 left" in out.getvalue()
    assert isinstance(for_console(Console(file=io.StringIO())), Lines)
