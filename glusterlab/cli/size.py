"""size: which layouts on how many servers do a workload, by what was measured."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import typer

from glusterlab.cli.console import percent, picked, show
from glusterlab.cli.options import JSON, VERIFY, commands, complete_raw, complete_yaml, option, path_option
from glusterlab.units import format_size, short_number

if TYPE_CHECKING:
    from glusterlab.analysis.sizing import Answer, Request, Sizing
    from glusterlab.spec.prices import PriceList

app, command = commands()


def _study_prices(raw: Path) -> PriceList | None:
    """The price list of the campaign's study, in a project around us, the campaign or this file."""
    from glusterlab.spec import load_campaign
    from glusterlab.spec.prices import load_prices

    own = Path("runbooks", load_campaign(raw / "campaign.yaml").study, "prices.yaml")
    starts = (Path.cwd(), raw.absolute(), Path(__file__))
    places = (folder / own for start in starts for folder in (start, *start.parents))
    return next((load_prices(path) for path in places if path.is_file()), None)


def _complete_workload(incomplete: str) -> list[str]:
    from glusterlab.analysis.sizing import WORKLOADS

    return [name for name in WORKLOADS if name.startswith(incomplete)]


@command(
    "glusterlab size --workload large-write --throughput 5GB/s --capacity 500TB --growth 20%/y --years 3",
    "glusterlab size --workload 32kb-read --throughput '20000 files/s'",
    "glusterlab size --file-size 4GB --operation read --throughput 40Gbit/s --prices offer.yaml",
    "glusterlab size --workload large-read --capacity 1PB --json | jq '.layouts[0]'",
    more="Throughput, capacity and cost are taken to grow in proportion to the servers, and clients with them; that "
    "is an assumption. On a scale model, measured values count times its scale. Exit code 1: no layout can.",
)
def size(
    workload: str | None = option(
        "NAME",
        "large-write, large-read (4 GB files), or 128gb-, 128mb-, 4mb-, 32kb- with write or read.",
        autocompletion=_complete_workload,
    ),
    file_size: str | None = option("SIZE", "Instead of --workload: a measured file size."),
    operation: str | None = option("write|read", "Goes with --file-size."),
    tool: str | None = option("TOOL", "That measured it; default: the one with the most samples of it."),
    throughput: str | None = option("RATE", "Of all clients: 5GB/s, 40Gbit/s; small files: 2000 files/s."),
    capacity: str | None = option("SIZE", "Of all files today: 500TB, 1.5PB."),
    growth: str | None = option("SHARE", "Of the capacity, a year: 20%/y; with --years."),
    years: float | None = option("N", "After which the pool must still be large enough."),
    raw: Path = path_option(
        "RAW", "Folder of a campaign below raw/.", default=Path("raw", "reference"), autocompletion=complete_raw
    ),
    prices: Path | None = path_option(
        "FILE", "A prices.yaml; default: the project's example.", autocompletion=complete_yaml
    ),
    disk_size: str | None = option(
        "SIZE", "Of a data disk; default: of the price list, of the cluster. A size that the list lacks has no cost."
    ),
    fill_limit: str | None = option("SHARE", "How full the pool may get; default: 80%."),
    max_fault_domain: str | None = option("SHARE", "One server stays below this share of the pool; default: 17%."),
    by: Literal["lower", "mean"] = typer.Option(
        "lower", help="Size by the lower end of the 95 % interval of a throughput, or by its mean."
    ),
    verify: bool = VERIFY,  # noqa: ARG001  its callback does it
    json: bool = JSON,
) -> None:
    """Which layouts on how many servers do a workload, with cost and the limit that decides: by what was measured.

    Results of the native client count, as in the figures of price and performance.
    """
    from glusterlab.analysis.sizing import answer_request, parse_request
    from glusterlab.spec.prices import load_prices
    from glusterlab.spec.yaml import load_cluster
    from glusterlab.tables import build as tables

    request = parse_request(
        workload=workload,
        file_size=file_size,
        operation=operation,
        tool=tool,
        throughput=throughput,
        capacity=capacity,
        growth=growth,
        years=years,
        fill_limit=fill_limit,
        max_fault_domain=max_fault_domain,
        disk_size=disk_size,
        by=by,
    )
    price_list = None if prices is None else load_prices(prices)
    samples = tables.load(raw).samples  # says what to do where there is no campaign
    price_list = price_list or _study_prices(raw)
    cluster = load_cluster(raw / "cluster.yaml") if (raw / "cluster.yaml").is_file() else None
    answer = answer_request(request, samples, prices=price_list, cluster=cluster)
    if not json:
        typer.echo(f"{_request_text(answer.request)}\n")
    rows = [_row(answer, one) for one in answer.sized if one.possible]
    right = ("servers", "usable", "fillable", "one server is", "cost")
    show(rows, json, _json(answer, raw), right=right, lines=[_text(answer)])
    raise typer.Exit(0 if any(one.possible for one in answer.sized) else 1)


def _terabytes(size: float) -> str:
    return "unknown" if math.isnan(size) else f"{short_number(size / 1e12)} TB"


def _request_text(request: Request) -> str:
    from glusterlab.analysis.blocks import ACCESS
    from glusterlab.analysis.sizing import rate_text

    parts = [] if request.rate is None else [rate_text(request.quantity, request.rate)]
    if request.capacity is not None and request.final_capacity is not None:
        text = f"{request.capacity / 1e12:,.6g} TB"
        if request.growth and request.years:
            text += f" growing by {percent(request.growth)} a year for {request.years:g} years: "
            text += _terabytes(request.final_capacity)
        parts.append(text)
    size = format_size(request.nominal_file_size_bytes)
    by = f"{request.tool}, {ACCESS} client"
    if request.other_tools:
        by += f" (measured also by {', '.join(request.other_tools)}: --tool)"
    return f"{request.operation} of files of {size}, {by}: {', '.join(parts)}"


def _interval(request: Request, mean: float, low: float, high: float) -> str:
    from glusterlab.analysis.sizing import rate_interval, rate_text

    interval = rate_interval(request.quantity, mean, low, high)
    text = rate_text(request.quantity, mean)
    return f"{text}, {interval}" if math.isnan(low) else f"{text} ({interval})"


def _thumb(request: Request, one: Sizing) -> str:
    """Servers by the rule of thumb, and its throughput of a server over the one that was sized by."""
    from glusterlab.analysis.sizing import rate_text

    if one.thumb_rate is None:
        return "none"
    measured = (one.block.low if request.by == "lower" else one.block.mean) / one.block.servers
    alone = rate_text(request.quantity, one.thumb_rate)
    ratio = f"× {short_number(one.thumb_rate / measured)}" if measured > 0 else alone
    return ratio if one.thumb_servers is None else f"{one.thumb_servers} ({ratio})"


def _notes(answer: Answer) -> Iterator[str]:
    """What must be known to read the table: assumptions, limits, the scale, the money."""
    from glusterlab.analysis.blocks import RULE_OF_THUMB, guess_sentence

    sized = answer.sized
    yield from _measured_notes(answer)
    yield _limits_note(answer.request)
    if any(one.thumb_rate is not None for one in sized):
        words = "servers by it, and its throughput of a server over the one sized by"
        yield f"Rule of thumb: {words}; {RULE_OF_THUMB}."
    shares = [
        f"{one.block.series} {percent(one.block.mean / one.block.servers / one.bound_rate)}"
        for one in sized
        if one.bound_rate is not None and not math.isnan(one.block.mean)
    ]
    if shares:
        yield f"Measured share of what a server's link and disks allow, by the means: {'; '.join(shares)}."
    yield "No price list: no costs. Name one by --prices." if answer.prices is None else answer.prices.sentence
    for one in sized:
        if one.block.cost_problem:
            yield f"{one.block.series}: cost unknown, {one.block.cost_problem}."
        if one.block.guessed:
            yield guess_sentence(one.block)
    if disks := sorted({one.block.disk_bytes for one in sized if one.block.disk_bytes is not None}):
        named = answer.request.disk_bytes is not None
        source = "as named" if named else "of the price list, or else of the measured cluster"
        sizes = " and ".join(f"{size / 1e12:.4g} TB" for size in disks)
        yield f"Data disks of {sizes} ({source}); a disk of another size is taken to be as fast as those measured."
    yield from (f"{one.block.series}: {sentence}." for one in sized for sentence in one.advice)


def _measured_notes(answer: Answer) -> Iterator[str]:
    from glusterlab.analysis.blocks import ACCESS, counts_words
    from glusterlab.analysis.select import VIEWS
    from glusterlab.analysis.sizing import scale_caveats

    request, sized = answer.request, answer.sized
    if not (blocks := [one.block for one in sized]):
        return
    at = counts_words(block.measured_workers for block in blocks)
    if request.rate is None:
        yield f"Throughput is what was measured, by the {ACCESS} client, at {at}."
    else:
        low = "the lower end of the 95 % interval" if request.by == "lower" else "the mean"
        yield f"Throughput is sized by {low} of what was measured, by the {ACCESS} client, at {at}."
    yield f"Throughput is the {VIEWS[0]}, and not that {VIEWS[1]}."
    pools = " and ".join(map(str, sorted({block.servers for block in blocks})))
    yield (
        "Throughput, capacity and cost are taken to grow in proportion to the servers, and clients with them. That is "
        f"an assumption: measured were {pools} servers."
    )
    yield "Per disk: of all disks of the pool, whatever the protection."
    limited = any(block.operations_limited for block in blocks)
    yield from scale_caveats((block.scale for block in blocks), operations_limited=limited)
    if rising := [block.series for block in blocks if block.still_rising]:
        yield f"Still rising at the most workers measured, so that they may do more: {'; '.join(rising)}."


def _limits_note(request: Request) -> str:
    from glusterlab.analysis.capacity import MAX_FAULT_DOMAIN, RECOMMENDED_POOL, fault_domain

    fewest = RECOMMENDED_POOL["replicate"]
    note = (
        f"Limits: a pool is filled to {percent(request.fill_limit)} (an assumption); one server stays below "
        f"{percent(request.max_fault_domain)} of the pool; at least {fewest} servers for replicated volumes and "
        f"{RECOMMENDED_POOL['disperse']} for dispersed ones (recommended in supermicro-2017)."
    )
    if request.max_fault_domain <= (share := fault_domain(fewest)):
        note += (
            f" It limits dense servers alone to {percent(MAX_FAULT_DOMAIN)}; here every server is held to the share"
            f" above. A pool of {fewest} replicated servers, {percent(share)} each, needs --max-fault-domain"
            f" {100 * share + 1:.0f}%."
        )
    return note


def _row(answer: Answer, one: Sizing) -> dict[str, str]:
    request = answer.request
    prices = None if one.cost is None else answer.prices
    return {
        "layout": one.block.series,
        "server": one.block.server or "unnamed",
        "servers": str(one.servers),
        "decided by": ", ".join(one.binding),
        "throughput (95 %)": _interval(request, one.rate_mean, one.rate_low, one.rate_high),
        "per disk (95 %)": _interval(request, *one.per_disk),
        "usable": _terabytes(one.usable),
        "fillable": _terabytes(one.fillable),
        "one server is": percent(one.fault_domain),
        "cost": "unknown" if prices is None else f"{prices.currency} {one.cost:,.0f}",
        "rule of thumb": _thumb(request, one),
    }


def _text(answer: Answer) -> str:
    """What cannot do it and why, and what must be known."""
    none = not any(one.possible for one in answer.sized)
    paragraphs = ["No measured layout can be sized for this."] if none else []
    paragraphs += [f"not possible: {one.block.series}: {one.problem}" for one in answer.sized if not one.possible]
    paragraphs += [f"not sized: {series}: its servers or disks are not known" for series in answer.left_out]
    return "\n\n".join([*paragraphs, "\n".join(f"- {note}" for note in _notes(answer))])


def _json(answer: Answer, campaign: Path) -> dict[str, Any]:
    from glusterlab.analysis.blocks import ACCESS

    request, prices = answer.request, answer.prices
    names = ("tool", "other_tools", "operation", "nominal_file_size_bytes", "quantity", "rate", "years")
    return {
        "campaign": campaign,
        "request": {
            **picked(request, *names, "fill_limit", "max_fault_domain", "by", capacity_bytes="capacity"),
            **picked(request, growth_per_year="growth", final_capacity_bytes="final_capacity"),
            "access": ACCESS,
        },
        "prices": None if prices is None else picked(prices, "name", "currency", "date", "example"),
        "layouts": [_layout_json(one) for one in answer.sized],
        "left_out": answer.left_out,
        "notes": list(_notes(answer)),
    }


def _layout_json(one: Sizing) -> dict[str, Any]:
    block = one.block
    measured = ("servers", "disks", "workers", "n", "scale", "operations_limited", "still_rising")
    return {
        **picked(one, "possible", "problem", "rate_mean", "rate_low", "rate_high", "cost", "fault_domain", "advice"),
        **dict(zip(("rate_per_disk_mean", "rate_per_disk_low", "rate_per_disk_high"), one.per_disk, strict=True)),
        **picked(one, servers_by_limit="needs", decided_by="binding", usable_bytes="usable", fillable_bytes="fillable"),
        **picked(one, rule_of_thumb_per_server="thumb_rate", rule_of_thumb_servers="thumb_servers"),
        **picked(block, "type", "kind", "server", "cost_problem", layout="series", geometry_measured="geometry"),
        "server_guessed": block.guessed,
        "servers": one.servers or None,
        "physical_bound_per_server": one.bound_rate,
        "measured": {
            **picked(block, *measured, workers_measured="measured_workers"),
            **picked(block, full_size_mean="mean", full_size_low="low", full_size_high="high"),
        },
    }
