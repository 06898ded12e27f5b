"""What ``glusterlab check --baseline`` shows of the rates that were measured."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import typer

from glusterlab.baseline.wording import label, ordered, slow_places, stated
from glusterlab.report.terminal import show_table
from glusterlab.units import MEGABYTE, short_number

if TYPE_CHECKING:
    from glusterlab.baseline import Rates
    from glusterlab.spec.cluster import Cluster


def show_rates(results: Sequence[Rates], cluster: Cluster) -> None:
    """A row for each kind of place: the median, the slowest and where it is, and what the cluster file states."""
    columns = ("model", "what", "operation", "places", "MB/s", "lowest", "highest", "stated", "share", "n")
    rows = []
    for each in ordered(results, cluster):
        expected = stated(each, cluster)
        rows.append(
            (
                each.model,
                label(each, cluster),
                "" if each.what == "link" else each.operation,
                len(each.rates),
                _mb(each.median),
                _mb(min(each.rates.values())),
                _mb(max(each.rates.values())),
                "" if expected is None else _mb(expected),
                "" if expected is None else f"{100 * each.median / expected:.0f} %",
                each.samples,
            )
        )
    show_table(columns, rows, right=columns[3:])
    for line in slow_places(results, cluster):
        typer.echo(line)


def rates_json(results: Sequence[Rates], cluster: Cluster) -> list[dict[str, Any]]:
    """The rates for scripts."""
    return [
        {
            "model": each.model,
            "scale": each.scale,
            "operations_limited": each.operations_limited,
            "what": each.what,
            "of": each.of,
            "operation": each.operation,
            "samples": each.samples,
            "median_bytes_per_s": each.median,
            "stated_bytes_per_s": stated(each, cluster),
            "rates_bytes_per_s": dict(each.rates),
        }
        for each in ordered(results, cluster)
    ]


def _mb(rate: float) -> str:
    return short_number(rate / MEGABYTE)
