"""Telemetry from any file of sysstat: recognise it, divide it, and read it column by column or record by record."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import IO

from glusterlab.errors import ParseError
from glusterlab.readers.document import HEAD_BYTES, decode, read_head
from glusterlab.readers.records import Source, TelemetryRecord
from glusterlab.telemetry import clock
from glusterlab.telemetry.blocks import CHUNK_BYTES, WINDOW_BYTES, Block, Chunk, Kind, State, Tool
from glusterlab.telemetry.sadf import CsvReader
from glusterlab.telemetry.sadf_json import JsonReader, PpcReader
from glusterlab.telemetry.sar_chunks import divide
from glusterlab.telemetry.sar_hosts import is_by_host, read_by_host
from glusterlab.telemetry.sar_lines import LineReader
from glusterlab.telemetry.sar_text import TextReader
from glusterlab.telemetry.sysstat import header_of
from glusterlab.telemetry.windows import check_text, is_plain

_CSV = re.compile(r"(?m)^#? ?hostname;interval;timestamp;")
_CSV_ROW = re.compile(r"(?m)^[^;\n]{1,255};-?\d{1,9};(?:\d{9,10}|\d{4}-\d\d-\d\d \d\d:\d\d:\d\d[^;\n]{0,6});")
_JSON = re.compile(r'\A\s*\{\s*"sysstat"\s*:\s*\{')
_PPC = re.compile(r"(?m)^\S{1,255}\t-?\d+\t[^\t\n]{5,40}\t[^\t\n]{1,255}\t[^\t\n]{1,64}\t-?\d[^\t\n]*$")
_TIMED = re.compile(r"(?m)^\W{0,8}(?:[^\d\s]{1,12}\s+|[午上下오][前後午전후])?\d{1,2}[^\d\s]{1,4}.*$")
_BANNER = re.compile(r"(?m)^\W{0,8}(?:\S+:\s+)?Linux\s+\d")
_EVENT = re.compile(r"(?m)^\W{0,8}\d.{0,40}\s(?:LINUX RESTART|COM\s)")
_SUFFIXED = re.compile(r"\d[%BkMGTP]\s")
_RAW = re.compile(r"(?m)^\d\d:\d\d:\d\d[^;\n]{0,8}; [A-Za-z%][^;\n]{0,30}; -?\w")
_LINES = 20_000
"""A header of sar is looked for in so many lines that begin with a time."""


def _kind(head: bytes) -> Kind | None:
    text = decode(head).replace("\r\n", "\n")
    if _JSON.match(text):
        return "json"
    # a search for one character is much faster than one for a pattern, and a report of sar has none
    if ";" in text and (_CSV.search(text) or _CSV_ROW.search(text)):
        return "csv"
    if is_by_host(text):
        return "hosts"
    for count, found in enumerate(_TIMED.finditer(text)):
        words = found[0].split()
        while words and not (clock.is_time(words[0]) or clock.half_day(words[0]) is not None):
            words.pop(0)
        size = clock.time_words(words)
        if size and (header := header_of(tuple(words[size:]))) is not None and header.activity != "other":
            return "sar"
        if count > _LINES:
            break
    if _PPC.search(text[:100_000]):
        return "ppc"
    return "sar" if _BANNER.search(text) and _EVENT.search(text) else None


def _not_read(head: bytes) -> str | None:
    """What sadf has written in a form that nothing here reads."""
    text = decode(head[:10_000])
    if "<sysstat" in text:
        return "the XML of sadf -x"
    if "<svg" in text and re.search(r">Linux \d", text):
        return "the SVG of sadf -g"
    return "the raw counters of sadf -r" if _RAW.search(text) else None


def _check_units(head: bytes, path: Path) -> None:
    """Refuse a report with units of unknown meaning before any of it is read.

    Raises
    ------
    ParseError
    """
    text = decode(head)
    if _SUFFIXED.search(text) is not None:
        for _ in LineReader(path, State(), averages=False, numbers=False).read(enumerate(text.split("\n"), start=1)):
            pass


def recognise(head: bytes) -> Tool | None:
    r"""Which tool of sysstat wrote a file, by its first unpacked bytes; None for another one's.

    Examples
    --------
    >>> recognise(b"12:00:00 CPU %user %idle\n12:00:01 all 1.00 99.00\n")
    'sar'
    """
    kind = _kind(head[:HEAD_BYTES])
    if kind is None and _not_read(head) is not None:
        return "sadf"
    return None if kind is None else "sar" if kind in {"sar", "hosts"} else "sadf"


def chunks(path: Path, chunk_bytes: int = CHUNK_BYTES) -> list[Chunk]:
    """Parts of a file that can be read independently of each other, in order.

    A big plain report of sar is divided; other files are one chunk, which is read as a stream.

    Parameters
    ----------
    path : pathlib.Path
    chunk_bytes : int
        A part has about so many bytes.

    Raises
    ------
    ParseError
        When the file cannot be read, or neither sar nor sadf wrote it.
    """
    head = read_head(path)
    # UTF-16 has a NUL in every other byte
    if not head.startswith((b"\xff\xfe", b"\xfe\xff")):
        check_text(head, path)
    kind = _kind(head)
    if kind is None and (found := _not_read(head)) is not None:
        raise ParseError(f"expected text of sysstat, found {found}: use sadf -d or sadf -j", file=path, line=1)
    if kind is None:
        raise ParseError("expected a report of sar or the output of sadf, found neither", file=path, line=1)
    if kind == "sar":
        _check_units(head, path)
    if kind == "sar" and is_plain(path) and path.stat().st_size > chunk_bytes * 3 // 2:
        return list(divide(path, chunk_bytes))
    return [Chunk(path, kind)]


def read_chunk(
    chunk: Chunk, averages: bool = False, lines: bool = False, window_bytes: int = WINDOW_BYTES
) -> Iterator[Block]:
    """The blocks of a chunk, in memory that does not grow with the file.

    Parameters
    ----------
    chunk : Chunk
    averages : bool
        Also give the averages that sar printed.
    lines : bool
        Blocks know the lines of their rows, and come in the order of the file; slower.
    window_bytes : int
        Text in memory at once.

    Raises
    ------
    ParseError
        After what is whole: when some of it is damaged, or the file is cut off.
    """
    if chunk.kind == "sar":
        yield from TextReader(chunk, averages, lines, window_bytes).blocks()
    elif chunk.kind == "hosts":
        yield from read_by_host(chunk, averages, lines)
    elif chunk.kind == "csv":
        yield from CsvReader(chunk, lines, window_bytes).blocks()
    elif chunk.kind == "json":
        yield from JsonReader(chunk, lines).blocks()
    else:
        yield from PpcReader(chunk, lines).blocks()


def read(path: Path, averages: bool = False, lines: bool = False) -> Iterator[Block]:
    """The blocks of a whole file.

    Raises
    ------
    ParseError
        As `chunks` and `read_chunk`; also when the file has no row.
    """
    empty = True
    for chunk in chunks(path, chunk_bytes=1 << 62):
        for block in read_chunk(chunk, averages, lines):
            empty = False
            yield block
    if empty:
        hint = "" if averages else "; printed averages are not among them"
        raise ParseError(f"expected rows of telemetry, found none: the report has no rows{hint}", file=path)


def records(source: Path | IO[bytes], averages: bool = False) -> Iterator[TelemetryRecord]:
    """Every value of a file as a record, in the order of the file.

    Parameters
    ----------
    source : pathlib.Path or binary stream
        A stream is the standard input, and kept in a temporary file while it is read.
    averages : bool
        Also give the averages that sar printed.

    Raises
    ------
    ParseError
        As `read`.
    """
    if isinstance(source, Path):
        yield from _records(source, str(source), averages)
        return
    with tempfile.NamedTemporaryFile(prefix="glusterlab-") as kept:
        while data := source.read(1 << 20):
            kept.write(data)
        kept.flush()
        try:
            yield from _records(Path(kept.name), "-", averages)
        except ParseError as error:
            raise ParseError(error.message, file=Path("-"), line=error.line) from error


def _records(path: Path, name: str, averages: bool) -> Iterator[TelemetryRecord]:
    for block in read(path, averages, lines=True):
        metrics = [(column, values.tolist()) for column, values in block.metrics.items()]
        devices = [None] * len(block) if block.device is None else [name or None for name in block.device]
        numbers = [None] * len(block) if block.lines is None else block.lines.tolist()
        for row, seconds in enumerate(block.time.tolist()):
            time = "average" if block.average else iso_time(seconds, block.utc, block.dated)
            source = Source(name, numbers[row])
            for column, values in metrics:
                value = values[row]
                yield TelemetryRecord(
                    tool=block.tool,
                    tool_version=None,
                    source=source,
                    host=block.host,
                    time=time,
                    activity=block.activity,
                    device=devices[row],
                    metric=column,
                    value=None if value != value else value,
                )


@lru_cache(maxsize=4096)
def iso_time(seconds: float, utc: bool, dated: bool) -> str:
    """A block's time as ISO 8601: with an offset when it is UTC, without a date when the file has none.

    Examples
    --------
    >>> iso_time(10.0, True, True), iso_time(10.0, False, True), iso_time(10.0, False, False)
    ('1970-01-01T00:00:10+00:00', '1970-01-01T00:00:10', '00:00:10')
    """
    moment = datetime.fromtimestamp(seconds, UTC)
    if not dated:
        return moment.time().isoformat()
    return (moment if utc else moment.replace(tzinfo=None)).isoformat()
