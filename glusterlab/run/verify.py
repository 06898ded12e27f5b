"""Is a campaign's folder what was measured? Checksums, completeness, and every judgement made again."""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from glusterlab import parallel
from glusterlab.errors import ParseError, RawStoreError
from glusterlab.rawfile import kind_of, read_raw
from glusterlab.run.contradictions import CLOCK_S, NO_RESULT, forms_differ, out_of_order, too_fast
from glusterlab.run.event import command_times
from glusterlab.run.validity import judge_again, judge_imported
from glusterlab.store.aside import moved_files
from glusterlab.store.evidence import ARCHIVE, archive_of, unpacked
from glusterlab.store.files import SCHEMA_VERSION, file_digest, is_locked, links_out
from glusterlab.store.manifest import LOCK, MANIFEST, UNLISTED, Manifest
from glusterlab.store.sample import Sample, Window, campaign_origin, read_cell
from glusterlab.store.signature import refusal
from glusterlab.tools.document import MAX_BYTES, read_text, unique_keys

if TYPE_CHECKING:
    from glusterlab.spec.cell import Cell
    from glusterlab.tools.records import WorkloadRecord

_TEMPORARY = re.compile(r"(cells/[^/]+/)?\.[^/]+\.tmp")
_AT_WORK = "a run is at work on it now"
_KILLED = "no run is at work; the last one was killed, and `glusterlab run` mends it"


@dataclass(frozen=True)
class Finding:
    """One thing that is not as it should be; `path` is below the campaign's folder."""

    code: str
    path: str
    message: str


def verify(path: Path, progress: Callable[[int, int], None] | None = None) -> list[Finding]:
    """Every file of a campaign that is not as listed, and every sample that is not judged as it was."""
    if not (path / "campaign.yaml").is_file() and not (path / MANIFEST).is_file():
        advice = "name one, such as raw/first-light"
        raise RawStoreError(f"{path}: expected a campaign's folder, found none; {advice}", path=path, exit_code=2)
    imported = campaign_origin(path) == "imported"
    who = _AT_WORK if is_locked(path / LOCK) else _KILLED
    findings = [
        Finding("leftover-partial", _relative(path, folder), f"a sample that was not finished: {who}")
        for folder in path.glob("cells/*/.sample-*.partial")
    ]
    findings += [Finding("foreign-link", _relative(path, link), message) for link, message in links_out(path)]
    listed, found = _listed(path, who)
    findings.extend(found)
    # after the manifest: a run that is running lists no file that is not there
    plain_files = set(_walk_files(path, findings))
    for name in plain_files:
        # files of samples lie one deeper
        if name.endswith(".json") and name.count("/") < 3:
            findings += _json_finding(path / name, name)
    of_folder: dict[str, dict[str, str]] = {}
    for name, digest in (listed or {}).items():
        of_folder.setdefault("/".join(name.split("/")[:2]), {})[name] = digest
    samples = list(path.glob("cells/*/sample-*"))
    folders = sorted({_relative(path, folder.parent) for folder in (*samples, *path.glob("aside/*/sample-*"))})
    jobs = [_Job(path, folder, of_folder.pop(folder, {}), imported) for folder in folders]
    rest = {name for names in of_folder.values() for name in names} & plain_files
    digests = dict(_digests(path, rest, findings))
    seen: list[_Seen] = []
    finished = 0
    processes = None if len(samples) >= parallel.WORTH_FROM else 1
    for result, _ in parallel.run(jobs, _work, processes=processes):
        findings += result.findings
        digests |= result.digests
        seen += result.seen
        finished += result.samples
        if progress is not None and result.samples:
            progress(finished, len(samples))
    findings += _across(seen)
    if listed is not None:
        unread = {finding.path for finding in findings if finding.code == "bad-archive"}
        findings.extend(_manifest_findings(listed, plain_files, digests, unread, who))
    return sorted(set(findings), key=lambda finding: (finding.path, finding.code, finding.message))


@dataclass(frozen=True)
class _Job:
    """The samples of a cell in `folder`, ``cells/...`` or ``aside/...``; `listed`: its files in the manifest."""

    root: Path
    folder: str
    listed: Mapping[str, str]
    imported: bool


@dataclass(frozen=True)
class _Seen:
    """A measured sample as it is held against others; `wrote`: its tool's results, empty where it has none."""

    name: str
    sample: Sample
    window: Window
    wrote: str


@dataclass(frozen=True)
class _Result:
    """`digests`: of listed files and of all members of archives. `samples`: how many were read; none is aside."""

    findings: list[Finding]
    digests: dict[str, str]
    samples: int
    seen: list[_Seen]


def _work(job: _Job) -> tuple[_Result, tuple[()]]:
    root = job.root
    findings: list[Finding] = []
    is_aside = job.folder.startswith("aside/")
    cell: Cell | None = None
    seen: list[_Seen] = []
    counted: dict[tuple[int, bool], str] = {}
    samples = sorted((root / job.folder).glob("sample-*"))

    def is_as_listed(name: str) -> bool:
        return name in digests and digests[name] == job.listed.get(name)

    if not is_aside:
        cell, findings = _cell(root, Path(job.folder).name)
    digests = dict(_digests(root, (name for name in job.listed if (root / name).is_file()), findings))
    for folder in samples:
        try:
            members: dict[str, str] = {}
            with unpacked(folder, digests=members) as plain:
                digests |= {_relative(root, folder / name): digest for name, digest in members.items()}
                findings.extend(_file_findings(root, folder, plain, is_as_listed, imported=job.imported))
                if not is_aside:
                    findings.extend(_sample_findings(root, folder, plain, cell, counted))
                    seen.extend(_seen(_relative(root, folder), folder, digests))
        except RawStoreError as error:
            findings.append(Finding("bad-archive", _relative(root, folder / ARCHIVE), error.message))
    return _Result(findings, digests, 0 if is_aside else len(samples), seen), ()


def _seen(name: str, folder: Path, digests: Mapping[str, str]) -> Iterator[_Seen]:
    try:
        sample = Sample.read(folder)
    except RawStoreError:
        return
    if sample.origin != "measured" or sample.window is None:
        return
    place = f"{name}/workload/"
    wrote = {file.removeprefix(place): word for file, word in digests.items() if file.startswith(place)}
    results = {file: word for file, word in wrote.items() if file not in NO_RESULT}
    text = Manifest(results).text if sample.status == "valid" else ""
    yield _Seen(name, sample, sample.window, text)


def _contradictions(name: str, plain: Path, sample: Sample, cell: Cell, record: WorkloadRecord) -> Iterator[Finding]:
    for file, message in forms_differ(plain / "workload", record):
        yield Finding("forms-differ", f"{name}/workload/{file}", f"{message}: one of them was edited")
    # a baseline works on all hosts at once
    if sample.window is not None and cell.access != "none":
        for message in out_of_order(plain / "log.txt", sample.window, command_times(plain)):
            yield Finding("impossible-order", f"{name}/log.txt", message)
    if (share := too_fast(plain, sample, cell, record)) is not None:
        message = (
            f"in the time that the result claims, the clients' links carried {100 * share:.0f} % of what it claims"
        )
        yield Finding("traffic-differs", f"{name}/workload", f"{message}: the result or the telemetry was edited")


def _across(seen: Sequence[_Seen]) -> Iterator[Finding]:
    """What no two samples of one pool can have in common."""
    wrote: dict[str, _Seen] = {}
    last: _Seen | None = None
    of_cell: dict[str, _Seen] = {}
    for each in sorted(seen, key=lambda each: (each.window.start, each.name)):
        if each.wrote and (other := wrote.setdefault(each.wrote, each)) is not each:
            message = f"its tool wrote what it wrote for {other.name}, to the byte: one of them is a copy"
            yield Finding("same-output", each.name, message)
        if last is not None and (early := last.window.end - each.window.start) > CLOCK_S:
            message = f"began {early:.0f} s before {last.name} ended, and a pool runs one sample at a time"
            yield Finding("overlapping-window", each.name, f"{message}: one of them is a copy, or was edited")
        if last is None or each.window.end > last.window.end:
            last = each
        before = of_cell.setdefault(each.sample.cell_id, each)
        if before.sample.sample > each.sample.sample:
            message = f"ran after {before.name}, and samples are numbered as they run: one of them was renumbered"
            yield Finding("impossible-order", each.name, message)
        of_cell[each.sample.cell_id] = each


def verify_signature(path: Path, signers: Path) -> list[Finding]:
    """Whether a campaign's manifest is what one of the signers signed; an empty list when it is."""
    message = refusal(path, signers)
    return [] if message is None else [Finding("bad-signature", MANIFEST, message)]


def _walk_files(root: Path, findings: list[Finding]) -> Iterator[str]:
    """Every file, except in partial samples; what a run adds or removes meanwhile may be missing."""

    def unreadable(error: OSError) -> None:
        if not isinstance(error, FileNotFoundError):
            folder = _relative(root, Path(error.filename))
            findings.append(Finding("unreadable-file", folder, f"cannot be read: {error.strerror}"))

    for place, folders, names in os.walk(root, onerror=unreadable):
        folders[:] = [name for name in folders if not name.endswith(".partial")]
        for path in (Path(place, name) for name in names if not name.endswith(".partial")):
            with suppress(FileNotFoundError):
                mode = path.lstat().st_mode
                # of links `links_out` tells
                if not stat.S_ISREG(mode) and not stat.S_ISLNK(mode):
                    message = f"expected a regular file, found {kind_of(mode)}; put the file itself there, from a copy"
                    findings.append(Finding("not-a-file", _relative(root, path), message))
                if stat.S_ISREG(mode) or path.is_file():
                    yield _relative(root, path)


def _digests(root: Path, names: Iterable[str], findings: list[Finding]) -> Iterator[tuple[str, str]]:
    for name in names:
        try:
            yield name, file_digest(root / name)
        except RawStoreError as error:
            findings.append(Finding("unreadable-file", name, error.message))


def _relative(root: Path, path: Path) -> str:
    return path.relative_to(root).as_posix()


def _listed(root: Path, who: str) -> tuple[dict[str, str] | None, list[Finding]]:
    """What the manifest lists, by the names that the files of moved cells have now; None when it cannot be read."""
    try:
        listed = Manifest.read(root).digests
    except RawStoreError as error:
        return None, [Finding("bad-manifest", MANIFEST, error.message)]
    if not listed:
        message = "expected a list of all files, found none; restore it from a copy"
        return {}, [Finding("bad-manifest", MANIFEST, message)]
    moved = moved_files(root, listed)
    message = f"moved, but the manifest does not know it: {who}"
    cells = sorted({"/".join(there.split("/")[:2]) for there in moved.values()})
    found = [Finding("moved-cell", cell, message) for cell in cells]
    return {moved.get(name, name): digest for name, digest in listed.items()}, found


def _manifest_findings(
    listed: Mapping[str, str], plain: Set[str], digests: Mapping[str, str], unread: Set[str], who: str
) -> Iterator[Finding]:
    """`unread`: archives whose members are not known. `who`: whether a run is at work."""
    present = {name for name in plain if name != archive_of(name)} | digests.keys()
    for name in sorted(listed.keys() - present):
        if archive_of(name) not in unread:
            message = "expected a file that the manifest lists, found none; restore it from a copy"
            yield Finding("missing-file", name, message)
    new_samples = set()
    for name in sorted(present - listed.keys() - UNLISTED):
        sample = "/".join(name.split("/")[:3]) if name.startswith("cells/") and name.count("/") >= 3 else None
        if sample is not None and f"{sample}/sample.json" in present and f"{sample}/sample.json" not in listed:
            new_samples.add(sample)
        elif name.startswith("cells/") and name.endswith("/cell.json") and name.count("/") == 2:
            new_samples.add(name)
        elif _TEMPORARY.fullmatch(name):
            yield Finding("leftover-partial", name, f"a file that was not finished: {who}")
        else:
            yield Finding(
                "unlisted-file", name, "the manifest does not list this file; remove it, or find out who made it"
            )
    for sample in sorted(new_samples):
        yield Finding("unlisted-sample", sample, f"whole, but the manifest does not list it: {who}")
    for name in sorted(listed.keys() & digests.keys()):
        if digests[name] != listed[name]:
            found = f"expected SHA-256 {listed[name][:12]}..., found {digests[name][:12]}"
            message = f"{found}...: changed after it was measured"
            yield Finding("changed-file", name, f"{message}; restore it from a copy")


def _file_findings(
    root: Path, folder: Path, plain: Path, is_as_listed: Callable[[str], bool], *, imported: bool
) -> Iterator[Finding]:
    """Whether a sample's files can be read; telemetry as listed is as whole as it ever was, and judged later."""
    for file in sorted(path for path in plain.rglob("*") if path.suffix in (".json", ".xz") and path.is_file()):
        name = _relative(root, folder / file.relative_to(plain))
        # what others called JSON may have text around it: its reader has judged it
        if file.suffix == ".json" and not (imported and file.parent != plain):
            yield from _json_finding(file, name)
        elif file.suffix == ".xz" and file.parent == plain / "telemetry" and not (imported or is_as_listed(name)):
            try:
                read_text(file)
            except ParseError as error:
                yield Finding("truncated-xz", name, f"{error.message}; restore it from a copy")


def _json_finding(file: Path, name: str) -> Iterator[Finding]:
    try:
        data = json.loads(read_raw(file, MAX_BYTES), object_pairs_hook=unique_keys)
    except FileNotFoundError:
        return  # a run moved its cell right now
    except OSError as error:
        yield Finding("unreadable-file", name, f"cannot be read: {error.strerror}")
        return
    except (ValueError, RecursionError, ParseError) as error:
        yield Finding("invalid-json", name, f"expected JSON, found damage: {error}")
        return
    version = data.get("schema_version") if isinstance(data, dict) else None
    if isinstance(version, int) and version > SCHEMA_VERSION:
        message = f"expected schema_version {SCHEMA_VERSION} at most, found {version}; install a newer glusterlab"
        yield Finding("newer-schema", name, message)


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
    root: Path, folder: Path, plain: Path, cell: Cell | None, counted: dict[tuple[int, bool], str]
) -> Iterator[Finding]:
    """`counted` has the valid sample of each repeat so far."""
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
        kind = "a warm-up" if sample.warmup else "a repeat"
        message = f"marked as {kind}, but its round, {sample.round}, is not: restore it from a copy"
        yield Finding("warmup-differs", name, message)
    if sample.status == "valid":
        first = counted.setdefault((sample.repeat, sample.warmup), name)
        if first != name:
            message = f"expected one valid sample of repeat {sample.repeat}, found {first} before: a repeat counts once"
            yield Finding("doubled-sample", name, f"{message}; find out which of them is a copy")
    if cell is None:
        return
    if sample.origin == "imported":
        again = judge_imported(plain, cell)
    else:
        again = judge_again(plain, cell, sample.servers, sample.clients)
        if sample.status == "valid" and again.result is not None:
            yield from _contradictions(_relative(root, folder), plain, sample, cell, again.result.record)
    recorded, judged = (", ".join(sorted({reason.code for reason in each.reasons})) for each in (sample, again))
    if again.status != sample.status:
        why = "; ".join(str(reason) for reason in again.reasons[:3]) or "nothing is wrong with it"
        message = f"recorded as {sample.status}, the raw files say {again.status}: {why}"
        yield Finding("status-differs", name, message)
    elif recorded != judged:
        message = f"recorded reasons: {recorded or 'none'}; the raw files say: {judged or 'none'}"
        yield Finding("reasons-differ", name, message)
