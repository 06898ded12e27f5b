"""Intervals: against textbook values, and their coverage where it was promised."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from glusterlab.analysis import mean_interval, median_interval, ratio_interval

POSITIVE = st.floats(min_value=1e-3, max_value=1e9)


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


def test_no_sample_has_no_centre() -> None:
    assert math.isnan(mean_interval([]).centre)
    assert math.isnan(median_interval([]).centre)
    assert math.isnan(ratio_interval([], [1.0]).centre)


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


def test_ratio_of_unchanging_groups_is_exact() -> None:
    estimate = ratio_interval([4.0] * 3, [2.0] * 3)
    assert (estimate.centre, estimate.low, estimate.high) == pytest.approx((2.0, 2.0, 2.0))


def test_ratio_of_a_value_that_is_not_positive_says_nothing() -> None:
    assert ratio_interval([1.0, 2.0, 0.0], [1.0, 2.0, 3.0]).method == "insufficient n"


@given(st.lists(POSITIVE, min_size=3, max_size=10), st.lists(POSITIVE, min_size=3, max_size=10))
def test_turning_a_ratio_around_turns_its_interval_around(top: list[float], bottom: list[float]) -> None:
    forth, back = ratio_interval(top, bottom), ratio_interval(bottom, top)
    assert forth.centre * back.centre == pytest.approx(1)
    assert math.log(forth.low) == pytest.approx(-math.log(back.high), abs=1e-6, rel=1e-6)
