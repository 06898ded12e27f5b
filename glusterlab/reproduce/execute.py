"""One notebook, executed by papermill in a process and a folder of its own, with this interpreter as its kernel.

The folder is a view of the project: its notebooks, runbooks and published numbers, the campaign, and an empty figures
folder that shares only the tables: so a notebook's outputs are known to be its own. The process leaves its result as a
JSON file; its exit code says nothing.
"""

import errno
import json
import os
import sys
import tempfile
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import TYPE_CHECKING, Any

from glusterlab.parallel import Processes, adopt
from glusterlab.tables import CHECKED

if TYPE_CHECKING:
    from nbformat import NotebookNode

CELL_TIMEOUT = 600  # seconds for one cell of a notebook
NOTEBOOK_TIMEOUT = 1800  # seconds for a whole notebook, its kernel's start included

KERNEL = "python3"
PROVISIONER = "glusterlab"  # of kernels, see `glusterlab.reproduce.kernel`
Watch = Callable[[BaseProcess], AbstractContextManager[bool]]
_NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, None}  # None: TMPDIR is too long for a socket


@dataclass(frozen=True)
class Job:
    """One notebook to execute; `folder`: where the executed ``.ipynb`` and ``result.json`` go."""

    source: str
    folder: str
    parameters: dict[str, str]
    cwd: str
    cell_timeout: int


@dataclass(frozen=True)
class Result:
    """How a notebook ended: `error` is empty when all went well; `cell` and `tag` as those of a `Failure`."""

    error: str = ""
    cell: int | None = None
    tag: str | None = None
    traceback: str = ""


def execute(
    name: str,
    parameters: dict[str, str],
    *,
    campaign: Path,
    tables: Path,
    files: Mapping[str, bytes],
    executed: bytes | None = None,
    checked: bool = False,
    watch: Watch = lambda _: nullcontext(True),
) -> tuple[Result, dict[str, bytes]]:
    """Run a notebook; its outputs come by path below its figures folder, none after a failure, which is a result, too.

    `files`: of the project, by their paths. `executed`: the executed notebook when only its text changed: it is not run
    again then. `checked`: tables were brought up to date. `watch`: a context of the process; false ends it at once.
    """
    if executed is not None:
        return Result(), {f"notebooks/{name}.ipynb": retold(files[f"notebooks/{name}.ipynb"], executed)}
    try:
        with tempfile.TemporaryDirectory(prefix="glusterlab-reproduce-", ignore_cleanup_errors=True) as folder:
            root = Path(folder)
            view, target = root / "project", root / "executed"
            _view(view, parameters, campaign, tables, files)
            target.mkdir()
            source = str(view / "notebooks" / f"{name}.ipynb")
            job = Job(source, str(target), parameters, str(view), CELL_TIMEOUT)
            environment = kernel_environment(root / "kernel") | ({CHECKED: str(tables.resolve())} if checked else {})
            result = process(job, environment, watch)
            if result.error:
                return result, {}
            figures = view / parameters["figures"]
            outputs = {
                path.relative_to(figures).as_posix(): path.read_bytes()
                for path in sorted(figures.rglob("*"))
                if path.is_file() and path.relative_to(figures).parts[0] != "tables"
            }
            return result, outputs | {f"notebooks/{name}.ipynb": (target / f"{name}.ipynb").read_bytes()}
    except OSError as error:
        place = f"{error.filename}: " if error.filename else ""
        hint = "; TMPDIR names another place for what is temporary" if error.errno in _NO_ROOM else ""
        return Result(f"{place}{error.strerror or error}{hint}"), {}


def _view(view: Path, parameters: dict[str, str], campaign: Path, tables: Path, files: Mapping[str, bytes]) -> None:
    for name, data in files.items():
        target = view / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
    for folder in ("notebooks", "raw", parameters["figures"]):
        (view / folder).mkdir(parents=True, exist_ok=True)
    # an absolute parameter needs no link: joined to the view it stays what it is
    link = view / parameters["campaign"]
    if link != campaign:
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(campaign)
    (view / parameters["figures"] / "tables").symlink_to(tables)


def kernel_environment(folder: Path) -> dict[str, str]:
    """Environment in which the kernel ``python3`` is this interpreter, free of what the user configured.

    Its specification goes into the empty `folder`, as do IPython's profile and what Jupyter leaves when it is stopped.
    """
    spec, temporary = folder / "kernels" / KERNEL, folder / "temporary"
    spec.mkdir(parents=True)
    temporary.mkdir()
    argv = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    kernel: dict[str, object] = {"argv": argv, "display_name": "Python 3", "language": "python"}
    kernel["metadata"] = {"kernel_provisioner": {"provisioner_name": PROVISIONER}}
    (spec / "kernel.json").write_text(json.dumps(kernel))
    environment = {name: value for name, value in os.environ.items() if name not in ("MPLBACKEND", "MATPLOTLIBRC")}
    return {
        **environment,
        "JUPYTER_PATH": str(folder),
        "IPYTHONDIR": str(folder / "ipython"),
        "TMPDIR": str(temporary),
        "PYDEVD_DISABLE_FILE_VALIDATION": "1",
        "PYTHONHASHSEED": "0",
    }


def process(job: Job, environment: Mapping[str, str], watch: Watch) -> Result:
    """Run a job in another process, and end that when it takes too long."""
    folder = Path(job.folder)
    log = folder / "log.txt"
    log.touch()
    started = Processes().Process(target=_begin, args=(job, environment, log))
    try:
        started.start()
    except EOFError:
        return Result("its process could not be started: the one that it is forked from has ended")
    with watch(started) as wanted:
        try:
            if not wanted:
                return Result("stopped")
            started.join(NOTEBOOK_TIMEOUT)
            if started.is_alive():
                return Result(f"not done within {NOTEBOOK_TIMEOUT} s, stopped")
        finally:
            stop(started)
    try:
        return Result(**json.loads((folder / "result.json").read_text()))
    except (OSError, ValueError, TypeError):
        last = (log.read_text(errors="replace").strip().splitlines() or ["it said nothing"])[-1]
        return Result(f"its process ended with {started.exitcode}: {last}")


def _begin(job: Job, environment: Mapping[str, str], log: Path) -> None:
    for stream, path, mode in ((0, Path(os.devnull), "rb"), (1, log, "ab"), (2, log, "ab")):
        with path.open(mode) as file:
            os.dup2(file.fileno(), stream)
    adopt(environment)
    from glusterlab.reproduce.kernel import main

    main(job)


def stop(process: BaseProcess) -> None:
    """End a notebook's process: nbclient takes its kernel down on SIGTERM, a kernel ends when its parent is gone."""
    if process.is_alive():
        process.terminate()
        process.join(10)
    if process.is_alive():
        process.kill()
        process.join()


def with_outputs_of(source: "NotebookNode", executed: "NotebookNode") -> "NotebookNode":
    """A notebook with the cells of `source` and the injected ones and the outputs of `executed`; code is the same."""
    ran = [cell for cell in executed.cells if cell.cell_type == "code"]
    injected = [cell for cell in ran if "injected-parameters" in cell.metadata.get("tags", [])]
    remaining = iter([cell for cell in ran if cell not in injected])
    cells: list[Any] = []
    for cell in source.cells:
        if cell.cell_type != "code":
            cells.append(cell)
            continue
        cells.append(next(remaining))
        if "parameters" in cell.metadata.get("tags", []):
            cells += injected
    executed.cells = cells
    return executed


def retold(source: bytes, executed: bytes) -> bytes:
    """A notebook with other text and the outputs of the executed one."""
    import nbformat

    new, old = (nbformat.reads(each.decode(), as_version=4) for each in (source, executed))
    return f"{nbformat.writes(with_outputs_of(new, old))}\n".encode()
