"""Files of the raw store: JSON with a schema version, and writing that leaves either the whole file or none."""

import errno
import fcntl
import hashlib
import json
import os
import socket
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from glusterlab.errors import GlusterlabError, ParseError, RawStoreError, UsageError
from glusterlab.rawfile import leads_out, open_raw, read_raw
from glusterlab.tools.document import unique_keys

SCHEMA_VERSION = 1
"""Of sample.json, cell.json and environment.json that this library writes, and the newest that it reads."""


def local(place: str | Path) -> Path:
    """The path of a place on this machine, also of a ``file://`` URL; UsageError for other URLs."""
    text = str(place)
    if "://" in text and not text.startswith("file://"):
        raise UsageError(f"{text}: expected a path of this machine; `glusterlab fetch URL` brings a campaign here")
    return Path(text.removeprefix("file://"))


def links_out(folder: Path) -> Iterator[tuple[Path, str]]:
    """Links below a folder that lead out of it, or to no file, and what to do: what is there is not the campaign's."""
    found = (Path(place, name) for place, folders, names in os.walk(folder) for name in (*folders, *names))
    for path in found:
        if path.is_symlink() and (leads_out(path, folder) or not path.is_file()):
            leads = f"a link out of the campaign or to no file of it, to {path.readlink()}"
            yield path, f"{leads}; put a copy in its place, or remove it"


def refuse_links(folder: Path) -> None:
    """RawStoreError where there is one of `links_out`."""
    for path, message in links_out(folder):
        raise RawStoreError(f"{path}: {message}", path=path)


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Make a RawStoreError of what cannot be read."""
    try:
        yield
    except OSError as error:
        raise RawStoreError(f"{path}: cannot be read: {error.strerror}", path=path) from error


def file_digest(path: Path) -> str:
    """SHA-256 of a file's bytes, in hexadecimal; RawStoreError when it cannot be read."""
    with reading(path), open_raw(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def dump_json(data: object) -> str:
    """JSON as the raw store keeps it: sorted keys, one value per line, a line end at the end."""
    return json.dumps(data, indent=1, sort_keys=True, ensure_ascii=False, allow_nan=False) + "\n"


def read_json(path: Path) -> dict[str, Any]:
    """Read a JSON object; RawStoreError when it cannot be read, or has a newer schema_version, or none."""
    try:
        with reading(path):
            data = json.loads(read_raw(path), object_pairs_hook=unique_keys)
    except (ValueError, RecursionError, ParseError) as error:
        message = f"{path}: expected JSON, found damage: {error}; restore the file from a copy"
        raise RawStoreError(message, path=path) from error
    version = data.get("schema_version") if isinstance(data, dict) else None
    if type(version) is not int:
        raise RawStoreError(f"{path}: expected a JSON object with a schema_version, found none", path=path)
    if version > SCHEMA_VERSION:
        message = f"expected schema_version {SCHEMA_VERSION} at most, found {version}; install a newer glusterlab"
        raise RawStoreError(f"{path}: {message}", path=path, schema_version=version)
    return dict(data)


def write_atomically(path: Path, data: bytes | str, *, durable: bool = True) -> None:
    """Write a file under a temporary name, then rename it; without `durable` a loss of power may leave it empty."""
    content = data.encode() if isinstance(data, str) else data
    temporary = path.with_name(f".{path.name}.tmp")
    try:
        with temporary.open("wb") as file:
            file.write(content)
            file.flush()
            if durable:
                os.fsync(file.fileno())
        temporary.replace(path)
        if durable:
            sync(path.parent)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise write_error(path, error) from error


def write_error(path: Path, error: OSError) -> RawStoreError:
    """The error of a write that failed, with advice that fits it."""
    is_full = error.errno in (errno.ENOSPC, errno.EDQUOT)
    advice = "make room there" if is_full else "see to the folder's owner, mode and file system"
    message = f"{path}: cannot be written: {error.strerror}; {advice}, then run the same command again"
    return RawStoreError(message, path=path, errno=error.errno)


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Make the `write_error` of what cannot be written."""
    try:
        yield
    except OSError as error:
        raise write_error(path, error) from error


def lock_file(path: Path, refuse: Callable[[str], GlusterlabError]) -> int:
    """Descriptor of a locked file; `refuse` makes the error where it is held, of the words that name its holder."""
    while True:
        lock = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # whoever held it may just have removed it
            with suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(lock), path.stat()):
                    os.truncate(lock, 0)
                    os.write(lock, f"process {os.getpid()} on {socket.gethostname()}\n".encode())
                    return lock
        except BlockingIOError as error:
            holder = os.read(lock, 200).decode(errors="replace").strip() or "another process"
            os.close(lock)
            raise refuse(holder) from error
        except OSError:
            os.close(lock)
            raise
        os.close(lock)


def is_locked(path: Path) -> bool:
    """Whether somebody holds a file that `lock_file` locks."""
    try:
        with open_raw(path) as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        # there is none, or a file system that locks nothing
        return False
    return False


def sync(path: Path) -> None:
    """Wait until a file, or a folder's entries, are on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_below(folder: Path) -> None:
    """Wait until a folder and everything below it are on the disk."""
    # in threads, because one journal commit then serves many files
    with ThreadPoolExecutor(max_workers=16) as pool:
        list(pool.map(sync, [folder, *folder.rglob("*")]))
