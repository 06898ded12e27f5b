"""What ``glusterlab check`` shows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

import typer

from glusterlab.report.terminal import SCHEMA_VERSION, count_of, emit_json, show_table

if TYPE_CHECKING:
    from glusterlab.hosts.check import Finding


def show_check(findings: Sequence[Finding], *, as_json: bool) -> None:
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
        f"{verdict}: {count_of(levels['error'], 'error')}, {count_of(levels['warning'], 'warning')}, {levels['ok']} ok"
    )
