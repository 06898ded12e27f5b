"""The lines of an IOzone log without what mails, web pages, parallel shells, grep and loggers put around them."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator

_MARK = re.compile(
    r"(?:Children|Parent) sees? throughput|(?:Min|Max|Avg) throughput per|Min xfer|Child\[[0-9]+\] xfer"
    r"|[kK][bB][ \t]+reclen|Iozone: Performance Test|iozone test complete"
)
_MARK_WORDS = ("throughput", "xfer", "reclen", "Iozone:", "iozone test")
_PREFIX = re.compile(r"[\w.@/+-]{1,200}")
_LOG_WORDS = frozenset({"info", "debug", "warning", "error", "notice", "stdout", "stderr", "output", "out", "result"})
_GREP_LINE = re.compile(r"[0-9]{1,9}:")
_TAGS = re.compile(r"</?(?:br|p|pre|code|div|span|tt|samp|b|td|tr)\b[^<>]{0,100}>", re.IGNORECASE)


def bodies(lines: list[str]) -> Iterator[tuple[int, str | None, str]]:
    """Number, prefix and rest of each line that is not blank, without quotes and markup."""
    cleaned = [_clean(line) for line in lines]
    prefixes = {name for body in cleaned if (name := _prefix(body)) is not None}
    for number, body in enumerate(cleaned, start=1):
        if not body:
            continue
        prefix = None
        if prefixes:
            name, colon, rest = body.partition(":")
            if colon and name in prefixes:
                prefix, body = name, _GREP_LINE.sub("", rest, count=1).strip()
        if body:
            yield number, prefix, _without_stamp(body)


def _clean(line: str) -> str:
    if "&" in line:
        line = html.unescape(line)
    if "<" in line:
        line = _TAGS.sub("", line)
    return line.strip(" \t>").rstrip()


def _marked(body: str) -> int:
    """Where a line of a report begins in a line, -1 when there is none."""
    if not any(word in body for word in _MARK_WORDS):
        return -1
    mark = _MARK.search(body)
    return -1 if mark is None else mark.start()


def _prefix(body: str) -> str | None:
    if (start := _marked(body)) <= 0:
        return None
    name, colon, rest = body[:start].rstrip().partition(":")
    whole = bool(colon) and (not rest or _GREP_LINE.fullmatch(rest) is not None)
    if not whole or name.lower() in _LOG_WORDS or not _PREFIX.fullmatch(name):
        return None
    return name


def _without_stamp(body: str) -> str:
    """Without what a logger put before a line of a report: a time, a level, a bracket."""
    start = _marked(body)
    before = body[:start].rstrip() if start > 0 else ""
    return body[start:] if before and (before[-1] in ":]>|)" or before[-1].isdigit()) else body
