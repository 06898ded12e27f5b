"""A gate for CI: which cells of a comparison must not pass, by a test of its own at the loss that is allowed.

Its p is corrected over all cells that can be tested. A cell that is equivalent within the margin may still fail a gate
that is stricter than the margin.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from glusterlab.analysis.select import split_values
from glusterlab.stats import ALPHA, Correction, corrected, rank_test


@dataclass(frozen=True, slots=True)
class Gate:
    """What fails.

    `slower` is 0.05 where a cell fails that is slower by more than 5 %, on evidence; with `untested` a cell of the
    reference fails that could not be tested, because samples are lacking or invalid.
    """

    slower: float | None = None
    untested: bool = False


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a gate found in a comparison.

    `slower` has the rows of the comparison that are slower by more than is allowed, with ``p_gate``, the slowest first;
    `untested` (other, cell_id, cell) what could not be tested. `total` counts the cells of the reference, once for each
    campaign that is held against it; `several`: these are more than one.
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
    """Hold a comparison (the tables of `glusterlab.analysis.compare.cells`) with the named others against a gate."""
    columns = ["other", "cell_id", "cell"]
    testable = (table["least_n"].astype(int) == 0) & table["high"].notna()
    short = table.loc[~testable, columns].astype(str)
    lacking = unmatched[unmatched["campaign"].isin(others)].rename(columns={"campaign": "other"})[columns]
    untested = pd.concat([short, lacking], ignore_index=True)
    slower = table.iloc[:0].assign(p_gate=[])
    if gate.slower is not None:
        limit = 1 - gate.slower
        found = []
        for _, rows in table[testable].groupby("other", observed=True, sort=False):
            tested = rows.assign(p_gate=corrected([_p(row, limit) for _, row in rows.iterrows()], correction))
            found.append(tested[(tested["p_gate"] < ALPHA) & (tested["high"].astype(float) < limit)])
        if any(map(len, found)):
            slower = pd.concat([rows for rows in found if len(rows)]).sort_values(
                "ratio", kind="stable", ignore_index=True
            )
    return Outcome(gate, slower, untested, len(table) + len(lacking), len(others) > 1)


def _p(row: pd.Series, limit: float) -> float:
    """Two-sided, of the rank test of a ratio against a limit instead of 1."""
    reference, other = split_values(row["values_reference"], limit), split_values(row["values_other"])
    return rank_test(reference, other, paired=bool(row["rounds"]))[1]
