"""Rank tests against scipy's, corrections against textbooks, and the least n against what could be significant."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from glusterlab.analysis.compare_tests import (
    ALPHA,
    Correction,
    Test,
    can_be_significant,
    corrected,
    least_n,
    least_p,
    rank_sum_p,
    signed_rank_p,
)

VALUES = st.lists(st.integers(0, 6).map(float), min_size=1, max_size=6)


@pytest.mark.parametrize(("n", "m"), [(3, 3), (5, 5), (4, 9), (10, 10), (12, 7)])
def test_rank_sum_is_mann_whitneys_exact_test(n: int, m: int) -> None:
    generator = np.random.default_rng(n * m)
    for shift in (0.0, 0.7, 2.0):
        one, other = generator.normal(size=n), generator.normal(shift, size=m)
        expected = stats.mannwhitneyu(one, other, method="exact").pvalue
        assert rank_sum_p(one, other) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("n", [4, 6, 10, 15])
def test_signed_rank_is_wilcoxons_exact_test(n: int) -> None:
    generator = np.random.default_rng(n)
    for shift in (0.0, 0.5, 2.0):
        differences = generator.normal(shift, size=n)
        expected = stats.wilcoxon(differences, method="exact").pvalue
        assert signed_rank_p(differences) == pytest.approx(expected, rel=1e-9)


@given(VALUES, VALUES)
@settings(max_examples=60, deadline=None)
def test_rank_sum_counts_all_choices_also_with_ties(one: list[float], other: list[float]) -> None:
    ranks = stats.rankdata([*one, *other])
    sums = [sum(chosen) for chosen in itertools.combinations(ranks, len(one))]
    found = sum(ranks[: len(one)])
    low = sum(each <= found + 1e-9 for each in sums) / len(sums)
    high = sum(each >= found - 1e-9 for each in sums) / len(sums)
    assert rank_sum_p(one, other) == pytest.approx(min(1, 2 * min(low, high)))


@given(st.lists(st.integers(-4, 4).map(float), min_size=1, max_size=8))
@settings(max_examples=60, deadline=None)
def test_signed_rank_counts_all_signs_also_with_ties_and_zeros(differences: list[float]) -> None:
    """Pratt: a difference of 0 has a rank, and no sign."""
    ranks = stats.rankdata(np.abs(differences))
    moved = [rank for rank, value in zip(ranks, differences, strict=True) if value]
    sums = [math.fsum(np.array(signs) * moved) for signs in itertools.product((0, 1), repeat=len(moved))]
    found = sum(rank for rank, value in zip(ranks, differences, strict=True) if value > 0)
    low = sum(each <= found + 1e-9 for each in sums) / len(sums)
    high = sum(each >= found - 1e-9 for each in sums) / len(sums)
    assert signed_rank_p(differences) == pytest.approx(min(1, 2 * min(low, high)))


def test_many_samples_have_the_normal_approximation() -> None:
    generator = np.random.default_rng(1)
    one, other = generator.normal(size=80), generator.normal(0.3, size=90)
    expected = stats.mannwhitneyu(one, other, method="asymptotic").pvalue
    assert rank_sum_p(one, other) == pytest.approx(expected, rel=1e-6)
    differences = generator.normal(0.1, size=150)
    expected = stats.wilcoxon(differences, method="asymptotic", correction=True).pvalue
    assert signed_rank_p(differences) == pytest.approx(expected, rel=1e-6)


def test_nothing_to_tell_apart_is_p_1() -> None:
    assert rank_sum_p([], [1.0]) == signed_rank_p([]) == 1
    assert rank_sum_p([2.0] * 70, [2.0] * 70) == signed_rank_p([0.0] * 130) == 1


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


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_corrected_p_is_never_smaller_and_fdr_never_larger_than_holm(p: list[float]) -> None:
    holm, fdr = corrected(p, "holm"), corrected(p, "fdr")
    for one, few, share in zip(p, holm, fdr, strict=True):
        assert one <= share + 1e-12
        assert share <= few + 1e-12
        assert few <= 1


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
    assert least_n(["signed-rank"] * 10**6, [], "holm") == 26
