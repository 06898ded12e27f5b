"""Which notebooks are due: what their results depend on is not as it was when their outputs were made."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from glusterlab.comparison import split_names
from glusterlab.errors import GlusterlabError
from glusterlab.figurestate import State, intact
from glusterlab.fingerprint import CAMPAIGNS, NotebookSource, environment_parts, key
from glusterlab.manifest import MANIFEST
from glusterlab.outcome import Failure
from glusterlab.outputs import output_files
from glusterlab.reads import RawDigests
from glusterlab.storage import Remote

if TYPE_CHECKING:
    from glusterlab.baseline import Baseline


@dataclass(frozen=True)
class Campaign:
    """A campaign, and where its figures go.

    Attributes
    ----------
    raw : pathlib.Path or Remote
    figures : pathlib.Path
        ``figures/<campaign>``, or this machine's mirror of it.
    tables : pathlib.Path or Remote
    """

    raw: Path | Remote
    figures: Path
    tables: Path | Remote

    @property
    def name(self) -> str:
        """The folder's."""
        return self.raw.name


@dataclass(frozen=True)
class Task:
    """A notebook that is due.

    Attributes
    ----------
    key : str
        What it depends on, as it is now.
    retell : bool
        Only its text changed.
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

    Attributes
    ----------
    folder : pathlib.Path
        Of this machine, with the campaign's small files.
    notebooks : list of pathlib.Path
        What is to be run on it.
    changed : bool
        The state is to be written although no notebook runs.
    running : list of Future
        The notebooks' runs.
    checked : bool
        The tables were just brought up to date.
    """

    campaign: Campaign
    state: State
    folder: Path
    digests: RawDigests
    notebooks: Sequence[Path]
    changed: bool
    tasks: list[Task] = field(default_factory=list)
    running: list[Future[None]] = field(default_factory=list)
    checked: bool = False


class Due:
    """What notebooks of a project depend on.

    Parameters
    ----------
    project : pathlib.Path
    force : bool
        All are due.
    """

    def __init__(self, project: Path, force: bool) -> None:
        self.project = project
        self.force = force
        self._environment = environment_parts(project)
        self._baselines: dict[Path, Baseline | None] = {}

    def plan(self, work: Work) -> tuple[list[str], list[Failure]]:
        """Put the notebooks that are due into a campaign's tasks.

        Returns
        -------
        unchanged : list of str
            Names of notebooks that are not due.
        failed : list of Failure
            Notebooks that cannot be run at all.
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
        inside = isinstance(raw, Path) and raw.is_relative_to(self.project)
        where = raw.relative_to(self.project).as_posix() if isinstance(raw, Path) and inside else str(raw)
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
            "files": source.files(self.project, parameters),
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

        Raises
        ------
        SpecError
            When the campaign's cluster.yaml is none.
        """
        from glusterlab.baseline import find_baseline
        from glusterlab.spec.load import load_cluster

        if not isinstance(campaign.raw, Path) or not (campaign.raw / "cluster.yaml").is_file():
            return None
        if campaign.raw not in self._baselines:
            self._baselines[campaign.raw] = find_baseline(campaign.raw, load_cluster(campaign.raw / "cluster.yaml"))
        return self._baselines[campaign.raw]
