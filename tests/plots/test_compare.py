"""Figures of a comparison: what is drawn is what the table says, and every campaign is named."""

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from glusterlab.analysis.compare.cells import VERDICTS, Rule, compare_cells
from glusterlab.analysis.compare.groups import release_bars
from glusterlab.plots.compare import (
    MARKS,
    RELEASES,
    change_ticks,
    draw_forest,
    draw_releases,
    release_footer,
)
from tests.plots.drawing import assert_says, drawn, words
from tests.release_samples import KIB, MIB, newer, older

EFFECTS = {("create", 32 * KIB): 1.34, ("read", 4 * MIB): 0.8}
RELEASES_OPEN = tuple(
    SimpleNamespace(name=name, version=version, called=version, digest=digest, testbed=True, latency_s=0.0)
    for name, version, digest in (("night-a", "10.3", "a" * 64), ("night-b", "11.1", "b" * 64))
)


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    return compare_cells(older(), {"11.1": newer(EFFECTS)}, name="10.3")


def forest(table: pd.DataFrame, releases: Sequence[Any] = RELEASES_OPEN, rule: Rule | None = None) -> Figure:
    return drawn(draw_forest, table, rule or Rule(), footer=release_footer(releases, table))


def bars(table: pd.DataFrame) -> Figure:
    found = release_bars(table)
    return drawn(draw_releases, found, "files/s", footer=release_footer(RELEASES_OPEN, found))


def marks(axes: Axes) -> list[tuple[str, str, float]]:
    """Marker, colour and place of each mark, in the order of the rows."""
    lines = [line for line in axes.get_lines() if line.get_marker() not in ("None", None, "|")]
    return [
        (str(line.get_marker()), to_hex(str(line.get_markeredgecolor())), float(np.asarray(line.get_xdata())[0]))
        for line in lines
    ]


def test_every_verdict_has_a_mark_and_no_two_are_alike() -> None:
    assert set(MARKS) == set(VERDICTS)
    assert len({(mark.marker, mark.filled) for mark in MARKS.values()}) == len(MARKS)


def test_a_line_per_cell_with_its_interval(table: pd.DataFrame) -> None:
    figure = forest(table, rule=Rule(margin=0.1))
    (axes,) = figure.axes
    assert marks(axes) == [
        (MARKS[str(row["verdict"])].marker, MARKS[str(row["verdict"])].colour, pytest.approx(row["ratio"]))
        for _, row in table.iterrows()
    ]
    spans = [collection.get_segments()[0][:, 0] for collection in axes.collections]  # type: ignore[attr-defined]
    assert np.array(spans) == pytest.approx(table[["low", "high"]].to_numpy())
    assert axes.get_yticklabels()[0].get_text() == "create 32 KiB, replicate 3x2, RAID 6, 12 workers"
    right = [text.get_text() for text in axes.child_axes[0].get_yticklabels()]
    assert right[0].startswith("+3")
    assert right[0].endswith("n = 10")
    (band,) = axes.patches
    left, width = band.get_x(), band.get_width()  # type: ignore[attr-defined]
    assert (left, left + width) == pytest.approx((1 / 1.1, 1.1))
    assert "within interleaved rounds" in words(figure)
    counts = table["verdict"].value_counts()
    told = " and ".join(f"{counts[name]} {name}" for name in ("slower", "faster") if name in counts)
    assert f"Of {len(table)} cells {told}" in words(figure)
    none = forest(table.assign(verdict="undecided"))
    assert f"Of {len(table)} cells none is slower or faster" in words(none)


def test_footers_name_every_campaign_release_and_manifest(table: pd.DataFrame) -> None:
    wanted = [
        "night-a, GlusterFS 10.3, manifest aaaaaaaaaaaa",
        "night-b, GlusterFS 11.1, manifest bbbbbbbbbbbb",
        "n = 10",
    ]
    wanted += ["scale model 1:20 and 1:60 on one machine", "disk operations/s assumed"]
    assumed = table.assign(operations_limited=True, scale=table["scale"].replace(1.0, 20.0))
    for figure in (forest(assumed), bars(assumed)):
        text = words(figure).replace("\n", " · ")
        assert [part for part in wanted if part not in text] == []


def test_a_footer_says_how_long_disks_take(table: pd.DataFrame) -> None:
    releases: Any = [SimpleNamespace(**{**vars(each), "latency_s": 0.031}) for each in RELEASES_OPEN]
    assert "disks that answer after 31 ms (1:1 and 1:60)" in release_footer(releases, table.assign(heads=True))


def test_a_panel_per_campaign(table: pd.DataFrame) -> None:
    both = compare_cells(older(), {"11.1": newer(EFFECTS), "again": newer({}, offset_s=300.0)}, name="10.3")
    unknown = [
        SimpleNamespace(name=name, version="", called="", digest="", testbed=False, latency_s=0.0) for name in "abc"
    ]
    figure = forest(both, unknown)
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["11.1 against 10.3", "again against 10.3"]
    assert "manifest" not in words(figure)
    bars(both)


def test_insufficient_n_is_hollow_and_has_no_line() -> None:
    few = compare_cells(older(3), {"b": newer(EFFECTS, 3, offset_s=10**6)})
    figure = forest(few)
    assert "not in interleaved rounds" in words(figure)
    (axes,) = figure.axes
    assert {marker for marker, _, _ in marks(axes)} == {"d"}
    assert not axes.collections
    assert "where n is 5 or more" in words(figure)
    assert "none, insufficient n" in words(bars(few))


def test_bars_are_medians_with_samples_and_change(table: pd.DataFrame) -> None:
    figure = bars(table)
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["32 KiB files", "4 MiB files"]
    found = release_bars(table)
    first = figure.axes[0]
    small = found[found["nominal_file_size_bytes"] == 32 * KIB]
    assert [patch.get_width() for patch in first.patches] == pytest.approx(small["median"].tolist())  # type: ignore[attr-defined]
    assert [to_hex(patch.get_facecolor()) for patch in first.patches][:2] == [colour for colour, _ in RELEASES[:2]]
    ticks = [line for line in first.get_lines() if line.get_marker() == "|"]
    assert [len(np.asarray(line.get_xdata())) for line in ticks] == [10] * 4
    assert_says(figure, "create, replicate 3x2, RAID 6, 12 workers", ", faster", ", slower")


def test_ticks_are_round_changes_on_both_sides_of_1() -> None:
    for room in (1.03, 1.07, 1.2, 1.5, 2.0, 5.0, 8.0):
        ticks = change_ticks(1 / room, room)
        assert 1.0 in [pytest.approx(tick) for tick in ticks]
        assert 3 <= len(ticks) <= 8
        assert 1 / room - 1e-9 <= min(ticks) < 1 < max(ticks) <= room + 1e-9
