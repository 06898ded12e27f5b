"""What `reproduce` remembers of a figures folder, and how files come into it and go."""

from __future__ import annotations

import glob
import hashlib
import json
import os
import socket
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from glusterlab.errors import UsageError
from glusterlab.fingerprint import Signatures
from glusterlab.manifest import file_digest
from glusterlab.rawfiles import write_atomically, write_error
from glusterlab.storage import Remote, mirror, publish

SCHEMA_VERSION = 2
"""Version of .reproduce.json; a file of another version is as none."""

STATE = ".reproduce.json"
LOCK = ".reproduce.lock"

_PROBE_BYTES = 1 << 16


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
    baseline : dict
        Signatures of the baseline's raw files, where there is one.
    """

    raw: Signatures = field(default_factory=dict)
    notebooks: dict[str, dict[str, Any]] = field(default_factory=dict)
    index: str = ""
    noted: dict[str, list[str]] = field(default_factory=dict)
    baseline: Signatures = field(default_factory=dict)

    @classmethod
    def read(cls, path: Path) -> State:
        """Read a file; one that is absent, damaged or of another version is as none."""
        try:
            data = json.loads(path.read_text(encoding="utf-8"))
            if data["schema_version"] != SCHEMA_VERSION:
                return cls()
            return cls(data["raw"], data["notebooks"], data["index"], data["noted"], data.get("baseline", {}))
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

    Raises
    ------
    UsageError
        When the folder holds something else, or another run is at work on it.
    """
    if isinstance(target, Path):
        if not own:
            _require_own(target, [path.name for path in target.iterdir()] if target.is_dir() else [])
        with held(target.absolute()):
            yield target.absolute(), target.absolute() / "tables"
        return
    listing = {name: word for name, word in target.listing().items() if not name.startswith("tables/")}
    _require_own(target, listing)
    figures = target.cache()
    with held(figures):
        mirror(target, figures, listing, listing)
        try:
            yield figures, target / "tables"
        finally:
            made = [path.relative_to(figures).as_posix() for path in figures.rglob("*") if path.is_file()]
            unpublished = ("tables/", ".mirror.json", LOCK)
            publish(target, figures, [name for name in made if not name.startswith(unpublished)])


@contextmanager
def held(figures: Path) -> Iterator[None]:
    """Keep other runs away from a figures folder. The lock ends with the process, however that ends.

    A folder that cannot be written is not held: nothing can be done to it.

    Raises
    ------
    UsageError
        When another run holds it; the message names its process and host.
    """
    made = not figures.exists()
    try:
        figures.mkdir(parents=True, exist_ok=True)
        lock = _lock(figures / LOCK)
    except OSError:
        lock = None
    try:
        yield
    finally:
        with suppress(OSError):
            # before it is free: whoever opens it from now on makes a new one
            (figures / LOCK).unlink()
            if made:
                # only when nothing came into it
                figures.rmdir()
        if lock is not None:
            os.close(lock)


def _lock(path: Path) -> int:
    """The descriptor of a lock file that is held."""
    import fcntl

    while True:
        lock = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            with suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(lock), path.stat()):
                    os.truncate(lock, 0)
                    os.write(lock, f"process {os.getpid()} on {socket.gethostname()}\n".encode())
                    return lock
        except BlockingIOError as error:
            holder = os.read(lock, 200).decode(errors="replace").strip() or "another process"
            os.close(lock)
            raise UsageError(
                f"{path.parent}: figures are being made there by {holder}; wait for it, or end it, then run again"
            ) from error
        except OSError:
            os.close(lock)
            raise
        # whoever held it has just removed it
        os.close(lock)


def require_room(figures: Path) -> None:
    """Try to write into a figures folder: before notebooks run, not when the first of them is done.

    Raises
    ------
    RawStoreError
        When it cannot be written, or its disk is full.
    """
    probe = figures / f".{STATE}.probe"
    try:
        figures.mkdir(parents=True, exist_ok=True)
        probe.write_bytes(bytes(_PROBE_BYTES))
        probe.unlink()
    except OSError as error:
        with suppress(OSError):
            probe.unlink()
        raise write_error(figures, error) from error


def _require_own(target: Path | Remote, names: Collection[str]) -> None:
    found = [name for name in names if name != "tables" and not name.startswith(".")]
    if found and STATE not in names:
        expected = "expected a folder that reproduce made, or an empty one"
        raise UsageError(f"{target}: {expected}, found {min(found)}; name another folder by --output")
