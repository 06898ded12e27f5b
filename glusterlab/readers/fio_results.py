"""The results of one job of a fio report: a record for each direction, and whether it counts."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from glusterlab.readers.fio_options import Options
from glusterlab.readers.fio_reports import Several
from glusterlab.readers.fio_values import Measured, latency, measured
from glusterlab.readers.records import Details, Source, WorkloadRecord
from glusterlab.readers.wrapping import whole
from glusterlab.reasons import Reason

ALL_CLIENTS = "All clients"
_DIRECTIONS = ("read", "write", "trim", "mixed")
_ENOSPC = 28
_MAX_FINDINGS = 20
_SHORT = 0.95


@dataclass(frozen=True)
class Job:
    """One entry of a report.

    Attributes
    ----------
    data : dict
        As in the file.
    options : Options
    version : str or None
    source : Source
    run : int
    host : str or None
    workers : int or None
        How many jobs the entry sums up; None when the file does not say.
    signal : int or None
        That ended the run.
    interim : bool
        Whether a later report of the same run follows.
    doubt : str or None
        What keeps the whole report from being judged.
    details : dict
        What stands in the report, not in the entry.
    summed : bool
        Whether it is fio's own sum of the clients' entries.
    """

    data: dict[str, Any]
    options: Options
    version: str | None
    source: Source
    run: int
    host: str | None = None
    workers: int | None = None
    signal: int | None = None
    interim: bool = False
    doubt: str | None = None
    details: Details = field(default_factory=dict)
    summed: bool = False

    @property
    def name(self) -> str | None:
        """The job's name."""
        name = self.data.get("jobname")
        return name if isinstance(name, str) else None

    @property
    def errors(self) -> list[int]:
        """The error numbers of the job that are not 0."""
        found = self.data.get("error")
        return [code for value in _each(found) if (code := whole(value)) not in (None, 0)]

    @property
    def covers_others(self) -> bool:
        """Whether the entry sums up more jobs than its own options speak of.

        With ``group_reporting`` an entry has the name and the options of its group's first section, and sums all.
        """
        spent = measured(self.data.get("job_runtime"))
        ran = sum(1000 * (Measured.of(values).seconds or 0) for _, values in self.directions())
        mine = ran * self.options.workers
        return spent is not None and ran > 1000 and spent > 1.5 * mine

    def directions(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Each direction of the entry, as often as it stands there."""
        for label in _DIRECTIONS:
            for values in _each(self.data.get(label)):
                if isinstance(values, dict):
                    yield label, values


def records_of(job: Job) -> Iterator[WorkloadRecord]:
    """A record for each direction that did something, and for each that was asked to and did nothing.

    The second kind is not valid: a direction that was not asked for is no result, one that was and did nothing failed.
    """
    faults, doubts = _faults(job), _doubts(job)
    found: set[str] = set()
    sides = [(label, values, Measured.of(values)) for label, values in job.directions()]
    for label, values, numbers in sides:
        if not numbers.idle:
            found.add(label)
            yield _record(job, label, values, numbers, faults, doubts)
    asked = job.options.operations
    mixed = any(label == "mixed" for label, _, _ in sides)
    if asked is None and not found and faults:
        # what was to be done is not said, yet the failure is
        asked = {"read": "read"} if not mixed else {"mixed": "mixed"}
    for label in asked or ():
        if label not in found and not (mixed and label != "mixed"):
            nothing = Reason(code="tool-failed", message=f"{label} was asked for, and fio did none of it")
            numbers = Measured(None, None, None, None, None, None)
            yield _record(job, label, {}, numbers, [*faults, nothing], doubts)
    if mixed and asked and not found:
        nothing = Reason(code="tool-failed", message="I/O was asked for, and fio did none of it")
        yield _record(job, "mixed", {}, Measured(None, None, None, None, None, None), [*faults, nothing], doubts)


def as_sum(record: WorkloadRecord, parts: Sequence[tuple[Job, list[WorkloadRecord]]]) -> WorkloadRecord:
    """The record of a sum, at most as valid as its parts: fio may print the error number 0 in the sum all the same.

    Parameters
    ----------
    record : WorkloadRecord
    parts : sequence of tuple of Job and list of WorkloadRecord
        The clients' entries in the report, with their records.
    """
    verdicts: list[bool | None] = [record.valid]
    reasons: list[Reason] = list(record.reasons)
    if not parts:
        verdicts.append(None)
        reasons.append(Reason(code="tool-incomplete", message="the clients that were summed up are not in the file"))
    for job, found in parts:
        who = f"client {job.host or 'without a name'}, job {job.name or 'without a name'}"
        same = [part for part in found if part.label == record.label] or found
        if not same and job.options.operations != {}:
            message = f"{who}: it did nothing, and the file does not say what it was to do"
            verdicts.append(None)
            reasons.append(Reason(code="tool-incomplete", message=message, host=job.host))
        for part in same:
            verdicts.append(part.valid)
            reasons += [
                Reason(code=reason.code, message=f"{who}: {reason.message}", host=job.host) for reason in part.reasons
            ]
    valid = False if False in verdicts else None if None in verdicts else True
    return replace(record, valid=valid, reasons=tuple(dict.fromkeys(reasons))[:_MAX_FINDINGS])


def _record(
    job: Job, label: str, values: dict[str, Any], numbers: Measured, faults: list[Reason], doubts: list[str]
) -> WorkloadRecord:
    own_doubts = [*doubts, *_own_doubts(job, label, values, numbers)] if values else []
    valid = False if faults else None if own_doubts else True
    completion, total = latency(values, "clat"), latency(values, "lat")
    kind = total if completion.mean_s is None else completion
    percentiles = completion.percentiles_s or total.percentiles_s or {}
    on_files = job.options.file_operation is not None
    return WorkloadRecord(
        tool="fio",
        tool_version=job.version,
        source=job.source,
        details=job.details | _details(job, label, values, numbers),
        run=job.run,
        host=job.host,
        job=job.name,
        operation=job.options.operation(label),
        label=label,
        workers=job.workers,
        file_size_bytes=job.options.file_size_bytes,
        record_size_bytes=job.options.record_size_bytes(label),
        throughput_bytes_per_s=None if on_files else numbers.throughput,
        operations_per_s=numbers.rate,
        files_per_s=numbers.rate if on_files else None,
        latency_mean_s=kind.mean_s,
        latency_p50_s=percentiles.get(50.0),
        latency_p99_s=percentiles.get(99.0),
        elapsed_s=numbers.seconds,
        valid=valid,
        reasons=(*faults, *(Reason(code="tool-incomplete", message=doubt) for doubt in own_doubts)),
    )


def _faults(job: Job) -> list[Reason]:
    """What shows that a job failed or did not end as it should."""
    found = []
    for code in job.errors[:_MAX_FINDINGS]:
        said = os.strerror(code) if code < 1 << 15 else "unknown"
        kind: Any = "disk-full" if code == _ENOSPC else "tool-failed"
        found.append(Reason(code=kind, message=f"fio ended the job with error {code} ({said})"))
    ignored = [count for value in _each(job.data.get("total_err")) if (count := whole(value))]
    if ignored:
        found.append(Reason(code="tool-failed", message=f"fio went on after errors: it counted {ignored[0]}"))
    if job.interim:
        message = "expected the last report of a run, found an interim one: a later one of the same run follows"
        found.append(Reason(code="tool-incomplete", message=message))
    if job.signal is not None:
        found.append(Reason(code="tool-incomplete", message=f"the run was interrupted: signal {job.signal}"))
    if (short := _ended_early(job)) is not None:
        found.append(Reason(code="tool-incomplete", message=short))
    return found


def _ended_early(job: Job) -> str | None:
    """What shows that a job ended before its time or, when it has none to keep, before its time and its size."""
    options = job.options
    asked, ran = options.runtime_s, _ran_s(job)
    # an error says itself why a job ended, and an interim report is of one that has not
    if not ran or job.errors or job.interim or options.may_end_early or (asked is not None and ran >= _SHORT * asked):
        return None
    size = None if options.size_bytes is None or job.workers is None else options.size_bytes * job.workers
    done = _bytes_done(job)
    # fio does not write the option time_based down when it stood on its command line without a value
    again = size is not None and max(done.values(), default=0) > size / _SHORT and not options.flag("loops")
    if options.flag("time_based") or again:
        return None if asked is None else f"the run was interrupted: expected {asked:g} s, found {ran:g} s"
    total = sum(done.values())
    # the last record of a file may not have fitted
    if size is None or not options.of_one_size or not done or total >= _SHORT * size - _slack_bytes(job):
        return None
    return f"the run was interrupted: expected {size:,} bytes, found {total:,.0f} in {ran:g} s"


def _ran_s(job: Job) -> float:
    return max((Measured.of(values).seconds or 0.0 for _, values in job.directions()), default=0.0)


def _slack_bytes(job: Job) -> int:
    return job.options.slack_bytes * (job.workers or 1)


def _may_have_ended_early(job: Job) -> str | None:
    """What leaves open whether a job ended before it had done what it was to do."""
    options = job.options
    asked, ran = options.runtime_s, _ran_s(job)
    if not ran or options.may_end_early or options.flag("time_based") or (asked is not None and ran >= _SHORT * asked):
        return None
    if options.size_bytes is None:
        if asked is None:
            return None
        return f"ended after {ran:g} of at most {asked:g} s, and the file does not say how much was to be done"
    size = options.size_bytes * (job.workers or 1)
    total = sum(_bytes_done(job).values())
    if options.of_one_size or not 0 < total < size / 2:
        return None
    return f"expected about {size:,} bytes, found less than half of them: the run may have been interrupted"


def _bytes_done(job: Job) -> dict[str, float]:
    """What each direction has done; empty where one of them does not say it."""
    done = {label: Measured.of(values).bytes for label, values in job.directions()}
    if len(done) > 1:
        done.pop("mixed", None)
    known = {label: amount for label, amount in done.items() if amount is not None}
    return known if len(known) == len(done) else {}


def _doubts(job: Job) -> list[str]:
    """What keeps every direction of a job from being judged."""
    found = [] if job.doubt is None else [job.doubt]
    if measured(job.data.get("error")) is None and not job.errors:
        found.append("expected the job's error number, found none")
    others = {key: value for key, value in job.data.items() if key not in (*_DIRECTIONS, "job options", "total_err")}
    found.extend(_twice(others))
    if (open_end := _may_have_ended_early(job)) is not None:
        found.append(open_end)
    return found


def _own_doubts(job: Job, label: str, values: dict[str, Any], numbers: Measured) -> list[str]:
    """What keeps one direction from being judged."""
    found = _twice(values)
    if isinstance(job.data.get(label), Several):
        found.append(f"{label!r} stands several times with different values")
    if numbers.contradiction is not None:
        found.append(numbers.contradiction)
    if job.options.file_operation is None and numbers.throughput is None:
        found.append("expected a throughput, found none: the run may have been too short to measure")
    elif numbers.rate is None or numbers.seconds is None:
        found.append("expected a rate and a time, found none: the run may have been too short to measure")
    return found


def _twice(values: dict[str, Any]) -> list[str]:
    """A sentence for each key in an object, or in one within it, that stands several times with different values."""
    found: list[str] = []
    waiting: list[tuple[str, Any]] = [("", values)]
    while waiting and len(found) < _MAX_FINDINGS:
        path, value = waiting.pop()
        if isinstance(value, Several):
            found.append(f"{path!r} stands several times with different values")
        elif isinstance(value, dict):
            waiting.extend((f"{path}.{key}".lstrip(".") if path else str(key), inner) for key, inner in value.items())
    return found


def _each(value: object) -> list[Any]:
    return list(value) if isinstance(value, Several) else [value]


def _details(job: Job, label: str, values: dict[str, Any], numbers: Measured) -> Details:
    """What only fio says of a direction, without what is not there."""
    submission, completion, total = (latency(values, kind) for kind in ("slat", "clat", "lat"))
    kind = total if completion.mean_s is None else completion
    interrupted = job.signal is not None or _ended_early(job) is not None
    summed = "clients" if job.summed else None
    if label == "mixed" and any(other != "mixed" for other, _ in job.directions()):
        summed = "directions"
    found: Details = {
        "io_bytes": None if numbers.bytes is None else int(numbers.bytes),
        "total_ios": None if numbers.ios is None else int(numbers.ios),
        "short_ios": whole(values.get("short_ios")),
        "drop_ios": whole(values.get("drop_ios")),
        "submission_latency_mean_s": submission.mean_s,
        "completion_latency_mean_s": completion.mean_s,
        "total_latency_mean_s": total.mean_s,
        "latency_stddev_s": kind.stddev_s,
        "latency_min_s": kind.min_s,
        "latency_max_s": kind.max_s,
        "latency_percentiles_s": {
            f"{share:g}": value for share, value in (completion.percentiles_s or total.percentiles_s or {}).items()
        },
        "throughput_samples_mean_bytes_per_s": _times(values.get("bw_mean"), 1024),
        "throughput_samples_stddev_bytes_per_s": _times(values.get("bw_dev"), 1024),
        "numjobs": job.options.integer("numjobs"),
        "iodepth": job.options.integer("iodepth"),
        "ioengine": job.options.text("ioengine"),
        "asked_runtime_s": job.options.runtime_s,
        "interrupted": True if interrupted else None,
        "interim": True if job.interim else None,
        "sum_of": summed,
        "error": job.errors[0] if job.errors else None,
        "user_cpu_percent": measured(job.data.get("usr_cpu")),
        "system_cpu_percent": measured(job.data.get("sys_cpu")),
        "context_switches": whole(job.data.get("ctx")),
        "options": job.options.given,
    }
    return {key: value for key, value in found.items() if value is not None and value != {}}


def _times(value: object, factor: int) -> float | None:
    found = measured(value)
    return found * factor if found else None
