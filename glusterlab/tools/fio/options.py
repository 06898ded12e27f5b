"""What fio was to do: its job options, in SI units and in the suite's words."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from glusterlab.tools.document import number
from glusterlab.tools.fio.reports import Several
from glusterlab.tools.records import Operation

_MAX = float(1 << 62)
_MAX_PERCENTILES = 100
_UNITS = (("_ns", 1e9), ("", 1e6))


def measured(value: object) -> float | None:
    """A value as a number, also when it is written as a string; None when it is none that fio could have measured.

    >>> measured(3), measured("2.5"), measured(-1), measured("nan"), measured((1 << 64) - 1)
    (3.0, 2.5, None, None, None)
    """
    found = number(value)
    return found if found is not None and found < _MAX else None


@dataclass(frozen=True)
class Latency:
    """One kind of latency, in seconds; None where fio has no sample of it."""

    mean_s: float | None = None
    stddev_s: float | None = None
    min_s: float | None = None
    max_s: float | None = None
    percentiles_s: dict[float, float] | None = None


def latency(direction: dict[str, Any], kind: str) -> Latency:
    """The latency of a kind: ``slat`` (submission), ``clat`` (completion) or ``lat`` (their sum).

    The key says the unit: nanoseconds since fio 3 (``clat_ns``), microseconds before (``clat``).
    """
    for ending, unit in _UNITS:
        values = direction.get(kind + ending)
        if not isinstance(values, dict):
            continue
        if not measured(values.get("mean")) and not measured(values.get("max")):
            return Latency()
        mean, stddev, low, high = (_scaled(values.get(key), unit) for key in ("mean", "stddev", "min", "max"))
        return Latency(mean, stddev, low, high, _percentiles(values.get("percentile"), unit))
    return Latency()


def _scaled(value: object, unit: float) -> float | None:
    found = measured(value)
    return None if found is None else found / unit


def _percentiles(values: object, unit: float) -> dict[float, float] | None:
    if not isinstance(values, dict) or len(values) > _MAX_PERCENTILES:
        return None
    found: dict[float, float] = {}
    for key, value in values.items():
        share, seconds = measured(key), _scaled(value, unit)
        # up to 3.3, fio fills the list up with "0.00"
        if share and seconds is not None and not isinstance(value, Several):
            found[share] = seconds
    return found or None


@dataclass(frozen=True)
class Measured:
    """What a direction did: bytes and operations, in all and per second.

    Rates are None when nothing was done, or when it took no time that fio could measure. `contradiction` is what does
    not fit together.
    """

    bytes: float | None = None
    ios: float | None = None
    seconds: float | None = None
    throughput: float | None = None
    rate: float | None = None
    contradiction: str | None = None

    @classmethod
    def of(cls, direction: dict[str, Any]) -> Measured:
        done = measured(direction.get("io_bytes"))
        # up to fio 2.20 io_bytes are KiB; the releases that mean bytes also write io_kbytes
        if done is not None and "io_kbytes" not in direction:
            done *= 1024
        ios = measured(direction.get("total_ios"))
        milliseconds = measured(direction.get("runtime"))
        seconds = milliseconds / 1000 if milliseconds else None
        throughput = measured(direction.get("bw_bytes"))
        if throughput is None and (rate := measured(direction.get("bw"))) is not None:
            throughput = rate * 1024
        if not throughput and done and seconds and ("bw" in direction or "bw_bytes" in direction):
            # fio cuts the fractions of a KiB off
            throughput = done / seconds
        rate = measured(direction.get("iops"))
        wrong = _misfit("bytes", throughput, done, seconds, 1024.0) or _misfit("operations", rate, ios, seconds, 1.0)
        return cls(done, ios, seconds, throughput or None, rate or None, wrong)

    @property
    def idle(self) -> bool:
        return not (self.bytes or self.ios or self.throughput or self.rate)


def _misfit(what: str, rate: float | None, done: float | None, seconds: float | None, step: float) -> str | None:
    """What is wrong when a rate is not what was done over the time; rates were whole numbers of steps once."""
    if rate is None or done is None or seconds is None:
        return None
    expected = done / seconds
    if abs(rate - expected) <= 0.02 * expected + 2 * step:
        return None
    return f"expected {expected:.0f} {what}/s from what was done in {seconds:g} s, found {rate:.0f}"


MAX_OPTIONS = 1_000
"""fio knows about 400 options; a report with more global ones is none."""

_ALIASES = {"readwrite": "rw", "blocksize": "bs", "timeout": "runtime", "io_limit": "io_size"}
_SIZE = re.compile(r"(\d{1,18}(?:\.\d{1,6})?)\s*([kmgtp]?)(i?)b?", re.IGNORECASE)
_TIME = re.compile(r"(\d{1,12}(?:\.\d{1,6})?)\s*([a-z]*)", re.IGNORECASE)
_SECONDS = {
    "": 1.0, "s": 1.0, "sec": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0,
    "ms": 1e-3, "msec": 1e-3, "us": 1e-6, "usec": 1e-6,
}  # fmt: skip
_MODES: dict[str, dict[str, Operation]] = {
    "read": {"read": "read"},
    "write": {"write": "write"},
    "trim": {"trim": "trim"},
    "rw": {"read": "read", "write": "write"},
    "readwrite": {"read": "read", "write": "write"},
    "randread": {"read": "random-read"},
    "randwrite": {"write": "random-write"},
    "randtrim": {"trim": "trim"},
    "randrw": {"read": "random-read", "write": "random-write"},
    "trimwrite": {"trim": "trim", "write": "write"},
    "randtrimwrite": {"trim": "trim", "write": "random-write"},
}
_PLAIN: dict[str, Operation] = {"read": "read", "write": "write", "trim": "trim", "mixed": "mixed"}
_FILE_ENGINES: dict[str, Operation] = {
    "filecreate": "create", "filestat": "stat", "filedelete": "delete",
    "dircreate": "mkdir", "dirstat": "stat", "dirdelete": "rmdir",
}  # fmt: skip
_ENDS_EARLY = (
    "number_ios", "fill_device", "fill_fs", "steadystate", "ss", "exitall", "exitall_on_error", "read_iolog",
    "offset", "offset_increment", "zonesize", "zonerange", "zonemode", "max_open_zones", "io_submit_mode", "flow",
    "create_only", "verify_only",
)  # fmt: skip
"""Options with which a job may rightly end before its time and its size."""


def as_options(value: object) -> dict[str, Any]:
    """The options of a report's ``global options`` or ``job options``, under one name each."""
    found: dict[str, Any] = {}
    for part in value if isinstance(value, Several) else [value]:
        if isinstance(part, dict):
            found |= {_ALIASES.get(str(name), str(name)): option for name, option in part.items()}
    return found


@dataclass(frozen=True)
class Options:
    """The options of a job: global ones, and its `own` where the file has them, which go before the global ones.

    `shared` are those of several clients in one list: of different values no one knows whose.
    """

    values: dict[str, Any] = field(default_factory=dict)
    own: bool = False
    shared: bool = False

    def text(self, name: str) -> str | None:
        """The value of an option; of one that stands several times the last, which is the one that fio obeys."""
        value = self.values.get(name)
        if isinstance(value, Several):
            value = None if self.shared else value[-1]
        return str(value).strip() if isinstance(value, (str, int, float)) else None

    def flag(self, name: str) -> bool:
        """Whether an option is switched on; it may stand without a value."""
        value = self.text(name)
        return value is not None and value.lower() not in {"0", "none", "false"}

    def integer(self, name: str) -> int | None:
        value = self.text(name)
        return int(value) if value is not None and re.fullmatch(r"\d{1,9}", value, re.ASCII) else None

    @property
    def kb_base(self) -> int:
        return 1000 if self.text("kb_base") == "1000" else 1024

    @property
    def workers(self) -> int:
        return self.integer("numjobs") or 1

    @property
    def runtime_s(self) -> float | None:
        value = self.text("runtime")
        return (as_seconds(value) or None) if value is not None else None

    @property
    def size_bytes(self) -> int | None:
        return self._size("io_size") or self._size("size")

    @property
    def file_size_bytes(self) -> int | None:
        """The size of one file, in bytes: ``filesize``, or a job's ``size`` over its files."""
        size = self._size("size")
        if "filesize" in self.values:
            return self._size("filesize")
        names = self.values.get("filename")
        listed = names if isinstance(names, Several) else [names]
        # a colon parts names, unless a backslash says that it belongs to one
        named = sum(len(re.split(r"(?<!\\):", name)) for name in listed if isinstance(name, str))
        return None if size is None else size // max(self.integer("nrfiles") or named, 1)

    def record_size_bytes(self, direction: str) -> int | None:
        """The block size of a direction, in bytes; None for a range, and for blocks of several sizes."""
        value = self.text("bs")
        if value is None or "bsrange" in self.values or "bssplit" in self.values:
            return None
        sizes = [as_bytes(part, self.kb_base) for part in value.split(",")]
        if direction == "mixed":
            return sizes[0] if len(set(sizes)) == 1 else None
        place = {"read": 0, "write": 1, "trim": 2}.get(direction, 0)
        # trims are as big as writes where they are not named; an empty place is fio's default, which no one gave
        return sizes[min(place, len(sizes) - 1)]

    @property
    def of_one_size(self) -> bool:
        """Whether all records are of one size: else a random job rightly ends before it has done its size."""
        sizes = {part.strip() for part in (self.text("bs") or "").split(",")}
        return len(sizes) == 1 and "bsrange" not in self.values and "bssplit" not in self.values

    @property
    def slack_bytes(self) -> int:
        """What one job may leave undone because no record fits into the ends of its files, in bytes."""
        return max(self.record_size_bytes("write") or 0, 4096) * (self.integer("nrfiles") or 1)

    @property
    def operations(self) -> dict[str, Operation] | None:
        """The operation of each direction that was wanted; None where the file does not say which."""
        if self.text("ioengine") == "cpuio":
            return {}
        # fio reads unless it is configured otherwise
        mode = (self.text("rw") or ("read" if self.own else "")).lower().split(":")[0].split(",")[0]
        if mode not in _MODES:
            return None
        wanted = dict(_MODES[mode])
        if len(wanted) == 2 and "trim" not in wanted:
            if self.text("rwmixread") == "100" or self.text("rwmixwrite") == "0":
                wanted.pop("write")
            elif self.text("rwmixread") == "0" or self.text("rwmixwrite") == "100":
                wanted.pop("read")
        return wanted

    @property
    def file_operation(self) -> Operation | None:
        """The operation of an engine that works on files, not on what is in them."""
        return _FILE_ENGINES.get(self.text("ioengine") or "")

    def operation(self, direction: str) -> Operation:
        """The operation of a direction, in the suite's words; sequential unless ``rw`` says random."""
        wanted = self.operations or {}
        if self.file_operation is not None:
            return self.file_operation
        if direction in wanted or direction == "mixed":
            return wanted.get(direction, "mixed")
        random = (self.text("rw") or "").startswith("rand")
        other: dict[str, Operation] = {"read": "random-read", "write": "random-write"} if random else {}
        return other.get(direction) or _PLAIN[direction]

    @property
    def may_end_early(self) -> bool:
        return self.file_operation is not None or any(self.flag(name) for name in _ENDS_EARLY)

    def _size(self, name: str) -> int | None:
        value = self.text(name)
        return None if value is None else (as_bytes(value, self.kb_base) or None)


def as_bytes(text: str, kb_base: int = 1024) -> int | None:
    """A size in fio's units, in bytes; None when it is none, such as a share (``50%``) or a range.

    fio's ``k`` is 1,024 and its ``ki`` is 1,000; with the option ``kb_base=1000`` it is the other way round.

    >>> as_bytes("4k"), as_bytes("1gb"), as_bytes("4ki"), as_bytes("4ki", kb_base=1000), as_bytes("50%")
    (4096, 1073741824, 4000, 4096, None)
    """
    match = _SIZE.fullmatch(text.strip())
    if match is None or not match[1].isascii():
        return None
    base = kb_base if not match[3] else 2024 - kb_base
    number = float(match[1]) if "." in match[1] else int(match[1])
    return int(number * base ** (" kmgtp".index(match[2].lower()) if match[2] else 0))


def as_seconds(text: str) -> float | None:
    """A time in fio's units, in seconds.

    >>> as_seconds("5m"), as_seconds("90"), as_seconds("1h"), as_seconds("500ms"), as_seconds("soon")
    (300.0, 90.0, 3600.0, 0.5, None)
    """
    match = _TIME.fullmatch(text.strip())
    factor = None if match is None or not match[1].isascii() else _SECONDS.get(match[2].lower())
    return None if match is None or factor is None else float(match[1]) * factor
