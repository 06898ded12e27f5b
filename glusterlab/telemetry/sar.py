"""The report of sar, column by column: rows of blocks under the same header are joined and parsed at once.

What is not regular (banners, restarts, prompts, damage) goes to `glusterlab.telemetry.sar_lines`, block by block.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from glusterlab.telemetry import clock
from glusterlab.telemetry.blocks import WINDOW_BYTES, Block, Chunk, Names, State
from glusterlab.telemetry.columns import Columns, NotRegular, line_numbers, parse
from glusterlab.telemetry.sar_lines import LOOK_AHEAD, LineReader, banner_of, is_whole
from glusterlab.telemetry.sysstat import Header, header_of
from glusterlab.telemetry.windows import WindowReader

SMALL_BYTES = 2048  # fewer bytes are read faster line by line

# without a digit: some locales begin a time with the half of the day
_AVERAGE = re.compile(rb"[^\d\s][^\n:\d]{0,40}:|[^\d\s][^\n\d]{0,40}\xef\xbc\x9a")


@dataclass
class _Group:
    """Blocks of a window under the same header; `lines` has the line of each block's first row."""

    header: Header
    time_words: int
    decimal: str
    heads: list[bytes] = field(default_factory=list)
    rows: list[bytes] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)
    states: list[tuple[int, State]] = field(default_factory=list)  # what holds from a block on: banners change it

    def add(self, state: State, head: bytes, rows: bytes, line: int) -> None:
        if not self.states or self.states[-1][1] is not state:
            self.states.append((len(self.rows), state))
        self.heads.append(head)
        self.rows.append(rows)
        self.lines.append(line)

    def spans(self) -> Iterator[tuple[State, int, int]]:
        """Blocks under the same banner: state, first block, and the one behind the last."""
        ends = [start for start, _ in self.states[1:]] + [len(self.rows)]
        for (start, state), end in zip(self.states, ends, strict=True):
            yield state, start, end


class TextReader(WindowReader):
    """Reads a chunk of sar's report; `averages` also gives the averages that sar printed."""

    gap = b"\n\n"

    def __init__(self, chunk: Chunk, averages: bool, window_bytes: int = WINDOW_BYTES) -> None:
        super().__init__(chunk, window_bytes)
        self.averages = averages
        self.line_reader = LineReader(chunk.path, averages)
        self._width = 8
        self._groups: dict[tuple[tuple[str, ...], int, str], _Group] = {}
        self._by_head: dict[bytes, _Group] = {}
        self._window = b""
        self._at = 0
        # a window that does not begin behind a blank line goes on with the rows of the one before
        self._continues = False

    def finish(self) -> tuple[Block, ...]:
        self.line_reader.finish()
        self.damage = self.line_reader.damage
        return ()

    def is_cut(self, tail: str, before: str) -> bool:
        words = tail.split()
        if not words or not (_AVERAGE.match(tail.encode()) or clock.is_time(words[0])):
            return False
        return header_of(tuple(words[clock.time_words(words) :])) is not None or not is_whole(tail, before)

    def read(self, window: bytes) -> Iterator[Block]:
        self._window = window
        parts = window.split(b"\n\n")
        lines = list(accumulate((part.count(b"\n") + 2 for part in parts), initial=self.line))
        by_head, last, reader = self._by_head, None, self.line_reader
        self._at = known = 0
        if self._continues and reader.header is not None and parts[0][:1].isdigit():
            self._group(reader.header, reader.time_words).add(reader.state, b"", parts[0].rstrip(b"\n"), self.line)
            self._at, known = len(parts[0]) + 2, 1
        self._continues = not window.endswith(b"\n\n")
        for index in range(known, len(parts)):
            part = parts[index]
            end = part.find(b"\n")
            found = by_head.get(part[self._width : end]) if end > 0 else None
            if found is not None:
                last = found
                last.heads.append(part[:end])
                last.rows.append(part[end + 1 :])
                last.lines.append(lines[index] + 1)
            elif part.strip():
                if last is not None:
                    reader.enter(last.header, last.time_words)
                    last = None
                self._at += sum(map(len, parts[known:index])) + 2 * (index - known)
                known = index
                yield from self._irregular(part, lines[index])
        if last is not None:
            reader.enter(last.header, last.time_words)
        yield from self._flush()

    def _group(self, header: Header, time_words: int) -> _Group:
        decimal = self.line_reader.state.decimal
        key = (header.columns, time_words, decimal)
        if key not in self._groups:
            self._groups[key] = _Group(header, time_words, decimal)
        return self._groups[key]

    def _irregular(self, part: bytes, line: int) -> Iterator[Block]:
        """A block whose first line is no header that was seen in this window."""
        line += len(part) - len(part.lstrip(b"\n"))
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
            group.add(self.line_reader.state, first, rows, line + 1)
            self.line_reader.enter(header, count)
            return
        if not rows and not self.averages and self._banner(first):
            return
        # what is not regular may change the date or the clocks: everything before it comes first
        yield from self._flush()
        ahead = ""
        if b"Linux" in part:
            start = self._at + part.find(b"Linux")
            ahead = self._window[start : start + LOOK_AHEAD].partition(b"\n")[2].decode("utf-8", "replace")
        yield from self._by_line([(line, part)], ahead)

    def _banner(self, line: bytes) -> bool:
        """Take over a banner: what was gathered keeps the state that held for it."""
        start = self._at + len(line)
        ahead = self._window[start : start + LOOK_AHEAD]
        state = banner_of(line.decode("utf-8", "replace"), ahead.decode("utf-8", "replace"))
        if state is None:
            return False
        self.line_reader.state = state
        self.line_reader.enter(None, 1)
        self._by_head.clear()
        return True

    def _by_line(self, texts: Iterable[tuple[int, bytes]], ahead: str = "") -> Iterator[Block]:
        lines = (pair for at, text in texts for pair in enumerate(text.decode("utf-8", "replace").split("\n"), at))
        yield from self.line_reader.read(lines, ahead)
        self.line_reader.finish()
        yield from self.line_reader.flush()

    def _flush(self) -> Iterator[Block]:
        groups = list(self._groups.values())
        self._groups.clear()
        self._by_head.clear()
        reader = self.line_reader
        state, header, words, average = reader.state, reader.header, reader.time_words, reader.average
        for group in groups:
            try:
                yield from self._group_by_columns(group)
            except NotRegular:
                yield from self._group_by_line(group)
        reader.state = state
        reader.enter(header, words, average)

    def _group_by_line(self, group: _Group) -> Iterator[Block]:
        for state, start, end in group.spans():
            self.line_reader.state = state
            self.line_reader.enter(group.header, group.time_words)
            blocks = zip(group.heads[start:end], group.rows[start:end], group.lines[start:end], strict=True)
            yield from self._by_line(pair for head, rows, line in blocks for pair in ((line - 1, head), (line, rows)))

    def _group_by_columns(self, group: _Group) -> list[Block]:
        """Blocks of a group, one per banner; changes clocks only when all of the group is regular."""
        header = group.header
        if header.texts or sum(map(len, group.rows)) < SMALL_BYTES:
            raise NotRegular
        numbers = line_numbers(group.lines, [rows.count(b"\n") + 1 for rows in group.rows])
        text, starts, lines, others = _rows(b"\n".join(group.rows), numbers)
        types = {f"t{at}": "category" for at in range(group.time_words)}
        types |= {f"c{at}": "float64" for at in range(len(header.columns))}
        if header.device is not None:
            types[f"c{header.device}"] = "category"
        columns = parse(text, r"\s+", types, group.decimal)
        times, zoned = _times(columns, group.time_words)
        device = None if header.device is None else columns[f"c{header.device}"]
        values = {name: columns[f"c{at}"] for name, at in header.metrics.items()}
        if not all(bool(np.isfinite(column).all()) for column in values.values()):
            raise NotRegular
        firsts = np.searchsorted(starts, np.cumsum([0] + [len(rows) + 1 for rows in group.rows]))
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
                    device=None if device is None else Names(device.codes[rows], device.categories),
                    time=local + (state.date or 0.0),
                    utc=False,
                    dated=state.date is not None,
                    metrics={name: column[rows] for name, column in values.items()},
                    lines=lines[rows],
                )
            )
        if self.averages and others:
            self.line_reader.enter(header, group.time_words)
            blocks.extend(self._by_line(others))
        return blocks


def _dates(
    group: _Group, state: State, start: int, times: NDArray[np.float64], firsts: NDArray[np.int64], zoned: bool
) -> NDArray[np.float64]:
    """Seconds since the midnight before the banner's day, of the rows of the blocks from `start` on.

    `times` are seconds since midnight, `firsts` the first row of every block and the one behind the last.
    """
    mark = group.header.mark
    _start(group, start, state, zoned)
    # a table that is printed anew after midnight goes forward
    if not (zoned and state.twelve) and not (np.abs(np.diff(times)) > clock.BACK_S).any():
        first = clock.advance(state, mark, float(times[0]))
        state.clocks[mark].last = float(times[-1])
        times += first - times[0]
        return times
    local = np.empty(len(times))
    for block in range(len(firsts) - 1):
        if block:
            _start(group, start + block, state, zoned)
        for row in range(int(firsts[block]), int(firsts[block + 1])):
            local[row] = clock.advance(state, mark, float(times[row]), zoned)
    return local


def _start(group: _Group, block: int, state: State, zoned: bool) -> None:
    words = tuple(group.heads[block].decode("utf-8", "replace").split()[: group.time_words])
    # the head of averages has no time
    if (seconds := clock.seconds_of(words)) is not None:
        clock.start_table(state, group.header.mark, seconds, zoned)


def _rows(
    text: bytes, numbers: NDArray[np.int64]
) -> tuple[bytes, NDArray[np.int64], NDArray[np.int64], list[tuple[int, bytes]]]:
    """Lines that begin with a digit, the place and the number of each of them, and the numbered others: averages."""
    text += b"\n"
    data = np.frombuffer(text, dtype=np.uint8)
    ends = np.flatnonzero(data == 10)
    starts = np.concatenate(([0], ends[:-1] + 1))
    first = data[starts]
    others = np.flatnonzero((first < 48) | (first > 57))
    if not len(others):
        return text, starts, numbers, []
    kept, averages, at = [], [], 0
    for index in others.tolist():
        kept.append(text[at : starts[index]])
        at = int(ends[index]) + 1
        if line := text[int(starts[index]) : at - 1].strip():
            if _AVERAGE.match(line) is None:
                raise NotRegular
            averages.append((int(numbers[index]), line))
    kept.append(text[at:])
    return b"".join(kept), np.delete(starts, others), np.delete(numbers, others), averages


def _times(columns: Columns, time_words: int) -> tuple[NDArray[np.float64], bool]:
    """Seconds since midnight of every row, and whether times have a time zone without a mark of the half day."""
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
