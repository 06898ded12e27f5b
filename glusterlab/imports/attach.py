"""Telemetry and gluster's output, put beside the samples that they belong to."""

from __future__ import annotations

from collections.abc import Mapping as ReadOnly
from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import Any

from glusterlab.errors import ParseError
from glusterlab.imports.assign import Assignment, Refusal, is_gluster
from glusterlab.imports.mapping import Mapping
from glusterlab.imports.results import PlannedResult
from glusterlab.imports.sample import AttachedFile
from glusterlab.imports.sources import SourceFile, shown
from glusterlab.imports.volumes import read_volumes
from glusterlab.spec.cluster import Role
from glusterlab.spec.fields import describe

Attached = tuple[SourceFile, AttachedFile]

REFUSED_RESULTS = "results that are refused"
"""What follows from these."""

_ABOUT_THE_FILE = frozenset({"host", "role", "timezone"})


def attach(
    mapping: Mapping,
    results: Sequence[PlannedResult],
    assignments: Sequence[Assignment],
    refused_results: Sequence[Assignment] = (),
) -> tuple[list[list[Attached]], list[Refusal]]:
    """For each result the files that are kept beside it.

    Parameters
    ----------
    mapping : Mapping
    results : sequence of PlannedResult
        With their repeats.
    assignments : sequence of Assignment
        Of telemetry and of gluster's output.
    refused_results : sequence of Assignment
        Of results that are not among `results`: what belongs to these alone follows from that.

    Returns
    -------
    attached : list of lists of (SourceFile, AttachedFile)
        In the order of the results.
    refused : list of Refusal
        Files that cannot be read, or that belong to no sample.
    """
    found: list[list[Attached]] = [[] for _ in results]
    facts = [result.facts() for result in results]
    refused: list[Refusal] = []
    for assignment in assignments:
        name = shown(assignment.file.name)
        wanted = {field: value for field, value in assignment.said.items() if field not in _ABOUT_THE_FILE}
        fitting = [n for n, known in enumerate(facts) if _fits(wanted, known)]
        try:
            _check(mapping, assignment)
        except ParseError as error:
            refused.append(Refusal(name, error.message, error.line))
            continue
        if not fitting:
            said = ", ".join(f"{field} {value}" for field, value in wanted.items()) or "anything"
            follows = any(_fits(wanted, other.said) for other in refused_results)
            message = f"expected a sample of {said}, which this file belongs to, found none"
            refused.append(Refusal(name, message, follows=REFUSED_RESULTS if follows else None))
            continue
        for n in fitting:
            if is_gluster(assignment) and any(source.name == assignment.file.name for source, _ in found[n]):
                continue  # two entries may be about two volumes of one file
            found[n].append(_placed(mapping, assignment, [each.file for _, each in found[n]]))
    return found, refused


def _fits(wanted: ReadOnly[str, Any], known: ReadOnly[str, Any]) -> bool:
    return all(known.get(field) == value for field, value in wanted.items() if field in known)


def _check(mapping: Mapping, assignment: Assignment) -> None:
    """Read a whole file, so that what is imported can be made into tables.

    Raises
    ------
    ParseError
        When it is no telemetry, or no output of gluster, or is damaged.
    """
    if is_gluster(assignment):
        read_volumes(assignment, assignment.said.get("layout", mapping.defaults.layout))
        return
    from glusterlab.telemetry.reading import read

    for _ in read(assignment.file.path):
        pass


def _placed(mapping: Mapping, assignment: Assignment, taken: Sequence[str]) -> Attached:
    """Where a file goes: telemetry by its host, gluster's output by its name, each numbered where that is taken."""
    source, said = assignment.file, assignment.said
    original = PurePosixPath(source.name).name
    if is_gluster(assignment):
        stem, suffixes, folder = original, "", "gluster"
    else:
        stem, folder = said["host"], "telemetry"
        suffixes = _suffixes(original)
    number, name = 1, f"{folder}/{stem}{suffixes}"
    while name in taken:
        number += 1
        name = f"{folder}/{number}-{stem}" if is_gluster(assignment) else f"{folder}/{stem}.{number}{suffixes}"
    if is_gluster(assignment):
        return source, AttachedFile(file=name, source=source.name)
    role: Role = said.get("role") or ("client" if said["host"] in mapping.clients else "server")
    zone = said.get("timezone", mapping.timezone)
    return source, AttachedFile(file=name, source=source.name, host=said["host"], role=role, timezone=zone)


def _suffixes(name: str) -> str:
    """The last suffix, and the one before a packer's: ``.sar``, ``.csv.xz``.

    Examples
    --------
    >>> _suffixes("s1.example.csv.xz"), _suffixes("s1.sar"), _suffixes("sar-s1")
    ('.csv.xz', '.sar', '.txt')
    """
    path = PurePosixPath(name)
    if path.suffix in (".xz", ".gz", ".bz2"):
        return "".join(path.suffixes[-2:])
    return path.suffix or ".txt"


def roles(attached: Sequence[Attached], role: str) -> list[str]:
    """Hosts of a role that the telemetry of a sample is of."""
    return list(dict.fromkeys(str(each.host) for _, each in attached if each.role == role))


def contradicting_roles(mapping: Mapping, assignments: Sequence[Assignment]) -> list[Refusal]:
    """Telemetry of a host that stands under another role elsewhere."""
    known = {**dict.fromkeys(mapping.servers, "server"), **dict.fromkeys(mapping.clients, "client")}
    refused = []
    for assignment in assignments:
        role, host = assignment.said.get("role"), assignment.said.get("host")
        if role is not None and host is not None and known.setdefault(host, role) != role:
            message = f"host {describe(host)} is a {role} here, and a {known[host]} elsewhere"
            refused.append(Refusal(shown(assignment.file.name), message))
    return refused
