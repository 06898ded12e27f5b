"""One notebook, executed in this process by papermill, with the running interpreter as its kernel.

``python -m glusterlab.reproduce.execute JOB.json`` is what `glusterlab.reproduce.reproduce` starts for each notebook.
The result is a JSON file beside the job; the exit code says nothing.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from nbformat import NotebookNode

KERNEL = "python3"
_ESCAPES = re.compile(r"\x1b\[[0-9;]*m")
_SCRIPTS = re.compile(r"<script\b.*?</script>", re.DOTALL | re.IGNORECASE)


@dataclass(frozen=True)
class Job:
    """One notebook to execute, or whose text alone is to be rendered again around its outputs.

    `source`: the notebook. `folder`: where the executed ``.ipynb``, the ``.html`` and ``result.json`` go.
    `cell_timeout`: seconds for one cell. `executed`: an executed notebook with the same code: its outputs are kept and
    nothing runs. `environment`: what the kernel's environment has besides.
    """

    source: str
    folder: str
    parameters: dict[str, str]
    cwd: str
    cell_timeout: int
    executed: str | None = None
    environment: dict[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The notebook's name without its suffix."""
        return Path(self.source).stem

    def write(self) -> Path:
        """Write the job for the other process."""
        path = Path(self.folder, "job.json")
        path.write_text(json.dumps(asdict(self)))
        return path


@dataclass(frozen=True)
class Result:
    """How a notebook ended.

    `error`: empty when all went well. `cell`: number of the cell at fault in the source notebook, counted from 1 over
    all cells. `tag`: the first tag of that cell.
    """

    error: str = ""
    cell: int | None = None
    tag: str | None = None
    traceback: str = ""

    @classmethod
    def read(cls, folder: Path) -> Self | None:
        """The result in a job's folder, None when its process did not come to write one."""
        try:
            return cls(**json.loads((folder / "result.json").read_text()))
        except (OSError, ValueError, TypeError):
            return None


def kernel_environment(folder: Path) -> dict[str, str]:
    """Environment in which the kernel ``python3`` is this interpreter, free of what the user configured.

    Kernel specifications of the user or the machine may name another Python: one written into the empty `folder` goes
    first, beside IPython's profile.
    """
    spec = folder / "kernels" / KERNEL
    spec.mkdir(parents=True)
    argv = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    kernel: dict[str, object] = {"argv": argv, "display_name": "Python 3", "language": "python"}
    (spec / "kernel.json").write_text(json.dumps(kernel))
    environment = {name: value for name, value in os.environ.items() if name not in ("MPLBACKEND", "MATPLOTLIBRC")}
    return {
        **environment,
        "JUPYTER_PATH": str(folder),
        "IPYTHONDIR": str(folder / "ipython"),
        "PYDEVD_DISABLE_FILE_VALIDATION": "1",
        "PYTHONHASHSEED": "0",
    }


@contextmanager
def without_grammar() -> Iterator[None]:
    """Spare jsonschema, which nbformat imports, the grammar of international addresses: a second at every start.

    No notebook's schema has such an address to be checked.
    """
    name = "rfc3987_syntax"
    if name in sys.modules:
        yield
        return
    sys.modules[name] = None  # type: ignore[assignment]
    try:
        yield
    finally:
        del sys.modules[name]


def run(job: Job) -> Result:
    """Execute a notebook and write it with its outputs as ``.ipynb`` and ``.html``.

    Every failure of the notebook or its kernel is a result, not an exception.
    """
    with without_grammar():
        import nbformat

    target = Path(job.folder, f"{job.name}.ipynb")
    if job.executed is not None:
        notebook = retell(nbformat.read(job.source, as_version=4), nbformat.read(job.executed, as_version=4))
        nbformat.write(notebook, target)
    else:
        result = _execute(job, target)
        if result.error:
            target.unlink(missing_ok=True)
            return result
        notebook = nbformat.read(target, as_version=4)
    target.with_suffix(".html").write_text(render(notebook, job.name), encoding="utf-8")
    return Result()


def _execute(job: Job, target: Path) -> Result:
    import papermill
    from papermill.exceptions import PapermillExecutionError

    try:
        papermill.execute_notebook(
            job.source,
            str(target),
            parameters=dict(job.parameters),
            kernel_name=KERNEL,
            cwd=job.cwd,
            progress_bar=False,
            start_timeout=120,
            execution_timeout=job.cell_timeout,
        )
    except PapermillExecutionError as error:
        message = f"{error.ename}: {error.evalue}".rstrip(": ")
        cell, tag = _last_started(target)
        return Result(message, cell, tag, _ESCAPES.sub("", "\n".join(error.traceback)))
    # A dead kernel, a timeout and a kernel that does not start are of several unrelated types.
    except Exception as error:  # noqa: BLE001
        cell, tag = _last_started(target)
        return Result(_first_line(error), cell, tag)
    return Result()


def _first_line(error: Exception) -> str:
    lines = [line for line in _ESCAPES.sub("", str(error)).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__


def _last_started(target: Path) -> tuple[int | None, str | None]:
    """Number and tag of the last cell that papermill started, as the source notebook counts."""
    try:
        cells = json.loads(target.read_text(encoding="utf-8"))["cells"]
    except (OSError, ValueError, KeyError):
        return None, None
    number = 0
    found: tuple[int | None, str | None] = None, None
    for cell in cells:
        tags = cell["metadata"].get("tags", [])
        injected = bool({"injected-parameters", "papermill-error-cell-tag"} & set(tags))
        number += not injected
        if not injected and cell["metadata"].get("papermill", {}).get("start_time"):
            found = number, tags[0] if tags else None
    return found


def retell(source: NotebookNode, executed: NotebookNode) -> NotebookNode:
    """A notebook with the cells of `source` and the outputs of `executed`, whose code cells are the same.

    The cell with the injected parameters is kept where it was: after the cell tagged ``parameters``.
    """
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


def render(notebook: NotebookNode, title: str) -> str:
    """A notebook as one HTML page that loads nothing from elsewhere and runs no script."""
    from nbconvert import HTMLExporter

    body, _ = HTMLExporter(embed_images=True).from_notebook_node(notebook, resources={"metadata": {"name": title}})
    return _SCRIPTS.sub("", body)


def main(path: str) -> None:
    """Run the job in a file and write its result beside it."""
    job = Job(**json.loads(Path(path).read_text()))
    os.environ.update(job.environment)
    result = run(job)
    partial = Path(job.folder, "result.partial")
    partial.write_text(json.dumps(asdict(result)))
    partial.replace(Path(job.folder, "result.json"))


if __name__ == "__main__":
    main(sys.argv[1])
