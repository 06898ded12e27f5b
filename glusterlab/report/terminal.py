"""What all commands show things by: lines, tables, JSON, progress while they work."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, is_dataclass
from typing import TYPE_CHECKING, Any

import typer

from glusterlab.units import short_number

if TYPE_CHECKING:
    from rich.console import Console

SCHEMA_VERSION = 1
"""Version of what ``--json`` prints."""


IMPORTED = "imported, judged by the tools' own output: the conditions of the measurement were not recorded"
"""What is said once of a campaign that others measured."""


LOG_EVERY_S = 10.0
"""Seconds between lines about progress where there is no terminal."""


def talk(message: str) -> None:
    """One line for the person, on stderr."""
    typer.echo(message, err=True)


def person() -> Console:
    """Rich's console on stderr, which raises BrokenPipeError when what read it has gone.

    Rich itself ends the program then, and turns stdout to nowhere, on which the data of ``--json`` is still to come.
    """
    from rich.console import Console

    class Person(Console):
        def on_broken_pipe(self) -> None:
            """Leave it to whoever prints."""

    return Person(stderr=True)


def complain(message: str) -> None:
    """One error, on stderr."""
    typer.echo(f"{typer.style('error:', fg='red', bold=True)} {message}", err=True)


def emit_json(data: Mapping[str, Any]) -> None:
    """Data for scripts, on stdout."""
    typer.echo(json.dumps(data, indent=2, sort_keys=True, ensure_ascii=False, default=_plain))


def _plain(value: object) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    return str(value)


def show_table(
    columns: Sequence[str], rows: Iterable[Sequence[object]], *, right: Iterable[str] = (), fold: str | None = None
) -> None:
    """A table on stdout: drawn on a terminal, else plain aligned columns that nothing wraps or cuts.

    Parameters
    ----------
    columns : sequence of str
    rows : iterable of sequences
        Cells are shown as their text.
    right : iterable of str
        Columns that are aligned to the right.
    fold : str, optional
        The only column that a narrow terminal may break; without it all may be broken.
    """
    cells = [[str(cell) for cell in row] for row in rows]
    numbers = {columns.index(name) for name in right}
    if sys.stdout.isatty():
        from rich.box import SIMPLE_HEAD
        from rich.console import Console
        from rich.markup import escape
        from rich.table import Table

        table = Table(box=SIMPLE_HEAD, header_style="bold", pad_edge=False)
        for n, name in enumerate(columns):
            keep = n in numbers or (fold is not None and name != fold)
            table.add_column(name, justify="right" if n in numbers else "left", no_wrap=keep, overflow="fold")
        for row in cells:
            table.add_row(*(escape(cell) for cell in row))
        Console().print(table)
        return
    widths = [max(len(row[n]) for row in [list(columns), *cells]) for n in range(len(columns))]
    for row in [list(columns), *cells]:
        parts = [cell.rjust(widths[n]) if n in numbers else cell.ljust(widths[n]) for n, cell in enumerate(row)]
        typer.echo("  ".join(parts).rstrip())


def format_bytes(count: float) -> str:
    """Bytes for a person, rounded.

    Examples
    --------
    >>> format_bytes(4_413_194_240), format_bytes(7_929_129), format_bytes(0)
    ('4.4 GB', '7.9 MB', '0 B')
    """
    for unit, factor in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= factor:
            return f"{count / factor:.1f} {unit}"
    return f"{count:.0f} B"


def count_of(number: int, noun: str) -> str:
    """A number with its noun.

    Examples
    --------
    >>> count_of(1, "cell"), count_of(1200, "cell")
    ('1 cell', '1,200 cells')
    """
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def percent(share: float) -> str:
    """A share for a person.

    Examples
    --------
    >>> percent(0.05), percent(0.0312), percent(1.5)
    ('5 %', '3.12 %', '150 %')
    """
    return f"{short_number(100 * share).removesuffix('.00')} %"


class _Lines:
    """A line now and then for a log: none of what is done at once."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._next = time.monotonic() + LOG_EVERY_S

    def __call__(self, done: int, total: int) -> None:
        if time.monotonic() >= self._next:
            self._next = time.monotonic() + LOG_EVERY_S
            talk(f"{self._what}: {done} of {total}")


@contextmanager
def bar(what: str) -> Iterator[Callable[[int, int], None]]:
    """A bar on stderr while something is counted, to be told how many are done and of how many; lines in a log."""
    if not sys.stderr.isatty():
        yield _Lines(what)
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as shown:
        task = shown.add_task(what, total=None)
        yield lambda done, total: shown.update(task, completed=done, total=total)


@contextmanager
def steps() -> Iterator[Callable[[str], None]]:
    """Steps of long work, one line each on stderr with the seconds since the start, and a spinner on a terminal."""
    from rich.console import Console

    console = Console(stderr=True)
    start = time.monotonic()
    status = console.status("")

    def show(step: str) -> None:
        console.print(f"{time.monotonic() - start:6.1f} s  {step}", markup=False, highlight=False, soft_wrap=True)
        status.update(step)

    with status if console.is_terminal else nullcontext():
        yield show
