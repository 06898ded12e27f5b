"""What ``glusterlab size`` shows."""

from __future__ import annotations

import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import typer

from glusterlab.analysis.blocks import ACCESS, RULE_OF_THUMB, counts_words, guess_sentence
from glusterlab.analysis.capacity import MAX_FAULT_DOMAIN, RECOMMENDED_POOL, fault_domain
from glusterlab.analysis.sizing import Request, Sizing
from glusterlab.analysis.sizingreading import rate_interval, rate_text, scale_caveats
from glusterlab.report.terminal import SCHEMA_VERSION, emit_json, show_table
from glusterlab.sizerequest import Answer
from glusterlab.units import format_size, short_number


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"


def _terabytes(size: float) -> str:
    return "unknown" if math.isnan(size) else f"{short_number(size / 1e12)} TB"


def asked(request: Request) -> str:
    """The request in words."""
    parts = []
    if request.rate is not None:
        parts.append(rate_text(request.quantity, request.rate))
    if request.capacity is not None and request.final_capacity is not None:
        text = f"{request.capacity / 1e12:,.6g} TB"
        if request.growth and request.years:
            text += f" growing by {_percent(request.growth)} a year for {request.years:g} years: "
            text += _terabytes(request.final_capacity)
        parts.append(text)
    size = format_size(request.nominal_file_size_bytes)
    return f"{request.operation} of files of {size}, {ACCESS} client: {', '.join(parts)}"


def _interval(request: Request, mean: float, low: float, high: float) -> str:
    interval = rate_interval(request.quantity, mean, low, high)
    told = rate_text(request.quantity, mean)
    return f"{told}, {interval}" if math.isnan(low) else f"{told} ({interval})"


def _thumb(request: Request, one: Sizing) -> str:
    """Servers by the rule of thumb, and its throughput of a server over the one that was sized by."""
    if one.thumb_rate is None:
        return "none"
    measured = (one.block.low if request.by == "lower" else one.block.mean) / one.block.servers
    if measured > 0:
        ratio = f"× {short_number(one.thumb_rate / measured)}"
    else:
        ratio = rate_text(request.quantity, one.thumb_rate)
    return ratio if one.thumb_servers is None else f"{one.thumb_servers} ({ratio})"


def notes(answer: Answer) -> list[str]:
    """What must be known to read the table: assumptions, limits, the scale."""
    found = list(_measured_notes(answer))
    found.append(_limits_note(answer.request))
    if any(one.thumb_rate is not None for one in answer.sized):
        words = "servers by it, and its throughput of a server over the one sized by"
        found.append(f"Rule of thumb: {words}; {RULE_OF_THUMB}.")
    shares = [
        f"{one.block.series} {_percent(one.block.mean / one.block.servers / one.bound_rate)}"
        for one in answer.sized
        if one.bound_rate is not None
    ]
    if shares:
        found.append(f"Measured share of what a server's link and disks allow, by the means: {'; '.join(shares)}.")
    found.extend(_money_notes(answer))
    for one in answer.sized:
        found.extend(f"{one.block.series}: {sentence}." for sentence in one.advice)
    return found


def _measured_notes(answer: Answer) -> Iterable[str]:
    request, sized = answer.request, answer.sized
    blocks = [one.block for one in sized]
    if not blocks:
        return
    at = counts_words(block.measured_workers for block in blocks)
    if request.rate is None:
        yield f"Throughput is what was measured, by the {ACCESS} client, at {at}."
    else:
        low = "the lower end of the 95 % interval" if request.by == "lower" else "the mean"
        yield f"Throughput is sized by {low} of what was measured, by the {ACCESS} client, at {at}."
    pools = " and ".join(map(str, sorted({block.servers for block in blocks})))
    yield (
        "Throughput, capacity and cost are taken to grow in proportion to the servers, and clients with them. That is "
        f"an assumption: measured were {pools} servers."
    )
    yield "Per disk: of all disks of the pool, whatever the protection."
    limited = any(block.operations_limited for block in blocks)
    yield from scale_caveats((block.scale for block in blocks), operations_limited=limited)
    rising = [block.series for block in blocks if block.still_rising]
    if rising:
        yield f"Still rising at the most workers measured, so that they may do more: {'; '.join(rising)}."


def _limits_note(request: Request) -> str:
    fewest = RECOMMENDED_POOL["replicate"]
    note = (
        f"Limits: a pool is filled to {_percent(request.fill_limit)} (an assumption); one server stays below "
        f"{_percent(request.max_fault_domain)} of the pool; at least {fewest} servers for replicated volumes and "
        f"{RECOMMENDED_POOL['disperse']} for dispersed ones (the guide's recommendations)."
    )
    if request.max_fault_domain > fault_domain(fewest):
        return note
    larger = f"--max-fault-domain {100 * fault_domain(fewest) + 1:.0f}%"
    return (
        f"{note} The guide says its {_percent(MAX_FAULT_DOMAIN)} of dense servers; here every server is held to the "
        f"share above. A pool of {fewest} replicated servers, {_percent(fault_domain(fewest))} each, needs {larger}."
    )


def _money_notes(answer: Answer) -> Iterable[str]:
    if answer.prices is None:
        yield "No price list: no costs. Name one by --prices."
    else:
        yield answer.prices.sentence
    for one in answer.sized:
        if one.block.cost_problem:
            yield f"{one.block.series}: cost unknown, {one.block.cost_problem}."
        if one.block.guessed:
            yield guess_sentence(one.block)
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
        _interval(request, one.rate_mean, one.rate_low, one.rate_high),
        _interval(request, *one.per_disk),
        _terabytes(one.usable),
        _terabytes(one.fillable),
        _percent(one.fault_domain),
        cost,
        _thumb(request, one),
    )


COLUMNS = (
    *("layout", "server", "servers", "decided by", "throughput (95 %)", "per disk (95 %)", "usable", "fillable"),
    *("one server is", "cost", "rule of thumb"),
)


def show_size(answer: Answer, campaign: Path, *, as_json: bool) -> None:
    """What a request came to: a table of layouts, what cannot do it and why, and what must be known.

    Parameters
    ----------
    answer : Answer
    campaign : pathlib.Path
        That was measured.
    as_json : bool
    """
    if as_json:
        emit_json(_json(answer, campaign))
        return
    typer.echo(asked(answer.request))
    typer.echo("")
    possible = [one for one in answer.sized if one.possible]
    if possible:
        rows = [_row(answer, one) for one in possible]
        show_table(COLUMNS, rows, right=("servers", "usable", "fillable", "one server is", "cost"))
    else:
        typer.echo("No measured layout can be sized for this.")
    for one in answer.sized:
        if not one.possible:
            typer.echo(f"\nnot possible: {one.block.series}: {one.problem}")
    for series in answer.left_out:
        typer.echo(f"\nnot sized: {series}: its servers or disks are not known")
    typer.echo("")
    for note in notes(answer):
        typer.echo(f"- {note}")


def _number(value: float | None) -> float | None:
    return None if value is None or math.isnan(value) else value


def _json(answer: Answer, campaign: Path) -> dict[str, Any]:
    request = answer.request
    return {
        "schema_version": SCHEMA_VERSION,
        "campaign": str(campaign),
        "request": {
            "tool": request.tool,
            "access": ACCESS,
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
        "left_out": list(answer.left_out),
        "notes": notes(answer),
    }


def _layout_json(one: Sizing) -> dict[str, Any]:
    block = one.block
    per_disk = dict(zip(("rate_per_disk_mean", "rate_per_disk_low", "rate_per_disk_high"), one.per_disk, strict=True))
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
        **{name: _number(rate) for name, rate in per_disk.items()},
        "usable_bytes": _number(one.usable),
        "fillable_bytes": _number(one.fillable),
        "cost": one.cost,
        "cost_problem": block.cost_problem,
        "server_guessed": block.guessed,
        "fault_domain": _number(one.fault_domain),
        "advice": list(one.advice),
        "rule_of_thumb_per_server": one.thumb_rate,
        "rule_of_thumb_servers": one.thumb_servers,
        "physical_bound_per_server": one.bound_rate,
        "measured": {
            "servers": block.servers,
            "disks": block.disks,
            "workers": block.workers,
            "workers_measured": list(block.measured_workers),
            "n": block.n,
            "scale": block.scale,
            "operations_limited": block.operations_limited,
            "still_rising": block.still_rising,
            "full_size_mean": _number(block.mean),
            "full_size_low": _number(block.low),
            "full_size_high": _number(block.high),
        },
    }
