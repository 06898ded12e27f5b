"""Every notebook, figure and table of a campaign, made again from its raw files; only what changed.

A notebook runs when anything that its results depend on (`depends`) or one of its outputs changed; when only its text
did, it is written anew around the outputs that it has. Outputs are put into place when all of a notebook succeeded.
SIGTERM and SIGHUP end a run as Ctrl-C does; SIGKILL leaves temporary folders ``glusterlab-*`` and ``pymp-*``.
"""

import json
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from multiprocessing.process import BaseProcess
from pathlib import Path

from glusterlab.errors import GlusterlabError, UsageError
from glusterlab.figures.names import output_files
from glusterlab.parallel import on_signals, preload
from glusterlab.reproduce import execute
from glusterlab.reproduce.depends import Campaign, Task
from glusterlab.reproduce.state import STATE, Failure, Progress, ReproduceSummary, drop, figures_of, put, require_room
from glusterlab.spec.fields import suggest
from glusterlab.spec.studies import NO_STUDY, Study, load_study, studies, studies_also_of, study_folder
from glusterlab.spec.yaml import load_campaign
from glusterlab.store.campaign import choose_campaigns
from glusterlab.store.digests import environment_parts


def reproduce(
    raw_paths: Sequence[Path] = (),
    *,
    project: Path,
    notebooks: Sequence[str] | None = None,
    output: Path | None = None,
    jobs: int | None = None,
    force: bool = False,
    check: bool = False,
    progress: Callable[[Progress], None] = lambda _: None,
) -> ReproduceSummary:
    """Run the notebooks of ``notebooks/`` on campaigns and write ``figures/<campaign>/``.

    Campaigns are those of `raw_paths`, or every folder of ``raw/`` that has a manifest and is no baseline; notebooks
    those that are named (``10-large-files`` or ``10``), that a campaign's campaign.yaml names, or that are for its
    study. `output` gets a folder per campaign, by default the project's ``figures/``; `jobs` is notebooks at a time.
    `force` runs also what did not change; `check` runs nothing and says what would run. `progress` is called from
    several threads, one call at a time. A failing notebook is in ``failed``; the others still finish.

    Raises UsageError when there is no such campaign or notebook, a notebook is not for a campaign where both are named
    or for none where it alone is, or another run writes the same figures.
    """
    project = project.resolve()
    chosen = choose_campaigns(raw_paths, project)
    run = _Run(project, choose_notebooks(notebooks, project), notebooks is None, force, progress)
    raws = run.without_foreign(chosen, refuse=bool(raw_paths))
    target = project / "figures" if output is None else output
    with as_interrupts(), ExitStack() as opened:
        places = [(raw, opened.enter_context(figures_of(target / raw.name, own=output is None))) for raw in raws]
        campaigns = [campaign for raw, figures in places if (campaign := run.open(raw, figures)) is not None]
        if not check:
            run.run_all(campaigns, jobs or os.cpu_count() or 1)
            for campaign in campaigns:
                run.finish(campaign)
    return ReproduceSummary(
        tuple(run.ran),
        tuple(run.rendered),
        tuple(run.unchanged),
        tuple(run.failed),
        tuple(target / raw.name for raw in raws),
        tuple(name for campaign in campaigns for name in run.stale(campaign)) if check else (),
        tuple(f"{campaign.name}/{tool}" for campaign in campaigns if run.full for tool in campaign.undrawn),
    )


class _Run:
    """One call of `reproduce`: its settings, and what has become of the notebooks; `full`: the user named none."""

    def __init__(
        self, project: Path, notebooks: list[Path], full: bool, force: bool, progress: Callable[[Progress], None]
    ) -> None:
        self.project = project
        self.notebooks = notebooks
        self.full = full
        self.force = force
        self.environment = environment_parts(project)
        self.ran: list[str] = []
        self.rendered: list[str] = []
        self.unchanged: list[str] = []
        self.failed: list[Failure] = []
        self._progress = progress
        self._lock = threading.Lock()
        self._processes: set[BaseProcess] = set()
        self._stopping = False

    def without_foreign(self, raws: list[Path], *, refuse: bool) -> list[Path]:
        """Campaigns that notebooks which the user named are for; UsageError where one is for none, or not for all."""
        if self.full:
            return raws
        found = {}
        for raw in raws:
            # `open` says what is wrong with a campaign
            with suppress(GlusterlabError):
                found[raw] = self._notebooks_of(raw)
        for notebook in self.notebooks:
            foreign = [raw for raw, notebooks in found.items() if notebook not in notebooks]
            if foreign and (refuse or len(foreign) == len(raws)):
                raise UsageError(_why_foreign(notebook, foreign[0]))
        return [raw for raw in raws if found.get(raw, True)]

    def open(self, raw: Path, figures: Path) -> Campaign | None:
        """Check a campaign's raw files, and see which notebooks are to run; None when the files are at fault."""
        try:
            campaign = Campaign.open(self.project, raw, figures, self._notebooks_of(raw))
        except GlusterlabError as error:
            self._fail(Failure(raw.name, "", str(error)))
            return None
        unchanged, failed = campaign.plan(self.environment, self.force)
        for name in unchanged:
            self.unchanged.append(f"{campaign.name}/{name}")
            self._report(Progress(campaign.name, name, "unchanged"))
        for failure in failed:
            self._fail(failure)
        return campaign

    def _notebooks_of(self, raw: Path) -> list[Path]:
        """The notebooks of a campaign: those that it names, else those of its study or that another has for it."""
        path = raw / "campaign.yaml"
        if not path.is_file():
            return self.notebooks
        campaign = load_campaign(path)
        named = choose_notebooks(campaign.notebooks, self.project) if campaign.notebooks is not None else []
        folder = study_folder(campaign.study, raw)
        also = {name for other in studies_also_of(raw.name, folder.parent) for name in other.also[raw.name]}
        chosen = [path for path in self.notebooks if path in named or path.stem in also]
        if named and self.full:
            return chosen
        return [path for path in self.notebooks if path in chosen or runs_on(path, load_study(folder))]

    def run_all(self, campaigns: Sequence[Campaign], jobs: int) -> None:
        """Run the stale notebooks; those of a campaign begin when its tables are made."""
        number = sum(len(campaign.tasks) for campaign in campaigns)
        if not number:
            return
        preload("glusterlab.reproduce.kernel")
        pool = ThreadPoolExecutor(max_workers=min(jobs, number))
        try:
            for campaign in campaigns:
                if campaign.tasks and (files := self._prepare(campaign)) is not None:
                    campaign.running = [pool.submit(self._run_one, task, campaign, files) for task in campaign.tasks]
            for campaign in campaigns:
                for future in campaign.running:
                    future.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            self._stop_all()
            raise
        finally:
            pool.shutdown()

    def _prepare(self, campaign: Campaign) -> Mapping[str, bytes] | None:
        """Make the tables before notebooks ask for them one by one, and gather what else they read, if it can be."""
        try:
            require_room(campaign.figures)
            campaign.tables.mkdir(parents=True, exist_ok=True)
            files = campaign.shared_files()
        except (GlusterlabError, OSError) as error:
            self._fail(Failure(campaign.name, "", str(error)))
            return None
        if not all(task.text_only for task in campaign.tasks):
            self._make_tables(campaign)
        return files

    def _make_tables(self, campaign: Campaign) -> None:
        """Bring the tables up to date; where that fails, a notebook that reads them says so, and in which cell."""
        from glusterlab.tables.build import write

        started = time.monotonic()
        announced = False

        def progress(_: int, __: int) -> None:
            nonlocal announced
            if not announced:
                self._report(Progress(campaign.name, "tables", "started"))
            announced = True

        why = ""
        try:
            campaign.checked = write(campaign.raw, campaign.tables, progress=progress) is not None
        except (GlusterlabError, OSError) as error:
            why = str(Failure(campaign.name, "tables", str(error)))
        if announced:
            self._report(Progress(campaign.name, "tables", "failed" if why else "ran", time.monotonic() - started, why))

    def _run_one(self, task: Task, campaign: Campaign, files: Mapping[str, bytes]) -> None:
        self._report(Progress(campaign.name, task.notebook, "started"))
        started = time.monotonic()
        executed = campaign.figures / "notebooks" / task.source.path.name
        result, outputs = execute.execute(
            task.notebook,
            campaign.parameters,
            campaign=campaign.raw,
            tables=campaign.tables,
            files=files,
            executed=executed.read_bytes() if task.text_only else None,
            checked=campaign.checked,
            watch=self._watch,
        )
        failure = None
        if result.error:
            failure = Failure(campaign.name, task.notebook, result.error, result.cell, result.tag, result.traceback)
        else:
            try:
                self._put(task, campaign, outputs)
            except (GlusterlabError, OSError) as error:
                failure = Failure(campaign.name, task.notebook, str(error))
        seconds = time.monotonic() - started
        if failure is not None:
            self._fail(failure, seconds)
        else:
            self._report(Progress(campaign.name, task.notebook, "rendered" if task.text_only else "ran", seconds))

    @contextmanager
    def _watch(self, process: BaseProcess) -> Iterator[bool]:
        with self._lock:
            self._processes.add(process)
        try:
            yield not self._stopping
        finally:
            with self._lock:
                self._processes.discard(process)

    def _stop_all(self) -> None:
        with self._lock:
            self._stopping = True
            processes = [process for process in self._processes if process.is_alive()]
        for process in processes:
            process.terminate()
        for process in processes:
            execute.stop(process)

    def _put(self, task: Task, campaign: Campaign, made: Mapping[str, bytes]) -> None:
        """Put a notebook's outputs into place, remove those that it made before and no longer does, and note both."""
        state = campaign.state
        with self._lock:
            earlier = state.notebooks.get(task.notebook, {}).get("outputs", {})
            outputs = put(made, campaign.figures)
            if task.text_only:
                outputs = {**earlier, **outputs}
            state.notebooks[task.notebook] = {"key": task.key, "text": task.source.text, "outputs": outputs}
            drop(campaign.figures, [*earlier, *outputs], state)
            state.write(campaign.figures / STATE)
            (self.rendered if task.text_only else self.ran).append(task.name)

    def finish(self, campaign: Campaign) -> None:
        """Remove what no notebook of a campaign makes any more, and note what a report says of the others."""
        failed = {failure.notebook for failure in self.failed if failure.campaign == campaign.name}
        try:
            if campaign.figures.is_dir():
                # what failed for all of them is nobody's name
                stale = {task.notebook for task in campaign.tasks} if "" in failed else set()
                self._tidy(campaign, sorted(failed - {""} | stale))
        except (GlusterlabError, OSError) as error:
            # where nothing can be written, that is reported already
            if "" not in failed:
                self._fail(Failure(campaign.name, "", str(error)))

    def stale(self, campaign: Campaign) -> list[str]:
        """What a run would make again: notebooks, else figures that none makes, which it would remove."""
        abandoned = _abandoned(campaign)[1] if self.full and not campaign.tasks else []
        return [task.name for task in campaign.tasks] or [f"{campaign.name}/{path.name}" for path in abandoned]

    def _tidy(self, campaign: Campaign, failed: list[str]) -> None:
        removed = self.full and _remove_abandoned(campaign, keep_figures=bool(failed))
        noted = campaign.noted(self.environment, failed)
        if removed or noted != campaign.state.noted:
            campaign.state.noted = noted
            campaign.state.write(campaign.figures / STATE)

    def _fail(self, failure: Failure, seconds: float = 0.0) -> None:
        with self._lock:
            self.failed.append(failure)
        self._report(Progress(failure.campaign, failure.notebook, "failed", seconds, str(failure)))

    def _report(self, event: Progress) -> None:
        with self._lock:
            self._progress(event)


def _abandoned(campaign: Campaign) -> tuple[set[str], list[Path]]:
    """Notebooks that no longer exist, and figures that no other one makes."""
    made = campaign.state.notebooks
    missing = made.keys() - {path.stem for path in campaign.notebooks}
    kept = {output for name, entry in made.items() if name not in missing for output in entry["outputs"]}
    return missing, [path for path in output_files(campaign.figures) if path.name not in kept]


def _remove_abandoned(campaign: Campaign, *, keep_figures: bool) -> bool:
    """Forget notebooks that no longer exist; remove figures that no notebook makes; true when there were any."""
    missing, abandoned = _abandoned(campaign)
    for name in missing:
        del campaign.state.notebooks[name]
        (campaign.figures / "notebooks" / f"{name}.ipynb").unlink(missing_ok=True)
    if keep_figures:
        return bool(missing)
    for path in abandoned:
        path.unlink()
    return bool(missing or abandoned)


def as_interrupts() -> AbstractContextManager[None]:
    """Let SIGTERM and SIGHUP raise `KeyboardInterrupt` in the main thread, so that what was begun is tidied up.

    A terminal that is closed does so too, unless that is to be ignored, as under nohup.
    """
    numbers = [number for number in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(number) is not signal.SIG_IGN]
    return on_signals(signal.default_int_handler, numbers)


def runs_on(notebook: Path, study: Study) -> bool:
    """Whether a notebook is for campaigns of a study, by its metadata ``glusterlab.study``.

    That is ``*`` (also where it says nothing) for every campaign, ``any`` for those of any study that has a
    ``study.yaml``, ``named`` for those of the studies that name it there, ``general`` for these and those of no study,
    or ``asked`` for none: for those alone whose campaign.yaml names it.
    """
    try:
        of = json.loads(notebook.read_text(encoding="utf-8"))["metadata"]["glusterlab"]["study"]
    except (OSError, ValueError, KeyError, TypeError):
        # what is no notebook is refused where it is read
        of = "*"
    by_study = of == "general" if study.study == NO_STUDY else of == "any"
    return of == "*" or by_study or notebook.stem in study.notebooks


def _why_foreign(notebook: Path, raw: Path) -> str:
    study = load_campaign(raw / "campaign.yaml").study
    published = study_folder(study, raw).parent
    of = " or ".join(folder.name for folder in studies(published) if runs_on(notebook, load_study(folder)))
    expected = f"notebook {notebook.stem} is for campaigns of the study {of or 'that lists it'}"
    own = "set its metadata glusterlab.study to '*'"
    advice = f"list the notebook in {published / study}/study.yaml"
    if study == NO_STUDY:
        study, advice = "no study", "name a study in its campaign.yaml"
    return f"{expected}, and {raw.name} is of {study}: name another campaign, {advice}, or {own}"


def choose_notebooks(names: Sequence[str] | None, project: Path) -> list[Path]:
    """Notebooks of the project by their names or numbers; all by default. Raises UsageError when there is none."""
    found = sorted((project / "notebooks").glob("[0-9][0-9]-*.ipynb"))
    if not found:
        advice = "expected files such as 10-large-files.ipynb; `glusterlab init DIR` writes them"
        raise UsageError(f"no notebook in {project / 'notebooks'}: {advice}")
    if names is None:
        return found
    chosen = []
    for name in names:
        stem = name.removesuffix(".ipynb").removeprefix("notebooks/")
        matches = [path for path in found if path.stem == stem or path.stem.startswith(f"{stem}-")]
        if not matches:
            there = [path.stem for path in found]
            raise UsageError(f"no notebook {name}: there are {', '.join(there)}{suggest(stem, there, listed=False)}")
        chosen += [path for path in matches if path not in chosen]
    return chosen
