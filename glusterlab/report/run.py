"""What ``glusterlab run`` shows when it ends."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

import typer

from glusterlab.report.terminal import SCHEMA_VERSION, count_of, emit_json, talk
from glusterlab.units import format_duration

if TYPE_CHECKING:
    from glusterlab.progress import RunSummary


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
    left_out = f"; {count_of(summary.not_runnable, 'cell')} not runnable here" if summary.not_runnable else ""
    typer.echo(
        f"{summary.path}: {count_of(summary.total, 'sample')}: {counts}; "
        f"{summary.executed} executed in {format_duration(summary.seconds)}{stopped}{left_out}"
    )
    for reason in summary.not_runnable_reasons:
        talk(f"not runnable here, and left out: {reason}")
    for line in summary.problems:
        talk(line)
    if summary.advice:
        talk(summary.advice)
