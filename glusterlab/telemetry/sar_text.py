"""The report of sar, column by column.

sar prints a table as blocks between blank lines: a header with a time, and rows. A window of text is split there, rows
under the same header are joined and parsed at once by pandas, which takes no Python work per line. What is not regular
(banners, restarts, prompts, damage) goes to `glusterlab.telemetry.sar_lines`, block by block.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from glusterlab.errors import ParseError
from glusterlab.telemetry import clock
from glusterlab.telemetry.blocks import WINDOW_BYTES, Block, Chunk, State
from glusterlab.telemetry.columns import Columns, NotRegular, parse
from glusterlab.telemetry.days import BACK_S, advance, start_table
from glusterlab.telemetry.sar_lines import LOOK_AHEAD, LineReader, banner_of, is_whole
from glusterlab.telemetry.sysstat import Header, header_of
from glusterlab.telemetry.windows import windows

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

SMALL_BYTES = 2048
"""Fewer bytes are read faster line by line."""

# without a digit: some locales begin a time with the half of the day
_AVERAGE = re.compile(rb"[^\d\s][^\n:\d]{0,40}:|[^\d\s][^\n\d]{0,40}\xef\xbc\x9a")


@dataclass
class _Group:
    """Blocks of a window under the same header."""

    header: Header
    time_words: int
    decimal: str
    heads: list[bytes] = field(default_factory=list)
    rows: list[bytes] = field(default_factory=list)
    states: list[tuple[int, State]] = field(default_factory=list)
    """What holds from a block on: banners change it."""

    def take(self, state: State, head: bytes, rows: bytes) -> None:
        """Add a block."""
        if not self.states or self.states[-1][1] is not state:
            self.states.append((len(self.rows), state))
        self.heads.append(head)
        self.rows.append(rows)

    def spans(self) -> Iterator[tuple[State, int, int]]:
        """Blocks under the same banner: state, first block, and the one behind the last."""
        ends = [start for start, _ in self.states[1:]] + [len(self.rows)]
        for (start, state), end in zip(self.states, ends, strict=True):
            yield state, start, end


class TextReader:
    """Reads a chunk of sar's report.

    Parameters
    ----------
    chunk : Chunk
    averages : bool
        Also yield printed averages.
    lines : bool
        Blocks know the lines of their rows; this reads line by line.
    window_bytes : int
    """

    def __init__(self, chunk: Chunk, averages: bool, lines: bool, window_bytes: int = WINDOW_BYTES) -> None:
        self.chunk = chunk
        self.averages = averages
        self.numbers = lines
        self.window_bytes = window_bytes
        self.line = chunk.line
        self.careful = LineReader(chunk.path, deepcopy(chunk.state), averages, lines)
        self._width = 8
        self._groups: dict[tuple[tuple[str, ...], int, str], _Group] = {}
        self._by_head: dict[bytes, _Group] = {}
        self._window = b""
        self._at = 0
        # a window that does not begin behind a blank line goes on with the rows of the one before
        self._goes_on = chunk.state.header is not None

    def blocks(self) -> Iterator[Block]:
        """Blocks of whole rows.

        Raises
        ------
        ParseError
            At the end, when some rows were damaged or the file is cut off.
        """
        cut: ParseError | None = None
        try:
            gap = b"\n" if self.numbers else b"\n\n"
            for window in windows(self.chunk.path, self.chunk.start, self.chunk.end, self.window_bytes, gap):
                self._window = window
                whole = window
                if not window.endswith(b"\n"):
                    whole, tail = window[: (at := window.rfind(b"\n") + 1)], window[at:]
                    cut = self._cut(tail, whole)
                    whole = whole if cut is not None else window + b"\n"
                yield from self._line_by_line(whole) if self.numbers else self._columns(whole)
                self.line += window.count(b"\n")
                self._window = b""
        except ParseError as error:
            cut = error
        self.careful.finish()
        if (damage := self.careful.damage or cut) is not None:
            raise damage

    def _cut(self, tail: bytes, whole: bytes) -> ParseError | None:
        text = tail.decode("utf-8", "replace")
        words = text.split()
        average = _AVERAGE.match(tail) is not None
        if not words or not (average or clock.is_time(words[0])):
            return None
        before = whole.rstrip(b"\n").rpartition(b"\n")[2].decode("utf-8", "replace")
        header = header_of(tuple(words[clock.time_words(words) :]))
        if header is None and is_whole(text, before):
            return None
        line = self.line + whole.count(b"\n")
        message = f"expected the end of a row, found the file's: {text.strip()[-40:]!r} is cut off"
        return ParseError(message, file=self.chunk.path, line=line)

    def _line_by_line(self, window: bytes) -> Iterator[Block]:
        text = window.decode("utf-8", "replace")
        lines = text.split("\n")
        for at, line in enumerate(lines):
            ahead = "\n".join(lines[at + 1 : at + 40])[:LOOK_AHEAD] if "Linux" in line else ""
            yield from self.careful.read([(self.line + at, line)], ahead)
        yield from self.careful.flush()

    def _columns(self, window: bytes) -> Iterator[Block]:
        parts = window.split(b"\n\n")
        by_head, last, state = self._by_head, None, self.careful.state
        self._at = known = 0
        if self._goes_on and self.careful.header is not None and parts[0][:1].isdigit():
            group = self._group(self.careful.header, self.careful.time_words)
            group.take(state, b"", parts[0].rstrip(b"\n"))
            self._at, known = len(parts[0]) + 2, 1
        self._goes_on = not window.endswith(b"\n\n")
        for index in range(known, len(parts)):
            part = parts[index]
            end = part.find(b"\n")
            found = by_head.get(part[self._width : end]) if end > 0 else None
            if found is not None:
                last = found
                last.heads.append(part[:end])
                last.rows.append(part[end + 1 :])
            elif part.strip():
                if last is not None:
                    self.careful.enter(last.header, last.time_words)
                    last = None
                self._at += sum(map(len, parts[known:index])) + 2 * (index - known)
                known = index
                yield from self._other(part)
        if last is not None:
            self.careful.enter(last.header, last.time_words)
        yield from self._flush()

    def _group(self, header: Header, time_words: int) -> _Group:
        decimal = self.careful.state.decimal
        key = (header.columns, time_words, decimal)
        if key not in self._groups:
            self._groups[key] = _Group(header, time_words, decimal)
        return self._groups[key]

    def _other(self, part: bytes) -> Iterator[Block]:
        """A block whose first line is no header that was seen in this window."""
        part = part.strip(b"\n")
        first, _, rows = part.partition(b"\n")
        if not self.averages and _AVERAGE.match(first) is not None and b"Linux" not in first:
            word = first.split(None, 1)[0]
            if part.count(b"\n" + word) == part.count(b"\n"):
                return
        words = first.decode("utf-8", "replace").split()
        count = clock.time_words(words)
        header = header_of(tuple(words[count:])) if count else None
        regular = not first[:1].isspace() and len(first.split()) == len(words)
        if header is not None and regular and (found := re.match(rb"(?:\S+\s+){%d}" % count, first)):
            self._width = len(found[0].rstrip())
            group = self._group(header, count)
            self._by_head[first[self._width :]] = group
            group.take(self.careful.state, first, rows)
            self.careful.enter(header, count)
            return
        if not rows and not self.averages and self._banner(first):
            return
        # what is not regular may change the date or the clocks: everything before it comes first
        yield from self._flush()
        yield from self._carefully(part)

    def _banner(self, line: bytes) -> bool:
        """Take over a banner: what was gathered keeps the state that held for it."""
        start = self._at + len(line)
        ahead = self._window[start : start + LOOK_AHEAD]
        state = State()
        if b"Linux" not in line or not banner_of(
            state, line.decode("utf-8", "replace"), ahead.decode("utf-8", "replace")
        ):
            return False
        self.careful.state = state
        self.careful.enter(None, 1)
        self._by_head.clear()
        return True

    def _carefully(self, part: bytes) -> Iterator[Block]:
        ahead = ""
        if b"Linux" in part:
            start = self._at + part.find(b"Linux")
            ahead = self._window[start : start + LOOK_AHEAD].partition(b"\n")[2].decode("utf-8", "replace")
        damage = self.careful.damage
        lines = part.decode("utf-8", "replace").split("\n")
        yield from self.careful.read(enumerate(lines), ahead)
        self.careful.finish()
        yield from self.careful.flush()
        if self.careful.damage is not damage:
            self._place(part)

    def _place(self, part: bytes) -> None:
        """Give damage that was found in a part of the window its line in the file."""
        damage = self.careful.damage
        assert damage is not None
        bad = part.split(b"\n")[damage.line or 0]
        at = self._window.find(bad)
        self.careful.damage = ParseError(
            damage.message, file=self.chunk.path, line=self.line + self._window.count(b"\n", 0, max(0, at))
        )

    def _flush(self) -> Iterator[Block]:
        groups = list(self._groups.values())
        self._groups.clear()
        self._by_head.clear()
        state, header, words = self.careful.state, self.careful.header, self.careful.time_words
        average = self.careful.average
        for group in groups:
            if sum(map(len, group.rows)) < SMALL_BYTES:
                yield from self._group_by_lines(group)
                continue
            try:
                blocks = self._group_by_columns(group)
            except NotRegular:
                yield from self._group_by_lines(group)
            else:
                yield from blocks
        self.careful.state = state
        self.careful.enter(header, words, average)

    def _group_by_lines(self, group: _Group) -> Iterator[Block]:
        for state, start, end in group.spans():
            self.careful.state = state
            self.careful.enter(group.header, group.time_words)
            pairs = zip(group.heads[start:end], group.rows[start:end], strict=True)
            yield from self._carefully(b"\n".join(line for pair in pairs for line in pair))

    def _group_by_columns(self, group: _Group) -> list[Block]:
        """Blocks of a group, one per banner; changes clocks only when all of the group is regular."""
        import numpy as np

        header = group.header
        if header.texts:
            raise NotRegular
        text, starts, others = _rows(b"\n".join(group.rows))
        columns = _parse(text, header, group.time_words, group.decimal)
        times, zoned = _times(columns, group.time_words)
        device = None if header.device is None else columns[f"c{header.device}"]
        values = {name: columns[f"c{at}"] for name, at in header.metrics.items()}
        if not all(bool(np.isfinite(column).all()) for column in values.values()):
            raise NotRegular
        offsets = np.cumsum([0] + [len(rows) + 1 for rows in group.rows])
        firsts = np.searchsorted(starts, offsets)
        blocks = []
        for state, start, end in group.spans():
            rows = slice(int(firsts[start]), int(firsts[end]))
            if rows.start == rows.stop:
                continue
            local = _dates(group, state, start, times[rows].copy(), firsts[start : end + 1] - rows.start, zoned)
            blocks.append(
                Block(
                    tool="sar",
                    host=state.host,
                    activity=header.activity,
                    device=None if device is None else device.part(rows),
                    time=local + (state.date or 0.0),
                    utc=False,
                    dated=state.date is not None,
                    metrics={name: column[rows] for name, column in values.items()},
                )
            )
        if self.averages and others:
            self.careful.enter(header, group.time_words)
            blocks.extend(self._carefully(b"\n".join(others)))
        return blocks


def _dates(
    group: _Group, state: State, start: int, times: NDArray[np.float64], firsts: NDArray[np.int64], zoned: bool
) -> NDArray[np.float64]:
    """Seconds since the midnight before the banner's day, of the rows of blocks under one banner.

    Parameters
    ----------
    group : _Group
    state : State
    start : int
        The first of these blocks.
    times : numpy.ndarray
        Seconds since midnight.
    firsts : numpy.ndarray
        First row of every block, and the one behind the last.
    zoned : bool
        As `start_table` takes it.
    """
    import numpy as np

    mark = group.header.mark
    _start(group, start, state, zoned)
    # a table that is printed anew after midnight goes forward
    if not (zoned and state.twelve) and not (np.abs(np.diff(times)) > BACK_S).any():
        first = advance(state, mark, float(times[0]))
        state.clocks[mark].last = float(times[-1])
        times += first - times[0]
        return times
    local = np.empty(len(times))
    for block in range(len(firsts) - 1):
        if block:
            _start(group, start + block, state, zoned)
        for row in range(int(firsts[block]), int(firsts[block + 1])):
            local[row] = advance(state, mark, float(times[row]), zoned)
    return local


def _start(group: _Group, block: int, state: State, zoned: bool) -> None:
    words = tuple(group.heads[block].decode("utf-8", "replace").split()[: group.time_words])
    # the head of averages has no time
    if (seconds := clock.seconds_of(words)) is not None:
        start_table(state, group.header.mark, seconds, zoned)


def _rows(text: bytes) -> tuple[bytes, NDArray[np.int64], list[bytes]]:
    """Lines that begin with a digit, where each of them was, and the others, which are averages."""
    import numpy as np

    text += b"\n"
    data = np.frombuffer(text, dtype=np.uint8)
    ends = np.flatnonzero(data == 10)
    starts = np.concatenate(([0], ends[:-1] + 1))
    first = data[starts]
    others = np.flatnonzero((first < 48) | (first > 57))
    if not len(others):
        return text, starts, []
    kept, lines, at = [], [], 0
    for index in others.tolist():
        kept.append(text[at : starts[index]])
        at = int(ends[index]) + 1
        if line := text[int(starts[index]) : at - 1].strip():
            if _AVERAGE.match(line) is None:
                raise NotRegular
            lines.append(line)
    kept.append(text[at:])
    return b"".join(kept), np.delete(starts, others), lines


def _parse(text: bytes, header: Header, time_words: int, decimal: str) -> Columns:
    times = [f"t{at}" for at in range(time_words)]
    columns = [f"c{at}" for at in range(len(header.columns))]
    types: dict[str, str] = dict.fromkeys(times, "category") | dict.fromkeys(columns, "float64")
    if header.device is not None:
        types[f"c{header.device}"] = "category"
    return parse(text, r"\s+", types, decimal)


def _times(columns: Columns, time_words: int) -> tuple[NDArray[np.float64], bool]:
    """Seconds since midnight of every row, and whether times have a time zone without a mark of the half day."""
    import numpy as np

    codes = columns["t0"].codes.astype(np.int64)
    words: list[tuple[str, ...]] = [(word,) for word in columns["t0"].categories]
    for at in range(1, time_words):
        more = columns[f"t{at}"]
        names = more.categories
        codes = codes * len(names) + more.codes
        words = [(*first, name) for first in words for name in names]
        found, codes = np.unique(codes, return_inverse=True)
        words = [words[index] for index in found]
    seconds = [clock.seconds_of(word) for word in words]
    if any(value is None for value in seconds):
        raise NotRegular
    times: NDArray[np.float64] = np.array(seconds, dtype=np.float64)[codes]
    return times, clock.zoned(words[0])
