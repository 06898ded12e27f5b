"""A gate for CI: which cells of a comparison must not pass, by a test of its own at the loss that is allowed.

A verdict says on which side of 1 a ratio lies. A gate asks another question: is it below what may be lost? So its test
holds the ratio against that limit, not against 1, and its p is corrected over all cells that can be tested. A cell that
is equivalent within the margin may still fail a gate that is stricter than the margin.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from glusterlab.analysis.compare_tests import ALPHA, Correction, corrected, rank_sum_p, signed_rank_p


@dataclass(frozen=True, slots=True)
class Gate:
    """What is not let pass.

    Attributes
    ----------
    slower : float or None
        0.05 where a cell fails that is slower by more than 5 %, on evidence.
    untested : bool
        A cell of the reference fails that could not be tested, because samples are lacking or invalid.
    """

    slower: float | None = None
    untested: bool = False


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a gate says of a comparison.

    Attributes
    ----------
    gate : Gate
    slower : pandas.DataFrame
        The rows of the comparison that are slower by more than is allowed, with ``p_gate``; the slowest first.
    untested : pandas.DataFrame
        Columns other, cell_id, cell: what could not be tested.
    total : int
        Cells of the reference, of each campaign that is held against it.
    several : bool
        More than one campaign is held against the reference.
    """

    gate: Gate
    slower: pd.DataFrame
    untested: pd.DataFrame
    total: int
    several: bool

    @property
    def tested(self) -> int:
        """Of `total` those with samples enough."""
        return self.total - len(self.untested)

    @property
    def failed(self) -> bool:
        """Whether the gate is closed."""
        return not self.slower.empty or (self.gate.untested and not self.untested.empty)


def hold(
    gate: Gate, table: pd.DataFrame, unmatched: pd.DataFrame, others: Sequence[str], correction: Correction
) -> Outcome:
    """Hold a comparison against a gate.

    Parameters
    ----------
    gate : Gate
    table, unmatched : pandas.DataFrame
        From `glusterlab.analysis.compare`.
    others : sequence of str
        The campaigns that are held against the reference.
    correction : {"holm", "fdr"}
    """
    columns = ["other", "cell_id", "cell"]
    short = table.loc[~_testable(table), columns].astype(str)
    lacking = unmatched[unmatched["campaign"].isin(others)].rename(columns={"campaign": "other"})[columns]
    untested = pd.concat([short, lacking], ignore_index=True)
    return Outcome(gate, _slower(gate, table, correction), untested, len(table) + len(lacking), len(others) > 1)


def _testable(table: pd.DataFrame) -> pd.Series:
    return (table["least_n"].astype(int) == 0) & table["high"].notna()


def _slower(gate: Gate, table: pd.DataFrame, correction: Correction) -> pd.DataFrame:
    if gate.slower is None:
        return table.iloc[:0].assign(p_gate=[])
    limit = 1 - gate.slower
    found = []
    for _, rows in table[_testable(table)].groupby("other", observed=True, sort=False):
        p = corrected([_p(row, limit) for _, row in rows.iterrows()], correction)
        tested = rows.assign(p_gate=p)
        found.append(tested[(tested["p_gate"] < ALPHA) & (tested["high"].astype(float) < limit)])
    if not found:
        return table.iloc[:0].assign(p_gate=[])
    return pd.concat(found).sort_values("ratio", kind="stable").reset_index(drop=True)


def _p(row: pd.Series, limit: float) -> float:
    """Two-sided, of the rank test of a ratio against a limit instead of 1."""
    reference, other = (
        np.array([float(value) for value in str(row[f"values_{side}"]).split(";")]) for side in ("reference", "other")
    )
    if row["rounds"]:
        return signed_rank_p(np.log(other / reference) - math.log(limit))
    return rank_sum_p(reference * limit, other)
