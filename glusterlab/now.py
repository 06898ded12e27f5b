"""What a run is doing now, and how the last one ended: kept by the run in now.json, read by who watches it.

``now.json`` lies in the campaign's folder; the manifest does not list it. A run writes it anew whenever something
happens, under a temporary name first, so a reader always finds a whole one. A run that was killed leaves it as it was:
`alive` tells.
"""

from __future__ import annotations

import os
import socket
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from glusterlab.errors import RawStoreError
from glusterlab.journal import Level
from glusterlab.process import started
from glusterlab.progress import Counts, Ending, Outcome, place_of
from glusterlab.rawfiles import SCHEMA_VERSION, read_json, write_atomically
from glusterlab.reasons import Status
from glusterlab.secrets import redact
from glusterlab.standing import standing
from glusterlab.units import format_size

if TYPE_CHECKING:
    from glusterlab.raw import Sample
    from glusterlab.spec.cell import Cell
    from glusterlab.spec.plan import PlannedSample
    from glusterlab.workloads.base import WorkloadResult

NOW = "now.json"

_KEPT = 24
"""Results, problems and notes that are kept: more do not fit a screen."""


class _Model(BaseModel):
    # a newer release may say more
    model_config = ConfigDict(extra="ignore")


class Execution(_Model):
    """One execution of a cell, in words that fit a line.

    Attributes
    ----------
    slug : str
        Of the cell.
    operation : str
        ``write 4 GiB``.
    layout : str
        ``disperse 12x(4+2) jbod``, with the access where it is not native.
    workers, repeat, round, attempt : int
    warmup : bool
    began : float
        Epoch seconds.
    """

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
        """Which one of the cell's executions it is."""
        return place_of(self.repeat, self.attempt, warmup=self.warmup)


class Result(_Model):
    """An execution that is over.

    Attributes
    ----------
    execution : Execution
    ended : float
        Epoch seconds.
    status : Status
    value, mean : str
        What it measured, and the mean of the cell's valid repeats by then, with unit; empty where there is none.
    half_width : float or None
        Of the mean's 95 % interval, as a share of the mean.
    n : int
        Valid repeats of the cell by then.
    codes : tuple of str
        Of its reasons.
    problem : str
        Its first reason; empty when it is valid.
    """

    execution: Execution
    ended: float
    status: Status
    value: str = ""
    mean: str = ""
    half_width: float | None = None
    n: int = 0
    codes: tuple[str, ...] = ()
    problem: str = ""


class Note(_Model):
    """Something that was said."""

    at: float
    level: Level
    message: str


class RunState(_Model):
    """What a run is doing now.

    Attributes
    ----------
    campaign : str
    process : int
    process_start : int or None
        Ticks since the machine's start, which tell this process from a later one of the same number.
    host : str
    began, updated : float
        Epoch seconds.
    total, valid, invalid, failed, left, later, warmup_left : int
        As in `Counts`.
    ends_about : float or None
        Epoch seconds; None when there is nothing to go by.
    rounds : int
        Of the campaign; 0 until it is known.
    now : Execution or None
    phase : str
    phase_began : float
    recent, problems : list of Result
        The last ones of this run, oldest first.
    codes : dict of str to int
        Reasons of this run, and how many executions had each.
    notes : list of Note
        The last ones, oldest first.
    ended : float or None
    outcome : {"complete", "incomplete", "stopped", "failed"} or None
    message : str
        How it ended, in a sentence.
    """

    schema_version: int = SCHEMA_VERSION
    campaign: str
    process: int
    process_start: int | None
    host: str
    began: float
    updated: float
    total: int = 0
    valid: int = 0
    invalid: int = 0
    failed: int = 0
    left: int = 0
    later: int = 0
    warmup_left: int = 0
    ends_about: float | None = None
    rounds: int = 0
    now: Execution | None = None
    phase: str = "starting"
    phase_began: float
    recent: list[Result] = []
    problems: list[Result] = []
    codes: dict[str, int] = {}
    notes: list[Note] = []
    ended: float | None = None
    outcome: Outcome | None = None
    message: str = ""

    @classmethod
    def begun(cls, campaign: str) -> RunState:
        """The state of a run that this process begins."""
        at = time.time()
        return cls(
            campaign=campaign,
            process=os.getpid(),
            process_start=started(os.getpid()),
            host=socket.gethostname(),
            began=at,
            updated=at,
            phase_began=at,
        )


Life = Literal["at work", "over", "gone", "elsewhere"]


def life(state: RunState) -> Life:
    """Whether the run of a state still goes on.

    Returns
    -------
    {"at work", "over", "gone", "elsewhere"}
        over: it has ended, and said how; gone: its process is no more, and it could not say how it ended; elsewhere:
        it runs, or ran, on another machine, which this one cannot look at.
    """
    if state.ended is not None:
        return "over"
    if state.host != socket.gethostname():
        return "elsewhere"
    start = started(state.process)
    return "at work" if start is not None and state.process_start in (None, start) else "gone"


def read_now(folder: Path) -> RunState | None:
    """What a campaign's now.json says; None where there is none.

    Raises
    ------
    RawStoreError
        When it is damaged, or newer than this library.
    """
    path = folder / NOW
    if not path.is_file():
        return None
    try:
        return RunState.model_validate(read_json(path))
    except ValidationError as error:
        from glusterlab.spec.load import first_problem

        said = ": ".join(first_problem(error, RunState))
    except RawStoreError as error:
        if "schema_version" in error.details or isinstance(error.__cause__, OSError):
            raise
        said = "expected a JSON object with a schema_version, found damage"
    raise RawStoreError(f"{path}: {said}; remove it: the next run writes it anew", path=path)


def execution_of(cell: Cell, planned: PlannedSample | Sample, attempt: int, began: float) -> Execution:
    """One execution of a cell, in words that fit a line."""
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


class Recorder:
    """A `Progress` that keeps the state of a run, for those who show it.

    Parameters
    ----------
    campaign : str
    """

    def __init__(self, campaign: str) -> None:
        self.state = RunState.begun(campaign)
        self._counts = Counts()

    def begin(self, counts: Counts, eta_s: float | None) -> None:
        """Take in how much there is to do."""
        self._counts = counts
        self._count(eta_s)
        self.changed()

    def note(self, message: str, level: Level = "info") -> None:
        """Keep it."""
        _keep(self.state.notes, Note(at=time.time(), level=level, message=redact(message)))
        self.changed()

    def sample_begins(self, planned: PlannedSample, attempt: int) -> None:
        """Take in which cell runs."""
        self.state.now = execution_of(planned.cell, planned, attempt, time.time())
        self.phase("starting")

    def phase(self, name: str) -> None:
        """Take in the phase, and when it began."""
        self.state.phase, self.state.phase_began = name, time.time()
        self.changed()

    def sample_ends(
        self, sample: Sample, planned: PlannedSample, eta_s: float | None, result: WorkloadResult | None
    ) -> None:
        """Take in how it came out."""
        state = self.state
        began = state.now.began if state.now is not None else time.time()
        ended = result_of(sample, planned.cell, result, began=began, ended=time.time())
        _keep(state.recent, ended)
        if ended.status != "valid":
            _keep(state.problems, ended)
        for code in set(ended.codes):
            state.codes[code] = state.codes.get(code, 0) + 1
        state.now = None
        self._count(eta_s)
        self.phase("between samples")

    def end(self, ending: Ending) -> None:
        """Take in how the run ended."""
        state = self.state
        state.ended, state.outcome, state.message = time.time(), ending.outcome, redact(ending.message)
        state.ends_about = None
        self._count(None)
        self.changed()

    def changed(self) -> None:
        """Called after each change of the state."""

    def _count(self, eta_s: float | None) -> None:
        state, counts = self.state, self._counts
        state.total, state.warmup_left = counts.total, counts.warmup_left
        state.left, state.later = counts.left, counts.later
        state.rounds = counts.rounds
        state.valid, state.invalid, state.failed = counts.valid, counts.invalid, counts.failed
        state.ends_about = time.time() + eta_s if eta_s else None


def _keep(entries: list[Result] | list[Note], entry: Result | Note) -> None:
    entries.append(entry)  # type: ignore[arg-type]
    del entries[:-_KEPT]


def result_of(sample: Sample, cell: Cell, result: WorkloadResult | None, *, began: float, ended: float) -> Result:
    """A sample in words that fit a line."""
    stands = standing(sample, cell, result)
    valid = sample.status == "valid"
    return Result(
        execution=execution_of(cell, sample, sample.attempt, began),
        ended=ended,
        status=sample.status,
        value=str(stands.last) if valid and stands.last is not None else "",
        mean="" if stands.mean is None else str(stands.mean),
        half_width=stands.half_width,
        n=stands.n,
        codes=tuple(reason.code for reason in sample.reasons),
        problem="" if not sample.reasons else str(sample.reasons[0]),
    )


class NowFile(Recorder):
    """Keeps now.json up to date.

    Parameters
    ----------
    folder : pathlib.Path
        ``raw/<campaign>``, which must exist.
    """

    def __init__(self, folder: Path) -> None:
        super().__init__(folder.resolve().name)
        self._folder = folder
        self.changed()

    def changed(self) -> None:
        """Write it; a disk that is full stops the run where it matters, not here."""
        self.state.updated = time.time()
        with suppress(RawStoreError):
            write_atomically(self._folder / NOW, self.state.model_dump_json(indent=1) + "\n", durable=False)
