"""What ``sadf -d`` and ``sadf -D`` write: a header line per table, and rows with ``;`` between their fields."""

from __future__ import annotations

import re
from calendar import timegm
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from time import strptime
from typing import TYPE_CHECKING

from glusterlab.errors import ParseError
from glusterlab.telemetry.blocks import WINDOW_BYTES, Block, Chunk, Names
from glusterlab.telemetry.columns import NotRegular, parse
from glusterlab.telemetry.sadf_wide import WideHeader
from glusterlab.telemetry.sar_lines import is_whole, number
from glusterlab.telemetry.sysstat import Header, device_name, header_of
from glusterlab.telemetry.windows import windows

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_EVENT = re.compile(rb"[^;\n]*;-1;[^;\n]*;(?:LINUX-RESTART|COM )")
_TIME = re.compile(r"(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d)(?: (\S+))?")
_EPOCH = re.compile(r"\d{1,12}(?:\.\d{1,9})?")


@lru_cache(maxsize=1 << 17)
def time_of(text: str) -> tuple[float, bool] | None:
    """Seconds, and whether they are epoch seconds; local time counts as if it were UTC. None for another text.

    Examples
    --------
    >>> time_of("1430501965")
    (1430501965.0, True)
    >>> time_of("1970-01-01 00:00:10 UTC"), time_of("1970-01-01 00:00:10 CET")
    ((10.0, True), (10.0, False))
    """
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
    """The columns in the order in which rows have them, without host, interval and time.

    The header of interrupts says ``CPU*`` for all CPUs of a row, and that of USB devices has another order than rows.
    """
    rest = columns[3:]
    if rest and rest[-1] == "CPU*":
        count = fields - 3 - (len(rest) - 1)
        if count < 1:
            return None
        rest = [*rest[:-1], "all", *(f"CPU{at}" for at in range(count - 1))]
    elif rest[:3] == ["manufact", "product", "BUS"]:
        rest = [*rest[2:], *rest[:2]]
    return tuple(rest)


@dataclass
class _Group:
    header: str
    columns: tuple[str, ...]
    table: Header
    rows: list[bytes]


class CsvReader:
    """Reads a file of ``sadf -d``.

    Parameters
    ----------
    chunk : Chunk
    lines : bool
        Blocks know the lines of their rows; this reads line by line.
    window_bytes : int
    """

    def __init__(self, chunk: Chunk, lines: bool, window_bytes: int = WINDOW_BYTES) -> None:
        self.chunk = chunk
        self.numbers = lines
        self.window_bytes = window_bytes
        self.header: str | None = chunk.state.header
        self.damage: ParseError | None = None

    def blocks(self) -> Iterator[Block]:
        """Blocks of whole rows.

        Raises
        ------
        ParseError
            At the end, when some rows were damaged or the file is cut off.
        """
        line = self.chunk.line
        cut: ParseError | None = None
        try:
            for window in windows(self.chunk.path, self.chunk.start, self.chunk.end, self.window_bytes):
                text = window
                if not text.endswith(b"\n"):
                    text, tail = window[: (at := window.rfind(b"\n") + 1)], window[at:]
                    cut = self._cut(tail, text, line)
                    text = text if cut is not None else window + b"\n"
                yield from self._sections(text, line)
                line += window.count(b"\n")
        except ParseError as error:
            cut = error
        if (damage := self.damage or cut) is not None:
            raise damage

    def _cut(self, tail: bytes, whole: bytes, line: int) -> ParseError | None:
        before = whole.rstrip(b"\n").rpartition(b"\n")[2]
        if tail.startswith(b"#") or _EVENT.match(tail) or before.startswith(b"#"):
            fits = self.header is not None or before.startswith(b"#")
            header = before[2:].decode("utf-8", "replace").split(";")
            if fits and before.startswith(b"#") and tail.count(b";") == len(header) - 1:
                return None
            if _EVENT.match(tail):
                return None
        elif is_whole(*(text.decode("utf-8", "replace").replace(";", " ") for text in (tail, before))):
            return None
        place = line + whole.count(b"\n")
        message = f"expected the end of a row, found the file's: {tail[-40:].decode('utf-8', 'replace')!r} is cut off"
        return ParseError(message, file=self.chunk.path, line=place)

    def _sections(self, text: bytes, line: int) -> Iterator[Block]:
        """The window between header lines; sections of the same header are parsed at once."""
        groups: dict[tuple[str, int], _Group] = {}
        at = 0
        while at < len(text):
            if text.startswith(b"#", at):
                end = text.index(b"\n", at)
                self.header = text[at:end].decode("utf-8", "replace").lstrip("# ").strip()
                at = end + 1
                continue
            end = text.find(b"\n#", at)
            end = len(text) if end < 0 else end + 1
            yield from self._section(groups, text[at:end], line + text.count(b"\n", 0, at) if self._asks() else 0)
            at = end
        for group in groups.values():
            yield from self._group(group, text, line)

    def _asks(self) -> bool:
        return self.numbers or self.header is None or "[...]" in self.header

    def _section(self, groups: dict[tuple[str, int], _Group], section: bytes, line: int) -> Iterator[Block]:
        if self.header is not None and not self._asks():
            first = section[: section.find(b"\n")]
            key = (self.header, first.count(b";"))
            group = groups.get(key)
            if group is None:
                columns = columns_of(self.header.split(";"), first.count(b";") + 1)
                table = None if columns is None else header_of(columns)
                if columns is not None and table is not None and not table.texts:
                    groups[key] = group = _Group(self.header, columns, table, [])
            if group is not None:
                group.rows.append(section)
                return
            line = 0
        yield from self._carefully(section, line)

    def _group(self, group: _Group, text: bytes, line: int) -> Iterator[Block]:
        rows = b"".join(group.rows)
        if b"LINUX-RESTART" in rows or b";COM " in rows:
            rows = b"".join(row for row in rows.splitlines(keepends=True) if _EVENT.match(row) is None)
        try:
            yield from self._by_columns(group, rows)
        except NotRegular:
            header, self.header = self.header, group.header
            for section in group.rows:
                yield from self._carefully(section, line + text.count(b"\n", 0, max(0, text.find(section))))
            self.header = header

    def _by_columns(self, group: _Group, rows: bytes) -> list[Block]:
        import numpy as np

        places = [f"c{at}" for at in range(len(group.columns))]
        types = {"host": "category", "interval": "float64", "time": "category"} | dict.fromkeys(places, "float64")
        if group.table.device is not None:
            types[f"c{group.table.device}"] = "category"
        columns = parse(rows, ";", types)
        hosts, times = columns["host"], columns["time"]
        found = [time_of(text) for text in times.categories]
        if len(hosts.categories) != 1 or len({utc for _, utc in filter(None, found)}) != 1 or None in found:
            raise NotRegular
        values = {name: columns[f"c{at}"] for name, at in group.table.metrics.items()}
        if not all(bool(np.isfinite(column).all()) for column in values.values()):
            raise NotRegular
        seconds = np.array([place[0] for place in found if place is not None])
        return [
            Block(
                tool="sadf",
                host=hosts.categories[0] or None,
                activity=group.table.activity,
                device=None if group.table.device is None else names_of(columns[f"c{group.table.device}"], group.table),
                time=seconds[times.codes],
                utc=any(place is not None and place[1] for place in found),
                dated=True,
                metrics=values,
            )
        ]

    def _carefully(self, section: bytes, line: int) -> Iterator[Block]:
        """Row by row; names damage."""
        rows = Rows(self.numbers)
        wide = None if self.header is None or "[...]" not in self.header else WideHeader.parse(self.header)
        for place, text in enumerate(section.decode("utf-8", "replace").split("\n"), start=line):
            row = text.strip()
            if not row or _EVENT.match(row.encode("utf-8")) is not None:
                if row:
                    # never one block across a restart
                    yield from rows.blocks()
                continue
            fields = [field.strip() for field in row.split(";")]
            if self.header is None:
                self._damaged("expected a header '# hostname;interval;timestamp;...', found data", place)
                return
            when = time_of(fields[2]) if len(fields) > 3 else None
            if when is None:
                found = f"{len(fields)} fields" if len(fields) <= 3 else repr(fields[2][:40])
                self._damaged(f"expected epoch seconds or a date and time in timestamp, found {found}", place)
                continue
            try:
                tables = self._tables(fields) if wide is None else wide.split(fields[3:])
                for table, values in tables:
                    rows.add(table, fields[0] or None, when, values, place)
            except ParseError as error:
                self._damaged(error.message, place)
        yield from rows.blocks()

    def _tables(self, fields: list[str]) -> list[tuple[Header, list[str]]]:
        assert self.header is not None
        names = self.header.split(";")
        if names[3:4] == ["TTY"] and len(fields) == 2 * len(names) - 5:
            # sysstat before 11.5 repeats the number of the line before every value
            fields = [*fields[:4], *fields[4::2]]
        columns = columns_of(names, len(fields))
        if columns is None or len(columns) != len(fields) - 3:
            raise ParseError(f"expected {len(names)} fields, found {len(fields)}")
        table = header_of(columns)
        if table is None:
            raise ParseError(f"expected columns of sysstat, found {self.header[:80]!r}")
        return [(table, fields[3:])]

    def _damaged(self, message: str, place: int) -> None:
        if self.damage is None:
            self.damage = ParseError(message, file=self.chunk.path, line=place)


def names_of(column: Names, table: Header) -> Names:
    """Names of devices as text; sadf calls the mean of all CPUs -1."""
    assert table.device is not None
    words = [""] * len(table.columns)
    renamed = []
    for name in column.categories:
        words[table.device] = name
        renamed.append(device_name(table, words) or "")
    return column.renamed(renamed)


class Rows:
    """Rows of several tables and hosts, gathered one by one.

    Parameters
    ----------
    numbers : bool
        Keep the lines of rows.
    """

    def __init__(self, numbers: bool) -> None:
        self.numbers = numbers
        self._rows: dict[tuple[Header, str | None, bool], list[tuple[float, str | None, list[float], int]]] = {}

    def add(self, table: Header, host: str | None, when: tuple[float, bool], fields: list[str], place: int) -> None:
        """Take a row.

        Raises
        ------
        ParseError
            When a field is no number.
        """
        values = []
        for name, at in table.metrics.items():
            value = number(fields[at])
            if value is None:
                raise ParseError(
                    f"expected numbers in {name}, found {fields[at][:40]!r}; was it converted without LC_ALL=C?"
                )
            values.append(value)
        self._rows.setdefault((table, host, when[1]), []).append((when[0], device_name(table, fields), values, place))

    def blocks(self) -> Iterator[Block]:
        """What was taken, and forget it."""
        import numpy as np

        taken, self._rows = self._rows, {}
        for (table, host, utc), rows in taken.items():
            values: NDArray[np.float64] = np.array([row[2] for row in rows], dtype=np.float64)
            yield Block(
                tool="sadf",
                host=host,
                activity=table.activity,
                device=None if table.device is None else Names.of(row[1] for row in rows),
                time=np.array([row[0] for row in rows], dtype=np.float64),
                utc=utc,
                dated=True,
                metrics={name: values[:, at] for at, name in enumerate(table.metrics)},
                lines=np.array([row[3] for row in rows], dtype=np.int64) if self.numbers else None,
            )
