"""The shell functions that hosts run, in a real bash of this machine."""

import os
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path

from glusterlab.hosts import script
from glusterlab.hosts.pool import CommandResult

STATES = """\
states() {
    for name; do
        state=$(sed 's/.*) //' "/proc/${!name}/stat" 2>/dev/null | cut -c1)
        case $state in ''|Z) echo "$name ended" ;; *) echo "$name lives" ;; esac
    done
}
"""
"""What became of processes whose ids are in variables."""


def bash(
    text: str,
    *more: str,
    arguments: tuple[object, ...] = (),
    replaced: Mapping[str, object] | None = None,
    within: tuple[str, ...] = (),
    **environment: str,
) -> subprocess.CompletedProcess[str]:
    """Run calls of functions of host.sh and of `more` files, in whose text some paths may be `replaced`.

    `within`: another command that runs the bash. Bytes that are no UTF-8 are surrogates.
    """
    library = script.library(*more)
    for old, new in (replaced or {}).items():
        assert old in library
        library = library.replace(old, str(new))
    return subprocess.run(
        [*within, "bash", "-c", f"{library}\n{text}", "bash", *map(str, arguments)],
        env={"PATH": os.environ["PATH"], **environment},
        capture_output=True,
        encoding="utf-8",
        errors="surrogateescape",
        timeout=120,
        check=False,
    )


ALONE = ("unshare", "--pid", "--fork", "--mount-proc", "--kill-child")
"""In a PID namespace, so that no other process can be hit; it needs root."""


def call(function: str, *words: object) -> subprocess.CompletedProcess[str]:
    """One function of host.sh."""
    return bash(script.call(function, *map(str, words)))


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def ends(pid: int, within_s: float = 30.0) -> bool:
    """A signal is sent before it is obeyed: whoever was told to end may be there a moment longer."""
    end = time.monotonic() + within_s
    while is_running(pid) and time.monotonic() < end:
        time.sleep(0.1)
    return not is_running(pid)


def result(stdout: bytes) -> CommandResult:
    return CommandResult("gl-s01", "script", stdout, b"", 0, 100.0, 103.0)


def report(text: str, *more: str) -> dict[str, script.Part]:
    done = bash(text, *more)
    assert done.returncode == 0 or text.startswith("set -e"), done.stderr
    return dict(script.read_parts(result(done.stdout.encode("utf-8", "surrogateescape"))))
