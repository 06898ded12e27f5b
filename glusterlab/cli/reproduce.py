"""parse, tables, reproduce, trace: what is made of raw files, and the way back; and schema, of specifications."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import typer

from glusterlab.cli.console import bar, complain, count_of, emit_json, picked, show, talk
from glusterlab.cli.options import (
    JSON,
    RAW,
    RAW_ROOT,
    RAWS_OR_ALL,
    VERIFY,
    argument,
    commands,
    complete_files,
    flag,
    option,
    path_option,
)
from glusterlab.errors import DataError, GlusterlabError
from glusterlab.units import format_duration

if TYPE_CHECKING:
    from glusterlab.reproduce.state import Progress, ReproduceSummary
    from glusterlab.sections.trace import Trace
    from glusterlab.tables.build import Written

app, command = commands()


RecordKind = StrEnum("RecordKind", ["workload", "worker", "telemetry", "volume", "brick", "profile"])


def _complete_tool(incomplete: str) -> Iterator[str]:
    from glusterlab.parse import tools

    return (name for name in tools() if name.startswith(incomplete))


@command(
    "glusterlab parse iozone.log",
    "glusterlab parse results/*.txt > results.jsonl",
    "glusterlab parse --kind workload fio.json | jq '.operation, .throughput_bytes_per_s'",
    "ssh server sar -A | glusterlab parse --tool sar --averages -",
    more="A file that is no result, is cut off or damaged gives one line on stderr and exit code 1; what is whole in "
    "it, and the other files, are still written.",
)
def parse(
    files: list[Path] = argument("FILE...", "Raw files; - is the standard input."),
    tool: str | None = option(
        "TOOL",
        "Whose output it is; an unknown name is answered with all that there are; default: by content.",
        autocompletion=_complete_tool,
    ),
    averages: bool = flag("--averages", "Of sar's files also the averages that it printed."),
    kind: list[RecordKind] | None = typer.Option(None, help="Only these records; may be given again."),
) -> None:
    """Read raw files of any supported tool and write JSON lines, one object per result."""
    from glusterlab.parse import write_lines

    kinds = [each.value for each in kind or ()]

    code = write_lines(
        files, lambda line: sys.stdout.write(f"{line}\n"), complain, tool=tool, averages=averages, kinds=kinds
    )
    raise typer.Exit(code)


@command(
    "glusterlab tables raw/first-light",
    "glusterlab tables raw/first-light --output /tmp/tables",
    "glusterlab tables raw/night --scheduler tls://10.0.0.1:8786",
)
def tables(
    raw: Path = RAW,
    output: Path | None = path_option("DIR", "Folder for them; default: figures/<campaign>/tables."),
    scheduler: str | None = option(
        "ADDRESS",
        "A Dask scheduler whose workers do the work; they must reach RAW under the same path. Whoever reaches a tcp:// "
        "one can run any code on it, its workers and here: a trusted network, or tls:// with certificates in Dask's "
        "configuration (distributed.comm.tls).",
    ),
    verify: bool = VERIFY,  # noqa: ARG001  its callback does it
    json: bool = JSON,
) -> None:
    """Make the Parquet tables of a campaign: samples, workers and telemetry; only what changed."""
    from glusterlab.tables.build import folder_of, write

    folder = folder_of(raw) if output is None else output
    with bar("parsing samples") as progress:
        made = write(raw, folder, scheduler=scheduler, progress=progress)
    if made is None:
        raise DataError(f"{folder}: the tables cannot be kept there; name another folder by --output")
    show_tables(made, str(folder), as_json=json)


def show_tables(made: Written, folder: str, *, as_json: bool) -> None:
    """Rows and columns of each table."""
    from glusterlab.tables.schema import SCHEMAS

    tables = {str(name): {"rows": made.rows[name], "columns": list(schema)} for name, schema in SCHEMAS.items()}
    show(
        [{"table": name, "rows": f"{made.rows[name]:,}", "columns": len(schema)} for name, schema in SCHEMAS.items()],
        as_json,
        {"folder": folder, "tables": tables, "samples": picked(made, "made", "kept")},
        right=("rows", "columns"),
        lines=[f"in {folder}; {count_of(made.made, 'sample')} parsed, {made.kept} unchanged"],
    )


@command(
    "glusterlab reproduce",
    "glusterlab reproduce raw/first-light --notebook 10-large-files",
    "glusterlab reproduce --force --jobs 4",
    "glusterlab reproduce --check   (what is stale; runs nothing)",
)
def reproduce(
    raw: list[Path] | None = RAWS_OR_ALL,
    notebook: list[str] | None = option("NAME", "Only this notebook; may be given again."),
    jobs: int | None = typer.Option(None, min=1, help="Notebooks at a time; default: one per processor."),
    force: bool = flag("--force", "Run also what did not change."),
    check: bool = flag("--check", "Run nothing: say which notebooks are stale, exit code 1 if any is."),
    output: Path | None = path_option("DIR", "Folder for a folder per campaign."),
    verify: bool = VERIFY,  # noqa: ARG001  its callback does it
    json: bool = JSON,
) -> None:
    """Make every figure and table again from the raw bytes; runs only what changed."""
    from glusterlab.reproduce.reproduce import reproduce as remake

    here = Path.cwd()
    summary = remake(
        raw or (),
        project=next((folder for folder in (here, *here.parents) if (folder / "notebooks").is_dir()), here),
        notebooks=notebook or None,
        output=output,
        jobs=jobs,
        force=force,
        check=check,
        progress=show_event,
    )
    show_reproduce(summary, as_json=json)
    raise typer.Exit(summary.exit_code)


def show_event(event: Progress) -> None:
    """Tell which notebook starts, and how each came out."""
    name = f"{event.campaign}/{event.notebook}"
    lines = {
        "started": f"started    {name}",
        "failed": f"failed     {event.message}",
        "ran": f"ran        {name} in {format_duration(event.seconds)}",
        "rendered": f"rendered     {name} in {format_duration(event.seconds)}",
    }
    if event.outcome in lines:
        talk(lines[event.outcome])


def show_reproduce(summary: ReproduceSummary, *, as_json: bool) -> None:
    """How many notebooks ran, what failed, and where the figures are."""
    if not as_json and not summary.stale:
        outcomes = {"run": summary.ran, "with new text": summary.rendered, "unchanged": summary.unchanged}
        counts = ", ".join(f"{len(names)} {word}" for word, names in outcomes.items() if names)
        talk(f"notebooks: {counts or 'none'}, {len(summary.failed)} failed")
    for failure in summary.failed if not as_json else ():
        talk(f"failed: {failure}")
    for name in summary.undrawn if not as_json else ():
        talk(f"samples of {name} are in the tables, but no notebook reads them by name: they may be in no figure")
    folders = [str(folder) for folder in summary.figures_dirs if folder.is_dir() and not summary.stale]
    lines = [*(f"stale: {name}" for name in summary.stale), *folders]
    show([], as_json, {**asdict(summary), "exit_code": summary.exit_code}, lines=lines)


@command(
    "glusterlab schema campaign > campaign.schema.json",
    "First line of a campaign.yaml, for editors: # yaml-language-server: $schema=campaign.schema.json",
)
def schema(
    kind: Literal["cluster", "campaign", "import", "prices", "study", "claims"] = typer.Argument(
        ..., help="Of which file."
    ),
) -> None:
    """JSON Schema of cluster.yaml, campaign.yaml, prices.yaml, study.yaml, claims.yaml or an import's mapping.yaml."""
    from glusterlab.cli.schema import json_schema

    emit_json(json_schema(kind), version=None)


_SHOWN = 20  # raw files of one sample that a person is shown; --json has all


def _complete_row(ctx: typer.Context, incomplete: str) -> Iterator[str]:
    """Columns of the file that was named, and behind ``=`` their values."""
    from glusterlab.sections.trace import read_rows

    try:
        rows = read_rows(Path(str(ctx.params.get("figure"))))
    except GlusterlabError:
        return iter(())
    name, equals, _ = incomplete.partition("=")
    words = [f"{name}={row.get(name, '')}" for row in rows] if equals else [f"{column}=" for column in rows[0]]
    return (word for word in dict.fromkeys(words) if word.startswith(incomplete))


@command(
    "glusterlab trace figures/mine/fig12-4gb-per-disk.csv 3",
    "glusterlab trace figures/mine/fig05-large-files-by-workers.csv operation=write workers=96 type=disperse",
    "glusterlab trace figures/mine/fig42-large-replicate-cpu-and-load.csv 1 --json",
    more="Exit code 1: a number, the CSV or a raw file is not what it should be; 3: samples alone give no number of "
    "the row. Numbers that are not computed again are named.",
)
def trace(
    figure: Path = argument(
        "FIGURE.csv", "A figure's numbers.", autocompletion=lambda incomplete: complete_files(incomplete, ".csv")
    ),
    row: list[str] = typer.Argument(
        ..., metavar="ROW...", help="Its number from 1, or column=value.", autocompletion=_complete_row
    ),
    raw: Path = RAW_ROOT,
    json: bool = JSON,
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
