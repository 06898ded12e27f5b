"""The horizontal form of ``sadf -d -h``: all tables of a record in one row, those of many devices device by device."""

from __future__ import annotations

import re
from dataclasses import dataclass

from glusterlab.errors import ParseError
from glusterlab.telemetry.metrics import activities_of
from glusterlab.telemetry.sysstat import DEVICES, Header, header_of

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

    def split(self, fields: list[str]) -> list[tuple[Header, list[str]]]:
        """The rows of every table in a horizontal row, without host, interval and time.

        Raises
        ------
        ParseError
            When the row does not fit the header.
        """
        found: list[tuple[Header, list[str]]] = []
        at = 0
        for index, part in enumerate(self.parts):
            rest = sum(len(later.columns) for later in self.parts[index + 1 :] if not later.many)
            if not part.many:
                at = _take(found, part.columns, fields, at)
                continue
            seen: set[str] = set()
            columns = part.columns
            if columns[-1] == "CPU*":
                columns = _interrupts(fields, at, rest)
            while len(fields) - at - rest >= len(columns) and _is_item(columns, fields, at, seen):
                seen.add(fields[at])
                at = _take(found, columns, fields, at)
        if at != len(fields):
            raise ParseError(f"expected a row of {at + 3} fields, found {len(fields) + 3}; convert it without -h")
        return found


def _single(columns: list[str]) -> list[_Part]:
    """Columns of tables without devices, by activity: a table ends where the next column has another one."""
    parts: list[_Part] = []
    table: list[str] = []
    kinds: set[str] = set()
    for name in columns:
        own = set(activities_of(name))
        if table and not (kinds & own or not own):
            parts.append(_Part(tuple(table), False))
            table, kinds = [], set()
        kinds = (kinds & own) if kinds and own else (kinds or own)
        table.append(name)
    return [*parts, _Part(tuple(table), False)] if table else parts


def _interrupts(fields: list[str], at: int, rest: int) -> tuple[str, ...]:
    count = 0
    while at + 1 + count < len(fields) - rest and _DECIMAL.fullmatch(fields[at + 1 + count]):
        count += 1
    return ("INTR", "all", *(f"CPU{cpu}" for cpu in range(max(0, count - 1))))


def _is_item(columns: tuple[str, ...], fields: list[str], at: int, seen: set[str]) -> bool:
    name = fields[at]
    if name in seen or _DECIMAL.fullmatch(name):
        return False
    if columns[0] == "CPU":
        return name in {"-1", "all"} or (name.isdecimal() and (not seen or seen <= {"-1", "all"} or len(name) < 6))
    if columns[0] in {"DEV", "IFACE"}:
        return not name.isdecimal()
    return True


def _take(found: list[tuple[Header, list[str]]], columns: tuple[str, ...], fields: list[str], at: int) -> int:
    table = header_of(columns)
    end = at + len(columns)
    if end > len(fields):
        raise ParseError(f"expected more than {len(fields) + 3} fields")
    if table is None:
        raise ParseError(f"expected columns of sysstat, found {';'.join(columns)[:80]!r}")
    found.append((table, fields[at:end]))
    return end
