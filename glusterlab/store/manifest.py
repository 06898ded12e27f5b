"""MANIFEST.sha256: the digests of a campaign's raw files."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from glusterlab.errors import RawStoreError
from glusterlab.rawfile import read_raw
from glusterlab.store import evidence
from glusterlab.store.files import file_digest, reading, write_atomically

MANIFEST = "MANIFEST.sha256"

LOCK = ".lock"

CHANGING = frozenset({"log.txt", "events.jsonl", "now.json", ".now.json.tmp", LOCK})
"""Files of a campaign's folder that describe its runs, and are no raw data."""

SIGNATURE = f"{MANIFEST}.sig"  # what ``ssh-keygen -Y sign`` makes of a manifest, beside it
MAX_BYTES = 256 << 20  # a manifest of a million files

UNLISTED = CHANGING | {MANIFEST, SIGNATURE}

_LINE = re.compile(r"(?P<name>\S.*) (?P<digest>[0-9a-f]{64})")


@dataclass(frozen=True)
class Manifest:
    """Digests of files by their path below the campaign's folder, with ``/`` between the parts."""

    digests: dict[str, str]

    @property
    def text(self) -> str:
        """A line ``path sha256`` per file, sorted."""
        return "".join(f"{name} {digest}\n" for name, digest in sorted(self.digests.items()))

    @classmethod
    def read(cls, folder: Path) -> Manifest:
        """Read a campaign's manifest; one that is not there yet is empty, a damaged one a RawStoreError."""
        path = folder / MANIFEST
        with reading(path):
            try:
                text = read_raw(path, MAX_BYTES).decode()
            except FileNotFoundError:
                return cls({})
            except UnicodeDecodeError as error:
                raise RawStoreError(f"{path}: cannot be read: {error}; restore it from a copy", path=path) from error
        digests: dict[str, str] = {}
        for number, line in enumerate(text.splitlines(), start=1):
            if (match := _LINE.fullmatch(line)) is None:
                message = f"{path}:{number}: expected 'path sha256', found {line[:80]!r}; restore it from a copy"
                raise RawStoreError(message, path=path)
            digests[match["name"]] = match["digest"]
        return cls(digests)


def list_files(folder: Path, paths: Iterable[Path]) -> None:
    """Add files, and all of folders, to a manifest, an archive's members for it; what is listed keeps its digest."""
    listed = Manifest.read(folder).digests
    added: dict[str, str] = {}
    for file in (file for path in paths for file in (path.rglob("*") if path.is_dir() else (path,)) if file.is_file()):
        name = file.relative_to(folder).as_posix()
        if name == evidence.archive_of(name):
            members = evidence.digests(file).items()
            added |= {(file.parent / member).relative_to(folder).as_posix(): digest for member, digest in members}
        elif name not in listed and name not in UNLISTED:
            added[name] = file_digest(file)
    write_atomically(folder / MANIFEST, Manifest({**added, **listed}).text)
