"""Tidy tables of a campaign, made from its raw files: samples, workers, telemetry.

They are kept as Parquet in ``figures/<campaign>/tables/``: ``samples.parquet``, ``workers.parquet``, and a folder
``telemetry/`` of files that any reader of Parquet takes as one table. A sample's part is made again when one of its raw
files, the library, Python, pandas or pyarrow changed, or when what is kept is damaged. Nothing but raw/ is needed.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import platform
import shutil
import tempfile
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from glusterlab import parallel as schedule
from glusterlab.errors import RawStoreError
from glusterlab.store import digests as fingerprint
from glusterlab.store.files import dump_json, file_digest, write_atomically
from glusterlab.store.openraw import OpenCampaign
from glusterlab.store.remote import Remote, mirror, place, publish
from glusterlab.tables.folder import (
    CHECKED,
    INDEX,
    MARKER,
    Seen,
    is_kept,
    kept_part,
    names_in,
    require_own,
    sweep,
    unchanged,
)
from glusterlab.tables.parts import Job, Part, SampleJob, work
from glusterlab.tables.read import Tables
from glusterlab.tables.schema import SCHEMAS, arrow_schema, validate

if TYPE_CHECKING:
    from glusterlab.store.campaign import Sample

__all__ = ["SCHEMAS", "Tables", "Written", "folder_of", "gluster_versions", "load", "validate", "write"]

PARALLEL_FROM = 24
"""From so many samples on, several processes parse them: their start costs about as much as so many samples."""

PARALLEL_BYTES = 8 << 20
"""From so many bytes of them on, too."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Written:
    """Tables as they are kept.

    `rows`: by table. `made` and `kept`: samples whose part was made now, and whose part was there.
    """

    folder: Path
    rows: dict[str, int]
    made: int
    kept: int


def gluster_versions(environment: Mapping[str, Any], servers: Sequence[str]) -> str:
    """The GlusterFS versions of servers by an environment.json, separated by ``, ``; empty when not recorded.

    An import has one version for all of it, if any.

    Examples
    --------
    >>> gluster_versions({"hosts": {"s1": {"tools": {"gluster": "10.3"}}, "c1": {"tools": {}}}}, ["s1"])
    '10.3'
    """
    if environment.get("origin") == "imported":
        return str(environment.get("gluster_version") or "")
    hosts = environment.get("hosts", {})
    found = {hosts.get(server, {}).get("tools", {}).get("gluster") for server in servers}
    return ", ".join(sorted(str(version) for version in found if version))


def folder_of(raw: Path | Remote | str) -> Path | Remote:
    """Where the tables of a campaign are kept: ``figures/<campaign>/tables`` beside the folder ``raw``.

    Examples
    --------
    >>> str(folder_of("/lab/raw/night")), str(folder_of("s3://bucket/lab/raw/night"))
    ('/lab/figures/night/tables', 's3://bucket/lab/figures/night/tables')
    """
    found = place(raw)
    if isinstance(found, Remote):
        return found.parent(2) / f"figures/{found.name}/tables"
    path = found.absolute()
    return path.parent.parent / "figures" / path.name / "tables"


def load(raw: Path | Remote | str, folder: Path | Remote | None = None, cache: bool = True) -> Tables:
    """The tables of a campaign, from the kept ones where these are still right.

    `raw`: ``raw/<campaign>``, or its URL. `folder`: where they are kept; by default `folder_of`. `cache`: False makes
    them anew and keeps nothing. Raises RawStoreError when the folder is no campaign, or a sample.json or cell.json is
    damaged. Raises ParseError when a valid sample's raw file cannot be read. Raises DataError when a URL cannot be
    reached.
    """
    if cache and isinstance(folder, Path) and _is_checked(folder):
        return Tables(folder)
    if cache:
        written = write(raw, folder)
        if written is not None:
            return Tables(written.folder)
    temporary = Path(tempfile.mkdtemp(prefix="glusterlab-tables-"))
    made = Tables(temporary)
    weakref.finalize(made, shutil.rmtree, temporary, ignore_errors=True)
    _write(OpenCampaign.open(raw), temporary, None, silent)
    return made


def _is_checked(folder: Path) -> bool:
    checked = os.environ.get(CHECKED)
    return bool(checked) and folder.resolve() == Path(str(checked)) and (folder / INDEX).is_file()


Progress = Callable[[int, int], None]
"""Called with the number of samples done, and of all that are to be made."""


def silent(done: int, of: int) -> None:
    """Report nothing."""


def write(
    raw: Path | Remote | str,
    folder: Path | Remote | None = None,
    *,
    scheduler: str | None = None,
    progress: Progress = silent,
) -> Written | None:
    """Bring the Parquet files of a campaign up to date.

    `raw`: ``raw/<campaign>``, or its URL. `folder`: made when it is not there; by default `folder_of`. A remote one is
    mirrored in this machine's cache. `scheduler`: address of a Dask scheduler, whose workers reach `raw` under the same
    path or URL. Returns None where the folder cannot be written. Raises RawStoreError or ParseError or DataError as
    `load`. Raises UsageError when the scheduler cannot be reached.
    """
    schedule.refuse_second_start()
    campaign = OpenCampaign.open(raw)
    target = folder_of(raw) if folder is None else folder
    if isinstance(target, Path):
        require_own(target, names_in(target))
        return _locked(campaign, target, scheduler, progress)
    listing = target.listing()
    require_own(target, listing)
    staged = target.cache()
    mirror(target, staged, listing, filter(is_kept, listing))
    written = _locked(campaign, staged, scheduler, progress)
    if written is not None:
        publish(target, staged, filter(is_kept, names_in(staged)))
    return written


def _locked(campaign: OpenCampaign, folder: Path, scheduler: str | None, progress: Progress) -> Written | None:
    from filelock import FileLock

    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / MARKER).touch()
        # notebooks that run at once wait for the one that makes the tables
        lock = FileLock(folder / ".lock")
        lock.acquire()
    except OSError as error:
        _log.warning("tables are not kept: %s: %s", folder, error.strerror)
        return None
    try:
        return _write(campaign, folder, scheduler, progress)
    finally:
        lock.release()


@dataclass
class _Building:
    """A sample whose part is being made.

    `opened` and `closed`: tokens of jobs that are to be done, and of those that are. `telemetry`: Parquet files that
    are written, and their SHA-256.
    """

    key: str
    row: dict[str, object] | None = None
    workers: tuple[dict[str, object], ...] = ()
    rows: int = 0
    opened: set[str] = field(default_factory=set)
    closed: set[str] = field(default_factory=set)
    telemetry: dict[str, str] = field(default_factory=dict)

    def take(self, part: Part, folder: Path, name: str) -> None:
        """Take in what a job made."""
        self.opened.update(part.opens)
        self.closed.update(part.closes)
        if part.row is not None:
            self.row, self.workers = part.row, part.workers
        if part.parquet:
            file = ".".join(word for word in (name, part.name, "parquet") if word)
            write_atomically(folder / "telemetry" / file, part.parquet, durable=False)
            self.telemetry[file] = hashlib.sha256(part.parquet).hexdigest()
            self.rows += part.rows

    @property
    def done(self) -> bool:
        """Whether nothing of the sample is still to come; jobs may end in any order."""
        return self.row is not None and self.opened == self.closed

    def as_json(self) -> str:
        """The part as it is kept."""
        kept = ("key", "row", "workers", "rows", "telemetry")
        return json.dumps({name: getattr(self, name) for name in kept}, allow_nan=False)


def _write(campaign: OpenCampaign, folder: Path, scheduler: str | None, progress: Progress) -> Written:
    base = _base_key()
    everything = _digest(base, campaign.versions)
    seen = Seen.read(folder)
    if (index := unchanged(folder, everything, seen)) is not None:
        return Written(folder, index["rows"], made=0, kept=index["samples"])
    for name in ("parts", "telemetry"):
        (folder / name).mkdir(exist_ok=True)
    # those of the listing: another may be finished while this one is read
    samples = [sample for sample in campaign.store.samples() if _sample_file(sample) in campaign.versions]
    parts: dict[str, dict[str, Any]] = {}
    building: dict[str, _Building] = {}
    jobs: list[Job] = []
    sizes = 0
    for sample, job in zip(samples, _jobs(campaign, samples), strict=True):
        name = _part_name(job.folder)
        words = {file: campaign.versions[file] for file in (*job.files, f"cells/{sample.cell_id}/cell.json")}
        known = {"gluster": job.gluster_version, "kind": job.kind, "server_model": job.server_model}
        key = _digest(base, {**words, **known, "campaign": sample.campaign})
        kept = kept_part(folder, name, key, seen)
        if kept is None:
            jobs.append(job)
            sizes += sum(job.files.values())
            building[name] = _Building(key)
        parts[name] = kept or {}
    finished = 0
    processes = None if len(jobs) >= PARALLEL_FROM or sizes >= PARALLEL_BYTES else 1
    for part in schedule.run(jobs, work, scheduler=scheduler, processes=processes, library=fingerprint.library_digest):
        name = _part_name(part.sample)
        state = building[name]
        state.take(part, folder, name)
        if state.done:
            text = state.as_json()
            write_atomically(folder / "parts" / f"{name}.json", text, durable=False)
            parts[name] = json.loads(text)
            finished += 1
            progress(finished, len(jobs))
    rows = {
        "samples": _keep(folder, "samples", [part["row"] for part in parts.values()]),
        "workers": _keep(folder, "workers", [row for part in parts.values() for row in part["workers"]]),
        "telemetry": sum(part["rows"] for part in parts.values()),
    }
    sweep(folder, parts)
    digests = {f"{name}.parquet": file_digest(folder / f"{name}.parquet") for name in ("samples", "workers")}
    digests |= {f"telemetry/{file}": word for part in parts.values() for file, word in part["telemetry"].items()}
    index = {"key": everything, "rows": rows, "samples": len(parts), "sha256": digests}
    write_atomically(folder / INDEX, dump_json(index), durable=False)
    seen.write(digests)
    return Written(folder, rows, made=len(jobs), kept=len(parts) - len(jobs))


def _jobs(campaign: OpenCampaign, samples: Sequence[Sample]) -> list[SampleJob]:
    cells = campaign.store.cells()
    from glusterlab.spec.yaml import load_cluster

    environment = campaign.store.environment()
    path = campaign.store.path
    cluster = path / "cluster.yaml"
    backings = load_cluster(cluster).backings if cluster.is_file() else {}
    if unknown := sorted({sample.cell_id for sample in samples} - cells.keys()):
        raise RawStoreError(f"{path}: expected a cell.json for {unknown[0]}, found none", path=path)
    jobs = []
    for sample in samples:
        folder = f"cells/{sample.cell_id}/sample-{sample.sample:02d}"
        files = {name: int(word.split()[0]) for name, word in campaign.by_sample.get(folder, {}).items()}
        version = gluster_versions(environment, sample.servers)
        cell = cells[sample.cell_id]
        backing = backings.get(cell.layout.backing)
        kind, model = (cell.layout.backing, None) if backing is None else (backing.kind, backing.server_model)
        jobs.append(SampleJob(campaign.place, sample, cell, version, kind, model or "", files))
    return jobs


def _part_name(folder: str) -> str:
    _, cell_id, sample = folder.split("/")
    return f"{cell_id}.{sample}"


def _base_key() -> str:
    """What every part depends on: the library, and what writes and reads the tables."""
    versions = [f"{name} {metadata.version(name)}" for name in ("pandas", "pyarrow")]
    return f"{fingerprint.library_digest()} Python {platform.python_version()}, {', '.join(versions)}"


def _digest(base: str, words: Mapping[str, str]) -> str:
    digest = hashlib.sha256(base.encode())
    for name, word in sorted(words.items()):
        digest.update(f"\n{name} {word}".encode())
    return digest.hexdigest()


def _sample_file(sample: Sample) -> str:
    return f"cells/{sample.cell_id}/sample-{sample.sample:02d}/sample.json"


def _keep(folder: Path, name: Any, rows: Sequence[Mapping[str, Any]]) -> int:
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pa.Table.from_pylist(list(rows), schema=arrow_schema(name))
    path = folder / f"{name}.parquet"
    temporary = path.with_name(f".{path.name}.tmp")
    pq.write_table(table, temporary)
    temporary.replace(path)
    return int(table.num_rows)
