"""A cell: one point of the matrix, with an id that the same cell has in every campaign."""

from __future__ import annotations

import hashlib
import json
import re
from functools import lru_cache
from typing import Annotated, Any, Literal

from pydantic import Field

from ..units import format_size
from .cluster import ScaleModel
from .fields import Count, Label, SpecModel

LayoutType = Literal["distribute", "replicate", "disperse", "other"]
"""How a volume spreads its files; ``other`` is no GlusterFS volume, and only imported results have it."""

Access = Literal["native", "nfs", "gfapi", "smb", "none"]

_GEOMETRY = re.compile(r"^([1-9][0-9]{0,3})(?:x(?:([1-9][0-9]{0,2})|\(([1-9][0-9]?)\+([1-9][0-9]?)\)))?$")
_EXAMPLES = {"distribute": "6", "replicate": "3x2", "disperse": "12x(4+2)", "other": "1"}


Count64 = Annotated[int, Field(strict=True, ge=1, lt=2**63)]


class Layout(SpecModel):
    """How bricks become a volume.

    Attributes
    ----------
    name : str
        A label; it is not part of a cell's identity.
    type : {"distribute", "replicate", "disperse", "other"}
    subvolumes : int
        Over which files are distributed.
    replica : int
        Copies of each file; 1 unless replicated.
    data, redundancy : int
        Bricks of a dispersed subvolume that hold data, and that may fail; 1 and 0 otherwise.
    backing : str
        Name of the cluster's backing that the bricks lie on.
    options : tuple of (str, str)
        Volume options, sorted by name.
    """

    name: Label
    type: LayoutType
    subvolumes: Count
    replica: Count = 1
    data: Count = 1
    redundancy: Annotated[int, Field(strict=True, ge=0)] = 0
    backing: Label
    options: tuple[tuple[str, str], ...] = ()

    @property
    def subvolume_size(self) -> int:
        """Bricks of one subvolume."""
        return self.replica * (self.data + self.redundancy)

    @property
    def bricks(self) -> int:
        """Bricks of the volume."""
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


def parse_geometry(layout_type: LayoutType, text: str) -> dict[str, int]:
    """Numbers of a geometry, as the fields of `Layout`.

    Raises
    ------
    ValueError
        When the text is no geometry of that type, or GlusterFS would refuse it.

    Examples
    --------
    >>> parse_geometry("disperse", "12x(4+2)")
    {'subvolumes': 12, 'replica': 1, 'data': 4, 'redundancy': 2}
    >>> parse_geometry("replicate", "3x2")
    {'subvolumes': 3, 'replica': 2, 'data': 1, 'redundancy': 0}
    """
    match = _GEOMETRY.match(text.replace(" ", ""))
    form = f"expected a geometry such as {_EXAMPLES[layout_type]!r} for {layout_type}, found {text!r}"
    if match is None:
        raise ValueError(form)
    subvolumes, replica, data, redundancy = (None if part is None else int(part) for part in match.groups())
    assert subvolumes is not None
    if layout_type == "other" and text.strip() != "1":
        raise ValueError(f"expected the geometry 1 for what is no GlusterFS volume, found {text!r}")
    if layout_type == "disperse":
        if data is None or redundancy is None:
            raise ValueError(form)
        if data <= redundancy:
            raise ValueError(f"expected more data than redundancy bricks, as GlusterFS asks for, found {text!r}")
        return {"subvolumes": subvolumes, "replica": 1, "data": data, "redundancy": redundancy}
    if data is not None:
        raise ValueError(form)
    if layout_type in ("distribute", "other"):
        if replica not in (None, 1):
            raise ValueError(form)
        return {"subvolumes": subvolumes, "replica": 1, "data": 1, "redundancy": 0}
    if replica is None or replica < 2:
        raise ValueError(form)
    return {"subvolumes": subvolumes, "replica": replica, "data": 1, "redundancy": 0}


class Cell(SpecModel):
    """Layout x access x workload x workers: one thing to run, any number of times.

    Attributes
    ----------
    layout : Layout
    access : {"native", "nfs", "gfapi", "smb", "none"}
    tool, operation : str
    file_size_bytes : int
        Of each file as it is really written.
    nominal_file_size_bytes : int
        What a scaled file stands for; else the same.
    record_size_bytes : int or None
        Bytes of one call; None leaves it to the tool.
    files_per_worker : int
    workers : int
        Over all clients.
    model : ScaleModel
    options : tuple of str
        Further arguments of the tool.
    """

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

    @property
    def slug(self) -> str:
        """For people: ``iozone-write-4gib-disperse-12x4+2-jbod-native-w48``, with the nominal file size."""
        geometry = self.layout.geometry.replace("(", "").replace(")", "")
        size = format_size(self.nominal_file_size_bytes).replace(" ", "").lower()
        parts = [self.tool, self.operation, size, self.layout.type, geometry, self.layout.backing, self.access]
        return "-".join([*parts, f"w{self.workers}"])

    @property
    def id(self) -> str:
        """The slug and a hash of everything but the labels (names of the layout and of the scale model)."""
        return _id_of(self)

    @property
    def dataset(self) -> str:
        """Key of the files that a write makes and that a read of the same files needs; fit for a directory's name.

        The operation and the scale model have no part in it.
        """
        facts = self.model_dump(mode="json", exclude={"operation", "model", "nominal_file_size_bytes"})
        del facts["layout"]["name"]
        size = format_size(self.file_size_bytes).replace(" ", "").lower()
        return f"{self.tool}-{size}-f{self.files_per_worker}-w{self.workers}-{_digest(facts)}"

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
