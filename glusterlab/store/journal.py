"""The campaign's log: log.txt for people, events.jsonl for scripts; the manifest lists neither."""

import json
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

from glusterlab.errors import RawStoreError
from glusterlab.rawfile import open_raw
from glusterlab.secrets import redact, redact_all
from glusterlab.store.files import reading, writing

LOG = "log.txt"
EVENTS = "events.jsonl"

Level = Literal["info", "warning", "error"]
"""warning: a person should know of it in the morning; error: something was lost."""

LEVELS: tuple[Level, ...] = get_args(Level)

_FORMAT = "%Y-%m-%d %H:%M:%S %z"


@dataclass(frozen=True)
class Event:
    """One entry of a campaign's log; `message` is empty where it is for scripts only."""

    time: float
    level: Level
    message: str
    details: Mapping[str, Any] = field(default_factory=dict)

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
    """Reads a campaign's events.jsonl, and later what was added to it."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / EVENTS
        if not self._path.is_file():
            message = f"{folder}: expected a campaign's {EVENTS}; `glusterlab run` and `glusterlab import` write it"
            raise RawStoreError(message, path=folder, exit_code=2)
        self._offset = 0
        self._damaged = 0
        self._cut = False

    def new(self) -> Iterator[Event]:
        """The entries since the last call, oldest first."""
        for line in self._lines():
            if line.strip():
                if (event := _read(line)) is not None:
                    yield event
                self._damaged += event is None

    @property
    def damage(self) -> str:
        number = self._damaged + self._cut
        lines = "1 line is" if number == 1 else f"{number} lines are"
        return f"{self._path}: {lines} damaged and passed over" if number else ""

    def _lines(self) -> Iterator[str]:
        self._cut = False
        with reading(self._path), suppress(FileNotFoundError), open_raw(self._path) as file:
            if os.fstat(file.fileno()).st_size < self._offset:
                self._offset = 0
            file.seek(self._offset)
            for raw in file:
                if not raw.endswith(b"\n"):
                    self._cut = True
                    break
                self._offset += len(raw)
                yield raw.decode("utf-8", "replace")


def _read(line: str) -> Event | None:
    with suppress(ValueError, RecursionError, TypeError, AttributeError, OverflowError, OSError):
        found = json.loads(line)
        level = found.pop("level", "info")
        at = float(found.pop("time", 0.0))
        time.localtime(at)  # a time that no calendar has is refused here, not where it is shown
        return Event(at, level if level in LEVELS else "info", str(found.pop("message", "")), found)
    return None
