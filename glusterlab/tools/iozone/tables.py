"""IOzone's tables: those of automatic mode, and the Excel reports of ``-R``.

A table's header names all columns, but a run of some tests leaves the others blank, and IOzone, editors and web pages
drop blanks. A value belongs to the column under whose name it ends, or where blanks were lost to that of its number;
what is not clear is refused, so that no value slips into another column.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from glusterlab.errors import ParseError
from glusterlab.tools.records import Operation


@dataclass(frozen=True)
class Column:
    """A column of a table.

    `word` is the one in the header's second line, `label` has also that of the first (random, bkwd, record, stride).
    `test` is the number for ``-i``; `again` its second pass, which ``-+n`` leaves out.
    """

    word: str
    operation: Operation
    label: str
    test: int
    again: bool = False


def _twice(first: str, second: str, operation: Operation, again: Operation, test: int) -> tuple[Column, Column]:
    return Column(first, operation, first, test), Column(second, again, second, test, again=True)


COLUMNS = (
    *_twice("write", "rewrite", "write", "rewrite", 0),
    *_twice("read", "reread", "read", "reread", 1),
    Column("read", "random-read", "random read", 2),
    Column("write", "random-write", "random write", 2),
    Column("read", "reverse-read", "bkwd read", 3),
    Column("rewrite", "record-rewrite", "record rewrite", 4),
    Column("read", "stride-read", "stride read", 5),
    *_twice("fwrite", "frewrite", "fwrite", "frewrite", 6),
    *_twice("fread", "freread", "fread", "freread", 7),
    *_twice("pwrite", "repwrite", "pwrite", "pwrite", 9),
    *_twice("pread", "repread", "pread", "pread", 10),
    *_twice("pwritev", "repwritev", "pwrite", "pwrite", 11),
    *_twice("preadv", "repreadv", "pread", "pread", 12),
)
"""All columns in their order; a header may end earlier."""

_TITLES = (
    *("writer", "re-writer", "reader", "re-reader", "random read", "random write", "backward read", "record rewrite"),
    *("stride read", "fwrite", "re-fwrite", "fread", "re-fread", "pwrite", "re-pwrite", "pread", "re-pread"),
)
"""What the Excel reports call the columns."""

_SAME: tuple[Operation, ...] = ("rewrite", "read", "pwrite", "pread", "fwrite", "fread")
SUMS: dict[str, Operation] = {
    **{name: name for name in _SAME},
    "initial write": "write", "re-read": "reread", "reverse read": "reverse-read", "stride read": "stride-read",
    "random read": "random-read", "random write": "random-write", "mixed workload": "mixed",
}  # fmt: skip
"""The labels of the Excel report of throughput mode."""

_WORD = re.compile(r"\S+")
_VALUE = re.compile(r"[-+]?(?:[0-9.,]+|nan|inf(?:inity)?)", re.IGNORECASE)
_MAX_DIGITS = 10
_BLANK = 2
_SLACK = 2
_LEAST_DIGITS = 3
_LATE = frozenset({2, 4, 13, 14, 15})
"""Columns that end one digit after their names in some releases: read, random read and three of the last."""


@dataclass(frozen=True)
class Header:
    """The second line of a table's header, which names `width` columns.

    `ends` are where their names end, counted from the end of ``reclen``; empty when its blanks were lost. `gap` is from
    the end of ``kB`` to that of ``reclen``.
    """

    ends: tuple[int, ...]
    gap: int
    width: int


@dataclass(frozen=True)
class Row:
    """A row of a table: sizes in kB of 1,024 bytes, and the values by the number of their column.

    `exact` says that the last value ends where it must, so none of its digits is missing. `last_line` is that of the
    row's end, where it was broken into several.
    """

    line: int
    file_kb: int
    record_kb: int
    values: dict[int, int]
    exact: bool
    last_line: int = 0


class Cell(NamedTuple):
    """A value of an Excel report of automatic mode: the report's title, and the number of its column in a table."""

    line: int
    title: str
    column: int
    file_kb: int
    record_kb: int
    value: int


class Sums(NamedTuple):
    """A line of the Excel report of throughput mode: the sums over all workers, for each number of workers."""

    line: int
    label: str
    values: tuple[float, ...]
    unit: str | None
    record_kb: int | None


def read_header(line: str) -> Header:
    """The header of a table; `ParseError` when it does not name IOzone's columns in their order.

    Examples
    --------
    >>> read_header("   KB  reclen   write rewrite    read").ends
    (8, 16, 24)
    """
    words = list(_WORD.finditer(line))
    names = [word[0] for word in words[2:]]
    if names != [column.word for column in COLUMNS[: len(names)]]:
        raise ParseError(
            f"expected the columns {' '.join(c.word for c in COLUMNS[:13])}, found {' '.join(names)[:200]}"
        )
    base, gap = words[1].end(), words[1].end() - words[0].end()
    # a header that a person has squeezed has single blanks only
    spread = any(b.start() - a.end() > 1 for a, b in pairwise(words)) and "\t" not in line.strip()
    return Header(tuple(word.end() - base for word in words[2:]) if spread else (), gap, len(names))


def begins_row(line: str) -> bool:
    """Whether a line is a row of a table, or its beginning: a file size, a record size that is no larger, values.

    Examples
    --------
    >>> begins_row("64 4 100 200"), begins_row("4 64 100 200"), begins_row("12 bottles"), begins_row("64 4 nan 200")
    (True, False, False, True)
    """
    words = line.split(maxsplit=3)
    if len(words) < 2 or not all(text.isascii() and text.isdigit() for text in words[:2]):
        return False
    if len(words) > 2 and _VALUE.fullmatch(words[2]) is None:
        return False
    return max(len(words[0]), len(words[1])) <= 2 * _MAX_DIGITS and int(words[1]) <= int(words[0])


def read_row(header: Header, line: str, lines: tuple[int, int], requested: tuple[int, ...] | None) -> Row:
    """A row of a table, from its first to its last of `lines`; the command line may have `requested` columns.

    `ParseError` when the line's values cannot be given to columns without a doubt, or are no numbers.
    """
    words = list(_WORD.finditer(line))
    numbers = [word[0] for word in words]
    if any(not (text.isascii() and text.isdigit()) or len(text) > _MAX_DIGITS for text in numbers[2:]):
        raise ParseError(f"expected rates of at most {_MAX_DIGITS} digits, found {' '.join(numbers[2:])[:200]}")
    places, count, exact = _by_position(header, words), len(words) - 2, False
    if places:
        late = words[-1].end() - words[1].end() - header.ends[places[-1]]
        # a value that stands one digit left of where its release puts it has lost that digit
        # and the first digits of a long one may end where the column before it does
        exact = late >= (places[-1] in _LATE) and len(numbers[-1]) >= _LEAST_DIGITS
    elif count == header.width:
        places = list(range(header.width))
    elif requested is not None and count == len(requested):
        places = list(requested)
    elif count:
        raise ParseError(f"expected values under the names of their columns, found {count} of {header.width} values")
    values = {place: int(text) for place, text in zip(places or (), numbers[2:], strict=True)}
    return Row(lines[0], int(numbers[0]), int(numbers[1]), values, exact, lines[1])


def fits(header: Header, line: str) -> bool:
    """Whether the numbers of a line stand where those of a row stand."""
    return bool(_by_position(header, list(_WORD.finditer(line))))


def _by_position(header: Header, words: list[re.Match[str]]) -> list[int] | None:
    """The columns under whose names the values of a row end, None where one ends under none."""
    base = words[1].end()
    if not header.ends or base - words[0].end() != header.gap:
        return None
    places: list[int] = []
    place = 0
    for end in (word.end() - base for word in words[2:]):
        while place < header.width and header.ends[place] + _SLACK < end:
            place += 1
        if place == header.width or abs(header.ends[place] - end) > _SLACK:
            return None
        places.append(place)
        place += 1
    return places


_TITLE = re.compile(r'"?([A-Za-z][A-Za-z -]{2,20}) [Rr]eport"?')
_HEAD = re.compile(r'(?:"[0-9]{1,12}" ?)+')
_QUOTED = re.compile(r'"([0-9]{1,12})"')
_CELLS = re.compile(r'"([0-9]{1,18})"((?: [0-9]{1,18})+)')
_SUMS_TITLE = re.compile(r'"?Throughput report Y-axis is type of test X-axis is number of (?:processes|threads)"?')
_SUMS_RECORD = re.compile(r'"Record size = ([0-9]{1,12}) [kK]Bytes ?"', re.IGNORECASE)
_SUMS_UNIT = re.compile(r'"Output is in (kBytes/sec|ops/sec|microseconds/op)"', re.IGNORECASE)
_SUMS_LINE = re.compile(r'" ?([A-Za-z][A-Za-z -]{2,20}?) ?"((?: \S{1,30})*)')
_NUMBER = re.compile(r"[0-9]{1,18}(?:\.[0-9]{1,9})?")
_UNITS = {"kbytes/sec": "kB/s", "ops/sec": "ops/s", "microseconds/op": "us/op"}


def is_excel_title(line: str) -> bool:
    """Whether a line whose blanks are single starts an Excel report of results."""
    title = _TITLE.fullmatch(line)
    return (title is not None and title[1].lower() in _TITLES) or _SUMS_TITLE.fullmatch(line) is not None


class ExcelReports:
    """Reads the Excel reports of one run, line by line."""

    def __init__(self) -> None:
        self.cells: list[Cell] = []
        self.sums: list[Sums] = []
        self._titles: set[str] = set()
        self._title = ""
        self._column: int | None = None
        self._records: list[int] = []
        self._in_sums = False
        self._unit: str | None = None
        self._record: int | None = None

    def __bool__(self) -> bool:
        return bool(self.cells or self.sums)

    def repeats(self, line: str) -> bool:
        """Whether the line starts a report that is there already, so that it is another run's."""
        return line in self._titles and is_excel_title(line)

    def take(self, line: str, number: int) -> bool:
        """Read a line whose blanks are single; return whether it is one of these reports.

        `ParseError` when a row of a report has more values than the report has record sizes.
        """
        if title := _TITLE.fullmatch(line):
            self._titles.add(line)
            self._title, name = title[0].strip('"'), title[1].lower()
            self._column = _TITLES.index(name) if name in _TITLES else None
            self._records, self._in_sums = [], False
            return self._column is not None
        if _SUMS_TITLE.fullmatch(line):
            self._titles.add(line)
            self._in_sums, self._column, self._unit, self._record = True, None, None, None
            return True
        if not line.startswith('"'):
            rows = self.sums if self._in_sums else self.cells if self._column is not None else []
            if line[0].isdigit() and rows and number - rows[-1].line <= _BLANK:
                self._column, self._in_sums = None, False
                raise ParseError(f"expected a row of the report that starts with its name, found {line[:100]!r}")
            return False
        if self._in_sums:
            return self._take_sums(line, number)
        return self._column is not None and self._take_cells(self._column, line, number)

    def _take_cells(self, column: int, line: str, number: int) -> bool:
        if not self._records and _HEAD.fullmatch(line):
            # a blank between two of them may be lost: they are still two
            self._records = [int(text) for text in _QUOTED.findall(line)]
            return True
        if (row := _CELLS.fullmatch(line)) is None:
            self._column = None
            if line[1:2].isdigit():
                raise ParseError(f"expected the name of a row and its values, found {line[:100]!r}")
            return False
        values = [int(text) for text in row[2].split()]
        if len(values) > len(self._records):
            raise ParseError(f"expected a value for each of {len(self._records)} record sizes, found {len(values)}")
        sizes = zip(self._records, values, strict=False)
        # a size that was skipped, as small records of large files are, is printed as 0
        self.cells += [Cell(number, self._title, column, int(row[1]), size, value) for size, value in sizes if value]
        return True

    def _take_sums(self, line: str, number: int) -> bool:
        if record := _SUMS_RECORD.fullmatch(line):
            self._record = int(record[1])
        elif unit := _SUMS_UNIT.fullmatch(line):
            self._unit = _UNITS[unit[1].lower()]
        elif (found := _SUMS_LINE.fullmatch(line)) and found[1].lower() in SUMS:
            values = found[2].split()
            if not values or not all(_NUMBER.fullmatch(text) for text in values):
                raise ParseError(f"expected numbers of at least 0, found{found[2][:200] or ' none'}")
            self.sums.append(Sums(number, found[1], tuple(map(float, values)), self._unit, self._record))
        else:
            self._in_sums = False
        return self._in_sums
