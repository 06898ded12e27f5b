"""What ``sadf -d`` and ``sadf -D`` write: a header line per table, and rows with ``;`` between their fields."""

import re
from calendar import timegm
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache
from time import strptime

import numpy as np

from glusterlab.errors import ParseError
from glusterlab.telemetry.blocks import Block, Names, Row, block_of
from glusterlab.telemetry.columns import NotRegular, line_numbers, parse
from glusterlab.telemetry.sar_lines import is_whole, number
from glusterlab.telemetry.sysstat import Header, device_name, header_of
from glusterlab.telemetry.windows import WindowReader

_FILLED = re.compile(rb"\S[^\n]*")
_EVENT = re.compile(rb"[^;\n]*;-1;[^;\n]*;(?:LINUX-RESTART|COM )")
_TIME = re.compile(r"(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d)(?: (\S+))?")
_EPOCH = re.compile(r"\d{1,12}(?:\.\d{1,9})?")


@lru_cache(maxsize=1 << 17)
def time_of(text: str) -> tuple[float, bool] | None:
    """Seconds, and whether they are epoch seconds; local time counts as if it were UTC. None for another text."""
    if _EPOCH.fullmatch(text):
        return float(text), True
    if (found := _TIME.fullmatch(text)) is None:
        return None
    try:
        seconds = float(timegm(strptime(f"{found[1]} {found[2]}", "%Y-%m-%d %H:%M:%S")))
    except ValueError:
        return None
    return seconds, found[3] in {"UTC", "GMT"}


def columns_of(columns: list[str], fields: int) -> tuple[str, ...] | None:
    """The columns in the order in which rows have them, without host, interval and time."""
    rest = columns[3:]
    # "CPU*" stands for all CPUs of a row of interrupts; the header of USB devices has another order than their rows
    if rest and rest[-1] == "CPU*":
        if (count := fields - 3 - (len(rest) - 1)) < 1:
            return None
        rest = [*rest[:-1], "all", *(f"CPU{at}" for at in range(count - 1))]
    elif rest[:3] == ["manufact", "product", "BUS"]:
        rest = [*rest[2:], *rest[:2]]
    return tuple(rest)


@dataclass
class Group:
    """Sections of a text under the same header, each with a number that says where it is."""

    header: str
    columns: tuple[str, ...]
    table: Header
    sections: list[tuple[int, bytes]] = field(default_factory=list)

    @property
    def rows(self) -> bytes:
        return b"".join(section for _, section in self.sections)


def sections(text: bytes, header: str | None = None) -> Iterator[tuple[str | None, int, bytes]]:
    """The header in force, the line from 0, and the rows of every part between header lines; a header has no rows."""
    at = line = 0
    while at < len(text):
        if text.startswith(b"#", at):
            end = text.index(b"\n", at) + 1
            header = text[at:end].decode("utf-8", "replace").lstrip("# ").strip()
        else:
            end = text.find(b"\n#", at) + 1 or len(text)
        rows = text[at:end]
        yield header, line, b"" if rows.startswith(b"#") else rows
        line += rows.count(b"\n")
        at = end


def group_of(groups: dict[tuple[str, int], Group], header: str | None, section: bytes) -> Group | None:
    """The group of a section, new where it is the first; None for one that is not read by columns."""
    if header is None:
        return None
    key = header, section[: section.find(b"\n")].count(b";") + 1
    if key not in groups:
        columns = columns_of(header.split(";"), key[1])
        table = None if columns is None else header_of(columns)
        if columns is None or table is None or table.texts:
            return None
        groups[key] = Group(header, columns, table)
    return groups[key]


def read_rows(rows: bytes, columns: tuple[str, ...], table: Header) -> tuple[Names, Block]:
    """The host of every row, and regular rows of a table as a block, without its host and lines; else `NotRegular`."""
    names = [f"c{at}" for at in range(len(columns))]
    types = {"host": "category", "interval": "float64", "time": "category"} | dict.fromkeys(names, "float64")
    if table.device is not None:
        types[f"c{table.device}"] = "category"
    found = parse(rows, ";", types)
    times = [time_of(text) for text in found["time"].categories]
    known = [pair for pair in times if pair is not None]
    zones = {utc for _, utc in known}
    metrics = {name: found[f"c{at}"] for name, at in table.metrics.items()}
    device = None
    if table.device is not None:
        column = found[f"c{table.device}"]
        before, after = [""] * table.device, [""] * (len(names) - table.device - 1)
        # sadf calls the mean of all CPUs -1
        texts = (device_name(table, [*before, name, *after]) or "" for name in column.categories)
        device = Names(column.codes, tuple(texts))
    finite = all(bool(np.isfinite(column).all()) for column in metrics.values())
    if len(known) != len(times) or len(zones) != 1 or not finite:
        raise NotRegular
    return found["host"], Block(
        tool="sadf",
        host=None,
        activity=table.activity,
        device=device,
        time=np.array([seconds for seconds, _ in known])[found["time"].codes],
        utc=zones == {True},
        dated=True,
        metrics=metrics,
        lines=np.zeros(len(found["host"]), dtype=np.int64),
    )


def grouped(texts: Iterable[bytes]) -> list[Group]:
    """Regular texts by their headers, each section with the number of its text; `NotRegular` for others."""
    groups: dict[tuple[str, int], Group] = {}
    for place, text in enumerate(texts):
        for header, _, section in sections(text):
            if section:
                if (group := group_of(groups, header, section)) is None:
                    raise NotRegular
                group.sections.append((place, section))
    return list(groups.values())


def regular_blocks(text: bytes, activity: str | None = None) -> list[Block]:
    """The tables (of one activity) of one host's regular text, as of `read_rows`; `NotRegular` for another text."""
    groups = (group for group in grouped([text]) if activity in (None, group.table.activity))
    return [read_rows(group.rows, group.columns, group.table)[1] for group in groups]


def _filled(text: bytes, number: int = 0) -> Iterator[tuple[int, bytes]]:
    """The lines that are not blank, with their numbers; millions of blank ones cost little."""
    at = 0
    for found in _FILLED.finditer(text):
        number += text.count(b"\n", at, found.start())
        at = found.start()
        yield number, text[text.rfind(b"\n", 0, at) + 1 : found.end()]


class CsvReader(WindowReader):
    """Reads a file of ``sadf -d``."""

    header: str | None = None

    def is_cut(self, tail: str, before: str) -> bool:
        if _EVENT.match(tail.encode()):
            return False
        if before.startswith("#"):
            return tail.count(";") != before.count(";")
        return tail.startswith("#") or not is_whole(tail.replace(";", " "), before.replace(";", " "))

    def read(self, window: bytes) -> Iterator[Block]:
        groups: dict[tuple[str, int], Group] = {}
        for header, line, section in sections(window, self.header):
            self.header = header
            if not section:
                continue
            if (group := group_of(groups, header, section)) is None:
                yield from self._by_line([(self.line + line, section)], header)
            else:
                group.sections.append((self.line + line, section))
        for group in groups.values():
            try:
                yield self._by_columns(group)
            except NotRegular:
                yield from self._by_line(group.sections, group.header)

    def _by_columns(self, group: Group) -> Block:
        rows = group.rows
        lines = line_numbers(*zip(*((line, section.count(b"\n")) for line, section in group.sections), strict=True))
        if b"LINUX-RESTART" in rows or b";COM " in rows or b"\n\n" in rows or rows.startswith(b"\n"):
            kept = [(at, row) for at, row in _filled(rows) if _EVENT.match(row) is None]
            rows, lines = b"\n".join(row for _, row in kept), lines[np.array([at for at, _ in kept], dtype=np.int64)]
        hosts, block = read_rows(rows, group.columns, group.table)
        if len(hosts.categories) != 1 or len(block) != len(lines):
            raise NotRegular
        return replace(block, host=hosts.categories[0] or None, lines=lines)

    def _by_line(self, sections: Iterable[tuple[int, bytes]], header: str | None) -> Iterator[Block]:
        rows = Rows()
        for first, section in sections:
            for line, text in _filled(section, first):
                if not (row := text.decode("utf-8", "replace").strip()):
                    continue
                if _EVENT.match(row.encode("utf-8")) is not None:
                    # never one block across a restart
                    yield from rows.blocks()
                    continue
                fields = [field.strip() for field in row.split(";")]
                if header is None:
                    self.damaged("expected a header '# hostname;interval;timestamp;...', found data", line)
                    break
                when = time_of(fields[2]) if len(fields) > 3 else None
                if when is None:
                    found = f"{len(fields)} fields" if len(fields) <= 3 else repr(fields[2][:40])
                    self.damaged(f"expected epoch seconds or a date and time in timestamp, found {found}", line)
                    continue
                try:
                    rows.add(*_table_of(header, fields), fields[0] or None, when, line)
                except ParseError as error:
                    self.damaged(error.message, line)
            yield from rows.blocks()


def _table_of(header: str, fields: list[str]) -> tuple[Header, list[str]]:
    names = header.split(";")
    if names[3:4] == ["TTY"] and len(fields) == 2 * len(names) - 5:
        # sysstat before 11.5 repeats the number of the line before every value
        fields = [*fields[:4], *fields[4::2]]
    columns = columns_of(names, len(fields))
    if columns is None or len(columns) != len(fields) - 3:
        raise ParseError(f"expected {len(names)} fields, found {len(fields)}")
    if (table := header_of(columns)) is None:
        raise ParseError(f"expected columns of sysstat, found {header[:80]!r}")
    return table, fields[3:]


class Rows:
    """Rows of several tables and hosts, gathered one by one."""

    def __init__(self) -> None:
        self._rows: dict[tuple[Header, str | None, bool], list[Row]] = {}

    def add(self, table: Header, fields: list[str], host: str | None, when: tuple[float, bool], line: int) -> None:
        """Take a row; `when` as `time_of` returns it. `ParseError` when a field is no number."""
        values = []
        for name, at in table.metrics.items():
            if (value := number(fields[at])) is None:
                message = f"expected numbers in {name}, found {fields[at][:40]!r}; was it converted without LC_ALL=C?"
                raise ParseError(message)
            values.append(value)
        self._rows.setdefault((table, host, when[1]), []).append((when[0], device_name(table, fields), values, line))

    def blocks(self) -> Iterator[Block]:
        taken, self._rows = self._rows, {}
        for (table, host, utc), rows in taken.items():
            yield block_of("sadf", host, table, rows, utc=utc, dated=True)
