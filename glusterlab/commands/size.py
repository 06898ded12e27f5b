"""The command that sizes a pool from what was measured: size."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from glusterlab.arguments import JsonOption, complete_raw, complete_yaml, examples, local_path

if TYPE_CHECKING:
    from glusterlab.spec.prices import PriceList

app = typer.Typer()

PRICES = Path("runbooks", "supermicro-2017", "prices.yaml")
"""The price list that is taken where none is named, in the project's folder."""


class By(StrEnum):
    """Which number of a measured throughput counts."""

    LOWER = "lower"
    MEAN = "mean"


def _prices(given: Path | None, raw: Path) -> PriceList | None:
    """The price list that was named, else that of the project that we, the campaign or the library are in."""
    from glusterlab.spec.prices import load_prices

    if given is not None:
        return load_prices(given)
    starts = (Path.cwd(), raw.absolute(), Path(__file__))
    places = (folder / PRICES for start in starts for folder in (start, *start.parents))
    found = next((path for path in places if path.is_file()), None)
    return None if found is None else load_prices(found)


def _complete_workload(incomplete: str) -> list[str]:
    from glusterlab.sizerequest import WORKLOADS

    return [name for name in WORKLOADS if name.startswith(incomplete)]


@app.command(
    epilog=examples(
        "glusterlab size --workload large-write --throughput 5GB/s --capacity 500TB --growth 20%/y --years 3",
        "glusterlab size --workload 32kb-read --throughput '20000 files/s'",
        "glusterlab size --file-size 4GB --operation read --throughput 40Gbit/s --prices offer.yaml",
        "glusterlab size --workload large-read --capacity 1PB --json | jq '.layouts[0]'",
    )
    + "\n\nThroughput, capacity and cost are taken to grow in proportion to the servers, and clients with them; that "
    "is an assumption. On a scale model, measured values count times its scale. Exit code 1: no layout can."
)
def size(
    workload: Annotated[
        str | None,
        typer.Option(
            "--workload",
            metavar="NAME",
            help="large-write, large-read (4 GB files), or 128gb-, 128mb-, 4mb-, 32kb- with write or read.",
            autocompletion=_complete_workload,
        ),
    ] = None,
    file_size: Annotated[
        str | None, typer.Option("--file-size", metavar="SIZE", help="Instead of --workload: a measured file size.")
    ] = None,
    operation: Annotated[
        str | None, typer.Option("--operation", metavar="write|read", help="Goes with --file-size.")
    ] = None,
    throughput: Annotated[
        str | None,
        typer.Option(
            "--throughput", metavar="RATE", help="Of all clients: 5GB/s, 40Gbit/s; small files: 2000 files/s."
        ),
    ] = None,
    capacity: Annotated[
        str | None, typer.Option("--capacity", metavar="SIZE", help="Of all files today: 500TB, 1.5PB.")
    ] = None,
    growth: Annotated[
        str | None, typer.Option("--growth", metavar="SHARE", help="Of the capacity, a year: 20%/y; with --years.")
    ] = None,
    years: Annotated[
        float | None, typer.Option("--years", metavar="N", help="After which the pool must still be large enough.")
    ] = None,
    raw: Annotated[
        Path,
        typer.Option(
            "--raw",
            metavar="RAW",
            parser=local_path,
            help="Folder of a campaign below raw/.",
            autocompletion=complete_raw,
        ),
    ] = Path("raw", "reference"),
    prices: Annotated[
        Path | None,
        typer.Option(
            "--prices",
            metavar="FILE",
            parser=local_path,
            help="A prices.yaml; default: the project's example.",
            autocompletion=complete_yaml,
        ),
    ] = None,
    disk_size: Annotated[
        str | None,
        typer.Option(
            "--disk-size",
            metavar="SIZE",
            help="Of a data disk; default: of the price list, of the cluster. A size that the list lacks has no cost.",
        ),
    ] = None,
    fill_limit: Annotated[
        str | None, typer.Option("--fill-limit", metavar="SHARE", help="How full the pool may get; default: 80%.")
    ] = None,
    max_fault_domain: Annotated[
        str | None,
        typer.Option(
            "--max-fault-domain", metavar="SHARE", help="One server stays below this share of the pool; default: 17%."
        ),
    ] = None,
    by: Annotated[
        By, typer.Option("--by", help="Size by the lower end of the 95 % interval of a throughput, or by its mean.")
    ] = By.LOWER,
    json: JsonOption = False,
) -> None:
    """Which layouts on how many servers do a workload, with cost and the limit that decides: by what was measured.

    Results of the native client count, as in the figures of price and performance.
    """
    from glusterlab import tables
    from glusterlab.report.size import show_size
    from glusterlab.sizerequest import Wishes, answer_demand, parse_wishes
    from glusterlab.spec.load import load_cluster

    wishes = Wishes(
        workload=workload,
        file_size=file_size,
        operation=operation,
        throughput=throughput,
        capacity=capacity,
        growth=growth,
        years=years,
        fill_limit=fill_limit,
        max_fault_domain=max_fault_domain,
        disk_size=disk_size,
        by="mean" if by is By.MEAN else "lower",
    )
    demand = parse_wishes(wishes)
    price_list = _prices(prices, raw)
    samples = tables.load(raw).samples
    cluster = load_cluster(raw / "cluster.yaml") if (raw / "cluster.yaml").is_file() else None
    answer = answer_demand(demand, samples, prices=price_list, cluster=cluster)
    show_size(answer, raw, as_json=json)
    raise typer.Exit(0 if any(one.possible for one in answer.sized) else 1)
