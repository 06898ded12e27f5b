"""The scaling law: known parameters come back, intervals cover them, what data do not support is refused."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import least_squares

from glusterlab.analysis import select, summarise
from glusterlab.analysis.intervals import INSUFFICIENT
from glusterlab.analysis.scaling import Scaling, fit_scaling, scaling_fits, usl
from glusterlab.analysis.scaling_table import (
    DRAWN,
    FITTED,
    scaling_curves,
    scaling_sentences,
    scaling_table,
    scaling_words,
    with_fit,
    with_scaling,
)

Make = Callable[..., pd.DataFrame]
COUNTS = (1, 6, 12, 24, 48, 96)
LONG = os.environ.get("GLUSTERLAB_CALIBRATE") == "long"

SDM91 = {1: 64.9, 18: 995.9, 36: 1652.4, 72: 1853.2, 108: 1828.9, 144: 1775.0, 216: 1702.2}
"""SPEC SDM91 of a SPARCcenter 2000, scripts per hour by users: the demonstration data of R's package usl, whose
unweighted fit has its peak at 96.52."""


def noisy(
    contention: float, coherency: float, scatter: float, seed: int, counts: Sequence[int] = COUNTS, n: int = 3
) -> tuple[np.ndarray, np.ndarray]:
    """Samples of a known law, with lambda 10."""
    workers = np.repeat(counts, n)
    noise = np.random.default_rng(seed).normal(0, scatter, len(workers))
    return workers, np.array([usl(count, 10.0, contention, coherency) for count in workers]) * np.exp(noise)


@pytest.mark.parametrize(("contention", "coherency"), [(0.05, 0.001), (0.0, 0.0005), (0.3, 0.0002), (0.9, 0.003)])
def test_parameters_of_samples_without_scatter_come_back(contention: float, coherency: float) -> None:
    fit = fit_scaling(*noisy(contention, coherency, 0.0, 0), replicates=50)
    assert fit.refusal == ""
    assert fit.one_worker.centre == pytest.approx(10.0, rel=1e-6)
    assert fit.contention.centre == pytest.approx(contention, abs=1e-6)
    assert fit.coherency.centre == pytest.approx(coherency, rel=1e-4)
    assert fit.misfit == pytest.approx(0.0, abs=1e-6)
    peak = math.sqrt((1 - contention) / coherency)
    assert fit.peak_workers.centre == pytest.approx(peak, rel=1e-4)
    assert fit.peak.centre == pytest.approx(usl(peak, 10.0, contention, coherency), rel=1e-6)
    assert fit.knee.centre == pytest.approx(fit.peak.centre / 10.0)
    assert fit.contention.low == pytest.approx(contention, abs=1e-5)
    assert fit.n == 3


@settings(deadline=None, max_examples=25)
@given(
    st.sampled_from([0.0, 0.01, 0.05, 0.3]),
    st.sampled_from([0.0, 1e-5, 1e-4, 1e-3]),
    st.integers(0, 10_000),
)
def test_no_other_solver_finds_a_better_fit(contention: float, coherency: float, seed: int) -> None:
    workers, throughput = noisy(contention, coherency, 0.08, seed)
    fit = fit_scaling(workers, throughput, replicates=2)
    if fit.refusal:
        return

    def residuals(parameters: np.ndarray) -> np.ndarray:
        one, sigma, kappa = parameters
        return np.log(throughput) - one - np.log(workers / (1 + (sigma + kappa * workers) * (workers - 1)))

    own = residuals(np.array([math.log(fit.one_worker.centre), fit.contention.centre, fit.coherency.centre]))
    bounds = ([-np.inf, 0, 0], np.inf)
    starts = [[2.0, sigma, kappa] for sigma in (0.01, 0.2) for kappa in (1e-5, 5e-3)]
    others = [least_squares(residuals, start, bounds=bounds, x_scale=[1, 0.1, 1e-3]).cost for start in starts]
    assert (own**2).sum() / 2 <= min(others) * (1 + 1e-5)


def test_published_data_have_the_peak_that_was_published() -> None:
    fit = fit_scaling(SDM91.keys(), SDM91.values())
    # theirs weighs the throughput, this one its logarithm
    assert fit.peak_workers.centre == pytest.approx(96.52, rel=0.05)
    assert fit.peak.centre == pytest.approx(1853.2, rel=0.08)
    assert fit.peak_workers.method == INSUFFICIENT
    assert math.isnan(fit.contention.low)


def coverage(runs: int, replicates: int, contention: float, coherency: float, scatter: float) -> dict[str, float]:
    true = {"contention": contention, "coherency": coherency, "one_worker": 10.0}
    true["peak_workers"] = math.sqrt((1 - contention) / coherency)
    true["peak"] = usl(true["peak_workers"], 10.0, contention, coherency)
    true["knee"] = true["peak"] / 10.0
    hits = dict.fromkeys(true, 0)
    for seed in range(runs):
        fit = fit_scaling(*noisy(contention, coherency, scatter, seed), replicates=replicates, seed=seed)
        for name, value in true.items():
            estimate = getattr(fit, name)
            hits[name] += estimate.low <= value <= estimate.high
    return {name: count / runs for name, count in hits.items()}


@pytest.mark.parametrize(("contention", "coherency", "scatter"), [(0.05, 0.0008, 0.05), (0.02, 0.001, 0.1)])
def test_intervals_cover_the_truth_as_often_as_they_say(contention: float, coherency: float, scatter: float) -> None:
    runs = 1000 if LONG else 60
    found = coverage(runs, 1000 if LONG else 200, contention, coherency, scatter)
    # three standard errors of the binomial below 95 %, and what the percentiles of the bootstrap lack at n = 3
    least = 0.95 - 0.02 - 3 * math.sqrt(0.95 * 0.05 / runs)
    assert {name: share for name, share in found.items() if share < least} == {}
    if LONG:
        assert max(found.values()) <= 0.97 + 3 * math.sqrt(0.95 * 0.05 / runs)


def test_the_same_samples_have_the_same_intervals() -> None:
    one, again = (fit_scaling(*noisy(0.05, 0.001, 0.05, 1)) for _ in range(2))
    assert one.contention == again.contention
    assert one.contention.low < one.contention.centre < one.contention.high
    # more scatter, wider intervals
    wide = fit_scaling(*noisy(0.05, 0.001, 0.12, 1))
    assert wide.contention.high - wide.contention.low > one.contention.high - one.contention.low


def shape(values: Sequence[float], counts: Sequence[int] = COUNTS, n: int = 3) -> Scaling:
    return fit_scaling(np.repeat(counts, n), np.repeat(values, n) * np.tile([0.99, 1.0, 1.01][:n], len(counts)))


@pytest.mark.parametrize(
    ("fit", "why"),
    [
        (shape([1, 6, 10], (1, 6, 12)), "3 worker counts; the law has three parameters and needs 4 counts"),
        (fit_scaling([], []), "0 worker counts;"),
        (fit_scaling([1, 6, 12, 24], [math.nan, 0.0, -1.0, 5.0]), "1 worker count;"),
        (shape([1.0, 6.0, 12.0, 23.9, 47.5, 94.0]), "no bend up to 96 workers: 9"),
        (shape([1.0, 1.0, 10.0, 1.0, 10.0, 1.0]), "the curve has another shape"),
        # faster than one worker's share at first: no contention makes that
        (shape([1.0, 40.0, 80.0, 90.0, 90.0, 90.0]), "the curve has another shape"),
    ],
)
def test_what_data_do_not_support_is_refused(fit: Scaling, why: str) -> None:
    assert why in fit.refusal
    assert fit.curve([1, 2]).empty
    for name in ("contention", "coherency", "one_worker", "peak_workers", "peak", "knee"):
        estimate = getattr(fit, name)
        assert math.isnan(estimate.centre)
        assert estimate.method == INSUFFICIENT


def test_a_peak_is_stated_only_where_the_data_have_one() -> None:
    beyond = shape([usl(count, 10.0, 0.1, 1e-6) for count in COUNTS])
    assert beyond.peak_note == "peak beyond the data, which end at 96 workers"
    assert math.isnan(beyond.peak.centre)
    assert beyond.knee.centre == pytest.approx(9.8, abs=0.5)
    # a hard limit: the law bends down at the end, the data do not
    hard = shape([2.0, 11.5, 20.0, 24.0, 25.5, 26.0])
    assert hard.refusal == ""
    assert hard.peak_note.startswith("no peak in the data: the highest mean is that of 96 workers")
    unsure = fit_scaling(*noisy(0.1, 0.00014, 0.1, 3))
    assert unsure.refusal == ""
    assert "peak" in unsure.peak_note
    falls = shape([usl(count, 10.0, 0.02, 0.004) for count in COUNTS])
    assert falls.peak_note == ""
    assert 12 < falls.peak_workers.centre < 24


def test_few_samples_give_a_curve_and_no_interval() -> None:
    fit = fit_scaling(*noisy(0.05, 0.001, 0.05, 2, n=2))
    assert fit.contention.method == INSUFFICIENT
    curve = fit.curve(COUNTS)
    assert curve["fitted"].notna().all()
    assert curve["fitted_low"].isna().all()


@pytest.fixture
def curves(make_samples: Make) -> pd.DataFrame:
    values = {("disperse", "write", count): list(noisy(0.05, 0.001, 0.03, count, (count,))[1]) for count in COUNTS}
    values |= {("replicate", "read", count): [10.0, 11.0, 12.0] for count in (1, 12, 48)}
    return select(make_samples(values), tool="iozone")


def test_every_curve_gets_its_fit(curves: pd.DataFrame) -> None:
    fits = scaling_fits(curves, "throughput_bytes_per_s")
    written, read = fits.values()
    assert written.refusal == ""
    assert read.refusal.startswith("3 worker counts")
    summary = with_scaling(summarise(curves, "throughput_bytes_per_s"), fits)
    assert list(summary)[-len(FITTED) :] == FITTED
    rows = summary[summary["operation"] == "write"]
    assert rows["fitted"].to_numpy() == pytest.approx(rows["mean"].to_numpy(), rel=0.1)
    assert (rows["fitted_low"] < rows["fitted"]).all()
    assert rows["contention"].nunique() == 1
    other = summary[summary["operation"] == "read"]
    assert other["fitted"].isna().all()
    assert other["refusal"].str.startswith("3 worker counts").all()
    drawn = scaling_curves(fits, points=10)
    assert set(drawn["operation"]) == {"write"}
    assert (drawn["workers"].min(), drawn["workers"].max()) == (pytest.approx(1), pytest.approx(96))
    assert scaling_curves({}).empty
    unknown = with_scaling(summarise(curves, "throughput_bytes_per_s"), {})
    assert unknown["refusal"].eq("not fitted").all()


def test_words_and_tables_give_numbers_with_their_intervals(curves: pd.DataFrame) -> None:
    fits = scaling_fits(curves, "throughput_bytes_per_s")
    written, read = scaling_sentences(fits, 1e-6, "MB/s")
    assert written.startswith("write, 4 GiB, disperse 12x(4+2), JBOD: contention 0.0")
    assert " MB/s at " in written
    assert read == (
        "read, 4 GiB, replicate 3x2, RAID 6: no fit, 3 worker counts; the law has three parameters and needs 4 counts."
    )
    table = scaling_table(fits, 1e-6, "MB/s")
    assert table["n"].tolist() == [3, 3]
    assert " to " in table["peak, MB/s"].iloc[0]
    assert table["note"].tolist() == ["", f"refused: {list(fits.values())[1].refusal}"]
    assert table["contention"].iloc[1] == ""


def test_a_caption_names_knee_and_peak_of_what_is_drawn(curves: pd.DataFrame) -> None:
    fits = scaling_fits(curves, "throughput_bytes_per_s")
    words = scaling_words(fits, 1e-6, "MB/s")
    assert words.startswith("Dash-dotted: the scaling law that was fitted; write, disperse 12x(4+2), JBOD: knee at ")
    assert " MB/s at " in words
    assert words.endswith("No fit for 1 of 2 curves.")
    refused = {names: fit for names, fit in fits.items() if fit.refusal}
    assert scaling_words(refused) == scaling_words({}) == ""
    written = {names: fit for names, fit in fits.items() if not fit.refusal}
    assert "No fit" not in scaling_words(written)
    few = scaling_fits(curves[curves["workers"] < 48], "throughput_bytes_per_s")
    assert "peak of" not in scaling_words(few)


def test_a_figures_numbers_have_what_is_drawn_of_the_law(curves: pd.DataFrame) -> None:
    summary = summarise(curves, "throughput_bytes_per_s")
    table = with_fit(summary, scaling_fits(curves, "throughput_bytes_per_s"))
    assert list(table) == [*summary, *DRAWN]
    assert table["fitted"].notna().sum() == len(COUNTS)
    assert with_fit(summary.iloc[:0], {}).empty
