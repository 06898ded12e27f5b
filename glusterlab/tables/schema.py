"""The columns of a campaign's tables: pandas type, meaning and unit, in one place; and the same for Arrow."""

from collections.abc import Mapping
from typing import Literal

import pandas as pd
import pyarrow as pa

from glusterlab.errors import DataError

TableName = Literal["samples", "workers", "telemetry"]

SCHEMAS: Mapping[TableName, Mapping[str, tuple[str, str]]] = {
    "samples": {
        "campaign": ("str", "its name"),
        "cell_id": ("str", "the same in every campaign"),
        "slug": ("str", "the cell for people"),
        "sample": ("int64", "execution of the cell, from 1"),
        "repeat": ("int64", "from 1"),
        "round": ("int64", "of the interleaved order, from 1; those of a warm-up come before and end with 0"),
        "order": ("int64", "place in the plan"),
        "attempt": ("int64", "of the repeat, from 1"),
        "machine": ("int64", "the environment file: 1, or that of a testbed that moved, or of tools that came later"),
        "warmup": ("bool", "there to warm up alone: never drawn, and no repeat"),
        "status": ("str", "valid, invalid or failed; only valid samples are drawn"),
        "reasons": ("str", "codes, separated by '; ': `glusterlab.reasons.MEANINGS` has what each means"),
        "reason_sentences": ("str", "what was expected and found, with code and host, separated by '; '"),
        "origin": ("str", "measured, or imported: then the conditions of the measurement are not known"),
        "layout": ("str", "its label"),
        "options": ("str", "of the volume, each as name=value, sorted and separated by '; '"),
        "type": ("str", "distribute, replicate or disperse"),
        "geometry": ("str", "such as 12x(4+2)"),
        "backing": ("str", "what the bricks lie on, as the cluster names it"),
        "kind": ("str", "of the backing: jbod, raid6, ...; its name where the cluster is not known"),
        "hot": ("str", "geometry of the hot tier, such as 3x2; empty without one"),
        "hot_kind": ("str", "of the hot tier's backing: nvme, ...; empty without one"),
        "features": ("str", "of the volume: bitrot and quota, separated by '; '; empty without any"),
        "server_model": ("str", "entry of server_models in cluster.yaml; empty where none is named"),
        "access": ("str", "native, ..."),
        "served_by": ("str", "what served NFS or SMB: gnfs, ganesha.nfsd or smbd; empty for others, or not known"),
        "caches": ("str", "cold: dropped before the sample; hot: filled by a pass that was not measured"),
        "event": ("str", "what happened to the pool meanwhile: rebalance or reset-brick; empty for nothing"),
        "event_throttle": ("str", "how hard a rebalance: lazy, normal or aggressive; else empty"),
        "mounts": ("int64", "mounts of the volume on each client, over which its workers are spread"),
        "tool": ("str", "its name"),
        "operation": ("str", "write, read, create"),
        "file_size_bytes": ("int64", "as written"),
        "nominal_file_size_bytes": ("int64", "what a scaled file stands for"),
        "record_size_bytes": ("float64", "NaN where it is left to the tool"),
        "files_per_worker": ("int64", "files"),
        "runtime_s": ("float64", "after which the tool ends; NaN where it ends when its files are done"),
        "rate_bytes_per_s": ("float64", "of each stream, as it was run; NaN where workers are as fast as they can"),
        "workers": ("int64", "over all clients; of streams the most that may be tried at once"),
        "scale": ("float64", "measured values times this stand for the real hardware"),
        "operations_limited": ("bool", "operations of the disks are scaled as well"),
        "heads": ("bool", "disks of the scale model have heads, which seek, or a latency"),
        "disk_latency_s": ("float64", "of each request to disks that have it in the place of heads; 0 for others"),
        "disks": ("int64", "under the layout's bricks, the divisor of 'per disk'; 0 where an import does not know"),
        "hot_disks": ("int64", "under the bricks of the hot tier, which 'per disk' does not count"),
        "promoted_files": ("float64", "moved to the hot tier while the sample was made; NaN without one"),
        "demoted_files": ("float64", "moved to the cold tier in that time; NaN without one"),
        "hot_written_fraction": (
            "float64",
            "of the bytes written to the bricks' disks: the hot tier's, by telemetry; NaN without one, or not known",
        ),
        "hot_requests_fraction": ("float64", "the same of the requests to these disks"),
        "busiest_brick_ratio": (
            "float64",
            "bytes of the busiest brick's disk over the mean of all; NaN with a hot tier or an event, or not known",
        ),
        "servers": ("int64", "hosts; 0 where an import does not know"),
        "clients": ("int64", "hosts on which workers may run; 0 where an import does not know"),
        "gluster_version": ("str", "of the servers; several are separated by ', '"),
        "tool_version": ("str", "empty where there is no result"),
        "start_s": ("float64", "epoch seconds of the command's start, on the controller; NaN for an import"),
        "end_s": ("float64", "epoch seconds of its end"),
        "part_start_s": ("float64", "epoch seconds where the measured part begins; NaN where that is not known"),
        "part_end_s": ("float64", "epoch seconds of its end: `glusterlab.tables.parts` says how it is found"),
        "elapsed_s": ("float64", "seconds of the part that the tool measured"),
        "event_start_s": (
            "float64",
            "epoch seconds when gluster had been told, on the controller; NaN without an event",
        ),
        "event_s": (
            "float64",
            "seconds that it took, a rebalance as gluster counts on the slowest server, a heal by looks; else NaN",
        ),
        "event_files": ("float64", "files that the event moved; NaN where gluster does not say"),
        "event_bytes": ("float64", "bytes that the event moved; NaN where gluster does not say"),
        "streams_held": (
            "float64",
            "streams of the largest load that held its rate, which the other results are of; 0: of the least load",
        ),
        "throughput_bytes_per_s": (
            "float64",
            "bytes per second of all workers as the tool counts; NaN where there is none",
        ),
        "files_per_s": ("float64", "files per second of all workers; NaN for large files"),
        "operations_per_s": ("float64", "calls per second of all workers; NaN where the tool does not say"),
        "throughput_whole_bytes_per_s": ("float64", "the same from first start to last end; NaN where not known"),
        "files_whole_per_s": ("float64", "the same of files"),
        "operations_whole_per_s": ("float64", "the same of calls"),
        "latency_mean_s": ("float64", "seconds of one call; NaN where the tool does not say"),
        "latency_p50_s": ("float64", "seconds that half of the calls took at most"),
        "latency_p95_s": ("float64", "seconds that 95 % of the calls took at most"),
        "latency_p99_s": ("float64", "seconds that 99 % of the calls took at most"),
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
        "activity": (
            "category",
            "cpu, load, memory, io, disk, network, ...: `glusterlab.telemetry.metrics` has them all",
        ),
        "device": ("category", "block device, interface, CPU ('all' of them); empty for the whole host"),
        "metric": ("category", "its name ends in its unit; a fraction is of 1"),
        "value": ("float64", "in the metric's unit"),
        "measured_part": ("bool", "within the measured part of its sample; not in the files, made of part_start_s"),
    },
}
"""Columns of the tables: pandas dtype (``str`` holds text without missing values) and meaning with unit."""

MADE_ON_READING = ("telemetry", "measured_part")
"""The column that no file has: where a sample's measured part lies is known when all of its telemetry is read."""


def arrow_schema(name: TableName) -> pa.Schema:
    """The columns of a table as Parquet keeps them: text of few values as a dictionary."""
    types = {
        "str": pa.string(),
        "int64": pa.int64(),
        "float64": pa.float64(),
        "bool": pa.bool_(),
        "category": pa.dictionary(pa.int32(), pa.string()),
    }
    columns = {column: dtype for column, (dtype, _) in SCHEMAS[name].items() if (name, column) != MADE_ON_READING}
    return pa.schema([(column, types[dtype]) for column, dtype in columns.items()])


def as_schema(frame: pd.DataFrame, name: TableName) -> pd.DataFrame:
    """A table in the types of its schema; DataError where text is missing."""
    types = {column: dtype for column, (dtype, _) in SCHEMAS[name].items()}
    typed = frame.reindex(columns=list(types)).astype(types)
    for column, dtype in types.items():
        if dtype in {"str", "category"} and bool(typed[column].isna().any()):
            raise DataError(f"table {name}: expected text in every row of {column}, found rows without")
    return typed
