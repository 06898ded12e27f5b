"""A raw file as a reader gets it: unpacked, decoded, its lines numbered; and what people and tools wrap around reports.

Raw files from elsewhere are hostile: sizes are bounded before anything is unpacked or decoded.
"""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import math
import os
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, partial
from io import BufferedReader, RawIOBase
from pathlib import Path
from typing import IO, Any, NoReturn
from xml.etree import ElementTree as ET
from xml.etree.ElementTree import Element

from glusterlab.errors import ParseError
from glusterlab.rawfile import most_unpacked, open_raw
from glusterlab.tools.records import Source

MAX_BYTES = 64 << 20  # of a result, unpacked; telemetry is streamed and has no such bound
MAX_LINE_BYTES = 1 << 20  # of text; JSON and XML may have longer lines
MAX_LINES = 2_000_000  # of text: an empty one takes far more memory than its byte
MAX_DEPTH = 200  # levels of XML and JSON
MAX_NODES = 1_000_000  # elements and attributes of XML: each takes far more memory than text
HEAD_BYTES = 1 << 20  # the part of a file by which its tool is recognised

_XZ_MEMORY = 128 << 20
_MAX_STREAMS = 50_000  # one behind the other in an xz file, each of which costs some time
SADC_MAGIC = (b"\x96\xd5", b"\xd5\x96")
SADC = "a binary file of sadc; convert it on its host: LC_ALL=C sadf -d -U FILE -- -A"
_BINARY = {
    **dict.fromkeys(SADC_MAGIC, SADC),
    b"\x7fELF": "a program",
    b"PK\x03\x04": "a zip archive; unpack it",
    b"(\xb5/\xfd": "a zstd file; unpack it",
    b"PAR1": "a Parquet file",
    b"SQLite": "a database",
    b"\x89PNG": "a picture",
}
_ESCAPES = re.compile("\x1b(?:\\[[0-9;?]*[A-Za-z]|[()][A-Z0-9])")
_TEXT_CONTROLS = re.compile("[\x00-\x06\x0e-\x1a\x1c-\x1f]")
_QUOTE = re.compile(r"(?:[>|]+ ?)+")
_HOST = re.compile(r"\s*\[?([A-Za-z0-9][A-Za-z0-9._-]{0,253})\]?:(?: |$)(.*)", re.DOTALL)
_OBJECT = re.compile(r"(?:^[ \t]*|(?<=[}\]]))(?=(?:\[\s*)?\{(?:\s*[\"}]|\s*\Z)|\[\s*\Z)", re.MULTILINE)
_BARE = re.compile(r"(:[ \t]*)-?(?:nan|inf|infinity)\b(?=[ \t]*[,}\]\n]|[ \t]*$)", re.IGNORECASE | re.MULTILINE)
_NUMBER = re.compile(r"[0-9]+(?:[.,][0-9]*)?(?:[eE][+-]?[0-9]{1,3})?|[.,][0-9]+")
_MAX_DIGITS = 18
_MAX_PIECES = 3  # a mail client breaks a line into no more
_MAX_JOINED = 300  # but a command line: the whole of it is looked at again with each piece
_LONE_SURROGATE = re.compile(  # escapes in JSON that stand for no character, and cannot be written again
    r"\\u[dD][89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F])|(?<!\\u[dD][89abAB][0-9a-fA-F]{2})\\u[dD][c-fC-F][0-9a-fA-F]{2}"
)
_PACKED: dict[bytes, Callable[[IO[bytes]], Any]] = {  # what unpacks a file, by what it begins with
    b"\xfd7zXZ\x00": lambda plain: Xz(plain),
    b"\x1f\x8b": lambda plain: gzip.GzipFile(fileobj=plain),
    b"BZh": bz2.BZ2File,
}

# what reading a packed file raises when it is damaged or cut off; bzip2's OSError has no errno
PACKED_ERRORS = (lzma.LZMAError, gzip.BadGzipFile, zlib.error, EOFError)


def open_binary(path: Path) -> IO[bytes]:
    """Open a raw file, unpacked when it is xz, gzip or bzip2; reading damaged packed data raises `PACKED_ERRORS`."""
    try:
        plain = open_raw(path)
        start = plain.peek(8)[:8]
    except OSError as error:
        code = 2 if isinstance(error, (FileNotFoundError, IsADirectoryError)) else 3
        raise ParseError(f"cannot be read: {error.strerror}", file=path, exit_code=code) from error
    unpack = next((unpack for magic, unpack in _PACKED.items() if start.startswith(magic)), None)
    return plain if unpack is None else BufferedReader(_Unpacked(path, plain, unpack(plain)))


class _Unpacked(RawIOBase):
    """What a packed file holds; `ParseError` when that is more than `most_unpacked` allows a file of its size."""

    def __init__(self, path: Path, plain: IO[bytes], stream: Any) -> None:
        self._path, self._plain, self._stream = path, plain, stream
        self._size = os.fstat(plain.fileno()).st_size
        self._left = most_unpacked(self._size)

    def readable(self) -> bool:
        return True

    def close(self) -> None:
        self._plain.close()
        super().close()

    def readinto(self, buffer: Any) -> int:
        found: int = self._stream.readinto(buffer)
        self._left -= found
        if self._left < 0:
            message = f"expected {self._size:,} packed bytes to hold at most {most_unpacked(self._size):,}, found more"
            raise ParseError(f"{message}: restore it from a copy, or unpack it by hand if it is right", file=self._path)
        return found


class Xz(RawIOBase):
    """What an xz file of at most so many streams holds, in bounded memory: `lzma.LZMAFile` knows no such bound."""

    def __init__(self, plain: IO[bytes], most: int = _MAX_STREAMS) -> None:
        self._plain, self._most = plain, most
        self._new = partial(lzma.LZMADecompressor, lzma.FORMAT_XZ, memlimit=_XZ_MEMORY)
        self._decoder = self._new()
        self._streams = 1

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        view = memoryview(buffer).cast("B")
        while True:
            rest = b""
            if self._decoder.eof:
                # another stream may follow, after zeros
                rest = (self._decoder.unused_data or self._plain.read(1 << 16)).lstrip(b"\x00")
                if not rest:
                    return 0
                self._decoder, self._streams = self._new(), self._streams + 1
                if self._streams > self._most:
                    raise lzma.LZMAError(f"more than {self._most:,} streams")
            elif self._decoder.needs_input and not (rest := self._plain.read(1 << 16)):
                raise EOFError("the file ends before its end marker")
            if unpacked := self._decoder.decompress(rest, max_length=len(view)):
                view[: len(unpacked)] = unpacked
                return len(unpacked)


def read_start(path: Path, size: int = HEAD_BYTES) -> bytes:
    """The first bytes of a raw file, unpacked; `ParseError` when it cannot be read, or is damaged there."""
    with open_binary(path) as stream:
        try:
            return stream.read(size)
        except PACKED_ERRORS as error:
            raise ParseError(f"expected a whole packed file, found damage: {error}", file=path) from error
        except OSError as error:
            raise ParseError(f"cannot be read: {error.strerror or error}", file=path) from error


def read_bytes(path: Path, limit: int = MAX_BYTES) -> bytes:
    """The bytes of a raw file, unpacked; `ParseError` when it cannot be read, is damaged, or has more than `limit`."""
    data = read_start(path, limit + 1)
    if len(data) > limit:
        raise ParseError(f"expected at most {limit:,} bytes, found more", file=path)
    return data


def read_text(path: Path) -> str:
    """The text of a raw file that is UTF-8; as `read_bytes`."""
    return read_bytes(path).decode("utf-8", errors="replace")


def decode(data: bytes) -> str:
    """Text of unknown encoding: UTF-8 and UTF-16 with or without a mark, else Latin-1, which any byte is."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16", errors="replace")
    if data[1:40:2].count(0) > 10:
        return data.decode("utf-16-le", errors="replace")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        # a multi-byte character that a cut has halved is no sign of another encoding
        if error.start >= len(data) - 3:
            return data.decode("utf-8-sig", errors="replace")
        return data.decode("latin-1")


def split_lines(text: str) -> list[str]:
    """The lines of a text, without their ends; `ParseError` for more than `MAX_LINES`."""
    if text.count("\n") > MAX_LINES:
        raise ParseError(f"expected at most {MAX_LINES:,} lines, found more")
    return text.split("\n")


@dataclass(frozen=True)
class Document:
    """A raw file in memory, unpacked; the path ``-`` is the standard input."""

    path: Path
    data: bytes

    @classmethod
    def open(cls, path: Path, limit: int = MAX_BYTES) -> Document:
        """Read a file, and refuse it as `read_bytes` and `checked` do."""
        return cls(path, read_bytes(path, limit)).checked()

    def checked(self) -> Document:
        """Return this document; raise `ParseError` when it is empty or binary, and so no text."""
        if not self.data.strip():
            raise self.error("expected the output of a tool, found an empty file")
        if what := next((what for magic, what in _BINARY.items() if self.data.startswith(magic)), None):
            raise self.error(f"expected text, found {what}", 1)
        if (place := _TEXT_CONTROLS.search(self.text)) is not None:
            raise self.error(f"expected text, found binary data: {place[0]!r}", self.line_of(place.start()))
        return self

    @cached_property
    def text(self) -> str:
        """The whole text; lines end in a line feed."""
        return decode(self.data).replace("\r\n", "\n").replace("\r", "\n")

    @cached_property
    def head(self) -> str:
        """The text's beginning, of `HEAD_BYTES` characters at most: to recognise the tool."""
        return self.text[:HEAD_BYTES]

    @cached_property
    def lines(self) -> list[str]:
        """The lines, without their ends and a terminal's colours; `ParseError` for one beyond `MAX_LINE_BYTES`."""
        lines = split_lines(_ESCAPES.sub("", self.text))
        if lines[-1] == "":
            lines.pop()
        for number, line in enumerate(lines, start=1):
            if len(line) > MAX_LINE_BYTES:
                raise self.error(f"expected lines of at most {MAX_LINE_BYTES:,} characters, found more", number)
        return lines

    @property
    def ends_in_a_line(self) -> bool:
        """Whether the last line has its end; without it, it may have been cut."""
        return self.text.endswith("\n")

    def line_of(self, position: int) -> int:
        """The line, from 1, of a place in `text`."""
        return self.text.count("\n", 0, position) + 1

    def source(self, line: int | None) -> Source:
        return Source(str(self.path), line)

    def error(self, message: str, line: int | None = None) -> ParseError:
        return ParseError(message, file=self.path, line=line)


@contextmanager
def _json_errors(text: str, line: int | None = None) -> Iterator[None]:
    """What is wrong with JSON as a `ParseError`, with the line, or where it is unknown that on which it begins."""
    try:
        yield
    except json.JSONDecodeError as error:
        cut = error.pos >= len(text.rstrip()) or error.msg.startswith("Unterminated string")
        found = "its end" if cut else f"damage: {error.msg}"
        raise ParseError(f"expected whole JSON, found {found}", line=error.lineno) from error
    except RecursionError as error:
        raise ParseError(f"expected JSON of at most {MAX_DEPTH} levels, found more", line=line) from error
    except ValueError as error:
        raise ParseError("expected JSON, found a number of too many digits", line=line) from error
    except ParseError as error:
        raise ParseError(error.message, line=error.line or line) from error


def unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The object of these pairs, for any reader of JSON; `ParseError` when a key stands twice with different values."""
    found = dict(pairs)
    if len(found) < len(pairs):
        for key, value in pairs:
            if found[key] != value:
                raise ParseError(f"expected each key of JSON once, found {key[:80]!r} with different values")
    return found


def read_json(text: str, pairs: Callable[[list[tuple[str, Any]]], Any] = unique_keys) -> Any:
    """JSON data, by `pairs` where tools write a key twice; NaN and Infinity are None; `ParseError` for all else."""
    with _json_errors(text):
        return json.loads(_LONE_SURROGATE.sub(r"\\ufffd", text), object_pairs_hook=pairs, parse_constant=lambda _: None)


class _Guard(ET.TreeBuilder):
    """Builds bounded XML."""

    def __init__(self) -> None:
        super().__init__()
        self._depth = self._nodes = 0

    def doctype(self, *_: object) -> NoReturn:
        raise ParseError("expected XML without a document type declaration, found one: no tool writes it")

    def start(self, tag: str, attributes: dict[str, str], /) -> Element:
        self._depth, self._nodes = self._depth + 1, self._nodes + 1 + len(attributes)
        if self._nodes > MAX_NODES:
            raise ParseError(f"expected XML of at most {MAX_NODES:,} elements and attributes, found more")
        if self._depth > MAX_DEPTH:
            raise ParseError(f"expected XML of at most {MAX_DEPTH} levels, found more")
        return super().start(tag, attributes)

    def end(self, tag: str, /) -> Element:
        self._depth -= 1
        return super().end(tag)


def read_xml(text: bytes | str) -> Element:
    """The root of a bounded XML document; `ParseError` also for a document type declaration, the place of entities."""
    parser = ET.XMLParser(target=_Guard())  # noqa: S314 - it refuses every DTD
    try:
        parser.feed(text)
        root: Element = parser.close()
    except ET.ParseError as error:
        raise ParseError(f"expected XML, found damage: {error}", line=error.position[0]) from error
    except (ValueError, LookupError) as error:
        raise ParseError(f"expected XML, found another encoding: {error}") from error
    return root


def by_marks(marks: Mapping[str, float], plain: Callable[[str], str] = str) -> Callable[[Document], float]:
    """What recognises a tool by the first pattern in the head of a document, made `plain`: each with how sure it is."""

    def recognise(document: Document) -> float:
        head = plain(document.head)
        return next((sure for mark, sure in marks.items() if re.search(mark, head)), 0.0)

    return recognise


def unwrapped(line: str) -> str:
    """A line without quote marks in front, with one blank where there were several."""
    text = line.strip()
    if text.startswith((">", "|")):
        text = _QUOTE.sub("", text, count=1)
    return " ".join(text.split())


def by_host(lines: Sequence[str], mark: re.Pattern[str]) -> dict[str | None, list[tuple[int, str]]]:
    """The lines, with their numbers from 1, of each host that pdsh or a like tool has written in front of them.

    A host is one only in front of a line that `mark` matches, sure to be of a report. Lines without one are under None.
    """
    hosts = {match[1] for line in lines if (match := _HOST.match(line)) and mark.match(match[2].strip())}
    found: dict[str | None, list[tuple[int, str]]] = {}
    for number, line in enumerate(lines, start=1):
        match = _HOST.match(line) if hosts else None
        host, rest = (match[1], match[2]) if match is not None and match[1] in hosts else (None, line)
        found.setdefault(host, []).append((number, rest))
    return found


def mended(
    lines: Iterable[tuple[int, str]],
    is_broken: Callable[[str], bool],
    goes_on: Callable[[str, str], bool],
    is_whole: Callable[[str], bool],
) -> Iterator[tuple[int, str]]:
    """The lines; one that a mail client has broken is one again with those below with which it goes on to be whole.

    As they were where two lines below do not make it whole; one that is whole and still broken takes `_MAX_JOINED`.
    """
    held: list[tuple[int, str]] = []
    text, joined = "", 0
    for number, line in lines:
        if held and joined < _MAX_JOINED and goes_on(text, line):
            joined += 1
            held, text = [*held, (number, line)], f"{text} {' '.join(line.split())}"
            if is_whole(text):
                held = [(held[0][0], text)]
            if len(held) < _MAX_PIECES and (is_broken(text) or not is_whole(text)):
                continue
            yield from held
            held = []
            continue
        yield from held
        held, text = ([(number, line)], " ".join(line.split())) if is_broken(line) else ([], "")
        joined = 0
        if not held:
            yield number, line
    yield from held


def json_objects(text: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """The JSON objects in a text, alone or in lists, at the beginning of a line or after another, with their lines.

    NaN and Infinity, however they are written, are None. `ParseError` when one is damaged, after those before it.
    """
    text = _LONE_SURROGATE.sub(r"\\ufffd", _BARE.sub(r"\1null", text))
    decoder = json.JSONDecoder(object_pairs_hook=unique_keys, parse_constant=lambda _: None)
    position, line, counted = 0, 1, 0
    while (start := _OBJECT.search(text, position)) is not None:
        line, counted = line + text.count("\n", counted, start.end()), start.end()
        with _json_errors(text, line):
            value, position = decoder.raw_decode(text, start.end())
        yield from ((line, one) for one in (value if isinstance(value, list) else [value]) if isinstance(one, dict))


@contextmanager
def located(path: Path, line: int | None = None) -> Iterator[None]:
    """Name the file in a `ParseError` of the block, and where it is unknown the line."""
    try:
        yield
    except ParseError as error:
        raise ParseError(error.message, **{**error.details, "file": path, "line": error.line or line}) from error


def word(value: object) -> str | None:
    """A string of JSON, of 200 characters at most; None where there is none."""
    return value[:200] if isinstance(value, str) and value else None


def number(value: object) -> float | None:
    """A finite number that is not negative, from JSON or from text (``1,5``); None for all else."""
    if isinstance(value, str):
        text = value.strip()
        if len(text) > 40 or _NUMBER.fullmatch(text) is None:
            return None
        value = text.replace(",", ".")
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    try:
        found = float(value)
    except (ValueError, OverflowError):
        return None
    return found if math.isfinite(found) and found >= 0 else None


def whole(value: object) -> int | None:
    """A whole number that is not negative and that a counter could hold; None for all else."""
    if isinstance(value, str):
        text = value.strip()
        return int(text) if text.isascii() and text.isdigit() and len(text) <= _MAX_DIGITS else None
    found = number(value)
    return None if found is None or found != int(found) or found >= 10**_MAX_DIGITS else int(found)
