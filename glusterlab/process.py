"""Whether a process is the one that it was: numbers of processes are given again."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path


def started(pid: int) -> int | None:
    """When a process of this machine started, in ticks since its boot; None when there is none, or it cannot be told.

    Examples
    --------
    >>> import os
    >>> started(os.getpid()) == started(os.getpid()), started(-1)
    (True, None)
    """
    with suppress(OSError, IndexError, ValueError):
        # the name before it may hold blanks and brackets
        return int(Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()[19])
    return None
