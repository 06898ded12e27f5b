"""What ``glusterlab compare`` shows: on the terminal, as JSON, and as Markdown for a pull request."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import typer

from glusterlab.analysis.compare import UNDECIDED, Rule
from glusterlab.analysis.compare_reading import (
    Loss,
    average_sentences,
    change_text,
    changed,
    counts,
    interval_text,
    least_lines,
    listed,
    n_text,
    p_text,
    rounded,
    rule_line,
    verdict_line,
)
from glusterlab.analysis.intervals import LEVEL
from glusterlab.comparison import Comparison, Release
from glusterlab.report.terminal import SCHEMA_VERSION, emit_json, percent, show_table, talk

_MOST_WARNINGS = 8
_MOST_ROWS = 30
"""Rows of what changed in a pull request."""
_MARKS = re.compile(r"([\\`*_{}\[\]<>|#])")


def show_comparison(found: Comparison, loss: Loss | None, *, as_json: bool) -> None:
    """A row per cell, what it comes to, and what else differs."""
    if as_json:
        emit_json(as_data(found, loss))
        return
    table = found.table
    if len(table):
        names = {"cell": "cell", "ratio": "change", "interval": "95 % interval", "p": "corrected p"}
        frame = rounded(table).rename(columns={**names, "other": "campaign"})
        show_table(
            [str(name) for name in frame.columns], frame.itertuples(index=False), right=("n", "change"), fold="cell"
        )
        typer.echo("")
    for release in found.others:
        typer.echo(verdict_line(table, found.reference.label, release.label))
    if len(table):
        typer.echo(rule_line(found.rule, table))
    for line in [*least_lines(table), *average_sentences(found.averages), *unmatched_lines(found)]:
        typer.echo(line)
    for note in found.notes:
        typer.echo(note)
    for warning in listed(list(found.warnings), _MOST_WARNINGS):
        talk(f"warning: {warning}")
    if len(found.warnings) > _MOST_WARNINGS + 1:
        talk("all of them: --json")
    if loss is not None:
        typer.echo(gate_line(found, loss))


def unmatched_lines(found: Comparison) -> list[str]:
    """Cells that only one campaign has, counted."""
    told = []
    for (campaign, why), rows in found.unmatched.groupby(["campaign", "why"], observed=True, sort=False):
        names = ", ".join(listed([str(name) for name in rows["cell"]], 2))
        told.append(f"not compared: {len(rows)} cells, because {campaign} {why} ({names})".replace("1 cells", "1 cell"))
    return told


def gate_line(found: Comparison, loss: Loss) -> str:
    """Whether a gate lets the comparison pass, and on what evidence not."""
    cells = loss.cells(found.table)
    limit = f"slower by more than {percent(loss.share)}"
    if cells.empty:
        return f"gate: passed, no cell is shown to be {limit}"
    worst = cells.sort_values("ratio", kind="stable").iloc[0]
    more = "" if len(cells) == 1 else f" and {len(cells) - 1} more"
    return f"gate: failed, {worst['cell']}{more} {limit}: {interval_text(worst['low'], worst['high'])}"


def as_data(found: Comparison, loss: Loss | None) -> dict[str, Any]:
    """A comparison as ``--json`` prints it."""
    data: dict[str, Any] = {
        "schema_version": SCHEMA_VERSION,
        "campaigns": [_release(release) for release in found.releases],
        "rule": {**asdict(found.rule), "level": LEVEL},
        "totals": {release.label: counts(_rows(found, release)) for release in found.others},
        "cells": [_cell(row) for row in found.table.to_dict("records")],
        "not_compared": found.unmatched.to_dict("records"),
        "averages": [_plain(row) for row in found.averages.to_dict("records")],
        "differences": [asdict(each) for each in found.differences],
        "warnings": list(found.warnings),
        "notes": list(found.notes),
    }
    if loss is not None:
        failing = loss.cells(found.table)
        data["gate"] = {
            "slower": loss.share,
            "failed": not failing.empty,
            "cells": [{"other": row["other"], "cell_id": row["cell_id"]} for _, row in failing.iterrows()],
        }
    return data


def _rows(found: Comparison, release: Release) -> Any:
    return found.table[found.table["other"].astype(str) == release.label]


def _release(release: Release) -> dict[str, Any]:
    return {
        "label": release.label,
        "campaign": release.name,
        "raw": str(release.path),
        "release": release.version or None,
        "manifest": release.digest or None,
        "testbed": release.testbed,
    }


def _cell(row: Mapping[Any, Any]) -> dict[str, Any]:
    plain = _plain(row)
    plain["least_n"] = plain["least_n"] or None
    for side in ("reference", "other"):
        plain[f"samples_{side}"] = [int(number) for number in str(row[f"samples_{side}"]).split(";")]
        plain[f"values_{side}"] = [float(value) for value in str(row[f"values_{side}"]).split(";")]
    return plain


def _plain(row: Mapping[Any, Any]) -> dict[str, Any]:
    """Values that JSON has: no NaN, no types of numpy."""
    found: dict[str, Any] = {}
    for name, value in row.items():
        item = value.item() if hasattr(value, "item") else value
        found[name] = None if isinstance(item, float) and not math.isfinite(item) else item
    return found


def markdown(found: Comparison, loss: Loss | None) -> str:
    """A summary for a pull request: the verdict, what changed, what is lacking, what else differs.

    Parameters
    ----------
    found : Comparison
    loss : Loss or None
        Of a gate.

    Returns
    -------
    str
        Ends with a line end.
    """
    parts = [f"### {_safe(_headline(found, loss))}"]
    parts += [f"- {_safe(verdict_line(found.table, found.reference.label, each.label))}" for each in found.others]
    lines = [*least_lines(found.table), *average_sentences(found.averages), *unmatched_lines(found)]
    parts += [f"- {_safe(line)}" for line in lines]
    text = "\n".join([parts[0], "", *parts[1:]])
    if table := _changed_table(found):
        text += f"\n\n{table}"
    if len(found.table):
        text += f"\n\n{_safe(_how(found.rule, found))}"
    if found.warnings:
        warnings = [f"- {_safe(warning)}" for warning in listed(list(found.warnings), _MOST_WARNINGS)]
        text += "\n\n" + "\n".join(["**Warnings**", "", *warnings])
    return text + "\n"


def _headline(found: Comparison, loss: Loss | None) -> str:
    if loss is not None:
        line = gate_line(found, loss).removeprefix("gate: ")
        return line[0].upper() + line[1:]
    rows = changed(found.table)
    if found.table.empty:
        return "Nothing to compare"
    if rows.empty:
        undecided = int((found.table["verdict"].astype(str) == UNDECIDED).sum())
        return "No difference is shown" + (f", {undecided} undecided" if undecided else "")
    told = ", ".join(f"{count} {verdict}" for verdict, count in counts(rows).items())
    return f"{told} of {len(found.table)} cells"


def _how(rule: Rule, found: Comparison) -> str:
    paired = int((found.table["rounds"] > 0).sum())
    total = len(found.table)
    which = "in interleaved rounds" if paired == total else "at different times" if not paired else "partly in rounds"
    manifests = ", ".join(f"{each.name} {each.digest[:12]}" for each in found.releases)
    return f"Measured {which}; {rule_line(rule, found.table)}; manifests {manifests}."


def _changed_table(found: Comparison) -> str:
    rows = changed(found.table)
    if rows.empty:
        return ""
    several = len(found.others) > 1
    header = [*(["campaign"] if several else []), "cell", "change", "95 % interval", "n", "corrected p", "verdict"]
    lines = [_line(header), _line(["---"] * len(header))]
    for _, row in rows.head(_MOST_ROWS).iterrows():
        cells = [
            *([str(row["other"])] if several else []),
            str(row["cell"]),
            change_text(float(row["ratio"])),
            interval_text(float(row["low"]), float(row["high"])),
            n_text(row),
            p_text(float(row["p_corrected"])),
            str(row["verdict"]),
        ]
        lines.append(_line([_safe(cell) for cell in cells]))
    more = [f"\nand {len(rows) - _MOST_ROWS} more"] if len(rows) > _MOST_ROWS else []
    return "\n".join([*lines, *more])


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _safe(text: str) -> str:
    r"""Text that Markdown shows as it is: names of campaigns are anybody's.

    Examples
    --------
    >>> _safe("a|b <i>")
    'a\\|b \\<i\\>'
    """
    return _MARKS.sub(r"\\\1", " ".join(text.split()))
