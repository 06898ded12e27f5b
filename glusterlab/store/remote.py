"""Where raw/ and outputs may lie: folders of this machine, or anything that fsspec has a file system for.

A campaign elsewhere is named by a URL such as ``s3://bucket/raw/night`` or ``sftp://host/data/raw/night``. Its
small files are mirrored into a cache on this machine; a sample's files are fetched by the process that reads them, and
only then. fsspec and the file system's own package bring credentials and settings as they always do.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from glusterlab.errors import DataError, GlusterlabError, UsageError
from glusterlab.store.files import write_atomically

_VERSION_KEYS = (
    "ETag",
    "etag",
    "md5",
    "checksum",
    "sha256",
    "LastModified",
    "last_modified",
    "mtime",
    "updated",
    "created",
)
"""What file systems call that which changes with a file's content; the first that one has is taken."""


def is_url(place: str | Path) -> bool:
    """Whether a place is named by a URL of another file system.

    Examples
    --------
    >>> is_url("s3://bucket/raw/night"), is_url("raw/night"), is_url("file:///data/raw/night")
    (True, False, False)
    """
    text = str(place)
    return "://" in text and not text.startswith("file://")


def local(place: str | Path) -> Path:
    """The path of a place on this machine.

    Raises UsageError when it is a URL of another file system.
    """
    text = str(place)
    if is_url(text):
        raise UsageError(f"expected a folder of this machine, found {text}")
    return Path(text.removeprefix("file://"))


@dataclass(frozen=True)
class Remote:
    """A folder of another file system.

    `url`: without a slash at its end.
    """

    url: str

    @classmethod
    def of(cls, url: str) -> Remote:
        """The folder that a URL names."""
        return cls(url.rstrip("/"))

    @property
    def name(self) -> str:
        """Its last part."""
        return self.url.rpartition("/")[2]

    def __str__(self) -> str:
        return self.url

    def parent(self, levels: int = 1) -> Remote:
        """The folder so many levels above.

        Examples
        --------
        >>> Remote("s3://bucket/lab/raw/night").parent(2).url
        's3://bucket/lab'
        """
        return Remote(self.url.rsplit("/", levels)[0])

    def __truediv__(self, name: str) -> Remote:
        return Remote(f"{self.url}/{name}")

    def _open(self) -> tuple[Any, str]:
        try:
            from fsspec.core import url_to_fs
        except ImportError as error:
            raise UsageError(f"{self.url}: URLs need fsspec: pip install 'glusterlab[remote]'") from error
        try:
            with _readable_errors(f"{self.url}: cannot be reached"):
                system, path = url_to_fs(self.url)
        except (ImportError, ValueError) as error:
            raise UsageError(f"{self.url}: {error}") from error
        return system, str(path)

    def listing(self) -> dict[str, str]:
        """Every file below: its path, and a word that changes with its content.

        Raises DataError when the folder cannot be listed.
        """
        system, root = self._open()
        # another process may have written since this one last looked
        system.invalidate_cache()
        found: Mapping[str, Mapping[str, Any]] = {}
        with _readable_errors(f"{self.url}: cannot be listed"), suppress(FileNotFoundError):
            found = system.find(root, detail=True)
        return {
            PurePosixPath(path).relative_to(PurePosixPath(system._strip_protocol(root))).as_posix(): _version(entry)
            for path, entry in found.items()
            if entry.get("type") != "directory"
        }

    def fetch(self, names: Iterable[str], folder: Path) -> None:
        """Copy files into a folder of this machine, under the same names.

        Raises DataError when one of them cannot be read.
        """
        wanted = sorted(names)
        if not wanted:
            return
        system, root = self._open()
        targets = [folder / name for name in wanted]
        for parent in {target.parent for target in targets}:
            parent.mkdir(parents=True, exist_ok=True)
        partial = [target.with_name(f".{target.name}.partial") for target in targets]
        with _readable_errors(f"{self.url}: {wanted[0]} or another of {len(wanted)} files cannot be read"):
            system.get([f"{root}/{name}" for name in wanted], [str(path) for path in partial])
        for path, target in zip(partial, targets, strict=True):
            path.replace(target)

    def store(self, folder: Path, names: Iterable[str]) -> None:
        """Copy files of a folder of this machine to here, under the same names.

        Raises DataError when one of them cannot be written.
        """
        system, root = self._open()
        for name in sorted(names):
            target = f"{root}/{name}"
            with _readable_errors(f"{self.url}: {name} cannot be written"):
                system.makedirs(target.rpartition("/")[0], exist_ok=True)
                system.put_file(str(folder / name), target)

    def remove(self, names: Iterable[str]) -> None:
        """Remove files; one that is not there is no error."""
        system, root = self._open()
        for name in sorted(names):
            with _readable_errors(f"{self.url}: {name} cannot be removed"), suppress(FileNotFoundError):
                system.rm_file(f"{root}/{name}")

    def cache(self) -> Path:
        """The folder of this machine's cache that mirrors this one; its last part has the same name."""
        from platformdirs import user_cache_path

        key = hashlib.sha256(self.url.encode()).hexdigest()[:16]
        return user_cache_path("glusterlab") / "remote" / key / self.name


def place(name: str | Path | Remote) -> Path | Remote:
    """The folder that a path or a URL names."""
    if isinstance(name, Remote):
        return name
    return Remote.of(str(name)) if is_url(name) else local(name)


_RECORD = ".mirror.json"


def mirror(remote: Remote, folder: Path, listing: Mapping[str, str], wanted: Iterable[str]) -> None:
    """Bring copies of a remote folder's files up to date in a folder of this machine, and remove what no longer exists.

    `folder`: belongs to this mirror alone: what else is in it goes, hidden files excepted. `listing`: as
    `Remote.listing` gave it. `wanted`: the files to be there. Raises DataError when a file cannot be read.
    """
    known = _read_record(folder)
    names = set(wanted)
    for path in list(folder.rglob("*")):
        if path.is_file() and not path.name.startswith(".") and path.relative_to(folder).as_posix() not in names:
            path.unlink()
    stale = [name for name in names if known.get(name) != [listing[name], *_state(folder / name)]]
    folder.mkdir(parents=True, exist_ok=True)
    remote.fetch(stale, folder)
    _write_record(folder, names, listing)


def publish(remote: Remote, folder: Path, names: Iterable[str]) -> None:
    """Bring a remote folder up to date with its mirror: store what changed there, remove what is gone.

    `folder`: as `mirror` left it, changed since. `names`: the files to be there. Raises DataError when a file cannot be
    written.
    """
    known, wanted = _read_record(folder), set(names)
    remote.store(folder, [name for name in wanted if known.get(name, [])[1:] != _state(folder / name)])
    remote.remove(known.keys() - wanted)
    _write_record(folder, wanted, remote.listing())


def _state(path: Path) -> list[int]:
    try:
        state = path.stat()
    except OSError:
        return []
    return [state.st_size, state.st_mtime_ns]


def _read_record(folder: Path) -> dict[str, list[Any]]:
    try:
        record = json.loads((folder / _RECORD).read_bytes())
    except (OSError, ValueError):
        return {}
    return record if isinstance(record, dict) else {}


def _write_record(folder: Path, names: Iterable[str], listing: Mapping[str, str]) -> None:
    record = {name: [listing.get(name), *_state(folder / name)] for name in sorted(names)}
    write_atomically(folder / _RECORD, json.dumps(record), durable=False)


@contextmanager
def fetched(place: Path | Remote, names: Iterable[str]) -> Iterator[Path]:
    """A folder of this machine that has these files of a place: the place itself, or copies that go afterwards.

    Raises DataError when a file cannot be read.
    """
    if isinstance(place, Path):
        yield place
        return
    folder = Path(tempfile.mkdtemp(prefix="glusterlab-"))
    try:
        place.fetch(names, folder)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _readable_errors(what: str) -> Iterator[None]:
    """Turns what a file system raises into one sentence: each has errors of its own, and not all are OSErrors."""
    try:
        yield
    except (ImportError, ValueError, GlusterlabError):
        raise
    except Exception as error:
        raise DataError(f"{what}: {str(error) or type(error).__name__}") from error


def _version(entry: Mapping[str, Any]) -> str:
    version = next((entry[key] for key in _VERSION_KEYS if entry.get(key) is not None), "")
    return f"{entry.get('size')} {version}"
