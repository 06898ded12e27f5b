"""Reader of what `gluster --xml` writes: `volume info`, `volume status [detail]` and `volume profile info`."""

from collections.abc import Callable, Iterator
from xml.etree.ElementTree import Element

from glusterlab.errors import ParseError
from glusterlab.tools.document import Document, number, read_xml, whole
from glusterlab.tools.gluster.model import Brick, Fop, Geometry, Stats, Volume, geometry, latency_unit, split_brick
from glusterlab.tools.records import BrickRecord, Record, without_none

# elements that say each thing of theirs once
_RECORDS = frozenset({"volume", "node", "peer", "task", "cumulativeStats", "intervalStats", "block", "fop"})
_TRANSPORTS = {"0": "tcp", "1": "rdma", "2": "tcp,rdma"}
# gluster's CLI names its counts of upcalls by the list of file operations: entry n of one as entry n of the other
_UPCALLS = {
    "NULL": "NULL", "STAT": "UPCALL", "READLINK": "CI_IATT", "MKNOD": "CI_XATTR", "MKDIR": "CI_RENAME",
    "UNLINK": "CI_UNLINK", "RMDIR": "CI_FORGET", "SYMLINK": "LEASE_RECALL",
}  # fmt: skip


def read_output(text: bytes | str) -> Element:
    """The root of what one `gluster --xml` command wrote; `ParseError` for no XML, and when the command failed."""
    try:
        root = read_xml(text)
    except ParseError as error:
        raise ParseError(f"expected gluster's XML, found {text[:60]!r}: {error.message}", line=error.line) from error
    if root.findtext("opRet") not in ("0", None):
        why = root.findtext("opErrstr") or root.findtext("output") or root.findtext("opErrno")
        raise ParseError(f"gluster reports an error: {why}")
    for record in root.iter():
        if record.tag in _RECORDS:
            said: dict[str, str | None] = {}
            for child in record:
                if len(child) == 0 and said.setdefault(child.tag, child.text) != child.text:
                    values = f"{said[child.tag]} and {child.text}"
                    raise ParseError(f"expected one <{child.tag}> in a <{record.tag}>, found {values}"[:200])
    return root


def brick_names(bricks: Element) -> Iterator[str]:
    """The names ``host:/path`` of the bricks in a list; old releases write them as the text of ``brick`` alone."""
    for brick in bricks.iterfind("brick"):
        yield brick.findtext("name") or (brick.text or "").strip()


def options(volume: Element) -> dict[str, str]:
    """The options of a volume that were set."""
    found = volume.iterfind("options/option")
    return {option.findtext("name") or "": option.findtext("value") or "" for option in found}


def brick_nodes(parent: Element) -> Iterator[Element]:
    """The nodes of `volume status` that are bricks, and so no daemons; `ParseError` for a brick that stands twice."""
    found: set[tuple[str, str]] = set()
    for node in parent.iter("node"):
        if (path := node.findtext("path") or "").startswith("/"):
            brick = (node.findtext("hostname") or "", path)
            if brick in found:
                raise ParseError(f"expected each brick once, found {':'.join(brick)} twice")
            found.add(brick)
            yield node


def pid(node: Element) -> int | None:
    """The number of a brick's process; gluster writes -1 where there is none."""
    return whole(node.findtext("pid") or "") or None


def tcp_port(node: Element) -> int | None:
    """The port that a brick listens on; gluster writes N/A where there is none."""
    return whole(node.findtext("ports/tcp") or node.findtext("port") or "") or None


def records(document: Document, text: str, line: int, version: str | None) -> Iterator[Record]:
    """The records of one command's output, which begins in `line`; `ParseError` also for another command's."""
    try:
        root = read_output(text)
    except ParseError as error:
        raise document.error(error.message, line + (error.line or 1) - 1) from error
    try:
        reader = next((reader for tag, reader in _READERS.items() if root.find(tag) is not None), None)
        if reader is None:
            found = ", ".join(child.tag for child in root if not child.tag.startswith("op")) or "nothing"
            raise ParseError(f"expected volInfo, volStatus or volProfile, found {found[:80]}")
        yield from reader(document, root, line, version)
    except ParseError as error:
        raise document.error(error.message, line) from error


def _info(document: Document, root: Element, line: int, version: str | None) -> Iterator[Record]:
    if not (volumes := [_volume(element, line) for element in root.iterfind("volInfo/volumes/volume")]):
        raise ParseError("expected volumes, found none: the pool has no volume")
    for volume in volumes:
        yield from volume.records(document, version)


def _volume(element: Element, line: int) -> Volume:
    kind = _words(element.findtext("typeStr"))
    volume = Volume(element.findtext("name") or "", line, kind, options=options(element))
    if not volume.name or not kind:
        raise ParseError("expected the name and the type of a volume, found none")
    details = {
        "id": element.findtext("id"),
        "status": element.findtext("statusStr"),
        "snapshots": _number(element, "snapshotCount"),
        "transport": _TRANSPORTS.get(element.findtext("transport") or ""),
    }
    volume.details = without_none(details)
    count = _count(element, "brickCount")
    if (listed := element.find("bricks")) is None:
        raise ParseError(f"expected the bricks of volume {volume.name}, found none")
    if kind == "Tier":
        volume.tiers[None] = Geometry(count)
        for name in ("hot", "cold"):
            if (tier := listed.find(f"{name}Bricks")) is not None:
                _add_tier(volume, name, tier)
    else:
        copies = _count(element, "disperseCount") or _count(element, "replicaCount")
        arbiters = _count(element, "arbiterCount") or int(any(map(_mark, listed.iterfind("brick"))))
        volume.tiers[None] = geometry(
            kind, count, copies=copies, stripe=_count(element, "stripeCount"), arbiter=arbiters,
            redundancy=_count(element, "redundancyCount"),
        )  # fmt: skip
        _add_bricks(volume, listed, marked=arbiters > 0)
    if len(volume.bricks) != count:
        raise ParseError(f"expected the {count} bricks of volume {volume.name}, found {len(volume.bricks)}")
    return volume


def _add_tier(volume: Volume, name: str, tier: Element) -> None:
    kind = _words(tier.findtext(f"{name}BrickType"))
    volume.details[f"{name}_type"] = kind
    text = tier.findtext("numberOfBricks") or ""
    redundancy = whole(text.partition("+")[2].partition(")")[0]) if "isperse" in kind else 0
    volume.tiers[name] = geometry(
        kind, _count(tier, f"{name}brickCount"),
        copies=_count(tier, f"{name}disperseCount") or _count(tier, f"{name}replicaCount"),
        arbiter=_count(tier, f"{name}arbiterCount"), redundancy=redundancy or 0,
    )  # fmt: skip
    _add_bricks(volume, tier, marked=False, tier=name)


def _add_bricks(volume: Volume, listed: Element, *, marked: bool, tier: str | None = None) -> None:
    for brick, name in zip(listed.iterfind("brick"), brick_names(listed), strict=True):
        split_brick(name)
        arbiter = _mark(brick) if marked else None
        volume.bricks.append(Brick(name, len(volume.bricks) + 1, arbiter=arbiter, tier=tier))


def _mark(brick: Element) -> bool:
    return brick.findtext("isArbiter") == "1"


def _number(element: Element, name: str) -> int | None:
    return whole(element.findtext(name) or "")


def _count(element: Element, name: str) -> int:
    return _number(element, name) or 0


def _words(kind: str | None) -> str:
    # newer releases remark: Tier [NOT SUPPORTED from v6.0]
    return (kind or "").partition("[")[0].strip()


def _status(document: Document, root: Element, line: int, version: str | None) -> Iterator[Record]:
    count = 0
    for volume in root.iterfind("volStatus/volumes/volume"):
        names = (("type", "type"), ("status", "statusStr"))
        tasks = [{name: task.findtext(tag) or "" for name, tag in names} for task in volume.iter("task")]
        tiers = {id(node): name for name in ("hot", "cold") for node in volume.iterfind(f"{name}Bricks/node")}
        for node in brick_nodes(volume):
            count += 1
            details = {
                "tcp_port": tcp_port(node),
                "rdma_port": _number(node, "ports/rdma") or None,
                "device": node.findtext("device"),
                "file_system": node.findtext("fsName"),
                "mount_options": node.findtext("mntOptions"),
                "inode_size_bytes": _number(node, "inodeSize"),
                "block_size_bytes": _number(node, "blockSize"),
                "tier": tiers.get(id(node)),
                "tasks": tasks or None,
            }
            size, inodes = _number(node, "sizeTotal") or None, _number(node, "inodesTotal") or None
            yield BrickRecord(
                tool="gluster", tool_version=version, source=document.source(line), details=without_none(details),
                volume=volume.findtext("volName"), host=node.findtext("hostname") or "",
                path=node.findtext("path") or "", online={"1": True, "0": False}.get(node.findtext("status") or ""),
                pid=pid(node), size_bytes=size, free_bytes=None if size is None else _number(node, "sizeFree"),
                inodes=inodes, free_inodes=None if inodes is None else _number(node, "inodesFree"),
            )  # fmt: skip
    if not count:
        raise ParseError("expected bricks, found none: no volume is started, or it is the state of daemons")


def _profile(document: Document, root: Element, line: int, version: str | None) -> Iterator[Record]:
    volume = root.findtext("volProfile/volname")
    found: list[Stats] = []
    for brick in root.iterfind("volProfile/brick"):
        name = brick.findtext("brickName") or None
        for tag in ("cumulativeStats", "intervalStats"):
            found.extend(_stats(stats, name, volume, line) for stats in brick.iterfind(tag))
    if not found:
        message = "expected the statistics of bricks, found none: profiling is not started, or they were cleared"
        raise ParseError(message)
    if wrong := [message for stats in found for _, message in stats.contradictions()]:
        raise ParseError(wrong[0])
    unit = latency_unit([fop for stats in found for fop in stats.fops], version)
    for stats in found:
        yield from stats.records(document, version, unit=unit)


def _stats(element: Element, brick: str | None, volume: str | None, line: int) -> Stats:
    # the XML does not say which interval it is
    interval = "cumulative" if element.tag == "cumulativeStats" else "interval"
    stats = Stats(line, brick, interval, volume)
    for block in element.iterfind("blockStats/block"):
        size, reads, writes = (_number(block, name) for name in ("size", "reads", "writes"))
        if size is not None and (reads or writes):
            stats.blocks.append({"size_bytes": size, "reads": reads, "writes": writes})
    for fop in element.iterfind("fopStats/fop"):
        calls = _number(fop, "hits")
        mean, least, most = (number(fop.findtext(f"{name}Latency") or "") for name in ("avg", "min", "max"))
        name = fop.findtext("name") or ""
        if calls and name:
            upcall = not (mean or least or most)
            stats.fops.append(Fop(_UPCALLS.get(name, name) if upcall else name, calls, mean, least, most, line))
    for name, tag in (("duration_s", "duration"), ("read_bytes", "totalRead"), ("written_bytes", "totalWrite")):
        if (value := _number(element, tag)) is not None:
            stats.totals[name] = value
    return stats


_READERS: dict[str, Callable[[Document, Element, int, str | None], Iterator[Record]]] = {
    "volInfo": _info, "volStatus": _status, "volProfile": _profile,
}  # fmt: skip
