"""Text of a raw file, packed or plain, so that what is not changed keeps its bytes."""

from __future__ import annotations

import bz2
import gzip
import lzma
from collections.abc import Callable
from pathlib import Path

from glusterlab.errors import RawStoreError

MAX_BYTES = 512 << 20
"""A file may unpack to so many bytes."""

_PACKED: dict[str, tuple[Callable[[bytes], bytes], Callable[[bytes], bytes]]] = {
    ".xz": (
        lambda data: lzma.LZMADecompressor().decompress(data, MAX_BYTES),
        lambda data: lzma.compress(data, preset=6),
    ),
    ".gz": (gzip.decompress, lambda data: gzip.compress(data, mtime=0)),
    ".bz2": (bz2.decompress, bz2.compress),
}


def read(path: Path) -> str | None:
    """The text of a file, unpacked; None when it is no text. Bytes that are no UTF-8 pass through `write` unchanged.

    Raises
    ------
    RawStoreError
        When it cannot be read or unpacked, or is too big.
    """
    try:
        if path.stat().st_size > MAX_BYTES:
            raise RawStoreError(f"{path}: expected at most {MAX_BYTES} bytes, found more", path=path)
        data = path.read_bytes()
        if path.suffix in _PACKED:
            data = _PACKED[path.suffix][0](data)
    except (OSError, EOFError, lzma.LZMAError, ValueError) as error:
        raise RawStoreError(f"{path}: cannot be read: {error}", path=path) from error
    if b"\0" in data[:65536]:
        return None
    return data.decode("utf-8", "surrogateescape")


def write(path: Path, text: str) -> None:
    """Write a text, packed as the path's suffix says."""
    data = text.encode("utf-8", "surrogateescape")
    if path.suffix in _PACKED:
        data = _PACKED[path.suffix][1](data)
    path.write_bytes(data)
