"""What ``glusterlab status`` shows."""

from __future__ import annotations

import shutil
import sys
import time
from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import typer

from glusterlab.measured import in_units
from glusterlab.report.terminal import IMPORTED, SCHEMA_VERSION, count_of, emit_json, percent, show_table, talk
from glusterlab.status import ended_at

if TYPE_CHECKING:
    from glusterlab.now import RunState
    from glusterlab.raw import Sample
    from glusterlab.spec import Repeats
    from glusterlab.status import CampaignStatus, CellStatus, Interval, ReasonCount
    from glusterlab.stopping import Decision

_NUMBERS = ("wanted", "valid", "left", "spent", "invalid", "failed", "warmup")
_DECISIONS: dict[Decision, str] = {"reached": "reached", "at-maximum": "not reached", "going-on": "going on"}
_SHOWN_HOSTS = 4
_CELL_WIDTH = 24
"""A cell's id is not broken into narrower lines than this."""


def show_status(status: CampaignStatus, *, as_json: bool, run: RunState | None = None) -> None:
    """What ``glusterlab status`` found; and what the campaign's run does, or how the last one ended."""
    if as_json:
        emit_json({**_as_json(status), "run": None if run is None else _run_json(run)})
        return
    _show_cells(status)
    _show_reasons(status)
    typer.echo("")
    if status.repeats is not None:
        typer.echo(_target_line(status, status.repeats))
    typer.echo(_line(status))
    if run is not None:
        from glusterlab.view import how_it_stands

        talk(how_it_stands(run, time.time()))


def _run_json(run: RunState) -> dict[str, Any]:
    """What the run does now, its last results and notes aside: they are in the log."""
    from glusterlab.now import life

    said = run.model_dump(mode="json", exclude={"schema_version", "recent", "problems", "notes", "process_start"})
    return {**said, "life": life(run)}


def _show_cells(status: CampaignStatus) -> None:
    """A row per cell; columns that would be empty in every row are left out. A narrow terminal gets lines instead."""
    always = ("valid", "of", "left")
    columns: dict[str, Callable[[CellStatus], object]] = {
        "valid": lambda cell: cell.valid,
        "of": lambda cell: cell.wanted,
        "left": lambda cell: cell.left,
        "given up": lambda cell: cell.spent or "",
        "invalid": lambda cell: cell.invalid or "",
        "failed": lambda cell: cell.failed or "",
        "warm-up": lambda cell: cell.warmup or "",
        "mean": lambda cell: _mean(cell.interval),
        "95 %": lambda cell: _half_width(cell.interval),
        "target": lambda cell: "" if cell.decision is None else _DECISIONS[cell.decision],
    }
    shown = {
        name: texts
        for name, value in columns.items()
        if any(texts := [str(value(cell)) for cell in status.cells]) or name in always
    }
    width = sum(3 + max(len(name), *map(len, texts)) for name, texts in shown.items()) if status.cells else 0
    if sys.stdout.isatty() and width + _CELL_WIDTH > shutil.get_terminal_size().columns:
        for cell in status.cells:
            typer.echo(f"{cell.cell.id}\n    {_cell_line(cell)}")
        return
    rows = zip([cell.cell.id for cell in status.cells], *shown.values(), strict=True)
    show_table(("cell", *shown), rows, right=tuple(name for name in shown if name != "target"), fold="cell")


def _cell_line(cell: CellStatus) -> str:
    numbers = ((cell.left, "left"), (cell.spent, "given up"), (cell.invalid, "invalid"), (cell.failed, "failed"))
    line = ", ".join([f"{cell.valid} of {cell.wanted}", *(f"{number} {word}" for number, word in numbers if number)])
    if cell.interval is not None:
        line += f"; {_mean(cell.interval)} {_half_width(cell.interval)}"
    return line if cell.decision is None else f"{line}, {_DECISIONS[cell.decision]}"


def _mean(interval: Interval | None) -> str:
    return "" if interval is None else in_units(interval.quantity, interval.estimate.centre)


def _half_width(interval: Interval | None) -> str:
    if interval is None:
        return ""
    return f"n = {interval.estimate.n}" if interval.half_width is None else f"± {percent(interval.half_width)}"


def _show_reasons(status: CampaignStatus) -> None:
    if status.reasons:
        typer.echo("\nwhy samples are not valid:")
    for count in status.reasons:
        typer.echo(f"  {_count_line(count)}")
        typer.echo(f"      {count.sentence}")
        if status.origin == "measured":
            typer.echo(f"      What to do: {count.advice}")
    if status.failures:
        typer.echo("\nthe last that are not valid:")
    for sample in status.failures:
        typer.echo(f"  {_failure_line(sample)}")


def _count_line(count: ReasonCount) -> str:
    more = f" and {len(count.hosts) - _SHOWN_HOSTS} more" if len(count.hosts) > _SHOWN_HOSTS else ""
    hosts = f", on {', '.join(count.hosts[:_SHOWN_HOSTS])}{more}" if count.hosts else ""
    since = f"{count.open} without a valid sample since" if count.open else "all made good since"
    return f"{count.code}: {count_of(count.samples, 'sample')} of {count_of(count.cells, 'cell')}{hosts}; {since}"


def _failure_line(sample: Sample) -> str:
    when = time.strftime("%Y-%m-%d %H:%M", time.localtime(ended_at(sample)))
    warmup = "warm-up " if sample.warmup else ""
    place = f"cells/{sample.cell_id}/{sample.path.name}"
    line = f"{when} {place}, {warmup}repeat {sample.repeat}, attempt {sample.attempt}: {sample.status}"
    if not sample.reasons:
        return line
    more = f" (and {len(sample.reasons) - 1} more)" if len(sample.reasons) > 1 else ""
    return f"{line}: {sample.reasons[0]}{more}"


def _target_line(status: CampaignStatus, repeats: Repeats) -> str:
    counts = Counter(cell.decision for cell in status.cells)
    reached, without, going_on = counts["reached"], counts["at-maximum"], counts["going-on"]
    ended = f"{count_of(reached, 'cell')} reached it, {without} ended without, {going_on} going on"
    return f"target ± {percent(repeats.half_width)} of the mean by {repeats.least} to {repeats.max} repeats: {ended}"


def _line(status: CampaignStatus) -> str:
    totals = {name: status.total(name) for name in _NUMBERS}
    line = f"{status.campaign}: {totals['valid']} of {totals['wanted']} samples valid"
    if status.origin == "imported":
        return f"{line}, {totals['invalid']} invalid, {totals['failed']} failed; {IMPORTED}"
    at_most = "at most " if any(cell.decision == "going-on" for cell in status.cells) else ""
    line += f", {at_most}{totals['left']} left"
    if totals["spent"]:
        line += f", {totals['spent']} given up ('glusterlab run --retry' gives them new attempts)"
    line += f"; {totals['invalid']} executions invalid, {totals['failed']} failed"
    if totals["warmup"]:
        line += f"; {totals['warmup']} of the warm-up apart"
    if status.not_runnable:
        line += f"; {count_of(status.not_runnable, 'cell')} not runnable ('glusterlab plan' says why)"
    return line


def _as_json(status: CampaignStatus) -> dict[str, Any]:
    totals = {name: status.total(name) for name in _NUMBERS}
    return {
        "schema_version": SCHEMA_VERSION,
        "campaign": status.campaign,
        "origin": status.origin,
        "complete": status.complete,
        "cells": [_cell_json(cell) for cell in status.cells],
        "missing": list(status.missing),
        "reasons": [
            {
                "code": count.code,
                "sentence": count.sentence,
                "advice": count.advice,
                "samples": count.samples,
                "open": count.open,
                "cells": count.cells,
                "hosts": list(count.hosts),
            }
            for count in status.reasons
        ],
        "last_failures": [
            {
                "cell": sample.cell_id,
                "sample": sample.sample,
                "repeat": sample.repeat,
                "attempt": sample.attempt,
                "warmup": sample.warmup,
                "status": sample.status,
                "time": round(ended_at(sample), 3),
                "reasons": [reason.model_dump(mode="json") for reason in sample.reasons],
            }
            for sample in status.failures
        ],
        "repeats": None
        if status.repeats is None
        else {"min": status.repeats.least, "max": status.repeats.max, "half_width": status.repeats.half_width},
        "total": totals | {"not_runnable": status.not_runnable},
    }


def _cell_json(cell: CellStatus) -> dict[str, Any]:
    found: dict[str, Any] = {"cell": cell.cell.id, **{name: getattr(cell, name) for name in _NUMBERS}}
    found |= {"decision": cell.decision, "interval": None}
    if cell.interval is not None:
        estimate, known = cell.interval.estimate, cell.interval.half_width is not None
        found["interval"] = {
            "quantity": cell.interval.quantity,
            "n": estimate.n,
            "mean": estimate.centre,
            "low": estimate.low if known else None,
            "high": estimate.high if known else None,
            "half_width": cell.interval.half_width,
            "method": estimate.method,
        }
    return found
