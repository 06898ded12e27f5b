"""The view of a run on a terminal: what it does now, how far it is, the last results, and what went wrong.

It is drawn from a `RunState` alone, so ``glusterlab run`` and ``glusterlab status --watch`` show the same. It takes the
whole screen, is drawn over and never cleared, and shows less where there is less room: 80 x 24 has all of it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

from rich.console import Group
from rich.live import Live as RichLive
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from glusterlab.now import Recorder, Result, RunState, life
from glusterlab.units import format_duration

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, OverflowMethod, RenderableType, RenderResult

    from glusterlab.progress import Ending

REFRESH_HZ = 2.0
"""Often enough for seconds to pass evenly, and next to nothing for the processors of the machine."""

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

_COLOURS = {"valid": "green", "invalid": "yellow", "failed": "red", "info": "", "warning": "yellow", "error": "red"}
_LABEL = 9
_INTERVAL = 17
_NARROW = 78
_HEAD = 9
_LEAST_ROWS = {"results": 3, "problems": 2, "notes": 1}
_MOST_ROWS = {"results": 24, "problems": 6, "notes": 4}


def clock(seconds: float) -> str:
    """A time that passes, as a clock shows it.

    Examples
    --------
    >>> clock(7.9), clock(72), clock(3723)
    ('0:07', '1:12', '1:02:03')
    """
    whole = max(0, int(seconds))
    minutes = f"{whole // 60 % 60}" if whole < 3600 else f"{whole // 3600}:{whole // 60 % 60:02d}"
    return f"{minutes}:{whole % 60:02d}"


def moment(at: float, now: float) -> str:
    """A moment as people name it: the time, with the weekday when it is further off than twelve hours."""
    return time.strftime("%H:%M" if abs(now - at) < 12 * 3600 else "%a %H:%M", time.localtime(at))


def share_rows(rows: int, wanted: Mapping[str, int]) -> dict[str, int]:
    """How many rows each section gets: first the least that makes sense, then problems, notes, and results the rest.

    Parameters
    ----------
    rows : int
        Without headings and the lines between sections.
    wanted : mapping of str to int
        Rows that each section could fill.

    Examples
    --------
    >>> share_rows(9, {"results": 20, "problems": 2, "notes": 4})
    {'results': 3, 'problems': 2, 'notes': 4}
    >>> share_rows(4, {"results": 20, "problems": 2, "notes": 4})
    {'results': 3, 'problems': 0, 'notes': 1}
    """
    given = dict.fromkeys(wanted, 0)
    for name, most in wanted.items():
        least = min(most, _LEAST_ROWS[name])
        if least <= rows:
            given[name] = least
            rows -= least
    for name in ("problems", "notes", "results"):
        if given.get(name):
            more = max(0, min(rows, min(wanted[name], _MOST_ROWS[name]) - given[name]))
            more -= more % 2 if name == "problems" else 0
            given[name] += more
            rows -= more
    return given


class View:
    """A renderable of the state of a run, as high as the terminal.

    Parameters
    ----------
    state : RunState
    watched : bool
        It is another process's: leaving the view does not end the run.
    now : callable
        Tells the time, in epoch seconds.
    """

    def __init__(self, state: RunState, *, watched: bool = False, now: Callable[[], float] = time.time) -> None:
        self.state = state
        self.watched = watched
        self._now = now

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        height = options.height or console.height
        lines = _Drawing(self.state, options.max_width, self._now(), options.ascii_only)
        yield Group(*list(lines.draw(height, watched=self.watched))[:height])


class _Drawing:
    """One drawing of a state: width, time and characters are settled; every renderable is one line high."""

    def __init__(self, state: RunState, width: int, at: float, ascii_only: bool) -> None:
        self.state = state
        self.width = width
        self.at = at
        self.overflow: OverflowMethod = "crop" if ascii_only else "ellipsis"
        self.plus_minus = "+-" if ascii_only else "±"

    def draw(self, height: int, *, watched: bool) -> Iterator[RenderableType]:
        loose = height >= 20
        yield self._header()
        if loose:
            yield self._line("")
        yield from self._now()
        if loose:
            yield self._line("")
        yield from self._progress()
        sections: dict[str, tuple[RenderableType, list[RenderableType]]] = {
            "results": (self._result_heading(), list(self._results())),
            "problems": (self._line(self._problem_heading(), "bold"), list(self._problems())),
            "notes": (self._line("notes", "bold"), list(self._notes())),
        }
        sections = {name: section for name, section in sections.items() if section[1]}
        used = _HEAD if loose else _HEAD - 3
        overhead = len(sections) * (2 if loose else 1)
        rows = share_rows(max(0, height - used - overhead - 1), {name: len(s[1]) for name, s in sections.items()})
        for name, (heading, lines) in sections.items():
            if not rows[name]:
                continue
            if loose:
                yield self._line("")
            yield heading
            yield from lines[: rows[name]]
        if loose:
            yield self._line("")
        if watched:
            state = self.state
            heard = f"process {state.process} on {state.host}, last word {clock(self.at - state.updated)} ago"
            yield self._line(f"{heard}; Ctrl-C leaves this view only", "dim")
        else:
            yield self._line("Ctrl-C stops the run; the same command goes on with it", "dim")

    def _line(self, text: str | Text, style: str = "") -> Text:
        line = Text(text, style) if isinstance(text, str) else text
        line.no_wrap = True
        line.overflow = self.overflow
        return line

    def _sides(self, left: Text, right: Text) -> Table:
        grid = Table.grid(expand=True, padding=(0, 1))
        grid.add_column(ratio=1, no_wrap=True, overflow=self.overflow)
        grid.add_column(justify="right", no_wrap=True)
        grid.add_row(left, right)
        return grid

    def _header(self) -> Table:
        state = self.state
        left = Text.assemble((f"glusterlab {state.campaign}", "bold"))
        since = f"since {moment(state.began, self.at)}, {clock(self.at - state.began)}"
        return self._sides(left, Text(since, "dim"))

    def _labelled(self, label: str, text: Text) -> Text:
        return self._line(Text.assemble((label.ljust(_LABEL), "bold"), text))

    def _now(self) -> Iterator[RenderableType]:
        state = self.state
        cell = state.now
        phase = PHASES.get(state.phase, state.phase)
        waits = phase.startswith("waiting")
        spent = clock(self.at - state.phase_began)
        doing = Text.assemble((phase, "yellow" if waits else ""), (f"   {spent}", "bold"))
        if cell is None:
            yield self._labelled("now", doing)
            yield self._line("")
            yield self._line("")
            return
        yield self._labelled("now", Text(f"{cell.operation}, {cell.layout}, {cell.workers} workers", "cyan"))
        of = f" of {state.rounds}" if state.rounds else ""
        place = cell.place if cell.warmup else f"{cell.place}, round {cell.round}{of}"
        yield self._labelled("", Text.assemble(place, (f"   {clock(self.at - cell.began)}", "dim")))
        yield self._labelled("", doing)

    def _progress(self) -> Iterator[RenderableType]:
        state = self.state
        done = state.total - state.left
        bar = ProgressBar(
            total=max(1, state.total), completed=done, complete_style="cyan", finished_style="green", width=None
        )
        many = Text(f"{done} of {state.total}" if state.total else "", "bold")
        grid = Table.grid(expand=True, padding=(0, 1))
        grid.add_column(ratio=1)
        grid.add_column(justify="right", no_wrap=True)
        grid.add_row(bar, many)
        yield grid
        counts = Text.assemble((f"{state.valid} valid", "green" if state.valid else ""))
        for number, word in ((state.invalid, "invalid"), (state.failed, "failed")):
            if number:
                counts.append(f", {number} {word}", _COLOURS[word])
        warmup = f", {state.warmup_left} to warm up" if state.warmup_left else ""
        later = f", {state.later} in later runs" if state.later else ""
        counts.append(f", {state.left - state.later} left{warmup}{later}")
        yield self._sides(counts if state.total else Text(""), Text(self._ends(self.width - counts.cell_len - 1)))

    def _ends(self, room: int) -> str:
        about = self.state.ends_about
        if about is None:
            return ""
        left = about - self.at
        if left < 1:
            return "about to end"
        until = f"until {moment(about, self.at)}"
        whole = f"about {format_duration(left)} to go, {until}"
        return whole if len(whole) <= room else until

    def _result_heading(self) -> RenderableType:
        grid = Table.grid(expand=True, padding=(0, 1))
        grid.add_column(ratio=1, no_wrap=True)
        grid.add_column(width=_INTERVAL, no_wrap=True)
        interval = f"mean {self.plus_minus}95% n" if self.width >= _NARROW - 16 else ""
        grid.add_row(Text("last results", "bold"), Text(interval, "dim"))
        return grid

    def _results(self) -> Iterator[RenderableType]:
        wide = self.width >= _NARROW + 14
        for result in reversed(list(self.state.recent)):
            cell = result.execution
            row = Table.grid(expand=True, padding=(0, 1))
            row.add_column(width=5, no_wrap=True)
            row.add_column(width=min(17, max(13, self.width // 6)), no_wrap=True, overflow=self.overflow)
            row.add_column(ratio=1, no_wrap=True, overflow=self.overflow)
            row.add_column(width=4, justify="right", no_wrap=True)
            # as texts: strings would be read as markup
            values = [Text(moment(result.ended, result.ended)), Text(cell.operation), Text(cell.layout)]
            values.append(Text(f"{cell.workers}w"))
            if wide:
                row.add_column(width=14, no_wrap=True)
                values.append(Text(cell.place.partition(",")[0]))
            row.add_column(width=13, justify="right", no_wrap=True)
            values.append(Text(result.value or result.status, _COLOURS[result.status]))
            if self.width >= _NARROW - 16:
                row.add_column(width=_INTERVAL, no_wrap=True)
                values.append(Text(self._interval(result), "dim"))
            row.add_row(*values)
            yield row

    def _interval(self, result: Result) -> str:
        if result.status != "valid":
            return ", ".join(dict.fromkeys(result.codes))
        if result.execution.warmup:
            return "warm-up"
        if result.half_width is None:
            return f"n {result.n}" if result.n else ""
        mean = result.mean.partition(" ")[0]
        return f"{mean} {self.plus_minus}{100 * result.half_width:.1f}% n {result.n}"

    def _problem_heading(self) -> str:
        codes = dict(self.state.codes)
        often = ", ".join(f"{code} {n}" for code, n in sorted(codes.items(), key=lambda entry: (-entry[1], entry[0])))
        return f"not valid: {often}"

    def _problems(self) -> Iterator[RenderableType]:
        for result in reversed(list(self.state.problems)):
            cell = result.execution
            name = f"{cell.operation}, {cell.layout}, {cell.workers}w, {cell.place}"
            word = (result.status, _COLOURS[result.status])
            yield self._line(Text.assemble(f"{moment(result.ended, result.ended)} ", word, f" {name}"))
            yield self._line(Text.assemble("      ", (result.problem, _COLOURS[result.status])))

    def _notes(self) -> Iterator[RenderableType]:
        for note in reversed(list(self.state.notes)):
            message = note.message.replace("\n", " ")
            yield self._line(Text.assemble(f"{moment(note.at, note.at)} ", (message, _COLOURS[note.level])))


class Live(Recorder):
    """A `Progress` that shows the run on a terminal while it goes on.

    Parameters
    ----------
    console : rich.console.Console
        On stderr, a terminal.
    campaign : str
    """

    def __init__(self, console: Console, campaign: str) -> None:
        super().__init__(campaign)
        self._live = screen(console, View(self.state))
        self._shown = False

    def changed(self) -> None:
        """Show the first change at once, later ones at the next drawing."""
        if not self._shown and self.state.ended is None:
            self._shown = True
            self._live.start(refresh=True)

    def end(self, ending: Ending) -> None:
        """Give the screen back."""
        super().end(ending)
        if self._shown:
            self._live.stop()


def screen(console: Console, view: View) -> RichLive:
    """The whole screen, drawn again and again until it is stopped."""
    return RichLive(view, console=console, screen=True, refresh_per_second=REFRESH_HZ)


def how_it_stands(state: RunState, at: float) -> str:
    """Whether the run of a state goes on and since when, or how it ended, in a sentence."""
    began = moment(state.began, at)
    last = f"{moment(state.updated, at)}, {format_duration(max(0.0, at - state.updated))} ago"
    phase = PHASES.get(state.phase, state.phase)
    doing = phase if state.now is None else f"{state.now.slug}, {phase}"
    match life(state):
        case "over":
            return f"not running since {last}: {state.message}"
        case "gone":
            what = f"not running: process {state.process} is gone without a word, killed or with its machine"
            return f"{what}; last heard of at {last}: {doing}; run the same command again: it goes on"
        case "elsewhere":
            return f"run by process {state.process} on {state.host} since {began}; last heard of at {last}: {doing}"
        case _:
            return f"running since {began} as process {state.process}: {doing}"
