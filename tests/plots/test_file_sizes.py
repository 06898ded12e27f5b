"""The figure of file sizes: the guide's line, what is off it, and what is written beside."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from glusterlab.analysis import file_sizes_table
from glusterlab.analysis.describe import WRITTEN
from glusterlab.plots import draw_file_sizes
from glusterlab.plots.style import Provenance
from glusterlab.spec.published import load_file_sizes
from tests.plots.drawing import REAL, TESTBED, assert_says, drawn, marked, words

GUIDE = Path(__file__).parents[2] / "raw" / "published" / "supermicro-2017"
NAN = float("nan")
ROWS = [
    ("iozone", 4 << 30, 10 << 20, 262144.0, 200.0, 0.5, "1 to 96", "1"),
    ("iozone", 128 << 20, 2560 << 10, 81920.0, 200.0, 4.0, "1 to 24", "1"),
    ("smallfile", 32 << 10, 32 << 10, NAN, 34.0, 1.0, "1 to 48", "5 to 40"),
]


def table(rows: list[tuple[object, ...]]) -> pd.DataFrame:
    written = pd.DataFrame.from_records(rows, columns=[*WRITTEN, "workers", "files_per_worker"])
    return file_sizes_table(load_file_sizes(GUIDE), written)


def picture(sizes: pd.DataFrame, provenance: Provenance = TESTBED) -> Figure:
    scales = sorted(set(sizes["scale"].dropna()) - {1.0})
    return drawn(draw_file_sizes, sizes, footer=provenance.place(scales, model=True))


def test_sizes_stand_on_a_logarithmic_line_and_32_kb_off_it() -> None:
    figure = picture(table(ROWS))
    axes = figure.axes[0]
    assert axes.get_xscale() == "log"
    dots = dict(marked(axes, "o"))
    assert dots == {32 << 10: 0, 4 << 20: 1, 128 << 20: 2, 4 << 30: 3, 128 << 30: 4}
    (line,) = [line for line in axes.get_lines() if line.get_linestyle() == "-"]
    x, y = np.asarray(line.get_xdata(), float), np.asarray(line.get_ydata(), float)
    assert np.log2(x) == pytest.approx([17, 37])
    assert y.tolist() == [0, 4]
    assert {x for x, _ in marked(axes, "s")} == {10 << 20, 2560 << 10, 32 << 10}


def test_what_is_written_is_told_with_scale_and_length() -> None:
    shown = words(picture(table(ROWS)))
    assert "iozone: 10 MiB, records of 256 KiB\n1:200, 1/2 of that length, 1 to 96 workers" in shown
    assert "1:200, 4 times that length, 1 to 24 workers" in shown
    assert "smallfile: 32 KiB, 5 to 40 files per worker\nsize kept, hardware 1:34, 1 to 48 workers" in shown
    assert shown.count("not in this campaign") == 2
    assert "JPEG or small document file" in shown
    assert "scale model 1:34 and 1:200 on one machine" in shown


def test_sizes_of_the_campaign_alone_and_two_ways_of_one_size() -> None:
    whole = [
        ("iozone", 1 << 30, 1 << 30, NAN, 1.0, 1.0, "1", "1"),
        ("iozone", 4 << 30, 4 << 30, NAN, 1.0, 1.0, "6", "1"),
    ]
    figure = picture(table([*ROWS, *whole]), REAL)
    assert_says(figure, "iozone: 1 GiB\n1 worker", "iozone: 4 GiB\n6 workers", never=["scale model"])
