"""Signatures of manifests, by OpenSSH: whoever edits raw files can edit their digests, too."""

import subprocess
from pathlib import Path

from glusterlab.errors import RawStoreError
from glusterlab.rawfile import read_raw
from glusterlab.store.manifest import MANIFEST, MAX_BYTES, SIGNATURE

NAMESPACE = "glusterlab"  # what ``ssh-keygen -Y sign -n`` is given


def sign(raw: Path, key: Path) -> None:
    """Sign a campaign's manifest; `key` may be a public one whose private one an agent has."""
    done = _keygen("sign", "-n", NAMESPACE, "-f", key, raw / MANIFEST)
    if done.returncode:
        raise RawStoreError(f"{raw / MANIFEST}: cannot be signed with {key}: {_last_line(done)}", path=raw)


def refusal(raw: Path, signers: Path) -> str | None:
    """Why a campaign's signature is none of its manifest by one of the `signers`; None when it is.

    `signers`: a file as in ssh-keygen(1), ALLOWED SIGNERS. Raises RawStoreError when there is none.
    """
    if not signers.is_file():
        raise RawStoreError(f"{signers}: expected a file of allowed signers, found none", path=signers)
    if not (raw / SIGNATURE).is_file() or not (raw / MANIFEST).is_file():
        return f"it is not signed: expected {SIGNATURE} beside it"
    files = ("-f", signers, "-s", raw / SIGNATURE)
    done = _keygen("find-principals", *files)
    for name in done.stdout.decode(errors="replace").splitlines():
        done = _keygen("verify", *files, "-I", name, "-n", NAMESPACE, text=read_raw(raw / MANIFEST, MAX_BYTES))
        if done.returncode == 0:
            return None
    return f"{SIGNATURE} is no signature of it by one of {signers}: {_last_line(done)}"


def _keygen(what: str, *words: str | Path, text: bytes | None = None) -> subprocess.CompletedProcess[bytes]:
    try:
        return subprocess.run(["ssh-keygen", "-Y", what, *words], input=text, capture_output=True, check=False)
    except OSError as error:
        raise RawStoreError(f"ssh-keygen: {error.strerror}; signatures need OpenSSH 8.2 or newer") from error


def _last_line(done: subprocess.CompletedProcess[bytes]) -> str:
    lines = (done.stderr or done.stdout).decode(errors="replace").strip().splitlines()
    return lines[-1] if lines else f"exit code {done.returncode}"
