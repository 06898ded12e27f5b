"""Which layouts are in trouble: their samples fail one after the other, for reasons outside the workload."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING

from glusterlab.reasons import ReasonCode

if TYPE_CHECKING:
    from glusterlab.raw import Sample
    from glusterlab.spec import Layout, PlannedSample

MAX_TROUBLE = 3
"""So many samples of a layout in a row that the hosts made fail, not the workload, end its turn in the round."""

_CODES: frozenset[ReasonCode] = frozenset(
    {"host-unreachable", "controller-error", "pool-unhealthy", "disk-full", "mount-hung"}
)


class Trouble:
    """Which layouts sit out the rest of a round; each gets one sample to show itself in the next.

    Attributes
    ----------
    why : str
        How the last layout that was left out came to it.
    """

    def __init__(self) -> None:
        self.why = ""
        self._in_a_row: Counter[Layout] = Counter()
        self._left_out: set[Layout] = set()

    def begin_round(self) -> None:
        """Give every layout its turn again."""
        self._left_out.clear()

    def has_turn(self, layout: Layout) -> bool:
        """Whether samples of a layout are run in this round."""
        return layout not in self._left_out

    def add(self, sample: Sample, layout: Layout) -> bool:
        """Take in how a sample of a layout came out.

        Returns
        -------
        bool
            Whether the layout is left out for the rest of the round by it.
        """
        codes = {reason.code for reason in sample.reasons}
        troubled = bool(codes & _CODES) and "tool-timeout" not in codes
        self._in_a_row[layout] = self._in_a_row[layout] + 1 if troubled else 0
        if self._in_a_row[layout] < MAX_TROUBLE:
            return False
        self._left_out.add(layout)
        self.why = (
            f"{self._in_a_row[layout]} samples in a row failed for reasons outside the workload, last"
            f" {sample.reasons[0]}"
        )
        return True

    def is_everywhere(self, pending: Iterable[PlannedSample], number: int, layouts: Iterable[Layout]) -> bool:
        """Whether to go on after a round would only fill the night.

        Parameters
        ----------
        pending : iterable of PlannedSample
            All that is still to be run.
        number : int
            Of the round.
        layouts : iterable of Layout
            Of the whole plan.

        Returns
        -------
        bool
            False also when there is nothing left to go on with: then the run comes to its end by itself.
        """
        left = list(pending)
        if not left or not self._left_out.issuperset(planned.cell.layout for planned in left):
            return False
        return any(planned.round > number for planned in left) or self._left_out.issuperset(layouts)
