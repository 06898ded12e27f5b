"""Intervals and rank tests: against textbooks, scipy and enumeration, and their coverage where it was promised."""

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from glusterlab.stats import (
    ALPHA,
    NOT_NEGATIVE,
    SHARE,
    Correction,
    Estimate,
    Test,
    can_be_significant,
    contrast_interval,
    corrected,
    deciding_n,
    least_n,
    least_p,
    mean_interval,
    median_interval,
    rank_sum_p,
    rank_test,
    ratio_interval,
    signed_rank_p,
    two_groups,
)


def test_mean_interval_is_students() -> None:
    values = [9.1, 10.4, 9.9, 10.8]
    estimate = mean_interval(values)
    low, high = stats.t.interval(0.95, 3, loc=np.mean(values), scale=stats.sem(values))
    assert (estimate.low, estimate.high) == pytest.approx((low, high))
    assert (estimate.n, estimate.method) == (4, "mean, t")


@pytest.mark.parametrize("values", [[], [5.0], [5.0, 6.0], [5.0, math.nan, 6.0]])
def test_fewer_than_three_samples_have_no_interval(values: list[float]) -> None:
    for estimate in (mean_interval(values), median_interval(values), ratio_interval(values, values)):
        assert estimate.method == "insufficient n"
        assert not estimate.has_interval
        assert estimate.n == sum(not math.isnan(value) for value in values)


@pytest.mark.parametrize(
    ("n", "expected"), [(3, None), (5, None), (6, (1, 6)), (8, (1, 8)), (9, (2, 8)), (12, (3, 10))]
)
def test_median_interval_takes_the_ranks_of_the_sign_test(n: int, expected: tuple[int, int] | None) -> None:
    """Ranks from Conover, Practical Nonparametric Statistics, table A3."""
    estimate = median_interval(range(1, n + 1))
    assert estimate.centre == (n + 1) / 2
    assert (estimate.low, estimate.high) == expected if expected else not estimate.has_interval


@pytest.mark.parametrize("n", [3, 5, 10])
def test_mean_interval_covers_what_it_states(n: int) -> None:
    generator = np.random.default_rng(1)
    estimates = [mean_interval(row) for row in generator.normal(10, 1, (2000, n))]
    covered = np.mean([estimate.low <= 10 <= estimate.high for estimate in estimates])
    assert covered == pytest.approx(0.95, abs=0.015)


def test_ratio_interval_covers_what_it_states() -> None:
    generator = np.random.default_rng(2)
    top = generator.lognormal(math.log(20), 0.05, (2000, 3))
    bottom = generator.lognormal(math.log(10), 0.02, (2000, 3))
    estimates = [ratio_interval(*rows) for rows in zip(top, bottom, strict=True)]
    assert np.mean([estimate.low <= 2 <= estimate.high for estimate in estimates]) >= 0.94


FACTORS = (1.5, 2.0, 3.5)
FOUND = {5: (0.10, 0.34, 0.84), 6: (0.14, 0.54, 0.98), 10: (0.36, 0.96, 1.0), 20: (0.85, 1.0, 1.0)}


@pytest.mark.parametrize("n", range(4, 22))
def test_one_group_is_seldom_called_two_and_two_groups_are_found_as_often_as_stated(n: int) -> None:
    generator = np.random.default_rng(17 + n)

    def called(cells: Any) -> float:
        return float(np.mean([two_groups(cell) is not None for cell in cells]))

    runs = 1500
    # wide scatter: of a narrow one no groups are a factor of 1.25 apart
    null = np.vstack([generator.lognormal(0, 0.5, (runs, n)), generator.normal(1, 0.25, (runs, n)).clip(0.01)])
    assert called(null) <= 0.01 + 2.5 * math.sqrt(0.01 * 0.99 / len(null))
    assert called(generator.normal(1, 0.08, (runs, n))) <= 0.01
    for factor, share in zip(FACTORS, FOUND.get(n, ()), strict=False):
        scattered = generator.lognormal(0, 0.08, (500, n))
        scattered[:, : n // 2] *= factor
        assert called(scattered) == pytest.approx(share, abs=0.06)


def test_two_groups_have_their_centres_and_no_mean_stands_for_them() -> None:
    values = [0.418, 0.116, 0.435, 0.123, 0.120]
    low, high = two_groups(values) or (math.nan, math.nan)
    assert (low, high) == pytest.approx((stats.gmean([0.116, 0.123, 0.120]), stats.gmean([0.418, 0.435])))
    mean, ratio = mean_interval(values), ratio_interval(values, [1.0, 1.1, 0.9])
    assert (mean.method, mean.groups, mean.n) == ("two groups of samples", (low, high), 5)
    assert ratio.method == mean.method
    assert math.isnan(mean.centre + ratio.centre)
    assert not mean.has_interval
    assert not ratio.has_interval


@pytest.mark.parametrize(
    "values",
    [
        [1.0, 1.0, 1.0, 1.0],
        [1.0, 1.0, 5.0],  # too few
        [1.0, 1.01, 0.99, 1.0, 5.0],  # an outlier
        [1.0, 1.0, 1.2, 1.2],  # too near
        [0.0, 0.0, 5.0, 5.1],  # no logarithms
    ],
)
def test_what_is_no_two_groups(values: list[float]) -> None:
    assert two_groups(values) is None


def test_an_interval_ends_where_the_quantity_does_and_covers_as_much() -> None:
    wide = mean_interval([1.0, 5.0, 9.0])
    cut = mean_interval([1.0, 5.0, 9.0], within=NOT_NEGATIVE)
    assert (wide.low < 0, cut.low, cut.high, cut.centre) == (True, 0.0, wide.high, 5.0)
    share = mean_interval([0.7, 0.99, 1.0], within=SHARE)
    assert (share.low > 0, share.high) == (True, 1.0)
    # a rounded sum of shares
    assert mean_interval([0.2, 0.9, 1.0001], within=SHARE).high == 1.0001
    generator = np.random.default_rng(3)
    rows = generator.exponential(1, (2000, 3))
    covered = [[of.low <= 1 <= of.high for of in map(interval, rows)] for interval in (mean_interval, _not_negative)]
    assert covered[0] == covered[1]


def _not_negative(values: Any) -> Estimate:
    return mean_interval(values, within=NOT_NEGATIVE)


VALUES = st.lists(st.integers(0, 6).map(float), min_size=2, max_size=6)


@given(VALUES, VALUES)
@settings(max_examples=30, deadline=None)
def test_rank_sum_counts_all_choices_also_with_ties(one: list[float], other: list[float]) -> None:
    ranks = stats.rankdata([*one, *other])
    sums = [sum(chosen) for chosen in itertools.combinations(ranks, len(one))]
    found = sum(ranks[: len(one)])
    low = sum(each <= found + 1e-9 for each in sums) / len(sums)
    high = sum(each >= found - 1e-9 for each in sums) / len(sums)
    assert rank_sum_p(np.array(one), np.array(other)) == pytest.approx(min(1, 2 * min(low, high)))


@given(st.lists(st.integers(-4, 4).map(float), min_size=1, max_size=8))
@settings(max_examples=30, deadline=None)
def test_signed_rank_counts_all_signs_also_with_ties_and_zeros(differences: list[float]) -> None:
    """Pratt: a difference of 0 has a rank, and no sign."""
    ranks = stats.rankdata(np.abs(differences))
    moved = [rank for rank, value in zip(ranks, differences, strict=True) if value]
    sums = [math.fsum(np.array(signs) * moved) for signs in itertools.product((0, 1), repeat=len(moved))]
    found = sum(rank for rank, value in zip(ranks, differences, strict=True) if value > 0)
    low = sum(each <= found + 1e-9 for each in sums) / len(sums)
    high = sum(each >= found - 1e-9 for each in sums) / len(sums)
    assert signed_rank_p(np.array(differences)) == pytest.approx(min(1, 2 * min(low, high)))


def test_equal_values_are_p_1() -> None:
    assert rank_test([2.0] * 70, [2.0] * 70, paired=False) == (Estimate(1, 1, 1, 70, "Hodges-Lehmann"), 1)
    assert rank_test([2.0] * 30, [2.0] * 30, paired=True)[1] == 1
    assert rank_test([], [1.0], paired=False)[1] == 1
    with pytest.raises(ValueError, match="above 0"):
        rank_test([1.0, 0.0], [1.0, 2.0], paired=False)


@pytest.mark.parametrize(("test", "n"), [("rank-sum", 4), ("rank-sum", 7), ("signed-rank", 5), ("signed-rank", 9)])
def test_the_least_p_is_that_of_complete_separation(test: Test, n: int) -> None:
    below, above = np.arange(n, dtype=float), np.arange(n, dtype=float) + 100
    found = rank_sum_p(below, above) if test == "rank-sum" else signed_rank_p(above - below + below / 10)
    assert found == pytest.approx(least_p(test, n))


@pytest.mark.parametrize("correction", ["holm", "fdr"])
def test_corrections_are_scipys_and_the_textbooks(correction: Correction) -> None:
    p = [0.001, 0.04, 0.012, 0.2, 0.03, 0.8]
    expected = {"fdr": list(stats.false_discovery_control(p)), "holm": [0.006, 0.12, 0.06, 0.4, 0.12, 0.8]}
    assert corrected(p, correction) == pytest.approx(expected[correction])
    assert corrected([], correction) == []


def test_cells_that_cannot_be_significant_do_not_cost_the_others() -> None:
    least = [least_p("rank-sum", 10)] * 4 + [least_p("rank-sum", 3)] * 100
    assert can_be_significant(least, "holm") == [True] * 4 + [False] * 100
    # of a group the ones with more repeats are tried alone before all are given up
    assert can_be_significant([1 / 64] * 3 + [1 / 32] * 10, "holm") == [True] * 3 + [False] * 10


@pytest.mark.parametrize(
    ("test", "cells", "correction", "expected"),
    [
        ("signed-rank", 1, "holm", 6),
        ("signed-rank", 4, "holm", 8),
        ("signed-rank", 8, "holm", 9),
        ("signed-rank", 25, "holm", 10),
        ("signed-rank", 26, "holm", 11),
        ("signed-rank", 26, "fdr", 6),
        ("rank-sum", 1, "holm", 4),
        ("rank-sum", 6, "holm", 5),
        ("rank-sum", 7, "holm", 6),
    ],
)
def test_least_n(test: Test, cells: int, correction: Correction, expected: int) -> None:
    assert least_n([test] * cells, [], correction) == expected
    # with as many all could be significant, with one less none
    for n, enough in ((expected, True), (expected - 1, False)):
        found = corrected([least_p(test, n)] * cells, correction)
        assert (max(found) < ALPHA) == enough


def test_least_n_counts_the_cells_that_have_enough() -> None:
    # Holm's correction is by steps: when the other seven are shown, this one need not pay for them
    assert least_n(["signed-rank"], [least_p("signed-rank", 10)] * 7, "holm") == 6
    assert least_n(["signed-rank"] * 2, [least_p("signed-rank", 10)] * 7, "holm") == 7
    assert least_n([], [0.01], "holm") is None
    assert least_n(["signed-rank"] * 10**4, [], "holm") == 19


@pytest.mark.parametrize("paired", [False, True])
def test_interval_holds_the_ratios_that_the_test_does_not_reject(paired: bool) -> None:
    generator = np.random.default_rng(6)
    reference, other = (np.exp(generator.normal(mean, 0.1, 9)) for mean in (0.0, 0.2))
    estimate, _ = rank_test(reference, other, paired=paired)
    for end, inside in ((estimate.low, 1.0001), (estimate.high, 0.9999)):
        assert rank_test(reference * end * inside, other, paired=paired)[1] > 0.05
        assert rank_test(reference * end / inside, other, paired=paired)[1] <= 0.05


@pytest.mark.parametrize(("scatter", "level"), [(0.03, 0.95), (0.08, 0.95), (0.08, 0.99)])
def test_so_many_samples_decide_four_times_in_five(scatter: float, level: float) -> None:
    rng = np.random.default_rng(17)
    # the scatter is known here: two groups that have it exactly
    known = np.exp(scatter * np.array([-1.0, 1.0]) / math.sqrt(2))
    distance = math.log(1.1)
    n = deciding_n([known, known], distance, level)
    assert n is not None
    runs = np.exp(scatter * rng.standard_normal((2000, 2, n)))
    shares = [contrast_interval([above], [below], level).high <= math.exp(distance) for above, below in runs]
    # few samples: the quantile of t is not quite that of its noncentral kin
    assert 0.7 <= np.mean(shares) <= 0.93
    assert deciding_n([known, known], 0.001, level) is None
    assert deciding_n([[2.0, 2.0], [1.0, 1.0]], distance) == 3
