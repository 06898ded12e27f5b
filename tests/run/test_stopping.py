"""The stopping rule: what ends a cell, and what looking after every repeat does to the intervals."""

import math
from collections.abc import Iterable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from glusterlab.run.measured import Interval, Measured, ends_after
from glusterlab.spec import Repeats
from glusterlab.stats import mean_interval

RULE = Repeats(min=3, max=10, half_width=0.05)
VALUES = st.dictionaries(st.integers(1, 12), st.floats(90, 110), max_size=12)


def measured(values: Iterable[float]) -> list[Measured]:
    return [Measured("files_per_s", value) for value in values]


def end_of(values: dict[int, float], rule: Repeats = RULE) -> int | None:
    return ends_after(rule, dict(zip(values, measured(values.values()), strict=True)))


@pytest.mark.parametrize("values", [[9.0, 10.0, 11.0, 10.0], [1.0, 2.0], [0.0, 0.0, 0.0], [-1.0, -1.0, -1.0]])
def test_half_width_is_that_of_the_figures_interval(values: list[float]) -> None:
    interval, estimate = Interval.of(measured(values)), mean_interval(values)
    expected = (estimate.high - estimate.low) / 2 / 10 if values[0] == 9 else None
    assert interval.half_width == pytest.approx(expected)


@pytest.mark.parametrize(
    ("values", "end"),
    [
        ({}, None),
        ({1: 100.0, 2: 100.0}, None),
        ({1: 100.0, 2: 100.0, 3: 100.0}, 3),
        ({1: 90.0, 2: 110.0, 3: 100.0}, None),
        # the first repeat by which the values reach the target, whatever came later
        ({1: 99.0, 2: 100.0, 3: 101.0, 4: 200.0}, 3),
        # a repeat that had no valid sample is passed over
        ({1: 99.0, 3: 100.0, 5: 101.0}, 5),
        # what lies beyond the maximum decides nothing
        ({1: 99.0, 2: 100.0, 11: 101.0}, None),
    ],
)
def test_a_cell_ends_after_the_first_repeat_that_reaches_the_target(values: dict[int, float], end: int | None) -> None:
    assert end_of(values) == end


def test_the_minimum_is_of_valid_repeats() -> None:
    rule = Repeats(min=5, max=10, half_width=0.05)
    same = dict.fromkeys((1, 2, 3, 4, 6, 7), 100.0)
    assert end_of(dict(list(same.items())[:4]), rule) is None
    assert end_of(same, rule) == 6
    assert end_of({1: 100.0, 2: 100.0}, Repeats(min=1, max=10, half_width=0.05)) is None


@given(VALUES)
def test_the_decision_stands_whatever_is_added_later(values: dict[int, float]) -> None:
    """A run that goes on sees more values, never others: a cell that ended stays so."""
    order = sorted(values)
    ends = [end_of({repeat: values[repeat] for repeat in order[:n]}) for n in range(len(order) + 1)]
    first = next((n for n, end in enumerate(ends) if end is not None), len(ends))
    assert len(set(ends[first:])) <= 1
    if first < len(ends):
        assert ends[first] == order[first - 1]
        interval = Interval.of(measured(values[repeat] for repeat in order[:first]))
        assert interval.half_width <= RULE.half_width


def _coverage(fewest: int, scatter: float, cells: int) -> tuple[float, float, float, float]:
    """Share of intervals that hold the mean, of all cells and of those that reached, mean repeats, share that reached.

    The rule of `ends_after` on arrays, for many cells at once.
    """
    values = np.random.default_rng(2017).normal(1.0, scatter, (cells, RULE.max))
    ended, reached, covers = (np.zeros(cells, dtype=bool) for _ in range(3))
    repeats = np.full(cells, RULE.max)
    for n in range(fewest, RULE.max + 1):
        first = values[:, :n]
        mean = first.mean(axis=1)
        half = stats.t.ppf(0.975, n - 1) * first.std(axis=1, ddof=1) / math.sqrt(n)
        hit = ~ended & (half <= RULE.half_width * mean)
        stop = ~ended if n == RULE.max else hit
        covers[stop] = (np.abs(mean - 1.0) <= half)[stop]
        repeats[stop] = n
        reached |= hit
        ended |= stop
    return float(covers.mean()), float(covers[reached].mean()), float(repeats.mean()), float(reached.mean())


@pytest.mark.parametrize(
    ("fewest", "scatter", "stated"),
    [
        (3, 0.02, (0.950, 0.950, 3.4, 1.00)),
        (3, 0.04, (0.934, 0.935, 4.9, 1.00)),
        (3, 0.06, (0.915, 0.898, 7.1, 0.84)),
        (3, 0.08, (0.908, 0.815, 8.6, 0.45)),
        (3, 0.12, (0.923, 0.580, 9.6, 0.10)),
        # a higher minimum brings the coverage back
        (5, 0.08, (0.930,)),
    ],
)
def test_coverage_is_as_the_docstring_states(fewest: int, scatter: float, stated: tuple[float, ...]) -> None:
    found = _coverage(fewest, scatter, 40_000)
    for value, expected, within in zip(found, stated, (0.006, 0.03, 0.1, 0.015), strict=False):
        assert value == pytest.approx(expected, abs=within)


def test_the_simulation_ends_cells_as_the_rule_does() -> None:
    rows = np.random.default_rng(2017).normal(1.0, 0.04, (200, RULE.max))
    ends = [end_of(dict(enumerate(map(float, row), start=1))) for row in rows]
    _, _, repeats, share = _coverage(3, 0.04, 200)
    assert np.mean([RULE.max if end is None else end for end in ends]) == pytest.approx(repeats)
    assert np.mean([end is not None for end in ends]) == pytest.approx(share)
