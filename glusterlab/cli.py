"""The command line: thin commands that call the library, and one place where errors become sentences and exit codes."""

from __future__ import annotations

import errno
import os
import sys
from enum import StrEnum
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer
from typer.core import TyperGroup

from . import __version__
from .arguments import (
    CampaignArgument,
    ClusterOption,
    JsonOption,
    PlaceArgument,
    RawArgument,
    RawRootOption,
    RecordKind,
    SchedulerOption,
    complete_raw,
    complete_tool,
    complete_yaml,
    local_path,
)
from .errors import DataError, GlusterlabError, UsageError
from .hosts.testbed.cli import app as testbed_app
from .imports import cli as import_command

if TYPE_CHECKING:
    from .spec import Campaign

DEBUG = "GLUSTERLAB_DEBUG"
"""Environment variable: 1 lets errors through with their tracebacks."""

INTERRUPTED = "stopped by Ctrl-C; what was complete is kept"
EXIT_INTERRUPTED = 130
EXIT_BROKEN_PIPE = 141


class _Commands(TyperGroup):
    """Turns what a command raises into a sentence on stderr and an exit code."""

    def invoke(self, ctx: Any) -> Any:
        if os.environ.get(DEBUG) == "1":
            return super().invoke(ctx)
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()
        except GlusterlabError as error:
            _fail(str(error), error.exit_code)
        except KeyboardInterrupt:
            _fail(INTERRUPTED, EXIT_INTERRUPTED)
        except BrokenPipeError:
            # what reads our output has gone, and the interpreter's own flush at the end must not complain either
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(EXIT_BROKEN_PIPE) from None
        except OSError as error:
            _fail(_os_sentence(error), 1)
        return result


def _complain(message: str) -> None:
    typer.echo(f"{typer.style('error:', fg='red', bold=True)} {message}", err=True)


def _fail(message: str, code: int) -> NoReturn:
    _complain(message)
    raise typer.Exit(code) from None


def _os_sentence(error: OSError) -> str:
    place = f"{error.filename}: " if error.filename else ""
    advice = {
        errno.ENOSPC: "; make room on that disk, then run the same command again",
        errno.EDQUOT: "; make room within that quota, then run the same command again",
        errno.EACCES: "; run it as a user who may, or choose another place",
        errno.EPERM: "; run it as a user who may, or choose another place",
        errno.EROFS: "; choose another place",
        errno.EMFILE: "; raise the limit of open files (ulimit -n)",
    }.get(error.errno or 0, "")
    return f"{place}{error.strerror or error}{advice}"


def _examples(*lines: str) -> str:
    return "\n\n".join(["[bold]Examples[/bold]", *lines])


app = typer.Typer(
    cls=_Commands,
    name="glusterlab",
    help="Measure a GlusterFS pool, keep every raw byte, and make every figure again from those bytes.",
    epilog=_examples(
        "glusterlab testbed up",
        "glusterlab check ~/.local/state/glusterlab/testbed/default/cluster.yaml",
        "glusterlab run runbooks/testbed/campaign.yaml",
        "glusterlab reproduce",
    )
    + "\n\nExit codes: 0 all well, 1 what was examined falls short, 2 wrong usage or specification.",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)


app.add_typer(testbed_app, name="testbed")


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"glusterlab {__version__}")
        raise typer.Exit


@app.callback()
def _main_options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Measure a GlusterFS pool, keep every raw byte, and make every figure again from those bytes."""


def _find_cluster(campaign: Path, given: Path | None) -> Path | None:
    """The cluster file of a campaign: the given one, the one beside it, or that of the only testbed that is up."""
    from .hosts.testbed.state import default_cluster_file

    beside = campaign.parent / "cluster.yaml"
    if given is not None:
        return given
    return beside if beside.is_file() else default_cluster_file()


def _require_cluster(campaign: Path, given: Path | None) -> Path:
    from .hosts.testbed.state import running

    found = _find_cluster(campaign, given)
    if found is None:
        up = running()
        seen = f"{len(up)} testbeds are up ({', '.join(up)})" if up else "no testbed is up"
        raise UsageError(
            f"which cluster? There is no cluster.yaml beside {campaign}, and {seen}: name one by --cluster, "
            "or start one with 'glusterlab testbed up'"
        )
    return found


@app.command(
    epilog=_examples(
        "glusterlab check cluster.yaml", "glusterlab check cluster.yaml --json | jq '.findings[] | .host, .message'"
    )
)
def check(
    cluster: Annotated[Path, typer.Argument(metavar="CLUSTER", help="A cluster.yaml.", autocompletion=complete_yaml)],
    json: JsonOption = False,
) -> None:
    """Is the cluster fit to measure? A table of findings; exit 1 if it is not."""
    from . import report
    from .hosts.check import check as examine
    from .spec import load_cluster

    findings = examine(load_cluster(cluster))
    report.show_check(findings, as_json=json)
    if any(finding.level == "error" for finding in findings):
        raise typer.Exit(1)


@app.command(
    epilog=_examples(
        "glusterlab plan runbooks/testbed/campaign.yaml",
        "glusterlab plan campaign.yaml --cluster cluster.yaml --cells",
        "glusterlab plan campaign.yaml --json | jq '.total'",
    )
)
def plan(
    campaign: CampaignArgument,
    cluster: ClusterOption = None,
    cells: Annotated[bool, typer.Option("--cells", help="One line per cell, with its id.")] = False,
    json: JsonOption = False,
) -> None:
    """What would run: cells, samples, time and space; and what cannot run, and why."""
    from . import report
    from .spec import build_plan, estimate, load_campaign, load_cluster

    specification = load_campaign(campaign)
    cluster_file = _find_cluster(campaign, cluster)
    pool = None if cluster_file is None else load_cluster(cluster_file)
    if pool is None:
        report.talk("no cluster.yaml was found or given: scale, bricks, time and space are left open")
    found = build_plan(specification, pool, smallfile=pool is None or pool.smallfile_checkout() is not None)
    cost = None if pool is None else estimate(found, pool)
    report.show_plan(specification, cluster_file, found, cost, cells=cells, as_json=json)
    if not found.samples:
        raise typer.Exit(1)


@app.command(
    epilog=_examples(
        "glusterlab run runbooks/testbed/campaign.yaml",
        "glusterlab run campaign.yaml --cluster cluster.yaml --raw /data/raw",
        "glusterlab run runbooks/testbed/campaign.yaml --name mine   (into raw/mine)",
        "glusterlab run campaign.yaml --retry   (what failed gets new attempts)",
    )
)
def run(
    campaign: CampaignArgument,
    cluster: ClusterOption = None,
    raw: RawRootOption = Path("raw"),
    name: Annotated[
        str | None, typer.Option("--name", metavar="NAME", help="Another name for the campaign, and so for its folder.")
    ] = None,
    retry: Annotated[
        bool, typer.Option("--retry", help="Give new attempts to repeats whose attempts are used up.")
    ] = False,
    json: JsonOption = False,
) -> None:
    """Run a campaign, or go on where it stopped. Ctrl-C is safe at any moment."""
    from .spec import load_campaign, load_cluster

    specification = load_campaign(campaign)
    if name is not None:
        specification = _renamed(specification, name)
    pool = load_cluster(_require_cluster(campaign, cluster))

    from rich.console import Console

    from . import report
    from .progress import for_console
    from .runner import run as execute

    summary = execute(specification, pool, raw, retry=retry, progress=for_console(Console(stderr=True)))
    report.show_run(summary, as_json=json)
    raise typer.Exit(summary.exit_code)


def _renamed(campaign: Campaign, name: str) -> Campaign:
    from pydantic import ValidationError

    try:
        return type(campaign).model_validate({**campaign.model_dump(), "name": name})
    except ValidationError as error:
        raise UsageError(f"--name {name}: {error.errors(include_url=False)[0]['msg']}") from error


@app.command(epilog=_examples("glusterlab status raw/first-light", "glusterlab status raw/first-light --json"))
def status(raw: RawArgument, json: JsonOption = False) -> None:
    """What is done, invalid, failed and left; exit 1 unless every sample is there and valid."""
    from . import report
    from .status import campaign_status

    found = campaign_status(raw)
    report.show_status(found, as_json=json)
    if found.missing:
        report.talk(found.missing_sentence())
    if not found.complete:
        raise typer.Exit(1)


@app.command(epilog=_examples("glusterlab verify raw/first-light", "glusterlab verify raw/first-light --json"))
def verify(raw: RawArgument, json: JsonOption = False) -> None:
    """Check sums, completeness, and every sample's validity judged again; exit 1 on any finding."""
    from . import report
    from .verify import verify as examine

    with report.bar("judging samples") as progress:
        findings = examine(raw, progress)
    report.show_verify(raw, findings, as_json=json)
    if findings:
        raise typer.Exit(1)


@app.command(
    epilog=_examples(
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
    from .parsing import write_lines

    kinds = [each.value for each in kind or ()]
    if not write_lines(files, _write_line, _complain, tool=tool, averages=averages, kinds=kinds):
        raise typer.Exit(1)


def _write_line(line: str) -> None:
    sys.stdout.write(line + "\n")


@app.command(
    epilog=_examples(
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
    from . import report
    from .storage import place
    from .tables import folder_of, write

    folder = folder_of(raw) if output is None else place(output)
    with report.bar("parsing samples") as progress:
        made = write(raw, folder, scheduler=scheduler, progress=progress)
    if made is None:
        raise DataError(f"{folder}: the tables cannot be kept there; name another folder by --output")
    report.show_tables(made, str(folder), as_json=json)


@app.command(
    epilog=_examples(
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
            help="Folders of campaigns, or their URLs; default: all below raw/.",
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
    from . import report
    from .reproduce import reproduce as remake

    with report.ReproduceDisplay() as display:
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
    report.show_reproduce(summary, as_json=json)
    raise typer.Exit(summary.exit_code)


def _project() -> Path:
    """The nearest folder upwards that holds notebooks/, else where we are."""
    here = Path.cwd()
    return next((folder for folder in (here, *here.parents) if (folder / "notebooks").is_dir()), here)


app.command("import", epilog=f"{_examples(*import_command.EXAMPLES)}\n\n{import_command.NOTES}")(import_command.import_)


class SchemaKind(StrEnum):
    """Specification files that have a schema."""

    cluster = "cluster"
    campaign = "campaign"
    imports = "import"


@app.command(
    epilog=_examples(
        "glusterlab schema campaign > campaign.schema.json",
        "First line of a campaign.yaml, for editors: # yaml-language-server: $schema=campaign.schema.json",
    )
)
def schema(kind: Annotated[SchemaKind, typer.Argument(help="Of which file.")]) -> None:
    """JSON Schema of cluster.yaml, campaign.yaml or the mapping.yaml of an import, for editors."""
    from . import report
    from .spec import json_schema

    report.emit_json(json_schema(kind.value))


def main() -> None:
    """Entry point of the ``glusterlab`` command."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            # a terminal or log that knows only ASCII still gets every message
            stream.reconfigure(errors="backslashreplace")
    try:
        app(prog_name="glusterlab")
    except KeyboardInterrupt:
        sys.stderr.write(f"error: {INTERRUPTED}\n")
        sys.exit(EXIT_INTERRUPTED)


if __name__ == "__main__":
    main()
