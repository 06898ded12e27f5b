"""Which notebooks are due: what their results depend on is not as it was when their outputs were made."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from glusterlab.errors import GlusterlabError
from glusterlab.figures.names import output_files
from glusterlab.reproduce.state import Failure, State, intact
from glusterlab.store.digests import CAMPAIGNS, NotebookSource, RawDigests, environment_parts, key, split_names
from glusterlab.store.files import file_digest
from glusterlab.store.manifest import MANIFEST

if TYPE_CHECKING:
    from glusterlab.sections.baseline import Baseline


@dataclass(frozen=True)
class Campaign:
    """A campaign, and where its figures go: ``figures/<campaign>``."""

    raw: Path
    figures: Path

    @property
    def tables(self) -> Path:
        """Where its tables are kept."""
        return self.figures / "tables"

    @property
    def name(self) -> str:
        """The folder's."""
        return self.raw.name


@dataclass(frozen=True)
class Task:
    """A notebook that is due.

    `key`: what it depends on, as it is now. `retell`: only its text changed.
    """

    campaign: Campaign
    source: NotebookSource
    key: str
    retell: bool

    @property
    def name(self) -> str:
        """``<campaign>/<notebook>``."""
        return f"{self.campaign.name}/{self.source.path.stem}"


@dataclass
class Work:
    """What is to be done for one campaign.

    `changed`: the state is to be written although no notebook runs; `checked`: the tables were just brought up to date.
    """

    campaign: Campaign
    state: State
    digests: RawDigests
    notebooks: Sequence[Path]
    changed: bool
    tasks: list[Task] = field(default_factory=list)
    running: list[Future[None]] = field(default_factory=list)
    checked: bool = False


class Due:
    """What notebooks of a project depend on.

    `force`: all are due.
    """

    def __init__(self, project: Path, force: bool) -> None:
        self.project = project
        self.force = force
        self._environment = environment_parts(project)
        self._baselines: dict[Path, Baseline | None] = {}

    def plan(self, work: Work) -> tuple[list[str], list[Failure]]:
        """Put the notebooks that are due into a campaign's tasks.

        `unchanged`: names of notebooks that are not due. `failed`: notebooks that cannot be run at all.
        """
        campaign, known = work.campaign, work.state.notebooks
        unchanged, failed = [], []
        for path in work.notebooks:
            try:
                source = NotebookSource.read(path)
                source.refuse_unknown(self.parameters(campaign))
                wanted = self._key(work, source)
            except GlusterlabError as error:
                failed.append(Failure(campaign.name, path.stem, str(error)))
                continue
            had = known.get(path.stem, {})
            same = not self.force and had.get("key") == wanted and intact(campaign.figures, had["outputs"])
            if same and had["text"] == source.text:
                unchanged.append(path.stem)
            else:
                work.tasks.append(Task(campaign, source, wanted, retell=same))
        # the longest first, so that none of them is left over at the end
        work.tasks.sort(key=lambda task: -task.source.weight)
        return unchanged, failed

    def parameters(self, campaign: Campaign) -> dict[str, str]:
        """The parameters that a campaign's notebooks get."""
        raw = campaign.raw
        where = raw.relative_to(self.project).as_posix() if raw.is_relative_to(self.project) else str(raw)
        return {"campaign": where, "figures": f"figures/{raw.name}"}

    def earlier(self, work: Work) -> list[str]:
        """Files of figures that are not of the raw files, the library and the notebooks as they are now."""
        current: set[str] = set()
        for name, entry in work.state.notebooks.items():
            with suppress(GlusterlabError):
                source = NotebookSource.read(self.project / "notebooks" / f"{name}.ipynb")
                if self._key(work, source) == entry["key"]:
                    current.update(entry["outputs"])
        return [path.name for path in output_files(work.campaign.figures) if path.name not in current]

    def _key(self, work: Work, source: NotebookSource) -> str:
        parameters = self.parameters(work.campaign)
        known: dict[str, object] = {
            "code": source.code,
            "parameters": parameters,
            "files": {name: file_digest(path) for name, path in source.named_files(self.project, parameters).items()},
            "raw": work.digests.of(source.reads),
        }
        if others := self._others(work.campaign, source):
            known[CAMPAIGNS] = others
        if (found := self.baseline(work.campaign)) is not None:
            known["baseline"] = f"{found.name} {found.digest}"
        return key({**self._environment, **known})

    def _others(self, campaign: Campaign, source: NotebookSource) -> dict[str, str]:
        """Digests of the campaigns that a notebook holds against this one, by name; empty where one is not there.

        Their raw files are held to their manifests when they are reproduced themselves, not here.
        """
        names = split_names(source.parameters.get(CAMPAIGNS) or "")
        if not names or Path(names[0]).name != campaign.name:
            return {}
        folders = {name: self.project / name for name in names[1:]}
        return {
            name: RawDigests(folder).of(source.reads) if (folder / MANIFEST).is_file() else ""
            for name, folder in folders.items()
        }

    def baseline(self, campaign: Campaign) -> Baseline | None:
        """What figures take from beside a campaign: the baseline whose rates are their limits.

        Raises SpecError when the campaign's cluster.yaml is none.
        """
        from glusterlab.sections.baseline import find_baseline
        from glusterlab.spec.yaml import load_cluster

        if not (campaign.raw / "cluster.yaml").is_file():
            return None
        if campaign.raw not in self._baselines:
            self._baselines[campaign.raw] = find_baseline(campaign.raw, load_cluster(campaign.raw / "cluster.yaml"))
        return self._baselines[campaign.raw]
