"""The scorecard's picture: what is drawn is what the table says."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_hex

from glusterlab.analysis import valid_samples
from glusterlab.analysis.claims.judge import judge
from glusterlab.analysis.claims.scorecard import scorecard
from glusterlab.analysis.claims.verdicts import VERDICTS
from glusterlab.plots.marks import ratio_ticks
from glusterlab.plots.scorecard import MARKS, draw_scorecard, value_text
from glusterlab.spec.claims import load_claims
from tests.plots.drawing import TESTBED, assert_says, drawn, marked, words

GUIDE = load_claims(Path(__file__).parents[2] / "raw" / "published" / "supermicro-2017" / "claims.yaml")


@pytest.fixture
def table(large_samples: pd.DataFrame) -> pd.DataFrame:
    scored = scorecard(GUIDE, judge(GUIDE, large_samples))
    return scored[scored["ratio"].notna()].reset_index(drop=True)


@pytest.fixture
def cells(large_samples: pd.DataFrame) -> pd.DataFrame:
    return valid_samples(large_samples).assign(n=3).drop_duplicates("cell_id")


def test_a_line_per_claim_by_chapter(table: pd.DataFrame, cells: pd.DataFrame) -> None:
    figure = drawn(draw_scorecard, table, cells=cells)
    titles = [axes.get_title(loc="left") for axes in figure.axes]
    assert titles == list(dict.fromkeys(table["chapter"]))
    assert [text.get_text() for axes in figure.axes for text in axes.get_yticklabels()] == table["id"].tolist()
    right = [text.get_text() for axes in figure.axes for text in axes.child_axes[0].get_yticklabels()]
    assert right == [value_text(row) for _, row in table.iterrows()]
    assert TESTBED.footer(cells).split(" · ")[4] in words(figure).replace("\n", " ")


def test_mark_interval_band_and_diamond_of_a_value(table: pd.DataFrame, cells: pd.DataFrame) -> None:
    rows = table[table["id"] == "throughput-write-peak"]
    (axes,) = drawn(draw_scorecard, rows, cells=cells).axes
    row = rows.iloc[0]
    points = {line.get_marker(): line for line in axes.get_lines() if line.get_marker() != "None"}
    assert np.asarray(points["P"].get_xdata())[0] == pytest.approx(row["ratio"])
    assert to_hex(str(points["P"].get_markeredgecolor())) == MARKS["model cannot tell"].colour
    assert np.asarray(points["D"].get_xdata())[0] == 1.0
    band, interval = (collection.get_segments()[0][:, 0] for collection in axes.collections)  # type: ignore[attr-defined]
    assert band == pytest.approx([1 / 1.1, 1.1])
    assert interval == pytest.approx([row["ratio_low"], row["ratio_high"]])
    assert value_text(row) == "77.8 for 83.68 MB/s per disk, n = 3"


@pytest.mark.parametrize(("ratio", "marker", "at"), [(400.0, ">", 8.0), (0.01, "<", 0.25)])
def test_what_lies_beyond_the_axis_has_an_arrow(
    table: pd.DataFrame, cells: pd.DataFrame, ratio: float, marker: str, at: float
) -> None:
    rows = table.head(1).assign(ratio=ratio, ratio_low=ratio * 0.9, ratio_high=ratio * 1.1)
    (axes,) = drawn(draw_scorecard, rows, cells=cells).axes
    assert [x for x, _ in marked(axes, marker)] == [at]
    assert axes.get_xlim()[marker == ">"] == pytest.approx(at)


def test_one_sample_has_a_mark_without_interval(table: pd.DataFrame, cells: pd.DataFrame) -> None:
    rows = table.head(1).assign(ratio_low=float("nan"), ratio_high=float("nan"), low=float("nan"), n=1)
    figure = drawn(draw_scorecard, rows, cells=cells)
    assert len(figure.axes[0].collections) == 1
    assert_says(figure, "n = 1", never=["(nan"])


def test_verdicts_differ_by_shape_and_are_counted_in_the_key(table: pd.DataFrame, cells: pd.DataFrame) -> None:
    assert set(MARKS) == set(VERDICTS)
    assert len({mark.marker for mark in MARKS.values()}) == len(VERDICTS)
    verdicts = [VERDICTS[n % len(VERDICTS)] for n in range(len(table))]
    figure = drawn(draw_scorecard, table.assign(verdict=verdicts), cells=cells)
    said = [text.get_text() for text in figure.legends[0].get_texts()]
    assert said[0] == f"reproduced ({verdicts.count('reproduced')})"
    assert said[-1] == f"measured in part ({verdicts.count('not measured')})"


def test_ticks_never_crowd() -> None:
    for least, most in ((0.25, 8.0), (0.7, 1.6), (0.5, 2.0), (0.9, 1.1)):
        ticks = ratio_ticks(least, most)
        gaps = np.diff(np.log(ticks)) / np.log(most / least)
        assert 1.0 in ticks
        assert (gaps >= 0.055).all()
