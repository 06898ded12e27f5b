"""Reader of fio's JSON (``--output-format=json`` and ``json+``, also of ``--client``), releases 2 and 3.

A record is one direction of one job: an entry of the report, which sums up all jobs of its group when they ran with
``group_reporting``. In the reports of ``--client`` each client's jobs have its host, and fio's own sum of them is the
job ``All clients``; that record has ``sum_of: clients`` in its details, so that no one adds it to its parts. The same
holds for the direction ``mixed`` beside its parts (``unified_rw_reporting=both``): ``sum_of: directions``.

The latency is that of completion (fio's clat), or the total one (lat) where there is no such. Reports that
``--status-interval`` writes while a run goes on are not valid; only the last one of the run is its result.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

from glusterlab.reasons import Reason
from glusterlab.tools.document import Document, whole
from glusterlab.tools.fio.options import MAX_OPTIONS, Measured, Options, as_options, latency, measured
from glusterlab.tools.fio.reports import Report, Several, entries, find_reports
from glusterlab.tools.records import Details, Source, WorkloadRecord, failed, incomplete

ALL_CLIENTS = "All clients"
_DIRECTIONS = ("read", "write", "trim", "mixed")
_ENOSPC = 28
_MAX_FINDINGS = 20
_SHORT = 0.95


@dataclass(frozen=True)
class Job:
    """One entry of a report, which sums up `workers` jobs; None when the file does not say how many.

    A `signal` may have ended the run; an `interim` report is followed by a later one of the same run; `doubt` keeps the
    whole report from being judged. `details` stand in the report, not in the entry; `summed` is fio's own sum of the
    clients' entries.
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
        name = self.data.get("jobname")
        return name if isinstance(name, str) else None

    @property
    def errors(self) -> list[int]:
        """The error numbers of the job that are not 0."""
        return [code for value in _each(self.data.get("error")) if (code := whole(value)) not in (None, 0)]

    @cached_property
    def directions(self) -> list[tuple[str, dict[str, Any], Measured]]:
        """Each direction of the entry, as often as it stands there."""
        return [
            (label, values, Measured.of(values))
            for label in _DIRECTIONS
            for values in _each(self.data.get(label))
            if isinstance(values, dict)
        ]

    @property
    def ran_s(self) -> float:
        return max((numbers.seconds or 0.0 for _, _, numbers in self.directions), default=0.0)

    @property
    def bytes_done(self) -> dict[str, float]:
        """What each direction has done; empty where one of them does not say it."""
        done = {label: numbers.bytes for label, _, numbers in self.directions}
        if len(done) > 1:
            done.pop("mixed", None)
        known = {label: amount for label, amount in done.items() if amount is not None}
        return known if len(known) == len(done) else {}

    @property
    def covers_others(self) -> bool:
        """Whether the entry sums up more jobs than its own options speak of.

        With ``group_reporting`` an entry has the name and the options of its group's first section, and sums all.
        """
        spent = measured(self.data.get("job_runtime"))
        ran = sum(1000 * (numbers.seconds or 0) for _, _, numbers in self.directions)
        return spent is not None and ran > 1000 and spent > 1.5 * ran * self.options.workers


def records_of(job: Job) -> Iterator[WorkloadRecord]:
    """A record for each direction that did something, and for each that was to do something and did nothing.

    The second kind is not valid: a direction that was not wanted is no result, one that was and did nothing failed.
    """
    faults, doubts = _faults(job), _doubts(job)
    found: set[str] = set()
    for label, values, numbers in job.directions:
        if not numbers.idle:
            found.add(label)
            yield _record(job, label, values, numbers, faults, doubts)
    wanted = job.options.operations
    mixed = any(label == "mixed" for label, _, _ in job.directions)
    if wanted is None and not found and faults:
        # what was to be done is not said, yet the failure is
        wanted = {"mixed": "mixed"} if mixed else {"read": "read"}
    missing = [(label, label) for label in wanted or () if label not in found and (not mixed or label == "mixed")]
    if mixed and wanted and not found:
        missing.append(("mixed", "I/O"))
    for label, what in missing:
        nothing = failed(f"{what} was asked for, and fio did none of it")
        yield _record(job, label, {}, Measured(), [*faults, nothing], doubts)


def as_sum(record: WorkloadRecord, parts: Sequence[tuple[Job, list[WorkloadRecord]]]) -> WorkloadRecord:
    """The record of a sum, at most as valid as its parts, the clients' entries: fio may print no error in the sum."""
    verdicts: list[bool | None] = [record.valid]
    reasons: list[Reason] = list(record.reasons)
    if not parts:
        verdicts.append(None)
        reasons.append(incomplete("the clients that were summed up are not in the file"))
    for job, found in parts:
        who = f"client {job.host or 'without a name'}, job {job.name or 'without a name'}"
        same = [part for part in found if part.label == record.label] or found
        if not same and job.options.operations != {}:
            verdicts.append(None)
            reasons.append(incomplete(f"{who}: it did nothing, and the file does not say what it was to do", job.host))
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
    options = job.options
    own_doubts = [*doubts, *_own_doubts(job, label, values, numbers)] if values else []
    submission, completion, total = (latency(values, kind) for kind in ("slat", "clat", "lat"))
    kind = total if completion.mean_s is None else completion
    percentiles = completion.percentiles_s or total.percentiles_s or {}
    on_files = options.file_operation is not None
    in_parts = label == "mixed" and any(other != "mixed" for other, _, _ in job.directions)
    details: Details = {
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
        "latency_percentiles_s": {f"{share:g}": value for share, value in percentiles.items()},
        "throughput_samples_mean_bytes_per_s": (measured(values.get("bw_mean")) or 0) * 1024 or None,
        "throughput_samples_stddev_bytes_per_s": (measured(values.get("bw_dev")) or 0) * 1024 or None,
        "numjobs": options.integer("numjobs"),
        "iodepth": options.integer("iodepth"),
        "ioengine": options.text("ioengine"),
        "asked_runtime_s": options.runtime_s,
        "interrupted": True if job.signal is not None or _ended_early(job) is not None else None,
        "interim": True if job.interim else None,
        "sum_of": "directions" if in_parts else "clients" if job.summed else None,
        "error": job.errors[0] if job.errors else None,
        "user_cpu_percent": measured(job.data.get("usr_cpu")),
        "system_cpu_percent": measured(job.data.get("sys_cpu")),
        "context_switches": whole(job.data.get("ctx")),
        "options": options.values,
    }
    return WorkloadRecord(
        tool="fio",
        tool_version=job.version,
        source=job.source,
        details=job.details | {key: value for key, value in details.items() if value is not None and value != {}},
        run=job.run,
        host=job.host,
        job=job.name,
        operation=options.operation(label),
        label=label,
        workers=job.workers,
        file_size_bytes=options.file_size_bytes,
        record_size_bytes=options.record_size_bytes(label),
        throughput_bytes_per_s=None if on_files else numbers.throughput,
        operations_per_s=numbers.rate,
        files_per_s=numbers.rate if on_files else None,
        latency_mean_s=kind.mean_s,
        latency_p50_s=percentiles.get(50.0),
        latency_p95_s=percentiles.get(95.0),
        latency_p99_s=percentiles.get(99.0),
        elapsed_s=numbers.seconds,
        valid=False if faults else None if own_doubts else True,
        reasons=(*faults, *map(incomplete, own_doubts)),
    )


def _faults(job: Job) -> list[Reason]:
    found = []
    for code in job.errors[:_MAX_FINDINGS]:
        meaning = os.strerror(code) if code < 1 << 15 else "unknown"
        kind: Any = "disk-full" if code == _ENOSPC else "tool-failed"
        found.append(Reason(code=kind, message=f"fio ended the job with error {code} ({meaning})"))
    ignored = [count for value in _each(job.data.get("total_err")) if (count := whole(value))]
    if ignored:
        found.append(failed(f"fio went on after errors: it counted {ignored[0]}"))
    if job.interim:
        found.append(
            incomplete("expected the last report of a run, found an interim one: a later one of the same run follows")
        )
    if job.signal is not None:
        found.append(incomplete(f"the run was interrupted: signal {job.signal}"))
    if (short := _ended_early(job)) is not None:
        found.append(incomplete(short))
    return found


def _ended_early(job: Job) -> str | None:
    """What shows that a job ended before its time or, when it has none to keep, before its time and its size."""
    options, ran, wanted = job.options, job.ran_s, job.options.runtime_s
    # an error says itself why a job ended, and an interim report is of one that has not
    if not ran or job.errors or job.interim or options.may_end_early or (wanted is not None and ran >= _SHORT * wanted):
        return None
    size = None if options.size_bytes is None or job.workers is None else options.size_bytes * job.workers
    done = job.bytes_done
    # fio does not write the option time_based down when it stood on its command line without a value
    again = size is not None and max(done.values(), default=0) > size / _SHORT and not options.flag("loops")
    if options.flag("time_based") or again:
        return None if wanted is None else f"the run was interrupted: expected {wanted:g} s, found {ran:g} s"
    total = sum(done.values())
    # the last record of a file may not have fitted
    slack = options.slack_bytes * (job.workers or 1)
    if size is None or not options.of_one_size or not done or total >= _SHORT * size - slack:
        return None
    return f"the run was interrupted: expected {size:,} bytes, found {total:,.0f} in {ran:g} s"


def _may_have_ended_early(job: Job) -> str | None:
    """What leaves open whether a job ended before it had done what it was to do."""
    options, ran, limit = job.options, job.ran_s, job.options.runtime_s
    if not ran or options.may_end_early or options.flag("time_based") or (limit is not None and ran >= _SHORT * limit):
        return None
    if options.size_bytes is None:
        if limit is None:
            return None
        return f"ended after {ran:g} of at most {limit:g} s, and the file does not say how much was to be done"
    size = options.size_bytes * (job.workers or 1)
    if options.of_one_size or not 0 < sum(job.bytes_done.values()) < size / 2:
        return None
    return f"expected about {size:,} bytes, found less than half of them: the run may have been interrupted"


def _doubts(job: Job) -> list[str]:
    found = [] if job.doubt is None else [job.doubt]
    if measured(job.data.get("error")) is None and not job.errors:
        found.append("expected the job's error number, found none")
    others = {key: value for key, value in job.data.items() if key not in (*_DIRECTIONS, "job options", "total_err")}
    found.extend(_twice(others))
    if (open_end := _may_have_ended_early(job)) is not None:
        found.append(open_end)
    return found


def _own_doubts(job: Job, label: str, values: dict[str, Any], numbers: Measured) -> list[str]:
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


_NAMED = re.compile(r'"fio version"\s*:')
_ARRAYS = re.compile(r'"(?:jobs|client_stats)"\s*:\s*\[')
_LATENCIES = re.compile(r'"[sc]?lat(?:_ns)?"\s*:\s*\{')
_TEXT = re.compile(r"\(groupid=\d+, jobs=\d+\): err=|^(?:<[^>\n]*> )?Starting \d+ (?:process|thread)", re.MULTILINE)
_TERSE = re.compile(r"^\d;fio-\d", re.MULTILINE)
_OTHER_FORMS = ((_TERSE, "its terse lines"), (_TEXT, "its text for people"))
_MAX_GLOBAL_CHARACTERS = 1 << 16
_MAX_DISKS = 1_000


def recognise(document: Document) -> float:
    """How sure it is that a document is fio's, from 0 to 1; its text for people counts, to be refused with advice."""
    head = document.head
    if _NAMED.search(head):
        return 0.95
    if _TERSE.search(head) or _TEXT.search(head):
        return 0.7
    return 0.6 if _ARRAYS.search(head) and _LATENCIES.search(head) else 0.0


def read(document: Document) -> Iterator[WorkloadRecord]:
    """The records of every report in a document.

    `ParseError`, after what is whole was yielded, when a report is damaged or cut off, or when there is none.
    """
    reports, damage = find_reports(document)
    if not reports and damage is None:
        found = ((pattern.search(document.text), what) for pattern, what in _OTHER_FORMS)
        place, what = next(((place, what) for place, what in found if place is not None), (None, "none"))
        line = 1 if place is None else document.line_of(place.start())
        raise document.error(f"expected fio's JSON, found {what}: run fio with --output-format=json", line)
    runs: dict[str | None, int] = {}
    empty: Report | None = None
    for report, interim in zip(reports, _interim(reports), strict=True):
        run = runs.get(report.host, 0) + 1
        if not interim:
            runs[report.host] = run
        count = 0
        for record in _results(_jobs(document, report, run, interim)):
            count += 1
            yield record
        empty = report if not count and empty is None else empty
    if damage is not None:
        raise damage
    if empty is not None:
        raise document.error("expected jobs of fio that did I/O, found none: the run failed or was ended", empty.line)


def _results(jobs: Iterator[Job]) -> Iterator[WorkloadRecord]:
    parts: list[tuple[Job, list[WorkloadRecord]]] = []
    sums: list[Job] = []
    for job in jobs:
        if job.summed:
            sums.append(job)
            continue
        found = list(records_of(job))
        parts.append((job, found))
        yield from found
    for job in sums:
        for record in records_of(job):
            yield as_sum(record, parts)


def _jobs(document: Document, report: Report, run: int, interim: bool) -> Iterator[Job]:
    listed = entries(report.data)
    version = report.data.get("fio version")
    common, by_client = _global_options(document, report)
    hosts = {entry["hostname"] for entry in listed if isinstance(entry.get("hostname"), str)}
    # how busy the disks were is the run's, not a job's: it goes with the first
    disks = report.data.get("disk_util")
    details: Details = {}
    if isinstance(disks, list) and 0 < len(disks) <= _MAX_DISKS:
        details = {"disk_util": [disk for disk in disks if isinstance(disk, dict)]}
    parts: list[int | None] = []
    alike = Counter(_section(entry) for entry in listed)
    for entry in listed:
        own = entry.get("job options")
        values = by_client.get(_client(entry), common) | as_options(own)
        job = Job(
            data=entry,
            options=Options(values, own="job options" in entry, shared="client_stats" in report.data and own is None),
            version=version.removeprefix("fio-") if isinstance(version, str) else None,
            source=document.source(report.line),
            run=run,
            host=entry.get("hostname") if isinstance(entry.get("hostname"), str) else report.host,
            signal=report.signal,
            interim=interim,
            doubt="the notice of a signal follows the report: it may be of this run" if report.later_signal else None,
            details=details,
            summed=entry.get("jobname") == ALL_CLIENTS and "client_stats" in report.data,
        )
        if job.summed:
            workers = None if None in parts else sum(part for part in parts if part is not None) or None
            # fio gives the sum the name of the last client, which is its own only when alone
            yield replace(job, workers=workers, host=job.host if len(hosts) == 1 else None)
        else:
            parts.append(_workers(job, alike[_section(entry)], cut=report.cut))
            yield replace(job, workers=parts[-1])
        details = {}


def _section(entry: dict[str, Any]) -> tuple[str, ...]:
    return tuple(str(entry.get(key)) for key in ("hostname", "port", "jobname", "groupid"))


def _client(entry: dict[str, Any]) -> tuple[str, str]:
    return str(entry.get("hostname")), str(entry.get("port"))


def _workers(job: Job, alike: int, *, cut: bool) -> int | None:
    """How many jobs an entry sums up, when `alike` entries are of the same section.

    fio does not write ``group_reporting`` down when it stood on its command line without a value; yet with it a section
    has one entry, and without it one for each of its ``numjobs``. None when the entry covers more jobs than are named.
    """
    stated = job.options.flag("group_reporting")
    if not stated and (alike > 1 or job.options.workers <= 1):
        return 1
    return None if (cut and not stated) or job.covers_others else job.options.workers


def _global_options(document: Document, report: Report) -> tuple[dict[str, Any], dict[tuple[str, str], dict[str, Any]]]:
    """The global options of all clients, or with several clients those of each."""
    found = report.data.get("global options")
    several = found if isinstance(found, list) and not isinstance(found, Several) else []
    common = as_options(found)
    by_client = {_client(part): as_options(part) for part in several if isinstance(part, dict)}
    # they become details of every record
    for options in (common, *by_client.values()):
        size = sum(len(str(value)) for value in options.values())
        if len(options) > MAX_OPTIONS or size > _MAX_GLOBAL_CHARACTERS:
            raise document.error(f"expected at most {MAX_OPTIONS:,} global options of fio, found more", report.line)
    return common, by_client


def _interim(reports: list[Report]) -> list[bool]:
    """Which reports are followed by a later one of the same run, as ``--status-interval`` writes them."""
    found: list[bool] = []
    for earlier, later in pairwise(reports):
        # a second in which nothing seems to happen is one of the same run only when it already had interim reports:
        # else the two may be of two hosts that began together
        found.append(_goes_on(earlier, later, still=bool(found) and found[-1]))
    return [*found, False] if reports else []


def _goes_on(earlier: Report, later: Report, *, still: bool) -> bool:
    """Whether a report continues another: the same jobs, begun in the same second, that have run and done more.

    With `still`, as much is enough.
    """
    (begun, names, before), (begun_later, names_later, after) = _progress(earlier), _progress(later)
    if begun is None or begun_later is None or abs(begun - begun_later) > 1:
        return False
    if (earlier.host, names) != (later.host, names_later):
        return False
    grown = all(new >= old and done >= did for (old, did), (new, done) in zip(before, after, strict=True))
    return grown and (still or any(new > old for (old, _), (new, _) in zip(before, after, strict=True)))


def _progress(report: Report) -> tuple[int | None, list[tuple[str, ...]], list[tuple[int, int]]]:
    """The second in which a run began; of each job its names and start; the seconds that it ran, and its bytes."""
    listed = entries(report.data)
    now = whole(report.data.get("timestamp"))
    first = whole(listed[0].get("elapsed")) if listed else None
    names, done = [], []
    for entry in listed:
        sides = [entry.get(label) for label in _DIRECTIONS]
        amount = sum(whole(side.get("io_bytes")) or 0 for side in sides if isinstance(side, dict))
        names.append(tuple(str(entry.get(key)) for key in ("jobname", "groupid", "job_start")))
        done.append((whole(entry.get("elapsed")) or 0, amount))
    return (None if now is None or first is None else now - first), names, done
