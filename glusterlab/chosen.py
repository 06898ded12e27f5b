"""Which campaigns and notebooks `glusterlab reproduce` is about, by what the user named."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from glusterlab.errors import UsageError
from glusterlab.manifest import MANIFEST
from glusterlab.origin import is_baseline
from glusterlab.storage import Remote, place


def choose_campaigns(raw_paths: Sequence[Path | str], project: Path) -> list[Path | Remote]:
    """The campaigns of these folders or URLs; without any, those in ``raw/`` that are no baselines.

    Raises
    ------
    UsageError
        When there is none, a folder is no campaign or a baseline, or two have one name.
    """
    if raw_paths:
        named: dict[str, Path | Remote] = {}
        for text in raw_paths:
            raw = place(text)
            if isinstance(raw, Path):
                raw = _campaign(raw).resolve()
            if named.setdefault(raw.name, raw) != raw:
                raise UsageError("two campaigns of one name would share a figures folder: reproduce them one at a time")
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


def choose_notebooks(names: Sequence[str] | None, project: Path) -> list[Path]:
    """Notebooks of the project by their names or numbers; all by default.

    Raises
    ------
    UsageError
        When there is none of a name, or none at all.
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
