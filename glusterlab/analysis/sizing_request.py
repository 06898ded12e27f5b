"""Reads what a person asks of a pool, refuses what makes no sense, and sizes it by what a campaign has measured."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar

from glusterlab.analysis.blocks import blocks, native_only, of_unknown_size
from glusterlab.analysis.capacity import MAX_FAULT_DOMAIN
from glusterlab.analysis.select import same_size, select, valid_samples
from glusterlab.analysis.sizing import FILL_LIMIT, By, Request, Sizing
from glusterlab.analysis.sizing import size as size_all
from glusterlab.errors import DataError, UsageError
from glusterlab.spec.fields import suggest
from glusterlab.tools import counts_files
from glusterlab.units import format_size, parse_capacity, parse_rate, parse_size

if TYPE_CHECKING:
    import pandas as pd

    from glusterlab.spec.cluster import Cluster
    from glusterlab.spec.prices import PriceList

T = TypeVar("T")
D = TypeVar("D")

_SIZES = {"large": "4 GiB", "128gb": "128 GiB", "128mb": "128 MiB", "4mb": "4 MiB", "32kb": "32 KiB"}
WORKLOADS = {
    f"{name}-{operation}": (size, operation) for name, size in _SIZES.items() for operation in ("write", "read")
}
"""Names of workloads: file size, and whether files are written or read. Writing small files is creating them."""

OPERATIONS = {"write": ("write", "create"), "read": ("read",)}
"""What each tool calls it."""

MAX_GROWTH, MAX_YEARS = 10.0, 50.0
MAX_BYTES = 10.0**21

_SHARE = re.compile(r"^\s*([0-9]+(?:\.[0-9]+)?)\s*%\s*$")
_GROWTH = re.compile(r"^\s*([0-9]+(?:\.[0-9]+)?)\s*%\s*(?:/\s*(?:y|yr|year)|a year|per year)?\s*$")
_FILES = re.compile(r"^\s*([0-9]+(?:\.[0-9]+)?)\s*files?\s*/\s*s\s*$")
_DECIMAL_COMMA = re.compile(r"[0-9],[0-9]")


def _read(option: str, text: str, parse: Callable[[str], T]) -> T:
    try:
        return parse(text)
    except OverflowError:
        raise UsageError(f"{option}: expected a smaller number, found {text[:60]!r}") from None
    except ValueError as error:
        hint = "; a decimal point, and nothing between thousands" if _DECIMAL_COMMA.search(text) else ""
        raise UsageError(f"{option}: {error}{hint}") from None


def parse_wanted_capacity(text: str) -> float:
    """Bytes in a capacity, which says its unit.

    Examples
    --------
    >>> parse_wanted_capacity("33.3TB"), parse_wanted_capacity("1.5 PB")
    (33300000000000.0, 1500000000000000.0)
    """
    form = f"expected a capacity such as '500 TB' or '1.5 PB' (units B to PB, KiB to PiB), found {text!r}"
    if not re.search("[A-Za-z]", text):
        raise ValueError(form)
    try:
        found = parse_capacity(text)
    except ValueError:
        raise ValueError(form) from None
    if not found > 0:
        raise ValueError(f"expected a capacity above 0, found {text!r}")
    if found > MAX_BYTES:
        raise ValueError(f"expected at most a million PB, found {text!r}")
    return found


def parse_share(text: str) -> float:
    """A share in per cent, above 0 and at most 100 %.

    Examples
    --------
    >>> parse_share("17%"), parse_share("80 %")
    (0.17, 0.8)
    """
    match = _SHARE.match(text)
    share = float(match[1]) / 100 if match else 0.0
    if not 0 < share <= 1:
        raise ValueError(f"expected a share above 0 % and at most 100 %, such as '17%', found {text!r}")
    return share


def parse_growth(text: str) -> float:
    """Yearly growth as a share.

    Examples
    --------
    >>> parse_growth("20%/y"), parse_growth("5 % a year")
    (0.2, 0.05)
    """
    match = _GROWTH.match(text)
    if match is None:
        raise ValueError(f"expected a yearly growth of at least 0, such as '20%/y', found {text!r}")
    growth = float(match[1]) / 100
    if growth > MAX_GROWTH:
        raise ValueError(f"expected a yearly growth of at most {MAX_GROWTH:.0%}, found {text!r}")
    return growth


@dataclass(frozen=True, slots=True)
class Rate:
    """A rate of bytes per second, or of files per second."""

    value: float
    files: bool
    text: str

    def as_quantity(self, *, files: bool, size: int) -> float:
        """The rate in what a tool counts: files per second, or bytes per second, by the bytes of a file.

        Examples
        --------
        >>> parse_wanted_rate("64 MiB/s").as_quantity(files=True, size=32 << 10)
        2048.0
        """
        if self.files and not files:
            raise UsageError(
                f"--throughput: expected bytes per second for files of {format_size(size)}, such as '5 GB/s', "
                f"found {self.text!r}"
            )
        return self.value if self.files == files else self.value / size


def parse_wanted_rate(text: str) -> Rate:
    """A rate of all clients together: ``5GB/s``, ``40 Gbit/s`` or ``2000 files/s``.

    Examples
    --------
    >>> parse_wanted_rate("5GB/s").value, parse_wanted_rate("2000 files/s").value
    (5000000000.0, 2000.0)
    """
    counted = _FILES.match(text)
    try:
        rate = float(counted[1]) if counted else parse_rate(text)
    except ValueError:
        expected = "'5 GB/s', '40 Gbit/s' or, for small files, '2000 files/s'"
        raise ValueError(f"expected a rate such as {expected}, found {text!r}") from None
    if not 0 < rate <= MAX_BYTES:
        raise ValueError(f"expected a rate above 0 that a pool can have, found {text!r}")
    return Rate(rate, counted is not None, text)


@dataclass(frozen=True, slots=True)
class Wishes:
    """What the command line says, as text."""

    workload: str | None = None
    file_size: str | None = None
    operation: str | None = None
    throughput: str | None = None
    capacity: str | None = None
    growth: str | None = None
    years: float | None = None
    fill_limit: str | None = None
    max_fault_domain: str | None = None
    disk_size: str | None = None
    by: By = "lower"


@dataclass(frozen=True, slots=True)
class Demand:
    """What the command line says: a request, but for what follows from what was measured."""

    request: Request
    rate: Rate | None
    disk_bytes: float | None


def _kind(wishes: Wishes) -> tuple[int, str]:
    """File size in bytes, and write or read."""
    names = ", ".join(WORKLOADS)
    given = [option for option in (wishes.file_size, wishes.operation) if option is not None]
    if wishes.workload is not None:
        if given:
            raise UsageError("expected either --workload, or --file-size with --operation; found both")
        if wishes.workload not in WORKLOADS:
            hint = suggest(wishes.workload, list(WORKLOADS), listed=False)
            raise UsageError(f"--workload: expected one of {names}; found {wishes.workload!r}{hint}")
        size, operation = WORKLOADS[wishes.workload]
        return parse_size(size), operation
    if wishes.file_size is None or wishes.operation is None:
        raise UsageError(f"expected --workload ({names}), or --file-size with --operation")
    if wishes.operation not in OPERATIONS:
        raise UsageError(f"--operation: expected one of {', '.join(OPERATIONS)}; found {wishes.operation!r}")
    return _read("--file-size", wishes.file_size, parse_size), wishes.operation


def parse_wishes(wishes: Wishes) -> Demand:
    """Every option read, and held against the others: `UsageError` names the option that is wrong or lacks."""
    size, operation = _kind(wishes)
    if wishes.throughput is None and wishes.capacity is None:
        raise UsageError("nothing to size: expected --throughput, --capacity or both")
    if wishes.growth is not None and wishes.capacity is None:
        raise UsageError("--growth: expected --capacity with it: it is the capacity that grows")
    if (wishes.growth is None) != (wishes.years is None):
        missing = "--years" if wishes.years is None else "--growth"
        raise UsageError(f"expected --growth and --years together; found no {missing}")
    years = wishes.years or 0.0
    if not 0 <= years <= MAX_YEARS:
        raise UsageError(f"--years: expected 0 to {MAX_YEARS:g}, found {years:g}")
    rate = _option("--throughput", wishes.throughput, parse_wanted_rate, None)
    request = Request(
        tool="",
        operation=operation,
        nominal_file_size_bytes=size,
        quantity="",
        capacity=_option("--capacity", wishes.capacity, parse_wanted_capacity, None),
        growth=_option("--growth", wishes.growth, parse_growth, 0.0),
        years=years,
        fill_limit=_option("--fill-limit", wishes.fill_limit, parse_share, FILL_LIMIT),
        max_fault_domain=_option("--max-fault-domain", wishes.max_fault_domain, parse_share, MAX_FAULT_DOMAIN),
        by=wishes.by,
    )
    return Demand(request, rate, _option("--disk-size", wishes.disk_size, parse_wanted_capacity, None))


def _option(option: str, text: str | None, parse: Callable[[str], T], default: D) -> T | D:
    return default if text is None else _read(option, text, parse)


def build_request(demand: Demand, samples: pd.DataFrame) -> Request:
    """A demand on what a campaign has measured with the native client.

    Raises `UsageError` when files per second are asked for and bytes were measured, and `DataError` when the campaign
    has no valid sample of that workload.
    """
    wanted = demand.request
    tool, operation, size = _measured(native_only(samples), wanted.nominal_file_size_bytes, wanted.operation)
    files = counts_files(tool)
    return replace(
        wanted,
        tool=tool,
        operation=operation,
        nominal_file_size_bytes=size,
        quantity="files_per_s" if files else "throughput_bytes_per_s",
        rate=None if demand.rate is None else demand.rate.as_quantity(files=files, size=size),
    )


@dataclass(frozen=True, slots=True)
class Answer:
    """What a demand came to; ``left_out``: layouts whose servers or disks an import does not know."""

    request: Request
    sized: tuple[Sizing, ...]
    left_out: tuple[str, ...]
    prices: PriceList | None
    disk_bytes: float | None


def answer_demand(
    demand: Demand, samples: pd.DataFrame, *, prices: PriceList | None = None, cluster: Cluster | None = None
) -> Answer:
    """Every layout of a campaign on the servers that a demand needs; raises what `build_request` raises."""
    request = build_request(demand, samples)
    rows = select(
        native_only(samples),
        tool=request.tool,
        nominal_file_size_bytes=request.nominal_file_size_bytes,
        operations=(request.operation,),
    )
    measured = blocks(rows, request.quantity, prices=prices, cluster=cluster, disk_bytes=demand.disk_bytes)
    sized = size_all(measured, request, None if cluster is None else cluster.hardware)
    return Answer(request, tuple(sized), tuple(of_unknown_size(rows)), prices, demand.disk_bytes)


def _measured(samples: pd.DataFrame, size: int, operation: str) -> tuple[str, str, int]:
    """Tool, operation and nominal size as the campaign has them; the nearest size, where several are near."""
    rows = valid_samples(samples)
    rows = rows[rows["operation"].astype(str).isin(OPERATIONS[operation])]
    found = rows[same_size(rows["nominal_file_size_bytes"], size)]
    if found.empty:
        sizes = sorted({int(each) for each in rows["nominal_file_size_bytes"]})
        has = ", ".join(format_size(each) for each in sizes) or "none at all"
        raise DataError(
            f"expected valid samples of {operation} with files of {format_size(size)} by the native client; the "
            f"campaign has these sizes: {has}. Sizes between are not guessed: measure that size, or ask for one that "
            "was measured"
        )
    near = (found["nominal_file_size_bytes"].astype(float) / size - 1).abs()
    first = found.assign(_near=near).sort_values(["_near", "tool", "operation"]).iloc[0]
    return str(first["tool"]), str(first["operation"]), int(first["nominal_file_size_bytes"])
