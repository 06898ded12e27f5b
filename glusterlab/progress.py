"""What a run tells people while it is at work: a live view on a terminal, plain lines elsewhere.

The runner calls a `Progress` and knows nothing of how it is shown.
"""

from __future__ import annotations

import statistics
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

from glusterlab.errors import GlusterlabError
from glusterlab.journal import Level, format_line
from glusterlab.standing import Standing, standing
from glusterlab.units import format_duration

if TYPE_CHECKING:
    from pathlib import Path

    from rich.console import Console

    from glusterlab.raw import Sample
    from glusterlab.reasons import Status
    from glusterlab.spec.cell import Cell
    from glusterlab.spec.plan import PlannedSample
    from glusterlab.workloads.base import WorkloadResult

Outcome = Literal["complete", "incomplete", "stopped", "failed"]
"""complete: every sample is there and valid; incomplete: the run came to its end, and some are not; stopped: as asked;
failed: an error broke it off."""


INTERRUPTED = "the run was interrupted while it stopped: run the same command again, it goes on"
"""How a run ended that was asked twice."""


@dataclass
class Counts:
    """Where a run stands.

    Attributes
    ----------
    total : int
        Samples of the plan.
    valid, invalid, failed : int
        Samples of the plan by the status of their last execution.
    left : int
        Samples that are still to be run, second attempts included.
    later : int
        Of those left, the ones of rounds that this run does not come to.
    warmup_left : int
        Samples of the warm-up that are still to be run; all other numbers are without it.
    rounds : int
        Number of the campaign's last round.
    """

    total: int = 0
    valid: int = 0
    invalid: int = 0
    failed: int = 0
    left: int = 0
    later: int = 0
    warmup_left: int = 0
    rounds: int = 0


@dataclass(frozen=True)
class RunSummary:
    """How a run ended.

    Attributes
    ----------
    campaign : str
    path : pathlib.Path
        The campaign's folder.
    total : int
        Samples of the plan.
    valid, invalid, failed : int
        Samples of the plan by the status of their last execution, those of earlier runs included.
    left : int
        Samples of the plan that are still to be run.
    executed : int
        Executions of this run.
    seconds : float
    interrupted : bool
    paused : bool
        It ended after the rounds that were asked for, and some are left.
    problems : tuple of str
        A line for each sample that is not valid.
    advice : str
        What to do next.
    not_runnable : int
        Cells of the campaign that cannot be run here and are left out; they are no samples of the plan.
    not_runnable_reasons : tuple of str
        Why, each with the number of its cells.
    """

    campaign: str
    path: Path
    total: int
    valid: int
    invalid: int
    failed: int
    left: int
    executed: int
    seconds: float
    interrupted: bool = False
    paused: bool = False
    problems: tuple[str, ...] = ()
    advice: str = ""
    not_runnable: int = 0
    not_runnable_reasons: tuple[str, ...] = ()

    @property
    def outcome(self) -> Outcome:
        """How it ended, in a word."""
        if self.interrupted:
            return "stopped"
        return "complete" if self.valid == self.total else "incomplete"

    @property
    def exit_code(self) -> int:
        """0 when every sample of the plan is valid, also when cells are left out, 130 after a stop, else 1.

        A run that was asked for some rounds only is held to these.
        """
        if self.interrupted:
            return 130
        wanted = self.total - self.left if self.paused else self.total
        return 0 if self.valid == wanted else 1


@dataclass(frozen=True)
class Ending:
    """How a run ended.

    Attributes
    ----------
    outcome : Outcome
    message : str
        For people, in one sentence.
    summary : RunSummary or None
        None when an error broke the run off.
    """

    outcome: Outcome
    message: str
    summary: RunSummary | None = None

    @classmethod
    def of(cls, summary: RunSummary) -> Ending:
        """The end of a run that no error broke off."""
        word = "is stopped" if summary.interrupted else "ends"
        many = f"{summary.valid} of {summary.total} samples valid, {summary.left} left to run"
        message = f"the run {word} after {format_duration(summary.seconds)}: {many}; {summary.executed} executed"
        return cls(summary.outcome, message, summary)

    @classmethod
    def of_error(cls, error: BaseException) -> Ending:
        """The end of a run that an error broke off."""
        if isinstance(error, GlusterlabError):
            return cls("failed", f"the run ends: {error}")
        if isinstance(error, KeyboardInterrupt):
            return cls("stopped", INTERRUPTED)
        said = f": {error}" if str(error) else ""
        return cls("failed", f"the run ends by an error of the suite: {type(error).__name__}{said}")


class Progress(Protocol):
    """Receives what happens in a run, always from the main thread."""

    def begin(self, counts: Counts, eta_s: float | None) -> None:
        """The run starts; `counts` is kept up to date by the runner."""

    def note(self, message: str, level: Level = "info") -> None:
        """Something that a person wants to read in the morning."""

    def sample_begins(self, planned: PlannedSample, attempt: int) -> None:
        """A sample starts."""

    def phase(self, name: str) -> None:
        """The run enters a phase: of a sample, of a change of layout, or a wait."""

    def sample_ends(
        self, sample: Sample, planned: PlannedSample, eta_s: float | None, result: WorkloadResult | None
    ) -> None:
        """A sample is in the raw store; `result` is what its tool reported, where that could be read."""

    def end(self, ending: Ending) -> None:
        """The run is over."""


class Silent:
    """Shows nothing."""

    def begin(self, counts: Counts, eta_s: float | None) -> None:
        """Show nothing."""

    def note(self, message: str, level: Level = "info") -> None:
        """Show nothing."""

    def sample_begins(self, planned: PlannedSample, attempt: int) -> None:
        """Show nothing."""

    def phase(self, name: str) -> None:
        """Show nothing."""

    def sample_ends(
        self, sample: Sample, planned: PlannedSample, eta_s: float | None, result: WorkloadResult | None
    ) -> None:
        """Show nothing."""

    def end(self, ending: Ending) -> None:
        """Show nothing."""


class Together:
    """Hands on to several what happens in a run.

    One that cannot show it any more, for its terminal was closed or what read its lines has gone, is left out from
    then on: that must not end the run.

    Parameters
    ----------
    *parts : Progress
    """

    def __init__(self, *parts: Progress) -> None:
        self._parts = parts

    def begin(self, counts: Counts, eta_s: float | None) -> None:
        """Hand it on."""
        self._each(lambda part: part.begin(counts, eta_s))

    def note(self, message: str, level: Level = "info") -> None:
        """Hand it on."""
        self._each(lambda part: part.note(message, level))

    def sample_begins(self, planned: PlannedSample, attempt: int) -> None:
        """Hand it on."""
        self._each(lambda part: part.sample_begins(planned, attempt))

    def phase(self, name: str) -> None:
        """Hand it on."""
        self._each(lambda part: part.phase(name))

    def sample_ends(
        self, sample: Sample, planned: PlannedSample, eta_s: float | None, result: WorkloadResult | None
    ) -> None:
        """Hand it on."""
        self._each(lambda part: part.sample_ends(sample, planned, eta_s, result))

    def end(self, ending: Ending) -> None:
        """Hand it on."""
        self._each(lambda part: part.end(ending))

    def _each(self, tell: Callable[[Progress], None]) -> None:
        for part in self._parts:
            try:
                tell(part)
            # Rich ends the program when what reads its lines has gone
            except (OSError, SystemExit):
                self._parts = tuple(other for other in self._parts if other is not part)


class Durations:
    """Seconds that samples took, and from them the time that others will take.

    Parameters
    ----------
    estimates : mapping of cell id to float
        A rough bound for every cell, used as the measure between cells that are not alike.
    """

    def __init__(self, estimates: Mapping[str, float]) -> None:
        self._estimates = estimates
        self._same: dict[str, list[float]] = defaultdict(list)
        self._alike: dict[tuple[str, ...], list[float]] = defaultdict(list)
        self._all: list[float] = []

    def add(self, cell: Cell, seconds: float) -> None:
        """Take in a measured sample."""
        ratio = seconds / max(self._estimates.get(cell.id, seconds), 1.0)
        self._same[cell.id].append(seconds)
        self._alike[_kind(cell)].append(ratio)
        self._all.append(ratio)

    def expect(self, cell: Cell) -> float | None:
        """Seconds that a sample of the cell will take; None when there is nothing to go by.

        The median of the cell's own samples; else its estimate times how far the estimates of cells with the same
        tool, operation, layout and model were off; else times how far all were off.
        """
        if self._same[cell.id]:
            return statistics.median(self._same[cell.id])
        ratios = self._alike[_kind(cell)] or self._all
        if not ratios or cell.id not in self._estimates:
            return self._estimates.get(cell.id)
        return self._estimates[cell.id] * statistics.median(ratios)

    def total(self, cells: Sequence[Cell]) -> float | None:
        """Seconds for one sample of each of these cells; None when there is nothing to go by."""
        parts = [self.expect(cell) for cell in cells]
        return None if any(part is None for part in parts) else sum(part for part in parts if part is not None)


def _kind(cell: Cell) -> tuple[str, ...]:
    return (cell.tool, cell.operation, cell.layout.type, cell.layout.geometry, cell.layout.backing, cell.model.name)


def place_of(repeat: int, attempt: int, *, warmup: bool) -> str:
    """Which one of a cell's executions it is, for people.

    Examples
    --------
    >>> place_of(2, 1, warmup=False), place_of(2, 3, warmup=False), place_of(1, 1, warmup=True)
    ('repeat 2', 'repeat 2, attempt 3', 'warm-up 1')
    """
    again = f", attempt {attempt}" if attempt > 1 else ""
    return f"{'warm-up' if warmup else 'repeat'} {repeat}{again}"


def describe_sample(sample: Sample, planned: PlannedSample, stands: Standing | None = None) -> str:
    """One line about a finished sample, for logs.

    The cell, its repeat and attempt, the status, what it measured and where the cell stands by then, and the first
    reason where it is not valid.
    """
    place = place_of(sample.repeat, sample.attempt, warmup=sample.warmup)
    line = f"{planned.cell.slug} {place}: {sample.status} in {format_duration(sum(sample.phases.values()))}"
    if stands is not None and stands.last is not None and sample.status == "valid":
        line += f": {stands.last}"
        if stands.interval and not sample.warmup:
            line += f" ({stands.interval})"
    if sample.reasons:
        more = f" (and {len(sample.reasons) - 1} more)" if len(sample.reasons) > 1 else ""
        line += f": {sample.reasons[0]}{more}"
    return line


class Lines:
    """Plain lines for logs and pipes, as the campaign's own log has them.

    Parameters
    ----------
    console : rich.console.Console
        On stderr.
    """

    def __init__(self, console: Console) -> None:
        self._console = console
        self._counts = Counts()

    def begin(self, counts: Counts, eta_s: float | None) -> None:
        """Say how much there is to do."""
        self._counts = counts
        self.note(describe_counts(counts, eta_s))

    def note(self, message: str, level: Level = "info") -> None:
        """Say it."""
        self._console.print(format_line(time.time(), level, message), markup=False, highlight=False, soft_wrap=True)

    def sample_begins(self, planned: PlannedSample, attempt: int) -> None:
        """Nothing: its end has a line."""

    def phase(self, name: str) -> None:
        """Nothing."""

    def sample_ends(
        self, sample: Sample, planned: PlannedSample, eta_s: float | None, result: WorkloadResult | None
    ) -> None:
        """Say how it came out and how much is left."""
        line = describe_sample(sample, planned, standing(sample, planned.cell, result))
        self.note(f"{line}; {describe_left(self._counts, eta_s)}", level_of(sample.status))

    def end(self, ending: Ending) -> None:
        """Nothing: the summary follows."""


def describe_counts(counts: Counts, eta_s: float | None) -> str:
    """How much there is to do.

    Examples
    --------
    >>> describe_counts(Counts(total=10, left=6, warmup_left=2), None)
    '10 samples, 4 done, 6 to run and 2 to warm up'
    >>> describe_counts(Counts(total=80, left=72, later=64), None)
    '80 samples, 8 done, 8 to run, 64 in later runs'
    """
    warmup = f" and {counts.warmup_left} to warm up" if counts.warmup_left else ""
    later = f", {counts.later} in later runs" if counts.later else ""
    now = f"{counts.left - counts.later} to run{warmup}{ends_about(eta_s)}"
    return f"{counts.total} samples, {counts.total - counts.left} done, {now}{later}"


def describe_left(counts: Counts, eta_s: float | None) -> str:
    """How much is left.

    Examples
    --------
    >>> describe_left(Counts(total=10, left=6), None)
    '6 left'
    >>> describe_left(Counts(total=80, left=71, later=64), None)
    '7 left in this run, 64 in later ones'
    """
    if not counts.later:
        return f"{counts.left} left{ends_about(eta_s)}"
    return f"{counts.left - counts.later} left in this run{ends_about(eta_s)}, {counts.later} in later ones"


def ends_about(seconds: float | None) -> str:
    """How long it will still take, and when it will be done; empty where that is not known."""
    if not seconds:
        return ""
    at = time.strftime("%a %H:%M", time.localtime(time.time() + seconds))
    return f", about {format_duration(seconds)} ({at})"


def level_of(status: Status) -> Level:
    """How much a sample's status matters in a log.

    Examples
    --------
    >>> level_of("valid"), level_of("invalid"), level_of("failed")
    ('info', 'warning', 'error')
    """
    levels: dict[Status, Level] = {"valid": "info", "invalid": "warning", "failed": "error"}
    return levels[status]


def for_console(console: Console, campaign: str) -> Progress:
    """The live view of a campaign's run on a terminal, plain lines elsewhere."""
    if not console.is_terminal or console.is_dumb_terminal:
        return Lines(console)
    from glusterlab.view import Live

    return Live(console, campaign)
