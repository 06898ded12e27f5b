"""Reader of fio's JSON (``--output-format=json`` and ``json+``, also of ``--client``), releases 2 and 3.

A record is one direction of one job: an entry of the report, which sums up all jobs of its group when they ran with
``group_reporting``. In the reports of ``--client`` each client's jobs have its host, and fio's own sum of them is the
job ``All clients``; that record has ``sum_of: clients`` in its details, so that no one adds it to its parts. The same
holds for the direction ``mixed`` beside its parts (``unified_rw_reporting=both``): ``sum_of: directions``.

The latency is that of completion (fio's clat), or the total one (lat) where there is no such. Reports that
``--status-interval`` writes while a run goes on are not valid; only the last one of the run is its result.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from typing import Any

from glusterlab.errors import ParseError
from glusterlab.readers.document import Document
from glusterlab.readers.fio_options import MAX_OPTIONS, Options, as_options
from glusterlab.readers.fio_reports import Report, Several, entries, find_reports
from glusterlab.readers.fio_results import ALL_CLIENTS, Job, as_sum, records_of
from glusterlab.readers.records import Details, WorkloadRecord
from glusterlab.readers.wrapping import whole

TOOL = "fio"

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
    return 0.6 if _ARRAYS.search(head) and _LATENCIES.search(head) else 0.0


def read(document: Document) -> Iterator[WorkloadRecord]:
    """The records of every report in a document.

    Raises
    ------
    ParseError
        After what is whole was yielded: when a report is damaged or cut off, or when there is none.
    """
    reports, damage = find_reports(document)
    if not reports and damage is None:
        raise _no_report(document)
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
    """The records of the entries of a report, a sum of them last."""
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


def _no_report(document: Document) -> ParseError:
    for pattern, what in ((_TERSE, "its terse lines"), (_TEXT, "its text for people")):
        if (place := pattern.search(document.text)) is not None:
            advice = "run fio with --output-format=json"
            return document.error(f"expected fio's JSON, found {what}: {advice}", document.line_of(place.start()))
    return document.error("expected fio's JSON, found none: run fio with --output-format=json", 1)


def _jobs(document: Document, report: Report, run: int, interim: bool) -> Iterator[Job]:
    """The entries of a report, with what the report says of all of them."""
    listed = entries(report.data)
    version = report.data.get("fio version")
    whose = _GlobalOptions(document, report)
    hosts = {entry["hostname"] for entry in listed if isinstance(entry.get("hostname"), str)}
    details = _disks(report)
    doubt = "the notice of a signal follows the report: it may be of this run" if report.later_signal else None
    parts: list[int | None] = []
    alike = Counter(_section(entry) for entry in listed)
    for entry in listed:
        host = entry.get("hostname") if isinstance(entry.get("hostname"), str) else report.host
        summed = entry.get("jobname") == ALL_CLIENTS and "client_stats" in report.data
        job = Job(
            data=entry,
            options=whose.options(entry),
            version=version.removeprefix("fio-") if isinstance(version, str) else None,
            source=document.source(report.line),
            run=run,
            host=host,
            signal=report.signal,
            interim=interim,
            doubt=doubt,
            details=details,
        )
        if summed:
            job = _sum_of_clients(job, parts, hosts)
        else:
            job = replace(job, workers=_workers(job, alike[_section(entry)], cut=report.cut))
            parts.append(job.workers)
        details = {}
        yield job


def _section(entry: dict[str, Any]) -> tuple[str, ...]:
    return tuple(str(entry.get(key)) for key in ("hostname", "port", "jobname", "groupid"))


def _workers(job: Job, alike: int, *, cut: bool) -> int | None:
    """How many jobs an entry sums up, when `alike` entries are of the same section.

    fio does not write ``group_reporting`` down when it stood on its command line without a value; yet with it a section
    has one entry, and without it one for each of its ``numjobs``. None when the entry covers more jobs than are named.
    """
    asked = job.options.workers
    grouped = job.options.flag("group_reporting") or (alike == 1 and asked > 1)
    if not grouped:
        return 1
    unsure = cut and not job.options.flag("group_reporting")
    return None if unsure or job.covers_others else asked


def _sum_of_clients(job: Job, parts: list[int | None], hosts: set[Any]) -> Job:
    """The entry that sums up all clients: fio gives it the name of the last one, which is its own only when alone."""
    known = [part for part in parts if part is not None]
    workers = sum(known) if known and len(known) == len(parts) else None
    return replace(job, workers=workers, host=job.host if len(hosts) == 1 else None, summed=True)


class _GlobalOptions:
    """The global options of a report: one object, or with several clients an object for each."""

    def __init__(self, document: Document, report: Report) -> None:
        given = report.data.get("global options")
        self._of: dict[tuple[Any, Any], dict[str, Any]] = {}
        self._all: dict[str, Any] = {}
        if isinstance(given, list) and not isinstance(given, Several):
            for part in given:
                if isinstance(part, dict):
                    self._of[_client(part)] = as_options(part)
        else:
            self._all = as_options(given)
        self._shared = "client_stats" in report.data
        # they become details of every record
        for options in (self._all, *self._of.values()):
            size = sum(len(str(value)) for value in options.values())
            if len(options) > MAX_OPTIONS or size > _MAX_GLOBAL_CHARACTERS:
                raise document.error(f"expected at most {MAX_OPTIONS:,} global options of fio, found more", report.line)

    def options(self, entry: dict[str, Any]) -> Options:
        """All options of an entry of the report."""
        given = self._of.get(_client(entry), self._all) if self._of else self._all
        own = entry.get("job options")
        return Options(given | as_options(own), own="job options" in entry, shared=self._shared and own is None)


def _client(entry: dict[str, Any]) -> tuple[Any, Any]:
    return str(entry.get("hostname")), str(entry.get("port"))


def _disks(report: Report) -> Details:
    """How busy the disks were, for the first job of a report: they are the run's, not a job's."""
    given = report.data.get("disk_util")
    if not isinstance(given, list) or not 0 < len(given) <= _MAX_DISKS:
        return {}
    return {"disk_util": [disk for disk in given if isinstance(disk, dict)]}


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
    begun = [_begun(earlier), _begun(later)]
    if earlier.host != later.host or begun[0] is None or begun[1] is None or abs(begun[0] - begun[1]) > 1:
        return False
    before, after = _progress(earlier), _progress(later)
    if [names for names, _, _ in before] != [names for names, _, _ in after]:
        return False
    grown = all(new >= old and done >= did for (_, old, did), (_, new, done) in zip(before, after, strict=True))
    return grown and (still or any(new > old for (_, old, _), (_, new, _) in zip(before, after, strict=True)))


def _begun(report: Report) -> int | None:
    """The second in which the jobs of a report began."""
    now = whole(report.data.get("timestamp"))
    elapsed = [whole(entry.get("elapsed")) for entry in entries(report.data)]
    return None if now is None or not elapsed or elapsed[0] is None else now - elapsed[0]


def _progress(report: Report) -> list[tuple[tuple[str, str, str], int, int]]:
    """Of each job its names and start, the seconds that it has run, and the bytes that it has done."""
    found = []
    for entry in entries(report.data):
        sides = [entry.get(label) for label in ("read", "write", "trim", "mixed")]
        done = sum(whole(side.get("io_bytes")) or 0 for side in sides if isinstance(side, dict))
        names = (str(entry.get("jobname")), str(entry.get("groupid")), str(entry.get("job_start")))
        found.append((names, whole(entry.get("elapsed")) or 0, done))
    return found
