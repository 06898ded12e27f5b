"""What ``sadf -d`` and ``sadf -D`` write: a header line per table, and rows with ``;`` between their fields."""

from __future__ import annotations

import re
from calendar import timegm
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache
from time import strptime
from typing import TYPE_CHECKING

from glusterlab.errors import ParseError
from glusterlab.telemetry.blocks import WINDOW_BYTES, Block, Chunk, Names
from glusterlab.telemetry.columns import NotRegular, line_numbers, parse
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
    """Sections of a window under the same header, each with the number of its first line."""

    header: str
    columns: tuple[str, ...]
    table: Header
    sections: list[tuple[int, bytes]] = field(default_factory=list)


def read_rows(rows: bytes, columns: tuple[str, ...], table: Header) -> tuple[Names, Block]:
    """The host of every row, and the regular rows of one table as a block without host and lines.

    Raises
    ------
    NotRegular
        When a field or a time is not of the usual form, or only some times are in UTC.
    """
    import numpy as np

    names = [f"c{at}" for at in range(len(columns))]
    types = {"host": "category", "interval": "float64", "time": "category"} | dict.fromkeys(names, "float64")
    if table.device is not None:
        types[f"c{table.device}"] = "category"
    found = parse(rows, ";", types)
    times = [time_of(text) for text in found["time"].categories]
    seconds = [pair[0] for pair in times if pair is not None]
    zones = {pair[1] for pair in times if pair is not None}
    metrics = {name: found[f"c{at}"] for name, at in table.metrics.items()}
    if len(seconds) != len(times) or len(zones) != 1:
        raise NotRegular
    if not all(bool(np.isfinite(column).all()) for column in metrics.values()):
        raise NotRegular
    return found["host"], Block(
        tool="sadf",
        host=None,
        activity=table.activity,
        device=None if table.device is None else _device_names(found[f"c{table.device}"], table),
        time=np.array(seconds)[found["time"].codes],
        utc=zones == {True},
        dated=True,
        metrics=metrics,
    )


class CsvReader:
    """Reads a file of ``sadf -d``."""

    def __init__(self, chunk: Chunk, window_bytes: int = WINDOW_BYTES) -> None:
        self.chunk = chunk
        self.window_bytes = window_bytes
        self.header: str | None = chunk.state.header
        self.damage: ParseError | None = None

    def batches(self) -> Iterator[list[Block]]:
        """Blocks of whole rows, those of a window of text together.

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
                yield list(self._sections(text, line))
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
                at, line = end + 1, line + 1
                continue
            end = text.find(b"\n#", at)
            end = len(text) if end < 0 else end + 1
            section = text[at:end]
            group = self._group(groups, section[: section.find(b"\n")].count(b";"))
            if group is None:
                yield from self._by_line([(line, section)], self.header)
            else:
                group.sections.append((line, section))
            line += section.count(b"\n")
            at = end
        for group in groups.values():
            try:
                yield self._by_columns(group)
            except NotRegular:
                yield from self._by_line(group.sections, group.header)

    def _group(self, groups: dict[tuple[str, int], _Group], separators: int) -> _Group | None:
        if self.header is None:
            return None
        key = (self.header, separators)
        if key not in groups:
            columns = columns_of(self.header.split(";"), separators + 1)
            table = None if columns is None else header_of(columns)
            if columns is None or table is None or table.texts:
                return None
            groups[key] = _Group(self.header, columns, table)
        return groups[key]

    def _by_columns(self, group: _Group) -> Block:
        import numpy as np

        rows = b"".join(section for _, section in group.sections)
        lines = line_numbers(*zip(*((line, section.count(b"\n")) for line, section in group.sections), strict=True))
        if b"LINUX-RESTART" in rows or b";COM " in rows or b"\n\n" in rows or rows.startswith(b"\n"):
            every = rows.split(b"\n")
            kept = [at for at, row in enumerate(every) if row and _EVENT.match(row) is None]
            rows, lines = b"\n".join(every[at] for at in kept), lines[np.array(kept, dtype=np.int64)]
        hosts, block = read_rows(rows, group.columns, group.table)
        if len(hosts.categories) != 1 or len(block) != len(lines):
            raise NotRegular
        return replace(block, host=hosts.categories[0] or None, lines=lines)

    def _by_line(self, sections: Iterable[tuple[int, bytes]], header: str | None) -> Iterator[Block]:
        """Row by row; names damage."""
        rows = Rows()
        for first, section in sections:
            for line, text in enumerate(section.decode("utf-8", "replace").split("\n"), start=first):
                row = text.strip()
                if not row or _EVENT.match(row.encode("utf-8")) is not None:
                    if row:
                        # never one block across a restart
                        yield from rows.blocks()
                    continue
                fields = [field.strip() for field in row.split(";")]
                if header is None:
                    self._damaged("expected a header '# hostname;interval;timestamp;...', found data", line)
                    break
                when = time_of(fields[2]) if len(fields) > 3 else None
                if when is None:
                    found = f"{len(fields)} fields" if len(fields) <= 3 else repr(fields[2][:40])
                    self._damaged(f"expected epoch seconds or a date and time in timestamp, found {found}", line)
                    continue
                try:
                    rows.add(*_table_of(header, fields), fields[0] or None, when, line)
                except ParseError as error:
                    self._damaged(error.message, line)
            yield from rows.blocks()

    def _damaged(self, message: str, line: int) -> None:
        if self.damage is None or line < (self.damage.line or 0):
            self.damage = ParseError(message, file=self.chunk.path, line=line)


def _table_of(header: str, fields: list[str]) -> tuple[Header, list[str]]:
    names = header.split(";")
    if names[3:4] == ["TTY"] and len(fields) == 2 * len(names) - 5:
        # sysstat before 11.5 repeats the number of the line before every value
        fields = [*fields[:4], *fields[4::2]]
    columns = columns_of(names, len(fields))
    if columns is None or len(columns) != len(fields) - 3:
        raise ParseError(f"expected {len(names)} fields, found {len(fields)}")
    table = header_of(columns)
    if table is None:
        raise ParseError(f"expected columns of sysstat, found {header[:80]!r}")
    return table, fields[3:]


def _device_names(column: Names, table: Header) -> Names:
    """Names of devices as text; sadf calls the mean of all CPUs -1."""
    assert table.device is not None
    words = [""] * len(table.columns)
    renamed = []
    for name in column.categories:
        words[table.device] = name
        renamed.append(device_name(table, words) or "")
    return column.renamed(renamed)


class Rows:
    """Rows of several tables and hosts, gathered one by one."""

    def __init__(self) -> None:
        self._rows: dict[tuple[Header, str | None, bool], list[tuple[float, str | None, list[float], int]]] = {}

    def add(self, table: Header, fields: list[str], host: str | None, when: tuple[float, bool], line: int) -> None:
        """Take a row; `when` as `time_of` returns it.

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
        self._rows.setdefault((table, host, when[1]), []).append((when[0], device_name(table, fields), values, line))

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
                lines=np.array([row[3] for row in rows], dtype=np.int64),
            )
