"""What ``glusterlab plan`` shows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import typer

from glusterlab.report.terminal import SCHEMA_VERSION, count_of, emit_json, format_bytes, percent, show_table
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
    typer.echo(_total(campaign, plan, cost))
    if plan.repeats is not None:
        bounds = f"{plan.repeats.least} to {plan.repeats.max} repeats"
        target = percent(plan.repeats.half_width)
        typer.echo(f"a cell ends after {bounds}, as soon as the 95 % interval of its mean is ± {target}")
    _show_left_out("excluded", plan.excluded)
    _show_left_out("not runnable", plan.not_runnable)


def _total(campaign: Campaign, plan: Plan, cost: Estimate | None) -> str:
    """The bounds of the whole: with a target, the fewest samples and the most."""
    fewest, most = len(plan.fewest) - len(plan.warmup), len(plan.counted)
    samples = count_of(most, "sample") if fewest == most else f"{fewest:,} to {count_of(most, 'sample')}"
    total = f"{count_of(len(plan.cells), 'cell')}, {samples}"
    if plan.warmup:
        total += f" and {len(plan.warmup):,} of the warm-up"
    if cost is not None:
        time = format_duration(cost.seconds)
        if cost.fewest_seconds != cost.seconds:
            time = f"{format_duration(cost.fewest_seconds)} to {time}"
        at_most = "at most " if fewest != most else ""
        total += (
            f", roughly {time}, {format_bytes(cost.brick_bytes)} on bricks, "
            f"{at_most}{format_bytes(cost.raw_bytes)} in raw/{campaign.name}"
        )
    return total


def _counts(plan: Plan, *, warmup: bool = False) -> Counter[str]:
    """Samples of each cell: the most repeats, or those of the warm-up."""
    return Counter(planned.cell.id for planned in (plan.warmup if warmup else plan.counted))


def _bounds(plan: Plan, most: int, cells: int) -> str:
    """Repeats of some cells as a number, or as the fewest and the most."""
    fewest = most if plan.repeats is None else plan.repeats.least * cells
    return str(most) if fewest == most else f"{fewest}-{most}"


def _seconds(cell: Cell, cost: Estimate | None) -> float:
    return 0.0 if cost is None else cost.cells[cell.id].seconds


def _show_cells(plan: Plan, cost: Estimate | None) -> None:
    samples = _counts(plan)
    rows = [
        (cell.id, _bounds(plan, samples[cell.id], 1), "" if cost is None else format_duration(_seconds(cell, cost)))
        for cell in plan.cells
    ]
    show_table(("cell", "samples", "each"), rows, right=("samples", "each"), fold="cell")


def _show_groups(plan: Plan, cost: Estimate | None) -> None:
    """One row for all cells that differ in their workers alone."""
    samples, warmup = _counts(plan), _counts(plan, warmup=True)
    groups: dict[tuple[str, str], list[Cell]] = {}
    for cell in plan.cells:
        access = "" if cell.access == "native" else f" over {cell.access}"
        workload = f"{cell.tool} {cell.operation} {format_size(cell.nominal_file_size_bytes)}{access}"
        groups.setdefault((cell.layout.name, workload), []).append(cell)
    rows = []
    for (name, workload), members in groups.items():
        count = sum(samples[cell.id] for cell in members)
        time = sum((samples[cell.id] + warmup[cell.id]) * _seconds(cell, cost) for cell in members)
        workers = " ".join(str(number) for number in sorted({cell.workers for cell in members}))
        shown = _bounds(plan, count, len(members))
        rows.append((name, workload, workers, shown, "" if cost is None else format_duration(time)))
    heading = "time" if plan.repeats is None else "at most"
    show_table(("layout", "workload", "workers", "samples", heading), rows, right=("samples", heading), fold="layout")
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
    samples, warmup = _counts(plan), _counts(plan, warmup=True)
    cells = []
    for cell in plan.cells:
        count = {"samples": samples[cell.id], "warmup": warmup[cell.id]}
        entry = {"id": cell.id, **count, **cell.model_dump(mode="json")}
        if cost is not None:
            entry |= {"seconds": round(cost.cells[cell.id].seconds, 1), "bytes": cost.cells[cell.id].bytes}
        cells.append(entry)
    total: dict[str, Any] = {
        "cells": len(plan.cells),
        "samples": len(plan.counted),
        "fewest_samples": len(plan.fewest) - len(plan.warmup),
        "warmup": len(plan.warmup),
    }
    if cost is not None:
        total |= {"seconds": round(cost.seconds), "fewest_seconds": round(cost.fewest_seconds)}
        total |= {"brick_bytes": cost.brick_bytes, "raw_bytes": cost.raw_bytes}
    return {
        "schema_version": SCHEMA_VERSION,
        "campaign": campaign.name,
        "cluster": None if cluster_file is None else str(cluster_file),
        "cells": cells,
        "samples": [
            {
                "order": sample.order,
                "round": sample.round,
                "repeat": sample.repeat,
                "warmup": sample.warmup,
                "cell": sample.cell.id,
            }
            for sample in plan.samples
        ],
        "repeats": None
        if plan.repeats is None
        else {"min": plan.repeats.least, "max": plan.repeats.max, "half_width": plan.repeats.half_width},
        "excluded": [{"cell": cell.id, "reason": reason} for cell, reason in plan.excluded],
        "not_runnable": [{"cell": cell.id, "reason": reason} for cell, reason in plan.not_runnable],
        "total": total,
    }
