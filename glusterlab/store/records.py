"""Records that a sample is judged by; old samples lack the newer keys, whose defaults say nothing."""

from pathlib import Path
from typing import Literal, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from glusterlab.errors import ParseError
from glusterlab.rawfile import read_raw
from glusterlab.reasons import Reason
from glusterlab.tools.document import located, read_json

R = TypeVar("R", bound=BaseModel)


class Stored(BaseModel):
    """Base of what a JSON file of a sample holds."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class CommandRecord(Stored):
    """``workload/command.json``; `start` and `end`: epoch seconds, `exit_code`: None when the deadline passed.

    `gaps`: whether telemetry is missing by the steps from record to record, or, as once, by the sum of their intervals,
    which sadf rounds: of 15 minutes it may say four seconds less.
    """

    argv: list[str]
    host: str
    start: float
    end: float
    exit_code: int | None
    deadline_s: float
    gaps: Literal["sum", "steps"] = "sum"


class BrickHealth(Stored):
    """One brick of the volume under test; process number and port are None where it has none, or was not kept."""

    host: str
    path: str
    online: bool
    pid: int | None = None
    port: int | None = None


class TierHealth(Stored):
    """The daemon that moves files between the tiers of a volume, on one server; files since it was started."""

    status: str
    promoted: int
    demoted: int

    @property
    def running(self) -> bool:
        return self.status == "in progress"


class BrickConnection(Stored):
    """An established TCP connection of a client to a brick; `socket`: the client's end, a number of its own."""

    host: str | None
    port: int
    socket: int


class DropCaches(Stored):
    """What /proc/vmstat of one host counted around the drop: ``drop_pagecache`` + ``drop_slab``."""

    before: int
    after: int


class Space(Stored):
    """Room on a file system of one host."""

    free_bytes: int
    size_bytes: int


class Mounted(Stored):
    """What a client's directory lies on, as /proc/self/mountinfo has it; `device` is MAJOR:MINOR."""

    device: str
    type: str
    source: str
    options: str


class Health(Stored):
    """``gluster/<moment>/health.json``: the state of the pool at one moment; dictionaries are by host.

    `peers`: as seen from the first server. `heal_pending`: over all bricks; after the workload the smallest value seen.
    `clock_offset_s`: a host's clock minus the controller's, the smallest that the readings allow; `clock_bounds_s`: the
    least and the largest. `link_changes`: of the carrier since the host started. `mounts`: ok, hung, dead or none.
    `services`: process numbers of NFS and SMB servers of the suite by name, their own first; `mounted`: not of native.
    `tier`: by server with bricks of a tiered volume. `features`: those that are on in the volume's settings, and of
    each server with bricks the process numbers of their daemons that run.
    """

    peers: dict[str, bool]
    bricks: list[BrickHealth]
    heal_pending: int
    rebalance: bool
    clock_offset_s: dict[str, float]
    clock_bounds_s: dict[str, tuple[float, float]] = {}
    stray: dict[str, list[str]] = {}
    drop_caches: dict[str, DropCaches] = {}
    link_changes: dict[str, int] = {}
    mounts: dict[str, str] = {}
    connections: dict[str, list[BrickConnection]] = {}
    space: dict[str, dict[str, Space]] = {}
    services: dict[str, dict[str, list[int]]] = {}
    mounted: dict[str, Mounted] = {}
    tier: dict[str, TierHealth] = {}
    features: dict[str, dict[str, list[int]]] = {}


class Failure(Stored):
    """``failure.json``: what the runner itself ran into; such a sample has failed."""

    reasons: list[Reason]


def read_record(model: type[R], path: Path) -> R:
    """Read one JSON file of a sample; ParseError when it is absent, too big, no JSON, or not what `model` says."""
    try:
        text = read_raw(path)
    except OSError as error:
        raise ParseError(f"cannot be read: {error.strerror}", file=path) from error
    try:
        record = model.model_validate_json(text)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"]) or "the file"
        raise ParseError(f"{where}: {first['msg']}", file=path) from error
    with located(path):
        # of a key that stands twice pydantic takes the last
        read_json(text.decode("utf-8", "replace"))
    return record
