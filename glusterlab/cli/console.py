"""What commands print: lines, tables, JSON, progress while they work."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import typer

from glusterlab.secrets import redact
from glusterlab.units import MEGABYTE, short_number

if TYPE_CHECKING:
    import pandas as pd
    from rich.console import Console

    from glusterlab.spec import Repeats

SCHEMA_VERSION = 1  # version of what ``--json`` prints

IMPORTED = "imported, judged by the tools' own output: the conditions of the measurement were not recorded"
"""Noted once of a campaign that others measured."""

LOG_EVERY_S = 10.0  # seconds between lines about progress where there is no terminal


def talk(message: str) -> None:
    """One line for the person, on stderr."""
    typer.echo(message, err=True)


def person() -> Console:
    """Rich's console on stderr, which raises BrokenPipeError when what read it has gone."""
    from rich.console import Console

    class Person(Console):
        def on_broken_pipe(self) -> None:
            """Leave it to whoever prints: rich would close stdout, on which the data of ``--json`` is still to come."""

    return Person(stderr=True)


def complain(message: str) -> None:
    """One error, on stderr."""
    typer.echo(f"{typer.style('error:', fg='red', bold=True)} {redact(message)}", err=True)


def emit_json(data: Mapping[str, Any], *, version: int | None = SCHEMA_VERSION) -> None:
    """Data for scripts, on stdout, with the version of their form; NaN and infinity become null."""
    from pydantic_core import to_jsonable_python

    versioned = dict(data) if version is None else {"schema_version": version, **data}
    plain = to_jsonable_python(
        versioned, inf_nan_mode="null", fallback=lambda value: value.item() if hasattr(value, "item") else str(value)
    )
    typer.echo(json.dumps(plain, indent=2, sort_keys=True, ensure_ascii=False))


def bounds(repeats: Repeats | None) -> dict[str, Any] | None:
    """How many repeats a cell gets, and the half-width that ends it, for JSON."""
    return None if repeats is None else picked(repeats, "max", "half_width", min="least")


def picked(source: object, /, *names: str, **renamed: str) -> dict[str, Any]:
    """Some attributes of an object, by their names or by the given ones."""
    chosen = {name: name for name in names} | renamed
    return {key: getattr(source, name) for key, name in chosen.items()}


def show(
    frame: pd.DataFrame | Sequence[Mapping[str, object]],
    as_json: bool,
    data: Mapping[str, Any] | None = None,
    *,
    right: Iterable[str] = (),
    fold: str | None = None,
    lines: Iterable[str] = (),
    notes: Iterable[str] = (),
) -> None:
    """A command's result on stdout: `frame` as a table, then `lines`; or for scripts `data`, else the frame's rows.

    The table is drawn on a terminal, else plain aligned columns. Columns named in `right` are aligned to the right;
    `fold` is the only column that a narrow terminal may break, without it all. `notes` are for people, on stderr.
    """
    rows: Sequence[Mapping[Any, object]] = frame if isinstance(frame, Sequence) else frame.to_dict("records")
    if as_json:
        emit_json({"rows": rows} if data is None else data)
        return
    if rows:
        _show_table(list(rows[0]), [list(row.values()) for row in rows], right, fold)
    for number, line in enumerate(lines):
        typer.echo(f"\n{line}" if rows and not number else line)
    for note in notes:
        talk(note)


def _show_table(columns: list[str], rows: Iterable[Iterable[object]], right: Iterable[str], fold: str | None) -> None:
    cells = [[str(cell) for cell in row] for row in rows]
    numbers = {columns.index(name) for name in right if name in columns}
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
    widths = [max(map(len, column)) for column in zip(columns, *cells, strict=True)]
    for row in [columns, *cells]:
        parts = [cell.rjust(widths[n]) if n in numbers else cell.ljust(widths[n]) for n, cell in enumerate(row)]
        typer.echo("  ".join(parts).rstrip())


def format_bytes(count: float) -> str:
    """Bytes for a person, rounded."""
    from rich.filesize import decimal

    return decimal(round(count))


def megabytes(rate: float) -> str:
    """A rate in bytes per second as MB/s, without the unit."""
    return short_number(rate / MEGABYTE)


def count_of(number: int, noun: str) -> str:
    """A number with its noun: ``1 cell``, ``1,200 cells``."""
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def percent(share: float) -> str:
    """A share for a person: ``5 %``, ``3.12 %``, ``1,234 %``."""
    return f"{100 * share:.3g} %" if share < 10 else f"{100 * share:,.0f} %"


@contextmanager
def bar(what: str) -> Iterator[Callable[[int, int], None]]:
    """A bar on stderr, called with how many are done and of how many; in a log a line now and then."""
    if not sys.stderr.isatty():
        last = time.monotonic()

        def line(done: int, total: int) -> None:
            nonlocal last
            if time.monotonic() >= last + LOG_EVERY_S:
                last = time.monotonic()
                talk(f"{what}: {done} of {total}")

        yield line
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as shown:
        task = shown.add_task(what, total=None)
        yield lambda done, total: shown.update(task, completed=done, total=total)


def steps() -> Callable[[str], None]:
    """Shows steps of long work, one line each on stderr with the seconds since the start."""
    start = time.monotonic()
    return lambda step: talk(f"{time.monotonic() - start:6.1f} s  {step}")
