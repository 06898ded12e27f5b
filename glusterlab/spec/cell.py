"""A cell: one point of the matrix, with an id that the same cell has in every campaign."""

import hashlib
import itertools
import json
import math
import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Annotated, Any, Literal, cast

from pydantic import Field

from glusterlab.errors import SpecError
from glusterlab.spec.cluster import Cluster, Host, ScaleModel
from glusterlab.spec.fields import Count, Label, LaterFields, SpecModel
from glusterlab.units import format_size

LayoutType = Literal["distribute", "replicate", "disperse", "other"]
"""How a volume spreads its files; ``other`` is no volume of the suite's: imported results, and access ``existing``."""

Feature = Literal["bitrot", "quota"]
"""What a volume does besides storing files, by daemons of its own on each server with bricks."""

Access = Literal["native", "nfs", "nfs3", "nfs4", "smb", "gfapi", "existing", "none"]
"""How clients reach files. ``nfs`` is of imported results that do not say which version; ``existing`` is a directory
that the operator mounted; ``none`` the local file systems of a baseline."""

_GEOMETRY = re.compile(r"^([1-9][0-9]{0,3})(?:x(?:([1-9][0-9]{0,2})|\(([1-9][0-9]?)\+([1-9][0-9]?)\)))?$")
_EXAMPLES = {"distribute": "6", "replicate": "3x2", "disperse": "12x(4+2)", "other": "1"}


Count64 = Annotated[int, Field(strict=True, ge=1, lt=2**63)]

Caches = Literal["cold", "hot"]
"""Whether caches of all hosts are dropped before a sample, or filled by a first pass that is not measured."""

Mounts = Annotated[int, Field(strict=True, ge=1, le=64)]
"""Mounts of a volume on each client: each is a process of its own there, with memory and connections of its own."""


class Bricks(SpecModel):
    """How bricks are bundled, and what they lie on."""

    type: LayoutType
    subvolumes: Count
    replica: Count = 1
    data: Count = 1
    redundancy: Annotated[int, Field(strict=True, ge=0)] = 0
    backing: Label

    @property
    def subvolume_size(self) -> int:
        """Bricks of one subvolume."""
        return self.replica * (self.data + self.redundancy)

    @property
    def bricks(self) -> int:
        """How many they are; of a tiered volume those of one tier."""
        return self.subvolumes * self.subvolume_size

    @property
    def geometry(self) -> str:
        """As the field writes it: ``6``, ``3x2`` or ``12x(4+2)``."""
        if self.type in ("distribute", "other"):
            return str(self.subvolumes)
        if self.type == "replicate":
            return f"{self.subvolumes}x{self.replica}"
        return f"{self.subvolumes}x({self.data}+{self.redundancy})"

    @property
    def stored_per_byte(self) -> float:
        """Bytes on bricks for each byte of a file."""
        return self.replica * (self.data + self.redundancy) / self.data


class Layout(LaterFields, Bricks):
    """How bricks become a volume; its name is no part of a cell's identity, and options are sorted by name.

    Of a tiered volume the layout's own bricks are the cold tier, and `hot` the tier before them. So many bricks of one
    subvolume may lie on one server as `bricks_per_server` says: then it does not survive as many servers as bricks.
    """

    later = frozenset({"hot", "bricks_per_server", "features"})

    name: Label
    options: tuple[tuple[str, str], ...] = ()
    hot: Bricks | None = None
    bricks_per_server: Count = 1
    features: tuple[Feature, ...] = ()

    @property
    def tiers(self) -> tuple[Bricks, ...]:
        """The bricks in the order in which a volume gets them: its own, then those of its hot tier."""
        return (self,) if self.hot is None else (self, self.hot)

    @property
    def all_bricks(self) -> int:
        """Bricks of the volume, of all tiers."""
        return sum(tier.bricks for tier in self.tiers)

    @property
    def words(self) -> str:
        """For people: ``replicate 3x2 on raid6 + hot 3x2 on nvme``."""
        hot = "" if self.hot is None else f" + hot {self.hot.geometry} on {self.hot.backing}"
        several = f", {self.bricks_per_server} bricks of a set on a server" if self.bricks_per_server > 1 else ""
        also = f", with {' and '.join(self.features)}" if self.features else ""
        return f"{self.type} {self.geometry} on {self.backing}{several}{hot}{also}"


def parse_geometry(layout_type: LayoutType, text: str) -> dict[str, int]:
    """Numbers of a geometry, as the fields of `Layout`; `ValueError` for one that GlusterFS would refuse.

    >>> parse_geometry("disperse", "12x(4+2)")
    {'subvolumes': 12, 'replica': 1, 'data': 4, 'redundancy': 2}
    """
    match = _GEOMETRY.match(text.replace(" ", ""))
    form = f"expected a geometry such as {_EXAMPLES[layout_type]!r} for {layout_type}, found {text!r}"
    if match is None:
        raise ValueError(form)
    # 0 is a number that is not there
    subvolumes, replica, data, redundancy = (int(part or 0) for part in match.groups())
    if layout_type == "other" and text.strip() != "1":
        raise ValueError(f"expected the geometry 1 for what is no GlusterFS volume, found {text!r}")
    fits = not data and (replica >= 2 if layout_type == "replicate" else replica < 2)
    if not (data if layout_type == "disperse" else fits):
        raise ValueError(form)
    if data and data <= redundancy:
        raise ValueError(f"expected more data than redundancy bricks, as GlusterFS asks for, found {text!r}")
    return {"subvolumes": subvolumes, "replica": replica or 1, "data": data or 1, "redundancy": redundancy}


@lru_cache(maxsize=1024)
def layout_of(type_: str, geometry: str) -> Layout:
    """The layout of a geometry, on any backing; raises `ValueError` when it is none."""
    numbers = parse_geometry(cast("LayoutType", type_), geometry)
    return Layout(name="volume", type=cast("LayoutType", type_), backing="any", **cast("Any", numbers))


EventKind = Literal["rebalance", "reset-brick"]
"""What the suite can do to the pool while a workload runs."""

RebalanceThrottle = Literal["lazy", "normal", "aggressive"]


class Event(SpecModel):
    """What happens to the pool while a workload runs.

    rebalance: the volume grows to the geometry `to`, and its files are spread anew. reset-brick: the volume's first
    brick gets an empty directory, as on a new disk, and is healed from the others; it has no `to` and no throttle.
    `at_s`: seconds after the workload's command began; None where the event begins before it, and has to outlast it.
    """

    do: EventKind
    to: str | None = None
    throttle: RebalanceThrottle = "normal"
    at_s: Annotated[float, Field(ge=0)] | None = None

    @property
    def words(self) -> str:
        """For people: ``rebalance to 3x2, lazy, from 30 s on``."""
        since = "" if self.at_s is None else f", from {self.at_s:g} s on"
        how = "" if self.to is None else f" to {self.to}, {self.throttle}"
        return f"{self.do}{how}{since}"


class Cell(LaterFields):
    """Layout x access x workload x workers: one thing to run, any number of times.

    `file_size_bytes` as it is written, `nominal_file_size_bytes` what a scaled file stands for; workers over all
    clients; a record size of None leaves it to the tool; without `runtime_s` it ends when the files are done; `mounts`
    of the volume on each client, over which workers are spread, whichever mount the files were made through.
    `rate_bytes_per_s` is of each worker, as it is run; None where each is as fast as it can. Workers run on the first
    `clients` of the cluster; None for all.
    """

    later = frozenset({"runtime_s", "mounts", "rate_bytes_per_s", "clients", "caches", "event"})

    layout: Layout
    access: Access
    tool: Label
    operation: Label
    file_size_bytes: Count64
    nominal_file_size_bytes: Count64
    record_size_bytes: Count64 | None = None
    files_per_worker: Count = 1
    workers: Count
    model: ScaleModel
    options: tuple[str, ...] = ()
    runtime_s: Annotated[float, Field(gt=0)] | None = None
    mounts: Mounts = 1
    rate_bytes_per_s: Annotated[float, Field(gt=0)] | None = None
    clients: Count | None = None
    caches: Caches = "cold"
    event: Event | None = None

    @property
    def slug(self) -> str:
        """For people: ``iozone-write-4gib-disperse-12x4+2-jbod-native-w48``."""
        geometry = self.layout.geometry.replace("(", "").replace(")", "")
        size = format_size(self.nominal_file_size_bytes).replace(" ", "").lower()
        hot = [f"hot-{tier.geometry}-{tier.backing}" for tier in self.layout.tiers[1:]]
        made_of = [self.layout.type, geometry, self.layout.backing, *hot, *self.layout.features]
        parts = [self.tool, self.operation, size, *made_of, self.access]
        some = [f"m{self.mounts}"] if self.mounts > 1 else []
        some += [f"c{self.clients}"] if self.clients else []
        some += ["hot"] if self.caches == "hot" else []
        if (event := self.event) is not None:
            since = [] if event.at_s is None else [f"at{event.at_s:g}"]
            how = [] if event.to is None else [event.to.replace("(", "").replace(")", ""), event.throttle]
            some += [event.do, *how, *since]
        return "-".join([*parts, f"w{self.workers}", *some])

    @property
    def id(self) -> str:
        """The slug and a hash of everything but the labels (names of the layout and of the scale model)."""
        return _id_of(self)

    def dataset(self, keyed_by: Iterable[str]) -> str:
        """Directory of the files that a write makes and a read needs; `keyed_by`: further keys that tell them apart."""
        kept = {"layout", "access", "tool", "file_size_bytes", "files_per_worker", "workers", *keyed_by}
        facts = self.model_dump(mode="json", include=kept)
        del facts["layout"]["name"]
        size = format_size(self.file_size_bytes).replace(" ", "").lower()
        return f"{self.tool}-{size}-f{self.files_per_worker}-w{self.workers}-{_digest(facts)}"

    @property
    def layout_after(self) -> Layout:
        """The layout when the sample has ended: another one where the event makes the volume grow."""
        if self.event is None or self.event.to is None:
            return self.layout
        return self.layout.model_copy(update=parse_geometry(self.layout.type, self.event.to))

    @property
    def bytes_written(self) -> int:
        """Bytes of all files of the cell's dataset, before replication or redundancy."""
        return self.workers * self.files_per_worker * self.file_size_bytes


@lru_cache(maxsize=1 << 17)
def _id_of(cell: Cell) -> str:
    """Kept, because a run asks for the ids of all that is left after every sample."""
    facts = cell.model_dump(mode="json")
    del facts["layout"]["name"], facts["model"]["name"]
    return f"{cell.slug}-{_digest(facts)}"


def _digest(facts: dict[str, Any]) -> str:
    canonical = json.dumps(facts, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(canonical.encode()).hexdigest()[:8]


WORK_TOLERANCE = 0.1
"""Sizes and lengths that are no further apart are one: 4 GB and 4 GiB differ by 7 %."""

_WORK = {
    "file_size": "of each file",
    "length": "times the length that the scale asks for",
    "files_per_worker": "files per worker",
    "records": "records per file",
    "runtime": "seconds",
    "rate": "bytes/s at most",
}


def work_of(cell: Cell | Mapping[str, Any]) -> dict[str, float | None]:
    """What one worker does, in terms of the hardware that a cell or a row of the samples table stands for."""
    facts = {**cell.model_dump(), "scale": cell.model.scale} if isinstance(cell, Cell) else cell
    written, nominal, record = (facts[f"{name}_size_bytes"] for name in ("file", "nominal_file", "record"))
    runtime, rate = facts.get("runtime_s"), facts.get("rate_bytes_per_s")
    return {
        "file_size": nominal,
        "length": 1.0 if written == nominal else written * facts["scale"] / nominal,
        "files_per_worker": facts["files_per_worker"],
        "records": None if record is None or math.isnan(record) else written / record,
        "runtime": None if runtime is None or math.isnan(runtime) else runtime,
        "rate": None if rate is None or math.isnan(rate) else rate * facts["scale"],
    }


def work_differences(one: Cell | Mapping[str, Any], other: Cell | Mapping[str, Any]) -> dict[str, str]:
    """In what the workers of two cells did not do equal work, by its name in `work_of`; empty where they did."""
    found = {}
    for (name, first), second in zip(work_of(one).items(), work_of(other).values(), strict=True):
        tolerance = 0.0 if name == "files_per_worker" else WORK_TOLERANCE
        same = first is second if first is None or second is None else math.isclose(first, second, rel_tol=tolerance)
        if not same:
            found[name] = f"{_amount(name, first)} and {_amount(name, second)} {_WORK[name]}"
    return found


def _amount(name: str, value: float | None) -> str:
    if value is None:
        return "no stated"
    return format_size(int(value)) if name == "file_size" else f"{value:.3g}"


def layout_problem(layout: Layout, cluster: Cluster) -> str | None:
    """Why a cluster has no room for a layout; None where it has."""
    if layout.hot is not None and layout.hot.backing == layout.backing:
        return f"its hot tier needs a backing of its own, found {layout.backing!r} for both tiers"
    servers = len(cluster.servers)
    for tier in layout.tiers:
        if tier.backing not in cluster.backings:
            return f"{cluster.name} has no backing {tier.backing!r}, it has {', '.join(cluster.backings)}"
        roots = len(cluster.backings[tier.backing].bricks)
        several = layout.bricks_per_server
        if tier.subvolume_size > servers * several:
            needed = math.ceil(tier.subvolume_size / several)
            return f"a subvolume of {tier.geometry} needs {needed} distinct servers, {cluster.name} has {servers}"
        if tier.bricks > servers * roots:
            room = f"{servers} servers x {roots}"
            return f"{tier.geometry} needs {tier.bricks} bricks, backing {tier.backing!r} has {room}"
    return None


def event_problem(cell: Cell) -> str | None:
    """Why a cell's event cannot happen to its layout; None where it can, and where it has none."""
    if cell.event is None:
        return None
    layout, wanted = cell.layout, f"to: {cell.event.to}"
    if layout.hot is not None:
        return "a volume with a hot tier neither grows nor is healed here: leave 'event' out"
    if cell.event.do == "reset-brick":
        alone = layout.type == "distribute"
        return "a brick is healed from others, and a distributed volume has none: leave 'event' out" if alone else None
    try:
        after = cell.layout_after
    except ValueError as error:
        return f"{cell.event.do} {wanted}: {error}"
    sets = [(each.replica, each.data, each.redundancy) for each in (layout, after)]
    if sets[0] != sets[1] or after.subvolumes <= layout.subvolumes:
        return f"a rebalance needs more subvolumes of the same kind than {layout.geometry} has, found {wanted}"
    return None


TIERED = ((3, 7), (6,))
"""From the first of these releases of GlusterFS, and before the second, volumes can have a hot tier."""

_FEATURED = (3, 7)  # the first release with bit-rot detection, and with a quota that its daemon counts


def release_problem(layout: Layout, release: str) -> str | None:
    """Why a GlusterFS release cannot have a layout; None where it can, or where the release says no number."""
    numbers = tuple(map(int, re.findall(r"\d+", release)))
    if layout.hot is not None and numbers and not TIERED[0] <= numbers < TIERED[1]:
        return f"GlusterFS {release} has no hot tiers: 3.7 to 5 have"
    if layout.features and numbers and numbers < _FEATURED:
        return (
            f"GlusterFS {release} has not {' and '.join(layout.features)} as the suite knows them: 3.7 and later have"
        )
    return None


def place_bricks(layout: Layout, cluster: Cluster) -> list[tuple[Host, str]]:
    """Server and file system of each brick, in the order of creation, those of a hot tier last.

    Raises `SpecError` when the cluster has no room.
    """
    found = layout_problem(layout, cluster)
    if found is not None:
        raise SpecError(f"layout {layout.name!r}: {found}")
    places: list[tuple[Host, str]] = []
    for tier in layout.tiers:
        # round the servers disk by disk: bricks of a subvolume, which follow each other, lie on distinct servers
        each = ((server, root) for root in cluster.backings[tier.backing].bricks for server in cluster.servers)
        places += itertools.islice(each, tier.bricks)
    return places
