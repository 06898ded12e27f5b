"""A gate for CI: which cells must not pass, by a test of its own at the loss that is allowed, whatever the margin."""

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from glusterlab.analysis.compare.cells import BOUND
from glusterlab.analysis.select import split_values
from glusterlab.stats import ALPHA, Correction, corrected, rank_test

_TESTED = ("values_reference", "values_other", "rounds")


@dataclass(frozen=True, slots=True)
class Gate:
    """What fails: a cell that is slower by more than that share, on evidence; one that is untested, unless allowed."""

    slower: float
    allow_untested: bool = False


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a gate found in a comparison."""

    gate: Gate
    slower: pd.DataFrame  # its rows that are slower by more than is allowed, with ``p_gate``, the slowest first
    untested: pd.DataFrame  # columns other, cell_id, cell
    total: int  # cells of the reference, once for each of the `several` others
    several: bool

    @property
    def tested(self) -> int:
        return self.total - len(self.untested)

    @property
    def failed(self) -> bool:
        untested = not self.tested or not self.untested.empty
        return not self.slower.empty or (untested and not self.gate.allow_untested)


def hold(
    gate: Gate, table: pd.DataFrame, unmatched: pd.DataFrame, others: Sequence[str], correction: Correction
) -> Outcome:
    """Hold a comparison (the tables of `glusterlab.analysis.compare.cells`) with the named others against a gate."""
    columns = ["other", "cell_id", "cell"]
    testable = (table["least_n"].astype(int) == 0) & table["high"].notna() & (table["verdict"] != BOUND)
    short = table.loc[~testable, columns].astype(str)
    lacking = unmatched[unmatched["campaign"].isin(others)].rename(columns={"campaign": "other"})[columns]
    untested = pd.concat([short, lacking], ignore_index=True)
    tested, slower = table[testable], table.iloc[:0].assign(p_gate=[])
    if len(tested):
        limit = 1 - gate.slower
        p = [
            rank_test(split_values(below, limit), split_values(above), paired=rounds > 0)[1]
            for below, above, rounds in zip(*(tested[name] for name in _TESTED), strict=True)
        ]
        groups = pd.Series(p, index=tested.index).groupby(tested["other"], observed=True)
        slower = tested.assign(p_gate=groups.transform(lambda of: corrected(of.tolist(), correction)))
        slower = slower[(slower["p_gate"] < ALPHA) & (slower["high"].astype(float) < limit)]
        slower = slower.sort_values("ratio", kind="stable", ignore_index=True)
    return Outcome(gate, slower, untested, len(table) + len(lacking), len(others) > 1)
