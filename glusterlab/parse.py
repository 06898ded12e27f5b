"""Any raw file as records or JSON lines: the tool is recognised by content, results and telemetry alike."""

import json
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path

from glusterlab import tools as readers
from glusterlab.errors import ParseError, UsageError
from glusterlab.spec.fields import suggest
from glusterlab.store.evidence import ARCHIVE, opened
from glusterlab.telemetry import records as telemetry
from glusterlab.telemetry.reader import recognise
from glusterlab.tools.document import MAX_BYTES, Document, located, read_start
from glusterlab.tools.records import Record

TELEMETRY_TOOLS = ("sar", "sadf")  # tools whose files are read in windows, whatever their size

_SURE = 0.9  # a reader has seen a mark that only its tool leaves
STDIN = Path("-")


def tools() -> tuple[str, ...]:
    """Names of all tools whose files can be read."""
    return (*readers.readers(), *TELEMETRY_TOOLS)


def tool_of(path: Path) -> str:
    """Whose output a file is, by its content; `ParseError` when it is no known tool's."""
    return _telemetry_tool(path) or readers.recognise(Document.open(path))


def parse(path: str | Path, *, tool: str | None = None, averages: bool = False) -> Iterator[Record]:
    """The records of a raw file, plain or packed (xz, gzip, bzip2); ``-`` is the standard input, which needs `tool`.

    A file of a sample's packed evidence is named as if it lay beside it. `averages` also gives those that sar printed.
    `ParseError` when it is no result or damaged, after what is whole; `UsageError` for an unknown `tool`.
    """
    path = Path(path)
    with located(path), _opened(path) as plain:
        found: Iterator[Record]
        if _is_telemetry(plain, tool):
            found = telemetry.records(sys.stdin.buffer if plain == STDIN else plain, averages)
        else:
            found = readers.read(_document(plain), tool)
        for record in found:
            yield record if plain == path else replace(record, source=replace(record.source, file=str(path)))


def _opened(path: Path) -> AbstractContextManager[Path]:
    if path.name == ARCHIVE:
        named = f"name one of its files as if it lay beside it, such as {path.parent}/telemetry/HOST.csv.xz"
        raise ParseError(f"holds the packed files of a sample: {named}", file=path)
    return opened(path)


def _is_telemetry(path: Path, tool: str | None) -> bool:
    if tool is not None and tool not in tools():
        raise UsageError(f"unknown tool {tool!r}{suggest(tool, list(tools()))}")
    if path == STDIN and tool is None:
        raise UsageError("the standard input needs --tool, such as: glusterlab parse --tool iozone -")
    return tool in TELEMETRY_TOOLS or (tool is None and _telemetry_tool(path) is not None)


def _telemetry_tool(path: Path) -> str | None:
    head = read_start(path)
    tool = recognise(head)
    # a log may hold sar's lines and a tool's report; the report is what it was kept for
    return tool if tool is not None and readers.surest(Document(path, head))[0] < _SURE else None


def _document(path: Path) -> Document:
    if path != STDIN:
        return Document.open(path)
    data = sys.stdin.buffer.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise ParseError(f"expected at most {MAX_BYTES:,} bytes, found more", file=path)
    return Document(path, data).checked()


def write_lines(
    paths: Iterable[Path],
    emit: Callable[[str], object],
    complain: Callable[[str], object],
    *,
    tool: str | None = None,
    averages: bool = False,
    kinds: Iterable[str] = (),
) -> int:
    """Write the records of files as JSON lines, of `kinds` or all; return 0, or the highest exit code of an error.

    `emit` takes one record or the lines of many, `complain` what is wrong with a file, both without the last line end.
    """
    wanted, code = frozenset(kinds), 0
    for path in paths:
        try:
            with located(path), _opened(path) as plain:
                old, new = (f'"file": {json.dumps(str(name), ensure_ascii=False)}' for name in (plain, path))
                for text in _lines(plain, tool, averages, wanted):
                    # the name of a temporary copy is no name of a source
                    emit(text if plain == path else text.replace(old, new))
        except ParseError as error:
            code = max(code, error.exit_code)
            complain(" ".join(str(error).split()))
    return code


def _lines(path: Path, tool: str | None, averages: bool, wanted: frozenset[str]) -> Iterator[str]:
    if _is_telemetry(path, tool):
        texts = telemetry.json_lines(sys.stdin.buffer if path == STDIN else path, averages)
        yield from (text for text in texts if not wanted or "telemetry" in wanted)
    else:
        records = readers.read(_document(path), tool)
        yield from (record.to_json() for record in records if not wanted or record.kind in wanted)
