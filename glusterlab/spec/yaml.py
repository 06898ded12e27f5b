"""Reads specification files, and names what is wrong in them by file, line and key."""

import io
import types
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails
from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.events import CollectionEndEvent, CollectionStartEvent
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode
from ruamel.yaml.reader import ReaderError

from glusterlab.errors import SpecError
from glusterlab.rawfile import open_raw
from glusterlab.spec.campaign import Campaign
from glusterlab.spec.cluster import Cluster
from glusterlab.spec.fields import KINDS, describe, nearest, suggest

SCHEMA_VERSION = 1
"""Version of the specification files that this release reads and writes."""

MAX_BYTES = 256 << 10
MAX_VALUES = 100_000
MAX_DEPTH = 40
_SHOWN_PROBLEMS = 10

Place = tuple[str | int, ...]
M = TypeVar("M", bound=BaseModel)


def load_cluster(path: str | Path) -> Cluster:
    """The cluster that a ``cluster.yaml`` describes; paths in it are relative to the file."""
    return validate(Cluster, path)


def load_campaign(path: str | Path, check: Callable[[Campaign], None] | None = None) -> Campaign:
    """The campaign that a ``campaign.yaml`` describes; `check` raises `fields.problem` for what else is wrong."""
    return validate(Campaign, path, check=check)


def validate(model: type[M], path: str | Path, **context: object) -> M:
    """Read a YAML file as a model that has a ``schema_version``; `context` is for its validators, beside ``folder``.

    Raises `SpecError`, which names all problems, one per line, in the order of the file.
    """
    path = Path(path)
    data, lines = load_yaml(path)
    if not isinstance(data, dict):
        raise SpecError(f"expected a mapping of keys, found {describe(data)}", file=path, line=1)
    _check_version(data.get("schema_version"), path, lines)
    try:
        return model.model_validate(data, context={"folder": path.absolute().parent, **context})
    except ValidationError as error:
        raise _translate(error, model, path, lines) from None


def _check_version(version: object, path: Path, lines: dict[Place, int]) -> None:
    if type(version) is int and version == SCHEMA_VERSION:
        return
    if type(version) is int and version > SCHEMA_VERSION:
        message = f"this file is of schema {version}, not {SCHEMA_VERSION}: install a newer glusterlab"
    else:
        found = "no such key" if ("schema_version",) not in lines else describe(version)
        message = f"expected the line 'schema_version: {SCHEMA_VERSION}', found {found}"
    raise SpecError(message, file=path, line=lines.get(("schema_version",), 1), key="schema_version")


def load_yaml(path: str | Path) -> tuple[Any, dict[Place, int]]:
    """Values of a plain YAML 1.2 file of at most 256 KiB, and the line of each, from 1, by its keys and indices.

    ``on``, ``off``, ``yes``, ``no`` and dates are text. `SpecError` refuses duplicate keys, tags, merge keys, and
    aliases that expand beyond 100,000 values.
    """
    path = Path(path)
    text = _read(path)
    try:
        node, yaml = _composed(text)
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = None if mark is None else mark.line + 1
        source = "" if line is None else "".join(text.split("\n")[line - 1 : line])
        message = f"this is not YAML: {'; '.join(part for part in (error.context, error.problem) if part)}"
        if "\t" in source[: len(source) - len(source.lstrip())] or "'\\t'" in str(error.problem):
            message = "expected spaces, found a tab: YAML is indented with spaces only"
        raise SpecError(message, file=path, line=line) from None
    except ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise SpecError("expected YAML, found a control character that YAML forbids", file=path, line=line) from None
    except (YAMLError, ValueError) as error:
        raise SpecError(f"expected YAML: {str(error).strip().partition(chr(10))[0]}", file=path) from None
    except RecursionError:
        raise SpecError("expected a specification, found one that is nested too deeply", file=path) from None
    if node is None:
        raise SpecError("expected a specification, found an empty file", file=path)
    reader = _NodeReader(path, yaml)
    return reader.value(node, ()), reader.lines


@lru_cache(maxsize=16)  # nearly all of the time goes here, and one file is read by many: nobody changes its nodes
def _composed(text: str) -> tuple[Node | None, YAML]:
    try:
        return _compose(text, YAML(typ="safe"))
    except YAMLError:
        # libyaml takes an eighth of the time, and knows less of YAML 1.2: 'address: fd00::1' between braces it refuses
        return _compose(text, YAML(typ="safe", pure=True))


def _compose(text: str, yaml: YAML) -> tuple[Node | None, YAML]:
    # libyaml's own composer ends the process where a file is nested too deeply
    depth = 0
    for event in yaml.parse(io.StringIO(text)):
        depth += isinstance(event, CollectionStartEvent) - isinstance(event, CollectionEndEvent)
        if depth > 2 * MAX_DEPTH:
            raise RecursionError
    return yaml.compose(io.StringIO(text)), yaml


def _read(path: Path) -> str:
    try:
        with open_raw(path) as file:
            content = file.read(MAX_BYTES + 1)
    except FileNotFoundError:
        near = suggest(path.name, [each.name for each in path.parent.glob("*.yaml")], listed=False)
        lab = "" if path.parent.is_dir() else "; `glusterlab init DIR` writes runbooks with campaigns"
        raise SpecError(f"expected a YAML file, found no such file{near}{lab}", file=path) from None
    except IsADirectoryError:
        likely = [name for name in ("campaign.yaml", "cluster.yaml") if (path / name).is_file()]
        advice = f": did you mean {path / likely[0]}?" if likely else ""
        raise SpecError(f"expected a YAML file, found a directory{advice}", file=path) from None
    except OSError as error:
        raise SpecError(f"cannot read this file: {error.strerror}", file=path) from None
    if len(content) > MAX_BYTES:
        raise SpecError("expected a specification of at most 256 KiB, found a larger file", file=path)
    if b"\0" in content:
        raise SpecError("expected a YAML file in UTF-8, found a binary file", file=path)
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        message = "expected text in UTF-8, found bytes that are not: save the file as UTF-8"
        raise SpecError(message, file=path, line=line) from None


class _NodeReader:
    """Turns composed nodes into plain values within bounds, and notes the line of each."""

    def __init__(self, path: Path, yaml: YAML) -> None:
        self.path = path
        self.lines: dict[Place, int] = {}
        self._scalars = yaml.constructor
        self._count = 0

    def error(self, message: str, node: Node, place: Place = ()) -> SpecError:
        return SpecError(message, file=self.path, line=node.start_mark.line + 1, key=key_text(place) or None)

    def value(self, node: Node, place: Place) -> Any:
        self._count += 1
        if self._count > MAX_VALUES:
            message = f"expected at most {MAX_VALUES:,} values, found more (do aliases repeat each other?)"
            raise self.error(message, node)
        if len(place) > MAX_DEPTH:
            raise self.error("expected a specification, found one that is nested too deeply", node)
        self.lines.setdefault(place, node.start_mark.line + 1)
        if isinstance(node, SequenceNode):
            self._plain_tag(node, place, "seq")
            return [self.value(item, (*place, n)) for n, item in enumerate(node.value)]
        return self._mapping(node, place) if isinstance(node, MappingNode) else self._scalar(node, place)

    def _plain_tag(self, node: Node, place: Place, *known: str) -> str:
        prefix, _, name = str(node.tag).rpartition(":")
        if prefix != "tag:yaml.org,2002" or name not in known:
            raise self.error(f"expected plain YAML, found the tag {node.tag}", node, place)
        return name

    def _mapping(self, node: Node, place: Place) -> dict[str, Any]:
        self._plain_tag(node, place, "map")
        found: dict[str, Any] = {}
        for key_node, value_node in node.value:
            if str(key_node.tag).endswith(":merge"):
                raise self.error("YAML 1.2 has no merge keys '<<': write the keys out", key_node, place)
            key = self._scalar(key_node, place) if isinstance(key_node, ScalarNode) else None
            if not isinstance(key, str):
                message = f"expected a key that is text, found {describe(key)}: put it in quotes"
                raise self.error(message, key_node, place)
            inner = (*place, key)
            if key in found:
                raise self.error(f"this key stands here twice, first on line {self.lines[inner]}", key_node, inner)
            self.lines[inner] = key_node.start_mark.line + 1
            found[key] = self.value(value_node, inner)
        return found

    def _scalar(self, node: Node, place: Place) -> Any:
        kind = self._plain_tag(node, place, "str", "int", "float", "bool", "null", "timestamp", "value")
        if kind not in ("null", "bool", "int", "float"):
            return node.value
        try:
            return getattr(self._scalars, f"construct_yaml_{kind}")(node)
        except ValueError:
            raise self.error(f"expected a number, found {describe(node.value)}", node, place) from None


def key_text(place: Place) -> str:
    """Dotted path of a key."""
    return ".".join(str(part) for part in place)


def _translate(error: ValidationError, model: type[BaseModel], path: Path, lines: dict[Place, int]) -> SpecError:
    problems: list[tuple[int, str, str]] = []
    found = error.errors(include_url=False)
    for details in found:
        details["loc"] = tuple(part for part in details["loc"] if part not in KINDS)
    for details in _without_echoes(found, model):
        place: Place = (*details["loc"], *details.get("ctx", {}).get("at", ()))
        # without what only the model knows of
        known = next(place[:n] for n in range(len(place), -1, -1) if place[:n] in lines or not n)
        place = place if details["type"] == "missing" else known
        entry = (lines.get(known, 1), key_text(place), _message(details, place, model))
        if entry not in problems:
            problems.append(entry)
    problems.sort(key=lambda entry: entry[0])
    line, key, message = problems[0]
    further = [str(SpecError(text, file=path, line=n, key=at or None)) for n, at, text in problems[1:_SHOWN_PROBLEMS]]
    if len(problems) > _SHOWN_PROBLEMS:
        further.append(f"{path}: and {len(problems) - _SHOWN_PROBLEMS} more like these")
    return SpecError("\n".join([message, *further]), file=path, line=line, key=key or None)


def first_problem(error: ValidationError, model: type[BaseModel]) -> tuple[str, str]:
    """The key of the first problem of a value that no file holds, such as an option's, and what is wrong."""
    details = error.errors(include_url=False)[0]
    place = tuple(part for part in details["loc"] if part not in KINDS)
    return key_text(place), _message(details, place, model)


def _without_echoes(found: list[ErrorDetails], model: type[BaseModel]) -> list[ErrorDetails]:
    """Errors without those that only follow from another: a mistyped key is also a missing one."""
    typos = {
        (*details["loc"][:-1], near)
        for details in found
        if details["type"] == "extra_forbidden"
        for near in nearest(str(details["loc"][-1]), _keys_at(model, details["loc"][:-1]))
    }
    inner = {details["loc"][:n] for details in found for n in range(len(details["loc"]))}
    return [
        details
        for details in found
        if not (details["type"] == "missing" and details["loc"] in typos)
        and not (details["type"] == "too_short" and details["loc"] in inner)
    ]


_EXPECTED = {
    "string": "text",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "tuple": "a list",
    "list": "a list",
    "dict": "a mapping of keys",
    "model": "a mapping of keys",
    "path": "a path",
}
"""By what pydantic's kinds of error begin with, before _type, _parsing and the like."""

_FORMS = {
    "missing": "this key is required",
    "value_error": "{error}",
    "string_pattern_mismatch": "expected text of the form {pattern}, found {found}",
    "greater_than_equal": "expected at least {ge:,.10g}, found {found}",
    "less_than_equal": "expected at most {le:,.10g}, found {found}",
    "greater_than": "expected more than {gt:,.10g}, found {found}",
    "less_than": "expected less than {lt:,.10g}, found {found}",
    "string_too_long": "expected at most {max_length} characters, found {length}",
    "too_short": "expected at least {min_length}, found {actual_length}",
    "finite_number": "expected a finite number, found {found}",
}
"""Messages by pydantic's kinds of error, with the keys of its context."""


def _message(details: ErrorDetails, place: Place, model: type[BaseModel]) -> str:
    kind, value, context = details["type"], details["input"], details.get("ctx", {})
    found = describe(value)
    if kind == "extra_forbidden":
        return "unknown key" + suggest(str(place[-1]), _keys_at(model, place[:-1]))
    if kind == "literal_error":
        choices = [str(choice).strip("'") for choice in str(context["expected"]).replace(" or ", ", ").split(", ")]
        near = suggest(str(value), choices, listed=False)
        return f"expected one of {', '.join(choices)}, found {found}{near}"
    if kind in _FORMS:
        return _FORMS[kind].format(**context, found=found, length=len(value) if isinstance(value, str) else 0)
    expected = _EXPECTED.get(kind.partition("_")[0])
    if expected is not None and kind.endswith(("_type", "_parsing", "_from_float")):
        quotes = ": put it in quotes" if kind == "string_type" and isinstance(value, (int, float)) else ""
        return f"expected {expected}, found {found}{quotes}"
    return details["msg"][:1].lower() + details["msg"][1:]


def _keys_at(model: type[BaseModel], place: Place) -> list[str]:
    """Keys of the model that validates what is at a place of the file."""
    current: Any = model
    for part in place:
        if isinstance(current, type) and issubclass(current, BaseModel):
            field = current.model_fields.get(str(part))
            current = field and field.annotation
        else:
            current = next((each for each in reversed(get_args(current)) if each is not ...), None)
        while get_origin(current) in (Annotated, Union, types.UnionType):
            current = next(each for each in get_args(current) if each is not type(None))
    return list(current.model_fields) if isinstance(current, type) and issubclass(current, BaseModel) else []


def dump_yaml(model: BaseModel) -> str:
    """A model as a YAML file that reads back as the same model; keys without a value are left out."""
    yaml = YAML(typ="safe", pure=True)
    yaml.default_flow_style = False
    yaml.sort_base_mapping_type_on_output = False  # type: ignore[assignment]
    yaml.width = 110
    stream = io.StringIO()
    yaml.dump(model.model_dump(mode="json", exclude_none=True), stream)
    return stream.getvalue()
