"""Telemetry column by column: a block of one activity's rows, and a part of a file that is read by itself."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Tool = Literal["sar", "sadf"]
Kind = Literal["sar", "hosts", "csv", "ppc", "json"]
"""How a file is laid out: the report of sar, several of them with hosts in front of the lines, or what ``sadf -d``,
``sadf -p`` and ``sadf -j`` write."""

WINDOW_BYTES = 24 << 20
"""So much text is in memory at once."""

CHUNK_BYTES = 64 << 20
"""A file is divided into parts of about this size."""

DAY_S = 86_400.0


@dataclass(frozen=True, slots=True)
class Names:
    """A column of few texts that come again and again.

    Attributes
    ----------
    codes : numpy.ndarray of int
        Place in `categories`, per row.
    categories : tuple of str
    """

    codes: NDArray[np.signedinteger[Any]]
    categories: tuple[str, ...]

    @classmethod
    def of(cls, texts: Iterable[str | None]) -> Names:
        """The column of these texts; None is an empty one."""
        import numpy as np

        codes: dict[str, int] = {}
        found = [codes.setdefault(text or "", len(codes)) for text in texts]
        return cls(np.array(found, dtype=np.int32), tuple(codes))

    def __len__(self) -> int:
        return len(self.codes)

    def __iter__(self) -> Iterator[str]:
        return (self.categories[code] for code in self.codes.tolist())

    def part(self, rows: slice) -> Names:
        """Some of the rows."""
        return Names(self.codes[rows], self.categories)

    def renamed(self, categories: Iterable[str]) -> Names:
        """The column with other texts in place of its own."""
        return Names(self.codes, tuple(categories))


@dataclass(frozen=True, slots=True)
class Block:
    """Rows of one activity, as columns of equal length.

    Attributes
    ----------
    tool : {"sar", "sadf"}
    host : str or None
    activity : str
        cpu, memory, disk, ...; see `glusterlab.telemetry.sysstat`.
    device : Names or None
        CPU, interface, block device, ...; None where there is one value for the whole host.
    time : numpy.ndarray of float64
        Seconds. If `utc`, epoch seconds; else the host's local time, counted as if it were UTC. Without a date in the
        file (`dated` is false) seconds since midnight. NaN for averages.
    utc, dated : bool
    metrics : dict of str to numpy.ndarray of float64
        By the column's name in sysstat; NaN where the file has no number.
    average : bool
        Rows are averages that the tool printed.
    lines : numpy.ndarray of int64 or None
        Lines of the file, from 1; only when asked for.
    """

    tool: Tool
    host: str | None
    activity: str
    device: Names | None
    time: NDArray[np.float64]
    utc: bool
    dated: bool
    metrics: dict[str, NDArray[np.float64]]
    average: bool = False
    lines: NDArray[np.int64] | None = None

    def __len__(self) -> int:
        return len(self.time)


@dataclass(slots=True)
class Clock:
    """Where a table stands in time: the day since the banner's date, and the last time of day in seconds."""

    day: int = 0
    last: float | None = None


@dataclass(slots=True)
class State:
    """What the text before a place says about the text after it.

    Attributes
    ----------
    host : str or None
    date : float or None
        Epoch seconds of the banner's date, as if it were UTC.
    header : str or None
        The header in force: the place is in the middle of its table.
    clocks : dict of str to Clock
        By table, since the last restart.
    segment : Clock
        Where the tables since the last restart begin.
    twelve : bool
        No hour since the banner was one that a clock of twelve hours does not have.
    decimal : {".", ","}
    """

    host: str | None = None
    date: float | None = None
    header: str | None = None
    clocks: dict[str, Clock] = field(default_factory=dict)
    segment: Clock = field(default_factory=Clock)
    twelve: bool = True
    decimal: Literal[".", ","] = "."


@dataclass(frozen=True, slots=True)
class Chunk:
    """A part of a file that can be read by itself, in any process.

    Attributes
    ----------
    path : pathlib.Path
    kind : Kind
    start, end : int or None
        Bytes; `end` is None for the rest of the file.
    line : int
        Number of its first line.
    state : State
        What the text before it says.
    """

    path: Path
    kind: Kind
    start: int = 0
    end: int | None = None
    line: int = 1
    state: State = field(default_factory=State)

    @property
    def tool(self) -> Tool:
        """Which tool wrote the file."""
        return "sar" if self.kind in {"sar", "hosts"} else "sadf"
