"""What ``glusterlab size`` shows."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from glusterlab.analysis.blocks import READ_SHARE, WRITE_SHARE
from glusterlab.analysis.sizing import Request, Sizing
from glusterlab.report.terminal import SCHEMA_VERSION, emit_json, show_table
from glusterlab.units import format_size, short_number

if TYPE_CHECKING:
    from glusterlab.spec.prices import PriceList


@dataclass(frozen=True, slots=True)
class Answer:
    """What a request came to.

    Attributes
    ----------
    campaign : pathlib.Path
    request : Request
    sized : list of Sizing
    prices : PriceList or None
    disk_bytes : float or None
        Of a data disk, where the command line names it.
    """

    campaign: Path
    request: Request
    sized: list[Sizing]
    prices: PriceList | None
    disk_bytes: float | None


def _rate(request: Request, rate: float) -> str:
    if request.quantity == "files_per_s":
        return f"{short_number(rate)} files/s"
    return f"{short_number(rate / 1e9)} GB/s" if rate >= 1e9 else f"{short_number(rate / 1e6)} MB/s"


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"


def _terabytes(size: float) -> str:
    return "unknown" if math.isnan(size) else f"{short_number(size / 1e12)} TB"


def asked(request: Request) -> str:
    """The request in words."""
    parts = []
    if request.rate is not None:
        parts.append(_rate(request, request.rate))
    if request.capacity is not None and request.final_capacity is not None:
        text = f"{request.capacity / 1e12:,.6g} TB"
        if request.growth and request.years:
            text += f" growing by {_percent(request.growth)} a year for {request.years:g} years: "
            text += _terabytes(request.final_capacity)
        parts.append(text)
    return f"{request.operation} of files of {format_size(request.nominal_file_size_bytes)}: {', '.join(parts)}"


def _interval(request: Request, one: Sizing) -> str:
    mean = _rate(request, one.rate_mean)
    if math.isnan(one.rate_low):
        return f"{mean}, insufficient n"
    return f"{mean} ({_rate(request, one.rate_low).split()[0]} to {_rate(request, one.rate_high).split()[0]})"


def _thumb(request: Request, one: Sizing) -> str:
    """Servers by the rule of thumb, and its throughput of a server over the one that was sized by."""
    if one.thumb_rate is None:
        return "none"
    measured = (one.block.low if request.by == "lower" else one.block.mean) / one.block.servers
    ratio = f"× {short_number(one.thumb_rate / measured)}" if measured > 0 else _rate(request, one.thumb_rate)
    return ratio if one.thumb_servers is None else f"{one.thumb_servers} ({ratio})"


def notes(answer: Answer) -> list[str]:
    """What must be known to read the table: assumptions, limits, the scale."""
    request, sized = answer.request, answer.sized
    found = []
    if request.rate is not None:
        low = "the lower end of the 95 % interval" if request.by == "lower" else "the mean"
        found.append(f"Throughput is sized by {low} of what was measured, at each layout's best number of workers.")
    pools = sorted({one.block.servers for one in sized})
    found.append(
        "Throughput, capacity and cost are taken to grow in proportion to the servers, and clients with them. That is "
        f"an assumption: measured were {' and '.join(map(str, pools))} servers."
    )
    scales = sorted({one.block.scale for one in sized if one.block.scale != 1})
    if scales:
        text = ", ".join(f"{scale:g}" for scale in scales)
        found.append(f"A scale model: what was measured is multiplied by its scale ({text}).")
    found.append(
        f"Limits: a pool is filled to {_percent(request.fill_limit)} (an assumption); one server stays below "
        f"{_percent(request.max_fault_domain)} of the pool; at least 4 servers for replicated volumes and 6 for "
        "dispersed ones (the guide's recommendations)."
    )
    rising = [one.block.series for one in sized if one.block.still_rising]
    if rising:
        found.append(f"Still rising at the most workers measured, so that they may do more: {'; '.join(rising)}.")
    if any(one.thumb_rate is not None for one in sized):
        found.append(
            "Rule of thumb: servers by it, and its throughput of a server over the one sized by. Writes = slowest of "
            f"network and disks / replicas × {WRITE_SHARE:g}, reads = slowest × {READ_SHARE:g} (Red Hat Summit 2017); "
            "for dispersed volumes (k+m)/k stands for the replicas, which is this project's reading."
        )
    shares = [
        f"{one.block.series} {_percent(one.block.mean / one.block.servers / one.bound_rate)}"
        for one in sized
        if one.bound_rate is not None
    ]
    if shares:
        found.append(f"Measured share of what a server's link and disks allow, by the means: {'; '.join(shares)}.")
    found.extend(_money_notes(answer))
    for one in sized:
        found.extend(f"{one.block.series}: {sentence}." for sentence in one.advice)
    return found


def _money_notes(answer: Answer) -> Iterable[str]:
    if answer.prices is None:
        yield "No price list: no costs. Name one by --prices."
    else:
        yield answer.prices.sentence
        if any(one.block.server_cost is None for one in answer.sized):
            yield f"The price list has no price for some of the servers; it has {', '.join(answer.prices.servers)}."
    disks = sorted({one.block.disk_bytes for one in answer.sized if one.block.disk_bytes is not None})
    if disks:
        source = "as named" if answer.disk_bytes is not None else "of the price list, or else of the measured cluster"
        sizes = " and ".join(f"{size / 1e12:.4g} TB" for size in disks)
        yield f"Data disks of {sizes} ({source}); a disk of another size is taken to be as fast as those measured."


def _row(answer: Answer, one: Sizing) -> tuple[str, ...]:
    request = answer.request
    cost = "unknown"
    if one.cost is not None and answer.prices is not None:
        cost = f"{answer.prices.currency} {one.cost:,.0f}"
    return (
        one.block.series,
        one.block.server or "unnamed",
        str(one.servers),
        ", ".join(one.binding),
        _interval(request, one),
        _terabytes(one.usable),
        _terabytes(one.fillable),
        _percent(one.fault_domain),
        cost,
        _thumb(request, one),
    )


COLUMNS = (
    *("layout", "server", "servers", "decided by", "throughput (95 %)", "usable", "filled", "one server is"),
    *("cost", "rule of thumb"),
)


def show_size(answer: Answer, *, as_json: bool) -> None:
    """What a request came to: a table of layouts, what cannot do it and why, and what must be known."""
    if as_json:
        emit_json(_json(answer))
        return
    typer.echo(asked(answer.request))
    typer.echo("")
    possible = [one for one in answer.sized if one.possible]
    if possible:
        rows = [_row(answer, one) for one in possible]
        show_table(COLUMNS, rows, right=("servers", "usable", "filled", "one server is", "cost"))
    else:
        typer.echo("No measured layout can be sized for this.")
    for one in answer.sized:
        if not one.possible:
            typer.echo(f"\nnot possible: {one.block.series}: {one.problem}")
    typer.echo("")
    for note in notes(answer):
        typer.echo(f"- {note}")


def _number(value: float | None) -> float | None:
    return None if value is None or math.isnan(value) else value


def _json(answer: Answer) -> dict[str, Any]:
    request = answer.request
    return {
        "schema_version": SCHEMA_VERSION,
        "campaign": str(answer.campaign),
        "request": {
            "tool": request.tool,
            "operation": request.operation,
            "nominal_file_size_bytes": request.nominal_file_size_bytes,
            "quantity": request.quantity,
            "rate": request.rate,
            "capacity_bytes": request.capacity,
            "growth_per_year": request.growth,
            "years": request.years,
            "final_capacity_bytes": request.final_capacity,
            "fill_limit": request.fill_limit,
            "max_fault_domain": request.max_fault_domain,
            "by": request.by,
        },
        "prices": None
        if answer.prices is None
        else {
            "name": answer.prices.name,
            "currency": answer.prices.currency,
            "date": str(answer.prices.date),
            "example": answer.prices.example,
        },
        "layouts": [_layout_json(one) for one in answer.sized],
        "notes": notes(answer),
    }


def _layout_json(one: Sizing) -> dict[str, Any]:
    block = one.block
    return {
        "layout": block.series,
        "type": block.type_,
        "geometry_measured": block.geometry,
        "kind": block.kind,
        "server": block.server,
        "possible": one.possible,
        "problem": one.problem,
        "servers": one.servers or None,
        "servers_by_limit": one.needs,
        "decided_by": list(one.binding),
        "rate_mean": _number(one.rate_mean),
        "rate_low": _number(one.rate_low),
        "rate_high": _number(one.rate_high),
        "usable_bytes": _number(one.usable),
        "fillable_bytes": _number(one.fillable),
        "cost": one.cost,
        "fault_domain": _number(one.fault_domain),
        "advice": list(one.advice),
        "rule_of_thumb_per_server": one.thumb_rate,
        "rule_of_thumb_servers": one.thumb_servers,
        "physical_bound_per_server": one.bound_rate,
        "measured": {
            "servers": block.servers,
            "disks": block.disks,
            "workers": block.workers,
            "n": block.n,
            "scale": block.scale,
            "still_rising": block.still_rising,
            "full_size_mean": _number(block.mean),
            "full_size_low": _number(block.low),
            "full_size_high": _number(block.high),
        },
    }
