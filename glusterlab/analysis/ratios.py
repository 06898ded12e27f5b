"""Ratios of cells at their best worker counts: one kind of servers against another, reads against writes."""

import math
from collections.abc import Collection

import pandas as pd

from glusterlab.analysis.efficiency import compare_rows
from glusterlab.analysis.select import DIRECTIONS, levels, operation_rank, same_size
from glusterlab.spec.claims import Cells, Claims

RATIO = ["ratio", "ratio_low", "ratio_high", "ratio_n", "ratio_to", "ratio_to_workers", "ratio_whole"]
"""Columns that tell a ratio: of the row to the series ``ratio_to`` at ``ratio_to_workers`` workers; ``ratio_n`` is the
smaller number of samples. Below three ``ratio_low`` and ``ratio_high`` are NaN, of two groups ``ratio``, too; without a
counterpart all are, and ``ratio_to`` is empty. ``ratio_whole`` is that of the same cells' rates over the whole time."""


def on_servers(samples: pd.DataFrame, servers: Collection[str], role: str) -> pd.DataFrame:
    """The rows on servers of one role of a study; all of them, where the cluster knows none of its servers by name."""
    models = samples["server_model"].astype(str)
    return samples[models == role].reset_index(drop=True) if models.isin(list(servers)).any() else samples


def family(table: pd.DataFrame, type_: str, kind: str) -> pd.DataFrame:
    """The rows of one type of volume on one kind of backing, such as ``disperse`` on ``jbod``."""
    chosen = (table["type"].astype(str) == type_) & (table["kind"].astype(str) == kind)
    return table[chosen].reset_index(drop=True)


def _ratio(row: pd.Series, other: pd.Series | None) -> tuple[float | str, ...]:
    if other is None:
        return *[math.nan] * 4, "", math.nan, math.nan
    found = compare_rows(row, other)
    numbers = found.centre, found.low, found.high, float(found.n)
    whole = float(row.get("whole_mean", math.nan)) / float(other.get("whole_mean", math.nan))
    return *numbers, str(other["series"]), float(other["workers"]), whole


def _with_ratios(rows: pd.DataFrame, counterparts: list[pd.Series | None]) -> pd.DataFrame:
    ratios = [_ratio(row, other) for (_, row), other in zip(rows.iterrows(), counterparts, strict=True)]
    return rows.join(pd.DataFrame.from_records(ratios, columns=RATIO))


def ratios_to(table: pd.DataFrame, reference: pd.Series, by: list[str]) -> pd.DataFrame:
    """Each row against the one where `reference` is true that is alike in the columns `by`: columns `RATIO`."""
    others = {tuple(row[by]): row for _, row in table[reference].iterrows()}
    rows = table[~reference].reset_index(drop=True)
    compared = _with_ratios(rows, [others.get(tuple(row[by])) for _, row in rows.iterrows()])
    return compared[compared["ratio_to"] != ""].reset_index(drop=True)


def server_advantage(
    table: pd.DataFrame, servers: Collection[str], published: pd.DataFrame | None = None
) -> pd.DataFrame:
    """Efficiency of layouts on the first kind of servers of a study over the second: `RATIO` and ``published_ratio``.

    Of several series of a kind the one with the highest mean; no rows where no operation was measured on both.
    """
    models = table["server_model"].astype(str)
    cell = ["operation", "nominal_file_size_bytes", "access", "scale"]
    first, second, *_ = [*servers, "", ""]
    rows = table[models.isin([first, second]) & (models != "")]
    rows = rows.assign(_level=levels(rows))
    best = rows.loc[rows.groupby([*cell, "server_model"], observed=True)["_level"].idxmax()]
    best = best.assign(_second=best["server_model"].astype(str) == second, _order=best["operation"].map(operation_rank))
    best = best.sort_values(["_order", *cell, "_second"], ignore_index=True)
    others = {tuple(row[cell]): row for _, row in best[best["_second"]].iterrows()}
    counterparts = [None if row["_second"] else others.get(tuple(row[cell])) for _, row in best.iterrows()]
    compared = _with_ratios(best, counterparts).drop(columns=["_second", "_order", "_level"])
    stated = [math.nan if row["ratio_to"] == "" else _stated_for(row, published) for _, row in compared.iterrows()]
    compared = compared.assign(published_ratio=pd.Series(stated, compared.index, dtype=float))
    return compared if (compared["ratio_to"] != "").any() else compared.iloc[:0]


def _stated_for(row: pd.Series, published: pd.DataFrame | None) -> float:
    if published is None or published.empty:
        return math.nan
    same = published["operation"].astype(str) == str(row["operation"])
    for name in ("type", "kind"):
        same &= published[name].astype(str) == str(row[name])
    found = published[same & same_size(published["nominal_file_size_bytes"], float(row["nominal_file_size_bytes"]))]
    return float(found["ratio"].iloc[0]) if len(found) else math.nan


def layout_advantage(table: pd.DataFrame) -> pd.DataFrame:
    """Each layout against the replicated one (else the first), per operation and file size: columns `RATIO`."""
    found = []
    for _, rows in table.groupby(["operation", "nominal_file_size_bytes"], observed=True, sort=False):
        ordered = rows.sort_values("series", kind="stable")
        first = int((ordered["type"].astype(str) != "replicate").to_numpy().argmin())
        rest = ordered.drop(ordered.index[first]).reset_index(drop=True)
        found.append(_with_ratios(rest, [ordered.iloc[first]] * len(rest)))
    return pd.concat(found, ignore_index=True) if found else _with_ratios(table, [])


STATED = ["claim", "type", "kind", "operation", "nominal_file_size_bytes", "ratio"]  # columns of `stated_ratios`


def stated_ratios(claims: Claims, figure: str) -> pd.DataFrame:
    """Ratios of its first kind of servers to the second that a study states for a figure: columns `STATED`."""
    records: list[tuple[object, ...]] = []
    for claim in claims.claims:
        if claim.kind != "ratio" or figure not in claim.figure or claim.of is None or claim.to is None:
            continue
        over, under = ([claims.layouts[name] for name in side.layout or ()] for side in (claim.of, claim.to))
        if not (over and under) or (over[0].server_model, under[0].server_model) != claims.servers[:2]:
            continue
        cells = claim.cells or Cells()
        records += [
            (claim.id, over[0].type, over[0].kind, operation, size, claim.published.value)
            for operation in cells.operation or ()
            for size in cells.size or ()
        ]
    return pd.DataFrame.from_records(records, columns=STATED)


def read_write_gap(table: pd.DataFrame) -> pd.DataFrame:
    """How many times as fast each layout reads as it writes: `RATIO`, and ``published_ratio`` where both are stated."""
    cell = ["series", "tool", "nominal_file_size_bytes", "scale"]
    direction = table["operation"].astype(str).map(DIRECTIONS)
    writes = {tuple(row[cell]): row for _, row in table[direction == "write"].iterrows()}
    reads = table[direction == "read"].reset_index(drop=True)
    counterparts = [writes.get(tuple(row[cell])) for _, row in reads.iterrows()]
    # what a study states for the layout of the writes, or else for any
    stated = [
        math.nan if row is None else row[["published", "published_any"]].astype(float).bfill().iloc[0]
        for row in counterparts
    ]
    published = reads["published"].astype(float) / pd.Series(stated, reads.index, dtype=float)
    compared = _with_ratios(reads, counterparts).assign(published_ratio=published)
    return compared[compared["ratio_to"] != ""].reset_index(drop=True)
