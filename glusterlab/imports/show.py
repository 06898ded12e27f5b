"""What ``glusterlab import`` shows: which file is which sample, and what is left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from glusterlab.imports.sources import shown
from glusterlab.report.terminal import IMPORTED, SCHEMA_VERSION, emit_json, show_table, talk

if TYPE_CHECKING:
    from glusterlab.imports.plan import ImportPlan
    from glusterlab.raw import Sample

LISTED = 20
"""So many files that are not imported are named on a terminal; --dry-run and --json name all."""


def show_import(
    plan: ImportPlan, path: Path, samples: Sequence[Sample] | None, *, everything: bool, as_json: bool
) -> None:
    """What an import made, or would make, on stdout; what else there is to know, on stderr.

    Parameters
    ----------
    plan : ImportPlan
    path : pathlib.Path
        The campaign's folder.
    samples : sequence of Sample or None
        As they were written; None when nothing was.
    everything : bool
        Name every sample, and every file that is not imported.
    as_json : bool
    """
    if as_json:
        emit_json(_as_json(plan, path, samples))
        return
    if everything and plan.samples:
        rows = [
            (
                shown(sample.result.file.name),
                str(sample.result.key),
                sample.result.cell.id,
                sample.repeat,
                sample.result.status,
            )
            for sample in plan.samples
        ]
        show_table(("file", "result", "cell", "repeat", "status"), rows, right=("repeat",))
    limit = None if everything else LISTED
    _list_refused(plan, limit)
    _list("left out", [f"{each.file}: {each.result}: {each.reason}" for each in plan.left_out], limit)
    _list("not mapped", [f"{name}: {why}" for name, why in plan.unmapped], limit)
    _say_why_invalid(plan)
    counts = Counter(sample.result.status for sample in plan.samples)
    states = ", ".join(f"{counts[status]} {status}" for status in ("valid", "invalid", "failed") if counts[status])
    many = f"{_count(len(plan.samples), 'sample')} in {_count(plan.cells, 'cell')}"
    files = len({sample.result.file.name for sample in plan.samples})
    if samples is not None:
        typer.echo(f"{path}: imported {many} from {_count(files, 'file')}: {states}")
        typer.echo(f"{path.name}: {IMPORTED} (caches, bricks, clocks)")
    elif plan.samples:
        typer.echo(f"nothing was written; {path} would get {many} from {_count(files, 'file')}: {states}")
    else:
        typer.echo("nothing was written: no mapped file holds a result")
    for note in plan.notes:
        talk(f"note: {note}")


def _list_refused(plan: ImportPlan, limit: int | None) -> None:
    """Causes one by one; what only follows from them is counted."""
    _list("refused", [str(refusal) for refusal in plan.refused if refusal.follows is None], limit)
    for cause, number in Counter(refusal.follows for refusal in plan.refused if refusal.follows).items():
        verb = "follows" if number == 1 else "follow"
        typer.echo(f"refused: {number:,} more, which {verb} from {cause} (--json names all)")


def _say_why_invalid(plan: ImportPlan) -> None:
    reasons = Counter(sample.result.reasons[0].message for sample in plan.samples if sample.result.status != "valid")
    for message, number in reasons.most_common(5):
        typer.echo(f"not valid, so in no figure: {_count(number, 'sample')}: {message}")


def _list(what: str, lines: Sequence[str], limit: int | None) -> None:
    for line in lines[:limit]:
        typer.echo(f"{what}: {line}")
    if limit is not None and len(lines) > limit:
        typer.echo(f"{what}: and {len(lines) - limit} more (--dry-run names all)")


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def _as_json(plan: ImportPlan, path: Path, samples: Sequence[Sample] | None) -> dict[str, Any]:
    return {
        "schema_version": SCHEMA_VERSION,
        "campaign": path.name,
        "path": str(path),
        "written": samples is not None,
        "samples": [
            {
                "file": sample.result.file.name,
                "result": sample.result.key.model_dump(mode="json"),
                "line": sample.result.line,
                "cell": sample.result.cell.id,
                "repeat": sample.repeat,
                "status": sample.result.status,
                "reasons": [reason.model_dump(mode="json") for reason in sample.result.reasons],
                "beside": [attached.source for _, attached in sample.attached],
            }
            for sample in plan.samples
        ],
        "refused": [vars(refusal) for refusal in plan.refused],
        "left_out": [vars(each) for each in plan.left_out],
        "unmapped": [{"file": name, "reason": why} for name, why in plan.unmapped],
        "notes": list(plan.notes),
    }
