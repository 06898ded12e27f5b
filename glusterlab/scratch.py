"""One notebook in a process and a folder of its own, on this machine or on a worker elsewhere.

The folder is a view of the project: its notebooks, runbooks and published numbers, the campaign, and an empty figures
folder that shares only the tables. So a notebook's outputs are known to be its own, and they come back as bytes.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from glusterlab.errors import ReproduceError
from glusterlab.notebook import Job, Result, kernel_environment
from glusterlab.storage import Remote, mirror
from glusterlab.tablefolder import CHECKED
from glusterlab.warm import Process, Warm

CELL_TIMEOUT = 600
"""Seconds for one cell of a notebook."""
NOTEBOOK_TIMEOUT = 1800
"""Seconds for a whole notebook, its kernel's start included."""

SHARED = ("notebooks", "runbooks", "raw/published")
"""What of a project a notebook may read besides its campaign."""

MAX_SHARED_BYTES = 64 << 20


def shared_files(project: Path) -> dict[str, bytes]:
    """The files below `SHARED`, by their paths, hidden ones left out.

    Raises
    ------
    ReproduceError
        When they are too many bytes to be handed on.
    """
    found: dict[str, bytes] = {}
    for folder in SHARED:
        paths = [path for path in sorted((project / folder).rglob("*")) if path.is_file()]
        names = [path.relative_to(project) for path in paths]
        visible = [name for name in names if not any(part.startswith(".") for part in name.parts)]
        found |= further_files(project, [project / name for name in visible])
    size = sum(len(data) for data in found.values())
    if size > MAX_SHARED_BYTES:
        places = ", ".join(SHARED)
        raise ReproduceError(f"expected at most {MAX_SHARED_BYTES:,} bytes in {places} of {project}, found {size:,}")
    return found


def further_files(project: Path, paths: Iterable[Path]) -> dict[str, bytes]:
    """Files of a project by their paths below it; others are read where they are."""
    inside = [path.resolve() for path in paths if path.resolve().is_relative_to(project)]
    return {path.relative_to(project).as_posix(): path.read_bytes() for path in inside}


@dataclass(frozen=True)
class NotebookRun:
    """A notebook to be run; it pickles.

    Attributes
    ----------
    name : str
        Without its suffix.
    campaign : pathlib.Path or Remote
        The campaign's folder; an absolute path must be there on every worker.
    parameters : dict of str to str
    figures : str
        The figures folder below the view.
    tables : pathlib.Path or Remote
        Where the tables are kept.
    files : mapping of str to bytes
        As `shared_files` returned them.
    executed : bytes or None
        The executed notebook, when only its text changed.
    checked : bool
        The tables were just brought up to date.
    """

    name: str
    campaign: Path | Remote
    parameters: dict[str, str]
    figures: str
    tables: Path | Remote
    files: Mapping[str, bytes]
    executed: bytes | None = None
    checked: bool = False


@dataclass(frozen=True)
class Made:
    """How a notebook ended, and its outputs by path below the figures folder; none after a failure."""

    result: Result
    outputs: dict[str, bytes]


Watch = Callable[[Process], bool]
"""Told of the process when it starts; false ends it at once."""


def _alone(_: Process) -> bool:
    return True


def execute(run: NotebookRun, watch: Watch = _alone, warm: Warm | None = None) -> Made:
    """Run a notebook in a folder and a process of its own.

    Parameters
    ----------
    run : NotebookRun
    watch : callable
    warm : Warm, optional
        Forks the process, which is faster than to start one.

    Returns
    -------
    Made
        Every failure of the notebook, of its process or of the way to the campaign is a result, not an exception.
    """
    with tempfile.TemporaryDirectory(prefix="glusterlab-reproduce-", ignore_cleanup_errors=True) as folder:
        root = Path(folder)
        executed = root / "executed"
        try:
            view = _view(run, root / "project")
        except ReproduceError as error:
            return Made(Result(str(error)), {})
        executed.mkdir()
        earlier = root / "earlier.ipynb"
        if run.executed is not None:
            earlier.write_bytes(run.executed)
        job = Job(
            source=str(view / "notebooks" / f"{run.name}.ipynb"),
            folder=str(executed),
            parameters=run.parameters,
            cwd=str(view),
            cell_timeout=CELL_TIMEOUT,
            executed=None if run.executed is None else str(earlier),
            environment={CHECKED: str(run.tables.resolve())} if run.checked and isinstance(run.tables, Path) else {},
        )
        result = process(job, root / "kernel", watch, None if run.executed is not None else warm)
        if result.error:
            return Made(result, {})
        figures = view / run.figures
        outputs = {
            path.relative_to(figures).as_posix(): path.read_bytes()
            for path in sorted(figures.rglob("*"))
            if path.is_file() and path.relative_to(figures).parts[0] != "tables"
        }
        for suffix in (".ipynb", ".html"):
            outputs[f"notebooks/{run.name}{suffix}"] = (executed / f"{run.name}{suffix}").read_bytes()
        return Made(result, outputs)


def _view(run: NotebookRun, view: Path) -> Path:
    for name, data in run.files.items():
        target = view / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
    for folder in ("notebooks", "raw", run.figures):
        (view / folder).mkdir(parents=True, exist_ok=True)
    if isinstance(run.campaign, Path):
        if not run.campaign.is_dir():
            raise ReproduceError(
                f"{run.campaign} is not there on {os.uname().nodename}: workers need the campaign under the same path, "
                "or by a URL"
            )
        # an absolute parameter needs no link: joined to the view it stays what it is
        link = view / run.parameters["campaign"]
        if link != run.campaign:
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(run.campaign)
    tables = run.tables
    if isinstance(tables, Remote):
        listing = tables.listing()
        mirror(tables, tables.cache(), listing, listing)
        tables = tables.cache()
    if not tables.is_dir():
        raise ReproduceError(
            f"{tables} is not there on {os.uname().nodename}: workers need the figures folder under the same path, "
            "or by a URL, see --output"
        )
    (view / run.figures / "tables").symlink_to(tables)
    return view


def process(job: Job, kernel: Path, watch: Watch, warm: Warm | None = None) -> Result:
    """Run a job in another process, and end that when it takes too long."""
    log = Path(job.folder, "log.txt")
    started = _start(job.write(), log, kernel, warm)
    try:
        if not watch(started):
            return Result("stopped")
        started.wait(NOTEBOOK_TIMEOUT)
    except subprocess.TimeoutExpired:
        return Result(f"not done within {NOTEBOOK_TIMEOUT} s, stopped")
    finally:
        if started.poll() is None:
            stop(started)
    result = Result.read(Path(job.folder))
    if result is not None:
        return result
    last = (log.read_text(errors="replace").strip().splitlines() or ["it said nothing"])[-1]
    return Result(f"its process ended with {started.returncode}: {last}")


def _start(job: Path, log: Path, kernel: Path, warm: Warm | None) -> Process:
    if warm is not None and (forked := warm.start(job, log, {"IPYTHONDIR": str(kernel / "ipython")})) is not None:
        return forked
    command = [sys.executable, "-m", "glusterlab.notebook", str(job)]
    with log.open("wb") as output:
        return subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, env=kernel_environment(kernel)
        )


def stop(process: Process) -> None:
    """End a notebook's process: nbclient takes its kernel down on SIGTERM, a kernel ends when its parent is gone."""
    process.terminate()
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
