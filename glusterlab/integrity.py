"""Whether a campaign elsewhere is what its manifest says: its files are hashed where they are read, in parallel."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from glusterlab import schedule
from glusterlab.errors import RawStoreError
from glusterlab.fingerprint import Signatures
from glusterlab.manifest import MANIFEST, Manifest, file_digest
from glusterlab.schedule import Outcome
from glusterlab.storage import Remote, fetched

BATCH = 64
"""Files that one job hashes."""


@dataclass(frozen=True)
class HashJob:
    """Files of a remote folder to be hashed."""

    place: Remote
    names: tuple[str, ...]


def hash_files(job: HashJob) -> Outcome[HashJob, dict[str, str]]:
    """The SHA-256 of each file.

    Raises
    ------
    DataError
        When one cannot be read.
    """
    with fetched(job.place, job.names) as root:
        return Outcome(({name: file_digest(root / name) for name in job.names},))


def check_remote(
    raw: Remote, mirrored: Path, versions: Mapping[str, str], known: Signatures, scheduler: str | None
) -> tuple[str, Signatures]:
    """As `glusterlab.fingerprint.check_raw`, for a campaign elsewhere.

    Parameters
    ----------
    raw : Remote
    mirrored : pathlib.Path
        This machine's copies of its small files, the manifest among them.
    versions : mapping of str to str
        Every file, and a word that changes with its content.
    known : Signatures
        What this function returned before.
    scheduler : str or None

    Returns
    -------
    digest : str
    signatures : Signatures

    Raises
    ------
    RawStoreError
        When a file is missing or is not the one of the manifest.
    DataError
        When one cannot be read.
    """
    digests = Manifest.read(mirrored).digests
    missing = sorted(digests.keys() - versions.keys())
    stale = [name for name in digests if name in versions and known.get(name) != [versions[name]]]
    jobs = [HashJob(raw, tuple(stale[start : start + BATCH])) for start in range(0, len(stale), BATCH)]
    found: dict[str, str] = {}
    for hashed in schedule.run(jobs, hash_files, scheduler=scheduler, processes=1 if len(jobs) < 2 else None):
        found |= hashed
    if wrong := [*missing, *(name for name in stale if found[name] != digests[name])]:
        more = f" and {len(wrong) - 3} more" if len(wrong) > 3 else ""
        raise RawStoreError(
            f"{raw}: not as {MANIFEST} has it: {', '.join(wrong[:3])}{more}. Raw files are never edited: restore them "
            "from a copy",
            path=raw.url,
        )
    return file_digest(mirrored / MANIFEST), {name: [versions[name]] for name in digests}
