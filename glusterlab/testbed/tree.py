"""The Debian trees that testbed hosts run from: made once by debootstrap, kept in the user's cache."""

from __future__ import annotations

import hashlib
import re
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

import platformdirs
from filelock import FileLock

from glusterlab.errors import TestbedError
from glusterlab.testbed.local import run, unmount_below

PACKAGES = (
    "attr",
    "ca-certificates",
    "fio",
    "glusterfs-client",
    "glusterfs-server",
    "iozone3",
    "iperf3",
    "iproute2",
    "iputils-ping",
    "openssh-client",
    "openssh-server",
    "procps",
    "python3",
    "sysstat",
    "xfsprogs",
    "xz-utils",
)
COMPONENTS = "main,contrib,non-free"  # IOzone is in non-free
_DEADLINE_S = 1800.0


def cache_folder() -> Path:
    """Where trees are kept: the user's cache, so that they outlive every testbed."""
    return Path(platformdirs.user_cache_dir("glusterlab")) / "trees"


def tree_path(release: str) -> Path:
    """Folder of the tree of one Debian release; its name changes with the list of packages."""
    digest = hashlib.sha256(" ".join((*PACKAGES, COMPONENTS)).encode()).hexdigest()[:8]
    return cache_folder() / f"{release}-{digest}"


def machine_mirror(sources: Path = Path("/etc/apt")) -> str | None:
    """The Debian mirror that this machine's own apt uses, or None where it uses none.

    Both formats of apt's sources are read. A mirror of security updates is not one to bootstrap from.
    """
    texts = [path.read_text(errors="replace") for path in sorted(sources.glob("sources.list.d/*.sources"))]
    one_line = [sources / "sources.list", *sorted(sources.glob("sources.list.d/*.list"))]
    texts += [path.read_text(errors="replace") for path in one_line if path.is_file()]
    for text in texts:
        live = "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("#"))
        for url in re.findall(r"https?://[^\s\]]+", live):
            if re.search(r"/debian/?$", url):
                return str(url).rstrip("/")
    return None


def ensure_tree(release: str, mirror: str | None, progress: Callable[[str], None]) -> Path:
    """Return the tree of a Debian release, and make it first where it is missing.

    `release`: debian's code name, such as ``bookworm``. `mirror`: where to take packages from; by default what this
    machine's apt uses, else debootstrap's own default. `progress`: told what is being done, one sentence a call.
    Raises `TestbedError` when debootstrap fails.
    """
    tree = tree_path(release)
    tree.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(f"{tree}.lock"):
        if tree.is_dir():
            return tree
        if shutil.which("debootstrap") is None:
            raise TestbedError("debootstrap is not installed; it makes the hosts' system: 'apt install debootstrap'")
        progress(f"making the Debian {release} tree of the hosts, once (about 500 MB, one or two minutes)")
        for left in tree.parent.glob(f"{tree.name}.partial-*"):
            unmount_below(left)
            shutil.rmtree(left)
        partial = Path(tempfile.mkdtemp(prefix=f"{tree.name}.partial-", dir=tree.parent))
        partial.chmod(0o755)
        source = mirror or machine_mirror()
        argv = ["debootstrap", "--variant=minbase", "--force-check-gpg", f"--components={COMPONENTS}"]
        argv.append(f"--include={','.join(PACKAGES)}")
        try:
            run([*argv, release, partial, *([source] if source else [])], deadline_s=_DEADLINE_S)
        except TestbedError as error:
            log = partial / "debootstrap" / "debootstrap.log"
            hint = log.read_text(errors="replace").strip().splitlines()[-1:] if log.is_file() else []
            raise TestbedError(
                f"debootstrap could not make the Debian {release} tree: {error}"
                + (f" / {hint[0]}" if hint else "")
                + "; is a Debian mirror reachable, and are Debian's keys installed (debian-archive-keyring)? "
                "Name a mirror with --mirror"
            ) from error
        unmount_below(partial)
        shutil.rmtree(partial / "var/cache/apt/archives", ignore_errors=True)
        partial.rename(tree)
    return tree
