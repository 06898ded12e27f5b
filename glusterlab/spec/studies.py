"""A study: one document whose experiments are reproduced, as the folder ``raw/published/<study>/`` describes it."""

from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, TypeAdapter, ValidationError, model_validator

from glusterlab.errors import DataError, UsageError
from glusterlab.spec.fields import NAME_FORM, Name, Size, SpecModel, StudyName, Text, problem, suggest
from glusterlab.spec.yaml import validate

FILE = "study.yaml"
NO_STUDY = "none"
"""The study of a campaign that reproduces none."""

Label = Annotated[str, Field(pattern=r"^[A-Z][1-9][0-9]?$")]
"""A figure or a table as the project numbers it: ``F5``, ``T3``, ``G1``."""


PREFIX_FORM = r"fig|tab|[a-z][a-z0-9]*-[a-z]"
Prefix = Annotated[str, Field(pattern=f"^({PREFIX_FORM})$", max_length=30)]
"""What names of a study's figures begin with, before their number."""


class StudyLayout(SpecModel):
    """A layout of a study, by what it is and not by what a campaign calls it; without a geometry it has any.

    Of type ``other``, as of access ``existing``, its `kind` is the backing's label.
    """

    type: Literal["distribute", "replicate", "disperse", "other"]
    geometry: Annotated[str, Field(pattern=r"^[0-9][0-9x()+]*$", max_length=30)] | None = None
    kind: Annotated[str, Field(pattern=NAME_FORM, max_length=30, description="of the backing, such as raid6 or jbod")]
    server_model: Name | None = None
    label: Text | None = Field(default=None, description="as the study calls it")


class Curves(SpecModel):
    """Five figures by workers of what saturates, of one layout and one kind of files."""

    slug: Annotated[Name, Field(description="in the names of its figures")]
    first: Annotated[Label, Field(description="of its five figures")]
    layout: Annotated[Name, Field(description="one of the study's layouts")]
    tool: Name
    size: Annotated[Size, Field(description="what the files stand for")]
    files: Annotated[Text, Field(description="the files as the study calls them")]
    metric: Literal["throughput", "files"] = "throughput"

    @property
    def labels(self) -> tuple[str, ...]:
        """Those of its five figures."""
        return tuple(f"{self.first[0]}{int(self.first[1:]) + n}" for n in range(5))


class Study(SpecModel):
    """What a study is: the file ``study.yaml``.

    ``notebooks``: those that run on its campaigns beside what runs on any. ``outputs`` maps the letter of a figure's
    label to the beginning of its file's name: ``F5`` is ``fig05-...`` with ``{F: fig}``, and ``G5`` ``demo-g5-...``
    with ``{G: demo-g}``. ``servers``: their roles, by the names of ``server_models`` in a cluster. ``missing``: why no
    notebook makes a figure. ``releases``: what a release of GlusterFS is to it. ``also``: campaigns of other studies on
    hardware of this one, which its claims are held against, too, with those of its notebooks that run on them.
    ``parts`` is for notebooks, and free of form.
    """

    schema_version: Literal[1]
    study: StudyName
    title: Text
    called: Annotated[str, Field(min_length=1, max_length=60, description="as sentences name it")] = "the study"
    document: Text | None = Field(default=None, description="file name of its text")
    notebooks: tuple[Name, ...] = ()
    outputs: dict[Annotated[str, Field(pattern="^[A-Z]$")], Prefix] = Field(default_factory=dict)
    servers: dict[Name, Text] = Field(default_factory=dict)
    layouts: dict[Name, StudyLayout] = Field(default_factory=dict)
    saturation: tuple[Curves, ...] = ()
    missing: dict[Label, Text] = Field(default_factory=dict)
    releases: dict[str, Text] = Field(default_factory=dict)
    also: dict[Name, tuple[Name, ...]] = Field(default_factory=dict)
    parts: dict[Name, Any] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _names_are_known(self) -> Self:
        for name, layout in self.layouts.items():
            if (server := layout.server_model) is not None and server not in self.servers:
                near = suggest(server, list(self.servers))
                raise problem(f"unknown server {server!r}{near}", "layouts", name, "server_model")
        expected = f"expected labels that begin with one of {', '.join(self.outputs)}"
        for n, curves in enumerate(self.saturation):
            if curves.layout not in self.layouts:
                near = suggest(curves.layout, list(self.layouts))
                raise problem(f"unknown layout {curves.layout!r}{near}", "saturation", n, "layout")
            if curves.first[0] not in self.outputs:
                raise problem(expected, "saturation", n, "first")
        for label in self.missing:
            if label[0] not in self.outputs:
                raise problem(expected, "missing", label)
        for campaign, notebooks in self.also.items():
            for notebook in set(notebooks) - set(self.notebooks):
                near = suggest(notebook, list(self.notebooks))
                raise problem(f"unknown notebook {notebook!r}{near}", "also", campaign)
        return self

    def output(self, label: str) -> str:
        """What the name of a figure begins with, from its label: ``fig05`` or ``demo-g5``."""
        prefix = self.outputs[label[0]]
        return f"{prefix}{int(label[1:]):0{1 if '-' in prefix else 2}}"

    def release(self, version: str) -> str:
        """A version with what it is to the study: ``3.8.4 (upstream of RHGS 3.2)``."""
        return f"{version} ({self.releases[version]})" if version in self.releases else version

    def role(self, number: int) -> str:
        """The name of one of its servers, in their order; empty where it has fewer."""
        return [*self.servers, "", ""][number]


def no_study() -> Study:
    """That of a campaign that reproduces none."""
    return Study(schema_version=1, study=NO_STUDY, title="No study")


def load_study(folder: Path) -> Study:
    """The study that a folder holds; one without anything where there is no ``study.yaml``."""
    path = folder / FILE
    if not path.is_file():
        return no_study()
    study = validate(Study, path)
    if study.study != folder.name:
        raise UsageError(f"{path}: expected the study {folder.name!r}, as its folder is called, found {study.study!r}")
    return study


def project_root(start: Path) -> Path:
    """The folder that holds ``raw/`` and ``notebooks/``: `start` or one above it, else the one of this library."""
    for folder in (start, *start.parents, Path(__file__).parents[2]):
        if (folder / "notebooks").is_dir() and (folder / "raw").is_dir():
            return folder
    found = "with raw/ and notebooks/; found none above it; `glusterlab init DIR` makes one"
    raise DataError(f"expected {start} to lie in a glusterlab project, {found}")


def study_folder(study: str, raw: Path) -> Path:
    """``published/<study>`` of the project that we are in, else the one beside a campaign; there may be none."""
    try:
        TypeAdapter(StudyName).validate_python(study)
    except ValidationError as error:
        raise UsageError(f"expected the name of a study, such as rhgs-3.1, found {study!r}") from error
    beside = raw.absolute().parent / "published" / study
    try:
        folder = project_root(Path.cwd()) / "raw" / "published" / study
    except DataError:
        return beside
    return folder if folder.is_dir() or not beside.is_dir() else beside


def studies(published: Path) -> list[Path]:
    """The folders of all studies below ``raw/published``, by name."""
    return sorted(path.parent for path in published.glob(f"*/{FILE}"))


def studies_also_of(campaign: str, published: Path) -> list[Study]:
    """The studies that have a campaign of another one in their ``also``."""
    return [study for study in map(load_study, studies(published)) if campaign in study.also]
