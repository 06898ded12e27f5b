"""Fields of the mapping: what their texts may be, and what is said of others."""

from __future__ import annotations

import zoneinfo
from typing import Annotated, get_args

from pydantic import BeforeValidator, Field

from glusterlab.imports.pattern import Pattern
from glusterlab.readers.records import Operation
from glusterlab.spec.cluster import HOST_FORM
from glusterlab.spec.fields import suggest

OPERATIONS: tuple[str, ...] = get_args(Operation)


def _operation(value: object) -> object:
    if isinstance(value, str) and value not in OPERATIONS:
        raise ValueError(f"unknown operation {value!r}" + suggest(value, list(OPERATIONS)))
    return value


def _tool(value: object) -> object:
    from glusterlab.readers import TOOLS

    if isinstance(value, str) and value not in TOOLS:
        raise ValueError(f"unknown tool {value!r}" + suggest(value, list(TOOLS)))
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
