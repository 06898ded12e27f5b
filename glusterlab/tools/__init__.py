"""The tools: a module or a package each, found by the `Tool` that it holds, and registered nowhere."""

import pkgutil
from collections.abc import Iterator, Sequence
from functools import cache
from importlib import import_module
from typing import get_args

from glusterlab.errors import UsageError
from glusterlab.tools.base import Direction, HostTool, RunnableTool, Tool, VolumeTool
from glusterlab.tools.document import Document, located
from glusterlab.tools.records import Operation, Record


@cache
def tools() -> dict[str, Tool]:
    """Every tool that a module or package of this folder holds, by name."""
    modules = [import_module(found.name) for found in pkgutil.iter_modules(__path__, f"{__name__}.")]
    held = (value for module in modules for value in vars(module).values() if isinstance(value, Tool))
    return {tool.name: tool for tool in sorted(held, key=lambda tool: tool.name)}


def runnable() -> dict[str, RunnableTool]:
    """The tools that can be run, and whose samples can be read."""
    return {name: tool for name, tool in tools().items() if isinstance(tool, RunnableTool)}


def volume_tools() -> dict[str, VolumeTool]:
    """The tools that a campaign file can name."""
    return {name: tool for name, tool in tools().items() if isinstance(tool, VolumeTool)}


def host_tools() -> dict[str, HostTool]:
    """The tools of a baseline."""
    return {name: tool for name, tool in tools().items() if isinstance(tool, HostTool)}


@cache
def directions() -> dict[str, Direction]:
    """Operations that move the bytes of whole files, and which way."""
    known = [each for tool in tools().values() for each in tool.other_operations]
    known += [each for tool in volume_tools().values() for each in tool.operations]
    return {each.name: each.direction for each in known if each.direction in ("write", "read") and not each.random}


def vocabulary() -> dict[str, Sequence[str]]:
    """What a sample's columns ``tool`` and ``operation`` may hold."""
    return {"tool": list(tools()), "operation": get_args(Operation)}


def counts_files(tool: str) -> bool:
    """Whether files per second are what is drawn of a tool, and not bytes."""
    found = runnable().get(tool)
    return found is not None and found.operations[0].metric == "files_per_s"


def readers() -> list[str]:
    """Names of the tools whose files become records, but for telemetry."""
    return [name for name, tool in tools().items() if tool.read is not None]


def surest(document: Document) -> tuple[float, str]:
    """The tool that is surest that a document is its own: how sure, from 0 to 1, and its name."""
    return max((tool.recognise(document), tool.name) for tool in tools().values() if tool.recognise is not None)


def recognise(document: Document) -> str:
    """The tool that is surest of a document; `ParseError` when none is."""
    sure, name = surest(document)
    if sure <= 0:
        known = ", ".join([*readers(), "sar", "sadf"])
        raise document.error(f"expected the output of {known}; found none of them", 1)
    return name


def read(document: Document, tool: str | None = None) -> Iterator[Record]:
    """The records of a document; `ParseError` when it is no result or damaged, after what is whole was yielded."""
    tool = tool or recognise(document)
    if tool not in readers():
        raise UsageError(f"unknown tool {tool!r}: there are {', '.join(readers())}")
    reader = tools()[tool].read
    assert reader is not None
    with located(document.path):
        yield from reader(document)
