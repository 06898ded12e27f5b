"""Figures of capacity and money: what is drawn is what the table says, and nothing leaves the page."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from glusterlab.analysis.capacity import capacity_table
from glusterlab.analysis.price import crossings, price_factors, priced, relative_per_cost, sensitivity
from glusterlab.plots.per_disk import RISING
from glusterlab.plots.price import draw_per_cost, draw_sensitivity
from glusterlab.plots.small import draw_capacity
from glusterlab.spec.prices import PriceList, load_prices
from tests.analysis.test_capacity import FIGURE_3
from tests.guide_pools import SERIES, chosen, pools
from tests.plots.drawing import TESTBED, assert_says, drawn, marked, words

PRICES = Path(__file__).parents[2] / "runbooks" / "supermicro-2017" / "prices.yaml"


@pytest.fixture(scope="module")
def prices() -> PriceList:
    return load_prices(PRICES)


@pytest.fixture(scope="module")
def table(prices: PriceList) -> pd.DataFrame:
    return relative_per_cost(priced(chosen(pools()), "throughput_bytes_per_s", prices))


def bars(axes: Axes) -> list[Rectangle]:
    return [patch for patch in axes.patches if isinstance(patch, Rectangle)]


def test_capacity_bars_have_the_lengths_of_their_parts() -> None:
    rows = capacity_table(FIGURE_3, servers=6, disk_bytes=6e12)
    figure = drawn(draw_capacity, rows, disk="6 TB", stated=108e12, footer=TESTBED.place())
    axes = figure.axes[0]
    assert [round(bar.get_width()) for bar in bars(axes)] == [180, 180, 72, 288, 144]
    # parts of one bar follow each other up to the raw capacity
    assert [round(bar.get_x() + bar.get_width()) for bar in bars(axes)] == [180, 360, 432, 288, 432]
    shown = words(figure)
    for part in ("+108 TB usable (published: +108 TB)", "not measured", "6 servers × 12 disks of 6 TB"):
        assert part in shown
    assert "n = " not in shown


@pytest.mark.parametrize("equal_capacity", [False, True])
def test_points_per_cost_are_the_ratios(table: pd.DataFrame, prices: PriceList, equal_capacity: bool) -> None:
    figure = drawn(draw_per_cost, table, what="throughput", notice=prices.sentence, equal_capacity=equal_capacity)
    write, read = figure.axes
    assert (write.get_title(loc="left"), read.get_title(loc="left")) == ("write", "read")
    for axes, operation in ((write, "write"), (read, "read")):
        rows = table[table["operation"] == operation]
        points = [line for line in axes.get_lines() if line.get_markersize() == 6 and len(line.get_xydata()) == 1]
        assert [line.get_xydata()[0][0] for line in points] == pytest.approx(rows["relative"].tolist())
        labels = [label.get_text() for label in axes.get_yticklabels()]
        assert labels == [f"{row['series']} ({row['server']})" for _, row in rows.iterrows()]
    shown = words(figure)
    assert_says(figure, "not quotes", "1, first configuration, 48 workers")
    assert ("0.855 = 0.625 / 0.731" if equal_capacity else "0.855 = 1.25 / 1.46") in shown
    assert_says(figure, "At one number of workers only, 48.", never=[RISING])
    assert ("of equal usable capacity" in shown) == equal_capacity


def test_a_curve_that_still_rises_is_marked_with_the_counts_that_were_measured(prices: PriceList) -> None:
    levels = {12: 40e6, 48: 80e6}
    curves = [pools({"write": {"replicate": 40e6, "disperse": top}}, workers=n) for n, top in levels.items()]
    table = relative_per_cost(priced(chosen(pd.concat(curves, ignore_index=True)), "throughput_bytes_per_s", prices))
    figure = drawn(draw_per_cost, table, what="throughput", notice=prices.sentence)
    shown = words(figure)
    for part in (f"48 workers {RISING}", "each layout's best number of workers of 12, 48.", "may do more"):
        assert part in shown
    assert f"12 workers {RISING}" not in shown


def test_a_capacity_that_is_not_known_makes_no_number(prices: PriceList) -> None:
    strange = chosen(pools({"write": {"replicate": 44e6, "disperse": 80e6}}).assign(kind="raid5"))
    table = relative_per_cost(priced(strange, "throughput_bytes_per_s", prices))
    figure = drawn(draw_per_cost, table, what="throughput", notice=prices.sentence, equal_capacity=True)
    assert_says(figure, "1.82, capacity not known", never=["nan"])


def test_lines_of_sensitivity_are_the_ratios_and_rings_the_crossings(table: pd.DataFrame, prices: PriceList) -> None:
    moved, found = sensitivity(table, prices, price_factors()), crossings(table, prices)
    figure = drawn(draw_sensitivity, moved, measured=table, crossings=found, notice=prices.sentence)
    assert len(figure.axes) == 6
    rings = [ring for axes in figure.axes for ring in marked(axes, "o", 8)]
    expected = sorted(zip(found["factor"], found["relative"], strict=True))
    assert np.array(sorted(rings)) == pytest.approx(np.array(expected))
    first = figure.axes[0]
    assert first.get_title(loc="left") == "write, price of\ndisks"
    curves = [line.get_ydata() for line in first.get_lines() if len(line.get_xdata()) == 9]
    dense = moved[(moved["move"] == "disks") & (moved["operation"] == "write")]
    dense = dense[dense["series"] == SERIES["disperse-dense"]]
    assert any(list(values) == pytest.approx(dense["relative"].tolist()) for values in curves)
    assert "Ring: two layouts change places" in words(figure)
    for axes in figure.axes:
        lines = [line for line in axes.get_lines() if len(line.get_xdata()) == 9]
        # marks at both ends tell the lines apart without colour
        assert all(line.get_marker() != "None" and line.get_markevery() == [0, 8] for line in lines)
        assert len({line.get_marker() for line in lines}) == len(SERIES)


def test_the_rings_that_are_named_are_the_nearest_to_the_lists_price(table: pd.DataFrame, prices: PriceList) -> None:
    moved = sensitivity(table, prices, price_factors())
    some = crossings(table, prices)
    one = some[(some["move"] == "disks") & (some["operation"] == "write")].iloc[:1]
    found = pd.concat([one.assign(factor=factor) for factor in (1.9, 0.8, 0.55, 1.1)], ignore_index=True)
    figure = drawn(draw_sensitivity, moved, measured=table, crossings=found, notice=prices.sentence)
    assert [text.get_text() for text in figure.axes[0].texts] == ["× 1.10", "× 0.80"]
    assert len(marked(figure.axes[0], "o", 8)) == 4
