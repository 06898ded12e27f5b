"""Bootstrap intervals of ratios: against resampling itself, and against what follows from their definition."""

from __future__ import annotations

import itertools
import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from glusterlab.analysis import compare_intervals
from glusterlab.analysis.compare_intervals import (
    LEAST_SAMPLES,
    PAIRED,
    UNPAIRED,
    median_difference_ends,
    median_ends,
    median_ratio,
    median_shares,
    round_ratio,
)

POSITIVE = st.lists(st.floats(1, 1e6), min_size=5, max_size=8)


@pytest.mark.parametrize("n", [3, 4, 5, 6])
def test_median_shares_are_those_of_all_resamples(n: int) -> None:
    counted: Counter[float] = Counter()
    # values whose means of two all differ
    values = np.array([2.0**number for number in range(n)])
    for resample in itertools.product(range(n), repeat=n):
        counted[float(np.median(values[list(resample)]))] += 1
    first, second, shares = median_shares(n)
    found = {
        float(value): float(share) for value, share in zip((values[first] + values[second]) / 2, shares, strict=True)
    }
    assert found == pytest.approx({value: count / n**n for value, count in counted.items()})


def test_the_unpaired_interval_is_the_bias_corrected_one_of_random_resamples() -> None:
    generator = np.random.default_rng(5)
    below, above = generator.normal(0, 1, 7), generator.exponential(1, 8)
    medians = [np.median(generator.choice(values, (200_000, values.size)), axis=1) for values in (below, above)]
    found = medians[1] - medians[0]
    centre = np.median(above) - np.median(below)
    share = ((found < centre - 1e-9).mean() + (found <= centre + 1e-9).mean()) / 2
    from scipy import special

    tails = special.ndtr(2 * special.ndtri(share) + special.ndtri([0.025, 0.975]))
    expected = np.quantile(found, tails)
    ends = median_difference_ends(below[None, :], above[None, :])[0]
    # as far as neighbouring values of the bootstrap lie apart
    assert ends == pytest.approx(expected, abs=0.12)


@pytest.mark.parametrize("n", [5, 6, 9, 10])
def test_the_paired_interval_is_that_of_random_smoothed_resamples(n: int) -> None:
    generator = np.random.default_rng(n)
    values = generator.normal(0, 1, n)
    quarters = np.subtract(*np.percentile(values, [75, 25])) / 1.34
    width = 0.9 * min(values.std(ddof=1), quarters) * n**-0.2
    resamples = generator.choice(values, (200_000, n)) + width * generator.standard_normal((200_000, n))
    expected = np.quantile(np.median(resamples, axis=1), [0.025, 0.975])
    assert median_ends(values[None, :])[0] == pytest.approx(expected, abs=0.012)


def test_of_many_samples_one_middle_is_as_good_as_two(monkeypatch: pytest.MonkeyPatch) -> None:
    generator = np.random.default_rng(3)
    below, above = generator.normal(0, 1, (1, 60)), generator.normal(0.5, 1, (1, 60))
    exact = median_difference_ends(below, above), median_ends(above - below)
    monkeypatch.setattr(compare_intervals, "_MANY", 10)
    median_shares.cache_clear()
    try:
        simpler = median_difference_ends(below, above), median_ends(above - below)
    finally:
        median_shares.cache_clear()
    for one, other in zip(exact, simpler, strict=True):
        assert not np.array_equal(one, other)
        assert one == pytest.approx(other, abs=0.05)
    assert np.isfinite(
        median_difference_ends(generator.normal(0, 1, (1, 400)), generator.normal(0, 1, (1, 1000)))
    ).all()


@given(POSITIVE, POSITIVE)
@settings(max_examples=50, deadline=None)
def test_turning_an_unpaired_ratio_around_turns_its_interval_around(one: list[float], other: list[float]) -> None:
    forth, back = median_ratio(one, other), median_ratio(other, one)
    assert forth.centre * back.centre == pytest.approx(1)
    assert math.log(forth.low) == pytest.approx(-math.log(back.high), abs=1e-6)


@given(POSITIVE)
@settings(max_examples=50, deadline=None)
def test_turning_ratios_of_rounds_around_turns_their_interval_around(ratios: list[float]) -> None:
    forth, back = round_ratio(ratios), round_ratio([1 / ratio for ratio in ratios])
    # where many values are tied, the integral over the lower of two middle ones is not quite that over the upper
    width = math.log(forth.high / forth.low)
    assert math.log(forth.low) == pytest.approx(-math.log(back.high), abs=0.03 * width + 1e-9)
    assert math.log(forth.high) == pytest.approx(-math.log(back.low), abs=0.03 * width + 1e-9)


@given(POSITIVE, st.floats(0.01, 100))
@settings(max_examples=50, deadline=None)
def test_an_interval_holds_its_centre_and_follows_the_unit(values: list[float], factor: float) -> None:
    found = median_ratio(values, [value * factor for value in values])
    assert found.centre == pytest.approx(factor)
    assert found.low <= found.centre * (1 + 1e-9)
    assert found.high >= found.centre * (1 - 1e-9)
    in_rounds = round_ratio([factor] * len(values))
    assert (in_rounds.low, in_rounds.centre, in_rounds.high) == pytest.approx((factor, factor, factor))


def test_a_higher_level_is_wider() -> None:
    one, other = [9.7, 9.9, 10.0, 10.2, 10.3, 10.6], [19.0, 19.8, 20.0, 20.1, 21.0, 21.2]
    for wide, narrow in (
        (median_ratio(one, other), median_ratio(one, other, 0.9)),
        (round_ratio(other), round_ratio(other, 0.9)),
    ):
        assert wide.low <= narrow.low < narrow.high <= wide.high
        assert (wide.low, wide.high) != (narrow.low, narrow.high)


def test_too_few_samples_have_no_interval_but_a_centre() -> None:
    few = [10.0, 11.0, 12.0, 13.0][: LEAST_SAMPLES - 1]
    for found in (median_ratio(few, [20.0] * 9), round_ratio(few)):
        assert found.method == "insufficient n"
        assert not found.has_interval
        assert found.n == 4
    assert median_ratio(few, [23.0] * 9).centre == pytest.approx(2)
    assert (median_ratio([1.0] * 5, [2.0] * 5).method, round_ratio([2.0] * 5).method) == (UNPAIRED, PAIRED)


@pytest.mark.parametrize("bad", [[], [math.nan], [0.0, 1.0, 2.0, 3.0, 4.0], [-1.0] * 5])
def test_what_has_no_logarithm_has_no_ratio(bad: list[float]) -> None:
    assert math.isnan(median_ratio(bad, [1.0] * 5).centre)
    assert math.isnan(median_ratio([1.0] * 5, bad).centre)
    assert math.isnan(round_ratio(bad).centre)


def test_an_outlier_does_not_move_the_interval_far() -> None:
    calm = [1.0, 1.01, 0.99, 1.02, 0.98, 1.005, 0.995, 1.015, 0.985, 1.001]
    wild = [*calm[:-1], 1000.0]
    for found in (round_ratio(wild), median_ratio(calm, wild)):
        assert found.low > 0.9
        assert found.high < 1.1
