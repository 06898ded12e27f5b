"""Commands that make something of raw files: parse, tables, reproduce; and the schemas of specifications."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from glusterlab.arguments import (
    JsonOption,
    PlaceArgument,
    RecordKind,
    SchedulerOption,
    complete_raw,
    complete_tool,
    examples,
    local_path,
)
from glusterlab.errors import DataError
from glusterlab.report.terminal import complain

app = typer.Typer()


@app.command(
    epilog=examples(
        "glusterlab parse iozone.log",
        "glusterlab parse results/*.txt > results.jsonl",
        "glusterlab parse --kind workload fio.json | jq '.operation, .throughput_bytes_per_s'",
        "ssh server sar -A | glusterlab parse --tool sar --averages -",
    )
    + "\n\nA file that is no result, is cut off or damaged gives one line on stderr and exit code 1; what is whole in "
    "it, and the other files, are still written."
)
def parse(
    files: Annotated[
        list[Path], typer.Argument(metavar="FILE...", parser=local_path, help="Raw files; - is the standard input.")
    ],
    tool: Annotated[
        str | None,
        typer.Option(
            "--tool",
            metavar="TOOL",
            help="Whose output it is: iozone, smallfile, fio, dd, iperf3, specsfs, gluster, sar, sadf; "
            "default: recognised by content.",
            autocompletion=complete_tool,
        ),
    ] = None,
    averages: Annotated[
        bool, typer.Option("--averages", help="Of sar's files also the averages that it printed.")
    ] = False,
    kind: Annotated[
        list[RecordKind] | None, typer.Option("--kind", help="Only these records; may be given again.")
    ] = None,
) -> None:
    """Read raw files of any supported tool and write JSON lines, one object per result."""
    from glusterlab.parsing import write_lines

    kinds = [each.value for each in kind or ()]
    if not write_lines(files, _write_line, complain, tool=tool, averages=averages, kinds=kinds):
        raise typer.Exit(1)


def _write_line(line: str) -> None:
    sys.stdout.write(line + "\n")


@app.command(
    epilog=examples(
        "glusterlab tables raw/first-light",
        "glusterlab tables raw/first-light --output /tmp/tables",
        "glusterlab tables s3://lab/raw/night --scheduler tcp://10.0.0.1:8786",
    )
)
def tables(
    raw: PlaceArgument,
    output: Annotated[
        str | None,
        typer.Option("--output", metavar="DIR", help="Folder or URL for them; default: figures/<campaign>/tables."),
    ] = None,
    scheduler: SchedulerOption = None,
    json: JsonOption = False,
) -> None:
    """Make the Parquet tables of a campaign: samples, workers and telemetry; only what changed."""
    from glusterlab.report.raw import show_tables
    from glusterlab.report.terminal import bar
    from glusterlab.storage import place
    from glusterlab.tables import folder_of, write

    folder = folder_of(raw) if output is None else place(output)
    with bar("parsing samples") as progress:
        made = write(raw, folder, scheduler=scheduler, progress=progress)
    if made is None:
        raise DataError(f"{folder}: the tables cannot be kept there; name another folder by --output")
    show_tables(made, str(folder), as_json=json)


@app.command(
    epilog=examples(
        "glusterlab reproduce",
        "glusterlab reproduce raw/first-light --notebook 10-large-files",
        "glusterlab reproduce --force --jobs 4",
        "glusterlab reproduce s3://lab/raw/night --output s3://lab/figures --scheduler tcp://10.0.0.1:8786",
    )
)
def reproduce(
    raw: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[RAW]...",
            help="Folders of campaigns, or their URLs; default: all below raw/ that are no baselines.",
            autocompletion=complete_raw,
        ),
    ] = None,
    notebook: Annotated[
        list[str] | None, typer.Option("--notebook", metavar="NAME", help="Only this notebook; may be given again.")
    ] = None,
    jobs: Annotated[
        int | None, typer.Option("--jobs", min=1, help="Notebooks at a time; default: one per processor.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Run also what did not change.")] = False,
    output: Annotated[
        str | None,
        typer.Option("--output", metavar="DIR", help="Folder or URL for a folder per campaign; default: figures."),
    ] = None,
    scheduler: SchedulerOption = None,
    json: JsonOption = False,
) -> None:
    """Make every figure and table again from the raw bytes; runs only what changed."""
    from glusterlab.report.reproduce import ReproduceDisplay, show_reproduce
    from glusterlab.reproduce import reproduce as remake

    with ReproduceDisplay() as display:
        summary = remake(
            raw or (),
            project=_project(),
            notebooks=notebook or None,
            output=output,
            jobs=jobs,
            force=force,
            scheduler=scheduler,
            progress=display,
        )
    show_reproduce(summary, as_json=json)
    raise typer.Exit(summary.exit_code)


def _project() -> Path:
    """The nearest folder upwards that holds notebooks/, else where we are."""
    here = Path.cwd()
    return next((folder for folder in (here, *here.parents) if (folder / "notebooks").is_dir()), here)


class SchemaKind(StrEnum):
    """Specification files that have a schema."""

    cluster = "cluster"
    campaign = "campaign"
    imports = "import"
    prices = "prices"


@app.command(
    epilog=examples(
        "glusterlab schema campaign > campaign.schema.json",
        "First line of a campaign.yaml, for editors: # yaml-language-server: $schema=campaign.schema.json",
    )
)
def schema(kind: Annotated[SchemaKind, typer.Argument(help="Of which file.")]) -> None:
    """JSON Schema of cluster.yaml, campaign.yaml, prices.yaml or the mapping.yaml of an import, for editors."""
    from glusterlab.report.terminal import emit_json
    from glusterlab.spec import json_schema

    emit_json(json_schema(kind.value))
