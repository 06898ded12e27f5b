"""Cells that a campaign has no longer: set aside in ``aside/`` by one rename, and brought back.

The manifest names each file where it lies; a run that was killed between the two leaves that to the next one.
"""

from collections.abc import Iterable, Set
from pathlib import Path

from glusterlab.errors import RawStoreError
from glusterlab.store.files import sync, write_atomically, writing
from glusterlab.store.manifest import MANIFEST, Manifest

CELLS = "cells"
ASIDE = "aside"
_OTHER = {CELLS: ASIDE, ASIDE: CELLS}


def settle(folder: Path) -> None:
    """Let the manifest of a locked campaign name the files of moved cells where they lie."""
    digests = Manifest.read(folder).digests
    if moved := moved_files(folder, digests):
        text = Manifest({moved.get(name, name): digest for name, digest in digests.items()}).text
        write_atomically(folder / MANIFEST, text)


def moved_files(folder: Path, names: Iterable[str]) -> dict[str, str]:
    """Listed files of cells that were moved since they were listed, and where they lie now."""
    found: dict[str, str] = {}
    moved: dict[tuple[str, str], bool] = {}
    for name in names:
        place, cell, rest = [*name.split("/", 2), "", ""][:3]
        if place not in _OTHER or not rest:
            continue
        other = f"{_OTHER[place]}/{cell}"
        if (place, cell) not in moved:
            moved[place, cell] = (folder / other).is_dir() and not (folder / place / cell).exists()
        if moved[place, cell]:
            found[name] = f"{other}/{rest}"
    return found


def agree(folder: Path, wanted: Set[str]) -> tuple[list[str], list[str]]:
    """Set aside every cell that is not wanted, and bring back those that are: the ids of both.

    RawStoreError for one in both places.
    """
    settle(folder)
    away = [cell for cell in _cells(folder / CELLS) if cell not in wanted]
    back = [cell for cell in _cells(folder / ASIDE) if cell in wanted]
    for source, target, cells in ((folder / CELLS, folder / ASIDE, away), (folder / ASIDE, folder / CELLS, back)):
        if not cells:
            continue
        with writing(target):
            target.mkdir(exist_ok=True)
            for cell in cells:
                if (target / cell).exists():
                    message = f"{target / cell}: is there already, and so is {source / cell}; move one of them away"
                    raise RawStoreError(message, path=target / cell)
                (source / cell).rename(target / cell)
            sync(source)
            sync(target)
    if away or back:
        settle(folder)
    return away, back


def _cells(place: Path) -> list[str]:
    return sorted(path.name for path in place.iterdir() if path.is_dir()) if place.is_dir() else []
