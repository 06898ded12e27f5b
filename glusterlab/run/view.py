"""The live view of a run, drawn from its `RunState` alone; `watch` shows it from another shell."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Group
from rich.live import Live as RichLive
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from glusterlab.errors import GlusterlabError
from glusterlab.run.progress import LEVELS, Lines, Output
from glusterlab.run.state import Result, RunState, life, read_now
from glusterlab.spec.yaml import load_campaign
from glusterlab.store.journal import EventReader, Level, format_line
from glusterlab.units import format_duration

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType, RenderResult

    from glusterlab.store.journal import Event

PAUSE_S = 0.5

SILENCE_S = 600.0
"""Beyond a workload's deadline: a folder whose run is silent for longer may be a copy of one that was killed."""

PHASES: Mapping[str, str] = {
    "prepare": "preparing the files",
    "before": "reading health, dropping caches, starting sar",
    "throttle": "putting the scale model into effect",
    "workload": "measuring",
    "lift": "lifting the scale model",
    "after": "collecting telemetry, health and results",
    "judge": "judging",
}
"""The phases of a sample in words; other phases are sentences already."""

_COLOURS = {"valid": "green", "invalid": "yellow", "failed": "red"}
_RESULTS = 8


def clock(seconds: float) -> timedelta:
    """Seconds that passed, as a person reads them."""
    return timedelta(seconds=max(0, int(seconds)))


def moment(at: float, now: float) -> str:
    """The time, with the weekday when it is further off than twelve hours."""
    return time.strftime("%H:%M" if abs(now - at) < 12 * 3600 else "%a %H:%M", time.localtime(at))


class View:
    """A renderable of a run's state; `watched`: it is another process's."""

    def __init__(self, state: RunState, *, watched: bool = False, now: Callable[[], float] = time.time) -> None:
        self.state = state
        self.watched = watched
        self._now = now

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield Group(*self._parts(self._now(), "+-" if options.ascii_only else "±"))

    def _parts(self, at: float, plus_minus: str) -> Iterator[RenderableType]:
        state = self.state
        since = f"   since {moment(state.began, at)}, {clock(at - state.began)}"
        yield _line((f"glusterlab {state.campaign}", "bold"), (since, "dim"))
        yield from self._doing(at)
        yield from self._bar(at)
        if state.recent:
            yield self._results(plus_minus)
        hint = "Ctrl-C stops the run; the same command goes on with it"
        if self.watched:
            hint = f"process {state.process} on {state.host}, last update {clock(at - state.updated)} ago"
            hint += "; Ctrl-C only leaves the view"
        yield _line((hint, "dim"))

    def _doing(self, at: float) -> Iterator[Text]:
        state, cell = self.state, self.state.now
        phase = PHASES.get(state.phase, state.phase)
        if cell is not None:
            place = cell.place if cell.warmup else f"{cell.place}, round {cell.round} of {state.rounds or '?'}"
            yield _line((f"{cell.operation}, {cell.layout}, {cell.workers} workers", "cyan"))
            yield _line(place, (f"   {clock(at - cell.began)}", "dim"))
        style = "yellow" if phase.startswith("waiting") else ""
        yield _line((phase, style), (f"   {clock(at - state.phase_began)}", "bold"))

    def _bar(self, at: float) -> Iterator[RenderableType]:
        state = self.state
        if not state.total:
            return
        done = state.total - state.left
        grid = Table.grid(expand=True, padding=(0, 1))
        grid.add_column(ratio=1)
        grid.add_column(justify="right", no_wrap=True)
        bar = ProgressBar(total=state.total, completed=done, complete_style="cyan", finished_style="green")
        grid.add_row(bar, Text(f"{done} of {state.total}", "bold"))
        yield grid
        counts = Text.assemble((f"{state.valid} valid", "green" if state.valid else ""))
        for number, word in ((state.invalid, "invalid"), (state.failed, "failed")):
            if number:
                counts.append(f", {number} {word}", _COLOURS[word])
        warmup = f", {state.warmup_left} to warm up" if state.warmup_left else ""
        later = f", {state.later} in later runs" if state.later else ""
        counts.append(f", {state.left - state.later} left{warmup}{later}")
        if state.ends_about is not None:
            left = max(0.0, state.ends_about - at)
            counts.append(f"; about {format_duration(left)} to go, until {moment(state.ends_about, at)}")
        yield _line(counts)

    def _results(self, plus_minus: str) -> Table:
        table = Table(box=None, expand=True, padding=(0, 1, 0, 0), title_justify="left", header_style="bold")
        for name in ("ended", "operation", "layout", "workers", "result", f"mean {plus_minus} 95 %, n"):
            table.add_column(name, no_wrap=True, justify="right" if name in ("workers", "result") else "left")
        for result in self.state.recent[: -_RESULTS - 1 : -1]:
            cell = result.execution
            value = Text(result.value or result.status, _COLOURS[result.status])
            # as texts: strings would be read as markup
            words = (moment(result.ended, result.ended), cell.operation, cell.layout, str(cell.workers))
            table.add_row(*map(Text, words), value, Text(_interval(result, plus_minus), "dim"))
        return table


def _interval(result: Result, plus_minus: str) -> str:
    if result.status != "valid":
        return ", ".join(dict.fromkeys(result.codes))
    if result.execution.warmup:
        return "warm-up"
    if result.half_width is None:
        return f"n {result.n}" if result.n else ""
    return f"{result.mean.partition(' ')[0]} {plus_minus}{100 * result.half_width:.1f}% n {result.n}"


def _line(*parts: str | Text | tuple[str, str]) -> Text:
    text = Text.assemble(*parts)
    text.no_wrap, text.overflow = True, "crop"
    return text


class Live(Output):
    """Shows a run on a terminal on stderr from its first change on."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._live: RichLive | None = None

    def changed(self, state: RunState) -> None:
        if self._live is None and state.ended is None:
            self._live = _live(View(state), self._console)
            self._live.start(refresh=True)

    def end(self, lines: Sequence[tuple[str, Level]]) -> None:
        del lines
        if self._live is not None:
            self._live.stop()


def _live(view: View, console: Console) -> RichLive:
    return RichLive(view, console=console, transient=True, refresh_per_second=1 / PAUSE_S)


def output_for(console: Console) -> Output:
    """The live view on a terminal, plain lines elsewhere."""
    return Live(console) if _is_live(console) else Lines(console)


def _is_live(console: Console) -> bool:
    return console.is_terminal and not console.is_dumb_terminal


def describe_state(state: RunState, at: float) -> str:
    """Whether the run of a state goes on and since when, or how it ended, in a sentence."""
    began = moment(state.began, at)
    last = f"{moment(state.updated, at)}, {format_duration(max(0.0, at - state.updated))} ago"
    phase = PHASES.get(state.phase, state.phase)
    doing = phase if state.now is None else f"{state.now.slug}, {phase}"
    match life(state):
        case "ended":
            return f"not running since {last}: {state.message}"
        case "lost":
            what = f"not running: process {state.process} has vanished, killed or with its machine"
            return f"{what}; last update {last}: {doing}; run the same command again: it goes on"
        case "elsewhere":
            return f"run by process {state.process} on {state.host} since {began}; last update {last}: {doing}"
        case _:
            return f"running since {began} as process {state.process}: {doing}"


def watch(folder: Path, console: Console) -> str:
    """Show what a campaign's run does until it ends; returns its state at the end in a sentence."""
    state = read_now(folder)
    if state is None:
        return f"{folder}: there is no now.json of a run; this is what is stored"
    silence_s = _silence(folder)
    if _goes_on(state, silence_s):
        if _is_live(console):
            view = View(state, watched=True)
            try:
                with _live(view, console):
                    while _goes_on(view.state, silence_s):
                        time.sleep(PAUSE_S)
                        view.state = read_now(folder) or view.state
            finally:
                # Ctrl-C while the view comes up would leave it hidden
                console.show_cursor()
            state = view.state
        else:
            state = _follow_lines(folder, state, console, silence_s)
    sentence = describe_state(state, time.time())
    if life(state) == "elsewhere":
        sentence += f"; no update for {format_duration(silence_s)}: it has ended, or this is a copy"
    return sentence


def _silence(folder: Path) -> float:
    try:
        return load_campaign(folder / "campaign.yaml").deadline + SILENCE_S
    except (GlusterlabError, OSError):
        # a first run stores its campaign only when it has the hosts
        return SILENCE_S


def _goes_on(state: RunState, silence_s: float) -> bool:
    found = life(state)
    return found == "running" or (found == "elsewhere" and time.time() - state.updated < silence_s)


def _follow_lines(folder: Path, state: RunState, console: Console, silence_s: float) -> RunState:
    console.print(describe_state(state, time.time()), markup=False, highlight=False, soft_wrap=True)
    shown = state.updated
    while _goes_on(state, silence_s):
        time.sleep(PAUSE_S)
        state = read_now(folder) or state
        lines = [(note.at, format_line(note.at, note.level, note.message)) for note in state.notes]
        lines += [(each.ended, format_line(each.ended, LEVELS[each.status], each.line)) for each in state.recent]
        for at, line in sorted(lines):
            if at > shown:
                console.print(line, markup=False, highlight=False, soft_wrap=True)
                shown = at
    return state


def log_events(folder: Path, *, follow: bool, note: Callable[[str], None] | None = None) -> Iterator[Event]:
    """The entries of a campaign's log, with `follow` while a run goes on; `note` receives what could not be read."""
    reader = EventReader(folder)
    silence_s = _silence(folder)
    while True:
        state = read_now(folder) if follow else None
        goes_on = state is not None and _goes_on(state, silence_s)
        yield from reader.new()
        if not goes_on:
            if reader.damage and note is not None:
                note(reader.damage)
            return
        time.sleep(PAUSE_S)
