"""Reader of dd's output: GNU's, BSD's and busybox', old and new, in any language, with the command where it is shown.

dd says how many records it has read and written, whole and partial, and, but for very old ones, how many bytes in how
many seconds. The rate that it prints is rounded, and in powers of 1,024 with busybox: the throughput is bytes by
seconds. What it prints while it runs is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from glusterlab.readers.dd_text import COPIED, IN, Copy, copies
from glusterlab.readers.document import Document
from glusterlab.readers.records import Details, Record, WorkloadRecord
from glusterlab.readers.wrapping import number, unwrapped
from glusterlab.reasons import Reason

TOOL = "dd"

_PREFIX = r"^(?:\[?[\w.-]{1,254}\]?: )?"
_RECORDS = re.compile(_PREFIX + IN.pattern, re.MULTILINE)
_BYTES = re.compile(_PREFIX + COPIED.pattern, re.MULTILINE)
_SHAPE = re.compile(
    r"^[^0-9+:=/\n]{0,24}[0-9]{1,18}\+[0-9]{1,18} ?[^0-9+:=/\n]{1,40}\n"
    r"[^0-9+:=/\n]{0,24}[0-9]{1,18}\+[0-9]{1,18} ?[^0-9+:=/\n]{1,40}\n"
    r"[0-9]{1,18} ?[^\W\d_].{1,80}/ ?[^\W\d_]",
    re.MULTILINE,
)
_ANY_COPIED = re.compile(
    r"^[0-9]{1,18} ?[^\W\d_]{1,12} ?[(（][0-9.,]{1,9} ?[kMGTPE]i?B[^()（）\n]{0,20}[)）]"
    r"[^0-9\n]{1,60}[0-9][0-9.,e-]{0,30} ?[^\W\d_]",
    re.MULTILINE,
)
_PRINTED = re.compile(r"([0-9.,]+(?:[eE][-+]?[0-9]{1,3})?) ?([kKMGTPE]?)")
_LEAST_SLACK = 1e-3


def recognise(document: Document) -> float:
    """0.95 for a line of records in, 0.9 for one of bytes copied, 0.85 for the shape of either in another language."""
    text = "\n".join(unwrapped(line) for line in document.head.splitlines())
    for mark, sure in ((_RECORDS, 0.95), (_BYTES, 0.9), (_SHAPE, 0.85), (_ANY_COPIED, 0.85)):
        if mark.search(text) is not None:
            return sure
    return 0.0


def read(document: Document) -> Iterator[Record]:
    """Each run of dd.

    Raises
    ------
    ParseError
        When the last run is cut off or there is none, after those that are whole.
    """
    runs: dict[str | None, int] = {}
    for host, copy in copies(document):
        runs[host] = runs.get(host, 0) + 1
        yield _record(document, host, copy, runs[host])
    if not runs:
        raise document.error("expected dd's lines of records and bytes, found none", 1)


def _record(document: Document, host: str | None, copy: Copy, run: int) -> WorkloadRecord:
    command = copy.command
    valid, reasons = _judge(copy)
    rate = copy.bytes / copy.seconds if copy.bytes and copy.seconds else None
    return WorkloadRecord(
        tool=TOOL,
        tool_version=None,
        source=document.source(copy.line),
        run=run,
        host=host,
        operation="copy" if command is None else command.operation,
        label=TOOL if command is None else command.text,
        workers=1,
        file_size_bytes=_file_size(copy),
        record_size_bytes=_record_size(copy),
        throughput_bytes_per_s=rate,
        elapsed_s=copy.seconds or None,
        valid=valid,
        reasons=reasons,
        details=_details(copy),
    )


def _record_size(copy: Copy) -> int | None:
    if copy.command is not None and copy.command.output_size is not None:
        return copy.command.output_size
    if copy.written is None or not copy.bytes or copy.written[1] or not copy.written[0]:
        return None
    size, rest = divmod(copy.bytes, copy.written[0])
    return None if rest else size


def _file_size(copy: Copy) -> int | None:
    command = copy.command
    if command is None or command.placed or command.operation == "copy":
        return None
    if command.generated and command.count is not None:
        return None if command.input_size is None else command.count * command.input_size
    return None if command.count is not None else (copy.bytes or None)


def _judge(copy: Copy) -> tuple[bool | None, tuple[Reason, ...]]:
    reasons = tuple(_faults(copy))
    if reasons:
        return False, reasons
    unknown = tuple(_gaps(copy))
    if unknown:
        said = f"cannot be judged: {'; '.join(unknown)}"
        return None, (Reason(code="tool-incomplete", message=said),)
    return True, ()


def _faults(copy: Copy) -> Iterator[Reason]:
    def short(message: str) -> Reason:
        return Reason(code="tool-incomplete", message=message)

    for said in copy.errors:
        yield Reason(code="tool-failed", message=f"dd said: {said}")
    if copy.interrupted:
        yield short("dd was interrupted from the keyboard")
    if copy.bytes == 0 or (copy.written is not None and sum(copy.written) == 0):
        yield short("nothing was copied")
    command = copy.command
    if command is not None and copy.read is not None:
        if copy.written is not None and not command.converts and sum(copy.read) > sum(copy.written):
            yield short(f"{sum(copy.read)} records were read, {sum(copy.written)} written")
        if command.generated and command.count is not None and sum(copy.read) < command.count:
            yield short(f"expected {command.count} records, found {sum(copy.read)}")
    if copy.bytes and copy.written is not None and copy.written[0] and not copy.written[1]:
        even = copy.bytes % copy.written[0] == 0
        if not even and not (command is not None and command.converts):
            yield short(f"{copy.bytes} bytes are not {copy.written[0]} records of one size")
    if copy.bytes and copy.seconds and not _fits_its_rate(copy.bytes, copy.seconds, copy):
        yield short(f"{copy.bytes} bytes in {copy.time} s are not {copy.rate}")


def _fits_its_rate(done: int, seconds: float, copy: Copy) -> bool:
    """Whether bytes by seconds is the printed rate, in powers of 1,000 or 1,024, as far as both are rounded."""
    match = None if copy.rate is None else _PRINTED.match(copy.rate)
    value = None if match is None else number(match[1])
    if match is None or value is None or copy.time is None:
        return False
    power = " KMGTPE".index(match[2].upper() or " ")
    # few decimals are not rounded ones: GNU drops zeros at the end
    rounding = _last_place(copy.time) / seconds if _last_place(copy.time) < 0.01 else _LEAST_SLACK
    for unit in (1000.0**power, 1024.0**power):
        slack = 1.5 * _last_place(match[1]) * unit + rounding * (done / seconds)
        if abs(done / seconds - value * unit) <= slack:
            return True
    return False


def _last_place(text: str) -> float:
    """What the last digit of a number counts.

    Examples
    --------
    >>> _last_place("113"), _last_place("9,5"), _last_place("3.65e-05")
    (1.0, 0.1, 1e-07)
    """
    mantissa, _, exponent = text.lower().replace(",", ".").partition("e")
    return float(f"1e{int(exponent or 0) - len(mantissa.partition('.')[2])}")


def _gaps(copy: Copy) -> Iterator[str]:
    if copy.seconds is None or copy.bytes is None:
        yield "dd printed no time"
    elif copy.seconds == 0:
        yield "dd ended too quickly for its clock"
    if copy.read is None or copy.written is None:
        yield "the lines of records are not in the file"
    elif copy.command is None and sum(copy.read) > sum(copy.written):
        yield "more records were read than written, and no command says why"
    if copy.misfit:
        yield "the command that is shown has other sizes"


def _details(copy: Copy) -> Details:
    command = copy.command
    found: Details = {
        "bytes": copy.bytes,
        "records_in_full": copy.read and copy.read[0],
        "records_in_partial": copy.read and copy.read[1],
        "records_out_full": copy.written and copy.written[0],
        "records_out_partial": copy.written and copy.written[1],
        "printed_rate": copy.rate,
        "input": command and command.source,
        "output": command and command.target,
        "flags": list(command.flags) if command is not None and command.flags else None,
        "real_s": copy.real_s,
        "warnings": copy.warnings or None,
    }
    return {name: value for name, value in found.items() if value is not None}
