"""What readers return: one record for each result in a raw file, whatever tool wrote it.

Values are SI base units, named in the field. None stands for what the file does not say; a failure is never 0.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, Literal

from glusterlab.reasons import Reason

Operation = Literal[
    "write", "rewrite", "read", "reread", "reverse-read", "stride-read", "random-read", "random-write", "mixed",
    "record-rewrite", "pwrite", "pread", "fwrite", "frewrite", "fread", "freread",
    "create", "append", "overwrite", "delete", "delete-renamed", "rename", "ls-l", "readdir", "stat", "chmod",
    "mkdir", "rmdir", "symlink", "setxattr", "getxattr", "swift-get", "swift-put", "await-create", "cleanup",
    "copy", "trim", "send", "receive",
]  # fmt: skip
"""What a workload did, in the suite's words."""

Details = dict[str, Any]
"""What only one tool says, as JSON: its name ends in its unit where it has one."""


@dataclass(frozen=True, slots=True)
class Source:
    """Where a record stands: file as it was named, and line, counted from 1 (for JSON and XML of the file's start)."""

    file: str
    line: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """Base of all records.

    Attributes
    ----------
    tool : str
        ``iozone``, ``smallfile``, ``fio``, ``sar``, ``sadf``, ``dd``, ``iperf3``, ``specsfs``, ``gluster``.
    tool_version : str or None
    source : Source
    details : dict
        What only this tool says.
    """

    kind: ClassVar[str]
    tool: str
    tool_version: str | None
    source: Source
    details: Details = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """The record as JSON data, ``kind`` first; numbers that are not finite are None."""
        found: dict[str, Any] = {"kind": self.kind}
        for place in fields(self):
            if place.name != "details":
                found[place.name] = _plain(getattr(self, place.name))
        found["details"] = _plain(self.details)
        return found

    def to_json(self) -> str:
        """The record as one line of JSON."""
        return json.dumps(self.as_dict(), ensure_ascii=False, allow_nan=False)


def _plain(value: object) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Source):
        return {"file": value.file, "line": value.line}
    if isinstance(value, Reason):
        return value.model_dump()
    if isinstance(value, dict):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(inner) for inner in value]
    return value


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadRecord(Record):
    """One operation of one run of a tool, over all its workers.

    Attributes
    ----------
    run : int
        Counts the runs in a file, from 1.
    host : str or None
        Where a prefix or a client names one.
    job : str or None
        The tool's own name for it, such as fio's job.
    operation : Operation
    label : str
        The operation as printed.
    workers : int or None
        Processes or threads, over all hosts.
    file_size_bytes, record_size_bytes : int or None
    throughput_bytes_per_s, operations_per_s, files_per_s : float or None
    worker_min_bytes_per_s, worker_max_bytes_per_s : float or None
    latency_mean_s, latency_p50_s, latency_p99_s : float or None
    elapsed_s : float or None
        Of the measured part.
    files : int or None
        Files done, over all workers.
    percent_done : float or None
        Of what was asked for.
    valid : bool or None
        False: the file shows that the result is none. None: the file does not hold what a judgement needs.
    reasons : tuple of Reason
        Why it is not valid, or cannot be judged.
    """

    kind: ClassVar[str] = "workload"
    run: int = 1
    host: str | None = None
    job: str | None = None
    operation: Operation
    label: str
    workers: int | None = None
    file_size_bytes: int | None = None
    record_size_bytes: int | None = None
    throughput_bytes_per_s: float | None = None
    operations_per_s: float | None = None
    files_per_s: float | None = None
    worker_min_bytes_per_s: float | None = None
    worker_max_bytes_per_s: float | None = None
    latency_mean_s: float | None = None
    latency_p50_s: float | None = None
    latency_p99_s: float | None = None
    elapsed_s: float | None = None
    files: int | None = None
    percent_done: float | None = None
    valid: bool | None = None
    reasons: tuple[Reason, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerRecord(Record):
    """What one process or thread did in an operation.

    Attributes
    ----------
    run, host, job, operation
        As in the `WorkloadRecord` that it belongs to; `host` may name the worker's own.
    label : str
        The worker as printed: ``Child[0]``, ``00``.
    worker : int
        Counted from 1, over all hosts of the operation.
    throughput_bytes_per_s, operations_per_s, files_per_s, elapsed_s : float or None
    bytes, files : int or None
        Done when the measurement ended.
    valid : bool or None
    reasons : tuple of Reason
    """

    kind: ClassVar[str] = "worker"
    run: int = 1
    host: str | None = None
    job: str | None = None
    operation: Operation
    label: str
    worker: int
    throughput_bytes_per_s: float | None = None
    operations_per_s: float | None = None
    files_per_s: float | None = None
    elapsed_s: float | None = None
    bytes: int | None = None
    files: int | None = None
    valid: bool | None = None
    reasons: tuple[Reason, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TelemetryRecord(Record):
    """One value of sar.

    Attributes
    ----------
    host : str or None
    time : str or None
        ISO 8601, with offset where it is known; a time without a date where the file has no date; ``average``.
    activity : str
        cpu, memory, swap, paging, io, queue, network, disk, ...
    device : str or None
        ``all``, ``eth0``, ``sda``; None where there is one value for the host.
    metric : str
        As sysstat names it.
    value : float or None
    """

    kind: ClassVar[str] = "telemetry"
    host: str | None
    time: str | None
    activity: str
    device: str | None
    metric: str
    value: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class VolumeRecord(Record):
    """A volume of a GlusterFS pool.

    Attributes
    ----------
    name : str
    type : str
        In gluster's words: ``Distributed-Disperse``.
    subvolumes, bricks, replica, arbiter, data, redundancy : int or None
        `bricks` counts all of them; None where the type has no such number.
    options : dict of str to str
        Those that were set.
    """

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
    """A brick of a volume.

    Attributes
    ----------
    volume : str or None
    host, path : str
    online : bool or None
    pid : int or None
    size_bytes, free_bytes, inodes, free_inodes : int or None
    """

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
    """What one brick did in one interval of `gluster volume profile`, for one file operation.

    Attributes
    ----------
    volume : str or None
    brick : str or None
        ``host:path``; None where the file does not say it.
    interval : str
        ``cumulative``, or the interval's number; ``interval`` in XML, which does not number it.
    fop : str or None
        ``WRITE``, ``LOOKUP``, ...; None for the record of the interval as a whole, whose duration, bytes and block
        sizes are in `details`.
    calls : int or None
    latency_mean_s, latency_min_s, latency_max_s : float or None
    """

    kind: ClassVar[str] = "profile"
    volume: str | None
    brick: str | None
    interval: str
    fop: str | None = None
    calls: int | None = None
    latency_mean_s: float | None = None
    latency_min_s: float | None = None
    latency_max_s: float | None = None
