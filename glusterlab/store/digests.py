"""What the result of a notebook depends on, as digests: its code, its parameters, raw files, the library, versions.

A notebook that names tools in its parameters (``reads: str = "iozone"``) gets rows of these only, and its results
depend on their raw files and on those that belong to no cell (campaign.yaml, cluster.yaml, environment.json).

Only the standard library is imported: a run of `reproduce` with nothing to do spends its time here.
"""

import ast
import hashlib
import json
import os
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Self

from glusterlab.errors import RawStoreError, ReproduceError, UsageError, some
from glusterlab.rawfile import read_raw
from glusterlab.store.aside import moved_files
from glusterlab.store.evidence import ARCHIVE, archive_of
from glusterlab.store.evidence import digests as member_digests
from glusterlab.store.files import file_digest, is_locked, reading, write_atomically
from glusterlab.store.manifest import CHANGING, LOCK, MANIFEST, SIGNATURE, Manifest

PARAMETERS_TAG = "parameters"  # tag of the cell that papermill puts the parameters after
READS = "reads"  # the parameter by which a notebook says which tools' samples it reads; without it, it reads all

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
    with reading(folder):
        found = sorted(folder.iterdir())
    for path in found:
        hidden = path.name.startswith(".") or path.name == "__pycache__"
        if path.is_dir() and not hidden:
            yield from files_below(path, (*above, real))
        elif path.is_file() and not hidden:
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
        if unknown := [name for name in parameters if name not in self.parameters]:
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
        message = f"{path.name}: the cell tagged '{PARAMETERS_TAG}' is not plain Python: {error}"
        raise ReproduceError(message, notebook=path.stem) from error
    values: dict[str, str | None] = {}
    for statement in statements:
        if isinstance(statement, ast.AnnAssign | ast.Assign):
            targets = [statement.target] if isinstance(statement, ast.AnnAssign) else statement.targets
            value = getattr(statement.value, "value", None)
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


Signatures = dict[str, str]
"""Size, times and inode that files had when they were right, and the digest that was right, by path below a campaign.

The digest of an archive is that of what the manifest lists of its members.
"""

CHANGED, LOST, UNLISTED = "was changed", "is lost", "is not listed"

_SEEN = ".raw.json"
_examined: dict[Path, Signatures] = {}
_every_byte = False


def tables_folder(raw: Path) -> Path:
    """Where what is made of a campaign's raw files is kept: ``figures/<campaign>/tables`` beside the folder ``raw``."""
    beside = next((folder for folder in raw.parents[:2] if folder.name == "raw"), raw.parent)
    return beside.parent / "figures" / raw.name / "tables"


@contextmanager
def every_byte() -> Iterator[None]:
    """Let each campaign, and its tables, that are checked meanwhile be hashed once whole, whatever looks unchanged."""
    global _every_byte
    _examined.clear()
    _every_byte = True
    try:
        yield
    finally:
        _every_byte = False


def read_seen(path: Path) -> dict[str, Any]:
    """What is remembered of files that were hashed; nothing where every byte is to be hashed."""
    found = None
    with suppress(OSError, ValueError):
        found = None if _every_byte else json.loads(path.read_bytes())
    return found if isinstance(found, dict) else {}


def check_raw(raw: Path) -> None:
    """Raise RawStoreError unless a campaign's files are those of its manifest."""
    if wrong := examine(raw)[1]:
        # it was examined, and falls short
        raise RawStoreError(damage_sentence(raw, wrong), path=raw, exit_code=1)


def damage_sentence(raw: Path, wrong: Mapping[str, str]) -> str:
    """What of a campaign is not as its manifest has it, and what to do."""
    words = [f"{name} {what}" for name, what in sorted(by_sample(wrong).items())]
    return (
        f"{raw}: not as {MANIFEST} has it: {some(words)}. Raw files are never edited: restore them "
        f"from a copy, and take away what was added; `glusterlab verify {raw}` lists every finding"
    )


def by_sample(wrong: Mapping[str, str]) -> dict[str, str]:
    """What is wrong of a campaign, a sample that is lost or was added in one entry instead of its files."""
    whole = {name.rpartition("/")[0]: what for name, what in wrong.items() if name.endswith("/sample.json")}
    whole = {folder: what for folder, what in whole.items() if what in (LOST, UNLISTED)}
    rest = {name: what for name, what in wrong.items() if whole.get("/".join(name.split("/")[:3])) != what}
    return rest | whole


def examine(raw: Path, *, makes_folder: bool = False) -> tuple[Signatures, dict[str, str]]:
    """As `compare_raw`, with the signatures that are kept beside the campaign's tables, and keep them.

    An unchanged campaign costs one ``stat`` per file. What is not listed is passed over while a run is at work. With
    `makes_folder` that of the tables is made in an existing folder ``figures``.
    """
    place = tables_folder(raw.resolve()) / _SEEN
    known = _examined.get(place) or read_seen(place)
    signatures, wrong = compare_raw(raw, known)
    # where nothing can be kept, each process hashes all
    _examined[place] = signatures
    if signatures != known or _every_byte or not place.exists():
        with suppress(OSError, RawStoreError):
            if makes_folder and place.parents[2].is_dir():
                place.parent.mkdir(parents=True, exist_ok=True)
            if place.parent.is_dir():
                write_atomically(place, json.dumps(signatures), durable=False)
    if UNLISTED in wrong.values() and is_locked(raw / LOCK):
        wrong = {name: what for name, what in wrong.items() if what != UNLISTED}
    return signatures, wrong


def compare_raw(raw: Path, known: Signatures) -> tuple[Signatures, dict[str, str]]:
    """Signatures of the files that are as the manifest has them, and of the others what is wrong, by name.

    A file is hashed when its signature is not the `known` one. Raises RawStoreError where there is no manifest.
    """
    # before the manifest: what is finished meanwhile is not missed
    states = file_states(raw)
    if {name: str(signature).rpartition(" ")[0] for name, signature in known.items()} == states:
        return known, {}
    if not (listed := Manifest.read(raw).digests):
        message = f"{raw / MANIFEST}: expected a list of all files, found none; restore it from a copy"
        raise RawStoreError(message, path=raw / MANIFEST)
    moved = moved_files(raw, listed)
    of_file: dict[str, dict[str, str]] = {}
    for name, digest in ((moved.get(name, name), digest) for name, digest in listed.items()):
        archive = None if name in states else archive_of(name)
        of_file.setdefault(archive if archive in states and archive is not None else name, {})[name] = digest
    # with that of the manifest, the signatures of an unchanged campaign are those of all of its files
    signatures: Signatures = {MANIFEST: f"{states.get(MANIFEST)} listed"}
    wrong: dict[str, str] = {}
    for file, words in of_file.items():
        if (state := states.get(file) or file_state(f"{raw}/{file}")) is None:
            wrong[file] = LOST
        elif file in words:
            signatures[file] = f"{state} {words[file]}"
        else:
            signatures[file] = f"{state} {text_digest(Manifest(words).text)}"
    touched = [file for file in signatures if file in of_file and known.get(file) != signatures[file]]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for file, found in zip(touched, pool.map(lambda file: _wrong(raw, file, of_file[file]), touched), strict=True):
            wrong |= found
            if found:
                del signatures[file]
    if wrong:
        # else what is left of it would pass for all of it the next time
        signatures[MANIFEST] = "damaged"
    added = [name for name in states.keys() - of_file.keys() if name.startswith("cells/") and name.count("/") > 2]
    return signatures, wrong | dict.fromkeys(added, UNLISTED)


def _wrong(raw: Path, file: str, listed: Mapping[str, str]) -> dict[str, str]:
    """What is wrong of a file, or of the members of an archive, of which something is `listed`."""
    try:
        if file in listed:
            return {} if file_digest(raw / file) == listed[file] else {file: CHANGED}
        folder = file.removesuffix(ARCHIVE)
        found = {f"{folder}{member}": digest for member, digest in member_digests(raw / file).items()}
    except RawStoreError:
        return {file: "cannot be read"}
    return {
        name: CHANGED if name in found and name in listed else LOST if name in listed else UNLISTED
        for name in {*found, *listed}
        if found.get(name) != listed.get(name)
    }


def file_states(raw: Path) -> dict[str, str]:
    """Size, times and inode of each raw file, but not of logs, which grow meanwhile, nor of what is unfinished."""
    found = {}
    folders = [""]
    while folders:
        folder = folders.pop()
        # a run may move a cell meanwhile
        with suppress(FileNotFoundError), os.scandir(raw / folder) as entries:
            for entry in entries:
                name = f"{folder}{entry.name}"
                if entry.name.startswith(".") or name in CHANGING or name == SIGNATURE:
                    continue
                if entry.is_dir():
                    folders.append(f"{name}/")
                elif (state := file_state(entry.path)) is not None:
                    found[name] = state
    return found


def file_state(path: str) -> str | None:
    """Size, times and inode of a file; None where there is none."""
    # without Path: a campaign has tens of thousands of files
    try:
        state = os.stat(path)  # noqa: PTH116
    except OSError:
        return None
    # the time of change, because anybody can set the other one
    return f"{state.st_size} {state.st_mtime_ns} {state.st_ctime_ns} {state.st_ino}"


def split_names(text: str) -> list[str]:
    """Names in a comma-separated list, as a notebook's parameter has them.

    >>> split_names("raw/older, raw/newer,")
    ['raw/older', 'raw/newer']
    """
    return [name for part in text.split(",") if (name := part.strip())]


def names_beside(text: str, campaign: str) -> list[str]:
    """Campaigns that a notebook reads together: of lists separated by ``;`` that with this campaign, else the first.

    >>> names_beside("raw/older, raw/newer; raw/3.7, raw/3.8", "3.7")
    ['raw/3.7', 'raw/3.8']
    """
    lists = [split_names(each) for each in text.split(";")]
    return next((names for names in lists if campaign in (Path(name).name for name in names)), lists[0])


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
            tool = json.loads(read_raw(raw / "cells" / cell / "cell.json"))["cell"]["tool"]
        except (OSError, ValueError, KeyError, TypeError):
            tool = None
        found[cell] = tool if isinstance(tool, str) else None
    return found


class RawDigests:
    """Digests of what is read of one campaign, `whole` of its manifest, which is read once for all notebooks."""

    def __init__(self, raw: Path) -> None:
        self.whole = file_digest(raw / MANIFEST)
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

        That is what belongs to no cell, the cells of these tools and of unknown ones; for all tools the manifest's own.
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
