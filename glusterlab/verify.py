"""Is a campaign's folder what was measured? Checksums, completeness, and every judgement made again."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from glusterlab.aside import moved_files
from glusterlab.errors import ParseError, RawStoreError
from glusterlab.imports.sample import judge as judge_imported
from glusterlab.judge import judge_again
from glusterlab.manifest import MANIFEST, UNLISTED, Manifest, file_digest
from glusterlab.rawfiles import SCHEMA_VERSION, walk_files
from glusterlab.rawsample import Sample, campaign_origin, read_cell
from glusterlab.telemetry.sar import read_text

if TYPE_CHECKING:
    from glusterlab.spec.cell import Cell

FindingCode = Literal[
    "bad-manifest",
    "missing-file",
    "unlisted-file",
    "unlisted-sample",
    "changed-file",
    "truncated-xz",
    "invalid-json",
    "newer-schema",
    "invalid-cell",
    "invalid-sample",
    "status-differs",
    "reasons-differ",
    "warmup-differs",
    "doubled-sample",
    "leftover-partial",
    "moved-cell",
]


_OWN_DEPTH = 4
"""``cells/<id>/sample-nn/<name>``: below that an imported sample holds the files of others."""

_TEMPORARY = re.compile(r"(cells/[^/]+/)?\.[^/]+\.tmp")
_UNFINISHED = "it belongs to a run that is at work, or was interrupted; `glusterlab run` removes it"


@dataclass(frozen=True)
class Finding:
    """One thing that is not as it should be.

    Attributes
    ----------
    code : FindingCode
    path : str
        Below the campaign's folder.
    message : str
        What was expected, what was found, what to do.
    """

    code: FindingCode
    path: str
    message: str


def verify(path: Path, progress: Callable[[int, int], None] | None = None) -> list[Finding]:
    """Look at every file of a campaign.

    Parameters
    ----------
    path : pathlib.Path
        ``raw/<campaign>``.
    progress : callable, optional
        Called with the number of samples looked at, and of all.

    Returns
    -------
    list of Finding
        Sorted by path; empty when every file is as listed and every sample is judged as it was.

    Raises
    ------
    RawStoreError
        When there is no campaign in that folder.
    """
    if not (path / "campaign.yaml").is_file() and not (path / MANIFEST).is_file():
        advice = "name one, such as raw/first-light"
        raise RawStoreError(f"{path}: expected a campaign's folder, found none; {advice}", path=path)
    findings = [*_manifest_findings(path), *_json_findings(path), *_partial_findings(path)]
    samples = sorted(path.glob("cells/*/sample-*"))
    cells: dict[str, Cell | None] = {}
    counted: dict[tuple[str, int, bool], str] = {}
    for number, folder in enumerate(samples, start=1):
        cell_id = folder.parent.name
        if cell_id not in cells:
            cells[cell_id], found = _cell(path, cell_id)
            findings.extend(found)
        findings.extend(_sample_findings(path, folder, cells[cell_id], counted))
        if progress is not None:
            progress(number, len(samples))
    return sorted(set(findings), key=lambda finding: (finding.path, finding.code, finding.message))


def _relative(root: Path, path: Path) -> str:
    return path.relative_to(root).as_posix()


def _partial_findings(root: Path) -> Iterator[Finding]:
    for folder in root.glob("cells/*/.sample-*.partial"):
        yield Finding("leftover-partial", _relative(root, folder), f"a sample that was not finished: {_UNFINISHED}")


def _manifest_findings(root: Path) -> Iterator[Finding]:
    try:
        listed = Manifest.read(root).digests
    except RawStoreError as error:
        yield Finding("bad-manifest", MANIFEST, error.message)
        return
    if not listed:
        yield Finding("bad-manifest", MANIFEST, "expected a list of all files, found none; restore it from a copy")
    present = {_relative(root, file): file for file in walk_files(root)}
    moved = moved_files(root, listed)
    for cell in sorted({"/".join(there.split("/")[:2]) for there in moved.values()}):
        message = "moved, but the manifest does not know it: a run was killed right then; `glusterlab run` mends that"
        yield Finding("moved-cell", cell, message)
    listed = {moved.get(name, name): digest for name, digest in listed.items()}
    for name in sorted(listed.keys() - present.keys()):
        yield Finding(
            "missing-file", name, "expected a file that the manifest lists, found none; restore it from a copy"
        )
    new_samples = set()
    for name in sorted(present.keys() - listed.keys() - UNLISTED):
        sample = "/".join(name.split("/")[:3]) if name.startswith("cells/") and name.count("/") >= 3 else None
        if sample is not None and f"{sample}/sample.json" in present and f"{sample}/sample.json" not in listed:
            new_samples.add(sample)
        elif name.startswith("cells/") and name.endswith("/cell.json") and name.count("/") == 2:
            new_samples.add(name)
        elif _TEMPORARY.fullmatch(name):
            yield Finding("leftover-partial", name, f"a file that was not finished: {_UNFINISHED}")
        else:
            yield Finding(
                "unlisted-file", name, "the manifest does not list this file; remove it, or find out who made it"
            )
    for sample in sorted(new_samples):
        advice = "a run is at work, or was killed right then; `glusterlab run` takes it into the manifest"
        yield Finding("unlisted-sample", sample, f"whole, but the manifest does not list it: {advice}")
    for name in sorted(listed.keys() & present.keys()):
        found = file_digest(present[name])
        if found != listed[name]:
            message = f"expected SHA-256 {listed[name][:12]}..., found {found[:12]}...: changed after it was measured"
            yield Finding("changed-file", name, f"{message}; restore it from a copy")


def _json_findings(root: Path) -> Iterator[Finding]:
    imported = campaign_origin(root) == "imported"
    for file in sorted(file for file in walk_files(root) if file.suffix == ".json"):
        # what others called JSON may have text around it: its reader has judged it
        if imported and len(file.relative_to(root).parts) > _OWN_DEPTH:
            continue
        try:
            data = json.loads(file.read_bytes())
        except FileNotFoundError:
            continue  # a run moved its cell right now
        except (ValueError, RecursionError) as error:
            yield Finding("invalid-json", _relative(root, file), f"expected JSON, found damage: {error}")
            continue
        version = data.get("schema_version") if isinstance(data, dict) else None
        if isinstance(version, int) and version > SCHEMA_VERSION:
            message = f"expected schema_version {SCHEMA_VERSION} at most, found {version}; install a newer glusterlab"
            yield Finding("newer-schema", _relative(root, file), message)
    for file in () if imported else sorted(root.glob("cells/*/sample-*/telemetry/*.xz")):
        try:
            read_text(file)
        except ParseError as error:
            yield Finding("truncated-xz", _relative(root, file), f"{error.message}; restore it from a copy")


def _cell(root: Path, cell_id: str) -> tuple[Cell | None, list[Finding]]:
    name = f"cells/{cell_id}/cell.json"
    try:
        cell = read_cell(root / name)
    except RawStoreError as error:
        return None, [Finding("invalid-cell", name, error.message)]
    if cell.id != cell_id:
        return None, [Finding("invalid-cell", name, f"expected the cell {cell_id}, found {cell.id}")]
    return cell, []


def _sample_findings(
    root: Path, folder: Path, cell: Cell | None, counted: dict[tuple[str, int, bool], str]
) -> Iterator[Finding]:
    """Look at one sample; `counted` has the valid one of each repeat so far."""
    name = f"{_relative(root, folder)}/sample.json"
    try:
        sample = Sample.read(folder)
    except RawStoreError as error:
        yield Finding("invalid-sample", name, error.message)
        return
    if (sample.cell_id, f"sample-{sample.sample:02d}") != (folder.parent.name, folder.name):
        message = f"expected a sample of this folder, found {sample.cell_id} sample {sample.sample}"
        yield Finding("invalid-sample", name, message)
    if sample.warmup != (sample.round < 1):
        kept, found = ("a warm-up", "no warm-up") if sample.warmup else ("a repeat", "one of the warm-up")
        message = f"marked as {kept}, but its round, {sample.round}, is {found}: restore it from a copy"
        yield Finding("warmup-differs", name, message)
    if sample.status == "valid":
        repeat = (folder.parent.name, sample.repeat, sample.warmup)
        first = counted.setdefault(repeat, name)
        if first != name:
            message = f"expected one valid sample of repeat {sample.repeat}, found {first} before: a repeat counts once"
            yield Finding("doubled-sample", name, f"{message}; find out which of them is a copy")
    if cell is None:
        return
    if sample.origin == "imported":
        again = judge_imported(folder, cell)
    else:
        again = judge_again(folder, cell, sample.servers, sample.clients)
    if again.status != sample.status:
        why = "; ".join(str(reason) for reason in again.reasons[:3]) or "nothing is wrong with it"
        message = f"recorded as {sample.status}, the raw files say {again.status}: {why}"
        yield Finding("status-differs", name, message)
    elif {reason.code for reason in again.reasons} != {reason.code for reason in sample.reasons}:
        recorded = ", ".join(sorted({reason.code for reason in sample.reasons})) or "none"
        judged = ", ".join(sorted({reason.code for reason in again.reasons})) or "none"
        yield Finding("reasons-differ", name, f"recorded reasons: {recorded}; the raw files say: {judged}")
