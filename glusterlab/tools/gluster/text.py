"""Readers of the text of `gluster volume info`, `volume status [detail]` and `volume profile info`, line by line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from glusterlab.errors import ParseError
from glusterlab.tools.document import Document, number, whole
from glusterlab.tools.gluster.model import Brick, Fop, Stats, Volume, read_geometry, split_brick
from glusterlab.tools.records import BrickRecord, Details, Record, without_none

_BRICK = re.compile(r"Brick([0-9]{1,9}): ?(.+)")
_OPTION = re.compile(r"([a-z0-9][a-z0-9_*-]*(?:\.[A-Za-z0-9_.*-]+)+|nfs-ganesha|cluster-[a-z-]+): ?(.*)")
_TIER = re.compile(r"(Hot|Cold) (?:Tier|Bricks) ?:?")
_TIER_TYPE = re.compile(r"(Hot|Cold) Tier Type ?: ?(.+)")
_LABELS = {
    "Volume ID": "id", "Status": "status", "Transport-type": "transport", "Thin-arbiter-path": "thin_arbiter",
}  # fmt: skip
_WRAP_AT = 60
_ARBITER = " (arbiter)"

_DAEMONS = (
    "Self-heal Daemon", "NFS Server", "Quota Daemon", "Snapshot Daemon", "Scrubber Daemon", "Bitrot Daemon",
    "Tier Daemon", "Quota daemon",
)  # fmt: skip
_SIZE = re.compile(r"([0-9]{1,18}(?:\.[0-9]{1,9})?) ?(Bytes|KB|MB|GB|TB|PB)")
# gluster computes its KB, MB, ... with 1,024
_UNITS = {"Bytes": 1, "KB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30, "TB": 1 << 40, "PB": 1 << 50}
_DETAIL = re.compile(
    r"(Brick|(?:TCP |RDMA )?Port|Online|Pid|File System|Device|Mount Options|Inode Size|Disk Space Free"
    r"|Total Disk Space|Inode Count|Free Inodes) ?: ?(.*)"
)
_LAST_DETAIL = "Free Inodes"
_NAME_LINES = 8


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
_PROFILED_LINES = 4
_BROKEN_FOP = re.compile(r"[0-9.]+ [0-9.]+ ?(?:ns|us|µs)(?: |$)")
_OLD_SIZES = re.compile(r"Block((?: [0-9]{1,18}b\+)+)")
_PROFILED = re.compile(r"(?:Brick|NFS Server): ?(?!Brick )(?=\S)")


class _Report:
    """Takes the lines of one report one by one; `damage` is the first that was found, with its line.

    `feed` takes a line; one without its end may be cut off, so that its last word says nothing. `elide`: the author has
    left something out here. `finish`: nothing more comes; `at_end` when it is the file's end, which may be a cut.
    """

    def __init__(self) -> None:
        self.damage: tuple[str, int] | None = None

    def _damaged(self, message: str, line: int) -> None:
        self.damage = self.damage or (message, line)


class InfoText(_Report):
    """The text of `volume info` of one volume, which starts at a line."""

    def __init__(self, name: str, line: int) -> None:
        super().__init__()
        self._volume = Volume(name, line)
        self._tier: str | None = None
        self._in_options = False
        self._elided = False
        self._open: list[str] = []
        self._option = ""

    def elide(self) -> None:
        self._elided = True

    def feed(self, line: int, text: str, *, has_end: bool = True) -> None:
        if (brick := _BRICK.fullmatch(text)) is not None:
            if has_end:
                self._open, arbiter = [brick[2]], brick[2].endswith(_ARBITER) or None
                address = brick[2].removesuffix(_ARBITER)
                self._volume.bricks.append(Brick(address, whole(brick[1]) or 0, line, arbiter, self._tier))
            return
        if self._open and self._goes_on(line, text):
            return
        self._open = []
        label, colon, rest = (part.strip() for part in text.partition(":"))
        if (tier := _TIER_TYPE.fullmatch(text)) is not None:
            self._tier = tier[1].lower()
            self._volume.details[f"{self._tier}_type"] = tier[2]
        elif (tier := _TIER.fullmatch(text)) is not None:
            self._tier = tier[1].lower()
        elif text.startswith("Options Reconfigured"):
            self._in_options = True
        elif self._in_options:
            self._take_option(text)
        elif colon and rest:
            self._take(line, label, rest)

    def _take_option(self, text: str) -> None:
        options, last = self._volume.options, self._option
        if (option := _OPTION.fullmatch(text)) is not None:
            self._option, options[option[1]] = option[1], option[2]
        elif last and options[last].endswith(",") and text and " " not in text:
            # the rest of a list that was broken
            options[last] += text
        else:
            self._option = ""

    def _take(self, line: int, label: str, rest: str) -> None:
        details = self._volume.details
        if label == "Type":
            self._volume.kind = rest.partition("[")[0].strip()
        elif label in _LABELS:
            details[_LABELS[label]] = rest
        elif label == "Snapshot Count" and (count := whole(rest)) is not None:
            details["snapshots"] = count
        elif label == "Number of Bricks":
            kind = details.get(f"{self._tier}_type", self._volume.kind)
            try:
                self._volume.tiers[self._tier] = read_geometry(kind, rest)
            except ParseError as error:
                self._damaged(error.message, line)

    def _goes_on(self, line: int, text: str) -> bool:
        """Whether a line is the rest of a brick's name, which a terminal or a mail client has wrapped."""
        name, _, mark = text.partition(" ")
        if text == _ARBITER.strip():
            name, mark = "", text
        elif not name or ":" in name or (mark and mark != _ARBITER.strip()):
            return False
        elif len(self._open[-1]) < _WRAP_AT and not (name.startswith("/") or self._open[-1].endswith(("/", "-", "_"))):
            if "/" in name:
                self._damaged(f"expected another line of volume {self._volume.name[:80]}, found {name[:80]!r}", line)
            return False
        self._open.append(name)
        last = self._volume.bricks[-1]
        self._volume.bricks[-1] = replace(last, address=last.address + name, arbiter=True if mark else last.arbiter)
        return True

    def finish(self, line: int, *, at_end: bool) -> None:
        volume = self._volume
        cut = ": it was cut off" if at_end else ""
        if not volume.kind or None not in volume.tiers:
            self._damaged(f"expected the type and the number of bricks of volume {volume.name[:80]}{cut}", line)
            return
        expected = volume.tiers[None].bricks
        positions = [brick.position for brick in volume.bricks]
        if not self._elided and positions != list(range(1, expected + 1)):
            self._damaged(
                f"expected the {expected} bricks of volume {volume.name[:80]}, found {len(positions)}{cut}", line
            )
        elif not all(1 <= position <= expected for position in positions):
            self._damaged(f"expected bricks 1 to {expected} of volume {volume.name[:80]}, found others", line)
        elif volume.tiers[None].arbiter:
            volume.bricks = [replace(brick, arbiter=bool(brick.arbiter)) for brick in volume.bricks]

    def records(self, document: Document, version: str | None) -> Iterator[Record]:
        if self.damage is not None:
            return
        try:
            yield from list(self._volume.records(document, version))
        except ParseError as error:
            self._damaged(error.message, self._volume.line)


class StatusText(_Report):
    """The text of `volume status` or `volume status detail` of one volume."""

    def __init__(self, volume: str | None) -> None:
        super().__init__()
        self._volume = volume
        self._ports: int | None = None
        self._tier: str | None = None
        self._name: list[str] = []
        self._name_line = 0
        self._rows: list[tuple[int, str, Details]] = []
        self._detail: tuple[int, Details] | None = None
        self._details: list[tuple[int, Details]] = []
        self._in_tasks = False
        self._tasks: list[dict[str, str]] = []

    @staticmethod
    def starts(text: str) -> bool:
        """Whether a line can only be one of a status, though its heading is missing."""
        if text.startswith("Brick ") and _columns(text.split(), None) is not None:
            return True
        # a profile has no blank in front of the colon
        return text.startswith(("Gluster process ", "Brick : "))

    @property
    def has_rows(self) -> bool:
        """Whether it is a table, in which no block of details follows."""
        return bool(self._rows or self._name)

    def elide(self) -> None:
        self._name = []
        self._detail = None

    def feed(self, line: int, text: str, *, has_end: bool = True) -> None:
        if text.startswith("Gluster process"):
            self._ports = 2 if "RDMA" in text else 1
        elif text.startswith("Task Status of Volume"):
            self._in_tasks = True
        elif self._in_tasks:
            label, _, rest = (part.strip() for part in text.partition(":"))
            if label == "Task":
                self._tasks.append({"type": rest, "status": ""})
            elif label == "Status" and self._tasks and not self._tasks[-1]["status"]:
                self._tasks[-1]["status"] = rest
        elif (tier := _TIER.fullmatch(text)) is not None:
            self._tier = tier[1].lower()
        elif not self._name and (detail := _DETAIL.fullmatch(text)) is not None:
            self._take_detail(line, detail[1], detail[2], has_end=has_end)
        elif not text or text.startswith("---"):
            self._close_name()
        else:
            self._take_row(line, text, has_end=has_end)

    def _take_row(self, line: int, text: str, *, has_end: bool) -> None:
        words = text.split()
        columns = _columns(words, self._ports)
        begins = text.startswith(("Brick ", *_DAEMONS))
        if begins:
            self._close_name()
        if not begins and not self._name:
            return
        if columns is None:
            # a wrapped name goes on: its pieces hold no blanks, but for the words in front
            if self._name and (len(words) > 1 or len(self._name) > _NAME_LINES):
                self._close_name()
                return
            self._name_line = self._name_line if self._name else line
            self._name.append(text)
            return
        ports, online, pid = columns
        name = "".join([*self._name, " ".join(words[: -len(ports) - 2])])
        start = self._name_line if self._name else line
        self._name = []
        if name.startswith("Brick "):
            row = {"online": online, "pid": pid if has_end else "", "tier": self._tier}
            tcp, rdma = (whole(port) or None for port in [*ports, ""][:2])
            self._rows.append((start, name.removeprefix("Brick "), {"tcp_port": tcp, "rdma_port": rdma, **row}))

    def _close_name(self) -> None:
        if self._name:
            self._damaged(f"expected the ports and the state of {''.join(self._name)[:80]}", self._name_line)
            self._name = []

    def _take_detail(self, line: int, label: str, value: str, *, has_end: bool) -> None:
        if label == "Brick":
            self._detail = (line, {"Brick": value.removeprefix("Brick ")})
            self._details.append(self._detail)
        elif self._detail is not None:
            self._detail[1][label] = value if has_end or value == "N/A" else ""

    def finish(self, line: int, *, at_end: bool) -> None:
        self._close_name()
        if at_end and self._detail is not None:
            found, others = self._detail[1].keys(), self._details[:-1]
            # where a filter has left lines out, it has done so for every brick
            if found < others[-1][1].keys() if others else _LAST_DETAIL not in found:
                self._damaged(f"expected '{_LAST_DETAIL} :' of the last brick, found the end: it was cut off", line)
                self._details.pop()
        if at_end and not self._rows and not self._details and self.damage is None:
            self._damaged("expected bricks, found none: it was cut off, or it is the state of daemons alone", line)

    def records(self, document: Document, version: str | None) -> Iterator[Record]:
        names = ("tcp_port", "rdma_port", "tier", "device", "file_system", "mount_options", "inode_size_bytes")
        details = [(line, found["Brick"], _from_detail(found)) for line, found in self._details]
        for line, address, found in [*self._rows, *details]:
            try:
                host, path = split_brick(address)
            except ParseError as error:
                self._damaged(error.message, line)
                continue
            yield BrickRecord(
                tool="gluster", tool_version=version, source=document.source(line), volume=self._volume, host=host,
                details=without_none({**{name: found.get(name) for name in names}, "tasks": self._tasks or None}),
                path=path, online={"Y": True, "N": False}.get(found["online"]), pid=whole(found["pid"]) or None,
                size_bytes=found.get("size_bytes"), free_bytes=found.get("free_bytes"), inodes=found.get("inodes"),
                free_inodes=found.get("free_inodes"),
            )  # fmt: skip


def _columns(words: list[str], ports: int | None) -> tuple[list[str], str, str] | None:
    """Ports, state and process number at the end of a row; None where it does not end so.

    >>> _columns("Brick s1:/b 49152 0 Y 71".split(), 2), _columns("s1:/b N/A N N/A".split(), None)
    ((['49152', '0'], 'Y', '71'), (['N/A'], 'N', 'N/A'))
    """
    if ports is None:
        return _columns(words, 2) or _columns(words, 1)
    if len(words) < ports + 2 or words[-2] not in {"Y", "N"}:
        return None
    found = [*words[-2 - ports : -2], words[-1]]
    if any(word != "N/A" and whole(word) is None for word in found):
        return None
    return found[:-1], words[-2], words[-1]


def _from_detail(found: Details) -> Details:
    """The values of one brick of `status detail`; what is N/A, or 0 where that is no size, is None."""
    values = {label: value for label, value in found.items() if value not in {"N/A", ""}}
    size, free = (_bytes(values.get(label, "")) for label in ("Total Disk Space", "Disk Space Free"))
    inodes, free_inodes = (whole(values.get(label, "")) for label in ("Inode Count", "Free Inodes"))
    return {
        "online": values.get("Online", ""),
        "pid": values.get("Pid", ""),
        "tcp_port": whole(values.get("TCP Port") or values.get("Port", "")) or None,
        "rdma_port": whole(values.get("RDMA Port", "")) or None,
        "device": values.get("Device"),
        "file_system": values.get("File System"),
        "mount_options": values.get("Mount Options"),
        "inode_size_bytes": whole(values.get("Inode Size", "")),
        "size_bytes": size or None,
        "free_bytes": free if size or "Total Disk Space" not in found else None,
        "inodes": inodes or None,
        "free_inodes": free_inodes if inodes or "Inode Count" not in found else None,
    }


def _bytes(text: str) -> int | None:
    """Bytes of a size as gluster prints it.

    >>> _bytes("1.8TB"), _bytes("960.0MB"), _bytes("0Bytes"), _bytes("12")
    (1979120929997, 1006632960, 0, None)
    """
    match = _SIZE.fullmatch(text)
    value = None if match is None else number(match[1])
    return None if match is None or value is None else round(value * _UNITS[match[2]])


class ProfileText(_Report):
    """The text of one `volume profile info`, line by line; `volume` is what the command line in front of it names."""

    def __init__(self, volume: str | None) -> None:
        self.volume = volume
        super().__init__()
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
        return any(match is not None for match in (_PROFILED.match(text), _STATS.fullmatch(text), _FOP.fullmatch(text)))

    def elide(self) -> None:
        self._sizes, self._calls = [], {}
        self._stats, self._naming, self._wants_stats = None, None, False
        self._elided = True

    def feed(self, line: int, text: str, *, has_end: bool = True) -> None:
        if self._naming is not None and self._goes_on_naming(line, text):
            return
        if (brick := _PROFILED.match(text)) is not None:
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
        if rule or not text or " " in text or line - (self._naming or line) > _PROFILED_LINES:
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
        sizes = _OLD_SIZES.fullmatch(text)
        if sizes is not None or label == "Block Size":
            self._close_blocks(line)
            self._sizes = [whole(word.removesuffix("b+")) for word in (rest if sizes is None else sizes[1]).split()]
        elif _BROKEN_FOP.match(text) is not None:
            self._damaged("expected a row of latencies that ends in calls and a file operation, found another", line)
        elif not colon:
            return
        elif label in _BLOCKS:
            self._calls[_BLOCKS[label]] = [whole(word) for word in rest.split()]
        elif label in _TOTALS:
            self._close_blocks(line)
            name, unit = _TOTALS[label]
            value, _, word = rest.partition(" ")
            if (total := whole(value)) is None or word not in {"", unit}:
                self._damaged(f"expected '{label}: <number> {unit}', found {rest[:40]!r}", line)
            else:
                stats.totals[name] = total

    def _close_blocks(self, line: int) -> None:
        sizes, reads, writes = self._sizes, self._calls.get("reads", []), self._calls.get("writes", [])
        self._sizes, self._calls = [], {}
        if not len(sizes) == len(reads) == len(writes) or None in (*sizes, *reads, *writes):
            self._damaged("expected as many numbers of reads and of writes as block sizes", line)
        elif self._stats is not None:
            self._stats.blocks.extend(
                {"size_bytes": size, "reads": read, "writes": written}
                for size, read, written in zip(sizes, reads, writes, strict=True)
            )

    def finish(self, line: int, *, at_end: bool) -> None:
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
        for stats in self._found:
            if stats.totals or stats.fops or stats.blocks:
                yield from stats.records(document, version)
