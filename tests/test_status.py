"""Status counts repeats, not executions."""

from __future__ import annotations

from pathlib import Path

import pytest

from glusterlab.raw import Sample
from glusterlab.reasons import Status
from glusterlab.spec import Cell, Layout, Plan, PlannedSample, ScaleModel
from glusterlab.status import CampaignStatus, count_samples

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
        ([sample(n, 1, "valid") for n in (1, 2, 3)], 3, 0, 0),
        ([sample(4, 1, "valid"), sample(1, 1, "valid", "another-cell")], 0, 0, 3),
    ],
)
def test_repeats_are_done_given_up_or_left(samples: list[Sample], valid: int, spent: int, left: int) -> None:
    (found,) = count_samples(PLAN, samples, attempts=2)
    assert (found.wanted, found.valid, found.spent, found.left) == (3, valid, spent, left)
    status = CampaignStatus("small", (found,), not_runnable=0)
    assert status.complete == (valid == 3)
    assert status.total("left") == left


def test_executions_that_came_to_nothing_are_counted() -> None:
    executions = [sample(1, 1, "failed"), sample(1, 2, "invalid"), sample(2, 1, "invalid"), sample(2, 2, "valid")]
    (found,) = count_samples(PLAN, executions, attempts=2)
    assert (found.invalid, found.failed) == (2, 1)
