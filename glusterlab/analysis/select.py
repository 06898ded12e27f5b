"""Which samples belong together: valid samples, grouped into cells, cells joined into the lines of a figure.

A *series* is what a figure draws with one colour: one layout, and whatever else tells two cells of it apart at the same
operation, file size and workers. Samples of different cells are never pooled.
"""

import math
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

import pandas as pd

from glusterlab.errors import DataError
from glusterlab.stats import LEAST_SPLIT, NOT_NEGATIVE, SHARE, Estimate, mean_interval, median_interval
from glusterlab.tools import directions
from glusterlab.tools.records import WHOLE
from glusterlab.units import format_size

SIZE_TOLERANCE = 0.1  # share up to which two file sizes are one: the guide's "4GB" may be 4 GB or 4 GiB

LEAST_COUNTS = 3  # worker counts that a curve has at least

BACKING_LABELS = {"raid6": "RAID 6", "raid0": "RAID 0", "jbod": "JBOD", "nvme": "NVMe"} | {
    f"jbod-{mode}": f"JBOD, {mode} cache" for mode in ("write-through", "write-back")
}

POINT = ["series", "operation", "nominal_file_size_bytes", "workers"]  # which point of a figure a row is

ESTIMATES = [
    *("quantity", "n", "mean", "low", "high", "interval"),
    *("groups", "group_low", "group_high", "median", "median_low", "median_high"),
]
"""What `summarise` computes, in the unit that ``quantity`` names; ``low`` to ``high`` is the mean's 95 % interval.
``groups``: 2 with centres and no mean, 1 where one group explains the samples, 0 where they are too few to tell."""

IDENTITY = [
    *("layout", "type", "geometry", "backing", "kind", "server_model", "access", "tool"),
    *("file_size_bytes", "record_size_bytes", "files_per_worker", "scale", "operations_limited"),
    *("heads", "disks", "cell_id"),
]  # columns of the samples table that describe a row's cell

TRACE = ["samples", "values"]  # sample numbers and their values, joined by ``;``: the way back to the raw files

SUMMARY = POINT + ESTIMATES + IDENTITY + TRACE

VIEWS = ("tool's own rate", "over the whole time")  # of a rate (`glusterlab.analysis.counting`); figures draw the first

WHOLE_TIME = ["whole_mean", "whole_low", "whole_high"]  # of a rate; NaN where not known of every sample

DIRECTIONS = directions()


def layout_label(type_: str, geometry: str, kind: str, hot: str = "", hot_kind: str = "") -> str:
    """A layout as figures name it, with its backing's kind and hot tier; what is no volume, by what it lies on."""
    if type_ == "other":
        return BACKING_LABELS.get(kind, kind)
    tier = f" + hot {hot}, {BACKING_LABELS.get(hot_kind, hot_kind)}" if hot else ""
    return f"{type_} {geometry}, {BACKING_LABELS.get(kind, kind)}{tier}"


def valid_samples(samples: pd.DataFrame) -> pd.DataFrame:
    """The rows whose status is valid and that are no warm-up: the only ones that are drawn."""
    return samples[(samples["status"].astype(str) == "valid") & ~samples["warmup"]].reset_index(drop=True)


def same_size(sizes: pd.Series, nominal: float) -> pd.Series:
    """True where a file size is `nominal` (both bytes), within `SIZE_TOLERANCE`."""
    return (sizes.astype(float) / nominal - 1).abs() <= SIZE_TOLERANCE


_VARIANTS: Mapping[str, Callable[[Any], str]] = {
    "record_size_bytes": lambda size: f"{format_size(int(size))} records",
    "file_size_bytes": lambda size: f"{format_size(int(size))} files",
    "files_per_worker": lambda count: f"{int(count)} files per worker",
    "scale": "1:{:g}".format,
    "mounts": lambda count: f"{count} mount{'s' if count > 1 else ''} per client",
    "caches": "{} caches".format,
    "event_throttle": str,
    "clients": lambda count: f"{count} client{'s' if count > 1 else ''}",
    "heads": lambda heads: "disks with heads" if heads else "disks without heads",
}


def with_series(samples: pd.DataFrame) -> pd.DataFrame:
    """Samples with a column ``series``: the layout's label, and no more words than tell its cells apart.

    Two different cells never share series, tool, operation, nominal file size and workers.
    """
    table = samples.copy()
    names = table.reindex(columns=["type", "geometry", "kind", "hot", "hot_kind"], fill_value="").astype(str)
    table["series"] = [layout_label(*row) for row in names.itertuples(index=False, name=None)]
    point = ["series", "tool", "operation", "nominal_file_size_bytes", "workers"]
    # the scale before the sizes, which follow from it
    sizes = ("record_size_bytes", "files_per_worker", "file_size_bytes")
    # another state of a volume, and what happens to it, are told also where nothing else is beside it
    for column, word in (("features", "with"), ("event", "during")):
        if column in table:
            pairs = zip(table["series"], table[column].astype(str), strict=True)
            table["series"] = [f"{series}, {word} {value}" if value else series for series, value in pairs]
    throttles = ["event_throttle"] if "event_throttle" in table else []
    first = (*throttles, "backing", "layout", "access", "mounts", "caches", "clients", "scale", "heads")
    for column in (*first, *sizes, "cell_id"):
        if table.empty or table.groupby(point, observed=True)["cell_id"].nunique().max() == 1:
            break
        mixed = table.groupby(point, observed=True)[column].transform(lambda values: values.nunique(dropna=False)) > 1
        varied = table["series"].isin(set(table.loc[mixed, "series"]))
        words, none = _VARIANTS.get(column, str), f"no {column.replace('_', ' ')}"
        table["series"] = [
            f"{series}, {none if pd.isna(value) else words(value)}" if more else series
            for series, value, more in zip(table["series"], table[column], varied, strict=True)
        ]
    return table


def select(
    samples: pd.DataFrame, *, tool: str, nominal_file_size_bytes: float | None = None, operations: tuple[str, ...] = ()
) -> pd.DataFrame:
    """Valid samples of one tool, of one nominal file size and some operations, with their series."""
    rows = valid_samples(samples)
    rows = rows[rows["tool"].astype(str) == tool]
    if nominal_file_size_bytes is not None:
        rows = rows[same_size(rows["nominal_file_size_bytes"], nominal_file_size_bytes)]
    if operations:
        rows = rows[rows["operation"].astype(str).isin(operations)]
    return with_series(rows.reset_index(drop=True))


def select_nearest(
    samples: pd.DataFrame, *, tool: str, nominal_file_size_bytes: float, layouts: Collection[str] = ()
) -> pd.DataFrame:
    """Valid samples of one tool at the measured file size nearest to the one asked for, of some layouts (empty: all).

    The nearest by ratio is taken of the sizes with a curve of `LEAST_COUNTS` worker counts or more; where none has one,
    there is that size or none. Raises `DataError` when the campaign has no layout of a name that was asked for.
    """
    known = sorted({str(name) for name in samples["layout"]})
    unknown = sorted(set(layouts) - set(known))
    if unknown:
        raise DataError(f"expected layouts among {', '.join(known)}; found {', '.join(unknown)}")
    rows = select(samples, tool=tool)
    if layouts:
        rows = rows[rows["layout"].astype(str).isin(layouts)]
    curves = rows.groupby(["nominal_file_size_bytes", "series", "operation"], observed=True)["workers"].nunique()
    long = curves[curves >= LEAST_COUNTS].index.get_level_values("nominal_file_size_bytes")
    wanted = nominal_file_size_bytes
    size = min(long, key=lambda size: abs(math.log(size / wanted)), default=wanted)
    return with_series(rows[same_size(rows["nominal_file_size_bytes"], size)].reset_index(drop=True))


def size_note(samples: pd.DataFrame, drawn: pd.DataFrame, nominal_file_size_bytes: float) -> str:
    """Which file size a figure of curves shows, and why it is not the one that was asked for."""
    shown = f"Drawn here: files of {format_size(int(drawn['nominal_file_size_bytes'].iloc[0]))}"
    if same_size(drawn["nominal_file_size_bytes"], nominal_file_size_bytes).all():
        return f"{shown}."
    wanted = format_size(round(nominal_file_size_bytes))
    rows = valid_samples(samples)
    rows = rows[rows["layout"].isin(set(drawn["layout"])) & rows["tool"].isin(set(drawn["tool"]))]
    same = same_size(rows["nominal_file_size_bytes"], nominal_file_size_bytes)
    counts = sorted({int(n) for n in rows[same]["workers"]})
    if not counts:
        return f"{shown}, the nearest to {wanted} that was measured."
    at = f"at {' and '.join(str(n) for n in counts)} worker{'s' * (counts != [1])} only"
    few = at if len(counts) < LEAST_COUNTS else "at too few worker counts"
    return f"{shown}, the nearest to {wanted} that has a curve: {wanted} was measured {few}."


def summarise(samples: pd.DataFrame, quantity: str) -> pd.DataFrame:
    """A row per cell of selected samples with the quantity: `SUMMARY`, of a rate `WHOLE_TIME` as well, in order."""
    other = WHOLE.get(quantity)
    if other is not None and other not in samples:
        samples = samples.assign(**{other: math.nan})
    columns = [] if other is None else [other]
    known = samples[samples[quantity].notna()].sort_values("sample", kind="stable")
    # once for all cells: to take the values out one by one is slower than what is computed of them
    described = known.drop_duplicates("cell_id")[POINT + IDENTITY].to_dict("records")
    cells = {row["cell_id"]: row for row in described}
    records: list[dict[Any, Any]] = []
    for cell, rows in known.groupby("cell_id", observed=True, sort=True)[["sample", quantity, *columns]]:
        mean, median = interval_of(rows[quantity], quantity), median_interval(rows[quantity])
        groups = (2, *mean.groups) if mean.groups else (int(mean.n >= LEAST_SPLIT), math.nan, math.nan)
        means = quantity, mean.n, mean.centre, mean.low, mean.high, mean.method, *groups
        estimates = *means, median.centre, median.low, median.high, *trace(rows, quantity)
        found = dict(zip(ESTIMATES + TRACE, estimates, strict=True))
        for column in columns:
            whole = interval_of(rows[column] if rows[column].notna().all() else (), quantity)
            found |= dict(zip(WHOLE_TIME, (whole.centre, whole.low, whole.high), strict=True))
        records.append(cells[cell] | found)
    summary = pd.DataFrame.from_records(records, columns=SUMMARY + WHOLE_TIME * len(columns))
    return by_operation(summary, "nominal_file_size_bytes", "series", "workers")


def interval_of(values: Iterable[float], quantity: str) -> Estimate:
    """The mean of samples with its interval, within what the quantity can be."""
    return mean_interval(values, within=SHARE if quantity.endswith("_fraction") else NOT_NEGATIVE)


def levels(summary: pd.DataFrame, *, lowest: bool = False) -> pd.Series:
    """What cells are chosen by: means, and of two groups the higher (`lowest`: the lower) centre, to pass none over."""
    return summary["mean"].astype(float).fillna(summary["group_low" if lowest else "group_high"].astype(float))


def trace(rows: pd.DataFrame, quantity: str) -> tuple[str, str]:
    """The cells of `TRACE` of some samples."""
    return ";".join(f"{int(n):02d}" for n in rows["sample"]), ";".join(f"{value:.9g}" for value in rows[quantity])


def by_operation(table: pd.DataFrame, *columns: str) -> pd.DataFrame:
    """Rows sorted by operation, writes first, and then by other columns."""
    ranked = table.assign(_rank=table["operation"].map(operation_rank))
    return ranked.sort_values(["_rank", *columns], kind="stable", ignore_index=True).drop(columns="_rank")


def operation_rank(operation: object) -> tuple[int, str]:
    """Sort key of operations: those that write come before those that read, others last."""
    direction = DIRECTIONS.get(str(operation))
    return (2 if direction is None else ("write", "read").index(direction)), str(operation)


def operations_of(table: pd.DataFrame) -> list[str]:
    """The operations of a table, in the order in which figures have them."""
    return sorted(table["operation"].astype(str).unique(), key=operation_rank)


def split_values(joined: object, factor: float = 1.0) -> list[float]:
    """The numbers of a ``values`` cell of a summary, times a factor."""
    return [float(value) * factor for value in str(joined).split(";") if value]
