"""Telemetry column by column: a block of one activity's rows, and a part of a file that is read by itself."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from glusterlab.telemetry.sysstat import Header

Tool = Literal["sar", "sadf"]
Kind = Literal["sar", "hosts", "csv", "json"]
"""The report of sar, several of them with hosts in front of the lines, or what ``sadf -d`` and ``sadf -j`` write."""

WINDOW_BYTES = 24 << 20  # so much text is in memory at once
CHUNK_BYTES = 24 << 20  # a file is divided into parts of about this size
DAY_S = 86_400.0


@dataclass(frozen=True, slots=True)
class Names:
    """A column of few texts that come again and again: per row the place in `categories`."""

    codes: NDArray[np.signedinteger[Any]]
    categories: tuple[str, ...]

    @classmethod
    def of(cls, texts: Iterable[str | None]) -> Names:
        """The column of these texts; None is an empty one."""
        codes: dict[str, int] = {}
        found = [codes.setdefault(text or "", len(codes)) for text in texts]
        return cls(np.array(found, dtype=np.int32), tuple(codes))

    def __len__(self) -> int:
        return len(self.codes)

    def __iter__(self) -> Iterator[str]:
        return (self.categories[code] for code in self.codes.tolist())


@dataclass(frozen=True, slots=True)
class Block:
    """Rows of one activity, as columns of equal length.

    `time` has epoch seconds, of local time as if it were UTC unless `utc`; seconds since midnight where the file has no
    date (not `dated`), NaN for averages that the tool printed. `metrics` go by column of sysstat; `lines` from 1.
    """

    tool: Tool
    host: str | None
    activity: str
    device: Names | None
    time: NDArray[np.float64]
    utc: bool
    dated: bool
    metrics: dict[str, NDArray[np.float64]]
    lines: NDArray[np.int64]
    average: bool = False

    def __len__(self) -> int:
        return len(self.time)

    def rows(self, kept: NDArray[np.bool_]) -> Block:
        """The block of some of its rows."""
        device = None if self.device is None else replace(self.device, codes=self.device.codes[kept])
        metrics = {name: values[kept] for name, values in self.metrics.items()}
        return replace(self, device=device, time=self.time[kept], metrics=metrics, lines=self.lines[kept])


Row = tuple[float, str | None, list[float], int]  # time, device, values and line


def block_of(
    tool: Tool, host: str | None, table: Header, rows: Sequence[Row], *, utc: bool, dated: bool, average: bool = False
) -> Block:
    """The block of rows that were read one by one."""
    times, devices, values, lines = zip(*rows, strict=True)
    columns = np.array(values, dtype=np.float64).reshape(len(rows), -1)
    return Block(
        tool=tool,
        host=host,
        activity=table.activity,
        device=None if table.device is None else Names.of(devices),
        time=np.array(times, dtype=np.float64),
        utc=utc,
        dated=dated,
        metrics={name: columns[:, at] for at, name in enumerate(table.metrics)},
        lines=np.array(lines, dtype=np.int64),
        average=average,
    )


@dataclass(slots=True)
class Clock:
    """Where a table is in time: the day since the banner's date, and the last time of day in seconds."""

    day: int = 0
    last: float | None = None


@dataclass(slots=True)
class State:
    """What the text before a place says about the text after it."""

    host: str | None = None
    date: float | None = None  # epoch seconds as if it were UTC
    clocks: dict[str, Clock] = field(default_factory=dict)  # by table, since the last restart
    segment: Clock = field(default_factory=Clock)  # where those tables begin
    twelve: bool = True  # no hour since the banner was one that a clock of twelve hours does not have
    decimal: Literal[".", ","] = "."


@dataclass(frozen=True, slots=True)
class Chunk:
    """A part of a file that can be read by itself, in any process, from byte `start`, in `line`, to before `end`."""

    path: Path
    kind: Kind
    start: int = 0
    end: int | None = None
    line: int = 1
