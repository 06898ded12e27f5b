"""What ``glusterlab compare`` shows: on the terminal, as JSON, and as Markdown for a pull request."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import typer

from glusterlab.analysis.compare import Rule
from glusterlab.analysis.compare_gate import Gate, Outcome, hold
from glusterlab.analysis.compare_reading import (
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


def show_comparison(found: Comparison, told: Outcome | None, *, as_json: bool) -> None:
    """A row per cell, what it comes to, and what else differs."""
    if as_json:
        emit_json(as_data(found, told))
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
    for line in [*least_lines(table, found.rule), *average_sentences(found.averages), *unmatched_lines(found)]:
        typer.echo(line)
    for note in found.notes:
        typer.echo(note)
    for warning in listed(list(found.warnings), _MOST_WARNINGS):
        talk(f"warning: {warning}")
    if len(found.warnings) > _MOST_WARNINGS + 1:
        talk("all of them: --json")
    if told is not None:
        typer.echo(f"gate: {gate_line(told)}")


def unmatched_lines(found: Comparison) -> list[str]:
    """Cells that only one campaign has, counted."""
    told = []
    for (campaign, why), rows in found.unmatched.groupby(["campaign", "why"], observed=True, sort=False):
        names = ", ".join(listed([str(name) for name in rows["cell"]], 2))
        count = f"{len(rows)} {'cell' if len(rows) == 1 else 'cells'}"
        told.append(f"not compared: {count}, because {campaign} {why} ({names})")
    return told


def outcome(found: Comparison, gate: Gate) -> Outcome:
    """What a gate says of a comparison."""
    others = [release.label for release in found.others]
    return hold(gate, found.table, found.unmatched, others, found.rule.correction)


def gate_line(told: Outcome) -> str:
    """Whether a gate lets the comparison pass, on what evidence not, and how much of it could be tested."""
    limit = "" if told.gate.slower is None else f"slower by more than {percent(told.gate.slower)}"
    cells = "1 cell" if told.total == 1 else f"{told.total} cells"
    if told.failed:
        parts = []
        if not told.slower.empty:
            worst = told.slower.iloc[0]
            more = "" if len(told.slower) == 1 else f" and {len(told.slower) - 1} more"
            change = interval_text(worst["low"], worst["high"])
            parts.append(f"{_named(worst, told)}{more} {limit}: {change}, corrected p {p_text(worst['p_gate'])}")
        if told.gate.untested and len(told.untested):
            names = [_named(row, told) for _, row in told.untested.iterrows()]
            parts.append(f"{len(names)} of {cells} could not be tested ({', '.join(listed(names, 2))})")
        return f"failed, {'; '.join(parts)}"
    if not told.tested:
        return f"not closed, but it has tested nothing: none of {cells} could be tested; 'untested' closes it then"
    if not limit:
        return f"passed, all of {cells} could be tested"
    if len(told.untested):
        return f"passed, but only {told.tested} of {cells} could be tested; none of them is shown to be {limit}"
    return f"passed, none of {cells} is shown to be {limit}"


def _named(row: Any, told: Outcome) -> str:
    """A cell, with its campaign where there are several."""
    return f"{row['other']}, {row['cell']}" if told.several else str(row["cell"])


def as_data(found: Comparison, told: Outcome | None) -> dict[str, Any]:
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
    if told is not None:
        data["gate"] = {
            **asdict(told.gate),
            "failed": told.failed,
            "tested": told.tested,
            "total": told.total,
            "cells": [
                {"other": row["other"], "cell_id": row["cell_id"], "p_corrected": float(row["p_gate"])}
                for _, row in told.slower.iterrows()
            ],
            "not_tested": told.untested[["other", "cell_id"]].to_dict("records"),
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


def markdown(found: Comparison, told: Outcome | None) -> str:
    """A summary for a pull request: the verdict, what changed, what is lacking, what else differs.

    Parameters
    ----------
    found : Comparison
    told : Outcome or None
        Of a gate.

    Returns
    -------
    str
        Ends with a line end.
    """
    parts = [f"### {_safe(_headline(found, told))}"]
    parts += [f"- {_safe(verdict_line(found.table, found.reference.label, each.label))}" for each in found.others]
    lines = [*least_lines(found.table, found.rule), *average_sentences(found.averages), *unmatched_lines(found)]
    parts += [f"- {_safe(line)}" for line in lines]
    text = "\n".join([parts[0], "", *parts[1:]])
    if table := _changed_table(found):
        text += f"\n\n{table}"
    if len(found.table):
        text += f"\n\n{_safe(_how(found.rule, found))}"
    for title, sentences in (("Warnings", found.warnings), ("Notes", found.notes)):
        if sentences:
            items = [f"- {_safe(each)}" for each in listed(list(sentences), _MOST_WARNINGS)]
            text += "\n\n" + "\n".join([f"**{title}**", "", *items])
    return text + "\n"


def _headline(found: Comparison, told: Outcome | None) -> str:
    if told is not None:
        line = gate_line(told)
        return line[0].upper() + line[1:]
    if found.table.empty:
        return "Nothing to compare"
    verdicts = ", ".join(f"{count} {verdict}" for verdict, count in counts(found.table).items())
    of = f"{verdicts} of {len(found.table)} cells"
    return of if len(changed(found.table)) else f"No difference is shown: {of}"


def _how(rule: Rule, found: Comparison) -> str:
    paired = int((found.table["rounds"] > 0).sum())
    total = len(found.table)
    which = "in interleaved rounds" if paired == total else "apart" if not paired else "partly in rounds"
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
