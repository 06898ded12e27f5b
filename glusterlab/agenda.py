"""What of a plan is still to be run, given the samples that are there: pure bookkeeping, without hosts or files."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from glusterlab.progress import Counts
from glusterlab.stopping import Decision, ends_after, likely_repeats, scatter_of

if TYPE_CHECKING:
    from glusterlab.measured import Measured
    from glusterlab.raw import Sample
    from glusterlab.spec import Plan, PlannedSample

Key = tuple[str, int, bool]
"""A cell's id, a repeat, and whether it is one of the warm-up."""


def _key(planned: PlannedSample) -> Key:
    return planned.cell.id, planned.repeat, planned.warmup


@dataclass
class _CellValues:
    """The valid values of a cell by repeat, and after which repeat it ends; computed when something was added."""

    by_repeat: dict[int, Measured] = field(default_factory=dict)
    ends_after: int | None = None


class Agenda:
    """The samples of a plan, each with its executions so far.

    A repeat is complete when it has a valid sample, or had all its attempts. A cell that has reached the target of its
    campaign needs no further repeats, nor those again that did not come out. A warm-up sample is run while repeats of
    its cell are still to come, and is never counted among them.

    Parameters
    ----------
    plan : Plan
    attempts : int
        Executions of one repeat at most.
    samples : iterable of Sample
        All that the raw store holds.
    retry : bool
        Give repeats without a valid sample as many attempts again.
    values : mapping of (str, int) to Measured
        What valid samples measured, by cell id and number of the sample; only a plan with a target looks at it.

    Attributes
    ----------
    counts : Counts
        Kept up to date; of repeats alone, without those that a cell which ended does not need.
    rounds : tuple of int
        Numbers of the plan's rounds, in their order.
    """

    def __init__(
        self,
        plan: Plan,
        attempts: int,
        samples: Iterable[Sample] = (),
        *,
        retry: bool = False,
        values: Mapping[tuple[str, int], Measured] | None = None,
    ) -> None:
        self._planned = plan.samples
        self._rule = plan.repeats
        self._executions: dict[Key, list[Sample]] = {}
        self._cells = {cell.id: _CellValues() for cell in plan.cells}
        known = values or {}
        for sample in samples:
            self._take(sample, known.get((sample.cell_id, sample.sample)))
        for cell_id in self._cells:
            self._decide(cell_id)
        self._allowed = {
            _key(planned): attempts + (len(self.executions(planned)) if retry else 0) for planned in self._planned
        }
        self._repeats: dict[str, list[PlannedSample]] = {}
        for planned in plan.counted:
            self._repeats.setdefault(planned.cell.id, []).append(planned)
        self.rounds = tuple(sorted({planned.round for planned in self._planned}))
        self.counts = Counts(rounds=max(self.rounds, default=0))
        self._count()

    def add(self, sample: Sample, value: Measured | None = None) -> Decision | None:
        """Take in a sample that was just stored, and what it measured.

        Returns
        -------
        {"reached", "at-maximum"} or None
            How its cell ended by this sample, where the plan has a target and it did.
        """
        before = self.decision(sample.cell_id)
        self._take(sample, value)
        self._decide(sample.cell_id)
        self._count()
        after = self.decision(sample.cell_id)
        return after if after != before else None

    def executions(self, planned: PlannedSample) -> list[Sample]:
        """What has been executed of a planned sample, in the order of its attempts."""
        return self._executions.get(_key(planned), [])

    def attempt(self, planned: PlannedSample) -> int:
        """Number of the next attempt, from 1."""
        return len(self.executions(planned)) + 1

    def is_valid(self, planned: PlannedSample) -> bool:
        """Whether it has a valid sample."""
        return any(sample.status == "valid" for sample in self.executions(planned))

    def is_needed(self, planned: PlannedSample) -> bool:
        """Whether it is, or would be, one of the samples that its cell consists of."""
        if planned.warmup:
            return any(self.is_pending(repeat) for repeat in self._repeats[planned.cell.id])
        return self.ended_after(planned.cell.id) is None or self.is_valid(planned)

    def is_pending(self, planned: PlannedSample) -> bool:
        """Whether it is still to be run: it is needed, has no valid sample, and attempts are left."""
        return (
            len(self.executions(planned)) < self._allowed[_key(planned)]
            and not self.is_valid(planned)
            and self.is_needed(planned)
        )

    def pending(self, number: int | None = None) -> list[PlannedSample]:
        """What is still to be run, or what of one round is, in the plan's order; repeats at most."""
        return [planned for planned in self._planned if number in (None, planned.round) and self.is_pending(planned)]

    def likely(self) -> list[PlannedSample]:
        """What of `pending` will likely be run: a cell with a target may end before its last repeat.

        By the scatter of the cell's own values or, while it has fewer than two, by the median of the other cells'.
        """
        rule, pending = self._rule, self.pending()
        if rule is None:
            return pending
        scatters = {cell_id: scatter_of([each.value for each in self.values(cell_id)]) for cell_id in self._cells}
        known = [scatter for scatter in scatters.values() if scatter is not None]
        usual = statistics.median(known) if known else None
        room = {}
        for cell_id, scatter in scatters.items():
            wanted = likely_repeats(rule, usual if scatter is None else scatter)
            room[cell_id] = max(1, wanted - len(self.values(cell_id)))
        found = []
        for planned in pending:
            if planned.warmup:
                found.append(planned)
            elif room[planned.cell.id]:
                room[planned.cell.id] -= 1
                found.append(planned)
        return found

    def problems(self) -> list[tuple[PlannedSample, Sample]]:
        """Repeats that are needed and whose last execution is not valid, each with that execution."""
        found = []
        for planned in self._planned:
            done = self.executions(planned)
            if done and done[-1].status != "valid" and not planned.warmup and self.is_needed(planned):
                found.append((planned, done[-1]))
        return found

    def ended_after(self, cell_id: str) -> int | None:
        """The repeat after which a cell ended because it reached its target; None when it did not, or has none."""
        return self._cells[cell_id].ends_after

    def decision(self, cell_id: str) -> Decision | None:
        """How a cell stands to the target of its campaign; None when there is none, or no such cell in the plan."""
        if self._rule is None or cell_id not in self._cells:
            return None
        if self.ended_after(cell_id) is not None:
            return "reached"
        return "going-on" if any(map(self.is_pending, self._repeats[cell_id])) else "at-maximum"

    def values(self, cell_id: str) -> list[Measured]:
        """What the valid repeats of a cell measured, in their order."""
        by_repeat = self._cells[cell_id].by_repeat
        return [by_repeat[repeat] for repeat in sorted(by_repeat)]

    def _take(self, sample: Sample, value: Measured | None) -> None:
        self._executions.setdefault((sample.cell_id, sample.repeat, sample.warmup), []).append(sample)
        if value is not None and sample.status == "valid" and not sample.warmup and sample.cell_id in self._cells:
            self._cells[sample.cell_id].by_repeat[sample.repeat] = value

    def _decide(self, cell_id: str) -> None:
        if self._rule is not None and cell_id in self._cells:
            found = self._cells[cell_id]
            values = {repeat: measured.value for repeat, measured in found.by_repeat.items()}
            found.ends_after = ends_after(self._rule, values)

    def _count(self) -> None:
        counts = self.counts
        needed = [planned for planned in self._planned if not planned.warmup and self.is_needed(planned)]
        last = [done[-1].status if (done := self.executions(planned)) else None for planned in needed]
        counts.total = len(needed)
        counts.valid, counts.invalid, counts.failed = (last.count(s) for s in ("valid", "invalid", "failed"))
        pending = self.pending()
        counts.warmup_left = sum(planned.warmup for planned in pending)
        counts.left = len(pending) - counts.warmup_left
