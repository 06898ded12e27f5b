"""A campaign opened for reading, wherever it lies: its small files here, and a word for the state of each file."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from glusterlab.errors import RawStoreError
from glusterlab.store.campaign import RawStore
from glusterlab.store.manifest import CHANGING
from glusterlab.store.remote import Remote, mirror, place

_SMALL = ("/cell.json", "/sample.json", "/throttle.json")


@dataclass(frozen=True)
class OpenCampaign:
    """A campaign's folder, here or elsewhere, with what tells a change of any of its files.

    `store`: its small files, on this machine. `versions`: each file below it, and a word that changes with its content.
    """

    place: Path | Remote
    store: RawStore
    versions: dict[str, str]

    @classmethod
    def open(cls, raw: Path | Remote | str) -> OpenCampaign:
        """Open a campaign's folder; one elsewhere has its small files mirrored.

        Raises RawStoreError when it is no campaign. Raises DataError when it cannot be reached.
        """
        remote = place(raw)
        if isinstance(remote, Path):
            return cls(remote, RawStore.open(remote), _local_versions(remote))
        versions = {name: word for name, word in remote.listing().items() if _counts(name)}
        if "campaign.yaml" not in versions:
            raise RawStoreError(f"{remote}: expected a campaign's folder with a campaign.yaml, found none", path=raw)
        small = [name for name in versions if not name.startswith("cells/") or name.endswith(_SMALL)]
        mirror(remote, remote.cache(), versions, small)
        return cls(remote, RawStore.open(remote.cache()), versions)

    @cached_property
    def by_sample(self) -> dict[str, dict[str, str]]:
        """The files of each sample's folder."""
        found: dict[str, dict[str, str]] = {}
        for name, word in self.versions.items():
            parts = name.split("/")
            if len(parts) > 3 and parts[0] == "cells" and parts[2].startswith("sample-"):
                found.setdefault("/".join(parts[:3]), {})[name] = word
        return found


def _counts(name: str) -> bool:
    """Whether a file is the campaign's: not its log, which grows while it is read, nor what is hidden or unfinished."""
    return name not in CHANGING and not any(part.startswith(".") for part in name.split("/"))


def _local_versions(path: Path) -> dict[str, str]:
    found = {}
    folders = [""]
    while folders:
        folder = folders.pop()
        with os.scandir(path / folder) as entries:
            for entry in entries:
                name = f"{folder}{entry.name}"
                if not _counts(name):
                    continue
                if entry.is_dir():
                    folders.append(f"{name}/")
                else:
                    state = entry.stat()
                    found[name] = f"{state.st_size} {state.st_mtime_ns}"
    return dict(sorted(found.items()))
