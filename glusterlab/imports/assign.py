"""Which entry of a mapping a file belongs to, and what its path and the entry say of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from glusterlab.errors import ParseError
from glusterlab.imports.mapping import Entry, GlusterFiles, Mapping, Results, TelemetryFiles
from glusterlab.imports.pattern import Pattern
from glusterlab.imports.sources import SourceFile, shown

_SECTIONS: dict[type[Entry], str] = {Results: "patterns", TelemetryFiles: "telemetry", GlusterFiles: "gluster"}
"""Keys of a mapping that the entries stand under."""


@dataclass(frozen=True)
class Assignment:
    """A file, the entry that it belongs to, and what is said of it.

    Attributes
    ----------
    file : SourceFile
    entry : Results, TelemetryFiles or GlusterFiles
    said : dict
        By field: of the path and of the entry.
    by_path : frozenset of str
        Fields that the path says; the entry says the others.
    """

    file: SourceFile
    entry: Entry
    said: dict[str, Any]
    by_path: frozenset[str] = frozenset()

    def who(self, field: str) -> str:
        """Who says a field, for messages."""
        return "the path" if field in self.by_path else "the mapping"


@dataclass(frozen=True)
class Refusal:
    """A mapped file, or a part of it, that is not imported.

    Attributes
    ----------
    file : str
        Below the imported folder, as it can be shown.
    message : str
        What was expected, what was found, what to do.
    line : int or None
    follows : str or None
        What it follows from, such as ``layout ec``: it goes when the cause of that is mended.
    """

    file: str
    message: str
    line: int | None = None
    follows: str | None = None

    def __str__(self) -> str:
        return f"{self.file}{'' if self.line is None else f':{self.line}'}: {self.message}"


def assign(mapping: Mapping, files: Iterable[SourceFile]) -> tuple[list[Assignment], list[SourceFile], list[Refusal]]:
    """Give every file to the entries that are about it.

    An entry that names the file goes before all patterns, and a pattern whose words are all known before one that only
    has the right form. Where patterns of results and of telemetry or gluster fit, the file's content decides.

    Returns
    -------
    assigned : list of Assignment
        In the order of the files; a file has several when several entries name it.
    unmapped : list of SourceFile
    refused : list of Refusal
        Files whose path has the form of a pattern and says a word that is none; entries whose file is not there.
    """
    entries: tuple[Entry, ...] = (*mapping.files, *mapping.telemetry, *mapping.gluster, *mapping.patterns)
    named: dict[str, list[Entry]] = {}
    for entry in entries:
        if entry.file is not None:
            named.setdefault(entry.file, []).append(entry)
    patterns = [(entry, Pattern.parse(entry.pattern)) for entry in entries if entry.pattern is not None]
    assigned: list[Assignment] = []
    unmapped: list[SourceFile] = []
    refused: list[Refusal] = []
    for file in files:
        if file.name in named:
            assigned += [Assignment(file, entry, _said(mapping, entry, {})) for entry in named.pop(file.name)]
            continue
        found = _by_pattern(mapping, file, patterns)
        if isinstance(found, Assignment):
            assigned.append(found)
        elif found is None:
            unmapped.append(file)
        else:
            refused.append(found)
    refused += [Refusal(shown(name), "expected this file, which the mapping names, found none") for name in named]
    return assigned, unmapped, refused


def _by_pattern(
    mapping: Mapping, file: SourceFile, patterns: list[tuple[Entry, Pattern]]
) -> Assignment | Refusal | None:
    fitting: dict[type[Entry], Assignment] = {}
    for entry, pattern in patterns:
        words = None if type(entry) in fitting else pattern.match(file.name, mapping.accepts)
        if words is not None:
            fitting[type(entry)] = Assignment(file, entry, _said(mapping, entry, words), frozenset(words))
    if len(fitting) > 1:
        kind = _kind(file)
        torn = _torn(file, [found.entry for found in fitting.values()])
        return torn if kind is None else fitting.get(kind, torn)
    if fitting:
        return next(iter(fitting.values()))
    for _, pattern in patterns:
        words = pattern.match(file.name, lambda *_: True)
        if words is not None:
            for field, word in words.items():
                try:
                    mapping.read_field(field, word)
                except ValueError as error:
                    return Refusal(shown(file.name), f"by the pattern {pattern.text!r}: {error}")
    return None


def _kind(file: SourceFile) -> type[Entry] | None:
    """Of which entries a file is, by its content; None where nobody knows."""
    from glusterlab.parsing import TELEMETRY_TOOLS, tool_of

    try:
        tool = tool_of(file.path)
    except ParseError:
        return None
    if tool in TELEMETRY_TOOLS:
        return TelemetryFiles
    return GlusterFiles if tool == "gluster" else Results


def _torn(file: SourceFile, entries: Sequence[Entry]) -> Refusal:
    places = " and ".join(f"{entry.place!r} of {_SECTIONS[type(entry)]}" for entry in entries)
    message = f"fits the patterns {places}, and its content is that of neither: write them so that one of them fits"
    return Refusal(shown(file.name), message)


def _said(mapping: Mapping, entry: Entry, words: dict[str, str]) -> dict[str, Any]:
    found = entry.said()
    if isinstance(entry, TelemetryFiles):
        found |= {name: value for name in ("role", "timezone") if (value := getattr(entry, name)) is not None}
    return found | {field: mapping.read_field(field, word) for field, word in words.items()}


def is_results(assignment: Assignment) -> bool:
    """Whether the file's results are to be imported; else it goes beside others."""
    return isinstance(assignment.entry, Results)


def is_gluster(assignment: Assignment) -> bool:
    """Whether the file is gluster's output."""
    return isinstance(assignment.entry, GlusterFiles)
