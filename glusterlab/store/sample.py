"""One sample of the raw store: what sample.json holds, and how its folder comes to be."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

from pydantic import Field, ValidationError

from glusterlab.errors import RawStoreError
from glusterlab.reasons import Reason, Status, status_of
from glusterlab.spec.cell import Cell
from glusterlab.store import evidence
from glusterlab.store.files import SCHEMA_VERSION, dump_json, read_json, sync, sync_below, write_atomically, writing
from glusterlab.store.manifest import list_files
from glusterlab.store.records import Stored

if TYPE_CHECKING:
    from glusterlab.store.campaign import RawStore


Origin = Literal["measured", "imported"]


class Window(Stored):
    """Epoch seconds on the controller in which the measured command ran."""

    start: float
    end: float


class Sample(Stored):
    """One execution of a cell: what sample.json holds, and as `path` the sample's folder.

    `window`: None when the command was never started, and of an import. `phases`: seconds. `disks`: the divisor of "per
    disk"; 0 where an import does not know it.
    """

    path: Path = Field(exclude=True)
    schema_version: int = SCHEMA_VERSION
    campaign: str
    cell_id: str
    sample: int
    repeat: int
    round: int
    order: int
    attempt: int
    warmup: bool = False
    origin: Origin = "measured"
    status: Status
    reasons: tuple[Reason, ...] = ()
    window: Window | None = None
    phases: dict[str, float] = Field(default={})
    machine: int = 1  # by which environment file, see `RawStore.environments`
    exit_code: int | None = None
    disks: int
    servers: tuple[str, ...]
    clients: tuple[str, ...]

    @classmethod
    def read(cls, folder: Path) -> Sample:
        data = read_json(folder / "sample.json")
        try:
            return cls.model_validate({**data, "path": folder})
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            key = ".".join(str(part) for part in first["loc"])
            path = folder / "sample.json"
            raise RawStoreError(f"{path}: {key}: {first['msg']}; restore the file from a copy", path=path) from error


def campaign_origin(path: Path) -> Origin:
    """Whether the suite measured a campaign, or imported it, by its environment.json."""
    try:
        return "imported" if read_json(path / "environment.json").get("origin") == "imported" else "measured"
    except RawStoreError:
        return "measured"


def read_cell(path: Path) -> Cell:
    """Read a cell.json; RawStoreError when it is absent, damaged, or newer."""
    data = read_json(path)
    try:
        return Cell.model_validate_json(json.dumps(data["cell"]))
    except (KeyError, ValidationError) as error:
        raise RawStoreError(f"{path}: expected a cell, found: {error}", path=path) from error


class SampleWriter:
    """Writes one sample; a context manager that removes the partial folder when the sample was not finished."""

    def __init__(self, store: RawStore, cell: Cell, number: int, place: Mapping[str, Any]) -> None:
        self.cell = cell
        self.number = number
        self.folder = store.path / "cells" / cell.id / f".sample-{number:02d}.partial"
        self._store = store
        self._place = place
        self._log: list[str] = []
        self._finished = False

    @property
    def round(self) -> int:
        return int(self._place["round"])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if not self._finished:
            self.abandon()

    def write(self, name: str, data: bytes | str) -> None:
        """Write a file by its path below the sample's folder; it must not be there already."""
        write_atomically(self._new_file(name), data, durable=False)

    def link(self, name: str, source: Path) -> None:
        """As `write`, of a file that nobody changes any more: as a second name of it where that is possible."""
        path = self._new_file(name)
        # not every file system has hard links, and none has any number of them for one file
        with suppress(OSError):
            os.link(source, path)
            return
        with writing(path):
            shutil.copyfile(source, path)

    def _new_file(self, name: str) -> Path:
        path = self.folder / name
        parts = Path(name).parts
        if not parts or Path(name).is_absolute() or any(part.startswith(".") for part in parts):
            raise RawStoreError(f"expected a path below the sample's folder, found {name!r}", path=path)
        if path.exists():
            raise RawStoreError(f"{path}: is there already, and raw files are never replaced", path=path)
        with writing(path):
            path.parent.mkdir(parents=True, exist_ok=True)
        return path

    def log(self, host: str, command: str, start: float, end: float, exit_code: int | None) -> None:
        entry = {"host": host, "command": command, "start": start, "end": end, "exit_code": exit_code}
        self._log.append(json.dumps(entry, sort_keys=True, ensure_ascii=False))

    def finish(self, reasons: Sequence[Reason], *, phases: Mapping[str, float] | None = None, **facts: Any) -> Sample:
        """Make the sample exist, and list its files in the manifest; when anything cannot be written, it does not.

        `facts`: the rest of what `Sample` has: window, exit_code, disks, servers, clients, origin.
        """
        target = self.folder.with_name(f"sample-{self.number:02d}")
        self.write("log.txt", "".join(line + "\n" for line in self._log))
        sample = Sample(
            path=target,
            campaign=self._store.name,
            cell_id=self.cell.id,
            sample=self.number,
            **self._place,
            status=status_of(reasons),
            reasons=tuple(reasons),
            phases={name: round(seconds, 4) for name, seconds in (phases or {}).items()},
            **facts,
        )
        durable = not self._store.appears_whole
        if sample.origin == "measured":
            evidence.pack(self.folder)  # what others measured stays as they wrote it
        with writing(target):
            if durable:
                sync_below(self.folder)
            text = dump_json(sample.model_dump(mode="json"))
            write_atomically(self.folder / "sample.json", text, durable=durable)
            self.folder.rename(target)
            if durable:
                sync(target.parent)
        self._finished = True
        if durable:
            list_files(self._store.path, [target])
        return sample

    def abandon(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)
