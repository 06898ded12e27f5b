"""What people and tools wrap around a report: quotes, hosts in front of the lines, text around JSON."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Sequence
from typing import Any

from glusterlab.errors import ParseError
from glusterlab.readers.document import MAX_DEPTH

_QUOTE = re.compile(r"(?:[>|]+ ?)+")
_HOST = re.compile(r"\s*\[?([A-Za-z0-9][A-Za-z0-9._-]{0,253})\]?:(?: |$)(.*)", re.DOTALL)
_OBJECT = re.compile(r"(?:^[ \t]*|(?<=[}\]]))(?=(?:\[\s*)?\{(?:\s*[\"}]|\s*\Z)|\[\s*\Z)", re.MULTILINE)
_BARE = re.compile(r"(:[ \t]*)-?(?:nan|inf|infinity)\b(?=[ \t]*[,}\]\n]|[ \t]*$)", re.IGNORECASE | re.MULTILINE)
_NUMBER = re.compile(r"[0-9]+(?:[.,][0-9]*)?(?:[eE][+-]?[0-9]{1,3})?|[.,][0-9]+")
_MAX_DIGITS = 18


def unwrapped(line: str) -> str:
    """A line without quote marks in front, with one blank where there were several.

    Examples
    --------
    >>> unwrapped(">>   total   files = 3 ")
    'total files = 3'
    """
    text = line.strip()
    if text.startswith((">", "|")):
        text = _QUOTE.sub("", text, count=1)
    return " ".join(text.split())


def by_host(lines: Sequence[str], mark: re.Pattern[str]) -> dict[str | None, list[tuple[int, str]]]:
    """The lines, with their numbers from 1, of each host that pdsh or a like tool has written in front of them.

    Parameters
    ----------
    lines : sequence of str
    mark : re.Pattern
        What is sure to stand in a report: a host is one only when such a line has it in front.

    Returns
    -------
    dict of str or None to list of tuple of int and str
        Lines without a host are under None; empty lists are left out.
    """
    hosts = set()
    for line in lines:
        match = _HOST.match(line)
        if match is not None and mark.match(match[2].strip()):
            hosts.add(match[1])
    found: dict[str | None, list[tuple[int, str]]] = {}
    for number, line in enumerate(lines, start=1):
        match = _HOST.match(line) if hosts else None
        if match is not None and match[1] in hosts:
            found.setdefault(match[1], []).append((number, match[2]))
        else:
            found.setdefault(None, []).append((number, line))
    return found


def json_values(text: str) -> Iterator[tuple[int, Any]]:
    """The JSON objects and lists of objects in a text, with the line, from 1, on which each starts.

    Text between them is passed over; one starts at the beginning of a line or right after another. NaN and Infinity,
    however they are written, are None.

    Raises
    ------
    ParseError
        When one is cut off or damaged, after those before it; with the line.
    """
    text = _BARE.sub(r"\1null", text)
    decoder = json.JSONDecoder(parse_constant=lambda _: None)
    position, line, counted = 0, 1, 0
    while (start := _OBJECT.search(text, position)) is not None:
        line, counted = line + text.count("\n", counted, start.end()), start.end()
        try:
            value, position = decoder.raw_decode(text, start.end())
        except json.JSONDecodeError as error:
            cut = error.pos >= len(text.rstrip()) or error.msg.startswith("Unterminated string")
            found = "its end" if cut else f"damage: {error.msg}"
            raise ParseError(f"expected whole JSON, found {found}", line=error.lineno) from error
        except RecursionError as error:
            raise ParseError(f"expected JSON of at most {MAX_DEPTH} levels, found more", line=line) from error
        except ValueError as error:
            raise ParseError("expected JSON, found a number of too many digits", line=line) from error
        yield line, value


def number(value: object) -> float | None:
    """A finite number that is not negative, from JSON or from text; None for all else.

    Examples
    --------
    >>> number("1,5"), number(2), number("nan"), number(-1), number(True), number("1e999")
    (1.5, 2.0, None, None, None, None)
    """
    if isinstance(value, str):
        text = value.strip()
        if len(text) > 40 or _NUMBER.fullmatch(text) is None:
            return None
        value = text.replace(",", ".")
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    try:
        found = float(value)
    except (ValueError, OverflowError):
        return None
    return found if math.isfinite(found) and found >= 0 else None


def whole(value: object) -> int | None:
    """A whole number that is not negative and that a counter could hold; None for all else.

    Examples
    --------
    >>> whole("12"), whole(12.0), whole("1.5"), whole("9" * 5000), whole(-1)
    (12, 12, None, None, None)
    """
    if isinstance(value, str):
        text = value.strip()
        return int(text) if text.isascii() and text.isdigit() and len(text) <= _MAX_DIGITS else None
    found = number(value)
    if found is None or found != int(found) or found >= 10**_MAX_DIGITS:
        return None
    return int(found)
