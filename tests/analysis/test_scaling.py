"""The scaling law: known parameters come back, intervals cover them, what data do not support is refused.

The simulations have a short form that runs with every test and a long one, GLUSTERLAB_CALIBRATE=long. Seeds are fixed;
tolerances are of the binomial, at 3.5 standard errors.
"""

import math
import os
from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd
import pytest

from glusterlab.analysis import scaling, select, summarise
from glusterlab.analysis.scaling import ESTIMATES, FIT, fit_scaling, scaling_fits, usl
from glusterlab.analysis.scaling_table import (
    DRAWN,
    FITTED,
    scaling_curves,
    scaling_table,
    scaling_words,
    with_fit,
    with_scaling,
)

Make = Callable[..., pd.DataFrame]
COUNTS = (1, 6, 12, 24, 48, 96)
LONG = os.environ.get("GLUSTERLAB_CALIBRATE") == "long"
WIDTH = 0.008
"""Of contention's interval by Student's t with fifteen degrees of freedom, six counts of three samples that scatter by
2 %, and the slopes of the law (0.05, 0.0008)."""

DESIGNS = [(COUNTS, 3), (COUNTS[:-1], 5)]

SDM91 = {1: 64.9, 18: 995.9, 36: 1652.4, 72: 1853.2, 108: 1828.9, 144: 1775.0, 216: 1702.2}
"""SPEC SDM91 of a SPARCcenter 2000, scripts per hour by users: the demonstration data of R's package usl, whose
unweighted fit has its peak at 96.52."""


@pytest.fixture(autouse=True)
def few_replicates(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scaling, "REPLICATES", 500 if LONG else 200)
    monkeypatch.setattr(scaling, "SEED", 0)


def scattered(
    law: Callable[[float], float], scatter: float, shared: float, seed: int, counts: Sequence[int] = COUNTS, n: int = 3
) -> pd.DataFrame:
    """The fit of samples of a law; `shared` is the scatter of what all samples of a cell share."""
    random = np.random.default_rng(seed)
    # the errors of different runs must not be the same
    scaling.SEED = seed + 1000
    workers = np.repeat(counts, n)
    noise = random.normal(0, scatter, len(workers)) + np.repeat(random.normal(0, shared, len(counts)), n)
    return fit_scaling(workers, np.array([law(float(count)) for count in workers]) * np.exp(noise))


def law(contention: float, coherency: float) -> Callable[[float], float]:
    return lambda workers: usl(workers, 10.0, contention, coherency)


def true_values(contention: float, coherency: float) -> dict[str, float]:
    peak_workers = math.sqrt((1 - contention) / coherency)
    peak = usl(peak_workers, 10.0, contention, coherency)
    return dict(zip(ESTIMATES, (contention, coherency, 10.0, peak_workers, peak, peak / 10.0), strict=True))


@pytest.mark.parametrize(("contention", "coherency"), [(0.05, 0.001), (0.0, 0.0005), (0.3, 0.0002), (0.9, 0.003)])
def test_parameters_of_samples_without_scatter_come_back(contention: float, coherency: float) -> None:
    fit = scattered(law(contention, coherency), 0.0, 0.0, 0)
    row = fit.iloc[0]
    assert (row["refusal"], row["peak_note"], row["n"]) == ("", "", 3)
    assert row["misfit"] == pytest.approx(0.0, abs=1e-6)
    for name, value in true_values(contention, coherency).items():
        ends = [row[name], row[f"{name}_low"], row[f"{name}_high"]]
        assert ends == pytest.approx([value] * 3, rel=1e-4, abs=1e-5), name
    assert list(fit) == FIT
    assert fit["fitted"].tolist() == pytest.approx([law(contention, coherency)(count) for count in fit["workers"]])


def test_published_data_bend_where_it_was_published() -> None:
    fit = fit_scaling(SDM91.keys(), SDM91.values())
    curve = fit.set_index("workers")["fitted"]
    # theirs weighs the throughput, this one shares of it; the curve's points lie 4.6 % apart
    assert curve.idxmax() == pytest.approx(96.52, rel=0.06)
    assert curve.max() == pytest.approx(1853.2, rel=0.08)
    row = fit.iloc[0]
    # of one sample each, which lie 6 % from the law, a fall by 8 % shows no peak
    assert row["peak_note"].startswith(
        "no peak shown: from 72 to 216 workers the means fall by 8.1 %, and they may err by "
    )
    assert row["contention"] > 0
    assert fit[["coherency", "coherency_high", "contention_low", "fitted_low"]].isna().all(axis=None)
    assert scaling_table(named(fit))["coherency"].tolist() == ["not determined"]
    assert scaling_table(named(fit))["contention"].iloc[0].endswith(" (insufficient n)")


@pytest.mark.parametrize(("scatter", "shared"), [(0.02, 0.0), (0.06, 0.0), (0.02, 0.02), (0.02, 0.06)])
@pytest.mark.parametrize(("counts", "n"), DESIGNS)
def test_intervals_cover_the_truth_as_often_as_they_say(
    counts: Sequence[int], n: int, scatter: float, shared: float
) -> None:
    """Between 93 and 97 %, less 3.5 standard errors: of 40 curves that is 81 %, of 1,000 in the long form 90.6 %.

    The short form lets pass the 89 to 90 % that were seen of five worker counts with 6 % of shared scatter. Only what
    is stated counts: of peak and knee 90 % where fewer than nine in ten curves show a peak. Of coherency up to 98 %:
    where it is not determined, its upper end alone can be wrong.
    """
    runs = 1000 if LONG else 40
    contention, coherency = 0.05, 0.0008 if max(counts) == 96 else 0.003
    fits = [scattered(law(contention, coherency), scatter, shared, seed, counts, n).iloc[0] for seed in range(runs)]
    for name, value in true_values(contention, coherency).items():
        stated = [row for row in fits if not math.isnan(row[f"{name}_low"])]
        # what is stated of few curves is chosen by their errors
        if len(stated) < runs / 2:
            continue
        covered = sum(row[f"{name}_low"] <= value <= row[f"{name}_high"] for row in stated) / len(stated)
        error = 3.5 * math.sqrt(0.95 * 0.05 / len(stated))
        most = 0.98 if name == "coherency" else 0.97
        least = 0.93 if len(stated) >= 0.9 * runs else 0.90
        assert least - error <= covered <= most + error, name


def test_draws_far_beyond_what_is_stated_end_no_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    """With two degrees of freedom one draw in thousands is off by e^40, and made the equations singular."""
    monkeypatch.setattr(scaling, "REPLICATES", 500)
    fit = scattered(law(0.05, 0.003), 0.02, 0.06, 299, *DESIGNS[1])
    assert np.isfinite(fit[["contention_low", "contention_high"]]).all(axis=None)


def test_intervals_are_no_wider_than_the_two_spreads_ask() -> None:
    """Without anything shared about as wide as if that were known; with it, as wide as it needs."""

    def width(shared: float) -> float:
        fits = [scattered(law(0.05, 0.0008), 0.02, shared, seed).iloc[0] for seed in range(20)]
        return float(np.median([row["contention_high"] - row["contention_low"] for row in fits]))

    alone = width(0.0)
    assert WIDTH < alone < 1.4 * WIDTH
    assert width(0.06) > 3 * alone


LIMITS: dict[str, Callable[[float], float]] = {
    "hard, early": lambda workers: min(2 * workers, 25.0),
    "hard, rises a little": lambda workers: min(2 * workers, 22.0) * workers**0.03,
    "soft": lambda workers: 25 * -math.expm1(-2 * workers / 25),
    "queue of one": law(0.05, 0.0),
}


@pytest.mark.parametrize(("scatter", "shared"), [(0.03, 0.0), (0.02, 0.06)])
@pytest.mark.parametrize("name", list(LIMITS))
def test_a_limit_is_no_coherency_and_has_no_peak(name: str, scatter: float, shared: float) -> None:
    """Throughput that reaches a level has no peak, and what the law makes of it is no coherency above 0."""
    runs = 400 if LONG else 12
    fits = [scattered(LIMITS[name], scatter, shared, seed).iloc[0] for seed in range(runs)]
    allowed = 0.05 * runs + 3.5 * math.sqrt(0.05 * 0.95 * runs)
    assert sum(row["refusal"] == "" and row["peak_note"] == "" for row in fits) <= allowed
    assert sum(not math.isnan(row["knee"]) for row in fits) <= allowed
    assert sum(row["coherency_low"] > 0 for row in fits) <= allowed
    if name.startswith("hard") and not shared:
        assert all("a hard limit from about" in row["refusal"] for row in fits)


@pytest.mark.parametrize(("contention", "coherency"), [(0.05, 0.0008), (0.03, 0.0003), (0.1, 0.0002), (0.05, 0.0)])
def test_a_law_is_rarely_taken_for_a_hard_limit(contention: float, coherency: float) -> None:
    runs = 400 if LONG else 25
    fits = [scattered(law(contention, coherency), 0.02, 0.06, seed).iloc[0] for seed in range(runs)]
    assert sum("hard limit" in row["refusal"] for row in fits) <= 0.05 * runs


def shape(values: Sequence[float], counts: Sequence[int] = COUNTS) -> pd.DataFrame:
    return fit_scaling(np.repeat(counts, 3), np.repeat(values, 3) * np.tile([0.99, 1.0, 1.01], len(counts)))


@pytest.mark.parametrize(
    ("values", "counts", "why"),
    [
        ([1, 6, 10, 12], (1, 6, 12, 24), "4 worker counts; the law has three parameters and needs 5 counts"),
        ([math.nan, 0.0, -1.0, 5.0], (1, 6, 12, 24), "1 worker count;"),
        ([2.0, 12.0, 24.0, 25.0, 25.0, 25.0], COUNTS, "a hard limit from about 13 workers on describes the means"),
        ([1.0, 6.0, 12.0, 23.9, 47.5, 94.0], COUNTS, "no bend up to 96 workers: 9"),
        ([1.0, 1.0, 10.0, 1.0, 10.0, 1.0], COUNTS, "the curve has another shape"),
        # faster than one worker's share at first: no contention makes that
        ([1.0, 40.0, 80.0, 90.0, 90.0, 90.0], COUNTS, "the curve has another shape"),
    ],
)
def test_what_data_do_not_support_is_refused(values: Sequence[float], counts: Sequence[int], why: str) -> None:
    fit = shape(values, counts)
    assert fit["refusal"].str.contains(why).all()
    assert fit[["fitted", *ESTIMATES]].isna().all(axis=None)


def test_a_peak_and_a_knee_are_stated_only_where_the_means_fall() -> None:
    beyond = shape([usl(count, 10.0, 0.1, 1e-6) for count in COUNTS]).iloc[0]
    assert beyond["peak_note"] == "peak beyond the data, which end at 96 workers"
    assert beyond[["peak_workers", "peak", "peak_high", "knee"]].isna().all()
    assert beyond["coherency"] == pytest.approx(1e-6, rel=0.01)
    # a level: the law bends down at the end, the means do not
    fit = shape([25 * -math.expm1(-2 * count / 25) for count in COUNTS])
    level, curve = fit.iloc[0], fit.set_index("workers")["fitted"]
    assert level["refusal"] == ""
    assert level["peak_note"].startswith("no peak in the data: the highest mean is that of 96 workers")
    assert curve[96] < curve[48]
    assert level[["knee", "coherency"]].isna().all()
    assert level["coherency_low"] == 0.0
    assert 0.0002 < level["coherency_high"] < 0.001
    assert scaling_table(named(fit))["coherency"].tolist() == [f"not determined, at most {level['coherency_high']:.3g}"]
    little = shape([usl(count, 10.0, 0.05, 0.0002) * (0.993 if count == 96 else 1.0) for count in COUNTS]).iloc[0]
    assert little["peak_note"].startswith("no peak shown: from 48 to 96 workers the means fall by ")


def named(fit: pd.DataFrame) -> pd.DataFrame:
    return fit.assign(series="disperse", tool="iozone", operation="write", nominal_file_size_bytes=2**32)


@pytest.fixture
def curves(make_samples: Make) -> pd.DataFrame:
    random = np.random.default_rng(3)
    values = {
        ("disperse", "write", count): list(law(0.05, 0.001)(count) * np.exp(random.normal(0, 0.03, 3)))
        for count in COUNTS
    }
    values |= {("replicate", "read", count): [10.0, 11.0, 12.0] for count in (1, 12, 48)}
    return select(make_samples(values), tool="iozone")


def test_every_curve_gets_its_fit(curves: pd.DataFrame) -> None:
    fits = scaling_fits(curves, "throughput_bytes_per_s")
    means = summarise(curves, "throughput_bytes_per_s")
    summary = with_scaling(means, fits)
    assert list(summary) == [*means, *FITTED]
    rows = summary[summary["operation"] == "write"]
    assert rows["fitted"].to_numpy() == pytest.approx(rows["mean"].to_numpy(), rel=0.1)
    assert (rows["fitted_low"] < rows["fitted"]).all()
    assert rows["contention"].nunique() == 1
    other = summary[summary["operation"] == "read"]
    assert other["fitted"].isna().all()
    assert other["refusal"].str.startswith("3 worker counts").all()
    drawn = scaling_curves(fits)
    assert set(drawn["operation"]) == {"write"}
    assert (drawn["workers"].min(), drawn["workers"].max()) == (1, 96)
    assert list(with_fit(means, fits)) == [*means, *DRAWN]
    nothing = scaling_fits(curves.iloc[:0], "throughput_bytes_per_s")
    assert scaling_curves(nothing).empty
    assert with_scaling(means, nothing)["refusal"].eq("not fitted").all()
    assert with_fit(means.iloc[:0], nothing).empty


def test_tables_and_captions_give_numbers_with_their_intervals(curves: pd.DataFrame) -> None:
    fits = scaling_fits(curves, "throughput_bytes_per_s")
    table = scaling_table(fits, 1e-6, "MB/s")
    assert table["n"].tolist() == [3, 3]
    assert " to " in table["peak, MB/s"].iloc[0]
    assert table["note"].tolist() == ["", f"refused: {fits['refusal'].iloc[-1]}"]
    assert table["contention"].iloc[1] == ""
    words = scaling_words(fits, 1e-6, "MB/s")
    assert words.startswith("Dash-dotted: the scaling law that was fitted; write, disperse 12x(4+2), JBOD: knee at ")
    assert " MB/s at " in words
    assert words.endswith("No fit for 1 of 2 curves.")
    assert scaling_words(fits[fits["refusal"] != ""]) == scaling_words(fits.iloc[:0]) == ""
    written = fits[fits["refusal"] == ""]
    assert "No fit" not in scaling_words(written)
    few = scaling_fits(curves[curves["workers"] < 96], "throughput_bytes_per_s")
    assert scaling_words(few).startswith("Dash-dotted: the scaling law that was fitted; no peak is shown.")
    both = pd.concat([few.assign(series="a"), written])
    assert scaling_words(both).endswith("; no knee and no peak are shown for 1 of 2 fits. No fit for 1 of 3 curves.")
