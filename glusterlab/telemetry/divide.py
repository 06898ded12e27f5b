"""Where a big report of sar can be divided, and what the text before each place says: date, header and day.

One pass over the bytes with NumPy finds lines and their times; only lines at which the time goes back, and banners,
cost Python. Text that is not regular stays one chunk, which is read as a stream.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from glusterlab.telemetry import clock
from glusterlab.telemetry.blocks import Chunk, State
from glusterlab.telemetry.sar_lines import LOOK_AHEAD, banner_of, restart_of
from glusterlab.telemetry.sysstat import Header, header_of
from glusterlab.telemetry.windows import windows

SCAN_BYTES = 4 << 20
"""So much is scanned at a time; places to divide a file lie at the borders of scans."""

LEAST_BYTES = 1 << 12
"""Less is not scanned at a time."""

MOST_TABLES = 200
"""Headers at the end of a scan of which the time of the last row is known."""

MOST_STEPS = 200_000
"""A file whose time goes back more often is not divided: it is no regular report, or very many short ones."""


_TIME_MASK = int.from_bytes(b"\xf0\xf0\xff\xf0\xf0\xff\xf0\xf0", "little")
_TIME_FORM = int.from_bytes(b"00:00:00", "little")


_RESTART = re.compile(rb"LINUX RESTART")


class _NotRegularError(Exception):
    pass


@dataclass
class _Scan:
    path: Path
    state: State = field(default_factory=State)
    header: Header | None = None
    text: str | None = None
    last: float | None = None
    steps: int = 0
    lasts: list[tuple[bytes, float]] = field(default_factory=list)
    """Last headers of the segment, and the time of the row behind each."""

    def window(self, data: bytes, following: bytes) -> int:
        text = np.frombuffer(data, dtype=np.uint8)
        ends = np.flatnonzero(text == 10)
        starts = np.concatenate(([0], ends[:-1] + 1))
        rows, seconds = _times(data, text, starts, ends)
        # headers are behind blank lines; the window's first line may be one as well
        blank = starts == ends
        headers = np.flatnonzero(blank[:-1]) + 1
        back = np.empty(len(rows), dtype=bool)
        back[1:] = seconds[1:] < seconds[:-1] - clock.BACK_S
        if len(rows):
            back[0] = self.last is not None and seconds[0] < self.last - clock.BACK_S
        banners = np.flatnonzero(text[starts] == ord("L"))
        restarts = [int(np.searchsorted(starts, found.start(), "right")) - 1 for found in _RESTART.finditer(data)]
        events = np.union1d(np.union1d(banners, rows[back]), np.array(restarts, dtype=np.int64)).tolist()
        self.steps += len(events)
        if self.steps > MOST_STEPS:
            raise _NotRegularError
        places = np.intersect1d(np.concatenate(([0], headers)), rows, assume_unique=True)
        places = np.setdiff1d(places, restarts, assume_unique=True)
        done = 0

        def line(at: int) -> bytes:
            return data[int(starts[at]) : int(ends[at])]

        def take_headers(end: int) -> None:
            """Up to a line the first of a segment, at which it begins, and the last, which is in force."""
            nonlocal done
            stop = int(np.searchsorted(places, end))
            while done < stop:
                self._enter(line(places[done]))
                done = max(done + 1, stop - 1) if self.state.clocks else done + 1

        for event in events:
            take_headers(event)
            before = int(np.searchsorted(rows, event))
            last = float(seconds[before - 1]) if before else self.last
            after = data[int(ends[event]) + 1 : int(ends[event]) + LOOK_AHEAD]
            self._event(line(event).decode("utf-8", "replace"), last, (after + following[:LOOK_AHEAD])[:LOOK_AHEAD])
        take_headers(len(ends))
        if len(rows):
            self.last = float(seconds[-1])
        begin = max([0, *restarts, *banners.tolist()])
        shown = places[places >= begin][-MOST_TABLES:].tolist()
        self.lasts = [
            (line(place), float(seconds[int(np.searchsorted(rows, other)) - 1]))
            for place, other in pairwise([*shown, len(ends)])
        ]
        return len(ends)

    def _enter(self, line: bytes) -> None:
        words = line.decode("utf-8", "replace").split()
        found = _header(words)
        if found is None:
            return
        self.header, seconds = found
        self.text = " ".join(words)
        place = self.state.clocks.get(self.header.mark)
        if place is None:
            clock.start_table(self.state, self.header.mark, seconds)
        elif place.day != self.state.segment.day and clock.begins_segment(self.state, seconds):
            # a table that is printed anew, or the time of day at which the segment began: only all headers tell
            raise _NotRegularError

    def _event(self, line: str, last: float | None, after: bytes) -> None:
        """A banner, a restart, or a time that is earlier than the time before it, `last`."""
        if line.startswith("Linux") and banner_of(self.state, line, after.decode("utf-8", "replace")):
            self.header = self.text = self.last = None
            return
        if line.startswith("L"):
            raise _NotRegularError
        if self.header is not None:
            self.state.clocks[self.header.mark].last = last
        words = line.split()
        if "RESTART" in words:
            restart_of(self.state, self.header, words)
            self.header = self.text = None
            return
        if (found := _header(words)) is not None:
            header, seconds = found
            if self.state.clocks and not clock.begins_segment(self.state, seconds):
                # all tables may go on at the next day
                raise _NotRegularError
            self.state.clocks.pop(header.mark, None)
            clock.start_table(self.state, header.mark, seconds)
            self.header, self.text = header, " ".join(words)
        elif self.header is not None:
            self.state.clocks[self.header.mark].day += 1
        else:
            raise _NotRegularError

    def place(self, goes_on: bool) -> State:
        if goes_on and self.text is None:
            # headers without a blank line before them are not seen here
            raise _NotRegularError
        state = deepcopy(self.state)
        for table in state.clocks.values():
            # of a table long ago any time does: sar prints it by turns with others, or anew
            table.last = self.last
        for line, last in self.lasts:
            found = _header(line.decode("utf-8", "replace").split())
            if found is not None and found[0].mark in state.clocks:
                state.clocks[found[0].mark].last = last
        state.header = self.text if goes_on else None
        return state


def _header(words: list[str]) -> tuple[Header, float] | None:
    count = clock.time_words(words)
    time = tuple(words[:count])
    header = header_of(tuple(words[count:])) if count else None
    seconds = clock.seconds_of(time)
    if header is None or seconds is None:
        return None
    if clock.zoned(time):
        # such a clock may have twelve hours, and only all rows tell
        raise _NotRegularError
    return header, seconds


def _times(
    data: bytes, text: NDArray[np.uint8], starts: NDArray[np.int64], ends: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Lines that begin with HH:MM:SS, and their seconds, to the minute."""
    first = text[starts]
    timed = (first >= 48) & (first <= 57)
    if not (timed | (starts == ends) | (first > 57)).all():
        raise _NotRegularError
    rows = np.flatnonzero(timed)
    if not len(rows):
        return rows, np.empty(0)
    if int((ends[rows] - starts[rows]).min()) < 12:
        raise _NotRegularError
    at = starts[rows]
    # eight bytes at any place, as one number: most lines have the time of the line before
    words = np.ndarray(len(data) - 7, dtype="<u8", buffer=data, strides=(1,))[at]
    if ((words & _TIME_MASK) != _TIME_FORM).any() or (text[at + 8] != 32).any():
        raise _NotRegularError
    changes = np.concatenate(([0], np.flatnonzero(words[1:] != words[:-1]) + 1))
    digits = text[at[changes][:, None] + np.array([0, 1, 3, 4])].astype(np.float64) - 48
    hours, minutes = digits[:, 0] * 10 + digits[:, 1], digits[:, 2] * 10 + digits[:, 3]
    half = text[at[changes] + 9]
    if (text[at[0] + 10] == ord("M")) and half[0] in b"AP":
        # noon and midnight change the half of the day without a change of the eight bytes only twelve hours apart
        hours = hours % 12 + 12 * (half == ord("P"))
    seconds = (hours * 60 + minutes) * 60
    return rows, np.repeat(seconds, np.diff(np.append(changes, len(rows))))


def divide(path: Path, chunk_bytes: int) -> Iterator[Chunk]:
    """The chunks of a plain report, each of about `chunk_bytes`."""
    size = path.stat().st_size
    try:
        yield from list(_divide(path, size, chunk_bytes))
    except _NotRegularError:
        yield Chunk(path, "sar")


def _divide(path: Path, size: int, chunk_bytes: int) -> Iterator[Chunk]:
    scan = _Scan(path)
    start, line, lines = 0, 1, 1
    state = State()
    done = 0
    pending = b""
    for data in windows(path, size=min(SCAN_BYTES, max(chunk_bytes // 4, LEAST_BYTES)), gap=b"\n\n"):
        if pending:
            lines += scan.window(pending, data)
            done += len(pending)
            if done - start >= chunk_bytes and size - done > chunk_bytes // 4:
                yield Chunk(path, "sar", start, done, line, state)
                start, line = done, lines
                state = scan.place(goes_on=not pending.endswith(b"\n\n"))
        pending = data
    if done + len(pending) != size:
        # the text is not the file's bytes: its line ends or its encoding were changed
        raise _NotRegularError
    yield Chunk(path, "sar", start, size, line, state)
