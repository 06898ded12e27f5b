"""What a study states: every number, ratio and order of it as data (``claims.yaml``), each with its place in it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple, Self

from pydantic import BeforeValidator, Field, ValidationInfo, model_validator

from glusterlab.errors import UsageError
from glusterlab.spec.cell import RebalanceThrottle
from glusterlab.spec.fields import Axis, Duration, Name, Size, SpecModel, StudyName, Text, describe, problem, suggest
from glusterlab.spec.formula import Formulas, Operation
from glusterlab.spec.studies import Label, StudyLayout, load_study
from glusterlab.spec.yaml import validate

MAX_COMPARISONS = 1000  # that one claim makes: its lists multiply
FILE = "claims.yaml"

Kind = Literal["value", "ratio", "ordering", "equality", "arithmetic", "fact"]
"""What a claim states: a number of one group of cells, a ratio of two, which of two is more, that two are alike, a
number that follows from others of the study, or something that no benchmark measures (a part, a setting, a rule)."""

RELATIONS: Mapping[Kind, tuple[str, ...]] = {
    "value": ("equals", "about", "over", "between"),
    "ratio": ("equals", "nearly", "over", "up to", "between", "about"),
    "ordering": ("more", "slightly more", "notably more", "far more", "no less", "no more"),
    "equality": ("same", "similar"),
    "arithmetic": ("equals", "over", "under"),
    "fact": ("is",),
}
"""The words that each kind of claim knows; `verdicts.band_of` says what they are in numbers."""

NEEDS: Mapping[str, str] = {
    "nfs": "needs access over NFS",
    "two releases": "needs the same cells on release 3.1.3 and on 3.2",
    "tiering": "needs volume tiering, which GlusterFS has had until release 5 only",
    "spec sfs": "needs the SPEC SFS 2014 VDA benchmark",
    "cache": "needs the cache of a RAID controller",
    "prices": "needs prices, and the study states none",
    "telemetry": "decided by telemetry, and the campaign has none that decides it",
    "baseline": "a baseline tells it, not a campaign's samples; on a scale model it would be circular",
    "pool size": "speaks of pools of another size",
    "failure": "needs disks or servers that fail",
    "bricks": "needs what each brick is asked for, which a campaign does not record",
    "growth": "needs a pool that grows or shrinks while it is used",
    "other systems": "needs another storage system to compare with",
    "product": "is a property of a product",
    "method": "is a choice of the study, nothing to measure",
    "support": "is a rule of support",
}
"""Conditions of a test, and why a claim with one cannot be tested where it is not met."""

if TYPE_CHECKING:
    Relation = str
    Need = str
else:
    Relation = Literal[tuple(dict.fromkeys(word for words in RELATIONS.values() for word in words))]
    Need = Literal[tuple(NEEDS)]

Per = Literal["disk", "server", "volume"]
SUFFIXES: Mapping[Per, str] = {"disk": " per disk", "server": " per server", "volume": ""}
Quantity = Literal[
    "throughput",
    "files",
    "operations",
    "streams",
    "latency",
    "event",
    "elapsed",
    "hot bytes",
    "hot requests",
    "busiest brick",
]


class Measure(NamedTuple):
    """A column of the samples table; `unit` is its own, and those of published values with their size in SI units.

    `scaled`: whether it is times the scale what it stands for.
    """

    column: str
    unit: str
    units: Mapping[str, float]
    rate: bool = True
    scaled: bool = True


def _rate(column: str, unit: str, factor: float = 1.0, *, scaled: bool = True) -> Measure:
    return Measure(column, unit, {f"{unit}{suffix}": factor for suffix in SUFFIXES.values()}, scaled=scaled)


QUANTITIES: Mapping[Quantity, Measure] = {
    "throughput": _rate("throughput_bytes_per_s", "MB/s", 1e6),
    "files": _rate("files_per_s", "files/s"),
    "operations": _rate("operations_per_s", "IOPS"),
    "streams": _rate("streams_held", "streams", scaled=False),
    "latency": Measure("latency_mean_s", "ms", {"ms": 1e-3}, rate=False, scaled=False),
    "event": Measure("event_s", "s", {"s": 1.0}, rate=False, scaled=False),
    "elapsed": Measure("elapsed_s", "s", {"s": 1.0, "min": 60.0}, rate=False, scaled=False),
    "hot bytes": Measure("hot_written_fraction", "of the bytes", {"of the bytes": 1.0}, scaled=False),
    "hot requests": Measure("hot_requests_fraction", "of the requests", {"of the requests": 1.0}, scaled=False),
    "busiest brick": Measure("busiest_brick_ratio", "times the mean", {"times the mean": 1.0}, False, False),
}
"""What cells are held against; the higher is the better of a `rate`."""

UNITS: Mapping[str, Quantity] = {unit: name for name, measure in QUANTITIES.items() for unit in measure.units}

Number = Annotated[float, Field(strict=True, gt=-1e18, lt=1e18)]


def _number_or_text(value: object) -> float | str | None:
    if isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < 1e18:
        return float(value)
    if value is None or (isinstance(value, str) and 0 < len(value) <= 200):
        return value
    raise ValueError(f"expected a number or a short text, found {describe(value)}")


Stated = Annotated[float | str | None, BeforeValidator(_number_or_text)]
Workers = Annotated[int, Field(strict=True, ge=1, le=10**6)]
Words = Annotated[str, Field(min_length=1, max_length=200)]
Sentence = Annotated[str, Field(min_length=1, max_length=1000)]


class Cells(SpecModel):
    """Selectors of cells; a list is several, and what is left out is any or the claim's own; of workers, the best.

    All but layout and size match what is equal in the samples table, and access ``nfs`` is ``nfs3``, too, which
    is ``served_by`` ``gnfs`` or ``ganesha.nfsd``.
    ``options``: all those of the volume, as ``name=value; name=value``, and "" for none; ``release``: of GlusterFS;
    ``hot``: geometry of the hot tier, and none where it is left out; so are ``features``, ``bitrot; quota`` for both,
    and ``event``, ``rebalance`` (by any ``event_throttle`` where that is left out) or ``reset-brick``.
    """

    layout: Axis[Name] | None = None
    access: Axis[Name] | None = None
    served_by: Axis[Literal["gnfs", "ganesha.nfsd", "smbd"]] | None = None
    tool: Axis[Name] | None = None
    operation: Axis[Name] | None = None
    size: Axis[Size] | None = None
    workers: Axis[Workers] | None = None
    mounts: Axis[Workers] | None = None
    caches: Axis[Name] | None = None
    event: Axis[Annotated[str, Field(max_length=20)]] | None = None
    event_throttle: Axis[RebalanceThrottle] | None = None
    features: Axis[Annotated[str, Field(max_length=40)]] | None = None
    record_size: Axis[Size] | None = None
    clients: Axis[Workers] | None = None
    runtime: Axis[Duration] | None = None
    files_per_worker: Axis[Workers] | None = None
    options: Axis[Annotated[str, Field(max_length=1000)]] | None = None
    hot: Axis[Annotated[str, Field(max_length=20)]] | None = None
    release: Axis[Annotated[str, Field(min_length=1, max_length=60)]] | None = None


class Pair(SpecModel):
    """A ratio of two groups of cells; ``either_way``: it and the claim's are taken the way round that is 1 or more."""

    of: Cells
    to: Cells
    either_way: Annotated[bool, Field(strict=True)] = False


class Published(SpecModel):
    """What the study states: ``value`` (to ``high``) in ``unit``, 1.82 for 82 % more; ``words``: its own, a few."""

    relation: Relation
    value: Stated = None
    high: Number | None = None
    unit: Annotated[str, Field(max_length=40)] = ""
    words: Words


class TelemetryRule(SpecModel):
    """How telemetry answers a claim, by the curves of the study that its ``study.yaml`` names.

    ``full``, ``free``: one of the subsystems (left out: any) is full where the curve ends, or none of them anywhere
    (a curve that ends below ``workers`` does not say that it is not);
    ``cpu-level``: CPUs are busy to ``value``; ``cpu-even``: whatever the workers; ``busier``: than in curves ``than``.
    """

    rule: Literal["full", "free", "little-memory", "cpu-level", "cpu-even", "busier"]
    curves: Name
    than: Name | None = None
    direction: Literal["write", "read", ""] = ""
    subsystems: Axis[Annotated[str, Field(min_length=1, max_length=30)]] = ()
    value: Annotated[float, Field(strict=True, gt=0, le=1)] | None = None
    workers: Annotated[int, Field(strict=True, ge=1)] | None = None

    @model_validator(mode="after")
    def _has_its_own(self) -> Self:
        for key, rule in (("than", "busier"), ("value", "cpu-level"), ("subsystems", "full")):
            if self.rule == rule and not getattr(self, key):
                raise problem(f"expected '{key}' for the rule {rule}", "rule")
        return self


class Contradiction(SpecModel):
    """Another claim of the same study that does not fit together with this one, and why."""

    claim: Name
    why: Sentence


class Claim(SpecModel):
    """One thing that the study states; a ``paraphrase`` is never its sentence, ``reading`` how it is read where open.

    Each value of a list in ``cells`` is a case of its own; in ``of`` and ``to``, what is compared, a list is several
    alternatives within a case; with ``against`` that ratio is compared to the ratio of a pair. ``quantity``: by default
    that of a value's unit, else files for smallfile, else throughput; ``per``: what rates of a ratio are divided by.
    Each ``formula`` has to give the published number; ``tolerance``: factor up to which a number counts as that,
    instead of the rule's own.
    """

    id: Name
    section: Sentence
    figure: Axis[Label] = ()
    paraphrase: Sentence
    reading: Annotated[str, Field(max_length=1000)] = ""
    kind: Kind
    published: Published
    cells: Cells | None = None
    of: Cells | None = None
    to: Cells | None = None
    against: Pair | None = None
    quantifier: Literal["all", "most", "largest"] = "all"
    quantity: Quantity | None = None
    per: Per = "disk"
    formula: Formulas | None = None
    tolerance: Annotated[float, Field(strict=True, ge=1, le=10)] | None = None
    needs: Axis[Need] = ()
    telemetry: TelemetryRule | None = None
    contradicts: tuple[Contradiction, ...] = ()

    @property
    def chapter(self) -> str:
        """The first part of the section."""
        return self.section.split(" / ")[0]

    @property
    def unit(self) -> str:
        """Of what is measured: that of the published number, none of a ratio."""
        return self.published.unit if self.kind in ("value", "arithmetic") else ""

    @property
    def divisor(self) -> Per:
        """What its values are divided by: of a value as its unit says, else `per`; times and shares by nothing."""
        units = () if self.quantity is None else QUANTITIES[self.quantity].units
        if units and not any(unit.endswith(SUFFIXES["disk"]) for unit in units):
            return "volume"
        if self.kind != "value":
            return self.per
        return next(per for per, suffix in SUFFIXES.items() if self.published.unit.endswith(suffix))

    def selectors(self) -> Iterator[tuple[tuple[str, ...], Cells]]:
        """Each group of selectors with its place below the claim."""
        for name in ("cells", "of", "to"):
            if (found := getattr(self, name)) is not None:
                yield (name,), found
        if self.against is not None:
            yield ("against", "of"), self.against.of
            yield ("against", "to"), self.against.to

    def computed(self) -> list[float]:
        """What each formula comes to; nothing where there is none."""
        return [part.value() if isinstance(part, Operation) else part for part in self.formula or ()]

    @model_validator(mode="after")
    def _fits_its_kind(self) -> Self:
        for wrong, message, *at in (*self._number_rules(), *self._selector_rules()):
            if wrong:
                raise problem(message, *at)
        return self

    def _number_rules(self) -> Iterator[tuple[bool, str, *tuple[str, ...]]]:
        """Whether something is wrong, what, and where, of the published number and its formula."""
        published, kind = self.published, self.kind
        words, value = RELATIONS[kind], published.value
        of_kind = f"expected for a claim of kind {kind}"
        relation = f"{of_kind} one of {', '.join(words)}, found {describe(published.relation)}"
        yield published.relation not in words, relation, "published", "relation"
        if kind == "fact":
            yield value is None, f"{of_kind} the value that is stated", "published", "value"
        else:
            wanted = kind in ("value", "ratio", "arithmetic")
            expected = "a number" if wanted else "no value: its relation says all"
            number = isinstance(value, float)
            yield wanted != number, f"{of_kind} {expected}, found {describe(value)}", "published", "value"
            least = {"value": 0.0, "ratio": 1.0}.get(kind, -math.inf)
            found = f"expected a {kind} above {least:g}, found {describe(value)}"
            hint = ": 1.82 is 82 % more, else turn 'of' and 'to' round" if kind == "ratio" else ""
            yield isinstance(value, float) and not value > least, found + hint, "published", "value"
            between = "expected 'high' for the relation between, and for no other"
            yield (published.high is not None) != (published.relation == "between"), between, "published", "high"
            if published.high is not None and isinstance(value, float):
                yield published.high <= value, f"expected more than {value:g}", "published", "high"
            unit = f"expected one of {', '.join(UNITS)} where cells are named, found {describe(published.unit)}"
            measured = kind == "value" and self.cells is not None
            yield measured and published.unit not in UNITS, unit, "published", "unit"
            quantity = f"expected {UNITS.get(published.unit)} for a value in {published.unit}, or none"
            other = measured and self.quantity not in (None, UNITS.get(published.unit))
            yield other, quantity, "quantity"
        formula = "expected a formula for a claim of kind arithmetic, and for no other"
        yield (self.formula is not None) != (kind == "arithmetic"), formula, "formula"
        try:
            finite = all(math.isfinite(value) for value in self.computed())
        except (ZeroDivisionError, OverflowError):
            finite = False
        yield not finite, "expected a formula that comes to a number: it divides by 0, or overflows", "formula"

    def _selector_rules(self) -> Iterator[tuple[bool, str, *tuple[str, ...]]]:
        """Whether something is wrong, what, and where, of what is compared and what that needs."""
        kind, needs = self.kind, self.needs
        compared = self.of is not None or self.to is not None or self.against is not None
        alone = (self.of is None) != (self.to is None) or (self.against is not None and self.of is None)
        yield alone, "expected 'of' and 'to' together, and 'against' only with them", "of"
        single = kind in ("value", "arithmetic", "fact")
        yield single and compared, f"a claim of kind {kind} compares nothing: expected no 'of' and 'to'", "of"
        no_cells = kind in ("arithmetic", "fact") and self.cells is not None
        yield no_cells, f"a claim of kind {kind} has no cells", "cells"
        largest = self.published.relation == "up to" and compared and self.quantifier != "largest"
        yield largest, "'up to' speaks of the largest: expected 'quantifier: largest'", "quantifier"
        count = 1
        for at, cells in self.selectors():
            lengths = [len(values) for values in cells.model_dump(exclude_none=True).values()]
            several = at[0] == "against" and max(lengths, default=1) > 1
            yield several, "expected one value of each here: a list is for 'cells', 'of' and 'to'", *at
            count *= math.prod(lengths)
        many = f"expected at most {MAX_COMPARISONS:,} comparisons, found lists that make {count:,}"
        yield count > MAX_COMPARISONS, many, "cells"
        fact = "expected for a claim of kind fact what it needs: nothing here measures it"
        yield kind == "fact" and not needs, fact, "needs"
        missing = f"expected for a claim of kind {kind} what it compares ('of', 'to') or needs"
        yield not single and self.of is None and not needs, missing, "of"
        telemetry = "expected 'needs: telemetry' for a claim that telemetry answers"
        yield self.telemetry is not None and "telemetry" not in needs, telemetry, "telemetry"
        missing = "expected for a claim of kind value its cells, or what it needs"
        yield kind == "value" and self.cells is None and not needs, missing, "cells"


class Claims(SpecModel):
    """What one study states: ``claims.yaml``, with the layouts and roles of servers of its ``study.yaml``."""

    schema_version: Literal[1]
    study: StudyName
    called: str = "the study"
    document: Text
    layouts: dict[Name, StudyLayout] = Field(default_factory=dict)
    servers: tuple[Name, ...] = ()
    claims: Annotated[tuple[Claim, ...], Field(min_length=1)]

    @model_validator(mode="before")
    @classmethod
    def _with_study(cls, data: object, info: ValidationInfo) -> object:
        if not isinstance(data, dict) or not isinstance(data.get("layouts", {}), dict) or not info.context:
            return data
        study = load_study(info.context["folder"])
        layouts = {**study.layouts, **data.get("layouts", {})}
        return data | {"layouts": layouts, "servers": tuple(study.servers), "called": study.called}

    @model_validator(mode="after")
    def _names_are_known(self, info: ValidationInfo) -> Self:
        known = {"layout": list(self.layouts), **(info.context or {}).get("vocabulary", {})}
        places: dict[str, int] = {}
        for n, claim in enumerate(self.claims):
            if claim.id in places:
                raise problem(f"expected each id once, found {claim.id!r} twice", "claims", n, "id")
            places[claim.id] = n
            for at, cells in claim.selectors():
                for key, names in known.items():
                    for m, name in enumerate(getattr(cells, key) or ()):
                        if name not in names:
                            message = f"unknown {key} {name!r}{suggest(name, list(names))}"
                            raise problem(message, "claims", n, *at, key, m)
        for n, claim in enumerate(self.claims):
            for m, other in enumerate(claim.contradicts):
                place: tuple[str | int, ...] = ("claims", n, "contradicts", m, "claim")
                if other.claim not in places:
                    near = suggest(other.claim, list(places), listed=False)
                    raise problem(f"unknown claim {other.claim!r}{near}", *place)
                if other.claim == claim.id:
                    raise problem("a claim cannot contradict itself: make two of it", *place)
        return self

    def by_id(self, wanted: str) -> Claim:
        """The claim of an id; raises `UsageError` when there is none."""
        for claim in self.claims:
            if claim.id == wanted:
                return claim
        near = suggest(wanted, [claim.id for claim in self.claims], listed=False)
        raise UsageError(f"no claim {wanted!r} of {self.study}{near}")

    def contradictions(self) -> list[tuple[Claim, Claim, str]]:
        """Pairs of claims that contradict each other, each pair once, with the sentence that says how."""
        claims = {claim.id: claim for claim in self.claims}
        return [(claim, claims[other.claim], other.why) for claim in self.claims for other in claim.contradicts]


def no_claims() -> Claims:
    """Those of no study."""
    return Claims.model_construct(schema_version=1, study="none", document="", layouts={}, servers=(), claims=())


def published_file(folder: Path, study: str) -> Path:
    """Where the claims of a study are below ``raw/published``; raises `UsageError` when that study has none."""
    path = folder / study / FILE
    if not path.is_file():
        known = sorted(place.parent.name for place in folder.glob(f"*/{FILE}"))
        none = "there are none of any study; `glusterlab init DIR` makes a lab with them"
        have = f"those of {', '.join(known)} are there" if known else none
        near = suggest(study, known, listed=False)
        raise UsageError(f"expected the claims of study {study!r} in {path}, found no such file; {have}{near}")
    return path


def load_claims(path: str | Path, vocabulary: Mapping[str, Sequence[str]] | None = None) -> Claims:
    """The claims that a ``claims.yaml`` holds; `vocabulary` has the names that selectors may hold, by the selector."""
    return validate(Claims, path, vocabulary=vocabulary or {})
