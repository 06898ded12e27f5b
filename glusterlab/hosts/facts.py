"""What the hosts and the controller are: the content of environment.json, read by one script per host."""

from __future__ import annotations

import platform
import re
import subprocess
import uuid
from collections.abc import Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from glusterlab import __version__
from glusterlab.hosts import access, script
from glusterlab.hosts.pool import Pool
from glusterlab.secrets import redact
from glusterlab.tools import volume_tools
from glusterlab.tools.document import whole

if TYPE_CHECKING:
    from glusterlab.spec.cluster import Cluster, Host

_SECTOR_BYTES = 512
_VERSION = re.compile(r"[0-9]+(?:\.[0-9]+)+(?:[a-z]+[0-9]*)?")
_WHOLE_NUMBERS = frozenset({"cpus", "memory_bytes", "interface_mtu", "work_dir_free_bytes"})


def lines(host: Host, cluster: Cluster) -> list[str]:
    """The lines of a script, with access.sh, that report a host's facts and, on a server, its brick file systems."""
    found = [script.part("facts", "gl_facts", host.interface, cluster.work_dir, *host.devices), access.line_of_facts()]
    if cluster.role(host.name) == "server":
        roots = [root for backing in cluster.backings.values() for root in backing.bricks]
        found.append(script.part("filesystems", "gl_filesystems", *roots))
    elif cluster.existing is not None:
        found.append(script.part("existing", "gl_existing_fact", cluster.existing.path))
    return found


def read_facts(text: str) -> dict[str, Any]:
    """Facts of one host as plain values, from the lines ``key value`` of ``gl_facts`` and ``gl_filesystems``."""
    facts: dict[str, Any] = {"tools": {}, "sysctls": {}, "disks": {}, "filesystems": {}}
    for line in text.splitlines():
        key, _, value = line.partition(" ")
        name, _, rest = value.strip().partition(" ")
        if key == "tool":
            match = _VERSION.search(rest)
            facts["tools"][name] = rest.strip() if match is None else match[0]
        elif key == "sysctl":
            facts["sysctls"][name] = rest.strip()
        elif key == "disk":
            facts["disks"][name] = _disk(rest)
        elif key == "fs":
            facts["filesystems"][name] = _filesystem(rest)
        elif key == "interface_speed":
            # A virtual interface says -1.
            facts["interface_speed_bytes_per_s"] = int(value) * 1e6 / 8 if value.strip().isdecimal() else None
        elif key in _WHOLE_NUMBERS:
            facts[key] = whole(value)
        elif key == "fuse" or key == "proc_is_lxcfs":
            facts[key] = True
        elif key:
            facts[key] = value.strip()
    return facts


def _disk(text: str) -> dict[str, Any]:
    words = text.split(None, 4)
    if len(words) < 4:
        return {"missing": True}
    return {
        "size_bytes": int(words[0]) * _SECTOR_BYTES,
        "rotational": words[1] == "1",
        "scheduler": words[2],
        "read_ahead_kib": int(words[3]) if words[3].isdecimal() else None,
        "model": words[4].strip() if len(words) > 4 and words[4].strip() != "-" else None,
    }


def _filesystem(text: str) -> dict[str, Any]:
    words = text.split()
    if len(words) != 5:
        return {"mounted": False}
    named = dict(zip(("device", "type", "options"), words, strict=False))
    # df prints a dash for what it cannot tell
    return {"mounted": True, **named, "size_bytes": whole(words[3]), "free_bytes": whole(words[4])}


def controller(cluster: Cluster | None = None) -> dict[str, Any]:
    """Facts of this machine, which drives the others: versions and revisions, nothing personal."""
    source = Path(__file__).resolve().parents[2]
    checkouts = {} if cluster is None else {name: tool.checkout(cluster) for name, tool in volume_tools().items()}
    return {
        "glusterlab_version": __version__,
        "glusterlab_revision": git_revision(source) if (source / "pyproject.toml").is_file() else None,
        "python": platform.python_version(),
        "kernel": platform.release(),
        **{f"{name}_revision": git_revision(folder) for name, folder in sorted(checkouts.items()) if folder},
    }


def git_revision(folder: Path) -> str | None:
    """The commit of a checkout, with ``-dirty`` where tracked files were changed; None where it is no checkout."""
    words = ["git", "-C", str(folder), "describe", "--always", "--abbrev=40", "--dirty", "--exclude=*"]
    with suppress(OSError, subprocess.TimeoutExpired):
        return subprocess.run(words, capture_output=True, text=True, timeout=10.0, check=False).stdout.strip() or None
    return None


def ask(cluster: Cluster) -> dict[str, Any]:
    """Facts of all hosts by name, by connections of its own; `HostError` when one cannot say."""
    with closing(Pool.of(cluster, mark=f"plan.{uuid.uuid4().hex[:8]}")) as pool:
        hosts: dict[str, Any] = environment(pool, cluster)["hosts"]
        return hosts


def environment(pool: Pool, cluster: Cluster, shared_counters: Sequence[str] = ()) -> dict[str, Any]:
    """The content of environment.json; of a testbed also the counters that its hosts share."""
    commands = {host.name: script.command(lines(host, cluster), access.SHELL) for host in cluster.hosts}
    hosts = {}
    for name, result in sorted(pool.run(commands).or_raise().items()):
        text = "\n".join(part.text for part in script.read_parts(result).values())
        hosts[name] = {**read_facts(redact(text)), "role": cluster.role(name)}
    found: dict[str, Any] = {"controller": controller(cluster), "hosts": hosts}
    if shared_counters:
        found["shared_counters"] = list(shared_counters)
    return found
