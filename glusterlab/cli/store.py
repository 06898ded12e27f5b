"""status, log, verify, publish: what is in a campaign's folder."""

from __future__ import annotations

import os
import re
import shutil
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from datetime import datetime, timedelta
from json import dumps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from glusterlab.cli.console import (
    IMPORTED,
    JsonOption,
    RawArgument,
    bar,
    bounds,
    complete_yaml,
    count_of,
    emit_json,
    examples,
    local_path,
    percent,
    person,
    picked,
    show_table,
    talk,
)
from glusterlab.errors import RawStoreError, StoppedError, UsageError
from glusterlab.units import parse_duration

if TYPE_CHECKING:
    from glusterlab.publishing import Published
    from glusterlab.run.measured import Interval
    from glusterlab.run.state import RunState
    from glusterlab.run.status import CampaignStatus, CellStatus, ReasonCount
    from glusterlab.run.stopping import Decision
    from glusterlab.run.verify import Finding
    from glusterlab.spec import Repeats
    from glusterlab.store.campaign import Sample
    from glusterlab.store.journal import Event

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
    from glusterlab.run.status import campaign_status

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
    """State of the campaign's run; a damaged file of it must not hide what is stored."""
    from glusterlab.run.state import read_now

    try:
        return read_now(raw)
    except RawStoreError as error:
        talk(str(error))
        return None


def _watch(raw: Path) -> None:
    from glusterlab.run.view import watch

    try:
        talk(watch(raw, person()))
    except KeyboardInterrupt:
        talk("left; a run goes on")


_NUMBERS = ("wanted", "valid", "left", "spent", "invalid", "failed", "warmup")

_DECISIONS: dict[Decision, str] = {"reached": "reached", "at-maximum": "not reached", "going-on": "going on"}


_SHOWN_HOSTS = 4

_CELL_WIDTH = 24
"""A cell's id is not broken into narrower lines than this."""


def show_status(status: CampaignStatus, *, as_json: bool, run: RunState | None = None) -> None:
    """What ``glusterlab status`` found; and what the campaign's run does, or how the last one ended."""
    if as_json:
        emit_json({**_status_json(status), "run": None if run is None else _run_json(run)})
        return
    _show_cells(status)
    _show_reasons(status)
    typer.echo("")
    if status.repeats is not None:
        typer.echo(_target_line(status, status.repeats))
    typer.echo(_line(status))
    if run is not None:
        from glusterlab.run.view import describe_state

        talk(describe_state(run, time.time()))


def _run_json(run: RunState) -> dict[str, Any]:
    """What the run does now, its last results and notes aside: they are in the log."""
    from glusterlab.run.state import life

    state = run.model_dump(mode="json", exclude={"schema_version", "recent", "notes", "process_start"})
    return {**state, "life": life(run)}


def _show_cells(status: CampaignStatus) -> None:
    """A row per cell; columns that would be empty in every row are left out. A narrow terminal gets lines instead."""
    always = ("valid", "of", "left")
    columns: dict[str, Callable[[CellStatus], object]] = {
        "valid": lambda cell: cell.valid,
        "of": lambda cell: cell.wanted,
        "left": lambda cell: cell.left,
        "given up": lambda cell: cell.spent or "",
        "invalid": lambda cell: cell.invalid or "",
        "failed": lambda cell: cell.failed or "",
        "warm-up": lambda cell: cell.warmup or "",
        "mean": lambda cell: _mean(cell.interval),
        "95 %": lambda cell: _half_width(cell.interval),
        "target": lambda cell: "" if cell.decision is None else _DECISIONS[cell.decision],
    }
    shown = {
        name: texts
        for name, value in columns.items()
        if any(texts := [str(value(cell)) for cell in status.cells]) or name in always
    }
    width = sum(3 + max(len(name), *map(len, texts)) for name, texts in shown.items()) if status.cells else 0
    if sys.stdout.isatty() and width + _CELL_WIDTH > shutil.get_terminal_size().columns:
        for cell in status.cells:
            typer.echo(f"{cell.cell.id}\n    {_cell_line(cell)}")
        return
    rows = zip([cell.cell.id for cell in status.cells], *shown.values(), strict=True)
    show_table(("cell", *shown), rows, right=tuple(name for name in shown if name != "target"), fold="cell")


def _cell_line(cell: CellStatus) -> str:
    numbers = ((cell.left, "left"), (cell.spent, "given up"), (cell.invalid, "invalid"), (cell.failed, "failed"))
    line = ", ".join([f"{cell.valid} of {cell.wanted}", *(f"{number} {word}" for number, word in numbers if number)])
    if cell.interval is not None:
        line += f"; {_mean(cell.interval)} {_half_width(cell.interval)}"
    return line if cell.decision is None else f"{line}, {_DECISIONS[cell.decision]}"


def _mean(interval: Interval | None) -> str:
    return "" if interval is None else interval.mean


def _half_width(interval: Interval | None) -> str:
    if interval is None:
        return ""
    return f"n = {interval.estimate.n}" if interval.half_width is None else f"± {percent(interval.half_width)}"


def _show_reasons(status: CampaignStatus) -> None:
    if status.reasons:
        typer.echo("\nwhy samples are not valid:")
    for count in status.reasons:
        typer.echo(f"  {_count_line(count)}")
        typer.echo(f"      {count.sentence}")
        if status.origin == "measured":
            typer.echo(f"      What to do: {count.advice}")
    if status.failures:
        typer.echo("\nthe last that are not valid:")
    for sample in status.failures:
        typer.echo(f"  {_failure_line(sample)}")


def _count_line(count: ReasonCount) -> str:
    more = f" and {len(count.hosts) - _SHOWN_HOSTS} more" if len(count.hosts) > _SHOWN_HOSTS else ""
    hosts = f", on {', '.join(count.hosts[:_SHOWN_HOSTS])}{more}" if count.hosts else ""
    since = f"{count.open} without a valid sample since" if count.open else "all made good since"
    return f"{count.code}: {count_of(count.samples, 'sample')} of {count_of(count.cells, 'cell')}{hosts}; {since}"


def _failure_line(sample: Sample) -> str:
    from glusterlab.run.status import ended_at

    when = time.strftime("%Y-%m-%d %H:%M", time.localtime(ended_at(sample)))
    warmup = "warm-up " if sample.warmup else ""
    place = f"cells/{sample.cell_id}/{sample.path.name}"
    line = f"{when} {place}, {warmup}repeat {sample.repeat}, attempt {sample.attempt}: {sample.status}"
    if not sample.reasons:
        return line
    more = f" (and {len(sample.reasons) - 1} more)" if len(sample.reasons) > 1 else ""
    return f"{line}: {sample.reasons[0]}{more}"


def _target_line(status: CampaignStatus, repeats: Repeats) -> str:
    counts = Counter(cell.decision for cell in status.cells)
    reached, without, going_on = counts["reached"], counts["at-maximum"], counts["going-on"]
    ended = f"{count_of(reached, 'cell')} reached it, {without} ended without, {going_on} going on"
    return f"target ± {percent(repeats.half_width)} of the mean by {repeats.least} to {repeats.max} repeats: {ended}"


def _line(status: CampaignStatus) -> str:
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

    totals = {name: status.total(name) for name in _NUMBERS}
    return {
        **picked(status, "campaign", "origin", "complete"),
        "cells": [_cell_json(cell) for cell in status.cells],
        "missing": status.missing,
        "reasons": [
            picked(count, "code", "sentence", "advice", "samples", "open", "cells", "hosts") for count in status.reasons
        ],
        "last_failures": [
            {
                **picked(sample, "sample", "repeat", "attempt", "warmup", "status"),
                "cell": sample.cell_id,
                "time": round(ended_at(sample), 3),
                "reasons": [reason.model_dump(mode="json") for reason in sample.reasons],
            }
            for sample in status.failures
        ],
        "repeats": bounds(status.repeats),
        "total": totals | {"not_runnable": status.not_runnable},
    }


def _cell_json(cell: CellStatus) -> dict[str, Any]:
    found = {"cell": cell.cell.id, **picked(cell, *_NUMBERS, "decision", "interval")}
    if cell.interval is not None:
        estimate, known = cell.interval.estimate, cell.interval.half_width is not None
        found["interval"] = {
            **picked(cell.interval, "quantity", "half_width"),
            **picked(estimate, "n", "method"),
            "mean": estimate.centre,
            "low": estimate.low if known else None,
            "high": estimate.high if known else None,
        }
    return found


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
    """The moment that ``--since`` names, in epoch seconds.

    A duration before now (``8 h``, ``2 d``), a time of day (``22:00``: the last one), or a date with or without a time
    and an offset (``2026-11-20 22:00``).

    Examples
    --------
    >>> from datetime import timezone
    >>> now = datetime(2026, 11, 21, 7, 30, tzinfo=timezone.utc)
    >>> [datetime.fromtimestamp(since_when(text, now), timezone.utc).isoformat() for text in ("8 h", "22:00", "07:00")]
    ['2026-11-20T23:30:00+00:00', '2026-11-20T22:00:00+00:00', '2026-11-21T07:00:00+00:00']
    """
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
    """Entries from a moment on, for people or everything, and of those for people only problems on request."""
    for event in events:
        if since is not None and event.time < since:
            continue
        if event.is_for_people:
            if not problems or event.level != "info":
                yield event
        elif everything and not problems:
            yield event


def show_events(events: Iterable[Event], *, as_json: bool) -> int:
    """Entries, one line each; those for people coloured on a terminal. How many there were is returned."""
    colours = {"warning": typer.colors.YELLOW, "error": typer.colors.RED}
    number = 0
    for number, event in enumerate(events, start=1):  # noqa: B007  it is returned
        if as_json:
            typer.echo(dumps(event.as_dict(), sort_keys=True, ensure_ascii=False))
        else:
            # where there is no terminal, colours are taken away besides
            plain = bool(os.environ.get("NO_COLOR"))
            typer.secho(event.line, fg=colours.get(event.level), color=False if plain else None)
    return number


@app.command(epilog=examples("glusterlab verify raw/first-light", "glusterlab verify raw/first-light --json"))
def verify(raw: RawArgument, json: JsonOption = False) -> None:
    """Check sums, completeness, and every sample's validity judged again; exit 1 on any finding."""
    from glusterlab.run.verify import verify as examine

    with bar("judging samples") as progress:
        findings = examine(raw, progress)
    show_verify(raw, findings, as_json=json)
    if findings:
        raise typer.Exit(1)


def show_verify(raw: Path, findings: Sequence[Finding], *, as_json: bool) -> None:
    """What ``glusterlab verify`` found."""
    from glusterlab.store.sample import campaign_origin

    origin = campaign_origin(raw)
    if as_json:
        emit_json({"raw": raw, "origin": origin, "intact": not findings, "findings": findings})
        return
    for finding in findings:
        typer.echo(f"{finding.path}: {finding.code}: {finding.message}")
    told = f"; {IMPORTED}" if origin == "imported" else ""
    typer.echo(f"{raw}: {count_of(len(findings), 'finding') if findings else 'intact'}{told}")


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
    from glusterlab.publishing import publish as copy
    from glusterlab.publishing import read_names

    given = {} if names is None else read_names(names)
    made = copy(raw, output, given=given, keep_host_names=keep_host_names, name=name, phases=bar)
    show_publish(made, as_json=json)
    if made.left:
        raise typer.Exit(1)


_SHOWN = 20


def show_publish(made: Published, *, as_json: bool) -> None:
    """What ``glusterlab publish`` made, and what is left in it."""
    if as_json:
        emit_json({**asdict(made), "fit": not made.left})
        return
    if made.left:
        rows = [(left.kind, left.path, left.found) for left in made.left[:_SHOWN]]
        show_table(("left", "file", "found"), rows)
        if len(made.left) > _SHOWN:
            typer.echo(f"and {len(made.left) - _SHOWN} more; --json lists all")
        typer.echo("")
    typer.echo(
        f"{made.path}: {count_of(made.files, 'file')} with {count_of(made.samples, 'sample')}, judged as in the"
        f" original; {count_of(made.renamed, 'name')} replaced"
        + (f", secrets taken out of {count_of(made.redacted, 'text')}" if made.redacted else "")
    )
    talk(f"{made.names_file} leads back to the original names: do not give it away")
    if made.left:
        if any(left.kind == "name" and left.path.startswith(("cells/", "campaign.yaml")) for left in made.left):
            talk(
                "--name renames the campaign; the ids of its cells, and what they are made of such as the layouts'"
                " names, cannot be renamed"
            )
        talk(
            "not fit to be given away: name what is left in a file for --names ('found: replacement'), remove the copy,"
            " and publish again"
        )
