"""Looks over the shoulder of a run from any shell: at its now.json, until it ends."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from glusterlab.errors import GlusterlabError
from glusterlab.journal import EventReader, format_line
from glusterlab.now import life, read_now
from glusterlab.progress import level_of
from glusterlab.spec import load_campaign
from glusterlab.units import format_duration
from glusterlab.view import View, how_it_stands, screen

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from rich.console import Console

    from glusterlab.journal import Event
    from glusterlab.now import Result, RunState

PAUSE_S = 0.5
"""Between two looks."""

SILENCE_S = 600.0
"""A run on another machine that says nothing for so much longer than a workload may take is not waited for: the folder
may be a copy of one that was killed."""


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
    silence_s = _silence(folder)
    if _goes_on(state, silence_s):
        if console.is_terminal and not console.is_dumb_terminal:
            state = _show(folder, state, console, silence_s)
        else:
            state = _tell(folder, state, console, silence_s)
    stands = how_it_stands(state, time.time())
    if life(state) == "elsewhere":
        stands += f"; nothing was heard of it for {format_duration(silence_s)}: it has ended, or this is a copy"
    return stands


def _silence(folder: Path) -> float:
    """How long a run at work can be silent: while a workload is measured it writes nothing."""
    try:
        return load_campaign(folder / "campaign.yaml").deadline + SILENCE_S
    except (GlusterlabError, OSError):
        # a first run stores its campaign only when it has the hosts
        return SILENCE_S


def _goes_on(state: RunState, silence_s: float) -> bool:
    alive = life(state)
    return alive == "at work" or (alive == "elsewhere" and time.time() - state.updated < silence_s)


def _show(folder: Path, state: RunState, console: Console, silence_s: float) -> RunState:
    view = View(state, watched=True)
    with screen(console, view):
        while _goes_on(view.state, silence_s):
            time.sleep(PAUSE_S)
            view.state = read_now(folder) or view.state
    return view.state


def _tell(folder: Path, state: RunState, console: Console, silence_s: float) -> RunState:
    """A line for what each new look finds: results, notes, and otherwise nothing."""
    console.print(how_it_stands(state, time.time()), markup=False, highlight=False, soft_wrap=True)
    seen = state.updated
    while _goes_on(state, silence_s):
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

    A run on another machine is not waited for when it has been silent for too long.

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
