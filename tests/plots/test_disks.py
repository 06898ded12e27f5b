"""The picture of disks: slow ones are framed and named, and those that cannot be told look like no other."""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from glusterlab.analysis.slowdisks import disk_pace, pace_by_disk
from glusterlab.plots.disks import disks_figure
from glusterlab.plots.style import Provenance

from ..busy_pool import DISK, SERVERS, Pool
from .test_figures import assert_inside_page, words

Make = Callable[..., pd.DataFrame]
TESTBED = Provenance("synthetic", "10.3", "0123456789abcdef", testbed=True)


@pytest.fixture
def one(make_samples: Make) -> pd.DataFrame:
    rows = make_samples({("disperse", "write", 48): [1.0]})
    return rows.assign(end_s=rows["start_s"] + 60)


def squares(figure: Figure) -> dict[tuple[int, int], Rectangle]:
    """Of each disk, by its place."""
    found = [patch for patch in figure.axes[0].patches if isinstance(patch, Rectangle)]
    return {(int(patch.get_x()), int(patch.get_y())): patch for patch in found}


def test_a_slow_disk_is_framed_and_named(one: pd.DataFrame) -> None:
    pool = Pool().disk("write_bytes_per_s", lambda since: DISK * (since <= 20)).disk("utilisation_fraction", 0.1)
    pool.disk("write_bytes_per_s", lambda since: 0.4 * DISK * (since <= 50), ["server02"], ["sde"])
    figure = disks_figure(pace_by_disk(disk_pace(pool.table(one.iloc[0]), one)), TESTBED, title="Disks")
    axes = figure.axes[0]
    assert [tick.get_text() for tick in axes.get_yticklabels()] == list(SERVERS)
    drawn = squares(figure)
    assert len(drawn) == 72
    assert [place for place, patch in drawn.items() if patch.get_linewidth() > 1] == [(3, 1)]
    assert [text.get_text() for text in axes.texts if text.get_fontweight() == "bold"] == ["sde"]
    # all could be told
    assert not any(patch.get_hatch() for patch in drawn.values())
    assert_inside_page(figure)


def test_disks_that_could_not_be_told_are_hatched(one: pd.DataFrame) -> None:
    # those of one server moved next to nothing
    pool = Pool().disk("write_bytes_per_s", lambda since: DISK * (since <= 20))
    pool.disk("write_bytes_per_s", lambda since: 0.05 * DISK * (since <= 20), ["server03"])
    figure = disks_figure(pace_by_disk(disk_pace(pool.table(one.iloc[0]), one)), TESTBED, title="Disks")
    drawn = squares(figure)
    hatched = {place: patch for place, patch in drawn.items() if patch.get_hatch()}
    assert {line for _, line in hatched} == {2}
    assert len(hatched) == 12
    told = {to_hex(patch.get_facecolor()) for place, patch in drawn.items() if place not in hatched}
    assert told.isdisjoint(to_hex(patch.get_facecolor()) for patch in hatched.values())
    assert "could not be told (hatched)" in words(figure)
    assert_inside_page(figure)
