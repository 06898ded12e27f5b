"""Claims by two views of a rate: campaigns of known answer whose verdict depends on counting, and whose does not."""

import math

import pandas as pd
import pytest

from glusterlab.analysis.claims.judge import judge_both_views
from glusterlab.analysis.claims.scorecard import scorecard, totals
from tests.analysis.claims.test_judge import more, near
from tests.conftest import build_samples

CLAIM = more()


def campaign(over: float) -> pd.DataFrame:
    """Fragments write 1.5 times as much as copies as the tool counts, and `over` times as much over the whole time."""
    samples = build_samples({("disperse", "write", 48): near(30e6), ("replicate", "write", 48): near(20e6)})
    share = samples["type"].map({"disperse": over / 1.5 * 0.8, "replicate": 0.8})
    whole = samples["throughput_bytes_per_s"] * share
    return samples.assign(
        throughput_whole_bytes_per_s=whole, files_whole_per_s=math.nan, operations_whole_per_s=math.nan
    )


@pytest.mark.parametrize(
    ("over", "verdict", "whole"),
    [
        (1.5, "reproduced", "reproduced"),
        (1.2, "reproduced", "reproduced"),
        (0.8, "depends on counting", "contradicted"),
        (math.nan, "reproduced", ""),
    ],
)
def test_a_verdict_that_differs_by_the_view_depends_on_counting(over: float, verdict: str, whole: str) -> None:
    judged = judge_both_views(CLAIM, campaign(over))
    (row,) = scorecard(CLAIM, judged).to_dict("records")
    assert (row["verdict"], row["verdict_whole"]) == (verdict, whole)
    # the one that is drawn stays the tool's own
    assert row["ratio"] == pytest.approx(1.5)
    assert row["ratio_whole"] == pytest.approx(over, nan_ok=True)
    if verdict == "depends on counting":
        assert row["why"] == "tool's own rate: reproduced (1.5); over the whole time: contradicted (0.8)"
        assert row["ratio_whole_low"] < 0.8 < row["ratio_whole_high"] < 1
        assert totals(scorecard(CLAIM, judged)).iloc[-1][verdict] == 1


def test_old_samples_are_judged_by_the_tools_own_rate() -> None:
    (judgement,) = judge_both_views(CLAIM, campaign(0.8).drop(columns="throughput_whole_bytes_per_s"))
    assert (judgement.verdict, judgement.other) == ("reproduced", None)
