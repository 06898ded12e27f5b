"""The raw store: one folder per campaign, written so that a kill at any moment leaves nothing half-done.

A sample is written into ``cells/<id>/.sample-<nn>.partial/`` and becomes ``sample-<nn>/`` by one rename, after its
sample.json, the last of its files, is on the disk. What is left of an interrupted one is removed by `RawStore.recover`.
Nothing is changed after that; ``MANIFEST.sha256`` lists every file but itself and the campaign's log.txt.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from glusterlab.errors import RawStoreError
from glusterlab.manifest import MANIFEST, Manifest, file_digest
from glusterlab.reasons import FAILED_CODES, Reason, ReasonCode, Status, status_of

if TYPE_CHECKING:
    from glusterlab.spec.cell import Cell

__all__ = [
    "FAILED_CODES",
    "SCHEMA_VERSION",
    "RawStore",
    "Reason",
    "ReasonCode",
    "Sample",
    "SampleWriter",
    "Status",
    "Window",
    "dump_json",
    "status_of",
    "write_atomically",
]

SCHEMA_VERSION = 1
"""Version of sample.json, cell.json and environment.json that this library writes and the newest that it reads."""

UNLISTED = frozenset({MANIFEST, "log.txt", ".lock"})
"""Files of a campaign folder that the manifest does not list."""

_SAMPLE_DIR = re.compile(r"sample-(\d{2,})")
_PARTIAL_GLOB = "cells/*/.sample-*.partial"


class Window(BaseModel):
    """Epoch seconds on the controller in which the measured command ran."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    start: float
    end: float


class Sample(BaseModel):
    """One execution of a cell: what sample.json holds, and where.

    Attributes
    ----------
    path : pathlib.Path
        The sample's folder; not part of sample.json.
    campaign, cell_id : str
    sample : int
        Counts the executions of the cell, from 1.
    repeat, round, order, attempt : int
        Place in the plan; a repeat that did not come out valid may have several attempts.
    status : Status
    reasons : tuple of Reason
    window : Window or None
        None when the command was never started.
    phases : dict of str to float
        Seconds of each part of the work on this sample.
    exit_code : int or None
    disks : int
        Disks in all bricks of the layout, the divisor of "per disk".
    servers, clients : tuple of str
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    path: Path = Field(exclude=True)
    schema_version: int = SCHEMA_VERSION
    campaign: str
    cell_id: str
    sample: int
    repeat: int
    round: int
    order: int
    attempt: int
    status: Status
    reasons: tuple[Reason, ...] = ()
    window: Window | None = None
    phases: dict[str, float] = {}
    exit_code: int | None = None
    disks: int
    servers: tuple[str, ...]
    clients: tuple[str, ...]

    @classmethod
    def read(cls, folder: Path) -> Sample:
        """Read the sample in a folder.

        Raises
        ------
        RawStoreError
            When sample.json is absent, damaged, or newer than this library.
        """
        data = read_json(folder / "sample.json")
        try:
            return cls.model_validate({**data, "path": folder})
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            key = ".".join(str(part) for part in first["loc"])
            path = folder / "sample.json"
            raise RawStoreError(f"{path}: {key}: {first['msg']}; restore the file from a copy", path=path) from error


def dump_json(data: object) -> str:
    r"""JSON as the raw store keeps it: sorted keys, one value per line, a line end at the end.

    Examples
    --------
    >>> dump_json({"b": 1, "a": None})
    '{\n "a": null,\n "b": 1\n}\n'
    """
    return json.dumps(data, indent=1, sort_keys=True, ensure_ascii=False, allow_nan=False) + "\n"


def read_json(path: Path) -> dict[str, Any]:
    """Read a JSON object with a schema_version.

    Raises
    ------
    RawStoreError
        When the file is absent, no JSON object, or of a newer schema than `SCHEMA_VERSION`.
    """
    try:
        data = json.loads(path.read_bytes())
    except OSError as error:
        raise RawStoreError(f"{path}: cannot be read: {error.strerror}", path=path) from error
    except (ValueError, RecursionError) as error:
        message = f"{path}: expected JSON, found damage: {error}; restore the file from a copy"
        raise RawStoreError(message, path=path) from error
    version = data.get("schema_version") if isinstance(data, dict) else None
    if not isinstance(version, int) or isinstance(version, bool):
        raise RawStoreError(f"{path}: expected a JSON object with a schema_version, found none", path=path)
    if version > SCHEMA_VERSION:
        message = (
            f"{path}: expected schema_version {SCHEMA_VERSION} at most, found {version}; install a newer glusterlab"
        )
        raise RawStoreError(message, path=path, schema_version=version)
    return dict(data)


def write_atomically(path: Path, data: bytes | str, *, durable: bool = True) -> None:
    """Write a file under a temporary name, then rename it.

    Parameters
    ----------
    path : pathlib.Path
        Its folder must exist.
    data : bytes or str
        Text is written as UTF-8.
    durable : bool
        Wait until the file is on the disk. Without it, a loss of power (not a kill) may leave the file empty.

    Raises
    ------
    RawStoreError
        When the disk is full or the file cannot be written; the temporary file is gone then.
    """
    content = data.encode() if isinstance(data, str) else data
    temporary = path.with_name(f".{path.name}.tmp")
    try:
        with temporary.open("wb") as file:
            file.write(content)
            file.flush()
            if durable:
                os.fsync(file.fileno())
        temporary.replace(path)
        if durable:
            _sync(path.parent)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise _write_error(path, error) from error


def _write_error(path: Path, error: OSError) -> RawStoreError:
    message = f"{path}: cannot be written: {error.strerror}"
    advice = "make room on the controller's disk, then run the same command again: it goes on where it stopped"
    return RawStoreError(f"{message}; {advice}", path=path, errno=error.errno)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


class SampleWriter:
    """Writes one sample; a context manager that removes the partial folder when the sample was not finished."""

    def __init__(self, store: RawStore, cell: Cell, number: int, place: Mapping[str, int]) -> None:
        self.cell = cell
        self.number = number
        self.folder = store.path / "cells" / cell.id / f".sample-{number:02d}.partial"
        self._store = store
        self._place = dict(place)
        self._log: list[str] = []
        self._finished = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if not self._finished:
            self.abandon()

    def write(self, name: str, data: bytes | str) -> Path:
        """Write one file of the sample.

        Parameters
        ----------
        name : str
            Path below the sample's folder, such as ``workload/stdout.txt``; folders are made.
        data : bytes or str

        Raises
        ------
        RawStoreError
            When the name leaves the folder, is there already, or the file cannot be written.
        """
        path = self.folder / name
        parts = Path(name).parts
        if not parts or Path(name).is_absolute() or any(part.startswith(".") for part in parts):
            raise RawStoreError(f"expected a path below the sample's folder, found {name!r}", path=path)
        if path.exists():
            raise RawStoreError(f"{path}: is there already, and raw files are never replaced", path=path)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise _write_error(path, error) from error
        write_atomically(path, data, durable=False)
        return path

    def log(self, host: str, command: str, start: float, end: float, exit_code: int | None) -> None:
        """Add a command to the sample's log.txt, which `finish` writes as JSON lines."""
        entry = {"host": host, "command": command, "start": start, "end": end, "exit_code": exit_code}
        self._log.append(json.dumps(entry, sort_keys=True, ensure_ascii=False))

    def finish(
        self,
        status: Status,
        reasons: Sequence[Reason],
        *,
        window: Window | None,
        phases: Mapping[str, float],
        exit_code: int | None,
        disks: int,
        servers: Sequence[str],
        clients: Sequence[str],
    ) -> Sample:
        """Write log.txt and sample.json, make the sample exist, and list its files in the manifest.

        Raises
        ------
        RawStoreError
            When something cannot be written; the sample does not exist then.
        """
        if status_of(reasons) != status:
            message = f"expected status {status_of(reasons)} for these reasons, found {status}"
            raise RawStoreError(message, path=self.folder)
        target = self.folder.with_name(f"sample-{self.number:02d}")
        self.write("log.txt", "".join(line + "\n" for line in self._log))
        sample = Sample(
            path=target,
            campaign=self._store.name,
            cell_id=self.cell.id,
            sample=self.number,
            **self._place,
            status=status,
            reasons=tuple(reasons),
            window=window,
            phases={name: round(seconds, 4) for name, seconds in phases.items()},
            exit_code=exit_code,
            disks=disks,
            servers=tuple(servers),
            clients=tuple(clients),
        )
        try:
            self._sync_files()
            write_atomically(self.folder / "sample.json", dump_json(sample.model_dump(mode="json")))
            self.folder.rename(target)
            _sync(target.parent)
        except OSError as error:
            raise _write_error(target, error) from error
        self._finished = True
        self._store.list_files([target, target.parent / "cell.json"])
        return sample

    def _sync_files(self) -> None:
        # in threads, because one journal commit then serves many files
        paths = [self.folder, *self.folder.rglob("*")]
        with ThreadPoolExecutor(max_workers=16) as pool:
            list(pool.map(_sync, paths))

    def abandon(self) -> None:
        """Remove the partial folder."""
        shutil.rmtree(self.folder, ignore_errors=True)


class RawStore:
    """The folder of one campaign.

    Attributes
    ----------
    path : pathlib.Path
    name : str
        Of the campaign, which is the folder's name.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.name = path.resolve().name

    @classmethod
    def create(
        cls, path: Path, *, campaign_yaml: str, cluster_yaml: str, environment: Mapping[str, object]
    ) -> RawStore:
        """Start a campaign's folder; it appears with all of its first files at once.

        Parameters
        ----------
        path : pathlib.Path
            ``raw/<campaign>``, which must not hold a campaign yet.
        campaign_yaml, cluster_yaml : str
            The specifications as resolved.
        environment : mapping
            Facts of the hosts and of the controller; ``schema_version`` is added.

        Raises
        ------
        RawStoreError
            When the folder holds something, or cannot be written.
        """
        if path.exists() and any(entry.name not in UNLISTED for entry in path.iterdir()):
            raise RawStoreError(f"{path}: expected no such folder, found one with files in it", path=path)
        partial = path.with_name(f".{path.name}.partial")
        shutil.rmtree(partial, ignore_errors=True)
        try:
            (partial / "cells").mkdir(parents=True)
        except OSError as error:
            raise _write_error(partial, error) from error
        write_atomically(partial / "campaign.yaml", campaign_yaml)
        write_atomically(partial / "cluster.yaml", cluster_yaml)
        write_atomically(partial / "environment.json", dump_json({"schema_version": SCHEMA_VERSION, **environment}))
        cls(partial).list_files([partial / name for name in ("campaign.yaml", "cluster.yaml", "environment.json")])
        try:
            if path.exists():
                for name in UNLISTED & {entry.name for entry in path.iterdir()}:
                    (path / name).replace(partial / name)
                path.rmdir()
            partial.rename(path)
            _sync(path.parent)
        except OSError as error:
            raise _write_error(path, error) from error
        return cls(path)

    @classmethod
    def open(cls, path: Path) -> RawStore:
        """Open a campaign's folder.

        Raises
        ------
        RawStoreError
            When there is none, or it is of a newer schema.
        """
        if not (path / "campaign.yaml").is_file():
            message = f"{path}: expected a campaign's folder with a campaign.yaml, found none"
            raise RawStoreError(f"{message}; `glusterlab run` makes one", path=path)
        store = cls(path)
        store.environment()
        return store

    @property
    def campaign_yaml(self) -> str:
        """The text of the stored campaign.yaml."""
        return (self.path / "campaign.yaml").read_text()

    @property
    def cluster_yaml(self) -> str:
        """The text of the stored cluster.yaml."""
        return (self.path / "cluster.yaml").read_text()

    def environment(self) -> dict[str, Any]:
        """What environment.json holds."""
        return read_json(self.path / "environment.json")

    def digest(self) -> str:
        """SHA-256 of the manifest: changes when any listed file does, with the manifest kept as it should be."""
        return file_digest(self.path / MANIFEST)

    def cells(self) -> dict[str, Cell]:
        """The cells that have a folder, by id, in the order of their ids."""
        return {path.parent.name: self.cell(path.parent.name) for path in sorted(self.path.glob("cells/*/cell.json"))}

    def cell(self, cell_id: str) -> Cell:
        """One cell as stored.

        Raises
        ------
        RawStoreError
            When its cell.json is absent or damaged.
        """
        from glusterlab.spec.cell import Cell

        path = self.path / "cells" / cell_id / "cell.json"
        data = read_json(path)
        try:
            return Cell.model_validate(data["cell"])
        except (KeyError, ValidationError) as error:
            raise RawStoreError(f"{path}: expected a cell, found: {error}", path=path) from error

    def samples(self, cell_id: str | None = None) -> list[Sample]:
        """All samples, or those of one cell, by cell id and number.

        Raises
        ------
        RawStoreError
            When a sample.json is damaged or newer.
        """
        pattern = f"cells/{'*' if cell_id is None else cell_id}/sample-*/sample.json"
        return [Sample.read(path.parent) for path in sorted(self.path.glob(pattern))]

    def begin_sample(
        self,
        cell: Cell,
        *,
        repeat: int,
        round: int,  # noqa: A002  the plan's own word
        order: int,
        attempt: int,
    ) -> SampleWriter:
        """Make the partial folder of the cell's next sample.

        Raises
        ------
        RawStoreError
            When the folder cannot be made, or another sample of the cell is being written.
        """
        folder = self.path / "cells" / cell.id
        numbers = [int(match[1]) for entry in folder.glob("sample-*") if (match := _SAMPLE_DIR.fullmatch(entry.name))]
        place = {"repeat": repeat, "round": round, "order": order, "attempt": attempt}
        writer = SampleWriter(self, cell, max(numbers, default=0) + 1, place)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            if not (folder / "cell.json").exists():
                stored = {"schema_version": SCHEMA_VERSION, "cell_id": cell.id, "cell": cell.model_dump(mode="json")}
                write_atomically(folder / "cell.json", dump_json(stored))
            writer.folder.mkdir()
        except FileExistsError as error:
            message = f"{writer.folder}: is left from an interrupted run, or another run is at work"
            raise RawStoreError(message, path=writer.folder) from error
        except OSError as error:
            raise _write_error(writer.folder, error) from error
        return writer

    def recover(self) -> list[Path]:
        """Put in order what an interrupted run left: call it with the lock held, before the first sample.

        Partial samples and temporary files are removed. A sample that was complete, but not yet listed in the manifest
        when the run was killed, is listed.

        Returns
        -------
        list of pathlib.Path
            The partial samples that were removed.
        """
        partial = sorted(self.path.glob(_PARTIAL_GLOB))
        for folder in partial:
            shutil.rmtree(folder)
        for temporary in [*self.path.glob(".*.tmp"), *self.path.glob("cells/*/.*.tmp")]:
            temporary.unlink()
        listed = Manifest.read(self.path).digests
        complete = [path.parent for path in self.path.glob("cells/*/sample-*/sample.json")]
        new = [path for path in complete if (path / "sample.json").relative_to(self.path).as_posix() not in listed]
        cells = [
            path for path in self.path.glob("cells/*/cell.json") if path.relative_to(self.path).as_posix() not in listed
        ]
        if new or cells:
            self.list_files([*new, *cells])
        return partial

    def list_files(self, paths: Sequence[Path]) -> None:
        """Add files, and all files of folders, to the manifest; those that are listed already keep their digests."""
        manifest = Manifest.read(self.path)
        files = [file for path in paths for file in (path.rglob("*") if path.is_dir() else (path,)) if file.is_file()]
        added = {
            name: file_digest(file)
            for file in files
            if (name := file.relative_to(self.path).as_posix()) not in manifest.digests
        }
        write_atomically(self.path / MANIFEST, Manifest({**manifest.digests, **added}).text)

    def log(self, entry: Mapping[str, object]) -> None:
        """Append a line of JSON to the campaign's log.txt, which the manifest does not cover."""
        line = json.dumps({"time": round(time.time(), 3), **entry}, sort_keys=True, ensure_ascii=False) + "\n"
        try:
            with (self.path / "log.txt").open("a") as file:
                file.write(line)
        except OSError as error:
            raise _write_error(self.path / "log.txt", error) from error

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Hold the folder for one run; the lock ends with the process, however that ends.

        Raises
        ------
        RawStoreError
            When another run holds it; the message names its process and host.
        """
        import fcntl

        path = self.path / ".lock"
        with path.open("a+") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                file.seek(0)
                holder = file.read(200).strip() or "another process"
                message = f"{self.path}: is in use by {holder}; wait for it, or end it, then run again"
                raise RawStoreError(message, path=self.path) from error
            file.truncate(0)
            file.write(f"process {os.getpid()} on {socket.gethostname()}\n")
            file.flush()
            yield
