"""What of a plan is still to be run, given the samples that are there: pure bookkeeping, without hosts or files."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from glusterlab.progress import Counts

if TYPE_CHECKING:
    from glusterlab.raw import Sample
    from glusterlab.spec import Plan, PlannedSample

Key = tuple[str, int]
"""A cell's id and a repeat."""


def _key(planned: PlannedSample) -> Key:
    return planned.cell.id, planned.repeat


class Agenda:
    """The samples of a plan, each with its executions so far.

    A repeat is complete when it has a valid sample, or had all its attempts.

    Parameters
    ----------
    plan : Plan
    attempts : int
        Executions of one repeat at most.
    samples : iterable of Sample
        All that the raw store holds.
    retry : bool
        Give repeats without a valid sample as many attempts again.

    Attributes
    ----------
    counts : Counts
        Kept up to date.
    rounds : tuple of int
        Numbers of the plan's rounds, in their order.
    """

    def __init__(self, plan: Plan, attempts: int, samples: Iterable[Sample] = (), *, retry: bool = False) -> None:
        self._planned = plan.samples
        self._executions: dict[Key, list[Sample]] = {}
        for sample in samples:
            self._executions.setdefault((sample.cell_id, sample.repeat), []).append(sample)
        self._allowed = {
            _key(planned): attempts + (len(self._done(planned)) if retry else 0) for planned in self._planned
        }
        self.rounds = tuple(sorted({planned.round for planned in self._planned}))
        self.counts = Counts(total=len(self._planned))
        self._count()

    def add(self, sample: Sample) -> None:
        """Take in a sample that was just stored."""
        self._executions.setdefault((sample.cell_id, sample.repeat), []).append(sample)
        self._count()

    def attempt(self, planned: PlannedSample) -> int:
        """Number of the next attempt, from 1."""
        return len(self._done(planned)) + 1

    def is_pending(self, planned: PlannedSample) -> bool:
        """Whether it is still to be run: it has no valid sample, and attempts are left."""
        done = self._done(planned)
        return len(done) < self._allowed[_key(planned)] and all(sample.status != "valid" for sample in done)

    def pending(self, number: int | None = None) -> list[PlannedSample]:
        """What is still to be run, or what of one round is, in the plan's order."""
        return [planned for planned in self._planned if number in (None, planned.round) and self.is_pending(planned)]

    def problems(self) -> list[tuple[PlannedSample, Sample]]:
        """Planned samples whose last execution is not valid, each with that execution."""
        last = [(planned, self._done(planned)) for planned in self._planned]
        return [(planned, done[-1]) for planned, done in last if done and done[-1].status != "valid"]

    def _done(self, planned: PlannedSample) -> list[Sample]:
        return self._executions.get(_key(planned), [])

    def _count(self) -> None:
        last = [done[-1].status if (done := self._done(planned)) else None for planned in self._planned]
        counts = self.counts
        counts.valid, counts.invalid, counts.failed = (last.count(s) for s in ("valid", "invalid", "failed"))
        counts.left = len(self.pending())
