"""How many servers of which layout a workload needs, from what was measured, and which limit decides.

Assumed: throughput, capacity and cost grow in proportion to servers, clients with them, from the one number measured.
"""

import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple, TypeVar

import pandas as pd

from glusterlab.analysis.blocks import Block, best_rows, blocks, native_only, of_unknown_size, server_rates
from glusterlab.analysis.capacity import LARGEST_POOL, MAX_FAULT_DOMAIN, RECOMMENDED_POOL, SUPPORTED_POOL, dense_rule
from glusterlab.analysis.select import same_size, select, valid_samples
from glusterlab.analysis.words import interval_text
from glusterlab.errors import DataError, UsageError
from glusterlab.spec.cluster import Cluster, Hardware
from glusterlab.spec.fields import suggest
from glusterlab.spec.prices import PriceList
from glusterlab.stats import MIN_SAMPLES, TWO_GROUPS
from glusterlab.tools import counts_files, directions, volume_tools
from glusterlab.units import format_size, parse_capacity, parse_rate, parse_size, short_number

T = TypeVar("T")
D = TypeVar("D")
By = Literal["lower", "mean"]

_SIZES = {"large": "4 GiB", "128gb": "128 GiB", "128mb": "128 MiB", "4mb": "4 MiB", "32kb": "32 KiB"}
WORKLOADS = {
    f"{name}-{operation}": (size, operation) for name, size in _SIZES.items() for operation in ("write", "read")
}  # file size, and whether files are written or read; writing small files is creating them

_RUN = {name for tool in volume_tools().values() for name in tool.by_operation}
OPERATIONS: Mapping[str, Collection[str]] = {
    "write": {tool.maker for tool in volume_tools().values() if tool.maker},
    "read": {name for name, direction in directions().items() if direction == "read"} & _RUN,
}  # what each tool calls writing new files, and reading them

FILL_LIMIT = 0.8  # assumed by this project, the guide states none: a full pool cannot rebalance or place files evenly

MAX_GROWTH, MAX_YEARS = 10.0, 50.0
MAX_BYTES = 10.0**21
_ROUNDING = 1e-9

_SHARE = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*%\s*")
_GROWTH = re.compile(_SHARE.pattern + r"(?:/\s*(?:y|yr|year)|a year|per year)?\s*")
_FILES = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*files?\s*/\s*s\s*")
_DECIMAL_COMMA = re.compile(r"[0-9],[0-9]")


class Rate(NamedTuple):
    """A rate of bytes per second, or of files per second, and the text that says so."""

    value: float
    files: bool
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What a pool has to do; `build_request` fills in what follows from what was measured."""

    tool: str = ""
    other_tools: tuple[str, ...] = ()  # measured it as well
    operation: str = ""
    nominal_file_size_bytes: int = 0
    quantity: str = ""  # ``throughput_bytes_per_s`` or ``files_per_s``
    rate: float | None = None  # in its unit
    capacity: float | None = None  # bytes today
    growth: float = 0.0  # share by which they grow a year
    years: float = 0.0
    fill_limit: float = FILL_LIMIT
    max_fault_domain: float = MAX_FAULT_DOMAIN  # the share of the pool that one server stays below
    by: By = "lower"  # its throughput is the lower end of its 95 % interval, or the mean
    disk_bytes: float | None = None
    wanted_rate: Rate | None = None  # of all clients together, as it was typed

    @property
    def final_capacity(self) -> float | None:
        return None if self.capacity is None else self.capacity * (1 + self.growth) ** self.years


def _wanted_capacity(text: str) -> float:
    try:
        found = parse_capacity(text) if re.search("[A-Za-z]", text) else math.nan
    except ValueError:
        found = math.nan
    if not 0 < found <= MAX_BYTES:
        ends = "(units B to PB, KiB to PiB), above 0 and at most a million PB"
        raise ValueError(f"expected a capacity such as '500 TB' or '1.5 PB' {ends}, found {text!r}")
    return found


def _share(text: str) -> float:
    match = _SHARE.fullmatch(text)
    share = float(match[1]) / 100 if match else 0.0
    if not 0 < share <= 1:
        raise ValueError(f"expected a share above 0 % and at most 100 %, such as '17%', found {text!r}")
    return share


def _growth(text: str) -> float:
    match = _GROWTH.fullmatch(text)
    growth = float(match[1]) / 100 if match else math.nan
    if not growth <= MAX_GROWTH:
        raise ValueError(f"expected a yearly growth of 0% to {MAX_GROWTH:.0%}, such as '20%/y', found {text!r}")
    return growth


def _wanted_rate(text: str) -> Rate:
    files = _FILES.fullmatch(text)
    try:
        rate = float(files[1]) if files else parse_rate(text)
    except ValueError:
        rate = math.nan
    if not 0 < rate <= MAX_BYTES:
        expected = "'5 GB/s', '40 Gbit/s' or, for small files, '2000 files/s'"
        raise ValueError(f"expected a rate such as {expected}, above 0 and that a pool can have, found {text!r}")
    return Rate(rate, files is not None, text)


def _option(option: str, text: str | None, parse: Callable[[str], T], default: D) -> T | D:
    if text is None:
        return default
    try:
        return parse(text)
    except OverflowError:
        raise UsageError(f"{option}: expected a smaller number, found {text[:60]!r}") from None
    except ValueError as error:
        hint = "; a decimal point, and nothing between thousands" if _DECIMAL_COMMA.search(text) else ""
        raise UsageError(f"{option}: {error}{hint}") from None


def _size_and_operation(workload: str | None, file_size: str | None, operation: str | None) -> tuple[int, str]:
    names = ", ".join(WORKLOADS)
    if workload is not None:
        if file_size is not None or operation is not None:
            raise UsageError("expected either --workload, or --file-size with --operation; found both")
        if workload not in WORKLOADS:
            hint = suggest(workload, list(WORKLOADS), listed=False)
            raise UsageError(f"--workload: expected one of {names}; found {workload!r}{hint}")
        text, operation = WORKLOADS[workload]
        return parse_size(text), operation
    if file_size is None or operation is None:
        raise UsageError(f"expected --workload ({names}), or --file-size with --operation")
    if operation not in OPERATIONS:
        raise UsageError(f"--operation: expected one of {', '.join(OPERATIONS)}; found {operation!r}")
    return _option("--file-size", file_size, parse_size, 0), operation


def parse_request(
    *,
    workload: str | None = None,
    file_size: str | None = None,
    operation: str | None = None,
    tool: str | None = None,
    throughput: str | None = None,
    capacity: str | None = None,
    growth: str | None = None,
    years: float | None = None,
    fill_limit: str | None = None,
    max_fault_domain: str | None = None,
    disk_size: str | None = None,
    by: By = "lower",
) -> Request:
    """Every option read, and held against the others: `UsageError` names the option that is wrong or lacks."""
    nominal, operation = _size_and_operation(workload, file_size, operation)
    if throughput is None and capacity is None:
        raise UsageError("nothing to size: expected --throughput, --capacity or both")
    if growth is not None and capacity is None:
        raise UsageError("--growth: expected --capacity with it: it is the capacity that grows")
    if (growth is None) != (years is None):
        missing = "--years" if years is None else "--growth"
        raise UsageError(f"expected --growth and --years together; found no {missing}")
    if years is not None and not 0 <= years <= MAX_YEARS:
        raise UsageError(f"--years: expected 0 to {MAX_YEARS:g}, found {years:g}")
    return Request(
        tool=tool or "",
        operation=operation,
        nominal_file_size_bytes=nominal,
        wanted_rate=_option("--throughput", throughput, _wanted_rate, None),
        capacity=_option("--capacity", capacity, _wanted_capacity, None),
        growth=_option("--growth", growth, _growth, 0.0),
        years=years or 0.0,
        fill_limit=_option("--fill-limit", fill_limit, _share, FILL_LIMIT),
        max_fault_domain=_option("--max-fault-domain", max_fault_domain, _share, MAX_FAULT_DOMAIN),
        by=by,
        disk_bytes=_option("--disk-size", disk_size, _wanted_capacity, None),
    )


def build_request(request: Request, samples: pd.DataFrame) -> Request:
    """A request in terms of what a campaign has measured with the native client; the nearest size, where several are.

    Of several tools the one with the most samples, then by name. Raises `UsageError` for files per second of what was
    measured in bytes, or a tool that did not measure it, `DataError` where there is no valid sample of that workload.
    """
    wanted = request.nominal_file_size_bytes
    rows = valid_samples(native_only(samples))
    rows = rows[rows["operation"].astype(str).isin(list(OPERATIONS[request.operation]))]
    found = rows[same_size(rows["nominal_file_size_bytes"], wanted)]
    if found.empty:
        sizes = sorted({int(each) for each in rows["nominal_file_size_bytes"]})
        has = ", ".join(format_size(each) for each in sizes) or "none at all"
        raise DataError(
            f"expected valid samples of {request.operation} with files of {format_size(wanted)} by the native client; "
            f"the campaign has these sizes: {has}. Sizes between are not guessed: measure that size, or ask for one "
            "that was measured"
        )
    samples_of = Counter(found["tool"].astype(str))
    tool = request.tool or min(samples_of, key=lambda name: (-samples_of[name], name))
    if tool not in samples_of:
        near = suggest(tool, list(samples_of), listed=False)
        there = ", ".join(sorted(samples_of))
        raise UsageError(f"--tool: expected one that measured it: {there}; found {tool!r}{near}")
    own = found[found["tool"].astype(str) == tool]
    distance = (own["nominal_file_size_bytes"].astype(float) / wanted - 1).abs()
    nearest = own.assign(_distance=distance).sort_values(["_distance", "operation"]).iloc[0]
    size, files = int(nearest["nominal_file_size_bytes"]), counts_files(tool)
    typed = request.wanted_rate
    if typed is not None and typed.files and not files:
        expected = f"bytes per second for files of {format_size(size)}, such as '5 GB/s'"
        raise UsageError(f"--throughput: expected {expected}, found {typed.text!r}")
    return replace(
        request,
        tool=tool,
        other_tools=tuple(sorted(samples_of.keys() - {tool})),
        operation=str(nearest["operation"]),
        nominal_file_size_bytes=size,
        quantity="files_per_s" if files else "throughput_bytes_per_s",
        rate=None if typed is None else typed.value if typed.files == files else typed.value / size,
    )


class Answer(NamedTuple):
    """The layouts sized for a request; ``left_out``: those whose servers or disks an import does not know."""

    request: Request
    sized: "tuple[Sizing, ...]"
    left_out: tuple[str, ...]
    prices: PriceList | None


def answer_request(
    request: Request, samples: pd.DataFrame, *, prices: PriceList | None = None, cluster: Cluster | None = None
) -> Answer:
    """Every layout of a campaign on the servers that a request of `parse_request` needs; raises as `build_request`."""
    request = build_request(request, samples)
    own, nominal = native_only(samples), request.nominal_file_size_bytes
    rows = select(own, tool=request.tool, nominal_file_size_bytes=nominal, operations=(request.operation,))
    measured = blocks(best_rows(rows, request.quantity), prices, cluster, request.disk_bytes)
    sized = size(measured, request, None if cluster is None else cluster.hardware)
    return Answer(request, tuple(sized), tuple(of_unknown_size(rows)), prices)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizing:
    """A layout on the number of servers that a request needs; rates are of the pool, in proportion to the servers."""

    block: Block
    servers: int  # 0 with a ``problem``
    needs: dict[str, int]  # servers that each limit asks for, before the geometry rounds them up
    binding: tuple[str, ...]  # those that ask for the most, and "geometry" where whole subvolumes need more
    rate_low: float
    rate_mean: float
    rate_high: float
    usable: float  # bytes, NaN where not known
    fillable: float  # the same within the fill limit
    cost: float | None
    fault_domain: float
    advice: tuple[str, ...]  # what the guide advises against though the request allows it
    thumb_rate: float | None  # as `server_rates`
    thumb_servers: int | None
    bound_rate: float | None  # as `server_rates`
    problem: str

    @property
    def possible(self) -> bool:
        return not self.problem

    @property
    def per_disk(self) -> tuple[float, float, float]:
        """Rate of one disk, of all disks whatever the protection, as measured: mean, and the ends of its interval."""
        return self.block.mean / self.block.disks, self.block.low / self.block.disks, self.block.high / self.block.disks


def _servers_for(amount: float, per_server: float) -> int:
    return max(1, math.ceil(amount / per_server * (1 - _ROUNDING)))


def _problem(block: Block, request: Request, per_server: float) -> str:
    if request.capacity is not None and block.capacity_problem:
        return block.capacity_problem
    if request.rate is None:
        return ""
    if math.isnan(block.mean):
        return f"insufficient n: {TWO_GROUPS}, and no mean stands for them"
    if request.by == "lower" and block.n < MIN_SAMPLES:
        return f"insufficient n: {block.n} valid of the {MIN_SAMPLES} samples that the lower end of an interval needs"
    if not per_server > 0:
        return "its samples scatter so widely that the lower end of the interval is not above 0: measure more repeats"
    return ""


def _pool_size(block: Block, needs: Mapping[str, int]) -> int:
    """The fewest servers that all limits and the geometry allow; those of the limits where no pool is so large."""
    most = max(needs.values())
    return block.next_size(most) if most <= LARGEST_POOL else most


def size_block(block: Block, request: Request, hardware: Hardware | None = None) -> Sizing:
    """The fewest servers of one layout that meet a request; ``hardware`` is for the rules of thumb."""
    per_server = (block.low if request.by == "lower" else block.mean) / block.servers
    problem = _problem(block, request, per_server)
    needs = {
        "fault domain": math.floor(1 / request.max_fault_domain) + 1,
        "minimum pool": RECOMMENDED_POOL.get(block.type, SUPPORTED_POOL),
    }
    if request.final_capacity is not None and not block.capacity_problem:
        needs["capacity"] = _servers_for(request.final_capacity, block.usable(1) * request.fill_limit)
    large = request.operation if request.quantity == "throughput_bytes_per_s" else ""
    thumb, bound = server_rates(block, hardware, large)
    by_thumb = None
    if thumb is not None and request.rate is not None:
        by_thumb = _pool_size(block, needs | {"throughput": _servers_for(request.rate, thumb)})
    if request.rate is not None and not problem:
        needs = {"throughput": _servers_for(request.rate, per_server), **needs}
    most, servers = max(needs.values()), _pool_size(block, needs)
    binding = tuple(name for name, count in needs.items() if count == most) + ("geometry",) * (servers > most)
    if not problem and servers > LARGEST_POOL:
        problem = f"{' and '.join(binding)}: {servers:,} servers, and one pool has at most {LARGEST_POOL}"
    share = math.nan if problem else servers / block.servers
    usable = math.nan if problem else block.usable(servers)
    return Sizing(
        block=block,
        servers=0 if problem else servers,
        needs=needs,
        binding=binding,
        rate_low=block.low * share,
        rate_mean=block.mean * share,
        rate_high=block.high * share,
        usable=usable,
        fillable=usable * request.fill_limit,
        cost=None if block.server_cost is None or problem else servers * block.server_cost,
        fault_domain=math.nan if problem else 1 / servers,
        advice=() if problem or block.capacity_problem else _advice(block, servers, request),
        thumb_rate=thumb,
        thumb_servers=by_thumb,
        bound_rate=bound,
        problem=problem,
    )


def _advice(block: Block, servers: int, request: Request) -> tuple[str, ...]:
    """By the raw capacity that is asked for; where only throughput is, by that of the pool."""
    wanted = request.final_capacity
    raw = block.raw(servers) if wanted is None else block.raw_for(wanted / request.fill_limit)
    finding = dense_rule(block.disks_per_server, raw)
    return () if finding is None or finding.ok else (finding.sentence,)


def size(found: Iterable[Block], request: Request, hardware: Hardware | None = None) -> list[Sizing]:
    """Every layout on the servers that a request needs: those that meet it first, the cheapest before the others."""

    def order(one: Sizing) -> tuple[bool, float, int, str]:
        return not one.possible, math.inf if one.cost is None else one.cost, one.servers, one.block.series

    return sorted((size_block(block, request, hardware) for block in found), key=order)


def _rate_unit(quantity: str, rate: float) -> tuple[float, str]:
    if quantity == "files_per_s":
        return 1.0, "files/s"
    return (1e-9, "GB/s") if abs(rate) >= 1e9 else (1e-6, "MB/s")


def rate_text(quantity: str, rate: float) -> str:
    """A rate (in SI units) with its unit."""
    factor, unit = _rate_unit(quantity, rate)
    return f"{short_number(rate * factor)} {unit}"


def rate_interval(quantity: str, mean: float, low: float, high: float) -> str:
    """The interval of a rate, in the unit of its mean; below 0 the samples do not determine the mean."""
    factor, _ = _rate_unit(quantity, mean)
    if low < 0:
        return f"below 0 to {short_number(high * factor)}, too scattered to tell"
    return interval_text(low * factor, high * factor)


def scale_caveats(scales: Iterable[float], *, operations_limited: bool) -> list[str]:
    """What a scale model cannot say, as sentences; none of real hardware."""
    ratios = ", ".join(f"{scale:g}" for scale in sorted({float(scale) for scale in scales if scale != 1}))
    if not ratios:
        return []
    model = f"A scale model: what was measured is multiplied by its scale ({ratios})."
    caveats = [f"{model} It compares layouts; it cannot say how fast your pool will be."]
    if operations_limited:
        caveats.append("The disks' operations per second are assumed in it.")
    return caveats
