"""What fio was to do and what it measured: values of its JSON in SI units and in the suite's words."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from glusterlab.tools.document import number
from glusterlab.tools.fio.reports import Several
from glusterlab.tools.records import Operation

_MAX_PERCENTILES = 100


def measured(value: object) -> float | None:
    """A value as a number, also when it is written as a string; None when it is none that fio could have measured.

    >>> measured(3), measured("2.5"), measured(-1), measured("nan"), measured((1 << 64) - 1)
    (3.0, 2.5, None, None, None)
    """
    found = number(value)
    return found if found is not None and found < 1 << 62 else None


def latency(direction: dict[str, Any], kind: str) -> tuple[dict[str, float], dict[float, float]]:
    """A kind's mean, stddev, min and max, and its percentiles, in seconds; empty where fio has no sample of it.

    ``slat`` is submission, ``clat`` completion, ``lat`` their sum; since fio 3 in ns (``clat_ns``), before in µs.
    """
    for ending, unit in (("_ns", 1e9), ("", 1e6)):
        values = direction.get(kind + ending)
        if isinstance(values, dict):
            known = {key: measured(values.get(key)) for key in ("mean", "stddev", "min", "max")}
            if not known["mean"] and not known["max"]:
                break
            seconds = {key: value / unit for key, value in known.items() if value is not None}
            return seconds, _percentiles(values.get("percentile"), unit)
    return {}, {}


def _percentiles(values: object, unit: float) -> dict[float, float]:
    found: dict[float, float] = {}
    for key, value in values.items() if isinstance(values, dict) and len(values) <= _MAX_PERCENTILES else ():
        share, time = measured(key), measured(value)
        # up to 3.3, fio fills the list up with "0.00"
        if share and time is not None:
            found[share] = time / unit
    return found


class Measured:
    """What a direction did; rates are None when nothing was done, or when it took no time that fio could measure."""

    def __init__(self, direction: dict[str, Any]) -> None:
        done, ios, milliseconds, throughput, rate = (
            measured(direction.get(key)) for key in ("io_bytes", "total_ios", "runtime", "bw_bytes", "iops")
        )
        # up to fio 2.20 io_bytes are KiB; the releases that mean bytes also write io_kbytes
        if done is not None and "io_kbytes" not in direction:
            done *= 1024
        seconds = milliseconds / 1000 if milliseconds else None
        if throughput is None and (kib := measured(direction.get("bw"))) is not None:
            throughput = kib * 1024
        if not throughput and done and seconds and ("bw" in direction or "bw_bytes" in direction):
            # fio cuts the fractions of a KiB off
            throughput = done / seconds
        wrong = _misfit("bytes", throughput, done, seconds, 1024.0) or _misfit("operations", rate, ios, seconds, 1.0)
        self.bytes, self.ios, self.seconds, self.contradiction = done, ios, seconds, wrong
        self.throughput, self.rate = throughput or None, rate or None

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


MAX_OPTIONS = 1_000  # fio knows about 400 options; a report with more global ones is none
_ALIASES = {"readwrite": "rw", "blocksize": "bs", "timeout": "runtime", "io_limit": "io_size"}
_SIZE = re.compile(r"(\d{1,18}(?:\.\d{1,6})?)\s*([kmgtp]?)(i?)b?", re.IGNORECASE | re.ASCII)
_TIME = re.compile(r"(\d{1,12}(?:\.\d{1,6})?)\s*([a-z]*)", re.IGNORECASE | re.ASCII)
_SECONDS = {
    "": 1.0, "s": 1.0, "sec": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0,
    "ms": 1e-3, "msec": 1e-3, "us": 1e-6, "usec": 1e-6,
}  # fmt: skip
_BOTH = ("read", "write")
_DIRECTIONS = {
    "read": ("read",), "write": ("write",), "trim": ("trim",),
    "rw": _BOTH, "readwrite": _BOTH, "trimwrite": ("trim", "write"),
}  # fmt: skip
_FILE_ENGINES: dict[str | None, Operation] = {
    "filecreate": "create", "filestat": "stat", "filedelete": "delete",
    "dircreate": "mkdir", "dirstat": "stat", "dirdelete": "rmdir",
}  # fmt: skip
_ENDS_EARLY = (  # options with which a job may rightly end before its time and its size
    "number_ios", "fill_device", "fill_fs", "steadystate", "ss", "exitall", "exitall_on_error", "read_iolog",
    "offset", "offset_increment", "zonesize", "zonerange", "zonemode", "max_open_zones", "io_submit_mode", "flow",
    "create_only", "verify_only",
)  # fmt: skip


def as_options(value: object) -> dict[str, Any]:
    """The options of a report's ``global options`` or ``job options``, under one name each."""
    found: dict[str, Any] = {}
    for part in value if isinstance(value, Several) else [value]:
        if isinstance(part, dict):
            found |= {_ALIASES.get(str(name), str(name)): option for name, option in part.items()}
    return found


@dataclass(frozen=True)
class Options:
    """The options of a job, its `own` before global ones; when `shared` by clients, different values are no one's."""

    values: Mapping[str, Any] = field(default_factory=dict)
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

    def sizes(self, name: str) -> list[int | None]:
        """The sizes that an option lists, in bytes, None for what is none; empty where it is not given."""
        value, base = self.text(name), 1000 if self.text("kb_base") == "1000" else 1024
        return [] if value is None else [as_bytes(part, base) for part in value.split(",")]

    def size(self, name: str) -> int | None:
        found = self.sizes(name)
        return found[0] or None if len(found) == 1 else None

    @property
    def runtime_s(self) -> float | None:
        return self._seconds("runtime")

    @property
    def ramp_s(self) -> float | None:
        return self._seconds("ramp_time")

    def _seconds(self, name: str) -> float | None:
        match = _TIME.fullmatch((self.text(name) or "").strip())
        factor = _SECONDS.get(match[2].lower()) if match is not None else None
        return None if match is None or factor is None else float(match[1]) * factor or None

    @property
    def size_bytes(self) -> int | None:
        """What one job was to do."""
        return self.size("io_size") or self.size("size")

    @property
    def file_size_bytes(self) -> int | None:
        """The size of one file, in bytes: ``filesize``, or a job's ``size`` over its files."""
        if "filesize" in self.values:
            return self.size("filesize")
        names, size = self.values.get("filename"), self.size("size")
        listed = names if isinstance(names, Several) else [names]
        # a colon parts names, unless a backslash says that it belongs to one
        named = sum(len(re.split(r"(?<!\\):", name)) for name in listed if isinstance(name, str))
        return None if size is None else size // max(self.integer("nrfiles") or named, 1)

    def record_size_bytes(self, direction: str) -> int | None:
        """The block size of a direction, in bytes; None for a range, and for blocks of several sizes."""
        sizes = [] if "bsrange" in self.values or "bssplit" in self.values else self.sizes("bs")
        if not sizes or (direction == "mixed" and len(set(sizes)) > 1):
            return None
        # trims are as big as writes where they are not named; an empty place is fio's default, which no one gave
        return sizes[min({"write": 1, "trim": 2}.get(direction, 0), len(sizes) - 1)]

    @property
    def of_one_size(self) -> bool:
        """Whether all records are of one size: else a random job rightly ends before it has done its size."""
        return len(set(self.sizes("bs"))) <= 1 and self.values.keys().isdisjoint({"bsrange", "bssplit"})

    @property
    def directions(self) -> tuple[str, ...] | None:
        """The directions that were wanted; None where the file does not say which."""
        if self.text("ioengine") == "cpuio":
            return ()
        # fio reads unless it is configured otherwise
        mode = (self.text("rw") or ("read" if self.own else "")).lower().split(":")[0].split(",")[0]
        wanted = _DIRECTIONS.get(mode.removeprefix("rand"))
        if wanted == _BOTH:
            if self.text("rwmixread") == "100" or self.text("rwmixwrite") == "0":
                return ("read",)
            if self.text("rwmixread") == "0" or self.text("rwmixwrite") == "100":
                return ("write",)
        return wanted

    @property
    def file_operation(self) -> Operation | None:
        """The operation of an engine that works on files, not on what is in them."""
        return _FILE_ENGINES.get(self.text("ioengine"))

    def operation(self, direction: str) -> Operation:
        """The operation of a direction, in the suite's words; sequential unless ``rw`` says random."""
        random = direction in {"read", "write"} and (self.text("rw") or "").lower().startswith("rand")
        return self.file_operation or cast("Operation", f"random-{direction}" if random else direction)

    @property
    def may_end_early(self) -> bool:
        return self.file_operation is not None or any(self.flag(name) for name in _ENDS_EARLY)


def as_bytes(text: str, kb_base: int = 1024) -> int | None:
    """A size in bytes; None for a share or a range. ``k`` is 1,024 and ``ki`` 1,000, reversed by ``kb_base=1000``.

    >>> as_bytes("4k"), as_bytes("1gb"), as_bytes("4ki"), as_bytes("4ki", kb_base=1000), as_bytes("50%")
    (4096, 1073741824, 4000, 4096, None)
    """
    if (match := _SIZE.fullmatch(text.strip())) is None:
        return None
    base = kb_base if not match[3] else 2024 - kb_base
    count = float(match[1]) if "." in match[1] else int(match[1])
    return int(count * base ** (" kmgtp".index(match[2].lower()) if match[2] else 0))
