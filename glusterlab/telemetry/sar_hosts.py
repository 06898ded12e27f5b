"""Reports of sar from several hosts in one file, with the host in front of every line, as pdsh writes them."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from glusterlab.errors import ParseError
from glusterlab.readers.document import Document
from glusterlab.readers.wrapping import by_host
from glusterlab.telemetry.blocks import Block, Chunk, State
from glusterlab.telemetry.sar_text import TextReader

_HEADER = (
    r"(?:\S{1,12}\s+)?\d{1,2}[^\d\s]{1,4}\d\d[^\d\s]{1,4}\d\d\S*\s+(?:\S{1,5}\s+){0,3}?"
    r"(?:CPU|DEV|IFACE|INTR|TTY|BUS|runq-sz|tps|dentunusd|totsck|%?kb[a-z]+|%scpu-10|[A-Za-z][\w-]*/s)(?:\s|$)"
)
_MARK = re.compile(_HEADER)
_PREFIXED = re.compile(rf"(?m)^[ \t]*\[?[A-Za-z0-9][A-Za-z0-9._-]{{0,253}}\]?: +{_HEADER}")


def is_by_host(text: str) -> bool:
    r"""Whether a header of sar has a host in front.

    Examples
    --------
    >>> is_by_host("h1: 02:20:01 PM CPU %user %idle\n"), is_by_host("Average: CPU %user %idle\n")
    (True, False)
    """
    return ": " in text and _PREFIXED.search(text) is not None


def read_by_host(chunk: Chunk, averages: bool, lines: bool) -> Iterator[Block]:
    """The blocks of a whole file, host by host.

    Raises
    ------
    ParseError
        At the end, when some of it is damaged; also when the file is too big for this slow way.
    """
    damage: ParseError | None = None
    every = Document.open(chunk.path).text.split("\n")
    for host, numbered in by_host(every, _MARK).items():
        if host is None:
            # what the shell says around them
            continue
        numbers = [number for number, _ in numbered]
        with tempfile.NamedTemporaryFile("w", prefix="glusterlab-", encoding="utf-8") as kept:
            # a last line without its end may be cut off
            kept.write("\n".join(line for _, line in numbered) + "\n" * (numbers[-1] < len(every)))
            kept.flush()
            part = Chunk(Path(kept.name), "sar", state=State(host=host))
            try:
                for block in TextReader(part, averages, lines).blocks():
                    yield _placed(block, host, numbers)
            except ParseError as error:
                line = None if error.line is None else numbers[error.line - 1]
                damage = damage or ParseError(error.message, file=chunk.path, line=line)
    if damage is not None:
        raise damage


def _placed(block: Block, host: str, numbers: list[int]) -> Block:
    """A block with its lines in the whole file."""
    if block.lines is not None:
        import numpy as np

        block = replace(block, lines=np.array(numbers, dtype=np.int64)[block.lines - 1])
    return replace(block, host=block.host or host)
