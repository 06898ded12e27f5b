"""Reader of gluster's output."""

from __future__ import annotations

from collections.abc import Iterator

from glusterlab.readers.document import Document
from glusterlab.readers.records import Record

TOOL = "gluster"


def recognise(document: Document) -> float:
    """Not written yet."""
    return 0.0


def read(document: Document) -> Iterator[Record]:
    """Not written yet."""
    raise document.error("not written yet")
