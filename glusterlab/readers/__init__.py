"""Readers of raw files: which tool wrote a file is recognised by its content, and its results become records.

A reader is one module. It has ``TOOL``, its name; ``recognise(document)``, how sure it is that the document is one of
its own, from 0 to 1; and ``read(document)``, which yields records. What is whole is yielded; damage, a cut and what is
no result raise `ParseError` with the line and with what was expected. A new tool is one such module, of its tool's
name, and one word here.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import Protocol, cast

from glusterlab.errors import ParseError, UsageError
from glusterlab.readers.document import Document
from glusterlab.readers.records import Record

__all__ = ["TOOLS", "Document", "Reader", "Record", "read", "reader", "recognise"]


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


TOOLS = ("iozone", "smallfile", "fio", "dd", "iperf3", "specsfs", "gluster")
"""Every tool whose files fit into memory. Telemetry is read column by column, see `glusterlab.telemetry`."""


def reader(tool: str) -> Reader:
    """The reader of a tool; it is loaded when it is asked for, as most commands need none or one.

    Raises
    ------
    UsageError
        When there is no such tool.
    """
    if tool not in TOOLS:
        raise UsageError(f"unknown tool {tool!r}: there are {', '.join(TOOLS)}")
    return cast("Reader", import_module(f"{__name__}.{tool}"))


def recognise(document: Document) -> Reader:
    """The reader that is surest of a document.

    Raises
    ------
    ParseError
        When none is.
    """
    sure = {tool: reader(tool).recognise(document) for tool in TOOLS}
    best = max(sure, key=lambda tool: sure[tool])
    if sure[best] <= 0:
        known = ", ".join([*TOOLS, "sar", "sadf"])
        raise document.error(f"expected the output of {known}; found none of them", 1)
    return reader(best)


def read(document: Document, tool: str | None = None) -> Iterator[Record]:
    """The records of a document, by the reader that is surest of it or by the named one.

    Raises
    ------
    ParseError
        When it is no result, is damaged or cut off; what is whole before that was yielded.
    UsageError
        When there is no such tool.
    """
    found = recognise(document) if tool is None else reader(tool)
    try:
        yield from found.read(document)
    except ParseError as error:
        raise ParseError(error.message, file=document.path, line=error.line) from error
