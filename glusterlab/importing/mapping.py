"""The mapping: which part of the matrix each file of a folder is (``mapping.yaml``), and its patterns over paths."""

import re
import zoneinfo
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self, get_args

from pydantic import BeforeValidator, Field, GetJsonSchemaHandler, TypeAdapter, ValidationError, model_validator
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from glusterlab.errors import UsageError
from glusterlab.spec.campaign import Geometry, OptionName, OptionValue
from glusterlab.spec.cell import Access, Layout, LayoutType, parse_geometry
from glusterlab.spec.cluster import HOST_FORM, LocalPath, Role
from glusterlab.spec.fields import AxisSchema, Count, Label, Size, SpecModel, StudyName, Text, problem, suggest
from glusterlab.spec.yaml import first_problem, validate
from glusterlab.tools import readers
from glusterlab.tools.records import Operation

FIELDS = (  # what a path can say of a result
    *("layout", "access", "tool", "operation", "workers", "file_size", "record_size", "files_per_worker"),
    *("host", "job", "run", "repeat", "gluster_version", "options"),
)

TELEMETRY_FIELDS = (*FIELDS, "role")

NUMBERS = frozenset({"workers", "files_per_worker", "run", "repeat"})

_TOKEN = re.compile(r"\{(?P<field>[^{}]*)\}|(?P<folders>\*\*/)|(?P<any>\*)|(?P<text>[^{}*]+)|(?P<stray>[{}])")


@dataclass(frozen=True)
class Pattern:
    """A pattern over paths: text, ``{field}``, ``*`` within a name, ``**/`` for any folders; `tokens` by their kind.

    It is no regular expression, which may take for ever on a hostile path.
    """

    text: str
    tokens: tuple[tuple[str, str], ...]

    @classmethod
    def parse(cls, text: str, fields: tuple[str, ...] = TELEMETRY_FIELDS) -> Self:
        """Read a pattern; `ValueError` when a field is unknown, stands twice or cannot be told from its neighbour."""
        _below(text)
        tokens: list[tuple[str, str]] = []
        for match in _TOKEN.finditer(text):
            kind, value = str(match.lastgroup), match["field"] or match[0]
            if kind == "stray":
                raise ValueError(f"expected fields such as {{workers}}, found a single {value!r} in {text!r}")
            if kind == "field" and value not in fields:
                raise ValueError(f"unknown field {{{value}}}" + suggest(value, list(fields)))
            if kind == "field" and (kind, value) in tokens:
                raise ValueError(f"expected each field once, found {{{value}}} twice in {text!r}")
            if kind in ("field", "any") and tokens and tokens[-1][0] in ("field", "any"):
                message = f"expected text between two fields, which tells where one ends, found none in {text!r}"
                raise ValueError(message)
            tokens.append((kind, value))
        return cls(text, tuple(tokens))

    @property
    def fields(self) -> tuple[str, ...]:
        return tuple(value for kind, value in self.tokens if kind == "field")

    def match(self, path: str, accepts: Callable[[str, str], bool]) -> dict[str, str] | None:
        """What a path says, by field, or None; of several readings the one with the shortest first fields counts.

        >>> Pattern.parse("{layout}-{operation}.txt").match("ec-4-read.txt", lambda field, text: text != "ec")
        {'layout': 'ec-4', 'operation': 'read'}
        """

        @cache  # so that each place is tried once, whatever the path looks like
        def read(n: int, start: int) -> dict[str, str] | None:
            if n == len(self.tokens):
                return {} if start == len(path) else None
            kind, value = self.tokens[n]
            for end in _ends(kind, value, path, start):
                fits = kind != "field" or accepts(value, path[start:end])
                if fits and (rest := read(n + 1, end)) is not None:
                    return {value: path[start:end], **rest} if kind == "field" else rest
            return None

        return read(0, 0)


def _ends(kind: str, value: str, path: str, start: int) -> range | list[int]:
    if kind == "text":
        return [start + len(value)] if path.startswith(value, start) else []
    if kind == "folders":
        return [start, *(n + 1 for n in range(start, len(path)) if path[n] == "/")]
    slash = path.find("/", start)
    return range(start + (kind == "field"), (len(path) if slash < 0 else slash) + 1)


def _known(kind: str, choices: Callable[[], Sequence[str]]) -> BeforeValidator:
    def check(value: object) -> object:
        if isinstance(value, str) and value not in choices():
            raise ValueError(f"unknown {kind} {value!r}" + suggest(value, list(choices())))
        return value

    return BeforeValidator(check)


def _below(value: object) -> object:
    if isinstance(value, str) and any(part in ("", ".", "..") for part in value.split("/")):
        raise ValueError(f"expected a path below the imported folder, such as '{{layout}}/*.txt', found {value!r}")
    return value


def _zone(value: object) -> object:
    if isinstance(value, str) and value not in zoneinfo.available_timezones():
        raise ValueError(f"expected a time zone such as Europe/Berlin or UTC, found {value!r}")
    return value


ToolName = Annotated[str, _known("tool", readers)]
OperationName = Annotated[str, _known("operation", lambda: get_args(Operation))]
PathBelow = Annotated[str, BeforeValidator(_below)]
LayoutName = Annotated[str, Field(min_length=1, max_length=60)]
Zone = Annotated[str, BeforeValidator(_zone)]
ImportedHost = Annotated[str, Field(pattern=HOST_FORM, max_length=253)]
Version = Annotated[str, Field(pattern=r"^[0-9A-Za-z][0-9A-Za-z.+~_-]*$", max_length=60)]

_UNFIT_FOR_LABELS = re.compile(r"[^A-Za-z0-9_-]+")
_LAYOUT_NAME = re.compile(
    r"(distribute|replicate|disperse)-(\d+)(?:x(?:(\d+)|\(?(\d+\+\d+)\)?))?(?:-([A-Za-z0-9_-]+))?"
)


def _entry(value: object) -> object:
    return {"pattern": value} if isinstance(value, str) else value


class _OrText:
    """Says in the JSON Schema that a pattern may stand without its keys."""

    def __get_pydantic_json_schema__(self, core: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return {"anyOf": [{"type": "string"}, handler(core)]}


class Facts(SpecModel):
    """What can be said of results; what is left out is read from the file itself."""

    layout: LayoutName | None = Field(default=None, description="a key of layouts")
    access: Access | None = Field(default=None, description="how clients reached the volume")
    tool: ToolName | None = None
    workers: Count | None = Field(default=None, description="in total, over all clients")
    file_size: Size | None = None
    record_size: Size | None = None
    files_per_worker: Count | None = None
    gluster_version: Version | None = Field(default=None, description="in quotes, such as '10.3'")
    options: tuple[Annotated[str, Field(min_length=1, max_length=400)], ...] | None = Field(
        default=None, description="whatever else tells these results from others: they become a cell of their own"
    )
    accept_unjudged: Annotated[bool, Field(strict=True)] | None = Field(
        default=None, description="count results as valid whose file does not hold what a judgement needs"
    )


class _Entry(Facts):
    """Facts, which files they are about, and which results of these."""

    pattern_fields: ClassVar[tuple[str, ...]] = FIELDS

    operation: OperationName | None = Field(default=None, description="only the file's results of this operation")
    host: ImportedHost | None = Field(default=None, description="only the file's results of this host")
    job: Annotated[str, Field(min_length=1, max_length=200)] | None = Field(
        default=None, description="only the results of the job that the tool calls so"
    )
    run: Count | None = Field(default=None, description="only the file's n-th run")
    repeat: Count | None = Field(default=None, description="of its cell; default: in the order of the paths")
    pattern: PathBelow | None = None
    file: PathBelow | None = None

    @model_validator(mode="after")
    def _says_each_once(self) -> Self:
        if (self.pattern is None) == (self.file is None):
            raise ValueError("expected either a pattern or a file")
        for name in () if self.pattern is None else Pattern.parse(self.pattern, self.pattern_fields).fields:
            if getattr(self, name) is not None:
                raise problem(f"the pattern says it already by {{{name}}}: leave one of the two out", name)
        return self

    def facts(self) -> dict[str, Any]:
        names = (*FIELDS, "accept_unjudged", "role", "timezone")
        return {name: value for name in names if (value := getattr(self, name, None)) is not None}


class Results(_Entry):
    """Files whose results belong to the matrix."""


class TelemetryFiles(_Entry):
    """Output of sar or sadf: it is kept with every sample that all the given keys fit."""

    pattern_fields: ClassVar[tuple[str, ...]] = TELEMETRY_FIELDS

    role: Role | None = Field(default=None, description="of the host; default: server, or as servers and clients say")
    timezone: Zone | None = Field(default=None, description="of sar's local times; default: the mapping's")

    @model_validator(mode="after")
    def _has_a_host(self) -> Self:
        if self.host is None and (self.pattern is None or "{host}" not in self.pattern):
            raise ValueError("whose telemetry is it? Say host, or write {host} into the pattern")
        return self


class GlusterFiles(_Entry):
    """Output of gluster (volume info, status, profile): it is kept with every sample that all the given keys fit."""

    volume: Annotated[str, Field(min_length=1, max_length=255)] | None = Field(
        default=None, description="which volume of the file the layout is; default: its only one, or that of its name"
    )


Entry = Results | TelemetryFiles | GlusterFiles


class LayoutFacts(SpecModel):
    """What a layout is. Type and geometry may be left to a ``volume info`` that is mapped under ``gluster``."""

    type: LayoutType | None = Field(default=None, description="other: no GlusterFS volume")
    geometry: Geometry | None = Field(default=None, description="such as 3x2 or 12x(4+2); other has none")
    backing: Label = Field(description="what the bricks lie on, such as raid6, jbod, nvme; or the other file system")
    disks: Count | None = Field(
        default=None, description="all disks under it, the divisor of 'per disk'; without it there are no such figures"
    )
    options: dict[OptionName, OptionValue] = Field(default={}, description="volume options that tell it from others")

    @model_validator(mode="after")
    def _geometry_fits(self) -> Self:
        volume = self.type not in (None, "other")
        if not volume and self.geometry not in (None, "1"):
            raise problem(f"expected a type that has a geometry, found {self.geometry!r} without one", "geometry")
        if volume and self.geometry is None:
            raise problem(f"expected the geometry of a {self.type} volume, such as 3x2 or 12x(4+2)", "geometry")
        if self.type is not None:
            try:
                parse_geometry(self.type, self.geometry or "1")
            except ValueError as error:
                raise problem(str(error), "geometry") from None
        return self

    def resolve(self, name: str, volume: tuple[LayoutType, str] | None = None) -> Layout:
        """The layout; type and geometry are those of its volume where the mapping says none.

        Raises `ValueError` when neither says what it is, or the two contradict each other.
        """
        stated = None if self.type is None else (self.type, self.geometry or "1")
        if (known := stated or volume) is None:
            raise ValueError(f"layout {name!r} has no type: say type and geometry, or map a volume info of it")
        numbers = parse_geometry(*known)
        if volume is not None and (volume[0], parse_geometry(*volume)) != (known[0], numbers):
            by = f"{' '.join(known)} by the mapping, and {' '.join(volume)} by its volume info"
            raise ValueError(f"layout {name!r} is {by}")
        options = tuple(sorted(self.options.items()))
        given: dict[str, Any] = {**numbers, "backing": self.backing, "options": options}
        return Layout(name=label(name), type=known[0], **given)


def label(name: str) -> str:
    """A name as a label: letters, digits, dashes and underscores."""
    return _UNFIT_FOR_LABELS.sub("-", name)[:40].strip("-_") or "layout"


def layout_of_name(name: str) -> LayoutFacts:
    """What a layout's name alone says: ``disperse-12x4+2-jbod`` is a volume, any other name another file system."""
    if (match := _LAYOUT_NAME.fullmatch(name)) is not None:
        copies = f"x{match[3]}" if match[3] else f"x({match[4]})" if match[4] else ""
        data = {"type": match[1], "geometry": match[2] + copies, "backing": label(match[5] or "unknown")}
        with suppress(ValidationError):  # a name that only looks like a layout
            return LayoutFacts.model_validate(data)
    return LayoutFacts(type="other", backing=label(name))


class Mapping(SpecModel):
    """Which part of the matrix each file of a folder is, as ``mapping.yaml`` describes it."""

    schema_version: Literal[1]
    title: Text | None = None
    description: Text | None = None
    study: StudyName = Field(default="none", description="whose experiments these are: a folder below raw/published")
    layouts: dict[LayoutName, LayoutFacts] = Field(
        default={}, description="what the layouts are, by the names that paths and entries use"
    )
    defaults: Facts = Field(default=Facts(), description="for what neither path, entry nor file says")
    aliases: dict[str, dict[str, str]] = Field(
        default={}, description="other words in paths, by field: {operation: {seqwrite: write}, file_size: {4g: 4 GiB}}"
    )
    patterns: Annotated[
        tuple[Annotated[Results, BeforeValidator(_entry), _OrText()], ...],
        BeforeValidator(lambda value: [value] if isinstance(value, (str, dict)) else value),
        AxisSchema(),
    ] = Field(default=(), description="files with results; the first pattern that fits a path counts")
    files: tuple[Results, ...] = Field(default=(), description="single files with results; they go before patterns")
    telemetry: tuple[Annotated[TelemetryFiles, BeforeValidator(_entry), _OrText()], ...] = ()
    gluster: tuple[Annotated[GlusterFiles, BeforeValidator(_entry), _OrText()], ...] = ()
    servers: tuple[ImportedHost, ...] = Field(default=(), description="names, where they are known")
    clients: tuple[ImportedHost, ...] = Field(default=(), description="names, where they are known")
    cluster: LocalPath | None = Field(default=None, description="a cluster.yaml of these hosts, for limits in figures")
    timezone: Zone | None = Field(default=None, description="of sar's text, which has local times")

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        for field, words in self.aliases.items():
            if field not in TELEMETRY_FIELDS:
                raise problem(f"unknown field {field!r}" + suggest(field, list(TELEMETRY_FIELDS)), "aliases", field)
            for word, value in words.items():
                try:
                    self.read_field(field, value)
                except ValueError as error:
                    raise problem(str(error), "aliases", field, word) from None
        named: list[tuple[str | None, tuple[str | int, ...]]] = [(self.defaults.layout, ("defaults",))]
        for kind in ("patterns", "files", "telemetry", "gluster"):
            named += [(entry.layout, (kind, n)) for n, entry in enumerate(getattr(self, kind))]
        for layout, place in named:
            if layout is not None:
                try:
                    self.layout_facts(layout)
                except ValueError as error:
                    raise problem(str(error), *place, "layout") from None
        if shared := sorted({*self.servers} & {*self.clients}):
            raise problem(f"expected each host either as server or as client, found {shared[0]!r} as both", "clients")
        return self

    def layout_facts(self, name: str) -> LayoutFacts:
        """What a layout is, by its name where the mapping describes none; `ValueError` when it describes others."""
        if name in self.layouts:
            return self.layouts[name]
        if self.layouts:
            raise ValueError(f"unknown layout {name!r}" + suggest(name, list(self.layouts)))
        return layout_of_name(name)

    def read_field(self, field: str, text: str) -> Any:
        """The value of a field of a path; `ValueError` when the text is none."""
        word = self.aliases.get(field, {}).get(text, text)
        if field == "options":
            return (word,)
        whole = word.isascii() and word.isdecimal() and len(word) < 19
        try:
            found = _adapter(field).validate_python(int(word) if field in NUMBERS and whole else word)
        except ValidationError as error:
            message = first_problem(error, TelemetryFiles)[1]
            raise ValueError(message if field in message else f"{field}: {message}") from None
        if field == "layout":
            self.layout_facts(found)
        return found

    def accepts(self, field: str, text: str) -> bool:
        with suppress(ValueError):
            self.read_field(field, text)
            return True
        return False


@lru_cache
def _adapter(field: str) -> TypeAdapter[Any]:
    annotation: Any = TelemetryFiles.model_fields[field].annotation
    return TypeAdapter(annotation)


def load_mapping(path: Path | None, patterns: tuple[str, ...], defaults: dict[str, str]) -> Mapping:
    """The mapping of a file, with the patterns and defaults of the command line, which go before those of the file.

    Raises `SpecError` when the file is wrong, `UsageError` when the command line is, or nothing is mapped.
    """
    mapping = Mapping(schema_version=1) if path is None else validate(Mapping, path)
    try:
        added = tuple(Results(pattern=text) for text in patterns)
        values = {name: _default(mapping, name, text) for name, text in defaults.items()}
        facts = Facts.model_validate({**mapping.defaults.model_dump(exclude_unset=True), **values})
        data = {name: getattr(mapping, name) for name in mapping.model_fields_set}
        found = Mapping.model_validate({**data, "patterns": (*mapping.patterns, *added), "defaults": facts})
    except ValidationError as error:
        raise UsageError(f"--pattern or --default: {first_problem(error, Mapping)[1]}") from error
    if not found.patterns and not found.files:
        raise UsageError(
            "nothing is mapped: say which part of the matrix each file is, by --pattern"
            " '{layout}/{workers}w/{operation}.txt' or by --map mapping.yaml"
        )
    return found


def _default(mapping: Mapping, name: str, text: str) -> Any:
    if name not in Facts.model_fields:
        advice = (
            f": use {{{name}}} in the pattern or an entry" if name in FIELDS else suggest(name, [*Facts.model_fields])
        )
        raise UsageError(f"--default {name}: is no default{advice}")
    if name == "accept_unjudged" and text in ("true", "false"):
        return text == "true"
    try:
        return mapping.read_field(name, text)
    except ValueError as error:
        raise UsageError(f"--default {name}: {str(error).removeprefix(f'{name}: ')}") from error
