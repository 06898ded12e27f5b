"""What end-to-end and fault tests share: the command line, a testbed and its hosts, and what a campaign has stored."""

import hashlib
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import pytest

from glusterlab.testbed import guests, local, network, state, tree
from glusterlab.testbed.options import TestbedOptions

T = TypeVar("T")
RELEASE = "bookworm"


def require_testbed(more: Sequence[str] = ()) -> None:
    """Skip where a testbed cannot be, with the reason; fail where the machine is meant to have one, as in CI."""
    found = [*local.problems(), *more]
    if not found and not tree.tree_path(RELEASE).is_dir() and shutil.which("debootstrap") is None:
        found = ["debootstrap is not installed"]
    missing = "; ".join(found)
    if missing and os.environ.get("GLUSTERLAB_REQUIRE_TESTBED") == "1":
        pytest.fail(f"this machine must run the end-to-end tests, and cannot: {missing}")
    if missing:
        pytest.skip(f"the end-to-end tests need a testbed: {missing}")


def require_guests() -> None:
    """Skip where the trees of clients with a kernel of their own are not made yet, then as `require_testbed`."""
    options = TestbedOptions(kernel_clients=1)
    trees = [tree.tree_path(*each) for each in guests.trees(options)]
    if missing := [path.name for path in trees if not path.is_dir()]:
        pytest.skip(f"{' and '.join(missing)} take minutes to make: 'glusterlab testbed up --kernel-clients 1' does")
    require_testbed(guests.problems(options))


@contextmanager
def started_testbed(name: str, subnet: str, *options: str, cwd: Path) -> Iterator[Path]:
    """cluster.yaml of a testbed of 1 GiB disks; what an earlier one of that name left is taken down before."""
    require_testbed()
    subprocess.run(command("testbed", "down", "--name", name), cwd=cwd, capture_output=True, check=False)
    of = () if "--tree" in options else ("--release", RELEASE)
    more = (*options, *of, "--subnet", subnet, "--disk-size", "1 GiB")
    try:
        glusterlab("testbed", "up", "--name", name, *more, cwd=cwd, deadline_s=1800)
        yield state.state_folder(name) / "cluster.yaml"
    finally:
        glusterlab("testbed", "down", "--name", name, cwd=cwd)
        require_nothing_left(name)


def require_nothing_left(name: str) -> None:
    """Fail where a testbed that was taken down left a namespace, interface, loop, mount, process, cgroup or folder."""
    lists = (["losetup", "--list"], ["mount"], ["ps", "-e", "-o", "args"])
    texts = [subprocess.run(words, capture_output=True, text=True, check=True).stdout for words in lists]
    left = [line for text in texts for line in text.splitlines() if f"{state.state_folder(name)}/" in line]
    left += [*network.namespaces(name), *network.interfaces(name)]
    left += [str(path) for pattern in ("", "*/") for path in Path("/sys/fs/cgroup").glob(f"{pattern}glusterlab-{name}")]
    assert left == []
    assert not state.state_folder(name).exists()


def command(*arguments: str | Path) -> list[str]:
    """The command line as a user has it."""
    return [sys.executable, "-m", "glusterlab.cli", *map(str, arguments)]


def glusterlab(
    *arguments: str | Path, cwd: Path, code: int = 0, deadline_s: float = 900
) -> subprocess.CompletedProcess[str]:
    """Run the command line, and require an exit code and the absence of a traceback."""
    done = subprocess.run(
        command(*arguments), cwd=cwd, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=deadline_s
    )
    assert done.returncode == code, f"{arguments}: {done.returncode}\n{done.stdout[-4000:]}\n{done.stderr[-4000:]}"
    assert "Traceback" not in done.stderr
    return done


def start(*arguments: str | Path, cwd: Path, log: Path) -> subprocess.Popen[bytes]:
    """Begin a command in a session of its own, whose output is appended to a file."""
    with log.open("ab") as stream:
        return subprocess.Popen(
            command(*arguments),
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            stdout=stream,
            stderr=stream,
            start_new_session=True,
        )


def ssh(cluster: Path, host: str, script: str) -> str:
    """Run a script on a host of a testbed; returns what it printed. A host that falls silent is an error."""
    silence = ("-o", "ConnectTimeout=10", "-o", "ServerAliveInterval=5", "-o", "ServerAliveCountMax=2")
    argv = ["ssh", "-F", str(cluster.parent / "ssh_config"), *silence, host, script]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL, check=False)
    assert done.returncode == 0, f"{host}: {script}: {done.stderr}"
    return done.stdout


def wait_until(condition: Callable[[], T], deadline_s: float, what: str | Callable[[], str]) -> T:
    """Wait for what a condition returns once it holds."""
    end = time.monotonic() + deadline_s
    while not (found := condition()):
        if time.monotonic() > end:
            raise AssertionError(f"not within {deadline_s:.0f} s: {what if isinstance(what, str) else what()}")
        time.sleep(0.1)
    return found


def complete(raw: Path) -> list[Path]:
    """What says that a sample is complete, wherever it lies now."""
    return [path for place in ("cells", "aside") for path in raw.glob(f"{place}/*/sample-*/sample.json")]


def digests(raw: Path) -> dict[str, str]:
    """Every file of every complete sample, by its cell."""
    return {
        f"{path.relative_to(sample.parents[2])}": hashlib.sha256(path.read_bytes()).hexdigest()
        for sample in complete(raw)
        for path in sample.parent.rglob("*")
        if path.is_file()
    }
