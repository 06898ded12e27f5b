"""Where a cell stands: the same interval as the figures have, from what is stored, whichever run measured it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from glusterlab.analysis.intervals import mean_interval
from glusterlab.measured import Measured, measured_by, read_result
from glusterlab.raw import RawStore, Sample
from glusterlab.rawfiles import dump_json, read_json
from glusterlab.spec import Cell
from glusterlab.standing import Standing, standing
from glusterlab.units import short_number

FIRST_LIGHT = Path(__file__).resolve().parents[1] / "raw" / "first-light"
CELL = next(iter(sorted((FIRST_LIGHT / "cells").glob("smallfile-*")))).name


@pytest.fixture
def cell(tmp_path: Path) -> tuple[Cell, list[Sample]]:
    """A real cell with its samples, in a copy."""
    shutil.copytree(FIRST_LIGHT / "cells" / CELL, tmp_path / "cells" / CELL)
    store = RawStore(tmp_path)
    return store.cell(CELL), store.samples(CELL)


def stands(cell: Cell, sample: Sample) -> Standing:
    return standing(sample, cell, read_result(sample, cell, sample.path))


def values(cell: Cell, samples: list[Sample]) -> list[float]:
    found = [measured_by(sample, cell) for sample in samples]
    return [value.value for value in found if value is not None]


def test_the_interval_is_that_of_the_figures_and_grows_with_the_samples(cell: tuple[Cell, list[Sample]]) -> None:
    model, samples = cell
    assert len(samples) == 3
    whole = mean_interval(values(model, samples))
    last = stands(model, samples[2])
    assert last.mean is not None
    assert last.half_width is not None
    assert (last.n, last.mean.value) == (3, pytest.approx(whole.centre))
    assert last.half_width == pytest.approx((whole.high - whole.centre) / whole.centre)
    assert last.interval == f"mean {short_number(whole.centre)} files/s ± {100 * last.half_width:.1f} %, n = 3"
    assert [stands(model, sample).interval for sample in samples[:2]] == ["n = 1", "n = 2"]


@pytest.mark.parametrize("changed", [{"status": "invalid"}, {"warmup": True}])
def test_only_valid_repeats_count(cell: tuple[Cell, list[Sample]], changed: dict[str, object]) -> None:
    model, samples = cell
    file = samples[1].path / "sample.json"
    file.write_text(dump_json({**read_json(file), **changed}))
    assert stands(model, samples[2]).n == 2


def test_a_sample_without_a_result_counts_the_others(cell: tuple[Cell, list[Sample]]) -> None:
    model, samples = cell
    assert standing(samples[2], model, None) == Standing(None, 2)


def test_what_cannot_be_read_is_left_out(cell: tuple[Cell, list[Sample]]) -> None:
    model, samples = cell
    (samples[0].path / "sample.json").write_text("{")
    shutil.rmtree(samples[1].path / "workload")
    alone = stands(model, samples[2])
    assert (alone.n, alone.half_width, alone.interval) == (1, None, "n = 1")
    assert isinstance(alone.last, Measured)
