"""What a run is doing now, and how the last one ended: ``now.json``, read by who watches it."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from pydantic import BaseModel, ValidationError

from glusterlab.errors import RawStoreError
from glusterlab.hosts.lock import process_start
from glusterlab.reasons import Status
from glusterlab.run.measured import Interval, Measured
from glusterlab.spec.yaml import first_problem
from glusterlab.store.files import SCHEMA_VERSION, read_json
from glusterlab.store.journal import Level
from glusterlab.store.sample import Sample
from glusterlab.units import format_duration, format_size

if TYPE_CHECKING:
    from glusterlab.run.plan import PlannedSample
    from glusterlab.spec.cell import Cell

NOW = "now.json"

Outcome = Literal["complete", "incomplete", "stopped", "failed"]
"""incomplete: the run came to its end, and some samples are not valid; failed: an error broke it off."""


# a newer release may have more keys than these models: unknown ones are passed over
class Counts(BaseModel):
    """How far a run is, in samples of its plan, by the last execution of each.

    `later` of those `left` are in rounds that this run does not come to; `warmup_left` is in no other number.
    """

    total: int = 0
    valid: int = 0
    invalid: int = 0
    failed: int = 0
    left: int = 0
    later: int = 0
    warmup_left: int = 0
    rounds: int = 0


class Execution(BaseModel):
    """One execution of a cell, in words that fit a line: ``write 4 GiB``, ``disperse 12x(4+2) jbod``."""

    slug: str
    operation: str
    layout: str
    workers: int
    repeat: int
    round: int
    attempt: int
    warmup: bool = False
    began: float

    @property
    def place(self) -> str:
        again = f", attempt {self.attempt}" if self.attempt > 1 else ""
        return f"{'warm-up' if self.warmup else 'repeat'} {self.repeat}{again}"


class Result(BaseModel):
    """An execution that is over; `mean` with `half_width`, a share of it, is of the cell's `n` repeats by then."""

    execution: Execution
    ended: float
    status: Status
    seconds: float = 0.0
    value: str = ""
    mean: str = ""
    half_width: float | None = None
    n: int = 0
    codes: tuple[str, ...] = ()
    problem: str = ""

    @property
    def interval(self) -> str:
        """Such as ``mean 458 files/s ± 2.1 %, n = 3``; empty without a value."""
        if not self.mean or self.half_width is None:
            return f"n = {self.n}" if self.n else ""
        return f"mean {self.mean} ± {100 * self.half_width:.1f} %, n = {self.n}"

    @property
    def line(self) -> str:
        """For logs: cell, repeat, status, what it measured, and the first reason where it is not valid."""
        line = f"{self.execution.slug} {self.execution.place}: {self.status} in {format_duration(self.seconds)}"
        if self.value:
            line += f": {self.value}"
            if self.interval and not self.execution.warmup:
                line += f" ({self.interval})"
        if self.problem:
            more = f" (and {len(self.codes) - 1} more)" if len(self.codes) > 1 else ""
            line += f": {self.problem}{more}"
        return line


class Note(BaseModel):
    """A message of the run."""

    at: float
    level: Level
    message: str


class RunState(Counts):
    """What a run is doing now; `process_start`, in ticks since boot, tells the process from a later one."""

    schema_version: int = SCHEMA_VERSION
    campaign: str
    process: int
    process_start: int | None
    host: str
    began: float
    updated: float
    ends_about: float | None = None
    now: Execution | None = None
    phase: str = "starting"
    phase_began: float
    recent: list[Result] = []
    codes: dict[str, int] = {}
    notes: list[Note] = []
    ended: float | None = None
    outcome: Outcome | None = None
    message: str = ""

    @classmethod
    def begun(cls, campaign: str) -> RunState:
        at, pid = time.time(), os.getpid()
        start, host = process_start(pid), socket.gethostname()
        return cls(campaign=campaign, process=pid, process_start=start, host=host, began=at, updated=at, phase_began=at)


Life = Literal["running", "ended", "lost", "elsewhere"]
"""lost: the process is gone, and could not say how it ended; elsewhere: on a machine that is not seen from here."""


def life(state: RunState) -> Life:
    """Whether the run of a state still goes on."""
    if state.ended is not None:
        return "ended"
    if state.host != socket.gethostname():
        return "elsewhere"
    start = process_start(state.process)
    return "running" if start is not None and state.process_start in (None, start) else "lost"


def read_now(folder: Path) -> RunState | None:
    """What a campaign's now.json says; None where there is none."""
    path = folder / NOW
    if not os.path.lexists(path):
        return None
    try:
        return RunState.model_validate(read_json(path))
    except ValidationError as error:
        found = ": ".join(first_problem(error, RunState))
    except RawStoreError as error:
        if "schema_version" in error.details or isinstance(error.__cause__, OSError):
            raise
        found = "expected a JSON object with a schema_version, found damage"
    raise RawStoreError(f"{path}: {found}; remove it: the next run writes it anew", path=path)


def execution_of(cell: Cell, planned: PlannedSample | Sample, attempt: int, began: float) -> Execution:
    """The words for a cell, with its access where that is not native."""
    layout = cell.layout
    access = "" if cell.access == "native" else f" {cell.access}"
    return Execution(
        slug=cell.slug,
        operation=f"{cell.operation} {format_size(cell.nominal_file_size_bytes)}",
        layout=f"{layout.type} {layout.geometry} {layout.backing}{access}",
        workers=cell.workers,
        repeat=planned.repeat,
        round=planned.round,
        attempt=attempt,
        warmup=planned.warmup,
        began=began,
    )


def result_of(
    sample: Sample,
    cell: Cell,
    value: Measured | None = None,
    repeats: Sequence[Measured] = (),
    *,
    began: float = 0.0,
    ended: float = 0.0,
) -> Result:
    """A stored sample with its value, and the interval of its cell's valid repeats by then."""
    interval = None if value is None else Interval.of(repeats)
    return Result(
        execution=execution_of(cell, sample, sample.attempt, began),
        ended=ended,
        status=sample.status,
        seconds=sum(sample.phases.values()),
        value="" if value is None else str(value),
        mean="" if interval is None else interval.mean,
        half_width=None if interval is None else interval.half_width,
        n=0 if interval is None else interval.estimate.n,
        codes=tuple(reason.code for reason in sample.reasons),
        problem="" if not sample.reasons else str(sample.reasons[0]),
    )
