"""Ways to damage a raw file: cut, doubled, reordered, in other encodings, with what no tool writes."""

import gzip
import lzma
import re
from collections.abc import Callable

from hypothesis import strategies as st

Draw = Callable[[st.SearchStrategy[int]], int]
Mutation = Callable[[bytes, Draw], bytes]

ENTITIES = (
    b'<?xml version="1.0"?><!DOCTYPE lolz [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">'
    b'<!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;&b;&b;"><!ENTITY x SYSTEM "file:///etc/passwd">]>'
)
NUMBERS = (
    b"nan", b"-nan", b"inf", b"-inf", b"0", b"0.00", b"-1", b"1e999", b"1e-999", b"9" * 400, b"9" * 5000,
    b"1,5", b"0x10", b"", b"12.34.56", b"\xd9\xa1\xd9\xa2", b"+", b"1_000", b"--5",
)  # fmt: skip
TOKENS = (
    b"\x00", b"\xff\xfe", b"\x1b[31m", b"\r", b"\n\n", b"\t", b"{", b"}", b"[", b'"', b"<", b"</", b"&a;", b";", b",",
    b"=", b"Average:", b"LINUX RESTART", b"Linux 1.2 (h) \t01/02/2003", b"iozone test complete.", b"status = ok",
    b"Children see throughput for 3 readers = 1.00 kB/sec", b"error", b"null", b"true", b"\xe2\x80\xa8",
    b"\xed\xa0\x80",
    b">> ", b"host01: ",
)  # fmt: skip
LONG_BYTES = 4 << 20
_NUMBER = re.compile(rb"\d+(?:\.\d+)?")


def _below(draw: Draw, limit: int) -> int:
    return draw(st.integers(0, max(limit, 0)))


def _pick(draw: Draw, choices: tuple[bytes, ...]) -> bytes:
    return choices[_below(draw, len(choices) - 1)]


def cut(data: bytes, draw: Draw) -> bytes:
    return data[: _below(draw, len(data))]


def behead(data: bytes, draw: Draw) -> bytes:
    return data[_below(draw, len(data)) :]


def remove(data: bytes, draw: Draw) -> bytes:
    start = _below(draw, len(data))
    return data[:start] + data[start + _below(draw, 200) :]


def double(data: bytes, draw: Draw) -> bytes:
    return data + (b"" if _below(draw, 1) else b"\n") + data


def repeat_lines(data: bytes, draw: Draw) -> bytes:
    lines = data.splitlines(keepends=True)
    start = _below(draw, len(lines))
    part = lines[start : start + 1 + _below(draw, 20)]
    return b"".join(lines[:start] + part * (2 + _below(draw, 3)) + lines[start + len(part) :])


def reorder(data: bytes, draw: Draw) -> bytes:
    lines = data.splitlines(keepends=True)
    for _ in range(1 + _below(draw, 5)):
        if lines:
            line = lines.pop(_below(draw, len(lines) - 1))
            lines.insert(_below(draw, len(lines)), line)
    return b"".join(lines)


def other_encoding(data: bytes, draw: Draw) -> bytes:
    text = data.decode("utf-8", errors="replace")
    name = ("utf-16", "utf-16-le", "utf-16-be", "utf-8-sig", "latin-1", "cp1252", "cp500", "utf-32")[_below(draw, 7)]
    return text.encode(name, errors="replace")


def number(data: bytes, draw: Draw) -> bytes:
    found = list(_NUMBER.finditer(data))
    if not found:
        return data
    place = found[_below(draw, len(found) - 1)]
    return data[: place.start()] + _pick(draw, NUMBERS) + data[place.end() :]


def token(data: bytes, draw: Draw) -> bytes:
    start = _below(draw, len(data))
    return data[:start] + _pick(draw, TOKENS) + data[start:]


def flip(data: bytes, draw: Draw) -> bytes:
    if not data:
        return data
    start = _below(draw, len(data) - 1)
    return data[:start] + bytes([_below(draw, 255)]) + data[start + 1 :]


def long_line(data: bytes, draw: Draw) -> bytes:
    lines = data.splitlines(keepends=True) or [b"x"]
    start = _below(draw, len(lines) - 1)
    unit = (lines[start].strip() if _below(draw, 1) else b"9") or b" "
    long = unit * min(1 << _below(draw, 22), LONG_BYTES // len(unit) + 1)
    return b"".join(lines[:start]) + long + b"\n" + b"".join(lines[start:])


def entities(data: bytes, draw: Draw) -> bytes:
    body = data.split(b"?>", 1)[-1]
    start = body.find(b">", _below(draw, len(body))) + 1
    return ENTITIES + body[:start] + b"&c;&x;" + body[start:]


def deep(data: bytes, draw: Draw) -> bytes:
    levels = 1 << _below(draw, 16)
    opening, closing = ((b"[", b"]"), (b'{"a":', b"}"), (b"<a>", b"</a>"))[_below(draw, 2)]
    place = 0 if _below(draw, 1) else _below(draw, len(data))
    return data[:place] + opening * levels + (closing * levels if _below(draw, 1) else b"") + data[place:]


def line_ends(data: bytes, draw: Draw) -> bytes:
    return data.replace(b"\n", (b"\r\n", b"\r", b"\n\n", b"\x0b", b"\x0c", b"\x85")[_below(draw, 5)])


def indent(data: bytes, draw: Draw) -> bytes:
    prefix = (b"    ", b">> ", b"\t", b"node-1: ", b"| ", b"10.0.0.7: ", b"2024-01-01 ")[_below(draw, 6)]
    return b"".join(prefix + line for line in data.splitlines(keepends=True))


def blanks(data: bytes, draw: Draw) -> bytes:
    return re.sub(rb"[ \t]+", (b" ", b"", b"   ", b"\t")[_below(draw, 3)], data)


def packed(data: bytes, draw: Draw) -> bytes:
    made = gzip.compress(data, mtime=0) if _below(draw, 1) else lzma.compress(data, preset=0)
    return cut(made, draw) if _below(draw, 1) else made


def foreign(data: bytes, draw: Draw) -> bytes:
    noise = bytes(_below(draw, 255) for _ in range(_below(draw, 40)))
    return noise + data if _below(draw, 1) else data + noise


HARMLESS: tuple[Mutation, ...] = (cut, double)
"""After these a file can hold no valid result that it did not hold before."""

ALL: tuple[Mutation, ...] = (
    cut, behead, remove, double, repeat_lines, reorder, other_encoding, number, token, flip, long_line, entities, deep,
    line_ends, indent, blanks, packed, foreign,
)  # fmt: skip
