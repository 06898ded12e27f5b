"""Lines of an IOzone report that a mail client or a narrow window has broken into several, put together again.

A line of bare numbers below a row, and one of names below a header, are the rest of it: never noise.
"""

from __future__ import annotations

import re

from glusterlab.readers.iozone_options import wants_value
from glusterlab.readers.iozone_tables import COLUMNS, Header, fits

_UPPER = frozenset({"random", "bkwd", "record", "stride"})
_NAMES = frozenset(column.word for column in COLUMNS)
_BARE = re.compile(r"[0-9]+(?:\.[0-9]+)?(?: [0-9]+(?:\.[0-9]+)?)*")
_OPENS = re.compile(
    r"(?:Children|Parent) sees? throughput\b|(?:Min|Max|Avg) throughput\b|Min xfer\b|Child\[[0-9]+\] xfer\b"
    r"|CPU [Uu]tilization\b|Command line used:"
)
_FIRST_LETTERS = "CPMA"
_WHOLE = re.compile(
    r"= ?\S{1,60} ?(?:[kK]B(?:ytes)?|ops)/sec$|^Min xfer ?= ?\S{1,60} ?(?:[kK]B|ops)$|[0-9] ?%$|%= ?[0-9.]{1,30}$"
)
_MAX_LINES = 3


def is_bare(line: str) -> bool:
    """Whether a line whose blanks are single has nothing but numbers."""
    return _BARE.fullmatch(line) is not None


def names_columns(line: str) -> bool:
    """Whether a line has nothing but names of columns, as the rest of a header has."""
    words = line.split()
    return _NAMES.issuperset(words) or (not _UPPER.isdisjoint(words) and (_NAMES | _UPPER).issuperset(words))


def is_upper(line: str) -> bool:
    """Whether a line has nothing but words of a header's first line."""
    return _UPPER.issuperset(line.split())


def is_rest(line: str) -> bool:
    """Whether a line can only be the rest of another one."""
    return line.startswith("=") or is_bare(" ".join(line.split())) or names_columns(line)


def is_rest_of_row(header: Header, row: str, line: str, asked: int | None) -> bool:
    """Whether a line of bare numbers is the rest of the row above it, and no row of its own.

    Parameters
    ----------
    header : Header
    row : str
        What there is of it.
    line : str
    asked : int or None
        How many columns the command line asks for.
    """
    have, numbers = len(row.split()) - 2, line.split()
    if have >= header.width or have == asked:
        return False
    if len(numbers) == 1 or "." in line or int(numbers[1][:30]) > int(numbers[0][:30]):
        return True
    if len(numbers) - 2 == have or fits(header, line):
        return False
    return have + len(numbers) <= header.width


class Broken:
    """Holds a line of a report that stops in its middle until the lines below it have made it whole."""

    def __init__(self) -> None:
        self._held: list[tuple[int, str]] = []
        self._text = ""

    def take(self, body: str, number: int) -> list[tuple[int, str]]:
        """The lines that are to be read now, with the number of their first one."""
        line = " ".join(body.split())
        if not self._held:
            if not _may_go_on(line):
                return [(number, body)]
            self._held, self._text = [(number, body)], line
            return []
        first = self._held[0][0]
        command = self._text.startswith("Command line used:")
        if _opens(line) or (command and not _is_option(line) and not wants_value(self._text)):
            return [*self.flush(), *self.take(body, number)]
        self._text = f"{self._text} {line}"
        if command:
            self._held = [(first, self._text)]
            return []
        self._held.append((number, body))
        if not _may_go_on(self._text):
            self._held = []
            return [(first, self._text)]
        return self.flush() if len(self._held) >= _MAX_LINES else []

    def flush(self) -> list[tuple[int, str]]:
        """The lines that are held, one by one: no rest of them came."""
        found, self._held = self._held, []
        return found


def _is_option(line: str) -> bool:
    return len(line) > 1 and line[0] == "-" and (line[1].isalpha() or line[1] == "+")


def _opens(line: str) -> bool:
    return line[:1] in _FIRST_LETTERS and _OPENS.match(line) is not None


def _may_go_on(line: str) -> bool:
    """Whether a line is the beginning of a report's line, without its end."""
    return _opens(line) and _WHOLE.search(line) is None
