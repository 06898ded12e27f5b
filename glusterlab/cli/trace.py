"""trace: from a number of a figure back to samples, files and lines."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from glusterlab.cli.console import JsonOption, RawRootOption, complete_files, examples, local_path, show

if TYPE_CHECKING:
    from glusterlab.sections.trace import Trace

app = typer.Typer()

_SHOWN = 20
"""Raw files of one sample that a person is shown; --json has all."""


def _complete_row(ctx: typer.Context, incomplete: str) -> Iterator[str]:
    """Columns of the file that was named, and behind ``=`` their values."""
    from glusterlab.errors import GlusterlabError
    from glusterlab.sections.trace import read_rows

    try:
        rows = read_rows(Path(str(ctx.params.get("figure"))))
    except GlusterlabError:
        return iter(())
    name, equals, _ = incomplete.partition("=")
    words = [f"{name}={row.get(name, '')}" for row in rows] if equals else [f"{column}=" for column in rows[0]]
    return (word for word in dict.fromkeys(words) if word.startswith(incomplete))


@app.command(
    epilog=examples(
        "glusterlab trace figures/mine/fig12-4gb-per-disk.csv 3",
        "glusterlab trace figures/mine/fig05-large-files-by-workers.csv operation=write workers=96 type=disperse",
        "glusterlab trace figures/mine/fig42-large-replicate-cpu-and-load.csv 1 --json",
    )
    + "\n\nExit code 1: a number, the CSV or a raw file is not what it should be; 3: samples alone give no number of "
    "the row. Numbers that are not computed again are named."
)
def trace(
    figure: Annotated[
        Path,
        typer.Argument(
            metavar="FIGURE.csv",
            parser=local_path,
            help="A figure's numbers.",
            autocompletion=lambda incomplete: complete_files(incomplete, ".csv"),
        ),
    ],
    row: Annotated[
        list[str],
        typer.Argument(metavar="ROW...", help="Its number from 1, or column=value.", autocompletion=_complete_row),
    ],
    raw: RawRootOption = Path("raw"),
    json: JsonOption = False,
) -> None:
    """Trace a number of a figure to its samples, raw files and lines, and compute it again."""
    from glusterlab.sections.trace import trace as find

    found = find(figure, row, raw)
    checks = [check | {"agrees": "yes" if check["agrees"] else "NO"} for check in found.checks]
    show(checks, json, {**asdict(found), "exit_code": found.exit_code}, lines=() if json else _lines(found))
    raise typer.Exit(found.exit_code)


def _lines(found: Trace) -> Iterator[str]:
    """The samples with their lines, and what does not agree or was not computed."""
    from glusterlab.store.evidence import ARCHIVE

    for sample in found.samples:
        start, end, part, part_end, elapsed = sample["times"].values()
        window = f"measured part {part - start:.1f} to {part_end - start:.1f} s of a command of {end - start:.1f} s"
        name = f"{sample['campaign']}/{sample['cell_id']}, sample {sample['sample']:02d}: {sample['value']:.9g}"
        yield f"{name} ({window}, the tool: {elapsed:.1f} s)\n  {sample['how']}"
        for each in sample["lines"][:_SHOWN]:
            places = dict.fromkeys(str(each[end]) for end in ("first", "last") if each[end])
            value = "" if each["value"] is None else f" = {each['value']:.9g}"
            yield f"  {':'.join([each['file'], *(['-'.join(places)] if places else [])])}\n      {each['text']}{value}"
        if (more := len(sample["lines"]) - _SHOWN) > 0:
            yield f"  and {more} more: --json has them"
    if any(not Path(line["file"]).exists() for sample in found.samples for line in sample["lines"]):
        yield f"files that are not there lie in {ARCHIVE} of their sample: 'glusterlab parse' reads them by these names"
    wrong = [", ".join(each["column"] for each in found.checks if not each["agrees"])]
    yield from (f"does not agree: {text}" for text in (*found.problems, *wrong) if text)
    yield from found.notes
    if found.unchecked:
        yield f"not computed here: {', '.join(found.unchecked)}"
    outcome = {0: "agrees with the raw files", 1: "does not agree", 3: "has no number that samples alone give"}
    where = f"row {found.row} of {found.figure} (campaign {found.campaign}, manifest {found.digest})"
    yield f"{where} {outcome[found.exit_code]}"
