"""The Debian trees that testbed hosts run from: made once by debootstrap, kept in the user's cache."""

import hashlib
import re
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

import platformdirs
from filelock import FileLock

from glusterlab.errors import TestbedError
from glusterlab.testbed.local import delete, run, unmount_below
from glusterlab.tools import runnable

_BASE = {
    *("attr", "ca-certificates", "glusterfs-client", "glusterfs-server", "iproute2", "iputils-ping", "openssh-client"),
    *("openssh-server", "procps", "python3", "sysstat", "xfsprogs", "xz-utils"),
}
_SERVING = (
    "cifs-utils", "dbus", "kmod", "netbase", "nfs-common", "nfs-ganesha", "nfs-ganesha-gluster", "nfs-ganesha-vfs",
    "rpcbind", "samba",
)  # fmt: skip
PACKAGES = tuple(sorted(_BASE | {program.package for tool in runnable().values() for program in tool.programs}))
_SAMBA = {"bullseye": "samba-vfs-modules", "bookworm": "samba-vfs-modules", "trixie": "samba-vfs-glusterfs"}
SERVING = {release: tuple(sorted({*PACKAGES, *_SERVING, vfs})) for release, vfs in _SAMBA.items()}
"""By release, packages of hosts that serve volumes by NFS and SMB, too, and of guests that mount those."""

KERNEL_RELEASE = "trixie"
KERNEL = ("user-mode-linux",)
"""Packages of the tree that the guests' kernel and its modules come from: of one release, whatever the hosts' is."""

COMPONENTS = "main,contrib,non-free"  # IOzone is in non-free
TREE_BYTES = 1000 << 20
"""Room for a tree of some 500 MB, and for the packages that it is made from."""
_DEADLINE_S = 1800.0


def tree_path(release: str, packages: tuple[str, ...] = PACKAGES) -> Path:
    """Folder of the tree of one Debian release; its name changes with the list of packages."""
    digest = hashlib.sha256(" ".join((*packages, COMPONENTS)).encode()).hexdigest()[:8]
    return Path(platformdirs.user_cache_dir("glusterlab")) / "trees" / f"{release}-{digest}"


def machine_mirror(sources: Path = Path("/etc/apt")) -> str | None:
    """The Debian mirror that this machine's own apt uses, in either format of its sources; none of security updates."""
    texts = [path.read_text(errors="replace") for path in sorted(sources.glob("sources.list.d/*.sources"))]
    one_line = [sources / "sources.list", *sorted(sources.glob("sources.list.d/*.list"))]
    texts += [path.read_text(errors="replace") for path in one_line if path.is_file()]
    for text in texts:
        live = "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("#"))
        for url in re.findall(r"https?://[^\s\]]+", live):
            if re.search(r"/debian/?$", url):
                return str(url).rstrip("/")
    return None


def tree_problems(release: str, packages: tuple[str, ...] = PACKAGES) -> list[str]:
    """What keeps the tree of a release from being made here, if it has to be."""
    if tree_path(release, packages).is_dir() or shutil.which("debootstrap") is not None:
        return []
    return ["debootstrap is not installed; it makes the hosts' system: 'apt install debootstrap'"]


def ensure_tree(
    release: str, mirror: str | None, progress: Callable[[str], None], packages: tuple[str, ...] = PACKAGES
) -> Path:
    """The tree of a Debian release, made first where missing, by default from the mirror of this machine's apt."""
    tree = tree_path(release, packages)
    tree.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(f"{tree}.lock"):
        if tree.is_dir():
            return tree
        if found := tree_problems(release, packages):
            raise TestbedError(found[0])
        what = "guests' kernel" if packages is KERNEL else "hosts"
        progress(f"making the Debian {release} tree of the {what}, once (about 500 MB, one or two minutes)")
        for left in tree.parent.glob(f"{tree.name}.partial-*"):
            unmount_below(left)
            delete(left)
        partial = Path(tempfile.mkdtemp(prefix=f"{tree.name}.partial-", dir=tree.parent))
        partial.chmod(0o755)
        source = mirror or machine_mirror()
        argv = ["debootstrap", "--variant=minbase", "--force-check-gpg", f"--components={COMPONENTS}"]
        argv.append(f"--include={','.join(packages)}")
        try:
            run([*argv, release, partial, *([source] if source else [])], deadline_s=_DEADLINE_S)
        except TestbedError as error:
            log = partial / "debootstrap" / "debootstrap.log"
            hint = log.read_text(errors="replace").strip().splitlines()[-1:] if log.is_file() else []
            why = " / ".join([str(error), *hint])
            advice = "is a Debian mirror (--mirror) reachable, and are its keys installed (debian-archive-keyring)?"
            raise TestbedError(f"debootstrap could not make the Debian {release} tree: {why}; {advice}") from error
        unmount_below(partial)
        shutil.rmtree(partial / "var/cache/apt/archives", ignore_errors=True)
        partial.rename(tree)
    return tree
