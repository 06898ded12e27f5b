"""Interleaved rounds are known by their times, and nothing else is taken for them."""

import math

import pandas as pd
import pytest

from glusterlab.analysis.compare.rounds import Rounds, find_rounds


def rows(starts: dict[int, float]) -> pd.DataFrame:
    return pd.DataFrame({"repeat": list(starts), "start_s": list(starts.values())})


def at(offset: float, count: int = 10, step: float = 100.0) -> dict[int, float]:
    return {repeat: offset + step * repeat for repeat in range(1, count + 1)}


def rounds(one: dict[int, float], other: dict[int, float]) -> Rounds:
    found = find_rounds(rows(one), rows(other))
    assert found is not None
    return found


@pytest.mark.parametrize("offset", [1000.0, 5000.0, -1500.0, 350.0])
def test_campaigns_one_after_the_other_are_no_rounds(offset: float) -> None:
    assert find_rounds(rows(at(0)), rows(at(offset))) is None


def test_a_repeat_that_was_tried_again_at_the_end_is_left_out() -> None:
    again = at(40) | {3: 5000.0}
    assert rounds(at(0), again).reference == (0, 1, 3, 4, 5, 6, 7, 8, 9)
    # too many that lie apart are no rounds
    assert find_rounds(rows(at(0)), rows(again | {4: 5100.0, 7: 5200.0})) is None


def test_missing_repeats_are_left_out() -> None:
    one, other = at(0), at(40)
    del one[2], other[5]
    found = rounds(one, other)
    both = [1, 3, 4, 6, 7, 8, 9, 10]
    assert [list(one)[place] for place in found.reference] == both
    assert [list(other)[place] for place in found.other] == both


def test_without_times_there_are_no_rounds() -> None:
    assert find_rounds(rows(at(0)), rows(dict.fromkeys(range(1, 11), math.nan))) is None
    assert find_rounds(rows({}), rows({})) is None
    assert find_rounds(rows(at(0, 1)), rows(at(40, 1))) is None


@pytest.mark.parametrize("step", range(1, 29))
@pytest.mark.parametrize("other", ["b", "c"])
def test_a_loop_of_turns_that_was_broken_off_anywhere_is_still_in_rounds(step: int, other: str) -> None:
    order = "abccba" * 5
    ran = list(enumerate(order[:step] + order))
    starts = [[100.0 * at for at, name in ran if name == wanted][:10] for wanted in ("a", other)]
    found = rounds(*(dict(enumerate(each, start=1)) for each in starts))
    assert len(found.reference) >= 8


def test_pairs_by_time_are_neighbours_and_the_closest() -> None:
    """The other campaign is a round behind: its repeats are near to the next ones of the reference."""
    found = rounds(at(0), at(140))
    assert (found.by, found.reference, found.other) == ("time", tuple(range(1, 10)), tuple(range(9)))
    assert rounds(at(0), {repeat + 20: start for repeat, start in at(40).items()}).other == tuple(range(10))
