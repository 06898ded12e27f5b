"""Tidy tables of a campaign, made from its raw files: samples, workers, telemetry.

They are kept as Parquet in ``figures/<campaign>/tables/`` and made again when a raw file, the library, Python, pandas
or pyarrow changed, or when the kept ones are damaged. Nothing but raw/ is needed to make them.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import platform
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass
from importlib import metadata
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from glusterlab import fingerprint
from glusterlab.errors import DataError, ParseError, RawStoreError
from glusterlab.manifest import MANIFEST, file_digest
from glusterlab.raw import RawStore, Sample
from glusterlab.rawfiles import dump_json, write_atomically

if TYPE_CHECKING:
    import pandas as pd

    from glusterlab.spec.cell import Cell

TableName = Literal["samples", "workers", "telemetry"]

PARALLEL_FROM = 24
"""From so many samples on, several processes parse them: their start costs about as much as so many samples."""

SCHEMAS: Mapping[TableName, Mapping[str, tuple[str, str]]] = {
    "samples": {
        "campaign": ("str", "its name"),
        "cell_id": ("str", "the same in every campaign"),
        "slug": ("str", "the cell for people"),
        "sample": ("int64", "execution of the cell, from 1"),
        "repeat": ("int64", "from 1"),
        "round": ("int64", "of the interleaved order, from 1"),
        "order": ("int64", "place in the plan"),
        "attempt": ("int64", "of the repeat, from 1"),
        "status": ("str", "valid, invalid or failed; only valid samples are drawn"),
        "reasons": ("str", "codes, separated by '; '"),
        "layout": ("str", "its label"),
        "type": ("str", "distribute, replicate or disperse"),
        "geometry": ("str", "such as 12x(4+2)"),
        "backing": ("str", "what the bricks lie on"),
        "access": ("str", "native, ..."),
        "tool": ("str", "iozone, smallfile"),
        "operation": ("str", "write, read, create"),
        "file_size_bytes": ("int64", "as written"),
        "nominal_file_size_bytes": ("int64", "what a scaled file stands for"),
        "record_size_bytes": ("float64", "NaN where it is left to the tool"),
        "files_per_worker": ("int64", "files"),
        "workers": ("int64", "over all clients"),
        "scale": ("float64", "measured values times this stand for the real hardware"),
        "operations_limited": ("bool", "operations of the disks are scaled as well"),
        "disks": ("int64", "under the layout's bricks, the divisor of 'per disk'"),
        "servers": ("int64", "hosts"),
        "clients": ("int64", "hosts"),
        "gluster_version": ("str", "of the servers; several are separated by ', '"),
        "tool_version": ("str", "empty where there is no result"),
        "start_s": ("float64", "epoch seconds of the command's start, on the controller"),
        "end_s": ("float64", "epoch seconds of its end"),
        "elapsed_s": ("float64", "seconds of the part that the tool measured"),
        "throughput_bytes_per_s": ("float64", "bytes per second of all workers; NaN where there is no result"),
        "files_per_s": ("float64", "files per second of all workers; NaN for large files"),
        "worker_min_bytes_per_s": ("float64", "bytes per second of the slowest worker"),
        "worker_max_bytes_per_s": ("float64", "bytes per second of the fastest worker"),
    },
    "workers": {
        "campaign": ("str", "its name"),
        "cell_id": ("str", "of the sample"),
        "sample": ("int64", "execution of the cell"),
        "worker": ("int64", "from 1"),
        "host": ("str", "where it ran; empty where it is not known"),
        "bytes": ("float64", "transferred until the measurement ended"),
        "files": ("float64", "done until the measurement ended"),
        "elapsed_s": ("float64", "seconds"),
        "throughput_bytes_per_s": ("float64", "bytes per second"),
        "files_per_s": ("float64", "files per second; NaN for large files"),
    },
    "telemetry": {
        "campaign": ("category", "its name"),
        "cell_id": ("category", "of the sample"),
        "sample": ("int64", "execution of the cell"),
        "host": ("category", "its name"),
        "role": ("category", "server or client"),
        "time_s": ("float64", "epoch seconds of the host, at the end of the interval"),
        "activity": ("category", "cpu, load, memory, io, disk, network"),
        "device": ("category", "block device or interface; 'all' CPUs; empty for the whole host"),
        "metric": ("category", "its name ends in its unit; a fraction is of 1"),
        "value": ("float64", "in the metric's unit"),
    },
}
"""Columns of the tables: pandas dtype (``str`` holds text without missing values) and meaning with unit."""

_FILES: tuple[TableName, ...] = ("samples", "workers", "telemetry")
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Tables:
    """The three tables of a campaign; `SCHEMAS` documents their columns."""

    samples: pd.DataFrame
    workers: pd.DataFrame
    telemetry: pd.DataFrame


def validate(frame: pd.DataFrame, name: TableName) -> pd.DataFrame:
    """Hold a table against its schema.

    Parameters
    ----------
    frame : pandas.DataFrame
    name : {"samples", "workers", "telemetry"}

    Returns
    -------
    pandas.DataFrame
        The same table.

    Raises
    ------
    DataError
        When columns are missing, too many, of another type, or text is missing.
    """
    schema = SCHEMAS[name]
    if list(frame.columns) != list(schema):
        missing = [column for column in schema if column not in frame]
        more = [column for column in frame if column not in schema]
        raise DataError(f"table {name}: expected the columns of its schema, found {missing} missing and {more} more")
    for column, (dtype, _) in schema.items():
        if str(frame[column].dtype) != dtype:
            raise DataError(f"table {name}: expected {column} as {dtype}, found {frame[column].dtype}")
        if dtype in {"str", "category"} and bool(frame[column].isna().any()):
            raise DataError(f"table {name}: expected text in every row of {column}, found rows without")
    return frame


def _as_schema(frame: pd.DataFrame, name: TableName) -> pd.DataFrame:
    schema = SCHEMAS[name]
    typed = frame.reindex(columns=list(schema)).astype({column: dtype for column, (dtype, _) in schema.items()})
    return validate(typed, name)


def build(raw: Path) -> Tables:
    """Parse every sample of a campaign.

    Parameters
    ----------
    raw : pathlib.Path
        ``raw/<campaign>``.

    Returns
    -------
    Tables
        Rows of all samples, also of those that are not valid: their numbers are NaN where there is no result.

    Raises
    ------
    RawStoreError
        When the folder is no campaign, or a sample.json or cell.json is damaged.
    ParseError
        When a valid sample's raw file cannot be read.
    """
    import pandas as pd

    store = RawStore.open(raw)
    cells = store.cells()
    environment = store.environment()
    samples = store.samples()
    if unknown := sorted({sample.cell_id for sample in samples} - cells.keys()):
        raise RawStoreError(f"{raw}: expected a cell.json for {unknown[0]}, found none", path=raw)
    jobs = [(sample, cells[sample.cell_id], gluster_versions(environment, sample.servers)) for sample in samples]
    if len(jobs) < PARALLEL_FROM or (os.cpu_count() or 1) < 2:
        parts = [_sample_part(job) for job in jobs]
    else:
        # spawn: a notebook's kernel has threads, and a fork of those can hang
        with ProcessPoolExecutor(min(os.cpu_count() or 1, 8), mp_context=get_context("spawn")) as pool:
            parts = list(pool.map(_sample_part, jobs, chunksize=max(1, len(jobs) // 32)))
    return Tables(
        samples=_as_schema(pd.DataFrame([part.row for part in parts], columns=list(SCHEMAS["samples"])), "samples"),
        workers=_as_schema(
            pd.DataFrame([row for part in parts for row in part.workers], columns=list(SCHEMAS["workers"])), "workers"
        ),
        telemetry=_telemetry([part.telemetry for part in parts if part.telemetry is not None]),
    )


def _telemetry(frames: Sequence[pd.DataFrame]) -> pd.DataFrame:
    import pandas as pd

    if not frames:
        return _as_schema(pd.DataFrame({column: [] for column in SCHEMAS["telemetry"]}), "telemetry")
    columns: dict[str, Any] = {}
    for column, (dtype, _) in SCHEMAS["telemetry"].items():
        parts = [frame[column] for frame in frames]
        # categories joined, because the text of millions of rows would take gigabytes
        if dtype == "category":
            columns[column] = pd.api.types.union_categoricals(parts, sort_categories=True)
        else:
            columns[column] = pd.concat(parts, ignore_index=True)
    return validate(pd.DataFrame(columns), "telemetry")


def gluster_versions(environment: Mapping[str, Any], servers: Sequence[str]) -> str:
    """The GlusterFS versions of servers by an environment.json, separated by ``, ``; empty when not recorded.

    Examples
    --------
    >>> gluster_versions({"hosts": {"s1": {"tools": {"gluster": "10.3"}}, "c1": {"tools": {}}}}, ["s1"])
    '10.3'
    """
    hosts = environment.get("hosts", {})
    found = {hosts.get(server, {}).get("tools", {}).get("gluster") for server in servers}
    return ", ".join(sorted(str(version) for version in found if version))


@dataclass(frozen=True)
class _Part:
    row: dict[str, object]
    workers: list[dict[str, object]]
    telemetry: pd.DataFrame | None


def _sample_part(job: tuple[Sample, Cell, str]) -> _Part:
    from glusterlab.workloads import WORKLOADS

    sample, cell, version = job
    nan = float("nan")
    row: dict[str, object] = {
        **{name: getattr(sample, name) for name in ("campaign", "cell_id", "sample", "repeat", "round", "order")},
        "slug": cell.slug,
        "attempt": sample.attempt,
        "status": sample.status,
        "reasons": "; ".join(dict.fromkeys(reason.code for reason in sample.reasons)),
        "layout": cell.layout.name,
        "type": cell.layout.type,
        "geometry": cell.layout.geometry,
        "backing": cell.layout.backing,
        **{name: getattr(cell, name) for name in ("access", "tool", "operation", "file_size_bytes", "workers")},
        "nominal_file_size_bytes": cell.nominal_file_size_bytes,
        "record_size_bytes": nan if cell.record_size_bytes is None else float(cell.record_size_bytes),
        "files_per_worker": cell.files_per_worker or 1,
        "scale": float(cell.model.scale),
        "operations_limited": cell.model.operations,
        "disks": sample.disks,
        "servers": len(sample.servers),
        "clients": len(sample.clients),
        "gluster_version": version,
        "tool_version": "",
        "start_s": nan if sample.window is None else sample.window.start,
        "end_s": nan if sample.window is None else sample.window.end,
    }
    workers: list[dict[str, object]] = []
    try:
        result = WORKLOADS[cell.tool].parse(sample.path / "workload", cell)
    except ParseError:
        if sample.status == "valid":
            raise
    else:
        each = [worker.throughput_bytes_per_s for worker in result.worker_results if worker.throughput_bytes_per_s]
        row |= {
            "tool_version": result.tool_version or "",
            "elapsed_s": result.elapsed_s,
            "throughput_bytes_per_s": result.throughput_bytes_per_s,
            "files_per_s": result.files_per_s,
            "worker_min_bytes_per_s": min(each, default=None),
            "worker_max_bytes_per_s": max(each, default=None),
        }
        place = {"campaign": sample.campaign, "cell_id": sample.cell_id, "sample": sample.sample}
        workers = [{**place, **vars(worker), "host": worker.host or ""} for worker in result.worker_results]
    return _Part(row, workers, _sample_telemetry(sample))


def _sample_telemetry(sample: Sample) -> pd.DataFrame | None:
    from glusterlab.telemetry.sar import parse

    files = {host: sample.path / "telemetry" / f"{host}.csv.xz" for host in (*sample.servers, *sample.clients)}
    readable = {host: path for host, path in files.items() if path.exists()}
    try:
        frame = parse(readable)
    except ParseError:
        if sample.status == "valid":
            raise
        return None
    if frame.empty:
        return None
    role = frame["host"].map({**dict.fromkeys(sample.clients, "client"), **dict.fromkeys(sample.servers, "server")})
    placed = frame.assign(campaign=sample.campaign, cell_id=sample.cell_id, sample=sample.sample, role=role)
    return _as_schema(placed, "telemetry")


def folder_of(raw: Path) -> Path:
    """Where the tables of a campaign are kept: ``figures/<campaign>/tables`` beside the folder ``raw``."""
    path = raw.absolute()
    return path.parent.parent / "figures" / path.name / "tables"


def load(raw: Path, cache: bool = True) -> Tables:
    """The tables of a campaign, from the kept ones where these are still right.

    Parameters
    ----------
    raw : pathlib.Path
        ``raw/<campaign>``.
    cache : bool
        False makes them anew and keeps nothing.

    Returns
    -------
    Tables

    Raises
    ------
    RawStoreError, ParseError
        As `build`.
    """
    if not cache:
        return build(raw)
    return write(raw, folder_of(raw))


def write(raw: Path, folder: Path) -> Tables:
    """Bring the Parquet files of a campaign up to date, and return the tables.

    Parameters
    ----------
    raw : pathlib.Path
    folder : pathlib.Path
        Made when it is not there; where it cannot be written, the tables are made and not kept.

    Returns
    -------
    Tables

    Raises
    ------
    RawStoreError, ParseError
        As `build`.
    """
    from filelock import FileLock

    RawStore.open(raw)
    key = _key(raw)
    if (kept := _read(folder, key)) is not None:
        return kept
    try:
        folder.mkdir(parents=True, exist_ok=True)
        # notebooks that run at once wait for the one that makes the tables
        lock: Any = FileLock(folder / ".lock")
        lock.acquire()
    except OSError as error:
        _log.warning("tables are not kept: %s: %s", folder, error.strerror)
        lock = nullcontext()
        return build(raw)
    try:
        kept = _read(folder, key)
        if kept is None:
            kept = build(raw)
            _keep(kept, folder, key)
        return kept
    finally:
        lock.release()


def _keep(tables: Tables, folder: Path, key: str) -> None:
    digests = {}
    try:
        for name in _FILES:
            path, temporary = folder / f"{name}.parquet", folder / f".{name}.parquet.tmp"
            getattr(tables, name).to_parquet(temporary, index=False)
            temporary.replace(path)
            digests[name] = file_digest(path)
        write_atomically(folder / "key.json", dump_json({"key": key, "sha256": digests}))
    except (OSError, RawStoreError) as error:
        _log.warning("tables are not kept: %s: %s", folder, error)


def _read(folder: Path, key: str) -> Tables | None:
    import pandas as pd

    try:
        kept = json.loads((folder / "key.json").read_bytes())
        paths = {name: folder / f"{name}.parquet" for name in _FILES}
        if kept["key"] != key or kept["sha256"] != {name: file_digest(path) for name, path in paths.items()}:
            return None
        return Tables(**{name: validate(pd.read_parquet(path), name) for name, path in paths.items()})
    except (OSError, ValueError, KeyError, TypeError, RawStoreError, DataError):
        return None


def _key(raw: Path) -> str:
    """Changes with the manifest, any raw file's size or time, the library, and what writes and reads the tables."""
    digest = hashlib.sha256()
    digest.update(fingerprint.folder_digest(fingerprint.LIBRARY).encode())
    versions = [f"{name} {metadata.version(name)}" for name in ("pandas", "pyarrow")]
    digest.update(f"Python {platform.python_version()}, {', '.join(versions)}\n".encode())
    digest.update(file_digest(raw / MANIFEST).encode())
    for path in sorted(raw.rglob("*")):
        if path.is_file() and path.name not in {"log.txt", ".lock"}:
            state = path.stat()
            digest.update(f"{path.relative_to(raw)} {state.st_size} {state.st_mtime_ns}\n".encode())
    return digest.hexdigest()
