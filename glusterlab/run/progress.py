"""What a run tells people while it is running: it keeps one `RunState`, and hands each change to its outputs."""

from __future__ import annotations

import statistics
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from glusterlab.errors import GlusterlabError, RawStoreError
from glusterlab.reasons import MEANINGS, ReasonCode, Status
from glusterlab.run.measured import Measured
from glusterlab.run.state import NOW, Counts, Note, Outcome, RunState, execution_of, result_of
from glusterlab.secrets import redact
from glusterlab.store.files import write_atomically
from glusterlab.store.journal import Journal, Level, format_line
from glusterlab.units import format_duration

if TYPE_CHECKING:
    from rich.console import Console

    from glusterlab.run.plan import PlannedSample
    from glusterlab.spec.cell import Cell
    from glusterlab.store.campaign import Sample

LEVELS: Mapping[Status | Outcome, Level] = {
    "valid": "info",
    "invalid": "warning",
    "failed": "error",
    "complete": "info",
    "incomplete": "warning",
    "stopped": "warning",
}

_KEPT = 24


@dataclass(frozen=True)
class RunSummary:
    """How a run ended that no error broke off; `executed` are this run's alone.

    `paused`: it ended after the rounds that were requested, and some are left. `problems`: one per sample not valid.
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
        if self.interrupted:
            return "stopped"
        return "complete" if self.valid == self.total else "incomplete"

    @property
    def exit_code(self) -> int:
        """0 when every sample is valid that the run was to come to, 130 after a stop, else 1."""
        if self.interrupted:
            return 130
        wanted = self.total - self.left if self.paused else self.total
        return 0 if self.valid == wanted else 1


@dataclass(frozen=True)
class Ending:
    """How a run ended, as logs and notifications say it; without a summary where an error broke it off."""

    campaign: str
    raw: Path
    outcome: Outcome
    exit_code: int
    message: str
    seconds: float
    summary: RunSummary | None = None

    @classmethod
    def of(cls, summary: RunSummary) -> Ending:
        words = {"complete": "is complete", "incomplete": "has ended, incomplete", "stopped": "was stopped"}
        message = (
            f"campaign {summary.campaign} {words[summary.outcome]}: {summary.valid} of {summary.total} samples valid, "
            f"{summary.left} left; {summary.executed} executed in {format_duration(summary.seconds)}"
        )
        place = (summary.campaign, summary.path)
        return cls(*place, summary.outcome, summary.exit_code, message, summary.seconds, summary)

    @classmethod
    def of_error(cls, campaign: str, raw: Path, error: BaseException, seconds: float) -> Ending:
        if isinstance(error, KeyboardInterrupt):
            message = "the run was interrupted while it stopped: run the same command again, it goes on"
            return cls(campaign, raw, "stopped", 130, f"campaign {campaign}: {message}", seconds)
        what = str(error)
        if not isinstance(error, GlusterlabError):
            what = f"an error of the suite: {type(error).__name__}{f': {error}' if what else ''}"
        message = f"campaign {campaign}: the run failed after {format_duration(seconds)}: {redact(what)}"
        return cls(campaign, raw, "failed", getattr(error, "exit_code", GlusterlabError.exit_code), message, seconds)

    @property
    def data(self) -> dict[str, Any]:
        names = ("total", "valid", "invalid", "failed", "left", "executed")
        return {
            "schema_version": 1,
            **{name: value for name, value in asdict(self).items() if name != "summary"},
            "raw": str(self.raw),
            **{name: getattr(self.summary, name, None) for name in names},
            "problems": () if self.summary is None else self.summary.problems,
        }


class Output:
    """Shows what happens in a run, always called from the main thread; this one shows nothing."""

    def say(self, message: str, level: Level = "info", **details: object) -> None:
        """`details` are for scripts."""

    def changed(self, state: RunState) -> None:
        """Nothing."""

    def end(self, lines: Sequence[tuple[str, Level]]) -> None:
        """The closing lines."""


class Progress:
    """Keeps the state of a run, and hands every change to outputs; one that fails is left out, and ends no run."""

    def __init__(self, campaign: str, *outputs: Output) -> None:
        self.state = RunState.begun(campaign)
        self._outputs = outputs
        self._counts = Counts()
        self._explained: set[ReasonCode] = set()

    def begin(self, counts: Counts, eta_s: float | None) -> None:
        """The samples begin; `counts` is kept up to date by the runner."""
        self._counts = counts
        self._count(eta_s)
        done = counts.total - counts.left
        self._say(f"the run begins: {counts.total} samples, {done} done, {describe_left(counts, eta_s)}")

    def note(self, message: str, level: Level = "info") -> None:
        """Something that a person wants to read in the morning."""
        _keep(self.state.notes, Note(at=time.time(), level=level, message=redact(message)))
        self._say(message, level)

    def sample_begins(self, planned: PlannedSample, attempt: int) -> None:
        self.state.now = execution_of(planned.cell, planned, attempt, time.time())
        self.phase("starting")

    def phase(self, name: str) -> None:
        self.state.phase, self.state.phase_began = name, time.time()
        self._changed()

    def sample_ends(
        self,
        sample: Sample,
        planned: PlannedSample,
        eta_s: float | None,
        value: Measured | None = None,
        repeats: Sequence[Measured] = (),
    ) -> None:
        """A sample is in the raw store; `repeats`: what its cell's valid ones measured by now."""
        state, at = self.state, time.time()
        ended = result_of(sample, planned.cell, value, repeats, began=state.now.began if state.now else at, ended=at)
        _keep(state.recent, ended)
        for code in set(ended.codes):
            state.codes[code] = state.codes.get(code, 0) + 1
        state.now = None
        self._count(eta_s)
        details: dict[str, object] = {"cell": planned.cell.id, "sample": sample.sample, "status": sample.status}
        details |= {"codes": list(ended.codes), **({} if value is None else asdict(value))}
        self._say(f"{ended.line}; {describe_left(self._counts, eta_s)}", LEVELS[sample.status], **details)
        if sample.reasons:
            self._advise(sample.reasons[0].code, LEVELS[sample.status])
        self.phase("between samples")

    def _advise(self, code: ReasonCode, level: Level) -> None:
        """Advise about the first reason, from which others often follow; explain each code once."""
        meaning = "" if code in self._explained else f"{MEANINGS[code].sentence} "
        self._explained.add(code)
        self._say(f"{code}: {meaning}{MEANINGS[code].advice}", level)

    def end(self, ending: Ending) -> None:
        state = self.state
        state.ended, state.outcome, state.message = time.time(), ending.outcome, redact(ending.message)
        self._count(None)
        self._changed()
        lines = list(self._closing_lines(ending))
        self._each(lambda output: output.end(lines))

    def _closing_lines(self, ending: Ending) -> Iterator[tuple[str, Level]]:
        yield ending.message, LEVELS[ending.outcome]
        codes = self.state.codes
        if codes:
            often = ", ".join(f"{code} {number}" for code, number in sorted(codes.items(), key=lambda e: (-e[1], e[0])))
            yield f"samples of this run that were not valid, by reason: {often}", "warning"
        if ending.summary is not None:
            for line in ending.summary.not_runnable_reasons:
                yield f"not runnable here, and left out: {line}", "info"
            for line in ending.summary.problems:
                yield f"not valid: {line}", "warning"
            if ending.summary.advice:
                yield ending.summary.advice, "info"

    def _count(self, eta_s: float | None) -> None:
        for name in Counts.model_fields:
            setattr(self.state, name, getattr(self._counts, name))
        self.state.ends_about = time.time() + eta_s if eta_s else None

    def _say(self, message: str, level: Level = "info", **details: object) -> None:
        self._each(lambda output: output.say(message, level, **details))
        self._changed()

    def _changed(self) -> None:
        self.state.updated = time.time()
        self._each(lambda output: output.changed(self.state))

    def _each(self, show: Callable[[Output], None]) -> None:
        for output in self._outputs:
            try:
                show(output)
            # Rich ends the program when what reads its lines has exited
            except (OSError, SystemExit):
                self._outputs = tuple(other for other in self._outputs if other is not output)


def _keep(entries: list[Any], entry: object) -> None:
    entries.append(entry)
    del entries[:-_KEPT]


class Lines(Output):
    """Plain lines on a console on stderr, for logs and pipes; the summary at the end is the command's."""

    def __init__(self, console: Console) -> None:
        self._console = console

    def say(self, message: str, level: Level = "info", **details: object) -> None:
        del details
        self._console.print(format_line(time.time(), level, message), markup=False, highlight=False, soft_wrap=True)


class RunLog(Output):
    """The campaign's log; one that cannot be written ends no run: a full disk stops it where samples are written."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal

    def say(self, message: str, level: Level = "info", **details: object) -> None:
        with suppress(RawStoreError):
            self._journal.say(message, level, **details)

    def end(self, lines: Sequence[tuple[str, Level]]) -> None:
        for message, level in lines:
            self.say(message, level)


class NowFile(Output):
    """Keeps now.json of a campaign's folder, which must exist; what cannot be written ends no run."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def changed(self, state: RunState) -> None:
        with suppress(RawStoreError):
            write_atomically(self._folder / NOW, state.model_dump_json(indent=1) + "\n", durable=False)


class Durations:
    """The time that samples will take, from what others took; `estimates` measures between cells that are not alike."""

    def __init__(self, estimates: Mapping[str, float]) -> None:
        self._estimates = estimates
        self._same: dict[str, list[float]] = defaultdict(list)
        self._alike: dict[tuple[str, ...], list[float]] = defaultdict(list)
        self._all: list[float] = []

    def add(self, cell: Cell, seconds: float) -> None:
        ratio = seconds / max(self._estimates.get(cell.id, seconds), 1.0)
        self._same[cell.id].append(seconds)
        self._alike[_kind(cell)].append(ratio)
        self._all.append(ratio)

    def expect(self, cell: Cell) -> float | None:
        """Seconds that a sample of the cell will take; None when nothing is known.

        The median of the cell's own samples; else its estimate times how far those of its kind, or of all, were off.
        """
        if self._same[cell.id]:
            return statistics.median(self._same[cell.id])
        ratios = self._alike[_kind(cell)] or self._all
        if not ratios or cell.id not in self._estimates:
            return self._estimates.get(cell.id)
        return self._estimates[cell.id] * statistics.median(ratios)

    def total(self, cells: Sequence[Cell]) -> float | None:
        parts = [self.expect(cell) for cell in cells]
        return None if any(part is None for part in parts) else sum(part for part in parts if part is not None)


def _kind(cell: Cell) -> tuple[str, ...]:
    return (cell.tool, cell.operation, cell.layout.type, cell.layout.geometry, cell.layout.backing, cell.model.name)


def describe_left(counts: Counts, eta_s: float | None) -> str:
    """How much is left for this run, and for later ones, and when this one will be done."""
    warmup = f" and {counts.warmup_left} to warm up" if counts.warmup_left else ""
    later = f", {counts.later} in later runs" if counts.later else ""
    about = ""
    if eta_s:
        at = time.strftime("%a %H:%M", time.localtime(time.time() + eta_s))
        about = f", about {format_duration(eta_s)} ({at})"
    return f"{counts.left - counts.later} left{warmup}{about}{later}"
