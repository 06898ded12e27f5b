"""The work behind the tables: one sample, or one part of a big telemetry file, becomes rows.

Each job stands alone, so it can run in any process that reaches the campaign's files. It returns what is to be kept,
and jobs for what is too big to be done at once; nothing is written here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

from glusterlab.errors import ParseError
from glusterlab.measured import read_result
from glusterlab.schedule import Outcome
from glusterlab.storage import Remote, fetched

if TYPE_CHECKING:
    import pyarrow as pa

    from glusterlab.raw import Sample
    from glusterlab.spec.cell import Cell
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

    Attributes
    ----------
    place : pathlib.Path or Remote
        The campaign's folder.
    sample : Sample
    cell : Cell
    gluster_version : str
    kind, server_model : str
        Of the cell's backing, for the samples table.
    files : mapping of str to int
        The sample's files by path below the campaign's folder, and their sizes in bytes.
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

    Attributes
    ----------
    owner : SampleJob
        Whose it is.
    name : str
        The file's path below the campaign's folder.
    chunk : Chunk or None
        None stands for all of the file.
    number : int
        Of the chunk, from 0.
    zone : str or None
        Time zone of a file that tells local time; None takes it for UTC.
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

    Attributes
    ----------
    sample : str
        The sample's folder below the campaign's.
    opens, closes : tuple of str
        Tokens of jobs that are still to be done, and of those that are done.
    row : dict or None
        For the samples table.
    workers : tuple of dict
        For the workers table.
    parquet : bytes
        Rows for the telemetry table; empty when there are none.
    name : str
        What tells the Parquet file from others of the sample; empty for the small files' one.
    rows : int
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

    Raises
    ------
    ParseError
        When a valid sample's raw file cannot be read.
    DataError
        When a file cannot be fetched.
    """
    if isinstance(job, SampleJob):
        return _sample(job)
    with fetched(job.owner.place, [job.name]) as root:
        path = root / job.name
        if job.chunk is None:
            return _whole_file(job, path)
        return Outcome((_one_chunk(job, path),))


def _sample(job: SampleJob) -> Outcome[Job, Part]:
    telemetry = _hosts(job)
    big = [name for name in telemetry if job.files[name] > BIG_BYTES]
    wanted = [name for name in job.files if name not in big]
    with fetched(job.place, wanted) as root:
        row, workers = _rows(job, root / job.folder)
        zones = _zones(job.sample, root / job.folder)
        small = [root / name for name in telemetry if name not in big]
        parquet, rows = _small_parquet(job, small, zones)
    more = tuple(TelemetryJob(job, name, zone=zones.get(Path(name).name)) for name in big)
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
    from glusterlab.telemetry.reading import chunks

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
    each = [worker.throughput_bytes_per_s for worker in result.worker_results if worker.throughput_bytes_per_s]
    row |= {
        "tool_version": result.tool_version or "",
        "elapsed_s": result.elapsed_s,
        "throughput_bytes_per_s": result.throughput_bytes_per_s,
        "files_per_s": result.files_per_s,
        "operations_per_s": result.operations_per_s,
        "worker_min_bytes_per_s": min(each, default=result.worker_min_bytes_per_s),
        "worker_max_bytes_per_s": max(each, default=result.worker_max_bytes_per_s),
    }
    place = {"campaign": sample.campaign, "cell_id": sample.cell_id, "sample": sample.sample}
    return row, [{**place, **vars(worker), "host": worker.host or ""} for worker in result.worker_results]


def _zones(sample: Sample, folder: Path) -> dict[str, str]:
    """Time zones of telemetry files that tell local time, as an import's mapping gave them, by the file's name."""
    if sample.origin != "imported":
        return {}
    from glusterlab.imports.sample import read_import

    files = read_import(folder).telemetry
    return {Path(file.file).name: file.timezone for file in files if file.timezone is not None}


def _hosts(job: SampleJob) -> dict[str, tuple[str, str]]:
    """Host and role of each telemetry file of a sample, in the files' order.

    A file is named ``<host>.<kind>``; host names may have dots, so the longest that fits is taken.
    """
    roles = {**dict.fromkeys(job.sample.clients, "client"), **dict.fromkeys(job.sample.servers, "server")}
    found = {}
    for name in sorted(job.files):
        folder, _, file = name.rpartition("/")
        if folder != f"{job.folder}/telemetry":
            continue
        hosts = [host for host in roles if file.startswith(f"{host}.")]
        if hosts:
            host = max(hosts, key=len)
            found[name] = (host, roles[host])
    return found


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
    from glusterlab.telemetry.columns import NotRegular
    from glusterlab.telemetry.together import batches, read_together

    hosts = {Path(name).name: place for name, place in _hosts(job).items()}
    constants: dict[str, str | int] = {
        "campaign": job.sample.campaign,
        "cell_id": job.sample.cell_id,
        "sample": job.sample.sample,
    }
    for batch in batches(paths):
        if isinstance(batch, Path):
            yield from _tables(job, {batch: [batch]}, zones)
            continue
        places = [hosts[path.name] for path in batch]
        try:
            yield read_together(
                list(batch.values()), [host for host, _ in places], [role for _, role in places], constants
            )
        except NotRegular:
            yield from _tables(job, {path: [path] for path in batch}, zones)


def _tables(job: SampleJob, files: Files, zones: Mapping[str, str | None]) -> Iterator[pa.Table]:
    from glusterlab.telemetry.arrow import arrow_batches

    hosts = {Path(name).name: place for name, place in _hosts(job).items()}
    for path, sources in files.items():
        host, role = hosts[path.name]
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
