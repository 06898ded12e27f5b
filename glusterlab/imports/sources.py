"""The files of a folder that is to be imported: listed without following links, in the order that people count in."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from glusterlab.errors import RawStoreError, UsageError
from glusterlab.rawfiles import write_error

MAX_FILES = 100_000
"""More files than this are a slip of the hand, such as a home folder."""

_NUMBER = re.compile(r"(\d{1,18})")


@dataclass(frozen=True)
class SourceFile:
    """A file below the imported folder.

    Attributes
    ----------
    root : pathlib.Path
        The imported folder.
    name : str
        Below it, with ``/`` between the parts.
    size : int
        Bytes.
    modified_ns : int
        When it was changed last, so that a change while it is imported is noticed.
    """

    root: Path
    name: str
    size: int
    modified_ns: int

    @property
    def path(self) -> Path:
        """Where it lies."""
        return self.root / self.name

    def copy(self, target: Path) -> None:
        """Copy the file, byte for byte.

        Raises
        ------
        RawStoreError
            When it cannot be read or written, or is not the one that was listed.
        """
        try:
            # a link that took its place meanwhile must not lead elsewhere
            descriptor = os.open(self.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        except OSError as error:
            raise self._unreadable(error) from error
        with os.fdopen(descriptor, "rb") as source:
            try:
                with target.open("xb") as copy:
                    copy.writelines(self._blocks(source))
            except OSError as error:
                raise write_error(target, error) from error
            state = os.fstat(descriptor)
        if not stat.S_ISREG(state.st_mode) or (state.st_size, state.st_mtime_ns) != (self.size, self.modified_ns):
            message = f"{self.path}: was changed while it was imported; wait until it is written, and import again"
            raise RawStoreError(message, path=self.path)

    def _blocks(self, source: BinaryIO) -> Iterator[bytes]:
        """The bytes of the file, whose errors are told from those of the copy."""
        try:
            while block := source.read(1 << 20):
                yield block
        except OSError as error:
            raise self._unreadable(error) from error

    def _unreadable(self, error: OSError) -> RawStoreError:
        advice = "see to its owner and mode, or leave it out of the mapping, and import again"
        return RawStoreError(f"{self.path}: cannot be read: {error.strerror}; {advice}", path=self.path)


def shown(name: str) -> str:
    r"""A file's name for people and JSON: what cannot be printed is escaped.

    Examples
    --------
    >>> print(shown("read\n.txt"), shown("Läufe/1.txt"), shown("caf\udce9"))
    read\n.txt Läufe/1.txt caf\udce9
    """
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in name)


def natural(name: str) -> list[list[tuple[int, int, str]]]:
    """Sort key that counts as people do: ``w2`` before ``w12``.

    Examples
    --------
    >>> sorted(["w12/a", "w2/b", "w2"], key=natural)
    ['w2', 'w2/b', 'w12/a']
    """
    return [
        [(0, int(piece), piece) if piece.isdecimal() else (1, 0, piece) for piece in _NUMBER.split(part) if piece]
        for part in name.split("/")
    ]


def list_sources(folder: Path, without: Path | None = None) -> tuple[list[SourceFile], list[tuple[str, str]]]:
    """Files below a folder, and what is there besides.

    Parameters
    ----------
    folder : pathlib.Path
    without : pathlib.Path, optional
        A folder below it that is passed over.

    Returns
    -------
    files : list of SourceFile
        In natural order.
    others : list of (str, str)
        Names that are not files, or cannot be kept, and why. Hidden files and folders are passed over in silence.

    Raises
    ------
    UsageError
        When it is no folder, cannot be read, or has more than `MAX_FILES` files.
    """
    if not folder.is_dir():
        raise UsageError(f"{folder}: expected a folder with results, found {'a file' if folder.exists() else 'none'}")
    files: list[SourceFile] = []
    others: list[tuple[str, str]] = []
    waiting = [""]
    left = None if without is None else without.resolve()
    while waiting:
        prefix = waiting.pop()
        for entry in _entries(folder, prefix, others):
            name = prefix + entry.name
            if entry.name.startswith("."):
                continue
            if entry.is_symlink():
                others.append((shown(name), "a symbolic link, and links are not followed: put a copy in its place"))
            elif entry.is_dir(follow_symlinks=False):
                if (folder / name).resolve() != left:
                    waiting.append(f"{name}/")
            elif not entry.is_file(follow_symlinks=False):
                others.append((shown(name), "no regular file"))
            elif (why := _unfit(name)) is not None:
                others.append((shown(name), why))
            else:
                state = entry.stat(follow_symlinks=False)
                files.append(SourceFile(folder, name, state.st_size, state.st_mtime_ns))
        if len(files) > MAX_FILES:
            raise UsageError(f"{folder}: expected at most {MAX_FILES:,} files, found more: is it the right one?")
    return sorted(files, key=lambda file: natural(file.name)), sorted(others)


def _entries(folder: Path, prefix: str, others: list[tuple[str, str]]) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder / prefix) as entries:
            return list(entries)
    except OSError as error:
        if not prefix:
            raise UsageError(f"{folder}: cannot be read: {error.strerror}") from error
        others.append((shown(prefix), f"cannot be read: {error.strerror}"))
        return []


def _unfit(name: str) -> str | None:
    if not name.isprintable():
        return "a name with characters that cannot be printed, or that are no UTF-8: rename it"
    if name.endswith(".partial"):
        return "a name that stands for an unfinished file: rename it if it is whole"
    return None
