"""Tidy tables of a campaign: samples, workers, telemetry, kept as Parquet in ``figures/<campaign>/tables/``.

A sample's part is made again when one of its raw files, the library up to here, Python, pandas or pyarrow changed, or
when what is kept is damaged. Each sample, and each part of a big telemetry file, is a job.
"""

import hashlib
import json
import logging
import os
import platform
import shutil
import tempfile
import weakref
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from importlib import metadata
from io import BytesIO
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from filelock import FileLock

from glusterlab import parallel
from glusterlab.errors import ParseError, RawStoreError, UsageError
from glusterlab.hosts.access import served_by
from glusterlab.run.event import event_columns
from glusterlab.run.measured import read_result
from glusterlab.spec.cell import Cell, layout_problem, place_bricks
from glusterlab.spec.cluster import SERVED, Backing, Cluster
from glusterlab.spec.yaml import load_cluster
from glusterlab.store import digests
from glusterlab.store.campaign import RawStore, Sample
from glusterlab.store.evidence import unpacked
from glusterlab.store.files import dump_json, file_digest, local, write_atomically
from glusterlab.store.imported import read_import
from glusterlab.store.manifest import MANIFEST
from glusterlab.store.records import Health, read_record
from glusterlab.tables import CHECKED
from glusterlab.tables.parts import MOVED, brick_shares, measured_parts
from glusterlab.tables.read import Tables
from glusterlab.tables.schema import arrow_schema
from glusterlab.telemetry.arrow import arrow_batches, batches, read_together, write_parquet
from glusterlab.telemetry.blocks import Chunk
from glusterlab.telemetry.columns import NotRegular
from glusterlab.telemetry.reader import chunks
from glusterlab.tools import runnable
from glusterlab.tools.records import METRICS

__all__ = ["Tables", "Written", "folder_of", "gluster_versions", "load", "write"]

PARALLEL_BYTES = 8 << 20  # so much of fewer samples is worth the start of several processes, too

BIG_BYTES = 2 << 20  # a telemetry file of more bytes than this is a job, or several, of its own

_DEVICES = ("brick_devices", "hot_devices")  # kept for a sample's part, in no table

MARKER = ".glusterlab-tables"  # says that a folder is ours: nothing is removed in any other

LATER = ("analysis", "plots", "figures", "sections", "reproduce", "site", "testbed", "importing", "publishing", "cli")
"""Folders of the library that tables import nothing of: a change there changes no table."""

INDEX = "key.json"
SEEN = ".seen.json"

_log = logging.getLogger(__name__)

Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Written:
    """Tables as they are kept: rows by table, and samples whose part was made now or was there."""

    folder: Path
    rows: dict[str, int]
    made: int
    kept: int


def gluster_versions(environment: Mapping[str, Any], servers: Sequence[str]) -> str:
    """The GlusterFS versions of servers by an environment.json, separated by ``, ``; empty when not recorded."""
    if environment.get("origin") == "imported":
        return str(environment.get("gluster_version") or "")
    hosts = environment.get("hosts", {})
    found = {hosts.get(server, {}).get("tools", {}).get("gluster") for server in servers}
    return ", ".join(sorted(str(version) for version in found if version))


def folder_of(raw: Path | str) -> Path:
    """Where the tables of a campaign are kept: ``figures/<campaign>/tables`` beside the folder ``raw``."""
    return digests.tables_folder(local(raw).absolute())


def load(
    raw: Path | str,
    folder: Path | None = None,
    cache: bool = True,
    progress: Progress = lambda *_: None,
    cells: Collection[str] | None = None,
) -> Tables:
    """The tables of a campaign, from those kept in `folder` where these are still right.

    Without `cache` they are made anew, of some `cells` alone (None: of all).
    """
    checked = os.environ.get(CHECKED)
    if cache and folder is not None and checked and folder.resolve() == Path(checked) and (folder / INDEX).is_file():
        return Tables(folder)
    if cache and (written := write(raw, folder, progress=progress)) is not None:
        return Tables(written.folder)
    temporary = Path(tempfile.mkdtemp(prefix="glusterlab-tables-"))
    made = Tables(temporary)
    weakref.finalize(made, shutil.rmtree, temporary, ignore_errors=True)
    _write(RawStore.open(local(raw)), temporary, None, progress, cells)
    return made


def write(
    raw: Path | str, folder: Path | None = None, *, scheduler: str | None = None, progress: Progress = lambda *_: None
) -> Written | None:
    """Bring the Parquet files of a campaign up to date; None where the folder cannot be written.

    Workers of the Dask `scheduler` must reach `raw` under the same path. Raises RawStoreError when `raw` is damaged,
    ParseError when a valid sample cannot be read, UsageError when the folder holds something else.
    """
    store = RawStore.open(local(raw))
    folder = folder_of(raw) if folder is None else folder
    _require_own(folder)
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
        return _write(store, folder, scheduler, progress)
    finally:
        lock.release()


def _require_own(folder: Path) -> None:
    """Refuse a folder that holds something else: what is in a folder of tables and of no sample is removed."""
    names = [path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()]
    found = [name for name in names if not name.startswith(".")]
    if found and MARKER not in names:
        expected = "expected a folder of tables or an empty one"
        raise UsageError(f"{folder}: {expected}, found {min(found)}; name another folder for the tables")
    if campaign := next((parent for parent in folder.resolve().parents if (parent / MANIFEST).is_file()), None):
        raise UsageError(f"{folder}: lies in the campaign {campaign}, which is never touched; name another folder")


class _Kept:
    """What a folder of tables has; a file is hashed only when it was touched since its digest was found right."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.states = digests.read_seen(folder / SEEN)

    def fits(self, name: str, digest: str) -> bool:
        if (state := digests.file_state(f"{self.folder}/{name}")) is None:
            return False
        known = [digest, state]
        if self.states.get(name) != known:
            if file_digest(self.folder / name) != digest:
                return False
            self.states[name] = known
        return True

    def read(self, name: str, key: str) -> dict[str, Any] | None:
        """A JSON file, when it is of this key, and the files whose digests it has are whole."""
        try:
            data: dict[str, Any] = json.loads((self.folder / name).read_bytes())
            whole = data["key"] == key and all(self.fits(file, word) for file, word in data["sha256"].items())
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RawStoreError):
            return None
        return data if whole else None

    def write(self, words: Mapping[str, str]) -> None:
        states = {name: self.states[name] for name, word in words.items() if self.fits(name, word)}
        write_atomically(self.folder / SEEN, json.dumps(states), durable=False)


def _write(
    store: RawStore, folder: Path, scheduler: str | None, progress: Progress, cells: Collection[str] | None = None
) -> Written:
    versions = [f"{name} {metadata.version(name)}" for name in ("pandas", "pyarrow")]
    base = f"{digests.library_digest(LATER)} Python {platform.python_version()}, {', '.join(versions)}"
    files = {name: signature.rpartition(" ")[2] for name, signature in store.files.items()}
    everything = _digest(base, files)
    known = _Kept(folder)
    if (index := known.read(INDEX, everything)) is not None:
        return Written(folder, index["rows"], made=0, kept=index["samples"])
    for name in ("parts", "telemetry"):
        (folder / name).mkdir(exist_ok=True)
    of_folder: dict[str, dict[str, str]] = {}
    for name, word in files.items():
        of_folder.setdefault("/".join(name.split("/")[:3]), {})[name] = word
    parts: dict[str, dict[str, Any]] = {}
    pending: dict[str, int] = {}
    jobs: list[_Job] = []
    size = 0
    for job in _jobs(store, files, cells):
        raw = of_folder[job.folder]
        cell = f"cells/{job.sample.cell_id}/cell.json"
        facts = {name: str(fact) for name, fact in job.facts.items()}
        key = _digest(base, {**raw, cell: files[cell], **facts, "campaign": job.sample.campaign})
        kept = known.read(f"parts/{job.name}.json", key)
        parts[job.name] = kept or {"key": key, "row": None, "workers": (), "rows": 0, "sha256": {}}
        if kept is None:
            jobs.append(job)
            pending[job.name] = 1
            size += sum(int(store.files[name].split()[0]) for name in raw)
    finished = 0
    processes = None if len(jobs) >= parallel.WORTH_FROM or size >= PARALLEL_BYTES else 1
    results = parallel.run(jobs, work, scheduler=scheduler, processes=processes, library=digests.library_digest)
    for made, more in results:
        part = parts[made.name]
        if made.row is not None:
            part |= {"row": made.row, "workers": made.workers}
        if made.parquet:
            file = f"telemetry/{'.'.join(word for word in (made.name, made.file, 'parquet') if word)}"
            write_atomically(folder / file, made.parquet, durable=False)
            part["sha256"][file] = hashlib.sha256(made.parquet).hexdigest()
            part["rows"] += made.rows
        pending[made.name] += len(more) - 1
        if not pending[made.name]:
            _keep_part(folder, made.name, part)
            finished += 1
            progress(finished, len(jobs))
    rows = {
        "samples": _keep(folder, "samples", [part["row"] for part in parts.values()]),
        "workers": _keep(folder, "workers", [row for part in parts.values() for row in part["workers"]]),
        "telemetry": sum(part["rows"] for part in parts.values()),
    }
    words = {file: word for part in parts.values() for file, word in part["sha256"].items()}
    # files of samples that no longer exist, and older files of those that do
    current = {folder / file for file in words} | {folder / "parts" / f"{name}.json" for name in parts}
    for path in (*folder.glob("parts/*.json"), *folder.glob("telemetry/*.parquet")):
        if path not in current:
            path.unlink()
    words |= {f"{name}.parquet": file_digest(folder / f"{name}.parquet") for name in ("samples", "workers")}
    index = {"key": everything, "rows": rows, "samples": len(parts), "sha256": words}
    write_atomically(folder / INDEX, dump_json(index), durable=False)
    known.write(words)
    return Written(folder, rows, made=len(jobs), kept=len(parts) - len(jobs))


def _digest(base: str, words: Mapping[str, str]) -> str:
    lines = [base, *(f"{name} {word}" for name, word in sorted(words.items()))]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def _keep_part(folder: Path, name: str, part: dict[str, Any]) -> None:
    if "part_start_s" not in part["row"]:
        part["row"] |= _measured_part(part["row"], [folder / file for file in part["sha256"]])
    write_atomically(folder / "parts" / f"{name}.json", json.dumps(part, allow_nan=False), durable=False)


def _keep(folder: Path, name: Any, rows: Sequence[Mapping[str, Any]]) -> int:
    path = folder / f"{name}.parquet"
    temporary = path.with_name(f".{path.name}.tmp")
    pq.write_table(pa.Table.from_pylist(list(rows), schema=arrow_schema(name)), temporary)
    temporary.replace(path)
    return len(rows)


@dataclass(frozen=True)
class SampleJob:
    """One sample: its row, the rows of its workers, and its small telemetry files."""

    sample: Sample
    cell: Cell
    facts: Mapping[str, str | float]

    @property
    def folder(self) -> str:
        return f"cells/{self.sample.cell_id}/sample-{self.sample.sample:02d}"

    @property
    def name(self) -> str:
        """The beginning of the names of the sample's files in a folder of tables."""
        return f"{self.sample.cell_id}.sample-{self.sample.sample:02d}"


@dataclass(frozen=True)
class TelemetryJob:
    """A big telemetry file of a sample, or one chunk of it; `zone`: of a file that tells local time."""

    owner: SampleJob
    file: str
    zone: str | None
    chunk: Chunk | None = None
    number: int = 0


_Job = SampleJob | TelemetryJob


@dataclass(frozen=True)
class Part:
    """What a job makes of a sample; `file` tells its Parquet from others of the sample, empty for small files."""

    name: str
    row: dict[str, object] | None = None
    workers: tuple[dict[str, object], ...] = ()
    parquet: bytes = b""
    file: str = ""
    rows: int = 0


def _jobs(store: RawStore, files: Mapping[str, str], wanted: Collection[str] | None) -> Iterator[SampleJob]:
    """The samples of these files and of these cells: another may be finished while the campaign is read."""
    samples, cells, environments = store.samples(), store.cells(), store.environments()
    cluster = store.path / "cluster.yaml"
    loaded = load_cluster(cluster) if cluster.is_file() else None
    backings, latency = ({}, None) if loaded is None else (loaded.backings, loaded.hardware.disk_latency)
    for sample in samples:
        if (cell := cells.get(sample.cell_id)) is None:
            raise RawStoreError(f"{store.path}: expected a cell.json for {sample.cell_id}, found none", path=store.path)
        backing = backings.get(cell.layout.backing)
        kind, model = (cell.layout.backing, "") if backing is None else (backing.kind, backing.server_model or "")
        version, hosts = gluster_versions(environments[1], sample.servers), environments.get(sample.machine, {})
        facts = {"gluster_version": version, "kind": kind, "server_model": model, **_hot(cell, backings)}
        facts |= _devices(cell, loaded, hosts.get("hosts", {}))
        facts["disk_latency_s"] = (latency or 0.0) if cell.model.heads else 0.0
        job = SampleJob(sample, cell, facts)
        if f"{job.folder}/sample.json" in files and (wanted is None or sample.cell_id in wanted):
            yield job


def _hot(cell: Cell, backings: Mapping[str, Backing]) -> dict[str, str | float]:
    hot = cell.layout.hot
    if hot is None:
        return {"hot": "", "hot_kind": "", "hot_disks": 0}
    backing = backings.get(hot.backing)
    kind, disks = (hot.backing, 0) if backing is None else (backing.kind, hot.bricks * backing.disks_per_brick)
    return {"hot": hot.geometry, "hot_kind": kind, "hot_disks": disks}


def _devices(cell: Cell, cluster: Cluster | None, hosts: Mapping[str, Any]) -> dict[str, str]:
    """Devices below the bricks as ``host/device host/device``, a hot tier's apart; none where one is not known.

    Nor with an event: it adds bricks, or has traffic of its own.
    """
    if cluster is None or cell.event is not None or layout_problem(cell.layout, cluster) is not None:
        return {}
    found = []
    for host, root in place_bricks(cell.layout, cluster):
        device = hosts.get(host.name, {}).get("filesystems", {}).get(root, {}).get("device")
        if not device:
            return {}
        found.append(f"{host.name}/{device.rpartition('/')[2]}")
    bricks = cell.layout.bricks
    return {_DEVICES[0]: " ".join(found[:bricks]), _DEVICES[1]: " ".join(found[bricks:])}


def work(job: _Job) -> tuple[Part, Sequence[_Job]]:
    """Do one job; ParseError when a valid sample's raw file cannot be read."""
    if isinstance(job, SampleJob):
        return _sample(job)
    path = job.owner.sample.path / "telemetry" / job.file
    if job.chunk is None:
        more: list[TelemetryJob] = []
        try:
            more += [replace(job, chunk=chunk, number=n) for n, chunk in enumerate(chunks(path))]
        except ParseError:
            if job.owner.sample.status == "valid":
                raise
        return Part(job.owner.name), more
    parquet, rows = _parquet(_tables(job.owner, {path: [job.chunk]}, {job.file: job.zone}))
    return Part(job.owner.name, parquet=parquet, file=f"{job.file}.{job.number:04d}", rows=rows), ()


def _sample(job: SampleJob) -> tuple[Part, Sequence[_Job]]:
    whole = job.sample.path
    # a tool's outputs are packed, too, when they are many
    looks = ("gluster/",) if job.cell.layout.hot or job.cell.access in SERVED else ()
    with unpacked(whole, ("telemetry/", "workload/", "event/", *looks)) as folder:
        row, workers = _rows(job, folder)
        attached = read_import(folder).telemetry if job.sample.origin == "imported" else ()
        zones = {Path(file.file).name: file.timezone for file in attached}
        telemetry = [path for path in sorted(folder.glob("telemetry/*")) if host_of(job.sample, path.name) is not None]
        # what is packed is not read in parts: it goes with its temporary folder
        big = [path for path in telemetry if folder == whole and path.stat().st_size > BIG_BYTES]
        small = [path for path in telemetry if path not in big]
        parquet, rows = _parquet(_small_tables(job, small, zones))
    if not big:
        row |= _measured_part(row, [BytesIO(parquet)] if parquet else [])
    more = [TelemetryJob(job, path.name, zones.get(path.name)) for path in big]
    return Part(job.name, row, tuple(workers), parquet, rows=rows), more


def _measured_part(row: Mapping[str, Any], telemetry: Sequence[Path | BytesIO]) -> dict[str, float | None]:
    """Columns of the samples table by all telemetry of a sample: where the measured part lies, what bricks did."""
    columns = ["cell_id", "sample", "host", "role", "time_s", "activity", "device", "metric", "value"]
    moved = [("activity", "in", {activity for activity, _ in MOVED})]
    frames = [pq.read_table(file, columns=columns, filters=moved).to_pandas() for file in telemetry]
    names = ("cell_id", "sample", "tool", "start_s", "end_s", "elapsed_s")
    sample = pd.DataFrame([{name: row.get(name) for name in names}]).astype(dict.fromkeys(names[3:], float))
    whole = pd.concat(frames) if frames else pd.DataFrame(columns=columns)
    part = measured_parts(whole, sample).iloc[0]
    ends = {name: None if pd.isna(part[name]) else float(part[name]) for name in ("part_start_s", "part_end_s")}
    if not row.get(_DEVICES[0]) or None in ends.values():
        return ends
    bricks, hot = (str(row[name]).split() for name in _DEVICES)
    return ends | brick_shares(whole, part["part_start_s"], part["part_end_s"], bricks, hot)


def _rows(job: SampleJob, folder: Path) -> tuple[dict[str, object], list[dict[str, object]]]:
    sample, cell = job.sample, job.cell
    named = (
        (sample, "campaign cell_id sample repeat round order attempt machine status warmup origin"),
        (cell, "slug access mounts caches tool operation workers"),
        (cell, "file_size_bytes nominal_file_size_bytes record_size_bytes"),
        (cell.layout, "type geometry backing"),
    )
    row: dict[str, object] = {
        **{name: getattr(owner, name) for owner, names in named for name in names.split()},
        "reasons": "; ".join(dict.fromkeys(reason.code for reason in sample.reasons)),
        "reason_sentences": "; ".join(str(reason) for reason in sample.reasons),
        "layout": cell.layout.name,
        "options": "; ".join(f"{name}={value}" for name, value in cell.layout.options),
        "features": "; ".join(cell.layout.features),
        "event": "" if cell.event is None else cell.event.do,
        "event_throttle": "" if cell.event is None or cell.event.to is None else cell.event.throttle,
        "served_by": "",
        **job.facts,
        "files_per_worker": cell.files_per_worker or 1,
        "runtime_s": cell.runtime_s,
        "rate_bytes_per_s": cell.rate_bytes_per_s,
        "scale": float(cell.model.scale),
        "operations_limited": cell.model.operations,
        "heads": cell.model.heads,
        "disks": sample.disks,
        "servers": len(sample.servers),
        "clients": cell.clients or len(sample.clients),
        "tool_version": "",
        "start_s": None if sample.window is None else sample.window.start,
        "end_s": None if sample.window is None else sample.window.end,
    }
    if cell.layout.hot is not None:
        row |= _moved_files(folder)
    if cell.access in SERVED:
        with suppress(ParseError):
            health = read_record(Health, folder / "gluster" / "before" / "health.json")
            row["served_by"] = served_by(health, cell.access)
    if cell.event is not None:
        row |= event_columns(folder)
    try:
        result = read_result(sample, cell, folder)
    except ParseError:
        if sample.status == "valid":
            raise
        return row, []
    record, tool = result.record, runnable().get(result.record.tool)
    each = [worker.throughput_bytes_per_s for worker in result.workers if worker.throughput_bytes_per_s]
    row |= {
        "tool_version": record.tool_version or "",
        "elapsed_s": record.elapsed_s,
        **{metric: getattr(record, metric) for metric in METRICS},
        **result.over_the_whole_time(together=tool is not None and tool.starts_together),
        "worker_min_bytes_per_s": min(each, default=record.worker_min_bytes_per_s),
        "worker_max_bytes_per_s": max(each, default=record.worker_max_bytes_per_s),
    }
    columns = ("worker", "bytes", "files", "elapsed_s", "throughput_bytes_per_s", "files_per_s")
    return row, [
        {**_key(sample), **{name: getattr(worker, name) for name in columns}, "host": worker.host or ""}
        for worker in result.workers
    ]


def _moved_files(folder: Path) -> dict[str, object]:
    """How many files a hot tier's daemons moved between the two looks at the pool; nothing where one is missing."""
    try:
        before, after = (
            read_record(Health, folder / "gluster" / moment / "health.json") for moment in ("before", "after")
        )
    except ParseError:
        return {}
    found: dict[str, object] = {}
    for name in ("promoted", "demoted"):
        counts = [sum(getattr(daemon, name) for daemon in health.tier.values()) for health in (before, after)]
        found[f"{name}_files"] = counts[1] - counts[0]
    return found


def host_of(sample: Sample, file: str) -> tuple[str, str] | None:
    """Host and role of a telemetry file ``<host>.<kind>``; None where it is of no host of the sample."""
    roles = {**dict.fromkeys(sample.clients, "client"), **dict.fromkeys(sample.servers, "server")}
    host = max((host for host in roles if file.startswith(f"{host}.")), key=len, default=None)
    return None if host is None else (host, roles[host])


def _key(sample: Sample) -> dict[str, str | int]:
    return {"campaign": sample.campaign, "cell_id": sample.cell_id, "sample": sample.sample}


def _parquet(tables: Iterable[pa.Table]) -> tuple[bytes, int]:
    sink = BytesIO()
    rows = write_parquet(tables, sink)
    return sink.getvalue(), rows


def _small_tables(job: SampleJob, paths: Sequence[Path], zones: Mapping[str, str | None]) -> Iterator[pa.Table]:
    for batch in batches(paths):
        if isinstance(batch, Path):
            yield from _tables(job, {batch: [batch]}, zones)
            continue
        places = [place for path in batch if (place := host_of(job.sample, path.name)) is not None]
        hosts, roles = [host for host, _ in places], [role for _, role in places]
        try:
            yield read_together(list(batch.values()), hosts, roles, _key(job.sample))
        except NotRegular:
            yield from _tables(job, {path: [path] for path in batch}, zones)


def _tables(
    job: SampleJob, files: Mapping[Path, Iterable[Path | Chunk]], zones: Mapping[str, str | None]
) -> Iterator[pa.Table]:
    """Telemetry of files; of each what is to be read: its path for all of it, or chunks."""
    for path, sources in files.items():
        host, role = host_of(job.sample, path.name) or ("", "")
        try:
            for source in sources:
                yield from arrow_batches(source, {**_key(job.sample), "host": host, "role": role}, zones.get(path.name))
        except ParseError:
            if job.sample.status == "valid":
                raise
