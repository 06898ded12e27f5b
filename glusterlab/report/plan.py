"""What ``glusterlab plan`` shows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import typer

from glusterlab.report.terminal import SCHEMA_VERSION, count_of, emit_json, format_bytes, show_table
from glusterlab.units import format_duration, format_size

if TYPE_CHECKING:
    from pathlib import Path

    from glusterlab.spec import Campaign, Cell, Estimate, Plan


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
    total = f"{count_of(len(plan.cells), 'cell')}, {count_of(len(plan.samples), 'sample')}"
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
        typer.echo(f"\n{what}: {count_of(len(members), 'cell')}: {reason}")
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
