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
from glusterlab.telemetry.blocks import WINDOW_BYTES
from glusterlab.tools.document import MAX_LINE_BYTES, PACKED_ERRORS, open_binary

PIECE_BYTES = 1 << 16

SADC_MAGIC = (b"\x96\xd5", b"\xd5\x96")


def is_plain(path: Path) -> bool:
    """Whether a file's bytes are its text, so that it can be read from any place."""
    with closing(open_binary(path)) as stream:
        return _is_file(stream) and not stream.read(2).startswith((b"\xff\xfe", b"\xfe\xff"))


def _is_file(stream: IO[bytes]) -> bool:
    return isinstance(stream, BufferedReader) and isinstance(stream.raw, FileIO)


def _utf8(data: bytes, decoder: codecs.IncrementalDecoder | None) -> bytes:
    return data if decoder is None else decoder.decode(data).encode("utf-8", "replace")


def _read(stream: IO[bytes], size: int, path: Path) -> tuple[bytes, ParseError | None]:
    """Bytes until the size or the end of the file, and the damage that came before either."""
    pieces: list[bytes] = []
    left = size
    # what is before damage in a packed file is read in small pieces, and so is not lost
    most = size if _is_file(stream) else PIECE_BYTES
    damage: ParseError | None = None
    try:
        while left and (piece := stream.read(min(left, most))):
            pieces.append(piece)
            left -= len(piece)
            # a buffered reader gives less than was wanted at the end only
            if len(piece) < min(left + len(piece), most):
                break
    except PACKED_ERRORS as error:
        damage = ParseError(f"expected a whole packed file, found damage: {error}", file=path)
    except OSError as error:
        reason = error.strerror if error.errno in errno.errorcode else str(error)
        damage = ParseError(f"cannot be read: {reason}", file=path)
    return pieces[0] if len(pieces) == 1 else b"".join(pieces), damage


def check_text(data: bytes, path: Path) -> None:
    """Refuse what is no text."""
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

    `start` and `end` are bytes of a plain file, `size` is read at a time; a window ends behind `gap` where one is in
    its second half.

    Raises
    ------
    ParseError
        When the file cannot be read, is packed and damaged, or is no text.
    """
    rest, first = b"", start == 0
    damage: ParseError | None = None
    texts = _texts(path, start, end, size)
    while True:
        try:
            data = next(texts)
        except StopIteration:
            break
        except ParseError as error:
            damage = error
            break
        text = rest + data if rest else data
        if first:
            text = text.removeprefix(b"\xef\xbb\xbf")
        check_text(text if first else data, path)
        first = False
        # a line end that the border of a window has halved is joined with the next window
        text = text.replace(b"\r\n", b"\n") if b"\r" in text else text
        cut = text.rfind(gap, len(text) // 2)
        cut = text.rfind(b"\n") + 1 if cut < 0 else cut + len(gap)
        if len(text) - cut > MAX_LINE_BYTES and b"\n" not in text[cut : cut + MAX_LINE_BYTES]:
            raise ParseError(f"expected lines of at most {MAX_LINE_BYTES:,} bytes, found a longer one", file=path)
        rest = text[cut:]
        if cut:
            yield text[:cut] if rest else text
    if damage is not None:
        if b"\n" in rest:
            yield rest[: rest.rfind(b"\n") + 1]
        raise damage
    if rest:
        yield rest


def _texts(path: Path, start: int, end: int | None, size: int) -> Iterator[bytes]:
    """The bytes of a file, unpacked, and as UTF-8 when they are UTF-16."""
    decoder: codecs.IncrementalDecoder | None = None
    at = start
    with closing(open_binary(path)) as stream:
        if start:
            stream.seek(start)
        while True:
            wanted = size if end is None else min(size, end - at)
            data, damage = _read(stream, wanted, path)
            if at == 0 and data[:2] in {b"\xff\xfe", b"\xfe\xff"}:
                decoder = codecs.getincrementaldecoder("utf-16")("replace")
            at += len(data)
            if data:
                yield _utf8(data, decoder)
            if damage is not None:
                raise damage
            if len(data) < wanted or at == end:
                return
