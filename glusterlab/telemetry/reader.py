"""Telemetry from any file of sysstat: recognise it, divide it, and read it column by column."""

import re
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from itertools import dropwhile, islice
from pathlib import Path

import numpy as np

from glusterlab.errors import ParseError
from glusterlab.telemetry import clock
from glusterlab.telemetry.blocks import CHUNK_BYTES, WINDOW_BYTES, Block, Chunk, Kind, Tool
from glusterlab.telemetry.metrics import impossible
from glusterlab.telemetry.sadf import CsvReader
from glusterlab.telemetry.sadf_json import JsonReader
from glusterlab.telemetry.sar import TextReader
from glusterlab.telemetry.sar_lines import LineReader
from glusterlab.telemetry.sysstat import header_of
from glusterlab.telemetry.windows import check_text, is_plain, windows
from glusterlab.tools.document import HEAD_BYTES, Document, by_host, decode, read_start, split_lines

_CSV = re.compile(r"(?m)^#? ?hostname;interval;timestamp;")
_CSV_ROW = re.compile(r"(?m)^[^;\n]{1,255};-?\d{1,9};(?:\d{9,10}|\d{4}-\d\d-\d\d \d\d:\d\d:\d\d[^;\n]{0,6});")
_JSON = re.compile(r'\A\s*\{\s*"sysstat"\s*:\s*\{')
_TIMED = re.compile(r"(?m)^\W{0,8}(?:[^\d\s]{1,12}\s+|[午上下오][前後午전후])?\d{1,2}[^\d\s]{1,4}.*$")
_BANNER = re.compile(r"(?m)^\W{0,8}(?:\S+:\s+)?Linux\s+\d")
_BORDER = re.compile(rb"\n\n(?=Linux \S+ \([^()\n]*\))")
_EVENT = re.compile(r"(?m)^\W{0,8}\d.{0,40}\s(?:LINUX RESTART|COM\s)")
_SUFFIXED = re.compile(r"\d[%BkMGTP]\s")
# blanks end with the line: an average of one column stands above the next header
_HEADER = (
    r"(?:\S{1,12}[^\S\n]+)?\d{1,2}[^\d\s]{1,4}\d\d[^\d\s]{1,4}\d\d\S*[^\S\n]+(?:\S{1,5}[^\S\n]+){0,3}?"
    r"(?:CPU|DEV|IFACE|INTR|TTY|BUS|runq-sz|tps|dentunusd|totsck|%?kb[a-z]+|%scpu-10|[A-Za-z][\w-]*/s)(?:\s|$)"
)
_MARK = re.compile(_HEADER)
_PREFIXED = re.compile(rf"(?m)^[ \t]*\[?[A-Za-z0-9][A-Za-z0-9._-]{{0,253}}\]?: +{_HEADER}")
SCAN_BYTES = 4 << 20  # so much text is searched at a time for a place to divide it
_LINES = 20_000  # lines with a time among which a header of sar is searched
_NOT_READ = {
    "the XML of sadf -x": re.compile(r"<sysstat"),
    "the SVG of sadf -g": re.compile(r"(?s)<svg.*>Linux \d"),
    "the raw counters of sadf -r": re.compile(r"(?m)^\d\d:\d\d:\d\d[^;\n]{0,8}; [A-Za-z%][^;\n]{0,30}; -?\w"),
}


def _kind(head: bytes) -> Kind | None:
    text = decode(head).replace("\r\n", "\n")
    if _JSON.match(text):
        return "json"
    # a search for one character is much faster than one for a pattern, and a report of sar has none
    if ";" in text and (_CSV.search(text) or _CSV_ROW.search(text)):
        return "csv"
    # a host in front of sar's lines, as pdsh writes it
    if ": " in text and _PREFIXED.search(text) is not None:
        return "hosts"
    for found in islice(_TIMED.finditer(text), _LINES):
        # not by pop(0): a line may have a quarter of a million words
        words = [*dropwhile(lambda word: not clock.is_time(word) and clock.half_day(word) is None, found[0].split())]
        size = clock.time_words(words)
        if size and (header := header_of(tuple(words[size:]))) is not None and header.activity != "other":
            return "sar"
    return "sar" if _BANNER.search(text) and _EVENT.search(text) else None


def _not_read(head: bytes) -> str | None:
    text = decode(head[:10_000])
    return next((what for what, mark in _NOT_READ.items() if mark.search(text)), None)


def recognise(head: bytes) -> Tool | None:
    r"""Which tool of sysstat wrote a file, by its first unpacked bytes; None for another one's.

    >>> recognise(b"12:00:00 CPU %user %idle\n12:00:01 all 1.00 99.00\n")
    'sar'
    """
    if (kind := _kind(head[:HEAD_BYTES])) in {"sar", "hosts"}:
        return "sar"
    return None if kind is None and _not_read(head) is None else "sadf"


def chunks(path: Path, chunk_bytes: int = CHUNK_BYTES) -> list[Chunk]:
    """Parts of a file that can be read independently of each other, in order.

    Big plain text of several reports of sar is divided at banners into parts of at least `chunk_bytes`; other files are
    one chunk, which is read as a stream. `ParseError` when the file cannot be read, or neither sar nor sadf wrote it.
    """
    head = read_start(path)
    # UTF-16 has a NUL in every other byte
    if not head.startswith((b"\xff\xfe", b"\xfe\xff")):
        check_text(head, path)
    if (kind := _kind(head)) is None:
        found = _not_read(head)
        what = "neither" if found is None else f"{found}: use sadf -d or sadf -j"
        raise ParseError(f"expected a report of sar or the output of sadf, found {what}", file=path, line=1)
    if kind == "sar" and _SUFFIXED.search(text := decode(head)) is not None:
        # a report with units of unknown meaning is refused before any of it is read
        for _ in LineReader(path, averages=False).read(enumerate(text.split("\n"), start=1)):
            pass
    if kind == "sar" and is_plain(path) and path.stat().st_size > chunk_bytes * 3 // 2:
        return _divide(path, chunk_bytes)
    return [Chunk(path, kind)]


def _divide(path: Path, chunk_bytes: int) -> list[Chunk]:
    found: list[Chunk] = []
    start = done = 0
    line = lines = 1
    for window in windows(path, size=min(SCAN_BYTES, chunk_bytes)):
        if (place := _BORDER.search(window, max(0, start + chunk_bytes - done))) is not None:
            found.append(Chunk(path, "sar", start, done + place.end(), line))
            start, line = done + place.end(), lines + window.count(b"\n", 0, place.end())
        done, lines = done + len(window), lines + window.count(b"\n")
    # where line ends or a mark of the encoding were left out, these are no places in the file
    return [*found, Chunk(path, "sar", start, None, line)] if done == path.stat().st_size else [Chunk(path, "sar")]


def read_chunk(chunk: Chunk, averages: bool = False, window_bytes: int = WINDOW_BYTES) -> Iterator[list[Block]]:
    """The blocks of a chunk, those of a window of text together; `averages` also gives those that sar printed.

    `ParseError` for damage, for a value that no host can have, and for a cut, after what is whole.
    """
    if chunk.kind == "sar":
        batches = TextReader(chunk, averages, window_bytes).batches()
    elif chunk.kind == "hosts":
        batches = _read_by_host(chunk, averages)
    elif chunk.kind == "csv":
        batches = CsvReader(chunk, window_bytes).batches()
    else:
        batches = JsonReader(chunk, window_bytes // 4).batches()
    damage: ParseError | None = None
    try:
        for batch in batches:
            kept = []
            for block in batch:
                if (found := impossible(block)) is None:
                    kept.append(block)
                    continue
                wrong, message = found
                damage = damage or ParseError(message, file=chunk.path, line=int(block.lines[wrong.argmax()]))
                kept += [block.rows(~wrong)] if not wrong.all() else []
            yield kept
    except ParseError as error:
        damage = damage or error
    if damage is not None:
        raise damage


def _read_by_host(chunk: Chunk, averages: bool) -> Iterator[list[Block]]:
    damage: ParseError | None = None
    every = split_lines(Document.open(chunk.path).text)
    for host, numbered in by_host(every, _MARK).items():
        if host is None:
            # what the shell says around them
            continue
        places = np.array([number for number, _ in numbered])
        with tempfile.NamedTemporaryFile("w", prefix="glusterlab-", encoding="utf-8") as kept:
            # a last line without its end may be cut off
            kept.write("\n".join(line for _, line in numbered) + "\n" * (numbered[-1][0] < len(every)))
            kept.flush()
            try:
                for batch in TextReader(Chunk(Path(kept.name), "sar"), averages).batches():
                    yield [replace(block, host=block.host or host, lines=places[block.lines - 1]) for block in batch]
            except ParseError as error:
                line = None if error.line is None else numbered[error.line - 1][0]
                damage = damage or ParseError(error.message, file=chunk.path, line=line)
    if damage is not None:
        raise damage


def read_batches(path: Path, averages: bool = False, window_bytes: int = WINDOW_BYTES) -> Iterator[list[Block]]:
    """The blocks of a whole file as `read_chunk` gives them; `ParseError` also when the file has no row."""
    empty = True
    for chunk in chunks(path, chunk_bytes=1 << 62):
        for batch in read_chunk(chunk, averages, window_bytes):
            empty = empty and not batch
            yield batch
    if empty:
        hint = "" if averages else "; printed averages are not among them"
        raise ParseError(f"expected rows of telemetry, found none: the report has no rows{hint}", file=path)


def read(path: Path, averages: bool = False) -> Iterator[Block]:
    """The blocks of a whole file; raises as `read_batches`."""
    for batch in read_batches(path, averages):
        yield from batch
