"""One notebook, executed by papermill in a process and a folder of its own, with this interpreter as its kernel.

The folder is a view of the project: its notebooks, runbooks and published numbers, the campaign, and an empty figures
folder that shares only the tables: so a notebook's outputs are known to be its own. The process imports as little as it
can, and leaves its result as a JSON file beside the job; its exit code says nothing. Pages are made here: what makes
them takes long to import.
"""

import errno
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from nbformat import NotebookNode

from glusterlab.figures.explorer import BATCH
from glusterlab.tables import CHECKED

CELL_TIMEOUT = 600  # seconds for one cell of a notebook
NOTEBOOK_TIMEOUT = 1800  # seconds for a whole notebook, its kernel's start included

KERNEL = "python3"
UNUSED = ("isoduration", "rfc3987_syntax")
"""What nbformat imports of no use here: no notebook has durations or addresses; papermill's pyarrow is for Hadoop."""
_NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES}
_ESCAPES = re.compile(r"\x1b\[[0-9;]*m")
Process = subprocess.Popen[bytes]


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
    watch: Callable[[Process], bool] = lambda _: True,
) -> tuple[Result, dict[str, bytes]]:
    """Run a notebook; its outputs come by path below its figures folder, none after a failure, which is a result, too.

    `files`: of the project, by their paths. `executed`: the executed notebook when only its text changed: it is not run
    again then. `checked`: the tables were just brought up to date. `watch`: gets the process when it starts; false ends
    it at once.
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


def process(job: Job, environment: Mapping[str, str], watch: Callable[[Process], bool]) -> Result:
    """Run a job in another process, and end that when it takes too long."""
    folder = Path(job.folder)
    (folder / "job.json").write_text(json.dumps(asdict(job)))
    # -P: what lies in the folder of the command is not what it imports
    command = [sys.executable, "-P", "-m", "glusterlab.reproduce.execute", str(folder / "job.json")]
    with (folder / "log.txt").open("wb") as log:
        started = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment)
    try:
        if not watch(started):
            return Result("stopped")
        started.wait(NOTEBOOK_TIMEOUT)
    except subprocess.TimeoutExpired:
        return Result(f"not done within {NOTEBOOK_TIMEOUT} s, stopped")
    finally:
        if started.poll() is None:
            stop(started)
    try:
        return Result(**json.loads((folder / "result.json").read_text()))
    except (OSError, ValueError, TypeError):
        last = ((folder / "log.txt").read_text(errors="replace").strip().splitlines() or ["it said nothing"])[-1]
        return Result(f"its process ended with {started.returncode}: {last}")


def stop(process: Process) -> None:
    """End a notebook's process: nbclient takes its kernel down on SIGTERM, a kernel ends when its parent is gone."""
    process.terminate()
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def main(path: str) -> None:
    """Run the job in a file and write its result beside it."""
    job = Job(**json.loads(Path(path).read_text()))
    partial = Path(job.folder, "result.partial")
    partial.write_text(json.dumps(asdict(_papermill(job))))
    partial.replace(Path(job.folder, "result.json"))


@contextmanager
def without(*names: str) -> Iterator[None]:
    """Spare imports these modules, which they do not need; they are hidden only for that time."""
    hidden = [name for name in names if name not in sys.modules]
    sys.modules.update(dict.fromkeys(hidden))  # type: ignore[arg-type]
    try:
        yield
    finally:
        for name in hidden:
            del sys.modules[name]


def _papermill(job: Job) -> Result:
    target = Path(job.folder, Path(job.source).name)
    with without(*UNUSED, "pyarrow"):
        import papermill
    from papermill.exceptions import PapermillExecutionError

    started: list[NotebookNode] = []

    def cell_starts(cell: NotebookNode, cell_index: int) -> None:
        del cell_index
        if "injected-parameters" not in cell.metadata.get("tags", []):
            started.append(cell)

    def failed(message: str, traceback: str = "") -> Result:
        tags = started[-1].metadata.get("tags", []) if started else []
        return Result(message, len(started) or None, tags[0] if tags else None, traceback)

    os.environ[BATCH] = "1"
    try:
        papermill.execute_notebook(
            job.source,
            str(target),
            parameters=dict(job.parameters),
            kernel_name=KERNEL,
            cwd=job.cwd,
            progress_bar=False,
            # else all of it is checked and written twice for each cell, and nobody looks at it meanwhile
            request_save_on_cell_execute=False,
            start_timeout=120,
            execution_timeout=job.cell_timeout,
            on_cell_start=cell_starts,
            # all is written by then, and a kernel takes most of a second to end by itself
            shutdown_kernel="immediate",
        )
    except PapermillExecutionError as error:
        message = f"{error.ename}: {error.evalue}".rstrip(": ")
        return failed(message, _ESCAPES.sub("", "\n".join(error.traceback)))
    # A dead kernel, a timeout and a kernel that does not start are of several unrelated types.
    except Exception as error:  # noqa: BLE001
        lines = [line for line in _ESCAPES.sub("", str(error)).splitlines() if line.strip()]
        return failed(": ".join([type(error).__name__, *lines[:1]]))
    return Result()


def with_outputs_of(source: NotebookNode, executed: NotebookNode) -> NotebookNode:
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
    with without(*UNUSED):
        import nbformat

    new, old = (nbformat.reads(each.decode(), as_version=4) for each in (source, executed))
    return f"{nbformat.writes(with_outputs_of(new, old))}\n".encode()


if __name__ == "__main__":
    main(sys.argv[1])
