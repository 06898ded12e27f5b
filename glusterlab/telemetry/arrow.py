"""Telemetry as Arrow tables in the long form of the telemetry table, and as Parquet.

The small regular files of a sample's hosts are read at once (`read_together`), because to begin a table costs more than
the rows of one host; all that needs care is left to `arrow_batches`, file by file.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from glusterlab.errors import ParseError
from glusterlab.telemetry.blocks import Block, Chunk
from glusterlab.telemetry.columns import NotRegular
from glusterlab.telemetry.metrics import TABLE_ACTIVITIES, counts_caches, impossible, normalise
from glusterlab.telemetry.reader import read_batches, read_chunk
from glusterlab.telemetry.sadf import grouped, read_rows
from glusterlab.tools.document import PACKED_ERRORS, open_binary

BATCH_ROWS = 1 << 20  # rows of a table at least, but for the last: fewer make more row groups of less use
GROUP_ROWS = 1 << 18  # fewer rows are gathered before they are written: the telemetry of many hosts makes one group
MAX_BYTES = 1 << 20  # a file of more text is not read together with others
BATCH_BYTES = 8 << 20  # so much text of several files is read at once

_BEGINNING = b"# hostname;interval;timestamp;"
# restarts, comments of sadc, several tables in one row, binary data: files with these are read alone
_IRREGULAR = (b"\x00", b"\r", b"LINUX-RESTART", b";COM ", b"[...]", b"\n\n", b"#\n", b"\xef\xbb\xbf")


Floats = NDArray[np.float64]
Codes = int | NDArray[Any]  # one per row, or the same for all of them


class _Batches:
    """Rows of blocks until a table is made of them."""

    def __init__(self, constants: Mapping[str, str | int | float]) -> None:
        self.constants = constants
        # codes of the texts of dictionary columns, in the order in which they were met
        texts = ("host", "role", "activity", "device", "metric")
        self.names = {name: defaultdict[str, int](count().__next__) for name in texts}
        self.parts: list[dict[str, NDArray[Any]]] = []
        self.rows = 0

    def add(self, block: Block, values: Mapping[str, Floats], time: Floats, host: Codes, role: Codes) -> None:
        """Take a block with its values in SI units."""
        rows, count = len(block), len(values)
        names = [""] if block.device is None else block.device.categories
        device = np.array([self.names["device"][name] for name in names], dtype=np.int32)
        device = np.repeat(device, rows) if block.device is None else device[block.device.codes]
        activity = self.names["activity"][TABLE_ACTIVITIES.get(block.activity, block.activity)]
        metrics = np.array([self.names["metric"][name] for name in values], dtype=np.int16)

        def each(codes: Codes, dtype: type[np.signedinteger[Any]]) -> NDArray[Any]:
            return np.tile(np.broadcast_to(np.asarray(codes, dtype), rows), count)

        part = {
            "host": each(host, np.int16),
            "role": each(role, np.int8),
            "time_s": np.tile(time, count),
            "activity": each(activity, np.int8),
            "device": np.tile(device, count),
            "metric": np.repeat(metrics, rows),
            "value": np.concatenate(list(values.values())),
        }
        absent = np.isnan(part["value"])
        if absent.any():
            part = {name: column[~absent] for name, column in part.items()}
        self.parts.append(part)
        self.rows += len(part["value"])

    def table(self) -> pa.Table:
        parts, rows = self.parts, self.rows
        self.parts, self.rows = [], 0

        def constant(name: str) -> pa.DictionaryArray:
            codes = pa.array(np.zeros(rows, dtype=np.int8))
            return pa.DictionaryArray.from_arrays(codes, pa.array([str(self.constants.get(name, ""))]))

        columns: dict[str, Any] = {
            "campaign": constant("campaign"),
            "cell_id": constant("cell_id"),
            "sample": pa.array(np.full(rows, int(self.constants.get("sample", 0)), dtype=np.int64)),
        }
        for name in tuple(parts[0]):
            columns[name] = pa.array(np.concatenate([part.pop(name) for part in parts]))
            if name in self.names:
                texts = pa.array(list(self.names[name]) or [""], type=pa.string())
                columns[name] = pa.DictionaryArray.from_arrays(columns[name], texts)
        return pa.table(columns)


def epoch_of(block: Block, zone: str | None) -> Floats:
    """Epoch seconds of a block's rows; NaN where the file has no date."""
    if not block.dated:
        return np.full(len(block), np.nan)
    if block.utc or zone is None:
        return block.time
    import pandas as pd

    local = pd.to_datetime(block.time, unit="s").as_unit("us")
    # the hour that comes twice is taken for its first coming, and one that is skipped for the end of the gap
    moments = local.tz_localize(zone, ambiguous=np.ones(len(local), dtype=bool), nonexistent="shift_forward")
    return np.asarray(moments.asi8 / 1e6)


def arrow_batches(
    source: Path | Chunk, constants: Mapping[str, str | int | float], zone: str | None = None
) -> Iterator[pa.Table]:
    """Telemetry of a file or a chunk in the long form of ``SCHEMAS["telemetry"]``, without averages.

    `constants` has campaign, cell_id, sample, role, and host where it is not to be the file's. `zone`
    is the host's, such as ``Europe/Rome``; None takes its time for UTC. Rows without a number are left out; ``time_s``
    is NaN where the file has no date. `ParseError` as `read_chunk`, after what is whole.
    """
    batches = _Batches(constants)
    role = batches.names["role"][str(constants.get("role", ""))]
    older: set[str | None] = set()
    for batch in read_batches(source) if isinstance(source, Path) else read_chunk(source):
        for block in batch:
            if counts_caches(block):
                older.add(block.host)
            host = batches.names["host"][str(constants.get("host", block.host or ""))]
            batches.add(block, normalise(block, block.host in older), epoch_of(block, zone), host, role)
            if batches.rows >= BATCH_ROWS:
                yield batches.table()
    if batches.rows:
        yield batches.table()


def regular_text(path: Path) -> bytes | None:
    """The text of a small regular file of ``sadf -d``; None when it is neither."""
    try:
        with open_binary(path) as stream:
            text = stream.read(MAX_BYTES + 1)
    except (ParseError, OSError, *PACKED_ERRORS):
        return None
    if len(text) > MAX_BYTES or not text.startswith(_BEGINNING) or not text.endswith(b"\n"):
        return None
    return None if any(mark in text for mark in _IRREGULAR) else text


def batches(paths: Sequence[Path]) -> Iterator[dict[Path, bytes] | Path]:
    """The files in their order: texts of regular ones together, as many as `BATCH_BYTES` allow, others alone."""
    gathered: dict[Path, bytes] = {}
    size = 0
    for path in paths:
        text = regular_text(path)
        if text is None or size + len(text) > BATCH_BYTES:
            if gathered:
                yield gathered
            gathered, size = {}, 0
        if text is None:
            yield path
        else:
            gathered[path] = text
            size += len(text)
    if gathered:
        yield gathered


def read_together(
    texts: Sequence[bytes], hosts: Sequence[str], roles: Sequence[str], constants: Mapping[str, str | int]
) -> pa.Table:
    """Telemetry of hosts, of texts as `regular_text` returned them, with the host and the role of each.

    Rows of one host, activity, device and metric are in the file's order. `NotRegular` for other texts, and for no row.
    """
    groups = grouped(texts)
    memory = [file for group in groups if group.table.activity == "memory" for file in dict(group.sections)]
    # what one table of memory says of a host's sysstat holds for the others, too
    if not groups or len(memory) != len(set(memory)):
        raise NotRegular
    # rows of USB devices have another order of columns than their header
    if any(not group.header.isascii() or group.table.activity == "usb" for group in groups):
        raise NotRegular
    batches = _Batches(constants)
    host_codes = np.array([batches.names["host"][host] for host in hosts], dtype=np.int16)
    role_codes = np.array([batches.names["role"][role] for role in roles], dtype=np.int8)
    for group in groups:
        names, block = read_rows(group.rows, group.columns, group.table)
        places = np.array([(file, section.count(b"\n")) for file, section in group.sections], dtype=np.int32)
        files = np.repeat(*places.T)
        # one host per file, whatever it calls itself
        pairs = np.unique(files.astype(np.int64) * len(names.categories) + names.codes)
        if len(pairs) != len(dict(group.sections)) or not block.utc or impossible(block) is not None:
            raise NotRegular
        values = normalise(block)
        # each host counts its memory as its own sysstat does
        for file in np.unique(files).tolist() if group.table.activity == "memory" else ():
            rows = files == file
            metrics = {name: column[rows] for name, column in block.metrics.items()}
            own = replace(block, device=None, time=block.time[rows], metrics=metrics)
            if counts_caches(own):
                values["used_bytes"] = values["used_bytes"].copy()
                values["used_bytes"][rows] = normalise(own, older=True)["used_bytes"]
        batches.add(block, values, block.time, host_codes[files], role_codes[files])
    return batches.table()


def write_parquet(tables: Iterable[pa.Table], sink: Path | BinaryIO) -> int:
    """Write tables as one Parquet file, what is whole before a `ParseError`, or none without any; return its rows."""
    writer, rows = None, 0
    with ExitStack() as closing:
        for table in _gathered(tables):
            if writer is None:
                # time stamps and texts come again and again; a dictionary of values costs more than it saves
                repeated = [name for name in table.column_names if name != "value"]
                writer = pq.ParquetWriter(sink, table.schema, compression="zstd", use_dictionary=repeated)
                closing.callback(writer.close)
            writer.write_table(table)
            rows += table.num_rows
    return rows


def _gathered(tables: Iterable[pa.Table]) -> Iterator[pa.Table]:
    def joined() -> pa.Table:
        return waiting[0] if len(waiting) == 1 else pa.concat_tables(waiting).unify_dictionaries().combine_chunks()

    waiting: list[pa.Table] = []
    rows = 0
    for table in tables:
        waiting.append(table)
        rows += table.num_rows
        if rows >= GROUP_ROWS:
            yield joined()
            waiting, rows = [], 0
    if waiting:
        yield joined()
