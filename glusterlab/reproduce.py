"""Every notebook, figure and table of a campaign, made again from its raw files; only what changed.

A notebook runs when its code cells, its parameters, the files that these name, the raw files that it reads,
``raw/published``, the library, the lock file, the installed versions or Python are others than when its outputs were
made, or when one of these outputs is missing or changed. When only its text changed, nothing runs: the executed
notebook is written anew around the outputs that it has.

Each notebook runs in a process of its own (`glusterlab.scratch`), here or on the workers of a Dask cluster, and its
outputs are put into place only when all of it succeeded. The tables that all of them read are made before, and their
processes are forked from one that has imported what they need (`glusterlab.warm`). A run of all notebooks also removes
what none of them makes any more; a run of some says on the page which figures are of an earlier run. A campaign may lie
elsewhere, named by a URL; so may the figures, of which this machine then keeps a mirror.

SIGTERM and SIGHUP end a run as Ctrl-C does, and nothing temporary is left. SIGKILL leaves folders ``glusterlab-*``
among the temporary files, which are yours to remove; its notebooks end by themselves.
"""

from __future__ import annotations

import os
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from glusterlab import scratch
from glusterlab.chosen import choose_campaigns, choose_notebooks
from glusterlab.due import Campaign, Due, Task, Work
from glusterlab.errors import GlusterlabError
from glusterlab.figurestate import STATE, State, drop, figures_of, put, require_room
from glusterlab.fingerprint import Signatures, check_raw
from glusterlab.interrupts import as_interrupts
from glusterlab.manifest import file_digest
from glusterlab.outcome import Failure, Progress, ReproduceSummary
from glusterlab.outputs import output_files
from glusterlab.reads import RawDigests
from glusterlab.storage import Remote, place
from glusterlab.warm import Process, Warm

if TYPE_CHECKING:
    from distributed import Client

__all__ = ["Failure", "Progress", "ReproduceSummary", "reproduce"]

Execute = Callable[[scratch.NotebookRun], scratch.Made]

TABLES = "tables"
"""What they are called where a notebook's name stands."""

WARM_FROM = 2
"""From so many notebooks on, one process that imports for all of them is faster than each for itself."""


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
        Campaign folders, or their URLs; empty: every folder of ``raw/`` that has a manifest and is no baseline.
    project : pathlib.Path
        The folder that holds ``notebooks/``, ``raw/`` and ``figures/``.
    notebooks : sequence of str, optional
        Names, such as ``10-large-files`` or ``10``; by default those that a campaign's campaign.yaml names, or all.
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
        When there is no such campaign or notebook, or none at all; when the scheduler cannot be reached; or another run
        is at work on the same figures.
    """
    project = project.resolve()
    campaigns = choose_campaigns(raw_paths, project)
    paths = choose_notebooks(notebooks, project)
    run = _Run(project, paths, jobs or os.cpu_count() or 1, force, progress or (lambda _: None))
    run.full = notebooks is None
    run.scheduler = scheduler
    target = project / "figures" if output is None else place(output)
    with as_interrupts(), ExitStack() as opened:
        placed = [
            Campaign(raw, *opened.enter_context(figures_of(target / raw.name, own=output is None))) for raw in campaigns
        ]
        run.campaigns(placed)
        there = [each for each in placed if isinstance(target, Path) or (each.figures / "index.html").is_file()]
    return ReproduceSummary(
        tuple(run.ran),
        tuple(run.retold),
        tuple(run.unchanged),
        tuple(run.failed),
        tuple(target / each.raw.name for each in there),
    )


class _Run:
    """One call of `reproduce`: its settings, and what has become of the notebooks so far."""

    def __init__(
        self, project: Path, notebooks: list[Path], jobs: int, force: bool, progress: Callable[[Progress], None]
    ) -> None:
        self.project = project
        self.notebooks = notebooks
        self.due = Due(project, force)
        self.jobs = jobs
        self.full = False
        self.scheduler: str | None = None
        self.ran: list[str] = []
        self.retold: list[str] = []
        self.unchanged: list[str] = []
        self.failed: list[Failure] = []
        self._progress = progress
        self._lock = threading.Lock()
        self._processes: set[Process] = set()
        self._stopping = False

    def campaigns(self, campaigns: Sequence[Campaign]) -> None:
        """Bring ``figures/<campaign>/`` of each up to date."""
        states = [State.read(campaign.figures / STATE) for campaign in campaigns]
        with ExitStack() as opened:
            # a campaign that is new will have its notebooks run: the server imports while raw files are checked
            warm = self._warm(opened, sum(len(self.notebooks) for state in states if not state.notebooks))
            works = [work for each, state in zip(campaigns, states, strict=True) if (work := self._open(each, state))]
            tasks = [task for work in works for task in work.tasks]
            warm = warm or self._warm(opened, sum(not task.retell for task in tasks))
            if tasks:
                self._run_all(works, warm)
            for work in works:
                self._finish(work)

    def _warm(self, opened: ExitStack, notebooks: int) -> Warm | None:
        """The server that forks processes for so many notebooks, where it is worth its start."""
        if notebooks < WARM_FROM or self.scheduler is not None:
            return None
        folder = opened.enter_context(
            tempfile.TemporaryDirectory(prefix="glusterlab-warm-", ignore_cleanup_errors=True)
        )
        warm = Warm.begin(Path(folder))
        if warm is not None:
            opened.callback(warm.close)
        return warm

    def _open(self, campaign: Campaign, state: State) -> Work | None:
        """Check a campaign's raw files, and see which notebooks are to run; None when the files are at fault."""
        try:
            folder, digest, signatures = self._checked(campaign.raw, state.raw)
            digests = RawDigests(folder, digest)
            notebooks = self._notebooks_of(folder)
            found = self.due.baseline(campaign)
            below = {} if found is None else check_raw(found.path, state.baseline)[1]
        except GlusterlabError as error:
            self._fail(Failure(campaign.name, "", str(error)), 0.0)
            return None
        changed = (signatures, below) != (state.raw, state.baseline)
        state.raw, state.baseline = signatures, below
        work = Work(campaign, state, folder, digests, notebooks, changed)
        unchanged, failed = self.due.plan(work)
        for name in unchanged:
            self.unchanged.append(f"{campaign.name}/{name}")
            self._tell(Progress(campaign.name, name, "unchanged"))
        for failure in failed:
            self._fail(failure, 0.0)
        return work

    def _notebooks_of(self, folder: Path) -> list[Path]:
        """The notebooks of a campaign: those that its campaign.yaml names, where the user named none."""
        from glusterlab.spec.load import load_campaign

        path = folder / "campaign.yaml"
        named = load_campaign(path).notebooks if self.full and path.is_file() else None
        return self.notebooks if named is None else choose_notebooks(named, self.project)

    def _finish(self, work: Work) -> None:
        """Remove what no notebook of a campaign makes any more, and write the page."""
        failed = {failure.notebook for failure in self.failed if failure.campaign == work.campaign.name}
        try:
            if work.campaign.figures.is_dir():
                # what failed for all of them is nobody's name
                due = {task.source.path.stem for task in work.tasks} if failed & {"", TABLES} else set()
                self._tidy(work, sorted(failed - {"", TABLES} | due))
        except (GlusterlabError, OSError) as error:
            # where nothing can be written, that is told already
            if "" not in failed:
                self._fail(Failure(work.campaign.name, "", str(error)), 0.0)

    def _tidy(self, work: Work, failed: list[str]) -> None:
        state, figures = work.state, work.campaign.figures
        removed = self.full and self._remove_abandoned(work, keep_figures=bool(failed))
        noted = {"failed": failed, "earlier": self.due.earlier(work)}
        index = figures / "index.html"
        stale = not index.is_file() or file_digest(index) != state.index or noted != state.noted
        if work.tasks or stale or removed:
            state.noted = noted
            self._write_index(work)
            work.changed = True
        if work.changed:
            state.write(figures / STATE)

    def _checked(self, raw: Path | Remote, known: Signatures) -> tuple[Path, str, Signatures]:
        """A folder of this machine with the campaign's small files, the digest of its manifest, and signatures."""
        if isinstance(raw, Path):
            return raw, *check_raw(raw, known)
        from glusterlab.integrity import check_remote
        from glusterlab.openraw import OpenCampaign

        opened = OpenCampaign.open(raw)
        return opened.store.path, *check_remote(raw, opened.store.path, opened.versions, known, self.scheduler)

    def _remove_abandoned(self, work: Work, *, keep_figures: bool) -> bool:
        """Forget notebooks that are gone, and remove figures that no notebook makes; true when there were any."""
        figures, state = work.campaign.figures, work.state
        gone = state.notebooks.keys() - {path.stem for path in work.notebooks}
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

    def _run_all(self, works: Sequence[Work], warm: Warm | None) -> None:
        """Run the notebooks of all campaigns; those of one begin when its tables are made."""
        count = sum(len(work.tasks) for work in works)
        with self._way(warm) as execute:
            pool = ThreadPoolExecutor(max_workers=min(self.jobs, count))
            try:
                for work in works:
                    if work.tasks and (files := self._prepare(work)) is not None:
                        work.running = [pool.submit(self._run_one, task, work, files, execute) for task in work.tasks]
                for work in works:
                    for future in work.running:
                        future.result()
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                self._stop_all(warm)
                raise
            finally:
                pool.shutdown()

    def _prepare(self, work: Work) -> Mapping[str, bytes] | None:
        """Make the tables before notebooks ask for them one by one, and gather what else they read.

        None when it cannot be done.
        """
        campaign = work.campaign
        try:
            require_room(campaign.figures)
            if isinstance(campaign.tables, Path):
                campaign.tables.mkdir(parents=True, exist_ok=True)
            files = scratch.shared_files(self.project)
            for task in work.tasks:
                named = task.source.named_files(self.project, self.due.parameters(campaign))
                files |= scratch.further_files(self.project, named.values())
        except (GlusterlabError, OSError) as error:
            self._fail(Failure(campaign.name, "", str(error)), 0.0)
            return None
        if all(task.retell for task in work.tasks) or self._make_tables(work):
            return files
        return None

    def _make_tables(self, work: Work) -> bool:
        """Bring the tables up to date; false when notebooks cannot do without."""
        from glusterlab.tables import write

        campaign, started = work.campaign, time.monotonic()
        told = False

        def progress(_: int, __: int) -> None:
            nonlocal told
            if not told:
                self._tell(Progress(campaign.name, TABLES, "started"))
            told = True

        try:
            work.checked = write(campaign.raw, campaign.tables, scheduler=self.scheduler, progress=progress) is not None
        except (GlusterlabError, OSError) as error:
            failure, seconds = Failure(campaign.name, TABLES, str(error)), time.monotonic() - started
            if self.scheduler is not None or isinstance(campaign.tables, Remote):
                self._fail(failure, seconds)
                return False
            # a notebook that reads them says so, and in which cell; others need none
            if told:
                self._tell(Progress(campaign.name, TABLES, "failed", seconds, str(failure)))
            return True
        if told:
            self._tell(Progress(campaign.name, TABLES, "ran", time.monotonic() - started))
        return True

    @contextmanager
    def _way(self, warm: Warm | None) -> Iterator[Execute]:
        """How a notebook is executed: in a process of this machine, or by a worker."""
        if self.scheduler is None:
            yield partial(scratch.execute, watch=self._watch, warm=warm)
            return
        from glusterlab.schedule import connect

        with connect(self.scheduler) as client:
            self.jobs = max(self.jobs, len(client.nthreads()))
            yield partial(_on_worker, client)

    def _watch(self, process: Process) -> bool:
        with self._lock:
            self._processes.add(process)
            return not self._stopping

    def _run_one(
        self,
        task: Task,
        work: Work,
        files: Mapping[str, bytes],
        execute: Execute,
    ) -> None:
        campaign, notebook, figures = task.campaign.name, task.source.path.stem, task.campaign.figures
        state = work.state
        self._tell(Progress(campaign, notebook, "started"))
        started = time.monotonic()
        parameters = self.due.parameters(task.campaign)
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
                checked=work.checked,
            )
        )
        result = made.result
        seconds = time.monotonic() - started
        if result.error:
            self._fail(Failure(campaign, notebook, result.error, result.cell, result.tag, result.traceback), seconds)
            return
        try:
            self._put(task, state, made.outputs)
        except (GlusterlabError, OSError) as error:
            self._fail(Failure(campaign, notebook, str(error)), seconds)
            return
        self._tell(Progress(campaign, notebook, "retold" if task.retell else "ran", seconds))

    def _put(self, task: Task, state: State, made: Mapping[str, bytes]) -> None:
        """Put a notebook's outputs into place, remove those that it made before and no longer does, and note both."""
        figures, notebook = task.campaign.figures, task.source.path.stem
        with self._lock:
            earlier = state.notebooks.get(notebook, {}).get("outputs", {})
            outputs = put(made, figures)
            if task.retell:
                outputs = {**earlier, **outputs}
            state.notebooks[notebook] = {"key": task.key, "text": task.source.text, "outputs": outputs}
            drop(figures, [*earlier, *outputs], state)
            state.write(figures / STATE)
            (self.retold if task.retell else self.ran).append(task.name)

    def _stop_all(self, warm: Warm | None) -> None:
        with self._lock:
            self._stopping = True
            processes = [process for process in self._processes if process.poll() is None]
        for process in processes:
            process.terminate()
        if warm is not None:
            # else a thread that waits until it is ready would be waited for
            warm.close()
        for process in processes:
            scratch.stop(process)

    def _write_index(self, work: Work) -> None:
        from glusterlab.gallery import write_index

        state = work.state
        made_by = {
            output: name for name, entry in state.notebooks.items() for output in entry["outputs"] if "/" not in output
        }
        index = write_index(
            work.folder, work.campaign.figures, digest=work.digests.whole, made_by=made_by, **state.noted
        )
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
