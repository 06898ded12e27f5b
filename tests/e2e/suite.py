"""What the end-to-end tests share: the command line as a user has it, and whether this machine can have a testbed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from glusterlab.testbed import local, state, tree

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


@contextmanager
def started_testbed(name: str, subnet: str, *options: str, cwd: Path) -> Iterator[Path]:
    """cluster.yaml of a testbed of 1 GiB disks; what an earlier one of that name left is taken down before."""
    require_testbed()
    glusterlab("testbed", "down", "--name", name, cwd=cwd)
    more = (*options, "--subnet", subnet, "--release", RELEASE, "--disk-size", "1 GiB")
    try:
        glusterlab("testbed", "up", "--name", name, *more, cwd=cwd, deadline_s=1800)
        yield state.state_folder(name) / "cluster.yaml"
    finally:
        glusterlab("testbed", "down", "--name", name, cwd=cwd)


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
