"""Every notebook, figure and table of a campaign, made again from its raw files; only what changed.

A notebook runs when anything that its results depend on (`depends`) or one of its outputs changed; when only its text
did, it is written anew around the outputs that it has. Each runs in a process of its own (`scratch`), and its outputs
are put into place only when all of it succeeded. SIGTERM and SIGHUP end a run as Ctrl-C does; SIGKILL leaves folders
``glusterlab-*`` among the temporary files.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path

from glusterlab.errors import GlusterlabError, UsageError
from glusterlab.figures.names import output_files
from glusterlab.reproduce import scratch
from glusterlab.reproduce.depends import Campaign, Due, Task, Work
from glusterlab.reproduce.state import (
    STATE,
    Failure,
    Outcome,
    Progress,
    ReproduceSummary,
    State,
    drop,
    figures_of,
    put,
    require_room,
)
from glusterlab.store.campaign import is_baseline
from glusterlab.store.digests import RawDigests, check_raw
from glusterlab.store.files import file_digest
from glusterlab.store.manifest import MANIFEST
from glusterlab.tables import build as tables

__all__ = ["Failure", "Progress", "ReproduceSummary", "reproduce"]

TABLES = "tables"
"""Their name in place of a notebook's."""


def reproduce(
    raw_paths: Sequence[Path] = (),
    *,
    project: Path,
    notebooks: Sequence[str] | None = None,
    output: Path | None = None,
    jobs: int | None = None,
    force: bool = False,
    check: bool = False,
    progress: Callable[[Progress], None] | None = None,
) -> ReproduceSummary:
    """Run the notebooks of ``notebooks/`` on campaigns and write ``figures/<campaign>/``.

    Campaigns are those of `raw_paths`, or every folder of ``raw/`` that has a manifest and is no baseline; notebooks
    those that are named (``10-large-files`` or ``10``), that a campaign's campaign.yaml names, or that are for its
    study. `output` gets a folder per campaign, by default the project's ``figures/``; `jobs` is notebooks at a time, by
    default one per processor. `force` runs also what did not change; `check` runs nothing and says what would run.
    `progress` is called from several threads, one call at a time. A failing notebook is in ``failed``; the others
    still finish.

    Raises UsageError when there is no such campaign or notebook, or none at all; or another run writes the same
    figures.
    """
    project = project.resolve()
    campaigns = choose_campaigns(raw_paths, project)
    paths = choose_notebooks(notebooks, project)
    run = _Run(project, paths, jobs or os.cpu_count() or 1, force, progress or (lambda _: None))
    run.full = notebooks is None
    run.check = check
    target = project / "figures" if output is None else output
    with as_interrupts(), ExitStack() as opened:
        placed = [
            Campaign(raw, opened.enter_context(figures_of(target / raw.name, own=output is None))) for raw in campaigns
        ]
        run.campaigns(placed)
    return ReproduceSummary(
        tuple(run.ran),
        tuple(run.retold),
        tuple(run.unchanged),
        tuple(run.failed),
        tuple(target / each.name for each in placed),
        tuple(run.stale),
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
        self.check = False
        self.stale: list[str] = []
        self.ran: list[str] = []
        self.retold: list[str] = []
        self.unchanged: list[str] = []
        self.failed: list[Failure] = []
        self._progress = progress
        self._lock = threading.Lock()
        self._processes: set[subprocess.Popen[bytes]] = set()
        self._stopping = False

    def campaigns(self, campaigns: Sequence[Campaign]) -> None:
        """Bring ``figures/<campaign>/`` of each up to date."""
        states = [State.read(campaign.figures / STATE) for campaign in campaigns]
        works = [work for each, state in zip(campaigns, states, strict=True) if (work := self._open(each, state))]
        if self.check:
            self.stale = [task.name for work in works for task in work.tasks]
            return
        if any(work.tasks for work in works):
            self._run_all(works)
        for work in works:
            self._finish(work)

    def _open(self, campaign: Campaign, state: State) -> Work | None:
        """Check a campaign's raw files, and see which notebooks are to run; None when the files are at fault."""
        try:
            digest, signatures = check_raw(campaign.raw, state.raw)
            digests = RawDigests(campaign.raw, digest)
            notebooks = self._notebooks_of(campaign.raw)
            found = self.due.baseline(campaign)
            below = {} if found is None else check_raw(found.path, state.baseline)[1]
        except GlusterlabError as error:
            self._fail(Failure(campaign.name, "", str(error)), 0.0)
            return None
        changed = (signatures, below) != (state.raw, state.baseline)
        state.raw, state.baseline = signatures, below
        work = Work(campaign, state, digests, notebooks, changed)
        unchanged, failed = self.due.plan(work)
        for name in unchanged:
            self.unchanged.append(f"{campaign.name}/{name}")
            self._report(Progress(campaign.name, name, "unchanged"))
        for failure in failed:
            self._fail(failure, 0.0)
        return work

    def _notebooks_of(self, folder: Path) -> list[Path]:
        """The notebooks of a campaign: those that it names, else those of its study, where the user named none."""
        from glusterlab.spec.yaml import load_campaign

        path = folder / "campaign.yaml"
        if not self.full or not path.is_file():
            return self.notebooks
        campaign = load_campaign(path)
        if campaign.notebooks is not None:
            return choose_notebooks(campaign.notebooks, self.project)
        return [path for path in self.notebooks if runs_on(path, campaign.study, self.project)]

    def _finish(self, work: Work) -> None:
        """Remove what no notebook of a campaign makes any more, and write the page."""
        failed = {failure.notebook for failure in self.failed if failure.campaign == work.campaign.name}
        try:
            if work.campaign.figures.is_dir():
                # what failed for all of them is nobody's name
                due = {task.source.path.stem for task in work.tasks} if failed & {"", TABLES} else set()
                self._tidy(work, sorted(failed - {"", TABLES} | due))
        except (GlusterlabError, OSError) as error:
            # where nothing can be written, that is reported already
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

    def _remove_abandoned(self, work: Work, *, keep_figures: bool) -> bool:
        """Forget notebooks that no longer exist; remove figures that no notebook makes; true when there were any."""
        figures, state = work.campaign.figures, work.state
        missing = state.notebooks.keys() - {path.stem for path in work.notebooks}
        for name in missing:
            del state.notebooks[name]
            for suffix in (".ipynb", ".html"):
                (figures / "notebooks" / f"{name}{suffix}").unlink(missing_ok=True)
        if keep_figures:
            return bool(missing)
        kept = {name for entry in state.notebooks.values() for name in entry["outputs"]}
        abandoned = [path for path in output_files(figures) if path.name not in kept]
        for path in abandoned:
            path.unlink()
        return bool(missing or abandoned)

    def _run_all(self, works: Sequence[Work]) -> None:
        """Run the notebooks of all campaigns; those of one begin when its tables are made."""
        pool = ThreadPoolExecutor(max_workers=min(self.jobs, sum(len(work.tasks) for work in works)))
        try:
            for work in works:
                if work.tasks and (files := self._prepare(work)) is not None:
                    work.running = [pool.submit(self._run_one, task, work, files) for task in work.tasks]
            for work in works:
                for future in work.running:
                    future.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            self._stop_all()
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
            campaign.tables.mkdir(parents=True, exist_ok=True)
            files = scratch.shared_files(self.project)
            for task in work.tasks:
                named = task.source.named_files(self.project, self.due.parameters(campaign))
                files |= scratch.further_files(self.project, named.values())
        except (GlusterlabError, OSError) as error:
            self._fail(Failure(campaign.name, "", str(error)), 0.0)
            return None
        if not all(task.retell for task in work.tasks):
            self._make_tables(work)
        return files

    def _make_tables(self, work: Work) -> None:
        """Bring the tables up to date; where that fails, a notebook that reads them says so, and in which cell."""
        campaign, started = work.campaign, time.monotonic()
        announced = False

        def progress(_: int, __: int) -> None:
            nonlocal announced
            if not announced:
                self._report(Progress(campaign.name, TABLES, "started"))
            announced = True

        def ended(outcome: Outcome, message: str = "") -> None:
            if announced:
                self._report(Progress(campaign.name, TABLES, outcome, time.monotonic() - started, message))

        try:
            work.checked = tables.write(campaign.raw, campaign.tables, progress=progress) is not None
        except (GlusterlabError, OSError) as error:
            ended("failed", str(Failure(campaign.name, TABLES, str(error))))
            return
        ended("ran")

    def _watch(self, process: subprocess.Popen[bytes]) -> bool:
        with self._lock:
            self._processes.add(process)
            return not self._stopping

    def _run_one(
        self,
        task: Task,
        work: Work,
        files: Mapping[str, bytes],
    ) -> None:
        campaign, notebook, figures = task.campaign.name, task.source.path.stem, task.campaign.figures
        state = work.state
        self._report(Progress(campaign, notebook, "started"))
        started = time.monotonic()
        parameters = self.due.parameters(task.campaign)
        executed = (figures / "notebooks" / task.source.path.name).read_bytes() if task.retell else None
        made = scratch.execute(
            scratch.NotebookRun(
                name=notebook,
                campaign=task.campaign.raw,
                parameters=parameters,
                figures=parameters["figures"],
                tables=task.campaign.tables,
                files=files,
                executed=executed,
                checked=work.checked,
            ),
            self._watch,
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
        self._report(Progress(campaign, notebook, "retold" if task.retell else "ran", seconds))

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

    def _stop_all(self) -> None:
        with self._lock:
            self._stopping = True
            processes = [process for process in self._processes if process.poll() is None]
        for process in processes:
            process.terminate()
        for process in processes:
            scratch.stop(process)

    def _write_index(self, work: Work) -> None:
        from glusterlab.figures.gallery import write_index

        state = work.state
        made_by = {
            output: name for name, entry in state.notebooks.items() for output in entry["outputs"] if "/" not in output
        }
        index = write_index(
            work.campaign.raw, work.campaign.figures, digest=work.digests.whole, made_by=made_by, **state.noted
        )
        state.index = file_digest(index)

    def _fail(self, failure: Failure, seconds: float) -> None:
        with self._lock:
            self.failed.append(failure)
        self._report(Progress(failure.campaign, failure.notebook, "failed", seconds, str(failure)))

    def _report(self, event: Progress) -> None:
        with self._lock:
            self._progress(event)


@contextmanager
def as_interrupts() -> Iterator[None]:
    """Let SIGTERM and SIGHUP raise `KeyboardInterrupt` in the main thread, so that what was begun is tidied up.

    A terminal that is closed does so too, unless that is to be ignored, as under nohup.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    numbers = [number for number in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(number) is not signal.SIG_IGN]
    earlier = {number: signal.signal(number, signal.default_int_handler) for number in numbers}
    try:
        yield
    finally:
        for number, handler in earlier.items():
            signal.signal(number, handler)


def choose_campaigns(raw_paths: Sequence[Path], project: Path) -> list[Path]:
    """The campaigns of these folders; without any, those in ``raw/`` that are no baselines.

    Raises UsageError when there is none, a folder is no campaign or a baseline, or two have one name.
    """
    named: dict[str, Path] = {}
    for path in raw_paths:
        raw = _campaign(path).resolve()
        if named.setdefault(raw.name, raw) != raw:
            raise UsageError("two campaigns of one name would share a figures folder: reproduce them one at a time")
    if named:
        return list(named.values())
    found = sorted(path.parent for path in (project / "raw").glob(f"*/{MANIFEST}"))
    chosen = [path for path in found if path.name != "published" and not is_baseline(path)]
    if not chosen:
        raise UsageError(f"no campaign in {project / 'raw'}: measure one with `glusterlab run`, or name its folder")
    return list(chosen)


def _campaign(raw: Path) -> Path:
    if not (raw / MANIFEST).is_file():
        raise UsageError(f"{raw} is no campaign: expected a folder with {MANIFEST}, such as raw/first-light")
    if is_baseline(raw):
        raise UsageError(
            f"{raw} is a baseline, which has no figures of its own: name a campaign that lies beside it and was "
            "measured on the same hosts"
        )
    return raw


def runs_on(notebook: Path, study: str, project: Path) -> bool:
    """Whether a notebook is for campaigns of a study, by its metadata ``glusterlab.study``.

    That is the name of a study or a list of them, ``any`` for every study that has a folder in ``raw/published``, or
    ``*`` (also where it says nothing) for campaigns of no study, too.
    """
    metadata = json.loads(notebook.read_text(encoding="utf-8")).get("metadata", {})
    of = metadata.get("glusterlab", {}).get("study", "*")
    if of == "any":
        return (project / "raw" / "published" / study).is_dir()
    return of == "*" or study == of or (isinstance(of, list) and study in of)


def choose_notebooks(names: Sequence[str] | None, project: Path) -> list[Path]:
    """Notebooks of the project by their names or numbers; all by default.

    Raises UsageError when there is none of a name, or none at all.
    """
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
