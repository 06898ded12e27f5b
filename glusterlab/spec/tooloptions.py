"""Which further arguments a campaign may give a tool: none that name a file or undo what the suite says itself.

The tools run as root on every client: one more ``-f`` would have IOzone write over any file or device, one more
``--top`` would have smallfile empty any directory.
"""

from __future__ import annotations

from collections.abc import Mapping

OWN: Mapping[str, tuple[str, ...]] = {
    "iozone": (
        *("-a", "-b", "-e", "-f", "-F", "-g", "-i", "-l", "-m", "-n", "-q", "-r", "-R", "-s", "-t", "-T", "-u", "-U"),
        *("-w", "-W", "-x", "-X", "-Y", "-z", "-c", "-C", "-O", "-S", "-+m", "-+n", "-+t", "-+s", "-+c", "-+E", "-+F"),
    ),
    "smallfile": (
        *("--top", "--operation", "--threads", "--files", "--file-size", "--host-set", "--network-sync-dir"),
        *(
            "--output-json",
            "--yaml-input-file",
            "--prefix",
            "--suffix",
            "--stonewall",
            "--cleanup-delay",
            "--verify-read",
        ),
        *("--remote-pgm-dir", "--launch-by-daemon", "--as-host", "--slave", "--min-dirs-per-sec"),
    ),
    "iperf3": (
        *("-c", "--client", "-s", "--server", "-p", "--port", "-B", "--bind", "-F", "--file", "-I", "--pidfile", "-J"),
        *("--json", "--logfile", "-D", "--daemon", "-i", "--interval", "-T", "--title", "-R", "--reverse", "-1"),
        *(
            "--rsa-private-key-path",
            "--rsa-public-key-path",
            "--authorized-users-path",
            "--username",
            "--get-server-output",
        ),
    ),
}
"""By tool: options that the suite gives itself, and those that name files, users or keys."""

_SHORT_TAKEN_APART = frozenset({"iozone", "iperf3"})
"""Tools whose short options may have their value attached (``-f/dev/sda``)."""


def refused(tool: str, option: str) -> str | None:
    """Why a tool is not given an option, or None when it is.

    Examples
    --------
    >>> refused("iozone", "-I"), refused("iozone", "-f/dev/sda"), refused("smallfile", "--to=x")
    (None, "expected no path, found '-f/dev/sda'", "expected no option that glusterlab sets itself, found '--to=x'")
    """
    if not option.isprintable():
        return f"expected printable characters, found {option!r}"
    if "/" in option:
        return f"expected no path, found {option!r}"
    name = option.partition("=")[0]
    # a baseline's tool is the same program
    tool = tool.removesuffix("-local")
    for own in OWN.get(tool, ()):
        long = own.startswith("--")
        # a long option may be cut short, a short one may have its value attached
        if name == own or (long and len(name) > 2 and own.startswith(name)):
            return f"expected no option that glusterlab sets itself, found {option!r}"
        if not long and tool in _SHORT_TAKEN_APART and len(own) == 2 and name.startswith(own) and name[1:2] != "+":
            return f"expected no option that glusterlab sets itself, found {option!r}"
    return None
