"""Telemetry as Arrow tables in the long form of the telemetry table, and as Parquet.

Text columns are dictionaries whose codes are built from the blocks, so no text is hashed per row, and Parquet takes the
dictionaries as they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from glusterlab.telemetry.blocks import Block, Chunk
from glusterlab.telemetry.metrics import TABLE_ACTIVITIES, counts_caches, normalise
from glusterlab.telemetry.reading import read, read_chunk

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

BATCH_ROWS = 1 << 20
"""A table has at least so many rows, but for the last: fewer make more row groups of less use."""

GROUP_ROWS = 1 << 18
"""Fewer rows are gathered before they are written: the telemetry of many hosts makes one group."""


@dataclass
class Codes:
    """Texts of a dictionary column, in the order in which they were met."""

    codes: dict[str, int] = field(default_factory=dict)

    def code(self, name: str) -> int:
        """The code of a text."""
        return self.codes.setdefault(name, len(self.codes))

    def array(self, codes: NDArray[Any]) -> pa.DictionaryArray:
        """The column of these codes."""
        import pyarrow as pa

        return pa.DictionaryArray.from_arrays(pa.array(codes), pa.array(list(self.codes) or [""], type=pa.string()))


@dataclass
class _Part:
    host: int
    activity: int
    time: NDArray[np.float64]
    device: NDArray[np.int32]
    metric: NDArray[np.int16]
    value: NDArray[np.float64]


class _Batches:
    def __init__(self, constants: Mapping[str, str | int | float], zone: str | None) -> None:
        self.constants = constants
        self.zone = zone
        self.names = {name: Codes() for name in ("host", "activity", "device", "metric")}
        self.older: set[str | None] = set()
        self.parts: list[_Part] = []
        self.rows = 0

    def add(self, block: Block) -> None:
        """Take a block, in SI units."""
        import numpy as np

        if counts_caches(block):
            self.older.add(block.host)
        values = normalise(block, block.host in self.older)
        rows, count = len(block), len(values)
        if block.device is None:
            device = np.full(rows, self.names["device"].code(""), dtype=np.int32)
        else:
            names = np.array([self.names["device"].code(name) for name in block.device.categories], dtype=np.int32)
            device = names[block.device.codes]
        metrics = np.array([self.names["metric"].code(name) for name in values], dtype=np.int16)
        time = _epoch(block, self.zone)
        part = _Part(
            self.names["host"].code(str(self.constants.get("host", block.host or ""))),
            self.names["activity"].code(TABLE_ACTIVITIES.get(block.activity, block.activity)),
            np.tile(time, count),
            np.tile(device, count),
            np.repeat(metrics, rows),
            np.concatenate(list(values.values())),
        )
        absent = np.isnan(part.value)
        if absent.any():
            kept = ~absent
            part.time, part.device = part.time[kept], part.device[kept]
            part.metric, part.value = part.metric[kept], part.value[kept]
        self.parts.append(part)
        self.rows += len(part.value)

    def table(self) -> pa.Table:
        """What was taken, and forget it."""
        import numpy as np
        import pyarrow as pa

        parts, rows = self.parts, self.rows
        self.parts, self.rows = [], 0
        zeros = np.zeros(rows, dtype=np.int8)
        lengths = [len(part.value) for part in parts]

        def constant(name: str) -> pa.DictionaryArray:
            return pa.DictionaryArray.from_arrays(pa.array(zeros), pa.array([str(self.constants.get(name, ""))]))

        def each(name: str, codes: list[int], dtype: type[np.signedinteger[Any]]) -> pa.DictionaryArray:
            return self.names[name].array(np.repeat(np.array(codes, dtype=dtype), lengths))

        columns = {
            "campaign": constant("campaign"),
            "cell_id": constant("cell_id"),
            "sample": pa.array(np.full(rows, int(self.constants.get("sample", 0)), dtype=np.int64)),
            "host": each("host", [part.host for part in parts], np.int16),
            "role": constant("role"),
            "time_s": pa.array(np.concatenate([part.time for part in parts])),
            "activity": each("activity", [part.activity for part in parts], np.int8),
            "device": self.names["device"].array(np.concatenate([part.device for part in parts])),
            "metric": self.names["metric"].array(np.concatenate([part.metric for part in parts])),
            "value": pa.array(np.concatenate([part.value for part in parts])),
        }
        return pa.table(columns)


def _epoch(block: Block, zone: str | None) -> NDArray[np.float64]:
    """Epoch seconds of a block's rows; NaN where the file has no date."""
    import numpy as np

    if not block.dated:
        return np.full(len(block), np.nan)
    if block.utc or zone is None:
        return block.time
    import pandas as pd

    local = pd.to_datetime(block.time, unit="s").as_unit("us")
    # the hour that comes twice is taken for its first coming, and one that is skipped for the end of the gap
    first = np.ones(len(local), dtype=bool)
    moments = local.tz_localize(zone, ambiguous=first, nonexistent="shift_forward")
    epoch: NDArray[np.float64] = moments.asi8 / 1e6
    return epoch


def arrow_batches(
    source: Path | Chunk,
    constants: Mapping[str, str | int | float],
    zone: str | None = None,
    batch_rows: int = BATCH_ROWS,
) -> Iterator[pa.Table]:
    """Telemetry in the long form of ``schemas.SCHEMAS["telemetry"]``, without averages.

    Parameters
    ----------
    source : pathlib.Path or Chunk
    constants : mapping
        Values of ``campaign``, ``cell_id``, ``sample``, ``role``, and of ``host`` where it is not to be the file's.
    zone : str, optional
        Time zone of the host, such as ``Europe/Rome``: sar prints local time without its offset. None takes it for
        UTC.
    batch_rows : int
        Rows of a table, at least.

    Yields
    ------
    pyarrow.Table
        All with the same schema. Rows without a number are left out; ``time_s`` is NaN where the file has no date.

    Raises
    ------
    ParseError
        As `read_chunk`, after what is whole.
    """
    batches = _Batches(constants, zone)
    blocks = read(source) if isinstance(source, Path) else read_chunk(source)
    for block in blocks:
        batches.add(block)
        if batches.rows >= batch_rows:
            yield batches.table()
    if batches.rows:
        yield batches.table()


def write_parquet(tables: Iterable[pa.Table], sink: Path | BinaryIO) -> int:
    """Write telemetry as one Parquet file.

    Parameters
    ----------
    tables : iterable of pyarrow.Table
        As `arrow_batches` yields them, of any number of files; small ones are gathered.
    sink : pathlib.Path or binary stream

    Returns
    -------
    int
        Rows written; without any nothing is written.

    Raises
    ------
    ParseError
        As the tables' maker; the file then has what is whole.
    """
    import pyarrow.parquet as pq

    writer = None
    rows = 0
    try:
        for table in _gathered(tables):
            if writer is None:
                # time stamps and texts come again and again; a dictionary of values costs more than it saves
                repeated = [name for name in table.column_names if name != "value"]
                writer = pq.ParquetWriter(sink, table.schema, compression="zstd", use_dictionary=repeated)
            writer.write_table(table)
            rows += table.num_rows
    finally:
        if writer is not None:
            writer.close()
    return rows


def _gathered(tables: Iterable[pa.Table]) -> Iterator[pa.Table]:
    import pyarrow as pa

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
