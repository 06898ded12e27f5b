"""Text of a raw file, packed or plain, so that what is not changed keeps its bytes."""

from __future__ import annotations

import bz2
import gzip
import lzma
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from glusterlab.errors import RawStoreError

MAX_BYTES = 512 << 20
"""A file may unpack to so many bytes."""


class UnreadableError(RawStoreError):
    """What is in a file cannot be seen: it is packed and damaged, or too big."""


class _Decompressor(Protocol):
    @property
    def eof(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, max_length: int = ..., /) -> bytes: ...


_PACKED: dict[str, tuple[Callable[[], _Decompressor], Callable[[bytes], bytes]]] = {
    ".xz": (lzma.LZMADecompressor, lambda data: lzma.compress(data, preset=6)),
    ".gz": (lambda: zlib.decompressobj(wbits=16 + zlib.MAX_WBITS), lambda data: gzip.compress(data, mtime=0)),
    ".bz2": (bz2.BZ2Decompressor, bz2.compress),
}


def read(path: Path) -> str | None:
    """The text of a file, unpacked; None when it is no text. Bytes that are no UTF-8 pass through `write` unchanged.

    Raises
    ------
    UnreadableError
        When it cannot be unpacked to its end, or is too big.
    RawStoreError
        When it cannot be read.
    """
    try:
        if path.stat().st_size > MAX_BYTES:
            raise UnreadableError(f"{path}: expected at most {MAX_BYTES} bytes, found more", path=path)
        data = path.read_bytes()
    except OSError as error:
        raise RawStoreError(f"{path}: cannot be read: {error.strerror}", path=path) from error
    if path.suffix in _PACKED:
        try:
            data = _unpacked(data, _PACKED[path.suffix][0])
        except (OSError, EOFError, lzma.LZMAError, zlib.error, ValueError) as error:
            raise UnreadableError(f"{path}: cannot be unpacked: {error}", path=path) from error
    if b"\0" in data[:65536]:
        return None
    return data.decode("utf-8", "surrogateescape")


def _unpacked(data: bytes, decompressor: Callable[[], _Decompressor]) -> bytes:
    """All streams of a packed file, one after the other."""
    parts = []
    room = MAX_BYTES
    while data:
        stream = decompressor()
        part = stream.decompress(data, room + 1)
        room -= len(part)
        if room < 0:
            raise ValueError(f"expected at most {MAX_BYTES} bytes, found more")
        if not stream.eof:
            raise EOFError("it ends in the middle")
        parts.append(part)
        # the zeros between streams are padding
        data = stream.unused_data.lstrip(b"\0")
    return b"".join(parts)


def write(path: Path, text: str) -> None:
    """Write a text, packed as the path's suffix says.

    Raises
    ------
    RawStoreError
        When it has characters that no file can hold.
    """
    try:
        data = text.encode("utf-8", "surrogateescape")
    except UnicodeError as error:
        raise RawStoreError(f"{path}: cannot be written as UTF-8: {error}", path=path) from error
    if path.suffix in _PACKED:
        data = _PACKED[path.suffix][1](data)
    path.write_bytes(data)
