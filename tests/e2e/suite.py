"""What the end-to-end tests share: the command line as a user has it, and whether this machine can have a testbed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from glusterlab.testbed import local, tree

RELEASE = "bookworm"


def require_testbed() -> None:
    """Skip where a testbed cannot be, with the reason; fail where the machine is meant to have one, as in CI."""
    found = local.problems()
    if not found and not tree.tree_path(RELEASE).is_dir() and shutil.which("debootstrap") is None:
        found = ["debootstrap is not installed"]
    missing = "; ".join(found)
    if missing and os.environ.get("GLUSTERLAB_REQUIRE_TESTBED") == "1":
        pytest.fail(f"this machine must run the end-to-end tests, and cannot: {missing}")
    if missing:
        pytest.skip(f"the end-to-end tests need a testbed: {missing}")


def glusterlab(
    *arguments: str | Path, cwd: Path, code: int = 0, deadline_s: float = 900
) -> subprocess.CompletedProcess[str]:
    """Run the command line as a user does, and require an exit code and the absence of a traceback."""
    command = [sys.executable, "-m", "glusterlab.cli", *map(str, arguments)]
    done = subprocess.run(
        command, cwd=cwd, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=deadline_s
    )
    assert done.returncode == code, f"{arguments}: {done.returncode}\n{done.stdout[-4000:]}\n{done.stderr[-4000:]}"
    assert "Traceback" not in done.stderr
    return done
