"""What `reproduce` reports and remembers of a figures folder, and how files come into it and go."""

import glob
import hashlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Self

from glusterlab.errors import UsageError
from glusterlab.store.files import file_digest, lock_file, write_atomically, write_error

SCHEMA_VERSION = 2  # version of .reproduce.json; a file of another version is as none

STATE = ".reproduce.json"
LOCK = ".reproduce.lock"

_PROBE_BYTES = 1 << 16

Outcome = Literal["started", "ran", "rendered", "unchanged", "failed"]


@dataclass(frozen=True)
class Progress:
    """What happened to one notebook, or to the tables that all of them read.

    `notebook`: its name; ``tables`` while these are made; empty when all of a campaign failed. `outcome`: ``rendered``
    when only its text changed. `message`: the failure, with cell and error; empty otherwise.
    """

    campaign: str
    notebook: str
    outcome: Outcome
    seconds: float = 0.0
    message: str = ""


@dataclass(frozen=True)
class Failure:
    """A notebook that could not be reproduced; as `notebook`, empty means the campaign's raw files or figures folder.

    `cell`: counted from 1 over all cells of the notebook. `tag`: first tag of that cell. `traceback`: of the kernel.
    """

    campaign: str
    notebook: str
    error: str
    cell: int | None = None
    tag: str | None = None
    traceback: str = ""

    def __str__(self) -> str:
        place = "/".join(part for part in (self.campaign, self.notebook) if part)
        if self.cell is not None:
            place += f", cell {self.cell}" + (f" ({self.tag})" if self.tag else "")
        return f"{place}: {self.error}"


@dataclass(frozen=True)
class ReproduceSummary:
    """What a run of `reproduce` did; notebooks are named ``<campaign>/<notebook>``.

    `undrawn`: ``<campaign>/<tool>`` whose samples no notebook reads by name.
    """

    ran: tuple[str, ...] = ()
    rendered: tuple[str, ...] = ()
    unchanged: tuple[str, ...] = ()
    failed: tuple[Failure, ...] = ()
    figures_dirs: tuple[Path, ...] = ()
    stale: tuple[str, ...] = ()
    undrawn: tuple[str, ...] = ()

    @property
    def exit_code(self) -> int:
        """0 when all is well, 1 when anything failed, or is found stale by a check."""
        return 1 if self.failed or self.stale else 0


@dataclass
class State:
    """What .reproduce.json holds.

    `notebooks`: per notebook the key and digests of the outputs. `noted`: which failed, or have older figures.
    """

    notebooks: dict[str, dict[str, Any]] = field(default_factory=dict)
    noted: dict[str, list[str]] = field(default_factory=dict)

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read a file; one that is absent, damaged or of another version is as none."""
        try:
            data = json.loads(path.read_text(encoding="utf-8"))
            known = {name: data[name] for name in ("notebooks", "noted")}
            return cls(**known) if data["schema_version"] == SCHEMA_VERSION else cls()
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return cls()

    def write(self, path: Path) -> None:
        data = {"schema_version": SCHEMA_VERSION, **vars(self)}
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
def figures_of(target: Path, own: bool) -> Iterator[Path]:
    """A folder for figures, one that can be written, from which other runs are kept away.

    UsageError when another run holds it or, elsewhere than in the project, where it has something else in it.
    """
    names = [path.name for path in target.iterdir()] if target.is_dir() and not own else []
    found = [name for name in names if name != "tables" and not name.startswith(".")]
    if found and STATE not in names:
        expected = "expected a folder that reproduce made, or an empty one"
        raise UsageError(f"{target}: {expected}, found {min(found)}; name another folder by --output")
    figures = target.absolute()

    def refuse(holder: str) -> UsageError:
        advice = "wait for it, or end it, then run again"
        return UsageError(f"{figures}: figures are being made there by {holder}; {advice}")

    made = not figures.exists()
    lock = None
    with suppress(OSError):
        figures.mkdir(parents=True, exist_ok=True)
        lock = lock_file(figures / LOCK, refuse)
    try:
        yield figures
    finally:
        with suppress(OSError):
            # before it is free: whoever opens it from now on makes a new one
            (figures / LOCK).unlink()
            if made:
                # only when nothing came into it
                figures.rmdir()
        if lock is not None:
            os.close(lock)


def require_room(figures: Path) -> None:
    """Try to write into a figures folder, before notebooks run; RawStoreError when that cannot be done."""
    probe = figures / f".{STATE}.probe"
    try:
        figures.mkdir(parents=True, exist_ok=True)
        probe.write_bytes(bytes(_PROBE_BYTES))
        probe.unlink()
    except OSError as error:
        with suppress(OSError):
            probe.unlink()
        raise write_error(figures, error) from error
