"""The report as files: data and pages of each campaign, made when they changed, and the pages that hold all together.

A campaign's files appear at once, when all of them are made; a build that is stopped leaves the report as it was.
"""

import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from filelock import FileLock, Timeout

from glusterlab.errors import GlusterlabError, UsageError
from glusterlab.reproduce.state import STATE as REPRODUCED
from glusterlab.store.campaign import RawStore
from glusterlab.store.digests import RawDigests, environment_parts, key
from glusterlab.store.files import file_digest, write_atomically

STATE = ".site.json"
_LOCK = ".site.lock"
_SCHEMA_VERSION = 3
_OF_A_CAMPAIGN = ("data", "files", "sections")  # folders that have one for each campaign


@dataclass(frozen=True, slots=True)
class Built:
    """What a build did: campaigns made and unchanged, why others failed, pages and bytes of the whole report."""

    folder: Path
    made: tuple[str, ...]
    unchanged: tuple[str, ...]
    failed: Mapping[str, str]
    pages: int
    bytes: int

    @property
    def exit_code(self) -> int:
        return 1 if self.failed else 0


def build(
    raws: Sequence[Path],
    *,
    project: Path,
    folder: Path,
    raw_url: str = "",
    force: bool = False,
    progress: Callable[[str, str], None] = lambda *_: None,
) -> Built:
    """Write the report over campaigns into a folder; only what changed since the last time.

    `raw_url` is where pages find raw files, by default the folder ``raw`` from the report. `progress` is told a
    campaign and what became of it. Raises UsageError where the folder holds something else, is in use, or a URL is
    none. A campaign that cannot be shown is in ``failed``, and keeps the pages that it had.
    """
    folder = folder.absolute()
    if raw_url and urlsplit(raw_url).scheme not in ("http", "https"):
        raise UsageError(f"expected an address that begins with https:// for raw files, found {raw_url!r}")
    _refuse_foreign(folder)
    folder.mkdir(parents=True, exist_ok=True)
    try:
        with FileLock(folder / _LOCK, timeout=0):
            return _build(raws, project, folder, raw_url, force, progress)
    except Timeout:
        raise UsageError(f"{folder}: another process makes the report there; wait for it, then run again") from None


def _refuse_foreign(folder: Path) -> None:
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder}: expected a folder for the report, found a file; name another by --output")
    names = {path.name for path in folder.iterdir()} if folder.is_dir() else set()
    # the lock alone is there where the first build was broken off
    if names and not names & {STATE, _LOCK}:
        expected = "expected a folder that `glusterlab site` made, or an empty one"
        raise UsageError(f"{folder}: {expected}, found {min(names)}; name another folder by --output")


def _build(
    raws: Sequence[Path], project: Path, folder: Path, raw_url: str, force: bool, progress: Callable[[str, str], None]
) -> Built:
    known, known_pages = _read_state(folder)
    keys, stale, failed = {}, [], {}
    environment = environment_parts(project)
    for raw in raws:
        figures = project / "figures" / raw.name
        state = figures / REPRODUCED
        try:
            if figures == folder:
                raise GlusterlabError(f"{figures} is the report's folder: give the campaign another name, or --output")
            RawStore.open(raw)  # a number of files that are not as listed is nobody's
            if not state.is_file():
                raise GlusterlabError(f"{figures} has no figures that reproduce made: `glusterlab reproduce {raw}`")
            parts = {**environment, "raw": RawDigests(raw).whole, "figures": file_digest(state)}
        except GlusterlabError as error:
            failed[raw.name] = str(error)
            continue
        keys[raw.name] = key(parts)
        if force or known.get(raw.name, {}).get("key") != keys[raw.name]:
            stale.append((raw, figures))
            progress(raw.name, "started")
        else:
            progress(raw.name, "unchanged")
    # what lies there of campaigns that are gone goes
    campaigns = {raw.name: known[raw.name] for raw in raws if raw.name in known}
    for name, entry, why in _made(stale, folder):
        if why:
            failed[name] = why
        else:
            campaigns[name] = entry | {"key": keys[name]}
        progress(name, f"failed: {why}" if why else "made")
    campaigns = {raw.name: campaigns[raw.name] for raw in raws if raw.name in campaigns}
    for place in _OF_A_CAMPAIGN:
        for path in (folder / place).glob("*/"):
            if path.name not in campaigns:
                shutil.rmtree(path)
    address = raw_url or os.path.relpath(project / "raw", folder)
    pages = key({**environment, "raw": address, "campaigns": {name: each["key"] for name, each in campaigns.items()}})
    if force or pages != known_pages:
        from glusterlab.sections.comparison import open_release
        from glusterlab.site.data import pairs
        from glusterlab.site.pages import write_pages
        from glusterlab.tables.build import load

        places = {raw: project / "figures" / raw.name / "tables" for raw in raws if raw.name not in failed}
        compared = pairs([open_release(raw, load(raw, tables).samples) for raw, tables in places.items()])
        write_pages(campaigns, compared, folder, address, project / "raw" / "published")
    noted = {"schema_version": _SCHEMA_VERSION, "pages": pages, "campaigns": campaigns}
    write_atomically(folder / STATE, json.dumps(noted))
    files = [path for path in folder.rglob("*") if path.is_file()]
    made = tuple(raw.name for raw, _ in stale if raw.name not in failed)
    return Built(
        folder=folder,
        made=made,
        unchanged=tuple(name for name in campaigns if name not in made and name not in failed),
        failed=failed,
        pages=sum(path.suffix == ".html" for path in files),
        bytes=sum(path.stat().st_size for path in files),
    )


def _read_state(folder: Path) -> tuple[dict[str, Any], str]:
    """What an earlier build noted of each campaign, and the digest of what all pages were made of."""
    with suppress(OSError, ValueError, KeyError, TypeError):
        data = json.loads((folder / STATE).read_bytes())
        if data["schema_version"] == _SCHEMA_VERSION:
            return dict(data["campaigns"]), str(data["pages"])
    return {}, ""


def _made(stale: Sequence[tuple[Path, Path]], folder: Path) -> Iterator[tuple[str, dict[str, Any], str]]:
    """Make the files of campaigns, several at a time: the name of each with what `make` says of it."""
    if not stale:
        return
    # a build with nothing to do spends its time on imports
    from glusterlab import parallel
    from glusterlab.site.pages import Job, make

    jobs = [Job(raw, figures, folder) for raw, figures in stale]
    for result, _ in parallel.run(jobs, make, processes=min(len(jobs), os.cpu_count() or 1)):
        yield result
