"""Status counts repeats, not executions."""

from pathlib import Path

import pytest

from glusterlab.reasons import Reason, ReasonCode, Status
from glusterlab.run.plan import Plan, PlannedSample
from glusterlab.run.status import CampaignStatus, count_reasons, count_samples, last_failures
from glusterlab.spec import Cell, Layout, ScaleModel
from glusterlab.store.campaign import Sample
from glusterlab.store.sample import Window

CELL = Cell(
    layout=Layout(name="l", type="replicate", subvolumes=3, replica=2, backing="jbod"),
    access="native",
    tool="iozone",
    operation="write",
    file_size_bytes=1 << 20,
    nominal_file_size_bytes=1 << 20,
    workers=2,
    model=ScaleModel(name="real"),
)
PLAN = Plan(cells=(CELL,), samples=tuple(PlannedSample(CELL, repeat=n, round=n, order=n) for n in (1, 2, 3)))


def sample(repeat: int, attempt: int, status: Status, cell_id: str = CELL.id) -> Sample:
    return Sample(
        path=Path("x"),
        campaign="small",
        cell_id=cell_id,
        sample=1,
        repeat=repeat,
        round=repeat,
        order=repeat,
        attempt=attempt,
        status=status,
        disks=6,
        servers=("s1",),
        clients=("c1",),
    )


@pytest.mark.parametrize(
    ("samples", "valid", "spent", "left"),
    [
        ([], 0, 0, 3),
        ([sample(1, 1, "valid")], 1, 0, 2),
        ([sample(1, 1, "failed"), sample(1, 2, "valid")], 1, 0, 2),
        ([sample(1, 1, "failed")], 0, 0, 3),
        ([sample(1, 1, "failed"), sample(1, 2, "invalid")], 0, 1, 2),
        ([sample(1, 1, "failed"), sample(2, 1, "invalid"), sample(2, 2, "invalid"), sample(3, 1, "valid")], 1, 1, 1),
        ([sample(n, 1, "valid") for n in (1, 2, 3)], 3, 0, 0),
        ([sample(4, 1, "valid"), sample(1, 1, "valid", "another-cell")], 0, 0, 3),
    ],
)
def test_repeats_are_done_given_up_or_left(samples: list[Sample], valid: int, spent: int, left: int) -> None:
    (found,) = count_samples(PLAN, samples, attempts=2)
    assert (found.wanted, found.valid, found.spent, found.left) == (3, valid, spent, left)
    executions = [each.status for each in samples]
    assert (found.invalid, found.failed) == (executions.count("invalid"), executions.count("failed"))
    status = CampaignStatus("small", (found,), not_runnable=0)
    assert status.complete == (valid == 3)
    assert status.total("left") == left


def test_a_warmup_is_in_no_count_but_its_own() -> None:
    planned = (PlannedSample(CELL, repeat=1, round=0, order=0, warmup=True), *PLAN.samples)
    plan = Plan(cells=(CELL,), samples=planned)
    warm = [each.model_copy(update={"warmup": True}) for each in (sample(1, 1, "failed"), sample(1, 2, "valid"))]
    (found,) = count_samples(plan, [*warm, sample(1, 1, "valid")], attempts=2)
    assert (found.wanted, found.valid, found.left, found.failed, found.warmup) == (3, 1, 2, 0, 1)


def failed(code: ReasonCode, host: str | None, repeat: int, attempt: int, end: float) -> Sample:
    reason = Reason(code=code, message="x", host=host)
    window = Window(start=end - 1, end=end)
    return sample(repeat, attempt, "failed").model_copy(update={"reasons": (reason,), "window": window})


def test_reasons_are_counted_with_what_became_of_their_repeats() -> None:
    samples = [
        failed("tool-timeout", "c1", 1, 1, 10),
        sample(1, 2, "valid"),
        failed("tool-timeout", "c2", 2, 1, 20),
        failed("host-unreachable", None, 2, 2, 30),
    ]
    first, second = count_reasons(samples)
    assert (first.code, first.samples, first.open, first.cells, first.hosts) == ("tool-timeout", 2, 1, 1, ("c1", "c2"))
    assert (second.code, second.samples, second.open, second.hosts) == ("host-unreachable", 1, 1, ())
    assert "deadline" in first.sentence
    assert first.advice


def test_the_last_failures_are_named_newest_first() -> None:
    samples = [failed("tool-timeout", None, n, 1, end=100.0 - n) for n in range(1, 9)]
    assert [each.repeat for each in last_failures(samples)] == [1, 2, 3, 4, 5]
    assert last_failures([sample(1, 1, "valid")]) == ()


def test_a_failure_without_a_window_is_as_old_as_its_file(tmp_path: Path) -> None:
    (tmp_path / "sample.json").touch()
    never_started = failed("host-unreachable", None, 1, 1, 0).model_copy(update={"window": None, "path": tmp_path})
    assert last_failures([failed("tool-timeout", None, 2, 1, 1e9), never_started])[0] == never_started
