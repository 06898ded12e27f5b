"""A host's file system that the user made (`--tree`): whether hosts can run from it, and which GlusterFS it holds."""

import re
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from glusterlab.errors import TestbedError
from glusterlab.testbed.local import run

PROGRAMS = (
    *("bash", "mount", "umount", "mountpoint", "mkfs.xfs", "sshd", "ssh", "ip", "awk", "find", "flock", "getent"),
    *("setsid", "tar", "timeout"),
    *("xz", "sar", "getfattr", "gluster", "glusterd", "glusterfs", "mount.glusterfs"),
)
"""What a host's start, the suite and mounts call there; which tools it lacks is left to `glusterlab check`."""
GUEST_PROGRAMS = ("modprobe", "dmsetup", "fsfreeze", "fstrim")
"""What guests call there, too: their kernel has FUSE as a module, and servers have caches."""

_PATH = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
# a tree may have no /dev/null, and none is made in it
_LOOK = 'for name; do [ -n "$(command -v "$name")" ] || echo "lacks $name"; done; glusterfs --version | head -n 1'


def examine(tree: Path, *, guests: bool = False) -> tuple[list[str], str]:
    """What keeps hosts, guests too, from running from a tree, a sentence each; its GlusterFS as it says, else ''."""
    if not (tree / "usr").is_dir() or not (tree / "etc").is_dir():
        return [
            f"--tree {tree}: expected a folder with the whole file system of a host, found no usr and etc in it"
        ], ""
    if unsafe := next(_unsafe(tree), None):
        # hosts run it as root, and so does what follows
        advice = "chown it to root, chmod go-w"
        return [f"--tree: {unsafe} is not root's, or others can write to it: {advice}"], ""
    programs = [*PROGRAMS, *(GUEST_PROGRAMS if guests else ())]
    try:
        answer = run(["chroot", tree, "/usr/bin/env", "-i", _PATH, "sh", "-c", _LOOK, "sh", *programs], deadline_s=30.0)
    except TestbedError as error:
        return [f"--tree {tree}: its programs do not run on this machine: {error}"], ""
    lacks = re.findall(r"^lacks (\S+)$", answer, re.MULTILINE)
    match = re.search(r"^glusterfs (\S+)", answer, re.MULTILINE)
    version = "" if match is None else match[1]
    if version and {"glusterd", "gluster"} & {*lacks}:
        advice = "a pool needs 3.1 or newer; one that is started by hand can be measured by access 'existing'"
        return [f"--tree {tree}: GlusterFS {version} there has no {' and no '.join(lacks)}: {advice}"], version
    found = [f"--tree {tree}: it lacks {', '.join(lacks)}, which hosts need: install them in it"] if lacks else []
    if not version and not found:
        found = [f"--tree {tree}: its 'glusterfs --version' does not say a release"]
    return found, version


def _unsafe(tree: Path) -> Iterator[Path]:
    names = ["etc", "usr", "usr/lib", "usr/bin", "usr/sbin", "usr/bin/*", "usr/sbin/*"]
    # where these are no links into /usr
    names += ["bin", "sbin", "lib", "lib64", "usr/lib64", "bin/*", "sbin/*"]
    for path in chain([tree], *map(tree.glob, names)):
        facts = path.lstat()
        if facts.st_uid != 0 or (facts.st_mode & 0o022 and not path.is_symlink()):
            yield path
