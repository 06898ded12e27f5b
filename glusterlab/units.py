"""Sizes, rates and times: read as a person writes them, with the prefixes of IEC 80000-13, kept in SI base units."""

import math
import re
from decimal import Decimal

IOZONE_KB = 1024  # bytes in what IOzone prints as kB or KB, in sizes and in rates

MIB = 1 << 20  # bytes in what smallfile prints as MiB

MEGABYTE = 10**6  # bytes in the MB of the figures

_SIZE_FACTORS: dict[str, int] = {
    "": 1,
    "B": 1,
    **{f"{p}B": 1000**n for n, p in enumerate(("k", "M", "G", "T", "P"), start=1)},
    "KB": 1000,
    **{f"{p}iB": 1024**n for n, p in enumerate(("K", "M", "G", "T", "P"), start=1)},
    "kiB": 1024,
}
_SIZE_END = 10**18  # bytes that no file or disk has

_BIT_FACTORS = {"bit/s": 1, "kbit/s": 1000, "Mbit/s": 1000**2, "Gbit/s": 1000**3}
_TIME_FACTORS = {"ms": 1e-3, "s": 1.0, "": 1.0, "min": 60.0, "h": 3600.0}
_NUMBER = re.compile(r"^\s*([0-9]+(?:\.[0-9]+)?)\s*([A-Za-z/]*)\s*$")


def _split(text: str | int | float, example: str) -> tuple[Decimal, str]:
    if isinstance(text, (int, float)) and not isinstance(text, bool):
        return Decimal(text), ""
    match = _NUMBER.match(text) if isinstance(text, str) else None
    if match is None:
        raise ValueError(f"expected something like '{example}', found {text!r}")
    return Decimal(match[1]), match[2]


def _exact_size(text: str | int | float, example: str) -> Decimal:
    """Bytes as the digits say: 33.3 TB are a whole number of them, which 33.3 times 1e12 in binary floats is not."""
    number, unit = _split(text, example)
    if unit not in _SIZE_FACTORS:
        raise ValueError(f"expected a size in B, kB, MB, GB, TB, PB, KiB, MiB, GiB, TiB or PiB, found {text!r}")
    if not math.isfinite(number):
        raise OverflowError(f"expected a size, found {text!r}")
    return number * _SIZE_FACTORS[unit]


def parse_size(text: str | int) -> int:
    """Bytes in a size such as ``4 GiB``; ValueError when they are no whole positive number, OverflowError beyond disks.

    >>> parse_size("4 GiB"), parse_size("512KiB"), parse_size(4096), parse_size("33.3 TB")
    (4294967296, 524288, 4096, 33300000000000)
    """
    size = _exact_size(text, "20 MiB")
    if size >= _SIZE_END:
        raise OverflowError(f"expected a size below 1,000 PB, found {text!r}")
    if size < 1 or size % 1:
        raise ValueError(f"expected a whole number of bytes of at least 1, found {text!r}")
    return int(size)


def parse_capacity(text: str | int) -> float:
    """Bytes in what a pool or a disk holds, such as ``1.37 PiB``: they need not be a whole number, and may be 0."""
    size = float(_exact_size(text, "500 TB"))
    if math.isinf(size):
        raise OverflowError(f"expected a smaller size, found {text!r}")
    return size


def parse_rate(text: str | int | float) -> float:
    """Bytes per second in a rate such as ``205 MB/s`` or ``10 Gbit/s``; ValueError when the text is none.

    >>> parse_rate("205 MB/s"), parse_rate("10 Gbit/s"), parse_rate(1000)
    (205000000.0, 1250000000.0, 1000.0)
    """
    digits, unit = _split(text, "205 MB/s")
    number = float(digits)
    if unit in _BIT_FACTORS:
        rate = number * _BIT_FACTORS[unit] / 8
    elif unit == "" and not isinstance(text, str):
        rate = number
    elif unit.endswith("/s") and unit[:-2] in _SIZE_FACTORS and unit != "/s":
        rate = number * _SIZE_FACTORS[unit[:-2]]
    else:
        raise ValueError(f"expected a rate such as '205 MB/s' or '10 Gbit/s', found {text!r}")
    if rate <= 0:
        raise ValueError(f"expected a rate above 0, found {text!r}")
    return rate


def parse_duration(text: str | int | float) -> float:
    """Seconds in a duration such as ``10 min``; ValueError when the text is none."""
    number, unit = _split(text, "10 min")
    if unit not in _TIME_FACTORS:
        raise ValueError(f"expected a duration in ms, s, min or h, found {text!r}")
    return float(number) * _TIME_FACTORS[unit]


def format_size(size: int) -> str:
    """A size as people write it, exact: the largest binary or decimal unit that divides it.

    >>> format_size(4 * 2**30), format_size(32 * 2**10), format_size(1500), format_size(7)
    ('4 GiB', '32 KiB', '1500 B', '7 B')
    """
    for unit in ("TiB", "GiB", "MiB", "KiB", "TB", "GB", "MB"):
        factor = _SIZE_FACTORS[unit]
        if size >= factor and size % factor == 0:
            return f"{size // factor} {unit}"
    return f"{size} B"


def format_duration(seconds: float) -> str:
    """A duration for a person: ``3.2 s``, ``75 s``, ``10 min``, ``2 h 01 min``."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    if seconds < 120:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02d} min"


def short_number(value: float) -> str:
    """A number with three significant digits, without an exponent.

    >>> short_number(0.38912), short_number(78.04), short_number(1234.5)
    ('0.389', '78.0', '1,234')
    """
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    digits = max(0, 2 - math.floor(math.log10(abs(value))))
    return f"{value:,.{digits}f}"
