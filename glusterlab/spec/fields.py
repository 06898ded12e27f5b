"""Field types that the specification models share: sizes, rates, times, names, paths on hosts, and axes."""

import difflib
import math
import re
from collections.abc import Callable
from contextlib import suppress
from typing import Annotated, Any, ClassVar, TypeVar

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetJsonSchemaHandler,
    PlainSerializer,
    SerializerFunctionWrapHandler,
    model_serializer,
)
from pydantic.json_schema import JsonSchemaValue, WithJsonSchema
from pydantic_core import CoreSchema, PydanticCustomError

from glusterlab.units import format_size, parse_duration, parse_rate, parse_size

T = TypeVar("T")


class SpecModel(BaseModel):
    """Base of everything that is read from a specification: frozen, and unknown keys are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class LaterFields(SpecModel):
    """A model with fields that came later: left out where they have their default, so that ids are as before."""

    later: ClassVar[frozenset[str]] = frozenset()

    @model_serializer(mode="wrap")
    def _without_defaults_of_later_fields(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        found: dict[str, Any] = dump(self)
        fields = type(self).model_fields
        return {key: found[key] for key in found if key not in self.later or getattr(self, key) != fields[key].default}


def problem(message: str, *at: str | int) -> PydanticCustomError:
    """An error for a validator to raise; `at` are the keys and indices of what is wrong, below the validated value."""
    return PydanticCustomError("spec", "{message}", {"message": message, "at": at})


def describe(value: object) -> str:
    """A value from a YAML file, named as its writer knows it."""
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (int, float)):
        return f"the number {value}"
    if isinstance(value, str):
        return repr(value if len(value) <= 60 else value[:57] + "...")
    if isinstance(value, dict):
        return "a mapping of keys"
    return "a list"


def nearest(word: str, choices: list[str]) -> list[str]:
    """The choice that a word is likely to be a slip of, or nothing."""
    return difflib.get_close_matches(word, choices, n=1, cutoff=0.6)


def suggest(word: str, choices: list[str], *, listed: bool = True) -> str:
    """The end of a message about a mistyped word: the nearest choice, or all of them."""
    if near := nearest(word, choices):
        return f": did you mean {near[0]!r}?"
    return f": expected one of {', '.join(choices)}" if listed and choices else ""


def _unit(parse: Callable[[Any], float], example: str) -> BeforeValidator:
    def read(value: object) -> float:
        number = math.nan
        if not isinstance(value, bool) and isinstance(value, (str, int, float)):
            with suppress(OverflowError):
                number = parse(value)
        if not 0 < number < 1e18:
            raise ValueError(f"expected something like '{example}', found {describe(value)}")
        return number

    return BeforeValidator(read)


def format_rate(rate: float) -> str | float:
    """A rate as a specification writes it, exact: in Gbit/s or MB/s where that reads back as the same number."""
    for unit, factor in (("Gbit/s", 1e9 / 8), ("MB/s", 1e6)):
        text = f"{rate / factor:g} {unit}"
        if rate >= factor and (unit == "MB/s" or rate % factor == 0) and "e" not in text and parse_rate(text) == rate:
            return text
    return rate


def _duration_text(seconds: float) -> str | float:
    text = str(int(seconds) if seconds == int(seconds) else seconds)
    return seconds if "e" in text else f"{text} s"


UNIT_KEY = "x-unit"
"""Where a field type leaves the description of its unit for `schema.json_schema`."""


def _schema(kind: str, form: str, example: str, **bounds: float) -> WithJsonSchema:
    number = {"type": "number", "exclusiveMinimum": 0, **bounds}
    return WithJsonSchema(
        {"anyOf": [{"type": "string", "pattern": form}, number], UNIT_KEY: kind, "examples": [example]}
    )


Size = Annotated[
    int,
    _unit(parse_size, "20 MiB"),
    PlainSerializer(format_size, return_type=str, when_used="json"),
    _schema(
        "A size: a number with B, kB, MB, GB, TB, PB (powers of 1,000) or KiB, MiB, GiB, TiB, PiB (powers of 1,024); "
        "a bare number is bytes.",
        r"^\s*[0-9]+(\.[0-9]+)?\s*(B|[kKMGTP]i?B)?\s*$",
        "20 MiB",
    ),
]
Rate = Annotated[
    float,
    _unit(parse_rate, "205 MB/s"),
    PlainSerializer(format_rate, when_used="json"),
    _schema(
        "A rate: a number with MB/s (10^6 bytes), MiB/s (2^20 bytes), Gbit/s (10^9 bits) and their like; "
        "a bare number is bytes per second.",
        r"^\s*[0-9]+(\.[0-9]+)?\s*([kMG]?bit/s|(B|[kKMGTP]i?B)/s)\s*$",
        "205 MB/s",
    ),
]
Duration = Annotated[
    float,
    _unit(parse_duration, "10 min"),
    PlainSerializer(_duration_text, when_used="json"),
    _schema(
        "A time: a number with ms, s, min or h; a bare number is seconds.",
        r"^\s*[0-9]+(\.[0-9]+)?\s*(ms|s|min|h)?\s*$",
        "10 min",
    ),
]


def _share(value: object) -> float:
    number = value
    if isinstance(value, str):
        found = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]+)?)\s*%\s*", value)
        number = found and float(found[1]) / 100
    if isinstance(number, bool) or not isinstance(number, (int, float)) or not 0 < number <= 0.5:
        raise ValueError(f"expected a share such as 5% or 0.05, above 0 and at most 50%, found {describe(value)}")
    return float(number)


def format_share(share: float) -> str | float:
    """A share as a specification writes it, exact: in per cent where that reads back as the same number."""
    text = f"{share * 100:g}%"
    return text if "e" not in text and _share(text) == share else share


Share = Annotated[
    float,
    BeforeValidator(_share),
    PlainSerializer(format_share, when_used="json"),
    _schema("A share: a number with %, or a bare number of 1.", r"^\s*[0-9]+(\.[0-9]+)?\s*%\s*$", "5%", maximum=0.5),
]
Count = Annotated[int, Field(strict=True, ge=1, le=10**9)]
Text = Annotated[str, Field(max_length=4000)]

NAME_FORM = r"^[a-z0-9][a-z0-9-]*$"
Name = Annotated[str, Field(pattern=NAME_FORM, max_length=60)]
StudyName = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]*(\.[a-z0-9][a-z0-9-]*)*$", max_length=60)]
"""A name that may hold a version (``rhgs-3.1``), and leads to no other folder."""
Label = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]*$", max_length=60)]


def _host_path(value: object) -> str:
    parts = [part for part in str(value).split("/") if part]
    how = None
    if not isinstance(value, str) or not value.startswith("/") or re.search(r"[\x00-\x1f\x7f]", value):
        how = ""
    elif re.search(r"[\s\\#]", value):
        # what the kernel says of mounts has them in another form, and tools split their files at blanks
        how = " without blanks, '\\' and '#'"
    elif not parts or {".", ".."} & set(parts):
        how = " without '.' and '..' and below /"
    if how is not None:
        form = f"an absolute path on the hosts, such as /var/tmp/glusterlab{how}"
        raise ValueError(f"expected {form}, found {describe(value)}")
    return "/" + "/".join(parts)


HostPath = Annotated[str, Field(pattern="^/."), BeforeValidator(_host_path)]


class AxisSchema:
    """Says in the JSON Schema that one value may stand without the brackets of a list."""

    def __get_pydantic_json_schema__(self, core: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        array = handler(core)
        return {"anyOf": [array["items"], array]}


def as_axis(value: object) -> object:
    """A scalar as a list of one; refuses an empty list and a value that is listed twice."""
    if isinstance(value, (list, tuple)):
        if not value:
            raise ValueError("expected a value or a list of values, found an empty list")
        for n, item in enumerate(value):
            if item in value[:n]:
                raise ValueError(f"expected each value once, found {describe(item)} twice")
        return value
    if isinstance(value, dict) or value is None:
        raise ValueError(f"expected a value or a list of values, found {describe(value)}")
    return [value]


Axis = Annotated[tuple[T, ...], BeforeValidator(as_axis), AxisSchema()]
"""One value or a list of values: a list is an axis of the matrix."""

KINDS = frozenset({"<plain>", "<mapping>"})
"""Tags of a field that is a mapping of keys or something else: they are in pydantic's places, and in no file."""


def kind_of(value: object) -> str:
    """The tag of a value of a field that is a mapping of keys, or a number or list."""
    return "<mapping>" if isinstance(value, (dict, SpecModel)) else "<plain>"
