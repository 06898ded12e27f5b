"""The mapping: which part of the matrix each file of a folder is (``mapping.yaml``), and its patterns over paths."""

from __future__ import annotations

import re
import zoneinfo
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

from pydantic import BeforeValidator, Field, GetJsonSchemaHandler, TypeAdapter, ValidationError, model_validator
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from glusterlab.errors import UsageError
from glusterlab.spec.campaign import Geometry, OptionName, OptionValue
from glusterlab.spec.cell import Access, Layout, LayoutType, parse_geometry
from glusterlab.spec.cluster import HOST_FORM, LocalPath, Role
from glusterlab.spec.fields import AxisSchema, Count, Label, Name, Size, SpecModel, Text, describe, problem, suggest
from glusterlab.tools import readers
from glusterlab.tools.records import Operation

FIELDS = (
    *("layout", "access", "tool", "operation", "workers", "file_size", "record_size", "files_per_worker"),
    *("host", "job", "run", "repeat", "gluster_version", "options"),
)
"""What a path can say of a result."""

TELEMETRY_FIELDS = (*FIELDS, "role")

NUMBERS = frozenset({"workers", "files_per_worker", "run", "repeat"})

Accepts = Callable[[str, str], bool]
"""Whether a text can be the value of a field."""

_TOKEN = re.compile(r"\{(?P<field>[^{}]*)\}|(?P<folders>\*\*/)|(?P<any>\*)|(?P<text>[^{}*]+)|(?P<stray>[{}])")


@dataclass(frozen=True)
class _Token:
    kind: Literal["text", "field", "any", "folders"]
    value: str


@dataclass(frozen=True)
class Pattern:
    """A pattern as it was written, and what it is made of."""

    text: str
    _tokens: tuple[_Token, ...]

    @classmethod
    def parse(cls, text: str, fields: tuple[str, ...] = TELEMETRY_FIELDS) -> Pattern:
        """Read a pattern.

        Raises `ValueError` when a field is unknown, stands twice or cannot be told from its neighbour, or the path
        leaves its folder.

        Examples
        --------
        >>> Pattern.parse("{layout}/{workers}w/{operation}.txt").fields
        ('layout', 'workers', 'operation')
        """
        parts = text.split("/")
        if text.startswith("/") or any(part in ("", ".", "..") for part in parts):
            raise ValueError(f"expected a path below the imported folder, such as '{{layout}}/*.txt', found {text!r}")
        tokens: list[_Token] = []
        for match in _TOKEN.finditer(text):
            kind, value = str(match.lastgroup), match[0]
            if kind == "stray":
                raise ValueError(f"expected fields such as {{workers}}, found a single {value!r} in {text!r}")
            if kind == "field":
                value = match["field"]
                if value not in fields:
                    raise ValueError(f"unknown field {{{value}}}" + suggest(value, list(fields)))
                if value in {token.value for token in tokens if token.kind == "field"}:
                    raise ValueError(f"expected each field once, found {{{value}}} twice in {text!r}")
            if kind in ("field", "any") and tokens and tokens[-1].kind in ("field", "any"):
                raise ValueError(
                    f"expected text between two fields, which tells where one ends, found none in {text!r}"
                )
            tokens.append(_Token(kind, value))  # type: ignore[arg-type]
        return cls(text, tuple(tokens))

    @property
    def fields(self) -> tuple[str, ...]:
        """The fields in it, in their order."""
        return tuple(token.value for token in self._tokens if token.kind == "field")

    def match(self, path: str, accepts: Accepts) -> dict[str, str] | None:
        """What a path says, or None when it is not of this pattern.

        `path`: below the imported folder, with ``/`` between its parts. `accepts`: called with a field and a text. Of
        several readings the one with the shortest first fields counts.

        Examples
        --------
        >>> Pattern.parse("{layout}-{operation}.txt").match("ec-4-read.txt", lambda field, text: text != "ec")
        {'layout': 'ec-4', 'operation': 'read'}
        """
        found: dict[str, str] = {}
        # places from which the rest did not fit: each is tried once, whatever the path looks like
        failed: set[tuple[int, int]] = set()

        def fits(n: int, start: int) -> bool:
            if n == len(self._tokens):
                return start == len(path)
            if (n, start) in failed:
                return False
            token = self._tokens[n]
            for end in _ends(token, path, start):
                fit = token.kind != "field" or accepts(token.value, path[start:end])
                if fit and fits(n + 1, end):
                    if token.kind == "field":
                        found[token.value] = path[start:end]
                    return True
            failed.add((n, start))
            return False

        return {name: found[name] for name in self.fields} if fits(0, 0) else None


def _ends(token: _Token, path: str, start: int) -> range | list[int]:
    """Where a token that begins at `start` may end."""
    if token.kind == "text":
        return [start + len(token.value)] if path.startswith(token.value, start) else []
    if token.kind == "folders":
        return [start, *(n + 1 for n in range(start, len(path)) if path[n] == "/")]
    slash = path.find("/", start)
    last = len(path) if slash < 0 else slash
    return range(start + (token.kind == "field"), last + 1)


OPERATIONS: tuple[str, ...] = get_args(Operation)


def _operation(value: object) -> object:
    if isinstance(value, str) and value not in OPERATIONS:
        raise ValueError(f"unknown operation {value!r}" + suggest(value, list(OPERATIONS)))
    return value


def _tool(value: object) -> object:
    if isinstance(value, str) and value not in readers():
        raise ValueError(f"unknown tool {value!r}" + suggest(value, readers()))
    return value


def _pattern(value: object) -> object:
    if isinstance(value, str):
        Pattern.parse(value)
    return value


def _source(value: object) -> object:
    if isinstance(value, str) and (value.startswith("/") or any(part in ("", ".", "..") for part in value.split("/"))):
        raise ValueError(f"expected a path below the imported folder, found {value!r}")
    return value


def _zone(value: object) -> object:
    if isinstance(value, str) and value not in zoneinfo.available_timezones():
        raise ValueError(f"expected a time zone such as Europe/Berlin or UTC, found {value!r}")
    return value


ToolName = Annotated[str, BeforeValidator(_tool)]
OperationName = Annotated[str, BeforeValidator(_operation)]
PatternText = Annotated[str, BeforeValidator(_pattern)]
SourceName = Annotated[str, BeforeValidator(_source)]
Zone = Annotated[str, BeforeValidator(_zone)]
ImportedHost = Annotated[str, Field(pattern=HOST_FORM, max_length=253)]
Version = Annotated[str, Field(pattern=r"^[0-9A-Za-z][0-9A-Za-z.+~_-]*$", max_length=60)]

ACCESSES: tuple[str, ...] = get_args(Access)

_UNFIT_FOR_LABELS = re.compile(r"[^A-Za-z0-9_-]+")
_SPOKEN_LAYOUT = re.compile(r"(distribute|replicate|disperse)-(\d+(?:x(?:\d+|\(?\d+\+\d+\)?))?)(?:-([A-Za-z0-9_-]+))?")


def _entry(value: object) -> object:
    return {"pattern": value} if isinstance(value, str) else value


def _entries(value: object) -> object:
    return [value] if isinstance(value, (str, dict)) else value


class _OrText:
    """Says in the JSON Schema that a pattern may stand without its keys."""

    def __get_pydantic_json_schema__(self, core: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return {"anyOf": [{"type": "string"}, handler(core)]}


class Facts(SpecModel):
    """What can be said of results; what is left out is read from the file itself."""

    layout: Annotated[str, Field(min_length=1, max_length=60)] | None = Field(
        default=None, description="a key of layouts"
    )
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


class Selection(Facts):
    """Facts, and which results of a file they are about."""

    operation: OperationName | None = Field(default=None, description="only the file's results of this operation")
    host: ImportedHost | None = Field(default=None, description="only the file's results of this host")
    job: Annotated[str, Field(min_length=1, max_length=200)] | None = Field(
        default=None, description="only the results of the job that the tool calls so"
    )
    run: Count | None = Field(default=None, description="only the file's n-th run")
    repeat: Count | None = Field(default=None, description="of its cell; default: in the order of the paths")

    def said(self) -> dict[str, Any]:
        """The keys that were given, and their values."""
        return {name: getattr(self, name) for name in (*FIELDS, "accept_unjudged") if getattr(self, name) is not None}


class _Placed(Selection):
    pattern: PatternText | None = None
    file: SourceName | None = None

    @model_validator(mode="after")
    def _says_each_once(self) -> _Placed:
        if (self.pattern is None) == (self.file is None):
            raise ValueError("expected either a pattern or a file")
        if self.pattern is not None:
            for name in Pattern.parse(self.pattern, self.fields()).fields:
                if getattr(self, name) is not None:
                    raise problem(f"the pattern says it already by {{{name}}}: leave one of the two out", name)
        return self

    @classmethod
    def fields(cls) -> tuple[str, ...]:
        """Fields that its patterns may have."""
        return FIELDS

    @property
    def place(self) -> str:
        """The pattern or the file, for messages."""
        return str(self.pattern or self.file)


class Results(_Placed):
    """Files whose results belong to the matrix."""


class TelemetryFiles(_Placed):
    """Output of sar or sadf: it is kept with every sample that all the given keys fit."""

    role: Role | None = Field(default=None, description="of the host; default: server, or as servers and clients say")
    timezone: Zone | None = Field(default=None, description="of sar's local times; default: the mapping's")

    @classmethod
    def fields(cls) -> tuple[str, ...]:
        """Fields that its patterns may have."""
        return TELEMETRY_FIELDS

    @model_validator(mode="after")
    def _has_a_host(self) -> TelemetryFiles:
        if self.host is None and (self.pattern is None or "{host}" not in self.pattern):
            raise ValueError("whose telemetry is it? Say host, or write {host} into the pattern")
        return self


class GlusterFiles(_Placed):
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
    def _geometry_fits(self) -> LayoutFacts:
        if self.type in (None, "other") and self.geometry is not None and self.geometry != "1":
            raise problem(f"expected a type that has a geometry, found {self.geometry!r} without one", "geometry")
        if self.type not in (None, "other") and self.geometry is None:
            raise problem(f"expected the geometry of a {self.type} volume, such as 3x2 or 12x(4+2)", "geometry")
        if self.type is not None:
            try:
                parse_geometry(self.type, self.geometry or "1")
            except ValueError as error:
                raise problem(str(error), "geometry") from None
        return self

    def resolve(self, name: str, volume: tuple[LayoutType, str] | None = None) -> Layout:
        """The layout, with the type and geometry of a volume where the mapping says none.

        Raises `ValueError` when neither says what it is, or the two contradict each other.
        """
        kind, geometry = self.type, self.geometry or "1"
        if kind is None:
            if volume is None:
                raise ValueError(f"layout {name!r} has no type: say type and geometry, or map a volume info of it")
            kind, geometry = volume
        elif volume is not None and (kind, parse_geometry(kind, geometry)) != (
            volume[0],
            parse_geometry(volume[0], volume[1]),
        ):
            raise ValueError(
                f"layout {name!r} is {kind} {geometry} by the mapping, and {volume[0]} {volume[1]} by its volume info"
            )
        return Layout(
            name=label(name),
            type=kind,
            **parse_geometry(kind, geometry),
            backing=self.backing,
            options=tuple(sorted(self.options.items())),
        )


def label(name: str) -> str:
    """A name as a label: letters, digits, dashes and underscores.

    Examples
    --------
    >>> label("ec 12x(4+2)")
    'ec-12x-4-2'
    """
    return _UNFIT_FOR_LABELS.sub("-", name)[:40].strip("-_") or "layout"


def layout_of_name(name: str) -> LayoutFacts:
    """What a layout's name alone says, where no mapping describes it.

    Examples
    --------
    >>> found = layout_of_name("disperse-12x4+2-jbod")
    >>> found.type, found.geometry, found.backing
    ('disperse', '12x(4+2)', 'jbod')
    >>> found = layout_of_name("gpfs")
    >>> found.type, found.geometry, found.backing
    ('other', None, 'gpfs')
    """
    match = _SPOKEN_LAYOUT.fullmatch(name)
    if match is not None:
        geometry = re.sub(r"x\(?(\d+\+\d+)\)?$", r"x(\1)", match[2])
        try:
            return LayoutFacts.model_validate(
                {"type": match[1], "geometry": geometry, "backing": label(match[3] or "unknown")}
            )
        except ValidationError:
            pass  # a name that only looks like a layout
    return LayoutFacts(type="other", backing=label(name))


class Mapping(SpecModel):
    """Which part of the matrix each file of a folder is, as ``mapping.yaml`` describes it."""

    schema_version: Literal[1]
    title: Text | None = None
    description: Text | None = None
    study: Name = Field(default="none", description="whose experiments these are: a folder below raw/published")
    layouts: dict[Annotated[str, Field(min_length=1, max_length=60)], LayoutFacts] = Field(
        default={}, description="what the layouts are, by the names that paths and entries use"
    )
    defaults: Facts = Field(default=Facts(), description="for what neither path, entry nor file says")
    aliases: dict[str, dict[str, str]] = Field(
        default={}, description="other words in paths, by field: {operation: {seqwrite: write}, file_size: {4g: 4 GiB}}"
    )
    patterns: Annotated[
        tuple[Annotated[Results, BeforeValidator(_entry), _OrText()], ...], BeforeValidator(_entries), AxisSchema()
    ] = Field(default=(), description="files with results; the first pattern that fits a path counts")
    files: tuple[Results, ...] = Field(default=(), description="single files with results; they go before patterns")
    telemetry: tuple[Annotated[TelemetryFiles, BeforeValidator(_entry), _OrText()], ...] = ()
    gluster: tuple[Annotated[GlusterFiles, BeforeValidator(_entry), _OrText()], ...] = ()
    servers: tuple[ImportedHost, ...] = Field(default=(), description="names, where they are known")
    clients: tuple[ImportedHost, ...] = Field(default=(), description="names, where they are known")
    cluster: LocalPath | None = Field(default=None, description="a cluster.yaml of these hosts, for limits in figures")
    timezone: Zone | None = Field(default=None, description="of sar's text, which has local times")

    @model_validator(mode="after")
    def _consistent(self) -> Mapping:
        for field, words in self.aliases.items():
            if field not in TELEMETRY_FIELDS:
                raise problem(f"unknown field {field!r}" + suggest(field, list(TELEMETRY_FIELDS)), "aliases", field)
            for word, value in words.items():
                try:
                    self.read_field(field, value)
                except ValueError as error:
                    raise problem(str(error), "aliases", field, word) from None
        labels: dict[str, str] = {}
        for name in self.layouts:
            other = labels.setdefault(label(name), name)
            if other != name:
                raise problem(
                    f"expected names that differ in letters and digits, found {other!r} and {name!r}", "layouts", name
                )
        for kind, n, entry in self._all_entries():
            if entry.layout is not None:
                self._known_layout(entry.layout, kind, n, "layout")
        if self.defaults.layout is not None:
            self._known_layout(self.defaults.layout, "defaults", "layout")
        shared = sorted({*self.servers} & {*self.clients})
        if shared:
            raise problem(f"expected each host either as server or as client, found {shared[0]!r} as both", "clients")
        return self

    def _all_entries(self) -> Iterator[tuple[str, int, Entry]]:
        for kind in ("patterns", "files", "telemetry", "gluster"):
            for n, entry in enumerate(getattr(self, kind)):
                yield kind, n, entry

    def _known_layout(self, name: str, *at: str | int) -> None:
        if self.layouts and name not in self.layouts:
            raise problem(f"unknown layout {name!r}" + suggest(name, list(self.layouts)), *at)

    def layout_facts(self, name: str) -> LayoutFacts:
        """What a layout is: by the mapping, or by its name where the mapping describes none.

        Raises `ValueError` when the mapping describes others only.
        """
        if name in self.layouts:
            return self.layouts[name]
        if self.layouts:
            raise ValueError(f"unknown layout {name!r}" + suggest(name, list(self.layouts)))
        return layout_of_name(name)

    def read_field(self, field: str, text: str) -> Any:
        """The value of a field of a path.

        Raises `ValueError` when the text is none.
        """
        word = self.aliases.get(field, {}).get(text, text)
        if field == "options":
            return (word,)
        value: Any = int(word) if field in NUMBERS and _whole(word) else word
        try:
            found = _adapter(field).validate_python(value)
        except ValidationError as error:
            raise ValueError(_sentence(error, field, word)) from None
        if field == "layout":
            self.layout_facts(found)
        return found

    def accepts(self, field: str, text: str) -> bool:
        """Whether a text of a path can be the value of a field."""
        try:
            self.read_field(field, text)
        except ValueError:
            return False
        return True


@lru_cache
def _adapter(field: str) -> TypeAdapter[Any]:
    """Reads one field as the models above do."""
    annotation: Any = TelemetryFiles.model_fields[field].annotation
    return TypeAdapter(annotation)


def _whole(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) < 19


def _sentence(error: ValidationError, field: str, word: str) -> str:
    details = error.errors(include_url=False)[0]
    kind = details["type"]
    if kind == "value_error":
        return str(details["ctx"]["error"])
    if kind == "literal_error":
        choices = [choice for choice in (*ACCESSES, *get_args(Role)) if repr(choice) in str(details["ctx"]["expected"])]
        return f"unknown {field} {word!r}" + suggest(word, choices)
    if kind in ("int_type", "int_parsing"):
        return f"expected a whole number for {field}, found {describe(word)}"
    return f"{field}: {details['msg'][:1].lower()}{details['msg'][1:]}, found {describe(word)}"


def load_mapping(path: Path | None, patterns: tuple[str, ...], defaults: dict[str, str]) -> Mapping:
    """The mapping of a file, with patterns and defaults of the command line added.

    `patterns`: they go after those of the file. `defaults`: they go before those of the file.

    Raises `SpecError` with file, line and key of what is wrong in the file. Raises `UsageError` when something of the
    command line is wrong, or nothing is mapped.
    """
    from glusterlab.spec.yaml import validate

    mapping = Mapping(schema_version=1) if path is None else validate(Mapping, path)
    data = {name: getattr(mapping, name) for name in mapping.model_fields_set}
    try:
        added = tuple(Results(pattern=text) for text in patterns)
        given = {name: _default(mapping, name, text) for name, text in defaults.items()}
        facts = Facts.model_validate({**mapping.defaults.model_dump(exclude_unset=True), **given})
        found = Mapping.model_validate({**data, "patterns": (*mapping.patterns, *added), "defaults": facts})
    except ValidationError as error:
        details = error.errors(include_url=False)[0]
        message = details.get("ctx", {}).get("error", details["msg"])
        raise UsageError(f"--pattern or --default: {message}") from error
    if not found.patterns and not found.files:
        raise UsageError(
            "nothing is mapped: say which part of the matrix each file is, by --pattern"
            " '{layout}/{workers}w/{operation}.txt' or by --map mapping.yaml"
        )
    return found


def _default(mapping: Mapping, name: str, text: str) -> Any:
    names = [field for field in Facts.model_fields if field != "accept_unjudged"]
    if name == "accept_unjudged":
        if text not in ("true", "false"):
            raise UsageError(f"--default accept_unjudged: expected true or false, found {text!r}")
        return text == "true"
    if name in FIELDS and name not in names:
        raise UsageError(f"--default {name}: is no default: use {{{name}}} in the pattern or an entry")
    if name not in names:
        raise UsageError(f"--default {name}: unknown field" + suggest(name, [*names, "accept_unjudged"]))
    try:
        return mapping.read_field(name, text)
    except ValueError as error:
        raise UsageError(f"--default {name}: {error}") from error
