"""Reader of fio's JSON (``--output-format=json`` and ``json+``, also of ``--client``), releases 2 and 3.

A record is one direction of one job: an entry of the report, which sums up all jobs of its group when they ran with
``group_reporting``. Sums have ``sum_of`` in their details, so that no one adds them to their parts: ``clients`` in the
job ``All clients``, ``directions`` in ``mixed`` beside its parts (``unified_rw_reporting=both``). The latency is that
of completion (clat), or the total one (lat) where there is no such. Reports that ``--status-interval`` writes while a
run goes on are not valid; only the last one of the run is its result.
"""

import os
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

from glusterlab.reasons import Reason
from glusterlab.tools.document import Document, whole
from glusterlab.tools.fio import logs
from glusterlab.tools.fio.options import MAX_OPTIONS, Measured, Options, as_options, latency, measured
from glusterlab.tools.fio.reports import Report, Several, entries, find_reports
from glusterlab.tools.records import Details, Source, WorkloadRecord, contradictions, failed, incomplete, without_none

_ALL_CLIENTS = "All clients"
_DIRECTIONS = ("read", "write", "trim", "mixed")
_ENOSPC = 28
_MAX_FINDINGS = 20
_SHORT = 0.95
_MAX_SHORT = 0.01
_BUCKET = 1.1  # by how much a percentile, which is the bound of a bucket, may be above the maximum


class Job:
    """One entry of a report, which sums up `workers` jobs; None when the file does not say how many."""

    source: Source
    workers: int | None = None
    said: str | None = None  # by fio, of what failed in the run
    doubt: str | None = None  # keeps the whole report from being judged

    def __init__(self, report: Report, entry: dict[str, Any], options: dict[str, Any], run: int, interim: bool) -> None:
        name, host, version = entry.get("jobname"), entry.get("hostname"), report.data.get("fio version")
        by_clients, own = "client_stats" in report.data, entry.get("job options")
        self.data, self.report, self.run = entry, report, run
        self.interim = interim  # a later report of the same run follows
        values = options | as_options(own)
        self.options = Options(values, own="job options" in entry, shared=by_clients and own is None)
        self.version = version.removeprefix("fio-") if isinstance(version, str) else None
        self.name = name if isinstance(name, str) else None
        self.host = host if isinstance(host, str) else report.host
        self.summed = name == _ALL_CLIENTS and by_clients  # fio's own sum of the clients' entries
        self.details: Details = {}  # of the report

    @property
    def errors(self) -> list[int]:
        """The error numbers of the job that are not 0."""
        return [code for value in _each(self.data.get("error")) if (code := whole(value)) not in (None, 0)]

    @cached_property
    def directions(self) -> list[tuple[str, dict[str, Any], Measured]]:
        found = ((label, values) for label in _DIRECTIONS for values in _each(self.data.get(label)))
        return [(label, values, Measured(values)) for label, values in found if isinstance(values, dict)]

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
    def in_time(self) -> bool:
        limit = self.options.runtime_s
        return limit is not None and self.ran_s >= _SHORT * limit


def _records_of(job: Job) -> Iterator[WorkloadRecord]:
    """A record for each direction that did something, and for each that was to do something and did nothing."""
    faults, doubts = list(_faults(job)), _doubts(job)
    found: set[str] = set()
    for label, values, numbers in job.directions:
        if not numbers.idle:
            found.add(label)
            yield _record(job, label, values, numbers, faults, [*doubts, *_own_doubts(job, label, values, numbers)])
    wanted = job.options.directions
    mixed = any(label == "mixed" for label, _, _ in job.directions)
    if wanted is None and not found and faults:
        # what was to be done is not said, yet the failure is
        wanted = ("mixed",) if mixed else ("read",)
    missing = [(label, label) for label in wanted or () if label not in found and (not mixed or label == "mixed")]
    if mixed and wanted and not found:
        missing.append(("mixed", "I/O"))
    for label, what in missing:
        nothing = failed(f"{what} was asked for, and fio did none of it")
        yield _record(job, label, {}, Measured({}), [*faults, nothing], [])


def _as_sum(record: WorkloadRecord, parts: Sequence[tuple[Job, list[WorkloadRecord]]]) -> WorkloadRecord:
    """The record of a sum, at most as valid as its parts, the clients' entries: fio may print no error in the sum."""
    verdicts: list[bool | None] = [record.valid]
    reasons: list[Reason] = list(record.reasons)
    if not parts:
        verdicts.append(None)
        reasons.append(incomplete("the clients that were summed up are not in the file"))
    for job, found in parts:
        who = f"client {job.host or 'without a name'}, job {job.name or 'without a name'}"
        same = [part for part in found if part.label == record.label] or found
        if not same and job.options.directions != ():
            verdicts.append(None)
            reasons.append(incomplete(f"{who}: it did nothing, and the file does not say what it was to do", job.host))
        for part in same:
            verdicts.append(part.valid)
            reasons += [Reason(code=one.code, message=f"{who}: {one.message}", host=job.host) for one in part.reasons]
    valid = False if False in verdicts else None if None in verdicts else True
    return replace(record, valid=valid, reasons=tuple(dict.fromkeys(reasons))[:_MAX_FINDINGS])


def _record(
    job: Job, label: str, values: dict[str, Any], numbers: Measured, faults: list[Reason], doubts: list[str]
) -> WorkloadRecord:
    options = job.options
    kinds = {"submission": "slat", "completion": "clat", "total": "lat"}
    latencies = {name: latency(values, kind) for name, kind in kinds.items()}
    completion, total = latencies["completion"], latencies["total"]
    seconds, percentiles = completion[0] if "mean" in completion[0] else total[0], completion[1] or total[1]
    on_files = options.file_operation is not None
    in_parts = label == "mixed" and any(other != "mixed" for other, _, _ in job.directions)
    details: Details = {
        "io_bytes": None if numbers.bytes is None else int(numbers.bytes),
        "total_ios": None if numbers.ios is None else int(numbers.ios),
        **{name: whole(values.get(name)) for name in ("short_ios", "drop_ios")},
        **{f"{name}_latency_mean_s": times[0].get("mean") for name, times in latencies.items()},
        **{f"latency_{name}_s": seconds.get(name) for name in ("stddev", "min", "max")},
        "latency_percentiles_s": {f"{share:g}": value for share, value in percentiles.items()} or None,
        "throughput_samples_mean_bytes_per_s": (measured(values.get("bw_mean")) or 0) * 1024 or None,
        "throughput_samples_stddev_bytes_per_s": (measured(values.get("bw_dev")) or 0) * 1024 or None,
        **{name: options.integer(name) for name in ("numjobs", "iodepth")},
        "ioengine": options.text("ioengine"),
        "runtime_limit_s": options.runtime_s,
        "ramp_s": options.ramp_s,
        "interrupted": job.report.signal is not None or _ended_early(job) is not None or None,
        "interim": job.interim or None,
        "sum_of": "directions" if in_parts else "clients" if job.summed else None,
        "error": job.errors[0] if job.errors else None,
        "user_cpu_percent": measured(job.data.get("usr_cpu")),
        "system_cpu_percent": measured(job.data.get("sys_cpu")),
        "context_switches": whole(job.data.get("ctx")),
        "options": options.values or None,
    }
    record = WorkloadRecord(
        tool="fio",
        tool_version=job.version,
        source=job.source,
        details=job.details | without_none(details),
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
        latency_mean_s=seconds.get("mean"),
        latency_p50_s=percentiles.get(50.0),
        latency_p95_s=percentiles.get(95.0),
        latency_p99_s=percentiles.get(99.0),
        elapsed_s=numbers.seconds,
    )
    ordered = [seconds[name] for name in ("min", "mean", "max") if name in seconds]
    faults = [*faults, *contradictions(record), *_own_faults(record, numbers, ordered, percentiles)]
    valid = False if faults else None if doubts else True
    return replace(record, valid=valid, reasons=(*faults, *map(incomplete, doubts)))


def _faults(job: Job) -> Iterator[Reason]:
    for code in job.errors[:_MAX_FINDINGS]:
        meaning = os.strerror(code) if code < 1 << 15 else "unknown"
        kind: Any = "disk-full" if code == _ENOSPC else "tool-failed"
        yield Reason(code=kind, message=f"fio ended the job with error {code} ({meaning})")
    if ignored := next((count for value in _each(job.data.get("total_err")) if (count := whole(value))), None):
        yield failed(f"fio went on after errors: it counted {ignored}")
    if job.said is not None:
        yield failed(f"fio said before its report: {job.said}")
    if job.interim:
        yield incomplete("expected the last report of a run, found an interim one")
    if job.report.signal is not None:
        yield incomplete(f"the run was interrupted: signal {job.report.signal}")
    if (short := _ended_early(job)) is not None:
        yield incomplete(f"the run was interrupted: expected {short}")


def _own_faults(
    record: WorkloadRecord, numbers: Measured, ordered: list[float], percentiles: dict[float, float]
) -> Iterator[Reason]:
    """What shows that a direction did not do what its rate is of; `ordered`: minimum, mean and maximum latency."""
    details, ios, done, size = record.details, numbers.ios or 0, numbers.bytes or 0, record.record_size_bytes
    short, dropped = (details.get(name, 0) for name in ("short_ios", "drop_ios"))
    # I/Os that have begun in a ramp and ended in the measured part: fio counts their bytes and not them
    in_ramp = int(details.get("iodepth") or 1) * int(details.get("numjobs") or 1) if details.get("ramp_s") else 0
    if short + dropped > _MAX_SHORT * ios:
        yield incomplete(f"of {ios:.0f} I/Os {short} were short and {dropped} dropped")
    elif size and ios and done and abs(ios * size - done) > 0.01 * done + 1024 + size * (1 + in_ramp):
        yield incomplete(f"{ios:.0f} I/Os of {size} bytes are not {done:.0f} bytes")
    by_share = [percentiles[share] for share in sorted(percentiles)]
    if ordered != sorted(ordered) or by_share != sorted(by_share):
        yield incomplete("the minimum, mean, maximum and percentiles of latency are not in their order")
    elif len(ordered) == 3 and by_share and by_share[-1] > _BUCKET * ordered[-1]:
        yield incomplete(f"expected percentiles of at most the maximum, {ordered[-1]:g} s, found {by_share[-1]:g} s")


def _ended_early(job: Job) -> str | None:
    """What shows that a job ended before its time or, when it has none to keep, before its time and its size."""
    options, workers, done = job.options, job.workers, job.bytes_done
    # an error says itself why a job ended, and an interim report is of one that has not
    if not job.ran_s or job.errors or job.interim or options.may_end_early or job.in_time:
        return None
    size = None if options.size_bytes is None or workers is None else options.size_bytes * workers
    # fio does not write the option time_based down when it stood on its command line without a value
    again = size is not None and max(done.values(), default=0) > size / _SHORT and not options.flag("loops")
    if options.flag("time_based") or again:
        return None if options.runtime_s is None else f"{options.runtime_s:g} s, found {job.ran_s:g} s"
    # the last record of each file may not have fitted
    last = max(options.record_size_bytes("write") or 0, 4096) * (options.integer("nrfiles") or 1) * (workers or 1)
    if size is None or not options.of_one_size or not done or sum(done.values()) >= _SHORT * size - last:
        return None
    return f"{size:,} bytes, found {sum(done.values()):,.0f} in {job.ran_s:g} s"


def _may_have_ended_early(job: Job) -> str | None:
    """What leaves open whether a job ended before it had done what it was to do."""
    options = job.options
    if not job.ran_s or options.may_end_early or options.flag("time_based") or job.in_time:
        return None
    if options.size_bytes is None:
        if options.runtime_s is None:
            return None
        left = f"ended after {job.ran_s:g} of at most {options.runtime_s:g} s"
        return f"{left}, and the file does not say how much was to be done"
    size = options.size_bytes * (job.workers or 1)
    if options.of_one_size or not 0 < sum(job.bytes_done.values()) < size / 2:
        return None
    return f"expected about {size:,} bytes, found less than half of them: the run may have been interrupted"


def _doubts(job: Job) -> list[str]:
    found = [] if job.doubt is None else [job.doubt]
    if measured(job.data.get("error")) is None and not job.errors:
        found.append("expected the job's error number, found none")
    others = {*_DIRECTIONS, "job options", "total_err"}
    found += _twice({key: value for key, value in job.data.items() if key not in others})
    open_end = _may_have_ended_early(job)
    return found if open_end is None else [*found, open_end]


def _own_doubts(job: Job, label: str, values: dict[str, Any], numbers: Measured) -> Iterator[str]:
    yield from _twice(values)
    if isinstance(job.data.get(label), Several):
        yield f"{label!r} stands several times with different values"
    if numbers.contradiction is not None:
        yield numbers.contradiction
    needs_rate = job.options.file_operation is None and numbers.throughput is None
    if needs_rate or numbers.rate is None or numbers.seconds is None:
        yield "expected rates and a time, found none: the run may have been too short to measure"


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
_MAX_GLOBAL_CHARACTERS = 1 << 16
_MAX_DISKS = 1_000


def recognise(document: Document) -> float:
    """How sure it is that a document is fio's, from 0 to 1; its text for people counts, to be refused with advice."""
    head = document.head
    if _NAMED.search(head):
        return 0.95
    if _TERSE.search(head) or _TEXT.search(head):
        return 0.7
    return 0.6 if _ARRAYS.search(head) and _LATENCIES.search(head) else logs.recognise(document)


def read(document: Document) -> Iterator[WorkloadRecord]:
    """The records of every report, or of a log; `ParseError`, after what is whole, for damage, a cut, or none."""
    of_jobs = (record for _, records in read_jobs(document) for record in records)
    yield from logs.read(document) if logs.recognise(document) else of_jobs


def read_jobs(document: Document) -> Iterator[tuple[Job, list[WorkloadRecord]]]:
    """Each job of every report with its records; a report's sums stand last. `ParseError` as of `read`."""
    reports, damage = find_reports(document)
    if not reports and damage is None:
        forms = ((_TERSE, "its terse lines"), (_TEXT, "its text for people"))
        found = ((place.start(), what) for pattern, what in forms if (place := pattern.search(document.text)))
        start, what = next(found, (0, "none"))
        advice = "run fio with --output-format=json"
        raise document.error(f"expected fio's JSON, found {what}: {advice}", document.line_of(start))
    runs: dict[str | None, int] = {}
    empty: Report | None = None
    interim = False  # whether a later report of the same run follows, as ``--status-interval`` writes them
    for report, later in zip(reports, [*reports[1:], None], strict=False):
        # a second in which nothing seems to happen is one of the same run only when it already had interim reports:
        # else the two may be of two hosts that began together
        interim = later is not None and _goes_on(report, later, still=interim)
        run = runs.get(report.host, 0) + 1
        if not interim:
            runs[report.host] = run
        jobs = list(_jobs(document, report, run, interim))
        parts = [(job, list(_records_of(job))) for job in jobs if not job.summed]
        yield from parts
        sums = [(job, [_as_sum(record, parts) for record in _records_of(job)]) for job in jobs if job.summed]
        yield from sums
        if empty is None and not any(records for _, records in [*parts, *sums]):
            empty = report
    if damage is not None:
        raise damage
    if empty is not None:
        raise document.error("expected jobs of fio that did I/O, found none: the run failed or was ended", empty.line)


def _jobs(document: Document, report: Report, run: int, interim: bool) -> Iterator[Job]:
    listed = entries(report.data)
    disks = report.data.get("disk_util")
    common, by_client = _global_options(document, report)
    hosts = {entry["hostname"] for entry in listed if isinstance(entry.get("hostname"), str)}
    # how busy the disks were is the run's, not a job's: it goes with the first
    details: Details = {}
    if isinstance(disks, list) and 0 < len(disks) <= _MAX_DISKS:
        details = {"disk_util": [disk for disk in disks if isinstance(disk, dict)]}
    parts: list[int | None] = []
    alike = Counter(_names(entry, "hostname", "port", "jobname", "groupid") for entry in listed)
    doubt = report.later_error and f"fio's error follows the report: {report.later_error}; it may be of this run"
    if report.later_signal:
        doubt = "the notice of a signal follows the report: it may be of this run"
    # an error that a job has may be what the line is of
    said = None if any(whole(code) for entry in listed for code in _each(entry.get("error"))) else report.error
    for entry in listed:
        job = Job(report, entry, by_client.get(_names(entry, "hostname", "port"), common), run, interim)
        job.source, job.said, job.doubt = document.source(report.line), said, doubt
        job.details, details = details, {}
        if job.summed:
            job.workers = None if None in parts else sum(part for part in parts if part is not None) or None
            # fio gives the sum the name of the last client, which is its own only when alone
            job.host = job.host if len(hosts) == 1 else None
        else:
            of_section = alike[_names(entry, "hostname", "port", "jobname", "groupid")]
            job.workers = _workers(job, of_section, cut=report.cut)
            parts.append(job.workers)
        yield job


def _names(entry: dict[str, Any], *keys: str) -> tuple[str, ...]:
    return tuple(str(entry.get(key)) for key in keys)


def _workers(job: Job, alike: int, *, cut: bool) -> int | None:
    """How many jobs an entry sums up, when `alike` entries are of the same section.

    fio does not write ``group_reporting`` down when it stood on its command line without a value; yet with it a section
    has one entry, and without it one for each of its ``numjobs``. None when the entry covers more jobs than are named.
    """
    stated, workers = job.options.flag("group_reporting"), job.options.integer("numjobs") or 1
    if not stated and (alike > 1 or workers == 1):
        return 1
    # with group_reporting an entry has the name and the options of its group's first section, and sums all
    spent = measured(job.data.get("job_runtime"))
    ran = sum(1000 * (numbers.seconds or 0) for _, _, numbers in job.directions)
    covers_others = spent is not None and ran > 1000 and spent > 1.5 * ran * workers
    return None if (cut and not stated) or covers_others else workers


def _global_options(document: Document, report: Report) -> tuple[dict[str, Any], dict[tuple[str, ...], dict[str, Any]]]:
    """The global options of all clients, or with several clients those of each."""
    found = report.data.get("global options")
    several = found if isinstance(found, list) and not isinstance(found, Several) else []
    common = as_options(found)
    by_client = {_names(part, "hostname", "port"): as_options(part) for part in several if isinstance(part, dict)}
    # they become details of every record
    for options in (common, *by_client.values()):
        size = sum(len(str(value)) for value in options.values())
        if len(options) > MAX_OPTIONS or size > _MAX_GLOBAL_CHARACTERS:
            raise document.error(f"expected at most {MAX_OPTIONS:,} global options of fio, found more", report.line)
    return common, by_client


def _goes_on(earlier: Report, later: Report, *, still: bool) -> bool:
    """Whether the same jobs, begun in the same second, have run and done more, or with `still` as much."""
    (begun, jobs, before), (begun_later, jobs_later, after) = _progress(earlier), _progress(later)
    if begun is None or begun_later is None or abs(begun - begun_later) > 1 or jobs != jobs_later:
        return False
    grown = all(new >= old and done >= did for (old, did), (new, done) in zip(before, after, strict=True))
    return grown and (still or any(new > old for (old, _), (new, _) in zip(before, after, strict=True)))


def _progress(report: Report) -> tuple[int | None, list[tuple[str, ...]], list[tuple[int, int]]]:
    """The second in which a run began; of each job host, names and start; the seconds that it ran, and its bytes."""
    listed = entries(report.data)
    now = whole(report.data.get("timestamp"))
    first = whole(listed[0].get("elapsed")) if listed else None
    done = []
    for entry in listed:
        sides = [entry.get(label) for label in _DIRECTIONS]
        amount = sum(whole(side.get("io_bytes")) or 0 for side in sides if isinstance(side, dict))
        done.append((whole(entry.get("elapsed")) or 0, amount))
    jobs: list[tuple[str, ...]] = [
        (repr(report.host), *_names(entry, "jobname", "groupid", "job_start")) for entry in listed
    ]
    return (None if now is None or first is None else now - first), jobs, done
