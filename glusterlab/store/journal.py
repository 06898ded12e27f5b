"""The campaign's log: log.txt for people, events.jsonl for scripts; the manifest lists neither.

Campaigns from before there was an events.jsonl have such objects in their log.txt.
"""

import json
import os
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, cast, get_args

from glusterlab.errors import RawStoreError
from glusterlab.rawfile import open_raw
from glusterlab.secrets import redact, redact_all
from glusterlab.store.files import reading, writing

LOG = "log.txt"
EVENTS = "events.jsonl"

Level = Literal["info", "warning", "error"]
"""warning: a person should know of it in the morning; error: something was lost."""

LEVELS: tuple[Level, ...] = get_args(Level)

_LINE = re.compile(r"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d [+-]\d{4}) ([A-Z]+) +(.*)")
_FORMAT = "%Y-%m-%d %H:%M:%S %z"


@dataclass(frozen=True)
class Event:
    """One entry of a campaign's log; `message` is empty where it is for scripts only."""

    time: float
    level: Level
    message: str
    details: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_for_people(self) -> bool:
        return bool(self.message)

    def as_dict(self) -> dict[str, Any]:
        message = {"message": self.message} if self.message else {}
        return {"time": self.time, "level": self.level, **message, **self.details}

    @property
    def line(self) -> str:
        return format_line(self.time, self.level, self.message)


def format_line(at: float, level: Level, message: str) -> str:
    """A line for a person, with local date and time; further lines of the message are indented."""
    stamp = time.strftime(_FORMAT, time.localtime(at))
    indent = "\n" + " " * (len(stamp) + 9)
    return f"{stamp} {level.upper():7} {indent.join(message.splitlines())}"


class Journal:
    """Writes a campaign's log into ``raw/<campaign>``; RawStoreError when it cannot."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def say(self, message: str, level: Level = "info", **details: object) -> None:
        """Say something to people and to scripts; `details`, plain JSON data, are for scripts only."""
        event = Event(round(time.time(), 3), level, redact(message), {key: redact_all(details[key]) for key in details})
        if message:
            self._append(LOG, format_line(event.time, level, event.message))
        self._append(EVENTS, json.dumps(event.as_dict(), sort_keys=True, ensure_ascii=False, default=str))

    def record(self, **details: Any) -> None:
        self.say("", **details)

    def _append(self, name: str, line: str) -> None:
        path = self._folder / name
        with writing(path), path.open("ab+", buffering=0) as file:
            size = file.seek(0, os.SEEK_END)
            # a full disk may have cut the line before
            cut = size > 0 and os.pread(file.fileno(), 1, size - 1) != b"\n"
            file.write((b"\n" if cut else b"") + line.encode("utf-8", "backslashreplace") + b"\n")


class EventReader:
    """Reads a campaign's log, and later what was added to it."""

    def __init__(self, folder: Path) -> None:
        if not any((folder / name).is_file() for name in (LOG, EVENTS)):
            message = f"{folder}: expected a campaign's {EVENTS} or {LOG}, found neither"
            message = f"{message}; `glusterlab run` and `glusterlab import` write them"
            raise RawStoreError(message, path=folder, exit_code=2)
        self._folder = folder
        self._offsets: dict[str, int] = {}
        self._damage: Counter[str] = Counter()
        self._cut: set[str] = set()

    def new(self) -> Iterator[Event]:
        """The entries since the last call, oldest first; of log.txt where nothing of events.jsonl can be read."""
        first = EVENTS not in self._offsets
        if not (self._folder / EVENTS).is_file():
            yield from self._events(LOG)
            return
        if first:
            # the events say again what log.txt says in plain lines, but not its old JSON lines
            yield from self._events(LOG, wanted=lambda line: line.startswith("{"))
        event = None
        for event in self._events(EVENTS):
            yield event
        if first and event is None and (EVENTS in self._damage or EVENTS in self._cut):
            self._offsets[LOG] = 0
            yield from self._events(LOG, wanted=lambda line: not line.startswith("{"))

    @property
    def damage(self) -> str:
        counts = {name: self._damage[name] + (name in self._cut) for name in (EVENTS, LOG)}
        return "; ".join(
            f"{self._folder / name}: {number} {'line is' if number == 1 else 'lines are'} damaged and passed over"
            for name, number in counts.items()
            if number
        )

    def _events(self, name: str, wanted: Callable[[str], bool] = bool) -> Iterator[Event]:
        for line in self._lines(name):
            # further lines of a message in log.txt are indented
            if line.strip() and not (name == LOG and line[0].isspace()) and wanted(line):
                if (event := _read(line)) is not None:
                    yield event
                self._damage[name] += event is None

    def _lines(self, name: str) -> Iterator[str]:
        path = self._folder / name
        offset = self._offsets.get(name, 0)
        self._cut.discard(name)
        try:
            with reading(path), suppress(FileNotFoundError), open_raw(path) as file:
                if os.fstat(file.fileno()).st_size < offset:
                    offset = 0
                file.seek(offset)
                for raw in file:
                    if not raw.endswith(b"\n"):
                        self._cut.add(name)
                        break
                    offset += len(raw)
                    yield raw.decode("utf-8", "replace").rstrip("\n")
        finally:
            self._offsets[name] = offset


def _read(line: str) -> Event | None:
    with suppress(ValueError, RecursionError, TypeError, OverflowError, OSError):
        if line.startswith("{"):
            found = json.loads(line)
            level = found.pop("level", "info")
            at = float(found.pop("time", 0.0))
            time.localtime(at)  # a time that no calendar has is refused here, not where it is shown
            message = str(found.pop("message", ""))
            return Event(at, level if level in LEVELS else "info", message, found)
        if match := _LINE.fullmatch(line):
            level = match[2].lower()
            at = datetime.strptime(match[1], _FORMAT).timestamp()  # noqa: DTZ007  the format has %z
            return Event(at, cast("Level", level) if level in LEVELS else "info", match[3])
    return None
