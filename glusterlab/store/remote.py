"""A campaign that lies elsewhere, at a URL of fsspec such as ``s3://bucket/raw/night``, brought to this machine."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Any

from glusterlab.errors import DataError, GlusterlabError, RawStoreError, UsageError
from glusterlab.store.campaign import appear, refuse_occupied, work_folder
from glusterlab.store.digests import compare_raw
from glusterlab.store.evidence import archive_of
from glusterlab.store.files import sync_below, writing
from glusterlab.store.manifest import MANIFEST, Manifest

_LOGS = frozenset({"log.txt", "events.jsonl"})
_AT_ONCE = 200  # files that are fetched by one call, and kept when a later one fails


def fetch(url: str, folder: Path, progress: Callable[[int, int], None] = lambda *_: None) -> tuple[int, int]:
    """Bring a campaign here; its folder appears when every file is as the campaign's manifest has it.

    What an interrupted fetch brought lies in ``.<name>.fetch`` beside `folder`. Returns the numbers of files fetched
    now, and there before. Raises RawStoreError when the folder is taken or cannot be written, or there is no campaign;
    DataError when files cannot be read or are damaged.
    """
    refuse_occupied(folder)
    with work_folder(folder, "fetch", goes_on=True) as around:
        work = around / folder.name
        system, root = _opened(url)
        with _as_sentence(f"{url}: cannot be read"):
            found = system.find(root, detail=True)
        if links := sorted(path for path, each in found.items() if each.get("islink") or each.get("type") == "link"):
            raise DataError(f"{url}: {links[0]} is a link, and may lead anywhere: put a copy in its place there")
        base = PurePosixPath(system._strip_protocol(root))
        sizes = {PurePosixPath(path).relative_to(base).as_posix(): entry.get("size") for path, entry in found.items()}
        if MANIFEST not in sizes:
            message = f"{url}: expected a campaign's folder with {MANIFEST}, found none"
            raise RawStoreError(message, path=folder, exit_code=2)
        _get(system, root, [MANIFEST], work)
        listed = Manifest.read(work).digests
        if away := [name for name in listed if name.startswith("/") or ".." in name.split("/")]:
            raise DataError(f"{url}: expected files below the campaign in {MANIFEST}, found {away[0]}")
        wanted = {name if name in sizes else archive_of(name) or name for name in listed} & sizes.keys()
        here = {path.relative_to(work).as_posix(): path.stat().st_size for path in work.rglob("*") if path.is_file()}
        for name in here.keys() - wanted - {MANIFEST}:
            (work / name).unlink()
        # what has another size than there has changed; damage shows below
        missing = sorted(name for name in wanted if name not in here or sizes[name] not in (None, here[name]))
        kept = len(wanted) - len(missing)
        missing += sorted(_LOGS & sizes.keys())
        for start in range(0, len(missing), _AT_ONCE):
            _get(system, root, missing[start : start + _AT_ONCE], work)
            progress(min(start + _AT_ONCE, len(missing)), len(missing))
        wrong = sorted(compare_raw(work, {})[1])
        for name in wrong:
            (work / (name if name in sizes else archive_of(name) or name)).unlink(missing_ok=True)
        if wrong:
            what = f"not as {MANIFEST} has it: {wrong[0]}, 1 of {len(wrong)}"
            message = f"{url}: {what}; the rest is kept: run the same command again, or restore it there"
            raise DataError(message, exit_code=1)
        sync_below(work)
        appear(work, folder)
    return len(missing), kept


def _opened(url: str) -> tuple[Any, str]:
    try:
        from fsspec.core import url_to_fs
    except ImportError as error:
        raise UsageError(f"{url}: URLs need fsspec: pip install 'glusterlab[remote]'") from error
    try:
        with _as_sentence(f"{url}: cannot be reached"):
            system, root = url_to_fs(url)
    except (ImportError, ValueError) as error:
        raise UsageError(f"{url}: {error}") from error
    return system, str(root)


def _get(system: Any, root: str, names: list[str], folder: Path) -> None:
    targets = [folder / name for name in names]
    partial = [target.with_name(f".{target.name}.tmp") for target in targets]
    with writing(folder):
        for parent in {target.parent for target in targets}:
            parent.mkdir(parents=True, exist_ok=True)
        with _as_sentence(f"{root}: {names[0]} or another of {len(names)} files cannot be fetched"):
            system.get([f"{root.rstrip('/')}/{name}" for name in names], [str(path) for path in partial])
        for path, target in zip(partial, targets, strict=True):
            path.replace(target)


@contextmanager
def _as_sentence(what: str) -> Iterator[None]:
    """Turns what a file system raises into one sentence: each has errors of its own, and not all are OSErrors."""
    try:
        yield
    except (ImportError, ValueError, GlusterlabError):
        raise
    except Exception as error:
        raise DataError(f"{what}: {str(error) or type(error).__name__}") from error
