"""Notebooks run by `exec` in this process: enough where the question is not what a kernel does."""

from pathlib import Path

import nbformat

from glusterlab.reproduce.execute import Job, Result


def run_in_this_process(job: Job, *_: object) -> Result:
    """In place of `glusterlab.reproduce.execute.process`."""
    source = nbformat.read(job.source, as_version=4)
    replaced = {name: str(Path(job.cwd, value)) for name, value in job.parameters.items()}
    names: dict[str, object] = {}
    for cell in source.cells:
        if cell.cell_type == "code":
            exec(compile(cell.source, cell.id, "exec"), names)
            names |= replaced if "parameters" in cell.metadata.get("tags", []) else {}
    nbformat.write(source, Path(job.folder, Path(job.source).name))
    return Result()
