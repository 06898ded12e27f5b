"""What gluster says, as records: a volume's geometry, its bricks, and their statistics."""

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from glusterlab.errors import ParseError
from glusterlab.tools.document import Document, whole
from glusterlab.tools.records import BrickRecord, Details, ProfileRecord, Record, VolumeRecord, without_none

_COUNT = re.compile(
    r"([0-9]{1,9}) ?x ?(?:([0-9]{1,9}) ?x ?)?(?:\( ?([0-9]{1,9}) ?\+ ?([0-9]{1,9}) ?\)|([0-9]{1,9})) ?= ?([0-9]{1,9})"
)
_SECONDS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}
# these pass a thread of the brick and a system call: none of them takes less than a microsecond
_SLOW_FOPS = frozenset(
    {"LOOKUP", "CREATE", "MKDIR", "UNLINK", "RMDIR", "RENAME", "READ", "WRITE", "SETATTR", "SETXATTR", "XATTROP",
     "FXATTROP", "FSYNC", "READDIRP", "READDIR", "GETXATTR", "STATFS"}
)  # fmt: skip
_LEAST_NS = 1000.0
_ENOUGH_CALLS = 20


@dataclass(frozen=True)
class Geometry:
    """How many bricks there are, and how many of them make a subvolume (`size`); the rest where the type has it."""

    bricks: int
    size: int = 1
    replica: int | None = None
    arbiter: int | None = None
    data: int | None = None
    redundancy: int | None = None
    stripe: int | None = None

    @property
    def subvolumes(self) -> int:
        """Units over which files are distributed."""
        return self.bricks // self.size

    @property
    def usable_fraction(self) -> float:
        """What users can fill, of the capacity of the bricks that hold data: an arbiter brick holds none."""
        if self.data is not None and self.redundancy is not None:
            return self.data / (self.data + self.redundancy)
        return 1 / ((self.replica or 1) - (self.arbiter or 0))

    def as_dict(self) -> Details:
        names = ("subvolumes", "bricks", "replica", "arbiter", "data", "redundancy", "stripe")
        return without_none({name: getattr(self, name) for name in names})


def geometry(
    kind: str, bricks: int, *, copies: int = 1, stripe: int = 1, arbiter: int = 0, redundancy: int = 0
) -> Geometry:
    """The geometry of a volume of a type in gluster's words; `ParseError` when its counts contradict each other."""
    # of a replica set, with its arbiter, or of a disperse set
    copies, stripe = max(copies, 1), max(stripe, 1)
    size = copies * stripe
    if not 0 <= max(arbiter, redundancy) < copies or bricks < 1 or bricks % size:
        raise ParseError(f"expected whole subvolumes of {size} bricks, found {bricks} bricks of a {kind} volume")
    words = kind.lower()
    if "disperse" in words:
        if redundancy < 1:
            raise ParseError(f"expected a redundancy of a {kind} volume, found none")
        return Geometry(bricks, size, data=copies - redundancy, redundancy=redundancy)
    width = stripe if "stripe" in words else None
    if "replicate" in words:
        return Geometry(bricks, size, replica=copies, arbiter=arbiter, stripe=width)
    if size > 1 and width is None:
        raise ParseError(f"expected single bricks in a {kind} volume, found sets of {size}")
    return Geometry(bricks, size, stripe=width)


def read_geometry(kind: str, text: str) -> Geometry:
    """The geometry of ``2 x (4 + 2) = 12``, ``3 x 2 = 6``, ``2 x 2 x 2 = 8`` or ``6``; `ParseError` for all else."""
    if text.isascii() and text.isdigit() and len(text) <= 9:
        return geometry(kind, int(text))
    if (match := _COUNT.fullmatch(text)) is None:
        raise ParseError(f"expected a number of bricks such as '2 x (4 + 2) = 12', found {text[:60]!r}")
    sets, middle, whole, extra, plain, total = (0 if group is None else int(group) for group in match.groups())
    copies, stripe = (whole + extra) or plain, middle or 1
    if kind.lower().removeprefix("distributed-") == "stripe":
        copies, stripe = 1, copies * stripe
    if sets * copies * stripe != total:
        raise ParseError(f"expected a number of bricks that adds up, found {text[:60]!r}")
    role = "redundancy" if "disperse" in kind.lower() else "arbiter"
    return geometry(kind, total, copies=copies, stripe=stripe, **{role: extra})


def split_brick(address: str) -> tuple[str, str]:
    """Host and path of ``host:/path``, the host a name, IPv4 or IPv6 address; `ParseError` for all else."""
    host, found, path = address.partition(":/")
    host = host.removeprefix("[").removesuffix("]")
    if not found or not host or " " in host:
        raise ParseError(f"expected a brick such as server:/path, found {address[:80]!r}")
    return host, "/" + path


@dataclass(frozen=True)
class Brick:
    """One brick as `volume info` lists it."""

    address: str
    position: int
    line: int | None = None
    arbiter: bool | None = None
    tier: str | None = None  # hot or cold in a tiered volume


@dataclass
class Volume:
    """What `volume info` says of one volume from `line` on; `tiers` go by hot and cold, or None if it is not tiered."""

    name: str
    line: int
    kind: str = ""
    tiers: dict[str | None, Geometry] = field(default_factory=dict)
    bricks: list[Brick] = field(default_factory=list)
    details: Details = field(default_factory=dict)
    options: dict[str, str] = field(default_factory=dict)

    def records(self, document: Document, version: str | None) -> Iterator[Record]:
        """The volume's record and its bricks'. `ParseError` when a brick's address is none."""
        tiered, whole = len(self.tiers) > 1, self.tiers[None]
        places = [split_brick(brick.address) for brick in self.bricks]
        # a brick's subvolume is counted from 1 in its tier, and the cold one's bricks come last
        before = {"cold": self.tiers["hot"].bricks} if "hot" in self.tiers else {}
        sizes = {name: tier.size for name, tier in self.tiers.items()}
        subvolumes = [
            (brick.position - 1 - before.get(brick.tier or "", 0)) // sizes.get(brick.tier, whole.size) + 1
            for brick in self.bricks
        ]
        details: Details = dict(self.details)
        for name, tier in self.tiers.items():
            if name is not None:
                kind = self.details.get(f"{name}_type")
                details[name] = {**({"type": kind} if kind else {}), **tier.as_dict()}
        if not tiered:
            details["usable_fraction"] = whole.usable_fraction
        if whole.stripe is not None:
            details["stripe"] = whole.stripe
        if len(self.bricks) == whole.bricks:
            hosts = [host for host, _ in places]
            units = zip((brick.tier for brick in self.bricks), subvolumes, hosts, strict=True)
            details |= {"hosts": len(set(hosts)), "max_bricks_of_one_host_in_a_subvolume": max(Counter(units).values())}
        else:
            details["bricks_listed"] = len(self.bricks)
        yield VolumeRecord(
            tool="gluster", tool_version=version, source=document.source(self.line), details=details,
            name=self.name, type=self.kind, subvolumes=None if tiered else whole.subvolumes, bricks=whole.bricks,
            replica=whole.replica, arbiter=whole.arbiter, data=whole.data, redundancy=whole.redundancy,
            options=self.options,
        )  # fmt: skip
        for brick, (host, path), subvolume in zip(self.bricks, places, subvolumes, strict=True):
            more = without_none({"arbiter": brick.arbiter, "tier": brick.tier})
            yield BrickRecord(
                tool="gluster", tool_version=version, source=document.source(brick.line or self.line),
                details={"position": brick.position, "subvolume": subvolume, **more}, volume=self.name, host=host,
                path=path,
            )  # fmt: skip


_IN_FLIGHT, _ROUNDED, _STEP = 64, 0.001, 0.0051
"""Calls that one number may have more than another, and how far printed numbers are rounded: by share and in digits."""


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
    """One block of statistics of one brick: `blocks` are calls by block size, `totals` duration and bytes."""

    line: int
    brick: str | None
    interval: str
    volume: str | None = None
    fops: list[Fop] = field(default_factory=list)
    blocks: list[dict[str, Any]] = field(default_factory=list)
    totals: dict[str, int] = field(default_factory=dict)

    def contradictions(self) -> Iterator[tuple[int, str]]:
        """Lines and what in them does not add up, as gluster computes it; rows that a filter left out are no harm.

        Blocks of ``2^n b+`` are calls of 2^n bytes to twice as many (empty ones count as 1), and a share of latency is
        calls times mean by the sum of that. Calls in flight while it is printed may be in one number only.
        """
        called = {fop.name: fop.calls for fop in self.fops}
        for name, calls, fop_name in (("read_bytes", "reads", "READ"), ("written_bytes", "writes", "WRITE")):
            counts = [(block["size_bytes"], block[calls]) for block in self.blocks if block.get(calls)]
            least = sum(size * count for size, count in counts if size > 1)
            # some sizes of an excerpt are missing
            whole_table = sum(count for _, count in counts) + _IN_FLIGHT >= called.get(fop_name, math.inf)
            most = sum(2 * size * count for size, count in counts) if whole_table else math.inf
            slack = _IN_FLIGHT * max((size for size, _ in counts), default=0)
            if counts and name in self.totals and not least - slack <= self.totals[name] <= most + slack:
                found = f"found {self.totals[name]:,}"
                yield self.line, f"expected {least:,} to {most:,} bytes of {calls} by the block sizes, {found}"
        low, high = 0.0, math.inf
        for fop in self.fops:
            mean, least_s, most_s = fop.mean or 0.0, fop.least or 0.0, fop.most or 0.0
            if mean and not least_s * (1 - _ROUNDED) - _STEP <= mean <= most_s * (1 + _ROUNDED) + _STEP:
                yield fop.line, f"expected a mean of {fop.name} from {least_s:g} to {most_s:g}, found {mean:g}"
            if mean and fop.percent is not None and fop.unit == self.fops[-1].unit:
                # what the sum over all operations can be, by each share
                part = 100 * mean * fop.calls
                low = max(low, part * (1 - _ROUNDED) / (fop.percent + _STEP))
                high = min(high, part * (1 + _ROUNDED) / (fop.percent - _STEP) if fop.percent > _STEP else math.inf)
        shares = sum(fop.percent or 0.0 for fop in self.fops)
        if low > high or shares > 100 + _STEP * len(self.fops):
            found = f"found another ({shares:.2f} % in all)"
            yield self.line, f"expected %-latency as calls and mean latencies give it, {found}"

    def records(self, document: Document, version: str | None, *, unit: str | None = None) -> Iterator[Record]:
        """The record of the interval, and one for each file operation; `unit`: of latencies without their own."""
        common: dict[str, Any] = {
            "tool": "gluster", "tool_version": version, "volume": self.volume, "brick": self.brick,
            "interval": self.interval,
        }  # fmt: skip
        totals = {**self.totals, "block_sizes": self.blocks}
        yield ProfileRecord(**common, source=document.source(self.line), details=totals)
        for fop in self.fops:
            printed = (fop.mean, fop.least, fop.most)
            details: Details = {} if fop.percent is None else {"latency_percent": fop.percent}
            mean, least, most = None, None, None
            # 0.00 means a call that gluster does not time, such as RELEASE
            if any(printed) and (fop.unit or unit) is None:
                names = (f"latency_{name}_unknown_unit" for name in ("mean", "min", "max"))
                details |= dict(zip(names, printed, strict=True))
            elif any(printed):
                if fop.unit is None:
                    details["latency_unit_inferred"] = unit
                factor = _SECONDS[fop.unit or unit or "us"]
                mean, least, most = (None if value is None else value * factor for value in printed)
            yield ProfileRecord(
                **common, source=document.source(fop.line), details=details, fop=fop.name, calls=fop.calls,
                latency_mean_s=mean, latency_min_s=least, latency_max_s=most,
            )  # fmt: skip


def latency_unit(fops: Sequence[Fop], version: str | None) -> str | None:
    """The unit of latencies that have none in XML: ``us`` before GlusterFS 10, ``ns`` since, else by the values."""
    major = None if version is None else whole(version.partition(".")[0])
    if major is not None:
        return "us" if major < 10 else "ns"
    extremes = [value for fop in fops for value in (fop.least, fop.most) if value]
    slow = [fop for fop in fops if fop.name in _SLOW_FOPS and fop.mean]
    # nanoseconds are counted whole
    if any(value != int(value) for value in extremes) or any((fop.least or 0) < _LEAST_NS for fop in slow):
        return "us"
    # as microseconds, each of so many would have taken a millisecond or more
    return "ns" if sum(fop.calls for fop in slow) >= _ENOUGH_CALLS else None
