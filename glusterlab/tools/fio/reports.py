"""The JSON reports of fio in a text: found among other lines, decoded without losing a key that stands twice."""

import re
from bisect import bisect_right
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from glusterlab.errors import ParseError
from glusterlab.tools.document import MAX_DEPTH, Document, by_host, read_json

_TOKEN = re.compile(r'"(?:[^"\\\n]|\\.)*"?|[{}]')
_KEYS = {'"fio version"', '"jobs"', '"client_stats"'}
_COLON = re.compile(r"\s*:")
_PREFIXED = re.compile(
    r'^(?:(?P<quote>>[> ]*)|(?P<host>[A-Za-z0-9][\w.-]{0,252}):)[ \t]*"fio version"[ \t]*:', re.MULTILINE
)
_NAME = re.compile(r'"fio version"\s*:')
_SIGNAL = re.compile(r"fio: terminating on signal (\d{1,3})")
_ERROR = re.compile(
    r"(?:fio: (?:io_u error|[^\n]{0,200}\berr=[1-9])|\(groupid=\d+, jobs=\d+\): err= ?[1-9])[^\n]{0,200}"
)
_NOT_JSON = re.compile(
    r'"(?:[^"\\\n]|\\.)*"?|-?\b(?:nan|inf(?:inity)?)\b(?:\([a-z]*\))?|-?\b1\.#[a-z]+\d*', re.IGNORECASE
)
_ESCAPE = re.compile(r'\\(["\\/bfnrt]|u[0-9A-Fa-f]{4})?')
_CONTROL = re.compile(r"[\x00-\x1f]")


class Several(list[Any]):
    """The different values of one key that an object has several times, in the file's order."""


@dataclass(frozen=True)
class Report:
    """One JSON report; what is `later_...` follows it, and so may or may not be of its run."""

    data: dict[str, Any]
    line: int
    host: str | None = None  # the prefix of its lines
    signal: int | None = None  # what fio said before it to have ended the run
    error: str | None = None  # a line before it in which fio named one
    later_signal: bool = False
    later_error: str | None = None
    cut: bool = False  # jobs may be missing


@dataclass
class _Span:
    """An object, and where those in it end; it is `fios` by one of fio's keys, `named` by that of its version."""

    start: int
    end: int | None = None
    fios: bool = False
    named: bool = False
    children: list[int] = field(default_factory=list)


@dataclass(frozen=True)
class _Piece:
    """A text without prefixes, and the line of the file that each of its lines was."""

    text: str
    host: str | None = None
    numbers: list[int] | None = None

    @cached_property
    def _ends(self) -> list[int]:
        return [place.start() for place in re.finditer("\n", self.text)]

    def line(self, position: int) -> int:
        index = bisect_right(self._ends, position - 1)
        return index + 1 if self.numbers is None else self.numbers[min(index, len(self.numbers) - 1)]

    def start_of_line(self, position: int, further: int) -> int:
        """Where the line starts that is `further` lines after that of a position."""
        index = bisect_right(self._ends, position - 1) + further
        return self._ends[index - 1] + 1 if 0 < index <= len(self._ends) else position


def find_reports(document: Document) -> tuple[list[Report], ParseError | None]:
    """Every report among text of any kind, and the first damage; of a damaged report the jobs before the damage."""
    found: list[Report] = []
    damage: ParseError | None = None
    for piece in _pieces(document):
        before, first = 0, len(found)
        for span in _outermost(_spans(piece.text)):
            data, error = _decode(piece, span)
            damage = damage or error
            if data is not None and is_report(data):
                notice = _SIGNAL.search(piece.text, before, span.start)
                signal = None if notice is None else int(notice[1])
                line, cut = piece.line(span.start), error is not None
                said = error_line(piece.text[before : span.start])
                found.append(Report(data, line, piece.host, signal, said, cut=cut))
            before = len(piece.text) if span.end is None else span.end
        if len(found) > first:
            rest = piece.text[before:]
            found[-1] = replace(found[-1], later_signal=_SIGNAL.search(rest) is not None, later_error=error_line(rest))
    return found, damage


def error_line(text: str) -> str | None:
    """The first line in which fio says that an I/O or a job failed."""
    found = _ERROR.search(text)
    return None if found is None else found[0].strip()


def is_report(data: object) -> bool:
    """Whether JSON data is a report of fio: it names fio's version or has jobs with fio's directions."""
    if not isinstance(data, dict):
        return False
    return "fio version" in data or any(
        "jobname" in entry and any(isinstance(entry.get(name), dict) for name in ("read", "write", "mixed"))
        for entry in entries(data)
    )


def entries(data: dict[str, Any]) -> list[dict[str, Any]]:
    """The jobs of a report, or the jobs of all clients and their sum."""
    found: list[dict[str, Any]] = []
    for key in ("jobs", "client_stats"):
        value = data.get(key)
        for array in value if isinstance(value, Several) else [value]:
            if isinstance(array, list):
                found.extend(entry for entry in array if isinstance(entry, dict))
    return found


def _pieces(document: Document) -> Iterator[_Piece]:
    text = document.text
    prefix = _PREFIXED.search(text)
    if prefix is None:
        yield _Piece(text)
    elif prefix["quote"]:
        yield _Piece("\n".join(line.lstrip("> ") for line in text.split("\n")))
    else:
        for host, lines in by_host(text.split("\n"), _NAME).items():
            if host is not None:
                yield _Piece("\n".join(line for _, line in lines), host, [number for number, _ in lines])


def _spans(text: str) -> Iterator[_Span]:
    """Every object with one of fio's keys; inner before outer ones, and those without an end last."""
    spans: deque[_Span] = deque(maxlen=MAX_DEPTH)
    for token in _TOKEN.finditer(text):
        if token[0] == "{":
            spans.append(_Span(token.start()))
        elif not spans:
            continue
        elif token[0] == "}":
            span = spans.pop()
            span.end = token.end()
            if spans:
                spans[-1].children.append(span.end)
            if span.fios:
                yield span
        elif token[0] in _KEYS and _COLON.match(text, token.end()):
            spans[-1].fios, spans[-1].named = True, spans[-1].named or token[0] == '"fio version"'
    yield from (span for span in spans if span.fios)


def _outermost(spans: Iterator[_Span]) -> list[_Span]:
    """The spans that do not overlap, in order; one that names fio goes before one that only has jobs."""
    chosen: list[_Span] = []
    last = 0
    ordered = sorted(spans, key=lambda span: span.start)
    starts = [span.start for span in ordered if span.named]
    for span in ordered:
        end = 1 << 62 if span.end is None else span.end
        inner = bisect_right(starts, span.start)
        wraps = not span.named and inner < len(starts) and starts[inner] < end
        if span.start >= last and not wraps:
            chosen.append(span)
            last = end
    return chosen


def _decode(piece: _Piece, span: _Span) -> tuple[dict[str, Any] | None, ParseError | None]:
    """The data of a report and what is wrong with it; of a damaged one the part before the damage, when it has jobs."""
    end = len(piece.text) if span.end is None else span.end
    try:
        return _lenient_json(piece.text[span.start : end]), None
    except ParseError as error:
        damage = error
    place, limit, what = end, end, damage.message
    if span.end is None:
        place, what = end - 1, "expected its end, found the end of the file"
    elif damage.line is not None:
        place = limit = piece.start_of_line(span.start, damage.line - 1)
    whole = next((child for child in reversed(span.children) if child <= limit), None)
    damage = ParseError(f"fio's report: {what}; get the whole file", line=piece.line(max(place, span.start)))
    for closing in ("]}", "}") if whole is not None else ():
        try:
            data = _lenient_json(piece.text[span.start : whole] + closing)
        except ParseError:
            continue
        return (data if is_report(data) and entries(data) else None), damage
    return None, damage


def _lenient_json(text: str) -> dict[str, Any]:
    try:
        data = read_json(text, _keep_all)
    except ParseError:
        # C's nan and inf, and strings that old releases did not escape
        mended = _NOT_JSON.sub(_mend, text)
        if mended == text:
            raise
        data = read_json(mended, _keep_all)
    return data if isinstance(data, dict) else {}


def _mend(token: re.Match[str]) -> str:
    word = token[0]
    if not word.startswith('"'):
        return "null"
    return _ESCAPE.sub(lambda place: place[0] if place[1] else "\\\\", _CONTROL.sub(" ", word))


def _keep_all(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) == len(pairs):
        return found
    values: dict[str, Several] = {}
    for key, value in pairs:
        kept = values.setdefault(key, Several())
        # only the last few are looked at, so that a key written a million times costs no more than once each
        if value not in kept[-8:]:
            kept.append(value)
    return {key: kept[0] if len(kept) == 1 else kept for key, kept in values.items()}
