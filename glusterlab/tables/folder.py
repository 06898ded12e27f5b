"""The folder in which tables are kept: what in it is ours, and whether that is still whole."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from glusterlab.errors import RawStoreError, UsageError
from glusterlab.store.files import file_digest, write_atomically
from glusterlab.store.manifest import MANIFEST
from glusterlab.store.remote import Remote

MARKER = ".glusterlab-tables"
"""Says that a folder is ours: nothing is removed in any other."""

INDEX = "key.json"
SEEN = ".seen.json"

CHECKED = "GLUSTERLAB_CHECKED_TABLES"
"""Environment variable by which `reproduce` names to its notebooks a folder whose tables it has just brought up to
date: each of them would else look at every raw file again."""


def names_in(folder: Path) -> list[str]:
    """The files below a folder, by their paths from there; none when it is not there."""
    return [path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()]


def is_kept(name: str) -> bool:
    """Whether a file below a folder of tables is one of them."""
    if name in (MARKER, INDEX, "samples.parquet", "workers.parquet"):
        return True
    parent, _, file = name.rpartition("/")
    return (parent, Path(file).suffix) in {("parts", ".json"), ("telemetry", ".parquet")}


def require_own(folder: Path | Remote, names: Iterable[str]) -> None:
    """Refuse a folder that holds something else: what is in a folder of tables and of no sample is removed."""
    found = [name for name in names if not name.startswith(".") or name == MARKER]
    if found and MARKER not in found and INDEX not in found:
        expected = "expected a folder of tables or an empty one"
        raise UsageError(f"{folder}: {expected}, found {min(found)}; name another folder for the tables")
    inside = folder.resolve().parents if isinstance(folder, Path) else ()
    if campaign := next((parent for parent in inside if (parent / MANIFEST).is_file()), None):
        raise UsageError(f"{folder}: lies in the campaign {campaign}, which is never touched; name another folder")


@dataclass
class Seen:
    """Digests of kept files that were right when the files looked as they do: a file is hashed when it was touched."""

    folder: Path
    states: dict[str, list[Any]]

    @classmethod
    def read(cls, folder: Path) -> Seen:
        """What was written at the last time."""
        try:
            states = json.loads((folder / SEEN).read_bytes())
        except (OSError, ValueError):
            states = {}
        return cls(folder, states if isinstance(states, dict) else {})

    def fits(self, name: str, digest: str) -> bool:
        """Whether a file is there and has that digest."""
        try:
            state = (self.folder / name).stat()
        except OSError:
            return False
        known = [digest, state.st_size, state.st_mtime_ns]
        if self.states.get(name) != known:
            if file_digest(self.folder / name) != digest:
                return False
            self.states[name] = known
        return True

    def write(self, digests: Mapping[str, str]) -> None:
        """Keep what is known of these files."""
        for name, digest in digests.items():
            self.fits(name, digest)
        kept = {name: self.states[name] for name in digests if name in self.states}
        write_atomically(self.folder / SEEN, json.dumps(kept), durable=False)


def unchanged(folder: Path, key: str, seen: Seen) -> dict[str, Any] | None:
    """What is kept, when it is of this key and whole."""
    try:
        index: dict[str, Any] = json.loads((folder / INDEX).read_bytes())
        if index["key"] != key or not all(seen.fits(name, word) for name, word in index["sha256"].items()):
            return None
        return index
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RawStoreError):
        return None


def kept_part(folder: Path, name: str, key: str, seen: Seen) -> dict[str, Any] | None:
    """The part of a sample, when it is of this key and its files are whole."""
    try:
        part: dict[str, Any] = json.loads((folder / "parts" / f"{name}.json").read_bytes())
        whole = all(seen.fits(f"telemetry/{file}", word) for file, word in part["telemetry"].items())
        return part if part["key"] == key and whole else None
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RawStoreError):
        return None


def sweep(folder: Path, parts: Mapping[str, Mapping[str, Any]]) -> None:
    """Remove files of samples that no longer exist, and older files of those that do."""
    kept = {folder / "telemetry" / file for part in parts.values() for file in part["telemetry"]}
    kept |= {folder / "parts" / f"{name}.json" for name in parts}
    for pattern in ("parts/*.json", "telemetry/*.parquet"):
        for path in folder.glob(pattern):
            if path not in kept:
                path.unlink()
