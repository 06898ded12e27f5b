"""Throughput per disk, of all disks whatever the protection, and the worker count where a volume saturates."""

import math

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from glusterlab.analysis.select import WHOLE_TIME, levels, same_size, select, split_values, summarise
from glusterlab.stats import MIN_SAMPLES, Estimate, ratio_interval

SATURATION_GAIN = 0.10  # a volume counts as saturated where more workers gain no more than this share

GROUP = ["series", "tool", "operation", "nominal_file_size_bytes"]
_NUMBERS = [*("mean", "low", "high", "group_low", "group_high", "median", "median_low", "median_high"), *WHOLE_TIME]


def with_full_size(summary: pd.DataFrame) -> pd.DataFrame:
    """A summary with ``full_size_mean``, ``_low`` and ``_high``: measured times scale."""
    scale = summary["scale"].astype(float)
    return summary.assign(**{f"full_size_{name}": summary[name] * scale for name in ("mean", "low", "high")})


def per_disk(summary: pd.DataFrame) -> pd.DataFrame:
    """A summary divided by all disks in the pool, its ``values`` as well; ``quantity`` ends in ``_per_disk``."""
    return divided(summary, summary["disks"], "_per_disk")


def divided(summary: pd.DataFrame, by: pd.Series, suffix: str) -> pd.DataFrame:
    """A summary with its numbers divided row by row; ``quantity`` ends in the suffix."""
    table, by = summary.copy(), by.astype(float)
    for name in table.columns.intersection(_NUMBERS):
        table[name] = table[name].astype(float) / by
    table["quantity"] = table["quantity"].astype(str) + suffix
    table["values"] = [
        ";".join(f"{value / count:.9g}" for value in split_values(str(values)))
        for values, count in zip(table["values"], by, strict=True)
    ]
    return table


def best_workers(summary: pd.DataFrame) -> pd.DataFrame:
    """The rows of the worker count with the highest mean of each curve; those with `MIN_SAMPLES` samples go first."""
    if summary.empty:
        return summary.copy()
    enough = summary["n"] >= MIN_SAMPLES
    any_enough = enough.groupby([summary[name] for name in GROUP], observed=True).transform("any")
    candidates = summary[enough | ~any_enough]
    rows = candidates.assign(_level=levels(candidates)).groupby(GROUP, observed=True, sort=False)["_level"].idxmax()
    return summary.loc[rows].reset_index(drop=True)


def saturation_point(workers: NDArray[np.float64], means: NDArray[np.float64]) -> float:
    """The fewest workers of a curve that no larger count beats by more than the share `SATURATION_GAIN`."""
    order = workers.argsort()
    later = np.maximum.accumulate(means[order][::-1])[::-1]
    return float(workers[order][later <= means[order] * (1 + SATURATION_GAIN)][0])


def saturation_points(summary: pd.DataFrame) -> pd.DataFrame:
    """Where each curve over workers stops rising, by its means (`saturation_point`).

    Where that is the largest count itself, none was seen, and of a curve with a point of fewer than `MIN_SAMPLES`
    samples, or of two groups of them, neither is said. `GROUP`, ``saturation_workers`` (NaN where not seen),
    ``still_rising`` (at the right end), ``most_workers``, ``best_workers``, ``points`` and ``n`` (the smallest).
    """
    records: list[tuple[object, ...]] = []
    for names, rows in summary.groupby(GROUP, observed=True, sort=False):
        workers, means = rows["workers"].to_numpy(dtype=float), levels(rows).to_numpy()
        point, most, n = saturation_point(workers, means), int(workers.max()), int(rows["n"].min())
        known = n >= MIN_SAMPLES and bool(rows["mean"].notna().all())
        seen = point if known and point != most else math.nan
        rising = known and point == most and len(rows) > 1
        best = int(workers[means == means.max()].min())
        records.append((*names, seen, rising, most, best, len(rows), n))
    found = ["saturation_workers", "still_rising", "most_workers", "best_workers", "points", "n"]
    return pd.DataFrame.from_records(records, columns=[*GROUP, *found])


def compare_rows(numerator: pd.Series, denominator: pd.Series) -> Estimate:
    """Ratio of two rows of a summary with its 95 % interval, from the samples behind them."""
    return ratio_interval(split_values(numerator["values"]), split_values(denominator["values"]))


def with_published(summary: pd.DataFrame, published: pd.DataFrame, samples: pd.DataFrame | None = None) -> pd.DataFrame:
    """A per-disk summary with the study's number for the same cell; of the volume or a server it becomes one per disk.

    ``samples`` say how many servers a cell had. Adds ``published`` (NaN where nothing is stated; in the unit of
    ``full_size_mean``), ``published_source``, and ``published_any``: a number that the study states for this operation
    and file size without a geometry. Where a cluster knows the study's servers by their names, each has its own.
    """
    values: list[float] = []
    anywhere: list[float] = []
    sources: list[str] = []
    # a study names the kind of a backing, a cluster file may name it as it likes
    names = {"type": "type", "geometry": "geometry", "backing": "kind"}
    models = set(published["server_model"])
    servers: dict[str, float] = {}
    if samples is not None and "servers" in samples:
        servers = dict(zip(samples["cell_id"].astype(str), samples["servers"].astype(float), strict=True))
    # what a study states is of a volume without a hot tier
    tiered = set() if samples is None or "hot" not in samples else {*samples.loc[samples["hot"] != "", "cell_id"]}
    for row in summary.to_dict("records"):
        stated = published.iloc[:0] if row["cell_id"] in tiered else published
        match = stated[same_size(stated["nominal_file_size_bytes"], float(row["nominal_file_size_bytes"]))]
        for name in ("access", "operation"):
            match = match[match[name].astype(str) == str(row[name])]
        total, disks = str(row["quantity"]).removesuffix("_per_disk"), float(row["disks"]) or math.nan
        of_servers = servers.get(str(row["cell_id"]), math.nan) / disks
        factors = {f"{total}_per_disk": 1.0, f"{total}_per_server": of_servers, total: 1 / disks}
        value = match["value"] * match["quantity"].astype(str).map(factors).astype(float)
        match = match.assign(value=value).dropna(subset="value")
        if row["server_model"] in models:
            match = match[match["server_model"].isin(["", row["server_model"]])]
        unplaced = match[match["geometry"].astype(str) == ""]
        for name, own in names.items():
            match = match[match[name].astype(str) == str(row[own])]
        values.append(float(match["value"].iloc[0]) if len(match) else math.nan)
        sources.append(str(match["source"].iloc[0]) if len(match) else "")
        anywhere.append(float(unplaced["value"].iloc[0]) if len(unplaced) else math.nan)
    columns = {"published": np.array(values, dtype=float), "published_any": np.array(anywhere, dtype=float)}
    return summary.assign(**columns, published_source=sources)


def with_published_totals(
    summary: pd.DataFrame, published: pd.DataFrame, samples: pd.DataFrame | None = None
) -> pd.DataFrame:
    """A summary with ``published``: the level that the study states, per disk times the disks; NaN without one."""
    per = with_published(summary.assign(quantity=summary["quantity"].astype(str) + "_per_disk"), published, samples)
    disks = summary["disks"].astype(float)
    return summary.assign(published=per["published"] * disks.where(disks > 0))


def best_of_curves(summary: pd.DataFrame) -> pd.DataFrame:
    """The rows of `best_workers`, with ``still_rising`` (bool) and ``points`` (int) of `saturation_points`."""
    rising = saturation_points(summary)[[*GROUP, "still_rising", "points"]]
    return best_workers(summary).merge(rising, on=GROUP, how="left", validate="one_to_one")


def efficiency(samples: pd.DataFrame, quantity: str, published: pd.DataFrame, *, per: str = "disk") -> pd.DataFrame:
    """Samples of layouts with known disks, per disk or server at the best workers, with full-size and stated values."""
    best = best_of_curves(summarise(samples[samples["disks"] > 0], quantity))
    table = with_published(with_full_size(per_disk(best)), published, samples)
    if per == "disk":
        return table
    servers = best["cell_id"].map(samples.drop_duplicates("cell_id").set_index("cell_id")["servers"]).astype(float)
    stated = {name: table[name] * table["disks"] / servers for name in ("published", "published_any")}
    best = with_full_size(divided(best, servers, "_per_server"))
    return best.assign(**stated, published_source=table["published_source"])


def all_sizes(samples: pd.DataFrame, published: pd.DataFrame) -> pd.DataFrame:
    """Per disk over the files of both tools, small ones as bytes (figures 26, 27): only ``full_size_mean`` compares."""
    quantities = published["quantity"].astype(str)
    in_files = quantities.str.startswith("files_per_s")
    in_bytes = published.assign(
        quantity=quantities.str.replace("files_per_s", "throughput_bytes_per_s"),
        value=published["value"] * published["nominal_file_size_bytes"].astype(float).where(in_files, 1.0),
    )
    small = select(samples, tool="smallfile", operations=("create", "read"))
    size = small["file_size_bytes"].astype(float)
    small = small.assign(
        throughput_bytes_per_s=small["files_per_s"] * size,
        throughput_whole_bytes_per_s=small.get("files_whole_per_s", math.nan) * size,
    )
    large = select(samples, tool="iozone", operations=("write", "read"))
    measured = [rows for rows in (small, large) if len(rows)] or [small]
    parts = [efficiency(rows, "throughput_bytes_per_s", in_bytes) for rows in measured]
    table = pd.concat(parts, ignore_index=True)
    table = table.assign(operation=table["operation"].astype(str).replace("create", "write"))
    by = ["operation", "nominal_file_size_bytes", "series"]
    return table.sort_values(by, ascending=[False, True, True], ignore_index=True)
