"""Nothing that is committed or measured holds a key, a token or a password: a campaign can be given away as it is."""

from __future__ import annotations

import lzma
import re
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[1]
FOLDERS = [PROJECT / name for name in ("raw", "runbooks", "figures")]
FOUND = [path for folder in FOLDERS for path in folder.rglob("*") if ".partial/" not in path.as_posix()]
FILES = sorted(path for path in FOUND if path.is_file())

SECRET = re.compile(
    rb"PRIVATE KEY"
    rb"|\bssh-(?:rsa|dss|ed25519)\s+AAAA"
    rb"|\b(?:password|passwd|passphrase|secret|api[_-]?key|access[_-]?token|auth[_-]?token)\b['\"]?\s*[=:]\s*['\"]?\w"
    rb"|\b(?:ghp|gho|glpat|xox[bp])[_-][A-Za-z0-9]{16,}"
    rb"|\bAKIA[0-9A-Z]{16}\b",
    re.IGNORECASE,
)


def secrets(path: Path) -> list[bytes]:
    data = path.read_bytes()
    if path.suffix == ".xz":
        data = lzma.decompress(data)
    return [match.group() for match in SECRET.finditer(data)]


@pytest.mark.skipif(not FILES, reason="nothing is measured yet")
def test_no_file_holds_a_secret() -> None:
    assert {str(path.relative_to(PROJECT)): found for path in FILES if (found := secrets(path))} == {}


@pytest.mark.parametrize(
    "text",
    [
        "-----BEGIN OPENSSH PRIVATE KEY-----",
        "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAA",
        'password: "hunter2"',
        "API_KEY=abc",
        "ghp_0123456789abcdefghij",
        "AKIAIOSFODNN7EXAMPLE",
    ],
)
def test_a_secret_is_found_also_in_compressed_files(tmp_path: Path, text: str) -> None:
    plain, packed = tmp_path / "a.txt", tmp_path / "a.xz"
    plain.write_text(f"some\n{text}\nmore")
    packed.write_bytes(lzma.compress(plain.read_bytes()))
    assert secrets(plain)
    assert secrets(packed)
