"""The report of sar line by line: whatever a locale, a terminal or a hand has made of it, and damage by its line."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from glusterlab.errors import ParseError
from glusterlab.telemetry import clock
from glusterlab.telemetry.blocks import Block, Row, State, block_of
from glusterlab.telemetry.metrics import SUFFIXED, activities_of, scaled
from glusterlab.telemetry.sysstat import Header, device_name, header_of, is_column

LOOK_AHEAD = 4096  # so many characters behind a banner show how the locale writes numbers and times

_BANNER = re.compile(r"^\W{0,8}(?:\S+:\s+)?Linux\s+\S+\s+(?:\(([^()]*)\)|(?=\d))(.*)$")
_NUMBER = re.compile(r"[+-]?\d{1,25}(?:[.,]\d{1,25})?")
_NO_NUMBER = frozenset({"nan", "-nan", "+nan", "inf", "-inf", "+inf", "n/a"})
_ESCAPES = re.compile("\x1b(?:\\[[0-9;?]*[A-Za-z]|[()][A-Z0-9])")
_QUOTES = frozenset({">", ">>", "|", "```"})


def number(word: str) -> float | None:
    """A number with a decimal point or comma; NaN where sysstat prints that it has none; None for other words."""
    if _NUMBER.fullmatch(word) is not None:
        return float(word.replace(",", "."))
    return float("nan") if word.lower() in _NO_NUMBER else None


def banner_of(line: str, after: str) -> State | None:
    """What a banner says; None when the line is none. That of old versions has no host, but a date."""
    if (found := _BANNER.match(line)) is None:
        return None
    date = clock.date_of(found[2], clock.day_first(after))
    if found[1] is None and date is None:
        return None
    host = (found[1] or "").strip() or None
    return State(host, date, decimal="," if clock.has_decimal_comma(after) else ".")


@dataclass
class _Row:
    """A row, or the first part of one that was broken in two; an average has no time."""

    header: Header
    seconds: float | None
    zoned: bool
    fields: list[str]
    line: int


class LineReader:
    """Reads lines of a sar report, keeping in `state` what they say about the lines after them."""

    def __init__(self, path: Path, averages: bool) -> None:
        self.path = path
        self.state = State()
        self.averages = averages
        self.damage: ParseError | None = None  # the first; what is whole after it is still read
        self.header: Header | None = None  # of the table in force
        self.time_words = 1  # of its rows
        self.average: Header | None = None  # of averages where they have a header of their own
        self._table: tuple[Header, bool] | None = None
        self._rows: list[Row] = []
        self._part: _Row | None = None
        self._after: Literal["header", "row", "average"] | None = None

    def enter(self, header: Header | None, time_words: int, average: Header | None = None) -> None:
        """Take a header that somebody else has read as the one in force, and one of averages."""
        self.header, self.time_words, self.average = header, max(1, time_words), average
        self._after = None if header is None else "row"

    def read(self, lines: Iterable[tuple[int, str]], ahead: str = "") -> Iterator[Block]:
        """Blocks of numbered lines; `ahead` is text in which the locale shows, for a banner among them."""
        for line, raw in lines:
            text = _ESCAPES.sub("", raw) if "\x1b" in raw else raw
            words = text.split()
            while words and words[0] in _QUOTES:
                words.pop(0)
            if not words:
                continue
            if "Linux" in text and (state := banner_of(text, ahead)) is not None:
                self.finish()
                yield from self.flush()
                self.state = state
                self.enter(None, 1)
                continue
            if self._part is not None or self._after is not None:
                if self._goes_on(words):
                    yield from self._join(words, line)
                    continue
                self.finish()
            yield from self._line(line, words)

    def _goes_on(self, words: list[str]) -> bool:
        """Whether a line is the rest of a header or a row that was broken in two."""
        if self._after != "row" and all(is_column(word) or activities_of(word) for word in words):
            return True
        if clock.is_time(words[0]) or any(number(word) is None for word in words):
            return False
        return self._part is not None or len(words) > 1 or not words[0].isdigit()

    def _join(self, words: list[str], line: int) -> Iterator[Block]:
        part, average = self._part, self._after == "average"
        if number(words[0]) is None:
            yield from self.flush()
            self._widen(words, average, line)
        elif part is not None:
            part.fields.extend(words)
            if self._fits(part.header, part.fields):
                self._part = None
                yield from self._take(part)
            elif len(part.fields) > len(part.header.columns):
                self.finish()
        elif not average:
            self._damaged(f"expected a time before numbers, found {' '.join(words)[:80]!r}", line)

    def _widen(self, words: list[str], average: bool, line: int) -> None:
        header = self.average if average else self.header
        joined = None if header is None else header_of((*header.columns, *words))
        if average:
            self.average = joined
        elif header is None or joined is None:
            self._damaged(f"expected rows, found more columns: {' '.join(words)[:80]!r}", line)
        else:
            if joined.mark != header.mark:
                self.state.clocks.setdefault(joined.mark, self.state.clocks.pop(header.mark))
            self.enter(joined, self.time_words)
            self._after = "header"

    def finish(self) -> None:
        """Name a row as damaged whose rest has not come."""
        part, self._part, self._after = self._part, None, None
        if part is not None:
            self._misses(part)

    def _line(self, line: int, words: list[str]) -> Iterator[Block]:
        self._after = None
        if not (clock.is_time(words[0]) or clock.half_day(words[0]) is not None):
            yield from self._untimed(line, words)
            return
        count = clock.time_words(words)
        header = header_of(tuple(words[count:])) if count else None
        time = tuple(words[:count])
        if header is not None and (seconds := clock.seconds_of(time)) is not None:
            if header != self.header:
                yield from self.flush()
            self.enter(header, count)
            self._after = "header"
            clock.start_table(self.state, header.mark, seconds, clock.zoned(time))
            return
        linux = next((at for at, word in enumerate(words) if "LINUX" in word), None)
        if "RESTART" in words and linux is not None:
            # never one block, and so never an average, across a restart
            yield from self.flush()
            time = tuple(words[:linux])
            if (seconds := clock.seconds_of(time)) is not None:
                clock.restart(self.state, None if self.header is None else self.header.mark, seconds, clock.zoned(time))
            return
        time, fields = tuple(words[: self.time_words]), words[self.time_words :]
        if fields[:1] == ["COM"]:
            return
        if self.header is None:
            self._damaged("expected a header such as '12:00:00 CPU %user', found a row", line)
        elif (seconds := clock.seconds_of(time)) is None:
            self._damaged(f"expected a time of day, found {' '.join(time)!r}", line)
        else:
            zoned = len(time) > 1 and clock.zoned(time)
            yield from self._row(_Row(self.header, seconds, zoned, fields, line))

    def _untimed(self, line: int, words: list[str]) -> Iterator[Block]:
        """An average, its header, or what is not sar's: a prompt, a note."""
        mark = next((at for at, word in enumerate(words[:3]) if word.endswith((":", "："))), None)
        if mark is None:
            return
        self._after = "average"
        fields = words[mark + 1 :]
        if fields and (header := header_of(tuple(fields))) is not None:
            self.average = header
            return
        average = self.average or self.header
        if not self.averages or average is None:
            return
        if self.average is not None and self.header is not None and len(fields) == len(self.header.columns):
            average = self.average if len(self.average.columns) == len(fields) else self.header
        yield from self._row(_Row(average, None, False, fields, line))

    def _row(self, part: _Row) -> Iterator[Block]:
        if self._fits(part.header, part.fields):
            yield from self._take(part)
        elif len(part.fields) < len(part.header.columns):
            self._part = part
        else:
            self._misses(part)
        self._after = "average" if part.seconds is None else "row"

    def _take(self, part: _Row) -> Iterator[Block]:
        header, average, damage = part.header, part.seconds is None, self.damage
        if (values := self._values(header, part.fields, part.line)) is None:
            # printed averages are no rows
            self.damage = damage if average else self.damage
            return
        if self._table != (header, average):
            yield from self.flush()
            self._table = header, average
        time = float("nan")
        if part.seconds is not None:
            time = clock.advance(self.state, header.mark, part.seconds, part.zoned) + (self.state.date or 0.0)
        self._rows.append((time, device_name(header, part.fields), values, part.line))

    def _fits(self, header: Header, fields: list[str]) -> bool:
        """Whether a row has all columns; `fields` is brought to the header's length where it can be."""
        expected = len(header.columns)
        trailing = expected - 1 in header.texts or header.device == expected - 1
        if len(fields) > expected and trailing:
            fields[expected - 1 :] = [" ".join(fields[expected - 1 :])]
        while len(fields) < expected and len(fields) in header.texts:
            fields.append("")
        if header.activity == "cpu" and len(fields) == expected - 1 and set(fields[1:-1]) <= {"0.00", "0,00"}:
            # some versions forget a column of a CPU that did nothing but sleep
            fields.insert(1, "0.00")
        return len(fields) == expected

    def _misses(self, part: _Row) -> None:
        # sysstat leaves columns of CPUs out that were off, and its averages are no rows
        if part.seconds is not None:
            columns = part.header.columns
            message = f"expected {len(columns)} columns ({' '.join(columns)}), found {len(part.fields)}"
            self._damaged(message, part.line)

    def _values(self, header: Header, fields: list[str], line: int) -> list[float] | None:
        values = []
        for name, at in header.metrics.items():
            value = number(fields[at])
            with_unit = None if value is not None else SUFFIXED.fullmatch(fields[at])
            if with_unit is not None and (value := scaled(header.activity, name, with_unit)) is None:
                found = f"expected a number without a unit in {name}, found {fields[at]!r}"
                raise ParseError(f"{found}; print the report without --human", file=self.path, line=line)
            if value is None:
                self._damaged(f"expected a number in {name}, found {fields[at][:40]!r}", line)
                return None
            values.append(value)
        return values

    def flush(self) -> Iterator[Block]:
        rows, self._rows, state = self._rows, [], self.state
        if rows and self._table is not None:
            header, average = self._table
            yield block_of("sar", state.host, header, rows, utc=False, dated=state.date is not None, average=average)

    def _damaged(self, message: str, line: int) -> None:
        if self.damage is None or line < (self.damage.line or 0):
            self.damage = ParseError(message, file=self.path, line=line)


def is_whole(last: str, before: str) -> bool:
    """Whether a last line without its end seems whole: as many words as the line before, and decimals as there."""
    words, others = last.split(), before.split()
    if not words or number(words[-1]) is None:
        # a name at the end may be cut as well, which nothing shows
        return bool(words) and len(words) >= len(others) and not clock.is_time(words[-1])
    if len(words) < len(others):
        return False
    if len(words) == len(others) and number(others[-1]) is not None:
        return _decimals(words[-1]) == _decimals(others[-1])
    numbers = (word for word in (others if len(words) == len(others) else words[:-1]) if number(word) is not None)
    decimals = [_decimals(word) for word in numbers]
    return not decimals or _decimals(words[-1]) in decimals


def _decimals(word: str) -> int:
    return len(word) - 1 - max(word.rfind("."), word.rfind(",")) if set(word) & set(".,") else 0
