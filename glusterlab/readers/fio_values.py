"""The numbers of one direction of a fio job, in SI units whatever release wrote them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from glusterlab.readers.fio_reports import Several
from glusterlab.readers.wrapping import number

_MAX = float(1 << 62)
_MAX_PERCENTILES = 100
_UNITS = (("_ns", 1e9), ("", 1e6))


def measured(value: object) -> float | None:
    """A value as a number, also when it is written as a string; None when it is none that fio could have measured.

    Examples
    --------
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
    """What a direction did.

    Attributes
    ----------
    bytes, ios : float or None
        Done. Up to fio 2.20 ``io_bytes`` are KiB; the releases that mean bytes also write ``io_kbytes``.
    seconds : float or None
        The measured time.
    throughput, rate : float or None
        Bytes and operations per second; None when nothing was done, or when it took no time that fio could measure.
    contradiction : str or None
        What does not fit together.
    """

    bytes: float | None
    ios: float | None
    seconds: float | None
    throughput: float | None
    rate: float | None
    contradiction: str | None

    @classmethod
    def of(cls, direction: dict[str, Any]) -> Measured:
        """The numbers of a direction."""
        done = measured(direction.get("io_bytes"))
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
        """Whether the direction did nothing."""
        return not (self.bytes or self.ios or self.throughput or self.rate)


def _misfit(what: str, rate: float | None, done: float | None, seconds: float | None, step: float) -> str | None:
    """What is wrong when a rate is not what was done over the time; rates were whole numbers of steps once."""
    if rate is None or done is None or seconds is None:
        return None
    expected = done / seconds
    if abs(rate - expected) <= 0.02 * expected + 2 * step:
        return None
    return f"expected {expected:.0f} {what}/s from what was done in {seconds:g} s, found {rate:.0f}"
