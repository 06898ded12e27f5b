"""What a campaign's notebooks depend on: which are stale, since that changed after they were made."""

import os
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from glusterlab.errors import GlusterlabError, ReproduceError
from glusterlab.figures.names import output_files
from glusterlab.reproduce.state import STATE, Failure, State, intact
from glusterlab.spec.yaml import load_cluster
from glusterlab.store.baselines import search_baseline
from glusterlab.store.digests import CAMPAIGNS, NotebookSource, RawDigests, check_raw, files_below, key, names_beside
from glusterlab.store.files import file_digest
from glusterlab.store.manifest import MANIFEST

SHARED = ("notebooks", "runbooks", "raw/published")  # what of a project a notebook may read besides its campaign

MAX_SHARED_BYTES = 64 << 20


@dataclass(frozen=True)
class Task:
    """A stale notebook; `key`: what it depends on, as it is now; `text_only`: only its text changed."""

    name: str
    source: NotebookSource
    key: str
    text_only: bool

    @property
    def notebook(self) -> str:
        return self.source.path.stem


@dataclass
class Campaign:
    """A campaign whose raw files are as its manifest has them, and what is to be done for it.

    `checked`: the tables were just brought up to date. `undrawn`: tools of its samples that no notebook names.
    """

    project: Path
    raw: Path
    figures: Path
    state: State
    digests: RawDigests
    notebooks: Sequence[Path]
    baseline: Path | None
    checked: bool = False
    tasks: list[Task] = field(default_factory=list)
    running: list[Future[None]] = field(default_factory=list)
    undrawn: list[str] = field(default_factory=list)

    @classmethod
    def open(cls, project: Path, raw: Path, figures: Path, notebooks: Sequence[Path]) -> Self:
        """Check its raw files and its baseline's; RawStoreError when they are not the manifest's."""
        state = State.read(figures / STATE)
        check_raw(raw)
        cluster = raw / "cluster.yaml"
        baseline = search_baseline(raw, load_cluster(cluster)).path if cluster.is_file() else None
        if baseline is not None:
            check_raw(baseline)
        return cls(project, raw, figures, state, RawDigests(raw), notebooks, baseline)

    @property
    def name(self) -> str:
        return self.raw.name

    @property
    def tables(self) -> Path:
        return self.figures / "tables"

    @property
    def parameters(self) -> dict[str, str]:
        inside = self.raw.is_relative_to(self.project)
        where = self.raw.relative_to(self.project).as_posix() if inside else str(self.raw)
        return {"campaign": where, "figures": f"figures/{self.name}"}

    def plan(self, environment: Mapping[str, str], force: bool) -> tuple[list[str], list[Failure]]:
        """Put stale notebooks into `tasks`; names of those that are not, and those that cannot be run at all."""
        unchanged, failed = [], []
        named: set[str] = set()
        for path in self.notebooks:
            try:
                source = NotebookSource.read(path)
                source.refuse_unknown(self.parameters)
                wanted = self._key(environment, source)
            except GlusterlabError as error:
                failed.append(Failure(self.name, path.stem, str(error)))
                continue
            named |= {*(source.reads or ())}
            known = self.state.notebooks.get(path.stem, {})
            same = not force and known.get("key") == wanted and intact(self.figures, known["outputs"])
            if same and known["text"] == source.text:
                unchanged.append(path.stem)
            else:
                self.tasks.append(Task(f"{self.name}/{path.stem}", source, wanted, text_only=same))
        self.undrawn = [] if failed else sorted(self.digests.tools - named)
        # the longest first, so that none of them is left over at the end
        self.tasks.sort(key=lambda task: -task.source.weight)
        return unchanged, failed

    def noted(self, environment: Mapping[str, str], failed: Sequence[str] = ()) -> dict[str, list[str]]:
        """What a report says: notebooks that failed, files of figures that are not of everything as it is now."""
        current: set[str] = set()
        for name, entry in self.state.notebooks.items():
            with suppress(GlusterlabError):
                source = NotebookSource.read(self.project / "notebooks" / f"{name}.ipynb")
                if self._key(environment, source) == entry["key"]:
                    current.update(entry["outputs"])
        earlier = [path.name for path in output_files(self.figures) if path.name not in current]
        return {"failed": list(failed), "earlier": earlier}

    def shared_files(self) -> dict[str, bytes]:
        """Files of the project that its notebooks may read, by the paths that they have below it, also as links."""
        found = self._below(path for folder in SHARED for path in files_below(self.project / folder))
        size = sum(len(data) for data in found.values())
        if size > MAX_SHARED_BYTES:
            expected = f"expected at most {MAX_SHARED_BYTES:,} bytes in {', '.join(SHARED)} of {self.project}"
            raise ReproduceError(f"{expected}, found {size:,}")
        for task in self.tasks:
            found |= self._below(task.source.named_files(self.project, self.parameters).values())
        return found

    def _below(self, paths: Iterable[Path]) -> dict[str, bytes]:
        # the name counts, wherever it leads: a notebook asks for the file by that; others are read where they are
        named = [path for each in paths if (path := Path(os.path.normpath(each))).is_relative_to(self.project)]
        return {path.relative_to(self.project).as_posix(): path.read_bytes() for path in named}

    def _key(self, environment: Mapping[str, str], source: NotebookSource) -> str:
        files = source.named_files(self.project, self.parameters)
        parts: dict[str, object] = {
            "code": source.code,
            "parameters": self.parameters,
            "files": {name: file_digest(path) for name, path in files.items()},
            "raw": self.digests.of(source.reads),
        }
        names = names_beside(source.parameters.get(CAMPAIGNS) or "", self.name)
        if names[1:] and Path(names[0]).name == self.name:
            # their raw files are held to their manifests when they are reproduced themselves, not here
            folders = {name: self.project / name for name in names[1:]}
            parts[CAMPAIGNS] = {
                name: RawDigests(folder).of(source.reads) if (folder / MANIFEST).is_file() else ""
                for name, folder in folders.items()
            }
        if self.baseline is not None:
            parts["baseline"] = f"{self.baseline.name} {file_digest(self.baseline / MANIFEST)}"
        return key({**environment, **parts})
