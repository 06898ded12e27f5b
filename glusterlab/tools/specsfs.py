"""Reader of the summaries of SPEC SFS 2014 and SPECstorage Solution 2020: ``sfssum_*.txt`` and ``sfssum_*.xml``.

A record is one load point, judged by SPEC itself (``INVALID_RUN``). The text says how many processes each client has
without a fraction: with several clients, clients x processes may be a few less than there were.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from math import fsum, isclose
from xml.etree.ElementTree import Element

from glusterlab.errors import ParseError
from glusterlab.reasons import Reason
from glusterlab.tools.base import Tool
from glusterlab.tools.document import Document, read_xml
from glusterlab.tools.records import Details, WorkloadRecord, failed, incomplete, verdict

WORKLOADS = ("VDA", "VDI", "DATABASE", "SWBUILD", "EDA", "EDA_BLENDED", "AI_IMAGE", "GENOMICS")

_COLUMNS = {  # what the text's columns, of two header lines, are called in the XML
    "Business|Metric": "business_metric", "Requested|Op Rate": "op rate", "Achieved|Op Rate": "achieved rate",
    "Avg Lat|(ms)": "average latency", "Total|KBps": "overall throughput", "Read|KBps": "read throughput",
    "Write|KBps": "write throughput", "Run|Sec": "run time", "#|Cl": "clients", "Cl|Proc": "processes per client",
    "Avg File|Size KB": "file size", "Cl Data|Set MiB": "client data set size",
    "Start Data|Set MiB": "starting data set size", "Init File|Set MiB": "initial file space",
    "Max File|Space MiB": "maximum file space", "Workload|Name": "benchmark", "Valid|Run": "valid_run",
}  # fmt: skip

_UNITS: dict[str | None, float] = {
    None: 1, "": 1, "ops/s": 1, "milliseconds": 1e-3, "ms": 1e-3, "seconds": 1,
    "KB/s": 1024, "MB/s": 1 << 20, "KB": 1024, "KiB": 1024, "MiB": 1 << 20, "GiB": 1 << 30,
}  # fmt: skip
_TEXT_UNITS = {"(ms)": "ms", "KBps": "KB/s", "Size KB": "KB", "Set MiB": "MiB", "Space MiB": "MiB"}
_DETAILS = {
    "business_metric": "business_metric", "op rate": "requested_operations_per_s",
    "read throughput": "read_throughput_bytes_per_s", "write throughput": "write_throughput_bytes_per_s",
    "clients": "clients", "processes per client": "processes_per_client",
    "client data set size": "client_data_set_bytes", "starting data set size": "start_data_set_bytes",
    "initial file space": "initial_file_set_bytes", "maximum file space": "maximum_file_space_bytes",
}  # fmt: skip
_COUNTS = {"business_metric", "clients", "processes_per_client"}
_INVALID = "INVALID_RUN"
_LEAST_ACHIEVED = 0.9  # of the operations that were requested: with fewer the load is another than it says

_NUMBER = re.compile(r"[0-9]{1,15}(?:\.[0-9]{1,15})?")
_MISSING = re.compile(r"Error-\d+")
_NAME = re.compile(r"[A-Za-z][\w.-]{0,63}")
_LEAD = re.compile(r"^(?:[>|`\s]+|[A-Za-z0-9][\w.-]*:\s+)+")
_TEXT = re.compile(r"Business\s+Requested\s+Achieved\s+Avg\s+Lat")
_XML = re.compile(r"<business_metric\s*/?>")
_BARE = re.compile(
    r"^(?:[\w.-]+:)?[ \t>]*(?:\d+(?:\.\d+)?[ \t]+){15}(?:" + "|".join(WORKLOADS) + r")(?:[ \t]|$)", re.MULTILINE
)
_VERSION = re.compile(r"SPEC(?:storage|sfs)?[^\n]{0,80}\$Revision:\s*([\w.]{1,32})\s*\$", re.IGNORECASE)
_START = re.compile(r"<run(?=[\s>])")

_Column = tuple[str, str | None]  # name and unit


@dataclass(frozen=True)
class _Point:
    """A load point: each value as written, with its unit; the workload's name; what SPEC judged, None if unknown."""

    values: dict[str, tuple[str, str | None]]
    name: str | None
    invalid: bool | None

    def number(self, name: str) -> float | None:
        """A value in SI units; None when it is not there or is no number."""
        text, unit = self.values.get(name, ("", None))
        factor = _UNITS.get(unit)
        return float(text) * factor if factor is not None and _NUMBER.fullmatch(text) else None


def recognise(document: Document) -> float:
    """How sure it is that a document is a summary of SPEC SFS, from 0 to 1."""
    head = document.head
    sure = _TEXT.search(head) or ("<summary" in head and _XML.search(head))
    return 0.95 if sure else 0.5 if _BARE.search(head) else 0.0


def read(document: Document) -> Iterator[WorkloadRecord]:
    """The load points of a summary; `ParseError` when it is damaged, cut off or has none, after what is whole."""
    return _read_xml(document) if _XML.search(document.text) else _read_text(document)


def _read_text(document: Document) -> Iterator[WorkloadRecord]:
    columns = [_column(title) for title in _COLUMNS]
    version: str | None = None
    run, number, damage = 0, 0, None
    lines = [_LEAD.sub("", line) for line in document.lines]
    while number < len(lines):
        line, following = lines[number], lines[number + 1] if number + 1 < len(lines) else ""
        number += 1
        printed = _VERSION.search(line)
        version = printed[1] if printed is not None else version
        if _TEXT.match(line):
            if (found := _header(line, following)) is None:
                raise document.error(f"expected the two header lines of a summary, found {line.strip()[:80]!r}", number)
            columns, number = found, number + 1
        elif _is_row(line, columns):
            if following.strip() == _INVALID:
                # SPEC's judgement, in a line of its own since a mail client has broken the row
                line = f"{line} {_INVALID}"
            point = _point(line, columns, last=number == len(lines) and not document.ends_in_a_line)
            if point is not None:
                run += 1
                yield _record(document, version, run, number, point)
            elif damage is None:
                message = f"expected a load point of {len(columns)} columns, found {line.strip()[:80]!r}"
                damage = document.error(message, number)
    if damage is not None:
        raise damage
    if run == 0:
        raise document.error("expected a load point of SPEC SFS, found none: the run failed or was ended", len(lines))


def _column(title: str) -> _Column:
    return _COLUMNS[title], next((unit for ending, unit in _TEXT_UNITS.items() if title.endswith(ending)), None)


def _header(*lines: str) -> list[_Column] | None:
    above, below = (_words(line, {title.split("|")[at] for title in _COLUMNS}) for at, line in enumerate(lines))
    titles = ["|".join(pair) for pair in zip(above, below, strict=False)]
    # these two come last, so that a name may have blanks
    whole = len(above) == len(below) and set(titles) <= set(_COLUMNS) and titles[-2:] == ["Workload|Name", "Valid|Run"]
    return [_column(title) for title in titles] if whole else None


def _words(line: str, known: set[str]) -> list[str]:
    words, found, place = line.split(), list[str](), 0
    while place < len(words):
        count = 2 if " ".join(words[place : place + 2]) in known else 1
        found.append(" ".join(words[place : place + count]))
        place += count
    return found


def _is_row(line: str, columns: list[_Column]) -> bool:
    words = line.split(maxsplit=len(columns) + 8)
    numbers = [word for word in words[: len(columns) - 2] if _NUMBER.fullmatch(word) or _MISSING.fullmatch(word)]
    return len(numbers) >= 3 and len(words) >= 3 and words[:3] == numbers[:3]


def _point(line: str, columns: list[_Column], *, last: bool) -> _Point | None:
    words = line.strip().strip("|`").split()
    count = len(columns) - 2
    names = words[count:]
    invalid: bool | None = bool(names) and names[-1] == _INVALID
    if invalid:
        names.pop()
    elif last and not line.endswith("  "):
        # a name that was cut is none; after a whole one INVALID_RUN may have stood
        if names[-1:] and names[-1] not in WORKLOADS:
            return None
        invalid = None
    whole = all(_NUMBER.fullmatch(word) or _MISSING.fullmatch(word) for word in words[:count])
    named = 0 < len(names) <= 3 and all(_NAME.fullmatch(word) for word in names)
    if not whole or not named or any(_INVALID.startswith(word) for word in names[1:]):
        return None
    values = {name: (word, unit) for (name, unit), word in zip(columns, words[:count], strict=False)}
    return _Point(values, " ".join(names), invalid)


def _read_xml(document: Document) -> Iterator[WorkloadRecord]:
    text = _without_comments(document.text)
    damage = _xml_damage(document, text)
    run, end, counted, line = 0, 0, 0, 1
    while (start := _START.search(text, end)) is not None:
        line, counted = line + text.count("\n", counted, start.start()), start.start()
        closing = text.find("</run>", start.end())
        if closing < 0:
            break
        end = closing + len("</run>")
        try:
            root = read_xml(text[start.start() : end])
        except ParseError as error:
            damage = damage or document.error(f"a load point: {error.message}", line)
            continue
        run += 1
        yield _record(document, root.get("version"), run, line, _xml_point(root))
    if damage is not None:
        raise damage
    if run == 0:
        raise document.error("expected a <run> in the summary of SPEC SFS, found none: the run failed or was ended", 1)


def _without_comments(text: str) -> str:
    """The text with blanks for comments: a run that someone has commented out is none."""
    parts: list[str] = []
    place = 0
    while (start := text.find("<!--", place)) >= 0 and (end := text.find("-->", start)) >= 0:
        parts.extend((text[place:start], re.sub(r"[^\n]", " ", text[start : end + 3])))
        place = end + 3
    return "".join([*parts, text[place:]])


def _xml_damage(document: Document, text: str) -> ParseError | None:
    begin, end = text.find("<summary"), text.rfind("</summary>")
    if begin < 0 or end < begin:
        return document.error("expected a whole <summary>, found no end of it", document.line_of(max(len(text) - 1, 0)))
    try:
        read_xml(text[begin : end + len("</summary>")])
    except ParseError as error:
        return document.error(error.message, document.line_of(begin) + (error.line or 1) - 1)
    return None


def _xml_point(root: Element) -> _Point:
    business = (root.findtext("business_metric") or "").strip()
    every: dict[str, set[tuple[str, str | None]]] = {"business_metric": {(business, None)}}
    for metric in root.findall("metric"):
        every.setdefault(metric.get("name") or "", set()).add(((metric.text or "").strip(), metric.get("units")))
    # what is said twice and otherwise is not known
    values = {name: found.pop() for name, found in every.items() if len(found) == 1}
    named = root.find("benchmark")
    judged = [(element.text or "").strip() for element in root.findall("valid_run")]
    invalid = None if not judged or set(judged) - {"", _INVALID} else _INVALID in judged
    return _Point(values, None if named is None else named.get("name"), invalid)


def _record(document: Document, version: str | None, run: int, line: int, point: _Point) -> WorkloadRecord:
    clients, processes = point.number("clients"), point.number("processes per client")
    size = point.number("file size")
    missing = [name for name in ("achieved rate", "overall throughput") if not point.number(name)]
    faults = [failed("SPEC judged the load point: INVALID_RUN")] if point.invalid else []
    if missing:
        faults.append(failed(f"expected the {' and the '.join(missing)}, found none: the run failed"))
    faults += _contradictions(point)
    message = "the report does not say whether SPEC judged the load point valid: it may have been cut"
    details: Details = {}
    for name, detail in _DETAILS.items():
        if (value := point.number(name)) is not None:
            whole = (detail in _COUNTS or detail.endswith("_bytes")) and value.is_integer()
            details[detail] = int(value) if whole else value
    return WorkloadRecord(
        tool="specsfs",
        tool_version=version,
        source=document.source(line),
        details=details,
        run=run,
        job=point.name,
        operation="mixed",
        label=point.name or "mixed",
        workers=None if clients is None or processes is None else round(clients * processes),
        file_size_bytes=None if size is None else round(size),
        throughput_bytes_per_s=point.number("overall throughput") or None,
        operations_per_s=point.number("achieved rate") or None,
        latency_mean_s=point.number("average latency"),
        elapsed_s=point.number("run time") or None,
        **verdict(faults, [incomplete(message)] if None in (point.invalid, point.name) else ()),
    )


def _contradictions(point: _Point) -> Iterator[Reason]:
    """Where the numbers of a load point do not fit each other, whatever SPEC judged."""
    asked, done = point.number("op rate"), point.number("achieved rate")
    if asked and done and done < _LEAST_ACHIEVED * asked:
        yield incomplete(f"expected {_LEAST_ACHIEVED:.0%} of {asked:g} operations/s at least, found {done:g}")
    total, *ways = (point.number(f"{name} throughput") for name in ("overall", "read", "write"))
    if total and None not in ways and not isclose(total, fsum(way or 0.0 for way in ways), rel_tol=0.01, abs_tol=2048):
        yield incomplete("the throughput is not that of reads and writes together")


TOOL = Tool(name="specsfs", recognise=recognise, read=read)
