"""Commands that look at a campaign's folder: status, verify."""

from __future__ import annotations

import typer

from glusterlab.arguments import JsonOption, RawArgument, examples

app = typer.Typer()


@app.command(epilog=examples("glusterlab status raw/first-light", "glusterlab status raw/first-light --json"))
def status(raw: RawArgument, json: JsonOption = False) -> None:
    """What is done, invalid, failed and left; exit 1 unless every sample is there and valid."""
    from glusterlab.report.status import show_status
    from glusterlab.report.terminal import talk
    from glusterlab.status import campaign_status

    found = campaign_status(raw)
    show_status(found, as_json=json)
    if found.missing:
        talk(found.missing_sentence())
    if not found.complete:
        raise typer.Exit(1)


@app.command(epilog=examples("glusterlab verify raw/first-light", "glusterlab verify raw/first-light --json"))
def verify(raw: RawArgument, json: JsonOption = False) -> None:
    """Check sums, completeness, and every sample's validity judged again; exit 1 on any finding."""
    from glusterlab.report.raw import show_verify
    from glusterlab.report.terminal import bar
    from glusterlab.verify import verify as examine

    with bar("judging samples") as progress:
        findings = examine(raw, progress)
    show_verify(raw, findings, as_json=json)
    if findings:
        raise typer.Exit(1)
