"""Layouts of an import: what the mapping says of them, and what a volume info says."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from glusterlab.errors import ParseError
from glusterlab.imports.assign import Assignment, Refusal, is_gluster
from glusterlab.imports.mapping import GlusterFiles, Mapping, label
from glusterlab.imports.sources import shown
from glusterlab.spec.cell import Layout, LayoutType

if TYPE_CHECKING:
    from glusterlab.readers.records import VolumeRecord

Volume = tuple[LayoutType, str]
"""Type and geometry."""


def volume_layout(record: VolumeRecord) -> Volume:
    """Type and geometry of a volume as the suite writes them.

    Raises
    ------
    ValueError
        When the volume is of a type that no layout is.
    """
    kind = record.type.lower()
    if "disperse" in kind and record.data and record.redundancy:
        return "disperse", f"{record.subvolumes or 1}x({record.data}+{record.redundancy})"
    if "replicate" in kind and record.replica and not record.arbiter:
        return "replicate", f"{record.subvolumes or 1}x{record.replica}"
    if kind == "distribute" and (record.subvolumes or record.bricks):
        return "distribute", str(record.subvolumes or record.bricks)
    arbiter = " with an arbiter" if record.arbiter else ""
    raise ValueError(f"expected a distributed, replicated or dispersed volume, found {record.type}{arbiter}")


def resolve_layouts(
    mapping: Mapping, assignments: Sequence[Assignment]
) -> tuple[dict[str, Layout | str], list[Refusal], frozenset[str]]:
    """Every layout that files are about.

    Returns
    -------
    layouts : dict of str to Layout or str
        By the names that the mapping uses; text says why there is no such layout.
    refused : list of Refusal
        Of gluster's files that cannot be read, or that contradict each other.
    unread : frozenset of str
        Layouts that are lacking because a file of gluster was refused.
    """
    said = (assignment.said.get("layout", mapping.defaults.layout) for assignment in assignments)
    names = {str(name) for name in said if name is not None}
    found = _Volumes(frozenset(names))
    for assignment in assignments:
        if is_gluster(assignment):
            found.add(assignment, assignment.said.get("layout", mapping.defaults.layout))
    unread: set[str] = set()
    layouts: dict[str, Layout | str] = {}
    identities: dict[str, str] = {}
    for name in sorted(names):
        try:
            layout = mapping.layout_facts(name).resolve(name, found.volumes.get(name))
        except ValueError as error:
            layouts[name] = str(error)
            if name in found.lost and name not in found.volumes:
                unread.add(name)
            continue
        identity = layout.model_copy(update={"name": "-"}).model_dump_json()
        other = identities.setdefault(identity, name)
        layouts[name] = layout
        if other != name:
            layouts[name] = (
                f"layouts {other!r} and {name!r} are one and the same ({layout.type} {layout.geometry} on"
                f" {layout.backing}): say in which backing or volume options they differ, or give them one name"
            )
        if any(label(name) == label(known) for known in layouts if known != name):
            layouts[name] = f"layout {name!r}: another one has a name that differs in punctuation only: declare both"
    return layouts, found.refused, frozenset(unread)


class _Volumes:
    """What files of gluster say of layouts, one file after the other."""

    def __init__(self, names: frozenset[str]) -> None:
        self.names = names
        self.volumes: dict[str, Volume] = {}
        self.refused: list[Refusal] = []
        self.lost: set[str] = set()
        self._files: dict[str, str] = {}

    def add(self, assignment: Assignment, layout: str | None) -> None:
        """Read a file, which is about a layout or about those that are called as its volumes."""
        file = shown(assignment.file.name)
        try:
            for name, record in read_volumes(assignment, layout).items():
                if name in self.names:
                    self._say(name, volume_layout(record), file)
        except ParseError as error:
            self._refuse(Refusal(file, error.message, error.line), layout)
        except ValueError as error:
            self._refuse(Refusal(file, str(error)), layout)

    def _say(self, layout: str, volume: Volume, file: str) -> None:
        known = self.volumes.setdefault(layout, volume)
        where = self._files.setdefault(layout, file)
        if known != volume:
            raise ValueError(f"layout {layout!r} is {volume[0]} {volume[1]} here, and {known[0]} {known[1]} in {where}")

    def _refuse(self, refusal: Refusal, layout: str | None) -> None:
        self.refused.append(refusal)
        self.lost |= self.names if layout is None else {layout}


def read_volumes(assignment: Assignment, layout: str | None) -> dict[str, VolumeRecord]:
    """The volumes that a file of gluster describes; several descriptions of one volume count once.

    Parameters
    ----------
    assignment : Assignment
    layout : str or None
        That the file is about.

    Returns
    -------
    dict of str to VolumeRecord
        By layout: of several volumes the one that the mapping names, or that is called as the layout. Without a layout
        all, by their own names. Nothing where the file describes none.

    Raises
    ------
    ParseError
        When it is no output of gluster, lacks the volume that the mapping names, or leaves open which one it is.
    """
    from glusterlab import readers
    from glusterlab.readers.document import Document
    from glusterlab.readers.records import VolumeRecord

    document = Document.open(assignment.file.path)
    records = [record for record in readers.read(document, "gluster") if isinstance(record, VolumeRecord)]
    known = {record.name: record for record in records if record.type}
    there = ", ".join(sorted(known)[:5]) + (", ..." if len(known) > 5 else "")
    wanted = assignment.entry.volume if isinstance(assignment.entry, GlusterFiles) else None
    if wanted is not None and known:
        if wanted not in known:
            raise ParseError(f"expected volume {wanted!r}, which the mapping names, found {there}")
        known = {wanted: known[wanted]}
    if layout is None or not known:
        return known
    if len(known) > 1 and layout not in known:
        raise ParseError(
            f"which volume is layout {layout!r}? The file has {there}: say volume in the entry, or give the layout the"
            " name of its volume"
        )
    return {layout: known[layout] if len(known) > 1 else next(iter(known.values()))}
