"""What of a campaign a notebook reads: the samples of the tools that it names, and a digest of these files.

A notebook that says so in its parameters (``reads: str = "iozone"``) gets rows of these tools only, and its results
depend on their raw files and on those that belong to no cell (campaign.yaml, cluster.yaml, environment.json).

Only the standard library is imported: a run of `reproduce` with nothing to do spends its time here.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable
from pathlib import Path

from glusterlab.errors import UsageError
from glusterlab.store.files import file_digest
from glusterlab.store.manifest import MANIFEST, Manifest

ALL, NONE = "*", "none"


def split_names(text: str) -> list[str]:
    """Campaigns in a comma-separated list, as a notebook's parameter has them.

    Examples
    --------
    >>> split_names("raw/older, raw/newer,")
    ['raw/older', 'raw/newer']
    """
    return [name for part in text.split(",") if (name := part.strip())]


def parse_reads(text: str) -> tuple[str, ...] | None:
    """Tools that a notebook reads, sorted; None means all.

    `text`: comma-separated names; ``*`` for all, ``none`` for none. Raises UsageError when it names nothing, or ``*``
    or ``none`` beside something else.

    Examples
    --------
    >>> parse_reads("smallfile, iozone"), parse_reads("none"), parse_reads("*")
    (('iozone', 'smallfile'), (), None)
    """
    names = sorted({name for part in text.split(",") if (name := part.strip())})
    if names == [ALL]:
        return None
    if names == [NONE]:
        return ()
    if not names or {ALL, NONE} & set(names):
        raise UsageError(f"reads: expected tools separated by commas, {ALL!r} for all or 'none', found {text!r}")
    return tuple(names)


def refuse_unknown(tools: Iterable[str], known: Collection[str]) -> None:
    """Refuse tools of which no samples can be.

    Raises UsageError naming what is unknown and what there is.
    """
    if unknown := sorted(set(tools) - set(known)):
        there = ", ".join(sorted(known))
        raise UsageError(f"reads: no tool {', '.join(unknown)}; there are {there}; {ALL!r} reads all, 'none' none")


def known_tools() -> frozenset[str]:
    """Tools that can be run, or whose results can be imported."""
    from glusterlab.tools import tools

    return frozenset(name for name, tool in tools().items() if tool.measures)


def cell_tools(raw: Path, manifest: Manifest) -> dict[str, str | None]:
    """The tool of each cell that a manifest lists; None where its cell.json does not tell.

    `raw`: the campaign's folder, or this machine's copy of its small files.
    """
    found: dict[str, str | None] = {}
    for cell in {name.split("/")[1] for name in manifest.digests if name.startswith("cells/")}:
        try:
            tool = json.loads((raw / "cells" / cell / "cell.json").read_bytes())["cell"]["tool"]
        except (OSError, ValueError, KeyError, TypeError):
            tool = None
        found[cell] = tool if isinstance(tool, str) else None
    return found


class RawDigests:
    """Digests of what is read of one campaign; its manifest is read once for all notebooks.

    `raw`: the campaign's folder, or this machine's copy of its small files. `whole`: digest of the manifest, where it
    is known.
    """

    def __init__(self, raw: Path, whole: str = "") -> None:
        self.whole = whole or file_digest(raw / MANIFEST)
        self._raw = raw
        self._manifest: Manifest | None = None
        self._tools: dict[str, str | None] = {}

    def of(self, tools: tuple[str, ...] | None) -> str:
        """Digest of the manifest's lines that stand for what is read of these tools.

        That is what belongs to no cell, the cells of these tools, and any cell whose tool is not known.

        `tools`: as `parse_reads` returned them. Returns SHA-256 in hexadecimal; for all tools that of the manifest
        itself.
        """
        if tools is None:
            return self.whole
        if self._manifest is None:
            self._manifest = Manifest.read(self._raw)
            self._tools = cell_tools(self._raw, self._manifest)
        chosen = {name: word for name, word in self._manifest.digests.items() if self._is_read(name, tools)}
        return hashlib.sha256(Manifest(chosen).text.encode()).hexdigest()

    def _is_read(self, name: str, tools: tuple[str, ...]) -> bool:
        if not name.startswith("cells/"):
            return True
        tool = self._tools[name.split("/")[1]]
        return tool is None or tool in tools
