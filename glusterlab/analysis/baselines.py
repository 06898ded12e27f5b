"""What disks, arrays and links did alone, from a baseline, beside what cluster.yaml and a study state (appendix A)."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Literal

import pandas as pd

from glusterlab.errors import some
from glusterlab.spec.cell import Cell
from glusterlab.spec.cluster import Cluster
from glusterlab.units import MEGABYTE, format_size, short_number

What = Literal["brick", "server", "link"]  # one brick of each server at work, all bricks of a server, a pair of hosts


@dataclass(frozen=True)
class Rates:
    """Rates of alike places, on the scale that was measured."""

    model: str  # the scale model's name
    scale: float
    operations_limited: bool
    what: What
    of: str  # the backing; of links ``server`` between servers, ``client`` where a client is one of the two
    operation: str  # write, read or, of links, ``send``
    samples: int
    rates: Mapping[str, float]  # bytes/s, medians over samples, by place: ``server01``, ``server01 to client02``

    @property
    def median(self) -> float:
        return median(self.rates.values())


SLOW = 0.9  # a place that is slower than this share of the median of its like is named


def stated(rates: Rates, cluster: Cluster) -> float | None:
    """What the cluster file states for these places, in bytes per second on their scale; None where it says nothing."""
    hardware = cluster.hardware
    if rates.what == "link":
        link = hardware.server_link if rates.of == "server" else min(hardware.client_link, hardware.server_link)
        return link / rates.scale
    backing = cluster.backings.get(rates.of)
    if backing is None:
        return None
    bricks = len(backing.bricks) if rates.what == "server" else 1
    return hardware.brick_rate(backing, rates.operation) * bricks / rates.scale


def slow_places(results: Sequence[Rates], cluster: Cluster) -> list[str]:
    """A line for each kind with places well below their like: a bad disk, a bad port, a bad cable."""
    lines = []
    for each in ordered(results, cluster):
        slow = sorted((rate, place) for place, rate in each.rates.items() if rate < SLOW * each.median)
        if slow:
            named = some([f"{place} {short_number(rate / MEGABYTE)} MB/s" for rate, place in slow], 4)
            what = "" if each.what == "link" else f" {each.operation}"
            bound = f"below {100 * SLOW:.0f} % of the median {short_number(each.median / MEGABYTE)} MB/s"
            lines.append(f"{label(each, cluster)}{what}, {each.model}: {bound}: {named}")
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


PLACE_COLUMNS = [
    *("baseline", "model", "scale", "operations_limited", "what", "label", "operation", "place", "at_once", "samples"),
    *("rate_bytes_per_s", "stated_bytes_per_s", "published_bytes_per_s", "data_sheet_bytes_per_s"),
]
"""Columns of `place_rates`, a row per disk, array, server or link: ``at_once`` of a place were at work, and rates
are those of one of them, on the scale that was measured; published ones of the full size, NaN where none is stated."""

_GROUP = ["model", "scale", "operations_limited", "what", "label", "operation", "at_once"]


def place_rates(results: Sequence[Rates], cluster: Cluster | None, name: str, published: pd.DataFrame) -> pd.DataFrame:
    """The rates of a baseline by place: columns `PLACE_COLUMNS`, by scale model, disks before arrays before links."""
    rows: list[tuple[object, ...]] = []
    if cluster is None:
        return pd.DataFrame(columns=PLACE_COLUMNS)
    for each in ordered(results, cluster):
        expected = stated(each, cluster)
        backing = None if each.what == "link" else cluster.backings[each.of]
        disks = 0 if backing is None else backing.disks_per_brick
        what = "link" if backing is None else "array" if disks > 1 else "disk"
        at_once = len(backing.bricks) if backing is not None and each.what == "server" else 1
        numbers = [_published(published, what, disks, origin, each.operation) for origin in ("measured", "data sheet")]
        words = f"each of {at_once} {what}s at once, {each.of}" if at_once > 1 else label(each, cluster)
        kind = name, each.model, float(each.scale), each.operations_limited, what, words, each.operation
        per_one = math.nan if expected is None else expected / at_once
        for place, rate in each.rates.items():
            rows.append((*kind, place, at_once, each.samples, rate / at_once, per_one, *numbers))
    return pd.DataFrame(rows, columns=PLACE_COLUMNS)


def _published(published: pd.DataFrame, what: str, disks: int, origin: str, operation: str) -> float:
    """A study's rate of a disk, or of an array of as many disks; NaN where it states none."""
    same = published[["what", "disks", "origin", "operation"]] == [what, disks, origin, operation]
    rows = published[same.all(axis=1)]
    return float(rows["value"].iloc[0]) if len(rows) else math.nan


def rates_by_kind(places: pd.DataFrame) -> pd.DataFrame:
    """Places of a kind together, in their order: bytes per second of one of them, and shares of what is stated."""
    rate = "rate_bytes_per_s"
    known = places.astype(dict.fromkeys(["scale", *PLACE_COLUMNS[-4:]], float))
    table = known.groupby(_GROUP, sort=False, as_index=False).agg(
        places=("place", "size"),
        samples=("samples", "first"),
        median=(rate, "median"),
        lowest=(rate, "min"),
        highest=(rate, "max"),
        slowest_place=(rate, lambda rates: known["place"].get(rates.idxmin())),
        stated=("stated_bytes_per_s", "first"),
        published=("published_bytes_per_s", "first"),
        data_sheet=("data_sheet_bytes_per_s", "first"),
    )
    full = table["median"] * table["scale"]
    shares = {"share_of_stated": table["median"] / table["stated"], "share_of_published": full / table["published"]}
    return table.assign(full_size_median=full, **shares)


def rates_table(kinds: pd.DataFrame) -> pd.DataFrame:
    """Kinds of places for people: MB/s of one disk, array or link, and shares in per cent, as text."""
    scaled = bool((kinds["scale"] != 1).any())

    def column(name: str, factor: float, form: str = "{}") -> list[str]:
        return ["" if value != value else form.format(short_number(value * factor)) for value in kinds[name]]

    table = {
        **({"scale model": [f"{row.model}, 1:{row.scale:g}" for row in kinds.itertuples()]} if scaled else {}),
        "what": kinds["label"],
        "operation": kinds["operation"],
        "places": kinds["places"],
        "n": kinds["samples"],
        "MB/s of one, median": column("median", 1 / MEGABYTE),
        "lowest": column("lowest", 1 / MEGABYTE),
        "highest": column("highest", 1 / MEGABYTE),
        "stated": column("stated", 1 / MEGABYTE),
        "share": column("share_of_stated", 100, "{} %"),
        **({"median × scale": column("full_size_median", 1 / MEGABYTE)} if scaled else {}),
        "published": column("published", 1 / MEGABYTE),
        "data sheet": column("data_sheet", 1 / MEGABYTE),
    }
    return pd.DataFrame(table)


REQUESTS = [
    *("baseline", "model", "scale", "what", "operation", "record_size_bytes", "depth", "place", "sample"),
    *("rate", "full_size", "unit", "published", "data_sheet", "share_of_published", "share_of_data_sheet"),
]
"""Columns of `request_rates`, a row per sample and server, whose disk or array had ``depth`` requests at a time.
``rate`` (streams bytes/s, at random 1/s) is as measured, the rest full size, NaN where study or sheet say nothing."""


def request_rates(
    results: Iterable[tuple[Cell, int, str, float]], cluster: Cluster | None, name: str, published: pd.DataFrame
) -> pd.DataFrame:
    """Rates of requests (cell, sample, server, bytes/s) beside what is published of one disk or array: `REQUESTS`."""
    rows = []
    for cell, sample, place, bytes_per_s in results:
        assert cluster is not None
        disks, random = cluster.backings[cell.layout.backing].disks_per_brick, cell.operation.startswith("random")
        size = cell.record_size_bytes or 1
        what, depth = "array" if disks > 1 else "disk", int(cell.options[0].partition("=")[2])
        rate = bytes_per_s / size if random else bytes_per_s
        full = rate * cell.model.scale
        # at random, sheets and this table of theirs know one request at a time
        origins = (("measured",), ("data sheet", "sister drive")) if depth == 1 or not random else ((), ())
        known = [
            next((x for one in of if (x := _published(published, what, disks, one, cell.operation)) == x), math.nan)
            for of in origins
        ]
        kind = name, cell.model.name, float(cell.model.scale), what, cell.operation, size, depth
        shares = (full / value for value in known)
        rows.append((*kind, place, sample, rate, full, "1/s" if random else "bytes/s", *known, *shares))
    table = pd.DataFrame(rows, columns=REQUESTS)
    return table.sort_values(["what", "operation", "depth", "place", "sample"], ascending=[False, *[True] * 4])


def requests_table(requests: pd.DataFrame) -> pd.DataFrame:
    """Requests for people, a row per kind and depth: MB/s or requests per second at full size, and shares, as text."""
    keys = ["what", "operation", "record_size_bytes", "depth", "unit", "scale"]
    rows = []
    for key, each in requests.groupby(keys, sort=False):
        what, operation, size, depth, unit, scale = key
        factor, per = (1 / MEGABYTE, "MB/s") if unit == "bytes/s" else (1.0, "1/s")
        numbers = [each["full_size"].median(), each["full_size"].min(), each["full_size"].max()]
        known = [float(each[name].iloc[0]) for name in ("published", "data_sheet")]
        texts = ["" if value != value else short_number(value * factor) for value in (*numbers, *known)]
        shares = ["" if value != value else f"{100 * numbers[0] / value:.0f} %" for value in known]
        first = what, operation, format_size(int(str(size))), depth, f"1:{scale:g}", each["place"].nunique(), len(each)
        rows.append((*first, *texts[:3], per, texts[3], shares[0], texts[4], shares[1]))
    names = ["what", "operation", "request", "at a time", "scale model", "places", "n", "median × scale", "lowest"]
    return pd.DataFrame(rows, columns=[*names, "highest", "unit", "published", "share", "data sheet", "its share"])
