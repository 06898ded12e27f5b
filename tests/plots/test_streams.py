"""Streams: a bar of what each layout holds, and their latency and throughput by how many there are."""

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest

from glusterlab.analysis import select, summarise
from glusterlab.plots.streams import COURSE, draw_by_streams, draw_streams_held
from tests.plots.drawing import drawn, marked, words

Make = Callable[..., pd.DataFrame]


@pytest.fixture
def samples(make_samples: Make) -> pd.DataFrame:
    """Two layouts at three loads, three samples each."""
    cells = {
        (layout, "write", count): [1e6 * count] * 3 for layout in ("replicate", "disperse") for count in (4, 8, 16)
    }
    made = make_samples(cells, tool="streams")
    counts = made["workers"].astype(float)
    numbers = {"streams_held": counts / 2, "latency_mean_s": counts / 1e3, "throughput_bytes_per_s": counts * 1e6}
    return select(made.assign(**numbers), tool="streams")


def test_each_layout_has_a_bar_of_streams(samples: pd.DataFrame) -> None:
    held = summarise(samples[samples["workers"] == 16], "streams_held")
    figure = drawn(lambda frame, table: draw_streams_held(frame, table, stands_for=7), held)
    assert [x for x, _ in marked(figure.axes[0], "|", 15)] == [8, 8]
    assert "stands for 7" in words(figure)


def test_latency_and_throughput_are_lines_over_streams(samples: pd.DataFrame) -> None:
    course = pd.concat([summarise(samples, quantity) for quantity in COURSE], ignore_index=True)
    figure = drawn(draw_by_streams, course)
    for axes in figure.axes:
        lines = [np.asarray(line.get_ydata(), dtype=float) for line in axes.get_lines() if line.get_marker() != "."]
        drawn_lines = [line for line in lines if len(line) == 3 and not np.isnan(line).any()]
        assert len(drawn_lines) >= 2
        assert (4, 8, 16) in {tuple(line.round(6)) for line in drawn_lines}
