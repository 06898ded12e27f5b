"""The files of an imported folder, and which entry of the mapping each of them belongs to."""

import errno
import os
import re
import shutil
import stat
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from glusterlab.errors import ParseError, RawStoreError, UsageError
from glusterlab.importing.mapping import Entry, GlusterFiles, Mapping, Pattern, Results, TelemetryFiles
from glusterlab.parse import TELEMETRY_TOOLS, tool_of
from glusterlab.store.files import write_error

MAX_FILES = 100_000  # more files than this are a slip of the hand, such as a home folder

_NUMBER = re.compile(r"(\d{1,18})")


@dataclass(frozen=True)
class SourceFile:
    """A file `name` below the imported folder `root`, and what shows that it was not changed."""

    root: Path
    name: str
    size: int
    modified_ns: int

    @property
    def path(self) -> Path:
        return self.root / self.name

    def copy(self, target: Path) -> None:
        """Copy the file; `RawStoreError` when it cannot be read or written, or is not the one that was listed."""
        try:
            # a link that took its place meanwhile must not lead elsewhere
            descriptor = os.open(self.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
            with os.fdopen(descriptor, "rb") as source, target.open("xb") as copy:
                shutil.copyfileobj(source, copy)
                state = os.fstat(descriptor)
        except OSError as error:
            if error.filename == str(target) or error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
                raise write_error(target, error) from error
            advice = "see to its owner and mode, or leave it out of the mapping, and import again"
            raise RawStoreError(f"{self.path}: cannot be read: {error.strerror}; {advice}", path=self.path) from error
        if not stat.S_ISREG(state.st_mode) or (state.st_size, state.st_mtime_ns) != (self.size, self.modified_ns):
            message = f"{self.path}: was changed while it was imported; wait until it is written, and import again"
            raise RawStoreError(message, path=self.path)


def shown(name: str) -> str:
    """A file's name for people and JSON: what cannot be printed is escaped."""
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in name)


def _natural(name: str) -> list[list[int | str]]:
    """Sort key that counts as people do: ``w2`` before ``w12``."""
    return [[int(piece) if n % 2 else piece for n, piece in enumerate(_NUMBER.split(part))] for part in name.split("/")]


def list_sources(folder: Path, without: Path | None = None) -> tuple[list[SourceFile], list[tuple[str, str]]]:
    """Files below a folder in natural order, and names of what else is there and cannot be imported, and why.

    Hidden files and the folder `without` are passed over. Raises `UsageError` when it is no folder that can be read.
    """
    if not folder.is_dir():
        raise UsageError(f"{folder}: expected a folder with results, found {'a file' if folder.exists() else 'none'}")
    files: list[SourceFile] = []
    others: list[tuple[str, str]] = []
    waiting = [""]
    left_out = None if without is None else without.resolve()
    while waiting:
        prefix = waiting.pop()
        try:
            with os.scandir(folder / prefix) as entries:
                visible = [entry for entry in entries if not entry.name.startswith(".")]
        except OSError as error:
            if not prefix:
                raise UsageError(f"{folder}: cannot be read: {error.strerror}") from error
            others.append((shown(prefix), f"cannot be read: {error.strerror}"))
            continue
        for entry in visible:
            name = prefix + entry.name
            if entry.is_dir(follow_symlinks=False):
                if (folder / name).resolve() != left_out:
                    waiting.append(f"{name}/")
            elif why := _unfit(entry, name):
                others.append((shown(name), why))
            else:
                state = entry.stat(follow_symlinks=False)
                files.append(SourceFile(folder, name, state.st_size, state.st_mtime_ns))
        if len(files) > MAX_FILES:
            raise UsageError(f"{folder}: expected at most {MAX_FILES:,} files, found more: is it the right one?")
    return sorted(files, key=lambda file: _natural(file.name)), sorted(others)


def _unfit(entry: os.DirEntry[str], name: str) -> str | None:
    if entry.is_symlink():
        return "a symbolic link, and links are not followed: put a copy in its place"
    if not entry.is_file(follow_symlinks=False):
        return "no regular file"
    if not name.isprintable():
        return "a name with characters that cannot be printed, or that are no UTF-8: rename it"
    if name.endswith(".partial"):
        return "a name that stands for an unfinished file: rename it if it is whole"
    return None


@dataclass(frozen=True)
class Refusal:
    """A mapped file, or a part of it, that is not imported; `file` as it can be shown."""

    file: str
    message: str
    line: int | None = None

    def __str__(self) -> str:
        return f"{self.file}{'' if self.line is None else f':{self.line}'}: {self.message}"


@dataclass(frozen=True)
class Assignment:
    """A file, an entry that is about it, and what path and entry say of it; the path says the fields of `by_path`."""

    file: SourceFile
    entry: Entry
    facts: dict[str, Any]
    by_path: frozenset[str] = frozenset()

    def source_of(self, field: str) -> str:
        """Who states a field, for messages."""
        return "the path" if field in self.by_path else "the mapping"

    @property
    def is_gluster(self) -> bool:
        return isinstance(self.entry, GlusterFiles)

    def refused(self, error: Exception | str) -> Refusal:
        message, line = (error.message, error.line) if isinstance(error, ParseError) else (str(error), None)
        return Refusal(shown(self.file.name), message, line)


def assign(mapping: Mapping, files: Iterable[SourceFile]) -> tuple[list[Assignment], list[SourceFile], list[Refusal]]:
    """Give every file to the entries that are about it; also the files without one, and what is refused.

    Entries that name the file go before all patterns, and of these the first that fits counts. Where patterns of
    results and of telemetry or gluster fit, the file's content decides.
    """
    entries: tuple[Entry, ...] = (*mapping.files, *mapping.telemetry, *mapping.gluster, *mapping.patterns)
    named: dict[str, list[Entry]] = {}
    for entry in entries:
        if entry.file is not None:
            named.setdefault(entry.file, []).append(entry)
    patterns = [(entry, Pattern.parse(entry.pattern)) for entry in entries if entry.pattern is not None]
    assigned: list[Assignment] = []
    unmapped: list[SourceFile] = []
    refused: list[Refusal] = []
    for file in files:
        if file.name in named:
            assigned += [Assignment(file, entry, entry.facts()) for entry in named.pop(file.name)]
            continue
        found = _by_pattern(mapping, file, patterns)
        if isinstance(found, Assignment):
            assigned.append(found)
        elif found is None:
            unmapped.append(file)
        else:
            refused.append(found)
    refused += [Refusal(shown(name), "expected this file, which the mapping names, found none") for name in named]
    return assigned, unmapped, refused


def _by_pattern(
    mapping: Mapping, file: SourceFile, patterns: list[tuple[Entry, Pattern]]
) -> Assignment | Refusal | None:
    fitting: dict[type[Entry], Assignment] = {}
    for entry, pattern in patterns:
        words = None if type(entry) in fitting else pattern.match(file.name, mapping.accepts)
        if words is not None:
            facts = entry.facts() | {field: mapping.read_field(field, word) for field, word in words.items()}
            fitting[type(entry)] = Assignment(file, entry, facts, frozenset(words))
    if len(fitting) > 1 and (kind := _kind(file)) in fitting:
        return fitting[kind]
    if fitting:
        return next(iter(fitting.values()))
    for _, pattern in patterns:
        for field, word in (pattern.match(file.name, lambda *_: True) or {}).items():
            try:
                mapping.read_field(field, word)
            except ValueError as error:
                return Refusal(shown(file.name), f"by the pattern {pattern.text!r}: {error}")
    return None


def _kind(file: SourceFile) -> type[Entry]:
    """Of which entries a file is, by its content."""
    try:
        tool = tool_of(file.path)
    except ParseError:
        return Results
    if tool in TELEMETRY_TOOLS:
        return TelemetryFiles
    return GlusterFiles if tool == "gluster" else Results
