"""compare: campaigns of two releases or more, cell by cell."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import typer

from glusterlab.cli.console import bar, count_of, percent, picked, show
from glusterlab.cli.options import JSON, RAWS, VERIFY, commands, flag, local_path, option
from glusterlab.errors import UsageError

if TYPE_CHECKING:
    from glusterlab.analysis.compare.gate import Gate, Outcome
    from glusterlab.sections.comparison import Comparison

app, command = commands()

_SHARE = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*%\s*")
_MARKS = re.compile(r"([\\`*_{}\[\]<>|#])")  # what Markdown would take for its own

_HEADINGS = {"other": "campaign", "ratio": "change", "interval": "95 % interval", "p": "corrected p"}
"""Of the columns of `glusterlab.analysis.compare.words.rounded`."""

_STDOUT = "-"
_MOST_WARNINGS = 8
_MOST_ROWS = 30  # rows of what changed in a pull request


def parse_gate(text: str, *, allow_untested: bool) -> Gate:
    """What ``--fail-on`` does not let pass, such as ``slower:5%``."""
    from glusterlab.analysis.compare.gate import Gate

    form = "slower and a loss in per cent, such as slower:5%"
    word, colon, loss = (part.strip() for part in text.partition(":"))
    if text.strip() == "untested":
        raise UsageError(f"--fail-on: expected {form}; untested cells close every gate, but with --allow-untested")
    if (word, colon) != ("slower", ":"):
        raise UsageError(f"--fail-on: expected {form}, found {text!r}")
    return Gate(_share(loss, "--fail-on", form), allow_untested)


def _share(text: str, option: str, form: str) -> float:
    found = _SHARE.fullmatch(text)
    if found is None or float(found[1]) >= 100:
        raise UsageError(f"{option}: expected {form}, below 100 %, found {text!r}")
    return float(found[1]) / 100


@command(
    "glusterlab compare raw/older raw/newer",
    "glusterlab compare raw/older raw/older-again   (a release against itself)",
    "glusterlab compare raw/older raw/newer --operation create --margin 3%",
    "glusterlab compare raw/main raw/patch --fail-on slower:5% --markdown summary.md",
    "glusterlab compare raw/main raw/patch --json | jq '.cells[] | select(.verdict == \"slower\")'",
    more="Exit code 0 also where a release is slower: that is a finding. With --fail-on it is 1 where the gate is "
    "closed. slower:5% closes it on evidence only: a test of the ratio against 0.95, corrected p below 0.05, and the "
    "whole 95 % interval beyond it. So does a cell of the reference that has too few valid samples to be tested, "
    "unless --allow-untested is given.",
)
def compare(
    raws: list[Path] = RAWS,
    margin: str = option("SHARE", "By how much a ratio may be off and count as equivalent.", default="5%"),
    correction: Literal["holm", "fdr"] = option(
        "NAME",
        "For many cells: holm (few false findings at all) or fdr (a small share of the findings is false).",
        default="holm",
    ),
    fail_on: str | None = option(
        "WHAT", "Exit 1 where a cell is slower:SHARE (by more, on evidence), or cannot be tested."
    ),
    allow_untested: bool = flag("--allow-untested", "Let cells pass that cannot be tested, be it all of them."),
    operation: list[str] | None = option("NAME", "Only these, such as create; may be given again."),
    markdown: str | None = option("FILE", "A short summary for a pull request; - is stdout."),
    view: Literal["tool", "whole"] = option(
        "NAME", "Rates as the tool counts them, or over the whole time from first start to last end.", default="tool"
    ),
    same: bool = flag("--same", "Allow a campaign to be held against itself or a copy."),
    verify: bool = VERIFY,  # noqa: ARG001  its callback does it
    json: bool = JSON,
) -> None:
    """Which release is faster: campaigns cell by cell, with intervals, tests, and what else differs."""
    from glusterlab.analysis.compare.cells import Rule
    from glusterlab.analysis.compare.gate import hold
    from glusterlab.analysis.select import VIEWS
    from glusterlab.sections.comparison import compare_campaigns
    from glusterlab.store.files import write_atomically

    rule = Rule(_share(margin, "--margin", "a margin such as 5%"), correction)
    if allow_untested and fail_on is None:
        raise UsageError("--allow-untested opens a gate: give --fail-on, too")
    gate = None if fail_on is None else parse_gate(fail_on, allow_untested=allow_untested)
    if markdown == _STDOUT and json:
        raise UsageError("--json and --markdown - both write to stdout: give one of them, or --markdown a file")
    with bar("parsing samples") as progress:
        found = compare_campaigns(
            raws, rule, operations=operation or (), same=same, view=VIEWS[view == "whole"], progress=progress
        )
    others = [release.label for release in found.others]
    outcome = None if gate is None else hold(gate, found.table, found.unmatched, others, rule.correction)
    if markdown == _STDOUT:
        typer.echo(summary(found, outcome), nl=False)
    else:
        show_comparison(found, outcome, json)
        if markdown is not None:
            write_atomically(local_path(markdown), summary(found, outcome))
    if outcome is not None and outcome.failed:
        raise typer.Exit(1)


def show_comparison(found: Comparison, outcome: Outcome | None, as_json: bool) -> None:
    """A row per cell, what it comes to, and what else differs."""
    from glusterlab.analysis.compare import words

    table = found.table
    lines = [
        *(words.verdict_line(table, found.reference.label, release.label) for release in found.others),
        *([words.rule_line(found.rule, table)] if len(table) else []),
        *(*words.least_lines(table, found.rule), *words.average_sentences(found.averages)),
        *(*unmatched_lines(found), *found.notes),
        *([] if outcome is None else [f"gate: {gate_line(outcome)}"]),
    ]
    frame = words.rounded(table).rename(columns=_HEADINGS)
    notes = [f"warning: {warning}" for warning in words.listed(list(found.warnings), _MOST_WARNINGS)]
    if len(found.warnings) > _MOST_WARNINGS + 1:
        notes.append("all of them: --json")
    show(frame, as_json, as_data(found, outcome), right=("n", "change"), fold="cell", lines=lines, notes=notes)


def unmatched_lines(found: Comparison) -> list[str]:
    """Cells that only one campaign has, counted."""
    from glusterlab.analysis.compare.words import listed

    lines = []
    for (campaign, why), rows in found.unmatched.groupby(["campaign", "why"], observed=True, sort=False):
        names = ", ".join(listed([str(name) for name in rows["cell"]], 2))
        lines.append(f"not compared: {count_of(len(rows), 'cell')}, because {campaign} {why} ({names})")
    return lines


def gate_line(outcome: Outcome) -> str:
    """Whether a gate lets the comparison pass, on what evidence not, and how much of it could be tested."""
    from glusterlab.analysis.compare.words import interval_text, listed, p_text

    limit = f"slower by more than {percent(outcome.gate.slower)}"
    cells = count_of(outcome.total, "cell")
    if outcome.failed:
        parts = []
        if not outcome.slower.empty:
            worst = outcome.slower.iloc[0]
            more = "" if len(outcome.slower) == 1 else f" and {len(outcome.slower) - 1} more"
            change = interval_text(worst["low"], worst["high"])
            parts.append(f"{_named(worst, outcome)}{more} {limit}: {change}, corrected p {p_text(worst['p_gate'])}")
        if not outcome.total:
            parts.append("there is no cell to test; --allow-untested lets that pass")
        if len(outcome.untested):
            names = [_named(row, outcome) for _, row in outcome.untested.iterrows()]
            advice = "" if outcome.gate.allow_untested else "; --allow-untested lets them pass"
            parts.append(f"{len(names)} of {cells} could not be tested ({', '.join(listed(names, 2))}){advice}")
        return f"failed, {'; '.join(parts)}"
    if not outcome.tested:
        return f"open by --allow-untested, and has tested nothing: none of {cells} could be tested"
    if len(outcome.untested):
        return f"passed, but only {outcome.tested} of {cells} could be tested; none of them is shown to be {limit}"
    return f"passed, none of {cells} is shown to be {limit}"


def _named(row: Any, outcome: Outcome) -> str:
    return f"{row['other']}, {row['cell']}" if outcome.several else str(row["cell"])


def as_data(found: Comparison, outcome: Outcome | None) -> dict[str, Any]:
    """A comparison as ``--json`` prints it."""
    from glusterlab.analysis.compare.words import counts
    from glusterlab.stats import LEVEL

    data: dict[str, Any] = {
        "campaigns": [
            picked(each, "label", "testbed", campaign="name", raw="path")
            | {"release": each.version or None, "manifest": each.digest or None}
            for each in found.releases
        ],
        "rule": {**asdict(found.rule), "level": LEVEL},
        "totals": {each.label: counts(found.table[found.table["other"] == each.label]) for each in found.others},
        "cells": [_cell(row) for row in found.table.to_dict("records")],
        "not_compared": found.unmatched.to_dict("records"),
        "averages": found.averages.to_dict("records"),
        "differences": [
            {"where": where, "what": what, "weight": weight, "values": values}
            for where, what, weight, *values in found.differences.itertuples(index=False, name=None)
        ],
        **picked(found, "warnings", "notes"),
    }
    if outcome is not None:
        data["gate"] = {
            **asdict(outcome.gate),
            **picked(outcome, "failed", "tested", "total"),
            "cells": [
                {"other": row["other"], "cell_id": row["cell_id"], "p_corrected": float(row["p_gate"])}
                for _, row in outcome.slower.iterrows()
            ],
            "not_tested": outcome.untested[["other", "cell_id"]].to_dict("records"),
        }
    return data


def _cell(row: Mapping[Any, Any]) -> dict[str, Any]:
    plain = {**row, "least_n": row["least_n"] or None}
    for side in ("reference", "other"):
        plain[f"samples_{side}"] = [int(number) for number in row[f"samples_{side}"].split(";")]
        plain[f"values_{side}"] = [float(value) for value in row[f"values_{side}"].split(";")]
    return plain


def summary(found: Comparison, outcome: Outcome | None) -> str:
    """A summary for a pull request: the verdict, what changed, what is lacking, what else differs."""
    from glusterlab.analysis.compare.words import average_sentences, least_lines, listed, rule_line, verdict_line

    parts = [f"### {_safe(_headline(found, outcome))}"]
    parts += [f"- {_safe(verdict_line(found.table, found.reference.label, each.label))}" for each in found.others]
    lines = [*least_lines(found.table, found.rule), *average_sentences(found.averages), *unmatched_lines(found)]
    parts += [f"- {_safe(line)}" for line in lines]
    text = "\n".join([parts[0], "", *parts[1:]])
    if table := _changed_table(found):
        text += f"\n\n{table}"
    if len(found.table):
        paired = found.table["rounds"] > 0
        which = "in interleaved rounds" if paired.all() else "partly in rounds" if paired.any() else "apart"
        manifests = ", ".join(f"{each.name} {each.digest[:12]}" for each in found.releases)
        how = f"Measured {which}; {rule_line(found.rule, found.table)}; manifests {manifests}."
        text += f"\n\n{_safe(how)}"
    for title, sentences in (("Warnings", found.warnings), ("Notes", found.notes)):
        if sentences:
            items = [f"- {_safe(each)}" for each in listed(list(sentences), _MOST_WARNINGS)]
            text += "\n\n" + "\n".join([f"**{title}**", "", *items])
    return text + "\n"


def _headline(found: Comparison, outcome: Outcome | None) -> str:
    from glusterlab.analysis.compare.words import changed, counts

    if outcome is not None:
        line = gate_line(outcome)
        return line[0].upper() + line[1:]
    if found.table.empty:
        return "Nothing to compare"
    verdicts = ", ".join(f"{count} {verdict}" for verdict, count in counts(found.table).items())
    nothing = "" if len(changed(found.table)) else "No difference is shown: "
    return f"{nothing}{verdicts} of {len(found.table)} cells"


def _changed_table(found: Comparison) -> str:
    from glusterlab.analysis.compare.words import changed, rounded

    rows = changed(found.table)
    if rows.empty:
        return ""
    frame = rounded(found.table).loc[rows.index[:_MOST_ROWS]].rename(columns=_HEADINGS)
    # n behind the interval, as the words of a pull request have it
    frame.insert(len(frame.columns) - 3, "n", frame.pop("n"))
    lines = [frame.columns, ["---"] * len(frame.columns), *frame.map(_safe).to_numpy()]
    more = [f"\nand {len(rows) - _MOST_ROWS} more"] if len(rows) > _MOST_ROWS else []
    return "\n".join([*(f"| {' | '.join(cells)} |" for cells in lines), *more])


def _safe(text: str) -> str:
    """Text that Markdown shows as it is: names of campaigns are anybody's."""
    return _MARKS.sub(r"\\\1", " ".join(text.split()))
