"""What readers return, in SI base units; None stands for what the file does not say, and a failure is never 0."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, Literal

from pydantic_core import to_jsonable_python

from glusterlab.reasons import Reason
from glusterlab.units import MEGABYTE

Operation = Literal[
    "write", "rewrite", "read", "reread", "reverse-read", "stride-read", "random-read", "random-write", "mixed",
    "random-mixed",
    "record-rewrite", "pwrite", "pread", "fwrite", "frewrite", "fread", "freread",
    "create", "append", "overwrite", "delete", "delete-renamed", "rename", "ls-l", "readdir", "stat", "chmod",
    "mkdir", "rmdir", "symlink", "setxattr", "getxattr", "swift-get", "swift-put", "await-create", "cleanup",
    "copy", "trim", "send", "receive", "untar",
]  # fmt: skip
"""What a workload did, in the suite's words."""


@dataclass(frozen=True, slots=True)
class Metric:
    """Something that a sample measured: its name, the unit in which people read it, and the factor from SI to that."""

    name: str
    unit: str
    factor: float


METRICS: Mapping[str, Metric] = {
    "streams_held": Metric("streams held", "streams", 1.0),
    "throughput_bytes_per_s": Metric("throughput", "MB/s", 1 / MEGABYTE),
    "files_per_s": Metric("files per second", "files/s", 1.0),
    "operations_per_s": Metric("operations per second", "operations/s", 1.0),
    "latency_mean_s": Metric("mean latency", "ms", 1e3),
    "latency_p50_s": Metric("median latency", "ms", 1e3),
    "latency_p95_s": Metric("95th percentile of latency", "ms", 1e3),
    "latency_p99_s": Metric("99th percentile of latency", "ms", 1e3),
}
"""What samples measure: fields of a `WorkloadRecord`, and columns of the samples table."""

WHOLE: Mapping[str, str] = {
    "throughput_bytes_per_s": "throughput_whole_bytes_per_s",
    "files_per_s": "files_whole_per_s",
    "operations_per_s": "operations_whole_per_s",
}
"""Rates as the tool counts them, and the column of the same over the whole time, from first start to last end."""

Details = dict[str, Any]  # what only one tool says, as JSON: its name ends in its unit where it has one


def without_none(values: Mapping[str, Any]) -> Details:
    """What is known among values."""
    return {name: value for name, value in values.items() if value is not None}


@dataclass(frozen=True, slots=True)
class Source:
    """Where a record stands: file as it was named, and line from 1, of JSON and XML that of its start."""

    file: str
    line: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """Base of all records."""

    kind: ClassVar[str]
    tool: str
    tool_version: str | None = None
    source: Source
    details: Details = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """The record as JSON data, ``kind`` first, details last; numbers that are not finite are None."""
        found = to_jsonable_python(self, inf_nan_mode="null")
        details = found.pop("details")
        return {"kind": self.kind, **found, "details": details}

    def to_json(self) -> str:
        return json.dumps(self.as_dict(), ensure_ascii=False, allow_nan=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class OperationRecord(Record):
    """What one operation of one run did."""

    run: int = 1  # of the file
    host: str | None = None
    job: str | None = None
    operation: Operation
    label: str  # as printed
    throughput_bytes_per_s: float | None = None
    operations_per_s: float | None = None
    files_per_s: float | None = None
    elapsed_s: float | None = None  # of the measured part
    files: int | None = None
    valid: bool | None = None  # None where the file does not hold what a judgement needs; `reasons` say why
    reasons: tuple[Reason, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadRecord(OperationRecord):
    """One operation over all its workers; `streams_held` at their rate, which may be 0."""

    kind: ClassVar[str] = "workload"
    workers: int | None = None
    streams_held: int | None = None
    file_size_bytes: int | None = None
    record_size_bytes: int | None = None
    worker_min_bytes_per_s: float | None = None
    worker_max_bytes_per_s: float | None = None
    latency_mean_s: float | None = None
    latency_p50_s: float | None = None
    latency_p95_s: float | None = None
    latency_p99_s: float | None = None
    percent_done: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerRecord(OperationRecord):
    """What one process or thread did; `worker` counts from 1 over all hosts."""

    kind: ClassVar[str] = "worker"
    worker: int
    bytes: int | None = None


def worker_of(record: WorkloadRecord, **changed: Any) -> WorkerRecord:
    """A worker that did what a result says, but for what is `changed`; the result's details are not its own."""
    shared = {place.name: getattr(record, place.name) for place in fields(OperationRecord)}
    return WorkerRecord(**(shared | {"details": {}} | changed))


def contradictions(record: WorkloadRecord) -> Iterator[Reason]:
    """What no run can have measured: percentiles that fall, and calls that took longer than the whole run."""
    each = (record.latency_p50_s, record.latency_p95_s, record.latency_p99_s)
    known = [value for value in each if value is not None]
    if known != sorted(known):
        yield incomplete(f"expected percentiles of latency that grow, found {', '.join(f'{one:g} s' for one in known)}")
    longest = max((value for value in (*known, record.latency_mean_s) if value is not None), default=0.0)
    # I/O of a ramp may end in the measured time
    allowed = None if record.elapsed_s is None else 1.1 * record.elapsed_s + (record.details.get("ramp_s") or 0.0) + 1.0
    if allowed is not None and longest > allowed:
        yield incomplete(f"expected calls shorter than the run of {record.elapsed_s:g} s, found {longest:g} s")


def verdict(faults: Iterable[Reason], doubts: Iterable[Reason] = ()) -> dict[str, Any]:
    """What is `valid` of a record, and its `reasons`: not valid for its faults, else unknown for its doubts."""
    wrong, open_ = tuple(faults), tuple(doubts)
    return {"valid": False if wrong else None if open_ else True, "reasons": wrong or open_}


def incomplete(message: str, host: str | None = None) -> Reason:
    """What is wrong with a result that a tool may well have reported as a success."""
    return Reason(code="tool-incomplete", message=message, host=host)


def failed(message: str, host: str | None = None) -> Reason:
    """A failure that a tool reported, or that its numbers show."""
    return Reason(code="tool-failed", message=message, host=host)


def unjudged(message: str) -> Reason:
    """A doubt: what a judgement needs and the file does not hold."""
    return incomplete(f"cannot be judged: {message}")


@dataclass(frozen=True, slots=True, kw_only=True)
class TelemetryRecord(Record):
    """One value of sar."""

    kind: ClassVar[str] = "telemetry"
    host: str | None
    time: str | None  # ISO 8601, with offset where it is known, without a date where the file has none; or ``average``
    activity: str
    device: str | None  # None where there is one value for the host
    metric: str
    value: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class VolumeRecord(Record):
    """A volume, its type in gluster's words (``Distributed-Disperse``); a number that it does not have is None."""

    kind: ClassVar[str] = "volume"
    name: str
    type: str
    subvolumes: int | None = None
    bricks: int | None = None
    replica: int | None = None
    arbiter: int | None = None
    data: int | None = None
    redundancy: int | None = None
    options: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class BrickRecord(Record):
    """A brick of a volume."""

    kind: ClassVar[str] = "brick"
    volume: str | None
    host: str
    path: str
    online: bool | None = None
    pid: int | None = None
    size_bytes: int | None = None
    free_bytes: int | None = None
    inodes: int | None = None
    free_inodes: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileRecord(Record):
    """What one brick (``host:path``) did in one interval of `gluster volume profile`, for one file operation."""

    kind: ClassVar[str] = "profile"
    volume: str | None
    brick: str | None
    interval: str  # ``cumulative``, its number, or in XML ``interval``
    fop: str | None = None  # None for the interval as a whole
    calls: int | None = None
    latency_mean_s: float | None = None
    latency_min_s: float | None = None
    latency_max_s: float | None = None
