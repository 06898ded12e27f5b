"""Figures of verdicts and of disks: what is drawn is what the table says, in words as well as in colour."""

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from glusterlab.analysis import select
from glusterlab.analysis.saturation.outliers import disk_times, disks_by_name
from glusterlab.analysis.saturation.summary import (
    NO_MAJORITY,
    binding_by_cell,
    subsystems_over_time,
    use_by_resource,
    use_over_time,
)
from glusterlab.analysis.saturation.thresholds import Thresholds
from glusterlab.analysis.saturation.verdict import judge
from glusterlab.plots.saturation import COLOURS, draw_disks, draw_over_time, draw_use, draw_verdicts
from tests.busy_pool import DISK, KNOWN, LINK, SERVERS, Pool, during
from tests.plots.drawing import assert_says, drawn, marked, words

Make = Callable[..., pd.DataFrame]

POOLS = {
    1: Pool().links("transmit", 0.97 * LINK, "client01"),
    6: Pool().disk("write_bytes_per_s", 0.3 * DISK),
    12: Pool().links("transmit", 0.3 * LINK, *SERVERS).links("transmit", 0.96 * LINK, "server03"),
    24: Pool().links("receive", during(0, 30, LINK), *SERVERS).disk("write_bytes_per_s", during(30, 60, DISK)),
    48: Pool().disk("write_bytes_per_s", DISK),
}


@pytest.fixture
def rows(make_samples: Make) -> pd.DataFrame:
    values = {("disperse", "write", workers): [1.0, 2.0, 3.0] for workers in POOLS}
    values[("replicate", "read", 48)] = [1.0]
    table = make_samples(values, elapsed_s=60.0)
    return select(table.assign(end_s=table["start_s"] + 60), tool="iozone")


@pytest.fixture
def telemetry(rows: pd.DataFrame) -> pd.DataFrame:
    # the single read has no telemetry
    written = rows[rows["operation"] == "write"]
    return pd.concat([POOLS[int(row["workers"])].table(row) for _, row in written.iterrows()], ignore_index=True)


def tiles(figure: Figure, panel: int) -> list[tuple[str, float]]:
    """Colours of a panel's tiles by column, with their opacity."""
    found = [patch for patch in figure.axes[panel].patches if isinstance(patch, Rectangle)]
    return [(to_hex(patch.get_facecolor()), float(patch.get_alpha() or 1.0)) for patch in found]


@pytest.fixture
def table(rows: pd.DataFrame, telemetry: pd.DataFrame) -> pd.DataFrame:
    return binding_by_cell(judge(telemetry, rows, {str(cell): KNOWN for cell in rows["cell_id"]}).verdicts, rows)


def test_a_tile_has_the_colour_and_the_words_of_what_binds(table: pd.DataFrame) -> None:
    figure = drawn(draw_verdicts, table)
    write, read = figure.axes[:2]
    assert [axes.get_title(loc="left") for axes in (write, read)] == ["write", "read"]
    assert [text.get_text() for text in write.texts] == [
        "network\n100 %, 3 of 3",
        "none\n3 of 3",
        "part of network\n100 %, 3 of 3",
        "network, disks\n100 %, 3 of 3",
        "disks\n100 %, 3 of 3",
    ]
    colours = [colour for colour, _ in tiles(figure, 0)]
    network, disks = COLOURS["network"], COLOURS["disks"]
    assert [colour for colour in colours if colour in (network, disks)] == [network, network, network, disks, disks]
    assert min(opacity for _, opacity in tiles(figure, 0)) < 0.6
    assert [text.get_text() for text in read.texts] == ["unknown"]
    assert "n = 1 to 3" in words(figure)
    assert [text.get_text() for text in figure.legends[0].get_texts()] == [
        "network",
        "disks",
        "pale: part of it, or at times",
    ]


def test_the_thresholds_in_force_are_told_and_no_majority_has_no_colour(table: pd.DataFrame) -> None:
    table = table[table["operation"] == "write"]
    table = table.assign(state=NO_MAJORITY, binding=NO_MAJORITY, binds=NO_MAJORITY, mean=float("nan"), agree=1)
    figure = drawn(draw_verdicts, table, thresholds=Thresholds(network=0.8))
    assert "Full: over 80 %, disks over 90 %, CPU over 90 %, memory over 95 % of what it can do." in words(figure)
    assert {colour for colour, _ in tiles(figure, 0)} == {"#ffffff"}
    assert {text.get_text() for text in figure.axes[0].texts} == {"no majority"}


def test_several_sizes_have_rows_of_their_own(table: pd.DataFrame) -> None:
    other = table.assign(nominal_file_size_bytes=2**27)
    figure = drawn(draw_verdicts, pd.concat([table, other]))
    names = [tick.get_text() for tick in figure.axes[0].get_yticklabels()]
    assert names == ["disperse 12x(4+2), JBOD, 128 MiB", "disperse 12x(4+2), JBOD, 4 GiB"]


def test_every_host_and_disk_is_a_dot(rows: pd.DataFrame, telemetry: pd.DataFrame) -> None:
    found = judge(telemetry, rows, {str(cell): KNOWN for cell in rows["cell_id"]})
    table = use_by_resource(found.use, rows[rows["workers"] == 12])
    figure = drawn(draw_use, table)
    axes = figure.axes[0]
    assert axes.get_title(loc="left") == "write, disperse 12x(4+2), JBOD, 12 workers"
    names = [tick.get_text() for tick in axes.get_yticklabels()]
    height = names.index("server network, sent")
    dots = [
        np.asarray(line.get_xdata(), dtype=float)
        for line in axes.get_lines()
        if line.get_marker() == "o" and np.asarray(line.get_ydata())[0] == height
    ]
    assert sorted(dots[0]) == pytest.approx([0.3] * 5 + [0.96])
    assert f"{100 * 0.96 / (0.96 + 5 * 0.3):.0f} %" in [text.get_text() for text in axes.texts]


def test_a_sample_over_time_shades_its_measured_part(rows: pd.DataFrame, telemetry: pd.DataFrame) -> None:
    one = rows[(rows["workers"] == 24)].iloc[[0]]
    table = use_over_time(telemetry, one, {str(one["cell_id"].iloc[0]): replace(KNOWN, one_machine=True, memory={})})
    figure = drawn(draw_over_time, subsystems_over_time(table), footer="here")
    titles = [axes.get_title(loc="left") for axes in figure.axes]
    assert titles == ["server network, received (6 hosts)", "server disks (72 disks)"]
    mean = max(figure.axes[0].get_lines(), key=lambda line: line.get_linewidth())
    assert np.asarray(mean.get_ydata(), dtype=float) == pytest.approx([1.0] * 15 + [0.0] * 15)
    never = "client network, received; client network, sent; machine CPU (at least); server network, sent"
    assert f"Never over 5 %: {never}." in words(figure)
    # the first step of the measured part ends 2 s after its start
    (shade,) = (patch for patch in figure.axes[0].patches if isinstance(patch, Rectangle))
    assert (shade.get_x(), shade.get_x() + shade.get_width()) == pytest.approx((0.0, 60.0))
    event = one.assign(event="rebalance", event_start_s=one["start_s"] - 5, event_s=90.0)
    hatched = drawn(
        lambda frame, table: draw_over_time(frame, table, event), subsystems_over_time(table), footer="here"
    )
    assert "Hatched: rebalance, until it is done." in words(hatched)
    (span,) = (patch for patch in hatched.axes[0].patches if isinstance(patch, Rectangle) and patch.get_hatch())
    assert (span.get_x(), span.get_width()) == pytest.approx((-5.0, 90.0))
    over_time = subsystems_over_time(table)
    for other in (event.assign(event_s=math.nan), event.assign(event=""), one):
        plain = drawn(lambda frame, table, of=other: draw_over_time(frame, table, of), over_time, footer="here")
        assert len([patch for patch in plain.axes[0].patches if isinstance(patch, Rectangle)]) == 1
    idle = use_over_time(telemetry, rows[rows["workers"] == 1].iloc[[0]], {})
    assert len(drawn(draw_over_time, subsystems_over_time(idle), footer="here").axes) == 1


@pytest.fixture
def one(make_samples: Make) -> pd.DataFrame:
    rows = make_samples({("disperse", "write", 48): [1.0]})
    return rows.assign(end_s=rows["start_s"] + 60)


def test_a_slow_disk_is_ringed_and_named(one: pd.DataFrame) -> None:
    pool = Pool().disk("write_bytes_per_s", lambda since: DISK * (since <= 20)).disk("utilisation_fraction", 0.1)
    pool.disk("write_bytes_per_s", lambda since: 0.4 * DISK * (since <= 50), ["server02"], ["sde"])
    figure = drawn(draw_disks, disks_by_name(disk_times(pool.table(one.iloc[0]), one)), footer="here")
    axes = figure.axes[0]
    assert [tick.get_text() for tick in axes.get_yticklabels()] == list(SERVERS)
    assert axes.get_xscale() == "log"
    dots, ((at, height),) = marked(axes, "o", 3.2), marked(axes, "o", 8)
    assert (len(dots), round(height)) == (72, 1)
    assert at == max(x for x, _ in dots) > 1.5
    assert [text.get_text() for text in axes.texts if text.get_fontweight() == "bold"] == ["sde"]
    assert_says(figure, never=["of 12 not judged"])


def test_disks_that_were_not_judged_are_counted(one: pd.DataFrame) -> None:
    # those of one server moved next to nothing
    pool = Pool().disk("write_bytes_per_s", lambda since: DISK * (since <= 20))
    pool.disk("write_bytes_per_s", lambda since: 0.05 * DISK * (since <= 20), ["server03"])
    figure = drawn(draw_disks, disks_by_name(disk_times(pool.table(one.iloc[0]), one)), footer="here")
    assert {round(height) for _, height in marked(figure.axes[0], "o", 3.2)} == {0, 1, 3, 4, 5}
    assert [text.get_text() for text in figure.axes[0].texts] == ["12 of 12 not judged"]
