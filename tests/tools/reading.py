"""What readers say of a text: its records, and the error after them."""

from pathlib import Path

import pytest

from glusterlab.errors import ParseError
from glusterlab.tools import Document, Record, read
from glusterlab.tools.records import WorkerRecord, WorkloadRecord


def document(text: str | bytes, name: str = "log.txt") -> Document:
    return Document(Path(name), text if isinstance(text, bytes) else text.encode()).checked()


def until_error(text: str | bytes, tool: str | None = None) -> tuple[list[Record], ParseError | None]:
    """The records of a tool, or of the one that recognises the text."""
    records: list[Record] = []
    try:
        records.extend(read(document(text), tool))
    except ParseError as error:
        return records, error
    return records, None


def workloads(text: str | bytes, tool: str | None = None) -> tuple[list[WorkloadRecord], ParseError | None]:
    records, error = until_error(text, tool)
    return [record for record in records if isinstance(record, WorkloadRecord)], error


def runs(text: str | bytes, tool: str | None = None) -> list[WorkloadRecord]:
    """The results of a text that is whole."""
    return [record for record in read(document(text), tool) if isinstance(record, WorkloadRecord)]


def workers(text: str | bytes, tool: str | None = None) -> list[WorkerRecord]:
    return [record for record in read(document(text), tool) if isinstance(record, WorkerRecord)]


def damaged(text: str | bytes, tool: str | None = None) -> tuple[list[WorkloadRecord], ParseError]:
    found, error = workloads(text, tool)
    if error is None:
        pytest.fail("no error was raised")
    return found, error


def messages(record: WorkloadRecord) -> str:
    return " | ".join(str(reason) for reason in record.reasons)
