"""MANIFEST.sha256: the digests of a campaign's raw files."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from glusterlab.errors import RawStoreError
from glusterlab.rawfiles import write_atomically

MANIFEST = "MANIFEST.sha256"

CHANGING = frozenset({"log.txt", "events.jsonl", "now.json", ".now.json.tmp", ".lock"})
"""Files of a campaign's folder that tell of its runs: they change while one is at work, and are no raw data."""

UNLISTED = CHANGING | {MANIFEST}
"""Files of a campaign's folder that the manifest does not list."""

_LINE = re.compile(r"(?P<name>\S.*) (?P<digest>[0-9a-f]{64})")


def file_digest(path: Path) -> str:
    """SHA-256 of a file's bytes, in hexadecimal.

    Raises
    ------
    RawStoreError
        When the file cannot be read.
    """
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise RawStoreError(f"{path}: cannot be read: {error.strerror}", path=path) from error


@dataclass(frozen=True)
class Manifest:
    """Digests of files by their path below the campaign's folder, with ``/`` between the parts."""

    digests: dict[str, str]

    @property
    def text(self) -> str:
        """The manifest as stored: a line ``path sha256`` per file, sorted.

        Examples
        --------
        >>> Manifest({"b": "1" * 64, "a": "0" * 64}).text.splitlines()[0][:6]
        'a 0000'
        """
        return "".join(f"{name} {digest}\n" for name, digest in sorted(self.digests.items()))

    @classmethod
    def read(cls, folder: Path) -> Manifest:
        """Read a campaign's manifest; one that is not there yet is empty.

        Raises
        ------
        RawStoreError
            When it cannot be read, or a line is not ``path sha256``.
        """
        path = folder / MANIFEST
        try:
            text = path.read_text()
        except FileNotFoundError:
            return cls({})
        except (OSError, UnicodeDecodeError) as error:
            raise RawStoreError(f"{path}: cannot be read: {error}", path=path) from error
        digests: dict[str, str] = {}
        for number, line in enumerate(text.splitlines(), start=1):
            match = _LINE.fullmatch(line)
            if match is None:
                message = f"{path}:{number}: expected 'path sha256', found {line[:80]!r}; restore it from a copy"
                raise RawStoreError(message, path=path)
            digests[match["name"]] = match["digest"]
        return cls(digests)


def list_files(folder: Path, paths: Sequence[Path]) -> None:
    """Add files, and all files of folders, to a campaign's manifest; those that are listed keep their digests.

    What is `UNLISTED` of the campaign's own folder is passed over; a sample has files of such names that count.

    Raises
    ------
    RawStoreError
        When a file cannot be read, or the manifest not be written.
    """
    manifest = Manifest.read(folder)
    files = [file for path in paths for file in (path.rglob("*") if path.is_dir() else (path,)) if file.is_file()]
    added = {
        name: file_digest(file)
        for file in files
        if (name := file.relative_to(folder).as_posix()) not in manifest.digests and name not in UNLISTED
    }
    write_atomically(folder / MANIFEST, Manifest({**manifest.digests, **added}).text)
