"""What a sample packs away: one ``evidence.tar.xz`` for all but sample.json and the tool's own output.

The manifest lists its members as if they lay beside it, and not the archive: headers, order and end must be exactly as
`pack` writes them, so that the members' names and bytes determine it.
"""

import hashlib
import lzma
import os
import shutil
import tarfile
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from io import BufferedReader
from pathlib import Path
from typing import IO

from glusterlab.errors import ParseError, RawStoreError
from glusterlab.rawfile import open_raw
from glusterlab.store.files import reading, refuse_links, writing
from glusterlab.tools.document import Xz

ARCHIVE = "evidence.tar.xz"

MAX_OUTPUTS = 3  # files of a tool's own that lie beside the archive; more of them, as baselines have, are packed, too

MAX_MEMBERS = 10_000
MAX_BYTES = 512 << 20  # unpacked; a sample with more evidence keeps it as plain files

_SMALL = 1 << 20
_BLOCK = tarfile.BLOCKSIZE
_PIECE = 1 << 20
_SUITES_OWN = frozenset({"workload/command.json", "workload/heads.json", "workload/throttle.json"})


def archive_of(name: str) -> str | None:
    """The archive in which a file may be, if it is no plain one; paths are below the campaign's folder."""
    parts = name.split("/")
    return "/".join([*parts[:3], ARCHIVE]) if len(parts) > 3 and parts[0] in ("cells", "aside") else None


def pack(folder: Path) -> None:
    """Pack the evidence in a sample's folder, whose files nobody writes any more."""
    archive = folder / ARCHIVE
    if archive.exists():
        raise RawStoreError(f"{archive}: is there already, and raw files are never replaced", path=archive)
    refuse_links(folder)
    files = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()}
    outputs = {name for name in files if name.startswith("workload/")} - _SUITES_OWN
    plain = {"sample.json"} | (outputs if len(outputs) <= MAX_OUTPUTS else set())
    packed = {name: path for name, path in sorted(files.items()) if name not in plain}
    size = sum(path.stat().st_size + 2 * _BLOCK for path in packed.values())
    if not 0 < len(packed) <= MAX_MEMBERS or size > MAX_BYTES:
        return
    temporary = archive.with_name(f".{ARCHIVE}.tmp")
    with writing(archive):
        with lzma.open(temporary, "wb", preset=6) as file:
            for name, path in packed.items():
                size = path.stat().st_size
                file.write(_header(name, size))
                with open_raw(path) as member:
                    shutil.copyfileobj(member, file, _PIECE)
                file.write(bytes(-size % _BLOCK))
            file.write(bytes(2 * _BLOCK))
        temporary.replace(archive)
        for path in packed.values():
            path.unlink()
        for path in sorted((path for path in folder.rglob("*") if path.is_dir()), reverse=True):
            with suppress(OSError):  # it holds plain files
                path.rmdir()


def _header(name: str, size: int) -> bytes:
    member = tarfile.TarInfo(name)
    member.size = size
    return member.tobuf(tarfile.USTAR_FORMAT, "utf-8", "strict")


def _read(stream: IO[bytes], size: int) -> Iterator[bytes]:
    while size:
        if not (found := stream.read(min(size, _PIECE))):
            raise EOFError
        size -= len(found)
        yield found


def members(archive: Path) -> Iterator[tuple[str, Iterable[bytes]]]:
    """Names and contents of an archive's members, in order; RawStoreError when `pack` would not write it so."""
    try:
        with reading(archive), open_raw(archive) as file:
            yield from _members(archive, BufferedReader(Xz(file, most=1), _PIECE))
    except EOFError as error:
        raise _refused(archive, "it is cut off") from error
    except (lzma.LZMAError, tarfile.TarError, ValueError) as error:
        raise _refused(archive, f"found damage: {error}") from error


def _members(archive: Path, stream: IO[bytes]) -> Iterator[tuple[str, Iterable[bytes]]]:
    last, count, left = "", 0, MAX_BYTES
    beside = {path.relative_to(archive.parent).as_posix() for path in archive.parent.rglob("*")}
    while any(block := b"".join(_read(stream, _BLOCK))):
        prefix, name = (part.partition(b"\0")[0].decode() for part in (block[345:500], block[:100]))
        name, size = f"{prefix}/{name}" if prefix else name, int(block[124:135], 8)
        if block != _header(name, size):
            raise _refused(archive, f"{name!r} is no plain member")
        if name <= last:
            raise _refused(archive, f"{name!r} comes twice or out of order")
        parts = name.split("/")
        leads_away = any(not part or part.startswith(".") for part in parts)
        if leads_away or name in ("sample.json", ARCHIVE) or name in beside:
            raise _refused(archive, f"{name!r} is no name of a member, or lies beside the archive, too")
        last, count, left = name, count + 1, left - size - _BLOCK
        if count > MAX_MEMBERS or left < 0:
            raise _refused(archive, f"it holds more than {MAX_MEMBERS} members or {MAX_BYTES} bytes")
        content = _read(stream, size)
        yield name, content
        for _ in content:
            pass  # what the caller left
        if any(b"".join(_read(stream, -size % _BLOCK))):
            raise _refused(archive, "found bytes between its members")
    if any(b"".join(_read(stream, _BLOCK))) or stream.read(1):
        raise _refused(archive, "found bytes behind its end")


def _refused(archive: Path, what: str) -> RawStoreError:
    return RawStoreError(
        f"{archive}: expected evidence as glusterlab packs it: {what}; restore it from a copy", path=archive
    )


def digests(archive: Path) -> dict[str, str]:
    """SHA-256 of each member, by its path below the sample's folder."""
    found = {}
    for name, content in members(archive):
        digest = hashlib.sha256()
        for piece in content:
            digest.update(piece)
        found[name] = digest.hexdigest()
    return found


def unpack(source: Path, target: Path, below: str | tuple[str, ...] = "") -> dict[str, str]:
    """Links to the files of a folder, and copies of packed members; returns their SHA-256 by path in `target`."""
    found = {}
    for place, folders, names in os.walk(source):
        here = target / Path(place).relative_to(source)
        for name in folders:
            (here / name).mkdir()
        packed = {ARCHIVE, "sample.json"} <= {*names, *folders}
        for name in names:
            if not (packed and name == ARCHIVE):
                (here / name).symlink_to(Path(place, name).absolute())
        if packed:
            archive = Path(place, ARCHIVE)
            for name, content in members(archive):
                if name.startswith(below):
                    found[(here / name).relative_to(target).as_posix()] = _write(archive, here / name, content)
    return found


def _write(archive: Path, path: Path, content: Iterable[bytes]) -> str:
    digest = hashlib.sha256()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("xb", buffering=0) as file:
            for piece in content:
                digest.update(piece)
                file.write(piece)
    except OSError as error:
        raise RawStoreError(f"{archive}: cannot be unpacked to {path}: {error.strerror}", path=archive) from error
    return digest.hexdigest()


@contextmanager
def unpacked(folder: Path, below: str | tuple[str, ...] = "", digests: dict[str, str] | None = None) -> Iterator[Path]:
    """A sample's folder with its files plain: its own, or a temporary one with members that begin with `below`."""
    if not os.path.lexists(folder / ARCHIVE):
        yield folder
        return
    # thousands of small files that live for a moment: in memory, where there is such a place
    in_memory = (folder / ARCHIVE).lstat().st_size < _SMALL and os.access("/dev/shm", os.W_OK)
    place = "/dev/shm" if in_memory else None
    with tempfile.TemporaryDirectory(prefix="glusterlab-", dir=place, ignore_cleanup_errors=True) as temporary:
        plain = Path(temporary)
        found = unpack(folder, plain, below)
        if digests is not None:
            digests.update(found)
        try:
            yield plain
        except ParseError as error:
            if error.file is None or not error.file.is_relative_to(plain):
                raise
            file = folder / error.file.relative_to(plain)
            raise ParseError(error.message, **{**error.details, "file": file}) from error


def with_outputs(folder: Path) -> AbstractContextManager[Path]:
    """A sample's folder with the tool's own output plain, which it mostly is; nothing else need be there."""
    return nullcontext(folder) if (folder / "workload").is_dir() else unpacked(folder)


@contextmanager
def opened(path: Path) -> Iterator[Path]:
    """A file to be read, which may be packed in the sample's folder that its path leads through."""
    sample = next((folder for folder in path.parents if os.path.lexists(folder / ARCHIVE)), None)
    if sample is None or os.path.lexists(path):
        yield path
        return
    with unpacked(sample, path.relative_to(sample).as_posix()) as plain:
        yield plain / path.relative_to(sample)
