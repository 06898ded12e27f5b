"""A result and its cell's interval: the same as the figures have, from what is stored, whichever run measured it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from glusterlab.run.measured import measured_by, read_result
from glusterlab.run.state import Result, result_of
from glusterlab.spec import Cell
from glusterlab.stats import mean_interval
from glusterlab.store.campaign import RawStore, Sample
from glusterlab.store.files import dump_json, read_json
from glusterlab.units import short_number

FIRST_LIGHT = Path(__file__).resolve().parents[2] / "raw" / "first-light"
CELL = next(iter(sorted((FIRST_LIGHT / "cells").glob("smallfile-*")))).name


@pytest.fixture
def cell(tmp_path: Path) -> tuple[Cell, list[Sample]]:
    """A real cell with its samples, in a copy."""
    shutil.copytree(FIRST_LIGHT / "cells" / CELL, tmp_path / "cells" / CELL)
    store = RawStore(tmp_path)
    return store.cell(CELL), store.samples(CELL)


def after(cell: Cell, sample: Sample) -> Result:
    return result_of(sample, cell, read_result(sample, cell, sample.path), began=0.0, ended=1.0)


def values(cell: Cell, samples: list[Sample]) -> list[float]:
    found = [measured_by(sample, cell) for sample in samples]
    return [value.value for value in found if value is not None]


def test_the_interval_is_that_of_the_figures_and_grows_with_the_samples(cell: tuple[Cell, list[Sample]]) -> None:
    model, samples = cell
    assert len(samples) == 3
    whole = mean_interval(values(model, samples))
    last = after(model, samples[2])
    assert last.n == 3
    share = (whole.high - whole.centre) / whole.centre
    assert last.half_width == pytest.approx(share)
    assert last.interval == f"mean {short_number(whole.centre)} files/s ± {100 * share:.1f} %, n = 3"
    assert [after(model, sample).interval for sample in samples[:2]] == ["n = 1", "n = 2"]


@pytest.mark.parametrize("changed", [{"status": "invalid"}, {"warmup": True}])
def test_only_valid_repeats_count(cell: tuple[Cell, list[Sample]], changed: dict[str, object]) -> None:
    model, samples = cell
    file = samples[1].path / "sample.json"
    file.write_text(dump_json({**read_json(file), **changed}))
    assert after(model, samples[2]).n == 2


def test_what_cannot_be_read_is_left_out(cell: tuple[Cell, list[Sample]]) -> None:
    model, samples = cell
    (samples[0].path / "sample.json").write_text("{")
    shutil.rmtree(samples[1].path / "workload")
    alone = after(model, samples[2])
    assert (alone.n, alone.half_width, alone.interval) == (1, None, "n = 1")
    assert alone.value.endswith("files/s")
    assert result_of(samples[2], model, None, began=0.0, ended=1.0).value == ""
