"""What disks, arrays and links did alone, from a baseline, beside what cluster.yaml and a study state (appendix A)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pandas as pd

from glusterlab.baseline.wording import label, ordered, stated
from glusterlab.units import MEGABYTE, short_number

if TYPE_CHECKING:
    from glusterlab.baseline import Rates
    from glusterlab.spec.cluster import Cluster

PLACE_COLUMNS = [
    "baseline",
    "model",
    "scale",
    "operations_limited",
    "what",
    "label",
    "operation",
    "place",
    "at_once",
    "samples",
    "rate_bytes_per_s",
    "stated_bytes_per_s",
    "published_bytes_per_s",
    "data_sheet_bytes_per_s",
]
"""Columns of `place_rates`: a row per place, which is a disk, an array, a server's disks together, or a link.

``what`` is disk, array or link; ``at_once`` counts the disks or arrays of a place that were at work together, and the
rates are those of one of them; ``samples`` behind the median that ``rate_bytes_per_s`` is. Measured and stated rates
are on the scale that was measured; published ones are of the full size, NaN where the study states none.
"""

_GROUP = ["model", "scale", "operations_limited", "what", "label", "operation", "at_once"]


def place_rates(results: Sequence[Rates], cluster: Cluster | None, name: str, published: pd.DataFrame) -> pd.DataFrame:
    """The rates of a baseline by place.

    Parameters
    ----------
    results : sequence of Rates
        As `glusterlab.baseline.read_results` returns them; may be empty.
    cluster : Cluster or None
        As it was measured.
    name : str
        Of the baseline.
    published : pandas.DataFrame
        As `glusterlab.published.load_baselines` returns it.

    Returns
    -------
    pandas.DataFrame
        Columns `PLACE_COLUMNS`, by scale model, disks before arrays before links.
    """
    rows = []
    for each in [] if cluster is None else ordered(results, cluster):
        assert cluster is not None
        expected = stated(each, cluster)
        if each.what == "link":
            what, disks, at_once = "link", 0, 1
        else:
            backing = cluster.backing(each.of)
            disks = backing.disks_per_brick
            what = "array" if disks > 1 else "disk"
            at_once = len(backing.bricks) if each.what == "server" else 1
        numbers = {
            origin: _published(published, what, disks, origin, each.operation) for origin in ("measured", "data sheet")
        }
        for place, rate in each.rates.items():
            rows.append(
                {
                    "baseline": name,
                    "model": each.model,
                    "scale": float(each.scale),
                    "operations_limited": each.operations_limited,
                    "what": what,
                    "label": f"each of {at_once} {what}s at once, {each.of}" if at_once > 1 else label(each, cluster),
                    "operation": each.operation,
                    "place": place,
                    "at_once": at_once,
                    "samples": each.samples,
                    "rate_bytes_per_s": rate / at_once,
                    "stated_bytes_per_s": float("nan") if expected is None else expected / at_once,
                    "published_bytes_per_s": numbers["measured"],
                    "data_sheet_bytes_per_s": numbers["data sheet"],
                }
            )
    return pd.DataFrame(rows, columns=PLACE_COLUMNS)


def _published(published: pd.DataFrame, what: str, disks: int, origin: str, operation: str) -> float:
    """A study's rate of a disk, or of an array of as many disks; NaN where it states none."""
    rows = published[
        (published["what"] == what)
        & (published["disks"] == disks)
        & (published["origin"] == origin)
        & (published["operation"] == operation)
    ]
    return float(rows["value"].iloc[0]) if len(rows) else float("nan")


def rates_by_kind(places: pd.DataFrame) -> pd.DataFrame:
    """Places of a kind together: their median, the lowest and the highest, and the shares of what is stated.

    Parameters
    ----------
    places : pandas.DataFrame
        From `place_rates`.

    Returns
    -------
    pandas.DataFrame
        A row per kind, in the order of `places`: the columns of the kind, ``places``, ``samples``, ``median``,
        ``lowest``, ``highest``, ``slowest_place``, ``stated``, ``share_of_stated``, ``full_size_median`` (times the
        scale), ``published``, ``share_of_published`` and ``data_sheet``; bytes per second of one disk, array or link.
    """
    rows = []
    for key, group in places.groupby(_GROUP, sort=False):
        rate = group["rate_bytes_per_s"].astype(float)
        first = group.iloc[0]
        middle = float(rate.median())
        full = middle * float(first["scale"])
        rows.append(
            {
                **dict(zip(_GROUP, key, strict=True)),
                "places": len(group),
                "samples": int(first["samples"]),
                "median": middle,
                "lowest": float(rate.min()),
                "highest": float(rate.max()),
                "slowest_place": str(group["place"].iloc[int(rate.to_numpy().argmin())]),
                "stated": float(first["stated_bytes_per_s"]),
                "share_of_stated": middle / float(first["stated_bytes_per_s"]),
                "full_size_median": full,
                "published": float(first["published_bytes_per_s"]),
                "share_of_published": full / float(first["published_bytes_per_s"]),
                "data_sheet": float(first["data_sheet_bytes_per_s"]),
            }
        )
    return pd.DataFrame(rows, columns=[*_GROUP, *_MEASURES])


_MEASURES = [
    "places",
    "samples",
    "median",
    "lowest",
    "highest",
    "slowest_place",
    "stated",
    "share_of_stated",
    "full_size_median",
    "published",
    "share_of_published",
    "data_sheet",
]


def rates_table(kinds: pd.DataFrame) -> pd.DataFrame:
    """Kinds of places for people: MB/s of one disk, array or link, and shares in per cent, as text.

    Parameters
    ----------
    kinds : pandas.DataFrame
        From `rates_by_kind`.
    """
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
        "guide": column("published", 1 / MEGABYTE),
        "data sheet": column("data_sheet", 1 / MEGABYTE),
    }
    return pd.DataFrame(table)


def baseline_sentences(kinds: pd.DataFrame) -> list[str]:
    """One sentence for each kind of place, over its scale models: shares of what is stated, and the guide's numbers.

    Parameters
    ----------
    kinds : pandas.DataFrame
        From `rates_by_kind`.
    """
    sentences = []
    for key, group in kinds.groupby(["what", "label"], sort=False):
        parts = []
        for operation, rows in group.groupby("operation", sort=False):
            rate = _range(rows["full_size_median"] / MEGABYTE)
            times = " times the scale" if (rows["scale"] != 1).any() else ""
            part = f"{operation} " * (key[0] != "link") + f"{rate} MB/s{times}"
            beside = []
            if rows["share_of_stated"].notna().all():
                beside.append(f"{_range(100 * rows['share_of_stated'])} % of what cluster.yaml states")
            if rows["published"].notna().all():
                beside.append(f"the guide {short_number(rows['published'].iloc[0] / MEGABYTE)}")
            parts.append(f"{part} ({'; '.join(beside)})" if beside else part)
        sentences.append(f"{key[1]}: {', '.join(parts)}.")
    return sentences


def _range(values: pd.Series) -> str:
    """The lowest and the highest of some values, one where they read alike."""
    low, high = short_number(float(values.min())), short_number(float(values.max()))
    return low if low == high else f"{low} to {high}"
