"""Telemetry value by value, in the order of the file: as records, and as the lines of JSON that they print as."""

import json
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from itertools import repeat
from pathlib import Path
from typing import IO

import numpy as np
from numpy.typing import NDArray

from glusterlab.errors import ParseError
from glusterlab.telemetry.blocks import Block
from glusterlab.telemetry.reader import read_batches
from glusterlab.tools.records import Source, TelemetryRecord

WINDOW_BYTES = 8 << 20
SLICE_ROWS = 4096  # rows that are printed at once: a byte of text becomes about 40 of JSON


def records(source: Path | IO[bytes], averages: bool = False) -> Iterator[TelemetryRecord]:
    """Every value of a file as a record, in its order; a stream is the standard input. Raises as `read_batches`."""
    for name, batch in _batches(source, averages):
        for number, row in zip(*(places.tolist() for places in _order(batch)), strict=True):
            block = batch[number]
            device = None if block.device is None else block.device.categories[block.device.codes[row]]
            for metric, values in block.metrics.items():
                value = float(values[row])
                yield TelemetryRecord(
                    tool=block.tool,
                    source=Source(name, int(block.lines[row])),
                    host=block.host,
                    time="average" if block.average else iso_time(float(block.time[row]), block.utc, block.dated),
                    activity=block.activity,
                    device=device or None,
                    metric=metric,
                    value=None if value != value else value,
                )


def json_lines(source: Path | IO[bytes], averages: bool = False) -> Iterator[str]:
    """What `records` gives as JSON, made column by column: texts of many lines, without the end of the last."""
    for name, batch in _batches(source, averages):
        blocks, rows = _order(batch)
        for start in range(0, len(blocks), SLICE_ROWS):
            of_block, of_row = blocks[start : start + SLICE_ROWS], rows[start : start + SLICE_ROWS]
            texts = [""] * len(of_block)
            for number in np.unique(of_block).tolist():
                places = np.flatnonzero(of_block == number)
                for place, text in zip(places.tolist(), _rows(name, batch[number], of_row[places]), strict=True):
                    texts[place] = text
            yield "\n".join(texts)


def _batches(source: Path | IO[bytes], averages: bool) -> Iterator[tuple[str, list[Block]]]:
    if isinstance(source, Path):
        for batch in read_batches(source, averages, WINDOW_BYTES):
            yield str(source), batch
        return
    with tempfile.NamedTemporaryFile(prefix="glusterlab-") as kept:
        while data := source.read(1 << 20):
            kept.write(data)
        kept.flush()
        try:
            for batch in read_batches(Path(kept.name), averages, WINDOW_BYTES):
                yield "-", batch
        except ParseError as error:
            raise ParseError(error.message, file=Path("-"), line=error.line) from error


def _order(batch: Sequence[Block]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    sizes = [len(block) for block in batch]
    order = np.argsort(np.concatenate([np.arange(0), *(block.lines for block in batch)]), kind="stable")
    return np.repeat(np.arange(len(batch)), sizes)[order], np.concatenate([np.arange(0), *map(np.arange, sizes)])[order]


def _rows(name: str, block: Block, rows: NDArray[np.int64]) -> list[str]:
    """The lines of JSON of each of these rows, as `TelemetryRecord.to_json` writes them."""
    count = len(rows)
    times: Iterable[str] = repeat("average")
    if not block.average:
        times = map(iso_time, block.time[rows].tolist(), repeat(block.utc), repeat(block.dated))
    devices = ["null"] * count
    if block.device is not None:
        devices = [_text(block.device.categories[code] or None) for code in block.device.codes[rows].tolist()]
    tool = f'"tool": "{block.tool}", "tool_version": null'
    file, host, activity = _text(name), f'"host": {_text(block.host)}', f'"activity": {_text(block.activity)}'
    fronts = [
        f'{{"kind": "telemetry", {tool}, "source": {{"file": {file}, "line": {number}}}, {host}, "time": "{time}", '
        f'{activity}, "device": {device}, "metric": '
        for number, time, device in zip(block.lines[rows].tolist(), times, devices, strict=False)
    ]
    numbers = np.concatenate([column[rows] for column in block.metrics.values()])
    # the repr of a whole list costs a third of that of its numbers
    values = repr(numbers.tolist())[1:-1].split(", ")
    if not np.isfinite(numbers).all():
        values = ["null" if text in {"nan", "inf", "-inf"} else text for text in values]
    columns: list[Iterable[str]] = []
    end = ""
    for at, metric in enumerate(block.metrics):
        columns += [fronts, repeat(f'{_text(metric)}, "value": '), values[at * count : (at + 1) * count]]
        columns[-3:-3] = [repeat(end)] if end else []
        end = ', "details": {}}\n'
    return list(map("".join, zip(*columns, repeat(end.rstrip()), strict=False)))


@lru_cache(maxsize=4096)
def _text(value: str | None) -> str:
    return json.dumps(value, ensure_ascii=False)


@lru_cache(maxsize=4096)
def iso_time(seconds: float, utc: bool, dated: bool) -> str:
    """A block's time as ISO 8601: with an offset when it is UTC, without a date when the file has none."""
    moment = datetime.fromtimestamp(seconds, UTC)
    return (moment.time() if not dated else moment if utc else moment.replace(tzinfo=None)).isoformat()
