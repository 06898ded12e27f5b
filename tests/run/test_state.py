"""A result and its cell's interval: the same as the figures have, from what is stored, whichever run measured it."""

import shutil
from pathlib import Path

import pytest

from glusterlab.run.measured import stored_values
from glusterlab.run.state import Result, result_of
from glusterlab.spec import Cell
from glusterlab.stats import mean_interval
from glusterlab.store.campaign import RawStore, Sample
from glusterlab.units import short_number

FIRST_LIGHT = Path(__file__).resolve().parents[2] / "raw" / "first-light"
CELL = next(iter(sorted((FIRST_LIGHT / "cells").glob("smallfile-*")))).name


@pytest.fixture
def cell(tmp_path: Path) -> tuple[Cell, list[Sample]]:
    """A real cell with its samples, in a copy."""
    shutil.copytree(FIRST_LIGHT / "cells" / CELL, tmp_path / "cells" / CELL)
    store = RawStore(tmp_path)
    return store.cell(CELL), store.samples(CELL)


def after(cell: Cell, samples: list[Sample]) -> Result:
    values = [*stored_values(samples, {CELL: cell}).values()]
    return result_of(samples[-1], cell, values[-1], values)


def test_the_interval_is_that_of_the_figures_and_grows_with_the_samples(cell: tuple[Cell, list[Sample]]) -> None:
    model, samples = cell
    assert len(samples) == 3
    last = after(model, samples)
    whole = mean_interval(value.value for value in stored_values(samples, {CELL: model}).values())
    assert last.n == 3
    share = (whole.high - whole.centre) / whole.centre
    assert last.half_width == pytest.approx(share)
    assert last.interval == f"mean {short_number(whole.centre)} files/s ± {100 * share:.1f} %, n = 3"
    assert [after(model, samples[:n]).interval for n in (1, 2)] == ["n = 1", "n = 2"]


@pytest.mark.parametrize("changed", [{"status": "invalid"}, {"warmup": True}])
def test_only_valid_repeats_count(cell: tuple[Cell, list[Sample]], changed: dict[str, object]) -> None:
    model, samples = cell
    samples[1] = samples[1].model_copy(update=changed)
    assert after(model, samples).n == 2


def test_what_cannot_be_read_is_left_out(cell: tuple[Cell, list[Sample]]) -> None:
    model, samples = cell
    shutil.rmtree(samples[0].path / "workload")
    assert after(model, samples[:2]).n == 1
    assert result_of(samples[2], model).value == ""
