"""Time at work: what it is of known rates, who stands out, and which slowdown would have shown."""

from __future__ import annotations

import math

import numpy as np
import pytest

from glusterlab.analysis.diskwork import SLOWDOWNS, Work, comparable, full_speed, queued, signs, visible, working_time
from glusterlab.analysis.thresholds import Thresholds

STEP = 2.0
USUAL = Thresholds()


def worked(seconds: float, rate: float = 1e6, records: int = 30, first: int = 2) -> np.ndarray:
    """Rates of a disk that works at its rate for so long."""
    rates = np.zeros(records)
    whole = round(seconds / STEP)
    rates[first : first + whole] = rate
    return rates


def healthy(seconds: float, disks: int = 24) -> np.ndarray:
    """Disks that do much the same, give or take a tenth."""
    rng = np.random.default_rng(1)
    return np.stack([worked(seconds, 1e6 * rng.uniform(0.9, 1.1)) for _ in range(disks)])


@pytest.mark.parametrize("seconds", [10.0, 20.0, 40.0])
def test_time_at_work_is_that_of_a_steady_disk(seconds: float) -> None:
    assert working_time(worked(seconds)[np.newaxis], STEP)[0] == pytest.approx(seconds, abs=STEP)


def test_a_pause_is_no_work_and_idle_disks_have_no_time() -> None:
    rates = np.concatenate([worked(10), worked(10)])[np.newaxis]
    assert working_time(rates, STEP)[0] == pytest.approx(20.0, abs=2 * STEP)
    assert math.isnan(working_time(np.zeros((1, 5)), STEP)[0])


def test_pulses_of_a_slow_disk_count_as_work_between_them() -> None:
    # one request of 1 MB every other record
    rates = queued(worked(10)[np.newaxis], STEP, 0.25e6)
    assert (rates[0] == 0).sum() > 10
    assert working_time(rates, STEP)[0] == pytest.approx(40.0, abs=2 * STEP)


def test_a_queue_keeps_the_bytes_and_their_order() -> None:
    arriving = healthy(10, disks=3)
    done = queued(arriving, STEP, 0.3e6)
    assert done.sum(axis=1) == pytest.approx(arriving.sum(axis=1))
    so_far = np.cumsum(np.pad(arriving, ((0, 0), (0, done.shape[1] - arriving.shape[1]))), axis=1)
    assert (np.cumsum(done, axis=1) <= so_far + 1).all()
    # never more than its speed from when it began, and the request that it had saved for
    busy = done[:, 2:]
    assert (np.cumsum(busy, axis=1) * STEP <= 0.3e6 * STEP * np.arange(1, busy.shape[1] + 1) + 1).all()


def test_a_disk_with_more_to_do_is_not_slow_and_one_that_takes_longer_for_the_same_is() -> None:
    moved = healthy(10)
    moved[3] = worked(18)
    moved[7] = queued(worked(10)[np.newaxis], STEP, 0.25e6)[0, :30]
    found = signs(Work.of(moved, STEP))
    assert np.flatnonzero(found.slow(STEP, USUAL)).tolist() == [7]
    assert found.ratio[3] == pytest.approx(1.0, abs=0.15)
    assert found.ratio[7] > 3
    assert found.after_s[7] > 20
    assert not found.slow(STEP, Thresholds(slow_seconds=60)).any()
    assert not found.slow(STEP, Thresholds(slow_rate=0.1)).any()


def test_a_disk_that_trickles_while_all_are_at_work_is_not_slow() -> None:
    # half the rate, for no longer than half of all: its workers were slow
    moved = healthy(20)
    moved[5] = worked(20, 0.5e6)
    assert not signs(Work.of(moved, STEP)).slow(STEP, USUAL).any()


def test_disks_that_carried_only_metadata_are_not_judged() -> None:
    total = np.array([5e6] * 6 + [1e5] * 138)
    assert np.flatnonzero(comparable(total)).tolist() == list(range(6))
    assert not comparable(np.zeros(4)).any()


def test_a_load_that_no_other_disk_has_cannot_be_compared() -> None:
    moved = healthy(10)
    moved[0] = worked(50)
    found = signs(Work.of(moved, STEP))
    assert math.isnan(found.ratio[0])
    assert math.isinf(visible(moved, STEP, 1e6, USUAL)[0])
    assert not found.slow(STEP, USUAL).any()


def test_long_work_shows_a_small_slowdown_and_short_work_none() -> None:
    assert (visible(healthy(40), STEP, 1e6, USUAL) == SLOWDOWNS[0]).all()
    short = 0.2 * healthy(2)
    assert np.isinf(visible(short, STEP, 1e6, USUAL)).all()


def test_full_speed_is_known_of_long_work_only() -> None:
    moved = healthy(10)
    moved[0] = worked(20, 0.5e6)
    moved[1] = 0
    moved[1, 5] = 3e6
    assert full_speed(moved, STEP) == pytest.approx(1.1e6, rel=0.1)
    assert math.isnan(full_speed(healthy(4), STEP))
    # records of a minute resolve no burst of one
    assert math.isnan(full_speed(healthy(4), 60.0))
    assert np.isinf(visible(healthy(4), STEP, math.nan, USUAL)).all()


def test_disks_that_all_wait_for_a_slow_one_hide_it() -> None:
    moved = healthy(20, disks=6)
    assert np.isfinite(visible(moved, STEP, 1e6, USUAL)).all()
    assert np.isinf(visible(moved, STEP, 1e6, USUAL, waiting=5)).all()
    # among many they stand out together
    assert np.isfinite(visible(healthy(20, disks=48), STEP, 1e6, USUAL, waiting=5)).all()
