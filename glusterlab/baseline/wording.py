"""What the rates of a baseline are called, in which order they stand, and what the cluster file states for them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from glusterlab.units import MEGABYTE, short_number

if TYPE_CHECKING:
    from glusterlab.baseline.results import Rates
    from glusterlab.spec.cluster import Cluster

SLOW = 0.9
"""A place that is slower than this share of the median of its like is named."""


def stated(rates: Rates, cluster: Cluster) -> float | None:
    """What the cluster file states for these places, in bytes per second on their scale; None where it says nothing."""
    hardware = cluster.hardware
    if rates.what == "link":
        link = hardware.server_link if rates.of == "server" else min(hardware.client_link, hardware.server_link)
        return link / rates.scale
    backing = cluster.backings.get(rates.of)
    if backing is None:
        return None
    write = rates.operation == "write"
    array = hardware.array_write if write else hardware.array_read
    disk = hardware.disk_write if write else hardware.disk_read
    brick = array if array is not None and backing.kind.startswith("raid") else disk * backing.disks_per_brick
    return brick * (len(backing.bricks) if rates.what == "server" else 1) / rates.scale


def slow_places(results: Sequence[Rates], cluster: Cluster) -> list[str]:
    """A line for each kind with places well below their like: a bad disk, a bad port, a bad cable."""
    lines = []
    for each in ordered(results, cluster):
        slow = sorted((rate, place) for place, rate in each.rates.items() if rate < SLOW * each.median)
        if slow:
            named = ", ".join(f"{place} {_mb(rate)} MB/s" for rate, place in slow[:4])
            more = f" and {len(slow) - 4} more" if len(slow) > 4 else ""
            what = "" if each.what == "link" else f" {each.operation}"
            bound = f"below {100 * SLOW:.0f} % of the median {_mb(each.median)} MB/s"
            lines.append(f"{label(each, cluster)}{what}, {each.model}: {bound}: {named}{more}")
    return lines


def ordered(results: Sequence[Rates], cluster: Cluster) -> list[Rates]:
    """By scale model; disks, then servers, then links. What a brick alone has said, its server does not repeat."""
    models = list(cluster.scale_models)
    kinds = ("brick", "server", "link")

    def place(each: Rates) -> tuple[object, ...]:
        model = models.index(each.model) if each.model in models else -1
        return model, kinds.index(each.what), each.of == "client", each.of, each.operation != "write"

    # a backing of one brick per server is alone and whole at the same time: one row is enough
    alone = {each.of for each in results if each.what == "brick" and len(cluster.backings[each.of].bricks) == 1}
    return sorted((each for each in results if each.what != "server" or each.of not in alone), key=place)


def label(each: Rates, cluster: Cluster) -> str:
    """What the places of these rates are."""
    if each.what == "link":
        return "link between servers" if each.of == "server" else "link of a client"
    backing = cluster.backings.get(each.of)
    array = backing is not None and backing.disks_per_brick > 1
    if each.what == "brick":
        return f"one {'array' if array else 'disk'}, {each.of}"
    return f"a server's {'arrays' if array else 'disks'} at once, {each.of}"


def _mb(rate: float) -> str:
    return short_number(rate / MEGABYTE)
