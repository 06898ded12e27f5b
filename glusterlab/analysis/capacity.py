"""Usable capacity of a layout, and the guide's rules on fault domains and pool sizes, as checks with findings.

Capacity follows from the layout alone (the guide, Gluster volumes and bricks, and Selecting a data protection method,
figure 3). What file systems, thin pools and reserves take is left out, as the guide does.
"""

from typing import NamedTuple, get_args

import pandas as pd

from glusterlab.analysis.select import layout_label
from glusterlab.errors import DataError
from glusterlab.spec.cell import layout_of
from glusterlab.spec.cluster import RAID6_DISKS, BackingKind

PETABYTE = 10**15

MAX_FAULT_DOMAIN = 0.17
"""Share of the pool of one server (the guide, Determining fault domain risk tolerance, of dense servers). This project
holds every pool to it: the guide's own minimum of four servers, 25 % each, passes only where a larger one is set."""

SUPPORTED_POOL = 2  # storage servers, "with a third non-storage node to constitute quorum" (the same)

RECOMMENDED_POOL = {"replicate": 4, "disperse": 6}  # fewest servers, by the type of the volume (the same)

DENSE_DISKS = 24

DENSE_RAW_BYTES = PETABYTE
""""Dense servers should typically be reserved for clusters with more than a petabyte of raw capacity" (the same)."""

LARGEST_POOL = 128  # "Pooling storage across up to 128 storage servers" (Qualifying the need)

_LAYOUT = ["type", "geometry", "kind", "disks_per_brick", "disks_per_server"]

KINDS: tuple[str, ...] = get_args(BackingKind)  # an import may name what lies under its bricks as it likes


class Capacity(NamedTuple):
    """Bytes of a pool, by what they are for; the parts add up to `raw`."""

    raw: float  # of all data disks
    usable: float
    parity: float  # of RAID 6, and redundancy bricks
    replica: float  # second and further copies, of a volume or of RAID 10


def unknown_capacity(type_: str, kind: str, disks_per_brick: int) -> str:
    """Why what a layout holds cannot be said; empty where it can."""
    if type_ == "other":
        return "expected a GlusterFS volume, found what is none"
    if kind not in KINDS:
        return f"expected a backing of the kind {', '.join(KINDS[:-1])} or {KINDS[-1]}, found {kind!r}"
    if kind == "raid6" and disks_per_brick < RAID6_DISKS:
        return f"expected RAID 6 arrays of at least {RAID6_DISKS} disks, found {disks_per_brick}"
    return ""


def pool_capacity(raw: float, *, type_: str, geometry: str, kind: str, disks_per_brick: int = 1) -> Capacity:
    """What a layout makes of some raw bytes (of all data disks): RAID first, volume after it.

    `ValueError` where the geometry is none, or `raw` not above 0; `DataError` where `unknown_capacity` says why.
    """
    if not raw > 0:
        raise ValueError(f"expected raw bytes above 0, found {raw}")
    if reason := unknown_capacity(type_, kind, disks_per_brick):
        raise DataError(f"the capacity of {layout_label(type_, geometry, kind)} is not known: {reason}")
    layout = layout_of(type_, geometry)
    copies, data, redundancy = layout.replica, layout.data, layout.redundancy
    shares = {"raid6": (disks_per_brick - 2) / disks_per_brick, "raid10": 0.5}
    after_raid = raw * shares.get(kind, 1.0)
    lost = raw - after_raid
    parity, replica = (0.0, lost) if kind == "raid10" else (lost, 0.0)
    parity += after_raid * redundancy / (data + redundancy)
    protected = after_raid * data / (data + redundancy)
    return Capacity(raw, protected / copies, parity, replica + protected * (copies - 1) / copies)


def disks_per_brick(type_: str, geometry: str, disks: int) -> int:
    """Disks under one brick of a layout, from all of its disks."""
    return max(1, disks // layout_of(type_, geometry).bricks)


def capacity_table(layouts: pd.DataFrame, *, servers: int, disk_bytes: float) -> pd.DataFrame:
    """Usable, parity and replica capacity of the layouts of `layouts_of`, on as many servers of each one's own kind."""
    records = []
    for type_, geometry, kind, per_brick, per_server in layouts[_LAYOUT].itertuples(index=False, name=None):
        disks = servers * per_server
        found = pool_capacity(disks * disk_bytes, type_=type_, geometry=geometry, kind=kind, disks_per_brick=per_brick)
        shape = layout_label(type_, geometry, kind), type_, geometry, kind, servers, disks
        records.append((*shape, *found, found.usable / found.raw))
    sizes = [f"{part}_bytes" for part in Capacity._fields]
    columns = ["series", "type", "geometry", "kind", "servers", "disks", *sizes, "usable_share"]
    return pd.DataFrame.from_records(records, columns=columns)


class Finding(NamedTuple):
    """What a rule says of a pool: ``sentence`` has what was expected, and what was found."""

    rule: str
    ok: bool
    sentence: str


def fault_domain(servers: int) -> float:
    """Share of the pool that one server holds, where all are alike: 0 to 1."""
    return 1 / servers


def dense_rule(disks_per_server: float, raw: float) -> Finding | None:
    """Whether a *need* of raw bytes, over 1 PB, asks for servers as dense as these, by the guide; None if not dense."""
    if disks_per_server < DENSE_DISKS:
        return None
    need = f"a need of more than 1 PB of raw capacity for servers of {disks_per_server:g} disks"
    return Finding("dense-servers", raw > DENSE_RAW_BYTES, f"expected {need}, found {raw / PETABYTE:.3g} PB")


def check_pool(
    type_: str, servers: int, *, disks_per_server: int, raw: float, max_fault_domain: float = MAX_FAULT_DOMAIN
) -> list[Finding]:
    """The guide's rules on one pool of equal servers, each that speaks of it, whether it is kept or not."""
    share, recommended = fault_domain(servers), RECOMMENDED_POOL.get(type_, 0)
    least, has = f"one server to hold less than {100 * max_fault_domain:.3g} % of the pool", str(servers)
    quorum = f"at least {SUPPORTED_POOL} servers and a third host for quorum"
    rules = [
        ("fault-domain", share < max_fault_domain, least, f"1/{servers} = {100 * share:.3g} %"),
        ("supported-pool", servers >= SUPPORTED_POOL, quorum, has),
        ("largest-pool", servers <= LARGEST_POOL, f"at most {LARGEST_POOL} servers in one namespace", has),
    ]
    if recommended:
        volume = f"at least {recommended} servers for a {type_} volume"
        rules.append(("recommended-pool", servers >= recommended, volume, has))
    found = [Finding(name, ok, f"expected {expected}, found {what}") for name, ok, expected, what in rules]
    dense = dense_rule(disks_per_server, raw)
    return found if dense is None else [*found, dense]


def layouts_of(samples: pd.DataFrame) -> pd.DataFrame:
    """The layouts of samples of any status, as `capacity_table` takes them; not those of unknown capacity."""
    known = samples[(samples["disks"] > 0) & (samples["servers"] > 0)].drop_duplicates("layout")
    rows = []
    for row in known.to_dict("records"):
        per_brick = disks_per_brick(row["type"], row["geometry"], row["disks"])
        if not unknown_capacity(row["type"], row["kind"], per_brick):
            rows.append(row | {"disks_per_brick": per_brick, "disks_per_server": row["disks"] // row["servers"]})
    found = pd.DataFrame(rows, columns=_LAYOUT).drop_duplicates()
    return found.sort_values(["disks_per_server", "type", "geometry"], ascending=[True, False, True], ignore_index=True)
