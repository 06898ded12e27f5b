"""Reading and changing what samples pack away."""

import lzma
import tempfile
import zlib
from pathlib import Path

from glusterlab.store import evidence
from glusterlab.store.files import file_digest
from glusterlab.store.manifest import UNLISTED


def read_raw(path: Path) -> str:
    """The text of a sample's file, packed or not."""
    with evidence.opened(path) as plain:
        return plain.read_text()


def hungry(data: bytes) -> bytes:
    """An xz file that asks for a dictionary of 4 GiB to be unpacked."""
    packed = bytearray(lzma.compress(data))
    # behind 12 bytes of stream: length, flags, filter, its length, the size of the dictionary
    packed[16] = 40
    end = 12 + packed[12] * 4
    packed[end : end + 4] = zlib.crc32(packed[12:end]).to_bytes(4, "little")
    return bytes(packed)


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
