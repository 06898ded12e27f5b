"""Commands on the machine that the testbed runs on: started, waited for, and turned into clear errors."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path

from glusterlab.errors import TestbedError


def run(argv: Sequence[str | Path], *, stdin: str | None = None, deadline_s: float = 120.0, check: bool = True) -> str:
    """Run a command on this machine and return what it wrote to stdout.

    Parameters
    ----------
    argv : sequence of str or Path
        The command; no shell is involved.
    stdin : str, optional
        Text for its standard input, else nothing.
    deadline_s : float
        Seconds after which it is killed.
    check : bool
        Whether an exit code other than 0 is an error.

    Raises
    ------
    TestbedError
        When the command is not installed, passes its deadline, or fails and `check` is set.
    """
    command = [str(part) for part in argv]
    try:
        done = subprocess.run(
            command,
            input=stdin or "",
            capture_output=True,
            text=True,
            errors="replace",
            timeout=deadline_s,
            check=False,
        )
    except FileNotFoundError as error:
        raise TestbedError(f"the command '{command[0]}' is not installed on this machine") from error
    except subprocess.TimeoutExpired as error:
        raise TestbedError(f"'{' '.join(command)}' did not end within {deadline_s:.0f} s") from error
    if check and done.returncode != 0:
        tail = (done.stderr or done.stdout).strip().splitlines()[-3:]
        raise TestbedError(f"'{' '.join(command)}' ended with code {done.returncode}: {' / '.join(tail)}")
    return done.stdout


def write_value(path: Path, text: str, *, missing_ok: bool = False) -> None:
    """Write one value to a kernel file (cgroup, sysctl).

    Raises
    ------
    TestbedError
        When the kernel refuses it; with `missing_ok`, not when the file is absent.
    """
    try:
        with path.open("w", encoding="ascii") as stream:
            stream.write(text)
    except FileNotFoundError as error:
        if not missing_ok:
            raise TestbedError(f"the kernel does not offer {path}") from error
    except OSError as error:
        raise TestbedError(f"the kernel refused '{text.strip()}' for {path}: {error.strerror}") from error


def write_values(path: Path, lines: Iterable[str], *, missing_ok: bool = False) -> None:
    """Write several values to a kernel file, each in a write of its own, as cgroup files want it."""
    for line in lines:
        write_value(path, line, missing_ok=missing_ok)
