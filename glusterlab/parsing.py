"""Any raw file as JSON lines: the tool is recognised by content, results and telemetry alike."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from glusterlab import readers
from glusterlab.errors import ParseError, UsageError
from glusterlab.readers.document import MAX_BYTES, Document, read_head

if TYPE_CHECKING:
    from glusterlab.readers.records import Record

TELEMETRY_TOOLS = ("sar", "sadf")
"""Tools whose files are read in windows, whatever their size."""

SURE = 0.9
"""So sure a reader is when it has seen a mark that only its tool leaves."""

STDIN = Path("-")


def tools() -> tuple[str, ...]:
    """Names of all tools whose files can be read."""
    return (*readers.TOOLS, *TELEMETRY_TOOLS)


def tool_of(path: Path) -> str:
    """Whose output a file is, by its content.

    Raises
    ------
    ParseError
        When nobody knows.
    """
    if _is_telemetry(path):
        from glusterlab.telemetry.reading import recognise

        return str(recognise(read_head(path)))
    return readers.recognise(Document.open(path)).TOOL


def parse(path: Path, *, tool: str | None = None, averages: bool = False) -> Iterator[Record]:
    """The records of a raw file.

    Parameters
    ----------
    path : pathlib.Path
        May be packed (xz, gzip, bzip2). ``-`` is the standard input, which needs `tool`.
    tool : str, optional
        Whose output it is; recognised by content by default.
    averages : bool
        Of sar's files also the averages that it printed.

    Raises
    ------
    ParseError
        When it is no result of a known tool, is cut off or damaged; what is whole before that was yielded.
    UsageError
        When there is no such tool, or none is named for the standard input.
    """
    if tool is not None and tool not in tools():
        raise UsageError(f"unknown tool {tool!r}: there are {', '.join(tools())}")
    if path == STDIN and tool is None:
        raise UsageError("the standard input needs --tool, such as: glusterlab parse --tool iozone -")
    try:
        if tool in TELEMETRY_TOOLS or (tool is None and _is_telemetry(path)):
            from glusterlab.telemetry.reading import records

            yield from records(sys.stdin.buffer if path == STDIN else path, averages)
        else:
            yield from readers.read(_document(path), tool)
    except ParseError as error:
        raise ParseError(error.message, file=path, line=error.line) from error


def _document(path: Path) -> Document:
    if path != STDIN:
        return Document.open(path)
    data = sys.stdin.buffer.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise ParseError(f"expected at most {MAX_BYTES:,} bytes, found more", file=path)
    return Document(path, data).checked()


def _is_telemetry(path: Path) -> bool:
    from glusterlab.telemetry.reading import recognise

    head = read_head(path)
    if recognise(head) is None:
        return False
    # a log may hold sar's lines and a tool's report; the report is what it was kept for
    document = Document(path, head)
    return max(readers.reader(tool).recognise(document) for tool in readers.TOOLS) < SURE


def write_lines(
    paths: Iterable[Path],
    emit: Callable[[str], object],
    complain: Callable[[str], object],
    *,
    tool: str | None = None,
    averages: bool = False,
    kinds: Iterable[str] = (),
) -> bool:
    """Write the records of files as JSON lines; a bad file does not stop the others.

    Parameters
    ----------
    paths : iterable of pathlib.Path
        ``-`` is the standard input.
    emit, complain : callable
        Take one line without its end: a record, or what is wrong with a file.
    tool, averages
        As `parse` takes them.
    kinds : iterable of str
        Only these kinds of records; all by default.

    Returns
    -------
    bool
        Whether every file was read to its end.
    """
    wanted = frozenset(kinds)
    good = True
    for path in paths:
        try:
            for record in parse(path, tool=tool, averages=averages):
                if not wanted or record.kind in wanted:
                    emit(record.to_json())
        except ParseError as error:
            good = False
            complain(" ".join(str(error).split()))
    return good
