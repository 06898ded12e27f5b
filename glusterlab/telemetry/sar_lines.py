"""The report of sar line by line: whatever a locale, a terminal or a hand has made of it.

`glusterlab.telemetry.sar_text` reads regular text column by column and hands over what is not; so this is the only
place that knows all forms of a line, and it names damage by its line.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from glusterlab.errors import ParseError
from glusterlab.telemetry import clock
from glusterlab.telemetry.blocks import DAY_S, Block, Clock, Names, State
from glusterlab.telemetry.sysstat import Header, device_name, header_of

BACK_S = 3600.0
"""A clock that goes back by up to so much was set, or summer time ended; by more, a day has passed."""

LOOK_AHEAD = 4096
"""So many characters behind a banner show how the locale writes numbers and times."""

_BANNER = re.compile(r"^\W{0,8}(?:\S+:\s+)?Linux\s+\S+\s+\(([^()]*)\)(.*)$")
_NUMBER = re.compile(r"[+-]?\d{1,25}(?:[.,]\d{1,25})?")
_NO_NUMBER = frozenset({"nan", "-nan", "+nan", "inf", "-inf", "+inf"})
_ESCAPES = re.compile("\x1b(?:\\[[0-9;?]*[A-Za-z]|[()][A-Z0-9])")
_QUOTES = frozenset({">", ">>", "|", "```"})


def start_table(clocks: dict[str, Clock], mark: str, seconds: float) -> Clock:
    """A header of a table: an earlier time than its last row's means that sar prints the table anew.

    sar prints the time of the last row in a header that it repeats, also when midnight is between them.
    """
    place = clocks.setdefault(mark, Clock())
    if place.last is not None and seconds < place.last - BACK_S:
        place.day = 0
    place.last = seconds
    return place


def advance(place: Clock, seconds: float) -> float:
    """Seconds since the midnight before the banner's day, of a table's next row."""
    if place.last is not None and seconds < place.last - BACK_S:
        place.day += 1
    place.last = seconds
    return place.day * DAY_S + seconds


def number(word: str) -> float | None:
    """A number with a decimal point or comma; NaN where sysstat prints that it has none; None for other words."""
    if _NUMBER.fullmatch(word) is not None:
        return float(word.replace(",", "."))
    return float("nan") if word.lower() in _NO_NUMBER else None


def banner_of(state: State, line: str, after: str) -> bool:
    """Take over what a banner says; False when the line is none."""
    if (found := _BANNER.match(line)) is None:
        return False
    state.host = found[1].strip() or None
    state.date = clock.date_of(found[2], clock.day_first(after))
    state.decimal = "," if clock.has_decimal_comma(after) else "."
    state.header = None
    state.clocks.clear()
    return True


@dataclass
class _Table:
    header: Header
    average: bool
    time: list[float] = field(default_factory=list)
    device: list[str | None] = field(default_factory=list)
    values: list[list[float]] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)


class LineReader:
    """Reads lines of a sar report, keeping what they say about the lines after them.

    Parameters
    ----------
    path : pathlib.Path
    state : State
        Is changed by what is read.
    averages : bool
        Also yield the averages that sar printed.
    numbers : bool
        Blocks have the lines of their rows.

    Attributes
    ----------
    header : Header or None
        The table in force.
    time_words : int
        How many words of its rows are the time.
    average : Header or None
        The table of averages in force, where they have a header of their own.
    damage : ParseError or None
        The first damage that was found; what is whole after it is still read.
    """

    def __init__(self, path: Path, state: State, averages: bool, numbers: bool) -> None:
        self.path = path
        self.state = state
        self.averages = averages
        self.numbers = numbers
        self.damage: ParseError | None = None
        self.header: Header | None = None
        self.time_words = 1
        self.average: Header | None = None
        self._table: _Table | None = None
        if state.header is not None:
            words = state.header.split()
            self.enter(header_of(tuple(words[clock.time_words(words) :])), clock.time_words(words))

    def enter(self, header: Header | None, time_words: int, average: Header | None = None) -> None:
        """Take a header that somebody else has read as the one in force, and one of averages."""
        self.header, self.time_words, self.average = header, max(1, time_words), average

    def read(self, lines: Iterable[tuple[int | None, str]], ahead: str = "") -> Iterator[Block]:
        """Blocks of lines; `ahead` is text in which the locale shows, for a banner among them."""
        for place, raw in lines:
            line = _ESCAPES.sub("", raw) if "\x1b" in raw else raw
            words = line.split()
            while words and words[0] in _QUOTES:
                words.pop(0)
            if not words:
                continue
            if "Linux" in line and _BANNER.match(line):
                yield from self.flush()
                banner_of(self.state, line, ahead)
                self.enter(None, 1)
                continue
            yield from self._line(place, words)

    def _line(self, place: int | None, words: list[str]) -> Iterator[Block]:
        if not (clock.is_time(words[0]) or clock.half_day(words[0]) is not None):
            yield from self._untimed(place, words)
            return
        count = clock.time_words(words)
        header = header_of(tuple(words[count:])) if count else None
        seconds = clock.seconds_of(tuple(words[:count]))
        if header is not None and seconds is not None:
            if header != self.header:
                yield from self.flush()
            self.enter(header, count)
            start_table(self.state.clocks, header.mark, seconds)
            return
        seconds = clock.seconds_of(tuple(words[: self.time_words]))
        fields = words[self.time_words :]
        if "RESTART" in words and any("LINUX" in word for word in words):
            seconds = clock.seconds_of(tuple(words[:1])) if seconds is None else seconds
            if self.header is not None and seconds is not None:
                advance(self.state.clocks.setdefault(self.header.mark, Clock()), seconds)
            # never one block, and so never an average, across a restart
            yield from self.flush()
        elif fields[:1] == ["COM"]:
            return
        elif self.header is None:
            self._damaged("expected a header such as '12:00:00 CPU %user', found a row", place)
        elif seconds is None:
            self._damaged(f"expected a time of day, found {' '.join(words[: self.time_words])!r}", place)
        else:
            yield from self._row(place, seconds, fields)

    def _row(self, place: int | None, seconds: float, fields: list[str]) -> Iterator[Block]:
        assert self.header is not None
        values = self._values(self.header, fields, place)
        if values is None:
            return
        yield from self._open(self.header, average=False)
        assert self._table is not None
        table = self._table
        at = advance(self.state.clocks.setdefault(self.header.mark, Clock()), seconds)
        table.time.append(at + (self.state.date or 0.0))
        table.device.append(device_name(self.header, fields))
        table.values.append(values)
        table.lines.append(place or 0)

    def _untimed(self, place: int | None, words: list[str]) -> Iterator[Block]:
        """An average, its header, or what is not sar's: a prompt, a note."""
        mark = next((at for at, word in enumerate(words[:3]) if word.endswith((":", "："))), None)
        if mark is None:
            return
        fields = words[mark + 1 :]
        if fields and (header := header_of(tuple(fields))) is not None:
            self.average = header
            return
        average = self.average or self.header
        if not self.averages or average is None:
            return
        if self.average is not None and self.header is not None and len(fields) == len(self.header.columns):
            average = self.average if len(self.average.columns) == len(fields) else self.header
        damage = self.damage
        values = self._values(average, fields, place)
        if values is None:
            # sysstat leaves columns of CPUs out that were off, and its averages are no rows
            self.damage = damage
            return
        yield from self._open(average, average=True)
        assert self._table is not None
        table = self._table
        table.time.append(float("nan"))
        table.device.append(device_name(average, fields))
        table.values.append(values)
        table.lines.append(place or 0)

    def _values(self, header: Header, fields: list[str], place: int | None) -> list[float] | None:
        """The numbers of a row, or None for one that is damaged; `fields` is brought to the header's length."""
        expected = len(header.columns)
        trailing = expected - 1 in header.texts or header.device == expected - 1
        if len(fields) > expected and trailing:
            fields[expected - 1 :] = [" ".join(fields[expected - 1 :])]
        while len(fields) < expected and len(fields) in header.texts:
            fields.append("")
        if header.activity == "cpu" and len(fields) == expected - 1 and set(fields[1:-1]) <= {"0.00", "0,00"}:
            # some versions forget a column of a CPU that did nothing but sleep
            fields.insert(1, "0.00")
        if len(fields) != expected:
            self._damaged(f"expected {expected} columns ({' '.join(header.columns)}), found {len(fields)}", place)
            return None
        values = []
        for name, at in header.metrics.items():
            value = number(fields[at])
            if value is None:
                hint = "; was it printed with --human?" if fields[at][:1].isdigit() else ""
                self._damaged(f"expected a number in {name}, found {fields[at][:40]!r}{hint}", place)
                return None
            values.append(value)
        return values

    def _open(self, header: Header, average: bool) -> Iterator[Block]:
        if self._table is None or self._table.header is not header or self._table.average is not average:
            yield from self.flush()
            self._table = _Table(header, average)

    def flush(self) -> Iterator[Block]:
        """The rows that have been read and not yet given."""
        table, self._table = self._table, None
        if table is None:
            return
        import numpy as np

        values = np.array(table.values, dtype=np.float64).reshape(len(table.time), -1)
        yield Block(
            tool="sar",
            host=self.state.host,
            activity=table.header.activity,
            device=None if table.header.device is None else Names.of(table.device),
            time=np.array(table.time, dtype=np.float64),
            utc=False,
            dated=self.state.date is not None,
            metrics={name: values[:, at] for at, name in enumerate(table.header.metrics)},
            average=table.average,
            lines=np.array(table.lines, dtype=np.int64) if self.numbers else None,
        )

    def _damaged(self, message: str, place: int | None) -> None:
        if self.damage is None:
            self.damage = ParseError(message, file=self.path, line=place)


def is_whole(last: str, before: str) -> bool:
    """Whether a last line without its end seems whole: as many words as the line before, and decimals as there.

    Examples
    --------
    >>> is_whole("10:00:02 all 1.00 98.9", "10:00:01 all 1.00 99.00")
    False
    """
    words, others = last.split(), before.split()
    if not words or number(words[-1]) is None:
        # a name at the end may be cut as well, and nothing tells
        return bool(words) and len(words) >= len(others) and not clock.is_time(words[-1])
    if len(words) < len(others):
        return False
    decimals = [
        _decimals(word) for word in (others if len(words) == len(others) else words[:-1]) if number(word) is not None
    ]
    if len(words) == len(others) and number(others[-1]) is not None:
        return _decimals(words[-1]) == _decimals(others[-1])
    return not decimals or _decimals(words[-1]) in decimals


def _decimals(word: str) -> int:
    return len(word) - 1 - max(word.rfind("."), word.rfind(",")) if set(word) & set(".,") else 0
