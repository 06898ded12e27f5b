"""The command ``glusterlab import``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from glusterlab.arguments import JsonOption, RawRootOption, complete_yaml, local_path
from glusterlab.errors import UsageError

EXAMPLES = (
    "glusterlab import results --as mine --pattern '{layout}/{workers}w/{operation}.txt' --dry-run",
    "glusterlab import results --as mine --pattern '{layout}/{workers}w/{operation}.txt'",
    "glusterlab import results --as mine --pattern '{layout}/{workers}w-*.log' --default 'file_size=4 GiB'",
    "glusterlab import results --as mine --map mapping.yaml",
)
NOTES = (
    "What the pattern does not say is read from the files. Fields: layout, workers, operation, file_size, record_size,"
    " tool, access, files_per_worker, host, job, run, repeat, gluster_version, options. * is any text in a name, **/"
    " any folders. A mapping.yaml says what the layouts are, and more: glusterlab schema import, runbooks/import."
)


def import_(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", parser=local_path, help="A folder with results; it is only read.")
    ],
    name: Annotated[str, typer.Option("--as", metavar="NAME", help="Name of the campaign, and so of its folder.")],
    pattern: Annotated[
        list[str] | None,
        typer.Option("--pattern", metavar="PATTERN", help="What paths below DIR say; may be given again."),
    ] = None,
    mapping: Annotated[
        Path | None,
        typer.Option("--map", metavar="FILE", help="A mapping.yaml.", autocompletion=complete_yaml),
    ] = None,
    default: Annotated[
        list[str] | None,
        typer.Option("--default", metavar="KEY=VALUE", help="For what neither path nor file says; may be given again."),
    ] = None,
    raw: RawRootOption = Path("raw"),
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show which file is which sample; write nothing.")] = False,
    skip_bad: Annotated[
        bool, typer.Option("--skip-bad", help="Import the others where mapped files are refused or damaged.")
    ] = False,
    json: JsonOption = False,
) -> None:
    """Make a campaign out of results that are there already, made by hand or by other tools: all of it, or nothing."""
    from glusterlab.imports.campaign import campaign_path, write_campaign
    from glusterlab.imports.mapping import load_mapping
    from glusterlab.imports.plan import plan_import
    from glusterlab.imports.show import show_import
    from glusterlab.report.terminal import bar, talk

    path = campaign_path(raw, name)
    found = load_mapping(mapping, tuple(pattern or ()), _pairs(default or []))
    with bar("reading files") as progress:
        plan = plan_import(folder, found, progress, raw_root=raw)
    fit = bool(plan.samples) and (skip_bad or not plan.refused)
    samples = None
    if fit and not dry_run:
        with bar("writing samples") as progress:
            samples = write_campaign(plan, path, progress)
    show_import(plan, path, samples, everything=dry_run, as_json=json)
    if plan.refused and not skip_bad and plan.samples:
        talk("refused files keep the others out: mend the mapping, or import without them by --skip-bad")
    if not fit:
        raise typer.Exit(1)


def _pairs(words: list[str]) -> dict[str, str]:
    pairs = dict(word.partition("=")[::2] for word in words)
    for word in words:
        if "=" not in word:
            raise UsageError(f"--default {word}: expected KEY=VALUE, such as 'file_size=4 GiB'")
    return pairs
