"""Scripts for hosts: the shell functions of host.sh, how they are called, and how their reports are read."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from glusterlab.errors import HostError
from glusterlab.hosts.connection import Command, CommandResult
from glusterlab.hosts.quoting import join

MAX_PART_BYTES = 256 << 20
"""A report's part may have so many bytes."""


@cache
def library() -> str:
    """The text of host.sh."""
    return files("glusterlab.hosts").joinpath("host.sh").read_text(encoding="utf-8")


def call(function: str, *arguments: str | int | float) -> str:
    """One call of a shell function, its arguments quoted.

    Examples
    --------
    >>> call("gl_mark_dir", "/var/tmp/a b", "first-light")
    "gl_mark_dir '/var/tmp/a b' first-light"
    """
    return join((function, *arguments))


def part(name: str, *words: str | int | float) -> str:
    """A command whose output is reported under a name.

    Examples
    --------
    >>> part("heal", "gl_heal", 5, "/bricks/d01")
    'gl_part heal gl_heal 5 /bricks/d01'
    """
    return join(("gl_part", name, *words))


def command(lines: Iterable[str], *, deadline_s: float = 60.0, marked: bool = True) -> Command:
    """A script of calls; one that fails ends nothing unless the line says so."""
    return Command("\n".join(lines), deadline_s=deadline_s, library=library(), marked=marked)


@dataclass(frozen=True)
class Part:
    """One part of a report.

    Attributes
    ----------
    exit_code : int
    data : bytes
        What the command wrote to stdout.
    """

    exit_code: int
    data: bytes

    @property
    def text(self) -> str:
        """The data as text; bytes that are no UTF-8 are replaced."""
        return self.data.decode("utf-8", "replace")


def read_parts(result: CommandResult) -> Mapping[str, Part]:
    """The parts of a script's report, by name.

    Raises
    ------
    HostError
        When the output is not what host.sh writes: something else printed into it, or it was cut short.
    """
    parts: dict[str, Part] = {}
    for line in result.stdout.decode("ascii", "replace").splitlines():
        words = line.split(" ")
        if len(words) != 4 or words[0] != "part":
            # A login shell's greeting is harmless, and comes first.
            if not parts:
                continue
            raise HostError(f"expected a report of glusterlab's script, found {line[:80]!r}", host=result.host)
        if len(words[3]) > MAX_PART_BYTES:
            raise HostError(f"expected at most {MAX_PART_BYTES} bytes as '{words[1]}'", host=result.host)
        try:
            parts[words[1]] = Part(int(words[2]), base64.b64decode(words[3], validate=True))
        except (ValueError, binascii.Error) as error:
            raise HostError(f"the report's part '{words[1]}' is damaged: {error}", host=result.host) from error
    return parts


def need(parts: Mapping[str, Part], name: str, host: str) -> Part:
    """One part of a report.

    Raises
    ------
    HostError
        When it is missing.
    """
    if name not in parts:
        raise HostError(f"the report has no part '{name}': the script was cut short", host=host)
    return parts[name]
