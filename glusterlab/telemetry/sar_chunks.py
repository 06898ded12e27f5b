"""Where a big report of sar can be divided, and what the text before each place says: date, header and day.

One pass over the bytes with NumPy finds lines and their times; only lines at which the time goes back, and banners,
cost Python. Text that is not regular stays one chunk, which is read as a stream.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from glusterlab.telemetry import clock
from glusterlab.telemetry.blocks import Chunk, Clock, State
from glusterlab.telemetry.sar_lines import BACK_S, LOOK_AHEAD, banner_of
from glusterlab.telemetry.sysstat import Header, header_of
from glusterlab.telemetry.windows import windows

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

SCAN_BYTES = 4 << 20
"""So much is scanned at a time; places to divide a file lie at the borders of scans."""

MOST_STEPS = 200_000
"""A file whose time goes back more often is not divided: it is no regular report, or very many short ones."""


_TIME_MASK = int.from_bytes(b"\xf0\xf0\xff\xf0\xf0\xff\xf0\xf0", "little")
_TIME_FORM = int.from_bytes(b"00:00:00", "little")


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

    def window(self, data: bytes, following: bytes) -> int:
        """Take a window into account, and return its lines."""
        import numpy as np

        text = np.frombuffer(data, dtype=np.uint8)
        ends = np.flatnonzero(text == 10)
        starts = np.concatenate(([0], ends[:-1] + 1))
        rows, seconds = _times(data, text, starts, ends)
        # headers are behind blank lines; the window's first line may be one as well
        blank = starts == ends
        headers = np.flatnonzero(blank[:-1]) + 1
        back = np.empty(len(rows), dtype=bool)
        back[1:] = seconds[1:] < seconds[:-1] - BACK_S
        if len(rows):
            back[0] = self.last is not None and seconds[0] < self.last - BACK_S
        banners = np.flatnonzero(text[starts] == ord("L"))
        events = np.union1d(banners, rows[back])
        self.steps += len(events)
        if self.steps > MOST_STEPS:
            raise _NotRegularError
        places = np.intersect1d(np.concatenate(([0], headers)), rows, assume_unique=True)
        for event in events.tolist():
            self._event(data, int(starts[event]), _header_before(data, starts, ends, places, event), following)
        if len(places):
            self._enter(data[int(starts[places[-1]]) : int(ends[places[-1]])])
        if len(rows):
            self.last = float(seconds[-1])
        return len(ends)

    def _enter(self, line: bytes) -> None:
        words = line.decode("utf-8", "replace").split()
        count = clock.time_words(words)
        header = header_of(tuple(words[count:])) if count else None
        if header is not None:
            self.header, self.text = header, " ".join(words)

    def _event(self, data: bytes, start: int, before: bytes | None, following: bytes) -> None:
        """A banner, or a time that is earlier than the time before it."""
        end = data.find(b"\n", start)
        line = data[start:end].decode("utf-8", "replace")
        if before is not None:
            self._enter(before)
        after = (data[end + 1 : end + LOOK_AHEAD] + following[:LOOK_AHEAD])[:LOOK_AHEAD].decode("utf-8", "replace")
        if banner_of(self.state, line, after):
            self.header = self.text = self.last = None
            return
        words = line.split()
        count = clock.time_words(words)
        header = header_of(tuple(words[count:])) if count else None
        if header is not None:
            # the same rule as `start_table`; the clock of another table is not known here, and begins anew
            self.state.clocks[header.mark] = Clock()
        elif self.header is not None:
            self.state.clocks.setdefault(self.header.mark, Clock()).day += 1

    def place(self, goes_on: bool) -> State:
        """The state at the end of what was scanned."""
        state = deepcopy(self.state)
        if self.header is not None:
            state.clocks.setdefault(self.header.mark, Clock()).last = self.last
            state.header = self.text if goes_on else None
        return state


def _times(
    data: bytes, text: NDArray[np.uint8], starts: NDArray[np.int64], ends: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Lines that begin with HH:MM:SS, and their seconds, to the minute."""
    import numpy as np

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


def _header_before(
    data: bytes, starts: NDArray[np.int64], ends: NDArray[np.int64], places: NDArray[np.int64], line: int
) -> bytes | None:
    """The last line before this one that stands where a header does; a restart stands there, too, and is passed by."""
    import numpy as np

    at = int(np.searchsorted(places, line)) - 1
    while at >= 0:
        found = data[int(starts[places[at]]) : int(ends[places[at]])]
        if b"RESTART" not in found:
            return found
        at -= 1
    return None


def divide(path: Path, chunk_bytes: int) -> Iterator[Chunk]:
    """The chunks of a plain report.

    Parameters
    ----------
    path : pathlib.Path
    chunk_bytes : int
        About so large.
    """
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
    for data in windows(path, size=min(SCAN_BYTES, max(chunk_bytes // 4, 1 << 12)), gap=b"\n\n"):
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
