"""Commands that look at a campaign's folder: status, log, verify, publish."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from glusterlab.arguments import JsonOption, RawArgument, complete_yaml, examples, local_path
from glusterlab.errors import RawStoreError, StoppedError, UsageError

if TYPE_CHECKING:
    from glusterlab.now import RunState

app = typer.Typer()


@app.command(
    epilog=examples(
        "glusterlab status raw/first-light",
        "glusterlab status raw/night --watch   (from any shell, while it runs)",
        "glusterlab status raw/first-light --json",
    )
)
def status(
    raw: RawArgument,
    watch: Annotated[
        bool, typer.Option("--watch", "-w", help="Look over the run's shoulder first, until it ends or Ctrl-C.")
    ] = False,
    json: JsonOption = False,
) -> None:
    """What is done, invalid, failed and left; exit 1 unless every sample is there and valid."""
    from glusterlab.report.status import show_status
    from glusterlab.report.terminal import talk
    from glusterlab.status import campaign_status

    if watch and json:
        raise UsageError("--watch is for people, and --json tells one state: give one of them")
    if watch:
        _watch(raw)
    found = campaign_status(raw)
    show_status(found, as_json=json, run=None if watch else _run_of(raw))
    if found.missing:
        talk(found.missing_sentence())
    if not found.complete:
        raise typer.Exit(1)


def _run_of(raw: Path) -> RunState | None:
    """What the campaign's run does; a file that only tells of it must not hide what is stored."""
    from glusterlab.now import read_now
    from glusterlab.report.terminal import talk

    try:
        return read_now(raw)
    except RawStoreError as error:
        talk(str(error))
        return None


def _watch(raw: Path) -> None:
    from rich.console import Console

    from glusterlab.report.terminal import talk
    from glusterlab.watch import watch

    try:
        talk(watch(raw, Console(stderr=True)))
    except KeyboardInterrupt:
        talk("left; a run that is at work goes on")


@app.command(
    epilog=examples(
        "glusterlab log raw/night",
        "glusterlab log raw/night --since '8 h' --problems",
        "glusterlab log raw/night --follow",
        "glusterlab log raw/night --json | jq 'select(.command) | .host, .command'",
    )
)
def log(
    raw: RawArgument,
    since: Annotated[
        str | None,
        typer.Option(
            "--since", metavar="WHEN", help="From then on: '8 h' (ago), 22:00 (the last one), '2026-11-20 22:00'."
        ),
    ] = None,
    problems: Annotated[bool, typer.Option("--problems", help="Warnings and errors only.")] = False,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on until the run ends, or Ctrl-C.")] = False,
    json: Annotated[
        bool, typer.Option("--json", help="JSON lines for scripts, with every command on the hosts.")
    ] = False,
) -> None:
    """What happened in a campaign's runs: samples, failures, waits; the log.txt of RAW."""
    from glusterlab.report.log import chosen, local_now, show_events, since_when
    from glusterlab.report.terminal import talk
    from glusterlab.watch import log_events

    start = None if since is None else since_when(since, local_now())
    try:
        events = log_events(raw, follow=follow, note=talk)
        shown = show_events(chosen(events, start, problems=problems, everything=json), as_json=json)
        if not shown:
            talk("no problems" if problems else "no entries")
    except KeyboardInterrupt:
        raise typer.Exit(StoppedError.exit_code) from None


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


@app.command(
    epilog=examples(
        "glusterlab publish raw/first-light --output /tmp/first-light",
        "glusterlab publish raw/night --output night --names names.yaml",
        "glusterlab publish raw/acme-night --output night --name night",
    )
    + "\n\nNumbers are never touched: every sample of the copy is judged again, and has to say what the original says. "
    "Names are kept in names-of-DIR.yaml, beside the copy; it leads back, so keep it to yourself. A file of names has "
    "lines 'gl-s01: storage-a' for hosts, addresses and any other word."
)
def publish(
    raw: RawArgument,
    output: Annotated[
        Path, typer.Option("--output", metavar="DIR", parser=local_path, help="Folder of the copy; must not be there.")
    ],
    names: Annotated[
        Path | None,
        typer.Option("--names", metavar="FILE", help="What is to be called what.", autocompletion=complete_yaml),
    ] = None,
    name: Annotated[
        str | None, typer.Option("--name", metavar="NAME", help="What the campaign is called in the copy.")
    ] = None,
    keep_host_names: Annotated[
        bool, typer.Option("--keep-host-names", help="Leave hosts and their addresses as they are.")
    ] = False,
    json: JsonOption = False,
) -> None:
    """Copy a campaign to give it away: hosts, addresses, users get neutral names. Exit 1 when any is left."""
    from glusterlab.publish import publish as copy
    from glusterlab.publish.collect import read_names
    from glusterlab.report.publish import show_publish
    from glusterlab.report.terminal import bar

    given = {} if names is None else read_names(names)
    made = copy(raw, output, given=given, keep_host_names=keep_host_names, name=name, phases=bar)
    show_publish(made, as_json=json)
    if made.left:
        raise typer.Exit(1)
