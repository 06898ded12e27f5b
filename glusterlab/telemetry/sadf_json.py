"""What ``sadf -j`` writes: the same values under names of their own."""

import json
import re
from collections.abc import Iterator
from typing import Any

from glusterlab.errors import ParseError
from glusterlab.telemetry.blocks import WINDOW_BYTES, Block, Chunk
from glusterlab.telemetry.metrics import activities_of
from glusterlab.telemetry.sadf import Rows, time_of
from glusterlab.telemetry.sysstat import Header, header_of
from glusterlab.telemetry.windows import WindowReader
from glusterlab.tools.document import unique_keys

MAX_RECORD_BYTES = 16 << 20  # of one moment; it is read from its start again with every window until its end is there

_DEVICES = {
    "cpu": "CPU", "intr": "INTR", "line": "TTY", "disk-device": "DEV", "iface": "IFACE", "fchost": "FCHOST",
    "filesystem": "FILESYSTEM", "mountpoint": "MOUNTPOINT", "bus_number": "BUS", "idvendor": "idvendor",
    "idprod": "idprod",
}  # fmt: skip
_NUMBERED = {
    "cpu-frequency": "CPU", "cpu-weighted-frequency": "CPU", "fan-speed": "FAN", "temperature": "TEMP",
    "voltage-input": "IN", "battery": "BAT",
}  # fmt: skip
_NAMES = {
    "memory": {"inactive": "kbinact", "shared": "kbshmem"},
    "interrupts": {"value": "intr/s"},
    "cpu-frequency": {"frequency": "MHz"},
    "cpu-weighted-frequency": {"weighted-frequency": "wghMHz"},
    "temperature": {"percent-temp": "%temp"},
    "voltage-input": {"percent-in": "%in"},
    "battery": {"percent-capacity": "%cap", "variation": "cap/min"},
    "paging": {"vmeff-percent": "%vmeff"},
}
_PRESSURE = {"psi-cpu": "cpu", "psi-io": "io", "psi-mem": "mem"}
_GROUPS = frozenset({"network", "power-management", "psi"})
_SWAP = frozenset({"kbswpfree", "kbswpused", "%swpused", "kbswpcad", "%swpcad"})
_TEXTS = frozenset({"device", "status", "manufact", "product"})
_HOST = re.compile(r'"nodename"\s*:\s*"((?:[^"\\]|\\.){0,255})"')
_STATISTICS = re.compile(r'"statistics"\s*:\s*\[')
_BETWEEN = re.compile(r"[\s,]*")


def column_of(table: str, name: str) -> str:
    """The name that sar gives a column, for its name in JSON: ``%util`` for ``util-percent``."""
    if (known := _NAMES.get(table, {}).get(name)) is not None:
        return known
    if table in _PRESSURE:
        share, _, window = name.partition("_avg")
        return f"%{share[:1]}{_PRESSURE[table]}" + (f"-{window}" if window else "")
    if table in {"cpu-load", "cpu-load-all"}:
        return f"%{name}"
    if name.endswith("-percent"):
        return f"%{name.removesuffix('-percent')}"
    if table in {"memory", "hugepages"}:
        return f"kb{name}"
    # the same word, or the same with its unit
    return f"{name}/s" if activities_of(f"{name}/s") and not activities_of(name) else name


class JsonReader(WindowReader):
    """Reads a file of ``sadf -j``, record by record; rows are of the line 1, the file's first."""

    def __init__(self, chunk: Chunk, window_bytes: int = WINDOW_BYTES // 4) -> None:
        super().__init__(chunk, window_bytes)
        self._rows = Rows()
        self._decoder = json.JSONDecoder(object_pairs_hook=unique_keys, parse_constant=lambda _: None)
        self._host: str | None = None
        self._inside = False
        self._text = ""
        self._depth = 0
        """Open braces and brackets; names of devices that hold some would disturb it, and no kernel gives such."""

    def read(self, window: bytes) -> Iterator[Block]:
        text = window.decode("utf-8", "replace")
        self._text += text
        self._depth += text.count("{") + text.count("[") - text.count("}") - text.count("]")
        self._take()
        yield from self._rows.blocks()

    def finish(self) -> Iterator[Block]:
        if self.cut is None and (self._inside or self._depth != 0):
            self.cut = ParseError("expected whole JSON, found its end inside of a record or of the file")
        return self._rows.blocks()

    def _take(self) -> None:
        """Take whole records from the start of the text, and keep the rest of it."""
        at = 0
        while True:
            if not self._inside:
                at, self._inside = self._enter(at)
                if not self._inside:
                    break
            between = _BETWEEN.match(self._text, at)
            at = between.end() if between else at
            if self._text.startswith("]", at):
                at, self._inside = at + 1, False
                continue
            try:
                record, at = self._decoder.raw_decode(self._text, at)
            except (json.JSONDecodeError, RecursionError):
                break
            except ValueError as error:
                raise ParseError(f"expected numbers, found one of too many digits: {error}") from error
            self._record(record)
        self._text = self._text[at:]
        if len(self._text) > MAX_RECORD_BYTES:
            raise ParseError(f"expected records of at most {MAX_RECORD_BYTES:,} bytes, found a bigger one")

    def _enter(self, at: int) -> tuple[int, bool]:
        """The place of the next record, and whether there is one: records are in a host's statistics."""
        found = _STATISTICS.search(self._text, at)
        end = found.start() if found else len(self._text)
        if (named := _HOST.search(self._text, at, end)) is not None:
            self._host = str(json.loads(f'"{named[1]}"', strict=False))
        # a name may be halved by the window's border
        return (found.end(), True) if found else (max(at, end - 1024), False)

    def _record(self, record: object) -> None:
        if not isinstance(record, dict) or not isinstance(stamp := record.get("timestamp"), dict):
            return
        zone = stamp.get("tz")
        # older versions say by a number whether the time is UTC
        zone = ("UTC" if stamp.get("utc") == 1 else "") if zone is None else zone
        if (when := time_of(f"{stamp.get('date')} {stamp.get('time')} {zone}".strip())) is None:
            raise ParseError(f"expected a date and a time in timestamp, found {str(stamp)[:80]}")
        for table, content in _tables(record):
            for item in content if isinstance(content, list) else [content]:
                if isinstance(item, dict):
                    for header, fields in _rows_of(table, item):
                        self._rows.add(header, fields, self._host, when, 1)


def _tables(record: dict[str, Any]) -> Iterator[tuple[str, object]]:
    for name, content in record.items():
        if name in _GROUPS and isinstance(content, dict):
            yield from content.items()
        elif name not in {"timestamp", "network"}:
            yield name, content


def _rows_of(table: str, item: dict[str, Any]) -> Iterator[tuple[Header, list[str]]]:
    """The table and the fields of one item; that of memory is two."""
    fields: dict[str, str] = {}
    for name, value in item.items():
        if isinstance(value, dict):
            # reads and writes of io are one level deeper
            fields |= {column_of(table, inner): _text(number) for inner, number in value.items()}
        elif name in _DEVICES:
            fields[_DEVICES[name]] = str(value)
        elif name == "number" and table in _NUMBERED:
            fields[_NUMBERED[table]] = str(value)
        elif name not in _TEXTS:
            fields[column_of(table, name)] = _text(value)
    swap = {name: value for name, value in fields.items() if table == "memory" and name in _SWAP}
    for part in ({name: value for name, value in fields.items() if name not in swap}, swap):
        if part and (header := header_of(tuple(part))) is not None:
            yield header, list(part.values())


def _text(value: object) -> str:
    return "nan" if value is None else str(value)
