"""The work behind the tables: one sample, or one part of a big telemetry file, becomes rows.

Jobs are independent, so each can run in any process that reaches the campaign's files. It returns what is to be kept,
and jobs for what is too big to be done at once; nothing is written here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

from glusterlab.errors import ParseError
from glusterlab.parallel import Outcome
from glusterlab.run.measured import read_result
from glusterlab.store.evidence import unpacked
from glusterlab.store.remote import Remote, fetched
from glusterlab.tools.records import METRICS

if TYPE_CHECKING:
    import pyarrow as pa

    from glusterlab.spec.cell import Cell
    from glusterlab.store.campaign import Sample
    from glusterlab.telemetry.blocks import Chunk

BIG_BYTES = 2 << 20
"""A telemetry file of more bytes than this is a job, or several, of its own."""

CHUNK_BYTES = 24 << 20
"""Text that one job reads at once: so much that starting it costs little, so little that memory stays small."""


Files = Mapping[Path, "Iterable[Path | Chunk]"]
"""Telemetry files, and what of each is to be read: the path itself for all of it."""


@dataclass(frozen=True)
class SampleJob:
    """One sample: its row, the rows of its workers, and its small telemetry files.

    `place`: the campaign's folder. `kind` and `server_model`: of the cell's backing, for the samples table. `files`:
    the sample's files by path below the campaign's folder, and their sizes in bytes.
    """

    place: Path | Remote
    sample: Sample
    cell: Cell
    gluster_version: str
    kind: str
    server_model: str
    files: Mapping[str, int]

    @property
    def folder(self) -> str:
        """The sample's folder, below the campaign's."""
        return f"cells/{self.sample.cell_id}/sample-{self.sample.sample:02d}"


@dataclass(frozen=True)
class TelemetryJob:
    """A big telemetry file, or one part of it.

    `owner`: whose it is. `name`: the file's path below the campaign's folder. `chunk`: None means all of the file.
    `number`: of the chunk, from 0. `zone`: time zone of a file that tells local time; None takes it for UTC.
    """

    owner: SampleJob
    name: str
    chunk: Chunk | None = None
    number: int = 0
    zone: str | None = None

    @property
    def token(self) -> str:
        """What the sample waits for."""
        return self.name if self.chunk is None else f"{self.name}#{self.number}"


Job = SampleJob | TelemetryJob


@dataclass(frozen=True)
class Part:
    """Something to be kept of a sample, and what the sample waits for.

    `sample`: the sample's folder below the campaign's. `opens` and `closes`: tokens of jobs that are still to be done,
    and of those that are done. `row`: for the samples table. `workers`: for the workers table. `parquet`: rows for the
    telemetry table; empty when there are none. `name`: what tells the Parquet file from others of the sample; empty for
    the small files' one.
    """

    sample: str
    opens: tuple[str, ...] = ()
    closes: tuple[str, ...] = ()
    row: dict[str, object] | None = None
    workers: tuple[dict[str, object], ...] = ()
    parquet: bytes = b""
    name: str = ""
    rows: int = 0


def work(job: Job) -> Outcome[Job, Part]:
    """Do one job.

    Raises ParseError when a valid sample's raw file cannot be read. Raises DataError when a file cannot be fetched.
    """
    if isinstance(job, SampleJob):
        return _sample(job)
    with fetched(job.owner.place, [job.name]) as root:
        path = root / job.name
        if job.chunk is None:
            return _whole_file(job, path)
        return Outcome((_one_chunk(job, path),))


def _sample(job: SampleJob) -> Outcome[Job, Part]:
    below = ("telemetry/", "workload/")  # a tool's outputs are packed, too, when they are many
    with fetched(job.place, job.files) as root, unpacked(root / job.folder, below) as folder:
        row, workers = _rows(job, folder)
        zones = _zones(job.sample, folder)
        telemetry = [path for path in sorted(folder.glob("telemetry/*")) if _host(job.sample, path.name) is not None]
        # what is packed is not read in parts: it goes with its temporary folder
        is_plain = folder == root / job.folder
        big = [path for path in telemetry if is_plain and path.stat().st_size > BIG_BYTES]
        small = [path for path in telemetry if path not in big]
        parquet, rows = _small_parquet(job, small, zones)
    names = [f"{job.folder}/telemetry/{path.name}" for path in big]
    more = tuple(TelemetryJob(job, name, zone=zones.get(Path(name).name)) for name in names)
    part = Part(
        job.folder,
        opens=tuple(each.token for each in more),
        row=row,
        workers=tuple(workers),
        parquet=parquet,
        rows=rows,
    )
    return Outcome((part,), more)


def _whole_file(job: TelemetryJob, path: Path) -> Outcome[Job, Part]:
    """One job per part of a file that every process reaches; a fetched one is read here, part by part."""
    from glusterlab.telemetry.reader import chunks

    try:
        parts = [replace(job, chunk=chunk, number=n) for n, chunk in enumerate(chunks(path, CHUNK_BYTES))]
    except ParseError:
        if job.owner.sample.status == "valid":
            raise
        parts = []
    opened = Part(job.owner.folder, opens=tuple(part.token for part in parts), closes=(job.token,))
    if isinstance(job.owner.place, Path):
        return Outcome((opened,), tuple(parts))
    return Outcome((opened, *(_one_chunk(part, path) for part in parts)))


def _one_chunk(job: TelemetryJob, path: Path) -> Part:
    assert job.chunk is not None
    parquet, rows = _parquet(job.owner, {path: [job.chunk]}, {path.name: job.zone})
    name = f"{Path(job.name).name}.{job.number:04d}"
    return Part(job.owner.folder, closes=(job.token,), parquet=parquet, name=name, rows=rows)


def _rows(job: SampleJob, folder: Path) -> tuple[dict[str, object], list[dict[str, object]]]:
    sample, cell = job.sample, job.cell
    row: dict[str, object] = {
        **{name: getattr(sample, name) for name in ("campaign", "cell_id", "sample", "repeat", "round", "order")},
        "slug": cell.slug,
        "attempt": sample.attempt,
        "status": sample.status,
        "warmup": sample.warmup,
        "reasons": "; ".join(dict.fromkeys(reason.code for reason in sample.reasons)),
        "reason_sentences": "; ".join(str(reason) for reason in sample.reasons),
        "origin": sample.origin,
        "layout": cell.layout.name,
        "type": cell.layout.type,
        "geometry": cell.layout.geometry,
        "backing": cell.layout.backing,
        "kind": job.kind,
        "server_model": job.server_model,
        **{name: getattr(cell, name) for name in ("access", "tool", "operation", "file_size_bytes", "workers")},
        "nominal_file_size_bytes": cell.nominal_file_size_bytes,
        "record_size_bytes": cell.record_size_bytes,
        "files_per_worker": cell.files_per_worker or 1,
        "scale": float(cell.model.scale),
        "operations_limited": cell.model.operations,
        "disks": sample.disks,
        "servers": len(sample.servers),
        "clients": len(sample.clients),
        "gluster_version": job.gluster_version,
        "tool_version": "",
        "start_s": None if sample.window is None else sample.window.start,
        "end_s": None if sample.window is None else sample.window.end,
    }
    try:
        result = read_result(sample, cell, folder)
    except ParseError:
        if sample.status == "valid":
            raise
        return row, []
    record = result.record
    each = [worker.throughput_bytes_per_s for worker in result.workers if worker.throughput_bytes_per_s]
    row |= {
        "tool_version": record.tool_version or "",
        "elapsed_s": record.elapsed_s,
        **{metric: getattr(record, metric) for metric in METRICS},
        "worker_min_bytes_per_s": min(each, default=record.worker_min_bytes_per_s),
        "worker_max_bytes_per_s": max(each, default=record.worker_max_bytes_per_s),
    }
    place = {"campaign": sample.campaign, "cell_id": sample.cell_id, "sample": sample.sample}
    columns = ("worker", "bytes", "files", "elapsed_s", "throughput_bytes_per_s", "files_per_s")
    return row, [
        {**place, **{name: getattr(worker, name) for name in columns}, "host": worker.host or ""}
        for worker in result.workers
    ]


def _zones(sample: Sample, folder: Path) -> dict[str, str]:
    """Time zones of telemetry files that tell local time, as an import's mapping gave them, by the file's name."""
    if sample.origin != "imported":
        return {}
    from glusterlab.store.imported import read_import

    files = read_import(folder).telemetry
    return {Path(file.file).name: file.timezone for file in files if file.timezone is not None}


def _host(sample: Sample, file: str) -> tuple[str, str] | None:
    """Host and role of a telemetry file; None where it is of no host of the sample.

    A file is named ``<host>.<kind>``; host names may have dots, so the longest that fits is taken.
    """
    roles = {**dict.fromkeys(sample.clients, "client"), **dict.fromkeys(sample.servers, "server")}
    host = max((host for host in roles if file.startswith(f"{host}.")), key=len, default=None)
    return None if host is None else (host, roles[host])


def _parquet(job: SampleJob, files: Files, zones: Mapping[str, str | None]) -> tuple[bytes, int]:
    """Telemetry of files, or of parts of them, as one Parquet file in memory, and its number of rows."""
    from glusterlab.telemetry.arrow import write_parquet

    sink = BytesIO()
    rows = write_parquet(_tables(job, files, zones), sink)
    return sink.getvalue(), rows


def _small_parquet(job: SampleJob, paths: Sequence[Path], zones: Mapping[str, str | None]) -> tuple[bytes, int]:
    """As `_parquet`, of small files: those of a regular form are read together."""
    from glusterlab.telemetry.arrow import write_parquet

    sink = BytesIO()
    rows = write_parquet(_small_tables(job, paths, zones), sink)
    return sink.getvalue(), rows


def _small_tables(job: SampleJob, paths: Sequence[Path], zones: Mapping[str, str | None]) -> Iterator[pa.Table]:
    from glusterlab.telemetry.arrow import batches, read_together
    from glusterlab.telemetry.columns import NotRegular

    constants: dict[str, str | int] = {
        "campaign": job.sample.campaign,
        "cell_id": job.sample.cell_id,
        "sample": job.sample.sample,
    }
    for batch in batches(paths):
        if isinstance(batch, Path):
            yield from _tables(job, {batch: [batch]}, zones)
            continue
        places = [place for path in batch if (place := _host(job.sample, path.name)) is not None]
        try:
            yield read_together(
                list(batch.values()), [host for host, _ in places], [role for _, role in places], constants
            )
        except NotRegular:
            yield from _tables(job, {path: [path] for path in batch}, zones)


def _tables(job: SampleJob, files: Files, zones: Mapping[str, str | None]) -> Iterator[pa.Table]:
    from glusterlab.telemetry.arrow import arrow_batches

    for path, sources in files.items():
        host, role = _host(job.sample, path.name) or ("", "")
        constants: dict[str, str | int | float] = {
            "campaign": job.sample.campaign,
            "cell_id": job.sample.cell_id,
            "sample": job.sample.sample,
            "host": host,
            "role": role,
        }
        try:
            for source in sources:
                yield from arrow_batches(source, constants, zones.get(path.name))
        except ParseError:
            if job.sample.status == "valid":
                raise
