"""What a run tells people while it is at work: a live view on a terminal, plain lines elsewhere.

The runner calls a `Progress` and knows nothing of how it is shown.
"""

from __future__ import annotations

import statistics
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from glusterlab.units import format_duration

if TYPE_CHECKING:
    from pathlib import Path

    from rich.console import Console

    from glusterlab.raw import Sample
    from glusterlab.spec.cell import Cell
    from glusterlab.spec.plan import PlannedSample
    from glusterlab.workloads.base import WorkloadResult


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
    problems: tuple[str, ...] = ()
    advice: str = ""
    not_runnable: int = 0
    not_runnable_reasons: tuple[str, ...] = ()

    @property
    def exit_code(self) -> int:
        """0 when every sample of the plan is valid, also when cells are left out, 130 after a stop, else 1."""
        if self.interrupted:
            return 130
        return 0 if self.valid == self.total else 1


class Progress(Protocol):
    """Receives what happens in a run, always from the main thread."""

    def begin(self, counts: Counts, eta_s: float | None) -> None:
        """The run starts; `counts` is kept up to date by the runner."""

    def note(self, message: str) -> None:
        """Something that a person wants to read in the morning."""

    def sample_begins(self, planned: PlannedSample, attempt: int) -> None:
        """A sample starts."""

    def phase(self, name: str) -> None:
        """The sample, or the layout, enters a phase."""

    def sample_ends(
        self, sample: Sample, planned: PlannedSample, eta_s: float | None, result: WorkloadResult | None
    ) -> None:
        """A sample is in the raw store; `result` is what its tool reported, where that could be read."""

    def end(self) -> None:
        """The run is over, however it ended."""


class Silent:
    """Shows nothing."""

    def begin(self, counts: Counts, eta_s: float | None) -> None:
        """Show nothing."""

    def note(self, message: str) -> None:
        """Show nothing."""

    def sample_begins(self, planned: PlannedSample, attempt: int) -> None:
        """Show nothing."""

    def phase(self, name: str) -> None:
        """Show nothing."""

    def sample_ends(
        self, sample: Sample, planned: PlannedSample, eta_s: float | None, result: WorkloadResult | None
    ) -> None:
        """Show nothing."""

    def end(self) -> None:
        """Show nothing."""


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


def describe_sample(sample: Sample, planned: PlannedSample) -> str:
    """One line about a finished sample, for logs.

    The cell, its repeat and attempt, the status, and the first reason where it is not valid.
    """
    again = f", attempt {sample.attempt}" if sample.attempt > 1 else ""
    seconds = sum(sample.phases.values())
    line = f"{planned.cell.slug} repeat {sample.repeat}{again}: {sample.status} in {format_duration(seconds)}"
    if sample.reasons:
        more = f" (and {len(sample.reasons) - 1} more)" if len(sample.reasons) > 1 else ""
        line += f": {sample.reasons[0]}{more}"
    return line


@dataclass
class Lines:
    """Plain lines with the time of day, for logs and pipes.

    Parameters
    ----------
    console : rich.console.Console
        On stderr.
    """

    console: Console
    _counts: Counts = field(default_factory=Counts)

    def begin(self, counts: Counts, eta_s: float | None) -> None:
        """Say how much there is to do."""
        self._counts = counts
        self._say(f"{counts.total} samples, {counts.total - counts.left} done, {counts.left} to run{_eta(eta_s)}")

    def note(self, message: str) -> None:
        """Say it."""
        self._say(message)

    def sample_begins(self, planned: PlannedSample, attempt: int) -> None:
        """Nothing: its end has a line."""

    def phase(self, name: str) -> None:
        """Nothing."""

    def sample_ends(
        self,
        sample: Sample,
        planned: PlannedSample,
        eta_s: float | None,
        result: WorkloadResult | None,  # noqa: ARG002
    ) -> None:
        """Say how it came out and how much is left."""
        self._say(f"{describe_sample(sample, planned)}; {self._counts.left} left{_eta(eta_s)}")

    def end(self) -> None:
        """Nothing: the summary follows."""

    def _say(self, message: str) -> None:
        self.console.print(f"{time.strftime('%H:%M:%S')} {message}", markup=False, highlight=False, soft_wrap=True)


class Live:
    """A live view for a terminal: what runs now, how far the run is, and a line for each sample that is done.

    Parameters
    ----------
    console : rich.console.Console
        On stderr, a terminal.
    """

    def __init__(self, console: Console) -> None:
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

        self._lines = Lines(console)
        self._counts = Counts()
        self._bars = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TextColumn("{task.fields[state]}", markup=False),
            TimeElapsedColumn(),
            console=console,
            transient=True,
        )
        self._task: Any = None
        self._cell = ""

    def begin(self, counts: Counts, eta_s: float | None) -> None:
        """Start the view."""
        self._counts = counts
        self._lines.begin(counts, eta_s)
        self._task = self._bars.add_task("starting", total=counts.total, state="")
        self._refresh("starting", eta_s)
        self._bars.start()

    def note(self, message: str) -> None:
        """A line above the view."""
        self._lines.note(message)

    def sample_begins(self, planned: PlannedSample, attempt: int) -> None:
        """Show the cell that runs."""
        again = f" attempt {attempt}" if attempt > 1 else ""
        self._cell = f"{planned.cell.slug} repeat {planned.repeat}{again}"

    def phase(self, name: str) -> None:
        """Show the phase."""
        if self._task is not None:
            self._bars.update(self._task, description=f"{self._cell} · {name}" if self._cell else name)

    def sample_ends(
        self, sample: Sample, planned: PlannedSample, eta_s: float | None, result: WorkloadResult | None
    ) -> None:
        """Move the bar; a line above it says how the sample came out."""
        self._cell = ""
        self._lines.sample_ends(sample, planned, eta_s, result)
        self._refresh("next sample", eta_s)

    def end(self) -> None:
        """Take the view away."""
        self._bars.stop()

    def _refresh(self, description: str, eta_s: float | None) -> None:
        counts = self._counts
        bad = "".join(f", {n} {word}" for word, n in (("invalid", counts.invalid), ("failed", counts.failed)) if n)
        state = f"{counts.valid} valid{bad}{_eta(eta_s)}"
        self._bars.update(self._task, description=description, completed=counts.total - counts.left, state=state)


def _eta(seconds: float | None) -> str:
    if not seconds:
        return ""
    at = time.strftime("%a %H:%M", time.localtime(time.time() + seconds))
    return f", about {format_duration(seconds)} ({at})"


def for_console(console: Console) -> Progress:
    """The live view on a terminal, plain lines elsewhere."""
    return Live(console) if console.is_terminal else Lines(console)
