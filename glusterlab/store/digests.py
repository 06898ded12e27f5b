"""What the result of a notebook depends on, as digests: its code, its parameters, raw files, the library, versions.

Only the standard library is imported: a run of `reproduce` with nothing to do spends its time here.
"""

from __future__ import annotations

import ast
import hashlib
import json
import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from glusterlab.errors import RawStoreError, ReproduceError, UsageError
from glusterlab.store.evidence import ARCHIVE, archive_of
from glusterlab.store.evidence import digests as member_digests
from glusterlab.store.files import file_digest
from glusterlab.store.manifest import MANIFEST, Manifest
from glusterlab.store.reads import parse_reads

PARAMETERS_TAG = "parameters"
"""Tag of the cell that papermill puts the parameters after."""

READS = "reads"
"""The parameter by which a notebook says which tools' samples it reads; without it, it reads all."""

CAMPAIGNS = "campaigns"
"""The parameter by which a notebook names the campaigns that it holds together, the one that it runs for first."""

LIBRARY = Path(__file__).parents[1]

PACKAGES = ("matplotlib", "numpy", "pandas", "pyarrow", "scipy", "seaborn")
"""What is installed of these makes figures and numbers: the lock only says what should be."""


def text_digest(text: str) -> str:
    """SHA-256 of a text in UTF-8, in hexadecimal."""
    return hashlib.sha256(text.encode()).hexdigest()


def files_digest(root: Path, files: Iterable[Path]) -> str:
    """One digest of many files: of their paths below `root` and of their bytes.

    Raises RawStoreError when a file cannot be read.
    """
    lines = sorted(f"{path.relative_to(root).as_posix()} {file_digest(path)}" for path in files)
    return text_digest("\n".join(lines))


def folder_digest(folder: Path) -> str:
    """One digest of `files_below`.

    Raises RawStoreError when a file or folder cannot be read.
    """
    return files_digest(folder, files_below(folder))


def files_below(folder: Path, above: tuple[str, ...] = ()) -> Iterator[Path]:
    """All files below a folder, caches and hidden files left out; a folder that is not there is empty.

    Links are followed, so that what lies elsewhere counts under the name that it has here. One that leads back to a
    folder that it lies in is passed over.

    `above`: real paths of the folders that it was reached through. Raises RawStoreError when a folder cannot be read.
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


def library_digest() -> str:
    """Digest of this library's source.

    Raises RawStoreError when a file cannot be read.
    """
    return folder_digest(LIBRARY)


@dataclass(frozen=True)
class NotebookSource:
    """A notebook as far as its results depend on it.

    `code`: digest of the code cells and their tags. `text`: digest of all other cells: a change of it changes no
    result. `parameters`: names assigned in the cell tagged ``parameters``, in their order, and their texts; None for
    what is no text. `reads`: tools whose samples it reads, None for all. `weight`: grows with the time that it takes:
    figures, and the reading of telemetry.
    """

    path: Path
    code: str
    text: str
    parameters: dict[str, str | None]
    reads: tuple[str, ...] | None
    weight: int = 0

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read a notebook's cells.

        Raises ReproduceError when the file is no notebook, or does not say plainly what it reads.
        """
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
        reads = _reads(path, parameters, others)
        weight = sum(source.count("show(") + 10 * ("telemetry" in source) for source in others)
        return cls(path, text_digest(json.dumps(code)), text_digest(json.dumps(text)), parameters, reads, weight)

    def files(self, project: Path, given: Iterable[str]) -> dict[str, str]:
        """Digests of the files that parameters name by default, such as a list of prices; by parameter.

        `project`: where relative paths start. `given`: parameters that get another value. Raises RawStoreError when a
        file cannot be read.
        """
        return {name: file_digest(path) for name, path in self.named_files(project, given).items()}

    def named_files(self, project: Path, given: Iterable[str]) -> dict[str, Path]:
        """The files of `files`."""
        named = {name: project / text for name, text in self.parameters.items() if text and name not in given}
        # a text that is too long for a path is none
        return {name: path for name, path in named.items() if os.path.isfile(path)}  # noqa: PTH113

    def refuse_unknown(self, parameters: Iterable[str]) -> None:
        """Refuse parameters that the notebook does not have: papermill would only log a warning.

        Raises ReproduceError naming what is unknown and what there is.
        """
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
        if isinstance(statement, ast.AnnAssign):
            targets: list[ast.expr] = [statement.target]
        elif isinstance(statement, ast.Assign):
            targets = statement.targets
        else:
            continue
        value = statement.value.value if isinstance(statement.value, ast.Constant) else None
        text = value if isinstance(value, str) else None
        values |= {target.id: text for target in targets if isinstance(target, ast.Name)}
    return values


def _reads(path: Path, parameters: Mapping[str, str | None], others: Iterable[str]) -> tuple[str, ...] | None:
    # what is said and not handed on binds nobody
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
    """One digest of everything that a result depends on.

    Examples
    --------
    >>> key({"code": "a", "raw": "b"}) == key({"raw": "b", "code": "a"})
    True
    """
    return text_digest(json.dumps(parts, sort_keys=True))


def environment_parts(project: Path) -> dict[str, str]:
    """What all notebooks depend on: the library's source, the lock, what is installed, published numbers, Python.

    Raises RawStoreError when a file cannot be read.
    """
    lock = project / "requirements.lock"
    return {
        "library": library_digest(),
        "lock": file_digest(lock) if lock.exists() else "",
        "published": folder_digest(project / "raw" / "published"),
        "python": f"{sys.version_info.major}.{sys.version_info.minor}",
        "installed": installed(),
    }


def installed() -> str:
    """Versions of `PACKAGES`, as they are installed."""
    from importlib import metadata

    found = {}
    for name in PACKAGES:
        with suppress(metadata.PackageNotFoundError):
            found[name] = metadata.version(name)
    return ", ".join(f"{name} {version}" for name, version in found.items())


Signatures = dict[str, list[Any]]
"""What files looked like when their digests were right (here size and modification time in ns), by path below."""


def check_raw(raw: Path, known: Mapping[str, list[Any]]) -> tuple[str, Signatures]:
    """Digest of a campaign's raw files, after a check that they are those of its manifest.

    A file is hashed when its size or modification time is not the known one, so a change of a file is noticed
    although the manifest is the same, and an unchanged campaign costs one ``stat`` per file.

    `raw`: ``raw/<campaign>``. `known`: what this function returned before. `digest`: digest of the manifest, which
    covers every file that it lists. Raises RawStoreError when a file is missing or is not the one of the manifest.
    """
    listed = Manifest.read(raw).digests
    signatures: Signatures = {}
    wrong: list[str] = []
    packed: dict[str, list[str]] = {}
    for name, digest in listed.items():
        signature = _signature(raw / name)
        if signature is None and (archive := archive_of(name)) is not None:
            packed.setdefault(archive, []).append(name)
        elif signature is not None and (known.get(name) == signature or file_digest(raw / name) == digest):
            signatures[name] = signature
        else:
            wrong.append(name)
    for archive, names in packed.items():
        signature = _signature(raw / archive)
        if signature is None:
            wrong.extend(names)
        elif all(known.get(name) == signature for name in names):
            signatures |= dict.fromkeys(names, signature)
        else:
            folder = archive.removesuffix(ARCHIVE)
            found = {f"{folder}{member}": digest for member, digest in member_digests(raw / archive).items()}
            signatures |= dict.fromkeys(names, signature)
            wrong.extend(name for name in {*found, *names} if found.get(name) != listed.get(name))
    if wrong:
        first = ", ".join(sorted(wrong)[:3])
        more = f" and {len(wrong) - 3} more" if len(wrong) > 3 else ""
        raise RawStoreError(
            f"{raw}: not as {MANIFEST} has it: {first}{more}. Raw files are never edited: restore them "
            f"from a copy; `glusterlab verify {raw}` lists every finding",
            path=raw,
        )
    return file_digest(raw / MANIFEST), signatures


def _signature(path: Path) -> list[int] | None:
    try:
        state = path.stat()
    except OSError:
        return None
    return [state.st_size, state.st_mtime_ns]
