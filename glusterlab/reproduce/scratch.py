"""One notebook in a process and a folder of its own.

The folder is a view of the project: its notebooks, runbooks and published numbers, the campaign, and an empty figures
folder that shares only the tables. So a notebook's outputs are known to be its own, and they come back as bytes.
"""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from glusterlab.errors import GlusterlabError, ReproduceError
from glusterlab.reproduce.execute import Job, Result, kernel_environment
from glusterlab.store.digests import files_below
from glusterlab.tables import CHECKED

CELL_TIMEOUT = 600
"""Seconds for one cell of a notebook."""
NOTEBOOK_TIMEOUT = 1800
"""Seconds for a whole notebook, its kernel's start included."""

SHARED = ("notebooks", "runbooks", "raw/published")
"""What of a project a notebook may read besides its campaign."""

MAX_SHARED_BYTES = 64 << 20

_NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES}


def shared_files(project: Path) -> dict[str, bytes]:
    """The files below `SHARED`, by their paths; as `glusterlab.store.digests.files_below` finds them.

    Raises ReproduceError when they are too many bytes to be handed on. Raises RawStoreError when a folder cannot be
    read.
    """
    found: dict[str, bytes] = {}
    for folder in SHARED:
        found |= further_files(project, files_below(project / folder))
    size = sum(len(data) for data in found.values())
    if size > MAX_SHARED_BYTES:
        places = ", ".join(SHARED)
        raise ReproduceError(f"expected at most {MAX_SHARED_BYTES:,} bytes in {places} of {project}, found {size:,}")
    return found


def further_files(project: Path, paths: Iterable[Path]) -> dict[str, bytes]:
    """Files of a project by the paths that they have below it, also as links; others are read where they are."""
    # the name counts, wherever it leads: a notebook asks for the file by that
    named = [Path(os.path.normpath(path)) for path in paths]
    return {path.relative_to(project).as_posix(): path.read_bytes() for path in named if path.is_relative_to(project)}


@dataclass(frozen=True)
class NotebookRun:
    """A notebook to be run, by its name without suffix; `figures` is the figures folder below its view of the project.

    `files` are as `shared_files` returned them, `executed` is the executed notebook when only its text changed, and
    `checked` says that the tables were just brought up to date.
    """

    name: str
    campaign: Path
    parameters: dict[str, str]
    figures: str
    tables: Path
    files: Mapping[str, bytes]
    executed: bytes | None = None
    checked: bool = False


@dataclass(frozen=True)
class Made:
    """How a notebook ended, and its outputs by path below the figures folder; none after a failure."""

    result: Result
    outputs: dict[str, bytes]


Process = subprocess.Popen[bytes]
Watch = Callable[[Process], bool]
"""Told of the process when it starts; false ends it at once."""


def _alone(_: Process) -> bool:
    return True


def execute(run: NotebookRun, watch: Watch = _alone) -> Made:
    """Run a notebook in a folder and a process of its own; every failure is a result, not an exception."""
    try:
        with tempfile.TemporaryDirectory(prefix="glusterlab-reproduce-", ignore_cleanup_errors=True) as folder:
            return _execute(run, Path(folder), watch)
    except GlusterlabError as error:
        return Made(Result(str(error)), {})
    except OSError as error:
        place = f"{error.filename}: " if error.filename else ""
        hint = "; TMPDIR names another place for what is temporary" if error.errno in _NO_ROOM else ""
        return Made(Result(f"{place}{error.strerror or error}{hint}"), {})


def _execute(run: NotebookRun, root: Path, watch: Watch) -> Made:
    executed = root / "executed"
    view = _view(run, root / "project")
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
        environment={CHECKED: str(run.tables.resolve())} if run.checked else {},
    )
    result = process(job, root / "kernel", watch)
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
    # an absolute parameter needs no link: joined to the view it stays what it is
    link = view / run.parameters["campaign"]
    if link != run.campaign:
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(run.campaign)
    (view / run.figures / "tables").symlink_to(run.tables)
    return view


def process(job: Job, kernel: Path, watch: Watch) -> Result:
    """Run a job in another process, and end that when it takes too long."""
    log = Path(job.folder, "log.txt")
    started = _start(job.write(), log, kernel)
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


def _start(job: Path, log: Path, kernel: Path) -> Process:
    # what Jupyter and IPython leave there when they are stopped goes with the notebook's folder
    temporary = kernel / "temporary"
    temporary.mkdir(parents=True)
    # -P: what lies in the folder of the command is not what it imports
    command = [sys.executable, "-P", "-m", "glusterlab.reproduce.execute", str(job)]
    with log.open("wb") as output:
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            env=kernel_environment(kernel) | {"TMPDIR": str(temporary)},
        )


def stop(process: Process) -> None:
    """End a notebook's process: nbclient takes its kernel down on SIGTERM, a kernel ends when its parent is gone."""
    process.terminate()
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
