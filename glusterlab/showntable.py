"""A table of numbers as people see it: on the page of figures, in a notebook, as text.

All three show what the CSV file says, rounded to four digits, so that a check of their text has no rounding noise.
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

MAX_ROWS = 24
"""Rows of a figure's numbers on the page; the CSV file has all."""
MAX_CHARACTERS = 40
"""Longest value of a column of a figure's numbers: lists of samples are for the CSV file."""
MAX_TABLE_ROWS = 400
"""Rows of a table that is shown for its own sake."""

_SHORT = 6
"""Characters of a number that somebody may have rounded."""
_READS_AS_NUMBER = re.compile(r"|nan|[-+]?(\d[\d,]*)?\.?\d+(e[-+]?\d+)?( ?%)?", re.IGNORECASE)


@dataclass(frozen=True)
class Table:
    """What is shown of a CSV file.

    Attributes
    ----------
    header : tuple of str
        Columns that are shown.
    rows : tuple of tuple of str
        Each as long as the header.
    numeric : tuple of bool
        Whether a column holds numbers only.
    same : tuple of (str, str)
        Columns with one value in all rows, and the value, where they are left out.
    more : int
        Rows that only the CSV file has.
    """

    header: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    numeric: tuple[bool, ...] = ()
    same: tuple[tuple[str, str], ...] = ()
    more: int = 0

    @classmethod
    def numbers(cls, text: str) -> Table:
        r"""The part of a figure's CSV that tells rows apart: neither long values nor columns with one value.

        Examples
        --------
        >>> Table.numbers("workers,n\n1,3\n6,3\n")
        Table(header=('workers',), rows=(('1',), ('6',)), numeric=(True,), same=(('n', '3'),), more=0)
        """
        header, lines = _parsed(text)
        columns = [(name, [line[n] for line in lines]) for n, name in enumerate(header)]
        columns = [(name, values) for name, values in columns if any(values)]
        columns = [(name, values) for name, values in columns if max(map(len, values)) <= MAX_CHARACTERS]
        constant = [name for name, values in columns if len(lines) > 1 and len(set(values)) == 1]
        varying = [(name, values[:MAX_ROWS]) for name, values in columns if name not in constant]
        return cls(
            header=tuple(name for name, _ in varying),
            rows=tuple(zip(*([shown(value) for value in values] for _, values in varying), strict=True)),
            numeric=tuple(_all_numbers(values) for _, values in varying),
            same=tuple((name, shown(values[0])) for name, values in columns if name in constant),
            more=max(0, len(lines) - MAX_ROWS),
        )

    @classmethod
    def whole(cls, text: str) -> Table:
        r"""All columns of a CSV, and as many rows as a page bears; numbers that were rounded before stay as they are.

        Examples
        --------
        >>> Table.whole("n,share,rate\n3,98.0 %,0.1234567\n5,1.0 %,2.50\n").rows
        (('3', '98.0 %', '0.1235'), ('5', '1.0 %', '2.50'))
        """
        header, lines = _parsed(text)
        return cls(
            header=tuple(header),
            rows=tuple(tuple(_kept(value) for value in line) for line in lines[:MAX_TABLE_ROWS]),
            numeric=tuple(all(_READS_AS_NUMBER.fullmatch(line[n]) for line in lines) for n in range(len(header))),
            more=max(0, len(lines) - MAX_TABLE_ROWS),
        )

    @property
    def html(self) -> str:
        """An HTML table, its text escaped; the class ``n`` is for columns that stand right.

        Pages hold many of them: end tags that HTML does not ask for are left out.
        """
        marks = [" class=n" if numeric else "" for numeric in self.numeric]
        head = "".join(f"<th scope=col{mark}>{escape(name)}" for name, mark in zip(self.header, marks, strict=True))
        body = "".join(
            f"\n<tr>{''.join(f'<td{mark}>{escape(value)}' for value, mark in zip(row, marks, strict=True))}"
            for row in self.rows
        )
        return f"<table>\n<thead><tr>{head}</thead>\n<tbody>{body}\n</tbody>\n</table>"

    @property
    def text(self) -> str:
        """Aligned columns, numbers to the right."""
        widths = [max(map(len, column)) for column in zip(self.header, *self.rows, strict=True)]
        lines = []
        for row in (self.header, *self.rows):
            cells = zip(row, widths, self.numeric, strict=True)
            lines.append("  ".join(v.rjust(width) if right else v.ljust(width) for v, width, right in cells).rstrip())
        return "\n".join([*lines, *([f"and {self.more} more rows"] if self.more else [])])


def _parsed(text: str) -> tuple[list[str], list[list[str]]]:
    """Header and lines of a CSV, the lines made as long as the header; nothing from what is no CSV."""
    try:
        lines = [line for line in csv.reader(io.StringIO(text)) if line]
    except csv.Error:
        return [], []
    if not lines:
        return [], []
    header, *rest = lines
    return header, [[*line, *[""] * (len(header) - len(line))][: len(header)] for line in rest]


def _all_numbers(values: Sequence[str]) -> bool:
    return all(_number(value) is not None for value in values if value)


def _kept(value: str) -> str:
    """A short number as it stands, such as 1.00 or 2017; a long one rounded."""
    return value if len(value) <= _SHORT and value != "nan" else shown(value)


def _number(value: str) -> float | None:
    try:
        return float(value)
    except ValueError:
        return None


def shown(value: str) -> str:
    """A value of a CSV file as people see it: four significant digits, whole numbers from 1,000.

    Examples
    --------
    >>> shown("83684210.5"), shown("0.123456"), shown("12"), shown("3x2"), shown("nan")
    ('83,684,210', '0.1235', '12', '3x2', '')
    """
    number = _number(value)
    if number is None:
        return value
    if math.isnan(number):
        return ""
    if abs(number) >= 1000 and not math.isinf(number):
        return f"{number:,.0f}"
    return f"{number:.4g}"


def to_csv(frame: pd.DataFrame) -> str:
    """A frame as CSV, nine significant digits kept, without its index."""
    return str(frame.to_csv(index=False, float_format="%.9g", lineterminator="\n"))


_S = ".shown-table" * 3
_STYLE = (
    f"<style>.shown-table{{max-width:75rem}}{_S} table{{table-layout:auto;margin-left:0}}"
    f"{_S} :is(th,td){{text-align:left;vertical-align:top}}{_S} .n{{text-align:right;white-space:nowrap}}</style>"
)
"""The class three times, because JupyterLab has rules of two classes: all text to the right, all columns as wide."""


class SavedTable:
    """A table as it was saved: a notebook shows it under its title, as HTML or as text.

    Attributes
    ----------
    name : str
        File name without suffix, such as ``tab03-bill-of-materials``.
    title : str
        With its number.
    file : pathlib.Path
    table : Table
    """

    def __init__(self, name: str, title: str, file: Path, table: Table) -> None:
        self.name, self.title, self.file, self.table = name, title, file, table

    def __repr__(self) -> str:
        return f"{self.title}\n\n{self.table.text}"

    def _repr_html_(self) -> str:
        more = f"<p>{self.table.more} more rows are in the CSV file.</p>" if self.table.more else ""
        return f'{_STYLE}<div class="shown-table"><p><b>{escape(self.title)}</b></p>{self.table.html}{more}</div>'
