"""What `reproduce` remembers of a figures folder, and how files come into it and go."""

from __future__ import annotations

import glob
import hashlib
import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from glusterlab.errors import UsageError
from glusterlab.fingerprint import Signatures
from glusterlab.manifest import file_digest
from glusterlab.rawfiles import write_atomically
from glusterlab.storage import Remote, mirror, publish

SCHEMA_VERSION = 2
"""Version of .reproduce.json; a file of another version is as none."""

STATE = ".reproduce.json"


@dataclass
class State:
    """What .reproduce.json holds.

    Attributes
    ----------
    raw : dict
        Signatures of the raw files.
    notebooks : dict
        Per notebook the key and digests of the outputs.
    index : str
        Digest of the page.
    noted : dict of str to list of str
        What the page says of this state: notebooks that failed, figures of an earlier run.
    """

    raw: Signatures = field(default_factory=dict)
    notebooks: dict[str, dict[str, Any]] = field(default_factory=dict)
    index: str = ""
    noted: dict[str, list[str]] = field(default_factory=dict)

    @classmethod
    def read(cls, path: Path) -> State:
        """Read a file; one that is absent, damaged or of another version is as none."""
        try:
            data = json.loads(path.read_text(encoding="utf-8"))
            if data["schema_version"] != SCHEMA_VERSION:
                return cls()
            return cls(data["raw"], data["notebooks"], data["index"], data["noted"])
        except (OSError, ValueError, KeyError, TypeError):
            return cls()

    def write(self, path: Path) -> None:
        """Write the file.

        Raises
        ------
        RawStoreError
            When it cannot be written.
        """
        data = {"schema_version": SCHEMA_VERSION, **vars(self)}
        # without indent: a campaign has tens of thousands of raw files, and this is written after every notebook
        write_atomically(path, json.dumps(data, sort_keys=True), durable=False)


def intact(figures: Path, outputs: Mapping[str, str]) -> bool:
    """Whether files of a figures folder are there with these digests."""
    return all((figures / name).is_file() and file_digest(figures / name) == sha for name, sha in outputs.items())


def put(made: Mapping[str, bytes], figures: Path) -> dict[str, str]:
    """Put a notebook's files into place, each by one rename, and return their digests; equal ones are left alone."""
    outputs = {name: hashlib.sha256(data).hexdigest() for name, data in made.items()}
    for name, data in made.items():
        target = figures / name
        if not target.is_file() or file_digest(target) != outputs[name]:
            target.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(target, data, durable=False)
    return outputs


def drop(figures: Path, names: Sequence[str], state: State) -> None:
    """Remove files of these names, whatever their suffix, that no notebook makes any more."""
    kept = {name for entry in state.notebooks.values() for name in entry["outputs"]}
    for stem in {name.rpartition(".")[0] for name in names}:
        for path in figures.glob(f"{glob.escape(stem)}.*"):
            if path.relative_to(figures).as_posix() not in kept:
                path.unlink()


@contextmanager
def figures_of(target: Path | Remote, own: bool) -> Iterator[tuple[Path, Path | Remote]]:
    """Where figures are made, and where tables are kept: a remote folder is mirrored before and published after.

    The project's own figures are ours; elsewhere only what this command began is.
    """
    if isinstance(target, Path):
        if not own:
            _require_own(target, [path.name for path in target.iterdir()] if target.is_dir() else [])
        yield target.absolute(), target.absolute() / "tables"
        return
    listing = {name: word for name, word in target.listing().items() if not name.startswith("tables/")}
    _require_own(target, listing)
    figures = target.cache()
    mirror(target, figures, listing, listing)
    try:
        yield figures, target / "tables"
    finally:
        made = [path.relative_to(figures).as_posix() for path in figures.rglob("*") if path.is_file()]
        unpublished = ("tables/", ".mirror.json")
        publish(target, figures, [name for name in made if not name.startswith(unpublished)])


def _require_own(target: Path | Remote, names: Collection[str]) -> None:
    found = [name for name in names if name != "tables" and not name.startswith(".")]
    if found and STATE not in names:
        expected = "expected a folder that reproduce made, or an empty one"
        raise UsageError(f"{target}: {expected}, found {min(found)}; name another folder by --output")
