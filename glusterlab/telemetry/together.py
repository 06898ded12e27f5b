"""The small files of a sample's hosts, read at once: a table of one host is so short that to begin it costs the most.

Only what ``sadf -d`` writes on every host in the same regular form is taken. Everything else, and all that is damaged,
is left to `glusterlab.telemetry.arrow`, which reads file by file and says what is wrong.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from glusterlab.errors import ParseError
from glusterlab.readers.document import PACKED_ERRORS, open_binary
from glusterlab.telemetry.arrow import Codes
from glusterlab.telemetry.blocks import Block
from glusterlab.telemetry.columns import NotRegular, parse
from glusterlab.telemetry.metrics import TABLE_ACTIVITIES, counts_caches, normalise
from glusterlab.telemetry.sadf import columns_of, names_of, time_of
from glusterlab.telemetry.sysstat import Header, header_of

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

MAX_BYTES = 1 << 20
"""A file of more text is read by itself."""

BATCH_BYTES = 8 << 20
"""So much text is read at once."""

_BEGINNING = b"# hostname;interval;timestamp;"
_IRREGULAR = (b"\x00", b"\r", b"LINUX-RESTART", b";COM ", b"[...]", b"\n\n", b"#\n", b"\xef\xbb\xbf")
"""Restarts, comments of sadc, several tables in one row, binary data: nothing that needs care is read here."""


@dataclass
class _Group:
    """The rows of all files that have one header.

    Attributes
    ----------
    files : list of int
        Places of the files among those that are read, by section.
    """

    columns: tuple[str, ...]
    table: Header
    sections: list[bytes] = field(default_factory=list)
    files: list[int] = field(default_factory=list)


def regular_text(path: Path) -> bytes | None:
    """The text of a small regular file; None when it is neither."""
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
    """Telemetry of hosts in the long form of ``schemas.SCHEMAS["telemetry"]``.

    Parameters
    ----------
    texts : sequence of bytes
        As `regular_text` returned them.
    hosts, roles : sequence of str
        Of each text.
    constants : mapping
        ``campaign``, ``cell_id`` and ``sample``.

    Returns
    -------
    pyarrow.Table
        As `glusterlab.telemetry.arrow.arrow_batches` gives, in another order of rows: those of one host, activity,
        device and metric are in the order of the file.

    Raises
    ------
    NotRegular
        When a text is not regular after all, or none of them has a row.
    """
    import numpy as np
    import pyarrow as pa

    names = {name: Codes() for name in ("activity", "device", "metric")}
    columns: dict[str, list[NDArray[Any]]] = {name: [] for name in ("file", "time_s", "value", *names)}
    groups = _groups(texts)
    if not groups:
        raise NotRegular
    memory = [file for group in groups for file in set(group.files) if group.table.activity == "memory"]
    if len(memory) != len(set(memory)):
        # what one table says of a host's sysstat holds for the others, too
        raise NotRegular
    for group in groups:
        files, block = _block(group)
        values = normalise(block)
        if group.table.activity == "memory":
            _count_as_each_host_does(values, block, files)
        rows, count = len(block), len(values)
        if block.device is None:
            device = np.full(rows, names["device"].code(""), dtype=np.int32)
        else:
            found = [names["device"].code(name) for name in block.device.categories]
            device = np.array(found, dtype=np.int32)[block.device.codes]
        activity = names["activity"].code(TABLE_ACTIVITIES.get(block.activity, block.activity))
        metrics = np.array([names["metric"].code(name) for name in values], dtype=np.int16)
        columns["file"].append(np.tile(files, count))
        columns["time_s"].append(np.tile(block.time, count))
        columns["activity"].append(np.full(rows * count, activity, dtype=np.int8))
        columns["device"].append(np.tile(device, count))
        columns["metric"].append(np.repeat(metrics, rows))
        columns["value"].append(np.concatenate(list(values.values())))
    joined = {name: np.concatenate(parts) for name, parts in columns.items()}
    rows = len(joined["value"])

    def constant(name: str) -> pa.DictionaryArray:
        codes = pa.array(np.zeros(rows, dtype=np.int8))
        return pa.DictionaryArray.from_arrays(codes, pa.array([str(constants.get(name, ""))]))

    def by_file(texts: Sequence[str], dtype: type[np.signedinteger[Any]]) -> pa.DictionaryArray:
        known = Codes()
        codes = np.array([known.code(text) for text in texts], dtype=dtype)
        return known.array(codes[joined["file"]])

    return pa.table(
        {
            "campaign": constant("campaign"),
            "cell_id": constant("cell_id"),
            "sample": pa.array(np.full(rows, int(constants.get("sample", 0)), dtype=np.int64)),
            "host": by_file(hosts, np.int16),
            "role": by_file(roles, np.int8),
            "time_s": pa.array(joined["time_s"]),
            "activity": names["activity"].array(joined["activity"]),
            "device": names["device"].array(joined["device"]),
            "metric": names["metric"].array(joined["metric"]),
            "value": pa.array(joined["value"]),
        }
    )


def _groups(texts: Sequence[bytes]) -> list[_Group]:
    groups: dict[tuple[bytes, int], _Group] = {}
    for file, text in enumerate(texts):
        at = 0
        while at < len(text):
            end = text.index(b"\n", at)
            header = text[at + 2 : end]
            at = end + 1
            end = text.find(b"\n#", end)
            end = len(text) if end < 0 else end + 1
            section = text[at:end]
            at = end
            if not section:
                continue
            key = header, section[: section.find(b"\n")].count(b";") + 1
            group = groups.get(key)
            if group is None:
                groups[key] = group = _new_group(*key)
            group.sections.append(section)
            group.files.append(file)
    return list(groups.values())


def _new_group(header: bytes, fields: int) -> _Group:
    try:
        columns = columns_of(header.decode("ascii").split(";"), fields)
    except UnicodeDecodeError as error:
        raise NotRegular from error
    table = None if columns is None else header_of(columns)
    if columns is None or table is None or table.texts or table.activity == "usb":
        raise NotRegular
    return _Group(columns, table)


def _block(group: _Group) -> tuple[NDArray[np.int32], Block]:
    """The file of each row, and the rows of all files as one block."""
    import numpy as np

    places = [f"c{at}" for at in range(len(group.columns))]
    types = {"host": "category", "interval": "float64", "time": "category"} | dict.fromkeys(places, "float64")
    if group.table.device is not None:
        types[f"c{group.table.device}"] = "category"
    found = parse(b"".join(group.sections), ";", types)
    files = np.repeat(np.array(group.files, dtype=np.int32), [section.count(b"\n") for section in group.sections])
    hosts, times = found["host"], found["time"]
    # one host per file, whatever it calls itself
    pairs = np.unique(files.astype(np.int64) * len(hosts.categories) + hosts.codes)
    seconds = [time_of(text) for text in times.categories]
    known = [place for place in seconds if place is not None]
    if len(pairs) != len(set(group.files)) or len(known) != len(seconds) or not all(utc for _, utc in known):
        raise NotRegular
    metrics = {name: found[f"c{at}"] for name, at in group.table.metrics.items()}
    if not all(bool(np.isfinite(column).all()) for column in metrics.values()):
        raise NotRegular
    device = group.table.device
    return files, Block(
        tool="sadf",
        host=None,
        activity=group.table.activity,
        device=None if device is None else names_of(found[f"c{device}"], group.table),
        time=np.array([place for place, _ in known])[times.codes],
        utc=True,
        dated=True,
        metrics=metrics,
    )


def _count_as_each_host_does(values: dict[str, NDArray[np.float64]], block: Block, files: NDArray[np.int32]) -> None:
    """Correct the memory in use of hosts whose sysstat counts caches in it."""
    for file in set(files.tolist()):
        rows = files == file
        metrics = {name: column[rows] for name, column in block.metrics.items()}
        own = Block("sadf", None, block.activity, None, block.time[rows], block.utc, block.dated, metrics)
        if counts_caches(own):
            values["used_bytes"] = values["used_bytes"].copy()
            values["used_bytes"][rows] = normalise(own, older=True)["used_bytes"]
