"""What of a plan is still to be run, given the samples that are there: pure bookkeeping, without hosts or files."""

from __future__ import annotations

import statistics
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from glusterlab.run.measured import Decision, Measured, ends_after, likely_repeats, scatter_of
from glusterlab.run.state import Counts

if TYPE_CHECKING:
    from glusterlab.run.plan import Plan, PlannedSample
    from glusterlab.store.campaign import Sample

Key = tuple[str, int, bool]


@dataclass
class _Cell:
    repeats: list[PlannedSample] = field(default_factory=list)
    warmup: list[PlannedSample] = field(default_factory=list)
    values: dict[int, Measured] = field(default_factory=dict)
    counts: Counts = field(default_factory=Counts)
    ended_after: int | None = None
    scatter: float | None = None


class Queue:
    """The samples of a plan, each with its executions so far.

    A repeat is complete when it has a valid sample, or had all its attempts; `retry` gives it as many again. A warm-up
    sample is run while repeats of its cell are to come. `counts`: kept up to date. `now`: the rounds of this run.
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
        self._planned, self._rules = plan.samples, {cell.id: plan.rule(cell.id) for cell in plan.cells}
        # a planned sample is known by its place: that costs less than its cell's id
        self._keys: dict[int, Key] = {
            planned.order: (planned.cell.id, planned.repeat, planned.warmup) for planned in plan.samples
        }
        self._cells: dict[str, _Cell] = {cell.id: _Cell() for cell in plan.cells}
        for planned in plan.samples:
            mine = self._cells[self._keys[planned.order][0]]
            (mine.warmup if planned.warmup else mine.repeats).append(planned)
        self._executions: dict[Key, list[Sample]] = {}
        known = values or {}
        for sample in samples:
            self._take(sample, known.get((sample.cell_id, sample.sample)))
        self._allowed = {
            key: attempts + (len(self._executions.get(key, ())) if retry else 0) for key in self._keys.values()
        }
        self._pending: set[int] = set()
        self.rounds = self.now = tuple(sorted({planned.round for planned in self._planned}))
        self.counts = Counts(rounds=max(self.rounds, default=0))
        for cell_id in self._cells:
            self._update(cell_id)

    def add(self, sample: Sample, value: Measured | None = None) -> Decision | None:
        """Take in a sample that was just stored; returns how its cell ended by it, if it did."""
        before = self.decision(sample.cell_id)
        self._take(sample, value)
        if sample.cell_id in self._cells:
            self._update(sample.cell_id)
        after = self.decision(sample.cell_id)
        return after if after != before else None

    def executions(self, planned: PlannedSample) -> list[Sample]:
        return self._executions.get(self._keys[planned.order], [])

    def attempt(self, planned: PlannedSample) -> int:
        return len(self.executions(planned)) + 1

    def is_valid(self, planned: PlannedSample) -> bool:
        return any(sample.status == "valid" for sample in self.executions(planned))

    def is_needed(self, planned: PlannedSample) -> bool:
        if planned.warmup:
            return any(repeat.order in self._pending for repeat in self._of(planned).repeats)
        return self._of(planned).ended_after is None or self.is_valid(planned)

    def is_pending(self, planned: PlannedSample) -> bool:
        return planned.order in self._pending

    def pending(self, number: int | None = None) -> list[PlannedSample]:
        return [planned for planned in self._planned if number in (None, planned.round) and self.is_pending(planned)]

    def drop(self, cell_ids: Collection[str]) -> None:
        """Forget cells that turned out not to be runnable."""
        for cell_id in cell_ids:
            cell = self._cells[cell_id]
            self._pending.difference_update(planned.order for planned in (*cell.repeats, *cell.warmup))
            cell.repeats, cell.warmup = [], []
            self._update(cell_id)
        self._planned = tuple(each for each in self._planned if self._keys[each.order][0] not in cell_ids)

    def choose_rounds(self, most: int) -> None:
        """Have this run come to the warm-up and the first rounds in which repeats are pending only."""
        busy = [number for number in self.rounds if number > 0 and self.pending(number)]
        self.now = tuple(number for number in self.rounds if number <= 0 or number in busy[:most])
        for cell_id in self._cells:
            self._update(cell_id)

    def likely(self) -> list[PlannedSample]:
        """What of `pending` this run will likely come to, by the scatter of the cell's values, or of the others'."""
        pending = [planned for planned in self.pending() if planned.round in self.now]
        known = [cell.scatter for cell in self._cells.values() if cell.scatter is not None]
        usual = statistics.median(known) if known else None
        room = {}
        for cell_id, cell in self._cells.items():
            if (rule := self._rules[cell_id]) is not None:
                wanted = likely_repeats(rule, usual if cell.scatter is None else cell.scatter)
                room[cell_id] = max(1, wanted - len(cell.values))
        found = []
        for planned in pending:
            cell_id = self._keys[planned.order][0]
            if planned.warmup or cell_id not in room:
                found.append(planned)
            elif room[cell_id]:
                room[cell_id] -= 1
                found.append(planned)
        return found

    def problems(self) -> list[tuple[PlannedSample, Sample]]:
        found = []
        for planned in self._planned:
            done = self.executions(planned)
            if done and done[-1].status != "valid" and not planned.warmup and self.is_needed(planned):
                found.append((planned, done[-1]))
        return found

    def decision(self, cell_id: str) -> Decision | None:
        if self._rules.get(cell_id) is None:
            return None
        cell = self._cells[cell_id]
        if cell.ended_after is not None:
            return "reached"
        return "going-on" if cell.counts.left else "at-maximum"

    def values(self, cell_id: str) -> list[Measured]:
        values = self._cells[cell_id].values
        return [values[repeat] for repeat in sorted(values)]

    def _of(self, planned: PlannedSample) -> _Cell:
        return self._cells[self._keys[planned.order][0]]

    def _take(self, sample: Sample, value: Measured | None) -> None:
        self._executions.setdefault((sample.cell_id, sample.repeat, sample.warmup), []).append(sample)
        if value is not None and sample.status == "valid" and not sample.warmup and sample.cell_id in self._cells:
            self._cells[sample.cell_id].values[sample.repeat] = value

    def _update(self, cell_id: str) -> None:
        cell = self._cells[cell_id]
        if (rule := self._rules[cell_id]) is not None:
            cell.ended_after = ends_after(rule, cell.values)
            cell.scatter = scatter_of(list(cell.values.values()))
        # the repeats first: a warm-up is needed while one of them is pending
        for planned in (*cell.repeats, *cell.warmup):
            self._pending.discard(planned.order)
            attempts_left = len(self.executions(planned)) < self._allowed[self._keys[planned.order]]
            if attempts_left and not self.is_valid(planned) and self.is_needed(planned):
                self._pending.add(planned.order)
        old, cell.counts = cell.counts, self._count(cell)
        for name, number in cell.counts:
            setattr(self.counts, name, getattr(self.counts, name) + number - getattr(old, name))

    def _count(self, cell: _Cell) -> Counts:
        needed = [planned for planned in cell.repeats if self.is_needed(planned)]
        last = [done[-1].status if (done := self.executions(planned)) else None for planned in needed]
        return Counts(
            total=len(needed),
            valid=last.count("valid"),
            invalid=last.count("invalid"),
            failed=last.count("failed"),
            left=sum(map(self.is_pending, cell.repeats)),
            later=sum(self.is_pending(planned) and planned.round not in self.now for planned in cell.repeats),
            warmup_left=sum(map(self.is_pending, cell.warmup)),
        )
