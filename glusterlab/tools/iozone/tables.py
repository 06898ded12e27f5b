"""IOzone's tables: those of automatic mode, and the Excel reports of ``-R``.

A run of some tests leaves the other columns blank, and IOzone, editors and web pages drop blanks. A value belongs to
the column under whose name it ends, or to that of its number; what is not clear is refused, so that none slips.
"""

import re
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from glusterlab.errors import ParseError
from glusterlab.tools.records import Operation


@dataclass(frozen=True)
class Column:
    """A column of a table."""

    word: str
    operation: Operation
    label: str  # with the word of the line above, too (random, bkwd, record, stride)
    test: int  # the number for ``-i``
    again: bool = False  # the second pass of the test, which ``-+n`` leaves out


def _twice(first: str, second: str, operation: Operation, again: Operation, test: int) -> tuple[Column, Column]:
    return Column(first, operation, first, test), Column(second, again, second, test, again=True)


COLUMNS = (  # a header may end earlier
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
_TITLES = (  # what the Excel reports call the columns
    *("writer", "re-writer", "reader", "re-reader", "random read", "random write", "backward read", "record rewrite"),
    *("stride read", "fwrite", "re-fwrite", "fread", "re-fread", "pwrite", "re-pwrite", "pread", "re-pread"),
)

_SAME: tuple[Operation, ...] = ("rewrite", "read", "pwrite", "pread", "fwrite", "fread")
SUMS: dict[str, Operation] = {  # the labels of the Excel report of throughput mode
    **{name: name for name in _SAME},
    "initial write": "write", "re-read": "reread", "reverse read": "reverse-read", "stride read": "stride-read",
    "random read": "random-read", "random write": "random-write", "mixed workload": "mixed",
}  # fmt: skip

_WORD = re.compile(r"\S+")
_ROW = re.compile(
    r"\s*([0-9]{1,20})\s+([0-9]{1,20})(?:\s*$|\s+[-+]?(?:[0-9.,]+|nan|inf(?:inity)?)(?:\s|$))", re.IGNORECASE
)
_MAX_DIGITS = 10
_BLANK = 2
_SLACK = 2
_LEAST_DIGITS = 3
# columns that end one digit after their names in some releases: read, random read and three of the last
_LATE = frozenset({2, 4, 13, 14, 15})


class Header:
    """The names of `width` columns: where they `end`, from the end of ``reclen``; empty when its blanks were lost.

    `gap` is from the end of ``kB`` to that of ``reclen``. `ParseError` when IOzone's columns are not in their order.
    """

    def __init__(self, line: str) -> None:
        words = list(_WORD.finditer(line))
        names = [word[0] for word in words[2:]]
        if names != [column.word for column in COLUMNS[: len(names)]]:
            raise ParseError(f"expected the columns of a table in their order, found {' '.join(names)[:200]}")
        base, self.gap, self.width = words[1].end(), words[1].end() - words[0].end(), len(names)
        # a header that a person has squeezed has single blanks only
        spread = any(b.start() - a.end() > 1 for a, b in pairwise(words)) and "\t" not in line.strip()
        self.ends = tuple(word.end() - base for word in words[2:]) if spread else ()

    def places_of(self, line: str) -> list[int] | None:
        """The columns under whose names the values of a row end, None where one ends under none."""
        ends = [word.end() for word in _WORD.finditer(line)]
        if not self.ends or ends[1] - ends[0] != self.gap:
            return None
        places: list[int] = []
        place = 0
        for end in (end - ends[1] for end in ends[2:]):
            while place < self.width and self.ends[place] + _SLACK < end:
                place += 1
            if place == self.width or abs(self.ends[place] - end) > _SLACK:
                return None
            places.append(place)
            place += 1
        return places


class Row:
    """A row of a table, from its first to its last of `lines`: sizes in kB of 1,024 bytes, and values by their column.

    `exact`: the last value ends where it must, so no digit is missing. `ParseError` where values' columns are in doubt.
    """

    def __init__(self, header: Header, line: str, lines: tuple[int, int], requested: tuple[int, ...] | None) -> None:
        words = list(_WORD.finditer(line))
        numbers = [word[0] for word in words]
        if any(not (text.isascii() and text.isdigit()) or len(text) > _MAX_DIGITS for text in numbers[2:]):
            raise ParseError(f"expected rates of at most {_MAX_DIGITS} digits, found {' '.join(numbers[2:])[:200]}")
        places, count, self.exact = header.places_of(line), len(words) - 2, False
        if places:
            late = words[-1].end() - words[1].end() - header.ends[places[-1]]
            # a value that stands one digit left of where its release puts it has lost that digit
            # and the first digits of a long one may end where the column before it does
            self.exact = late >= (places[-1] in _LATE) and len(numbers[-1]) >= _LEAST_DIGITS
        elif count == header.width:
            places = list(range(header.width))
        elif requested is not None and count == len(requested):
            places = list(requested)
        elif count:
            found = f"found {count} of {header.width} values"
            raise ParseError(f"expected values under the names of their columns, {found}")
        self.line, self.last_line = lines
        self.file_kb, self.record_kb = int(numbers[0]), int(numbers[1])
        self.values = {place: int(text) for place, text in zip(places or (), numbers[2:], strict=True)}


class Value(NamedTuple):
    """A value of an Excel report, in `unit` where that is stated; sizes in kB of 1,024 bytes."""

    line: int
    label: str
    operation: Operation
    value: float
    file_kb: int | None
    record_kb: int | None
    unit: str | None = None
    place: int = 0  # of the count of workers in `places` of them, in throughput mode, whose values are sums over all
    places: int = 0


def begins_row(line: str) -> bool:
    """Whether a line is a row of a table, or its beginning: a file size, a record size that is no larger, values."""
    match = _ROW.match(line)
    return match is not None and int(match[2]) <= int(match[1])


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
        self.values: list[Value] = []
        self._titles: set[str] = set()
        self._title = ""
        self._operation: Operation | None = None
        self._records: list[int] = []
        self._in_sums = False
        self._unit: str | None = None

    def repeats(self, line: str) -> bool:
        """Whether the line starts a report that is there already, so that it is another run's."""
        return line in self._titles and is_excel_title(line)

    def take(self, line: str, number: int) -> bool:
        """Read a line whose blanks are single; return whether it is of a report; `ParseError` for a damaged row."""
        if (title := _TITLE.fullmatch(line)) or _SUMS_TITLE.fullmatch(line):
            self._titles.add(line)
            name = title[1].lower() if title else ""
            self._title, self._in_sums, self._records, self._unit = line.strip('"'), not title, [], None
            self._operation = COLUMNS[_TITLES.index(name)].operation if name in _TITLES else None
        elif not line.startswith('"'):
            inside = self._in_sums or self._operation is not None
            if inside and line[0].isdigit() and self.values and number - self.values[-1].line <= _BLANK:
                self._operation, self._in_sums = None, False
                raise ParseError(f"expected a row of the report that starts with its name, found {line[:100]!r}")
            return False
        elif self._in_sums:
            self._in_sums = self._take_sums(line, number)
        elif self._operation is not None and not self._take_cells(self._operation, line, number):
            self._operation = None
        return self._in_sums or self._operation is not None

    def _take_cells(self, operation: Operation, line: str, number: int) -> bool:
        if not self._records and _HEAD.fullmatch(line):
            # a blank between two of them may be lost: they are still two
            self._records = [int(text) for text in _QUOTED.findall(line)]
            return True
        if (row := _CELLS.fullmatch(line)) is None:
            if line[1:2].isdigit():
                self._operation = None
                raise ParseError(f"expected the name of a row and its values, found {line[:100]!r}")
            return False
        values = [int(text) for text in row[2].split()]
        if len(values) > len(self._records):
            raise ParseError(f"expected a value for each of {len(self._records)} record sizes, found {len(values)}")
        # a size that was skipped, as small records of large files are, is printed as 0
        self.values += [
            Value(number, self._title, operation, value, int(row[1]), size)
            for size, value in zip(self._records, values, strict=False)
            if value
        ]
        return True

    def _take_sums(self, line: str, number: int) -> bool:
        if record := _SUMS_RECORD.fullmatch(line):
            self._records = [int(record[1])]
        elif unit := _SUMS_UNIT.fullmatch(line):
            self._unit = _UNITS[unit[1].lower()]
        elif (found := _SUMS_LINE.fullmatch(line)) and found[1].lower() in SUMS:
            texts = found[2].split()
            if not texts or not all(_NUMBER.fullmatch(text) for text in texts):
                raise ParseError(f"expected numbers of at least 0, found{found[2][:200] or ' none'}")
            operation, record_kb = SUMS[found[1].lower()], self._records[0] if self._records else None
            self.values += [
                Value(number, found[1], operation, float(text), None, record_kb, self._unit, place, len(texts))
                for place, text in enumerate(texts)
            ]
        else:
            return False
        return True
