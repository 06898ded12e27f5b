"""Readers of the text of `gluster volume info`, `volume status [detail]` and `volume profile info`, line by line."""

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

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
_LONGEST = 1 << 14
_WRAP_AT = 60
_ARBITER = " (arbiter)"
_DAEMONS = (
    "Self-heal Daemon", "NFS Server", "Quota Daemon", "Snapshot Daemon", "Scrubber Daemon", "Bitrot Daemon",
    "Tier Daemon", "Quota daemon",
)  # fmt: skip
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
_PROFILED_LINES = 4
_BROKEN_FOP = re.compile(r"[0-9.]+ [0-9.]+ ?(?:ns|us|µs)(?: |$)")
_OLD_SIZES = re.compile(r"Block((?: [0-9]{1,18}b\+)+)")
_PROFILED = re.compile(r"(?:Brick|NFS Server): ?(?!Brick )(?=\S)")
_CUT = "found the end: it was cut off"


class _Lines:
    """Takes the lines of one report by `feed`, then gives its `records`; `damage` is the first, with its line.

    The last word of a line without an end (`has_end`) says nothing. `elide`: the author has left something out here.
    `at_end`: the last line is the file's, and so may be a cut.
    """

    damage: tuple[str, int] | None = None

    def damaged(self, message: str, line: int) -> None:
        self.damage = self.damage or (message, line)


class InfoText(_Lines):
    """The text of `volume info` of one volume, which starts at a line."""

    def __init__(self, name: str, line: int) -> None:
        self._volume = Volume(name, line)
        self._tier: str | None = None
        self._elided = False
        self._piece: str | None = None
        self._option: str | None = None

    def elide(self) -> None:
        self._elided = True

    def feed(self, line: int, text: str, *, has_end: bool) -> None:
        if (brick := _BRICK.fullmatch(text)) is not None:
            if has_end:
                address, self._piece = brick[2].removesuffix(_ARBITER), brick[2]
                arbiter = True if address != brick[2] else None
                self._volume.bricks.append(Brick(address, whole(brick[1]) or 0, line, arbiter, self._tier))
            return
        if self._piece is not None and self._goes_on(line, text, self._piece):
            return
        self._piece = None
        if (tier := _TIER_TYPE.fullmatch(text)) is not None:
            self._tier = tier[1].lower()
            self._volume.details[f"{self._tier}_type"] = tier[2]
        elif (tier := _TIER.fullmatch(text)) is not None:
            self._tier = tier[1].lower()
        elif text.startswith("Options Reconfigured"):
            self._option = self._option or ""
        elif self._option is not None:
            self._take_option(text, self._option)
        else:
            self._take(line, *(part.strip() for part in text.partition(":")))

    def _take_option(self, text: str, last: str) -> None:
        options = self._volume.options
        if (option := _OPTION.fullmatch(text)) is not None:
            self._option, options[option[1]] = option[1], option[2]
        elif last and options[last].endswith(",") and text and " " not in text and len(options[last]) < _LONGEST:
            # the rest of a list that was broken
            options[last] += text
        else:
            self._option = ""

    def _take(self, line: int, label: str, _: str, rest: str) -> None:
        details = self._volume.details
        if label == "Type" and rest:
            self._volume.kind = rest.partition("[")[0].strip()
        elif label in _LABELS and rest:
            details[_LABELS[label]] = rest
        elif label == "Snapshot Count" and (count := whole(rest)) is not None:
            details["snapshots"] = count
        elif label == "Number of Bricks" and rest:
            try:
                kind = details.get(f"{self._tier}_type", self._volume.kind)
                self._volume.tiers[self._tier] = read_geometry(kind, rest)
            except ParseError as error:
                self.damaged(error.message, line)

    def _goes_on(self, line: int, text: str, piece: str) -> bool:
        """Whether a line is the rest of a brick's name, which a terminal or a mail client has wrapped."""
        name, _, mark = text.partition(" ")
        last = self._volume.bricks[-1]
        if text == _ARBITER.strip():
            name, mark = "", text
        elif not name or ":" in name or (mark and mark != _ARBITER.strip()) or len(last.address) > _LONGEST:
            return False
        elif len(piece) < _WRAP_AT and not (name.startswith("/") or piece.endswith(("/", "-", "_"))):
            if "/" in name:
                self.damaged(f"expected another line of volume {self._volume.name[:80]}, found {name[:80]!r}", line)
            return False
        self._piece = name
        self._volume.bricks[-1] = replace(last, address=last.address + name, arbiter=True if mark else last.arbiter)
        return True

    def records(self, document: Document, version: str | None, line: int, *, at_end: bool) -> Iterator[Record]:
        volume, name, cut = self._volume, self._volume.name[:80], ": it was cut off" if at_end else ""
        if not volume.kind or None not in volume.tiers:
            self.damaged(f"expected the type and the number of bricks of volume {name}{cut}", line)
            return
        expected = volume.tiers[None].bricks
        positions = [brick.position for brick in volume.bricks]
        if not self._elided and positions != list(range(1, expected + 1)):
            self.damaged(f"expected the {expected} bricks of volume {name}, found {len(positions)}{cut}", line)
        elif not all(1 <= position <= expected for position in positions):
            self.damaged(f"expected bricks 1 to {expected} of volume {name}, found others", line)
        elif volume.tiers[None].arbiter:
            volume.bricks = [replace(brick, arbiter=bool(brick.arbiter)) for brick in volume.bricks]
        if self.damage is None:
            try:
                yield from volume.records(document, version)
            except ParseError as error:
                self.damaged(error.message, volume.line)


def _bytes(text: str) -> int | None:
    """Bytes of a size as gluster prints it, in powers of 1,024.

    >>> _bytes("1.8TB"), _bytes("960.0MB"), _bytes("0Bytes"), _bytes("12")
    (1979120929997, 1006632960, 0, None)
    """
    match = re.fullmatch(r"([0-9]{1,18}(?:\.[0-9]{1,9})?) ?(Bytes|KB|MB|GB|TB|PB)", text)
    return None if match is None else round(float(match[1]) * 1024 ** ("B", "K", "M", "G", "T", "P").index(match[2][0]))


def _positive(text: str) -> int | None:
    return whole(text) or None


_DETAILS: dict[str, tuple[str, Callable[[str], Any]]] = {  # lines of a brick in `status detail`, and how they are read
    "Brick": ("address", str),
    "Port": ("tcp_port", _positive),
    "TCP Port": ("tcp_port", _positive),
    "RDMA Port": ("rdma_port", _positive),
    "Online": ("online", str),
    "Pid": ("pid", str),
    "File System": ("file_system", str),
    "Device": ("device", str),
    "Mount Options": ("mount_options", str),
    "Inode Size": ("inode_size_bytes", whole),
    "Disk Space Free": ("free_bytes", _bytes),
    "Total Disk Space": ("size_bytes", _bytes),
    "Inode Count": ("inodes", whole),
    "Free Inodes": ("free_inodes", whole),
}
_DETAIL = re.compile(rf"({'|'.join(_DETAILS)}) ?: ?(.*)")
_LAST_DETAIL = "Free Inodes"


class StatusText(_Lines):
    """The text of `volume status` or `volume status detail` of one volume."""

    def __init__(self, volume: str | None) -> None:
        self._volume = volume
        self._ports: int | None = None
        self._tier: str | None = None
        self._name: list[str] = []
        self._name_line = 0
        self._rows: list[tuple[int, Details]] = []
        self._details: list[tuple[int, dict[str, str]]] = []
        self._in_detail = False
        self._tasks: list[dict[str, str]] | None = None

    @staticmethod
    def starts(text: str) -> bool:
        """Whether a line can only be one of a status, though its heading is missing."""
        is_row = text.startswith("Brick ") and _columns(text.split(), None) is not None
        # a profile has no blank in front of the colon
        return is_row or text.startswith(("Gluster process ", "Brick : "))

    @property
    def has_rows(self) -> bool:
        """Whether it is a table, in which no block of details follows."""
        return bool(self._rows or self._name)

    def elide(self) -> None:
        self._name, self._in_detail = [], False

    def feed(self, line: int, text: str, *, has_end: bool) -> None:
        if text.startswith("Gluster process"):
            self._ports = 2 if "RDMA" in text else 1
        elif text.startswith("Task Status of Volume"):
            self._tasks = self._tasks or []
        elif self._tasks is not None:
            label, _, rest = (part.strip() for part in text.partition(":"))
            if label == "Task":
                self._tasks.append({"type": rest, "status": ""})
            elif label == "Status" and self._tasks:
                self._tasks[-1]["status"] = self._tasks[-1]["status"] or rest
        elif (tier := _TIER.fullmatch(text)) is not None:
            self._tier = tier[1].lower()
        elif not self._name and (detail := _DETAIL.fullmatch(text)) is not None:
            if detail[1] == "Brick":
                self._in_detail = True
                self._details.append((line, {"Brick": detail[2].removeprefix("Brick ")}))
            elif self._in_detail:
                value = detail[2] if has_end or detail[2] == "N/A" else ""
                if (said := self._details[-1][1].setdefault(detail[1], value)) != value:
                    self.damaged(f"expected one {detail[1]!r} of a brick, found {said[:40]!r} and {value[:40]!r}", line)
        elif not text or text.startswith("---"):
            self._close_name()
        else:
            self._take_row(line, text, has_end=has_end)

    def _take_row(self, line: int, text: str, *, has_end: bool) -> None:
        words = text.split()
        if text.startswith(("Brick ", *_DAEMONS)):
            self._close_name()
        elif not self._name:
            return
        start = self._name_line = self._name_line if self._name else line
        if (columns := _columns(words, self._ports)) is None:
            # a wrapped name goes on: its pieces hold no blanks, but for the words in front
            if self._name and (len(words) > 1 or len(self._name) > _NAME_LINES):
                self._close_name()
            else:
                self._name.append(text)
            return
        ports, online, pid = columns
        name = "".join([*self._name, " ".join(words[: -len(ports) - 2])])
        self._name = []
        if name.startswith("Brick "):
            row = {"address": name.removeprefix("Brick "), "online": online, "pid": pid if has_end else ""}
            tcp, rdma = (_positive(port) for port in [*ports, ""][:2])
            self._rows.append((start, {**row, "tcp_port": tcp, "rdma_port": rdma, "tier": self._tier}))

    def _close_name(self) -> None:
        if self._name:
            self.damaged(f"expected the ports and the state of {''.join(self._name)[:80]}", self._name_line)
            self._name = []

    def records(self, document: Document, version: str | None, line: int, *, at_end: bool) -> Iterator[Record]:
        self._close_name()
        if at_end and self._in_detail:
            *others, (_, found) = self._details
            # where a filter has left lines out, it has done so for every brick
            if found.keys() < others[-1][1].keys() if others else _LAST_DETAIL not in found:
                self.damaged(f"expected '{_LAST_DETAIL} :' of the last brick, {_CUT}", line)
                self._details.pop()
        if at_end and not self._rows and not self._details:
            self.damaged("expected bricks, found none: it was cut off, or it is the state of daemons alone", line)
        names = ("tcp_port", "rdma_port", "tier", "device", "file_system", "mount_options", "inode_size_bytes")
        states: dict[str, str | None] = {}
        for place, values in [*self._rows, *((at, _from_detail(found)) for at, found in self._details)]:
            address, online = values.get("address", ""), values.get("online")
            if states.setdefault(address, online) != online:
                self.damaged(f"expected one state of brick {address[:80]}, found {states[address]} and {online}", place)
            try:
                host, path = split_brick(address)
            except ParseError as error:
                self.damaged(error.message, place)
                continue
            yield BrickRecord(
                tool="gluster", tool_version=version, source=document.source(place), volume=self._volume, host=host,
                details=without_none({**{name: values.get(name) for name in names}, "tasks": self._tasks or None}),
                path=path, online={"Y": True, "N": False}.get(values.get("online", "")),
                pid=_positive(values.get("pid", "")), size_bytes=values.get("size_bytes"),
                free_bytes=values.get("free_bytes"), inodes=values.get("inodes"), free_inodes=values.get("free_inodes"),
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


def _from_detail(found: dict[str, str]) -> Details:
    """The values of one brick of `status detail`; what is N/A, or 0 where that is no size, is not among them."""
    values: Details = {}
    for label, (name, read) in _DETAILS.items():
        if found.get(label, "N/A") not in {"N/A", ""} and (value := read(found[label])) is not None:
            values[name] = value
    for label, free in (("Total Disk Space", "free_bytes"), ("Inode Count", "free_inodes")):
        if not values.get(size := _DETAILS[label][0]) and label in found:
            values |= {size: None, free: None}
    return values


class ProfileText(_Lines):
    """The text of one `volume profile info`, line by line; `volume` is what the command line in front of it names."""

    def __init__(self, volume: str | None) -> None:
        self.volume = volume
        self._found: list[Stats] = []
        self._brick: str | None = None
        self._naming: int | None = None
        self._stats: Stats | None = None
        self._sizes: list[int | None] = []
        self._calls: dict[str, list[int | None]] = {}
        self._wants_stats = self._elided = False

    @staticmethod
    def starts(text: str) -> bool:
        return bool(_PROFILED.match(text) or _STATS.fullmatch(text) or _FOP.fullmatch(text))

    def elide(self) -> None:
        self._sizes, self._calls, self._stats, self._naming = [], {}, None, None
        self._wants_stats, self._elided = False, True

    def feed(self, line: int, text: str, *, has_end: bool) -> None:
        if self._naming is not None:
            # a long name goes on over lines until the rule under it
            if text and " " not in text and not text.startswith("---") and line - self._naming <= _PROFILED_LINES:
                self._brick = (self._brick or "") + text
                return
            self._naming = None
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
            self.damaged("expected 'Cumulative Stats:' or 'Interval ... Stats:' before the calls, found none", line)
        elif self._stats is not None and (has_end or text.endswith(" bytes")):
            self._take(self._stats, line, text)

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
            self.damaged("expected a row of latencies that ends in calls and a file operation, found another", line)
        elif colon and label in _BLOCKS:
            self._calls[_BLOCKS[label]] = [whole(word) for word in rest.split()]
        elif colon and label in _TOTALS:
            self._close_blocks(line)
            name, unit = _TOTALS[label]
            value, _, word = rest.partition(" ")
            if (total := whole(value)) is None or word not in {"", unit}:
                self.damaged(f"expected '{label}: <number> {unit}', found {rest[:40]!r}", line)
            else:
                stats.totals[name] = total

    def _close_blocks(self, line: int) -> None:
        sizes, reads, writes = self._sizes, self._calls.get("reads", []), self._calls.get("writes", [])
        self._sizes, self._calls = [], {}
        if not len(sizes) == len(reads) == len(writes) or None in (*sizes, *reads, *writes):
            self.damaged("expected as many numbers of reads and of writes as block sizes", line)
        elif self._stats is not None:
            rows = zip(sizes, reads, writes, strict=True)
            self._stats.blocks += [dict(zip(("size_bytes", "reads", "writes"), row, strict=True)) for row in rows]

    def records(self, document: Document, version: str | None, line: int, *, at_end: bool) -> Iterator[Record]:
        self._close_blocks(line)
        if at_end and self._wants_stats:
            self.damaged(f"expected the statistics of brick {(self._brick or '')[:80]}, {_CUT}", line)
        # where a filter has left the totals out, it has done so everywhere
        usual = max((len(stats.totals) for stats in self._found[:-1]), default=3)
        if at_end and self._stats is not None and len(self._stats.totals) < usual:
            self.damaged(f"expected 'Data Written:' after the calls, {_CUT}", line)
        for stats in self._found:
            for at, message in stats.contradictions():
                self.damaged(message, at)
            if stats.totals or stats.fops or stats.blocks:
                yield from stats.records(document, version)


Report = InfoText | StatusText | ProfileText
