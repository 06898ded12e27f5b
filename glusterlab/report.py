"""What commands show: tables for people, JSON for scripts, progress while they work."""

from __future__ import annotations

import json
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import typer

from .units import format_duration, format_size

if TYPE_CHECKING:
    from .hosts.check import Finding as CheckFinding
    from .hosts.testbed import HostStatus
    from .progress import RunSummary
    from .reproduce import Progress as NotebookProgress
    from .reproduce import ReproduceSummary
    from .spec import Campaign, Cell, Estimate, Plan
    from .status import CampaignStatus
    from .tables import Written
    from .verify import Finding as RawFinding

SCHEMA_VERSION = 1
"""Version of what ``--json`` prints."""


IMPORTED = "imported, judged by the tools' own output: the conditions of the measurement were not recorded"
"""What is said once of a campaign that others measured."""


LOG_EVERY_S = 10.0
"""Seconds between lines about progress where there is no terminal."""


def talk(message: str) -> None:
    """One line for the person, on stderr."""
    typer.echo(message, err=True)


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


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def show_plan(
    campaign: Campaign, cluster_file: Path | None, plan: Plan, cost: Estimate | None, *, cells: bool, as_json: bool
) -> None:
    """What ``glusterlab plan`` found."""
    if as_json:
        emit_json(_plan_json(campaign, cluster_file, plan, cost))
        return
    if cells:
        _show_cells(plan, cost)
    else:
        _show_groups(plan, cost)
    typer.echo("")
    total = f"{_count(len(plan.cells), 'cell')}, {_count(len(plan.samples), 'sample')}"
    if cost is not None:
        total += (
            f", roughly {format_duration(cost.seconds)}, {format_bytes(cost.brick_bytes)} on bricks, "
            f"{format_bytes(cost.raw_bytes)} in raw/{campaign.name}"
        )
    typer.echo(total)
    _show_left_out("excluded", plan.excluded)
    _show_left_out("not runnable", plan.not_runnable)


def _seconds(cell: Cell, cost: Estimate | None) -> float:
    return 0.0 if cost is None else cost.cells[cell.id].seconds


def _show_cells(plan: Plan, cost: Estimate | None) -> None:
    samples = Counter(sample.cell.id for sample in plan.samples)
    rows = [
        (cell.id, samples[cell.id], "" if cost is None else format_duration(_seconds(cell, cost)))
        for cell in plan.cells
    ]
    show_table(("cell", "samples", "each"), rows, right=("samples", "each"), fold="cell")


def _show_groups(plan: Plan, cost: Estimate | None) -> None:
    """One row for all cells that differ in their workers alone."""
    samples = Counter(sample.cell.id for sample in plan.samples)
    groups: dict[tuple[str, str], list[Cell]] = {}
    for cell in plan.cells:
        access = "" if cell.access == "native" else f" over {cell.access}"
        workload = f"{cell.tool} {cell.operation} {format_size(cell.nominal_file_size_bytes)}{access}"
        groups.setdefault((cell.layout.name, workload), []).append(cell)
    rows = []
    for (name, workload), members in groups.items():
        count = sum(samples[cell.id] for cell in members)
        time = sum(samples[cell.id] * _seconds(cell, cost) for cell in members)
        workers = " ".join(str(number) for number in sorted({cell.workers for cell in members}))
        rows.append((name, workload, workers, count, "" if cost is None else format_duration(time)))
    show_table(("layout", "workload", "workers", "samples", "time"), rows, right=("samples", "time"), fold="layout")
    typer.echo("")
    for layout in dict.fromkeys(cell.layout for cell in plan.cells):
        options = "".join(f", {option}={value}" for option, value in layout.options)
        typer.echo(f"{layout.name}: {layout.type} {layout.geometry} on {layout.backing}{options}")


def _show_left_out(what: str, cells: Sequence[tuple[Cell, str]]) -> None:
    reasons: dict[str, list[Cell]] = {}
    for cell, reason in cells:
        reasons.setdefault(reason, []).append(cell)
    for reason, members in reasons.items():
        typer.echo(f"\n{what}: {_count(len(members), 'cell')}: {reason}")
        for cell in members[:5]:
            typer.echo(f"  {cell.id}")
        if len(members) > 5:
            typer.echo(f"  and {len(members) - 5} more (--json names all)")


def _plan_json(campaign: Campaign, cluster_file: Path | None, plan: Plan, cost: Estimate | None) -> dict[str, Any]:
    samples = Counter(sample.cell.id for sample in plan.samples)
    cells = []
    for cell in plan.cells:
        entry = {"id": cell.id, "samples": samples[cell.id], **cell.model_dump(mode="json")}
        if cost is not None:
            entry |= {"seconds": round(cost.cells[cell.id].seconds, 1), "bytes": cost.cells[cell.id].bytes}
        cells.append(entry)
    total: dict[str, Any] = {"cells": len(plan.cells), "samples": len(plan.samples)}
    if cost is not None:
        total |= {"seconds": round(cost.seconds), "brick_bytes": cost.brick_bytes, "raw_bytes": cost.raw_bytes}
    return {
        "schema_version": SCHEMA_VERSION,
        "campaign": campaign.name,
        "cluster": None if cluster_file is None else str(cluster_file),
        "cells": cells,
        "samples": [
            {"order": sample.order, "round": sample.round, "repeat": sample.repeat, "cell": sample.cell.id}
            for sample in plan.samples
        ],
        "excluded": [{"cell": cell.id, "reason": reason} for cell, reason in plan.excluded],
        "not_runnable": [{"cell": cell.id, "reason": reason} for cell, reason in plan.not_runnable],
        "total": total,
    }


def show_status(status: CampaignStatus, *, as_json: bool) -> None:
    """What ``glusterlab status`` found."""
    names = ("wanted", "valid", "left", "spent", "invalid", "failed")
    totals = {name: status.total(name) for name in names}
    if as_json:
        cells = [{"cell": cell.cell.id, **{name: getattr(cell, name) for name in names}} for cell in status.cells]
        emit_json(
            {
                "schema_version": SCHEMA_VERSION,
                "campaign": status.campaign,
                "origin": status.origin,
                "complete": status.complete,
                "cells": cells,
                "missing": list(status.missing),
                "total": totals | {"not_runnable": status.not_runnable},
            }
        )
        return
    columns = ("cell", "valid", "of", "left", "given up", "invalid", "failed")
    rows = [
        (cell.cell.id, cell.valid, cell.wanted, cell.left, cell.spent, cell.invalid, cell.failed)
        for cell in status.cells
    ]
    show_table(columns, rows, right=columns[1:], fold="cell")
    if status.origin == "imported":
        line = f"\n{status.campaign}: {totals['valid']} of {totals['wanted']} samples valid"
        typer.echo(f"{line}, {totals['invalid']} invalid, {totals['failed']} failed; {IMPORTED}")
        return
    line = f"\n{status.campaign}: {totals['valid']} of {totals['wanted']} samples valid, {totals['left']} left"
    if totals["spent"]:
        line += f", {totals['spent']} given up ('glusterlab run --retry' gives them new attempts)"
    line += f"; {totals['invalid']} executions invalid, {totals['failed']} failed"
    if status.not_runnable:
        line += f"; {_count(status.not_runnable, 'cell')} not runnable ('glusterlab plan' says why)"
    typer.echo(line)


def show_check(findings: Sequence[CheckFinding], *, as_json: bool) -> None:
    """What ``glusterlab check`` found."""
    levels = Counter(finding.level for finding in findings)
    if as_json:
        emit_json(
            {
                "schema_version": SCHEMA_VERSION,
                "fit": not levels["error"],
                "findings": [
                    {name: getattr(finding, name) for name in ("host", "level", "code", "message", "advice")}
                    for finding in findings
                ],
            }
        )
        return
    shown = [finding for finding in findings if finding.level != "ok"]
    if shown:
        rows = [(finding.level, finding.host or "", finding.message, finding.advice or "") for finding in shown]
        show_table(("level", "host", "finding", "what to do"), rows)
        typer.echo("")
    verdict = "not fit to measure" if levels["error"] else "fit to measure"
    typer.echo(
        f"{verdict}: {_count(levels['error'], 'error')}, {_count(levels['warning'], 'warning')}, {levels['ok']} ok"
    )


def show_run(summary: RunSummary, *, as_json: bool) -> None:
    """How ``glusterlab run`` ended."""
    if as_json:
        emit_json({"schema_version": SCHEMA_VERSION, **asdict(summary), "exit_code": summary.exit_code})
        return
    counts = ", ".join(
        f"{number} {word}"
        for number, word in (
            (summary.valid, "valid"),
            (summary.invalid, "invalid"),
            (summary.failed, "failed"),
            (summary.left, "left"),
        )
        if number or word == "valid"
    )
    stopped = ", stopped as asked" if summary.interrupted else ""
    left_out = f"; {_count(summary.not_runnable, 'cell')} not runnable here" if summary.not_runnable else ""
    typer.echo(
        f"{summary.path}: {_count(summary.total, 'sample')}: {counts}; "
        f"{summary.executed} executed in {format_duration(summary.seconds)}{stopped}{left_out}"
    )
    for reason in summary.not_runnable_reasons:
        talk(f"not runnable here, and left out: {reason}")
    for line in summary.problems:
        talk(line)
    if summary.advice:
        talk(summary.advice)


def show_verify(raw: Path, findings: Sequence[RawFinding], *, as_json: bool) -> None:
    """What ``glusterlab verify`` found."""
    from .rawsample import campaign_origin

    origin = campaign_origin(raw)
    if as_json:
        emit_json(
            {
                "schema_version": SCHEMA_VERSION,
                "raw": str(raw),
                "origin": origin,
                "intact": not findings,
                "findings": list(findings),
            }
        )
        return
    for finding in findings:
        typer.echo(f"{finding.path}: {finding.code}: {finding.message}")
    told = f"; {IMPORTED}" if origin == "imported" else ""
    typer.echo(f"{raw}: {_count(len(findings), 'finding') if findings else 'intact'}{told}")


def show_tables(made: Written, folder: str, *, as_json: bool) -> None:
    """What ``glusterlab tables`` made."""
    from .schemas import SCHEMAS

    columns = {str(name): list(schema) for name, schema in SCHEMAS.items()}
    if as_json:
        tables = {name: {"rows": made.rows[name], "columns": names} for name, names in columns.items()}
        samples = {"made": made.made, "kept": made.kept}
        emit_json({"schema_version": SCHEMA_VERSION, "folder": folder, "tables": tables, "samples": samples})
        return
    show_table(
        ("table", "rows", "columns"),
        [(name, f"{made.rows[name]:,}", len(names)) for name, names in columns.items()],
        right=("rows", "columns"),
    )
    typer.echo(f"\nin {folder}; {_count(made.made, 'sample')} parsed, {made.kept} unchanged")


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


def show_testbed(name: str, hosts: Sequence[HostStatus], *, as_json: bool) -> None:
    """What ``glusterlab testbed status`` found."""
    if as_json:
        emit_json({"schema_version": SCHEMA_VERSION, "name": name, "hosts": [asdict(host) for host in hosts]})
        return
    rows = [(host.name, host.address, "up" if host.running else "down", host.processes) for host in hosts]
    show_table(("host", "address", "state", "processes"), rows, right=("processes",))


class ReproduceDisplay:
    """Tells which notebooks run and how each came out: lines, and on a terminal also what is under way.

    A context manager, and the ``progress`` of `reproduce.reproduce`.
    """

    def __init__(self) -> None:
        from rich.console import Console

        self._console = Console(stderr=True)
        self._running: list[str] = []
        self._status = self._console.status("") if self._console.is_terminal else None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._status is not None:
            self._status.stop()

    def __call__(self, event: NotebookProgress) -> None:
        """Show one event."""
        name = f"{event.campaign}/{event.notebook}"
        if event.outcome == "started":
            self._running.append(name)
        elif name in self._running:
            self._running.remove(name)
        if event.outcome == "failed":
            self._say(f"failed     {event.message}")
        elif event.outcome in ("ran", "retold"):
            self._say(f"{event.outcome:<9}  {name} in {format_duration(event.seconds)}")
        elif event.outcome == "started" and self._status is None:
            self._say(f"started    {name}")
        self._refresh()

    def _say(self, line: str) -> None:
        self._console.print(line, markup=False, highlight=False, soft_wrap=True)

    def _refresh(self) -> None:
        if self._status is None:
            return
        if self._running:
            self._status.update(f"running {', '.join(self._running)}")
            self._status.start()
        else:
            self._status.stop()


def show_reproduce(summary: ReproduceSummary, *, as_json: bool) -> None:
    """What ``glusterlab reproduce`` did."""
    if as_json:
        emit_json({"schema_version": SCHEMA_VERSION, **asdict(summary), "exit_code": summary.exit_code})
        return
    done = [
        f"{len(names)} {word}"
        for names, word in ((summary.ran, "run"), (summary.retold, "with new text"), (summary.unchanged, "unchanged"))
        if names
    ]
    talk(f"notebooks: {', '.join(done) or 'none'}, {len(summary.failed)} failed")
    for failure in summary.failed:
        talk(f"failed: {failure}")
    for folder in summary.figures_dirs:
        index = folder / "index.html"
        if not isinstance(index, Path) or index.is_file():
            typer.echo(str(index))
