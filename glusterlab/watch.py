"""Looks over the shoulder of a run from any shell: at its now.json, until it ends."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from glusterlab.journal import EventReader, format_line
from glusterlab.now import life, read_now
from glusterlab.progress import level_of
from glusterlab.view import View, how_it_stands, screen

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from rich.console import Console

    from glusterlab.journal import Event
    from glusterlab.now import Result, RunState

PAUSE_S = 0.5
"""Between two looks."""


def watch(folder: Path, console: Console) -> str:
    """Show what a campaign's run does until it ends: the whole screen of a terminal, plain lines elsewhere.

    Parameters
    ----------
    folder : pathlib.Path
        ``raw/<campaign>``.
    console : rich.console.Console

    Returns
    -------
    str
        How the run stands then, in a sentence; at once when none is at work.

    Raises
    ------
    RawStoreError
        When now.json is damaged.
    KeyboardInterrupt
        When the person has seen enough.
    """
    state = read_now(folder)
    if state is None:
        return f"{folder}: no run has said here what it does; this is what is stored"
    if _goes_on(state):
        if console.is_terminal and not console.is_dumb_terminal:
            state = _show(folder, state, console)
        else:
            state = _tell(folder, state, console)
    return how_it_stands(state, time.time())


def _goes_on(state: RunState) -> bool:
    return life(state) in ("at work", "elsewhere")


def _show(folder: Path, state: RunState, console: Console) -> RunState:
    view = View(state, watched=True)
    with screen(console, view):
        while _goes_on(view.state):
            time.sleep(PAUSE_S)
            view.state = read_now(folder) or view.state
    return view.state


def _tell(folder: Path, state: RunState, console: Console) -> RunState:
    """A line for what each new look finds: results, notes, and otherwise nothing."""
    console.print(how_it_stands(state, time.time()), markup=False, highlight=False, soft_wrap=True)
    seen = state.updated
    while _goes_on(state):
        time.sleep(PAUSE_S)
        state = read_now(folder) or state
        lines = [(note.at, format_line(note.at, note.level, note.message)) for note in state.notes]
        lines += [(result.ended, _line(result)) for result in state.recent]
        for at, line in sorted(lines):
            if at > seen:
                console.print(line, markup=False, highlight=False, soft_wrap=True)
                seen = at
    return state


def _line(result: Result) -> str:
    cell = result.execution
    what = f"{cell.slug} {cell.place}"
    found = result.value or result.problem
    return format_line(result.ended, level_of(result.status), f"{what}: {result.status}{': ' if found else ''}{found}")


def log_events(folder: Path, *, follow: bool, note: Callable[[str], None] | None = None) -> Iterator[Event]:
    """The entries of a campaign's log; on request also those that are still to come, until no run is at work.

    Parameters
    ----------
    folder : pathlib.Path
    follow : bool
    note : callable, optional
        Told at the end what could not be read.

    Raises
    ------
    RawStoreError
        When there is no log, or it cannot be read.
    """
    reader = EventReader.open(folder)
    while True:
        state = read_now(folder) if follow else None
        goes_on = state is not None and _goes_on(state)
        yield from reader.new()
        if not goes_on:
            if reader.damage and note is not None:
                note(reader.damage)
            return
        time.sleep(PAUSE_S)
