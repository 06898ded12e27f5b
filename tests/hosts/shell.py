"""The shell functions that hosts run, in a real bash of this machine."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping

from glusterlab.hosts import script
from glusterlab.hosts.pool import CommandResult


def bash(
    text: str,
    *more: str,
    arguments: tuple[object, ...] = (),
    replaced: Mapping[str, object] | None = None,
    alone: bool = False,
    **environment: str,
) -> subprocess.CompletedProcess[str]:
    """Run calls of functions of host.sh and of `more` files, in whose text some paths may be `replaced`.

    `alone`: in a PID namespace, so that no other process can be hit; it needs root. Bytes that are no UTF-8 are
    surrogates.
    """
    library = script.library(*more)
    for old, new in (replaced or {}).items():
        assert old in library
        library = library.replace(old, str(new))
    namespace = ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child"] if alone else []
    return subprocess.run(
        [*namespace, "bash", "-c", f"{library}\n{text}", "bash", *map(str, arguments)],
        env={"PATH": os.environ["PATH"], **environment},
        capture_output=True,
        encoding="utf-8",
        errors="surrogateescape",
        timeout=120,
        check=False,
    )


def result(stdout: bytes) -> CommandResult:
    return CommandResult("gl-s01", "script", stdout, b"", 0, 100.0, 103.0)


def report(text: str, *more: str) -> dict[str, script.Part]:
    done = bash(text, *more)
    assert done.returncode == 0 or text.startswith("set -e"), done.stderr
    return dict(script.read_parts(result(done.stdout.encode("utf-8", "surrogateescape"))))
