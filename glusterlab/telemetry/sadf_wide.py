"""The horizontal form of ``sadf -d -h``: all tables of a record in one row, those of many devices device by device."""

from __future__ import annotations

import re
from dataclasses import dataclass

from glusterlab.errors import ParseError
from glusterlab.telemetry.metrics import activities_of
from glusterlab.telemetry.sysstat import DEVICES, Header, header_of

MOST_STEPS = 20_000
"""So often a table may be tried: rows of sadf need about one try for each table."""

Row = tuple[Header, list[str]]

_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
_DECIMAL = re.compile(r"-?\d+\.\d+")


@dataclass(frozen=True)
class _Part:
    """Columns of one table; `many` when a row has them once per device."""

    columns: tuple[str, ...]
    many: bool


@dataclass(frozen=True)
class WideHeader:
    """The tables of a horizontal header.

    Attributes
    ----------
    parts : tuple
        In the order of a row.
    """

    parts: tuple[_Part, ...]

    @classmethod
    def parse(cls, header: str) -> WideHeader:
        """Divide a header line, without its ``#``, into tables."""
        parts: list[_Part] = []
        columns: list[str] = []
        for name in header.split(";")[3:]:
            columns.append(name.removesuffix("[...]"))
            if name.endswith("[...]"):
                start = max((at for at, column in enumerate(columns) if column in DEVICES), default=0)
                # USB devices are named by their third column
                start = columns.index("manufact") if columns[start] == "BUS" and "manufact" in columns else start
                parts.extend(_single(columns[:start]))
                many = columns[start:]
                parts.append(_Part(tuple([*many[2:], *many[:2]] if many[0] == "manufact" else many), True))
                columns = []
        parts.extend(_single(columns))
        return cls(tuple(parts))

    def split(self, fields: list[str]) -> list[Row]:
        """The rows of every table in a horizontal row, without host, interval and time.

        Raises
        ------
        ParseError
            When the row does not fit the header.
        """
        rows = _Solver(self.parts, fields).solve()
        if rows is None:
            raise ParseError(
                f"expected a row that fits its header, found {len(fields) + 3} fields; convert it without -h"
            )
        return rows


class _Solver:
    """Divides a row among tables: how many devices a table has is nowhere said, but all fields must be used up."""

    def __init__(self, parts: tuple[_Part, ...], fields: list[str]) -> None:
        self.parts = parts
        self.fields = fields
        self.steps = 0

    def solve(self, index: int = 0, at: int = 0, interfaces: tuple[str, ...] | None = None) -> list[Row] | None:
        """Rows from a table and a field on, or None when these do not fit; both tables of interfaces name the same."""
        self.steps += 1
        if index == len(self.parts):
            return [] if at == len(self.fields) else None
        if self.steps > MOST_STEPS:
            return None
        columns = self.parts[index].columns
        if not self.parts[index].many:
            rest = self.solve(index + 1, at + len(columns), interfaces) if self._fits(columns, at) else None
            return None if rest is None else [*self._rows(columns, at, 1), *rest]
        if columns[-1] == "CPU*":
            columns = _interrupts(self.fields, at)
        most = self._most(columns, at)
        for count in range(most, -1, -1):
            names = tuple(self.fields[at : at + count * len(columns) : len(columns)])
            if columns[0] == "IFACE":
                if interfaces is not None and names != interfaces:
                    continue
                rest = self.solve(index + 1, at + count * len(columns), names)
            else:
                rest = self.solve(index + 1, at + count * len(columns), interfaces)
            if rest is not None:
                return [*self._rows(columns, at, count), *rest]
        return None

    def _fits(self, columns: tuple[str, ...], at: int) -> bool:
        numbers = self.fields[at + (columns[0] in DEVICES) : at + len(columns)]
        return at + len(columns) <= len(self.fields) and all(map(_NUMBER.fullmatch, numbers))

    def _most(self, columns: tuple[str, ...], at: int) -> int:
        """How many rows of a table there can be at most."""
        seen: set[str] = set()
        count = 0
        texts = "BUS" in columns or "BAT" in columns or "DEVICE" in columns
        while at + len(columns) <= len(self.fields) and _is_name(columns, self.fields[at], seen):
            if not texts and not self._fits(columns, at):
                break
            # a file system is named once for each of its mounts
            if columns[0] != "FILESYSTEM":
                seen.add(self.fields[at])
            at += len(columns)
            count += 1
        return count

    def _rows(self, columns: tuple[str, ...], at: int, count: int) -> list[Row]:
        table = header_of(columns) if count else None
        if table is None:
            return []
        size = len(columns)
        return [(table, self.fields[at + row * size : at + (row + 1) * size]) for row in range(count)]


def _single(columns: list[str]) -> list[_Part]:
    """Columns of tables without devices, by activity: a table ends where the next column has another one."""
    parts: list[_Part] = []
    table: list[str] = []
    kinds: set[str] = set()
    for name in columns:
        own = set(activities_of(name))
        # memory and swap share names: sysstat before 9 had them in one table
        if table and (name in DEVICES or name == "kbswpfree" or (own and kinds and not kinds & own)):
            parts.append(_Part(tuple(table), False))
            table, kinds = [], set()
        own = {"swap"} if name == "kbswpfree" else own
        kinds = (kinds & own) if kinds and own else (kinds or own)
        table.append(name)
    return [*parts, _Part(tuple(table), False)] if table else parts


def _interrupts(fields: list[str], at: int) -> tuple[str, ...]:
    count = 0
    while at + 1 + count < len(fields) and _DECIMAL.fullmatch(fields[at + 1 + count]):
        count += 1
    return ("INTR", "all", *(f"CPU{cpu}" for cpu in range(max(0, count - 1))))


def _is_name(columns: tuple[str, ...], name: str, seen: set[str]) -> bool:
    if name in seen or _DECIMAL.fullmatch(name):
        return False
    if columns[0] == "CPU":
        return name in {"-1", "all"} or (name.isdecimal() and len(name) < 6)
    return not (columns[0] in {"DEV", "IFACE"} and name.isdecimal())
