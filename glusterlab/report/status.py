"""What ``glusterlab status`` shows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from glusterlab.report.terminal import IMPORTED, SCHEMA_VERSION, count_of, emit_json, show_table

if TYPE_CHECKING:
    from glusterlab.status import CampaignStatus


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
        line += f"; {count_of(status.not_runnable, 'cell')} not runnable ('glusterlab plan' says why)"
    typer.echo(line)
