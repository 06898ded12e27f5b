"""What `gluster volume info` says of a volume, as records: the geometry, and which hosts a subvolume depends on."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from glusterlab.errors import ParseError
from glusterlab.readers.document import Document
from glusterlab.readers.records import BrickRecord, Details, Record, VolumeRecord

_COUNT = re.compile(
    r"([0-9]{1,9}) ?x ?(?:([0-9]{1,9}) ?x ?)?(?:\( ?([0-9]{1,9}) ?\+ ?([0-9]{1,9}) ?\)|([0-9]{1,9})) ?= ?([0-9]{1,9})"
)


@dataclass(frozen=True)
class Geometry:
    """How many bricks there are and what a subvolume is made of.

    Attributes
    ----------
    bricks, size : int
        All of them, and those of one subvolume.
    replica, arbiter, data, redundancy, stripe : int or None
        Where the type has such a number.
    """

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
        """What users can fill, of the capacity of the bricks that hold data: an arbiter brick holds none.

        Examples
        --------
        >>> Geometry(6, 6, data=4, redundancy=2).usable_fraction, Geometry(3, 3, replica=3, arbiter=1).usable_fraction
        (0.6666666666666666, 0.5)
        """
        if self.data is not None and self.redundancy is not None:
            return self.data / (self.data + self.redundancy)
        return 1 / ((self.replica or 1) - (self.arbiter or 0))

    def as_dict(self) -> Details:
        """The numbers that there are, as details of a record."""
        names = ("subvolumes", "bricks", "replica", "arbiter", "data", "redundancy", "stripe")
        return {name: getattr(self, name) for name in names if getattr(self, name) is not None}


def geometry(
    kind: str, bricks: int, *, copies: int = 1, stripe: int = 1, arbiter: int = 0, redundancy: int = 0
) -> Geometry:
    """The geometry of a volume of a type, from the counts that `gluster` gives.

    Parameters
    ----------
    kind : str
        The type in gluster's words.
    bricks : int
    copies : int
        Bricks of a replica set, with its arbiter, or of a disperse set.
    stripe, arbiter, redundancy : int

    Raises
    ------
    ParseError
        When they contradict each other.

    Examples
    --------
    >>> geometry("Distributed-Disperse", 72, copies=6, redundancy=2).as_dict()
    {'subvolumes': 12, 'bricks': 72, 'data': 4, 'redundancy': 2}
    """
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
    """The geometry of ``2 x (4 + 2) = 12``, ``3 x 2 = 6``, ``2 x 2 x 2 = 8`` or ``6``.

    Raises
    ------
    ParseError
        When it is none of these, or does not add up.

    Examples
    --------
    >>> read_geometry("Replicate", "1 x (2 + 1) = 3").as_dict()
    {'subvolumes': 1, 'bricks': 3, 'replica': 3, 'arbiter': 1}
    >>> read_geometry("Distribute", "3").subvolumes
    3
    """
    if text.isascii() and text.isdigit() and len(text) <= 9:
        return geometry(kind, int(text))
    match = _COUNT.fullmatch(text)
    if match is None:
        raise ParseError(f"expected a number of bricks such as '2 x (4 + 2) = 12', found {text[:60]!r}")
    sets, middle, whole, extra, plain, total = (0 if group is None else int(group) for group in match.groups())
    copies, stripe = (whole + extra) or plain, middle or 1
    if kind.lower().removeprefix("distributed-") == "stripe":
        copies, stripe = 1, copies * stripe
    if sets * copies * stripe != total:
        raise ParseError(f"expected a number of bricks that adds up, found {text[:60]!r}")
    disperse = "disperse" in kind.lower()
    return geometry(
        kind,
        total,
        copies=copies,
        stripe=stripe,
        arbiter=0 if disperse else extra,
        redundancy=extra if disperse else 0,
    )


def split_brick(address: str) -> tuple[str, str]:
    """Host and path of ``host:/path``; hosts may be names, IPv4 or IPv6 addresses.

    Raises
    ------
    ParseError
        When it is none.

    Examples
    --------
    >>> split_brick("fe80::1:/bricks/a")
    ('fe80::1', '/bricks/a')
    """
    host, found, path = address.partition(":/")
    host = host.removeprefix("[").removesuffix("]")
    if not found or not host or " " in host:
        raise ParseError(f"expected a brick such as server:/path, found {address[:80]!r}")
    return host, "/" + path


@dataclass(frozen=True)
class Brick:
    """One brick as `volume info` lists it; `tier` is hot or cold in a tiered volume."""

    address: str
    position: int
    line: int | None = None
    arbiter: bool | None = None
    tier: str | None = None


@dataclass
class Volume:
    """What `volume info` says of one volume, in text or in XML.

    Attributes
    ----------
    name, kind : str
    line : int
        Where it starts.
    tiers : dict of str or None to Geometry
        By hot and cold; one under None where the volume is not tiered.
    bricks : list of Brick
    details : dict
    options : dict of str to str
    """

    name: str
    line: int
    kind: str = ""
    tiers: dict[str | None, Geometry] = field(default_factory=dict)
    bricks: list[Brick] = field(default_factory=list)
    details: Details = field(default_factory=dict)
    options: dict[str, str] = field(default_factory=dict)

    def records(self, document: Document, version: str | None) -> Iterator[Record]:
        """The volume's record and its bricks'.

        Raises
        ------
        ParseError
            When a brick's address is none.
        """
        tiered = len(self.tiers) > 1
        whole = self.tiers[None]
        hosts = [split_brick(brick.address)[0] for brick in self.bricks]
        details: Details = dict(self.details)
        if tiered:
            details |= {name: tier for name, tier in self._tier_details() if name}
        else:
            details["usable_fraction"] = whole.usable_fraction
        if whole.stripe is not None:
            details["stripe"] = whole.stripe
        if len(self.bricks) == whole.bricks:
            details["hosts"] = len(set(hosts))
            details["max_bricks_of_one_host_in_a_subvolume"] = self._most_of_one_host(hosts)
        else:
            details["bricks_listed"] = len(self.bricks)
        yield VolumeRecord(
            tool="gluster", tool_version=version, source=document.source(self.line), details=details,
            name=self.name, type=self.kind, subvolumes=None if tiered else whole.subvolumes, bricks=whole.bricks,
            replica=whole.replica, arbiter=whole.arbiter, data=whole.data, redundancy=whole.redundancy,
            options=self.options,
        )  # fmt: skip
        for brick in self.bricks:
            host, path = split_brick(brick.address)
            yield BrickRecord(
                tool="gluster", tool_version=version, source=document.source(brick.line or self.line),
                details=self._brick_details(brick), volume=self.name, host=host, path=path,
            )  # fmt: skip

    def _tier_details(self) -> Iterator[tuple[str, dict[str, Any]]]:
        for name, tier in self.tiers.items():
            if name is not None:
                kind = self.details.get(f"{name}_type")
                yield name, {**({"type": kind} if kind else {}), **tier.as_dict()}

    def _subvolume(self, brick: Brick) -> tuple[str | None, int]:
        """A brick's subvolume, counted from 1 in its tier."""
        first = 1
        if brick.tier == "cold" and "hot" in self.tiers:
            first += self.tiers["hot"].bricks
        return brick.tier, (brick.position - first) // self.tiers.get(brick.tier, self.tiers[None]).size + 1

    def _most_of_one_host(self, hosts: Sequence[str]) -> int:
        counts = Counter((*self._subvolume(brick), host) for brick, host in zip(self.bricks, hosts, strict=True))
        return max(counts.values())

    def _brick_details(self, brick: Brick) -> Details:
        tier, subvolume = self._subvolume(brick)
        details: Details = {"position": brick.position, "subvolume": subvolume}
        if brick.arbiter is not None:
            details["arbiter"] = brick.arbiter
        if tier is not None:
            details["tier"] = tier
        return details
