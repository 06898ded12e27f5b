"""Patterns over paths, such as ``{layout}/{workers}w/{operation}.txt``: what a path says of the file.

A field stands for text within one folder's or file's name. ``*`` is any such text that says nothing, and ``**/`` any
folders. Everything else stands for itself.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from glusterlab.spec.fields import suggest

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
    """A pattern as it was written, and what it is made of.

    Attributes
    ----------
    text : str
    """

    text: str
    _tokens: tuple[_Token, ...]

    @classmethod
    def parse(cls, text: str, fields: tuple[str, ...] = TELEMETRY_FIELDS) -> Pattern:
        """Read a pattern.

        Raises
        ------
        ValueError
            When a field is unknown, stands twice or cannot be told from its neighbour, or the path leaves its folder.

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

        Parameters
        ----------
        path : str
            Below the imported folder, with ``/`` between its parts.
        accepts : callable
            Called with a field and a text. Of several readings the one with the shortest first fields counts.

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
