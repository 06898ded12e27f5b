"""Scripts for hosts: the shell functions of host.sh, how they are called, and how their reports are read."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from glusterlab.errors import HostError
from glusterlab.hosts.pool import Command, CommandResult
from glusterlab.shell import join, quote
from glusterlab.tools import runnable

_HEAD = re.compile(rb"part (?P<name>[A-Za-z0-9._-]+) (?P<mark>[0-9a-f-]{36})")
_TAIL = re.compile(rb"(?P<code>\d{1,3})\n")


@cache
def library(*more: str) -> str:
    """The text of host.sh and of further files beside it, with what the tools say of their programs and processes."""
    programs = {program.name: program for tool in runnable().values() for program in tool.programs}
    processes = [pair for tool in runnable().values() for pair in tool.processes.items()]
    versions = [
        join(("gl_version", name, *(each.probe or (name, *each.version_arguments)))) for name, each in programs.items()
    ]
    facts = [
        f"gl_tool_names={quote('|'.join(name for name, _ in processes))}",
        f"gl_tool_processes={quote('|'.join(f'({comm}) ([^ ]*/)?({name})' for name, comm in processes))}",
        "gl_tool_versions() { " + "; ".join(versions) + "; }",
    ]
    texts = (files("glusterlab.hosts").joinpath(name).read_text(encoding="utf-8") for name in ("host.sh", *more))
    return "\n".join(facts) + "\n" + "".join(texts)


def call(function: str, *arguments: str | int | float) -> str:
    """One call of a shell function, its arguments quoted."""
    return join((function, *arguments))


def part(name: str, *words: str | int | float) -> str:
    """A command whose output is reported under a name."""
    return join(("gl_part", name, *words))


def command(lines: Iterable[str], *more: str, deadline_s: float = 60.0, marked: bool = True) -> Command:
    """A script of calls, of functions in `more` files also; one that fails ends nothing unless the line says so."""
    return Command("\n".join(lines), deadline_s=deadline_s, library=library(*more), marked=marked)


@dataclass(frozen=True)
class Part:
    """One part of a report; `data` is what the command wrote to stdout."""

    exit_code: int
    data: bytes

    @property
    def text(self) -> str:
        return self.data.decode("utf-8", "replace")


def read_parts(result: CommandResult) -> Mapping[str, Part]:
    """The parts of a script's report, by name; `HostError` when something else printed into it, or it was cut short."""
    parts: dict[str, Part] = {}
    data, place = result.stdout, 0
    while place < len(data):
        line_end = data.find(b"\n", place)
        line = data[place:] if line_end < 0 else data[place:line_end]
        head = _HEAD.fullmatch(line)
        if head is None:
            # A login shell's greeting is harmless, and comes first.
            if parts:
                found = line[:80].decode("utf-8", "replace")
                raise HostError(f"expected a report of glusterlab's script, found {found!r}", host=result.host)
            place += len(line) + 1
            continue
        name, mark = head["name"].decode("ascii"), head["mark"]
        begin = line_end + 1
        end = data.find(b"\n" + mark + b" ", begin)
        tail = _TAIL.match(data, end + len(mark) + 2) if line_end >= 0 and end >= 0 else None
        if tail is None:
            raise HostError(f"the report's part '{name}' has no end: the script was cut short", host=result.host)
        parts[name] = Part(int(tail["code"]), data[begin:end])
        place = tail.end()
    return parts


def need(parts: Mapping[str, Part], name: str, host: str) -> Part:
    """One part of a report."""
    if name not in parts:
        raise HostError(f"the report has no part '{name}': the script was cut short", host=host)
    return parts[name]
