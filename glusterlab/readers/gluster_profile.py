"""Reader of the text of `gluster volume profile VOLUME info`, and what its records are made of."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from glusterlab.readers.document import Document
from glusterlab.readers.records import Details, ProfileRecord, Record
from glusterlab.readers.wrapping import number, whole

_SECONDS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}

# these pass a thread of the brick and a system call: none of them takes less than a microsecond
_SLOW_FOPS = frozenset(
    {"LOOKUP", "CREATE", "MKDIR", "UNLINK", "RMDIR", "RENAME", "READ", "WRITE", "SETATTR", "SETXATTR", "XATTROP",
     "FXATTROP", "FSYNC", "READDIRP", "READDIR", "GETXATTR", "STATFS"}
)  # fmt: skip
_LEAST_NS = 1000.0
_ENOUGH_CALLS = 20

_STATS = re.compile(r"(?:Cumulative|Interval ([0-9]{1,18})) Stats:")
_FOP = re.compile(
    r"([0-9.]{1,30}) +([0-9.]{1,40}) ?(ns|us|µs|ms|s)? +([0-9.]{1,40}) ?(?:ns|us|µs|ms|s)? +"
    r"([0-9.]{1,40}) ?(?:ns|us|µs|ms|s)? +([0-9]{1,18}) +([A-Z][A-Z_]{0,40})"
)
_TOTALS = {
    "Duration": ("duration_s", "seconds"),
    "Data Read": ("read_bytes", "bytes"),
    "BytesRead": ("read_bytes", ""),
    "Data Written": ("written_bytes", "bytes"),
    "BytesWritten": ("written_bytes", ""),
}
_BLOCKS = {"No. of Reads": "reads", "Read": "reads", "No. of Writes": "writes", "Write": "writes"}
_ALL_TOTALS = 3
_NAME_LINES = 4
_BROKEN_FOP = re.compile(r"[0-9.]+ [0-9.]+ ?(?:ns|us|µs)(?: |$)")
_OLD_SIZES = re.compile(r"Block((?: [0-9]{1,18}b\+)+)")
_BRICK = re.compile(r"(?:Brick|NFS Server): ?(?!Brick )(?=\S)")


@dataclass(frozen=True)
class Fop:
    """The calls of one file operation as printed: latencies in the unit of the report, or None."""

    name: str
    calls: int
    mean: float | None
    least: float | None
    most: float | None
    line: int
    unit: str | None = None
    percent: float | None = None


@dataclass
class Stats:
    """One block of statistics of one brick.

    Attributes
    ----------
    line : int
    brick : str or None
    interval : str
    volume : str or None
    fops : list of Fop
    blocks : list of dict
        Calls by block size.
    totals : dict of str to int
        Duration and bytes.
    """

    line: int
    brick: str | None
    interval: str
    volume: str | None = None
    fops: list[Fop] = field(default_factory=list)
    blocks: list[dict[str, Any]] = field(default_factory=list)
    totals: dict[str, int] = field(default_factory=dict)

    def records(self, document: Document, version: str | None, *, unit: str | None = None) -> Iterator[Record]:
        """The record of the interval, and one for each file operation.

        Parameters
        ----------
        document : Document
        version : str or None
        unit : str or None
            Of latencies that were printed without one; without it they are None, and details have them as printed.
        """
        yield self._record(document, version, None, {**self.totals, "block_sizes": self.blocks})
        for fop in self.fops:
            yield self._fop_record(document, version, fop, unit)

    def _fop_record(self, document: Document, version: str | None, fop: Fop, unit: str | None) -> Record:
        printed = (fop.mean, fop.least, fop.most)
        details: Details = {} if fop.percent is None else {"latency_percent": fop.percent}
        if not any(printed):
            # 0.00 stands for a call that gluster does not time, such as RELEASE
            return self._record(document, version, fop, details)
        if fop.unit is None and unit is None:
            names = ("latency_mean_unknown_unit", "latency_min_unknown_unit", "latency_max_unknown_unit")
            details |= dict(zip(names, printed, strict=True))
            return self._record(document, version, fop, details)
        if fop.unit is None:
            details["latency_unit_inferred"] = unit
        factor = _SECONDS[fop.unit or unit or "us"]
        mean, least, most = (None if value is None else value * factor for value in printed)
        return self._record(document, version, fop, details, mean, least, most)

    def _record(
        self, document: Document, version: str | None, fop: Fop | None, details: Details,
        mean: float | None = None, least: float | None = None, most: float | None = None,
    ) -> ProfileRecord:  # fmt: skip
        return ProfileRecord(
            tool="gluster", tool_version=version,
            source=document.source(self.line if fop is None else fop.line), details=details,
            volume=self.volume, brick=self.brick, interval=self.interval, fop=None if fop is None else fop.name,
            calls=None if fop is None else fop.calls, latency_mean_s=mean, latency_min_s=least, latency_max_s=most,
        )  # fmt: skip


def latency_unit(fops: Sequence[Fop], version: str | None) -> str | None:
    """The unit of latencies that stand without one in XML: ``us`` before GlusterFS 10, ``ns`` since.

    Without a version it follows from the values where they leave no doubt. Fractions of a unit, and calls that pass a
    system call in less than 1,000 units, are microseconds: nanoseconds are counted whole, and no such call is so quick.
    At least 20 such calls of which the quickest took 1,000 units are nanoseconds: as microseconds, each of them would
    have taken a millisecond or more. Else it is None.

    Examples
    --------
    >>> latency_unit([Fop("LOOKUP", 40, 73_021.4, 21_630.0, 376_660.0, 1)], None)
    'ns'
    >>> latency_unit([Fop("LOOKUP", 40, 110.5, 55.0, 166.0, 1)], None)
    'us'
    >>> latency_unit([Fop("WRITE", 2, 38_491.0, 32_866.0, 44_116.0, 1)], None) is None
    True
    """
    major = None if version is None else whole(version.partition(".")[0])
    if major is not None:
        return "us" if major < 10 else "ns"
    extremes = [value for fop in fops for value in (fop.least, fop.most) if value]
    slow = [fop for fop in fops if fop.name in _SLOW_FOPS and fop.mean]
    if any(value != int(value) for value in extremes) or any((fop.least or 0) < _LEAST_NS for fop in slow):
        return "us"
    return "ns" if sum(fop.calls for fop in slow) >= _ENOUGH_CALLS else None


class ProfileText:
    """The text of one `volume profile info`, line by line.

    Parameters
    ----------
    volume : str or None
        As the command line in front of it says.
    """

    def __init__(self, volume: str | None) -> None:
        self.volume = volume
        self.damage: tuple[str, int] | None = None
        self._found: list[Stats] = []
        self._brick: str | None = None
        self._naming: int | None = None
        self._stats: Stats | None = None
        self._sizes: list[int | None] = []
        self._calls: dict[str, list[int | None]] = {}
        self._wants_stats = False
        self._elided = False

    @staticmethod
    def starts(text: str) -> bool:
        """Whether a line is the first of a profile."""
        return any(match is not None for match in (_BRICK.match(text), _STATS.fullmatch(text), _FOP.fullmatch(text)))

    def elide(self) -> None:
        """The author has left something out here."""
        self._sizes, self._calls = [], {}
        self._stats, self._naming, self._wants_stats = None, None, False
        self._elided = True

    def feed(self, line: int, text: str, *, has_end: bool = True) -> None:
        """Take the next line; one without its end may be cut off, so that its last word says nothing."""
        if self._naming is not None and self._goes_on_naming(line, text):
            return
        if (brick := _BRICK.match(text)) is not None:
            self._close_blocks(line)
            self._brick, self._naming, self._stats, self._wants_stats = text[brick.end() :], line, None, True
        elif (stats := _STATS.fullmatch(text)) is not None:
            self._close_blocks(line)
            self._stats = Stats(line, self._brick, stats[1] or "cumulative", self.volume)
            self._found.append(self._stats)
            self._wants_stats = False
        elif text.lower().endswith(("cleared stats.", "clear stats.")):
            self._wants_stats = False
        elif self._stats is None and not self._elided and _FOP.fullmatch(text) is not None:
            self._damaged("expected 'Cumulative Stats:' or 'Interval ... Stats:' before the calls, found none", line)
        elif self._stats is not None and (has_end or text.endswith(" bytes")):
            self._take(self._stats, line, text)

    def _goes_on_naming(self, line: int, text: str) -> bool:
        """A long name goes on over lines until the rule under it."""
        rule = text.startswith("---")
        if rule or not text or " " in text or line - (self._naming or line) > _NAME_LINES:
            self._naming = None
            return rule
        self._brick = (self._brick or "") + text
        return True

    def _take(self, stats: Stats, line: int, text: str) -> None:
        if (fop := _FOP.fullmatch(text)) is not None:
            self._close_blocks(line)
            percent, mean, unit, least, most, calls, name = fop.groups()
            unit = (unit or "us").replace("µ", "u")
            stats.fops.append(
                Fop(name, int(calls), number(mean), number(least), number(most), line, unit, number(percent))
            )
            return
        label, colon, rest = (part.strip() for part in text.partition(":"))
        if (sizes := _OLD_SIZES.fullmatch(text)) is not None:
            self._close_blocks(line)
            self._sizes = [whole(word.removesuffix("b+")) for word in sizes[1].split()]
        elif _BROKEN_FOP.match(text) is not None:
            self._damaged("expected a row of latencies that ends in calls and a file operation, found another", line)
        elif not colon:
            return
        elif label == "Block Size":
            self._close_blocks(line)
            self._sizes = [whole(word.removesuffix("b+")) for word in rest.split()]
        elif label in _BLOCKS:
            self._calls[_BLOCKS[label]] = [whole(word) for word in rest.split()]
        elif label in _TOTALS:
            self._close_blocks(line)
            self._total(stats, line, label, rest)

    def _total(self, stats: Stats, line: int, label: str, rest: str) -> None:
        name, unit = _TOTALS[label]
        value, _, word = rest.partition(" ")
        total = whole(value)
        if total is None or word not in {"", unit}:
            self._damaged(f"expected '{label}: <number> {unit}', found {rest[:40]!r}", line)
        else:
            stats.totals[name] = total

    def _close_blocks(self, line: int) -> None:
        """The three lines of a block of columns are there now, or never."""
        sizes, reads, writes = self._sizes, self._calls.get("reads", []), self._calls.get("writes", [])
        self._sizes, self._calls = [], {}
        if not len(sizes) == len(reads) == len(writes) or None in (*sizes, *reads, *writes):
            self._damaged("expected as many numbers of reads and of writes as block sizes", line)
        elif self._stats is not None:
            self._stats.blocks.extend(
                {"size_bytes": size, "reads": read, "writes": written}
                for size, read, written in zip(sizes, reads, writes, strict=True)
            )

    def _damaged(self, message: str, line: int) -> None:
        self.damage = self.damage or (message, line)

    def finish(self, line: int, *, at_end: bool) -> None:
        """Nothing more comes; `at_end` when it is the file's end, which may be a cut."""
        self._close_blocks(line)
        if not at_end:
            return
        if self._wants_stats:
            self._damaged(
                f"expected the statistics of brick {(self._brick or '')[:80]}, found the end: it was cut off", line
            )
        if self._stats is not None:
            # where a filter has left the totals out, it has done so everywhere
            usual = max((len(stats.totals) for stats in self._found[:-1]), default=_ALL_TOTALS)
            if len(self._stats.totals) < usual:
                self._damaged("expected 'Data Written:' after the calls, found the end: it was cut off", line)

    def records(self, document: Document, version: str | None) -> Iterator[Record]:
        """The records of the statistics that say anything."""
        for stats in self._found:
            if stats.totals or stats.fops or stats.blocks:
                yield from stats.records(document, version)
