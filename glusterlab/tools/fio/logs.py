"""fio's logs of latency, bandwidth and IOPS (``--write_lat_log`` and the like), a record per direction.

A line is ``time, value, direction, block size[, offset][, priority][, issue time]``, with ``log_window_value=both`` a
second value behind the first: times in ms of the job, latencies in ns, bandwidth in KiB/s. What the value is, only the
file's name says: ``NAME_clat.1.log``. A log of each I/O has exact percentiles, and rates by its number of lines. In one
of windows (``log_avg_msec``) the value may be a mean or a maximum, windows without I/O are left out, and nobody knows
how many calls each stands for: its values are in the details only. No log says whether its run ended well.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from math import ceil, fsum
from typing import Literal

from glusterlab.tools.document import Document
from glusterlab.tools.records import Details, WorkloadRecord, contradictions, unjudged, verdict, without_none

_NAME = re.compile(r"(.*)_(clat|slat|lat|bw|iops)(\.\d{1,9})?\.log(?:\.(?:xz|gz|bz2))?")
_LINE = re.compile(r"\d{1,18}, \d{1,18}(?:, (?:\d{1,18}|0x[0-9a-f]{1,8})){2,6}", re.ASCII)
_DIRECTIONS: tuple[Literal["read", "write", "trim"], ...] = ("read", "write", "trim")
_EPOCH_MS = 10**11  # `log_unix_epoch` and `log_alternate_epoch` count from another begin than the job's
_UNITS = {"bw": 1024.0, "iops": 1.0}
_COLUMNS_OF_2 = 4
_LEAST_S = 0.1  # for a rate: times are whole ms


@dataclass
class _Direction:
    """What the lines of one direction hold, from the line on which it begins; `most`: second values."""

    line: int
    values: array[int] = field(default_factory=lambda: array("Q"))
    most: int = 0
    bytes: int = 0
    sizes: set[int] = field(default_factory=set)


def recognise(document: Document) -> float:
    """How sure it is that a document is a log of fio, from 0 to 1."""
    if _LINE.fullmatch(document.head.partition("\n")[0].rstrip()) is None:
        return 0.0
    return 0.95 if _NAME.fullmatch(document.path.name) else 0.5


def read(document: Document) -> Iterator[WorkloadRecord]:
    """A record for each direction; `ParseError` for a damaged or cut line, and without a name that says what it is."""
    name = _NAME.fullmatch(document.path.name)
    if name is None:
        message = (
            "expected a name that says what fio logged, such as NAME_clat.1.log, or with _lat, _slat, _bw or _iops"
        )
        raise document.error(f"{message}, found {document.path.name[:80]!r}", 1)
    found: dict[int, _Direction] = {}
    columns, at, last, first = 0, 2, 0, None
    for number, line in enumerate(document.lines, start=1):
        words = line.rstrip().split(", ")
        if not columns:
            # with two values the direction is the fourth number, and the third a value: as a direction it would be at
            # most 2 in all lines, before blocks larger than a direction
            rows = [each.split(", ", 5) for each in document.lines if each.count(", ") > 4]
            both = any(row[2] not in {"0", "1", "2"} or row[3] in {"1", "2"} for row in rows)
            columns, at = len(words), 3 if len(words) > 5 and both else 2
        if _LINE.fullmatch(line.rstrip()) is None or len(words) != columns or words[at] not in {"0", "1", "2"}:
            form = f"{columns} numbers, of which no. {at + 1} is the direction (0, 1 or 2)"
            raise document.error(f"expected a line of fio's log as the first, with {form}, found {line[:80]!r}", number)
        if not words[at + 1].isdecimal():
            raise document.error(f"expected a block size in bytes, found {words[at + 1]!r}", number)
        side = found.setdefault(int(words[at]), _Direction(number))
        first = int(words[0]) if first is None else first
        last = max(last, int(words[0]))
        side.values.append(int(words[1]))
        side.most = max(side.most, int(words[at - 1]))
        side.bytes += int(words[at + 1])
        if len(side.sizes) < 3:
            side.sizes.add(int(words[at + 1]))
    if not document.ends_in_a_line:
        raise document.error("expected a whole last line, found none: the log was cut off", len(document.lines))
    began = first if first is not None and first > _EPOCH_MS else 0
    for direction in sorted(found):
        side = found[direction]
        record = WorkloadRecord(
            tool="fio",
            source=document.source(side.line),
            # as its own report's name would be that of another result
            job=document.path.name.partition(".log")[0],
            operation=_DIRECTIONS[direction],
            label=f"{_DIRECTIONS[direction]} {name[2]}",
            workers=1 if name[3] else None,
            elapsed_s=(last - began) / 1000 or None,
        )
        yield _judged(_filled(record, name[2], side), old=columns == _COLUMNS_OF_2 and "lat" in name[2])


def _filled(record: WorkloadRecord, kind: str, side: _Direction) -> WorkloadRecord:
    """A record with the numbers of its direction."""
    windows, count, seconds = 0 in side.sizes, len(side.values), record.elapsed_s
    details: Details = {"log": kind, "lines": count, "windows": windows or None}
    if not windows:
        details["io_bytes"] = side.bytes
        seconds = seconds if seconds is not None and seconds >= _LEAST_S else None
        record = replace(
            record,
            record_size_bytes=side.bytes // count if len(side.sizes) == 1 else None,
            throughput_bytes_per_s=side.bytes / seconds if seconds else None,
            operations_per_s=count / seconds if seconds else None,
        )
    mean, least, most = fsum(side.values) / count, min(side.values), max(side.values)
    if kind in _UNITS and windows:
        name = "throughput_samples_{}_bytes_per_s" if kind == "bw" else "operations_samples_{}_per_s"
        values = {"mean": mean, "min": least, "max": most}
        details |= {name.format(each): value * _UNITS[kind] for each, value in values.items()}
    elif windows:
        details |= {"window_latency_mean_s": mean / 1e9, "window_latency_max_s": max(most, side.most) / 1e9}
    elif kind == "slat":
        details["submission_latency_mean_s"] = mean / 1e9
    elif kind not in _UNITS:
        ordered, mean = sorted(side.values), mean / 1e9
        details |= {"latency_min_s": least / 1e9, "latency_max_s": most / 1e9}
        p50, p95, p99 = (ordered[ceil(share * count / 100) - 1] / 1e9 for share in (50, 95, 99))
        record = replace(record, latency_mean_s=mean, latency_p50_s=p50, latency_p95_s=p95, latency_p99_s=p99)
    return replace(record, details=without_none(details))


def _judged(record: WorkloadRecord, *, old: bool) -> WorkloadRecord:
    doubts = ["a log of fio does not say whether its run ended as it should, nor whether its I/O was random"]
    if old:
        doubts.append("logs of fio 2, in microseconds, look like those of early releases of 3, in nanoseconds")
    return replace(record, **verdict(contradictions(record), map(unjudged, doubts)))
