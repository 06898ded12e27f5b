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
        timed, seconds = _times(text, starts, ends)
        # headers are behind blank lines; the window's first line may be one as well
        blank = starts == ends
        headers = np.concatenate(([True], blank[:-1]))
        rows = np.flatnonzero(timed)
        order = seconds[rows]
        back = np.empty(len(rows), dtype=bool)
        back[1:] = order[1:] < order[:-1] - BACK_S
        if len(rows):
            back[0] = self.last is not None and order[0] < self.last - BACK_S
        banners = np.flatnonzero(text[starts] == ord("L"))
        events = np.union1d(banners, rows[back])
        self.steps += len(events)
        if self.steps > MOST_STEPS:
            raise _NotRegularError
        places = np.flatnonzero(headers & timed)
        for event in events.tolist():
            self._event(data, int(starts[event]), _header_before(data, starts, ends, places, event), following)
        if len(places):
            self._enter(data[int(starts[places[-1]]) : int(ends[places[-1]])])
        if len(rows):
            self.last = float(order[-1])
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
    text: NDArray[np.uint8], starts: NDArray[np.int64], ends: NDArray[np.int64]
) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    """Which lines begin with HH:MM:SS, and their seconds, to the minute."""
    import numpy as np

    first = text[starts]
    timed = (first >= 48) & (first <= 57) & (ends - starts > 11)
    if not (timed | (starts == ends) | (first > 57)).all():
        raise _NotRegularError
    seconds = np.zeros(len(starts))
    at = starts[timed]
    digits = text[at[:, None] + np.array([1, 3, 4])] - 48
    if not ((digits < 10).all() and (text[at + 2] == 58).all() and (text[at + 5] == 58).all()):
        raise _NotRegularError
    if not (text[at + 8] == 32).all():
        raise _NotRegularError
    digits = digits.astype(np.float64)
    hours = (text[at] - 48) * 10.0 + digits[:, 0]
    half = (text[at + 10] == ord("M")) & ((text[at + 9] == ord("A")) | (text[at + 9] == ord("P")))
    hours = np.where(half, hours % 12 + 12 * (text[at + 9] == ord("P")), hours)
    seconds[timed] = hours * 3600 + digits[:, 1] * 600 + digits[:, 2] * 60
    return timed, seconds


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
