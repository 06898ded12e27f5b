"""What ``glusterlab log`` shows: the campaign's log, whichever release wrote it."""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

import typer

from glusterlab.errors import UsageError
from glusterlab.units import parse_duration

if TYPE_CHECKING:
    from glusterlab.journal import Event

_CLOCK = re.compile(r"([01]?\d|2[0-3]):([0-5]\d)", re.ASCII)
_AGO = re.compile(r"(\d+(?:\.\d+)?)\s*(d|h|min|s)\b", re.ASCII)


def since_when(text: str, now: datetime) -> float:
    """The moment that ``--since`` names.

    Parameters
    ----------
    text : str
        A duration before now (``8 h``, ``90 min``, ``2 d``), a time of day (``22:00``: the last one), or a date with or
        without a time (``2026-11-20``, ``2026-11-20 22:00``, with an offset or in local time).
    now : datetime
        With its time zone.

    Returns
    -------
    float
        Epoch seconds.

    Raises
    ------
    UsageError
        When it is none of these.

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


def chosen(events: Iterable[Event], since: float | None, *, problems: bool, everything: bool) -> Iterable[Event]:
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
            typer.echo(json.dumps(event.as_dict(), sort_keys=True, ensure_ascii=False))
        else:
            # where there is no terminal, colours are taken away besides
            plain = bool(os.environ.get("NO_COLOR"))
            typer.secho(event.line, fg=colours.get(event.level), color=False if plain else None)
    return number


def local_now() -> datetime:
    """The time of day here, with its zone."""
    return datetime.fromtimestamp(time.time()).astimezone()
