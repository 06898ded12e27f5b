"""What a release does on average: cells of one operation and file size taken together; and what a comparison needs.

`needs` takes the effects that supermicro-2017 (appendix C) states of 3.2: creates 18 % faster, and 34 % with 32 KB.
"""

import math
from bisect import bisect_left
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from glusterlab import stats
from glusterlab.analysis.compare.cells import LEAST_SAMPLES, QUANTITIES, pair_of
from glusterlab.analysis.select import DIRECTIONS, operations_of, split_values, valid_samples
from glusterlab.units import format_size

AVERAGED = ["reference", "other", "group", "cells", "n", "rounds", "ratio", "low", "high", "interval"]
"""Columns of `averages`: a geometric mean of ratios over cells, with the 95 % interval."""

BARS = [
    *("release", "series", "operation", "nominal_file_size_bytes", "file_size_bytes", "workers", "scale"),
    *("operations_limited", "heads", "type", "geometry", "kind", "quantity", "n", "median", "low", "high"),
    *("ratio", "ratio_low", "ratio_high", "verdict", "cell_id", "samples", "values"),
]  # columns of `release_bars`; of the reference there is no ratio

NEEDED = ["group", "cells", "freedom", "scatter", "in_rounds", "effect", "n"]  # columns of `needs`; NaN: more than 60

_WORDS = {"write": "all writes", "read": "all reads"}
_MOST = 60  # repeats beyond which nobody is advised to go
_RUNS = 4000


def _groups(table: pd.DataFrame, words: Mapping[str, str] = _WORDS) -> dict[str, list[str]]:
    """Cells by operation and file size, and by direction where that is more."""
    cells = table.drop_duplicates("cell_id").astype({"operation": str, "cell_id": str})
    found: dict[str, list[str]] = {}
    for operation in operations_of(cells):
        of = cells[cells["operation"] == operation]
        for size in sorted(set(of["nominal_file_size_bytes"].astype(int))):
            same = of["nominal_file_size_bytes"] == size
            found[f"{operation}, {format_size(size)}"] = of.loc[same, "cell_id"].tolist()
    for direction, name in words.items():
        rows = cells[cells["operation"].map(DIRECTIONS.get) == direction]
        if len(rows.drop_duplicates(["operation", "nominal_file_size_bytes"])) > 1:
            found[name] = rows["cell_id"].tolist()
    return found


def _means(samples: pd.DataFrame, cells: Sequence[str], quantities: Mapping[str, str]) -> pd.DataFrame:
    """Geometric mean over cells for each repeat in which all of them are valid, with the mean of their starts."""
    parts = []
    for cell in cells:
        rows = samples[samples["cell_id"].astype(str) == cell].drop_duplicates("repeat", keep="last")
        rows = rows[rows[quantities[cell]] > 0]
        parts.append(rows[["repeat", "start_s"]].assign(logarithm=np.log(rows[quantities[cell]].astype(float))))
    joined = pd.concat(parts, ignore_index=True)
    whole = joined.groupby("repeat").filter(lambda rows: len(rows) == len(cells))
    means = whole.groupby("repeat", sort=True)[["start_s", "logarithm"]].mean().reset_index()
    # the columns of a sample, so that rounds and ratios are found as for a cell
    found = means.assign(sample=means["repeat"], **dict.fromkeys(QUANTITIES, math.nan))
    return found.assign(throughput_bytes_per_s=np.exp(means["logarithm"]))


def averages(
    table: pd.DataFrame, reference: pd.DataFrame, others: Mapping[str, pd.DataFrame], name: str = "reference"
) -> pd.DataFrame:
    """Ratios over several cells of an operation and file size, by geometric means in each repeat; not tested."""
    records = []
    mine = valid_samples(reference)
    for label, samples in others.items():
        rows = table[table["other"] == label]
        theirs = valid_samples(samples)
        apart = set(rows.loc[rows["interval"] == stats.TWO_GROUPS, "cell_id"])
        quantities = dict(zip(rows["cell_id"], rows["quantity"], strict=True))
        for group, cells in _groups(rows).items():
            if len(cells) < 2:
                continue
            pair = pair_of(*(_means(of, cells, quantities) for of in (mine, theirs)))
            if pair is None:
                continue
            ratio, _ = pair.ratio()
            if apart.intersection(cells):
                ratio = stats.Estimate(math.nan, math.nan, math.nan, ratio.n, stats.TWO_GROUPS)
            rounds = 0 if pair.rounds is None else len(pair.reference)
            found = (ratio.n, rounds, ratio.centre, ratio.low, ratio.high, ratio.method)
            records.append((name, label, group, len(cells), *found))
    return pd.DataFrame.from_records(records, columns=AVERAGED)


def release_bars(table: pd.DataFrame) -> pd.DataFrame:
    """What each release reaches at the reference's best worker count of a cell: `BARS`, a row per release.

    The median of the samples that count, with its distribution-free 95 % interval from six on; NaN of two groups.
    """
    if table.empty:
        return pd.DataFrame(columns=BARS)
    first = table[table["other"] == table["other"].iloc[0]]
    best = first.groupby(["series", "operation", "nominal_file_size_bytes"], observed=True)["median_reference"].idxmax()
    places = {cell: place for place, cell in enumerate(first.loc[sorted(best), "cell_id"])}
    sides = []
    for side, rows in (("reference", table.drop_duplicates("cell_id")), ("other", table)):
        own = {side: "release", f"samples_{side}": "samples", f"values_{side}": "values"}
        rows = rows[rows["cell_id"].isin(places)].rename(columns=own | {"low": "ratio_low", "high": "ratio_high"})
        unknown = dict.fromkeys(("ratio", "ratio_low", "ratio_high"), math.nan) | {"verdict": ""}
        sides.append(rows.assign(**(unknown if side == "reference" else {})))
    bars = pd.concat(sides).sort_values("cell_id", key=lambda cells: cells.map(places), kind="stable")
    found = [stats.median_interval(split_values(values)) for values in bars["values"]]
    numbers = {"n": "n", "median": "centre", "low": "low", "high": "high"}
    columns = {name: [getattr(each, of) for each in found] for name, of in numbers.items()}
    apart = [stats.two_groups(split_values(values)) is not None for values in bars["values"]]
    bars = bars.assign(**columns)
    bars.loc[apart, ["median", "low", "high"]] = math.nan
    return bars[BARS].reset_index(drop=True)


def scatter(reference: pd.DataFrame, others: Mapping[str, pd.DataFrame] | None = None) -> pd.DataFrame:
    """How widely repeats of a cell scatter, pooled over the cells of an operation and file size.

    With others, all measured in rounds with the reference, the scatter is that within a round: what both share is none.
    Columns ``group``, ``cells``, ``freedom`` (degrees of it), ``scatter`` (standard deviation of a repeat, as a share
    of the throughput) and ``in_rounds``; groups without a cell of two repeats are left out.
    """
    rows = valid_samples(reference)
    cells = {str(cell): of_cell for cell, of_cell in rows.groupby("cell_id", observed=True)}
    spreads = pd.DataFrame(
        [(cell, *spread) for cell, of_cell in cells.items() for spread in _spreads(of_cell, cell, others or {})],
        columns=["cell", "squares", "freedom", "paired"],
    )
    records = []
    for group, names in _groups(rows, {}).items():
        of = spreads[spreads["cell"].isin(names)]
        if freedom := int(of["freedom"].sum()):
            share = math.sqrt(of["squares"].sum() / freedom)
            records.append((group, of["cell"].nunique(), freedom, share, bool(others) and bool(of["paired"].all())))
    return pd.DataFrame.from_records(records, columns=NEEDED[:5])


def _spreads(rows: pd.DataFrame, cell: str, others: Mapping[str, pd.DataFrame]) -> list[tuple[float, int, bool]]:
    """Sums of squares of the logarithms about their mean, degrees of freedom, and whether they are of rounds."""
    found = []
    for samples in others.values():
        theirs = valid_samples(samples)
        pair = pair_of(rows, theirs[theirs["cell_id"].astype(str) == cell])
        if pair is not None and pair.rounds is not None:
            below, above = pair.values
            # the difference of two has twice the variance of one
            found.append((_squares(np.log(above / below)) / 2, len(below) - 1, True))
    if found:
        return found
    for quantity in QUANTITIES:
        values = rows[quantity][rows[quantity] > 0].to_numpy(dtype=np.float64)
        if values.size > 1:
            return [(_squares(np.log(values)), values.size - 1, False)]
    return []


def _squares(values: np.ndarray[tuple[int], np.dtype[np.float64]]) -> float:
    return float(((values - values.mean()) ** 2).sum())


def needs(found: pd.DataFrame, cells: int) -> pd.DataFrame:
    """Rounds that find an effect four times in five with so many cells at once, from `scatter`: columns `NEEDED`."""
    records = []
    for row in found.to_dict("records"):
        for effect in (0.18, 0.34):
            n = needed_n(effect, max(row["scatter"], 1e-4), paired=True, cells=cells)
            records.append(row | {"effect": effect, "n": math.nan if n is None else n})
    return pd.DataFrame.from_records(records, columns=NEEDED)


def needed_n(effect: float, scatter: float, *, paired: bool, cells: int = 1) -> int | None:
    """Repeats of each release with which a comparison finds an effect four times in five; None beyond 60.

    `effect` is 0.18 where a release is 18 % faster; `scatter` is the standard deviation of a repeat (within its round,
    where they are paired) as a share of the throughput, above 0. The level is Holm's for the clearest of so many cells.

    >>> needed_n(0.18, 0.02, paired=False), needed_n(0.18, 0.02, paired=True)
    (5, 6)
    """
    test: stats.Test = "signed-rank" if paired else "rank-sum"

    def enough(n: int) -> bool:
        if not all(stats.can_be_significant([stats.least_p(test, n)] * cells, "holm")):
            return False
        return _power(effect, scatter, n, paired, stats.ALPHA / cells) >= stats.POWER

    counts = range(LEAST_SAMPLES, _MOST + 1)
    found = bisect_left(counts, True, key=enough)
    return counts[found] if found < len(counts) else None


def _power(effect: float, scatter: float, n: int, paired: bool, alpha: float) -> float:
    """Power of the rank test, whose two-sided p is to be below alpha."""
    reference, other = scatter * np.random.default_rng(n).standard_normal((2, _RUNS, n))
    found, null = rank_statistic(reference, other + math.log1p(effect), paired)
    return float((len(null) - 1 - found < (2 * null < alpha).sum()).mean())


def rank_statistic(
    reference: NDArray[np.float64], other: NDArray[np.float64], paired: bool
) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """W+ or U of logarithms without ties, shape (runs, n), row by row, and its distribution function."""
    n = reference.shape[1]
    if paired:
        difference = other - reference
        ranks = np.argsort(np.argsort(np.abs(difference), axis=1), axis=1) + 1
        return (ranks * (difference > 0)).sum(axis=1), stats.null_distribution("signed-rank", n, 0)
    ranks = np.argsort(np.argsort(np.concatenate([reference, other], axis=1), axis=1), axis=1) + 1
    return ranks[:, n:].sum(axis=1) - n * (n + 1) // 2, stats.null_distribution("rank-sum", n, n)
