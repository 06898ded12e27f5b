"""The raw store: one folder per campaign, written so that a kill at any moment leaves nothing half-done.

A sample is written into ``cells/<id>/.sample-<nn>.partial/`` and becomes ``sample-<nn>/`` by one rename, after its
sample.json, the last of its files, is on the disk. Nothing is changed after that.
"""

import fcntl
import os
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Self

from glusterlab.errors import RawStoreError, UsageError
from glusterlab.rawfile import open_raw, read_raw
from glusterlab.spec.cell import Cell
from glusterlab.spec.fields import suggest
from glusterlab.store import aside, digests
from glusterlab.store.files import (
    SCHEMA_VERSION,
    dump_json,
    lock_file,
    read_json,
    sync,
    sync_below,
    write_atomically,
    write_error,
    writing,
)
from glusterlab.store.manifest import LOCK, MANIFEST, UNLISTED, Manifest, list_files
from glusterlab.store.sample import Sample, SampleWriter, Window, read_cell

__all__ = ["RawStore", "Sample", "SampleWriter", "Window", "appear", "is_baseline", "refuse_occupied", "work_folder"]

_BASELINE = re.compile(r"^origin: *[\"']?baseline\b", re.MULTILINE)


def is_baseline(raw: Path) -> bool:
    """Whether a campaign is a baseline: what its hosts can do is shown with the campaigns that ran on them."""
    try:
        return _BASELINE.search(read_raw(raw / "campaign.yaml").decode("utf-8", errors="replace")) is not None
    except OSError:
        return False


def choose_campaigns(raw_paths: Sequence[Path], project: Path) -> list[Path]:
    """The campaigns of these folders; without any, those in ``raw/`` that are no baselines.

    Raises UsageError when there is none, a folder is no campaign or a baseline, or two have one name.
    """
    named: dict[str, Path] = {}
    for path in raw_paths:
        if not os.path.lexists(path / MANIFEST):
            raise UsageError(f"{path} is no campaign: expected a folder with {MANIFEST}, such as raw/first-light")
        if is_baseline(path):
            raise UsageError(
                f"{path} is a baseline, which has no figures of its own: name a campaign that lies beside it and was "
                "measured on the same hosts"
            )
        raw = path.resolve()
        if named.setdefault(raw.name, raw) != raw:
            raise UsageError("two campaigns of one name would share a figures folder: reproduce them one at a time")
    if named:
        return list(named.values())
    found = sorted(path.parent for path in (project / "raw").glob(f"*/{MANIFEST}"))
    chosen = [path for path in found if path.name != "published" and not is_baseline(path)]
    if not chosen:
        advice = "measure one with `glusterlab run`, or name its folder; `glusterlab init DIR` makes a lab for it"
        raise UsageError(f"no campaign in {project / 'raw'}: {advice}")
    return chosen


def refuse_occupied(path: Path) -> None:
    """Refuse a folder that holds more than what the manifest does not list."""
    if path.exists() and any(entry.name not in UNLISTED for entry in path.iterdir()):
        advice = "choose another name for the campaign, or move that folder away"
        message = f"{path}: expected no such folder, found one with files in it; {advice}"
        raise RawStoreError(message, path=path, exit_code=2)


def appear(partial: Path, path: Path) -> None:
    """Give a folder its name, and what lies there that the manifest does not list."""
    with writing(path):
        with _held(path.parent):
            if path.exists():
                for name in UNLISTED & {entry.name for entry in path.iterdir()}:
                    (path / name).replace(partial / name)
                path.rmdir()
            partial.rename(path)
        sync(path.parent)


@contextmanager
def _held(folder: Path) -> Iterator[None]:
    """Keep others from opening a campaign's lock in a folder while that campaign gets its place there."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        # some file systems, such as NFS, lock no folders
        with suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


MARK = ".glusterlab"
"""The file by which a folder is known as the suite's own, as on hosts: in no other is anything deleted."""


@contextmanager
def work_folder(path: Path, suffix: str, *, goes_on: bool = False) -> Iterator[Path]:
    """A locked folder beside `path`, in which that is made before it appears; gone at the end.

    What an earlier one left is deleted; with `goes_on` it stays, after an error, too. RawStoreError when that folder is
    not the suite's, or another process has it.
    """
    work = path.with_name(f".{path.name}.{suffix}")
    with writing(work):
        work.mkdir(parents=True, exist_ok=True)
        marked = (work / MARK).is_file() and not (work / MARK).is_symlink()
        if work.is_symlink() or not (marked or {entry.name for entry in work.iterdir()} <= {".lock"}):
            advice = "move it away, or delete it if nobody needs what is in it"
            raise RawStoreError(f"{work}: was not made by glusterlab (no file {MARK} in it): {advice}", path=work)
        (work / MARK).touch()
    with RawStore(work).lock():
        try:
            if not goes_on:
                _empty(work)
            yield work
            goes_on = False
        finally:
            if not goes_on:
                _empty(work)
                shutil.rmtree(work, ignore_errors=True)


def _empty(folder: Path) -> None:
    for entry in folder.iterdir():
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry, ignore_errors=True)
        elif entry.name not in {MARK, *UNLISTED}:
            entry.unlink()


_SAMPLE_DIR = re.compile(r"sample-(\d{2,})")


class RawStore:
    """The folder of one campaign; while `appears_whole`, samples are not listed and on the disk one by one.

    Of one that was opened, `files` has the signatures of what is as the manifest has it, and `wrong` what is not: such
    samples are not among `samples`.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.files: digests.Signatures = {}
        self.wrong: dict[str, str] = {}
        self.name = path.resolve().name
        self.appears_whole = False

    @classmethod
    def create(cls, path: Path, *, campaign_yaml: str, cluster_yaml: str, environment: Mapping[str, object]) -> Self:
        """Start a campaign's folder; it appears with all of its first files at once, where nothing was."""
        texts = {"campaign.yaml": campaign_yaml, "cluster.yaml": cluster_yaml}
        with cls.whole(path, specifications=texts, environment=environment):
            pass
        return cls(path)

    @classmethod
    @contextmanager
    def whole(
        cls, path: Path, *, specifications: Mapping[str, str], environment: Mapping[str, object]
    ) -> Iterator[Self]:
        """Make a campaign that appears with all of its samples at once or, after an error or a kill, not at all.

        `specifications`: texts by file name. Yields the store to be filled; the folder around it is for whatever has to
        be on the same disk. Raises RawStoreError when the folder is taken, or another process is making it.
        """
        refuse_occupied(path)
        with work_folder(path, "import") as work:
            store = cls(work / path.name)
            store.appears_whole = True
            with writing(store.path):
                (store.path / "cells").mkdir(parents=True)
            for name, text in specifications.items():
                write_atomically(store.path / name, text)
            environment_json = dump_json({"schema_version": SCHEMA_VERSION, **environment})
            write_atomically(store.path / "environment.json", environment_json)
            yield store
            list_files(store.path, [store.path])
            sync_below(store.path)
            refuse_occupied(path)
            appear(store.path, path)

    @classmethod
    def open(cls, path: Path, *, damaged: bool = False, examined: bool = True) -> Self:
        """Open a campaign's folder whose files are as its manifest has them; or, with `damaged`, only its samples not.

        Raises RawStoreError when there is none, when it is of a newer schema, or not as its manifest has it.
        """
        try:
            open_raw(path / "campaign.yaml").close()
        except (FileNotFoundError, NotADirectoryError) as error:
            near = suggest(path.name, [each.parent.name for each in path.parent.glob("*/campaign.yaml")], listed=False)
            message = f"{path}: expected a campaign's folder with a campaign.yaml, found none{near}"
            message = f"{message}; `glusterlab run` and `glusterlab import` make one below raw/"
            raise RawStoreError(message, path=path, exit_code=2) from error
        except OSError as error:
            raise RawStoreError(f"{error.filename}: cannot be read: {error.strerror}", path=path) from error
        store = cls(path)
        store.environment()
        if examined:
            store.examine(damaged=damaged)
        return store

    def examine(self, *, damaged: bool = False) -> None:
        """Hold all files to the manifest; RawStoreError unless they are right, or, with `damaged`, all but samples."""
        self.files, self.wrong = digests.examine(self.path, makes_folder=True)
        lost = {name for name, what in self.wrong.items() if what == digests.LOST and name.startswith("cells/")}
        if not all(damaged and (name.count("/") > 2 or name in lost) for name in self.wrong):
            raise RawStoreError(digests.damage_sentence(self.path, self.wrong), path=self.path, exit_code=1)

    def environment(self) -> dict[str, Any]:
        return read_json(self.path / "environment.json")

    def environments(self) -> dict[int, dict[str, Any]]:
        """Facts of the hosts by the machine that they ran on: environment.json, then environment-2.json, ..."""
        files = {1: self.path / "environment.json"}
        while os.path.lexists(more := self.path / f"environment-{len(files) + 1}.json"):
            files[len(files) + 1] = more
        return {number: read_json(file) for number, file in files.items()}

    def add_environment(self, environment: Mapping[str, object]) -> int:
        """Store the facts of hosts that are others now, such as on another machine; returns their number."""
        number = len(self.environments()) + 1
        file = self.path / f"environment-{number}.json"
        write_atomically(file, dump_json({"schema_version": SCHEMA_VERSION, **environment}))
        list_files(self.path, [file])
        return number

    def cells(self) -> dict[str, Cell]:
        # also one that cannot be read: a link that leads nowhere is no reason to pass over it
        cells = (path.name for path in sorted(self.path.glob("cells/*")) if os.path.lexists(path / "cell.json"))
        return {name: self.cell(name) for name in cells}

    def cell(self, cell_id: str) -> Cell:
        return read_cell(self.path / "cells" / cell_id / "cell.json")

    def samples(self, cell_id: str | None = None) -> list[Sample]:
        folders = sorted(self.path.glob(f"cells/{'*' if cell_id is None else cell_id}/sample-*"))
        wrong = {self.path.joinpath(*name.split("/")[:3]) for name in self.wrong}
        return [
            Sample.read(folder) for folder in folders if folder not in wrong and os.path.lexists(folder / "sample.json")
        ]

    def begin_sample(self, cell: Cell, **place: int) -> SampleWriter:
        """Make the partial folder of the cell's next sample; `place`: its repeat, round, order, attempt, warmup."""
        folder = self.path / "cells" / cell.id
        names = {entry.name for entry in folder.glob("sample-*")}
        # a sample that was lost keeps its number, or its digests were those of the next one
        names |= {name.split("/")[2] for name in self.listed if name.startswith(f"cells/{cell.id}/")}
        numbers = [int(match[1]) for name in names if (match := _SAMPLE_DIR.fullmatch(name))]
        writer = SampleWriter(self, cell, max(numbers, default=0) + 1, place)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            if not (folder / "cell.json").exists():
                stored = {"schema_version": SCHEMA_VERSION, "cell_id": cell.id, "cell": cell.model_dump(mode="json")}
                write_atomically(folder / "cell.json", dump_json(stored), durable=not self.appears_whole)
                if not self.appears_whole:
                    sync(folder.parent)
                    # now: a run that is stopped leaves it without a sample
                    list_files(self.path, [folder / "cell.json"])
            writer.folder.mkdir()
        except FileExistsError as error:
            message = f"{writer.folder}: is left from an interrupted run, or another run is at work"
            raise RawStoreError(message, path=writer.folder) from error
        except OSError as error:
            raise write_error(writer.folder, error) from error
        return writer

    def recover(self) -> list[Path]:
        """Remove partial samples, list complete ones that a killed run did not; call it with the lock held."""
        aside.settle(self.path)
        partial = sorted(self.path.glob("cells/*/.sample-*.partial"))
        for folder in partial:
            shutil.rmtree(folder)
        for temporary in [*self.path.glob(".*.tmp"), *self.path.glob("cells/*/.*.tmp")]:
            temporary.unlink()
        patterns = ("cells/*/sample-*/sample.json", "cells/*/cell.json", "environment-*.json")
        stored = [path for pattern in patterns for path in self.path.glob(pattern)]
        listed = self.listed
        if new := [path for path in stored if path.relative_to(self.path).as_posix() not in listed]:
            list_files(self.path, [path.parent if path.name == "sample.json" else path for path in new])
        return partial

    @property
    def listed(self) -> dict[str, str]:
        return Manifest.read(self.path).digests

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Hold the folder for one run; the lock ends with the process, however that ends."""

        def refuse(holder: str) -> RawStoreError:
            message = f"{self.path}: is in use by {holder}; wait for it, or end it, then run again"
            return RawStoreError(message, path=self.path)

        with _held(self.path.parent):
            lock = lock_file(self.path / LOCK, refuse)
        try:
            yield
        finally:
            os.close(lock)
