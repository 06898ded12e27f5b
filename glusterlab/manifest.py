"""MANIFEST.sha256: the digests of a campaign's raw files."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path

from glusterlab.errors import RawStoreError

MANIFEST = "MANIFEST.sha256"

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
