"""Layouts of an import: what the mapping says of them, and what a volume info says."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from glusterlab.errors import ParseError
from glusterlab.imports.assign import Assignment, Refusal, is_gluster
from glusterlab.imports.mapping import Mapping, label
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
) -> tuple[dict[str, Layout | str], list[Refusal]]:
    """Every layout that files are about.

    Returns
    -------
    layouts : dict of str to Layout or str
        By the names that the mapping uses; text says why there is no such layout.
    refused : list of Refusal
        Of gluster's files that cannot be read, or that contradict each other.
    """
    names = {assignment.said.get("layout", mapping.defaults.layout) for assignment in assignments}
    volumes, refused = _volumes(mapping, [assignment for assignment in assignments if is_gluster(assignment)])
    layouts: dict[str, Layout | str] = {}
    identities: dict[str, str] = {}
    for name in sorted(name for name in names if name is not None):
        try:
            layout = mapping.layout_facts(name).resolve(name, volumes.get(name))
        except ValueError as error:
            layouts[name] = str(error)
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
    return layouts, refused


def _volumes(mapping: Mapping, assignments: Iterable[Assignment]) -> tuple[dict[str, Volume], list[Refusal]]:
    found: dict[str, tuple[Volume, str]] = {}
    refused: list[Refusal] = []
    for assignment in assignments:
        layout = assignment.said.get("layout", mapping.defaults.layout)
        file = shown(assignment.file.name)
        try:
            for record in read_volumes(assignment):
                volume = volume_layout(record)
                if layout is None:
                    continue
                known, where = found.setdefault(layout, (volume, file))
                if known != volume:
                    raise ParseError(
                        f"layout {layout!r} is {volume[0]} {volume[1]} here, and {known[0]} {known[1]} in {where}"
                    )
        except ParseError as error:
            refused.append(Refusal(file, error.message, error.line))
        except ValueError as error:
            refused.append(Refusal(file, str(error)))
    return {layout: volume for layout, (volume, _) in found.items()}, refused


def read_volumes(assignment: Assignment) -> list[VolumeRecord]:
    """The volumes that a file of gluster describes; several descriptions of one volume count once.

    Raises
    ------
    ParseError
        When it is no output of gluster, or describes several volumes.
    """
    from glusterlab import readers
    from glusterlab.readers.document import Document
    from glusterlab.readers.records import VolumeRecord

    document = Document.open(assignment.file.path)
    records = [record for record in readers.read(document, "gluster") if isinstance(record, VolumeRecord)]
    known = {record.name: record for record in records if record.type}
    if len(known) > 1:
        raise ParseError(f"expected one volume, found {', '.join(sorted(known)[:5])}: keep that of the layout only")
    return list(known.values())
