"""The machine that a testbed runs on: whether it can, its commands, its mounts and its kernel's files."""

import os
import platform
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

from glusterlab.errors import TestbedError


def run(argv: Sequence[str | Path], *, stdin: str | None = None, deadline_s: float = 120.0, check: bool = True) -> str:
    """What a command on this machine wrote to stdout; `check`: whether an exit code other than 0 is an error."""
    command = [str(part) for part in argv]
    pipe = subprocess.PIPE
    try:
        process = subprocess.Popen(
            command, stdin=pipe, stdout=pipe, stderr=pipe, text=True, errors="replace", start_new_session=True
        )
    except FileNotFoundError as error:
        raise TestbedError(f"the command '{command[0]}' is not installed on this machine") from error
    try:
        output, errors = process.communicate(stdin or "", timeout=deadline_s)
    except BaseException as error:
        # its children too: a debootstrap that goes on after us would write into what the next one removes
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        if isinstance(error, subprocess.TimeoutExpired):
            raise TestbedError(f"'{' '.join(command)}' did not end within {deadline_s:.0f} s") from error
        raise
    if check and process.returncode != 0:
        tail = (errors or output).strip().splitlines()[-3:]
        raise TestbedError(f"'{' '.join(command)}' ended with code {process.returncode}: {' / '.join(tail)}")
    return output


def start(argv: Sequence[str], log: IO[bytes], **options: Any) -> subprocess.Popen[bytes]:
    """Start a command that stays, in a session of its own."""
    return subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True, **options)


def start_until(
    up: Callable[[], bool], argv: Sequence[str], log: Path, what: str, *, deadline_s: float, **options: Any
) -> None:
    """Start a command that stays, and wait until it is up; TestbedError with the end of its log when it is not."""
    with log.open("wb") as stream:
        process = start(argv, stream, **options)
    deadline = time.monotonic() + deadline_s
    while not up():
        if process.poll() is not None or time.monotonic() > deadline:
            tail = log.read_text(errors="replace").strip().splitlines()[-1:]
            raise TestbedError(f"{what} did not start: {''.join(tail) or 'no message'}")
        time.sleep(0.05)


def processes(chosen: Callable[[list[bytes]], bool]) -> list[int]:
    """Processes by their arguments, not by a file with a number, which a crash may leave behind or keep from being."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            if chosen(path.read_bytes().split(b"\0")):
                found.append(int(path.parent.name))
    return found


def end_all(find: Callable[[], list[int]], what: str, *, how: int = signal.SIGKILL, deadline_s: float = 10.0) -> None:
    """End the processes that are found until none is; TestbedError when some stay."""
    deadline = time.monotonic() + deadline_s
    while left := find():
        for pid in left:
            with suppress(ProcessLookupError):
                os.kill(pid, how)
        if time.monotonic() > deadline:
            raise TestbedError(f"{what} does not end (processes {left[:5]}); run 'down' again in a minute")
        time.sleep(0.1)


def mounts_below(folder: Path) -> list[str]:
    """Mount points at a folder and below it, the deepest first; also those whose file system no longer answers."""
    lines = Path("/proc/self/mountinfo").read_text(encoding="utf-8").splitlines()
    # the kernel writes a blank in a name as \040
    points = [re.sub(r"\\(\d{3})", lambda code: chr(int(code[1], 8)), line.split(" ")[4]) for line in lines]
    return sorted((point for point in points if Path(point).is_relative_to(folder)), reverse=True)


def unmount_below(folder: Path) -> None:
    """Unmount everything at a folder and below it, at once for the name and later for what still uses it."""
    for point in mounts_below(folder):
        run(["umount", "--lazy", point], check=False)


def delete(folder: Path) -> None:
    """Delete a folder in which nothing is mounted: what lies there may be somebody's."""
    if left := mounts_below(folder):
        raise TestbedError(f"{left[0]} is mounted: nothing of {folder} is deleted; unmount it, then try again")
    shutil.rmtree(folder)


def write_value(path: Path, text: str) -> None:
    """Write one value to a kernel file (cgroup, sysctl)."""
    try:
        with path.open("w", encoding="ascii") as stream:
            stream.write(text)
    except FileNotFoundError as error:
        raise TestbedError(f"the kernel does not offer {path}") from error
    except OSError as error:
        raise TestbedError(f"the kernel refused '{text.strip()}' for {path}: {error.strerror}") from error


_COMMANDS = {
    "ip": "iproute2", "tc": "iproute2", "losetup": "mount", "unshare": "util-linux", "nsenter": "util-linux",
    "ssh-keygen": "openssh-client", "lxcfs": "lxcfs",
}  # fmt: skip


def problems() -> list[str]:
    """What keeps a testbed from running here, one sentence each; empty where nothing does."""
    if platform.system() != "Linux":
        return [f"a testbed needs Linux (network namespaces, loop devices, FUSE); this is {platform.system()}"]
    if os.geteuid() != 0:
        return ["a testbed needs root (it makes namespaces, loop devices and mounts): run it with sudo"]
    lacks = [command for command in _COMMANDS if shutil.which(command) is None]
    found = [f"the command '{command}' is missing: 'apt install {_COMMANDS[command]}'" for command in lacks]
    if not Path("/dev/fuse").exists():
        found.append("there is no /dev/fuse, which the GlusterFS client mounts through: 'modprobe fuse'")
    if not Path("/dev/loop-control").exists():
        found.append("there is no /dev/loop-control, which disks are made from: 'modprobe loop'")
    known = Path("/proc/filesystems").read_text(encoding="ascii").split()
    modules = Path("/lib/modules") / platform.release()
    missing = (name for name in ("xfs", "overlay") if name not in known and not any(modules.rglob(f"{name}.ko*")))
    return found + [f"this kernel has no {name}: 'modprobe {name}', or another kernel" for name in missing]


def require() -> None:
    """Raise `TestbedError` with all that is missing, where anything is."""
    found = problems()
    if found:
        raise TestbedError("; ".join(found))
