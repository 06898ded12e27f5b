"""Reading and changing what samples pack away."""

import tempfile
from pathlib import Path

from glusterlab.store import evidence
from glusterlab.store.files import file_digest
from glusterlab.store.manifest import UNLISTED


def read_raw(path: Path) -> str:
    """The text of a sample's file, packed or not."""
    with evidence.opened(path) as plain:
        return plain.read_text()


def make_plain(root: Path) -> None:
    """Unpack every sample of a campaign where it lies, as samples were kept before there were archives."""
    for archive in [*root.glob("*/*/sample-*/evidence.tar.xz")]:
        members = {name: b"".join(content) for name, content in evidence.members(archive)}
        archive.unlink()
        for name, data in members.items():
            path = archive.parent / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)


def digests_of(root: Path) -> dict[str, str]:
    """What a campaign's manifest should list."""
    with tempfile.TemporaryDirectory() as folder:
        evidence.unpack(root, Path(folder))
        files = {path.relative_to(folder).as_posix(): path for path in Path(folder).rglob("*") if path.is_file()}
        return {name: file_digest(path) for name, path in files.items() if name not in UNLISTED}
