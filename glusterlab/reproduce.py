"""Every notebook, figure and table of a campaign, made again from its raw files; only what changed.

A notebook runs when its code cells, its parameters, the raw files, ``raw/published``, the library, the lock file or
the Python version are others than when its outputs were made, or when one of these outputs is missing or changed. When
only its text changed, nothing runs: the executed notebook is written anew around the outputs that it has.

Each notebook runs in a process of its own, in a scratch view of the project in which only ``figures/<campaign>/`` is
empty. So a notebook's outputs are known to be its own, and they are moved into place only when all of it succeeded.
A run of all notebooks also removes what none of them makes any more; a run of some says on the page which figures are
of an earlier run.
"""

from __future__ import annotations

import glob
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from glusterlab.errors import GlusterlabError, ReproduceError, UsageError
from glusterlab.fingerprint import NotebookSource, Signatures, check_raw, environment_parts, key
from glusterlab.manifest import MANIFEST, file_digest
from glusterlab.notebook import Job, Result, kernel_environment

SCHEMA_VERSION = 2
"""Version of .reproduce.json; a file of another version is as none."""

STATE = ".reproduce.json"
CELL_TIMEOUT = 600
"""Seconds for one cell of a notebook."""
NOTEBOOK_TIMEOUT = 1800
"""Seconds for a whole notebook, its kernel's start included."""

_PRIVATE = frozenset({"figures", "glusterlab", "build", "dist"})

Outcome = Literal["started", "ran", "retold", "unchanged", "failed"]


@dataclass(frozen=True)
class Progress:
    """What happened to one notebook.

    Attributes
    ----------
    outcome : str
        ``started``, then ``ran``, ``retold`` (only its text changed) or ``failed``; or ``unchanged``.
    seconds : float
        Since its start.
    message : str
        The failure, with cell and error; empty otherwise.
    """

    campaign: str
    notebook: str
    outcome: Outcome
    seconds: float = 0.0
    message: str = ""


@dataclass(frozen=True)
class Failure:
    """A notebook, or a whole campaign, that could not be reproduced.

    Attributes
    ----------
    notebook : str
        Empty when the campaign's raw files are at fault.
    cell : int or None
        Counted from 1 over all cells of the notebook.
    tag : str or None
        First tag of that cell.
    error : str
        In one line.
    traceback : str
        Of the kernel; may be empty.
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
    """What a run of `reproduce` did; notebooks are named ``<campaign>/<notebook>``."""

    ran: tuple[str, ...] = ()
    retold: tuple[str, ...] = ()
    unchanged: tuple[str, ...] = ()
    failed: tuple[Failure, ...] = ()
    figures_dirs: tuple[Path, ...] = ()

    @property
    def exit_code(self) -> int:
        """0 when all is well, 1 when anything failed."""
        return 1 if self.failed else 0


@dataclass
class _State:
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
    def read(cls, path: Path) -> _State:
        try:
            data = json.loads(path.read_text(encoding="utf-8"))
            if data["schema_version"] != SCHEMA_VERSION:
                return cls()
            return cls(data["raw"], data["notebooks"], data["index"], data["noted"])
        except (OSError, ValueError, KeyError, TypeError):
            return cls()

    def write(self, path: Path) -> None:
        data = {"schema_version": SCHEMA_VERSION, **vars(self)}
        _replace(path, json.dumps(data, indent=1, sort_keys=True).encode())


@dataclass(frozen=True)
class _Task:
    raw: Path
    figures: Path
    source: NotebookSource
    key: str
    retell: bool

    @property
    def name(self) -> str:
        return f"{self.raw.name}/{self.source.path.stem}"


def reproduce(
    raw_paths: Sequence[Path] = (),
    *,
    project: Path,
    notebooks: Sequence[str] | None = None,
    jobs: int | None = None,
    force: bool = False,
    progress: Callable[[Progress], None] | None = None,
) -> ReproduceSummary:
    """Run the notebooks of ``notebooks/`` on campaigns and write ``figures/<campaign>/``.

    Parameters
    ----------
    raw_paths : sequence of pathlib.Path
        Campaign folders; empty: every folder of ``raw/`` that has a manifest.
    project : pathlib.Path
        The folder that holds ``notebooks/``, ``raw/`` and ``figures/``.
    notebooks : sequence of str, optional
        Names, such as ``10-large-files`` or ``10``; all by default.
    jobs : int, optional
        Notebooks at a time; by default one per processor.
    force : bool
        Run also what did not change.
    progress : callable, optional
        Called with a `Progress` from several threads, one call at a time.

    Returns
    -------
    ReproduceSummary
        A failing notebook is in ``failed``; the others still finish.

    Raises
    ------
    UsageError
        When there is no such campaign or notebook, or none at all.
    """
    project = project.resolve()
    campaigns = _campaigns(raw_paths, project)
    paths = _notebooks(notebooks, project)
    run = _Run(project, paths, jobs or os.cpu_count() or 1, force, progress or (lambda _: None))
    run.full = notebooks is None
    for raw in campaigns:
        run.campaign(raw)
    figures_dirs = tuple(project / "figures" / raw.name for raw in campaigns)
    return ReproduceSummary(tuple(run.ran), tuple(run.retold), tuple(run.unchanged), tuple(run.failed), figures_dirs)


def _campaigns(raw_paths: Sequence[Path], project: Path) -> list[Path]:
    if raw_paths:
        for path in raw_paths:
            if not (path / MANIFEST).is_file():
                raise UsageError(f"{path} is no campaign: expected a folder with {MANIFEST}, such as raw/first-light")
        named = {path.resolve().name: path.resolve() for path in raw_paths}
        if len(named) < len({path.resolve() for path in raw_paths}):
            raise UsageError("two campaigns of one name would share a figures folder: reproduce them one at a time")
        return list(named.values())
    found = sorted(path.parent for path in (project / "raw").glob(f"*/{MANIFEST}"))
    found = [path for path in found if path.name != "published"]
    if not found:
        raise UsageError(f"no campaign in {project / 'raw'}: measure one with `glusterlab run`, or name its folder")
    return found


def _notebooks(names: Sequence[str] | None, project: Path) -> list[Path]:
    found = sorted((project / "notebooks").glob("[0-9][0-9]-*.ipynb"))
    if not found:
        raise UsageError(f"no notebook in {project / 'notebooks'}: expected files such as 10-large-files.ipynb")
    if names is None:
        return found
    chosen = []
    for name in names:
        stem = name.removesuffix(".ipynb").removeprefix("notebooks/")
        matches = [path for path in found if path.stem == stem or path.stem.startswith(f"{stem}-")]
        if not matches:
            raise UsageError(f"no notebook {name}: there are {', '.join(path.stem for path in found)}")
        chosen += [path for path in matches if path not in chosen]
    return chosen


class _Run:
    """One call of `reproduce`: its settings, and what has become of the notebooks so far."""

    def __init__(
        self, project: Path, notebooks: list[Path], jobs: int, force: bool, progress: Callable[[Progress], None]
    ) -> None:
        self.project = project
        self.notebooks = notebooks
        self.jobs = jobs
        self.force = force
        self.full = False
        self.environment = environment_parts(project)
        self.ran: list[str] = []
        self.retold: list[str] = []
        self.unchanged: list[str] = []
        self.failed: list[Failure] = []
        self._progress = progress
        self._lock = threading.Lock()
        self._processes: set[subprocess.Popen[bytes]] = set()
        self._stopping = False

    def campaign(self, raw: Path) -> None:
        """Bring ``figures/<campaign>/`` up to date."""
        figures = self.project / "figures" / raw.name
        state = _State.read(figures / STATE)
        try:
            digest, signatures = check_raw(raw, state.raw)
        except GlusterlabError as error:
            self._fail(Failure(raw.name, "", str(error)), 0.0)
            return
        changed = signatures != state.raw
        state.raw = signatures
        tasks = self._plan(raw, figures, state, digest)
        if tasks:
            figures.mkdir(parents=True, exist_ok=True)
            self._run_all(tasks, state)
        if not figures.is_dir():
            return
        failed = sorted({failure.notebook for failure in self.failed if failure.campaign == raw.name})
        removed = self.full and self._remove_abandoned(figures, state, keep_figures=bool(failed))
        noted = {"failed": failed, "earlier": self._earlier(raw, figures, state, digest)}
        index = figures / "index.html"
        stale = not index.is_file() or file_digest(index) != state.index or noted != state.noted
        if tasks or stale or removed:
            state.noted = noted
            self._write_index(raw, figures, state, digest)
            changed = True
        if changed:
            state.write(figures / STATE)

    def _remove_abandoned(self, figures: Path, state: _State, *, keep_figures: bool) -> bool:
        """Forget notebooks that are gone, and remove figures that no notebook makes; true when there were any."""
        gone = state.notebooks.keys() - {path.stem for path in self.notebooks}
        for name in gone:
            del state.notebooks[name]
            for suffix in (".ipynb", ".html"):
                (figures / "notebooks" / f"{name}{suffix}").unlink(missing_ok=True)
        if keep_figures:
            return bool(gone)
        kept = {name for entry in state.notebooks.values() for name in entry["outputs"]}
        abandoned = [path for path in figures.glob("fig*.*") if path.is_file() and path.name not in kept]
        for path in abandoned:
            path.unlink()
        return bool(gone or abandoned)

    def _earlier(self, raw: Path, figures: Path, state: _State, digest: str) -> list[str]:
        """Files of figures that are not of the raw files, the library and the notebooks as they are now."""
        current: set[str] = set()
        for name, entry in state.notebooks.items():
            with suppress(ReproduceError):
                source = NotebookSource.read(self.project / "notebooks" / f"{name}.ipynb")
                if self._key(raw, source, digest) == entry["key"]:
                    current.update(entry["outputs"])
        return sorted(path.name for path in figures.glob("fig*.*") if path.name not in current)

    def _key(self, raw: Path, source: NotebookSource, digest: str) -> str:
        return key({**self.environment, "code": source.code, "parameters": self._parameters(raw), "raw": digest})

    def _plan(self, raw: Path, figures: Path, state: _State, digest: str) -> list[_Task]:
        tasks = []
        for path in self.notebooks:
            try:
                source = NotebookSource.read(path)
                source.refuse_unknown(self._parameters(raw))
            except ReproduceError as error:
                self._fail(Failure(raw.name, path.stem, str(error)), 0.0)
                continue
            known = state.notebooks.get(path.stem, {})
            wanted = self._key(raw, source, digest)
            same = not self.force and known.get("key") == wanted and _intact(figures, known["outputs"])
            if same and known["text"] == source.text:
                self.unchanged.append(f"{raw.name}/{path.stem}")
                self._tell(Progress(raw.name, path.stem, "unchanged"))
            else:
                tasks.append(_Task(raw, figures, source, wanted, retell=same))
        return tasks

    def _parameters(self, raw: Path) -> dict[str, str]:
        inside = raw.is_relative_to(self.project)
        campaign = raw.relative_to(self.project).as_posix() if inside else str(raw)
        return {"campaign": campaign, "figures": f"figures/{raw.name}"}

    def _run_all(self, tasks: list[_Task], state: _State) -> None:
        pool = ThreadPoolExecutor(max_workers=min(self.jobs, len(tasks)))
        try:
            for future in [pool.submit(self._run_one, task, state) for task in tasks]:
                future.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            self._stop_all()
            raise
        finally:
            pool.shutdown()

    def _run_one(self, task: _Task, state: _State) -> None:
        campaign, notebook = task.raw.name, task.source.path.stem
        self._tell(Progress(campaign, notebook, "started"))
        started = time.monotonic()
        with _scratch(self.project, task.figures) as scratch:
            job = Job(
                source=str(task.source.path),
                folder=str(scratch.executed),
                parameters=self._parameters(task.raw),
                cwd=str(scratch.view),
                cell_timeout=CELL_TIMEOUT,
                executed=str(task.figures / "notebooks" / task.source.path.name) if task.retell else None,
            )
            result = self._process(job, scratch.kernel)
            seconds = time.monotonic() - started
            if result.error:
                failure = Failure(campaign, notebook, result.error, result.cell, result.tag, result.traceback)
                self._fail(failure, seconds)
                return
            with self._lock:
                earlier = state.notebooks.get(notebook, {}).get("outputs", {})
                outputs = _move(scratch.outputs(notebook), task.figures)
                if task.retell:
                    outputs = {**earlier, **outputs}
                state.notebooks[notebook] = {"key": task.key, "text": task.source.text, "outputs": outputs}
                _drop(task.figures, [*earlier, *outputs], state)
                state.write(task.figures / STATE)
                (self.retold if task.retell else self.ran).append(task.name)
        self._tell(Progress(campaign, notebook, "retold" if task.retell else "ran", seconds))

    def _process(self, job: Job, kernel: Path) -> Result:
        command = [sys.executable, "-m", "glusterlab.notebook", str(job.write())]
        log = Path(job.folder, "log.txt")
        environment = kernel_environment(kernel)
        with log.open("wb") as output:
            with self._lock:
                if self._stopping:
                    return Result("stopped")
                process = subprocess.Popen(
                    command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, env=environment
                )
                self._processes.add(process)
            try:
                process.wait(NOTEBOOK_TIMEOUT)
            except subprocess.TimeoutExpired:
                _stop(process)
                return Result(f"not done within {NOTEBOOK_TIMEOUT} s, stopped")
            finally:
                with self._lock:
                    self._processes.discard(process)
        result = Result.read(Path(job.folder))
        if result is not None:
            return result
        last = (log.read_text(errors="replace").strip().splitlines() or ["it said nothing"])[-1]
        return Result(f"its process ended with {process.returncode}: {last}")

    def _stop_all(self) -> None:
        with self._lock:
            self._stopping = True
            processes = list(self._processes)
        for process in processes:
            process.terminate()
        for process in processes:
            _stop(process)

    def _write_index(self, raw: Path, figures: Path, state: _State, digest: str) -> None:
        from glusterlab.gallery import write_index

        made_by = {
            output: name for name, entry in state.notebooks.items() for output in entry["outputs"] if "/" not in output
        }
        index = write_index(raw, figures, digest=digest, made_by=made_by, **state.noted)
        state.index = file_digest(index)

    def _fail(self, failure: Failure, seconds: float) -> None:
        with self._lock:
            self.failed.append(failure)
        self._tell(Progress(failure.campaign, failure.notebook, "failed", seconds, str(failure)))

    def _tell(self, event: Progress) -> None:
        with self._lock:
            self._progress(event)


def _intact(figures: Path, outputs: Mapping[str, str]) -> bool:
    return all((figures / name).is_file() and file_digest(figures / name) == sha for name, sha in outputs.items())


def _stop(process: subprocess.Popen[bytes]) -> None:
    """End a notebook's process: nbclient takes its kernel down on SIGTERM, a kernel ends when its parent is gone."""
    process.terminate()
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


@dataclass(frozen=True)
class _Scratch:
    """Where one notebook runs.

    Attributes
    ----------
    view : pathlib.Path
        The project as the notebook sees it.
    figures : pathlib.Path
        The figures folder in it, private to this notebook.
    executed : pathlib.Path
        For the executed notebook.
    kernel : pathlib.Path
        For the kernel's specification.
    """

    view: Path
    figures: Path
    executed: Path
    kernel: Path

    def outputs(self, notebook: str) -> dict[str, Path]:
        """What the notebook made, by the path below the figures folder."""
        found = {
            path.relative_to(self.figures).as_posix(): path
            for path in sorted(self.figures.rglob("*"))
            if path.is_file() and path.relative_to(self.figures).parts[0] != "tables"
        }
        for suffix in (".ipynb", ".html"):
            found[f"notebooks/{notebook}{suffix}"] = self.executed / f"{notebook}{suffix}"
        return found


@contextmanager
def _scratch(project: Path, figures: Path) -> Iterator[_Scratch]:
    """A view of the project by links, with an empty figures folder that shares only the cache of tables."""
    with tempfile.TemporaryDirectory(prefix="glusterlab-reproduce-", ignore_cleanup_errors=True) as folder:
        root = Path(folder)
        view = root / "project"
        scratch = _Scratch(view, view / "figures" / figures.name, root / "executed", root / "kernel")
        scratch.figures.mkdir(parents=True)
        scratch.executed.mkdir()
        for entry in project.iterdir():
            if entry.name not in _PRIVATE and not entry.name.startswith("."):
                (view / entry.name).symlink_to(entry)
        tables = figures / "tables"
        tables.mkdir(parents=True, exist_ok=True)
        (scratch.figures / "tables").symlink_to(tables)
        yield scratch


def _move(made: Mapping[str, Path], figures: Path) -> dict[str, str]:
    """Put a notebook's files into place, each by one rename, and return their digests; equal ones are left alone."""
    outputs = {name: file_digest(path) for name, path in made.items()}
    for name, path in made.items():
        target = figures / name
        if not target.is_file() or file_digest(target) != outputs[name]:
            target.parent.mkdir(parents=True, exist_ok=True)
            partial = target.with_name(f".{target.name}.partial")
            shutil.copyfile(path, partial)
            partial.replace(target)
    return outputs


def _drop(figures: Path, names: Sequence[str], state: _State) -> None:
    """Remove files of these names, whatever their suffix, that no notebook makes any more."""
    kept = {name for entry in state.notebooks.values() for name in entry["outputs"]}
    for stem in {name.rpartition(".")[0] for name in names}:
        for path in figures.glob(f"{glob.escape(stem)}.*"):
            if path.relative_to(figures).as_posix() not in kept:
                path.unlink()


def _replace(path: Path, data: bytes) -> None:
    partial = path.with_name(f".{path.name}.partial")
    partial.write_bytes(data)
    partial.replace(path)
