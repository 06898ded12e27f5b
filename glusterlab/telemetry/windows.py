"""A raw file of any size, plain or packed, as windows of whole lines in bounded memory."""

from __future__ import annotations

import codecs
import errno
from collections.abc import Iterator
from contextlib import closing
from io import BufferedReader, FileIO
from pathlib import Path
from typing import IO

from glusterlab.errors import ParseError
from glusterlab.readers.document import MAX_LINE_BYTES, PACKED_ERRORS, open_binary
from glusterlab.telemetry.blocks import WINDOW_BYTES

SADC_MAGIC = (b"\x96\xd5", b"\xd5\x96")


def is_plain(path: Path) -> bool:
    """Whether a file's bytes are its text, so that it can be read from any place."""
    with closing(open_binary(path)) as stream:
        unpacked = not (isinstance(stream, BufferedReader) and isinstance(stream.raw, FileIO))
        return not unpacked and not stream.read(2).startswith((b"\xff\xfe", b"\xfe\xff"))


def _utf8(data: bytes, decoder: codecs.IncrementalDecoder | None) -> bytes:
    return data if decoder is None else decoder.decode(data).encode("utf-8", "replace")


def _read(stream: IO[bytes], size: int, path: Path) -> bytes:
    try:
        return stream.read(size)
    except PACKED_ERRORS as error:
        raise ParseError(f"expected a whole packed file, found damage: {error}", file=path) from error
    except OSError as error:
        reason = error.strerror if error.errno in errno.errorcode else str(error)
        raise ParseError(f"cannot be read: {reason}", file=path) from error


def check_text(data: bytes, path: Path) -> None:
    """Refuse what is no text.

    Raises
    ------
    ParseError
    """
    if data.startswith(SADC_MAGIC):
        raise ParseError(
            "expected text, found a binary file of sadc; convert it on its host: LC_ALL=C sadf -d -U FILE -- -A",
            file=path,
            line=1,
        )
    if b"\x00" in data:
        raise ParseError("expected text, found binary data", file=path)


def windows(
    path: Path, start: int = 0, end: int | None = None, size: int = WINDOW_BYTES, gap: bytes = b"\n"
) -> Iterator[bytes]:
    """Windows of whole lines; only the last may lack the end of its last line.

    Parameters
    ----------
    path : pathlib.Path
    start, end : int or None
        Bytes of a plain file.
    size : int
        Bytes to read at a time.
    gap : bytes
        A window ends behind this where one is found in its second half.

    Raises
    ------
    ParseError
        When the file cannot be read, is packed and damaged, or is no text.
    """
    with closing(open_binary(path)) as stream:
        if start:
            stream.seek(start)
        left = None if end is None else end - start
        rest, first, decoder = b"", start == 0, None
        while True:
            try:
                data = _read(stream, size if left is None else min(size, left), path)
            except ParseError:
                if rest:
                    yield rest[: rest.rfind(b"\n") + 1]
                raise
            if left is not None:
                left -= len(data)
            if first and data[:2] in {b"\xff\xfe", b"\xfe\xff"}:
                decoder = codecs.getincrementaldecoder("utf-16")("replace")
            text = rest + _utf8(data, decoder)
            if first:
                text = text.removeprefix(b"\xef\xbb\xbf")
            check_text(text if first else data if decoder is None else text, path)
            first = False
            if b"\r" in text:
                # a line end that the window's border has halved is joined with the next window
                text = text.replace(b"\r\n", b"\n")
            if not data:
                if text:
                    yield text
                return
            cut = text.rfind(gap, len(text) // 2)
            cut = text.rfind(b"\n") + 1 if cut < 0 else cut + len(gap)
            if len(text) - cut > MAX_LINE_BYTES and b"\n" not in text[cut : cut + MAX_LINE_BYTES]:
                raise ParseError(f"expected lines of at most {MAX_LINE_BYTES:,} bytes, found a longer one", file=path)
            if cut:
                yield text[:cut]
            rest = text[cut:]
