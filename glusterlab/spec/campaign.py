"""The campaign: layouts, workloads and repeats of one matrix (``campaign.yaml``), and the cells that it makes."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Collection, Iterator
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import (
    BeforeValidator,
    Discriminator,
    Field,
    Tag,
    ValidationInfo,
    WithJsonSchema,
    field_validator,
    model_validator,
)

from glusterlab.spec.cell import (
    Access,
    Bricks,
    Caches,
    Cell,
    Event,
    EventKind,
    Feature,
    Layout,
    LayoutType,
    Mounts,
    RebalanceThrottle,
    parse_geometry,
)
from glusterlab.spec.cluster import REAL_HARDWARE, Cluster, ScaleModel
from glusterlab.spec.fields import (
    Axis,
    AxisSchema,
    Count,
    Duration,
    Label,
    LaterFields,
    Name,
    Rate,
    Share,
    Size,
    SpecModel,
    StudyName,
    Text,
    describe,
    kind_of,
    problem,
    suggest,
)

MAX_CELLS = 100_000
"""A matrix of more than this is a slip of the pen, not a campaign."""


MIN_FOR_INTERVAL = 3
"""Fewest repeats for which an interval is stated."""

RepeatCount = Annotated[int, Field(strict=True, ge=1, le=1000)]


def _geometry_text(value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, (str, int)):
        raise ValueError(f"expected a geometry such as '3x2' or '12x(4+2)', found {describe(value)}")
    return str(value).replace(" ", "")


def _option_text(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (int, float)):
        return str(value)
    if not isinstance(value, str) or not value or not value.isprintable():
        raise ValueError(f"expected a value or a list of values of a volume option, found {describe(value)}")
    return value


Geometry = Annotated[
    str,
    BeforeValidator(_geometry_text),
    WithJsonSchema({"type": ["string", "integer"], "examples": ["3x2", "12x(4+2)"]}),
]
OptionName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9._-]*$")]
_ONE_OR_MORE = BeforeValidator(lambda value: value if isinstance(value, (list, tuple)) else [value])
OptionValue = Annotated[str, BeforeValidator(_option_text), WithJsonSchema({"type": ["string", "number", "boolean"]})]


class HotSpec(SpecModel):
    """A hot tier before a layout's bricks, on releases of GlusterFS that have tiers (3.7 to 5)."""

    geometry: Geometry = Field(description="replicated, such as 3x2, or distributed, such as 6")
    backing: Label = Field(description="name of another backing of the cluster")

    @field_validator("geometry")
    @classmethod
    def _can_be_hot(cls, value: str) -> str:
        parse_geometry(cls._type(value), value)
        return value

    @staticmethod
    def _type(geometry: str) -> Literal["distribute", "replicate"]:
        return "replicate" if "x" in geometry else "distribute"

    @property
    def bricks(self) -> Bricks:
        """The tier's bricks."""
        type_ = self._type(self.geometry)
        return Bricks(type=type_, **parse_geometry(type_, self.geometry), backing=self.backing)


class LayoutSpec(SpecModel):
    """One entry of ``layouts``: each list in it multiplies the layouts."""

    name: Annotated[Label, Field(max_length=40, description="a label for figures; lists add what varies to it")]
    type: LayoutType
    geometry: Axis[Geometry] = Field(
        description="subvolumes x copies, such as 3x2, or subvolumes x (data + redundancy), 12x(4+2)"
    )
    backing: Axis[Label] = Field(description="name of a backing of the cluster")
    options: dict[OptionName, Axis[OptionValue]] = Field(default={}, description="volume options; on and off are text")
    hot: HotSpec | None = Field(default=None, description="a hot tier before these bricks; not an axis")
    bricks_per_server: Count = Field(
        default=1, description="so many bricks of one subvolume may lie on one server, such as 2 for 8+4 on six servers"
    )
    features: Annotated[tuple[Feature, ...], _ONE_OR_MORE, AxisSchema()] | None = Field(
        default=None,
        description="bitrot: files are signed and scrubbed, as lazily as the volume's default; quota: usage is counted "
        "and held against a limit that is never reached; all of the list at a time: not an axis",
    )

    @model_validator(mode="after")
    def _geometry_fits(self) -> LayoutSpec:
        for n, text in enumerate(self.geometry):
            try:
                parse_geometry(self.type, text)
            except ValueError as error:
                raise problem(str(error), "geometry", n) from None
        return self


class EventSpec(SpecModel):
    """What happens to the pool while a workload runs; each throttle makes cells of its own."""

    do: EventKind = Field(
        description="rebalance: bricks are added to the volume, and its files spread over all; reset-brick: the first "
        "brick loses all that it has, as with a new disk, and is healed"
    )
    to: Geometry | None = Field(
        default=None, description="of a rebalance: geometry that the volume grows to, 3x2 of a layout that is 2x2"
    )
    throttle: Axis[RebalanceThrottle] | None = Field(
        default=None, description="of a rebalance: how hard gluster goes about it, cluster.rebal-throttle; normal"
    )
    at: Duration | None = Field(
        default=None,
        description="how long after the workload's begin; without it the event begins first, and has to last longer",
    )

    @property
    def each(self) -> tuple[Event, ...]:
        """The events of the cells, one for each throttle."""
        throttles = self.throttle or ("normal",)
        return tuple(Event(do=self.do, to=self.to, throttle=each, at_s=self.at) for each in throttles)

    @model_validator(mode="after")
    def _fits(self) -> EventSpec:
        if self.do == "rebalance" and self.to is None:
            raise problem("expected the geometry that the volume grows to", "to")
        for name in ("to", "throttle"):
            if self.do != "rebalance" and getattr(self, name) is not None:
                raise problem(f"only a rebalance has '{name}', and this is a {self.do}: leave it out", name)
        return self


class WorkloadSpec(SpecModel):
    """One entry of ``workloads``: each list in it, except ``options``, is an axis."""

    tool: Axis[Label]
    operations: Axis[Label]
    file_size: Axis[Size] = Field(
        description="size of each file as it is written here (B, kB, MB, GB or KiB, MiB, GiB)"
    )
    stands_for: Annotated[tuple[Size, ...], _ONE_OR_MORE, AxisSchema()] | None = Field(
        default=None, description="size that a scaled file stands for: one for each file_size"
    )
    length: Annotated[float, Field(gt=0, le=1000, allow_inf_nan=False)] = Field(
        default=1.0,
        description="how long files are against what stands_for and the scale ask for: 0.5 is half; not an axis",
    )
    record_size: Axis[Size] | None = Field(default=None, description="bytes of one call of the tool")
    files_per_worker: Axis[Count] | None = None
    model: Axis[Label] | None = Field(default=None, description="a scale model of the cluster; only on a testbed")
    workers: Axis[Count] | None = Field(default=None, description="instead of the campaign's workers")
    runtime: Axis[Duration] | None = Field(default=None, description="how long, instead of until the files are done")
    mounts: Axis[Mounts] | None = Field(
        default=None, description="mounts of the volume on each client, over which its workers are spread: 1 by default"
    )
    clients: Axis[Count] | None = Field(
        default=None, description="how many of the cluster's clients workers run on, the first ones: all by default"
    )
    caches: Axis[Caches] | None = Field(
        default=None, description="dropped before a sample, or hot by a pass that is not measured: cold by default"
    )
    event: EventSpec | None = Field(
        default=None, description="what happens to the pool meanwhile, on a volume that is made for each sample"
    )
    rate: Axis[Rate] | None = Field(
        default=None, description="of each stream, as it is run here: a scaled one stands for rate x scale"
    )
    options: tuple[Annotated[str, Field(min_length=1, max_length=400)], ...] = Field(
        default=(), description="further arguments of the tool, as they are; not an axis"
    )

    @model_validator(mode="after")
    def _sizes_pair(self) -> WorkloadSpec:
        expected, found = len(self.file_size), len(self.stands_for or self.file_size)
        if found != expected:
            raise problem(f"expected a size for each of the {expected} file sizes, found {found}", "stands_for")
        return self


class Where(SpecModel):
    """What an exclusion is about: every key that is set must match; a list matches any of its values."""

    layout: Axis[Label] | None = None
    type: Axis[LayoutType] | None = None
    geometry: Axis[Geometry] | None = None
    backing: Axis[Label] | None = None
    access: Axis[Access] | None = None
    tool: Axis[Label] | None = None
    operation: Axis[Label] | None = None
    file_size: Axis[Size] | None = None
    record_size: Axis[Size] | None = None
    files_per_worker: Axis[Count] | None = None
    workers: Axis[Count] | None = None
    mounts: Axis[Mounts] | None = None
    clients: Axis[Count] | None = None
    caches: Axis[Caches] | None = None
    event: Axis[EventKind] | None = None
    model: Axis[Label] | None = None

    @model_validator(mode="after")
    def _not_all(self) -> Where:
        if all(getattr(self, key) is None for key in type(self).model_fields):
            raise ValueError("expected at least one key, such as layout or workers: an empty one excludes everything")
        return self


class Exclusion(SpecModel):
    """A combination that is left out, and why."""

    where: Where
    reason: Annotated[str, Field(min_length=1, max_length=400)]


class Choice(SpecModel):
    """Something that was chosen after a pilot run had been seen."""

    what: Annotated[str, Field(min_length=1, max_length=400)]
    why: Annotated[str, Field(min_length=1, max_length=1000)]
    when: Annotated[str, Field(min_length=1, max_length=100, description="a date, or after which run")]


class Repeats(SpecModel):
    """Bounds of the repeats of a cell, and the precision at which it ends between them."""

    min: RepeatCount = Field(default=3, description="valid repeats of a cell at least, unless it runs out of attempts")
    max: RepeatCount = Field(description="repeats of a cell at most")
    half_width: Share = Field(
        description="a cell ends when the half-width of its mean's 95 % interval is at most this share of the mean"
    )

    @property
    def least(self) -> int:
        """Valid repeats that a cell has before it can end."""
        return max(self.min, MIN_FOR_INTERVAL)

    @model_validator(mode="after")
    def _bounds_fit(self) -> Repeats:
        if self.max < self.least:
            why = "min" if self.least == self.min else "an interval needs as many"
            raise problem(f"expected at least {self.least} ({why}), found {self.max}", "max")
        return self


RepeatsRule = Annotated[
    Annotated[Repeats, Tag("<mapping>")] | Annotated[RepeatCount, Tag("<plain>")], Discriminator(kind_of)
]


def most_of(rule: Repeats | int) -> int:
    """Repeats of a cell at most."""
    return rule.max if isinstance(rule, Repeats) else rule


class OwnRepeats(SpecModel):
    """Repeats of some cells, such as those that decide claims."""

    where: Where
    repeats: RepeatsRule


class BaselineSpec(SpecModel):
    """What a baseline measures of disks, arrays and links: how long, or how much."""

    seconds: Duration = Field(default=20.0, description="of one measurement, at the rates that the cluster file states")
    file_size: Size | None = Field(default=None, description="of each IOzone file, instead of what these rates make")
    disks: Annotated[bool, Field(strict=True, description="measure disks and arrays")] = True
    network: Annotated[bool, Field(strict=True, description="measure the links between all hosts")] = True

    @model_validator(mode="after")
    def _something(self) -> BaselineSpec:
        if not self.disks and not self.network:
            raise ValueError("expected disks or network, or both, found neither")
        return self


class Campaign(LaterFields):
    """One matrix, to be executed on one cluster, as ``campaign.yaml`` describes it."""

    later = frozenset({"warmup", "notebooks", "repeats_for"})

    schema_version: Literal[1]
    name: Annotated[Name, Field(description="folder of the campaign below raw/")]
    origin: Literal["imported", "baseline"] | None = Field(
        default=None,
        description="imported: made by `glusterlab import`; it cannot be run. baseline: made by `glusterlab check "
        "--baseline`; what runs follows from 'baseline' and the cluster, the lists only say what there is",
    )
    study: Annotated[StudyName, Field(description="whose experiments these are: a folder below raw/published")] = "none"
    title: Text | None = None
    description: Text | None = None
    seed: Annotated[int, Field(strict=True, ge=0, lt=2**63, description="of the order in which cells run")]
    repeats: RepeatsRule = Field(
        default=3, description="of each cell: a number, or bounds and the precision at which it ends"
    )
    repeats_for: tuple[OwnRepeats, ...] = Field(default=(), description="instead of 'repeats'; the first that fits")
    warmup: Annotated[int, Field(strict=True, ge=0, le=100)] = Field(
        default=0,
        description="rounds of warm-up samples before the first repeat, which are marked and never counted or drawn",
    )
    attempts: Annotated[int, Field(strict=True, ge=1, le=20, description="executions of one repeat at most")] = 2
    layouts: tuple[LayoutSpec, ...] = Field(min_length=1)
    access: Axis[Access] = ("native",)
    workloads: tuple[WorkloadSpec, ...] = Field(min_length=1)
    workers: Axis[Count] = Field(description="workers in total, over all clients")
    deadline: Duration = Field(default=1200.0, description="of one workload command")
    exclude: tuple[Exclusion, ...] = ()
    chosen_after: tuple[Choice, ...] = Field(
        default=(), description="what was chosen after seeing runs: timeouts, scales, file counts, excluded cells"
    )
    baseline: BaselineSpec | None = Field(default=None, description="only where origin is baseline")
    notebooks: Annotated[tuple[Name, ...], Field(min_length=1)] | None = Field(
        default=None,
        description="those that `glusterlab reproduce` runs on it, such as 80-releases; by default all of them",
    )

    @property
    def half_width(self) -> float | None:
        """The widest share of the mean at which cells end; None where all have a number of repeats."""
        rules = (self.repeats, *(own.repeats for own in self.repeats_for))
        return max((rule.half_width for rule in rules if isinstance(rule, Repeats)), default=None)

    @field_validator("layouts")
    @classmethod
    def _names_differ(cls, layouts: tuple[LayoutSpec, ...]) -> tuple[LayoutSpec, ...]:
        for n, layout in enumerate(layouts):
            if layout.name in {other.name for other in layouts[:n]}:
                raise problem(f"expected a name of its own, found {layout.name!r} twice", n, "name")
        return layouts

    @model_validator(mode="after")
    def _vocabulary(self, info: ValidationInfo) -> Campaign:
        if (self.origin == "baseline") != (self.baseline is not None):
            raise problem("expected origin baseline and the key 'baseline' together, found one of them", "baseline")
        # nothing is multiplied out of an imported campaign or a baseline: its lists only say what there is
        if self.origin is None:
            self._check_what_can_run()
            if (check := (info.context or {}).get("check")) is not None:
                check(self)
        known = {
            "tool": {tool for workload in self.workloads for tool in workload.tool},
            "operation": {operation for workload in self.workloads for operation in workload.operations},
            "backing": {backing for layout in self.layouts for backing in layout.backing},
            "model": {model for workload in self.workloads for model in workload.model or ()},
            "layout": {name for family, layout in expand_layouts(self) for name in (family, layout.name)},
        }
        for n, exclusion in enumerate(self.exclude):
            for key, values in known.items():
                for value in getattr(exclusion.where, key) or ():
                    if value not in values:
                        raise problem(unknown(key, value, values), "exclude", n, "where", key)
        return self

    def _check_what_can_run(self) -> None:
        for n, layout in enumerate(self.layouts):
            if layout.type == "other" and "existing" not in self.access:
                what = "expected distribute, replicate or disperse, found 'other', which only access 'existing' has"
                raise problem(what, "layouts", n, "type")
            if layout.type == "other" and (layout.options or layout.hot or layout.features):
                key = "options" if layout.options else "hot" if layout.hot else "features"
                raise problem("expected none: the suite makes no volume of type 'other'", "layouts", n, key)
        layouts = (math.prod(map(len, (spec.geometry, spec.backing, *spec.options.values()))) for spec in self.layouts)
        workloads = (math.prod(map(len, _axes(self, spec).values())) for spec in self.workloads)
        # before duplicates are merged and exclusions taken out
        if (count := sum(layouts) * sum(workloads)) > MAX_CELLS:
            raise ValueError(f"expected at most {MAX_CELLS:,} cells, found a matrix of {count:,}")


def unknown(kind: str, value: str, known: Collection[str]) -> str:
    """What is wrong with a value that is none of the known ones."""
    return f"unknown {kind} {value!r}" + (suggest(value, sorted(known)) or f": there is no {kind} in this campaign")


def expand_layouts(campaign: Campaign) -> list[tuple[str, Layout]]:
    """Layouts with the lists in them multiplied out, each after the name of its entry in the file.

    What varies within an entry is part of the layout's own name: ``mirror-6x2``, ``mirror-6x2-lookup-optimize-on``.
    """
    layouts: list[tuple[str, Layout]] = []
    for spec in campaign.layouts:
        names = sorted(spec.options)
        axes = (spec.geometry, spec.backing, *(spec.options[name] for name in names))
        for geometry, backing, *values in itertools.product(*axes):
            options = tuple(zip(names, values, strict=True))
            texts = (geometry, backing, *(f"{name.rpartition('.')[2]}-{value}" for name, value in options))
            varying = [text for text, axis in zip(texts, axes, strict=True) if len(axis) > 1]
            label = re.sub(r"[^A-Za-z0-9_-]+", "-", "-".join([spec.name, *varying])).strip("-")[:60].rstrip("-")
            numbers = parse_geometry(spec.type, geometry)
            hot = None if spec.hot is None else spec.hot.bricks
            more: dict[str, Any] = {**numbers, "hot": hot, "bricks_per_server": spec.bricks_per_server}
            more["features"] = tuple(sorted(set(spec.features or ())))
            layout = Layout(name=label, type=spec.type, backing=backing, options=options, **more)
            layouts.append((spec.name, layout))
    return layouts


def _axes(campaign: Campaign, spec: WorkloadSpec) -> dict[str, tuple[Any, ...]]:
    """The axes of a workload by the fields of a cell, but for its two sizes and its model, in the matrix's order."""
    return {
        "access": campaign.access,
        "tool": spec.tool,
        "operation": spec.operations,
        "sizes": tuple(zip(spec.file_size, spec.stands_for or spec.file_size, strict=True)),
        "record_size_bytes": spec.record_size or (None,),
        "files_per_worker": spec.files_per_worker or (1,),
        "model": spec.model or (None,),
        "workers": spec.workers or campaign.workers,
        "runtime_s": spec.runtime or (None,),
        "mounts": spec.mounts or (1,),
        "rate_bytes_per_s": spec.rate or (None,),
        "clients": spec.clients or (None,),
        "caches": spec.caches or ("cold",),
        "event": spec.event.each if spec.event is not None else (None,),
    }


class Expanded(NamedTuple):
    """A cell with the reason of the exclusion that leaves it out, its length, and its repeats."""

    cell: Cell
    exclusion: str | None
    length: float
    repeats: Repeats | int


def expand(campaign: Campaign, cluster: Cluster | None = None) -> list[Expanded]:
    """Cells in the order of the file, each once.

    Without a cluster, which gives the scale models their scale, every scale is 1, and ids are not those of a run.
    """
    found: dict[str, Expanded] = {}
    for family, layout in expand_layouts(campaign):
        for spec in campaign.workloads:
            for cell in _cells(campaign, layout, spec, cluster):
                reasons = (each.reason for each in campaign.exclude if matches(each.where, family, cell))
                own = (each.repeats for each in campaign.repeats_for if matches(each.where, family, cell))
                expanded = Expanded(cell, next(reasons, None), spec.length, next(own, campaign.repeats))
                found.setdefault(cell.id, expanded)
    return list(found.values())


def _cells(campaign: Campaign, layout: Layout, spec: WorkloadSpec, cluster: Cluster | None) -> Iterator[Cell]:
    axes = _axes(campaign, spec)
    for values in itertools.product(*axes.values()):
        facts = dict(zip(axes, values, strict=True))
        size, stands_for = facts.pop("sizes")
        model = _scale_model(facts.pop("model"), cluster)
        sizes = {"file_size_bytes": size, "nominal_file_size_bytes": stands_for}
        yield Cell(layout=layout, model=model, options=spec.options, **sizes, **facts)


def _scale_model(name: str | None, cluster: Cluster | None) -> ScaleModel:
    known = cluster is not None and name in cluster.scale_models
    return REAL_HARDWARE if name is None else cluster.scale_model(name) if cluster and known else ScaleModel(name=name)


def matches(where: Where, family: str, cell: Cell) -> bool:
    """Whether every key that is set has the cell's value; ``layout`` may name the layout or, as `family`, its entry."""
    layout = cell.layout
    values: dict[str, set[object]] = {
        "layout": {family, layout.name},
        "type": {layout.type},
        "geometry": {layout.geometry},
        "backing": {layout.backing},
        "access": {cell.access},
        "tool": {cell.tool},
        "operation": {cell.operation},
        "file_size": {cell.file_size_bytes, cell.nominal_file_size_bytes},
        "record_size": {cell.record_size_bytes},
        "files_per_worker": {cell.files_per_worker},
        "workers": {cell.workers},
        "mounts": {cell.mounts},
        "clients": {cell.clients},
        "caches": {cell.caches},
        "event": set() if cell.event is None else {cell.event.do},
        "model": {cell.model.name},
    }
    return all(wanted is None or values[key] & set(wanted) for key, wanted in where)
