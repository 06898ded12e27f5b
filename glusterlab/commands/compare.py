"""The command that holds campaigns against each other: compare."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from glusterlab.arguments import JsonOption, complete_raw, examples, local_path
from glusterlab.errors import GlusterlabError, NotComparedError, UsageError

if TYPE_CHECKING:
    from glusterlab.analysis.compare import Rule
    from glusterlab.analysis.compare_gate import Gate

app = typer.Typer()

_SHARE = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*%\s*")
_STDOUT = "-"
_UNTESTED = "untested"


class CorrectionName(StrEnum):
    """Corrections for many cells."""

    HOLM = "holm"
    FDR = "fdr"


def parse_margin(text: str) -> float:
    """A margin in per cent, as a share.

    Raises
    ------
    UsageError
        When it is none, or not below 100 %.

    Examples
    --------
    >>> parse_margin("5%"), parse_margin("2.5 %")
    (0.05, 0.025)
    """
    return _share(text, "--margin", "a margin such as 5%")


def parse_gate(texts: Sequence[str]) -> Gate:
    """What ``--fail-on`` does not let pass, from each time that it was given.

    Raises
    ------
    UsageError
        When one is neither ``untested`` nor of the form ``slower:5%``, or two losses are given.

    Examples
    --------
    >>> parse_gate(["slower:5%", "untested"])
    Gate(slower=0.05, untested=True)
    """
    from glusterlab.analysis.compare_gate import Gate

    form = "slower and a loss in per cent, such as slower:5%, or untested"
    slower: float | None = None
    for text in texts:
        word, colon, loss = text.partition(":")
        if word.strip() == _UNTESTED and not colon:
            continue
        if word.strip() != "slower" or not colon:
            raise UsageError(f"--fail-on: expected {form}, found {text!r}")
        if slower is not None:
            raise UsageError(f"--fail-on: expected one loss, found a second one, {text!r}")
        slower = _share(loss, "--fail-on", form)
    return Gate(slower, any(text.strip() == _UNTESTED for text in texts))


def _share(text: str, option: str, form: str) -> float:
    found = _SHARE.fullmatch(text)
    share = math.nan if found is None else float(found[1]) / 100
    if not 0 <= share < 1:
        raise UsageError(f"{option}: expected {form}, below 100 %, found {text!r}")
    return share


@app.command(
    epilog=examples(
        "glusterlab compare raw/older raw/newer",
        "glusterlab compare raw/older raw/older-again   (a release against itself)",
        "glusterlab compare raw/older raw/newer --operation create --margin 3%",
        "glusterlab compare raw/main raw/patch --fail-on slower:5% --fail-on untested --markdown summary.md",
        "glusterlab compare raw/main raw/patch --json | jq '.cells[] | select(.verdict == \"slower\")'",
    )
    + "\n\nExit code 0 also where a release is slower: that is a finding. With --fail-on it is 1 where the gate is "
    "closed. slower:5% closes it on evidence only: a test of the ratio against 0.95, corrected p below 0.05, and the "
    "whole 95 % interval beyond it. untested closes it where a cell of the reference has too few valid samples. "
    "2: wrong usage. 3: a campaign cannot be read, or a file not be written."
)
def compare(
    raws: Annotated[
        list[Path],
        typer.Argument(
            metavar="RAW_A RAW_B [RAW_C]...",
            parser=local_path,
            help="Folders of campaigns below raw/; the first is the reference.",
            autocompletion=complete_raw,
        ),
    ],
    margin: Annotated[
        str, typer.Option("--margin", metavar="SHARE", help="By how much a ratio may be off and count as equivalent.")
    ] = "5%",
    correction: Annotated[
        CorrectionName,
        typer.Option(
            "--correction",
            metavar="NAME",
            help="For many cells: holm (few false findings at all) or fdr (a small share of the findings is false).",
        ),
    ] = CorrectionName.HOLM,
    fail_on: Annotated[
        list[str] | None,
        typer.Option(
            "--fail-on",
            metavar="WHAT",
            help="Exit 1 where a cell is slower:SHARE (by more, on evidence), or untested; may be given again.",
        ),
    ] = None,
    operation: Annotated[
        list[str] | None,
        typer.Option("--operation", metavar="NAME", help="Only these, such as create; may be given again."),
    ] = None,
    markdown: Annotated[
        str | None,
        typer.Option("--markdown", metavar="FILE", help="A short summary for a pull request; - is stdout."),
    ] = None,
    same: Annotated[bool, typer.Option("--same", help="Allow a campaign to be held against itself or a copy.")] = False,
    json: JsonOption = False,
) -> None:
    """Which release is faster: campaigns cell by cell, with intervals, tests, and what else differs."""
    from glusterlab.analysis.compare import Rule

    rule = Rule(parse_margin(margin), correction.value)
    gate = parse_gate(fail_on) if fail_on else None
    if markdown == _STDOUT and json:
        raise UsageError("--json and --markdown - both write to stdout: give one of them, or --markdown a file")
    try:
        closed = _compare(raws, rule, gate, operation or (), markdown, same=same, as_json=json)
    except GlusterlabError as error:
        if error.exit_code != 1:
            raise
        raise NotComparedError(str(error)) from error
    except OSError as error:
        if error.filename is None:
            # a closed pipe, which is no fault
            raise
        raise NotComparedError(f"{error.filename}: {error.strerror}") from error
    if closed:
        raise typer.Exit(1)


def _compare(
    raws: Sequence[Path],
    rule: Rule,
    gate: Gate | None,
    operations: Sequence[str],
    markdown: str | None,
    *,
    same: bool,
    as_json: bool,
) -> bool:
    """Compare, show, and say whether the gate is closed."""
    from glusterlab.comparison import compare_campaigns
    from glusterlab.rawfiles import write_atomically
    from glusterlab.report.compare import markdown as as_markdown
    from glusterlab.report.compare import outcome, show_comparison
    from glusterlab.report.terminal import bar

    with bar("parsing samples") as progress:
        found = compare_campaigns(raws, rule, operations=operations, same=same, progress=progress)
    told = None if gate is None else outcome(found, gate)
    if markdown == _STDOUT:
        typer.echo(as_markdown(found, told), nl=False)
    else:
        show_comparison(found, told, as_json=as_json)
        if markdown is not None:
            write_atomically(local_path(markdown), as_markdown(found, told))
    return told is not None and told.failed
