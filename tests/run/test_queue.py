"""What is still to be run: a pure function of the plan and of what is stored."""

import itertools

import pytest

from glusterlab.reasons import Status
from glusterlab.run.measured import Interval, Measured
from glusterlab.run.plan import Plan, order_samples
from glusterlab.run.queue import Queue
from glusterlab.spec import Repeats
from glusterlab.store.campaign import Sample
from tests.run.test_status import CELL, sample

OTHER = CELL.model_copy(update={"operation": "read"})


def plan(repeats: int = 3, warmup: int = 0, rule: Repeats | None = None) -> Plan:
    cells = (CELL, OTHER)
    samples = order_samples(cells, seed=1, repeats=rule.max if rule else repeats, warmup=warmup)
    return Plan(cells=cells, samples=tuple(samples), repeats=rule)


def stored(
    repeat: int, status: Status = "valid", attempt: int = 1, *, warmup: bool = False, of: str = CELL.id
) -> Sample:
    return sample(repeat, attempt, status, of).model_copy(update={"warmup": warmup})


def value(number: float) -> Measured:
    return Measured("throughput_bytes_per_s", number)


def pending(queue: Queue, number: int | None = None) -> list[tuple[str, int, bool]]:
    return [(planned.cell.operation, planned.repeat, planned.warmup) for planned in queue.pending(number)]


def test_the_warmup_is_counted_apart_and_decides_nothing() -> None:
    queue = Queue(plan(warmup=2), attempts=1)
    assert queue.rounds == (-1, 0, 1, 2, 3)
    assert pending(queue, -1) == [("write", 1, True), ("read", 1, True)]
    assert (queue.counts.total, queue.counts.left, queue.counts.warmup_left) == (6, 6, 4)
    queue.add(stored(1, warmup=True), value(1.0))
    queue.add(stored(2, "failed", warmup=True))
    assert (queue.counts.valid, queue.counts.failed, queue.counts.left, queue.counts.warmup_left) == (0, 0, 6, 2)
    assert queue.values(CELL.id) == []
    assert queue.problems() == []
    assert pending(queue, 1) == [("write", 1, False), ("read", 1, False)]


def test_a_cell_whose_repeats_are_done_needs_no_warmup() -> None:
    queue = Queue(plan(warmup=1), 1, [stored(repeat) for repeat in (1, 2, 3)])
    assert pending(queue, 0) == [("read", 1, True)]


RULE = Repeats(min=3, max=6, half_width=0.05)


def test_a_repeat_that_did_not_come_out_is_not_missed_by_a_cell_that_has_ended() -> None:
    samples = [stored(1), stored(2, "failed"), stored(2, "failed", 2), stored(3), stored(4)]
    numbered = [each.model_copy(update={"sample": n}) for n, each in enumerate(samples, start=1)]
    values = {(CELL.id, n): value(100.0) for n in (1, 4, 5)}
    for retry in (False, True):
        queue = Queue(plan(rule=RULE), 2, numbered, retry=retry, values=values)
        assert queue.decision(CELL.id) == "reached"
        assert [key for key in pending(queue) if key[0] == "write"] == []
        assert queue.problems() == []
        assert queue.counts.failed == 0


@pytest.mark.parametrize("numbers", list(itertools.product((100.0, 104.0, None), repeat=4)))
def test_a_run_that_was_killed_decides_as_one_that_was_not(numbers: tuple[float | None, ...]) -> None:
    """Whenever it is killed: what is pending follows from what is stored alone."""
    whole = Queue(plan(rule=RULE), attempts=1)
    samples: list[Sample] = []
    values: dict[tuple[str, int], Measured] = {}
    for number, found in enumerate(numbers, start=1):
        if not any(planned.repeat == number and planned.cell == CELL for planned in whole.pending()):
            break
        made = stored(number, "valid" if found else "failed").model_copy(update={"sample": number})
        samples.append(made)
        if found is not None:
            values[CELL.id, number] = value(found)
        whole.add(made, values.get((CELL.id, number)))
        resumed = Queue(plan(rule=RULE), 1, samples, values=values)
        assert resumed.pending() == whole.pending()
        assert resumed.decision(CELL.id) == whole.decision(CELL.id)
        assert resumed.counts == whole.counts


def test_two_groups_go_on_to_the_most_repeats() -> None:
    queue = Queue(plan(rule=Repeats(min=4, max=7, half_width=0.5)), attempts=1)
    for repeat, number in enumerate((100.0, 130.0, 100.1, 130.1, 100.2, 130.2), start=1):
        queue.add(stored(repeat), value(number))
        assert queue.decision(CELL.id) == "going-on"
    interval = Interval.of(queue.values(CELL.id))
    assert (interval.half_width, interval.mean) == (None, "0.000100 MB/s and 0.000130 MB/s")
    assert sum(planned.cell == CELL for planned in queue.likely()) == 1
    queue.add(stored(7), value(130.0))
    assert queue.decision(CELL.id) == "at-maximum"


def test_a_cell_ends_by_its_own_repeats() -> None:
    samples = order_samples((CELL, OTHER), 1, 2, own={CELL.id: 6})
    queue = Queue(Plan((CELL, OTHER), tuple(samples), own={CELL.id: RULE}), attempts=1)
    assert (queue.decision(CELL.id), queue.decision(OTHER.id)) == ("going-on", None)
    assert pending(queue, 3) == [("write", 3, False)]
    for repeat in (1, 2, 3):
        queue.add(stored(repeat), value(100.0 + repeat / 10))
    assert queue.decision(CELL.id) == "reached"
    assert {planned.cell.id for planned in queue.likely()} == {OTHER.id}


def test_what_is_left_to_later_runs_is_told_apart() -> None:
    queue = Queue(plan(), attempts=1)
    assert queue.counts.later == 0
    queue.choose_rounds(1)
    assert queue.now == (1,)
    assert (queue.counts.left, queue.counts.later) == (6, 4)
    assert [planned.repeat for planned in queue.likely()] == [1, 1]
    queue.add(stored(1))
    assert (queue.counts.left, queue.counts.later) == (5, 4)
    queue.add(stored(1, of=OTHER.id))
    assert queue.counts.left == queue.counts.later == 4


def test_what_will_likely_run_follows_from_the_scatter_so_far() -> None:
    queue = Queue(plan(warmup=1, rule=RULE), attempts=1)
    # the warm-up, and three repeats of either cell while nothing is known
    assert len(queue.likely()) == 2 + 6
    for repeat, number in enumerate((80.0, 120.0), start=1):
        queue.add(stored(repeat), value(number))
    # as far apart as these are, both cells need them all: four more of one, six of the other
    assert len(queue.likely()) == len(queue.pending()) == 2 + 4 + 6
    queue.add(stored(1, of=OTHER.id), value(100.0))
    queue.add(stored(2, of=OTHER.id), value(101.0))
    # one more of the steady cell
    assert sum(planned.cell == OTHER and not planned.warmup for planned in queue.likely()) == 1
    assert Queue(plan(), 1).likely() == Queue(plan(), 1).pending()
