"""Which release is faster: the cells of campaigns paired by their id, each with a ratio, a test and a verdict.

1. Where both campaigns were measured in interleaved rounds (`glusterlab.analysis.compare.rounds`), ratio and test are
   those of Wilcoxon's signed-rank test of the ratios within rounds; else those of the rank-sum test.
2. *Insufficient n*: so few samples that the test could never be significant (`glusterlab.stats.can_be_significant`),
   or those of one campaign lie in two groups, and no ratio stands for them.
3. *Equivalent within the margin*: the 90 % interval lies within the margin, which is two one-sided tests at 5 % each
   (Schuirmann, Journal of Pharmacokinetics and Biopharmaceutics 15 (1987) 657). 5 % allows 1 / 1.05 to 1.05.
4. *Faster* or *slower*: the corrected p is below 0.05, and the 95 % interval leaves 1 out on that side.
5. *Undecided*: none of these. That is not "equal": the scatter hides what there may be.
6. *Model cannot tell*: both sides run at what a scale model's throttle lets through, which is no release's doing, or
   the model may not speak of releases at all (``spec/models.yaml``).

The correction is over all cells of a campaign that can be tested, and of which its model may speak.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy as np
import pandas as pd

from glusterlab import stats
from glusterlab.analysis.compare.rounds import Rounds, find_rounds
from glusterlab.analysis.select import TRACE, by_operation, trace, valid_samples, with_series
from glusterlab.spec.models import Form, model_limits

Verdict = Literal[
    "faster", "slower", "equivalent within the margin", "undecided", "insufficient n", "model cannot tell"
]

FASTER: Final = "faster"
SLOWER: Final = "slower"
EQUIVALENT: Final = "equivalent within the margin"
UNDECIDED: Final = "undecided"
BOUND: Final = "model cannot tell"

VERDICTS = (SLOWER, FASTER, EQUIVALENT, UNDECIDED, stats.INSUFFICIENT, BOUND)  # in the order in which they are reported

LEAST_SAMPLES = 5  # fewest samples of a side, or fewest rounds, that are compared

MARGIN = 0.05  # share by which a ratio may be off 1 and count as equivalent, by default

EQUIVALENCE_LEVEL = 0.9  # level of the interval that has to lie within the margin

AT_LIMIT = 0.95  # share of the throttle's limit that binds: repeats of a throttled disk scatter by the rest

_RELEASES: tuple[Form, ...] = ("releases",)

QUANTITIES = ("streams_held", "files_per_s", "throughput_bytes_per_s", "operations_per_s")  # the first that both have

_CELL = [
    *("series", "layout", "type", "geometry", "backing", "kind", "server_model", "access", "tool", "operation"),
    *("nominal_file_size_bytes", "file_size_bytes", "record_size_bytes", "files_per_worker", "workers", "scale"),
    *("operations_limited", "heads", "disks"),
]

COMPARED = [
    *("reference", "other", "cell_id", "cell", *_CELL, "quantity", "n_reference", "n_other", "rounds", "paired_by"),
    *("left_out", "one_sided", "median_reference", "median_other", "ratio", "low", "high", "low_90", "high_90"),
    *("interval", "test", "p", "p_corrected", "least_n", "verdict", "why", "of_throttle"),
    *("samples_reference", "values_reference", "samples_other", "values_other"),
]
"""Columns of a comparison, a row per cell and campaign.

``rounds`` is 0 where the cell was not measured in rounds; ``paired_by`` is repeat or time where it was. ``left_out``
counts valid samples that belong to no round, or have no value above 0. ``one_sided``: one campaign was nearly always
first in its round. ``ratio`` is Hodges and Lehmann's estimate of other over reference, ``low`` to ``high`` its 95 %
interval, ``low_90`` to ``high_90`` the one for the margin. Where the test could never be significant, ``p_corrected``
is NaN and ``least_n`` says what all such cells of the campaign need; else that is 0. ``samples_...`` and ``values_...``
are those that count, as in a summary. ``why`` a model cannot tell. ``of_throttle``: the share of a scale model's limit
that the slower side has."""

UNMATCHED = ["campaign", "cell_id", "cell", "why"]  # columns of the cells that cannot be compared


@dataclass(frozen=True, slots=True)
class Rule:
    """How campaigns are compared: the share by which a ratio may be off 1, and the correction for many cells."""

    margin: float = MARGIN
    correction: stats.Correction = "holm"

    @property
    def band(self) -> tuple[float, float]:
        return 1 / (1 + self.margin), 1 + self.margin


@dataclass(frozen=True, slots=True)
class Pair:
    """What two campaigns measured in one cell: the samples that count, in the order of rounds if there are any."""

    quantity: str
    reference: pd.DataFrame
    other: pd.DataFrame
    rounds: Rounds | None
    left_out: int

    @property
    def values(self) -> tuple[Any, Any]:
        return self.reference[self.quantity].to_numpy(), self.other[self.quantity].to_numpy()

    @property
    def apart(self) -> bool:
        """Whether the samples of one campaign lie in two groups."""
        return any(map(stats.two_groups, self.values))

    @property
    def test(self) -> stats.Test:
        return "rank-sum" if self.rounds is None else "signed-rank"

    @property
    def least_p(self) -> float:
        """The smallest p that so many samples can have; 1 of fewer than `LEAST_SAMPLES`, or of two groups."""
        n, m = len(self.reference), len(self.other)
        return 1.0 if min(n, m) < LEAST_SAMPLES or self.apart else stats.least_p(self.test, n, m)

    def ratio(self, level: float = stats.LEVEL) -> tuple[stats.Estimate, float]:
        """Other over reference, and the two-sided p of 1."""
        if self.apart:
            return stats.Estimate(math.nan, math.nan, math.nan, min(map(len, self.values)), stats.TWO_GROUPS), 1.0
        estimate, p = stats.rank_test(*self.values, paired=self.rounds is not None, level=level)
        if estimate.n < LEAST_SAMPLES:
            estimate = stats.Estimate(estimate.centre, math.nan, math.nan, estimate.n, stats.INSUFFICIENT)
        return estimate, p


def pair_of(reference: pd.DataFrame, other: pd.DataFrame) -> Pair | None:
    """What two campaigns measured in one cell, from its valid samples; None where no quantity is above 0 in both."""
    for quantity in QUANTITIES:
        mine, theirs = (rows[rows[quantity] > 0].sort_values("sample", kind="stable") for rows in (reference, other))
        if len(mine) and len(theirs):
            found = find_rounds(mine, theirs)
            if found is not None:
                mine, theirs = mine.iloc[list(found.reference)], theirs.iloc[list(found.other)]
            return Pair(quantity, mine, theirs, found, len(reference) + len(other) - len(mine) - len(theirs))
    return None


def verdict_of(ratio: stats.Estimate, tight: stats.Estimate, p_corrected: float, rule: Rule) -> Verdict:
    """What can be said of a cell, by its intervals of `LEVEL` and of `EQUIVALENCE_LEVEL`; p may be NaN."""
    if math.isnan(p_corrected) or not ratio.has_interval:
        return "insufficient n"
    low, high = rule.band
    if low <= tight.low and tight.high <= high:
        return EQUIVALENT
    if p_corrected < stats.ALPHA and not ratio.low <= 1 <= ratio.high:
        return FASTER if ratio.low > 1 else SLOWER
    return UNDECIDED


def _by_cell(samples: pd.DataFrame) -> dict[str, pd.DataFrame]:
    rows = valid_samples(samples)
    return {str(name): part for name, part in rows.groupby("cell_id", observed=True, sort=True)}


def cell_names(samples: pd.DataFrame) -> dict[str, str]:
    """Names of cells for people, by ``cell_id``: their slugs, or their ids where two have one slug."""
    names = samples[["cell_id", "slug"]].astype(str).drop_duplicates("cell_id")
    twice = set(names["slug"][names["slug"].duplicated(keep=False)])
    return {cell: cell if slug in twice else slug for cell, slug in names.itertuples(index=False, name=None)}


def compare_cells(
    reference: pd.DataFrame, others: Mapping[str, pd.DataFrame], rule: Rule | None = None, *, name: str = "reference"
) -> pd.DataFrame:
    """Hold campaigns, by name, against a reference, cell by cell: columns `COMPARED`; maybe no rows."""
    rule = rule or Rule()
    whole = with_series(pd.concat([reference, *others.values()], ignore_index=True))
    names = cell_names(whole)
    identity = whole.drop_duplicates("cell_id").set_index("cell_id")
    records: list[dict[str, object]] = []
    mine = _by_cell(reference)
    for place, (label, samples) in enumerate(others.items()):
        theirs = _by_cell(samples)
        common = {cell: pair_of(mine[cell], theirs[cell]) for cell in sorted(mine.keys() & theirs.keys())}
        pairs = {cell: pair for cell, pair in common.items() if pair is not None}
        silent = {cell: why for cell in pairs if (why := _silent(*identity.loc[[cell]].to_dict("records")))}
        told = {cell: pair for cell, pair in pairs.items() if cell not in silent}
        results = dict(zip(told, _tested(list(told.values()), rule), strict=True))
        for cell, why in silent.items():
            (alone,) = _tested([pairs[cell]], rule)
            results[cell] = alone if alone["verdict"] == stats.INSUFFICIENT else alone | {"verdict": BOUND, "why": why}
        for cell, pair in pairs.items():
            records.append(
                {"_place": place, "reference": name, "other": label, "cell_id": cell, "cell": names[cell]}
                | {column: identity.at[cell, column] for column in _CELL}
                | _measured(pair)
                | results[cell]
            )
    table = pd.DataFrame.from_records(records, columns=["_place", *COMPARED])
    return by_operation(table, "nominal_file_size_bytes", "series", "workers", "_place").drop(columns="_place")


def _silent(cell: Mapping[Any, Any]) -> str:
    """Why a cell's scale model may not speak of releases; empty where it may."""
    row = {str(name): value for name, value in cell.items()}
    return next((limit.why for limit in model_limits() if limit.holds(row, _RELEASES)), "")


def _measured(pair: Pair) -> dict[str, object]:
    found: dict[str, object] = {
        "quantity": pair.quantity,
        "rounds": 0 if pair.rounds is None else len(pair.reference),
        "paired_by": "" if pair.rounds is None else pair.rounds.by,
        "left_out": pair.left_out,
        "one_sided": pair.rounds is not None and pair.rounds.one_sided,
    }
    for side, rows in (("reference", pair.reference), ("other", pair.other)):
        found |= {f"n_{side}": len(rows), f"median_{side}": float(np.median(rows[pair.quantity]))}
        found |= {f"{name}_{side}": joined for name, joined in zip(TRACE, trace(rows, pair.quantity), strict=True)}
    return found


def _tested(pairs: Sequence[Pair], rule: Rule) -> list[dict[str, object]]:
    """Ratio, test and verdict of each cell of one campaign, with the correction over all of them."""
    least = [pair.least_p for pair in pairs]
    ratios = [pair.ratio() for pair in pairs]
    testable = stats.can_be_significant(least, rule.correction)
    after = iter(stats.corrected([p for (_, p), can in zip(ratios, testable, strict=True) if can], rule.correction))
    # no number of samples is known that would help where they lie in two groups
    short = [pair.test for pair, can in zip(pairs, testable, strict=True) if not can and not pair.apart]
    needed = stats.least_n(short, [each for each, can in zip(least, testable, strict=True) if can], rule.correction)
    found: list[dict[str, object]] = []
    for pair, (ratio, p), can in zip(pairs, ratios, testable, strict=True):
        tight, _ = pair.ratio(EQUIVALENCE_LEVEL)
        p_corrected = next(after) if can else math.nan
        ends = {"ratio": ratio.centre, "low": ratio.low, "high": ratio.high, "low_90": tight.low, "high_90": tight.high}
        test = {"interval": ratio.method, "test": pair.test, "p": p, "p_corrected": p_corrected}
        verdict = verdict_of(ratio, tight, p_corrected, rule)
        least_n = 0 if can else max(needed or 0, LEAST_SAMPLES)
        found.append({**ends, **test, "least_n": least_n, "verdict": verdict, "why": ""})
    return found


def unmatched(reference: pd.DataFrame, others: Mapping[str, pd.DataFrame], name: str = "reference") -> pd.DataFrame:
    """Cells that cannot be compared: `UNMATCHED`; ``campaign`` lacks the cell, the other one where both do."""
    records = []
    mine = _by_cell(reference)
    for label, samples in others.items():
        theirs = _by_cell(samples)
        known = [set(rows["cell_id"].astype(str)) for rows in (reference, samples)]
        found = []
        for cell, slug in cell_names(pd.concat([reference, samples], ignore_index=True)).items():
            here, there = cell in mine, cell in theirs
            if here != there:
                why = "has no valid sample of it" if cell in known[here] else "does not have it"
                found.append((int(here), cell, label if here else name, slug, why))
            elif not here and cell in known[0] & known[1]:
                found.append((2, cell, label, slug, "has no valid sample of it, nor has the reference"))
            elif here and pair_of(mine[cell], theirs[cell]) is None:
                why = "has no value above 0 of a quantity that the reference has, too"
                found.append((3, cell, label, slug, why))
        records += [(lacking, cell, slug, why) for _, cell, lacking, slug, why in sorted(found)]
    return pd.DataFrame.from_records(records, columns=UNMATCHED)


def bound_by_model(table: pd.DataFrame, limits: Mapping[str, float]) -> pd.DataFrame:
    """A comparison where cells that run at the throttle's limit (bytes/s, by ``cell_id``) have the verdict `BOUND`."""
    slower = table[["median_reference", "median_other"]].min(axis=1).astype(float)
    sizes = table["file_size_bytes"].astype(float).where(table["quantity"] == "files_per_s", 1.0)
    share = slower * sizes / table["cell_id"].astype(str).map(limits).astype(float)
    share = share.where(table["quantity"] != "operations_per_s")
    bound = (share >= AT_LIMIT) & (table["verdict"] != stats.INSUFFICIENT)
    why = table["why"].mask(bound & (table["verdict"] != BOUND), "both run at what the throttle lets through")
    return table.assign(of_throttle=share, verdict=table["verdict"].mask(bound, BOUND), why=why)
