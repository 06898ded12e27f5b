"""Telemetry as Arrow tables in the long form of the telemetry table, and as Parquet.

Text columns are dictionaries whose codes are built from the blocks, so no text is hashed per row, and Parquet takes the
dictionaries as they are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from glusterlab.telemetry.blocks import Block, Chunk
from glusterlab.telemetry.metrics import TABLE_ACTIVITIES, counts_caches, normalise
from glusterlab.telemetry.reading import read, read_chunk

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

BATCH_ROWS = 1 << 20
"""A table has at least so many rows, but for the last: fewer make more row groups of less use."""

DICTIONARY_COLUMNS = ("campaign", "cell_id", "host", "role", "activity", "device", "metric")
"""Columns of text."""


@dataclass
class _Names:
    """Texts of a dictionary column, in the order in which they were met."""

    codes: dict[str, int] = field(default_factory=dict)

    def code(self, name: str) -> int:
        return self.codes.setdefault(name, len(self.codes))

    def array(self, codes: NDArray[Any]) -> pa.DictionaryArray:
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
    def __init__(self, constants: Mapping[str, str | int | float], offset_s: float) -> None:
        self.constants = constants
        self.offset_s = offset_s
        self.names = {name: _Names() for name in ("host", "activity", "device", "metric")}
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
            names = np.array([self.names["device"].code(str(name)) for name in block.device.categories], dtype=np.int32)
            device = names[block.device.codes]
        metrics = np.array([self.names["metric"].code(name) for name in values], dtype=np.int16)
        time = block.time - (0.0 if block.utc else self.offset_s if block.dated else np.nan)
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


def arrow_batches(
    source: Path | Chunk,
    constants: Mapping[str, str | int | float],
    offset_s: float = 0.0,
    batch_rows: int = BATCH_ROWS,
) -> Iterator[pa.Table]:
    """Telemetry in the long form of ``tables.SCHEMAS["telemetry"]``, without averages.

    Parameters
    ----------
    source : pathlib.Path or Chunk
    constants : mapping
        Values of ``campaign``, ``cell_id``, ``sample``, ``role``, and of ``host`` where it is not to be the file's.
    offset_s : float
        Of the host's local time from UTC, east is positive: sar prints local time without its offset.
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
    batches = _Batches(constants, offset_s)
    blocks = read(source) if isinstance(source, Path) else read_chunk(source)
    try:
        for block in blocks:
            batches.add(block)
            if batches.rows >= batch_rows:
                yield batches.table()
    finally:
        blocks.close()  # type: ignore[attr-defined]
    if batches.rows:
        yield batches.table()


def write_parquet(
    source: Path | Chunk, target: Path, constants: Mapping[str, str | int | float], offset_s: float = 0.0
) -> int:
    """Write telemetry to a Parquet file; a chunk's part can be written by any process.

    Parameters
    ----------
    source : pathlib.Path or Chunk
    target : pathlib.Path
    constants, offset_s
        As `arrow_batches`.

    Returns
    -------
    int
        Rows written; without any there is no file.

    Raises
    ------
    ParseError
        As `arrow_batches`; the file then has what is whole.
    """
    import pyarrow.parquet as pq

    writer = None
    rows = 0
    try:
        for table in arrow_batches(source, constants, offset_s):
            if writer is None:
                writer = pq.ParquetWriter(
                    target, table.schema, compression="snappy", use_dictionary=[*DICTIONARY_COLUMNS, "sample", "time_s"]
                )
            writer.write_table(table)
            rows += len(table)
    finally:
        if writer is not None:
            writer.close()
    return rows
