"""Averages over cells, bars of releases, and the scatter from which the repeats follow that an effect needs."""

import math

import numpy as np
import pandas as pd
import pytest

from glusterlab.analysis.compare.cells import compare_cells
from glusterlab.analysis.compare.groups import AVERAGED, BARS, NEEDED, averages, needed_n, needs, release_bars, scatter
from glusterlab.analysis.compare.words import average_sentences
from tests.release_samples import KIB, MIB, SPREAD, newer, older, release

EFFECTS = {("create", 32 * KIB): 1.34, ("create", 4 * MIB): 1.04}


def test_averages_are_geometric_means_over_cells() -> None:
    reference, others = older(), {"b": newer(EFFECTS)}
    found = averages(compare_cells(reference, others), reference, others, "a")
    assert list(found.columns) == AVERAGED
    assert found["group"].tolist() == ["all writes", "all reads"]
    writes, reads = (row for _, row in found.iterrows())
    assert writes["ratio"] == pytest.approx(math.sqrt(1.34 * 1.04), rel=0.01)
    assert writes["low"] < math.sqrt(1.34 * 1.04) < writes["high"]
    assert (writes["cells"], writes["n"], writes["rounds"]) == (2, 10, 10)
    assert reads["low"] < 1 < reads["high"]
    assert average_sentences(found)[0].endswith("n = 10)")


def test_averages_take_repeats_in_which_all_cells_are_valid_and_need_several() -> None:
    reference, other = older(), newer(EFFECTS)
    first = (other["operation"] == "create") & (other["nominal_file_size_bytes"] == 4 * MIB) & (other["repeat"] == 2)
    other.loc[first, "status"] = "invalid"
    found = averages(compare_cells(reference, {"b": other}), reference, {"b": other})
    assert found["n"].tolist() == [9, 10]
    reference, others = older(4), {"b": newer(EFFECTS, 4)}
    found = averages(compare_cells(reference, others), reference, others)
    assert found["low"].isna().all()
    assert average_sentences(found)[0].endswith("(insufficient n, 4)")


def test_bars_are_at_the_references_best_worker_count() -> None:
    values = {
        ("create", MIB, workers): [rate * share for share in SPREAD] for workers, rate in ((1, 5), (6, 20), (12, 18))
    }
    reference = release(values)
    other = release({cell: [2 * each for each in rates] for cell, rates in values.items()}, offset_s=500.0)
    others = {"b": other, "c": other.assign(start_s=other["start_s"] + 9)}
    found = release_bars(compare_cells(reference, others, name="a"))
    assert list(found.columns) == BARS
    assert found["release"].tolist() == ["a", "b", "c"]
    assert set(found["workers"]) == {6}
    assert found["median"].tolist() == pytest.approx([20.05, 40.1, 40.1])
    assert found["ratio"].tolist() == pytest.approx([math.nan, 2, 2], nan_ok=True)
    # the second smallest and the second largest of ten
    assert found["low"][0] == pytest.approx(20 * 0.985)
    assert found["high"][0] == pytest.approx(20 * 1.015)
    assert release_bars(compare_cells(reference, {})).empty


def test_scatter_is_pooled_over_cells_of_a_group() -> None:
    generator = np.random.default_rng(4)
    cells = {("create", MIB, workers): np.exp(generator.normal(0, 0.05, 200)) for workers in (1, 6, 12)}
    found = scatter(release(cells))
    assert found.to_dict("records")[0] == {
        "group": "create, 1 MiB",
        "cells": 3,
        "freedom": 597,
        "scatter": pytest.approx(0.05, rel=0.1),
        "in_rounds": False,
    }


def test_scatter_within_rounds_has_no_drift_in_it() -> None:
    generator = np.random.default_rng(5)
    drift = np.linspace(0, 2, 100)
    cell = ("create", MIB, 12)
    one, other = (release({cell: np.exp(drift + generator.normal(0, 0.05, 100))}, offset_s=at) for at in (0.0, 500.0))
    (within,) = scatter(one, {"b": other}).to_dict("records")
    assert within["scatter"] == pytest.approx(0.05, rel=0.2)
    assert within["in_rounds"]
    (alone,) = scatter(one).to_dict("records")
    assert alone["scatter"] > 0.5
    assert scatter(older(1)).empty
    assert scatter(older().iloc[:0]).empty


def test_needs_say_how_many_rounds_find_what_the_guide_found() -> None:
    found = needs(scatter(older()), cells=8)
    assert list(found.columns) == NEEDED
    assert found["effect"].tolist() == [0.18, 0.34] * 4
    # hardly any scatter: what eight cells need anyway
    assert set(found["n"]) == {9}
    assert needs(scatter(older(1)), cells=8).empty


def test_needed_n_grows_with_scatter_and_cells_and_ends() -> None:
    by_scatter = [needed_n(0.18, share, paired=True) or 99 for share in (0.02, 0.1, 0.2)]
    assert by_scatter == sorted(by_scatter)
    assert by_scatter[0] == 6
    assert needed_n(0.01, 0.5, paired=True) is None
    few, many = (needed_n(0.18, 0.1, paired=False, cells=cells) for cells in (1, 20))
    assert 0 < (few or 0) < (many or 0)
    rows = pd.DataFrame([{"group": "g", "cells": 1, "freedom": 9, "scatter": 2.0, "in_rounds": True}])
    assert needs(rows, 1)["n"].isna().all()
