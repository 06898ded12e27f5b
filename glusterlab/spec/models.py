"""What scale models may not speak of (``models.yaml``), from what they have and lack and not from results."""

import math
from collections.abc import Collection, Mapping
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from glusterlab.spec.cell import layout_of
from glusterlab.spec.fields import Axis, Count, Size, SpecModel, Text
from glusterlab.spec.yaml import validate

Form = Literal[
    "absolute", "layouts", "sizes", "operations", "workers", "models", "releases", "features", "access", "saturation"
]
"""What a claim speaks of: a number, a ratio between layouts, sizes, operations, numbers of workers or of clients, cells
of two models or releases, of a volume with features, options, an event or a hot tier and without, of two ways of
access, or what its cells fill."""

MODEL = ("scale", "operations_limited", "heads")
"""Columns of the samples table that tell models apart; ``heads`` may be absent."""

Flag = Annotated[bool, Field(strict=True)]


class Limit(SpecModel):
    """Something that a scale model cannot tell, and why: of cells that meet all its conditions, in claims of `forms`.

    ``subsystems``: only of these, in claims on saturation. ``latency``: whether disks have one in the place of heads;
    of such also at full speed. ``shrunk``: whether files are shorter than what they stand for.
    ``stored_per_disk_below``: so little is written to each disk, copies and redundancy included.
    """

    forms: Axis[Form]
    why: Text
    heads: Flag | None = None
    latency: Flag | None = None
    operations_limited: Flag | None = None
    shrunk: Flag | None = None
    operation: Axis[str] = ()
    kind: Axis[str] = ()
    features: Axis[str] = ()
    quantity: Axis[str] = ()
    subsystems: Axis[str] = ()
    smaller_than: Size | None = None
    stored_per_disk_below: Size | None = None
    workers_up_to: Count | None = None

    def holds(self, cell: Mapping[str, Any], forms: Collection[Form], quantity: str = "") -> bool:
        """Whether it is about a claim of these forms on a cell: a row of the samples table."""
        size = cell["nominal_file_size_bytes"]
        # disks of a model are a model at full speed, too
        if set(self.forms).isdisjoint(forms) or (float(cell["scale"]) == 1 and self.latency is None):
            return False
        equal = (
            (self.heads, bool(cell.get("heads", False))),
            (self.latency, bool(cell.get("disk_latency_s", 0.0))),
            (self.operations_limited, bool(cell["operations_limited"])),
            (self.shrunk, cell["file_size_bytes"] < size),
        )
        among = (
            (self.operation, cell["operation"]),
            (self.kind, cell["kind"]),
            (self.features, cell.get("features", "")),
            (self.quantity, quantity),
        )
        below = ((self.smaller_than, size), (self.stored_per_disk_below, _stored_per_disk(cell)))
        return (
            all(wanted is None or wanted == found for wanted, found in equal)
            and all(not wanted or str(found) in wanted for wanted, found in among)
            and all(bound is None or found < bound for bound, found in below)
            and (self.workers_up_to is None or cell["workers"] <= self.workers_up_to)
        )


def _stored_per_disk(cell: Mapping[str, Any]) -> float:
    """Bytes that a cell has on each of its disks, copies and redundancy included."""
    try:
        layout = layout_of(str(cell["type"]), str(cell["geometry"]))
    except ValueError:
        return math.inf
    files = int(cell["workers"]) * int(cell["files_per_worker"])
    return files * int(cell["file_size_bytes"]) * layout.stored_per_byte / max(1, int(cell["disks"]))


class Limits(SpecModel):
    """The file ``models.yaml``."""

    schema_version: Literal[1]
    limits: tuple[Limit, ...]


@cache
def model_limits() -> tuple[Limit, ...]:
    """All of them, in the order of the file."""
    return validate(Limits, Path(__file__).with_name("models.yaml")).limits
