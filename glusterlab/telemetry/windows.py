"""A raw file of any size, plain or packed, as windows of whole lines in bounded memory."""

import codecs
import errno
from collections.abc import Iterable, Iterator
from contextlib import closing
from io import BufferedReader, FileIO
from pathlib import Path
from typing import IO

from glusterlab.errors import ParseError
from glusterlab.telemetry.blocks import WINDOW_BYTES, Block, Chunk
from glusterlab.tools.document import MAX_LINE_BYTES, PACKED_ERRORS, SADC, SADC_MAGIC, open_binary

PIECE_BYTES = 1 << 16


def is_plain(path: Path) -> bool:
    """Whether a file's bytes are its text, so that it can be read from any place."""
    with closing(open_binary(path)) as stream:
        return _is_file(stream) and not stream.read(2).startswith((b"\xff\xfe", b"\xfe\xff"))


def _is_file(stream: IO[bytes]) -> bool:
    return isinstance(stream, BufferedReader) and isinstance(stream.raw, FileIO)


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
    except ParseError as error:
        damage = error
    return pieces[0] if len(pieces) == 1 else b"".join(pieces), damage


def check_text(data: bytes, path: Path) -> None:
    """Refuse what is no text."""
    if data.startswith(SADC_MAGIC):
        raise ParseError(f"expected text, found {SADC}", file=path, line=1)
    if b"\x00" in data:
        raise ParseError("expected text, found binary data", file=path)


def windows(
    path: Path, start: int = 0, end: int | None = None, size: int = WINDOW_BYTES, gap: bytes = b"\n"
) -> Iterator[bytes]:
    """Windows of whole lines, but for the end of the last; they end behind a `gap` of their second half.

    `ParseError` when the file cannot be read, is packed and damaged, or is no text.
    """
    rest, first = b"", start == 0
    for data in _texts(path, start, end, size):
        if isinstance(data, ParseError):
            if b"\n" in rest:
                yield rest[: rest.rfind(b"\n") + 1]
            raise data
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
    if rest:
        yield rest


def _texts(path: Path, start: int, end: int | None, size: int) -> Iterator[bytes | ParseError]:
    """The bytes of a file, unpacked, and as UTF-8 when they are UTF-16; at the end what is damaged."""
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
                yield data if decoder is None else decoder.decode(data).encode("utf-8", "replace")
            if damage is not None:
                yield damage
            if damage is not None or len(data) < wanted or at == end:
                return


class WindowReader:
    """Reads a chunk window by window; `damage` is the first damaged row, `cut` where the file ends too early."""

    gap = b"\n"

    def __init__(self, chunk: Chunk, window_bytes: int = WINDOW_BYTES) -> None:
        self.chunk = chunk
        self.window_bytes = window_bytes
        self.line = chunk.line
        self.damage: ParseError | None = None
        self.cut: ParseError | None = None

    def batches(self) -> Iterator[list[Block]]:
        """Blocks of whole rows, those of a window of text together; `ParseError` at the end when some are not."""
        batch: list[Block] = []
        try:
            for window in windows(self.chunk.path, self.chunk.start, self.chunk.end, self.window_bytes, self.gap):
                batch.extend(self.read(self._whole(window)))
                yield batch
                batch = []
                self.line += window.count(b"\n")
        except ParseError as error:
            self.cut = error
        yield [*batch, *self.finish()]
        if (damage := self.damage or self.cut) is not None:
            raise ParseError(damage.message, file=self.chunk.path, line=damage.line)

    def _whole(self, window: bytes) -> bytes:
        if window.endswith(b"\n"):
            return window
        whole, tail = window[: (at := window.rfind(b"\n") + 1)], window[at:].decode("utf-8", "replace")
        before = whole.rstrip(b"\n").rpartition(b"\n")[2].decode("utf-8", "replace")
        if not self.is_cut(tail, before):
            return window + b"\n"
        message = f"expected the end of a row, found the file's: {tail.strip()[-40:]!r} is cut off"
        self.cut = ParseError(message, line=self.line + whole.count(b"\n"))
        return whole

    def read(self, window: bytes) -> Iterator[Block]:
        raise NotImplementedError

    def is_cut(self, tail: str, before: str) -> bool:  # noqa: ARG002
        """Whether a last line without its end is not whole, by the line before it."""
        return False

    def finish(self) -> Iterable[Block]:
        return ()

    def damaged(self, message: str, line: int) -> None:
        if self.damage is None or line < (self.damage.line or 0):
            self.damage = ParseError(message, line=line)
