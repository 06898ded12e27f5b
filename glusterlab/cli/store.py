"""status, log, verify, publish, fetch: what is in a campaign's folder."""

from __future__ import annotations

import os
import re
import shutil
import sys
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from datetime import datetime, timedelta
from json import dumps
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import typer

from glusterlab.cli.console import IMPORTED, bar, bounds, complain, count_of, percent, person, picked, show, talk
from glusterlab.cli.options import JSON, RAW, VERIFY, argument, commands, complete_yaml, flag, option, path_option
from glusterlab.errors import RawStoreError, StoppedError, UsageError, some
from glusterlab.store.manifest import SIGNATURE
from glusterlab.units import parse_duration

if TYPE_CHECKING:
    from glusterlab.run.measured import Decision, Interval
    from glusterlab.run.state import RunState
    from glusterlab.run.status import CampaignStatus
    from glusterlab.run.verify import Finding
    from glusterlab.store.journal import Event

app, command = commands()

_MOST_LEFT = 20  # so many names that are left in a copy are shown


@command(
    "glusterlab status raw/first-light",
    "glusterlab status raw/night --watch   (from any shell, while it runs)",
    "glusterlab status raw/first-light --json",
)
def status(
    raw: Path = RAW,
    watch: bool = flag("--watch -w", "Look over the run's shoulder first, until it ends or Ctrl-C."),
    verify: bool = VERIFY,  # noqa: ARG001  its callback does it
    json: bool = JSON,
) -> None:
    """What is done, invalid, failed and left; exit 1 unless every sample is there and valid."""
    from glusterlab.run.state import read_now
    from glusterlab.run.status import campaign_status
    from glusterlab.run.view import watch as watch_run

    if watch and json:
        raise UsageError("--watch is for people, and --json tells one state: give one of them")
    if watch:
        try:
            talk(watch_run(raw, person()))
        except KeyboardInterrupt:
            talk("left; a run goes on")
    found = campaign_status(raw)
    run = None
    try:
        run = None if watch else read_now(raw)
    except RawStoreError as error:
        talk(str(error))  # a damaged file of the run must not hide what is stored
    show_status(found, as_json=json, run=run)
    if found.damage:
        complain(found.damage)
    if not found.complete:
        raise typer.Exit(1)


_NUMBERS = ("wanted", "valid", "left", "spent", "invalid", "failed", "warmup")
_DECISIONS: dict[Decision, str] = {"reached": "reached", "at-maximum": "not reached", "going-on": "going on"}
_SHOWN_HOSTS = 4
_CELL_WIDTH = 24  # a cell's id is not broken into narrower lines than this


def show_status(status: CampaignStatus, *, as_json: bool, run: RunState | None = None) -> None:
    """What is stored, and what the campaign's run does, or how the last one ended."""
    if as_json:
        from glusterlab.run.state import life

        # its last results and notes are in the log
        left_out = {"schema_version", "recent", "notes", "process_start"}
        state = run and {**run.model_dump(mode="json", exclude=left_out), "life": life(run)}
        show((), True, {**_status_json(status), "run": state})
        return
    rows = _rows(status)
    names = [name for name in rows[0] if name != "cell"] if rows else []
    width = sum(3 + max(len(name), *(len(row[name]) for row in rows)) for name in names)
    if sys.stdout.isatty() and width + _CELL_WIDTH > shutil.get_terminal_size().columns:
        for row in rows:
            typer.echo(row.pop("cell"))
            typer.echo("    " + ", ".join(f"{name} {text}" for name, text in row.items() if text))
    else:
        show(rows, False, right=set(names) - {"target"}, fold="cell")
    _show_reasons(status)
    typer.echo("")
    for rule in dict.fromkeys(cell.repeats for cell in status.cells if cell.repeats is not None):
        counts = Counter(cell.decision for cell in status.cells if cell.repeats == rule)
        typer.echo(
            f"target ± {percent(rule.half_width)} of the mean by {rule.least} to"
            f" {rule.max} repeats: {count_of(counts['reached'], 'cell')} reached it,"
            f" {counts['at-maximum']} ended without, {counts['going-on']} going on"
        )
    typer.echo(_total(status))
    if run is not None:
        from glusterlab.run.view import describe_state

        talk(describe_state(run, time.time()))


def _rows(status: CampaignStatus) -> list[dict[str, str]]:
    """A row per cell; columns that would be empty in every row are left out."""

    def half_width(interval: Interval) -> str:
        if interval.half_width is not None:
            return f"± {percent(interval.half_width)}"
        return "two groups" if interval.estimate.groups else f"n = {interval.estimate.n}"

    rows = [
        {
            "cell": cell.cell.id,
            "valid": str(cell.valid),
            "of": str(cell.wanted),
            "left": str(cell.left),
            "given up": str(cell.spent or ""),
            "invalid": str(cell.invalid or ""),
            "failed": str(cell.failed or ""),
            "warm-up": str(cell.warmup or ""),
            "mean": cell.interval.mean if cell.interval else "",
            "95 %": half_width(cell.interval) if cell.interval else "",
            "target": "" if cell.decision is None else _DECISIONS[cell.decision],
        }
        for cell in status.cells
    ]
    return [{name: text for name, text in row.items() if any(other[name] for other in rows)} for row in rows]


def _show_reasons(status: CampaignStatus) -> None:
    from glusterlab.run.status import ended_at

    if status.reasons:
        typer.echo("\nwhy samples are not valid:")
    for count in status.reasons:
        hosts = f", on {some(count.hosts, _SHOWN_HOSTS)}" if count.hosts else ""
        since = f"{count.open} without a valid sample since" if count.open else "all made good since"
        many = f"{count_of(count.samples, 'sample')} of {count_of(count.cells, 'cell')}"
        typer.echo(f"  {count.code}: {many}{hosts}; {since}\n      {count.sentence}")
        if status.origin == "measured":
            typer.echo(f"      What to do: {count.advice}")
    if status.failures:
        typer.echo("\nthe last that are not valid:")
    for sample in status.failures:
        when = time.strftime("%Y-%m-%d %H:%M", time.localtime(ended_at(sample)))
        repeat = f"{'warm-up ' if sample.warmup else ''}repeat {sample.repeat}, attempt {sample.attempt}"
        first = f": {sample.reasons[0]}" if sample.reasons else ""
        more = f" (and {len(sample.reasons) - 1} more)" if len(sample.reasons) > 1 else ""
        place = f"cells/{sample.cell_id}/{sample.path.name}"
        typer.echo(f"  {when} {place}, {repeat}: {sample.status}{first}{more}")


def _total(status: CampaignStatus) -> str:
    totals = {name: status.total(name) for name in _NUMBERS}
    line = f"{status.campaign}: {totals['valid']} of {totals['wanted']} samples valid"
    if status.origin == "imported":
        return f"{line}, {totals['invalid']} invalid, {totals['failed']} failed; {IMPORTED}"
    at_most = "at most " if any(cell.decision == "going-on" for cell in status.cells) else ""
    line += f", {at_most}{totals['left']} left"
    if totals["spent"]:
        line += f", {totals['spent']} given up ('glusterlab run --retry' gives them new attempts)"
    line += f"; {totals['invalid']} executions invalid, {totals['failed']} failed"
    if totals["warmup"]:
        line += f"; {totals['warmup']} of the warm-up apart"
    if status.not_runnable:
        line += f"; {count_of(status.not_runnable, 'cell')} not runnable ('glusterlab plan' says why)"
    return line


def _status_json(status: CampaignStatus) -> dict[str, Any]:
    from glusterlab.run.status import ended_at

    return {
        **picked(status, "campaign", "origin", "complete"),
        "cells": [
            {"cell": cell.cell.id, **picked(cell, *_NUMBERS, "decision"), "interval": _interval_json(cell.interval)}
            for cell in status.cells
        ],
        **picked(status, "missing", "damage"),
        "reasons": [
            picked(count, "code", "sentence", "advice", "samples", "open", "cells", "hosts") for count in status.reasons
        ],
        "last_failures": [
            picked(sample, "sample", "repeat", "attempt", "warmup", "status", "reasons", cell="cell_id")
            | {"time": round(ended_at(sample), 3)}
            for sample in status.failures
        ],
        "repeats": bounds(status.repeats),
        "total": {name: status.total(name) for name in _NUMBERS} | {"not_runnable": status.not_runnable},
    }


def _interval_json(interval: Interval | None) -> dict[str, Any] | None:
    if interval is None:
        return None
    estimate, known = interval.estimate, interval.half_width is not None
    return {
        **picked(interval, "quantity", "half_width"),
        **picked(estimate, "n", "method", "groups"),
        "mean": None if estimate.groups else estimate.centre,
        "low": estimate.low if known else None,
        "high": estimate.high if known else None,
    }


@command(
    "glusterlab log raw/night",
    "glusterlab log raw/night --since '8 h' --problems",
    "glusterlab log raw/night --follow",
    "glusterlab log raw/night --json | jq 'select(.command) | .host, .command'",
)
def log(
    raw: Path = RAW,
    since: str | None = option("WHEN", "From then on: '8 h' (ago), 22:00 (the last one), '2026-11-20 22:00'."),
    problems: bool = flag("--problems", "Warnings and errors only."),
    follow: bool = flag("--follow -f", "Go on until the run ends, or Ctrl-C."),
    json: bool = flag("--json", "JSON lines for scripts, with every command on the hosts."),
) -> None:
    """What happened in a campaign's runs: samples, failures, waits; the log.txt of RAW."""
    from glusterlab.run.view import log_events

    start = None if since is None else since_when(since, datetime.now().astimezone())
    try:
        events = log_events(raw, follow=follow, note=talk)
        shown = show_events(selected(events, start, problems=problems, everything=json), as_json=json)
        if not shown:
            talk("no problems" if problems else "no entries")
    except KeyboardInterrupt:
        raise typer.Exit(StoppedError.exit_code) from None


_CLOCK = re.compile(r"([01]?\d|2[0-3]):([0-5]\d)", re.ASCII)
_AGO = re.compile(r"(\d+(?:\.\d+)?)\s*(d|h|min|s)\b", re.ASCII)


def since_when(text: str, now: datetime) -> float:
    """The moment that ``--since`` names, in epoch seconds: a duration before now, the last such time of day, a date."""
    try:
        return _moment(text.strip(), now).timestamp()
    except (OverflowError, ValueError):
        message = "expected a duration ('8 h'), a time of day ('22:00') or a date ('2026-11-20 22:00')"
        raise UsageError(f"--since {text}: {message}") from None


def _moment(words: str, now: datetime) -> datetime:
    if match := _AGO.fullmatch(words):
        seconds = float(match[1]) * 86_400 if match[2] == "d" else parse_duration(words)
        return now - timedelta(seconds=seconds)
    if match := _CLOCK.fullmatch(words):
        at = now.replace(hour=int(match[1]), minute=int(match[2]), second=0, microsecond=0)
        return at if at <= now else at - timedelta(days=1)
    found = datetime.fromisoformat(words)
    return found if found.tzinfo is not None else found.replace(tzinfo=now.tzinfo)


def selected(events: Iterable[Event], since: float | None, *, problems: bool, everything: bool) -> Iterable[Event]:
    """Entries from a moment on: those for people, on request only problems, or everything."""
    for event in events:
        is_for_people = bool(event.message)
        wanted = (is_for_people and event.level != "info") if problems else (everything or is_for_people)
        if wanted and (since is None or event.time >= since):
            yield event


def show_events(events: Iterable[Event], *, as_json: bool) -> int:
    """Entries, one line each, coloured on a terminal. How many there were is returned."""
    colours = {"warning": typer.colors.YELLOW, "error": typer.colors.RED}
    number = 0
    # where there is no terminal, colours are taken away besides
    color = False if os.environ.get("NO_COLOR") else None
    for number, event in enumerate(events, start=1):  # noqa: B007  it is returned
        if as_json:
            typer.echo(dumps(event.as_dict(), sort_keys=True, ensure_ascii=False))
        else:
            typer.secho(event.line, fg=colours.get(event.level), color=color)
    return number


@command(
    "glusterlab verify raw/first-light",
    "glusterlab verify raw/first-light --json",
    "glusterlab verify raw/night --signature signers",
    more="Whoever edits raw files can edit their digests, too: sign them when the run has ended, by publish --sign or "
    "'ssh-keygen -Y sign -n glusterlab -f KEY raw/night/MANIFEST.sha256'. A line of signers is 'NAME KEY', as in "
    "ssh-keygen(1), ALLOWED SIGNERS.",
)
def verify(
    raw: Path = RAW,
    signature: Path | None = path_option(
        "FILE", "Check the signature, too: who may have made it, and their public keys."
    ),
    json: bool = JSON,
) -> None:
    """Check sums, completeness, and every sample's validity judged again; exit 1 on any finding."""
    from glusterlab.run import verify as examining

    with bar("judging samples") as progress:
        findings = examining.verify(raw, progress)
    if signature is not None:
        findings = [*examining.verify_signature(raw, signature), *findings]
    show_verify(raw, findings, as_json=json)
    if signature is None and (raw / SIGNATURE).is_file():
        talk(f"{SIGNATURE} was not checked: give --signature and the file of those who may have signed")
    if findings:
        raise typer.Exit(1)


def show_verify(raw: Path, findings: Sequence[Finding], *, as_json: bool) -> None:
    """One line per finding."""
    from glusterlab.store.sample import campaign_origin

    origin = campaign_origin(raw)
    imported = f"; {IMPORTED}" if origin == "imported" else ""
    lines = [f"{finding.path}: {finding.code}: {finding.message}" for finding in findings]
    lines.append(f"{raw}: {count_of(len(findings), 'finding') if findings else 'intact'}{imported}")
    show([], as_json, {"raw": raw, "origin": origin, "intact": not findings, "findings": findings}, lines=lines)


@command(
    "glusterlab publish raw/first-light --output /tmp/first-light",
    "glusterlab publish raw/night --output night --names names.yaml",
    "glusterlab publish raw/acme-night --output night --name night",
    more="Numbers are never touched: every sample of the copy is judged again, and has to say what the original says. "
    "Names are kept in names-of-DIR.yaml, beside the copy; it leads back, so keep it to yourself. A file of names has "
    "lines 'gl-s01: storage-a' for hosts, addresses and any other word.",
)
def publish(
    raw: Path = RAW,
    output: Path = path_option("DIR", "Folder of the copy; must not be there.", default=...),
    names: Path | None = option("FILE", "What is to be called what.", autocompletion=complete_yaml),
    name: str | None = option("NAME", "What the campaign is called in the copy."),
    keep_host_names: bool = flag("--keep-host-names", "Leave hosts and their addresses as they are."),
    sign: Path | None = path_option("KEY", "Sign the copy's digests with this SSH key."),
    json: bool = JSON,
) -> None:
    """Copy a campaign to give it away: hosts, addresses, users get neutral names. Exit 1 when any is left."""
    from glusterlab.publishing.copy import publish as copy
    from glusterlab.publishing.names import read_names
    from glusterlab.store.signature import sign as sign_manifest

    if sign is not None and not sign.is_file():
        raise UsageError(f"--sign: expected a key, found no file {sign}")
    wanted = {} if names is None else read_names(names)
    made = copy(raw, output, new_names=wanted, keep_host_names=keep_host_names, name=name, phases=bar)
    if sign is not None and not made.left:
        sign_manifest(made.path, sign)
    more = len(made.left) - _MOST_LEFT
    redacted = f", secrets taken out of {count_of(made.redacted, 'text')}" if made.redacted else ""
    counts = f"{count_of(made.files, 'file')} with {count_of(made.samples, 'sample')}, judged as in the original"
    notes = [f"{made.names_file} leads back to the original names: do not give it away"]
    if any(left.kind == "name" and left.path.startswith(("cells/", "campaign.yaml")) for left in made.left):
        notes.append("--name renames the campaign; cells, and what their ids are made of, cannot be renamed")
    if made.left:
        notes.append(
            "not fit to be given away: name what is left in a file for --names ('found: replacement'), remove the copy,"
            " and publish again"
        )
    show(
        [{"left": left.kind, "file": left.path, "found": left.found} for left in made.left[:_MOST_LEFT]],
        json,
        {**asdict(made), "fit": not made.left},
        lines=[
            *([f"and {more} more; --json lists all"] if more > 0 else []),
            f"{made.path}: {counts}; {count_of(made.renamed, 'name')} replaced{redacted}",
        ],
        notes=notes,
    )
    if made.left:
        raise typer.Exit(1)


@command(
    "glusterlab fetch s3://lab/raw/night",
    "glusterlab fetch sftp://controller/home/lab/raw/night /data/raw/night",
    more="The folder appears when every file is there and as the campaign's manifest has it. After an interruption "
    "the same command goes on. URLs are those of fsspec, and credentials are found as it finds them.",
)
def fetch(
    url: str = typer.Argument(..., metavar="URL", help="Folder of a campaign elsewhere."),
    folder: Path | None = argument("[FOLDER]", "Where to; default: raw/<last part of URL>.", default=None),
    json: bool = JSON,
) -> None:
    """Bring a campaign from another machine or a bucket, file by file as its manifest has it."""
    from glusterlab.store.remote import fetch as bring

    parts = urlsplit(url.rstrip("/"))
    name = PurePosixPath(parts.path).name or parts.hostname  # what stands before the host may be a password
    if folder is None and not name:
        raise UsageError(f"{url}: expected the URL of a campaign's folder")
    target = Path("raw", name or "") if folder is None else folder
    with bar("fetching files") as progress:
        fetched, kept = bring(url, target, progress)
    line = f"{target}: {count_of(fetched, 'file')} fetched, {kept} there from before"
    show([], json, {"folder": target, "fetched": fetched, "kept": kept}, lines=[line])
