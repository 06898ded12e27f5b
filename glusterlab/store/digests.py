"""What the result of a notebook depends on, as digests: its code, its parameters, raw files, the library, versions.

A notebook that names tools in its parameters (``reads: str = "iozone"``) gets rows of these only, and its results
depend on their raw files and on those that belong to no cell (campaign.yaml, cluster.yaml, environment.json).

Only the standard library is imported: a run of `reproduce` with nothing to do spends its time here.
"""

from __future__ import annotations

import ast
import hashlib
import json
import os
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Self

from glusterlab.errors import RawStoreError, ReproduceError, UsageError
from glusterlab.store.evidence import ARCHIVE, archive_of
from glusterlab.store.evidence import digests as member_digests
from glusterlab.store.files import file_digest
from glusterlab.store.manifest import MANIFEST, Manifest

PARAMETERS_TAG = "parameters"
"""Tag of the cell that papermill puts the parameters after."""

READS = "reads"
"""The parameter by which a notebook says which tools' samples it reads; without it, it reads all."""

CAMPAIGNS = "campaigns"
"""The parameter by which a notebook names the campaigns that it holds together, the one that it runs for first."""

ALL, NONE = "*", "none"

LIBRARY = Path(__file__).parents[1]

PACKAGES = ("matplotlib", "numpy", "pandas", "pyarrow", "scipy", "seaborn")
"""What is installed of these makes figures and numbers: the lock only says what should be."""


def text_digest(text: str) -> str:
    """SHA-256 of a text in UTF-8, in hexadecimal."""
    return hashlib.sha256(text.encode()).hexdigest()


def folder_digest(folder: Path, without: Collection[str] = ()) -> str:
    """One digest of `files_below`: of their paths and their bytes; `without` some folders in it."""
    found = {path.relative_to(folder): path for path in files_below(folder)}
    lines = sorted(f"{name.as_posix()} {file_digest(found[name])}" for name in found if name.parts[0] not in without)
    return text_digest("\n".join(lines))


def files_below(folder: Path, above: tuple[str, ...] = ()) -> Iterator[Path]:
    """All files below a folder, caches and hidden files left out; a folder that is not there is empty.

    Links are followed, so that what lies elsewhere counts under the name that it has here; one that leads back to a
    folder `above` it (real paths) is passed over. Raises RawStoreError when a folder cannot be read.
    """
    real = os.path.realpath(folder)
    if real in above or not folder.is_dir():
        return
    try:
        found = sorted(folder.iterdir())
    except OSError as error:
        raise RawStoreError(f"{folder}: cannot be read: {error.strerror}", path=folder) from error
    for path in found:
        if path.name.startswith(".") or path.name == "__pycache__":
            continue
        if path.is_dir():
            yield from files_below(path, (*above, real))
        elif path.is_file():
            yield path


def library_digest(without: Collection[str] = ()) -> str:
    """Digest of this library's source, `without` some of its folders."""
    return folder_digest(LIBRARY, without)


@dataclass(frozen=True)
class NotebookSource:
    """A notebook as far as its results depend on it.

    `code`: digest of the code cells and their tags. `text`: digest of all other cells: a change of it changes no
    result. `parameters`: names assigned in the cell tagged ``parameters``, and their texts; None for what is no text.
    `reads`: tools whose samples it reads, None for all. `weight`: grows with the time that it takes.
    """

    path: Path
    code: str
    text: str
    parameters: dict[str, str | None]
    reads: tuple[str, ...] | None
    weight: int = 0

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read a notebook's cells; ReproduceError when it is none, or does not say plainly what it reads."""
        try:
            cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
            code = [_cell(cell) for cell in cells if cell["cell_type"] == "code"]
            text = [_cell(cell) for cell in cells if cell["cell_type"] != "code"]
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise ReproduceError(f"{path} cannot be read as a notebook: {error}", notebook=path.stem) from error
        parameters: dict[str, str | None] = {}
        for tags, source in code:
            if PARAMETERS_TAG in tags:
                parameters |= _assigned(path, source)
        others = [source for tags, source in code if PARAMETERS_TAG not in tags]
        weight = sum(source.count("show(") + 10 * ("telemetry" in source) for source in others)
        reads = _reads(path, parameters, others)
        return cls(path, text_digest(json.dumps(code)), text_digest(json.dumps(text)), parameters, reads, weight)

    def named_files(self, project: Path, replaced: Iterable[str]) -> dict[str, Path]:
        """Files that parameters name by default, such as a list of prices; not of those that get another value."""
        named = {name: project / text for name, text in self.parameters.items() if text and name not in replaced}
        # a text that is too long for a path is none
        return {name: path for name, path in named.items() if os.path.isfile(path)}  # noqa: PTH113

    def refuse_unknown(self, parameters: Iterable[str]) -> None:
        """Refuse parameters that the notebook does not have: papermill would only log a warning."""
        unknown = [name for name in parameters if name not in self.parameters]
        if unknown:
            there = f"it has {', '.join(self.parameters)}" if self.parameters else "it has none"
            raise ReproduceError(
                f"{self.path.name} has no parameter {', '.join(unknown)} ({there}); a parameter is a line "
                f"'name: type = value' in the cell tagged '{PARAMETERS_TAG}'",
                notebook=self.path.stem,
            )


def _cell(cell: Mapping[str, Any]) -> tuple[list[str], str]:
    source = cell["source"]
    return list(cell["metadata"].get("tags", [])), source if isinstance(source, str) else "".join(source)


def _assigned(path: Path, source: str) -> dict[str, str | None]:
    try:
        statements = ast.parse(source).body
    except (SyntaxError, ValueError) as error:
        raise ReproduceError(
            f"{path.name}: the cell tagged '{PARAMETERS_TAG}' is not plain Python: {error}", notebook=path.stem
        ) from error
    values: dict[str, str | None] = {}
    for statement in statements:
        if isinstance(statement, ast.AnnAssign | ast.Assign):
            targets = [statement.target] if isinstance(statement, ast.AnnAssign) else statement.targets
            value = statement.value.value if isinstance(statement.value, ast.Constant) else None
            text = value if isinstance(value, str) else None
            values |= {target.id: text for target in targets if isinstance(target, ast.Name)}
    return values


def _reads(path: Path, parameters: Mapping[str, str | None], others: Iterable[str]) -> tuple[str, ...] | None:
    # what is named and not handed on binds nobody
    if READS not in parameters or not any(_uses(source, READS) for source in others):
        return None
    text = parameters[READS]
    try:
        if text is None:
            raise UsageError(f"{READS}: expected a text such as 'iozone, smallfile', found something else")
        return parse_reads(text)
    except UsageError as error:
        raise ReproduceError(f"{path.name}: {error}", notebook=path.stem) from error


def _uses(source: str, variable: str) -> bool:
    """Whether a cell takes the value of a variable; one that is no plain Python counts as if it did not."""
    try:
        nodes = ast.walk(ast.parse(source))
    except (SyntaxError, ValueError):
        return False
    return any(isinstance(node, ast.Name) and node.id == variable and isinstance(node.ctx, ast.Load) for node in nodes)


def key(parts: Mapping[str, object]) -> str:
    """One digest of everything that a result depends on, whatever its order."""
    return text_digest(json.dumps(parts, sort_keys=True))


def environment_parts(project: Path) -> dict[str, str]:
    """What all notebooks depend on: the library's source, the lock, what is installed, published numbers, Python."""
    from importlib import metadata

    installed = []
    for name in PACKAGES:
        with suppress(metadata.PackageNotFoundError):
            installed.append(f"{name} {metadata.version(name)}")
    lock = project / "requirements.lock"
    return {
        "library": library_digest(),
        "lock": file_digest(lock) if lock.exists() else "",
        "published": folder_digest(project / "raw" / "published"),
        "python": f"{sys.version_info.major}.{sys.version_info.minor}",
        "installed": ", ".join(installed),
    }


Signatures = dict[str, list[int]]
"""Size and modification time in ns that files had when their digests were right, by path below the campaign."""


def check_raw(raw: Path, known: Signatures) -> tuple[str, Signatures]:
    """Digest of a campaign's manifest, after a check that its raw files are those of it; and their signatures.

    A file is hashed when its signature is not the `known` one, so an unchanged campaign costs one ``stat`` per file.
    Raises RawStoreError when a file is missing or is not the one of the manifest.
    """
    signatures, wrong = compare_raw(raw, known)
    if wrong:
        first = ", ".join(wrong[:3])
        more = f" and {len(wrong) - 3} more" if len(wrong) > 3 else ""
        raise RawStoreError(
            f"{raw}: not as {MANIFEST} has it: {first}{more}. Raw files are never edited: restore them "
            f"from a copy; `glusterlab verify {raw}` lists every finding",
            path=raw,
        )
    return file_digest(raw / MANIFEST), signatures


def compare_raw(raw: Path, known: Signatures) -> tuple[Signatures, list[str]]:
    """Signatures of the files that are as the manifest has them, and the names of those that are not."""
    listed = Manifest.read(raw).digests
    signatures: Signatures = {}
    wrong: list[str] = []
    packed: dict[str, list[str]] = {}
    for name, digest in listed.items():
        signature = _signature(f"{raw}/{name}")
        if signature is None and (archive := archive_of(name)) is not None:
            packed.setdefault(archive, []).append(name)
        elif signature is not None and (known.get(name) == signature or file_digest(raw / name) == digest):
            signatures[name] = signature
        else:
            wrong.append(name)
    changed = []
    for archive, names in packed.items():
        signature = _signature(f"{raw}/{archive}")
        if signature is None:
            wrong.extend(names)
            continue
        signatures |= dict.fromkeys(names, signature)
        if any(known.get(name) != signature for name in names):
            changed.append(archive)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for archive, members in zip(changed, pool.map(lambda name: member_digests(raw / name), changed), strict=True):
            folder = archive.removesuffix(ARCHIVE)
            found = {f"{folder}{member}": digest for member, digest in members.items()}
            wrong.extend(name for name in {*found, *packed[archive]} if found.get(name) != listed.get(name))
    return signatures, sorted(wrong)


def _signature(path: str) -> list[int] | None:
    # without Path: a campaign has tens of thousands of files
    try:
        state = os.stat(path)  # noqa: PTH116
    except OSError:
        return None
    return [state.st_size, state.st_mtime_ns]


def split_names(text: str) -> list[str]:
    """Names in a comma-separated list, as a notebook's parameter has them.

    >>> split_names("raw/older, raw/newer,")
    ['raw/older', 'raw/newer']
    """
    return [name for part in text.split(",") if (name := part.strip())]


def parse_reads(text: str) -> tuple[str, ...] | None:
    """Tools that a notebook reads, sorted; None means all.

    `text`: comma-separated names; ``*`` for all, ``none`` for none. Raises UsageError when it names nothing, or ``*``
    or ``none`` beside something else.

    >>> parse_reads("smallfile, iozone"), parse_reads("none"), parse_reads("*")
    (('iozone', 'smallfile'), (), None)
    """
    names = sorted(set(split_names(text)))
    if names == [ALL]:
        return None
    if names == [NONE]:
        return ()
    if not names or {ALL, NONE} & set(names):
        raise UsageError(f"reads: expected tools separated by commas, {ALL!r} for all or 'none', found {text!r}")
    return tuple(names)


def refuse_unknown(tools: Iterable[str]) -> None:
    """Refuse tools of which no samples can be."""
    known = known_tools()
    if unknown := sorted(set(tools) - known):
        there = ", ".join(sorted(known))
        raise UsageError(f"reads: no tool {', '.join(unknown)}; there are {there}; {ALL!r} reads all, 'none' none")


def known_tools() -> frozenset[str]:
    """Tools that can be run, or whose results can be imported."""
    from glusterlab.tools import tools

    return frozenset(name for name, tool in tools().items() if tool.measures)


def cell_tools(raw: Path, manifest: Manifest) -> dict[str, str | None]:
    """The tool of each cell that a manifest lists; None where its cell.json does not tell."""
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

    `raw`: the campaign's folder. `whole`: digest of the manifest, where it is known.
    """

    def __init__(self, raw: Path, whole: str = "") -> None:
        self.whole = whole or file_digest(raw / MANIFEST)
        self._raw = raw
        self._known: dict[tuple[str, ...], str] = {}

    @cached_property
    def _listed(self) -> tuple[Manifest, dict[str, str | None]]:
        manifest = Manifest.read(self._raw)
        return manifest, cell_tools(self._raw, manifest)

    @property
    def tools(self) -> set[str]:
        return {tool for tool in self._listed[1].values() if tool is not None}

    def of(self, tools: tuple[str, ...] | None) -> str:
        """SHA-256 of the manifest's lines for what is read of these tools, as `parse_reads` returned them.

        That is what belongs to no cell, the cells of these tools, and any cell whose tool is not known; for all tools
        it is that of the manifest itself.
        """
        if tools is None:
            return self.whole
        if tools not in self._known:
            manifest, tool_of = self._listed
            chosen = {
                name: digest
                for name, digest in manifest.digests.items()
                if not name.startswith("cells/") or tool_of[name.split("/")[1]] in (None, *tools)
            }
            self._known[tools] = text_digest(Manifest(chosen).text)
        return self._known[tools]
