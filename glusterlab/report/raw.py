"""What the commands ``verify`` and ``tables`` show of a campaign."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import typer

from glusterlab.report.terminal import IMPORTED, SCHEMA_VERSION, count_of, emit_json, show_table

if TYPE_CHECKING:
    from pathlib import Path

    from glusterlab.tables import Written
    from glusterlab.verify import Finding


def show_verify(raw: Path, findings: Sequence[Finding], *, as_json: bool) -> None:
    """What ``glusterlab verify`` found."""
    from glusterlab.rawsample import campaign_origin

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
    typer.echo(f"{raw}: {count_of(len(findings), 'finding') if findings else 'intact'}{told}")


def show_tables(made: Written, folder: str, *, as_json: bool) -> None:
    """What ``glusterlab tables`` made."""
    from glusterlab.schemas import SCHEMAS

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
    typer.echo(f"\nin {folder}; {count_of(made.made, 'sample')} parsed, {made.kept} unchanged")
