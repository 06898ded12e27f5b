"""site: the report over all campaigns, to be explored in a browser."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import typer

from glusterlab.cli.console import complain, show, talk
from glusterlab.cli.options import JSON, RAWS_OR_ALL, VERIFY, commands, flag, option, path_option
from glusterlab.errors import UsageError

app, command = commands()


@command(
    "glusterlab site",
    "glusterlab site raw/reference --output /tmp/report",
    "glusterlab site --raw-url https://storage.example.org/raw",
    "glusterlab site --pdf report.pdf raw/reference",
    more="Open index.html of the folder in a browser, or put the folder on any web server: it asks for nothing else.",
)
def site(
    raw: list[Path] | None = RAWS_OR_ALL,
    output: Path | None = path_option("DIR", "Folder for the report; default: figures/site."),
    raw_url: str = option("URL", "Where pages find raw files; default: raw/ from the report.", default=""),
    pdf: Path | None = path_option("FILE", "Print the sections of the campaign that is named, by Chromium.", "--pdf"),
    force: bool = flag("--force", "Make also what did not change."),
    verify: bool = VERIFY,  # noqa: ARG001  its callback does it
    json: bool = JSON,
) -> None:
    """Make the report that people explore: findings, every cell and claim, with the way to the raw files."""
    from glusterlab.site.build import build
    from glusterlab.site.printing import PRINTED, print_pdf
    from glusterlab.store.campaign import choose_campaigns

    if pdf is not None and len(raw or ()) != 1:
        raise UsageError("--pdf prints one campaign: name its folder, such as raw/reference")
    here = Path.cwd()
    project = next((folder for folder in (here, *here.parents) if (folder / "notebooks").is_dir()), here)
    chosen = choose_campaigns(raw or (), project)
    built = build(
        # one is printed of the report over all
        chosen if pdf is None else list(dict.fromkeys([*choose_campaigns((), project), *chosen])),
        project=project,
        folder=output or project / "figures" / "site",
        raw_url=raw_url,
        force=force,
        progress=lambda name, what: talk(f"{what:10} {name}" if ":" not in what else f"{name} {what}"),
    )
    if pdf is not None and not built.failed:
        print_pdf(built.folder / "sections" / chosen[0].name / PRINTED, pdf)
    for name, why in built.failed.items():
        complain(f"{name}: {why}")
    megabytes = built.bytes / 1e6
    if not json:
        talk(f"{built.pages} pages, {megabytes:.1f} MB, {len(built.made)} campaigns made, {len(built.failed)} failed")
    data = {**asdict(built), "folder": str(built.folder), "exit_code": built.exit_code}
    show([], json, data, lines=[str(built.folder / "index.html")])
    raise typer.Exit(built.exit_code)
