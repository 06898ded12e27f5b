"""A table of numbers as people see it on a page, in a notebook, as text: what the CSV file says, to four digits."""

import csv
import io
import math
import re
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Self

import pandas as pd

from glusterlab.stats import INSUFFICIENT, TWO_GROUPS
from glusterlab.units import format_size, short_number

MAX_ROWS = 24  # rows of a figure's numbers on the page; the CSV file has all
MAX_CHARACTERS = 40  # longest value of a column of a figure's numbers: lists of samples are for the CSV file
MAX_TABLE_ROWS = 400  # rows of a table that is shown for its own sake

ORIGIN = ["campaign", "digest"]  # the last columns of a CSV file, for `glusterlab trace`: not shown, footers have them

_SHORT = 6  # characters of a number that somebody may have rounded
_READS_AS_NUMBER = re.compile(r"|nan|[-+]?(\d[\d,]*)?\.?\d+(e[-+]?\d+)?( ?%)?", re.IGNORECASE)


@dataclass(frozen=True)
class Table:
    """What is shown of a CSV file: `same` has columns with their one value; `more` rows are in the file alone."""

    header: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    numeric: tuple[bool, ...] = ()
    same: tuple[tuple[str, str], ...] = ()
    more: int = 0

    @classmethod
    def numbers(cls, text: str) -> Self:
        """The part of a figure's CSV that tells rows apart: neither long values nor columns with one value."""
        header, lines = _parsed(text)
        columns = [(name, [line[n] for line in lines]) for n, name in enumerate(header)]
        columns = [(name, cells) for name, cells in columns if any(cells) and max(map(len, cells)) <= MAX_CHARACTERS]
        constant = [name for name, values in columns if len(lines) > 1 and len(set(values)) == 1]
        varying = [(name, values[:MAX_ROWS]) for name, values in columns if name not in constant]
        return cls(
            header=tuple(name for name, _ in varying),
            rows=tuple(zip(*([shown(value) for value in values] for _, values in varying), strict=True)),
            numeric=tuple(not any(v and _number(v) is None for v in values) for _, values in varying),
            same=tuple((name, shown(values[0])) for name, values in columns if name in constant),
            more=max(0, len(lines) - MAX_ROWS),
        )

    @classmethod
    def whole(cls, text: str) -> Self:
        """All columns of a CSV, and as many rows as a page bears; short numbers, such as 1.00 or 2017, stay."""
        header, lines = _parsed(text)
        return cls(
            header=tuple(header),
            rows=tuple(
                tuple(value if len(value) <= _SHORT and value != "nan" else shown(value) for value in line)
                for line in lines[:MAX_TABLE_ROWS]
            ),
            numeric=tuple(all(_READS_AS_NUMBER.fullmatch(line[n]) for line in lines) for n in range(len(header))),
            more=max(0, len(lines) - MAX_TABLE_ROWS),
        )

    @property
    def html(self) -> str:
        """An HTML table, its text escaped, without the end tags that HTML does not ask for: pages hold many of them."""
        marks = [" class=n" if numeric else "" for numeric in self.numeric]
        head = "".join(f"<th scope=col{mark}>{escape(name)}" for name, mark in zip(self.header, marks, strict=True))
        body = "".join(
            f"\n<tr>{''.join(f'<td{mark}>{escape(value)}' for value, mark in zip(row, marks, strict=True))}"
            for row in self.rows
        )
        return f"<table>\n<thead><tr>{head}</thead>\n<tbody>{body}\n</tbody>\n</table>"

    @property
    def text(self) -> str:
        widths = [max(map(len, column)) for column in zip(self.header, *self.rows, strict=True)]
        lines = []
        for row in (self.header, *self.rows):
            cells = zip(row, widths, self.numeric, strict=True)
            lines.append("  ".join(v.rjust(width) if right else v.ljust(width) for v, width, right in cells).rstrip())
        return "\n".join([*lines, *([f"and {self.more} more rows"] if self.more else [])])


def _parsed(text: str) -> tuple[list[str], list[list[str]]]:
    """Header and lines of a CSV without `ORIGIN`, the lines as long as the header; nothing from what is no CSV."""
    try:
        header, *rest = [line for line in csv.reader(io.StringIO(text)) if line] or [[]]
    except csv.Error:
        return [], []
    header = header[:-2] if header[-2:] == ORIGIN else header
    return header, [[*line, *[""] * (len(header) - len(line))][: len(header)] for line in rest]


def _number(value: str) -> float | None:
    try:
        return float(value)
    except ValueError:
        return None


def shown(value: str) -> str:
    """A value of a CSV file as people see it: four significant digits, whole numbers from 1,000."""
    number = _number(value)
    if number is None or math.isnan(number):
        return value if number is None else ""
    return f"{number:,.0f}" if 1000 <= abs(number) < math.inf else f"{number:.4g}"


_UNITS = {"_bytes_per_s": ("MB/s", 1e-6), "_per_s": ("1/s", 1.0), "_s": ("s", 1.0)}
"""What a column's suffix says of its unit, and the factor to it."""
_NAMES = {"series": "layout", "nominal_file_size_bytes": "file size"}


def readable(table: pd.DataFrame, unit: str = "", factor: float = 1.0) -> pd.DataFrame:
    """A table for people: an estimate and its 95 % interval in one cell, numbers with three digits, units in the head.

    ``x`` takes ``x_low`` and ``x_high`` (``mean`` two groups, too) into its cells; its suffix, or `unit`, is its unit.
    """
    columns: dict[str, object] = {}
    for name in table.columns:
        if not any(name in (*_ends(str(other)), *_groups(str(other))) for other in table.columns):
            label, values = _column(str(name), table, unit, factor)
            columns[label] = values
    return pd.DataFrame(columns, index=table.index)


_SUMMARY = ("mean", "median", "limit", "published", "full_size_mean")


def _ends(name: str) -> tuple[str, str]:
    stem = name.removesuffix("mean") if name.endswith("mean") else f"{name}_"
    return f"{stem}low", f"{stem}high"


def _groups(name: str) -> tuple[str, ...]:
    return ("group_low", "group_high") if name == "mean" else ()


def _column(name: str, table: pd.DataFrame, unit: str, factor: float) -> tuple[str, list[object]]:
    label, values = _NAMES.get(name, name.replace("_", " ")), table[name]
    low, high = (table.get(end) for end in _ends(name))
    if name.endswith("_bytes"):
        return label.removesuffix(" bytes"), [format_size(int(size)) if size == size else "" for size in values]
    if name.endswith("scale"):
        return label, [f"1:{scale:g}" for scale in values]
    # columns of an empty table have no type, and keep their units
    if not pd.api.types.is_float_dtype(values) and not (values.empty and name in _SUMMARY):
        return label, values.tolist()
    by, form = 1.0, short_number
    if name.startswith("share"):
        by, form, label = 100.0, "{:.3g}".format, f"{label}, %"
    elif name in _SUMMARY:
        by, label = factor, f"{label}, {unit}".removesuffix(", ")
    else:
        for suffix, (known, times) in _UNITS.items():
            if name.endswith(suffix):
                by, label = times, f"{label.removesuffix(suffix.replace('_', ' '))}, {known}"
                break
        else:
            # counts are floats where some are missing
            form = "{:.0f}".format if low is None and (values.dropna() % 1 == 0).all() else form
    cells: list[object] = ["" if math.isnan(value) else form(value * by) for value in values]
    if low is not None and high is not None:
        cells = [
            cell and f"{cell} ({INSUFFICIENT if math.isnan(a + b) else f'{form(a * by)} to {form(b * by)}'})"
            for cell, a, b in zip(cells, low, high, strict=True)
        ]
    if name == "mean" and "group_low" in table:
        centres = [["" if math.isnan(each) else form(each * by) for each in table[of]] for of in _groups(name)]
        apart = [f"{low} and {high} ({TWO_GROUPS})" if low else "" for low, high in zip(*centres, strict=True)]
        cells = [cell or groups for cell, groups in zip(cells, apart, strict=True)]
    return label, cells


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
    """A table as it was saved: a notebook shows it under its title, as HTML or as text; `name` has no suffix."""

    def __init__(self, name: str, title: str, file: Path, table: Table) -> None:
        self.name, self.title, self.file, self.table = name, title, file, table

    def __repr__(self) -> str:
        return f"{self.title}\n\n{self.table.text}"

    def sortable(self) -> None:
        """Show all rows of the CSV file, to be sorted and searched by hand: nothing for a notebook that is kept."""
        import itables

        itables.init_notebook_mode(all_interactive=False)
        itables.show(pd.read_csv(self.file), caption=self.title, showIndex=False)

    def _repr_html_(self) -> str:
        more = f"<p>{self.table.more} more rows are in the CSV file.</p>" if self.table.more else ""
        return f'{_STYLE}<div class="shown-table"><p><b>{escape(self.title)}</b></p>{self.table.html}{more}</div>'
