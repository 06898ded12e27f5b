"""Every notebook, figure and table of a campaign, made again from its raw files; only what changed.

A notebook runs when its code cells, its parameters, the raw files, ``raw/published``, the library, the lock file or
the Python version are others than when its outputs were made, or when one of these outputs is missing or changed. When
only its text changed, nothing runs: the executed notebook is written anew around the outputs that it has.

Each notebook runs in a process of its own (`glusterlab.scratch`), here or on the workers of a Dask cluster, and its
outputs are put into place only when all of it succeeded. A run of all notebooks also removes what none of them makes
any more; a run of some says on the page which figures are of an earlier run. A campaign may lie elsewhere, named by a
URL; so may the figures, of which this machine then keeps a mirror.
"""

from __future__ import annotations

import os
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from glusterlab import scratch
from glusterlab.errors import GlusterlabError, ReproduceError, UsageError
from glusterlab.figurestate import STATE, State, drop, figures_of, intact, put
from glusterlab.fingerprint import NotebookSource, Signatures, check_raw, environment_parts, key
from glusterlab.manifest import MANIFEST, file_digest
from glusterlab.outputs import output_files
from glusterlab.storage import Remote, place

if TYPE_CHECKING:
    from distributed import Client

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
    figures_dirs: tuple[Path | Remote, ...] = ()

    @property
    def exit_code(self) -> int:
        """0 when all is well, 1 when anything failed."""
        return 1 if self.failed else 0


@dataclass(frozen=True)
class _Campaign:
    """A campaign, and where its figures go.

    Attributes
    ----------
    raw : pathlib.Path or Remote
    figures : pathlib.Path
        ``figures/<campaign>``, or this machine's mirror of it.
    tables : pathlib.Path or Remote
    """

    raw: Path | Remote
    figures: Path
    tables: Path | Remote

    @property
    def name(self) -> str:
        return self.raw.name


@dataclass(frozen=True)
class _Task:
    campaign: _Campaign
    source: NotebookSource
    key: str
    retell: bool

    @property
    def name(self) -> str:
        return f"{self.campaign.name}/{self.source.path.stem}"


def reproduce(
    raw_paths: Sequence[Path | str] = (),
    *,
    project: Path,
    notebooks: Sequence[str] | None = None,
    output: Path | str | None = None,
    jobs: int | None = None,
    force: bool = False,
    scheduler: str | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> ReproduceSummary:
    """Run the notebooks of ``notebooks/`` on campaigns and write ``figures/<campaign>/``.

    Parameters
    ----------
    raw_paths : sequence of pathlib.Path or str
        Campaign folders, or their URLs; empty: every folder of ``raw/`` that has a manifest.
    project : pathlib.Path
        The folder that holds ``notebooks/``, ``raw/`` and ``figures/``.
    notebooks : sequence of str, optional
        Names, such as ``10-large-files`` or ``10``; all by default.
    output : pathlib.Path or str, optional
        Folder or URL that gets a folder per campaign; by default the project's ``figures/``.
    jobs : int, optional
        Notebooks at a time; by default one per processor.
    force : bool
        Run also what did not change.
    scheduler : str, optional
        Address of a Dask scheduler: its workers make the tables and run the notebooks. They must reach the campaigns
        and the output under the same paths or URLs.
    progress : callable, optional
        Called with a `Progress` from several threads, one call at a time.

    Returns
    -------
    ReproduceSummary
        A failing notebook is in ``failed``; the others still finish.

    Raises
    ------
    UsageError
        When there is no such campaign or notebook, or none at all; or the scheduler cannot be reached.
    """
    project = project.resolve()
    campaigns = _campaigns(raw_paths, project)
    paths = _notebooks(notebooks, project)
    run = _Run(project, paths, jobs or os.cpu_count() or 1, force, progress or (lambda _: None))
    run.full = notebooks is None
    run.scheduler = scheduler
    target = project / "figures" if output is None else place(output)
    figures_dirs: list[Path | Remote] = []
    for raw in campaigns:
        with figures_of(target / raw.name, own=output is None) as (figures, tables):
            run.campaign(_Campaign(raw, figures, tables))
            if isinstance(target, Path) or (figures / "index.html").is_file():
                figures_dirs.append(target / raw.name)
    return ReproduceSummary(
        tuple(run.ran), tuple(run.retold), tuple(run.unchanged), tuple(run.failed), tuple(figures_dirs)
    )


def _campaigns(raw_paths: Sequence[Path | str], project: Path) -> list[Path | Remote]:
    if raw_paths:
        named: dict[str, Path | Remote] = {}
        for text in raw_paths:
            raw = place(text)
            if isinstance(raw, Path):
                if not (raw / MANIFEST).is_file():
                    raise UsageError(
                        f"{raw} is no campaign: expected a folder with {MANIFEST}, such as raw/first-light"
                    )
                raw = raw.resolve()
            if named.setdefault(raw.name, raw) != raw:
                raise UsageError("two campaigns of one name would share a figures folder: reproduce them one at a time")
        return list(named.values())
    found = sorted(path.parent for path in (project / "raw").glob(f"*/{MANIFEST}"))
    found = [path for path in found if path.name != "published"]
    if not found:
        raise UsageError(f"no campaign in {project / 'raw'}: measure one with `glusterlab run`, or name its folder")
    return list(found)


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
        self.scheduler: str | None = None
        self.environment = environment_parts(project)
        self.baselines: dict[Path, dict[str, str]] = {}
        self.ran: list[str] = []
        self.retold: list[str] = []
        self.unchanged: list[str] = []
        self.failed: list[Failure] = []
        self._progress = progress
        self._lock = threading.Lock()
        self._processes: set[subprocess.Popen[bytes]] = set()
        self._stopping = False

    def campaign(self, campaign: _Campaign) -> None:
        """Bring ``figures/<campaign>/`` up to date."""
        figures = campaign.figures
        state = State.read(figures / STATE)
        try:
            folder, digest, signatures = self._checked(campaign.raw, state.raw)
        except GlusterlabError as error:
            self._fail(Failure(campaign.name, "", str(error)), 0.0)
            return
        changed = signatures != state.raw
        state.raw = signatures
        tasks = self._plan(campaign, state, digest)
        if tasks:
            figures.mkdir(parents=True, exist_ok=True)
            self._run_all(campaign, tasks, state)
        if not figures.is_dir():
            return
        failed = sorted({failure.notebook for failure in self.failed if failure.campaign == campaign.name})
        removed = self.full and self._remove_abandoned(figures, state, keep_figures=bool(failed))
        noted = {"failed": failed, "earlier": self._earlier(campaign, state, digest)}
        index = figures / "index.html"
        stale = not index.is_file() or file_digest(index) != state.index or noted != state.noted
        if tasks or stale or removed:
            state.noted = noted
            self._write_index(folder, figures, state, digest)
            changed = True
        if changed:
            state.write(figures / STATE)

    def _checked(self, raw: Path | Remote, known: Signatures) -> tuple[Path, str, Signatures]:
        """A folder of this machine with the campaign's small files, the digest of its manifest, and signatures."""
        if isinstance(raw, Path):
            return raw, *check_raw(raw, known)
        from glusterlab.integrity import check_remote
        from glusterlab.openraw import OpenCampaign

        opened = OpenCampaign.open(raw)
        return opened.store.path, *check_remote(raw, opened.store.path, opened.versions, known, self.scheduler)

    def _remove_abandoned(self, figures: Path, state: State, *, keep_figures: bool) -> bool:
        """Forget notebooks that are gone, and remove figures that no notebook makes; true when there were any."""
        gone = state.notebooks.keys() - {path.stem for path in self.notebooks}
        for name in gone:
            del state.notebooks[name]
            for suffix in (".ipynb", ".html"):
                (figures / "notebooks" / f"{name}{suffix}").unlink(missing_ok=True)
        if keep_figures:
            return bool(gone)
        kept = {name for entry in state.notebooks.values() for name in entry["outputs"]}
        abandoned = [path for path in output_files(figures) if path.name not in kept]
        for path in abandoned:
            path.unlink()
        return bool(gone or abandoned)

    def _earlier(self, campaign: _Campaign, state: State, digest: str) -> list[str]:
        """Files of figures that are not of the raw files, the library and the notebooks as they are now."""
        current: set[str] = set()
        for name, entry in state.notebooks.items():
            with suppress(ReproduceError):
                source = NotebookSource.read(self.project / "notebooks" / f"{name}.ipynb")
                if self._key(campaign, source, digest) == entry["key"]:
                    current.update(entry["outputs"])
        return [path.name for path in output_files(campaign.figures) if path.name not in current]

    def _key(self, campaign: _Campaign, source: NotebookSource, digest: str) -> str:
        parameters = self._parameters(campaign)
        known = {"code": source.code, "parameters": parameters, "raw": digest, **self._baseline(campaign)}
        return key({**self.environment, **known})

    def _baseline(self, campaign: _Campaign) -> dict[str, str]:
        """What figures take from beside the campaign: the baseline whose rates are their limits."""
        from glusterlab.baseline import find_baseline
        from glusterlab.spec.load import load_cluster

        if not isinstance(campaign.raw, Path) or not (campaign.raw / "cluster.yaml").is_file():
            return {}
        if campaign.raw not in self.baselines:
            found = find_baseline(campaign.raw, load_cluster(campaign.raw / "cluster.yaml"))
            self.baselines[campaign.raw] = {} if found is None else {"baseline": f"{found.name} {found.digest}"}
        return self.baselines[campaign.raw]

    def _plan(self, campaign: _Campaign, state: State, digest: str) -> list[_Task]:
        tasks = []
        for path in self.notebooks:
            try:
                source = NotebookSource.read(path)
                source.refuse_unknown(self._parameters(campaign))
            except ReproduceError as error:
                self._fail(Failure(campaign.name, path.stem, str(error)), 0.0)
                continue
            known = state.notebooks.get(path.stem, {})
            wanted = self._key(campaign, source, digest)
            same = not self.force and known.get("key") == wanted and intact(campaign.figures, known["outputs"])
            if same and known["text"] == source.text:
                self.unchanged.append(f"{campaign.name}/{path.stem}")
                self._tell(Progress(campaign.name, path.stem, "unchanged"))
            else:
                tasks.append(_Task(campaign, source, wanted, retell=same))
        return tasks

    def _parameters(self, campaign: _Campaign) -> dict[str, str]:
        raw = campaign.raw
        inside = isinstance(raw, Path) and raw.is_relative_to(self.project)
        where = raw.relative_to(self.project).as_posix() if isinstance(raw, Path) and inside else str(raw)
        return {"campaign": where, "figures": f"figures/{raw.name}"}

    def _run_all(self, campaign: _Campaign, tasks: list[_Task], state: State) -> None:
        try:
            files = scratch.shared_files(self.project)
            if self.scheduler is not None or isinstance(campaign.tables, Remote):
                # the workers' part of the tables is made before notebooks ask for them one by one
                self._make_tables(campaign)
        except GlusterlabError as error:
            self._fail(Failure(campaign.name, "", str(error)), 0.0)
            return
        if isinstance(campaign.tables, Path):
            campaign.tables.mkdir(parents=True, exist_ok=True)
        with self._way() as execute:
            pool = ThreadPoolExecutor(max_workers=min(self.jobs, len(tasks)))
            try:
                for future in [pool.submit(self._run_one, task, state, files, execute) for task in tasks]:
                    future.result()
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                self._stop_all()
                raise
            finally:
                pool.shutdown()

    def _make_tables(self, campaign: _Campaign) -> None:
        from glusterlab.tables import write

        write(campaign.raw, campaign.tables, scheduler=self.scheduler)

    @contextmanager
    def _way(self) -> Iterator[Callable[[scratch.NotebookRun], scratch.Made]]:
        """How a notebook is executed: in a process of this machine, or by a worker."""
        if self.scheduler is None:
            yield partial(scratch.execute, watch=self._watch)
            return
        from glusterlab.schedule import connect

        with connect(self.scheduler) as client:
            self.jobs = max(self.jobs, len(client.nthreads()))
            yield partial(_on_worker, client)

    def _watch(self, process: subprocess.Popen[bytes]) -> bool:
        with self._lock:
            self._processes.add(process)
            return not self._stopping

    def _run_one(
        self,
        task: _Task,
        state: State,
        files: Mapping[str, bytes],
        execute: Callable[[scratch.NotebookRun], scratch.Made],
    ) -> None:
        campaign, notebook, figures = task.campaign.name, task.source.path.stem, task.campaign.figures
        self._tell(Progress(campaign, notebook, "started"))
        started = time.monotonic()
        parameters = self._parameters(task.campaign)
        executed = (figures / "notebooks" / task.source.path.name).read_bytes() if task.retell else None
        made = execute(
            scratch.NotebookRun(
                name=notebook,
                campaign=task.campaign.raw,
                parameters=parameters,
                figures=parameters["figures"],
                tables=task.campaign.tables,
                files=files,
                executed=executed,
            )
        )
        result = made.result
        seconds = time.monotonic() - started
        if result.error:
            self._fail(Failure(campaign, notebook, result.error, result.cell, result.tag, result.traceback), seconds)
            return
        with self._lock:
            earlier = state.notebooks.get(notebook, {}).get("outputs", {})
            outputs = put(made.outputs, figures)
            if task.retell:
                outputs = {**earlier, **outputs}
            state.notebooks[notebook] = {"key": task.key, "text": task.source.text, "outputs": outputs}
            drop(figures, [*earlier, *outputs], state)
            state.write(figures / STATE)
            (self.retold if task.retell else self.ran).append(task.name)
        self._tell(Progress(campaign, notebook, "retold" if task.retell else "ran", seconds))

    def _stop_all(self) -> None:
        with self._lock:
            self._stopping = True
            processes = [process for process in self._processes if process.poll() is None]
        for process in processes:
            process.terminate()
        for process in processes:
            scratch.stop(process)

    def _write_index(self, raw: Path, figures: Path, state: State, digest: str) -> None:
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


def _on_worker(client: Client, run: scratch.NotebookRun) -> scratch.Made:
    # impure: a run that is asked for again is to run again
    made: scratch.Made = client.submit(scratch.execute, run, pure=False).result()
    return made
