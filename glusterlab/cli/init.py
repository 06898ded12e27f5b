"""init: a lab of one's own, of the notebooks, runbooks and published studies that came with the library."""

import os
from pathlib import Path

from glusterlab.cli.console import count_of, show
from glusterlab.cli.options import JSON, argument, commands
from glusterlab.errors import DataError, UsageError

app, command = commands()

PARTS = ("notebooks", "runbooks", "raw/published")
"""What a lab is made of; in the wheel they lie in the package's folder ``lab``."""


@command(
    "glusterlab init lab",
    "cd lab; jupyter lab notebooks",
    more="What is at DIR stays as it is: only files that are not there are written.",
)
def init(folder: Path = argument("DIR", "Where the lab is to be."), json: bool = JSON) -> None:
    """Write a lab: notebooks, runbooks with their campaigns, published studies. Nothing is overwritten."""
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder}: expected a folder or nothing, found a file")
    written, kept = write_lab(source(), folder)
    line = f"{folder}: {count_of(len(written), 'file')} written, {count_of(len(kept), 'file')} there from before"
    advice = f"next: cd {folder}; runbooks/README.md has the way, runbooks/testbed/demo.yaml a campaign of two minutes"
    show([], json, {"folder": folder, "written": written, "kept": kept}, lines=[line], notes=[advice])


def source() -> Path:
    """The folder with the parts of a lab: in the installed package, else the checkout around it."""
    package = Path(__file__).parents[1]
    found = next((each for each in (package / "lab", package.parent) if (each / PARTS[0]).is_dir()), None)
    if found is None:
        raise DataError(f"{package}: expected the parts of a lab in it, found none: install glusterlab again by pip")
    return found


def write_lab(origin: Path, folder: Path) -> tuple[list[str], list[str]]:
    """Copy the parts of a lab to where they are not yet; the names of the files written, and of those there before."""
    written: list[str] = []
    kept: list[str] = []
    for path in sorted(each for part in PARTS for each in (origin / part).rglob("*")):
        name = path.relative_to(origin)
        if not path.is_file() or any(part.startswith((".", "__")) for part in name.parts):
            continue
        target = folder / name
        if os.path.lexists(target):
            kept.append(name.as_posix())
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        partial = target.with_name(f".{target.name}.partial")
        partial.write_bytes(path.read_bytes())
        partial.rename(target)
        written.append(name.as_posix())
    return written, kept
