"""Readers of raw files: which tool wrote a file is recognised by its content, and its results become records.

A reader is one module. It has ``TOOL``, its name; ``recognise(document)``, how sure it is that the document is one of
its own, from 0 to 1; and ``read(document)``, which yields records. What is whole is yielded; damage, a cut and what is
no result raise `ParseError` with the line and with what was expected. A new tool is one such module and one line here.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from glusterlab.errors import ParseError, UsageError
from glusterlab.readers import dd, fio, gluster, iozone, iperf3, smallfile, specsfs
from glusterlab.readers.document import Document
from glusterlab.readers.records import Record

__all__ = ["READERS", "Document", "Reader", "Record", "read", "recognise"]


class Reader(Protocol):
    """What a reader module has."""

    TOOL: str

    def recognise(self, document: Document) -> float:
        """How sure it is that the document is its own, from 0 (it is not) to 1."""

    def read(self, document: Document) -> Iterator[Record]:
        """The records of a document.

        Raises
        ------
        ParseError
            After what is whole was yielded.
        """


READERS: dict[str, Reader] = {reader.TOOL: reader for reader in (iozone, smallfile, fio, dd, iperf3, specsfs, gluster)}
"""Every reader whose files fit into memory, by tool. Telemetry is read column by column, see `glusterlab.telemetry`."""


def recognise(document: Document) -> Reader:
    """The reader that is surest of a document.

    Raises
    ------
    ParseError
        When none is.
    """
    sure = {tool: reader.recognise(document) for tool, reader in READERS.items()}
    best = max(sure, key=lambda tool: sure[tool])
    if sure[best] <= 0:
        known = ", ".join([*READERS, "sar", "sadf"])
        raise document.error(f"expected the output of {known}; found none of them", 1)
    return READERS[best]


def read(document: Document, tool: str | None = None) -> Iterator[Record]:
    """The records of a document, by the reader that is surest of it or by the named one.

    Raises
    ------
    ParseError
        When it is no result, is damaged or cut off; what is whole before that was yielded.
    UsageError
        When there is no such tool.
    """
    if tool is not None and tool not in READERS:
        raise UsageError(f"unknown tool {tool!r}: there are {', '.join(READERS)}")
    reader = recognise(document) if tool is None else READERS[tool]
    try:
        yield from reader.read(document)
    except ParseError as error:
        raise ParseError(error.message, file=document.path, line=error.line) from error
